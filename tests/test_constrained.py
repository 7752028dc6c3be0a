"""minimize under constraints in traced code: minima, derivatives, batches, what has none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize
from scipy.optimize import LinearConstraint, NonlinearConstraint

import symgrad as sg
from symgrad.scipy.optimize import minimize

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("few_kernels")]


def rosen(x: Any) -> Any:
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


def told(found: Any) -> tuple[Any, Any]:
    return found.x, found.success


def disc(radius: Any) -> Any:
    inside = {"type": "ineq", "fun": lambda x, r: r - x @ x, "args": (radius,)}
    return minimize(rosen, [0.5, 0.0], constraints=inside)


def test_minima_are_scipys_in_a_batch() -> None:
    radii = np.array([1.0, 0.5, 3.0, 0.01])
    found, ok = sg.vmap(lambda radius: told(disc(radius)))(radii)
    assert ok.all()
    for radius, x in zip(radii, found, strict=True):
        limit = {"type": "ineq", "fun": lambda x, r=radius: r - x @ x}
        exact = scipy.optimize.minimize(rosen, x, method="SLSQP", constraints=limit, tol=1e-14)
        np.testing.assert_allclose(x, exact.x, atol=2e-5)
        assert rosen(x) <= exact.fun + 1e-9
        assert x @ x <= radius * (1 + 1e-9)


def hock_schittkowski_71(product: Any) -> Any:
    return minimize(
        lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2], [1.0, 5.0, 5.0, 1.0],
        bounds=[(1, 5)] * 4,
        constraints=[
            {"type": "ineq", "fun": lambda x: np.prod(x) - product},
            {"type": "eq", "fun": lambda x: x @ x - 40.0},
        ],
    )  # fmt: skip


@pytest.mark.slow
def test_a_problem_of_the_literature() -> None:
    """W. Hock, K. Schittkowski, Test Examples for Nonlinear Programming Codes, 1981."""

    def solved(k: Any) -> tuple[Any, Any, Any]:
        found = hock_schittkowski_71(k)
        return found.x, found.fun, found.multipliers[0]

    solve, step = sg.compile(solved), 1e-3
    x, _, multiplier = solve(25.0)
    np.testing.assert_allclose(x, [1.0, 4.74299963, 3.82114998, 1.37940829], rtol=1e-8)
    # The value by the product is the multiplier of that constraint.
    slope = (solve(25.0 + step)[1] - solve(25.0 - step)[1]) / (2 * step)
    np.testing.assert_allclose(sg.grad(lambda k: solved(k)[1])(25.0), slope, rtol=1e-7)
    np.testing.assert_allclose(multiplier, slope, rtol=1e-7)


@pytest.mark.slow
def test_projections_and_their_derivatives() -> None:
    """Onto the simplex: what is positive moves as its difference from the mean of such."""

    def projected(a: Any) -> Any:
        limits = [
            {"type": "eq", "fun": lambda x: np.sum(x) - 1},
            {"type": "ineq", "fun": lambda x: x},
        ]
        return minimize(lambda x: np.sum((x - a) ** 2), np.full(4, 0.25), constraints=limits).x

    points = np.array([[0.5, 0.1, 0.9, -0.3], [1.0, 1.1, 1.2, 1.3], [3.0, 0.0, 0.0, 0.0]])
    exact = np.array([[0.3, 0.0, 0.7, 0.0], [0.1, 0.2, 0.3, 0.4], [1.0, 0.0, 0.0, 0.0]])
    np.testing.assert_allclose(sg.vmap(projected)(points), exact, atol=1e-9)
    for mode in ("forward", "reverse"):
        slopes = sg.vmap(sg.jacobian(projected, mode=mode))(points)
        for slope, kept in zip(slopes, exact > 0, strict=True):
            expected = np.diag(kept.astype(float)) - np.outer(kept, kept) / kept.sum()
            np.testing.assert_allclose(slope, expected, atol=1e-9)


@pytest.mark.parametrize("traced_limit", [False, True])
def test_scipys_objects_of_constraints(traced_limit: bool) -> None:
    """Equal limits, one side and both, of matrices and functions."""
    matrix = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, 0.0]])
    plane, strip = LinearConstraint(matrix[0], 1, 1), LinearConstraint(matrix[1], -0.5, 0.5)

    def nearest(solve: Any, a: Any, most: Any, limits: list[Any], **options: Any) -> Any:
        limits = [*limits, NonlinearConstraint(lambda x: x[2] ** 2, -np.inf, most)]
        return solve(
            lambda x: np.sum((x - a) ** 2), np.zeros(3), constraints=limits, **options
        ).x  # fmt: skip

    def ours(a: Any, most: Any) -> Any:
        both = LinearConstraint(matrix, [1, -0.5], [1, 0.5])
        return nearest(minimize, a, most if traced_limit else 0.25, [both], method="trust-constr")

    a = np.array([2.0, -1.0, 3.0])
    theirs = nearest(scipy.optimize.minimize, a, 0.25, [plane, strip], method="SLSQP", tol=1e-14)
    np.testing.assert_allclose(sg.compile(ours)(a, 0.25), theirs, atol=1e-6)


@pytest.mark.slow
def test_what_has_no_minimum_is_nan_and_says_so() -> None:
    def between(least: Any) -> Any:
        limits = [
            {"type": "ineq", "fun": lambda x: x - least},
            {"type": "ineq", "fun": lambda x: 1 - x},
        ]
        return minimize(lambda x: np.sum(x**2), [0.0], constraints=limits)

    lanes = np.array([0.5, 2.0, -3.0, np.nan])
    x, ok = sg.vmap(lambda a: told(between(a)))(lanes)
    np.testing.assert_allclose(x[:, 0], [0.5, np.nan, 0.0, np.nan], atol=1e-9)
    assert ok.tolist() == [True, False, True, False]
    slopes = sg.vmap(sg.grad(lambda a: between(a).x[0]))(lanes)
    np.testing.assert_allclose(slopes, [1.0, np.nan, 0.0, np.nan], atol=1e-9)


@pytest.mark.parametrize(
    "wrong", [{"type": "foo", "fun": lambda x: x[0]}, {"type": "eq"}, {"fun": lambda x: x[0]}]
)
def test_what_is_no_constraint_is_refused_as_by_scipy(wrong: Any) -> None:
    with pytest.raises((ValueError, KeyError)) as theirs:
        scipy.optimize.minimize(lambda x: np.sum(x**2), [1.0], constraints=wrong, method="SLSQP")
    with pytest.raises(theirs.type):
        sg.compile(lambda a: minimize(lambda x: np.sum((x - a) ** 2), [1.0], constraints=wrong).x)(
            1.0
        )


def test_methods_that_take_no_constraints_say_so() -> None:
    limit = {"type": "eq", "fun": lambda x: x[0] - 2.0}
    with pytest.warns(RuntimeWarning, match="cannot handle constraints"):
        found = sg.compile(
            lambda a: (
                minimize(lambda x: np.sum((x - a) ** 2), [1.0], method="BFGS", constraints=limit).x
            )
        )(1.5)
    np.testing.assert_allclose(found, [1.5], atol=1e-8)
