"""Arrays of numbers inside a function, read as what they are: identities, ranges, triangles.

``0.01*np.eye(n)`` is ``KroneckerDelta(i, j)/100`` to a reader, ``np.arange(n)`` is ``i``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

#: Shorter arrays are not taken for ranges: two numbers always are one.
LONG = 3

#: Positions in arrays of up to so many are written out.
MOST = 12


def as_formula(array: Any, index: tuple[Any, ...], literal: Callable[[Any], Any]) -> Any:
    """Return element ``index`` of an array of numbers as a formula, or None if there is none.

    Parameters
    ----------
    array:
        A NumPy array.
    index:
        One formula for each axis.
    literal:
        Makes a SymPy number of a NumPy scalar.

    Examples
    --------
    >>> import sympy as sp
    >>> i, j = sp.symbols("i j", integer=True, nonnegative=True)
    >>> as_formula(np.eye(3) * 2, (i, j), int), as_formula(np.arange(5, 20, 3), (i,), int)
    (2*KroneckerDelta(i, j), 3*i + 5)
    """
    if array.size == 0:
        return None
    first = array.flat[0]
    if np.all(array == first):
        return literal(first)
    if array.ndim == 1:
        return _of_range(array, index[0], literal)
    return _of_matrix(array, index[0], index[1], literal) if array.ndim == 2 else None


def _of_range(array: Any, i: Any, literal: Callable[[Any], Any]) -> Any:
    if array.dtype.kind == "b":
        places = np.flatnonzero(array)
        return sp.Or(*(sp.Eq(i, int(k)) for k in places)) if len(places) <= MOST else None
    steps = np.diff(array)
    if np.array_equal(array, np.arange(array.size)):
        return i
    if array.size >= LONG and np.all(steps == steps[0]):
        return literal(array[0]) + literal(steps[0]) * i
    if array.dtype.kind != "f" and array.size <= MOST and i.is_Symbol:
        pieces = [(literal(v), sp.Eq(i, k)) for k, v in enumerate(array[:-1])]
        return sp.Piecewise(*pieces, (literal(array[-1]), True))
    return None


def _of_matrix(array: Any, i: Any, j: Any, literal: Callable[[Any], Any]) -> Any:
    rows, columns = np.indices(array.shape, sparse=True)
    diagonal, around = array[rows == columns], array[rows != columns]
    if array.dtype.kind == "b":
        return None
    if around.size and np.all(around == around[0]) and np.all(diagonal == diagonal[0]):
        return literal(diagonal[0] - around[0]) * sp.KroneckerDelta(i, j) + literal(around[0])
    for inside, condition in (
        (rows >= columns, i >= j), (rows <= columns, i <= j),
        (rows > columns, i > j), (rows < columns, i < j),
    ):  # fmt: skip
        values = array[inside]
        if values.size and np.all(values == values[0]) and not array[~inside].any():
            return sp.Piecewise((literal(values[0]), condition), (0, True))
    return None
