"""Comparing a kernel's results with the exact ones, entry by entry."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core.graph import Input, Node
from ..errors import VerificationError
from ._compare import Entry, tolerance
from ._elements import Compared, Comparison, Problem, Tally
from ._exact import Exact, Exactness
from ._expansion import Adjoint, TooLargeError
from ._report import Check, Report, summarize
from ._scalars import Scalar
from ._steps import suspect
from ._whole_expression import Whole, agree

#: Steps of the chain rule after which no further result element is begun.
EFFORT = 400_000
#: Entries that whole-expression differentiation is tried on, and the largest number of
#: scalar operations behind a result element for which it is.
WHOLES, SMALL = 12, 40
#: Result elements that are looked at with more digits, if the first ones leave a doubt, and the
#: most steps of the chain rule behind them.
DEEPER, DEEP = 16, 2000


def certify(problem: Problem, digits: int, samples: int, limit: float) -> Report:
    """Compare values and derivatives; see :func:`symgrad.verify`.

    Raises
    ------
    VerificationError
        If an entry is further off than allowed.
    """
    return _Certifier(problem, digits, samples, limit).run()


def entries(
    problem: Problem, digits: int, samples: int, limit: float
) -> tuple[list[list[Entry]], list[int], list[int]]:
    """Return the compared entries: of the value, and of the derivatives by each input.

    With them, for each, how many exact values ball arithmetic has confirmed, and how many
    derivatives besides are 0, as they should: of branches that are not taken, of elements that
    a result does not depend on.

    Raises
    ------
    VerificationError
        As :func:`certify` does.
    """
    certifier = _Certifier(problem, digits, samples, limit)
    certifier.run()
    tallies = [certifier.value, *certifier.slopes]
    return [t.entries for t in tallies], [t.enclosed for t in tallies], [t.zeros for t in tallies]


class _Certifier:
    def __init__(self, problem: Problem, digits: int, samples: int, limit: float) -> None:
        self.problem, self.digits, self.samples, self.limit = problem, digits, samples, limit
        self.exactness = Exactness(problem.inputs, problem.wrt, digits)
        self.context = self.exactness.context
        self.whole = Whole(problem.inputs, digits)
        outputs = sum(math.prod(map(int, y.shape)) for y in problem.outputs)
        self.value = Tally("value", outputs)
        self.slopes = [Tally(x.name, outputs * math.prod(map(int, x.shape))) for x in problem.wrt]
        self.comparison = Comparison(problem, self.value, self.slopes, limit, digits)
        self.effort, self.wholes, self.notes = 0, 0, dict[str, None]()
        self.deeper = DEEPER

    def run(self) -> Report:
        for k, node in enumerate(self.problem.outputs):
            for done, place in enumerate(sampled(node, self.samples)):
                if self.effort > EFFORT and done:
                    break
                try:
                    exact = self.exactness.at(node, place)
                except TooLargeError:
                    if not done:
                        raise
                    break
                self._row(k, node, place, exact)
        tallies = [self.value, *self.slopes]
        report = Report(
            self.problem.name, tuple(map(_check, tallies)), self.digits, self.limit,
            sum(t.confirmed for t in self.slopes), tuple(self.notes),
        )  # fmt: skip
        for tally, check in zip(tallies, report.checks, strict=True):
            if tally.culprit is not None:
                line, scalar = tally.culprit
                reason = suspect(self.context, scalar)
                raise VerificationError(_message(report, check, line, reason))
        return report

    # ---------------------------------------------------------------- one result element

    def _row(self, k: int, node: Node, place: tuple[int, ...], exact: Exact) -> None:
        row = self.comparison.of(k, place, exact)
        if row.doubt and self.deeper and exact.visited <= DEEP:
            self.deeper -= 1
            for deeper in self.exactness.deeper(node, place):
                again = self.comparison.of(k, place, deeper)
                if not again.endless:
                    row = again
                if not row.doubt:
                    break
            else:
                row = self._at_limits(k, node, place, row)
        self.effort += row.exact.visited
        if row.exact.held:
            self.notes["what the function holds constant was held constant (StopGradient)"] = None
        for tally, entry in row.entries:
            self._enter(tally, node, row.exact.scalar, entry)
        for tally, count in zip(self.slopes, row.zeros, strict=True):
            tally.zeros += count
        if row.exact.visited <= SMALL and not row.exact.alone:
            for opinion in row.opinions:
                if self.wholes < WHOLES:
                    self._second_opinion(node, place, *opinion)

    def _at_limits(self, k: int, node: Node, place: tuple[int, ...], row: Compared) -> Compared:
        """Take limits for what comes out as 0/0, where the kernel has a number."""
        if not row.unknown:
            return row
        again = self.comparison.of(
            k, place, self.exactness.limits(node, place, row.exact, row.unknown)
        )
        if all(entry.allowed for _, entry in again.entries):
            self.notes["where formulas are 0/0, exact values are limits of those beside"] = None
        return again

    def _second_opinion(
        self, node: Node, place: tuple[int, ...], tally: Tally, name: str, x: Input,
        at: tuple[int, ...], adjoint: Adjoint,
    ) -> None:  # fmt: skip
        self.wholes += 1
        whole = self.whole.derivative(node, place, x, at)
        if whole is None:
            return
        if not agree(self.context, adjoint.value, whole, adjoint.error, self.digits):
            raise VerificationError(
                f"{name}: the two exact derivatives disagree: the chain rule gives "
                f"{self.context.nstr(adjoint.value, 20)}, SymPy's derivative of the whole "
                f"expression {self.context.nstr(whole, 20)}. One of the formulas in the op "
                "records is not what it says; this is a mistake in symgrad, please report it"
            )
        tally.confirmed += 1
        tally.enclosed += self.whole.encloses(
            node, place, x, at, self.context.nstr(adjoint.value, self.digits)
        )

    # ---------------------------------------------------------------- bookkeeping

    def _enter(self, tally: Tally, node: Node, scalar: Scalar, entry: Entry) -> None:
        if not entry.allowed and tally.culprit is None:
            tally.culprit = node.where, scalar
        tally.entries.append(entry)


def _check(tally: Tally) -> Check:
    return summarize(tally.name, tally.entries, tally.zeros, tally.total, tally.confirmed)


def _message(report: Report, check: Check, line: Any, reason: str | None) -> str:
    worst = check.worst
    assert worst is not None
    what = "the value" if check.name == "value" else f"the derivative by {check.name}"
    made = f" (computed at {line})" if line else ""
    return (
        f"{what} is wrong: {worst.place}{made} is {worst.exact}, but the kernel gives "
        f"{worst.computed!r}, {worst.ulp:.3g} ulp off; at this point, with condition number "
        f"{worst.condition:.3g}, {tolerance(worst.condition, report.limit):.3g} ulp are allowed."
        + (f" Look at this: {reason}." if reason else "")
        + f"\n{report}"
    )


def sampled(node: Node, samples: int) -> list[tuple[int, ...]]:
    """Return up to ``samples`` places of a node's elements: all, or first, last and others.

    The choice is the same every time.
    """
    shape = tuple(map(int, node.shape))
    total = math.prod(shape)
    if total <= samples:
        return list(np.ndindex(*shape))
    chosen = np.random.default_rng(0).permutation(total)[:samples]
    chosen = dict.fromkeys([0, total - 1, *chosen.tolist()])
    return [tuple(map(int, np.unravel_index(c, shape))) for c in list(chosen)[:samples]]
