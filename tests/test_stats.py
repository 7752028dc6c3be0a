"""scipy.stats in traced code: distributions beside SciPy's own, tails beside mpmath."""

from __future__ import annotations

import copy
import functools
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.stats

import symgrad as sg
from symgrad.errors import UnsupportedError
from symgrad.scipy import stats
from symgrad.scipy._distribution import Counts
from symgrad.scipy._distributions import DISTRIBUTIONS

pytestmark = pytest.mark.usefixtures("few_kernels")

POINTS = np.array([
    -np.inf, -40, -3, -1.5, -1, -0.3, 0, 0.2, 0.5, 0.75, 1, 1.5, 2, 3, 5, 40, np.inf, np.nan,
])  # fmt: skip
SHARES = np.array([-0.1, 0, 1e-9, 0.01, 0.3, 0.5, 0.9, 1, 1.1, np.nan])
#: Shape parameters; the derivatives are asked for at the first of them.
SHAPES: dict[str, list[tuple[float, ...]]] = {
    "t": [(2.5,), (0.5,), (-1.0,)], "gamma": [(2.5,), (0.5,), (1.0,), (-1.0,)],
    "erlang": [(2.0,)], "chi2": [(3.0,), (1.0,), (2.0,)], "chi": [(3.0,), (1.0,)],
    "lognorm": [(0.5,), (-0.5,)], "beta": [(2.0, 3.0), (0.5, 0.5), (1.0, 1.0), (-1.0, 2.0)],
    "poisson": [(2.5,), (0.0,)], "bernoulli": [(0.3,), (0.0,), (1.5,)],
    "binom": [(5, 0.3), (5, 1.0)], "weibull_min": [(2.5,), (0.5,), (1.0,), (-1.0,)],
    "weibull_max": [(2.5,), (1.0,)], "invweibull": [(2.5,), (-1.0,)],
    "pareto": [(2.5,), (-1.0,)], "lomax": [(2.5,)], "invgamma": [(2.5,), (-1.0,)],
    "nbinom": [(2.5, 0.3), (4.0, 1.0)], "geom": [(0.3,), (1.5,)], "logser": [(0.3,), (1.5,)],
    "randint": [(-1, 4), (2, 1)], "hypergeom": [(20, 7, 6), (9, 8, 7)],
    "betabinom": [(5, 2.5, 0.7)], "dlaplace": [(0.8,)], "gennorm": [(1.5,), (0.7,)],
    "skewnorm": [(1.5,), (-2.0,), (0.0,)], "exponnorm": [(1.5,)], "vonmises": [(1.5,), (0.0,)],
    "johnsonsu": [(0.5, 1.5), (0.5, -1.0)], "johnsonsb": [(0.5, 1.5)], "genlogistic": [(1.5,)],
    "loggamma": [(1.5,)], "gompertz": [(1.5,)], "burr": [(2.5, 1.5)], "burr12": [(2.5, 1.5)],
    "genpareto": [(0.5,), (-0.5,), (0.0,), (-1.0,)],
    "genextreme": [(0.5,), (-0.5,), (0.0,), (1.0,)],
    "fisk": [(2.5,)], "nakagami": [(1.5,)], "gengamma": [(1.5, 2.5), (1.5, -2.5)],
    "invgauss": [(1.5,), (0.2,)],
    "rice": [(1.5,), (0.0,)], "f": [(5.0, 3.0), (1.0, 8.0)], "betaprime": [(2.0, 1.5)],
    "powerlaw": [(1.5,)], "loguniform": [(0.5, 3.0)], "truncexpon": [(3.0,)],
    "triang": [(0.3,), (0.0,), (1.0,)],
    "truncnorm": [(-1.0, 2.0), (0.5, 3.0), (-3.0, -0.7), (-np.inf, 1.0), (0.1, np.inf)],
    "laplace_asymmetric": [(1.5,), (-1.0,)], "skewcauchy": [(0.3,), (-0.6,), (1.0,)],
    "dweibull": [(1.5,)], "dgamma": [(1.5,), (1.0,)], "norminvgauss": [(2.0, 0.5), (1.0, -1.5)],
    "crystalball": [(1.0, 2.5), (1.0, 0.5)], "pearson3": [(0.7,), (-1.5,), (0.0,)],
    "fatiguelife": [(0.7,)], "exponweib": [(1.5, 2.5)], "foldnorm": [(1.2,), (0.0,), (-1.0,)],
    "truncpareto": [(2.0, 5.0), (-1.5, 3.0)], "bradford": [(2.0,)], "reciprocal": [(0.5, 3.0)],
    "skellam": [(2.0, 1.2)],
}  # fmt: skip


def shapes_of(name: str) -> list[tuple[float, ...]]:
    return SHAPES.get(name, [()])


@pytest.mark.quick(6)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions_are_scipys(name: str) -> None:
    ours, original = getattr(stats, name), getattr(scipy.stats, name)
    counts = isinstance(ours, Counts)

    def every(x: Any, q: Any, *p: Any) -> Any:
        return [getattr(ours, m)(q if m in ("ppf", "isf") else x, *p) for m in ours.formulas]

    with sg.backend("numpy"), np.errstate(all="ignore"):
        compiled = sg.compile(every)
        for shapes in shapes_of(name):
            for place in ((1.0,),) if counts else ((0.0, 1.0), (0.5, 2.0), (1.0, -1.0)):
                found = compiled(POINTS, SHARES, *map(float, (*shapes, *place)))
                for method, got in zip(ours.formulas, found, strict=True):
                    given = SHARES if method in ("ppf", "isf") else POINTS
                    want = getattr(original, method)(given, *shapes, *place)
                    if not original._argcheck(*shapes):
                        assert np.isnan(got).all()
                        continue
                    lost = np.isnan(want) & np.isinf(given)  # SciPy's inf - inf
                    assert not (np.isfinite(got[lost]) & (got[lost] != 0)).any()
                    want = np.where(lost, got, want)
                    if method.startswith("log"):  # SciPy's may be those of what underflows
                        under = (want < -700) & (got < -700)
                        got, want = got[~under], want[~under]
                    if method in ("ppf", "isf"):  # SciPy's may be those of 1 - q
                        back = original.cdf if method == "ppf" else original.sf
                        same = np.abs(back(got, *shapes, *place) / SHARES - 1) < 1e-11
                        got = np.where(same & np.isclose(got, want, rtol=1e-5), want, got)
                    np.testing.assert_allclose(
                        got, want, rtol=2e-12, atol=1e-15 if method[0] == "l" else 1e-30,
                        err_msg=f"{name}{shapes}.{method} at {place}",
                    )  # fmt: skip


@pytest.mark.quick(6)
@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize("name", [n for n in DISTRIBUTIONS if n in SHAPES])
def test_shapes_are_allowed_where_scipys_are(name: str) -> None:
    ours, original = getattr(stats, name), getattr(scipy.stats, name)
    method = "pmf" if isinstance(ours, Counts) else "pdf"
    f = sg.compile(lambda *p: getattr(ours, method)(1.0, *p))
    first = np.array(shapes_of(name)[0], dtype=float)
    for k in range(len(first)):
        for value in (-2.0, -0.5, 0.5, 2.0):
            shapes = first.copy()
            shapes[k] = value
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                allowed = bool(original._argcheck(*shapes))
                found = f(*shapes)
            if np.all(shapes == np.floor(shapes)) or method == "pdf":
                assert np.isnan(found) != allowed, shapes


@pytest.mark.quick(6)
@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_derivatives_of_distributions(name: str) -> None:
    """By all arguments, in and out of the support: differences agree, and nothing is nan."""
    ours, original = getattr(stats, name), getattr(scipy.stats, name)
    counts = isinstance(ours, Counts)
    shapes = np.array(shapes_of(name)[0])
    scale = () if counts else (2.0,)
    whole = {"erlang": 1, "binom": 1, "randint": 2, "hypergeom": 3, "betabinom": 1}.get(name, 0)
    for method in ours.formulas:
        quantile = method in ("ppf", "isf")
        wanted = [] if counts else [0, *range(1 + len(shapes), 3 + len(shapes))]
        wanted += range(1 + whole, 1 + len(shapes))
        gradient = sg.grad(lambda x, *p, m=method: getattr(ours, m)(x, *p), argnums=tuple(wanted))
        shares = (0.3, 0.7) if counts else (0.3, 0.5, 0.7)
        for x in shares if quantile else (-2.0, 1.0, 3.0) if counts else (-1.2, 0.8, 1.7):
            args = np.array([x, *shapes, 0.0 if counts else 0.25, *scale])
            found = gradient(*map(float, args)) if wanted else ()
            for k, value in zip(wanted, found, strict=True):
                h = 1e-5 * np.eye(len(args))[k]
                ahead, behind = (getattr(original, method)(*(args + s)) for s in (h, -h))
                want = 0.0 if ahead == behind else (ahead - behind) / 2e-5
                assert value == pytest.approx(want, rel=2e-5, abs=1e-7), (method, x, k)


@pytest.mark.quick(6)
@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_derivatives_are_nan_where_parameters_are_not_allowed(name: str) -> None:
    """Where SciPy's value is nan no derivative is a number, by the point or a parameter."""
    ours, original = getattr(stats, name), getattr(scipy.stats, name)
    legal = np.array([*shapes_of(name)[0], 0.25, *(() if isinstance(ours, Counts) else (2.0,))])
    count, loc = len(legal), len(shapes_of(name)[0])
    whole = {"erlang": 1, "binom": 1, "randint": 2, "hypergeom": 3, "betabinom": 1}.get(name, 0)
    for method in ours.formulas:
        quantile = method in ("ppf", "isf")

        def both(x: Any, *p: Any, m: str = method) -> Any:
            return getattr(ours, m)(x, *p)

        rising = sg.value_and_grad(both, argnums=tuple(range(1 + count)))
        pushed = sg.compile(lambda a, t, f=both: sg.jvp(f, a, t))
        once = 0
        for k in range(-1, count):
            for value in (-2.0, 0.0, 1.5, 9.0, np.nan):
                if np.isnan(value) and k in (-1, loc):
                    continue  # a slope may be without the point
                args = np.array([0.3 if quantile else 1.0, *legal])
                args[k + 1] = value
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    want = getattr(original, method)(*args)
                    got, slopes = rising(*args)
                legal_whole = bool((args[1 : 1 + whole] % 1 == 0).all())
                if not np.isnan(want) or not legal_whole:
                    continue
                assert np.isnan(got), (method, args)
                assert np.isnan(slopes).all(), (method, args, slopes)
                if not once:
                    tangents = tuple(np.eye(1 + count)[k + 1])
                    assert np.isnan(pushed(tuple(args), tangents)).all(), (method, args)
                once += 1
        assert once, method


def test_a_wrong_scale_says_nothing_of_the_other_elements() -> None:
    """One nan of a batch leaves the other elements' derivatives, of any order, as they are."""
    x, scale = np.array([0.3, -np.inf, 0.7, 1.0]), np.array([0.5, 2.0, -1.0, 0.0])
    log = lambda x, s: stats.norm.logpdf(x, 0.5, s)  # noqa: E731
    alone = sg.grad(log, argnums=(0, 1))(x[0], scale[0])
    chosen = lambda x, s: np.sum(np.where((s > 0) & np.isfinite(x), log(x, s), 0.0))  # noqa: E731
    for found, want in zip(sg.grad(chosen, argnums=(0, 1))(x, scale), alone, strict=True):
        np.testing.assert_array_equal(found, [want, 0.0, 0.0, 0.0])
    by_each = sg.vmap(sg.grad(log, argnums=(0, 1)))
    for found, want in zip(by_each(x, scale), alone, strict=True):
        np.testing.assert_array_equal(found, [want, 0.0, np.nan, np.nan])
    second = sg.hessian(lambda s: log(0.3, s))
    assert second(0.5) == pytest.approx(1 / 0.25 - 3 * 0.04 / 0.0625, rel=1e-14)
    assert np.isnan(second(-0.5))


#: Far tails: the method, its arguments, and the same by mpmath.
TAILS: dict[str, tuple[Callable[..., Any], tuple[float, ...], Callable[..., Any]]] = {
    "weibull_min.cdf": (stats.weibull_min.cdf, (1e-9, 2.0), lambda z, c: -mp.expm1(-(z**c))),
    "weibull_min.logcdf": (
        stats.weibull_min.logcdf, (9.0, 2.0), lambda z, c: mp.log1p(-mp.exp(-(z**c))),
    ),
    "gumbel_r.logsf": (
        stats.gumbel_r.logsf, (60.0,), lambda z: mp.log(-mp.expm1(-mp.exp(-z))),
    ),
    "genpareto.sf": (
        stats.genpareto.sf, (1e12, 1e-12), lambda z, c: (1 + c * z) ** (-1 / c),
    ),
    "genextreme.logpdf": (
        stats.genextreme.logpdf, (40.0, 1e-3),
        lambda z, c: (1 / c - 1) * mp.log1p(-c * z) - (1 - c * z) ** (1 / c),
    ),
    "genpareto.isf": (
        stats.genpareto.isf, (1e-200, 1e-5), lambda q, c: mp.expm1(-c * mp.log(q)) / c,
    ),
    "lognorm.logsf": (
        stats.lognorm.logsf, (1e30, 1.5), lambda z, s: mp.log(mp.ncdf(-mp.log(z) / s)),
    ),
    "fisk.sf": (stats.fisk.sf, (1e100, 2.5), lambda z, c: 1 / (1 + z**c)),
    "johnsonsu.sf": (
        stats.johnsonsu.sf, (1e6, 0.5, 2.0), lambda z, a, b: mp.ncdf(-(a + b * mp.asinh(z))),
    ),
    "moyal.sf": (stats.moyal.sf, (80.0,), lambda z: mp.erf(mp.exp(-z / 2) / mp.sqrt(2))),
    "levy.sf": (stats.levy.sf, (1e30,), lambda z: mp.erf(mp.sqrt(1 / (2 * z)))),
    "halflogistic.cdf": (stats.halflogistic.cdf, (1e-12,), lambda z: mp.tanh(z / 2)),
    "f.sf": (
        stats.f.sf, (1e9, 5.0, 3.0),
        lambda z, m, n: mp.betainc(n / 2, m / 2, 0, n / (n + m * z), regularized=True),
    ),
    "betaprime.cdf": (
        stats.betaprime.cdf, (1e-40, 2.0, 1.5),
        lambda z, a, b: mp.betainc(a, b, 0, z / (1 + z), regularized=True),
    ),
    "truncnorm.logpdf": (
        stats.truncnorm.logpdf, (31.0, 30.0, 32.0),
        lambda z, a, b: mp.log(mp.npdf(z)) - mp.log(mp.ncdf(-a) - mp.ncdf(-b)),
    ),
    "truncnorm.sf": (
        stats.truncnorm.sf, (-20.0, -21.0, -19.0),
        lambda z, a, b: (mp.ncdf(b) - mp.ncdf(z)) / (mp.ncdf(b) - mp.ncdf(a)),
    ),
    "invgauss.logsf": (
        stats.invgauss.logsf, (60.0, 0.5),
        lambda z, m: mp.log(
            mp.ncdf(-(z / m - 1) / mp.sqrt(z))
            - mp.exp(2 / m) * mp.ncdf(-(z / m + 1) / mp.sqrt(z))
        ),
    ),
    "rice.logpdf": (
        stats.rice.logpdf, (300.0, 280.0),
        lambda z, b: mp.log(z) - (z * z + b * b) / 2 + mp.log(mp.besseli(0, z * b)),
    ),
    "hypsecant.logsf": (
        stats.hypsecant.logsf, (300.0,), lambda z: mp.log(2 / mp.pi * mp.atan(mp.exp(-z))),
    ),
    "skewnorm.logpdf": (
        stats.skewnorm.logpdf, (-30.0, 3.0),
        lambda z, a: mp.log(2 * mp.npdf(z)) + mp.log(mp.ncdf(a * z)),
    ),
    "moyal.logpdf": (
        stats.moyal.logpdf, (800.0,), lambda z: mp.log(mp.npdf(mp.exp(-z / 2))) - z / 2,
    ),
    "moyal.logsf": (
        stats.moyal.logsf, (1000.0,), lambda z: mp.log(mp.erf(mp.exp(-z / 2) / mp.sqrt(2)))
    ),
    "maxwell.logpdf": (
        stats.maxwell.logpdf, (1e-200,),
        lambda z: mp.log(mp.sqrt(2 / mp.pi)) + 2 * mp.log(z) - z * z / 2,
    ),
    "geom.logsf": (stats.geom.logsf, (1e6, 0.3), lambda k, p: k * mp.log1p(-p)),
    "poisson.logcdf": (
        stats.poisson.logcdf, (40.0, 2.5),
        lambda k, m: mp.log1p(-mp.gammainc(k + 1, 0, m, regularized=True)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TAILS)
@pytest.mark.usefixtures("no_kernels")
def test_tails(name: str) -> None:
    method, args, exact = TAILS[name]
    found = sg.compile(lambda *x: method(*x))(*args)
    with mp.workdps(400):
        want = float(exact(*map(mp.mpf, args)))
    assert found == pytest.approx(want, rel=2e-12, abs=0)


def test_a_density_that_overflows_inside_is_zero() -> None:
    x = np.array([-800.0, 1.0, 800.0])
    found = sg.compile(lambda x: stats.loggamma.logpdf(x, 1.5))(x)
    np.testing.assert_allclose(found[:2], stats.loggamma.logpdf(x[:2], 1.5), rtol=1e-13)
    assert found[2] == -np.inf


def test_gaussian_kde() -> None:
    rng = np.random.default_rng(0)
    flat, plane = rng.normal(size=30), rng.normal(size=(2, 25))
    w = rng.uniform(size=30)
    for points, asked, options in (
        (flat, np.linspace(-3, 3, 7), {}),
        (flat, np.linspace(-3, 3, 7), {"bw_method": "silverman", "weights": w}),
        (flat, 0.5, {"bw_method": 0.3}),
        (plane, rng.normal(size=(2, 4)), {}),
        (plane, np.array([0.5, 0.1]), {"bw_method": lambda k: 0.7 * k.scotts_factor()}),
    ):
        f = lambda d, x, o=options: scipy.stats.gaussian_kde(d, **o)(x)  # noqa: E731
        np.testing.assert_allclose(sg.compile(f)(points, asked), f(points, asked), rtol=1e-10)
    held = scipy.stats.gaussian_kde(flat, weights=w)
    g = sg.value_and_grad(lambda x: held.logpdf(x)[0] + held.integrate_box_1d(-1.0, x))
    for _ in range(2):
        value, slope = g(0.5)
        want = held.logpdf(0.5)[0] + held.integrate_box_1d(-1.0, 0.5)
        assert value == pytest.approx(want, rel=1e-10)
        ends = [
            held.logpdf(0.5 + s)[0] + held.integrate_box_1d(-1.0, 0.5 + s) for s in (1e-6, -1e-6)
        ]
        assert slope == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6)
        held = scipy.stats.gaussian_kde(flat + 0.3, weights=w)  # another object in the name


def test_vectors() -> None:
    rng = np.random.default_rng(1)
    shape = np.array([[2.0, 0.3], [0.3, 1.0]])
    x = rng.normal(size=(5, 2))
    student = lambda x, m, s, df: scipy.stats.multivariate_t.logpdf(x, m, s, df)  # noqa: E731
    args = (x, np.array([0.5, 1.0]), shape, 2.5)
    np.testing.assert_allclose(sg.compile(student)(*args), student(*args), rtol=1e-12)
    alpha, shares = np.array([1.5, 0.5, 3.0]), rng.dirichlet([1, 1, 1], size=4).T
    f = lambda x, a: scipy.stats.dirichlet.logpdf(x, a)  # noqa: E731
    for given in (shares, shares[:, 0], shares[:-1]):
        np.testing.assert_allclose(sg.compile(f)(given, alpha), f(given, alpha), rtol=1e-12)
    held = scipy.stats.dirichlet(alpha), scipy.stats.multivariate_t([0.5, 1.0], shape, 2.5)
    g = lambda x, y: held[0].pdf(x) + held[1].pdf(y)  # noqa: E731
    compiled = sg.compile(g)(shares[:, 0], x[0])
    assert compiled == pytest.approx(g(shares[:, 0], x[0]), rel=1e-12)
    slope = sg.grad(lambda df: student(x[0], args[1], shape, df))(2.5)
    ends = [student(x[0], args[1], shape, 2.5 + s) for s in (1e-6, -1e-6)]
    assert slope == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6)


def test_vectors_with_parameters_that_are_not_allowed() -> None:
    """SciPy raises an error, which traced values cannot; nothing is a number."""
    eye, both = np.eye(2), np.array([0.4, 0.6])
    student = lambda x, df: stats.multivariate_t.logpdf(x, both, eye, df)  # noqa: E731
    dirichlet = stats.dirichlet.logpdf
    for f, args in (
        (student, (both, -1.5)),
        (dirichlet, (both, np.array([1.5, -0.5]))),
        (dirichlet, (np.array([0.4, 0.7]), np.array([1.5, 0.5]))),
    ):
        value, slopes = sg.value_and_grad(f, argnums=(0, 1))(*args)
        assert np.isnan(value)
        assert np.isnan(slopes[0]).all()
        if f is student or args[1][1] < 0:
            assert np.isnan(slopes[1]).all()


MOMENTS = ("mean", "var", "std", "entropy", "median", "stats")


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_moments_are_scipys(name: str) -> None:
    """Of all that are known; at parameters that are not allowed nan."""
    original, known = getattr(scipy.stats, name), DISTRIBUTIONS[name].known
    counts = isinstance(original, scipy.stats.rv_discrete)
    for shapes in [*shapes_of(name), tuple(-1.0 for _ in shapes_of(name)[0])]:
        given = np.array([*shapes, 2.0] if counts else [*shapes, 0.3, 1.7])
        for method in MOMENTS:
            if method not in known:
                continue

            def f(p: Any, method: str = method) -> Any:
                found = getattr(original, method)(*p)
                return np.stack(found) if method == "stats" else found

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of SciPy's, where parameters are not allowed
                want = f(given)
                wanted = [(f(given + e) - f(given - e)) / 2e-6 for e in 1e-6 * np.eye(len(given))]
            with sg.backend("numpy"):
                found, slope = sg.compile(f)(given), sg.jacobian(f)(given)
            np.testing.assert_allclose(found, want, rtol=1e-10, err_msg=f"{method} {shapes}")
            if method == "median" and shapes != shapes_of(name)[0]:
                continue  # a quantile's derivatives are tested above
            usual = np.isfinite(wanted) & ((np.asarray(want) > 0) | (method != "std"))
            np.testing.assert_allclose(
                np.moveaxis(slope, -1, 0)[usual], np.array(wanted)[usual], 1e-4, 1e-4
            )


def test_moments_of_many_parameters() -> None:
    a, loc = np.array([[1.0], [2.0]]), np.zeros(3)
    found = sg.compile(lambda a: scipy.stats.beta.var(a, 2.0, loc=loc))(a)
    np.testing.assert_allclose(found, scipy.stats.beta.var(a, 2.0, loc=loc))

    def ends(p: Any) -> Any:
        frozen = scipy.stats.gamma(p[0], scale=p[1])
        return np.stack([*frozen.interval(0.9), frozen.mean(), frozen.stats(moments="v")])

    np.testing.assert_allclose(sg.compile(ends)(np.array([2.0, 3.0])), ends([2.0, 3.0]))
    entropies = sg.vmap(scipy.stats.gamma.entropy)(np.array([1.0, 2.0]))
    np.testing.assert_allclose(entropies, scipy.stats.gamma.entropy([1.0, 2.0]))
    for call in (
        lambda a: scipy.stats.gamma.stats(a, moments="mvsk"),
        lambda a: scipy.stats.gamma.moment(3, a),
    ):
        with pytest.raises(UnsupportedError, match="can be"):
            sg.compile(call)(2.0)


def softmax(t: Any) -> Any:
    return np.exp(t) / np.sum(np.exp(t))


COUNTS = np.array([[1, 2, 3], [0, 6, 0], [2, 2, 1], [-1, 4, 3]])
V, W = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([[1.0, 0.2], [0.2, 3.0]])
OUTSIDE = scipy.stats.wishart(4.0, V), scipy.stats.multinomial(6, [0.25, 0.5, 0.25])
OF_ARRAYS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "one": (lambda t: scipy.stats.multinomial.logpmf(COUNTS[0], 6, softmax(t)), [0.1, 0.2, 0.3]),
    "rows": (lambda t: scipy.stats.multinomial(6, softmax(t)).logpmf(COUNTS), [0.1, 0.2, 0.3]),
    "trials": (
        lambda t: scipy.stats.multinomial.pmf(COUNTS, [6, 6, 5, 6], np.stack([softmax(t)] * 4)),
        [0.1, 0.2, 0.3]),
    "not allowed": (
        lambda p: scipy.stats.multinomial.logpmf(COUNTS[0], 6, np.append(p, 1 - p[0] - p[1])),
        [-0.25, 0.75]),
    "matrix": (lambda p: scipy.stats.wishart.logpdf(W, p[0], p[1] * V), [3.5, 1.2]),
    "matrices": (
        lambda p: scipy.stats.wishart(p[0], p[1] * V).pdf(np.stack([W, 2 * W], -1)), [3.5, 1.2]),
    "diagonal": (lambda p: scipy.stats.wishart.logpdf(np.outer(p, p) * W, 4.0, p), [3.5, 1.2]),
    "numbers": (lambda p: scipy.stats.wishart.logpdf(p, 3.0, 1.5), [3.5, 1.2]),
    "made outside": (lambda p: OUTSIDE[0].logpdf(p[0] * W) + p[1], [3.5, 1.2]),
}  # fmt: skip


@pytest.mark.parametrize("case", OF_ARRAYS)
def test_counts_and_matrices(case: str) -> None:
    f, at = OF_ARRAYS[case]
    x = np.array(at)
    with sg.backend("numpy"):
        found, slopes = sg.compile(f)(x), sg.jacobian(f)(x)
    np.testing.assert_allclose(found, f(x), rtol=1e-11)
    with np.errstate(invalid="ignore"):
        want = np.stack([(f(x + e) - f(x - e)) / 2e-6 for e in 1e-6 * np.eye(len(x))], -1)
    usual = np.isfinite(want)
    np.testing.assert_allclose(slopes[usual], want[usual], rtol=1e-6, atol=1e-7)


def test_a_matrix_that_is_not_positive_definite_has_no_density() -> None:
    f = sg.compile(lambda x: scipy.stats.wishart.logpdf(x, 4.0, np.eye(2)))
    assert np.isnan(f(-np.eye(2)))


@pytest.mark.parametrize("name", ["genpareto", "genextreme"])
@pytest.mark.parametrize("method", ["logpdf", "cdf", "logsf", "ppf"])
@pytest.mark.parametrize("c", [0.0, 1e-9, -1e-4, 0.3])
def test_tails_by_a_shape_of_zero(name: str, method: str, c: float) -> None:
    """Fits of extremes begin there; the formulas have a quotient by the shape."""
    f = getattr(getattr(scipy.stats, name), method)
    x = np.array([0.1, 0.45, 0.9])
    with sg.backend("numpy"):
        slope = sg.jacobian(lambda c: f(x, c))(c)
        second = sg.jacobian(sg.jacobian(lambda c: f(x, c)))(c)
    h = 1e-3
    around = [f(x, c + k * h) for k in (-2, -1, 1, 2)]
    want = (around[0] - 8 * around[1] + 8 * around[2] - around[3]) / (12 * h)
    np.testing.assert_allclose(slope, want, rtol=1e-8, atol=1e-9)
    middle = -30 * f(x, c) + 16 * (around[1] + around[2]) - around[0] - around[3]
    np.testing.assert_allclose(second, middle / (12 * h**2), rtol=1e-5, atol=1e-6)


SUMMARIES: dict[str, Callable[[Any], Any]] = {
    "skew": stats.skew,
    "skew of rows": lambda x: stats.skew(x, axis=1, bias=False, keepdims=True),
    "kurtosis": stats.kurtosis,
    "kurtosis of all": lambda x: stats.kurtosis(x, axis=None, fisher=False, bias=False),
    "zscore": lambda x: stats.zscore(x, ddof=1),
    "zscore of all": lambda x: stats.zscore(x, axis=None),
    "sem": lambda x: stats.sem(x, axis=-1),
    "variation": lambda x: stats.variation(x, ddof=1),
    "gmean": stats.gmean,
    "gmean weighted": lambda x: stats.gmean(x[0], weights=x[1]),
    "gmean of all, weighted": lambda x: stats.gmean(x[:3], axis=None, weights=x[3:]),
    "hmean": lambda x: stats.hmean(x, axis=1),
    "hmean weighted": lambda x: stats.hmean(x[0], weights=x[1]),
    "moment": lambda x: stats.moment(x, 3, axis=1),
    "moment about": lambda x: stats.moment(x, order=2, center=0.5),
    "entropy": lambda x: stats.entropy(x, base=2),
    "entropy between": lambda x: stats.entropy(x, x[:, :1], axis=0),
    "tmean": stats.tmean,
    "tvar": lambda x: stats.tvar(x, axis=1),
    "tstd": lambda x: stats.tstd(x, ddof=0, keepdims=True),
    "pmean": lambda x: stats.pmean(x, 2.5),
    "pmean of power 0": lambda x: stats.pmean(x, 0, axis=1),
    "pmean weighted": lambda x: stats.pmean(x[0], -1, weights=x[1]),
    "gstd": stats.gstd,
    "gzscore": lambda x: stats.gzscore(x, axis=1),
    "zmap": lambda x: stats.zmap(x[:2], x[2:], ddof=1),
    "zmap of all": lambda x: stats.zmap(x[:2], x, axis=None),
    "iqr": stats.iqr,
    "iqr of rows": lambda x: stats.iqr(x, axis=1, rng=(60, 20), scale="normal", keepdims=True),
    "median_abs_deviation": stats.median_abs_deviation,
    "median_abs_deviation from the mean": lambda x: stats.median_abs_deviation(
        x, axis=1, center=np.mean, scale="normal"
    ),
    "trim_mean": lambda x: stats.trim_mean(x, 0.2),
    "trim_mean of all": lambda x: stats.trim_mean(x, 0.1, axis=None),
    "circmean": lambda x: stats.circmean(x, high=1.0),
    "circmean of rows": lambda x: stats.circmean(7 * x, axis=1, low=-np.pi, high=np.pi),
    "circvar": lambda x: stats.circvar(x, axis=0),
    "circstd": lambda x: stats.circstd(x, high=3.0),
    "circstd normalized": lambda x: stats.circstd(x, high=3.0, normalize=True),
    "pearsonr": lambda x: np.array(stats.pearsonr(x[0], x[1])),
    "pearsonr of columns": lambda x: np.array(stats.pearsonr(x[:, :2], x[:, 2:4])),
    "pearsonr by name": lambda x: stats.pearsonr(x[0], x[1]).correlation,
    "linregress": lambda x: np.array(stats.linregress(x[0], x[1])),
    "linregress by name": lambda x: stats.linregress(x[:, 0], x[:, 1]).intercept_stderr,
    "ttest_1samp": lambda x: np.array(stats.ttest_1samp(x, 0.5)),
    "ttest_1samp about a mean a row": lambda x: np.array(
        stats.ttest_1samp(x, x[:, :1] ** 2, axis=1)
    ),
    "ttest_1samp of rows": lambda x: np.array(
        stats.ttest_1samp(x, x[:, :1] ** 2, axis=1, keepdims=True)
    ),
    "linregress of rows": lambda x: np.array(stats.linregress(x[:3], x[3:], axis=1, keepdims=True)),
    "jarque_bera of all": lambda x: np.array(stats.jarque_bera(x, keepdims=True)),
    "ttest_rel": lambda x: np.array(stats.ttest_rel(x[0], x[1])),
    "ttest_ind": lambda x: np.array(stats.ttest_ind(x[0], x[1, 1:])),
    "ttest_ind by Welch": lambda x: np.array(stats.ttest_ind(x[:3], x[3:], equal_var=False)),
    "ttest_ind's freedom": lambda x: stats.ttest_ind(x[0], x[1, 1:], equal_var=False).df,
    "interval of a mean": lambda x: np.array(stats.ttest_1samp(x[0], 0.4).confidence_interval(0.9)),
    "interval by Welch": lambda x: np.array(
        stats.ttest_ind(x[0], x[1, 1:], equal_var=False).confidence_interval()
    ),
    "interval of a correlation": lambda x: np.array(
        stats.pearsonr(x[:, 0], x[:, 1]).confidence_interval(0.8)
    ),
    "wasserstein_distance": lambda x: stats.wasserstein_distance(x[0], x[1, 1:]),
    "wasserstein_distance weighted": lambda x: stats.wasserstein_distance(x[0], x[1], x[2], x[3]),
    "energy_distance": lambda x: stats.energy_distance(x[0], x[1:].ravel()),
    "boxcox": lambda x: stats.boxcox(x[0], 0.4),
    "boxcox_llf": lambda x: stats.boxcox_llf(0.4, x),
    "boxcox_llf of logarithms": lambda x: stats.boxcox_llf(0, x, axis=1),
    "yeojohnson": lambda x: stats.yeojohnson(x[0] - 0.7, 0.4),
    "yeojohnson_llf": lambda x: stats.yeojohnson_llf(1.4, x - 0.7),
}


@pytest.mark.parametrize("name", SUMMARIES)
def test_summaries_of_data(name: str) -> None:
    f = SUMMARIES[name]
    rng = np.random.default_rng(8)
    x, way, h = rng.random((6, 5)) + 0.2, rng.normal(size=(6, 5)), 1e-5
    np.testing.assert_allclose(sg.compile(f)(x), f(x), rtol=1e-13)
    _, found = sg.jvp(f, (x,), (way,))
    near, far = ((f(x + s * way) - f(x - s * way)) / (2 * s) for s in (h, 2 * h))
    np.testing.assert_allclose(found, (4 * near - far) / 3, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", ["boxcox_llf", "yeojohnson_llf"])
def test_likelihood_of_an_exponent(name: str) -> None:
    """The derivative by the exponent, 0 and 2 included, where transforms are logarithms."""
    f = getattr(stats, name)
    data = np.array([0.3, 1.2, 0.7, 2.5, 4.0])
    for exponent in (0.0, 0.3, 1.0, 2.0):
        near, far = (
            (f(exponent + h, data) - f(exponent - h, data)) / (2 * h) for h in (1e-3, 2e-3)
        )
        found = sg.grad(lambda p: f(p, data))(exponent)
        np.testing.assert_allclose(found, (4 * near - far) / 3, rtol=1e-8, atol=1e-9)


def test_correlations_at_their_ends() -> None:
    x = np.array([1.0, 2.0, 4.0])
    value, slope = sg.value_and_grad(lambda y: stats.pearsonr(x, y)[0])(3 * x + 1)
    assert value == pytest.approx(1.0)
    np.testing.assert_allclose(slope, 0, atol=1e-8)
    assert np.isnan(sg.compile(lambda y: stats.pearsonr(x, y)[0])(np.ones(3)))
    two = sg.compile(lambda y: stats.pearsonr(x[:2], y))(np.array([3.0, 1.0]))
    assert tuple(two) == pytest.approx((-1.0, 1.0))
    assert sg.grad(lambda a: stats.pearsonr(x * a, x)[0])(1e200) == pytest.approx(0)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "alternative": lambda x: stats.pearsonr(x, x, alternative="less"),
    "nan_policy": lambda x: stats.ttest_1samp(x, 0.0, nan_policy="omit"),
    "trim": lambda x: stats.ttest_ind(x, x, trim=0.1),
    "limits": lambda x: stats.tmean(x, (0, 1)),
    "lmbda": lambda x: stats.boxcox(x)[0],
    "dtype": lambda x: stats.pmean(x, 2, dtype=np.float32),
}


@pytest.mark.parametrize("option", REFUSED)
def test_options_that_are_not_followed_are_named(option: str) -> None:
    with pytest.raises(sg.errors.UnsupportedError, match=f"{option}=.*Write instead"):
        sg.grad(lambda x: np.sum(REFUSED[option](x)[0]))(np.array([1.0, 2.0, 4.0]))


def test_as_scipy_says_of_wrong_samples() -> None:
    wrong: tuple[tuple[Callable[[Any], Any], str], ...] = (
        (lambda x: stats.pearsonr(x, np.ones(2)), "same length"),
        (lambda x: stats.pearsonr(x[:1], x[:1]), "at least 2"),
        (lambda x: stats.linregress(x[:2], x[:2]), "three points"),
        (lambda x: stats.trim_mean(x, 0.7), "Proportion too big"),
        (lambda x: stats.iqr(x, scale="odd"), "valid scale"),
        (lambda x: stats.pmean(x, x), "exponent"),
    )
    for f, words in wrong:
        with pytest.raises(ValueError, match=words):
            sg.compile(f)(np.array([1.0, 2.0, 4.0]))


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
def test_ranks_of_data(method: Any) -> None:
    """Copulas and rank correlations are of them; ties, rows, nan, whole numbers, and nothing."""
    rng = np.random.default_rng(9)
    rows = np.round(rng.normal(size=(7, 12)), 1)
    with_nan = np.where(rng.random((7, 12)) < 0.05, np.nan, rows)
    compiled = sg.compile(lambda x: scipy.stats.rankdata(x, method))
    for x in (rows[0], rows, rows[:1, :1], rng.integers(0, 4, 9), np.zeros(0), with_nan[:, 0]):
        np.testing.assert_array_equal(compiled(x), scipy.stats.rankdata(x, method))
    for axis in (0, 1, -1):
        f = functools.partial(scipy.stats.rankdata, method=method, axis=axis)
        for x in (rows, with_nan):
            np.testing.assert_array_equal(sg.compile(f)(x), f(x))


def test_a_copula_by_ranks() -> None:
    rng = np.random.default_rng(10)
    x = rng.normal(size=30)
    y = x + rng.normal(size=30)

    def loss(theta: Any, x: Any, y: Any) -> Any:
        u, v = (scipy.stats.rankdata(a) / (len(a) + 1) for a in (x, y))
        density = (1 + theta) * (u * v) ** (-1 - theta)
        return -np.mean(np.log(density * (u**-theta + v**-theta - 1) ** (-2 - 1 / theta)))

    slope, by_data = sg.grad(loss, argnums=(0, 1))(1.2, x, y)
    step = (loss(1.2 + 1e-5, x, y) - loss(1.2 - 1e-5, x, y)) / 2e-5
    np.testing.assert_allclose(slope, step, rtol=1e-8)
    assert not by_data.any()


def test_results_of_plain_data_come_back() -> None:
    """SciPy's own result, of numbers that are read; its items, by place and by name."""
    data = [1.0, 2.0, 4.0, 3.0]
    value, found = sg.compile(lambda a: (a * 2, stats.pearsonr(data, data[::-1])))(1.5)
    want = stats.pearsonr(data, data[::-1])
    assert value == 3.0
    assert tuple(found) == tuple(want)
    assert found.statistic == want.statistic


_RNG = np.random.default_rng(5)
_ONE, _SEEN = _RNG.normal(size=25), _RNG.uniform(5, 9, (6, 3))
_WANTED = np.roll(_SEEN, 1, axis=0)
TESTS: dict[str, tuple[Any, Any]] = {
    "spearmanr": (lambda x: scipy.stats.spearmanr(x, x**2 + _ONE[::-1]), _ONE),
    "chisquare": (lambda x: scipy.stats.chisquare(x, axis=None, ddof=1), _SEEN),
    "f_oneway": (lambda x: scipy.stats.f_oneway(x, _ONE[:20] + 1, _ONE[::-1]), _ONE),
    "f_oneway, rows": (lambda x: scipy.stats.f_oneway(x, x**2, axis=1), _SEEN),
    "jarque_bera": (scipy.stats.jarque_bera, _ONE),
    "skewtest": (scipy.stats.skewtest, _ONE),
    "kurtosistest": (scipy.stats.kurtosistest, _ONE),
    "normaltest": (scipy.stats.normaltest, _ONE),
    "scoreatpercentile": (lambda x: scipy.stats.scoreatpercentile(x, [20, 50.0]), _ONE),
    **{
        f"power_divergence, {power}": (
            lambda x, p=power: scipy.stats.power_divergence(
                x, _WANTED * np.sum(x, 0) / np.sum(_WANTED, 0), lambda_=p
            ),
            _SEEN,
        )
        for power in ("log-likelihood", "cressie-read", "neyman", "mod-log-likelihood")
    },
}


@pytest.mark.parametrize("name", TESTS)
def test_tests_of_samples(name: str) -> None:
    f, x = TESTS[name]

    def parts(x: Any) -> Any:
        return np.concatenate([np.ravel(part) for part in f(x)])

    np.testing.assert_allclose(sg.compile(parts)(x), parts(x), rtol=1e-12, atol=1e-15)
    along = np.random.default_rng(1).normal(size=x.shape)
    slope = (parts(x + 1e-6 * along) - parts(x - 1e-6 * along)) / 2e-6
    np.testing.assert_allclose(sg.jvp(parts, (x,), (along,))[1], slope, rtol=1e-6, atol=1e-7)


def test_a_correlation_of_ranks_has_its_older_name() -> None:
    found = sg.compile(lambda x: scipy.stats.spearmanr(x, x[::-1] ** 3).correlation)(_ONE)
    assert found == pytest.approx(scipy.stats.spearmanr(_ONE, _ONE[::-1] ** 3).correlation)


def test_frequencies_of_other_sums_are_nan() -> None:
    def distance(seen: Any, **options: Any) -> Any:
        return scipy.stats.chisquare(seen, np.array([1.0, 2.0]), **options).statistic

    seen = np.array([1.5, 2.5])
    assert np.isnan(sg.compile(distance)(seen))
    assert np.all(np.isnan(sg.grad(distance)(seen)))
    assert sg.compile(lambda x: distance(x, sum_check=False))(seen) == distance(
        seen, sum_check=False
    )
    assert np.isnan(sg.compile(scipy.stats.skewtest)(np.arange(5.0)).statistic)
    with pytest.raises(UnsupportedError, match="alternative"):
        sg.compile(lambda x: scipy.stats.skewtest(x, alternative="less"))(_ONE)


def test_negative_logarithms_of_likelihoods() -> None:
    data = np.array([0.4, 1.2, 2.5])
    for name, theta in (
        ("gamma", (1.5, 0.1, 2.0)),
        ("norm", (0.3, 1.7)),
        ("pareto", (2.0, 0, 3.0)),
    ):
        known = getattr(scipy.stats, name)
        nnlf = lambda t, known=known: known.nnlf(t, data)  # noqa: E731
        assert sg.compile(nnlf)(np.array(theta)) == pytest.approx(nnlf(theta), rel=1e-12)
    slope = sg.grad(lambda t: scipy.stats.norm.nnlf(t, data))(np.array([0.3, 1.7]))
    np.testing.assert_allclose(slope[0], -np.sum(data - 0.3) / 1.7**2)


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize(("name", "shapes", "x"), [
    ("burr", (1.0, 1.0), 0.0), ("burr", (2.0, 0.25), 0.0), ("exponweib", (1.0, 1.0), 0.0),
    ("betaprime", (1.0, 2.0), 0.0), ("powerlaw", (0.5,), 0.0), ("genextreme", (-0.5,), -2.0),
    ("genextreme", (2.0,), 0.5), ("pearson3", (2.0,), -1.0), ("pearson3", (-2.0,), 1.0),
    ("triang", (1.0,), 1.0), ("gamma", (1.0,), 0.0),
])  # fmt: skip
def test_densities_at_the_ends_of_supports_are_scipys(name: str, shapes: Any, x: float) -> None:
    density = sg.compile(lambda x, *p: getattr(stats, name).pdf(x, *p))
    with np.errstate(all="ignore"):
        assert density(x, *shapes) == getattr(scipy.stats, name).pdf(x, *shapes)


@pytest.mark.usefixtures("no_kernels")
def test_a_point_at_an_end_leaves_the_slopes_of_the_others() -> None:
    """A zero among the data has a density of 0 for all parameters near these, and adds no nan."""
    for name, shapes in {"gamma": (2.5,), "weibull_min": (1.5,), "fisk": (2.5,), "f": (5.0, 3.0),
                         "beta": (0.5, 0.5), "truncnorm": (0.0, 2.0)}.items():  # fmt: skip
        ours = getattr(stats, name)
        for method in ("cdf", "sf") if name in ("beta", "truncnorm") else ("pdf", "cdf", "sf"):
            total = lambda x, *p, m=method, d=ours: np.sum(getattr(d, m)(x, *p))  # noqa: E731
            slopes = sg.grad(total, argnums=tuple(range(1, 3 + len(shapes))))
            more, fewer = (slopes(np.array(x), *shapes, 0.0, 1.5) for x in ([0.0, 0.7], [0.7]))
            np.testing.assert_allclose(more, fewer, rtol=1e-15, err_msg=f"{name}.{method}")


#: Shapes of distributions on a part of the line.
ENDING: dict[str, tuple[float, ...]] = {
    "expon": (), "uniform": (), "halfnorm": (), "gamma": (2.0,), "beta": (2.0, 3.0),
    "pareto": (3.0,), "lomax": (2.0,), "weibull_min": (2.0,), "lognorm": (0.5,), "rayleigh": (),
    "genpareto": (-0.5,), "truncnorm": (-1.0, 2.0), "powerlaw": (2.0,), "loguniform": (1.0, 3.0),
    "arcsine": (), "invgamma": (2.0,), "norm": (), "cauchy": (), "genlogistic": (2.0,),
}  # fmt: skip


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.quick(3)
@pytest.mark.parametrize("name", ENDING)
def test_ends_of_supports_are_not_flat(name: str) -> None:
    """A quantile rises by one over the density; logarithms of probabilities fall to -inf."""
    original, shapes = getattr(scipy.stats, name), ENDING[name]
    for share in (0.0, 1.0):
        for method, sign in {"ppf": 1, "isf": -1}.items():
            if method not in getattr(stats, name).formulas:
                continue
            at = getattr(original, method)(share, *shapes)
            density = original.pdf(at, *shapes) if np.isfinite(at) else 0.0
            found = sg.grad(lambda q, m=method: getattr(getattr(stats, name), m)(q, *shapes))(share)
            if density == 0:
                assert not np.isfinite(found)
            else:
                want = sign / density if np.isfinite(density) else 0.0
                np.testing.assert_allclose(found, want, rtol=1e-14, atol=1e-14)
    with np.errstate(all="ignore"):
        for method, end in (("logcdf", 0), ("logsf", 1)):
            at = original.support(*shapes)[end]
            log = getattr(stats, name)
            if np.isfinite(at):
                slope = sg.grad(lambda x, m=method, d=log: getattr(d, m)(x, *shapes))(at)
                assert not np.isfinite(slope)


@pytest.mark.usefixtures("no_kernels")
def test_slopes_by_the_shape_where_the_density_is_flat() -> None:
    """At c = 1, -1 formulas hold the slope by c, too, and quantiles do at the shares 0 and 1."""
    for name, c in {"genextreme": 1.0, "genpareto": -1.0}.items():
        log, original = sg.grad(getattr(stats, name).logpdf, argnums=1), getattr(scipy.stats, name)
        want = (original.logpdf(0.25, c + 1e-6) - original.logpdf(0.25, c - 1e-6)) / 2e-6
        assert log(0.25, c) == pytest.approx(want, rel=1e-5)
    assert sg.grad(stats.genpareto.ppf, argnums=1)(1.0, -0.5) == 4.0


@pytest.mark.usefixtures("no_kernels")
def test_slopes_in_the_middle_of_a_power() -> None:
    """At its location a density like ``exp(-|z|**b)`` has slopes by what is not the point."""
    slopes = sg.grad(stats.gennorm.logpdf, argnums=(0, 2, 3))(0.5, 0.7, 0.5, 2.0)
    np.testing.assert_array_equal(slopes, (0.0, 0.0, -0.5))
    for b in (0.7, 1.5):
        slope = sg.grad(stats.gennorm.cdf)(0.5, b, 0.5, 2.0)
        assert slope == pytest.approx(scipy.stats.gennorm.pdf(0.5, b, 0.5, 2.0), rel=1e-14)


def test_pearsons_third_type_keeps_digits_near_the_normal_one() -> None:
    """SciPy's loses seven of them there; the value is that of 40 digits."""
    logpdf = sg.compile(lambda z, skew: scipy.stats.pearson3.logpdf(z, skew))
    assert logpdf(0.7, 1e-4) == pytest.approx(-1.163967816283912, rel=1e-12)
    slope = sg.grad(lambda skew: scipy.stats.pearson3.logpdf(0.7, skew))(0.0)
    assert slope == pytest.approx((0.7**3 - 3 * 0.7) / 6, rel=1e-14)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_skewness_of_few_numbers_and_of_one(n: int) -> None:
    x = np.random.default_rng(n).normal(size=(3, n))
    x[1] = 1 / 3  # whose mean is another number by rounding, of some lengths
    for f in (scipy.stats.skew, scipy.stats.kurtosis):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = f(x, axis=1, bias=False)
        np.testing.assert_allclose(sg.compile(lambda x, f=f: f(x, axis=1, bias=False))(x), want)


def test_data_that_are_one_number_have_no_scores() -> None:
    x, y = np.full(10, 1 / 3), np.arange(10.0)  # the mean of x is not 1/3
    assert np.isnan(sg.compile(scipy.stats.zscore)(x)).all()
    assert np.isnan(sg.compile(lambda x, y: tuple(scipy.stats.pearsonr(x, y)))(x, y)).all()


def test_weights_of_means_are_broadcast() -> None:
    x, w = np.arange(1.0, 10.0).reshape(3, 3), np.array([0.2, 0.5, 0.3])
    for mean in (scipy.stats.gmean, scipy.stats.hmean):
        for axis, weights in ((0, w), (1, w), (0, w[:, None]), (None, x)):
            f = lambda x, w, a=axis, mean=mean: mean(x, axis=a, weights=w)  # noqa: E731
            np.testing.assert_allclose(sg.compile(f)(x, weights), f(x, weights))


def test_one_observation_in_a_sample() -> None:
    x, y = np.array([0.3]), np.array([0.1, 0.5, 0.2])
    f = lambda x, y: tuple(scipy.stats.ttest_ind(x, y))  # noqa: E731
    np.testing.assert_allclose(sg.compile(f)(x, y), f(x, y))
    f = scipy.stats.entropy  # one share beside three is three
    np.testing.assert_allclose(sg.compile(f)(x, y), f(x, y))


def test_yeo_and_johnsons_transform_is_smooth_at_zero() -> None:
    f = sg.value_and_grad(lambda x: scipy.stats.yeojohnson(x, 0.3))
    assert f(0.0) == (0.0, 1.0)
    assert sg.grad(sg.grad(lambda x: scipy.stats.yeojohnson(x, 0.3)))(0.0) == -0.7
    np.testing.assert_allclose([f(1e-9)[1], f(-1e-9)[1]], 1.0)


def test_yeo_and_johnsons_likelihood_is_smooth_at_zero() -> None:
    data, way = np.array([0.0, 1.0, -2.0, 0.0, 3.0]), np.array([0.3, -1.0, 0.2, 0.9, 0.1])
    f = lambda x: scipy.stats.yeojohnson_llf(0.4, x)  # noqa: E731
    slope = (f(data + 1e-5 * way) - f(data - 1e-5 * way)) / 2e-5
    np.testing.assert_allclose(sg.grad(f)(data) @ way, slope, rtol=1e-4)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # SciPy's own
@pytest.mark.parametrize("name", ["laplace", "laplace_asymmetric", "dgamma", "dweibull"])
@pytest.mark.parametrize("shape", [1.0, 2.5])
def test_distribution_functions_have_densities_at_zero_too(name: str, shape: float) -> None:
    """Written by absolute values they had none there."""
    own = getattr(scipy.stats, name)
    given = () if name == "laplace" else (shape,)
    for z in (0.0, -0.0, 1e-300, -3.0, 40.0, -40.0, 800.0, -800.0):
        density = own.pdf(z, *given)
        for method, want in (("cdf", density), ("sf", -density)):
            f = lambda z, method=method: getattr(own, method)(z, *given)  # noqa: E731
            value, slope = sg.value_and_grad(f)(z)
            np.testing.assert_allclose([value, slope], [f(z), want], rtol=1e-12)


def test_students_vectors_without_tails_are_normal() -> None:
    x, cov = np.array([[0.3, -1.0], [2.0, 0.5]]), np.array([[2.0, 0.3], [0.3, 1.0]])
    f = lambda x, df: scipy.stats.multivariate_t.logpdf(x, np.zeros(2), cov, df)  # noqa: E731
    # SciPy's own t raises a TypeError there in 1.16.
    density = scipy.stats.multivariate_normal.logpdf(x, np.zeros(2), cov)
    np.testing.assert_allclose(sg.compile(f)(x, np.inf), density, rtol=1e-12)
    normal = lambda x: np.sum(scipy.stats.multivariate_normal.logpdf(x, np.zeros(2), cov))  # noqa: E731
    found = sg.grad(lambda x, df: np.sum(f(x, df)))(x, np.inf)
    np.testing.assert_allclose(found, sg.grad(normal)(x), rtol=1e-12)


def test_densities_of_one_point_are_numbers() -> None:
    for f in (scipy.stats.multivariate_normal.logpdf, scipy.stats.multivariate_t.logpdf):
        for n in (1, 2, 1):
            x = np.ones((n, 2))
            found = sg.compile(lambda x, f=f: f(x, np.zeros(2)))(x)
            np.testing.assert_allclose(found, f(x, np.zeros(2)))
            assert np.shape(found) == np.shape(f(x, np.zeros(2)))


@pytest.mark.parametrize("name", ["boxcox_llf", "yeojohnson_llf"])
def test_decisions_of_scipys_own_code_are_no_formulas(name: str) -> None:
    """Of data that are written in place SciPy's code was traced, with ``if lmb == 0`` a branch."""
    f = getattr(scipy.stats, name)
    for at in (0.0, 2.0):
        slope = sg.grad(lambda k: f(k, [1.0, 2.0, 4.0]))(at)
        change = f(at + 1e-5, [1.0, 2.0, 4.0]) - f(at - 1e-5, [1.0, 2.0, 4.0])
        assert slope == pytest.approx(change / 2e-5, abs=1e-6)


@pytest.mark.parametrize("ask", [
    lambda lib: lib.norm(3.0).rvs(4, random_state=1),
    lambda lib: lib.norm(loc=3.0, scale=2.0).rvs(4, random_state=1),
    lambda lib: lib.gamma(2.0, scale=3.0).rvs(4, random_state=1),
    lambda lib: lib.vonmises(loc=1.0, kappa=2.0).rvs(3, random_state=1),
    lambda lib: lib.poisson(mu=2.0).rvs(size=3, random_state=1),
    lambda lib: lib.gamma(a=2.0).stats("mvsk"),
    lambda lib: lib.gamma(a=2.0).expect(lambda x: x * x),
    lambda lib: lib.gamma(a=2.0).dist.name,
    lambda lib: lib.gamma(2.0, scale=3.0).kwds,
    lambda lib: lib.beta(a=2.0, b=3.0).interval(0.9),
    lambda lib: lib.beta(2.0, 3.0).support(),
    lambda lib: lib.t(df=3.0).logpdf([0.0, 1.0]),
    lambda lib: lib.multivariate_normal([0.0, 1.0]).rvs(3, random_state=1),
    lambda lib: copy.deepcopy(lib.norm(1.0, scale=2.0)).cdf(0.5),
    lambda lib: pickle.loads(pickle.dumps(lib.norm(1.0, scale=2.0))).ppf(0.3),
])  # fmt: skip
def test_distributions_with_plain_parameters_are_scipys(ask: Any) -> None:
    found, want = ask(stats), ask(scipy.stats)
    if isinstance(want, (str, dict)):
        assert found == want
    else:
        np.testing.assert_array_equal(found, want)


def test_distributions_with_plain_parameters_take_traced_points() -> None:
    prior = stats.gamma(2.0, scale=3.0)
    for f in (lambda x: prior.logpdf(x), lambda x: stats.gamma(2.0, scale=3.0).logpdf(x)):
        np.testing.assert_allclose(sg.grad(f)(1.5), 1 / 1.5 - 1 / 3.0)
    low = sg.grad(lambda q: prior.interval(q)[0])(0.8)
    h = 1e-6
    step = (prior.interval(0.8 + h)[0] - prior.interval(0.8 - h)[0]) / (2 * h)
    np.testing.assert_allclose(low, step, rtol=1e-5)
