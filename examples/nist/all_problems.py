"""NIST's 27 certified nonlinear regression problems, fitted with compiled, verified Jacobians.

    python examples/nist/all_problems.py                     a line for each problem, as it is done
    python examples/nist/all_problems.py --problem Thurber   one problem in full

Each model is read from the text in its file, fitted from both of NIST's starting points, and
compared with the certified values; its Jacobian is verified in ulps, and timed.
"""

from __future__ import annotations

import argparse
import math
import shutil
import sys
from collections.abc import Sequence

import sympy as sp
from nist_fits import GOAL, Outcome, digits, explain, measure
from nist_problems import Problem, load, load_all

from symgrad.errors import DataError

#: Of each column two lines of heading, which say how wide it is; narrow enough for 80 columns.
HEADINGS = (
    ("        ", "problem"), (" digits", "start1"), ("", "start2"), ("2-point", "start1"),
    ("", "start2"), ("evalua-", "start1"), ("tions ", "start2"), ("   max", "ulp"),
    ("  time", "us"), ("2-pt", "takes"), ("lamb-", "dify"),
)  # fmt: skip

FEW_ULP = 4.0

LEGEND = """
digits       correct digits of the worst parameter (NIST's log relative error, at most 11)
2-point      the same fits with forward differences for the Jacobian
evaluations  of residual/Jacobian, until the last digit
max ulp      worst element of the compiled Jacobian against the exact symbolic derivative
time         of one compiled Jacobian
2-pt takes   time of forward differences, as a multiple of it
lambdify     time of sympy.lambdify of the symbolic Jacobian, as a multiple of it
"""


def run(problem: str | None = None) -> int:
    """Print what comes of all problems, or all of one; return 0 if start 2 led to 9.5 digits."""
    outcomes = []
    if problem is not None:
        one = load(problem)
        _print(describe(one, shutil.get_terminal_size().columns))
        outcomes.append(measure(one))
        _print([*solution(outcomes[0]), str(outcomes[0].report), "", *timings(outcomes[0])])
    else:
        _print(map(line, zip(*HEADINGS, strict=True)))
        level = ""
        for one in load_all():
            if one.difficulty != level:
                level = one.difficulty
                _print([level.lower()])
            outcomes.append(measure(one))
            _print([line(row(outcomes[-1]))])
        _print([LEGEND, *summary(outcomes)])
    for outcome in outcomes:
        if outcome.reached[0] < GOAL:
            _print(["", f"{outcome.problem.name} from start 1: {explain(outcome)}"])
    return 0 if all(outcome.reached[1] >= GOAL for outcome in outcomes) else 1


def _print(lines: Sequence[str] | map[str]) -> None:
    # Without what the output's encoding does not have.
    encoding = sys.stdout.encoding or "utf-8"
    for text in lines:
        print(text.encode(encoding, "replace").decode(encoding), flush=True)


def line(cells: Sequence[str]) -> str:
    """Return texts in columns as wide as the headings, the first flush left."""
    widths = [max(map(len, heading)) for heading in HEADINGS]
    first, *others = (c.rjust(w) for c, w in zip(cells, widths, strict=True))
    return " ".join([first.strip().ljust(widths[0]), *others]).rstrip()


def row(outcome: Outcome) -> list[str]:
    """Return the table's row of a problem."""
    ours, *others = outcome.times
    return [
        outcome.problem.name,
        *map(floor, outcome.reached),
        *(f"{fit.residuals}/{fit.jacobians}" for fit in outcome.fits),
        ulps(outcome.worst.max_ulp),
        f"{ours * 1e6:.1f}",
        *(f"{seconds / ours:.1f}x" for seconds in others),
    ]


def floor(value: float) -> str:
    """Return a number of digits to one decimal, never rounded up."""
    return f"{math.floor(value * 10) / 10:.1f}"


def ulps(value: float) -> str:
    """Return an error in units in the last place, short whatever its size."""
    return f"{value:.1f}" if value < 999.5 else f"{value:.1e}"


def summary(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the figures over all problems."""
    total = len(outcomes)
    counts = [
        f"{sum(value >= GOAL for value in column)} of {total}"
        for column in zip(*(outcome.reached for outcome in outcomes), strict=True)
    ]
    least = min(outcomes, key=lambda outcome: outcome.reached[1])
    inexact = max(outcomes, key=lambda outcome: outcome.worst.max_ulp)
    within = sum(outcome.worst.max_ulp <= FEW_ULP for outcome in outcomes)
    entry = inexact.worst.worst
    where = "" if entry is None else (
        f", {entry.place}), where the model's own operations amplify rounding "
        f"{entry.condition:.2g} times"
    )  # fmt: skip
    differences, lambdified = (
        math.exp(sum(math.log(o.times[k] / o.times[0]) for o in outcomes) / total) for k in (1, 2)
    )
    return [
        (
            f"Problems with {GOAL} digits or more: from start 2 {counts[1]} "
            f"(least: {floor(least.reached[1])}, {least.problem.name}), from start 1 {counts[0]}; "
            f"with 2-point differences {counts[3]} and {counts[2]}."
        ),
        (
            f"Jacobians with every element within {FEW_ULP:g} ulp of the exact one: {within} of "
            f"{total}. Worst: {ulps(inexact.worst.max_ulp)} ulp "
            f"({inexact.problem.name}{where or ')'}."
        ),
        (
            f"Time for a Jacobian against the compiled one (geometric mean): "
            f"2-point differences {differences:.1f}x, lambdify {lambdified:.1f}x."
        ),
    ]


def describe(problem: Problem, width: int) -> list[str]:
    """Return a problem's text, its model and the model's derivatives."""
    unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")

    def pretty(expression: sp.Basic) -> list[str]:
        text: str = sp.pretty(expression, use_unicode=unicode, num_columns=width - 4)
        return ["", *("    " + line for line in text.splitlines()), ""]

    d = "∂" if unicode else "d"
    partials = [
        [f"{d}f/{d}{parameter.name} =", *pretty(partial)]
        for parameter, partial in problem.derivatives.items()
    ]
    return [
        (
            f"{problem.name}: {problem.model_class} model, {problem.difficulty.lower()} level of "
            f"difficulty, {len(problem.y)} observations of y and {', '.join(problem.predictors)}"
        ),
        problem.description,
        problem.reference,
        "",
        f"Model in the file:  {problem.formula}",
        *pretty(sp.Eq(problem.response, problem.model, evaluate=False)),
        "f is the right side. Its partial derivatives:",
        "",
        *(line for lines in partials for line in lines),
    ]


def solution(outcome: Outcome) -> list[str]:
    """Return the fitted parameters beside the certified ones."""
    problem = outcome.problem
    lines = []
    for k, fit in enumerate(outcome.fits, 1):
        lines += [
            f"From start {k} ({fit.residuals} residuals, {fit.jacobians} Jacobians):",
            f"       {'fitted':>20}  {'certified':>17}  digits",
        ]
        correct = digits(fit.parameters, problem.certified)
        rows = zip(problem.parameters, fit.parameters, problem.certified, correct, strict=True)
        for name, value, certified, count in rows:
            lines.append(f"  {name:4} {value:20.13e}  {certified:17.10e}  {floor(count):>6}")
        lines += [f"  {'rss':4} {fit.rss:20.13e}  {problem.rss:17.10e}", ""]
    return lines


def timings(outcome: Outcome) -> list[str]:
    """Return compile time, and the time of a Jacobian in three ways."""
    shape = f"{len(outcome.problem.y)} by {len(outcome.problem.parameters)}"
    ways = (
        "symgrad, compiled",
        "2-point differences of the compiled residual",
        "sympy.lambdify of the symbolic derivatives",
    )
    return [
        f"Compiled in {outcome.compile_seconds:.2f} s. One Jacobian ({shape}):",
        *(
            f"  {way:44}  {seconds * 1e6:8.1f} us  {seconds / outcome.times[0]:6.1f}x"
            for way, seconds in zip(ways, outcome.times, strict=True)
        ),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problem", metavar="NAME", help="show one problem in full")
    try:
        sys.exit(run(parser.parse_args().problem))
    except DataError as error:
        parser.error(str(error))
