"""How the demo shows its results: lines of text, the same on a screen and in a pipe."""

from __future__ import annotations

import math
from collections.abc import Sequence

import sympy as sp

from ._fit import digits
from ._kernels import derivatives
from ._measure import GOAL, Outcome
from ._problem import Problem

# Two lines each; narrow enough for a terminal of 80 columns.
HEADINGS = (
    ("", "problem"),
    ("digits", "start1"),
    ("", "start2"),
    ("2-point", "start1"),
    ("", "start2"),
    ("evalua-", "start1"),
    ("tions", "start2"),
    ("max", "ulp"),
    ("time", "µs"),
    ("2-pt", "takes"),
    ("lamb-", "dify"),
)

FEW_ULP = 4.0

LEGEND = """\
digits       correct digits of the worst parameter (NIST's log relative error, at most 11)
2-point      the same fits with forward differences for the Jacobian
evaluations  of residual/Jacobian, until the last digit
max ulp      worst element of the compiled Jacobian against the exact symbolic derivative
time         of one compiled Jacobian
2-pt takes   time of forward differences, as a multiple of it
lambdify     time of sympy.lambdify of the symbolic Jacobian, as a multiple of it"""


def rows(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    """The table's rows, one text for each of HEADINGS; a level of difficulty has its own."""
    result: list[tuple[str, ...]] = []
    level = ""
    for outcome in outcomes:
        if outcome.problem.difficulty != level:
            level = outcome.problem.difficulty
            result.append((level.lower(), *[""] * (len(HEADINGS) - 1)))
        result.append(row(outcome))
    return result


def row(outcome: Outcome) -> tuple[str, ...]:
    """The table's row of a problem."""
    times = outcome.times
    return (
        outcome.problem.name,
        *(floor(value) for value in (*outcome.reached, *outcome.reached_roughly)),
        *(f"{fit.residuals}/{fit.jacobians}" for fit in outcome.fits),
        ulps(outcome.worst.max_ulp),
        f"{times.symgrad * 1e6:.1f}",
        f"{times.two_point / times.symgrad:.1f}x",
        f"{times.lambdify / times.symgrad:.1f}x",
    )


def floor(value: float) -> str:
    """A number of digits to one decimal, never rounded up."""
    return f"{math.floor(value * 10) / 10:.1f}"


def ulps(value: float) -> str:
    """An error in units in the last place, short whatever its size."""
    return f"{value:.1f}" if value < 999.5 else f"{value:.1e}"


def align(texts: Sequence[Sequence[str]], left: int = 1, gap: str = " ") -> list[str]:
    """Rows of texts as lines: the first ``left`` columns flush left, the others flush right."""
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = []
    for cells in texts:
        padded = [
            cell.ljust(width) if k < left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        lines.append(gap.join(padded).rstrip())
    return lines


def table(outcomes: Sequence[Outcome]) -> list[str]:
    """The table as lines of text."""
    headings = zip(*HEADINGS, strict=True)
    return align([*headings, *rows(outcomes)])


def summary(outcomes: Sequence[Outcome]) -> list[str]:
    """The figures over all problems."""
    total = len(outcomes)

    def count(values: Sequence[float]) -> str:
        return f"{sum(value >= GOAL for value in values)} of {total}"

    near = [outcome.reached[1] for outcome in outcomes]
    worst = min(outcomes, key=lambda outcome: outcome.reached[1])
    least_exact = max(outcomes, key=lambda outcome: outcome.worst.max_ulp)
    exact1 = count([outcome.reached[0] for outcome in outcomes])
    rough1 = count([outcome.reached_roughly[0] for outcome in outcomes])
    rough2 = count([outcome.reached_roughly[1] for outcome in outcomes])

    def ratio(name: str) -> str:
        logs = [math.log(getattr(o.times, name) / o.times.symgrad) for o in outcomes]
        return f"{math.exp(sum(logs) / total):.1f}"

    reached = (
        f"Problems with {GOAL} digits or more: from start 2 {count(near)} "
        f"(least: {floor(min(near))}, {worst.problem.name}), from start 1 {exact1}; "
        f"with 2-point differences {rough2} and {rough1}."
    )
    within = sum(outcome.worst.max_ulp <= FEW_ULP for outcome in outcomes)
    exact = (
        f"Jacobians with every element within {FEW_ULP:g} ulp of the exact one: {within} of "
        f"{total}. Worst: {ulps(least_exact.worst.max_ulp)} ulp ({least_exact.problem.name}"
    )
    if least_exact.worst.worst is not None:
        entry = least_exact.worst.worst
        exact += (
            f", {entry.place}), where the model's own operations amplify rounding "
            f"{entry.condition:.2g} times"
        )
    else:
        exact += ")"
    exact += "."
    fast = (
        f"Time for a Jacobian against the compiled one (geometric mean): "
        f"2-point differences {ratio('two_point')}x, lambdify {ratio('lambdify')}x."
    )
    return [reached, exact, fast]


def describe(problem: Problem, width: int, unicode: bool) -> list[str]:
    """A problem's text, its model and the model's derivatives."""

    def pretty(expression: sp.Basic) -> list[str]:
        text: str = sp.pretty(expression, use_unicode=unicode, num_columns=width - 4)
        return ["    " + line for line in text.splitlines()]

    predictors = ", ".join(problem.predictors)
    title = (
        f"{problem.name}: {problem.model_class} model, {problem.difficulty.lower()} level of "
        f"difficulty, {len(problem.y)} observations of y and {predictors}"
    )
    lines = [
        title,
        problem.description,
        problem.reference,
        "",
        f"Model in the file:  {problem.formula}",
        "",
        *pretty(sp.Eq(problem.response, problem.model, evaluate=False)),
        "",
        "f is the right side. Its partial derivatives:",
    ]
    for parameter, partial in derivatives(problem).items():
        d = "∂" if unicode else "d"
        lines += ["", f"{d}f/{d}{parameter.name} =", "", *pretty(partial)]
    return lines


def solution(outcome: Outcome) -> list[str]:
    """The fitted parameters beside the certified ones."""
    problem = outcome.problem
    lines = []
    for label, fit in zip(("start 1", "start 2"), outcome.fits, strict=True):
        correct = digits(fit.parameters, problem.certified)
        texts = [("", "", "fitted", "certified", "digits")]
        for name, value, certified, count in zip(
            problem.parameters, fit.parameters, problem.certified, correct, strict=True
        ):
            texts.append(("  ", name, f"{value: .13e}", f"{certified: .10e}", floor(count)))
        texts.append(("  ", "rss", f"{fit.rss: .13e}", f"{problem.rss: .10e}", ""))
        lines += [
            f"From {label} ({fit.residuals} residuals, {fit.jacobians} Jacobians):",
            *align(texts, left=2, gap="  "),
            "",
        ]
    return lines


def timings(outcome: Outcome) -> list[str]:
    """Compile time, and the time of a Jacobian in three ways."""
    times = outcome.times
    texts = [
        ("  ", "symgrad, compiled", f"{times.symgrad * 1e6:.1f} µs", ""),
        (
            "  ",
            "2-point differences of the compiled residual",
            f"{times.two_point * 1e6:.1f} µs",
            f"{times.two_point / times.symgrad:.1f}x",
        ),
        (
            "  ",
            "sympy.lambdify of the symbolic derivatives",
            f"{times.lambdify * 1e6:.1f} µs",
            f"{times.lambdify / times.symgrad:.1f}x",
        ),
    ]
    shape = f"{len(outcome.problem.y)} by {len(outcome.problem.parameters)}"
    title = f"Compiled in {outcome.compile_seconds:.2f} s. One Jacobian ({shape}):"
    return [title, *align(texts, left=2, gap="  ")]
