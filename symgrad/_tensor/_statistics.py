"""PyTorch's names for statistics: NumPy's functions, and PyTorch's median."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..errors import UnsupportedError
from ._arrange import _named, argsort
from ._functions import axis_of


class Median(NamedTuple):
    """What ``median`` along a ``dim`` returns: the values and where they are."""

    values: Any
    indices: Any


@_named("cov", "Return the covariances of the rows, divided by the number of columns less 1.",
        "sg.cov(x)", "tensor([[ 2., -2.],\n        [-2.,  2.]])")  # fmt: skip
def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    if fweights is not None or aweights is not None:
        raise UnsupportedError("cov takes no weights here: weight the observations first")
    return np.cov(input, ddof=correction)


@_named("corrcoef", "Return the correlations of the rows.",
        "sg.corrcoef(x)", "tensor([[ 1., -1.],\n        [-1.,  1.]])")  # fmt: skip
def corrcoef(input: Any) -> Any:
    return np.corrcoef(input)


@_named("median", "Return the lower of the middle elements, nan if one is nan; along a ``dim`` "
        "the pair (values, indices).\n\n    ``np.median`` is the mean of the two middle ones. "
        "Without ``dim`` elements that tie share the\n    derivative equally.",
        "sg.median(x), sg.median(x, dim=1).values", "(tensor(2.), tensor([1., 2.]))")  # fmt: skip
def median(
    input: Any, dim: int | None = None, keepdim: bool = False, *, axis: int | None = None
) -> Any:
    where = axis_of(dim, axis)
    if where is None:
        flat = np.reshape(input, (-1,))
        middle = np.take_along_axis(flat, _middle(flat, 0), 0)
        hit = (flat == middle) | (np.isnan(flat) & np.isnan(middle))
        return np.max(np.where(hit, flat, -np.inf))
    places = _middle(input, where)
    values = np.take_along_axis(input, places, where)
    if keepdim:
        return Median(values, places)
    return Median(np.squeeze(values, axis=where), np.squeeze(places, axis=where))


def _middle(x: Any, axis: int) -> Any:
    """Return where the lower middle element along an axis is, or the first nan."""
    count = x.shape[axis]
    strange = np.sum(np.isnan(x), axis=axis, keepdims=True)
    rank = np.where(strange > 0, count - strange, (count - 1) // 2)
    return np.take_along_axis(argsort(x, axis), rank, axis)  # nan are last


__all__ = ["corrcoef", "cov", "median"]
