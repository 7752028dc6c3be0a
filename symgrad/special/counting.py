"""Factorials, binomial coefficients and their relatives, and the signs of the gamma function."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._late import special as sc
from .._op import composite, refuse
from .._ops.np_common import Sample, as_array, as_float
from .records import relative


def _inexact(function: Any, exact: Any) -> None:
    if exact:
        refuse(function, "exact results are Python's whole numbers: leave exact out")


def _real(*x: Any) -> Any:
    return [1.0 * as_float(as_array(v)) for v in x]


def _pairs(rng: np.random.Generator) -> Iterator[Sample]:
    yield (rng.uniform(5, 9, 4), 2.0), {}
    yield (7.0, np.array([0.5, 2.0, 6.5, 9.0, -1.0])), {}


@composite(sc.comb, name="comb", samples=_pairs)
def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """Number of combinations, as a function of real numbers; 0 where there are none."""
    _inexact(sc.comb, exact)
    n, k = _real(N, k)
    if repetition:
        none = (k == 0) & (n >= 0)
        return np.where(none, 1.0, sc.binom(np.where(none, 1.0, n + k - 1.0), k))
    some = (k <= n) & (n >= 0) & (k >= 0)
    found = sc.binom(np.where(some, n, 1.0), np.where(some, k, 1.0))
    return np.where(some, found, 0.0)


@composite(sc.perm, name="perm", samples=_pairs)
def perm(N: Any, k: Any, exact: bool = False) -> Any:
    """Number of ordered selections, as a function of real numbers; 0 where there are none."""
    _inexact(sc.perm, exact)
    n, k = _real(N, k)
    some = (k <= n) & (n >= 0) & (k >= 0)
    found = sc.poch(np.where(some, n - k + 1.0, 1.0), np.where(some, k, 1.0))
    return np.where(some, found, 0.0)


def _one(rng: np.random.Generator) -> Iterator[Sample]:
    yield (rng.uniform(0, 9, 3),), {}
    yield (np.array([-1.5, 3.0]),), {}


@composite(sc.factorial, name="factorial", samples=_one)
def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    """``gamma(n + 1)``, and 0 for negative numbers."""
    _inexact(sc.factorial, exact)
    if extend != "zero":
        refuse(sc.factorial, "extend='complex' is gamma(n + 1)")
    n = as_array(n).astype(np.float64)
    some = ~(n < 0)
    return np.where(some, sc.gamma(np.where(some, n, 0.0) + 1.0), 0.0)


def _dimensions(rng: np.random.Generator) -> Iterator[Sample]:
    for d in (1, 4):
        yield (rng.uniform(2, 9, 4), d), {}


@composite(sc.multigammaln, name="multigammaln", samples=_dimensions)
def multigammaln(a: Any, d: Any) -> Any:
    """Logarithm of the multivariate gamma function of a known dimension; nan below (d - 1)/2."""
    (a,), d = _real(a), operator.index(d)
    a = np.where(a > 0.5 * (d - 1), a, math.nan * a)
    total = d * (d - 1) * 0.25 * math.log(math.pi)
    return sum((sc.gammaln(a - 0.5 * j) for j in range(d)), total)


@relative(sc.gammasgn, "Sign of the gamma function.", (0.5, 2))
def gammasgn(x: Any) -> Any:
    (x,) = _real(x)
    whole = np.floor(x)
    sign = np.where(np.remainder(whole, 2.0) == 0, 1.0, -1.0)
    sign = np.where(x > 0, 1.0, np.where(x == 0, np.copysign(1.0, x), sign))
    return np.where(np.isnan(x) | ((x < 0) & (whole == x)), math.nan, sign)


@relative(sc.softplus, "``log(1 + exp(x))``.", (-2, 2))
def softplus(x: Any) -> Any:
    return np.logaddexp(0.0, x)
