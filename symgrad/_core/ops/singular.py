"""Singular values, and the pseudo-inverse.

The factors lie one behind the other in one array; how rules are written is said in
``factorizations``.

Sources: M. Giles, Collected matrix derivative results, 2008; G. Golub and V. Pereyra, The
differentiation of pseudo-inverses, SIAM J. Numer. Anal. 10, 1973.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.sizes import as_dim
from ..op import (
    FLAG,
    ArrayOp,
    Call,
    Code,
    Composed,
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
from .factorizations import (
    any_tied,
    asked,
    asked_apart,
    beside,
    gaps,
    is_asked,
    moved_apart,
    rounding,
    tied,
    widen,
)
from .linear import adjoint, batched_alike, in_pairs, no_formula, unit_like
from .movement import RESHAPE
from .operands import Cores


def singular_parts(a: Any, full: bool = False) -> Any:
    """U, the singular values and the transpose of V, one behind the other."""
    v, s, uh = np.linalg.svd(np.swapaxes(a, -1, -2), full_matrices=full)
    u, vh = np.swapaxes(uh, -1, -2), np.swapaxes(v, -1, -2)
    lead = a.shape[:-2]
    sides = [x.reshape((*lead, x.shape[-2] * x.shape[-1])) for x in (u, vh)]
    return np.concatenate([sides[0], s, sides[1]], axis=-1)


def write_svd(r: Call, wide: bool, full: bool) -> None:
    """Write the call for one matrix; of pairs, the one for complex numbers."""
    # LAPACK sees the transpose: U and V change places.
    a, out = r.pointers
    m, n = r.shapes[0][:2]
    k, large = (m, n) if wide else (n, m)
    columns, rows = (m, n) if full else (k, k)  # of U, of the transpose of V
    matrix, info = r.work(m * n), r.cell("i32", "0")
    r.copy(matrix, a, m * n)
    values = r.at(out, r.size(m * columns))
    right = r.at(out, r.size(m * columns + k))
    count = 5 * k * k + 8 * k + 65 * large
    found = r.work(k, r.kind) if r.pairs else values
    real = [r.work(7 * k * k + 8 * k + 2 * k * large, r.kind)] if r.pairs else []
    r.call("gesdd", r.letter("A" if full else "S"), r.integer(n), r.integer(m), matrix,
           r.leading(n), found, right, r.leading(n), out, r.leading(columns), r.work(count),
           r.integer(count), *real, r.work(8 * k, "i32"), info)  # fmt: skip
    if r.pairs:
        widen(r, values, found, k)
    if full:
        _write_identity(r, k, right if wide else out, large)
    r.spoil(info, out, m * columns + k + n * rows)


def _write_identity(r: Call, k: Any, target: str, size: Any) -> None:
    """Write the identity in place of vectors if there are no values: LAPACK writes nothing."""
    e, order = r.e, r.size(size)
    none = e.op("icmp eq", "i64", r.size(k), "0")
    rows = e.select(none, "i64", order, "0")

    def row(i: str) -> None:
        first = r.at(target, e.op("mul", "i64", i, order))
        r.loop(order, lambda j: r.put(r.filled(0.0), first, j))
        e.store(r.kind, r.constant(1.0), r.at(first, i))

    r.loop(rows, row)


def svd_parts(x: Any, m: Any, n: Any, k: Any, full: bool) -> tuple[Any, Any, Any]:
    """Return U, the singular values and the transpose of V of one flat result."""
    lead = x.shape[:-1]
    columns, rows = (m, n) if full else (k, k)
    end = m * columns
    u, s, vh = x[..., :end], x[..., end : end + k], x[..., end + k :]
    return RESHAPE(u, shape=(*lead, m, columns)), s.real, RESHAPE(vh, shape=(*lead, rows, n))


def _inverse(s: Any) -> Any:
    return np.where(s == 0, 0.0, 1.0 / np.where(s == 0, 1.0, s))


def _svd_sizes(a: Any, wide: bool, full: bool) -> tuple[Any, Any, Any, bool]:
    m, n = a.shape[-2:]
    return m, n, m if wide else n, full


def _spanning(q: Any, dq: Any, k: Any) -> tuple[Any, Any]:
    """Return the first ``k`` columns of Q and their cotangent.

    The others, which span what is left, turn with them: ``dQ0 = -Q1 dQ1^H Q0``, and among each
    other not at all.
    """
    q, rest, dq, drest = q[..., :k], q[..., k:], dq[..., :k], dq[..., k:]
    return q, dq - rest @ (adjoint(drest) @ q)


def _turning(s: Any, equal: Any) -> tuple[Any, Any]:
    """Half of ``1/(s[j] - s[i])`` and of ``1/(s[j] + s[i])``, with 0 for 1/0.

    How vectors turn is a quotient by ``s[j]**2 - s[i]**2``, whose partial fractions do not cancel.
    """
    both = s[..., None, :] + s[..., :, None]
    return 0.5 * gaps(s, equal), 0.5 * _inverse(both)


def _leaving(a: Any, s: Any, wide: bool, some: Any) -> tuple[Any, Any]:
    """Return 1/s for the vectors of either side that leave the space which they span.

    Of a value 0 they have no derivative, if they do not span all: nan, for ``some`` of them.
    """
    none, inverse = s <= rounding(s), _inverse(s)
    square = as_dim(a.shape[-1]) == as_dim(a.shape[-2])
    lost = [np.where(none, 0.0 if square else np.where(x, np.nan, 0.0), inverse) for x in some]
    held = np.where(none, 0.0, inverse)
    return (held, lost[1]) if wide else (lost[0], held)


def _less_turn(x: Any, z: Any, weight: Any) -> Any:
    """``x`` less the diagonal of imaginary parts of ``z``, so that U's columns do not turn."""
    if z.dtype.kind != "c":
        return x
    return x - 1j * (unit_like(z) * z.imag * weight[..., None, :])


def _svd_vjp(ct: Any, y: Any, a: Any, wide: bool, full: bool) -> Any:
    sizes = _svd_sizes(a, wide, full)
    (u, s, vh), (du, ds, dvh) = svd_parts(y, *sizes), svd_parts(ct, *sizes)
    v, dv = adjoint(vh), adjoint(dvh)
    if full:
        (u, du), (v, dv) = _spanning(u, du, sizes[2]), _spanning(v, dv, sizes[2])
        vh = adjoint(v)
    equal = tied(s)
    (near, far), left, right = _turning(s, equal), adjoint(u) @ du, vh @ dv
    left, right = left - adjoint(left), right - adjoint(right)
    ds = np.where(asked_apart(equal, ds), np.nan, ds)
    inner = near * (left + right) + far * (left - right)
    inner = np.where(equal & (asked(du) | asked(dv)), np.nan, inner)
    inner = inner + unit_like(left) * ds[..., None, :]
    inner = _less_turn(inner, left + right, 0.25 * _inverse(s))
    by_left, by_right = _leaving(a, s, wide, (is_asked(du), is_asked(dv)))
    total = u @ inner @ vh
    # What lies outside of the spaces that U and V span.
    total = total + (beside(u, du) * by_left[..., None, :]) @ vh
    return (total + (u * by_right[..., None, :]) @ adjoint(beside(v, dv)),)


def _svd_jvp(t: Any, y: Any, a: Any, wide: bool, full: bool) -> Any:
    m, n, k, _ = sizes = _svd_sizes(a, wide, full)
    every, s, vh = svd_parts(y, *sizes)
    u, v = every[..., :k], adjoint(vh)[..., :k]
    equal = tied(s)
    near, far = _turning(s, equal)
    inner = adjoint(u) @ t[0] @ v
    ds = np.diagonal(inner, axis1=-2, axis2=-1).real
    ds = np.where(moved_apart(equal, inner + adjoint(inner)), np.nan, ds)
    both, apart = near * (inner + adjoint(inner)), far * (inner - adjoint(inner))
    both = _less_turn(both, inner, 0.5 * _inverse(s))
    by_left, by_right = _leaving(a, s, wide, (True, True))
    lost = moved_apart(equal, inner)[..., None, :]
    du = u @ (both + apart) + (beside(u, t[0]) @ v) * by_left[..., None, :]
    dv = v @ (both - apart) + (beside(v, adjoint(t[0])) @ u) * by_right[..., None, :]
    du, dv = np.where(lost, np.nan, du), np.where(lost, np.nan, dv)
    columns = rows = k
    if full:
        columns, rows = m, n
        du = np.concatenate([du, -u @ (adjoint(du) @ every[..., k:])], axis=-1)
        dv = np.concatenate([dv, -v @ (adjoint(dv) @ adjoint(vh)[..., k:])], axis=-1)
    lead = s.shape[:-1]
    flat = [
        RESHAPE(du, shape=(*lead, m * columns)), ds, RESHAPE(adjoint(dv), shape=(*lead, rows * n)),
    ]  # fmt: skip
    return np.concatenate(flat, axis=-1)


def _svd_shape(a: Any, wide: bool, full: bool) -> Any:
    m, n = a[-2:]
    k = m if wide else n
    return (*a[:-2], m * m + k + n * n if full else m * k + k + k * n)


def _svd_ordered(size: Any, wide: bool, full: bool) -> bool:
    return bool(size["m"] <= size["n"] if wide else size["n"] <= size["m"])


def _has_ties(y: Any, a: Any, wide: bool, full: bool) -> bool:
    """Tell whether singular values are equal, or 0 where vectors of one side span not all."""
    s = np.asarray(svd_parts(y, *_svd_sizes(a, wide, full))[1])
    return any_tied(s) or (a.shape[-1] != a.shape[-2] and bool(np.any(s <= rounding(s))))


SVD: ArrayOp = define(
    Routine("SVD", evaluate=lambda a, wide, full: singular_parts(a, full),
        params={"wide": FLAG, "full": FLAG},
        shape=_svd_shape, element=no_formula("a singular value"),
        rule=Products(_svd_vjp, _svd_jvp), parts=in_pairs("ComplexSVD"),
        batch=batched_alike(lambda: SVD), fits=Cores("m n", ordered=_svd_ordered)),
    Code(Written(write_svd, (2, 1)), source=lambda a, wide, full: f"singular_parts({a}, {full})",
        helpers=(singular_parts,)),
    Evidence(exact=Exact(exactly.singular, vectors=exactly.singular_vectors)),
    Words("singular values and vectors: U, s and the transpose of V, one behind the other",
        convention="nan where single ones of equal values, or their vectors, are asked for; those "
        "beyond the values do not turn among each other"),
    Ties(_has_ties),
)  # fmt: skip


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


PINV: ArrayOp = define(
    Routine("PseudoInverse", evaluate=lambda a, value: value, types=lambda a, value: a,
        shape=lambda a, value: value, element=no_formula("a pseudo-inverse"),
        rule=Products(_pinv_vjp, _pinv_jvp), parts=in_pairs("ComplexPseudoInverse"),
        batch=batched_alike(lambda: PINV), fits=Cores("m n", "n m")),
    Code(Composed(lambda a, value: value), source=lambda a, value: str(value)),
    Evidence(exact=Exact(exactly.pseudo_inverse)),
    Words("a pseudo-inverse that is known, with its derivative by the matrix",
        convention="the rank stays what it is"),
)  # fmt: skip
