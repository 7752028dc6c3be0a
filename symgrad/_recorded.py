"""Reverse rules of scalar ops, recorded once and replayed.

A rule is Python that builds nodes through traced values: promotion, broadcasting and look-ups
cost more than the nodes. For an op on plain numbers of one type what a rule builds depends on
nothing but the op, its parameters, which operands are wanted and the operands that are written
as numbers. So it is run once on stand-ins, and what it has built is built again from the
operands of every further node. Programs of many thousand scalar operations spend most of
reverse mode here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from ._graph import Input, Literal, Node, apply, topological
from ._guards import Guarded
from ._op import Op

#: A rule on nodes: op, parameters, cotangent, result, operands, which operands are wanted.
Rule = Callable[[Op, Any, Node, Node, Sequence[Node], Sequence[bool]], Sequence[Node | None]]

#: Picks operands from values.
Picker = Callable[[Sequence[Node]], tuple[Node, ...]]

#: Recordings are forgotten beyond this number: each written number may bring one.
MOST = 4096


def _picker(numbers: Sequence[int]) -> Picker:
    if len(numbers) == 1:
        (number,) = numbers
        return lambda values: (values[number],)
    return itemgetter(*numbers)


@dataclass(frozen=True)
class Recording:
    """What a rule builds of the values cotangent, result, operands, ``constants``."""

    constants: tuple[Node, ...]
    #: Op, parameters, what picks the operands from the values so far, shape and type.
    steps: tuple[tuple[Op, Any, Picker, Any, np.dtype[Any]], ...]
    #: The number of the value for each operand of the op; None: no cotangent.
    results: tuple[int | None, ...]

    def replay(self, node: Node, ct: Node) -> list[Guarded | None]:
        """Return the cotangents of the operands of ``node``."""
        values = [ct, node, *node.operands, *self.constants]
        for op, items, picked, shape, dtype in self.steps:
            values.append(apply(op, picked(values), items, shape, dtype))
        return [None if k is None else Guarded(values[k]) for k in self.results]


class Recordings:
    """The recordings of rules by what they depend on, made when it comes a second time."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.known: dict[Hashable, Recording | None] = {}

    def pulled(self, node: Node, ct: Guarded, active: set[Node]) -> list[Guarded | None] | None:
        """Return the cotangents of the operands, None if the rule is to be run instead."""
        op, dtype = node.op, node.dtype
        if node.shape or ct.guard or op.kind != "map" or op.taken is not None:
            return None
        if ct.value.dtype is not dtype:
            return None
        marks = []
        for x in node.operands:
            if x.shape or x.dtype is not dtype:
                return None
            marks.append(x if type(x) is Literal else x in active)
        # With the rule: who replaces it, to test what becomes of a wrong one, gets that one.
        key = (op, op.rule, node.items, dtype, *marks)
        found = self.known.get(key)
        if found is None:
            if key not in self.known:
                if len(self.known) >= MOST:
                    self.known.clear()
                self.known[key] = None
                return None
            found = self.record(node, marks)
            if found is None:
                return None
            self.known[key] = found
        return found.replay(node, ct.value)

    def record(self, node: Node, parts: Sequence[Any]) -> Recording | None:
        """Return the recording of the rule at ``node``, None if it builds something else."""
        ct, y = Input("ct", (), node.dtype), Input("y", (), node.dtype)
        xs = [x if x is part else Input("x", (), node.dtype)
              for x, part in zip(node.operands, parts, strict=True)]  # fmt: skip
        made = self.rule(node.op, node.items, ct, y, xs, [part is True for part in parts])
        if any(n is not None and (n.shape or n.dtype is not node.dtype) for n in made):
            return None
        values = [ct, y, *xs]
        numbers = {n: k for k, n in enumerate(values)}
        order = [n for n in topological([n for n in made if n is not None]) if n not in numbers]
        constants = [n for n in order if not n.operands]
        for n in (*constants, *(n for n in order if n.operands)):
            numbers[n] = len(numbers)
        return Recording(
            tuple(constants),
            tuple(
                (n.op, n.items, _picker([numbers[x] for x in n.operands]), n.shape, n.dtype)
                for n in order
                if n.operands
            ),
            tuple(None if n is None else numbers[n] for n in made),
        )
