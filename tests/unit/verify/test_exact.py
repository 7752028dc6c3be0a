"""Limits by series, and what is certified there."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symgrad as sg
from symgrad._verify import Problem, certify
from symgrad._verify._closures import closure
from symgrad._verify._digits import evaluate, reach
from symgrad._verify._exact import Exactness
from symgrad._verify._numbers import Digits
from symgrad.errors import VerificationError

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def limit_at(f: Callable[..., Any], x: float) -> float:
    """Return the exact derivative at a point where the chain rule has none."""
    graph = sg.compile(f)._specialization((x,), {}).graph
    exactness = Exactness({graph.inputs[0]: np.float64(x)}, graph.inputs, 50)
    plain = exactness.at(graph.outputs[0], ())
    assert [math.isnan(a.value) for a in plain.adjoints.values()] == [True]
    found = exactness.limits(graph.outputs[0], (), plain, plain.adjoints)
    return float(next(iter(found.adjoints.values())).value)


LIMITS: dict[str, tuple[Callable[..., Any], float]] = {
    "0 times infinity": (lambda x: x * np.sqrt(x), 0.0),
    "a slow power": (lambda x: x * x**0.125, 0.0),
    "infinity over infinity": (lambda x: np.sqrt(x) ** 2, 1.0),
    "0/0 to first order": (lambda x: np.expm1(x) / x, 0.5),
    "0/0 to second order": (lambda x: np.sin(x) / x, 0.0),
    "0/0 to third order": (lambda x: (x - np.sin(x)) / x**2, 1 / 6),
    "a pole": (lambda x: x / x**3, math.inf),
    "a slow pole": (lambda x: x * (np.log(x) + 1), -math.inf),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits(name: str) -> None:
    f, slope = LIMITS[name]
    found = limit_at(f, 0.0)
    if math.isinf(slope):
        assert math.isinf(found)
    else:
        assert found == slope


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x**2 * np.sin(1 / x),  # oscillates
        lambda x: np.abs(x) * x / x,  # other slopes on both sides
        lambda x: np.sqrt(x - 1) / (x - 1) * x / x,  # no real number beside
    ],
)
def test_what_has_no_limit_stays_unknown(f: Callable[..., Any]) -> None:
    assert math.isnan(limit_at(f, 0.0))


T = sp.Symbol("t", real=True)


@pytest.mark.parametrize(
    ("formula", "at"),
    [
        (1 - sp.tanh(T) + T * sp.exp(-5 * T), 300.0),
        (1 - sp.erf(T) + sp.exp(-2 * T**2), 30.0),
        (sp.exp(T) * (1 - sp.cosh(sp.exp(-3 * T))) + sp.exp(-9 * T), 100.0),
        (sp.sin(T) ** 2 + sp.cos(T) ** 2 - 1 + T, 1e-30),
    ],
)
def test_what_other_terms_absorb_is_not_lost(formula: Any, at: float) -> None:
    """At two precisions the same number, without the terms that cancelled at both."""
    run = closure(formula, [T])
    few, many = Digits(65), Digits(3000)
    got = evaluate(few, run, [few.mpf(at)], reach(formula))
    want = run(many, [many.mpf(at)])
    assert abs(got - want) < abs(want) * few.mpf(10) ** -60


@pytest.mark.parametrize("slope", [0.25, -1e-300])
def test_a_wrong_kernel_is_caught_at_a_limit(slope: float) -> None:
    def f(x: Any) -> Any:
        return x * np.sqrt(x)

    graph = sg.compile(f)._specialization((0.0,), {}).graph
    zero = np.float64(0.0)

    def problem(slope: float) -> Problem:
        return Problem(
            "f", {graph.inputs[0]: zero}, graph.inputs, graph.outputs, [zero],
            lambda *_: [np.float64(slope)],
        )  # fmt: skip

    report = certify(problem(0.0), 50, 1, 16.0)
    assert "limits of those beside" in str(report)
    with pytest.raises(VerificationError, match="the derivative by x is wrong"):
        certify(problem(slope), 50, 1, 16.0)
