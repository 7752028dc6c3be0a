"""A Program as a picture shows it: formulas and shapes, and values where they are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._compile import Function
from .._graph import Constant, Input, Literal, Node
from .._schedule import Program, schedule, shape_text
from .._schedule._run import computed
from .._spell import Operand
from .._trace import flatten
from ._derived import plain
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


def program_view(program: Program, values: Sequence[Any] = (), numbers: bool = True) -> View:
    """Return the view of a program; no gradients, and values only if they are given.

    Without ``numbers`` those in the code stand in formulas alone.
    """
    known: dict[Node, Any] = {}
    if values:
        known = computed(program, values, program.bind_sizes(values))
    names = program.names
    vertices: list[Vertex] = []
    links: list[Link] = []
    place: dict[Node, int] = {}

    def add(node: Node, vertex: Vertex) -> int:
        place[node] = len(vertices)
        vertices.append(vertex)
        return place[node]

    def number(node: Literal) -> Vertex:
        value = np.asarray(node.value)
        return Vertex("constant", value_text(value), shape=shape_text(node.shape), value=value)

    def leaf(node: Node) -> int:
        if node in place:
            return place[node]
        if isinstance(node, Literal):
            vertices.append(number(node))  # drawn at each use
            return len(vertices) - 1
        value = _array(known.get(node))
        if isinstance(node, Input) and node.dtype.kind == "f":
            return add(node, Vertex("leaf", node.name, shape=shape_text(node.shape), value=value))
        name, shape = names[node], shape_text(node.shape)
        if isinstance(node, Constant):
            value = node.array
        return add(node, Vertex("constant", name, shape=shape, value=value))

    for node in program.inputs:
        leaf(node)
    for node in program.steps:
        sources = [
            None if isinstance(x, Literal) and not numbers
            else place[x] if x.op.kind != "leaf" else leaf(x) for x in node.operands
        ]  # fmt: skip
        operands = [
            number(x) if isinstance(x, Literal) else vertices[place[x]] for x in node.operands
        ]
        texts = [
            Operand(parenthesised(v.name), x.shape, x.dtype)
            for v, x in zip(operands, node.operands, strict=True)
        ]
        vertex = Vertex(
            "op", names[node], formula_text(node.op, texts, node.params), node.op.name,
            shape_text(node.shape), _array(known.get(node)), where=node.where,
            output=node in program.outputs,
        )  # fmt: skip
        made = add(node, vertex)
        for slot, (x, source) in enumerate(zip(node.operands, sources, strict=True)):
            if source is None:
                continue
            real = vertices[source].kind != "constant" and x.dtype.kind == node.dtype.kind == "f"
            symbol = slope_text(node.op, node.items, slot, operands) if real else ""
            links.append(Link(source, made, slot, symbol))
    for node in program.outputs:
        if node not in place:
            leaf(node)
    found = levels(len(vertices), links)
    vertices = [v._replace(level=k) for v, k in zip(vertices, found, strict=True)]
    return View(", ".join(dict.fromkeys(names[x] for x in program.outputs)), vertices, links)


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
