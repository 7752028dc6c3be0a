"""Stiff systems with a structure: Robertson's problem in groups, reaction and diffusion on a line.

    python examples/benchmarks/ode_structures.py [--quick]

Each is solved at one tolerance by each method, from one right-hand side of arrays. symgrad finds
the structure by itself; SciPy's LSODA and CVODE of scikit-sundae are told that the Jacobian is a
band, and get the right-hand side compiled by Numba; diffrax has full matrices, up to where they
fit. The error is the largest of a component at the end, by its size and the absolute tolerance.
Times are the best of several calls after the second. One thread.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy.integrate
from _right import Checks
from numba import njit
from rich.console import Console
from rich.table import Table

from symgrad.scipy.integrate import solve_ivp

#: Longest first call of a method, in seconds, after which it is not tried at larger sizes.
PATIENCE = 20.0


class Problem(NamedTuple):
    """A stiff system of any size.

    Attributes
    ----------
    slope:
        The right-hand side, for NumPy and Numba.
    start:
        The state at the time 0 for a number of groups or cells.
    end:
        The time at the end.
    band:
        How many diagonals there are below the main one, and above.
    sizes:
        Numbers of groups or cells.
    atol:
        The absolute tolerance; the relative one is 1e-6.
    """

    slope: Callable[..., Any]
    start: Callable[[int], Any]
    end: float
    band: int
    sizes: tuple[int, ...]
    atol: float


def robertson(t: float, y: Any) -> Any:
    a, b, c = y[::3], y[1::3], y[2::3]
    made, lost = -0.04 * a + 1e4 * b * c, 3e7 * b * b
    return np.column_stack((made, -made - lost, lost)).ravel()


def fisher(t: float, u: Any) -> Any:
    wide = np.concatenate((u[:1], u, u[-1:]))
    return 400.0 * (wide[2:] - 2 * u + wide[:-2]) + 5 * u * (1 - u)


PROBLEMS = {
    "Robertson in groups": Problem(
        robertson, lambda n: np.tile([1.0, 0.0, 0.0], n), 1e4, 2, (1, 10, 100, 1000, 10_000), 1e-10
    ),
    "Fisher's equation on a line": Problem(
        fisher, lambda n: np.exp(-100 * (np.linspace(0, 1, n) - 0.5) ** 2), 1.0, 1,
        (20, 100, 1000, 10_000), 1e-8,
    ),
}  # fmt: skip
RTOL = 1e-6

Way = tuple[str, Callable[[Any], Any]]


def ways(problem: Problem) -> Iterator[Way]:
    """Yield names, and functions of the start that return the end."""
    span, end = (0.0, problem.end), [problem.end]
    options = {"rtol": RTOL, "atol": problem.atol, "t_eval": end}
    compiled = njit(problem.slope)
    band = {"lband": problem.band, "uband": problem.band}
    yield (
        "symgrad Rodas5P",
        lambda y: solve_ivp(problem.slope, span, y, "Rodas5P", **options).y[:, -1],
    )
    yield (
        "SciPy LSODA, band",
        lambda y: scipy.integrate.solve_ivp(compiled, span, y, "LSODA", **band, **options).y[:, -1],
    )
    for make in (cvode, diffrax):
        try:
            yield make(problem, compiled)
        except ImportError as error:
            print(f"not installed: {error.name}")


def cvode(problem: Problem, compiled: Any) -> Way:
    from sksundae.cvode import CVODE

    def into(t: float, y: Any, yp: Any) -> None:
        yp[:] = compiled(t, y)

    def run(y: Any) -> Any:
        solver = CVODE(
            into, method="BDF", rtol=RTOL, atol=problem.atol, max_num_steps=1_000_000,
            linsolver="band", lband=problem.band, uband=problem.band,
        )  # fmt: skip
        return solver.solve(np.array([0.0, problem.end]), y).y[-1]

    return "CVODE BDF, band", run


def diffrax(problem: Problem, compiled: Any) -> Way:
    import diffrax as dx
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    arrays = {"np": jnp}
    exec_as = type(problem.slope)(problem.slope.__code__, arrays)  # the same code on JAX's arrays
    term = dx.ODETerm(lambda t, y, _: exec_as(t, y))

    @jax.jit
    def run(y: Any) -> Any:
        return dx.diffeqsolve(
            term, dx.Kvaerno5(), 0.0, problem.end, None, y, max_steps=100_000,
            stepsize_controller=dx.PIDController(RTOL, problem.atol),
        ).ys[-1]  # fmt: skip

    return "diffrax Kvaerno5", lambda y: np.asarray(run(jnp.asarray(y)))


def timed(run: Callable[[Any], Any], start: Any, budget: float) -> tuple[Any, float, float]:
    """Return the end, the best time of calls after the second, and the first."""
    begun = time.perf_counter()
    found = run(start)
    first = time.perf_counter() - begun
    run(start)  # some things are made when a call is found to come again
    best, spent = np.inf, 0.0
    while spent < budget or best == np.inf:
        begun = time.perf_counter()
        run(start)
        taken = time.perf_counter() - begun
        best, spent = min(best, taken), spent + taken
    return found, best, first


def exactly(problem: Problem, start: Any) -> Any:
    """Return the end by LSODA at a fine tolerance; one group alone is like all of them."""
    few = start[: 3 if problem.band == 2 else None]
    exact = scipy.integrate.solve_ivp(
        njit(problem.slope), (0, problem.end), few, "LSODA", [problem.end], rtol=1e-11,
        atol=problem.atol * 1e-4, lband=problem.band, uband=problem.band,
    ).y[:, -1]  # fmt: skip
    return np.resize(exact, start.size)


def error_of(problem: Problem, found: Any, exact: Any) -> float:
    """Return the largest error of a component."""
    return float(np.max(np.abs(found - exact) / (np.abs(exact) + problem.atol / RTOL)))


def checks() -> Checks:
    """Compare the ends of symgrad's solutions with LSODA's."""

    def check(problem: Problem, size: int) -> None:
        start = problem.start(size)
        _, run = next(ways(problem))
        error = error_of(problem, run(start), exactly(problem, start))
        assert error < 1e-4, error

    return {f"{name}, {size:,}": lambda p=problem, n=size: check(p, n)  # type: ignore[misc]
            for name, problem in PROBLEMS.items() for size in problem.sizes}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, short")
    quick = parser.parse_args().quick
    for name, problem in PROBLEMS.items():
        table = Table("size", "method", "error", "time", "first call", "ratio", title=name)
        over: set[str] = set()
        for size in problem.sizes[: 2 if quick else None]:
            start = problem.start(size)
            exact = exactly(problem, start)
            ours = None
            for who, run in ways(problem):
                if who in over:
                    continue
                try:
                    found, best, first = timed(run, start, 0.01 if quick else 0.5)
                except Exception as error:  # noqa: BLE001 - a peer's may be of any kind
                    print(f"{name} of {size}, {who}: {type(error).__name__}: {error}"[:200])
                    continue
                ours = best if ours is None else ours
                error = error_of(problem, found, exact)
                table.add_row(
                    f"{size:,}", who, f"{error:.0e}", f"{best * 1e3:,.3f} ms", f"{first:.2f} s",
                    f"{best / ours:,.1f}",
                )  # fmt: skip
                if first > PATIENCE or (who.startswith("diffrax") and start.size >= 300):
                    over.add(who)
        Console().print(table)


if __name__ == "__main__":
    main()
