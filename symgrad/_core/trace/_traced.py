"""The traced value: what the user's function sees in place of an array."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, NoReturn

import numpy as np

from ...errors import TraceError
from ..base.broadcast import show
from ..base.sizes import Shape, Size, as_dim, as_size, dim_product
from ..base.stand_in_types import StandIn, absent, asks_for, show_as, stands_for
from ..base.state import now, within
from ..graph import Constant, Literal, Node, Where
from ..graph._types import check_dtype
from ..op import Op, registry
from ..ops import RESHAPE, getitem
from ..ops.indexing import basic_region, in_region
from ..ops.np_common import as_array, holds_traced
from ._arrays import InMemory, add_operators
from ._assignment import (
    added,
    decided_index,
    fitted,
    is_traced_mask,
    replaced,
    require_kind,
    require_real,
)
from ._attributes import attribute_of
from ._bind import as_node, bind, bind_nodes, require_bounds
from ._caught_errors import catching
from ._constants import known_number
from ._decisions import truth_of
from ._integers import require_power
from ._lists import among_lists, ask, ask_kind
from ._mask_places import Places
from ._mask_selection import Masked, unmasked
from ._memory import Stored
from ._number_refusals import Numberless
from ._operators import add_augmented, binary, makes_complex, matmul_in_place, whole
from ._text import example, number_of, only_shown, say_without_number
from ._views import Layout, Step, View, layout_of, layout_of_result, shares

_OPS = registry.ops


def known_index(index: Any) -> Any:
    """Return an index in which lists with traced places are arrays.

    Constant arrays are arrays again, and known numbers numbers.
    """
    if isinstance(index, tuple):
        return unmasked(tuple([_known_item(item) for item in index]))
    return unmasked(_known_item(index))


def _known_item(item: Any) -> Any:
    if isinstance(item, (list, tuple)):
        places = [_known_item(place) for place in item]
        return as_array(places) if holds_traced(places) else places
    if not isinstance(item, Traced):
        return item
    if isinstance(item.node, Constant):
        return item.node.array
    if not item.node.shape and item.dtype.kind in "iu":
        known = known_number(item.node)
        if known is not None:
            return int(known)
        if (examples := now().examples) is not None:
            examples.note_place(item.node)
    return item


def leads(index: Any) -> bool:
    """Tell whether the index arrays of an index are its first entry, and the only ones."""
    first, *rest = index if isinstance(index, tuple) else (index,)
    return first is not None and not isinstance(first, slice) and first is not Ellipsis and all(
        isinstance(item, slice) or item is Ellipsis for item in rest
    )  # fmt: skip


class reads_of(within):  # noqa: N801 - a block
    """Note where arrays, or views of them, are read in the block, by the arrays' identity."""

    __slots__ = "_found", "_outer"

    def __init__(self, arrays: Iterable[Traced]) -> None:
        self._outer, seen = now().reads, dict.fromkeys((id(x.root) for x in arrays), None)
        self._found: dict[int, Where | None] = {**(self._outer or {}), **seen}
        super().__init__(reads=self._found)

    def __enter__(self) -> dict[int, Where | None]:
        super().__enter__()
        return self._found

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        outer = self._outer
        if outer is not None:
            outer.update({k: v for k, v in self._found.items() if k in outer})


def _is_view(index: Any, shape: Shape) -> bool:
    """Tell whether what was read shares memory: a number does if the index has ``...``."""
    entries = index if isinstance(index, tuple) else (index,)
    return bool(shape) or any(entry is Ellipsis for entry in entries)


def _kind(value: Traced) -> Any:
    """Return the class of what a traced value stands for: a number's, or the array's."""
    if value.weak is not None:
        return value.weak
    node = value._node
    return np.ndarray if node.shape or value.boxed else node.dtype.type


def _asked_kind(value: Traced) -> Any:
    """Return the class of what a traced value stands for to code that asks."""
    if value.weak is None:
        ask_kind(value._node)
    return _kind(value)


def _ask_attribute(value: Traced, name: str, frame: FrameType) -> None:
    """Note that code asks whether there is an attribute that arrays have, and lists have not."""
    lists = among_lists(value._node)
    if lists is None:
        return
    asked = asks_for(name, frame)
    if asked and (asked != "name" or catching(frame, AttributeError) is not None):
        lists.ask(value._node)


class Traced(InMemory, Numberless, Stored, metaclass=StandIn):
    """A value of the function being traced; it has a shape and a type but no numbers.

    NumPy functions, operators and array methods work on it and extend the graph.
    Functions that need a number (``if``, ``float``, ``math.sin``) raise :class:`TraceError`.
    Arrays can be assigned to: see ``_memory``.
    """

    __slots__ = ()
    __hash__ = Numberless.__hash__
    __class__ = stands_for(_asked_kind)

    def __symgrad_places__(self, function: Callable[..., Any]) -> Any:
        return Places.given_by(function, self)

    def __getitem__(self, index: Any) -> Any:
        index = known_index(index)
        region = basic_region(self._shape, index)
        if region is None:
            if is_traced_mask(index):
                return Masked.read(self, index)
            found = getitem(self, decided_index(index))
            if not found.ndim:
                return found
            if any(
                isinstance(k, np.ndarray) for k in (index if type(index) is tuple else (index,))
            ):
                found = found.own(Layout.RUN)  # NumPy copies for an array of no axes, too
            else:
                found = found._see(self)  # a row at a traced place
            if found._view is None and found.ndim > 1 and not (self.layout and leads(index)):
                found.layout = Layout.UNKNOWN
            return found
        read = None
        if self._writes is not None and self._view is None:
            read = self._writes.read(region[0])
        if read is None:
            found = in_region(self, self._shape, *region)
            if (lists := now().lists) is not None:
                if not region[1]:
                    lists.read(self._node, found._node)
                else:
                    lists.follow(self._node, found._node)  # a slice or a row
                if found is self and self._node in lists:  # x[:], of which a list makes a copy
                    lists.ask(self._node)
            return found._see(self) if _is_view(index, region[1]) else found
        part = Traced(read)
        part = part if read.shape == region[1] else RESHAPE(part, shape=region[1])
        if _is_view(index, region[1]):
            steps: tuple[Step, ...] = ((_OPS["Slice"], (("region", region[0]),)),)
            if read.shape != region[1]:
                steps += ((_OPS["Reshape"], (("shape", region[1]),)),)
            part._view = View(self, steps, self._version)
            part.layout = shares(steps, self._node, self.layout).layout
        return part

    def __delitem__(self, index: Any) -> None:
        if not self._shape and not self.boxed:
            kind = _kind(self)
            home = "numpy." if kind.__module__ == "numpy" else ""
            raise TypeError(f"'{home}{kind.__name__}' object does not support item deletion")
        ask(self._node)  # those of a list can be
        raise ValueError("cannot delete array elements")

    def __setitem__(self, index: Any, value: Any) -> None:
        if self._view is not None:
            ask(self._node)  # a slice of a list is a copy
        index = known_index(index)
        region = basic_region(self._shape, index)
        if region is None:
            self._become(replaced(self, index, value).node)
            return
        part = fitted(value, region[1], self.dtype)
        size = tuple(n for _, _, n in region[0] if n is not None)
        if part.shape != size:
            part = bind_nodes(_OPS["Reshape"], (part,), {"shape": size})
        self._write(region[0], part)

    def _add_at(self, index: Any, value: Any) -> None:
        """Add values at an index in which places may come more than once."""
        self._become(added(self, known_index(index), value).node)

    def _in_place(self, name: str, sign: str, other: Any) -> Any:
        """Carry out ``x += other`` for all that know the array; numbers are made anew."""
        if not self._shape and self._view is None and not self.boxed:
            return NotImplemented
        require_real(other)
        result = Traced(bind(_OPS[name], (self, other), {}))
        require_kind(self.dtype, result.dtype, sign)
        self._become(fitted(result, self._shape, self.dtype))
        return self

    __imatmul__ = matmul_in_place

    #: Carries out an op with a complex operand: ``with_complex(op, operands, params)``.
    with_complex: Callable[[Op, tuple[Any, ...], dict[str, Any]], Any]
    #: Returns a traced value converted to a complex type: ``to_complex(value, dtype)``.
    to_complex: Callable[[Any, Any], Any]

    @staticmethod
    def __symgrad_bind__(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if any(map(makes_complex, operands)):
            return Traced.with_complex(op, operands, params)
        made = Traced(bind(op, operands, params))
        if op is _OPS["Power"] and made._node.dtype.kind in "iu":
            require_power(made._node, Traced)
        if op.kind == "map":
            made.layout = layout_of_result(made._shape, *operands)
        return made

    # ---------------------------------------------------------------- NumPy's protocols

    def __symgrad_numbers__(self, kind: type) -> list[Any]:
        """Return the elements of a column as Python's numbers."""
        return [Traced(self[k].node, kind) for k in range(int(self._shape[0]))]

    def __symgrad_size__(self, size: Size, op: Callable[..., Any], swap: bool) -> Any:
        return NotImplemented

    # ---------------------------------------------------------------- what it is

    @property
    def shape(self) -> tuple[int | Size, ...]:
        """The shape; symbolic sizes compute like integers."""
        if self.weak is not None and asks_for("shape", sys._getframe(1)):
            raise absent(self.weak, "shape")
        if self._node.shape:
            _ask_attribute(self, "shape", sys._getframe(1))
        return tuple(map(as_size, self._shape))

    @shape.setter
    def shape(self, _: Any) -> NoReturn:
        raise TraceError(
            "the shape of a traced array cannot be changed in place: write x = x.reshape(shape)"
        )

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type, which no assignment changes."""
        if self.weak is not None and asks_for("dtype", sys._getframe(1)):
            raise absent(self.weak, "dtype")
        if self._node.shape:
            _ask_attribute(self, "dtype", sys._getframe(1))
        return self._node.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        if self.weak is not None and asks_for("ndim", sys._getframe(1)):
            raise absent(self.weak, "ndim")
        if self._node.shape:
            _ask_attribute(self, "ndim", sys._getframe(1))
        return len(self._shape)

    @property
    def size(self) -> int | Size:
        """The number of elements."""
        if self.weak is not None and asks_for("size", sys._getframe(1)):
            raise absent(self.weak, "size")
        if self._node.shape:
            _ask_attribute(self, "size", sys._getframe(1))
        return as_size(dim_product(self._shape))

    @property
    def imag(self) -> Any:
        """Zeros: traced values of this class are real."""
        if self._shape or self.boxed:
            return np.zeros_like(self)
        return Traced(as_node(self._node.dtype.type(0)), self.weak and whole(self).weak)

    def __format__(self, spec: str) -> str:
        if only_shown():
            value = example(self.node)
            return repr(self) if value is None else format(value, spec)
        if not spec:
            return repr(self)
        instead = "the text outside of the function, or sg.debug_print(x) to see the numbers"
        self._leaked(f"text (`{{x:{spec}}}`)", instead, of_one=True)

    def __getattr__(self, name: str) -> Any:
        asked = asks_for(name, sys._getframe(1))
        if asked:
            if self._node.shape:
                ask(self._node)
            return attribute_of(self, _kind(self), name, asked)
        raise AttributeError(f"a traced value has no attribute {name!r}")

    def __str__(self) -> str:
        value = example(self.node) if only_shown() else None
        return repr(self) if value is None else str(value)

    def __repr__(self) -> str:
        value = example(self.node) if only_shown() else None
        if value is not None:
            return repr(self.weak(value) if self.weak else value)
        say_without_number()
        name, shape = self.node.op.name, show(self.node.shape)
        return f"Traced({name} {number_of(self.node)}, shape={shape}, dtype={self.node.dtype})"

    # ---------------------------------------------------------------- unary operators

    def __neg__(self) -> Any:
        x = whole(self)
        return Traced(bind(_OPS["Negative"], (x,), {}), x.weak)._lying(self)

    def __pos__(self) -> Any:
        if self.weak is bool:
            return whole(self)
        return self.copy("K") if self._shape else self

    def __abs__(self) -> Any:
        x = whole(self)
        return Traced(bind(_OPS["Absolute"], (x,), {}), x.weak)._lying(self)

    def __invert__(self) -> Any:
        x = whole(self)
        return Traced(bind(_OPS["Invert"], (x,), {}), x.weak)._lying(self)

    def _lying(self, *operands: Any) -> Traced:
        """Return this result of an elementwise function, laid out as its operands are."""
        self.layout = layout_of_result(self._shape, *operands)
        return self

    # ---------------------------------------------------------------- methods

    def astype(
        self, dtype: Any, order: str = "K", casting: Any = "unsafe", *, copy: bool = True, **_: Any
    ) -> Any:
        """Return the value converted to another element type."""
        target = np.dtype(dtype)
        if not np.can_cast(self.dtype, target, casting):
            raise TypeError(
                f"Cannot cast array data from {self.dtype!r} to {target!r} according to the rule "
                f"{casting!r}"
            )
        if target == self.dtype and not copy:
            return self
        require_bounds(self, target, "a whole number")  # Python's integers, which have no astype
        if target.kind == "c":
            return Traced.to_complex(self, target)
        if target.kind == "b" and self.dtype.kind == "f":
            made = truth_of(self)
        else:
            made = _OPS["Cast"](self, dtype=check_dtype(target, "astype").name)
        return made if order == "K" else made.copy(order)

    def copy(self, order: str = "C") -> Any:
        """Return a copy, which assignments to this array do not change."""
        same = order == "K" and self.layout
        return self.own(Layout.RUN if order == "C" or same else Layout.UNKNOWN)

    def conj(self) -> Any:
        """Return the array itself, which is real; ``np.conj`` copies."""
        return self

    conjugate = conj

    def partition(self, kth: Any, axis: int = -1, kind: str = "introselect",
                  order: None = None) -> None:  # fmt: skip
        """Sort in place as far as ``kth`` asks for."""
        self[...] = np.partition(self, kth, axis)


add_operators(Traced, binary)
add_augmented(Traced)
show_as(Traced, _kind, "shape", "dtype", "ndim", "size", shown=_ask_attribute)


def as_traced(value: Any) -> Traced:
    """Return ``value`` (number, array, size or traced value) as a traced value."""
    if isinstance(value, Traced):
        return value
    made = Traced(as_node(value))
    made.layout = layout_of(value)
    return made


def zeros_like(node: Node) -> Node:
    """Return zeros of the shape and type of ``node``."""
    zero = Literal(0, node.dtype)
    return zero if not node.shape else as_node(np.broadcast_to(Traced(zero), Traced(node).shape))


__all__ = ["Traced", "as_dim", "as_traced", "zeros_like"]
