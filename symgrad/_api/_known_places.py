"""Places of a sparse derivative that are known while tracing, as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .._graph import Input, Node, topological
from .._op import Bodied
from .._shapes import Dimension, as_expr, hint
from .._state import now
from .._trace import Traced, as_node, substitute
from .._trace._known import known_values
from ..errors import TraceError


def numbers_of(
    nodes: Sequence[Node], dims: Iterable[Dimension]
) -> tuple[list[Any], dict[Any, int]]:
    """Return the numbers of nodes and of the symbols in ``dims``, which are then fixed by guards.

    Index arrays among the arguments are those of the example call, and compared in each call.

    Raises
    ------
    TraceError
        If the nodes depend on values that have no numbers while tracing.
    """
    dims = [*dims]
    found = known_values(_decided(nodes), dims)
    if found is None:
        order = topological(nodes)
        unknown = [x.name for x in order if isinstance(x, Input)]
        unknown += [f"{x.op.name} [{x.where}]" for x in order if isinstance(x.op, Bodied)]
        raise TraceError(
            "in a traced function the pattern of a sparse derivative is found while tracing, and "
            f"it depends on elements that are not known then: those of {', '.join(unknown)}. "
            "Write instead: index arrays that are the same for the whole batch or loop, arguments "
            "of the compiled function or what it closes over"
        )
    return found, {s: hint(s) for n in dims for s in as_expr(n).free_symbols}


def _decided(nodes: Sequence[Node]) -> Sequence[Node]:
    """Return nodes with the index arrays that they depend on as numbers, if these are known.

    What the function reads besides its arguments is left: it is a constant of another trace.
    """
    inputs = [x for x in topological(nodes) if isinstance(x, Input)]
    examples = now().examples
    if examples is None or not all(x.dtype.kind in "biu" for x in inputs):
        return nodes
    values = [None if examples.only_reads(x) else examples.value(x) for x in inputs]
    if any(value is None for value in values):
        return nodes
    numbers = [as_node(np.asarray(value)) for value in values]
    for x, number in zip(inputs, numbers, strict=True):
        examples.conditions[as_node(np.all(Traced(x) == Traced(number)))] = None
    return substitute(nodes, dict(zip(inputs, numbers, strict=True)))
