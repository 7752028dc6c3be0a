"""A tensor's numbers: as Python's, as NumPy's, and as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BackwardError, ShapeError
from ._mode import default
from ._node import Value

#: Larger arrays are printed with their edges only.
THRESHOLD, EDGE, WIDTH, DIGITS = 1000, 3, 80, 4


class Numbers(Value):
    """The methods of tensors that give their numbers away."""

    __slots__ = ()

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


# ---------------------------------------------------------------- text, in PyTorch's layout


def tensor_text(data: np.ndarray[Any, Any], suffixes: list[str]) -> str:
    """Return ``tensor(...)`` with what has to be said about it behind the numbers."""
    prefix = "tensor("
    if data.size == 0 and data.shape != (0,):
        body = "[]"
        suffixes = [f"size={data.shape}", *suffixes]
    else:
        body = numbers_text(data, len(prefix))
    text = prefix + body
    last = len(text) - (text.rfind("\n") + 1)
    for suffix in suffixes:
        if last + len(suffix) + 2 > WIDTH:
            text, last = f"{text},\n{' ' * len(prefix)}{suffix}", len(prefix) + len(suffix)
        else:
            text, last = f"{text}, {suffix}", last + len(suffix) + 2
    return text + ")"


def numbers_text(data: np.ndarray[Any, Any], indent: int) -> str:
    """Return the numbers in brackets, aligned."""
    shown = _edges(data) if data.size > THRESHOLD else data
    measured = shown
    if data.dtype.kind == "f":
        measured = shown[np.isfinite(shown) & (shown != 0)]  # others get the width of these
        one = _float_format(np.abs(measured, dtype=np.float64))
    else:
        one = str
    if data.ndim == 0:
        return str(one(data.item()))
    width = max((len(one(v)) for v in measured.ravel().tolist()), default=0)
    text = np.array2string(
        data, separator=", ", prefix=" " * indent, max_line_width=WIDTH, threshold=THRESHOLD,
        edgeitems=EDGE, formatter={"all": lambda v: one(v.item()).rjust(width)},
    )  # fmt: skip
    return str(text.replace(", ..., ", ",  ..., "))


def _edges(data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements that are printed of a large array."""
    for axis, size in enumerate(data.shape):
        if size > 2 * EDGE:
            data = np.take(data, [*range(EDGE), *range(size - EDGE, size)], axis)
    return data


def _float_format(sizes: np.ndarray[Any, Any]) -> Any:
    """Whole numbers without decimals, others with four, or in scientific notation."""
    if sizes.size == 0:
        return lambda v: f"{v:.0f}." if np.isfinite(v) else str(v)
    largest, smallest = float(sizes.max()), float(sizes.min())
    whole = bool((sizes == np.floor(sizes)).all())
    spec = f".{DIGITS}f"
    if largest / smallest > 1000.0 or largest > 1e8 or (not whole and smallest < 1e-4):
        spec, whole = f".{DIGITS}e", False
    point = "." if whole else ""
    spec = ".0f" if whole else spec
    return lambda v: format(v, spec) + point if np.isfinite(v) else str(v)
