"""Ops that fold axes away: sum, prod, max, min, any, all, argmax, argmin."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np
import sympy as sp

from ..base.broadcast import show
from ..base.sizes import Shape, as_size
from ..op import AXES, Code, Linear, NoRule, Products, Recurrence, Reduce, Words, define
from . import complex_order
from .movement import BROADCAST, RESHAPE, TRANSPOSE, inverse
from .scans import exclusive_products

Axes = tuple[int, ...]

#: Power series go through products of so many factors.
MOST_FACTORS = 32


def reduced(shape: Shape, axes: Axes) -> Shape:
    """Return ``shape`` without ``axes``."""
    return tuple(d for k, d in enumerate(shape) if k not in axes)


def kept(shape: tuple[Any, ...], axes: Axes) -> tuple[Any, ...]:
    """Return ``shape`` with ``axes`` of length one, as ``keepdims=True`` has it."""
    return tuple(1 if k in axes else d for k, d in enumerate(shape))


def restore(value: Any, x: Any, axes: Axes) -> Any:
    """Repeat a reduced value along the axes it was reduced over."""
    return BROADCAST(RESHAPE(value, shape=kept(x.shape, axes)), shape=x.shape)


def full_index(index: Any, axes: Axes, bound: Any) -> tuple[Any, ...]:
    """Merge the result's index with the indices bound by the reduction."""
    rest, inner = iter(index), iter(bound)
    return tuple(next(inner) if k in axes else next(rest) for k in range(len(index) + len(axes)))


def bound_indices(x: Any, axes: Axes) -> list[tuple[sp.Symbol, Any, Any]]:
    """Return ``(k, 0, n - 1)`` for each reduced axis, with fresh symbols."""
    return [(sp.Dummy("k", integer=True, nonnegative=True), 0, x.shape[a] - 1) for a in axes]


def _complex_product(z: Any, axes: tuple[int, ...]) -> Any:
    """Return products of complex numbers, of as many elements as in the example call."""
    for axis in sorted(axes, reverse=True):
        z = _halved(np.moveaxis(z, axis, 0))
    return z


def _halved(z: Any) -> Any:
    """Return the products over the first axis: of its halves, and of what comes of these."""
    n = int(z.shape[0])
    if not n:
        return np.sum(z, axis=0) + 1.0
    while n > 1:
        half = n // 2
        pairs = z[:half] * z[half : 2 * half]
        z = np.concatenate([pairs, z[2 * half :]]) if n % 2 else pairs
        n -= half
    return z[0]


def _fold(make: Any) -> Any:
    def element(index: Any, x: Any, axes: Axes) -> Any:
        limits = bound_indices(x, axes)
        return make(x[full_index(index, axes, [k for k, _, _ in limits])], *limits)

    return element


def _named(name: str) -> Any:
    """A fold without a SymPy class of its own: ``Max(x[k], (k, 0, n - 1))``."""
    return _fold(lambda e, *limits: sp.Function(name)(e, *(sp.Tuple(*k) for k in limits)))


def _last(x: Any, axes: Axes) -> tuple[Any, tuple[int, ...], tuple[Any, ...]]:
    """Move ``axes`` last and join them into one; also return the way back."""
    order = tuple(k for k in range(x.ndim) if k not in axes) + axes
    moved = TRANSPOSE(x, axes=order)
    joined = 1
    for k in axes:
        joined = joined * x.shape[k]
    lead = tuple(moved.shape[: x.ndim - len(axes)])
    return RESHAPE(moved, shape=(*lead, joined)), order, tuple(moved.shape)


def _prod_partial(x: Any, axes: Axes) -> Any:
    """The product of all others, exact with any number of zeros among them."""
    flat, order, shape = _last(x, axes)
    others = exclusive_products(flat)
    return TRANSPOSE(RESHAPE(others, shape=shape), axes=inverse(order))


def _share(x: Any, y: Any, axes: Axes) -> Any:
    """Equal shares among the elements that attain the extremum."""
    hit = (x == restore(y, x, axes)).astype(x.dtype)
    return hit / restore(np.sum(hit, axis=axes), x, axes)


def _batch(op_name: str) -> Any:
    def batch(size: Any, _: Any, x: Any, axes: Axes) -> Any:
        return _OPS[op_name](x, axes=tuple(a + 1 for a in axes))

    return batch


def _source(name: str, typed: bool) -> Any:
    def source(x: Any, axes: Axes) -> str:
        axis = axes[0] if len(axes) == 1 else axes
        # NumPy would widen sums and products of small integers.
        dtype = f", dtype=np.{x.dtype.name}" if typed and x.dtype.kind != "f" else ""
        return f"np.{name}({x}, axis={axis}{dtype})"

    return source


def _fits(node: Any) -> str | None:
    [x], axes = node.operands, node.params["axes"]
    if not axes or (node.op.place and len(axes) != 1):
        return f"it is not taken over {len(axes)} axes"
    if x.dtype.kind == "b" and node.op.combine in ("add", "multiply"):
        return "truth values are not added"
    if node.op.combine in ("maximum", "minimum") and any(as_size(x.shape[k]) < 1 for k in axes):
        return f"there is no extremum of no elements, of an array of shape {show(x.shape)}"
    return None


def _reduction(
    name: str, function: Any, element: Any, combine: str, doc: str, rule: Any, *,
    place: bool = False, types: Any = None, parts: Any = None, taken: Any = None,
    convention: str | None = None, series: Recurrence | None = None,
) -> Reduce:  # fmt: skip
    """Define a fold."""
    record = Reduce(
        name,
        evaluate=lambda x, axes: function(x, axis=axes),
        params={"axes": AXES},
        fits=_fits,
        shape=reduced,
        types=types,
        element=element,
        rule=rule,
        batch=_batch(name),
        combine=combine,
        place=place,
        parts=parts,
        taken=taken,
        support=lambda mask, x, axes: (restore(mask, x, axes),),
    )
    source = _source(name.lower(), typed=name in ("Sum", "Prod"))
    more = () if series is None else (series,)
    return define(record, Code(source=source), Words(doc, convention=convention), *more)


def _extremum(name: str, ufunc: Any, doc: str, parts: Any, less: Any) -> Reduce:
    """Define a maximum or a minimum; ``less(x, y)`` tells which elements x are not the y."""

    def vjp(ct: Any, y: Any, x: Any, axes: Axes) -> Any:
        return (restore(ct, x, axes) * _share(x, y, axes),)

    def jvp(t: Any, y: Any, x: Any, axes: Axes) -> Any:
        moved = np.where(less(x, restore(y, x, axes)), 0.0, t[0] * _share(x, y, axes))
        return np.sum(moved, axis=axes)

    return _reduction(
        name, ufunc.reduce, _named(name), ufunc.__name__, f"{doc} over axes; nan if one is nan",
        Products(vjp, jvp), parts=parts, convention="equal shares among ties",
        taken=lambda y, x, axes: ((less(x, restore(y, x, axes)), False),),
    )  # fmt: skip


def _in_type(ufunc: Any) -> Any:
    """NumPy's reduction without its promotion of small integers."""
    return lambda x, axis: ufunc.reduce(x, axis=axis, dtype=x.dtype)


SUM = _reduction(
    "Sum", _in_type(np.add), _fold(sp.Sum), "add", "sum over axes",
    Linear(lambda ct, x, axes: (restore(ct, x, axes),)),
)  # fmt: skip


def _by_factors(moving: Any, x: Any, axes: Axes) -> Any:
    """Return the product of few factors one by one; None of many, or as many as there are."""
    for axis in sorted(axes, reverse=True):
        size = x.shape[axis]
        if not isinstance(size, int) or not 0 < size <= MOST_FACTORS:
            return None
        before = (slice(None),) * axis
        x = functools.reduce(operator.mul, [x[(*before, k)] for k in range(size)])
    return x


PROD = _reduction(
    "Prod", _in_type(np.multiply), _fold(sp.Product), "multiply", "product over axes",
    Products(
        lambda ct, y, x, axes: (restore(ct, x, axes) * _prod_partial(x, axes),),
        lambda t, y, x, axes: np.sum(t[0] * _prod_partial(x, axes), axis=axes),
    ),
    parts=_complex_product, series=Recurrence(formula=_by_factors),
)  # fmt: skip
MAX = _extremum("Max", np.maximum, "maximum", complex_order.largest, lambda x, y: x < y)
MIN = _extremum("Min", np.minimum, "minimum", complex_order.smallest, lambda x, y: y < x)
ANY, ALL = (
    _reduction(name, function, _named(name), combine, f"whether {which} true", NoRule("boolean"),
               types=lambda *_, **__: np.bool_)
    for name, function, combine, which in (
        ("Any", np.any, "or", "one is"), ("All", np.all, "and", "all are"),
    )
)  # fmt: skip
ARGMAX, ARGMIN = (
    _reduction(name, lambda x, axis, f=function: f(x, axis=axis[0]), _named(name), which,
               f"index of the first {which} along one axis", NoRule("integer-valued"), place=True,
               types=lambda *_, **__: np.int64, parts=parts)
    for name, function, which, parts in (
        ("Argmax", np.argmax, "maximum", complex_order.last_place),
        ("Argmin", np.argmin, "minimum", complex_order.first_place),
    )
)  # fmt: skip
_OPS = {op.name: op for op in (SUM, PROD, MAX, MIN, ANY, ALL, ARGMAX, ARGMIN)}
