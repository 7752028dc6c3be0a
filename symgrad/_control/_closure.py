"""From a Python function to a body: tracing on bound variables, and what it closes over."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from .._graph import Input, Node, topological
from .._trace import substitute
from ..errors import TraceError


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


def close(
    inputs: Sequence[Input], outputs: Sequence[Node], own: Collection[Node] = (),
    replaced: Collection[Node] = (),
) -> Closed:  # fmt: skip
    """Find what ``outputs`` use besides ``inputs``, and replace it by inputs.

    Whatever does not depend on the bound variables is computed outside, once, unless it is
    among the nodes ``own``, which belong inside. ``replaced`` are bound variables that have
    been replaced in the outputs.
    """
    order = topological(outputs)
    inner: set[Node] = {*inputs, *own}
    _closed.update((*inputs, *replaced))
    for node in order:
        if any(x in inner for x in node.operands):
            inner.add(node)
    uses = [x for n in order if n in inner for x in n.operands if x not in inner]
    outer = dict.fromkeys([*uses, *(x for x in outputs if x not in inner)])
    captured = [x for x in outer if not _stays(x)]
    swap = {x: Input(f"k{k}", x.shape, x.dtype) for k, x in enumerate(captured)}
    closed = substitute(outputs, swap)
    return Closed(tuple(inputs), tuple(closed), tuple(captured), tuple(swap.values()))


#: Bound variables of bodies that are complete: outside of them they mean nothing.
_closed: weakref.WeakSet[Node] = weakref.WeakSet()


def refuse_leaks(nodes: Sequence[Node]) -> None:
    """Raise if a value of a step or a case has been kept and is used outside of it.

    Raises
    ------
    TraceError
        Naming the line where the value was made.
    """
    if not _closed:
        return
    for node in topological(nodes):
        if any(x in _closed for x in node.operands) or node in _closed:
            where = f", made at {node.where}" if node.where else ""
            raise TraceError(
                f"a value of a step of a loop, or of one case of a branch{where}, is used outside "
                "of it. Write instead: return it, as part of the carry or of what is stacked"
            )


def _stays(node: Node) -> bool:
    """Tell whether a value from outside is written into the body: numbers, filled arrays."""
    while node.op.kind == "view":
        node = node.operands[0]
    return node.op.kind == "leaf" and not isinstance(node, Input)
