"""Gradients through long loops: the Lorenz system, integrated by Runge and Kutta's method.

    python examples/benchmarks/lorenz.py [--quick]

The squared distance of the end point from the origin is differentiated by the start and the
three parameters. Beside symgrad's loop stands the adjoint as one writes it by hand for Numba:
forward with the states stored, backward with the stages computed again. Through 10,000 steps
both are timed; through 1,000,000 steps symgrad keeps within a given memory.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

import symgrad as sg

START, PARAMETERS = np.array([1.0, 1.0, 1.0]), (10.0, 28.0, 8.0 / 3.0)
SPAN = 1.0
STEPS, MANY, MEMORY = 10_000, 1_000_000, 100_000


# ---------------------------------------------------------------- symgrad


def velocity(state: Any, parameters: Any) -> Any:
    """The right-hand side of Lorenz' equations."""
    x, y, z = state
    sigma, rho, beta = parameters
    return sigma * (y - x), x * (rho - z) - y, x * y - beta * z


def step(state: Any, h: float, parameters: Any) -> Any:
    """One step of the classical method of fourth order."""

    def moved(slope: Any, by: float) -> Any:
        return tuple(a + by * b for a, b in zip(state, slope, strict=True))

    k1 = velocity(state, parameters)
    k2 = velocity(moved(k1, h / 2), parameters)
    k3 = velocity(moved(k2, h / 2), parameters)
    k4 = velocity(moved(k3, h), parameters)
    rows = zip(state, k1, k2, k3, k4, strict=True)
    return tuple(s + h / 6 * (a + 2 * b + 2 * c + d) for s, a, b, c, d in rows)


def distance(start: Any, parameters: Any, steps: int, memory: int | None = None) -> Any:
    """The squared distance of the end point from the origin."""
    h = SPAN / steps
    first = (start[0], start[1], start[2])
    last = sg.fori_loop(0, steps, lambda i, s: step(s, h, parameters), first, memory=memory)
    return sum(v * v for v in last)


# ---------------------------------------------------------------- by hand


@numba.njit(error_model="numpy")
def adjoint_by_hand(start: Any, sigma: float, rho: float, beta: float, steps: int) -> Any:
    """Value and gradient; the states are stored, the stages computed again."""
    h = SPAN / steps
    states = np.empty((steps + 1, 3))
    x, y, z = start[0], start[1], start[2]
    states[0, 0], states[0, 1], states[0, 2] = x, y, z
    for n in range(steps):
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
    ds = dr = db = 0.0
    for n in range(steps - 1, -1, -1):
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
    return value, u, v, w, ds, dr, db


# ---------------------------------------------------------------- measuring


def best(call: Callable[[], Any], repeats: int) -> float:
    """Return the shortest time of a call."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def flat(result: Any) -> Any:
    """Return value and gradient as one array."""
    value, (start, parameters) = result
    return np.array([value, *start, *parameters])


def peak() -> float:
    """Return the most memory that the process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Compare, then go far."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    repeats = 5 if parser.parse_args().quick else 200

    gradient = sg.value_and_grad(distance, argnums=(0, 1))
    begin = time.perf_counter()
    found = flat(gradient(START, PARAMETERS, STEPS))
    first = time.perf_counter() - begin
    expected = np.array(adjoint_by_hand(START, *PARAMETERS, STEPS))
    assert np.allclose(found, expected, rtol=1e-10), (found, expected)
    own = best(lambda: gradient(START, PARAMETERS, STEPS), repeats)
    hand = best(lambda: adjoint_by_hand(START, *PARAMETERS, STEPS), repeats)
    print(f"{STEPS:,} steps, value and gradient")
    print(f"  by hand, Numba    {hand * 1e3:8.3f} ms")
    print(f"  symgrad           {own * 1e3:8.3f} ms   {own / hand:.2f} times the time by hand")
    print(f"  its first call    {first * 1e3:8.0f} ms")

    limited = sg.value_and_grad(
        lambda start, parameters, steps: distance(start, parameters, steps, MEMORY),
        argnums=(0, 1),
    )
    before = peak()
    begin = time.perf_counter()
    result = flat(limited(START, PARAMETERS, MANY))
    first = time.perf_counter() - begin
    grown = peak() - before
    again = best(lambda: limited(START, PARAMETERS, MANY), 3)
    free = best(lambda: gradient(START, PARAMETERS, MANY), 3)
    assert np.allclose(result, flat(gradient(START, PARAMETERS, MANY)), rtol=1e-8)
    print(f"{MANY:,} steps within {MEMORY:,} bytes")
    print(f"  first call        {first:8.3f} s    of which it runs {again:.3f} s")
    print(f"  unlimited         {free:8.3f} s    with {MANY * 24 / 1e6:.0f} MB of states")
    print(f"  the process grew by {grown:.1f} MB, the compiler's memory included")


if __name__ == "__main__":
    main()
