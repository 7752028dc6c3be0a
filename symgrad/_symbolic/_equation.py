"""One formula: what it is of, ``d out/d x[i]``, and what is found of it, in both notations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import sympy as sp

from ._binders import as_sympy, unevaluated
from ._element import is_condition
from ._forms import without_signs
from ._html import mathml
from ._limits import Patience
from ._matrix import matrix_notation
from ._names import Named, plain_positions
from ._naming import named_parts
from ._notation import rank
from ._printing import latex, subscripted, text


@dataclass(frozen=True)
class Variable:
    """A result or an argument: its name, its indices and how many values each takes."""

    name: str
    indices: tuple[sp.Symbol, ...] = ()
    sizes: tuple[Any, ...] = ()


def inside(element: str) -> str:
    """Return what is between an element's tags."""
    return element[element.index(">") + 1 : element.rindex("<")]


def _below(wrt: Sequence[Variable], notation: str) -> list[tuple[Variable, str]]:
    """Return the variables below the line, each with its superscript: ``d x^2``, ``d w^T``."""
    found = [(v, "") for v in wrt]
    if notation == "matrix" and len(wrt) == 2 and wrt[1].indices and _plain(wrt[1], notation):
        found[1] = (wrt[1], "T")
    runs = [(pair, len(list(run))) for pair, run in groupby(found)]
    return [(v, power or (str(n) if n > 1 else "")) for (v, power), n in runs]


def _plain(v: Variable, notation: str) -> bool:
    """Tell whether a variable stands without indices; a single element keeps its numbers."""
    return not v.indices or (notation == "matrix" and all(i.is_Symbol for i in v.indices))


def left_text(result: Variable, wrt: Sequence[Variable] = (), notation: str = "index") -> str:
    """Return what a formula is of, as text.

    Parameters
    ----------
    result:
        The result.
    wrt:
        What it is differentiated by, in turn.
    notation:
        ``"index"`` or ``"matrix"``: without indices.

    Examples
    --------
    >>> x, y = Variable("x"), Variable("y")
    >>> left_text(Variable("f"), [x, x]), left_text(Variable("f"), [x, y])
    ('d2 f/d x^2', 'd2 f/d x d y')
    """

    def place(v: Variable) -> str:
        return v.name if _plain(v, notation) else (
            f"{v.name}[{', '.join(map(text, v.indices))}]")  # fmt: skip

    if not wrt:
        return place(result)
    below = [f"d {place(v)}{power and f'^{power}'}" for v, power in _below(wrt, notation)]
    order = len(wrt) if len(wrt) > 1 else ""
    return f"d{order} {place(result)}/{' '.join(below)}"


def left_latex(result: Variable, wrt: Sequence[Variable] = (), notation: str = "index") -> str:
    """Return what a formula is of, as LaTeX."""

    def place(v: Variable) -> str:
        word = v is result and v.name.isalpha() and len(v.name) > 1
        name = rf"\mathrm{{{v.name}}}" if word else latex(sp.Symbol(v.name))
        if _plain(v, notation):
            return name
        return subscripted(name, ",".join(map(latex, v.indices)))

    if not wrt:
        return place(result)
    below = [rf"\partial {place(v)}{power and f'^{{{power}}}'}"
             for v, power in _below(wrt, notation)]  # fmt: skip
    order = f"^{{{len(wrt)}}}" if len(wrt) > 1 else ""
    return rf"\frac{{\partial{order} {place(result)}}}{{{' '.join(below)}}}"


def left_mathml(result: Variable, wrt: Sequence[Variable] = (), notation: str = "index") -> str:
    """Return what a formula is of, as the inside of a MathML element."""

    def place(v: Variable) -> str:
        name = inside(mathml(sp.Symbol(v.name)))
        if _plain(v, notation):
            return name
        return inside(mathml(sp.IndexedBase(v.name)[v.indices]))

    def raised(base: str, power: str) -> str:
        return f"<msup>{base}<mn>{power}</mn></msup>" if power else base

    if not wrt:
        return place(result)
    below = "".join(f"<mo>∂</mo>{raised(place(v), p)}" for v, p in _below(wrt, notation))
    sign = raised("<mo>∂</mo>", str(len(wrt)) if len(wrt) > 1 else "")
    return f"<mfrac><mrow>{sign}{place(result)}</mrow><mrow>{below}</mrow></mfrac>"


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
