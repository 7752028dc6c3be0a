"""What LAPACK computes of complex matrices, in multiple precision: see :mod:`exactly`.

Matrices are arrays of pairs, and so is what is returned. Vectors have the angle in the complex
plane that NumPy's have, but those of general matrices, whose largest component is real.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import exactly
from .exactly import Elements, Read, Rows


def _numbers(context: Any, rows: Any) -> Rows:
    return [[context.mpc(*pair) for pair in row] for row in rows]


def _pairs(values: Sequence[Any]) -> Elements:
    parts = [(None, None) if z is None else (z.real, z.imag) for z in values]
    return [x for pair in parts for x in pair]


def _given(like: Sequence[Any]) -> list[complex]:
    return [complex(*pair) for pair in zip(like[::2], like[1::2], strict=True)]


def _adjoint(a: Rows) -> Rows:
    return [[z.conjugate() for z in column] for column in zip(*a, strict=True)]


def _hermitian(context: Any, rows: Any) -> Rows:
    a = _numbers(context, rows)
    return [
        [(x + y) / 2 for x, y in zip(*r, strict=True)] for r in zip(a, _adjoint(a), strict=True)
    ]


def vectors_of(ranges: Callable[..., tuple[range, ...]]) -> Callable[..., tuple[range, ...]]:
    """Return the function that says where vectors are among pairs, from that among reals."""
    return lambda shape, **params: tuple(
        range(2 * r.start, 2 * r.stop) for r in ranges(shape[:2], **params)
    )


def _turned(context: Any, vector: Any, like: Sequence[complex], open_: bool) -> Elements:
    """Return a vector with the angle of the one that NumPy has."""
    if open_:
        return [None] * len(vector)
    along = sum(x.conjugate() * context.mpc(y) for x, y in zip(vector, like, strict=True))
    turn = along / abs(along)
    return [x * turn for x in vector]


def cholesky(context: Any, read: Read, like: Sequence[Any]) -> Elements:
    """The Cholesky factor of the Hermitian part."""
    a = _hermitian(context, read(0))
    n = len(a)
    factor: Rows = [[context.mpc(0)] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            rest = a[i][j] - sum(factor[i][k] * factor[j][k].conjugate() for k in range(j))
            if i != j:
                factor[i][j] = rest / factor[j][j]
            elif rest.real > 0:
                factor[i][i] = context.mpc(context.sqrt(rest.real))
            else:
                raise ValueError("not positive definite")
    return _pairs([z for row in factor for z in row])


def solution(context: Any, read: Read, like: Sequence[Any], trans: bool) -> Elements:
    """The solutions for right-hand sides that lie in rows; the factors are not read."""
    return _pairs(exactly.solution(context, lambda k: _numbers(context, read(k)), like, trans))


def triangular(context: Any, read: Read, like: Sequence[Any], **flags: bool) -> Elements:
    """The solutions with one triangle of a matrix."""
    return _pairs(exactly.triangular(context, lambda k: _numbers(context, read(k)), like, **flags))


def qr(context: Any, read: Read, like: Sequence[Any]) -> Elements:
    """Q above the transpose of R, by Gram and Schmidt; R's diagonal has the signs of NumPy's."""
    a = _numbers(context, read(0))
    m, n = len(a), len(a[0])
    given = _given(like)
    columns: Rows = []
    lower: Rows = [[context.mpc(0)] * n for _ in range(n)]
    for j, v in enumerate(map(list, zip(*a, strict=True))):
        for i, q in enumerate(columns):
            lower[j][i] = sum(x.conjugate() * y for x, y in zip(q, v, strict=True))
            v = [y - lower[j][i] * x for x, y in zip(q, v, strict=True)]
        size = context.sqrt(sum(abs(x) ** 2 for x in v))
        lower[j][j] = context.mpc(-size if given[m * n + j * n + j].real < 0 else size)
        columns.append([x / lower[j][j] for x in v])
    q = [columns[j][i] for i in range(m) for j in range(n)]
    return _pairs([*q, *(z for row in lower for z in row)])


def eigen(context: Any, read: Read, like: Sequence[Any]) -> Elements:
    """Eigenvalues of the Hermitian part above the eigenvectors of its transpose, in rows."""
    a = [list(column) for column in zip(*_hermitian(context, read(0)), strict=True)]
    w, v = context.eighe(context.matrix(a))
    n, given, alike = len(w), _given(like), exactly.repeated(context, w)
    rows = [
        _turned(context, v[:, k], given[n + k * n : n + k * n + n], k in alike) for k in range(n)
    ]
    return _pairs([*map(context.mpc, w), *(x for row in rows for x in row)])


def singular(context: Any, read: Read, like: Sequence[Any], wide: bool) -> Elements:
    """U, the singular values, and the adjoint of V, one behind the other."""
    rows = _numbers(context, read(0))
    a = context.matrix(rows)
    m, n, given = a.rows, a.cols, _given(like)
    k = m if wide else n
    u, s, _ = context.svd_c(a)
    alike = exactly.repeated(context, s)
    left, right = [], []
    for i in range(k):
        open_ = i in alike or s[i] == 0
        turned = _turned(context, u[:, i], [given[r * k + i] for r in range(m)], open_)
        left.append(turned)
        if open_:
            right.append([None] * n)
            continue
        products = [sum(turned[r].conjugate() * rows[r][c] for r in range(m)) for c in range(n)]
        right.append([x / s[i] for x in products])
    flat = [left[i][r] for r in range(m) for i in range(k)]
    return _pairs([*flat, *map(context.mpc, s), *(x for v in right for x in v)])


def pseudo_inverse(context: Any, read: Read, like: Sequence[Any]) -> Elements:
    """The pseudo-inverse of a matrix of full rank; the value that comes along is not read."""
    a = _numbers(context, read(0))
    tall = len(a) >= len(a[0])
    b = a if tall else _adjoint(a)
    inverse = exactly.solved(exactly.product(_adjoint(b), b), _adjoint(b))[0]
    return _pairs([z for row in (inverse if tall else _adjoint(inverse)) for z in row])


def _general(context: Any, rows: Rows, like: Sequence[Any]) -> Elements:
    a = context.matrix([list(column) for column in zip(*rows, strict=True)])
    n, given = len(rows), _given(like)
    w, v = context.eig(a)
    # In the order of NumPy's, each with the sign of its vector.
    left = list(range(n))
    found: Elements = []
    vectors: Elements = []
    for j in range(n):
        k = min(left, key=lambda k: abs(w[k] - context.mpc(given[j])))
        left.remove(k)
        other = given[n + j * n : n + j * n + n]
        top = max(range(n), key=lambda i: abs(other[i]))
        column = list(v[:, k])
        size = context.sqrt(sum(abs(x) ** 2 for x in column))
        scale = abs(column[top]) / column[top] / size * (1 if other[top].real > 0 else -1)
        found.append(context.mpc(w[k]))
        vectors += [x * scale for x in column]
    return _pairs([*found, *vectors])


def general(context: Any, read: Read, like: Sequence[Any]) -> Elements:
    """Eigenvalues of a transposed real matrix, above the eigenvectors as rows."""
    return _general(context, [[context.mpc(x) for x in row] for row in read(0)], like)


def complex_general(context: Any, read: Read, like: Sequence[Any]) -> Elements:
    """Eigenvalues of a transposed complex matrix, above the eigenvectors as rows."""
    return _general(context, _numbers(context, read(0)), like)
