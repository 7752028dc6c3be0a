"""Functions written for the array API standard: each name of it, traced by its namespace.

docs/array-api.md lists the names. ``array_api_compat`` and ``array_api_strict`` are asked where
they are installed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgrad as sg
import symgrad.numpy as snp

try:
    import array_api_compat as compat
    from array_api_compat import array_namespace
except ImportError:
    compat = None

PAGE = Path(__file__).parents[1] / "docs" / "array-api.md"
X = np.random.default_rng(5).uniform(0.2, 0.8, (3, 4))
Call = Callable[[Any, Any], Any]


def square(x: Any) -> Any:
    """A well-conditioned matrix of the argument."""
    return x[:, :3] + 2.0 * np.eye(3)


def symmetric(xp: Any, x: Any) -> Any:
    """A symmetric positive definite matrix of the argument."""
    a = square(x)
    return xp.matmul(a, xp.matrix_transpose(a))


def unary(*names: str, shift: float = 0.0) -> dict[str, Call]:
    """Calls of functions of one array."""
    return {name: lambda xp, x, n=name: getattr(xp, n)(x + shift) for name in names}


def binary(*names: str) -> dict[str, Call]:
    """Calls of functions of two arrays, which broadcast."""
    return {name: lambda xp, x, n=name: getattr(xp, n)(x, x[:1, :] + 0.1) for name in names}


def reduced(*names: str) -> dict[str, Call]:
    """Calls of reductions along an axis that stays."""
    return {name: lambda xp, x, n=name: getattr(xp, n)(x, axis=1, keepdims=True) for name in names}


DIFFERENTIABLE: dict[str, Call] = {
    **unary("abs", "acos", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log"),
    **unary("log1p", "log2", "log10", "negative", "positive", "reciprocal", "sin", "sinh", "sqrt"),
    **unary("square", "tan", "tanh", "matrix_transpose", "squeeze", "conj", "real"),
    **unary("acosh", shift=1.5),
    **binary("add", "atan2", "copysign", "divide", "hypot", "logaddexp", "maximum", "minimum"),
    **binary("multiply", "pow", "remainder", "subtract", "vecdot"),
    **reduced("max", "mean", "min", "prod", "sum"),
    "astype": lambda xp, x: xp.astype(x, xp.float64),
    "asarray": lambda xp, x: xp.asarray(x),
    "broadcast_arrays": lambda xp, x: xp.broadcast_arrays(x, x[:1, :])[1],
    "broadcast_to": lambda xp, x: xp.broadcast_to(x, (2, 3, 4)),
    "clip": lambda xp, x: xp.clip(x, 0.3, 0.6),
    "concat": lambda xp, x: xp.concat([x, x[:1, :]], axis=0),
    "cumulative_prod": lambda xp, x: xp.cumulative_prod(x, axis=1, include_initial=True),
    "cumulative_sum": lambda xp, x: xp.cumulative_sum(x, axis=1, include_initial=True),
    "diff": lambda xp, x: xp.diff(x, axis=1),
    "expand_dims": lambda xp, x: xp.expand_dims(x, axis=1),
    "flip": lambda xp, x: xp.flip(x, axis=0),
    "imag": lambda xp, x: xp.imag(x * 1j),
    "matmul": lambda xp, x: xp.matmul(x, xp.matrix_transpose(x)),
    "meshgrid": lambda xp, x: xp.meshgrid(x[0, :], x[1, :], indexing="ij")[0],
    "moveaxis": lambda xp, x: xp.moveaxis(x, 0, 1),
    "permute_dims": lambda xp, x: xp.permute_dims(x, (1, 0)),
    "repeat": lambda xp, x: xp.repeat(x, 2, axis=1),
    "reshape": lambda xp, x: xp.reshape(x, (4, 3)),
    "roll": lambda xp, x: xp.roll(x, 1, axis=0),
    "sort": lambda xp, x: xp.sort(x, axis=1),
    "stack": lambda xp, x: xp.stack([x, 2.0 * x], axis=1),
    "std": lambda xp, x: xp.std(x, axis=1, correction=1.0),
    "take": lambda xp, x: xp.take(x, xp.asarray([2, 0]), axis=0),
    "take_along_axis": lambda xp, x: xp.take_along_axis(x, xp.asarray([[1], [0], [3]]), axis=1),
    "tensordot": lambda xp, x: xp.tensordot(x, x, axes=((1,), (1,))),
    "tile": lambda xp, x: xp.tile(x, (2, 1)),
    "tril": lambda xp, x: xp.tril(x, k=-1),
    "triu": lambda xp, x: xp.triu(x, k=1),
    "unstack": lambda xp, x: xp.unstack(x, axis=0)[1],
    "var": lambda xp, x: xp.var(x, axis=1, correction=1.0),
    "where": lambda xp, x: xp.where(x > 0.5, x, x**2),
    "linalg.cholesky": lambda xp, x: xp.linalg.cholesky(symmetric(xp, x)),
    "linalg.cross": lambda xp, x: xp.linalg.cross(x[0, :3], x[1, :3]),
    "linalg.det": lambda xp, x: xp.linalg.det(square(x)),
    "linalg.diagonal": lambda xp, x: xp.linalg.diagonal(x),
    "linalg.eig": lambda xp, x: xp.real(xp.linalg.eig(symmetric(xp, x))[0]),
    "linalg.eigh": lambda xp, x: xp.linalg.eigh(symmetric(xp, x))[0],
    "linalg.eigvals": lambda xp, x: xp.real(xp.linalg.eigvals(symmetric(xp, x))),
    "linalg.eigvalsh": lambda xp, x: xp.linalg.eigvalsh(symmetric(xp, x)),
    "linalg.inv": lambda xp, x: xp.linalg.inv(square(x)),
    "linalg.matmul": lambda xp, x: xp.linalg.matmul(x, xp.matrix_transpose(x)),
    "linalg.matrix_norm": lambda xp, x: xp.linalg.matrix_norm(x),
    "linalg.matrix_power": lambda xp, x: xp.linalg.matrix_power(square(x), 3),
    "linalg.matrix_transpose": lambda xp, x: xp.linalg.matrix_transpose(x),
    "linalg.outer": lambda xp, x: xp.linalg.outer(x[0, :], x[1, :]),
    "linalg.pinv": lambda xp, x: xp.linalg.pinv(x),
    "linalg.qr": lambda xp, x: xp.linalg.qr(square(x))[1],
    "linalg.slogdet": lambda xp, x: xp.linalg.slogdet(square(x))[1],
    "linalg.solve": lambda xp, x: xp.linalg.solve(square(x), x),
    "linalg.svd": lambda xp, x: xp.linalg.svd(x, full_matrices=False)[1],
    "linalg.svdvals": lambda xp, x: xp.linalg.svdvals(x),
    "linalg.tensordot": lambda xp, x: xp.linalg.tensordot(x, x, axes=2),
    "linalg.trace": lambda xp, x: xp.linalg.trace(x),
    "linalg.vecdot": lambda xp, x: xp.linalg.vecdot(x, x),
    "linalg.vector_norm": lambda xp, x: xp.linalg.vector_norm(x, axis=1),
    **{
        f"fft.{name}": lambda xp, x, n=name: getattr(xp.fft, n)(x, axis=1)
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    },
    **{
        f"fft.{name}": lambda xp, x, n=name: getattr(xp.fft, n)(x, axes=(0, 1))
        for name in ("fftn", "ifftn", "rfftn", "irfftn", "fftshift", "ifftshift")
    },
}

#: Integers, booleans and steps; constants and what makes arrays of numbers.
WITHOUT: dict[str, Call] = {
    **unary("ceil", "floor", "isfinite", "isinf", "isnan", "round", "sign", "signbit", "trunc"),
    **unary("empty_like", "ones_like", "zeros_like", "logical_not"),
    **binary("equal", "floor_divide", "greater", "greater_equal", "less", "less_equal"),
    **binary("logical_and", "logical_or", "logical_xor", "nextafter", "not_equal"),
    **reduced("all", "any", "argmax", "argmin", "count_nonzero"),
    "argsort": lambda xp, x: xp.argsort(x, axis=1, stable=True),
    "nonzero": lambda xp, x: xp.nonzero(xp.round(x))[1],
    "full_like": lambda xp, x: xp.full_like(x, 2.0),
    "isin": lambda xp, x: xp.isin(x, x[:1, :]),
    "searchsorted": lambda xp, x: xp.searchsorted(xp.asarray([0.3, 0.5]), x[0, :]),
    **{
        name: lambda xp, x, n=name: getattr(xp, n)(xp.astype(8.0 * x, xp.int64), 2)
        for name in (
            "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
        )
    },
    "bitwise_invert": lambda xp, x: xp.bitwise_invert(xp.astype(8.0 * x, xp.int64)),
    "linalg.matrix_rank": lambda xp, x: xp.linalg.matrix_rank(x),
    "arange": lambda xp, x: xp.arange(x.shape[0]),
    "empty": lambda xp, x: 0.0 * xp.astype(xp.empty(x.shape, dtype=xp.int64), xp.float64),
    "eye": lambda xp, x: xp.eye(3, 4, k=1),
    "full": lambda xp, x: xp.full(x.shape, 3.0),
    "linspace": lambda xp, x: xp.linspace(0.0, 1.0, 5, endpoint=False),
    "ones": lambda xp, x: xp.ones(x.shape),
    "zeros": lambda xp, x: xp.zeros(x.shape),
    "fft.fftfreq": lambda xp, x: xp.fft.fftfreq(4, d=0.5),
    "fft.rfftfreq": lambda xp, x: xp.fft.rfftfreq(4, d=0.5),
    "broadcast_shapes": lambda xp, x: xp.zeros(xp.broadcast_shapes(x.shape, (2, 1, 4))),
    "can_cast": lambda xp, x: xp.asarray(xp.can_cast(x.dtype, xp.float32)),
    "finfo": lambda xp, x: xp.asarray(xp.finfo(x.dtype).eps),
    "iinfo": lambda xp, x: xp.asarray(xp.iinfo(xp.int32).max),
    "isdtype": lambda xp, x: xp.asarray(xp.isdtype(x.dtype, "real floating")),
    "result_type": lambda xp, x: xp.zeros(3, dtype=xp.result_type(x, xp.float32)),
}  # fmt: skip

#: How many elements there are depends on their values.
REFUSED: dict[str, Call] = unary("unique_all", "unique_counts", "unique_inverse", "unique_values")

TYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128"
)
CONSTANTS = "e inf nan newaxis pi"


def of_the_array(x: Any) -> Any:
    """Return the namespace by the standard's own method."""
    return x.__array_namespace__()


def of_compat(x: Any) -> Any:
    """Return the namespace as SciPy and scikit-learn find it."""
    return compat.array_namespace(x)


def of_symgrad(x: Any) -> Any:
    """Return symgrad's namespace."""
    return snp


INSTALLED = pytest.mark.skipif(compat is None, reason="array_api_compat is not installed")
NAMESPACES = pytest.mark.parametrize(
    "namespace", [of_the_array, pytest.param(of_compat, marks=INSTALLED), of_symgrad]
)


@NAMESPACES
@pytest.mark.parametrize("name", DIFFERENTIABLE)
@pytest.mark.usefixtures("no_kernels")
@pytest.mark.quick(12)
def test_differentiable(name: str, namespace: Callable[[Any], Any]) -> None:
    def f(x: Any) -> Any:
        return DIFFERENTIABLE[name](namespace(x), x)

    want = DIFFERENTIABLE[name](np, X)
    v = np.random.default_rng(6).normal(size=X.shape)
    # No kernels here: other tests compile each of these ops.
    value, slope = sg.jvp(f, (X.copy(),), (v,))
    assert value.dtype == want.dtype
    np.testing.assert_allclose(value, want, rtol=1e-12, atol=1e-14)
    h = 1e-6  # the error of central differences is about h**2 and 1e-16/h
    differences = (DIFFERENTIABLE[name](np, X + h * v) - DIFFERENTIABLE[name](np, X - h * v)) / (
        2 * h
    )
    np.testing.assert_allclose(slope, differences, rtol=1e-7, atol=1e-7)


@NAMESPACES
@pytest.mark.parametrize("name", WITHOUT)
@pytest.mark.usefixtures("no_kernels")
@pytest.mark.quick(8)
def test_without_a_derivative(name: str, namespace: Callable[[Any], Any]) -> None:
    want = np.asarray(WITHOUT[name](np, X))
    got = np.asarray(sg.compile(lambda x: WITHOUT[name](namespace(x), x))(X.copy()))
    assert got.shape == want.shape
    if name != "empty_like":
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-15)


@pytest.mark.parametrize("namespace", [of_the_array, of_symgrad])
@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, namespace: Callable[[Any], Any]) -> None:
    with pytest.raises(sg.errors.UnsupportedError, match="depend"):
        sg.compile(lambda x: REFUSED[name](namespace(x), x))(X.copy())


def test_types_and_constants() -> None:
    for name in (*TYPES.split(), *CONSTANTS.split()):
        ours, theirs = getattr(snp, name), getattr(np, name)
        assert ours is theirs or ours == theirs or ours != ours
    assert snp.__array_namespace_info__().default_dtypes()["real floating"] == np.float64


def test_the_tables_have_the_whole_standard() -> None:
    strict = pytest.importorskip("array_api_strict")
    known = {*DIFFERENTIABLE, *WITHOUT, *REFUSED, *TYPES.split(), *CONSTANTS.split()}
    names = {n for n in strict.__all__ if "rict" not in n and not n.startswith("_")}
    for part in ("linalg", "fft"):
        names |= {f"{part}.{n}" for n in getattr(strict, part).__all__}
    assert names - known - {"linalg", "fft", "Device", "from_dlpack"} == set()


@pytest.mark.parametrize(
    ("title", "table"),
    [
        ("Differentiable", DIFFERENTIABLE),
        ("Without a derivative", WITHOUT),
        ("Refused", REFUSED),
    ],
)
def test_the_page_lists_them(title: str, table: dict[str, Call]) -> None:
    section = PAGE.read_text(encoding="utf-8").split(f"## {title}\n")[1].split("\n## ")[0]
    listed = [name for line in re.findall(r"^`.*$", section, re.MULTILINE)
              for name in re.findall(r"`([\w.]+)`", line)]  # fmt: skip
    assert listed == sorted(table)


def by_method(x: Any) -> Any:
    """A loss that asks the array."""
    xp = x.__array_namespace__()
    x = xp.asarray(x)
    return xp.sum(xp.exp(-x) * xp.linalg.vector_norm(x))


def by_compat(x: Any) -> Any:
    """A loss that asks array_api_compat, by its module."""
    xp = compat.array_namespace(x, None, 1.0)
    x = xp.asarray(x, copy=True)
    assert compat.is_numpy_array(x)
    assert compat.device(x) == "cpu"
    return xp.sum(xp.exp(-x) * xp.linalg.vector_norm(x))


def by_name(x: Any) -> Any:
    """The same by its function, and an array that is assigned to."""
    xp = array_namespace(x)
    made = xp.zeros(x.shape)
    made[...] = xp.asarray(x)
    return xp.sum(xp.exp(-made) * xp.linalg.vector_norm(made))


@pytest.mark.parametrize(
    "loss",
    [by_method, pytest.param(by_compat, marks=INSTALLED), pytest.param(by_name, marks=INSTALLED)],
)
def test_a_loss_in_the_array_api(loss: Callable[[Any], Any]) -> None:
    value, slope = sg.value_and_grad(loss)(X)
    norm, e = np.linalg.norm(X), np.exp(-X)
    np.testing.assert_allclose(value, loss(X), rtol=1e-14)
    np.testing.assert_allclose(slope, -e * norm + np.sum(e) * X / norm, rtol=1e-13)


def test_the_namespace_is_numpy_of_the_code() -> None:
    def same(x: Any) -> Any:
        return x * (2.0 if x.__array_namespace__() is np else 3.0)

    np.testing.assert_array_equal(sg.compile(same)(X), same(X))
