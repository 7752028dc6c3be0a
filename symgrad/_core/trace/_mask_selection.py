"""What a traced mask selects: ``x[mask]``, whose length depends on values.

No array of that length is made. The value stands for its elements by all elements and the
mask: elementwise functions are computed everywhere, reductions count only what is selected,
and assigning it by the same mask puts each element back where it came from. What needs the
elements in a row (their number as a shape, their order) takes those of the example call, by a
guard on the mask, as an ``if`` does; where there is no one example to go by, it is refused.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ...errors import IndexingError, TraceError, UnsupportedError
from ..base.stand_in_types import StandIn, asks_for, show_as, stands_for
from ._arrays import ArrayMethods, add_operators, declines
from ._assignment import require_fit
from ._attributes import attribute_of
from ._calls import call
from ._constants import known_value
from ._decisions import decided, decided_mask, needs_numbers
from ._mask_statistics import FILL, KNOWN, STATISTICS


def unmasked(index: Any) -> Any:
    """Return the mask for all places where it holds, ``x[np.where(mask)]``; else the index.

    What a mask selects is a row of numbers in it otherwise.
    """
    items = index if type(index) is tuple else (index,)
    first = next((k for k in items if isinstance(k, Masked)), None)
    if first is None or (first is index and first.dtype == np.bool_):
        return index
    mask, count = first.mask, first.mask.ndim
    if len(items) >= count and all(
        k.axis == axis and k.mask.node is mask.node
        if isinstance(k, Masked) and axis < count
        else isinstance(k, slice) and k == slice(None)
        for axis, k in enumerate(items)
    ):
        return mask
    if all(k.row() is not None for k in items if isinstance(k, Masked)):
        return in_rows(index)
    raise UnsupportedError(
        "the places where a traced mask holds are an index for all axes of the mask, which come "
        "first, and as they were given: x[np.where(mask)]. Write instead: x[mask], or "
        "np.where(mask, ..., ...) with values for all places"
    )


def is_selection(value: Any) -> bool:
    """Tell whether a value is what a traced mask selects."""
    return hasattr(type(value), "__symgrad_masked__")


def in_rows(nested: Any) -> Any:
    """Return nested arguments in which what masks select is rows."""
    if isinstance(nested, Masked):
        return nested.in_a_row("an operation of x[mask]", "np.where(mask, ..., ...)")
    if isinstance(nested, (list, tuple)) and not hasattr(nested, "_fields"):
        return type(nested)(map(in_rows, nested))
    if isinstance(nested, dict):
        return {key: in_rows(value) for key, value in nested.items()}
    return nested


class Masked(ArrayMethods, metaclass=StandIn):
    """The elements of ``values`` where ``mask`` holds.

    Parameters
    ----------
    values:
        A traced array; elements that are not selected may be anything.
    mask:
        A traced boolean array of the shape of the first axes of ``values``.
    """

    __slots__ = ("mask", "values")
    axis: int | None = None  #: Of places, the axis of the mask.
    __symgrad_operators__ = True  # other traced values leave it to these
    __hash__ = None  # type: ignore[assignment]
    __class__ = stands_for(lambda _: np.ndarray)

    def __init__(self, values: Any, mask: Any) -> None:
        self.values, self.mask = values, mask

    @classmethod
    def read(cls, x: Any, mask: Any) -> Masked:
        """Select; what is not selected is replaced, so that its derivatives stay out."""
        if mask.ndim > x.ndim:
            raise IndexingError(
                f"too many indices: the array is {x.ndim}-dimensional, the mask has {mask.ndim}"
            )
        require_fit(x, mask)
        one = np.ones_like(x)
        return cls(np.where(_wide(mask, x.ndim), x, one), mask)

    def __symgrad_masked__(self, mask: Any) -> Any:
        if mask.node is not self.mask.node:
            raise TraceError(
                "values selected by one mask were assigned by another. Write instead: "
                "np.where(mask, values, x) with values for all places"
            )
        return self.values

    # ---------------------------------------------------------------- what it is

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        found: np.dtype[Any] = self.values.dtype
        return found

    @property
    def ndim(self) -> int:
        """The number of axes: those of the mask are one."""
        return int(self.values.ndim - self.mask.ndim + 1)

    @property
    def size(self) -> Any:
        """How many elements are selected, a traced integer."""
        rest: Any = 1
        for n in self.values.shape[self.mask.ndim :]:
            rest = rest * n
        return np.sum(self.mask) * rest

    @property
    def shape(self) -> Any:
        """The shape, whose first size is a traced integer."""
        return (np.sum(self.mask), *self.values.shape[self.mask.ndim :])

    @property
    def real(self) -> Masked:
        """The real parts of what is selected."""
        return Masked(np.real(self.values), self.mask)

    @property
    def imag(self) -> Masked:
        """The imaginary parts of what is selected."""
        return Masked(np.imag(self.values), self.mask)

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        self.refuse("an array of the numbers of x[mask]", "np.where(mask, x, ...)")

    def __len__(self) -> int:
        count = decided(np.sum(self.mask).node, int)
        if count is None:
            self.refuse("len(x[mask])", "np.sum(mask)")
        return int(count)

    def __iter__(self) -> Any:
        whole = "np.where(mask, ..., ...) over the whole array"
        return iter(self.in_a_row("iteration over x[mask]", whole))

    def __getitem__(self, index: Any) -> Any:
        """Select of what is selected, by conditions on that or by places."""
        index = unmasked(index)
        if self._selects(index):
            return Masked.read(self.values, self._within(index))
        return self.in_a_row("x[mask][...]", "np.where(mask, x, ...)[...]")[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        index = unmasked(index)
        if self._selects(index):
            mask = self._within(index)
            if not isinstance(value, Masked) or value.mask.node is mask.node:
                values = self.values.copy()
                values[mask] = value
                self.values = values
                return
        row = self.in_a_row("x[mask][...] = ...", "np.where over the whole arrays")
        row = row.copy() if isinstance(row, np.ndarray) else row
        row[in_rows(index)] = in_rows(value)
        values = self.values.copy()
        values[self.mask] = row
        self.values = values

    def _within(self, index: Any) -> Any:
        """Return the mask of what an index selects of what is selected."""
        return self.mask & index.__symgrad_masked__(self.mask)

    @staticmethod
    def _selects(index: Any) -> bool:
        return isinstance(index, Masked) and index.dtype == np.bool_ and index.ndim == 1

    def row(self) -> Any:
        """Return the elements in a row, as many as the example call has; None if not known."""
        mask = decided_mask(self.mask)
        if mask is None:
            return None
        node = getattr(self.values, "node", None)  # complex values have two
        known = None if node is None else known_value(node)
        values = self.values if known is None else np.asarray(known)
        return values[np.nonzero(mask)] if mask.ndim else values[None][: int(mask)]

    def in_a_row(self, what: str, instead: str) -> Any:
        """Return the elements in a row, or refuse what needs them so."""
        row = self.row()
        if row is None:
            self.refuse(what, instead)
        return row

    def refuse(self, what: str, instead: str) -> NoReturn:
        """Raise for what needs the elements in a row."""
        needs_numbers(self.mask.node)
        raise UnsupportedError(
            f"{what} needs to know how many elements a traced mask selects, which depends on "
            "values, and no example of a batch and no step of a loop tells it. "
            f"Write instead: {instead}; or, where data alone decide, bind the data by "
            "functools.partial(f, data=data) or a closure, and their numbers are known"
        )

    _leaked = refuse

    def __getattr__(self, name: str) -> Any:
        asked = asks_for(name, sys._getframe(1))
        if asked:
            return attribute_of(self, np.ndarray, name, asked)
        raise AttributeError(f"x[mask] has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"Masked({self.values!r})"

    # ---------------------------------------------------------------- elementwise

    def _goes_along(self, value: Any) -> bool:
        """Tell whether an operand has one value for each place of the mask, or for all."""
        if isinstance(value, Masked):
            return value.mask.node is self.mask.node
        rank = getattr(value, "ndim", np.ndim(value))
        return bool(rank < self.ndim or (rank == self.ndim and np.shape(value)[0] == 1))

    def _other(self, value: Any) -> Any:
        if isinstance(value, Masked):
            return value.values
        rank = getattr(value, "ndim", np.ndim(value))
        return np.reshape(value, np.shape(value)[1:]) if rank == self.ndim else value

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "reduce":
            whole = {np.add: np.sum, np.multiply: np.prod, np.maximum: np.max,
                     np.minimum: np.min, np.logical_and: np.all, np.logical_or: np.any}  # fmt: skip
            if ufunc in whole:
                return self._reduced(whole[ufunc], kwargs.get("axis", 0))
        by_elements = method == "__call__" and ufunc.signature is None and not kwargs
        if by_elements and all(map(self._goes_along, inputs)):
            found = ufunc(*map(self._other, inputs))
            if isinstance(found, tuple):
                return tuple([Masked(part, self.mask) for part in found])
            return Masked(found, self.mask)
        self.in_a_row(f"np.{ufunc.__name__} of x[mask] and an array of as many elements",
                      "operate on the whole arrays, then select by np.where")  # fmt: skip
        return getattr(ufunc, method)(*in_rows(inputs), **in_rows(kwargs))

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if func in _ELEMENTWISE and all(map(self._goes_along, args)):
            result = call(func, tuple(map(self._other, args)), kwargs)
            return Masked(result, self.mask)
        if args and args[0] is self and (func in FILL or func in STATISTICS):
            kwargs = {k: v for k, v in kwargs.items() if v is not np._NoValue and v is not None}
            axis = args[1] if len(args) > 1 else kwargs.pop("axis", None)
            kwargs.pop("out", None)
            return self._reduced(func, axis, **kwargs)
        self.in_a_row(
            f"np.{func.__name__} of x[mask]",
            "np.where(mask, x, ...) with a value that leaves the result as it is",
        )
        return func(*in_rows(args), **in_rows(kwargs))

    def astype(self, dtype: Any, **options: Any) -> Masked:
        """Convert the elements."""
        return Masked(self.values.astype(dtype, **options), self.mask)

    def copy(self, order: str = "C") -> Masked:
        """Return the selected elements."""
        return Masked(self.values.copy(), self.mask)

    @property
    def T(self) -> Any:
        """The transpose."""
        return np.transpose(self)

    def __matmul__(self, other: Any) -> Any:
        return np.matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return np.matmul(other, self)

    def __neg__(self) -> Masked:
        return Masked(-self.values, self.mask)

    def __abs__(self) -> Masked:
        return Masked(abs(self.values), self.mask)

    def __invert__(self) -> Masked:
        return Masked(~self.values, self.mask)

    # ---------------------------------------------------------------- reductions

    def _reduced(self, function: Callable[..., Any], axis: Any, **options: Any) -> Any:
        """Reduce over what is selected: over all of it, or the axes of the mask."""
        front = tuple(range(self.mask.ndim))
        if axis not in (None, 0) or options.keys() - KNOWN.get(function, set()):
            what = "".join(f", {k}={v!r}" for k, v in {"axis": axis, **options}.items())
            row = self.in_a_row(f"np.{function.__name__}(x[mask]{what})", "axis=0 or None alone")
            return function(row, axis=axis, **options)
        axes: Any = None if axis is None else front
        mask = _wide(self.mask, self.values.ndim)
        if function in FILL:
            filled = np.where(mask, self.values, np.asarray(FILL[function], self.dtype))
            return call(function, (filled,), {"axis": axes, **options})
        return STATISTICS[function](self.values, mask, self._count(axes), axes, **options)

    def _count(self, axes: Any) -> Any:
        return self.size if axes is None else np.sum(self.mask)


def _wide(mask: Any, rank: int) -> Any:
    return np.reshape(mask, (*mask.shape, *(1,) * (rank - mask.ndim)))


_ELEMENTWISE = frozenset((
    np.where, np.clip, np.round, np.real, np.nan_to_num, np.copy, np.zeros_like, np.ones_like,
    np.empty_like, np.full_like,
))  # fmt: skip


def _operator(name: str, swap: bool) -> Callable[..., Any]:
    ufunc = getattr(np, "_".join(re.findall("[A-Z][a-z]*", name)).lower())  # np.less_equal

    def method(self: Masked, other: Any) -> Any:
        if not isinstance(other, Masked) and declines(other):
            return NotImplemented
        pair = (other, self) if swap else (self, other)
        return self.__array_ufunc__(ufunc, "__call__", *pair)

    return method


add_operators(Masked, _operator)
show_as(Masked, lambda _: np.ndarray)


def _method(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def method(self: Masked, *args: Any, **kwargs: Any) -> Any:
        return self.__array_function__(function, (), (self, *args), kwargs)

    method.__name__ = name
    method.__doc__ = f"Same as ``np.{name}`` of the selected elements."
    return method


def _of_row(name: str) -> Callable[..., Any]:
    def method(self: Masked, *args: Any, **kwargs: Any) -> Any:
        row = self.in_a_row(f"x[mask].{name}", "the same of np.where(mask, x, ...)")
        return getattr(row, name)(*in_rows(args), **in_rows(kwargs))

    method.__name__ = name
    method.__doc__ = f"Same as ``{name}`` of the elements in a row."
    return method


_COUNTED = ("sum", "prod", "mean", "std", "var", "max", "min", "any", "all", "clip", "round")
for _name in _COUNTED:
    setattr(Masked, _name, _method(_name))
for _name in (*dir(ArrayMethods), "item", "tolist"):
    if (
        not _name.startswith("_")
        and _name not in vars(Masked)
        and callable(getattr(ArrayMethods, _name, _of_row))
    ):
        setattr(Masked, _name, _of_row(_name))
