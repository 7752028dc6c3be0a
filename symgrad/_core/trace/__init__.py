"""Tracing: an ordinary NumPy function becomes a graph of nodes."""

from ..base._sizes import Size
from ..graph._types import promote
from ._bind import as_node, bind, bind_nodes, cast
from ._clocks import Reading
from ._compiled_calls import compiled_call, instead_of_compiled, is_compiled
from ._complex import Complex, flatten_traced, is_complex, to_complex
from ._complex_ops import bind_complex
from ._constants import known_number
from ._decisions import EnclosedError, Examples
from ._formula import evaluate, partials
from ._function import (
    Graph,
    Left,
    Primal,
    arrived,
    carried_out,
    close_conditions,
    collect,
    fresh,
    is_value,
    raise_hidden,
    require_traced,
    say_where,
    substitute,
    trace,
    warn_if_changed,
    with_conditions,
)
from ._signature import (
    SHORT_LAST_AXIS,
    LeafKind,
    Signature,
    argument_name,
    argument_names,
    argument_paths,
    as_leaf,
    as_leaves,
    signature_of,
)
from ._traced import Traced, as_traced, reads_of
from ._tree import LEAF, Tree, as_input, flatten, is_number_list

Traced.with_complex = staticmethod(bind_complex)
Traced.__symgrad_join__ = staticmethod(Complex.of)  # type: ignore[method-assign]
Traced.__symgrad_unpack__ = staticmethod(Complex.unpack)  # type: ignore[method-assign]
Traced.to_complex = staticmethod(to_complex)
Size.lift = staticmethod(lambda size: Traced(as_node(size), weak=int))
