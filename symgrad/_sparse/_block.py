"""A block: a part of a Jacobian as rows, columns and values over common axes, the lanes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._core.base.sizes import Dimension, Shape, as_size, dim_product
from .._core.graph import Literal, Node
from .._core.ops import BROADCAST, RESHAPE, SLICE, TRANSPOSE
from .._core.ops.gathers import GATHER
from .._core.ops.movement import is_single
from .._core.ops.reductions import reduced
from .._core.trace import as_node
from .._core.transforms.guards import Guarded, settled
from ._index import Index, dim, traced


def _compares(mask: Node) -> bool:
    """Tell whether truth values over lanes are made of what is over some of them.

    These are short; a whole mask, of which a slice may be wanted, has the size of a dense Jacobian.
    """
    return (
        mask.dtype.kind == "b"
        and mask.op.kind == "map"
        and all(len(x.shape) == len(mask.shape) for x in mask.operands)
        and all(x.shape != mask.shape or _compares(x) for x in mask.operands)
    )


@dataclass(frozen=True)
class Block:
    """Entries ``J[rows, cols] += value`` for all positions of the lanes.

    Attributes
    ----------
    source:
        What is differentiated by: an input, or a step in whose place one is put.
    lanes:
        The lengths of the lanes, none of them the number 1.
    rows, cols:
        The position in the result and in the source, one entry for each of their axes.
    slope:
        The value with the conditions under which it counts. Its nodes have an axis for each
        lane, of length 1 where they do not depend on it, or no axes.
    mask:
        Truth values over the lanes: where there are entries at all. None: everywhere.
    """

    source: Node
    lanes: Shape
    rows: tuple[Index, ...]
    cols: tuple[Index, ...]
    slope: Guarded
    mask: Node | None = None

    @property
    def value(self) -> Node:
        """The value, 0 where it does not count."""
        return settled(self.slope)

    @property
    def place(self) -> Any:
        """What blocks have in common that can be added."""
        return self.source, self.lanes, self.rows, self.cols, self.mask

    def within(self, slope: Guarded) -> Block:
        """Return the block with another value."""
        return Block(self.source, self.lanes, self.rows, self.cols, slope, self.mask)

    def with_rows(self, rows: tuple[Index, ...]) -> Block:
        """Return the block at other places of the result."""
        return replace(self, rows=rows)

    def with_row(self, row: int, index: Index) -> Block:
        """Return the block with another row position; one more if ``row`` is their number."""
        return replace(self, rows=(*self.rows[:row], index, *self.rows[row + 1 :]))

    # ------------------------------------------------------------ changes of the lanes

    def changed(
        self,
        lanes: Shape,
        node: Callable[[Node], Node],
        index: Callable[[Index], Index],
    ) -> Block:
        """Return the block over other lanes.

        ``node`` takes an array over the old lanes to the new ones; ``index`` does it for the
        linear part of a position.
        """

        def each(old: Node) -> Node:
            if _compares(old):
                return as_node(old.op(*(traced(each(x)) for x in old.operands), **old.params))
            return node(old) if old.shape else old

        def position(old: Index) -> Index:
            rest = None if old.rest is None else each(old.rest)
            return index(Index(old.start, old.steps, rest))

        value, guard, clean = self.slope
        return Block(
            self.source,
            lanes,
            tuple(map(position, self.rows)),
            tuple(map(position, self.cols)),
            Guarded(each(value), tuple((each(c), truth) for c, truth in guard), clean),
            None if self.mask is None else each(self.mask),
        )

    def extended(self, sizes: Sequence[Dimension]) -> tuple[Block, list[Index]]:
        """Return the block with further lanes, and the positions along these."""
        new: list[Index] = []
        lanes = list(self.lanes)
        for size in sizes:
            if is_single(size):
                new.append(Index())
            else:
                new.append(Index.lane(len(lanes)))
                lanes.append(dim(size))
        added = len(lanes) - len(self.lanes)
        if not added:
            return self, new
        ones = (1,) * added
        widened = self.changed(
            tuple(lanes),
            lambda x: as_node(RESHAPE(traced(x), shape=(*x.shape, *ones))),
            lambda i: i,
        )
        return widened, new

    def narrowed(self, lane: int, start: Dimension, step: int, count: Dimension) -> Block:
        """Return the part with ``count`` positions of a lane: ``start``, ``start + step``..."""
        if is_single(count):
            return self.at(lane, start)
        lanes = tuple(dim(count) if k == lane else size for k, size in enumerate(self.lanes))

        def node(x: Node) -> Node:
            if is_single(x.shape[lane]):
                return x
            region: list[Any] = [(0, 1, size) for size in x.shape]
            region[lane] = (start, step, count)
            return as_node(SLICE(traced(x), region=tuple(region)))

        return self.changed(lanes, node, lambda i: i.shifted(lane, start, step))

    def at(self, lane: int, place: Dimension) -> Block:
        """Return the part at one position of a lane, which is no lane any more."""
        moved = {k: k - (k > lane) for k in range(len(self.lanes))}

        def node(x: Node) -> Node:
            region: list[Any] = [(0, 1, size) for size in x.shape]
            region[lane] = (0 if is_single(x.shape[lane]) else place, 1, None)
            return as_node(SLICE(traced(x), region=tuple(region)))

        def index(i: Index) -> Index:
            i = i.shifted(lane, place, 0)
            return Index(i.start, tuple((k, s) for k, s in i.steps if k != lane), i.rest).moved(
                moved
            )

        return self.changed(reduced(self.lanes, (lane,)), node, index)

    def split(self, lane: int, sizes: Sequence[Dimension]) -> Block:
        """Return the block with a lane as several, in C order."""
        kept = [size for size in sizes if not is_single(size)]
        new = tuple(map(dim, kept))
        lanes = (*self.lanes[:lane], *new, *self.lanes[lane + 1 :])
        moved = {k: k + (len(new) - 1) * (k > lane) for k in range(len(self.lanes))}

        def node(x: Node) -> Node:
            inner = (1,) * len(new) if is_single(x.shape[lane]) else new
            shape = (*x.shape[:lane], *inner, *x.shape[lane + 1 :])
            return as_node(RESHAPE(traced(x), shape=shape))

        def index(i: Index) -> Index:
            by = dict(i.steps).get(lane, 0)
            rest = Index(i.start, tuple((k, s) for k, s in i.steps if k != lane), i.rest)
            found, stride = rest.moved(moved), by
            for k in reversed(range(len(new))):
                if by != 0:
                    found = found + Index.lane(lane + k, 0, stride)
                stride = dim(stride * new[k])
            return found

        return self.changed(lanes, node, index)

    def merged(self, order: Sequence[int]) -> Block:
        """Return the block with some lanes, in C order, as one, which is the last."""
        left = [k for k in range(len(self.lanes)) if k not in order]
        sizes = tuple(self.lanes[k] for k in order)
        length = dim(dim_product(sizes))
        lanes = (*(self.lanes[k] for k in left), length)
        moved = {k: place for place, k in enumerate(left)}
        strides = [dim(dim_product(sizes[k + 1 :])) for k in range(len(sizes))]

        def node(x: Node) -> Node:
            own = [x.shape[k] for k in left]
            if all(is_single(x.shape[k]) for k in order):
                return as_node(RESHAPE(traced(x), shape=(*own, 1)))
            turned = TRANSPOSE(traced(x), axes=(*left, *order))
            full = BROADCAST(turned, shape=(*own, *sizes))
            return as_node(RESHAPE(full, shape=(*own, length)))

        def index(i: Index) -> Index:
            steps = dict(i.steps)
            kept = Index(i.start, tuple((k, s) for k, s in i.steps if k not in order), i.rest)
            found, last = kept.moved(moved), steps.get(order[-1], 0)
            if all(dim(last * n) == steps.get(k, 0) for k, n in zip(order, strides, strict=True)):
                return found + (Index.lane(len(left), 0, last) if last != 0 else Index())
            lane = traced(Index.lane(len(left)).node(lanes))
            for k, n, size in zip(order, strides, sizes, strict=True):
                if k in steps:
                    digit = lane // as_size(n) % as_size(size)
                    found = found + Index(rest=as_node(digit)) * steps[k]
            return found

        return self.changed(lanes, node, index)

    def gathered(self, given: Mapping[int, Node]) -> tuple[Block, list[Index]]:
        """Return the block with some lanes read at computed positions.

        These, arrays of one shape for each of the lanes, replace them. The new lanes, which are
        the arrays' axes, are the last ones; the positions along them are returned, too.
        """
        total, left = len(self.lanes), len(self.lanes) - len(given)
        moved, place = {}, 0
        for k in range(total):
            moved[k] = place
            place += k not in given
        shape = next(iter(given.values())).shape
        new = tuple(dim(size) for size in shape if not is_single(size))
        wanted = {k: as_node(RESHAPE(traced(x), shape=new)) if new != x.shape else x
                  for k, x in given.items()}  # fmt: skip

        def node(x: Node) -> Node:
            used = [k for k in given if not is_single(x.shape[k])]
            sizes = tuple(size for k, size in enumerate(x.shape) if k not in given)
            if not used:
                return as_node(RESHAPE(traced(x), shape=(*sizes, *(1,) * len(new))))
            found = GATHER(
                traced(x),
                *(traced(wanted[k]) for k in used),
                axes=tuple(used),
                at=total - len(used),
            )
            return as_node(RESHAPE(found, shape=(*sizes, *new)))

        def index(i: Index) -> Index:
            kept = tuple((k, s) for k, s in i.steps if k not in given)
            found = Index(i.start, kept, i.rest).moved(moved)
            for k, step in i.steps:
                if k in given:
                    read = as_node(RESHAPE(traced(wanted[k]), shape=(*(1,) * left, *new)))
                    found = found + Index(rest=read) * step
            return found

        lanes = (*reduced(self.lanes, tuple(given)), *new)
        places, lane = [], left
        for size in shape:
            single = is_single(size)
            places.append(Index() if single else Index.lane(lane))
            lane += not single
        return self.changed(lanes, node, index), places

    def masked(self, mask: Node) -> Block:
        """Return the block with entries only where a truth value over the lanes holds, too."""
        if self.mask is not None:
            mask = as_node(traced(self.mask) & traced(mask))
        return replace(self, mask=mask)

    def summed(self) -> Block:
        """Return the block without lanes on which no place depends: values there are added."""
        used = set().union(*(i.lanes for i in (*self.rows, *self.cols)))
        if self.mask is not None:
            used |= Index(rest=self.mask).lanes
        idle = tuple(k for k in range(len(self.lanes)) if k not in used)
        if not idle:
            return self
        value, count = traced(self.value), traced(Literal(1, self.slope.value.dtype))
        if not value.node.shape:
            value = RESHAPE(value, shape=(1,) * len(self.lanes))
        varying = tuple(k for k in idle if not is_single(value.node.shape[k]))
        for k in idle:
            if k not in varying:
                count = count * as_size(self.lanes[k])
        if varying:
            value = np.sum(value, axis=varying, keepdims=True)
        total = Guarded(as_node(value if len(varying) == len(idle) else value * count))
        block = self.within(total)
        for k in reversed(idle):
            block = block.at(k, 0)
        return block
