"""Sparse Jacobians and Hessians: first and repeated values beside those of others.

    python examples/benchmarks/sparse.py [--quick] [--only NAME] [--sizes] [FOLDER]

The problems are stencils, a chain, a loop that carries an array, and power flow on the networks in
FOLDER, files of PGLib-OPF in MATPOWER's format (CC BY 4.0, https://github.com/power-grid-lib/pglib-opf).
The peers are those that are installed: loops by hand in Numba, CasADi, asdex on JAX. All run on one
thread; each line has the time until the first values, the best of repeated ones into given memory,
and the ratio to symgrad. Values are compared. ``--sizes`` has symgrad alone, with every problem of
about 10,000, 100,000 and 1,000,000 unknowns (networks are so many copies of one): the time an
entry, in nanoseconds, and how often the values were compiled.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import numpy as np  # noqa: E402
from _right import Checks, equal  # noqa: E402

Values = Callable[[], Any]


@dataclass(frozen=True)
class Problem:
    """A function ``f(np, x, *data)``, the point, and Numba's loops over its derivative.

    ``hand(x, *data, out)`` writes the values in the order of the rows, then of the columns.
    """

    name: str
    f: Callable[..., Any]
    x: Any
    data: tuple[Any, ...] = ()
    hessian: bool = False
    hand: Callable[..., Any] | None = None


# ---------------------------------------------------------------- the problems


def brusselator(np: Any, x: Any) -> Any:
    """Two species on a line, between fixed ends (Hairer, Wanner, Solving ODEs II, IV.10)."""
    n = x.shape[0] // 2
    u, v = x[:n], x[n:]
    k = 0.02 * (n + 1) ** 2
    left = np.concatenate((u[:1] * 0.0 + 1.0, u[:-1])), np.concatenate((v[:1] * 0.0 + 3.0, v[:-1]))
    right = np.concatenate((u[1:], u[:1] * 0.0 + 1.0)), np.concatenate((v[1:], v[:1] * 0.0 + 3.0))
    return np.concatenate(
        (
            1.0 + u * u * v - 4.0 * u + k * (left[0] - 2.0 * u + right[0]),
            3.0 * u - u * u * v + k * (left[1] - 2.0 * v + right[1]),
        )
    )


def brusselator_hand(x: Any, out: Any) -> None:
    n = x.size // 2
    k = 0.02 * (n + 1) ** 2
    p = 0
    for i in range(n):
        if i > 0:
            out[p] = k
            p += 1
        out[p] = 2.0 * x[i] * x[n + i] - 4.0 - 2.0 * k
        p += 1
        if i < n - 1:
            out[p] = k
            p += 1
        out[p] = x[i] * x[i]
        p += 1
    for i in range(n):
        out[p] = 3.0 - 2.0 * x[i] * x[n + i]
        p += 1
        if i > 0:
            out[p] = k
            p += 1
        out[p] = -x[i] * x[i] - 2.0 * k
        p += 1
        if i < n - 1:
            out[p] = k
            p += 1


def plane(np: Any, x: Any) -> Any:
    """The Brusselator on a square, with no flow at its border; x is (2, n, n)."""
    u, v = x[0], x[1]

    def flow(w: Any) -> Any:
        down = np.concatenate((w[:1, :], w, w[-1:, :]))
        along = np.concatenate((w[:, :1], w, w[:, -1:]), axis=1)
        return down[2:, :] + down[:-2, :] + along[:, 2:] + along[:, :-2] - 4.0 * w

    one = 1.0 + u * u * v - 4.4 * u + 0.1 * flow(u)
    return np.stack((one, 3.4 * u - u * u * v + 0.1 * flow(v)))


def plane_hand(x: Any, out: Any) -> None:
    n = x.shape[1]
    p = 0
    for s in range(2):
        for i in range(n):
            for j in range(n):
                u, v = x[0, i, j], x[1, i, j]
                if s == 1:
                    out[p] = 3.4 - 2.0 * u * v
                    p += 1
                if i > 0:
                    out[p] = 0.1
                    p += 1
                if j > 0:
                    out[p] = 0.1
                    p += 1
                border = (i == 0) + (i == n - 1) + (j == 0) + (j == n - 1)
                own = 2.0 * u * v - 4.4 if s == 0 else -u * u
                out[p] = own - 0.1 * (4 - border)
                p += 1
                if j < n - 1:
                    out[p] = 0.1
                    p += 1
                if i < n - 1:
                    out[p] = 0.1
                    p += 1
                if s == 0:
                    out[p] = u * u
                    p += 1


def diffusion(np: Any, x: Any, k: Any) -> Any:
    """Diffusion with a coefficient at each point, and a cubic sink; the border is fixed."""
    n, m = k.shape
    u = np.pad(np.reshape(x, (n, m)), 1)
    c = np.pad(k, 1, mode="edge")
    mid, own = c[1:-1, 1:-1], u[1:-1, 1:-1]
    flow = (
        (mid + c[2:, 1:-1]) * (u[2:, 1:-1] - own)
        + (mid + c[:-2, 1:-1]) * (u[:-2, 1:-1] - own)
        + (mid + c[1:-1, 2:]) * (u[1:-1, 2:] - own)
        + (mid + c[1:-1, :-2]) * (u[1:-1, :-2] - own)
    )
    return np.reshape(0.5 * flow - own**3, (n * m,))


def diffusion_hand(x: Any, k: Any, out: Any) -> None:
    n, m = k.shape
    p = 0
    for i in range(n):
        for j in range(m):
            c = k[i, j]
            up, down = k[max(i - 1, 0), j], k[min(i + 1, n - 1), j]
            left, right = k[i, max(j - 1, 0)], k[i, min(j + 1, m - 1)]
            if i > 0:
                out[p] = 0.5 * (c + up)
                p += 1
            if j > 0:
                out[p] = 0.5 * (c + left)
                p += 1
            own = x[i * m + j]
            out[p] = -0.5 * (4.0 * c + up + down + left + right) - 3.0 * own * own
            p += 1
            if j < m - 1:
                out[p] = 0.5 * (c + right)
                p += 1
            if i < n - 1:
                out[p] = 0.5 * (c + down)
                p += 1


def rosenbrock(np: Any, x: Any) -> Any:
    """A chain of valleys."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def rosenbrock_hand(x: Any, out: Any) -> None:
    n, p = x.size, 0
    for i in range(n):
        if i > 0:
            out[p] = -400.0 * x[i - 1]
            p += 1
        own = 0.0
        if i < n - 1:
            own += 1200.0 * x[i] * x[i] - 400.0 * x[i + 1] + 2.0
        if i > 0:
            own += 200.0
        out[p] = own
        p += 1
        if i < n - 1:
            out[p] = -400.0 * x[i]
            p += 1


def cragg_levy(np: Any, x: Any) -> Any:
    """The chained Cragg-Levy function, of Luksan and Vlcek's collection (tan by sin and cos)."""
    a, b, c, d = x[:-3:2], x[1:-2:2], x[2:-1:2], x[3::2]
    t = np.sin(c - d) / np.cos(c - d) + c - d
    return np.sum((np.exp(a) - b) ** 4 + 100.0 * (b - c) ** 6 + t**4 + a**8 + (d - 1.0) ** 2)


#: Hock and Schittkowski's problems 46 to 53: the objective of five variables, the constraints.
CHAINED: dict[int, tuple[Callable[..., Any], tuple[Callable[..., Any], ...]]] = {
    46: (
        lambda np, a, b, c, d, e: (a - b) ** 2 + (c - 1.0) ** 2 + (d - 1.0) ** 4 + (e - 1.0) ** 6,
        (
            lambda np, a, b, c, d, e: a**2 * d + np.sin(d - e) - 1.0,
            lambda np, a, b, c, d, e: b + c**4 * d**2 - 2.0,
        ),
    ),
    47: (
        lambda np, a, b, c, d, e: (a - b) ** 2 + (b - c) ** 2 + (c - d) ** 4 + (d - e) ** 4,
        (
            lambda np, a, b, c, d, e: a + b**2 + c**3 - 3.0,
            lambda np, a, b, c, d, e: b - c**2 + d - 1.0,
            lambda np, a, b, c, d, e: a * e - 1.0,
        ),
    ),
    48: (
        lambda np, a, b, c, d, e: (a - 1.0) ** 2 + (b - c) ** 2 + (d - e) ** 4,
        (
            lambda np, a, b, c, d, e: a + b**2 + c + d + e - 5.0,
            lambda np, a, b, c, d, e: c**2 - 2.0 * (d + e) + 3.0,
        ),
    ),
    49: (
        lambda np, a, b, c, d, e: (a - b) ** 2 + (c - 1.0) ** 2 + (d - 1.0) ** 4 + (e - 1.0) ** 6,
        (
            lambda np, a, b, c, d, e: a**2 + b + c + 4.0 * d - 7.0,
            lambda np, a, b, c, d, e: c**2 + 5.0 * e - 6.0,
        ),
    ),
    50: (
        lambda np, a, b, c, d, e: (a - b) ** 2 + (b - c) ** 2 + (c - d) ** 4 + (d - e) ** 2,
        (
            lambda np, a, b, c, d, e: a**2 + 2.0 * b + 3.0 * c - 6.0,
            lambda np, a, b, c, d, e: b**2 + 2.0 * c + 3.0 * d - 6.0,
            lambda np, a, b, c, d, e: c**2 + 2.0 * d + 3.0 * e - 6.0,
        ),
    ),
    51: (
        lambda np, a, b, c, d, e: (
            (a - b) ** 4 + (b + c - 2.0) ** 2 + (d - 1.0) ** 2 + (e - 1.0) ** 2
        ),
        (
            lambda np, a, b, c, d, e: a**2 + 3.0 * b - 4.0,
            lambda np, a, b, c, d, e: c**2 + d - 2.0 * e,
            lambda np, a, b, c, d, e: b**2 - e,
        ),
    ),
    52: (
        lambda np, a, b, c, d, e: (
            (4.0 * a - b) ** 2 + (b + c - 2.0) ** 4 + (d - 1.0) ** 2 + (e - 1.0) ** 2
        ),
        (
            lambda np, a, b, c, d, e: a**2 + 3.0 * b,
            lambda np, a, b, c, d, e: c**2 + d - 2.0 * e,
            lambda np, a, b, c, d, e: b**2 - e,
        ),
    ),
    53: (
        lambda np, a, b, c, d, e: (
            (a - b) ** 4 + (b + c - 2.0) ** 2 + (d - 1.0) ** 2 + (e - 1.0) ** 2
        ),
        (
            lambda np, a, b, c, d, e: a**2 + 3.0 * b,
            lambda np, a, b, c, d, e: c**2 + d - 2.0 * e,
            lambda np, a, b, c, d, e: b**2 - e,
        ),
    ),
}


@dataclass(frozen=True)
class Lagrangian:
    """A chained problem in the manner of Luksan and Vlcek (Report V-767, Prague 1999).

    Each three variables begin another group of five; the multipliers are ones.
    """

    number: int

    def __call__(self, np: Any, x: Any) -> Any:
        objective, constraints = CHAINED[self.number]
        count = (x.shape[0] - 2) // 3
        group = [x[k : k + 3 * count - 2 : 3] for k in range(5)]
        total = np.sum(objective(np, *group))
        for constraint in constraints:
            total = total + np.sum(constraint(np, *group))
        return total


def flows(np: Any, x: Any, start: Any, end: Any, lines: Any) -> Any:
    """Active and reactive power into each branch at both of its ends; x is angles, magnitudes."""
    n = x.shape[0] // 2
    va, vb, ma, mb = x[start], x[end], x[n + start], x[n + end]
    g, b, charge, tap, shift = (lines[k] for k in range(5))
    re, im = tap * np.cos(shift), tap * np.sin(shift)
    c, s, t2, mm = np.cos(va - vb), np.sin(va - vb), tap * tap, ma * mb
    return np.concatenate(
        (
            g / t2 * ma**2 + (b * im - g * re) / t2 * mm * c - (b * re + g * im) / t2 * mm * s,
            -(b + charge) / t2 * ma**2
            + (b * re + g * im) / t2 * mm * c
            + (b * im - g * re) / t2 * mm * s,
            g * mb**2 - (g * re + b * im) / t2 * mm * c - (g * im - b * re) / t2 * mm * s,
            -(b + charge) * mb**2
            + (b * re - g * im) / t2 * mm * c
            + (g * re + b * im) / t2 * mm * s,
        )
    )


def flows_hand(x: Any, start: Any, end: Any, lines: Any, out: Any) -> None:
    n, count = x.size // 2, start.size
    for k in range(count):
        i, j = start[k], end[k]
        ma, mb = x[n + i], x[n + j]
        g, b, charge, tap, shift = lines[0, k], lines[1, k], lines[2, k], lines[3, k], lines[4, k]
        re, im = tap * np.cos(shift), tap * np.sin(shift)
        c, s, t2 = np.cos(x[i] - x[j]), np.sin(x[i] - x[j]), tap * tap
        for r in range(4):
            if r == 0:
                q, w, own, at = (b * im - g * re) / t2, -(b * re + g * im) / t2, g / t2, 0
            elif r == 1:
                q, w, at = (b * re + g * im) / t2, (b * im - g * re) / t2, 0
                own = -(b + charge) / t2
            elif r == 2:
                q, w, own, at = -(g * re + b * im) / t2, -(g * im - b * re) / t2, g, 1
            else:
                q, w, at = (b * re - g * im) / t2, (g * re + b * im) / t2, 1
                own = -(b + charge)
            turn, base = ma * mb * (w * c - q * s), q * c + w * s
            by_a = base * mb + (2.0 * own * ma if at == 0 else 0.0)
            by_b = base * ma + (2.0 * own * mb if at == 1 else 0.0)
            p = 4 * (r * count + k)
            first, second = (0, 1) if i < j else (1, 0)
            out[p + first], out[p + second] = turn, -turn
            out[p + 2 + first], out[p + 2 + second] = by_a, by_b


def nothing(x: Any, out: Any) -> None:
    out[0] = x[0]


def network(file: Path, unknowns: int = 0) -> Problem:
    """Return the flows of a network in MATPOWER's format, or of copies with so many unknowns."""
    text = file.read_text()

    def table(name: str) -> Any:
        found = re.search(rf"mpc\.{name} = \[(.*?)\];", text, re.DOTALL)
        assert found is not None, f"{file} has no table {name}"
        rows = [row.split("%")[0].replace(";", " ").split() for row in found[1].splitlines()]
        return np.array([row for row in rows if row], float)

    bus, branch = table("bus"), table("branch")
    branch = branch[branch[:, 10] > 0]
    number = {int(k): i for i, k in enumerate(bus[:, 0])}
    start, end = (np.array([number[int(k)] for k in branch[:, c]]) for c in (0, 1))
    y = 1.0 / (branch[:, 2] + 1j * branch[:, 3])
    tap = np.where(branch[:, 8] == 0, 1.0, branch[:, 8])
    lines = np.stack([y.real, y.imag, 0.5 * branch[:, 4], tap, np.deg2rad(branch[:, 9])])
    copies, buses = max(1, round(unknowns / 2 / len(bus))), len(bus)
    start, end = (np.add.outer(buses * np.arange(copies), k).ravel() for k in (start, end))
    rng = np.random.default_rng(0)
    sides = rng.normal(0, 0.1, copies * buses), rng.uniform(0.95, 1.05, copies * buses)
    data = (start, end, np.tile(lines, (1, copies)))
    return Problem(f"power flow, {buses} buses", flows, np.concatenate(sides), data,
                   hand=flows_hand)  # fmt: skip


def stepper(np: Any, u: Any) -> Any:
    """Five steps of a reaction that spreads along a line, in a loop that carries the array."""

    def step(_: Any, u: Any) -> Any:
        inner = u[1:-1] + 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2]) - 0.01 * u[1:-1] ** 3
        return np.concatenate((u[:1], inner, u[-1:]))

    name = getattr(np, "__name__", "")
    if name == "numpy":
        import symgrad as sg

        return sg.fori_loop(0, 5, step, u)
    if name == "jax.numpy":
        import jax

        return jax.lax.fori_loop(0, 5, step, u)
    for k in range(5):
        u = step(k, u)
    return u


def problems(folder: Path | None, unknowns: int = 0) -> Iterator[Problem]:
    """Yield the problems, or those of about so many unknowns."""
    rng = np.random.default_rng(1)
    n = unknowns // 2 or 5000
    x = rng.uniform(1, 3, 2 * n)
    yield Problem(f"brusselator {n}", brusselator, x, hand=brusselator_hand)
    n = round((unknowns / 2) ** 0.5) or 256
    x = rng.uniform(1, 3, (2, n, n))
    yield Problem(f"brusselator {n} x {n}", plane, x, hand=plane_hand)
    n = round(unknowns**0.5) or 200
    k, x = rng.uniform(1, 2, (n, n)), rng.normal(size=n * n)
    yield Problem(f"diffusion {n} x {n}", diffusion, x, (k,), hand=diffusion_hand)
    n = unknowns or 1000
    x = rng.normal(size=n)
    yield Problem(f"rosenbrock {n}", rosenbrock, x, (), True, rosenbrock_hand)
    n = unknowns or 10_000
    yield Problem(f"cragg-levy {n}", cragg_levy, 0.1 * rng.normal(size=n), (), True)
    yield Problem(f"stepper {n}", stepper, rng.uniform(0, 1, n))
    n = 3 * ((n - 2) // 3) + 2
    x = rng.uniform(0.5, 1.5, n)
    for number in CHAINED:
        yield Problem(f"chained {number}, {n}", Lagrangian(number), x, (), True)
    for file in sorted(folder.glob("*.m"), key=lambda f: f.stat().st_size) if folder else ():
        if re.search(r"case(118|1354|10000)_", file.name):
            yield network(file, unknowns)


# ---------------------------------------------------------------- the peers


def by_symgrad(problem: Problem) -> tuple[Values, Callable[[], Any]]:
    """The plain function, with the pattern found by itself."""
    import symgrad as sg

    make, f = sg.hessian if problem.hessian else sg.jacobian, problem.f
    function = make(lambda x, *data: f(np, x, *data), sparse=True)
    matrix = function(problem.x, *problem.data)
    out = np.empty(matrix.nnz)
    return (lambda: function.values(problem.x, *problem.data, out=out)), lambda: matrix


def by_numba(problem: Problem) -> tuple[Values, Callable[[], Any]] | None:
    """A loop over the entries, written by hand."""
    import numba

    if problem.hand is None:
        return None
    function = numba.njit(problem.hand)
    out = np.zeros(40 * problem.x.size + 64)
    function(problem.x, *problem.data, out)
    return (lambda: (function(problem.x, *problem.data, out), out)[1]), lambda: None


class CasADi:
    """NumPy's functions of its symbols."""

    def __init__(self) -> None:
        import casadi as ca

        self.ca = ca
        self.sin, self.cos, self.exp = ca.sin, ca.cos, ca.exp

    def concatenate(self, parts: Any, axis: int = 0) -> Any:
        return (self.ca.horzcat if axis else self.ca.vertcat)(*parts)

    def sum(self, x: Any) -> Any:
        return self.ca.sum1(x)

    def reshape(self, x: Any, shape: Any) -> Any:  # in C order
        rows, columns = shape if len(shape) == 2 else (x.shape[1], x.shape[0])
        turned = self.ca.reshape(x if len(shape) == 2 else x.T, columns, rows).T
        return turned if len(shape) == 2 else self.ca.reshape(x.T, -1, 1)

    def pad(self, x: Any, width: int, mode: str = "") -> Any:
        if mode == "edge":
            return np.pad(x, width, mode="edge")
        return self.ca.diagcat(self.ca.SX(1, 1), x, self.ca.SX(1, 1))

    def stack(self, parts: Any) -> Any:
        return self.ca.vertcat(*(self.ca.reshape(p.T, -1, 1) for p in parts))


class Split:
    """An argument of two planes."""

    def __init__(self, parts: Any) -> None:
        self.parts = parts

    def __getitem__(self, k: int) -> Any:
        return self.parts[k]


def by_casadi(problem: Problem) -> tuple[Values, Callable[[], Any]]:
    """An expression for each element, and its derivative's own."""
    import casadi as ca

    names = CasADi()
    x = ca.SX.sym("x", problem.x.size)
    given: Any = x
    if problem.x.ndim == 3:
        half, n = problem.x.size // 2, problem.x.shape[1]
        given = Split([ca.reshape(x[:half], n, n).T, ca.reshape(x[half:], n, n).T])
    data = [d.tolist() if d.dtype.kind == "i" else d for d in problem.data]
    if problem.f is flows:
        data[0], data[1] = _Places(data[0]), _Places(data[1])
        data[2] = [ca.DM(row) for row in data[2]]
    y = problem.f(names, given, *data)
    expression = ca.hessian(y, x)[0] if problem.hessian else ca.jacobian(y, x)
    function = ca.Function("f", [x], [expression])
    buffer, run = function.buffer()
    out, flat = np.zeros(expression.nnz()), np.ascontiguousarray(problem.x.ravel())
    buffer.set_arg(0, memoryview(flat))
    buffer.set_res(0, memoryview(out))
    run()

    def matrix() -> Any:
        from scipy.sparse import csc_array

        sparsity = expression.sparsity()
        return csc_array((out, sparsity.row(), sparsity.colind()), shape=expression.shape)

    return (lambda: (run(), buffer, out)[2]), matrix


class _Places(list):  # type: ignore[type-arg]
    """Positions, to which a number can be added."""

    def __radd__(self, number: int) -> Any:
        return [number + k for k in self]


def by_asdex(problem: Problem) -> tuple[Values, Callable[[], Any]]:
    """JAX in as many passes as there are colours."""
    import asdex
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    data = tuple(map(jnp.asarray, problem.data))
    make = asdex.hessian if problem.hessian else asdex.jacobian
    x = jnp.asarray(problem.x)
    function = jax.jit(make(lambda x: problem.f(jnp, x, *data), x))
    function(x).data.block_until_ready()
    return (lambda: function(x).data.block_until_ready()), lambda: None


PEERS: dict[str, Callable[[Problem], Any]] = {
    "symgrad": by_symgrad,
    "Numba by hand": by_numba,
    "CasADi": by_casadi,
    "asdex": by_asdex,
}


# ---------------------------------------------------------------- the run


def best(call: Values) -> float:
    """Return the shortest time of a call, in microseconds."""
    call()
    found = np.inf
    until = time.perf_counter() + 1.0
    while time.perf_counter() < until:
        begin = time.perf_counter()
        call()
        found = min(found, time.perf_counter() - begin)
    return 1e6 * float(found)


def checks() -> Checks:
    """Compare with the loops by hand, or along directions with differences."""

    def check(problem: Problem) -> None:
        call, matrix = by_symgrad(problem)
        values, whole = call(), matrix()
        equal(values, whole.data, 0.0)
        if hand := by_numba(problem):
            equal(values, hand[0]()[: whole.nnz], 1e-9)
        f, x = problem.f, np.asarray(problem.x, np.longdouble)
        if problem.f is stepper:
            f = lambda _, u: stepper(_Plain(), u)  # noqa: E731
        along = np.random.default_rng(0).normal(size=x.size)
        h, product = np.longdouble(1e-4), whole @ along
        near, far = (f(np, x + s * h * along.reshape(x.shape), *problem.data) for s in (1, -1))
        if problem.hessian:
            wanted = (near - 2 * f(np, x, *problem.data) + far) / h**2
            equal(along @ product, wanted, 1e-4)
        else:
            equal(product, np.ravel(near - far) / (2 * h), 1e-5)

    return {problem.name: lambda p=problem: check(p) for problem in problems(None)}  # type: ignore[misc]


class _Plain:
    """NumPy under no name: loops are Python's."""

    concatenate = staticmethod(np.concatenate)


def by_size(folder: Path | None, only: str) -> None:
    """Print what an entry takes of problems of three sizes, and how often each is compiled."""
    import symgrad as sg

    sizes = 10_000, 100_000, 1_000_000
    print(f"{'ns an entry, for unknowns':32}" + "".join(f"{n:12,}" for n in sizes))
    for family in zip(*(problems(folder, n) for n in sizes), strict=True):
        if only not in family[0].name:
            continue
        first = family[0]
        make, f = sg.hessian if first.hessian else sg.jacobian, first.f
        function = make(lambda x, *data, f=f: f(np, x, *data), sparse=True)
        line = f"{first.name:32}"
        for problem in family:
            data = function.values(problem.x, *problem.data)
            call = functools.partial(function.values, problem.x, *problem.data, out=data)
            line += f"{1e3 * best(call) / data.size:12.2f}"
        print(f"{line}   compiled {function.traces}")


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="problems and peers whose names have this")
    parser.add_argument("--quick", action="store_true", help="up to 2,000 unknowns")
    parser.add_argument("--sizes", action="store_true", help="three sizes of each, symgrad alone")
    parser.add_argument("folder", nargs="?", type=Path, help="files of PGLib-OPF")
    chosen = parser.parse_args()
    if chosen.sizes:
        by_size(chosen.folder, chosen.only)
        return
    for peer in PEERS.values():  # what is imported and started once is no problem's
        with contextlib.suppress(ImportError):
            peer(Problem("", lambda np, x: np.sin(x[1:]) * x[:-1], np.ones(8), hand=nothing))
    for problem in problems(chosen.folder):
        if chosen.only not in problem.name or (chosen.quick and np.size(problem.x) > 2000):
            continue
        wanted = own = None
        for name, peer in PEERS.items():
            begin = time.perf_counter()
            try:
                made = peer(problem)
            except Exception as error:  # noqa: BLE001
                print(f"{problem.name:24} {name:14} not run: {type(error).__name__}: {error}"[:120])
                continue
            if made is None:
                continue
            call, matrix = made
            first = time.perf_counter() - begin
            often = best(call)
            if wanted is None:
                wanted, own = matrix(), often
                print(f"{problem.name:24} {wanted.shape}, {wanted.nnz} entries")
            elif name == "Numba by hand":
                np.testing.assert_allclose(call()[: wanted.nnz], wanted.data, rtol=1e-9, atol=1e-9)
            elif (other := matrix()) is not None:
                assert abs(other - wanted).max() < 1e-9 * abs(wanted).max(), name
            assert own is not None
            print(
                f"    {name:14} first {first:8.2f} s   then {often:10.1f} us   {often / own:8.2f}"
            )


if __name__ == "__main__":
    main()
