"""Interning: equal nodes are one object.

A table knows every node that is alive by its op, parameters and operands. It holds them
weakly, so that a graph is freed with the last program that uses it. Graphs are made anew by one
walk from operands to users, on which some steps become others.
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from types import FrameType
from typing import Any

import numpy as np
import sympy as sp

from ...errors import OutOfMemoryError
from ..base.broadcast import show
from ..base.fork_safety import free_in_children
from ..base.sizes import MOST_BYTES, Dim, Shape, hint
from ..base.state import at, now, within
from ..op import Op
from ._node import Node, Static, topological
from ._where import Where, user_line

_table: dict[Any, weakref.ref[Node]] = {}
_lock = free_in_children(
    threading.RLock()
)  # re-entrant: the collector may free nodes while it is held


class recording_nodes(within):  # noqa: N801 - a block
    """Collect the nodes that are made in the block, and were not there before."""

    __slots__ = "_found", "_outer"

    def __init__(self) -> None:
        self._outer, self._found = now().made, set[Node]()
        super().__init__(made=self._found)

    def __enter__(self) -> set[Node]:
        super().__enter__()
        return self._found

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        if self._outer is not None:
            self._outer |= self._found


def apart(wanted: bool = True) -> AbstractContextManager[None]:
    """Make every step in the block a node of its own, numbered, though an equal one exists.

    Equal steps of a program are one node, and one cotangent; on eager tensors each has its own.
    """
    before = now().numbers
    return within(numbers=(before if before is not None else {}) if wanted else None)


def shared(outputs: Sequence[Node]) -> list[Node]:
    """Return ``outputs`` with steps that were made apart as one where they are equal."""
    done = merged(topological(outputs))
    return [done[x] for x in outputs]


def merged(order: Sequence[Node]) -> dict[Node, Node]:
    """Return for each node of ``order`` the one that stands for all that are equal."""
    done: dict[Node, Node] = {}
    with apart(False):
        for node in order:
            if node.op.kind == "leaf":
                done[node] = node
                continue
            operands = tuple([done[x] for x in node.operands])
            key = (node.op, operands, node.items) if node.items else (node.op, operands)
            done[node] = intern(
                key,
                lambda n=node, xs=operands: _copied(n, xs),  # type: ignore[misc]
            )
    return done


def _copied(node: Node, operands: tuple[Node, ...]) -> Node:
    if operands == node.operands:
        return node
    made = new_node(type(node), operands, node.items, node.shape, node.dtype)
    made.where = node.where
    return made


def count_of_nodes() -> int:
    """Return how many nodes there are."""
    return len(_table)


def lines_of_nodes(before: int) -> Counter[Where]:
    """Return how many nodes have come of each line since there were so many; any thread may ask."""
    nodes = (entry() for entry in list(_table.values())[before:])
    return Counter(node.where for node in nodes if node is not None and node.where is not None)


class _Entry(weakref.ref):  # type: ignore[type-arg]
    __slots__ = ("key",)
    key: Any


def _forget(entry: _Entry) -> None:
    with _lock:
        if _table.get(entry.key) is entry:
            del _table[entry.key]


def intern(key: Any, make: Callable[[], Node]) -> Node:
    """Return the node that there is under a key, or enter the one that ``make`` gives."""
    entry = _table.get(key)
    if entry is not None:
        known = entry()
        if known is not None:
            return known
    return _entered(key, make())


def _entered(key: Any, node: Node) -> Node:
    """Return the node of ``key``: ``node``, unless another thread has made one meanwhile."""
    fresh = _Entry(node, _forget)
    fresh.key = key
    entry = _table.setdefault(key, fresh)
    if entry is not fresh:  # another thread's, or that of a node which is just being freed
        with _lock:
            known = _table[key]() if key in _table else None
            if known is not None:
                return known
            _table[key] = fresh
    made = now().made
    if made is not None:
        made.add(node)
    return node


def new_node(
    cls: type[Node],
    operands: tuple[Node, ...],
    items: tuple[tuple[str, Any], ...],
    shape: Shape,
    dtype: np.dtype[Any],
    frame: FrameType | None = None,
) -> Node:
    """Return a new node; ``frame`` is where the search for the user's line begins."""
    if shape and not (operands and shape is getattr(operands[0], "shape", None)):
        check_bytes(shape, dtype.itemsize)
    node: Node = object.__new__(cls)
    node._assumptions = cls.default_assumptions
    node._mhash = None
    node._args = (*operands, Static(items)) if items else operands
    node.operands, node.items = operands, items
    node.shape, node.dtype = shape, dtype
    node.where = now().where or user_line(frame)
    return node


_classes: dict[Op, type[Node]] = {}


def node_class(op: Op) -> type[Node]:
    """Return the class of the nodes of ``op``, named after it."""
    cls = _classes.get(op)
    if cls is None:
        with _lock:
            if op not in _classes:
                _classes[op] = type(op.name, (Node,), {"__slots__": (), "op": op})
            cls = _classes[op]
    return cls


def apply(
    op: Op,
    operands: tuple[Node, ...],
    items: tuple[tuple[str, Any], ...],
    shape: Shape,
    dtype: np.dtype[Any],
    frame: FrameType | None = None,
) -> Node:
    """Return the interned node of ``op`` applied to ``operands``."""
    state = now()
    limit = state.limit
    if limit is not None:
        limit.left -= 1
        if limit.left < 0:
            limit.reached()
    numbers = state.numbers
    if numbers is not None:
        made = new_node(node_class(op), operands, items, shape, dtype, frame)
        numbers[made] = len(numbers)
        if state.made is not None:
            state.made.add(made)
        return made
    key = (op, operands, items) if items else (op, operands)
    entry = _table.get(key)
    node = None if entry is None else entry()
    if node is None:
        cls = _classes.get(op) or node_class(op)
        node = _entered(key, new_node(cls, operands, items, shape, dtype, frame))
    simplify = state.simplify
    return node if simplify is None else simplify(node)


@lru_cache(maxsize=65536)
def check_bytes(shape: Shape, itemsize: int) -> None:
    """Raise if an array of the example call is one that no memory can hold.

    What is no size, or is one of symbols that have no example, is for the laws to refuse.
    """
    count = itemsize
    for dim in shape:
        if isinstance(dim, int):
            count *= max(dim, 1)
        elif isinstance(dim, sp.Expr) and all(isinstance(s, Dim) for s in dim.free_symbols):
            count *= max(hint(dim), 1)
    if count >= MOST_BYTES:
        raise OutOfMemoryError(
            f"an array of shape {show(shape)} would have {count:.3g} bytes: arrays have less "
            "than 2**61, also those that are never stored"
        )


def remade(node: Node, operands: tuple[Node, ...], shape: Shape | None = None) -> Node:
    """Return a step of other operands, and perhaps of another shape; itself if nothing is other."""
    shape = node.shape if shape is None else shape
    if operands == node.operands and shape == node.shape:
        return node
    return apply(node.op, operands, node.items, shape, node.dtype)


def rebuilt(
    outputs: Sequence[Node],
    change: Callable[[Node, tuple[Node, ...]], Node | None],
    done: dict[Node, Node] | None = None,
) -> list[Node]:
    """Return the outputs of a graph in which some steps are others.

    Parameters
    ----------
    outputs:
        The nodes that the graph is wanted for.
    change:
        Given a step, and what has become of its operands, returns what stands for it, or None if
        it stays, of these operands. What is made has the step's line.
    done:
        Takes what has become of each node; what it has at the beginning stays.
    """
    done = {} if done is None else done
    with within():
        for node in topological(outputs):
            if node in done:
                continue
            at(node.where)
            operands = tuple([done[x] for x in node.operands])
            made = change(node, operands)
            done[node] = remade(node, operands) if made is None else made
    also_compared(done)
    return [done[x] for x in outputs]


def also_compared(instead: Mapping[Node, Node]) -> None:
    """Note that what stands for comparisons for equality in another graph are such, too."""
    examples = now().examples
    if examples is not None and examples.compared:
        examples.compared |= {instead[n] for n in examples.compared if n in instead}
