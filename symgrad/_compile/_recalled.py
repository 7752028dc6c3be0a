"""A function whose kernel was known before its derivative was taken."""

from __future__ import annotations

from collections.abc import Callable

from .._forks import cached_property
from .._schedule import Program
from .._trace import Graph, Signature
from ._loading import loaded_code
from ._recall import Known
from ._specialization import Specialization


class Recalled(Specialization):
    """One whose kernel was known by the user's function; the rest is made when asked for.

    ``retrace`` traces it to the end.
    """

    def __init__(
        self, known: Known, retrace: Callable[[], Graph], signature: Signature, threads: int
    ) -> None:
        self.recall, self._retrace = None, retrace
        self._prepare(known.layout, signature, True, threads, promised=False)
        self._result(known.tree, known.leaves, known.ranks)
        self.conditions, self.calls_back = (), False
        # Its code may be for more sizes than the note says, so calls are to go straight to it.
        self.called = True
        self._admission = known.admission
        self.entry, self._function = known.entry, loaded_code(known.entry.code, threads)

    @cached_property
    def graph(self) -> Graph:  # type: ignore[override]  # only read
        """The graph, traced again."""
        return self._retrace()

    @cached_property
    def program(self) -> Program:  # type: ignore[override]  # only read
        """The program that the kernel was made of."""
        return self._programmed(self.graph)

    @property
    def admission(self) -> Program:
        """A program with the guards."""
        return self._admission
