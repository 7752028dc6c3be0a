"""Long functions that come again: one body, which is called.

Derivatives of distributions by their parameters are thousands of steps, and a program that has them
of several arrays would go through LLVM with each of these, in one loop, whose time grows faster
than its length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..base.switches import is_on
from ..control import Branch
from ..control._fields import result, stand_ins
from ..graph import Body, Input, Literal, Node, rebuilt, remade, topological
from ..op import Code, Composed
from ..trace import substitute

#: Steps of a function that is called rather than written out again: its operands and results go
#: through memory.
LONG = 400

#: The shape and the type of an operand, or the number that it is.
Kind = tuple[object, ...]


def called(
    outputs: Sequence[Node], expand: Callable[[Sequence[Node]], Sequence[Node]]
) -> list[Node]:
    """Return ``outputs`` with calls of one body for long functions of several operands.

    What is computed of the same operands, values and derivatives, has most steps in common, and is
    one body. ``expand`` writes functions out.
    """
    if not is_on("call"):
        return list(outputs)
    together: dict[tuple[Node, ...], list[Node]] = {}
    for node in topological(outputs):
        if isinstance(Code.of(node.op).lower, Composed):
            together.setdefault(node.operands, []).append(node)
    alike: dict[Kind, list[list[Node]]] = {}
    for group in together.values():
        group.sort(key=lambda node: (node.op.name, str(node.items)))
        alike.setdefault(_kind(group), []).append(group)
    calls: dict[Node, tuple[_Called, int]] = {}
    for groups in alike.values():
        found = _Called.of(groups[0], expand) if len(groups) > 1 else None
        if found is not None:
            calls |= {node: (found, k) for group in groups for k, node in enumerate(group)}
    if not calls:
        return list(outputs)

    def change(node: Node, operands: tuple[Node, ...]) -> Node | None:
        if node not in calls:
            return None
        function, k = calls[node]
        return function.result(operands, k)

    return rebuilt(outputs, change)


def _kind(group: Sequence[Node]) -> Kind:
    """Return what groups have in common that are one function of other operands."""
    operands = [x if isinstance(x, Literal) else (x.shape, x.dtype) for x in group[0].operands]
    return *operands, *((node.op, node.items, node.shape, node.dtype) for node in group)


class _Called:
    """Functions of the same operands as a body.

    Parameters
    ----------
    inputs:
        Stand-ins for the operands that are no numbers of the program's text.
    before:
        The numbers that are made of numbers alone. They are computed where the body is called, once
        for calls that have the same.
    body:
        Takes the inputs and these numbers.
    """

    def __init__(self, inputs: Sequence[Input], before: Sequence[Node], body: Body) -> None:
        self.inputs, self.before, self.body = inputs, before, body

    @classmethod
    def of(
        cls, group: Sequence[Node], expand: Callable[[Sequence[Node]], Sequence[Node]]
    ) -> _Called | None:
        """Return the functions of a group as a body, None if they are short."""
        operands = group[0].operands
        given = iter(stand_ins([x for x in operands if not isinstance(x, Literal)], "x"))
        inner = tuple([x if isinstance(x, Literal) else next(given) for x in operands])
        inputs = [x for x in inner if isinstance(x, Input)]
        outputs = expand([remade(node, inner) for node in group])
        steps = topological(outputs)
        if len(steps) < LONG:
            return None
        numbers: set[Node] = set()  # what is made of numbers alone
        for node in steps:
            if not node.shape and numbers.issuperset(node.operands):
                numbers.add(node)
        used = dict.fromkeys(x for node in steps if node.shape for x in node.operands)
        before = [x for x in used if x in numbers and x.op.kind != "leaf"]
        swap = dict(zip(before, stand_ins(before, "n"), strict=True))
        return cls(inputs, before, Body((*inputs, *swap.values()), substitute(outputs, swap)))

    def result(self, operands: Sequence[Node], number: int) -> Node:
        """Return a result of a call."""
        given = [x for x in operands if not isinstance(x, Literal)]
        before = substitute(self.before, dict(zip(self.inputs, given, strict=True)))
        call = Branch(Literal(0, "int64"), (*given, *before), (self.body,)).node()
        return result(call, number)
