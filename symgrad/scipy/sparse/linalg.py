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

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from ... import numpy as traced_numpy
from ..._api._callback import pure_callback
from ..._api._custom import custom_vjp
from ..._core.base.state import now
from ..._core.graph import warn_user
from ..._core.ops.np_common import is_traced
from ..._core.trace.namespace import offering
from ...errors import ShapeError
from .._coverage import reasons
from .._versions import floats, refuse_option
from ._by_matrix import (
    LinearOperator,
    eigsh,
    expm,
    expm_multiply,
    inv,
    matrix_of,
    of_numbers,
    svds,
)
from ._entries import Entries, entries, issparse
from ._refusals import refusing

__all__ = [
    "LinearOperator", "aslinearoperator", "eigsh", "expm", "expm_multiply", "factorized", "inv",
    "norm", "splu", "spsolve", "spsolve_triangular", "svds",
]  # fmt: skip


_join = traced_numpy.concatenate


def _solved(rows: Any, columns: Any, data: Any, b: Any, warns: bool = False) -> Any:
    """Solve by SuperLU; the derivative is another solve, by the transpose.

    ``warns``: that a matrix is singular, where the solution is nan; else that is an error.
    """
    n = b.shape[0]
    if "c" in (data.dtype.kind, b.dtype.kind):  # real and imaginary parts, one below the other
        parts = (data.real, -data.imag, data.imag, data.real) if data.dtype.kind == "c" else None
        if parts is None:
            re, im = (_solved(rows, columns, data, x, warns) for x in (b.real, b.imag))
            return re + 1j * im
        rows = np.concatenate([rows, rows, rows + n, rows + n])
        columns = np.concatenate([columns, columns + n] * 2)
        b = _join([b.real, b.imag if b.dtype.kind == "c" else np.zeros_like(b)])
        x = _solved(rows, columns, _join(parts), b, warns)
        return x[:n] + 1j * x[n:]

    def by_numbers(data: Any, b: Any) -> Any:
        matrix = scipy.sparse.coo_array((data, (rows, columns)), shape=(n, n)).tocsc()
        try:
            return scipy.sparse.linalg.splu(matrix).solve(b)
        except RuntimeError:  # SuperLU's word for a singular matrix
            if not warns:
                raise
            warn_user("Matrix is exactly singular", scipy.sparse.linalg.MatrixRankWarning)
            return np.full_like(b, np.nan)

    @custom_vjp
    def solve(data: Any, b: Any) -> Any:
        return pure_callback(by_numbers, b, data, b)

    def forward(data: Any, b: Any) -> Any:
        x = solve(data, b)
        return x, (data, x)

    def backward(kept: Any, ct: Any) -> Any:
        data, x = kept
        back = _solved(columns, rows, data, ct, warns)
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
        Right-hand sides, shape ``(n,)`` or ``(n, k)``. Solutions of sparse ones are sparse in
        SciPy's sense, with an entry for each number.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> b = np.array([1.0, 2.0])
    >>> def solve(a):
    ...     return spsolve(sp.csc_array((a, ([0, 1], [0, 1])), shape=(2, 2)), b)
    >>> sg.jacobian(solve)(np.array([2.0, 4.0]))
    array([[-0.25 ,  0.   ],
           [ 0.   , -0.125]])
    """
    if not isinstance(A, Entries) and not is_traced(b):
        return scipy.sparse.linalg.spsolve(A, b, permc_spec, use_umfpack)
    a, right = entries(A), b.toarray() if issparse(b) else floats(b)
    if a.shape != (right.shape[0],) * 2:
        raise ShapeError(f"spsolve: a matrix of shape {a.shape}, and b of shape {right.shape}")
    if right.ndim == 2 and right.shape[1] == 1:
        return _solved(a.term_rows, a.term_columns, a.terms, right[:, 0], warns=True)
    found = _solved(a.term_rows, a.term_columns, a.terms, right, warns=True)
    return entries(found).of(type(a)).asformat(a.format) if issparse(b) else found


#: The transpose of a solve as one of real and imaginary parts; and whether the matrix is
#: conjugate in it.
_BACK = {("N", False): ("H", False), ("H", False): ("N", False), ("T", False): ("N", True),
         ("N", True): ("T", False)}  # fmt: skip


def _solved_by(factors: Any, b: Any, trans: str, turned: bool = False) -> Any:
    """Solve by factors that are numbers; ``b`` has real and imaginary parts if they are complex."""

    def by_numbers(b: Any) -> Any:
        if factors.U.dtype.kind != "c":
            return factors.solve(b, trans)
        z = b[0] + 1j * b[1]
        x = np.conj(factors.solve(np.conj(z), trans)) if turned else factors.solve(z, trans)
        return np.stack([x.real, x.imag])

    @custom_vjp
    def solve(b: Any) -> Any:
        return pure_callback(by_numbers, b, b)

    def backward(_: Any, ct: Any) -> Any:
        return (_solved_by(factors, ct, *_BACK[trans, turned]),)

    solve.defvjp(lambda b: (solve(b), None), backward)
    return solve(b)


class splu:  # noqa: N801 - SciPy's name
    """A factorization of a matrix, as ``scipy.sparse.linalg.splu``: each solve is exact.

    ``A`` may be SciPy's factorization, made outside; it is used.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> factors = splu(sp.csc_array(np.diag([2.0, 4.0])))
    >>> sg.jacobian(lambda b: factors.solve(b))(np.ones(2))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """

    def __new__(cls, A: Any, *args: Any, **kwargs: Any) -> Any:
        """Return SciPy's factors where they are of plain numbers and not for a trace."""
        made = isinstance(A, scipy.sparse.linalg.SuperLU)
        if now().guards is None and not made and of_numbers(A):
            return scipy.sparse.linalg.splu(A, *args, **kwargs)
        return super().__new__(cls)

    def __init__(self, A: Any, *args: Any, **kwargs: Any) -> None:
        made = isinstance(A, scipy.sparse.linalg.SuperLU)
        self._factors: Any = A if made else None
        self._a: Any = None if made else entries(A)
        self.shape = A.shape

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """Solve for a right-hand side."""
        if trans not in ("N", "T", "H"):
            raise ValueError("trans must be N, T, or H")
        b, a, factors = floats(rhs), self._a, self._factors
        if a is not None:
            a = {"N": a, "T": a.T, "H": a.conj().T}[trans]
            return _solved(a.term_rows, a.term_columns, a.terms, b)
        if not is_traced(b):
            return factors.solve(b, trans)
        parts = b.real, b.imag if b.dtype.kind == "c" else np.zeros_like(b)
        if factors.U.dtype.kind == "c":
            x = _solved_by(factors, np.stack(parts), trans)
            return x[0] + 1j * x[1]
        if b.dtype.kind == "c":
            return _solved_by(factors, parts[0], trans) + 1j * _solved_by(factors, parts[1], trans)
        return _solved_by(factors, b, trans)


def factorized(A: Any) -> Callable[[Any], Any]:
    """Return a function that solves, as ``scipy.sparse.linalg.factorized``.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> solve = factorized(sp.csc_array(np.diag([2.0, 4.0])))
    >>> sg.grad(lambda b: solve(b).sum())(np.ones(2))
    array([0.5 , 0.25])
    """
    return splu(A).solve


def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    """Return the norm of a sparse matrix, by default that of its entries.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> places = [0, 1], [0, 1]
    >>> sg.grad(lambda a: norm(sp.csc_array((a, places), shape=(2, 2))))(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """
    if not isinstance(x, Entries):
        return scipy.sparse.linalg.norm(x, ord, axis)
    return (
        np.linalg.norm(x.toarray(), ord, axis) if ord or axis else np.linalg.norm(x.tocsr().terms)
    )


# ---------------------------------------------------------------- by the matrix


def aslinearoperator(A: Any) -> Any:
    """Return a matrix as an operator, as ``scipy.sparse.linalg.aslinearoperator``.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> def product(a):
    ...     return aslinearoperator(sp.csr_array(np.diag(a))) @ np.array([1.0, 2.0])
    >>> sg.jacobian(product)(np.array([2.0, 4.0]))
    array([[1., 0.],
           [0., 2.]])
    """
    return scipy.sparse.linalg.aslinearoperator(A) if of_numbers(A) else A


def _iterative(name: str) -> Any:
    """Return a solver that iterates in SciPy, and in traced code solves directly."""
    original = getattr(scipy.sparse.linalg, name)

    @functools.wraps(original, assigned=("__name__", "__qualname__"))
    def solver(A: Any, b: Any, x0: Any = None, **options: Any) -> Any:
        if of_numbers(A, b):
            return original(A, b, x0, **options)
        return spsolve(A, b) if issparse(A) else np.linalg.solve(matrix_of(A), floats(b)), 0

    solver.__doc__ = f"""Solve a linear system, as ``scipy.sparse.linalg.{name}``.

    In traced code by elimination, so to rounding whatever the tolerance, and always with success
    (``info`` is 0). Preconditioners and starts are not looked at.

    Parameters
    ----------
    A, b:
        Matrix, sparse, dense or a :class:`LinearOperator`, and right-hand side.
    x0, **options:
        As SciPy's.

    Returns
    -------
    The solution, and 0.
    """
    return solver


_SOLVERS = ("bicg", "bicgstab", "cg", "cgs", "gcrotmk", "gmres", "lgmres", "minres", "qmr", "tfqmr")
globals().update({name: _iterative(name) for name in _SOLVERS})
__all__ += _SOLVERS  # noqa: PLE0605 - they are alike


def spsolve_triangular(
    A: Any, b: Any, lower: bool = True, overwrite_A: bool = False, overwrite_b: bool = False,
    unit_diagonal: bool = False,
) -> Any:  # fmt: skip
    """Solve a triangular system, as ``scipy.sparse.linalg.spsolve_triangular``.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> sg.grad(lambda b: spsolve_triangular(csr_array([[2.0, 0.0], [1.0, 1.0]]), b)[1])(np.ones(2))
    array([-0.5,  1. ])
    """
    if of_numbers(A, b):
        return scipy.sparse.linalg.spsolve_triangular(
            A, b, lower, overwrite_A, overwrite_b, unit_diagonal
        )
    if unit_diagonal:
        refuse_option("spsolve_triangular", "unit_diagonal", True, "A with its diagonal")
    return spsolve(A, b)


_names, __dir__ = offering(scipy.sparse.linalg, globals(), reasons("sparse.linalg"))
__getattr__ = refusing(_names, "sparse.linalg")
