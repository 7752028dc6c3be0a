"""Equations for matrices: systems with structure, of which derivatives are easily singular."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl

import symgrad as sg

#: What SciPy has for each, and whether time is discrete there.
EQUATIONS: dict[str, tuple[Callable[..., Any], bool]] = {
    "sylvester": (lambda a, b, q, r: sl.solve_sylvester(a, q, b @ b.T), False),
    "lyapunov": (lambda a, b, q, r: sl.solve_continuous_lyapunov(a, q), False),
    "discrete lyapunov": (lambda a, b, q, r: sl.solve_discrete_lyapunov(a, q), True),
    "riccati": (lambda a, b, q, r: sl.solve_continuous_are(a, b, q, r), False),
    "discrete riccati": (lambda a, b, q, r: sl.solve_discrete_are(a, b, q, r), True),
}
SLOPES: dict[str, Any] = {}


def along(name: str) -> Any:
    """Return the compiled solution and its derivative along a direction."""
    if name not in SLOPES:
        solve = EQUATIONS[name][0]
        SLOPES[name] = sg.compile(lambda point, by: sg.jvp(solve, point, by))
    return SLOPES[name]


def system(rng: np.random.Generator, n: int, discrete: bool) -> Any:
    """Return a matrix of a motion, with the symmetries that those of textbooks have."""
    match rng.choice(["any", "integrators", "turning", "diagonal", "twice", "shift", "still"]):
        case "integrators":  # defective, of determinant 0, or 1 in discrete time
            a = np.diag(rng.choice([0.1, 1.0], size=n - 1), 1)
        case "turning":  # eigenvalues that are purely imaginary, or on the circle
            half = np.triu(rng.normal(size=(n, n)), 1)
            a = half - half.T
            return sl.expm(a) if discrete else a
        case "diagonal":
            a = np.diag(rng.normal(size=n))
        case "twice":
            a = rng.normal() * np.eye(n)
        case "shift":
            return np.eye(n, k=1)
        case "still":
            a = np.zeros((n, n))
        case _:
            a = rng.normal(size=(n, n))
    return a + np.eye(n) if discrete else a


@pytest.mark.attack(quick=12, whole=3_000, part=300, judge="SciPy, and its differences")
def test_matrix_equations(attack: Any) -> None:
    """Sylvester's, Lyapunov's and Riccati's equations of motions as textbooks have them."""
    for case in attack:
        with case:
            rng = case.rng
            name = str(rng.choice([*EQUATIONS]))
            solve, discrete = EQUATIONS[name]
            n = int(rng.integers(2, 5))
            m = int(rng.integers(1, n + 1))
            a, b = system(rng, n, discrete), rng.normal(size=(n, m))
            q, r = (x @ x.T + np.eye(len(x)) for x in (rng.normal(size=(k, k)) for k in (n, m)))
            point = a, b, q, r
            by = tuple(rng.normal(size=x.shape) for x in point)
            by = (*by[:2], *(x + x.T for x in by[2:]))

            def moved(h: float, solve: Any = solve, point: Any = point, by: Any = by) -> Any:
                return solve(*(x + h * d for x, d in zip(point, by, strict=True)))

            try:
                h = 1e-4
                near, far = ((moved(s * h) - moved(-s * h)) / (2 * s * h) for s in (1, 2))
                want = solve(*point)
            except (ValueError, RuntimeWarning):  # LinAlgError, and what pytest makes an error
                case.tally("refused by SciPy")
                continue
            slope = (4 * near - far) / 3
            size = np.abs(want).max()
            # Near to no solution, or none: SciPy's may be what rounding leaves of 1/0.
            if not np.abs(near - far).max() < 1e-3 * size < 1e3:
                case.tally("not judged")
                continue
            x, found = along(name)(point, by)
            np.testing.assert_allclose(x, want, rtol=1e-8, atol=1e-8 * size)
            off = 10 * np.abs(near - far).max() + 1e-7 * size
            np.testing.assert_allclose(found, slope, rtol=1e-6, atol=off)
