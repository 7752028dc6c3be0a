"""Tidying loops and branches once all derivatives are taken.

Derivative rules make new loops beside the old ones: the loop that also carries tangents, or
that also writes tapes. Here one loop that does what another does, and more, takes its place;
results that nobody uses are dropped, with the carries and operands that only they need; and
branches whose number is known disappear.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..base.state import within
from ..base.switches import is_on
from ..graph import Body, Literal, Node, apply, rebuilt, remade, topological
from ..op import PROJECTIONS, Bodied
from ..rewrite import rewrite
from ..trace import substitute
from ._custom_rules import CUSTOM
from ._fields import Branch, Loop, pick, project


def tidy(outputs: Sequence[Node]) -> list[Node]:
    """Return ``outputs`` without superfluous loops, results and branches."""
    found = list(outputs)
    if not is_on("tidy") or not any(
        isinstance(kind.op, Bodied) for kind in {type(n) for n in topological(found)}
    ):
        return found
    found = rewrite(inlined(found))
    return prune(merge(found))


# ---------------------------------------------------------------- branches


def inlined(outputs: Sequence[Node], rules: bool = False) -> list[Node]:
    """Put the body of a branch whose number is known in the place of its results.

    ``rules``: whether functions with a derivative rule of the user's stay, since derivatives are
    still to be taken.
    """
    chosen: dict[Node, list[Node]] = {}

    def change(node: Node, operands: tuple[Node, ...]) -> Node | None:
        if node.op.kind in PROJECTIONS and node.operands[0] in chosen:
            result: Node = chosen[node.operands[0]][node.params["index"]]
            return result
        if rules and node.op is CUSTOM:
            return None
        if node.op.kind == "branch" and not node.params.get("kept", False):
            index = operands[0]
            if isinstance(index, Literal):
                body = node.params["bodies"][int(index.value)]
                swap = dict(zip(body.inputs, operands[1:], strict=True))
                chosen[node] = inlined(substitute(body.outputs, swap), rules)
        return None

    return rebuilt(outputs, change)


# ---------------------------------------------------------------- one loop for two


def merge(outputs: Sequence[Node]) -> list[Node]:
    """Let a loop that does what another one does, and more, take its place."""
    found = list(outputs)
    while larger := _larger(found):
        made = _replaced(found, larger)
        if made is None:  # one at a time, then
            first = next(iter(larger))
            made = _replaced(found, {first: larger[first]})
            assert made is not None
        found = made
    return found


#: For a loop another one, and for each of its results the number that it has there.
Larger = Mapping[Node, tuple[Node, list[int]]]


def _larger(outputs: Sequence[Node]) -> Larger:
    """Return for loops of a graph one that does the same, and more."""
    loops = [node for node in topological(outputs) if node.op.kind == "loop"]
    # Loops made from one another share the inputs of their bodies; what one is given, so is the
    # other.
    given: dict[tuple[Node, Node], list[Node]] = {}
    for node in loops:
        for pair in zip(Loop.of(node).body.inputs[1:], node.operands, strict=True):
            given.setdefault(pair, []).append(node)
    found = {}
    for small in loops:
        for large in given[Loop.of(small).body.inputs[1], small.operands[0]]:
            if small is large or large in found:
                continue
            places = contained(Loop.of(small), Loop.of(large))
            if places is not None and small not in set(topological([large])):
                found[small] = large, places
                break
    return found


def _replaced(outputs: Sequence[Node], larger: Larger) -> list[Node] | None:
    """Return ``outputs`` with the results of larger loops; None if these would need each other."""
    done: dict[Node, Node] = {}
    begun: set[Node] = set()
    stack = list(outputs)
    while stack:
        node = stack[-1]
        if node in done:
            stack.pop()
            continue
        one = larger.get(node.operands[0]) if node.op.kind in PROJECTIONS else None
        missing = [x for x in (node.operands if one is None else one[:1]) if x not in done]
        if missing:
            if not begun.isdisjoint(missing):
                return None
            begun.add(node)
            stack += reversed(missing)
            continue
        with within(where=node.where):
            if one is None:
                done[node] = remade(node, tuple([done[x] for x in node.operands]))
            else:
                large, places = one
                done[node] = project(done[large], places[node.params["index"]], node.op.kind)
    return [done[x] for x in outputs]


def contained(small: Loop, large: Loop) -> list[int] | None:
    """Return for each result of ``small`` the number it has in ``large``, or None."""
    if (small.length, small.reverse) != (large.length, large.reverse):
        return None
    given = dict(zip(large.body.inputs[1:], (*large.inits, *large.xs, *large.consts), strict=True))
    own = (*small.inits, *small.xs, *small.consts)
    for x, operand in zip(small.body.inputs[1:], own, strict=True):
        if given.get(x) is not operand:
            return None
    if not _same_condition(small, large):
        return None
    places = []
    where = {x: k for k, x in enumerate(large.carried)}
    for x, new in zip(small.carried, small.news, strict=True):
        k = where.get(x)
        if k is None or large.news[k] is not new:
            return None
        places.append(k)
    for y in small.ys:
        if y not in large.ys:
            return None
        places.append(large.carries + large.ys.index(y))
    return places


def _same_condition(small: Loop, large: Loop) -> bool:
    if small.cond is None or large.cond is None:
        return small.cond is large.cond
    a, b = small.cond, large.cond
    swap = dict(zip(a.inputs, (*small.carried, *small.shared), strict=True))
    other = dict(zip(b.inputs, (*large.carried, *large.shared), strict=True))
    return substitute(a.outputs, swap) == substitute(b.outputs, other)


# ---------------------------------------------------------------- what nobody uses


def prune(outputs: Sequence[Node]) -> list[Node]:
    """Drop the results of loops and branches that no output needs, in their bodies too."""
    order = topological(outputs)
    needed = set(outputs)
    used: dict[Node, set[int]] = {}
    plans: dict[Node, _Kept] = {}
    for node in reversed(order):
        if node.op.kind in PROJECTIONS and node in needed:
            used.setdefault(node.operands[0], set()).add(node.params["index"])
            needed.add(node.operands[0])
        elif isinstance(node.op, Bodied) and node in needed:
            make = _kept_loop if node.op.kind == "loop" else _kept_branch
            plans[node] = make(node, used.get(node, set()))
            needed.update(pick(node.operands, plans[node].operands))
        elif node in needed:
            needed.update(node.operands)
    done: dict[Node, Node] = {}
    tidied: Tidied = {}
    for node in order:
        if node in needed:
            with within(where=node.where):
                done[node] = _rebuilt(node, plans, done, tidied)
    return [done[x] for x in outputs]


#: The bodies that have been tidied, by body, flags of its inputs, and places of its results.
Tidied = dict[tuple[Body, tuple[bool, ...], tuple[int, ...]], Body]


def _rebuilt(
    node: Node, plans: Mapping[Node, _Kept], done: Mapping[Node, Node], tidied: Tidied
) -> Node:
    """Return a node of what is kept, from operands of which the same is true."""
    if node in plans:
        return plans[node].rebuilt(
            node, [done[x] for x in pick(node.operands, plans[node].operands)], tidied
        )
    if node.op.kind in PROJECTIONS:
        [source] = node.operands
        return project(done[source], plans[source].places[node.params["index"]], node.op.kind)
    return remade(node, tuple([done[x] for x in node.operands]))


class _Kept:
    """What is kept of a loop or a branch: flags of its operands, places of its results."""

    def __init__(self, operands: Sequence[bool], results: Sequence[int]) -> None:
        self.operands = list(operands)
        self.results = list(results)
        self.places = {k: place for place, k in enumerate(self.results)}

    def rebuilt(self, node: Node, operands: Sequence[Node], tidied: Tidied) -> Node:
        if node.op.kind == "loop":
            return self._loop(Loop.of(node), list(operands), tidied)
        items = tuple((k, self._bodies(v, tidied) if k == "bodies" else v) for k, v in node.items)
        return apply(node.op, tuple(operands), items, node.shape, node.dtype)

    def _bodies(self, old: Iterable[Body], tidied: Tidied) -> tuple[Body, ...]:
        return tuple(_tidied(b, self.operands[1:], self.results, tidied) for b in old)

    def _loop(self, loop: Loop, operands: list[Node], tidied: Tidied) -> Node:
        carries = sum(self.operands[: loop.carries])
        elements = sum(self.operands[loop.carries : loop.carries + len(loop.xs)])
        cond = loop.cond
        if cond is not None:
            flags = [*self.operands[: loop.carries], *self.operands[loop.carries + len(loop.xs) :]]
            cond = _tidied(cond, flags, range(len(cond.outputs)), tidied)
        return loop.changed(
            inits=tuple(operands[:carries]),
            xs=tuple(operands[carries : carries + elements]),
            consts=tuple(operands[carries + elements :]),
            body=_tidied(loop.body, [True, *self.operands], self.results, tidied),
            cond=cond,
        ).node()


def _tidied(body: Body, operands: Sequence[bool], results: Sequence[int], known: Tidied) -> Body:
    """Return what is kept of a body; equal ones have one."""
    key = body, tuple(operands), tuple(results)
    if key not in known:
        outputs = tidy([body.outputs[k] for k in results])
        known[key] = Body(pick(body.inputs, operands), outputs)
    return known[key]


def _reached(outputs: Iterable[Node]) -> set[Node]:
    return set(topological(list(outputs)))


def _kept_loop(node: Node, used: set[int]) -> _Kept:
    loop = Loop.of(node)
    live = {k for k in used if k < loop.carries}
    ys = sorted(k for k in used if k >= loop.carries)
    conditional = []
    if loop.cond is not None:
        reached = _reached(loop.cond.outputs)
        conditional = [x in reached for x in loop.cond.inputs]
        live |= {k for k in range(loop.carries) if conditional[k]}
    while True:
        reached = _reached(loop.body.outputs[k] for k in (*sorted(live), *ys))
        grown = live | {k for k, x in enumerate(loop.carried) if x in reached}
        if grown == live:
            break
        live = grown
    flags = [k in live for k in range(loop.carries)]
    flags += [x in reached for x in (*loop.slices, *loop.shared)]
    first = loop.carries + len(loop.xs)
    for k, flag in enumerate(conditional[loop.carries :]):
        flags[first + k] |= flag
    if loop.length is None and loop.cond is None:
        tapes = [k for k, x in enumerate(node.operands) if x.op.kind == "tape"]
        if not any(flags[k] for k in tapes):
            flags[tapes[0]] = True
    if not any(flags):
        flags[-1] = True
        if len(flags) <= loop.carries:
            live.add(len(flags) - 1)
    return _Kept(flags, [*sorted(live), *ys])


def _kept_branch(node: Node, used: set[int]) -> _Kept:
    branch = Branch.of(node)
    kept = sorted(used)
    flags = [False] * len(branch.operands)
    for body in branch.bodies:
        reached = _reached(body.outputs[k] for k in kept)
        flags = [f or x in reached for f, x in zip(flags, body.inputs, strict=True)]
    return _Kept([True, *flags], kept)
