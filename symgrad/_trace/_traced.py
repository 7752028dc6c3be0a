"""The traced value: what the user's function sees in place of an array."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

import numpy as np

from .._disguise import array_class, stands_for
from .._graph import Constant, Node, Where, user_line
from .._graph._types import check_dtype
from .._op import Op, registry
from .._ops import RESHAPE, getitem
from .._ops.indexing import basic_region
from .._ops.np_common import as_array, holds_traced
from .._ops.regions import within as inside
from .._shapes import Shape, Size, as_dim, as_size, dim_product, show
from .._state import now, within
from ..errors import TraceError
from ._arrays import ArrayMethods, add_operators
from ._bind import as_node, bind, bind_nodes
from ._known import known_number
from ._masked import Masked, masked_by
from ._numberless import Numberless
from ._operators import add_augmented, binary, makes_complex
from ._views import (
    Layout,
    Step,
    View,
    follow,
    layout_of,
    layout_of_result,
    path_between,
    shares,
)
from ._whole import require_power
from ._writes import Lost, Writes, added, fitted, put, replaced, require_kind

_OPS = registry.ops


def known_index(index: Any) -> Any:
    """Return an index in which lists with traced places are arrays.

    Constant arrays are arrays again, and known numbers numbers.
    """
    if isinstance(index, tuple):
        return tuple([_known_item(item) for item in index])
    return _known_item(index)


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
        return item if known is None else int(known)
    return item


NO_STEPS: tuple[Step, ...] = ()


def leads(index: Any) -> bool:
    """Tell whether the index arrays of an index are its first entry, and the only ones."""
    first, *rest = index if isinstance(index, tuple) else (index,)
    return first is not None and not isinstance(first, slice) and first is not Ellipsis and all(
        isinstance(item, slice) or item is Ellipsis for item in rest
    )  # fmt: skip


@contextlib.contextmanager
def reads_of(arrays: Iterable[Traced]) -> Iterator[dict[int, Where | None]]:
    """Note where arrays, or views of them, are read in the block, by the arrays' identity."""
    outer, seen = now().reads, dict.fromkeys((id(x.root) for x in arrays), None)
    found: dict[int, Where | None] = {**(outer or {}), **seen}
    try:
        with within(reads=found):
            yield found
    finally:
        if outer is not None:
            outer.update({k: v for k, v in found.items() if k in outer})


def _is_view(index: Any, shape: Shape) -> bool:
    """Tell whether what was read shares memory: a number does if the index has ``...``."""
    entries = index if isinstance(index, tuple) else (index,)
    return bool(shape) or any(entry is Ellipsis for entry in entries)


class Traced(Numberless, ArrayMethods):
    """A value of the function being traced; it has a shape and a type but no numbers.

    NumPy functions, operators and array methods work on it and extend the graph. What
    needs a number (``if``, ``float``, ``math.sin``) raises :class:`TraceError`. Arrays can be
    assigned to: see ``_writes``.
    """

    __slots__ = ("_node", "_scope", "_version", "_view", "_writes", "layout", "weak")
    __hash__ = Numberless.__hash__
    __class__ = stands_for(lambda self: self.weak or array_class(self))

    def __init__(self, node: Node, weak: type | None = None):
        self._node = node
        self.weak = weak  # float for a Python float: it does not widen float32
        self._view: View | None = None
        self._writes: Writes | Lost | None = None
        self._version = 0
        self.layout = Layout.RUN  # what is sure of it, as NumPy's array would lie
        self._scope = now().scope

    # ---------------------------------------------------------------- the node, as it is now

    @property
    def node(self) -> Node:
        """The node that the value is just now."""
        reads = now().reads
        if reads is not None:
            self._note(reads)
        if self._view is not None:
            self._refresh(self._view)
        elif self._writes is not None:
            with within(made=None):  # what has been written is the array's, whoever asks for it
                self._node = self._writes.settle()
        return self._node

    @property
    def root(self) -> Traced:
        """The array that this is a view of, for all that is known, or this one."""
        found = self
        while found._view is not None:
            found = found._view.source
        return found

    def _note(self, seen: dict[int, Where | None]) -> None:
        """Note where the array is read, if it is among those that are watched."""
        key = id(self.root)
        if key in seen and seen[key] is None:
            seen[key] = user_line()

    def _refresh(self, view: View) -> None:
        """Take a view anew if the array that it is of has been written to."""
        source = view.source
        if source._view is not None:
            source._refresh(source._view)
        if source._version == view.version:
            return
        if view.path is None:
            raise TraceError(self._unclear("the other"))
        with within(made=None):
            self._node = follow(source.node, view.path)
        self._view = view._replace(version=source._version)

    def _unclear(self, which: str) -> str:
        made = f" made at {self._node.where}" if self._node.where else ""
        return (
            f"whether the array{made} (shape {show(self._shape)}) shares memory with the one it "
            f"was taken from depends on how that lies in memory (a reshape or a ravel of what is "
            "turned, or has gaps; windows share it), and one of the two was assigned to, then "
            f"{which} was used. Write instead: x.copy() where it is made, or assign through the "
            "original array"
        )

    def _see(self, source: Any, wanted: Layout | None = None) -> Traced:
        """Return this value as a view of ``source``, if NumPy would share its memory.

        With ``wanted`` it is a copy where it would not lie so.
        """
        if not isinstance(source, Traced):
            return self
        if self is source:
            if wanted is None or source.layout is wanted or not self._shape:
                return self
            return Traced(self._node, self.weak)._see(source, wanted)
        seen = self._view is not None and self.root is source.root
        path = None if seen else path_between(self._node, source._node)
        if path is None:
            return self
        found = shares(path, source._node, source.layout, wanted)
        self.layout = found.layout if self.ndim > 1 else max(found.layout, Layout.EVEN)
        before = source._view
        if before is None or before.path is None:
            before = View(source, NO_STEPS, source._version)
        assert before.path is not None
        self._view = View(
            before.source,
            (*before.path, *path) if found.shared else None,
            before.version,
            (before.writable or not found.shared) and found.writable,
        )
        return self

    def sharing(self, source: Any) -> Traced:
        """Return the value as a view of ``source`` that is not followed where one is written."""
        made = Traced(self._node, self.weak)
        made.layout = Layout.UNKNOWN
        if isinstance(source, Traced):
            made._view = View(source, None, source._version, False)
        return made

    def unsure(self, layout: Layout) -> Traced:
        """Return what is a copy that lies so, or this very array if it does."""
        return Traced(self.node, self.weak)._see(self, layout)

    def own(self, layout: Layout) -> Traced:
        """Return the value as an array of its own, which lies so."""
        made = Traced(self.node, self.weak)
        made.layout = layout if made.ndim > 1 else Layout.RUN
        return made

    def seen_from(self, twin: Traced) -> Traced:
        """Return what this value is of its root, of a copy of the root."""
        view = self._view
        if view is None:
            return twin
        made = Traced(self.node, self.weak)
        made.layout = self.layout
        path = view.path if view.source._view is None else None
        made._view = View(twin, path, twin._version, view.writable)
        return made

    @property
    def is_view(self) -> bool:
        """Whether it may share memory with another array."""
        return self._view is not None

    @property
    def overwritten(self) -> bool:
        """Whether the array has been assigned to."""
        return self._version > 0

    def __getitem__(self, index: Any) -> Any:
        index = known_index(index)
        region = basic_region(self._shape, index)
        if region is None:
            if masked_by(index):
                return Masked.read(self, index)
            found = getitem(self, index)
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
            found = getitem(self, index)
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

    def __setitem__(self, index: Any, value: Any) -> None:
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

    @property
    def _shape(self) -> Shape:
        """The shape, which no assignment changes."""
        return self._node.shape

    def _write(self, region: Any, part: Node) -> None:
        """Write a region over, here or in the array that this is a view of."""
        if all(entry == (0, 1, n) for entry, n in zip(region, self._shape, strict=True)):
            self._become(part)
            return
        view = self._assignable()
        if view is None:
            if self._writes is None:
                self._writes = Writes(self._node)
            self._writes.write(region, part)
            self._version += 1
            return
        assert view.path is not None
        if all(op is _OPS["Slice"] for op, _ in view.path):
            for _, items in reversed(view.path):
                region = inside(dict(items)["region"], region)
            view.source._write(region, part)
            return
        step = (_OPS["Slice"], (("region", region),))
        self._become(put(self.node, (step,), part))

    def _become(self, node: Node) -> None:
        """Replace the whole array, and with it that part of the array that it is a view of."""
        view = self._assignable()
        if view is None:
            self._node, self._writes = node, None
            self._version += 1
            return
        assert view.path is not None
        if len(view.path) == 1 and view.path[0][0] is _OPS["Slice"]:
            view.source._write(dict(view.path[0][1])["region"], node)
        else:
            view.source._become(put(view.source.node, view.path, node))

    def _add_at(self, index: Any, value: Any) -> None:
        """Add values at an index in which places may come more than once."""
        self._become(added(self, known_index(index), value).node)

    def _assignable(self) -> View | None:
        """Return what this is surely a view of, None for an array of its own; or raise."""
        view = self._view
        if view is not None and view.path is None:
            self._refresh(view)
            view.source._lose(self._unclear("the other"))
            self._view = view = None
        if view is None:
            if not self._shape:
                raise TypeError("a number does not support item assignment")
            if isinstance(self._writes, Lost):
                self._writes.settle()
            self._check_scope()
        elif not view.writable:
            raise TraceError(
                "a broadcast array or a diagonal is a view that NumPy does not write to either. "
                "Write instead: x.copy() where it is made, or assign through the original array"
            )
        return view

    def _lose(self, complaint: str) -> None:
        """Refuse from now on what would read the array, which may have been written to."""
        self._check_scope()
        if self._view is not None:
            self._view.source._lose(complaint)
        self._view, self._writes = None, Lost(complaint)
        self._version += 1

    def _check_scope(self) -> None:
        if self._scope is not now().scope:
            made = f", made at {self._node.where}" if self._node.where else ""
            raise TraceError(
                "a step of a loop, or one case of a branch, assigns to an array from around it "
                f"(shape {show(self._shape)}{made}): whether and how often it runs is known only "
                "later. Write instead: pass the array in, and return it as part of the carry or "
                "of the result"
            )

    def _in_place(self, name: str, sign: str, other: Any) -> Any:
        """Carry out ``x += other`` for all that know the array; numbers are made anew."""
        if not self._shape and self._view is None:
            return NotImplemented
        result = Traced(bind(_OPS[name], (self, other), {}))
        require_kind(self.dtype, result.dtype, sign)
        self._become(fitted(result, self._shape, self.dtype))
        return self

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

    def __symgrad_size__(self, size: Size, op: Callable[..., Any], swap: bool) -> Any:
        return NotImplemented

    # ---------------------------------------------------------------- what it is

    @property
    def shape(self) -> tuple[int | Size, ...]:
        """The shape; symbolic sizes compute like integers."""
        return tuple(map(as_size, self._shape))

    @shape.setter
    def shape(self, _: Any) -> NoReturn:
        raise TraceError(
            "the shape of a traced array cannot be changed in place: write x = x.reshape(shape)"
        )

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type, which no assignment changes."""
        return self._node.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._shape)

    @property
    def size(self) -> int | Size:
        """The number of elements."""
        return as_size(dim_product(self._shape))

    def __format__(self, spec: str) -> str:
        if spec:
            instead = "the text outside of the function, or sg.debug_print(x) to see the numbers"
            self._leaked(f"text (`{{x:{spec}}}`)", instead, of_one=True)
        return repr(self)

    def __getattr__(self, name: str) -> NoReturn:
        known = "" if name.startswith("_") or not hasattr(np.ndarray, name) else (
            ": a method of arrays that is not traced; see the op table (docs/ops.md)")  # fmt: skip
        raise AttributeError(f"a traced value has no attribute {name!r}{known}")

    def __repr__(self) -> str:
        shape = show(self.node.shape)
        return f"Traced({self.node.op.name}, shape={shape}, dtype={self.node.dtype})"

    # ---------------------------------------------------------------- copies

    def __copy__(self) -> Any:
        return self.copy("K")

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy("K")

    # ---------------------------------------------------------------- unary operators

    def __neg__(self) -> Any:
        return Traced(bind(_OPS["Negative"], (self,), {}), self.weak)._lying(self)

    def __pos__(self) -> Any:
        return self.copy("K") if self._shape else self

    def __abs__(self) -> Any:
        return Traced(bind(_OPS["Absolute"], (self,), {}), self.weak)._lying(self)

    def __invert__(self) -> Any:
        return Traced(bind(_OPS["Invert"], (self,), {}))._lying(self)

    def _lying(self, *operands: Any) -> Traced:
        """Return this result of an elementwise function, laid out as its operands are."""
        self.layout = layout_of_result(self._shape, *operands)
        return self

    # ---------------------------------------------------------------- methods

    def astype(self, dtype: Any, order: str = "K", *, copy: bool = True, **_: Any) -> Any:
        """Return the value converted to another element type."""
        target = np.dtype(dtype)
        if target == self.dtype and not copy:
            return self
        if target.kind == "c":
            return Traced.to_complex(self, target)
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

    def fill(self, value: Any) -> None:
        """Assign one value to all elements."""
        self[...] = value

    def sort(self, axis: int = -1, kind: Any = None, order: None = None, *,
             stable: Any = None) -> None:  # fmt: skip
        """Sort in place."""
        self[...] = np.sort(self, axis)

    def partition(self, kth: Any, axis: int = -1, kind: str = "introselect",
                  order: None = None) -> None:  # fmt: skip
        """Sort in place as far as ``kth`` asks for."""
        self[...] = np.partition(self, kth, axis)


add_operators(Traced, binary)
add_augmented(Traced)


def as_traced(value: Any) -> Traced:
    """Return ``value`` (number, array, size or traced value) as a traced value."""
    if isinstance(value, Traced):
        return value
    made = Traced(as_node(value))
    made.layout = layout_of(value)
    return made


__all__ = ["Traced", "as_dim", "as_traced"]
