"""NumPy's functions that repeat, pad, reverse and rotate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import ArgumentError, ShapeError
from ..base.broadcast import normalize_axis
from ..base.sizes import as_dim, dim_product, require_length
from ..op import composite
from .np_common import (
    as_array,
    dims,
    full,
    holds_traced,
    is_traced,
    lengths,
    part,
    permute,
    reshaped,
    sizes,
    spread,
)
from .regions import ASSEMBLE

# ---------------------------------------------------------------- repeat and pad


@composite(np.tile)
def tile(A: Any, reps: Any) -> Any:
    """Repeat a whole array along its axes."""
    x, counts = as_array(A), lengths(reps)
    rank = max(x.ndim, len(counts))
    counts = (1,) * (rank - len(counts)) + counts
    shape = (1,) * (rank - x.ndim) + tuple(x.shape)
    x = reshaped(x, tuple(d for n in shape for d in (1, n)))
    x = spread(x, tuple(d for r, n in zip(counts, shape, strict=True) for d in (r, n)))
    return reshaped(x, tuple(r * n for r, n in zip(counts, shape, strict=True)))


@composite(np.repeat)
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    """Repeat each element; the counts are one number or a constant list."""
    if holds_traced(repeats) and not np.ndim(repeats) == 0:
        raise ArgumentError(
            "repeat: the counts decide the shape, so they cannot be traced. Write instead: "
            "x[places], where places = np.repeat(np.arange(len(x)), counts) is made outside and "
            "passed as an argument"
        )
    x = as_array(a)
    x, axis = (x, axis) if axis is not None else (np.ravel(x), 0)
    axis = normalize_axis(axis, x.ndim)
    if np.ndim(repeats):
        counts = np.asarray(repeats)
        n = int(x.shape[axis])
        return np.take(x, np.repeat(np.arange(n), counts), axis=axis)
    require_length(repeats)
    lead, n, rest = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    x = reshaped(x, (*lead, n, 1, *rest))
    return reshaped(spread(x, (*lead, n, repeats, *rest)), (*lead, n * repeats, *rest))


def _flipped_before(x: Any, axis: int, width: Any, skip: int) -> Any:
    return np.flip(part(x, axis, skip, width), axis)


def _flipped_after(x: Any, axis: int, width: Any, skip: int) -> Any:
    return np.flip(part(x, axis, x.shape[axis] - width - skip, width), axis)


def _edge(x: Any, axis: int, width: Any, at: Any) -> Any:
    shape = (*x.shape[:axis], width, *x.shape[axis + 1 :])
    return spread(part(x, axis, at, 1), shape)


#: For each mode: the parts before and after, and how much wider than the padding the
#: axis must be for one reflection (or copy) to do.
_MODES: dict[str, tuple[Callable[..., Any], Callable[..., Any], int]] = {
    "edge": (
        lambda x, k, w: _edge(x, k, w, 0),
        lambda x, k, w: _edge(x, k, w, x.shape[k] - 1),
        -1,
    ),
    "reflect": (
        lambda x, k, w: _flipped_before(x, k, w, 1),
        lambda x, k, w: _flipped_after(x, k, w, 1),
        1,
    ),
    "symmetric": (
        lambda x, k, w: _flipped_before(x, k, w, 0),
        lambda x, k, w: _flipped_after(x, k, w, 0),
        0,
    ),
    "wrap": (
        lambda x, k, w: part(x, k, x.shape[k] - w, w),
        lambda x, k, w: part(x, k, 0, w),
        0,
    ),
}


def _widths(value: Any, rank: int) -> list[tuple[Any, Any]]:
    """Return ``(before, after)`` for each axis from the forms that np.pad accepts."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        return [(value, value)] * rank
    rows = [v.tolist() if isinstance(v, np.ndarray) else v for v in value]
    if not any(isinstance(v, (list, tuple)) for v in rows):
        if len(rows) <= 2:
            return [(rows[0], rows[-1])] * rank
    else:
        pairs = [(v[0], v[-1]) for v in rows]
        if len(pairs) in {1, rank} and all(len(v) in {1, 2} for v in rows):
            return pairs if len(pairs) == rank else pairs * rank
    raise ShapeError(f"pad: cannot give {value} to the {rank} axes of the array")


#: The numbers that an axis is extended by, of its elements near the end.
_STATISTICS: dict[str, Callable[..., Any]] = {
    "maximum": np.max, "mean": np.mean, "median": np.median, "minimum": np.min,
}  # fmt: skip

#: The options of the modes that have any, with NumPy's defaults.
_OPTIONS: dict[str, tuple[str, Any]] = {
    "constant": ("constant_values", 0),
    "linear_ramp": ("end_values", 0),
    **dict.fromkeys(_STATISTICS, ("stat_length", None)),
    **dict.fromkeys(("reflect", "symmetric"), ("reflect_type", "even")),
}


@composite(np.pad)
def pad(array: Any, pad_width: Any, mode: str = "constant", **options: Any) -> Any:
    """Extend the axes by a constant, a ramp, the edge, statistics, reflections or copies."""
    x = as_array(array)
    widths = [lengths(pair) for pair in _widths(pad_width, x.ndim)]
    modes = sorted({*_OPTIONS, *_MODES})
    if mode not in modes:
        raise ArgumentError(f"pad: the mode {mode!r} is not traced; modes are {', '.join(modes)}")
    name, default = _OPTIONS.get(mode, ("", None))
    value = options.pop(name, default)
    if options:
        raise ArgumentError(f"pad: the mode {mode!r} takes no option {next(iter(options))!r}")
    if mode == "constant":
        return _pad_constant(x, widths, value)
    if mode == "linear_ramp":
        return _pad_ramp(x, widths, value)
    if mode in _STATISTICS:
        return _pad_statistic(x, widths, mode, value)
    if value not in (None, "even"):
        raise ArgumentError(f"pad: reflect_type={value!r} is not traced, 'even' is")
    before, after, margin = _MODES[mode]
    for axis, (left, right) in enumerate(widths):
        _refuse_empty(x, axis, (left, right))
        n = x.shape[axis]
        if margin < 0 or (left + margin <= n and right + margin <= n):
            ends = (before(x, axis, left), x, after(x, axis, right))
            x = np.concatenate([p for p, w in zip(ends, (left, n, right), strict=True)
                             if not isinstance(w, int) or w], axis)  # fmt: skip
        else:  # several reflections: NumPy finds the places
            x = np.take(x, np.pad(np.arange(int(n)), (int(left), int(right)), mode=mode), axis)
    return x


def _with_ends(x: Any, axis: int, ends: list[Any], pair: tuple[Any, Any]) -> Any:
    """Return an array with parts before and after it; of no elements there are none."""
    parts = ((ends[0], pair[0]), (x, 1), (ends[1], pair[1]))
    return np.concatenate([p for p, w in parts if not isinstance(w, int) or w], axis)


def _pad_ramp(x: Any, widths: list[tuple[Any, Any]], ends: Any) -> Any:
    for axis, (pair, values) in enumerate(zip(widths, _widths(ends, x.ndim), strict=True)):
        _refuse_empty(x, axis, pair)
        ramps = []
        for last, (width, end) in enumerate(zip(pair, values, strict=True)):
            along = tuple(width if k == axis else 1 for k in range(x.ndim))
            part = np.reshape(np.arange(int(width)) / max(int(width), 1), along)
            edge = _edge(x, axis, width, x.shape[axis] - 1 if last else 0)
            ramp = (end + (edge - end) * part).astype(x.dtype)
            ramps.append(np.flip(ramp, axis) if last else ramp)
        x = _with_ends(x, axis, ramps, pair)
    return x


def _pad_statistic(x: Any, widths: list[tuple[Any, Any]], mode: str, counts: Any) -> Any:
    """Extend by a statistic of so many elements at each end; None: of all."""
    for axis, (pair, most) in enumerate(zip(widths, _widths(counts, x.ndim), strict=True)):
        _refuse_empty(x, axis, pair)
        n, ends = x.shape[axis], []
        for k, (width, count) in enumerate(zip(pair, most, strict=True)):
            count = n if count is None else min(count, n)
            if isinstance(count, int) and count == 0 and mode in ("maximum", "minimum"):
                raise ArgumentError("pad: stat_length of 0 yields no value for padding")
            found = _STATISTICS[mode](
                part(x, axis, n - count if k else 0, count), axis=axis, keepdims=True
            )
            if x.dtype.kind in "iu":
                found = np.rint(found)
            ends.append(spread(found.astype(x.dtype), tuple(
                width if j == axis else d for j, d in enumerate(x.shape)
            )))  # fmt: skip
        x = _with_ends(x, axis, ends, pair)
    return x


def _refuse_empty(x: Any, axis: int, pair: tuple[Any, Any]) -> None:
    n = x.shape[axis]
    if isinstance(n, int) and n == 0 and pair != (0, 0):
        raise ShapeError(f"pad: axis {axis} is empty; only mode='constant' can extend it")


def _pad_constant(x: Any, widths: list[tuple[Any, Any]], constants: Any) -> Any:
    if not is_traced(constants) and not isinstance(constants, (tuple, list)) and constants == 0:
        shape = tuple(a + n + b for n, (a, b) in zip(x.shape, widths, strict=True))
        region = tuple((a, 1, n) for n, (a, _) in zip(x.shape, widths, strict=True))
        return (
            x
            if dims(x) == tuple(map(as_dim, shape))
            else ASSEMBLE(x, shape=shape, regions=(region,), disjoint=True)
        )
    if is_traced(constants) and constants.ndim:
        constants = [list(row) if row.ndim else row for row in constants]
    for axis, (pair, values) in enumerate(zip(widths, _widths(constants, x.ndim), strict=True)):
        ends = [
            full((*x.shape[:axis], w, *x.shape[axis + 1 :]), v, x.dtype, x)
            for w, v in zip(pair, values, strict=True)
        ]
        x = np.concatenate([ends[0], x, ends[1]], axis)
    return x


# ---------------------------------------------------------------- reverse and rotate


@composite(np.flip)
def flip(m: Any, axis: Any = None) -> Any:
    """Reverse the order along axes."""
    x = as_array(m)
    axes = range(x.ndim) if axis is None else sizes(axis)
    reverse = {normalize_axis(k, x.ndim) for k in axes}
    if not reverse:
        return x
    return x[tuple(slice(None, None, -1 if k in reverse else None) for k in range(x.ndim))]


@composite(np.flipud)
def flipud(m: Any) -> Any:
    """Reverse the order along the first axis."""
    return flip(m, 0)


@composite(np.fliplr)
def fliplr(m: Any) -> Any:
    """Reverse the order along the second axis."""
    return flip(m, 1)


@composite(np.rot90)
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """Turn by quarters in the plane of two axes."""
    x = as_array(m)
    i, j = (normalize_axis(a, x.ndim) for a in axes)
    if i == j:
        raise ShapeError(f"rot90: the axes {axes} must differ")
    quarter = k % 4
    if quarter == 0:
        return x
    if quarter == 2:
        return flip(x, (i, j))
    order = list(range(x.ndim))
    order[i], order[j] = j, i
    return permute(flip(x, j), order) if quarter == 1 else flip(permute(x, order), j)


@composite(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Move elements along axes; those that leave at the end come back at the start."""
    x = as_array(a)
    if axis is None:
        return reshaped(roll(reshaped(x, (dim_product(dims(x)),)), shift, 0), x.shape)
    axes, shifts = sizes(axis), sizes(shift)
    if len(axes) != len(shifts) and 1 not in {len(axes), len(shifts)}:
        raise ShapeError(f"roll: {len(shifts)} shifts for {len(axes)} axes")
    count = max(len(axes), len(shifts))
    totals: dict[int, Any] = {}
    for k in range(count):
        place = normalize_axis(axes[k % len(axes)], x.ndim)
        totals[place] = totals.get(place, 0) + shifts[k % len(shifts)]
    for place, total in totals.items():
        x = _roll(x, total, place)
    return x


def _roll(x: Any, shift: Any, axis: int) -> Any:
    n = x.shape[axis]
    if isinstance(n, int) and n == 0:
        return x
    if shift == 0:
        return x
    forward = shift > 0
    distance = shift if forward else -shift
    if not distance < n:
        return _roll(x, int(shift % n), axis)
    cut = n - distance if forward else distance
    return np.concatenate([part(x, axis, cut, n - cut), part(x, axis, 0, cut)], axis)
