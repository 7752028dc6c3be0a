"""The tensor: numbers, and a record of where they came from."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._core.base.argument_checks import as_flag
from .._core.base.broadcast import normalize_axes
from .._core.graph import check_dtype
from .._core.op import registry
from .._core.ops import CAST, getitem
from .._core.ops.gathers import GATHER
from .._core.ops.indexing import in_range
from .._core.trace import ArrayMethods, Complex, Traced, add_operators, call, declines, refuse_depth
from ..errors import ArgumentError, BackwardError, ShapeError
from ._composites import FOLDS, STD, VAR
from ._inplace import InPlace
from ._mode import mode
from ._node import is_tensor_class, wrap
from ._numbers import Numbers
from ._origin import Apart, Cell, clock
from ._record import bind, called, in_function, planned

_NONE: dict[str, Any] = {}
_TRANSPOSED, _PRODUCT = (np.transpose,), (np.matmul,)

#: What those reductions take here; a third argument is another one in NumPy.
_REDUCING = frozenset(("axis", "keepdims"))


@is_tensor_class
class Tensor(InPlace, Numbers, ArrayMethods):
    """An array that can tell its derivative; made by :func:`symgrad.tensor` and by ops.

    NumPy functions, operators and methods apply to it; a result that depends on a tensor
    with ``requires_grad`` remembers how it was computed, and :meth:`backward` sends
    gradients that way back.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> x = sg.tensor([1.0, 2.0], requires_grad=True)
    >>> np.sum(x**2).backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ("__weakref__",)
    __module__ = "symgrad"  # whoever reads a pickle gets PyTorch's methods, too
    #: Applies an op and records it.
    __symgrad_bind__ = staticmethod(bind)
    __hash__ = object.__hash__

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Methods by NumPy's and PyTorch's names come from tables."""

        # `add_operators` below makes them.
        def __add__(self, other: Any) -> Self: ...
        def __radd__(self, other: Any) -> Self: ...
        def __sub__(self, other: Any) -> Self: ...
        def __rsub__(self, other: Any) -> Self: ...
        def __mul__(self, other: Any) -> Self: ...
        def __rmul__(self, other: Any) -> Self: ...
        def __truediv__(self, other: Any) -> Self: ...
        def __rtruediv__(self, other: Any) -> Self: ...
        def __floordiv__(self, other: Any) -> Self: ...
        def __rfloordiv__(self, other: Any) -> Self: ...
        def __mod__(self, other: Any) -> Self: ...
        def __rmod__(self, other: Any) -> Self: ...
        def __pow__(self, other: Any) -> Self: ...
        def __rpow__(self, other: Any) -> Self: ...
        def __lt__(self, other: Any) -> Self: ...
        def __le__(self, other: Any) -> Self: ...
        def __gt__(self, other: Any) -> Self: ...
        def __ge__(self, other: Any) -> Self: ...

    def __init__(self, data: Any, requires_grad: bool = False, name: str | None = None) -> None:
        self._data = data if isinstance(data, np.ndarray) else _array(data)
        self._fn = self._grad = self._acc = None
        self._cell = None if self._data.flags.c_contiguous else Cell()  # ops look how it lies
        self._requires = False
        self.name = name
        if requires_grad is not False and as_flag(requires_grad, "requires_grad"):
            self.requires_grad = True

    # ---------------------------------------------------------------- NumPy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs:
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
        if (
            func in _FOLDED and len(args) < 3 and kwargs.keys() <= _REDUCING
            and type(kwargs.get("keepdims", False)) is bool and isinstance(args[0], Tensor)
        ):  # fmt: skip
            return _folded(func, *args, **kwargs)
        if func is np.copy:
            return self.clone()
        if func is np.take:
            args = (args[0], *map(plain, args[1:]))
        if func in _REPORTS or (registry.find(func) is None and not _required((args, kwargs))):
            return _plainly(func, args, kwargs)
        return called(func, args, kwargs, lambda: call(func, args, kwargs))

    def __getitem__(self, index: Any) -> Any:
        key = index if type(index) is int else _hashed(index)
        return planned((Tensor, key), (self,), _at, self, index)

    def __matmul__(self, other: Any) -> Any:
        operands = (self, other)
        if isinstance(other, Tensor):
            return planned(_PRODUCT, operands, call, np.matmul, operands, {})
        return called(np.matmul, operands, {}, lambda: call(np.matmul, operands, {}))

    def __neg__(self) -> Any:
        return bind(_OPS["Negative"], (self,), _NONE)

    def __abs__(self) -> Any:
        return bind(_OPS["Absolute"], (self,), _NONE)

    def __invert__(self) -> Any:
        return bind(_OPS["Invert"], (self,), _NONE)

    # ---------------------------------------------------------------- what it is

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

    def detach(self) -> Self:
        """Return a tensor with the same memory and without the record."""
        made: Self = wrap(self._data)
        made._cell, made.name = Apart(self.memory()), self.name
        return made

    def clone(self) -> Self:
        """Return a copy, through which gradients flow."""
        if self._data.dtype.kind != "f":
            return wrap(self._data.copy())  # type: ignore[no-any-return]
        return bind(_OPS["Positive"], (self,), _NONE)  # type: ignore[no-any-return]

    # ---------------------------------------------------------------- methods

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """Return the elements in a new shape; one size may be -1."""
        if len(shape) == 1 and type(shape[0]) is tuple:
            (shape,) = shape
        return planned(
            (np.reshape, order, *shape, *map(type, shape)), (self,),
            partial(ArrayMethods.reshape, order=order), self, *shape,
        )  # fmt: skip

    @property
    def T(self) -> Any:
        """The transpose."""
        return planned(_TRANSPOSED, (self,), np.transpose, self)

    def __symgrad_apart__(self, sources: Any) -> Any:
        """Return the tensor, or a copy if it is or sees one of ``sources``.

        NumPy's functions that are no views copy, where an op may have nothing to do (``np.roll``
        by 0). Of None it is what lies in C order.
        """
        if sources is None:
            return self if self._data.flags.c_contiguous else self.clone()
        return self if self._data.flags.writeable and not self._among(sources) else self.clone()

    def _among(self, value: Any) -> bool:
        """Tell whether the memory is that of a tensor among nested arguments."""
        if isinstance(value, Tensor):
            return value is self or (self._cell is not None and value._cell is self._cell)
        if isinstance(value, dict):
            value = tuple(value.values())
        return isinstance(value, (tuple, list)) and any(map(self._among, value))

    def astype(self, dtype: Any, copy: bool = True, **_: Any) -> Any:
        """Return the tensor converted to another element type: a copy, unless ``copy=False``."""
        wanted = check_dtype(np.dtype(dtype), "astype")
        if wanted != self._data.dtype:
            return CAST(self, dtype=wanted.name)
        return self.clone() if copy and not in_function() else self

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


# ---------------------------------------------------------------- operators

_OPS = registry.ops
#: What an op leaves to the other operand.
_FOREIGN = (str, bytes, type(None), Traced, Complex)


def _operator(name: str, swap: bool) -> Callable[[Any, Any], Any]:
    op = _OPS[name]

    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, _FOREIGN) or (type(other) is not Tensor and declines(other)):
            return NotImplemented
        return bind(op, (other, self) if swap else (self, other), _NONE)

    return operator


add_operators(Tensor, _operator)


def _at(x: Tensor, index: Any) -> Any:
    index = plain(index)
    if type(index) is np.ndarray and index.ndim and index.size and x._data.ndim:
        if index.dtype.kind == "b" and index.shape == x.shape[:1]:
            (index,) = index.nonzero()
        if index.dtype.kind == "i" and index.size:
            return bind(GATHER, (x, in_range(index, x.shape[0], 0)), {"axes": (0,), "at": 0})
    return getitem(x, index)


def _hashed(index: Any) -> Any:
    """Return what can be hashed and says all of an index; else what cannot be hashed."""
    parts: list[Any] = []
    for x in index if type(index) is tuple else (index,):
        if type(x) is slice:
            bounds = (x.start, x.stop, x.step)
            if not all(b is None or type(b) is int for b in bounds):
                return []  # bounds that are tensors are read each time
            parts += (slice, *bounds)
        elif type(x) is int or x is Ellipsis or x is None:
            parts.append(x)
        else:
            return []
    return tuple(parts)


# ---------------------------------------------------------------- reductions

#: Reductions that are several ops.
_SPREADS = {np.var: VAR, np.std: STD}

#: Reductions that are one step here and may be several ops of the compiler's.
_FOLDED = frozenset((*FOLDS, *_SPREADS))

#: Reductions that no derivative goes through.
_WITHOUT = (np.argmax, np.argmin, np.any, np.all)


def reduced(
    function: Callable[..., Any], x: Any, axis: Any, keep: bool, more: dict[str, Any]
) -> Any:
    """Return a reduction of a tensor, to be called by ``planned``.

    Parameters
    ----------
    function:
        NumPy's.
    x:
        A tensor.
    axis, keep, more:
        Its arguments: ``axis``, ``keepdims``, and others by name.
    """
    data = x._data
    if function in _WITHOUT and not keep and _is_axis(axis, data):
        return wrap(np.asarray(function(data, axis)))
    if data.size and data.dtype.kind == "f":
        with suppress(ShapeError):  # NumPy's function names itself
            axes = normalize_axes(axis, data.ndim)
            if function in FOLDS and axes and not more:
                return bind(FOLDS[function][keep], (x,), {"axes": axes})
            if function in _SPREADS and more.keys() <= {"ddof"}:
                ddof = more.get("ddof", 0)
                if type(ddof) in (int, float):
                    params = {"axis": counted(axis, data.ndim), "ddof": ddof, "keepdims": keep}
                    return bind(_SPREADS[function], (x,), params)
    given = {"axis": axis, "keepdims": keep, **more} if keep else {"axis": axis, **more}
    return call(function, (x,), given)


def _folded(function: Callable[..., Any], x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return one of ``_FOLDED`` of a tensor, called with NumPy's arguments."""
    key = (function, axis, type(axis), keepdims)
    return planned(key, (x,), reduced, function, x, axis, keepdims, {})


def _is_axis(axis: Any, data: Any) -> bool:
    """Tell whether an array can be reduced over an axis, or all of them, without more ado."""
    inside = axis is None or (type(axis) is int and -data.ndim <= axis < data.ndim)
    return inside and data.size > 0


def counted(axis: Any, rank: int) -> Any:
    """Return an axis, or several, counted from the front."""
    axes = normalize_axes(axis, rank)
    return None if axis is None else axes[0] if len(axes) == 1 else axes


# ---------------------------------------------------------------- plain numbers


#: Functions that report on values and have no derivative.
_REPORTS = frozenset((
    np.array_equal, np.allclose, np.array_repr, np.array_str, np.array2string, np.nonzero,
    np.flatnonzero, np.argwhere,
))  # fmt: skip


def _array(data: Any) -> Any:
    """Return an array of what a tensor is made of."""
    try:
        return np.asarray(data)
    except ValueError as error:
        raise ArgumentError(f"cannot make a tensor of ragged lists: {error}") from None


def plain(value: Any, depth: int = 0) -> Any:
    """Return a nested argument with arrays in place of tensors; ``depth`` containers are around."""
    refuse_depth(depth, type(value))
    if isinstance(value, Tensor):
        return value._data
    if isinstance(value, (tuple, list)):
        return type(value)(plain(x, depth + 1) for x in value)
    if isinstance(value, dict):
        return {k: plain(v, depth + 1) for k, v in value.items()}
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


__all__ = ["Tensor", "counted", "plain", "reduced", "wrap"]
