"""Formulas to read: ``d out/d x = (A + A^T) x``, as text, Unicode, LaTeX and MathML.

Each equation names its repeated parts on its own. Listed together, a part that several share
keeps one name, and other parts that were given the same name get another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import sympy as sp

from ._equation import Equation, inside, left_latex, left_mathml, left_text, uses_arrays
from ._html import STYLE, aligned, mathml
from ._limits import LATE
from ._names import PLACES, Named
from ._naming import NAMES
from ._printing import beside, latex, text, words_latex


def shared_names(equations: Sequence[Equation]) -> tuple[Equation, ...]:
    """Return the equations with names that mean the same in all of them."""
    used = {s.name for e in equations for s in e.expression.atoms(sp.Symbol)}
    used |= {v.name for e in equations for v in (e.result, *e.wrt)}
    fresh = _letters(used)
    known: dict[Any, Named] = {}
    taken: set[str] = set()
    found = []
    for e in equations:
        swap: dict[str, str] = {}
        parts = []
        for part, form in e.parts:
            formula = renamed(part.formula, swap)
            places = dict(zip(part.indices, PLACES, strict=False))
            key = (formula.xreplace(places), part.sizes)
            same = known.get(key)
            if same is None:
                name = (
                    part.name
                    if part.name not in taken
                    else next(n for n in fresh if n not in taken)
                )
                same = known[key] = replace(part, name=name, formula=formula)
                taken.add(name)
            swap[part.name] = same.name
            parts.append((same, renamed(form, swap)))
        found.append(replace(
            e, short=renamed(e.short, swap), matrix=renamed(e.matrix, swap), parts=tuple(parts)
        ))  # fmt: skip
    return tuple(found)


def renamed(expression: Any, names: Mapping[str, str]) -> Any:
    """Return an expression with other names for some of its symbols, all at once."""
    if not isinstance(expression, sp.Basic):
        return expression
    swap = {
        s: sp.Symbol(names[s.name], **s.assumptions0)
        for s in expression.atoms(sp.Symbol)
        if names.get(s.name, s.name) != s.name
    }
    return expression.xreplace(swap)


def _letters(used: set[str]) -> Iterator[str]:
    for k in count():
        for letter in NAMES:
            name = f"{letter}{k or ''}"
            if name not in used:
                yield name


_DERIVATIVE = re.compile(r"\bd(?=\d* ) ?")


@dataclass(frozen=True)
class Formula:
    """The formulas of a function's results or derivatives, to be read.

    ``print`` it, or show it in a notebook. Other forms are made by its methods.

    Attributes
    ----------
    equations:
        One for each result, and for derivatives for each argument.
    gave_up:
        Whether the time for simplifying has run out: then a shorter form may exist.
    notes:
        What else there is to know.
    """

    equations: tuple[Equation, ...]
    gave_up: bool = False
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.equations) > 1:
            object.__setattr__(self, "equations", shared_names(self.equations))

    @property
    def expression(self) -> Any:
        """The first equation's SymPy expression, in index notation."""
        return self.equations[0].expression

    @property
    def matrix(self) -> Any:
        """The first equation in matrix notation, or None."""
        return self.equations[0].matrix

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is said below the equations: the notes, and whether simplifying was given up."""
        return (*self.notes, LATE) if self.gave_up else self.notes

    # ---------------------------------------------------------------- rows of equations

    def _rows(self, notation: str) -> Iterator[tuple[Equation, str, Any, list[Any]]]:
        """Yield each line: its equation, the notation, the right side, and its names."""
        for e in self.equations:
            with_matrix = e.matrix is not None and uses_arrays(e)
            if notation != "matrix" or not with_matrix:
                yield e, "index", e.short, [(p.at(p.indices), p.formula) for p, _ in e.parts]
            if notation != "index" and with_matrix:
                yield e, "matrix", e.matrix, _names_in(e)

    def rows(self, notation: str = "both") -> list[tuple[str, str]]:
        """Return the left and right side of each line of plain text, names last."""
        lines: list[tuple[str, str]] = []
        names: dict[str, str] = {}
        for e, kind, right, parts in self._rows(notation):
            lines.append((left_text(e.result, e.wrt, kind), text(right)))
            names |= {text(a): text(b) for a, b in parts}
        return lines + [(f"    where {a}", b) for a, b in names.items()]

    def text(self, notation: str = "both") -> str:
        """Return plain text, a line for each equation.

        Parameters
        ----------
        notation:
            ``"index"``, ``"matrix"`` (index notation where there is no other) or ``"both"``.
        """
        lines = self.rows(notation)
        width = max((len(a) for a, _ in lines if not a.startswith(" ")), default=0)
        rows = [f"{a} = {b}" if a.startswith(" ") else f"{a:{width}} = {b}" for a, b in lines]
        rows += [f"    ({remark})" for remark in self.remarks]
        return "\n".join(rows)

    def __str__(self) -> str:
        return self.text()

    def pretty(self, notation: str = "both") -> str:
        """Return a picture of each equation in Unicode characters."""
        blocks: list[str] = []
        names: dict[str, str] = {}
        for e, kind, right, parts in self._rows(notation):
            blocks.append(beside(_DERIVATIVE.sub("∂", left_text(e.result, e.wrt, kind)), right))
            names |= {text(a): beside(text(a), b) for a, b in parts}
        return "\n\n".join([*blocks, *names.values(), *(f"({remark})" for remark in self.remarks)])

    def latex(self, notation: str = "both") -> str:
        """Return LaTeX: one equation, or an ``aligned`` block of several."""
        rows: list[tuple[str, str]] = []
        names: dict[str, str] = {}
        for e, kind, right, parts in self._rows(notation):
            rows.append((left_latex(e.result, e.wrt, kind), latex(right)))
            names |= {latex(a): latex(b) for a, b in parts}
        rows += list(names.items())
        if len(rows) == 1 and not self.remarks:
            return " = ".join(rows[0])
        lines = [f"{left} &= {right}" for left, right in rows]
        lines += [rf"& \text{{({words_latex(remark)})}}" for remark in self.remarks]
        body = " \\\\\n".join(lines)
        return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"

    def mathml(self, notation: str = "both") -> str:
        """Return MathML, one ``math`` element for each equation, drawn without a script."""
        found: dict[str, None] = {}
        for e, kind, right, _ in self._rows(notation):
            found[_math(left_mathml(e.result, e.wrt, kind), right)] = None
        for *_, parts in self._rows(notation):
            for a, b in parts:
                found[_math(inside(mathml(a)), b)] = None
        return "\n".join(found)

    def html(self, notation: str = "both", style: bool = True) -> str:
        """Return HTML with MathML: equations one below the other, for any page.

        Parameters
        ----------
        notation:
            As for :meth:`text`.
        style:
            Whether the element is preceded by its style sheet, which a page needs once.
        """
        rows = [(left_mathml(e.result, e.wrt, kind), right)
                for e, kind, right, _ in self._rows(notation)]  # fmt: skip
        names = {inside(mathml(a)): b for *_, parts in self._rows(notation) for a, b in parts}
        body = aligned(rows, names.items(), self.remarks)
        return f"<style>\n{STYLE}\n</style>\n{body}" if style else body

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def _repr_html_(self) -> str:
        return self.html()


def _names_in(equation: Equation) -> list[tuple[Any, Any]]:
    """Return the names that the matrix notation uses, directly or by another name."""
    found, used = [], _symbols(equation.matrix)
    for part, form in reversed(equation.parts):
        if part.name in used:
            used |= _symbols(form)
            plain = (part.at(part.indices), part.formula)
            found.append(plain if form is None else (sp.Symbol(part.name), form))
    return found[::-1]


def _symbols(form: Any) -> set[str]:
    return set() if form is None else {s.name for s in form.atoms(sp.Symbol)}


def _math(left: str, right: Any) -> str:
    inner = inside(mathml(right))
    return (
        '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">'
        f"<mrow>{left}<mo>=</mo>{inner}</mrow></math>"
    )
