"""Blocks of straight-line code that come again: compiled once, called for each place.

Two blocks of the same steps, wired alike inside, differ only in the slots that they read and
write. So the numbers of these slots are data: each place has a row of *wires*, and the block's
function finds its slots through the row that it is given. Rows of a block that follow each
other are a loop.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Container, Hashable, Sequence
from dataclasses import dataclass

from .._graph import Literal, Node
from ._emitter import Emitter
from ._llvm_module import Module
from ._loops import Frame
from ._nest import NestWriter
from ._plan import Nest, Plan
from ._values import Place


@dataclass(frozen=True)
class Block:
    """A scalar nest whose values all lie in slots.

    Attributes
    ----------
    key:
        What equal blocks share: the steps, how they use each other, which are stored.
    row:
        The slots that it reads, in the order of first use, and the first of those it writes.
    """

    key: bytes
    row: Sequence[int]


class Blocks:
    """Describes nests as blocks.

    Parameters
    ----------
    plan:
        What is stored, and what is a result.
    place:
        Returns where a node lies; slots that are new when asked for follow each other.
    """

    def __init__(self, plan: Plan, place: Callable[[Node], Place | None]) -> None:
        self.plan, self.place = plan, place
        self.words: dict[Hashable, int] = {}

    def word(self, part: Hashable) -> int:
        """Return the number of a part of keys."""
        return self.words.setdefault(part, len(self.words))

    def describe(self, nest: Nest) -> tuple[Block, dict[Node, int]] | None:
        """Return a nest as a block with its wires; None if it touches other memory than slots.

        The wires say for the nodes that are read from slots where in the row these are.
        """
        if nest.domain or nest.reductions or nest.stores:
            return None
        numbers: dict[Node, int] = {}
        wires: dict[Node, int] = {}
        row, key, own = array("i"), array("l"), []
        for node in nest.nodes:
            if node.op.kind != "map" or node in self.plan.results:
                return None
            stored = node in self.plan.stored
            key.append(self.word((node.op, node.items, stored)))
            for x in node.operands:
                if x in numbers:
                    key.append(-1 - numbers[x])
                elif isinstance(x, Literal):
                    key.append(self.word(x))
                else:
                    if x not in wires:
                        slot = _slot(self.place(x))
                        if slot is None:
                            return None
                        wires[x] = len(row)
                        row.append(slot)
                    key.append(self.word((wires[x], x.dtype)))
            numbers[node] = len(numbers)
            if stored:
                own.append(_slot(self.place(node)))
        if not own or own[0] is None or own != list(range(own[0], own[0] + len(own))):
            return None
        row.append(own[0])
        return Block(key.tobytes(), row), wires


def _slot(place: Place | None) -> int | None:
    return None if place is None or place.pointer != "%slots" else place.slot


class _Wired(Frame):
    """Finds values in the slots that a row of wires names."""

    def __init__(self, wires: dict[Node, int], stored: Container[Node]) -> None:
        super().__init__(lambda _: None, _no_result, ())
        self.wires, self.stored = wires, stored
        self.emitter: Emitter | None = None
        self.found: dict[Node, Place] = {}
        self.own: str | None = None
        self.written = 0
        self.pointers = {"%slots": None, "%wires": None}

    def using(self, node: Node) -> Place | None:
        """Return where a node is stored; the instructions that find it come with first use."""
        known = self.found.get(node)
        if known is not None:
            return known
        wire = self.wires.get(node)
        if wire is not None:
            place = Place(self.slot(wire), node.dtype, 0)
        elif node in self.stored:
            if self.own is None:
                self.own = self.slot(len(self.wires))
            place = Place(self.own, node.dtype, self.written)
            self.written += 1
        else:
            return None
        self.found[node] = place
        return place

    def slot(self, wire: int) -> str:
        """Return the address of the slot that a wire names."""
        e = self.emitter
        assert e is not None
        number = e.op(f"load i32, ptr {e.op(f'getelementptr i32, ptr %wires, i64 {wire}')}")
        return e.op(f"getelementptr i64, ptr %slots, i64 {e.op(f'zext i32 {number} to i64')}")


def _no_result(_: int) -> Place:
    raise AssertionError("a block writes to slots only")


def write_block(
    module: Module, name: str, nest: Nest, wires: dict[Node, int], stored: dict[Node, None]
) -> None:
    """Add the function ``NAME(slots, wires)`` of a block."""
    frame = _Wired(wires, stored)
    writer = NestWriter(module, name, nest, frame, internal=False)
    frame.emitter = writer.emitter
    writer.values.copied = True
    writer.write(stored)


def write_rows(module: Module, name: str, block: Block) -> None:
    """Add ``NAME.rows(slots, wires, first, count)``: the block for rows one after the other."""
    module.declare(name, "void", ["ptr noalias", "ptr noalias"])
    module.functions.append(f"""define internal void @{name}.rows(ptr %slots, ptr %wires, \
i64 %first, i64 %count) #0 {{
entry:
  %start = getelementptr i32, ptr %wires, i64 %first
  br label %body
body:
  %row = phi ptr [ %start, %entry ], [ %next, %body ]
  %k = phi i64 [ 0, %entry ], [ %done, %body ]
  call void @{name}(ptr %slots, ptr %row)
  %next = getelementptr i32, ptr %row, i64 {len(block.row)}
  %done = add nuw nsw i64 %k, 1
  %more = icmp slt i64 %done, %count
  br i1 %more, label %body, label %end
end:
  ret void
}}
""")
