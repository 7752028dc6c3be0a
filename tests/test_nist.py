"""The example ``examples/nist``: 27 problems read rightly, fitted to their digits, reported."""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from symgrad.errors import DataError

sys.path.append(str(Path(__file__).parents[1] / "examples" / "nist"))

import all_problems as report
from nist_fits import (
    Jacobian,
    Residual,
    digits,
    fit,
    interleaved,
    lambdify,
    measure,
    polish,
    two_point,
)
from nist_problems import Problem, load, load_all

# Name: observations, parameters, first and last row of data, last certified parameter.
EXPECTED = {
    "Bennett5": (154, 3, (-34.834702, 7.447168), (-31.7868, 12.27224), 0.93218483193),
    "BoxBOD": (6, 2, (109, 1), (224, 10), 0.54723748542),
    "Chwirut1": (214, 3, (92.9, 0.5), (28.95, 1.75), 0.010530908399),
    "Chwirut2": (54, 3, (92.9, 0.5), (28.9, 1.75), 0.012150007096),
    "DanWood": (6, 2, (2.138, 1.309), (5.66, 1.68), 3.8604055871),
    "ENSO": (168, 9, (12.9, 1), (14.8, 168), 1.4966870418),
    "Eckerle4": (35, 3, (0.0001575, 400), (0.000071, 500), 451.54121844),
    "Gauss1": (250, 8, (97.62227, 1), (4.875359, 250), 18.389389025),
    "Gauss2": (250, 8, (97.58776, 1), (4.875312, 250), 19.525972636),
    "Gauss3": (250, 8, (97.58776, 1), (4.875312, 250), 19.668221230),
    "Hahn1": (236, 7, (0.591, 24.41), (20.935, 848.23), -1.2314450199e-7),
    "Kirby2": (151, 5, (0.0082, 9.65), (92.2, 371.3), 2.1664802578e-5),
    "Lanczos1": (24, 6, (2.5134, 0), (0.06239312536719, 1.15), 5.0000000001),
    "Lanczos2": (24, 6, (2.5134, 0), (0.0623931, 1.15), 5.0028798100),
    "Lanczos3": (24, 6, (2.5134, 0), (0.0624, 1.15), 4.9863565084),
    "MGH09": (11, 4, (0.1957, 4), (0.0246, 0.0625), 0.13606233068),
    "MGH10": (16, 3, (34780, 50), (2872, 125), 345.22363462),
    "MGH17": (33, 5, (0.844, 0), (0.406, 320), 0.022122699662),
    "Misra1a": (14, 2, (10.07, 77.6), (81.78, 760), 5.5015643181e-4),
    "Misra1b": (14, 2, (10.07, 77.6), (81.78, 760), 3.9039091287e-4),
    "Misra1c": (14, 2, (10.07, 77.6), (81.78, 760), 2.0813627256e-4),
    "Misra1d": (14, 2, (10.07, 77.6), (81.78, 760), 3.0227324449e-4),
    "Nelson": (128, 3, (15, 1, 180), (1.2, 64, 275), -0.057701013174),
    "Rat42": (9, 3, (8.93, 9), (67.08, 79), 0.067359200066),
    "Rat43": (15, 4, (16.08, 1), (717.41, 15), 1.2792483859),
    "Roszman1": (25, 4, (0.252429, -4868.68), (0.624169, -464.17), -181.34269537),
    "Thurber": (37, 7, (80.574, -3.067), (1457.628, 2.2), 0.049727297349),
}


@pytest.fixture(scope="module")
def problems() -> dict[str, Problem]:
    found = {problem.name: problem for problem in load_all()}
    assert set(found) == set(EXPECTED)
    return found


@pytest.mark.parametrize("name", EXPECTED)
def test_reads(name: str, problems: dict[str, Problem]) -> None:
    problem = problems[name]
    observations, parameters, first, last, certified = EXPECTED[name]
    assert len(problem.y) == observations
    rows = np.column_stack([problem.y, *problem.x])
    assert tuple(rows[0]) == first
    assert tuple(rows[-1]) == last
    assert problem.parameters == tuple(f"b{k}" for k in range(1, parameters + 1))
    assert problem.certified[-1] == certified
    vectors = (problem.start1, problem.start2, problem.certified, problem.deviations)
    assert {vector.shape for vector in vectors} == {(parameters,)}
    assert np.all(problem.deviations > 0)
    assert problem.model.free_symbols == set(problem.symbols)
    assert problem.start2.flags.c_contiguous
    assert problem.description
    assert problem.reference


@pytest.mark.parametrize("name", EXPECTED)
def test_model_and_data_give_the_certified_sum_of_squares(
    name: str, problems: dict[str, Problem]
) -> None:
    # A wrong sign in the model or a wrong digit in the data would show here.
    problem = problems[name]
    model = sp.lambdify(problem.symbols, problem.model, "numpy")
    residual = problem.target - model(*problem.x, *problem.certified)
    rss = float(residual @ residual)
    if name == "Lanczos1":
        # Its residuals, 1e-13, are below the rounding of the 11 certified digits.
        assert rss < 1e-20
    else:
        assert rss == pytest.approx(problem.rss, rel=1e-9)


def test_words_and_notation(problems: dict[str, Problem]) -> None:
    x, x1, x2, y = sp.symbols("x x1 x2 y", real=True)
    b = (None, *sp.symbols("b1:10", real=True))
    nelson, roszman, enso = problems["Nelson"], problems["Roszman1"], problems["ENSO"]
    assert nelson.response == sp.log(y)
    assert nelson.model == b[1] - b[2] * x1 * sp.exp(-b[3] * x2)
    assert nelson.predictors == ("x1", "x2")
    np.testing.assert_allclose(nelson.target, np.log(nelson.y), rtol=1e-15)
    # The file's pi, written out, is the constant.
    assert roszman.model == b[1] - b[2] * x - sp.atan(b[3] / (x - b[4])) / sp.pi
    assert enso.model.has(b[9] * sp.sin(2 * sp.pi * x / b[7]))
    assert len(enso.model.args) == 7
    assert problems["BoxBOD"].formula == "y = b1*(1-exp[-b2*x]) + e"
    assert problems["Hahn1"].model_class == "Rational (cubic/cubic)"
    assert problems["BoxBOD"].reference.startswith("Box, G. P., W. G. Hunter")
    levels = [problem.difficulty for problem in problems.values()]
    assert [levels.count(level) for level in ("Lower", "Average", "Higher")] == [8, 11, 8]


def test_load_by_name() -> None:
    assert load("thurber").name == "Thurber"
    with pytest.raises(DataError, match=r"no problem 'Thurbr'; there are .*Thurber"):
        load("Thurbr")


# ---------------------------------------------------------------- fits


def worst(parameters: np.ndarray, problem: Problem) -> float:
    return float(digits(parameters, problem.certified).min())


@pytest.mark.parametrize("name", EXPECTED)
def test_certified_digits(name: str) -> None:
    problem = load(name)
    residual, jacobian = lambdify(problem)
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
    for name in EXPECTED:
        problem = load(name)
        residual, jacobian = lambdify(problem)
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


# ---------------------------------------------------------------- the report


def test_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    few = [load(name) for name in ("DanWood", "BoxBOD", "Rat42")]
    monkeypatch.setattr(report, "load_all", lambda: few)
    assert report.run() == 0
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert lines[1].split() == ["problem", *["start1", "start2"] * 3, "ulp", "us", "takes", "dify"]
    assert [line.split()[0] for line in lines[2:7]] == [
        "lower", "DanWood", "higher", "BoxBOD", "Rat42",
    ]  # fmt: skip
    assert max(map(len, lines[:7])) <= 80
    danwood, boxbod = lines[3].split(), lines[5].split()
    assert len(danwood) == len(report.HEADINGS)
    assert danwood[1:3] == ["11.0", "11.0"]
    assert boxbod[1:3] == ["0.0", "11.0"]
    assert "from start 2 3 of 3 (least: 11.0" in text
    assert "from start 1 2 of 3" in text
    assert re.search(r"within 4 ulp of the exact one: [123] of 3. Worst: \d\.\d ulp \(", text)
    assert "where the model's own operations amplify rounding" in text
    assert "BoxBOD from start 1: MINPACK's Levenberg-Marquardt ends at b1 = 172.5, b2 = " in text
    assert "no longer depends on b2" in text
    assert "reaches 11.0 digits" in text


def test_one_problem_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    assert report.run("rat42") == 0
    text = capsys.readouterr().out
    assert text.startswith("Rat42: Exponential model, higher level of difficulty, 9 observations")
    for part in (
        "Model in the file:  y = b1 / (1+exp[b2-b3*x]) + e",
        "f/\N{PARTIAL DIFFERENTIAL}b3 =",
        "From start 1 (",
        "7.2462237576e+01    11.0",
        "kernel against exact values",
        "One Jacobian (9 by 3):",
        "sympy.lambdify of the symbolic derivatives",
    ):
        assert part in text


def test_what_is_not_reached_is_told() -> None:
    problem = load("Misra1a")
    outcome = measure(problem, repeats=1)
    near, far, *rough = outcome.reached
    assert min(near, far) >= 9.5
    # Differences may come close (9.55 digits with NumPy 2.5): what counts is the gap.
    assert max(rough) < min(near, far) - 0.2
    assert outcome.worst.name != "value"
    assert all(0 < seconds < 1 for seconds in outcome.times)


def test_interleaved_times_tell_functions_apart() -> None:
    calls: list[str] = []

    def slow(_: np.ndarray) -> None:
        calls.append("slow")
        sum(range(100_000))

    def fast(_: np.ndarray) -> None:
        calls.append("fast")

    slow_seconds, fast_seconds = interleaved([slow, fast], np.zeros(1), repeats=3)
    assert slow_seconds > 10 * fast_seconds
    changes = sum(a != b for a, b in itertools.pairwise(calls))
    assert changes == 7


def test_numbers_as_text() -> None:
    assert [report.floor(value) for value in (9.49, 10.99, 11.0, 0.0)] == [
        "9.4",
        "10.9",
        "11.0",
        "0.0",
    ]
    assert [report.ulps(value) for value in (0.5, 123.44, 12790.0, 1.3e42)] == [
        "0.5", "123.4", "1.3e+04", "1.3e+42",
    ]  # fmt: skip
