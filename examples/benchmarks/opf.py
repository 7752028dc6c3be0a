"""AC optimal power flow by IPOPT: derivatives by symgrad, CasADi and PyOptInterface.

    python examples/benchmarks/opf.py [FILE or FOLDER ...] [--solver ipyopt] [--quick]

Without files it takes the five buses of examples/opf. The formulation, the start and the solver
are the same; CasADi's functions are those of its SX graphs. PyOptInterface's model has the powers
into each branch as further unknowns, as in its own example, so that all branches share a graph; it
loads the IPOPT that ipyopt brings along, with the same linear solver. Printed are the times of
building (to the first values of all derivatives), of one evaluation of each (the best of several,
at points that differ), of all evaluations in the solve (by PyOptInterface as IPOPT counts them)
and of the solve, and ratios. Use one thread:
``OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1``.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _right import Checks, along
from rich.console import Console
from rich.table import Table
from scipy.sparse import coo_array, tril

import symgrad as sg
from symgrad._api._ipopt import solve

HERE = Path(__file__).parents[1] / "opf"
sys.path.insert(0, str(HERE))

from case import Grid, read  # noqa: E402
from model import problem  # noqa: E402

NAMES = ("objective", "gradient", "constraints", "jacobian", "hessian")


class ByCasadi:
    """The same problem, with functions of CasADi's."""

    def __init__(self, grid: Grid, like: Any) -> None:
        import casadi as ca

        buses, gens = len(grid.load[0]), len(grid.at)
        x = ca.SX.sym("x", like.n)
        va, vm, pg, qg = ca.vertsplit(x, [0, buses, 2 * buses, 2 * buses + gens, like.n])
        start, end, at = (v.tolist() for v in (grid.start, grid.end, grid.at))
        angle, u, v = va[start] - va[end], vm[start], vm[end]
        (g, b, charge), (re, im) = grid.admittance, grid.tap
        square = re * re + im * im
        c, s = u * v * ca.cos(angle) / square, u * v * ca.sin(angle) / square
        p = g / square * u * u - (g * re - b * im) * c - (b * re + g * im) * s
        q = -(b + charge) / square * u * u + (b * re + g * im) * c - (g * re - b * im) * s
        p_back = g * v * v - (g * re + b * im) * c + (b * re - g * im) * s
        q_back = -(b + charge) * v * v + (b * re - g * im) * c + (g * re + b * im) * s

        def added(where: list[int], values: Any) -> Any:
            ones = ca.DM.triplet(where, list(range(len(where))), [1.0] * len(where), buses,
                                 len(where))  # fmt: skip
            return ca.mtimes(ones, values)

        active = (-grid.load[0] - grid.shunt[0] * vm**2 + added(at, pg) - added(start, p)
                  - added(end, p_back))  # fmt: skip
        reactive = (-grid.load[1] + grid.shunt[1] * vm**2 + added(at, qg) - added(start, q)
                    - added(end, q_back))  # fmt: skip
        levels = ca.vertcat(active, reactive, p**2 + q**2, p_back**2 + q_back**2, angle)
        squared, plain, fixed = grid.cost
        cost = ca.sum1(squared * pg**2 + plain * pg + fixed)
        weights, factor = ca.SX.sym("w", like.m), ca.SX.sym("f")
        slopes = ca.jacobian(levels, x)
        hessian = ca.tril(ca.hessian(factor * cost + ca.dot(weights, levels), x)[0])
        self._f = ca.Function("f", [x], [cost])
        self._df = ca.Function("df", [x], [ca.gradient(cost, x)])
        self._g = ca.Function("g", [x], [levels])
        self._j = ca.Function("j", [x], [slopes])
        self._h = ca.Function("h", [x, factor, weights], [hessian])
        self._jac, self._hess = (
            tuple(np.array(v) for v in m.sparsity().get_triplet()) for m in (slopes, hessian)
        )
        for name in ("n", "m", "x0", "lb", "ub", "cl", "cu"):
            setattr(self, name, getattr(like, name))

    def objective(self, x: Any) -> float:
        return float(self._f(x))

    def gradient(self, x: Any) -> Any:
        return np.array(self._df(x)).ravel()

    def constraints(self, x: Any) -> Any:
        return np.array(self._g(x)).ravel()

    def jacobianstructure(self) -> Any:
        return self._jac

    def jacobian(self, x: Any) -> Any:
        return np.array(self._j(x).nonzeros())

    def hessianstructure(self) -> Any:
        return self._hess

    def hessian(self, x: Any, lagrange: Any, obj_factor: float) -> Any:
        return np.array(self._h(x, obj_factor, lagrange).nonzeros())


def by_pyoptinterface(grid: Grid, like: Any) -> dict[str, float]:
    """The same problem, in PyOptInterface's variables and graphs, solved by the same library."""
    import ipyopt  # noqa: F401  # loads what its library needs
    import pyoptinterface as poi
    from pyoptinterface import ipopt, nl

    if not ipopt.is_library_loaded():
        found = [f for f in importlib.metadata.files("ipyopt") or () if "libipopt" in f.name]
        if not (found and ipopt.load_library(str(found[0].locate()))):
            raise ImportError("no IPOPT for PyOptInterface: pip install ipyopt")
    begin = time.perf_counter()
    model = ipopt.Model()
    buses, gens, branches = len(grid.load[0]), len(grid.at), len(grid.start)
    bounds = zip(like.lb.tolist(), like.ub.tolist(), like.x0.tolist(), strict=True)
    x = [model.add_variable(lb=a, ub=b, start=s) for a, b, s in bounds]
    va, vm, pg = x[:buses], x[buses : 2 * buses], x[2 * buses : 2 * buses + gens]
    qg = x[2 * buses + gens :]
    flows = [[model.add_variable(start=0.0) for _ in range(branches)] for _ in range(4)]
    (g, b, charge), (re_, im) = grid.admittance.tolist(), grid.tap.tolist()
    rating, low, high = grid.rating.tolist(), *grid.angle.tolist()
    ends = list(zip(grid.start.tolist(), grid.end.tolist(), strict=True))
    for k, (i, j) in enumerate(ends):
        p, q, p_back, q_back = (flow[k] for flow in flows)
        square = re_[k] ** 2 + im[k] ** 2
        one, two = (g[k] * re_[k] - b[k] * im[k], b[k] * re_[k] + g[k] * im[k])
        back, forth = (g[k] * re_[k] + b[k] * im[k], b[k] * re_[k] - g[k] * im[k])
        with nl.graph():
            u, v, c, s = vm[i], vm[j], nl.cos(va[i] - va[j]), nl.sin(va[i] - va[j])
            for node, own, by_c, by_s, flow in (
                (u, g[k] / square, -one, -two, p),
                (u, -(b[k] + charge[k]) / square, two, -one, q),
                (v, g[k], -back, forth, p_back),
                (v, -(b[k] + charge[k]), forth, back, q_back),
            ):
                # A product takes in what it is multiplied by, so each has its own.
                turned = by_c / square * u * v * c + by_s / square * u * v * s
                model.add_nl_constraint(own * node * node + turned - flow == 0.0)
        if np.isfinite(rating[k]):
            for r, w in ((p, q), (p_back, q_back)):
                model.add_quadratic_constraint(r * r + w * w, poi.Leq, rating[k] ** 2)
        model.add_linear_constraint(va[i] - va[j], (low[k], high[k]))
    for n, (load, shunt) in enumerate(
        zip(grid.load.T.tolist(), grid.shunt.T.tolist(), strict=True)
    ):
        for into, flow, flow_back, sign, part in (
            (pg, flows[0], flows[2], -1.0, 0),
            (qg, flows[1], flows[3], 1.0, 1),
        ):
            balance = poi.ExprBuilder(sign * shunt[part] * vm[n] * vm[n])
            for m in np.flatnonzero(grid.at == n).tolist():
                balance += into[m]
            for m in np.flatnonzero(grid.start == n).tolist():
                balance -= flow[m]
            for m in np.flatnonzero(grid.end == n).tolist():
                balance -= flow_back[m]
            model.add_quadratic_constraint(balance, poi.Eq, load[part])
    cost = poi.ExprBuilder()
    for m, (squared, plain, fixed) in enumerate(grid.cost.T.tolist()):
        cost += squared * pg[m] * pg[m] + plain * pg[m] + fixed
    model.set_objective(cost)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        options = {"print_level": 0, "sb": "yes", "output_file": str(log), "file_print_level": 5,
                   "print_timing_statistics": "yes"}  # fmt: skip
        for name, value in options.items():
            model.set_raw_parameter(name, value)
        model.optimize()
        total = time.perf_counter() - begin
        text = log.read_text()

    def said(pattern: str) -> float:
        [number] = re.findall(pattern + r"\.*:\s*([\d.]+)", text)
        return float(number)

    return {
        "evaluations in the solve / s": said("Function Evaluations"),
        "building and solve / s": total,
        "objective": model.get_value(cost),
        "iterations": said("Number of Iterations"),
    }


class Timed:
    """A problem whose evaluations are counted and timed."""

    def __init__(self, inner: Any) -> None:
        self._inner, self.seconds = inner, 0.0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name not in NAMES:
            return found

        def timed(*args: Any) -> Any:
            begin = time.perf_counter()
            try:
                return found(*args)
            finally:
                self.seconds += time.perf_counter() - begin

        return timed


def each(nlp: Any, repeat: int) -> dict[str, float]:
    """Return the best time of each function, in milliseconds; no two calls have the same x."""
    weights = np.linspace(0.5, 1.5, nlp.m)
    found = {}
    for name in NAMES:
        best = np.inf
        for k in range(repeat):
            x = nlp.x0 + 1e-3 * (k + 1)
            more = (weights, 1.0) if name == "hessian" else ()
            begin = time.perf_counter()
            getattr(nlp, name)(x, *more)
            best = min(best, time.perf_counter() - begin)
        found[name] = 1e3 * best
    return found


def measured(make: Callable[[], Any], repeat: int, solver: str | None) -> dict[str, float]:
    begin = time.perf_counter()
    nlp = make()
    for name in NAMES:
        getattr(nlp, name)(nlp.x0, *((np.ones(nlp.m), 1.0) if name == "hessian" else ()))
    built = time.perf_counter() - begin
    figures = {f"{name} / ms": t for name, t in each(nlp, repeat).items()}
    timed = Timed(nlp)
    begin = time.perf_counter()
    found = solve(timed, nlp.x0, None, solver, None, None)
    total = time.perf_counter() - begin
    return {
        "building / s": built,
        **figures,
        "evaluations in the solve / s": timed.seconds,
        "solve / s": total,
        "building and solve / s": built + total,
        "objective": found.fun,
        "iterations": found.nit,
    }


def checks() -> Checks:
    """Compare symgrad's derivatives with differences."""

    def check(file: Path) -> None:
        nlp = problem(read(file))
        x, weights = nlp.x0 + 1e-3, np.linspace(0.5, 1.5, nlp.m)

        def slope(x: Any) -> Any:
            jacobian = coo_array((nlp.jacobian(x), nlp.jacobianstructure()), (nlp.m, nlp.n))
            return nlp.gradient(x) + jacobian.T @ weights

        below = coo_array((nlp.hessian(x, weights, 1.0), nlp.hessianstructure()), (nlp.n, nlp.n))
        hessian = below + tril(below, -1).T
        along(lambda x: nlp.objective(x) + nlp.constraints(x) @ weights, [slope(x)], x)
        for v in np.random.default_rng(0).normal(size=(3, nlp.n)):
            along(lambda x, v=v: slope(x) @ v, [hessian @ v], x)

    return {file.stem: lambda f=file: check(f) for file in sorted(HERE.glob("*.m"))}  # type: ignore[misc]


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("paths", nargs="*", type=Path, default=[HERE])
    parser.add_argument("--solver", help="cyipopt, ipyopt or pounce")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    options = parser.parse_args()
    sg.set_num_threads(1)
    files = [f for p in options.paths for f in (sorted(p.glob("*.m")) if p.is_dir() else [p])]
    for file in files:
        grid = read(file)
        repeat = 3 if options.quick else 20
        ours = measured(lambda grid=grid: problem(grid), repeat, options.solver)
        like = problem(grid)
        peers: dict[str, Callable[[], dict[str, float]]] = {
            "CasADi": lambda grid=grid, like=like, repeat=repeat: measured(
                lambda: ByCasadi(grid, like), repeat, options.solver
            ),
            "PyOptInterface": lambda grid=grid, like=like: by_pyoptinterface(grid, like),
        }
        table = Table(title=f"{grid.name}: {len(grid.load[0])} buses")
        table.add_column()
        table.add_column("symgrad", justify="right")
        columns: list[dict[str, float]] = []
        for name, run in peers.items():
            try:
                columns.append(run())
            except ImportError as error:
                print(f"{name} is not run: {error}")
                continue
            for title in (name, "ratio"):
                table.add_column(title, justify="right")
        for name, value in ours.items():
            row = [name, f"{value:,.4f}"]
            for other in columns:
                there = name in other
                row.append(f"{other[name]:,.4f}" if there else "")
                row.append(f"{other[name] / value:.1f}" if there and " / " in name else "")
            table.add_row(*row)
        Console(width=110).print(table)


if __name__ == "__main__":
    main()
