"""Distributions of ``scipy.stats`` whose densities can be traced.

A distribution is given for location 0 and scale 1; here they are shifted and scaled, and
what lies outside of the support is kept away from the formulas, so that neither a value nor
a derivative there is nan. Means, variances and entropies are by the shapes.

Sources: N. L. Johnson, S. Kotz, N. Balakrishnan, Continuous Univariate Distributions, Wiley 1994
and 1995; N. L. Johnson, A. W. Kemp, S. Kotz, Univariate Discrete Distributions, Wiley 2005;
A. Lazo, P. Rathie, On the entropy of continuous probability distributions, IEEE Trans. IT 24, 1978.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.special as special

from .._api._custom import custom_jvp, stop_gradient
from .._core.base.fork_safety import cached_property
from .._core.op import refuse
from .._core.ops.np_common import as_array, is_traced
from .._core.trace.namespace import holds
from ._distribution_examples import shown
from ._frozen_distributions import frozen

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


def _above(shape: Any, bound: float, value: Formula) -> Any:
    """Return ``value(shape)`` for shapes above a bound, else infinity; no part leaves it."""
    good = shape > bound
    return np.where(good, value(np.where(good, shape, bound + 1.0)), np.inf)


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

MOMENTS: dict[str, Moments] = {
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


Formula = Callable[..., Any]


@custom_jvp
def _with_derivative(value: Any, other: Any) -> Any:
    """Return ``value``, with the derivative of ``other``."""
    return value + 0.0 * np.zeros_like(other)


@_with_derivative.defjvp
def _of_other(primals: Any, tangents: Any) -> tuple[Any, Any]:
    return _with_derivative(*primals), tangents[1]


class Distribution:
    """A distribution whose methods take traced values too.

    Parameters
    ----------
    original:
        SciPy's distribution, which computes with plain arrays and has all other methods.
    formulas:
        By method name, ``formula(z, *shapes)`` at location 0 and scale 1.
    inside:
        ``inside(z, *shapes)``: whether a point is in the support; None: everywhere.
    safe:
        A point in the support, put in the place of those that are not; or ``safe(*shapes)``.
    ends:
        The ends of the support, for the shares 0 and 1; None: as the formulas say.
    valid:
        ``valid(*shapes)``: whether shape parameters are allowed; None: there are none.
    corner:
        ``corner(z, *shapes)``: whether a point is an end where the density may be infinite.
        Probabilities are 0 and 1 there for any parameters, and have the slope of outside, 0:
        the formulas' would be inf * 0.
    """

    def __init__(
        self,
        original: Any,
        formulas: Mapping[str, Formula],
        *,
        inside: Callable[..., Any] | None = None,
        safe: float | Callable[..., Any] = 0.5,
        ends: tuple[float, float] | None = None,
        valid: Callable[..., Any] | None = None,
        corner: Callable[..., Any] | None = None,
    ) -> None:
        self.original, self.formulas, self.corner = original, formulas, corner
        self.inside, self.safe, self.ends, self.valid = inside, safe, ends, valid
        self.__name__ = original.name
        summary, section, rest = inspect.cleandoc(original.__doc__ or "").partition("\n\nMethods\n")
        example = shown(self.__name__)
        more = f"\n\nA derivative, by symgrad:\n\n{example}" if example else ""
        self.__doc__ = f"{summary}{more.rstrip()}{section}{rest}"
        self.__module__ = "symgrad.scipy.stats"

    def __reduce__(self) -> str:
        return str(self.__name__)

    def __repr__(self) -> str:
        return f"<distribution {self.__name__!r} of symgrad>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the distribution with its parameters given."""
        return frozen(self, args, kwargs, (*self.formulas, *self._derived.keys() & {"interval"}))

    def __getattr__(self, name: str) -> Any:
        public = name.removeprefix("_")
        if name.startswith("__") or (public != name and public not in self.formulas):
            raise AttributeError(name)
        original = getattr(self.original, name)
        if not callable(original):
            return original

        def method(*args: Any, **kwargs: Any) -> Any:
            if not any(holds(v, is_traced) for v in (*args, *kwargs.values())):
                return original(*args, **kwargs)
            if public != name:  # `_cdf`: within the support, at location 0 and scale 1
                return self.formulas[public](*args, **kwargs)
            if name in self._derived:
                return self._derived[name](*args, **kwargs)
            if name not in self.formulas:
                refuse(original, f"of {self.__name__}, {', '.join(self.known)} can be")
            return self._compute(name, *args, **kwargs)

        method.__name__ = name
        method.__doc__ = original.__doc__
        return method

    @property
    def known(self) -> tuple[str, ...]:
        """The methods that can be traced."""
        return (*self.formulas, *self._derived)

    # ---------------------------------------------------------------- with traced values

    @cached_property
    def _derived(self) -> dict[str, Formula]:
        """What follows from quantiles and from moments, of parameters alone."""
        made: dict[str, Formula] = {}
        if "logpdf" in self.formulas:
            made["nnlf"] = self._nnlf
        if "ppf" in self.formulas:
            made["median"] = functools.partial(self._compute, "ppf", 0.5)
            made["interval"] = self._interval
        moments = MOMENTS.get(self.__name__)
        if moments is not None:
            made |= {"mean": functools.partial(self._moment, moments.mean, 1),
                     "var": functools.partial(self._moment, moments.var, 2),
                     "std": self._deviation, "stats": self._stats}  # fmt: skip
            if moments.median is not None:
                made["median"] = functools.partial(self._moment, moments.median, 1)
            if moments.entropy is not None:
                made["entropy"] = functools.partial(self._moment, moments.entropy, 0)
        return made

    def _moment(self, formula: Formula, power: int, *args: Any, **kwargs: Any) -> Any:
        """Return the mean (power 1), the variance (2) or the entropy (0) for parameters."""
        shapes, loc, scale = self._allowed(*self._parameters(args, kwargs))
        value = as_array(formula(*shapes))
        # Infinite ones have no slopes, and must not make nan of others' in the same array.
        usual = np.isfinite(value)
        kept = np.where(usual, value, 1.0)
        if power == 0:
            found = kept + np.log(scale)
        else:
            found = loc + scale * kept if power == 1 else kept * scale * scale
        found = np.where(usual | np.isnan(found), found, value)
        return np.broadcast_arrays(found, *shapes, loc, scale)[0]

    def _deviation(self, *args: Any, **kwargs: Any) -> Any:
        return np.sqrt(self._derived["var"](*args, **kwargs))

    def _nnlf(self, theta: Any, x: Any) -> Any:
        return -np.sum(self._compute("logpdf", x, *theta))

    def _interval(self, confidence: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        shares = 0.5 * (1.0 - as_array(confidence)), 0.5 * (1.0 + as_array(confidence))
        low, high = (self._compute("ppf", q, *args, **kwargs) for q in shares)
        return low, high

    def _stats(self, *args: Any, moments: str = "mv", **kwargs: Any) -> Any:
        if set(moments) - {"m", "v"}:
            refuse(self.original.stats, 'of moments "m" and "v" can be')
        found = [self._derived["mean" if m == "m" else "var"](*args, **kwargs)
                 for m in "mv" if m in moments]  # fmt: skip
        return tuple(found) if len(found) > 1 else found[0]

    def _allowed(self, shapes: tuple[Any, ...], loc: Any, scale: Any) -> Any:
        """Return parameters with nan for those that are not allowed."""
        good = self._good(shapes, scale)
        return tuple(only(good, x) for x in shapes), as_array(loc), only(good, as_array(scale))

    def _good(self, shapes: tuple[Any, ...], scale: Any) -> Any:
        good = as_array(scale) > 0
        return good if self.valid is None else good & self.valid(*shapes)

    def _compute(self, name: str, x: Any, *args: Any, **kwargs: Any) -> Any:
        shapes, loc, scale = self._parameters(args, kwargs)
        good = self._good(shapes, scale)
        shapes, loc, scale = self._allowed(shapes, loc, scale)
        x = as_array(x)
        if name in ("ppf", "isf"):
            allowed = (x >= 0) & (x <= 1)
            result = self.formulas[name](only(allowed, x), *shapes)
            if self.ends is not None:
                at_0, at_1 = self.ends if name == "ppf" else self.ends[::-1]
                end = np.where(x == 0, at_0, at_1)
                if is_traced(x):  # it does not move with the shapes, but the share may move
                    held = self.formulas[name](only(allowed, x), *map(stop_gradient, shapes))
                    far = np.where(x == 0, np.log(x), -np.log1p(-x))
                    held = np.where(np.isinf(end), far if name == "ppf" else -far, held)
                    end = _with_derivative(end, held)
                result = np.where((x == 0) | (x == 1), end, result)
            return result * scale + only(allowed & good, loc)
        z = (x - loc) / scale

        def formula(z: Any) -> Any:
            value = self.formulas[name](z, *shapes)
            if name == "logpdf":
                return value - np.log(scale)
            return value / scale if name == "pdf" else value

        return self._within(name, formula, z, shapes)

    def _within(self, name: str, formula: Formula, z: Any, shapes: tuple[Any, ...]) -> Any:
        """Return the formula's value in the support, and at nan, and what is so outside of it."""
        inside = ~np.isinf(z)
        if self.inside is not None:
            inside = inside & (np.isnan(z) | self.inside(z, *shapes))
        if self.corner is not None and "pdf" not in name:
            inside = inside & ~self.corner(z, *shapes)
        safe = self.safe(*shapes) if callable(self.safe) else self.safe
        value = formula(np.where(inside, z, safe))
        below, above = _OUTSIDE[name]
        outside = below if below == above else np.where(z < safe, below, above)
        corners = [] if self.corner is None else [self.corner(z, *shapes)]
        corners += [z == at for at in self.ends or () if math.isfinite(at)]
        if corners and math.inf in (-below, -above):  # not flat, as it is outside
            end = functools.reduce(np.logical_or, corners) & np.isinf(outside)
            outside = np.where(end, _with_derivative(outside, only(~end, z)), outside)
        return np.where(inside, value, outside)

    def _parameters(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        names = [n.strip() for n in (self.original.shapes or "").split(",") if n.strip()]
        parameters = [
            *(inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names),
            inspect.Parameter("loc", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=0),
            inspect.Parameter("scale", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=1),
        ]
        bound = inspect.Signature(parameters).bind(*args, **kwargs)
        bound.apply_defaults()
        shapes = tuple(as_array(bound.arguments[n]) for n in names)
        return shapes, bound.arguments["loc"], bound.arguments["scale"]


#: Values below and above the support.
_OUTSIDE = {
    "logpdf": (-np.inf, -np.inf), "pdf": (0.0, 0.0), "cdf": (0.0, 1.0), "sf": (1.0, 0.0),
    "logcdf": (-np.inf, 0.0), "logsf": (0.0, -np.inf), "logpmf": (-np.inf, -np.inf),
    "pmf": (0.0, 0.0),
}  # fmt: skip


def only(good: Any, x: Any) -> Any:
    """Return x where it is good, else nan; and so are all derivatives there of what is made of it.

    Those of a constant nan would be 0. Parameters are often one number for many points: to choose
    among these, instead of the results, costs nothing.
    """
    return np.where(good, x, x * np.nan)


class Counts(Distribution):
    """A distribution on whole numbers: it has a location only.

    What is asked of other numbers is 0, or of the whole number below.
    """

    def _compute(self, name: str, x: Any, *args: Any, **kwargs: Any) -> Any:
        shapes, loc, _ = self._parameters(args, kwargs)
        assert self.valid is not None
        good = self.valid(*shapes)
        k = (as_array(x) - as_array(loc)) * 1.0
        found = self._within(name, lambda k: self.formulas[name](k, *shapes), np.floor(k), shapes)
        if name in ("pmf", "logpmf"):
            found = np.where(np.floor(k) == k, found, _OUTSIDE[name][0])
        # A formula may be without some of its arguments.
        lost = sum(shapes, k) * np.nan
        return np.where(good & ~np.isnan(k), found, lost)
