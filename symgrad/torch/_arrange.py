"""PyTorch's names for functions that arrange, choose, join and sort elements.

Thin: NumPy's functions with PyTorch's arguments. They work on arrays and traced values too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.trace import call
from .._tensor._record import called, planned
from .._tensor._tensor import Tensor
from ..errors import ArgumentError
from ._arguments import Selected, axis_of, example, sizes_of


def _planned(function: Callable[..., Any], input: Any, *args: Any) -> Any:
    """Apply NumPy's function; on tensors what it comes to is found once."""
    if not isinstance(input, Tensor):
        return function(input, *args)
    return planned((function, *args, *map(type, args)), (input,), function, input, *args)


# ---------------------------------------------------------------- shapes


@example("torch.reshape(x, (4,))", "tensor([3., 1., 2., 4.])")
def reshape(input: Any, shape: Sequence[int]) -> Any:
    """Return the elements in a new shape; one size may be -1."""
    return np.reshape(input, tuple(shape))


@example("torch.flatten(x)", "tensor([3., 1., 2., 4.])")
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Return the axes from ``start_dim`` to ``end_dim`` as one."""
    first, last = (d % max(len(input.shape), 1) for d in (start_dim, end_dim))
    target = (*input.shape[:first], -1, *input.shape[last + 1 :])
    return input.reshape(target) if type(input) is Tensor else np.reshape(input, target)


@example("torch.squeeze(x[:1], 0)", "tensor([3., 1.])")
def squeeze(input: Any, dim: Any = None, *, axis: Any = None) -> Any:
    """Return the elements without axes of length one; others stay."""
    dim = axis_of(dim, axis)
    if dim is not None:
        dims = dim if isinstance(dim, (tuple, list)) else (dim,)
        dim = tuple(d for d in dims if input.shape and input.shape[d] == 1)
    return _planned(np.squeeze, input, dim)


@example("torch.unsqueeze(x, 0).shape", "(1, 2, 2)")
def unsqueeze(input: Any, dim: int) -> Any:
    """Return the elements with a new axis of length one."""
    return _planned(np.expand_dims, input, dim)


@example("torch.transpose(x, 0, 1)", "tensor([[3., 2.],\n        [1., 4.]])")
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Return the elements with two axes exchanged."""
    return _planned(np.swapaxes, input, dim0, dim1)


@example("torch.permute(x, (1, 0))", "tensor([[3., 2.],\n        [1., 4.]])")
def permute(input: Any, *dims: Any) -> Any:
    """Return the elements with the axes in another order."""
    return _planned(np.transpose, input, sizes_of(dims))


@example("torch.movedim(x, 0, 1)", "tensor([[3., 2.],\n        [1., 4.]])")
def movedim(input: Any, source: Any, destination: Any) -> Any:
    """Return the elements with axes moved to other places."""
    return _planned(np.moveaxis, input, source, destination)


@example("torch.broadcast_to(x[0], (2, 2))", "tensor([[3., 1.],\n        [3., 1.]])")
def broadcast_to(input: Any, size: Sequence[int]) -> Any:
    """Return the elements repeated along new and length-one axes."""
    lead = len(size) - len(input.shape)
    sizes = [input.shape[k - lead] if d == -1 and k >= lead else d for k, d in enumerate(size)]
    return _planned(np.broadcast_to, input, tuple(sizes))


@example("torch.flip(x, (0,))", "tensor([[2., 4.],\n        [3., 1.]])")
def flip(input: Any, *dims: Any) -> Any:
    """Return the elements with axes in reverse order."""
    return np.copy(_planned(np.flip, input, sizes_of(dims)))


@example("torch.roll(x, 1, 0)", "tensor([[2., 4.],\n        [3., 1.]])")
def roll(input: Any, shifts: Any, dims: Any = None) -> Any:
    """Return the elements moved around an axis."""
    return np.roll(input, shifts, dims)


@example("torch.tile(x[0], (2,))", "tensor([3., 1., 3., 1.])")
def tile(input: Any, *dims: Any) -> Any:
    """Return the array repeated as a whole: what PyTorch's ``t.repeat`` does."""
    return np.tile(input, sizes_of(dims))


@example("torch.repeat_interleave(x[0], 2)", "tensor([3., 3., 1., 1.])")
def repeat_interleave(input: Any, repeats: Any, dim: int | None = None) -> Any:
    """Return each element repeated: what NumPy's ``repeat`` does."""
    return np.repeat(input, repeats, axis=dim)


# ---------------------------------------------------------------- parts


@example("torch.split(x[0], 1)", "(tensor([3.]), tensor([1.]))")
def split(input: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Return parts of the given size, or sizes, along an axis."""
    total = input.shape[dim]
    if isinstance(split_size_or_sections, int):
        size = split_size_or_sections
        if size < 1:
            raise ArgumentError(f"split: parts have at least one element, not {size}")
        cuts = list(range(size, total, size))
    else:
        sections = list(split_size_or_sections)
        if int(np.sum(sections)) != total:
            raise ArgumentError(f"split: the sizes {sections} do not add up to {total}")
        cuts = [int(c) for c in np.cumsum(sections)[:-1]]
    return tuple(np.split(input, cuts, axis=dim))


@example("torch.chunk(x[0], 2)", "(tensor([3.]), tensor([1.]))")
def chunk(input: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """Return so many parts along an axis, the last of which may be smaller."""
    parts: tuple[Any, ...] = split(input, max(-(-input.shape[dim] // chunks), 1), dim)
    return parts


@example("torch.unbind(x)", "(tensor([3., 1.]), tensor([2., 4.]))")
def unbind(input: Any, dim: int = 0) -> tuple[Any, ...]:
    """Return the parts of an axis, without it."""
    return tuple(np.moveaxis(input, dim, 0))


@example("torch.narrow(x, 1, 0, 1)", "tensor([[3.],\n        [2.]])")
def narrow(input: Any, dim: int, start: int, length: int) -> Any:
    """Return ``length`` elements of an axis from ``start`` on."""
    return np.moveaxis(np.moveaxis(input, dim, 0)[start : start + length], 0, dim)


@example("torch.select(x, 1, 0)", "tensor([3., 2.])")
def select(input: Any, dim: int, index: int) -> Any:
    """Return one row of an axis."""
    return np.moveaxis(input, dim, 0)[index]


@example("torch.diff(x)", "tensor([[-2.],\n        [ 2.]])")
def diff(input: Any, n: int = 1, dim: int = -1) -> Any:
    """Return the differences of neighbours along an axis."""
    return np.diff(input, n, axis=dim)


@example("torch.tril(x)", "tensor([[3., 0.],\n        [2., 4.]])")
def tril(input: Any, diagonal: int = 0) -> Any:
    """Return the lower triangle of matrices."""
    return np.tril(input, diagonal)


@example("torch.triu(x)", "tensor([[3., 1.],\n        [0., 4.]])")
def triu(input: Any, diagonal: int = 0) -> Any:
    """Return the upper triangle of matrices."""
    return np.triu(input, diagonal)


@example("torch.diag(x)", "tensor([3., 4.])")
def diag(input: Any, diagonal: int = 0) -> Any:
    """Return a matrix's diagonal, or the matrix with the given diagonal."""
    return np.copy(np.diag(input, diagonal))


# ---------------------------------------------------------------- side by side


@example("torch.cat([torch.zeros(2), torch.ones(1)])", "tensor([0., 0., 1.])")
def cat(tensors: Sequence[Any], dim: int = 0, *, axis: int | None = None) -> Any:
    """Return tensors joined along an axis."""
    return _joined(np.concatenate, tensors, dim if axis is None else axis)


@example("torch.stack([torch.zeros(2), torch.ones(2)])", "tensor([[0., 0.],\n        [1., 1.]])")
def stack(tensors: Sequence[Any], dim: int = 0, *, axis: int | None = None) -> Any:
    """Return tensors of one shape side by side along a new axis."""
    return _joined(np.stack, tensors, dim if axis is None else axis)


def _joined(function: Callable[..., Any], tensors: Any, axis: int) -> Any:
    parts = tuple(tensors)
    kinds, given = {*map(type, parts)}, {"axis": axis}
    if Tensor not in kinds:
        return function(parts, axis=axis)
    if len(kinds) == 1:
        return planned((function, axis, type(axis)), parts, call, function, (parts,), given)
    return called(function, parts, given, lambda: call(function, (parts,), given))


@example("torch.hstack([x[0], x[1]])", "tensor([3., 1., 2., 4.])")
def hstack(tensors: Sequence[Any]) -> Any:
    """Return tensors side by side."""
    return np.hstack(list(tensors))


@example("torch.vstack([x[1], x[0]])", "tensor([[2., 4.],\n        [3., 1.]])")
def vstack(tensors: Sequence[Any]) -> Any:
    """Return tensors one above the other."""
    return np.vstack(list(tensors))


@example("torch.meshgrid(x[0], x[1])[1]", "tensor([[2., 4.],\n        [2., 4.]])")
def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Any, ...]:
    """Return the coordinates of a grid, one array for each axis."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    return tuple(np.meshgrid(*given, indexing=indexing))


# ---------------------------------------------------------------- choosing


def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """Return ``input`` where the condition holds, else ``other``.

    With the condition alone: where it holds, as index arrays, one for each axis.

    Examples
    --------
    >>> import symgrad.torch as torch
    >>> x = torch.tensor([-1.0, 2.0])
    >>> torch.where(x > 0, x, 0.0)
    tensor([0., 2.])
    >>> torch.where(x > 0)
    (tensor([1]),)
    """
    if input is None and other is None:
        return np.nonzero(condition)
    if input is None or other is None:
        raise ArgumentError("where takes the condition alone, or both of what is chosen from")
    if isinstance(condition, Tensor) and isinstance(input, Tensor):  # no need of NumPy's protocol
        return call(np.where, (condition, input, other), {})
    return np.where(condition, input, other)


@example("torch.gather(x, 1, torch.tensor([[0], [1]]))", "tensor([[3.],\n        [4.]])")
def gather(input: Any, dim: int, index: Any) -> Any:
    """Return the elements at the given places of an axis."""
    return np.take_along_axis(input, index, dim)


@example("torch.index_select(x, 0, torch.tensor([1]))", "tensor([[2., 4.]])")
def index_select(input: Any, dim: int, index: Any) -> Any:
    """Return the given rows of an axis."""
    return np.take(input, index, axis=dim)


@example("torch.masked_fill(x, x > 2, 0.0)", "tensor([[0., 1.],\n        [2., 0.]])")
def masked_fill(input: Any, mask: Any, value: Any) -> Any:
    """Return the elements, in their type, with a number where the mask holds."""
    filled = np.where(mask, value, input)
    return filled if filled.dtype == input.dtype else filled.astype(input.dtype)


@example("torch.masked_select(x, x > 2)", "tensor([3., 4.])")
def masked_select(input: Any, mask: Any) -> Any:
    """Return the elements where the mask holds."""
    return input[mask]


@example("torch.nonzero(x - 3.0)", "tensor([[0, 1],\n        [1, 0],\n        [1, 1]])")
def nonzero(input: Any) -> Any:
    """Return the places of the elements that are not zero, a row for each."""
    return np.argwhere(input)


@example("torch.argsort(x)", "tensor([[1, 0],\n        [0, 1]])")
def argsort(
    input: Any, dim: int | None = None, descending: bool = False, *, axis: int | None = None
) -> Any:
    """Return the places of the elements in order of size; nan counts as the largest."""
    where = axis_of(dim, axis)
    where = -1 if where is None else where
    if not descending:
        return np.argsort(input, axis=where, stable=True)
    backwards = np.argsort(np.flip(input, where), axis=where, stable=True)  # -input may overflow
    return input.shape[where] - 1 - np.flip(backwards, where)


@example("torch.sort(x, descending=True).values", "tensor([[3., 1.],\n        [4., 2.]])")
def sort(
    input: Any, dim: int | None = None, descending: bool = False, *, axis: int | None = None
) -> Selected:
    """Return the elements in order of size, and where they were."""
    where = axis_of(dim, axis)
    where = -1 if where is None else where
    places = argsort(input, where, descending)
    return Selected(np.take_along_axis(input, places, where), places)


@example("torch.topk(x, 1).values", "tensor([[3.],\n        [4.]])")
def topk(input: Any, k: int, dim: int = -1, largest: bool = True) -> Selected:
    """Return the ``k`` largest elements, the largest first, and where they were."""
    places = np.moveaxis(np.moveaxis(argsort(input, dim, largest), dim, 0)[:k], 0, dim)
    return Selected(np.take_along_axis(input, places, dim), places)


__all__ = [
    "argsort", "broadcast_to", "cat", "chunk", "diag", "diff", "flatten", "flip", "gather",
    "hstack", "index_select", "masked_fill", "masked_select", "meshgrid", "movedim", "narrow",
    "nonzero", "permute", "repeat_interleave", "reshape", "roll", "select", "sort", "split",
    "squeeze", "stack", "tile", "topk", "transpose", "tril", "triu", "unbind", "unsqueeze",
    "vstack", "where",
]  # fmt: skip
