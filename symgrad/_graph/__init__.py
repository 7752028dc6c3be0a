"""The graph: interned nodes, the program, and the checker."""

from ._body import BODIES, BODY, RULE, Body, Rule, bodies, size_symbols
from ._check import check, checked
from ._interned import (
    apart,
    apply,
    merged,
    node_class,
    rebuilt,
    recording_nodes,
    remade,
    shared,
)
from ._leaves import Constant, Input, Iota, Literal, SizeOf, literal_form
from ._node import Node, Static, as_sympy, element_count, topological, viewed
from ._types import more_than_numbers, own_rules, require_numbers
from ._where import (
    Where,
    defined_at,
    printable,
    raised_at,
    raised_by_scipy,
    scipy_call,
    source_name,
    user_line,
    warn_user,
)

__all__ = [
    "BODIES",
    "BODY",
    "RULE",
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
    "apart",
    "apply",
    "as_sympy",
    "bodies",
    "check",
    "checked",
    "defined_at",
    "element_count",
    "literal_form",
    "merged",
    "more_than_numbers",
    "node_class",
    "own_rules",
    "printable",
    "raised_at",
    "raised_by_scipy",
    "rebuilt",
    "recording_nodes",
    "remade",
    "require_numbers",
    "scipy_call",
    "shared",
    "size_symbols",
    "source_name",
    "topological",
    "user_line",
    "viewed",
    "warn_user",
]
