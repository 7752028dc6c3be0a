"""Derivatives at points where what a function is made of is 0, infinite, or rounded away."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special as sc
from scipy import stats

import symgrad as sg

PI = math.pi


def derived(f: Callable[..., Any], orders: tuple[int, ...]) -> Callable[..., Any]:
    """Return a derivative, by one operand after the other."""
    for k in orders:
        f = sg.grad(f, k)
    return f


#: Function, operands by which it is differentiated, point, derivative.
CASES: list[tuple[Any, tuple[int, ...], tuple[float, ...], float]] = [
    (sc.spence, (0, 0), (1.0,), 0.5),
    (sc.spence, (0, 0, 0), (1.0,), -2 / 3),
    (sc.spence, (0,), (1e-300,), -690.7755278982137),
    (sc.rgamma, (0,), (0.0,), 1.0),
    (sc.rgamma, (0,), (-1.0,), -1.0),
    (sc.rgamma, (0,), (-2.0,), 2.0),
    (sc.rgamma, (0, 0), (1e-8,), 1.1544312904503815),
    (sc.rgamma, (0, 0, 0), (1e-8,), -3.9352684392021557),
    (sc.gammainc, (1, 1), (1.0, 0.0), -1.0),
    (sc.gammainc, (1, 1, 1), (1.0, 0.0), 1.0),
    (sc.gammainc, (1, 1, 1), (2.0, 0.0), -2.0),
    (sc.gammainc, (1, 1, 1), (2.0, 1e-20), -2.0),
    (sc.gammainc, (1, 0, 0), (1e-20, 1.0), 0.42469155247875684),
    (sc.gammainc, (1, 0, 0), (1e-10, 1.0), 0.42469155233398637),
    (sc.gammainc, (1, 0, 1), (3.0, 1e-20), -4.6474486194979378e-19),
    (sc.stdtr, (1, 0, 0), (1e-20, 1.0), -23.468998110500402),
    (sc.stdtr, (1, 0, 0), (1e-6, 1.0), -7.350813540522684),
    (sc.betainc, (2, 0, 0), (1e-20, 2.887, 0.637), 0.46547559547610971),
    (sc.betainc, (2, 1, 1), (2.887, 1e-20, 0.637), 1.0374793819705967),
    (sc.betainc, (2, 1, 2), (2.0, 2.0, 1e-20), 5.0),
    (sc.betainc, (2, 0, 2), (1000.0, 1000.0, 0.005), 0.0),
    (sc.betainc, (2, 2, 2), (1000.0, 1000.0, 0.005), 0.0),
    (sc.betainc, (2, 1, 2, 2), (2.0, 2.0, 1e-20), -22.0),
    (sc.pseudo_huber, (0, 0), (1e-100, 2.0), -2.0),
    (sc.pseudo_huber, (0, 1), (1e-20, -2.0), -1.0),
    (sc.pseudo_huber, (1,), (1e-20, 2.0), 1e-20),
    (sc.gammaincc, (1, 1), (1.0, 0.0), 1.0),
    (sc.betainc, (2, 2), (1.0, 3.0, 0.0), -6.0),
    (sc.betainc, (2, 2, 2), (1.0, 3.0, 0.0), 6.0),
    (sc.betainc, (2, 2), (3.0, 2.0, 1.0), -12.0),
    (sc.struve, (1,), (1.0, 0.0), 0.0),
    (sc.struve, (0,), (0.75, 2.0), -0.3145858364456387),
    (sc.struve, (0, 0), (0.75, 2.0), -0.37864991697816891),
    (sc.struve, (0, 1), (0.75, 2.0), 0.30675274218119348),
    (sc.struve, (1, 0), (0.75, 2.0), 0.30675274218119348),
    (sc.modstruve, (0,), (0.75, 2.0), -0.92241667122195581),
    (sc.modstruve, (0, 0), (0.75, 2.0), 0.030286209647511228),
    (sc.modstruve, (0, 1), (0.75, 2.0), -0.55067959336970253),
    (sc.struve, (1, 1), (1.0, 0.0), 4 / (3 * PI)),
    (sc.struve, (1, 1, 1), (0.0, 1e-20), -4 / (3 * PI)),
    (sc.ellipkinc, (1,), (0.7, 1.0), 0.0839768209511956),
    (sc.ellipkm1, (0, 0), (1e-100,), 5e199),
    (sc.agm, (0, 0), (1.0, 1.0), -0.125),
    (sc.powm1, (0,), (1e-100, 2.0), 2e-100),
    (sc.powm1, (0,), (1e-310, 0.5), 5e154),
    (sc.powm1, (0, 0), (1e-100, 2.0), 2.0),
    (lambda x: x**x, (0,), (1e-310,), -712.8013788281542),
    (sc.poch, (0,), (-1.0, 1.0), 1.0),
    (sc.poch, (0, 0), (-2.0, 2.0), 2.0),
    (sc.poch, (0, 0), (-1e-8, 2.0), 2.0),
    (sc.binom, (0,), (0.0, 1.0), 1.0),
    (sc.binom, (0, 0), (1e-20, 2.0), 1.0),
    (sc.binom, (0, 0), (-1e-8, 1.787), 1.4947055409530794),
    (sc.betaln, (0,), (-0.7, 1e-6), -1.4286146e-5),
]


@pytest.mark.parametrize(("f", "orders", "point", "want"), CASES)
@pytest.mark.usefixtures("no_kernels")
@pytest.mark.quick
def test_a_derivative_at_a_special_point(
    f: Any, orders: tuple[int, ...], point: tuple[float, ...], want: float
) -> None:
    got = derived(lambda *xs: f(*xs), orders)(*point)
    assert got == pytest.approx(want, rel=1e-7 if f is sc.betaln else 1e-12, abs=1e-15)


@pytest.mark.parametrize(
    ("f", "point", "want"),
    [(sc.betaln, (-0.7, 1e-6), -1.4286144e-05), (sc.spence, (1e-5,), -11.513041)],
)
def test_single_precision_is_as_exact(f: Any, point: tuple[float, ...], want: float) -> None:
    got = sg.grad(f)(*map(np.float32, point))
    assert got.dtype == np.float32
    assert got == pytest.approx(want, rel=5e-7)


@pytest.mark.parametrize("n", [2, 2.0, np.float32(2), np.int32(2)])
def test_the_exponential_integral_has_scipy_s_type(n: Any) -> None:
    x = np.array([0.5], np.float32)
    assert sg.compile(sc.expn)(n, x).dtype == sc.expn(n, x).dtype
    assert sg.compile(sc.gammasgn)(-x).dtype == np.float32


def test_bounds_and_terms_at_infinity() -> None:
    def half_line(s: Any) -> Any:
        return stats.truncnorm.logpdf(0.5, (0 - 0.2) / s, (np.inf - 0.2) / s, 0.2, s)

    assert sg.grad(half_line)(1.0) == pytest.approx(-0.774985364, rel=1e-8)
    grad = sg.grad(sc.logsumexp)
    np.testing.assert_array_equal(grad(np.array([0.0, np.inf])), [0.0, 1.0])
    np.testing.assert_array_equal(grad(np.array([np.inf, 0.0, np.inf])), [0.5, 0.0, 0.5])
    finite = grad(np.array([0.0, 1.0]))
    np.testing.assert_allclose(finite, sc.softmax([0.0, 1.0]), rtol=1e-15)


def _beta_share(a: Any, b: Any, x: Any) -> Any:
    return x**a * (1 - x) ** b / (a * mpmath.beta(a, b)) * mpmath.hyp2f1(a + b, 1, a + 1, x)


#: Parameters near 0, of which another one may be nearer.
NEAR: list[tuple[float, ...]] = [
    (1e-16, 3.0), (1e-25, 1e-3), (1e-100, 0.5), (1e-16, 1.5, 0.1), (1e-25, 1.5, 0.6),
    (1.5, 1e-20, 0.6), (100.0, 1e-16, 0.9999), (1e-100, 1.5, 1e-100), (1e-22, 1e-40, 0.6),
    (1e-30, 1e-22, 0.3), (1e-10, 1e-29, 0.999), (1e-25, 1e3, 0.1), (1e-100, 1e-100, 0.1),
]  # fmt: skip


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize("point", NEAR)
def test_incomplete_functions_of_shapes_near_zero(point: tuple[float, ...]) -> None:
    """Recurrences divide by the shape, at which the functions are analytic."""
    gamma = len(point) == 2
    with mpmath.workdps(400):
        exact = (lambda a, x: mpmath.gammainc(a, 0, x, regularized=True)) if gamma else _beta_share
        for k in range(len(point) - 1):
            at = [mpmath.mpf(v) for v in point]
            h = at[k] * mpmath.mpf(10) ** -15
            less, same, more = (
                exact(*(v + j * h if n == k else v for n, v in enumerate(at))) for j in (-1, 0, 1)
            )
            want = [(more - less) / (2 * h), (more - 2 * same + less) / h**2]
            slope = sg.grad(sc.gammainc if gamma else sc.betainc, k)
            np.testing.assert_allclose(slope(*point), float(want[0]), rtol=1e-12)
            np.testing.assert_allclose(sg.grad(slope, k)(*point), float(want[1]), rtol=1e-11)
