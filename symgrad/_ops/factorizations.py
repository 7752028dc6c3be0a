"""Matrix factorisations: Cholesky, QR, symmetric eigenvalues, singular values.

An op has one result, so factors that LAPACK gives together lie in one array: those of QR one
above the other, those of the others one behind the other. Rules are in terms of the factors,
which are computed once for value and derivatives. Matrices that stand for symmetric ones have
symmetric cotangents. Rules hold for complex matrices too, where a cotangent ``c`` belongs to
tangents ``t`` by the real part of ``sum(conj(c)*t)``.

Sources: I. Murray, Differentiation of the Cholesky decomposition, arXiv:1602.07527; M. Giles,
Collected matrix derivative results, 2008; G. Golub and V. Pereyra, The differentiation of
pseudo-inverses, SIAM J. Numer. Anal. 10, 1973; S. Walter and L. Lehmann, Algorithmic
differentiation of linear algebra functions, arXiv:1001.1654.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._op import Composed, Exact, Op, Routine, define_array
from . import exactly
from .linear import (
    TRIANGULAR,
    adjoint,
    batched_alike,
    in_pairs,
    no_formula,
    swapped,
    symmetric,
    unit_like,
)
from .movement import RESHAPE
from .np_common import conjugated

# ---------------------------------------------------------------- Cholesky


def cholesky_factor(a: Any) -> Any:
    """Cholesky factors, from the lower triangles; nan where a matrix is not positive definite."""
    out = np.full(a.shape, np.nan, a.dtype)
    for k in np.ndindex(a.shape[:-2]):
        try:
            out[k] = np.linalg.cholesky(a[k])
        except np.linalg.LinAlgError:
            continue
    return out


def write_cholesky(r: Any) -> None:
    """Write the call for one matrix; of pairs, the one for complex numbers."""
    a, out = r.pointers
    n = r.shapes[0][0]
    r.copy(out, a, n * n)
    info = r.cell("i32", "0")
    r.call("potrf", r.letter("U"), r.integer(n), out, r.leading(n), info)
    size = r.size(n)

    def row(i: str) -> None:
        start = r.e.op(f"add i64 {r.e.op(f'mul i64 {i}, {size}')}, {r.e.op(f'add i64 {i}, 1')}")
        rest = r.e.op(f"sub i64 {size}, {r.e.op(f'add i64 {i}, 1')}")
        first = r.at(out, start)
        r.loop(rest, lambda j: r.put(r.filled(0.0), first, j))

    r.loop(size, row)
    r.spoil(info, out, n * n)


def _half(x: Any) -> Any:
    """The lower triangle with half of the diagonal."""
    return np.tril(x) - 0.5 * (x * unit_like(x))


def _over(x: Any, a: Any, lower: bool, conjugate: bool = False) -> Any:
    """``x @ inv(a)`` of a triangular matrix, or with the adjoint of the inverse."""
    if not conjugate:
        return TRIANGULAR(a, x, lower=lower, trans=True, unit=False)
    return conjugated(TRIANGULAR(a, conjugated(x), lower=lower, trans=False, unit=False))


def _real_diagonal(x: Any) -> Any:
    """``x`` with a real diagonal, which factors of complex matrices have."""
    return x - 1j * (unit_like(x) * x.imag) if x.dtype.kind == "c" else x


def _cholesky_vjp(ct: Any, l: Any, a: Any) -> Any:
    inner = _half(adjoint(l) @ _real_diagonal(np.tril(ct)))
    left = adjoint(_over(adjoint(inner), l, lower=True))  # the adjoint of inv(l), times inner
    return (symmetric(_over(left, l, lower=True)),)


def _cholesky_jvp(t: Any, l: Any, a: Any) -> Any:
    right = _over(symmetric(t[0]), l, lower=True, conjugate=True)
    return _real_diagonal(l @ _half(adjoint(_over(adjoint(right), l, lower=True, conjugate=True))))


CHOLESKY: Op = define_array(
    "Cholesky",
    "routine",
    cholesky_factor,
    parts=in_pairs("ComplexCholesky"),
    doc="lower triangular factor of symmetric positive definite matrices",
    shape=lambda a: a,
    element=no_formula("a Cholesky factorisation"),
    exact=Exact(exactly.cholesky, symmetric=True),
    vjp=_cholesky_vjp,
    jvp=_cholesky_jvp,
    batch=batched_alike(lambda: CHOLESKY),
    lower=Routine(write_cholesky, (2, 2)),
    source=lambda a: f"cholesky_factor({a})",
    helpers=(cholesky_factor,),
    convention="symmetric perturbations; nan if a matrix is not positive definite",
)

# ---------------------------------------------------------------- QR


def qr_factors(a: Any) -> Any:
    """Q above the transpose of R, of matrices with no more columns than rows."""
    q, r = np.linalg.qr(a)
    return np.concatenate([q, np.swapaxes(r, -1, -2)], axis=-2)


def write_qr(r: Any) -> None:
    """Write the calls for one matrix; of pairs, those for complex numbers."""
    # A.T = L Q' in columns is A = Q R in rows, with Q' in columns the Q in rows.
    a, out = r.pointers
    m, n = r.shapes[0][:2]
    work, length = r.work(64 * (m + n)), r.integer(64 * (m + n))
    tau, matrix, info = r.work(n), r.work(m * n), r.cell("i32", "0")
    r.copy(matrix, a, m * n)
    mi, ni, ld = r.integer(m), r.integer(n), r.leading(n)
    r.call("gelqf", ni, mi, matrix, ld, tau, work, length, info)
    columns = r.size(n)
    below = r.at(out, r.size(m * n))

    def transposed(i: str) -> None:
        def element(j: str) -> None:
            place = r.e.op(f"add i64 {r.e.op(f'mul i64 {j}, {columns}')}, {i}")
            inside = r.e.op(f"icmp sle i64 {j}, {i}")
            both = f"{r.element} {r.get(matrix, place)}, {r.element} {r.filled(0.0)}"
            target = r.e.op(f"add i64 {r.e.op(f'mul i64 {i}, {columns}')}, {j}")
            r.put(r.e.op(f"select i1 {inside}, {both}"), below, target)

        r.loop(columns, element)

    r.loop(columns, transposed)
    r.call("unglq" if r.pairs else "orglq", ni, mi, ni, matrix, ld, tau, work, length, info)
    r.copy(out, matrix, m * n)


def _parts(x: Any, n: Any) -> tuple[Any, Any]:
    m = x.shape[-2] - n
    return x[..., :m, :], swapped(x[..., m:, :])


def _below(x: Any) -> Any:
    """The lower triangle, of the diagonal half of the imaginary part: vectors turn by it."""
    low = np.tril(x, -1)
    return low + 0.5j * (unit_like(x) * x.imag) if x.dtype.kind == "c" else low


def _beside(q: Any, x: Any) -> Any:
    """The part of columns outside of the space of q; twice is enough (W. Kahan, B. N. Parlett)."""
    for _ in range(2):
        x = x - q @ (adjoint(q) @ x)
    return x


def _qr_vjp(ct: Any, y: Any, a: Any) -> Any:
    # The textbooks' (dQ + Q@copyltu(R@dR.T - dQ.T@Q))@inv(R).T, with what cancels left out:
    # a triangle whose rounding the inverse would magnify.
    n = a.shape[-1]
    (q, r), (dq, dr) = _parts(y, n), _parts(ct, n)
    dr = _real_diagonal(np.triu(dr))
    skew = r @ adjoint(dr) + adjoint(q) @ dq
    low = _over(_below(skew - adjoint(skew)), r, lower=False, conjugate=True)
    return (q @ (dr + low) + _over(_beside(q, dq), r, lower=False, conjugate=True),)


def _qr_jvp(t: Any, y: Any, a: Any) -> Any:
    q, r = _parts(y, a.shape[-1])
    inner = adjoint(q) @ t[0]
    low = _below(_over(inner, r, lower=False))
    turn = low - adjoint(low)
    dq = q @ turn + _over(_beside(q, t[0]), r, lower=False)
    dr = _real_diagonal(np.triu(inner - turn @ r))
    return np.concatenate([dq, swapped(dr)], axis=-2)


QR: Op = define_array(
    "QR",
    "routine",
    qr_factors,
    parts=in_pairs("ComplexQR"),
    doc="orthogonal and triangular factor of matrices: Q above the transpose of R",
    shape=lambda a: (*a[:-2], a[-2] + a[-1], a[-1]),
    element=no_formula("a QR factorisation"),
    exact=Exact(exactly.qr, vectors=exactly.qr_vectors),
    vjp=_qr_vjp,
    jvp=_qr_jvp,
    batch=batched_alike(lambda: QR),
    lower=Routine(write_qr, (2, 2)),
    source=lambda a: f"qr_factors({a})",
    helpers=(qr_factors,),
    convention="infinite or nan derivatives if the columns are linearly dependent",
)

# ---------------------------------------------------------------- symmetric eigenvalues


def eigen_pairs(a: Any) -> Any:
    """Eigenvalues of the transposes of symmetric matrices, above the eigenvectors as rows.

    Upper triangles are read.
    """
    w, v = np.linalg.eigh(np.swapaxes(a, -1, -2))
    return np.concatenate([w[..., None, :], np.swapaxes(v, -1, -2)], axis=-2)


def write_eigh(r: Any) -> None:
    """Write the call for one matrix; of pairs, the one for complex numbers."""
    a, out = r.pointers
    n = r.shapes[0][0]
    vectors, info = r.at(out, r.size(n)), r.cell("i32", "0")
    r.copy(vectors, a, n * n)
    count, whole = 1 + 6 * n + 2 * n * n, 3 + 5 * n
    values, real = (r.work(n, r.kind), r.work(count, r.kind)) if r.pairs else (out, None)
    work = [r.work(count), r.integer(count)]
    if r.pairs:
        work += [real, r.integer(count)]
    work += [r.work(whole, "i32"), r.integer(whole)]
    letters = (r.letter("V"), r.letter("L"))
    name = "heevd" if r.pairs else "syevd"
    r.call(name, *letters, r.integer(n), vectors, r.leading(n), values, *work, info)
    if r.pairs:
        widen(r, out, values, n)
    r.spoil(info, out, n * n + n)


def widen(r: Any, target: str, source: str, count: Any) -> None:
    """Write the copying of real numbers into complex ones."""

    def copy(i: str) -> None:
        value = r.e.op(f"load {r.kind}, ptr {r.at(source, i, r.kind)}")
        pair = f"insertvalue {r.element} {r.filled(0.0)}, {r.kind} {value}, 0"
        r.put(r.e.op(pair), target, i)

    r.loop(r.size(count), copy)


def _gaps(w: Any) -> Any:
    """``1/(w[j] - w[i])``, and 0 for equal ones."""
    gap = w[..., None, :] - w[..., :, None]
    return np.where(gap == 0, 0.0, 1.0 / np.where(gap == 0, 1.0, gap))


def _eigen_parts(x: Any) -> tuple[Any, Any]:
    return x[..., 0, :].real, swapped(x[..., 1:, :])


def _eigh_vjp(ct: Any, y: Any, a: Any) -> Any:
    (w, v), (dw, dv) = _eigen_parts(y), _eigen_parts(ct)
    inner = _gaps(w) * (adjoint(v) @ dv) + unit_like(a) * dw[..., None, :]
    return (conjugated(symmetric(v @ inner @ adjoint(v))),)


def _eigh_jvp(t: Any, y: Any, a: Any) -> Any:
    w, v = _eigen_parts(y)
    inner = adjoint(v) @ conjugated(symmetric(t[0])) @ v
    dw = np.diagonal(inner, axis1=-2, axis2=-1).real
    dv = v @ (_gaps(w) * inner)
    return np.concatenate([dw[..., None, :], swapped(dv)], axis=-2)


EIGH: Op = define_array(
    "Eigh",
    "routine",
    eigen_pairs,
    parts=in_pairs("ComplexEigh"),
    doc="eigenvalues of symmetric matrices, above the eigenvectors as rows",
    shape=lambda a: (*a[:-2], a[-1] + 1, a[-1]),
    element=no_formula("an eigenvalue"),
    exact=Exact(exactly.eigen, symmetric=True, vectors=exactly.eigen_vectors),
    vjp=_eigh_vjp,
    jvp=_eigh_jvp,
    batch=batched_alike(lambda: EIGH),
    lower=Routine(write_eigh, (2, 2)),
    source=lambda a: f"eigen_pairs({a})",
    helpers=(eigen_pairs,),
    convention="symmetric perturbations; no share of what turns vectors of equal eigenvalues",
)

# ---------------------------------------------------------------- singular values


def singular_parts(a: Any) -> Any:
    """U, the singular values and the transpose of V, one behind the other."""
    v, s, uh = np.linalg.svd(np.swapaxes(a, -1, -2), full_matrices=False)
    u, vh = np.swapaxes(uh, -1, -2), np.swapaxes(v, -1, -2)
    lead = a.shape[:-2]
    sides = [x.reshape((*lead, x.shape[-2] * x.shape[-1])) for x in (u, vh)]
    return np.concatenate([sides[0], s, sides[1]], axis=-1)


def write_svd(r: Any, wide: bool) -> None:
    """Write the call for one matrix; of pairs, the one for complex numbers."""
    # LAPACK sees the transpose: U and V change places.
    a, out = r.pointers
    m, n = r.shapes[0][:2]
    k, large = (m, n) if wide else (n, m)
    matrix, info = r.work(m * n), r.cell("i32", "0")
    r.copy(matrix, a, m * n)
    values = r.at(out, r.size(m * k))
    right = r.at(out, r.size(m * k + k))
    count = 5 * k * k + 8 * k + 65 * large
    found = r.work(k, r.kind) if r.pairs else values
    real = [r.work(7 * k * k + 8 * k + 2 * k * large, r.kind)] if r.pairs else []
    r.call("gesdd", r.letter("S"), r.integer(n), r.integer(m), matrix, r.leading(n), found,
           right, r.leading(n), out, r.leading(k), r.work(count), r.integer(count), *real,
           r.work(8 * k, "i32"), info)  # fmt: skip
    if r.pairs:
        widen(r, values, found, k)
    r.spoil(info, out, m * k + k + n * k)


def svd_parts(x: Any, m: Any, n: Any, k: Any) -> tuple[Any, Any, Any]:
    """Return U, the singular values and the transpose of V of one flat result."""
    lead = x.shape[:-1]
    u, s, vh = x[..., : m * k], x[..., m * k : m * k + k], x[..., m * k + k :]
    return RESHAPE(u, shape=(*lead, m, k)), s.real, RESHAPE(vh, shape=(*lead, k, n))


def _inverse(s: Any) -> Any:
    return np.where(s == 0, 0.0, 1.0 / np.where(s == 0, 1.0, s))


def _svd_sizes(a: Any, wide: bool) -> tuple[Any, Any, Any]:
    m, n = a.shape[-2:]
    return m, n, m if wide else n


def _turning(s: Any) -> tuple[Any, Any]:
    """Half of ``1/(s[j] - s[i])`` and of ``1/(s[j] + s[i])``, with 0 for 1/0.

    How vectors turn is a quotient by ``s[j]**2 - s[i]**2``, whose partial fractions do not cancel.
    """
    return 0.5 * _gaps(s), 0.5 * _inverse(s[..., None, :] + s[..., :, None])


def _less_turn(x: Any, z: Any, weight: Any) -> Any:
    """``x`` less the diagonal of imaginary parts of ``z``, so that U's columns do not turn."""
    if z.dtype.kind != "c":
        return x
    return x - 1j * (unit_like(z) * z.imag * weight[..., None, :])


def _svd_vjp(ct: Any, y: Any, a: Any, wide: bool) -> Any:
    sizes = _svd_sizes(a, wide)
    (u, s, vh), (du, ds, dvh) = svd_parts(y, *sizes), svd_parts(ct, *sizes)
    v, dv, inverse = adjoint(vh), adjoint(dvh), _inverse(s)
    (near, far), left, right = _turning(s), adjoint(u) @ du, vh @ dv
    left, right = left - adjoint(left), right - adjoint(right)
    inner = near * (left + right) + far * (left - right) + unit_like(left) * ds[..., None, :]
    inner = _less_turn(inner, left + right, 0.25 * inverse)
    total = u @ inner @ vh
    # What lies outside of the spaces that U and V span.
    total = total + (_beside(u, du) * inverse[..., None, :]) @ vh
    return (total + (u * inverse[..., None, :]) @ adjoint(_beside(v, dv)),)


def _svd_jvp(t: Any, y: Any, a: Any, wide: bool) -> Any:
    sizes = _svd_sizes(a, wide)
    u, s, vh = svd_parts(y, *sizes)
    v, inverse = adjoint(vh), _inverse(s)
    near, far = _turning(s)
    inner = adjoint(u) @ t[0] @ v
    ds = np.diagonal(inner, axis1=-2, axis2=-1).real
    both, apart = near * (inner + adjoint(inner)), far * (inner - adjoint(inner))
    both, inverse = _less_turn(both, inner, 0.5 * inverse), inverse[..., None, :]
    du = u @ (both + apart) + (_beside(u, t[0]) @ v) * inverse
    dv = v @ (both - apart) + (_beside(v, adjoint(t[0])) @ u) * inverse
    m, n, k = sizes
    lead = s.shape[:-1]
    flat = [RESHAPE(du, shape=(*lead, m * k)), ds, RESHAPE(adjoint(dv), shape=(*lead, k * n))]
    return np.concatenate(flat, axis=-1)


def _svd_shape(a: Any, wide: bool) -> Any:
    m, n = a[-2:]
    k = m if wide else n
    return (*a[:-2], m * k + k + k * n)


SVD: Op = define_array(
    "SVD",
    "routine",
    lambda a, wide: singular_parts(a),
    parts=in_pairs("ComplexSVD"),
    doc="singular values and vectors: U, s and the transpose of V, one behind the other",
    shape=_svd_shape,
    element=no_formula("a singular value"),
    exact=Exact(exactly.singular, vectors=exactly.singular_vectors),
    vjp=_svd_vjp,
    jvp=_svd_jvp,
    batch=batched_alike(lambda: SVD),
    lower=Routine(write_svd, (2, 1)),
    source=lambda a, wide: f"singular_parts({a})",
    helpers=(singular_parts,),
    convention="no share of what turns vectors of equal singular values; 1/0 counts as 0",
)


# ---------------------------------------------------------------- pseudo-inverse


def _pinv_vjp(ct: Any, p: Any, a: Any, value: Any) -> Any:
    pt, ctt = adjoint(p), adjoint(ct)
    outside = (ctt - a @ (p @ ctt)) @ p @ pt
    inside = pt @ p @ (ctt - (ctt @ p) @ a)
    return outside + inside - pt @ ct @ pt, None


def _pinv_jvp(t: Any, p: Any, a: Any, value: Any) -> Any:
    if t[0] is None:
        return None
    pt, tt = adjoint(p), adjoint(t[0])
    outside = p @ (pt @ (tt - (tt @ a) @ p))
    inside = (tt - p @ (a @ tt)) @ pt @ p
    return outside + inside - p @ t[0] @ p


PINV: Op = define_array(
    "PseudoInverse",
    "routine",
    lambda a, value: value,
    parts=in_pairs("ComplexPseudoInverse"),
    doc="a pseudo-inverse that is known, with its derivative by the matrix",
    types=lambda a, value: a,
    shape=lambda a, value: value,
    element=no_formula("a pseudo-inverse"),
    exact=Exact(exactly.pseudo_inverse),
    vjp=_pinv_vjp,
    jvp=_pinv_jvp,
    batch=batched_alike(lambda: PINV),
    lower=Composed(lambda a, value: value),
    source=lambda a, value: str(value),
    convention="the rank stays what it is",
)
