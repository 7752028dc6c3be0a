"""What sparse matrices made in a trace store: what SciPy does, by the zeros of the call."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

import symgrad as sg
from symgrad.errors import UnsupportedError

TABLE = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
X = np.array([[1.0, 0.0], [2.0, 3.0]])
V = np.array([2.0, 5.0])

MAKERS = {
    **{f"{form}_{kind}": getattr(sparse, f"{form}_{kind}")
       for form in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")
       for kind in ("array", "matrix")},
    "tocsr": lambda a: sparse.coo_array(a).tocsr(),
    "triu": lambda a: sparse.triu(a, format="csr"),
    "kron": lambda a: sparse.kron(a, np.eye(2), format="csr"),
}  # fmt: skip
QUESTIONS = {
    "nnz": lambda q: q.nnz,
    "stored": lambda q: q.tocsr().data.size,
    "indices": lambda q: np.sum(q.tocsr().indices),
    "indptr": lambda q: q.tocsr().indptr[1],
    "nonzero": lambda q: q.nonzero()[0].size,
    "count": lambda q: q.count_nonzero(),
    "triplets": lambda q: q.tocoo().row.size,
    "max": lambda q: q.max(),
    "find": lambda q: sparse.find(q)[2].size,
    "lengths": lambda q: np.diff(q.tocsr().indptr)[0],
}


@pytest.fixture(autouse=True)
def by_numpy():
    with sg.backend("numpy"):
        yield


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("held", [True, False], ids=["read", "argument"])
def test_zeros_of_a_table_are_not_stored(name, held):
    make = MAKERS[name]
    for ask in QUESTIONS.values():
        f = (lambda x: ask(make(TABLE)) + 0.0 * x[0]) if held else lambda x: ask(make(x))  # noqa: B023
        x = np.array([0.75]) if held else TABLE
        try:
            wanted = f(x)
        except AttributeError:  # lil_array and dok_array have no max
            continue
        assert sg.compile(f)(x) == wanted


def test_a_guard_says_which_entries_are_zero():
    a = X.copy()
    f = sg.compile(lambda s: s * sparse.csr_array(a).nnz + sparse.csr_array(a).data.sum())
    for change, traces in ((lambda: None, 1), (lambda: a.__imul__(2.0), 1), (zero, 2)):
        if change is zero:
            a[0, 0] = 0.0
        else:
            change()
        assert f(1.0) == np.count_nonzero(a) + a.sum()
        assert f.traces <= traces + 1
    g = sg.compile(lambda x: sparse.csr_array(x).data * 1.0)
    for scale in (1.0, -2.0, 3.0):
        np.testing.assert_array_equal(g(scale * X), scale * X[X != 0])
    assert g.traces == 1
    np.testing.assert_array_equal(g(X + 1.0), (X + 1.0).ravel())
    assert g.traces == 2


def zero():
    """The change that stands for an entry that becomes zero."""


def test_products_have_derivatives_at_entries_that_are_zero():
    product = lambda x: np.sum((sparse.csr_array(x) @ V) ** 2)  # noqa: E731
    wanted = 2.0 * np.outer(X @ V, V)
    np.testing.assert_allclose(sg.grad(product)(X), wanted)
    np.testing.assert_allclose(sg.hessian(product)(X)[0, 1, 0], 2.0 * V[1] * V)
    for form in ("csc", "coo", "lil", "dok", "dia", "bsr"):
        made = getattr(sparse, f"{form}_array")
        np.testing.assert_allclose(sg.grad(lambda x, made=made: made(x).sum())(X), np.ones((2, 2)))
    assert sg.verify(product, X)


def test_derivatives_of_what_is_stored_are_those_of_all_entries_or_refused():
    stored = lambda x: np.sum(sparse.csr_array(x).data ** 2)  # noqa: E731
    np.testing.assert_allclose(sg.grad(stored)(X + 1.0), 2.0 * (X + 1.0))
    assert sg.compile(stored)(X) == np.sum(X**2)
    for f in (sg.grad(stored), lambda x: sg.jvp(stored, (x,), (x,))):
        with pytest.raises(UnsupportedError, match=r"an entry that it depends on is zero"):
            f(X)
    # Zeros that are always there have no derivative to lose.
    mask = X != 0
    masked = lambda r: np.sum(sparse.csr_array(mask * r[:, None]).data ** 2)  # noqa: E731
    np.testing.assert_allclose(sg.grad(masked)(V), 2.0 * V * mask.sum(axis=1))
    diagonal = lambda r: np.sum(sparse.csr_array(np.diag(r)).data ** 3)  # noqa: E731
    np.testing.assert_allclose(sg.grad(diagonal)(V), 3.0 * V**2)


def test_structures_in_loops_are_refused_and_products_are_not():
    power = lambda x: sg.fori_loop(0, 2, lambda k, a: a @ a, sparse.csr_array(x)).toarray()  # noqa: E731
    np.testing.assert_allclose(sg.compile(power)(X), np.linalg.matrix_power(X, 4))
    count = lambda x: sg.fori_loop(0, 2, lambda k, y: y + sparse.csr_array(y[:, None] * x).nnz, V)  # noqa: E731
    with pytest.raises(UnsupportedError, match="not known in a batch or in the body of a loop"):
        sg.compile(count)(X)


def test_results_store_what_scipys_do():
    for make in (
        sparse.csr_array, sparse.lil_matrix, sparse.dia_array,
        lambda x: sparse.csr_array(x) + sparse.csr_array(-x),
        lambda x: sparse.csr_array(x) @ sparse.csr_array(x[::-1]),
    ):  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sparse.SparseEfficiencyWarning)
            found, wanted = sg.compile(make)(X), make(X)
        assert type(found) is type(wanted)
        assert found.nnz == wanted.nnz
        np.testing.assert_array_equal(found.toarray(), wanted.toarray())
