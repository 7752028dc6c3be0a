"""Lengths at and near 0, however they are written; functions of them are smooth or are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp
from scipy.spatial.transform import Rotation

import symgrad as sg
import symgrad.numpy as snp

POINTS = np.array([[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]])


def _forward(f: Any) -> Any:
    return sg.jacobian(f, mode="forward")


#: All ways to second derivatives by an array.
WAYS: list[Callable[[Any], Any]] = [
    sg.hessian,
    lambda f: sg.jacobian(sg.grad(f), mode="reverse"),
    lambda f: _forward(_forward(f)),
    lambda f: sg.jacobian(_forward(f), mode="reverse"),
]


def test_second_derivatives_keep_their_digits() -> None:
    """They are ``y**2/r**3``, and the third ``-3*x*y**2/r**5``."""
    second = sg.grad(sg.grad(np.hypot))
    np.testing.assert_allclose(second(1e8, 1.0), 1e-24, rtol=1e-14)
    np.testing.assert_allclose(sg.grad(second)(1e8, 1.0), -3e-32, rtol=1e-14)
    np.testing.assert_allclose(second(1e-190, 2e-200), 4e170, rtol=1e-14)
    for f in (lambda v: np.abs(v[0] + 1j * v[1]), lambda v: np.sqrt(v[0] ** 2 + v[1] ** 2)):
        want = [[1e-24, -1e-16], [-1e-16, 1e-8]]
        np.testing.assert_allclose(sg.hessian(f)(np.array([1e8, 1.0])), want, rtol=1e-14)


#: Lengths of arrays, however they are written, and of how many numbers they are means.
LENGTHS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "norm": (np.linalg.norm, 1.0),
    "of rows": (lambda v: np.linalg.norm(np.stack([v, 2 * v]), axis=1)[0], 1.0),
    "of columns": (lambda v: np.linalg.norm(np.stack([v, 2 * v], axis=1), axis=0)[0], 1.0),
    "kept": (lambda v: np.linalg.norm(v[None], axis=-1, keepdims=True)[0, 0], 1.0),
    "root of a sum": (lambda v: np.sqrt(np.sum(v**2)), 1.0),
    "root of a product": (lambda v: np.sqrt(v @ v), 1.0),
    "root of a mean": (lambda v: np.sqrt(np.mean(v**2)), 0.0),
}


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.quick(3)
@pytest.mark.parametrize("name", LENGTHS)
@pytest.mark.parametrize("x", [
    (1e8, 1.0), (1.0, 1e8, -2.0), (-3e9, 4.0, 1e-3, 2.0), (1e-190, 2e-200), (3.0, 4.0),
    (1e200, 3e192, 1e190), (1e5, 0.0, 0.0), (-2.0, 2.0),
])  # fmt: skip
def test_second_and_third_derivatives_of_lengths_of_arrays(name: str, x: tuple[float, ...]) -> None:
    """Of the largest part it is that of the others which counts: it cancelled."""
    f, one = LENGTHS[name]
    n, at = len(x), [mpmath.mpf(v) for v in x]
    r = mpmath.sqrt(sum(v * v for v in at))
    u = [v / r for v in at]
    scale = 1 if one else 1 / mpmath.sqrt(n)
    want = np.array([[float(scale * ((i == j) - u[i] * u[j]) / r) for j in range(n)]
                     for i in range(n)])  # fmt: skip
    for j in range(n):  # not as a difference
        want[j, j] = float(scale * sum(u[i] ** 2 for i in range(n) if i != j) / r)
    point = np.array(x)
    for mode in ("forward", "reverse"):
        found = sg.jacobian(sg.grad(f), mode=mode)(point)
        np.testing.assert_allclose(found, want, rtol=2e-14)
    largest = int(np.argmax(np.abs(point)))
    rest = sum(u[i] ** 2 for i in range(n) if i != largest)
    third = float(-3 * scale * u[largest] * rest / r**2)
    if 1e-290 < abs(third) < 1e290:
        along = sg.grad(sg.grad(sg.grad(lambda t: f(point + t * np.eye(n)[largest]))))
        np.testing.assert_allclose(along(0.0), third, rtol=1e-12)


def _distances(x: Any) -> Any:
    return np.sum((x[:, None] - x) ** 2, axis=-1)


def _expanded(x: Any) -> Any:
    squares = np.sum(x**2, axis=-1)
    return squares[:, None] + squares - 2 * x @ x.T


#: Distances over a scale ``s``, as stationary kernels are written.
SCALED: dict[str, Callable[[Any, Any], Any]] = {
    "first": lambda s, x: np.sqrt(3 * _distances(x / s)),
    "last": lambda s, x: np.sqrt(_distances(x)) * np.sqrt(3) / s,
    "within": lambda s, x: np.sqrt(3 * _distances(x) / s**2),
    "a scale for each": lambda s, x: np.sqrt(
        3 * np.sum((x[:, None] - x) ** 2 / np.stack([s, s]) ** 2, axis=-1)
    ),
    "power": lambda s, x: (3 * _distances(x) / s**2) ** 0.5,
    "not negative": lambda s, x: np.sqrt(3 * np.maximum(_distances(x), 0) / s**2),
    "expanded": lambda s, x: np.sqrt(3 * np.maximum(_expanded(x), 0)) / s,
    "expanded and scaled": lambda s, x: np.sqrt(3 * np.maximum(_expanded(x / s), 0)),
    "clipped": lambda s, x: np.sqrt(3 * np.clip(_expanded(x), 0, None) / s**2),
    "norm": lambda s, x: np.linalg.norm((x[:, None] - x) / s, axis=-1) * np.sqrt(3),
}  # fmt: skip


@pytest.mark.parametrize("name", SCALED)
def test_kernels_at_equal_points(name: str) -> None:
    def total(s: Any, x: Any) -> Any:
        r = SCALED[name](s, x)
        return np.sum((1 + r) * np.exp(-r))

    # Of two pairs, each counted twice; the other distances are 0.
    r = np.sqrt(15.0)
    np.testing.assert_allclose(sg.grad(total)(1.0, POINTS), 4 * r * r * np.exp(-r), rtol=1e-13)
    slope = -6 * np.exp(-r) * (POINTS[1] - POINTS[0])  # of a pair, by its first point, halved
    want = np.stack([-slope, 2 * slope, -slope])
    np.testing.assert_allclose(sg.grad(total, 1)(1.0, POINTS), want, rtol=1e-12)
    # Points 0 and 2 are equal: -3*2*I by both of them, +3*2*I in turn.
    for way in WAYS:
        second = way(lambda x: total(1.0, x))(POINTS)
        np.testing.assert_allclose(second[0, :, 2], 6 * np.eye(2), atol=1e-12)


@pytest.mark.parametrize("way", WAYS)
def test_hessians_of_smooth_functions_at_zero(way: Callable[[Any], Any]) -> None:
    z = np.zeros(3)
    np.testing.assert_allclose(way(lambda x: np.cos(np.linalg.norm(x)))(z), -np.eye(3))

    def corner(w: Any) -> Any:
        return Rotation.from_rotvec(w).as_matrix()[0, 0]

    np.testing.assert_allclose(way(corner)(z), np.diag([0.0, -1, -1]), atol=1e-15)
    # A length of what is made of a length: both are 0.
    angle = way(lambda w: Rotation.from_rotvec(w).magnitude() ** 2)(z)
    if way in WAYS[:2]:
        np.testing.assert_allclose(angle, 2 * np.eye(3))
    else:
        assert np.isnan(angle).all()

    def matern(x: Any, y: Any) -> Any:
        r = np.sqrt(5.0) * np.linalg.norm(x - y)
        return (1 + r + r**2 / 3) * np.exp(-r)

    y = np.array([1.0, 2.0])
    np.testing.assert_allclose(way(lambda x: matern(x, y))(y), -5 / 3 * np.eye(2))
    np.testing.assert_allclose(sg.jacobian(sg.grad(matern), 1)(y, y), 5 / 3 * np.eye(2))


def _lengths(x: Any) -> Any:
    return np.sqrt(np.sum(x**2, axis=1))


@pytest.mark.parametrize("joined", [
    lambda e: np.sum(e) ** 2 - 2 * np.sum(e) * e[0],  # (e[1] + e[0]) * (e[1] - e[0])
    lambda e: (e[1] + e[0]) * (e[1] - e[0]),
    lambda e: sg.fori_loop(0, 2, lambda i, s: s + snp.take(e, i) ** 2 * (2 * i - 1), 0.0),
    lambda e: sg.scan(lambda s, y: (y**2 - s, None), 0.0, e)[0],
    lambda e: sg.cond(e[0] < 9, lambda e: e[1] ** 2 - e[0] ** 2, lambda e: e[0], e),
])  # fmt: skip
def test_several_lengths_one_of_which_is_zero(joined: Callable[[Any], Any]) -> None:
    """Second derivatives at a length of 0 are made at the values that the others have."""
    x = np.array([[0.0, 0.0], [0.3, 0.4]])
    c, s = np.cos(0.5), np.sin(0.5)
    u = x[1] / 0.5
    want = np.zeros((2, 2, 2, 2))
    want[0, :, 0] = 2 * np.eye(2)  # of -cos(r)**2
    along, across = 2 * (s * s - c * c), -2 * c * s / 0.5  # of cos(r)**2
    want[1, :, 1] = along * np.outer(u, u) + across * (np.eye(2) - np.outer(u, u))
    f = lambda x: joined(np.cos(_lengths(x)))  # noqa: E731
    for way in WAYS:
        np.testing.assert_allclose(way(f)(x), want, atol=1e-14)


@pytest.mark.parametrize(("f", "want"), [
    (lambda r: np.sum(np.abs(np.fft.fft(r)) ** 2), 4.0),
    (lambda r: np.sum(np.abs(np.fft.fft(r)) ** 2) + np.sum(np.cos(r)), 3.0),
    (lambda r: np.sum(np.linalg.solve(np.diag([2.0, 4.0]), r) ** 2), 0.5),
    (lambda r: np.linalg.solve(np.diag(np.stack([2.0, 1 + r[0] ** 2])), np.ones(2))[1], -2.0),
])  # fmt: skip
def test_lengths_that_a_routine_is_given(f: Callable[[Any], Any], want: float) -> None:
    x = np.array([[0.0, 0.0], [0.3, 0.4]])
    for way in WAYS:
        second = way(lambda x: f(_lengths(x)))(x)
        np.testing.assert_allclose(second[0, :, 0], want * np.eye(2), atol=1e-13)


@pytest.mark.parametrize("kink", [
    lambda r: np.sum(np.linalg.solve(np.array([[2.0, 1.0], [0.0, 3.0]]), r) ** 2),
    lambda r: r[0] * r[1], lambda r: np.sum(r) ** 2, np.prod, lambda r: np.sum(np.cumsum(r) ** 2),
])  # fmt: skip
def test_kinks_of_several_lengths(kink: Callable[[Any], Any]) -> None:
    """Each slope is 0 where all lengths are, and none has a second derivative."""
    for way in WAYS:
        second = way(lambda x: kink(_lengths(x)))(np.zeros((2, 2)))
        assert np.isnan(np.diag(second.reshape(4, 4))).all()


def test_a_length_has_no_second_derivative_at_zero() -> None:
    for f in (
        np.linalg.norm, lambda x: np.exp(-np.sqrt(x @ x)), lambda x: np.hypot(x[0], x[1]),
        lambda x: np.sin(np.sqrt(4 * np.sum(x**2))),
        lambda x: np.exp(np.sqrt(np.maximum(np.sum(x**2), 0.0))),
    ):  # fmt: skip
        for way in WAYS:
            assert np.isnan(np.diag(way(f)(np.zeros(2)))).all()
    # Distances of points from themselves are 0 for good.
    x = POINTS[:2]
    second = sg.hessian(lambda x: np.sum(np.exp(-np.sqrt(_distances(x)))))(x)
    assert np.isfinite(second).all()


@pytest.mark.parametrize("way", WAYS)
def test_products_with_a_length_have_no_second_derivative_at_zero(way: Any) -> None:
    """``x*r`` has the slope 0 there, and ``r`` is its derivative by ``x``, a kink."""
    for f in (
        lambda x: x[0] * np.linalg.norm(x),
        lambda x: np.sin(x[0]) * np.exp(-np.sqrt(x @ x)),
        lambda x: x[0] / (1 + np.hypot(x[0], x[1])),
        lambda x: x[0] * Rotation.from_rotvec(np.stack([x[0], 0.0, x[1]])).magnitude(),
    ):
        assert np.isnan(way(f)(np.zeros(2))[0]).all()
        assert np.isfinite(way(f)(np.array([0.3, 0.4]))).all()
    smooth = way(lambda x: x[0] * np.cos(np.linalg.norm(x)) + x[0] * x[1] ** 2)
    np.testing.assert_array_equal(smooth(np.zeros(2)), 0.0)
    # Of the other lengths too: exp(-r) by one of which is 0.
    second = way(lambda x: np.exp(-np.sum(_lengths(x))))(np.array([[0.0, 0.0], [0.3, 0.4]]))
    assert np.isnan(second[1, :, 0]).all()
    assert np.isfinite(second[1, :, 1]).all()


def test_derivatives_of_high_order_keep_their_shapes() -> None:
    """A mask of zeros that is a number stands for all elements of an array."""

    def cosine(x: Any) -> Any:
        return np.cos(np.linalg.norm(x))

    f: Any = cosine
    for _ in range(5):
        f = sg.grad(lambda x, f=f: np.sum(f(x)))
    np.testing.assert_allclose(f(np.array([0.5])), -np.sin(0.5), rtol=1e-9)


def _length(x: Any) -> Any:
    return np.linalg.norm(x)


#: Functions of a length, whether each has a third and a fourth derivative where it is 0.
ORDERS: dict[str, tuple[Callable[[Any], Any], bool]] = {
    "Matern-3/2": (lambda x: (1 + _length(x)) * np.exp(-_length(x)), False),
    "cosine": (lambda x: np.cos(_length(x)), True),
    "square": (lambda x: _length(x) ** 2, True),
    "cosh of a hypot": (lambda x: np.cosh(np.hypot(x[0], 2 * x[1])), True),
    "a root of squares": (lambda x: np.exp(-(np.sqrt(3 * np.sum(x**2) / 4) ** 2)), True),
}


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("passes", ["rrr", "frr", "ffr", "fff"])
def test_third_derivatives_at_zero_are_right_or_nan(name: str, passes: str) -> None:
    """They were 0 in reverse mode where there is none: the next term of a limit is cut off."""
    f, smooth = ORDERS[name]
    for p in passes:
        f = _forward(f) if p == "f" else sg.jacobian(f, mode="reverse")
    third = f(np.zeros(2))
    if smooth:
        np.testing.assert_array_equal(third, 0.0)
    else:
        assert np.isnan(np.einsum("iij->ij", third)[[0, 1], [0, 1]]).all()
    assert np.isfinite(f(np.array([0.3, 0.4]))).all()


@pytest.mark.quick(1)
@pytest.mark.parametrize("passes", ["rrrr", "frrr", "ffrr", "rffr", "ffff"])
def test_fourth_derivatives_at_zero_are_nan(passes: str) -> None:
    """They were 0 in reverse mode, and three times what they are in forward mode."""
    f: Any = lambda x: np.cos(_length(x))  # noqa: E731
    for p in passes:
        f = _forward(f) if p == "f" else sg.jacobian(f, mode="reverse")
    assert np.isnan(f(np.zeros(2))).all()


@pytest.mark.parametrize("rows", [0, 1])
def test_derivatives_of_few_lengths(rows: int) -> None:
    f = lambda x: np.sum(np.cos(_lengths(x)))  # noqa: E731
    want = -np.eye(2 * rows).reshape(rows, 2, rows, 2)
    for way in WAYS:
        np.testing.assert_allclose(way(f)(np.zeros((rows, 2))), want)


def test_high_derivatives_by_points_whose_distances_from_themselves_are_zero() -> None:
    x = np.array([0.0, 0.5, 2.0])

    def pairs(x: Any) -> Any:
        return np.sum(np.cos(np.sqrt((x[:, None] - x) ** 2)))

    f: Any = pairs
    for _ in range(4):
        f = sg.grad(lambda x, f=f: np.sum(f(x)[:1] if f is not pairs else f(x)))
    d = x[:, None] - x
    by_first = 2 * np.array([np.sum(np.cos(d[0, 1:])), -np.cos(d[0, 1]), -np.cos(d[0, 2])])
    np.testing.assert_allclose(f(x), by_first, rtol=1e-12)


_FIRST, _SECOND = np.array([0, 0, 1, 2, 1]), np.array([1, 2, 2, 2, 1])

#: Distances of points from each other, of which some are 0 for good.
AMONG: dict[str, Callable[[Any], Any]] = {
    "differences": lambda x: np.sqrt(np.sum((x[:, None] - x) ** 2, axis=-1)),
    "expanded": lambda x: np.sqrt(np.maximum(_expanded(x), 0)),
    "pairs": lambda x: np.linalg.norm(x[_FIRST] - x[_SECOND], axis=-1),
}


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", AMONG)
def test_high_derivatives_by_points_that_are_equal_by_chance(name: str) -> None:
    """Fourth ones were those without the pair; points at a distance have theirs."""
    times = 1 if name == "pairs" else 2
    step = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])

    def moved(x: Any) -> Any:
        return lambda t: np.sum(np.cos(AMONG[name](x + t * step)))

    def away(y: Any) -> list[float]:  # of cos(sqrt((y[0] - t)**2 + y[1]**2)), by t at 0
        t = sp.Symbol("t")
        formula = sp.cos(sp.sqrt((y[0] - t) ** 2 + y[1] ** 2))
        return [float(sp.diff(formula, t, k).subs(t, 0)) for k in range(1, 5)]

    def found(x: Any) -> list[float]:
        f, values = moved(x), []
        for _ in range(4):
            f = sg.grad(f)
            values.append(float(f(0.0)))
        return values

    points = np.array([[0.0, 0.0], [1.0, 2.0], [0.5, 0.25]])
    want = times * np.add(away(points[1]), away(points[2]))
    np.testing.assert_allclose(found(points), want, rtol=1e-9)
    points[2] = points[0]
    want = times * np.add(away(points[1]), [0.0, -1.0, 0.0, np.nan])
    np.testing.assert_allclose(found(points), want, rtol=1e-9)


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", ["first", "within", "expanded and scaled"])
def test_high_derivatives_by_scales_where_points_are_equal_by_chance(name: str) -> None:
    """They stay equal whatever the scale is."""

    def f(s: Any) -> Any:
        return np.sum(np.cos(SCALED[name](s, POINTS)))

    s = sp.Symbol("s")
    formula = 4 * sp.cos(sp.sqrt(15) / s)  # of two pairs, each counted twice
    for k in range(1, 5):
        f = sg.grad(f)
        assert abs(f(1.25) / float(sp.diff(formula, s, k).subs(s, 1.25)) - 1) < 1e-11


def test_high_derivatives_by_scales_of_columns_and_of_points() -> None:
    """A scale of each point has equal ones come apart; one of each column has not."""
    lead, points = np.array([1.0, 0.0]), POINTS

    def columns(t: Any) -> Any:
        return np.sum(np.cos(AMONG["differences"](points * (1 + t * lead))))

    def each(t: Any) -> Any:  # points are columns, the first of which is moved
        x = (points + 1).T * (1 + t * np.array([1.0, 0.0, 0.0]))
        return np.sum(np.cos(np.sqrt(np.sum((x[:, :, None] - x[:, None]) ** 2, axis=0))))

    for f, known in ((columns, True), (each, False)):
        for _ in range(4):
            f = sg.grad(f)
        assert np.isfinite(f(0.0)) == known


def test_equal_points_are_told_among_many() -> None:
    x = np.random.default_rng(0).normal(size=(200, 2)).astype(np.float32)
    x[7] = x[150]
    step = np.zeros_like(x)
    step[7, 0] = 1

    def f(t: Any) -> Any:
        return np.sum(np.cos(AMONG["differences"](x + t * step)))

    for _ in range(4):
        f = sg.grad(f)
    assert np.isnan(f(np.float32(0)))


#: Even functions of a number, with their second derivatives at 0.
EVEN: list[tuple[Callable[[Any], Any], float]] = [
    (np.cos, -1.0),
    (lambda r: r**2, 2.0),
    (lambda r: r * np.sin(r), 2.0),
    (lambda r: (1 + r + r**2 / 3) * np.exp(-r), -1 / 3),
    (lambda r: r + np.log1p(np.exp(-2 * r)), 1.0),
    (lambda r: r**4, 0.0),
]


@pytest.mark.parametrize("size", [np.abs, np.fabs, abs])
@pytest.mark.parametrize(("g", "second"), EVEN)
def test_even_functions_of_absolute_values(
    size: Callable[[Any], Any], g: Callable[[Any], Any], second: float
) -> None:
    f = lambda x: g(size(x))  # noqa: E731
    along = lambda f: lambda x: sg.jvp(f, (x,), (1.0,))[1]  # noqa: E731
    for way in (sg.grad(sg.grad(f)), along(along(f)), along(sg.grad(f)), sg.grad(along(f))):
        assert way(0.0) == pytest.approx(second, abs=1e-12)
        assert way(np.float32(0)) == pytest.approx(second, abs=1e-5)
    assert sg.vmap(sg.grad(sg.grad(f)))(np.zeros(3))[1] == pytest.approx(second, abs=1e-12)
    want = second * np.array([[1.0, -1.0], [-1.0, 1.0]])
    for way in WAYS:
        found = way(lambda x: f(x[0] - x[1]))(np.ones(2))
        np.testing.assert_allclose(found, want, atol=1e-12)
        root = way(lambda x: g(np.sqrt(np.sum(size(x) ** 2))))(np.zeros(2))
        np.testing.assert_allclose(root, second * np.eye(2), atol=1e-12)


def test_kinks_of_absolute_values_have_second_derivatives_of_zero() -> None:
    for f in (np.abs, lambda x: x * np.abs(x), lambda x: np.exp(-np.abs(x))):
        assert sg.grad(sg.grad(f))(0.0) == 0.0
        assert sg.jvp(lambda x, f=f: sg.jvp(f, (x,), (1.0,))[1], (0.0,), (1.0,))[1] == 0.0
    assert np.isnan(sg.grad(sg.grad(sg.grad(sg.grad(lambda x: np.cos(np.abs(x))))))(0.0))


@pytest.mark.parametrize("length", [
    np.abs, lambda x: np.sqrt(x * x), lambda x: np.hypot(x, 0.0),
])  # fmt: skip
def test_functions_of_lengths_in_the_body_of_a_loop(length: Callable[[Any], Any]) -> None:
    def step(c: Any) -> Any:
        return length(c) * np.sin(length(c))

    def turns(t: Any) -> Any:
        return sg.fori_loop(0, 1, lambda i, c: step(c), t)

    def scanned(t: Any) -> Any:
        return sg.scan(lambda c, x: (c + x * step(t * x), 0.0), 0.0, np.ones(1))[0]

    for f in (turns, scanned):
        assert sg.grad(sg.grad(f))(0.0) == pytest.approx(2.0)
        assert sg.jvp(sg.grad(f), (0.0,), (1.0,))[1] == pytest.approx(2.0)


def test_lengths_of_one_part_by_forward_mode_twice() -> None:
    """A step of the result's shape may have smaller operands: the limit has that shape, too."""
    found = _forward(_forward(lambda x: np.cos(np.sqrt(x @ x))))(np.zeros(1))
    np.testing.assert_allclose(found, [[-1.0]])


@pytest.mark.parametrize("scaled", [
    lambda d2, t: d2 * np.exp(-2 * t), lambda d2, t: d2 / np.exp(2 * t),
    lambda d2, t: d2 / np.log1p(np.exp(t)), lambda d2, t: d2 * 10**t * 3, lambda d2, t: d2 / 2**t,
])  # fmt: skip
def test_roots_of_squares_that_are_scaled_by_what_is_positive(scaled: Any) -> None:
    """Scales that are estimated are logarithms of parameters, or softplus of them."""
    x = np.array([[0.0, 0.0], [1.0, 2.0]])

    def f(t: Any) -> Any:
        r = np.sqrt(scaled(np.sum((x[:, None] - x[None]) ** 2, axis=-1), t))
        return np.sum((1 + r) * np.exp(-r))

    def apart(t: Any) -> Any:
        r = np.sqrt(scaled(5.0, t))
        return 2 * (1 + r) * np.exp(-r)

    for derivative in (sg.grad, lambda f: lambda t: sg.jvp(f, (t,), (1.0,))[1]):
        assert derivative(f)(0.3) == pytest.approx(derivative(apart)(0.3))
    assert sg.grad(sg.grad(f))(0.3) == pytest.approx(sg.grad(sg.grad(apart))(0.3))


def _distances(x: Any) -> Any:
    return np.sum((x[:, None] - x[None]) ** 2, axis=-1)


#: Matern kernels of points, two of which are equal, by one scale or one for each column.
SCALES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "given, by a square": lambda s, x, d2: np.sqrt(3 * d2 / s[0] ** 2),
    "given, by a scale": lambda s, x, d2: np.sqrt(d2 / s[0]),
    "given, times a scale": lambda s, x, d2: (s[1] * d2) ** 0.5,
    "computed, by a scale": lambda s, x, d2: np.sqrt(_distances(x) / s[0]),
    "weights in the sum": lambda s, x, d2: np.sqrt(np.sum((x[:, None] - x[None]) ** 2 * s, -1)),
    "weights": lambda s, x, d2: np.sqrt(s[0] * (x[:, None, 0] - x[None, :, 0]) ** 2),
}


@pytest.mark.parametrize("arguments", [False, True])
@pytest.mark.parametrize("name", SCALES)
def test_scales_of_distances_that_are_data(name: str, arguments: bool) -> None:
    """Squared distances that are 0 stay 0 at every scale; as arguments and as captured arrays."""
    x = np.random.default_rng(1).normal(size=(4, 2))
    x[2] = x[0]
    data = x, _distances(x)

    def kernel(s: Any, *data: Any) -> Any:
        r = SCALES[name](s, *data)
        return np.sum((1 + r) * np.exp(-r) * np.cos(r))

    f = kernel if arguments else lambda s: kernel(s, *data)
    more = data if arguments else ()
    s, steps = np.array([1.3, 0.7]), np.eye(2)
    wanted = [(kernel(s + 1e-5 * h, *data) - kernel(s - 1e-5 * h, *data)) / 2e-5 for h in steps]
    np.testing.assert_allclose(sg.grad(f)(s, *more), wanted, rtol=1e-8, atol=1e-9)
    along = [sg.jvp(lambda s: kernel(s, *data), (s,), (h,))[1] for h in steps]
    np.testing.assert_allclose(along, wanted, rtol=1e-8, atol=1e-9)
    g = sg.grad(f)
    second = [(g(s + 1e-5 * h, *more) - g(s - 1e-5 * h, *more)) / 2e-5 for h in steps]
    np.testing.assert_allclose(sg.hessian(f)(s, *more), second, rtol=1e-6, atol=1e-7)
