"""Reverse mode of a loop: a loop the other way, over what the first one wrote down.

The forward loop is extended to write tapes, in each step the values that the adjoint of the
body needs. The backward loop reads them, carries the cotangents of the carries and adds up
those of the constants. Both are loops like others, so derivatives of any order come about in
the same way. What a step writes down is a plan: the carries it starts from always suffice,
since the body's adjoint can compute everything else again; what is dear to compute (a
mathematical function, a matrix product) is written down as well.

Source: A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, section 12.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..base.sizes import Shape, as_size
from ..base.state import within
from ..graph import (
    Body,
    Input,
    Literal,
    Node,
    SizeOf,
    element_count,
    remade,
    topological,
    viewed,
)
from ..op import Code, Cython, Libm, Limit, Scatter
from ..rewrite import rewrite
from ..trace import Traced, as_node, substitute
from ..transforms.guards import Guard, Guarded, holds, narrowed, of_any, settled, without_tapes
from ..transforms.reverse import pull_back_guarded
from ..transforms.support import dependents
from ._bisection import warn_of_narrowing
from ._element_writes import by_places, only_if
from ._fields import Loop, filled, or_zeros, pick, project, result, stand_ins, tape, zeros
from ._singular_points import has_edges, passes_edge
from ._sums import summed

#: What is read of an array that is so many times as large is written down in its place.
PICKED = 8

_FLAG = np.dtype(bool)


@dataclass
class _Given:
    """Cotangents of a result that is written down: an array or a tape, read step by step.

    ``counts`` are an input and the array of where they count, if that differs between elements.
    """

    index: int
    ct: Node
    slice: Input
    counts: tuple[Input, Node] | None = None

    @property
    def guarded(self) -> Guarded:
        """The cotangent in a step, where it counts."""
        return Guarded(self.slice, () if self.counts is None else ((self.counts[0], True),))


@dataclass
class Values:
    """A backward step in terms of what it is given.

    Attributes
    ----------
    outputs:
        What it computes.
    xs, consts:
        More that it goes along and that all steps share: inputs of the body, and operands.
    carries:
        More that it carries: input, first value, and new value.
    """

    outputs: list[Node]
    xs: list[tuple[Input, Node]]
    consts: list[tuple[Input, Node]]
    carries: list[tuple[Input, Node, Node]]


class Backward:
    """The backward loop of a loop.

    Parameters
    ----------
    loop:
        The loop.
    cts:
        Cotangents of its results, by result.
    wanted:
        Which operands' cotangents are asked for.
    risky:
        Which of those have been computed in a way whose slope may be infinite.
    edgy:
        Which of those by an elementwise op with such a slope (``sqrt`` at 0), as far as is looked.
    """

    def __init__(
        self, loop: Loop, cts: Mapping[Node, Guarded], wanted: Sequence[bool],
        risky: Sequence[bool], edgy: Sequence[bool],
    ) -> None:  # fmt: skip
        self.loop, self.wanted, self.risky = loop, wanted, risky
        self.edgy = frozenset(pick(loop.body.inputs[1:], edgy))
        count = loop.carries
        self.last: list[Node | None] = [None] * count
        #: Where the cotangent of a carry's last value counts, if that differs between elements.
        self.first_flags: dict[Input, Node] = {}
        self.given: list[_Given] = []
        masks = element_masks(loop, cts.values())
        for (projection, ct), truth in zip(cts.items(), masks, strict=True):
            k = projection.params["index"]
            if k < count:
                self.last[k] = ct.value
                if truth is not None:
                    self.first_flags[loop.carried[k]] = truth
            else:
                out = loop.body.outputs[k]
                counts = None
                if truth is not None:
                    counts = Input(f"counts{k}", out.shape, _FLAG), truth
                own = Input(f"ct{k}", out.shape, out.dtype)
                self.given.append(_Given(k, ct.value, own, counts))
        self.around = of_any([without_tapes(ct) for ct in cts.values()])
        warn_of_narrowing(loop, pick((*loop.slices, *loop.shared), wanted[count:]))
        self.active = self._active()
        # Zero cotangents of carries that are given none do not count in a step either.
        zeros_inside = any(a and ct is None for a, ct in zip(self.active, self.last, strict=True))
        zeros_inside = zeros_inside and has_edges(loop.body.outputs)
        self.guarding = any(masks) or any(self.risky) or zeros_inside
        self.carried = stand_ins(loop.carried, "ct_c")
        self._pull()

    def _active(self) -> list[bool]:
        """Return which carries depend on something wanted, in some step."""
        loop, wanted = self.loop, self.wanted
        flags = list(wanted[: loop.carries])
        fixed = pick((*loop.slices, *loop.shared), wanted[loop.carries :])
        order = topological(loop.body.outputs)
        while True:
            moving = dependents(order, [*pick(loop.carried, flags), *fixed])
            grown = [f or x in moving for f, x in zip(flags, loop.news, strict=True)]
            if grown == flags:
                return [f and x.dtype.kind == "f" for f, x in zip(flags, loop.carried, strict=True)]
            flags = grown

    def _pull(self) -> None:
        """Pull back through one step; which carries have cotangents is found by trying."""
        loop = self.loop
        elements = self.wanted[loop.carries : loop.carries + len(loop.xs)]
        shared = self.wanted[loop.carries + len(loop.xs) :]
        self.flowing = [a and ct is not None for a, ct in zip(self.active, self.last, strict=True)]
        carried = pick(loop.carried, self.active)
        wrt = [*carried, *pick(loop.slices, elements), *pick(loop.shared, shared)]
        # How often steps read elements of what they share is counted: see _reads.
        noted: dict[Input, str] = {}
        if self.guarding:
            noted = {x: "none" if x in loop.shared else "all" for x in self.edgy}
            noted |= {x: "elements" for x, y in zip(loop.carried, loop.news, strict=True)
                      if x.shape and (x in noted or passes_edge(y))}  # fmt: skip
        self.flags: dict[Input, Input] = {}  # of carries whose cotangents do not always count
        while True:
            seeds = [
                Guarded(ct, self._flag(x)) if flows else None
                for x, ct, flows in zip(loop.carried, self.carried, self.flowing, strict=True)
            ]
            outputs = [*loop.news, *(loop.body.outputs[g.index] for g in self.given)]
            given = [*seeds, *(g.guarded for g in self.given)]
            with within(edgy=noted):
                found = pull_back_guarded(outputs, given, wrt, self.guarding)
            slopes = dict(zip(wrt, found, strict=True))
            grown = [
                f or slopes.get(x) is not None
                for f, x in zip(self.flowing, loop.carried, strict=True)
            ]
            self.guards = {x: ct.guard for x, ct in slopes.items() if ct}
            shapes, before = self._flagged(slopes), {x: y.shape for x, y in self.flags.items()}
            if grown == self.flowing and shapes == before:
                break
            self.flowing = grown
            self.flags = {x: Input(f"counts{x.name}", s, _FLAG) for x, s in shapes.items()}
        self.slopes = {x: ct.value for x, ct in slopes.items() if ct is not None}

    def _flagged(self, slopes: Mapping[Node, Guarded | None]) -> dict[Input, Shape]:
        """Return the shapes of flags for carries whose cotangents are not always used."""
        found: dict[Input, Shape] = {}
        for x, last, flows in zip(self.loop.carried, self.last, self.flowing, strict=True):
            guard = self.guards.get(x, ())
            sometimes = flows and (last is None or slopes.get(x) is None)
            if flows and x in self.first_flags:
                found[x] = x.shape
            elif self.guarding and (guard or sometimes or x in self.flags):
                found[x] = _shape_of(guard, x) or (self.flags[x].shape if x in self.flags else ())
        return found

    def _flag(self, x: Input) -> Guard:
        return ((self.flags[x], True),) if x in self.flags else ()

    # ---------------------------------------------------------------- the backward loop

    def operands(self) -> list[Guarded | None]:
        """Return the cotangents of the loop's operands.

        What has been computed before the loop has its slope outside of it, infinite perhaps where
        no step uses it: so they come with the conditions under which they count.
        """
        loop = self.loop
        flowing = pick(loop.carried, self.flowing)
        seeds = pick(self.carried, self.flowing)
        shared = [x for x in loop.shared if x in self.slopes]
        slices = [x for x in loop.slices if x in self.slopes]
        known, apart = loop.length is not None, loop.is_of_examples
        sums = {x: summed(self.slopes[x], known, apart) for x in shared}
        reads = {x: summed(y, known, apart) for x, y in self._reads(shared).items()}
        added = [x for s in (*sums.values(), *reads.values()) for x in s.added]
        stacked = [x for s in (*sums.values(), *reads.values()) for x in s.stacked]
        totals = stand_ins(added, "ct_k")
        news = [self.slopes.get(x, zeros(x)) for x in flowing]
        news += [
            as_node(np.add(Traced(total), Traced(x)))
            for total, x in zip(totals, added, strict=True)
        ]
        marks, each = self._marks(apart, reads)
        news += [new for _, _, _, new in marks]
        elements = [*(self.slopes[x] for x in slices), *stacked, *map(self._mark, each)]
        befores = [*seeds, *totals, *(flag for _, flag, _, _ in marks), *map(zeros, elements)]
        if not befores:
            return [None] * len(self.wanted)
        outputs = by_places(rewrite([*news, *elements]), {*seeds, *totals})
        outputs = self._masked(outputs, befores)
        values = self._values(outputs)
        outputs, written = values.outputs, values.xs
        needed = set(topological(outputs))
        own = [(x, o) for x, o in zip(loop.slices, loop.xs, strict=True) if x in needed]
        given = [(g.slice, g.ct) for g in self.given if g.slice in needed]
        given += [g.counts for g in self.given if g.counts and g.counts[0] in needed]
        consts = [(x, o) for x, o in zip(loop.shared, loop.consts, strict=True) if x in needed]
        xs = [*written, *given, *own]
        if loop.length is None and not any(o.op.kind == "tape" for _, o in xs):
            # A tape says how many steps there were.
            xs += [(x, o) for x, o in zip(loop.slices, loop.xs, strict=True) if o.op.kind == "tape"]
        starts = or_zeros(self.last, loop.inits)
        consts += values.consts
        more, first = values.carries, len(seeds) + len(totals) + len(marks)
        flags = [flag for _, flag, _, _ in marks]
        inputs = (loop.step, *seeds, *totals, *flags, *(x for x, _, _ in more), *(x for x, _ in xs),
                  *(x for x, _ in consts))  # fmt: skip
        outputs[first:first] = [new for _, _, new in more]
        back = Loop(
            (*pick(starts, self.flowing), *map(zeros, added), *(init for _, _, init, _ in marks),
             *(init for _, init, _ in more)),
            tuple(o for _, o in xs), tuple(o for _, o in consts),
            Body(inputs, outputs), loop.length, None, not loop.reverse,
        ).node()  # fmt: skip
        count = len(flowing)
        slopes: dict[Node, Node] = {x: result(back, k) for k, x in enumerate(flowing)}
        rest = (result(back, k) for k in range(count, count + len(added)))
        count += len(added)
        counts = {x: result(back, k) for k, (x, *_) in enumerate(marks, count)}
        count += len(marks) + len(more)
        outer = dict(zip(loop.slices, loop.xs, strict=True))
        kinds = {x: "tape" if o.op.kind == "tape" else "result" for x, o in outer.items()}
        for k, x in enumerate(slices, count):
            slopes[x] = project(back, k, kinds[x])
        count += len(slices)
        stacks = (result(back, k) for k in range(count, count + len(stacked)))
        slopes |= {x: s.build(rest, stacks) for x, s in sums.items()}
        often = {x: Traced(s.build(rest, stacks)) for x, s in reads.items()}
        counts |= {x: as_node(np.not_equal(number, 0.0)) for x, number in often.items()}
        for k, x in enumerate(each, count + len(stacked)):
            of_steps = project(back, k, kinds.get(x, "result"))
            if x in outer:
                counts[x] = _of_elements(of_steps, outer[x])
            else:
                counts[x] = as_node(np.any(Traced(of_steps), axis=0))
        if (ran := self._ran()) is not None:
            ended = pick(loop.carried, self.last)  # their cotangents are there without a step
            counts = {**{x: ran for x in slopes if x not in ended}, **counts}
        wanted = zip(loop.body.inputs[1:], self.wanted, self.risky, strict=True)
        return [
            self._sent(slopes[x], counts.get(x), risky) if w and x in slopes else None
            for x, w, risky in wanted
        ]

    # ---------------------------------------------------------------- where cotangents count

    def _reads(self, shared: Sequence[Input]) -> dict[Input, Node]:
        """Return how often each element is read in a step, of arrays that are read in parts.

        Of those among ``shared`` whose slopes may be infinite where no step reads them.
        """
        found = {}
        for x in shared:
            guard = self.guards.get(x, ())
            if x in self.edgy and not any(node.shape for node, _ in guard):
                number = times_read(self.slopes[x], guard)
                if number is not None:
                    found[x] = number
        return found

    def _marks(
        self, apart: bool, reads: Collection[Input]
    ) -> tuple[list[tuple[Input, Input, Node, Node]], list[Input]]:
        """Return what the backward loop notes of where cotangents count.

        Of carries, and of what steps share if one of them uses it, it carries a flag: the body's
        input, the flag, its first value, and its new one. Of the others it notes it in each step.
        Where elements are counted, ``reads``, they tell it.
        """
        loop = self.loop
        risky = pick(loop.body.inputs[1:], self.risky)
        marked = [x for x in risky if self.guards.get(x) and x not in reads]
        marks = []
        for k, x in enumerate(loop.carried):
            if x in self.flags:
                flag = self.flags[x]
                start = self.first_flags.get(x) or filled(
                    self.last[k] is not None, flag.shape, _FLAG
                )
                marks.append((x, flag, start, self._mark(x, flag.shape)))
        taped = {x for x, o in zip(loop.slices, loop.xs, strict=True) if o.op.kind == "tape"}
        each = [x for x in marked if x in loop.slices]
        each = [x for x in each if x not in taped or any(n.shape for n, _ in self.guards[x])]
        for x in marked:
            if x not in loop.shared:
                continue
            if apart:
                each.append(x)
                continue
            mark = self._mark(x)
            flag = Input(f"once{x.name}", mark.shape, _FLAG)
            new = as_node(np.logical_or(Traced(flag), Traced(mark)))
            marks.append((x, flag, zeros(flag), new))
        return marks, each

    def _mark(self, x: Input, shape: Shape | None = None) -> Node:
        """Return where the cotangent of an input counts in a step."""
        guard = self.guards.get(x, ())
        shape = _shape_of(guard, x) if shape is None else shape
        if not guard:
            return filled(x in self.slopes, shape, _FLAG)
        some = holds(guard)
        return as_node(np.broadcast_to(some, tuple(map(as_size, shape))) if shape else some)

    def _ran(self) -> Node | None:
        """Return whether there is a step at all, None if there always is or nobody knows."""
        loop = self.loop
        if loop.cond is not None:
            given = dict(zip(loop.cond.inputs, (*loop.inits, *loop.consts), strict=True))
            return substitute(loop.cond.outputs, given)[0]
        length = loop.length
        if length is None or (length > 0 if isinstance(length, int) else length.is_positive):
            return None
        number = Literal(length, np.int64) if isinstance(length, int) else SizeOf(length, np.int64)
        return as_node(np.greater(Traced(number), 0))

    def _sent(self, ct: Node, counts: Node | None, risky: bool) -> Guarded:
        own: Guard = ((counts, True),) if risky and counts is not None else ()
        return sent(ct, self.around, own)

    def _masked(self, news: list[Node], befores: list[Node]) -> list[Node]:
        """Undo only steps that were done: examples of a batch may have stopped earlier."""
        loop = self.loop
        if loop.cond is None:
            return news
        inner = dict(zip(loop.cond.inputs, (*loop.carried, *loop.shared), strict=True))
        [self.mask] = substitute(loop.cond.outputs, inner)
        return rewrite(only_if(self.mask, news, befores))

    def _values(self, outputs: Sequence[Node]) -> Values:
        """Extend the forward loop by tapes of what ``outputs`` need."""
        loop = self.loop
        # The truth of the condition in each step is what says how long the tapes are.
        always = [] if loop.cond is None else [self.mask]
        known = set(topological(loop.body.outputs)) | set(always)
        cut = frontier(outputs, known - set(always), set(loop.carried), set(always))
        stored = list(dict.fromkeys([*always, *cut]))
        extended = loop.changed(
            body=Body(loop.body.inputs, (*loop.body.outputs, *stored))
        ).node() if stored else None  # fmt: skip
        swap: dict[Node, Node] = {}
        written: list[tuple[Input, Node]] = []
        for k, x in enumerate(stored, len(loop.body.outputs)):
            slot = x if isinstance(x, Input) else Input(f"s{k}", x.shape, x.dtype)
            swap[x] = slot
            assert extended is not None
            written.append((slot, tape(extended, k)))
        return Values(substitute(outputs, swap), written, [], [])


def sent(ct: Node, around: Guard, own: Guard) -> Guarded:
    """Return the cotangent of a loop's operand under both guards.

    ``around`` is that of the loop's results: where it fails, a zero cotangent has met slopes that
    are infinite or nan in a step, so it is selected here. A tape is read by loops alone, and is
    never selected.
    """
    value = ct if ct.op.kind == "tape" else settled(Guarded(ct, around, not around))
    return Guarded(value, narrowed(around, own) or ())


def _of_elements(of_steps: Node, like: Node) -> Node:
    """Return where elements count, if that is known of each or of the step that reads it.

    A truth value for each step has the first axis of what the steps read, not the last.
    """
    more = len(like.shape) - len(of_steps.shape)
    if not more or of_steps.op.kind == "tape":
        return of_steps
    spread = Traced(of_steps)[(slice(None), *[None] * more)]
    return as_node(np.broadcast_to(spread, tuple(map(as_size, like.shape))))


def times_read(slope: Node, guard: Guard) -> Node | None:
    """Return how many times a step reads each element of an array, by the array's cotangent.

    Where each read is a gather, the cotangent is a sum of scatters into zeros. Here they scatter
    ones. Their indices are integers, which have no derivative: an element with the count 0 has the
    derivative 0. None if some part of the cotangent is no scatter.

    Parameters
    ----------
    slope:
        The cotangent in a step.
    guard:
        Scalar conditions under which the step uses the array.
    """
    made: dict[Node, Node] = {}
    stack = [slope]
    while stack:
        x = stack[-1]
        parts = _added_in(x)
        if not parts and x.shape == slope.shape:
            return None  # something for all elements
        rest = [y for y in parts if y not in made]
        if rest:
            stack += rest
            continue
        stack.pop()
        made[x] = remade(x, tuple(made.get(y, y) for y in x.operands)) if parts else _once(x, guard)
    return made[slope]


def _added_in(x: Node) -> tuple[Node, ...]:
    """Return the cotangents that a sum, a scatter or a view makes another of; else nothing."""
    op = x.op
    if op.means(np.add) and all(y.shape == x.shape for y in x.operands):
        return x.operands
    if isinstance(op, Scatter) and not op.over and op.linear is not None:
        places = op.linear.places(len(x.operands))
        return tuple(x.operands[k] for k in places)
    if op.kind in ("assemble", "view") and op.linear is not None:
        return x.operands
    return ()


def _once(x: Node, guard: Guard) -> Node:
    """Return ones in the form of ``x``, or zeros where it does not count."""
    ones = np.ones_like(Traced(x))
    return as_node(np.where(holds(guard), ones, np.zeros_like(ones)) if guard else ones)


def element_masks(loop: Loop, cts: Collection[Guarded]) -> list[Node | None]:
    """Return a mask of the elements where each cotangent counts; None if no mask is needed.

    A mask is needed if the guard differs between elements, and a step has an op that is undefined
    or not differentiable somewhere. That of a tape is one, too.
    """
    apart = [any(node.shape for node, _ in ct.guard) for ct in cts]
    if not any(apart) or not has_edges(loop.body.outputs):
        return [None] * len(apart)
    return [_element_mask(ct) if differs else None for ct, differs in zip(cts, apart, strict=True)]


def _element_mask(ct: Guarded) -> Node:
    for node, _ in ct.guard:
        if node.op.kind == "tape":
            return node
    return as_node(np.broadcast_to(holds(ct.guard), tuple(map(as_size, ct.value.shape))))


def _shape_of(guard: Guard, x: Node) -> Shape:
    """Return the shape of a truth value that says where a cotangent counts."""
    return x.shape if any(node.shape for node, _ in guard) else ()


def frontier(
    outputs: Sequence[Node], known: set[Node], carried: set[Input], always: set[Node]
) -> list[Node]:
    """Return the values of a step to write down, so that ``outputs`` can be computed.

    Parameters
    ----------
    outputs:
        What the backward step computes.
    known:
        What the forward step computes.
    carried:
        Its carries, which are gone when the backward step comes.
    always:
        Values that are written down anyway.
    """
    # A loop that is itself gone through backwards is run again, for its own tapes.
    order = topological(outputs)
    again = {x.operands[0].operands for x in order if x.op.kind == "tape"}
    moving = _along_lengths(order)
    found: dict[Node, None] = {}
    seen: set[Node] = set()
    stack = list(reversed(outputs))
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if (
            node in always
            or node in carried
            or (node in known and node not in moving
                and (dear(node, again) or picked(node, carried)))
        ):  # fmt: skip
            found[node] = None
        else:
            stack.extend(reversed(node.operands))
    return list(found)


def _along_lengths(order: Sequence[Node]) -> set[Node]:
    """Return what the cotangents of lengths are made of that is itself made of these lengths.

    Written down, it would be no function of them any more, and a further derivative at a length of
    0 is that of the cotangent by the length.
    """
    found: set[Node] = set()
    for x in order:
        if Limit.of(x.op).of_lengths:
            behind = topological([x.operands[0]])
            found |= dependents(behind, [viewed(x.operands[-1])])
    return found


def picked(node: Node, carried: set[Input]) -> bool:
    """Tell whether a value is a small part of a large array that the forward step makes."""
    if node.op.kind not in ("gather", "view"):
        return False
    source = viewed(node.operands[0])
    made = source in carried or bool(source.operands)
    return made and element_count(node) * PICKED <= element_count(source)


def dear(node: Node, again: Collection[tuple[Node, ...]] = ()) -> bool:
    """Tell whether to write a value down rather than to compute it again.

    Loops of the operands ``again`` are run again anyway.
    """
    op = node.op
    if op.kind == "result":
        return node.operands[0].op.kind == "loop" and node.operands[0].operands not in again
    if op.kind == "map":
        return isinstance(Code.of(op).lower, (Libm, Cython))
    return op.kind in ("contract", "scan") and node.dtype.kind == "f"
