"""The traced value: what the user's function sees in place of an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from .._graph import Input, Node
from .._graph._types import check_dtype
from .._op import Op, registry
from .._shapes import Size, as_dim, as_size, dim_product, show
from ..errors import TraceError
from ._arrays import ArrayMethods, add_operators
from ._bind import as_node, bind
from ._examples import decided, unknown
from ._known import known_number

_OPS = registry.ops


def _operator(name: str, swap: bool = False) -> Callable[[Any, Any], Any]:
    op = _OPS[name]

    def method(self: Traced, other: Any) -> Any:
        if isinstance(other, (str, bytes, type(None))):
            return NotImplemented
        weak = self.weak and (type(other) in (float, int, bool) or _weak(other))
        node = bind(op, (other, self) if swap else (self, other), {})
        return Traced(node, _PYTHON.get(node.dtype.char) if weak else None)

    return method


#: The Python type of what an operator makes of Python numbers.
_PYTHON = {"d": float, "l": int, "q": int}


def _weak(value: Any) -> bool:
    return isinstance(value, Size) or getattr(value, "weak", None) is not None


class Traced(ArrayMethods):
    """A value of the function being traced; it has a shape and a type but no numbers.

    NumPy functions, operators and array methods work on it and extend the graph. What
    needs a number (``if``, ``float``, ``math.sin``) raises :class:`TraceError`.
    """

    __slots__ = ("node", "weak")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, node: Node, weak: type | None = None):
        self.node = node
        self.weak = weak  # float for a Python float: it does not widen float32

    @staticmethod
    def __symgrad_bind__(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> Traced:
        return Traced(bind(op, operands, params))

    # ---------------------------------------------------------------- NumPy's protocols

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        self._leaked(
            "an array of numbers",
            "np.stack([x, y]) for np.array([x, y]), symgrad.numpy.take(array, x) for array[x]",
        )

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

    def __format__(self, spec: str) -> str:
        if spec:
            self._leaked(f"text (`{{x:{spec}}}`)", "the text outside of the function")
        return repr(self)

    def __getattr__(self, name: str) -> NoReturn:
        known = "" if name.startswith("_") or not hasattr(np.ndarray, name) else (
            ": a method of arrays that is not traced; see the op table (docs/ops.md)")  # fmt: skip
        raise AttributeError(f"a traced value has no attribute {name!r}{known}")

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
            f"{unknown(self.node)}. Write instead: {instead}"
        )

    def __bool__(self) -> bool:
        known = known_number(self.node)
        if known is None:
            known = decided(self.node, bool)
        if known is not None:
            return bool(known)
        self._leaked(
            "a truth value (`if`, `while`, `and`, `or`, `not`, `in`)",
            "np.where(condition, a, b), or sg.cond(condition, f, g); np.logical_and(a, b) or `&` "
            "for `and`",
        )

    def __float__(self) -> float:
        known = known_number(self.node)
        if known is not None:
            return float(known)
        if self.dtype.kind != "f":  # no derivative is lost
            decision = decided(self.node, int)
            if decision is not None:
                return float(decision)
        self._leaked("a Python float (`float(x)`, `math.sin(x)`)", "np.sin(x), np.exp(x), ...")

    def __int__(self) -> int:
        known = known_number(self.node)
        if known is None:
            known = decided(self.node, int)
        if known is not None:
            return int(known)
        self._leaked("a Python int (`int(x)`)", "np.floor(x), np.rint(x), or x.astype(int)")

    def __index__(self) -> int:
        known = known_number(self.node) if self.dtype.kind in "iu" else None
        if known is None and self.dtype.kind in "iu":
            known = decided(self.node, int)
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

    # ---------------------------------------------------------------- copies: it never changes

    def __copy__(self) -> Traced:
        return self

    def __deepcopy__(self, memo: Any) -> Traced:
        return self

    # ---------------------------------------------------------------- unary operators

    def __neg__(self) -> Any:
        return Traced(bind(_OPS["Negative"], (self,), {}), self.weak)

    def __abs__(self) -> Any:
        return Traced(bind(_OPS["Absolute"], (self,), {}), self.weak)

    def __invert__(self) -> Any:
        return Traced(bind(_OPS["Invert"], (self,), {}))

    # ---------------------------------------------------------------- methods

    def astype(self, dtype: Any, **_: Any) -> Any:
        """Return the value converted to another element type."""
        return _OPS["Cast"](self, dtype=check_dtype(np.dtype(dtype), "astype").name)

    def copy(self, order: str = "C") -> Any:
        """Return the value itself: traced values never change."""
        return self

    def fill(self, value: Any) -> NoReturn:
        """Refuse: traced values never change."""
        self._leaked("in-place filling", "np.full_like(x, value)")

    def __reduce__(self) -> Any:
        self._leaked("pickling", "pickle the compiled function instead")


add_operators(Traced, _operator)


def as_traced(value: Any) -> Traced:
    """Return ``value`` (number, array, size or traced value) as a traced value."""
    return value if isinstance(value, Traced) else Traced(as_node(value))


__all__ = ["Traced", "as_dim", "as_traced"]
