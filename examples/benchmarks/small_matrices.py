"""Linear algebra of small matrices in hot calls, beside NumPy, SciPy and, if it is there, JAX.

    python examples/benchmarks/small_matrices.py [--quick]

Values, and values with gradients, of numbers that a function of a matrix gives: microseconds a
call, and how many times longer the others take. NumPy has no gradients: its time is that of the
value. ``threads`` is the processor time of other threads over that of the call: BLAS wakes its
own, which costs milliseconds where other processes have the cores (start some to see it).
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from _right import Checks, along, equal
from rich.console import Console
from rich.table import Table

import symgrad as sg

CASES: dict[str, Callable[..., Any]] = {
    "inv": lambda np, linalg, a: np.sum(np.linalg.inv(a) ** 2),
    "det": lambda np, linalg, a: np.linalg.det(a),
    "slogdet": lambda np, linalg, a: np.linalg.slogdet(a)[1],
    "solve, a vector": lambda np, linalg, a: np.sum(np.linalg.solve(a, a[0]) ** 2),
    "solve, a matrix": lambda np, linalg, a: np.sum(np.linalg.solve(a, a.T) ** 2),
    "solve_triangular": lambda np, linalg, a: np.sum(
        linalg.solve_triangular(a, a.T, lower=True) ** 2
    ),
    "cholesky": lambda np, linalg, a: np.sum(np.linalg.cholesky(a @ a.T)),
    "cho_solve": lambda np, linalg, a: np.sum(
        linalg.cho_solve(linalg.cho_factor(a @ a.T), a[0]) ** 2
    ),
    "qr": lambda np, linalg, a: np.sum(np.linalg.qr(a)[1] ** 3),
    "eigh": lambda np, linalg, a: np.sum(np.linalg.eigh(a + a.T)[0] ** 3),
    "svd": lambda np, linalg, a: np.sum(np.linalg.svd(a, full_matrices=False)[1] ** 3),
    "expm": lambda np, linalg, a: np.sum(linalg.expm(a / a.shape[0])),
    "products": lambda np, linalg, a: np.sum(a @ a.T @ a),
}


Maker = Callable[..., Callable[..., Any]]


def peers() -> dict[str, tuple[Maker, Maker]]:
    """Return how libraries make a function of a matrix that gives its value, and its gradient."""
    found: dict[str, tuple[Maker, Maker]] = {
        "NumPy": (lambda f: functools.partial(f, np, scipy.linalg),) * 2
    }
    if importlib.util.find_spec("jax"):
        import jax

        jax.config.update("jax_enable_x64", True)
        import jax.numpy as jnp
        import jax.scipy.linalg as jsl

        def jitted(f: Callable[..., Any], wrap: Callable[..., Any]) -> Callable[..., Any]:
            compiled = jax.jit(wrap(lambda a: f(jnp, jsl, a)))
            return lambda a: jax.block_until_ready(compiled(a))

        found["JAX"] = (
            lambda f: jitted(f, lambda g: g),
            lambda f: jitted(f, jax.value_and_grad),
        )
    return found


def looped(function: Callable[..., Any], a: Any, seconds: float) -> tuple[float, float]:
    """Return the seconds of one call, and those of other threads over them."""
    calls, own, all_threads = 0, time.thread_time(), time.process_time()
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        for _ in range(10):
            function(a)
        calls += 10
    took = time.perf_counter() - start
    others = time.process_time() - all_threads - (time.thread_time() - own)
    return took / calls, others / took


SIZES = (2, 3, 4, 8, 16, 32)


def checks() -> Checks:
    """Compare values with NumPy's and SciPy's, gradients with their differences."""

    def check(f: Callable[..., Any]) -> None:
        written, rng = functools.partial(f, np, scipy.linalg), np.random.default_rng(0)
        both = sg.value_and_grad(written)
        for n in SIZES:
            a = rng.standard_normal((n, n)) + 2 * n * np.eye(n)
            value, gradient = both(a)
            equal(value, written(a), 1e-11)
            along(written, [gradient], a, step=1e-3)

    return {name: lambda f=f: check(f) for name, f in CASES.items()}  # type: ignore[misc]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two functions, two sizes")
    quick = parser.parse_args().quick
    sizes, rounds, seconds = ((3, 8), 1, 1e-3) if quick else (SIZES, 7, 0.01)
    others = peers()
    table = Table("function", "n", "value, us", "threads", *(f"{p} takes" for p in others),
                  "with gradient, us", "threads", *(f"{p} takes" for p in others))  # fmt: skip
    rng = np.random.default_rng(0)
    for name, f in list(CASES.items())[: 2 if quick else None]:
        written = functools.partial(f, np, scipy.linalg)
        runs = [[own(written), *(makers[k](f) for makers in others.values())]
                for k, own in enumerate((sg.compile, sg.value_and_grad))]  # fmt: skip
        for n in sizes:
            a = rng.standard_normal((n, n)) + 2 * n * np.eye(n)
            row = []
            for functions in runs:
                for function in functions:
                    function(a)
                time.sleep(0.3)  # BLAS threads look for work for 2**28 cycles
                _, woken = looped(functions[0], a, seconds)
                times = [[looped(g, a, seconds)[0] for g in functions] for _ in range(rounds)]
                took, *theirs = map(min, zip(*times, strict=True))
                row += [f"{took * 1e6:.2f}", f"{max(0.0, woken):.1f}"]
                row += [f"{other / took:.1f} times" for other in theirs]
            table.add_row(name, str(n), *row)
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
