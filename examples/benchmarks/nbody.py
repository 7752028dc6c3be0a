"""The potential of bodies that attract each other, and its gradient by all places.

    python examples/benchmarks/nbody.py [--quick]

Written with broadcasting over all pairs: does the memory grow with their number?
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np
from harness import Case, Workload, compiled, main, pointer

SOFT = 1e-2

SOURCE = """
#include <math.h>
double nbody(const double *restrict x, const double *restrict m, double *restrict g, long n,
             double soft) {
    double value = 0.0, px[n], py[n], pz[n];
    for (long j = 0; j < n; j++) {
        px[j] = x[3 * j];
        py[j] = x[3 * j + 1];
        pz[j] = x[3 * j + 2];
    }
    for (long i = 0; i < n; i++) {
        double sx = 0.0, sy = 0.0, sz = 0.0, sum = 0.0;
        for (long j = 0; j < n; j++) {
            double a = px[i] - px[j], b = py[i] - py[j], c = pz[i] - pz[j];
            double inverse = 1.0 / sqrt(a * a + b * b + c * c + soft);
            double each = m[j] * inverse, pull = each * inverse * inverse;
            sum += each;
            sx += pull * a;
            sy += pull * b;
            sz += pull * c;
        }
        value -= 0.5 * m[i] * sum;
        g[3 * i] = m[i] * sx;
        g[3 * i + 1] = m[i] * sy;
        g[3 * i + 2] = m[i] * sz;
    }
    return value;
}
"""


def potential(np: Any, x: Any, m: Any) -> Any:
    """The potential of bodies at x with masses m; each body's own share is a constant."""
    away = x[:, None, :] - x[None, :, :]
    square = np.sum(away**2, 2) + SOFT
    return -0.5 * np.sum(m[:, None] * m[None, :] / np.sqrt(square))


def arguments(case: Case) -> tuple[Any, ...]:
    """A cloud."""
    rng = np.random.default_rng(1)
    return rng.normal(size=(case.size, 3)), rng.uniform(0.5, 1.5, case.size)


def both(x: Any, m: Any) -> Any:
    """Value and gradient by formula."""
    value, slopes = 0 * m[0], np.empty_like(x)
    for i in range(len(x)):
        away = x[i] - x
        inverse = 1 / np.sqrt(np.sum(away**2, 1) + SOFT)
        value -= m[i] * np.sum(m * inverse) / 2
        slopes[i] = m[i] * (m * inverse**3) @ away
    return value, slopes


def exact(case: Case, x: Any, m: Any) -> Any:
    """The same in long doubles."""
    value, slopes = both(x.astype(np.longdouble), m.astype(np.longdouble))
    return np.concatenate([[value], slopes.ravel()])


def by_numpy(case: Case, given: Any) -> Any:
    """The formula, row by row."""
    return both, given


def by_c(case: Case, given: Any) -> Any:
    """All pairs, nothing stored."""
    function, slopes = compiled(SOURCE, "nbody"), np.empty((case.size, 3))
    fixed = (*map(pointer, (*given, slopes)), ctypes.c_long(case.size), ctypes.c_double(SOFT))
    return (lambda: (function(*fixed), slopes)), ()


WORKLOAD = Workload(
    name="nbody",
    title="potential of bodies, value and gradient",
    kind="gradient",
    cases=(Case(100, quick=True), Case(1000), Case(3000)),
    arguments=arguments,
    exact=exact,
    function=potential,
    argnums=(0,),
    hand={"numpy": by_numpy, "C": by_c},
)

if __name__ == "__main__":
    sys.exit(main(name="nbody"))
