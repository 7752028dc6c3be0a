"""What a graph computes and its derivatives, in index notation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import sympy as sp

from .._graph import Input, Node
from ._binders import as_sympy
from ._deltas import resolve
from ._element import Elements, indexed, is_condition
from ._indices import index_symbols, rename_bound
from ._patience import Patience
from ._shorter import simplified

Ranges = dict[sp.Symbol, tuple[Any, Any]]


class Function(Protocol):
    """A function as a graph or as a program: its inputs and its results."""

    @property
    def inputs(self) -> Sequence[Input]:
        """The arguments."""

    @property
    def outputs(self) -> Sequence[Node]:
        """The results."""


def taken_names(graph: Function) -> set[str]:
    """Names that indices must not have: of inputs and of sizes."""
    sizes = {str(d) for n in graph.inputs for d in n.shape}
    return {n.name for n in graph.inputs} | sizes


def shapes_of(graph: Function) -> dict[str, tuple[Any, ...]]:
    """Return the inputs' shapes by name."""
    return {n.name: tuple(map(sp.sympify, n.shape)) for n in graph.inputs}


def formulas(graph: Function) -> list[Any]:
    """Return one SymPy expression for each output, in indices ``i, j, ...``."""
    taken = taken_names(graph)
    elements = Elements(taken=taken)
    found = []
    for node in graph.outputs:
        index = index_symbols(len(node.shape), taken)
        plain = elements.expression(node, tuple(index))
        found.append(as_sympy(_finished(plain, _ranges(node, index), taken)))
    return found


def derivatives(
    graph: Function, wrt: Input, order: int = 1, patience: Patience | None = None
) -> list[Any]:
    """Return for each output its derivative by one element of the input ``wrt``.

    The indices are those of the output, followed by those of the input, once for each
    ``order``.

    Parameters
    ----------
    graph:
        A function's graph or program.
    wrt:
        One of its inputs.
    order:
        How often it is differentiated, each time by another element.
    patience:
        The time that simplification may take; by default as long as a reader waits.
    """
    return repeated_derivatives(graph, [wrt] * order, patience)


def repeated_derivatives(
    graph: Function, wrt: Sequence[Input], patience: Patience | None = None
) -> list[Any]:
    """Return for each output its derivative by an element of each of ``wrt`` in turn."""
    taken = taken_names(graph)
    elements = Elements(taken=taken)
    found = []
    for node in graph.outputs:
        count = len(node.shape) + sum(len(x.shape) for x in wrt)
        letters = index_symbols(count, taken)
        inner = letters[: len(node.shape)]
        expression = elements.expression(node, tuple(inner))
        ranges, rest = _ranges(node, inner), letters[len(inner) :]
        for x in wrt:
            own, rest = rest[: len(x.shape)], rest[len(x.shape) :]
            # Bound indices have names, too: those of the new element must be none of them.
            fresh = [sp.Dummy(i.name, integer=True, nonnegative=True) for i in own]
            target = indexed(x)[tuple(fresh)] if x.shape else x.symbol
            slope = derivative_of(expression, target)
            inside = {**ranges, **_ranges(x, fresh)}
            expression = _finished(slope, inside, taken | {i.name for i in letters})
            expression = expression.xreplace(dict(zip(fresh, own, strict=True)))
            ranges |= _ranges(x, own)
            if not is_condition(expression):
                expression = simplified(expression, patience or Patience.of_a_reader())
        found.append(as_sympy(_renamed(expression, taken | {i.name for i in ranges})))
    return found


def derivative_of(expression: Any, target: Any) -> Any:
    """Return SymPy's derivative; of a truth value, an integer or a step it is 0."""
    if is_condition(expression):
        return sp.Integer(0)
    # SymPy leaves the derivatives of these open: Subs(Derivative(floor(u), u), u, x/y).
    held = {e: _Held(e) for e in expression.atoms(sp.floor, sp.ceiling, sp.sign)}
    slope = sp.diff(expression.xreplace(held), target)
    slope = slope.xreplace({h: e for e, h in held.items()})
    return slope.replace(sp.DiracDelta, lambda *_: sp.Integer(0))


class _Held(sp.Function):  # type: ignore[misc]
    """Its argument, held constant in derivatives."""

    is_real = True

    def _eval_derivative(self, _: Any) -> Any:
        return sp.Integer(0)


def _ranges(node: Node, index: Sequence[sp.Symbol]) -> Ranges:
    return {i: (sp.Integer(0), sp.sympify(d) - 1) for i, d in zip(index, node.shape, strict=True)}


def _renamed(expression: Any, names: set[str]) -> Any:
    return expression if is_condition(expression) else rename_bound(expression, names)


def _finished(expression: Any, ranges: Ranges, taken: set[str]) -> Any:
    """Resolve sums and name bound indices."""
    if is_condition(expression):
        return expression
    return rename_bound(resolve(expression, ranges), taken | {i.name for i in ranges})
