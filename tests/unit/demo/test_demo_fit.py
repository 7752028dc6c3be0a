"""The demo's fits, with lambdified Jacobians: what is tested is the fitting, not the compiler."""

from __future__ import annotations

import numpy as np
import pytest

from symgrad.demo import Problem, digits, fit, load, load_all, two_point
from symgrad.demo._fit import Jacobian, Residual, polish
from symgrad.demo._kernels import lambdify_kernels

NAMES = [problem.name for problem in load_all()]


def worst(parameters: np.ndarray, problem: Problem) -> float:
    return float(digits(parameters, problem.certified).min())


@pytest.mark.parametrize("name", NAMES)
def test_certified_digits(name: str) -> None:
    problem = load(name)
    residual, jacobian = lambdify_kernels(problem)
    near = fit(residual, jacobian, problem.start2)
    assert worst(near.parameters, problem) >= 9.5
    far = fit(residual, jacobian, problem.start1)
    if name == "BoxBOD":
        # MINPACK's first step goes where the model no longer depends on b2.
        assert worst(far.parameters, problem) < 1
        assert np.abs(jacobian(far.unpolished)[:, 1]).max() < 1e-30
        bounded = fit(residual, jacobian, problem.start1, method="trf")
        assert worst(bounded.parameters, problem) >= 9.5
    else:
        assert worst(far.parameters, problem) >= 9.5
    if name != "Lanczos1":  # its sum of squares, 1e-25, is rounding in part
        assert near.rss == pytest.approx(problem.rss, rel=1e-9)


@pytest.mark.slow
def test_without_polish_or_with_differences_the_digits_are_not_reached() -> None:
    unpolished, rough = 0, 0
    for name in NAMES:
        problem = load(name)
        residual, jacobian = lambdify_kernels(problem)
        exact = fit(residual, jacobian, problem.start2)
        unpolished += worst(exact.unpolished, problem) < 9.5
        assert worst(exact.parameters, problem) >= min(10, worst(exact.unpolished, problem))
        result = fit(residual, two_point(residual), problem.start2)
        rough += worst(result.parameters, problem) < 9.5
    assert unpolished >= 10
    assert rough >= 20


# ---------------------------------------------------------------- polish


def line_fit(noise: float) -> tuple[Residual, Jacobian, np.ndarray]:
    x = np.linspace(0.0, 1.0, 20)
    y = 3.0 * np.exp(-2.0 * x) + noise * np.sin(40 * x)

    def residual(b: np.ndarray) -> np.ndarray:
        return y - b[0] * np.exp(-b[1] * x)

    def jacobian(b: np.ndarray) -> np.ndarray:
        e = np.exp(-b[1] * x)
        return np.stack([-e, b[0] * x * e], axis=1)

    return residual, jacobian, np.array([3.0, 2.0])


def test_polish_makes_the_gradient_zero() -> None:
    residual, jacobian, near = line_fit(0.1)
    b = polish(residual, jacobian, near)
    j, r = jacobian(b), residual(b)
    cosines = j.T @ r / (np.linalg.norm(j, axis=0) * np.linalg.norm(r))
    assert np.abs(cosines).max() < 1e-14
    assert near.tolist() == [3.0, 2.0]


def test_polish_stops_at_an_exact_fit() -> None:
    residual, jacobian, exact = line_fit(0.0)
    calls = []

    def counted(b: np.ndarray) -> np.ndarray:
        calls.append(b)
        return jacobian(b)

    b = polish(residual, counted, exact * (1 + 1e-6))
    np.testing.assert_allclose(b, exact, rtol=1e-15)
    assert len(calls) < 12


def test_polish_refuses_a_step_that_makes_it_worse() -> None:
    residual, jacobian, _ = line_fit(0.1)
    far = np.array([3.0, 40.0])
    b = polish(residual, jacobian, far)
    assert np.linalg.norm(residual(b)) <= np.linalg.norm(residual(far))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_polish_keeps_its_start_where_nothing_is_finite(bad: float) -> None:
    start = np.array([1.0, 2.0])
    got = polish(lambda b: np.full(5, bad), lambda b: np.full((5, 2), bad), start)
    assert got.tolist() == [1.0, 2.0]


def test_fit_leaves_its_arguments_and_takes_a_singular_jacobian() -> None:
    start = np.array([1.0, 1.0])
    start.flags.writeable = False
    x = np.arange(4.0)
    result = fit(lambda b: x - b[0], lambda b: np.stack([-np.ones(4), np.zeros(4)], 1), start)
    assert result.parameters == pytest.approx([1.5, 1.0])
    assert result.rss == pytest.approx(5.0)
    assert result.residuals > 0
    assert result.jacobians > 0


# ---------------------------------------------------------------- digits, differences


def test_digits_follow_nists_definition() -> None:
    certified = np.array([1.0, -200.0, 1e-5, 0.0, 0.0, 3.0, 1.0, 1.0])
    computed = np.array([1.001, -200.0, 1.1e-5, 1e-4, 0.0, -300.0, np.nan, np.inf])
    expected = [3.0, 11.0, 1.0, 4.0, 11.0, 0.0, 0.0, 0.0]
    np.testing.assert_allclose(digits(computed, certified), expected, atol=1e-9)
    assert digits(1.0 + 1e-13, 1.0) == 11.0


def test_two_point_differences() -> None:
    residual, jacobian, b = line_fit(0.1)
    for point in (b, np.array([0.0, 2.0]), np.array([-3.0, 0.1])):
        np.testing.assert_allclose(two_point(residual)(point), jacobian(point), atol=1e-6)
    assert not np.array_equal(two_point(residual)(b), jacobian(b))
