"""From a function to formulas: of its results, or of their derivatives, with notes below.

Where a function picks elements of an array by number, its derivative by ``p[i]`` is a row of
deltas, ``KroneckerDelta(0, i)*... + KroneckerDelta(3, i)*...``. Listed one by one it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import sympy as sp

from .._core.base.sizes import as_expr
from .._core.graph import Input, Node
from ..errors import UnsupportedError
from ._binders import unevaluated
from ._cases import plain_condition
from ._derive import Function, elements_of, formulas, named_sizes, repeated_derivatives, shapes_of
from ._element import Elements, is_condition, sympy_depth, with_lengths
from ._equation import Equation, Shape, Variable, equation_of
from ._formula import Formula
from ._limits import Patience
from ._names import index_symbols, positions, rename_bound
from ._printing import text
from ._shortening import TRIED, simplified

#: Conditions of more characters are named by their line, and so many are listed.
LONGEST, LISTED = 80, 4


def notes_of(equations: Iterable[Equation], elements: Elements) -> list[str]:
    """Return what a reader has to know to understand some equations."""
    equations = list(equations)
    whole = [e.expression for e in equations if isinstance(e.expression, sp.Basic)]
    used = {base.name for e in whole for base in e.atoms(sp.IndexedBase)}
    notes = [
        f"{name} is a constant: {node.dtype.name}[{', '.join(map(str, node.shape))}]"
        for node, name in elements.constants.items()
        if name in used
    ]
    names = sorted({m.args[0].base.name for e in whole for m in positions(e)})
    if names:
        notes.append(f"numbers in {' and '.join(names)} below 0 count from the end")
    sizes = {s for e in whole for s in e.free_symbols}
    notes += [f"for {s} = {k}, as the code asks" for k, s in elements.lengths.items() if s in sizes]
    return notes


def taken_branches(conditions: Sequence[Node], elements: Elements) -> list[str]:
    """Return under which conditions a function's decisions are those of the example call.

    Parameters
    ----------
    conditions:
        Truth values without a shape, in the order in which the function asked for them.
    elements:
        Those of the function.
    """
    said = dict.fromkeys(_condition(node, elements) for node in conditions)
    notes = [f"for {one}, as in this call" for one in list(said)[:LISTED]]
    left = len(said) - len(notes)
    more = f"{left} decisions more that are" if left > 1 else "one decision more that is"
    return notes + [f"and {more} taken as in this call"] * (left > 0)


def _condition(node: Node, elements: Elements) -> str:
    try:
        formula = plain_condition(elements.expression(node, ()))
        found = text(rename_bound(formula, elements.taken))
    except (UnsupportedError, NotImplementedError):
        found = ""
    if found and len(found) <= LONGEST:
        return found
    return f"the branch taken at {node.where}" if node.where else "the branch taken"


#: By more elements the derivative is not listed.
MOST = 12


def components(
    wrt: Sequence[Variable], expression: Any
) -> list[tuple[tuple[Variable, ...], Any]] | None:
    """Return the elements by which the derivative is not zero, each with it.

    Parameters
    ----------
    wrt:
        The arguments, with the indices that occur in ``expression``.
    expression:
        A derivative in index notation.

    Returns
    -------
    list or None
        Of mixed second derivatives one of two. None where the derivative is not of this kind,
        or has too many elements.
    """
    places = [_places(i, expression) for v in wrt for i in v.indices]
    if not places or any(p is None for p in places):
        return None
    indices = [i for v in wrt for i in v.indices]
    if sp.prod([len(p or ()) for p in places]) > MOST:
        return None
    for i in indices:  # every term must pick: x[0]*Sum(x[k], ...) depends on all elements
        none = {d: sp.S.Zero for d in expression.atoms(sp.KroneckerDelta) if d.has(i)}
        if sp.expand(expression.xreplace(none)) != 0:
            return None
    found = []
    for combination in product(*(p or () for p in places)):
        swap = dict(zip(indices, combination, strict=True))
        value = expression.xreplace(swap)
        mirrored = len({v.name for v in wrt}) == 1 and combination > combination[::-1]
        if value != 0 and not (len(wrt) == len(indices) == 2 and mirrored):
            variables = tuple(replace(v, indices=tuple(swap[i] for i in v.indices)) for v in wrt)
            found.append((variables, value))
    return found or None


def _places(index: sp.Symbol, expression: Any) -> list[Any] | None:
    """Return the numbers with which an index is compared, if nothing else is done with it."""
    found: dict[Any, sp.Dummy] = {}
    values = set()
    for delta in expression.atoms(sp.KroneckerDelta):
        if not delta.has(index):
            continue
        others = [a for a in delta.args if a != index]
        if len(others) != 1 or not others[0].is_Integer:
            return None
        found[delta] = sp.Dummy()
        values.add(others[0])
    if not values or expression.xreplace(found).has(index):
        return None
    return sorted(values)


#: Said below derivatives that are listed by element.
ELSEWHERE = "by elements that are not listed it is 0"


def formula_of(
    function: Function,
    wrt: Sequence[Sequence[Input]] = ((),),
    simplify: bool = True,
    elements: Elements | None = None,
    patience: Patience | None = None,
) -> Formula:
    """Return the formulas of a function's results, or of their derivatives.

    Parameters
    ----------
    function:
        A graph or a program.
    wrt:
        For each derivative the inputs to differentiate by, in turn; none for the function.
    simplify:
        Whether the function's own formulas are simplified; derivatives always are.
    elements:
        Those of the function, if names in several formulas are to be the same.
    patience:
        The time that simplification may take; by default as long as a reader waits.

    Raises
    ------
    UnsupportedError
        If the formula is too large to be read, or takes too long to be written.
    """
    patience, elements = patience or Patience.of_a_reader(), elements or elements_of(function)
    with sympy_depth():
        return patience.required(partial(_formula_of, function, wrt, simplify, elements, patience))


def _formula_of(
    function: Function,
    wrt: Sequence[Sequence[Input]],
    simplify: bool,
    elements: Elements,
    patience: Patience,
) -> Formula:
    found = [
        one
        for path in patience.among(wrt)
        for one in _expressions(function, path, simplify, elements, patience)
    ]
    naming, equations = patience.for_names(), []
    shapes = shapes_of(function, elements)
    for left, by, right in naming.among(found):
        equations.append(equation_of(left, by, right, shapes, naming))
        patience.gave_up |= bool(by) and right.count_ops() > TRIED
    listed = any(i.is_Integer for e in equations for v in e.wrt for i in v.indices)
    notes = [ELSEWHERE] if listed else []
    notes += [*notes_of(equations, elements), *taken_branches(function.conditions, elements)]
    return Formula(tuple(equations), patience.gave_up or naming.gave_up, tuple(notes))


def _expressions(
    function: Function,
    path: Sequence[Input],
    simplify: bool,
    elements: Elements,
    patience: Patience,
) -> Iterator[tuple[Variable, tuple[Variable, ...], Any]]:
    """Yield left sides, result and arguments, and their formulas."""
    taken = elements.taken
    if path:
        found = repeated_derivatives(function, path, patience, elements)
    else:
        found = formulas(function, elements)
        if simplify:
            found = [_simplified(e, patience) for e in patience.among(found)]
    count, argued = len(function.outputs), named_sizes(function)
    names = ["out"] if count == 1 else [f"out{k}" for k in range(count)]
    for node, name, expression in zip(function.outputs, names, found, strict=True):
        parts = [(name + "_" * (name in taken), node.shape), *((x.name, x.shape) for x in path)]
        letters = iter(index_symbols(sum(len(shape) for _, shape in parts), taken))
        left, *by = [
            Variable(n, tuple(next(letters) for _ in shape), _sizes(shape, elements, argued))
            for n, shape in parts
        ]
        single = components(by, expression) if path else None
        for at, value in patience.among(single or []):
            yield left, at, _simplified(value, patience)
        if not single:
            yield left, tuple(by), expression


def _simplified(e: Any, patience: Patience) -> Any:
    return e if is_condition(e) else simplified(unevaluated(e), patience)


def _sizes(shape: Shape, elements: Elements, names: Mapping[Any, Any]) -> Shape:
    known = with_lengths(shape, elements.lengths)
    return tuple(as_expr(d).xreplace(names) for d in known)
