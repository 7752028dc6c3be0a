"""Points that a function singles out by `==`: derivatives there are the function's."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad

import symgrad as sg
from symgrad.errors import EqualityWarning

pytestmark = pytest.mark.usefixtures("few_kernels")


def if_else(x: Any) -> Any:
    return 1.0 if x == 0 else np.sin(x) / x


def other_way(x: Any) -> Any:
    return np.sin(x) / x if x != 0 else 1.0


def if_not(x: Any) -> Any:
    if not x:
        return 1.0
    return np.expm1(x) / x


def is_in(x: Any) -> Any:
    return 0.5 if x in (0, -7.0) else (1 - np.cos(x)) / x**2


def by_where(x: Any) -> Any:
    return np.where(x == 0, 1.0, np.sin(x) / x)


def safely(x: Any) -> Any:
    nothing = np.equal(x, 0)
    safe = np.where(nothing, 1.0, x)
    return np.where(nothing, 1.0, np.sin(safe) / safe)


def by_cond(x: Any) -> Any:
    return sg.cond(x == 0, lambda x: 1.0 + 0.0 * x, lambda x: np.sin(x) / x, x)


def helper(y: Any) -> Any:
    if y == 1:
        return 1.0
    return np.log(y) / (y - 1)


def in_helper(x: Any) -> Any:
    return helper(np.exp(x)) ** 2


def of_nonlinear(x: Any) -> Any:
    if x * x == 1.0:
        return 1.0 * x
    return x * np.log(x * x) / (x * x - 1)


def nested(x: Any) -> Any:
    return 1 / 6 if x == 0 else (1 - np.sin(x) / x) / x**2


def regular(x: Any) -> Any:
    return 9.0 if x == 3 else x**2


#: Functions, the point, and derivatives of order one, two and three there.
SMOOTH: dict[str, tuple[Callable[[Any], Any], float, list[float]]] = {
    "if": (if_else, 0.0, [0, -1 / 3, 0]),
    "!=": (other_way, 0.0, [0, -1 / 3, 0]),
    "not": (if_not, 0.0, [1 / 2, 1 / 3, 1 / 4]),
    "in": (is_in, 0.0, [0, -1 / 12, 0]),
    "where": (by_where, 0.0, [0, -1 / 3, 0]),
    "where, twice": (safely, 0.0, [0, -1 / 3, 0]),
    "cond": (by_cond, 0.0, [0, -1 / 3, 0]),
    # h(x) = x/(exp(x) - 1), h**2 = 1 - x + 5/12*x**2 - 1/12*x**3
    "a helper": (in_helper, 0.0, [-1, 5 / 6, -1 / 2]),
    # x*log(x**2)/(x**2 - 1) at 1 + t: 1 - t**2/6 + t**3/6
    "not linear": (of_nonlinear, 1.0, [0, -1 / 3, 1]),
    "quotients in quotients": (nested, 0.0, [0, -1 / 60, 0]),
    "no quotient": (regular, 3.0, [6, 2, 0]),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_at_a_point_singled_out(name: str) -> None:
    f, at, expected = SMOOTH[name]
    g = f
    if name != "cond" and not name.startswith("where"):  # of which NumPy computes both sides
        assert sg.compile(f)(at) == f(at)
    for order, want in enumerate(expected):
        g = sg.grad(g)
        np.testing.assert_allclose(g(at), want, rtol=1e-12, atol=1e-13, err_msg=f"{order + 1}")
    np.testing.assert_allclose(sg.jvp(f, (at,), (2.0,))[1], 2 * expected[0], atol=1e-13)
    beside = sg.grad(f)(at + 1e-3)
    series = sum(d * 1e-3**k / math.factorial(k) for k, d in enumerate(expected))
    np.testing.assert_allclose(beside, series, rtol=1e-7, atol=1e-7)


def exchanger(ratio: Any, units: Any) -> Any:
    if ratio == 1.0:
        return units / (1 + units)
    e = np.exp(-units * (1 - ratio))
    return (1 - e) / (1 - ratio * e)


def mean_difference(a: Any, b: Any) -> Any:
    return a * 1.0 if a == b else (a - b) / np.log(a / b)


def test_several_arguments_and_other_values_of_them() -> None:
    """One program serves all values of the arguments that are not compared."""
    g = sg.grad(exchanger, (0, 1))
    for n in (2.0, 3.0):
        # d/dr of (1 - e)/(1 - r*e) at r = 1: -n**2/(2*(1 + n)**2)
        np.testing.assert_allclose(g(1.0, n), (-(n**2) / (2 * (1 + n) ** 2), 1 / (1 + n) ** 2))
    h = np.array(sg.hessian(mean_difference, (0, 1))(2.0, 2.0))
    np.testing.assert_allclose(h, np.array([[-1, 1], [1, -1]]) / 24 / 0.5, rtol=1e-12)
    np.testing.assert_allclose(sg.grad(mean_difference, (0, 1))(3.0, 3.0), (0.5, 0.5))


def test_arrays() -> None:
    x = np.array([0.0, 0.7, 0.0, -2.0])
    second = np.where(
        x == 0, -1 / 3, [(-np.sin(v) / v - 2 * np.cos(v) / v**2 + 2 * np.sin(v) / v**3) if v else 0
                         for v in x],
    )  # fmt: skip
    for f in (by_where, safely):
        h = sg.hessian(lambda x, f=f: np.sum(f(x)))
        np.testing.assert_allclose(np.diag(h(x)), second, rtol=1e-10)
        np.testing.assert_allclose(np.diag(h(x + 0.1)), np.diag(h(x + 0.1)))
        g = sg.grad(lambda x, f=f: np.sum(f(x) * x))
        np.testing.assert_allclose(g(x), np.cos(x), rtol=1e-10)
        np.testing.assert_allclose(g(x[::-1] + 1.0), np.cos(x[::-1] + 1.0), rtol=1e-10)
    one_by_one = sg.hessian(lambda x: sum(if_else(v) for v in x))(x)
    np.testing.assert_allclose(np.diag(one_by_one), second, rtol=1e-10)


def hue(h: Any) -> Any:
    h = h % 10.0
    return 10.0 if h == 0 else h


def pole(x: Any) -> Any:
    return 0.0 if x == 0 else 1.0 / x


def jump(x: Any) -> Any:
    return np.where(x == 1.0, 5.0, x)


def broken(x: Any) -> Any:
    if x == 0:
        return 2.0
    raise ValueError


@pytest.mark.parametrize(("f", "at"), [(hue, 0.0), (pole, 0.0), (jump, 1.0), (broken, 0.0)])
def test_sides_that_do_not_continue_each_other(f: Callable[[Any], Any], at: float) -> None:
    with pytest.warns(EqualityWarning, match=r"singled out by `==` at test_equalities.py:\d+"):
        sg.grad(f)(at)


def test_no_more_derivatives_than_are_known() -> None:
    g = if_else
    for _ in range(5):
        g = sg.grad(g)
    assert np.isnan(g(0.0))


def test_what_is_not_noted() -> None:
    """Flags, sizes, values that no argument reaches, results that are the same on both sides."""

    def f(x: Any, kind: Any = 0, table: Any = (1.0, 0.0)) -> Any:
        if kind == 0 and len(table) == 2 and np.sum(table) == 1.0:
            seen = x == 0.0
            if seen:
                x = x * 1.0
        return x**2 + sg.stop_gradient(np.where(x == 0, 1.0, 2.0))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sg.grad(f)(0.0) == 0.0
        assert sg.compile(hue)(0.0) == 10.0
        assert sg.grad(np.linalg.norm)(np.zeros(2)).tolist() == [0.0, 0.0]


def test_verify_compares_with_the_other_side() -> None:
    for f, at in ((by_where, 0.0), (if_else, 0.0), (helper, 1.0)):
        report = sg.verify(f, at)
        assert report.max_ulp < 4
    with pytest.warns(EqualityWarning):
        sg.verify(hue, 0.0)


def test_equalities_asked_for_by_identity() -> None:
    """``is True`` and ``match`` ask for Python's own True."""

    def by_is(x: float) -> Any:
        return 1.0 if (x == 0) is True else np.sin(x) / x

    def by_match(x: float) -> Any:
        match x == 0:
            case True:
                return 1.0
            case _:
                return np.sin(x) / x

    for f in (by_is, by_match):
        for x, value, first, second in ((0.0, 1.0, 0.0, -1 / 3), (1.0, np.sin(1.0), None, None)):
            got = sg.value_and_grad(f)(x)
            assert got[0] == value
            first = np.cos(1.0) - np.sin(1.0) if first is None else first
            np.testing.assert_allclose(got[1], first, rtol=1e-14, atol=1e-16)
            second = np.sin(1.0) - 2 * np.cos(1.0) if second is None else second
            np.testing.assert_allclose(sg.hessian(f)(x), second, rtol=1e-12)


# ---------------------------------------------------------------- in batches, loops and branches


def second_of_sinc(x: float) -> float:
    """Return the second derivative of sin(x)/x."""
    if x == 0:
        return -1 / 3
    return -np.sin(x) / x - 2 * np.cos(x) / x**2 + 2 * np.sin(x) / x**3  # type: ignore[no-any-return]


@pytest.mark.parametrize("f", [by_where, safely, if_else])
def test_examples_of_a_batch(f: Any) -> None:
    g = sg.vmap(sg.grad(sg.grad(f)))
    summed = sg.hessian(lambda x: np.sum(sg.vmap(f)(x)))
    # None of them, some, others, another number of them, all.
    for x in ([0.3, 0.5], [0.0, 0.5], [0.5, 0.0], [0.2, 0.0, 0.0], [0.0], [1.0, 2.0]):
        want = [second_of_sinc(v) for v in x]
        np.testing.assert_allclose(g(np.array(x)), want, rtol=1e-10)
        np.testing.assert_allclose(np.diag(summed(np.array(x))), want, rtol=1e-10)
    rows = np.array([[0.0, 0.5], [1.0, 0.0]])
    want = [[second_of_sinc(v) for v in row] for row in rows]
    np.testing.assert_allclose(sg.vmap(g)(rows), want, rtol=1e-10)
    elements = sg.hessian(lambda x: np.sum(np.vectorize(f)(x)))
    np.testing.assert_allclose(np.diag(elements(rows[0])), want[0], rtol=1e-10)


def test_examples_in_which_other_comparisons_hold() -> None:
    def two(x: Any, y: Any) -> Any:
        return by_where(x) * np.where(y == 1, 1.0, np.log(y) / (y - 1))

    x, y = np.array([0.0, 0.5, 0.0, 0.3]), np.array([2.0, 1.0, 1.0, 0.5])
    found = np.array(sg.vmap(sg.hessian(two, (0, 1)))(x, y))
    with mpmath.workdps(40):

        def exact(a: Any, b: Any) -> Any:
            return (mpmath.sin(a) / a if a else 1) * (mpmath.log(b) / (b - 1) if b != 1 else 1)

        for k in range(4):
            at = mpmath.mpf(x[k]) + mpmath.mpf("1e-12"), mpmath.mpf(y[k]) + mpmath.mpf("1e-12")
            want = [[mpmath.diff(exact, at, (2 - i - j, i + j)) for j in (0, 1)] for i in (0, 1)]
            np.testing.assert_allclose(found[..., k], np.array(want, float), rtol=1e-8, atol=1e-9)


def jump(x: Any) -> Any:
    return np.where(x == 0, 5.0, np.cos(x))


def product(f: Any) -> Any:
    """A scan whose steps ask: f(0)*f(x)*f(2*x)."""
    return lambda x: sg.scan(lambda s, t: (s * f(x * t), s), 1.0 + 0.0 * x, np.arange(3.0))[0]


BODIES: dict[str, tuple[Callable[[Any], Any], float]] = {
    "scan": (product(by_where), -5 / 3),
    "loops in loops": (
        lambda x: sg.fori_loop(0, 2, lambda k, s: s + product(by_where)(x * (k + 1.0)), 0.0 * x),
        -25 / 3,
    ),
    "while": (
        lambda x: sg.while_loop(
            lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] + by_where(s[0] * x)), (0, 0.0 * x)
        )[1],
        -5 / 3,
    ),
    "branch": (lambda x: sg.cond(x > -1, by_where, lambda x: x, x), -1 / 3),
    "scan by if": (product(if_else), -5 / 3),
    "scan by cond": (product(by_cond), -5 / 3),
    "count by not": (
        lambda x: sg.fori_loop(0, 2, lambda k, s: s + if_not(x * (k + 1.0)), 0.0 * x), 5 / 3,
    ),
    "while by !=": (
        lambda x: sg.while_loop(
            lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] + other_way(s[0] * x)), (0, 0.0 * x)
        )[1],
        -5 / 3,
    ),
    "branch by if": (lambda x: sg.cond(x > -1, if_else, lambda x: x, x), -1 / 3),
    "checkpoint": (sg.checkpoint(safely), -1 / 3),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_in_bodies(name: str) -> None:
    f, want = BODIES[name]
    g = sg.grad(sg.grad(f))
    h = 1e-4
    for x in (0.6, 0.0, 0.7):  # beside the point, at it, and beside it again
        if x == 0:
            np.testing.assert_allclose(g(x), want, rtol=1e-10)
            continue
        with np.errstate(all="ignore"):
            beside = (f(x + h) - 2 * f(x) + f(x - h)) / h**2
        np.testing.assert_allclose(g(x), beside, rtol=1e-5)


@pytest.mark.parametrize("ask", [
    lambda: sg.vmap(sg.grad(jump))(np.array([0.0, 1.0])),
    lambda: sg.grad(product(jump))(0.0),
    lambda: sg.vmap(sg.grad(sg.grad(product(by_where))))(np.array([0.0, 0.5])),
    lambda: sg.grad(lambda x: sg.scan(lambda s, t: (s + by_where(t), s), 0.0, x)[0])(
        np.array([0.0, 0.5])
    ),
])  # fmt: skip
def test_what_is_not_continued_in_bodies_is_warned_of(ask: Any) -> None:
    with pytest.warns(EqualityWarning, match=r"test_equalities\.py:\d+"):
        ask()


def integral_of_all(x: Any) -> Any:
    """The comparison holds at all nodes: the integral of expm1(x*t)/(x*t)."""
    return quad(lambda t: if_not(x * t), 0.0, 1.0)[0]


def integral_at_a_node(x: Any) -> Any:
    """It holds at one node: the integral of expm1(t - x)/(t - x)."""
    return quad(lambda t: if_not(t - x), -1.0, 1.0)[0]


def integral_to_the_point(x: Any) -> Any:
    return quad(if_not, -1.0, x)[0]


INTEGRALS: dict[Any, list[float]] = {
    integral_of_all: [1 / (k + 1) ** 2 for k in (1, 2, 3)],
    # h(t) = expm1(t)/t: h(-1) - h(1), h'(1) - h'(-1), h''(-1) - h''(1)
    integral_at_a_node: [2 - math.e - 1 / math.e, 2 / math.e, 4 - math.e - 5 / math.e],
    integral_to_the_point: [1, 1 / 2, 1 / 3],
}


@pytest.mark.slow
@pytest.mark.parametrize("f", INTEGRALS)
def test_in_integrands(f: Any) -> None:
    g = f
    for order, want in enumerate(INTEGRALS[f]):
        g = sg.grad(g)
        np.testing.assert_allclose(g(0.0), want, rtol=1e-9, err_msg=f"{order + 1}")
    with mpmath.workdps(20):
        beside = mpmath.quad(lambda t: mpmath.expm1(0.5 * t) / (0.5 * t), [0, 1])
        steps = [t for t in (-1, 0, 0.5, 1) if f is integral_at_a_node or t != 1]
        if f is integral_at_a_node:
            beside = mpmath.quad(lambda t: mpmath.expm1(t - 0.5) / (t - 0.5), steps)
        elif f is integral_to_the_point:
            beside = mpmath.quad(lambda t: mpmath.expm1(t) / t, steps)
    np.testing.assert_allclose(sg.compile(f)(0.5), float(beside), rtol=1e-9)


def test_integrands_that_do_not_continue_are_warned_of() -> None:
    with pytest.warns(EqualityWarning, match=r"test_equalities\.py:\d+"):
        sg.grad(lambda x: quad(lambda t: jump(x * t), 0.0, 1.0)[0])(0.0)


def test_rules_of_the_users_stay_where_a_comparison_holds() -> None:
    @sg.custom_jvp
    def rounded(x: Any) -> Any:
        return np.round(x)

    rounded.defjvps(lambda t, y, x: 2.0 * t)
    for f in (by_where, if_else, lambda x: sg.fori_loop(0, 1, lambda k, s: s * by_where(x), 1.0)):
        g = sg.grad(lambda x, f=f: rounded(x) + f(x))
        assert g(0.0) == 2.0
        np.testing.assert_allclose(sg.grad(g)(0.0), -1 / 3)


def test_comparisons_of_what_does_not_move_are_the_functions_own() -> None:
    def f(x: Any) -> Any:
        return sg.scan(lambda s, t: (s + np.where(t == 0, x, x**2), s), 0.0, np.arange(3.0))[0]

    with warnings.catch_warnings():
        warnings.simplefilter("error", EqualityWarning)
        assert sg.grad(f)(3.0) == 13.0
        counts = sg.vmap(sg.grad(lambda x, n: np.where(n == 0, x, x**2)))
        assert counts(np.array([3.0, 3.0]), np.array([0.0, 1.0])).tolist() == [1.0, 6.0]


def _both(a: Any, b: Any) -> Any:
    return 1.0 if a == 0 and b == 0 else np.sin(a + b) / (a + b)


def _chained(a: Any, b: Any) -> Any:
    return 1.0 if a == b == 0 else np.sin(a + b) / (a + b)


def _length(a: Any, b: Any) -> Any:
    return 1.0 if a == 0 and b == 0 else np.sin(np.hypot(a, b)) / np.hypot(a, b)


@pytest.mark.parametrize(("f", "mixed"), [(_both, -1 / 3), (_chained, -1 / 3), (_length, 0.0)])
def test_points_of_two_numbers(f: Callable[[Any, Any], Any], mixed: float) -> None:
    """What vanishes at a = 0 and b = 0 alone has no series along a for all b."""
    want = np.array([[-1 / 3, mixed], [mixed, -1 / 3]])
    found = [[sg.grad(sg.grad(f, i), j)(0.0, 0.0) for j in (0, 1)] for i in (0, 1)]
    np.testing.assert_allclose(found, want, atol=1e-12)
    along = lambda a, b: sg.jvp(f, (a, b), (1.0, 2.0))[1]  # noqa: E731
    second = sg.jvp(along, (0.0, 0.0), (1.0, 2.0))[1]
    assert second == pytest.approx(np.array([1, 2]) @ want @ np.array([1, 2]))


def test_a_point_of_two_numbers_without_a_limit() -> None:
    def f(a: Any, b: Any) -> Any:
        return 0.0 if a == 0 and b == 0 else np.sin(a * b) / (a + b)

    with pytest.warns(EqualityWarning):
        assert sg.grad(f, (0, 1))(0.0, 0.0) == (0.0, 0.0)


@pytest.mark.parametrize("is_zero", [
    lambda x: np.count_nonzero(x) == 0, lambda x: not np.any(x), lambda x: not np.all(x),
    lambda x: np.array_equal(x, 0.0), lambda x: np.array_equiv(x, 0.0), lambda x: x == 0,
])  # fmt: skip
def test_comparisons_that_functions_make(is_zero: Callable[[Any], Any]) -> None:
    def f(x: Any) -> Any:
        return 1.0 if is_zero(x) else np.sin(x) / x

    assert sg.grad(sg.grad(f))(0.0) == pytest.approx(-1 / 3)
    assert sg.grad(sg.grad(f))(np.float32(0)) == pytest.approx(-1 / 3, rel=1e-6)


def test_arrays_that_are_singled_out() -> None:
    def f(x: Any) -> Any:
        return 1.0 if np.array_equal(x, np.zeros(2)) else np.sin(np.sum(x)) / np.sum(x)

    np.testing.assert_allclose(sg.hessian(f)(np.zeros(2)), np.full((2, 2), -1 / 3), rtol=1e-12)


TRUTHS: list[Callable[[Any], Any]] = [
    lambda x: np.where(x, np.sin(x) / np.where(x, x, 1.0), 1.0),
    lambda x: np.where(x.astype(bool), np.sin(x) / np.where(x == 0, 1.0, x), 1.0),
    lambda x: np.where(np.logical_not(x), 1.0, np.sin(x) / np.where(x == 0, 1.0, x)),
    lambda x: np.where(np.logical_and(x, x < 9), np.sin(x) / np.where(x == 0, 1.0, x), 1.0),
]


@pytest.mark.parametrize("f", TRUTHS)
def test_truth_values_of_numbers_compare_them_with_zero(f: Callable[[Any], Any]) -> None:
    x = np.array([0.0, 0.7])
    wanted = [-1 / 3, float(mpmath.diff(lambda t: mpmath.sin(t) / t, 0.7, 2))]
    found = sg.hessian(lambda x: np.sum(f(x)))(x)
    np.testing.assert_allclose(found, np.diag(wanted), rtol=1e-12, atol=1e-15)


def _half(t: Any) -> Any:
    return (1 - np.cos(t)) / t**2


LENGTHS: list[Callable[[Any], Any]] = [
    lambda x: _half(r) if (r := np.linalg.norm(x)) > 0 else 0.5,
    lambda x: 0.5 if (r := np.sqrt(x[0] ** 2 + x[1] ** 2)) <= 0 else _half(r),
    lambda x: _half(r) if (r := np.hypot(x[0], x[1])) > 0 else 0.5,
    lambda x: 0.5 if not (r := np.linalg.norm(x)) > 0.0 else _half(r),
    lambda x: np.where((r := np.linalg.norm(x)) > 0, _half(np.where(r > 0, r, 1.0)), 0.5),
]


@pytest.mark.parametrize("f", LENGTHS)
def test_lengths_that_are_compared_with_zero(f: Callable[[Any], Any]) -> None:
    """``r > 0`` tells the point 0 from all others, as ``r != 0`` does."""
    wanted = -np.eye(2) / 12
    np.testing.assert_allclose(sg.hessian(f)(np.zeros(2)), wanted, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(sg.grad(f)(np.zeros(2)), 0.0, atol=1e-15)
    assert f(np.zeros(2)) == sg.compile(f)(np.zeros(2)) == 0.5
    size = sg.hessian(lambda x: np.cos(x) if abs(x) > 0 else 1.0)(0.0)
    assert size == pytest.approx(-1.0, rel=1e-12)
    with pytest.warns(EqualityWarning):
        sg.jacobian(lambda x: x / r if (r := np.linalg.norm(x)) > 0 else x)(np.zeros(2))


@pytest.mark.parametrize("skips", [lambda r: r == 0, lambda r: not r > 0])
def test_distances_of_a_point_from_itself_are_no_point_of_the_function(skips: Any) -> None:
    def energy(x: Any) -> Any:
        total = 0.0
        for a in x:
            for b in x:
                r = np.linalg.norm(a - b)
                if not skips(r):
                    total = total + 1 / r
        return total

    x = np.array([[0.0, 0.1], [1.0, 0.3], [0.2, 2.0]])
    steps = 1e-6 * np.eye(6).reshape(6, 3, 2)
    wanted = [(energy(x + h) - energy(x - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(sg.grad(energy)(x).ravel(), wanted, rtol=1e-7)
