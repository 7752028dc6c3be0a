"""Programs that call a solver again and again: how long first calls take, by the number of calls.

    python examples/benchmarks/solves_in_a_row.py [--quick]

Doses: a patient takes one after the other, and the amounts at four times after each are one
``solve_ivp``. Delays: an equation whose slope reads the solution of the interval before, by the
method of steps. Each count runs in a process of its own, without code from the cache. Printed are
the seconds of the processor for the first value and the first gradient.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any

import numpy as np
import scipy.integrate
from _right import Checks, along, equal
from rich.console import Console
from rich.table import Table

import symgrad as sg
from symgrad.scipy.integrate import solve_ivp


def doses(count: int, solve_ivp: Any = solve_ivp) -> Any:
    def slope(t: Any, y: Any, absorbed: Any, left: Any) -> Any:
        return [-absorbed * y[0], absorbed * y[0] - left * y[1]]

    def misfit(p: Any) -> Any:
        y, found = np.array([0.0, 0.0]), []
        for k in range(count):
            y = y + np.array([100.0, 0.0])
            times = 8.0 * k + np.array([1.0, 2.0, 4.0, 8.0])
            solution = solve_ivp(slope, (8.0 * k, times[-1]), y, t_eval=times, args=(p[0], p[1]),
                                 rtol=1e-8, atol=1e-10)  # fmt: skip
            found.append(solution.y[1] / p[2])
            y = solution.y[:, -1]
        return np.sum((np.concatenate(found) - 1.0) ** 2)

    return misfit, np.array([1.0, 0.2, 10.0])


def delays(count: int, solve_ivp: Any = solve_ivp) -> Any:
    def of(solution: Any) -> Any:
        return lambda t: solution.sol(t)[0]

    def misfit(p: Any) -> Any:
        y, past, ends = np.array([0.5]), lambda t: 0.5 + 0.0 * t, []
        for k in range(count):
            solution = solve_ivp(
                lambda t, y, past=past: p[0] * y * (1 - past(t - 1.0) / p[1]),
                (1.0 * k, 1.0 * k + 1.0), y, dense_output=True, rtol=1e-6, atol=1e-8,
            )  # fmt: skip
            past, y = of(solution), solution.y[:, -1]
            ends.append(y[0])
        return np.sum((np.array(ends) - 1.0) ** 2)

    return misfit, np.array([1.5, 1.2])


PROGRAMS = {"doses": (doses, (1, 3, 12, 40)), "delays": (delays, (1, 2, 3))}


def measured(name: str, count: int) -> dict[str, float]:
    """Return the seconds of first calls in this process."""
    f, p = PROGRAMS[name][0](count)
    found = {}
    for what, call in (("value", sg.compile(f)), ("gradient", sg.grad(f))):
        begin = time.process_time()
        call(p)
        found[what] = time.process_time() - begin
    return found


def checks() -> Checks:
    """Compare values and gradients with SciPy's solutions, and their differences."""

    def check(name: str, count: int) -> None:
        f, p = PROGRAMS[name][0](count)
        by_scipy, _ = PROGRAMS[name][0](count, scipy.integrate.solve_ivp)
        equal(sg.compile(f)(p), by_scipy(p), 1e-9)
        along(by_scipy, [sg.grad(f)(p)], p, step=1e-3, tolerance=1e-5)

    return {f"{name}, {count}": lambda at=(name, count): check(*at)  # type: ignore[misc]
            for name, (_, counts) in PROGRAMS.items() for count in counts[:3]}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="fewer calls in a row")
    parser.add_argument("--one", nargs=2, metavar=("NAME", "COUNT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(options.one[0], int(options.one[1]))))
        return
    table = Table("program", "solves", "first value", "first gradient")
    for name, (_, counts) in PROGRAMS.items():
        for count in counts[: 2 if options.quick else None]:
            run = subprocess.run(
                [sys.executable, __file__, "--one", name, str(count)], check=True,
                capture_output=True, text=True, env=os.environ | {"SYMGRAD_CACHE_DIR": ""},
            )  # fmt: skip
            found = json.loads(run.stdout)
            table.add_row(name, str(count), *(f"{found[k]:.2f} s" for k in ("value", "gradient")))
    Console().print(table)


if __name__ == "__main__":
    main()
