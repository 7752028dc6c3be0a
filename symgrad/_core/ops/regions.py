"""Slice and assemble: ops that read and write regions of arrays.

Both are linear, and each other's transposes: a slice reads a region, an assembly writes its parts
into regions of a zero array. Concatenation, padding, stacking and the adjoint of ``x[i]`` are all
assemblies.

A *region* has one entry ``(start, step, size)`` for each axis, size None (and step 1) where an
integer index drops the axis.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations, islice
from typing import Any

import numpy as np
import sympy as sp

from ..base.size_text import size_text, spell
from ..base.sizes import Dimension, Shape, dim_expand, hint
from ..op import (
    DISJOINT,
    REGION,
    REGIONS,
    SHAPE,
    ArrayOp,
    Assemble,
    Code,
    Linear,
    View,
    Words,
    define,
)
from .movement import BROADCAST
from .operands import alike

Region = tuple[tuple[Any, int, Any], ...]


def slices(region: Region) -> tuple[Any, ...]:
    """Return the NumPy index that selects ``region`` (its numbers must be concrete)."""
    index: list[Any] = []
    for start, step, size in region:
        if size is None:
            index.append(start)
        elif size == 0:
            index.append(slice(0, 0))
        else:
            stop = start + step * size
            index.append(slice(start, stop if stop >= 0 else None, step))
    return tuple(index)


def whole(size: Any) -> tuple[int, int, Any]:
    """Return the region entry that takes a whole axis."""
    return (0, 1, size)


def index_text(region: Region, shape: Shape) -> tuple[str, str]:
    """Return the text of the index of ``region`` in an array, and of what reverses axes.

    Axes with a negative step are read forwards and reversed after: the stop of a backward
    slice may be -1, which Python would count from the end.
    """
    index: list[str] = []
    flips: list[str] = []
    for (start, step, size), extent in zip(region, shape, strict=True):
        if size is None:
            index.append(size_text(start))
            continue
        backward = step < 0
        # A bounded region of no elements may start anywhere; nothing follows from it.
        low = dim_expand(start + step * (size - 1)) if backward else start
        high = dim_expand(start + 1 if backward else start + step * size)
        full = dim_expand(extent)
        begin = "" if low == 0 else size_text(low)
        # The last step of a forward slice may end beyond the axis.
        end = "" if high == full else size_text(high)
        stride = "" if abs(step) == 1 else f":{abs(step)}"
        index.append(f"{begin}:{end}{stride}")
        flips.append("::-1" if backward else ":")
    return _plain(index), _plain(flips)


def _plain(entries: list[str]) -> str:
    """Join index entries without whole axes at the end, which need not be named."""
    while entries and entries[-1] == ":":
        entries = entries[:-1]
    return ", ".join(entries)


def _slice_source(x: Any, region: Region) -> str:
    parts = [part for part in index_text(region, x.shape) if part]
    return "".join([str(x), *(f"[{part}]" for part in parts or ["..."])])


# ---------------------------------------------------------------- ops


SLICE: ArrayOp = define(
    View("Slice", evaluate=lambda x, region: x[slices(region)], params={"region": REGION},
        shape=lambda x, region: tuple(n for _, _, n in region if n is not None),
        element=lambda index, x, region: x[_inside(index, region)],
        rule=Linear(lambda ct, x, region: (
            ASSEMBLE(ct, shape=x.shape, regions=(region,), disjoint=True),
        )),
        support=lambda mask, x, region: (
            ASSEMBLE(mask, shape=x.shape, regions=(region,), disjoint=True),
        ),
        batch=lambda size, _, x, region: SLICE(x, region=(whole(size), *region))),
    Code(source=_slice_source),
    Words("read a region: integer indices and slices with steps"),
)  # fmt: skip


def placed(shape: Shape, *pieces: tuple[Any, Any]) -> Any:
    """Zeros with each part written where its index says."""
    out = np.zeros(shape, np.result_type(*[part for _, part in pieces]))
    for index, part in pieces:
        out[index] = part
    return out


def added(shape: Shape, *pieces: tuple[Any, Any]) -> Any:
    """Zeros with each part added where its index says; a first one of all places replaces them."""
    out = np.zeros(shape, np.result_type(*[part for _, part in pieces]))
    for number, (index, part) in enumerate(pieces):
        if number == 0 and np.shape(part) == out.shape:
            out[index] = part
        else:
            out[index] += part
    return out


def _assemble(*parts: Any, shape: Shape, regions: tuple[Region, ...], disjoint: bool) -> Any:
    pieces = zip(map(slices, regions), parts, strict=True)
    return placed(shape, *pieces) if disjoint else added(shape, *pieces)


def _joined(parts: Any, shape: Shape, regions: tuple[Region, ...]) -> str | None:
    """Return the assembly as a concatenation or a stack along one axis, if it is one."""
    for axis, extent in enumerate(shape):
        others = [r[:axis] + r[axis + 1 :] for r in regions]
        rest = [whole(n) for k, n in enumerate(shape) if k != axis]
        if any(list(r) != rest for r in others):
            continue
        places = [r[axis] for r in regions]
        if places == [(k, 1, None) for k in range(len(parts))] and extent == len(parts):
            return f"np.stack({_tuple(parts)}, axis={axis})"
        row = _row([(start, size) if step == 1 else None for start, step, size in places], extent)
        if row is not None:
            return f"np.concatenate({_tuple(parts[k] for k in row)}, axis={axis})"
    return None


def _row(places: list[Any], extent: Dimension) -> list[int] | None:
    """Return the order in which ranges ``(start, size)`` fill an axis without a gap."""
    if any(p is None or p[1] is None for p in places):
        return None
    starts = {dim_expand(start): k for k, (start, _) in enumerate(places)}
    row: list[int] = []
    at: Any = 0
    while at in starts and len(row) < len(places):
        k = starts.pop(at)
        row.append(k)
        at = dim_expand(at + places[k][1])
    return row if len(row) == len(places) and at == dim_expand(extent) else None


def _tuple(items: Iterable[Any]) -> str:
    texts = [str(x) for x in items]
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def _assemble_source(*parts: Any, shape: Shape, regions: tuple[Region, ...], disjoint: bool) -> str:
    joined = _joined(parts, shape, regions) if disjoint else None
    if joined is not None:
        return joined
    pieces = []
    for part, region in zip(parts, regions, strict=True):
        index, flips = index_text(region, shape)
        value = f"{part}[{flips}]" if flips else str(part)
        pieces.append(f"(np.s_[{index or '...'}], {value})")
    name = "placed" if disjoint else "added"
    return f"{name}({spell(shape)}, {', '.join(pieces)})"


def element_within(part: Any, region: Region, index: Any, shape: Shape) -> tuple[Any, Any]:
    """Return the element of ``part`` that lies at ``index`` of the whole, and whether one does."""
    inside: list[Any] = []
    position: list[Any] = []
    for i, (start, step, size), extent in zip(index, region, shape, strict=True):
        if size is None:
            inside.append(sp.Eq(i, start))
        elif start == 0 and step == 1 and size == extent:
            position.append(i)
        else:
            offset = (i - start) * (1 if step > 0 else -1)
            if abs(step) != 1:
                inside.append(sp.Eq(sp.Mod(offset, abs(step)), 0))
                offset = sp.floor(offset / abs(step))
            inside += [offset >= 0, offset < size]
            position.append(offset)
    return part[tuple(position)], sp.And(*inside)


def _assemble_element(
    index: Any, *parts: Any, shape: Shape, regions: tuple[Region, ...], disjoint: bool
) -> Any:
    pieces = [
        element_within(part, region, index, shape)
        for part, region in zip(parts, regions, strict=True)
    ]
    if disjoint:
        return sp.Piecewise(*pieces, (0, True))
    return sp.Add(*(sp.Piecewise(piece, (0, True)) for piece in pieces))


def _inside(index: Any, region: Region) -> tuple[Any, ...]:
    """Where an element of a part lies in the whole."""
    rest = iter(index)
    return tuple(s if n is None else s + step * next(rest) for s, step, n in region)


def _assemble_batch(size: Any, batched: Any, *parts: Any, shape: Shape, regions: Any,
                    disjoint: bool) -> Any:  # fmt: skip
    full = [p if b else BROADCAST(p, shape=(size, *p.shape))
            for p, b in zip(parts, batched, strict=True)]  # fmt: skip
    return ASSEMBLE(
        *full,
        shape=(size, *shape),
        regions=tuple((whole(size), *r) for r in regions),
        disjoint=disjoint,
    )


def _assemble_merge(calls: list[tuple[tuple[Any, ...], dict[str, Any]]]) -> Any:
    parts = tuple(p for operands, _ in calls for p in operands)
    regions = tuple(r for _, params in calls for r in params["regions"])
    return parts, {"shape": calls[0][1]["shape"], "regions": regions,
                   "disjoint": _apart(regions)}  # fmt: skip


def within(outer: Region, inner: Region) -> Region:
    """Return the region of the whole that is ``inner`` of what lies in ``outer``."""
    rest = iter(inner)
    found: list[Any] = []
    for start, step, size in outer:
        if size is None:
            found.append((start, 1, None))
            continue
        begin, by, count = next(rest)
        # Regions are compared, so one place has one form: a single one has no step.
        found.append((dim_expand(start + step * begin), 1 if count is None else step * by, count))
    return tuple(found)


#: More regions than this are compared only if they are single elements.
MOST_COMPARED = 64


def _apart(regions: tuple[Region, ...]) -> bool:
    """Tell whether no two regions have an element in common, as far as numbers show it."""
    places = [tuple(start for start, _, _ in region) for region in regions]
    single = all(size is None for region in regions for _, _, size in region)
    if single and all(isinstance(start, int) for place in places for start in place):
        return len(set(places)) == len(places)
    if len(regions) > MOST_COMPARED:
        return False
    spans = [tuple(map(_span, region)) for region in regions]
    return all(
        any(x is not None and y is not None and (x[1] < y[0] or y[1] < x[0])
            for x, y in zip(one, other, strict=True))
        for one, other in combinations(spans, 2)
    )  # fmt: skip


def _span(entry: tuple[Any, int, Any]) -> tuple[int, int] | None:
    """Return the least and the greatest index of a region along an axis, if they are numbers."""
    start, step, size = entry
    if not isinstance(start, int) or not isinstance(size, int | None):
        return None
    last = start if size is None else start + step * (size - 1)
    return min(start, last), max(start, last)


def overlapping(regions: Sequence[Region]) -> str | None:
    """Say which of some regions have an element in common in the example call."""
    spans = [tuple(map(_places, region)) for region in regions]
    spans = [span for span in spans if all(map(len, span))]
    if len(set(spans)) < len(spans):
        return "two of its regions are the same"
    if all(len(places) == 1 for span in spans for places in span):
        return None
    # Those that lie apart along an axis are not compared with each other.
    axis = max(
        range(len(spans[0])), key=lambda k: len({(s[k][0], s[k][-1]) for s in spans}), default=0
    )
    spans.sort(key=lambda s: min(s[axis][0], s[axis][-1]))
    for number, one in enumerate(spans):
        end = max(one[axis][0], one[axis][-1])
        for other in islice(spans, number + 1, None):
            if min(other[axis][0], other[axis][-1]) > end:
                break
            if all(map(_meet, one, other)):
                return "two of its regions overlap"
    return None


def _places(entry: tuple[Any, int, Any]) -> range:
    start, step, size = entry
    first, count = hint(start), 1 if size is None else hint(size)
    return range(first, first + step * count, step)


def _meet(a: range, b: range) -> bool:
    """Tell whether two arithmetic progressions have a number in common."""
    a, b = (r if r.step > 0 else r[::-1] for r in (a, b))
    common = math.gcd(a.step, b.step)
    if (b[0] - a[0]) % common:
        return False
    # The least number of a from b's first on that is one of b's, by the inverse of a's step.
    period = b.step // common
    turns = (b[0] - a[0]) // common * pow(a.step // common, -1, period) % period
    low = max(a[0], b[0])
    first = a[0] + turns * a.step
    whole_period = period * a.step
    first += -(-(low - first) // whole_period) * whole_period
    return first <= min(a[-1], b[-1])


def _assemble_fits(node: Any) -> str | None:
    wrong = alike(node.operands, node.operands[0].dtype)
    return wrong or (overlapping(node.params["regions"]) if node.params["disjoint"] else None)


ASSEMBLE: ArrayOp = define(
    Assemble("Assemble", evaluate=_assemble,
        params={"shape": SHAPE, "regions": REGIONS, "disjoint": DISJOINT},
        types=lambda *dtypes, **_: np.result_type(*dtypes),
        shape=lambda *_, shape, regions, disjoint: shape, element=_assemble_element,
        place=lambda k, index, _, shape, regions, disjoint: _inside(index, regions[k]),
        rule=Linear(lambda ct, *parts, shape, regions, disjoint: tuple(
            SLICE(ct, region=region) for region in regions
        )),
        batch=_assemble_batch, merge=_assemble_merge, fits=_assemble_fits),
    Code(source=_assemble_source, helpers=(placed, added)),
    Words("write the operands into regions of a zero array, adding where they overlap"),
)  # fmt: skip
