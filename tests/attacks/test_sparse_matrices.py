"""Sparse matrices whose entries are traced: random expressions in SciPy's own words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import symgrad as sg
from symgrad.errors import UnsupportedError

Step = Callable[[Any], Any]
FORMATS = [f"{form}_{kind}" for form in ("csr", "csc", "coo") for kind in ("array", "matrix")]


def steps(rng: np.random.Generator, n: int, m: int, kind: str) -> tuple[str, Step]:
    """Return a random step for a sparse matrix of shape (n, m), and its words."""
    held = scipy.sparse.random_array((n, m), density=0.4, rng=rng, format="csr")
    held = getattr(scipy.sparse, f"csr_{kind}")(held)
    dense, row, column = rng.normal(size=(n, m)), rng.normal(size=n), rng.normal(size=m)
    some, others = rng.permutation(n)[: max(1, n // 2)], slice(None, None, int(rng.choice([1, -1])))
    number = float(rng.uniform(0.5, 2.0))
    choices: list[tuple[str, Step]] = [
        ("A.T", lambda A: A.T),
        ("A.tocsr()", lambda A: A.tocsr()),
        ("A.tocsc()", lambda A: A.tocsc()),
        ("2 * A", lambda A: number * A),
        ("A / 2", lambda A: A / number),
        ("-A", lambda A: -A),
        ("abs(A)", abs),
        ("A.power(2)", lambda A: A.power(2)),
        ("A.multiply(A)", lambda A: A.multiply(A).tocsr()),
        ("A.tanh()", lambda A: A.tocsr().tanh()),
        ("np.sin(A)", lambda A: np.sin(A.tocsr())),
        ("np.log1p(np.abs(A))", lambda A: np.log1p(np.abs(A.tocsr()))),
        ("np.multiply(2, A)", lambda A: np.multiply(number, A)),
        ("A / dense", lambda A: (A / (1.5 + dense**2)).tocsr()),
        ("A.log1p()", lambda A: abs(A.tocsr()).log1p()),
        ("A + held", lambda A: A + held),
        ("held - A", lambda A: held - A),
        ("A + A", lambda A: A + A),
        ("A.multiply(held)", lambda A: A.multiply(held).tocsr()),
        ("A.multiply(dense)", lambda A: A.multiply(dense).tocsr()),
        ("A @ A.T", lambda A: A @ A.T),
        ("held.T @ A", lambda A: held.T @ A),
        ("A @ held.T", lambda A: A @ held.T),
        ("A[rows]", lambda A: A.tocsr()[some]),
        ("A[:, columns]", lambda A: A.tocsr()[:, others]),
        ("kron(A, eye)", lambda A: scipy.sparse.kron(A, scipy.sparse.eye_array(2), format="csr")),
        ("vstack", lambda A: scipy.sparse.vstack([A, A], format="csr")),
        ("hstack", lambda A: scipy.sparse.hstack([A, held], format="csr")),
        ("bmat", lambda A: scipy.sparse.bmat([[A, None], [None, held]], format="csr")),
        ("block_array", lambda A: scipy.sparse.block_array([[None, A], [held, A * number]])),
        ("diags(rows) @ A", lambda A: scipy.sparse.diags(row) @ A),
        ("A @ diags(sums)", lambda A: A @ scipy.sparse.diags(np.asarray(A.sum(axis=0)).ravel())),
        ("A * A", lambda A: A * A if A.shape[0] == A.shape[1] else A),
        ("A**2", lambda A: A**2 if A.shape[0] == A.shape[1] else A),
        ("A * column", lambda A: A @ scipy.sparse.diags(column)),
    ]
    return choices[rng.integers(len(choices))]


def ends(rng: np.random.Generator, n: int, m: int) -> tuple[str, Step]:
    """Return what makes numbers of a sparse matrix, and its words."""
    row, column = rng.normal(size=n), rng.normal(size=m)
    choices: list[tuple[str, Step]] = [
        # (one row in SciPy's coo_array times a vector is a number)
        ("A @ v", lambda A: A.tocsr() @ column),
        ("v @ A", lambda A: A.T.tocsr() @ row),
        ("A.toarray()", lambda A: A.toarray().ravel()),
        ("A.sum()", lambda A: A.sum() * np.ones(1)),
        ("A.sum(axis=0)", lambda A: np.ravel(A.sum(axis=0))),
        ("A.sum(axis=1)", lambda A: np.ravel(A.sum(axis=1))),
        ("A.mean(axis=0)", lambda A: np.ravel(A.mean(axis=0))),
        ("A.diagonal()", lambda A: A.diagonal()),
        ("A.trace()", lambda A: A.trace() * np.ones(1)),
        ("norm(A)", lambda A: scipy.sparse.linalg.norm(A) * np.ones(1)),
        ("A[0, 0]", lambda A: A.tocsr()[0, 0] * np.ones(1)),
    ]
    return choices[rng.integers(len(choices))]


def model(rng: np.random.Generator) -> tuple[list[str], Callable[[Any], Any], int]:
    """Return a random function of the entries of a sparse matrix: words, function, entries."""
    n, m, count = (int(rng.integers(1, 5)) for _ in range(3))
    count *= 2
    places = rng.integers(0, n, count), rng.integers(0, m, count)
    form = str(rng.choice(FORMATS))
    words, chain = [f"{form} of {n} x {m}, {count} entries"], []
    shape = (n, m)
    for _ in range(rng.integers(0, 4)):
        word, step = steps(rng, *shape, form[4:])
        words.append(word)
        chain.append(step)
        shape = step(scipy.sparse.csr_array(np.ones(shape))).shape
    word, end = ends(rng, *shape)

    def f(x: Any) -> Any:
        found = getattr(scipy.sparse, form)((x, places), shape=(n, m))
        for step in chain:
            found = step(found)
        return end(found)

    return [*words, word], f, count


@pytest.mark.attack(quick=40, whole=4_000, part=200, judge="SciPy, and differences")
def test_sparse_matrices(attack: Any) -> None:
    """Sums, products, powers, parts and sums of sparse matrices with traced entries."""
    for case in attack:
        with case, sg.backend("numpy"):
            words, f, count = model(case.rng)
            x = case.rng.uniform(0.3, 1.2, count) * case.rng.choice([-1.0, 1.0], count)
            try:
                wanted = np.asarray(f(x))
            except ValueError:  # shapes that do not fit: `A + held` after `A.T`
                case.tally("no such matrix")
                continue
            try:
                value, slopes = sg.compile(f)(x), sg.jacobian(f)(x)
            except (UnsupportedError, AttributeError) as error:
                assert "Write instead" in str(error), words  # noqa: PT017
                case.tally("refused")
                continue
            np.testing.assert_allclose(
                value, wanted, rtol=1e-12, atol=1e-12, err_msg=str(words), strict=True
            )
            h = 1e-6
            differences = [(f(x + d) - f(x - d)) / (2 * h) for d in h * np.eye(count)]
            size = 1.0 + np.max(np.abs(slopes), initial=0.0)
            np.testing.assert_allclose(
                slopes / size, np.transpose(differences) / size, atol=1e-7, err_msg=str(words)
            )
