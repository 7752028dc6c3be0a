"""Small linear systems as straight code: elimination with selected pivots, substitution.

LAPACK's call for a system of three unknowns costs ten times its arithmetic, and a lock that all
threads share. Written out in ops on elements, such systems stay in registers, and a batch of them
fills the lanes of a vector: the row of a pivot is not exchanged but selected.

Factors are those of ``linear.lu_factors``, element for element.

Larger triangular systems are solved in place, for each row. OpenBLAS wakes its threads for many
right-hand sides however small the matrix is (``getrs`` for two, ``trsm`` for 1024 real numbers in
all), and waits for them: milliseconds where other processes have the cores. So right-hand sides of
small systems go in groups below that, multiples of four, which its kernels take together, and a
single one to ``trsv``, as LAPACK's own do with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from ..base.scipy_names import blas
from ..op import Call

Rows = list[list[Any]]


def _elements(a: Any) -> Rows:
    """Return the elements of matrices, each for the whole batch."""
    return [[a[..., i, j] for j in range(a.shape[-1])] for i in range(a.shape[-2])]


def _together(rows: Rows) -> Any:
    """Return matrices of such elements."""
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def lu(a: Any) -> Any:
    """LU factors of the transposes, and under them how far below each row its pivot was."""
    n = a.shape[-1]
    rows = [list(column) for column in zip(*_elements(a), strict=True)]
    below = []
    for k in range(n):
        first, largest, place = rows[k], np.abs(rows[k][k]), np.zeros_like(a[..., 0, 0])
        for i in range(k + 1, n):
            larger = np.abs(rows[i][k]) > largest
            largest = np.where(larger, np.abs(rows[i][k]), largest)
            place = np.where(larger, float(i - k), place)
            rows[k] = [np.where(larger, x, y) for x, y in zip(rows[i], rows[k], strict=True)]
        below.append(place)
        # A column of zeros has no pivot, and needs none: LAPACK goes on with the next one.
        pivot = np.where(rows[k][k] == 0.0, 1.0, rows[k][k])
        for i in range(k + 1, n):
            moved = place == float(i - k)
            row = [np.where(moved, x, y) for x, y in zip(first, rows[i], strict=True)]
            row[k] = row[k] / pivot
            row[k + 1 :] = [x - row[k] * y for x, y in zip(row[k + 1 :], rows[k][k + 1 :],
                                                          strict=True)]  # fmt: skip
            rows[i] = row
    return _together([*map(list, zip(*rows, strict=True)), below])


def _substituted(factors: Rows, x: list[Any], lower: bool, trans: bool, unit: bool) -> list[Any]:
    """Solve a triangular system for the elements of a right-hand side."""
    n, found = len(x), list(x)
    forward = lower != trans
    order = range(n) if forward else range(n - 1, -1, -1)
    for i in order:
        for j in range(i) if forward else range(n - 1, i, -1):
            found[i] = found[i] - (factors[j][i] if trans else factors[i][j]) * found[j]
        if not unit:
            found[i] = found[i] / factors[i][i]
    return found


def _of_rows(factors: Any, b: Any) -> tuple[Rows, list[Any]]:
    """Return the elements of factors and of right-hand sides, which broadcast together."""
    return _elements(factors[..., None, :, :]), [b[..., i] for i in range(b.shape[-1])]


def solution(factors: Any, b: Any, trans: bool) -> Any:
    """Solutions with a matrix of these factors, or with its transpose, for each row b."""
    (*triangles, below), x = _of_rows(factors, b)
    n = len(x)

    def exchange(k: int) -> None:
        for i in range(k + 1, n):
            here = below[k] == float(i - k)
            x[k], x[i] = np.where(here, x[i], x[k]), np.where(here, x[k], x[i])

    if trans:
        for k in range(n):
            exchange(k)
    for lower in (False, True) if trans else (True, False):
        x = _substituted(triangles, x, lower, trans, not lower)
    if not trans:
        for k in range(n - 1, -1, -1):
            exchange(k)
    return np.stack(x, axis=-1)


def triangular(a: Any, b: Any, lower: bool, trans: bool, unit: bool) -> Any:
    """Solutions of triangular systems, for each row b."""
    elements, x = _of_rows(a, b)
    return np.stack(_substituted(elements, x, lower, trans, unit), axis=-1)


def cholesky(a: Any) -> Any:
    """Lower triangular factors; nan where a matrix is not positive definite."""
    n, zero = a.shape[-1], np.zeros_like(a[..., 0, 0])
    given, rows = _elements(a), [[zero] * a.shape[-1] for _ in range(a.shape[-1])]
    definite = zero == zero
    for j in range(n):
        square = given[j][j]
        for k in range(j):
            square = square - rows[j][k] * rows[j][k]
        definite = definite & (square > 0.0)
        rows[j][j] = np.sqrt(np.where(square > 0.0, square, 1.0))
        for i in range(j + 1, n):
            x = given[i][j]
            for k in range(j):
                x = x - rows[i][k] * rows[j][k]
            rows[i][j] = x / rows[j][j]
    return np.where(definite[..., None, None], _together(rows), np.nan)


#: Real numbers in right-hand sides that wake threads, and multiplications for which these pay.
WOKEN, WORTH = THREADS = (1 << 10, 1 << 19)


def substituted(a: Any, b: Any, lower: bool, trans: bool, unit: bool) -> Any:
    """Solve ``a x = b`` for each row b, with one triangle of a matrix or of its transpose."""
    (k, n), (woken, worth) = b.shape, THREADS
    if not b.size:
        return b
    if k == 1:
        (trsv,) = blas.get_blas_funcs(("trsv",), (b,))
        return trsv(a.T, b[0], lower=not lower, trans=not trans, diag=unit)[None]
    (trsm,) = blas.get_blas_funcs(("trsm",), (b,))
    most = woken // (2 if b.dtype.kind == "c" else 1) - 1
    group = max(4, most // n // 4 * 4) if n * n * k < worth else k
    parts = [
        trsm(1.0, a.T, b[i : i + group].T, lower=not lower, trans_a=not trans, diag=unit).T
        for i in range(0, k, group)
    ]
    return np.concatenate(parts)


def write_substitution(r: Call, a: str, out: str, lower: bool, trans: bool, unit: bool) -> None:
    """Write the calls that solve for the rows of the result in place."""
    e, (k, n) = r.e, r.shapes[-1][:2]
    # LAPACK reads rows as columns: what it sees is transposed.
    flags = map(r.letter, ("U" if lower else "L", "N" if trans else "T", "U" if unit else "N"))
    which, order, ld = list(flags), r.integer(n), r.leading(n)
    if k == 1:
        r.call("trsv", *which, order, a, ld, out, r.integer(1), library="blas")
        return
    size, rows, count = r.size(n), r.size(k), r.cell("i32", "0")
    small = e.op("icmp slt", "i64", r.size(n * n * k), WORTH)
    most = WOKEN // (2 if r.pairs else 1) - 1
    fitting = e.op("udiv", "i64", most, r.size(sp.Max(1, n)))
    fours = e.op("and", "i64", fitting, "-4")
    some = e.select(small, "i64", fours, rows)
    group = e.call("i64", "@llvm.umax.i64", [f"i64 {some}", "i64 4"])
    last = e.op("add", "i64", rows, e.op("sub", "i64", group, "1"))

    def solve(i: str) -> None:
        start = e.op("mul", "i64", i, group)
        rest = e.op("sub", "i64", rows, start)
        many = e.call("i64", "@llvm.umin.i64", [f"i64 {rest}", f"i64 {group}"])
        e.store("i32", e.cast("trunc", "i64", many, "i32"), count)
        first = r.at(out, e.op("mul", "i64", start, size))
        r.call("trsm", r.letter("L"), *which, order, count, r.number(1.0), a, ld, first, ld,
               library="blas")  # fmt: skip

    for name in ("umin", "umax"):
        e.module.declare(f"llvm.{name}.i64", "i64", ["i64", "i64"])
    r.loop(e.op("udiv", "i64", last, group), solve)
