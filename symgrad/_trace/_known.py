"""Numbers that a traced value has already: those computed from literals and sizes alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from .._graph import Constant, Input, Iota, Literal, Node, SizeOf, topological
from .._op import Bodied
from .._shapes import guard, hint

#: Larger graphs are not searched for a number.
LIMIT = 256


def known_number(node: Node) -> Any:
    """Return the number of a 0-d value that depends on no argument but sizes, else None.

    The sizes are then fixed by guards, as they are for ``int(n)``.
    """
    return None if node.shape else known_value(node)


def known_value(node: Node) -> Any:
    """Return the numbers of a value that depends on no argument but sizes, else None."""
    nodes = topological([node], limit=LIMIT)
    if len(nodes) == LIMIT:
        return None
    if any(isinstance(n, Input) or isinstance(n.op, Bodied) for n in nodes):
        return None
    values: dict[Node, Any] = {}
    symbols: dict[sp.Symbol, None] = {}
    with np.errstate(all="ignore"):
        for n in nodes:
            values[n] = _value(n, values, symbols)
    for symbol in symbols:
        guard(sp.Eq(symbol, hint(symbol), evaluate=False), value_is=True)
    return values[node]


def _value(node: Node, values: dict[Node, Any], symbols: dict[sp.Symbol, None]) -> Any:
    if isinstance(node, Literal):
        return node.value
    if isinstance(node, Constant):
        return node.array
    if isinstance(node, SizeOf):
        return node.dtype.type(_fixed(node.size, symbols))
    if isinstance(node, Iota):
        return np.arange(_fixed(node.size, symbols))
    params = {k: _fixed(v, symbols) for k, v in node.items}
    return np.asarray(node.op.evaluate(*[values[x] for x in node.operands], **params), node.dtype)


def _fixed(value: Any, symbols: dict[sp.Symbol, None]) -> Any:
    """Return a parameter with its sizes as numbers, noting the symbols."""
    if isinstance(value, tuple):
        return tuple([_fixed(v, symbols) for v in value])
    if isinstance(value, sp.Basic):
        symbols.update(dict.fromkeys(sorted(value.free_symbols, key=str)))
        return hint(value)
    return value
