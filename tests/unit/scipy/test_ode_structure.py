"""What the pattern of a Jacobian says of linear systems."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.integrate

import symgrad as sg
from symgrad.errors import NotCompiledWarning
from symgrad.scipy import _ode_steps
from symgrad.scipy._ode_methods import METHODS
from symgrad.scipy._ode_programs import programs_for
from symgrad.scipy._ode_run import ROWS
from symgrad.scipy._ode_structure import (
    SIDE_BY_SIDE,
    SMALL,
    Band,
    _eliminated,
    structure_of,
    system_of,
)
from symgrad.scipy.integrate import solve_ivp

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
    system = system_of(found, arrays)

    def solution(shift: Any, right: Any) -> Any:
        jacobian = system.jacobian(lambda t, y: matrix @ y, 0.0, np.zeros(N))
        return system.solve(system.factors(jacobian, shift), right)

    for shift in 9.0, 3.0 + 9.0j:
        x = sg.compile(solution)(shift, right * shift)
        np.testing.assert_allclose((shift * np.eye(N) - matrix) @ x, right * shift, atol=1e-9)


@pytest.mark.parametrize("n", range(1, SMALL + 1))
def test_small_matrices_are_inverted_with_pivots(n: int) -> None:
    rng = np.random.default_rng(n)
    inverse = sg.compile(_eliminated)
    for _ in range(20):
        matrix = rng.normal(size=(n, n))
        matrix[np.arange(n - 1), np.arange(n - 1)] = 0.0  # no way without pivots
        np.testing.assert_allclose(inverse(matrix) @ matrix, np.eye(n), atol=1e-9)


@pytest.mark.parametrize(
    ("name", "factor"),
    [("RK23", 1), ("RK45", 1 - 0.5j), ("DOP853", 1), ("DOP853", 1j), ("Rodas5P", 1)],
)
def test_stages_in_a_loop_are_those_of_straight_code(
    name: str, factor: complex, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = METHODS[name]

    def slope(t: Any, y: Any) -> Any:
        return np.sin(t) * y[::-1] - 5 * y * factor + t * t

    def whole(y: Any, t: Any, h: Any) -> Any:
        y = np.reshape(y, (3,))
        step = method.trial(slope, t, y, slope(t, y), h).step(h)
        return step.y, step.f, method.dense(slope, t, y, h, step.stages)

    rng = np.random.default_rng(0)
    given = rng.normal(size=3) * factor, 0.3, 0.05
    found = []
    for limit in (0, 10_000):
        monkeypatch.setattr(_ode_steps, "BRIEF", limit)
        compiled = sg.compile(whole)
        steps = compiled.program(*given).steps
        assert any(node.op.name == "Loop" for node in steps) == (limit == 0)
        found.append(compiled(*given))
    (one, slope_one, terms), (other, slope_other, more) = found
    # Of the last terms of the interpolant sums of numbers up to 100 are left, of which all but 1e-9
    # cancels.
    np.testing.assert_allclose(
        [one, slope_one, *terms], [other, slope_other, *more], rtol=1e-10, atol=1e-12
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the function advances the iterator")
def test_a_long_right_hand_side_is_written_a_few_times() -> None:
    """Not once for each of the twelve stages and of the three between two steps."""
    calls = itertools.count()  # a number that is counted up would be seen, and left to SciPy

    def slope(t: float, y: Any) -> Any:
        next(calls)
        return [np.sin(k * y[k % 4] + t) * y[(k + 1) % 4] for k in range(4)] + [
            sum(np.cos(j * k + y[j]) for j in range(5)) for k in range(8)
        ]

    found = solve_ivp(slope, (0.0, 1.0), np.ones(12), "DOP853", t_eval=[1.0], rtol=1e-9)
    assert next(calls) < 5
    expected = scipy.integrate.solve_ivp(slope, (0.0, 1.0), np.ones(12), "DOP853", rtol=1e-9)
    np.testing.assert_allclose(found.y[:, -1], expected.y[:, -1], rtol=1e-12)


def test_later_chunks_of_steps_run_the_code_of_the_first() -> None:
    def slope(t: float, y: Any) -> Any:
        return [-y[0] * np.cos(20 * t)]

    found = solve_ivp(slope, (0.0, 200.0), [1.0], rtol=1e-8, atol=1e-8)
    assert found.t.size > 2 * ROWS
    assert programs_for("RK45", False, 1, slope).march.traces == 1


def test_a_right_hand_side_is_traced_once_for_all_steps() -> None:
    calls: list[None] = []
    noted = calls.append

    def slope(t: float, y: Any) -> Any:
        noted(None)
        return [y[(k + 1) % 18] - 50 * y[k] for k in range(18)]

    assert solve_ivp(slope, (0.0, 1.0), np.ones(18), "Rodas5P").success
    assert len(calls) == 4  # twice by SciPy, for its pattern, for the loop


def test_a_right_hand_side_that_writes_to_the_state() -> None:
    """SciPy's steps go on from what it has written; it is no function of what it was given."""

    def slope(t: float, y: Any) -> Any:
        y[0] = np.maximum(y[0], 0.5)
        return [-2 * y[0], -y[1]]

    with pytest.warns(NotCompiledWarning, match="writes to the state"):
        found = solve_ivp(slope, (0.0, 1.0), [1.0, 1.0], rtol=1e-8)
    expected = scipy.integrate.solve_ivp(slope, (0.0, 1.0), [1.0, 1.0], rtol=1e-8)
    np.testing.assert_array_equal(found.y, expected.y)
    assert found.y[0, -1] == 0.5


@pytest.mark.parametrize("width", [1, 2, 4])
def test_directions_side_by_side_or_in_a_loop(width: int) -> None:
    """Many directions of a short state are a loop, whose code is written once."""
    coefficients = RNG.normal(size=(2 * width + 1, N))

    def slope(t: Any, y: Any) -> Any:
        around = np.concatenate([np.zeros(width), y, np.zeros(width)])
        return sum(c * np.sin(around[k : k + N]) ** 2 for k, c in enumerate(coefficients)) * t

    band = Band(width, width)
    found = sg.compile(lambda y: band.jacobian(slope, 2.0, np.reshape(y, (N,))))
    y = RNG.normal(size=N)
    exact = sg.jacobian(lambda y: slope(2.0, y))(y)
    for column, k in itertools.product(range(N), range(2 * width + 1)):
        row = column + k - width
        if 0 <= row < N:
            assert abs(found(y)[column, k] - exact[row, column]) < 1e-13
    looped = any(node.op.name == "Loop" for node in found.program(y).steps)
    assert looped == (2 * width + 1 > SIDE_BY_SIDE)
