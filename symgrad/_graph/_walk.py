"""The walk that every pass begins with: operands before users, without recursion."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from typing import Any, Protocol, TypeVar


class Linked(Protocol):
    """What can be walked over; equal ones are one."""

    operands: tuple[Any, ...]


LinkedT = TypeVar("LinkedT", bound=Linked)


class _Last(threading.local):
    walks: dict[tuple[Any, ...], list[Any]] | None = None


_last = _Last()

#: How many walks are kept: a pass and the next one begin with the same.
KEPT = 2


@contextlib.contextmanager
def walks_kept() -> Iterator[None]:
    """Keep the last walks in the block, for the pass after the one that has taken it."""
    before, _last.walks = _last.walks, {}
    try:
        yield
    finally:
        _last.walks = before


def topological(outputs: Iterable[LinkedT], limit: int | None = None) -> list[LinkedT]:
    """Return the nodes that ``outputs`` need, operands before users, without recursion.

    The order is depth-first from the first output on, so it depends on the graph alone.
    With ``limit`` the walk stops after that many nodes.
    """
    walks = _last.walks
    if walks is None or limit is not None:
        return _walked(outputs, limit)
    roots = tuple(outputs)
    known = walks.get(roots)
    if known is None:
        known = _walked(roots, None)
        if len(walks) == KEPT:
            del walks[next(iter(walks))]
        walks[roots] = known
    return known.copy()


def _walked(outputs: Iterable[LinkedT], limit: int | None) -> list[LinkedT]:
    order: dict[LinkedT, None] = {}
    for root in outputs:
        stack: list[LinkedT | None] = [root]
        while stack:
            node = stack.pop()
            if node is None:  # all that the node below needs is done
                node = stack.pop()
                assert node is not None
            elif node in order:
                continue
            else:
                first = 0
                for x in node.operands:
                    if x not in order:
                        if not first:
                            stack += (node, None)
                            first = len(stack)
                        stack.append(x)
                if first:
                    if len(stack) > first + 1:
                        stack[first:] = stack[: first - 1 : -1]
                    continue
            order[node] = None
            if len(order) == limit:
                break
        if len(order) == limit:
            break
    return list(order)
