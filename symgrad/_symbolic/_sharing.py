"""One meaning for each name, over all equations of a formula.

Each equation names its repeated parts on its own. Listed together, a part that several share
keeps one name, and other parts that were given the same name get another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import sympy as sp

from ._equation import Equation
from ._named import PLACES, Named
from ._naming import NAMES


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
