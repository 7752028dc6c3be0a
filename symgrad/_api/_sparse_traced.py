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
from ._plan import Part


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
        pieces = []
        for k, places in zip(part.recipe.blocks, part.places, strict=False):
            pieces.append(np.reshape(values[k], (*lead, len(places))).astype(part.pattern.dtype))
        pairs = iter(part.pairs)
        for (left, right), p, q in zip(part.recipe.products, pairs, pairs, strict=True):
            pieces.append(found[left][..., p] * found[right][..., q])
        found.append(_placed(part, pieces, lead))
    return found


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
