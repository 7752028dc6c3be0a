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
from scipy.linalg import lapack

from .._op import Op, Routine, define_array
from .complex_factorizations import as_complex, as_pairs
from .linear import adjoint, batched_alike, no_formula, swapped, unit_like
from .np_common import conjugated, iota, join_pairs, packed

CONVENTION = "nan or infinities where eigenvalues meet"


def general_eigen_pairs(a: Any) -> Any:
    """Eigenvalues of transposed matrices, above the eigenvectors as rows, as pairs of reals."""
    n = a.shape[-1]
    out = np.full((*a.shape[:-2], n + 1, n), np.nan, np.result_type(a, 1j))
    (geev,) = lapack.get_lapack_funcs(("geev",), (a,))
    for k in np.ndindex(a.shape[:-2] if n else (0,)):
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


def _write_complex(r: Any) -> None:
    a, out = r.pointers
    n = r.shapes[0][0]
    matrix, info = r.work(n * n), r.cell("i32", "0")
    r.copy(matrix, a, n * n)
    vectors, size, ld = r.at(out, r.size(n)), r.integer(n), r.leading(n)
    r.call("geev", r.letter("N"), r.letter("V"), size, matrix, ld, out, vectors, ld, vectors, ld,
           r.work(66 * n), r.integer(66 * n), r.work(2 * n, r.kind), info)  # fmt: skip
    r.spoil(info, out, n * n + n)


def _write_real(r: Any) -> None:
    a, out = r.pointers
    n = r.shapes[0][0]
    matrix, vectors, info = r.work(n * n), r.work(n * n), r.cell("i32", "0")
    real, imag = r.work(n), r.work(n)
    r.copy(matrix, a, n * n)
    size, ld = r.integer(n), r.leading(n)
    r.call("geev", r.letter("N"), r.letter("V"), size, matrix, ld, real, imag, vectors, ld,
           vectors, ld, r.work(66 * n), r.integer(66 * n), info)  # fmt: skip
    e, zero, count = r.e, r.constant(0.0), r.size(n)

    def pair(index: str, x: str, y: str) -> None:
        first = e.op(f"shl i64 {index}, 1")
        r.put(x, out, first)
        r.put(y, out, e.op(f"or i64 {first}, 1"))

    def vector(j: str) -> None:
        # Of two conjugate eigenvalues, the vectors' real parts come first, then the imaginary.
        part = r.get(imag, j)
        pair(j, r.get(real, j), part)
        below, above = (e.op(f"fcmp {test} {r.kind} {part}, {zero}") for test in ("olt", "ogt"))
        first = e.op(f"sub i64 {j}, {e.op(f'zext i1 {below} to i64')}")
        either = e.op(f"zext i1 {e.op(f'or i1 {below}, {above}')} to i64")
        second = e.op(f"add i64 {first}, {either}")
        one = r.constant(1.0)
        lower = e.op(f"select i1 {below}, {r.kind} {r.constant(-1.0)}, {r.kind} {zero}")
        sign = e.op(f"select i1 {above}, {r.kind} {one}, {r.kind} {lower}")
        starts = [r.at(vectors, e.op(f"mul i64 {k}, {count}")) for k in (first, second)]
        row = e.op(f"mul i64 {e.op(f'add i64 {j}, 1')}, {count}")

        def component(i: str) -> None:
            x, y = (r.get(start, i) for start in starts)
            pair(e.op(f"add i64 {row}, {i}"), x, e.op(f"fmul {r.kind} {y}, {sign}"))

        r.loop(count, component)

    r.loop(count, vector)
    r.spoil(info, out, 2 * (n * n + n))


# ---------------------------------------------------------------- derivatives


def _parts(pairs: Any) -> tuple[Any, Any]:
    z = pairs if pairs.dtype.kind == "c" else join_pairs(pairs)
    return z[..., 0, :], swapped(z[..., 1:, :])


def _gaps(w: Any) -> Any:
    """``1/(w[j] - w[i])``, and 0 on the diagonal."""
    gap = w[..., None, :] - w[..., :, None]
    one = unit_like(gap)
    return (1.0 - one) / (gap + one)


def _largest(v: Any) -> Any:
    """Where the largest component of each vector is, as ones among zeros."""
    size = v.real * v.real + v.imag * v.imag
    chosen = np.argmax(size, axis=-2)
    rows = iota(v.shape[-2], v.real)
    return (rows[:, None] == chosen[..., None, :]).astype(v.real.dtype)


def _sums(x: Any) -> Any:
    return np.sum(x, axis=-2, keepdims=True)


def _vjp(ct: Any, y: Any, a: Any) -> Any:
    (w, v), (dw, dv) = _parts(y), _parts(ct)
    chosen = _largest(v)
    along = _sums(conjugated(v) * dv)
    turned = along.imag / _sums(chosen * v.real)
    dv = dv - along.real * v - 1j * (chosen * turned)
    inner = conjugated(_gaps(w)) * (adjoint(v) @ dv) + unit_like(v) * dw[..., None, :]
    found = swapped(np.linalg.solve(adjoint(v), inner @ adjoint(v)))
    return (packed(found) if a.ndim == y.ndim else found.real,)


def _jvp(t: Any, y: Any, a: Any) -> Any:
    w, v = _parts(y)
    change = join_pairs(t[0]) if a.ndim == y.ndim else t[0]
    inner = np.linalg.solve(v, swapped(change) @ v)
    dv = v @ (_gaps(w) * inner)
    chosen = _largest(v)
    turned = _sums(chosen * dv.imag) / _sums(chosen * v.real)
    dv = dv - _sums(conjugated(v) * dv).real * v - 1j * (turned * v)
    dw = np.diagonal(inner, axis1=-2, axis2=-1)
    return packed(np.concatenate([dw[..., None, :], swapped(dv)], axis=-2))


EIG: Op = define_array(
    "Eig",
    "routine",
    general_eigen_pairs,
    parts=lambda a: join_pairs(COMPLEX_EIG(packed(a))),
    doc="eigenvalues of transposed matrices above the eigenvectors as rows, in pairs of reals",
    shape=lambda a: (*a[:-2], a[-1] + 1, a[-1], 2),
    element=no_formula("an eigenvalue"),
    vjp=_vjp,
    jvp=_jvp,
    batch=batched_alike(lambda: EIG),
    lower=Routine(_write_real, (2, 3)),
    source=lambda a: f"general_eigen_pairs({a})",
    helpers=(as_pairs, general_eigen_pairs),
    convention=CONVENTION,
)

COMPLEX_EIG: Op = define_array(
    "ComplexEig",
    "routine",
    lambda a: general_eigen_pairs(as_complex(a)),
    doc="eigenvalues of transposed complex matrices, above the eigenvectors as rows",
    shape=lambda a: (*a[:-3], a[-2] + 1, a[-2], 2),
    element=no_formula("an eigenvalue"),
    vjp=_vjp,
    jvp=_jvp,
    batch=batched_alike(lambda: COMPLEX_EIG),
    lower=Routine(_write_complex, (3, 3), pairs=True),
    source=lambda a: f"general_eigen_pairs(as_complex({a}))",
    helpers=(as_complex, as_pairs, general_eigen_pairs),
    convention=CONVENTION,
)


def general_eigen(x: Any) -> tuple[Any, Any]:
    """Return eigenvalues and eigenvectors of square matrices: always complex.

    As in NumPy they are computed in double precision.
    """
    dtype = np.result_type(x.dtype, 1j)
    pair = _parts(EIG(swapped(x.astype(np.result_type(x.dtype, np.float64)))))
    w, v = (z if z.dtype == dtype else z.astype(dtype) for z in pair)
    return w, v
