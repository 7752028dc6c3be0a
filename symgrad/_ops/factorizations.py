"""Matrix factorisations: Cholesky, QR, symmetric eigenvalues, singular values.

An op has one result, so factors that LAPACK gives together lie in one array: those of QR one
above the other, those of the others one behind the other. Rules are in terms of the factors,
which are computed once for value and derivatives. Matrices that stand for symmetric ones have
symmetric cotangents.

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
from .linear import TRIANGULAR, batched_alike, no_formula, swapped, symmetric, unit_like
from .movement import RESHAPE

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


def _write_cholesky(r: Any) -> None:
    a, out = r.pointers
    n = r.shapes[0][0]
    r.copy(out, a, n * n)
    info = r.cell("i32", "0")
    r.call("potrf", r.letter("U"), r.integer(n), out, r.leading(n), info)
    size = r.size(n)
    zero = r.constant(0.0)

    def row(i: str) -> None:
        start = r.e.op(f"add i64 {r.e.op(f'mul i64 {i}, {size}')}, {r.e.op(f'add i64 {i}, 1')}")
        rest = r.e.op(f"sub i64 {size}, {r.e.op(f'add i64 {i}, 1')}")
        first = r.at(out, start)
        r.loop(rest, lambda j: r.e.line(f"store {r.kind} {zero}, ptr {r.at(first, j)}"))

    r.loop(size, row)
    r.spoil(info, out, n * n)


def _half(x: Any) -> Any:
    """The lower triangle with half of the diagonal."""
    return np.tril(x) - 0.5 * (x * unit_like(x))


def _right_inverse(l: Any, x: Any, trans: bool) -> Any:
    """``x @ inv(l)``, or with the inverse transpose; rows are what is solved for."""
    return TRIANGULAR(l, x, lower=True, trans=not trans, unit=False)


def _cholesky_vjp(ct: Any, l: Any, a: Any) -> Any:
    inner = _half(swapped(l) @ np.tril(ct))
    left = swapped(_right_inverse(l, swapped(inner), trans=False))  # inv(l).T @ inner
    return (symmetric(_right_inverse(l, left, trans=False)),)


def _cholesky_jvp(t: Any, l: Any, a: Any) -> Any:
    right = _right_inverse(l, symmetric(t[0]), trans=True)  # t @ inv(l).T
    return l @ _half(swapped(_right_inverse(l, swapped(right), trans=True)))


CHOLESKY: Op = define_array(
    "Cholesky",
    "routine",
    cholesky_factor,
    doc="lower triangular factor of symmetric positive definite matrices",
    shape=lambda a: a,
    element=no_formula("a Cholesky factorisation"),
    exact=Exact(exactly.cholesky, symmetric=True),
    vjp=_cholesky_vjp,
    jvp=_cholesky_jvp,
    batch=batched_alike(lambda: CHOLESKY),
    lower=Routine(_write_cholesky, (2, 2)),
    source=lambda a: f"cholesky_factor({a})",
    helpers=(cholesky_factor,),
    convention="symmetric perturbations; nan if a matrix is not positive definite",
)

# ---------------------------------------------------------------- QR


def qr_factors(a: Any) -> Any:
    """Q above the transpose of R, of matrices with no more columns than rows."""
    q, r = np.linalg.qr(a)
    return np.concatenate([q, np.swapaxes(r, -1, -2)], axis=-2)


def _write_qr(r: Any) -> None:
    # A.T = L Q' in columns is A = Q R in rows, with Q' in columns the Q in rows.
    a, out = r.pointers
    m, n = r.shapes[0]
    work, length = r.work(64 * (m + n)), r.integer(64 * (m + n))
    tau, matrix, info = r.work(n), r.work(m * n), r.cell("i32", "0")
    r.copy(matrix, a, m * n)
    mi, ni, ld = r.integer(m), r.integer(n), r.leading(n)
    r.call("gelqf", ni, mi, matrix, ld, tau, work, length, info)
    columns = r.size(n)
    below = r.at(out, r.size(m * n))
    zero = r.constant(0.0)

    def transposed(i: str) -> None:
        def element(j: str) -> None:
            place = r.e.op(f"add i64 {r.e.op(f'mul i64 {j}, {columns}')}, {i}")
            value = r.e.op(f"load {r.kind}, ptr {r.at(matrix, place)}")
            inside = r.e.op(f"icmp sle i64 {j}, {i}")
            kept = r.e.op(f"select i1 {inside}, {r.kind} {value}, {r.kind} {zero}")
            target = r.e.op(f"add i64 {r.e.op(f'mul i64 {i}, {columns}')}, {j}")
            r.e.line(f"store {r.kind} {kept}, ptr {r.at(below, target)}")

        r.loop(columns, element)

    r.loop(columns, transposed)
    r.call("orglq", ni, mi, ni, matrix, ld, tau, work, length, info)
    r.copy(out, matrix, m * n)


def _parts(x: Any, n: Any) -> tuple[Any, Any]:
    m = x.shape[-2] - n
    return x[..., :m, :], swapped(x[..., m:, :])


def _times_inverse(x: Any, r: Any, trans: bool) -> Any:
    """``x @ inv(r)`` of an upper triangular r, or with the inverse transpose."""
    return TRIANGULAR(r, x, lower=False, trans=not trans, unit=False)


def _beside(q: Any, x: Any) -> Any:
    """The part of columns outside of the space of q; twice is enough (W. Kahan, B. N. Parlett)."""
    for _ in range(2):
        x = x - q @ (swapped(q) @ x)
    return x


def _qr_vjp(ct: Any, y: Any, a: Any) -> Any:
    # The textbooks' (dQ + Q@copyltu(R@dR.T - dQ.T@Q))@inv(R).T, with what cancels left out:
    # a triangle whose rounding the inverse would magnify.
    n = a.shape[-1]
    (q, r), (dq, dr) = _parts(y, n), _parts(ct, n)
    dr = np.triu(dr)
    skew = r @ swapped(dr) + swapped(q) @ dq
    low = _times_inverse(np.tril(skew - swapped(skew), -1), r, trans=True)
    return (q @ (dr + low) + _times_inverse(_beside(q, dq), r, trans=True),)


def _qr_jvp(t: Any, y: Any, a: Any) -> Any:
    q, r = _parts(y, a.shape[-1])
    inner = swapped(q) @ t[0]
    low = np.tril(_times_inverse(inner, r, trans=False), -1)
    turn = low - swapped(low)
    dq = q @ turn + _times_inverse(_beside(q, t[0]), r, trans=False)
    return np.concatenate([dq, swapped(np.triu(inner - turn @ r))], axis=-2)


QR: Op = define_array(
    "QR",
    "routine",
    qr_factors,
    doc="orthogonal and triangular factor of matrices: Q above the transpose of R",
    shape=lambda a: (*a[:-2], a[-2] + a[-1], a[-1]),
    element=no_formula("a QR factorisation"),
    exact=Exact(exactly.qr, vectors=exactly.qr_vectors),
    vjp=_qr_vjp,
    jvp=_qr_jvp,
    batch=batched_alike(lambda: QR),
    lower=Routine(_write_qr, (2, 2)),
    source=lambda a: f"qr_factors({a})",
    helpers=(qr_factors,),
    convention="infinite or nan derivatives if the columns are linearly dependent",
)

# ---------------------------------------------------------------- symmetric eigenvalues


def eigen_pairs(a: Any) -> Any:
    """Eigenvalues of symmetric matrices, from the upper triangles, above the eigenvectors."""
    w, v = np.linalg.eigh(np.swapaxes(a, -1, -2))
    return np.concatenate([w[..., None, :], np.swapaxes(v, -1, -2)], axis=-2)


def _write_eigh(r: Any) -> None:
    a, out = r.pointers
    n = r.shapes[0][0]
    vectors, info = r.at(out, r.size(n)), r.cell("i32", "0")
    r.copy(vectors, a, n * n)
    count, whole = 1 + 6 * n + 2 * n * n, 3 + 5 * n
    work = (r.work(count), r.integer(count), r.work(whole, "i32"), r.integer(whole))
    letters = (r.letter("V"), r.letter("L"))
    r.call("syevd", *letters, r.integer(n), vectors, r.leading(n), out, *work, info)
    r.spoil(info, out, n * n + n)


def _gaps(w: Any) -> Any:
    """``1/(w[j] - w[i])``, and 0 for equal ones."""
    gap = w[..., None, :] - w[..., :, None]
    return np.where(gap == 0, 0.0, 1.0 / np.where(gap == 0, 1.0, gap))


def _eigen_parts(x: Any) -> tuple[Any, Any]:
    return x[..., 0, :], swapped(x[..., 1:, :])


def _eigh_vjp(ct: Any, y: Any, a: Any) -> Any:
    (w, v), (dw, dv) = _eigen_parts(y), _eigen_parts(ct)
    inner = _gaps(w) * (swapped(v) @ dv) + unit_like(a) * dw[..., None, :]
    return (symmetric(v @ inner @ swapped(v)),)


def _eigh_jvp(t: Any, y: Any, a: Any) -> Any:
    w, v = _eigen_parts(y)
    inner = swapped(v) @ symmetric(t[0]) @ v
    dw = np.diagonal(inner, axis1=-2, axis2=-1)
    dv = v @ (_gaps(w) * inner)
    return np.concatenate([dw[..., None, :], swapped(dv)], axis=-2)


EIGH: Op = define_array(
    "Eigh",
    "routine",
    eigen_pairs,
    doc="eigenvalues of symmetric matrices, above the eigenvectors as rows",
    shape=lambda a: (*a[:-2], a[-1] + 1, a[-1]),
    element=no_formula("an eigenvalue"),
    exact=Exact(exactly.eigen, symmetric=True, vectors=exactly.eigen_vectors),
    vjp=_eigh_vjp,
    jvp=_eigh_jvp,
    batch=batched_alike(lambda: EIGH),
    lower=Routine(_write_eigh, (2, 2)),
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


def _write_svd(r: Any, wide: bool) -> None:
    # LAPACK sees the transpose: U and V change places.
    a, out = r.pointers
    m, n = r.shapes[0]
    k, large = (m, n) if wide else (n, m)
    matrix, info = r.work(m * n), r.cell("i32", "0")
    r.copy(matrix, a, m * n)
    values = r.at(out, r.size(m * k))
    right = r.at(out, r.size(m * k + k))
    count = 5 * k * k + 8 * k + 65 * large
    r.call("gesdd", r.letter("S"), r.integer(n), r.integer(m), matrix, r.leading(n), values,
           right, r.leading(n), out, r.leading(k), r.work(count), r.integer(count),
           r.work(8 * k, "i32"), info)  # fmt: skip
    r.spoil(info, out, m * k + k + n * k)


def svd_parts(x: Any, m: Any, n: Any, k: Any) -> tuple[Any, Any, Any]:
    """Return U, the singular values and the transpose of V of one flat result."""
    lead = x.shape[:-1]
    u, s, vh = x[..., : m * k], x[..., m * k : m * k + k], x[..., m * k + k :]
    return RESHAPE(u, shape=(*lead, m, k)), s, RESHAPE(vh, shape=(*lead, k, n))


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


def _svd_vjp(ct: Any, y: Any, a: Any, wide: bool) -> Any:
    sizes = _svd_sizes(a, wide)
    (u, s, vh), (du, ds, dvh) = svd_parts(y, *sizes), svd_parts(ct, *sizes)
    v, dv, inverse = swapped(vh), swapped(dvh), _inverse(s)
    (near, far), left, right = _turning(s), swapped(u) @ du, vh @ dv
    left, right = left - swapped(left), right - swapped(right)
    inner = near * (left + right) + far * (left - right) + unit_like(left) * ds[..., None, :]
    total = u @ inner @ vh
    # What lies outside of the spaces that U and V span.
    total = total + (_beside(u, du) * inverse[..., None, :]) @ vh
    return (total + (u * inverse[..., None, :]) @ swapped(_beside(v, dv)),)


def _svd_jvp(t: Any, y: Any, a: Any, wide: bool) -> Any:
    sizes = _svd_sizes(a, wide)
    u, s, vh = svd_parts(y, *sizes)
    v, inverse = swapped(vh), _inverse(s)[..., None, :]
    near, far = _turning(s)
    inner = swapped(u) @ t[0] @ v
    ds = np.diagonal(inner, axis1=-2, axis2=-1)
    both, apart = near * (inner + swapped(inner)), far * (inner - swapped(inner))
    du = u @ (both + apart) + (_beside(u, t[0]) @ v) * inverse
    dv = v @ (both - apart) + (_beside(v, swapped(t[0])) @ u) * inverse
    m, n, k = sizes
    lead = s.shape[:-1]
    flat = [RESHAPE(du, shape=(*lead, m * k)), ds, RESHAPE(swapped(dv), shape=(*lead, k * n))]
    return np.concatenate(flat, axis=-1)


def _svd_shape(a: Any, wide: bool) -> Any:
    m, n = a[-2:]
    k = m if wide else n
    return (*a[:-2], m * k + k + k * n)


SVD: Op = define_array(
    "SVD",
    "routine",
    lambda a, wide: singular_parts(a),
    doc="singular values and vectors: U, s and the transpose of V, one behind the other",
    shape=_svd_shape,
    element=no_formula("a singular value"),
    exact=Exact(exactly.singular, vectors=exactly.singular_vectors),
    vjp=_svd_vjp,
    jvp=_svd_jvp,
    batch=batched_alike(lambda: SVD),
    lower=Routine(_write_svd, (2, 1)),
    source=lambda a, wide: f"singular_parts({a})",
    helpers=(singular_parts,),
    convention="no share of what turns vectors of equal singular values; 1/0 counts as 0",
)


# ---------------------------------------------------------------- pseudo-inverse


def _pinv_vjp(ct: Any, p: Any, a: Any, value: Any) -> Any:
    pt, ctt = swapped(p), swapped(ct)
    outside = (ctt - a @ (p @ ctt)) @ p @ pt
    inside = pt @ p @ (ctt - (ctt @ p) @ a)
    return outside + inside - pt @ ct @ pt, None


def _pinv_jvp(t: Any, p: Any, a: Any, value: Any) -> Any:
    if t[0] is None:
        return None
    pt, tt = swapped(p), swapped(t[0])
    outside = p @ (pt @ (tt - (tt @ a) @ p))
    inside = (tt - p @ (a @ tt)) @ pt @ p
    return outside + inside - p @ t[0] @ p


PINV: Op = define_array(
    "PseudoInverse",
    "routine",
    lambda a, value: value,
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
