"""The logistic function behind whatever rational expression of ``exp(z)`` SymPy has made of it.

It is the derivative that people meet most: everything rational in ``exp(z)`` is written by
``s = 1/(1 + exp(-z))``, if that is shorter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp
from sympy.concrete.expr_with_limits import ExprWithLimits

from ._indices import index_symbols, rename_bound
from ._named import PLACES, Named, Sizes, all_sizes, operations, outermost, own_indices
from ._shorter import DEGREE, large_powers


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
