"""Removable singularities, of which users single out the point by `==`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad

import symgrad as sg
from symgrad.errors import EqualityWarning, TraceError

#: Quotients that are 0/0 at 0: in NumPy and in mpmath, and the value there.
QUOTIENTS: list[tuple[Callable[[Any], Any], Callable[[Any], Any], float]] = [
    (lambda u: np.sin(u) / u, lambda u: mpmath.sin(u) / u, 1.0),
    (lambda u: np.expm1(u) / u, lambda u: mpmath.expm1(u) / u, 1.0),
    (lambda u: u / np.expm1(u), lambda u: u / mpmath.expm1(u), 1.0),
    (lambda u: (1 - np.cos(u)) / u**2, lambda u: (1 - mpmath.cos(u)) / u**2, 0.5),
    (lambda u: np.log1p(u) / u, lambda u: mpmath.log1p(u) / u, 1.0),
    (lambda u: (np.exp(u) - 1 - u) / (u * u), lambda u: (mpmath.exp(u) - 1 - u) / (u * u), 0.5),
    (lambda u: np.tan(u) / u, lambda u: mpmath.tan(u) / u, 1.0),
    (lambda u: np.sinh(u) / u, lambda u: mpmath.sinh(u) / u, 1.0),
    (lambda u: u / np.sin(u), lambda u: u / mpmath.sin(u), 1.0),
    (lambda u: (np.sqrt(1 + u) - 1) / u, lambda u: (mpmath.sqrt(1 + u) - 1) / u, 0.5),
    (lambda u: (u - np.sin(u)) / u**3, lambda u: (u - mpmath.sin(u)) / u**3, 1 / 6),
    (
        lambda u: (1 - np.sin(u) / u) / u**2, lambda u: (1 - mpmath.sin(u) / u) / u**2, 1 / 6,
    ),
]  # fmt: skip

#: What vanishes at the point, by it; in NumPy and in mpmath.
INNER: list[tuple[Callable[..., Any], Callable[..., Any], bool]] = [
    (lambda x, c: x - c, lambda x, c: x - c, False),
    (lambda x, c: 2.0 * (x - c), lambda x, c: 2 * (x - c), False),
    (lambda x, c: x * x - c * c, lambda x, c: x * x - c * c, True),
    (lambda x, c: np.log(x / c), lambda x, c: mpmath.log(x / c), True),
    (lambda x, c: x / c - 1.0, lambda x, c: x / c - 1, True),
]

#: What is made of the quotient.
OUTER: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
    (lambda h, x, p: h, lambda h, x, p: h),
    (lambda h, x, p: p * h * np.exp(-x), lambda h, x, p: p * h * mpmath.exp(-x)),
    (lambda h, x, p: np.sin(h + p) + x * h, lambda h, x, p: mpmath.sin(h + p) + x * h),
    (lambda h, x, p: h**2 / (p + x * x), lambda h, x, p: h**2 / (p + x * x)),
]


def by_if(q: Any, inner: Any, x: Any, c: Any, value: Any) -> Any:
    return value if x == c else q(inner(x, c))


def by_unequal(q: Any, inner: Any, x: Any, c: Any, value: Any) -> Any:
    if x != c:
        return q(inner(x, c))
    return value


def by_inner(q: Any, inner: Any, x: Any, c: Any, value: Any) -> Any:
    u = inner(x, c)
    if not u:
        return value + 0.0 * x
    return q(u)


def by_zero(q: Any, inner: Any, x: Any, c: Any, value: Any) -> Any:
    u = inner(x, c)
    if u == 0:
        return value
    return q(u)


def by_in(q: Any, inner: Any, x: Any, c: Any, value: Any) -> Any:
    return value if x in (c, c + 100.0) else q(inner(x, c))


def by_where(q: Any, inner: Any, x: Any, c: Any, value: Any) -> Any:
    return np.where(x == c, value, q(inner(x, c)))


def by_two_wheres(q: Any, inner: Any, x: Any, c: Any, value: Any) -> Any:
    u = inner(x, c)
    there = np.equal(u, 0.0)
    return np.where(there, value, q(np.where(there, 1.0, u)))


def by_cond(q: Any, inner: Any, x: Any, c: Any, value: Any) -> Any:
    return sg.cond(x == c, lambda x: value + 0.0 * x, lambda x: q(inner(x, c)), x)


WAYS = [by_if, by_unequal, by_inner, by_zero, by_in, by_where, by_two_wheres, by_cond]


@pytest.mark.attack(
    quick=30, whole=4000, part=60, judge="mpmath's contour integrals around the point"
)
def test_singled_points(attack: Any) -> None:
    """Derivatives to order three at points that are singled out by ``==``, ``!=``, ``not``,
    ``in``, ``np.where`` and ``sg.cond``, alone and among elements of an array.

    Where the side taken is another value than the limit, a warning names the line.
    """
    for case in attack:
        with case, warnings.catch_warnings():
            warnings.simplefilter("error", EqualityWarning)
            warnings.simplefilter("ignore", RuntimeWarning)
            rng = case.rng
            q, exact_q, value = QUOTIENTS[rng.integers(len(QUOTIENTS))]
            inner, exact_inner, nonzero = INNER[rng.integers(len(INNER))]
            outer, exact_outer = OUTER[rng.integers(len(OUTER))]
            way = WAYS[rng.integers(len(WAYS))]
            c = float(rng.choice([1.0, 0.5, 2.0, 0.1] if nonzero else [0.0, 1.0, -2.0, 0.3]))
            p = float(rng.uniform(0.5, 2.0))
            off = float(rng.choice([0.0, 0.0, 0.0, 0.125]))
            order = int(rng.integers(1, 4))
            among = bool(rng.random() < 0.3) and way is not by_cond

            def f(
                x: Any, p: Any = p, way: Any = way, q: Any = q, inner: Any = inner, c: Any = c,
                value: Any = value + off, outer: Any = outer,
            ) -> Any:  # fmt: skip
                return outer(way(q, inner, x, c, value), x, p)

            def exact(
                x: Any, p: Any = p, q: Any = exact_q, inner: Any = exact_inner, c: Any = c,
                outer: Any = exact_outer,
            ) -> Any:  # fmt: skip
                return outer(q(inner(x, mpmath.mpf(c))), x, mpmath.mpf(p))

            text = f"{way.__name__} quotient {QUOTIENTS.index((q, exact_q, value))} {c=} {order=}"
            if off:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", RuntimeWarning)
                    with pytest.warns(EqualityWarning):
                        sg.grad(f)(c)
                case.tally("warned")
                continue
            if among:
                x = np.array([c + 0.5, c, c + 0.25])

                def total(x: Any, f: Any = f, whole: bool = "where" in way.__name__) -> Any:
                    return np.sum(f(x)) if whole else sum(f(v) for v in x)

                order = min(order, 2)
                if order == 1:
                    found = sg.grad(total)(x)[1]
                else:
                    found = sg.hessian(total)(x)[1, 1]
            else:
                g = f
                for _ in range(order):
                    g = sg.grad(g)
                found = g(c)
            radius = min(0.05, 0.3 * abs(c)) if c else 0.05
            with mpmath.workdps(40):
                want = mpmath.diff(exact, mpmath.mpf(c), order, method="quad", radius=radius)
                size = max(
                    abs(mpmath.diff(exact, mpmath.mpf(c), k, method="quad", radius=radius))
                    for k in range(1, order + 1)
                )
            assert abs(float(found) - float(want.real)) <= 1e-9 * max(float(size), 1.0), (
                f"{found} for {float(want.real)}: {text} {among=} {p=}"
            )


#: Steps of a loop, of which the first is at the point, and their weights.
STEPS, WEIGHTS = np.array([0.0, 0.125, 0.25]), np.array([1.0, 2.0, -0.5])


def in_scan(f: Any, x: Any, r: float) -> Any:
    def step(s: Any, t: Any) -> Any:
        return s + t[1] * f(x + t[0]), s

    return sg.scan(step, 0.0 * x, np.stack([STEPS, WEIGHTS], axis=-1))[0]


def in_fori(f: Any, x: Any, r: float) -> Any:
    def body(k: Any, s: Any) -> Any:
        return s + sg.numpy.take(WEIGHTS, k) * f(x + 0.125 * k)

    return sg.fori_loop(0, 3, body, 0.0 * x)


def in_while(f: Any, x: Any, r: float) -> Any:
    def body(s: Any) -> Any:
        return s[0] + 1, s[1] + sg.numpy.take(WEIGHTS, s[0]) * f(x + 0.125 * s[0])

    return sg.while_loop(lambda s: s[0] < 3, body, (0, 0.0 * x))[1]


def in_cond(f: Any, x: Any, r: float) -> Any:
    return sg.cond(x > -100.0, f, lambda x: 0.0 * x, x)


def in_switch(f: Any, x: Any, r: float) -> Any:
    index = sg.numpy.asarray(x > -100.0).astype(np.int64)
    return sg.switch(index, [lambda x: 0.0 * x, f, lambda x: -x], x)


def in_integrand(f: Any, x: Any, r: float) -> Any:
    """One node of the rule is at the point."""
    return quad(lambda t: f(x + t), -r, r)[0]


def in_integrand_for_all(f: Any, x: Any, r: float) -> Any:
    """The comparison holds at all nodes."""
    return quad(lambda t: (1.0 + t) * f(x), 0.0, 1.0)[0]


def at_an_end(f: Any, x: Any, r: float) -> Any:
    return quad(f, x - r, x)[0]


STEPPED, ONCE = [in_scan, in_fori, in_while], [in_cond, in_switch]
INTEGRALS = [in_integrand, in_integrand_for_all, at_an_end]


def expected(place: Any, f: Any, at: Any, order: int, r: float, radius: float) -> Any:
    """Return a derivative at the point of what a place makes of a function."""

    def slope(x: Any, order: int) -> Any:
        """Return a derivative of the function, from values around the point."""
        return mpmath.diff(f, x, order, method="quad", radius=radius)

    if place in ONCE:
        return slope(at, order)
    if place in STEPPED:
        steps = zip(map(float, STEPS), map(float, WEIGHTS), strict=True)
        return sum(w * slope(at + t, order) for t, w in steps)
    if place is in_integrand_for_all:
        return 1.5 * slope(at, order)
    low, high = at - r, at + (r if place is in_integrand else 0)
    return slope(high, order - 1) - slope(low, order - 1)


@pytest.mark.attack(
    quick=10, whole=2000, part=60, judge="mpmath's contour integrals around the point"
)
def test_singled_points_in_bodies(attack: Any) -> None:
    """Derivatives to order three of what singles out a point in the body of a ``scan``,
    ``fori_loop``, ``while_loop``, ``cond`` or ``switch``, or in an integrand.

    They are right, or a warning names the line; the warning is there where the side taken is
    another value than the limit.
    """
    for case in attack:
        with case, warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            rng = case.rng
            q, exact_q, value = QUOTIENTS[rng.integers(len(QUOTIENTS))]
            inner, exact_inner, nonzero = INNER[rng.integers(len(INNER))]
            outer, exact_outer = OUTER[rng.integers(len(OUTER))]
            way = WAYS[rng.integers(len(WAYS))]
            places = [*STEPPED, *ONCE, *INTEGRALS]
            place = places[rng.integers(len(places))]
            c = float(rng.choice([1.0, 0.5, 2.0] if nonzero else [0.0, 1.0, -2.0]))
            p = float(rng.uniform(0.5, 2.0))
            off = float(rng.choice([0.0, 0.0, 0.0, 0.125]))
            if place is in_integrand:  # whose panels would close in on the point
                off = 0.0
            order = int(rng.integers(1, 4))

            def f(
                x: Any, p: Any = p, way: Any = way, q: Any = q, inner: Any = inner, c: Any = c,
                value: Any = value + off, outer: Any = outer,
            ) -> Any:  # fmt: skip
                return outer(way(q, inner, x, c, value), x, p)

            def exact(
                x: Any, p: Any = p, q: Any = exact_q, inner: Any = exact_inner, c: Any = c,
                outer: Any = exact_outer,
            ) -> Any:  # fmt: skip
                return outer(q(inner(x, mpmath.mpf(c))), x, mpmath.mpf(p))

            text = f"{place.__name__} {way.__name__} {c=} {order=} {off=}"
            g: Any = lambda x, f=f, place=place: place(f, x, 0.0625)  # noqa: E731
            for _ in range(order):
                g = sg.grad(g)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always", EqualityWarning)
                try:
                    found = g(c)
                except TraceError:  # `in` is not followed in bodies
                    assert way is by_in, text
                    case.tally("refused")
                    continue
            if any(w.category is EqualityWarning for w in said):
                case.tally("warned")
                continue
            # The integral up to a jump has the derivative of the other side.
            assert not off or place is at_an_end, f"no warning: {text}"
            radius = min(0.05, 0.3 * abs(c)) if c else 0.05
            with mpmath.workdps(40):
                at, r = mpmath.mpf(c), mpmath.mpf(0.0625)
                wants = [expected(place, exact, at, k, r, radius) for k in range(1, order + 1)]
            size = max(abs(w) for w in wants)
            # At nodes near the point the quotients themselves cancel.
            limit = (1e-6 if place is in_integrand else 1e-8) * max(float(size), 1.0)
            assert abs(float(found) - float(wants[-1].real)) <= limit, (
                f"{found} for {float(wants[-1].real)}: {text} {p=}"
            )
