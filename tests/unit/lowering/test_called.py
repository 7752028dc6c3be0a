"""Long functions that come again are one body, which is called; the bits stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special

import symgrad as sg
from symgrad._core.pipeline import legal, lower

DEGREES = 5.5
X = np.linspace(-3.0, 4.0, 37)


def student(v: Any, x: Any) -> Any:
    """Student's distribution function and its density."""
    return sg.jvp(lambda x: special.stdtr(v, x), (x,), (np.ones_like(x),))


def calls(f: Any, *args: Any) -> list[Any]:
    return [n for n in legal(sg.compile(f).program(*args)).steps if n.op.kind == "branch"]


def test_a_long_function_of_several_arrays_is_one_body() -> None:
    def three(v: Any, x: Any) -> Any:
        return [student(v, y) for y in (x, x - 0.5, 2.0 * x)]

    found = calls(three, DEGREES, X)
    assert len(found) == 3
    assert len({n.params["bodies"] for n in found}) == 1
    once = lower(sg.compile(student).program(DEGREES, X)).steps
    assert lower(sg.compile(three).program(DEGREES, X)).steps < 1.1 * once
    expected = [sg.compile(student)(DEGREES, y) for y in (X, X - 0.5, 2.0 * X)]
    np.testing.assert_array_equal(sg.compile(three)(DEGREES, X), expected)


def test_what_is_made_of_numbers_alone_is_computed_once() -> None:
    """Their steps are the program's: a body with them would compute them in each call."""
    found = calls(lambda v, x: [student(v, y) for y in (x, x + 1.0)], DEGREES, X)
    of_arrays, numbers = zip(*((n.operands[:3], n.operands[3:]) for n in found), strict=True)
    assert len({*of_arrays}) == 2
    assert len({*numbers}) == 1
    assert not any(x.shape for x in numbers[0])


def test_parameters_may_differ_between_calls() -> None:
    def two(v: Any, w: Any, x: Any) -> Any:
        return student(v, x), student(w, x)

    assert len({n.params["bodies"] for n in calls(two, 5.5, 2.5, X)}) == 1
    expected = [sg.compile(student)(v, X) for v in (5.5, 2.5)]
    np.testing.assert_array_equal(sg.compile(two)(5.5, 2.5, X), expected)


def test_numbers_are_called_too() -> None:
    """Elements of short arrays are values of their own, each with the whole function."""
    places = np.array([-1.0, 0.5, 2.0])
    found = calls(lambda v, x: [student(v, y) for y in x], DEGREES, places)
    assert len(found) == 3
    got = sg.compile(lambda v, x: [student(v, y) for y in x])(DEGREES, places)
    expected = [sg.compile(student)(DEGREES, y) for y in places]
    np.testing.assert_allclose(got, expected, rtol=1e-15)


@pytest.mark.parametrize(
    "f",
    [
        pytest.param(student, id="once"),
        pytest.param(lambda v, x: [special.expit(x), special.expit(v * x)], id="short"),
        pytest.param(
            lambda v, x: [special.stdtr(v, x), special.gammainc(v, x * x)], id="different"
        ),
    ],
)
def test_others_are_written_out(f: Any) -> None:
    assert not calls(f, DEGREES, X)


def test_empty_arrays_and_matrices() -> None:
    def two(v: Any, x: Any) -> Any:
        return student(v, x), student(v, x + 1.0)

    assert np.shape(sg.compile(two)(DEGREES, X[:0])) == (2, 2, 0)
    found = sg.compile(two)(DEGREES, X[:36].reshape(9, 4))
    np.testing.assert_array_equal(np.reshape(found, (2, 2, 36)), sg.compile(two)(DEGREES, X[:36]))
