"""``linprog`` under transformations: SciPy's solutions, derivatives by the active constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize as so

import symgrad as sg

N, BELOW, EQUAL = 4, 3, 1


def program(c: Any, a: Any, b: Any, e: Any, f: Any, low: Any, high: Any) -> Any:
    bounds = [(low[k], high[k]) for k in range(N)]
    return so.linprog(c, a, b, e, f, bounds=bounds)


def random_program(rng: np.random.Generator) -> tuple[Any, ...]:
    """Return one with a solution: a point within is known."""
    inside = rng.uniform(0.0, 1.0, N)
    a, e = rng.normal(size=(BELOW, N)), rng.normal(size=(EQUAL, N))
    return (
        rng.normal(size=N), a, a @ inside + rng.uniform(0.0, 0.5, BELOW), e, e @ inside,
        inside - rng.uniform(0.1, 1.0, N), inside + rng.uniform(0.1, 1.0, N),
    )  # fmt: skip


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int) -> None:
    """Of the seven parameters, which are traced, each has the derivative of finite differences."""
    rng = np.random.default_rng(seed)
    given = random_program(rng)
    moves = [rng.normal(size=np.shape(g)) for g in given]

    def solve(*given: Any) -> Any:
        r = program(*given)
        sides = [v for k in ("eqlin", "ineqlin", "lower", "upper") for v in
                 (r[k].residual, r[k].marginals)]  # fmt: skip
        return [r.x, r.fun, r.slack, r.con, *sides]

    found, want = sg.compile(solve)(*given), solve(*given)
    for a, b in zip(found, want, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)
    along = sg.jvp(solve, given, tuple(moves))[1]
    for k, slope in enumerate(along):
        near = [solve(*(g + s * m for g, m in zip(given, moves, strict=True)))[k]
                for s in (1e-6, -1e-6)]  # fmt: skip
        np.testing.assert_allclose(slope, (near[0] - near[1]) / 2e-6, rtol=1e-5, atol=1e-7)


def test_duality() -> None:
    """The optimum's derivatives are the solution, and the multipliers."""
    c, a, b, e, f, low, high = random_program(np.random.default_rng(3))
    by_c, by_b, by_f = sg.grad(
        lambda c, b, f: program(c, a, b, e, f, low, high).fun, argnums=(0, 1, 2)
    )(c, b, f)
    r = program(c, a, b, e, f, low, high)
    np.testing.assert_allclose(by_c, r.x, rtol=1e-9)
    np.testing.assert_allclose(by_b, r.ineqlin.marginals, atol=1e-9)
    np.testing.assert_allclose(by_f, r.eqlin.marginals, atol=1e-9)
    mixed = sg.jacobian(sg.grad(lambda c, b: program(c, a, b, e, f, low, high).fun), 1)(c, b)
    by_b = sg.jacobian(lambda b: program(c, a, b, e, f, low, high).x)(b)
    np.testing.assert_allclose(mixed, by_b, atol=1e-9)


def test_forms_of_bounds_and_batches() -> None:
    b = np.array([[1.0, 0.7], [2.0, 0.5]])
    for bounds in (None, (0, None), (0, 5), [(0, None), (0, np.inf)], np.array([[0, 3], [0, 3]])):

        def f(b: Any, bounds: Any = bounds) -> Any:
            return so.linprog([-1, -0.5], A_ub=[[1, 1], [1, 0.0]], b_ub=b, bounds=bounds).fun

        np.testing.assert_allclose(sg.vmap(f)(b), [f(row) for row in b], rtol=1e-12)
        np.testing.assert_allclose(sg.vmap(sg.grad(f))(b), np.full((2, 2), -0.5), rtol=1e-12)


def test_equations_that_follow_from_others() -> None:
    """Transport: what is sent is what is received."""
    rows = np.vstack([np.kron(np.eye(2), np.ones(3)), np.kron(np.ones(2), np.eye(3))])
    right = np.array([20.0, 30.0, 10.0, 25.0, 15.0])
    costs = np.array([4.0, 6.0, 8.0, 5.0, 3.0, 7.0])
    f = lambda c: so.linprog(c, A_eq=rows, b_eq=right).fun  # noqa: E731
    value, slope = sg.value_and_grad(f)(costs)
    assert value == pytest.approx(230.0)
    np.testing.assert_allclose(slope, [10, 0, 10, 0, 25, 5], atol=1e-9)


def test_no_solution_or_several() -> None:
    unbounded = sg.value_and_grad(lambda c: so.linprog(c).fun)(np.array([-1.0, 1.0]))
    assert np.isnan(unbounded[0])
    assert np.isnan(unbounded[1]).all()
    assert sg.compile(lambda c: so.linprog(c).status)(np.array([-1.0, 1.0])) == 3
    infeasible = lambda b: so.linprog([1.0], A_ub=[[1.0], [-1.0]], b_ub=b)  # noqa: E731
    found = sg.compile(lambda b: (infeasible(b).status, infeasible(b).success))
    assert found(np.array([1.0, -2.0])) == (2, False)
    assert found(np.array([1.0, -0.5])) == (0, True)
    # An edge of solutions has a value, which is SciPy's, and no derivative; so has a corner of
    # too many sides.
    edge = lambda c: so.linprog(c, [[1.0, 1.0]], [1.0]).x  # noqa: E731
    c = np.array([-1.0, -1.0])
    np.testing.assert_allclose(sg.compile(edge)(c), edge(c))
    assert np.isnan(sg.jacobian(edge)(c)).all()
    corner = lambda b: so.linprog([-1.0, -1.0], [[1, 0], [0, 1], [1, 1.0]], b).x  # noqa: E731
    assert np.isnan(sg.jacobian(corner)(np.array([1.0, 1.0, 2.0]))).all()


@pytest.mark.parametrize(
    ("solve", "said"),
    [
        (lambda c: so.linprog(c, integrality=[1, 0]).fun, "integrality"),
        (lambda c: so.linprog(c, [[1.0, 2.0]]).fun, "both or neither"),
        (lambda c: so.linprog(c, [[1.0]], [1.0]).fun, "do not fit"),
        (lambda c: so.linprog(np.outer(c, c)).fun, "is a vector"),
    ],
)
def test_refusals(solve: Any, said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        sg.grad(solve)(np.array([1.0, 2.0]))
