"""From a Python function to a body: tracing on bound variables, and what it closes over."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from .._graph import Input, Node, topological
from .._trace import substitute


@dataclass(frozen=True)
class Closed:
    """A function's graph with everything that it uses of the graph around as an input.

    Attributes
    ----------
    inputs, outputs:
        The bound variables that the function was called with, and its results.
    captured, stand_ins:
        Nodes of the graph around that it uses, and the inputs that stand for them.
    """

    inputs: tuple[Input, ...]
    outputs: tuple[Node, ...]
    captured: tuple[Node, ...]
    stand_ins: tuple[Input, ...]


def close(inputs: Sequence[Input], outputs: Sequence[Node], own: Collection[Node] = ()) -> Closed:
    """Find what ``outputs`` use besides ``inputs``, and replace it by inputs.

    Whatever does not depend on the bound variables is computed outside, once, unless it is
    among the nodes ``own``, which belong inside.
    """
    order = topological(outputs)
    inner: set[Node] = {*inputs, *own}
    for node in order:
        if any(x in inner for x in node.operands):
            inner.add(node)
    uses = [x for n in order if n in inner for x in n.operands if x not in inner]
    outer = dict.fromkeys([*uses, *(x for x in outputs if x not in inner)])
    captured = [x for x in outer if not _stays(x)]
    swap = {x: Input(f"k{k}", x.shape, x.dtype) for k, x in enumerate(captured)}
    closed = substitute(outputs, swap)
    return Closed(tuple(inputs), tuple(closed), tuple(captured), tuple(swap.values()))


def _stays(node: Node) -> bool:
    """Tell whether a value from outside is written into the body: numbers, filled arrays."""
    while node.op.kind == "view":
        node = node.operands[0]
    return node.op.kind == "leaf" and not isinstance(node, Input)
