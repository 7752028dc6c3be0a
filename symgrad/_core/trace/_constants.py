"""Numbers that a traced value has already: those computed from literals and sizes alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy as sp

from ..base.sizes import Dimension, guard, hint
from ..graph import Input, Node, leaf_value, topological
from ..op import Bodied

#: Larger graphs are not searched for a number.
LIMIT = 256


def known_number(node: Node) -> Any:
    """Return the number of a 0-d value that depends on no argument but sizes, else None.

    The sizes are then fixed by guards, as they are for ``int(n)``.
    """
    return None if node.shape else known_value(node)


def known_value(node: Node) -> Any:
    """Return the numbers of a value that depends on no argument but sizes, else None."""
    if _may_depend(node):
        return None
    found = _evaluated(topological([node]), {node}, {})
    return None if found is None else found[node]


def _may_depend(node: Node) -> bool:
    """Tell whether a value depends on an argument, or on too much to tell; the nearest first."""
    seen = {node: None}
    for n in (queue := [node]):
        if isinstance(n, Input) or isinstance(n.op, Bodied) or len(seen) >= LIMIT:
            return True
        new = [x for x in n.operands if x not in seen]
        seen |= dict.fromkeys(new)
        queue += new
    return False


def known_values(nodes: Sequence[Node], sizes: Sequence[Dimension]) -> list[Any] | None:
    """Return the numbers of values that depend on no argument but sizes, else None.

    All sizes in them, and ``sizes``, are then fixed by guards. Their graph may be large.
    """
    symbols: dict[sp.Symbol, None] = {}
    for size in sizes:
        _fixed(size, symbols)
    found = _evaluated(topological(nodes), {*nodes}, symbols)
    return None if found is None else [found[x] for x in nodes]


def _evaluated(
    order: Sequence[Node], wanted: set[Node], symbols: dict[sp.Symbol, None]
) -> dict[Node, Any] | None:
    """Return the numbers of ``wanted``, with the sizes in them and ``symbols`` fixed.

    ``order`` has all nodes, operands first.
    """
    if any(isinstance(n, Input) or isinstance(n.op, Bodied) for n in order):
        return None
    last = {x: n for n in order for x in n.operands}
    values: dict[Node, Any] = {}
    with np.errstate(all="ignore"):
        for n in order:
            values[n] = _value(n, values, symbols)
            for x in {*n.operands} - wanted:
                if last[x] is n:
                    del values[x]
    for symbol in symbols:
        guard(sp.Eq(symbol, hint(symbol), evaluate=False), value_is=True)
    return values


def _value(node: Node, values: dict[Node, Any], symbols: dict[sp.Symbol, None]) -> Any:
    if node.op.kind == "leaf":
        return leaf_value(node, lambda size: _fixed(size, symbols))
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
