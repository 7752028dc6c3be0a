"""Initial value problems: time against digits, for symgrad and SciPy.

    python examples/benchmarks/ode.py [--quick]

Each problem is solved at several tolerances by each method, from one right-hand side in plain
NumPy. The error is that
of the state at the end, in the largest component relative to its size, against SciPy's DOP853 or
Radau at 1e-13. The ratio is the time of SciPy's fastest method with no more than ten times the
error, by the time of the row. Times are the best of several calls, after the first.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate
from rich.console import Console
from rich.table import Table

import symgrad as sg
from symgrad.scipy.integrate import solve_ivp


class Problem(NamedTuple):
    """A right-hand side, where it begins and ends, and whether it is stiff."""

    slope: Callable[..., Any]
    start: list[float]
    end: float
    stiff: bool


def lorenz(t: Any, y: Any) -> Any:
    return [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]]


def predators(t: Any, y: Any) -> Any:
    return [1.5 * y[0] - y[0] * y[1], y[0] * y[1] - 3 * y[1]]


def robertson(t: Any, y: Any) -> Any:
    a, b, c = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    return [b - a, a - b - c, c]


def van_der_pol(t: Any, y: Any) -> Any:
    return [y[1], 1e6 * ((1 - y[0] ** 2) * y[1] - y[0])]


def hires(t: Any, y: Any) -> Any:
    r = 280 * y[5] * y[7]
    return [
        -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007,
        1.71 * y[0] - 8.75 * y[1],
        -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4],
        8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
        -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6],
        -r + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6],
        r - 1.81 * y[6],
        -r + 1.81 * y[6],
    ]


PROBLEMS = {
    "Lorenz": Problem(lorenz, [1.0, 0.0, 0.0], 5.0, False),
    "Lotka-Volterra": Problem(predators, [1.0, 1.0], 20.0, False),
    "Robertson": Problem(robertson, [1.0, 0.0, 0.0], 1e4, True),
    "Van der Pol": Problem(van_der_pol, [2.0, 0.0], 2.0, True),
    "HIRES": Problem(hires, [1.0, 0, 0, 0, 0, 0, 0, 0.0057], 321.8122, True),
}
EXPLICIT, IMPLICIT = ("RK45", "DOP853"), ("Radau", "BDF", "LSODA")
OURS = {False: ("Tsit5", "DOP853"), True: ("Rodas5P",)}


class Row(NamedTuple):
    """What one way of solving a problem has taken."""

    name: str
    tolerance: float
    error: float
    seconds: float
    first: float


def timed(solve: Callable[[], Any], budget: float) -> tuple[Any, float, float]:
    """Return what ``solve`` returns, the best of its times, and its first."""
    start = time.perf_counter()
    found = solve()
    first = time.perf_counter() - start
    best, begun = np.inf, time.perf_counter()
    while time.perf_counter() - begun < budget or best == np.inf:
        start = time.perf_counter()
        solve()
        best = min(best, time.perf_counter() - start)
    return found, best, first


def rows(problem: Problem, tolerances: list[float], budget: float) -> list[Row]:
    """Solve a problem at each tolerance, by each method."""
    slope, start, end, stiff = problem
    exact = scipy.integrate.solve_ivp(
        slope, (0, end), start, "Radau" if stiff else "DOP853", rtol=1e-13, atol=1e-17
    ).y[:, -1]
    found = []
    for tolerance in tolerances:
        options = {"rtol": tolerance, "atol": tolerance * (1e-5 if stiff else 1)}
        ways = [("symgrad", solve_ivp, m) for m in OURS[stiff]]
        ways += [("SciPy", scipy.integrate.solve_ivp, m) for m in (IMPLICIT if stiff else EXPLICIT)]
        for who, solver, method in ways:

            def solve(solver: Any = solver, method: str = method, options: Any = options) -> Any:
                return solver(slope, (0, end), start, method, t_eval=[end], **options).y[:, -1]

            y, best, first = timed(solve, budget)
            error = float(np.max(np.abs(y - exact) / np.abs(exact)))
            found.append(Row(f"{who} {method}", tolerance, error, best, first))
    return found


def gradients(budget: float) -> list[tuple[str, float, float]]:
    """Time values and derivatives by the start of Lorenz's system, inside of one program."""

    def end(y: Any) -> Any:
        options = {"rtol": 1e-8, "atol": 1e-8}
        return solve_ivp(lorenz, (0.0, 2.0), y, "Tsit5", t_eval=[2.0], **options).y[:, -1]

    start = np.array([1.0, 0.0, 0.0])
    many = np.random.default_rng(0).normal(size=(1000, 3)) + np.array([0, 0, 20.0])
    value, batch = sg.compile(end), sg.compile(sg.vmap(end), parallel=False)
    gradient, forward = sg.grad(lambda y: np.sum(end(y) ** 2)), sg.jacobian(end)
    found = []
    for name, run, count in (
        ("value", lambda: value(start), 1),
        ("gradient (reverse)", lambda: gradient(start), 1),
        ("Jacobian (forward)", lambda: forward(start), 1),
        ("value, each of 1000 in a batch", lambda: batch(many), 1000),
    ):
        _, best, first = timed(run, budget)
        found.append((name, best / count, first))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one tolerance, short")
    quick = parser.parse_args().quick
    budget, tolerances = (0.01, [1e-5]) if quick else (0.3, [1e-3, 1e-5, 1e-7, 1e-9])
    console = Console()
    warnings.simplefilter("ignore")  # of LSODA, in SciPy
    for name, problem in PROBLEMS.items():
        table = Table("method", "rtol", "error", "time", "first call", "SciPy's time", title=name)
        found = rows(problem, tolerances, budget)
        for row in found:
            others = [r for r in found if r.name.startswith("SciPy") and r.error < 10 * row.error]
            fastest = min((r.seconds for r in others), default=np.nan)
            spent = f"{row.seconds * 1e6:,.0f} us"
            table.add_row(
                row.name, f"{row.tolerance:.0e}", f"{row.error:.1e}", spent,
                f"{row.first:.2f} s", f"{fastest / row.seconds:,.1f} x",
            )  # fmt: skip
        console.print(table)
    table = Table("Lorenz to 2 at 1e-8, Tsit5", "time", "first call")
    for what, seconds, first in gradients(budget):
        table.add_row(what, f"{seconds * 1e6:,.1f} us", f"{first:.2f} s")
    console.print(table)


if __name__ == "__main__":
    main()
