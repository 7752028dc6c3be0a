"""The traced value: what the user's function sees in place of an array."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from .._graph import Input, Node
from .._graph._types import check_dtype
from .._op import Op, refuse, registry
from .._ops import getitem
from .._shapes import Size, as_dim, as_size, dim_product, show
from ..errors import TraceError, UnsupportedError
from ._bind import as_node, bind
from ._known import known_number

_REDUCE: dict[np.ufunc, Callable[..., Any]] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
    np.logical_and: np.all,
    np.logical_or: np.any,
}
_ACCUMULATE: dict[np.ufunc, Callable[..., Any]] = {np.add: np.cumsum, np.multiply: np.cumprod}


_OPS = registry.ops


def _operator(name: str, swap: bool = False) -> Callable[[Any, Any], Any]:
    op = _OPS[name]

    def method(self: Traced, other: Any) -> Any:
        if isinstance(other, (str, bytes, type(None))):
            return NotImplemented
        weak = self.weak and (type(other) is float or type(other) is int or _weak(other))
        node = bind(op, (other, self) if swap else (self, other), {})
        return Traced(node, _PYTHON.get(node.dtype.char) if weak else None)

    return method


#: The Python type of what an operator makes of Python numbers.
_PYTHON = {"d": float, "l": int, "q": int}


def _weak(value: Any) -> bool:
    return isinstance(value, Size) or getattr(value, "weak", None) is not None


class Traced:
    """A value of the function being traced; it has a shape and a type but no numbers.

    NumPy functions, operators and array methods work on it and extend the graph. What
    needs a number (``if``, ``float``, ``math.sin``) raises :class:`TraceError`.
    """

    __slots__ = ("node", "weak")
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, node: Node, weak: type | None = None):
        self.node = node
        self.weak = weak  # float for a Python float: it does not widen float32

    @staticmethod
    def __symgrad_bind__(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> Traced:
        return Traced(bind(op, operands, params))

    # ---------------------------------------------------------------- NumPy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        if out is not None and any(o is not None for o in out):
            raise UnsupportedError(
                f"np.{ufunc.__name__}(..., out=) writes into an array, which tracing cannot "
                "follow (an augmented assignment such as `a += x` on a plain array does it "
                "too): write `a = a + x`"
            )
        if kwargs.pop("where", True) is not True:
            raise UnsupportedError(
                f"np.{ufunc.__name__}(..., where=) is not traced: use np.where on the result"
            )
        kwargs.pop("casting", None)
        dtype = kwargs.pop("dtype", None)
        if method == "__call__" and not kwargs:
            result = registry.handler(ufunc)(*inputs)
            return result if dtype is None else result.astype(dtype)
        if method == "reduce" and ufunc in _REDUCE:
            kwargs.setdefault("axis", 0)
            return _call(_REDUCE[ufunc], inputs, kwargs)
        if method == "accumulate" and ufunc in _ACCUMULATE:
            kwargs.setdefault("axis", 0)
            return _call(_ACCUMULATE[ufunc], inputs, kwargs)
        if method == "outer":
            a, b = (x if isinstance(x, Traced) else np.asarray(x) for x in inputs)
            left = a[(...,) + (None,) * b.ndim] if b.ndim else a
            return registry.handler(ufunc)(left, b)
        refuse(getattr(ufunc, method, ufunc))

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        return _call(func, args, kwargs)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        self._leaked("an array of numbers", "np.array([x, y]) -> np.stack([x, y])")

    def __symgrad_size__(self, size: Size, op: Callable[..., Any], swap: bool) -> Any:
        return NotImplemented

    # ---------------------------------------------------------------- what it is

    @property
    def shape(self) -> tuple[int | Size, ...]:
        """The shape; symbolic sizes compute like integers."""
        return tuple(map(as_size, self.node.shape))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        return self.node.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.node.shape)

    @property
    def size(self) -> int | Size:
        """The number of elements."""
        return as_size(dim_product(self.node.shape))

    @property
    def T(self) -> Any:
        """The transpose."""
        return np.transpose(self)

    @property
    def mT(self) -> Any:
        """The transpose of the last two axes."""
        return np.swapaxes(self, -1, -2)

    @property
    def real(self) -> Any:
        """The value itself: traced values are real."""
        return self

    @property
    def imag(self) -> Any:
        """Zeros: traced values are real."""
        return np.zeros_like(self)

    @property
    def flat(self) -> Iterator[Any]:
        """The elements in C order."""
        return iter(self.flatten())

    def __repr__(self) -> str:
        shape = show(self.node.shape)
        return f"Traced({self.node.op.name}, shape={shape}, dtype={self.node.dtype})"

    # ---------------------------------------------------------------- what it refuses

    def _leaked(self, wanted: str, instead: str) -> NoReturn:
        made = f", made at {self.node.where}" if self.node.where else ""
        name = "a traced value"
        if isinstance(self.node, Input):
            name = f"the traced argument {self.node.name}"
        raise TraceError(
            f"{wanted} was asked of {name} (shape {show(self.node.shape)}{made}), "
            f"which has no numbers yet. Write instead: {instead}"
        )

    def __bool__(self) -> bool:
        known = known_number(self.node)
        if known is not None:
            return bool(known)
        self._leaked(
            "a truth value (`if`, `while`, `and`, `or`, `not`, `in`)",
            "np.where(condition, a, b); np.logical_and(a, b) or `&` for `and`",
        )

    def __float__(self) -> float:
        known = known_number(self.node)
        if known is not None:
            return float(known)
        self._leaked("a Python float (`float(x)`, `math.sin(x)`)", "np.sin(x), np.exp(x), ...")

    def __int__(self) -> int:
        known = known_number(self.node)
        if known is not None:
            return int(known)
        self._leaked("a Python int (`int(x)`)", "np.floor(x), np.rint(x), or x.astype(int)")

    def __index__(self) -> int:
        known = known_number(self.node) if self.dtype.kind in "iu" else None
        if known is not None:
            return int(known)
        self._leaked("an index (`range(x)`, `list[x]`)", "np.take(array, x), or pass an int")

    def __complex__(self) -> complex:
        self._leaked("a Python complex", "real arithmetic")

    def item(self) -> NoReturn:
        """Refuse: a traced value has no number."""
        self._leaked("a number (`x.item()`)", "the value itself")

    def tolist(self) -> NoReturn:
        """Refuse: a traced value has no numbers."""
        self._leaked("a list of numbers (`x.tolist()`)", "the value itself, or list(x)")

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        self._leaked(
            "in-place assignment (`x[i] = v`)",
            "np.where(mask, v, x), or np.concatenate / np.stack of the parts",
        )

    # ---------------------------------------------------------------- indexing and iteration

    def __getitem__(self, index: Any) -> Any:
        return getitem(self, index)

    def __len__(self) -> int:
        if not self.node.shape:
            raise TypeError("len() of unsized object")
        return int(as_size(self.node.shape[0]))

    def __iter__(self) -> Iterator[Any]:
        if not self.node.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(self == value))

    def __copy__(self) -> Traced:
        return self

    def __deepcopy__(self, memo: Any) -> Traced:
        return self

    # ---------------------------------------------------------------- operators

    __add__, __radd__ = _operator("Add"), _operator("Add", swap=True)
    __sub__, __rsub__ = _operator("Subtract"), _operator("Subtract", swap=True)
    __mul__, __rmul__ = _operator("Multiply"), _operator("Multiply", swap=True)
    __truediv__, __rtruediv__ = _operator("Divide"), _operator("Divide", swap=True)
    __floordiv__ = _operator("FloorDivide")
    __rfloordiv__ = _operator("FloorDivide", swap=True)
    __mod__, __rmod__ = _operator("Remainder"), _operator("Remainder", swap=True)
    __pow__, __rpow__ = _operator("Power"), _operator("Power", swap=True)
    __and__, __rand__ = _operator("BitwiseAnd"), _operator("BitwiseAnd", swap=True)
    __or__, __ror__ = _operator("BitwiseOr"), _operator("BitwiseOr", swap=True)
    __xor__, __rxor__ = _operator("BitwiseXor"), _operator("BitwiseXor", swap=True)
    __lshift__, __rlshift__ = _operator("LeftShift"), _operator("LeftShift", swap=True)
    __rshift__, __rrshift__ = _operator("RightShift"), _operator("RightShift", swap=True)
    __lt__, __le__ = _operator("Less"), _operator("LessEqual")
    __gt__, __ge__ = _operator("Greater"), _operator("GreaterEqual")
    __eq__ = _operator("Equal")
    __ne__ = _operator("NotEqual")

    def __neg__(self) -> Any:
        return Traced(bind(_OPS["Negative"], (self,), {}), self.weak)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return Traced(bind(_OPS["Absolute"], (self,), {}), self.weak)

    def __invert__(self) -> Any:
        return Traced(bind(_OPS["Invert"], (self,), {}))

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __matmul__(self, other: Any) -> Any:
        return _call(np.matmul, (self, other), {})

    def __rmatmul__(self, other: Any) -> Any:
        return _call(np.matmul, (other, self), {})

    def __round__(self, ndigits: int | None = None) -> Any:
        return np.round(self, ndigits or 0)

    # ---------------------------------------------------------------- methods

    def astype(self, dtype: Any, **_: Any) -> Any:
        """Return the value converted to another element type."""
        return _OPS["Cast"](self, dtype=check_dtype(np.dtype(dtype), "astype").name)

    def copy(self, order: str = "C") -> Any:
        """Return the value itself: traced values never change."""
        return self

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """Return the elements in a new shape; one size may be -1."""
        target = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        return _call(np.reshape, (self, target), {"order": order})

    def transpose(self, *axes: Any) -> Any:
        """Permute the axes."""
        flat = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
        return _call(np.transpose, (self, flat), {})

    def flatten(self, order: str = "C") -> Any:
        """Return the elements as a vector."""
        return _call(np.ravel, (self,), {"order": order})

    def fill(self, value: Any) -> NoReturn:
        """Refuse: traced values never change."""
        self._leaked("in-place filling", "np.full_like(x, value)")

    def __reduce__(self) -> Any:
        self._leaked("pickling", "pickle the compiled function instead")


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Traced, *args: Any, **kwargs: Any) -> Any:
        return _call(function, (self, *args), kwargs)

    method.__name__ = function.__name__
    method.__doc__ = f"Same as ``np.{function.__name__}``."
    return method


for _function in (
    np.sum, np.prod, np.mean, np.std, np.var, np.max, np.min, np.any, np.all, np.argmax,
    np.argmin, np.cumsum, np.cumprod, np.ravel, np.swapaxes, np.squeeze, np.repeat, np.take,
    np.trace, np.diagonal, np.clip, np.dot, np.round, np.conjugate,
):  # fmt: skip
    setattr(Traced, _function.__name__, _method(_function))
Traced.conj = Traced.conjugate  # type: ignore[attr-defined]
Traced.ptp = _method(np.ptp)  # type: ignore[attr-defined]


#: Options whose None means that they are not used.
_ABSENT = frozenset(("out", "dtype", "initial", "where", "like"))


def _call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Carry out a NumPy function through the registry; say which option is not traced."""
    handler = registry.handler(function)
    kwargs = {
        k: v for k, v in kwargs.items()
        if v is not np._NoValue and not (v is None and k in _ABSENT)
    }  # fmt: skip
    if not kwargs:
        return handler(*args)
    code = getattr(handler, "__code__", None)
    if code is not None:
        known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        unknown = [k for k in kwargs if k not in known]
        if unknown and not code.co_flags & 8:
            raise UnsupportedError(
                f"{function.__name__}: the option {unknown[0]}= is not traced; "
                f"symgrad knows {', '.join(known)}"
            )
    elif not isinstance(handler, Op):
        return handler(*args, **kwargs)
    else:
        raise UnsupportedError(f"{function.__name__}: the option {next(iter(kwargs))}= "
                               "is not traced")  # fmt: skip
    return handler(*args, **kwargs)


def as_traced(value: Any) -> Traced:
    """Return ``value`` (number, array, size or traced value) as a traced value."""
    return value if isinstance(value, Traced) else Traced(as_node(value))


__all__ = ["Traced", "as_dim", "as_traced"]
