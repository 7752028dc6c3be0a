"""Sums and moments of an image's regions, which are given by labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.ndimage

from .._core.ops.np_common import is_traced
from ._versions import doubles, floats, refuse_option, replaces


class _Regions:
    """The regions of an image over which to sum.

    ``by_region`` are sums over each; those of elements of no region that is asked for come last.
    """

    def __init__(self, name: str, shape: Any, labels: Any, index: Any) -> None:
        self.all = labels is None
        if self.all:
            return
        if is_traced(labels) or is_traced(index):
            refuse_option(f"scipy.ndimage.{name}", "labels", "...", "np.sum(image * (labels == k))")
        labels = np.broadcast_to(labels, tuple(map(int, shape)))
        if index is None:
            labels, index = labels > 0, True
        known, self.asked = np.unique(index, return_inverse=True)
        place = np.minimum(np.searchsorted(known, labels), known.size - 1)
        self.place = np.where(known[place] == labels, place, known.size)
        self.asked = self.asked.reshape(np.shape(index))
        self.counts = np.bincount(self.place.ravel(), minlength=known.size + 1)

    def sums(self, x: Any) -> Any:
        if self.all:
            return np.sum(x)
        return np.bincount(self.place.ravel(), x.ravel(), self.counts.size)

    def means(self, x: Any) -> Any:
        """Return means; nan of no elements."""
        return np.mean(x) if self.all else self.sums(x) / np.where(self.counts, self.counts, np.nan)

    def given(self, by_region: Any) -> Any:
        """Return what was asked for, in its order."""
        return by_region if self.all else by_region[self.asked]

    def past(self, x: Any) -> Any:
        """Return how far each element is from its region's mean."""
        means = self.means(x)
        return x - (means if self.all else means[self.place])


@replaces(scipy.ndimage.sum_labels)
def sum_labels(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Sums of the elements of regions, as ``scipy.ndimage.sum_labels``.

    Examples
    --------
    >>> regions = np.array([1, 1, 2, 3])
    >>> sg.jacobian(lambda x: sum_labels(x, regions, [3, 1]))(np.ones(4))
    array([[0., 0., 0., 1.],
           [1., 1., 0., 0.]])
    """
    x = floats(input)
    regions = _Regions("sum_labels", x.shape, labels, index)
    return regions.given(regions.sums(x))


@replaces(scipy.ndimage.sum)
def sum(input: Any, labels: Any = None, index: Any = None) -> Any:  # noqa: A001 - SciPy's name
    """Sums of the elements of regions: an older name of ``sum_labels``.

    Examples
    --------
    >>> sg.grad(lambda x: sum(x, np.array([1, 1, 0])))(np.ones(3))
    array([1., 1., 0.])
    """
    return sum_labels(input, labels, index)


@replaces(scipy.ndimage.mean)
def mean(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Means of regions, as ``scipy.ndimage.mean``.

    Examples
    --------
    >>> sg.grad(lambda x: mean(x, np.array([1, 1, 2, 0])))(np.ones(4))
    array([0.333333, 0.333333, 0.333333, 0.      ])
    """
    x = doubles(input)
    regions = _Regions("mean", x.shape, labels, index)
    return regions.given(regions.means(x))


@replaces(scipy.ndimage.variance)
def variance(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Variances of regions, as ``scipy.ndimage.variance``.

    Examples
    --------
    >>> regions = np.array([1, 1, 2, 2])
    >>> sg.compile(lambda x: variance(x, regions, [1, 2]))(np.array([1.0, 3.0, 2.0, 2.0]))
    array([1., 0.])
    """
    x = doubles(input)
    regions = _Regions("variance", x.shape, labels, index)
    return regions.given(regions.means(np.square(np.abs(regions.past(x)))))


@replaces(scipy.ndimage.standard_deviation)
def standard_deviation(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Standard deviations of regions, as ``scipy.ndimage.standard_deviation``.

    Examples
    --------
    >>> sg.grad(standard_deviation)(np.array([1.0, 3.0]))
    array([-0.5,  0.5])
    """
    return np.sqrt(variance(input, labels, index))
