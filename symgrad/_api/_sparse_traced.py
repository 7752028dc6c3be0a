"""Sparse derivatives inside of a trace: patterns are numbers, the data steps of the trace.

What a trace makes of a matrix's data needs to know their places: a factorisation is called with
them, a product sums by them. So the pattern is found while tracing, from sizes, which are then
fixed by guards as by ``int(n)``, and from index arrays that are numbers there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import numpy as traced_numpy
from .._ops.updates import SPREAD
from .._trace import Traced, as_node
from ._parts import Part
from ._placed import FEW, MANY
from ._plan import SMALL


def data_of(parts: Sequence[Part], values: Sequence[Any], lead: tuple[int, ...]) -> list[Any]:
    """Return the data of derivatives, each made of values of the trace and of those before it.

    Parameters
    ----------
    parts:
        The derivatives, each behind those whose data it multiplies.
    values:
        The traced values of all blocks over their lanes.
    lead:
        The length of the leading axis that all values have under vmap, if any.
    """
    found: list[Any] = []
    for part in parts:
        dtype = part.pattern.dtype
        own = zip(part.recipe.blocks, part.places, strict=False)
        if not lead and not part.recipe.products and part.pattern.nnz:
            found.append(_spread(part, [values[k].astype(dtype) for k, _ in own]))
            continue
        pieces = [np.reshape(values[k], (*lead, len(places))).astype(dtype) for k, places in own]
        pairs = iter(part.pairs)
        for (left, right), p, q in zip(part.recipe.products, pairs, pairs, strict=True):
            pieces.append(found[left][..., p] * found[right][..., q])
        found.append(_placed(part, pieces, lead))
    return found


def _spread(part: Part, values: Sequence[Any]) -> Any:
    """Return all blocks at their places; each loop writes its own."""
    nnz, rest, alone = part.pattern.nnz, part.recipe.rest, len(part.recipe.alone)
    word = np.int32 if nnz <= SMALL else np.int64
    pieces, places = [], []
    for k in part.recipe.order:
        value, place = values[k], part.places[k]
        kept = np.flatnonzero(place >= 0)
        if len(kept) < len(place):
            value, place = np.reshape(value, (len(place),))[kept], place[kept]
        pieces.append(value)
        places.append(np.reshape(Traced(as_node(place.astype(word))), value.shape))
    if rest == FEW:
        pieces.insert(alone, traced_numpy.zeros(len(part.rest), part.pattern.dtype))
        places.insert(alone, Traced(as_node(part.rest.astype(word))))
        alone += 1
    return SPREAD(*pieces, *places, alone=alone, shape=(nnz,), whole=rest != MANY)


def _placed(part: Part, pieces: Sequence[Any], lead: tuple[int, ...]) -> Any:
    """Return all pieces at their places, those of one place added."""
    nnz, dtype = part.pattern.nnz, part.pattern.dtype
    if not pieces:
        return traced_numpy.zeros((*lead, nnz), dtype)
    flat, places = np.concatenate(pieces, axis=-1), np.concatenate(part.places)
    kept = np.flatnonzero(places >= 0)
    if len(kept) < len(places):
        flat, places = flat[..., kept], places[kept]
    if len(places) == nnz:
        return flat if np.all(np.diff(places) == 1) else flat[..., np.argsort(places)]
    total = traced_numpy.zeros((nnz, *lead), dtype)
    np.add.at(total, places, np.moveaxis(flat, -1, 0))
    return np.moveaxis(total, 0, -1)
