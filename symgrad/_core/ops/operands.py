"""What array ops ask of their operands where the shape rule takes them as they come.

A trace makes only operands that go together, a file may hold others; and a kernel believes what
the node says. Sizes are compared by ``same`` and as ``Size``, so that a guard is recorded for what
only the example call shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.broadcast import show
from ..base.sizes import Dimension, Shape, agree, as_dim, as_size, same


def alike(operands: Sequence[Any], dtype: Any) -> str | None:
    """Say which of some operands is not of an element type."""
    other = next((x for x in operands if x.dtype != dtype), None)
    return None if other is None else f"an operand is {other.dtype}, not {dtype}"


@dataclass(frozen=True)
class Cores:
    """The law of a routine: what the last axes of its operands are.

    ``Cores("n n", "n+1 n")`` is for two operands, of square matrices and of such with a row more;
    a number stands for itself. The axes before are those of a batch, the same for all.

    Attributes
    ----------
    letters:
        A text for each operand.
    batched:
        Whether there may be a batch.
    kinds:
        NumPy's letters of the element types; all operands have one.
    ordered:
        ``ordered(sizes, **params)`` says whether the sizes by their letters fit the parameters.
    """

    letters: tuple[str, ...]
    batched: bool = True
    kinds: str = "f"
    ordered: Callable[..., bool] | None = None

    def __init__(self, *letters: str, **fields: Any) -> None:
        object.__setattr__(self, "letters", letters)
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def in_pairs(self) -> Cores:
        """Return the law of the routine for complex numbers, which are pairs of reals."""
        return Cores(*(f"{text} 2" for text in self.letters), ordered=self.ordered)

    def __call__(self, node: Any) -> str | None:
        """Say how operands do not fit."""
        if len(node.operands) != len(self.letters):
            return f"it has {len(node.operands)} operands, it takes {len(self.letters)}"
        first = node.operands[0]
        if first.dtype.kind not in self.kinds:
            return f"it is not computed in {first.dtype}"
        sizes: dict[str, Dimension] = {}
        lead = first.shape[: max(0, first.ndim - len(self.letters[0].split()))]
        for x, text in zip(node.operands, self.letters, strict=True):
            names = text.split()
            count = x.ndim - len(names)
            batch = count >= 0 and agree(x.shape[:count], lead) and (self.batched or not count)
            own = x.shape[max(count, 0) :]
            if not (batch and all(_is(n, d, sizes) for n, d in zip(names, own, strict=True))):
                return f"an operand of shape {show(x.shape)} is not {' by '.join(names)}"
        if self.ordered is not None:
            longer = {name: as_size(size) for name, size in sizes.items()}
            if not self.ordered(longer, **node.params):
                return f"its parameters do not fit an operand of shape {show(first.shape)}"
        return alike(node.operands, first.dtype)


def _is(name: str, size: Dimension, sizes: dict[str, Dimension]) -> bool:
    """Tell whether an axis is what a name says, by what letters have stood for."""
    if name.isdigit():
        return same(size, int(name))
    letter, _, more = name.partition("+")
    if letter not in sizes:
        sizes[letter] = as_dim(as_size(size) - int(more or 0))
    return same(size, as_dim(as_size(sizes[letter]) + int(more or 0)))


def indexed(node: Any, values: Any, array: Shape, indices: Sequence[Any]) -> str | None:
    """Say how values at the places of ``indices`` in an array do not go together."""
    axes, at = node.params["axes"], node.params["at"]
    if len(indices) != len(axes) or not indices:
        return f"{len(indices)} indices for {len(axes)} axes"
    for index in indices:
        if index.dtype != np.int64 or not agree(index.shape, indices[0].shape):
            return f"an index is {index.dtype} of shape {show(index.shape)}"
    rest = tuple(d for k, d in enumerate(array) if k not in axes)
    if at > len(rest):
        return f"there is no place {at} among {len(rest)} axes"
    if values is None or agree(values.shape, (*rest[:at], *indices[0].shape, *rest[at:])):
        return None
    return f"values of shape {show(values.shape)} for an array of shape {show(array)}"
