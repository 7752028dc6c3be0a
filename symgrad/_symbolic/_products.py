"""Products, transposes and sums of forms in matrix notation, brought to a simple form."""

from __future__ import annotations

from typing import Any

import sympy as sp

from ._bound_functions import even
from ._forms import common_factor
from ._notation import (
    Array,
    Diag,
    Diagonal,
    Eye,
    Inverse,
    Norm,
    Ones,
    Product,
    T,
    Total,
    Trace,
    rank,
)


def transposed(e: Any) -> Any:
    """Return the transpose of a matrix, pushed down to named matrices."""
    if isinstance(e, T):
        return e.args[0]
    if isinstance(e, (Eye, Diag)):
        return e
    if isinstance(e, Product):
        return product(*(transposed(a) for a in reversed(e.args)))
    if isinstance(e, Inverse) and even(transposed(e.args[0])) == even(e.args[0]):
        return e
    if isinstance(e, (Array, Ones, Inverse)):
        return T(e)
    scale, rest = split(e)
    if scale != 1:
        return scale * transposed(rest)
    if rank(e) == 2:  # element by element
        return e.func(*(transposed(a) if rank(a) == 2 else a for a in e.args))
    return T(e)


def product(*factors: Any) -> Any:
    """Return a matrix product; scalar factors come out, identities disappear."""
    scale, kept = sp.S.One, []
    for factor in factors:
        coefficient, rest = split(factor)
        scale *= coefficient
        parts = rest.args if isinstance(rest, Product) else (rest,)
        kept += [p for p in parts if not isinstance(p, Eye)]
    if not kept:
        return scale * Eye(factors[0].args[0])
    if len(kept) == 1:
        return scale * kept[0]
    return scale * Product(*kept)


def split(e: Any) -> tuple[Any, Any]:
    """Return the scalar factor of an expression, and the rest."""
    if e.is_Add and rank(e) > 0:
        return common_factor(e).as_coeff_Mul()  # type: ignore[no-any-return]
    if not e.is_Mul or rank(e) == 0:
        return sp.S.One, e
    scalars = [a for a in e.args if rank(a) == 0]
    return sp.Mul(*scalars), sp.Mul(*(a for a in e.args if rank(a) > 0))


def collected(e: Any) -> Any:
    """Join products that agree in their last or first factor: ``A x + B x = (A + B) x``."""
    if not e.is_Add:
        return e
    for last in (True, False):
        groups: dict[Any, list[Any]] = {}
        alone = []
        for term in e.args:
            scale, rest = split(term)
            if isinstance(rest, Product):
                key = rest.args[-1] if last else rest.args[0]
                others = rest.args[:-1] if last else rest.args[1:]
                groups.setdefault(key, []).append(scale * product(*others))
            else:
                alone.append(term)
        if len(groups) + len(alone) < len(e.args):
            terms = alone
            for key, parts in groups.items():
                inner = _sum_of(parts)
                terms.append(product(inner, key) if last else product(key, inner))
            e = sp.Add(*terms)
            if not e.is_Add:
                return e
    return e


def _sum_of(parts: list[Any]) -> Any:
    """Add products; a sum of rows is a row: ``(A x + y)^T``, not ``x^T A^T + y^T``."""
    if len(parts) > 1 and all(map(_is_row, parts)):
        return transposed(collected(sp.Add(*map(transposed, parts))))
    return collected(sp.Add(*parts))


def _is_row(e: Any) -> bool:
    rest = split(e)[1]
    first = rest.args[0] if isinstance(rest, Product) else rest
    return rank(e) == 1 and isinstance(first, T)


# ---------------------------------------------------------------- folds


def total(vector: Any) -> Any:
    """Return the sum of a vector's elements: a scalar product, if it is one of two vectors."""
    if isinstance(vector, sp.Pow) and vector.exp == 2:
        return product(transposed(vector.base), vector.base)
    if isinstance(vector, sp.Mul):
        # Plain names first: y^T exp(x); of products the shorter.
        first, *others = sorted(
            vector.args, key=lambda a: (not isinstance(a, Array), len(sp.sstr(a)), sp.sstr(a))
        )
        return product(transposed(first), sp.Mul(*others))
    return Total(vector)


def power(base: Any, exponent: Any) -> Any:
    """Return a power of a scalar: the root of ``x^T x`` is the norm of ``x``."""
    if (2 * exponent).is_Integer and not exponent.is_Integer:
        if isinstance(base, Product) and len(base.args) == 2 and base.args[0] == T(base.args[1]):
            return Norm(base.args[1]) ** (2 * exponent)
        inner = base.args[0] if isinstance(base, Total) else None
        if isinstance(inner, sp.Pow) and inner.exp == 2:
            return Norm(inner.base) ** (2 * exponent)
    return base**exponent


def sum_of(matrix: Any) -> Any:
    """Return the sum of all elements of a matrix."""
    scale, rest = split(matrix)
    return scale * Total(min(rest, transposed(rest), key=_transpositions))


def trace_of(matrix: Any) -> Any:
    """Return a trace, of all equal products the one with the fewest transpositions."""
    scale, rest = split(matrix)
    forms = [rest, transposed(rest)]
    for form in tuple(forms):
        if isinstance(form, Product):
            turns = range(len(form.args))
            forms += [product(*form.args[k:], *form.args[:k]) for k in turns]
    return scale * Trace(min(forms, key=_transpositions))


def _transpositions(form: Any) -> tuple[int, str]:
    return len(form.atoms(T)), sp.sstr(form)


def diagonal_of(matrix: Any) -> Any:
    """Return the diagonal of a matrix; of a diagonal matrix its vector."""
    scale, rest = split(matrix)
    return scale * (rest.args[0] if isinstance(rest, Diag) else Diagonal(rest))
