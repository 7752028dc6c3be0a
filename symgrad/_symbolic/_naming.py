"""Names for parts of a formula that occur more than once: ``s[i]*(1 - s[i])``, where ...

Two parts are the same if they differ in the names of their indices only, so
``exp(x[i])`` and ``exp(x[j])`` share the name of a vector. The logistic function is found
behind whatever rational expression of ``exp(z)`` SymPy has made of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import sympy as sp
from sympy.concrete.expr_with_limits import ExprWithLimits

from ._indices import index_symbols, rename_bound
from ._inverse import Entry, OfMatrix
from ._patience import Patience

#: Names for what is repeated, in the order in which they are given.
NAMES = "strvqzghd"

#: So many parts get a name. A name saves so many operations, or more if it is for a small part.
MOST, LEAST, LEAST_IF_SMALL = 3, 5, 8

#: A part of fewer operations is small; one of a single operation never gets a name.
SMALL = 6

#: Formulas of more operations are searched for equal parts alone, whatever their indices, and get
#: more names.
LARGEST, MOST_IF_LARGE = 400, 9


@dataclass(frozen=True)
class Named:
    """A part of a formula with a name of its own.

    Attributes
    ----------
    name:
        What stands for it.
    indices:
        The indices of ``formula``.
    sizes:
        How many values each of them takes.
    formula:
        What the name means.
    """

    name: str
    indices: tuple[sp.Symbol, ...]
    sizes: tuple[Any, ...]
    formula: Any

    def at(self, indices: Sequence[Any]) -> Any:
        """Return the symbol, or the element at ``indices``."""
        if not indices:
            return sp.Symbol(self.name, real=True)
        return sp.IndexedBase(self.name, real=True)[tuple(indices)]


Sizes = Mapping[sp.Symbol, Any]


def named_parts(expression: Any, sizes: Sizes, taken: Iterable[str]) -> tuple[Any, list[Named]]:
    """Return the formula with names for repeated parts, and what they mean.

    Parameters
    ----------
    expression:
        In index notation.
    sizes:
        How many values each free index takes.
    taken:
        Names that must not be given.
    """
    found: list[Named] = []
    if not isinstance(expression, sp.Expr):
        return expression, found
    used = set(taken) | {i.name for i in sizes} | _letters(expression)
    names = [n for n in NAMES if n not in used]
    patience = Patience.of_a_reader()
    large = expression.count_ops() > LARGEST
    searches = [_equal] * MOST_IF_LARGE if large else [_logistic, *[_repeated] * MOST]
    for search in searches:
        if not names or len(found) >= (MOST_IF_LARGE if large else MOST):
            break
        given = (expression, sizes, names[0], set(taken) | {*names})
        made = (
            _equal(*given)
            if patience.over()
            else patience.attempt(partial(_run, search), given, None)
        )
        if made is not None:
            expression, part = made
            found.append(part)
            names.pop(0)
    return expression, found


def _run(search: Any, given: tuple[Any, ...]) -> Any:
    return search(*given)


def _letters(e: Any) -> set[str]:
    return {k.name for s in e.atoms(ExprWithLimits) for k in s.variables}


def _all_sizes(e: Any, sizes: Sizes) -> dict[sp.Symbol, Any]:
    """Sizes of free and bound indices; an index bound twice to different sizes has none."""
    known = dict(sizes)
    for total in e.atoms(ExprWithLimits):
        for k, low, high in total.limits:
            size = sp.expand(high + 1) if low == 0 else None
            known[k] = size if known.get(k, size) == size else None
    return known


# ---------------------------------------------------------------- what is repeated


def operations(e: Any) -> int:
    """Return the operations of a formula; a sum or a case distinction counts as three more."""
    inside = _outermost(e)  # as often as they are written
    own = sum(3 + sum(map(operations, _bodies(s))) for s in inside)
    return int(e.xreplace({s: sp.Dummy() for s in inside}).count_ops()) + own


def _outermost(e: Any) -> list[Any]:
    """The sums and case distinctions of an expression that lie inside no other."""
    if isinstance(e, (ExprWithLimits, sp.Piecewise)):
        return [e]
    return [s for a in e.args for s in _outermost(a)]


def _bodies(e: Any) -> list[Any]:
    if isinstance(e, ExprWithLimits):
        return [e.function]
    return [a for pair in e.args for a in pair.args if isinstance(a, sp.Basic)]


def _equal(expression: Any, sizes: Sizes, name: str, taken: set[str]) -> tuple[Any, Named] | None:
    """Name the part of a large formula that is written most often; it has no indices."""
    counts: dict[Any, int] = {}
    letters = set(_all_sizes(expression, sizes))
    for e in sp.preorder_traversal(expression):
        if e.args and isinstance(e, sp.Expr) and not e.free_symbols & letters:
            counts[e] = counts.get(e, 0) + 1
    best, gain = None, LEAST_IF_SMALL
    for e, count in counts.items():
        if count > 1 and not e.has(sp.Indexed, ExprWithLimits):
            saved = (count - 1) * (int(e.count_ops()) - 1)
            if saved > gain:
                best, gain = e, saved
    if best is None:
        return None
    part = Named(name, (), (), best)
    return expression.xreplace({best: part.at(())}), part


def _repeated(
    expression: Any, sizes: Sizes, name: str, taken: set[str]
) -> tuple[Any, Named] | None:
    """Name the part whose repetition costs the reader most."""
    known = _all_sizes(expression, sizes)
    counts: dict[Any, int] = {}
    waiting = [expression]
    while waiting:
        e = waiting.pop()
        keys = {_key(part, known) for part in (e, *_normalised(e))}
        for key in keys - {None}:
            counts[key] = counts.get(key, 0) + 1
        waiting += [a for a in e.args if isinstance(a, sp.Basic)]
    sizes_of = {k: operations(k[0]) for k, n in counts.items() if n > 1}
    saved = {k: (counts[k] - 1) * size for k, size in sizes_of.items()
             if (counts[k] - 1) * size >= (LEAST if size >= SMALL else LEAST_IF_SMALL)}  # fmt: skip
    best = max(saved, key=lambda k: (saved[k], sp.sstr(k[0])), default=None)
    if best is None:
        return None
    formula, *own = best
    letters = index_symbols(len(own), taken)
    swap = dict(zip(PLACES, letters, strict=False))
    outside = taken | {*(i.name for i in letters), *map(str, formula.free_symbols)}
    meaning = rename_bound(formula, outside).xreplace(swap)
    part = Named(name, tuple(letters), tuple(own), meaning)
    return _replaced(expression, best, part, known), part


PLACES = tuple(sp.Symbol(f"_{k}", integer=True, nonnegative=True) for k in range(2))


def _normalised(e: Any) -> list[Any]:
    """Parts of a product that are one factor over a sum: ``exp(x[i])/Sum(exp(x[k]), ...)``."""
    if not e.is_Mul or len(e.args) < 3:
        return []
    below = [f for f in e.args if f.is_Pow and f.exp == -1 and isinstance(f.base, sp.Sum)]
    above = [f for f in e.args if not f.is_number and f not in below]
    return [f * g for g in below for f in above]


def _own(e: Any, known: Mapping[sp.Symbol, Any]) -> list[sp.Symbol]:
    """The indices of a part, in the order of their letters: rows before columns."""
    return sorted((s for s in e.free_symbols if s in known), key=lambda s: s.name)


#: What is an element or an array already.
_WHOLE = (sp.Indexed, sp.IndexedBase, Entry, OfMatrix)


def _key(e: Any, known: Mapping[sp.Symbol, Any]) -> Any:
    """Return what equals for parts that differ in their indices' names only, and the sizes."""
    if not isinstance(e, sp.Expr) or not e.args or isinstance(e, _WHOLE):
        return None
    if not e.has(sp.Function, sp.Pow, ExprWithLimits) or e.is_number:
        return None
    if e.could_extract_minus_sign() or (e.is_Pow and e.exp == -1):
        return None
    own = _own(e, known)
    if len(own) > len(PLACES) or any(known[s] is None for s in own):
        return None
    if operations(e) < 2:
        return None
    swap = dict(zip(own, PLACES, strict=False))
    return (rename_bound(e.xreplace(swap), ("_0", "_1")), *(known[s] for s in own))


def _replaced(e: Any, key: Any, part: Named, known: Mapping[sp.Symbol, Any]) -> Any:
    if not e.args or not isinstance(e, sp.Basic):
        return e
    if _key(e, known) == key:
        return part.at(_own(e, known))
    for piece in _normalised(e):
        left = list(sp.Mul.make_args(e))
        if _key(piece, known) == key and set(piece.args) <= set(left):
            # Not e/piece: one over a Piecewise that may be 0 is no number to cancel with.
            rest = [f for f in left if f not in piece.args]
            e = sp.Mul(*rest, part.at(_own(piece, known)))
    return e.func(*(_replaced(a, key, part, known) for a in e.args))


# ---------------------------------------------------------------- the logistic function


def _logistic(
    expression: Any, sizes: Sizes, name: str, taken: set[str]
) -> tuple[Any, Named] | None:
    """Name ``1/(1 + exp(-z))``, if the formula is shorter with it."""
    known = _all_sizes(expression, sizes)
    for z in sorted({_argument(e) for e in expression.atoms(sp.exp)}, key=sp.default_sort_key):
        own = _own(z, known)
        if len(own) > 1 or any(known[s] is None for s in own):
            continue
        place = dict(zip(own, PLACES, strict=False))
        root = rename_bound(z.xreplace(place), ("_0",))
        key_sizes = tuple(known[s] for s in own)
        letters = index_symbols(len(own), taken)
        outside = taken | {*(i.name for i in letters), *map(str, root.free_symbols)}
        swap = dict(zip(PLACES, letters, strict=False))
        meaning = 1 / (1 + sp.exp(-rename_bound(root, outside).xreplace(swap)))
        part = Named(name, tuple(letters), key_sizes, meaning)
        made = _in_logistic(expression, root, part, known)
        price = operations(made) + operations(meaning)
        if not made.has(sp.exp) and made.has(*_marks(part)) and price < operations(expression):
            return made, part
    return None


def _marks(part: Named) -> tuple[Any, ...]:
    symbol = part.at(part.indices)
    return (symbol.base,) if part.indices else (symbol,)


def _argument(e: Any) -> Any:
    """The exponent without its sign and whole factor."""
    return e.args[0].as_coeff_Mul()[1]


def _in_logistic(e: Any, root: Any, part: Named, known: Mapping[sp.Symbol, Any]) -> Any:
    """Write what is rational in ``exp(z)`` by the logistic function of ``z``."""
    if isinstance(e, ExprWithLimits):
        return e.func(_in_logistic(e.function, root, part, known), *e.limits)
    if not isinstance(e, sp.Expr) or not e.has(sp.exp):
        return e
    if isinstance(e, sp.Function) and not isinstance(e, (sp.exp, sp.Piecewise)):
        made = [_in_logistic(a, root, part, known) for a in e.args]
        return _logarithm(made[0]) if isinstance(e, sp.log) else e.func(*made)
    inner = {s: sp.Dummy(real=True) for s in _apart(e)}
    back = {mark: _in_logistic(s, root, part, known) for s, mark in inner.items()}
    plain = e.xreplace(inner)
    swap = {}
    for f in plain.atoms(sp.exp):
        factor, z = f.args[0].as_coeff_Mul()
        own = _own(z, known)
        place = dict(zip(own, PLACES, strict=False))
        if len(own) > 1 or rename_bound(z.xreplace(place), ("_0",)) != root:
            continue
        if factor.is_Integer:
            s = part.at(own)
            swap[f] = (s / (1 - s)) ** factor
    if not swap:
        return plain.xreplace(back)
    # What is inside a sum must not be touched: its factors would leave it.
    whole = [*plain.atoms(sp.Indexed), *_outermost(plain.xreplace(swap))]
    cover = {a: sp.Dummy(real=True) for a in whole}
    symbols = {s: sp.Dummy(real=True) for s in {part.at(_own(f.args[0], known)) for f in swap}}
    rational = plain.xreplace({f: v.xreplace(symbols) for f, v in swap.items()}).xreplace(cover)
    rational = sp.factor(sp.cancel(sp.together(rational)))
    shortest = min((rational, sp.factor_terms(sp.expand(rational)),
                    _by_terms(plain, swap, symbols, cover)),
                   key=lambda r: int(r.count_ops()))  # fmt: skip
    undo = {mark: s for s, mark in (*symbols.items(), *cover.items())}
    return _positive(shortest).xreplace(undo).xreplace(back)


def _by_terms(plain: Any, swap: Any, symbols: Any, cover: Any) -> Any:
    """Simplify factor by factor and term by term, without multiplying out."""
    if plain.is_Add or plain.is_Mul:
        return plain.func(*(_by_terms(a, swap, symbols, cover) for a in plain.args))
    inner = plain.xreplace({f: v.xreplace(symbols) for f, v in swap.items()}).xreplace(cover)
    return sp.factor(sp.cancel(sp.together(inner)))


def _positive(e: Any) -> Any:
    """Write ``-s*(s - 1)`` as ``s*(1 - s)``."""
    scale, factors = e.as_coeff_mul()
    if not scale.is_negative:
        return e
    for k, f in enumerate(factors):
        if f.is_Add and len(f.args) == 2 and f.as_coeff_Add()[0].is_negative:
            return sp.Mul(-scale, *factors[:k], sp.expand(-f), *factors[k + 1 :])
    return e


def _logarithm(x: Any) -> Any:
    """Return ``log(x)`` of a positive x; of ``1/(1 - s)`` it is ``-log(1 - s)``."""
    above, below = sp.fraction(sp.together(x))
    if abs(above) == 1:
        return -sp.log(sp.expand(above * below))
    return sp.log(x)


def _apart(e: Any) -> set[Any]:
    """The outermost sums and functions that contain exponentials of their own."""
    if isinstance(e, ExprWithLimits) or (
        isinstance(e, sp.Function) and not isinstance(e, (sp.exp, sp.Piecewise))
    ):
        return {e} if e.has(sp.exp) else set()
    return set().union(*(_apart(a) for a in e.args))
