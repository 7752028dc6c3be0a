"""Points that a function singles out by ``==``, and its derivative there.

``1.0 if x == 0 else np.sin(x)/x`` is smooth, and the side that is taken at 0 says nothing of its
derivative. So where a comparison for equality holds, of a value that depends on what is
differentiated, the function is traced once more as if it did not hold. That side is mostly 0/0
there. Its quotients become power series along a line through the point,

    a(t)/b(t) = (a_m + a_(m+1)*t + ...)/(b_m + b_(m+1)*t + ...),    t = (l - r)/(l - r)',

of which l and r are the sides of the comparison: ``t`` is the distance from where they are equal,
and the coefficients are functions of all else. If the value is that of the side taken, the
function is continued by these series, and so are its derivatives, to any order up to the last
coefficient, and with respect to all arguments. Otherwise a warning names the line.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._core.base.sizes import as_size
from .._core.base.state import now
from .._core.control import CUSTOM, Branch, Loop, inlined, project, straight
from .._core.graph import (
    Body,
    Input,
    Literal,
    Node,
    rebuilt,
    remade,
    topological,
    viewed,
    warn_user,
)
from .._core.op import PROJECTIONS, Bodied, registry
from .._core.trace import (
    Examples,
    Traced,
    Tree,
    as_node,
    cast,
    flatten_traced,
    is_of_length,
    known_number,
    substitute,
)
from .._core.transforms.batch import batch
from .._core.transforms.reverse import pull_back
from .._core.transforms.series import Series
from ..errors import EqualityWarning, SymgradError, UnsupportedError
from ._custom import custom_jvp, stop_gradient

#: Derivatives are continued to this order; further ones are nan.
ORDER = 4

#: Numerator and denominator vanish to this order at most.
ZEROS = 4

#: What is smaller than the largest coefficient by this is a zero that was rounded.
ZERO = 1e-11

#: The sides continue each other if they differ by so many parts of their size.
EQUAL = 1e-9

#: So many steps of a length are looked at for what it is the length of.
_STEPS = 6

#: Newton steps to where the sides of a comparison are equal, if they are no linear functions: the
#: derivatives of the place are right to the order 2**STEPS - 1.
STEPS = 3


# ---------------------------------------------------------------- derivatives from elsewhere


@custom_jvp
def _continued(value: Any, smooth: Any) -> Any:
    """Return ``value``, with the derivative of ``smooth``."""
    return value


@_continued.defjvp
def _of_continued(primals: Any, tangents: Any) -> tuple[Any, Any]:
    return _continued(*primals), tangents[1]


def _zero(known: int) -> Callable[[Any], Any]:
    """Return a function that is 0, with so many derivatives that are 0, and then nan."""

    @custom_jvp
    def zero(t: Any) -> Any:
        return np.zeros_like(t)

    @zero.defjvp
    def slope(primals: Any, tangents: Any) -> tuple[Any, Any]:
        (t,) = primals
        return zero(t), (_zero(known - 1)(t) if known else np.nan) * tangents[0]

    return zero


def _polynomial(t: Any, terms: Sequence[Any]) -> Any:
    """Return a series at ``t``, which is 0; its derivatives beyond the last term are nan."""
    found = terms[-1]
    for term in reversed(terms[:-1]):
        found = term + t * found
    return found + _zero(len(terms) - 1)(t)


# ---------------------------------------------------------------- comparisons that hold


class Equality(NamedTuple):
    """A comparison for equality that holds in the example call, for some elements or one.

    Or of a length with 0, ``r > 0``.
    """

    node: Node
    left: Node
    right: Node
    negated: bool

    @property
    def where(self) -> Any:
        """The user's line."""
        return self.node.where


def _reached(roots: Sequence[Node]) -> list[Node]:
    """Return the nodes on which roots depend, but for what no derivative goes through."""
    reached = set(roots)
    order = topological(roots)
    for node in reversed(order):
        if node in reached and node.op.name != "StopGradient":
            reached.update(node.operands)
    return [node for node in order if node in reached]


def _comparisons(
    roots: Sequence[Node], inputs: Sequence[Input], examples: Examples
) -> Iterator[Equality]:
    """Yield the comparisons for equality of real numbers that depend on inputs."""
    ops = registry.ops
    differ, ends = ops["NotEqual"], (ops["Equal"], ops["NotEqual"])
    order = _reached(roots)
    found = [
        n for n in order
        if n in examples.compared and (n.op in ends or is_of_length(n))
        and n.operands[0].dtype.kind == "f"
    ]  # fmt: skip
    if not found:
        return
    moving: set[Node] = set(inputs)
    for node in order:
        smooth = node.dtype.kind == "f" and node.op.name != "StopGradient"
        if smooth and any(x in moving for x in node.operands):
            moving.add(node)
    for node in found:
        left, right = node.operands
        if left is right or not (left in moving or right in moving):
            continue
        if not (_rests(left) or _rests(right)):
            yield Equality(node, left, right, node.op in (differ, ops["Less"], ops["Greater"]))


def _rests(length: Node) -> bool:
    """Tell whether a value is the length of ``x - x``, which stays 0."""
    node = viewed(length)
    for _ in range(_STEPS):
        if node.op.name == "Subtract":
            return node.operands[0] is node.operands[1]
        if not node.operands or len(set(node.operands)) > 1:
            return False
        node = viewed(node.operands[0])
    return False


def _holds(equality: Equality, examples: Examples) -> bool | None:
    """Tell whether it holds for any element; None if that is not known."""
    value = examples.value(equality.node)
    if value is None:
        return None
    return bool(np.any(~value if equality.negated else value))


# ---------------------------------------------------------------- the other side


class Sides(NamedTuple):
    """A traced result at a point that the function singles out, from both sides.

    Attributes
    ----------
    leaves, tree:
        The result, with comparisons in it settled: no derivative looks at them again.
    places:
        Which leaves are different on the other side.
    others:
        These, as if the comparisons did not hold.
    smooth:
        Values that continue the other side into the point; None if there are none.
    """

    leaves: list[Any]
    tree: Tree
    places: list[int]
    others: list[Node]
    smooth: list[Node] | None

    @property
    def result(self) -> Any:
        """The side that is taken."""
        return self.tree.unflatten(self.leaves)


def continued(again: Callable[[], Any], result: Any, inputs: Sequence[Input]) -> Any:
    """Return a function's traced result with derivatives at points that it singles out by ``==``.

    Parameters
    ----------
    again:
        Traces the function once more.
    result:
        What it has returned.
    inputs:
        With respect to what it is differentiated.
    """
    result = _continued_apart(_written_out(result, inputs), inputs)
    sides = _sides(again, result, inputs)
    if sides is None:
        return result
    if sides.smooth is not None:
        for k, node in zip(sides.places, sides.smooth, strict=True):
            value = sides.leaves[k]
            value = value if isinstance(value, Traced) else Traced(as_node(float(value)))
            sides.leaves[k] = _checked(value, Traced(node))
    return sides.result


def beside_points(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function on traced values with the formulas beside points that it singles out.

    Those of the other side, where they continue the value into the point.
    """

    @functools.wraps(function)
    def of_other_side(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        given = [x.node for x in flatten_traced((args, kwargs))[0] if isinstance(x, Traced)]
        inputs = [x for x in given if isinstance(x, Input) and x.dtype.kind == "f"]
        sides = _sides(lambda: function(*args, **kwargs), result, inputs)
        if sides is None:
            return result
        if sides.smooth is not None:
            for k, node in zip(sides.places, sides.others, strict=True):
                sides.leaves[k] = Traced(node)
        return sides.result

    return of_other_side


def _sides(again: Callable[[], Any], result: Any, inputs: Sequence[Input]) -> Sides | None:
    """Look at comparisons for equality that hold; warn where the sides do not continue each other.

    None if there are none.
    """
    examples: Examples | None = now().examples
    if examples is None or not examples.compared:
        return None
    leaves, tree = flatten_traced(result)
    real = {k: node for k, x in enumerate(leaves) if (node := _real(x)) is not None}
    fresh = [c for c, settled in examples.conditions.items() if not settled] + examples.waiting
    asked = list(_comparisons(fresh, inputs, examples))
    decided = [e for e in asked if _holds(e, examples)]
    looked_at = {e.node for e in asked}
    examples.waiting = [
        c for c in fresh
        if (within := examples.compared & set(topological([c]))) and not within <= looked_at
    ]  # fmt: skip
    masks = []
    for equality in _comparisons(list(real.values()), inputs, examples):
        holds = _holds(equality, examples)
        if holds is None:
            continue
        hit = Traced(equality.node)
        examples.decide(as_node(np.any(~hit if equality.negated else hit)), bool)
        if holds:
            masks.append(equality)
    found = list(dict.fromkeys([*decided, *masks]))
    if not found or not real:
        return None
    others: Any = real
    if decided:
        others = _decided_otherwise(again, leaves, real, decided, fresh, examples)
    carried: list[tuple[Node, Node]] = []
    if others is not None and masks:
        carriers = _carriers(list(real.values()))
        unmasked = _unmasked([*others.values(), *carriers], masks)
        others = dict(zip(others, unmasked, strict=False))
        pairs = zip(carriers, unmasked[len(others) :], strict=True)
        carried = [(one, other) for one, other in pairs if one is not other]
    settled = {e.node: as_node(stop_gradient(Traced(e.node))) for e in masks}
    for k, node in zip(real, substitute(list(real.values()), settled), strict=True):
        if isinstance(leaves[k], Traced):
            leaves[k] = Traced(node, leaves[k].weak)
    if others is None:
        _warn(found)
        return Sides(leaves, tree, [], [], None)
    places = [k for k in real if others[k] is not real[k]]
    before = [*(real[k] for k in places), *(one for one, _ in carried)]
    after = [*(others[k] for k in places), *(other for _, other in carried)]
    smooth = _regular(after, found, inputs, examples)
    if smooth is not None:
        pairs = zip(before, smooth, strict=True)
        smooth = smooth[: len(places)] if all(_equal(*x, examples) for x in pairs) else None
    if smooth is None:
        _warn(found)
    return Sides(leaves, tree, places, [others[k] for k in places], smooth)


def _real(leaf: Any) -> Node | None:
    """Return a result as a node; None if it has no derivative. On one side it may be a number."""
    if isinstance(leaf, Traced):
        return leaf.node if leaf.dtype.kind == "f" else None
    number = isinstance(leaf, (float, int, np.floating)) and not isinstance(leaf, bool)
    return as_node(float(leaf)) if number else None


_NOT_LED = "the other side does not lead to the value there"


def _warn(found: Sequence[Equality], why: str = _NOT_LED) -> None:
    lines = sorted({str(e.where) for e in found})
    warn_user(
        f"a derivative is asked for at a point that is singled out by `==` at {', '.join(lines)}, "
        f"and {why}: it is the derivative of the side "
        "that is taken. Where the function is smooth, write it without the comparison, or say its "
        "derivative by sg.custom_jvp",
        EqualityWarning,
    )


def _decided_otherwise(
    again: Callable[[], Any], leaves: Sequence[Any], real: dict[int, Node],
    decided: Sequence[Equality], fresh: Sequence[Node], examples: Examples,
) -> dict[int, Node] | None:  # fmt: skip
    """Return the results as if decisions had been taken the other way; None if there are none."""
    held = {e.node for e in decided}
    try:
        with examples.against([c for c in fresh if held & set(topological([c]))]):
            new, _ = flatten_traced(again())
    except Exception:  # noqa: BLE001 - the other side cannot be computed here
        return None
    if len(new) != len(leaves):
        return None
    others = {}
    for k, node in real.items():
        other = _real(new[k])
        if not isinstance(leaves[k], Traced) and not isinstance(new[k], Traced):
            others[k] = node  # numbers on both sides
        elif other is None or other.shape != node.shape:
            return None
        else:
            others[k] = cast(other, node.dtype)
    return others


def _carriers(nodes: Sequence[Node]) -> list[Node]:
    """Return what rules of functions differentiate, which their values need not depend on."""
    rules = (n for n in _reached(nodes) if n.op is CUSTOM)
    return [x for x in dict.fromkeys(x for n in rules for x in n.operands) if x.dtype.kind == "f"]


def _unmasked(nodes: Sequence[Node], masks: Sequence[Equality]) -> list[Node]:
    """Return nodes as if comparisons did not hold for any element."""
    swap = {}
    for e in masks:
        truth = Literal(e.negated, np.dtype(bool))
        shape = Traced(e.node).shape
        swap[e.node] = as_node(np.broadcast_to(Traced(truth), shape)) if shape else truth
    others = substitute(nodes, swap)
    branches = (n.operands[0] for n in topological(others) if n.op.kind == "branch")
    numbers = {n: known_number(n) for n in branches}
    known = {n: Literal(k, n.dtype) for n, k in numbers.items() if k is not None}
    return inlined(substitute(others, known), rules=True)


def _equal(one: Node, other: Node, examples: Examples) -> bool:
    """Tell whether two nodes have the same value in the example call, but for rounding."""
    values = [examples.value(n) for n in (one, other)]
    if any(v is None for v in values):
        return False
    x, y = (np.asarray(v, float) for v in values)
    with np.errstate(all="ignore"):
        near = np.abs(x - y) <= EQUAL * np.maximum(np.abs(x), np.abs(y)) + np.finfo(float).tiny
    return bool(np.all(near | ((x == y) | (np.isnan(x) & np.isnan(y)))))


def _checked(value: Traced, smooth: Any) -> Any:
    """Return a value with the derivative of what continues it, nan where that has another value."""
    size = np.maximum(np.abs(value), np.abs(smooth)) + np.finfo(float).tiny
    near = stop_gradient(np.abs(value - smooth) <= EQUAL * size)
    return _continued(value, smooth * np.where(near, 1.0, np.nan))


# ---------------------------------------------------------------- bodies of loops and branches


def _written_out(result: Any, inputs: Sequence[Input]) -> Any:
    """Return a result with the loops and branches written out in which comparisons hold.

    Where none holds the loops carry along whether one does, which is looked at in each call.
    """
    examples: Examples | None = now().examples
    if examples is None or not examples.compared:
        return result
    leaves, tree = flatten_traced(result)
    real = {k: node for k, x in enumerate(leaves) if (node := _real(x)) is not None}
    nodes = list(real.values())
    if not any(map(_has_comparisons, _bodies(nodes))):
        return result
    found: list[Equality] = []
    writer = _Flagged(examples, found)
    flagged, hit = writer.of(nodes, set(inputs), top=True)
    if hit is None:
        return result
    value = examples.value(hit)
    apart = value is None and bool(now().batches)
    if apart:
        hit = as_node(np.any(Traced(_of_all(hit))))
        value = examples.value(hit)
    if value is None:
        return result
    examples.decide(hit, bool)
    if value:
        try:
            flagged = flagged if apart else straight(nodes, examples, writer.asking)
        except UnsupportedError:
            apart = True
        if apart:  # of any length, or another way in each example
            _warn(found, "the other side is not looked at in a loop of any length or in a batch")
    for k, node in zip(real, flagged, strict=True):
        if isinstance(leaves[k], Traced):
            leaves[k] = Traced(node, leaves[k].weak)
    return tree.unflatten(leaves)


def _bodies(nodes: Sequence[Node]) -> Iterator[Body]:
    """Yield the bodies of the loops and branches among nodes, and of those in them.

    Not of functions with a rule: derivatives do not go through their bodies.
    """
    for node in topological(nodes):
        if isinstance(node.op, Bodied) and node.op is not CUSTOM:
            parts = Loop.of(node).bodies if node.op.kind == "loop" else Branch.of(node).bodies
            for body in parts:
                yield body
                yield from _bodies(body.outputs)


def _has_comparisons(body: Body) -> bool:
    return not now().examples.compared.isdisjoint(_reached(body.outputs))


class _Flagged:
    """Loops and branches with one result more: whether a comparison for equality has held."""

    def __init__(self, examples: Examples, found: list[Equality]) -> None:
        self.examples, self.found = examples, found
        #: The loops and branches at the top in which there are comparisons.
        self.asking: set[Node] = set()

    def of(
        self, outputs: Sequence[Node], moving: set[Node], top: bool = False
    ) -> tuple[list[Node], Node | None]:
        """Return a graph that depends on ``moving``, and whether a comparison in it holds.

        None where it has no comparisons; those at the ``top`` do not count.
        """
        hits: list[Node] = []
        made: dict[Node, tuple[Node, int]] = {}
        moving, reached = set(moving), set(_reached(outputs))

        def change(node: Node, operands: tuple[Node, ...]) -> Node | None:
            moves = any(x in moving for x in node.operands)
            if node.op.kind in PROJECTIONS and node.operands[0] in made:
                base, added = made[node.operands[0]]
                k = node.params["index"]
                if moves and node.dtype.kind == "f":
                    moving.add(node)
                return project(base, k + (k >= added), node.op.kind)
            if isinstance(node.op, Bodied):
                if not moves:
                    return None
                moving.add(node)
                if node.op is CUSTOM or (top and node not in reached):
                    return None
                flags = [x in moving for x in node.operands]
                again = self.loop if node.op.kind == "loop" else self.branch
                other = again(remade(node, operands), flags)
                if other is None:
                    return None
                made[node], hit = other
                hits.append(hit)
                if top:
                    self.asking.add(node)
                return made[node][0]
            if moves and node.dtype.kind == "f" and node.op.name != "StopGradient":
                moving.add(node)
            looked_at = not top and node in reached and node in self.examples.compared
            if not (moves and looked_at and _is_of_reals(node)):
                return None
            left, right = node.operands
            equality = Equality(node, left, right, node.op.name == "NotEqual")
            self.found.append(equality)
            own = stop_gradient(Traced(remade(node, operands)))
            hits.append(as_node(np.any(~own if equality.negated else own)))
            return as_node(own)

        graph = rebuilt(outputs, change)
        if not hits:
            return graph, None
        return graph, as_node(functools.reduce(np.logical_or, map(Traced, hits)))

    def loop(self, node: Node, flags: Sequence[bool]) -> tuple[tuple[Node, int], Node] | None:
        """Return a loop with a flag as its last carry, the number of that, and the flag."""
        loop = Loop.of(node)
        count, body = loop.carries, loop.body
        moving = {x for x, moves in zip(body.inputs[1:], flags, strict=True) if moves}
        while True:
            reached = _moved(body.outputs[:count], moving)
            more = {x for x, new in zip(loop.carried, loop.news, strict=True) if new in reached}
            if more <= moving:
                break
            moving |= more
        outputs, hit = self.of(body.outputs, moving)
        if hit is None:
            return None
        flag = Input("hit", (), np.dtype(bool))
        held = as_node(np.logical_or(Traced(flag), Traced(hit)))
        inputs = body.inputs[: 1 + count], body.inputs[1 + count :]
        new = Body((*inputs[0], flag, *inputs[1]), (*outputs[:count], held, *outputs[count:]))
        cond = loop.cond
        if cond is not None:
            unused = Input("hit", (), np.dtype(bool))
            given = (*cond.inputs[:count], unused, *cond.inputs[count:])
            cond = Body(given, cond.outputs)
        inits = (*loop.inits, Literal(False, np.dtype(bool)))
        made = loop.changed(inits=inits, body=new, cond=cond).node()
        return (made, count), project(made, count, "result")

    def branch(self, node: Node, flags: Sequence[bool]) -> tuple[tuple[Node, int], Node] | None:
        """Return a branch with a flag as its last result, the number of that, and the flag."""
        branch = Branch.of(node)
        found = [
            self.of(body.outputs, {x for x, f in zip(body.inputs, flags[1:], strict=True) if f})
            for body in branch.bodies
        ]
        if all(hit is None for _, hit in found):
            return None
        count, no = len(branch.bodies[0].outputs), Literal(False, np.dtype(bool))
        bodies = tuple(
            Body(body.inputs, (*outputs, no if hit is None else hit))
            for body, (outputs, hit) in zip(branch.bodies, found, strict=True)
        )
        made = Branch(branch.index, branch.operands, bodies, branch.kept).node()
        return (made, count), project(made, count, "result")


def _moved(outputs: Sequence[Node], moving: set[Node]) -> set[Node]:
    """Return the nodes that depend on ``moving`` with a derivative."""
    found = set(moving)
    for node in topological(outputs):
        differs = node.dtype.kind == "f" or isinstance(node.op, Bodied)
        if differs and node.op.name != "StopGradient" and any(x in found for x in node.operands):
            found.add(node)
    return found


def _is_of_reals(node: Node) -> bool:
    ops = registry.ops
    if node.op not in (ops["Equal"], ops["NotEqual"]):
        return False
    left, right = node.operands
    return left is not right and left.dtype.kind == "f"


# ---------------------------------------------------------------- examples of a batch

#: In so many ways comparisons may hold in the examples of a batch.
PATTERNS = 4


def _of_all(node: Node) -> Node:
    """Return a value of one example of the batches around it for all, with an axis for each."""
    node = _closed(node)
    for replaced, size in reversed(now().batches):
        [(found, lifted)] = batch([node], replaced, size)
        if not lifted:
            value = Traced(found)
            found = as_node(np.broadcast_to(value, (as_size(size), *value.shape)))
        node = _closed(found)
    return node


def _closed(node: Node) -> Node:
    """Return a value in terms of what the stand-ins of transformations stand for."""
    for swap in reversed(now().opened or ()):
        used = {k: x for k, x in swap.items() if k is not x}
        if used:
            [node] = substitute([node], used)
    return node


def _value_of_all(node: Node, examples: Examples) -> Any:
    """Return the values of a node of one example for all, a row each; None if not known."""
    value = examples.value(_of_all(node))
    if value is None:
        return None
    return np.reshape(value, (-1, *np.shape(value)[len(now().batches) :]))


def _continued_apart(result: Any, inputs: Sequence[Input]) -> Any:
    """Return an example's traced result with derivatives where comparisons hold in some examples.

    Those in which the same comparisons hold are continued alike, as one of them shows.
    """
    examples: Examples | None = now().examples
    if examples is None or not examples.compared or not now().batches:
        return result
    leaves, tree = flatten_traced(result)
    real = {k: node for k, x in enumerate(leaves) if (node := _real(x)) is not None}
    hits: dict[Equality, Node] = {}
    rows = []
    for e in _comparisons(list(real.values()), inputs, examples):
        if examples.value(e.node) is not None:
            continue
        hit = as_node(np.any(~Traced(e.node) if e.negated else Traced(e.node)))
        row = _value_of_all(hit, examples)
        if row is None or row.ndim != 1:
            continue  # in the body of a loop
        examples.decide(as_node(np.any(Traced(_of_all(hit)))), bool)
        if row.any():
            hits[e] = hit
            rows.append(row)
    if not hits:
        return result
    held = np.stack(rows, axis=1)
    patterns = [tuple(p) for p in np.unique(held, axis=0) if p.any()]
    if len(patterns) > PATTERNS:
        _warn(list(hits))
        return result
    of_all = [Traced(_of_all(hit)) for hit in hits.values()]
    seen = functools.reduce(np.logical_or, [_pattern(of_all, p) for p in patterns])
    unseen = np.logical_and(functools.reduce(np.logical_or, of_all), np.logical_not(seen))
    examples.decide(as_node(np.any(unseen)), bool)
    settled = {e.node: as_node(stop_gradient(Traced(e.node))) for e in hits}
    nodes = dict(zip(real, substitute(list(real.values()), settled), strict=True))
    found: dict[int, Any] = {k: Traced(node) for k, node in nodes.items()}
    for pattern in patterns:
        here = stop_gradient(_pattern([Traced(hit) for hit in hits.values()], pattern))
        member = int(np.argmax((held == np.array(pattern)).all(axis=1)))
        masks = [e for e, holds in zip(hits, pattern, strict=True) if holds]
        smooth = _continued_in_member(real, masks, inputs, member, examples)
        if smooth is None:
            if not _are_nan(real.values(), member, examples):
                _warn(masks)
            continue
        for k, node in zip(smooth, substitute(list(smooth.values()), settled), strict=True):
            value = Traced(nodes[k])
            found[k] = np.where(here, _checked(value, Traced(node)), found[k])
    for k, value in found.items():
        leaf = leaves[k]
        leaves[k] = Traced(value.node, leaf.weak) if isinstance(leaf, Traced) else value
    return tree.unflatten(leaves)


def _are_nan(nodes: Iterable[Node], member: int, examples: Examples) -> bool:
    """Tell whether results are nan in an example, as where its function raises an error."""
    rows = [_value_of_all(node, examples) for node in nodes]
    return all(row is not None and np.all(np.isnan(row[member])) for row in rows)


def _pattern(hits: Sequence[Traced], pattern: Sequence[Any]) -> Any:
    """Return whether comparisons hold, and others do not, as in one of the patterns."""
    parts = [x if holds else np.logical_not(x) for x, holds in zip(hits, pattern, strict=True)]
    return functools.reduce(np.logical_and, parts)


def _continued_in_member(
    real: dict[int, Node], masks: Sequence[Equality], inputs: Sequence[Input], member: int,
    examples: Examples,
) -> dict[int, Node] | None:  # fmt: skip
    """Return what continues results where comparisons hold, by one example; None if none does."""
    used = [n for n in topological([*real.values(), *inputs]) if isinstance(n, Input)]
    values = {n: _value_of_all(n, examples) for n in used}
    if any(x is None for x in values.values()):
        return None
    own = examples.of_member({n: x[member] for n, x in values.items()})
    others = dict(zip(real, _unmasked(list(real.values()), masks), strict=True))
    places = [k for k in real if others[k] is not real[k]]
    smooth = _regular([others[k] for k in places], masks, inputs, own)
    if smooth is None:
        return None
    found = dict(zip(places, smooth, strict=True))
    return found if all(_equal(real[k], x, own) for k, x in found.items()) else None


# ---------------------------------------------------------------- quotients 0/0


class Line(NamedTuple):
    """A line through the point: a node, its direction, and the distance from where sides are equal.

    The distance is 0, and has the derivatives that it has.
    """

    node: Node
    direction: Node
    distance: Node
    foot: Node


def _regular(
    nodes: Sequence[Node], equalities: Sequence[Equality], inputs: Sequence[Input],
    examples: Examples,
) -> list[Node] | None:  # fmt: skip
    """Return nodes with series in the place of quotients 0/0; None where they have none."""
    lines = [line for e in equalities for line in _lines(e, inputs, examples)]
    nodes = list(nodes)
    known: dict[Line, dict[Input, list[Node]]] = {line: {} for line in lines}
    stand_ins: dict[Node, Node] = {}
    divide = registry.ops["Divide"]
    while True:
        bad = _first_singular(nodes, examples)
        if bad is None:
            closed = nodes
            for stand_in, value in reversed(stand_ins.items()):
                closed = substitute(closed, {stand_in: value})
            return list(closed)
        if bad.op is not divide:
            return None
        # Where two numbers are singled out together, what vanishes may do so by both: by the
        # denominator as a whole.
        for line in (*lines, _by_itself(bad.operands[1])):
            terms = _quotient(bad, line, known.setdefault(line, {}), examples)
            if terms is not None:
                break
        else:
            return None
        stand_in = Input("q", bad.shape, bad.dtype)
        examples.values[stand_in] = _filled(bad, terms[0], examples)
        feet = substitute(terms[: ORDER + 1], {line.node: line.foot})
        whole = _polynomial(Traced(line.distance), [*map(Traced, feet)])
        if bad.shape:
            zero = stop_gradient(np.equal(Traced(bad.operands[1]), 0.0))
            whole = np.where(zero, whole, Traced(bad))
        known[line][stand_in] = terms
        stand_ins[stand_in] = as_node(whole)
        nodes = substitute(nodes, {bad: stand_in})


def _filled(bad: Node, first: Node, examples: Examples) -> Any:
    value, limit = examples.value(bad), examples.value(first)
    zero = np.asarray(examples.value(bad.operands[1])) == 0
    return np.asarray(np.where(zero, limit, value), bad.dtype)[()]


def _taken(nodes: Sequence[Node], examples: Examples) -> list[Node]:
    """Return what the example call's values depend on: no sides that ``where`` leaves out."""
    choice = registry.ops["Where"]
    taken = set(nodes)
    order = topological(nodes)
    for node in reversed(order):
        if node not in taken:
            continue
        operands = node.operands
        if node.op is choice and (mask := examples.value(operands[0])) is not None:
            sides = np.any(mask), not np.all(mask)
            operands = (operands[0], *(x for x, t in zip(operands[1:], sides, strict=True) if t))
        taken.update(operands)
    return [node for node in order if node in taken]


def _first_singular(nodes: Sequence[Node], examples: Examples) -> Node | None:
    """Return the first node whose value is not finite though those of its operands are."""
    for node in _taken(nodes, examples):
        if node.dtype.kind != "f" or node.op.kind == "leaf":
            continue
        value = examples.value(node)
        if isinstance(value, np.ndarray | np.floating | float) and not np.all(np.isfinite(value)):
            return node
    return None


def _quotient(
    node: Node, line: Line, known: dict[Input, list[Node]], examples: Examples
) -> list[Node] | None:
    """Return the series of a quotient 0/0 along a line; None if it has none."""
    if line.distance.shape and not _elementwise(node.operands, line.node):
        return None
    order = min([ORDER + ZEROS, *(len(terms) - 1 for terms in known.values())])
    try:
        above, below = _series(node.operands, line, known, order)
        zero = np.asarray(examples.value(node.operands[1])) == 0
        sizes = [[_size(x, examples, zero) for x in terms] for terms in (above, below)]
        if any(x is None for terms in sizes for x in terms):
            return None
        numbers = np.asarray(sizes, float)
        if not np.all(np.isfinite(numbers)):
            return None
        large = numbers > ZERO * np.max(numbers, axis=1, keepdims=True)
        if not large[1].any():
            return None
        first = int(np.argmax(large[1]))
        if first == 0 or first > ZEROS or large[0][:first].any():
            return None
        vanishing = [as_node(x) for terms in (above, below) for x in terms[:first]]
        if not isinstance(line.node, Input):
            if not _only_by(line.node, vanishing):
                return None
        else:
            limits = {quotient: terms[0] for quotient, terms in known.items()}
            vanishing = substitute(substitute(vanishing, limits), {line.node: line.foot})
            if _moves(vanishing, zero, examples):
                return None
        lead = below[first]
        found: list[Any] = []
        for k in range(order - first + 1):
            rest = above[k + first]
            for i in range(1, k + 1):
                rest = rest - below[first + i] * found[k - i]
            found.append(rest / lead)
        nodes = [as_node(x, node.dtype) for x in found]
        values = [examples.value(x) for x in nodes[: ORDER + 1]]
        fine = all(np.all(np.isfinite(np.asarray(v)) | ~zero) for v in values)
        return nodes if fine and len(nodes) > 1 else None
    except SymgradError:
        return None


def _elementwise(nodes: Sequence[Node], line: Node) -> bool:
    """Tell whether each element of nodes depends on the one of ``line`` in its place alone."""
    moving = {line}
    for node in topological(nodes):
        if node not in moving and any(x in moving for x in node.operands):
            moving.add(node)
            if node.op.kind != "map" or node.shape != line.shape:
                return False
    return True


def _only_by(line: Node, vanishing: Sequence[Node]) -> bool:
    """Tell whether what vanishes does so wherever a node has its value, by no other input."""
    fixed = substitute(vanishing, {line: as_node(np.zeros_like(Traced(line)))})
    return not any(isinstance(n, Input) for n in topological(fixed))


def _moves(vanishing: Sequence[Node], zero: Any, examples: Examples) -> bool:
    """Tell whether what vanishes on a line's foot has a derivative there, by any input.

    It then vanishes at this point of the foot alone: ``sin(a + b)/(a + b)`` at a = 0 and b = 0.
    """
    inputs = [x for x in topological(vanishing) if isinstance(x, Input) and x.dtype.kind == "f"]
    for node in vanishing:
        ct = as_node(np.where(np.broadcast_to(zero, Traced(node).shape), 1.0, 0.0), node.dtype)
        for x, slope in zip(inputs, pull_back([node], [ct], inputs), strict=True):
            value, given = (None if n is None else examples.value(n) for n in (slope, x))
            size, scale = (
                0.0 if v is None else float(np.max(np.abs(v), initial=0.0)) for v in (value, given)
            )
            if not size * max(1.0, scale) <= np.sqrt(ZERO):
                return True
    return False


def _by_itself(node: Node) -> Line:
    """Return the line of a number that is its own distance from where it is 0."""
    t = Traced(node)
    return Line(node, as_node(np.ones_like(t)), node, as_node(np.zeros_like(t)))


def _size(term: Any, examples: Examples, where: Any = True) -> float | None:
    """Return the largest element of a term in the example call, of those ``where`` is true."""
    value = examples.value(term.node) if isinstance(term, Traced) else term
    if value is None:
        return None
    size, where = np.broadcast_arrays(np.abs(value), where)
    return float(np.max(size[where], initial=0.0))


def _series(
    nodes: Sequence[Node], line: Line, known: dict[Input, list[Node]], order: int
) -> list[list[Any]]:
    """Return the coefficients of nodes along a line."""
    inputs = [line.node, *known]
    carried = Series(nodes, inputs, order)
    found: list[list[Any]] = [[Traced(n)] for n in nodes]
    for k in range(1, order + 1):
        given = [line.direction if k == 1 else None, *(terms[k] for terms in known.values())]
        for terms, x in zip(found, carried.extend(given), strict=True):
            terms.append(0.0 if x is None else Traced(x))
    return found


def _lines(equality: Equality, inputs: Sequence[Input], examples: Examples) -> list[Line]:
    """Return lines along which the two sides of a comparison are equal at one point."""
    found = []
    left, right = Traced(equality.left), Traced(equality.right)
    apart = as_node(np.subtract(left, right))
    one = Literal(1, np.dtype(float))
    if not apart.shape:
        for node, direction in _steepest(apart, inputs, examples):
            line = _line(apart, node, direction, examples)
            if line is not None:
                found.append(line)
    else:
        for node in inputs:
            if node.shape == apart.shape:
                ones = as_node(np.broadcast_to(Traced(one), Traced(node).shape))
                line = _line(apart, node, ones, examples)
                if line is not None:
                    found.append(line)
    for side, other in ((equality.left, right), (equality.right, left)):
        if side.op.kind != "leaf" and side.dtype.kind == "f":
            t = np.subtract(Traced(side), other)
            along: Any = np.broadcast_to(Traced(one), t.shape) if side.shape else Traced(one)
            if as_node(t).shape == side.shape:
                foot = as_node(np.subtract(Traced(side), t), side.dtype)
                found.append(Line(side, as_node(along, side.dtype), as_node(t), foot))
    # Where the function itself computes the difference of the sides, that is the distance.
    for t in (apart, as_node(np.subtract(right, left))):
        if t.op.kind != "leaf":
            ones = as_node(np.ones_like(Traced(t)))
            found.append(Line(t, ones, t, as_node(np.zeros_like(Traced(t)))))
    return found


def _steepest(
    apart: Node, inputs: Sequence[Input], examples: Examples
) -> Iterator[tuple[Input, Node]]:
    """Yield inputs with the direction of the element by which a number changes most."""
    slopes = pull_back([apart], [Literal(1, apart.dtype)], inputs)
    order = []
    for node, slope in zip(inputs, slopes, strict=True):
        value = None if slope is None else examples.value(slope)
        if value is not None and np.all(np.isfinite(value)) and np.any(value):
            size = np.abs(np.asarray(value))
            order.append((float(np.max(size)), node, int(np.argmax(size))))
    for _, node, place in sorted(order, key=lambda x: -x[0]):
        shape = np.shape(examples.value(node))
        if not shape:
            yield node, Literal(1, node.dtype)
            continue
        flat = np.arange(Traced(node).size) == place
        yield node, as_node(np.reshape(np.where(flat, 1.0, 0.0), Traced(node).shape), node.dtype)


def _line(apart: Node, node: Node, direction: Node, examples: Examples) -> Line | None:
    """Return the line through a node's value, with the place on it where ``apart`` is 0."""
    try:
        probe = Line(node, direction, direction, node)
        [terms] = _series([apart], probe, {}, 3)
    except SymgradError:
        return None
    sizes = [_size(x, examples) for x in terms]
    if direction.shape == apart.shape and apart.shape and not _elementwise([apart], node):
        return None
    if None in sizes or not sizes[1] or not np.all(np.isfinite(np.asarray(sizes, float))):
        return None
    steps = 1 if not any(sizes[2:]) else STEPS
    foot, total = node, np.zeros_like(Traced(apart))
    for _ in range(steps):
        at = substitute([apart, as_node(terms[1])], {node: foot})
        t = np.divide(Traced(at[0]), Traced(at[1]))
        total = total + t
        foot = as_node(np.subtract(Traced(foot), np.multiply(Traced(direction), t)), node.dtype)
    return Line(node, direction, as_node(total), foot)
