"""Tracing: an ordinary NumPy function becomes a graph of nodes."""

from ..base.sizes import Size
from ..graph._types import promote
from ._arrays import COMPARED, REFLECTED, ArrayMethods, add_operators, declines
from ._attributes import attribute_of
from ._bind import as_node, bind, bind_nodes, cast, kind_of
from ._calls import call
from ._caught_errors import caught_from, named_before, raise_caught
from ._clocks import Reading, reading
from ._compiled_calls import compiled_call, instead_of_compiled, is_compiled
from ._complex import Complex, flatten_traced, is_complex, to_complex
from ._complex_ops import bind_complex
from ._constants import known_number, known_value, known_values
from ._decisions import (
    EnclosedError,
    Examples,
    PlacesError,
    attempt,
    decided,
    is_of_length,
    truth_of,
)
from ._draws import (
    GENERATORS,
    SHARED,
    WITHOUT_PYTHON,
    Drawn,
    Draws,
    Repeated,
    carry_out,
    planned,
    put_back,
    sizes_by,
    state_of,
)
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
    strongest,
    substitute,
    trace,
    warn_if_changed,
    with_conditions,
)
from ._generators import RandomGenerator, in_trace
from ._integers import size_bits
from ._labels import is_table
from ._lists import Lists, ListsError, matches_sequences
from ._mask_selection import in_rows, is_selection
from ._number_refusals import NUMBERS, one_of
from ._records import Column, RecordsError, columns_like
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
from ._traced import Traced, as_traced, reads_of, zeros_like
from ._tree import (
    DEEPEST,
    LEAF,
    MOST_AXES,
    Pair,
    Placed,
    Tree,
    aligned,
    as_input,
    flatten,
    flatten_call,
    is_number_list,
    refuse_depth,
)
from ._views import Layout, layout_of
from .formula import evaluate, partials

Traced.with_complex = staticmethod(bind_complex)
Traced.__symgrad_join__ = staticmethod(Complex.of)  # type: ignore[method-assign]
Traced.__symgrad_unpack__ = staticmethod(Complex.unpack)  # type: ignore[method-assign]
Traced.to_complex = staticmethod(to_complex)
Size.lift = staticmethod(lambda size: Traced(as_node(size), weak=int))
