"""The graph: interned nodes, the program, and the checker."""

from ._body import BODIES, BODY, RULE, Body, Rule, bodies
from ._check import check, checked
from ._interned import (
    apart,
    apply,
    changing,
    merged,
    node_class,
    recording_nodes,
    shared,
    step_numbers,
    unrecorded,
)
from ._leaves import Constant, Input, Iota, Literal, SizeOf, literal_form
from ._node import Node, Static, as_sympy, element_count
from ._rounding import bit_for_bit, is_promised
from ._walk import topological, walks_kept
from ._where import (
    Where,
    defined_at,
    inherited,
    inheriting,
    printable,
    raised_at,
    scipy_call,
    set_inherited,
    user_line,
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
    "bit_for_bit",
    "bodies",
    "changing",
    "check",
    "checked",
    "defined_at",
    "element_count",
    "inherited",
    "inheriting",
    "is_promised",
    "literal_form",
    "merged",
    "node_class",
    "printable",
    "raised_at",
    "recording_nodes",
    "scipy_call",
    "set_inherited",
    "shared",
    "step_numbers",
    "topological",
    "unrecorded",
    "user_line",
    "walks_kept",
]
