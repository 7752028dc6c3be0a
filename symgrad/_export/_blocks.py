"""Programs, and the bodies of their loops and branches, as blocks of C.

A body is written out where it runs: a loop is a ``for`` around the block of its body, a branch a
``switch``. All arrays, those inside of bodies too, are allocated once, at the start of the
function: their sizes do not change from step to step. A carry that is an array has two, which
take turns. Only tapes, which a loop without a known length writes down, grow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._core.base.sizes import as_expr, dim_product
from .._core.control import Branch, Loop
from .._core.graph import Body, Constant, Node
from .._core.op import PROJECTIONS, Bodied, Code, Cython, Words
from .._core.pipeline import portable
from .._core.program import Program, schedule
from ..errors import UnsupportedError
from ._instructions import C99, TYPES, Writer, bare
from ._loops import Loops, index_text, kept_steps
from ._signature import Signature

#: The kinds of ops that C can express.
KINDS = frozenset((
    "map", "view", "reduce", "scan", "contract", "assemble", "gather", "scatter", "leaf", "loop",
    "branch", *PROJECTIONS,
))  # fmt: skip


def legal_program(program: Program) -> Program:
    """Return a program in ops that C can express.

    Raises
    ------
    UnsupportedError
        Naming an op that it cannot, and the user's line.
    """
    legal = portable(program)
    for node in legal.steps:
        lower = Code.of(node.op).lower
        if node.op.kind not in KINDS:
            what = f"a routine of a library ({Words.of(node.op).doc})"
        elif isinstance(lower, Cython) and lower.name not in C99:
            what = "a function of SciPy, which C99 does not have"
        else:
            continue
        line = f", made at {node.where}," if node.where else ""
        name = node.op.name.removesuffix("OfSciPy")  # a step of the op that the user has called
        raise UnsupportedError(
            f"{name}{line} cannot be exported to C: it is {what}. Compute it in the "
            "calling program, and export the rest as a function of its result"
        )
    return legal


class Block:
    """Writes the steps of a program, or of a body.

    Parameters
    ----------
    writer:
        Where the C goes.
    memory:
        What the whole function has allocated.
    program:
        In ops that C can express.
    bound:
        The C names of the inputs.
    targets:
        For some array steps: the names of the memory that they are written to.
    """

    def __init__(
        self, writer: Writer, memory: Memory, program: Program, bound: Mapping[Node, str],
        targets: Mapping[Node, str],
    ) -> None:  # fmt: skip
        self.w, self.memory, self.program = writer, memory, program
        self.kept = kept_steps(program.steps, [*program.outputs, *program.conditions])
        self.names = dict(bound)
        for node in program.constants:
            assert isinstance(node, Constant)
            self.names[node] = memory.constant(node, program.names[node])
        for node in program.steps:
            if node not in self.kept or isinstance(node.op, Bodied):
                continue
            if node in targets:
                self.names[node] = targets[node]
                continue
            self.names[node] = memory.fresh(program.names[node], len(self.names))
            if node.op.kind == "tape":
                memory.tapes.append((TYPES[node.dtype.name], self.names[node]))
                memory.taken |= {f"{self.names[node]}_n", f"{self.names[node]}_room"}
            elif node.shape:
                memory.array(node, self.names[node])
        self.loops = Loops(writer, self.names)

    def write(self) -> None:
        """Write all steps, with the user's lines above them."""
        line = None
        for node in self.program.steps:
            if node not in self.kept or node.op.kind in PROJECTIONS:
                continue
            own = self.program.line_text(node)
            if own and own != line:
                line = own
                self.w.line(f"/* {line} */")
            if not isinstance(node.op, Bodied):
                self.loops.fill(node)
            else:
                self._results(node)
                (self._loop if node.op.kind == "loop" else self._branch)(node)

    # ---------------------------------------------------------------- operands and results

    def scalar(self, node: Node) -> str:
        """Return the expression of a number."""
        return bare(self.loops.value(node, ()))

    def array(self, node: Node) -> str:
        """Return the name of an array's memory."""
        if node not in self.names:  # a view, or positions
            name = self.memory.array(node, self.w.fresh("u"))
            self.loops.copy(node, name)
            return name
        return self.names[node]

    def given(self, node: Node) -> dict[int, Node]:
        """Return who asks for the results of a loop or a branch, by their numbers."""
        return {
            x.params["index"]: x
            for x in self.program.steps
            if x.op.kind in PROJECTIONS and x.operands == (node,)
        }

    def _results(self, node: Node) -> None:
        for x in self.given(node).values():
            if x.op.kind == "result" and not x.shape:
                self.w.line(f"{TYPES[x.dtype.name]} {self.names[x]} = 0;")

    def _bind(self, inputs: Sequence[Node], nodes: Sequence[Node]) -> dict[Node, str]:
        """Give operands to a body: arrays by name, numbers as variables."""
        bound: dict[Node, str] = {}
        for x, node in zip(inputs, nodes, strict=True):
            if node.shape:
                bound[x] = self.array(node)
            else:
                bound[x] = self.w.fresh("u")
                self.w.line(f"const {TYPES[x.dtype.name]} {bound[x]} = {self.scalar(node)};")
        return bound

    def body(
        self, body: Body, bound: Mapping[Node, str], places: Sequence[str | None]
    ) -> list[Callable[[str], None]]:
        """Write a body whose array results go to ``places``.

        Returned are functions that write a number, or an array that is elsewhere, to a place.
        """
        program = legal_program(schedule(body.inputs, body.outputs))
        # Legalising may change what an output is, not how many there are.
        targets: dict[Node, str] = {}
        kept = kept_steps(program.steps, program.outputs)
        for node, place in zip(program.outputs, places, strict=True):
            if node.shape and place is not None and node in kept:
                targets.setdefault(node, place)
        known = dict(zip(program.inputs, (bound[x] for x in body.inputs), strict=True))
        inner = Block(self.w, self.memory, program, known, targets)
        inner.write()

        def mover(node: Node) -> Callable[[str], None]:
            def move(place: str) -> None:
                if not node.shape:
                    self.w.line(f"{place} = {inner.scalar(node)};")
                elif targets.get(node) != place:
                    inner.loops.copy(node, place)

            return move

        return [mover(node) for node in program.outputs]

    # ---------------------------------------------------------------- branches

    def _branch(self, node: Node) -> None:
        branch, given = Branch.of(node), self.given(node)
        bound = self._bind(branch.bodies[0].inputs, branch.operands)
        names = list(bound.values())
        outputs = branch.bodies[0].outputs
        places = [self.names[given[k]] if k in given else None for k in range(len(outputs))]
        self.w.open(f"switch ({self.scalar(branch.index)})")
        for k, body in enumerate(branch.bodies):
            last = k == len(branch.bodies) - 1
            self.w.open("default:" if last else f"case {k}:")
            moves = self.body(body, dict(zip(body.inputs, names, strict=True)), places)
            for place, move in zip(places, moves, strict=True):
                if place is not None:
                    move(place)
            self.w.line("break;")
            self.w.close()
        self.w.close()

    # ---------------------------------------------------------------- loops

    def _loop(self, node: Node) -> None:
        loop, given = Loop.of(node), self.given(node)
        w = self.w
        bound = self._bind(loop.shared, loop.consts)
        nexts = [
            self._carry(x, init, bound) for x, init in zip(loop.carried, loop.inits, strict=True)
        ]
        elements = [(x, self.array(source)) for x, source in zip(loop.slices, loop.xs, strict=True)]
        count = self._count(loop)
        tapes = {k: self.names[x] for k, x in given.items() if x.op.kind == "tape"}
        for k, tape in tapes.items():
            w.line(f"{tape}_n = 0;")
            if count is not None:
                self._grow(tape, loop.body.outputs[k], count)
        done = w.fresh("i")
        w.open(f"for (ptrdiff_t {done} = 0;{f' {done} < {count}' if count else ''}; ++{done})")
        if loop.cond is not None:
            names = [bound[x] for x in (*loop.carried, *loop.shared)]
            self._leave_unless(loop.cond, names)
        step = done
        if loop.reverse:
            step = w.fresh("i")
            w.line(f"const ptrdiff_t {step} = {count} - 1 - {done};")
        inside = {**bound, loop.step: f"(int64_t){step}"}
        inside |= {x: self._element(x, source, step) for x, source in elements}
        rows = [self._row(loop.body.outputs[k], given.get(k), step, count is None)
                for k in range(loop.carries, len(loop.body.outputs))]  # fmt: skip
        moves = self.body(loop.body, inside, [*nexts, *rows])
        for place, move in zip(rows, moves[loop.carries :], strict=True):
            if place is not None:
                move(place)
        for x, new, move in zip(loop.carried, nexts, moves, strict=False):
            move(new if x.shape else f"const {TYPES[x.dtype.name]} {new}")
        for x, new in zip(loop.carried, nexts, strict=True):
            self._carry_on(x, bound[x], new)
        for tape in tapes.values():
            w.line(f"++{tape}_n;")
        w.close()
        for k, x in enumerate(loop.carried):
            if k not in given:
                continue
            target = self.names[given[k]]
            if x.shape:
                Loops(w, bound).copy(x, target)
            else:
                w.line(f"{target} = {bound[x]};")

    def _leave_unless(self, cond: Body, names: Sequence[str]) -> None:
        """Leave a loop where its condition does not hold for its carries."""
        holds = self.w.fresh("u")
        (move,) = self.body(cond, dict(zip(cond.inputs, names, strict=True)), [None])
        move(f"const bool {holds}")
        self.w.line(f"if (!{holds}) break;")

    def _element(self, x: Node, source: str, step: str) -> str:
        """Name what a step reads of an array, whose rows go through the steps."""
        name, kind = self.w.fresh("u"), TYPES[x.dtype.name]
        if x.shape:
            self.w.line(f"const {kind} *const {name} = {source} + {_row(x, step)};")
        else:
            self.w.line(f"const {kind} {name} = {source}[{step}];")
        return name

    def _carry_on(self, x: Node, now: str, new: str) -> None:
        """Make the next value of a carry the one of now; arrays change places."""
        if not x.shape:
            self.w.line(f"{now} = {new};")
            return
        spare = self.w.fresh("u")
        self.w.line(f"{TYPES[x.dtype.name]} *const {spare} = {now};")
        self.w.line(f"{now} = {new};")
        self.w.line(f"{new} = {spare};")

    def _carry(self, x: Node, init: Node, bound: dict[Node, str]) -> str:
        """Write the variables of a carry; return where its next value goes."""
        c, now, then = TYPES[x.dtype.name], self.w.fresh("u"), self.w.fresh("u")
        if x.shape:
            first, second = (self.memory.array(x, self.w.fresh("u")) for _ in range(2))
            self.loops.copy(init, first)
            self.w.line(f"{c} *{now} = {first}, *{then} = {second};")
        else:
            self.w.line(f"{c} {now} = {self.scalar(init)};")
        bound[x] = now
        return then

    def _count(self, loop: Loop) -> str | None:
        """Return the number of steps: known, or as many as a tape has."""
        if loop.cond is not None:
            return None
        if loop.length is not None:
            text = index_text(loop.length)
            return text if text.isalnum() else f"({text})"
        return f"{self.names[loop.xs[0]]}_n"

    def _row(self, y: Node, result: Node | None, step: str, growing: bool) -> str | None:
        """Return where a step writes what it leaves behind."""
        if result is None:
            return None
        name = self.names[result]
        if growing:
            self._grow(name, y, f"({step} + 1)")
        if not y.shape:
            return f"{name}[{step}]"
        row = self.w.fresh("u")
        self.w.line(f"{TYPES[y.dtype.name]} *const {row} = {name} + {_row(y, step)};")
        return row

    def _grow(self, tape: str, y: Node, steps: str) -> None:
        """Make room on a tape."""
        size = f"{_row(y, steps)}*(ptrdiff_t)sizeof({TYPES[y.dtype.name]})"
        larger = self.w.fresh("u")
        self.w.line(
            f"void *const {larger} = {self.memory.name}_grow({tape}, &{tape}_room, {size});"
        )
        self.w.line(f"if (!{larger}) goto end;")
        self.w.line(f"{tape} = {larger};")


def _row(y: Node, step: str) -> str:
    """Return the number of elements in some rows."""
    count = dim_product(y.shape)
    return step if count == 1 else f"{step}*({index_text(count)})"


# ---------------------------------------------------------------- names and memory


class Memory:
    """The variables at the start of a function, and the names that it has taken."""

    def __init__(self, signature: Signature) -> None:
        self.name, self.fresh, self.taken = signature.name, signature.fresh, signature.taken
        self.arrays: list[tuple[str, str, str]] = []  # C type, name, number of elements
        self.bytes: list[Any] = []
        self.tapes: list[tuple[str, str]] = []  # C type, name
        self.constants: dict[Node, str] = {}

    def array(self, node: Node, name: str) -> str:
        """Allocate an array of the shape and type of a node."""
        count = as_expr(dim_product(node.shape))
        self.bytes.append(count * node.dtype.itemsize)
        self.arrays.append((TYPES[node.dtype.name], name, f"(size_t)({index_text(count)})"))
        return name

    def constant(self, node: Constant, text: str) -> str:
        """Take a name for an array that stands outside of the function."""
        if node not in self.constants:
            self.constants[node] = self.fresh(f"{self.name}_{text}", len(self.constants))
        return self.constants[node]
