"""Interpolation, convolution, and differences and integrals on a grid."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...errors import ArgumentError, DTypeError, ShapeError, TraceError, UnsupportedError
from ..base.broadcast import normalize_axis, show
from ..base.sizes import Size, require_length, under
from ..op import composite
from .gathers import GATHER, SCATTER
from .np_common import (
    as_array,
    as_float,
    common_type,
    conjugated,
    dims,
    equal,
    iota,
    is_traced,
    lift,
    reshaped,
    section,
    sizes,
    spread,
)
from .np_sorting import count_below

# ---------------------------------------------------------------- interpolation


@composite(np.interp, convention="at a point of the table the derivative of the piece to the right")
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None,
           period: Any = None) -> Any:  # fmt: skip
    """Piecewise linear interpolation in a table."""
    x, xp, fp = (as_float(as_array(v)).astype(np.float64) for v in (x, xp, fp))
    if xp.ndim != 1 or fp.ndim != 1:
        raise ShapeError("interp: the points and the values of the table must be vectors")
    if not equal(xp.shape[0], fp.shape[0]) or under(xp.shape[0], 1):
        raise ShapeError(
            "interp: a table has as many values as points, one at least, not "
            f"{show(dims(fp))} and {show(dims(xp))}"
        )
    if period is not None:
        x, xp = x % period, xp % period
        order = np.argsort(xp)
        xp, fp = xp[order], fp[order]
        xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = np.concatenate([fp[-1:], fp, fp[:1]])
        left = right = None
    x, xp, fp = lift(x, xp, fp), lift(xp, x, fp), lift(fp, x, xp)
    n = xp.shape[0]
    below = count_below(xp, x, "right") - 1
    k = np.clip(below, 0, n - 2 if n > 1 else 0)
    x0, f0 = xp[k], fp[k]
    last = fp[n - 1]
    if n > 1:
        slope = (fp[k + 1] - f0) / (xp[k + 1] - x0)
        f0 = np.where(x < xp[n - 1], slope * (x - x0) + f0, last)
    y = np.where(x < xp[0], fp[0] if left is None else left, f0)
    y = np.where(x > xp[n - 1], last if right is None else right, y)
    return np.where(x != x, x, y)


# ---------------------------------------------------------------- convolution


def _windows(a: Any, v: Any, mode: str, name: str) -> Any:
    """Return ``sum(a[i + k - m + 1]*v[k])`` over the elements of ``a``, no shorter than ``v``."""
    n, m = a.shape[0], v.shape[0]
    before = {"full": m - 1, "same": m // 2, "valid": 0}.get(mode)
    if before is None:
        raise ArgumentError(f"{name}: mode is 'full', 'same' or 'valid', not {mode!r}")
    after = {"full": m - 1, "same": m - 1 - m // 2, "valid": 0}[mode]
    place = iota(n - m + 1, a, v)[:, None] + iota(m, a, v)[None, :]
    inner = np.einsum("ij,j->i", GATHER(lift(a, place), place, axes=(0,), at=0), v)
    if mode == "valid":
        return inner
    left = _end(np.pad(a[: m - 1], (before, 0)), v, before, lambda place: place >= before)
    right = _end(np.pad(a[n - m + 1 :], (0, after)), v, after, lambda place: place < m - 1)
    return np.concatenate([left, inner, right])


def _end(a: Any, v: Any, count: Any, inside: Any) -> Any:
    """Return the sums of ``count`` windows, of whose elements some are not of the vector.

    They are left out, not 0: a weight there may be infinite.
    """
    place = iota(count, a, v)[:, None] + iota(v.shape[0], a, v)[None, :]
    windows = GATHER(lift(a, place), place, axes=(0,), at=0)
    return np.einsum("ij->i", np.where(inside(place), windows * v, 0).astype(v.dtype))


def _vectors(a: Any, v: Any, name: str) -> tuple[Any, Any]:
    a, v = common_type([as_array(a), as_array(v)])
    if a.ndim != 1 or v.ndim != 1:
        raise ShapeError(f"{name} takes vectors, not arrays of {a.ndim} and {v.ndim} axes")
    if under(a.shape[0], 1) or under(v.shape[0], 1):
        raise ShapeError(f"{name} of a vector that is empty")
    return lift(a, v), lift(v, a)


@composite(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Convolution of two vectors."""
    a, v = _vectors(np.atleast_1d(as_array(a)), np.atleast_1d(as_array(v)), "convolve")
    a, v = (a, v) if a.shape[0] >= v.shape[0] else (v, a)
    return _windows(a, v[::-1], mode, "convolve")


@composite(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """Correlation of two vectors."""
    a, v = _vectors(a, v, "correlate")
    if a.shape[0] >= v.shape[0]:
        return _windows(a, conjugated(v), mode, "correlate")
    return conjugated(_windows(v, conjugated(a), mode, "correlate"))[::-1]


# ---------------------------------------------------------------- windows

#: Windows up to this length are slices side by side, which LLVM reads as they lie; longer ones,
#: of which there would be long programs, are taken by index.
SLICED = 8


@composite(np.lib.stride_tricks.sliding_window_view, name="lib.stride_tricks.sliding_window_view")
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """Windows that slide along axes, side by side."""
    if writeable:
        raise UnsupportedError(
            "sliding_window_view(..., writeable=True): windows that are written to would change "
            "each other. Leave writeable= out, and write to x"
        )
    x, widths = as_array(x), sizes(window_shape)
    axes = range(x.ndim) if axis is None else [normalize_axis(k, x.ndim) for k in sizes(axis)]
    if len(widths) != len(axes):
        raise ShapeError(
            f"sliding_window_view: {len(widths)} lengths of windows for {len(axes)} axes"
        )
    for k, width in zip(axes, widths, strict=True):
        x = _windows_along(x, k, width if isinstance(width, Size) else operator.index(width))
    return x


def _windows_along(x: Any, axis: int, width: Any) -> Any:
    """Return windows along one axis, their elements along a last axis."""
    moved = np.moveaxis(x, axis, -1)
    if width < 0 or moved.shape[-1] < width:
        raise ShapeError(
            f"sliding_window_view: windows of {width} elements along an axis of {x.shape[axis]}"
        )
    count = moved.shape[-1] - width + 1
    if isinstance(width, int) and 0 < width <= SLICED:
        windows = np.stack([moved[..., k : k + count] for k in range(width)], axis=-1)
    else:
        place = iota(count, x)[:, None] + iota(width, x)[None, :]
        last = moved.ndim - 1
        windows = GATHER(lift(moved, place), place, axes=(last,), at=last)
    return np.moveaxis(windows, -2, axis)


# ---------------------------------------------------------------- differences on a grid


@composite(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Differences on a grid: central inside, one-sided at the edges."""
    values = as_array(f)
    if values.dtype == np.bool_:
        raise DTypeError(
            "gradient: truth values have no differences. Write instead: .astype(float)"
        )
    x = as_float(values)
    given = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = [normalize_axis(k, x.ndim) for k in given]
    if edge_order not in (1, 2):
        raise ArgumentError(f"gradient: edge_order is 1 or 2, not {edge_order!r}")
    if len(varargs) not in (0, 1, len(axes)):
        raise ArgumentError(f"gradient: one spacing, or one for each of {len(axes)} axes")
    spacings = varargs * len(axes) if len(varargs) == 1 else varargs or (1.0,) * len(axes)
    found = [
        _slopes(x, k, h if type(h) in (int, float) else as_array(h), edge_order).astype(x.dtype)
        for k, h in zip(axes, spacings, strict=True)
    ]
    return found[0] if len(found) == 1 else tuple(found)


def _slopes(x: Any, axis: int, spacing: Any, edge_order: int) -> Any:
    y = np.moveaxis(x, axis, -1)
    n = y.shape[-1]
    if n < edge_order + 1:
        raise ShapeError(f"gradient: axis {axis} needs at least {edge_order + 1} elements")
    middle, left, right = y[..., 1:-1], y[..., :-2], y[..., 2:]
    if np.ndim(spacing) == 0:
        a = b = spacing
        inner = (right - left) / (2.0 * spacing)
        ends = [(spacing, spacing), (spacing, spacing)]
    else:
        steps = np.diff(spacing)
        a, b = steps[:-1], steps[1:]
        inner = (right * a**2 + (b**2 - a**2) * middle - left * b**2) / (a * b * (a + b))
        if edge_order == 1:
            ends = [(steps[0], steps[0]), (steps[n - 2], steps[n - 2])]
        else:
            ends = [(steps[0], steps[1]), (steps[n - 2], steps[n - 3])]
    edges = [_edge(y[..., :3], *ends[0], edge_order), -_edge(y[..., ::-1][..., :3], *ends[1],
                                                            edge_order)]  # fmt: skip
    return np.moveaxis(np.concatenate([edges[0], inner, edges[1]], axis=-1), -1, axis)


def _edge(y: Any, a: Any, b: Any, order: int) -> Any:
    """The slope at the first of some elements, with a leading step a and the next step b."""
    first, second = y[..., :1], y[..., 1:2]
    if order == 1:
        return (second - first) / a
    weights = -(2.0 * a + b) / (a * (a + b)), (a + b) / (a * b), -a / (b * (a + b))
    return weights[0] * first + weights[1] * second + weights[2] * y[..., 2:3]


@composite(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Any:
    """Add whole periods so that neighbours differ by less than half of one."""
    given = as_array(p)
    x = as_float(given)
    axis = normalize_axis(axis, x.ndim)
    jump = as_float(np.diff(given, axis=axis))
    half = period / 2
    folded = np.mod(jump + half, period) - half
    folded = np.where((folded == -half) & (jump > 0), half, folded)
    limit = half if discont is None else np.maximum(discont, half)
    correction = np.where(np.abs(jump) < limit, 0.0, folded - jump)
    rest = section(x, axis, 1, None) + np.cumsum(correction, axis=axis)
    return np.concatenate([section(x, axis, None, 1), rest], axis)


def _shifts(name: str, sign: int) -> None:
    def shift(x: Any, axes: Any = None) -> Any:
        x = as_array(x)
        given = range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
        places = [normalize_axis(k, x.ndim) for k in given]
        by = [x.shape[k] // 2 if sign > 0 else -(x.shape[k] // 2) for k in places]
        return np.roll(x, by, places)

    shift.__doc__ = "Move the zero frequency to the middle." if sign > 0 else (
        "Move the zero frequency back to the front.")  # fmt: skip
    composite(getattr(np.fft, name), name=f"fft.{name}")(shift)


_shifts("fftshift", 1)
_shifts("ifftshift", -1)


# ---------------------------------------------------------------- counting


@composite(np.bincount, convention="of traced positions minlength, if given, is the length")
def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """Count positions, or add weights at them."""
    x = as_array(x)
    if x.ndim != 1:
        raise ShapeError(f"bincount takes a vector of positions, not {x.ndim} axes")
    if x.dtype.kind not in "iub":
        raise ArgumentError(f"bincount: positions are integers, not {x.dtype}")
    require_length(minlength)
    length: Any = minlength
    if not is_traced(x):
        length = max(int(x.max()) + 1 if x.size else 0, minlength)
    if under(x.shape[0], 1):
        return np.zeros(length, np.int64)
    if is_traced(x) and not minlength:
        try:
            length = int(np.max(x)) + 1  # of the example, by a guard
        except TraceError:
            raise ArgumentError(
                "bincount: how many counts there are would depend on the values of traced "
                "positions: give minlength=, which is then the length of the result"
            ) from None
    w = np.ones_like(x, np.int64) if weights is None else as_float(as_array(weights)).astype("f8")
    return SCATTER(lift(w, x), lift(x.astype(np.int64), w), axes=(0,), at=0, shape=(length,))


# ---------------------------------------------------------------- differences


@composite(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours along an axis."""
    x = as_array(a)
    if x.ndim == 0:
        raise ShapeError("diff takes arrays with at least one axis")
    if n < 0:
        raise ArgumentError(f"diff: the order must not be negative, got {n}")
    axis = normalize_axis(axis, x.ndim)
    if n == 0:
        return x
    edge = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    ends = [None if v is None else as_array(v) for v in (prepend, append)]
    before, after = (spread(v, edge, x) if v is not None and v.ndim == 0 else v for v in ends)
    x = np.concatenate([p for p in (before, x, after) if p is not None], axis)
    for _ in range(n):
        above, below = section(x, axis, 1, None), section(x, axis, None, -1)
        x = above != below if x.dtype == np.bool_ else above - below
    return x


@composite(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of neighbours of the elements as a vector."""
    x = np.ravel(as_array(ary))
    ends = [None if v is None else np.ravel(as_array(v)) for v in (to_begin, to_end)]
    for end in ends:
        if end is not None and not np.can_cast(end.dtype, x.dtype, "same_kind"):
            raise DTypeError(f"ediff1d: ends of {end.dtype} do not go with {x.dtype}")
    first, last = (None if end is None else end.astype(x.dtype) for end in ends)
    parts = [first, x[1:] - x[:-1], last]
    return np.concatenate([p for p in parts if p is not None])


@composite(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integral along an axis by the trapezoidal rule."""
    v = as_array(y)
    axis = normalize_axis(axis, v.ndim)
    if x is None:
        step = dx
    else:
        at = as_array(x)
        step = np.diff(at, axis=axis) if at.ndim > 1 else np.diff(at)
        if at.ndim == 1:
            step = reshaped(step, tuple(step.shape[0] if k == axis else 1 for k in range(v.ndim)))
    above, below = section(v, axis, 1, None), section(v, axis, None, -1)
    return np.sum(step * (above + below) / 2.0, axis=axis)
