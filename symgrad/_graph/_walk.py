"""The walk that every pass begins with: operands before users, without recursion."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar


class Linked(Protocol):
    """What can be walked over; equal ones are one."""

    operands: tuple[Any, ...]


LinkedT = TypeVar("LinkedT", bound=Linked)


def topological(outputs: Iterable[LinkedT], limit: int | None = None) -> list[LinkedT]:
    """Return the nodes that ``outputs`` need, operands before users, without recursion.

    The order is depth-first from the first output on, so it depends on the graph alone.
    With ``limit`` the walk stops after that many nodes.
    """
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
