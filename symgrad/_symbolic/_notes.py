"""What has to be said below a formula: constants in it, what it holds for, how it counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sympy as sp

from .._graph import Node
from ..errors import UnsupportedError
from ._conditions import plain_condition
from ._element import Elements
from ._equation import Equation
from ._indices import positions, rename_bound
from ._printing import text

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
