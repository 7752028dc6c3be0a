"""Assignment into traced arrays.

A node never changes; a traced array is a *name* for a node, and ``x[i] = v`` makes it a name
for another one: the old array with ``v`` in the place of one element. Writes are kept in a
list until the whole array is asked for, so that a loop that fills an array makes one
assembly, and reading an element back gives the very value that was written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np
import sympy as sp

from ...errors import TraceError
from ..base.sizes import Shape, as_dim, as_expr, dim_product, hint, require
from ..base.state import now
from ..graph import Literal, Node, apply
from ..op import registry
from ..ops.gathers import GATHER
from ..ops.regions import Region
from ..ops.updates import PUT, UPDATE
from ._bind import bind_nodes, cast
from ._views import DIAGONAL, PLACES, Step, taken

Entry = tuple[Any, int, Any]

_OPS = registry.ops
_SLICE, _RESHAPE, _TRANSPOSE = (_OPS[name] for name in ("Slice", "Reshape", "Transpose"))

#: Writes of different forms that are kept side by side; more are carried out.
KEPT = 8

#: Parts that are added, or written between reads of the whole, before they become one array.
ADDED = 64

#: A region that is this many times smaller than the array is put together of the parts written
#: there when it is read; for a larger one the whole is made, which the next read has, too.
SMALLER = 4


# ---------------------------------------------------------------- regions


def _form(region: Region) -> tuple[Any, ...]:
    """A region without the integers that pick along axes."""
    return tuple(None if size is None else (start, step, size) for start, step, size in region)


def _picks(region: Region) -> tuple[Any, ...]:
    return tuple(start for start, _, size in region if size is None)


def _known(picks: tuple[Any, ...]) -> bool:
    return all(isinstance(place, int) for place in picks)


def _below(a: Any, b: Any) -> bool:
    """Tell whether ``a < b``; where only the hints can tell, a guard keeps it true."""
    if isinstance(a, int) and isinstance(b, int):
        return a < b
    if not hint(as_dim(a)) < hint(as_dim(b)):
        return False
    if not _surely_below(a, b):
        require(sp.Lt, a, b)
    return True


@lru_cache(maxsize=4096)
def _surely_below(a: Any, b: Any) -> bool:
    """Tell whether ``a < b`` for all sizes."""
    a, b = as_expr(a), as_expr(b)
    # SymPy takes half a millisecond to say so.
    if a.is_Symbol and (b.is_Symbol or b.is_Integer):
        return False  # a size has no bound above
    if a.is_Integer and b.is_Symbol:
        return bool((b.is_positive and a <= 0) or (b.is_nonnegative and a < 0))
    return bool(sp.expand(b - a).is_positive)


def _ends(entry: Entry) -> tuple[Any, Any]:
    start, step, size = entry
    if size is None:
        return start, start
    last = start + step * (size - 1)
    return (start, last) if step > 0 else (last, start)


def _apart(a: Region, b: Region) -> bool:
    """Tell whether two regions have no element in common."""
    for one, other in zip(a, b, strict=True):
        (low, high), (start, stop) = _ends(one), _ends(other)
        if _below(high, start) or _below(stop, low):
            return True
    return False


def _meet(read: Entry, written: Entry) -> tuple[Entry | None, Entry | None] | bool:
    """Return where two entries meet, as an entry within each; False if they lie apart.

    An axis that an integer picks has none within. True stands for what numbers do not tell.
    """
    (start, step, size), (first, by, count) = read, written
    if read == written:
        return (None, None) if size is None else ((0, 1, size), (0, 1, size))
    if not all(isinstance(k, int) for k in (start, first, size or 0, count or 0)):
        return True
    if size is None and count is None:
        return False
    if size is None or count is None:
        place = _turn(start, written) if size is None else _turn(first, read)
        if place is None:
            return False
        return (None, (place, 1, None)) if size is None else ((place, 1, None), None)
    if step != 1 or by != 1:
        return True
    low, high = max(start, first), min(start + size, first + count)
    return low < high and ((low - start, 1, high - low), (low - first, 1, high - low))


def _turn(place: int, entry: Entry) -> int | None:
    """Return which of an entry's places one place is."""
    turn, rest = divmod(place - entry[0], entry[1])
    return turn if rest == 0 and 0 <= turn < entry[2] else None


def _common(read: Region, written: Region) -> tuple[Region, Region] | bool:
    """Return what two regions have in common, as a region of each; False, True as for entries."""
    of_read: list[Any] = []
    of_written: list[Any] = []
    sure = True
    for one, other in zip(read, written, strict=True):
        met = _meet(one, other)
        if met is False:
            return False
        if met is True:
            sure = False
            continue
        if one[2] is not None:
            of_read.append(met[0])
        if other[2] is not None:
            of_written.append(met[1])
    return not sure or (tuple(of_read), tuple(of_written))


def _count(sizes: Shape) -> int:
    return math.prod(hint(n) for n in sizes)


# ---------------------------------------------------------------- what has been written


class Writes:
    """Regions written over a node, none overlapping another, not carried out yet.

    Or parts that are added, in places that may overlap: ``f[:-1] += t; f[1:] -= t``. That is one
    sum of parts, not an array that is made anew with each line.
    """

    def __init__(self, base: Node) -> None:
        self.base = base
        self.forms: dict[tuple[Any, ...], dict[tuple[Any, ...], tuple[Region, Node]]] = {}
        self.unknown: set[tuple[Any, ...]] = set()  # forms with places that are no numbers
        self.sums: list[tuple[Region, Node]] = []
        self.whole: Node | None = base
        self.pieced: dict[Region, Node] = {}  # what was read so since the last write

    def _others(self, region: Region) -> Iterator[tuple[Region, Node]]:
        """Yield what has been written to other regions that a region may have elements of."""
        form, picks = _form(region), _picks(region)
        for key, written in self.forms.items():
            if key != form:
                yield from written.values()
            elif form in self.unknown or not _known(picks):
                # Of one form, with known places, they are the same or apart.
                yield from (pair for p, pair in written.items() if p != picks)

    def overlap(self, region: Region) -> bool:
        """Tell whether a region has elements in common with one written, but is not it."""
        return not all(_apart(region, other) for other, _ in self._others(region))

    def write(self, region: Region, value: Node) -> None:
        """Write a region over."""
        if self._holds(region, value):
            return  # `f[1:] += t` is carried out by `+=`, and then assigned
        if self.sums or self.overlap(region):
            if self._add(region, value):
                return
            self._start(self.settle())
        elif _form(region) not in self.forms and len(self.forms) >= KEPT:
            self._start(self.settle())
        elif self.whole is not None and sum(map(len, self.forms.values())) >= ADDED:
            self._start(self.whole)  # read as a whole between: not all parts anew each time
        self.whole, self.pieced = None, {}
        form, picks = _form(region), _picks(region)
        self.forms.setdefault(form, {})[picks] = (region, value)
        if not _known(picks):
            self.unknown.add(form)

    def _holds(self, region: Region, value: Node) -> bool:
        """Tell whether a region is known to hold a value."""
        written = self.forms.get(_form(region), {}).get(_picks(region))
        if written is not None and written[1] is value:
            return True
        return self.whole is not None and _taken(self.whole, region) is value

    def _start(self, base: Node) -> None:
        self.base, self.forms, self.sums, self.pieced = base, {}, [], {}
        self.unknown = set()

    def _add(self, region: Region, value: Node) -> bool:
        """Note what is added to a region that was read just now; False where it is not a sum."""
        if now().promised:
            return False
        before = self.pieced.get(region)
        if before is None and self.whole is not None:
            before = _taken(self.whole, region)
        part = None if before is None else _added_to(before, value)
        if part is None:
            return False
        whole = self.settle()
        parts = self._parts()
        if len(parts) >= ADDED:
            parts = [(_everything(self.base), whole)]
        self._start(self.base)
        self.sums, self.whole = [*parts, (region, part)], None
        return True

    def _parts(self) -> list[tuple[Region, Node]]:
        """Return what the array is now as parts to be added; one of all places comes first."""
        if self.sums:
            return self.sums
        base = [] if _is_zero(self.base) else [(_everything(self.base), self.base)]
        found = []
        for region, value in (pair for written in self.forms.values() for pair in written.values()):
            part = _added_to(_taken(self.base, region), value)
            if part is None:
                assert self.whole is not None
                return [(_everything(self.base), self.whole)]
            found.append((region, part))
        return base + found

    def read(self, region: Region) -> Node | None:
        """Return a region without carrying anything out, or None if that cannot be."""
        known = self.forms.get(_form(region), {}).get(_picks(region))
        if known is not None:
            return known[1]
        if self.whole is not None or self.sums:
            return None
        size = tuple(n for _, _, n in region if n is not None)
        if SMALLER * _count(size) <= _count(self.base.shape):
            found = self._pieced(region, size)
            if found is not None:
                return found
        return None if self.overlap(region) else _taken(self.base, region)

    def _pieced(self, region: Region, size: Shape) -> Node | None:
        """Return a region put together of what was written there, None unless that is all of it.

        The rest would come from the base, and the whole be made as well once it is asked for.
        """
        if region in self.pieced:
            return self.pieced[region]
        parts: list[tuple[Region, Node]] = []
        for other, value in self._others(region):
            common = _common(region, other)
            if common is False:
                continue
            if common is True or len(parts) == ADDED:
                return None
            place, inner = common
            parts.append((place, value if inner == _everything(value) else _taken(value, inner)))
        if sum(_count(part.shape) for _, part in parts) < _count(size):
            return None
        if len(parts) == 1 and parts[0][1].shape == size:
            found = parts[0][1]
        else:
            found = _assembled(_taken(self.base, region), parts)
        self.pieced[region] = found
        return found

    def settle(self) -> Node:
        """Return the whole array."""
        if self.whole is None:
            if self.sums:
                regions, nodes = zip(*self.sums, strict=True)
                params = {"shape": self.base.shape, "regions": regions, "disjoint": False}
                self.whole = bind_nodes(_OPS["Assemble"], nodes, params)
            else:
                parts = [pair for written in self.forms.values() for pair in written.values()]
                self.whole = _assembled(self.base, parts)
        return self.whole


def _taken(node: Node, region: Region) -> Node:
    return bind_nodes(_SLICE, (node,), {"region": region})


def _added_to(before: Node, value: Node) -> Node | None:
    """Return what was added to ``before`` to get ``value``: a float of its shape, or None."""
    if value.op.name not in ("Add", "Subtract") or value.dtype.kind != "f":
        return None
    one, other = value.operands
    if one is not before and value.op.name == "Add":
        one, other = other, one
    if one is not before or other is before or 0 in value.shape:
        return None
    if other.shape != value.shape:
        other = bind_nodes(_OPS["Broadcast"], (other,), {"shape": value.shape})
    other = cast(other, value.dtype)
    if value.op.name == "Add":
        return other
    return apply(_OPS["Negative"], (other,), (), other.shape, other.dtype)


def _everything(node: Node) -> Region:
    return tuple((0, 1, n) for n in node.shape)


class Lost:
    """Stands for the writes of an array that may have been written to by another name."""

    whole = None

    def __init__(self, complaint: str) -> None:
        self.complaint = complaint

    def settle(self, *_: Any) -> NoReturn:
        """Refuse: what the array holds depends on its layout."""
        raise TraceError(self.complaint)

    read = write = settle


def _assembled(base: Node, parts: list[tuple[Region, Node]]) -> Node:
    parts = [(region, part) for region, part in parts if 0 not in part.shape]
    if not parts:
        return base
    regions = tuple(region for region, _ in parts)
    nodes = tuple(part for _, part in parts)
    written: Any = sum((as_expr(dim_product(n.shape)) for n in nodes), start=sp.Integer(0))
    if sp.expand(written - dim_product(base.shape)) == 0 or _is_zero(base):
        params = {"shape": base.shape, "regions": regions, "disjoint": True}
        return bind_nodes(_OPS["Assemble"], nodes, params)
    return bind_nodes(UPDATE, (base, *nodes),
                      {"shape": base.shape, "regions": (_everything(base), *regions)})  # fmt: skip


def _is_zero(node: Node) -> bool:
    while node.op in (_OPS["Broadcast"], _RESHAPE, _SLICE):
        node = node.operands[0]
    return isinstance(node, Literal) and node.value == 0 and not np.signbit(node.value)


# ---------------------------------------------------------------- through views


def put(source: Node, path: tuple[Step, ...], value: Node) -> Node:
    """Return ``source`` with its view along ``path`` replaced by ``value``."""
    stages = [source]
    for step in path:
        stages.append(taken(stages[-1], step))
    for (op, items), before in zip(reversed(path), reversed(stages[:-1]), strict=True):
        params = dict(items)
        if op is GATHER:
            whole = {"axes": params["axes"], "at": params["at"], "shape": before.shape}
            value = bind_nodes(PUT, (value, before, *params[PLACES]), whole)
        elif op is _RESHAPE:
            value = bind_nodes(_RESHAPE, (value,), {"shape": before.shape})
        elif op is _TRANSPOSE:
            back = tuple(int(k) for k in np.argsort(params["axes"]))
            value = bind_nodes(_TRANSPOSE, (value,), {"axes": back})
        elif op is DIAGONAL:
            whole = {"offset": params["offset"], "shape": before.shape}
            truth = Literal(True, np.bool_)
            all_ = bind_nodes(_OPS["Broadcast"], (truth,), {"shape": value.shape})
            own, wide = (bind_nodes(_OPS["DiagEmbed"], (x,), whole) for x in (all_, value))
            value = apply(_OPS["Where"], (own, wide, before), (), before.shape, before.dtype)
        else:
            value = _assembled(before, [(params["region"], value)])
    return value
