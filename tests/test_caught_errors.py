"""Errors of arithmetic in functions that solvers are given: compiled code has nan there."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

from symgrad.scipy import integrate, optimize

pytestmark = pytest.mark.filterwarnings("ignore::symgrad.errors.CaptureWarning")

METHODS = ("RK45", "DOP853", "BDF", "Radau", "LSODA")


def drained(t: Any, y: Any) -> Any:
    """A tank with a hole above its bottom."""
    try:
        out = math.sqrt(y[0] - 0.5)
    except ValueError:
        out = 0.0
    return [-out - 0.1 * y[0]]


def drained_columns(t: Any, y: Any) -> Any:
    return np.reshape(drained(t, y[:, 0]), (1, -1))


@pytest.mark.parametrize("options", [{}, {"t_eval": [1.0, 5.0]}, {"dense_output": True}])
@pytest.mark.parametrize("method", METHODS)
def test_a_right_hand_side_that_catches_an_error(method: str, options: dict[str, Any]) -> None:
    options = {**options, "method": method, "rtol": 1e-7, "atol": 1e-9}
    want = scipy.integrate.solve_ivp(drained, (0, 5), [1.0], **options)
    for _ in range(2):  # also by what the first has compiled
        found = integrate.solve_ivp(drained, (0, 5), [1.0], **options)
        assert found.success
        np.testing.assert_allclose(found.y[:, -1], want.y[:, -1], rtol=1e-5)
    found = integrate.solve_ivp(drained_columns, (0, 5), [1.0], vectorized=True, **options)
    np.testing.assert_allclose(found.y[:, -1], want.y[:, -1], rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("rate", "words"), [
    (lambda t, y: [math.sqrt(1.0 - t) - y[0]], "math domain error|expected a nonnegative"),
    (lambda t, y: [scipy.optimize.brentq(lambda w: np.cos(w) - w * y[0], 0.5, 3.0)],
     "different signs"),
])  # fmt: skip
def test_an_error_of_arithmetic_is_raised(
    rate: Callable[..., Any], words: str, method: str
) -> None:
    for library in (scipy.integrate, integrate, integrate):
        with pytest.raises(ValueError, match=words):
            library.solve_ivp(rate, (0, 2), [1.0], method=method)


def penalised(x: Any) -> Any:
    try:
        below = math.sqrt(x[0] - 1.0)
    except ValueError:
        return 100.0
    return (below - 0.2) ** 2 + (x[1] - 3.0) ** 2


def likelihood(p: Any) -> Any:
    try:
        factor = np.linalg.cholesky(np.array([[1.0, 0.5], [0.5, 1.0]]) * p[0] - p[1] * np.eye(2))
    except np.linalg.LinAlgError:
        return 1e6
    z = np.linalg.solve(factor, np.array([1.0, 2.0]))
    return z @ z + 2.0 * np.sum(np.log(np.diag(factor))) + (p[1] - 0.3) ** 2


def parted(x: Any) -> Any:
    try:
        return np.array([math.log(x[0]) - 0.1, x[1] - 1.0])
    except ValueError:
        return np.array([10.0, 10.0])


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "Nelder-Mead"])
@pytest.mark.parametrize(("cost", "start"), [(penalised, [4.0, 0.0]), (likelihood, [1.0, 0.4])])
def test_a_cost_that_catches_an_error(cost: Callable[..., Any], start: Any, method: str) -> None:
    want = scipy.optimize.minimize(cost, start, method=method)
    found = optimize.minimize(cost, start, method=method)
    assert found.fun <= want.fun + 1e-3
    np.testing.assert_allclose(found.fun, cost(found.x), rtol=1e-9)


def test_residuals_that_catch_an_error() -> None:
    for start in ([3.0, 0.0], [-1.0, 0.0]):  # there they are constant
        want = scipy.optimize.least_squares(parted, start)
        found = optimize.least_squares(parted, start)
        np.testing.assert_allclose(found.x, want.x, rtol=1e-5)
        np.testing.assert_allclose(found.cost, want.cost, rtol=1e-5, atol=1e-12)
