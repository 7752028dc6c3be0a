"""NumPy's products of vectors, matrices and tensors, with sums over axes and without."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import ShapeError
from ..base.broadcast import broadcast, normalize_axis, show
from ..base.scipy_names import loaded
from ..base.sizes import as_dim, as_size, hint, same
from ..op import composite
from .gathers import SCATTER
from .np_common import (
    as_array,
    conjugated,
    declared,
    dims,
    equal,
    iota,
    is_one,
    lift,
    reshaped,
    spread,
)
from .np_einsum import Term, product

LETTERS = string.ascii_letters


def _core(x: Any, y: Any, i: int, j: int, name: str) -> None:
    """Check that the summed axes have one size (they do not broadcast)."""
    if not equal(x.shape[i], y.shape[j]):
        raise ShapeError(
            f"{name}: axis {i % x.ndim} of shape {show(dims(x))} and axis {j % y.ndim} of "
            f"shape {show(dims(y))} are summed together but differ"
        )


def _batched(x: Any, y: Any, x_core: str, y_core: str, out: str, name: str) -> Any:
    """Contract the last axes by letters; the leading ones broadcast."""
    lead = [dims(v)[: v.ndim - len(core)] for v, core in ((x, x_core), (y, y_core))]
    try:
        sizes = broadcast(*lead)
    except ShapeError:
        raise ShapeError(
            f"{name}: the leading axes of shapes {show(dims(x))} and {show(dims(y))} "
            "do not broadcast"
        ) from None
    batch = LETTERS[26 : 26 + len(sizes)]
    terms = []
    for v, core, own in ((x, x_core, lead[0]), (y, y_core, lead[1])):
        term = Term(batch[len(batch) - len(own) :] + core, v)
        places = zip(term.letters, own, sizes[len(sizes) - len(own) :], strict=False)
        term.drop([s for s, d, full in places if is_one(as_size(d)) and not is_one(as_size(full))])
        terms.append(term)
    return product(terms[0], terms[1], batch + out)


# ---------------------------------------------------------------- matrices


def with_axes(x: Any, rank: int, name: str) -> Any:
    """Return ``x`` as an array of at least ``rank`` axes."""
    x = as_array(x)
    if x.ndim < rank:
        raise ShapeError(
            f"{name}: an operand of shape {show(dims(x))} has too few axes, needs {rank}"
        )
    return x


@composite(np.matmul, np.linalg.matmul)
def matmul(x1: Any, x2: Any) -> Any:
    """Matrix product; leading axes broadcast."""
    x, y = with_axes(x1, 1, "matmul"), with_axes(x2, 1, "matmul")
    _core(x, y, -1, -2 if y.ndim > 1 else -1, "matmul")
    row, column = ("i" if x.ndim > 1 else ""), ("k" if y.ndim > 1 else "")
    return _batched(x, y, row + "j", "j" + column, row + column, "matmul")


def _vectors(names: str, x_core: str, y_core: str, out: str, doc: str) -> None:
    def contraction(x1: Any, x2: Any) -> Any:
        x, y = with_axes(x1, len(x_core), names), with_axes(x2, len(y_core), names)
        x = conjugated(x) if names == "vecmat" else x
        _core(x, y, -1, -1 if y_core == "j" or x_core == "ij" else -2, names)
        return _batched(x, y, x_core, y_core, out, names)

    contraction.__doc__ = doc
    # NumPy 2.2 and later; the record is there in any case.
    composite(*declared(names), name=names)(contraction)


_vectors("matvec", "ij", "j", "i", "Matrix times vector; leading axes broadcast.")
_vectors("vecmat", "j", "jk", "k", "Conjugated vector times matrix; leading axes broadcast.")


@composite(*declared("vecdot"), np.linalg.vecdot)
def vecdot(x1: Any, x2: Any, *, axis: int = -1) -> Any:
    """Sum of products along an axis, the first conjugated; the other axes broadcast."""
    x, y = conjugated(with_axes(x1, 1, "vecdot")), with_axes(x2, 1, "vecdot")
    if axis != -1:
        x, y = np.moveaxis(x, axis, -1), np.moveaxis(y, axis, -1)
    _core(x, y, -1, -1, "vecdot")
    return _batched(x, y, "j", "j", "", "vecdot")


@composite(np.linalg.matrix_power)
def matrix_power(a: Any, n: int) -> Any:
    """A square matrix times itself, n times."""
    x = with_axes(a, 2, "matrix_power")
    if not equal(x.shape[-1], x.shape[-2]):
        raise ShapeError(f"matrix_power takes square matrices, not the shape {show(dims(x))}")
    if n < 0:
        x, n = np.linalg.inv(x), -n
    if n == 0:
        i = iota(x.shape[-1], x)
        one = (reshaped(i, (x.shape[-1], 1)) == i).astype(x.dtype)
        return spread(one, x.shape, x)
    result = None
    while n:
        n, odd = divmod(n, 2)
        if odd:
            result = x if result is None else np.matmul(result, x)
        x = np.matmul(x, x) if n else x
    return result


# ---------------------------------------------------------------- dot and its relatives


@composite(np.dot)
def dot(a: Any, b: Any) -> Any:
    """Product of vectors, matrices and scalars; sums over the last and the last but one axis."""
    x, y = as_array(a), as_array(b)
    if x.ndim == 0 or y.ndim == 0:
        return np.multiply(x, y)
    axis = max(y.ndim - 2, 0)
    _core(x, y, -1, axis, "dot")
    return _tensordot(x, y, [x.ndim - 1], [axis])


@composite(np.vdot)
def vdot(a: Any, b: Any) -> Any:
    """Sum of products of all elements, the first conjugated."""
    x, y = conjugated(np.ravel(as_array(a))), np.ravel(as_array(b))
    _core(x, y, 0, 0, "vdot")
    return _tensordot(x, y, [0], [0])


@composite(np.inner)
def inner(a: Any, b: Any) -> Any:
    """Sum of products over the last axes."""
    x, y = as_array(a), as_array(b)
    if x.ndim == 0 or y.ndim == 0:
        return np.multiply(x, y)
    _core(x, y, -1, -1, "inner")
    return _tensordot(x, y, [x.ndim - 1], [y.ndim - 1])


def _tensordot(x: Any, y: Any, x_axes: Sequence[int], y_axes: Sequence[int]) -> Any:
    left, right = list(LETTERS[: x.ndim]), list(LETTERS[x.ndim : x.ndim + y.ndim])
    for i, j in zip(x_axes, y_axes, strict=True):
        right[j] = left[i]
    out = [s for k, s in enumerate(left) if k not in x_axes]
    out += [s for k, s in enumerate(right) if k not in y_axes]
    return product(Term("".join(left), x), Term("".join(right), y), "".join(out))


@composite(np.tensordot, np.linalg.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Sum of products over chosen pairs of axes."""
    x, y = as_array(a), as_array(b)
    if isinstance(axes, (int, np.integer)):
        count = int(axes)
        if not 0 <= count <= min(x.ndim, y.ndim):
            raise ShapeError(
                f"tensordot: cannot sum over {count} axes of shapes {show(dims(x))} and "
                f"{show(dims(y))}"
            )
        pairs = [(x.ndim - count + k, k) for k in range(count)]
    else:
        left, right = (v if isinstance(v, (list, tuple, np.ndarray)) else [v] for v in axes)
        if len(left) != len(right):
            raise ShapeError(f"tensordot: the axes {axes} do not pair")
        pairs = [(normalize_axis(i, x.ndim), normalize_axis(j, y.ndim))
                 for i, j in zip(left, right, strict=True)]  # fmt: skip
    for i, j in pairs:
        _core(x, y, i, j, "tensordot")
    return _tensordot(x, y, [i for i, _ in pairs], [j for _, j in pairs])


@composite(np.outer)
def outer(a: Any, b: Any) -> Any:
    """All products of two elements, as a matrix."""
    x, y = np.ravel(as_array(a)), np.ravel(as_array(b))
    return reshaped(x, (x.shape[0], 1)) * reshaped(y, (1, y.shape[0]))


@composite(np.linalg.outer, name="linalg.outer")
def linalg_outer(x1: Any, x2: Any, /) -> Any:
    """All products of the elements of two vectors, as a matrix."""
    x, y = as_array(x1), as_array(x2)
    if x.ndim != 1 or y.ndim != 1:
        raise ShapeError(f"outer takes vectors, not shapes {show(dims(x))} and {show(dims(y))}")
    return outer(x, y)


@composite(np.kron)
def kron(a: Any, b: Any) -> Any:
    """Kronecker product: each element of one array times the whole other."""
    x, y = as_array(a), as_array(b)
    rank = max(x.ndim, y.ndim)
    left, right = ((1,) * (rank - v.ndim) + tuple(v.shape) for v in (x, y))
    x = reshaped(x, tuple(d for n in left for d in (n, 1)))
    y = reshaped(y, tuple(d for n in right for d in (1, n)))
    return reshaped(x * y, tuple(m * n for m, n in zip(left, right, strict=True)))


def _cross(x: Any, y: Any) -> Any:
    """The cross product along the last axis."""
    for v in (x, y):
        if v.shape[-1] != 3:
            raise ShapeError(
                f"cross takes vectors of 3 components, not shapes {show(dims(x))} and "
                f"{show(dims(y))} (for 2 write a[0]*b[1] - a[1]*b[0])"
            )
    (a, b, c), (d, e, f) = ([v[..., k] for k in range(3)] for v in (x, y))
    return np.stack([b * f - c * e, c * d - a * f, a * e - b * d], axis=-1)


@composite(np.cross)
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """Cross product of vectors of three components."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x = np.moveaxis(with_axes(a, 1, "cross"), axisa, -1)
    y = np.moveaxis(with_axes(b, 1, "cross"), axisb, -1)
    return np.moveaxis(_cross(x, y), -1, axisc)


@composite(np.linalg.cross, name="linalg.cross")
def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Cross product of vectors of three components along an axis."""
    return cross(x1, x2, axis=axis)


# ---------------------------------------------------------------- products with sparse matrices


def is_sparse(value: Any) -> bool:
    """Tell whether a value is a sparse array or matrix of SciPy's; SciPy is not imported for it."""
    sparse = loaded("scipy.sparse")
    # By the type, not by what a stand-in says that it is: symgrad.scipy.sparse has its own.
    return sparse is not None and issubclass(type(value), (sparse.sparray, sparse.spmatrix))


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
