"""What the functions of loops and branches have in common: operands, results, calls of bodies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from ..base.sizes import Dimension, as_expr
from ..graph import Body, Literal, Node, SizeOf
from ..runtime.interface import memory_text, memory_type
from . import _instructions as asm
from ._emitter import Emitter, size_parameters
from ._llvm_module import Module
from ._loops import Frame, task_function
from ._plan import Plan
from ._routines import in_memory
from ._values import Place


class Written(NamedTuple):
    """The function of a body.

    Attributes
    ----------
    name:
        What it is called.
    overwritten:
        The carries that it writes over, by number.
    size:
        The bytes of memory that it is to be given.
    """

    name: str
    overwritten: set[int]
    size: Dimension


class Outer(Protocol):
    """The unit that a loop or a branch is a task of; it writes the bodies."""

    module: Module
    plan: Plan

    def scratch(self, frame: Frame, size: Dimension) -> str:
        """Return a pointer to memory for the task of ``frame``."""

    def body(self, name: str, body: Body, carries: int) -> Written:
        """Write a body's function, unless there is one of an equal body."""


class Writer:
    """What the functions of loops and branches have in common."""

    #: Where a body leaves the numbers among its results.
    results: str

    def __init__(self, unit: Outer, name: str, node: Node, frame: Frame) -> None:
        self.unit, self.name, self.node, self.frame = unit, name, node, frame
        self.e = Emitter(unit.module)
        self.e.bind_sizes(frame.sizes)
        self.given = unit.plan.given.get(node, {})
        self.sizes = size_parameters(frame.sizes)
        self.status = frame.status()
        frame.more = ("%threads",)

    def label(self, name: str) -> None:
        self.e.begin(name)

    def finish(self) -> None:
        body = [asm.label("entry"), *self.e.lines[0], asm.ret()]
        self.unit.module.functions.append(task_function(self.name, self.frame, body))

    # ---------------------------------------------------------------- operands and results

    def number(self, node: Node) -> str:
        """Return the register or constant of a scalar operand, as it is in memory."""
        e = self.e
        if isinstance(node, Literal):
            return memory_text(node.value, node.dtype)
        kind = memory_type(node.dtype)
        place = self.frame.using(node)
        if place is None and node.op.alias:  # an array of one element
            return e.load(kind, self.array(node))
        if place is None:
            assert isinstance(node, SizeOf)
            size = e.index(node.size)
            if node.dtype.kind == "f":
                return e.cast("sitofp", "i64", size, kind)
            return size if kind == "i64" else e.cast("trunc", "i64", size, kind)
        return e.load(kind, self.slot(place))

    def arguments(self, nodes: Iterable[Node]) -> list[str]:
        """Return operands as a body is given them: arrays by pointer, numbers as they are."""
        return [
            f"ptr {self.array(x)}" if x.shape else f"{memory_type(x.dtype)} {self.number(x)}"
            for x in nodes
        ]

    def slot(self, place: Place) -> str:
        assert place.slot is not None
        return self.e.element("i64", place.pointer, place.slot)

    def array(self, node: Node) -> str:
        """Return the pointer to an array operand."""
        return self.pointer(in_memory(self.frame, node))

    def pointer(self, place: Place) -> str:
        """Return the pointer to a place: an array of one element may lie among the numbers."""
        return place.pointer if place.slot is None else self.slot(place)

    def target(self, k: int) -> Place | None:
        """Return where result ``k`` goes, None if nobody asks for it."""
        node = self.given.get(k)
        return None if node is None else self.frame.using(node)

    # ---------------------------------------------------------------- bodies

    def function(self, name: str, body: Body, carries: int = 0) -> tuple[str, str]:
        """Write a body's function; return its name and the memory that it is to be given."""
        run, self.overwritten, size = self.unit.body(name, body, carries)
        return run, "null" if size == 0 else self.unit.scratch(self.frame, size)

    def call(
        self, function: tuple[str, str], inputs: list[str], outs: list[str], results: str
    ) -> None:
        """Call a body's function."""
        run, memory = function
        arguments = [*inputs, *self.sizes, *(f"ptr {p}" for p in outs), f"ptr {results}",
                     "i64 %threads", f"ptr {memory}", f"ptr {self.status}"]  # fmt: skip
        self.e.call("void", f"@{run}", arguments)

    def copy(self, target: str, source: str, size: Dimension) -> None:
        """Copy memory, unless it is there already."""
        if target != source:
            self.e.copy(target, source, self.e.index(as_expr(size)))

    def move(self, node: Node, k: int, target: str) -> None:
        """Store the number that is output ``k`` of the body."""
        e, kind = self.e, memory_type(node.dtype)
        source = e.element("i64", self.results, k)
        e.store(kind, e.load(kind, source), target)

    def cell(self, kind: str, value: str) -> str:
        """Return a variable with a first value."""
        pointer = self.e.alloca(kind)
        self.e.store(kind, value, pointer)
        return pointer

    # ---------------------------------------------------------------- loops and conditions

    @contextmanager
    def where(self, holds: str) -> Iterator[None]:
        """Write the block to be run where a condition holds."""
        body, done = self.e.label("holds"), self.e.label("after")
        self.e.branch(holds, body, done)
        self.label(body)
        yield
        self.e.jump(done)
        self.label(done)
