"""PyTorch's names for functions that arrange, choose and sort elements.

Thin: NumPy's functions with PyTorch's arguments. They work on arrays and traced values too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ._functions import axis_of
from ._record import planned
from ._tensor import Tensor


class Sorted(NamedTuple):
    """What ``sort`` and ``topk`` return: the values and where they were."""

    values: Any
    indices: Any


def _named(name: str, does: str, example: str, shown: str) -> Callable[[Any], Any]:
    """Give a function its public name and a docstring."""

    def decorate(function: Any) -> Any:
        function.__name__ = function.__qualname__ = name
        text = "\n    ".join(shown.splitlines())
        function.__doc__ = (
            f"{does}\n\n    Examples\n    --------\n    >>> import symgrad as sg\n"
            f"    >>> x = sg.tensor([[3.0, 1.0], [2.0, 4.0]])\n    >>> {example}\n    {text}\n    "
        )
        return function

    return decorate


def _whole(sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    """``f(2, 3)`` and ``f((2, 3))`` mean the same."""
    return tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes


def _planned(function: Callable[..., Any], input: Any, *args: Any) -> Any:
    """Apply NumPy's function; on tensors what it comes to is found once."""
    if not isinstance(input, Tensor):
        return function(input, *args)
    return planned((function, *args, *map(type, args)), (input,), function, input, *args)


# ---------------------------------------------------------------- shapes


@_named("reshape", "Return the elements in a new shape; one size may be -1.",
        "sg.reshape(x, (4,))", "tensor([3., 1., 2., 4.])")  # fmt: skip
def reshape(input: Any, shape: Sequence[int]) -> Any:
    return np.reshape(input, tuple(shape))


@_named("flatten", "Return the axes from ``start_dim`` to ``end_dim`` as one.",
        "sg.flatten(x)", "tensor([3., 1., 2., 4.])")  # fmt: skip
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    first, last = (d % max(len(input.shape), 1) for d in (start_dim, end_dim))
    target = (*input.shape[:first], -1, *input.shape[last + 1 :])
    return input.reshape(target) if type(input) is Tensor else np.reshape(input, target)


@_named("squeeze", "Return the elements without axes of length one; others stay.",
        "sg.squeeze(x[:1], 0)", "tensor([3., 1.])")  # fmt: skip
def squeeze(input: Any, dim: Any = None, *, axis: Any = None) -> Any:
    dim = axis_of(dim, axis)
    if dim is not None:
        dims = dim if isinstance(dim, (tuple, list)) else (dim,)
        dim = tuple(d for d in dims if input.shape[d] == 1)
    return _planned(np.squeeze, input, dim)


@_named("unsqueeze", "Return the elements with a new axis of length one.",
        "sg.unsqueeze(x, 0).shape", "(1, 2, 2)")  # fmt: skip
def unsqueeze(input: Any, dim: int) -> Any:
    return _planned(np.expand_dims, input, dim)


@_named("transpose", "Return the elements with two axes exchanged.",
        "sg.transpose(x, 0, 1)", "tensor([[3., 2.],\n        [1., 4.]])")  # fmt: skip
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    return _planned(np.swapaxes, input, dim0, dim1)


@_named("permute", "Return the elements with the axes in another order.",
        "sg.permute(x, (1, 0))", "tensor([[3., 2.],\n        [1., 4.]])")  # fmt: skip
def permute(input: Any, *dims: Any) -> Any:
    return _planned(np.transpose, input, _whole(dims))


@_named("movedim", "Return the elements with axes moved to other places.",
        "sg.movedim(x, 0, 1)", "tensor([[3., 2.],\n        [1., 4.]])")  # fmt: skip
def movedim(input: Any, source: Any, destination: Any) -> Any:
    return _planned(np.moveaxis, input, source, destination)


@_named("broadcast_to", "Return the elements repeated along new and length-one axes.",
        "sg.broadcast_to(x[0], (2, 2))", "tensor([[3., 1.],\n        [3., 1.]])")  # fmt: skip
def broadcast_to(input: Any, size: Sequence[int]) -> Any:
    lead = len(size) - len(input.shape)
    sizes = [input.shape[k - lead] if d == -1 and k >= lead else d for k, d in enumerate(size)]
    return _planned(np.broadcast_to, input, tuple(sizes))


@_named("flip", "Return the elements with axes in reverse order.",
        "sg.flip(x, (0,))", "tensor([[2., 4.],\n        [3., 1.]])")  # fmt: skip
def flip(input: Any, *dims: Any) -> Any:
    return _planned(np.flip, input, _whole(dims))


@_named("roll", "Return the elements moved around an axis.",
        "sg.roll(x, 1, 0)", "tensor([[2., 4.],\n        [3., 1.]])")  # fmt: skip
def roll(input: Any, shifts: Any, dims: Any = None) -> Any:
    return np.roll(input, shifts, dims)


@_named("tile", "Return the array repeated as a whole: what PyTorch's ``t.repeat`` does.",
        "sg.tile(x[0], (2,))", "tensor([3., 1., 3., 1.])")  # fmt: skip
def tile(input: Any, *dims: Any) -> Any:
    return np.tile(input, _whole(dims))


@_named("repeat_interleave", "Return each element repeated: what NumPy's ``repeat`` does.",
        "sg.repeat_interleave(x[0], 2)", "tensor([3., 3., 1., 1.])")  # fmt: skip
def repeat_interleave(input: Any, repeats: Any, dim: int | None = None) -> Any:
    return np.repeat(input, repeats, axis=dim)


# ---------------------------------------------------------------- parts


@_named("split", "Return parts of the given size, or sizes, along an axis.",
        "sg.split(x[0], 1)", "(tensor([3.]), tensor([1.]))")  # fmt: skip
def split(input: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
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


@_named("chunk", "Return so many parts along an axis, the last of which may be smaller.",
        "sg.chunk(x[0], 2)", "(tensor([3.]), tensor([1.]))")  # fmt: skip
def chunk(input: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    parts: tuple[Any, ...] = split(input, max(-(-input.shape[dim] // chunks), 1), dim)
    return parts


@_named("unbind", "Return the parts of an axis, without it.",
        "sg.unbind(x)", "(tensor([3., 1.]), tensor([2., 4.]))")  # fmt: skip
def unbind(input: Any, dim: int = 0) -> tuple[Any, ...]:
    return tuple(np.moveaxis(input, dim, 0))


@_named("narrow", "Return ``length`` elements of an axis from ``start`` on.",
        "sg.narrow(x, 1, 0, 1)", "tensor([[3.],\n        [2.]])")  # fmt: skip
def narrow(input: Any, dim: int, start: int, length: int) -> Any:
    return np.moveaxis(np.moveaxis(input, dim, 0)[start : start + length], 0, dim)


@_named("select", "Return one row of an axis.", "sg.select(x, 1, 0)", "tensor([3., 2.])")
def select(input: Any, dim: int, index: int) -> Any:
    return np.moveaxis(input, dim, 0)[index]


@_named("diff", "Return the differences of neighbours along an axis.",
        "sg.diff(x)", "tensor([[-2.],\n        [ 2.]])")  # fmt: skip
def diff(input: Any, n: int = 1, dim: int = -1) -> Any:
    return np.diff(input, n, axis=dim)


def _by_diagonal(name: str, does: str, example: str, shown: str) -> Callable[..., Any]:
    """Return NumPy's function of a matrix and the number of a diagonal."""
    function = getattr(np, name)

    @_named(name, does, example, shown)
    def of(input: Any, diagonal: int = 0) -> Any:
        return function(input, diagonal)

    made: Callable[..., Any] = of
    return made


tril = _by_diagonal("tril", "Return the lower triangle of matrices.",
                    "sg.tril(x)", "tensor([[3., 0.],\n        [2., 4.]])")  # fmt: skip
triu = _by_diagonal("triu", "Return the upper triangle of matrices.",
                    "sg.triu(x)", "tensor([[3., 1.],\n        [0., 4.]])")  # fmt: skip
diag = _by_diagonal("diag", "Return a matrix's diagonal, or the matrix with the given diagonal.",
                    "sg.diag(x)", "tensor([3., 4.])")  # fmt: skip


# ---------------------------------------------------------------- choosing


@_named("gather", "Return the elements at the given places of an axis.",
        "sg.gather(x, 1, sg.tensor([[0], [1]]))", "tensor([[3.],\n        [4.]])")  # fmt: skip
def gather(input: Any, dim: int, index: Any) -> Any:
    return np.take_along_axis(input, index, dim)


@_named("index_select", "Return the given rows of an axis.",
        "sg.index_select(x, 0, sg.tensor([1]))", "tensor([[2., 4.]])")  # fmt: skip
def index_select(input: Any, dim: int, index: Any) -> Any:
    return np.take(input, index, axis=dim)


@_named("masked_fill", "Return the elements, with a number where the mask holds.",
        "sg.masked_fill(x, x > 2, 0.0)", "tensor([[0., 1.],\n        [2., 0.]])")  # fmt: skip
def masked_fill(input: Any, mask: Any, value: Any) -> Any:
    return np.where(mask, value, input)


@_named("masked_select", "Return the elements where the mask holds.",
        "sg.masked_select(x, x > 2)", "tensor([3., 4.])")  # fmt: skip
def masked_select(input: Any, mask: Any) -> Any:
    return input[mask]


@_named("nonzero", "Return the places of the elements that are not zero, a row for each.",
        "sg.nonzero(x - 3.0)", "tensor([[0, 1],\n        [1, 0],\n        [1, 1]])")  # fmt: skip
def nonzero(input: Any) -> Any:
    return np.argwhere(input)


@_named("argsort", "Return the places of the elements in order of size.",
        "sg.argsort(x)", "tensor([[1, 0],\n        [0, 1]])")  # fmt: skip
def argsort(
    input: Any, dim: int | None = None, descending: bool = False, *, axis: int | None = None
) -> Any:
    where = axis_of(dim, axis)
    order = -input if descending else input
    return np.argsort(order, axis=-1 if where is None else where, stable=True)


@_named("sort", "Return the elements in order of size, and where they were.",
        "sg.sort(x, descending=True).values", "tensor([[3., 1.],\n        [4., 2.]])")  # fmt: skip
def sort(
    input: Any, dim: int | None = None, descending: bool = False, *, axis: int | None = None
) -> Sorted:
    where = axis_of(dim, axis)
    where = -1 if where is None else where
    places = argsort(input, where, descending)
    return Sorted(np.take_along_axis(input, places, where), places)


@_named("topk", "Return the ``k`` largest elements, the largest first, and where they were.",
        "sg.topk(x, 1).values", "tensor([[3.],\n        [4.]])")  # fmt: skip
def topk(input: Any, k: int, dim: int = -1, largest: bool = True) -> Sorted:
    places = np.moveaxis(np.moveaxis(argsort(input, dim, largest), dim, 0)[:k], 0, dim)
    return Sorted(np.take_along_axis(input, places, dim), places)


__all__ = [
    "argsort", "broadcast_to", "chunk", "diag", "diff", "flatten", "flip", "gather",
    "index_select", "masked_fill", "masked_select", "movedim", "narrow", "nonzero", "permute",
    "repeat_interleave", "reshape", "roll", "select", "sort", "split", "squeeze", "tile", "topk",
    "transpose", "tril", "triu", "unbind", "unsqueeze",
]  # fmt: skip
