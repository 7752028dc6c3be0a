"""The tensor: numbers, and a record of where they came from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from .._graph._types import check_dtype
from .._op import registry
from .._ops import CAST, getitem
from .._trace import Traced
from .._trace._arrays import ArrayMethods, call
from ..errors import BackwardError, IndexingError, ShapeError
from ._history import History
from ._inplace import InPlace
from ._mode import mode
from ._node import Apart, Cell, clock, set_tensor
from ._numbers import Numbers
from ._origin import placed
from ._plan import planned

_ABSENT: Any = object()
_NONE: dict[str, Any] = {}

#: The arguments of reductions that the short ways take.
_REDUCING = frozenset(("axis", "keepdims"))

#: The short ways for universal functions and reductions; filled by the module that records.
QUICK: dict[Any, Callable[..., Any]] = {}


class Tensor(InPlace, History, Numbers, ArrayMethods):
    """An array that can tell its derivative; made by :func:`symgrad.tensor` and by ops.

    NumPy functions, operators and methods apply to it; a result that depends on a tensor
    with ``requires_grad`` remembers how it was computed, and :meth:`backward` sends
    gradients that way back.

    Attributes
    ----------
    name:
        The name in formulas and pictures, or None.
    """

    __slots__ = ("__weakref__", "name")
    name: str | None
    #: Applies an op and records it; set by the module that records.
    __symgrad_bind__: ClassVar[Callable[..., Tensor]]
    __hash__ = object.__hash__

    def __init__(self, data: Any, requires_grad: bool = False, name: str | None = None) -> None:
        self._data = _array(data)
        self._fn = self._grad = self._acc = None
        self._cell = None if self._data.flags.c_contiguous else Cell()  # ops look how it lies
        self._requires = False
        self.name = name
        if requires_grad:
            self.requires_grad = True

    # ---------------------------------------------------------------- NumPy's protocols

    def __array_ufunc__(  # type: ignore[override] # x is there, and all are without names
        self, ufunc: np.ufunc, method: str, x: Any, y: Any = _ABSENT, /, *more: Any, **kwargs: Any
    ) -> Any:
        quick = QUICK.get(ufunc)
        if (
            quick is not None and method == "__call__" and type(self) is Tensor
            and not kwargs and not more
        ):  # fmt: skip
            return quick(x) if y is _ABSENT else quick(x, y)
        inputs = (x,) if y is _ABSENT else (x, y, *more)
        if not kwargs and method == "__call__":
            if any(isinstance(x, Traced) for x in inputs):
                return NotImplemented
            handler = registry.find(ufunc)
            if handler is not None:
                return handler(*inputs)
        if not _required(inputs) and (registry.find(ufunc) is None or kwargs.get("out")):
            return _plainly(getattr(ufunc, method), inputs, kwargs)
        return super().__array_ufunc__(ufunc, method, *inputs, **kwargs)

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if any(issubclass(t, Traced) for t in types):
            return NotImplemented
        quick = QUICK.get(func)
        if quick is not None:
            keep = kwargs.get("keepdims", False)
            if func is np.where:
                if len(args) == 3 and not kwargs:
                    return quick(*args)
            elif len(args) < 3 and (  # the third argument is another one in NumPy
                not kwargs or (type(keep) is bool and kwargs.keys() <= _REDUCING)
            ):
                return quick(*args, **kwargs)
        if func is np.copy:
            return self.clone()
        if func is np.take:
            args = (args[0], *map(plain, args[1:]))
        if func in _REPORTS:
            return _plainly(func, args, kwargs)
        if registry.find(func) is None and not _required((args, kwargs)):
            return _plainly(func, args, kwargs)
        return planned(Tensor, func, args, kwargs, lambda: call(func, args, kwargs))

    def __getitem__(self, index: Any) -> Any:
        try:
            return getitem(self, plain(index))
        except IndexingError as error:
            raise placed(error) from None

    # ---------------------------------------------------------------- what it is

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self._data.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type, a NumPy dtype."""
        return self._data.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._data.ndim  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        """The number of elements, as in NumPy."""
        return self._data.size  # type: ignore[no-any-return]

    @property
    def data(self) -> Tensor:
        """The numbers without the record; writing to it is seen by the tensor."""
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        array = np.asarray(getattr(value, "_data", value), self._data.dtype)
        if array.shape != self._data.shape:
            raise ShapeError(
                f"data of shape {array.shape} was given to a tensor of shape {self.shape}"
            )
        self.memory().written = next(clock)
        self._data = array.copy() if array.base is not None else array

    def detach(self) -> Tensor:
        """Return a tensor with the same memory and without the record."""
        made = wrap(self._data)
        made._cell, made.name = Apart(self.memory()), self.name
        return made

    def clone(self) -> Tensor:
        """Return a copy, through which gradients flow."""
        if self._data.dtype.kind != "f":
            return wrap(self._data.copy())
        copied: Tensor = QUICK[np.positive](self)
        return copied

    # ---------------------------------------------------------------- methods

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """Return the elements in a new shape; one size may be -1."""
        return planned(
            Tensor, np.reshape, (self, *shape), {"order": order},
            lambda: super(Tensor, self).reshape(*shape, order=order),
        )  # fmt: skip

    def astype(self, dtype: Any, **_: Any) -> Any:
        """Return the tensor converted to another element type; itself if it has that type."""
        wanted = check_dtype(np.dtype(dtype), "astype")
        return self if wanted == self._data.dtype else CAST(self, dtype=wanted.name)

    def copy(self, order: str = "C") -> Any:
        """Return a copy, through which gradients flow."""
        return self.clone()

    def __copy__(self) -> Tensor:
        return self.__deepcopy__(None)

    def __deepcopy__(self, memo: Any) -> Tensor:
        make, args = self.__reduce__()
        return make(*args)  # type: ignore[no-any-return]

    def __reduce__(self) -> Any:
        if self._fn is not None:
            raise BackwardError(
                "only leaf tensors can be copied deeply or pickled: use t.detach() or t.clone()"
            )
        return Tensor, (self._data.copy(), self._requires, self.name)


# ---------------------------------------------------------------- making tensors


def _array(data: Any) -> np.ndarray[Any, Any]:
    return data if isinstance(data, np.ndarray) else np.asarray(data)


def wrap(data: Any) -> Tensor:
    """Return a tensor of an array, which it shares."""
    made: Tensor = Tensor.__new__(Tensor)
    made._data = data if type(data) is np.ndarray else np.asarray(data)
    made._fn = made._grad = made._acc = made.name = None
    made._cell = None if made._data.flags.c_contiguous else Cell()
    made._requires = False
    return made


set_tensor(Tensor, wrap)


# ---------------------------------------------------------------- plain numbers


#: Functions that report on values and have no derivative.
_REPORTS = frozenset((
    np.array_equal, np.allclose, np.array_repr, np.array_str, np.array2string, np.nonzero,
    np.flatnonzero, np.argwhere,
))  # fmt: skip


def plain(value: Any) -> Any:
    """Return a nested argument with arrays in place of tensors."""
    if isinstance(value, Tensor):
        return value._data
    if isinstance(value, (tuple, list)):
        return type(value)(map(plain, value))
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


def _required(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value._requires and mode.recording
    if isinstance(value, dict):
        value = tuple(value.values())
    return isinstance(value, (tuple, list)) and any(map(_required, value))


def _plainly(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Carry out a function that symgrad does not differentiate, on the arrays."""
    result = function(*plain(args), **plain(kwargs))
    if isinstance(result, (tuple, list)):
        return type(result)(wrap(r) if isinstance(r, np.ndarray) else r for r in result)
    return wrap(result) if isinstance(result, np.ndarray) else result


__all__ = ["QUICK", "Tensor", "plain", "wrap"]
