"""Errors of Python's arithmetic that the traced code catches decide what it returns."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from math import exp
from typing import Any

import numpy as np
import pytest

import symgrad as sg

Problems = (ZeroDivisionError, OverflowError)


def inverse(x: Any) -> Any:
    try:
        return 1 / x
    except ZeroDivisionError:
        return 7.0


def bounded_exponential(x: Any) -> Any:
    try:
        return exp(x)
    except:  # noqa: E722 (as libraries have it)
        return 1e300


def root(x: Any) -> Any:
    try:
        return math.sqrt(x)
    except ValueError:
        return -1.0


def power(x: Any, y: Any) -> Any:
    try:
        return x**y
    except Problems as error:
        return 1.0 if isinstance(error, OverflowError) else 2.0


def nested(x: Any) -> Any:
    try:
        try:
            return math.log(x)
        except OverflowError:
            return 5.0
    except ValueError:
        return -3.0


def suppressed(x: Any) -> Any:
    y = 0.0
    with contextlib.suppress(ValueError):
        y = math.acos(x)
    return y + x


def remainders(x: Any) -> Any:
    try:
        return x // 0.0 if x > 5 else 3.0 % x
    except ArithmeticError:
        return x


def gamma_inverse(x: Any) -> Any:
    return 1 / math.gamma(x)


def by_helper(x: Any) -> Any:
    try:
        return gamma_inverse(x)
    except ValueError:
        return -1.0
    except OverflowError:
        return -2.0
    finally:
        pass


def elements(xs: Any) -> Any:
    total = 0.0
    for x in xs:
        try:
            total += math.sqrt(x)
        except ValueError:
            total -= x
    return total


@pytest.mark.parametrize(
    ("f", "calls"),
    [
        (inverse, [(2.0,), (0.0,), (-1.0,), (0.0,)]),
        (bounded_exponential, [(2.0,), (1e3,), (-1e3,)]),
        (root, [(4.0,), (-4.0,), (math.inf,), (math.nan,)]),
        (power, [(2.0, 3.0), (0.0, -1.0), (1e300, 2.0), (3.0, 1.0), (0.0, 1.0)]),
        (nested, [(2.0,), (0.0,), (-1.0,)]),
        (suppressed, [(0.5,), (2.0,)]),
        (remainders, [(2.0,), (0.0,), (6.0,)]),
        (by_helper, [(2.0,), (0.0,), (-2.0,), (180.0,), (0.5,)]),
        (elements, [([1.0, 4.0],), ([1.0, -4.0],), ([-1.0, -4.0],)]),
    ],
)
@pytest.mark.filterwarnings("ignore::symgrad.errors.EqualityWarning")
def test_a_caught_error_is_the_plain_functions(f: Callable[..., Any], calls: list[Any]) -> None:
    g, d = sg.compile(f), sg.value_and_grad(f)
    for args in calls:
        np.testing.assert_allclose(g(*args), f(*args), rtol=1e-14)
        np.testing.assert_allclose(d(*args)[0], f(*args), rtol=1e-14)


def test_derivatives_are_those_of_the_way_that_is_taken() -> None:
    assert sg.grad(root)(4.0) == 0.25
    assert sg.grad(root)(-4.0) == 0.0
    np.testing.assert_array_equal(sg.grad(elements)([4.0, -4.0]), [0.25, -1.0])
    assert sg.grad(remainders)(6.0) == 1.0


def quotient(x: Any) -> Any:
    try:
        return math.sin(x) / x
    except ZeroDivisionError:
        return 1.0


def test_a_caught_division_singles_out_a_point_as_a_comparison_does() -> None:
    assert sg.grad(quotient)(0.0) == 0.0
    np.testing.assert_allclose(sg.grad(sg.grad(quotient))(0.0), -1 / 3, rtol=1e-14)
    with pytest.warns(sg.errors.EqualityWarning, match="does not lead to the value"):
        assert sg.grad(inverse)(0.0) == 0.0


def test_numpys_numbers_raise_nothing() -> None:
    with np.errstate(divide="ignore"):
        assert inverse(np.float64(0.0)) == math.inf
    assert sg.compile(inverse)(np.float64(0.0)) == math.inf
    assert sg.compile(inverse)(np.zeros(2)).tolist() == [math.inf, math.inf]


def test_errors_that_nobody_catches_are_not_asked_for() -> None:
    f = sg.compile(lambda x: 1 / x + math.exp(x))
    assert f(0.0) == math.inf
    assert f(1.0) == 1.0 + math.e
    assert f.traces == 1
    try:  # around the trace, not in it
        assert f(-1.0) == -1.0 + math.exp(-1.0)
    finally:
        assert f.traces == 1


def test_in_the_body_of_a_loop_a_warning_names_the_line() -> None:
    def f(x: Any) -> Any:
        return sg.fori_loop(0, 3, lambda _, c: root(c), x)

    line = root.__code__.co_firstlineno + 2
    with pytest.warns(sg.errors.CaptureWarning, match=rf"ValueError is .*\.py:{line}\]"):
        np.testing.assert_allclose(sg.compile(f)(2.0), 2.0**0.125)
