"""``scipy.sparse.linalg``, for functions that symgrad traces: linear systems.

Examples
--------
>>> import numpy as np
>>> import symgrad as sg
>>> from symgrad.scipy.sparse import coo_matrix
>>> from symgrad.scipy.sparse.linalg import spsolve
>>> def first(d):
...     return spsolve(coo_matrix((d, ([0, 1], [0, 1]))), np.ones(2))[0]
>>> sg.grad(first)(np.array([2.0, 4.0]))
array([-0.25,  0.  ])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from ..._api._callback import pure_callback
from ..._api._custom import custom_vjp
from ..._ops.np_common import is_traced
from ..._trace._namespace import offering
from ...errors import ShapeError
from .._fates import reasons
from .._replacing import floats
from . import refusing
from ._entries import Entries, entries, issparse

__all__ = ["factorized", "norm", "splu", "spsolve"]


def _solved(rows: Any, columns: Any, data: Any, b: Any) -> Any:
    """Solve by SuperLU; the derivative is another solve, by the transpose."""
    n = b.shape[0]

    def by_numbers(data: Any, b: Any) -> Any:
        matrix = scipy.sparse.coo_array((data, (rows, columns)), shape=(n, n)).tocsc()
        return scipy.sparse.linalg.splu(matrix).solve(b)

    @custom_vjp
    def solve(data: Any, b: Any) -> Any:
        return pure_callback(by_numbers, b, data, b)

    def forward(data: Any, b: Any) -> Any:
        x = solve(data, b)
        return x, (data, x)

    def backward(kept: Any, ct: Any) -> Any:
        data, x = kept
        back = _solved(columns, rows, data, ct)
        product = back[rows] * x[columns]
        return -(product if product.ndim == 1 else np.sum(product, axis=1)), back

    solve.defvjp(forward, backward)
    return solve(data, b)


def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    """Solve a linear system, as ``scipy.sparse.linalg.spsolve``.

    Parameters
    ----------
    A:
        Square, of places that are numbers; entries may be traced.
    b:
        Right-hand sides, shape ``(n,)`` or ``(n, k)``.
    """
    if not isinstance(A, Entries) and not is_traced(b):
        return scipy.sparse.linalg.spsolve(A, b, permc_spec, use_umfpack)
    a, b = entries(A), b.toarray() if issparse(b) else floats(b)
    if a.shape != (b.shape[0],) * 2:
        raise ShapeError(f"spsolve: a matrix of shape {a.shape}, and b of shape {b.shape}")
    if b.ndim == 2 and b.shape[1] == 1:
        return _solved(a.rows, a.columns, a.data, b[:, 0])
    return _solved(a.rows, a.columns, a.data, b)


class splu:  # noqa: N801 - SciPy's name
    """A factorization of a matrix, as ``scipy.sparse.linalg.splu``: each solve is exact."""

    def __init__(self, A: Any, *args: Any, **kwargs: Any) -> None:
        self._a = entries(A)

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """Solve for a right-hand side."""
        a = self._a if trans == "N" else self._a.T
        return _solved(a.rows, a.columns, a.data, floats(rhs))


def factorized(A: Any) -> Callable[[Any], Any]:
    """Return a function that solves, as ``scipy.sparse.linalg.factorized``."""
    return splu(A).solve


def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    """Return the norm of a sparse matrix, by default that of its entries."""
    if not isinstance(x, Entries):
        return scipy.sparse.linalg.norm(x, ord, axis)
    return np.linalg.norm(x.toarray(), ord, axis) if ord or axis else np.linalg.norm(x.tocsr().data)


_names, __dir__ = offering(scipy.sparse.linalg, globals(), reasons("sparse.linalg"))
__getattr__ = refusing(_names, "sparse.linalg")
