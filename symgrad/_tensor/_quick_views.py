"""The short ways of views: indexing by integers and slices, ``reshape``, ``T``; see :mod:`._quick`.

What an index or a shape means for an array of a shape is found once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._ops.regions import slices
from ._made import Step, constant, recorded
from ._mode import recording
from ._quick_picks import picked
from ._tensor import Tensor

#: How many indices and shapes are known; all are forgotten when there are more.
MOST = 4096

#: What NumPy is given, and the op's parameters: by shape and index, or by shapes.
_indices: dict[Any, tuple[Any, dict[str, Any]]] = {}
_shapes: dict[Any, dict[str, Any]] = {}
#: The parameters of transpositions by the axes, and by rank for all in reverse.
_permuted: dict[tuple[int, ...], dict[str, Any]] = {}
_reversed: dict[int, dict[str, Any]] = {}

_SLICE, _RESHAPE, _TRANSPOSE = Step("Slice"), Step("Reshape"), Step("Transpose")


def _viewed(x: Tensor, data: Any, known: Step, params: dict[str, Any], depth: int = 2) -> Tensor:
    """Return a view with its node; the user's code is so many calls up."""
    array, cell, fn = x._data, x._cell or x.memory(), x._fn
    behind: Any = fn
    if fn is None:
        cell.leaf = True
        behind = x
    return recorded(
        data, cell, known.cls, known.rule, (behind,), ((array.shape, array.dtype),), params, None,
        depth + 1,
    )  # fmt: skip


# ---------------------------------------------------------------- indexing


def _region(shape: tuple[int, ...], index: Any) -> tuple[Any, dict[str, Any]] | None:
    """Return NumPy's index and the op's parameters, or None for the general way."""
    parts = index if type(index) is tuple else (index,)
    if Ellipsis in parts:
        k = parts.index(Ellipsis)
        parts = (*parts[:k], *[slice(None)] * (len(shape) - len(parts) + 1), *parts[k + 1 :])
    if len(parts) > len(shape) or Ellipsis in parts:
        return None
    region: list[Any] = []
    for x, size in zip(parts, shape, strict=False):
        if type(x) is int:
            if not -size <= x < size:
                return None
            region.append((x % size, 1, None))
        else:
            start, stop, by = x.indices(size)
            count = len(range(start, stop, by))
            region.append((start, by, count) if count else (0, 1, 0))
    region += [(0, 1, size) for size in shape[len(parts) :]]
    if all(entry == (0, 1, size) for entry, size in zip(region, shape, strict=True)):
        return None
    # With the Ellipsis an element is a view, too.
    return (*slices(tuple(region)), ...), {"region": tuple(region)}


def _key(index: Any) -> list[Any] | None:
    """Return what is hashed of an index of integers, slices and an Ellipsis, by rows of types."""
    key: list[Any] = []
    for x in index if type(index) is tuple else (index,):
        kind = type(x)
        if kind is int or x is Ellipsis:
            key.append(x)
        elif kind is slice:
            start, stop, by = x.start, x.stop, x.step
            if not (
                (start is None or type(start) is int)
                and (stop is None or type(stop) is int)
                and (by is None or (type(by) is int and by))
            ):
                return None
            key += (slice, start, stop, by)
        else:
            return None
    return key


def _item(general: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def item(self: Any, index: Any) -> Any:
        if type(self) is not Tensor:
            return general(self, index)
        data, cell = self._data, self._cell
        kind = type(index)
        key: Any
        if kind is int or (
            kind is tuple and len(index) == 2 and type(index[0]) is type(index[1]) is int
        ):
            key = (data.shape, index)
        elif kind is slice:
            start, stop, by = index.start, index.stop, index.step
            if not (
                (start is None or type(start) is int)
                and (stop is None or type(stop) is int)
                and (by is None or (type(by) is int and by))
            ):
                return general(self, index)
            key = (data.shape, start, stop, by)
        else:
            if kind is Tensor or kind is np.ndarray:
                made = picked(self, index)
                return general(self, index) if made is None else made
            key = _key(index)
            if key is None:
                return general(self, index)
            key = (data.shape, kind, *key)
        known = _indices.get(key)
        if known is None:
            known = _region(data.shape, index)
            if known is None:
                return general(self, index)
            if len(_indices) >= MOST:
                _indices.clear()
            _indices[key] = known
        if cell is not None and cell.rebased:
            self.check_record()
        if not self._requires or not recording():
            return constant(data[known[0]], cell or self.memory())
        return _viewed(self, data[known[0]], _SLICE, known[1])

    return item


# ---------------------------------------------------------------- shapes


def _target(old: tuple[int, ...], shape: Any) -> dict[str, Any] | None:
    """Return the op's parameters; None if the general way has to look at the sizes."""
    sizes = shape[0] if len(shape) == 1 and type(shape[0]) is tuple else shape
    count = known = 1
    for size in old:
        count *= size
    for size in sizes:
        if type(size) is not int or size < -1:
            return None
        known *= size if size != -1 else 1
    if sizes.count(-1) > 1 or not known or not count:
        return None
    target = tuple([count // known if size == -1 else size for size in sizes])
    size = known * (count // known if -1 in sizes else 1)
    return None if size != count or target == old else {"shape": target}


def _reshaping(general: Callable[..., Any]) -> Callable[..., Any]:
    def reshape(self: Any, *shape: Any, order: str = "C") -> Any:
        """Return the elements in a new shape; one size may be -1."""
        if type(self) is not Tensor or order != "C":
            return general(self, *shape, order=order)
        data, cell = self._data, self._cell
        try:
            known = _shapes.get((data.shape, shape))
        except TypeError:
            return general(self, *shape)
        if known is None:
            known = _target(data.shape, shape)
            if known is None:
                return general(self, *shape)
            if len(_shapes) >= MOST:
                _shapes.clear()
            _shapes[data.shape, shape] = known
        if cell is not None and cell.rebased:
            self.check_record()
        if not self._requires or not recording():
            return constant(data.reshape(*shape), cell or self.memory())
        return _viewed(self, data.reshape(*shape), _RESHAPE, known)

    return reshape


def permuted(x: Any, axes: tuple[int, ...]) -> Any:
    """Return a tensor with its axes in another order: all of them, counted from the front."""
    params = _permuted.get(axes)
    if params is None:
        if sorted(axes) != list(range(len(axes))) or axes == tuple(range(len(axes))):
            return np.transpose(x, axes)
        params = _permuted.setdefault(axes, {"axes": axes})
    data, cell = x._data, x._cell
    if cell is not None and cell.rebased:
        x.check_record()
    if not x._requires or not recording():
        return constant(data.transpose(axes), cell or x.memory())
    return _viewed(x, data.transpose(axes), _TRANSPOSE, params, 3)


def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Exchange two axes."""
    if type(input) is Tensor and type(dim0) is type(dim1) is int:
        axes = list(range(input._data.ndim))
        rank = len(axes)
        if -rank <= dim0 < rank and -rank <= dim1 < rank:
            axes[dim0], axes[dim1] = axes[dim1], axes[dim0]
            return permuted(input, tuple(axes))
    return np.swapaxes(input, dim0, dim1)


def permute(input: Any, axes: Any) -> Any:
    """Bring the axes into another order."""
    if type(input) is Tensor and len(axes) == input._data.ndim:
        rank = len(axes)
        if all(type(k) is int and -rank <= k < rank for k in axes):
            return permuted(input, tuple([k % rank for k in axes]))
    return np.transpose(input, axes)


def _transposed(self: Any) -> Any:
    """The transpose."""
    data = self._data
    rank = data.ndim
    if type(self) is not Tensor or rank < 2:
        return np.transpose(self)
    cell = self._cell
    if cell is not None and cell.rebased:
        self.check_record()
    if not self._requires or not recording():
        return constant(data.T, cell or self.memory())
    params = _reversed.get(rank)
    if params is None:
        params = _reversed[rank] = {"axes": tuple(range(rank))[::-1]}
    return _viewed(self, data.T, _TRANSPOSE, params)


Tensor.__getitem__ = _item(Tensor.__getitem__)  # type: ignore[method-assign]
Tensor.reshape = _reshaping(Tensor.reshape)  # type: ignore[method-assign]
Tensor.T = property(_transposed)  # type: ignore[method-assign, assignment]

__all__ = ["permute", "permuted", "transpose"]
