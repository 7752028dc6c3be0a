"""The graph: interned nodes, the program, and the checker."""

from ._body import Body, Rule, bodies
from ._check import check, checked
from ._node import (
    Constant,
    Input,
    Iota,
    Literal,
    Node,
    SizeOf,
    Static,
    apply,
    as_sympy,
    element_count,
    literal_form,
    node_class,
    recording_nodes,
    topological,
)
from ._where import (
    Where,
    defined_at,
    inherited,
    inheriting,
    raised_at,
    set_inherited,
    user_line,
)

__all__ = [
    "Body",
    "Constant",
    "Input",
    "Iota",
    "Literal",
    "Node",
    "Rule",
    "SizeOf",
    "Static",
    "Where",
    "apply",
    "as_sympy",
    "bodies",
    "check",
    "checked",
    "defined_at",
    "element_count",
    "inherited",
    "inheriting",
    "literal_form",
    "node_class",
    "raised_at",
    "recording_nodes",
    "set_inherited",
    "topological",
    "user_line",
]
