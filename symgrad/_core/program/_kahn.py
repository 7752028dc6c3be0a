"""Kahn's algorithm: a deterministic order, levels, and a named error for a cycle.

Source: A. B. Kahn, Topological sorting of large networks, CACM 5 (1962), 558-562.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import TypeVar

from ...errors import CycleError

T = TypeVar("T", bound=Hashable)


def kahn(
    items: Sequence[T],
    needs: Callable[[T], Iterable[T]],
    name: Callable[[T], str] = str,
) -> tuple[list[T], list[int]]:
    """Order ``items`` so that each comes after what it needs.

    Among the items that are ready the one that stands first in ``items`` comes first, so
    the order depends on nothing but the input, and values are used soon after they are
    made.

    Returns
    -------
    (order, levels)
        ``levels[k]`` is the round in which ``order[k]`` became ready; items of one level
        do not need each other and may run in parallel.

    Raises
    ------
    CycleError
        If items need each other in a circle; the message shows the circle.
    """
    levels = _levels(items, needs)
    if levels is not None:
        return list(items), levels
    rank = {item: k for k, item in enumerate(items)}
    users: list[list[int]] = [[] for _ in items]
    missing = [0] * len(items)
    for k, item in enumerate(items):
        for need in needs(item):
            before = rank.get(need)
            if before is not None:
                users[before].append(k)
                missing[k] += 1
    level = [0] * len(items)
    ready = [k for k, count in enumerate(missing) if count == 0]
    heapify(ready)
    order: list[int] = []
    while ready:
        k = heappop(ready)
        order.append(k)
        later = level[k] + 1
        for user in users[k]:
            if level[user] < later:
                level[user] = later
            missing[user] -= 1
            if missing[user] == 0:
                heappush(ready, user)
    if len(order) < len(items):
        raise CycleError(_describe(items, needs, missing, rank, name))
    return [items[k] for k in order], [level[k] for k in order]


def _levels(items: Sequence[T], needs: Callable[[T], Iterable[T]]) -> list[int] | None:
    """Return the levels if the items stand in order already, as in a depth-first walk.

    The first is ready then, and each that is done makes the next one ready: the order stays.
    """
    ours = set(items)
    level: dict[T, int] = {}
    for item in items:
        highest = 0
        for need in needs(item):
            below = level.get(need)
            if below is None:
                if need in ours:
                    return None
            elif below >= highest:
                highest = below + 1
        level[item] = highest
    return list(level.values())


def _describe(
    items: Sequence[T],
    needs: Callable[[T], Iterable[T]],
    missing: Sequence[int],
    rank: dict[T, int],
    name: Callable[[T], str],
) -> str:
    """Follow unmet needs from any stuck item until one comes again."""
    item = next(x for x, count in zip(items, missing, strict=True) if count)
    path: list[T] = []
    seen: dict[T, int] = {}
    while item not in seen:
        seen[item] = len(path)
        path.append(item)
        item = next(x for x in needs(item) if x in rank and missing[rank[x]])
    circle = [*path[seen[item] :], item]
    return "the graph has a cycle: " + " needs ".join(name(x) for x in circle)
