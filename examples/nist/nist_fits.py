"""Fits, and what is found out about one problem: digits, evaluations, ulps, times.

Fits are least squares to all the digits that double precision has. MINPACK's Levenberg-Marquardt
stops when the sum of squares stops falling. The sum of squares is flat at its minimum: an error of
1e-8 in the parameters changes it by 1e-16. So its solution may be right to eight digits only. A few
Gauss-Newton steps finish the work. They do not look at the sum of squares but solve for its
gradient being zero, which with an exact Jacobian locates the minimum to almost all digits, and with
finite differences does not.

Source of the measure: NIST/ITL StRD, "log relative error" (LRE); B. D. McCullough, Assessing
the reliability of statistical software, The American Statistician 52 (1998) 358-366.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import sympy as sp
from nist_problems import Problem, Vector
from scipy.optimize import least_squares

import symgrad as sg

Matrix: TypeAlias = npt.NDArray[np.float64]
Residual: TypeAlias = Callable[[Vector], Vector]
Jacobian: TypeAlias = Callable[[Vector], Matrix]

# NIST certifies 11 significant digits.
MAX_DIGITS = 11.0
_TOLERANCE = 1e-15  # as small as MINPACK takes without a warning
_MAX_EVALUATIONS = 5000
_MAX_STEPS = 100
_PATIENCE = 3


@dataclass(frozen=True, eq=False)
class Fit:
    """The result of a fit.

    Parameters
    ----------
    parameters:
        The solution.
    rss:
        Its residual sum of squares.
    unpolished:
        The solution before the Gauss-Newton steps.
    residuals, jacobians:
        How often each was evaluated (a 2-point Jacobian evaluates p further residuals).
    message:
        Why MINPACK stopped.
    """

    parameters: Vector
    rss: float
    unpolished: Vector
    residuals: int
    jacobians: int
    message: str


def fit(residual: Residual, jacobian: Jacobian, start: Vector, *, method: str = "lm") -> Fit:
    """Minimise the sum of squares of ``residual`` from ``start``.

    Parameters
    ----------
    residual, jacobian:
        ``residual(b)`` has shape (m,), ``jacobian(b)`` shape (m, p).
    start:
        Starting values of the p parameters.
    method:
        Of ``scipy.optimize.least_squares``.

    Returns
    -------
    Fit
    """
    count = [0, 0]

    def counted_residual(b: Vector) -> Vector:
        count[0] += 1
        return residual(b)

    def counted_jacobian(b: Vector) -> Matrix:
        count[1] += 1
        return jacobian(b)

    # Trial steps may leave the range of doubles; MINPACK then takes shorter ones.
    with np.errstate(all="ignore"):
        result = least_squares(
            counted_residual,
            np.array(start, dtype=np.float64),
            counted_jacobian,
            method=method,
            x_scale="jac",
            ftol=_TOLERANCE,
            xtol=_TOLERANCE,
            gtol=_TOLERANCE,
            max_nfev=_MAX_EVALUATIONS,
        )
        solution = polish(counted_residual, counted_jacobian, result.x)
        rss = float(np.sum(residual(solution) ** 2))
    return Fit(solution, rss, result.x, count[0], count[1], str(result.message))


def polish(residual: Residual, jacobian: Jacobian, start: Vector) -> Vector:
    """Gauss-Newton steps from a point near the minimum, until rounding stops them.

    The steps shrink at a fixed rate (the faster, the smaller the residuals) down to rounding
    noise. Their length is taken as the change of the fitted values, which does not depend on
    the parameters' units; the iteration ends when three steps in a row were no shorter than
    the shortest, and returns the point that the shortest step led to.
    """
    b = best = start
    r = residual(b)
    shortest, waited = np.inf, 0
    for _ in range(_MAX_STEPS):
        j = jacobian(b)
        scale = np.linalg.norm(j, axis=0)
        scale[scale == 0] = 1
        if not (np.all(np.isfinite(j)) and np.all(np.isfinite(r))):
            break
        # The columns differ by many powers of ten; scaled to length 1 the system is as well
        # conditioned as it can be made by scaling.
        step = np.linalg.lstsq(j / scale, -r, rcond=None)[0] / scale
        length = float(np.linalg.norm(j @ step))
        b = b + step
        r_new = residual(b)
        # Near the minimum no step changes the sum of squares visibly, except by the rounding
        # of tiny residuals (Lanczos1: 1e-13). A step that does was taken too far away.
        if not np.linalg.norm(r_new) <= 1.01 * np.linalg.norm(r):
            break
        r = r_new
        if length < shortest:
            best, shortest, waited = b, length, 0
        else:
            waited += 1
            if waited == _PATIENCE:
                break
    return best


def two_point(residual: Residual) -> Jacobian:
    """The Jacobian by forward differences, with MINPACK's step ``sqrt(eps)*|b|``."""

    def jacobian(b: Vector) -> Matrix:
        base = residual(b)
        columns = []
        for k in range(len(b)):
            moved = b.copy()
            moved[k] += np.sqrt(np.finfo(np.float64).eps) * (abs(b[k]) or 1.0)
            # What was added after rounding, not what was meant to be.
            columns.append((residual(moved) - base) / (moved[k] - b[k]))
        return np.stack(columns, axis=1)

    return jacobian


def digits(computed: Vector, certified: Vector) -> Vector:
    """The number of correct significant digits of each value, NIST's log relative error.

    ``-log10(|computed - certified|/|certified|)``, between 0 and the 11 digits certified; where
    the certified value is 0, ``-log10(|computed|)``.
    """
    computed, certified = np.asarray(computed, np.float64), np.asarray(certified, np.float64)
    size = np.where(certified == 0, 1.0, np.abs(certified))
    with np.errstate(divide="ignore", invalid="ignore"):
        lre = -np.log10(np.abs(computed - certified) / size)
    return np.clip(np.nan_to_num(lre, nan=0.0, posinf=MAX_DIGITS), 0.0, MAX_DIGITS)


# The goal: so many of the 11 certified digits.
GOAL = 9.5
_SAMPLE_SECONDS = 0.002


@dataclass(frozen=True, eq=False)
class Outcome:
    """What was found out about one problem.

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
    report: Any
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
    def worst(self) -> Any:
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
    report = sg.verify(residual, solution)
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
