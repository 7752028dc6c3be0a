"""Windows: elements that several shifted parts add to, in registers until they are complete.

The adjoint of a stencil adds each of its parts to a place of its own: Rosenbrock's gradient adds
to ``g[i]`` and to ``g[i + 1]`` in each step of the loop. Through memory that is a chain: each step
loads what the one before has stored, and no two of them run side by side. Of a row the loop has
only the few elements between the least and the most shift under way. They are kept in cells, which
LLVM makes registers of (and, of the loop, vector code: what one step hands to the next is a
recurrence of fixed order, to which the sums of a step do not feed back)::

    before the loop:    p = g[first]
    in each step:       complete, p = p + part0, g[i + 1] + part1;  g[i] = complete
    after the loop:     g[last] = p

Each element has its parts added in the order in which memory would. Where a window passes over
all of an array, nothing is read from it, and nobody has to fill it with zeros before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.sizes import as_expr, dim_expand
from ..base.switches import is_on
from ..graph import Literal, Node
from ..op import Placing
from ..ops.movement import is_single
from ..runtime.interface import llvm_type
from . import _instructions as asm
from ._emitter import Emitter
from ._instructions import Instruction
from ._loops import JOINED, Loops, index_over
from ._plan import Nest, Store
from ._values import Index, Place, Values

#: Widest window. Each element between the least and the most shift is a register of the loop.
WIDEST = 8


@dataclass(frozen=True)
class Window:
    """Parts of one row of a target, by their shifts along the innermost loop.

    Attributes
    ----------
    row:
        The index of the element of shift 0.
    parts:
        The stores of each shift, in the order of their turns.
    whole:
        Whether all that the target is made of goes through the window.
    """

    row: Index
    parts: Mapping[int, Sequence[Store]]
    whole: bool = False

    @property
    def width(self) -> int:
        """How many elements wait between two steps."""
        return max(self.parts) - min(self.parts)

    @property
    def hands_on_a_constant(self) -> bool:
        """Whether a step hands on what all do: to LLVM no recurrence, and no vector code."""
        return self.whole and all(_even(store.node) for store in self.parts[max(self.parts)])

    @property
    def stores(self) -> list[Store]:
        """All stores of the parts."""
        return [store for turn in self.parts.values() for store in turn]


def _even(node: Node) -> bool:
    """Tell by its form whether all elements of an array are one number."""
    waiting, seen = [node], {node}
    while waiting:
        x = waiting.pop()
        if isinstance(x, Literal) or all(map(is_single, x.shape)):
            continue
        if x.op.kind not in ("map", "view"):
            return False
        waiting += [y for y in x.operands if y not in seen]
        seen.update(x.operands)
    return True


def windows(nest: Nest) -> dict[Node, list[Window]]:
    """Return the sums of a nest that go through windows, by their targets: one for each row."""
    if not nest.domain or is_single(nest.domain[-1]) or not is_on("windows"):
        return {}
    index = index_over(nest.domain)
    targets: dict[Node, list[Store]] = {}
    for store in nest.stores:
        if store.part is not None and store.target.op.kind == "assemble":
            targets.setdefault(store.target, []).append(store)
    found = {t: _rows(stores, index, nest.domain[-1]) for t, stores in targets.items()}
    return {target: rows for target, rows in found.items() if rows}


def _rows(stores: Sequence[Store], index: Index, extent: Any) -> list[Window]:
    target, loop = stores[0].target, index[-1]
    op = target.op
    assert isinstance(op, Placing)
    if op.last or target.params.get("disjoint", False) or target.dtype.kind != "f":
        return []
    rows: dict[tuple[Any, ...], dict[Any, list[Store]]] = {}
    for store in stores:
        if op.begins(store.part or 0, target.params):
            return []
        *outer, last = op.place(store.part, index, target.operands, **target.params)
        start = as_expr(last) - loop
        if any(as_expr(c).has(loop) for c in (start, *outer)):
            return []
        rows.setdefault(tuple(map(as_expr, outer)), {}).setdefault(start, []).append(store)
    if not _apart(list(rows)):
        return []
    found = []
    for row, parts in rows.items():
        base = next(iter(parts))
        shifts = {as_expr(start - base): given for start, given in parts.items()}
        if not all(s.is_Integer for s in shifts):
            return []
        found.append(Window((*row, base + loop), {int(s): given for s, given in shifts.items()}))
    widths = [w.width for w in found]
    if not 0 < max(widths) <= WIDEST:
        return []
    if len(found) == target.ndim == 1:
        (window,) = found
        full = extent + window.width, base + min(window.parts), len(stores)
        if full == (dim_expand(target.shape[0]), 0, len(target.operands)):
            return [Window(window.row, window.parts, True)]
    return found


def _apart(rows: list[tuple[Any, ...]]) -> bool:
    """Tell whether each two rows differ by a known number in one of their coordinates."""
    if len({tuple(c.as_coeff_Add()[1] for c in row) for row in rows}) == 1:
        return True  # up to numbers they are one row: as hundreds of rows of a matrix are
    for k, one in enumerate(rows):
        for other in rows[:k]:
            steps = [a - b for a, b in zip(one, other, strict=True)]
            if not any(s.is_Integer and s != 0 for s in steps):
                return False
    return True


class Slide:
    """Writes windows into a nest.

    Parameters
    ----------
    values, emitter, loops:
        Those of the nest.
    """

    def __init__(self, values: Values, emitter: Emitter, loops: Loops) -> None:
        self.values, self.e, self.loops = values, emitter, loops
        self.depth = loops.innermost + 1
        self.loop = loops.index[loops.innermost]
        self.bounds = loops.bounds()

    def write(self, window: Window, place: Place) -> tuple[list[Instruction], list[Instruction]]:
        """Emit one step; return what comes before and after the loop."""
        e, kind = self.e, llvm_type(place.dtype)
        values = {s: self.values.get(s.node, tuple(self.loops.index)) for s in window.stores}
        least, most = min(window.parts), max(window.parts)
        e.depth = 0
        cells = [e.alloca(kind) for _ in range(least, most)]
        before, after = [], []
        for shift, cell in zip(range(least, most), cells, strict=True):
            first, last = (self._address(window, place, shift, b) for b in self.bounds)
            before += self._opening(window, kind, first, cell)
            after += self._closing(window, kind, last, cell)
        # The sums with the greatest shift first: what a step hands on is known before it is read,
        # which LLVM's vector code asks for.
        total = ""
        for shift in range(most, least - 1, -1):
            if shift < most:
                cell = cells[shift - least]
                e.depth = self.depth
                known = e.load(kind, cell)
                e.store(kind, total, cell)
            else:
                known = self._entering(window, place, most)
            for store in window.parts.get(shift, ()):
                known = e.op("fadd", kind, known, values[store])
            total = known
        pointer = self._address(window, place, least, self.loop)
        e.depth = self.depth
        e.store(kind, total, pointer)
        e.depth = 0
        return before, after

    def _entering(self, window: Window, place: Place, most: int) -> str:
        """Return what the element that comes into view holds."""
        kind = llvm_type(place.dtype)
        pointer = "" if window.whole else self._address(window, place, most, self.loop)
        self.e.depth = self.depth
        return "0.0" if window.whole else self.e.load(kind, pointer)

    def _opening(self, window: Window, kind: str, pointer: str, cell: str) -> list[Instruction]:
        """Return the lines that give a cell its first value."""
        given = self.e.label("%given")
        lines = [asm.load(given, kind, pointer)]
        if window.whole:
            if not self.loops.part:
                return [asm.store(kind, "0.0", cell)]
            lines += self._choice("1", kind, given, "0.0", f"{given}.own")
            given = f"{given}.own"
        return [*lines, asm.store(kind, given, cell)]

    def _closing(self, window: Window, kind: str, pointer: str, cell: str) -> list[Instruction]:
        """Return the lines that write what is in a cell after the loop."""
        left = self.e.label("%left")
        lines = [asm.load(left, kind, cell)]
        if window.whole and self.loops.part:
            lines += [
                asm.load(f"{left}.there", kind, pointer),
                Instruction(f"{left}.sum", "fadd", kind, (f"{left}.there", left)),
                *self._choice("2", kind, f"{left}.sum", left, f"{left}.all"),
            ]
            left = f"{left}.all"
        return [*lines, asm.store(kind, left, pointer)]

    def _choice(self, bit: str, kind: str, one: str, other: str, name: str) -> list[Instruction]:
        """Return the lines that choose by a bit of what a chunk is told of its neighbours."""
        return [
            Instruction(f"{name}.bit", "and", "i64", (JOINED, bit)),
            Instruction(f"{name}.is", "icmp ne", "i64", (f"{name}.bit", "0")),
            asm.select(name, f"{name}.is", kind, one, other),
        ]

    def _address(self, window: Window, place: Place, shift: int, at: Any) -> str:
        *row, last = window.row
        index = (*row, as_expr(last).subs(self.loop, at) + shift)
        return self.values.address(place, index, window.stores[0].target.shape)
