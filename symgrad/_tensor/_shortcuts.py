"""The compiler's shortcuts past the steps of a formula, in the eager backward pass.

``log(1 + exp(x))`` at 1000 has the derivative 1, and the chain rule makes ``inf/inf`` of it. The
table in ``symgrad._core.rewrite._formulas`` knows such formulas as a whole. When a pass comes to a
node at which one may begin, the few ops behind it are built as a graph, and what the compiler
finds there takes the place of the chain rule. A node whose own gradient is asked for, by a hook
or as a target, is not gone past.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from .._core.base.signals import foreseen
from .._core.base.state import within
from .._core.graph import Input, Literal
from .._core.graph import Node as GraphNode
from .._core.op import Bodied
from .._core.ops import unbroadcast
from .._core.ops.movement import by_rows
from .._core.rewrite import POWERS, Way, between, index, shortcuts
from .._core.trace import Traced, as_node
from ..errors import SymgradError
from ._composites import Composed
from ._kernel import written_out
from ._node import AccumulateGrad, Backward, Node

#: How far behind a node formulas go, in ops, and how many ops are looked at.
DEPTH, MOST = 6, 32

#: What an operand without a step behind it may be: a written number, or another value.
NUMBER, VALUE = Literal.op, Input.op


def _may_begin(node: Backward) -> bool:
    """Tell from ops alone whether a formula may begin at a step."""
    behind = node.behind
    if node.op.name == "Divide" and behind[1] is None:
        return False  # the formulas divide by what they are of
    ops = [NUMBER if e is None else e.op if isinstance(e, Backward) else VALUE for e in behind]
    if node.op.name in POWERS:
        if behind[1] is not None or node.saved is None:
            return False
        exponent = node.saved[1]
        if isinstance(exponent, (int, float)) and exponent >= 1 and ops[0].name != "Sqrt":
            return False  # the formulas are roots and quotients, and powers of roots
    return bool(index.among(node.op, ops))


class Path:
    """The way past some ops: where gradients go, and what they are."""

    def __init__(self, local: _Local, way: Way) -> None:
        self.local, self.way = local, way
        self.edges = [local.sources.get(x) for x in way.operands]
        # An inner step of a composed one has no node that a gradient could go to.
        self.inside = not local.inside.isdisjoint(way.operands)
        root = local.root
        self.ct = Input("ct", root.shape, root.dtype)
        pulled = way.pull(Traced(self.ct))
        self.parts = [
            None if edge is None else as_node(p) for p, edge in zip(pulled, self.edges, strict=True)
        ]

    def known(self) -> bool:
        """Tell whether all values are there that the gradients are computed from."""
        if self.inside:
            return False
        stack = [x for x in self.parts if x is not None]
        while stack:
            node = stack.pop()
            if node not in self.local.arrays and node is not self.ct:
                if isinstance(node, Input):
                    return False
                stack += node.operands
        return True

    def guarded(self, ct: Any, mask: Any, tensors: bool) -> tuple[list[Any], Sequence[Any]]:
        """Return the gradients of the operands, and the masks outside of which they are 0."""
        if mask is None or self.way.elementwise:
            parts = self.pull(ct, mask, tensors)
            if mask is None:
                return parts, ()
            return parts, [mask if p is None or p.shape == mask.shape else None for p in parts]
        parts = self.pull(ct, None, tensors)
        if self.way.support is None:
            return parts, [None] * len(parts)
        masks = [np.asarray(m) for m in self.way.support(mask)]
        cut = [p if p is None else np.where(m, p, 0.0) for p, m in zip(parts, masks, strict=True)]
        return cut, masks

    def pull(self, ct: Any, mask: Any, tensors: bool) -> list[Any]:
        """Return the gradients of the operands; where ``mask`` is false they are cut off."""
        values = dict(self.local.tensors if tensors else self.local.arrays)
        values[self.ct] = ct
        found: list[Any] = []
        for part, x in zip(self.parts, self.way.operands, strict=True):
            if part is None:
                found.append(None)
                continue
            value = _evaluated(part, values, tensors)
            if mask is not None:
                value = np.where(mask, value, 0.0)
            value = value if tensors else np.asarray(value)
            value = unbroadcast(value, x.shape) if value.shape != x.shape else value
            found.append(value if value.dtype == x.dtype else value.astype(x.dtype))
        return found


def _evaluated(root: GraphNode, values: dict[GraphNode, Any], tensors: bool) -> Any:
    stack = [root]
    while stack:
        node = stack[-1]
        waiting = [x for x in node.operands if x not in values]
        if node in values or not waiting:
            stack.pop()
            if node not in values:
                operands = [values[x] for x in node.operands]
                run = node.op if tensors and node.operands else node.op.reference
                values[node] = _number(node) if not operands else run(*operands, **node.params)
        else:
            stack += waiting
    return values[root]


def _number(node: GraphNode) -> Any:
    return node.value if isinstance(node, Literal) else node.op.evaluate(**node.params)


class _Local:
    """The ops behind a node as a graph, as far as formulas go.

    Attributes
    ----------
    root:
        The node in the graph.
    sources:
        The recorded nodes that the graph's nodes stand for.
    inside:
        The inner steps of composed ones.
    arrays, tensors:
        What is known of their values.
    """

    def __init__(self, node: Backward, barred: Collection[Node]) -> None:
        self.barred, self.count = barred, 0
        self.made: dict[Node, GraphNode] = {}
        self.constants: dict[Any, Input] = {}
        self.sources: dict[GraphNode, Node] = {}
        self.inside: set[GraphNode] = set()
        self.arrays: dict[GraphNode, Any] = {}
        self.tensors: dict[GraphNode, Any] = {}
        self.root = self._op(node, DEPTH)

    def _op(self, node: Backward, depth: int) -> GraphNode:
        assert node.saved is not None
        self.count += 1
        operands: list[Any] = []
        for edge, x in zip(node.edges, node.saved, strict=True):
            array = getattr(x, "_data", x)
            if edge is not None:
                shape, dtype = (array.shape, array.dtype) if type(array) is not tuple else array
                made = self._node(edge, shape, dtype, depth - 1, node.seq)
                if type(x) is not tuple and not _written(x, node.seq):
                    self.arrays.setdefault(made, by_rows(array))
                    self.tensors.setdefault(made, x)
                operands.append(Traced(made))
            elif type(array) is tuple or written_out(array):
                operands.append(array[()] if type(array) is not tuple else np.zeros(*array))
            else:
                made = self._constant(array)
                self.arrays[made], self.tensors[made] = by_rows(array), x
                operands.append(Traced(made))
        with within(where=node.where):
            made = as_node(node.op(*operands, **node.params))
        self.made[node] = made
        self.sources[made] = node
        if isinstance(node.op, Composed):
            self.inside.update(between(made, set(map(as_node, operands))))
        if node.result is not None and (node.cell is None or node.cell.written <= node.seq):
            self.arrays.setdefault(made, node.result)
            self.tensors.setdefault(made, node.tensor())
        return made

    def _constant(self, array: Any) -> Input:
        """Return an input for a constant, the same for small ones that are equal."""
        key = array.tobytes() if array.size <= MOST else id(array)
        known = self.constants.get((key, array.shape, array.dtype))
        if known is None:
            known = Input(f"c{len(self.constants)}", array.shape, array.dtype)
            self.constants[key, array.shape, array.dtype] = known
        return known

    def _node(self, node: Node, shape: Any, dtype: Any, depth: int, seq: int) -> GraphNode:
        made = self.made.get(node)
        if made is not None:
            return made
        if (
            isinstance(node, Backward) and depth > 0 and self.count < MOST
            and node.saved is not None and not isinstance(node.op, Bodied)
            and node not in self.barred and (node.extra is None or node.extra.empty)
        ):  # fmt: skip
            return self._op(node, depth)
        made = self.made[node] = Input(f"x{len(self.made)}", shape, dtype)
        self.sources[made] = node
        if isinstance(node, AccumulateGrad) and not _written(node.variable, seq):
            variable = node.variable
            self.arrays[made], self.tensors[made] = by_rows(variable._data), variable
        return made


def _written(tensor: Any, seq: int) -> bool:
    cell = getattr(tensor, "_cell", None)
    return cell is not None and bool(cell.written > seq)


def paths(order: Sequence[Node], barred: Collection[Node]) -> Mapping[Node, Path]:
    """Return the nodes past whose steps gradients go, and how.

    Parameters
    ----------
    order:
        The nodes of a backward pass.
    barred:
        Nodes whose own gradients are wanted.
    """
    found: dict[Node, Path] = {}
    for node in order:
        if not isinstance(node, Backward) or not _may_begin(node):
            continue
        try:
            local = _Local(node, barred)
            way = shortcuts([local.root], ()).get(local.root)
            path = None if way is None else Path(local, way)
            if path is not None and path.known():
                found[node] = path
        except foreseen(SymgradError, TypeError, ValueError):
            continue  # what does not trace has no shortcut
    return found
