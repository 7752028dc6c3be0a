"""Derivatives of gamma, beta and Student's distribution by their parameters, beside mpmath."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special as sc
import scipy.stats

import symgrad as sg
from symgrad._core.op import registry

DIGITS = 50


def gamma_share(a: Any, x: Any) -> Any:
    """Return what of it is smaller, so that no digits are lost: below or above, with its sign."""
    if x < a:
        return mpmath.gammainc(a, 0, x, regularized=True)
    return -mpmath.gammainc(a, x, mpmath.inf, regularized=True)


def beta_share(a: Any, b: Any, x: Any) -> Any:
    if x * (a + b) < a:
        return mpmath.betainc(a, b, 0, x, regularized=True)
    return -mpmath.betainc(b, a, 0, 1 - x, regularized=True)


def student_share(v: Any, t: Any) -> Any:
    tail = mpmath.betainc(v / 2, mpmath.mpf(1) / 2, 0, v / (v + t * t), regularized=True) / 2
    return tail if t < 0 else -tail


def logarithmic(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def in_gamma(rng: np.random.Generator, highest: float) -> tuple[float, ...]:
    """Return a shape, and a quantile of its distribution or any other number."""
    a, share = logarithmic(rng, 1e-3, highest), logarithmic(rng, 1e-10, 0.5)
    x = [sc.gammaincinv(a, share), sc.gammainccinv(a, share), logarithmic(rng, 1e-8, 300.0)]
    return a, max(float(x[rng.integers(3)]), 1e-300)


def in_beta(rng: np.random.Generator, highest: float) -> tuple[float, ...]:
    a, b = logarithmic(rng, 1e-3, highest), logarithmic(rng, 1e-3, highest)
    share = logarithmic(rng, 1e-10, 0.5)
    x = [sc.betaincinv(a, b, share), sc.betainccinv(a, b, share), rng.uniform(0.0, 1.0)]
    return a, b, min(max(float(x[rng.integers(3)]), 1e-300), 1 - 2.0**-52)


def in_student(rng: np.random.Generator, highest: float) -> tuple[float, ...]:
    return logarithmic(rng, 1e-2, highest), float(rng.normal()) * logarithmic(rng, 0.1, 30.0)


#: The op, its points, its definition, and which derivative it is of that.
CASES: dict[str, tuple[dict[str, int], Callable[..., Any], Callable[..., Any], Any]] = {
    "GammaShape": ({}, in_gamma, gamma_share, 1),
    "GammaShape twice": ({"order": 1}, in_gamma, gamma_share, 2),
    "BetaShape": ({}, in_beta, beta_share, (1, 0)),
    "BetaShape twice": ({"order": 1}, in_beta, beta_share, (2, 0)),
    "BetaShape by both": ({"second": 1}, in_beta, beta_share, (1, 1)),
    "OtherBetaShape": ({}, in_beta, beta_share, (0, 1)),
    "OtherBetaShape twice": ({"order": 1}, in_beta, beta_share, (0, 2)),
    "StudentShape": ({}, in_student, student_share, 1),
    "StudentShape twice": ({"slope": 1}, in_student, student_share, 2),
}


def beside(case: str, seed: int, count: int, highest: float) -> None:
    """Compare with differences at many digits."""
    params, points, share, by = CASES[case]
    op, rng = registry.ops[case.split(maxsplit=1)[0]], np.random.default_rng(seed)
    for _ in range(count):
        at = points(rng, highest)
        got = float(op.evaluate(*map(np.float64, at), **params))
        with mpmath.workdps(DIGITS):
            *free, last = map(mpmath.mpf, at)
            step = mpmath.mpf(10) ** -13 * min(free)
            orders = by if isinstance(by, tuple) else (by,)

            def slope(*ns: int, free: Any = free, last: Any = last, step: Any = step) -> Any:
                return mpmath.diff(lambda *p: share(*p, last), tuple(free), ns, h=step)

            want = slope(*orders)
            unit = abs(want)
            if sum(orders) == 2:  # they change sign: beside the parts that they are the sum of
                each = [k for k, n in enumerate(orders) for _ in range(n)]
                first = [slope(*(int(k == own) for k in range(len(orders)))) for own in each]
                unit += abs(first[0] * first[1] / share(*free, last))
        assert abs(got - want) <= 1e-12 * unit + 1e-300, (at, got, mpmath.nstr(want, 20))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.quick
def test_derivatives_by_parameters_have_twelve_digits(case: str) -> None:
    beside(case, 1, 12, 300.0)


@pytest.mark.parametrize("seed", range(2, 6))
@pytest.mark.parametrize("case", CASES)
@pytest.mark.slow
def test_so_have_those_by_large_ones(case: str, seed: int) -> None:
    beside(case, seed, 25, 1e5 if "Gamma" in case else 1e4)


def test_where_the_density_is_a_peak() -> None:
    """Of a million and more: by the normal density, to first order in one over the root."""
    a = np.array([1e8, 1e11])
    np.testing.assert_allclose(
        registry.ops["GammaShape"].evaluate(a, a), -1 / np.sqrt(2 * np.pi * a), rtol=1e-8
    )
    np.testing.assert_allclose(
        registry.ops["BetaShape"].evaluate(a, a, np.full(2, 0.5)),
        -0.5 / np.sqrt(np.pi * a), rtol=1e-8,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "at", "expected"),
    [
        ("GammaShape", (2.5, 0.0), 0.0),
        ("GammaShape", (2.5, np.inf), 0.0),
        ("GammaShape", (2.5, 1e4), 0.0),
        ("GammaShape", (1e4, 1.0), 0.0),
        ("GammaShape", (-1.0, 1.0), np.nan),
        ("GammaShape", (np.nan, 1.0), np.nan),
        ("GammaShape", (2.5, -1.0), np.nan),
        ("BetaShape", (2.0, 3.0, 0.0), 0.0),
        ("BetaShape", (2.0, 3.0, 1.0), 0.0),
        ("BetaShape", (2.0, -3.0, 0.5), np.nan),
        ("OtherBetaShape", (2.0, 3.0, 0.0), 0.0),
        ("OtherBetaShape", (2.0, 3.0, 1.0), 0.0),
        ("StudentShape", (2.0, 0.0), 0.0),
        ("StudentShape", (2.0, np.inf), 0.0),
        ("StudentShape", (2.0, -np.inf), 0.0),
        ("StudentShape", (-2.0, 1.0), np.nan),
    ],
)
def test_ends(name: str, at: tuple[float, ...], expected: float) -> None:
    np.testing.assert_equal(float(registry.ops[name].evaluate(*map(np.float64, at))), expected)


# ---------------------------------------------------------------- likelihoods

WAITED = np.array([0.7, 2.1, 3.3, 0.2, 1.9, 4.4])
CENSORED = np.array([5.0, 5.0, 2.5])


def gamma_model(p: Any) -> Any:
    seen = scipy.stats.gamma.logpdf(WAITED, p[0], scale=p[1])
    return np.sum(seen) + np.sum(scipy.stats.gamma.logsf(CENSORED, p[0], scale=p[1]))


def student_model(p: Any) -> Any:
    seen = scipy.stats.t.logpdf(WAITED, p[0], 0.5, p[1])
    return np.sum(seen) + np.sum(scipy.stats.t.logsf(CENSORED, p[0], 0.5, p[1]))


def beta_model(p: Any) -> Any:
    seen = scipy.stats.beta.logpdf(WAITED / 6, p[0], p[1])
    return np.sum(seen) + np.sum(scipy.stats.beta.logsf(CENSORED / 6, p[0], p[1]))


def exact_gamma(a: Any, s: Any) -> Any:
    seen = sum((a - 1) * mpmath.log(x / s) - x / s - mpmath.log(s) for x in map(float, WAITED))
    rest = (mpmath.gammainc(a, float(c) / s, mpmath.inf, regularized=True) for c in CENSORED)
    return seen - len(WAITED) * mpmath.loggamma(a) + sum(map(mpmath.log, rest))


def exact_student(v: Any, s: Any) -> Any:
    half, total = mpmath.mpf(1) / 2, mpmath.mpf(0)
    for x in map(float, WAITED):
        total += mpmath.loggamma((v + 1) / 2) - mpmath.loggamma(v / 2) - mpmath.log(s)
        total -= mpmath.log(mpmath.pi * v) / 2 + (v + 1) / 2 * mpmath.log1p(
            ((x - half) / s) ** 2 / v
        )
    for c in map(float, CENSORED):
        total += mpmath.log(-student_share(v, (c - half) / s))
    return total


def exact_beta(a: Any, b: Any) -> Any:
    total = mpmath.mpf(0)
    for x in WAITED / 6:
        x = mpmath.mpf(float(x))
        total += (a - 1) * mpmath.log(x) + (b - 1) * mpmath.log1p(-x)
        total -= mpmath.log(mpmath.beta(a, b))
    for c in CENSORED / 6:
        total += mpmath.log(mpmath.betainc(b, a, 0, 1 - mpmath.mpf(float(c)), regularized=True))
    return total


@pytest.mark.parametrize(
    ("model", "exact", "p"),
    [
        (gamma_model, exact_gamma, (1.4, 1.7)),
        (student_model, exact_student, (4.5, 1.3)),
        (beta_model, exact_beta, (1.2, 2.3)),
    ],
)
@pytest.mark.usefixtures("few_kernels")
def test_censored_likelihoods(
    model: Callable[..., Any], exact: Callable[..., Any], p: tuple[float, ...]
) -> None:
    """SciPy's own calls, traced: gradient and Hessian by all parameters."""
    at = np.array(p)
    with mpmath.workdps(40):
        free = tuple(map(mpmath.mpf, p))
        slopes = [float(mpmath.diff(exact, free, n)) for n in ((1, 0), (0, 1))]
        bends = [float(mpmath.diff(exact, free, n)) for n in ((2, 0), (1, 1), (0, 2))]
    np.testing.assert_allclose(sg.grad(model)(at), slopes, rtol=1e-12)
    hessian = sg.hessian(model)(at)
    np.testing.assert_allclose(hessian, [bends[:2], bends[1:]], rtol=1e-11)
    forward = sg.jvp(model, (at,), (np.array([1.0, 0.0]),))[1]
    np.testing.assert_allclose(forward, slopes[0], rtol=1e-12)


def test_numbers_of_four_bytes() -> None:
    slope = sg.grad(lambda a: sc.gammaincc(a, np.float32(1.3)))(np.float32(2.5))
    assert slope.dtype == np.float32
    assert slope == pytest.approx(0.22962689833555944, rel=2e-7)


@pytest.mark.parametrize(
    ("function", "at"),
    [
        (sc.gammaincc, (2.5, 1.3)),
        (sc.betainc, (2.5, 1.3, 0.4)),
        (sc.stdtr, (3.0, 1.2)),
        (sc.stdtrit, (3.0, 0.2)),
    ],
)
@pytest.mark.usefixtures("few_kernels")
@pytest.mark.quick
def test_the_source_in_numpy(function: np.ufunc, at: tuple[float, ...]) -> None:
    slope = sg.grad(lambda *xs: function(*xs), argnums=tuple(range(len(at))))
    names: dict[str, Any] = {}
    exec(slope.program(*at).source("slope"), names)
    np.testing.assert_allclose(names["slope"](*map(np.float64, at)), slope(*at), rtol=1e-14)
