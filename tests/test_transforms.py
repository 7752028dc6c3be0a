"""Every op and every NumPy function under every transformation, driven by the registry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pytest
import scipy.special
import sympy as sp

import symgrad as sg
from symgrad._core.op import Composite, Evidence, Op, Words, registry
from symgrad._core.trace import flatten
from symgrad.errors import ArgumentError, ShapeError, UnsupportedError
from tests.samples import samples_of
from tests.shared import called, of_arrays

MAPS = [op for op in registry.ops.values() if op.kind == "map"]
COMPOSITES = [c for c in registry.composites.values() if c.functions]


@dataclass
class Case:
    """A function of real arrays, and values for them."""

    function: Callable[..., Any]
    args: tuple[Any, ...]

    @property
    def weights(self) -> list[Any]:
        """Random weights for the real results; None for the others."""
        rng = np.random.default_rng(3)
        with np.errstate(all="ignore"):
            results = map(np.asarray, flatten(self.function(*self.args))[0])
        return [rng.normal(size=y.shape) if y.dtype.kind == "f" else None for y in results]

    def scalar(self, *xs: Any) -> Any:
        """Return one number: the weighted sum of the results."""
        parts = zip(self._weights, flatten(self.function(*xs))[0], strict=True)
        return sum(np.sum(w * y) for w, y in parts if w is not None)

    def __post_init__(self) -> None:
        self._weights = self.weights
        self.real = any(w is not None for w in self._weights)

    @property
    def smooth(self) -> bool:
        """Whether differences mean something: finite numbers in double precision."""
        with np.errstate(all="ignore"):
            results = [np.asarray(y) for y in flatten(self.function(*self.args))[0]]
        single = [y for y in (*results, *self.args) if y.dtype == np.float32]
        return not single and all(np.all(np.isfinite(y)) for y in (*results, *self.args))


def composite_cases(record: Composite) -> Iterator[Case]:
    """Yield the samples of a record, with its real array arguments as the variables."""
    function = called(record.functions[0])
    for args, kwargs in samples_of(record, np.random.default_rng(0)):
        call, arrays = of_arrays(
            partial(function, **kwargs), (args, {}), lambda x: x.dtype.kind == "f"
        )
        if arrays:
            yield Case(call, tuple(arrays))


CONDITION = registry.ops["Where"].domain[0]

#: Parameters of the ops that have some.
PARAMS: dict[str, dict[str, Any]] = {"Cast": {"dtype": "float64"}}


def map_case(op: Op) -> Case:
    """Return the op on random numbers from its sample ranges."""
    rng = np.random.default_rng(sum(map(ord, op.name)))
    operands: list[Any] = []
    real = []
    for k, (domain, (low, high)) in enumerate(zip(op.domain, Evidence.of(op).samples, strict=True)):
        if domain is CONDITION:
            operands.append(rng.random(6) < 0.5)
        elif domain.is_subset(sp.Integers):
            operands.append(rng.integers(low, high, 6, endpoint=True))
        else:
            real.append(k)
            operands.append(rng.uniform(low, high, 6))
    params = PARAMS.get(op.name, {})
    # Derivatives by orders and parameters, or third ones by them, are nan.
    if "nan (not known)" in (Words.of(op).convention or ""):
        real = real[-1:]

    def call(*xs: Any) -> Any:
        given = list(operands)
        for k, x in zip(real, xs, strict=True):
            given[k] = x
        return op(*given, **params)

    return Case(call, tuple(operands[k] for k in real))


# ---------------------------------------------------------------- what is compared


def slope(f: Callable[[float], Any], h: float = 1e-4) -> Any:
    """Return the derivative of ``f`` at 0 by differences of the fourth order."""
    with np.errstate(all="ignore"):
        return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


def directions(case: Case, seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(size=x.shape).astype(x.dtype) for x in case.args)


def inner(xs: Any, ys: Any) -> Any:
    return sum(np.sum(x * y) for x, y in zip(xs, ys, strict=True))


def near(got: Any, want: Any, tolerance: float, scale: float = 1.0) -> None:
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * scale)


def check_derivatives(case: Case) -> None:
    """Compare reverse with forward mode and with differences, and so for second derivatives."""
    single = any(np.asarray(y).dtype == np.float32 for y in (
        *case.args, *flatten(case.function(*case.args))[0]))  # fmt: skip
    xs, vs, us = case.args, directions(case, 1), directions(case, 2)
    numbers = tuple(range(len(xs)))
    gradient = sg.grad(case.scalar, argnums=numbers)

    def at(vs: Any) -> Callable[[float], tuple[Any, ...]]:
        return lambda t: tuple(x + t * v for x, v in zip(xs, vs, strict=True))

    with sg.backend("numpy"):
        found = gradient(*xs)
        assert [(g.shape, g.dtype) for g in found] == [(x.shape, x.dtype) for x in xs]
        value, forward = sg.jvp(case.scalar, xs, vs)
        reverse = inner(found, vs)
        if np.any(np.isnan(value)) and np.isnan(reverse):
            return  # of nan: products with a constant 0 are 0 in forward mode
        scale = 1 + inner(map(np.abs, found), map(np.abs, vs))
        near(reverse, forward, 1e-4 if single else 1e-10, scale)
        if not case.smooth:
            return
        near(value, case.scalar(*xs), 1e-12, scale)
        near(reverse, slope(lambda t: case.scalar(*at(vs)(t))), 1e-7, scale)

        _, second = sg.jvp(gradient, xs, vs)
        steps = slope(lambda t: np.array([np.sum(g * u) for g, u in zip(
            gradient(*at(vs)(t)), us, strict=True)]))  # fmt: skip
        pushed = [np.sum(g * u) for g, u in zip(second, us, strict=True)]
        scale += sum(np.sum(np.abs(g * u)) for g, u in zip(second, us, strict=True))
        near(pushed, steps, 1e-6, scale)
        near(inner(sg.hvp(case.scalar, xs, vs) if len(xs) > 1 else
                   [sg.hvp(case.scalar, xs, vs)], us), sum(pushed), 1e-9, scale)  # fmt: skip


def check_batches(case: Case) -> None:
    """``vmap`` of the function and of its gradient must equal a loop."""
    gradient = sg.grad(case.scalar, argnums=tuple(range(len(case.args))))
    batches = tuple(np.stack([x, x * 1.03, x * 0.95]) for x in case.args)
    examples = list(zip(*batches, strict=True))

    def both(*xs: Any) -> Any:
        return (*flatten(case.function(*xs))[0], *gradient(*xs))

    with sg.backend("numpy"), np.errstate(all="ignore"):
        got = sg.vmap(both)(*batches)
        want = [np.stack(parts) for parts in zip(*(both(*e) for e in examples), strict=True)]
        for a, b in zip(got, want, strict=True):
            assert a.shape == b.shape
            assert a.dtype == b.dtype
            rtol = 1e-4 if b.dtype == np.float32 else 1e-10
            np.testing.assert_allclose(a, b, rtol, atol=rtol)


def check_kernel(case: Case, ulp: float = 4) -> None:
    """The kernel gives what the NumPy backend gives: results and gradients, in one program."""

    def both(*xs: Any) -> Any:
        results = tuple(flatten(case.function(*xs))[0])
        if not case.real:
            return results
        return results, sg.grad(case.scalar, argnums=tuple(range(len(xs))))(*xs)

    compiled = sg.compile(both, cache=False)  # traced once for both
    with sg.backend("numpy"):
        want = compiled(*case.args)
    got = compiled(*case.args)
    for a, b in zip(flatten(got)[0], flatten(want)[0], strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        if a.dtype.kind == "f":
            eps = np.finfo(a.dtype).eps
            size = np.max(np.abs(b), initial=0, where=np.isfinite(b))
            np.testing.assert_allclose(a, b, rtol=32 * ulp * eps, atol=32 * eps * size)
        else:
            np.testing.assert_array_equal(a, b)


# ---------------------------------------------------------------- elementwise ops


def named(records: list[Any]) -> Any:
    return pytest.mark.parametrize("record", records, ids=lambda record: record.name)


#: Maps with an operand that is a function of the others, through which their rules lead.
TIED = {"Cosine"}
#: Zeros whose derivatives are not known: nan.
NOT_KNOWN = {"Kink"}
DIFFERENTIABLE_MAPS = [op for op in MAPS if op.reason is None and op.name not in TIED | NOT_KNOWN]


def test_derivatives_with_the_length_of_both_operands() -> None:
    x, y = 0.6, -1.7
    r = np.hypot(x, y)
    exact = np.array([[y * y, -x * y], [-x * y, x * x]]) / r**3
    length = lambda p: np.hypot(p[0], p[1])  # noqa: E731
    for found in (
        sg.hessian(length), sg.jacobian(sg.jacobian(length, mode="forward"), mode="forward")
    ):  # fmt: skip
        np.testing.assert_allclose(found(np.array([x, y])), exact, rtol=1e-14)


@named(DIFFERENTIABLE_MAPS)
def test_map_derivatives(record: Op) -> None:
    case = map_case(record)
    if case.args:
        check_derivatives(case)


@named([op for op in MAPS if op.reason is not None])
def test_maps_without_derivatives_have_zero(record: Op) -> None:
    case = map_case(record)
    if not case.args or not case.real:
        return
    with sg.backend("numpy"):
        for g in sg.grad(case.scalar, argnums=tuple(range(len(case.args))))(*case.args):
            np.testing.assert_array_equal(g, 0)
        assert sg.jvp(case.scalar, case.args, directions(case, 1))[1] == 0


@named(MAPS)
def test_map_batches(record: Op) -> None:
    case = map_case(record)
    if case.args and case.real:
        check_batches(case)


@pytest.mark.slow
@pytest.mark.parametrize(
    "start", [0, 5, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2, 3, 4, 6, 7))]
)
def test_map_kernels(start: int) -> None:
    """All ops, some in one program: values and gradients."""
    ops = MAPS[start::8]
    cases = [(op, map_case(op)) for op in ops]

    def everything(*args: Any) -> Any:
        rest = iter(args)
        found = []
        for _, case in cases:
            xs = [next(rest) for _ in case.args]
            slopes = ()
            if case.real and xs:
                slopes = sg.grad(case.scalar, argnums=tuple(range(len(xs))))(*xs)
            found.append((case.function(*xs), slopes))
        return found

    args = [x for _, case in cases for x in case.args]
    compiled = sg.compile(everything, cache=False)
    with sg.backend("numpy"):
        want = compiled(*args)
    got = compiled(*args)
    for (op, _), a, b in zip(cases, got, want, strict=True):
        for x, y in zip(flatten(a)[0], flatten(b)[0], strict=True):
            x, y = np.asarray(x), np.asarray(y)
            assert (x.dtype, x.shape) == (y.dtype, y.shape)
            limit = 32 * max(Evidence.of(op).ulp, 1) * np.finfo(np.float64).eps
            np.testing.assert_allclose(x, y, rtol=limit, atol=limit, err_msg=op.name)


@pytest.mark.slow
@named(MAPS)
def test_map_kernel(record: Op) -> None:
    case = map_case(record)
    if case.args:
        check_kernel(case, max(Evidence.of(record).ulp, 1))


# ---------------------------------------------------------------- NumPy's functions


#: Without those of symmetric matrices: tests/test_linalg.py perturbs them symmetrically.
DIFFERENTIABLE = [
    c for c in COMPOSITES if c.differentiable and "symmetric" not in (c.convention or "")
]


@named(DIFFERENTIABLE)
def test_composite_derivatives(record: Composite) -> None:
    for _, case in zip(range(2), composite_cases(record), strict=False):
        if case.real:
            check_derivatives(case)


@named(COMPOSITES)
@pytest.mark.quick
def test_composite_batches(record: Composite) -> None:
    for _, case in zip(range(1), composite_cases(record), strict=False):
        if case.real:
            check_batches(case)


@named(COMPOSITES)
@pytest.mark.quick(4)
def test_composite_kernels(record: Composite) -> None:
    for _, case in zip(range(1), composite_cases(record), strict=False):
        check_kernel(case)


@pytest.mark.slow
@named(COMPOSITES)
def test_all_composite_samples(record: Composite) -> None:
    """Those that the tests above leave out."""
    for k, case in enumerate(composite_cases(record)):
        if case.real and k >= 1:
            check_batches(case)
        if case.real and k >= 2 and record in DIFFERENTIABLE:
            check_derivatives(case)


@pytest.mark.slow
@named(COMPOSITES)
def test_all_composite_kernels(record: Composite) -> None:
    for case in islice(composite_cases(record), 1, None):
        check_kernel(case)


# ---------------------------------------------------------------- nesting


def bowl(x: Any) -> Any:
    return np.sum(np.sin(x) ** 2 * x[::-1]) + np.prod(x)


X = np.array([0.3, 0.7, 1.1])


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.quick(1)
def test_transformations_compose(backend: str) -> None:
    with sg.backend(backend):  # type: ignore[arg-type]
        third = sg.grad(sg.grad(sg.grad(np.sin)))(0.3)
        near(third, -np.cos(0.3), 1e-14)
        hessian = sg.hessian(bowl)(X)
        near(sg.jacobian(sg.grad(bowl))(X), hessian, 1e-14)
        near(sg.jacobian(sg.grad(bowl), mode="reverse")(X), hessian, 1e-13)
        near(sg.jacobian(sg.grad(bowl), mode="forward")(X), hessian, 1e-13)
        near(hessian, hessian.T, 1e-13)
        near(sg.hvp(bowl, (X,), (X,)), hessian @ X, 1e-13)
        near(sg.vmap(lambda v: sg.hvp(bowl, (X,), (v,)))(np.eye(3)), hessian, 1e-13)
        near(sg.vmap(sg.hessian(bowl))(np.stack([X, X])), np.stack([hessian, hessian]), 1e-13)
        near(sg.grad(lambda x: np.sum(sg.vmap(sg.grad(np.sin))(x) ** 2))(X),
             -2 * np.cos(X) * np.sin(X), 1e-13)  # fmt: skip
        near(sg.jvp(sg.grad(bowl), (X,), (X,))[1], hessian @ X, 1e-13)
        near(sg.grad(lambda x: sg.vjp(bowl, x)[1](1.0)[0] @ x)(X),
             sg.grad(bowl)(X) + hessian @ X, 1e-13)  # fmt: skip


def test_what_a_function_closes_over_is_constant() -> None:
    """The classic test against confusing the perturbations of nested derivatives."""
    with sg.backend("numpy"):
        assert sg.grad(lambda x: x * sg.grad(lambda y: x + y)(2.0))(1.0) == 1
        assert sg.grad(lambda x: x * sg.grad(lambda y: x * y)(x))(3.0) == 6
        assert sg.grad(lambda x: sg.grad(lambda y: x * y**2)(x))(3.0) == 12
        assert sg.jvp(lambda x: x * sg.jvp(lambda y: x * y, (2.0,), (1.0,))[1],
                      (3.0,), (1.0,)) == (9, 6)  # fmt: skip
        got = sg.vmap(lambda x: sg.grad(lambda y: x * y**2)(x))(X)
        near(got, 2 * X**2, 1e-15)
        got = sg.grad(lambda x: np.sum(sg.vmap(lambda y: x * y)(X)))(2.0)
        near(got, np.sum(X), 1e-15)
        got = sg.grad(lambda x: np.sum(sg.jacobian(lambda y: x * y**2)(X)))(2.0)
        near(got, np.sum(2 * X), 1e-15)
        value, slope = sg.value_and_grad(lambda x: sg.vjp(lambda y: y * x, 3.0)[1](x)[0])(2.0)
        assert (value, slope) == (4, 4)
        got = sg.grad(lambda x: np.sum(sg.compile(lambda n: x[:2] * n)(x.shape[0])))(X)
        near(got, [3, 3, 0], 0)
        # What does not depend on it is computed there and then, once.
        assert sg.grad(lambda x: x * float(sg.grad(np.sin)(0.0)))(2.0) == 1


@pytest.mark.parametrize("columns", [3, 40])
@pytest.mark.parametrize("rows", [2, 50])
@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_jacobians_by_any_way(columns: int, rows: int, mode: str) -> None:
    """One by one or in a batch, by columns or by rows."""
    a = np.random.default_rng(0).normal(size=(rows, columns))
    x = np.linspace(-1, 1, columns)
    with sg.backend("numpy"):
        got = sg.jacobian(lambda x: np.sin(a @ x), mode=mode)(x)
    near(got, np.cos(a @ x)[:, None] * a, 1e-13)


def test_vmap_axes() -> None:
    a = np.arange(24.0).reshape(2, 3, 4)
    with sg.backend("numpy"):
        for axis in (0, 1, 2, -1):
            rows = np.moveaxis(a, axis, 0)
            got = sg.vmap(lambda x: np.cumsum(x, axis=0), in_axes=axis, out_axes=axis)(a)
            want = np.moveaxis(np.stack([np.cumsum(x, axis=0) for x in rows]), 0, axis)
            near(got, want, 1e-15)
        got = sg.vmap(lambda x, y: (x @ y, y, 1.0), in_axes=(0, None), out_axes=(0, None, 0))(
            a, np.ones(4)
        )
        near(got[0], a @ np.ones(4), 1e-15)
        near(got[1], np.ones(4), 0)
        near(got[2], np.ones(2), 0)
        inner = sg.vmap(lambda x, y: x @ y, in_axes=(None, 0))
        nested = sg.vmap(inner, in_axes=(0, None))(a[0], np.ones((4, 4)))
        assert nested.shape == (3, 4)


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_products_with_matrices_of_one_element(backend: Any) -> None:
    """Computed numbers lie side by side in a kernel; BLAS must be shown the right one."""
    rng = np.random.default_rng(0)
    row, column = rng.normal(size=(1, 30)), rng.normal(size=(40, 1))

    def f(s: Any, row: Any, column: Any) -> Any:
        t, u = np.sin(s), np.cos(s) * 3
        total = np.sum((np.reshape(u, (1, 1)) @ row) ** 2)
        return total + np.sum((column @ np.reshape(t * u + 1, (1, 1))) ** 3) + t

    g = sg.compile(sg.value_and_grad(f, argnums=(0, 1, 2)), backend=backend, cache=False)
    value, gradients = g(0.7, row, column)
    np.testing.assert_allclose(value, f(0.7, row, column), rtol=1e-13)
    step = 1e-6
    slope = (f(0.7 + step, row, column) - f(0.7 - step, row, column)) / (2 * step)
    np.testing.assert_allclose(gradients[0], slope, rtol=1e-7)
    u, v = np.cos(0.7) * 3, np.sin(0.7) * np.cos(0.7) * 3 + 1
    np.testing.assert_allclose(gradients[1], 2 * u**2 * row, rtol=1e-12)
    np.testing.assert_allclose(gradients[2], 3 * v**3 * column**2, rtol=1e-12)


@pytest.mark.slow
def test_columns_that_are_written_out_stay_short() -> None:
    def attention(q: Any, k: Any, v: Any) -> Any:
        e = np.exp(q @ np.swapaxes(k, 1, 2))
        return e / np.sum(e, axis=2, keepdims=True) @ v

    q, k, v = np.random.default_rng(0).normal(size=(3, 3, 5, 2))
    program = sg.jacobian(attention).program(q, k, v)  # 14 s to compile, column by column
    assert str(program).count("\n") < 100

    def network(weights: Any, x: Any) -> Any:
        return np.mean(np.tanh(np.tanh(x @ weights["a"]) @ weights["b"]) ** 2)

    weights = {"a": np.ones((3, 4)), "b": np.ones((4, 2))}  # four blocks: together 10 s
    program = sg.hessian(network).program(weights, np.ones((10, 3)))
    assert str(program).count("\n") < 100


def test_jacobian_of_a_long_function() -> None:
    """Columns and rows of a long function are not written out one by one."""

    def long(x: Any) -> Any:
        for _ in range(300):
            x = np.sin(x + 0.1 * x[::-1])
        return x

    x = np.linspace(0.1, 1.0, 30)
    forward, reverse = (sg.jacobian(long, mode=m) for m in ("forward", "reverse"))
    for jacobian in (forward, reverse):
        assert len(jacobian.program(x).steps) < 3000
    with sg.backend("numpy"):
        np.testing.assert_allclose(forward(x), reverse(x), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "forward"])
def test_columns_of_which_little_is_left_are_written_out(mode: str) -> None:
    """Ten pendulums: each of 110 formulas has two to four of 20 coordinates and speeds."""
    n = 10

    def forces(x: Any, np: Any = np) -> Any:
        q, u = x[:n], x[n:]
        matrix = [(n - max(i, j)) * np.cos(q[i] - q[j]) for i in range(n) for j in range(n)]
        rest = [
            -sum((n - max(i, j)) * u[j] ** 2 * np.sin(q[i] - q[j]) for j in range(n))
            for i in range(n)
        ]
        return np.array(matrix + rest)

    x = np.cos(np.arange(2.0 * n))
    jacobian = sg.jacobian(forces, mode=mode)
    wanted = np.zeros((n * n + n, 2 * n))
    for k in range(2 * n):
        step = np.zeros(2 * n, dtype=complex)
        step[k] = 1e-20j
        wanted[:, k] = forces(x + step).imag / 1e-20
    np.testing.assert_allclose(jacobian(x), wanted, rtol=1e-13, atol=1e-14)
    program = jacobian.program(x)
    assert "diagembed" not in str(program)  # of all columns as a batch
    assert len(program.steps) < 2000


def enclosing(x: Any, which: str) -> Any:
    inner: dict[str, Any] = {
        "size": lambda t: t * x.shape[0],
        "decides by a size": lambda t: 2.0 * t if x.shape[0] > 4 else t,
        "counts": lambda t: [t * k for k in range(x.shape[0])][-1],
        "its own size": lambda t: t.shape[0] * x.shape[0],
        "decides by a value": lambda t: 2.0 * t if x[0] > 0 else t,
        "truth": lambda t: t * float(x[0] > 0),
        "value": lambda t: t * x[0],
    }
    g = sg.compile(inner[which])
    if which == "its own size":
        return np.sum(x) * g(np.ones(5))
    return np.sum(x) * g(3.0) + np.sum(x) * sg.grad(lambda t: inner[which](t) * t)(3.0)


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.quick
@pytest.mark.parametrize(
    "which",
    ["size", "decides by a size", "counts", "its own size", "decides by a value", "truth", "value"],
)
def test_functions_of_numbers_that_close_over_what_is_traced(which: str) -> None:
    g = sg.compile(enclosing)
    for x in (np.ones(5), np.ones(3), -np.ones(5), np.ones(6), -np.ones(2)):
        assert g(x, which) == pytest.approx(enclosing(x, which), rel=1e-14)


def test_derivatives_along_a_curve() -> None:
    """Of any structure, complex too, nested and in batches."""
    x, t = np.array([0.3, 0.7]), np.array([1.0, -2.0])

    def f(d: Any) -> Any:
        return {"product": d["x"] * d["y"], "more": (np.tanh(d["x"]),)}

    out, (first, second) = sg.jet(
        f, ({"x": x, "y": 2.0},), ([{"x": t, "y": 0.5}, {"x": np.zeros(2), "y": 0.0}],)
    )
    np.testing.assert_allclose(out["product"], 2 * x)
    np.testing.assert_allclose(first["product"], 0.5 * x + 2 * t)
    np.testing.assert_allclose(second["product"], t)
    wanted = sg.jvp(lambda x: sg.jvp(np.tanh, (x,), (t,))[1], (x,), (t,))[1]
    np.testing.assert_allclose(second["more"][0], wanted, rtol=1e-14)

    z, terms = sg.jet(lambda z: z**3, (1 + 2j,), ([1.0 + 0j, 0j, 0j, 0j],))
    np.testing.assert_allclose([z, *terms], [-11 - 2j, -9 + 12j, 6 + 12j, 6, 0], atol=1e-14)

    def bent(x: Any) -> Any:
        return sg.jet(lambda x: np.exp(2 * x), (x,), ([1.0, 0.0, 0.0],))[1][2]

    assert sg.grad(bent)(0.5) == pytest.approx(16 * np.exp(1.0), rel=1e-14)
    np.testing.assert_allclose(sg.vmap(bent)(x), 8 * np.exp(2 * x), rtol=1e-14)
    np.testing.assert_allclose(sg.grad(lambda x: np.sum(sg.vmap(bent)(x)))(x), 16 * np.exp(2 * x))


@pytest.mark.slow
def test_orders_beyond_those_of_slopes_that_close() -> None:
    """Slopes of slopes are needed up to the order, and no further."""
    x = sp.Symbol("x")
    order = 9
    unit = [1.0] + [0.0] * (order - 1)
    for function, form in (
        (lambda x: x**2.5 / (1 + x), x ** sp.Rational(5, 2) / (1 + x)),
        (lambda x: np.sqrt(1 + x * np.sin(x)), sp.sqrt(1 + x * sp.sin(x))),
        (lambda x: scipy.special.gammaln(1 + x), sp.loggamma(1 + x)),
        (lambda x: scipy.special.erf(x) * x**-3, sp.erf(x) * x**-3),
        (lambda x: x**x, x**x),
    ):
        out, terms = sg.jet(function, (0.75,), (unit,))
        exact = [sp.diff(form, x, k).evalf(30, subs={x: 0.75}) for k in range(order + 1)]
        np.testing.assert_allclose([out, *terms], np.array(exact, float), rtol=1e-11)


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, 7.0, 20.0, 2000.0, 2.5])
def test_powers_of_a_series_that_begins_with_zero(p: float) -> None:
    """``sin(x)**p`` at 0, with p a number in the code or an argument around."""
    order = 8
    unit = [1.0] + [0.0] * (order - 1)
    x = sp.Symbol("x")
    exact = [0.0] * order  # of what is not known: nan
    if p == int(p) < 100:
        exact = [float(sp.diff(sp.sin(x) ** int(p), x, k).subs(x, 0)) for k in range(1, order + 1)]
    elif p < 100:
        exact = [0.0 if k < p else np.nan for k in range(1, order + 1)]

    def along(p: Any) -> Any:
        return sg.jet(lambda x: np.sin(x) ** p, (0.0,), (unit,))[1]

    np.testing.assert_allclose(sg.compile(along)(p), exact, rtol=1e-13)
    np.testing.assert_allclose(sg.jet(lambda x: np.sin(x) ** p, (0.0,), (unit,))[1], exact, 1e-13)


def test_series_through_products_over_axes() -> None:
    """Also where a factor is zero, as in rates of reactions by their orders."""
    order = 4
    unit = [1.0] + [0.0] * (order - 1)
    x = sp.Symbol("x")
    for at in (0.0, 0.5):
        _, terms = sg.jet(lambda x: np.prod(np.stack([x, np.sin(x), 1 + x])), (at,), (unit,))
        form = x * sp.sin(x) * (1 + x)
        exact = [float(sp.diff(form, x, k).subs(x, at)) for k in range(1, order + 1)]
        np.testing.assert_allclose(terms, exact, rtol=1e-13, atol=1e-13)
    powers = np.array([[2.0, 1.0], [0.0, 3.0]])
    _, terms = sg.jet(lambda x: np.prod(np.stack([x, 2 * x]) ** powers, axis=1), (0.0,), (unit,))
    np.testing.assert_allclose(terms, [[0, 0], [0, 0], [12, 48], [0, 0]], atol=1e-13)


def test_series_through_loops_of_known_length() -> None:
    """They are written out, those inside of others too, unless a value decides or it is long."""

    def looped(x: Any) -> Any:
        inner = lambda c, k: (c * np.cos(c * x), c)  # noqa: E731
        return sg.fori_loop(0, 3, lambda i, y: sg.scan(inner, y, np.arange(2.0))[0] + i, x)

    def plain(x: Any) -> Any:
        y = x
        for i in range(3):
            for _ in range(2):
                y = y * np.cos(y * x)
            y = y + i
        return y

    found, wanted = (sg.jet(f, (0.3,), ([1.0, 0.0, 0.0],)) for f in (looped, plain))
    assert found[0] == wanted[0]
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-13)
    deciding = lambda i, x: sg.cond(x > 0, np.sin, np.cos, x)  # noqa: E731
    for f in (
        lambda x: sg.fori_loop(0, 3, deciding, x),
        lambda x: sg.fori_loop(0, 100_000, lambda i, x: np.sin(x), x),
    ):
        with pytest.raises(UnsupportedError, match="loops, branches and custom rules"):
            sg.jet(f, (0.3,), ([1.0],))


@pytest.mark.quick
def test_curves_that_do_not_fit() -> None:
    with pytest.raises(ArgumentError, match="one list for each primal"):
        sg.jet(np.sin, (1.0,), ([1.0], [2.0]))
    with pytest.raises(ArgumentError, match="one list for each primal"):
        sg.jet(np.hypot, (1.0, 2.0), ([1.0], [2.0, 0.0]))
    with pytest.raises(ArgumentError, match=r"write \(\[1.0, 0.0\],\)"):
        sg.jet(np.sin, (1.0,), (1.0,))
    with pytest.raises(ShapeError, match="the terms of series"):
        sg.jet(np.sin, (np.ones(3),), ([np.ones(2)],))
    with pytest.raises(UnsupportedError, match="loops, branches and custom rules"):
        sg.jet(lambda x: sg.while_loop(lambda x: x < 9, lambda x: x * x, x), (2.0,), ([1.0],))
    assert sg.jet(np.sin, (0.0,), ([],)) == (0.0, [])
    assert sg.jet(lambda x: 5.0, (0.0,), ([1.0, 0.0],)) == (5.0, [0.0, 0.0])


def test_ways_on_which_a_function_returns_a_whole_number() -> None:
    f = lambda x: 0 if x < 0 else x * x  # noqa: E731
    assert sg.grad(f)(-1.0) == 0.0
    assert sg.value_and_grad(f)(-1.0) == (0.0, 0.0)
    assert sg.jacobian(f)(-1.0) == 0.0
    assert sg.jacobian(lambda x: (0, x * x))(3.0) == (0.0, 6.0)
    np.testing.assert_array_equal(sg.grad(lambda x: np.sum(x) if x[0] > 0 else 0)(-np.ones(2)), 0)


def test_dictionaries_of_directions_are_matched_by_their_keys() -> None:
    def f(d: Any) -> Any:
        return 3.0 * d["p"] ** 2 + 5.0 * d["q"] * d["p"]

    at, along = {"p": 1.0, "q": 2.0}, {"q": 1.0, "p": 0.0}
    assert sg.jvp(f, (at,), (along,)) == (13.0, 5.0)
    assert sg.hvp(f, (at,), (along,)) == {"p": 5.0, "q": 0.0}
    assert sg.jet(f, (at,), ([along],))[1] == [5.0]
    _, back = sg.vjp(lambda x: {"p": 3.0 * x, "q": [5.0 * x]}, 2.0)
    assert back({"q": (1.0,), "p": 0.0}) == (5.0,)
    with pytest.raises(ArgumentError, match=r"must have the keys .*\['p', 'q'\], not 'r'"):
        sg.jvp(f, (at,), ({"p": 1.0, "r": 0.0},))


def test_dictionaries_of_custom_rules_are_matched_by_their_keys() -> None:
    @sg.custom_vjp
    def weighed(d: Any) -> Any:
        return 3.0 * d["p"] + 5.0 * d["q"]

    weighed.defvjp(lambda d: (weighed(d), None), lambda _, ct: ({"q": 5.0 * ct, "p": 3.0 * ct},))
    assert sg.grad(weighed)({"p": 1.0, "q": 2.0}) == {"p": 3.0, "q": 5.0}

    @sg.custom_jvp
    def both(x: Any) -> Any:
        return {"p": 3.0 * x, "q": 5.0 * x}

    both.defjvp(lambda x, t: (both(*x), {"q": 5.0 * t[0], "p": 3.0 * t[0]}))
    assert sg.grad(lambda x: both(x)["p"])(2.0) == 3.0


def test_values_of_jvp_keep_what_is_no_number() -> None:
    found: Any = sg.jvp(lambda x: (2.0 * x, "name"), (3.0,), (1.0,))
    assert found == ((6.0, "name"), (2.0, None))
