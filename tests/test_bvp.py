"""Boundary value problems: SciPy's solver with exact derivatives; collocation in traced code."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import scipy.integrate
from scipy.integrate import solve_bvp as theirs

import symgrad as sg
from symgrad.errors import DifferencesWarning, UnsupportedError
from symgrad.scipy.integrate import solve_bvp


def bratu(x, y):
    return np.vstack((y[1], -np.exp(y[0])))


def at_zero(ya, yb):
    return np.array([ya[0], yb[0]])


def sturm(x, y, p):
    return np.vstack((y[1], -(p[0] ** 2) * y[0]))


def normed(ya, yb, p):
    return np.array([ya[0], yb[0], ya[1] - p[0]])


def emden(x, y):
    return np.vstack((y[1], -(y[0] ** 5)))


def emden_ends(ya, yb):
    return np.array([ya[1], yb[0] - np.sqrt(0.75)])


SINGULAR = np.array([[0.0, 0.0], [0.0, -2.0]])


def problems():
    """SciPy's two examples, one with a singular term, and a complex one."""
    x = np.linspace(0, 1, 5)
    wave = np.zeros((2, 5))
    wave[0, [1, 3]] = 1, -1
    high = np.zeros((2, 5))
    high[0] = 3
    return {
        "low": (bratu, at_zero, x, np.zeros((2, 5)), {}),
        "high": (bratu, at_zero, x, high, {}),
        "eigenvalue": (sturm, normed, x, wave, {"p": [6]}),
        "singular": (emden, emden_ends, x, np.ones((2, 5)), {"S": SINGULAR, "tol": 1e-6}),
        "complex": (
            lambda x, y: np.vstack((y[1], -1j * y[0])),
            lambda ya, yb: np.array([ya[0] - 1, yb[0] - 1j]), x, np.ones((2, 5), complex), {},
        ),
    }  # fmt: skip


@pytest.mark.quick
@pytest.mark.parametrize("name", problems())
def test_plain_solutions_are_scipys(name):
    fun, bc, x, y, more = problems()[name]
    ours = solve_bvp(fun, bc, x, y.copy(), **more)
    other = theirs(fun, bc, x, y.copy(), **more)
    assert ours.success
    assert (ours.message, ours.niter) == (other.message, other.niter)
    assert np.array_equal(ours.x, other.x)
    # Both stop at Newton's steps near the tolerance; Jacobians are exact here, differences there.
    np.testing.assert_allclose(ours.y, other.y, rtol=0, atol=1e-8)
    np.testing.assert_allclose(ours.yp, other.yp, rtol=0, atol=1e-8)
    if more.get("p"):
        np.testing.assert_allclose(ours.p, other.p, rtol=1e-9)


def test_jacobians_are_exact_for_meshes_of_any_length():
    from symgrad.scipy import _bvp

    def fun(x, y, p):
        return np.vstack((y[1] * p[1] + x, np.sin(y[0]) * p[0]))

    x, y, p = np.linspace(0, 1, 7), np.random.default_rng(0).normal(size=(2, 7)), np.array([2.0, 3])
    jac = _bvp._filled(fun, None, _bvp._inside, (x, y, p))
    for m in (7, 6, 2, 1, 40):
        x, y = np.linspace(0, 1, m), np.random.default_rng(m).normal(size=(2, m))
        by_state, by_parameter = jac(x, y, p)
        zero = np.zeros(m)
        np.testing.assert_allclose(by_state, [[zero, p[1] + zero], [np.cos(y[0]) * p[0], zero]])
        np.testing.assert_allclose(by_parameter, [[zero, y[1]], [np.sin(y[0]), zero]])


def test_given_jacobians_are_used():
    asked = []

    def jac(x, y):
        asked.append(len(x))
        zero = np.zeros_like(x)
        return np.array([[zero, zero + 1], [-np.exp(y[0]), zero]])

    x = np.linspace(0, 1, 5)
    assert solve_bvp(bratu, at_zero, x, np.zeros((2, 5)), fun_jac=jac).success
    assert asked


def test_what_cannot_be_traced_is_solved_by_differences_with_a_warning():
    def odd(x, y):
        return np.vstack((y[1], -np.exp(y[0]) * {None: 2}.get(y[0, 0], 1)))

    x = np.linspace(0, 1, 5)
    with pytest.warns(DifferencesWarning, match="solve_bvp takes derivatives of odd by"):
        found = solve_bvp(odd, at_zero, x, np.zeros((2, 5)))
    np.testing.assert_array_equal(found.y, theirs(odd, at_zero, x, np.zeros((2, 5))).y)


def test_what_can_no_longer_be_traced_goes_on_by_differences():
    def late(x, y):
        if len(x) > 4:
            return bratu(x, y)
        return np.vstack((y[1], -np.exp(y[0]) * {None: 2}.get(y[0, 0], 1)))

    # The middles of a mesh of five nodes are the first four columns.
    x = np.linspace(0, 1, 5)
    with pytest.warns(DifferencesWarning, match="late"):
        found = solve_bvp(late, at_zero, x, np.zeros((2, 5)))
    np.testing.assert_allclose(
        found.y, theirs(late, at_zero, x, np.zeros((2, 5))).y, atol=1e-8, rtol=0
    )


ILL = {
    "decreasing": (bratu, at_zero, np.linspace(1, 0, 5), np.zeros((2, 5))),
    "rank of x": (bratu, at_zero, np.ones((2, 2)), np.zeros((2, 5))),
    "rank of y": (bratu, at_zero, np.linspace(0, 1, 5), np.zeros(5)),
    "columns": (bratu, at_zero, np.linspace(0, 1, 5), np.zeros((2, 4))),
    "slopes": (lambda x, y: y[:1], at_zero, np.linspace(0, 1, 5), np.zeros((2, 5))),
    "conditions": (bratu, lambda ya, yb: ya[:1], np.linspace(0, 1, 5), np.zeros((2, 5))),
    "one node": (bratu, at_zero, np.zeros(1), np.zeros((2, 1))),
    "rank of p": (bratu, at_zero, np.linspace(0, 1, 5), np.zeros((2, 5)), [[1.0]]),
}


@pytest.mark.quick
@pytest.mark.parametrize("name", ILL)
def test_ill_arguments_are_answered_as_scipy_answers(name):
    with pytest.raises(ValueError, match=r".") as error:
        theirs(*ILL[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=f"^{re.escape(str(error.value))}$"):
            solve_bvp(*ILL[name])

    fun, bc, x, y, *p = ILL[name]

    def traced(s):
        return solve_bvp(lambda *x: s * fun(*x), bc, x, y, *p).y

    if name == "decreasing":  # the mesh is an argument, looked at when the program runs
        assert np.isnan(sg.compile(traced)(1.0)).all()
        return
    with pytest.raises(ValueError, match=re.escape(str(error.value).split(" (")[0])):
        sg.compile(traced)(1.0)


# ---------------------------------------------------------------- in traced code

pytestmark = pytest.mark.usefixtures("few_kernels")


def top(strength, m=21, **more):
    def reaction(x, y):
        return np.vstack((y[1], -strength * np.exp(y[0])))

    found = solve_bvp(reaction, at_zero, np.linspace(0, 1, m), np.zeros((2, m)), **more)
    return found.sol(0.5)[0], found.status


def exact_top(strength):
    """The top of Bratu's problem: 2 log(cosh(t)), with t by ``t/cosh(t) = sqrt(strength/8)``."""
    t = scipy.optimize.brentq(lambda t: t / np.cosh(t) - np.sqrt(strength / 8), 0, 1.19)
    return 2 * np.log(np.cosh(t))


@pytest.mark.quick(1)
@pytest.mark.parametrize("m", [20, 41])
def test_derivatives_of_a_solution(m):
    def value(strength):
        return top(strength, m)[0]

    h = 1e-4
    found, slope = sg.value_and_grad(value)(1.0)
    assert abs(found - exact_top(1.0)) < 1e-6
    by_differences = (exact_top(1 + h) - exact_top(1 - h)) / (2 * h)
    assert abs(slope - by_differences) < 1e-6
    second = sg.grad(sg.grad(value))(1.0)
    by_differences = (exact_top(1 + h) - 2 * exact_top(1.0) + exact_top(1 - h)) / h**2
    assert abs(second - by_differences) < 1e-5


@pytest.mark.slow
def test_the_mesh_that_scipy_ends_with_has_scipys_solution():
    def solved(strength, x):
        def reaction(x, y):
            return np.vstack((y[1], -strength * np.exp(y[0])))

        found = solve_bvp(reaction, at_zero, x, 3 + 0 * np.stack([x, x]), tol=1e-5)
        return found.y, found.yp, found.rms_residuals, found.sol(x[:-1] + 0.01), found.success

    start = np.linspace(0, 1, 5)
    plain = theirs(bratu, at_zero, start, 3 + np.zeros((2, 5)), tol=1e-5)
    assert len(plain.x) > 20
    y, yp, rms, between, success = sg.compile(solved)(1.0, plain.x)
    assert success
    np.testing.assert_allclose(y, plain.y, atol=1e-5)
    np.testing.assert_allclose(yp, plain.yp, atol=1e-4)
    np.testing.assert_allclose(rms, plain.rms_residuals, rtol=0.05, atol=1e-7)
    np.testing.assert_allclose(between, plain.sol(plain.x[:-1] + 0.01), atol=1e-5)


def test_batches_and_failures():
    """From 3.5138 on there is no solution."""
    found, status = sg.vmap(top)(np.array([0.5, 3.0, 4.0]))
    assert status.tolist() == [0, 0, 3]
    assert np.isnan(found[2])
    np.testing.assert_allclose(found[:2], [exact_top(0.5), exact_top(3.0)], atol=1e-5)
    assert np.isnan(sg.grad(lambda s: top(s)[0])(4.0))


def test_a_coarse_mesh_gets_more_nodes():
    """Which the numbers decide: where others need more, the function is traced again."""

    def solved(strength):
        found = solve_bvp(
            lambda x, y: np.vstack((y[1], -strength * np.exp(y[0]))), at_zero,
            np.linspace(0, 1, 5), np.zeros((2, 5)), tol=1e-6,
        )  # fmt: skip
        return found.sol(0.5)[0], (found.x, found.y, found.yp, found.rms_residuals, found.status)

    f = sg.value_and_grad(solved, has_aux=True)
    for strength in (1e-3, 1.0, 3.0):
        (value, (x, y, yp, rms, status)), slope = f(strength)
        assert status == 0
        assert rms.max() <= 1e-6
        assert (x.shape, y.shape, yp.shape, rms.shape) == ((5,), (2, 5), (2, 5), (4,))
        np.testing.assert_allclose(yp[0], y[1], atol=1e-12)
        assert abs(value - exact_top(strength)) < 1e-7
        h = 1e-4 * strength
        near = (exact_top(strength + h) - exact_top(strength - h)) / (2 * h)
        assert abs(slope - near) < 1e-5
    assert f.traces > 1


def test_a_mesh_that_stays_too_coarse_is_said_to_be_one():
    value, status = sg.compile(lambda s: top(s, 11, tol=1e-15))(1.0)
    assert np.isnan(value)
    assert status in (1, 3)
    found, status = sg.vmap(lambda s: top(s, 5, tol=1e-6))(np.array([1.0, 2.0]))  # none are added
    assert status.tolist() == [1, 1]
    assert np.isnan(found).all()


@pytest.mark.slow
def test_a_singular_system_is_said_to_be_one():
    def free(a, x):
        found = solve_bvp(
            lambda x, y: a * y[::-1], lambda ya, yb: np.stack([ya[0] - 1, ya[0] - 1]), x,
            np.stack([x, x]),
        )  # fmt: skip
        return found.y, found.status

    y, status = sg.compile(free)(1.0, np.linspace(0, 1, 21))
    assert status == 2
    assert np.isnan(y).all()


@pytest.mark.quick(1)
@pytest.mark.parametrize("m", [30, 31])
def test_unknown_parameters_and_the_mesh(m):
    """The second eigenvalue of a string of length L and weight w: p = 2 pi/(L sqrt(w))."""

    def eigenvalue(weight, length):
        s = np.linspace(0, 1, m)
        start = np.stack([np.sin(2 * np.pi * s), 6 * np.cos(2 * np.pi * s)])
        found = solve_bvp(
            lambda x, y, p: np.vstack((y[1], -weight * p[0] ** 2 * y[0])), normed, length * s,
            start, p=[6.0],
        )  # fmt: skip
        return found.p[0]

    value, slopes = sg.value_and_grad(eigenvalue, argnums=(0, 1))(1.0, 1.0)
    assert abs(value / (2 * np.pi) - 1) < 1e-4
    np.testing.assert_allclose(slopes, [-np.pi, -2 * np.pi], rtol=1e-4)


@pytest.mark.slow
def test_a_singular_term():
    x = np.linspace(0, 1, 30)

    def solved(end):
        return solve_bvp(
            emden, lambda ya, yb: np.stack([ya[1], yb[0] - end]), x,
            np.stack([np.ones(30), np.zeros(30)]), S=SINGULAR, tol=1e-5,
        ).y[0]  # fmt: skip

    end, h = np.sqrt(0.75), 1e-5
    value, run = sg.compile(solved)(end), sg.compile(solved)
    np.testing.assert_allclose(value, (1 + x**2 / 3) ** -0.5, atol=1e-7)
    slope = sg.jacobian(solved)(end)
    np.testing.assert_allclose(slope, (run(end + h) - run(end - h)) / (2 * h), atol=1e-6)


@pytest.mark.slow
def test_conditions_that_couple_both_ends():
    """``y' = -y + a cos(x)``, periodic: y = a (cos(x) + sin(x))/2."""

    def start(a):
        m = 40
        return solve_bvp(
            lambda x, y: np.stack([a * np.cos(x) - y[0]]), lambda ya, yb: ya - yb,
            np.linspace(0, 2 * np.pi, m), np.zeros((1, m)),
        ).y[0, 0]  # fmt: skip

    value, slope = sg.value_and_grad(start)(3.0)
    np.testing.assert_allclose([value, slope], [1.5, 0.5], atol=1e-4)


@pytest.mark.slow
def test_growing_and_decaying_modes_are_solved_stably():
    """``y'' = 400**2 y``: a layer at each end, where shooting would overflow."""

    def middle(a):
        x = 0.5 * (1 - np.cos(np.linspace(0, np.pi, 400)))
        found = solve_bvp(
            lambda x, y: np.stack([400 * y[1], 400 * y[0]]),
            lambda ya, yb: np.stack([ya[0] - a, yb[0] - 1]), x, np.ones((2, 400)), tol=1e-2,
        )  # fmt: skip
        return found.y[0, 20]

    x = 0.5 * (1 - np.cos(20 * np.pi / 399))
    assert abs(sg.grad(middle)(2.0) - np.exp(-400 * x)) < 1e-4


@pytest.mark.slow
def test_columns_that_depend_on_each_other_are_no_solution():
    def coupled(s):
        found = solve_bvp(
            lambda x, y: np.stack([y[1], -s * y[0] * np.mean(y[0])]),
            lambda ya, yb: np.stack([ya[0] - 1, yb[0]]), np.linspace(0, 1, 21), np.ones((2, 21)),
        )  # fmt: skip
        return found.y

    assert np.isnan(sg.compile(coupled)(1.0)).all()


def test_scipys_own_name_in_traced_code():
    def value(s):
        return scipy.integrate.solve_bvp(
            lambda x, y: [y[1], -s * np.exp(y[0])], lambda ya, yb: [ya[0], yb[0]],
            np.linspace(0, 1, 21), np.zeros((2, 21)),
        ).sol(0.5)[0]  # fmt: skip

    assert abs(sg.grad(value)(1.0) - sg.grad(lambda s: top(s)[0])(1.0)) < 1e-12


def test_what_is_refused_in_traced_code():
    x = np.linspace(0, 1, 21)

    def complex_states(s):
        return solve_bvp(lambda x, y: s * y, lambda ya, yb: ya, x, np.ones((1, 21), complex)).y

    def complex_slopes(s):
        return solve_bvp(lambda x, y: 1j * s * y, lambda ya, yb: ya, x, np.ones((1, 21))).y

    def many(y):
        return solve_bvp(lambda x, y: -y, lambda ya, yb: ya - 1, x, y).y

    def term(s):
        return solve_bvp(bratu, at_zero, x, np.zeros((2, 21)), S=s * np.eye(2)).y

    for refused, match in (
        (complex_states, "y is complex: write equations of real and imaginary parts"),
        (complex_slopes, "fun is complex"),
        (term, "S is of numbers"),
    ):
        with pytest.raises(UnsupportedError, match=match):
            sg.compile(refused)(1.0)
    with pytest.raises(UnsupportedError, match=r"how many states there are.*np.zeros\(\(2, x.size"):
        sg.compile(many)(np.ones((30, 21)))
