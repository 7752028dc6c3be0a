"""Planning: which steps share a loop nest, what is stored, and where.

The rules, in the order in which they decide:

1.  Views (broadcast, transpose, slice, ...) are never stored: a consumer computes the index
    it reads from.
2.  An elementwise or gather step goes into the first nest over its own shape that runs
    after everything it needs. Within a nest its operands of the same shape stay in
    registers.
3.  A reduction goes into a nest over its operand's shape; its result is ready after it.
4.  A step's value is stored only if another nest needs it, or it is an output. A cheap step
    (at most ``CHEAP`` by the weights below) whose operands are all at hand, views of them as
    well, is computed again instead, and so is a gather of sliding windows: a store and a load
    cost more.
5.  Matrix products, scans, routines, loops and branches are tasks of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..base.sizes import Shape
from ..base.switches import is_on
from ..graph import Constant, Input, Iota, Literal, Node, SizeOf, topological, viewed
from ..op import PROJECTIONS, Bodied, Code, Instr, Intrinsic, Placing
from ..program import Steps
from ._legalize import is_matrix_product, reduction_domain

#: Most steps in one loop nest: from one nest to another whole arrays go.
ARRAY_NEST = 20_000

#: Most steps of straight-line code in one function. Longer ones make LLVM's time grow faster than
#: linearly (code generation per step of a random program: 47 us at 400 steps, 60 at 800, 108 at
#: 1600); shorter ones run slower.
SCALAR_NEST = 400

#: Most reductions of a short nest, each of which wants a register. What another nest needs from
#: this one, too, is then written, so long arrays go past memory once with all of theirs.
MOST_FOLDS = 32

#: Elements of an array that stays in the nearest cache.
NEAR = 1024

#: Recompute rather than store up to this cost; a store with its load is about 4.
CHEAP = 4

COMPUTED = ("map", "gather")


def weight(node: Node) -> int:
    """Return the cost of one element of an op, in units of an addition."""
    if node.op.kind == "gather":
        return 4
    lower = Code.of(node.op).lower
    if isinstance(lower, Instr):
        return 6 if lower.f == "fdiv" else 1
    return 2 if isinstance(lower, Intrinsic) else 20


def _is_near(domain: Shape) -> bool:
    """Tell whether what a nest over ``domain`` writes is at hand for the next one."""
    return all(isinstance(d, int) for d in domain) and math.prod(map(int, domain)) <= NEAR


@dataclass(eq=False)
class Store:
    """Write ``node``'s element at ``index`` of the nest to ``target``'s buffer.

    ``part`` is which operand of an assembling target the node is (None: the target is the
    node itself); ``output`` is set where the copy goes to an output of the program.
    """

    node: Node
    target: Node
    part: int | None = None
    output: int | None = None


@dataclass(eq=False)
class Nest:
    """A loop nest over ``domain``: computed nodes, stores and reductions.

    ``at`` says which task computes each node of the plan; this one is the task ``number``.
    """

    domain: Shape
    number: int = 0
    at: Mapping[Node, int] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    reductions: list[Node] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    #: Whether no more steps go in.
    full: bool = False

    def gives(self, stored: Mapping[Node, None]) -> bool:
        """Tell whether it writes anything: its readers may compute again what it computes."""
        return bool(self.stores or self.reductions) or any(n in stored for n in self.nodes)

    def unwritten(self, node: Node) -> bool:
        """Tell whether an elementwise node or a gather is not in memory yet while the nest runs.

        It was cheap when the nest was chosen for what reads it through a view, and was stored
        for another task later: here it is computed again.
        """
        return node.op.kind in COMPUTED and self.at.get(node, -1) >= self.number


@dataclass(eq=False)
class Single:
    """A task of its own: a scan, a matrix product, a routine, a loop or a branch."""

    node: Node


Task = Nest | Single


@dataclass(eq=False)
class Plan:
    """Tasks in order, and the nodes that have a place in memory."""

    tasks: list[Task]
    stored: dict[Node, None]
    outputs: tuple[Node, ...]
    #: The output that each node is, for those computed straight into an output.
    results: dict[Node, int]
    #: Numbers that are looked at after all tasks.
    kept: tuple[Node, ...]
    #: For projections of loops and branches, the first that gives the same result.
    projected: dict[Node, Node]
    #: For each loop and branch, its projections by number, one for each.
    given: dict[Node, dict[int, Node]]


class _Planner:
    def __init__(self, program: Steps) -> None:
        self.outputs, self.kept = program.outputs, program.conditions
        self.order = [*program.leaves, *program.steps]
        self.tasks: list[Task] = []
        self.nests: dict[Shape, list[int]] = {}
        self.at: dict[Node, int] = {}
        self.stored: dict[Node, None] = {}
        self._sliding: dict[Node, bool] = {}

    # ---------------------------------------------------------------- what is at hand

    def base(self, node: Node) -> Iterable[Node]:
        """Return the computed nodes that a view reads from."""
        node = viewed(node)
        return () if node.op.kind == "leaf" else (node,)

    def cheap(self, node: Node) -> bool:
        """Tell whether to compute ``node`` again wherever it is needed."""
        if not is_on("recompute"):
            return False
        if node.op.kind == "gather":
            return self.slides(node)
        if node.op.kind != "map" or not node.shape or weight(node) > CHEAP:
            return False
        if any(map(_turned, node.operands)):
            return False
        return all(x in self.stored for operand in node.operands for x in self.base(operand))

    def slides(self, node: Node) -> bool:
        """Tell whether a gather reads where counters say, as windows that slide.

        Stored, it has more elements than what it reads, which stay near from window to window.
        """
        if node not in self._sliding:
            places = [n for n in topological(node.operands[1:]) if n.op.kind != "view"]
            maps = [n for n in places if n.op.kind == "map"]
            rank = len(_long(node.operands[1].shape))
            self._sliding[node] = (
                all(n in maps or _counted(n, rank) for n in places)
                and sum(map(weight, maps)) <= CHEAP
                and not _turned(node.operands[0])
            )
        return self._sliding[node]

    def need(self, node: Node) -> int:
        """Make ``node`` readable from other nests; return the first task that can read it."""
        ready = 0
        for source in self.base(node):
            if self.cheap(source):
                ready = max([ready, *(self.need(x) for x in source.operands)])
                continue
            self.stored[source] = None
            ready = max(ready, self.at[source] + 1)
        return ready

    def materialize(self, node: Node) -> int:
        """Put ``node`` in memory, in C order; return the first task that can read it."""
        while node.op.alias:
            node = node.operands[0]
        if node in self.stored:
            return self.at[node] + 1
        if isinstance(node, Input) or (isinstance(node, Constant) and node.shape):
            return 0  # a number's slot is memory as well
        if node.op.kind in ("leaf", "view"):
            k = self.nest(node.shape, self.need(node))
            task = self.tasks[k]
            assert isinstance(task, Nest)
            task.stores.append(Store(node, node))
            self.at[node] = k
        self.stored[node] = None
        return self.at[node] + 1

    # ---------------------------------------------------------------- placing

    def nest(self, domain: Shape, earliest: int) -> int:
        """Return the first nest over ``domain`` from task ``earliest`` on; make one if none."""
        candidates = self.nests.setdefault(domain, []) if is_on("fuse") else []
        for k in [k for k in candidates[-8:] if k >= earliest]:
            task = self.tasks[k]
            assert isinstance(task, Nest)
            if not task.full:
                return k
        self.tasks.append(Nest(domain, len(self.tasks), self.at))
        candidates.append(len(self.tasks) - 1)
        return candidates[-1]

    def local(self, operand: Node, domain: Shape) -> bool:
        """Tell whether a nest over ``domain`` can have ``operand`` in a register."""
        return operand.op.kind in COMPUTED and operand.shape == domain

    def earliest(self, operands: Iterable[Node], domain: Shape) -> int:
        """Return the first task at which all ``operands`` can be had."""
        found = 0
        for x in operands:
            if self.local(x, domain):
                found = max(found, self.at[x])
            elif x.op.kind != "leaf":
                found = max(found, self.need(x))
        return found

    def settle(self, operands: Iterable[Node], domain: Shape, k: int) -> None:
        """Store the operands that a nest other than ``k`` computes."""
        for x in operands:
            if self.local(x, domain) and self.at[x] != k:
                self.need(x)

    def place(self, node: Node) -> None:
        kind = node.op.kind
        if kind in COMPUTED:
            operands = node.operands
            if kind == "gather":  # read at computed places: must be in memory
                source, *indices = operands
                for x in self.base(source):
                    self.stored[x] = None
                first = max([0, *(self.at[x] + 1 for x in self.base(source))])
                k = self.nest(node.shape, max(first, self.earliest(indices, node.shape)))
                self.settle(indices, node.shape, k)
            else:
                k = self.nest(node.shape, self.earliest(operands, node.shape))
                self.settle(operands, node.shape, k)
            self.add(node, k)
        elif kind == "reduce" or (kind == "contract" and not is_matrix_product(node)):
            domain = reduction_domain(node)
            k = self.nest(domain, self.earliest(node.operands, domain))
            self.settle(node.operands, domain, k)
            task = self.tasks[k]
            assert isinstance(task, Nest)
            task.reductions.append(node)
            task.full |= len(task.reductions) >= MOST_FOLDS and _is_near(domain)
            self.at[node] = k
            self.stored[node] = None
        elif kind in ("assemble", "scatter"):
            self.assemble(node)
        elif kind in PROJECTIONS:
            self.at[node] = self.at[node.operands[0]]
            self.stored[node] = None
        elif isinstance(node.op, Bodied):
            for x in node.operands:
                # Numbers come as they are: from a slot, or written into the code.
                if x.shape or not isinstance(x, (Input, Literal, SizeOf)):
                    self.materialize(x)
            self.tasks.append(Single(node))
            self.at[node] = len(self.tasks) - 1
        else:  # scans, matrix products and routines
            for x in node.operands:
                if kind == "scan":
                    self.need(x)
                else:
                    self.materialize(x)
            self.tasks.append(Single(node))
            self.at[node] = len(self.tasks) - 1
            self.stored[node] = None

    def add(self, node: Node, k: int) -> None:
        task = self.tasks[k]
        assert isinstance(task, Nest)
        task.nodes.append(node)
        self.at[node] = k
        task.full |= len(task.nodes) >= (ARRAY_NEST if task.domain else SCALAR_NEST)

    def assemble(self, node: Node) -> None:
        """Write each part from a nest over the part's shape; ready after the last."""
        op, last, first = node.op, 0, 0
        assert isinstance(op, Placing)
        count = op.parts_of(node.operands)
        extra = node.operands[count:]
        free = op.kind == "scatter"  # parts with places of their own go anywhere
        known: int | None = None  # the first task at which all places can be read
        for number, part in enumerate(node.operands[:count]):
            if 0 in part.shape:
                continue
            if op.over:
                first = self.materialize(extra[0])
                if part.shape:  # not computed again where the array is written to
                    self.materialize(part)
            elif free and count > 1 and not op.alone(number, node.params):
                # Added to what others have written, in a nest behind theirs.
                self.need(part)
                free, first = False, last + 1
            if known is None:
                self.stored |= {source: None for x in extra for source in self.base(x)}
                known = max(map(self.need, extra), default=0)
            # Where parts of one target may overlap, their nests must not run out of order.
            begin = max(self.earliest((part,), part.shape), first, known)
            if op.over:  # after all that reads what is written over, as far as can be
                begin = len(self.tasks)
            k = self.nest(part.shape, begin)
            self.settle((part,), part.shape, k)
            task = self.tasks[k]
            assert isinstance(task, Nest)
            task.full |= op.over
            task.stores.append(Store(part, node, number))
            last = max(last, k)
            if not free and (op.last or not op.alone(number, node.params)):
                # What is written everywhere is there before any step of a loop over the others,
                # which may go the other way.
                first = last + op.begins(number, node.params)
        self.at[node] = last
        self.stored[node] = None

    # ---------------------------------------------------------------- everything

    def run(self) -> Plan:
        for node in _writes_last(_numbers_first(self.order)):
            if node.op.kind not in ("leaf", "view"):
                self.place(node)
        results: dict[Node, int] = {}
        for k, out in enumerate(self.outputs):
            if out.op.kind not in ("leaf", "view") and out not in results:
                results[out] = k
                self.stored[out] = None
        for k, out in enumerate(self.outputs):
            if results.get(out) != k:  # views, leaves and repeated outputs are copied
                task = self.tasks[self.nest(out.shape, self.need(out))]
                assert isinstance(task, Nest)
                task.stores.append(Store(out, out, output=k))
        for x in self.kept:
            self.materialize(x)
        return Plan(
            self.tasks, self.stored, self.outputs, results, self.kept, *self.projections(results)
        )

    def projections(
        self, results: dict[Node, int]
    ) -> tuple[dict[Node, Node], dict[Node, dict[int, Node]]]:
        """Choose one projection for each result of a loop or a branch: an output, if it is."""
        given: dict[Node, dict[int, Node]] = {}
        found = [n for n in self.at if n.op.kind in PROJECTIONS]
        for node in sorted(found, key=lambda n: n not in results):
            given.setdefault(node.operands[0], {}).setdefault(node.params["index"], node)
        chosen = {n: given[n.operands[0]][n.params["index"]] for n in found}
        return chosen, given


def _long(shape: Shape) -> Shape:
    """Return the sizes of the axes along which there is something to count."""
    return tuple(size for size in shape if size != 1)


def _counted(node: Node, rank: int) -> bool:
    """Tell whether a leaf is counters, or known numbers along fewer than ``rank`` axes."""
    known = isinstance(node, Constant) and len(_long(node.shape)) < rank
    return known or isinstance(node, (Iota, Literal, SizeOf))


def _turned(node: Node) -> bool:
    """Tell whether a view's last axis is another one in memory: each reading is dear."""
    while node.op.kind == "view":
        if node.params.get("axes", ())[-1:] not in ((), (node.ndim - 1,)):
            return True
        node = node.operands[0]
    return False


def _numbers_first(nodes: Iterable[Node]) -> list[Node]:
    """Move the numbers that no loop is needed for to the front, not between two loops.

    Of more than a function has, what comes behind would have the loops that read it cut in two.
    """
    fixed: set[Node] = set()
    numbers: list[Node] = []
    rest: list[Node] = []
    for node in nodes:
        read = node.op.kind in ("leaf", "view")
        number = node.op.kind == "map" and not node.shape
        if (read or number) and all(x in fixed or isinstance(x, Input) for x in node.operands):
            fixed.add(node)
        (numbers if node in fixed and node.op.kind == "map" else rest).append(node)
    return [*numbers, *rest]


def _writes_last(nodes: list[Node]) -> list[Node]:
    """Move what writes over arrays behind all that does not need it."""
    if not any(n.op.over for n in nodes):
        return nodes
    writes: dict[Node, int] = {}
    for n in nodes:
        # Parts of constants, of which numbers have been moved to the front, write nothing.
        writes[n] = max((writes.get(x, 0) for x in n.operands), default=0) + n.op.over
    return sorted(nodes, key=writes.__getitem__)


def plan(program: Steps) -> Plan:
    """Return the plan of a legal program, whose conditions are stored, too.

    Steps are placed in the program's order; numbers made of constants come before all, and what
    writes over an array comes behind what does not need it.
    """
    return _Planner(program).run()
