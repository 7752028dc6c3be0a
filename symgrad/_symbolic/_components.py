"""Derivatives by single elements: a function of ``p[0]`` and ``p[3]`` has two, not ``p[i]``.

Where a function picks elements of an array by number, its derivative by ``p[i]`` is a row of
deltas, ``KroneckerDelta(0, i)*... + KroneckerDelta(3, i)*...``. Listed one by one it is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import sympy as sp

from ._left import Variable

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
