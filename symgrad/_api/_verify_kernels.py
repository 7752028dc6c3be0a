"""What verification compares: the compiled value and derivatives of a call."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.graph import Node
from .._core.trace import Traced, collect, flatten, is_complex
from .._dispatch import Function
from .._verify import Problem
from ..errors import ArgumentError, UnsupportedError
from ._at_values import vjp
from ._call import Call
from ._matrices import jacobian
from ._transforms import compile, value_and_grad

#: Jacobians with more entries than this are computed row by row.
ENTRIES = 1_000_000


def name_of(f: Callable[..., Any]) -> str:
    """Return what a function is called in reports."""
    return str(getattr(f, "__name__", "f")).replace("<lambda>", "f")


def real_outputs(call: Call) -> list[Node]:
    """Return the real results of a call, as nodes; raises if there are none."""
    outputs = [n for n in call.graph.outputs if n.dtype.kind == "f"]
    if not outputs:
        raise ArgumentError("verify needs a function with a real result; it returned none")
    return outputs


def inputs_of(call: Call) -> dict[Node, np.ndarray[Any, Any]]:
    """Return the values of the inputs of a call's graph."""
    return {
        call.graph.inputs[number]: np.asarray(leaf, call.graph.inputs[number].dtype)
        for leaf, number in zip(call.leaves, call.inputs, strict=True)
        if number is not None
    }


def problem_of(call: Call, chosen: Sequence[int], kernels: Kernels) -> Problem:
    """Return what is compared at a call's arguments."""
    values, row = kernels.at(call.leaves)
    return Problem(
        name_of(call.function),
        inputs_of(call),
        [call.graph.inputs[call.inputs[k]] for k in chosen],  # type: ignore[index]
        real_outputs(call),
        values,
        row,
    )


def chosen_leaves(call: Call, wrt: Any) -> list[int]:
    """Return the argument leaves to differentiate by."""
    if any(map(is_complex, call.leaves)):
        raise UnsupportedError(
            "certificates are of functions with real arguments: verify the function of real and "
            "imaginary parts, lambda x, y: f(x + 1j * y)"
        )
    if wrt is None:
        return [k for k in range(len(call.leaves)) if call.real(k)]
    found = []
    for one in [wrt] if isinstance(wrt, (int, str)) else wrt:
        leaves = [k for k in call.argument(one)[1] if call.real(k)]
        if not leaves:
            raise ArgumentError(f"cannot differentiate by argument {one!r}: it is not real")
        found += leaves
    return list(dict.fromkeys(found))


Rows = Callable[[int, tuple[int, ...]], Sequence[np.ndarray[Any, Any]]]


class Kernels:
    """The compiled value and derivatives of a function's real results."""

    def __init__(self, call: Call, chosen: Sequence[int]) -> None:
        self.call, self.chosen = call, tuple(chosen)
        shapes = [n.shape for n in real_outputs(call)]
        self.together = shapes == [()] and bool(chosen)
        if self.together:
            self._both = value_and_grad(self.single, argnums=self.chosen)
            return
        function = call.function
        self._whole = function if isinstance(function, Function) else compile(function)
        sizes = sum(math.prod(map(int, s)) for s in shapes)
        widths = sum(np.size(call.leaves[k]) for k in chosen)
        self._by_rows = sizes * max(widths, 1) > ENTRIES
        if chosen and not self._by_rows:
            self._jacobian = jacobian(self._several, argnums=self.chosen)

    def at(self, leaves: Sequence[Any]) -> tuple[list[np.ndarray[Any, Any]], Rows]:
        """Return the results at a point, and the derivatives of one result element.

        The latter is a function of the result's number and the element's place; it gives
        one array for each input.
        """
        if self.together:
            value, slopes = self._both(*leaves)
            return [np.asarray(value)], lambda k, place: [np.asarray(g) for g in slopes]
        args, _ = self.call.tree.unflatten(leaves)
        found, _ = flatten(self._whole(*args))
        real = [np.asarray(v) for v in found if isinstance(v, (np.ndarray, np.generic))]
        values = [v for v in real if v.dtype.kind == "f"]
        if not self.chosen:
            return values, lambda k, place: []
        if not self._by_rows:
            blocks = self._jacobian(*leaves)
            return values, lambda k, place: [np.asarray(b)[place] for b in blocks[k]]
        _, pullback = vjp(self._restricted(leaves), *(leaves[k] for k in self.chosen))

        def row(k: int, place: tuple[int, ...]) -> Sequence[np.ndarray[Any, Any]]:
            units = [np.zeros(v.shape, v.dtype) for v in values]
            units[k][place] = 1
            return [np.asarray(v) for v in pullback(tuple(units))]

        return values, row

    def _several(self, *leaves: Any) -> tuple[Any, ...]:
        """The function's real results, as a function of the flat arguments."""
        args, _ = self.call.tree.unflatten(leaves)
        nodes, _, _ = collect(self.call.function(*args))
        return tuple(Traced(n) for n in nodes if n.dtype.kind == "f")

    def single(self, *leaves: Any) -> Any:
        """The one real result, as a function of the flat arguments."""
        return self._several(*leaves)[0]

    def _restricted(self, leaves: Sequence[Any]) -> Callable[..., tuple[Any, ...]]:
        def restricted(*values: Any) -> tuple[Any, ...]:
            full = list(leaves)
            for k, value in zip(self.chosen, values, strict=True):
                full[k] = value
            return self._several(*full)

        return restricted
