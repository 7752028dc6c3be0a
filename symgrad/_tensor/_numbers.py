"""A tensor's numbers: as Python's, as NumPy's, and as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BackwardError, ShapeError
from ._mode import default
from ._node import Backward
from ._show import tensor_text


class Numbers:
    """The methods of tensors that give their numbers away."""

    __slots__ = ()
    _data: np.ndarray[Any, Any]
    _fn: Backward | None
    _requires: bool

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if self._requires:
            raise BackwardError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                "instead: a plain array would lose the way back to the inputs."
            )
        return np.array(self._data, dtype, copy=copy)

    def item(self) -> Any:
        """Return the only element as a Python number.

        Raises
        ------
        ShapeError
            If there is not exactly one element.
        """
        if self._data.size != 1:
            raise ShapeError(
                f"a Tensor with {self._data.size} elements cannot be converted to Scalar: "
                "sum it, index it, or use tolist()"
            )
        return self._data.item()

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers."""
        return self._data.tolist()

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return the array, which shares the tensor's memory.

        Raises
        ------
        BackwardError
            If the tensor requires a gradient: write ``t.detach().numpy()``.
        """
        self.__array__(copy=False)
        return self._data

    def __bool__(self) -> bool:
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self._data.dtype.kind not in "iu":
            raise TypeError("only integer tensors of a single element can be an index")
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __repr__(self) -> str:
        notes = []
        kind = self._data.dtype
        if kind != default.dtype and kind not in (np.dtype(np.int64), np.dtype(bool)):
            notes.append(f"dtype={kind.name}")
        if self._fn is not None:
            notes.append(f"grad_fn=<{self._fn.name()}>")
        elif self._requires:
            notes.append("requires_grad=True")
        return tensor_text(self._data, notes)

    def __format__(self, spec: str) -> str:
        if self._data.ndim == 0:
            return format(self._data.item(), spec)
        return format(repr(self), spec)
