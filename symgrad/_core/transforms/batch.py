"""Batching: a pass that gives a graph a leading batch axis (``vmap``)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from string import ascii_letters
from typing import Any

import numpy as np

from ..base.sizes import Dimension, Shape, as_size
from ..base.state import at, within
from ..graph import Node, also_compared, apply, checked, topological
from ..op import PROJECTIONS, ArrayOp, Assemble, Bodied, Gather, Reduce, Scatter, View
from ..ops import RESHAPE
from ..trace import Traced, as_node, bind_nodes


def batch(
    outputs: Sequence[Node], batched: Mapping[Node, Node], size: Dimension, last: bool = False
) -> list[tuple[Node, bool]]:
    """Return ``outputs`` computed for a whole batch.

    Parameters
    ----------
    outputs:
        Nodes of a function of one example.
    batched:
        For the nodes that differ between examples, the node with a leading axis of
        length ``size`` that replaces it.
    size:
        The batch size.
    last:
        Whether the batch axis is the last one instead: then whatever axes an example has,
        neighbours in memory are neighbours in the batch, which fit a vector register.

    Returns
    -------
    list
        ``(node, has_batch_axis)`` for each output; a result that does not depend on the
        batched nodes stays as it is.
    """
    done: dict[Node, Node] = dict(batched)
    same: dict[Node, Node] = {}  # results of batched loops that have no batch axis, and so on
    results: dict[Node, Callable[[Node], tuple[Node, bool]]] = {}  # of loops and branches
    with within():
        for node in topological(outputs):
            if node in done:
                continue
            if node.op.kind in PROJECTIONS and node.operands[0] in results:
                found, lifted = results[node.operands[0]](node)
                (done if lifted else same)[node] = found
                continue
            flags = [x in done for x in node.operands]
            operands = [done.get(x, same.get(x, x)) for x in node.operands]
            if any(flags):
                at(node.where)
                rule = _rule_last if last else _rule
                if isinstance(node.op, Bodied):
                    results[node] = node.op.batch(size, operands, flags, node, last)
                    continue
                done[node] = rule(node, operands, flags, size)
            elif tuple(operands) != node.operands:
                same[node] = apply(node.op, tuple(operands), node.items, node.shape, node.dtype)
    also_compared(done)
    found_all = [done.get(x, same.get(x, x)) for x in outputs]
    checked("batching", found_all)
    return [(found, x in done) for found, x in zip(found_all, outputs, strict=True)]


def differing(outputs: Sequence[Node], seeds: Collection[Node]) -> tuple[set[Node], list[Node]]:
    """Return what differs between examples that differ in ``seeds``, without batching it.

    Also returns those loops and branches among it that end at another step in each example.
    """
    found, own = set(seeds), []
    results: dict[Node, Sequence[bool]] = {}
    for node in topological(outputs):
        if node in found:
            continue
        if node.op.kind in PROJECTIONS:
            if results.get(node.operands[0], ())[node.params["index"] :][:1] == [True]:
                found.add(node)
        elif any(x in found for x in node.operands):
            if isinstance(node.op, Bodied):
                flags = [x in found for x in node.operands]
                results[node], by_itself = node.op.spread(node, flags)
                own += [node] if by_itself else []
            found.add(node)
    return found, own


def _rule(node: Node, operands: list[Node], flags: list[bool], size: Dimension) -> Node:
    if node.op.kind == "map":
        aligned = tuple(
            _align(x, node.ndim) if flag else x for x, flag in zip(operands, flags, strict=True)
        )
        return apply(node.op, aligned, node.items, (size, *node.shape), node.dtype)
    assert isinstance(node.op, ArrayOp)
    result: Any = node.op.batch(as_size(size), flags, *map(Traced, operands), **node.params)
    return as_node(result)


def _rule_last(node: Node, operands: list[Node], flags: list[bool], size: Dimension) -> Node:
    """Apply an op with the batch axis last; where its kind has no form of that, turned round."""
    op, params = node.op, node.params
    if op.kind == "map":  # what all examples share broadcasts
        operands = [x if flag or not x.ndim else _with_axis(x)
                    for x, flag in zip(operands, flags, strict=True)]  # fmt: skip
        return apply(op, tuple(operands), node.items, (*node.shape, size), node.dtype)
    if isinstance(op, Reduce) and not op.place:  # a place is along one axis
        return bind_nodes(op, tuple(operands), params)
    if op.kind == "contract":
        new = next(s for s in ascii_letters if s not in params["a"] + params["b"])
        a, b = (s + new if f else s for s, f in zip((params["a"], params["b"]), flags, strict=True))
        return bind_nodes(op, tuple(operands), {"a": a, "b": b, "out": params["out"] + new})
    # Views, regions, and places that all examples share only have one axis more.
    places = op.places_of(flags) if isinstance(op, (Gather, Scatter)) else ()
    wider = [op.params[name].wider for name in params]
    lies = isinstance(op, (View, Assemble, Gather, Scatter)) and None not in wider
    if lies and not any(places):
        values = len(operands) - len(places)
        full = [x if f or k >= values else repeated(x, size, last=True)
                for k, (x, f) in enumerate(zip(operands, flags, strict=True))]  # fmt: skip
        pairs = zip(wider, params.items(), strict=True)
        more = {name: change(value, node.ndim, size) for change, (name, value) in pairs if change}
        return bind_nodes(op, tuple(full), more)
    turned = [_moved(x, -1, 0) if f else x for x, f in zip(operands, flags, strict=True)]
    return _moved(_rule(node, turned, flags, size), 0, -1)


def widened(shape: Shape, size: Dimension, last: bool) -> Shape:
    """Return the shape of a batch of values of this shape."""
    return (*shape, size) if last else (size, *shape)


def repeated(x: Node, size: Dimension, last: bool) -> Node:
    """Return a batch of equal values."""
    if last and x.ndim:
        x = _with_axis(x)
    full = (*Traced(x).shape[:-1], as_size(size)) if last else (as_size(size), *Traced(x).shape)
    return as_node(np.broadcast_to(Traced(x), full))


def _moved(x: Node, source: int, target: int) -> Node:
    return as_node(np.moveaxis(Traced(x), source, target))


def _with_axis(x: Node) -> Node:
    return as_node(RESHAPE(Traced(x), shape=(*Traced(x).shape, 1)))


def _align(x: Node, rank: int) -> Node:
    """Put axes of length one behind the batch axis, so that broadcasting lines up."""
    missing = rank - (x.ndim - 1)
    if missing == 0:
        return x
    lead, *rest = Traced(x).shape
    return as_node(RESHAPE(Traced(x), shape=(lead, *(1,) * missing, *rest)))
