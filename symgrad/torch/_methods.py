"""Methods of tensors by PyTorch's names: its functions, and what there is only as a method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tensor._inplace import InPlace
from .._tensor._tensor import Tensor
from ..errors import ShapeError, UnsupportedError
from . import _algebra, _arrange, _elementwise, _reductions
from ._arguments import sizes_of
from ._create import random


class Count(int):
    """The number of elements, as NumPy's ``size``; called, the shape, as PyTorch's ``size()``."""

    shape: tuple[int, ...]

    def __call__(self, dim: int | None = None) -> Any:
        """Return the shape, or the length of one axis."""
        return self.shape if dim is None else self.shape[dim]


def _size(self: Tensor) -> Count:
    """The number of elements, as in NumPy; ``t.size()`` is the shape, as in PyTorch."""
    made = Count(self._data.size)
    made.shape = self._data.shape
    return made


class _Methods:
    """What is put into the class of tensors."""

    # ---------------------------------------------------------------- what it is

    def dim(self: Any) -> int:
        """Return the number of axes."""
        return int(self.ndim)

    def numel(self: Any) -> int:
        """Return the number of elements."""
        return int(self._data.size)

    def is_floating_point(self: Any) -> bool:
        """Tell whether the elements are floating point numbers."""
        return bool(self._data.dtype.kind == "f")

    @property
    def device(self: Any) -> str:
        """Where the elements are: in main memory."""
        return "cpu"

    def is_contiguous(self: Any) -> bool:
        """Tell whether the elements lie in C order."""
        return bool(self._data.flags.c_contiguous)

    def contiguous(self: Any) -> Any:
        """Return a tensor whose elements lie in C order: itself if they do."""
        return self if self._data.flags.c_contiguous else self.clone()

    # ---------------------------------------------------------------- types

    def to(
        self: Any, *args: Any, dtype: Any = None, device: Any = None, copy: bool = False, **_: Any
    ) -> Any:
        """Return the tensor in another element type, or that of another tensor.

        It is the tensor itself if it has that type, unless ``copy=True``.
        """
        for given in (*args, device):
            if isinstance(given, Tensor):
                dtype = given.dtype
            elif isinstance(given, str) and not _is_dtype(given):
                _in_memory(given)
            elif given is not None and not isinstance(given, bool):
                dtype = given
        return self.astype(self.dtype if dtype is None else dtype, copy=copy)

    def type_as(self: Any, other: Any) -> Any:
        """Return the tensor in the element type of another one."""
        return self.astype(other.dtype, copy=False)

    def half(self: Any) -> Any:
        """Not there: tensors are of float64 or float32."""
        raise UnsupportedError("there is no float16: use t.float() (float32)")

    def cpu(self: Any) -> Any:
        """Return the tensor itself: it is in main memory."""
        return self

    def cuda(self: Any, device: Any = None) -> Any:
        """Not there: tensors are in main memory."""
        _in_memory("cuda")

    # ---------------------------------------------------------------- shapes

    def t(self: Any) -> Any:
        """Return the transpose of a matrix; a vector itself."""
        if self.ndim > 2:
            raise ShapeError(f"t() takes matrices, not shape {self.shape}: use t.mT or permute")
        return self.T

    def transpose(self: Any, *axes: Any) -> Any:
        """Exchange two axes, as PyTorch does, or permute all, as NumPy does.

        ``t.transpose(0, 1)`` exchanges two; a tuple, more numbers, or none are NumPy's way.
        """
        if len(axes) == 2 and all(isinstance(k, int) for k in axes):
            return _arrange.transpose(self, *axes)
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
        return np.transpose(self, order)

    def flatten(self: Any, start_dim: Any = 0, end_dim: Any = -1, *, order: str = "C") -> Any:
        """Return the axes from ``start_dim`` to ``end_dim`` as one: a copy."""
        if isinstance(start_dim, str) or order != "C":  # NumPy's argument
            order = start_dim if isinstance(start_dim, str) else order
            return np.ravel(self, order=order).clone()
        return _arrange.flatten(self, start_dim, end_dim).clone()

    def expand(self: Any, *sizes: Any) -> Any:
        """Return the elements repeated along new and length-one axes; -1 keeps an axis."""
        return _arrange.broadcast_to(self, sizes_of(sizes))

    def expand_as(self: Any, other: Any) -> Any:
        """Return the elements repeated to the shape of another tensor."""
        return np.broadcast_to(self, other.shape)

    def reshape_as(self: Any, other: Any) -> Any:
        """Return the elements in the shape of another tensor."""
        return np.reshape(self, other.shape)

    # ---------------------------------------------------------------- choices

    def where(self: Any, condition: Any, other: Any) -> Any:
        """Return the elements where the condition holds, else those of ``other``."""
        return _arrange.where(condition, self, other)

    def clamp_min(self: Any, min: Any) -> Any:
        """Return the elements, none less than ``min``."""
        return np.clip(self, min, None)

    def clamp_max(self: Any, max: Any) -> Any:
        """Return the elements, none more than ``max``."""
        return np.clip(self, None, max)

    # ---------------------------------------------------------------- new ones

    def new_zeros(self: Any, *size: Any) -> Tensor:
        """Return zeros of the same element type."""
        return Tensor(np.zeros(sizes_of(size), self.dtype))

    def new_ones(self: Any, *size: Any) -> Tensor:
        """Return ones of the same element type."""
        return Tensor(np.ones(sizes_of(size), self.dtype))

    # ---------------------------------------------------------------- random numbers in place

    def uniform_(self: Any, a: Any = 0.0, b: Any = 1.0) -> Any:
        """Write random numbers, uniform between ``a`` and ``b``."""
        self[...] = random.generator.uniform(a, b, self.shape)
        return self

    def normal_(self: Any, mean: Any = 0.0, std: Any = 1.0) -> Any:
        """Write normal random numbers."""
        self[...] = random.generator.normal(mean, std, self.shape)
        return self


def _is_dtype(text: str) -> bool:
    try:
        np.dtype(text)
    except TypeError:
        return False
    return True


def _in_memory(device: str) -> None:
    if device.partition(":")[0] != "cpu":
        raise UnsupportedError(
            f"there is no device {device!r}: tensors are NumPy's, in main memory; leave .cuda() "
            "and .to(device) out"
        )


def _cast(name: str, dtype: str) -> Callable[..., Any]:
    """Return the method that converts to an element type."""

    def convert(self: Any) -> Any:
        return self.astype(dtype, copy=False)

    convert.__name__ = name
    convert.__doc__ = f"Return the tensor in {dtype}."
    return convert


def _in_place(name: str) -> Callable[..., Any]:
    """Return the method that writes what another one returns into the memory."""

    def write(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self._records(*args):
            apart = [self._apart(x) for x in args]
            return self._replace(getattr(self._before(), name)(*apart, **kwargs))
        self._data[...] = getattr(self.detach(), name)(*args, **kwargs)._data
        return self._wrote()

    write.__name__ = f"{name}_"
    write.__doc__ = f"Write what ``{name}`` returns into the memory."
    return write


#: Functions that are no methods: of several tensors, of what may be none; those that the class
#: above has by the arguments of both libraries; and NumPy's methods that do what PyTorch's do.
_NO_METHODS = frozenset((
    "cat", "einsum", "hstack", "is_tensor", "meshgrid", "stack", "tensordot", "vstack",
    "flatten", "transpose", "where",
    "reshape", "round", "trace",
))  # fmt: skip
_CASTS = {"float": "float32", "double": "float64", "int": "int32", "long": "int64", "bool": "bool"}

#: Second names.
_SECOND = {
    "nelement": "numel", "ndimension": "dim", "view_as": "reshape_as", "swapdims": "swapaxes",
    "clip": "clamp", "view": "reshape",
}  # fmt: skip


def _add_methods() -> None:
    for name, member in vars(_Methods).items():
        if not name.startswith("__"):
            setattr(Tensor, name, member)
    for module in (_elementwise, _reductions, _arrange, _algebra):
        for name in module.__all__:
            if name not in _NO_METHODS:
                setattr(Tensor, name, getattr(module, name))
    for name, dtype in _CASTS.items():
        setattr(Tensor, name, _cast(name, dtype))
    for name, old in _SECOND.items():
        setattr(Tensor, name, getattr(Tensor, old))
    for name in ("exp", "sqrt", "neg", "abs", "square", "reciprocal", "tanh", "sigmoid", "relu",
                 "clamp", "masked_fill", "sin", "cos", "log"):  # fmt: skip
        setattr(InPlace, f"{name}_", _in_place(name))
    Tensor.size = property(_size)  # type: ignore[assignment,method-assign]


_add_methods()

__all__ = ["Count"]
