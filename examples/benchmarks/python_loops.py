"""Time to the first gradient of Python loops over a grid, by the number of steps.

    python examples/benchmarks/python_loops.py [--quick] [--jax]

A Python loop is written out while a function is traced, and is found again in the program, as a
loop, from a length on. Just below it the program is longest. Three time steppings of a grid, the
loss at the end differentiated by the initial state: the heat equation, Burgers' equation with an
upwind difference, and the wave equation in two dimensions. JAX, if it is asked for, traces the
same functions (it leaves them written out). The last column is the first gradient over that of the
longest loop: a cliff would be a number far above 1 in a row above it.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import symgrad as sg

Step = Callable[[Any, Any, int], Any]


def heat(np: Any, u: Any, steps: int) -> Any:
    """Return the loss after steps of the heat equation."""
    for _ in range(steps):
        inside = u[1:-1] + 0.2 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u = np.concatenate([u[:1], inside, u[-1:]])
    return np.sum(u**2)


def burgers(np: Any, u: Any, steps: int) -> Any:
    """Return the loss after steps of Burgers' equation, upwind."""
    for _ in range(steps):
        left, right = np.roll(u, 1), np.roll(u, -1)
        slope = np.where(u > 0, u - left, right - u)
        u = u - 0.1 * u * slope + 0.01 * (right - 2.0 * u + left)
    return np.sum(u**2)


def wave(np: Any, u: Any, steps: int) -> Any:
    """Return the loss after steps of the wave equation on a square."""
    side = 16
    now = before = np.reshape(u, (side, side))
    for _ in range(steps):
        around = np.roll(now, 1, 0) + np.roll(now, -1, 0) + np.roll(now, 1, 1) + np.roll(now, -1, 1)
        now, before = 2.0 * now - before + 0.1 * (around - 4.0 * now), now
    return np.sum(now**2)


def of_symgrad(f: Step, u: Any, steps: int) -> tuple[float, float, Any]:
    """Return seconds to the first gradient, of a call after it, and the gradient."""
    return timed(sg.grad(lambda u: f(np, u, steps)), u)


def of_jax(f: Step, u: Any, steps: int) -> tuple[float, float, Any]:
    """Return the same of JAX."""
    import jax

    jax.config.update("jax_enable_x64", True)
    function = jax.jit(jax.grad(lambda u: f(jax.numpy, u, steps)))
    return timed(lambda u: np.asarray(function(u)), u)


def timed(function: Callable[[Any], Any], u: Any) -> tuple[float, float, Any]:
    start = time.perf_counter()
    gradient = function(u)
    first = time.perf_counter() - start
    calls = []
    for _ in range(5):
        start = time.perf_counter()
        function(u)
        calls.append(time.perf_counter() - start)
    return first, min(calls), gradient


def main() -> None:
    """Print the table."""
    os.environ["SYMGRAD_CACHE_DIR"] = ""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="short loops only")
    parser.add_argument("--jax", action="store_true", help="with JAX, which is slow to compile")
    given = parser.parse_args()
    lengths = (400, 200, 100, 50) if not given.quick else (40, 20)
    tools = {"symgrad": of_symgrad} | ({"jax": of_jax} if given.jax else {})
    of_symgrad(heat, np.ones(8), 2)  # the compiler's own start
    heads = ("equation", "steps", *(f"{t} {w}" for t in tools for w in ("first s", "call us")))
    print(" ".join(f"{h:>16}" for h in (*heads, "to the longest")))
    for name, f in {"heat": heat, "burgers": burgers, "wave": wave}.items():
        u = np.sin(np.linspace(0.0, 3.0, 256)) + 0.1
        longest = 0.0
        for steps in lengths:
            row = f"{name:>16} {steps:>16}"
            found = {t: run(f, u, steps) for t, run in tools.items()}
            for first, call, gradient in found.values():
                np.testing.assert_allclose(gradient, found["symgrad"][2], rtol=1e-8, atol=1e-10)
                row += f" {first:>16.2f} {call * 1e6:>16.1f}"
            longest = longest or found["symgrad"][0]
            print(f"{row} {found['symgrad'][0] / longest:>16.2f}", flush=True)


if __name__ == "__main__":
    main()
