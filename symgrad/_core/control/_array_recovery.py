"""Numbers that Python has computed one by one and put into an array, or added up, as arrays.

``np.array([u[k + 1] - 2*u[k] + u[k - 1] for k in range(1, n - 1)])``, or a loop that assigns
``slope[k]``, is traced as the steps of each number. Where those of many are the same but for the
elements that they read and for numbers written in the code, they become one expression of
slices: a program that does not grow with their count, and vectors. Each number is computed by the
same operations; functions of vectors may differ in the last digit from those of numbers.

Over index lists, ``r[place[k]] += f(v[place[k]], v[other[k]])`` or ``total += f(...)``, sums are of
different numbers of terms, no two alike. Their terms are: those of one kind become one array, which
is added up, or at their places, known ones or data. All of this goes for rows of a few numbers,
too, and for short arrays behind each other: ``np.concatenate(gaps)``, of a loop that makes one
``gaps`` a round.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..base.sizes import Dimension, as_dim, as_size
from ..base.state import at, now
from ..base.switches import is_on
from ..graph import Constant, Input, Literal, Node, element_count, rebuilt, remade, topological
from ..op import PROJECTIONS, Map
from ..ops import ASSEMBLE, RESHAPE, SLICE
from ..ops.gathers import GATHER, SCATTER
from ..ops.regions import within as inside
from ..ops.updates import ADD_AT, UPDATE
from ..trace import SHORT_LAST_AXIS, Traced, as_node, fresh
from ..transforms.batch import batch
from ._fields import Branch, result
from ._terms import Addition, Sums, Term

#: A shorter array would be written out again.
LEAST = SHORT_LAST_AXIS + 1

#: Numbers that are in no row are made of arrays of terms if more than such a part are.
MOST_LEFT = 4

#: Numbers with so many users each are shared.
MANY = 9

#: A step of a term has at most so many numbers; larger arrays are what terms read.
ROW = 256

#: Kinds of ops of which terms are made, where they are of more than numbers.
OF_TERMS = ("map", "view", "reduce", "contract", "assemble", "gather")

#: So many values of one kind, at most, are written in turn in what may be rounds.
IN_TURN = 32

T = TypeVar("T")

#: Values that are computed side by side.
Lanes = tuple[Node, ...]


def in_arrays(outputs: Sequence[Node]) -> list[Node]:
    """Return ``outputs`` with values that are computed alike, and put together, as arrays.

    Not where rounding is promised: NumPy's functions of arrays need not round as those of numbers.
    """
    found, order = list(outputs), topological(outputs)
    if now().promised or not is_on("arrays"):
        return found
    wide = [n for n in order if n.op in (ASSEMBLE, UPDATE) and len(n.operands) >= LEAST]
    sums = Sums(order, outputs)
    long = sums.whole(LEAST)
    added = sums.additions(LEAST)
    if not wide and not long and not added:
        return found
    kinds = _Kinds(order)
    instead: dict[Node, _Writing | _Total | _Adding] = {
        n: w for n in wide if (w := _Writing(n, kinds, sums))
    }
    instead |= {n: a for n, parts in added.items() if (a := _Adding(n, *parts, kinds))}
    instead |= {n: _Total(groups) for n in long if (groups := kinds.groups(sums.terms(n)))}
    if not instead:
        return found
    done: dict[Node, Node] = {}
    together = _Together(done, kinds)

    def change(node: Node, operands: tuple[Node, ...]) -> Node | None:
        return instead[node].made(together) if node in instead else None

    made = rebuilt(found, change, done)
    # Where the numbers are needed by themselves, too, they stay beside the arrays.
    return made if len(topological(made)) <= len(order) - LEAST else found


class _Part(NamedTuple):
    """A part of an array: its place along some axes, and what parts that differ by it share.

    Attributes
    ----------
    axes:
        The axes along which it has a place of its own.
    place:
        The known parts of the places.
    form:
        All else of the region.
    """

    axes: tuple[int, ...]
    place: tuple[int, ...]
    form: tuple[tuple[Dimension, int, Dimension | None], ...]

    @classmethod
    def of(cls, region: Any) -> _Part:
        """Return the part that a region is. Without places of numbers, slices begin at some."""
        axes = tuple(k for k, (_, _, size) in enumerate(region) if size is None)
        axes = axes or tuple(range(len(region)))
        form, place = list(region), []
        for k in axes:
            start, step, size = region[k]
            number, rest = (start, 0) if isinstance(start, int) else start.as_coeff_Add()
            if number == int(number):
                form[k], number = (as_dim(rest), step, size), int(number)
            else:
                number = 0
            place.append(number)
        return cls(axes, tuple(place), tuple(form))

    @property
    def picks(self) -> bool:
        """Whether the places are of numbers, or of rows."""
        return any(size is None for _, _, size in self.form)

    def is_row(self, shape: Sequence[Any]) -> bool:
        """Tell whether it is a number, or a whole row, at a place that is known."""
        return self.picks and all(
            (start, step) == (0, 1) and (size is None or size == n)
            for (start, step, size), n in zip(self.form, shape, strict=True)
        )


class _Groups(NamedTuple):
    """Terms of one kind and sign, and those of which there are too few of a kind."""

    alike: list[list[Term]]
    rest: list[Term]


class _Kinds:
    """The kind of expression of each value, whichever elements and numbers it reads.

    Attributes
    ----------
    of:
        The kind of a value, down to elements, numbers and arrays.
    near:
        Its kind down to numbers that are shared, those of pairs of panels, say, of which each
        is in many pairs: the panels may be of several kinds.
    """

    def __init__(self, order: Sequence[Node]) -> None:
        self.of: dict[Node, int] = {}
        self.near: dict[Node, int] = {}
        self.position = {node: k for k, node in enumerate(order)}
        #: Arrays that are steps of terms, not what these read.
        self.steps: set[Node] = set()
        #: Of each slice, the array that slices of slices are of, and the region in it.
        self.read: dict[Node, tuple[Node, Any]] = {}
        known: dict[Any, int] = {}
        for node in order:
            key = self._key(node, self.of)
            self.of[node] = known.setdefault(key, len(known))
        shared, seen = self._shared(order), dict(self.near)
        for node in order:
            key = self._key(node, seen)
            self.near[node] = known.setdefault(key, len(known))
            seen[node] = (
                known.setdefault(node.dtype, len(known)) if node in shared else self.near[node]
            )

    def _shared(self, order: Sequence[Node]) -> set[Node]:
        """Return the numbers of kinds whose values have many users each."""
        members = Counter(self.of.values())
        uses = Counter(self.of[x] for node in order for x in node.operands)
        many = {kind for kind, count in members.items() if uses[kind] >= MANY * count}
        return {n for n in order if self.of[n] in many and isinstance(n.op, Map) and not n.shape}

    def _key(self, node: Node, of: dict[Node, int]) -> tuple[Any, ...]:
        if isinstance(node, Literal):
            return "number", node.dtype
        if not node.shape and isinstance(node.op, Map):
            if any(x.shape for x in node.operands):
                return "itself", node
            return node.op, node.items, node.dtype, *(of[x] for x in node.operands)
        if _is_choice(node):
            branch = node.operands[0]
            return node.op, node.items, branch.items, *(of[x] for x in branch.operands)
        if node.op is SLICE:
            source, region = self.read[node] = self._part(node)
            if source not in self.steps and _is_row(node):
                part = _Part.of(region)
                if node.shape:
                    self.steps.add(node)
                return "part", source, part.axes, part.form
        if not _is_row(node) and node.shape:
            return "itself", node
        if node.op is GATHER and not any(x.shape for x in node.operands[1:]):
            if node.shape:
                self.steps.add(node)
            return node.op, node.items, node.dtype, *(of[x] for x in node.operands)
        if isinstance(node, Constant) and node.shape:
            return "constant", node.dtype, node.shape
        among = any(x in self.steps for x in node.operands) or (
            node.op is ASSEMBLE and len(node.operands) < LEAST
        )
        if node.op.kind in OF_TERMS and among:
            if node.shape:
                self.steps.add(node)
            return node.op, node.items, node.dtype, node.shape, *(of[x] for x in node.operands)
        return "itself", node

    def _part(self, node: Node) -> tuple[Node, Any]:
        [source], region = node.operands, node.params["region"]
        if source not in self.read:
            return source, region
        source, around = self.read[source]
        return source, inside(around, region)

    def groups(self, terms: Sequence[Term]) -> _Groups | None:
        """Return terms by their kinds, in the order of the graph; None if there are few of each."""
        alike, rest = self.grouped(terms, lambda t, of: (
            of[t.node], t.negative, _Part.of(t.region).axes))  # fmt: skip
        if not alike:
            return None
        for group in alike:
            group.sort(key=lambda t: (self.position[t.node], _Part.of(t.region).place))
        return _Groups(alike, rest)

    def grouped(
        self, items: Sequence[T], key: Callable[[T, dict[Node, int]], Any]
    ) -> tuple[list[list[T]], list[T]]:
        """Return items in groups of one kind, and those of which there are too few of a kind.

        Kinds are told apart by shared numbers, too, unless too many items would be left.
        """
        for of in (self.of, self.near):
            found: defaultdict[Any, list[T]] = defaultdict(list)
            for item in items:
                found[key(item, of)].append(item)
            alike = [group for group in found.values() if len(group) >= LEAST]
            rest = [x for group in found.values() if len(group) < LEAST for x in group]
            if MOST_LEFT * len(rest) <= len(items):
                break
        return alike, rest


def _is_choice(node: Node) -> bool:
    """Tell whether a number is a branch's, of which all sides are computed of numbers alone."""
    if node.shape or node.op.kind not in PROJECTIONS or node.operands[0].op.kind != "branch":
        return False
    branch = Branch.of(node.operands[0])
    inner = [x for body in branch.bodies for x in topological(body.outputs)]
    plain = all(isinstance(x.op, Map) or isinstance(x, (Input, Literal)) for x in inner)
    return plain and not branch.kept and not any(x.shape for x in (*inner, *branch.operands))


def _operands(node: Node) -> Sequence[Node]:
    """Return what a value is computed of: a branch's is of the branch's operands."""
    return node.operands[0].operands if _is_choice(node) else node.operands


def _is_row(node: Node) -> bool:
    """Tell whether an array has a few numbers, whose number is known."""
    return all(isinstance(d, int) for d in node.shape) and element_count(node) <= ROW


class _Total:
    """A value that is the sum of many."""

    def __init__(self, groups: _Groups) -> None:
        self.groups = groups

    def made(self, together: _Together) -> Node:
        """Return it, as sums of arrays."""
        values = [
            (np.sum(Traced(together.rows(group)), axis=0), group[0].negative)
            for group in self.groups.alike
        ]
        return as_node(_added([*values, *together.signed(self.groups.rest)]))


class _Adding:
    """An array to which values are added at places that are data.

    Values and places of one kind are arrays.
    """

    def __init__(self, node: Node, before: Node, added: Sequence[Addition], kinds: _Kinds) -> None:
        self.node, self.before = node, before
        self.groups, self.rest = kinds.grouped(added, lambda x, of: (
            of[x.term.node], x.term.negative, x.axes, *(of[i] for i in x.place)))  # fmt: skip

    def __bool__(self) -> bool:
        return bool(self.groups)

    def made(self, together: _Together) -> Node:
        """Return the array, with arrays added."""
        total, shape = Traced(together.changed[self.before]), self.node.shape
        for group in self.groups:
            rows = Traced(together.rows([x.term for x in group]))
            places = zip(*(x.place for x in group), strict=True)
            indices = [Traced(together.filled(lanes)) for lanes in places]
            values = SCATTER(rows, *indices, axes=group[0].axes, at=0, shape=shape)
            total = total - values if group[0].term.negative else total + values
        for x in self.rest:
            [(value, negative)] = together.signed([x.term])
            place = [Traced(together.changed[i]) for i in x.place]
            value = -value if negative else value
            total = ADD_AT(value, total, *place, axes=x.axes, at=0, shape=shape)
        return as_node(total)


class _Run(NamedTuple):
    """Parts of an assembly in a row: their region in it, which they are, and what they are."""

    region: tuple[Any, ...]
    parts: tuple[int, ...]
    lanes: Lanes


class _Ranges(NamedTuple):
    """Short arrays of one kind, written to ranges at equal distances along an axis.

    Attributes
    ----------
    axis, start, pace:
        The axis, and where the ranges begin.
    parts, lanes:
        Which they are, and what they are.
    """

    axis: int
    start: int
    pace: int
    parts: tuple[int, ...]
    lanes: Lanes

    def written(self, rows: Any, region: Any) -> Iterator[tuple[Node, Any]]:
        """Yield what is written, and where.

        Parameters
        ----------
        rows:
            The arrays, one below the other.
        region:
            That of the first.
        """
        axis, count, [*shape] = self.axis, len(self.lanes), self.lanes[0].shape
        before, behind = tuple(region[:axis]), tuple(region[axis + 1 :])
        rows = np.moveaxis(rows, 0, axis) if axis else rows
        size = shape[axis]
        if self.pace == size:
            shape[axis] = count * size
            along = (self.start, 1, count * size)
            yield as_node(RESHAPE(rows, shape=tuple(shape))), (*before, along, *behind)
            return
        for k in range(size):
            along = (self.start + k, self.pace, count)
            yield as_node(rows[(slice(None),) * (axis + 1) + (k,)]), (*before, along, *behind)


class _Writing:
    """Numbers, rows of them, or short arrays that are written to an array.

    Those of one kind in a row are an array that is written there. Where many numbers are left, the
    terms that they are sums of are arrays, which are added at their places.
    """

    def __init__(self, node: Node, kinds: _Kinds, sums: Sums) -> None:
        self.node = node
        self.over = node.op is UPDATE
        self.regions = node.params["regions"]
        self.parts = {
            k: part for k, (x, region) in enumerate(zip(node.operands, self.regions, strict=True))
            if _is_row(x) and (part := _Part.of(region)).is_row(node.shape)
        }  # fmt: skip
        self.runs: list[_Run] = []
        self.ranges: list[_Ranges] = []
        self.groups: _Groups | None = None
        #: Regions where nothing is left of what was there.
        self.cleared: set[Any] = set()
        if not self.over and not node.params["disjoint"]:
            return
        self.runs = list(self._in_rows(kinds))
        self.ranges = list(self._in_ranges(kinds))
        left = len(self.parts) - sum(len(run.parts) for run in self.runs)
        if left >= LEAST and MOST_LEFT * left > len(self.parts):
            groups = kinds.groups([t for k in self.parts for t in self._terms(k, sums)])
            if groups is not None and len(self.cleared) < LEAST:
                self.groups, self.runs = groups, []

    def __bool__(self) -> bool:
        return bool(self.runs or self.ranges or self.groups)

    def _in_rows(self, kinds: _Kinds) -> Iterator[_Run]:
        """Yield the parts that are of one kind, at equal distances along one axis."""
        groups: defaultdict[Any, list[tuple[tuple[int, ...], int]]] = defaultdict(list)
        for k, part in self.parts.items():
            x = self.node.operands[k]
            # A run comes before the axes of its rows.
            if isinstance(x.op, Map) and part.axes == tuple(range(len(part.axes))):
                groups[kinds.of[x], part.axes].append((part.place, k))
        for (_, axes), group in groups.items():
            group.sort()
            places = np.array([place for place, _ in group])
            steps = np.diff(places, axis=0)
            ends = [*(np.flatnonzero((steps[1:] != steps[:-1]).any(axis=1)) + 2), len(group)]
            begin = 0
            for end in ends:
                count = end - begin
                if count >= LEAST and np.count_nonzero(steps[begin]) == 1:
                    numbers = tuple([k for _, k in group[begin:end]])
                    lanes = tuple([self.node.operands[k] for k in numbers])
                    along = _along(places[begin], steps[begin], count)
                    rest = self.regions[numbers[0]][len(axes) :]
                    yield _Run((*along, *rest), numbers, lanes)
                    begin = end
                elif count > 1:
                    begin = end - 1

    def _in_ranges(self, kinds: _Kinds) -> Iterator[_Ranges]:
        """Yield the short arrays that are of one kind, in ranges at equal distances."""
        groups: defaultdict[Any, list[tuple[int, int]]] = defaultdict(list)
        for k, (x, region) in enumerate(zip(self.node.operands, self.regions, strict=True)):
            if x in kinds.steps and x.op.kind != "view":
                axis = _range_axis(region, self.node.shape)
                if axis is not None:
                    groups[kinds.of[x], axis].append((int(region[axis][0]), k))
        for (_, axis), group in groups.items():
            group.sort()
            for some in _in_turn(group):
                starts = np.array([start for start, _ in some])
                steps = np.diff(starts)
                ends = [*(np.flatnonzero(steps[1:] != steps[:-1]) + 2), len(some)]
                begin = 0
                for end in ends:
                    numbers = tuple([k for _, k in some[begin:end]])
                    lanes = tuple([self.node.operands[k] for k in numbers])
                    size, count = int(lanes[0].shape[axis]), end - begin
                    pace = int(steps[begin]) if count > 1 else 0
                    if count >= LEAST and (pace == size or size <= SHORT_LAST_AXIS):
                        yield _Ranges(axis, some[begin][0], pace, numbers, lanes)
                        begin = end
                    elif count > 1:
                        begin = end - 1

    def _terms(self, number: int, sums: Sums) -> list[Term]:
        """Return what is added at a place to what was there, in what is written over."""
        region = self.regions[number]
        terms = sums.terms(self.node.operands[number], region)
        if self.over:
            before = [t for t in terms if not t.negative and self._was_there(t)]
            if len(before) == 1:
                terms.remove(before[0])
            else:
                self.cleared.add(region)
        return terms

    def _was_there(self, term: Term) -> bool:
        x = term.node
        same_array = x.op is SLICE and x.operands[0] is self.node.operands[0]
        return same_array and x.params["region"] == term.region

    def made(self, together: _Together) -> Node:
        """Return the array, with arrays written or added."""
        done = together.changed
        taken = {k for run in self.runs for k in run.parts}
        taken |= {k for ranges in self.ranges for k in ranges.parts}
        if self.groups is not None:
            taken |= self.parts.keys()
        pairs = enumerate(zip(self.node.operands, self.regions, strict=True))
        parts = [(done[x], region) for k, (x, region) in pairs if k not in taken]
        parts += [(together.filled(run.lanes), run.region) for run in self.runs]
        for ranges in self.ranges:
            rows = Traced(together.filled(ranges.lanes))
            parts += ranges.written(rows, self.regions[ranges.parts[0]])
        if self.groups is None:
            return self._array(parts)
        rest: dict[Any, list[Term]] = {region: [] for region in self.cleared}
        for term in self.groups.rest:
            rest.setdefault(term.region, []).append(term)
        for region, terms in rest.items():
            values = together.signed(terms)
            if self.over and region not in self.cleared:
                before = SLICE(Traced(done[self.node.operands[0]]), region=region)
                values.insert(0, (before, False))
            parts.append((as_node(_added(values)) if values else self._zeros(region), region))
        total = [(Traced(self._array(parts)), False)] if parts else []
        return as_node(_added([*total, *(self._spread(g, together) for g in self.groups.alike)]))

    def _zeros(self, region: Any) -> Node:
        zero = Literal(0, self.node.dtype)
        sizes = tuple(size for _, _, size in region if size is not None)
        return as_node(np.broadcast_to(Traced(zero), sizes)) if sizes else zero

    def _spread(self, group: Sequence[Term], together: _Together) -> tuple[Any, bool]:
        """Return zeros with terms of one kind added at their places."""
        parts = [_Part.of(term.region) for term in group]
        places = np.array([part.place for part in parts]).T
        indices = [Traced(Constant(np.ascontiguousarray(x))) for x in places]
        rows, shape = Traced(together.rows(group)), self.node.shape
        made = SCATTER(rows, *indices, axes=parts[0].axes, at=0, shape=shape)
        return made, group[0].negative

    def _array(self, parts: Sequence[tuple[Node, Any]]) -> Node:
        """Return the array of parts, or what is written over with these."""
        nodes, regions = zip(*parts, strict=True)
        if not self.over:
            return _assembled(nodes, regions, self.node.shape)
        if len(parts) == 1:
            whole: Node = nodes[0]
            return whole
        return as_node(UPDATE(*map(Traced, nodes), shape=self.node.shape, regions=regions))


def _range_axis(region: Any, shape: Sequence[Any]) -> int | None:
    """Return the axis along which a region is a range at a known place, of others the whole."""
    axes = [k for k, (entry, n) in enumerate(zip(region, shape, strict=True)) if entry != (0, 1, n)]
    if len(axes) != 1:
        return None
    [axis] = axes
    start, step, size = region[axis]
    known = isinstance(start, int) and isinstance(size, int) and step == 1 and size > 0
    return axis if known else None


def _in_turn(group: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Return those at places at equal distances together, where several are written in turn.

    ``group`` has places, in order, and numbers.
    """
    places = np.array([place for place, _ in group])
    best, pace = 0.5, 0
    for turn in range(1, min(IN_TURN, len(group) // LEAST) + 1):
        found, counts = np.unique(places[turn:] - places[:-turn], return_counts=True)
        part = counts.max() / counts.sum()
        if part > best:
            best, pace = part, int(found[counts.argmax()])
    by_turn: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for place, number in group:
        by_turn[place % pace if pace else 0].append((place, number))
    return [*by_turn.values()]


def _added(values: Sequence[tuple[Any, bool]]) -> Any:
    """Return the sum of values, of which some are subtracted."""
    (total, negative), *rest = values
    total = -total if negative else total
    for value, negative in rest:
        total = total - value if negative else total + value
    return total


def _assembled(parts: Sequence[Node], regions: Sequence[Any], shape: Any) -> Node:
    return as_node(ASSEMBLE(*map(Traced, parts), shape=shape, regions=regions, disjoint=True))


def _along(first: Any, step: Any, count: int) -> tuple[Any, ...]:
    """Return the region of so many places, which goes along one axis."""
    return tuple(
        (int(at), int(pace), count) if pace else (int(at), 1, None)
        for at, pace in zip(first, step, strict=True)
    )


class _Together:
    """Expressions of one kind as one, of arrays with an element, or a row, for each.

    Parameters
    ----------
    changed:
        What has become of the nodes that they are computed from.
    kinds:
        Tells what is a step of a term, and what terms read.
    """

    def __init__(self, changed: dict[Node, Node], kinds: _Kinds) -> None:
        self.changed, self.kinds = changed, kinds
        self.done: dict[Lanes, Node] = {}

    def __call__(self, lanes: Lanes) -> Node:
        """Return the array of such values; of one value many times, that value."""
        waiting = [lanes]
        while waiting:
            last = waiting[-1]
            if last not in self.done:
                at(last[0].where)
                made = self._leaf(last)
                if made is None and len(groups := self._kinds_of(last)) > 1:
                    missing = [x for x in groups if len(x) >= LEAST and x not in self.done]
                    if missing:
                        waiting += missing
                        continue
                    made = self._joined(last, groups)
                if made is None and (each := self._repeated(last)) is not None:
                    if len(each) >= LEAST and each not in self.done:
                        waiting.append(each)
                        continue
                    made = self._picked(last, each)
                if made is None:
                    operands = list(zip(*map(_operands, last), strict=True))
                    missing = [x for x in operands if x not in self.done]
                    if missing:
                        waiting += missing
                        continue
                    made = self._step(last[0], operands, len(last))
                self.done[last] = made
            waiting.pop()
        return self.done[lanes]

    def _step(self, first: Node, operands: Sequence[Lanes], count: int) -> Node:
        """Return a step of all lanes, of what has become of its operands."""
        given = tuple([self.done[x] for x in operands])
        if not first.shape and isinstance(first.op, Map):
            return remade(first, given, (count,))
        # One step of stand-ins, as a batch: equal operands of the first lane may differ in others.
        own = [x if len(set(lanes)) == 1 else fresh(lanes[0], "x")
               for x, lanes in zip(given, operands, strict=True)]  # fmt: skip
        batched = {x: rows for x, rows in zip(own, given, strict=True) if x is not rows}
        if _is_choice(first):
            branch = Branch.of(first.operands[0])
            index, *rest = own
            again = replace(branch, index=index, operands=tuple(rest)).node()
            value = result(again, first.params["index"])
        else:
            value = remade(first, tuple(own))
        [(made, _)] = batch([value], batched, count)
        return made

    def rows(self, group: Sequence[Term]) -> Node:
        """Return the array of terms of one kind."""
        return self.filled(tuple([term.node for term in group]))

    def filled(self, lanes: Lanes) -> Node:
        """Return the array of values, which may be one many times."""
        made = self(lanes)
        if len(set(lanes)) > 1:
            return made
        sizes = (len(lanes), *map(as_size, made.shape))
        return as_node(np.broadcast_to(Traced(made), sizes))

    def signed(self, terms: Sequence[Term]) -> list[tuple[Any, bool]]:
        """Return terms that stay by themselves, with their signs."""
        return [(Traced(self.changed[term.node]), term.negative) for term in terms]

    def _leaf(self, lanes: Lanes) -> Node | None:
        """Return the array if it is not computed of other such arrays, else None."""
        first, different = lanes[0], len(set(lanes))
        if different == 1:
            return self.changed[first]
        if isinstance(first, Literal):
            return Constant(np.array([x.value for x in lanes], first.dtype))
        if isinstance(first, Constant):
            return Constant(np.stack([x.array for x in lanes]))
        if first.op is SLICE:
            read = [self.kinds.read[x] for x in lanes]
            source = read[0][0]
            if source not in self.kinds.steps:
                return _parts(self.changed[source], [_Part.of(region) for _, region in read])
        return None

    def _kinds_of(self, lanes: Lanes) -> list[Lanes]:
        """Return the values that lanes are, by their kinds: several for numbers that are shared."""
        found: defaultdict[int, list[Node]] = defaultdict(list)
        for x in dict.fromkeys(lanes):
            found[self.kinds.near[x]].append(x)
        return [tuple(group) for group in found.values()]

    def _joined(self, lanes: Lanes, groups: Sequence[Lanes]) -> Node:
        """Return the array of numbers of several kinds."""
        parts: list[Node] = []
        regions: list[Any] = []
        place: dict[Node, int] = {}
        for group in groups:
            begin = len(place)
            if len(group) >= LEAST:
                parts.append(self.done[group])
                regions.append(((begin, 1, len(group)),))
            else:
                parts += [self.changed[x] for x in group]
                regions += [((begin + k, 1, None),) for k in range(len(group))]
            place |= {x: begin + k for k, x in enumerate(group)}
        row = _assembled(parts, regions, (len(place),))
        return _parts(row, [_Part((0,), (place[x],), ((0, 1, None),)) for x in lanes])

    def _repeated(self, lanes: Lanes) -> Lanes | None:
        """Return the values that lanes are, if they are few: they are not computed repeatedly."""
        each = tuple(dict.fromkeys(lanes))
        return each if 2 * len(each) <= len(lanes) else None

    def _picked(self, lanes: Lanes, each: Lanes) -> Node:
        """Return the array of lanes that are a few values in turn."""
        if len(each) < LEAST:
            shape = each[0].shape
            whole = tuple((0, 1, n) for n in shape)
            regions = tuple([((k, 1, None), *whole) for k in range(len(each))])
            row = _assembled([self.changed[x] for x in each], regions, (len(each), *shape))
        else:
            row = self.done[each]
        which = dict(zip(each, range(len(each)), strict=True))
        form = ((0, 1, None), *((0, 1, n) for n in row.shape[1:]))
        return _parts(row, [_Part((0,), (which[x],), form) for x in lanes])


def _parts(source: Node, parts: Sequence[_Part]) -> Node:
    """Return parts of an array that differ by their places, as rows: a slice if it is one."""
    axes, _, form = parts[0]
    places = np.array([part.place for part in parts])
    steps = np.diff(places, axis=0)
    starts = [form[k][0] for k in axes]
    if not parts[0].picks:
        return _slices(source, axes, places, starts, form)
    if (steps == steps[0]).all() and np.count_nonzero(steps[0]) == 1:
        along = _along(places[0], steps[0], len(parts))
        region = list(form)
        for k, (first, pace, count), start in zip(axes, along, starts, strict=True):
            region[k] = (as_dim(first + start), pace, count)
        [moving] = [k for k, pace in zip(axes, steps[0], strict=True) if pace]
        before = sum(size is not None for _, _, size in region[:moving])
        found = SLICE(Traced(source), region=tuple(region))
        return as_node(np.moveaxis(found, before, 0) if before else found)
    full = [(0, 1, n) for n in source.shape]
    inner = tuple(whole if k in axes else form[k] for k, whole in enumerate(full))
    of = Traced(source) if inner == tuple(full) else SLICE(Traced(source), region=inner)
    indices = [_index(x, start) for x, start in zip(places.T, starts, strict=True)]
    return as_node(GATHER(of, *indices, axes=axes, at=0))


def _slices(source: Node, axes: Any, places: Any, starts: Any, form: Any) -> Node:
    """Return slices of one size that begin at different places, as rows."""
    steps = np.diff(places, axis=0)
    if (steps == steps[0]).all() and np.count_nonzero(steps[0]) == 1:
        [moving] = np.flatnonzero(steps[0])
        firsts = zip(axes, places[0].tolist(), starts, strict=True)
        region = [(as_dim(first + start), *form[k][1:]) for k, first, start in firsts]
        start, step, size = region[moving]
        pace, count = int(steps[0][moving]), len(places)
        if size == 1 or pace == step * size:
            region[moving] = (start, pace if size == 1 else step, count * size)
            sizes = [n for _, _, n in region]
            sizes[moving : moving + 1] = [count, size]
            rows = RESHAPE(SLICE(Traced(source), region=tuple(region)), shape=tuple(sizes))
            return as_node(np.moveaxis(rows, moving, 0) if moving else rows)
        if size <= SHORT_LAST_AXIS:
            columns = []
            for k in range(size):
                region[moving] = (as_dim(start + k * step), pace, count)
                columns.append(SLICE(Traced(source), region=tuple(region)))
            rows = np.stack(columns, axis=moving + 1)
            return as_node(np.moveaxis(rows, moving, 0) if moving else rows)
    grid = np.indices([int(form[k][2]) for k in axes])
    indices = []
    for turn, column, start, k in zip(grid, places.T, starts, axes, strict=True):
        own = column.reshape(-1, *(1,) * turn.ndim) + form[k][1] * turn
        indices.append(_index(own, start))
    return as_node(GATHER(Traced(source), *indices, axes=axes, at=0))


def _index(places: Any, start: Dimension) -> Any:
    """Return places as an index array, counted from a start that may be a size."""
    index: Any = Traced(Constant(np.ascontiguousarray(places)))
    return index if start == 0 else index + as_size(start)
