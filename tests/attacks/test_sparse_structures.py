"""Structures of sparse matrices: what is stored of tables with zeros, as SciPy has it.

A matrix is made of a table in some way and asked how it is stored. The table is an argument, or the
function reads it, or it is of both; from call to call entries become zero, and others cease to be.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import symgrad as sg
from symgrad.errors import UnsupportedError

Function = Callable[..., Any]
FORMS = ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")

#: Matrices of a table ``a`` and another one ``b`` of the same shape; ``kind`` is a class.
MAKERS: dict[str, Function] = {
    "dense": lambda kind, a, b: kind(a),
    "triplets": lambda kind, a, b: kind(sparse.coo_array(
        (a.ravel(), tuple(np.indices(a.shape).reshape(2, -1))), shape=a.shape)),
    "twice": lambda kind, a, b: kind(sparse.coo_array(
        (np.concatenate([a[0], b[0]]), ([0, 0, 0, 0, 0, 0], [0, 1, 2, 2, 1, 0])), shape=a.shape)),
    "turned": lambda kind, a, b: kind(a).T,
    "sum": lambda kind, a, b: kind(a) + kind(b),
    "difference": lambda kind, a, b: kind(a) - kind(a * b),
    "cancelled": lambda kind, a, b: kind(a) - kind(a),
    "product": lambda kind, a, b: kind(a) @ kind(b).T,
    "by elements": lambda kind, a, b: kind(a).multiply(kind(b)),
    "by a table": lambda kind, a, b: kind(a).tocsr().multiply(b),
    "multiple": lambda kind, a, b: kind(a) * 2.0,
    "absolute": lambda kind, a, b: abs(kind(a).tocsr()),
    "sines": lambda kind, a, b: kind(a).tocsr().sin(),
    "upper": lambda kind, a, b: sparse.triu(kind(a), format="csr"),
    "lower": lambda kind, a, b: sparse.tril(a, k=-1),
    "kron": lambda kind, a, b: sparse.kron(kind(a), np.eye(2), format="csr"),
    "kron of tables": lambda kind, a, b: sparse.kron(a, b),
    "blocks": lambda kind, a, b: sparse.block_diag([kind(a), b], format="csr"),
    "beside": lambda kind, a, b: sparse.hstack([kind(a), kind(b)], format="csc"),
    "below": lambda kind, a, b: sparse.vstack([kind(a), sparse.csr_array(b)]),
    "bmat": lambda kind, a, b: sparse.bmat([[kind(a), None], [None, b]]),
    "diagonals": lambda kind, a, b: kind(sparse.diags([a[0], b[0]], [0, 1], shape=(3, 4))),
    "diagonal": lambda kind, a, b: sparse.diags(a[0], format="csr"),
    "eye": lambda kind, a, b: kind(sparse.eye_array(3) * a[0, 0]),
    "rows": lambda kind, a, b: kind(a).tocsr()[[1, 0]],
    "columns": lambda kind, a, b: kind(a).tocsc()[:, ::2],
    "diagonal written": lambda kind, a, b: written(kind(a), lambda m: m.setdiag(b[0, :2])),
    "entry written": lambda kind, a, b: written(kind(a).tolil(), lambda m: put(m, 0, 1, b[1, 1])),
    "entries written": lambda kind, a, b: written(
        kind(a).tolil(), lambda m: put(m, [0, 1, 0], [2, 1, 0], b[0])
    ),
    "entries of csr": lambda kind, a, b: written(
        kind(a).tocsr(), lambda m: put(m, [1, 0], [0, 2], b[1, :2])
    ),
    "row written": lambda kind, a, b: written(
        kind(a).tolil(), lambda m: put(m, 1, slice(1, 3), b[0, 1:])
    ),
    "chain": lambda kind, a, b: sparse.vstack(
        [kind(a) @ sparse.diags(b[0]), (kind(b) - kind(a)).tocsc()], format="csr"
    ).T.tocoo(),
    "sum of three": lambda kind, a, b: kind(a).tocsr() + kind(b).tocsc() + sparse.csr_array(a - b),
    "zero written": lambda kind, a, b: written(kind(a).tocsr(), lambda m: put(m, 0, 1, 0.0)),
    "entry of dok": lambda kind, a, b: written(kind(a).todok(), lambda m: put(m, 1, 2, b[0, 0])),
    "without zeros": lambda kind, a, b: written(
        sparse.csr_array((a.ravel(), tuple(np.indices(a.shape).reshape(2, -1))), shape=a.shape),
        lambda m: m.eliminate_zeros()),
    "summed up": lambda kind, a, b: written(
        sparse.coo_array((a.ravel(), ([0, 0, 1, 1, 0, 0], [0, 1, 2, 2, 1, 0])), shape=a.shape),
        lambda m: m.sum_duplicates()),
}  # fmt: skip

#: What is asked.
QUESTIONS: dict[str, Function] = {
    "nnz": lambda q: q.nnz,
    "format": lambda q: FORMS.index(q.format),
    "indices": lambda q: q.tocsr().indices,
    "indptr": lambda q: q.tocsc().indptr,
    "own indices": lambda q: q.indices,
    "data": lambda q: q.tocsr().data,
    "own data": lambda q: [x for row in q.data for x in row] if q.format == "lil" else q.data,
    "triplets": lambda q: np.stack([q.tocoo().row, q.tocoo().col]),
    "triplets of columns": lambda q: q.tocsc().tocoo().data,
    "nonzero": lambda q: np.stack(q.nonzero()),
    "count": lambda q: q.count_nonzero(),
    "max": lambda q: q.max(),
    "min": lambda q: q.min(),
    "argmax": lambda q: q.argmax(),
    "find": lambda q: np.stack([np.asarray(x, float) if isinstance(x, np.ndarray) else x
                                for x in sparse.find(q)]),
    "lengths": lambda q: np.diff(q.tocsr().indptr),
    "rows": lambda q: [q.tocsr().data[i:j].sum() for i, j in
                       zip(q.tocsr().indptr, q.tocsr().indptr[1:], strict=False)],
    "sorted": lambda q: float(q.tocsr().has_sorted_indices),
    "is csr": lambda q: float(isinstance(q, (sparse.csr_array, sparse.csr_matrix))),
    "of lil": lambda q: [len(row) for row in q.tolil().rows],
    "of dia": lambda q: q.todia().nnz,
    "offsets": lambda q: q.todia().offsets,
    "of bsr": lambda q: q.tobsr((1, 1)).indices,
    "keys": lambda q: sorted(q.todok().keys()),
    "stored by rows": lambda q: q.tocsr().getnnz(axis=1),
    "changed": lambda q: (q.tocsr() + q.tocsr().T).nnz if q.shape[0] == q.shape[1] else q.nnz,
}  # fmt: skip


def written(matrix: Any, write: Function) -> Any:
    write(matrix)
    return matrix


def put(matrix: Any, i: int, j: int, value: Any) -> None:
    matrix[i, j] = value


def table(rng: np.random.Generator) -> Any:
    """Return a table with zeros."""
    return rng.integers(-2, 4, (2, 3)) * rng.integers(0, 2, (2, 3)) * 0.5


class Held:
    """What a function reads."""

    def __init__(self, a: Any) -> None:
        self.a = a


@pytest.mark.attack(quick=120, whole=12_000, part=400, judge="SciPy, call by call; dense products")
def test_sparse_structures(attack: Any) -> None:
    """Formats, ways to make a matrix, and questions, over calls whose zeros differ."""
    for case in attack:
        with case, sg.backend("numpy"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rng = case.rng
            maker, question = (str(rng.choice(list(x))) for x in (MAKERS, QUESTIONS))
            name = f"{rng.choice(FORMS)}_{rng.choice(['array', 'matrix'])}"
            place = str(rng.choice(["argument", "read", "mixed"]))
            text = f"{name} {maker}, {question}, {place}"
            try:
                case.tally(compared(name, maker, question, place, rng))
            except UnsupportedError:
                case.tally("refused")
            except Exception as error:
                raise AssertionError(text) from error


def compared(name: str, maker: str, question: str, place: str, rng: np.random.Generator) -> str:
    held, make, ask = Held(table(rng)), MAKERS[maker], QUESTIONS[question]

    def of(x: Any) -> Any:
        kind = getattr(sparse, name)
        a = held.a if place == "read" else x if place == "argument" else held.a * x
        return make(kind, a, held.a[::-1] if place == "read" else x[::-1])

    def f(x: Any) -> Any:
        return ask(of(x))

    g = sg.compile(f)
    x, outcome = table(rng), "raises"
    for _ in range(5):
        x, held.a = changed(x, rng), changed(held.a, rng)
        try:
            wanted = f(x)
        except (AttributeError, TypeError, ValueError, RuntimeError, IndexError):
            with contextlib.suppress(Exception):  # SciPy has no such method, or refuses
                g(x)
            continue
        outcome = "equal"
        found = g(x)
        if isinstance(wanted, np.ndarray) and wanted.dtype == object:
            found, wanted = list(found), wanted.tolist()
        assert_alike(found, wanted)
    if outcome == "raises":
        return outcome
    weights = rng.normal(size=of(x).shape[1])
    differentiated(lambda x: np.sum((of(x) @ weights) ** 2), x)
    return outcome


def assert_alike(found: Any, wanted: Any) -> None:
    if isinstance(wanted, list) and wanted and isinstance(wanted[0], (list, tuple)):
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13)
        return
    np.testing.assert_allclose(np.asarray(found, float), np.asarray(wanted, float), rtol=1e-13)


def changed(x: Any, rng: np.random.Generator) -> Any:
    """Return the table as it is, with other numbers, or with other zeros."""
    how = rng.integers(4)
    if how == 0:
        return x.copy()
    if how == 1:
        return x * rng.uniform(0.5, 1.5, x.shape)
    x = x.copy()
    k = rng.integers(x.size)
    x.flat[k] = 0.0 if how == 2 else 1.5
    return x


def differentiated(f: Function, x: Any) -> None:
    """Compare the gradient with differences: it has its part for entries that are zero, too."""
    h = 1e-6
    points = [x + h * e.reshape(x.shape) for e in np.concatenate([np.eye(x.size), -np.eye(x.size)])]
    values = np.array([f(p) for p in points]).reshape(2, -1)
    wanted = (values[0] - values[1]).reshape(x.shape) / (2 * h)
    np.testing.assert_allclose(sg.grad(f)(x), wanted, rtol=1e-6, atol=1e-6)
