"""The random numbers of a call: drawn before its program runs, and given to it.

Machine code may turn out to be for other calls only once it has run. Then the generators are set
back to where they were, and another program draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .._core.program import Program
from .._core.runtime import MISS
from .._core.trace import Drawn, Repeated, carry_out, planned, put_back, sizes_by, state_of


class Drawing:
    """Makes the draws of a program in each call.

    Parameters
    ----------
    drawn:
        The draws of its trace.
    takes:
        Which leaves of a call it takes: its inputs, and generators.
    generators:
        Which of all leaves are generators, and of which class.
    program:
        A program with the inputs and the guards.
    decides:
        Whether it knows at its end only whether a call is for it.
    """

    def __init__(
        self, drawn: Drawn, takes: Sequence[int], generators: dict[int, type], program: Program,
        decides: bool,
    ) -> None:  # fmt: skip
        self._makes, self._program, self._decides = planned(drawn.steps), program, decides
        #: The first line that draws; None if none does.
        self.where = first_line(drawn.steps)
        places = {leaf: k for k, leaf in enumerate(takes)}
        self._kinds = [(places[leaf], kind) for leaf, kind in generators.items()]
        self._count = len(takes)
        self._values = [places[leaf] for leaf in takes if leaf not in generators]
        #: Of each generator its place among the values of a call, or the object.
        self._sources = [
            (places[x], None) if type(x) is int else (-1, x) for x in drawn.sources
        ]  # fmt: skip
        inputs = program.inputs[: len(self._values)]
        self._inputs = list(zip(self._values, inputs, strict=True))
        self._sizes = {
            symbol: (self._values[k], axis) for symbol, (k, axis) in program.sizes.items()
        }
        known: dict[tuple[int, int | None], Any] = {
            (source, axis): symbol for symbol, (source, axis) in self._sizes.items()
        }
        dims: list[tuple[int, int | None, Any]] = [
            (k, axis, d) for k, node in self._inputs for axis, d in enumerate(node.shape)
        ]
        dims += [(k, None, node.dim) for k, node in self._inputs if node.dim is not None]
        #: Sizes that follow from others: of a value the axis, or None for the value itself.
        self._equal = [(k, axis, d) for k, axis, d in dims if known.get((k, axis)) != d]

        #: The values that have sizes, each with its rank, or None if it is a size.
        self._sized = [
            (k, None if node.dim is not None else node.ndim)
            for k, node in self._inputs if node.shape or node.dim is not None
        ]  # fmt: skip
        #: The sizes of the last call, and what became of them.
        self._latest: tuple[Any, dict[Any, int] | None] = None, None

    def _fits(self, values: Sequence[Any]) -> bool:
        """Tell whether values are what machine code takes as they are."""
        for place, kind in self._kinds:
            if type(values[place]) is not kind:
                return False
        for place, node in self._inputs:
            value = values[place]
            if node.shape:
                if type(value) is not np.ndarray or value.dtype != node.dtype:
                    return False
                if value.ndim != node.ndim or not value.flags.carray:
                    return False
            elif node.dim is not None:
                if type(value) is not int:
                    return False
            elif not isinstance(value, (float, np.generic)):
                return False
        return True

    def sizes(self, values: Sequence[Any]) -> dict[Any, int] | None:
        """Return the sizes of a call; None if the program is not for them."""
        key = [values[k] if axes is None else values[k].shape for k, axes in self._sized]
        known, found = self._latest  # in one step: other threads may put others there
        if key != known:
            found = self._admitted(values)
            self._latest = key, found
        return found

    def _admitted(self, values: Sequence[Any]) -> dict[Any, int] | None:
        """Return the sizes of a call; None if a guard does not hold for them."""
        found = {}
        for symbol, (place, axis) in self._sizes.items():
            value = values[place]
            size = int(value) if axis is None else value.shape[axis]
            if size < 2:
                return None
            found[symbol] = size
        number = sizes_by(found)
        for place, axis, dim in self._equal:
            size = values[place] if axis is None else values[place].shape[axis]
            if size != (dim if isinstance(dim, int) else number(dim)):
                return None
        return found if not self._program.guards or self._program.admit(found) else None

    def _generators(self, values: Sequence[Any]) -> list[Any]:
        return [x if place < 0 else values[place] for place, x in self._sources]

    def states(self, values: Sequence[Any]) -> States:
        """Return the states in which the generators of a call are now."""
        return States(self._generators(values))

    def given(self, values: Sequence[Any], sizes: dict[Any, int]) -> list[Any]:
        """Return the inputs of the program, drawn ones behind the others."""
        drawn = carry_out(self._makes, self._generators(values), sizes_by(sizes))
        return [*[values[k] for k in self._values], *drawn]

    def inputs(self, values: Sequence[Any]) -> list[Any]:
        """Return the inputs of the program for a call whose kind it is for."""
        sizes = self.sizes(values)
        assert sizes is not None
        return self.given(values, sizes)

    def looked_at(self, values: Sequence[Any], test: Callable[[list[Any]], bool]) -> bool:
        """Return what a test says of the inputs; the generators stay as they are."""
        sizes = self.sizes(values)
        if sizes is None:
            return False
        before = self.states(values)
        try:
            return test(self.given(values, sizes))
        finally:
            before.put_back()

    def before(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of a call's values, generators among them, and of arrays to write to.

        ``function`` takes the inputs of the program.
        """
        count, decides = self._count, self._decides

        def call(*values: Any) -> Any:
            if len(values) < count or not self._fits(values):
                return MISS
            sizes = self.sizes(values)
            if sizes is None:
                return MISS
            rest = values[count:]
            # Arrays to write to may be of a kind that machine code does not take.
            before = self.states(values) if decides or rest else None
            result = function(*self.given(values, sizes), *rest)
            if result is MISS and before is not None:
                before.put_back()
            return result

        return call


def first_line(steps: Sequence[Any]) -> Any:
    """Return the line of the first draw; None if there is none."""
    if not steps:
        return None
    first = steps[0]
    while isinstance(first, Repeated):
        first = first.steps[0]
    return first.where or "in a line that is not known"


class States:
    """The states of generators at a time."""

    def __init__(self, generators: Iterable[Any]) -> None:
        self._states = [(x, state_of(x)) for x in {id(x): x for x in generators}.values()]

    def now(self) -> States:
        """Return the states of the same generators now."""
        return States(x for x, _ in self._states)

    def put_back(self) -> None:
        """Set the generators to these states."""
        for generator, state in self._states:
            put_back(generator, state)

    def moved(self) -> bool:
        """Tell whether a generator is in another state."""
        return any(not _same(state_of(x), state) for x, state in self._states)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    if isinstance(a, np.ndarray):
        return bool(np.array_equal(a, b))
    return bool(a == b)
