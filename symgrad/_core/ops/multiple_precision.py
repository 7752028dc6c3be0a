"""What LAPACK computes, in multiple precision: the ``exact`` of the routines' records.

Each function computes one matrix of a batch in numbers of mpmath, real or complex, by the
definition and not by the way that the kernel takes: ``compute(context, read, like, **params)``.
``read(k)`` is the matrix of operand ``k``, a list of rows; factors that come along with a matrix
are not read, so that nothing depends on them. ``like`` is NumPy's result, flat: it decides what a
definition leaves open, the angles of vectors and the order of pivots. Returned are the elements of
the result in C order, None where the problem does not determine them. Of arrays of pairs, which
complex ones are for kernels, :func:`in_pairs` makes complex numbers and pairs again.

Source of the algorithms: F. Johansson and others, mpmath, the linear algebra module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Elements = list[Any]
Read = Callable[[int], Any]

FAILURES = (ZeroDivisionError, ValueError)


Rows = list[list[Any]]


def _flat(*matrices: Rows) -> Elements:
    return [x for rows in matrices for row in rows for x in row]


def _transposed(a: Rows) -> Rows:
    return [list(column) for column in zip(*a, strict=True)]


def _adjoint(a: Rows) -> Rows:
    return [[x.conjugate() for x in column] for column in _transposed(a)]


def _hermitian(a: Rows) -> Rows:
    return [
        [(x + y) / 2 for x, y in zip(*r, strict=True)] for r in zip(a, _adjoint(a), strict=True)
    ]


def _product(a: Rows, b: Rows) -> Rows:
    columns = _transposed(b)
    return [[sum(x * y for x, y in zip(row, c, strict=True)) for c in columns] for row in a]


def _complex(context: Any, a: Rows) -> Rows:
    return [[context.mpc(*x) if isinstance(x, list) else context.mpc(x) for x in r] for r in a]


def in_pairs(compute: Callable[..., Elements]) -> Callable[..., Elements]:
    """Return ``compute`` with a result in pairs, on matrices of numbers or of pairs."""

    def paired(context: Any, read: Read, like: Sequence[Any], **params: Any) -> Elements:
        given = [context.mpc(*pair) for pair in zip(like[::2], like[1::2], strict=True)]
        found = compute(context, lambda k: _complex(context, read(k)), given, **params)
        return [x for z in found for x in ((None, None) if z is None else (z.real, z.imag))]

    return paired


def vectors_in_pairs(ranges: Callable[..., tuple[range, ...]]) -> Callable[..., tuple[range, ...]]:
    """Return the function that says where vectors are among pairs, from that among numbers."""
    return lambda shape, **params: tuple(
        range(2 * r.start, 2 * r.stop) for r in ranges(shape[:2], **params)
    )


def _solved(a: Rows, b: Rows) -> tuple[Rows, Any]:
    """Return inv(a) @ b and det(a), by elimination with pivots; matrices are lists of rows."""
    n = len(a)
    rows = [[*x, *y] for x, y in zip(a, b, strict=True)]
    det: Any = 1
    for k in range(n):
        best = max(range(k, n), key=lambda i: abs(rows[i][k]))
        if best != k:
            rows[k], rows[best] = rows[best], rows[k]
            det = -det
        pivot = rows[k][k]
        det = det * pivot
        if pivot == 0:
            raise ZeroDivisionError("a singular matrix")
        for i in range(n):
            if i != k and rows[i][k] != 0:
                f = rows[i][k] / pivot
                rows[i] = [x - f * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [[x / rows[k][k] for x in rows[k][n:]] for k in range(n)], det


def _determinant(a: Rows) -> Any:
    try:
        return _solved(a, [[] for _ in a])[1]
    except ZeroDivisionError:
        return 0 * a[0][0]


def order(context: Any, read: Read, like: Sequence[Any]) -> Elements:
    """The positions that sort a vector, the first of equal ones in front."""
    x = read(0)
    return sorted(range(len(x)), key=lambda k: x[k])


def cholesky(context: Any, read: Read, like: Sequence[Any]) -> Elements:
    """The Cholesky factor of the symmetric or Hermitian part."""
    a = _hermitian(read(0))
    n = len(a)
    factor = [[context.zero] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            rest = a[i][j] - sum(factor[i][k] * factor[j][k].conjugate() for k in range(j))
            if i != j:
                factor[i][j] = rest / factor[j][j]
            elif rest.real > 0:
                factor[i][i] = context.sqrt(rest.real)
            else:
                raise ValueError("not positive definite")
    return _flat(factor)


def lu(context: Any, read: Read, like: Sequence[Any]) -> Elements:
    """The factors of the transpose, with NumPy's row exchanges, which are counted last."""
    a = _transposed(read(0))
    n = len(a)
    steps = [int(x) for x in like[n * n :]]
    for k in range(n):
        other = k + steps[k]
        a[k], a[other] = a[other], a[k]
        for i in range(k + 1, n):
            a[i][k] /= a[k][k]
            for j in range(k + 1, n):
                a[i][j] -= a[i][k] * a[k][j]
    return [*_flat(_transposed(a)), *map(context.mpf, steps)]


def solution(context: Any, read: Read, like: Sequence[Any], trans: bool) -> Elements:
    """The solutions for right-hand sides that lie in rows; the factors are not read."""
    a, b = read(0), read(2)
    return _flat(_transposed(_solved(_transposed(a) if trans else a, _transposed(b))[0]))


def triangular(
    context: Any, read: Read, like: Sequence[Any], lower: bool, trans: bool, unit: bool
) -> Elements:
    """The solutions with one triangle of a matrix."""
    a, b = read(0), read(1)
    n = range(len(a))
    part = [
        [
            (context.one if unit else a[i][j]) if i == j
            else a[i][j] if (i > j) == lower
            else context.zero
            for j in n
        ]
        for i in n
    ]  # fmt: skip
    return _flat(_transposed(_solved(_transposed(part) if trans else part, _transposed(b))[0]))


def band_solution(
    context: Any, read: Read, like: Sequence[Any], lower: int, upper: int, trans: bool
) -> Elements:
    """The solutions with a matrix whose band lies by columns; the factors are not read."""
    columns, b = read(0), read(2)
    places = range(len(columns))
    a = [[columns[j][upper + i - j] if -upper <= i - j <= lower else context.zero for j in places]
         for i in places]  # fmt: skip
    return _flat(_transposed(_solved(_transposed(a) if trans else a, _transposed(b))[0]))


def determinant(context: Any, read: Read, like: Sequence[Any]) -> Elements:
    """The determinant."""
    return [_determinant(read(0))]


def _without(a: Rows, i: int, j: int) -> Rows:
    return [[x for l, x in enumerate(row) if l != j] for k, row in enumerate(a) if k != i]


def cofactors(context: Any, read: Read, like: Sequence[Any]) -> Elements:
    """The cofactors: determinants of what is left without a row and a column."""
    a = read(0)
    n = range(len(a))
    return [(-1) ** (i + j) * _minor(context, _without(a, i, j)) for i in n for j in n]


def _minor(context: Any, a: Rows) -> Any:
    return _determinant(a) if a else context.one


def cofactor_change(context: Any, read: Read, like: Sequence[Any]) -> Elements:
    """The derivative of the cofactors along a matrix, by smaller minors."""
    a, e = read(0), read(2)
    n = range(len(a))
    found = []
    for i in n:
        for j in n:
            left, along = _without(a, i, j), _without(e, i, j)
            m = range(len(left))
            found.append((-1) ** (i + j) * sum((
                (-1) ** (k + l) * along[k][l] * _minor(context, _without(left, k, l))
                for k in m for l in m
            ), context.zero))  # fmt: skip
    return found


def log_determinant(context: Any, read: Read, like: Sequence[Any]) -> Elements:
    """The logarithm of the determinant's absolute value."""
    return [context.ln(abs(_determinant(read(0))))]


def sign_determinant(context: Any, read: Read, like: Sequence[Any]) -> Elements:
    """The sign of the determinant."""
    return [context.sign(_determinant(read(0)))]


def complex_log_determinant(context: Any, read: Read, like: Sequence[Any]) -> Elements:
    """Logarithm and angle of a complex determinant; entries are pairs, factors are not read."""
    det = _determinant(_complex(context, read(0)))
    return [context.ln(abs(det)), context.arg(det)]


def qr(context: Any, read: Read, like: Sequence[Any]) -> Elements:
    """Q above the transpose of R, by Gram and Schmidt; R's diagonal has the signs of NumPy's."""
    a = read(0)
    m, n = len(a), len(a[0])
    columns: Rows = []
    lower = [[context.zero] * n for _ in range(n)]
    for j, v in enumerate(_transposed(a)):
        for i, q in enumerate(columns):
            lower[j][i] = sum(x.conjugate() * y for x, y in zip(q, v, strict=True))
            v = [y - lower[j][i] * x for x, y in zip(q, v, strict=True)]
        size = context.sqrt(sum(abs(x) ** 2 for x in v))
        lower[j][j] = -size if like[m * n + j * n + j].real < 0 else size
        columns.append([x / lower[j][j] for x in v])
    return _flat(_transposed(columns), lower)


def complement(context: Any, read: Read, like: Sequence[Any]) -> Elements:
    """The columns of Q that R does not use, by Householder's reflections with LAPACK's signs."""
    a = read(0)
    m, n = len(a), len(a[0])
    columns = _transposed(a)
    reflections = []
    for j in range(n):
        x = [context.zero] * j + columns[j][j:]
        size = context.sqrt(sum(abs(v) ** 2 for v in x))
        if x[j].imag == 0 and not any(x[j + 1 :]):
            continue  # nothing to reflect
        beta = size if x[j].real < 0 else -size
        factor = (beta - x[j]) / beta
        x[j] -= beta
        vector = [v / x[j] for v in x]
        reflections.append((vector, factor))
        columns = [_reflected(c, vector, context.conj(factor)) for c in columns]
    found = [[context.one if i == j else context.zero for i in range(m)] for j in range(n, m)]
    for vector, factor in reversed(reflections):
        found = [_reflected(c, vector, factor) for c in found]
    return _flat(_transposed(found))


def _reflected(column: list[Any], vector: list[Any], factor: Any) -> list[Any]:
    along = sum(v.conjugate() * c for v, c in zip(vector, column, strict=True))
    return [c - factor * along * v for v, c in zip(vector, column, strict=True)]


def eigen(context: Any, read: Read, like: Sequence[Any]) -> Elements:
    """Eigenvalues of the Hermitian part above the eigenvectors of its transpose, in rows."""
    w, v = context.eigh(context.matrix(_transposed(_hermitian(read(0)))))
    n = len(w)
    alike = _repeated(context, w)
    rows = [
        [x * turn for x in v[:, k]] if turn else [None] * n
        for k in range(n)
        for turn in [_turn(context, v[:, k], like[n + k * n : n + k * n + n], k in alike)]
    ]
    return [*w, *_flat(rows)]


def singular(context: Any, read: Read, like: Sequence[Any], wide: bool, full: bool) -> Elements:
    """U, the singular values, and the adjoint of V, one behind the other.

    Vectors beyond the values are any that span the rest, and are not compared.
    """
    a = context.matrix(read(0))
    m, n = a.rows, a.cols
    k = m if wide else n
    u, s, vh = context.svd(a)
    alike = _repeated(context, s)
    left, right = [], []
    columns, rows = (m, n) if full else (k, k)
    for i in range(k):
        given = [like[r * columns + i] for r in range(m)]
        turn = _turn(context, u[:, i], given, i in alike or s[i] == 0)
        left.append([x * turn for x in u[:, i]] if turn else [None] * m)
        right.append([x * turn.conjugate() for x in vh[i, :]] if turn else [None] * n)
    left += [[None] * m] * (columns - k)
    right += [[None] * n] * (rows - k)
    return [*_flat(_transposed(left)), *s, *_flat(right)]


def pseudo_inverse(context: Any, read: Read, like: Sequence[Any]) -> Elements:
    """The pseudo-inverse of a matrix of full rank; the value that comes along is not read."""
    a = read(0)
    tall = len(a) >= len(a[0])
    b = a if tall else _adjoint(a)
    inverse = _solved(_product(_adjoint(b), b), _adjoint(b))[0]
    return _flat(inverse if tall else _adjoint(inverse))


def general(context: Any, read: Read, like: Sequence[Any]) -> Elements:
    """Eigenvalues of a transposed matrix in NumPy's order, above the eigenvectors as rows.

    The largest component of each vector is real, with the sign of NumPy's.
    """
    a = context.matrix(_transposed(read(0)))
    n = a.rows
    w, v = context.eig(a)
    left = list(range(n))
    found: Elements = []
    vectors: Rows = []
    for j in range(n):
        k = min(left, key=lambda k: abs(w[k] - like[j]))
        left.remove(k)
        other = like[n + j * n : n + j * n + n]
        top = max(range(n), key=lambda i: abs(other[i]))
        column = list(v[:, k])
        size = context.sqrt(sum(abs(x) ** 2 for x in column))
        scale = abs(column[top]) / column[top] / size * (1 if other[top].real > 0 else -1)
        found.append(w[k])
        vectors.append([x * scale for x in column])
    return [*found, *_flat(vectors)]


def qr_vectors(shape: tuple[int, ...]) -> tuple[range, ...]:
    """Q's elements."""
    m, n = shape
    return (range(m * n),)


def complement_vectors(shape: tuple[int, ...]) -> tuple[range, ...]:
    """All elements."""
    m, n = shape
    return (range(m * (m - n)),)


def eigen_vectors(shape: tuple[int, ...]) -> tuple[range, ...]:
    """The eigenvectors' elements."""
    n = shape[0]
    return (range(n, n + n * n),)


def singular_vectors(shape: tuple[int, ...], wide: bool, full: bool) -> tuple[range, ...]:
    """U's elements and those of V."""
    m, n = shape
    k = m if wide else n
    end, rest = (m * m, n * n) if full else (m * k, k * n)
    return range(end), range(end + k, end + k + rest)


def _repeated(context: Any, values: Any) -> set[int]:
    """Return the places of values that another is equal to, up to the digits there are."""
    scale = max((abs(v) for v in values), default=context.zero)
    close = context.ldexp(scale, -context.prec // 4)
    n = len(values)
    return {i for i in range(n) for j in range(n) if i != j and abs(values[i] - values[j]) <= close}


def _turn(context: Any, vector: Any, like: Sequence[Any], open_: bool) -> Any:
    """Return what turns a vector to the sign or angle of NumPy's; None where that is open."""
    if open_:
        return None
    along = sum(x.conjugate() * y for x, y in zip(vector, like, strict=True))
    return along / abs(along) if along else context.one
