"""The blocks of a unit that come more than once: found, written once, called by rows."""

from __future__ import annotations

from array import array
from collections import Counter
from typing import TYPE_CHECKING

from .._graph import Input, Node
from ._blocks import Block, Blocks, write_block, write_rows
from ._plan import Nest, Store
from ._values import Place

if TYPE_CHECKING:
    from ._unit import Unit


class Repeats:
    """What the tasks of a unit have in common.

    Attributes
    ----------
    blocks:
        By the numbers of the tasks that are repeats: the function's name, and the block.
    wires:
        The rows of all calls.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.wires = array("i")
        self.copies: dict[Node, Place] = {}
        self.blocks = self._written()
        if self.blocks and self.copies:
            unit.places |= self.copies
            elements = Nest((), stores=[Store(node, node) for node in self.copies])
            unit.write_nest(f"{unit.name}.elements", elements)
        #: The last call: its function, the first wire, how many rows, the number of calls by then.
        self.last: tuple[str, int, int, int] = ("", 0, 0, 0)

    def _written(self) -> dict[int, tuple[str, Block]]:
        """Write the blocks that come more than once."""
        unit = self.unit
        described = Blocks(unit.plan, self._place)
        nests = {k: t for k, t in enumerate(unit.plan.tasks) if isinstance(t, Nest)}
        found: dict[int, Block] = {}
        for k, nest in nests.items():
            pair = described.describe(nest) if unit.is_straight(nest) else None
            if pair is not None:
                found[k] = pair[0]
        times = Counter(block.key for block in found.values())
        names: dict[bytes, str] = {}
        for k, block in found.items():
            if times[block.key] == 1:
                continue
            if block.key in names:
                unit.code.steps -= len(nests[k].nodes)
                continue
            names[block.key] = name = f"{unit.name}.block{len(names)}"
            pair = described.describe(nests[k])
            assert pair is not None
            module = unit.module_for(nests[k])
            write_block(module, name, nests[k], pair[1], unit.plan.stored)
            unit.code.exports[-1].append(name)
            write_rows(unit.module, name, block)
        return {k: (names[b.key], b) for k, b in found.items() if b.key in names}

    def _place(self, node: Node) -> Place | None:
        """Return where a block finds a value: elements of arguments are copied to slots."""
        if node.op.kind != "view" or node.shape or not isinstance(node.operands[0], Input):
            return self.unit.place(node)
        if node not in self.copies:
            self.copies[node] = self.unit.slot(node)
        return self.copies[node]

    def call(self, k: int) -> None:
        """Call the block of a task; calls of one block that follow each other are one."""
        calls = self.unit.calls
        name, block = self.blocks[k]
        last, first, count, after = self.last
        if (last, after) == (name, len(calls)):
            calls.pop()
        else:
            first, count = len(self.wires), 0
        self.wires.extend(block.row)
        calls.append(
            f"  call void @{name}.rows(ptr %slots, ptr %wires, i64 {first}, i64 {count + 1})"
        )
        self.last = name, first, count + 1, len(calls)
