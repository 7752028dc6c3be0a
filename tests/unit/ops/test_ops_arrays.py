"""NumPy's array functions: traced and evaluated node by node they give what NumPy gives."""

from __future__ import annotations

import itertools
import operator
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.special as special
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

import symgrad as sg
from symgrad._core.base.sizes import Dim, evaluate_dim, recording
from symgrad._core.graph import Constant, Input, Iota, Literal, Node, SizeOf, topological
from symgrad._core.op import ArrayOp, Composite, Op, Products, registry
from symgrad._core.ops import logic, np_fft, np_refused, rounding
from symgrad._core.ops.contract import contracted
from symgrad._core.program._run import concrete
from symgrad._core.trace import Traced, as_node, flatten
from symgrad.errors import ArgumentError, IndexingError, ShapeError, UnsupportedError
from tests.samples import samples_of
from tests.shared import called

#: Maps, and what gives complex numbers, have tests of their own.
ELSEWHERE = (logic.__name__, rounding.__name__, np_fft.__name__)
EIGENVALUES = ("eig", "eigvals", "scipy.linalg.eig", "scipy.linalg.eigvals", "roots")
COMPOSITES = {
    name: record
    for name, record in registry.composites.items()
    if record.function.__module__ not in ELSEWHERE
    and name not in ("sort_complex", "wofz", "lambertw", *EIGENVALUES)
    and not name.startswith(("hankel1", "hankel2", "h1vp", "h2vp", "sph_harm_y"))
    and record.functions  # the installed NumPy has it
}
#: Routines, loops and branches, which have no element formula, have tests of their own.
ARRAY_OPS = {
    name: op
    for name, op in registry.ops.items()
    if op.kind not in ("map", "leaf", "routine", "loop", "branch", "result", "tape")
}

r = np.random.default_rng(11).standard_normal


# ---------------------------------------------------------------- a small reference machine


class Trace:
    """A function traced on stand-ins for its arrays, with symbolic sizes if wanted."""

    def __init__(self, function: Any, args: Any, kwargs: Any, symbolic: bool):
        self.arrays: dict[Input, np.ndarray[Any, Any]] = {}
        self.symbolic = symbolic
        self.dims: dict[int, Dim] = {}
        args, kwargs = self._stand_in(args), self._stand_in(kwargs)
        with recording() as self.guards:
            result = function(*args, **kwargs)
            self.leaves, _ = flatten(result)
            self.outputs = [as_node(leaf) for leaf in self.leaves]

    def _stand_in(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            shape = tuple(self._dim(n) if self.symbolic and n > 1 else n for n in value.shape)
            node = Input(f"x{len(self.arrays)}", shape, value.dtype)
            self.arrays[node] = value
            return Traced(node)
        if isinstance(value, (list, tuple)):
            return type(value)(map(self._stand_in, value))
        if isinstance(value, dict):
            return {k: self._stand_in(v) for k, v in value.items()}
        return value

    def _dim(self, n: int) -> Dim:
        return self.dims.setdefault(n, Dim(f"n{len(self.dims)}", n))

    def holds(self, sizes: dict[Dim, int]) -> bool:
        """Tell whether the guards hold for other sizes."""
        numbers = {d: sp.Integer(n) for d, n in sizes.items()}
        return all(bool(g.xreplace(numbers)) == truth for g, truth in self.guards.items())

    def __call__(self, arrays: Any = None, sizes: dict[Dim, int] | None = None) -> list[Any]:
        sizes = sizes or {d: n for n, d in self.dims.items()}
        done: dict[Node, Any] = dict(zip(self.arrays, arrays or self.arrays.values(), strict=True))
        for node in topological(self.outputs):
            if node not in done:
                done[node] = evaluated(node, [done[x] for x in node.operands], sizes)
            if isinstance(done[node], tuple):  # of a loop, taken apart by further nodes
                continue
            assert done[node].shape == with_sizes(node.shape, sizes), node.op
            assert done[node].dtype == node.dtype, node.op
        return [done[node] for node in self.outputs]


def with_sizes(value: Any, sizes: dict[Dim, int]) -> Any:
    if isinstance(value, tuple):
        return tuple(with_sizes(v, sizes) for v in value)
    return evaluate_dim(value, sizes) if isinstance(value, sp.Expr) else value


def evaluated(node: Node, operands: list[Any], sizes: dict[Dim, int]) -> Any:
    if isinstance(node, Literal):
        return np.asarray(node.value)
    if isinstance(node, Constant):
        return node.array
    if isinstance(node, SizeOf):
        return np.asarray(evaluate_dim(node.size, sizes), node.dtype)
    if isinstance(node, Iota):
        return np.arange(evaluate_dim(node.size, sizes))
    params = {k: concrete(v, sizes) for k, v in node.items}
    found = node.op.evaluate(*operands, **params)
    return found if isinstance(found, tuple) else np.asarray(found)


LOGSUMEXP = registry.handler(special.logsumexp)


def samples(record: Composite) -> Iterator[tuple[Any, Any]]:
    return samples_of(record, np.random.default_rng(7))


def assert_same(results: list[Any], expected: Any) -> None:
    wanted, _ = flatten(expected)
    assert len(results) == len(wanted)
    for result, want in zip(results, wanted, strict=True):
        want = np.asarray(want)
        assert result.shape == want.shape
        assert result.dtype == want.dtype
        tolerance = 1e-5 if want.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(result, want, rtol=tolerance, atol=tolerance)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # all-nan slices, and deprecated aliases under test
        yield


# ---------------------------------------------------------------- composites against NumPy


@pytest.mark.parametrize("symbolic", [False, True], ids=["fixed", "symbolic"])
@pytest.mark.parametrize("name", COMPOSITES)
def test_traced_equals_numpy(name: str, symbolic: bool) -> None:
    for function in COMPOSITES[name].functions:
        for args, kwargs in samples(COMPOSITES[name]):
            trace = Trace(called(function), args, kwargs, symbolic)
            assert trace.holds({d: n for n, d in trace.dims.items()})
            assert_same(trace(), function(*args, **kwargs))


#: Functions of positive numbers, of sorted vectors, and with results that NumPy leaves open.
POSITIVE = ("chdtr", "chdtrc", "gdtr", "gdtrc", "pdtr", "pdtrc", "elliprj")
ORDERED, OPEN = ("searchsorted", "digitize", "interp"), ("partition", "argpartition")


@pytest.mark.parametrize("name", [name for name in COMPOSITES if name not in OPEN])
def test_one_trace_serves_other_sizes(name: str) -> None:
    """Where the guards hold for other sizes, so must the graph."""
    rng = np.random.default_rng(3)
    function = COMPOSITES[name].functions[0]
    for args, kwargs in samples(COMPOSITES[name]):
        trace = Trace(called(function), args, kwargs, symbolic=True)
        for change in (lambda n: n + 1, lambda n: 2 * n, lambda n: n + 7, lambda n: max(n - 1, 2)):
            sizes = {d: change(n) for n, d in trace.dims.items()}
            if not sizes or not trace.holds(sizes):
                continue
            fresh = iter([resized(node, x, sizes, rng) for node, x in trace.arrays.items()])
            if name in POSITIVE:
                fresh = map(np.abs, fresh)
            if name in ORDERED:
                fresh = (np.sort(x) if x.ndim else x for x in fresh)
            new_args, new_kwargs = replaced((args, kwargs), fresh)
            try:
                expected = function(*new_args, **new_kwargs)
            except (np.linalg.LinAlgError, ValueError):  # of random numbers that are not allowed
                continue
            assert_same(trace(list(flat_arrays((new_args, new_kwargs))), sizes), expected)


def resized(node: Input, x: Any, sizes: dict[Dim, int], rng: Any) -> Any:
    shape = with_sizes(node.shape, sizes)
    if x.dtype.kind == "f":
        return rng.standard_normal(shape).astype(x.dtype)
    return rng.integers(0, 2, shape).astype(x.dtype)


def replaced(value: Any, arrays: Iterator[Any]) -> Any:
    if isinstance(value, np.ndarray):
        return next(arrays)
    if isinstance(value, (list, tuple)):
        return type(value)(replaced(v, arrays) for v in value)
    if isinstance(value, dict):
        return {k: replaced(v, arrays) for k, v in value.items()}
    return value


def flat_arrays(value: Any) -> Iterator[Any]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from flat_arrays(v)
    elif isinstance(value, dict):
        yield from flat_arrays(list(value.values()))


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda x: np.reshape(x, (-1,)), (np.ones((3, 4)),)),
        (lambda x: np.reshape(x, (x.shape[1], -1)), (np.ones((3, 4)),)),
        (np.transpose, (np.ones((3, 4)),)),
        (lambda x, y: np.concatenate([x, y]), (np.ones((3, 4)), np.ones((2, 4)))),
        (lambda x: np.stack([x, 2 * x], axis=1), (np.ones((3, 4)),)),
        (lambda x: np.tile(x, (2, 3)), (np.ones((3, 4)),)),
        (lambda x: np.repeat(x, 3, axis=1), (np.ones((3, 4)),)),
        (np.flip, (np.ones((3, 4)),)),
        (lambda x: np.pad(x, 1, mode="edge"), (np.ones((3, 4)),)),
        (np.tril, (np.ones((3, 4)),)),
        (np.diag, (np.ones(4),)),
        (lambda x: np.mean(x, axis=0), (np.ones((3, 4)),)),
        (np.std, (np.ones((3, 4)),)),
        (lambda x: LOGSUMEXP(x, axis=1), (np.ones((3, 4)),)),
        (np.linalg.norm, (np.ones((3, 4)),)),
        (np.matmul, (np.ones((3, 4)), np.ones((4, 2)))),
        (lambda x, y: np.einsum("ij,kj->ik", x, y), (np.ones((3, 4)), np.ones((2, 4)))),
        (np.kron, (np.ones((3, 4)), np.ones((2, 5)))),
        (np.outer, (np.ones(3), np.ones(4))),
        (lambda x: np.eye(3)[0, 0] * np.ones_like(x), (np.ones((3, 4)),)),
    ],
)
def test_sizes_stay_symbolic(function: Any, args: Any) -> None:
    trace = Trace(function, args, {}, symbolic=True)
    assert trace.holds({d: n + 5 for n, d in trace.dims.items()})


def test_lists_of_traced_values_are_stacked() -> None:
    x = np.arange(3.0)
    trace = Trace(lambda x: np.dot([x, 2 * x], x), (x,), {}, symbolic=True)
    assert_same(trace(), np.dot([x, 2 * x], x))


def test_traced_indices() -> None:
    x, i = np.arange(12.0).reshape(3, 4), np.array([2, 0, -1])
    for axis in (0, 1, None):
        trace = Trace(np.take, (x, i), {"axis": axis}, symbolic=True)
        assert_same(trace(), np.take(x, i, axis=axis))
    # np.take does not dispatch on its indices; the registry's function takes them.
    constant = Trace(lambda i: registry.handler(np.take)(x, i, axis=0), (i,), {}, symbolic=True)
    assert_same(constant(), np.take(x, i, axis=0))


# ---------------------------------------------------------------- log-sum-exp at the extremes


@pytest.mark.parametrize(
    "x",
    [
        [1000.0, 1000.0], [-1000.0, -1001.0], [-np.inf, 0.0], [np.inf, 0.0], [-np.inf, -np.inf],
        [np.nan, 0.0], [0.0, -40.0], [-1e-20, -50.0], [710.0, -np.inf, 3.0], [np.inf, -np.inf],
    ],
)  # fmt: skip
def test_logsumexp_extremes(x: Any) -> None:
    (result,) = Trace(LOGSUMEXP, (np.array(x),), {}, symbolic=True)()
    np.testing.assert_allclose(result, np.logaddexp.reduce(x), rtol=1e-15)


def test_logsumexp_ignores_what_has_no_weight() -> None:
    x, b = np.array([1000.0, 0.0, -np.inf, np.inf]), np.array([0.0, 1.0, 3.0, 0.0])
    (result,) = Trace(LOGSUMEXP, (x,), {"b": b}, symbolic=True)()
    assert result == special.logsumexp(x, b=b) == 0.0


# ---------------------------------------------------------------- conventions


def gradient(function: Any, x: Any) -> Any:
    with sg.backend("numpy"):
        return sg.grad(function)(np.asarray(x, dtype=float))


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (np.linalg.norm, [0.0, 0.0], [0.0, 0.0]),
        (lambda x: np.linalg.norm(x, 1), [0.0, 2.0], [0.0, 1.0]),
        (lambda x: np.linalg.norm(x, 3), [0.0, 0.0], [0.0, 0.0]),
        (lambda x: np.linalg.norm(x, np.inf), [2.0, -2.0], [0.5, -0.5]),
        (lambda x: np.linalg.norm(x, 0), [2.0, 0.0], [0.0, 0.0]),
        (np.std, [2.0, 2.0], [0.0, 0.0]),
        (np.max, [1.0, 3.0, 3.0], [0.0, 0.5, 0.5]),
        (np.ptp, [1.0, 3.0, 3.0, 1.0], [-0.5, 0.5, 0.5, -0.5]),
        (lambda x: np.sum(np.clip(x, 0, 1)), [-1.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 0.5]),
        (np.prod, [0.0, 3.0, 2.0], [6.0, 0.0, 0.0]),
        (np.prod, [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]),
        (LOGSUMEXP, [-np.inf, -np.inf], [0.0, 0.0]),
        (LOGSUMEXP, [-np.inf, 0.0], [0.0, 1.0]),
        (LOGSUMEXP, [1000.0, 1000.0], [0.5, 0.5]),
        (lambda x: LOGSUMEXP([x[0], x[1]], b=[0.0, 1.0]), [0.0, 0.0], [0.0, 1.0]),
    ],
)
def test_conventions(function: Any, x: Any, expected: Any) -> None:
    np.testing.assert_allclose(gradient(function, x), expected, rtol=1e-14)


def test_second_derivative_of_logsumexp_at_a_tie() -> None:
    x = np.zeros(3)
    with sg.backend("numpy"):
        hessian = sg.hessian(LOGSUMEXP)(x)
    np.testing.assert_allclose(hessian, np.eye(3) / 3 - 1 / 9, rtol=1e-14)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "max", "min"])
def test_nan_is_skipped_in_derivatives(name: str) -> None:
    x = np.array([0.5, np.nan, 2.0, -1.0, np.nan])
    present = ~np.isnan(x)
    expected = np.zeros(5)
    expected[present] = gradient(getattr(np, name), x[present])
    np.testing.assert_allclose(gradient(getattr(np, f"nan{name}"), x), expected, rtol=1e-14)


# ---------------------------------------------------------------- random contractions


@st.composite
def contractions(draw: st.DrawFn) -> tuple[str, list[tuple[int, ...]]]:
    letters = "abcd"
    sizes = {s: draw(st.integers(1, 3)) for s in letters}
    words = draw(st.lists(st.text(letters, max_size=3), min_size=1, max_size=4))
    used = sorted(set("".join(words)))
    out = draw(st.permutations(used))[: draw(st.integers(0, len(used)))] if used else []
    # An axis of length one broadcasts against its letter's size.
    shapes = [
        tuple(1 if draw(st.integers(0, 5)) == 0 and w.count(s) == 1 else sizes[s] for s in w)
        for w in words
    ]
    return f"{','.join(words)}->{''.join(out)}", shapes


@given(contractions())
def test_any_einsum(case: tuple[str, list[tuple[int, ...]]]) -> None:
    text, shapes = case
    arrays = [r(s) for s in shapes]
    expected = np.einsum(text, *arrays)
    for symbolic in (False, True):
        trace = Trace(lambda *xs: np.einsum(text, *xs), arrays, {}, symbolic)
        assert_same(trace(), expected)


@pytest.mark.parametrize(("a", "b"), [("", "i"), ("i", "j"), ("i", "jk"), ("", "")])
def test_products_without_sums_have_the_bits_of_einsum(a: str, b: str) -> None:
    rng = np.random.default_rng(5)
    x, y = (rng.choice([-0.0, 0.0, 1.5, -2.0, 5e-324, np.inf], (3,) * len(k)) for k in (a, b))
    with np.errstate(invalid="ignore"):
        found = contracted(x, y, a=a, b=b, out=a + b)
        expected = np.einsum(f"{a},{b}->{a + b}", x, y, optimize=True)
    np.testing.assert_array_equal(found, expected)


# ---------------------------------------------------------------- primitives

WHOLE = (0, 1, 3)
#: For every array op: operands and parameters.
CASES: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "Broadcast": [
        ((r(3),), {"shape": (2, 3)}), ((r((2, 1)),), {"shape": (4, 2, 3)}),
        ((r(()),), {"shape": (2,)}), ((r((1, 3)),), {"shape": (1, 3)}),
    ],
    "Reshape": [
        ((r((2, 3)),), {"shape": (6,)}), ((r(6),), {"shape": (3, 1, 2)}),
        ((r((2, 6)),), {"shape": (2, 2, 3)}), ((r((4, 3)),), {"shape": (2, 6)}),
        ((r((2, 3, 2)),), {"shape": (6, 2)}), ((r((1, 1)),), {"shape": ()}),
        ((r((2, 1, 3)),), {"shape": (3, 2)}),
    ],
    "Transpose": [
        ((r((2, 3)),), {"axes": (1, 0)}), ((r((2, 3, 4)),), {"axes": (2, 0, 1)}),
    ],
    "Update": [
        ((r(5), r(2), r(())), {"shape": (5,), "regions": (
            ((0, 1, 5),), ((0, 2, 2),), ((3, 1, None),))}),
        ((r((3, 4)), r(4), r((1, 2))), {"shape": (3, 4), "regions": (
            ((0, 1, 3), (0, 1, 4)), ((1, 1, None), (0, 1, 4)), ((2, 1, 1), (3, -2, 2)))}),
    ],
    "Writer": [
        ((np.arange(1, 5), np.array([2, 0, 2, 4])), {"axes": (0,), "shape": (6,)}),
    ],
    "Slice": [
        ((r((5, 3)),), {"region": ((1, 2, 2), WHOLE)}),
        ((r((5, 3)),), {"region": ((4, -1, 5), (1, 1, None))}),
        ((r((5, 3)),), {"region": ((3, -2, 2), (2, -1, 2))}),
        ((r(4),), {"region": ((2, 1, None),)}), ((r(4),), {"region": ((0, 1, 0),)}),
    ],
    "Assemble": [
        ((r(2), r(3)), {"shape": (6,), "regions": (((0, 1, 2),), ((3, 1, 3),)), "disjoint": True}),
        ((r(2), r(3)), {"shape": (6,), "disjoint": False,
                        "regions": (((4, -2, 2),), ((1, 1, 3),))}),
        ((r(3), r(())), {"shape": (2, 3), "disjoint": True,
                         "regions": (((1, 1, None), WHOLE), ((0, 1, None), (2, 1, None)))}),
        ((r((2, 2)),), {"shape": (5, 3), "disjoint": True,
                        "regions": (((4, -3, 2), (0, 2, 2)),)}),
    ],
    "Diagonal": [
        ((r((3, 3)),), {"offset": 0, "size": 3}), ((r((2, 3, 4)),), {"offset": 2, "size": 2}),
        ((r((4, 2)),), {"offset": -1, "size": 2}),
    ],
    "DiagEmbed": [
        ((r(3),), {"offset": 0, "shape": (3, 3)}), ((r(2),), {"offset": 1, "shape": (3, 3)}),
        ((r((2, 2)),), {"offset": -2, "shape": (2, 4, 3)}),
    ],
    "Gather": [
        ((r((4, 3)), np.array([3, 0, 0])), {"axes": (0,), "at": 0}),
        ((r((4, 3)), np.array([[2, 0], [1, 1]])), {"axes": (1,), "at": 1}),
        ((r((4, 3)), np.array([3, 1]), np.array([0, 2])), {"axes": (0, 1), "at": 0}),
        ((r((2, 4, 3)), np.array([1, 1]), np.array([2, 0])), {"axes": (0, 2), "at": 0}),
        ((r((2, 3)), np.array(1)), {"axes": (1,), "at": 1}),
        ((r(3), np.zeros((0,), int)), {"axes": (0,), "at": 0}),
    ],
    **{
        name: [
            ((r((3, 2)), r((4, 2)), np.array([3, 0, 1])), {"axes": (0,), "at": 0, "shape": (4, 2)}),
            ((r((2, 2)), r((2, 3)), np.array([2, 0])), {"axes": (1,), "at": 1, "shape": (2, 3)}),
            ((r(()), r((2, 3)), np.array(1), np.array(2)),
             {"axes": (0, 1), "at": 0, "shape": (2, 3)}),
            ((r(2), r((2, 3)), np.array(1)), {"axes": (1,), "at": 0, "shape": (2, 3)}),
            ((r((2, 2)), r((2, 3, 2)), np.array(1)), {"axes": (1,), "at": 0, "shape": (2, 3, 2)}),
        ]
        for name in ("Put", "AddAt")
    },
    "Scatter": [
        ((r((3, 2)), np.array([3, 0, 0])), {"axes": (0,), "at": 0, "shape": (4, 2)}),
        ((r((2, 2, 2)), np.array([[2, 0], [1, 1]])), {"axes": (1,), "at": 1, "shape": (2, 3)}),
        ((r(2), np.array([1, 1]), np.array([0, 0])), {"axes": (0, 1), "at": 0, "shape": (2, 3)}),
        ((r(2), np.array(1)), {"axes": (1,), "at": 1, "shape": (2, 3)}),
    ],
    "Spread": [
        ((r(3), r((2, 2)), np.array([4, 0, 2]), np.array([[6, 1], [3, 5]])),
         {"alone": 2, "shape": (7,), "whole": False}),
        ((r(3), r(()), r(2), np.array([4, 0, 2]), np.array(1), np.array([0, 0])),
         {"alone": 1, "shape": (5,), "whole": False}),
        ((r((0,)), r(2), np.zeros((0,), int), np.array([1, 1])),
         {"alone": 0, "shape": (3,), "whole": False}),
    ],
    **{
        name: [((r(4),), {"axes": (0,)}), ((r((2, 3)),), {"axes": (1,)}),
               ((r((2, 3, 2)),), {"axes": (0, 2)}), ((r((2, 2)),), {"axes": (0, 1)})]
        for name in ("Sum", "Prod", "Max", "Min")
    },
    **{
        name: [((r((2, 3)) > 0,), {"axes": (0,)}), ((r((2, 3)) > 0,), {"axes": (0, 1)})]
        for name in ("Any", "All")
    },
    **{
        name: [((r(4),), {"axes": (0,)}), ((r((2, 3)),), {"axes": (1,)})]
        for name in ("Argmax", "Argmin")
    },
    **{
        name: [((r((2, 3)),), {"axis": axis, "reverse": reverse})
               for axis in (0, 1) for reverse in (False, True)]
        for name in ("Cumsum", "Cumprod")
    },
    "Recurrence": [
        ((r((2, 3)), r((2, 3))), {"axis": axis, "reverse": reverse})
        for axis in (0, 1) for reverse in (False, True)
    ],
    "Contract": [
        ((r((2, 3)), r((3, 4))), {"a": "ij", "b": "jk", "out": "ik"}),
        ((r((2, 3)), r((3, 4))), {"a": "ij", "b": "jk", "out": "ki"}),
        ((r(3), r(3)), {"a": "i", "b": "i", "out": ""}),
        ((r((5, 2, 3)), r((5, 3, 2))), {"a": "bij", "b": "bjk", "out": "bik"}),
        ((r((2, 3)), r(3)), {"a": "ij", "b": "j", "out": "ij"}),
        ((r(2), r(3)), {"a": "i", "b": "j", "out": "ij"}),
        ((r((2, 3, 2)), r((3, 2))), {"a": "ijk", "b": "jk", "out": "i"}),
    ],
}  # fmt: skip
PAIRS = [
    pytest.param(ARRAY_OPS[name], operands, params, id=f"{name}-{k}")
    for name, cases in CASES.items()
    for k, (operands, params) in enumerate(cases)
]
EACH = pytest.mark.parametrize(("op", "operands", "params"), PAIRS)


def test_every_array_op_has_a_case() -> None:
    assert set(CASES) == set(ARRAY_OPS)


@EACH
@pytest.mark.quick
def test_shape_and_type_are_those_of_the_result(op: Op, operands: Any, params: Any) -> None:
    y = np.asarray(op(*operands, **params))
    assert isinstance(op, ArrayOp)
    assert tuple(op.shape(*(x.shape for x in operands), **params)) == y.shape
    kinds = [x.dtype for x in operands]
    assert y.dtype == (op.types(*kinds, **params) if op.types else kinds[0])
    if op.kind in ("reduce", "scan", "contract") and y.dtype == np.float64:
        for small in (np.float32, np.int32, np.uint8):
            assert op(*(x.astype(small) for x in operands), **params).dtype == small


class Elements:
    """An operand whose elements are exact numbers where the index is, and opaque elsewhere."""

    def __init__(self, name: str, array: Any):
        self.array, self.shape = array, array.shape
        self.base = sp.IndexedBase(name, shape=array.shape or (1,))

    def __getitem__(self, index: tuple[Any, ...]) -> Any:
        # Pieces that do not hold at an index may read outside of the operand.
        inside = all(
            sp.sympify(i).is_Integer and 0 <= i < n for i, n in zip(index, self.shape, strict=True)
        )
        if not inside:
            return self.base[index or (0,)]
        value = self.array[tuple(map(int, index))]
        if value.dtype == np.bool_:
            return sp.sympify(bool(value))
        return sp.Rational(float(value)) if value.dtype.kind == "f" else sp.Integer(int(value))


FOLDS = {"Max": max, "Min": min}


def number(formula: Any, operands: list[Elements]) -> Any:
    """Evaluate an element formula: expand sums, products and folds, look up elements."""
    if not isinstance(formula, sp.Basic):
        return formula
    name = formula.func.__name__
    if name in ("Sum", "Product", "Max", "Min", "Any", "All", "Argmax", "Argmin") and any(
        isinstance(a, sp.Tuple) for a in formula.args
    ):
        body, *limits = formula.args
        terms = [(k, number(body.xreplace(k), operands)) for k in places(limits, operands)]
        return folded(name, terms)
    if isinstance(formula, sp.Indexed):
        operand = next(x for x in operands if x.base == formula.base)
        index = [number(i, operands) for i in formula.indices]
        return operand[tuple(index[: operand.array.ndim])]
    if isinstance(formula, sp.Piecewise):
        for value, condition in formula.args:
            if number(condition, operands) == sp.true:
                return number(value, operands)
    return formula.func(*(number(a, operands) for a in formula.args)) if formula.args else formula


def places(limits: list[Any], operands: list[Elements]) -> Iterator[dict[Any, Any]]:
    """The values of the bound indices; a later limit may depend on an earlier one."""
    if not limits:
        yield {}
        return
    (k, low, high), *rest = limits
    for i in range(int(number(low, operands)), int(number(high, operands)) + 1):
        for inner in places([sp.Tuple(*x).xreplace({k: sp.Integer(i)}) for x in rest], operands):
            yield {k: sp.Integer(i), **inner}


def folded(name: str, terms: list[tuple[Any, Any]]) -> Any:
    values = [v for _, v in terms]
    if name == "Sum":
        return sum(values, sp.Integer(0))
    if name == "Product":
        return sp.prod(values)
    if name in FOLDS:
        return FOLDS[name](values)
    if name in ("Any", "All"):
        return sp.Or(*values) if name == "Any" else sp.And(*values)
    best = max(values) if name == "Argmax" else min(values)
    return sp.Integer(values.index(best))


@EACH
@pytest.mark.quick
def test_element_formula(op: Op, operands: Any, params: Any) -> None:
    y = np.asarray(op(*operands, **params))
    proxies = [Elements(f"x{k}", x) for k, x in enumerate(operands)]
    assert isinstance(op, ArrayOp)
    symbols = sp.symbols(f"i:{y.ndim}", integer=True, nonnegative=True)
    for proxied in (False, True):  # at symbolic positions too, where the formula is printed
        for position in itertools.product(*map(range, y.shape)):
            at = tuple(map(sp.Integer, position))
            if proxied:
                formula = sp.sympify(op.element(symbols, *proxies, **params))
                formula = formula.xreplace(dict(zip(symbols, at, strict=True)))
            else:
                formula = op.element(at, *proxies, **params)
            value = number(sp.sympify(formula), proxies)
            want = y[position]
            if y.dtype == np.bool_:
                assert value == sp.sympify(bool(want))
            else:
                assert float(value) == pytest.approx(float(want), rel=1e-13, abs=1e-13)


def inner(x: Any, y: Any) -> float:
    return float(np.sum(x * y))


@pytest.mark.parametrize(
    ("op", "operands", "params"),
    [p for p in PAIRS if p.values[0].linear is not None],
)
@pytest.mark.quick
def test_transpose_is_the_adjoint(op: Op, operands: Any, params: Any) -> None:
    """<A x, ct> == <x, A^T ct>: the op is linear in its float operands together."""
    y = op(*operands, **params)
    ct = r(np.shape(y))
    assert op.linear is not None
    back = op.linear.transpose(ct, *operands, **params)
    assert len(back) == len(operands)
    total = 0.0
    for x, part in zip(operands, back, strict=True):
        if part is None:
            assert x.dtype.kind == "i"
        else:
            assert np.shape(part) == x.shape
            total += inner(x, part)
    assert total == pytest.approx(inner(y, ct), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("op", "operands", "params"), [p for p in PAIRS if isinstance(p.values[0].rule, Products)]
)
@pytest.mark.parametrize("zeros", [0, 1, 2])
@pytest.mark.quick
def test_rules_agree_with_differences(op: Op, operands: Any, params: Any, zeros: int) -> None:
    """vjp and jvp are adjoint and both are the derivative, also where factors are zero."""
    operands = tuple(np.array(x) for x in operands)
    if zeros and op.name not in ("Max", "Min"):  # zeros would be ties there
        for x in operands:
            x.flat[:zeros] = 0.0
    y = op(*operands, **params)
    ct, tangents = r(np.shape(y)), tuple(r(x.shape) for x in operands)
    back = op.products.vjp(ct, y, *operands, **params)
    forward = op.products.jvp(tangents, y, *operands, **params)
    assert inner(ct, forward) == pytest.approx(sum(map(inner, back, tangents)), rel=1e-10)
    h = 1e-6
    ahead, behind = (
        op(*(x + s * t for x, t in zip(operands, tangents, strict=True)), **params) for s in (h, -h)
    )
    np.testing.assert_allclose(forward, (ahead - behind) / (2 * h), rtol=1e-5, atol=1e-7)
    for k in range(len(operands)):  # a zero tangent is None
        some = tuple(t if j == k else None for j, t in enumerate(tangents))
        part = op.products.jvp(some, y, *operands, **params)
        assert inner(ct, part) == pytest.approx(inner(back[k], tangents[k]), rel=1e-9, abs=1e-12)


@EACH
@pytest.mark.quick
def test_batched_op_is_the_op_on_each_example(op: Op, operands: Any, params: Any) -> None:
    size = 3
    for flags in itertools.product([False, True], repeat=len(operands)):
        if not any(flags):
            continue
        rng = np.random.default_rng(5)
        stacked = [
            np.stack([rng.permuted(x.ravel()).reshape(x.shape) for _ in range(size)]) if flag else x
            for x, flag in zip(operands, flags, strict=True)
        ]
        want = np.stack([
            op(*(x[k] if flag else x for x, flag in zip(stacked, flags, strict=True)), **params)
            for k in range(size)
        ])  # fmt: skip
        assert isinstance(op, ArrayOp)
        result = op.batch(size, flags, *stacked, **params)
        assert result.shape == want.shape
        np.testing.assert_allclose(result, want, rtol=1e-13, atol=1e-13)


def test_merged_assemblies_are_their_sum() -> None:
    op = registry.ops["Assemble"]
    shape = (4, 3)
    calls = [
        ((r(3),), {"shape": shape, "regions": (((k, 1, None), WHOLE),), "disjoint": True})
        for k in (0, 2, 2)
    ] + [
        ((r(()),), {"shape": shape, "regions": (((k, 1, None), (1, 1, None)),), "disjoint": True})
        for k in (0, 3)
    ]  # fmt: skip
    assert op.merge is not None
    for some in (calls, calls[:2], calls[3:]):
        operands, params = op.merge(some)
        want = sum(op(*xs, **p) for xs, p in some)
        np.testing.assert_allclose(op(*operands, **params), want, rtol=1e-15)


# ---------------------------------------------------------------- what is registered, refused


FUNCTIONS = """
where clip select sum mean var std prod max min ptp any all argmax argmin cumsum cumprod
linalg.norm reshape ravel transpose swapaxes moveaxis expand_dims squeeze broadcast_to
broadcast_arrays concatenate stack hstack vstack split tile repeat flip roll pad diag trace
tril triu diff outer take take_along_axis dot matmul inner tensordot einsum kron vdot
rollaxis atleast_1d atleast_2d atleast_3d dstack column_stack array_split hsplit vsplit dsplit
fliplr flipud rot90 diagonal diagflat ediff1d zeros_like ones_like full_like empty_like copy
meshgrid append delete insert ndim shape size average amax amin nansum nanmean nanmax nanmin
nanvar nanstd nanprod count_nonzero nancumsum nancumprod cross block trapezoid
linalg.multi_dot linalg.matrix_power matrix_transpose permute_dims concat
linalg.vector_norm linalg.matrix_norm linalg.trace linalg.diagonal linalg.outer linalg.matmul
linalg.cross linalg.tensordot linalg.vecdot linalg.matrix_transpose
"""


@pytest.mark.parametrize("name", FUNCTIONS.split())
@pytest.mark.quick
def test_registered(name: str) -> None:
    module, _, short = name.rpartition(".")
    function = getattr(np.linalg if module else np, short)
    assert function in registry.handlers


@pytest.mark.parametrize("name", ["logsumexp", "softmax", "log_softmax"])
def test_registered_of_scipy(name: str) -> None:
    assert getattr(special, name) in registry.handlers


@pytest.mark.parametrize("name", np_refused.REFUSED)
def test_refused_with_a_reason(name: str) -> None:
    try:
        function = operator.attrgetter(name)(np)
    except AttributeError:
        pytest.skip("another version of NumPy has it")
    with pytest.raises(UnsupportedError, match=name.rpartition(".")[2]) as error:
        registry.handlers[function](np.ones(3))
    assert np_refused.REFUSED[name] in str(error.value)


def x_of(*shape: int) -> Traced:
    return Traced(Input("x", tuple(Dim(f"n{k}", d) for k, d in enumerate(shape)), np.float64))


@pytest.mark.parametrize(
    ("function", "error", "match"),
    [
        (lambda x: np.sum(x, axis=2), ShapeError, "axis 2 is out of bounds"),
        (lambda x: np.mean(x, axis=(0, 0)), ShapeError, "duplicate"),
        (lambda x: np.max(x[:0]), ShapeError, "max of no elements"),
        (lambda x: np.reshape(x, (5, 7)), ShapeError, r"\(n0=3, n1=4\) into shape \(5, 7\)"),
        (lambda x: np.reshape(x, (-1, -1)), ShapeError, "one unknown dimension"),
        (lambda x: np.reshape(x, 12, order="A"), UnsupportedError, "order='C' or order='F'"),
        (lambda x: np.transpose(x, (0, 0)), ShapeError, "no permutation"),
        (lambda x: np.squeeze(x, axis=0), ShapeError, "length is not one"),
        (lambda x: np.broadcast_to(x, (2, 2)), ShapeError, r"to \(2, 2\)"),
        (lambda x: np.concatenate([x, x[:, :2]]), ShapeError, r"axis 0 must agree"),
        (lambda x: np.stack([x, x.T]), ShapeError, "one shape"),
        (lambda x: np.split(x, 2), ShapeError, "equal parts"),
        (lambda x: np.repeat(x, x), ArgumentError, "cannot be traced"),
        (lambda x: np.pad(x, 1, mode="empty"), ArgumentError, "'empty' is not traced"),
        (lambda x: np.pad(x, ((1, 1),) * 3), ShapeError, "2 axes"),
        (lambda x: np.take(x, [5], axis=0), IndexingError, "out of bounds"),
        (lambda x: np.take(x, [0.5], axis=0), IndexingError, "integers"),
        (lambda x: np.matmul(x, x), ShapeError, r"\(n0=3, n1=4\) and .* differ"),
        (lambda x: np.dot(x, x), ShapeError, "differ"),
        (lambda x: np.einsum("ij,ij->ik", x, x), ArgumentError, "invents a letter"),
        (lambda x: np.einsum("ijk->i", x), ShapeError, "does not name the axes"),
        (lambda x: np.einsum("ij,ji->", x, x), ShapeError, "different sizes"),
        (lambda x: np.linalg.norm(x, axis=(0, 0)), ShapeError, "two different axes"),
        (lambda x: np.trace(x[0]), ShapeError, "two axes"),
        (lambda x: np.cross(x, x), ShapeError, "3 components"),
        (lambda x: np.select([x], [x]), TypeError, "must be boolean"),
        (lambda x: np.nansum(x, where=x > 0), UnsupportedError, "where="),
        (lambda x: np.nonzero(x)[0][0], UnsupportedError, "Write instead: np.where"),
    ],
)
def test_errors_name_the_problem(function: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        function(x_of(3, 4))


def test_nearest_of_two_equally_near_is_numpys() -> None:
    levels = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    given = np.arange(6.0)
    found = sg.compile(lambda x: np.quantile(x, levels, method="nearest"), cache=False)(given)
    np.testing.assert_array_equal(found, np.quantile(given, levels, method="nearest"))
