"""sg.nlp and method="ipopt": nonlinear programs with sparse derivatives."""

from __future__ import annotations

import importlib
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.optimize as original
import scipy.sparse as sp

import symgrad as sg
from symgrad.errors import (
    ArgumentError,
    DTypeError,
    MissingExtraError,
    ShapeError,
    UnsupportedError,
)
from symgrad.scipy import optimize
from symgrad.scipy._minimize import SMALL

pytestmark = pytest.mark.usefixtures("few_kernels", "scripts")

FOLDER = OPF = Path(__file__).parents[1] / "examples" / "opf"

NEXT = np.array([1, 2, 3, 4, 0])
RNG = np.random.default_rng(0)


def chain(x: Any, nodes: Any) -> Any:
    a, b = x["a"], x["b"]
    return np.sum((a - 1.0) ** 4) + np.sum(b * b[nodes]) + np.sum(a * b) + x["c"] ** 2


def links(x: Any, nodes: Any) -> Any:
    a, b = x["a"], x["b"]
    return {"product": a * b, "sine": (np.sin(b[nodes]) - a, x["c"] * a[0])}


def chained() -> Any:
    n = len(NEXT)
    return sg.nlp(
        chain,
        links,
        {"a": np.ones(n), "b": np.full(n, 0.1), "c": 0.5},
        bounds=({"a": 0.0, "b": [-1.0, None, None, None, -2.0]}, {"b": 2.0}),
        limits=({"product": 0.0, "sine": (-1.0, None)}, {"sine": (1.0, 1.0)}),
        args=(NEXT,),
    )


def dense(values: Any, places: Any, shape: Any) -> Any:
    return sp.coo_array((values, places), shape=shape).toarray()


# ---------------------------------------------------------------- the protocol


def test_bounds_of_structures() -> None:
    problem = chained()
    assert (problem.n, problem.m) == (11, 11)
    inf = np.inf
    np.testing.assert_array_equal(problem.lb, [0.0] * 5 + [-1.0, -inf, -inf, -inf, -2.0, -inf])
    np.testing.assert_array_equal(problem.ub, [inf] * 5 + [2.0] * 5 + [inf])
    np.testing.assert_array_equal(problem.cl, [0.0] * 5 + [-1.0] * 5 + [-inf])
    np.testing.assert_array_equal(problem.cu, [inf] * 5 + [1.0] * 6)


def test_derivatives_are_those_of_differences() -> None:
    problem = chained()
    rng = np.random.default_rng(1)
    x, weights = rng.uniform(0.1, 1.0, problem.n), rng.normal(size=problem.m)

    def slopes(z: Any) -> Any:
        shape = problem.m, problem.n
        return dense(problem.jacobian(z), problem.jacobianstructure(), shape)

    def gradient(z: Any) -> Any:
        return 0.7 * problem.gradient(z) + weights @ slopes(z)

    np.testing.assert_allclose(
        problem.gradient(x), original.approx_fprime(x, problem.objective), atol=1e-6
    )
    np.testing.assert_allclose(slopes(x), original.approx_fprime(x, problem.constraints), atol=1e-6)
    row, column = problem.hessianstructure()
    assert (row >= column).all()
    lower = dense(problem.hessian(x, weights, 0.7), (row, column), (problem.n, problem.n))
    np.testing.assert_allclose(
        lower + np.tril(lower, -1).T, original.approx_fprime(x, gradient), atol=1e-6
    )
    assert "11 variables, 11 constraints, 22 entries" in repr(problem)


def test_data_in_arguments_are_not_frozen() -> None:
    nodes, target = NEXT.copy(), np.zeros(5)

    def g(x: Any, nodes: Any) -> Any:
        return x * x[nodes] - target

    problem = sg.nlp(lambda x, nodes: np.sum(x**2), g, np.arange(5.0), args=(nodes,))
    x = np.arange(1.0, 6.0)
    np.testing.assert_array_equal(problem.constraints(x), x * x[nodes])
    target[:] = 1.0
    np.testing.assert_array_equal(problem.constraints(x), x * x[nodes] - 1.0)
    nodes[:] = np.roll(nodes, 1)
    with pytest.raises(ShapeError, match="the pattern of the Jacobian is another one"):
        problem.jacobian(x)


def test_data_in_another_order_and_of_another_structure() -> None:
    data = {"w": np.arange(6.0).reshape(3, 2).T}
    problem = sg.nlp(lambda x, d: np.sum(d["w"] * x), None, np.ones((2, 3)), args=(data,))
    np.testing.assert_array_equal(problem.gradient(problem.x0), data["w"].ravel())
    data["w"] = 2.0 * data["w"]  # bound anew
    np.testing.assert_array_equal(problem.gradient(problem.x0 + 1.0), data["w"].ravel())
    data["v"] = 1.0
    with pytest.raises(ShapeError, match="another structure"):
        problem.gradient(problem.x0)


def test_no_constraints_and_no_variables() -> None:
    problem = sg.nlp(lambda x: np.sum(x**2), None, np.ones(3))
    assert problem.m == 0
    assert problem.constraints(problem.x0).shape == problem.jacobian(problem.x0).shape == (0,)
    np.testing.assert_array_equal(problem.hessian(problem.x0, [], 2.0), [4.0] * 3)
    empty = sg.nlp(lambda x: np.sum(x**2), None, np.ones(0))
    assert empty.gradient(empty.x0).shape == (0,)


def test_lists_and_numbers_as_constraints() -> None:
    x0 = np.array([1.0, 2.0])
    listed = sg.nlp(lambda x: x[0], lambda x: [x[0] * x[1], x[1]], x0)
    number = sg.nlp(lambda x: [x[0]], lambda x: x[0] * x[1], x0)
    assert (listed.m, number.m) == (2, 1)
    np.testing.assert_array_equal(listed.jacobian(x0), [2.0, 1.0, 1.0])
    np.testing.assert_array_equal(number.jacobian(x0), [2.0, 1.0])
    assert number.objective(x0) == 1.0
    nested = sg.nlp(
        lambda x: x[0],
        lambda x: {"ends": [x[0], 2 * x[1]], "parts": [np.diff(x), [x[0] * x[1]]]},
        x0,
        limits=(0.0, {"ends": [1.0, 4.0], "parts": [2.0, [3.0]]}),
    )
    np.testing.assert_array_equal(nested.jacobian(x0), [1.0, 2.0, -1.0, 1.0, 2.0, 1.0])
    np.testing.assert_array_equal(nested.cu, [1.0, 4.0, 2.0, 3.0])


# ---------------------------------------------------------------- wrong input


def f(x: Any) -> Any:
    return np.sum(x**2)


WRONG: dict[str, tuple[Any, type, str]] = {
    "bounds that cross": (lambda: sg.nlp(f, None, np.ones(3), bounds=(0.0, [1.0, -1.0, 1.0])),
                          ArgumentError, r"bounds cross at x\[1\]: lower 0.0, upper -1.0"),
    "limits that cross": (lambda: sg.nlp(f, f, np.ones(3), limits=(2.0, 1.0)),
                          ArgumentError, "limits cross at constraints: lower 2.0, upper 1.0"),
    "bounds too short": (lambda: sg.nlp(f, None, np.ones(3), bounds=([0.0, 0.0], None)),
                         ShapeError, r"the lower bound of x is to be numbers of shape \(3,\)"),
    "an unknown name": (lambda: sg.nlp(lambda x: f(x["a"]), None, {"a": np.ones(3)},
                                       bounds=({"b": 0.0}, None)),
                        ArgumentError, r"the lower bounds name \['b'\], of \['a'\]"),
    "an objective of many": (lambda: sg.nlp(lambda x: x**2, None, np.ones(3)), ShapeError,
                             r"objective is one number, not an array of shape \(3,\)"),
    "pairs as SciPy's": (lambda: sg.nlp(f, None, np.ones(2), bounds=[(0.0, 1.0), (0, None)]),
                         ArgumentError, r"may be \(lower, upper\), or a pair for each.*Bounds"),
    "no pair": (lambda: sg.nlp(f, None, np.ones(3), bounds=0.0), ArgumentError, "is a pair"),
    "no start": (lambda: sg.nlp(f), ArgumentError, "x0 says how many variables"),
    "words": (lambda: sg.nlp(f, None, {"a": "b"}), DTypeError, r"x\['a'\] is to be real numbers"),
    "no function": (lambda: sg.nlp(3.0, None, np.ones(3)),
                    ArgumentError, "objective is a function"),
    "what cannot be traced": (lambda: sg.nlp(lambda x: x[0] * RNG.normal(), None, np.ones(3)),
                              UnsupportedError, "test_nlp.py"),
    "two numbers": (lambda: sg.nlp(lambda x: x, None, np.ones(2)).gradient(np.ones(2)),
                    ShapeError, r"one number, not an array of shape \(2,\)"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input(case: str) -> None:
    call, kind, said = WRONG[case]
    with pytest.raises(kind, match=said):
        call()


def test_constraints_that_change_their_number() -> None:
    def g(x: Any) -> Any:
        return x if x[0] > 0.0 else x[:1]

    problem = sg.nlp(f, g, np.ones(3))
    with pytest.raises(ShapeError, match=r"arrays of shapes \[\(1,\)\], not \[\(3,\)\]"):
        problem.constraints(-np.ones(3))


def test_vectors_of_another_length() -> None:
    problem = sg.nlp(f, lambda x: x[:2] ** 2, np.ones(3))
    for x in (np.ones(4), np.ones(2), np.ones((3, 1)), 1.0):
        for call in (problem.objective, problem.gradient, problem.constraints, problem.jacobian):
            with pytest.raises(ShapeError, match=r"vector of x has shape \(3,\), not"):
                call(x)
    with pytest.raises(ShapeError, match=r"vector of constraints has shape \(2,\), not \(3,\)"):
        problem.hessian(np.ones(3), np.ones(3), 1.0)


def test_branches_with_other_patterns() -> None:
    def g(x: Any) -> Any:
        return x * x[::-1] if x[0] > 0.0 else x

    problem = sg.nlp(f, g, np.ones(3))
    with pytest.raises(ShapeError, match=r"np\.where"):
        problem.jacobian(-np.ones(3))


def test_a_solver_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cyipopt", "ipyopt", "pounce"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"symgrad\[ipopt\]"):
        sg.nlp(f, None, np.ones(3)).solve()
    with pytest.raises(ArgumentError, match="solver is 'cyipopt', 'ipyopt'"):
        sg.nlp(f, None, np.ones(3)).solve(solver="best")


# ---------------------------------------------------------------- solvers


@pytest.fixture(params=["cyipopt", "ipyopt", "pounce"])
def solver(request: pytest.FixtureRequest) -> str:
    pytest.importorskip(request.param)
    return str(request.param)


def test_bounds_of_scipys_kind() -> None:
    ours = sg.nlp(f, None, np.ones(2), bounds=optimize.Bounds([0.0, -1.0], 5.0))
    np.testing.assert_array_equal([ours.lb, ours.ub], [[0.0, -1.0], [5.0, 5.0]])
    listed = sg.nlp(f, None, np.ones(2), bounds=([0.0, 0.0], [1.0, 1.0]))  # pairs leave no choice
    np.testing.assert_array_equal([listed.lb, listed.ub], [[0.0, 0.0], [1.0, 1.0]])


def hs071(limits: Any = ([25.0, 40.0], [np.inf, 40.0])) -> Any:
    """Problem 71 of Hock and Schittkowski."""
    return sg.nlp(
        lambda x: x[0] * x[3] * np.sum(x[:3]) + x[2],
        lambda x: [x[0] * x[1] * x[2] * x[3], np.sum(x**2)],
        np.array([1.0, 5.0, 5.0, 1.0]),
        bounds=(1.0, 5.0),
        limits=limits,
    )


def test_solution_and_multipliers(solver: str) -> None:
    problem = hs071()
    found = problem.solve(solver=solver)
    assert found.success
    np.testing.assert_allclose(found.fun, 17.0140173, rtol=1e-7)
    np.testing.assert_allclose(found.multipliers, [-0.55229366, 0.16146856], rtol=1e-6)
    # The gradient of the Lagrangian is zero.
    weights = dense(problem.jacobian(found.x), problem.jacobianstructure(), (2, 4))
    total = found.jac + found.multipliers @ weights
    np.testing.assert_allclose(total, found.lower_multipliers - found.upper_multipliers, atol=1e-6)
    again = problem.solve(solver=solver, start=found)
    assert again.nit < found.nit / 2
    assert problem.solve(solver=solver, options={"max_iter": 2}).status == -1


def test_structures_of_solutions(solver: str) -> None:
    found = chained().solve(solver=solver)
    assert found.success
    assert found.x["a"].shape == (5,)
    assert found.lower_multipliers["c"].shape == ()
    assert found.constraints["sine"][0].shape == found.multipliers["sine"][0].shape == (5,)


def test_what_callbacks_raise_is_raised(solver: str) -> None:
    def interrupt(intermediate_result: Any) -> None:
        if intermediate_result.nit == 2:
            raise KeyboardInterrupt

    def stop(x: Any) -> None:
        assert x.shape == (4,)
        raise StopIteration

    problem = hs071()
    with pytest.raises(KeyboardInterrupt):
        problem.solve(solver=solver, callback=interrupt)
    assert problem.solve(solver=solver, callback=stop).message == "Stopped by the callback."

    def failing(x: Any) -> Any:
        if x[0] > 1.0:
            raise ValueError("mine")
        return x[0]

    failing_problem = sg.nlp(lambda x: np.sum((x - 3.0) ** 2), failing, np.zeros(2), limits=(-9, 9))
    with pytest.raises(ValueError, match="mine"):
        failing_problem.solve(solver=solver)


def test_nan_at_the_start(solver: str) -> None:
    problem = sg.nlp(lambda x: np.sum(np.log(x)), None, -np.ones(2))
    found = problem.solve(solver=solver)
    assert not found.success
    assert found.status == (-3 if solver == "pounce" else -13)


def test_the_log(tmp_path: Path) -> None:
    pytest.importorskip("cyipopt")
    log = tmp_path / "log.txt"
    options = {"output_file": str(log), "file_print_level": 5}
    hs071().solve(solver="cyipopt", options=options)
    assert "inf_pr" in log.read_text(encoding="utf-8")


def test_minimize_by_ipopt(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ipyopt")
    found = optimize.minimize(
        lambda x, a: np.sum((x - a) ** 2),
        [0.0, 0.0, 0.0],
        args=(2.0,),
        method="ipopt",
        bounds=[(None, 1.5), (0, None), (0, 9)],
        constraints=[
            {"type": "ineq", "fun": lambda x, b: b - x[1] ** 2, "args": (1.0,)},
            optimize.NonlinearConstraint(lambda x: [x[0] * x[1]], -5.0, 5.0),
            original.LinearConstraint([[0.0, 1.0, 1.0]], -np.inf, 2.5),
        ],
        tol=1e-9,
        options={"maxiter": 50},
    )
    assert found.success
    np.testing.assert_allclose(found.x, [1.5, 1.0, 1.5], atol=1e-6)


def test_wrong_constraints_of_minimize() -> None:
    for constraints in ({"fun": f}, {"type": "eq"}, 3.0):
        with pytest.raises(ArgumentError, match="a constraint"):
            optimize.minimize(f, np.ones(2), method="ipopt", constraints=constraints)
    with pytest.raises(ShapeError, match="3 pairs"):
        optimize.minimize(f, np.ones(3), method="ipopt", bounds=[(0, 1)] * 2)


# ---------------------------------------------------------------- sparse, in SciPy's solvers


def test_sparse_matrices_in_trust_constr() -> None:
    n = SMALL + 6

    def rosenbrock(x: Any) -> Any:
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    found = optimize.minimize(
        rosenbrock, np.full(n, 0.5), method="trust-constr",
        constraints=optimize.NonlinearConstraint(lambda x: x[1:] * x[:-1], -np.inf, 0.81),
    )  # fmt: skip
    assert sp.issparse(found.jac[0])
    assert np.max(found.x[1:] * found.x[:-1]) < 0.81 + 1e-6


def test_sparse_least_squares() -> None:
    n = 200

    def broyden(x: Any) -> Any:
        padded = np.concatenate([[0.0], x, [0.0]])
        return (3 - 2 * x) * x + 1 - padded[:-2] - 2 * padded[2:]

    found = optimize.least_squares(broyden, -np.ones(n), tr_solver="lsmr")
    assert sp.issparse(found.jac)
    assert found.cost < 1e-16


# ---------------------------------------------------------------- optimal power flow


@pytest.fixture
def opf() -> Any:
    return SimpleNamespace(**{n: importlib.import_module(n) for n in ("case", "model")})


@pytest.mark.slow
def test_power_flow_of_five_buses(opf: Any) -> None:
    problem = opf.model.problem(opf.case.read(OPF / "pglib_opf_case5_pjm.m"))
    # Its constraints as SciPy's: no package is needed.
    equal = problem.cl == problem.cu
    rows = [(equal, "eq", 1.0, problem.cl),
            (np.isfinite(problem.cl) & ~equal, "ineq", 1.0, problem.cl),
            (np.isfinite(problem.cu) & ~equal, "ineq", -1.0, problem.cu)]  # fmt: skip
    shape = problem.m, problem.n

    def one(which: Any, kind: str, sign: float, level: Any) -> Any:
        def slopes(x: Any) -> Any:
            return sign * dense(problem.jacobian(x), problem.jacobianstructure(), shape)[which]

        return {"type": kind, "jac": slopes,
                "fun": lambda x: sign * (problem.constraints(x) - level)[which]}  # fmt: skip

    found = original.minimize(
        lambda x: problem.objective(x) / 1e4, problem.x0, method="SLSQP",
        jac=lambda x: problem.gradient(x) / 1e4, options={"maxiter": 200, "ftol": 1e-10},
        bounds=np.stack([problem.lb, problem.ub], 1), constraints=[one(*row) for row in rows],
    )  # fmt: skip
    assert found.success
    np.testing.assert_allclose(1e4 * found.fun, 1.7552e4, rtol=5e-5)  # PGLib's table


def test_power_flow_by_ipopt(opf: Any, solver: str) -> None:
    problem = opf.model.problem(opf.case.read(OPF / "pglib_opf_case5_pjm.m"))
    found = problem.solve(solver=solver)
    assert found.success
    np.testing.assert_allclose(found.fun, 1.7552e4, rtol=5e-5)


@pytest.mark.slow
def test_the_example_runs(monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path) -> None:
    pytest.importorskip("ipyopt")
    pytest.importorskip("matplotlib")
    arguments = [str(OPF), "--plot", str(tmp_path / "grid.png")]
    monkeypatch.setattr(sys, "argv", ["opf", *arguments])
    runpy.run_path(str(OPF), run_name="__main__")
    assert "17,551.89" in capsys.readouterr().out
    assert (tmp_path / "grid.png").stat().st_size > 10_000


TEXT = (OPF / "pglib_opf_case5_pjm.m").read_text(encoding="utf-8")

BAD: dict[str, tuple[str, str, str]] = {
    "no number": ("0.00281", "0.00x81", r"bad.m:\d+: '0.00x81' is not a number"),
    "nan": ("0.00281", "NaN", r"bad.m:\d+: a number is missing"),
    "no bus": ("\t1\t 2\t 0.00281", "\t1\t 77\t 0.00281", r"bad.m:\d+: mpc.branch: there is no"),
    "twice": ("\t2\t 1\t 300.0", "\t1\t 1\t 300.0", r"bad.m:\d+: mpc.bus: this bus is there twice"),
    "crossing": ("1.10000\t    0.90000", "0.8\t    0.90000", r"bad.m:\d+: mpc.bus: the voltage"),
    "cut off": (TEXT[TEXT.index("mpc.branch") + 200 :], "", "has no end: the file is cut off"),
    "short row": ("\t 170.0\t 0.0;", ";", r"bad.m:\d+: a row of mpc.gen has 8 numbers; 10"),
    "no base": ("mpc.baseMVA = 100.0;", "", "there is no mpc.baseMVA"),
    "base of zero": ("mpc.baseMVA = 100.0;", "mpc.baseMVA = 0;", "mpc.baseMVA is 0"),
    "no table": ("mpc.gencost", "mpc.other", "there is no table mpc.gencost"),
    "no reference": ("\t4\t 3\t 400", "\t4\t 1\t 400", "no bus is the reference"),
    "pieces": ("\t2\t 0.0\t 0.0\t 3", "\t1\t 0.0\t 0.0\t 3", "costs by pieces"),
    "a cubic": ("\t2\t 0.0\t 0.0\t 3", "\t2\t 0.0\t 0.0\t 4", "polynomials of degree 2"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_case_files(case: str, opf: Any, tmp_path: Path) -> None:
    old, new, said = BAD[case]
    assert old in TEXT
    bad = tmp_path / "bad.m"
    bad.write_text(TEXT.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(sg.errors.DataError, match=said):
        opf.case.read(bad)


def test_a_file_that_is_no_text(opf: Any, tmp_path: Path) -> None:
    bad = tmp_path / "bad.m"
    bad.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(sg.errors.DataError, match="not a text file"):
        opf.case.read(bad)


def test_the_objective_is_as_it_is_now() -> None:
    scale = 2.0
    problem = sg.nlp(lambda x: scale * np.sum(x**2), None, np.ones(2))
    assert problem.objective(problem.x0) == 4.0
    scale = 3.0
    assert problem.objective(problem.x0) == 6.0
    assert problem.gradient(problem.x0).tolist() == [6.0, 6.0]
