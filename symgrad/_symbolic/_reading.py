"""From a function to formulas: of its results, or of their derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp

from .._graph import Input
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
from ._formula import Formula, Shape, equation_of
from ._indices import index_symbols
from ._left import Variable
from ._notes import notes_of, taken_branches
from ._patience import Patience
from ._shorter import TRIED, simplified

#: Said below derivatives that are listed by element.
ELSEWHERE = "by elements that are not listed it is 0"


def formula_of(
    function: Function,
    wrt: Sequence[Input] = (),
    simplify: bool = True,
    elements: Elements | None = None,
) -> Formula:
    """Return the formulas of a function's results, or of their derivatives.

    Parameters
    ----------
    function:
        A graph or a program.
    wrt:
        The inputs to differentiate by, in turn.
    simplify:
        Whether the function's own formulas are simplified; derivatives always are.
    elements:
        Those of the function, if names in several formulas are to be the same.
    """
    with sympy_depth():
        return _formula_of(function, wrt, simplify, elements or elements_of(function))


def _formula_of(
    function: Function, wrt: Sequence[Input], simplify: bool, elements: Elements
) -> Formula:
    patience, taken = Patience.of_a_reader(), elements.taken
    if wrt:
        found = repeated_derivatives(function, wrt, patience, elements)
    else:
        found = formulas(function, elements)
        if simplify:
            found = [e if is_condition(e) else simplified(unevaluated(e), patience) for e in found]
    count = len(function.outputs)
    naming = Patience.of_a_reader()
    names = ["out"] if count == 1 else [f"out{k}" for k in range(count)]
    equations, notes = [], []
    argued = named_sizes(function)
    for node, name, expression in zip(function.outputs, names, found, strict=True):
        parts = [(name + "_" * (name in taken), node.shape), *((x.name, x.shape) for x in wrt)]
        letters = iter(index_symbols(sum(len(shape) for _, shape in parts), taken))
        variables = [
            Variable(n, tuple(next(letters) for _ in shape), _sizes(shape, elements, argued))
            for n, shape in parts
        ]
        single = components(variables[1:], expression) if wrt else None
        notes += [ELSEWHERE] if single and ELSEWHERE not in notes else []
        for by, value in single or [(tuple(variables[1:]), expression)]:
            short = simplified(unevaluated(value), patience) if single else value
            shapes = shapes_of(function, elements)
            equations.append(equation_of(variables[0], by, short, shapes, naming))
            patience.gave_up |= bool(wrt) and short.count_ops() > TRIED
    notes += [*notes_of(equations, elements), *taken_branches(function.conditions, elements)]
    return Formula(tuple(equations), patience.gave_up or naming.gave_up, tuple(notes))


def _sizes(shape: Shape, elements: Elements, names: Mapping[Any, Any]) -> Shape:
    known = with_lengths(shape, elements.lengths)
    return tuple(sp.sympify(d).xreplace(names) for d in known)
