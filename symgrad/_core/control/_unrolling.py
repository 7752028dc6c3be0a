"""Loops and branches written out, for formulas: as the example call goes through them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ..graph import Node, rebuilt, topological
from ..op import PROJECTIONS, Bodied
from ..trace import Examples, Traced, as_node, substitute
from ._custom_rules import CUSTOM
from ._fields import Branch, Loop

#: Most nodes that loops are written out to.
LARGEST = 20_000


def straight(
    outputs: Sequence[Node], examples: Examples, only: Collection[Node] | None = None
) -> list[Node]:
    """Return ``outputs`` without loops and branches.

    Parameters
    ----------
    outputs:
        The nodes of a traced function, before any derivative.
    examples:
        The values by which conditions are decided, which it then notes.
    only:
        Which loops and branches are written out, with all those in them; None for all. If it is
        given, derivatives are still to be taken: functions with a rule of the user's stay, and of
        branches on comparisons for equality both sides are written out.

    Raises
    ------
    UnsupportedError
        If a loop is too long, or a condition depends on more than the example call.
    """
    if not any(isinstance(n.op, Bodied) for n in topological(outputs)):
        return list(outputs)
    return _Writer(examples, rules=only is not None).written(outputs, only)


def without_counted_loops(outputs: Sequence[Node]) -> list[Node]:
    """Return ``outputs`` without the loops of a known number of steps, if these are few enough.

    Loops in which something is decided stay.
    """
    few = [n for n in topological(outputs) if n.op.kind == "loop" and _steps(n) <= LARGEST]
    if not few:
        return list(outputs)
    nothing_decided = Examples([], lambda parameter, sizes: parameter)
    return _Writer(nothing_decided, rules=True).written(outputs, few)


def _steps(node: Node) -> float:
    """Return how many nodes a loop is, written out; infinite where a value decides."""
    loop = Loop.of(node)
    if loop.cond is not None or not isinstance(loop.length, int):
        return math.inf
    total = 0.0
    for n in topological(loop.body.outputs):
        bodied = isinstance(n.op, Bodied) and n.op is not CUSTOM
        total += (_steps(n) if n.op.kind == "loop" else math.inf) if bodied else 1.0
    return loop.length * total


class _Writer:
    def __init__(self, examples: Examples, rules: bool) -> None:
        self.examples, self.rules, self.count = examples, rules, 0

    def written(self, outputs: Sequence[Node], only: Collection[Node] | None = None) -> list[Node]:
        results: dict[Node, list[Any]] = {}

        def change(node: Node, operands: tuple[Node, ...]) -> Any:
            if node.op.kind in PROJECTIONS and node.operands[0] in results:
                return results[node.operands[0]][node.params["index"]]
            if not isinstance(node.op, Bodied) or (self.rules and node.op is CUSTOM):
                return None
            stacked = any(isinstance(x, list) for x in operands)  # rows of one written out
            if only is not None and node not in only and not stacked:
                return None
            write = self.loop if node.op.kind == "loop" else self.branch
            results[node] = write(node, operands)
            return node

        return rebuilt(outputs, change)

    def inlined(
        self, inputs: Sequence[Node], outputs: Sequence[Node], values: Sequence[Node]
    ) -> list[Node]:
        body = topological(outputs)
        self.more(len(body))
        found = substitute(outputs, dict(zip(inputs, values, strict=True)))
        # What has been written out before is not walked again.
        return self.written(found) if any(isinstance(n.op, Bodied) for n in body) else found

    def more(self, steps: int) -> None:
        """Count steps that are written out, and refuse too many."""
        self.count += steps
        if self.count > LARGEST:
            raise UnsupportedError(
                f"the loops are too long to be written out as formulas (more than {LARGEST} "
                "operations): take fewer steps"
            )

    def branch(self, node: Node, operands: Sequence[Node]) -> list[Node]:
        branch = Branch(operands[0], tuple(operands[1:]), node.params["bodies"])
        if self.rules and not self.examples.compared.isdisjoint(topological([branch.index])):
            return self.both(branch)
        chosen = branch.bodies[int(self.decided(branch.index, node))]
        return self.inlined(chosen.inputs, chosen.outputs, branch.operands)

    def both(self, branch: Branch) -> list[Node]:
        """Return the results of a branch on a comparison for equality, with all its sides.

        Whether another side continues the one that is taken is asked later.
        """
        sides = [self.inlined(b.inputs, b.outputs, branch.operands) for b in branch.bodies]
        index, found = Traced(branch.index), []
        for *others, last in zip(*sides, strict=True):
            value = Traced(last)
            for k, other in reversed([*enumerate(others)]):
                value = np.where(index == k, Traced(other), value)
            found.append(value.node)
        return found

    def loop(self, node: Node, operands: Sequence[Any]) -> list[Any]:
        loop = Loop.of(node)
        count = loop.carries
        carry, xs = operands[:count], operands[count : count + len(loop.xs)]
        consts = operands[count + len(loop.xs) :]
        rows: list[Sequence[Node]] = []
        tapes = [x for x in xs if isinstance(x, list)]
        if loop.cond is None and loop.length is None and tapes:
            loop = loop.changed(length=len(tapes[0]))
        order = self.steps(loop, node, lambda: [*carry, *consts])
        for i in order:
            elements = [x[i] if isinstance(x, list) else as_node(Traced(x)[i]) for x in xs]
            given = [as_node(np.int64(i)), *carry, *elements, *consts]
            found = self.inlined(loop.body.inputs, loop.body.outputs, given)
            carry = tuple(found[:count])
            rows.append(found[count:])
        if loop.reverse:
            rows.reverse()
        if loop.length is None:  # only loops read what it writes down, a list here
            return [*carry, *([row[k] for row in rows] for k in range(len(loop.ys)))]
        if not rows and loop.ys:
            raise UnsupportedError("a loop of no steps has no formula for what it stacks")
        columns = [[Traced(y) for y in column] for column in zip(*rows, strict=True)]
        return [*carry, *(as_node(np.stack(column)) for column in columns)]

    def steps(self, loop: Loop, node: Node, values: Callable[[], list[Node]]) -> Any:
        """Yield the numbers of the steps."""
        if loop.cond is None:
            if not isinstance(loop.length, int):
                raise UnsupportedError(
                    f"a loop of {loop.length} steps has no formula: pass the number of steps as "
                    "a value that is baked in (functools.partial, or a constant)"
                )
            if loop.length * len(topological(loop.body.outputs)) > LARGEST:
                self.more(LARGEST + 1)  # at once, not after so many
            return reversed(range(loop.length)) if loop.reverse else range(loop.length)
        return self._while(loop, node, values)

    def _while(self, loop: Loop, node: Node, values: Callable[[], list[Node]]) -> Any:
        assert loop.cond is not None
        i = 0
        while self.decided(self.inlined(loop.cond.inputs, loop.cond.outputs, values())[0], node):
            yield i
            i += 1

    def decided(self, question: Node, node: Node) -> Any:
        found = self.examples.decide(question, bool if question.dtype.kind == "b" else int)
        if found is None:
            raise UnsupportedError(
                f"the branch at {node.where} has no formula: its condition differs between the "
                "examples of a batch"
            )
        return found
