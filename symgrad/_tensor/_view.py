"""The computation behind tensors as a picture shows it.

Values are what the record holds; what no rule reads is computed again. Gradients are those
of one backward pass that writes and frees nothing. A record that ``backward()`` has freed
still shows its ops, its leaves and the gradients that tensors hold.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .._core.base.size_text import Operand
from .._core.transforms.reverse import pull
from .._show._graph_view import (
    Link,
    Vertex,
    View,
    array_shape,
    cut,
    formula_text,
    levels,
    parenthesised,
    slope_text,
    value_text,
)
from ..errors import BackwardError
from ._engine import ordered, run
from ._history import seed
from ._node import AccumulateGrad, Backward, Node, Value
from ._tensor import Tensor

#: An operand of a freed record.
_UNKNOWN = Vertex("constant", "…")

FREED = "backward() has freed the values: draw before it, or use backward(retain_graph=True)"


def view_of(outputs: Sequence[Tensor], names: Mapping[int, str], gradient: Any = None) -> View:
    """Return the view of the computation behind ``outputs``.

    Parameters
    ----------
    outputs:
        The tensors; those that require no gradient are constants.
    names:
        What tensors are called, by the ``id`` of the tensor or of its ``grad_fn``.
    gradient:
        The weights of the elements of a single output, as for ``backward``.
    """
    return _Builder(outputs, names, gradient).view()


class _Builder:
    def __init__(self, outputs: Sequence[Tensor], names: Mapping[int, str], gradient: Any) -> None:
        self.outputs, self.names = outputs, names
        self.roots = [e for t in outputs if (e := t.edge()) is not None]
        self.order = ordered(self.roots)  # users first, as gradients flow
        freed = any(isinstance(n, Backward) and n.saved is None for n in self.order)
        #: Why there are no gradients.
        self.lost = FREED if freed else ""
        self.values = self._values()
        self.adjoints, self.parts = self._gradients(gradient)
        self.vertices: list[Vertex] = []
        self.links: list[Link] = []
        self.place: dict[Any, int] = {}
        self.taken = {*names.values(), *(t.name for t in self._leaves())}
        self.numbers: dict[str, Iterator[int]] = defaultdict(itertools.count)

    def view(self) -> View:
        for node in self.order:
            if isinstance(node, AccumulateGrad):
                self._leaf(node)
        for node in reversed(self.order):
            if isinstance(node, Backward):
                self._step(node)
        for tensor in self.outputs:
            if tensor.edge() is None:
                self.place[tensor] = self._constant(tensor)
        return self._levelled()

    def _levelled(self) -> View:
        found = levels(len(self.vertices), self.links)
        backward = [self.place[n] for n in self.order if n in self.adjoints]
        notes = [self.lost] if self.lost else []
        if not self.lost and (any(t.size != 1 for t in self.outputs) or len(self.outputs) > 1):
            notes.append("gradients are those of the weighted sum of the output's elements")
        vertices = [v._replace(level=k) for v, k in zip(self.vertices, found, strict=True)]
        ends = [self.vertices[self.place[t.edge() or t]] for t in self.outputs]
        title = ", ".join(dict.fromkeys(cut(v.name) for v in ends))
        return View(title, vertices, self.links, backward, notes)

    def _leaves(self) -> Iterator[Value]:
        return (n.variable for n in self.order if isinstance(n, AccumulateGrad))

    # ---------------------------------------------------------------- values, gradients

    def _values(self) -> dict[Node, Any]:
        """Return the value of every node, as far as it is held or can be computed."""
        values: dict[Node, Any] = {}
        for node in self.order:
            if isinstance(node, AccumulateGrad):
                values[node] = node.variable._data
                continue
            assert isinstance(node, Backward)
            if node.result is not None:
                values[node] = node.result
            for edge, x in zip(node.edges, node.saved or (), strict=False):
                if isinstance(edge, Backward) and isinstance(x, Tensor):
                    values[edge] = x._data
        for tensor in self.outputs:
            if tensor._fn is not None:
                values[tensor._fn] = tensor._data
        with np.errstate(all="ignore"):
            for node in reversed(self.order):
                if isinstance(node, Backward) and node not in values and node.saved is not None:
                    xs = self._operands(node, values)
                    if all(x is not None for x in xs):
                        values[node] = np.asarray(node.op.evaluate(*xs, **node.params))
        return values

    def _operands(self, node: Backward, values: Mapping[Node, Any]) -> list[Any]:
        if node.saved is None:
            return [values.get(edge) if edge is not None else None for edge in node.edges]
        return [
            values.get(edge) if edge is not None else getattr(x, "_data", x)
            for edge, x in zip(node.edges, node.saved, strict=True)
        ]

    def _gradients(self, gradient: Any) -> tuple[dict[Node, Any], dict[Node, Sequence[Any]]]:
        """Return the gradient at each node, and what it sends to each operand."""
        if self.lost or not self.roots:
            return {}, {}
        given = [
            seed(t, np.ones(t.shape) if gradient is None else gradient, create_graph=False)
            for t in self.outputs if t.edge() is not None
        ]  # fmt: skip
        parts: dict[Node, Sequence[Any]] = {}
        try:
            found = run(
                self.roots, given, retain_graph=True, create_graph=False, targets=self.order,
                observe=parts.__setitem__,
            )  # fmt: skip
        except BackwardError as error:  # a value was overwritten in place
            self.lost = str(error)
            return {}, {}
        return found, parts

    # ---------------------------------------------------------------- vertices

    def _add(self, key: Any, vertex: Vertex) -> int:
        self.place[key] = len(self.vertices)
        self.vertices.append(vertex)
        return self.place[key]

    def _leaf(self, node: AccumulateGrad) -> None:
        tensor = node.variable
        name = self.names.get(id(tensor)) or tensor.name or self._fresh("x")
        self._add(node, Vertex(
            "leaf", name, shape=array_shape(tensor._data), value=tensor._data,
            gradient=self.adjoints.get(node), held=_held(tensor), output=node in self.roots,
        ))  # fmt: skip

    def _fresh(self, stem: str) -> str:
        return next(n for k in self.numbers[stem] if (n := f"{stem}{k}") not in self.taken)

    def _constant(self, x: Any) -> int:
        """Return the number of a constant; a tensor is drawn once, a number at each use."""
        tensor = x if isinstance(x, Tensor) else None
        if tensor is not None and id(tensor) in self.place:
            return self.place[id(tensor)]
        array = np.asarray(getattr(x, "_data", x))
        name = self.names.get(id(x), tensor.name if tensor is not None else None)
        if name is None:
            name = value_text(array) if array.ndim == 0 else self._fresh("c")
        key = object() if tensor is None else id(tensor)
        return self._add(key, Vertex("constant", name, shape=array_shape(array), value=array))

    def _step(self, node: Backward) -> None:
        slots: list[tuple[int, int]] = []
        for slot, edge in enumerate(node.edges):
            if edge is not None:
                slots.append((slot, self.place[edge]))
            elif node.saved is not None and not isinstance(node.saved[slot], tuple):
                slots.append((slot, self._constant(node.saved[slot])))
        operands = [_UNKNOWN] * len(node.edges)
        for slot, source in slots:
            operands[slot] = self.vertices[source]
        texts = [_operand(v, x) for v, x in zip(operands, self._operands(node, self.values),
                                                strict=True)]  # fmt: skip
        value, adjoint = self.values.get(node), self.adjoints.get(node)
        retained = [r() for r in node.extra.retained] if node.extra is not None else []
        held = next((h for t in retained if t is not None and (h := _held(t)) is not None), None)
        number = self._add(node, Vertex(
            "op", self.names.get(id(node)) or self._fresh("v"),
            formula_text(node.op, texts, node.params), node.op.name,
            "" if value is None else array_shape(value), value, adjoint, held, node.where,
            output=node in self.roots,
        ))  # fmt: skip
        slopes = self._slopes(node)
        parts = self.parts.get(node) or [None] * len(node.edges)
        items = tuple(sorted(node.params.items()))
        for slot, source in slots:
            active = node.edges[slot] is not None
            symbol = slope_text(node.op, items, slot, operands) if active else ""
            self.links.append(Link(source, number, slot, symbol, slopes[slot], parts[slot]))

    def _slopes(self, node: Backward) -> Sequence[Any]:
        """Return the local derivatives as numbers, where each is one number an element."""
        nothing = [None] * len(node.edges)
        xs, y = self._operands(node, self.values), self.values.get(node)
        if self.lost or y is None or node.op.kind not in ("map", "reduce"):
            return nothing
        if any(x is None for x in xs):
            return nothing
        wanted = [edge is not None for edge in node.edges]
        with np.errstate(all="ignore"):
            found = pull(node.op, np.ones(y.shape, y.dtype), y, xs, node.params, wanted)
        return [None if s is None else np.asarray(s) for s in found]


def _operand(vertex: Vertex, value: Any) -> Operand:
    array = np.asarray(value)
    return Operand(parenthesised(vertex.name), array.shape, array.dtype)


def _held(tensor: Value) -> Any:
    return tensor._grad._data if tensor._grad is not None else None
