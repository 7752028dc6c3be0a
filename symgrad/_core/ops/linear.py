"""Linear systems: LU factorisation, solutions with it, triangular systems.

The factors of a matrix are a value of their own, so that solutions, determinants and all their
derivatives share one factorisation. Derivatives go through the matrix, not through its factors:
``Solve(a, factors, b)`` takes both, and its rule is a solution with the same factors. Code reads
the factors alone, ``SolveByFactors(factors, b)``. Right-hand sides lie in rows, which LAPACK,
thinking in columns, takes without a copy.

A singular matrix gives infinities or nan, in a batch only where it is singular; no error is
raised.

Source: M. Giles, Collected matrix derivative results for forward and reverse mode AD, 2008.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np
import sympy as sp

from ...errors import UnsupportedError
from ..base.scipy_names import lapack
from ..op import (
    FLAG,
    ArrayOp,
    Call,
    Code,
    Composed,
    Evidence,
    Exact,
    NoRule,
    Op,
    Products,
    Recurrence,
    Routine,
    Words,
    Written,
    define,
    registry,
)
from . import elimination, short_columns
from . import multiple_precision as exactly
from .elimination import substituted, write_substitution
from .movement import BROADCAST, RESHAPE
from .np_common import conjugated, iota, join_pairs, lift, packed, spread
from .operands import Cores
from .series import added, convolved

FACTORS = "derivatives go through the matrix itself"


def no_formula(what: str) -> Callable[..., NoReturn]:
    """Return the element formula of an op that has none: it says why."""

    def element(*_: Any, **__: Any) -> NoReturn:
        raise UnsupportedError(f"{what} has no formula for one element")

    return element


def of_matrix(name: str, a: Any, lead: Any, *place: Any) -> Any:
    """Return a function of a whole matrix, ``Inverse`` or ``Det``, for reading."""
    p, q = (sp.Dummy(s, integer=True, nonnegative=True) for s in "pq")
    last = a.shape[-1] - 1
    limits = sp.Tuple(p, 0, last), sp.Tuple(q, 0, last)
    return sp.Function(name)(a[(*lead, p, q)], *place, *limits)


def _solve_reading(index: Any, a: Any, factors: Any, b: Any, trans: bool) -> Any:
    *lead, row, i = index
    k = sp.Dummy("k", integer=True, nonnegative=True)
    place = (k, i) if trans else (i, k)
    inverse = of_matrix("Inverse", a, lead, *place)
    return sp.Sum(inverse * b[(*lead, row, k)], (k, 0, a.shape[-1] - 1))


def matrices(*arrays: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the matrices of arrays with the same leading axes, side by side."""
    for k in np.ndindex(arrays[0].shape[:-2]):
        yield tuple(x[k] for x in arrays)


def batched_alike(op: Callable[[], Op]) -> Callable[..., Any]:
    """Return the batching rule of a routine: all operands get the batch axis."""

    def batch(size: Any, batched: Any, *operands: Any, **params: Any) -> Any:
        full = [x if flag else BROADCAST(x, shape=(size, *x.shape))
                for x, flag in zip(operands, batched, strict=True)]  # fmt: skip
        return op()(*full, **params)

    return batch


def swapped(x: Any) -> Any:
    """Return matrices transposed."""
    return np.swapaxes(x, -1, -2)


def adjoint(x: Any) -> Any:
    """Return matrices transposed and conjugated; of real ones the transposes."""
    return conjugated(swapped(x))


def symmetric(x: Any) -> Any:
    """Return the symmetric part of matrices; of complex ones the Hermitian part."""
    return 0.5 * (x + adjoint(x))


def in_pairs(name: str) -> Callable[..., Any]:
    """Return the ``parts`` of an op: the op of this name, on pairs of reals."""

    def parts(*operands: Any, **params: Any) -> Any:
        return join_pairs(registry.ops[name](*map(packed, operands), **params))

    return parts


def triangle(x: Any, lower: bool, unit: bool = False) -> Any:
    """Return the part of matrices that a triangular system reads."""
    return np.tril(x, -1 if unit else 0) if lower else np.triu(x, 1 if unit else 0)


# ---------------------------------------------------------------- LU factorisation


def lu_factors(a: Any) -> Any:
    """LU factors of matrices, as LAPACK has them of the transpose; last the row exchanges.

    Row i is exchanged with the row that lies so many places below.
    """
    n = a.shape[-1]
    out = np.empty((*a.shape[:-2], n + 1, n), a.dtype)
    (getrf,) = lapack.get_lapack_funcs(("getrf",), (a,))
    for x, y in matrices(a, out):
        if n:
            factors, exchanges, _ = getrf(x.T)
            y[:n], y[n] = factors.T, exchanges - np.arange(n)
    return out


def write_lu(r: Call) -> None:
    """Write the steps or the call for one matrix; of pairs, the one for complex numbers."""
    a, out = r.pointers
    n = r.shapes[0][0]
    r.copy(out, a, n * n)

    def call() -> None:
        exchanges, info = r.work(n, "i32"), r.cell("i32", "0")
        r.call("getrf", r.integer(n), r.integer(n), out, r.leading(n), exchanges, info)
        last = r.at(out, r.size(n * n))

        def convert(i: str) -> None:
            k = r.e.load("i32", r.at(exchanges, i, "i32"))
            row = r.e.op("add", "i32", r.e.cast("trunc", "i64", i, "i32"), "1")
            number = r.e.cast("sitofp", "i32", r.e.op("sub", "i32", k, row), r.kind)
            if r.pairs:
                number = r.e.put(r.element, r.filled(0.0), r.kind, number, 0)
            r.put(number, last, i)

        r.loop(r.size(n), convert)

    short_columns.where_short(r, n, lambda: short_columns.eliminate(r, out, n), call)


def _lu_parts(y: Any, a: Any) -> tuple[Any, Any]:
    """Return both factors in one, as ``lu_factor`` packs them, and the order of the rows.

    That is the matrix P of ``P @ M = L @ U``, for the matrix M that ``a`` transposes.
    """
    both, unit = swapped(y[..., : y.shape[-1], :]), unit_like(a)
    product = (np.tril(both, -1) + unit) @ np.triu(both)
    return both, np.rint(product @ swapped(SOLVE(a, y, unit, trans=True)))


def _lu_vjp(ct: Any, y: Any, a: Any) -> Any:
    both, order = _lu_parts(y, a)
    lower, upper = swapped(np.tril(both, -1)), swapped(np.triu(both))
    g = swapped(ct[..., : y.shape[-1], :])
    below = np.tril(g, -1)
    inner = np.tril(below + lower @ below, -1) + np.triu(np.triu(g) @ upper)
    inner = TRIANGULAR(both, inner, lower=False, trans=False, unit=False)
    return (TRIANGULAR(both, swapped(inner), lower=True, trans=True, unit=True) @ order,)


def _lu_jvp(t: Any, y: Any, a: Any) -> Any:
    both, order = _lu_parts(y, a)
    inner = TRIANGULAR(both, t[0] @ swapped(order), lower=True, trans=False, unit=True)
    inner = TRIANGULAR(both, swapped(inner), lower=False, trans=True, unit=False)
    below = np.tril(inner, -1)
    change = below + np.tril(both, -1) @ below + np.triu(inner) @ np.triu(both)
    # The exchanges, last, are constant.
    return np.concatenate([swapped(change), np.zeros_like(change[..., :1, :])], axis=-2)


LU: ArrayOp = define(
    Routine("LU", evaluate=lu_factors, shape=lambda a: (*a[:-2], a[-1] + 1, a[-1]),
        element=no_formula("an LU factorisation"), rule=Products(_lu_vjp, _lu_jvp),
        parts=in_pairs("ComplexLU"), batch=batched_alike(lambda: LU), fits=Cores("n n")),
    Code(Written(write_lu, (2, 2), small=elimination.lu),
        source=lambda a: f"lu_factors({a})", helpers=(lu_factors,)),
    Evidence(exact=Exact(exactly.lu)),
    Words("LU factorisation with row exchanges, for solutions and determinants"),
)  # fmt: skip

# ---------------------------------------------------------------- solutions


def lu_solution(factors: Any, b: Any, trans: bool) -> Any:
    """Solve ``a x = b``, or with the transpose of ``a``, for each row b."""
    n = b.shape[-1]
    out = b.astype(np.result_type(factors, b))
    for f, x in matrices(factors, out):
        order = np.arange(n)
        for i, below in enumerate(f[n].real.astype(int)):
            order[[i, i + below]] = order[[i + below, i]]
        y = x[:, order] if trans else x
        for lower in (False, True) if trans else (True, False):
            y = substituted(f[:n], y, lower, trans, not lower)
        x[:, slice(None) if trans else order] = y
    return out


def write_solve(r: Call, trans: bool) -> None:
    """Write the steps for one matrix; of pairs, those for complex numbers."""
    factors, b, out = r.pointers
    k, n = r.shapes[1][:2]
    r.copy(out, b, n * k)
    e, size, last = r.e, r.size(n), r.at(factors, r.size(n * n))

    def exchange(row: str) -> None:
        first = r.at(out, e.op("mul", "i64", row, size))

        def swap(step: str) -> None:
            i = step if trans else e.op("sub", "i64", e.op("sub", "i64", size, "1"), step)
            below = e.cast("fptosi", r.kind, e.load(r.kind, r.at(last, i)), "i64")
            other = e.op("add", "i64", i, below)
            x, y = r.get(first, i), r.get(first, other)
            r.put(y, first, i)
            r.put(x, first, other)

        r.loop(size, swap)

    if trans:
        r.loop(r.size(k), exchange)

    def call() -> None:
        for lower in (False, True) if trans else (True, False):
            write_substitution(r, factors, out, lower, trans, not lower)

    def own() -> None:
        short_columns.substitute(r, factors, out, trans)

    few = isinstance(k, int) and k <= short_columns.FEW  # many are taken together
    short_columns.where_short(r, n, own if few else call, call)
    if not trans:
        r.loop(r.size(k), exchange)


def by_factors(
    name: str, solution: Callable[..., Any], code: Written, params: dict[str, Any], fits: Cores
) -> ArrayOp:
    """Define the op that solutions are computed with: by factors alone, without the matrix."""

    def source(factors: str, b: str, **params: Any) -> str:
        return f"{solution.__name__}({', '.join([factors, b, *map(repr, params.values())])})"

    op: ArrayOp = define(
        Routine(name, evaluate=solution, params=params, types=lambda factors, b, **_: b,
            shape=lambda factors, b, **_: b,
            element=no_formula("the solution of a linear system"), rule=NoRule(FACTORS),
            parts=None if code.pairs else in_pairs(f"Complex{name}"),
            batch=batched_alike(lambda: op), fits=fits),
        Code(code, source=source, helpers=(solution,)),
        Words("solutions of linear systems as they are computed: by LU factors alone"),
    )  # fmt: skip
    return op


BY_FACTORS = by_factors(
    "SolveByFactors", lu_solution, Written(write_solve, (2, 2, 2), small=elimination.solution),
    {"trans": FLAG}, Cores("n+1 n", "k n"),
)  # fmt: skip


def _solve_vjp(ct: Any, y: Any, a: Any, factors: Any, b: Any, trans: bool) -> Any:
    back = conjugated(SOLVE(a, factors, conjugated(ct), trans=not trans))
    left, right = (conjugated(y), back) if trans else (back, conjugated(y))
    return -(swapped(left) @ right), None, back


def _solve_jvp(t: Any, y: Any, a: Any, factors: Any, b: Any, trans: bool) -> Any:
    moved = None if t[0] is None else -(y @ (t[0] if trans else swapped(t[0])))
    return SOLVE(a, factors, added([t[2], moved]), trans=trans)


def _solve_series(k: int, y: Any, a: Any, factors: Any, b: Any, trans: bool) -> Any:
    moved = convolved(
        [*y[:k], None], [None, *a[1:]], k, lambda x, m: x @ (m if trans else swapped(m))
    )
    source = added([b[k], None if moved is None else -moved])
    return None if source is None else SOLVE(a[0], factors[0], source, trans=trans)


def _solve_batch(size: Any, batched: Any, a: Any, factors: Any, b: Any, trans: bool) -> Any:
    if not (batched[0] or batched[1]) and a.ndim == 2:  # more rows for one matrix
        _, k, n = b.shape
        rows = SOLVE(a, factors, RESHAPE(b, shape=(size * k, n)), trans=trans)
        return RESHAPE(rows, shape=(size, k, n))
    return batched_alike(lambda: SOLVE)(size, batched, a, factors, b, trans=trans)


SOLVE: ArrayOp = define(
    Routine("Solve", evaluate=lambda a, factors, b, trans: lu_solution(factors, b, trans),
        params={"trans": FLAG}, types=lambda a, factors, b, trans: b,
        shape=lambda a, factors, b, trans: b,
        element=no_formula("the solution of a linear system"),
        rule=Products(_solve_vjp, _solve_jvp, aside=(1,)), parts=in_pairs("ComplexSolve"),
        batch=_solve_batch, fits=Cores("n n", "n+1 n", "k n")),
    Code(Composed(lambda a, factors, b, trans: BY_FACTORS(factors, b, trans=trans),
            small=lambda a, factors, b, trans: elimination.solution(factors, b, trans)),
        source=lambda a, factors, b, trans: f"lu_solution({factors}, {b}, {trans})",
        helpers=(lu_solution,)),
    Evidence(exact=Exact(exactly.solution, reads=(0, 2))),
    Recurrence(_solve_series),
    Words("solutions of linear systems, one for each row of the last operand, by LU factors",
        convention="infinities and nan for a singular matrix", reading=_solve_reading),
)  # fmt: skip


# ---------------------------------------------------------------- triangular systems


def triangular_solution(a: Any, b: Any, lower: bool, trans: bool, unit: bool) -> Any:
    """Solve ``a x = b`` for each row b, with one triangle of ``a`` or of its transpose."""
    out = np.empty(b.shape, b.dtype)
    for x, y, z in matrices(a, b, out):
        z[:] = substituted(x, y, lower, trans, unit)
    return out


def write_triangular(r: Call, lower: bool, trans: bool, unit: bool) -> None:
    """Write the calls for one matrix; of pairs, those for complex numbers."""
    a, b, out = r.pointers
    k, n = r.shapes[1][:2]
    r.copy(out, b, n * k)
    write_substitution(r, a, out, lower, trans, unit)


def _triangular_vjp(ct: Any, y: Any, a: Any, b: Any, lower: bool, trans: bool, unit: bool) -> Any:
    back = conjugated(TRIANGULAR(a, conjugated(ct), lower=lower, trans=not trans, unit=unit))
    outer = swapped(conjugated(y)) @ back if trans else swapped(back) @ conjugated(y)
    return -triangle(outer, lower, unit), back


def _triangular_jvp(t: Any, y: Any, a: Any, b: Any, lower: bool, trans: bool, unit: bool) -> Any:
    source = 0.0 if t[1] is None else t[1]
    if t[0] is not None:
        change = triangle(t[0], lower, unit)
        source = source - y @ (change if trans else swapped(change))
    return TRIANGULAR(a, source, lower=lower, trans=trans, unit=unit)


def _triangular_series(k: int, y: Any, a: Any, b: Any, lower: bool, trans: bool, unit: bool) -> Any:
    changes = [None, *(None if m is None else triangle(m, lower, unit) for m in a[1:])]
    moved = convolved([*y[:k], None], changes, k, lambda x, m: x @ (m if trans else swapped(m)))
    source = added([b[k], None if moved is None else -moved])
    return None if source is None else TRIANGULAR(a[0], source, lower=lower, trans=trans, unit=unit)


TRIANGULAR: ArrayOp = define(
    Routine("SolveTriangular", evaluate=triangular_solution,
        params={"lower": FLAG, "trans": FLAG, "unit": FLAG}, types=lambda a, b, **_: b,
        shape=lambda a, b, lower, trans, unit: b,
        element=no_formula("the solution of a linear system"),
        rule=Products(_triangular_vjp, _triangular_jvp), parts=in_pairs("ComplexSolveTriangular"),
        batch=batched_alike(lambda: TRIANGULAR), fits=Cores("n n", "k n")),
    Code(Written(write_triangular, (2, 2, 2), small=elimination.triangular),
        source=lambda a, b, lower, trans, unit: (
            f"triangular_solution({a}, {b}, {lower}, {trans}, {unit})"
        ),
        helpers=(triangular_solution,)),
    Evidence(exact=Exact(exactly.triangular, reads=(0, 1))),
    Recurrence(_triangular_series),
    Words("solutions of triangular systems, one for each row of the last operand",
        convention="infinities and nan for a zero on the diagonal"),
)  # fmt: skip


def unit_like(a: Any) -> Any:
    """Return real unit matrices of the shape and precision of ``a``, beside it."""
    a = a.real
    row = iota(a.shape[-1], a)
    unit = (row[:, None] == row).astype(a.dtype)
    return spread(unit, a.shape, a) if a.ndim > 2 else lift(unit, a)
