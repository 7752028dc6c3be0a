"""Rosenbrock's function of 10 variables: one call from Python, and many in compiled code.

    python examples/benchmarks/rosen.py [--quick]

The work is some 40 multiplications: what is measured is the way in and out. In the case
``loop`` a compiled loop of the peer makes the calls, each at another place, and adds up values
and gradients.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
from harness import Aim, Case, Workload, compiled, main, pointer

SIZE = 10
STEP = 1e-7

SOURCE = """
double rosen(const double *restrict x, double *restrict g, long n) {
    double value = 0.0;
    for (long i = 0; i < n; i++) g[i] = 0.0;
    for (long i = 0; i + 1 < n; i++) {
        double a = x[i + 1] - x[i] * x[i], b = 1.0 - x[i];
        value += 100.0 * a * a + b * b;
        g[i] -= 400.0 * a * x[i] + 2.0 * b;
        g[i + 1] += 200.0 * a;
    }
    return value;
}
double loop(const double *x0, double *total, long n, long calls, double step) {
    double x[n], g[n];
    for (long i = 0; i < n; i++) x[i] = x0[i];
    for (long i = 0; i <= n; i++) total[i] = 0.0;
    for (long k = 0; k < calls; k++) {
        total[0] += rosen(x, g, n);
        for (long i = 0; i < n; i++) total[i + 1] += g[i];
        x[k % n] += step;
    }
    return total[0];
}
"""


def rosen(np: Any, x: Any) -> Any:
    """Rosenbrock's function."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def scalars(m: Any, x: Any) -> Any:
    """The same for numbers."""
    return sum(
        100.0 * (b - a * a) * (b - a * a) + (1.0 - a) * (1.0 - a) for a, b in itertools.pairwise(x)
    )


def arguments(case: Case) -> tuple[Any, ...]:
    """One point."""
    return (np.linspace(-0.9, 1.2, SIZE),)


def closed(x: Any) -> Any:
    """Values and gradients in the rows of x, by formula."""
    a, b = x[:, 1:] - x[:, :-1] ** 2, 1 - x[:, :-1]
    slopes = np.zeros_like(x)
    slopes[:, :-1] -= 400 * a * x[:, :-1] + 2 * b
    slopes[:, 1:] += 200 * a
    return np.concatenate([np.sum(100 * a**2 + b**2, 1)[:, None], slopes], 1)


def exact(case: Case, x: Any) -> Any:
    """Value and gradient, or their sums over the calls of the loop."""
    x = x.astype(np.longdouble)
    if case.variant != "loop":
        return closed(x[None])[0]
    total = np.zeros(SIZE + 1, np.longdouble)
    for start in range(0, case.size, 10_000):
        calls = np.arange(start, min(start + 10_000, case.size))[:, None]
        moved = (calls + SIZE - 1 - np.arange(SIZE)) // SIZE
        total += np.sum(closed(x + moved * np.longdouble(STEP)), axis=0)
    return total


def by_numba(case: Case, given: Any) -> Any:
    """The gradient by hand; in the loop too it is a new array in each call."""
    import numba

    @numba.njit
    def both(x: Any) -> Any:
        value, slopes = 0.0, np.zeros_like(x)
        for i in range(x.size - 1):
            a, b = x[i + 1] - x[i] * x[i], 1.0 - x[i]
            value += 100.0 * a * a + b * b
            slopes[i] -= 400.0 * a * x[i] + 2.0 * b
            slopes[i + 1] += 200.0 * a
        return value, slopes

    if case.variant == "loop":
        return looped(both), (*given, case.size)
    return both, given


def by_symgrad(case: Case, given: Any) -> Any:
    """The kernel inside a loop of Numba."""
    import symgrad as sg

    return looped(sg.value_and_grad(lambda x: rosen(np, x)).kernel(*given)), (*given, case.size)


def looped(both: Any) -> Any:
    """A loop of Numba around a function of Numba."""
    import numba

    @numba.njit
    def loop(start: Any, calls: int) -> Any:
        x, total, slopes = start.copy(), 0.0, np.zeros_like(start)
        for k in range(calls):
            value, gradient = both(x)
            total += value
            for i in range(x.size):
                slopes[i] += gradient[i]
            x[k % x.size] += STEP
        return total, slopes

    return loop


def by_c(case: Case, given: Any) -> Any:
    """C through ctypes, whose calls cost more than the work."""
    import ctypes

    (x,) = given
    result = np.empty(SIZE + 1)
    function = compiled(SOURCE, "loop" if case.variant else "rosen")
    if case.variant == "loop":
        fixed = (pointer(x), pointer(result), SIZE, case.size, ctypes.c_double(STEP))
        return (lambda: (function(*fixed), result)[1]), ()
    slopes, at, size = result[1:], pointer(x), ctypes.c_long(SIZE)
    to = pointer(slopes)
    return (lambda: (function(at, to, size), slopes)), ()


def by_numpy(case: Case, given: Any) -> Any:
    """The formula."""

    def both(x: Any) -> Any:
        a, b = x[1:] - x[:-1] ** 2, 1.0 - x[:-1]
        slopes = np.zeros_like(x)
        slopes[:-1] = -400.0 * a * x[:-1] - 2.0 * b
        slopes[1:] += 200.0 * a
        return np.dot(100.0 * a, a) + np.dot(b, b), slopes

    return both, given


def by_jax(case: Case, given: Any) -> Any:
    """``fori_loop``."""
    import jax
    import jax.numpy as jnp

    both = jax.value_and_grad(lambda x: rosen(jnp, x))

    @jax.jit
    def loop(start: Any) -> Any:
        def body(k: Any, carry: Any) -> Any:
            x, total, slopes = carry
            value, gradient = both(x)
            return x.at[k % SIZE].add(STEP), total + value, slopes + gradient

        return jax.lax.fori_loop(0, case.size, body, (start, 0.0, jnp.zeros(SIZE)))[1:]

    return (lambda x: jax.block_until_ready(loop(x))), tuple(map(jnp.asarray, given))


WORKLOAD = Workload(
    name="rosen",
    title="Rosenbrock's function of 10 variables, value and gradient",
    kind="gradient",
    cases=(
        Case(SIZE, quick=True),
        Case(10_000, "loop", quick=True),
        Case(1_000_000, "loop"),
    ),
    arguments=arguments,
    exact=exact,
    function=rosen,
    scalars=scalars,
    hand={
        "numba": by_numba,
        "numba/loop": by_numba,
        "symgrad/loop": by_symgrad,
        "jax/loop": by_jax,
        "C": by_c,
        "C/loop": by_c,
        "numpy": by_numpy,
    },
    aims=(
        Aim("10", ("numba",), 1.0, extra=0.4e-6),
        Aim("10", ("jax",), 5.0),
    ),
)

if __name__ == "__main__":
    sys.exit(main(name="rosen"))
