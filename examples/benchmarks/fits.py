"""Many small fits, roots and trajectories in one call, against a loop over SciPy's.

    python examples/benchmarks/fits.py [--quick] [--rows 1000000]

Rows of an array are fitted, or equations with other parameters or starts solved, by ``vmap`` of a
call of ``scipy.optimize`` or ``scipy.integrate``, in one call, and by SciPy one by one (a sample of
them). The error is the largest difference between the two, relative to the largest solution. Times
are the best of several calls, after the first, a solution each.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from _right import Checks, equal
from rich.console import Console
from rich.table import Table
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, curve_fit, fsolve

import symgrad as sg

T = np.linspace(0.0, 3.0, 20)


class Problem(NamedTuple):
    """What is solved for a row of data, and the data for a number of rows."""

    solve: Callable[[Any], Any]
    rows: Callable[[np.random.Generator, int], Any]


def decay(t: Any, a: Any, k: Any, c: Any) -> Any:
    return a * np.exp(-k * t) + c


def peak(t: Any, height: Any, centre: Any, width: Any, floor: Any) -> Any:
    return height * np.exp(-(((t - centre) / width) ** 2)) + floor


def measured(model: Callable[..., Any], low: Any, high: Any) -> Callable[..., Any]:
    def rows(rng: np.random.Generator, count: int) -> Any:
        parameters = rng.uniform(low, high, (count, len(low)))[:, :, None]
        return model(T, *np.moveaxis(parameters, 1, 0)) + rng.normal(0, 0.01, (count, T.size))

    return rows


def fit_decay(y: Any) -> Any:
    return curve_fit(decay, T, y, p0=[1.0, 1.0, 0.0])[0]


def fit_with_covariance(y: Any) -> Any:
    best, covariance = curve_fit(decay, T, y, p0=[1.0, 1.0, 0.0])
    return np.concatenate([best, np.ravel(covariance)])


def fit_peak(y: Any) -> Any:
    return curve_fit(peak, T, y, p0=[1.0, 1.5, 0.5, 0.0])[0]


def kepler(p: Any) -> Any:
    """The eccentric anomaly."""
    return brentq(lambda e: e - p[0] * np.sin(e) - p[1], -1.0, 7.0)


def equilibrium(p: Any) -> Any:
    """Two reactions that share a product."""
    return fsolve(
        lambda x: [
            x[0] * (x[0] + x[1]) - p[0] * (1 - x[0]),
            x[1] * (x[0] + x[1]) - p[1] * (1 - x[1]),
        ],
        [0.5, 0.5],
    )


def lorenz(start: Any) -> Any:
    def slope(t: Any, u: Any) -> Any:
        x, y, z = u
        return [10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z]

    return solve_ivp(slope, (0, 2), start, "RK45", [2.0], rtol=1e-8, atol=1e-8).y[:, -1]


def predators(start: Any) -> Any:
    def slope(t: Any, u: Any) -> Any:
        return [u[0] * (1.5 - u[1]), u[1] * (u[0] - 3.0)]

    return solve_ivp(slope, (0, 10), start, "RK45", [10.0], rtol=1e-8, atol=1e-8).y[:, -1]


PROBLEMS = {
    "decay, 3 parameters, 20 points": Problem(fit_decay, measured(decay, (1, 0.5, 0), (3, 2, 0.5))),
    "the same, with covariances": Problem(
        fit_with_covariance, measured(decay, (1, 0.5, 0), (3, 2, 0.5))
    ),
    "peak, 4 parameters, 20 points": Problem(
        fit_peak, measured(peak, (1, 1.2, 0.4, 0), (3, 1.8, 0.6, 0.5))
    ),
    "Kepler's equation by brentq": Problem(
        kepler, lambda rng, n: rng.uniform((0.0, 0.0), (0.9, 6.0), (n, 2))
    ),
    "chemical equilibrium by fsolve": Problem(
        equilibrium, lambda rng, n: rng.uniform(0.01, 2.0, (n, 2))
    ),
    "Lorenz to t = 2 by solve_ivp": Problem(
        lorenz, lambda rng, n: rng.normal(size=(n, 3)) + np.array([0, 0, 20.0])
    ),
    "Lotka-Volterra to t = 10 by solve_ivp": Problem(
        predators, lambda rng, n: rng.uniform(0.5, 3, (n, 2))
    ),
}


def best(call: Callable[[], Any], budget: float) -> float:
    """Return the least time of a call, of as many as fit in a budget."""
    least, spent = np.inf, 0.0
    while spent < budget:
        begin = time.perf_counter()
        call()
        taken = time.perf_counter() - begin
        least, spent = min(least, taken), spent + taken
    return least


def checks() -> Checks:
    """Compare some of all rows with SciPy's."""

    def check(problem: Problem) -> None:
        data = problem.rows(np.random.default_rng(0), 20_000)
        some = np.arange(0, 20_000, 409)
        found = sg.compile(sg.vmap(problem.solve))(data)[some]
        equal(found, [problem.solve(row) for row in data[some]], 1e-6)

    return {name: lambda p=p: check(p) for name, p in PROBLEMS.items()}  # type: ignore[misc]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few rows, short")
    parser.add_argument("--rows", type=int, help="rows in a call; default 20000")
    given = parser.parse_args()
    count, sample, budget = (200, 5, 0.01) if given.quick else (given.rows or 20_000, 200, 1.0)
    table = Table("each", "symgrad", "one by one", "first call", "SciPy", "ratio", "error")
    for name, (solve, rows) in PROBLEMS.items():
        data = rows(np.random.default_rng(0), count)
        together, single = sg.compile(sg.vmap(solve)), sg.compile(solve)
        begin = time.perf_counter()
        found = together(data)
        first = time.perf_counter() - begin
        single(data[0])
        ours = best(lambda f=together, x=data: f(x), budget) / count
        alone = best(lambda f=single, x=data: [f(row) for row in x[:sample]], budget) / sample
        theirs = best(lambda f=solve, x=data: [f(row) for row in x[:sample]], budget) / sample
        expected = np.array([solve(row) for row in data[:sample]])
        error = np.abs(found[:sample] - expected).max() / np.abs(expected).max()
        times = (f"{x * 1e6:,.1f} us" for x in (ours, alone))
        table.add_row(
            name, *times, f"{first:.1f} s", f"{theirs * 1e6:,.0f} us", f"{theirs / ours:,.0f} x",
            f"{error:.0e}",
        )  # fmt: skip
    Console().print(table)


if __name__ == "__main__":
    main()
