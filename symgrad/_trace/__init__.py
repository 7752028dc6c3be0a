"""Tracing: an ordinary NumPy function becomes a graph of nodes."""

from .._graph._types import promote
from .._shapes import Size
from ._bind import as_node, bind_nodes, cast
from ._examples import Examples
from ._formula import evaluate, partials
from ._function import (
    EnclosedError,
    Graph,
    carried_out,
    close_conditions,
    collect,
    fresh,
    is_value,
    require_traced,
    substitute,
    trace,
)
from ._signature import LeafKind, Signature, argument_names, as_leaf, signature_of
from ._traced import Traced, as_traced
from ._tree import LEAF, Tree, flatten

Size.lift = staticmethod(lambda size: Traced(as_node(size), weak=int))

__all__ = [
    "LEAF",
    "EnclosedError",
    "Examples",
    "Graph",
    "LeafKind",
    "Signature",
    "Traced",
    "Tree",
    "argument_names",
    "as_leaf",
    "as_node",
    "as_traced",
    "bind_nodes",
    "carried_out",
    "cast",
    "close_conditions",
    "collect",
    "evaluate",
    "flatten",
    "fresh",
    "is_value",
    "partials",
    "promote",
    "require_traced",
    "signature_of",
    "substitute",
    "trace",
]
