"""Loops that reverse mode runs in little memory: loops over segments.

A loop of ``N`` steps as a loop over segments of ``k`` steps writes down one carry for each
segment; the adjoint of a segment runs it again, writing down its ``k`` carries. Everything else
follows from the rule for loops, which writes down the carries of a step and computes the rest
again. Where there is less memory than that needs, ``2 sqrt(N)`` carries, the loop notes how
many carries there is room for, and its reverse mode keeps these by the binomial schedule
(``_binomial``). Segments of segments would take more steps in the same memory.

Source: A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, sections 12.2, 12.3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import sympy as sp

from ...errors import ArgumentError
from ..base.sizes import Dimension, Size, as_expr, as_size, floor_div, guard, hint
from ..graph import Body, Input, Node, element_count, topological
from ..rewrite import rewrite
from ..trace import Traced, as_node, substitute
from ._fields import Loop, result
from ._loop_reverse import dear

#: Bytes for the number of the step whose carry a slot holds.
PLACE = 8


def bytes_of(nodes: Sequence[Node]) -> int:
    """Return the memory that values take in the example call."""
    return sum(element_count(x) * x.dtype.itemsize for x in nodes)


def costs(loop: Loop) -> tuple[int, int]:
    """Return how many bytes a step writes down: carries alone, and what is dear as well."""
    carried = bytes_of(loop.inits)
    return carried, carried + bytes_of([n for n in topological(loop.body.outputs) if dear(n)])


def plan(steps: int, carried: int, step: int, memory: int) -> tuple[int, int] | None:
    """Return the length of segments and the number of slots within ``memory`` bytes.

    None: all fits. A length of 0: segments do not do, but so many slots do.

    Raises
    ------
    ArgumentError
        If there is no room for a slot, the row that is written to instead, and a step.
    """
    if steps * step <= memory:
        return None
    # The innermost steps write more down: weigh the lengths so that both levels cost alike.
    root = math.sqrt(steps * max(step, 1) / max(carried, 1))
    inner = max(1, math.floor(root * carried / max(step, 1)))
    if -(-steps // inner) * carried + inner * step <= memory:
        return inner, 0
    row = carried + PLACE
    slots = (memory - step) // max(row, 1) - 1
    if slots >= 1:
        return 0, min(slots, steps)
    raise ArgumentError(
        f"memory={memory} bytes are too few for the reverse mode of {steps} steps with a carry "
        f"of {carried} bytes: at least {2 * row + step} are needed"
    )


def segmented(loop: Loop, memory: int) -> list[Node]:
    """Return the results of a loop whose reverse mode keeps within ``memory`` bytes."""
    assert loop.length is not None
    carried, step = costs(loop)
    steps = hint(loop.length)
    found = plan(steps, carried, step, memory)
    if found is not None and not found[0]:
        return results(loop.changed(slots=found[1]))
    if isinstance(loop.length, sp.Expr):  # more steps need another plan
        most = steps if found is not None else memory // max(step, 1)
        guard(sp.Le(loop.length, most, evaluate=False), value_is=True)
    return results(loop) if found is None else _split(loop, found[0])


def results(loop: Loop) -> list[Node]:
    """Return all results of a loop."""
    node = loop.node()
    return [result(node, k) for k in range(len(loop.body.outputs))]


def _split(loop: Loop, size: int) -> list[Node]:
    """Run the loop in segments of ``size`` steps, and what is left."""
    assert loop.length is not None
    whole: Dimension = floor_div(loop.length, size)
    rest: Dimension = as_expr(loop.length) - size * whole
    if rest == 0:
        return _segments(loop, whole, size)
    parts = [(0, whole), (whole * size, None)]
    found: list[list[Node]] = []
    carry = loop.inits
    for start, count in reversed(parts) if loop.reverse else parts:
        length = rest if count is None else count * size
        part = _part(loop, start, length, carry)
        found.append(results(part) if count is None else _segments(part, count, size))
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


def _segments(loop: Loop, count: Dimension, size: int) -> list[Node]:
    """Return the results of a loop over ``count`` segments."""
    outer_count = _sized(count)
    step = Input("segment", (), np.int64)
    carried = [Input(x.name, x.shape, x.dtype) for x in loop.carried]
    shared = [Input(x.name, x.shape, x.dtype) for x in loop.shared]
    xs = [as_node(np.reshape(Traced(x), (outer_count, size, *Traced(x).shape[1:])))
          for x in loop.xs]  # fmt: skip
    slices = [Input(x.name, y.shape[1:], y.dtype) for x, y in zip(loop.slices, xs, strict=True)]
    inner = loop.changed(inits=tuple(carried), xs=tuple(slices), consts=tuple(shared), length=size)
    inner = _shifted(inner, as_node(np.multiply(Traced(step), size)))
    body = Body((step, *carried, *slices, *shared), rewrite(results(inner)))
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
