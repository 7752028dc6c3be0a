"""The structure of a sparse matrix in a trace: SciPy's, for the numbers of the example call.

A matrix of a trace keeps an entry wherever one may be: derivatives need those that are zero at the
moment. SciPy stores others: it leaves zeros of a dense matrix out, and sums that cancel, and each
format has rules of its own. So questions about the structure (``nnz``, ``indices``, ``data``) are
answered by a matrix of SciPy's that is made beside it, by the same calls. Where zeros decide, it
has the numbers of the example call, and a guard says which of them are zero; else any numbers do.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._api._custom import custom_jvp
from ..._core.base.state import now
from ..._core.ops.np_common import is_traced
from ..._core.trace import Traced
from ...errors import UnsupportedError

UNKNOWN = (
    "which entries of this sparse matrix are stored depends on which numbers are zero, and those "
    "are not known in a batch or in the body of a loop. Write instead: A.toarray(), or make the "
    "matrix of (data, (rows, columns)), whose places are what they are"
)
DROPPED = (
    "the derivative of what a sparse matrix stores, where an entry that it depends on is zero and "
    "so is not stored. Write instead: A.toarray(), A.sum() or A @ v, which have it; or make the "
    "matrix of (data, (rows, columns)), which stores zeros, too"
)


class Making:
    """How SciPy makes a matrix.

    Parameters
    ----------
    make:
        Returns the matrix of what ``operands`` are in numbers.
    operands:
        Numbers, traced values, matrices of the trace, lists of them.
    depends:
        Whether the structure depends on which numbers are zero, beyond what it does for operands.
    terms:
        The entries that are made, where those that are zero are left out.
    unknown:
        Whether it is not known which are zero: in the body of a loop, for what goes round.
    """

    def __init__(
        self, make: Callable[..., Any], operands: Sequence[Any], depends: bool = False,
        terms: Any = None, unknown: bool = False,
    ) -> None:  # fmt: skip
        self._make, self._operands, self._terms = make, operands, terms
        self._unknown = unknown
        self.depends = depends or unknown or terms is not None or any(map(_depends, operands))
        self._made: dict[bool, Any] = {}

    def matrix(self, known: bool) -> Any:
        """Return SciPy's matrix: with the numbers of the example call, or with some."""
        if known and self._unknown:
            raise UnsupportedError(UNKNOWN)
        if known not in self._made:
            if known and self._terms is not None:
                numbers_of(self._terms, known)
            operands = [plain(x, known) for x in self._operands]
            with warnings.catch_warnings():  # the same call in numbers says them, if it is to
                warnings.simplefilter("ignore")
                self._made[known] = self._make(*operands)
        return self._made[known]


def _depends(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return any(map(_depends, x))
    return bool(getattr(x, "depends", False))


def plain(x: Any, known: bool) -> Any:
    """Return what something is in numbers."""
    if isinstance(x, (list, tuple)):
        return type(x)([plain(v, known) for v in x])
    if hasattr(x, "in_scipy"):
        return x.in_scipy(known)
    return numbers_of(x, known) if is_traced(x) else x


def numbers_of(x: Any, known: bool) -> Any:
    """Return the numbers of a traced value in the example call, by a guard on the zeros.

    Unless they are to be ``known``, others that are neither zero nor cancel.
    """
    if not is_traced(x):
        return x
    if not known:
        some = np.random.default_rng(0).uniform(1.0, 2.0, tuple(map(int, x.shape)))
        return some.astype(x.dtype)
    found = _example(x)
    if found is None:
        raise UnsupportedError(UNKNOWN)
    same = np.all((x != 0) == (found != 0))
    if isinstance(same, Traced):
        now().examples.decide(same.node, bool)
    return found


def _example(x: Any) -> Any:
    if not isinstance(x, Traced):
        real, imag = _example(x.real), _example(x.imag)
        return None if real is None or imag is None else real + 1j * imag
    examples = now().examples
    return None if examples is None else examples.value(x.node)


def places_of(a: Any) -> tuple[Any, Any]:
    """Return the row and the column of each number that a matrix of SciPy's stores.

    Index arrays are of the shape of its ``data``; some of ``dia`` lie outside of the matrix.
    """
    if a.format in ("csr", "csc"):
        outer = np.repeat(np.arange(len(a.indptr) - 1), np.diff(a.indptr))
        return (outer, a.indices) if a.format == "csr" else (a.indices, outer)
    if a.format == "bsr":
        r, c = a.blocksize
        blocks = np.repeat(np.arange(len(a.indptr) - 1), np.diff(a.indptr))
        rows = (blocks * r)[:, None, None] + np.arange(r)[:, None]
        columns = (a.indices * c)[:, None, None] + np.arange(c)
        return tuple(np.broadcast_arrays(rows, columns))
    if a.format == "dia":
        columns = np.broadcast_to(np.arange(a.data.shape[1]), a.data.shape)
        return columns - a.offsets[:, None], columns
    if a.format == "lil":
        rows = np.repeat(np.arange(a.shape[0]), [len(row) for row in a.rows])
        return rows, np.concatenate([*map(np.asarray, a.rows), np.zeros(0)]).astype(np.int64)
    if a.format == "dok":
        keys = np.array(list(a.keys()), np.int64).reshape(-1, 2)
        return keys[:, 0], keys[:, 1]
    return a.row, a.col


def like_data(a: Any, values: Any) -> Any:
    """Return values, in the order of :func:`places_of`, as ``data`` of a format has them."""
    if a.format == "lil":
        ends = np.cumsum([0, *map(len, a.rows)])
        found = np.empty(len(a.rows), object)
        for k, (first, last) in enumerate(itertools.pairwise(ends)):
            found[k] = tuple([values[n] for n in range(first, last)])
        return found
    return np.reshape(values, a.data.shape)


def version_of(values: Any) -> Any:
    """Return what tells whether something was written to values."""
    if isinstance(values, Traced):
        return values.node
    if is_traced(values):
        return values.real.node, values.imag.node
    return values.tobytes()


# ---------------------------------------------------------------- entries that are left out


@custom_jvp
def _left_out(terms: Any) -> Any:
    return 0.0 * np.sum(terms)


@_left_out.defjvp
def _left_out_slope(primals: Any, tangents: Any) -> Any:
    raise UnsupportedError(DROPPED)


def without(stored: Any, left_out: Any) -> Any:
    """Return stored values; their derivative is refused if it were to be that of others, too.

    That is if some of those which are left out depend on an argument: they are not zero beside it.
    """
    if not is_traced(left_out) or not left_out.shape[0] or not _moves(left_out):
        return stored
    return stored + _left_out(left_out)


def _moves(terms: Any) -> bool:
    if not isinstance(terms, Traced):
        return _moves(terms.real) or _moves(terms.imag)
    beside = now().examples.beside().value(terms.node)
    return beside is None or bool(np.any(beside != 0))
