"""Views of traced arrays: the way from the array that they are of, and where they lie.

NumPy decides by memory layout whether ``reshape`` and ``ravel`` share memory or copy. A traced
array has no memory; what is sure about the layout that NumPy's would have is kept beside it.
Arguments count as lying in C order.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from ..base.sizes import Shape
from ..graph import Node
from ..op import Op, registry
from ..ops.gathers import GATHER
from ..ops.regions import Region
from ._bind import bind_nodes

Step = tuple[Op, tuple[tuple[str, Any], ...]]

_OPS = registry.ops
_SLICE, _RESHAPE, _TRANSPOSE = (_OPS[name] for name in ("Slice", "Reshape", "Transpose"))
DIAGONAL = _OPS["Diagonal"]


class View(NamedTuple):
    """Where a view comes from: an array that is no view, and the way from there.

    ``path`` is None where NumPy may share memory or not; the source may be such an array, too.
    """

    source: Any
    path: tuple[Step, ...] | None
    version: int
    writable: bool = True


def follow(node: Node, path: tuple[Step, ...]) -> Node:
    """Take a view of another array the same way."""
    for step in path:
        node = taken(node, step)
    return node


def taken(node: Node, step: Step) -> Node:
    """Take one step of a view; that of a traced place has the place among its parameters."""
    op, items = step
    params = dict(items)
    return bind_nodes(op, (node, *params.pop(PLACES, ())), params)


#: The name under which a step has the traced places of a view.
PLACES = "places"


def path_between(node: Node, source: Node) -> tuple[Step, ...] | None:
    """Return how ``node`` is a view of ``source``, or None if it is none."""
    steps: list[Step] = []
    while node is not source:
        single = node.op is GATHER and not any(i.shape for i in node.operands[1:])
        if node.op.kind != "view" and not single:
            return None
        places = ((PLACES, node.operands[1:]),) if single else ()
        steps.append((node.op, (*node.items, *places)))
        node = node.operands[0]
    return tuple(reversed(steps))


# ---------------------------------------------------------------- layouts


class Layout(IntEnum):
    """What is sure about where an array's elements lie in NumPy's memory."""

    UNKNOWN = 0
    #: The axes lie in C order: elementwise results do, too, and in one run.
    ORDERED = 1
    #: In C order and evenly apart: ``reshape`` shares.
    EVEN = 2
    #: In C order and in one run: ``ravel`` shares, too.
    RUN = 3
    #: The real or the imaginary parts of complex numbers that lie so.
    PARTS = 4


def layout_of(value: Any) -> Layout:
    """Return what is sure about an operand of whatever kind."""
    found: Layout | None = getattr(value, "layout", None)
    if found is not None:
        return found
    plain = not isinstance(value, np.ndarray) or value.ndim < 2 or value.flags.c_contiguous
    return Layout.RUN if plain else Layout.UNKNOWN


def layout_of_result(shape: Shape, *operands: Any) -> Layout:
    """Return how the result of an elementwise function lies."""
    sure = len(shape) < 2 or all(map(layout_of, operands))
    return Layout.RUN if sure else Layout.UNKNOWN


class Sharing(NamedTuple):
    """How the end of a path lies, and whether it surely shares memory and can be written to."""

    layout: Layout
    shared: bool
    writable: bool


def shares(
    path: tuple[Step, ...], node: Node, layout: Layout, wanted: Layout | None = None,
    diagonals: bool = False,
) -> Sharing:  # fmt: skip
    """Follow a path from an array of a layout as NumPy would.

    With ``wanted`` the result is a copy where it would lie otherwise; ``diagonals`` says that
    they can be written to.
    """
    writable = True
    for op, items in path:
        made = taken(node, (op, items))
        if op is GATHER:
            axes = dict(items)["axes"]
            if axes != tuple(range(len(axes))):
                layout = min(layout, Layout.ORDERED)
        elif op is _RESHAPE:
            ones = [d for d in node.shape if d != 1] == [d for d in made.shape if d != 1]
            if not ones and layout < Layout.EVEN:
                return Sharing(wanted or Layout.UNKNOWN, False, writable)
        elif op is _TRANSPOSE:
            order = [k for k in dict(items)["axes"] if node.shape[k] != 1]
            if order != sorted(order):
                layout = Layout.UNKNOWN
        elif op is _SLICE:
            if not _in_one_run(dict(items)["region"], node.shape):
                layout = min(layout, Layout.ORDERED)
        else:  # broadcast views cannot be written to, nor diagonals but those by einsum
            layout, writable = Layout.UNKNOWN, writable and diagonals and op is DIAGONAL
        node = made
        if node.ndim < 2:
            layout = max(layout, Layout.EVEN)
    if wanted is not None and (layout is not wanted or not layout):
        return Sharing(wanted, False, writable)
    return Sharing(layout, True, writable)


def _in_one_run(region: Region, shape: Shape) -> bool:
    """Tell whether a region is one run of memory: integers, one range, then whole axes."""
    inside = False
    for (start, step, size), extent in zip(region, shape, strict=True):
        full = (start, step, size) == (0, 1, extent)
        if inside and not full:
            return False
        if size is not None:
            inside = inside or not (isinstance(extent, int) and extent == 1)
            if step != 1:
                return False
    return True
