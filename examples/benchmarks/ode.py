"""Initial value problems: time against digits, for symgrad, SciPy and others.

    python examples/benchmarks/ode.py [--quick] [--picture FILE] [--only NAME ...]

Each problem of ode_problems.py is solved at several tolerances by each method, from one right-hand
side; that of SciPy's and CVODE's is compiled by Numba where there is Numba's decorator for it. The
error is that of the state at the end, the largest relative one of a component (of the largest
component, for what is less than 1e-12 of it), against the solutions in ode_problems.py. Times are
the best of several rounds of calls, after the first, by the processor's clock, which other
processes do not disturb. The ratio in the last column is the time of the fastest of others with no
more than twice the error, by the time of the row. Where they are installed:
scikit-sundae (CVODE), numbalsoda, diffrax, heyoka, pydiffsol (in its own language, into which SymPy
writes the right-hand sides; its LLVM compiles them). All run in one thread.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy.integrate
from _right import Checks
from numba import njit
from ode_problems import ENDS, PROBLEMS, Problem
from rich.console import Console
from rich.table import Table
from stamps import stamp

from symgrad.scipy.integrate import solve_ivp

Solve = Callable[[], Any]

#: A way: its name, and a function that prepares a solution at a tolerance.
Way = tuple[str, Callable[[float], Solve]]

#: Seconds of a round of calls at least: the system counts other threads' time, where JAX computes,
#: some milliseconds later.
ROUND = 0.04

#: Longer first calls are not tried at finer tolerances.
PATIENCE = 20.0


class Row(NamedTuple):
    """What one way of solving a problem has taken."""

    name: str
    tolerance: float
    error: float
    seconds: float
    first: float


def scipy_like(who: str, solve: Any, problem: Problem, method: str, slope: Any) -> Way:
    """Return a way by a function with SciPy's signature."""

    def prepared(tolerance: float) -> Solve:
        options = {"rtol": tolerance, "atol": tolerance * problem.small}
        span, end = (0.0, problem.end), [problem.end]
        return lambda: solve(slope, span, problem.start, method, t_eval=end, **options).y[:, -1]

    return f"{who} {method}", prepared


def by_numba(problem: Problem) -> tuple[Any, Any]:
    """Return the right-hand side compiled by Numba: for SciPy, and for CVODE."""
    listed = njit(problem.slope)

    @njit
    def slope(t: float, y: Any) -> Any:
        return np.array(listed(t, y))

    @njit
    def into(t: float, y: Any, yp: Any) -> None:
        found = listed(t, y)
        for k in range(len(found)):
            yp[k] = found[k]

    return slope, into


def cvode(problem: Problem, into: Any) -> Way:
    from sksundae.cvode import CVODE

    method = "BDF" if problem.stiff else "Adams"

    def rhs(t: float, y: Any, yp: Any) -> None:
        into(t, y, yp)

    def prepared(tolerance: float) -> Solve:
        solver = CVODE(
            rhs, method=method, rtol=tolerance, atol=tolerance * problem.small,
            max_num_steps=1_000_000,
        )  # fmt: skip
        span, start = np.array([0.0, problem.end]), np.array(problem.start)
        return lambda: solver.solve(span, start).y[-1]

    return f"CVODE {method}", prepared


def numbalsoda_way(problem: Problem, into: Any) -> Way:
    from numba import carray, cfunc
    from numbalsoda import lsoda, lsoda_sig

    size = len(problem.start)

    @cfunc(lsoda_sig)  # type: ignore[untyped-decorator]
    def rates(t: float, y: Any, yp: Any, _: Any) -> None:
        into(t, carray(y, (size,)), carray(yp, (size,)))

    def prepared(tolerance: float) -> Solve:
        start, times = np.array(problem.start), np.array([0.0, problem.end])
        options = {"rtol": tolerance, "atol": tolerance * problem.small, "mxstep": 1_000_000}
        return lambda: lsoda(rates.address, start, times, **options)[0][-1]

    return "NumbaLSODA", prepared


def diffrax_ways(problem: Problem) -> Iterator[Way]:
    import diffrax
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    term = diffrax.ODETerm(lambda t, y, _: jnp.stack(problem.slope(t, y)))
    solvers = (diffrax.Kvaerno5,) if problem.stiff else (diffrax.Tsit5, diffrax.Dopri8)
    for kind in solvers:

        @jax.jit
        def run(y: Any, rtol: Any, kind: Any = kind) -> Any:
            return diffrax.diffeqsolve(
                term, kind(), 0.0, problem.end, None, y, max_steps=100_000, throw=False,
                stepsize_controller=diffrax.PIDController(rtol, rtol * problem.small),
            ).ys[-1]  # fmt: skip

        def prepared(tolerance: float, run: Any = run) -> Solve:
            start = jnp.array(problem.start)
            return lambda: np.asarray(run(start, tolerance))

        yield f"diffrax {kind.__name__}", prepared


def heyoka_way(problem: Problem) -> Way:
    import heyoka

    def prepared(tolerance: float) -> Solve:
        names = heyoka.make_vars(*[f"y{k}" for k in range(len(problem.start))])
        slopes = problem.slope(heyoka.time, names)
        system = [(y, s + 0.0 * y) for y, s in zip(names, slopes, strict=True)]
        solver = heyoka.taylor_adaptive(system, problem.start, tol=tolerance)

        def run() -> Any:
            solver.time = 0.0
            solver.state[:] = problem.start
            solver.propagate_until(problem.end)
            return solver.state.copy()

        return run

    return "heyoka Taylor", prepared


def diffsol_ways(problem: Problem) -> Iterator[Way]:
    import pydiffsol
    import sympy

    names = sympy.symbols(f"y:{len(problem.start)}")
    slopes = map(sympy.sympify, problem.slope(sympy.Symbol("t"), list(names)))
    begin = ",\n".join(
        f"{x} = {y!r}" for x, y in zip(names, map(float, problem.start), strict=True)
    )
    rates = ",\n".join(map(sympy.ccode, slopes))
    code = f"u_i {{\n{begin},\n}}\nF_i {{\n{rates},\n}}\n"
    for name in ("bdf", "esdirk34") if problem.stiff else ("tsit45",):

        def prepared(tolerance: float, name: str = name) -> Solve:
            ode = pydiffsol.Ode(
                code, matrix_type=pydiffsol.nalgebra_dense, ode_solver=getattr(pydiffsol, name)
            )
            ode.rtol, ode.atol = tolerance, tolerance * problem.small
            none, end = np.array([]), np.array([problem.end])
            return lambda: np.asarray(ode.solve_dense(none, end).ys)[:, -1]

        yield f"diffsol {name}", prepared


def ways(problem: Problem) -> Iterator[Way]:
    """Yield all ways of solving a problem that are installed, symgrad's first."""
    stiff, others = ("Rodas5P", "RadauIIA", "BDF", "Radau"), ("RK23", "Tsit5", "DOP853", "Taylor")
    for method in stiff if problem.stiff else others:
        yield scipy_like("symgrad", solve_ivp, problem, method, problem.slope)
    slope, into = by_numba(problem)
    for method in ("Radau", "BDF", "LSODA") if problem.stiff else ("RK45", "DOP853", "LSODA"):
        yield scipy_like("SciPy", scipy.integrate.solve_ivp, problem, method, slope)
    for make in (
        lambda: [cvode(problem, into)],
        lambda: [numbalsoda_way(problem, into)],
        lambda: diffrax_ways(problem),
        lambda: diffsol_ways(problem),
        lambda: [] if problem.stiff else [heyoka_way(problem)],
    ):
        try:
            yield from make()
        except ImportError as error:
            print(f"not installed: {error.name}")


def timed(prepared: Callable[[], Solve], budget: float) -> tuple[Any, float, float]:
    """Return a solution, the best of its times, and the first with what it takes to prepare."""
    start = time.process_time()
    solve = prepared()
    found = solve()
    first = time.process_time() - start
    best, count, begun = np.inf, 1, time.process_time()
    while time.process_time() - begun < budget or best == np.inf:
        start, at = time.process_time(), time.perf_counter()
        for _ in range(count):
            solve()
        if time.perf_counter() - at < ROUND:
            count *= 2
        else:
            best = min(best, (time.process_time() - start) / count)
    return found, best, first


def digits_lost(y: Any, exact: Any) -> float:
    """Return the largest relative error of a component."""
    size = np.maximum(np.abs(exact), 1e-12 * np.abs(exact).max())
    return float(np.max(np.abs(y - exact) / size))


def rows(name: str, problem: Problem, tolerances: list[float], budget: float) -> list[Row]:
    """Solve a problem at each tolerance, by each way."""
    exact, found = np.array(ENDS[name]), list[Row]()
    explicit = ways(problem._replace(stiff=False)) if problem.mild else ()
    for who, prepared in dict([*ways(problem), *explicit]).items():
        for tolerance in tolerances:
            try:
                y, best, first = timed(lambda: prepared(tolerance), budget)  # noqa: B023
                error = digits_lost(y, exact)
            except Exception as error:  # noqa: BLE001
                print(f"{name}, {who} at {tolerance:.0e}: {type(error).__name__}: {error}"[:200])
                continue
            if error < 1:
                found.append(Row(who, tolerance, error, best, first))
            if first > PATIENCE:
                break
    return found


def checks() -> Checks:
    """Compare the ends of symgrad's solutions with the known ones."""

    def check(name: str) -> None:
        problem = PROBLEMS[name]
        explicit = ways(problem._replace(stiff=False)) if problem.mild else ()
        for who, prepared in dict([*ways(problem), *explicit]).items():
            if who.startswith("symgrad"):
                error = digits_lost(prepared(1e-7)(), np.array(ENDS[name]))
                assert error < 1e-3, (who, error)

    return {name: lambda name=name: check(name) for name in ENDS}  # type: ignore[misc]


def shown(name: str, found: list[Row]) -> Table:
    """Return the table of a problem."""
    table = Table("method", "rtol", "error", "time", "first call", "fastest other", title=name)
    for row in found:
        mine = row.name.startswith("symgrad")
        others = [r for r in found if r.error < 2 * row.error and not r.name.startswith("symgrad")]
        other = min(others, key=lambda r: r.seconds, default=None)
        ratio = "" if other is None or not mine else f"{other.seconds / row.seconds:,.1f} x"
        table.add_row(
            row.name, f"{row.tolerance:.0e}", f"{row.error:.1e}", f"{row.seconds * 1e6:,.0f} us",
            f"{row.first:.2f} s", f"{ratio} {other.name}" if ratio and other else "",
        )  # fmt: skip
    return table


def draw(results: dict[str, list[Row]], path: str) -> None:
    """Draw time against error for each problem."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    import matplotlib.ticker

    columns = min(3, max(1, len(results)))
    lines = -(-len(results) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(3.4 * columns, 3.1 * lines + 0.7), squeeze=False
    )
    colours = {"symgrad": "#c2410c", "SciPy": "#64748b", "CVODE": "#1d4ed8", "diffrax": "#7e22ce",
               "heyoka": "#15803d", "diffsol": "#0e7490", "NumbaLSODA": "#a16207"}  # fmt: skip
    styles: dict[str, Any] = {}
    for axis, (name, found) in zip(axes.flat, results.items(), strict=False):
        for who in dict.fromkeys(r.name for r in found):
            points = sorted((r.error, r.seconds) for r in found if r.name == who)
            package = who.split()[0]
            kinds = [k for k in styles if k.split()[0] == package]
            if who not in styles:
                styles[who] = "os^DvxP*"[len(kinds)]
            axis.loglog(
                *zip(*points, strict=True), marker=styles[who], color=colours[package], label=who,
                lw=2 if package == "symgrad" else 1, ms=4.5,
            )  # fmt: skip
        axis.set_title(name, fontsize=10)
        axis.invert_xaxis()
        axis.tick_params(labelsize=8)
        axis.xaxis.set_minor_formatter(mpl.ticker.NullFormatter())
        axis.grid(alpha=0.25)
    for axis in axes[:, 0]:
        axis.set_ylabel("seconds", fontsize=9)
    for axis in axes.flat[max(0, len(results) - columns) : len(results)]:
        axis.set_xlabel("relative error at the end", fontsize=9)
    for axis in axes.flat[len(results) :]:
        axis.axis("off")
    handles = {}
    for axis in axes.flat:
        handles.update(zip(*axis.get_legend_handles_labels()[::-1], strict=True))
    figure.legend(
        handles.values(), handles.keys(), loc="lower center", ncols=4, fontsize=8, frameon=False
    )
    figure.tight_layout(rect=(0, 1 / (3.1 * lines + 0.7), 1, 1))
    figure.savefig(path, dpi=110, facecolor="white")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one tolerance, short")
    parser.add_argument("--picture", metavar="FILE", help="draw time against error")
    parser.add_argument("--only", nargs="+", default=list(PROBLEMS), metavar="NAME")
    given = parser.parse_args()
    budget, tolerances = (0.01, [1e-5]) if given.quick else (0.05, [1e-3, 1e-5, 1e-7, 1e-9])
    console = Console()
    warnings.simplefilter("ignore")  # of LSODA, in SciPy
    results = {}
    for name in [n for n in given.only if n in ENDS]:
        results[name] = rows(name, PROBLEMS[name], tolerances, budget)
        console.print(shown(name, results[name]))
    if given.picture:
        draw(results, given.picture)
    print(f"\n{stamp()}")


if __name__ == "__main__":
    main()
