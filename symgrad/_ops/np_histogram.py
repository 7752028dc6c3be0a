"""Histograms: how many elements fall into each bin, or what weights they have."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._op import composite
from ..errors import ArgumentError, ShapeError, UnsupportedError
from .gathers import SCATTER
from .np_common import Sample, as_array, as_float, iota, lift, numbers
from .np_sorting import count_below


def _bins(rng: np.random.Generator) -> Iterator[Sample]:
    x = numbers(rng, 9)
    yield (x, 4), {}
    yield (x.reshape(3, 3), 3), {"range": (-0.5, 0.75)}
    yield (np.full(3, 2), 3), {}  # no derivative where all are equal


def _edges(x: Any, bins: Any, span: Any) -> Any:
    """Return the edges of the bins, as NumPy computes them."""
    if any(getattr(v, "dtype", np.dtype(float)).kind == "c" for v in (x, bins)):
        raise UnsupportedError(
            "histogram: bins are of real numbers: take z.real, z.imag or np.abs(z)"
        )
    if isinstance(bins, str):
        raise ArgumentError(
            f"histogram: how many bins {bins!r} gives would depend on the values of traced "
            "elements: give their number"
        )
    if np.ndim(bins):
        edges = as_array(bins)
        if edges.ndim != 1:
            raise ShapeError(f"histogram: the edges are a vector, not {edges.ndim} axes")
        return edges
    try:
        n = operator.index(bins)
    except TypeError:
        raise ArgumentError(f"histogram: bins is a number or edges, not {bins!r}") from None
    if n < 1:
        raise ArgumentError(f"histogram: there must be at least 1 bin, not {n}")
    first, last = (x.min(), x.max()) if span is None else map(as_array, span)
    first, last = as_float(first), as_float(last)
    alone = first == last
    first, last = np.where(alone, first - 0.5, first), np.where(alone, last + 0.5, last)
    place = lift(iota(n + 1), first)
    return np.where(place == n, last, place * ((last - first) / n) + first)


@composite(np.histogram_bin_edges, samples=_bins)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:  # noqa: A002
    """Edges of equal bins between the smallest and the largest element, or within ``range``."""
    return _edges(as_array(a).reshape(-1), bins, range)


def _weighted(rng: np.random.Generator) -> Iterator[Sample]:
    for args, options in _bins(rng):
        yield args, options
        yield args, {**options, "weights": numbers(rng, args[0].shape)}
    yield (numbers(rng, 9), 2), {"density": True}


@composite(np.histogram, samples=_weighted,
           convention="counts are constant, sums of weights depend on the weights")  # fmt: skip
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None,  # noqa: A002
              weights: Any = None) -> Any:  # fmt: skip
    """Count the elements in each bin, or add up their weights; also return the bins' edges."""
    x = as_array(a)
    w = None if weights is None else as_array(weights)
    if w is not None and w.shape != x.shape:
        raise ShapeError("histogram: the weights have another shape than the elements")
    x = x.reshape(-1)
    edges = _edges(x, bins, range)
    n = edges.shape[0] - 1
    x, along = lift(x, edges, w), lift(edges, x, w)
    # The last bin has both of its edges.
    inside = (x >= along[0]) & (x <= along[n])
    k = np.clip(count_below(along, x, "right") - 1, 0, n - 1)
    if w is None:
        parts = inside.astype(np.int64)
    else:
        w = lift(as_float(w).astype(np.float64).reshape(-1), x)
        parts = np.where(inside, w, 0.0)
    found = SCATTER(parts, k, axes=(0,), at=0, shape=(n,))
    if density:
        found = found / np.diff(edges) / found.sum()
    return found, edges
