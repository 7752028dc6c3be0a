"""Gradients in compiled loops: kernels in Numba's code beside loops written by hand.

    python examples/benchmarks/inside_numba.py [--quick]

Rosenbrock's gradient of 10 variables, in two loops: added up at points that move a little, and
followed downhill. C is by hand (gcc -O3 -march=native), Numba with the statements written into
the loop. A program is for arrays of any size, or for 10 elements only (``dynamic=False``, and in
C a constant); JAX's always is. What is printed is the fastest of many turns: each loop is short.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
from _right import Checks
from rich.console import Console
from rich.table import Table
from stamps import stamp

import symgrad as sg

SIZE, STEPS = 10, 20_000
MOVE, RATE = 1e-7, 1e-4

SOURCE = """
#ifdef SIZE
#define n SIZE
#else
#define n size
#endif
static void gradient(const double *restrict x, double *restrict g, long size) {
    for (long i = 0; i < n; i++) g[i] = 0.0;
    for (long i = 0; i + 1 < n; i++) {
        double a = x[i + 1] - x[i] * x[i], b = 1.0 - x[i];
        g[i] -= 400.0 * a * x[i] + 2.0 * b;
        g[i + 1] += 200.0 * a;
    }
}
void total(const double *start, double *sum, long size, long steps, double move) {
    double x[n], g[n];
    for (long i = 0; i < n; i++) { x[i] = start[i]; sum[i] = 0.0; }
    for (long k = 0; k < steps; k++) {
        gradient(x, g, n);
        for (long i = 0; i < n; i++) sum[i] += g[i];
        x[k % n] += move;
    }
}
void descend(const double *start, double *x, long size, long steps, double rate) {
    double g[n];
    for (long i = 0; i < n; i++) x[i] = start[i];
    for (long k = 0; k < steps; k++) {
        gradient(x, g, n);
        for (long i = 0; i < n; i++) x[i] -= rate * g[i];
    }
}
"""

Loops = tuple[Callable[[Any], Any], Callable[[Any], Any]]


def rosen(np: Any, x: Any) -> Any:
    """Rosenbrock's function."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


gradient = sg.grad(lambda x: rosen(np, x))
fixed = sg.compile(gradient, dynamic=False)


def by_c(*options: str) -> Loops:
    """Return the loops of :data:`SOURCE`."""
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "loops.c"), Path(folder, "loops.so")
        source.write_text(SOURCE)
        command = ["gcc", "-O3", "-march=native", "-shared", "-fPIC", *options]
        subprocess.run([*command, str(source), "-o", str(made)], check=True)
        library = ctypes.CDLL(str(made))

    def call(function: Any, factor: float, x: Any) -> Any:
        out = np.empty(SIZE)
        pointers = (ctypes.c_void_p(a.ctypes.data) for a in (x, out))
        sizes = (ctypes.c_long(SIZE), ctypes.c_long(STEPS))
        function(*pointers, *sizes, ctypes.c_double(factor))
        return out

    return partial(call, library.total, MOVE), partial(call, library.descend, RATE)


def in_numba(into: Any) -> Loops:
    """Return loops of Numba around a function that writes the gradient into an array."""

    @numba.njit
    def total(start: Any) -> Any:
        x, sums, g = start.copy(), np.zeros_like(start), np.empty_like(start)
        for k in range(STEPS):
            into(x, g)
            for i in range(x.size):
                sums[i] += g[i]
            x[k % x.size] += MOVE
        return sums

    @numba.njit
    def descend(start: Any) -> Any:
        x, g = start.copy(), np.empty_like(start)
        for _ in range(STEPS):
            into(x, g)
            for i in range(x.size):
                x[i] -= RATE * g[i]
        return x

    return total, descend


@numba.njit(inline="always")
def by_hand(x: Any, g: Any) -> None:
    """Write the gradient, by statements that Numba copies into the loop."""
    for i in range(x.size):
        g[i] = 0.0
    for i in range(x.size - 1):
        a, b = x[i + 1] - x[i] * x[i], 1.0 - x[i]
        g[i] -= 400.0 * a * x[i] + 2.0 * b
        g[i + 1] += 200.0 * a


def in_symgrad(dynamic: bool) -> Loops:
    """Return ``sg.fori_loop`` around the gradient."""

    def moved(k: Any, carry: Any) -> Any:
        x, sums = carry
        sums = sums + gradient(x)
        x[k % SIZE] += MOVE
        return x, sums

    return (
        sg.compile(lambda x: sg.fori_loop(0, STEPS, moved, (x, 0.0 * x))[1], dynamic=dynamic),
        sg.compile(
            lambda x: sg.fori_loop(0, STEPS, lambda _, x: x - RATE * gradient(x), x),
            dynamic=dynamic,
        ),
    )


def in_jax() -> Loops:
    """Return JAX's ``fori_loop`` around its gradient."""
    import jax

    jax.config.update("jax_enable_x64", True)
    slope = jax.grad(partial(rosen, jax.numpy))

    def moved(k: Any, carry: Any) -> Any:
        x, sums = carry
        return x.at[k % SIZE].add(MOVE), sums + slope(x)

    total = jax.jit(lambda x: jax.lax.fori_loop(0, STEPS, moved, (x, 0.0 * x))[1])
    descend = jax.jit(lambda x: jax.lax.fori_loop(0, STEPS, lambda _, x: x - RATE * slope(x), x))
    return (lambda x: np.asarray(total(x))), (lambda x: np.asarray(descend(x)))


def every(start: Any) -> dict[str, Loops]:
    """Return all loops, whose results are equal."""
    loops: dict[str, Loops] = {}
    if shutil.which("gcc"):
        loops["C by hand"] = by_c()
        loops["C by hand, size 10"] = by_c(f"-DSIZE={SIZE}")
    loops["Numba by hand"] = in_numba(by_hand)
    loops["kernel_into"] = in_numba(gradient.kernel_into(start))
    loops["kernel_into, size 10"] = in_numba(fixed.kernel_into(start))
    loops["sg.fori_loop"] = in_symgrad(True)
    loops["sg.fori_loop, size 10"] = in_symgrad(False)
    if importlib.util.find_spec("jax"):
        loops["JAX's fori_loop"] = in_jax()

    results = [loop(start) for loop in loops["Numba by hand"]]
    for name, pair in loops.items():
        for loop, result in zip(pair, results, strict=True):
            np.testing.assert_allclose(loop(start), result, rtol=1e-9, err_msg=name)
    return loops


def checks() -> Checks:
    """Compare the loops."""
    return {"loops": lambda: every(np.linspace(-0.9, 1.2, SIZE)) and None}


def main() -> None:
    """Time the loops in turns and print them beside C's."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--quick", action="store_true", help="few turns")
    turns = 3 if options.parse_args().quick else 100

    start = np.linspace(-0.9, 1.2, SIZE)
    loops = every(start)
    best = dict.fromkeys(loops, (np.inf, np.inf))
    for _ in range(turns):
        for name, pair in loops.items():
            times = []
            for loop in pair:
                begin = time.perf_counter()
                loop(start)
                times.append((time.perf_counter() - begin) / STEPS)
            best[name] = tuple(map(min, best[name], times))

    first = next(iter(best))
    table = Table("loop around the gradient", box=None)
    for word in ("added up, ns a step", f"over {first}", "downhill, ns a step", f"over {first}"):
        table.add_column(word, justify="right")
    for name, times in best.items():
        cells = []
        for mine, reference in zip(times, best[first], strict=True):
            cells += [f"{mine * 1e9:.1f}", f"{mine / reference:.2f}"]
        table.add_row(name, *cells)
    Console(width=110).print(table)
    print(f"\n{stamp()}")


if __name__ == "__main__":
    main()
