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
from ._expansion import Adjoint, Expansion, Pulled, TooLargeError, pull
from ._numbers import Digits, finite
from ._report import Check, Report, summarize
from ._scalars import Scalar
from ._whole import Whole, agree

#: Digits beyond those asked for, against cancellation between operations.
GUARD = 15
#: Steps of the chain rule after which no further result element is begun.
EFFORT = 400_000
#: Entries that whole-expression differentiation is tried on, and the largest number of
#: scalar operations behind a result element for which it is.
WHOLES, SMALL = 12, 40


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
) -> tuple[list[list[Entry]], list[int]]:
    """Return the compared entries: of the value, and of the derivatives by each input.

    With them, for each, how many exact values ball arithmetic has confirmed.

    Raises
    ------
    VerificationError
        As :func:`certify` does.
    """
    certifier = _Certifier(problem, digits, samples, limit)
    certifier.run()
    tallies = [certifier.value, *certifier.slopes]
    return [t.entries for t in tallies], [t.enclosed for t in tallies]


class _Certifier:
    def __init__(self, problem: Problem, digits: int, samples: int, limit: float) -> None:
        self.problem, self.digits, self.samples, self.limit = problem, digits, samples, limit
        self.context = Digits(digits + GUARD)
        self.expansion = Expansion(self.context, problem.inputs, set(problem.wrt))
        self.whole = Whole(problem.inputs, digits)
        outputs = sum(math.prod(map(int, y.shape)) for y in problem.outputs)
        self.value = _Tally("value", outputs)
        self.slopes = [_Tally(x.name, outputs * math.prod(map(int, x.shape))) for x in problem.wrt]
        self.effort, self.wholes, self.notes = 0, 0, dict[str, None]()

    def run(self) -> Report:
        for k, node in enumerate(self.problem.outputs):
            for done, place in enumerate(sampled(node, self.samples)):
                if self.effort > EFFORT and done:
                    break
                try:
                    scalar = self.expansion.scalar(node, place)
                except TooLargeError:
                    if not done:
                        raise
                    break
                self._row(k, node, place, scalar)
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

    def _row(self, k: int, node: Node, place: tuple[int, ...], scalar: Scalar) -> None:
        label = self._label(k, place)
        computed = np.asarray(self.problem.values[k])[place]
        self._enter(self.value, node, scalar, compare(
            self.context, label, computed, scalar.value, scalar.error, self.limit, self.digits,
            doubtful=scalar.doubtful,
        ))  # fmt: skip
        if not self.slopes:
            return
        pulled = self._pulled(scalar)
        self.effort += pulled.visited
        # SymPy's derivative of the whole expression knows nothing of what is held constant.
        small = pulled.visited <= SMALL and not pulled.held
        found: dict[Node, dict[tuple[int, ...], Adjoint]] = {x: {} for x in self.problem.wrt}
        for leaf, adjoint in pulled.adjoints.items():
            source, at = leaf.source
            found[source][at] = adjoint
        rows = self.problem.row(k, place)
        for tally, x, row in zip(self.slopes, self.problem.wrt, rows, strict=True):
            self._slopes(tally, (label, node, place, scalar), x, np.asarray(row), found[x], small)

    def _pulled(self, scalar: Scalar) -> Pulled:
        """Differentiate also what is held constant, if no result depends on it."""
        constant = pull(self.context, scalar, through=False)
        if not constant.held:
            return constant
        through = pull(self.context, scalar, through=True)
        same = through.adjoints.keys() >= constant.adjoints.keys() and all(
            self._same(a, constant.adjoints.get(leaf)) for leaf, a in through.adjoints.items()
        )
        if not same:
            self.notes["what the function holds constant was held constant (StopGradient)"] = None
        through.held = False
        return through if same else constant

    def _same(self, a: Adjoint, b: Adjoint | None) -> bool:
        other, error = (b.value, b.error) if b is not None else (0, 0)
        if not finite(a.value):
            return bool(a.value == other)
        slack = self.context.mpf(10) ** (-self.digits // 2)
        return bool(abs(a.value - other) <= slack * (abs(a.value) + a.error + error))

    def _slopes(
        self, tally: _Tally, of: tuple[str, Node, tuple[int, ...], Scalar], x: Input,
        row: np.ndarray[Any, Any], found: dict[tuple[int, ...], Adjoint], small: bool,
    ) -> None:  # fmt: skip
        label, node, place, scalar = of
        stray = np.asarray(row != 0)  # nan is not 0 either
        pole = not finite(scalar.value)
        for at, adjoint in found.items():
            stray[at] = False
            name = f"d {label} / d {x.name}{_index(at)}"
            entry = compare(
                self.context, name, row[at], adjoint.value, adjoint.error, self.limit,
                self.digits, doubtful=scalar.doubtful, kink=adjoint.convention or pole,
            )  # fmt: skip
            self._enter(tally, node, scalar, entry)
            if small and self.wholes < WHOLES and not (entry.kink or scalar.doubtful):
                self._second_opinion(tally, name, node, place, x, at, adjoint)
        tally.zeros += row.size - len(found)
        for at in map(tuple, np.argwhere(stray)):
            tally.zeros -= 1
            self._enter(tally, node, scalar, compare(
                self.context, f"d {label} / d {x.name}{_index(at)}", row[at],
                self.context.zero, self.context.zero, self.limit, self.digits,
                doubtful=scalar.doubtful,
            ))  # fmt: skip
            if len(tally.entries) > 10_000:
                break

    def _second_opinion(
        self, tally: _Tally, name: str, node: Node, place: tuple[int, ...], x: Input,
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
