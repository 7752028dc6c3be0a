"""Functions that give facts about arrays: equality, kinds, types, index arrays."""

from __future__ import annotations

import numbers as number_classes
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import ShapeError
from ..base.sizes import Size, as_dim, same
from ..base.stand_in_types import class_of
from ..op import composite
from .np_common import as_array, compared


def _facts(
    function: Any, name: str | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return composite(function, name=name, differentiable=False)


# ---------------------------------------------------------------- equality


@_facts(np.allclose)
def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8,
             equal_nan: bool = False) -> Any:  # fmt: skip
    """Whether two arrays agree within tolerances."""
    return _of_python(np.all(np.isclose(a, b, rtol, atol, equal_nan)))


def _of_python(truth: Any) -> Any:
    """Return a truth value as one of Python's, as these functions do."""
    if hasattr(truth, "weak"):
        truth.weak = bool
    return truth


def _alike(a: Any, b: Any) -> bool:
    return a.ndim == b.ndim and all(
        same(as_dim(m), as_dim(n)) for m, n in zip(a.shape, b.shape, strict=True)
    )


@_facts(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether two arrays have one shape and equal elements."""
    a, b = as_array(a1), as_array(a2)
    if not _alike(a, b):
        return False
    hit = compared(a == b)
    return _of_python(np.all(hit | ((a != a) & (b != b)) if equal_nan else hit))


@_facts(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether two arrays are equal after broadcasting."""
    try:
        return _of_python(np.all(compared(as_array(a1) == as_array(a2))))
    except ShapeError:
        return False


# ---------------------------------------------------------------- kinds and types


def _constant(function: Any, value: bool, doc: str) -> None:
    def kind(x: Any) -> Any:
        x = as_array(x)
        if x.dtype.kind == "c":
            return (x.imag == 0) if value else (x.imag != 0)
        return np.full_like(x, value, dtype=np.bool_)

    kind.__doc__ = doc
    _facts(function, function.__name__)(kind)


_constant(np.isreal, True, "Where there is no imaginary part.")
_constant(np.iscomplex, False, "Where there is an imaginary part.")


@_facts(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    """Whether the value is of a complex type."""
    return bool(as_array(x).dtype.kind == "c")


@_facts(np.isrealobj)
def isrealobj(x: Any) -> bool:
    """Whether the value is not of a complex type."""
    return bool(as_array(x).dtype.kind != "c")


@_facts(np.isscalar)
def isscalar(element: Any) -> bool:
    """Whether the value stands for a number."""
    return issubclass(class_of(element), (number_classes.Number, np.generic, str, bytes))


def _kind(value: Any) -> Any:
    if isinstance(value, type):  # np.float32, whose ``dtype`` is of its instances
        return value
    weak = getattr(value, "weak", None)
    if weak is not None:
        return weak(1)
    return 1 if isinstance(value, Size) else getattr(value, "dtype", value)


@_facts(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> Any:
    """The common element type."""
    return np.result_type(*map(_kind, arrays_and_dtypes))


@_facts(np.common_type)
def common_type(*arrays: Any) -> Any:
    """The common inexact element type."""
    return np.common_type(*(np.empty(0, as_array(a).dtype) for a in arrays))


@_facts(np.can_cast)
def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Whether an element type can be converted."""
    return bool(np.can_cast(_kind(from_), _kind(to), casting))


@_facts(np.min_scalar_type)
def min_scalar_type(a: Any) -> Any:
    """The element type of a traced value."""
    return as_array(a).dtype


def _apart(name: str) -> None:
    def apart(a: Any, b: Any, max_work: Any = None) -> bool:
        return a is b

    apart.__doc__ = "Whether two values are the same; traced values share no memory."
    _facts(getattr(np, name), name)(apart)


_apart("shares_memory")
_apart("may_share_memory")


# ---------------------------------------------------------------- index arrays


@_facts(np.diag_indices_from)
def diag_indices_from(arr: Any) -> Any:
    """Index arrays of the diagonal."""
    if arr.ndim < 2 or any(n != arr.shape[0] for n in arr.shape):
        raise ShapeError("diag_indices_from: an array has 2 axes or more, all of one length")
    return np.diag_indices(int(arr.shape[0]), arr.ndim)


def _require_matrix(arr: Any, name: str) -> None:
    if arr.ndim != 2:
        raise ShapeError(f"{name} takes a matrix, not an array of {arr.ndim} axes")


@_facts(np.tril_indices_from)
def tril_indices_from(arr: Any, k: int = 0) -> Any:
    """Index arrays of the lower triangle."""
    _require_matrix(arr, "tril_indices_from")
    return np.tril_indices(int(arr.shape[-2]), k, int(arr.shape[-1]))


@_facts(np.triu_indices_from)
def triu_indices_from(arr: Any, k: int = 0) -> Any:
    """Index arrays of the upper triangle."""
    _require_matrix(arr, "triu_indices_from")
    return np.triu_indices(int(arr.shape[-2]), k, int(arr.shape[-1]))


@_facts(np.ix_)
def ix_(*args: Any) -> Any:
    """Index arrays of a grid."""
    vectors = [as_array(v) for v in args]
    if any(v.ndim != 1 for v in vectors):
        raise ShapeError("ix_ takes vectors")
    # Of a mask the places, as many as the example call has where it is traced.
    vectors = [np.nonzero(v)[0][:] if v.dtype == np.bool_ else v for v in vectors]
    return tuple(
        np.reshape(v, tuple(v.shape[0] if k == j else 1 for j in range(len(vectors))))
        for k, v in enumerate(vectors)
    )


@_facts(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "raise", order: str = "C") -> Any:
    """Positions in the flattened array of positions on each axis."""
    pairs = list(zip(multi_index, dims, strict=True))
    total: Any = 0
    for place, size in pairs if order == "C" else reversed(pairs):
        total = total * size + as_array(place)
    return total


@_facts(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """Positions on each axis of positions in the flattened array."""
    rest, found = as_array(indices), []
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    for size in reversed(sizes) if order == "C" else sizes:
        found.append(rest % size)
        rest = rest // size
    return tuple(reversed(found)) if order == "C" else tuple(found)


def _nan_place(name: str, fill: float) -> None:
    def place(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        x = as_array(a)
        filled = np.where(np.isnan(x), fill, x) if x.dtype.kind in "fc" else x
        return getattr(np, name.removeprefix("nan"))(filled, axis=axis, keepdims=keepdims)

    place.__doc__ = f"Index of the first {name[6:]}imum, nan left out."
    _facts(getattr(np, name), name)(place)


_nan_place("nanargmax", -np.inf)
_nan_place("nanargmin", np.inf)
