"""Names for parts of a formula that occur more than once: ``s[i]*(1 - s[i])``, where ...

Two parts are the same if they differ in the names of their indices only, so
``exp(x[i])`` and ``exp(x[j])`` share the name of a vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Any

import sympy as sp
from sympy.concrete.expr_with_limits import ExprWithLimits

from ._binders import rebuilt
from ._bound_functions import Entry, OfMatrix
from ._limits import Patience
from ._names import (
    PLACES,
    Named,
    Sizes,
    all_sizes,
    distinct,
    index_symbols,
    inner_first,
    operations,
    outermost,
    own_indices,
    rename_bound,
)
from ._shortening import DEGREE, large_powers

#: Names for what is repeated, in the order in which they are given.
NAMES = "strvqzghd"

#: So many parts get a name. A name saves so many operations, or more if it is for a small part.
MOST, LEAST, LEAST_IF_SMALL = 3, 5, 8

#: A part of fewer operations is small; one of a single operation never gets a name.
SMALL = 6

#: Formulas of more operations are searched for equal parts alone, whatever their indices, and get
#: more names.
LARGEST, MOST_IF_LARGE = 400, 9


def named_parts(
    expression: Any, sizes: Sizes, taken: Iterable[str], patience: Patience | None = None
) -> tuple[Any, list[Named]]:
    """Return the formula with names for repeated parts, and what they mean.

    Parameters
    ----------
    expression:
        In index notation.
    sizes:
        How many values each free index takes.
    taken:
        Names that must not be given.
    patience:
        The time that looking for them may take; by default as long as a reader waits.
    """
    found: list[Named] = []
    if not isinstance(expression, sp.Expr):
        return expression, found
    used = set(taken) | {i.name for i in sizes} | _letters(expression)
    names = [n for n in NAMES if n not in used]
    patience = patience or Patience.of_a_reader()
    large = expression.count_ops() > LARGEST
    searches = [_equal] * MOST_IF_LARGE if large else [logistic, *[_repeated] * MOST]
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


# ---------------------------------------------------------------- what is repeated


def _equal(expression: Any, sizes: Sizes, name: str, taken: set[str]) -> tuple[Any, Named] | None:
    """Name the part of a large formula that is written most often; it has no indices."""
    parts = distinct(expression)
    letters = set(all_sizes(expression, sizes))
    facts: dict[Any, tuple[bool, int]] = {}
    inner = inner_first(expression)
    for e in inner:
        inside = [facts[a] for a in e.args]
        plain = e not in letters and not isinstance(e, (sp.Indexed, ExprWithLimits))
        facts[e] = (plain and all(p for p, _ in inside), 1 + sum(n for _, n in inside))
    counts = dict.fromkeys(parts, 0)
    counts[expression] = 1
    for e in reversed(inner):
        for a in e.args:
            counts[a] += counts[e]
    # A number may count as two operations, -1/2; nothing else as more than one.
    most = {e: (count - 1) * 2 * facts[e][1] for e, count in counts.items()
            if count > 1 and e.args and isinstance(e, sp.Expr) and facts[e][0]}  # fmt: skip
    best, gain = None, LEAST_IF_SMALL
    for e in sorted(most, key=most.__getitem__, reverse=True):
        if most[e] <= gain:
            break
        saved = (counts[e] - 1) * (int(e.count_ops()) - 1)
        if saved > gain:
            best, gain = e, saved
    if best is None:
        return None
    part = Named(name, (), (), best)
    made: dict[Any, Any] = {}
    for e in inner:
        made[e] = part.at(()) if e == best else rebuilt(e, [made[a] for a in e.args])
    return made[expression], part


def _repeated(
    expression: Any, sizes: Sizes, name: str, taken: set[str]
) -> tuple[Any, Named] | None:
    """Name the part whose repetition costs the reader most."""
    known = all_sizes(expression, sizes)
    key_of = cache(partial(_key, known=known))
    counts: dict[Any, int] = {}
    for places in _parts(expression):  # a product is one factor over a sum at one place only
        for key in {key_of(part) for part in places} - {None}:
            counts[key] = counts.get(key, 0) + 1
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
    first = next(e for es in _parts(expression) for e in es if key_of(e) == best)
    meaning, minus = (-meaning, True) if _is_minus(first) else (meaning, False)
    order = _order(first, known)
    turned = order != sorted(order, key=lambda s: s.name)
    if turned:  # rows before columns
        meaning = meaning.xreplace(dict(zip(letters, letters[::-1], strict=True)))
        own = own[::-1]
    part = Named(name, tuple(letters), tuple(own), meaning)

    def element(e: Any) -> Any:
        if key_of(e) != best:
            return None
        order = _order(e, known)
        found = part.at(order[::-1] if turned else order)
        return found if _is_minus(e) == minus else -found

    return _replaced(expression, element), part


def _parts(e: Any) -> Iterator[list[Any]]:
    """Yield what may be named in a formula, from the outside to the inside, by its places."""
    yield [e, *_normalised(e)]
    for a in e.args:
        if isinstance(a, sp.Basic):
            yield from _parts(a)


def _normalised(e: Any) -> list[Any]:
    """Parts of a product that are one factor over a sum: ``exp(x[i])/Sum(exp(x[k]), ...)``."""
    if not e.is_Mul or len(e.args) < 3:
        return []
    below = [f for f in e.args if f.is_Pow and f.exp == -1 and isinstance(f.base, sp.Sum)]
    above = [f for f in e.args if not f.is_number and f not in below]
    return [f * g for g in below for f in above]


def _order(e: Any, known: Mapping[sp.Symbol, Any]) -> list[sp.Symbol]:
    """The indices of a part, in an order that does not depend on their letters.

    ``exp(x[i] - y[j])`` and ``exp(x[k] - y[j])`` are one matrix, though ``k`` comes after ``j``.
    """
    own = own_indices(e, known)
    e = -e if _is_minus(e) else e
    if len(own) != len(PLACES):
        return own
    orders = (own, own[::-1])
    return min(orders, key=lambda o: sp.sstr(e.xreplace(dict(zip(o, PLACES, strict=True)))))


#: What is an element or an array already.
_WHOLE = (sp.Indexed, sp.IndexedBase, Entry, OfMatrix)


def _key(e: Any, known: Mapping[sp.Symbol, Any]) -> Any:
    """Return what equals for parts that differ in their indices' names only, and the sizes."""
    if not isinstance(e, sp.Expr) or not e.args or isinstance(e, _WHOLE):
        return None
    if not e.has(sp.Function, sp.Pow, ExprWithLimits) or e.is_number:
        return None
    e = -e if _is_minus(e) else e
    if e.could_extract_minus_sign() or (e.is_Pow and e.exp == -1):
        return None
    own = own_indices(e, known)
    if len(own) > len(PLACES) or any(known[s] is None for s in own):
        return None
    if operations(e) < 2:
        return None
    own = _order(e, known)
    swap = dict(zip(own, PLACES, strict=False))
    return (rename_bound(e.xreplace(swap), ("_0", "_1")), *(known[s] for s in own))


def _is_minus(e: Any) -> bool:
    """Tell whether a difference is taken the other way round."""
    return bool(e.is_Add and e.could_extract_minus_sign())


def _replaced(e: Any, element: Callable[[Any], Any]) -> Any:
    """Put the elements of a named part in its places; ``element`` is None for other parts."""
    if not e.args or not isinstance(e, sp.Basic):
        return e
    whole = element(e)
    if whole is not None:
        return whole
    for piece in _normalised(e):
        left = list(sp.Mul.make_args(e))
        named = element(piece)
        if named is not None and set(piece.args) <= set(left):
            # Not e/piece: one over a Piecewise that may be 0 is no number to cancel with.
            rest = [f for f in left if f not in piece.args]
            e = sp.Mul(*rest, named)
    return e.func(*(_replaced(a, element) for a in e.args))


# ---------------------------------------------------------------- the logistic function

# It is the derivative that people meet most: everything rational in ``exp(z)`` is written by ``s
# = 1/(1 + exp(-z))``, if that is shorter.


def logistic(expression: Any, sizes: Sizes, name: str, taken: set[str]) -> tuple[Any, Named] | None:
    """Name ``1/(1 + exp(-z))``, if the formula is shorter with it."""
    known = all_sizes(expression, sizes)
    for z in sorted({_argument(e) for e in expression.atoms(sp.exp)}, key=sp.default_sort_key):
        own = own_indices(z, known)
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
        own = own_indices(z, known)
        place = dict(zip(own, PLACES, strict=False))
        if len(own) > 1 or rename_bound(z.xreplace(place), ("_0",)) != root:
            continue
        if factor.is_Integer and abs(factor) <= DEGREE:
            s = part.at(own)
            swap[f] = (s / (1 - s)) ** factor
    if not swap:
        return plain.xreplace(back)
    # What is inside a sum must not be touched: its factors would leave it.
    whole = [*plain.atoms(sp.Indexed), *outermost(plain.xreplace(swap)), *large_powers(plain)]
    cover = {a: sp.Dummy(real=True) for a in whole}
    symbols = {
        s: sp.Dummy(real=True) for s in {part.at(own_indices(f.args[0], known)) for f in swap}
    }
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
