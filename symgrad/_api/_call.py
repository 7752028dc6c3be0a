"""A call for example arguments: what is traced of it, and the names of arguments and arrays."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import sympy as sp

from .._capture._captures import Captures
from .._capture._nondeterminism import no_draws
from .._core.base.argument_checks import refuse_kernel
from .._core.base.signals import foreseen
from .._core.base.state import within
from .._core.control import straight
from .._core.program import concrete
from .._core.trace import (
    Examples,
    Graph,
    Tree,
    argument_names,
    argument_paths,
    as_input,
    as_leaves,
    flatten,
    signature_of,
    trace,
)
from .._dispatch import adapted
from ..errors import ArgumentError
from ._equalities import beside_points

#: How many functions deep arrays are looked for.
DEPTH = 3


class Call:
    """A function's call for example arguments: its graph, and which input is which leaf.

    Parameters
    ----------
    read:
        What is read of it, as :class:`symgrad._core.base.state.State` has it.

    Attributes
    ----------
    leaves, tree:
        The arguments, flat, and the structure of ``(args, kwargs)``.
    names:
        An identifier for each leaf.
    graph:
        The traced graph, before any pass, its loops and branches written out as the example
        call goes through them.
    inputs:
        ``inputs[k]`` is the number of the graph's input for leaf ``k``, or None.
    """

    def __init__(
        self, f: Callable[..., Any], args: Sequence[Any], *, dynamic: bool, read: str = "",
        exact: bool = False,
    ) -> None:  # fmt: skip
        refuse_kernel(f, "this")
        if not callable(f):
            said = f"a function is needed, not {type(f).__name__}"
            if isinstance(f, str | sp.Basic):
                formula = "sg.parse(text)" if isinstance(f, str) else "expression"
                said += f": of a formula make one by sg.from_sympy({formula}, names)"
            raise ArgumentError(said)
        raw, self.tree = flatten((tuple(args), {}))
        self.leaves = as_leaves(raw, f, args, {})
        signature, sizes = signature_of(
            self.leaves, self.tree, dynamic, paths=lambda: argument_paths(f, args, {})
        )
        self.names = argument_names(f, args, {})
        values = [
            as_input(x) for x, k in zip(self.leaves, signature.leaves, strict=True) if k.is_value
        ]
        examples = Examples(values, concrete)
        with within(reading=read) if read else nullcontext():
            graph, self.function = _traced(
                f,
                lambda f: trace(
                    beside_points(f) if exact else f, signature, sizes, self.names, examples
                ),
            )
        written = tuple(straight(graph.outputs, examples))
        conditions = tuple(examples.conditions)  # of loops and branches, too
        self.graph: Graph = replace(graph, outputs=written, conditions=conditions)
        traced = [k.is_value for k in signature.leaves]
        numbers = iter(range(len(self.graph.inputs)))
        self.inputs = [next(numbers) if flag else None for flag in traced]

    def argument(self, wrt: Any) -> tuple[Tree, list[int]]:
        """Return the structure of an argument and the numbers of its leaves."""
        if not isinstance(wrt, (int, str)) or isinstance(wrt, bool):
            raise ArgumentError(
                f"one argument at a time, by its position or its name, not {wrt!r:.60}; several, "
                "and their mixed derivatives, are printed by sg.formula(f, *args, wrt=('x', 'y'))"
            )
        trees = self.tree.children[0].children
        starts = [sum(t.leaves for t in trees[:k]) for k in range(len(trees))]
        if isinstance(wrt, str):
            parameters = argument_names(self.function, [0.0] * len(trees), {})
            if wrt not in parameters:
                raise ArgumentError(f"no argument is called {wrt!r}: {', '.join(parameters)}")
            wrt = parameters.index(wrt)
        if not -len(trees) <= wrt < len(trees):
            raise ArgumentError(
                f"wrt={wrt}, but the function was called with {len(trees)} arguments"
            )
        k = wrt % len(trees)
        return trees[k], list(range(starts[k], starts[k] + trees[k].leaves))

    def real(self, leaf: int) -> bool:
        """Tell whether a leaf is a real input."""
        number = self.inputs[leaf]
        return number is not None and self.graph.inputs[number].dtype.kind == "f"


def _traced(
    f: Callable[..., Any], run: Callable[[Callable[..., Any]], Graph]
) -> tuple[Graph, Callable[..., Any]]:
    """Return the graph of a function, and the function, adapted if it has to be for that."""
    captures = Captures((lambda f: SimpleNamespace(_body=f), (f,), {}))
    while True:
        reading, _ = captures.now(frozen=True)
        body = functools.update_wrapper(
            captures.substituted(f, reading, writes=False), f, updated=()
        )
        try:
            with no_draws(reading.generators, reading.codes):
                graph = run(body)
        except foreseen(Exception) as error:  # of the user's function: another way may follow it
            if not captures.fallback(reading, error):
                raise
            continue
        way = captures.way
        return graph, adapted(f, way.packages) if way.adapted else f


def arrays_read_by(f: Callable[..., Any]) -> dict[str, Any]:
    """Return the arrays in a function's closure and among its globals, by name.

    Parameters
    ----------
    f:
        A function; of other callables nothing is known.

    Examples
    --------
    >>> import numpy as np
    >>> weights = np.ones(3)
    >>> arrays_read_by(lambda x: weights @ x)
    {'weights': array([1., 1., 1.])}
    """
    found: dict[str, Any] = {}
    waiting: list[tuple[Any, int]] = [(inspect.unwrap(f), 0)]
    seen = set()
    while waiting:
        function, depth = waiting.pop(0)
        if not isinstance(function, FunctionType) or function.__code__ in seen:
            continue
        seen.add(function.__code__)
        for name, value in _around(function):
            if isinstance(value, np.ndarray):
                found.setdefault(name, value)
            elif depth < DEPTH:
                waiting.append((value, depth + 1))
    return found


def _around(function: FunctionType) -> Iterator[tuple[str, Any]]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        try:
            yield name, cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield name, function.__globals__[name]
