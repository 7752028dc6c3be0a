"""The way back through folds, products and views on arrays, in as few calls as there can be.

Each does what the op's record says, to the last bit. What is unusual is left to the record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .._ops.movement import by_rows, inverse
from .._ops.reductions import kept
from .._ops.regions import slices
from ._guard import guarded
from ._node import AccumulateGrad

#: A node of which the engine knows that it holds its operands.
Held = Any

ndarray, zeros = np.ndarray, np.zeros
_index = lru_cache(maxsize=4096)(slices)
_inverse = lru_cache(maxsize=1024)(inverse)


def by_record(node: Held, ct: Any) -> Sequence[Any]:
    """Go back by the op's record."""
    node.check()
    parts: Sequence[Any] = node.pull(ct)
    return parts


def read(node: Held, x: Any) -> Any:
    """Return what an operand holds; raise if it was overwritten."""
    if isinstance(x, (ndarray, np.generic)):
        return x
    cell = x._cell
    if cell is not None and cell.written > node.seq:
        node.check()
    return x._data


# ---------------------------------------------------------------- folds


def _sum(node: Held, ct: Any) -> Sequence[Any]:
    shape, dtype = node.saved[0]
    if ct.dtype is not dtype:
        ct = ct.astype(dtype)
    if ct.ndim == 0:
        return (ndarray(shape, dtype, ct, 0, (0,) * len(shape)),)
    if 0 in shape or not ct.flags.c_contiguous:
        return by_record(node, ct)
    strides = list(ct.strides)
    for k in sorted(node.params["axes"]):
        strides.insert(k, 0)
    return (ndarray(shape, dtype, ct, 0, strides),)


def sum_keeping(node: Held, ct: Any) -> Sequence[Any]:
    """Go back through a sum with ``keepdims``."""
    shape, dtype = node.saved[0]
    if ct.dtype is not dtype:
        ct = ct.astype(dtype)
    if 0 in shape or not ct.flags.c_contiguous:
        return by_record(node, ct)
    axes = node.params["axes"]
    strides = [0 if k in axes else stride for k, stride in enumerate(ct.strides)]
    return (ndarray(shape, dtype, ct, 0, strides),)


def mean_back(node: Held, ct: Any) -> Sequence[Any]:
    """Go back through a mean."""
    return _sum(node, _share(node, ct))


def mean_keeping(node: Held, ct: Any) -> Sequence[Any]:
    """Go back through a mean with ``keepdims``."""
    return sum_keeping(node, _share(node, ct))


def _share(node: Held, ct: Any) -> Any:
    shape, dtype = node.saved[0]
    count = 1
    for k in node.params["axes"]:
        count *= shape[k]
    part = ct * (dtype.type(1) / dtype.type(count))
    return part if type(part) is ndarray else np.asarray(part)


def extremum(node: Held, ct: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    """Share a gradient among the elements that attain an extremum."""
    x = read(node, node.saved[0])
    y, cell, dtype = node.result, node.cell, x.dtype
    if cell is not None and cell.written > node.seq:
        node.check()
    if ct.dtype is not dtype:
        ct = ct.astype(dtype)
    if not x.flags.c_contiguous:
        x = by_rows(x)
    if ct.ndim == 0:
        hit = x == y
        count = np.count_nonzero(hit)
        share = ct
    else:
        axes = node.params["axes"]
        around = kept(x.shape, axes)
        hit = x == y.reshape(around)
        count = np.add.reduce(hit, axes, dtype).reshape(around)
        share = ct.reshape(around)
    if not np.all(count):  # nan attains nothing
        node.check()
        return guarded(node, ct, None, False)
    part = zeros(x.shape, dtype)
    np.copyto(part, share * (dtype.type(1) / np.asarray(count, dtype)), where=hit)
    return (part,), (_support(hit, node.behind[0]),)


# ---------------------------------------------------------------- choices


def _where(node: Held, ct: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    """Send a gradient to what was chosen."""
    condition, a, b = node.saved
    _, first, second = node.behind
    truth = read(node, condition)
    shape = ct.shape
    for x, edge in ((a, first), (b, second)):
        if edge is not None and (x[0] if type(x) is tuple else x.shape) != shape:
            truth = None
    if truth is None or truth.dtype.kind != "b" or truth.shape != shape:
        node.check()
        return guarded(node, ct, None, False)
    untruth = None if second is None else ~truth
    return (
        (None, _chosen(truth, ct, a, first), _chosen(untruth, ct, b, second)),
        (None, _support(truth, first), _support(untruth, second)),
    )


def _chosen(truth: Any, ct: Any, x: Any, edge: Any) -> Any:
    if edge is None:
        return None
    dtype = x[1] if type(x) is tuple else x.dtype
    part = zeros(ct.shape, dtype)
    np.copyto(part, ct, where=truth)
    return part


def _support(truth: Any, edge: Any) -> Any:
    """Return where a gradient can differ from 0, if what is behind has to know."""
    return None if edge is None or type(edge) is AccumulateGrad else truth


# ---------------------------------------------------------------- products


def _contract(node: Held, ct: Any) -> Sequence[Any]:
    """Multiply by the other operand, as :func:`symgrad._ops.contract.contracted` would."""
    first, second = node.behind
    a, b = node.saved
    x = None if second is None else read(node, a)
    y = None if first is None else read(node, b)
    letters = node.params
    pull = _PULLS.get((letters["a"], letters["b"], letters["out"]))
    if pull is None or not (_plain(ct, ct) and _plain(x, ct) and _plain(y, ct)):
        return by_record(node, ct)
    return pull(ct, x, y)


def _plain(x: Any, ct: Any) -> bool:
    """Tell whether an array, if there is one, can be given to ``dot``."""
    if x is None:
        return True
    flags = x.flags
    return (flags.c_contiguous or flags.f_contiguous) and x.dtype is ct.dtype and 1 not in x.shape


_Parts = tuple[Any, Any]


def _matrix_matrix(ct: Any, x: Any, y: Any) -> _Parts:
    return None if y is None else ct.dot(y.T), None if x is None else x.T.dot(ct)


def _matrix_vector(ct: Any, x: Any, y: Any) -> _Parts:
    return None if y is None else ct[:, None] * y, None if x is None else ct.dot(x)


def _vector_matrix(ct: Any, x: Any, y: Any) -> _Parts:
    return None if y is None else ct.dot(y.T), None if x is None else x[:, None] * ct


def _vector_vector(ct: Any, x: Any, y: Any) -> _Parts:
    return None if y is None else ct * y, None if x is None else ct * x


_PULLS: dict[tuple[str, str, str], Callable[[Any, Any, Any], _Parts]] = {
    ("ij", "jk", "ik"): _matrix_matrix,
    ("ij", "j", "i"): _matrix_vector,
    ("j", "jk", "k"): _vector_matrix,
    ("j", "j", ""): _vector_vector,
}


# ---------------------------------------------------------------- views


def _slice(node: Held, ct: Any) -> Sequence[Any]:
    shape, dtype = node.saved[0]
    part = zeros(shape, dtype)
    part[_index(node.params["region"])] = ct
    return (part,)


def _gather(node: Held, ct: Any) -> Sequence[Any]:
    params, indices = node.params, node.saved[1:]
    if params["axes"] != (0,) or params["at"] or len(indices) != 1:
        return by_record(node, ct)
    shape, dtype = node.saved[0]
    part = zeros(shape, dtype)
    np.add.at(part, read(node, indices[0]), ct)
    return part, None


def _assemble(node: Held, ct: Any) -> Sequence[Any]:
    regions = node.params["regions"]
    return [
        None if edge is None else _own(ct[_index(region)], x[1])
        for edge, region, x in zip(node.behind, regions, node.saved, strict=True)
    ]


def _reshape(node: Held, ct: Any) -> Sequence[Any]:
    shape, dtype = node.saved[0]
    return (_own(ct.reshape(shape), dtype),)


def _transpose(node: Held, ct: Any) -> Sequence[Any]:
    return (_own(ct.transpose(_inverse(node.params["axes"])), node.saved[0][1]),)


def _own(part: Any, dtype: Any) -> Any:
    """Return a gradient in C order, unless it repeats numbers, and in a type."""
    if not part.flags.c_contiguous and 0 not in part.strides:
        part = part.copy()
    return part if part.dtype is dtype else part.astype(dtype)


#: By op; others go back by their records.
BACKS: dict[str, Callable[[Held, Any], Sequence[Any]]] = {
    "Sum": _sum,
    "Contract": _contract,
    "Assemble": _assemble,
    "Gather": _gather,
    "Slice": _slice,
    "Reshape": _reshape,
    "Transpose": _transpose,
}
GUARDED: dict[str, Callable[[Held, Any], tuple[Sequence[Any], Sequence[Any]]]] = {
    "Max": extremum,
    "Min": extremum,
    "Where": _where,
}

__all__ = [
    "BACKS", "GUARDED", "by_record", "extremum", "mean_back", "mean_keeping", "read", "sum_keeping",
]  # fmt: skip
