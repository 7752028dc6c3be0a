"""Formulas of graphs: index notation, derivatives in it, and their readable form."""

from __future__ import annotations

from typing import Any

import sympy as sp

from .._graph import Input, Node
from .._trace import Graph
from ._deltas import resolve
from ._element import Elements, exact_number, indexed, is_condition, readable_number
from ._indices import index_symbols, rename_bound
from ._over import Over
from ._shorter import simplified

__all__ = [
    "Elements",
    "Over",
    "derivative_of",
    "derivatives",
    "exact_number",
    "formulas",
    "index_symbols",
    "indexed",
    "is_condition",
    "readable_number",
    "simplified",
]


def _taken(graph: Graph) -> set[str]:
    """Names that indices must not have: of inputs and of sizes."""
    sizes = {str(d) for n in graph.inputs for d in n.shape}
    return {n.name for n in graph.inputs} | sizes


def _free_indices(node: Node, taken: set[str]) -> list[sp.Symbol]:
    return index_symbols(len(node.shape), taken)


def formulas(graph: Graph) -> list[Any]:
    """Return one SymPy expression for each output, in indices ``i, j, ...``."""
    taken = _taken(graph)
    elements = Elements(taken=taken)
    found = []
    for node in graph.outputs:
        index = _free_indices(node, taken)
        plain = elements.expression(node, tuple(index))
        found.append(_finished(plain, _ranges(node, index), index, taken))
    return found


def derivatives(graph: Graph, wrt: Input) -> list[Any]:
    """Return for each output its derivative by one element of the input ``wrt``.

    The indices are those of the output, followed by those of the input.
    """
    taken = _taken(graph)
    elements = Elements(taken=taken)
    found = []
    for node in graph.outputs:
        index = index_symbols(len(node.shape) + len(wrt.shape), taken)
        inner, outer = index[: len(node.shape)], index[len(node.shape) :]
        plain = elements.expression(node, tuple(inner))
        target = indexed(wrt)[tuple(outer)] if wrt.shape else wrt.symbol
        ranges = {**_ranges(node, inner), **_ranges(wrt, outer)}
        found.append(_finished(derivative_of(plain, target), ranges, index, taken, True))
    return found


def derivative_of(expression: Any, target: Any) -> Any:
    """Return SymPy's derivative; of a truth value or an integer it is 0."""
    if is_condition(expression):
        return sp.Integer(0)
    slope = sp.diff(expression, target)
    return slope.replace(sp.DiracDelta, lambda *_: sp.Integer(0))


def _ranges(node: Node, index: list[sp.Symbol]) -> dict[sp.Symbol, tuple[Any, Any]]:
    return {i: (sp.Integer(0), sp.sympify(d) - 1) for i, d in zip(index, node.shape, strict=True)}


def _finished(
    expression: Any, ranges: Any, index: list[sp.Symbol], taken: set[str], simplify: bool = False
) -> Any:
    """Resolve sums, name bound indices, and shorten."""
    if is_condition(expression):
        return expression
    names = taken | {i.name for i in index}
    expression = rename_bound(resolve(expression, ranges), names)
    return simplified(expression) if simplify else expression
