"""Sums of entries by their places, and the entries of products."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as traced_numpy


def summed(terms: Any, places: Any, size: int) -> Any:
    """Return sums of terms at places."""
    if terms.dtype.kind == "c":
        return summed(terms.real, places, size) + 1j * summed(terms.imag, places, size)
    total = traced_numpy.zeros((size, *terms.shape[1:]), dtype=terms.dtype)
    np.add.at(total, places, terms)
    return total


def product(a: Any, b: Any) -> Any:
    """Return the product of two: an entry for each pair that meets."""
    order = np.argsort(b.rows, kind="stable")
    first, last = (np.searchsorted(b.rows[order], a.columns, side=s) for s in ("left", "right"))
    of_a = np.repeat(np.arange(a.nnz), last - first)
    of_b = order[np.concatenate([*map(np.arange, first, last), np.arange(0)])]
    return type(a)(
        a.data[of_a] * b.data[of_b], a.rows[of_a], b.columns[of_b], (a.shape[0], b.shape[1])
    ).whole(a.order)  # fmt: skip
