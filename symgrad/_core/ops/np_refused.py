"""NumPy functions that are refused, each with the reason and what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

from ..op import refuse, registry

_SHAPE = "how many elements it gives depends on their values, and a trace needs the shape"
#: What to write for places and elements where a condition holds.
OF_MASKS = (
    "Write instead: np.where(mask, x, 0.0) for the elements, np.argmax(mask) for the first place, "
    "np.count_nonzero(mask) for how many there are; or, where data alone decide, bind the data by "
    "functools.partial(f, data=data) or a closure, and their numbers are known"
)
#: Of functions that give places.
OF_PLACES = (
    "it gives places, as many as hold, which are an index for all axes of the mask, "
    "x[np.nonzero(mask)], and can be summed; else their number has to be known, by a guard, and "
    f"no example of a batch and no step of a loop tells it. {OF_MASKS}"
)
_DISTINCT = (
    f"{_SHAPE}. Write instead: of labels that are data np.unique outside, whose inverse is an "
    "argument (np.bincount(inverse, x, minlength=n) has the sums of the groups); how many "
    "differ is 1 + np.count_nonzero(np.diff(np.sort(x)))"
)
_COUNTS = (
    "it counts, and counts have no derivative: find the places with np.searchsorted, and add "
    "weights with np.bincount"
)
_PRINTED = "a traced value has no numbers to print"
_WRITTEN = "a traced value has no numbers to write"
_MATRIX = "np.matrix is an old class with other rules: use arrays and @"
_BITS = "it takes bytes apart, which have no derivative"

#: Names of NumPy functions and why they cannot be traced.
REFUSED: dict[str, str] = {
    **dict.fromkeys(("nonzero", "flatnonzero"), OF_PLACES),
    "argwhere": f"{_SHAPE}. {OF_MASKS}",
    **dict.fromkeys(
        ("unique", "unique_values", "unique_counts", "unique_inverse", "unique_all"), _DISTINCT,
    ),
    "union1d": f"{_SHAPE}. Write instead: np.sort(np.concatenate([x, y])), with equal ones in it",
    "intersect1d": f"{_SHAPE}. Write instead: x[np.isin(x, y)], which has sums and means,"
                  " equal ones among them",
    "setdiff1d": f"{_SHAPE}. Write instead: x[~np.isin(x, y)], which has sums and means,"
                  " equal ones among them",
    "setxor1d": f"{_SHAPE}. Write instead: x[~np.isin(x, y)] and y[~np.isin(y, x)], which have "
                "sums and means",
    "trim_zeros": f"{_SHAPE}. Write instead: x[begin:end], with ends that are arguments",
    **dict.fromkeys(("histogram2d", "histogramdd"), _COUNTS),
    **dict.fromkeys(("packbits", "unpackbits"), _BITS),
    **dict.fromkeys(("asmatrix", "bmat"), _MATRIX),
    **dict.fromkeys(("array2string", "array_repr", "array_str"), _PRINTED),
    **dict.fromkeys(("save", "savetxt", "savez", "savez_compressed"), _WRITTEN),
    "asarray_chkfinite": "a traced value has no numbers to check: use np.asarray",
    "isnat": "it asks dates, and traced values are numbers",
    "polydiv": "how many coefficients the rest has depends on their values",
}  # fmt: skip


def _refusal(function: Callable[..., Any], why: str) -> Callable[..., Any]:
    def refused(first: Any = None, *_: Any, **__: Any) -> Any:
        refuse(function, why, first)

    refused.refuses = True  # type: ignore[attr-defined]  # traced values, not known numbers
    return refused


for _name, _why in REFUSED.items():
    try:
        _function = attrgetter(_name)(np)
    except AttributeError:  # of another version of NumPy
        continue
    registry.enter(_function, _refusal(_function, _why))
