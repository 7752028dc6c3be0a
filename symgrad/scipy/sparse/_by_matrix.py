"""Functions of sparse matrices by the whole matrix, and operators of which it is made."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from ... import numpy as traced_numpy
from ..._api._custom import stop_gradient
from ..._api._transforms import vmap
from ..._core.ops.np_common import is_traced
from ..._core.trace.namespace import version
from ..._syntax._control import fori_loop, scan
from .._versions import Standing, floats, refuse_option
from ._entries import Entries, entries, issparse, kind_of
from ._indexing import summed


class LinearOperator(metaclass=Standing, of=scipy.sparse.linalg.LinearOperator):
    """A matrix by its products, as ``scipy.sparse.linalg.LinearOperator``.

    In traced code it is made at once, column by column.

    Examples
    --------
    >>> from symgrad.scipy.sparse.linalg import cg
    >>> def first(d):
    ...     a = LinearOperator((2, 2), matvec=lambda x: d * x)
    ...     return cg(a, np.ones(2))[0][0]
    >>> sg.grad(first)(np.array([2.0, 4.0]))
    array([-0.25,  0.  ])
    """

    def __init__(
        self, shape: Any, matvec: Any, rmatvec: Any = None, matmat: Any = None, dtype: Any = None,
        rmatmat: Any = None,
    ) -> None:  # fmt: skip
        self.shape = shape
        columns = vmap(lambda x: np.reshape(floats(matvec(x)), (-1,)))(np.eye(shape[1]))
        self.matrix = columns.T

    def __matmul__(self, other: Any) -> Any:
        return self.matrix @ other

    dot = matvec = __matmul__


def matrix_of(a: Any) -> Any:
    """Return a matrix of any kind as an array."""
    if type(a) is LinearOperator:
        return a.matrix
    if isinstance(a, LinearOperator):  # SciPy's
        return a @ np.eye(a.shape[1])
    return a.toarray() if issparse(a) else floats(a)


def of_numbers(*given: Any) -> bool:
    """Tell whether nothing of what is given is traced."""
    return not any(
        isinstance(x, Entries) or type(x) is LinearOperator or is_traced(x) for x in given
    )


def eigsh(
    A: Any, k: int = 6, M: Any = None, sigma: Any = None, which: str = "LM", v0: Any = None,
    ncv: Any = None, maxiter: Any = None, tol: Any = 0, return_eigenvectors: bool = True,
    **options: Any,
) -> Any:  # fmt: skip
    """Return some eigenvalues and vectors, as ``scipy.sparse.linalg.eigsh``, by the full matrix.

    Examples
    --------
    >>> from scipy.sparse import diags
    >>> a = diags([[1.0, 2.0, 3.0], [0.1, 0.1]], [0, 1])
    >>> sg.grad(lambda t: eigsh(t * (a + a.T), 1, return_eigenvectors=False)[0])(1.0).round(4)
    np.float64(6.005)
    """
    if of_numbers(A):
        return scipy.sparse.linalg.eigsh(
            A, k, M, sigma, which, v0, ncv, maxiter, tol, return_eigenvectors, **options
        )
    if M is not None or options:
        refuse_option("eigsh", "M", M, "scipy.linalg.eigh(A.toarray(), M.toarray())")
    w, v = np.linalg.eigh(matrix_of(A))
    near = w if sigma is None else 1.0 / (w - sigma)
    count, inner = int(w.shape[0]), np.argsort(np.abs(near) if which in ("LM", "SM") else near)
    chosen = {
        "LM": inner[count - k :], "LA": inner[count - k :], "SM": inner[:k], "SA": inner[:k],
        "BE": np.concatenate([inner[: k // 2], inner[count - (k - k // 2) :]]),
    }[which]  # fmt: skip
    if return_eigenvectors or sigma is not None:
        chosen = np.sort(chosen)
    elif which in ("SM", "SA"):  # as SciPy gives them
        chosen = chosen[::-1]
    return (w[chosen], v[:, chosen]) if return_eigenvectors else w[chosen]


def svds(
    A: Any, k: int = 6, ncv: Any = None, tol: Any = 0, which: str = "LM", v0: Any = None,
    maxiter: Any = None, return_singular_vectors: Any = True, **options: Any,
) -> Any:  # fmt: skip
    """Return some singular values and vectors, as ``scipy.sparse.linalg.svds``, by the full matrix.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> a = csr_array([[0.0, 1.0], [3.0, 0.0]])
    >>> sg.grad(lambda t: svds(t * a, 1, return_singular_vectors=False)[0])(1.0).round(12)
    np.float64(3.0)
    """
    if of_numbers(A):
        return scipy.sparse.linalg.svds(
            A, k, ncv, tol, which, v0, maxiter, return_singular_vectors, **options
        )
    u, s, v = np.linalg.svd(matrix_of(A), full_matrices=False)
    count = int(s.shape[0])
    part = slice(count - k, count) if which == "SM" else slice(0, k)
    s = s[part][::-1]
    return (u[:, part][:, ::-1], s, v[part][::-1]) if return_singular_vectors else s


#: Terms of the power series of the exponential, and the norm of a matrix for which they are
#: enough.
_TERMS, _NORM = 26, 2.0


def _advanced(a: Entries, t: Any, b: Any) -> Any:
    """Return the exponential of ``t * a`` times ``b``, by power series in several steps."""
    size = np.max(summed(np.abs(stop_gradient(a.terms)), a.term_columns, a.shape[1])) * np.abs(t)
    steps = np.maximum(np.ceil(stop_gradient(size) / _NORM), 1.0)

    def step(_: Any, x: Any) -> Any:
        def add(k: Any, state: Any) -> Any:
            term, total = state
            term = (a @ term) * (t / (steps * k))
            return term, total + term

        return fori_loop(1, _TERMS + 1, add, (x, x))[1]

    return fori_loop(0, steps.astype(int), step, b)


def expm_multiply(
    A: Any, B: Any, start: Any = None, stop: Any = None, num: Any = None, endpoint: Any = None,
    traceA: Any = None,
) -> Any:  # fmt: skip
    """Return the exponential of a matrix times ``B``, as ``scipy.sparse.linalg.expm_multiply``.

    Parameters
    ----------
    A, B:
        A square matrix, and a vector or columns.
    start, stop, num, endpoint:
        Times by which ``A`` is multiplied, as of ``np.linspace``; None: 1 alone.
    traceA:
        Not looked at.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> a = csr_array([[0.0, 1.0], [-1.0, 0.0]])
    >>> sg.grad(lambda t: expm_multiply(t * a, np.ones(2))[0])(0.5).round(4)
    np.float64(0.3982)
    """
    if of_numbers(A, B, start, stop):
        return scipy.sparse.linalg.expm_multiply(A, B, start, stop, num, endpoint, traceA)
    a, b = entries(A if issparse(A) else matrix_of(A)), floats(B)
    b = b.astype(np.result_type(a.dtype, b.dtype))
    if start is None:
        return _advanced(a, 1.0, b)
    count = 50 if num is None else num
    pieces = count - 1 if endpoint is None or endpoint else count
    first = _advanced(a, start, b)

    def go_on(x: Any, _: Any) -> Any:
        x = _advanced(a, (stop - start) / pieces, x)
        return x, x

    return traced_numpy.concatenate([first[None], scan(go_on, first, length=count - 1)[1]])


def inv(A: Any) -> Any:
    """Return the inverse, as ``scipy.sparse.linalg.inv``, by the full matrix.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> places = [0, 1], [0, 1]
    >>> def inverse(a):
    ...     return inv(sp.csc_array((a, places), shape=(2, 2))).toarray()[0, 0]
    >>> sg.grad(inverse)(np.array([2.0, 4.0])) + 0.0
    array([-0.25,  0.  ])
    """
    if of_numbers(A):
        return scipy.sparse.linalg.inv(A)
    return entries(np.linalg.inv(matrix_of(A))).of(kind_of(A))


def expm(A: Any) -> Any:
    """Return the exponential, as ``scipy.sparse.linalg.expm``, by the full matrix.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> places = [0, 1], [0, 1]
    >>> def grown(a):
    ...     return expm(sp.csc_array((a, places), shape=(2, 2))).toarray()[1, 1]
    >>> sg.grad(grown)(np.array([0.0, 1.0])).round(4)
    array([0.    , 2.7183])
    """
    if of_numbers(A):
        return scipy.sparse.linalg.expm(A)
    return entries(version(scipy.linalg.expm)(matrix_of(A))).of(kind_of(A))
