"""Data in chunks along their rows: what Dask's collections consist of, and whether they fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import dask
import dask.array as da
from dask.base import is_dask_collection
from dask.core import flatten as keys_in
from dask.delayed import Delayed

from ..errors import ArgumentError, ShapeError


class Chunks(NamedTuple):
    """One argument's chunks: their keys, in whose graphs they are, and their rows if known."""

    keys: list[Any]
    collections: list[Any]
    sizes: tuple[float, ...] | None


def chunks_of(value: Any, what: str) -> Chunks:
    """Return the chunks of a dask array, a dataframe or a list of delayed chunks."""
    if isinstance(value, da.Array):
        if value.ndim == 0:
            raise ShapeError(f"{what} has no axes: data are arrays with rows")
        for axis in range(1, value.ndim):
            if value.numblocks[axis] > 1:
                others = ", ".join(f"{k}: -1" for k in range(1, value.ndim))
                raise ShapeError(
                    f"{what} is in chunks along axis {axis}, too ({value.numblocks[axis]} of "
                    "them); chunks consist of whole rows. Write "
                    f"x.rechunk({{0: 'auto', {others}}})"
                )
        return Chunks(list(keys_in(value.__dask_keys__())), [value], value.chunks[0])
    if isinstance(value, (list, tuple)) and value and all(map(_is_delayed, value)):
        parts = [x if isinstance(x, Delayed) else dask.delayed(x) for x in value]
        return Chunks([x.key for x in parts], parts, None)
    if is_dask_collection(value) and hasattr(type(value), "npartitions"):
        optimize = getattr(type(value), "optimize", None)
        value = value if optimize is None else optimize(value)
        return Chunks(list(value.__dask_keys__()), [value], None)
    if is_dask_collection(value):
        written = "[x]" if isinstance(value, Delayed) else "x.data"
        kind = "Delayed" if isinstance(value, Delayed) else type(value).__name__
        said = f"a {kind}: write {written}"
    elif isinstance(value, (list, tuple)):
        kind = next((_named(x) for x in value if not _is_delayed(x)), "")
        said = f"a list with a {kind}: write dask.delayed(x) of each" if kind else "an empty list"
    else:
        said = (
            f"a {_named(value)}: of an array that is here write da.from_array(x, chunks=(rows, -1))"
        )
    raise ArgumentError(
        f"{what} is data, which is a dask array, a dask dataframe or a list of delayed chunks, not "
        + said
    )


def _named(x: Any) -> str:
    return f"{type(x).__module__}.{type(x).__name__}"


def _is_delayed(x: Any) -> bool:
    return isinstance(x, Delayed) or type(x).__module__ == "distributed.client"


def check_fit(found: Sequence[Chunks], places: Sequence[int]) -> None:
    """Refuse data whose chunks do not have the same rows, as far as that is known.

    Raises
    ------
    ShapeError
        With what to write instead.
    """
    first, place = found[0], places[0]
    for other, number in zip(found[1:], places[1:], strict=True):
        if len(first.keys) != len(other.keys):
            advice = _ADVICE if first.sizes and other.sizes else _IN_LISTS
            raise ShapeError(
                f"argument {place} has {len(first.keys)} chunks and argument {number} "
                f"{len(other.keys)}. {advice}"
            )
        for k, (a, b) in enumerate(zip(first.sizes or (), other.sizes or (), strict=False)):
            if a != b and not math.isnan(a) and not math.isnan(b):
                raise ShapeError(
                    f"chunk {k} has {a} rows in argument {place} and {b} in argument {number}. "
                    f"{_ADVICE}"
                )


_ADVICE = "Write y.rechunk({0: x.chunks[0]}), so that chunks belong together"
_IN_LISTS = (
    "Chunks with the same place belong together: lists have as many elements, dataframes "
    "as many partitions"
)


__all__ = ["Chunks", "check_fit", "chunks_of"]
