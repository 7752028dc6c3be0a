"""The price of European call options and its five first derivatives, for a million options.

    python examples/benchmarks/black_scholes.py [--quick]

Derivatives by the price of the stock (delta), the strike (dual delta), the time (theta), the
interest rate (rho) and the volatility (vega).
"""

from __future__ import annotations

import ctypes
import math
import sys
from typing import Any

import numpy as np
import scipy.special
from harness import Aim, Case, Workload, compiled, main, pointer

SOURCE = """
#include <math.h>
#define PRICES(name, real, erf, exp, log, sqrt) \\
double name(const real *restrict S, const real *restrict K, const real *restrict T, \\
            const real *restrict R, const real *restrict V, real *restrict out, long n) { \\
    real *restrict price = out, *restrict delta = out + n, *restrict dual = out + 2 * n; \\
    real *restrict theta = out + 3 * n, *restrict rho = out + 4 * n; \\
    real *restrict vega = out + 5 * n; \\
    _Pragma("GCC ivdep") \\
    for (long i = 0; i < n; i++) { \\
        real root = sqrt(T[i]), spread = V[i] * root; \\
        real d1 = (log(S[i] / K[i]) + (R[i] + (real)0.5 * V[i] * V[i]) * T[i]) / spread; \\
        real d2 = d1 - spread; \\
        real p1 = (real)0.5 * ((real)1 + erf(d1 * (real)0.70710678118654752440)); \\
        real p2 = (real)0.5 * ((real)1 + erf(d2 * (real)0.70710678118654752440)); \\
        real discount = exp(-R[i] * T[i]); \\
        real bell = (real)0.39894228040143267794 * exp((real)-0.5 * d1 * d1); \\
        price[i] = S[i] * p1 - K[i] * discount * p2; \\
        delta[i] = p1; \\
        dual[i] = -discount * p2; \\
        theta[i] = S[i] * bell * V[i] / ((real)2 * root) + R[i] * K[i] * discount * p2; \\
        rho[i] = K[i] * T[i] * discount * p2; \\
        vega[i] = S[i] * bell * root; \\
    } \\
    return 0.0; \\
}
PRICES(prices64, double, erf, exp, log, sqrt)
PRICES(prices32, float, erff, expf, logf, sqrtf)
"""


def price(np: Any, stock: Any, strike: Any, time: Any, rate: Any, volatility: Any) -> Any:
    """Black and Scholes' formula for one option."""
    spread = volatility * np.sqrt(time)
    d1 = (np.log(stock / strike) + (rate + 0.5 * volatility**2) * time) / spread
    d2 = d1 - spread
    normal = lambda d: 0.5 * (1.0 + np.erf(d * math.sqrt(0.5)))  # noqa: E731
    return stock * normal(d1) - strike * np.exp(-rate * time) * normal(d2)


def scalars(m: Any, x: Any) -> Any:
    """The same for a list."""
    return price(m, *x)


def arguments(case: Case) -> tuple[Any, ...]:
    """Options within a factor of two of the money."""
    rng = np.random.default_rng(1)
    ranges = ((80, 120), (70, 130), (0.2, 2.0), (0.01, 0.1), (0.1, 0.5))
    return tuple(rng.uniform(*r, case.size).astype(case.dtype) for r in ranges)


def exact(case: Case, *given: Any) -> Any:
    """The textbook's formulas."""
    s, k, t, r, v = (g.astype(np.float64) for g in given)
    root = np.sqrt(t)
    d1 = (np.log(s / k) + (r + v * v / 2) * t) / (v * root)
    d2 = d1 - v * root
    p1, p2 = scipy.special.ndtr(d1), scipy.special.ndtr(d2)
    bell, discount = np.exp(-d1 * d1 / 2) / math.sqrt(2 * math.pi), np.exp(-r * t)
    return np.stack(
        [
            s * p1 - k * discount * p2,
            p1,
            -discount * p2,
            s * bell * v / (2 * root) + r * k * discount * p2,
            k * t * discount * p2,
            s * bell * root,
        ]
    )


def by_c(case: Case, given: Any) -> Any:
    """The textbook's formulas in one loop."""
    function = compiled(SOURCE, "prices64" if case.dtype == "float64" else "prices32")
    result = np.empty((6, case.size), case.dtype)
    fixed = (*map(pointer, given), pointer(result), ctypes.c_long(case.size))
    return (lambda: (function(*fixed), result)[1]), ()


def by_numba(case: Case, given: Any) -> Any:
    """The same with Numba."""
    import numba

    @numba.njit
    def all_(stock: Any, strike: Any, time: Any, rate: Any, volatility: Any) -> Any:
        result = np.empty((6, stock.size), stock.dtype)
        for i in range(stock.size):
            s, k, t, r, v = stock[i], strike[i], time[i], rate[i], volatility[i]
            root = math.sqrt(t)
            d1 = (math.log(s / k) + (r + 0.5 * v * v) * t) / (v * root)
            d2 = d1 - v * root
            p1 = 0.5 * (1.0 + math.erf(d1 * math.sqrt(0.5)))
            p2 = 0.5 * (1.0 + math.erf(d2 * math.sqrt(0.5)))
            discount = math.exp(-r * t)
            bell = math.exp(-0.5 * d1 * d1) / math.sqrt(2 * math.pi)
            result[0, i] = s * p1 - k * discount * p2
            result[1, i] = p1
            result[2, i] = -discount * p2
            result[3, i] = s * bell * v / (2 * root) + r * k * discount * p2
            result[4, i] = k * t * discount * p2
            result[5, i] = s * bell * root
        return result

    return all_, given


LARGE, SMALL = 1_000_000, 10_000

WORKLOAD = Workload(
    name="black_scholes",
    title="price and five derivatives of options",
    kind="derivatives",
    cases=(
        Case(SMALL, quick=True),
        Case(SMALL, "float32", quick=True, dtype="float32"),
        Case(LARGE),
        Case(LARGE, "float32", dtype="float32"),
    ),
    arguments=arguments,
    exact=exact,
    function=price,
    scalars=scalars,
    hand={"C": by_c, "C/float32": by_c, "numba": by_numba, "numba/float32": by_numba},
    aims=tuple(
        aim
        for case in ("1,000,000", "1,000,000 float32")
        for aim in (
            Aim(case, ("jax",), 8.0),
            Aim(case, ("heyoka",), 2.0),
            Aim(case, ("C",), 2.0),
            Aim(case, ("torch",), 6.0),
        )
    ),
)

if __name__ == "__main__":
    sys.exit(main(name="black_scholes"))
