"""``scipy.sparse``, for functions that symgrad traces: entries at places that are numbers.

The entries of a matrix may be traced; rows and columns are integers that Python sees, as in
loops over elements. One class stands for all of SciPy's formats.

Examples
--------
>>> import numpy as np
>>> import symgrad as sg
>>> from symgrad.scipy import sparse
>>> def heat(k):
...     A = sparse.diags([2 * k, -k[1:], -k[1:]], [0, 1, -1]).tocsr()
...     return sparse.linalg.spsolve(A, np.ones(3))[1]
>>> sg.grad(heat)(np.ones(3))
array([-1.5, -1.5,  1. ])
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from ..._core.base.fork_safety import late_module
from ..._core.ops.np_common import is_traced
from ..._core.trace.namespace import holds, offering
from ...errors import UnsupportedError
from .._coverage import reasons
from .._versions import of_scipy
from ._composition import (
    block_array,
    block_diag,
    bmat,
    diags,
    diags_array,
    eye,
    eye_array,
    find,
    hstack,
    identity,
    kron,
    spdiags,
    tril,
    triu,
    vstack,
)
from ._entries import ByElements, Entries, entries, issparse
from ._refusals import refusing

__all__ = [
    "Entries",
    "block_array",
    "block_diag",
    "bmat",
    "diags",
    "diags_array",
    "eye",
    "eye_array",
    "find",
    "hstack",
    "identity",
    "issparse",
    "kron",
    "spdiags",
    "tril",
    "triu",
    "vstack",
]


class _Format(type):
    """The type of SciPy's formats: calling one makes entries, which are instances of all."""

    def __call__(cls, arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False) -> Any:
        if of_scipy((arg1,), {}, Entries):
            return getattr(scipy.sparse, cls.__name__)(arg1, shape, dtype, copy)
        original = getattr(scipy.sparse, cls.__name__)
        if not holds(arg1, lambda x: is_traced(x) or isinstance(x, Entries)):
            return entries(original(arg1, shape, dtype, copy))
        found = cls._of_traced(arg1, shape)
        form = cls.__name__[:3]
        if form not in ("coo", "csr", "csc") or not isinstance(arg1, tuple):
            dense = form == "dia" or is_traced(arg1)
            found.made(lambda x: original(x, shape), arg1, depends=dense)
        return found if dtype is None else found.astype(dtype)

    def _of_traced(cls, arg1: Any, shape: Any) -> Any:
        form, made = cls.__name__[:3], _kind(cls)
        if not isinstance(arg1, tuple):
            own: Entries = entries(arg1).of(made)._by_rows().copied()
            return own
        if form == "dia" and len(arg1) == 2 and shape is not None:
            return spdiags(*arg1, *shape).of(made)
        if len(arg1) == 2 and isinstance(arg1[1], tuple):
            data, (rows, columns) = arg1
            rows, columns = (np.asarray(k, np.int64) for k in (rows, columns))
            size = shape or (int(rows.max()) + 1, int(columns.max()) + 1)
            found = made(data, rows, columns, size)
            return found if form == "coo" else found.tocsc() if form == "csc" else found.tocsr()
        if len(arg1) == 3 and form in ("csr", "csc"):
            data, inner, starts = arg1[0], *(np.asarray(k, np.int64) for k in arg1[1:])
            outer = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            places = (outer, inner) if form == "csr" else (inner, outer)
            size = shape or tuple(int(k.max()) + 1 for k in places)
            return made(data, *places, size).ordered(form)
        if len(arg1) == 2 and all(isinstance(n, (int, np.integer)) for n in arg1):
            return made(np.zeros(0), [], [], arg1)
        raise UnsupportedError(
            f"{cls.__name__} cannot be traced so. Write instead: coo_matrix((data, (rows, "
            "columns)), shape)"
        )

    def __instancecheck__(cls, value: Any) -> bool:
        own = getattr(scipy.sparse, cls.__name__)
        if type(value) is _kind(cls):
            return bool(value.format == cls.__name__[:3])
        return isinstance(value, own)

    def __subclasscheck__(cls, kind: type) -> bool:
        return kind is cls or issubclass(kind, getattr(scipy.sparse, cls.__name__))


def _kind(form: type) -> type[Entries]:
    return ByElements if form.__name__.endswith("array") else Entries


def _made(name: str) -> Any:
    """Return one of SciPy's formats."""
    inner = ", ``(data, indices, indptr)``" if name[:3] in ("csr", "csc") else ""
    product = "by elements" if name.endswith("array") else "the product of matrices"
    text = f"""Sparse matrices, as ``scipy.sparse.{name}``, whose entries may be traced.

    Parameters
    ----------
    arg1:
        A matrix, dense or sparse; ``(data, (rows, columns))``{inner}; or its shape, for one
        without entries.
    shape:
        Of the matrix; by default the least that holds all entries.
    dtype, copy:
        As SciPy's.

    Returns
    -------
    Entries
        One class for all formats, an instance of each; ``*`` is {product}, as SciPy's.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> from symgrad.scipy.sparse import {name}
    >>> sg.jacobian(lambda x: {name}((x, ([0, 1], [1, 0]))) @ np.array([3.0, 4.0]))(np.ones(2))
    array([[4., 0.],
           [0., 3.]])
    """
    return _Format(name, (), {"__doc__": text, "__module__": __name__})


_FORMATS = ("coo", "csr", "csc", "lil", "dok", "dia", "bsr")
_MAKERS = {n: _made(n) for kind in _FORMATS for n in (f"{kind}_matrix", f"{kind}_array")}
globals().update(_MAKERS)
__all__ += sorted(_MAKERS)  # noqa: PLE0605 - they are alike


_names, __dir__ = offering(scipy.sparse, globals(), reasons("sparse"))
_names = refusing(_names, "sparse")


def __getattr__(name: str) -> Any:
    return late_module(f"{__name__}.linalg") if name == "linalg" else _names(name)
