"""Steps that change single places of a carried array, as ops that write those places only.

``y[3] = v`` makes an array with a region written over, and the cotangent of what was read at
``y[i]`` is an array of zeros but for one place, which is added. Of a carry both are a ``Put``
or an ``AddAt``: the loop's function does them where the carry lies.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ..graph import Literal, Node, element_count, rebuilt, remade, viewed
from ..ops import ASSEMBLE
from ..ops.gathers import GATHER, SCATTER
from ..ops.updates import ADD_AT, PUT, UPDATE
from ..trace import Traced, as_node, bind_nodes
from ._sums import SMALL

#: Values to write, or to add, with the axes and the places on them.
Change = tuple[Node, tuple[int, ...], tuple[Node, ...]]


def by_places(outputs: Sequence[Node], carried: Collection[Node]) -> list[Node]:
    """Return the outputs of a step in which carried arrays are changed place by place."""
    rooted = {x for x in carried if element_count(x) > SMALL}
    if not rooted:
        return list(outputs)
    done: dict[Node, Node] = {}

    def change(node: Node, _: tuple[Node, ...]) -> Node | None:
        made = _changed(node, rooted, done)
        if made is not None or (node.op.over and node.operands[1] in rooted):
            rooted.add(node)
        return made

    return rebuilt(outputs, change, done)


def only_if(mask: Node, news: Sequence[Node], olds: Sequence[Node]) -> list[Node]:
    """Return ``news`` where a step is done, else ``olds``; of what is written, place by place."""
    chain: set[Node] = set()
    for new, old in zip(news, olds, strict=True):
        own, node = [], new
        while node.op.over and node is not old:
            own.append(node)
            node = node.operands[1]
        if node is old:
            chain.update(own)
    found = rebuilt(
        news, lambda node, operands: _written_if(mask, node, operands) if node in chain else None
    )
    return [
        made if new is old or new in chain
        else as_node(np.where(Traced(mask), Traced(made), Traced(old)))
        for new, made, old in zip(news, found, olds, strict=True)
    ]  # fmt: skip


def _written_if(mask: Node, node: Node, operands: Sequence[Node]) -> Node:
    """Return a node that writes what was there if ``mask`` is not true."""
    value, base, *places = operands
    kept: Any = np.zeros_like(Traced(value))
    if node.op is PUT:
        params = {"axes": node.params["axes"], "at": node.params["at"]}
        kept = Traced(bind_nodes(GATHER, (base, *places), params))
    chosen = as_node(np.where(Traced(mask), Traced(value), kept))
    return remade(node, (chosen, base, *places))


def _changed(node: Node, rooted: Collection[Node], done: dict[Node, Node]) -> Node | None:
    """Return a node that changes places of a carry as ops on these, None if it is none."""
    if node.op is UPDATE and node.operands[0] in rooted:
        base, *parts = node.operands
        pairs = zip(parts, node.params["regions"][1:], strict=True)
        written = [_place(x, region, node.shape) for x, region in pairs]
        return _chain(PUT, written, done[base], done)
    if not node.op.means(np.add) or node.shape not in {x.shape for x in rooted}:
        return None
    parts = terms(node)
    own = [x for x in parts if x in rooted]
    if len(own) != 1 or own[0].dtype != node.dtype:
        return None
    added = [change_of(x, node) for x in parts if x is not own[0]]
    return _chain(ADD_AT, added, done[own[0]], done)


def _chain(
    op: Any, changes: Sequence[Change | None], base: Node, done: dict[Node, Node]
) -> Node | None:
    if None in changes:
        return None
    for change in changes:
        assert change is not None
        value, axes, places = change
        params = {"axes": axes, "at": 0, "shape": base.shape}
        base = bind_nodes(
            op, (done.get(value, value), base, *(done.get(x, x) for x in places)), params
        )
    return base


def terms(node: Node) -> list[Node]:
    """Return the terms of a sum of arrays of one shape."""
    if not node.op.means(np.add) or any(x.shape != node.shape for x in node.operands):
        return [node]
    return [term for x in node.operands for term in terms(x)]


def is_zero(node: Node) -> bool:
    """Tell whether an array is a literal zero everywhere."""
    node = viewed(node)
    return isinstance(node, Literal) and node.value == 0


def change_of(node: Node, whole: Node) -> Change | None:
    """Return a term that is zero but for some places as these and the values there."""
    if node.dtype != whole.dtype:
        return None
    if node.op is SCATTER:
        value, *indices = node.operands
        if any(i.shape for i in indices):
            return None
        return value, node.params["axes"], tuple(indices)
    if node.op is ASSEMBLE and len(node.operands) == 1:
        return _place(node.operands[0], node.params["regions"][0], node.shape)
    return None


def _place(value: Node, region: Any, shape: Sequence[Any]) -> Change | None:
    """Return a part that is written to a region as a value at places, if these are single."""
    axes = tuple(k for k, (_, _, size) in enumerate(region) if size is None)
    whole = all(e == (0, 1, d) for e, d in zip(region, shape, strict=True) if e[2] is not None)
    starts = [region[k][0] for k in axes]
    if not axes or not whole or not all(isinstance(s, int) for s in starts):
        return None
    return value, axes, tuple(Literal(s, np.int64) for s in starts)
