"""Where a certificate looks: the corners and ends of a domain, what is near them, at random."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ._call import Call

#: Corners of boxes of up to this many intervals are points.
CORNERS = 4
#: Distances from an end, relative to the interval, at which it is looked at, too.
NEAR = (1e-6, 1e-12)


def middle(f: Callable[..., Any], domain: Any) -> tuple[float, ...]:
    """Return example arguments where all are numbers of the domain."""
    try:
        parameters = inspect.signature(f).parameters.values()
        names = [p.name for p in parameters if p.default is p.empty and p.kind < p.VAR_POSITIONAL]
    except (TypeError, ValueError):  # a NumPy function that does not tell
        names = list(domain) if isinstance(domain, Mapping) else ["x"]
    if not isinstance(domain, Mapping):
        return (mean(domain),) * max(len(names), 1)
    missing = [n for n in names if n not in domain]
    if missing:
        other = [str(n) for n in domain if n not in names]
        raise ArgumentError(
            f"verify needs a value or an interval for {', '.join(missing)}"
            + (f", which {', '.join(other)} is not" if other else "")
            + ': give the arguments, or domain={"x": (low, high), ...} for each'
        )
    return tuple(mean(domain[n]) for n in names)


def mean(interval: Any) -> float:
    low, high = _checked(interval)
    return 0.5 * low + 0.5 * high


def _checked(interval: Any) -> tuple[float, float]:
    try:
        low, high = map(float, interval)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"a domain is (low, high) or a dict of them by argument, not {interval!r}"
        ) from None
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise ArgumentError(f"a domain needs finite low <= high, not ({low}, {high})")
    return low, high


def intervals_of(call: Call, domain: Any) -> dict[int, tuple[float, float]]:
    """Return the interval of each argument leaf that has one."""
    if isinstance(domain, Mapping):
        return {
            k: _checked(interval)
            for name, interval in domain.items()
            for k in call.argument(0 if isinstance(call.function, np.ufunc) else name)[1]
            if call.real(k)
        }
    interval = _checked(domain)
    return {k: interval for k in range(len(call.leaves)) if call.real(k)}


def points_of(
    call: Call, intervals: Mapping[int, tuple[float, float]], count: int, seed: int
) -> Iterator[list[Any]]:
    """Yield argument leaves: corners, ends and what is near them, 0, and random points."""

    def placed(choice: Mapping[int, Any]) -> list[Any]:
        leaves = list(call.leaves)
        for k, value in choice.items():
            like = np.asarray(leaves[k])
            filled = np.broadcast_to(np.asarray(value, like.dtype), like.shape)
            leaves[k] = filled.copy() if like.shape else filled[()]
        return leaves

    middle = {k: 0.5 * low + 0.5 * high for k, (low, high) in intervals.items()}
    seen: set[tuple[float, ...]] = set()

    def once(choice: dict[int, float]) -> Iterator[list[Any]]:
        key = tuple(choice.values())
        if key not in seen:
            seen.add(key)
            yield placed(choice)

    if len(intervals) <= CORNERS:
        for corner in itertools.product(*intervals.values()):
            yield from once(dict(zip(intervals, corner, strict=True)))
    for k, (low, high) in intervals.items():
        width = high - low
        ends = [low, high, *(low + t * width for t in NEAR), *(high - t * width for t in NEAR)]
        inside = [x for x in (0.0, 1e-8, -1e-8) if low < x < high]
        for x in [*ends, *inside]:
            yield from once({**middle, k: x})
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield placed({
            k: rng.uniform(low, high, np.shape(call.leaves[k]))
            for k, (low, high) in intervals.items()
        })  # fmt: skip


def plain(value: Any) -> Any:
    return np.asarray(value).tolist()
