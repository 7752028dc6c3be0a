"""What a function changes while it is traced: looked at afterwards, and undone.

A trace stands for any number of calls, and may be made again in another way. So it leaves the
user's objects as they were; what it has changed in them is a result of the program
(:mod:`._assignments`).
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextvars import ContextVar
from types import CellType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from .._core.base.class_modules import module_of
from .._core.base.fork_safety import cached_property
from .._core.base.state import now
from .._core.trace import Traced, flatten_traced
from ..errors import UnsupportedError
from ._code_names import names_in
from ._draws import States
from ._locations import Walk
from ._ownership import FIXED, NONE, of_package
from ._user_code import (
    IN_MEMORY,
    attributes,
    copied_simply,
    has_dictionary,
    memory_of,
    named_attributes,
    set_attributes,
    set_memory,
)

#: How deep a value of the trace may lie in what the function keeps.
DEPTH = 4

#: Names in code that may set any attribute of an object.
SETTING = frozenset(("setattr", "__setattr__", "__dict__", "vars", "update"))

Parts = list[tuple[Any, Any]]


class Holder(NamedTuple):
    """An object that a function may change.

    Attributes
    ----------
    parts:
        Returns what it holds now, each with its key.
    put:
        Makes it hold such parts again.
    grows:
        Whether it is a list, a set, a queue or a dictionary of the user's.
    owner:
        The object.
    sort:
        Of its parts: "attributes", "names" (of a class or a module), "entries", "items", "cell",
        "memory" (its bytes), "context" (what a context variable holds).
    """

    parts: Callable[[], Parts]
    put: Callable[[Parts], None]
    grows: bool = False
    owner: Any = None
    sort: str = ""


class Again(NamedTuple):
    """A value where a value of the trace was: even what was there before is assigned again."""

    value: Any


class Effects:
    """The objects that a function may change, as they are before it is traced.

    ``fetched``: places of arrays that the trace has others for. ``generators``: of random numbers,
    which it may draw from.
    """

    def __init__(
        self, walk: Walk, fetched: AbstractSet[str] = frozenset(), generators: Sequence[Any] = ()
    ) -> None:
        self._generators = States(generators)
        some = None if walk.known & SETTING else walk.known
        found = [
            x
            for value in walk.met.values()
            for x in _holders(value, walk.stored, some, walk.packages)
        ]
        found += [entries(scope, walk.stored) for scope in walk.scopes.values()]
        self._before = [_kept(holder) for holder in found]
        self._of_packages: list[tuple[Holder, Parts]] = []
        self._stored = walk.stored
        self._seen = set[CodeType]()
        self._arrays = [
            (r.value, r.value.copy()) for r in walk.reads.values()
            if r.text not in fetched and _is_written(r.value)
        ]  # fmt: skip
        self._inside: set[tuple[int, Any]] = set()
        #: Gives what copies of the objects hold, each with the object and what it held when made.
        self.copies: Callable[[], Sequence[tuple[Any, Parts, Parts]]] = tuple
        #: How many bodies that are executed any number of times are being traced.
        self.depth = 0

    def keep_of_packages(self, frame: FrameType | None) -> None:
        """Keep what the code of installed packages that runs may change when it catches an error.

        They are not walked: their modules' names and the objects that the code names, as they are.
        """
        while frame is not None:
            code, scope = frame.f_code, frame.f_globals
            if of_package(code.co_filename, scope.get("__name__")) and code not in self._seen:
                self._seen.add(code)
                found = names_in(code)
                self._of_packages.append(_kept(entries(scope, found.stored)))
                own = (*code.co_varnames[: code.co_argcount][:1], *code.co_freevars)
                values = [scope[name] for name in found.mentioned if name in scope]
                for value in (*values, *map(frame.f_locals.get, own)):
                    kind = value if isinstance(value, type) else type(value)
                    if kind in (list, dict, set, deque) or of_package("", kind.__module__):
                        self._of_packages += map(_kept, _holders(value, found.stored))
            frame = frame.f_back

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """Note what is changed in the block as changed any number of times."""
        before = [holder.parts() for holder, _ in self._before]
        copied = [now for _, now, _ in self.copies()]
        numbers = [array.tobytes() for array, _ in self._arrays]
        made = generators_made()
        self.depth += 1
        try:
            yield
            if made.moved():
                raise UnsupportedError(
                    "the body of a loop or a branch, or the example of a batch, draws from a "
                    "generator that the function has made outside of it: the numbers would be "
                    "those of its first step in all. Write instead: draw the numbers of all "
                    "steps before, or make the generator outside of the function"
                )
        finally:
            self.depth -= 1
            for (holder, _), old in zip(self._before, before, strict=True):
                self._note_inside(holder.owner, old, holder.parts())
            for (array, _), old in zip(self._arrays, numbers, strict=True):
                if array.tobytes() != old:
                    self._inside.add((id(array), None))
            for k, (owner, now, first) in enumerate(self.copies()):
                self._note_inside(owner, copied[k] if k < len(copied) else first, now)

    def _note_inside(self, owner: Any, before: Parts, after: Parts) -> None:
        if not same_parts(after, before):
            self._inside |= {(id(owner), key) for key in other_keys(before, after)}

    def changes(self) -> Iterator[tuple[Holder, Parts, Parts]]:
        """Yield the objects that are something else than they were, with their parts."""
        for holder, before in self._before:
            now = holder.parts()
            if not same_parts(now, before):
                now = self._but_remembered(holder, before, now)
                if not same_parts(now, before):
                    yield holder, before, now

    def _but_remembered(self, holder: Holder, before: Parts, now: Parts) -> Parts:
        """Leave out what objects of NumPy's and SciPy's remember of themselves once it is asked.

        A sparse matrix looks once whether its entries are in order.
        """
        home = module_of(type(holder.owner)).partition(".")[0]
        if holder.sort != "attributes" or home not in FIXED:
            return now
        there = {key for key, _ in before} | self._stored
        return [
            (key, x) for key, x in now
            if key in there or not key.startswith("_") or isinstance(x, Traced)
        ]  # fmt: skip

    def changed(self) -> bool:
        """Tell whether anything is something else than it was."""
        return any(True for _ in self.changes()) or any(True for _ in self.written())

    def written(self) -> Iterator[np.ndarray[Any, Any]]:
        """Yield the arrays whose numbers are others."""
        for array, before in self._arrays:
            if not (array.shape == before.shape and array.tobytes() == before.tobytes()):
                yield array

    def is_inside(self, owner: Any, key: Any) -> bool:
        """Tell whether a part was changed where it is not known how often."""
        return (id(owner), key) in self._inside

    @contextlib.contextmanager
    def reinstated(self) -> Iterator[None]:
        """Run the block in the state that the objects were in, and undo it."""
        after = [(holder, holder.parts()) for holder, _ in self._before]
        arrays = [(array, array.copy()) for array, _ in self._arrays]
        drawn = self._generators.now()
        self.undo()
        self._generators.put_back()
        try:
            yield
        finally:
            drawn.put_back()
            self._before, self._arrays, own = after, arrays, (self._before, self._arrays)
            self.undo()
            self._before, self._arrays = own

    def undo(self) -> bool:
        """Make the objects again what they were; tell whether they were something else."""
        everything = [*self._before, *self._of_packages]
        changed = [pair for pair in everything if not same_parts(pair[0].parts(), pair[1])]
        for holder, before in changed:
            holder.put(before)
        for array, before in self._arrays:
            if array.tobytes() != before.tobytes():
                np.copyto(array, before)
        return bool(changed)

    def note_calls(self) -> bool:
        """Tell whether a container has grown, or a longer one or another number is bound."""
        for holder, before in self._before:
            now = holder.parts()
            if holder.grows and len(now) > len(before):
                return True
            pairs = zip(before, now, strict=False)
            if len(now) == len(before) and any(_notes(old, new) for (_, old), (_, new) in pairs):
                return True
        return False

    def forget_values(self) -> bool:
        """Put what cannot be used for the values of the trace that have been kept; tell of any."""
        found = False
        for holder, before in self._before:
            now = holder.parts()
            if same_parts(now, before):
                continue
            after = [(key, _FORGOTTEN if isinstance(x, Traced) else x) for key, x in now]
            if not same_parts(after, now):
                holder.put(after)
                found = True
        return found

    def kept(self) -> Iterator[Traced]:
        """Yield the values of the trace that have been kept, however deep."""
        for holder, before in self._before:
            now = holder.parts()
            if not same_parts(now, before):
                old = {id(value) for _, value in before}
                yield from values_of_trace(
                    [value for _, value in now if id(value) not in old], DEPTH
                )


def generators_made() -> States:
    """Return the states of the generators of random numbers that the function has made."""
    return States(x for x in now().seeded or () if not isinstance(x, str))


def _kept(holder: Holder) -> tuple[Holder, Parts]:
    """Return an object with what it holds now."""
    return holder, holder.parts()


class _Forgotten:
    """In the place of a value that nobody is to read."""

    def __eq__(self, other: object) -> bool:
        raise TypeError("it has been forgotten")

    __bool__ = __len__ = __iter__ = __eq__
    __hash__ = object.__hash__


_FORGOTTEN = _Forgotten()


def same_parts(a: Parts, b: Parts) -> bool:
    return len(a) == len(b) and all(  # without a step of Python's for each: there may be many
        all(map(operator.is_, map(part, a), map(part, b))) for part in _KEY_AND_VALUE
    )


_KEY_AND_VALUE = operator.itemgetter(0), operator.itemgetter(1)


def other_keys(before: Parts, now: Parts) -> list[Any]:
    """Return the keys of parts that are not what they were; None for those without."""
    old, new = ({key: id(x) for key, x in parts} for parts in (before, now))
    return [key for key in {**old, **new} if old.get(key) != new.get(key)] or [None]


def _notes(old: Any, new: Any) -> bool:
    """Tell whether a number has become another one, or what is in order (a text, too) is longer."""
    if old is new:
        return False
    if isinstance(old, _NUMBERS) and isinstance(new, _NUMBERS):
        return type(new) is not bool and bool(old != new)
    if isinstance(old, _ARRAYS) and isinstance(new, _ARRAYS):
        return old.ndim == new.ndim == 1 and bool(new.shape[0] == old.shape[0] + 1)
    longer = type(old) is type(new) in (list, tuple, str) and len(new) > len(old)
    return longer and bool(new[: len(old)] == old)


_ARRAYS, _NUMBERS = (np.ndarray, Traced), (int, float, np.integer, np.floating)


def _is_written(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.flags.writeable and not value.dtype.hasobject


def values_of_trace(values: Sequence[Any], depth: int) -> Iterator[Traced]:
    """Yield the values of the trace among values, and in what they hold."""
    for value in values:
        if isinstance(value, Traced):
            yield value
        elif hasattr(type(value), "overwritten"):  # complex
            yield from (x for x in flatten_traced((value,))[0] if isinstance(x, Traced))
        elif depth and not isinstance(value, (type, ModuleType)):
            held = [x for holder in _holders(value) for _, x in holder.parts()]
            if isinstance(value, FunctionType):
                held += [x for c in value.__closure__ or () for _, x in in_cell(c).parts()]
                held += value.__defaults__ or ()
            elif isinstance(value, functools.partial):
                held += [value.func, *value.args, *value.keywords.values()]
            elif isinstance(value, tuple):
                held += value
            yield from values_of_trace(held, depth - 1)


def _holders(
    value: Any, stored: AbstractSet[str] = frozenset(), some: AbstractSet[str] | None = None,
    packages: frozenset[str] = NONE,
) -> list[Holder]:  # fmt: skip
    """Return an object as what holds its parts: entries, items and attributes.

    ``stored``: the attributes that count of classes and modules; ``some``: of objects of the
    user's, unless all do; ``packages``: installed ones that count as the user's.
    """
    if isinstance(value, (type, ModuleType)):  # others write to them, too
        return [names(value, only=stored)]
    if isinstance(value, CellType):
        return [in_cell(value)]
    found = []
    if isinstance(value, dict):
        found.append(entries(value))
    elif isinstance(value, (list, set, deque)):
        found.append(in_order(value))
    elif isinstance(value, IN_MEMORY):
        found.append(in_memory(value))
    elif isinstance(value, ContextVar):
        found.append(in_context(value))
    if has_dictionary(value) or hasattr(type(value), "__slots__"):
        found.append(own_attributes(value, some if copied_simply(type(value), packages) else None))
    return found


def names(
    value: Any, but: AbstractSet[str] = frozenset(), only: AbstractSet[str] | None = None
) -> Holder:
    """Return the names of a class or a module: all ``but`` some, or some ``only``."""
    there = vars(value)

    def parts() -> Parts:
        if only is not None:  # a module may have thousands
            return [(k, there[k]) for k in sorted(only & there.keys())]
        return [(k, x) for k, x in list(there.items()) if k not in but]

    def put(after: Parts) -> None:
        before = dict(parts())
        for key in before.keys() - dict(after).keys():
            delattr(value, key)
        for key, x in after:
            if key not in before or before[key] is not x:
                setattr(value, key, x)

    return Holder(parts, put, owner=value, sort="names")


def entries(value: dict[Any, Any], only: AbstractSet[str] | None = None) -> Holder:
    """Return a dictionary, or of one that others write to, too, some entries."""

    def put(parts: Parts) -> None:
        after = dict(parts)
        for key in list(value) if only is None else (only & value.keys()) - after.keys():
            del value[key]
        value.update(after)

    if only is None:
        return Holder(lambda: list(value.items()), put, True, value, "entries")
    parts = lambda: [(k, value[k]) for k in sorted(only) if k in value]  # noqa: E731
    return Holder(parts, put, False, value, "entries")


def in_order(value: Any) -> Holder:
    """Return a list, a set or a queue."""

    def put(parts: Parts) -> None:
        value.clear()
        (value.update if isinstance(value, set) else value.extend)(x for _, x in parts)

    return Holder(lambda: list(zip(itertools.repeat(None), value)), put, True, value, "items")


def in_memory(value: Any) -> Holder:
    """Return what holds numbers as C has them: its bytes, the same object for as long as equal."""
    known = [b""]

    def parts() -> Parts:
        data = memory_of(value)
        if data != known[0]:
            known[0] = data
        return [(None, known[0])]

    def put(before: Parts) -> None:
        set_memory(value, before[0][1])

    return Holder(parts, put, owner=value, sort="memory")


def in_context(variable: ContextVar[Any]) -> Holder:
    """Return what a context variable holds here; one that holds nothing cannot be emptied again."""

    def parts() -> Parts:
        return [(None, variable.get(None))]

    def put(before: Parts) -> None:
        variable.set(before[0][1])

    return Holder(parts, put, owner=variable, sort="context")


def own_attributes(value: Any, some: AbstractSet[str] | None = None) -> Holder:
    """Return an object: its own attributes, those of ``some`` names unless all count."""

    def parts() -> Parts:
        found = attributes(value) if some is None else named_attributes(value, some)
        return [(k, x) for k, x in found if not _is_ours(type(value), k)]

    def put(before: Parts) -> None:
        set_attributes(value, dict(parts()), dict(before))

    return Holder(parts, put, owner=value, sort="attributes")


def _is_ours(kind: type, name: str) -> bool:
    """Tell whether symgrad keeps an attribute: of functions that it rewrites, of its objects."""
    if name.startswith("__symgrad_") or type(getattr(kind, name, None)) is cached_property:
        return True
    return name.startswith("_") and module_of(kind).startswith("symgrad.")


def in_cell(cell: CellType) -> Holder:
    """Return what a cell holds."""

    def parts() -> Parts:
        try:
            return [(None, cell.cell_contents)]
        except ValueError:  # bound later
            return []

    def put(before: Parts) -> None:
        if before:
            cell.cell_contents = before[0][1]
        else:
            del cell.cell_contents

    return Holder(parts, put, owner=cell, sort="cell")
