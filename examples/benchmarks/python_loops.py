"""Python loops: over index lists, beside arrays; and over a grid, by the number of steps.

    python examples/benchmarks/python_loops.py [--quick] [--jax] [--only lists | grids]

Loops over edges, bars, buses and terms, as people write them for CasADi, AMPL or Pyomo, with index
lists as arrays and as Python's lists: entries of the sparse Jacobian or Hessian, processor seconds
to the first one, microseconds of a call, and both over those of the array form (``np.add.at``).
Patterns and values are compared with the array form's. CasADi has a row where it is installed: its
first one includes building the expressions, with SX, term by term.

A Python loop over a grid is written out while a function is traced, and is found again in the
program, as a loop, from a length on. Just below it the program is longest. Three time steppings of
a grid, the loss at the end differentiated by the initial state: the heat equation, Burgers'
equation with an upwind difference, and the wave equation in two dimensions. JAX, if it is asked
for, traces the same functions (it leaves them written out). The last column is the first gradient
over that of the longest loop: a cliff would be a number far above 1 in a row above it.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from _right import Checks, along

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


# ---------------------------------------------------------------- over index lists


@dataclass(frozen=True)
class Listed:
    """A sum over an index list: as a loop, as arrays, and what is differentiated how.

    ``loop(np, zeros, n, x, a, b, c)``: ``zeros(n)`` makes what a loop adds to.
    """

    name: str
    loop: Callable[..., Any]
    arrays: Callable[..., Any]
    sizes: tuple[tuple[int, int], ...]
    hessian: bool = False
    width: int = 1


def flows(np: Any, zeros: Any, n: int, v: Any, a: Any, b: Any, c: Any) -> Any:
    """Return the sums of flows at the nodes of a network, edge by edge."""
    r = zeros(n)
    for k in range(len(a)):
        f = c[k] * np.sin(v[a[k]] - v[b[k]])
        r[a[k]] += f
        r[b[k]] -= f
    return r


def flows_of_arrays(n: int, v: Any, a: Any, b: Any, c: Any) -> Any:
    r, f = np.zeros(n), c * np.sin(v[a] - v[b])
    np.add.at(r, a, f)
    np.subtract.at(r, b, f)
    return r


def powers(np: Any, zeros: Any, n: int, z: Any, a: Any, b: Any, c: Any) -> Any:
    """Return the active and reactive powers at buses, line by line; ``z``: magnitudes, angles."""
    r = zeros(2 * n)
    for k in range(len(a)):
        i, j = a[k], b[k]
        between, angle = z[i] * z[j], z[n + i] - z[n + j]
        r[i] += c[k] * z[i] * z[i] - between * c[k] * np.cos(angle)
        r[n + i] += z[i] * z[i] - between * np.sin(angle)
    return r


def powers_of_arrays(n: int, z: Any, a: Any, b: Any, c: Any) -> Any:
    between, angle, r = z[a] * z[b], z[n + a] - z[n + b], np.zeros(2 * n)
    np.add.at(r, a, c * z[a] * z[a] - between * c * np.cos(angle))
    np.add.at(r, n + a, z[a] * z[a] - between * np.sin(angle))
    return r


def energy(np: Any, zeros: Any, n: int, x: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a sum of terms of two variables each."""
    s = 0.0
    for k in range(len(a)):
        s += c[k] * x[a[k]] * x[b[k]] * np.sin(x[a[k]])
    return s


def energy_of_arrays(n: int, x: Any, a: Any, b: Any, c: Any) -> Any:
    return np.sum(c * x[a] * x[b] * np.sin(x[a]))


def products(np: Any, zeros: Any, n: int, x: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a sum of products of two variables each."""
    s = 0.0
    for k in range(len(a)):
        s += c[k] * x[a[k]] * x[b[k]]
    return s


def products_of_arrays(n: int, x: Any, a: Any, b: Any, c: Any) -> Any:
    return np.sum(c * x[a] * x[b])


def springs(np: Any, zeros: Any, n: int, x: Any, a: Any, b: Any, c: Any) -> Any:
    """Return the energy of springs between points of space, coordinate by coordinate."""
    s = 0.0
    for k in range(len(a)):
        d = 0.1
        for e in range(3):
            d = d + (x[3 * a[k] + e] - x[3 * b[k] + e]) ** 2
        s += (np.sqrt(d) - c[k]) ** 2
    return s


def springs_of_arrays(n: int, x: Any, a: Any, b: Any, c: Any) -> Any:
    p = x.reshape(n, 3)
    return np.sum((np.sqrt(0.1 + np.sum((p[a] - p[b]) ** 2, axis=1)) - c) ** 2)


LISTED = (
    Listed("flows", flows, flows_of_arrays, ((500, 1000), (5000, 10_000))),
    Listed("powers", powers, powers_of_arrays, ((300, 800),), width=2),
    Listed("energy", energy, energy_of_arrays, ((96, 1000), (96, 3000)), hessian=True),
    Listed("products", products, products_of_arrays, ((96, 1000), (96, 3000)), hessian=True),
    Listed("springs", springs, springs_of_arrays, ((300, 800),), hessian=True, width=3),
)


def forms_of(case: Listed, n: int, m: int) -> tuple[dict[str, Callable[[Any], Any]], Any, Any]:
    """Return the derivatives of all forms of a sum, the point, and the index lists."""
    derivative = functools.partial(sg.hessian if case.hessian else sg.jacobian, sparse=True)
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, n, m), rng.integers(0, n, m)
    b = np.where(a == b, (b + 1) % n, b)
    c, x = rng.uniform(0.5, 1.5, m), rng.uniform(0.5, 1.5, n * case.width)
    both = functools.partial(case.loop, np, np.zeros, n)
    return {
        "array": derivative(bound(functools.partial(case.arrays, n), a, b, c)),
        "arrays": derivative(bound(both, a, b, c)),
        "lists": derivative(bound(both, a.tolist(), b.tolist(), c.tolist())),
    }, x, (a, b, c)  # fmt: skip


def checks() -> Checks:
    """Compare loops over lists with arrays, and gradients of loops over a grid with differences."""

    def check_lists(case: Listed, n: int, m: int) -> None:
        forms, x, _ = forms_of(case, n, m)
        wanted = forms["array"](x)
        for name, function in forms.items():
            compare(function(x), wanted, name)

    def check_grid(f: Step, steps: int) -> None:
        u = np.sin(np.linspace(0.0, 3.0, 256)) + 0.1
        gradient = sg.grad(lambda u: f(np, u, steps))(u)
        along(lambda u: f(np, u, steps), [gradient], u)

    found: Checks = {
        f"{case.name}, {n}, {m}": lambda at=(case, n, m): check_lists(*at)
        for case in LISTED
        for n, m in case.sizes
    }
    return found | {
        f"{f.__name__}, {steps}": lambda at=(f, steps): check_grid(*at)
        for f in GRIDS
        for steps in LENGTHS
    }


def lists(quick: bool) -> None:
    """Print the table of loops over index lists."""
    heads = ("sum", "n", "terms", "form", "entries", "first s", "call us", "first", "call")
    print(" ".join(f"{h:>9}" for h in heads))
    for case in LISTED:
        transform = sg.hessian if case.hessian else sg.jacobian
        derivative = functools.partial(transform, sparse=True)
        small = bound(
            functools.partial(case.arrays, 3), np.arange(3), np.arange(3)[::-1], np.ones(3)
        )
        derivative(small)(np.linspace(1, 2, 3 * case.width))  # the compiler's own start
        for n, m in case.sizes[:1] if quick else case.sizes:
            if quick:
                n, m = n // 4, m // 4
            forms, x, (a, b, c) = forms_of(case, n, m)
            if importlib.util.find_spec("casadi") is not None:
                forms["casadi"] = functools.partial(of_casadi, case, n, a.tolist(), b.tolist(), c)
            wanted, first_of, call_of = None, 0.0, 0.0
            for name, function in forms.items():
                start = time.process_time()
                called = function() if name == "casadi" else function
                found = called(x)
                first, call = time.process_time() - start, timed(called, x)[1]
                wanted = found if wanted is None else wanted
                first_of, call_of = first_of or first, call_of or call
                compare(found, wanted, f"{case.name}, {name}")
                print(
                    f"{case.name:>9} {n:>9} {m:>9} {name:>9} {found.nnz:>9} {first:>9.2f} "
                    f"{call * 1e6:>9.1f} {first / first_of:>9.1f} {call / call_of:>9.1f}",
                    flush=True,
                )


def bound(f: Callable[..., Any], a: Any, b: Any, c: Any) -> Callable[[Any], Any]:
    """Return a sum as a function of its variables, which reads the lists."""
    return lambda x: f(x, a, b, c)


def compare(found: Any, wanted: Any, what: str) -> None:
    """Raise where a sparse matrix has other entries than another one, or other values."""
    found, wanted = found.tocsr(), wanted.tocsr()
    found.sort_indices()
    wanted.sort_indices()
    same = np.array_equal(found.indptr, wanted.indptr)
    assert same and np.array_equal(found.indices, wanted.indices), f"{what}: another pattern"
    np.testing.assert_allclose(found.data, wanted.data, rtol=1e-9, atol=1e-9, err_msg=what)


def of_casadi(case: Listed, n: int, a: Any, b: Any, c: Any) -> Callable[[Any], Any]:
    """Return CasADi's derivative of the loop, as a function that gives a matrix of SciPy's."""
    import casadi as ca
    from scipy import sparse

    x = ca.SX.sym("x", n * case.width)
    y = case.loop(ca, ca.SX.zeros, n, x, a, b, c)
    matrix = ca.hessian(y, x)[0] if case.hessian else ca.jacobian(y, x)
    function = ca.Function("derivative", [x], [matrix])

    def values(point: Any) -> Any:
        return sparse.csr_array(function(point).sparse())

    return values


def main() -> None:
    """Print the tables."""
    os.environ["SYMGRAD_CACHE_DIR"] = ""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="short loops only")
    parser.add_argument("--jax", action="store_true", help="with JAX, which is slow to compile")
    parser.add_argument("--only", choices=("lists", "grids"), help="one of the tables")
    given = parser.parse_args()
    if given.only != "grids":
        lists(given.quick)
    if given.only != "lists":
        grids(given.quick, given.jax)


GRIDS = (heat, burgers, wave)
LENGTHS = (400, 200, 100, 50)


def grids(quick: bool, jax: bool) -> None:
    """Print the table of loops over a grid."""
    lengths = LENGTHS if not quick else (40, 20)
    tools = {"symgrad": of_symgrad} | ({"jax": of_jax} if jax else {})
    of_symgrad(heat, np.ones(8), 2)  # the compiler's own start
    heads = ("equation", "steps", *(f"{t} {w}" for t in tools for w in ("first s", "call us")))
    print(" ".join(f"{h:>16}" for h in (*heads, "to the longest")))
    for name, f in ((f.__name__, f) for f in GRIDS):
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
