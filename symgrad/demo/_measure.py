"""What the demo finds out about one problem: digits, evaluations, ulps, times."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ._fit import Fit, Vector, digits, fit, two_point
from ._kernels import Check, Kernels, Report, lambdify_kernels
from ._problem import Problem

# The goal: so many of the 11 certified digits.
GOAL = 9.5
_SAMPLE_SECONDS = 0.002


@dataclass(frozen=True, eq=False)
class Times:
    """Seconds for one Jacobian, medians: ours, by 2-point differences, by lambdify."""

    symgrad: float
    two_point: float
    lambdify: float


@dataclass(frozen=True, eq=False)
class Outcome:
    """The demo's results on one problem.

    Parameters
    ----------
    problem, kernels:
        The problem, and its compiled functions.
    fits, rough_fits:
        From start 1 and start 2 with our Jacobian; the same with 2-point differences.
    report:
        The verification of the Jacobian at the solution.
    times:
        Of one Jacobian.
    compile_seconds:
        From the formula to the first residual and Jacobian.
    """

    problem: Problem
    kernels: Kernels
    fits: tuple[Fit, Fit]
    rough_fits: tuple[Fit, Fit]
    report: Report
    times: Times
    compile_seconds: float

    def digits(self, result: Fit) -> float:
        """Correct digits of the worst parameter."""
        return float(digits(result.parameters, self.problem.certified).min())

    @property
    def reached(self) -> tuple[float, float]:
        """Correct digits from start 1 and start 2."""
        return self.digits(self.fits[0]), self.digits(self.fits[1])

    @property
    def reached_roughly(self) -> tuple[float, float]:
        """The same with 2-point differences."""
        return self.digits(self.rough_fits[0]), self.digits(self.rough_fits[1])

    @property
    def worst(self) -> Check:
        """The verification of the Jacobian, with its worst element."""
        derivatives = [check for check in self.report.checks if check.name != "value"]
        return max(derivatives, key=lambda check: check.max_ulp)


Step = Callable[[str], None]


def measure(
    problem: Problem,
    make: Callable[[Problem], Kernels],
    *,
    repeats: int = 9,
    step: Step = lambda _: None,
) -> Outcome:
    """Compile, fit, verify and time one problem.

    Parameters
    ----------
    problem:
        The problem.
    make:
        Makes its kernels: ``compile_kernels``.
    repeats:
        Samples for each time.
    step:
        Told what is being done.
    """
    step("compiling")
    begin = time.perf_counter()
    kernels = make(problem)
    kernels.residual(problem.start2)
    kernels.jacobian(problem.start2)
    compile_seconds = time.perf_counter() - begin

    step("fitting")
    rough = two_point(kernels.residual)
    fits = [fit(kernels.residual, kernels.jacobian, b) for b in (problem.start1, problem.start2)]
    rough_fits = [fit(kernels.residual, rough, b) for b in (problem.start1, problem.start2)]

    step("verifying")
    solution = fits[1].parameters
    report = kernels.verify(solution)

    step("timing")
    _, lambdified = lambdify_kernels(problem)
    times = interleaved([kernels.jacobian, rough, lambdified], solution, repeats)
    return Outcome(
        problem,
        kernels,
        (fits[0], fits[1]),
        (rough_fits[0], rough_fits[1]),
        report,
        Times(*times),
        compile_seconds,
    )


def interleaved(
    functions: Sequence[Callable[[Vector], object]], argument: Vector, repeats: int
) -> list[float]:
    """Median seconds a call of each function.

    A sample is about 2 ms of calls. The functions take turns, so that a change in the
    machine's speed meets all of them.
    """
    calls = []
    for function in functions:
        function(argument)
        begin = time.perf_counter()
        function(argument)
        once = max(time.perf_counter() - begin, 1e-7)
        calls.append(max(1, round(_SAMPLE_SECONDS / once)))
    samples: list[list[float]] = [[] for _ in functions]
    for _ in range(repeats):
        for function, count, sample in zip(functions, calls, samples, strict=True):
            begin = time.perf_counter()
            for _ in range(count):
                function(argument)
            sample.append((time.perf_counter() - begin) / count)
    return [statistics.median(sample) for sample in samples]


def explain(outcome: Outcome) -> str:
    """Why the fit from start 1 missed the certified solution, as far as its end shows it."""
    problem, kernels, failed = outcome.problem, outcome.kernels, outcome.fits[0]
    end = failed.unpolished
    with np.errstate(all="ignore"):
        # Relative to the parameters' sizes, which makes the columns comparable.
        influence = np.linalg.norm(kernels.jacobian(end) * end, axis=0)
    lost = [
        name
        for name, size in zip(problem.parameters, influence, strict=True)
        if not size > 1e-12 * influence.max()
    ]
    place = ", ".join(
        f"{name} = {value:.5g}" for name, value in zip(problem.parameters, end, strict=True)
    )
    text = (
        f"MINPACK's Levenberg-Marquardt ends at {place} with a sum of squares of "
        f"{failed.rss:.6g}; certified is {problem.rss:.6g}."
    )
    if lost:
        text += (
            f" Its first steps were too long and led to where the model no longer depends on "
            f"{', '.join(lost)}: that derivative is zero there, rightly, and no step leads back."
        )
    bounded = fit(kernels.residual, kernels.jacobian, problem.start1, method="trf")
    return (
        f"{text} From the same start with the same Jacobian, least_squares(method='trf'), "
        f"whose first step is no longer than the starting values, reaches "
        f"{outcome.digits(bounded):.1f} digits."
    )
