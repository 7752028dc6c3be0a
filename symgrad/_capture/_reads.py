"""What a function reads besides its arguments: a walk over its code, with the values of now.

Roots are the global names that its code loads, the cells that it closes over, its defaults, the
object of a method, the parts of a ``functools.partial``. Functions of the user's that are reached
are walked in turn. Of an object or a module that is reached only attributes count whose names
stand anywhere in the code that was reached: more may be found than is read, never less. Not
walked are Python's own modules and installed ones (NumPy, SciPy, ...), which are taken as fixed.
"""

from __future__ import annotations

import functools
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from enum import Enum
from operator import attrgetter, methodcaller
from types import CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

import numpy as np

from .._core.base.sizes import Size
from .._core.base.state import now
from .._core.graph import Node
from .._core.op import Op
from .._core.trace import GENERATORS, RandomGenerator, Traced
from ._locations import BOUND, FIXED, Assigned, At, Enter, Member, Walk
from ._ownership import NONE, by_symgrad
from ._reads_code import read_function, read_method, read_partial
from ._reads_objects import read_class, read_instance, read_module, read_type
from ._stand_ins import StandIn
from ._user_code import (
    IN_MEMORY,
    functions_in,
    has_dictionary,
    memory_of,
    named_attributes,
    packed_form,
    python_of,
    recipe_of,
    transformed,
    users_class,
)

#: Nothing is known of what a function assigns to.
UNASSIGNED = Assigned()

#: How deep places may lie in one another by one expression.
DEEPEST = 24

#: Arrays of whole numbers and truth values up to this many bytes are numbers of the trace (they
#: are indices and masks mostly); larger ones are data, as all arrays of floats are.
SMALL = 1024

#: From this many bytes on, an array that has to be compared at each call is worth a warning.
LARGE = 1 << 20

#: Containers of plain entries are compared as a whole if they have more than this.
SEPARATE = 16

#: Containers with functions have more than this before they are: each function may have to be
#: copied with other data, which those of a packed container cannot be.
SEPARATE_FUNCTIONS = 500

#: Containers of which a copy is made, besides named tuples and sets.
COPIED = (list, tuple, dict, OrderedDict, defaultdict, deque)

_PLAIN = (bool, int, str, bytes, type(None), type(Ellipsis), slice, range)


def read_by(
    root: Any, objects: Sequence[Any] = (), opaque: frozenset[CodeType] = frozenset(),
    adapted: bool = False, packages: frozenset[str] = NONE, known: frozenset[str] = frozenset(),
    assigned: Assigned = UNASSIGNED,
) -> Walk:  # fmt: skip
    """Return all that a function reads besides its arguments.

    ``objects``: arguments that are no numbers, whose attributes it reads, too. ``opaque``: code of
    functions that Python calls in each call, and that read for themselves. ``adapted``: classes
    are copied, too, so that data can be put into what their methods read. ``packages``: installed
    ones that are walked, too. ``known``: names that are likely in the code. ``assigned``: what is
    known of places that it assigns to.
    """
    found = _walked(root, objects, opaque, known, adapted, packages, assigned)
    while True:
        lost = found.set_aside.keys() - found.places.values()
        if lost:  # no copy has anything else there
            assigned = assigned._replace(unread=assigned.unread - lost)
        elif found.mentioned <= found.known:
            return found
        known = frozenset(found.mentioned | found.known)  # found late, and perhaps passed over
        found = _walked(root, objects, opaque, known, adapted, packages, assigned)


def _walked(
    root: Any, objects: Sequence[Any], opaque: frozenset[CodeType], known: frozenset[str],
    adapted: bool, packages: frozenset[str], assigned: Assigned,
) -> Walk:  # fmt: skip
    walk = Walk(root, objects, opaque, known, adapted, packages, assigned)
    walk.visit(root, At(walk.constant(root), ""))
    for given in objects:
        name = given.__name__ if isinstance(given, type) else type(given).__name__
        walk.visit(given, At(walk.constant(given), name, BOUND))
    while walk.waiting:
        _look(walk, *walk.waiting.popleft())
    _note_missing(walk)
    walk.leave_out_pinned()
    return walk


def _look(walk: Walk, value: Any, at: At) -> None:
    """Look at a value: note it, or look into it."""
    kind = type(value)
    walk.come_to(at)
    assigned = walk.assigned
    if at.text in assigned.timed:
        return
    if kind is StandIn:  # of a walk around this one
        walk.note(at.text, "is", value, at.name)
    elif at.text in assigned.unread and at.place is not None and at.fixed <= walk.free:
        walk.note(f"_sg_type({at.text})", "is", kind, at.name)
        walk.places[at.place] = at.text
        walk.set_aside[at.text] = value
        walk.texts.setdefault(id(value), (at.text, at.name))
    elif kind in (int, bool) and at.text in assigned.numbers:
        _data(walk, value, at)
    elif isinstance(value, Enum):
        _enum(walk, value, at)
    elif kind in _PLAIN or issubclass(kind, (int, str)):
        walk.note(at.text, "equal", value, at.name)
    elif isinstance(value, (float, complex, np.generic, np.ndarray)) and not _has_objects(value):
        _data(walk, value, at)
    elif kind in GENERATORS:
        _generator(walk, value, at)
    elif kind is RandomGenerator:  # of a walk around this one
        walk.note(at.text, "is", value, at.name)
    elif kind in (Traced, Size) or hasattr(kind, "overwritten"):
        if now().guards is None:  # left by a trace; somebody may put a number there again
            walk.note(at.text, "is", value, at.name)
    elif isinstance(value, (Op, Node)) or hasattr(kind, "__symgrad_copies__"):
        # Nobody can change it, or what it is made of; and what a trace has copied is no state.
        walk.note(at.text, "is", value, at.name)
    elif hasattr(kind, "__symgrad_step__"):  # an eager tensor
        _data(walk, value._data, at._replace(text=f"{at.text}._data"))
    elif walk.is_new(value, at):
        if at.depth > DEEPEST:  # from here on by the object itself, or expressions would grow
            walk.note(at.text, "is", value, at.name)
            at = at._replace(text=walk.constant(value), depth=0)
        if transformed(value):
            _function_in(walk, value, recipe_of(value)[1][0], at)
        elif (python := python_of(value, walk.packages)) is not None:
            _function_in(walk, value, python, at._replace(fixed=max(at.fixed, BOUND)))
        else:
            look = next(look for kinds, look in _KINDS if isinstance(value, kinds))
            look(walk, value, at)


def _note_missing(walk: Walk) -> None:
    """Note that attributes are not there that the function makes."""
    owners = dict(walk.texts.values())
    objects = {text: x for x in walk.met.values() for text, _ in [walk.texts.get(id(x), ("", ""))]}
    for text, key in walk.assigned.made:
        value = objects.get(text, walk.constants.get(text))
        if value is None or key in dict(named_attributes(value, (key,))):
            continue
        there = f"{key!r} in {text}.__dict__"
        if not has_dictionary(value):
            there = f"_sg_hasattr({text}, {key!r})"
        walk.note(there, "is", False, f"{owners.get(text, '')}.{key}")


# ---------------------------------------------------------------- values


def _enum(walk: Walk, value: Enum, at: At) -> None:
    walk.note(at.text, "is", value, at.name)
    if id(value) in walk.met:
        return
    walk.met[id(value)] = value
    read_class(walk, type(value), at._replace(fixed=FIXED))
    here = walk.constant(value)
    for key in walk.known & value.__dict__.keys() | {"_value_"}:
        walk.visit(getattr(value, key), at.within(f"{here}.{key}", at.name, fixed=FIXED))


def _data(walk: Walk, value: Any, at: At) -> None:
    """Look at a number or an array."""
    kind, text, name = type(value), at.text, at.name
    if isinstance(value, type(np.ma.masked)):  # whose attributes nobody may ask for or set
        walk.note(text, "is", value, name)
        return
    if isinstance(value, np.ma.MaskedArray):
        walk.note(f"{text}.__class__", "is", kind, name)
        walk.held.update((f"{text}.data", f"{text}.mask"))
        walk.note(f"{text}.data", "data", value.data, name)
        walk.note(f"{text}.mask", "data", value.mask, name)
        walk.note(f"{text}.fill_value", "equal", value.fill_value, name)
        return
    if kind is not np.ndarray and users_class(kind, walk.packages):
        read_instance(walk, value, at._replace(fixed=FIXED))
    if isinstance(value, np.ndarray) and value.dtype.char not in "fdFDbBhHiIlLqQ?":
        if kind is not np.ndarray:  # whose tolist() may be of its own: structures with units
            walk.note(text, "is", value, name)
            return
        walk.note(f"_sg_repr({text}.tolist())", "equal", repr(value.tolist()), name)
        return
    numbers = walk.assigned.numbers
    if isinstance(value, np.generic) and value.dtype.char not in "fdFD" and text not in numbers:
        walk.note(text, "equal", value, name)
        return
    if at.fixed > walk.free or at.place is None:
        walk.held.add(text)
    else:
        walk.places[at.place] = text
    walk.note(text, "data", value, name)


def _generator(walk: Walk, value: Any, at: At) -> None:
    """Look at a generator of random numbers, which is drawn from, whichever is there."""
    walk.met[id(value)] = value
    if at.fixed > walk.free or at.place is None:
        walk.note(at.text, "is", value, at.name)
    else:
        walk.places[at.place] = at.text
        walk.note(at.text, "data", value, at.name)
    walk.generators.append(value)


def _has_objects(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == object


def _objects(walk: Walk, value: Any, at: At) -> None:
    """Look at an array of objects, which may be in itself."""
    if users_class(type(value), walk.packages):
        read_instance(walk, value, at._replace(fixed=FIXED))
    walk.note(f"{at.text}.shape", "equal", value.shape, at.name)
    for k, x in enumerate(value.flat):
        walk.visit(x, at.within(f"{at.text}.flat[{k}]", f"{at.name}[{k}]", fixed=FIXED))


def _function_in(walk: Walk, value: Any, inner: Any, at: At) -> None:
    """Look at the function in a transformation's result, or in a compiled function."""
    walk.note(at.text, "is", value, at.name)
    walk.enters(value, at.fixed)("inner", inner)
    walk.visit(inner, at.within(walk.constant(inner), at.name))


def _is_packed(walk: Walk, value: Any, at: At) -> bool:
    """Note a long container of plain values as a whole; False if it is none."""
    if len(value) <= SEPARATE or (packed := packed_form(value)) is None:
        return False
    functions = {id(f): f for f in functions_in(value)}
    if len(value) <= SEPARATE_FUNCTIONS and any(
        type(f) is not np.ufunc for f in functions.values()
    ):
        return False
    walk.note(f"_sg_packed({at.text})", "equal", packed, at.name)
    for f in functions.values():
        walk.visit(f, at.within(walk.constant(f), at.name, fixed=FIXED))
    return True


def _sequence(walk: Walk, value: Any, at: At) -> None:
    kind = type(value)
    if not _is_packed(walk, value, at):
        walk.note(f"_sg_type({at.text})", "is", kind, at.name)
        walk.note(f"_sg_len({at.text})", "equal", len(value), at.name)
        copied = kind in COPIED or hasattr(kind, "_fields")
        fixed = at.fixed if copied else FIXED
        enter = walk.enters(value, fixed)
        for k, x in enumerate(value):
            walk.visit(x, at.within(f"{at.text}[{k}]", f"{at.name}[{k}]", enter(k, x), fixed))
    if users_class(kind, walk.packages):
        read_instance(walk, value, at)


def _mapping(walk: Walk, value: Any, at: At) -> None:
    kind = type(value)
    if not _is_packed(walk, value, at):
        walk.note(f"_sg_type({at.text})", "is", kind, at.name)
        walk.note(f"(*{at.text},)", "equal", tuple(value), at.name)
        fixed = at.fixed if kind in COPIED else FIXED
        enter = walk.enters(value, fixed)
        _members(walk, value, at, enter, fixed)
        for key, x in value.items():
            if key == "__builtins__":  # in the names of code that was executed
                continue
            index = repr(key) if type(key) in (str, int, bool) else walk.constant(key)
            place = enter(key, x)
            inner = at.within(f"{at.text}[{index}]", f"{at.name}[{key!r}]", place, fixed)
            walk.visit(x, inner)
    if users_class(kind, walk.packages):
        read_instance(walk, value, at)


def _set(walk: Walk, value: Any, at: At) -> None:
    if any(True for _ in _told_by_identity(value, walk.packages)):
        walk.note(f"_sg_type({at.text})", "is", type(value), at.name)
        walk.note(f"(*{at.text},)", "equal", tuple(value), at.name)
        fixed = at.fixed if type(value) in (set, frozenset) else FIXED
        _members(walk, value, at, walk.enters(value, fixed), fixed)
    elif isinstance(value, frozenset):
        walk.note(at.text, "equal", value, at.name)
    else:
        _as_text(walk, value, at)


def _members(walk: Walk, value: Any, at: At, enter: Enter, fixed: int) -> None:
    """Look at the objects by which a dictionary or a set finds what it holds.

    A copy has copies of them, by which the code that is copied looks for it.
    """
    for k, x in enumerate(_told_by_identity(value, walk.packages)):
        enter(Member(k), x)
        ours = type(x) is FunctionType and by_symgrad(x.__code__.co_filename)
        here = walk.constant(x)
        walk.visit(x, at.within(here, at.name, fixed=FIXED if ours else fixed))


def _told_by_identity(members: Iterable[Any], packages: frozenset[str]) -> Iterator[Any]:
    """Return the functions and the user's objects among keys, also in keys that are tuples.

    Copies of classes equal the original ones (:class:`._twins.Twin`).
    """
    for x in members:
        if type(x) in (tuple, frozenset):
            yield from _told_by_identity(x, packages)
        elif isinstance(x, (Enum, type, int, float, complex, str)):  # of which there are no copies
            continue
        elif callable(x) or users_class(type(x), packages):
            yield x


def _reference(walk: Walk, value: Any, at: At) -> None:
    inner, found = f"{at.text}()", None
    if isinstance(value, ContextVar):
        inner, found = f"{at.text}.get(None)", value.get(None)
    else:
        found = value()
    walk.note(at.text, "is", value, at.name)
    walk.visit(found, at.within(inner, at.name, fixed=FIXED))


def _memory(walk: Walk, value: Any, at: At) -> None:
    walk.note(f"_sg_type({at.text})", "is", type(value), at.name)
    walk.note(f"_sg_memory({at.text})", "equal", memory_of(value), at.name)
    if users_class(type(value), walk.packages):
        read_instance(walk, value, at._replace(fixed=FIXED))


def _as_text(walk: Walk, value: Any, at: At) -> None:
    walk.note(f"_sg_repr({at.text})", "equal", repr(value), at.name)


def _getter(walk: Walk, value: Any, at: At) -> None:
    walk.note(at.text, "is", value, at.name)
    walk.mentioned |= {part for x in value.__reduce__()[1] for part in str(x).split(".")}


#: What looks into a value: the first row of whose types it is.
_KINDS: tuple[tuple[Any, Callable[[Walk, Any, At], None]], ...] = (
    (FunctionType, read_function),
    (MethodType, read_method),
    (functools.partial, read_partial),
    ((list, tuple, deque), _sequence),
    ((dict, MappingProxyType), _mapping),
    ((weakref.ref, ContextVar), _reference),
    (IN_MEMORY, _memory),
    ((attrgetter, methodcaller), _getter),
    ((set, frozenset), _set),
    (np.ndarray, _objects),
    (ModuleType, read_module),
    (type, read_type),
    (object, read_instance),
)
