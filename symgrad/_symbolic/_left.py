"""Left-hand sides: what a formula is of, ``d out/d x[i]`` or ``d2 f/d x^2``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import sympy as sp

from ._mathml import mathml
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
