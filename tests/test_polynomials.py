"""``numpy.polynomial`` and ``np.poly1d`` of traced coefficients and points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy import poly1d
from numpy.polynomial import Chebyshev, Legendre, Polynomial
from numpy.polynomial import polynomial as P
from numpy.polynomial.polynomial import polyval2d

import symgrad as sg
from symgrad.errors import UnsupportedError

pytestmark = pytest.mark.usefixtures("few_kernels")

HOMES = {"cheb": "chebyshev", "herm": "hermite", "herme": "hermite_e", "lag": "laguerre",
         "leg": "legendre", "poly": "polynomial"}  # fmt: skip
X, Y = np.array([0.1, -0.4, 0.7]), np.array([0.3, 0.2, -0.5])
C = np.array([0.7, -1.2, 0.4, 0.9])
OUTSIDE = Polynomial([1, 2, 3.0], domain=[0, 2])


def both(c: Any) -> Any:
    return np.outer(c, c)


def every(c: Any) -> Any:
    return c[:, None, None] * both(c)


#: By the name without its base: of the function and of coefficients.
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "val": lambda f, c: f(X, c) + f(c[0], c) + f(c[1], [1, 2, 3]),
    "val2d": lambda f, c: f(X, c[:3], both(c)),
    "val3d": lambda f, c: f(X, Y, c[:3], every(c)),
    "grid2d": lambda f, c: f(X, c, both(c)),
    "grid3d": lambda f, c: f(X, Y, c, every(c)),
    "der": lambda f, c: f(both(c), 2, scl=c[0], axis=1),
    "int": lambda f, c: f(c, 2, k=[c[0], 1.0], lbnd=c[1]),
    "vander": lambda f, c: f(c, 3),
    "vander2d": lambda f, c: f(X, c[:3], [2, 1]),
    "vander3d": lambda f, c: f(X, Y, c[:3], [2, 1, 1]),
    "add": lambda f, c: f(c, [1.0, 2.0]),
    "sub": lambda f, c: f(c, 2 * c[:2]),
    "mul": lambda f, c: f(c, c[:2]),
    "mulx": lambda f, c: f(c),
    "div": lambda f, c: f(c, c[:2])[0],
    "pow": lambda f, c: f(c, 3),
    "fromroots": lambda f, c: f(c),
    "roots": lambda f, c: np.abs(f(c)),
    "companion": lambda f, c: f(c),
    "fit": lambda f, c: f(np.linspace(-1, 1, 4), c, 2, w=[1.0, 2.0, 3.0, 4.0]),
    "line": lambda f, c: f(c[0], c[1]),
}


def differences(f: Callable[[Any], Any], x: Any, h: float = 1e-5) -> Any:
    return np.stack([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))], -1)


def agree(f: Callable[[Any], Any], c: Any) -> None:
    want = f(c)
    found = sg.compile(f)(c)
    assert np.shape(found) == np.shape(want)
    assert np.asarray(found).dtype == np.asarray(want).dtype
    near = 1e-4 if np.asarray(c).dtype == np.float32 else 1e-12
    np.testing.assert_allclose(found, want, rtol=near, atol=near)
    if near < 1e-6:
        slopes = sg.jacobian(f)(c)
        np.testing.assert_allclose(slopes, differences(f, c), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("base", HOMES)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.quick(8)
def test_functions_of_coefficients(base: str, name: str) -> None:
    f = getattr(getattr(np.polynomial, HOMES[base]), base + name)
    with sg.backend("numpy"):
        agree(lambda c: FUNCTIONS[name](f, c), C)


@pytest.mark.parametrize("base", HOMES)
def test_conversion_of_bases(base: str) -> None:
    home = getattr(np.polynomial, HOMES[base])
    with sg.backend("numpy"):
        for name in (f"{base}2poly", f"poly2{base}"):
            if hasattr(home, name):
                agree(getattr(home, name), C)


CLASSES: dict[str, Callable[[Any], Any]] = {
    "points": lambda c: Polynomial(c)(X) + Chebyshev([1, 2, 3.0])(c[0]),
    "domain": lambda c: Chebyshev(c, domain=[0, 2])(X) + Legendre(c, window=[-2, 1])(c[1]),
    "the module": lambda c: np.polynomial.Polynomial(c)(X) + np.polynomial.HermiteE(c)(c[0]),
    "made outside": lambda c: OUTSIDE(c) + (OUTSIDE * c[0])(c) + (c[1] + OUTSIDE)(c),
    "calculus": lambda c: Polynomial(c).deriv()(0.3) + Legendre(c).integ(2, lbnd=0.1)(c[1]),
    "arithmetic": lambda c: (Polynomial(c) * Polynomial(c[:2]) ** 2 / c[0] - 3 + c[1])(X),
    "division": lambda c: (Polynomial(c) // Polynomial([1.0, 2.0]))(X),
    "kinds": lambda c: Polynomial(c).convert(kind=Chebyshev).coef,
    "composed": lambda c: Polynomial(c)(Polynomial(c[:2]))(X),
    "zeros": lambda c: Polynomial.fromroots(c)(0.5) + np.abs(Polynomial(c).roots()),
    "fit": lambda c: Polynomial.fit(np.arange(4.0), c, 2)(X),
    "line": lambda c: Polynomial(c).linspace(5)[1] + Polynomial(c).degree(),
    "basis": lambda c: (Legendre.basis(2) * c[0] + c[1] * Legendre.basis(1))(X),
    "elements": lambda c: sum(v**2 for v in Polynomial(c)) + Polynomial(c).truncate(2)(0.3),
    "functions": lambda c: polyval2d(X, X, both(c)) + np.polynomial.polynomial.polyval(X, c),
    "older": lambda c: np.poly1d(c)(X) + poly1d([1, 2, 3])(c[0]) + poly1d(c).deriv()(0.5),
    "older, made": lambda c: (poly1d(c) * poly1d(c[:2]) + poly1d(c) / 3 - 1).integ(k=2)(X),
    "older, asked": lambda c: poly1d(c).c * poly1d(c).order + poly1d(c)[2] + poly1d(c, True)(0.3),
    "older, zeros": lambda c: np.abs(poly1d(c).r) + np.polyval(c, 0.3) + np.vander(c, 3)[0],
}


@pytest.mark.parametrize("case", CLASSES)
def test_classes(case: str) -> None:
    with sg.backend("numpy"):
        agree(CLASSES[case], C)


@pytest.mark.parametrize("dtype", ["f4", "i4"])
def test_types(dtype: str) -> None:
    c = np.array([2, 1, 3], dtype)
    with sg.backend("numpy"):
        of: tuple[Callable[[Any], Any], ...] = (
            lambda c: P.polyval(c, [1.0, 2.0]),
            lambda c: P.polyval(np.float32(0.5), c),
            lambda c: P.polymul(c, c),
            lambda c: Polynomial(c)(c),
            lambda c: np.polynomial.Chebyshev(c).deriv().coef,
            lambda c: np.poly1d(c)(c),
        )
        for f in of:
            found, want = sg.compile(f)(c), f(c)
            assert found.dtype == want.dtype
            np.testing.assert_allclose(found, want, rtol=1e-6)


def test_a_leading_zero_has_its_derivative() -> None:
    """NumPy drops it; how many coefficients a traced polynomial has is not for values to say."""
    for c in (np.array([1.0, 2.0, 0.0]), np.zeros(3)):
        found = sg.grad(lambda c: (Polynomial(c) * Polynomial([1.0, 2.0]))(0.5))(c)
        np.testing.assert_allclose(found, 2 * 0.5 ** np.arange(3))
        np.testing.assert_allclose(
            sg.grad(lambda c: np.poly1d(c[::-1])(0.5))(c), 0.5 ** np.arange(3)
        )
        found = sg.compile(lambda c: P.polysub(c, [0.0, 1.0]))(c)
        np.testing.assert_allclose(found, c - [0, 1, 0])


def test_short_ones_and_batches() -> None:
    for c in (np.array([2.0]), np.array([2.0, 3.0])):
        with sg.backend("numpy"):
            agree(lambda c: Polynomial(c)(X) + Chebyshev(c).deriv()(0.2) + np.poly1d(c)(c[0]), c)
    rows = np.stack([C, 2 * C, C - C])

    def f(c: Any) -> Any:
        return (Polynomial(c) * Chebyshev([1, 2.0]).convert(kind=Polynomial))(X)

    np.testing.assert_allclose(sg.vmap(f)(rows), [f(c) for c in rows])
    g: Callable[[Any], Any] = lambda c: np.poly1d(c)(X)  # noqa: E731
    np.testing.assert_allclose(sg.vmap(g)(rows), [g(c) for c in rows], atol=1e-15)


def test_trimming_is_refused() -> None:
    for f in (lambda c: Polynomial(c).trim()(0.1), lambda c: P.polytrim(c)):
        with pytest.raises(UnsupportedError, match=r"depends on their values.*truncate"):
            sg.compile(f)(C)


def test_a_difference_of_bytes_and_floats() -> None:
    """Bytes that are subtracted have no negative."""
    a, b = np.array([0.5, 2.0]), np.array([3, 1, 2], np.uint8)
    np.testing.assert_array_equal(sg.compile(np.polysub)(a, b), np.polysub(a, b))
    flags = np.array([True, False])
    np.testing.assert_array_equal(sg.compile(np.polysub)(a, flags), np.polysub(a, flags))
