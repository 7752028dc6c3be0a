"""Loops that reverse mode runs in little memory: loops over segments.

A loop of ``N`` steps as a loop over segments of ``k`` steps writes down one carry for each
segment; the adjoint of a segment runs it again, writing down its ``k`` carries. Segments of
segments need ``L N^(1/L)`` carries and ``L`` forward runs. Everything else follows from the
rule for loops, which writes down the carries of a step and computes the rest again.

Source: A. Griewank, Achieving logarithmic growth of temporal and spatial complexity in reverse
automatic differentiation, Optimization Methods and Software 1 (1992), 35-54.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import sympy as sp

from .._graph import Body, Input, Node, element_count, topological
from .._rewrite import rewrite
from .._shapes import Dimension, Size, as_size, floor_div, guard, hint
from .._trace import Traced, as_node, substitute
from ..errors import ArgumentError
from ._loop_pull import dear
from ._parts import Loop, result

#: Each level of segments runs the loop once more.
LEVELS = 8


def bytes_of(nodes: Sequence[Node]) -> int:
    """Return the memory that values take in the example call."""
    return sum(element_count(x) * x.dtype.itemsize for x in nodes)


def costs(loop: Loop) -> tuple[int, int]:
    """Return how many bytes a step writes down: carries alone, and what is dear as well."""
    carried = bytes_of(loop.inits)
    return carried, carried + bytes_of([n for n in topological(loop.body.outputs) if dear(n)])


def plan(steps: int, carried: int, step: int, memory: int) -> list[int]:
    """Return the lengths of segments, outermost first, that keep within ``memory`` bytes.

    Raises
    ------
    ArgumentError
        If there are none.
    """
    least = 0
    for levels in range(1, LEVELS + 1):
        # The innermost steps write more down: weigh the lengths so that all levels cost alike.
        root = (steps * max(step, 1) / max(carried, 1)) ** (1 / levels)
        inner = max(1, math.floor(root * carried / max(step, 1)))
        lengths = [max(2, math.ceil(root))] * (levels - 2)
        segment = inner * math.prod(lengths)
        first = -(-steps // segment) if levels > 1 else 0
        need = (first + sum(lengths)) * carried + (inner if levels > 1 else steps) * step
        if need <= memory:
            return (
                [] if levels == 1 else [inner * math.prod(lengths[k:]) for k in range(levels - 1)]
            )
        least = need if not least else min(least, need)
    raise ArgumentError(
        f"memory={memory} bytes are too few for the reverse mode of {steps} steps with a carry "
        f"of {carried} bytes: at least {least} are needed"
    )


def segmented(loop: Loop, memory: int) -> list[Node]:
    """Return the results of a loop whose reverse mode keeps within ``memory`` bytes."""
    assert loop.length is not None
    carried, step = costs(loop)
    steps = hint(loop.length)
    lengths = plan(steps, carried, step, memory)
    if isinstance(loop.length, sp.Expr):  # more steps need another plan
        most = steps if lengths else memory // max(step, 1)
        guard(sp.Le(loop.length, most, evaluate=False), value_is=True)
    return _split(loop, lengths) if lengths else results(loop)


def results(loop: Loop) -> list[Node]:
    """Return all results of a loop."""
    node = loop.node()
    return [result(node, k) for k in range(len(loop.body.outputs))]


def _split(loop: Loop, lengths: Sequence[int]) -> list[Node]:
    """Run the loop in segments of the first length, those in segments of the next."""
    assert loop.length is not None
    size = lengths[0]
    whole: Dimension = floor_div(loop.length, size)
    rest: Dimension = sp.sympify(loop.length) - size * whole
    if rest == 0:
        return _segments(loop, whole, lengths)
    parts = [(0, whole), (whole * size, None)]
    found: list[list[Node]] = []
    carry = loop.inits
    for start, count in reversed(parts) if loop.reverse else parts:
        length = rest if count is None else count * size
        part = _part(loop, start, length, carry)
        found.append(results(part) if count is None else _segments(part, count, lengths))
        carry = tuple(found[-1][: loop.carries])
    if loop.reverse:
        found.reverse()
    ys = [
        as_node(np.concatenate([Traced(a), Traced(b)]))
        for a, b in zip(*(f[loop.carries :] for f in found), strict=True)
    ]
    return [*carry, *ys]


def _part(loop: Loop, start: Dimension, length: Dimension, carry: Sequence[Node]) -> Loop:
    """Return the steps from ``start`` on."""
    begin, count = _sized(start), _sized(length)
    xs = [as_node(Traced(x)[begin : begin + count]) for x in loop.xs]
    part = loop.changed(inits=tuple(carry), xs=tuple(xs), length=_plain(length))
    return part if start == 0 else _shifted(part, as_node(begin))


def _segments(loop: Loop, count: Dimension, lengths: Sequence[int]) -> list[Node]:
    """Return the results of a loop over ``count`` segments."""
    size, outer_count = lengths[0], _sized(count)
    step = Input("segment", (), np.int64)
    carried = [Input(x.name, x.shape, x.dtype) for x in loop.carried]
    shared = [Input(x.name, x.shape, x.dtype) for x in loop.shared]
    xs = [as_node(np.reshape(Traced(x), (outer_count, size, *Traced(x).shape[1:])))
          for x in loop.xs]  # fmt: skip
    slices = [Input(x.name, y.shape[1:], y.dtype) for x, y in zip(loop.slices, xs, strict=True)]
    inner = loop.changed(inits=tuple(carried), xs=tuple(slices), consts=tuple(shared), length=size)
    inner = _shifted(inner, as_node(np.multiply(Traced(step), size)))
    found = _split(inner, lengths[1:]) if len(lengths) > 1 else results(inner)
    body = Body((step, *carried, *slices, *shared), rewrite(found))
    outer = loop.changed(xs=tuple(xs), body=body, length=_plain(count))
    made = results(outer)
    total = outer_count * size
    ys = [as_node(np.reshape(Traced(y), (total, *Traced(y).shape[2:])))
          for y in made[loop.carries :]]  # fmt: skip
    return [*made[: loop.carries], *ys]


def _shifted(loop: Loop, start: Node) -> Loop:
    """Let the steps count from ``start`` on."""
    step = Input(loop.step.name, (), np.int64)
    base = Input("start", (), np.int64)
    index = as_node(np.add(Traced(step), Traced(base)))
    outputs = rewrite(substitute(loop.body.outputs, {loop.step: index}))
    inputs = (step, *loop.body.inputs[1:], base)
    return loop.changed(consts=(*loop.consts, start), body=Body(inputs, outputs))


def _plain(dim: Dimension) -> Dimension:
    return int(dim) if not isinstance(dim, int) and dim.is_Integer else dim


def _sized(dim: Dimension) -> int | Size:
    return as_size(_plain(dim))
