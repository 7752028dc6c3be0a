"""Gradients through long loops: the Lorenz system, integrated by Runge and Kutta's method.

    python examples/benchmarks/lorenz.py [--quick]

The squared distance of the end point from the origin is differentiated by the start and the
three parameters. Beside the loops of symgrad and JAX stands the adjoint as one writes it by
hand: forward with the states stored, backward with the stages computed again. The largest case
also runs with a limit on what reverse mode keeps.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from harness import Aim, Case, Workload, compiled, main, pointer

SPAN = 1.0
LIMITED, BYTES = "in 100 kB", 100_000

SOURCE = """
#include <stdlib.h>
static inline void velocity(double s, double r, double b, const double *x, double *v) {
    v[0] = s * (x[1] - x[0]); v[1] = x[0] * (r - x[2]) - x[1]; v[2] = x[0] * x[1] - b * x[2];
}
/* out += the adjoint of velocity; slope: of its result, k: of its parameters */
static inline void back(double s, double r, double b, const double *x, const double *slope,
                        double *out, double *k) {
    out[0] = -s * slope[0] + (r - x[2]) * slope[1] + x[1] * slope[2];
    out[1] = s * slope[0] - slope[1] + x[0] * slope[2];
    out[2] = -x[0] * slope[1] - b * slope[2];
    k[0] += (x[1] - x[0]) * slope[0]; k[1] += x[0] * slope[1]; k[2] -= x[2] * slope[2];
}
double lorenz(const double *start, const double *k, const double *widths, long n, double *out) {
    const double share[4] = {0.0, 0.5, 0.5, 1.0}, weight[4] = {1.0, 2.0, 2.0, 1.0};
    double s = k[0], r = k[1], b = k[2], *x = malloc(sizeof(double) * 3 * (n + 1));
    double stage[4][3], v[4][3], u[3], p[3], slope[3];
    for (int i = 0; i < 3; i++) { x[i] = start[i]; out[3 + i] = 0.0; }
    for (long t = 0; t < n; t++) {
        double h = widths[t], *y = x + 3 * t;
        for (int j = 0; j < 4; j++) {
            for (int i = 0; i < 3; i++) stage[j][i] = y[i] + (j ? share[j] * h * v[j - 1][i] : 0);
            velocity(s, r, b, stage[j], v[j]);
        }
        for (int i = 0; i < 3; i++)
            y[3 + i] = y[i] + h / 6 * (v[0][i] + 2 * v[1][i] + 2 * v[2][i] + v[3][i]);
    }
    double *end = x + 3 * n, value = end[0] * end[0] + end[1] * end[1] + end[2] * end[2];
    for (int i = 0; i < 3; i++) u[i] = 2 * end[i];
    for (long t = n - 1; t >= 0; t--) {
        double h = widths[t], *y = x + 3 * t, total[3] = {u[0], u[1], u[2]};
        for (int j = 0; j < 4; j++) {
            for (int i = 0; i < 3; i++) stage[j][i] = y[i] + (j ? share[j] * h * v[j - 1][i] : 0);
            velocity(s, r, b, stage[j], v[j]);
        }
        for (int j = 3; j >= 0; j--) {
            for (int i = 0; i < 3; i++)
                slope[i] = h / 6 * weight[j] * u[i] + (j < 3 ? share[j + 1] * h * p[i] : 0.0);
            back(s, r, b, stage[j], slope, p, out + 3);
            for (int i = 0; i < 3; i++) total[i] += p[i];
        }
        for (int i = 0; i < 3; i++) u[i] = total[i];
    }
    for (int i = 0; i < 3; i++) out[i] = u[i];
    free(x);
    return value;
}
"""


def velocity(state: Any, parameters: Any) -> Any:
    """The right-hand side of Lorenz' equations."""
    x, y, z = state
    sigma, rho, beta = parameters
    return sigma * (y - x), x * (rho - z) - y, x * y - beta * z


def step(state: Any, h: Any, parameters: Any) -> Any:
    """One step of the classical method of fourth order."""

    def moved(slope: Any, by: Any) -> Any:
        return tuple(a + by * b for a, b in zip(state, slope, strict=True))

    k1 = velocity(state, parameters)
    k2 = velocity(moved(k1, h / 2), parameters)
    k3 = velocity(moved(k2, h / 2), parameters)
    k4 = velocity(moved(k3, h), parameters)
    rows = zip(state, k1, k2, k3, k4, strict=True)
    return tuple(s + h / 6 * (a + 2 * b + 2 * c + d) for s, a, b, c, d in rows)


def distance(np: Any, start: Any, parameters: Any, widths: Any) -> Any:
    """The squared distance of the end point from the origin, by a loop of Python."""
    state, parameters = tuple(start[k] for k in range(3)), tuple(parameters[k] for k in range(3))
    for k in range(len(widths)):
        state = step(state, widths[k], parameters)
    return sum(v * v for v in state)


def scanned(scan: Any, start: Any, parameters: Any, widths: Any) -> Any:
    """The same by a scan of symgrad or JAX, which have the same arguments."""
    first = (start[0], start[1], start[2])
    constants = (parameters[0], parameters[1], parameters[2])
    last, _ = scan(lambda state, h: (step(state, h, constants), None), first, widths)
    return sum(v * v for v in last)


def by_symgrad(np: Any, *given: Any) -> Any:
    """By its scan."""
    import symgrad as sg

    return scanned(sg.scan, *given)


def by_jax(np: Any, *given: Any) -> Any:
    """By its scan."""
    import jax

    return scanned(jax.lax.scan, *given)


def limited(case: Case, given: Any) -> Any:
    """Where the states may take some bytes only, parts of the loop run again."""
    import functools

    import symgrad as sg

    scan = functools.partial(sg.scan, memory=BYTES)
    return sg.value_and_grad(lambda *a: scanned(scan, *a), argnums=(0, 1)), given


def adjoint(start: Any, parameters: Any, widths: Any) -> Any:
    """Value and gradient; the states are stored, the stages computed again."""
    sigma, rho, beta = parameters[0], parameters[1], parameters[2]
    steps = len(widths)
    states = np.empty((steps + 1, 3), start.dtype)
    x, y, z = start[0], start[1], start[2]
    states[0, 0], states[0, 1], states[0, 2] = x, y, z
    for n in range(steps):
        h = widths[n]
        a1, b1, c1 = sigma * (y - x), x * (rho - z) - y, x * y - beta * z
        p, q, r = x + h / 2 * a1, y + h / 2 * b1, z + h / 2 * c1
        a2, b2, c2 = sigma * (q - p), p * (rho - r) - q, p * q - beta * r
        p, q, r = x + h / 2 * a2, y + h / 2 * b2, z + h / 2 * c2
        a3, b3, c3 = sigma * (q - p), p * (rho - r) - q, p * q - beta * r
        p, q, r = x + h * a3, y + h * b3, z + h * c3
        a4, b4, c4 = sigma * (q - p), p * (rho - r) - q, p * q - beta * r
        x += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        y += h / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
        z += h / 6 * (c1 + 2 * c2 + 2 * c3 + c4)
        states[n + 1, 0], states[n + 1, 1], states[n + 1, 2] = x, y, z
    value = x * x + y * y + z * z
    u, v, w = 2 * x, 2 * y, 2 * z
    ds = dr = db = 0.0 * x
    for n in range(steps - 1, -1, -1):
        h = widths[n]
        x, y, z = states[n, 0], states[n, 1], states[n, 2]
        a1, b1, c1 = sigma * (y - x), x * (rho - z) - y, x * y - beta * z
        x2, y2, z2 = x + h / 2 * a1, y + h / 2 * b1, z + h / 2 * c1
        a2, b2, c2 = sigma * (y2 - x2), x2 * (rho - z2) - y2, x2 * y2 - beta * z2
        x3, y3, z3 = x + h / 2 * a2, y + h / 2 * b2, z + h / 2 * c2
        a3, b3, c3 = sigma * (y3 - x3), x3 * (rho - z3) - y3, x3 * y3 - beta * z3
        x4, y4, z4 = x + h * a3, y + h * b3, z + h * c3
        k, m, o = h / 6 * u, h / 6 * v, h / 6 * w
        # Stage 4, then 3, 2, 1: cotangents of the stage's slope give those of its state.
        p = -sigma * k + (rho - z4) * m + y4 * o
        q = sigma * k - m + x4 * o
        r = -x4 * m - beta * o
        ds += (y4 - x4) * k
        dr += x4 * m
        db -= z4 * o
        nu, nv, nw = u + p, v + q, w + r
        k, m, o = h / 3 * u + h * p, h / 3 * v + h * q, h / 3 * w + h * r
        p = -sigma * k + (rho - z3) * m + y3 * o
        q = sigma * k - m + x3 * o
        r = -x3 * m - beta * o
        ds += (y3 - x3) * k
        dr += x3 * m
        db -= z3 * o
        nu, nv, nw = nu + p, nv + q, nw + r
        k, m, o = h / 3 * u + h / 2 * p, h / 3 * v + h / 2 * q, h / 3 * w + h / 2 * r
        p = -sigma * k + (rho - z2) * m + y2 * o
        q = sigma * k - m + x2 * o
        r = -x2 * m - beta * o
        ds += (y2 - x2) * k
        dr += x2 * m
        db -= z2 * o
        nu, nv, nw = nu + p, nv + q, nw + r
        k, m, o = h / 6 * u + h / 2 * p, h / 6 * v + h / 2 * q, h / 6 * w + h / 2 * r
        p = -sigma * k + (rho - z) * m + y * o
        q = sigma * k - m + x * o
        r = -x * m - beta * o
        ds += (y - x) * k
        dr += x * m
        db -= z * o
        u, v, w = nu + p, nv + q, nw + r
    return np.array([value, u, v, w, ds, dr, db])


def arguments(case: Case) -> tuple[Any, ...]:
    """Start, parameters and the widths of the steps."""
    widths = np.full(case.size, SPAN / case.size)
    return np.array([1.0, 1.0, 1.0]), np.array([10.0, 28.0, 8.0 / 3.0]), widths


def exact(case: Case, *given: Any) -> Any:
    """The adjoint in long doubles; of many steps, of so many that more change nothing."""
    start, parameters, widths = (a.astype(np.longdouble) for a in given)
    if case.size > 20_000:
        widths = np.full(20_000, widths[0] * case.size / 20_000)
    return adjoint(start, parameters, widths)


def by_numba(case: Case, given: Any) -> Any:
    """The adjoint, compiled."""
    import numba

    return numba.njit(adjoint, error_model="numpy"), given


def by_c(case: Case, given: Any) -> Any:
    """The adjoint in C."""
    import ctypes

    function, slopes = compiled(SOURCE, "lorenz"), np.empty(6)
    fixed = (*map(pointer, given), ctypes.c_long(case.size), pointer(slopes))
    return (lambda: (function(*fixed), slopes)), ()


def no_loops(peer: str) -> str:
    """Why a peer does not take part."""
    return f"{peer} has no loop that it differentiates by a reverse mode"


WORKLOAD = Workload(
    name="lorenz",
    title="Runge-Kutta steps of the Lorenz system, value and gradient",
    kind="gradient",
    cases=(
        Case(100, quick=True),
        Case(10_000),
        Case(1_000_000),
        Case(1_000_000, variant=LIMITED),
    ),
    arguments=arguments,
    exact=exact,
    function=distance,
    formulations={"symgrad": by_symgrad, "jax": by_jax},
    argnums=(0, 1),
    hand={
        "numba": by_numba,
        "C": by_c,
        f"symgrad/{LIMITED}": limited,
        f"numba/{LIMITED}": by_numba,
    },
    without={peer: no_loops(peer) for peer in ("pytensor", "sympy", "symengine", "heyoka")},
    aims=(
        Aim("10,000", ("numba", "C"), 1 / 1.5),
        Aim("1,000,000", ("numba", "C"), 1 / 1.5),
        Aim("10,000", ("jax",), 10.0),
        Aim("10,000", ("torch",), 1000.0),
        Aim(f"1,000,000 {LIMITED}", ("numba",), 1 / 3),
    ),
)

if __name__ == "__main__":
    sys.exit(main(name="lorenz"))
