"""Ops that run along one axis: cumulative sum and product, linear recurrence.

The linear recurrence ``r[i] = a[i]*r[i-1] + b[i]`` closes the family under
differentiation: the derivatives of cumulative products and of recurrences are recurrences,
exact also where factors are zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from ..base.broadcast import show
from ..base.sizes import agree
from ..op import AXIS, FLAG, ArrayOp, Code, Linear, Products, Scan, Words, define
from .movement import BROADCAST
from .operands import alike
from .regions import ASSEMBLE, SLICE, whole


def _region(x: Any, axis: int, start: Any, size: Any) -> tuple[Any, ...]:
    return tuple((start, 1, size) if k == axis else whole(n) for k, n in enumerate(x.shape))


def _shift(x: Any, axis: int, by: int, fill: float) -> Any:
    """Shift along ``axis`` by one place (towards larger indices if ``by`` is 1)."""
    n = x.shape[axis]
    if isinstance(n, int) and n == 0:
        return x
    part = SLICE(x, region=_region(x, axis, 0 if by > 0 else 1, n - 1))
    edge = np.full_like(SLICE(x, region=_region(x, axis, 0, 1)), fill)
    places = (1, 0) if by > 0 else (0, n - 1)
    return ASSEMBLE(
        part,
        edge,
        shape=x.shape,
        regions=(_region(x, axis, places[0], n - 1), _region(x, axis, places[1], 1)),
        disjoint=True,
    )


def _complex_products(z: Any, axis: int, reverse: bool) -> Any:
    """Return the products of complex numbers up to each along an axis, or from each on."""
    z = np.moveaxis(z, axis, 0)
    z = z[::-1] if reverse else z
    n, k = int(z.shape[0]), 1
    while k < n:
        z = np.concatenate([z[:k], z[k:] * z[:-k]])
        k *= 2
    return np.moveaxis(z[::-1] if reverse else z, 0, axis)


def exclusive_products(x: Any) -> Any:
    """Return, along the last axis, the product of all other elements."""
    axis = x.ndim - 1
    before = _shift(CUMPROD(x, axis=axis, reverse=False), axis, 1, 1.0)
    after = _shift(CUMPROD(x, axis=axis, reverse=True), axis, -1, 1.0)
    return before * after


def _running(function: Any) -> Any:
    def evaluate(x: Any, axis: int, reverse: bool) -> Any:
        if not reverse:
            return function(x, axis=axis, dtype=x.dtype)
        return np.flip(function(np.flip(x, axis), axis=axis, dtype=x.dtype), axis)

    return evaluate


def _running_source(name: str) -> Any:
    def source(x: Any, axis: int, reverse: bool) -> str:
        dtype = f", dtype=np.{x.dtype.name}" if x.dtype.kind != "f" else ""
        inner = f"np.flip({x}, {axis})" if reverse else x
        text = f"np.{name}({inner}, axis={axis}{dtype})"
        return f"np.flip({text}, {axis})" if reverse else text

    return source


def _running_element(fold: Any) -> Any:
    def element(index: Any, x: Any, axis: int, reverse: bool) -> Any:
        k = sp.Dummy("k", integer=True, nonnegative=True)
        inner = tuple(k if a == axis else i for a, i in enumerate(index))
        limits = (k, index[axis], x.shape[axis] - 1) if reverse else (k, 0, index[axis])
        return fold(x[inner], limits)

    return element


def recurrence(a: Any, b: Any, axis: int, reverse: bool) -> Any:
    """Return r with ``r[i] = a[i]*r[i-1] + b[i]`` along an axis, backwards if reverse."""
    a, b = (np.moveaxis(np.flip(v, axis) if reverse else v, axis, 0) for v in (a, b))
    out = np.empty(b.shape, np.result_type(a, b))
    carry = np.zeros(b.shape[1:], out.dtype)
    for k in range(b.shape[0]):
        carry = a[k] * carry + b[k]
        out[k] = carry
    out = np.moveaxis(out, 0, axis)
    return np.flip(out, axis) if reverse else out


def _recurrence_element(index: Any, a: Any, b: Any, axis: int, reverse: bool) -> Any:
    k, m = (sp.Dummy(s, integer=True, nonnegative=True) for s in "km")
    i, n = index[axis], b.shape[axis]

    def at(v: Any, j: Any) -> Any:
        return v[tuple(j if q == axis else p for q, p in enumerate(index))]

    if reverse:
        return sp.Sum(at(b, k) * sp.Product(at(a, m), (m, i, k - 1)), (k, i, n - 1))
    return sp.Sum(at(b, k) * sp.Product(at(a, m), (m, k + 1, i)), (k, 0, i))


def _recurrence_vjp(ct: Any, y: Any, a: Any, b: Any, axis: int, reverse: bool) -> Any:
    back = -1 if reverse else 1
    s = RECURRENCE(_shift(a, axis, -back, 0.0), ct, axis=axis, reverse=not reverse)
    return s * _shift(y, axis, back, 0.0), s


def _recurrence_jvp(t: Any, y: Any, a: Any, b: Any, axis: int, reverse: bool) -> Any:
    source = t[1] if t[1] is not None else 0.0
    if t[0] is not None:
        source = source + t[0] * _shift(y, axis, -1 if reverse else 1, 0.0)
    return RECURRENCE(a, source, axis=axis, reverse=reverse)


def _cumprod_vjp(ct: Any, y: Any, x: Any, axis: int, reverse: bool) -> Any:
    back = -1 if reverse else 1
    s = RECURRENCE(_shift(x, axis, -back, 0.0), ct, axis=axis, reverse=not reverse)
    return (s * _shift(y, axis, back, 1.0),)


def _cumprod_jvp(t: Any, y: Any, x: Any, axis: int, reverse: bool) -> Any:
    source = t[0] * _shift(y, axis, -1 if reverse else 1, 1.0)
    return RECURRENCE(x, source, axis=axis, reverse=reverse)


def _recurrence_batch(size: Any, batched: Any, a: Any, b: Any, axis: int, reverse: bool) -> Any:
    a, b = (v if f else BROADCAST(v, shape=(size, *v.shape))
            for v, f in zip((a, b), batched, strict=True))  # fmt: skip
    return RECURRENCE(a, b, axis=axis + 1, reverse=reverse)


def _fits(node: Any) -> str | None:
    last = node.operands[-1]
    if len(node.operands) != (2 if node.op is RECURRENCE else 1) or last.dtype.kind == "b":
        return f"{node.op.name} has other operands"
    shapes = [x.shape for x in node.operands if not agree(x.shape, last.shape)]
    if shapes:
        return f"operands of the shapes {show(shapes[0])} and {show(last.shape)}"
    return alike(node.operands, last.dtype)


CUMSUM: ArrayOp = define(
    Scan("Cumsum", evaluate=_running(np.cumsum), params={"axis": AXIS, "reverse": FLAG},
        shape=lambda x, axis, reverse: x, element=_running_element(sp.Sum),
        rule=Linear(lambda ct, x, axis, reverse: (CUMSUM(ct, axis=axis, reverse=not reverse),)),
        batch=lambda n, _, x, axis, reverse: CUMSUM(x, axis=axis + 1, reverse=reverse),
        combine="add", fits=_fits),
    Code(source=_running_source("cumsum")),
    Words("running sum along an axis"),
)  # fmt: skip
CUMPROD: ArrayOp = define(
    Scan("Cumprod", evaluate=_running(np.cumprod), params={"axis": AXIS, "reverse": FLAG},
        shape=lambda x, axis, reverse: x, element=_running_element(sp.Product),
        rule=Products(_cumprod_vjp, _cumprod_jvp), parts=_complex_products,
        batch=lambda n, _, x, axis, reverse: CUMPROD(x, axis=axis + 1, reverse=reverse),
        combine="multiply", fits=_fits),
    Code(source=_running_source("cumprod")),
    Words("running product along an axis"),
)  # fmt: skip
RECURRENCE: ArrayOp = define(
    Scan("Recurrence", evaluate=recurrence, params={"axis": AXIS, "reverse": FLAG},
        types=lambda a, b, **_: np.result_type(a, b), shape=lambda a, b, axis, reverse: b,
        element=_recurrence_element, rule=Products(_recurrence_vjp, _recurrence_jvp),
        batch=_recurrence_batch, combine="recurrence", fits=_fits),
    Code(source=lambda a, b, axis, reverse: f"recurrence({a}, {b}, {axis}, {reverse})",
        helpers=(recurrence,)),
    Words("linear recurrence r[i] = a[i]*r[i-1] + b[i] along an axis"),
)  # fmt: skip
