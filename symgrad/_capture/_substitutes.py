"""Copies of a user's functions and objects in which some values are others'.

What a function reads becomes an argument by tracing a copy of it, in which traced values stand
for the numbers and arrays that it found. And a function written for plain NumPy is adapted by
tracing a copy of it, in which ``np``, ``math`` and ``scipy`` mean symgrad's. Only what holds such
a value, however deep, is copied; each object once, so that two names of one object stay that. The
user's objects are not touched, but what the function assigns to its copies while it is traced is
handed on to them.
"""

from __future__ import annotations

import builtins
import copy
import functools
from collections.abc import Callable, Iterable, Mapping
from types import (
    CellType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any

from .._core.base.stand_in_types import TELLING
from .._core.trace import RandomGenerator, Reading, Traced
from ..errors import TraceError
from ._effects import (
    Again,
    Holder,
    Parts,
    entries,
    in_cell,
    in_order,
    names,
    own_attributes,
    same_parts,
)
from ._locations import Part, Place, Walk
from ._reads import COPIED
from ._replacements import Followed, Scope, has_array, of_arrays, twin_of
from ._user_code import (
    ACCESSORS,
    attributes,
    changed,
    python_of,
    recipe_of,
    transformed,
)
from ._versions import length, made_of, version_of, version_with_numbers

#: What ``functools.lru_cache`` makes.
_REMEMBERING = functools._lru_cache_wrapper


class Substitutes:
    """Copies of all that holds certain values.

    Parameters
    ----------
    walk:
        What the function reads.
    values:
        The new values, by the expressions of their places.
    adapted:
        Whether names of NumPy, ``math`` and SciPy mean symgrad's versions, in methods, too.
    sized:
        Whether ``len`` gives a size then.
    """

    __symgrad_copies__ = True  # which copied classes close over

    def __init__(
        self, walk: Walk, values: Mapping[str, Any], adapted: bool = False, sized: bool = False
    ) -> None:
        self._new = {p: values[text] for p, text in walk.places.items() if text in values}
        self._parts, self._packages = walk.parts, walk.packages
        self._adapted = adapted
        self._splines: set[int] = set()  # SciPy's objects: versions are made of their parts
        if adapted:
            self._parts = dict(walk.parts)
            for key, (owner, parts) in walk.bound.items():
                self._parts[key] = owner, [*self._parts.get(key, (owner, []))[1], *parts]
                if parts and type(parts[0][0]) is Part:
                    self._splines.add(key)
            for key, (_, parts) in self._parts.items():
                asks = key in walk.asking if key in walk.scopes else bool(walk.asking)
                for name, value in parts:
                    if id(value) in self._splines:
                        continue
                    version = version_of(value) if asks else version_with_numbers(name, value)
                    if sized and value is len:
                        version = length
                    if value is id:
                        version = self._identity
                    if version is not value:
                        self._new.setdefault(Place(key, name), version)
            if walk.mentioned & TELLING.keys():
                for key in walk.scopes:
                    self._new.setdefault(Place(key, "__builtins__"), None)
        #: Whether readings off a clock are handed on as such.
        self.keeps_readings = False
        self._twins: list[Any] = []
        self._made: dict[int, Any] = {}
        self._after: list[Callable[[], None]] = []
        self._tests: list[Callable[[], bool]] = []
        self._changing: list[tuple[Any, Callable[[], Parts], Parts]] = []
        self._cells: dict[int, CellType] = {}
        self._twin_cells: dict[int, CellType] = {}
        self._stale = self._holders()

    def _holders(self) -> set[int]:
        """Return the objects that hold a new value, or one that does."""
        around: dict[int, list[int]] = {}
        for owner, (_, parts) in self._parts.items():
            for _, value in parts:
                around.setdefault(id(value), []).append(owner)
        found = set[int]()
        waiting = [*(place.owner for place in self._new), *self._splines]
        if self._adapted:
            waiting += [
                k for k, (x, _) in self._parts.items()
                if type(x) is _REMEMBERING or python_of(x, self._packages) is not None
            ]  # fmt: skip
        while waiting:
            owner = waiting.pop()
            if owner not in found:
                found.add(owner)
                waiting += around.get(owner, ())
        return found

    def root(self, function: Any) -> Any:
        """Return the copy of what all is read by, or that itself if it reads nothing new."""
        if self._adapted and type(function) is MethodType:  # of an object with a version
            version = version_of(function)
            if version is not function:
                return version
        found = self.of(function)
        return version_of(function) if self._adapted and found is function else found

    def hand_on(self) -> None:
        """Hand on to the user's objects what was assigned to copies."""
        for action in self._after:
            action()

    def changed(self) -> bool:
        """Tell whether anything was assigned to copies."""
        return any(test() for test in self._tests)

    def copies(self) -> list[tuple[Any, Parts, Parts]]:
        """Return what the copies hold that may be changed: the original, the parts, the first."""
        return [(owner, parts(), first) for owner, parts, first in self._changing]

    def back(self, value: Any) -> Any:
        """Return what a value is a copy of, or the value."""
        for key, made in self._made.items():
            if made is value and key in self._parts:
                return self._parts[key][0]
        return value

    def kept(self, value: Any) -> Any:
        """Return what the user's objects keep of a value: of a reading off a clock the number."""
        if isinstance(value, Reading):
            return value if self.keeps_readings else value.number()
        return self.back(value)

    def again(self, before: Any, value: Any) -> Any:
        """Return what is handed on in the place of one of the new values."""
        own = self.keeps_readings and any(before is x for x in self._new.values())
        return Again(value) if own else value

    def part(self, owner: Any, key: Any, value: Any) -> Any:
        """Return what a part of an object is in its copy."""
        place = Place(id(owner), key)
        if place in self._new:
            return self._new[place]
        return self.root(value)

    def given(self, arguments: Any) -> Any:
        """Return arguments with copies and versions for originals, for a copied function."""
        return changed(arguments, self.root) if self._adapted else arguments

    def outside(self, result: Any) -> Any:
        """Return what a copied function has returned with originals for copies."""
        for twin, kind in self._twins:
            object.__setattr__(twin, "__class__", kind)
        return changed(result, self.back)

    def of(self, value: Any) -> Any:
        """Return the copy of a value, or the value if it holds nothing new."""
        if id(value) not in self._stale:
            return value
        if id(value) not in self._made:
            self._made[id(value)] = self._copy(value)
        return self._made[id(value)]

    def original(self, value: Any) -> Any:
        """Return what a value is a copy of; functions that a copy defines close over originals."""
        if (found := self.back(value)) is not value:
            return found
        if type(value) is MethodType:
            return MethodType(self.original(value.__func__), self.original(value.__self__))
        if type(value) is not FunctionType:
            return value
        cells = [self._cells.get(id(cell), cell) for cell in value.__closure__ or ()]
        for name, cell in zip(value.__code__.co_freevars, cells, strict=True):
            if isinstance(cell.cell_contents, Traced):
                raise TraceError(
                    f"{value.__name__}, which pure_callback is given, closes over {name}, which "
                    "is traced: pass it as an argument, pure_callback(function, like, "
                    f"..., {name})"
                )
        scope = value.__globals__
        made = FunctionType(
            value.__code__, scope.real if isinstance(scope, Scope) else scope, value.__name__,
            value.__defaults__, tuple(cells) or None,
        )  # fmt: skip
        made.__kwdefaults__ = value.__kwdefaults__
        return made

    def _copy(self, value: Any) -> Any:
        kind = type(value)
        if id(value) in self._splines:
            return made_of(kind, [self.part(value, k, x) for k, x in self._parts[id(value)][1]])
        if transformed(value):
            make, (inner, *rest), options = recipe_of(value)
            return make(self.part(value, "inner", inner), *rest, **options)
        if (python := python_of(value, self._packages)) is not None:
            return Followed(value, self.part(value, "inner", python))
        if kind is FunctionType:
            return self._function(value)
        if kind is _REMEMBERING:
            return self._remembering(value)
        if kind is MethodType:
            owner = self.part(value, "self", value.__self__)
            if type(owner) is RandomGenerator:
                return getattr(owner, value.__func__.__name__)
            return MethodType(self.part(value, "function", value.__func__), owner)
        if kind is functools.partial:
            args = [self.part(value, ("arg", k), x) for k, x in enumerate(value.args)]
            named = {k: self.part(value, ("keyword", k), x) for k, x in value.keywords.items()}
            return functools.partial(self.part(value, "func", value.func), *args, **named)
        if kind in (set, frozenset):
            return self._set(value)
        if kind in COPIED and kind is not tuple:
            return self._container(value)
        if issubclass(kind, tuple):
            parts = [self.part(value, k, x) for k, x in enumerate(value)]
            return kind._make(parts) if hasattr(kind, "_make") else tuple(parts)
        if kind in (staticmethod, classmethod):
            return kind(self.of(value.__func__))
        if kind is property:
            get, change, delete = (self.of(getattr(value, k)) for k in ACCESSORS)
            return property(get, change, delete, value.__doc__)
        if kind is functools.cached_property:
            made = copy.copy(value)
            made.func = self.of(value.func)
            return made
        return self._class(value) if isinstance(value, type) else self._object(value)

    def _remembering(self, value: Any) -> Any:
        """Return a function that remembers results, with copies for the modules among these."""

        @functools.wraps(value)
        def call(*args: Any, **kwargs: Any) -> Any:
            named = {k: self.back(x) for k, x in kwargs.items()}
            return changed(value(*map(self.back, args), **named), self.root)

        call.cache_clear, call.cache_info = value.cache_clear, value.cache_info  # type: ignore[attr-defined]
        return call

    def _class(self, kind: type) -> Any:
        """Return a class of the same functions, adapted, whose objects belong to both."""
        kinds = (MemberDescriptorType, GetSetDescriptorType)  # slots, `__dict__`, `__weakref__`
        apart = {k for k, x in vars(kind).items() if type(x) in kinds}
        own = {k: x for k, x in vars(kind).items() if k not in apart}
        bases = tuple(map(self.of, kind.__bases__))
        made = twin_of(kind, bases, own)
        if has_array(kind):
            made.__array_ufunc__ = of_arrays
        self._made[id(kind)] = made
        for key, x in self._parts[id(kind)][1]:
            new = self.part(kind, key, x)
            if isinstance(key, str) and key != "__dict__" and new is not x:
                setattr(made, key, new)

        def new_object(cls: Any, *args: Any, **kwargs: Any) -> Any:
            if (args or kwargs) and cls.__init__ is object.__init__:
                raise TypeError(f"{kind.__name__}() takes no arguments")
            twin: Any = object.__new__(cls)
            if cls is made:
                self._twins.append((twin, kind))
            return twin

        made.__new__ = new_object
        apart |= vars(made).keys() - vars(kind).keys()
        original, copied = (names(x, but=apart) for x in (kind, made))
        self._watch(original, copied, [(x, vars(made)[name]) for name, x in own.items()])
        return made

    def _function(self, f: FunctionType) -> FunctionType:
        cells, new = [], []
        for k, cell in enumerate(f.__closure__ or ()):
            place = Place(id(f), ("cell", k))
            held = next((v for key, v in self._parts[id(f)][1] if key == place.key), None)
            if place in self._new or id(held) in self._stale:
                twin = self._twin_cells.get(id(cell))
                if twin is None:  # functions that share a variable share the copy's
                    twin = self._twin_cells[id(cell)] = CellType()
                    self._cells[id(twin)] = cell
                    new.append((cell, twin, place.key, held))
                cells.append(twin)
            else:  # `nonlocal` reaches the user's own
                cells.append(cell)
        scope = f.__globals__
        if id(scope) in self._stale:
            if id(scope) not in self._made:
                self._made[id(scope)] = self._scope(scope)
            scope = self._made[id(scope)]
        made = FunctionType(f.__code__, scope, f.__name__, None, tuple(cells) or None)
        self._made[id(f)] = made
        made.__dict__ = f.__dict__
        made.__qualname__, made.__doc__ = f.__qualname__, f.__doc__
        if f.__defaults__:
            made.__defaults__ = tuple(
                self.part(f, ("default", k), x) for k, x in enumerate(f.__defaults__)
            )
        if f.__kwdefaults__:
            made.__kwdefaults__ = {
                k: self.part(f, ("kwdefault", k), x) for k, x in f.__kwdefaults__.items()
            }
        for cell, twin, key, held in new:
            twin.cell_contents = given = self.part(f, key, held)
            self._watch(in_cell(cell), in_cell(twin), [(held, given)])
        return made

    def _scope(self, names: dict[str, Any]) -> Scope:
        made = Scope(names, functools.partial(self.part, names), self.kept, self.again)
        if self._adapted:  # a function takes over the builtins that its globals have when made
            new = {
                k[1]: x for (owner, k), x in self._new.items()
                if owner == id(names) and isinstance(k, tuple) and k[0] == "builtin"
            }  # fmt: skip
            own = {**TELLING, **new, "__import__": self._imported}
            made["__builtins__"] |= own
        self._after.append(made.hand_on)
        self._tests.append(made.assigned)
        self._changing.append((names, made.assigned_to, []))
        return made

    def _identity(self, value: Any) -> int:
        """Return what ``id`` does of the original, by which others find what belongs to it."""
        return id(self.back(value))

    def _imported(self, name: str, *args: Any) -> Any:
        """Carry out an import inside of a function."""
        found = builtins.__import__(name, *args)
        return version_of(self.of(found))

    def _container(self, value: Any) -> Any:
        made: Any = copy.copy(value)
        made.clear()
        self._made[id(value)] = made
        items = value.items() if isinstance(value, dict) else enumerate(value)
        parts = [self.part(value, key, x) for key, x in items]
        if not isinstance(value, dict):
            made.extend(parts)
            self._watch(in_order(value), in_order(made), zip(value, parts, strict=True))
            return made
        keys = list(map(self._member, value))
        made.update(zip(keys, parts, strict=True))
        pairs = [*zip(value, keys, strict=True), *zip(value.values(), parts, strict=True)]
        self._watch(entries(value), entries(made), pairs)
        return made

    def _set(self, value: Any) -> Any:
        if isinstance(value, frozenset):
            return frozenset(map(self._member, value))
        made = self._made[id(value)] = set[Any]()
        members = {x: self._member(x) for x in value}
        made.update(members.values())
        self._watch(in_order(value), in_order(made), members.items())
        return made

    def _member(self, x: Any) -> Any:
        """Return what stands for the key of a dictionary or the element of a set in a copy."""
        if type(x) in (tuple, frozenset):
            return type(x)(map(self._member, x))
        return x if isinstance(x, (str, int, type)) else self.root(x)

    def _object(self, value: Any) -> Any:
        kind = type(value)
        if isinstance(value, ModuleType):
            made: Any = ModuleType(value.__name__)
        else:
            made = SimpleNamespace() if kind is SimpleNamespace else object.__new__(kind)
            if (twin := self.of(kind)) is not kind:
                object.__setattr__(made, "__class__", twin)
                self._twins.append((made, kind))
        self._made[id(value)] = made
        own = getattr(value, "__dict__", None)
        if own is not None:
            made.__dict__.update(own)
        for key, x in attributes(value):
            if own is None or key not in own:
                object.__setattr__(made, key, x)
        found = dict(self._parts[id(value)][1])
        for key, x in found.items():
            if key == "__class__":
                continue
            new = self.part(value, key, x)
            if own is not None and key in own:
                made.__dict__[key] = new
            elif new is not x:
                object.__setattr__(made, key, new)
        there = dict(attributes(made))
        pairs = ((x, there[key]) for key, x in attributes(value) if key in there)
        self._watch(own_attributes(value), own_attributes(made), pairs)
        return made

    def _watch(self, original: Holder, copied: Holder, pairs: Iterable[tuple[Any, Any]]) -> None:
        """Have an object hold what its copy will, if that is something else than now.

        ``pairs``: what it holds, each with what the copy has in its place.
        """
        before, olds = copied.parts(), {id(new): old for old, new in pairs}

        def old(x: Any) -> Any:
            return olds[id(x)] if id(x) in olds else self.kept(x)

        def hand_on() -> None:
            now = copied.parts()
            if not same_parts(now, before):
                # A value of the trace that has moved is not the number that was there: other calls
                # have other numbers.
                held = (x for _, x in (*before, *[(None, None)] * len(now)))
                original.put([
                    (old(key), old(x) if x is was else x if isinstance(x, Traced)
                     else self.again(was, old(x)))
                    for (key, x), was in zip(now, held, strict=False)
                ])  # fmt: skip

        self._after.append(hand_on)
        self._changing.append((original.owner, copied.parts, before))
        self._tests.append(lambda: not same_parts(copied.parts(), before))
