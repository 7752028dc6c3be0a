"""Backward passes whose structure comes back are compiled.

The first passes through a graph run at once, node by node, under NumPy. A structure (ops,
parameters, shapes, types, numbers written in the code, and how they hang together) that has
been seen ``AFTER`` times becomes one kernel: the recorded ops are built as a graph once more,
the compiler's reverse pass differentiates it, and the values that the record holds take the
place of the nodes that computed them. So a kernel reads exactly what the NumPy rules read; its
rounding is promised, so that it gives the same bits.

When to compile depends on counts alone, never on a clock: the same program gives the same
bits in every run. Kernels can only be bought for work that was done: what they are expected
to cost may exceed what all passes so far have cost by ``CREDIT`` at most, so a program whose
graphs keep changing takes at most about twice as long.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from .._api._transforms import compile
from .._forks import free_in_children
from .._graph import Input, Literal, apart, apply
from .._graph import Node as GraphNode
from .._op import Bodied
from .._reverse import pull_back
from .._state import now, within
from .._trace import Traced, as_node
from ..errors import SymgradError
from ._node import AccumulateGrad, Backward, Node

T = TypeVar("T")

#: A structure is compiled when it comes for this time.
AFTER = 8
#: Graphs of fewer or more nodes are run node by node: the call of a kernel costs as much as a rule.
FEWEST, LARGEST = 4, 4000
#: Structures that are counted; kernels kept.
WATCHED, KEPT = 1024, 128
#: Seconds that compiling may cost before there was work to pay for it.
CREDIT = 3.0
#: What a pass and a kernel are taken to cost, in seconds: a part alone, and a part for each node.
PASS, KERNEL = (1e-5, 3e-6), (0.1, 3e-3)


@dataclass(slots=True, eq=False)
class _Entry:
    """A structure: how often it was looked at, and its kernel."""

    key: Any
    count: int = 0
    kernel: Kernel | None = None


@dataclass(slots=True, eq=False)
class _Ops:
    """Passes of the same ops in the same order, whatever their shapes and edges."""

    key: Any
    count: int = 0
    compiled: bool = False
    refused: bool = False


class _Table:
    """What is known of structures; the latest that were used."""

    def __init__(self) -> None:
        self.lock = free_in_children(threading.RLock())
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.seen: OrderedDict[Any, _Ops] = OrderedDict()
        self.entries: OrderedDict[Any, _Entry] = OrderedDict()
        self.kernels: OrderedDict[_Entry, None] = OrderedDict()
        self.worked = self.bought = 0.0

    def affords(self, nodes: int) -> bool:
        """Tell whether a kernel for a pass through so many nodes can be bought."""
        return self.bought + _cost(KERNEL, nodes) <= self.worked + CREDIT


def _latest(known: OrderedDict[Any, T], key: Any, make: Callable[[Any], T]) -> T:
    """Return what is known under a key, which is the latest used now."""
    found = known.get(key)
    if found is None:
        found = known[key] = make(key)
        if len(known) > WATCHED:
            known.popitem(last=False)
    else:
        known.move_to_end(key)
    return found


def _cost(parts: tuple[float, float], nodes: int) -> float:
    return parts[0] + parts[1] * nodes


table = _Table()


def attempt(order: Sequence[Node], gradients: Sequence[Any]) -> list[tuple[Any, Any]] | None:
    """Run a backward pass by a kernel, if its structure has one.

    Parameters
    ----------
    order:
        The nodes, a single root first.
    gradients:
        The gradient of the root.

    Returns
    -------
    list or None
        The leaves with their gradients; None if the pass is to be run node by node.

    Raises
    ------
    BackwardError
        If a value that would be read has been freed or overwritten.
    """
    if len(gradients) != 1 or not FEWEST <= len(order) <= LARGEST or switched_off():
        return None
    with table.lock:
        table.worked += _cost(PASS, len(order))
        ops = _latest(table.seen, tuple(map(type, order)), _Ops)
        ops.count += 1
        if ops.count == 1 or ops.refused or not (ops.compiled or table.affords(len(order))):
            return None  # a closer look would be for nothing
    described = describe(order)
    if described is None:
        return None
    key, arrays = described
    key = (key, str(gradients[0].dtype), gradients[0].shape)
    with table.lock:
        entry = _latest(table.entries, key, _Entry)
        entry.count += 1
        if entry.kernel is None and entry.count >= AFTER - 1 and table.affords(len(order)):
            _buy(entry, order, gradients[0], arrays)
            ops.compiled = entry.kernel is not None
            ops.refused = not ops.compiled
        kernel = entry.kernel
        if kernel is None:
            return None
        if entry in table.kernels:
            table.kernels.move_to_end(entry)
    return _leaves(order, kernel(order, gradients[0], arrays))


def _leaves(order: Sequence[Node], found: Any) -> list[tuple[Any, Any]] | None:
    """Return the leaves of a pass with their gradients, if there are any."""
    if found is None:
        return None
    leaves = [node.variable for node in order if isinstance(node, AccumulateGrad)]
    return list(zip(leaves, found, strict=True))


def switched_off() -> bool:
    """Tell whether the user wants NumPy alone."""
    chosen = now().backend or os.environ.get("SYMGRAD_BACKEND")
    return chosen == "numpy"


# ---------------------------------------------------------------- the structure of a pass


def describe(order: Sequence[Node]) -> tuple[Any, list[Any]] | None:
    """Return what a pass is like, and the arrays that its rules read.

    None if something happens on the way that a kernel does not do: hooks, kept gradients,
    ops that are not traced.
    """
    place = {node: k for k, node in enumerate(order)}
    key: list[Any] = []
    arrays: list[Any] = []
    taken: set[int] = set()
    for k, node in enumerate(order):
        if node.extra is not None and not node.extra.empty:
            return None
        if type(node) is AccumulateGrad:
            data = node.variable._data
            key += (data.shape, data.dtype)
            continue
        assert isinstance(node, Backward)
        saved, rule, seq = node.saved, node.rule, node.seq
        if saved is None or isinstance(node.op, Bodied):
            return None
        key.append(rule)  # there is one for an op and the operands that want gradients
        if node.params:
            key += (type(node), *sorted(node.params.items()))
        for slot, edge in enumerate(node.behind):
            x = saved[slot]
            if edge is None:
                array = getattr(x, "_data", x)
                if written_out(array):
                    key += (array.dtype, array.tobytes())
                    continue
                key += (array.shape, array.dtype)
                if not rule.needs[slot]:
                    continue
                cell = getattr(x, "_cell", None)
            else:
                source = place[edge]
                key.append(source)
                if not rule.needs[slot]:
                    continue
                cell, array = x._cell, x._data
            if cell is not None and cell.written > seq:
                node.check()
            if edge is not None:
                if source in taken:
                    continue
                taken.add(source)
            arrays.append(array if array.ndim else array[()])
        if rule.reads_result:
            if node.cell is not None and node.cell.written > seq:
                node.check()
            if k not in taken:
                taken.add(k)
                arrays.append(node.result if node.result.ndim else node.result[()])
    try:
        hash(made := tuple(key))
    except TypeError:  # an array among the parameters
        return None
    return made, arrays


# ---------------------------------------------------------------- the kernel


def _buy(entry: _Entry, order: Sequence[Node], gradient: Any, arrays: Sequence[Any]) -> None:
    """Give a structure its kernel, if it can be compiled."""
    table.bought += _cost(KERNEL, len(order))
    start = time.perf_counter()
    try:
        made = build(order, gradient)
        made(order, gradient, arrays)  # compiled now
    except SymgradError as error:
        note = f"stays with NumPy ({error})"
    else:
        note = f"compiled in {time.perf_counter() - start:.2f} s"
        entry.kernel = made
        table.kernels[entry] = None
        if len(table.kernels) > KEPT:
            oldest, _ = table.kernels.popitem(last=False)
            oldest.kernel = None
            table.entries.pop(oldest.key, None)
    if os.environ.get("SYMGRAD_LOG", "0") not in ("", "0"):
        where = next((n.where for n in order if n.where), None)
        ops = sum(isinstance(n, Backward) for n in order)
        place = f" at {where}" if where else ""
        sys.stderr.write(
            f"symgrad: backward of {ops} ops{place}, seen {entry.count + 1} times: {note}\n"
        )


@dataclass(frozen=True)
class Kernel:
    """A compiled backward pass, which gives the bits of the pass node by node.

    Attributes
    ----------
    function:
        Takes the root's gradient, what the rules read, and ``more``; returns the gradients of
        the leaves.
    more:
        Constants and leaves that no rule reads but the compiler's formula does: the place of
        a node in the pass, and of the operand; None for a leaf itself.
    """

    function: Callable[..., Any]
    more: tuple[tuple[int, int | None], ...]

    def __call__(self, order: Sequence[Node], gradient: Any, arrays: Sequence[Any]) -> Any:
        """Return the gradients; None if one of ``more`` was overwritten since it was used."""
        rest = []
        if self.more:
            first = min(n.seq for n in order if isinstance(n, Backward))
            for k, slot in self.more:
                node = order[k]
                if slot is None:
                    assert isinstance(node, AccumulateGrad)
                    x: Any = node.variable
                else:
                    assert isinstance(node, Backward)
                    assert node.saved is not None
                    x = node.saved[slot]
                cell = getattr(x, "_cell", None)
                if cell is not None and cell.written > first:
                    return None
                array = getattr(x, "_data", x)
                rest.append(array if array.ndim else array[()])
        return self.function(gradient[()], *arrays, *rest)


def build(order: Sequence[Node], gradient: Any) -> Kernel:
    """Return the kernel of a pass, for a gradient of the root like the given one."""
    start = Input("gradient", gradient.shape, gradient.dtype)
    leaves = [n for n in order if isinstance(n, AccumulateGrad)]
    with apart():  # equal ops have each its own node on the way back
        nodes, read, constants = _recorded(order)
        wrt = [nodes[n] for n in leaves]
        found = pull_back([nodes[order[0]]], [start], wrt)
    pulled = [
        g if g is not None else as_node(Traced(Literal(0.0, x.dtype)) * np.ones(x.shape, x.dtype))
        for g, x in zip(found, wrt, strict=True)
    ]
    place: dict[GraphNode, tuple[int, int | None]] = {
        nodes[n]: (order.index(n), None) for n in leaves
    }
    place |= {x: (order.index(n), slot) for (n, slot), x in constants.items()}
    given = {start, *read}
    more = [n for n in _behind(pulled, given) if n in place]

    def backward(*values: Any) -> Any:
        new = dict(zip([start, *read, *more], map(as_node, values), strict=True))
        for node in _behind(pulled, new):
            operands = tuple(new[x] for x in node.operands)
            if operands == node.operands:
                new[node] = node
            else:
                with within(where=node.where):
                    new[node] = apply(node.op, operands, node.items, node.shape, node.dtype)
        return tuple(Traced(new[n]) for n in pulled)

    return Kernel(compile(backward, dynamic=False, rounding="numpy"), tuple(place[n] for n in more))


def _behind(outputs: Sequence[GraphNode], given: Container[GraphNode]) -> list[GraphNode]:
    """Return the nodes that ``outputs`` need beside those given, operands first."""
    done: set[GraphNode] = set()
    order: list[GraphNode] = []
    stack = [n for n in outputs if n not in given]
    while stack:
        node = stack[-1]
        waiting = [x for x in node.operands if x not in done and x not in given]
        if waiting and node not in done:
            stack += waiting
            continue
        stack.pop()
        if node not in done:
            done.add(node)
            order.append(node)
    return order


def _recorded(
    order: Sequence[Node],
) -> tuple[dict[Node, GraphNode], list[GraphNode], dict[tuple[Node, int], GraphNode]]:
    """Return the recorded ops as a graph, what the rules read of it, and the constants.

    What is read is in the order of :func:`describe`, constants are by node and operand.
    """
    nodes: dict[Node, GraphNode] = {}
    constants: dict[tuple[Node, int], GraphNode] = {}
    for k, node in reversed(list(enumerate(order))):
        if isinstance(node, AccumulateGrad):
            nodes[node] = Input(f"x{k}", node.variable.shape, node.variable.dtype)
            continue
        assert isinstance(node, Backward)
        assert node.saved is not None
        operands: list[Any] = []
        for slot, (edge, x) in enumerate(zip(node.edges, node.saved, strict=True)):
            array = getattr(x, "_data", x)
            if edge is not None:
                operands.append(Traced(nodes[edge]))
            elif written_out(array):
                operands.append(array[()])
            else:
                made = constants[node, slot] = Input(f"c{k}_{slot}", array.shape, array.dtype)
                operands.append(Traced(made))
        with within(where=node.where):
            nodes[node] = as_node(node.op(*operands, **node.params))
    read: list[GraphNode] = []
    taken: set[Node] = set()
    for node in order:
        if not isinstance(node, Backward):
            continue
        for slot, (edge, needed) in enumerate(zip(node.edges, node.rule.needs, strict=True)):
            if needed and edge is not None and edge not in taken:
                taken.add(edge)
                read.append(nodes[edge])
            elif needed and (node, slot) in constants:
                read.append(constants[node, slot])
        if node.rule.reads_result and node not in taken:
            taken.add(node)
            read.append(nodes[node])
    return nodes, read, constants


def written_out(array: Any) -> bool:
    """Tell whether a constant is part of the structure: numbers in the code, and whole ones."""
    return isinstance(array, np.generic) or (array.ndim == 0 and array.dtype.kind != "f")
