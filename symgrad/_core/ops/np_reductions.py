"""NumPy's reductions and running sums, with ``axis=`` and ``keepdims=``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import ArgumentError, NumberError, ShapeError, UnsupportedError
from ..base.broadcast import normalize_axes, normalize_axis, show
from ..base.sizes import as_dim, hint
from ..base.state import now
from ..op import Op, Reduce, composite
from .np_common import as_array, declared, dims, reshaped, sum_type, truths
from .reductions import ALL, ANY, ARGMAX, ARGMIN, MAX, MIN, PROD, SUM, kept
from .scans import CUMPROD, CUMSUM


def fold(op: Op, x: Any, axis: Any, keepdims: bool) -> Any:
    """Apply a reduction over the axes that ``axis`` means."""
    axes = normalize_axes(axis, x.ndim)
    if not axes:
        return x
    y = op(x, axes=axes)
    return reshaped(y, kept(x.shape, axes)) if keepdims else y


# ---------------------------------------------------------------- where= and initial=


def mask_of(where: Any, x: Any) -> Any:
    """Return a mask of the shape of ``x``."""
    mask = as_array(where)
    if mask.dtype != np.bool_:
        raise ArgumentError(f"where= is an array of truth values, not of {mask.dtype}")
    return np.broadcast_to(mask, x.shape)


def chosen(x: Any, where: Any, other: Any) -> Any:
    """Return ``x`` with ``other`` where the mask is false."""
    return x if where is True else np.where(mask_of(where, x), x, as_array(other).astype(x.dtype))


def _require_free_order(where: Any, initial: Any) -> None:
    if now().promised and not (where is True and initial is None):
        raise UnsupportedError("sums with where= or initial= are not traced with rounding='numpy'")


# ---------------------------------------------------------------- sum, prod


def _adding(function: Any, op: Op, doc: str) -> Any:
    empty = np.add if function is np.sum else np.multiply

    def total(
        a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, where: Any = True,
        initial: Any = None,
    ) -> Any:  # fmt: skip
        _require_free_order(where, initial)
        x = as_array(a)
        x = x.astype(np.dtype(dtype) if dtype is not None else sum_type(x.dtype))
        y = fold(op, chosen(x, where, empty.identity), axis, keepdims)
        return y if initial is None else empty(y, as_array(initial, x.dtype))

    total.__doc__ = doc
    return composite(function, name=function.__name__)(total)


sum_ = _adding(np.sum, SUM, "Sum over axes.")
prod = _adding(np.prod, PROD, "Product over axes.")


# ---------------------------------------------------------------- extrema


def not_empty(x: Any, axis: Any, name: str) -> None:
    """Raise if an extremum would be taken of no elements."""
    for k in normalize_axes(axis, x.ndim):
        if hint(as_dim(x.shape[k])) == 0:
            raise ShapeError(f"{name} of no elements: axis {k} of shape {show(dims(x))} is empty")


def _extremum(functions: tuple[Callable[..., Any], ...], op: Reduce, doc: str) -> Any:
    name = functions[0].__name__
    larger = getattr(np, op.combine)

    def extremum(
        a: Any, axis: Any = None, *, keepdims: bool = False, where: Any = True, initial: Any = None
    ) -> Any:
        x = as_array(a)
        if initial is None:
            if where is not True:
                raise NumberError(f"np.{name}(..., where=) needs initial= for masks of none")
            not_empty(x, axis, name)
            return fold(op, x, axis, keepdims)
        first = as_array(initial, x.dtype)
        x = chosen(x, where, first)
        if 0 in (x.shape[k] for k in normalize_axes(axis, x.ndim)):
            return np.sum(x, axis=axis, keepdims=keepdims).astype(x.dtype) + first
        return larger(fold(op, x, axis, keepdims), first)

    extremum.__doc__ = doc
    return composite(*functions, name=name, convention="equal shares among ties")(extremum)


max_ = _extremum((np.max, np.amax), MAX, "Maximum over axes; nan if one is nan.")
min_ = _extremum((np.min, np.amin), MIN, "Minimum over axes; nan if one is nan.")


def largest(x: Any, axis: Any, keepdims: bool = False) -> Any:
    """Return the maximum of numbers that are not negative; of none of them 0."""
    if 0 not in (x.shape[k] for k in normalize_axes(axis, x.ndim)):
        return np.max(x, axis=axis, keepdims=keepdims)
    return np.sum(x, axis=axis, keepdims=keepdims)


@composite(np.ptp, convention="equal shares among ties")
def ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Maximum less minimum over axes."""
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


def _place(function: Any, op: Op, doc: str) -> Any:
    def place(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
        x = as_array(a)
        not_empty(x, axis, function.__name__)
        if axis is None:
            y = op(np.ravel(x), axes=(0,))
            return reshaped(y, (1,) * x.ndim) if keepdims else y
        axis = normalize_axis(axis, x.ndim)
        y = op(np.moveaxis(x, axis, -1), axes=(x.ndim - 1,))
        return np.expand_dims(y, axis) if keepdims else y

    place.__doc__ = doc
    return composite(function, name=function.__name__, differentiable=False)(place)


argmax = _place(np.argmax, ARGMAX, "Index of the first maximum.")
argmin = _place(np.argmin, ARGMIN, "Index of the first minimum.")


# ---------------------------------------------------------------- truth and counts


def _truth(function: Any, op: Reduce, doc: str) -> Any:
    def truth(a: Any, axis: Any = None, *, keepdims: bool = False, where: Any = True) -> Any:
        return fold(op, chosen(truths(as_array(a)), where, op.combine == "and"), axis, keepdims)

    truth.__doc__ = doc
    return composite(
        function, name=function.__name__, differentiable=False
    )(truth)  # fmt: skip


any_ = _truth(np.any, ANY, "Whether one element is true (not zero).")
all_ = _truth(np.all, ALL, "Whether all elements are true (not zero).")


@composite(np.count_nonzero, differentiable=False)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """How many elements are not zero."""
    return np.sum(truths(as_array(a)), axis=axis, keepdims=keepdims)


# ---------------------------------------------------------------- running sums


def _running(op: Op, a: Any, axis: int | None, dtype: Any) -> Any:
    x = as_array(a)
    x = x.astype(np.dtype(dtype) if dtype is not None else sum_type(x.dtype))
    x, axis = (np.ravel(x), 0) if axis is None else (np.atleast_1d(x), axis)
    return op(x, axis=normalize_axis(axis, x.ndim), reverse=False)


@composite(np.cumsum)
def cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Running sum along an axis."""
    return _running(CUMSUM, a, axis, dtype)


@composite(np.cumprod)
def cumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Running product along an axis."""
    return _running(CUMPROD, a, axis, dtype)


def _cumulative(name: str, op: Op, start: int, doc: str) -> None:
    def cumulative(
        x: Any, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
    ) -> Any:
        x = np.atleast_1d(as_array(x))
        if axis is None and x.ndim != 1:
            raise ShapeError(f"{name}: give the axis for an array of {x.ndim} axes")
        axis = normalize_axis(0 if axis is None else axis, x.ndim)
        y = _running(op, x, axis, dtype)
        if not include_initial:
            return y
        first = np.full_like(y, start, shape=(*y.shape[:axis], 1, *y.shape[axis + 1 :]))
        return np.concatenate([first, y], axis)

    cumulative.__doc__ = doc
    composite(*declared(name), name=name)(cumulative)


_cumulative("cumulative_sum", CUMSUM, 0, "Running sum along an axis, from 0 if asked for.")
_cumulative("cumulative_prod", CUMPROD, 1, "Running product along an axis, from 1 if asked for.")
