"""Backward passes whose structure comes back are compiled.

The first passes through a graph run at once, node by node, under NumPy. A structure (ops,
parameters, shapes, types, numbers written in the code, and how they hang together) that has
been seen ``AFTER`` times becomes one kernel (``_kernel``), which gives the same bits.

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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from .._core.base.fork_safety import free_in_children
from .._core.base.state import now
from .._core.op import Bodied
from ..errors import SymgradError
from ._kernel import Kernel, build, written_out
from ._node import AccumulateGrad, Backward, Node
from ._origin import Cell

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
    reads = _Reads()
    for k, node in enumerate(order):
        if node.extra is not None and not node.extra.empty:
            return None
        if type(node) is AccumulateGrad:
            data = node.variable._data
            key += (data.shape, data.dtype)
            continue
        assert isinstance(node, Backward)
        saved, rule = node.saved, node.rule
        if saved is None or isinstance(node.op, Bodied):
            return None
        key.append(rule)  # there is one for an op and the operands that want gradients
        if node.params:
            key += (type(node), *sorted(node.params.items()))
        for edge, x, needed in zip(node.behind, saved, rule.needs, strict=True):
            if edge is not None:
                source = place[edge]
                key.append(source)
                if needed:
                    reads.add(node, x._data, x._cell, source)
                continue
            array = getattr(x, "_data", x)
            if written_out(array):
                key += (array.dtype, array.tobytes())
                continue
            key += (array.shape, array.dtype)
            if needed:
                reads.add(node, array, getattr(x, "_cell", None))
        if rule.reads_result:
            reads.add(node, node.result, node.cell, k)
    try:
        hash(made := tuple(key))
    except TypeError:  # an array among the parameters
        return None
    return made, reads.arrays


class _Reads:
    """The arrays that the rules of a pass read, the result of a node once."""

    def __init__(self) -> None:
        self.arrays: list[Any] = []
        self._taken: set[int] = set()

    def add(self, node: Backward, array: Any, cell: Cell | None, source: int | None = None) -> None:
        """Add what a node reads; ``source`` is the place of the node that it is the result of."""
        if cell is not None and cell.written > node.seq:
            node.check()
        if source in self._taken:
            return
        if source is not None:
            self._taken.add(source)
        self.arrays.append(array if array.ndim else array[()])


# ---------------------------------------------------------------- a kernel for it


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
