"""Loops and branches under NumPy: the reference that kernels are tested by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def run_loop(
    *operands: Any,
    body: Callable[..., tuple[Any, ...]],
    carries: int,
    cond: Callable[..., tuple[Any, ...]] | None,
    elements: int,
    length: int | None,
    reverse: bool,
    slots: int | None = None,
) -> tuple[Any, ...]:
    """Run a loop; return the last carries and the stacked rest of the body's results."""
    carry = operands[:carries]
    xs, consts = operands[carries : carries + elements], operands[carries + elements :]
    rows: list[tuple[Any, ...]] = []
    if cond is not None:
        while cond(*carry, *consts)[0]:
            found = body(np.int64(len(rows)), *carry, *consts)
            carry = found[:carries]
            rows.append(found[carries:])
    else:
        count = len(xs[0]) if length is None else length
        for i in reversed(range(count)) if reverse else range(count):
            found = body(np.int64(i), *carry, *(x[i] for x in xs), *consts)
            carry = found[:carries]
            rows.append(found[carries:])
    if reverse:
        rows.reverse()
    if rows:
        return (*carry, *(np.stack(column) for column in zip(*rows, strict=True)))
    kinds = getattr(body, "kinds", ())[carries:]
    return (*carry, *(np.zeros((0, *shape), dtype) for shape, dtype in kinds))


def run_branch(
    index: Any, *operands: Any, bodies: tuple[Callable[..., tuple[Any, ...]], ...], kept: bool
) -> tuple[Any, ...]:
    """Run the body that ``index`` names."""
    return tuple(bodies[int(index)](*operands))
