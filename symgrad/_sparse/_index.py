"""Positions along an axis, as functions of the lanes of a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.base.sizes import Dimension, Shape, as_dim, as_size, dim_expand
from .._core.graph import Iota, Node
from .._core.ops import RESHAPE
from .._core.ops.movement import is_single
from .._core.trace import Traced, as_node


def traced(node: Node) -> Any:
    """Return a node as a value to compute with."""
    return Traced(node)


def dim(value: Any) -> Dimension:
    """Return the normal form of a dimension."""
    return dim_expand(as_dim(value))


@dataclass(frozen=True)
class Index:
    """``start + sum(step * lane) + rest``: a position as a function of the lanes.

    Attributes
    ----------
    start:
        Where it begins, a dimension.
    steps:
        ``(lane, step)`` pairs in order of the lanes, no step zero.
    rest:
        What is computed: a node of integers that is broadcast to the lanes, or None.
    """

    start: Dimension = 0
    steps: tuple[tuple[int, Dimension], ...] = ()
    rest: Node | None = None

    @staticmethod
    def lane(axis: int, start: Dimension = 0, step: Dimension = 1) -> Index:
        """Return the position that goes along one lane."""
        return Index(dim(start), ((axis, step),))

    @property
    def lanes(self) -> set[int]:
        """The lanes on which it depends."""
        found = {lane for lane, _ in self.steps}
        if self.rest is not None:
            found.update(k for k, size in enumerate(self.rest.shape) if not is_single(size))
        return found

    @property
    def fixed(self) -> bool:
        """Whether it is one number."""
        return not self.steps and self.rest is None

    @property
    def only(self) -> tuple[int, int] | None:
        """The one lane along which it goes, and the step if that is a number; else None."""
        if self.rest is None and len(self.steps) == 1 and isinstance(self.steps[0][1], int):
            return self.steps[0][0], self.steps[0][1]
        return None

    def __add__(self, other: Any) -> Index:
        if isinstance(other, Index):
            return _sum(self, other)
        return Index(dim(self.start + other), self.steps, self.rest)

    __radd__ = __add__

    def __mul__(self, factor: Any) -> Index:
        if factor == 0:
            return Index()
        steps = tuple((lane, dim(step * factor)) for lane, step in self.steps)
        rest = self.rest
        if rest is not None and factor != 1:
            rest = as_node(traced(rest) * as_size(as_dim(factor)))
        return Index(dim(self.start * factor), steps, rest)

    __rmul__ = __mul__

    def __sub__(self, other: Any) -> Index:
        return self.__add__(other * -1)

    def moved(self, places: Mapping[int, int]) -> Index:
        """Return it with lanes renumbered; ``rest`` has been already."""
        return Index(self.start, tuple(sorted((places[k], s) for k, s in self.steps)), self.rest)

    def shifted(self, lane: int, start: Dimension, step: int = 1) -> Index:
        """Return it for a lane that begins at ``start`` and goes by ``step`` in the old one."""
        by = dict(self.steps).get(lane, 0)
        if by == 0:
            return self
        steps = tuple((k, dim(s * step) if k == lane else s) for k, s in self.steps)
        return Index(dim(self.start + by * start), steps, self.rest)

    def node(self, lanes: Shape) -> Node:
        """Return it as a node of integers, broadcast to the lanes (or of shape ())."""
        total: Any = None
        for lane, step in self.steps:
            part = traced(along(Iota(lanes[lane]), lane, len(lanes)))
            part = part if step == 1 else part * as_size(step)
            total = part if total is None else total + part
        if self.rest is not None:
            total = traced(self.rest) if total is None else total + traced(self.rest)
        if total is None:
            return as_node(as_size(self.start), np.dtype(np.int64))
        return as_node(total if self.start == 0 else total + as_size(self.start))


def as_index(place: Any) -> Index:
    """Return a position that may be a dimension."""
    return place if isinstance(place, Index) else Index(dim(place))


def _sum(a: Index, b: Index) -> Index:
    steps = dict(a.steps)
    for lane, step in b.steps:
        steps[lane] = dim(steps.get(lane, 0) + step)
    rest = b.rest if a.rest is None else a.rest
    if a.rest is not None and b.rest is not None:
        rest = as_node(traced(a.rest) + traced(b.rest))
    kept = tuple(sorted((k, s) for k, s in steps.items() if s != 0))
    return Index(dim(a.start + b.start), kept, rest)


def along(node: Node, lane: int, count: int) -> Node:
    """Return a vector as an array of ``count`` axes that lies along one of them."""
    shape: list[Any] = [1] * count
    shape[lane] = node.shape[0]
    return node if count == 1 else as_node(RESHAPE(traced(node), shape=tuple(shape)))


def flat(rows: Sequence[Index], shape: Shape) -> Index:
    """Return the position in C order of an element of an array."""
    total = Index()
    for index, size in zip(rows, shape, strict=True):
        total = total * size + index
    return total
