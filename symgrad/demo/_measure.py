"""What the demo finds out about one problem: digits, evaluations, ulps, times."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

import symgrad as sg

from .._verify import Check, Report
from ._fit import Fit, Jacobian, Residual, digits, fit, two_point
from ._problems import Problem, Vector

# The goal: so many of the 11 certified digits.
GOAL = 9.5
_SAMPLE_SECONDS = 0.002


@dataclass(frozen=True, eq=False)
class Outcome:
    """The demo's results on one problem.

    Parameters
    ----------
    problem, residual, jacobian:
        The problem, and its compiled functions of the parameters.
    fits, rough_fits:
        From start 1 and start 2 with our Jacobian; the same with 2-point differences.
    report:
        The verification of the Jacobian at the solution.
    times:
        Seconds for one Jacobian, medians: ours, by 2-point differences, by ``sympy.lambdify``.
    compile_seconds:
        From the formula to the first residual and Jacobian.
    """

    problem: Problem
    residual: Residual
    jacobian: Jacobian
    fits: tuple[Fit, ...]
    rough_fits: tuple[Fit, ...]
    report: Report
    times: Sequence[float]
    compile_seconds: float

    def digits(self, result: Fit) -> float:
        """Correct digits of the worst parameter."""
        return float(digits(result.parameters, self.problem.certified).min())

    @property
    def reached(self) -> list[float]:
        """Correct digits from start 1 and start 2, and the same with 2-point differences."""
        return [self.digits(result) for result in (*self.fits, *self.rough_fits)]

    @property
    def worst(self) -> Check:
        """The verification of the Jacobian, with its worst element."""
        derivatives = [check for check in self.report.checks if check.name != "value"]
        return max(derivatives, key=lambda check: check.max_ulp)


def measure(problem: Problem, repeats: int = 9) -> Outcome:
    """Compile, fit, verify and time one problem; ``repeats`` samples for each time."""
    begin = time.perf_counter()
    model, x, y = sg.from_sympy(problem.model, problem.symbols), problem.x, problem.target

    def residual(b: Vector) -> Vector:
        fitted: Vector = model(*x, *b)
        return y - fitted

    compiled, jacobian = sg.compile(residual), sg.jacobian(residual)
    compiled(problem.start2)
    jacobian(problem.start2)
    compile_seconds = time.perf_counter() - begin

    rough, starts = two_point(compiled), (problem.start1, problem.start2)
    fits = tuple(fit(compiled, jacobian, start) for start in starts)
    rough_fits = tuple(fit(compiled, rough, start) for start in starts)
    solution = fits[1].parameters
    report: Report = sg.verify(residual, solution)
    _, lambdified = lambdify(problem)
    times = interleaved([jacobian, rough, lambdified], solution, repeats)
    return Outcome(
        problem, compiled, jacobian, fits, rough_fits, report, times, compile_seconds
    )  # fmt: skip


def lambdify(problem: Problem) -> tuple[Residual, Jacobian]:
    """Residual and Jacobian through ``sympy.lambdify``: what symgrad is timed against.

    Common subexpressions are taken out (``cse=True``), which is lambdify at its best.
    """
    symbols = problem.symbols
    model = sp.lambdify(symbols, problem.model, "numpy")
    partials = sp.lambdify(symbols, list(problem.derivatives.values()), "numpy", cse=True)

    def residual(b: Vector) -> Vector:
        fitted: Vector = model(*problem.x, *b)
        return problem.target - fitted

    def jacobian(b: Vector) -> Vector:
        # A derivative that is constant is one number.
        columns = np.broadcast_arrays(problem.y, *partials(*problem.x, *b))[1:]
        return -np.stack(columns, axis=1)

    return residual, jacobian


def interleaved(
    functions: Sequence[Callable[[Vector], object]], argument: Vector, repeats: int
) -> list[float]:
    """Median seconds a call of each function.

    A sample is about 2 ms of calls. The functions take turns, so that a change in the
    machine's speed meets all of them.
    """

    def seconds(function: Callable[[Vector], object], count: int) -> float:
        begin = time.perf_counter()
        for _ in range(count):
            function(argument)
        return (time.perf_counter() - begin) / count

    counts = []
    for function in functions:
        function(argument)
        counts.append(max(1, round(_SAMPLE_SECONDS / max(seconds(function, 1), 1e-7))))
    samples = [list(map(seconds, functions, counts)) for _ in range(repeats)]
    return [statistics.median(sample) for sample in zip(*samples, strict=True)]


def explain(outcome: Outcome) -> str:
    """Why the fit from start 1 missed the certified solution, as far as its end shows it."""
    problem, failed = outcome.problem, outcome.fits[0]
    end = failed.unpolished
    with np.errstate(all="ignore"):
        # Relative to the parameters' sizes, which makes the columns comparable.
        influence = np.linalg.norm(outcome.jacobian(end) * end, axis=0)
    named = list(zip(problem.parameters, end, influence, strict=True))
    lost = [name for name, _, size in named if not size > 1e-12 * influence.max()]
    place = ", ".join(f"{name} = {value:.5g}" for name, value, _ in named)
    text = (
        f"MINPACK's Levenberg-Marquardt ends at {place} with a sum of squares of "
        f"{failed.rss:.6g}; certified is {problem.rss:.6g}."
    )
    if lost:
        text += (
            f" Its first steps were too long and led to where the model no longer depends on "
            f"{', '.join(lost)}: that derivative is zero there, rightly, and no step leads back."
        )
    bounded = fit(outcome.residual, outcome.jacobian, problem.start1, method="trf")
    return (
        f"{text} From the same start with the same Jacobian, least_squares(method='trf'), "
        f"whose first step is no longer than the starting values, reaches "
        f"{outcome.digits(bounded):.1f} digits."
    )
