"""Time from a NumPy function to its first compiled value and gradient, by program size.

    python examples/benchmarks/compile_time.py [--quick | --million]

Three programs: a chain of np.sin, a random graph of scalar operations (add, subtract,
multiply, sin, Gauss bell) on eight inputs, and Runge-Kutta steps of the Lorenz system in a
Python loop (some 70 operations each). Linear compile time shows as a constant last column; the
first and the last are loops again from 6,000 operations on, so that only tracing grows. One
small compilation beforehand keeps the start-up of LLVM out of the figures, and the disk cache
is off. Memory is the process's highest so far: ``--million`` measures a million operations
alone, ``--program`` one of the programs.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from _right import Checks, along, equal
from stamps import stamp

import symgrad as sg


def chain(length: int) -> Callable[[Any], Any]:
    """Return ``sin(sin(...sin(sum(x))))``."""

    def function(x: Any) -> Any:
        value = np.sum(x)
        for _ in range(length):
            value = np.sin(value)
        return value

    return function


def random_graph(length: int) -> Callable[[Any], Any]:
    """Return a random straight-line program; operands are among the last 30 values."""

    def function(x: Any) -> Any:
        rng = random.Random(0)
        values = [x[k] for k in range(8)]
        for _ in range(length):
            a, b = (values[-1 - rng.randrange(min(30, len(values)))] for _ in range(2))
            kind = rng.choice(("add", "subtract", "multiply", "sin", "bell"))
            if kind == "add":
                values.append(0.5 * (a + b))
            elif kind == "subtract":
                values.append(a - b)
            elif kind == "multiply":
                values.append(a * b)
            elif kind == "sin":
                values.append(np.sin(a))
            else:
                values.append(np.exp(-a * a))
        return values[-1]

    return function


def lorenz(length: int) -> Callable[[Any], Any]:
    """Return Runge-Kutta steps of the Lorenz system, as many as have ``length`` operations."""

    def slope(s: Any, p: Any) -> Any:
        x, y, z = s
        return p[0] * (y - x), x * (p[1] - z) - y, x * y - p[2] * z

    def along(s: Any, k: Any, h: float) -> Any:
        return [a + h * b for a, b in zip(s, k, strict=True)]

    def function(v: Any) -> Any:
        s, p, h = [v[0], v[1], v[2]], (v[3], v[4], v[5]), 1e-3
        for _ in range(length // 70):
            a = slope(s, p)
            b = slope(along(s, a, h / 2), p)
            c = slope(along(s, b, h / 2), p)
            d = slope(along(s, c, h), p)
            s = [x + h / 6 * (i + 2 * j + 2 * k + m)
                 for x, i, j, k, m in zip(s, a, b, c, d, strict=True)]  # fmt: skip
        return s[0] + s[1] * s[2]

    return function


def measure(function: Callable[[Any], Any]) -> tuple[int, float, float, float]:
    """Return steps, seconds for the program, for the kernel, and per call."""
    x = np.linspace(0.1, 0.9, 8)
    compiled = sg.value_and_grad(function)
    start = time.perf_counter()
    steps = len(compiled.program(x).steps)
    traced = time.perf_counter()
    value, gradient = compiled(x)
    ready = time.perf_counter()
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))
    repeats = []
    for _ in range(7):
        begin = time.perf_counter()
        compiled(x)
        repeats.append(time.perf_counter() - begin)
    return steps, traced - start, ready - traced, sorted(repeats)[3]


def checks() -> Checks:
    """Compare values with those of Python, gradients with differences."""

    def check(f: Callable[[Any], Any]) -> None:
        x = np.linspace(0.1, 0.9, 8)
        value, gradient = sg.value_and_grad(f)(x)
        equal(value, f(x), 1e-10)
        along(f, [gradient], x)

    makers = {"chain": chain, "random": random_graph, "lorenz": lorenz}
    return {f"{name}, {size}": lambda make=make, n=size: check(make(n))  # type: ignore[misc]
            for name, make in makers.items() for size in (1000, 10_000)}  # fmt: skip


def main() -> None:
    """Print the table."""
    os.environ["SYMGRAD_CACHE_DIR"] = ""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="small sizes only")
    options.add_argument("--million", action="store_true", help="a million operations only")
    options.add_argument("--program", choices=("chain", "random", "lorenz"), help="this one only")
    given = options.parse_args()
    sizes = (100, 1000) if given.quick else (1000, 10_000, 100_000)
    if given.million:
        sizes = (1_000_000,)
    measure(chain(10))
    heads = ("program", "ops", "steps", "trace s", "compile s", "call us", "s per 1000 ops", "GB")
    print(" ".join(f"{h:>14}" for h in heads))
    for name, make in (("chain", chain), ("random", random_graph), ("lorenz", lorenz)):
        if given.program not in (None, name):
            continue
        for size in sizes:
            steps, trace, compile_, call = measure(make(size))
            row = f"{name:>14} {size:>14} {steps:>14} {trace:>14.2f} {compile_:>14.2f}"
            each = (trace + compile_) / size * 1000
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            print(f"{row} {call * 1e6:>14.1f} {each:>14.3f} {memory:>14.2f}", flush=True)
    print(f"\n{stamp()}")


if __name__ == "__main__":
    main()
