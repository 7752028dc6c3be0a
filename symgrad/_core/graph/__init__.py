"""The graph: interned nodes, walks over them, the laws of a graph, and the checker."""

from ._body import BODIES, BODY, RULE, Body, Rule, bodies, size_symbols, value_text
from ._check import check, checked, checking
from ._interned import (
    also_compared,
    apart,
    apply,
    count_of_nodes,
    lines_of_nodes,
    merged,
    rebuilt,
    recording_nodes,
    remade,
    shared,
)
from ._leaves import Constant, Input, Iota, Literal, SizeOf, leaf_value
from ._node import Node, as_sympy, carrying, element_count, topological, viewed
from ._types import SUPPORTED, check_dtype, more_than_numbers, own_rules, require_numbers, resolve
from ._where import (
    INTERNAL,
    CodeTable,
    Where,
    called_by,
    defined_at,
    is_internal,
    of_symgrad,
    printable,
    raised_at,
    raised_by_scipy,
    scipy_call,
    source_name,
    user_line,
    warn_user,
)
