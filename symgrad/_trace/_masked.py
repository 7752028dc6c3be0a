"""What a traced mask selects: ``x[mask]``, whose length depends on values.

No array of that length is made. The value stands for its elements by all elements and the
mask: elementwise functions are computed everywhere, reductions count only what is selected,
and assigning it by the same mask puts each element back where it came from. What needs the
elements in a row (their number as a shape, their order) is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from .._disguise import stands_for
from .._op import refuse
from .._ops.np_common import is_traced
from .._ops.np_refused import OF_PLACES
from ..errors import IndexingError, TraceError, UnsupportedError
from ._arrays import ArrayMethods, add_operators, declines
from ._calls import call
from ._writes import require_fit

_FILL = {np.sum: 0, np.prod: 1, np.any: False, np.all: True, np.count_nonzero: 0}


def masked_by(index: Any) -> bool:
    """Tell whether an index is one traced mask."""
    return is_traced(index) and index.dtype == np.bool_


def unmasked(index: Any) -> Any:
    """Return the mask for all places where it holds, ``x[np.where(mask)]``; else the index."""
    items = index if type(index) is tuple else (index,)
    first = next((k for k in items if isinstance(k, Masked)), None)
    if first is None or (first is index and first.dtype == np.bool_):
        return index
    mask, count = first.mask, first.mask.ndim
    if len(items) >= count and all(
        k.axis == axis and k.mask.node is mask.node
        if isinstance(k, Places) and axis < count
        else isinstance(k, slice) and k == slice(None)
        for axis, k in enumerate(items)
    ):
        return mask
    raise UnsupportedError(
        "the places where a traced mask holds are an index for all axes of the mask, which come "
        "first, and as they were given: x[np.where(mask)]. Write instead: x[mask], or "
        "np.where(mask, ..., ...) with values for all places"
    )


class Masked(ArrayMethods):
    """The elements of ``values`` where ``mask`` holds.

    Parameters
    ----------
    values:
        A traced array; elements that are not selected may be anything.
    mask:
        A traced boolean array of the shape of the first axes of ``values``.
    """

    __slots__ = ("mask", "values")
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

    def __len__(self) -> NoReturn:  # noqa: PLE0303
        self.refuse("len(x[mask])", "np.sum(mask)")

    def __iter__(self) -> Any:
        self.refuse("iteration over x[mask]", "np.where(mask, ..., ...) over the whole array")

    def __getitem__(self, index: Any) -> Masked:
        """Select of what is selected, by conditions on that."""
        return Masked.read(self.values, self._within(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        mask = self._within(index)
        if isinstance(value, Masked):
            value = value.__symgrad_masked__(mask)
        elif getattr(value, "ndim", np.ndim(value)):
            self.refuse("x[mask][...] = values", "np.where over the whole arrays")
        new = np.asarray(value, self.dtype) if not is_traced(value) else value.astype(self.dtype)
        self.values = np.where(_wide(mask, self.values.ndim), new, self.values)

    def _within(self, index: Any) -> Any:
        """Return the mask of what an index selects of what is selected."""
        index = unmasked(index)
        if not isinstance(index, Masked) or index.dtype != np.bool_ or index.ndim != 1:
            self.refuse("x[mask][...]", "np.where(mask, x, ...)[...]")
        return self.mask & index.__symgrad_masked__(self.mask)

    def refuse(self, what: str, instead: str) -> NoReturn:
        """Raise for what needs the elements in a row."""
        raise UnsupportedError(
            f"{what} needs to know how many elements a traced mask selects, which depends on "
            f"values. Write instead: {instead}; or, where data alone decide, bind the data by "
            "functools.partial(f, data=data) or a closure, and their numbers are known"
        )

    def __repr__(self) -> str:
        return f"Masked({self.values!r})"

    # ---------------------------------------------------------------- elementwise

    def _other(self, value: Any) -> Any:
        if isinstance(value, Masked):
            return value.__symgrad_masked__(self.mask)
        rank = getattr(value, "ndim", np.ndim(value))
        if rank == self.ndim and np.shape(value)[0] == 1:
            return np.reshape(value, np.shape(value)[1:])
        if rank > self.ndim - 1:
            self.refuse("an operation of x[mask] with an array of as many elements",
                         "operate on the whole arrays, then select by np.where")  # fmt: skip
        return value

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "reduce":
            whole = {np.add: np.sum, np.multiply: np.prod, np.maximum: np.max,
                     np.minimum: np.min, np.logical_and: np.all, np.logical_or: np.any}  # fmt: skip
            if ufunc in whole:
                return self._reduced(whole[ufunc], kwargs.get("axis", 0))
        if method != "__call__" or kwargs:
            self.refuse(f"np.{ufunc.__name__}.{method} of x[mask]", "np.where")
        return Masked(ufunc(*map(self._other, inputs)), self.mask)

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if func in _ELEMENTWISE:
            result = call(func, tuple(map(self._other, args)), kwargs)
            return Masked(result, self.mask)
        if args and args[0] is self and (func in _FILL or func in _STATISTICS):
            kwargs = {k: v for k, v in kwargs.items() if v is not np._NoValue and v is not None}
            axis = args[1] if len(args) > 1 else kwargs.pop("axis", None)
            kwargs.pop("out", None)
            return self._reduced(func, axis, **kwargs)
        self.refuse(
            f"np.{func.__name__} of x[mask]",
            "np.where(mask, x, ...) with a value that leaves the result as it is",
        )

    def astype(self, dtype: Any, **options: Any) -> Masked:
        """Convert the elements."""
        return Masked(self.values.astype(dtype, **options), self.mask)

    def copy(self, order: str = "C") -> Masked:
        """Return the selected elements."""
        return Masked(self.values.copy(), self.mask)

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
        if axis is None:
            axes: Any = None
        elif axis == 0:
            axes = front
        else:
            self.refuse(f"np.{function.__name__}(x[mask], axis={axis})", "axis=0 or None")
        mask = _wide(self.mask, self.values.ndim)
        if function in _FILL:
            filled = np.where(mask, self.values, np.asarray(_FILL[function], self.dtype))
            return call(function, (filled,), {"axis": axes, **options})
        return _STATISTICS[function](self, axes, mask, **options)

    def _count(self, axes: Any) -> Any:
        return self.size if axes is None else np.sum(self.mask)

    def _mean(self, axes: Any, mask: Any) -> Any:
        return np.sum(np.where(mask, self.values, 0), axis=axes) / self._count(axes)

    def _variance(self, axes: Any, mask: Any, ddof: Any = 0) -> Any:
        mean = self._mean(axes, mask)
        apart = np.where(mask, self.values - mean, 0.0)
        return np.sum(apart * apart, axis=axes) / (self._count(axes) - ddof)

    def _deviation(self, axes: Any, mask: Any, ddof: Any = 0) -> Any:
        return np.sqrt(self._variance(axes, mask, ddof))

    def _greatest(self, axes: Any, mask: Any) -> Any:
        return np.max(np.where(mask, self.values, _lowest(self.dtype)), axis=axes)

    def _least(self, axes: Any, mask: Any) -> Any:
        return np.min(np.where(mask, self.values, _highest(self.dtype)), axis=axes)


class Places(Masked):
    """The places along an axis at which a mask holds: the index of what it selects.

    Parameters
    ----------
    values:
        The places along the axis, of all elements.
    axis:
        The axis; None for places in C order, of a mask with several.
    function:
        The function of NumPy's that gave them.
    """

    __slots__ = ("axis", "function")

    def __init__(self, values: Any, mask: Any, axis: int | None, function: Any) -> None:
        super().__init__(values, mask)
        self.axis, self.function = axis, function

    @classmethod
    def given_by(cls, function: Callable[..., Any], condition: Any) -> Any:
        """Return what ``np.where``, ``np.nonzero`` or ``np.flatnonzero`` gives of a condition."""
        mask = condition if condition.dtype == np.bool_ else condition != 0
        if not mask.ndim:
            refuse(function, OF_PLACES)
        if function is np.flatnonzero:
            mask = np.reshape(mask, (-1,))
        ones = np.ones_like(mask, dtype=np.int64)
        found = tuple(cls(np.cumsum(ones, axis=k) - 1, mask, k, function) for k in range(mask.ndim))
        return found[0] if function is np.flatnonzero else found

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        self.refuse("np.where(mask)[0][...] = ...", "")

    def refuse(self, what: str, instead: str) -> NoReturn:
        """Raise for what needs the places in a row."""
        one = "with one argument " if self.function is np.where else ""
        refuse(self.function, f"{one}{OF_PLACES}")


def _wide(mask: Any, rank: int) -> Any:
    return np.reshape(mask, (*mask.shape, *(1,) * (rank - mask.ndim)))


def _lowest(dtype: np.dtype[Any]) -> Any:
    return -np.inf if dtype.kind == "f" else False if dtype.kind == "b" else np.iinfo(dtype).min


def _highest(dtype: np.dtype[Any]) -> Any:
    return np.inf if dtype.kind == "f" else True if dtype.kind == "b" else np.iinfo(dtype).max


_STATISTICS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.mean: Masked._mean, np.average: Masked._mean, np.var: Masked._variance,
    np.std: Masked._deviation, np.max: Masked._greatest, np.amax: Masked._greatest,
    np.min: Masked._least, np.amin: Masked._least,
}  # fmt: skip
_ELEMENTWISE = frozenset((
    np.where, np.clip, np.round, np.real, np.nan_to_num, np.copy, np.zeros_like, np.ones_like,
    np.empty_like, np.full_like,
))  # fmt: skip


def _operator(name: str, swap: bool) -> Callable[..., Any]:
    from_name = {
        "Add": np.add, "Subtract": np.subtract, "Multiply": np.multiply, "Divide": np.divide,
        "FloorDivide": np.floor_divide, "Remainder": np.remainder, "Power": np.power,
        "BitwiseAnd": np.bitwise_and, "BitwiseOr": np.bitwise_or, "BitwiseXor": np.bitwise_xor,
        "LeftShift": np.left_shift, "RightShift": np.right_shift, "Less": np.less,
        "LessEqual": np.less_equal, "Greater": np.greater, "GreaterEqual": np.greater_equal,
        "Equal": np.equal, "NotEqual": np.not_equal,
    }  # fmt: skip
    ufunc = from_name[name]

    def method(self: Masked, other: Any) -> Any:
        if not isinstance(other, Masked) and declines(other):
            return NotImplemented
        pair = (other, self) if swap else (self, other)
        return self.__array_ufunc__(ufunc, "__call__", *pair)

    return method


add_operators(Masked, _operator)


def _method(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def method(self: Masked, *args: Any, **kwargs: Any) -> Any:
        return self.__array_function__(function, (), (self, *args), kwargs)

    method.__name__ = name
    method.__doc__ = f"Same as ``np.{name}`` of the selected elements."
    return method


def _refusal(name: str) -> Callable[..., Any]:
    def method(self: Masked, *_: Any, **__: Any) -> Any:
        self.refuse(f"x[mask].{name}", "the same of np.where(mask, x, ...)")

    method.__name__ = name
    method.__doc__ = "Refuse: how many elements there are depends on values."
    return method


_COUNTED = ("sum", "prod", "mean", "std", "var", "max", "min", "any", "all", "clip", "round")
for _name in _COUNTED:
    setattr(Masked, _name, _method(_name))
for _name in dir(ArrayMethods):
    if (
        not _name.startswith("_")
        and _name not in vars(Masked)
        and callable(getattr(ArrayMethods, _name))
    ):
        setattr(Masked, _name, _refusal(_name))
