"""Comparing a kernel's results with the exact ones, entry by entry."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._graph import Input, Node
from ..errors import VerificationError
from ._blame import suspect
from ._compare import Entry, compare, tolerance
from ._exact import Exact, Exactness
from ._expansion import Adjoint, TooLargeError
from ._numbers import finite, is_nan
from ._report import Check, Report, summarize
from ._scalars import Scalar
from ._whole import Whole, agree

#: Steps of the chain rule after which no further result element is begun.
EFFORT = 400_000
#: Entries that whole-expression differentiation is tried on, and the largest number of
#: scalar operations behind a result element for which it is.
WHOLES, SMALL = 12, 40
#: Result elements that are looked at with more digits, if the first ones leave a doubt, and the
#: most steps of the chain rule behind them.
DEEPER, DEEP = 16, 2000
#: Derivatives by what a result does not depend on that are reported, if they are not 0.
STRAY = 10_000


@dataclass
class Problem:
    """What is to be compared.

    Attributes
    ----------
    name:
        Of the function.
    inputs:
        The graph's inputs and their values.
    wrt:
        The inputs to differentiate by.
    outputs:
        The real results, as nodes of the graph before any pass.
    values:
        The kernel's results.
    row:
        ``row(k, place)`` gives the kernel's derivatives of element ``place`` of result
        ``k``: one array for each of ``wrt``, with its shape.
    """

    name: str
    inputs: dict[Node, np.ndarray[Any, Any]]
    wrt: Sequence[Input]
    outputs: Sequence[Node]
    values: Sequence[np.ndarray[Any, Any]]
    row: Callable[[int, tuple[int, ...]], Sequence[np.ndarray[Any, Any]]]


@dataclass
class _Tally:
    """The entries of one check."""

    name: str
    total: int
    entries: list[Entry] = field(default_factory=list)
    zeros: int = 0
    confirmed: int = 0
    enclosed: int = 0
    culprit: tuple[Any, Scalar] | None = None  # line and scalar of the first wrong entry


@dataclass
class _Row:
    """The comparisons of one result element: its value, and its derivatives.

    ``endless`` says whether an exact value is infinite or nan, which digits may be missing for.
    ``unknown`` are the scalars (its own, and input elements that it is differentiated by) for
    which it is nan, while the kernel has a number. ``zeros`` counts for each input the
    derivatives that are 0 as they should; ``opinions`` are derivatives that a second opinion may
    be asked about.
    """

    exact: Exact
    endless: bool
    entries: list[tuple[_Tally, Entry]] = field(default_factory=list)
    unknown: list[Scalar] = field(default_factory=list)
    zeros: list[int] = field(default_factory=list)
    opinions: list[tuple[_Tally, str, Input, tuple[int, ...], Adjoint]] = field(
        default_factory=list
    )

    @property
    def doubt(self) -> bool:
        """Whether more digits could tell otherwise."""
        return self.endless or not all(entry.allowed for _, entry in self.entries)


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
        self.value = _Tally("value", outputs)
        self.slopes = [_Tally(x.name, outputs * math.prod(map(int, x.shape))) for x in problem.wrt]
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
        row = self._compared(k, node, place, exact)
        if row.doubt and self.deeper and exact.visited <= DEEP:
            self.deeper -= 1
            for deeper in self.exactness.deeper(node, place):
                again = self._compared(k, node, place, deeper)
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
        # SymPy's derivative of the whole expression knows nothing of what is held constant.
        if row.exact.visited <= SMALL and not row.exact.pulled_held:
            for opinion in row.opinions:
                if self.wholes < WHOLES:
                    self._second_opinion(node, place, *opinion)

    def _at_limits(self, k: int, node: Node, place: tuple[int, ...], row: _Row) -> _Row:
        """Take limits for what comes out as 0/0, where the kernel has a number."""
        if not row.unknown:
            return row
        again = self._compared(
            k, node, place, self.exactness.limits(node, place, row.exact, row.unknown)
        )
        if all(entry.allowed for _, entry in again.entries):
            self.notes["where formulas are 0/0, exact values are limits of those beside"] = None
        return again

    def _compared(self, k: int, node: Node, place: tuple[int, ...], exact: Exact) -> _Row:
        label, scalar = self._label(k, place), exact.scalar
        row = _Row(exact, endless=not finite(exact.value))
        row.entries.append((self.value, compare(
            exact.context, label, np.asarray(self.problem.values[k])[place], exact.value,
            scalar.error, self.limit, self.digits, doubtful=scalar.doubtful,
        )))  # fmt: skip
        if is_nan(exact.value) and row.entries[0][1].ulp:
            row.unknown.append(scalar)
        if self.slopes:
            slopes = self.problem.row(k, place)
            for tally, x, slope in zip(self.slopes, self.problem.wrt, slopes, strict=True):
                self._slopes(row, label, tally, x, np.asarray(slope))
        return row

    def _slopes(
        self, row: _Row, label: str, tally: _Tally, x: Input, slope: np.ndarray[Any, Any]
    ) -> None:
        exact, scalar = row.exact, row.exact.scalar
        found = {y.source[1]: (y, a) for y, a in exact.adjoints.items() if y.source[0] is x}
        stray = np.asarray(slope != 0)  # nan is not 0 either
        for at, (leaf, adjoint) in found.items():
            stray[at] = False
            name = f"d {label} / d {x.name}{_index(at)}"
            entry = compare(
                exact.context, name, slope[at], adjoint.value, adjoint.error, self.limit,
                self.digits, doubtful=scalar.doubtful,
                kink=adjoint.convention or not finite(exact.value),
            )  # fmt: skip
            row.entries.append((tally, entry))
            row.endless |= not finite(adjoint.value)
            if is_nan(adjoint.value) and entry.ulp:
                row.unknown.append(leaf)
            if not (entry.kink or scalar.doubtful):
                row.opinions.append((tally, name, x, at, adjoint))
        row.zeros.append(slope.size - len(found) - int(np.count_nonzero(stray)))
        for at in map(tuple, np.argwhere(stray)[:STRAY]):
            row.entries.append((tally, compare(
                exact.context, f"d {label} / d {x.name}{_index(at)}", slope[at],
                exact.context.zero, exact.context.zero, self.limit, self.digits,
                doubtful=scalar.doubtful,
            )))  # fmt: skip

    def _second_opinion(
        self, node: Node, place: tuple[int, ...], tally: _Tally, name: str, x: Input,
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

    def _enter(self, tally: _Tally, node: Node, scalar: Scalar, entry: Entry) -> None:
        if not entry.allowed and tally.culprit is None:
            tally.culprit = node.where, scalar
        tally.entries.append(entry)

    def _label(self, k: int, place: tuple[int, ...]) -> str:
        number = f"[{k}]" if len(self.problem.outputs) > 1 else ""
        return f"{self.problem.name}{number}{_index(place)}"


def _check(tally: _Tally) -> Check:
    return summarize(tally.name, tally.entries, tally.zeros, tally.total, tally.confirmed)


def _index(place: Sequence[Any]) -> str:
    return f"[{', '.join(str(int(i)) for i in place)}]" if len(place) else ""


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
