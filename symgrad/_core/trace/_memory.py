"""Traced arrays as memory: views of each other, and assignment through them.

A view (``x[1:]``, ``x.T``) remembers the array that it is of and the way from there. Writing
to it writes to that array; when the array has been written to, the view is taken anew. Where
NumPy decides by memory layout whether it shares or copies (``reshape`` and ``ravel`` of what
does not lie in one run), the layout is followed as far as it is sure. Where it is not, neither
is assumed: once one of the two arrays has been written to, the other can no longer be used.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any, Self

from ...errors import TraceError
from ..base.broadcast import show
from ..base.sizes import Shape
from ..base.state import now, within
from ..graph import Node, Where, user_line
from ..op import registry
from ..ops.regions import within as inside
from ._arrays import ArrayMethods
from ._views import Layout, Step, View, follow, path_between, shares
from ._writes import Lost, Writes, put

_SLICE = registry.ops["Slice"]

#: What is said of an array that is another one on some ways, once that one is written to.
_EITHER = (
    "an array that another name has, too, on one way through `if` or a loop on traced values, and "
    "not on the other, was assigned to, then that name was used: whether it sees what was written "
    "is known only later. Write instead: .copy() where one name is given the other's array"
)
_SHOWN = (
    "an array shares memory with a plain one, by np.asarray or on one way through `if` or a loop, "
    "and one of the two is assigned to, which the other does not see. Write instead: x.copy(), or "
    "make both with symgrad.numpy (sg.adapt(f) does)"
)
#: Plain arrays of up to so many bytes are looked at again when what may be one is read.
WATCHED = 1 << 16
NO_STEPS: tuple[Step, ...] = ()


class Stored(ArrayMethods):
    """A traced array as memory: what it is just now, what it is a view of, and writing to it."""

    __slots__ = (
        "_bound", "_node", "_plain", "_scope", "_version", "_view", "_writes", "boxed", "layout",
        "shown", "weak",
    )  # fmt: skip

    def __init__(self, node: Node, weak: type | None = None):
        if not isinstance(node, Node):  # type(x)(value), in code that takes x for a number
            raise TraceError(
                f"a number was made by the type of a traced value, of {node!r:.60}. Write "
                "instead: np.asarray(value, float); np.mean and np.var of an array for functions "
                "of `statistics`"
            )
        self._node = node
        self.weak = weak  # float for a Python float: it does not widen float32
        self._view: View | None = None
        self._writes: Writes | Lost | None = None
        self._version = 0
        self.shown = False  # a plain array may share its memory, which writing does not reach
        self._plain: tuple[tuple[Any, bytes], ...] = ()  # such, which are not to be written to
        self._bound: tuple[Self, ...] = ()  # arrays of which some way makes this one
        self.layout = Layout.RUN  # what is sure of it, as NumPy's array would lie
        self.boxed = False  # without axes an array all the same, which can be assigned to
        self._scope = now().scope

    @property
    def node(self) -> Node:
        """The node that the value is just now."""
        reads = now().reads
        if reads is not None:
            self._note(reads)
        for plain, before in self._plain:
            if plain.tobytes() != before:
                raise TraceError(_SHOWN)
        if self._view is not None:
            self._refresh(self._view)
        elif self._writes is not None:
            with within(made=None):  # what has been written is the array's, whoever asks for it
                self._node = self._writes.settle()
        return self._node

    @property
    def root(self) -> Self:
        """The array that this is a view of, for all that is known, or this one."""
        found: Self = self
        while found._view is not None:
            found = found._view.source
        return found

    def _note(self, seen: dict[int, Where | None]) -> None:
        """Note where the array is read, if it is among those that are watched."""
        key = id(self.root)
        if key in seen and seen[key] is None:
            seen[key] = user_line()

    def _refresh(self, view: View) -> None:
        """Take a view anew if the array that it is of has been written to."""
        source = view.source
        if source._view is not None:
            source._refresh(source._view)
        if source._version == view.version:
            return
        if view.path is None:
            raise TraceError(self._unclear())
        with within(made=None):
            self._node = source.along(view.path)
        self._view = view._replace(version=source._version)

    def along(self, path: tuple[Step, ...]) -> Node:
        """Return what a view along a path holds just now."""
        if path and self._writes is not None and all(op is _SLICE for op, _ in path):
            regions = (dict(items)["region"] for _, items in path)
            found = self._writes.read(reduce(inside, regions))
            if found is not None:
                return found
        return follow(self.node, path)

    def _unclear(self) -> str:
        made = f" made at {self._node.where}" if self._node.where else ""
        return (
            f"whether the array{made} (shape {show(self._shape)}) shares memory with the one it "
            f"was taken from depends on how that lies in memory (a reshape or a ravel of what is "
            "turned, or has gaps; windows share it), and one of the two was assigned to, then "
            "the other was used. Write instead: x.copy() where it is made, or assign through the "
            "original array"
        )

    def _see(self, source: Any, wanted: Layout | None = None, diagonals: bool = False) -> Self:
        """Return this value as a view of ``source``, if NumPy would share its memory.

        With ``wanted`` it is a copy where it would not lie so; ``diagonals`` can be written to.
        """
        if not isinstance(source, Stored):
            return self
        if self is source:
            if wanted is None or source.layout is wanted or not self._shape:
                return self
            return type(self)(self._node, self.weak)._see(source, wanted)
        seen = self._view is not None and self.root is source.root
        path = None if seen else path_between(self._node, source._node)
        if path is None:
            return self
        found = shares(path, source._node, source.layout, wanted, diagonals)
        self.layout = found.layout if self.ndim > 1 else max(found.layout, Layout.EVEN)
        before = source._view
        if before is None or before.path is None:
            before = View(source, NO_STEPS, source._version)
        assert before.path is not None
        self._view = View(
            before.source,
            (*before.path, *path) if found.shared else None,
            before.version,
            (before.writable or not found.shared) and found.writable,
        )
        return self

    def sharing(self, source: Any) -> Self:
        """Return the value as a view of ``source`` that is not followed where one is written."""
        made = type(self)(self._node, self.weak)
        made.layout = Layout.UNKNOWN
        if isinstance(source, Stored):
            made._view = View(source, None, source._version, False)
        return made

    def unsure(self, layout: Layout) -> Self:
        """Return what is a copy that lies so, or this very array if it does."""
        return type(self)(self.node, self.weak)._see(self, layout)

    def own(self, layout: Layout) -> Self:
        """Return the value as an array of its own, which lies so."""
        made = type(self)(self.node, self.weak)
        made.layout = layout if made.ndim > 1 else Layout.RUN
        made.boxed = self.boxed
        return made

    def in_box(self) -> Self:
        """Return what ``np.asarray`` makes of it: of a number an array without axes."""
        if self._shape or self.boxed:
            return self
        made = type(self)(self.node)
        made.boxed = True
        return made

    def seen_from(self, twin: Self) -> Self:
        """Return what this value is of its root, of a copy of the root."""
        view = self._view
        if view is None:
            return twin
        made = type(self)(self.node, self.weak)
        made.layout, made.boxed = self.layout, self.boxed
        path = view.path if view.source._view is None else None
        made._view = View(twin, path, twin._version, view.writable)
        return made

    @property
    def scope(self) -> object:
        """The body that the array was made in."""
        return self._scope

    @property
    def is_view(self) -> bool:
        """Whether it may share memory with another array."""
        return self._view is not None

    @property
    def overwritten(self) -> bool:
        """Whether the array has been assigned to."""
        return self._version > 0 and self.lost is None

    @property
    def lost(self) -> str | None:
        """Why the array can no longer be used: it may have been written to by another name."""
        return self._writes.complaint if isinstance(self._writes, Lost) else None

    @property
    def plain(self) -> list[Any]:
        """The plain arrays that this one is on some ways."""
        return [plain for plain, _ in self._plain]

    def alike(self) -> list[Self]:
        """Return this array and those that it is on some way through branches and loops."""
        return [self.root, *self.root._bound]

    def bind(self, other: Self) -> None:
        """Note that this array, or what it sees, is another one on some ways, and not on others."""
        one, two = self.root, other.root
        if one is two or one.lost or two.lost:
            return
        for x, y in ((one, two), (two, one)):
            # One from around a body outlives it, and hears of what the body writes by itself.
            if x._scope is now().scope and not any(z is y for z in x._bound):
                x._bound = (*x._bound, y)

    def watch(self, plain: Any) -> None:
        """Note that this array is a plain one on some ways: neither is to be written to."""
        self.shown = True
        if plain.nbytes <= WATCHED:
            self._plain = (*self._plain, (plain, plain.tobytes()))

    def bind_as(self, original: Self, twins: Mapping[int, Self]) -> None:
        """Be bound to the copies of what the original of this copy is bound to."""
        self._bound = tuple(twins[id(x)] for x in original._bound if id(x) in twins)

    def _written(self) -> None:
        """Note that the array, which is no view, is another one now."""
        self._version += 1
        if self.shown:
            raise TraceError(_SHOWN)
        for other in self._bound:
            other.give_up(_EITHER)

    @property
    def _shape(self) -> Shape:
        """The shape, which no assignment changes."""
        return self._node.shape

    def _write(self, region: Any, part: Node) -> None:
        """Write a region over, here or in the array that this is a view of."""
        if all(entry == (0, 1, n) for entry, n in zip(region, self._shape, strict=True)):
            self._become(part)
            return
        view = self._assignable()
        if view is None:
            if self._writes is None:
                self._writes = Writes(self._node)
            self._writes.write(region, part)
            self._written()
            return
        assert view.path is not None
        if all(op is _SLICE for op, _ in view.path):
            for _, items in reversed(view.path):
                region = inside(dict(items)["region"], region)
            view.source._write(region, part)
            return
        step = (_SLICE, (("region", region),))
        self._become(put(self.node, (step,), part))

    def _become(self, node: Node) -> None:
        """Replace the whole array, and with it that part of the array that it is a view of."""
        view = self._assignable()
        if view is None:
            self._node, self._writes = node, None
            self._written()
            return
        assert view.path is not None
        if len(view.path) == 1 and view.path[0][0] is _SLICE:
            view.source._write(dict(view.path[0][1])["region"], node)
        else:
            view.source._become(put(view.source.node, view.path, node))

    def _assignable(self) -> View | None:
        """Return what this is surely a view of, None for an array of its own; or raise."""
        view = self._view
        if view is not None and view.path is None:
            self._refresh(view)
            view.source.lose(self._unclear())
            self._view = view = None
        if view is None:
            if not self._shape and not self.boxed:
                raise TypeError(
                    "a number does not support item assignment, nor does what NumPy computes from "
                    "numbers. Write instead: np.where(mask, value, x), or make it an array by "
                    "np.array(x) or np.atleast_1d(x)"
                )
            if isinstance(self._writes, Lost):
                self._writes.settle()
            self._check_scope()
        elif not view.writable:
            raise TraceError(
                "a broadcast array or a diagonal is a view that NumPy does not write to either. "
                "Write instead: x.copy() where it is made, or assign through the original array"
            )
        return view

    def lose(self, complaint: str) -> None:
        """Refuse from now on what would read the array, which may have been written to."""
        self.give_up(complaint)
        for other in self._bound:
            other.give_up(complaint)

    def give_up(self, complaint: str) -> None:
        """Refuse from now on what would read this array, and no other."""
        if self.lost is None:
            self._check_scope()
            if self._view is not None:
                self._view.source.lose(complaint)
            self._view, self._writes = None, Lost(complaint)
            self._version += 1

    def _check_scope(self) -> None:
        if self._scope is not now().scope:
            made = f", made at {self._node.where}" if self._node.where else ""
            raise TraceError(
                "a step of a loop, or one case of a branch, assigns to an array from around it "
                f"(shape {show(self._shape)}{made}): whether and how often it runs is known only "
                "later. Write instead: pass the array in, and return it as part of the carry or "
                "of the result"
            )
