"""Dense derivatives that are large and mostly zeros: said once, before they are computed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .._graph import Node
from .._lanes import blocks_of, memory
from .._shapes import dim_product, hint, recording
from ..errors import OutOfMemoryError, SparsityWarning

#: From so many entries on it is looked at how many are none, and is told if so few are some.
LARGE, FEW = 4_000_000, 1 / 16


def check_density(
    name: str, function: Callable[..., Any], outputs: Sequence[Node], inputs: Sequence[Node]
) -> None:
    """Warn of a large dense derivative that is mostly zeros, refuse one that no memory holds."""
    pairs = [(y, x) for y in outputs for x in inputs]
    counts = [hint(dim_product(y.shape)) * hint(dim_product(x.shape)) for y, x in pairs]
    total = sum(counts)
    if total < LARGE:
        return
    call = f"sg.{name}({getattr(function, '__name__', 'f')}, sparse=True)"
    size = sum(n * y.dtype.itemsize for n, (y, _) in zip(counts, pairs, strict=True))
    if size > memory():
        raise OutOfMemoryError(
            f"the dense {name} has {total:,} entries, {size / 1e9:,.0f} GB, more than this machine "
            f"has: write {call} if most are zeros, or sg.vjp or sg.jvp for products with it"
        )
    entries = _entries(outputs, inputs)
    if entries is not None and entries < FEW * total:
        warnings.warn(
            f"the dense {name} has {total:,} entries, of which at most {entries:,} are not zero: "
            f"{call} computes and stores these alone",
            SparsityWarning,
            stacklevel=2,
        )


def _entries(outputs: Sequence[Node], inputs: Sequence[Node]) -> int | None:
    """Return how many entries the blocks have; None if they cannot tell."""
    dense: list[Node] = []
    with recording():  # what is decided for this question alone binds no call
        found = blocks_of(outputs, inputs, lambda node, _: dense.append(node))
    if dense or found.cuts:
        return None
    return sum(hint(dim_product(b.lanes)) for blocks in found.outputs for b in blocks)
