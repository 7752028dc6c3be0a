"""Products with sparse matrices of SciPy's, whose numbers are constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._late import loaded
from .._shapes import as_dim, hint, same
from ..errors import ShapeError
from .indexing import SCATTER
from .np_common import lift


def is_sparse(value: Any) -> bool:
    """Tell whether a value is a sparse array or matrix of SciPy's; SciPy is not imported for it."""
    sparse = loaded("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(value))


def sparse_product(matrix: Any, x: Any) -> Any:
    """Return ``matrix @ x``: its entries times what is gathered, added by rows."""
    height, width = matrix.shape
    if x.ndim not in (1, 2) or not same(as_dim(x.shape[0]), width):
        sizes = tuple(hint(as_dim(n)) for n in x.shape)
        raise ShapeError(f"a sparse matrix of shape {matrix.shape} times an array of shape {sizes}")
    rows = matrix.tocsr()
    rows.sum_duplicates()
    index = np.repeat(np.arange(height), np.diff(rows.indptr))
    entries = rows.data.astype(np.result_type(rows.dtype, x.dtype))
    taken = np.take(x, rows.indices.astype(np.int64), axis=0)
    product = taken * (entries if x.ndim == 1 else entries[:, None])
    shape = (height, *x.shape[1:])
    return SCATTER(product, lift(index, x), axes=(0,), at=0, shape=shape)
