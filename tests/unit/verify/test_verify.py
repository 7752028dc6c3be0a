"""Parts of certificates: distances, digits of formulas, derivatives by SymPy, limits of effort."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special as special
import sympy as sp

import symgrad as sg
import symgrad._api._verify_kernels as verify_module
import symgrad._verify._certify as certify_module
import symgrad._verify._expansion as expansion_module
from symgrad import verify
from symgrad._core.op import Evidence, registry
from symgrad._verify._closures import closure
from symgrad._verify._compare import compare
from symgrad._verify._digits import evaluate, reach
from symgrad._verify._numbers import Digits
from symgrad._verify._numeric_calculus import rule_of
from symgrad._verify._rules import differentiate, switches
from symgrad.errors import UnsupportedError, VerificationError

X = np.array([0.3, 1.7, -0.6, 2.2])


@pytest.fixture
def plain() -> Iterator[None]:
    """Run kernels under NumPy: the rules are the same, and nothing is compiled."""
    with sg.backend("numpy"):
        yield


@pytest.mark.usefixtures("plain")
def test_an_op_without_a_form_of_any_kind_is_refused(broken: Callable[..., None]) -> None:
    rule_of.cache_clear()
    spence = registry.ops["Spence"]
    facets = {**spence.beside, Evidence: dataclasses.replace(Evidence.of(spence), precise=None)}
    broken(spence, beside=facets)
    with pytest.raises(UnsupportedError, match="Spence has no formula"):
        verify(lambda x: special.spence(x), 1.5)
    rule_of.cache_clear()


# ---------------------------------------------------------------- mistakes are caught


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("factor", [1 + 1e-14, -1.0, np.nan, 1e300, 0.0])
def test_wrong_kernels_are_caught(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    right = verify_module.jacobian

    def wrong(f: Any, argnums: Any) -> Any:
        return lambda *xs: [[factor * np.where(True, right(f, argnums)(*xs)[0][0], 0)]]

    verify(np.sin, X)
    monkeypatch.setattr(verify_module, "jacobian", wrong)
    with pytest.raises(VerificationError, match="the derivative by x is wrong"):
        verify(np.sin, X)


@pytest.mark.usefixtures("plain")
def test_what_does_not_depend_must_be_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    right = verify_module.jacobian
    wrong = lambda f, argnums: lambda *xs: [[1e-300 + right(f, argnums)(*xs)[0][0]]]  # noqa: E731
    monkeypatch.setattr(verify_module, "jacobian", wrong)
    with pytest.raises(VerificationError, match=r"is 0\.0, but the kernel gives 1e-300"):
        verify(np.sin, X)


@pytest.mark.usefixtures("plain")
def test_the_two_exact_derivatives_must_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    assert verify(lambda x: np.sin(x) * x, 0.5).confirmed == 1
    wrong = lambda expression, target: 2 * sp.diff(expression, target)  # noqa: E731
    monkeypatch.setattr("symgrad._verify._whole_expression.derivative_of", wrong)
    with pytest.raises(VerificationError, match="two exact derivatives disagree"):
        verify(lambda x: np.sin(x) * x, 0.5)


@pytest.mark.usefixtures("plain")
def test_large_jacobians_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symgrad._api._verify_kernels.ENTRIES", 10)
    f = lambda p, k: (np.sin(p["x"]) * p["y"], np.sum(p["x"]))  # noqa: E731
    report = verify(f, {"x": X, "y": 2.0}, 3)
    assert [c.name for c in report.checks] == ["value", "p_x", "p_y"]
    assert report["p_x"].checked == 20
    assert report.max_ulp < 4


@pytest.mark.usefixtures("plain")
def test_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expansion_module, "SCALARS", 50)
    with pytest.raises(VerificationError, match="smaller arrays"):
        verify(lambda x: np.sum(np.sin(x)), np.ones(40))
    # What fits is checked.
    report = verify(lambda x: np.sin(x), np.ones(40))
    assert 0 < report["value"].checked < 40


@pytest.mark.usefixtures("plain")
def test_effort_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certify_module, "EFFORT", 100)
    report = verify(lambda x: np.cumsum(x), np.ones(60))
    assert 0 < report["x"].checked < report["x"].total


def _distance(computed: float, exact: Any, bound: Any = 0, dtype: Any = np.float64) -> Any:
    c = Digits(65)
    return compare(c, "f", dtype(computed), c.mpf(exact), c.mpf(bound), 16.0, 50)


def test_distances() -> None:
    inf, nan = math.inf, math.nan
    assert _distance(1.0, 1).ulp == 0
    assert _distance(1.0 + 2**-52, 1).ulp == 1
    assert _distance(1.0, "1." + 30 * "0" + "1").ulp < 1e-14
    assert _distance(1.0 - 2**-53, 1).ulp == 0.5
    assert _distance(np.float32(1.0) + 2.0**-23, 1, dtype=np.float32).ulp == 1
    # Zero and subnormal numbers count in steps of the smallest one.
    assert _distance(0.0, 0).ulp == _distance(-0.0, 0).ulp == 0
    assert _distance(5e-324, 0).ulp == 1
    assert _distance(0.0, "1e-310").ulp == pytest.approx(1e-310 / 5e-324)
    assert _distance(1e-17, 0, bound="1e-16").ulp == pytest.approx(0.1)
    # An overflow of the exact value is right, any other infinity is not.
    assert _distance(inf, "1e400").allowed
    assert not _distance(-inf, "1e400").allowed
    assert not _distance(inf, "1e300").allowed
    assert _distance(inf, inf).allowed
    assert _distance(-inf, inf).allowed
    assert not _distance(nan, inf).allowed
    assert not _distance(1e308, inf).allowed
    assert _distance(nan, nan).allowed
    assert not _distance(nan, 1).allowed
    assert not _distance(1.0, nan).allowed
    # Where there is no derivative, any infinity and nan say so; a number does not.
    c = Digits(65)
    for computed, allowed in ((inf, True), (-inf, True), (nan, True), (1.0, False)):
        entry = compare(c, "f", np.float64(computed), c.inf, c.zero, 16.0, 50, kink=True)
        assert entry.allowed is allowed
    # Error bounds allow more.
    assert not _distance(1.0 + 1e-10, 1).allowed
    assert _distance(1.0 + 1e-10, 1, bound="1e-10").allowed


# ---------------------------------------------------------------- exact evaluation


def _value(text: str, x: float) -> Any:
    symbol = sp.Symbol("x", real=True)
    expression = sp.sympify(text, locals={"x": symbol})
    c = Digits(60)
    return evaluate(c, closure(expression, [symbol]), [c.mpf(x)], reach(expression)), c


@pytest.mark.parametrize(
    ("text", "x", "exact"),
    [
        ("log(1 + x)", 1e-300, 1e-300),
        ("exp(x) - 1", 1e-200, 1e-200),
        ("(1 - cos(x))/x**2", 1e-30, 0.5),
        ("1 - tanh(x)**2", 200.0, 4 * mpmath.exp(-400)),
        ("erfc(x)", 100.0, mpmath.erfc(100)),
        ("log(exp(x) + exp(-x))", 1e5, 1e5),
        ("x*log(x)", 0.5, 0.5 * mpmath.log(0.5)),
    ],
)
def test_formulas_keep_their_digits(text: str, x: float, exact: Any) -> None:
    value, _ = _value(text, x)
    assert float(value) == pytest.approx(float(exact), rel=1e-15)


def test_formulas_have_ieee_meanings() -> None:
    assert _value("1/x", 0.0)[0] == math.inf
    assert _value("log(x)", 0.0)[0] == -math.inf
    assert mpmath.isnan(_value("log(x)", -1.0)[0])
    assert mpmath.isnan(_value("sqrt(x)", -1.0)[0])
    assert _value("x**0.5", 0.0)[0] == 0
    assert _value("exp(exp(exp(x)))", 5.0)[0] == math.inf
    assert _value("Max(x, 3)", 1.0)[0] == 3


def test_sympy_derivatives_in_a_form_fit_for_evaluation() -> None:
    x, y = sp.symbols("x y", real=True)
    assert differentiate(x**y, x) == x ** (y - 1) * y
    assert differentiate(sp.sign(x) * x, x) == sp.sign(x)
    assert differentiate(x - y * sp.floor(x / y), y) == -sp.floor(x / y)
    assert differentiate(sp.Heaviside(x, y), x) == 0
    assert differentiate(sp.besselj(x, y), x) is sp.nan
    assert differentiate(sp.polygamma(x, y), x) is sp.nan
    assert dict(switches(sp.Piecewise((sp.floor(x), x < y), (0, True)))) == {x: True, x - y: False}
