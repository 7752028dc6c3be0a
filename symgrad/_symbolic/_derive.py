"""What a graph computes and its derivatives, in index notation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
import sympy as sp

from .._core.base.sizes import as_expr
from .._core.graph import Constant, Input, Node, topological
from ._binders import as_sympy
from ._deltas import resolve
from ._element import Elements, indexed, is_condition, with_lengths
from ._limits import Patience
from ._names import index_symbols, rename_bound
from ._shortening import simplified

Ranges = dict[sp.Symbol, tuple[Any, Any]]


class Function(Protocol):
    """A function as a graph or as a program: its inputs and its results."""

    @property
    def inputs(self) -> Sequence[Input]:
        """The arguments."""

    @property
    def outputs(self) -> Sequence[Node]:
        """The results."""

    @property
    def guards(self) -> Mapping[Any, bool]:
        """What it takes for granted of the sizes."""

    @property
    def conditions(self) -> Sequence[Node]:
        """What it takes for granted of the values."""


def lengths_of(graph: Function) -> dict[Any, Any]:
    """Return for each number that one size is taken for granted to be, the size's symbol.

    ``len(x)`` is a number to Python, 4 in a call: where it comes back as a shape, it is ``n``.
    """
    found: dict[int, dict[Any, None]] = {}
    for guard, truth in graph.guards.items():
        if truth and isinstance(guard, sp.Eq):
            for size, number in (guard.args, guard.args[::-1]):
                if size.is_Symbol and number.is_Integer:
                    found.setdefault(int(number), {})[size] = None
    return {n: next(iter(sizes)) for n, sizes in found.items() if len(sizes) == 1 and n > 1}


def named_sizes(graph: Function) -> dict[Any, Any]:
    """Return for each size that is an argument, and no length of one, a symbol of its name.

    A whole number is traced as a size, ``n``; the ``k`` of ``f(x, k)`` is read as ``k``.
    """
    lengths = {s for x in graph.inputs for d in x.shape for s in as_expr(d).free_symbols}
    return {
        x.dim: sp.Symbol(x.name, **x.dim.assumptions0)
        for x in graph.inputs
        if x.dim is not None and x.dim not in lengths
    }


def taken_names(graph: Function) -> set[str]:
    """Names that indices must not have: of inputs and of sizes."""
    sizes = {str(d) for n in graph.inputs for d in n.shape}
    return {n.name for n in graph.inputs} | sizes


def shapes_of(graph: Function, elements: Elements) -> dict[str, tuple[Any, ...]]:
    """Return the shapes of inputs and of arrays of numbers by name."""
    arrays = [(x.name, x.shape) for x in graph.inputs]
    arrays += [
        (name, with_lengths(x.shape, elements.lengths)) for x, name in elements.constants.items()
    ]
    return {name: tuple(map(as_expr, shape)) for name, shape in arrays}


def elements_of(graph: Function, variables: Mapping[str, Any] = MappingProxyType({})) -> Elements:
    """Return the elements of a function's steps, its arrays of numbers under the user's names.

    Parameters
    ----------
    graph:
        A function's graph or program.
    variables:
        Arrays that the function's code reads, by name.
    """
    made = Elements(taken=taken_names(graph), lengths=lengths_of(graph))
    for node in topological(graph.outputs):
        for name, value in variables.items():
            free = isinstance(node, Constant) and node.shape and name not in made.taken
            if free and np.array_equal(value, node.array):
                made.constants[node] = name
                made.taken.add(name)
                break
    return made


def formulas(graph: Function, elements: Elements | None = None) -> list[Any]:
    """Return one SymPy expression for each output, in indices ``i, j, ...``."""
    elements = elements or elements_of(graph)
    taken, lengths = elements.taken, elements.lengths
    found = []
    for node in graph.outputs:
        index = index_symbols(len(node.shape), taken)
        plain = elements.expression(node, tuple(index))
        found.append(as_sympy(_finished(plain, _ranges(node, index, lengths), taken)))
    names = named_sizes(graph)
    return [e.xreplace(names) for e in found] if names else found


def repeated_derivatives(
    graph: Function,
    wrt: Sequence[Input],
    patience: Patience | None = None,
    elements: Elements | None = None,
) -> list[Any]:
    """Return for each output its derivative by an element of each of ``wrt`` in turn."""
    elements, patience = elements or elements_of(graph), patience or Patience.of_a_reader()
    taken, lengths = elements.taken, elements.lengths
    found = []
    for node in patience.among(graph.outputs):
        count = len(node.shape) + sum(len(x.shape) for x in wrt)
        letters = index_symbols(count, taken)
        inner = letters[: len(node.shape)]
        expression = elements.expression(node, tuple(inner))
        ranges, rest = _ranges(node, inner, lengths), letters[len(inner) :]
        ranges |= {size: (sp.Integer(k), sp.Integer(k)) for k, size in lengths.items()}
        for x in patience.among(wrt):
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
                expression = simplified(expression, patience)
        found.append(as_sympy(_renamed(expression, taken | {i.name for i in ranges})))
    names = named_sizes(graph)
    return [e.xreplace(names) for e in found] if names else found


def derivative_of(expression: Any, target: Any) -> Any:
    """Return SymPy's derivative; of a truth value, an integer or a step it is 0."""
    if is_condition(expression):
        return sp.Integer(0)
    # SymPy leaves the derivatives of these open: Subs(Derivative(floor(u), u), u, x/y).
    held = {e: _Held(e) for e in expression.atoms(sp.floor, sp.ceiling, sp.sign)}
    slope = sp.diff(expression.xreplace(held), target)
    # Not those of above: an extremum's derivative holds them under other indices, too.
    slope = slope.xreplace({h: h.args[0] for h in slope.atoms(_Held)})
    # By convention a delta is 0 everywhere.
    none = dict.fromkeys(slope.atoms(sp.DiracDelta), sp.S.Zero)
    none |= {e: sp.S.Zero for e in slope.atoms(sp.SingularityFunction) if e.args[2].is_negative}
    none |= {e: sp.S.Zero for e in slope.atoms(sp.Integral) if e.function == 0}
    return slope.xreplace(none) if none else slope


class _Held(sp.Function):  # type: ignore[misc]
    """Its argument, held constant in derivatives."""

    is_real = True

    def _eval_derivative(self, _: Any) -> Any:
        return sp.Integer(0)


def _ranges(
    node: Node, index: Sequence[sp.Symbol], lengths: Mapping[Any, Any] = MappingProxyType({})
) -> Ranges:
    shape = with_lengths(node.shape, lengths)
    return {i: (sp.Integer(0), as_expr(d) - 1) for i, d in zip(index, shape, strict=True)}


def _renamed(expression: Any, names: set[str]) -> Any:
    return expression if is_condition(expression) else rename_bound(expression, names)


def _finished(expression: Any, ranges: Ranges, taken: set[str]) -> Any:
    """Resolve sums and name bound indices."""
    if is_condition(expression):
        return expression
    return rename_bound(resolve(expression, ranges), taken | {i.name for i in ranges})
