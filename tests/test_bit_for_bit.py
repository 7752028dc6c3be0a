"""Eager and compiled gradients of one program are the same, to the last bit.

Programs are made by hypothesis: numbers and small arrays, broadcasting, views, sums, matrix
products, choices, and NumPy's functions. What is promised is equality; nothing is excused.
"""

from __future__ import annotations

import io
import itertools
from typing import Any

import numpy as np
import pytest
import scipy.special as sc
from hypothesis import given, settings
from hypothesis import strategies as st

import symgrad as sg
import symgrad.torch as torch
from symgrad._core.op import Evidence, registry
from symgrad.errors import ArgumentError, UnsupportedError

UNARY = [
    np.sin, np.cos, np.tan, np.exp, np.expm1, np.exp2, np.tanh, np.sinh, np.cosh, np.arctan,
    np.arcsinh, np.square, np.negative, np.abs, np.cbrt, sc.expit, sc.erf, sc.i0,
    lambda x: np.arcsin(x / 3), lambda x: np.log1p(x * x), lambda x: np.log(2.5 + x),
    lambda x: np.sqrt(1 + x * x), lambda x: 1 / (2 + x), lambda x: x**3, lambda x: x**2,
    lambda x: x**4.0 / 5, lambda x: 2.0**x, lambda x: np.log(1 + np.exp(x)),
    lambda x: (x * x) ** -0.5 * x, lambda x: np.where(x > 0, np.sqrt(np.abs(x)), x),
    lambda x: np.clip(x, -0.5, 0.5), lambda x: x + 1.0 + x * 3,
]  # fmt: skip
#: Formulas past whose steps derivatives go.
WHOLE = [
    lambda x: np.log(1 + np.exp(x)), lambda x: np.log1p(np.exp(x)), lambda x: np.log(np.exp(x)),
    lambda x: np.log(np.cosh(x)), lambda x: np.log(np.sinh(x * x + 1)), lambda x: np.log(x**2),
    lambda x: np.log(1 / (1 + np.exp(x))), lambda x: np.log(sc.expit(x)),
    lambda x: np.log(1 - sc.expit(x)), lambda x: np.log(sc.ndtr(x)), lambda x: np.log(sc.erfc(x)),
    lambda x: np.log(sc.gamma(x + 4)), lambda x: 1 / (1 + np.exp(x)),
    lambda x: np.exp(x) / (1 + np.exp(x)), lambda x: (np.exp(x) - 1) / (np.exp(x) + 1),
    lambda x: (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x)),
    lambda x: np.sinh(x) / np.cosh(x),
    lambda x: 1 / np.cosh(x), lambda x: np.arctan(x / (x + 3)), lambda x: np.sqrt(x + 4) ** 2,
    lambda x: x * x * np.sqrt(x * x), lambda x: np.sqrt(x * x + 4 * x**2),
    lambda x: np.log(np.sum(np.exp(x))) * x, lambda x: np.log(np.prod(x + 4)) * x,
    lambda x: np.log(np.expm1(x + 4)), lambda x: np.log1p(-np.exp(x - 4)),
]  # fmt: skip
BINARY = [
    np.add, np.multiply, np.subtract, lambda a, b: a / (1 + b * b), np.maximum, np.minimum,
    np.hypot, np.arctan2, np.logaddexp, lambda a, b: (1.5 + a) ** b,
    lambda a, b: np.where(a > b, a * b, b), lambda a, b: a * b + a - b * a,
]  # fmt: skip
SHAPED = [
    lambda x: x.sum(axis=0), lambda x: x.sum(axis=-1), np.sum, np.mean, np.transpose,
    lambda x: x[::-1], lambda x: x[..., -1:], lambda x: x.reshape(-1), lambda x: np.max(x, axis=0),
    lambda x: np.min(x), lambda x: np.cumsum(x, axis=-1), lambda x: np.var(x, axis=-1),
    lambda x: np.prod(x, axis=-1), lambda x: np.concatenate([x, 2 * x]),
    lambda x: np.stack([x, x * x], axis=-1), lambda x: x[[0, 0, -1]] * x[0],
    lambda x: x - np.log(np.sum(np.exp(x), axis=-1, keepdims=True)),
    lambda x: np.linalg.norm(x, axis=0), lambda x: x[..., None] * x[..., None, :],
]  # fmt: skip
MATRIX = [
    lambda x: x @ x.T, lambda x: np.sin(x) @ x[0], lambda x: np.exp(x.T) @ np.tanh(x),
    lambda x: x.T[:, 1:] @ x[1:], lambda x: np.einsum("ij,kj->ki", x, x * 2),
    lambda x: np.outer(x[0], x[:, 0]), lambda x: np.exp(x[:, ::2]).T, lambda x: x.T[1:] @ x,
    lambda x: np.linalg.solve(x.T @ x + 5 * np.eye(x.shape[1]), x.T),
]  # fmt: skip
STEPS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 100), st.integers(0, 50), st.integers(0, 50)),
    min_size=1,
    max_size=12,
)
SHAPES = st.sampled_from([((), ()), ((3,), ()), ((2, 3), (3,)), ((4, 2), (4, 1)), ((9, 17), (17,))])


def build(steps: list[tuple[int, int, int, int]], inputs: Any) -> Any:
    """A random program: each step applies a function to earlier values."""
    values = list(inputs)
    for kind, choice, first, second in steps:
        a, b = values[first % len(values)], values[second % len(values)]
        if kind == 3 and a.ndim == 2 and a.size < 500:
            made = MATRIX[choice % len(MATRIX)](a)
        elif kind == 2 and a.ndim in (1, 2) and a.size < 500:
            made = SHAPED[choice % len(SHAPED)](a)
        elif kind >= 1:
            made = BINARY[choice % len(BINARY)](a, b if fit(a.shape, b.shape) else np.sum(b))
        else:
            made = (UNARY, WHOLE)[second % 2][choice % len((UNARY, WHOLE)[second % 2])](a)
        values.append(np.tanh(made) if made.size else a)  # bounded: no overflow
    return np.sum(values[-1] * values[-1])


def fit(first: Any, second: Any) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(first[::-1], second[::-1], strict=False))


def leaves_of(shapes: Any, seed: int, dtype: Any) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(-2, 2, shape).astype(dtype) for shape in shapes]


def eager(steps: Any, data: list[Any]) -> list[Any]:
    leaves = [sg.tensor(d, requires_grad=True) for d in data]
    with np.errstate(all="ignore"):
        out = build(steps, leaves)
    if out.requires_grad:
        out.backward()
    return [np.zeros(x.shape, x.dtype) if x.grad is None else x.grad.numpy() for x in leaves]


def same(found: list[Any], expected: list[Any]) -> bool:
    """To the last bit, signs of zeros too; one nan is as good as another."""
    return all(
        a.dtype == b.dtype and np.array_equal(a, b, equal_nan=True)
        and (np.isnan(a) | (np.signbit(a) == np.signbit(b))).all()
        for a, b in zip(found, expected, strict=True)
    )  # fmt: skip


@settings(max_examples=settings.default.max_examples // 2)
@given(STEPS, SHAPES, st.integers(0, 1000), st.sampled_from([np.float64, np.float32]))
@pytest.mark.slow
def test_a_compiled_gradient(steps: Any, shapes: Any, seed: int, dtype: Any) -> None:
    data = leaves_of(shapes, seed, dtype)
    with sg.backend("numpy"):
        expected = eager(steps, data)
    slopes = sg.grad(lambda *xs: build(steps, xs), (0, 1))
    for backend in ("numpy", "llvm"):
        compiled = sg.compile(slopes, rounding="numpy", backend=backend, dynamic=False, cache=False)
        assert same(compiled(*data), expected)


@settings(max_examples=settings.default.max_examples // 3)
@given(STEPS, SHAPES, st.integers(0, 1000), st.sampled_from([np.float64, np.float32]))
def test_a_backward_pass_that_becomes_a_kernel(
    backward_kernels: Any, steps: Any, shapes: Any, seed: int, dtype: Any
) -> None:
    backward_kernels.table.clear()
    data = leaves_of(shapes, seed, dtype)
    expected = eager(steps, data)
    for _ in range(backward_kernels.AFTER):
        assert same(eager(steps, data), expected)
    backward_kernels.table.clear()


# ---------------------------------------------------------------- kernels and NumPy


def promised(function: Any, *data: Any, **options: Any) -> None:
    """Assert that a kernel whose rounding is promised gives what NumPy does."""
    compiled = sg.compile(function, rounding="numpy", cache=False, **options)
    with sg.backend("numpy"):
        expected = compiled(*data)
    assert same(compiled(*data), expected)


@pytest.mark.filterwarnings("ignore")  # SciPy's, for orders that are no whole numbers
@pytest.mark.parametrize("shape", [(), (5, 7)])
@pytest.mark.parametrize("part", range(8))
@pytest.mark.quick(2)
def test_every_elementwise_function(part: int, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    ops = [op for op in registry.ops.values() if op.kind == "map" and not op.name.startswith("Int")
           and Evidence.of(op).samples and op.name not in INTEGER
           and registry.is_own(op)]  # fmt: skip
    assert len(ops) > 190
    ops = ops[part::8]
    data = [[rng.uniform(*pair, size=shape) for pair in Evidence.of(op).samples] for op in ops]

    def function(data: Any) -> Any:
        return [op(*xs) for op, xs in zip(ops, data, strict=True)]

    promised(function, data, dynamic=False)


#: Ops of whole numbers.
INTEGER = frozenset((
    "Cast", "Gcd", "Lcm", "BitwiseCount", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Invert",
    "LeftShift", "RightShift", "Ldexp",
))  # fmt: skip


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.quick(1)
def test_sums_in_numpys_order(dynamic: bool) -> None:
    rng = np.random.default_rng(0)
    shapes = [(2000,), (130, 40), (17, 9, 33), (3, 2, 8, 5), (1, 300), (7, 1, 131)]
    data = [rng.normal(size=s).astype(d) for s in shapes for d in (np.float64, np.float32)]

    def function(data: Any) -> Any:
        return [
            np.sum(x, axis=axes)
            for x in data for n in range(1, x.ndim + 1)
            for axes in itertools.combinations(range(x.ndim), n)
        ]  # fmt: skip

    promised(function, data, dynamic=dynamic)
    plain = [np.sum(x) for x in data]
    totals = sg.compile(lambda data: [np.sum(x) for x in data], rounding="numpy")(data)
    assert same(totals, plain)


PRODUCTS = [
    lambda a, b: a[:, 1:4].T @ b, lambda a, b: a.T[:, 1:4] @ b[1:4], lambda a, b: (a @ b.T).T @ a,
    lambda a, b: np.exp(a.T).T @ b.T, lambda a, b: a.T @ a + b.T @ b,
    lambda a, b: a.reshape(a.shape[1], -1) @ b, lambda a, b: (a[::2].T @ b[::2]).T @ b.T,
    lambda a, b: a.T[:, 1:4] @ a[1:4] + np.sum(b), lambda a, b: a @ b[0] + b @ a[0],
    lambda a, b: np.einsum("ij,kj->ki", a, b), lambda a, b: np.tensordot(a, b),
    lambda a, b: np.einsum("bi,bj->ij", np.sin(a), b), lambda a, b: np.matmul(a, b.T[None]),
]  # fmt: skip


@pytest.mark.parametrize("k", range(len(PRODUCTS)))
@pytest.mark.quick(1)
def test_products_of_matrices_as_they_lie(k: int) -> None:
    rng = np.random.default_rng(k)
    for shape in ((7, 5), (28, 33), (40, 6)):
        data = [rng.normal(size=shape), rng.normal(size=shape)]
        loss = lambda *xs: np.sum(np.sin(PRODUCTS[k](*xs)))  # noqa: E731
        leaves = [sg.tensor(d, requires_grad=True) for d in data]
        with sg.backend("numpy"):
            loss(*leaves).backward()
        slopes = sg.compile(sg.grad(loss, (0, 1)), rounding="numpy", cache=False, dynamic=False)
        assert same(slopes(*data), [x.grad.numpy() for x in leaves])


def test_how_an_array_lies_does_not_matter() -> None:
    x = np.random.default_rng(0).uniform(-2, 2, (40, 30))
    functions = [np.exp, np.cbrt, np.sinh, lambda x: np.sum(x, axis=0), lambda x: np.exp(x) ** 1.5]
    for function in functions:
        expected = function(sg.tensor(np.ascontiguousarray(x[::3, ::3].T))).numpy()
        for given_ in (x[::3, ::3].T, np.asfortranarray(x[::3, ::3].T)):
            assert same([function(torch.from_numpy(given_)).numpy()], [expected])
            promised(lambda x, f=function: [f(x)], given_)
        assert same([function(sg.tensor(x)[::3, ::3].T).numpy()], [expected])


GUARDED = [
    lambda x: np.where(x > 5, np.cumsum(np.sqrt(x)), x),  # nowhere
    lambda x: np.where(x > 0.5, np.cumsum(np.sqrt(x)), x),
    lambda x: np.maximum(np.prod(x), -x), lambda x: np.max(np.log(np.sum(np.exp(x[None] * x), -1))),
    lambda x: np.where(x[0] > 5, np.sort(np.sqrt(x)), np.exp(x)),
]  # fmt: skip


@pytest.mark.parametrize("k", range(len(GUARDED)))
def test_branches_that_are_not_taken(k: int) -> None:
    data = np.array([0.0, 1.0, 2.0])
    x = sg.tensor(data, requires_grad=True)
    with sg.backend("numpy"), np.errstate(all="ignore"):
        np.sum(GUARDED[k](x)).backward()
    slope = sg.compile(sg.grad(lambda x: np.sum(GUARDED[k](x))), rounding="numpy", cache=False)
    assert same([slope(data)], [x.grad.numpy()])


def test_loops_and_branches() -> None:
    def loss(x: Any) -> Any:
        last, ys = sg.scan(lambda c, u: (np.tanh(c * np.sin(u)), np.exp(c)), x[0], x)
        more = sg.fori_loop(0, 4, lambda i, c: np.sin(c) * 1.1 + x[1], last)
        return more + np.sum(ys) + sg.cond(x[0] > 0, np.exp, np.sin, x[1])

    x = np.random.default_rng(0).normal(size=9)
    promised(lambda x: [sg.grad(loss)(x)], x)


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
@pytest.mark.quick(1)
@pytest.mark.usefixtures("rolled_up")
def test_long_loops_of_python(backend: Any) -> None:
    """The way back is the tape's: what all steps share gets their slopes one after the other."""

    def loss(x: Any, p: Any) -> Any:
        for _ in range(90):
            x = x * p + np.sin(x) * 0.01 * p
        return np.sum(x * p) + np.sum(p * p)

    data = np.array([0.3, 0.7, 1.1]), np.array([0.999, 0.9985, 0.9992])
    x, p = (sg.tensor(d, requires_grad=True) for d in data)
    value = loss(x, p)
    value.backward()
    with sg.backend(backend):
        both = sg.compile(sg.value_and_grad(loss, (0, 1)), rounding="numpy", cache=False)
        plain = sg.compile(loss, rounding="numpy", cache=False)
        found, slopes = both(*data)
        assert same([found, plain(*data)], [value.detach().numpy()] * 2)
        assert same(slopes, [x.grad.numpy(), p.grad.numpy()])
        assert len(plain.program(*data).steps) < 30


def test_kernels_in_numbas_world() -> None:
    x = np.linspace(0.1, 3.0, 50)
    slope = sg.compile(sg.grad(lambda x: np.sum(np.sin(x) * x**1.5)), rounding="numpy")
    with sg.backend("numpy"):
        expected = slope(x)
    assert same([slope.kernel(x)(x)], [expected])


def test_what_cannot_be_promised_is_said() -> None:
    with pytest.raises(ArgumentError, match="rounding is 'numpy' or None, not 'exact'"):
        sg.compile(np.sin, rounding="exact")
    size = sg.compile(lambda x: np.fft.irfft(np.fft.rfft(x)), rounding="numpy", cache=False)
    with pytest.raises(UnsupportedError, match="dynamic=False"):
        size(np.arange(6.0))
    promised(lambda x: [np.fft.irfft(np.fft.rfft(x))], np.arange(6.0), dynamic=False)


def test_show_prints_what_is_called() -> None:
    text = io.StringIO()
    sg.show(sg.compile(lambda x: np.sum(np.exp(x)), rounding="numpy"), np.ones(5), file=text)
    assert "symgrad_ufunc.numpy.exp.d_d" in text.getvalue()
    assert "symgrad_ufunc.numpy.add.dd_d" in text.getvalue()


@pytest.mark.slow
def test_training_does_not_change_when_kernels_take_over(backward_kernels: Any) -> None:
    table = backward_kernels.table
    rng = np.random.default_rng(0)
    images, labels = rng.normal(size=(60, 12)), np.eye(3)[rng.integers(0, 3, 60)]

    def trained() -> list[Any]:
        table.clear()
        start = np.random.default_rng(1)
        shapes = [(12, 16), (16,), (16, 3), (3,)]
        weights = [sg.tensor(start.normal(size=s) * 0.3, requires_grad=True) for s in shapes]
        w, b, v, c = weights
        for k in range(4 * backward_kernels.AFTER):
            rows = np.arange(20) + 20 * (k % 3)
            hidden = torch.tanh(sg.tensor(images[rows]) @ w + b)
            scores = torch.log_softmax(hidden @ v + c, dim=1)
            (-(scores * sg.tensor(labels[rows])).sum() / 20).backward()
            with sg.no_grad():
                for x in weights:
                    x -= 0.3 * x.grad
                    x.grad.zero_()
        return [x.detach().numpy() for x in weights]

    with sg.backend("numpy"):
        expected = trained()
    assert same(trained(), expected)
    assert any(entry.kernel is not None for entry in table.entries.values())
    table.clear()


MIXED = [
    lambda x, y: (1.5 + y) ** np.tanh(x), lambda x, y: np.exp(y) * x + np.arctan2(y, x),
    lambda x, y: np.where(x > y, np.sin(y), x) + np.maximum(x, y) * y,
    lambda x, y: (np.sin(x) + 2) ** np.full(3, 1.1) * y,
    lambda x, y: x * 1.1 + np.float64(1.1) ** y,
]  # fmt: skip


@pytest.mark.parametrize("types", [(np.float32, np.float64), (np.float64, np.float32)])
@pytest.mark.parametrize("k", range(len(MIXED)))
def test_types_that_are_mixed(k: int, types: Any) -> None:
    """Rules read operands in the type that the op computes in."""
    data = [np.array([0.3, 1.7, -0.4], types[0]), np.array(0.6, types[1])]
    leaves = [sg.tensor(d, requires_grad=True) for d in data]
    with sg.backend("numpy"):
        np.sum(MIXED[k](*leaves)).backward()
    slopes = sg.grad(lambda x, y: np.sum(MIXED[k](x, y)), (0, 1))
    compiled = sg.compile(slopes, rounding="numpy", cache=False)
    assert same(compiled(*data), [x.grad.numpy() for x in leaves])
