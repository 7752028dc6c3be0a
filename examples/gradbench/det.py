"""A determinant by expansion of its minors along their first rows.

The minors of the last k rows, one for each choice of k columns, are one array, and follow from
those of the last k - 1 rows: every minor is computed once, which makes it 2**n instead of n!.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from protocol import Function

import symgrad as sg


def determinant(elements: Any, size: int) -> Any:
    """Return the determinant of a matrix given row by row."""
    matrix = elements.reshape(size, size)
    minors, place = matrix[-1], {(column,): column for column in range(size)}
    for count in range(2, size + 1):
        chosen = list(itertools.combinations(range(size), count))
        left_out = [[place[c[:j] + c[j + 1 :]] for j in range(count)] for c in chosen]
        signs = (-1.0) ** np.arange(count)
        factors = matrix[size - count][np.array(chosen)]
        minors = np.sum(signs * factors * minors[np.array(left_out)], axis=1)
        place = {columns: k for k, columns in enumerate(chosen)}
    return minors[0]


def read(given: Any) -> tuple[Any, ...]:
    return np.array(given["A"], dtype=float), given["ell"]


FUNCTIONS = {
    "primal": Function(read, sg.compile(determinant)),
    "gradient": Function(read, sg.grad(determinant)),
}
