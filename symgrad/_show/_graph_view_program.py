"""A Program as a picture shows it: formulas and shapes, and values where they are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.base.size_text import Operand
from .._core.graph import Constant, Input, Literal, Node
from .._core.program import Program, computed, schedule, shape_text
from .._core.trace import flatten
from .._dispatch import Function
from ._graph_view import (
    Link,
    Vertex,
    View,
    formula_text,
    levels,
    parenthesised,
    slope_text,
    value_text,
)
from ._stages import plain


def program_view(program: Program, values: Sequence[Any] = (), numbers: bool = True) -> View:
    """Return the view of a program; no gradients, and values only if they are given.

    Without ``numbers`` those in the code stand in formulas alone.
    """
    picture = _Picture(program, values, numbers)
    for node in program.inputs:
        picture.place_of(node)
    for node in program.steps:
        picture.add_step(node)
    for node in program.outputs:
        picture.place_of(node)
    found = levels(len(picture.vertices), picture.links)
    vertices = [v._replace(level=k) for v, k in zip(picture.vertices, found, strict=True)]
    title = ", ".join(dict.fromkeys(program.names[x] for x in program.outputs))
    return View(title, vertices, picture.links)


class _Picture:
    """Vertices and links of a program, as they are added; parameters as of program_view."""

    def __init__(self, program: Program, values: Sequence[Any], numbers: bool) -> None:
        self._program, self._numbers = program, numbers
        self._known: dict[Node, Any] = {}
        if values:
            self._known = computed(program, values, program.bind_sizes(values))
        self._places: dict[Node, int] = {}
        self.vertices: list[Vertex] = []
        self.links: list[Link] = []

    def place_of(self, node: Node) -> int:
        """Return the place of a node's vertex, which is added if the node is a leaf."""
        if node in self._places:
            return self._places[node]
        if isinstance(node, Literal):
            self.vertices.append(_number(node))  # drawn at each use
            return len(self.vertices) - 1
        shape, value = shape_text(node.shape), _array(self._known.get(node))
        if isinstance(node, Input) and node.dtype.kind == "f":
            return self._add(node, Vertex("leaf", node.name, shape=shape, value=value))
        if isinstance(node, Constant):
            value = node.array
        name = self._program.names[node]
        return self._add(node, Vertex("constant", name, shape=shape, value=value))

    def add_step(self, node: Node) -> None:
        """Add a step, and links to it from its operands."""
        sources = [
            None if isinstance(x, Literal) and not self._numbers else self.place_of(x)
            for x in node.operands
        ]
        operands = [
            _number(x) if isinstance(x, Literal) else self.vertices[self._places[x]]
            for x in node.operands
        ]
        texts = [
            Operand(parenthesised(v.name), x.shape, x.dtype)
            for v, x in zip(operands, node.operands, strict=True)
        ]
        made = self._add(node, Vertex(
            "op", self._program.names[node], formula_text(node.op, texts, node.params),
            node.op.name, shape_text(node.shape), _array(self._known.get(node)),
            where=self._program.lines.get(node), output=node in self._program.outputs,
        ))  # fmt: skip
        for slot, (x, source) in enumerate(zip(node.operands, sources, strict=True)):
            if source is None:
                continue
            constant = self.vertices[source].kind == "constant"
            real = not constant and x.dtype.kind == node.dtype.kind == "f"
            symbol = slope_text(node.op, node.items, slot, operands) if real else ""
            self.links.append(Link(source, made, slot, symbol))

    def _add(self, node: Node, vertex: Vertex) -> int:
        self._places[node] = len(self.vertices)
        self.vertices.append(vertex)
        return self._places[node]


def _number(node: Literal) -> Vertex:
    value = np.asarray(node.value)
    return Vertex("constant", value_text(value), shape=shape_text(node.shape), value=value)


def _array(value: Any) -> Any:
    """A value as an array; a loop's results are several."""
    return None if value is None or isinstance(value, tuple) else np.asarray(value)


def traced(f: Callable[..., Any], args: Sequence[Any], kwargs: Any) -> tuple[Program, list[Any]]:
    """Return the program of a function at example arguments, and its inputs' values.

    A function of the user's is as it was written, a transformed one as it is compiled.
    """
    if isinstance(f, Function):
        made = f._specialization(args, kwargs)
        program = made.program
    else:
        made = plain(f)._specialization(args, kwargs)
        program = schedule(made.graph.inputs, made.graph.outputs, made.graph.guards)
    leaves, _ = flatten((tuple(args), dict(kwargs)))
    return program, [leaves[k] for k in made.takes]
