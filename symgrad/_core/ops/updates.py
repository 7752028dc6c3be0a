"""Ops that replace elements: regions written over, and who wrote a place last.

Assignment to traced arrays is made of them: a value never changes, so ``x[1:3] = v`` makes a
new array of the old one and ``v``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy as sp

from ..base.broadcast import show
from ..base.size_text import spell
from ..base.sizes import Shape, agree, as_dim, as_size
from ..op import (
    AXES,
    COUNT,
    FLAG,
    HALF,
    LENGTH,
    PLACE,
    REGIONS,
    SHAPE,
    ArrayOp,
    Assemble,
    Code,
    Linear,
    NoRule,
    Scatter,
    Words,
    define,
)
from .gathers import GATHER, counted, front, index_parts, lifted_indices, scatter_place
from .movement import BROADCAST, RESHAPE
from .np_common import iota
from .operands import alike, indexed
from .regions import SLICE, Region, element_within, index_text, overlapping, slices, whole

# ---------------------------------------------------------------- regions


def updated(base: Any, *pieces: tuple[Any, Any]) -> Any:
    """A copy of an array with each part written where its index says."""
    out = np.array(base)
    for index, part in pieces:
        out[index] = part
    return out


def _update(base: Any, *parts: Any, shape: Shape, regions: tuple[Region, ...]) -> Any:
    return updated(base, *zip(map(slices, regions[1:]), parts, strict=True))


def _update_element(
    index: Any, base: Any, *parts: Any, shape: Shape, regions: tuple[Region, ...]
) -> Any:
    pieces = [
        element_within(part, region, index, shape)
        for part, region in zip(parts, regions[1:], strict=True)
    ]
    return sp.Piecewise(*pieces, (base[tuple(index)], True))


def _update_place(k: int, index: Any, _: Any, shape: Shape, regions: Any) -> tuple[Any, ...]:
    rest = iter(index)
    return tuple(s if n is None else s + step * next(rest) for s, step, n in regions[k])


def _update_transpose(ct: Any, base: Any, *parts: Any, shape: Shape, regions: Any) -> Any:
    blank = [np.zeros_like(part, ct.dtype) for part in parts]  # guards are booleans
    return (
        UPDATE(ct, *blank, shape=shape, regions=regions),
        *(SLICE(ct, region=region) for region in regions[1:]),
    )


def _update_batch(size: Any, batched: Any, *operands: Any, shape: Shape, regions: Any) -> Any:
    full = [x if flag else BROADCAST(x, shape=(size, *x.shape))
            for x, flag in zip(operands, batched, strict=True)]  # fmt: skip
    wider = tuple((whole(size), *r) for r in regions)
    return UPDATE(*full, shape=(size, *shape), regions=wider)


def _update_source(base: Any, *parts: Any, shape: Shape, regions: tuple[Region, ...]) -> str:
    pieces = []
    for part, region in zip(parts, regions[1:], strict=True):
        index, flips = index_text(region, shape)
        value = f"{part}[{flips}]" if flips else str(part)
        pieces.append(f"(np.s_[{index or '...'}], {value})")
    return f"updated({', '.join([str(base), *pieces])})"


def _update_fits(node: Any) -> str | None:
    regions, shape = node.params["regions"], node.params["shape"]
    if regions[:1] != (tuple(map(whole, shape)),):
        return "the first region is not the whole array"
    return alike(node.operands, node.operands[0].dtype) or overlapping(regions[1:])


#: The first region is the whole array, whose part is what is written over.
UPDATE: ArrayOp = define(
    Assemble("Update", evaluate=_update, params={"shape": SHAPE, "regions": REGIONS},
        types=lambda base, *_, **__: base, shape=lambda *_, shape, regions: shape,
        element=_update_element, place=_update_place, rule=Linear(_update_transpose),
        batch=_update_batch, last=True, fits=_update_fits),
    Code(source=_update_source, helpers=(updated,)),
    Words("an array with regions written over, which do not overlap each other"),
)  # fmt: skip

# ---------------------------------------------------------------- the last writer


def written_last(numbers: Any, places: Any, size: Any) -> Any:
    """Return at each place the last number written there, 0 where there is none."""
    if np.any(places < 0):
        raise IndexError("a computed index is out of bounds for its axis")
    out = np.zeros(size, np.int64)
    for number, place in zip(numbers, places, strict=True):
        out[place] = number
    return out


def _writer_element(index: Any, numbers: Any, places: Any, axes: Any, shape: Shape) -> Any:
    k = sp.Dummy("k", integer=True, nonnegative=True)
    hit = sp.Eq(index[0], places[(k,)])
    term = sp.Piecewise((numbers[(k,)], hit), (0, True))
    return sp.Function("Max")(term, sp.Tuple(k, 0, places.shape[0] - 1))


def _writer_batch(
    size: Any, batched: Any, numbers: Any, places: Any, axes: Any, shape: Shape
) -> Any:
    rows = [
        WRITER(numbers[k] if batched[0] else numbers, places[k] if batched[1] else places,
               axes=axes, shape=shape)
        for k in range(int(size))
    ]  # fmt: skip
    return np.stack(rows)


def _writer_fits(node: Any) -> str | None:
    numbers, places = node.operands
    one = numbers.ndim == places.ndim == len(node.params["shape"]) == 1
    if not (one and agree(numbers.shape, places.shape)):
        return "the numbers and places of writing are not as many"
    return alike(node.operands, np.int64)


#: The numbers are 1, 2, ... in the order of writing, so the last one is the greatest.
WRITER: ArrayOp = define(
    Scatter("Writer",
        evaluate=lambda numbers, places, axes, shape: written_last(numbers, places, shape),
        params={"axes": AXES, "shape": LENGTH},
        types=lambda numbers, places, axes, shape: np.int64,
        shape=lambda numbers, places, axes, shape: shape, element=_writer_element,
        place=lambda _, index, operands, axes, shape: (operands[1][tuple(index)],),
        rule=NoRule("integer-valued"), batch=_writer_batch, last=True, fits=_writer_fits),
    Code(source=lambda numbers, places, axes, shape: (
        f"written_last({numbers}, {places}, {spell(shape)})"
    ),
        helpers=(written_last,)),
    Words("which of several assignments wrote each place last, 0 if none did"),
)  # fmt: skip

# ---------------------------------------------------------------- at computed places


def written_at(base: Any, index: Any, values: Any, add: bool = False) -> Any:
    """A copy of an array with values written, or added, at an index."""
    out = np.array(base)
    out[index] = out[index] + values if add else values
    return out


def _at(add: bool) -> Any:
    def evaluate(
        v: Any, base: Any, *indices: Any, axes: tuple[int, ...], at: int, shape: Shape
    ) -> Any:
        out, rank = np.array(base), np.ndim(indices[0])
        target, places = front(out, axes), counted(indices)
        moved = np.moveaxis(v, range(at, at + rank), range(rank))
        target[places] = target[places] + moved if add else moved
        return out

    return evaluate


def _at_element(add: bool) -> Any:
    def element(
        index: Any, v: Any, base: Any, *indices: Any, axes: tuple[int, ...], at: int, shape: Shape
    ) -> Any:
        ks = [sp.Dummy("k", integer=True, nonnegative=True) for _ in indices[0].shape]
        others = [i for k, i in enumerate(index) if k not in axes]
        hit = sp.And(*(sp.Eq(index[a], i[tuple(ks)]) for a, i in zip(axes, indices, strict=True)))
        value, before = v[(*others[:at], *ks, *others[at:])], base[tuple(index)]
        if not ks:
            return sp.Piecewise((before + value if add else value, hit), (before, True))
        limits = [(k, 0, n - 1) for k, n in zip(ks, indices[0].shape, strict=True)]
        change = value if add else value - before
        return before + sp.Sum(sp.Piecewise((change, hit), (0, True)), *limits)

    return element


def _at_batch(op: Any) -> Any:
    def batch(size: Any, batched: Any, *operands: Any, axes: Any, at: int, shape: Any) -> Any:
        (v, base, *indices), (flag, last, *own) = operands, batched
        v = v if flag else BROADCAST(v, shape=(size, *v.shape))
        base = base if last else BROADCAST(base, shape=(size, *base.shape))
        shifted, wider = tuple(a + 1 for a in axes), (size, *shape)
        if not any(own):
            return op()(v, base, *indices, axes=shifted, at=at + 1, shape=wider)
        lane, lifted = lifted_indices(size, (True, *own), base, indices)
        v = np.moveaxis(v, 0, at)
        return op()(v, base, lane, *lifted, axes=(0, *shifted), at=at, shape=wider)

    return batch


def _at_source(add: bool) -> Any:
    def source(
        v: Any, base: Any, *indices: Any, axes: tuple[int, ...], at: int, shape: Shape
    ) -> str:
        index, have, want = index_parts(indices, axes, at)
        values = v if have == want else f"np.moveaxis({v}, {want}, {have})"
        return f"written_at({base}, np.s_[{index}], {values}{', add=True' if add else ''})"

    return source


def _at_place(k: int, index: Any, operands: Sequence[Any], **params: Any) -> tuple[Any, ...]:
    v, _, *indices = operands
    return scatter_place(k, index, (v, *indices), **params)


def _put_transpose(
    ct: Any, v: Any, base: Any, *indices: Any, axes: Any, at: int, shape: Any
) -> Any:
    blank = np.zeros_like(v, ct.dtype)  # guards are booleans
    return (
        GATHER(ct, *indices, axes=axes, at=at),
        PUT(blank, ct, *indices, axes=axes, at=at, shape=shape),
        *(None for _ in indices),
    )


def _add_transpose(
    ct: Any, v: Any, base: Any, *indices: Any, axes: Any, at: int, shape: Any
) -> Any:
    return (GATHER(ct, *indices, axes=axes, at=at), ct, *(None for _ in indices))


def _at_fits(node: Any) -> str | None:
    v, base, *indices = node.operands
    if not agree(base.shape, node.params["shape"]):
        return f"the array that is written to has shape {show(base.shape)}"
    return alike([v], base.dtype) or indexed(node, v, base.shape, indices)


#: Both are for places that differ: those of one number for each axis, or of one in each row
#: of a batch.
PUT: ArrayOp = define(
    Scatter("Put", evaluate=_at(add=False), params={"axes": AXES, "at": PLACE, "shape": SHAPE},
        types=lambda v, base, *_, axes, at, shape: base, shape=lambda *_, axes, at, shape: shape,
        element=_at_element(add=False), place=_at_place, rule=Linear(_put_transpose, (0, 1)),
        batch=_at_batch(lambda: PUT), last=True, over=True, fits=_at_fits),
    Code(source=_at_source(add=False), helpers=(written_at,)),
    Words("an array with elements written over at positions given by integers"),
)  # fmt: skip
ADD_AT: ArrayOp = define(
    Scatter("AddAt", evaluate=_at(add=True), params={"axes": AXES, "at": PLACE, "shape": SHAPE},
        types=lambda v, base, *_, axes, at, shape: base, shape=lambda *_, axes, at, shape: shape,
        element=_at_element(add=True), place=_at_place, rule=Linear(_add_transpose, (0, 1)),
        batch=_at_batch(lambda: ADD_AT), over=True, fits=_at_fits),
    Code(source=_at_source(add=True), helpers=(written_at,)),
    Words("an array with values added at positions given by integers"),
)  # fmt: skip


# ---------------------------------------------------------------- several arrays, at their places


def spread(shape: Shape, alone: int, *operands: Any) -> Any:
    """Zeros with values at their places: those of the first ``alone`` arrays are no others'."""
    half = len(operands) // 2
    out = np.zeros(shape, operands[0].dtype)
    for k, (v, place) in enumerate(zip(operands[:half], operands[half:], strict=True)):
        if k < alone:
            out[counted((place,))] = v
        else:
            np.add.at(out, counted((place,)), v)
    return out


def _spread_element(index: Any, *operands: Any, alone: int, shape: Shape, **_: Any) -> Any:
    half = len(operands) // 2
    total: Any = sp.S.Zero
    for v, place in zip(operands[:half], operands[half:], strict=True):
        ks = tuple(sp.Dummy("k", integer=True, nonnegative=True) for _ in v.shape)
        term = sp.Piecewise((v[ks], sp.Eq(index[0], place[ks])), (0, True))
        limits = [(k, 0, n - 1) for k, n in zip(ks, v.shape, strict=True)]
        total = total + (sp.Sum(term, *limits) if limits else term)
    return total


def _spread_transpose(ct: Any, *operands: Any, **_: Any) -> tuple[Any, ...]:
    places = [place.astype(np.int64) for place in operands[len(operands) // 2 :]]
    return *(GATHER(ct, place, axes=(0,), at=0) for place in places), *(None for _ in places)


def _spread_batch(
    size: Any, batched: Any, *operands: Any, alone: int, shape: Any, whole: bool
) -> Any:
    half, [count] = len(operands) // 2, shape
    lifted = [
        x if flag else BROADCAST(x, shape=(size, *x.shape))
        for x, flag in zip(operands, batched, strict=True)
    ]
    for k, place in enumerate(lifted[half:], half):
        row = RESHAPE(iota(size, *operands), shape=(size, *(1,) * (len(place.shape) - 1)))
        lifted[k] = place + row * as_size(count)
    flat = SPREAD(*lifted, alone=alone, shape=(as_dim(size * count),), whole=whole)
    return RESHAPE(flat, shape=(size, count))


def _spread_fits(node: Any) -> str | None:
    half = len(node.operands) // 2
    values, places = node.operands[:half], node.operands[half:]
    if not half or len(places) != half or node.params["alone"] > half:
        return "it takes arrays, and as many arrays of their places"
    if len(node.params["shape"]) != 1:
        return "its result has one axis"
    for v, place in zip(values, places, strict=True):
        if not agree(v.shape, place.shape) or place.dtype.kind != "i":
            return "each array of values takes one of integers, of the same shape"
    return alike(values, values[0].dtype)


SPREAD: ArrayOp = define(
    Scatter("Spread",
        evaluate=lambda *xs, alone, shape, whole: spread(shape, alone, *xs),
        # ``whole``: those that are alone go everywhere, so that nothing has to be there before.
        params={"alone": COUNT, "shape": SHAPE, "whole": FLAG},
        shape=lambda *_, alone, shape, whole: shape,
        element=_spread_element,
        place=lambda k, index, operands, **_: (operands[len(operands) // 2 + k][tuple(index)],),
        rule=Linear(_spread_transpose, HALF),
        batch=_spread_batch, fits=_spread_fits),
    Code(source=lambda *operands, alone, shape, **_: (
        f"spread({spell(shape)}, {alone}, {', '.join(map(str, operands))})"
    ), helpers=(spread,)),
    Words("several arrays at places of a vector that are given by integers"),
)  # fmt: skip
