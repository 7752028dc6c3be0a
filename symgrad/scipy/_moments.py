"""Means, variances and entropies of distributions at location 0 and scale 1, by shapes.

Sources: N. L. Johnson, S. Kotz, N. Balakrishnan, Continuous Univariate Distributions, Wiley 1994
and 1995; N. L. Johnson, A. W. Kemp, S. Kotz, Univariate Discrete Distributions, Wiley 2005;
A. Lazo, P. Rathie, On the entropy of continuous probability distributions, IEEE Trans. IT 24, 1978.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.special as special

Formula = Callable[..., Any]
_EULER = float(np.euler_gamma)


class Moments(NamedTuple):
    """Formulas of the shape parameters; None where there is no closed form."""

    mean: Formula
    var: Formula
    entropy: Formula | None = None
    #: Of symmetric ones, where the quantile's formula has no derivative by the shapes.
    median: Formula | None = None


def _const(value: float) -> Formula:
    return lambda *shapes: value


def _above(shape: Any, bound: float, value: Formula, otherwise: float = np.inf) -> Any:
    """Return ``value(shape)`` for shapes above a bound, which none of its parts leaves."""
    good = shape > bound
    return np.where(good, value(np.where(good, shape, bound + 1.0)), otherwise)


def _power(c: Any, k: float) -> Any:
    """Return the moment ``E[z**k]`` of Weibull's distribution."""
    return special.gamma(1.0 + k / c)


def _gamma_entropy(a: Any) -> Any:
    return a + special.gammaln(a) + (1.0 - a) * special.psi(a)


def _beta_entropy(a: Any, b: Any) -> Any:
    return (special.betaln(a, b) - (a - 1.0) * special.psi(a) - (b - 1.0) * special.psi(b)
            + (a + b - 2.0) * special.psi(a + b))  # fmt: skip


def _t_entropy(df: Any) -> Any:
    half = (df + 1.0) / 2.0
    turn = special.psi(half) - special.psi(df / 2.0)
    return half * turn + 0.5 * np.log(df) + special.betaln(df / 2.0, 0.5)


def _f_var(n: Any, m: Any) -> Any:
    return _above(m, 4.0, lambda m: (
        2.0 * m**2 * (n + m - 2.0) / (n * (m - 2.0) ** 2 * (m - 4.0))
    ))  # fmt: skip


def _pareto_var(b: Any) -> Any:
    return _above(b, 2.0, lambda b: b / ((b - 2.0) * (b - 1.0) ** 2))


def _geom_entropy(p: Any) -> Any:
    return -np.log(p) - np.log1p(-p) * (1.0 - p) / p


_GAMMA = Moments(lambda a: a, lambda a: a, _gamma_entropy)

MOMENTS: Mapping[str, Moments] = {
    "norm": Moments(_const(0.0), _const(1.0), _const(0.5 * math.log(2 * math.pi * math.e))),
    "logistic": Moments(_const(0.0), _const(math.pi**2 / 3), _const(2.0)),
    "laplace": Moments(_const(0.0), _const(2.0), _const(1 + math.log(2.0))),
    "gumbel_r": Moments(_const(_EULER), _const(math.pi**2 / 6), _const(1 + _EULER)),
    "gumbel_l": Moments(_const(-_EULER), _const(math.pi**2 / 6), _const(1 + _EULER)),
    "gennorm": Moments(lambda b: 0.0 * b,
                       lambda b: np.exp(special.gammaln(3.0 / b) - special.gammaln(1.0 / b)),
                       lambda b: 1.0 / b - np.log(0.5 * b) + special.gammaln(1.0 / b),
                       lambda b: 0.0 * b),
    "uniform": Moments(_const(0.5), _const(1 / 12), _const(0.0)),
    "expon": Moments(_const(1.0), _const(1.0), _const(1.0)),
    "gamma": _GAMMA,
    "erlang": _GAMMA,
    "chi2": Moments(lambda df: df, lambda df: 2.0 * df,
                    lambda df: _gamma_entropy(df / 2.0) + math.log(2.0)),
    "beta": Moments(lambda a, b: a / (a + b),
                    lambda a, b: a * b / ((a + b) ** 2 * (a + b + 1.0)), _beta_entropy),
    "lognorm": Moments(lambda s: np.exp(0.5 * s**2),
                       lambda s: np.expm1(s**2) * np.exp(s**2),
                       lambda s: 0.5 * (1.0 + math.log(2 * math.pi)) + np.log(s)),
    "weibull_min": Moments(lambda c: _power(c, 1.0),
                           lambda c: _power(c, 2.0) - _power(c, 1.0) ** 2,
                           lambda c: _EULER * (1.0 - 1.0 / c) - np.log(c) + 1.0),
    "rayleigh": Moments(_const(math.sqrt(math.pi / 2)), _const((4 - math.pi) / 2),
                        _const(_EULER / 2 + 1 - 0.5 * math.log(2.0))),
    "maxwell": Moments(_const(2 * math.sqrt(2 / math.pi)), _const(3 - 8 / math.pi),
                       _const(_EULER + 0.5 * math.log(2 * math.pi) - 0.5)),
    "halfnorm": Moments(_const(math.sqrt(2 / math.pi)), _const(1 - 2 / math.pi),
                        _const(0.5 * math.log(math.pi / 2) + 0.5)),
    "t": Moments(lambda df: _above(df, 1.0, lambda df: 0.0 * df),
                 lambda df: np.where(df > 1.0, _above(df, 2.0, lambda df: df / (df - 2.0)), np.nan),
                 _t_entropy),
    "pareto": Moments(lambda b: _above(b, 1.0, lambda b: b / (b - 1.0)), _pareto_var,
                      lambda b: 1.0 + 1.0 / b - np.log(b)),
    "lomax": Moments(lambda c: _above(c, 1.0, lambda c: 1.0 / (c - 1.0)), _pareto_var,
                     lambda c: 1.0 + 1.0 / c - np.log(c)),
    "invgamma": Moments(
        lambda a: _above(a, 1.0, lambda a: 1.0 / (a - 1.0)),
        lambda a: _above(a, 2.0, lambda a: 1.0 / ((a - 1.0) ** 2 * (a - 2.0))),
        lambda a: a - (a + 1.0) * special.psi(a) + special.gammaln(a)),
    "invgauss": Moments(lambda mu: mu, lambda mu: mu**3),
    "f": Moments(lambda n, m: _above(m, 2.0, lambda m: m / (m - 2.0)) + 0.0 * n, _f_var),
    "triang": Moments(lambda c: (c + 1.0) / 3.0, lambda c: (1.0 - c + c * c) / 18.0,
                      lambda c: 0.5 - math.log(2.0) + 0.0 * c),
    "poisson": Moments(lambda mu: mu, lambda mu: mu),
    "bernoulli": Moments(lambda p: p, lambda p: p * (1.0 - p),
                         lambda p: special.entr(p) + special.entr(1.0 - p)),
    "binom": Moments(lambda n, p: n * p, lambda n, p: n * p * (1.0 - p)),
    "geom": Moments(lambda p: 1.0 / p, lambda p: (1.0 - p) / p**2, _geom_entropy),
    "nbinom": Moments(lambda n, p: n * (1.0 - p) / p, lambda n, p: n * (1.0 - p) / p**2),
    "betabinom": Moments(lambda n, a, b: n * a / (a + b), lambda n, a, b: (
        n * (a + b + n) * a * b / ((a + b) ** 2 * (a + b + 1.0)))),
}  # fmt: skip
