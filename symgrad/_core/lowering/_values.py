"""The value of a node at an index, inside a loop nest: the element formula as code.

``Values.get(node, index)`` emits what is needed to have one element in a register. Views
rewrite the index, elementwise ops compute, stored nodes are loaded; equal requests are
emitted once, and each at the shallowest loop depth at which its index is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from ...errors import UnsupportedError
from ..base.broadcast import aligned
from ..base.sizes import Shape
from ..base.state import now
from ..graph import Input, Iota, Literal, Node, SizeOf, topological
from ..op import (
    ArrayOp,
    Code,
    Composed,
    Cython,
    Emit,
    Instr,
    Intrinsic,
    Libm,
    Reader,
    Readers,
    Scatter,
)
from ..runtime import OUT_OF_RANGE
from ..runtime.interface import constant_text, llvm_type, memory_type
from ._emitter import INDEPENDENT, Emitter

Index = tuple[Any, ...]
Key = tuple[Node, Index]


@dataclass(frozen=True)
class Place:
    """Where a stored node lies: a pointer register, or a slot among the scalars.

    What ``grows`` lies where a cell points to that ``pointer`` is the address of.
    """

    pointer: str
    dtype: np.dtype[Any]
    slot: int | None = None
    grows: bool = False


class Values:
    """Emits node values into one function.

    Parameters
    ----------
    emitter:
        Where the instructions go.
    place:
        ``place(node)`` returns where a stored node lies, or None if it is not stored.
    local:
        Nodes that this nest computes itself, at the index ``identity``.
    status:
        Returns the pointer to the kernel's status, where a bad index is reported.
    unwritten:
        Tells of a stored node whether it is not in memory yet.
    """

    def __init__(
        self,
        emitter: Emitter,
        place: Callable[[Node], Place | None],
        local: set[Node],
        identity: Index,
        status: Callable[[], str],
        unwritten: Callable[[Node], bool] = lambda node: False,
    ) -> None:
        self.emitter, self.place, self.local, self.identity = emitter, place, local, identity
        self.status, self.unwritten = status, unwritten
        self.checked: dict[tuple[str, Any], Any] = {}
        self.memo: dict[Key, str] = {}
        self.readers: dict[Node, Sequence[Reader]] = {}

    def get(self, node: Node, index: Index) -> str:
        """Return the register or constant that holds element ``index`` of ``node``."""
        stack: list[Key] = [(node, index)]
        while stack:
            key = stack[-1]
            if key in self.memo:
                stack.pop()
                continue
            needs = self._needs(*key)
            missing = [k for k in needs if k not in self.memo]
            if missing:
                stack.extend(reversed(missing))
                continue
            stack.pop()
            self.memo[key] = self._emit(*key, [self.memo[k] for k in needs])
        return self.memo[(node, index)]

    def _loaded(self, node: Node, index: Index) -> Place | None:
        # A view's copy, made for BLAS, may not be there yet: others read the view's source.
        if node.op.kind == "view":
            return None
        if (node in self.local and index == self.identity) or self.unwritten(node):
            return None
        return self.place(node)

    def _needs(self, node: Node, index: Index) -> list[Key]:
        kind = node.op.kind
        if kind == "leaf" or self._loaded(node, index) is not None:
            return []
        if kind == "map":
            return [(x, aligned(index, x.shape)) for x in node.operands]
        if kind == "view":
            if node.op.alias and self._memory(node) is not None:
                return []
            assert isinstance(node.op, ArrayOp)
            [x] = node.operands
            return [node.op.element(index, Reader(x.shape, lambda at: (x, at)), **node.params)]
        if kind == "gather":
            return self._gather(node, index)
        raise AssertionError(f"{node.op.name} is not stored, and cannot be computed in place")

    def _gather(self, node: Node, index: Index) -> list[Key]:
        """The computed positions first; once they are known, the element they point to."""
        assert isinstance(node.op, ArrayOp)
        source, *positions = node.operands
        extents = {p: source.shape[a] for p, a in zip(positions, node.params["axes"], strict=True)}
        asked: list[Key] = []

        def at(k: int, place: Index) -> Any:
            x = node.operands[k]
            if not k:
                return x, place
            asked.append((x, place))
            known = self.memo.get((x, place))
            return sp.Integer(0) if known is None else self._position(x, known, extents[x])

        operands = Readers(node.operands, at)
        key = node.op.element(index, *operands, **node.params)
        return [*asked, key] if all(k in self.memo for k in asked) else asked

    def computed_index(self, make: Callable[..., Any], node: Node, first: int) -> Index:
        """Return ``make(operands)`` where operands from ``first`` on give computed indices."""
        known = self.readers.get(node)
        if known is not None:  # it has a place for each part, and there may be hundreds
            return tuple(make(known))
        axes = node.params.get("axes", (0,) * (len(node.operands) - first))
        extents = dict(zip(node.operands[first:], (node.shape[a] for a in axes), strict=False))
        if isinstance(node.op, Scatter) and node.op.several and not now().doubtful:
            extents = {}  # who says which places are alone has found them, within the result

        def at(k: int, place: Index) -> Any:
            x = node.operands[k]
            if k < first:
                return x, place
            return self._position(x, self.get(x, place), extents.get(x))

        known = self.readers[node] = Readers(node.operands, at)
        return tuple(make(known))

    def _position(self, node: Node, register: str, extent: Any) -> Any:
        """Return a computed index, checked against the extent, if any, unless it is constant.

        Constants were checked while tracing, but for those of a program from a file. A bad index
        reads element 0 and sets the status, so that the caller raises IndexError and nothing
        outside is touched.
        """
        doubtful = now().doubtful
        if not register.startswith("%"):
            if not doubtful:
                return sp.Integer(int(register))
            register = self.emitter.op("add", llvm_type(node.dtype), register, "0")
        known = self.checked.get((register, extent))
        if known is None:
            e, at = self.emitter, register
            if node.dtype.itemsize < 8:
                e.depth = e.depth_of(register)
                at = e.cast("sext", llvm_type(node.dtype), register, "i64")
                e.depth = 0
            unchecked = extent is None or not any(isinstance(n, Input) for n in topological([node]))
            if doubtful or not unchecked:
                limit = e.index(extent)
                e.depth = e.depth_of(at, limit)
                fits = e.op("icmp ult", "i64", at, limit)
                at = e.select(fits, "i64", at, "0")
                code = e.select(fits, "i32", "0", OUT_OF_RANGE)
                before = e.load("i32", self.status())
                after = e.op("or", "i32", before, code)
                e.store("i32", after, self.status())
            e.depth = 0
            known = self.checked[register, extent] = self._symbol(at)
        return known

    def _symbol(self, register: str) -> Any:
        symbol = sp.Symbol(register, integer=True, nonnegative=True)
        self.emitter.bind_index(symbol, register, self.emitter.depth_of(register))
        return symbol

    # ---------------------------------------------------------------- emission

    def _memory(self, node: Node) -> Place | None:
        """The place of the contiguous memory that a chain of aliases stands for."""
        while node.op.alias and node not in self.local:
            node = node.operands[0]
        if not node.shape or node.op.kind == "view" or self.unwritten(node):
            return None
        return self.place(node)

    def _emit(self, node: Node, index: Index, values: Sequence[str]) -> str:
        if isinstance(node, Literal):
            return constant_text(node.value, node.dtype)
        if isinstance(node, SizeOf):
            return self._number(self.emitter.index(node.size), node.dtype)
        if isinstance(node, Iota):
            return self.emitter.index(index[0])
        place = self._loaded(node, index)
        if place is None and node.op.alias:
            place = self._memory(node)
        if place is not None:
            return self.load(place, index, node.shape)
        if node.op.kind == "map":
            self.emitter.depth = self.emitter.depth_of(*values)
            try:
                return emit_map(self.emitter, node, values)
            finally:
                self.emitter.depth = 0
        return values[-1]

    def _number(self, integer: str, dtype: np.dtype[Any]) -> str:
        if dtype.kind in "iu" and dtype.itemsize == 8:
            return integer
        e = self.emitter
        e.depth = e.depth_of(integer)
        if dtype.kind == "b":
            name = e.op("icmp ne", "i64", integer, 0)
        else:
            word = "sitofp" if dtype.kind == "f" else "trunc"
            name = e.cast(word, "i64", integer, llvm_type(dtype))
        e.depth = 0
        return name

    def address(self, place: Place, index: Index, shape: Shape) -> str:
        """Return a pointer to an element of a stored node."""
        e = self.emitter
        if place.slot is not None:
            e.depth = 0
            return e.element("i64", place.pointer, place.slot)
        offset = e.index(flat(index, shape))
        e.depth = e.depth_of(offset)
        kind = memory_type(place.dtype)
        name = e.element(kind, place.pointer, offset)
        e.depth = 0
        return name

    def load(self, place: Place, index: Index, shape: Shape) -> str:
        """Return the loaded element."""
        e = self.emitter
        pointer = self.address(place, index, shape)
        e.depth = e.depth_of(pointer)
        independent = INDEPENDENT if e.depth else ""
        value = e.load(memory_type(place.dtype), pointer, independent)
        if place.dtype.kind == "b":
            value = e.cast("trunc", "i8", value, "i1")
        e.depth = 0
        return value

    def store(
        self,
        place: Place,
        index: Index,
        shape: Shape,
        value: str,
        depth: int,
        apart: bool = True,
    ) -> None:
        """Write ``value`` to an element, at loop depth ``depth``.

        ``apart``: no other step writes the same element.
        """
        e = self.emitter
        pointer = self.address(place, index, shape)
        e.depth = depth
        if place.dtype.kind == "b":
            value = e.cast("zext", "i1", value, "i8")
        independent = INDEPENDENT if depth and apart else ""
        e.store(memory_type(place.dtype), value, pointer, independent)
        e.depth = 0


def flat(index: Index, shape: Shape) -> Any:
    """Return the position of an element in C order."""
    total: Any = sp.Integer(0)
    for i, d in zip(index, shape, strict=True):
        total = total * d + i
    return sp.expand(total) if total.is_Add or total.is_Mul else total


def emit_map(e: Emitter, node: Node, values: Sequence[str]) -> str:
    """Emit one elementwise op on registers."""
    lower = Code.of(node.op).lower
    dtype = node.operands[0].dtype
    e.elements = bool(node.shape) or e.module.unrolled
    if isinstance(lower, Instr):
        text = getattr(lower, {"f": "f", "i": "i", "u": "u", "b": "b"}[dtype.kind])
        if text is None:
            raise UnsupportedError(f"{node.op.name} has no instruction for {dtype}")
        return e.op(text, llvm_type(dtype), *values)
    if isinstance(lower, Intrinsic):
        return e.call_intrinsic(lower.name, dtype, *values)
    if isinstance(lower, Libm):
        return e.call_libm(lower.name, dtype, *values)
    if isinstance(lower, Cython):
        return e.call_cython(lower, *values)
    if isinstance(lower, Composed):
        return e.call_simd(lower.simd, dtype, *values)
    if isinstance(lower, Emit):
        return lower.function(e, node.operands[-1].dtype, *values, **node.params)
    raise AssertionError(f"{node.op.name} was not legalised")
