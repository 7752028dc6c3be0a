"""Right-hand sides as functions of time and state alone: traced once, compiled once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import numpy as traced_numpy
from .._core.base.signals import foreseen
from .._core.control import Branch, close, in_arrays, result
from .._core.graph import Body, Input, Node
from .._core.trace import Traced, as_node, attempt, substitute
from .._syntax._raise_masks import raising
from ..errors import ArgumentError, ShapeError, TraceError
from ._ode_steps import length
from ._ode_structure import Slope

#: From so many steps on a right-hand side is called. Of fewer, what is around is faster if it
#: has them at hand, by a fifth for a hundred, and they are compiled soon.
LONG = 300


#: What SciPy's solvers make of it depends on the method, and on where its steps end.
_WRITES = (
    "the right-hand side writes to the state that it is given, which is the solver's own. Write "
    "instead: y = y.copy() before it, or np.maximum, np.where, np.concatenate"
)


class RightHandSide:
    """What a user's function gives, of the state's shape.

    It is traced once: steps, their derivatives and the first one's length ask for it again and
    again, and its graph with another time and state in it takes a sixth of the time.

    Called, a long one is one step of the program with a body, and those of all calls are equal, so
    what the compiler makes of it is made once: of seven bodies that attract each other the first
    call takes three quarters. :meth:`inline` is for derivatives, which look at what it does.

    Parameters
    ----------
    fun, args, vectorized:
        As SciPy's ``solve_ivp`` takes them.
    """

    def __init__(
        self, fun: Callable[..., Any], args: tuple[Any, ...], vectorized: bool = False
    ) -> None:
        # Here, as what a program holds has to be the user's own code: tracing adapts that.
        self.fun, self.args, self.vectorized = raising(fun), args, vectorized
        #: By the kinds of time and state; None: it is not to be traced by itself.
        self.graphs: dict[Any, _Graph | None] = {}

    def __call__(self, t: Any, y: Any) -> Any:
        """Return the slope, of a long program by a call."""
        graph = self._graph(t, y)
        if graph is None:
            return self._traced(t, y)
        return graph.inline(t, y) if graph.body is None else graph.called(t, y)

    def inline(self, t: Any, y: Any) -> Any:
        """Return the slope, of steps of the program around."""
        graph = self._graph(t, y)
        return self._traced(t, y) if graph is None else graph.inline(t, y)

    def _graph(self, t: Any, y: Any) -> _Graph | None:
        if not isinstance(y, Traced):
            return None
        kinds = tuple((x.shape, x.dtype) for x in (as_node(t), y.node))
        if kinds not in self.graphs:
            self.graphs[kinds] = _opened(self._traced, kinds)
        return self.graphs[kinds]

    def _traced(self, t: Any, y: Any) -> Any:
        before = y.node if isinstance(y, Traced) else None
        found = self.fun(t, y[:, np.newaxis] if self.vectorized else y, *self.args)
        if found is None:  # which is nan in NumPy, and SciPy would look for a step for ever
            raise TypeError("the right-hand side returns None: is its `return` missing?")
        found = traced_numpy.asarray(found)
        if self.vectorized:
            found = np.reshape(found, (-1,))
        if before is not None and y.node is not before:
            raise TraceError(_WRITES)
        if found.ndim == 0:
            found = np.broadcast_to(found, y.shape)
        if found.ndim != 1:
            raise ShapeError(
                f"the right-hand side has shape {found.shape} for a state of shape {y.shape}"
            )
        if found.dtype.kind == "c" and y.dtype.kind != "c":
            raise ArgumentError(
                "the right-hand side is complex and the state is real: pass y0 as complex numbers"
            )
        if found.shape != y.shape:
            found = found + 0 * y  # of another length: NumPy's error
        return found.astype(y.dtype)


class _Graph:
    """The graph of a right-hand side, and of a long one the body that its calls share."""

    def __init__(self, inputs: list[Input], found: Node) -> None:
        self.inputs, self.found = inputs, found
        self.body: Body | None = None
        self.captured: tuple[Node, ...] = ()
        if length(Traced(found), *map(Traced, inputs)) >= LONG:
            closed = close(inputs, [found])
            self.body = Body((*closed.inputs, *closed.stand_ins), closed.outputs)
            self.captured = closed.captured

    def inline(self, t: Any, y: Any) -> Any:
        given = dict(zip(self.inputs, (as_node(t), as_node(y)), strict=True))
        return Traced(*substitute([self.found], given))

    def called(self, t: Any, y: Any) -> Any:
        assert self.body is not None
        given = as_node(t), as_node(y), *self.captured
        call = Branch(as_node(0), given, (self.body,), kept=True)
        return Traced(result(call.node(), 0))


def _opened(slope: Slope, kinds: Sequence[Any]) -> _Graph | None:
    """Return a right-hand side's graph; None if it is not to be traced by itself.

    Then it decides by numbers, or is wrong.
    """
    inputs = [Input(name, *kind) for name, kind in zip("ty", kinds, strict=True)]
    t, y = map(Traced, inputs)
    try:
        with attempt():
            found = as_node(slope(t, y))
    except foreseen(Exception):  # told by the call that is not by itself
        return None
    return _Graph(inputs, *in_arrays([found]))  # before stages and derivatives are made of it
