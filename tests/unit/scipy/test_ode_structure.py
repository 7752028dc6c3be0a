"""What the pattern of a Jacobian says of linear systems."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from symgrad.scipy._ode_structure import structure_of, system_of

N = 42
RNG = np.random.default_rng(3)
ORDER = RNG.permutation(N)


def near(distance: int) -> Any:
    """Return where neighbours up to a distance are."""
    place = np.arange(N)
    return np.abs(place[:, None] - place) <= distance


def of_groups(sizes: list[int]) -> Any:
    group = np.repeat(np.arange(len(sizes)), sizes)
    return group[:, None] == group


def shuffled(pattern: Any) -> Any:
    return pattern[np.ix_(ORDER, ORDER)]


def arrow() -> Any:
    pattern = np.eye(N, dtype=bool)
    pattern[0] = pattern[:, 0] = True
    return pattern


PATTERNS = {
    "nothing": (np.zeros((N, N), bool), ("blocks", (1,))),
    "diagonal": (np.eye(N, dtype=bool), ("blocks", (1,))),
    "groups": (shuffled(of_groups([3] * 14)), ("blocks", (3,))),
    "unequal groups": (shuffled(of_groups([8, 1, 5, 2] * 2 + [7, 3])), ("blocks", (8,))),
    "groups above the limit": (of_groups([9] * 4 + [6]), None),
    "a line": (near(1), ("band", (1, 1))),
    "a line in any order": (shuffled(near(1)), ("band", (1, 1))),
    "one side": (np.tril(near(2)), ("band", (2, 0))),
    "a ring": (near(1) | np.roll(near(1), 1, axis=1), ("band", (2, 2))),
    "too wide": (near(6), None),
    "an arrow": (arrow(), None),
    "full": (np.ones((N, N), bool), None),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_systems_are_solved_by_their_structure(name: str) -> None:
    pattern, kind = PATTERNS[name]
    rows, columns = np.nonzero(pattern)
    found, arrays = structure_of(rows, columns, N)
    if name == "a ring":  # which order is found is the library's
        assert found is not None
        assert found[0] == "band"
    else:
        assert found == kind
    matrix = np.where(pattern, RNG.normal(size=(N, N)), 0.0)
    right = RNG.normal(size=N)
    solve = system_of(found, arrays)(lambda t, y: matrix @ y, 0.0, np.zeros(N), 9.0)
    np.testing.assert_allclose((9.0 * np.eye(N) - matrix) @ solve(right), right, atol=1e-10)
