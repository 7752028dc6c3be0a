"""Places of a Jacobian by elements, compared with the Jacobian itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._api._sparse_body import sparse_body
from symgrad._api._sparse_functions import SparseFunction
from symgrad._sparse._elements import places_of_elements

N = 23
X = np.random.default_rng(5).uniform(0.5, 1.5, N)


def listed(x: Any) -> Any:
    return np.stack([x[k] * x[(3 * k + 1) % N] + (x[k - 1] if k else 1.0) for k in range(N)])


def shifted(x: Any) -> Any:
    return np.concatenate([x[:1], x[2:] * x[:-2], -x[-1:]])


def written(x: Any) -> Any:
    y = 2.0 * x
    y[3:9:2] = x[:3] * x[10]
    return y.reshape(1, N).T[::-1]


def summed(x: Any) -> Any:
    pairs = np.reshape(x[:20], (4, 5))
    return np.concatenate([np.sum(pairs, axis=0), np.max(pairs, axis=1), np.outer(x[:2], x[:3])[0]])


def chosen(x: Any) -> Any:
    return np.where(x > x[::-1], x, np.floor(x[0]) * 2.0)


def padded(x: Any) -> Any:
    return np.pad(np.diff(x), (2, 1))


def nothing(x: Any) -> Any:
    return np.ones(3)


def sharing(x: Any) -> Any:
    return np.stack([np.broadcast_to(x[5], (3,)), x[:3]])


def pattern(f: Any, body: Any) -> Any:
    found = SparseFunction(body, f, (sg.jacobian, (f,), {}), form="csr").pattern(X)
    return found.toarray()


PROGRAMS = [listed, shifted, written, summed, chosen, padded, nothing, sharing]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_places_by_elements(monkeypatch: pytest.MonkeyPatch, f: Any) -> None:
    """All that is not zero is found, and hardly more than by lanes."""
    asked: list[Any] = []

    def asking(*nodes: Any) -> Any:
        asked.append(places_of_elements(*nodes))
        return asked[-1]

    monkeypatch.setattr("symgrad._api._sparse_body.places_of_elements", asking)

    def sized(x: Any) -> Any:
        return f(np.reshape(x, (N,)))

    found = pattern(sized, sparse_body(sized, 0, pattern=True))
    assert asked[0] is not None
    slopes = np.reshape(sg.jacobian(lambda x: np.asarray(f(x)) * 1.0)(X), (-1, N))
    assert not np.any((slopes != 0) & ~found)
    by_lanes = pattern(sized, sparse_body(sized, 0))
    assert not np.any(by_lanes & ~found)
    if f is not chosen:
        np.testing.assert_array_equal(found, by_lanes)


@pytest.mark.filterwarnings("ignore::symgrad.errors.SparsityWarning")
@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[:3] * np.cumsum(x)[:3],
        lambda x: np.ones((N, N)) @ x,
        lambda x: x[np.array([3, 1, 2])],
        lambda x: sg.fori_loop(0, 3, lambda k, y: np.sin(y), x),
        lambda x: np.concatenate([x, x, x])[np.newaxis] * 1.0,
    ],
    ids=["running sum", "product", "gather", "loop", "long"],
)
def test_other_programs_have_lanes(f: Any) -> None:
    """Of any length, or with steps of other kinds: the places are those that lanes have."""
    np.testing.assert_array_equal(
        pattern(f, sparse_body(f, 0, pattern=True)), pattern(f, sparse_body(f, 0))
    )
