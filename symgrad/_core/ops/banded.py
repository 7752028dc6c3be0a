"""Banded systems: LU factors within the band, and solutions with them.

A band has ``lower`` diagonals below the main one and ``upper`` above. It lies by columns, as in
LAPACK: ``columns[j, upper + i - j]`` is the element in row i and column j, which is SciPy's
``ab`` transposed. What of it lies outside of the matrix is not read. As in ``linear``, factors are
a value without derivatives, and rules go through the matrix.

A singular matrix gives infinities or nan.

Source: E. Anderson et al., LAPACK Users' Guide, 1999, section 5.3.3: storage, ``gbtrf``, ``gbtrs``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.scipy_names import lapack
from ..op import (
    COUNT,
    FLAG,
    ArrayOp,
    Call,
    Code,
    Composed,
    Evidence,
    Exact,
    NoRule,
    Products,
    Routine,
    Words,
    Written,
    define,
)
from . import multiple_precision as exactly
from .complex_factorizations import as_complex, as_pairs, complex_twin
from .linear import FACTORS, batched_alike, by_factors, in_pairs, matrices, no_formula
from .narrow_bands import eliminate, is_narrow, substitute
from .np_common import conjugated
from .operands import Cores

BAND = {"lower": COUNT, "upper": COUNT}

# ---------------------------------------------------------------- factors


def band_factors(columns: Any, lower: int, upper: int) -> Any:
    """LU factors of banded matrices; behind each column how far below its pivot was."""
    *lead, n, _ = columns.shape
    out = np.zeros((*lead, n, 2 * lower + upper + 2), columns.dtype)
    (gbtrf,) = lapack.get_lapack_funcs(("gbtrf",), (columns,))
    for x, y in matrices(columns, out):
        if n:
            y[:, lower:-1] = x
            factors, pivots, _ = gbtrf(y[:, :-1].T, lower, upper)
            y[:, :-1], y[:, -1] = factors.T, pivots - np.arange(n)
    return out


def write_band_factors(r: Call, lower: int, upper: int) -> None:
    """Write the steps or the call for one matrix; of pairs, the one for complex numbers."""
    columns, out = r.pointers
    n, given = r.shapes[0][:2]
    wide = 2 * lower + upper + 2
    e, size, width = r.e, r.size(n), r.size(wide)

    def place(j: str) -> None:
        row = r.at(out, e.op("mul", "i64", j, width))
        r.loop(r.size(lower), lambda k: r.put(r.filled(0.0), row, k))  # what pivots fill in
        source = r.at(columns, e.op("mul", "i64", j, r.size(given)))
        r.copy(r.at(row, r.size(lower)), source, given)

    r.loop(size, place)
    if is_narrow(r, lower, upper, factors=True):
        eliminate(r, out, lower, upper)
        return
    pivots, info = r.work(n, "i32"), r.cell("i32", "0")
    order = r.integer(n)
    r.call("gbtrf", order, order, r.integer(lower), r.integer(upper), out, r.integer(wide), pivots,
           info)  # fmt: skip

    def keep(j: str) -> None:
        pivot = e.load("i32", r.at(pivots, j, "i32"))
        first = e.cast("trunc", "i64", j, "i32")
        below = e.op("sub", "i32", pivot, e.op("add", "i32", first, "1"))
        number = e.cast("sitofp", "i32", below, r.kind)
        if r.pairs:
            number = e.put(r.element, r.filled(0.0), r.kind, number, 0)
        r.put(number, r.at(out, e.op("mul", "i64", j, width)), str(wide - 1))

    r.loop(size, keep)


def _wide(a: Any, lower: int, upper: int) -> tuple[Any, ...]:
    return *a[:-1], 2 * lower + upper + 2


def _is_band(size: Any, lower: int, upper: int, **_: Any) -> bool:
    return bool(size["w"] == lower + upper + 1) and _has_factors(size, lower, upper)


def _has_factors(size: Any, lower: int, upper: int, **_: Any) -> bool:
    return bool(size.get("v", 2 * lower + upper + 2) == 2 * lower + upper + 2)


BAND_LU: ArrayOp = define(
    Routine("BandLU", evaluate=band_factors, params=BAND, shape=_wide,
        element=no_formula("an LU factorisation"), rule=NoRule(FACTORS),
        parts=in_pairs("ComplexBandLU"), batch=batched_alike(lambda: BAND_LU),
        fits=Cores("n w", ordered=_is_band)),
    Code(Written(write_band_factors, (2, 2)), helpers=(band_factors,),
        source=lambda a, lower, upper: f"band_factors({a}, {lower}, {upper})"),
    Words("LU factorisation of banded matrices, for solutions"),
)  # fmt: skip


def complex_band_factors(columns: Any, lower: int, upper: int) -> Any:
    """LU factors of complex banded matrices."""
    return as_pairs(band_factors(as_complex(columns), lower, upper))


COMPLEX_BAND_LU: ArrayOp = define(
    Routine("ComplexBandLU", evaluate=complex_band_factors, params=BAND,
        shape=lambda a, lower, upper: (*_wide(a[:-1], lower, upper), 2),
        element=no_formula("an LU factorisation"), rule=NoRule(FACTORS),
        batch=batched_alike(lambda: COMPLEX_BAND_LU), fits=Cores("n w 2", ordered=_is_band)),
    Code(Written(write_band_factors, (3, 3), pairs=True),
        source=lambda a, lower, upper: f"complex_band_factors({a}, {lower}, {upper})",
        helpers=(complex_band_factors,)),
    Words("LU factorisation of complex banded matrices, for solutions"),
)  # fmt: skip

# ---------------------------------------------------------------- solutions


def band_solution(factors: Any, b: Any, lower: int, upper: int, trans: bool) -> Any:
    """Solve ``a x = b``, or with the transpose of ``a``, for each row b."""
    out = b.astype(np.result_type(factors, b))
    (gbtrs,) = lapack.get_lapack_funcs(("gbtrs",), (out,))
    for f, x in matrices(factors, out):
        if x.size:
            pivots = f[:, -1].real.astype(np.int32) + np.arange(len(f), dtype=np.int32)
            x[:] = gbtrs(f[:, :-1].T, lower, upper, x.T, pivots, trans=int(trans))[0].T
    return out


def write_band_solution(r: Call, lower: int, upper: int, trans: bool) -> None:
    """Write the steps or the call for one matrix; of pairs, the one for complex numbers."""
    factors, b, out = r.pointers
    k, n = r.shapes[1][:2]
    wide = 2 * lower + upper + 2
    e, pivots, info = r.e, r.work(n, "i32"), r.cell("i32", "0")
    r.copy(out, b, n * k)
    if is_narrow(r, lower, upper, factors=False):
        substitute(r, factors, out, lower, upper, trans)
        return

    def pivot(j: str) -> None:
        row = r.at(factors, e.op("mul", "i64", j, r.size(wide)))
        number = e.load(r.kind, r.at(row, str(wide - 1)))
        below = e.cast("fptosi", r.kind, number, "i32")
        first = e.op("add", "i32", e.cast("trunc", "i64", j, "i32"), "1")
        e.store("i32", e.op("add", "i32", below, first), r.at(pivots, j, "i32"))

    r.loop(r.size(n), pivot)
    r.call("gbtrs", r.letter("T" if trans else "N"), r.integer(n), r.integer(lower),
           r.integer(upper), r.integer(k), factors, r.integer(wide), pivots, out, r.leading(n),
           info)  # fmt: skip


BAND_BY_FACTORS = by_factors(
    "BandSolveByFactors", band_solution, Written(write_band_solution, (2, 2, 2)),
    {**BAND, "trans": FLAG}, Cores("n v", "k n", ordered=_has_factors),
)  # fmt: skip


def complex_band_by_factors(factors: Any, b: Any, lower: int, upper: int, trans: bool) -> Any:
    """Solve with a band of these factors, or with its transpose, for each row b."""
    return as_pairs(band_solution(as_complex(factors), as_complex(b), lower, upper, trans))


COMPLEX_BAND_BY_FACTORS = by_factors(
    "ComplexBandSolveByFactors", complex_band_by_factors,
    Written(write_band_solution, (3, 3, 3), pairs=True),
    {**BAND, "trans": FLAG}, Cores("n v 2", "k n 2", ordered=_has_factors),
)  # fmt: skip


def _moved(x: Any, steps: int) -> Any:
    """Return y with ``y[..., i] = x[..., i - steps]``, zero where there is none."""
    n = x.shape[-1]
    none = [(0, 0)] * (x.ndim - 1)
    if steps > 0:
        return np.pad(x, [*none, (steps, 0)])[..., :n]
    return np.pad(x, [*none, (0, -steps)])[..., -steps:] if steps else x


def _product(columns: Any, x: Any, upper: int, trans: bool) -> Any:
    """Return the products of a banded matrix, or of its transpose, with each row x."""
    total: Any = 0.0
    for k in range(int(columns.shape[-1])):
        diagonal, steps = columns[..., None, :, k], k - upper  # row less column
        total = total + (
            diagonal * _moved(x, -steps) if trans else _moved(diagonal * x, steps)
        )  # fmt: skip
    return total


def _outer(left: Any, right: Any, lower: int, upper: int) -> Any:
    """Return the band of the sum of outer products of rows."""
    return np.stack(
        [np.sum(_moved(left, -steps) * right, axis=-2) for steps in range(-upper, lower + 1)],
        axis=-1,
    )


def _vjp(ct: Any, y: Any, a: Any, factors: Any, b: Any, lower: int, upper: int, trans: bool) -> Any:
    band = {"lower": lower, "upper": upper}
    back = conjugated(BAND_SOLVE(a, factors, conjugated(ct), trans=not trans, **band))
    left, right = (conjugated(y), back) if trans else (back, conjugated(y))
    return -_outer(left, right, **band), None, back


def _jvp(t: Any, y: Any, a: Any, factors: Any, b: Any, lower: int, upper: int, trans: bool) -> Any:
    source = 0.0 if t[2] is None else t[2]
    if t[0] is not None:
        source = source - _product(t[0], y, upper, trans)
    return BAND_SOLVE(a, factors, source, lower=lower, upper=upper, trans=trans)


BAND_SOLVE: ArrayOp = define(
    Routine("BandSolve",
        evaluate=lambda a, factors, b, lower, upper, trans: band_solution(
            factors, b, lower, upper, trans),
        params={**BAND, "trans": FLAG}, types=lambda a, factors, b, **_: b,
        shape=lambda a, factors, b, **_: b, element=no_formula("the solution of a linear system"),
        rule=Products(_vjp, _jvp), parts=in_pairs("ComplexBandSolve"),
        batch=batched_alike(lambda: BAND_SOLVE),
        fits=Cores("n w", "n v", "k n", ordered=_is_band)),
    Code(Composed(lambda a, factors, b, **band: BAND_BY_FACTORS(factors, b, **band)),
        helpers=(band_solution,),
        source=lambda a, factors, b, lower, upper, trans: (
            f"band_solution({factors}, {b}, {lower}, {upper}, {trans})"
        )),
    Evidence(exact=Exact(exactly.band_solution, reads=(0, 2))),
    Words("solutions of banded systems, one for each row of the last operand, by LU factors",
        convention="infinities and nan for a singular matrix"),
)  # fmt: skip


def complex_band_solution(a: Any, factors: Any, b: Any, lower: int, upper: int, trans: bool) -> Any:
    """Solve ``a x = b``, or with the transpose of ``a``, for each row b."""
    return band_solution(factors, b, lower, upper, trans)


COMPLEX_BAND_SOLVE = complex_twin(
    "ComplexBandSolve", BAND_SOLVE,
    Composed(lambda a, factors, b, **band: COMPLEX_BAND_BY_FACTORS(factors, b, **band)),
    "solutions of complex banded systems, one for each row of the last operand, by LU factors",
    complex_band_solution,
)  # fmt: skip
