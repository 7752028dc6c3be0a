"""Comparing a kernel's results for one element with exact values and derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from .._core.graph import Input, Node
from ._compare import Entry, compare
from ._exact import Exact
from ._expansion import Adjoint
from ._numbers import finite, is_nan
from ._scalars import Scalar

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
class Tally:
    """The entries of one check."""

    name: str
    total: int
    entries: list[Entry] = field(default_factory=list)
    zeros: int = 0
    confirmed: int = 0
    enclosed: int = 0
    culprit: tuple[Any, Scalar] | None = None  # line and scalar of the first wrong entry


@dataclass
class Compared:
    """The comparisons of one result element: its value, and its derivatives.

    ``endless`` says whether an exact value is infinite or nan, which digits may be missing for.
    ``unknown`` are the scalars (its own, and input elements that it is differentiated by) for
    which it is nan, while the kernel has a number. ``zeros`` counts for each input the
    derivatives that are 0 as they should; ``opinions`` are derivatives that a second opinion may
    be asked about.
    """

    exact: Exact
    endless: bool
    entries: list[tuple[Tally, Entry]] = field(default_factory=list)
    unknown: list[Scalar] = field(default_factory=list)
    zeros: list[int] = field(default_factory=list)
    opinions: list[tuple[Tally, str, Input, tuple[int, ...], Adjoint]] = field(default_factory=list)

    @property
    def doubt(self) -> bool:
        """Whether more digits could tell otherwise."""
        return self.endless or not all(entry.allowed for _, entry in self.entries)


class Comparison:
    """Compares elements of a problem's results, given their exact values.

    Parameters
    ----------
    problem:
        What is to be compared.
    value, slopes:
        What the entries are of: the values, and the derivatives by each input.
    limit, digits:
        The error in ulp that is allowed; digits of the exact values in the entries.
    """

    def __init__(
        self, problem: Problem, value: Tally, slopes: Sequence[Tally], limit: float, digits: int
    ) -> None:
        self.problem, self.value, self.slopes = problem, value, slopes
        self.compare = partial(compare, limit=limit, digits=digits)

    def of(self, k: int, place: tuple[int, ...], exact: Exact) -> Compared:
        """Compare element ``place`` of result ``k``."""
        label, scalar = self._label(k, place), exact.scalar
        found = Compared(exact, endless=not finite(exact.value))
        entry = self.compare(
            exact.context, label, np.asarray(self.problem.values[k])[place], exact.value,
            scalar.error, doubtful=scalar.doubtful,
        )  # fmt: skip
        found.entries.append((self.value, entry))
        if is_nan(exact.value) and entry.ulp:
            found.unknown.append(scalar)
        if self.slopes:
            slopes = self.problem.row(k, place)
            for tally, x, slope in zip(self.slopes, self.problem.wrt, slopes, strict=True):
                self._slopes(found, label, tally, x, np.asarray(slope))
        return found

    def _slopes(
        self, found: Compared, label: str, tally: Tally, x: Input, slope: np.ndarray[Any, Any]
    ) -> None:
        exact, doubtful = found.exact, found.exact.scalar.doubtful
        known = {y.source[1]: (y, a) for y, a in exact.adjoints.items() if y.source[0] is x}
        stray = np.asarray(slope != 0)  # nan is not 0 either
        for at, (leaf, adjoint) in known.items():
            stray[at] = False
            name = f"d {label} / d {x.name}{index_text(at)}"
            entry = self.compare(
                exact.context, name, slope[at], adjoint.value, adjoint.error,
                doubtful=doubtful, kink=adjoint.convention or not finite(exact.value),
            )  # fmt: skip
            found.entries.append((tally, entry))
            found.endless |= not finite(adjoint.value)
            if is_nan(adjoint.value) and entry.ulp:
                found.unknown.append(leaf)
            if not (entry.kink or doubtful):
                found.opinions.append((tally, name, x, at, adjoint))
        found.zeros.append(slope.size - len(known) - int(np.count_nonzero(stray)))
        zero = exact.context.zero
        for at in map(tuple, np.argwhere(stray)[:STRAY]):
            name = f"d {label} / d {x.name}{index_text(at)}"
            entry = self.compare(exact.context, name, slope[at], zero, zero, doubtful=doubtful)
            found.entries.append((tally, entry))

    def _label(self, k: int, place: tuple[int, ...]) -> str:
        number = f"[{k}]" if len(self.problem.outputs) > 1 else ""
        return f"{self.problem.name}{number}{index_text(place)}"


def index_text(place: Sequence[Any]) -> str:
    """Return a place as it is written behind a name: ``[1, 2]``, or nothing."""
    return f"[{', '.join(str(int(i)) for i in place)}]" if len(place) else ""
