"""Statistics of the elements that a mask selects, from all elements and the mask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: Functions, and what leaves their results as they are in the place of what is not selected.
FILL: dict[Callable[..., Any], Any] = {
    np.sum: 0, np.prod: 1, np.any: False, np.all: True, np.count_nonzero: 0,
}  # fmt: skip

#: Options that the functions here follow.
KNOWN: dict[Callable[..., Any], set[str]] = {
    np.sum: {"dtype", "initial"}, np.prod: {"dtype", "initial"}, np.var: {"ddof"},
    np.std: {"ddof"},
}  # fmt: skip


def _mean(x: Any, mask: Any, count: Any, axes: Any) -> Any:
    return np.sum(np.where(mask, x, 0), axis=axes) / count


def _variance(x: Any, mask: Any, count: Any, axes: Any, ddof: Any = 0) -> Any:
    apart = np.where(mask, x - _mean(x, mask, count, axes), 0.0)
    return np.sum(apart * apart, axis=axes) / (count - ddof)


def _deviation(x: Any, mask: Any, count: Any, axes: Any, ddof: Any = 0) -> Any:
    return np.sqrt(_variance(x, mask, count, axes, ddof))


def _greatest(x: Any, mask: Any, count: Any, axes: Any) -> Any:
    kind = x.dtype.kind
    low = -np.inf if kind == "f" else False if kind == "b" else np.iinfo(x.dtype).min
    return np.max(np.where(mask, x, low), axis=axes)


def _least(x: Any, mask: Any, count: Any, axes: Any) -> Any:
    kind = x.dtype.kind
    high = np.inf if kind == "f" else True if kind == "b" else np.iinfo(x.dtype).max
    return np.min(np.where(mask, x, high), axis=axes)


#: ``f(x, mask, count, axes, **options)`` for each function of NumPy's.
STATISTICS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.mean: _mean, np.average: _mean, np.var: _variance, np.std: _deviation, np.max: _greatest,
    np.amax: _greatest, np.min: _least, np.amin: _least,
}  # fmt: skip
