"""Triangular systems solved in place, for each row: what solutions of all kinds consist of.

OpenBLAS wakes its threads for many right-hand sides however small the matrix is (``getrs`` for
two, ``trsm`` for 1024 real numbers in all), and waits for them: milliseconds where other processes
have the cores. So right-hand sides of small systems go in groups below that, multiples of four,
which its kernels take together, and a single one to ``trsv``, as LAPACK's own do with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from .._late import blas

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


def write_substitution(r: Any, a: str, out: str, lower: bool, trans: bool, unit: bool) -> None:
    """Write the calls that solve for the rows of the result in place."""
    e, (k, n) = r.e, r.shapes[-1][:2]
    # LAPACK reads rows as columns: what it sees is transposed.
    flags = map(r.letter, ("U" if lower else "L", "N" if trans else "T", "U" if unit else "N"))
    which, order, ld = list(flags), r.integer(n), r.leading(n)
    if k == 1:
        r.call("trsv", *which, order, a, ld, out, r.integer(1), library="blas")
        return
    size, rows, count = r.size(n), r.size(k), r.cell("i32", "0")
    small = e.op(f"icmp slt i64 {r.size(n * n * k)}, {WORTH}")
    most = WOKEN // (2 if r.pairs else 1) - 1
    fitting = e.op(f"udiv i64 {most}, {r.size(sp.Max(1, n))}")
    fours = e.op(f"and i64 {fitting}, -4")
    some = e.op(f"select i1 {small}, i64 {fours}, i64 {rows}")
    group = e.op(f"call i64 @llvm.umax.i64(i64 {some}, i64 4)")
    last = e.op(f"add i64 {rows}, {e.op(f'sub i64 {group}, 1')}")

    def solve(i: str) -> None:
        start = e.op(f"mul i64 {i}, {group}")
        rest = e.op(f"sub i64 {rows}, {start}")
        many = e.op(f"call i64 @llvm.umin.i64(i64 {rest}, i64 {group})")
        e.line(f"store i32 {e.op(f'trunc i64 {many} to i32')}, ptr {count}")
        first = r.at(out, e.op(f"mul i64 {start}, {size}"))
        r.call("trsm", r.letter("L"), *which, order, count, r.number(1.0), a, ld, first, ld,
               library="blas")  # fmt: skip

    for name in ("umin", "umax"):
        e.module.declare(f"llvm.{name}.i64", "i64", ["i64", "i64"])
    r.loop(e.op(f"udiv i64 {last}, {group}"), solve)
