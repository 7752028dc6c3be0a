"""Eigenvalues and eigenvectors of general matrices, which are complex: pairs of reals.

Both ops, of real and of complex matrices, are those of the transposed operand, so that LAPACK
sees what NumPy shows it. LAPACK gives vectors of length 1 whose largest component is real; the
derivative is that of this choice.

Sources: M. Giles, Collected matrix derivative results, 2008, section 3.1; C. Boeddeker and
others, On the computation of complex-valued gradients, arXiv:1701.00392.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.scipy_names import lapack
from ..op import (
    ArrayOp,
    Call,
    Code,
    Evidence,
    Exact,
    Products,
    Routine,
    Ties,
    Words,
    Written,
    define,
)
from . import multiple_precision as exactly
from .complex_factorizations import as_complex, as_pairs
from .factorizations import any_tied, asked, asked_apart, gaps, moved_apart, tied
from .linear import adjoint, batched_alike, no_formula, swapped, unit_like
from .np_common import conjugated, iota, join_pairs, join_parts, packed
from .operands import Cores

CONVENTION = "nan where single ones of equal eigenvalues, or their vectors, are asked for"


def general_eigen_pairs(a: Any) -> Any:
    """Eigenvalues of transposed matrices, above the eigenvectors as rows, as pairs of reals."""
    n = a.shape[-1]
    out = np.full((*a.shape[:-2], n + 1, n), np.nan, np.result_type(a, 1j))
    (geev,) = lapack.get_lapack_funcs(("geev",), (a,))
    for k in np.ndindex(a.shape[:-2] if n else (0,)):
        if not np.all(np.isfinite(a[k])):  # LAPACK prints
            continue
        *w, _, v, info = geev(a[k].T, compute_vl=False)
        if info:
            continue
        if len(w) == 2:  # of a real matrix: real and imaginary parts
            w = [w[0] + 1j * w[1]]
            sign = np.sign(w[0].imag)
            first = np.arange(n) - (sign < 0)
            v = v[:, first] + 1j * sign * v[:, np.minimum(first + (sign != 0), n - 1)]
        out[k] = np.concatenate([w[0][None], v.T])
    return as_pairs(out)


def _copied(r: Call, a: str) -> tuple[str, str]:
    """Write the copying of a matrix, zeros instead of one that is not finite: LAPACK prints.

    Returned are the copy and whether the matrix is not finite.
    """
    e, n = r.e, r.shapes[0][0]
    matrix = r.work(n * n)
    r.copy(matrix, a, n * n)
    total = r.cell(r.kind, r.constant(0.0))
    e.store(r.kind, r.constant(0.0), total)

    def add(i: str) -> None:
        x = e.load(r.kind, r.at(matrix, i, r.kind))
        nothing = e.op("fmul", r.kind, x, r.constant(0.0))
        before = e.load(r.kind, total)
        e.store(r.kind, e.op("fadd", r.kind, before, nothing), total)

    r.loop(r.size(n * n * (2 if r.pairs else 1)), add)
    found = e.load(r.kind, total)
    bad = e.op("fcmp uno", r.kind, found, found)
    count = e.select(bad, "i64", r.size(n * n), "0")
    r.loop(count, lambda i: r.put(r.filled(0.0), matrix, i))
    return matrix, bad


def _spoil(r: Call, info: str, bad: str, out: str, count: Any) -> None:
    """Write the filling with nan if LAPACK failed or was not asked."""
    e = r.e
    failed = e.load("i32", info)
    e.store("i32", e.select(bad, "i32", "1", failed), info)
    r.spoil(info, out, count)


def _write_complex(r: Call) -> None:
    a, out = r.pointers
    n = r.shapes[0][0]
    info = r.cell("i32", "0")
    matrix, bad = _copied(r, a)
    vectors, size, ld = r.at(out, r.size(n)), r.integer(n), r.leading(n)
    r.call("geev", r.letter("N"), r.letter("V"), size, matrix, ld, out, vectors, ld, vectors, ld,
           r.work(66 * n), r.integer(66 * n), r.work(2 * n, r.kind), info)  # fmt: skip
    _spoil(r, info, bad, out, n * n + n)


def _write_real(r: Call) -> None:
    a, out = r.pointers
    n = r.shapes[0][0]
    info = r.cell("i32", "0")
    matrix, bad = _copied(r, a)
    vectors, real, imag = r.work(n * n), r.work(n), r.work(n)
    size, ld = r.integer(n), r.leading(n)
    r.call("geev", r.letter("N"), r.letter("V"), size, matrix, ld, real, imag, vectors, ld,
           vectors, ld, r.work(66 * n), r.integer(66 * n), info)  # fmt: skip
    e, zero, count = r.e, r.constant(0.0), r.size(n)

    def pair(index: str, x: str, y: str) -> None:
        first = e.op("shl", "i64", index, "1")
        r.put(x, out, first)
        r.put(y, out, e.op("or", "i64", first, "1"))

    def vector(j: str) -> None:
        # Of two conjugate eigenvalues, the vectors' real parts come first, then the imaginary.
        part = r.get(imag, j)
        pair(j, r.get(real, j), part)
        below, above = (e.op(f"fcmp {test}", r.kind, part, zero) for test in ("olt", "ogt"))
        first = e.op("sub", "i64", j, e.cast("zext", "i1", below, "i64"))
        either = e.cast("zext", "i1", e.op("or", "i1", below, above), "i64")
        second = e.op("add", "i64", first, either)
        one = r.constant(1.0)
        lower = e.select(below, r.kind, r.constant(-1.0), zero)
        sign = e.select(above, r.kind, one, lower)
        starts = [r.at(vectors, e.op("mul", "i64", k, count)) for k in (first, second)]
        row = e.op("mul", "i64", e.op("add", "i64", j, "1"), count)

        def component(i: str) -> None:
            x, y = (r.get(start, i) for start in starts)
            pair(e.op("add", "i64", row, i), x, e.op("fmul", r.kind, y, sign))

        r.loop(count, component)

    r.loop(count, vector)
    _spoil(r, info, bad, out, 2 * (n * n + n))


# ---------------------------------------------------------------- derivatives


def _parts(pairs: Any) -> tuple[Any, Any]:
    z = pairs if pairs.dtype.kind == "c" else join_pairs(pairs)
    return z[..., 0, :], swapped(z[..., 1:, :])


def _lost(equal: Any, v: Any) -> Any:
    """Whether a matrix has too few vectors for equal eigenvalues; nothing is known there."""
    found = equal & (np.abs(adjoint(v) @ v) > 1.0 - 1e-6)
    for _ in range(2):
        found = np.any(found, axis=-1)
    return found[..., None, None]


def _largest(v: Any) -> Any:
    """Where the largest component of each vector is, as ones among zeros."""
    size = v.real * v.real + v.imag * v.imag
    if 0 in size.shape:
        return size
    chosen = np.argmax(size, axis=-2)
    rows = iota(v.shape[-2], v.real)
    return (rows[:, None] == chosen[..., None, :]).astype(v.real.dtype)


def _sums(x: Any) -> Any:
    return np.sum(x, axis=-2, keepdims=True)


def _real_where(w: Any, x: Any) -> Any:
    """``x`` without imaginary parts that belong to real eigenvalues of a real matrix."""
    return join_parts(x.real, np.where(w.imag == 0, 0.0, x.imag))


def _vjp(ct: Any, y: Any, a: Any) -> Any:
    (w, v), (dw, dv) = _parts(y), _parts(ct)
    if a.ndim != y.ndim:
        dw, dv = _real_where(w, dw), _real_where(w[..., None, :], dv)
    chosen = _largest(v)
    along, some = _sums(conjugated(v) * dv), asked(dv)
    turned = along.imag / _sums(chosen * v.real)
    dv = dv - along.real * v - 1j * (chosen * turned)
    equal = tied(w)
    inner = conjugated(gaps(w, equal)) * (adjoint(v) @ dv)
    inner = np.where(equal & some, np.nan, inner)
    dw = np.where(asked_apart(equal, dw), np.nan, dw)
    inner = inner + unit_like(v) * dw[..., None, :]
    found = swapped(np.linalg.solve(adjoint(v), inner @ adjoint(v)))
    found = np.where(_lost(equal, v), np.nan, found)
    return (packed(found) if a.ndim == y.ndim else found.real,)


def _jvp(t: Any, y: Any, a: Any) -> Any:
    w, v = _parts(y)
    change = join_pairs(t[0]) if a.ndim == y.ndim else t[0]
    inner = np.linalg.solve(v, swapped(change) @ v)
    equal = tied(w)
    inner = np.where(_lost(equal, v), np.nan, inner)
    apart = moved_apart(equal, inner)
    dv = np.where(apart[..., None, :], np.nan, v @ (gaps(w, equal) * inner))
    chosen = _largest(v)
    turned = _sums(chosen * dv.imag) / _sums(chosen * v.real)
    dv = dv - _sums(conjugated(v) * dv).real * v - 1j * (turned * v)
    dw = np.where(apart, np.nan, np.diagonal(inner, axis1=-2, axis2=-1))
    if a.ndim != y.ndim:
        dw, dv = _real_where(w, dw), _real_where(w[..., None, :], dv)
    return packed(np.concatenate([dw[..., None, :], swapped(dv)], axis=-2))


_COMPUTE = exactly.in_pairs(exactly.general)
_VECTORS = exactly.vectors_in_pairs(exactly.eigen_vectors)

EIG: ArrayOp = define(
    Routine("Eig", evaluate=general_eigen_pairs, shape=lambda a: (*a[:-2], a[-1] + 1, a[-1], 2),
        element=no_formula("an eigenvalue"), rule=Products(_vjp, _jvp),
        parts=lambda a: join_pairs(COMPLEX_EIG(packed(a))), batch=batched_alike(lambda: EIG),
        fits=Cores("n n")),
    Code(Written(_write_real, (2, 3)), source=lambda a: f"general_eigen_pairs({a})",
        helpers=(as_pairs, general_eigen_pairs)),
    Evidence(exact=Exact(_COMPUTE, vectors=_VECTORS)),
    Words("eigenvalues of transposed matrices above the eigenvectors as rows, in pairs of reals",
        convention=CONVENTION),
    Ties(lambda y, a: any_tied(as_complex(y)[..., 0, :])),
)  # fmt: skip

COMPLEX_EIG: ArrayOp = define(
    Routine("ComplexEig", evaluate=lambda a: general_eigen_pairs(as_complex(a)),
        shape=lambda a: (*a[:-3], a[-2] + 1, a[-2], 2), element=no_formula("an eigenvalue"),
        rule=Products(_vjp, _jvp), batch=batched_alike(lambda: COMPLEX_EIG), fits=Cores("n n 2")),
    Code(Written(_write_complex, (3, 3), pairs=True),
        source=lambda a: f"general_eigen_pairs(as_complex({a}))",
        helpers=(as_complex, as_pairs, general_eigen_pairs)),
    Evidence(exact=Exact(_COMPUTE, core=3, vectors=_VECTORS)),
    Words("eigenvalues of transposed complex matrices, above the eigenvectors as rows",
        convention=CONVENTION),
    Ties(lambda y, a: any_tied(as_complex(y)[..., 0, :])),
)  # fmt: skip


def general_eigen(x: Any) -> tuple[Any, Any]:
    """Return eigenvalues and eigenvectors of square matrices: always complex.

    As in NumPy they are computed in double precision.
    """
    dtype = np.result_type(x.dtype, 1j)
    pair = _parts(EIG(swapped(x.astype(np.result_type(x.dtype, np.float64)))))
    w, v = (z if z.dtype == dtype else z.astype(dtype) for z in pair)
    return w, v
