"""Bodies: graphs with bound variables, which a node may hold as a parameter.

A loop or a branch is one node; what it repeats or chooses is a :class:`Body`. A body is
closed: its inputs are bound, and whatever it needs of the graph around it comes in as an
operand of the node. So no pass ever has to look for a value across two scopes.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from typing import Any

import sympy as sp

from ..op import Param
from ._leaves import Constant, Input, Iota, Literal, SizeOf
from ._node import Node, topological


class Body:
    """A closed graph: a function of nodes.

    Bodies are equal if they compute the same in the same way, whatever their inputs are
    called; so nodes that hold equal bodies are interned as one.

    Attributes
    ----------
    inputs, outputs:
        The bound variables and the results.
    sizes:
        The size symbols that occur; they are those of the graph around.
    digest:
        A digest of the structure.
    """

    __slots__ = ("__weakref__", "digest", "inputs", "outputs", "program", "sizes")
    #: The body in order of computation, once it has been scheduled.
    program: Any

    def __init__(self, inputs: Sequence[Input], outputs: Sequence[Node]) -> None:
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self.program = None
        number: dict[Node, int] = {}
        sizes: set[sp.Symbol] = set()
        digest = hashlib.sha256()
        for node in (*self.inputs, *topological(self.outputs)):
            if node in number:
                continue
            number[node] = len(number)
            sizes |= size_symbols(node)
            if isinstance(node, Input) and number[node] >= len(self.inputs):
                raise AssertionError(f"the body does not bind its input {node.name!r}")
            operands = [number[x] for x in node.operands]
            kind = f"{node.op.name}{operands}{node.items}{node.shape}{node.dtype.str}"
            digest.update(f"{kind}{value_text(node)};".encode())
        digest.update(str([number[x] for x in self.outputs]).encode())
        self.sizes = frozenset(sizes)
        self.digest = digest.hexdigest()[:32]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Body):
            return NotImplemented
        return self.digest == other.digest and self.sizes == other.sizes

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"<body {self.digest}>"


BODY = Param("a body", lambda value: isinstance(value, Body))
BODIES = Param(
    "one or more bodies",
    lambda value: isinstance(value, tuple) and bool(value) and all(map(BODY.admits, value)),
)


class Rule:
    """A derivative rule of the user's, as a parameter of a node; equal to itself alone."""

    __slots__ = ("number",)
    _count = itertools.count()

    def __init__(self) -> None:
        self.number = next(Rule._count)

    def __repr__(self) -> str:
        return f"<rule {self.number}>"


RULE = Param("a rule of this process", lambda value: isinstance(value, Rule))


def value_text(node: Node) -> str:
    """Return what a leaf holds, as text."""
    if isinstance(node, Literal):
        return str(node.value.tobytes().hex())
    if isinstance(node, Constant):
        return node.digest
    return str(node.size) if isinstance(node, (SizeOf, Iota)) else ""


def size_symbols(node: Node) -> set[sp.Symbol]:
    """Return the size symbols in a node's shape, parameters and value."""
    found: set[sp.Symbol] = set()
    value = (node.size,) if isinstance(node, (SizeOf, Iota)) else ()
    _collect((*node.shape, *value, *(v for _, v in node.items)), found)
    return found


def _collect(value: Any, found: set[sp.Symbol]) -> None:
    if isinstance(value, tuple):
        for part in value:
            _collect(part, found)
    elif isinstance(value, Body):
        found |= value.sizes
    elif isinstance(value, sp.Basic):
        found |= value.free_symbols


def bodies(node: Any) -> list[Body]:
    """Return the bodies among a node's parameters, in order."""
    found: list[Body] = []
    for _, value in node.items:
        parts = value if isinstance(value, tuple) else (value,)
        found += [part for part in parts if isinstance(part, Body)]
    return found
