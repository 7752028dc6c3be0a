"""Matrix factorisations: Cholesky, QR, symmetric eigenvalues.

An op has one result, so factors that LAPACK gives together lie in one array: those of QR one
above the other, those of the others one behind the other. Rules are in terms of the factors,
which are computed once for value and derivatives. Matrices that stand for symmetric ones have
symmetric cotangents. Rules hold for complex matrices too, where a cotangent ``c`` belongs to
tangents ``t`` by the real part of ``sum(conj(c)*t)``.

Sources: I. Murray, Differentiation of the Cholesky decomposition, arXiv:1602.07527; M. Giles,
Collected matrix derivative results, 2008; S. Walter and L. Lehmann, Algorithmic differentiation
of linear algebra functions, arXiv:1001.1654.
"""

from __future__ import annotations

from typing import Any

import numpy as np

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
from . import elimination
from . import multiple_precision as exactly
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
from .np_common import conjugated
from .operands import Cores

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


def write_cholesky(r: Call) -> None:
    """Write the call for one matrix; of pairs, the one for complex numbers."""
    a, out = r.pointers
    n = r.shapes[0][0]
    r.copy(out, a, n * n)
    info = r.cell("i32", "0")
    r.call("potrf", r.letter("U"), r.integer(n), out, r.leading(n), info)
    size = r.size(n)

    def row(i: str) -> None:
        start = r.e.op("add", "i64", r.e.op("mul", "i64", i, size), r.e.op("add", "i64", i, "1"))
        rest = r.e.op("sub", "i64", size, r.e.op("add", "i64", i, "1"))
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


CHOLESKY: ArrayOp = define(
    Routine("Cholesky", evaluate=cholesky_factor, shape=lambda a: a,
        element=no_formula("a Cholesky factorisation"),
        rule=Products(_cholesky_vjp, _cholesky_jvp), parts=in_pairs("ComplexCholesky"),
        batch=batched_alike(lambda: CHOLESKY), fits=Cores("n n")),
    Code(Written(write_cholesky, (2, 2), small=elimination.cholesky),
        source=lambda a: f"cholesky_factor({a})", helpers=(cholesky_factor,)),
    Evidence(exact=Exact(exactly.cholesky, symmetric=True)),
    Words("lower triangular factor of symmetric positive definite matrices",
        convention="symmetric perturbations; nan if a matrix is not positive definite"),
)  # fmt: skip

# ---------------------------------------------------------------- QR


def qr_factors(a: Any) -> Any:
    """Q above the transpose of R, of matrices with no more columns than rows."""
    q, r = np.linalg.qr(a)
    return np.concatenate([q, np.swapaxes(r, -1, -2)], axis=-2)


def write_qr(r: Call) -> None:
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
            place = r.e.op("add", "i64", r.e.op("mul", "i64", j, columns), i)
            inside = r.e.op("icmp sle", "i64", j, i)
            given = r.get(matrix, place)
            target = r.e.op("add", "i64", r.e.op("mul", "i64", i, columns), j)
            r.put(r.e.select(inside, r.element, given, r.filled(0.0)), below, target)

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


def beside(q: Any, x: Any) -> Any:
    """The part of columns outside of the space of q; twice is enough (W. Kahan, B. N. Parlett)."""
    for _ in range(2):
        x = x - q @ (adjoint(q) @ x)
    return x


def _over_adjoint(x: Any, r: Any) -> Any:
    """``x @ inv(adjoint(r))``, of columns of zeros 0 also if the matrix is singular."""
    unused = np.all(x == 0, axis=-2) & (np.diagonal(r, axis1=-2, axis2=-1) == 0)
    return _over(x, r + unit_like(r) * unused[..., None, :], lower=False, conjugate=True)


def _qr_vjp(ct: Any, y: Any, a: Any) -> Any:
    # The textbooks' (dQ + Q@copyltu(R@dR.T - dQ.T@Q))@inv(R).T, with what cancels left out:
    # a triangle whose rounding the inverse would magnify.
    n = a.shape[-1]
    (q, r), (dq, dr) = _parts(y, n), _parts(ct, n)
    dr = _real_diagonal(np.triu(dr))
    skew = r @ adjoint(dr) + adjoint(q) @ dq
    low = _over_adjoint(_below(skew - adjoint(skew)), r)
    return (q @ (dr + low) + _over_adjoint(beside(q, dq), r),)


def _qr_jvp(t: Any, y: Any, a: Any) -> Any:
    q, r = _parts(y, a.shape[-1])
    inner = adjoint(q) @ t[0]
    low = _below(_over(inner, r, lower=False))
    turn = low - adjoint(low)
    dq = q @ turn + _over(beside(q, t[0]), r, lower=False)
    dr = _real_diagonal(np.triu(inner - turn @ r))
    return np.concatenate([dq, swapped(dr)], axis=-2)


QR: ArrayOp = define(
    Routine("QR", evaluate=qr_factors, shape=lambda a: (*a[:-2], a[-2] + a[-1], a[-1]),
        element=no_formula("a QR factorisation"), rule=Products(_qr_vjp, _qr_jvp),
        parts=in_pairs("ComplexQR"), batch=batched_alike(lambda: QR),
        fits=Cores("m n", ordered=lambda size: size["m"] >= size["n"])),
    Code(Written(write_qr, (2, 2)), source=lambda a: f"qr_factors({a})", helpers=(qr_factors,)),
    Evidence(exact=Exact(exactly.qr, vectors=exactly.qr_vectors)),
    Words("orthogonal and triangular factor of matrices: Q above the transpose of R",
        convention="infinite or nan derivatives if the columns are linearly dependent"),
)  # fmt: skip

# ---------------------------------------------------------------- what Q's columns leave


def orthogonal_complement(a: Any) -> Any:
    """The columns of Q beyond the first n, of matrices with n columns and no fewer rows."""
    return np.linalg.qr(a, mode="complete")[0][..., a.shape[-1] :]


def write_complement(r: Call) -> None:
    """Write the calls for one matrix, as :func:`write_qr`, with room for all rows of Q'."""
    a, out = r.pointers
    m, n = r.shapes[0][:2]
    work, length = r.work(64 * (m + n)), r.integer(64 * (m + n))
    tau, matrix, info = r.work(n), r.work(m * m), r.cell("i32", "0")
    mi, ni, ld = r.integer(m), r.integer(n), r.leading(m)

    def place(pointer: str, row: str, width: Any, start: Any = 0) -> str:
        first = r.e.op("mul", "i64", row, r.size(width))
        return r.at(pointer, r.e.op("add", "i64", first, r.size(start)))

    r.loop(r.size(m), lambda i: r.copy(place(matrix, i, m), place(a, i, n), n))
    r.call("gelqf", ni, mi, matrix, ld, tau, work, length, info)
    r.call("unglq" if r.pairs else "orglq", mi, mi, ni, matrix, ld, tau, work, length, info)
    r.loop(r.size(m), lambda i: r.copy(place(out, i, m - n), place(matrix, i, m, n), m - n))


def _reflected(y: Any, a: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Return Q over R.T, Q2, M and X, of which the complement is ``[M @ X; 1 - Q2 @ X]``.

    Q is ``1 - V @ T @ V.H``, of Householder's vectors in the columns of V, the first n rows of
    which are a unit triangle V1. So ``M = 1 - Q1 = V1 @ T @ V1.H`` for the first n rows Q1 of Q's
    first n columns, and ``Q2 = -V2 @ T @ V1.H``, hence ``X = inv(M.H) @ Q2.H`` is what the vectors
    do to the other columns. The determinant of M is the product of the reflections' factors,
    each 0, where a column has nothing to reflect, or 1 at least. Last comes where one is 0; there
    ``M + 1`` stands for M, which is not singular, since M is 1 less a part of a unitary matrix.
    """
    n = a.shape[-1]
    both = QR(a)
    q, _ = _parts(both, n)
    unit = unit_like(both[..., :n, :])
    m = unit - q[..., :n, :]
    still = (np.abs(np.linalg.det(m)) < 0.5)[..., None, None]
    m = m + unit * still
    return both, q[..., n:, :], m, np.linalg.solve(m, y[..., :n, :]), still


def _unless_still(t: Any, still: Any) -> Any:
    """``t``, and nan where it is not 0 and there is a jump."""
    return np.where(still & np.any(t != 0, axis=(-2, -1), keepdims=True), np.nan, t)


def _complement_vjp(ct: Any, y: Any, a: Any) -> Any:
    n = a.shape[-1]
    both, below, m, x, still = _reflected(y, a)
    ct = _unless_still(ct, still)
    top, rest = ct[..., :n, :], ct[..., n:, :]
    back = adjoint(np.linalg.solve(m, adjoint(m) @ top - adjoint(below) @ rest))
    first = [x @ back - top @ adjoint(x), back - rest @ adjoint(x)]
    return _qr_vjp(np.concatenate([*first, 0.0 * m], axis=-2), both, a)


def _complement_jvp(t: Any, y: Any, a: Any) -> Any:
    n = a.shape[-1]
    both, below, m, x, still = _reflected(y, a)
    dq, _ = _parts(_qr_jvp((_unless_still(t[0], still),), both, a), n)
    top, rest = dq[..., :n, :], dq[..., n:, :]
    dx = np.linalg.solve(adjoint(m), adjoint(rest) + adjoint(top) @ x)
    return np.concatenate([m @ dx - top @ x, -rest @ x - below @ dx], axis=-2)


COMPLEMENT: ArrayOp = define(
    Routine("OrthogonalComplement", evaluate=orthogonal_complement,
        shape=lambda a: (*a[:-1], a[-2] - a[-1]),
        element=no_formula("a QR factorisation"), rule=Products(_complement_vjp, _complement_jvp),
        parts=in_pairs("ComplexOrthogonalComplement"), batch=batched_alike(lambda: COMPLEMENT),
        fits=Cores("m n", ordered=lambda size: size["m"] >= size["n"])),
    Code(Written(write_complement, (2, 2)), source=lambda a: f"orthogonal_complement({a})",
        helpers=(orthogonal_complement,)),
    Evidence(exact=Exact(exactly.complement, vectors=exactly.complement_vectors)),
    Words("columns of Q beyond those of R's size, by Householder's reflections",
        convention="nan where a column has nothing to reflect: there Q changes its sign"),
)  # fmt: skip

# ---------------------------------------------------------------- symmetric eigenvalues


def eigen_pairs(a: Any) -> Any:
    """Eigenvalues of the transposes of symmetric matrices, above the eigenvectors as rows.

    Upper triangles are read.
    """
    w, v = np.linalg.eigh(np.swapaxes(a, -1, -2))
    return np.concatenate([w[..., None, :], np.swapaxes(v, -1, -2)], axis=-2)


def write_eigh(r: Call) -> None:
    """Write the call for one matrix; of pairs, the one for complex numbers."""
    a, out = r.pointers
    n = r.shapes[0][0]
    vectors, info = r.at(out, r.size(n)), r.cell("i32", "0")
    r.copy(vectors, a, n * n)
    count, whole = 1 + 6 * n + 2 * n * n, 3 + 5 * n
    values, real = (r.work(n, r.kind), r.work(count, r.kind)) if r.pairs else (out, "")
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


def widen(r: Call, target: str, source: str, count: Any) -> None:
    """Write the copying of real numbers into complex ones."""

    def copy(i: str) -> None:
        value = r.e.load(r.kind, r.at(source, i, r.kind))
        pair = r.e.put(r.element, r.filled(0.0), r.kind, value, 0)
        r.put(pair, target, i)

    r.loop(r.size(count), copy)


def rounding(w: Any) -> Any:
    """Return by how much values of a decomposition may be off, with an axis of one."""
    size = np.abs(w)
    if 0 not in w.shape:
        size = np.max(size, axis=-1, keepdims=True)
    return (8 + w.shape[-1]) * float(np.finfo(w.dtype).eps) * size


def tied(w: Any) -> Any:
    """Where two of some values are equal up to rounding."""
    gap = w[..., None, :] - w[..., :, None]
    return (np.abs(gap) <= rounding(w)[..., None]) & (unit_like(gap) == 0)


def any_tied(w: Any) -> bool:
    """Tell whether two of some values are equal, of plain arrays."""
    gap = np.abs(w[..., None, :] - w[..., :, None])
    return bool(np.any((gap <= rounding(w)[..., None]) & ~np.eye(w.shape[-1], dtype=bool)))


def gaps(w: Any, equal: Any) -> Any:
    """``1/(w[j] - w[i])``, and 0 for the same and for equal ones."""
    gap = w[..., None, :] - w[..., :, None]
    none = equal | (unit_like(gap) != 0)
    return np.where(none, 0.0, 1.0 / np.where(none, 1.0, gap))


def asked_apart(equal: Any, ct: Any) -> Any:
    """Where cotangents of values that are equal differ: each is asked for by itself."""
    one, other = ct[..., None, :], ct[..., :, None]
    most = float(np.finfo(ct.dtype).eps) ** 0.5 * (np.abs(one) + np.abs(other))
    return np.any(equal & ~(np.abs(one - other) <= most), axis=-2)


def asked(dv: Any) -> Any:
    """Whether one of two vectors has a cotangent."""
    some = is_asked(dv)
    return some[..., None, :] | some[..., :, None]


def is_asked(dv: Any) -> Any:
    """Which vectors have a cotangent."""
    return np.any(dv != 0, axis=-2)


def moved_apart(equal: Any, inner: Any) -> Any:
    """Which of equal values a change ``inner``, between their vectors, moves apart or turns."""
    size = np.abs(inner)
    most = size
    for _ in range(2 if 0 not in inner.shape else 0):
        most = np.max(most, axis=-1)
    room = 64 * float(np.finfo(size.dtype).eps) * most[..., None, None]
    own = np.diagonal(inner, axis1=-2, axis2=-1).real
    shift = np.abs(own[..., None, :] - own[..., :, None])
    return np.any(equal & ~((size <= room) & (shift <= room)), axis=-2)


def _eigen_parts(x: Any) -> tuple[Any, Any]:
    return x[..., 0, :].real, swapped(x[..., 1:, :])


def _eigh_vjp(ct: Any, y: Any, a: Any) -> Any:
    # Where eigenvalues are equal their vectors turn, and what depends on it has no derivative;
    # what does not, a function of the matrix, is differentiated as a whole: rewrite/_spectral.py.
    (w, v), (dw, dv) = _eigen_parts(y), _eigen_parts(ct)
    equal, turned = tied(w), adjoint(v) @ dv
    inner = np.where(equal & asked(dv), np.nan, gaps(w, equal) * turned)
    dw = np.where(asked_apart(equal, dw), np.nan, dw)
    inner = inner + unit_like(a) * dw[..., None, :]
    return (conjugated(symmetric(v @ inner @ adjoint(v))),)


def _eigh_jvp(t: Any, y: Any, a: Any) -> Any:
    w, v = _eigen_parts(y)
    inner = adjoint(v) @ conjugated(symmetric(t[0])) @ v
    equal = tied(w)
    apart = moved_apart(equal, inner)
    dw = np.where(apart, np.nan, np.diagonal(inner, axis1=-2, axis2=-1).real)
    dv = np.where(apart[..., None, :], np.nan, v @ (gaps(w, equal) * inner))
    return np.concatenate([dw[..., None, :], swapped(dv)], axis=-2)


EIGH: ArrayOp = define(
    Routine("Eigh", evaluate=eigen_pairs, shape=lambda a: (*a[:-2], a[-1] + 1, a[-1]),
        element=no_formula("an eigenvalue"), rule=Products(_eigh_vjp, _eigh_jvp),
        parts=in_pairs("ComplexEigh"), batch=batched_alike(lambda: EIGH), fits=Cores("n n")),
    Code(Written(write_eigh, (2, 2)), source=lambda a: f"eigen_pairs({a})",
        helpers=(eigen_pairs,)),
    Evidence(exact=Exact(exactly.eigen, symmetric=True, vectors=exactly.eigen_vectors)),
    Words("eigenvalues of symmetric matrices, above the eigenvectors as rows",
        convention="symmetric perturbations; nan where single ones of equal eigenvalues, or their "
        "vectors, are asked for"),
    Ties(lambda y, a: any_tied(y[..., 0, :].real)),
)  # fmt: skip
