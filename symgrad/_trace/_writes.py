"""Assignment into traced arrays.

A node never changes; a traced array is a *name* for a node, and ``x[i] = v`` makes it a name
for another one: the old array with ``v`` in the place of one element. Writes are kept in a
list until the whole array is asked for, so that a loop that fills an array makes one
assembly, and reading an element back gives the very value that was written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
import sympy as sp

from .._graph import Iota, Literal, Node, apply
from .._op import registry
from .._ops.gathers import GATHER
from .._ops.indexing import getitem, in_range
from .._ops.np_common import as_array, is_traced
from .._ops.regions import Region
from .._ops.updates import PUT, UPDATE, WRITER
from .._shapes import Shape, Size, as_dim, as_expr, broadcast, dim_product, guard, hint, same, show
from .._state import now
from ..errors import DTypeError, IndexingError, ShapeError, TraceError
from ._bind import as_node, bind_nodes, cast, require_bounds
from ._examples import decided_mask
from ._views import PLACES, Step, taken

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


def _below(a: Any, b: Any) -> bool:
    """Tell whether ``a < b``; where only the hints can tell, a guard keeps it true."""
    difference = as_expr(b) - as_expr(a)
    if not hint(as_dim(a)) < hint(as_dim(b)):
        return False
    if not sp.expand(difference).is_positive:
        guard(sp.Lt(a, b, evaluate=False), value_is=True)
    return True


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
        self.sums: list[tuple[Region, Node]] = []
        self.whole: Node | None = base
        self.pieced: dict[Region, Node] = {}  # what was read so since the last write

    def others(self, form: tuple[Any, ...]) -> Iterator[Region]:
        for key, written in self.forms.items():
            if key != form:
                yield from (region for region, _ in written.values())

    def overlap(self, region: Region) -> bool:
        """Tell whether a region has elements in common with one written, but is not it."""
        form, picks = _form(region), _picks(region)
        alike = self.forms.get(form, {})
        regions = list(self.others(form))
        if not all(isinstance(p, int) for key in (picks, *alike) for p in key):
            regions += [other for p, (other, _) in alike.items() if p != picks]
        # Of one form, with known places, they are the same or apart.
        return not all(_apart(region, other) for other in regions)

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
        self.forms.setdefault(_form(region), {})[_picks(region)] = (region, value)

    def _holds(self, region: Region, value: Node) -> bool:
        """Tell whether a region is known to hold a value."""
        written = self.forms.get(_form(region), {}).get(_picks(region))
        if written is not None and written[1] is value:
            return True
        return self.whole is not None and _taken(self.whole, region) is value

    def _start(self, base: Node) -> None:
        self.base, self.forms, self.sums, self.pieced = base, {}, [], {}

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
        self.forms, self.sums, self.whole, self.pieced = {}, [*parts, (region, part)], None, {}
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
        for other, value in (pair for written in self.forms.values() for pair in written.values()):
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
        else:
            value = _assembled(before, [(params["region"], value)])
    return value


# ---------------------------------------------------------------- values to assign


def fitted(value: Any, shape: Shape, dtype: np.dtype[Any]) -> Node:
    """Return what is assigned as a node of the shape and type of what it is assigned to."""
    if isinstance(value, (list, tuple)):
        value = as_array(value)
    require_bounds(value, dtype, "an assignment")
    node = cast(as_node(value), dtype)
    while node.ndim > len(shape) and node.shape[0] == 1:
        node = bind_nodes(_RESHAPE, (node,), {"shape": node.shape[1:]})
    if node.shape == shape:
        return node
    try:
        fits = node.ndim <= len(shape) and all(map(same, broadcast(node.shape, shape), shape))
    except ShapeError:
        fits = False
    if not fits:
        raise ShapeError(
            f"could not broadcast a value of shape {show(node.shape)} into an assignment of "
            f"shape {show(shape)}"
        )
    if node.ndim == len(shape) and all(map(same, node.shape, shape)):
        return bind_nodes(_RESHAPE, (node,), {"shape": shape})
    return bind_nodes(_OPS["Broadcast"], (node,), {"shape": shape})


_BESIDE = (
    "assignment by a traced mask beside other indices is not followed. Write instead: "
    "np.where(mask, value, x) for the part, then x[part] = ..."
)
_IN_A_ROW = (
    "as many values as a traced mask has places cannot be told apart: assign a number, or what "
    "was read by the same mask (x[mask] = f(x[mask])), not by another. Write instead: "
    "np.where(mask, values, x) with values for all places"
)


def decided_index(index: Any) -> Any:
    """Return an index with its traced masks as they are in the example call, None if not known."""
    if isinstance(index, tuple):
        found = [decided_index(k) for k in index]
        lacks = any(a is None and b is not None for a, b in zip(found, index, strict=True))
        return None if lacks else tuple(found)
    return decided_mask(index) if is_traced_mask(index) else index


def goes_along(value: Any, mask: Any, behind: int) -> bool:
    """Tell whether a value is for all places of a mask, or has one for each."""
    if hasattr(value, "__symgrad_masked__"):
        return bool(value.mask.node is mask.node)
    return bool(getattr(value, "ndim", np.ndim(value)) <= behind)


def replaced(x: Any, index: Any, value: Any) -> Any:
    """Return ``x`` with ``value`` at the places of an index with arrays in it.

    Of places that come more than once the last value stays, as in NumPy.
    """
    items = index if isinstance(index, tuple) else (index,)
    masks = [k for k in items if is_traced_mask(k)]
    if masks:
        value = as_array(value) if isinstance(value, (list, tuple)) else value
        before = _whole_axes(x, items)
        if before is not None and goes_along(value, masks[0], x.ndim - masks[0].ndim - before):
            return chosen(x, masks[0], value, before)
        index = decided_index(index)
        if index is None:
            raise TraceError(_IN_A_ROW if before is not None else _BESIDE)
        if hasattr(value, "__symgrad_masked__"):
            value = value.in_a_row("x[...] = y[mask]", "np.where(mask, ..., ...)")
    computed = _single_places(x, index)
    if computed is not None:
        axes, indices = computed
        rest = tuple(d for k, d in enumerate(x.node.shape) if k not in axes)
        given = type(x)(fitted(value, rest, x.dtype))
        return PUT(given, x, *indices, axes=axes, at=0, shape=x.node.shape)
    count = dim_product(x.node.shape)
    places = places_of(x, index)
    given = fitted(value, tuple(map(as_dim, places.shape)), x.dtype)
    if 0 in given.shape:
        return x
    flat = np.reshape(type(x)(given), (-1,))
    positions = np.reshape(places, (-1,))
    number = numbered(positions) + 1
    last = WRITER(number, positions, axes=(0,), shape=(count,))
    taken = GATHER(flat, np.maximum(last - 1, 0), axes=(0,), at=0)
    return np.reshape(np.where(last > 0, taken, np.reshape(x, (-1,))), x.shape)


def _whole_axes(x: Any, items: tuple[Any, ...]) -> int | None:
    """Return how many axes come before an index's mask; None unless it has whole axes besides."""
    at = next(k for k, item in enumerate(items) if is_traced_mask(item))
    others = [*items[:at], *items[at + 1 :]]
    if not all(k is Ellipsis or (isinstance(k, slice) and k == slice(None)) for k in others):
        return None
    left = x.ndim - items[at].ndim - sum(k is not Ellipsis for k in others)
    return at + (left - 1 if any(k is Ellipsis for k in items[:at]) else 0)


def _single_places(x: Any, index: Any) -> tuple[tuple[int, ...], list[Any]] | None:
    """Return the axes, and the traced place on each, of an index of places and whole axes."""
    items = index if isinstance(index, tuple) else (index,)
    whole = [k for k, item in enumerate(items) if item is Ellipsis]
    if len(whole) == 1:
        fill = [slice(None)] * (x.ndim - len(items) + 1)
        items = (*items[: whole[0]], *fill, *items[whole[0] + 1 :])
    if len(items) > x.ndim:
        return None
    axes, places = [], []
    for k, item in enumerate(items):
        if isinstance(item, slice) and item == slice(None):
            continue
        single = is_traced(item) and not item.shape and item.dtype.kind in "iu"
        if not single and not isinstance(item, (int, np.integer, Size)):
            return None
        number = item if single else np.asarray(int(item))
        axes.append(k)
        places.append(type(x)(as_node(in_range(number, x.shape[k], k), np.int64)))
    return tuple(axes), places


def numbered(x: Any) -> Any:
    """Return the numbers of the elements of ``x`` in C order, in its shape."""
    return np.reshape(type(x)(Iota(dim_product(x.node.shape))), x.shape)


def places_of(x: Any, index: Any) -> Any:
    """Return the numbers of the elements of ``x`` at an index, to scatter to.

    The number at a place of a vector is the place, which the scatter looks at like the gather.
    """
    places = getitem(numbered(x), index)
    node = as_node(places)
    if node.op is GATHER and isinstance(node.operands[0], Iota):
        return type(x)(cast(node.operands[1], places.dtype))
    return places


def added(x: Any, index: Any, value: Any) -> Any:
    """Return ``x`` with values added at an index, as often as a place comes."""
    places = places_of(x, index)
    given = fitted(value, tuple(map(as_dim, places.shape)), x.dtype)
    total = _OPS["Scatter"](
        np.reshape(type(x)(given), (-1,)), np.reshape(places, (-1,)),
        axes=(0,), at=0, shape=(dim_product(x.node.shape),),
    )  # fmt: skip
    return x + np.reshape(total, x.shape)


def is_traced_mask(item: Any) -> bool:
    return is_traced(item) and item.dtype == np.bool_


def require_fit(x: Any, mask: Any, before: int = 0) -> None:
    """Raise IndexingError where a mask has other lengths than the axes that it is for."""
    whole = getattr(x, "node", None) or x.real.node  # complex values have two
    axes = whole.shape[before : before + mask.ndim]
    if len(axes) != mask.ndim or not all(map(same, mask.node.shape, axes)):
        raise IndexingError(
            f"the mask has shape {show(mask.node.shape)}, and the axes that it is for have "
            f"{show(axes)}"
        )


def chosen(x: Any, mask: Any, value: Any, before: int = 0) -> Any:
    """Return ``x`` with ``value`` where a traced mask holds, of the axes behind so many."""
    behind = x.ndim - mask.ndim - before
    require_fit(x, mask, before)
    if hasattr(value, "__symgrad_masked__"):
        value = value.values
    wide = np.reshape(mask, (*(1,) * before, *mask.shape, *(1,) * behind))
    node = fitted(value, x.node.shape, x.dtype)
    return np.where(wide, type(x)(node), x)


def require_kind(old: np.dtype[Any], new: np.dtype[Any], sign: str) -> None:
    """Raise where ``x += v`` would lose the kind of the numbers, as NumPy does."""
    if not np.can_cast(new, old, "same_kind"):
        raise DTypeError(
            f"`{sign}=` of an array of {old} with a result of {new}: the array keeps its type. "
            f"Write instead: x = x {sign} ..., or make the array with dtype=float"
        )
