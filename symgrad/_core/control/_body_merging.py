"""Loops that are equal but for numbers: one body for all, which is given the numbers.

A solver that a function calls for each dose or each strike is as many loops, and their bodies
differ in numbers alone, such as the ends of an interval. What later stages make of a body, its
derivative and its machine code, they then make once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from ..base.state import now
from ..base.switches import is_on
from ..graph import (
    Body,
    Input,
    Literal,
    Node,
    apply,
    bodies,
    rebuilt,
    remade,
    topological,
    value_text,
)
from ..op import Code, Instr
from ._fields import Branch, Loop


def with_one_body(outputs: Sequence[Node]) -> list[Node]:
    """Return ``outputs`` with one body for loops whose bodies differ in numbers alone."""
    found = list(outputs)
    loops = [node for node in topological(found) if node.op.kind == "loop"]
    if len(loops) < 2 or now().promised or not is_on("one body"):
        return found
    forms = _Forms()
    groups: dict[object, list[Node]] = {}
    for node in loops:
        kinds = tuple((x.shape, x.dtype, x.op.kind == "tape") for x in node.operands)
        groups.setdefault((kinds, forms.of(node)[0]), []).append(node)
    instead: dict[Node, tuple[Loop, list[Literal]]] = {}
    for group in groups.values():
        if len({body for node in group for body in map(id, bodies(node))}) > len(bodies(group[0])):
            instead |= _alike(group, [forms.of(node)[1] for node in group])

    def change(node: Node, operands: tuple[Node, ...]) -> Node | None:
        if node not in instead:
            return None
        one, numbers = instead[node]
        own = Loop.of(remade(node, operands))
        consts = (*own.consts, *numbers)
        return own.changed(consts=consts, body=one.body, cond=one.cond).node()

    return rebuilt(found, change)


def _alike(
    group: Sequence[Node], numbers: Sequence[Sequence[Literal]]
) -> dict[Node, tuple[Loop, list[Literal]]]:
    """Return for each of some loops the loop whose bodies it takes, and what these are given."""
    columns = list(zip(*numbers, strict=True))
    given = [c for c in dict.fromkeys(columns) if len(set(c)) > 1]
    which = {k: given.index(c) for k, c in enumerate(columns) if len(set(c)) > 1}
    one = Loop.of(group[0])
    if given:
        one = _with_inputs(one, count(), which, [c[0] for c in given])
    return {node: (one, [c[k] for c in given]) for k, node in enumerate(group)}


# ---------------------------------------------------------------- what is equal but for numbers


def _takes_numbers(node: Node) -> bool:
    """Tell whether a step may as well be given a number in the place of one that is written in it.

    It may if it is one instruction or hands values on, and not where the number says how it is
    computed, as an exponent does.
    """
    op = node.op
    if op.kind == "map":
        return isinstance(Code.of(op).lower, Instr) or op.taken is not None
    return op.kind in ("loop", "branch")


def _is_number(user: Node, x: Node) -> bool:
    return isinstance(x, Literal) and x.dtype.kind == "f" and _takes_numbers(user)


class _Forms:
    """What bodies look like but for numbers, and the numbers, one for each use."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[str, list[Literal]]] = {}

    def of(self, node: Node) -> tuple[str, list[Literal]]:
        """Return the form of a step's parameters, and the numbers in its bodies.

        A rule of the user's is of this one step.
        """
        if "rule" in node.params:
            return str(node.items), []
        texts: list[str] = []
        numbers: list[Literal] = []
        for name, value in node.items:
            parts = value if isinstance(value, tuple) else (value,)
            if parts and all(isinstance(part, Body) for part in parts):
                for part in parts:
                    text, own = self._body(part)
                    texts.append(text)
                    numbers += own
            else:
                texts.append(f"{name}={value}")
        return ";".join(texts), numbers

    def _body(self, body: Body) -> tuple[str, list[Literal]]:
        known = self._known.get(id(body))
        if known is None:
            known = self._known[id(body)] = self._read(body)
        return known

    def _read(self, body: Body) -> tuple[str, list[Literal]]:
        places = {x: k for k, x in enumerate(body.inputs)}
        lines = [f"{x.shape}{x.dtype.str}" for x in body.inputs]
        numbers: list[Literal] = []

        def place(x: Node) -> str:
            return f"={x.dtype.str}{value_text(x)}" if isinstance(x, Literal) else str(places[x])

        def operand(user: Node, x: Node) -> str:
            if not _is_number(user, x):
                return place(x)
            numbers.append(x)
            return str(x.dtype.str)

        for node in topological(body.outputs):
            if node in places or isinstance(node, Literal):
                continue
            operands = ",".join([operand(node, x) for x in node.operands])
            text, own = self.of(node)
            numbers += own
            lines.append(
                f"{node.op.name}({operands}){text}{node.shape}{node.dtype.str}{value_text(node)}"
            )
            places[node] = len(places)
        lines += map(place, body.outputs)
        return "\n".join(lines), numbers


# ---------------------------------------------------------------- numbers as inputs


def _with_inputs(
    loop: Loop, uses: Iterator[int], which: dict[int, int], like: Sequence[Node]
) -> Loop:
    """Return a loop whose bodies have inputs for numbers; its operands are the caller's affair.

    Parameters
    ----------
    loop:
        The loop.
    uses:
        Numbers the uses of numbers, in the order of :class:`_Forms`.
    which:
        Which input stands in the place of a use.
    like:
        For each input a node of its kind.
    """
    body = _given(loop.body, uses, which, like)
    return loop.changed(body=body, cond=loop.cond and _given(loop.cond, uses, which, like))


def _given(body: Body, uses: Iterator[int], which: dict[int, int], like: Sequence[Node]) -> Body:
    """Return a body with further inputs, which stand in the place of numbers."""
    inputs = [Input(f"n{k}", x.shape, x.dtype) for k, x in enumerate(like)]
    done: dict[Node, Node] = {x: x for x in body.inputs}

    def operand(user: Node, x: Node) -> Node:
        if _is_number(user, x):
            k = next(uses)
            return inputs[which[k]] if k in which else x
        return x if isinstance(x, Literal) else done[x]

    for node in topological(body.outputs):
        if node not in done and not isinstance(node, Literal):
            made = remade(node, tuple([operand(node, x) for x in node.operands]))
            inner = bodies(node) and "rule" not in node.params
            done[node] = _further(made, inputs, uses, which) if inner else made
    outputs = [x if isinstance(x, Literal) else done[x] for x in body.outputs]
    return Body((*body.inputs, *inputs), outputs)


def _further(
    node: Node, inputs: Sequence[Node], uses: Iterator[int], which: dict[int, int]
) -> Node:
    """Return a loop or a branch that hands ``inputs`` on to its bodies."""
    if node.op.kind == "loop":
        loop = Loop.of(node)
        consts = (*loop.consts, *inputs)
        return _with_inputs(loop, uses, which, inputs).changed(consts=consts).node()
    made = tuple(_given(body, uses, which, inputs) for body in Branch.of(node).bodies)
    items = tuple((k, made if k == "bodies" else v) for k, v in node.items)
    return apply(node.op, (*node.operands, *inputs), items, node.shape, node.dtype)
