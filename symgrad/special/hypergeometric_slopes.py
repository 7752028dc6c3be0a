"""Derivatives of hypergeometric functions with respect to their parameters.

The series is summed from its last term on, ``1 + r_k*(1 + r_(k+1)*(1 + ...))``, and the ratio of
two terms is a quotient of sums of a parameter and a number. So it is carried on Taylor polynomials
in the parameters and the argument by a few operations for each coefficient. For negative arguments
Kummer's transformation comes before where it leaves terms of one sign. Outside of the boxes of
operands where the series has its digits derivatives are nan.

Source: NIST Digital Library of Mathematical Functions, 13.2.39 and 16.2.1; A. Griewank, A. Walther,
Evaluating Derivatives, 2008, chapter 13.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from .._core.op import COUNT, Evidence, Op, Positive, Real, Words, optional
from . import multiple_precision as precisely
from .records import in_doubles

CONVENTION = "by parameters: nan where the series loses digits"
#: Static parameters: how many times by each operand.
BY_PARAMETERS, BY_ARGUMENT = ("first", "second", "third"), "along"


def taylor_lower(powers: Any, place: int) -> Any:
    """The powers with one less of a variable."""
    return (*powers[:place], powers[place] - 1, *powers[place + 1 :])


def hypergeometric_series(above: Any, below: Any, x: Any, orders: Any, terms: int) -> Any:
    """The series as a Taylor polynomial: coefficients by the powers of the variables.

    ``above`` are parameters, ``x`` the argument: each a value, and the variables in it with their
    signs. ``below`` are parameters with their variable.
    """
    powers: Any = [()]
    for n in orders:
        powers = [(*p, k) for p in powers for k in range(n + 1)]
    total = {p: 0.0 * x[0] + (0.0 if any(p) else 1.0) for p in powers}
    for k in range(terms, -1, -1):
        for value, places in (*((v + float(k), q) for v, q in above), x):
            product = {}
            for p in powers:
                term = value * total[p]
                for place, sign in places:
                    if p[place]:
                        term = term + sign * total[taylor_lower(p, place)]
                product[p] = term
            total = product
        for value, place in below:
            quotient: Any = {}
            for p in powers:
                rest = total[p]
                if p[place]:
                    rest = rest - quotient[taylor_lower(p, place)]
                quotient[p] = rest / (value + float(k))
            total = quotient
        total = {p: c * (1.0 / (k + 1)) for p, c in total.items()}
        total[powers[0]] = total[powers[0]] + 1.0
    return total


def derivative_of(total: Any, orders: Any) -> Any:
    """The derivative that a Taylor polynomial's last coefficient is."""
    return math.prod(map(math.factorial, orders)) * total[tuple(orders)]


def limit_slope(b: Any, x: Any, first: int = 0, along: int = 0) -> Any:
    """A derivative of the confluent hypergeometric limit function."""
    inside = (b >= 0.01) & (x >= -4) & (x <= 16)
    b, x = np.where(inside, b, 1.0), np.where(inside, x, 0.0)
    orders = first, along
    found = derivative_of(
        hypergeometric_series([], [(b, 0)], (x, [(1, 1.0)]), orders, 32 + first + along), orders
    )
    return np.where(inside, found, math.nan)


def confluent_slope(a: Any, b: Any, x: Any, first: int = 0, second: int = 0, along: int = 0) -> Any:
    """A derivative of Kummer's function, for negative x by his transformation if b >= a."""
    inside = (a > 0) & (a <= 8) & (b >= 0.01) & (b <= 40) & (x >= -6) & (x <= 10)
    turned = (x < 0) & (b >= a)
    inside = inside & (turned | (x >= -1))
    a, b, x = np.where(inside, a, 1.0), np.where(inside, b, 1.0), np.where(inside, x, 0.0)
    orders, terms = (first, second, along), 60 + first + second + along
    plain = hypergeometric_series(
        [(a, [(0, 1.0)])], [(b, 1)], (np.where(turned, 0.0, x), [(2, 1.0)]), orders, terms
    )
    other = hypergeometric_series(
        [(b - a, [(1, 1.0), (0, -1.0)])], [(b, 1)], (np.where(turned, -x, 0.0), [(2, -1.0)]),
        orders, terms,
    )  # fmt: skip
    grown = sum(other[first, second, along - k] / math.factorial(k) for k in range(along + 1))
    scale = math.prod(map(math.factorial, orders))
    found = np.where(turned, scale * np.exp(x) * grown, derivative_of(plain, orders))
    return np.where(inside, found, math.nan)


def gauss_slope(
    a: Any, b: Any, c: Any, x: Any, first: int = 0, second: int = 0, third: int = 0, along: int = 0
) -> Any:
    """A derivative of Gauss' hypergeometric function."""
    inside = (a > 0) & (a <= 3) & (b > 0) & (b <= 3) & (c >= 0.5) & (c <= 20)
    inside = inside & (x >= -0.5) & (x <= 0.5)
    a, b = np.where(inside, a, 1.0), np.where(inside, b, 1.0)
    c, x = np.where(inside, c, 1.0), np.where(inside, x, 0.0)
    orders = first, second, third, along
    total = hypergeometric_series(
        [(a, [(0, 1.0)]), (b, [(1, 1.0)])], [(c, 2)], (x, [(3, 1.0)]), orders, 76 + 2 * sum(orders)
    )
    return np.where(inside, derivative_of(total, orders), math.nan)


# ---------------------------------------------------------------- records


def _slopes(op: Op, operands: tuple[Any, ...], orders: dict[str, int]) -> tuple[Any, ...]:
    """Return the members of a family that are the derivatives of one."""
    return tuple(
        op(*operands, **{**orders, place: orders.get(place, 0) + 1}) for place in op.params
    )


def _family(
    name: str, formula: Callable[..., Any], partials: Callable[..., Any], *samples: Any
) -> Op:
    """Define a family of some parameters and the argument."""
    places = (*BY_PARAMETERS[: len(samples) - 1], BY_ARGUMENT)

    def reading(*operands: Any, **orders: int) -> Any:
        return sp.Function(f"{name}Slope")(*operands, *(orders.get(p, 0) for p in places))

    return in_doubles(
        f"{name}Slope", formula, (*(Positive,) * (len(samples) - 1), Real), None, partials,
        Evidence(samples=samples, ulp=64.0,
            precise=precisely.hypergeometric(name.lower(), places)),
        Words(f"A derivative of {name.lower()}, by each operand as often as its orders say.",
            reading=reading, convention=CONVENTION),
        helpers=(taylor_lower, hypergeometric_series, derivative_of),
        params={place: optional(COUNT) for place in places},
    )  # fmt: skip


HYP0F1_SLOPE: Op = _family(
    "Hyp0f1", limit_slope, lambda y, v, z, **orders: _slopes(HYP0F1_SLOPE, (v, z), orders),
    (1, 3), (-3, 3),
)  # fmt: skip
HYP1F1_SLOPE: Op = _family(
    "Hyp1f1", confluent_slope,
    lambda y, a, b, x, **orders: _slopes(HYP1F1_SLOPE, (a, b, x), orders),
    (0.5, 3), (3, 5), (-2, 2),
)  # fmt: skip
HYP2F1_SLOPE: Op = _family(
    "Hyp2f1", gauss_slope,
    lambda y, a, b, c, x, **orders: _slopes(HYP2F1_SLOPE, (a, b, c, x), orders),
    (0.5, 2), (0.5, 2), (0.5, 3), (-0.4, 0.4),
)  # fmt: skip
