"""What a loop's function keeps from step to step: elements of arrays, numbers, arrays, lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from ..base.sizes import Dimension, Shape, as_expr, dim_product
from ..graph import Node
from ..runtime.interface import memory_type
from ._batched_loops import LANES
from ._llvm_module import Module
from ._values import Place
from ._writer import Writer


def bytes_of(node: Node) -> Dimension:
    """Return the size of a node in memory."""
    size: Dimension = as_expr(dim_product(node.shape)) * node.dtype.itemsize
    return size


class Row:
    """An element of an array in each step: where it lies, and how a body is given it.

    A row of a tape that ``grows`` has a cell with the tape's memory as its ``base``.
    """

    def __init__(
        self, writer: Writer, shape: Shape, dtype: np.dtype[Any], base: str | None,
        idle: bool = False, grows: bool = False,
    ) -> None:  # fmt: skip
        self.e, self.shape, self.kind, self.base = writer.e, shape, memory_type(dtype), base
        self.idle, self.grows = idle, grows
        count = as_expr(dim_product(tuple(shape)))
        self.count = self.e.index(count)
        self.stride = self.e.index(sp.Max(1, count) * dtype.itemsize)

    def at(self, index: str) -> str:
        """Return the pointer to the element of step ``index``."""
        e = self.e
        if self.idle:
            return self.base or "null"
        assert self.base is not None
        base = e.load("ptr", self.base) if self.grows else self.base
        offset = index if not self.shape else e.op("mul nsw", "i64", index, self.count)
        return e.element(self.kind, base, offset)

    def argument(self, index: str) -> str:
        """Return the body's argument for the element of step ``index``."""
        pointer = self.at(index)
        if self.shape:
            return f"ptr {pointer}"
        return f"{self.kind} {self.e.load(self.kind, pointer)}"


class Number:
    """A carry that is a number."""

    def __init__(self, writer: Writer, node: Node, init: Node) -> None:
        self.writer, self.node, self.kind = writer, node, memory_type(node.dtype)
        self.cell = writer.cell(self.kind, writer.number(init))

    def value(self) -> str:
        return self.writer.e.load(self.kind, self.cell)

    def argument(self) -> str:
        """Return the body's argument."""
        return f"{self.kind} {self.value()}"

    def advance(self, k: int) -> None:
        """Take over what the body has computed as its output ``k``."""
        self.writer.move(self.node, k, self.cell)

    def finish(self, place: Place) -> None:
        """Give the last value to the outside."""
        self.writer.e.store(self.kind, self.value(), self.writer.slot(place))


class Small:
    """A carry that is a small array: the body writes beside it, and it is copied back."""

    def __init__(self, writer: Writer, node: Node, init: Node) -> None:
        self.writer, self.node, self.size = writer, node, bytes_of(node)
        self.here, self.there = (writer.e.on_stack(self.size) for _ in range(2))
        writer.copy(self.here, writer.array(init), self.size)

    def argument(self) -> str:
        """Return the body's argument."""
        return f"ptr {self.here}"

    def target(self) -> str:
        """Return where the body writes."""
        return self.there

    def advance(self, k: int) -> None:
        """Take over what the body has computed."""
        self.writer.copy(self.here, self.there, self.size)

    def finish(self, place: Place) -> None:
        """Give the last value to the outside."""
        self.writer.copy(place.pointer, self.here, self.size)


class Large:
    """A carry that is a large array: two buffers take turns, the first value is only read."""

    def __init__(self, writer: Writer, node: Node, init: Node) -> None:
        self.writer, self.node, self.size = writer, node, bytes_of(node)
        first, second = (writer.unit.scratch(writer.frame, self.size) for _ in range(2))
        self.here = writer.cell("ptr", writer.array(init))
        self.there, self.spare = writer.cell("ptr", first), writer.cell("ptr", second)

    def _load(self, cell: str) -> str:
        return self.writer.e.load("ptr", cell)

    def argument(self) -> str:
        """Return the body's argument."""
        return f"ptr {self._load(self.here)}"

    def target(self) -> str:
        """Return where the body writes."""
        return self._load(self.there)

    def advance(self, k: int) -> None:
        """Take over what the body has computed."""
        e, written, free = self.writer.e, self._load(self.there), self._load(self.spare)
        e.store("ptr", written, self.here)
        e.store("ptr", free, self.there)
        e.store("ptr", written, self.spare)

    def finish(self, place: Place) -> None:
        """Give the last value to the outside."""
        self.writer.copy(place.pointer, self._load(self.here), self.size)


class Kept:
    """A carry that is an array of which each step writes elements, where it lies."""

    def __init__(
        self, writer: Writer, node: Node, init: Node, place: Place | None, small: bool
    ) -> None:
        self.writer, self.size, self.place = writer, bytes_of(node), None if small else place
        if self.place is not None:
            self.here = writer.pointer(self.place)
        elif small:
            self.here = writer.e.on_stack(self.size)
        else:
            self.here = writer.unit.scratch(writer.frame, self.size)
        writer.copy(self.here, writer.array(init), self.size)

    def argument(self) -> str:
        """Return the body's argument."""
        return f"ptr {self.here}"

    def target(self) -> str:
        """Return where the body would write a new array."""
        return self.here

    def advance(self, k: int) -> None:
        """Take over what the body has computed: it is there."""

    def finish(self, place: Place) -> None:
        """Give the last value to the outside."""
        if self.place is None:
            self.writer.copy(place.pointer, self.here, self.size)


class Lane:
    """A value that each lane has one of: an array whose last axis is the lane."""

    def __init__(self, writer: Writer, node: Node, memory: Callable[[Dimension], str]) -> None:
        self.e, self.node = writer.e, node
        self.count = self.e.index(as_expr(dim_product(node.shape)))
        self.kind = memory_type(node.dtype)
        self.bytes: Dimension = as_expr(bytes_of(node)) * LANES
        self.pointer = memory(self.bytes)
        #: Where one lane's array is collected, None of a number.
        self.one = memory(bytes_of(node)) if node.shape else None

    def at(self, lane: str) -> str:
        """Return the pointer to the first element of a lane."""
        return self.e.element(self.kind, self.pointer, lane)

    def move(self, target: str, wide: bool, source: str, far: bool) -> None:
        """Copy an array; elements lie as far apart as there are lanes where it says so."""
        helper = move_function(self.e.module, self.node.dtype.itemsize)
        steps = [LANES if w else 1 for w in (wide, far)]
        self.e.call(
            "void",
            f"@{helper}",
            [
                f"ptr {target}",
                f"i64 {steps[0]}",
                f"ptr {source}",
                f"i64 {steps[1]}",
                f"i64 {self.count}",
            ],
        )

    def spread(self, lane: str, source: str) -> None:
        """Give a lane the value that lies at ``source``."""
        self.move(self.at(lane), True, source, False)

    def collected(self, lane: str) -> str:
        """Return a lane's value as an argument."""
        if self.one is None:
            return f"{self.kind} {self.e.load(self.kind, self.at(lane))}"
        self.move(self.one, False, self.at(lane), True)
        return f"ptr {self.one}"

    def repeat(self, lane: str, other: str) -> None:
        """Give a lane the value of another one."""
        self.move(self.at(lane), True, self.at(other), True)


def move_function(module: Module, size: int) -> str:
    """Return the function that copies elements of so many bytes from one stride to another."""
    name, kind = f"lanes.move.{size}", f"i{8 * size}"
    parameters = "ptr noalias %to, i64 %a, ptr noalias %from, i64 %b, i64 %n"
    text = f"""define internal void @{name}({parameters}) {{
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %body, label %done
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %j = mul i64 %i, %a
  %k = mul i64 %i, %b
  %source = getelementptr inbounds {kind}, ptr %from, i64 %k
  %value = load {kind}, ptr %source
  %target = getelementptr inbounds {kind}, ptr %to, i64 %j
  store {kind} %value, ptr %target
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %done
done:
  ret void
}}
"""
    if text not in module.functions:
        module.functions.append(text)
    return name
