"""From a function to formulas: of its results, or of their derivatives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from .._graph import Input
from .._shapes import as_expr
from ._binders import unevaluated
from ._components import components
from ._derive import (
    Function,
    elements_of,
    formulas,
    named_sizes,
    repeated_derivatives,
    shapes_of,
)
from ._element import Elements, is_condition, sympy_depth, with_lengths
from ._equation import Shape, equation_of
from ._formula import Formula
from ._indices import index_symbols
from ._left import Variable
from ._notes import notes_of, taken_branches
from ._patience import Patience
from ._shorter import TRIED, simplified

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
