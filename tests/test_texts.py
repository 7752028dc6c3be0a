"""Text of traced values: shown with the numbers of the call, and never taken for a number."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import CaptureWarning

Array = Any
X = np.array([1.0, 2.0, 3.0])


def keyed(x: Array) -> Any:
    parts = {}
    for t in x:
        parts[f"T={t}"] = t**2
    return sum(parts.values())


def remembered(x: Array) -> Any:
    known: dict[str, Any] = {}

    def sine(t: Any) -> Any:
        key = str(t)
        if key not in known:
            known[key] = np.sin(t)
        return known[key]

    return sum(sine(t) for t in x) + sine(x[0])


def named(x: Array) -> Any:
    return sum(dict(zip([repr(t) for t in x], x, strict=True)).values())


@pytest.mark.parametrize("f", [keyed, remembered, named], ids=lambda f: f.__name__)
@pytest.mark.usefixtures("few_kernels")
def test_texts_of_two_values_are_two_keys(f: Callable[[Array], Any]) -> None:
    with pytest.warns(CaptureWarning, match="does not have its number"):
        value, slope = sg.value_and_grad(f)(X)
    assert value == pytest.approx(f(X), rel=1e-14)
    t = np.array([0.3, -0.2, 0.5])
    near = (f(X + 1e-6 * t) - f(X - 1e-6 * t)) / 2e-6
    assert slope @ t == pytest.approx(near, rel=1e-8)


def chosen(x: Any) -> Any:
    return 2.0 * x if str(x) == "2.0" else 3.0 * x


def counted(x: Any) -> Any:
    return x * len(f"{x}")


@pytest.mark.parametrize("f", [chosen, counted], ids=lambda f: f.__name__)
def test_a_decision_on_text_is_warned_of(f: Callable[[Any], Any]) -> None:
    with pytest.warns(CaptureWarning, match="does not have its number") as said:
        sg.compile(f)(2.0)
    assert {w.filename for w in said} == {__file__}


def rounded(x: Any) -> Any:
    return float(f"{x:.1f}") * x


def passed_on(x: Any) -> Any:
    print(np.sin(float(f"{x:.1f}")))
    return x


def through_math(x: Any) -> Any:
    print("sine %.3f" % math.sin(f"{x:.1f}" == "2.0" or x))  # noqa: UP031
    return x


@pytest.mark.parametrize("f", [rounded, passed_on, through_math], ids=lambda f: f.__name__)
def test_text_that_becomes_a_number_is_refused(f: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match="the text outside of the function"):
        sg.compile(f)(2.04)


@dataclass
class Point:
    height: float


log = logging.getLogger("symgrad.tests")


def printed(x: Any) -> Any:
    y = x**2
    print(f"step {3:2d}: "
          f"y = {y:.3f}", flush=True)  # fmt: skip
    return y


def by_percent(x: Any) -> Any:
    print("y = %.3f after %d" % (x**2, 3))  # noqa: UP031
    return x**2


def by_format(x: Any) -> Any:
    print("y = {:.3f}".format(x**2))  # noqa: UP032
    return x**2


def of_a_float(x: Any) -> Any:
    print(f"y = {float(x**2):.3f}")
    return x**2


def listed(x: Any) -> Any:
    print([f"y = {v:.3f}" for v in (x**2, x)])
    return x**2


@pytest.mark.parametrize(
    "f", [printed, by_percent, by_format, of_a_float, listed], ids=lambda f: f.__name__
)
@pytest.mark.usefixtures("few_kernels")
def test_what_is_printed_has_the_numbers_of_the_call(
    f: Callable[[Any], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sg.value_and_grad(f)(1.5) == (2.25, 3.0)
    assert "y = 2.250" in capsys.readouterr().out


def test_logged_warned_and_told_in_errors(caplog: pytest.LogCaptureFixture) -> None:
    def f(x: Any) -> Any:
        log.warning("x is %.2f", x)
        warnings.warn(f"large: {x:.2f}", UserWarning, stacklevel=2)
        if x > 2.0:
            raise ValueError(f"too large: {x}")
        assert x > 1.0, f"too small: {x}"
        return x**2

    with pytest.warns(UserWarning, match=r"large: 1\.50"):
        assert sg.grad(f)(1.5) == 3.0
    assert "x is 1.50" in caplog.text
    with pytest.warns(UserWarning, match="3"), pytest.raises(ValueError, match=r"large: 3\.0"):
        sg.grad(f)(3.0)
    with pytest.warns(UserWarning, match="0"), pytest.raises(AssertionError, match=r"small: 0\.5"):
        sg.grad(f)(0.5)


def test_numbers_are_printed_as_plain_python_prints_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def f(x: Any) -> Any:
        print("x is", x, [x], f"{x}", str(x), x * 2)
        return x**2

    f(1.5)
    expected = capsys.readouterr().out
    sg.grad(f)(1.5)
    # A Python float and what NumPy makes of one: 3.0 and np.float64(3.0) print alike.
    assert capsys.readouterr().out == expected


def test_what_has_no_number_is_shown_as_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        print(f"{x:.2f}", x, Point(x))
        return x**2

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sg.vmap(f)(X)
    shown = capsys.readouterr().out
    assert shown.count("Traced(") == 3
    assert "height=Traced(" in shown
