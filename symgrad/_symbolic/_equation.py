"""One formula: what is found of a result or a derivative, in index and in matrix notation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import sympy as sp

from ._binders import as_sympy, unevaluated
from ._element import is_condition
from ._indices import plain_positions
from ._left import Variable
from ._matrix import matrix_notation
from ._named import Named
from ._naming import named_parts
from ._notation import rank
from ._patience import Patience
from ._printing import text
from ._signs import without_signs

Shape = tuple[Any, ...]


@dataclass(frozen=True)
class Equation:
    """One formula: of a result, or of a derivative of it.

    Attributes
    ----------
    result:
        The result, with its indices.
    wrt:
        The arguments it is differentiated by, in turn.
    expression:
        The formula in index notation, everything written out.
    short:
        The same with names for what is repeated.
    matrix:
        ``short`` in matrix notation, or None where there is none.
    parts:
        What the names mean, in index notation and (or None) matrix notation.
    """

    result: Variable
    wrt: tuple[Variable, ...]
    expression: Any
    short: Any
    matrix: Any
    parts: tuple[tuple[Named, Any], ...] = ()

    @property
    def indices(self) -> tuple[sp.Symbol, ...]:
        """The free indices: of the result, then of the arguments."""
        return tuple(i for v in (self.result, *self.wrt) for i in v.indices if i.is_Symbol)

    @property
    def operations(self) -> int:
        """How many operations are written, names' meanings included."""
        return sum(int(e.count_ops()) for e in (self.short, *(p.formula for p, _ in self.parts)))


def equation_of(
    result: Variable,
    wrt: Sequence[Variable],
    expression: Any,
    shapes: Mapping[str, Shape],
    patience: Patience | None = None,
) -> Equation:
    """Return the equation of an expression in index notation.

    Parameters
    ----------
    result, wrt:
        What the expression is, and by what it is differentiated.
    expression:
        In the indices of ``result`` and ``wrt``.
    shapes:
        The shapes of all arguments by name.
    patience:
        The time that looking for repeated parts may take; by default as long as a reader waits.
    """
    pairs = [p for v in (result, *wrt) for p in zip(v.indices, v.sizes, strict=True)]
    sizes = {i: size for i, size in pairs if i.is_Symbol}
    expression = unevaluated(expression)
    if is_condition(expression):
        return Equation(result, tuple(wrt), expression, expression, None)
    known = dict(shapes)
    plain = plain_positions(expression)
    taken = {*known, *(str(s) for shape in known.values() for s in shape), result.name}
    short, found = named_parts(plain, sizes, taken, patience)
    patience = patience or Patience.of_a_reader()
    short = patience.attempt(without_signs, short, short)
    parts = []
    for part in found:
        own = dict(zip(part.indices, part.sizes, strict=True))
        known[part.name] = part.sizes
        parts.append((part, _matrix(part.formula, own, known, patience)))
    matrix = _matrix(short, sizes, known, patience)
    if parts:
        whole = _matrix(plain, sizes, known, patience)
        if whole is not None and len(text(whole)) + LINE <= _length(matrix, parts):
            matrix = whole
    expression, short = as_sympy(expression), as_sympy(short)
    return Equation(result, tuple(wrt), expression, short, matrix, tuple(parts))


def _matrix(
    e: Any, sizes: Mapping[Any, Any], shapes: Mapping[str, Shape], patience: Patience
) -> Any:
    """Return the matrix notation; None also where it takes too long to find."""
    form = partial(matrix_notation, indices=tuple(sizes), sizes=sizes, shapes=shapes)
    return patience.attempt(form, e, None)


#: So many characters the matrix notation must be shorter without names, to have none.
LINE = 8


def _length(matrix: Any, parts: Sequence[tuple[Named, Any]]) -> float:
    """Return how long a form in matrix notation is together with its names' meanings."""
    forms = [matrix, *(form for _, form in parts)]
    if any(form is None for form in forms):
        return math.inf
    return sum(len(text(form)) for form in forms)


def uses_arrays(equation: Equation) -> bool:
    """Tell whether the two notations of an equation differ."""
    return bool(equation.indices) or rank_inside(equation.matrix)


def rank_inside(form: Any) -> bool:
    """Tell whether vectors or matrices occur in a form."""
    return form is not None and (rank(form) > 0 or any(map(rank_inside, form.args)))
