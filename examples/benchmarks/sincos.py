"""Value and gradient of ``sum(sin(a) + cos(a))``, one pass over memory.

    python examples/benchmarks/sincos.py [--quick]

Two floors: a copy of the argument, and C with the vector versions of sine and cosine.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np
from harness import Aim, Case, Workload, compiled, main, pointer

SOURCE = """
#include <math.h>
double sincos_(const double *restrict a, double *restrict g, long n) {
    double value = 0.0;
    for (long i = 0; i < n; i++) {
        double s = sin(a[i]), c = cos(a[i]);
        value += s + c;
        g[i] = c - s;
    }
    return value;
}
"""


def wave(np: Any, a: Any) -> Any:
    """The function."""
    return np.sum(np.sin(a) + np.cos(a))


def scalars(m: Any, a: Any) -> Any:
    """The same for numbers."""
    return sum(m.sin(x) + m.cos(x) for x in a)


def arguments(case: Case) -> tuple[Any, ...]:
    """Angles of a few turns."""
    return (np.random.default_rng(1).uniform(-10, 10, case.size),)


def exact(case: Case, a: Any) -> Any:
    """By formula, in long doubles, in blocks."""
    slopes, value = np.empty(case.size + 1), np.longdouble(0)
    for start in range(0, case.size, 100_000):
        block = a[start : start + 100_000].astype(np.longdouble)
        s, c = np.sin(block), np.cos(block)
        value += np.sum(s + c)
        slopes[start + 1 : start + 1 + len(block)] = c - s
    slopes[0] = value
    return slopes


def by_c(case: Case, given: Any) -> Any:
    """One loop into an array made once."""
    function, slopes = compiled(SOURCE, "sincos_"), np.empty(case.size)
    at, to, size = pointer(given[0]), pointer(slopes), ctypes.c_long(case.size)
    return (lambda: (function(at, to, size), slopes)), ()


def by_numba(case: Case, given: Any) -> Any:
    """One loop into a new array."""
    import numba

    @numba.njit
    def both(a: Any) -> Any:
        value, slopes = 0.0, np.empty_like(a)
        for i in range(a.size):
            s, c = np.sin(a[i]), np.cos(a[i])
            value += s + c
            slopes[i] = c - s
        return value, slopes

    return both, given


def by_numpy(case: Case, given: Any) -> Any:
    """The formula."""

    def both(a: Any) -> Any:
        s, c = np.sin(a), np.cos(a)
        return np.sum(s + c), c - s

    return both, given


def by_heyoka(case: Case, given: Any) -> Any:
    """Both formulas for all elements; NumPy adds the values up."""
    import heyoka

    x = heyoka.make_vars("x")
    s, c = heyoka.sin(x), heyoka.cos(x)
    function = heyoka.cfunc([s + c, c - s], [x], parallel_mode=False)
    table, result = given[0][None], np.empty((2, case.size))

    def both() -> Any:
        function(inputs=table, outputs=result)
        return np.sum(result[0]), result[1]

    return both, ()


def by_copy(case: Case, given: Any) -> Any:
    """Into an array made once."""
    result = np.empty(case.size)
    return (lambda: (np.copyto(result, given[0]), result)[1]), ()


WORKLOAD = Workload(
    name="sincos",
    title="sum(sin(a) + cos(a)), value and gradient",
    kind="gradient",
    cases=(
        Case(25, quick=True),
        Case(1000),
        Case(100_000, quick=True),
        Case(1_000_000),
        Case(10_000_000),
    ),
    arguments=arguments,
    exact=exact,
    function=wave,
    scalars=scalars,
    hand={"C": by_c, "numba": by_numba, "numpy": by_numpy, "heyoka": by_heyoka, "copy": by_copy},
    without={"heyoka compact": "the same loop as heyoka's default"},
    aims=tuple(
        aim
        for case in ("1,000,000", "10,000,000")
        for aim in (
            Aim(case, ("C",), 1 / 1.1),
            Aim(case, ("heyoka",), 1.0),
            Aim(case, ("jax",), 25.0),
            Aim(case, ("torch",), 8.0),
        )
    ),
)

if __name__ == "__main__":
    sys.exit(main(name="sincos"))
