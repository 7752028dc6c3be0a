"""Places of a sparse derivative that are known while tracing, as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .._graph import Input, Node, topological
from .._op import Bodied
from .._shapes import Dimension, as_expr, hint
from .._trace._known import known_values
from ..errors import TraceError


def numbers_of(
    nodes: Sequence[Node], dims: Iterable[Dimension]
) -> tuple[list[Any], dict[Any, int]]:
    """Return the numbers of nodes and of the symbols in ``dims``, which are then fixed by guards.

    Raises
    ------
    TraceError
        If the nodes depend on values that have no numbers while tracing.
    """
    dims = [*dims]
    found = known_values(nodes, dims)
    if found is None:
        order = topological(nodes)
        unknown = [x.name for x in order if isinstance(x, Input)]
        unknown += [f"{x.op.name} [{x.where}]" for x in order if isinstance(x.op, Bodied)]
        raise TraceError(
            "in a traced function the pattern of a sparse derivative is found while tracing, and "
            f"it depends on elements that are not known then: those of {', '.join(unknown)}. "
            "Write instead: a function that closes over its index arrays"
        )
    return found, {s: hint(s) for n in dims for s in as_expr(n).free_symbols}
