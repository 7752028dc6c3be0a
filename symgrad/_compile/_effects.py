"""What a function changes while it is traced: looked at afterwards, and undone where need be.

A trace with values in the place of arrays may be given up and made again with their numbers. What
the first one changed in the user's objects is then undone, or it would happen twice. And a
function that keeps what it computes (a memo, ``functools.cached_property``, a list of results)
has to be left with numbers: where it has kept a value of the trace that depends on nothing but
what the function reads, the trace is made with numbers.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from types import CellType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from .._forks import cached_property
from .._graph import Input, topological, warn_user
from .._shapes import Size
from .._signals import foreseen
from .._state import now
from .._trace import Traced, flatten_traced
from .._trace._known import known_value
from ..errors import CaptureWarning
from ._names import names_in
from ._places import Walk
from ._users import attributes, copied_simply, has_dictionary, named_attributes, set_attributes
from ._whose import NONE, of_package

#: How deep a value of the trace may lie in what the function keeps.
DEPTH = 4

#: So often a trace that has changed something is made a second time.
LOOKS = 3

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
    """

    parts: Callable[[], Parts]
    put: Callable[[Parts], None]
    grows: bool = False


class Effects:
    """The objects that a function may change, as they are before it is traced."""

    def __init__(self, walk: Walk) -> None:
        some = None if walk.known & SETTING else walk.known
        found = [
            x
            for value in walk.met.values()
            for x in _holders(value, walk.stored, some, walk.packages)
        ]
        found += [entries(scope, walk.stored) for scope in walk.scopes.values()]
        self._before = [_kept(holder) for holder in found]
        self._seen = set[CodeType]()

    def keep_of_packages(self, frame: FrameType | None) -> None:
        """Keep what the code of installed packages that runs may change when it catches an error.

        They are not walked: their modules' names and the objects that the code names, as they are.
        """
        while frame is not None:
            code, scope = frame.f_code, frame.f_globals
            if of_package(code.co_filename, scope.get("__name__")) and code not in self._seen:
                self._seen.add(code)
                found = names_in(code)
                self._before.append(_kept(entries(scope, found.stored)))
                own = (*code.co_varnames[: code.co_argcount][:1], *code.co_freevars)
                values = [scope[name] for name in found.mentioned if name in scope]
                for value in (*values, *map(frame.f_locals.get, own)):
                    kind = value if isinstance(value, type) else type(value)
                    if kind in (list, dict, set, deque) or of_package("", kind.__module__):
                        self._before += map(_kept, _holders(value, found.stored))
            frame = frame.f_back

    def undo(self) -> bool:
        """Make the objects again what they were; tell whether they were something else."""
        changed = [pair for pair in self._before if not same_parts(pair[0].parts(), pair[1])]
        for holder, before in changed:
            holder.put(before)
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

    def keep_numbers(self) -> None:
        """Put numbers for the values of the trace that have been kept and are known."""
        for holder, before in self._before:
            now = holder.parts()
            if not same_parts(now, before):
                _put_numbers(holder, now, DEPTH)

    def kept(self) -> Iterator[Traced]:
        """Yield the values of the trace that have been kept, however deep."""
        for holder, before in self._before:
            now = holder.parts()
            if not same_parts(now, before):
                old = {id(value) for _, value in before}
                yield from _traced([value for _, value in now if id(value) not in old], DEPTH)

    def keep_any_of(self, values: Sequence[Any]) -> bool:
        """Tell whether something made of traced ``values`` alone has been kept."""
        nodes = {x.node for x in flatten_traced(tuple(values))[0] if isinstance(x, Traced)}
        for found in self.kept():
            inputs = {x for x in topological([found.node]) if isinstance(x, Input)}
            if inputs and inputs <= nodes:
                return True
        return False


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


class Memory:
    """Whether a function reads what it has changed itself.

    In plain Python a call, or a step of a loop, then depends on the one before. A second trace
    tells, which finds what the first one has left: it fails by values of another trace, or is
    another program with another result. Functions that set an attribute before they read it, as
    models do with what layers give, or that keep a table of constants, have no memory.
    """

    def __init__(self) -> None:
        self._looks = LOOKS
        self._effects: Effects | None = None
        self._warning = ""

    @property
    def possible(self) -> bool:
        """Whether it is still to be looked for."""
        return self._looks > 0

    def note(self, effects: Effects) -> None:
        """Note what the function may have changed in the last trace."""
        self._effects = effects

    def keep_numbers(self) -> None:
        """Put numbers for the sizes that the last trace has left."""
        effects, self._effects = self._effects, None
        if effects is not None and now().guards is None:
            effects.keep_numbers()

    def look(self, walk: Walk, names: Iterable[str], differs: Callable[[], bool]) -> None:
        """Find out by another trace, and undo it.

        Parameters
        ----------
        walk:
            What the function reads now.
        names:
            The places that the last trace has changed.
        differs:
            Traces again, and tells whether the result is another.
        """
        self._looks -= 1
        effects = Effects(walk)
        arrays = [(x, x.copy()) for r in walk.reads.values() if _is_written(x := r.value)]
        try:
            found = differs()
        except foreseen(Exception):  # the values of another trace, or what the user raises
            found = True
        finally:
            effects.undo()
            for x, before in arrays:
                np.copyto(x, before)
        if found:
            self._looks = 0
            places = " and ".join(dict.fromkeys(filter(None, names))) or "something"
            self._warning = (
                f"{places} is changed by the function, which has read it: in plain "
                "Python a call, or a step of a loop, may depend on the one before, and compiled it "
                "does not. Write instead: pass it as an argument, and return it; in a loop, make "
                "it a part of the state"
            )

    def warn(self) -> None:
        """Warn of what was found."""
        text, self._warning = self._warning, ""
        if text:
            warn_user(text, CaptureWarning)


def same_parts(a: Parts, b: Parts) -> bool:
    return len(a) == len(b) and all(  # without a step of Python's for each: there may be many
        all(map(operator.is_, map(part, a), map(part, b))) for part in _KEY_AND_VALUE
    )


_KEY_AND_VALUE = operator.itemgetter(0), operator.itemgetter(1)


def _put_numbers(holder: Holder, now: Parts, depth: int) -> None:
    """Make what an object holds numbers where these are known, however deep."""
    after = [(key, _number(value, depth)) for key, value in now]
    if not same_parts(after, now):
        holder.put(after)


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


def _number(value: Any, depth: int) -> Any:
    if type(value) is Size:
        return value.hint if now().guards is None else value
    if isinstance(value, Traced):
        known = known_value(value.node)
        return value if known is None else np.array(known)[()]
    if type(value) is tuple:
        parts = tuple(_number(x, depth) for x in value)
        return value if all(map(operator.is_, parts, value)) else parts
    if depth and not isinstance(value, (type, ModuleType, FunctionType)):
        for holder in _holders(value):
            _put_numbers(holder, holder.parts(), depth - 1)
    return value


def _traced(values: Sequence[Any], depth: int) -> Iterator[Traced]:
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
            yield from _traced(held, depth - 1)


def _holders(
    value: Any, stored: AbstractSet[str] = frozenset(), some: AbstractSet[str] | None = None,
    packages: frozenset[str] = NONE,
) -> list[Holder]:  # fmt: skip
    """Return an object as what holds its parts: entries, items and attributes.

    ``stored``: the attributes that count of classes and modules; ``some``: of objects of the
    user's, unless all do; ``packages``: installed ones that count as the user's.
    """
    if isinstance(value, (type, ModuleType)):  # others write to them, too
        return [names(value, stored.__contains__)]
    if isinstance(value, CellType):
        return [in_cell(value)]
    found = []
    if isinstance(value, dict):
        found.append(entries(value))
    elif isinstance(value, (list, set, deque)):
        found.append(in_order(value))
    if has_dictionary(value) or hasattr(type(value), "__slots__"):
        found.append(own_attributes(value, some if copied_simply(type(value), packages) else None))
    return found


def names(value: Any, chosen: Callable[[str], bool]) -> Holder:
    """Return the chosen names of a class or a module."""
    there = vars(value)

    def parts() -> Parts:
        return [(k, x) for k, x in list(there.items()) if chosen(k)]

    def put(after: Parts) -> None:
        before = dict(parts())
        for key in before.keys() - dict(after).keys():
            delattr(value, key)
        for key, x in after:
            if key not in before or before[key] is not x:
                setattr(value, key, x)

    return Holder(parts, put)


def entries(value: dict[Any, Any], only: AbstractSet[str] | None = None) -> Holder:
    """Return a dictionary, or of one that others write to, too, some entries."""

    def put(parts: Parts) -> None:
        for key in list(value) if only is None else only & value.keys():
            del value[key]
        value.update(parts)

    if only is None:
        return Holder(lambda: list(value.items()), put, grows=True)
    return Holder(lambda: [(k, value[k]) for k in only if k in value], put)


def in_order(value: Any) -> Holder:
    """Return a list, a set or a queue."""

    def put(parts: Parts) -> None:
        value.clear()
        (value.update if isinstance(value, set) else value.extend)(x for _, x in parts)

    return Holder(lambda: list(zip(itertools.repeat(None), value)), put, grows=True)


def own_attributes(value: Any, some: AbstractSet[str] | None = None) -> Holder:
    """Return an object: its own attributes, those of ``some`` names unless all count."""

    def parts() -> Parts:
        found = attributes(value) if some is None else named_attributes(value, some)
        return [(k, x) for k, x in found if not _is_ours(type(value), k)]

    def put(before: Parts) -> None:
        set_attributes(value, dict(parts()), dict(before))

    return Holder(parts, put)


def _is_ours(kind: type, name: str) -> bool:
    """Tell whether symgrad keeps an attribute: of functions that it rewrites, of its objects."""
    return name.startswith("__symgrad_") or type(getattr(kind, name, None)) is cached_property


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

    return Holder(parts, put)
