"""``np.ndenumerate``, for traced arrays too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._ops.np_common import is_traced


def ndenumerate(arr: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield the places of an array and the elements there.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> def moment(x):
    ...     return sum(i * j * v for (i, j), v in np.ndenumerate(x))
    >>> sg.grad(moment)(np.ones((2, 3)))
    array([[0., 0., 0.],
           [0., 1., 2.]])
    """
    if not is_traced(arr):
        return iter(np.ndenumerate(arr))
    return ((place, arr[place]) for place in np.ndindex(*map(int, arr.shape)))
