"""Random programs: kernel, NumPy backend and plain NumPy agree; so do the two derivatives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symgrad as sg
from symgrad._core.ops import SLICE
from symgrad._core.program import schedule
from symgrad._core.rewrite import RULES, Rule, rewrite
from symgrad._core.rewrite._rules import build
from symgrad._core.trace import argument_names, as_leaf, as_traced, flatten, signature_of, trace


def times(count: int) -> settings:
    """Return how many examples to try, in proportion to the profile's number."""
    return settings(max_examples=max(1, count * settings.default.max_examples // 50))


Dims = tuple[Any, ...]  # of numbers, and of (letter, offset)


# ---------------------------------------------------------------- steps, by the dims they take


def rows(d: Dims) -> bool:
    return len(d) >= 1


def letters(d: Dims) -> bool:
    return len(d) >= 1 and isinstance(d[0], tuple) and d[0][1] == 0


def matrix(d: Dims) -> bool:
    return len(d) == 2


def anything(d: Dims) -> bool:
    return True


def broadcast(a: Dims, b: Dims) -> Dims | None:
    """Return the common dims; None if they do not go together for all sizes."""
    rank = max(len(a), len(b))
    out = []
    for x, y in zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True):
        if x != y and 1 not in (x, y):
            return None
        out.append(y if x == 1 else x)
    return tuple(out)


def shorter(d: Any) -> Any:
    return (d[0], d[1] - 1) if isinstance(d, tuple) else d - 1


UNARY: list[Callable[..., Any]] = [
    np.sin, np.tanh, np.arctan, np.abs, np.negative, np.exp2, np.arcsinh,
    lambda x: np.sqrt(x * x + 1), lambda x: np.log1p(x * x), lambda x: np.tanh(x) ** 2,
    lambda x: np.cos(x) ** 3, lambda x: 1 / (1 + x * x), lambda x: 0.5 * x - 1.5,
    lambda x: np.maximum(x, 0.1), lambda x: np.clip(x, -0.7, 0.9), lambda x: 2 ** np.sin(x),
    lambda x: x + 3, lambda x: -x * -1.0, lambda x: np.exp(-x * x),
]  # fmt: skip
BINARY: list[Callable[..., Any]] = [
    np.add, np.subtract, lambda a, b: np.tanh(a) * b, lambda a, b: a / (1 + b * b),
    np.maximum, np.minimum, np.hypot, lambda a, b: np.where(a > b, a, np.sin(b)),
    lambda a, b: np.logaddexp(a, b), lambda a, b: np.arctan2(a, 1 + b * b),
    lambda a, b: np.where((a < 0) & (b < 1), -a, b),
]  # fmt: skip

#: (what it takes, the dims it gives, what it does)
Step = tuple[Callable[[Dims], bool], Callable[[Dims], Dims], Callable[[Any], Any]]
SHAPING: list[Step] = [
    (rows, lambda d: d[1:], lambda x: np.sum(x, axis=0)),
    (rows, lambda d: d[:-1], lambda x: np.sum(x, axis=-1)),
    (anything, lambda d: (), lambda x: np.sum(np.sin(x))),
    (anything, lambda d: (), lambda x: np.mean(x)),
    (rows, lambda d: d[:-1], lambda x: np.max(x, axis=-1)),
    (rows, lambda d: (1, *d[1:]), lambda x: np.min(x, axis=0, keepdims=True)),
    (rows, lambda d: d[1:], lambda x: np.prod(np.cos(x), axis=0)),
    (rows, lambda d: d[:-1], lambda x: np.var(x, axis=-1)),
    (rows, lambda d: d, lambda x: np.cumsum(np.tanh(x), axis=0)),
    (rows, lambda d: d, lambda x: np.cumprod(np.cos(x), axis=-1)),
    (rows, lambda d: d, lambda x: x[::-1]),
    (rows, lambda d: d, lambda x: x[..., ::-1]),
    (letters, lambda d: (shorter(d[0]), *d[1:]), lambda x: x[1:]),
    (letters, lambda d: (shorter(d[0]), *d[1:]), lambda x: x[:-1]),
    (letters, lambda d: (shorter(d[0]), *d[1:]), lambda x: np.diff(x, axis=0)),
    (letters, lambda d: d[1:], lambda x: x[0]),
    (letters, lambda d: d[1:], lambda x: x[-1]),
    (letters, lambda d: (3, *d[1:]), lambda x: x[[0, -1, 0]]),
    (letters, lambda d: (2, *d[1:]), lambda x: np.take(x, [1, 1], axis=0)),
    (lambda d: len(d) == 1, lambda d: (), lambda x: x[np.argmax(x)]),
    (rows, lambda d: d, lambda x: np.roll(x, 1, axis=0)),
    (rows, lambda d: (d[0], 1, *d[1:]), lambda x: x[:, None]),
    (rows, lambda d: (1, *d), lambda x: x[None]),
    (matrix, lambda d: (d[1], d[0]), lambda x: x.T),
    (matrix, lambda d: d, lambda x: np.triu(x)),
    (lambda d: len(d) == 1, lambda d: (2, *d), lambda x: np.stack([x, -x])),
    (lambda d: len(d) == 1, lambda d: (d[0], d[0]), lambda x: np.outer(x, np.sin(x))),
    (lambda d: len(d) == 1, lambda d: (d[0], d[0]), lambda x: np.diag(x)),
    (matrix, lambda d: (d[0], d[0]), lambda x: np.tanh(x) @ np.cos(x).T),
    (matrix, lambda d: (d[1],), lambda x: np.einsum("ij,ij->j", x, np.sin(x))),
    (lambda d: len(d) == 1, lambda d: (), lambda x: np.tanh(x) @ x),
    (lambda d: 0 < len(d) < 3, lambda d: d, lambda x: np.concatenate([x[:1], x[1:] * 2])),
]  # fmt: skip


@dataclass
class Program:
    """A random function of arrays, and the shapes of its arguments by letters."""

    inputs: tuple[Dims, ...]
    steps: tuple[tuple[Callable[..., Any], tuple[int, ...]], ...]
    results: tuple[int, ...]

    def __call__(self, *values: Any) -> Any:
        pool = list(values)
        for function, operands in self.steps:
            pool.append(function(*(pool[k] for k in operands)))
        return tuple(pool[k] for k in self.results)

    def scalar(self, *values: Any) -> Any:
        """Return one number that depends on all results."""
        total = 0.0
        for k, result in enumerate(self(*values)):
            total = total + np.sum(np.sin(result + k))
        return total

    def arguments(self, seed: int, dtype: Any = np.float64, **sizes: int) -> list[Any]:
        """Return random arguments; ``n=5, m=3`` are the lengths that the letters stand for."""
        rng = np.random.default_rng(seed)
        shapes = [tuple(d if isinstance(d, int) else sizes[d[0]] for d in x) for x in self.inputs]
        return [rng.uniform(-2, 2, shape).astype(dtype) for shape in shapes]


N, M = ("n", 0), ("m", 0)


@st.composite
def programs(draw: st.DrawFn, arrays: bool = True) -> Program:
    shapes = [(), (N,), (M,), (N, M), (1, M)] if arrays else [()]
    inputs = tuple(draw(st.lists(st.sampled_from(shapes), min_size=2, max_size=4)))
    pool = list(inputs)
    steps: list[Any] = []
    for _ in range(draw(st.integers(1, 12))):
        what = draw(st.sampled_from(["unary", "binary", "binary", *["shape"] * 3 * arrays]))
        k = draw(st.integers(0, len(pool) - 1))
        if what == "unary":
            steps.append((draw(st.sampled_from(UNARY)), (k,)))
            pool.append(pool[k])
        elif what == "binary":
            fits = [j for j, d in enumerate(pool) if broadcast(pool[k], d) is not None]
            j = draw(st.sampled_from(fits))
            steps.append((draw(st.sampled_from(BINARY)), (k, j)))
            pool.append(broadcast(pool[k], pool[j]))  # type: ignore[arg-type]
        else:
            takes = [s for s in SHAPING if s[0](pool[k])]
            _, dims, function = draw(st.sampled_from(takes))
            new = dims(pool[k])
            if len(new) > 3 or any(isinstance(d, tuple) and d[1] < -2 for d in new):
                continue
            steps.append((function, (k,)))
            pool.append(new)
    results = draw(st.lists(st.integers(0, len(pool) - 1), min_size=1, max_size=3))
    return Program(inputs, tuple(steps), (*results, len(pool) - 1))


def close(got: Any, want: Any, rtol: float, atol: float) -> None:
    for a, b in zip(flatten(got)[0], flatten(want)[0], strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol, atol)


# ---------------------------------------------------------------- values


def agree(program: Program, sizes: list[dict[str, int]], dtype: Any = np.float64) -> None:
    """Compare both backends with plain NumPy, with one trace for all sizes."""
    rtol, atol = (1e-10, 1e-11) if dtype == np.float64 else (2e-4, 2e-4)
    reference = sg.compile(program, backend="numpy")
    kernel = sg.compile(program, cache=False)
    for seed, size in enumerate(sizes):
        args = program.arguments(seed, dtype, **size)
        with np.errstate(all="ignore"):
            want = program(*args)
        close(reference(*args), want, rtol, atol)
        close(kernel(*args), want, rtol, atol)
    assert kernel.traces == reference.traces == 1


SIZES = [{"n": 25, "m": 17}, {"n": 24, "m": 31}, {"n": 19, "m": 43}]

#: Short axes, which kernels are specialized for and unrolled.
SHORT = [{"n": 5, "m": 3}]


@given(programs(arrays=False))
@times(6)
def test_scalar_programs(program: Program) -> None:
    agree(program, SIZES[:1])


@given(programs())
@times(8)
def test_array_programs_of_any_size(program: Program) -> None:
    agree(program, SIZES)


@given(programs())
@times(6)
def test_array_programs_with_short_axes(program: Program) -> None:
    agree(program, SHORT)


@given(programs())
@times(3)
def test_float32_programs(program: Program) -> None:
    agree(program, SIZES[:1], np.float32)


@pytest.mark.slow
@given(programs(), st.sampled_from([np.float64, np.float32]))
@times(150)
def test_many_array_programs(program: Program, dtype: Any) -> None:
    agree(program, SIZES, dtype)
    agree(program, SHORT, dtype)


# ---------------------------------------------------------------- derivatives


def inner_products(program: Program) -> None:
    """<J v, w> must be <v, J' w>; the gradient must not depend on the backend."""
    args = program.arguments(0, n=5, m=3)
    tangents = program.arguments(1, n=5, m=3)
    with sg.backend("numpy"):
        out, pushed = sg.jvp(program, tuple(args), tuple(tangents))
        rng = np.random.default_rng(2)
        weights = tuple(rng.normal(size=np.shape(y)) for y in out)
        _, pullback = sg.vjp(program, *args)
        pulled = pullback(tuple(np.float64(w) if w.shape == () else w for w in weights))
        left = sum(np.sum(w * t) for w, t in zip(weights, pushed, strict=True))
        right = sum(np.sum(v * g) for v, g in zip(tangents, pulled, strict=True))
        scale = sum(np.sum(np.abs(v * g)) for v, g in zip(tangents, pulled, strict=True))
    assert [np.shape(g) for g in pulled] == [np.shape(x) for x in args]
    np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-9 * (1 + scale))


def gradients(program: Program, sizes: list[dict[str, int]]) -> None:
    numbers = tuple(range(len(program.inputs)))
    kernel = sg.value_and_grad(program.scalar, argnums=numbers)
    for seed, size in enumerate(sizes):
        args = program.arguments(seed, **size)
        got = kernel(*args)
        with sg.backend("numpy"):
            want = kernel(*args)
        close(got, want, 1e-8, 1e-9)
        np.testing.assert_allclose(got[0], program.scalar(*args), 1e-10, 1e-10)
    assert kernel.traces == 1


@given(programs())
@times(40)
def test_forward_and_reverse_agree(program: Program) -> None:
    inner_products(program)


@given(programs())
@times(5)
@pytest.mark.slow
def test_gradient_kernels(program: Program) -> None:
    gradients(program, SIZES)
    gradients(program, SHORT)


@pytest.mark.slow
@given(programs())
@times(500)
def test_forward_and_reverse_agree_on_many(program: Program) -> None:
    inner_products(program)


@pytest.mark.slow
@given(programs())
@times(150)
def test_many_gradient_kernels(program: Program) -> None:
    gradients(program, SIZES)
    gradients(program, SHORT)


# ---------------------------------------------------------------- rewriting keeps values

EXACT = tuple(rule for rule in RULES if not rule.rounds)
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, -1e-310, 1e308, 0.5, -2.5]


def graph_of(function: Any, *args: Any) -> tuple[Any, list[Any]]:
    raw, tree = flatten((args, {}))
    leaves = [as_leaf(leaf, "argument") for leaf in raw]
    signature, sizes = signature_of(leaves, tree, True)
    return trace(function, signature, sizes, argument_names(function, args, {})), leaves


def bits(value: Any) -> bytes:
    """Return the bits of an array; all nans are the same."""
    array = np.array(value)
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return array.tobytes()


def run(graph: Any, outputs: Any, values: Any) -> tuple[Any, ...]:
    return schedule(graph.inputs, outputs, graph.guards).run(*values)


def both_orders(function: Any, args: Any) -> list[Any]:
    """Return the sums and products of a value with its gradient that are computed twice."""
    both = sg.value_and_grad(function, tuple(range(len(args))))
    graph, _ = graph_of(both, *args)
    steps = schedule(graph.inputs, rewrite(graph.outputs), graph.guards).steps
    pairs = {(n.op, n.operands) for n in steps if n.op.name in ("Add", "Multiply")}
    return [(op, (a, b)) for op, (a, b) in pairs if a is not b and (op, (b, a)) in pairs]


def test_a_product_in_both_orders_is_computed_once() -> None:
    assert not both_orders(lambda x, y: np.sin(x) * np.exp(-(y**2)), (0.3, 0.7))
    assert not both_orders(lambda x, y: np.sum((x + y) / (1 + np.exp(y + x))), (np.ones(3),) * 2)


@given(programs())
@times(30)
def test_no_product_is_computed_in_both_orders(program: Program) -> None:
    assert not both_orders(program.scalar, program.arguments(0, n=5, m=3))


@given(programs(), st.booleans(), st.integers(0, 2**32 - 1))
@times(60)
def test_exact_rules_keep_every_bit(program: Program, special: bool, seed: int) -> None:
    args = program.arguments(seed, n=5, m=3)
    if special:
        rng = np.random.default_rng(seed)
        args = [np.where(rng.random(x.shape) < 0.3, rng.choice(SPECIAL, x.shape), x) for x in args]
    graph, leaves = graph_of(program, *args)
    before = run(graph, graph.outputs, leaves)
    after = run(graph, rewrite(graph.outputs, EXACT), leaves)
    assert list(map(bits, before)) == list(map(bits, after))
    np.testing.assert_equal(
        [np.isnan(x) for x in before],
        [np.isnan(x) for x in run(graph, rewrite(graph.outputs), leaves)],
    )


x5 = np.array(SPECIAL)

#: For each rule a function where it applies and near misses where it must not.
CASES: dict[str, tuple[Callable[..., Any], list[Callable[..., Any]]]] = {
    "constant folding": (lambda x: x + np.sin(as_traced(1.0)), [np.sin]),
    "x*1 = x": (lambda x: x * 1, [lambda x: x * 0, lambda x: x * np.ones((2, 1))]),
    "1*x = x": (lambda x: 1.0 * x, [lambda x: 0.0 * x, lambda x: np.ones((2, 1)) * x]),
    "x/1 = x": (lambda x: x / 1, [lambda x: 1 / x, lambda x: x / -1]),
    "x - 0 = x": (lambda x: x - 0.0, [lambda x: 0.0 - x, lambda x: x - -0.0]),
    "x + -0 = x": (lambda x: x + -0.0, [lambda x: x + 0.0, lambda x: x + 0]),
    "-0 + x = x": (lambda x: -0.0 + x, [lambda x: 0.0 + x, lambda x: 0 + x]),
    "x*(-1) = -x": (lambda x: x * -1, [lambda x: x * 1, lambda x: x * -np.ones((2, 1))]),
    "-(-x) = x": (lambda x: np.negative(-x), [lambda x: -x, lambda x: -(x * 2)]),
    "-((-x)*y) = x*y": (lambda x: -(-x * np.sin(x)), [lambda x: -(x * np.sin(x))]),
    "-(x*(-y)) = x*y": (lambda x: -(np.sin(x) * -x), [lambda x: -(np.sin(x) * x)]),
    "x + (-y) = x - y": (lambda x: np.sin(x) + -x, [lambda x: np.sin(x) - x]),
    "(-x) + y = y - x": (lambda x: -x + np.sin(x), [lambda x: x + np.sin(x)]),
    "x - (-y) = x + y": (lambda x: np.sin(x) - -x, [lambda x: -np.sin(x) - x]),
    "(-x)*(-y) = x*y": (lambda x: -x * -np.sin(x), [lambda x: -x * np.sin(x)]),
    "a*(2*x) = (2*a)*x": (
        lambda x: 100.0 * (2.0 * x) + (x * 4.0) * -1.5 + 2.0 * (3.0 * np.sin(x)),
        [
            lambda x: 0.5 * (2.0 * x), lambda x: 2.0 * (1.5 * x), lambda x: 3.0 * (5.0 * x),
            lambda x: 1e308 * (4.0 * x), lambda x: 3.0 * (2.0 + x), lambda x: np.inf * (2.0 * x),
        ],
    ),
    "x**0 = 1": (
        lambda x: x * np.power(x, 0.0) + np.power(np.sum(x), 0.0),
        [lambda x: np.power(x, 1.0), lambda x: np.power(x, 0.5), lambda x: np.power(2.0, x)],
    ),
    "x**1, x**2, x**-1 as products": (
        lambda x: x**2 + x**1 + x**-1,
        [lambda x: x**0.5, lambda x: x**0, lambda x: 2**x, lambda x: x ** np.full((2, 1), 2.0)],
    ),
    "x**3, x**4 as products": (lambda x: x**3 + x**4, [lambda x: x**5, lambda x: x**2.5]),
    "where(True, a, b) = a": (
        lambda x: np.where(np.array(True), x, 0.0),
        [lambda x: np.where(x > 0, x, 0.0), lambda x: np.where(True, x[0], x)],
    ),
    "x | x = x, x | (x & y) = x": (
        lambda x: np.stack([
            (x > 0) | (x > 0), (x > 0) & ((x > 0) | (x < 1)), ((x > 0) & (x < 1)) | (x < 1),
            (x > 0) | ((x > 0) | (x < 1)), ((x > 0) & (x < 1)) & (x > 0),
        ]),
        [
            lambda x: (x > 0) | (x < 1), lambda x: (x > 0) ^ (x > 0),
            lambda x: (x > 0) | ((x < 1) & (x > -1)), lambda x: (x[0] > 0) | ((x[0] > 0) & (x > 1)),
        ],
    ),
    "False | x = x, False & x = False": (
        lambda x: np.stack([
            (x > 0) | False, False & (x > 0), True & (x > 0), (x > 0) | True,
        ]),
        [lambda x: (x > 0) | (x > 1), lambda x: (x > 0) ^ True, lambda x: np.int64(0) | x.shape[0]],
    ),
    "where(True, 1, b) = 1": (
        lambda x: np.where(np.array(False), x, 2.0) * x,
        [lambda x: np.where(x > 0, x, 2.0), lambda x: np.where(True, x[0], x)],
    ),
    "the same number everywhere": (
        lambda x: x - np.sin(np.broadcast_to(as_traced(2.0), x.shape) * 3.0),
        [lambda x: np.broadcast_to(x[0], x.shape) * 3.0, lambda x: np.full((2, 1), 2.0) * x],
    ),
    "needless broadcast": (
        lambda x: x + np.broadcast_to(x[0], x.shape),
        [lambda x: x[0] + np.broadcast_to(x[1], x.shape)],
    ),
    "convert twice": (
        lambda x: (x > 0).astype(np.float32).astype(np.float64),
        [
            lambda x: x.astype(np.float32).astype(np.float64),
            # int64 to float64 rounds above 2**53, though NumPy calls it safe.
            lambda x: (x.shape[0] + np.array([2**53, 1])).astype(float).astype(np.int64),
        ],
    ),
    "reshape of reshape": (
        lambda x: x.reshape(3, -1).reshape(2, -1),
        [lambda x: x.reshape(3, -1), lambda x: x.reshape(3, -1).T.reshape(2, -1)],
    ),
    "broadcast of broadcast": (
        lambda x: np.broadcast_to(np.broadcast_to(x, (2, *x.shape)), (3, 2, *x.shape)),
        [lambda x: np.broadcast_to(x, (2, *x.shape))],
    ),
    "transpose of transpose": (
        lambda x: x.reshape(3, 2, -1).transpose(1, 2, 0).transpose(1, 2, 0),
        [lambda x: x.reshape(3, -1).T, lambda x: np.sin(x.reshape(3, -1)).T],
    ),
    "whole slice": (
        lambda x: SLICE(x, region=((0, 1, x.shape[0]),)),
        [lambda x: x[1:], lambda x: x[::-1], lambda x: x[:-1]],
    ),
    "assembly of the whole": (
        lambda x: np.stack([np.sin(x)]) + np.stack([x[:, None]], axis=2)[0].T,
        [lambda x: np.stack([x, x]), lambda x: np.pad(x, 1), lambda x: np.concatenate([x, x])],
    ),
    "product with the identity": (
        lambda x: np.outer(x, np.sin(x)) @ np.diag(np.ones_like(x)) @ np.outer(x, x).T,
        [
            lambda x: np.outer(x, x) @ np.diag(x),
            lambda x: np.outer(x, x) * np.diag(np.ones_like(x)),
            lambda x: np.diag(np.ones_like(x), 1)[:-1] @ np.outer(np.sin(np.append(x, 1.0)), x),
        ],
    ),
    "slice of what was assembled": (
        lambda x: np.stack([x, np.sin(x)])[1],
        [lambda x: np.stack([x, np.sin(x)])[:, 1], lambda x: np.pad(x, 1)[1:]],
    ),
}  # fmt: skip


def test_every_rule_has_a_case() -> None:
    assert list(CASES) == [rule.name for rule in RULES]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rule_applies_and_keeps_the_value(rule: Rule) -> None:
    graph, leaves = graph_of(CASES[rule.name][0], x5)
    counts: Counter[str] = Counter()
    outputs = rewrite(graph.outputs, (rule,), counts)
    assert counts[rule.name] >= 1
    before, after = run(graph, graph.outputs, leaves), run(graph, outputs, leaves)
    if rule.rounds:
        np.testing.assert_allclose(after[0], before[0], rtol=1e-15 if rule.ulp else 0)
        np.testing.assert_array_equal(np.signbit(after[0]), np.signbit(before[0]))
    else:
        assert bits(before[0]) == bits(after[0])


@pytest.mark.parametrize(
    ("rule", "miss"),
    [(rule, miss) for rule in RULES for miss in CASES.get(rule.name, (None, []))[1]],
    ids=lambda value: value.name if isinstance(value, Rule) else "",
)
def test_rule_does_not_apply(rule: Rule, miss: Callable[..., Any]) -> None:
    graph, _ = graph_of(miss, x5)
    counts: Counter[str] = Counter()
    rewrite(graph.outputs, (rule,), counts)
    assert not counts


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_doubling_moves_to_the_other_factor_bit_for_bit(dtype: str) -> None:
    """Also of numbers that overflow, and of those too small to have all digits."""
    limits, rng = np.finfo(dtype), np.random.default_rng(0)
    powers = np.linspace(limits.minexp - 60, limits.maxexp - 1, 60)
    x = rng.normal(size=60) * 2.0**powers
    with np.errstate(all="ignore"):
        x = np.append(x.astype(dtype), [0.0, -0.0, np.inf, np.nan, limits.max, limits.tiny])
        for a in (1.0, -1.0, 1.5, 3.0, -7.0, 100.0, 1e3 + 0.1, 1e37):
            for two in (2.0, 4.0, 64.0):

                def f(x: Any, a: float = a, b: float = two) -> Any:
                    return a * (b * x), x * a * b

                for found, wanted in zip(sg.compile(f)(x), f(x), strict=True):
                    assert bits(found) == bits(wanted)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 0.0,
        lambda x: x - x,
        lambda x: x * 0,
        lambda x: 0 * x,
        lambda x: x / x,
        lambda x: x**0,
        lambda x: (x + 1e300) - 1e300,
        lambda x: x * 2 / 2,
        lambda x: np.sqrt(x**2),
        lambda x: np.exp(np.log(x)),
        lambda x: (x + 1) * (x + 1) - x * x,
        lambda x: 0 - x,
        lambda x: np.where(x == x, x, 0.0),
        lambda x: np.abs(np.abs(x)) * np.sign(x),
        lambda x: np.maximum(x, x) + np.minimum(x, -0.0),
        lambda x: np.sum(x * 0.0),
    ],
)
def test_infinities_nans_and_signed_zeros_survive(function: Callable[..., Any]) -> None:
    with np.errstate(all="ignore"):
        want = function(x5)
    for backend in ("numpy", "llvm"):
        got = sg.compile(function, backend=backend, cache=False)(x5)
        np.testing.assert_allclose(got, want, rtol=1e-15)
        number = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got)[number], np.signbit(want)[number])


def test_constants_are_not_folded_into_something_huge() -> None:
    column, row = as_traced(np.ones((100_000, 1))), as_traced(np.ones((1, 100_000)))
    [node] = rewrite([(column * row).node])
    assert node.op.name == "Multiply"


def test_a_rule_set_that_runs_in_circles_is_an_error() -> None:
    there = Rule("a+b = b+a", ("Add",), lambda n, a, b: build("Add", b, a, like=n))
    graph, _ = graph_of(lambda x: x + np.sin(x), x5)
    with pytest.raises(AssertionError, match="do not come to rest at Add"):
        rewrite(graph.outputs, (there,))


def test_a_number_that_is_chosen_is_everywhere() -> None:
    """The rule of powers asks where both are zero; of ``x**2`` nothing of that is left."""
    x = np.ones(3)
    for f, steps in ((lambda x: np.sum(x**2), 1), (lambda x: np.sum(x**3.5), 2)):
        program = sg.grad(f)._specialization((x,), {}).program
        assert len(program.steps) == steps
