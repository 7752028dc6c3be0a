"""Copies of a user's functions and objects in which some values are others'.

What a function reads becomes an argument by tracing a copy of it, in which traced values stand
for the numbers and arrays that it found. Only what holds such a value, however deep, is copied;
each object once, so that two names of one object stay that. The user's objects are not touched,
but what the function assigns to its copies while it is traced is handed on to them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import CellType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

from .._trace import Traced
from ..errors import TraceError
from ._reads import Place, Walk
from ._users import attributes, set_attributes, transformed


class Scope(dict[str, Any]):
    """Global names of a copied function, each as ``look(name, value)`` makes it of its value now.

    Python reads global names from a dictionary's subclass by ``__getitem__``, and assigns to
    them past it.
    """

    def __init__(self, names: dict[str, Any], look: Callable[[str, Any], Any]) -> None:
        special = {k: v for k, v in names.items() if k.startswith("__")}
        super().__init__(special)
        self._given, self._names, self._look = frozenset(special), names, look

    @property
    def real(self) -> dict[str, Any]:
        """The user's own names."""
        return self._names.real if isinstance(self._names, Scope) else self._names

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._names

    def __getitem__(self, name: str) -> Any:
        if super().__contains__(name):
            return super().__getitem__(name)
        return self._look(name, self._names[name])

    def hand_on(self) -> None:
        """Assign to the real names what code has assigned to these."""
        for name in self.keys() - self._given:
            self._names[name] = self.pop(name)


class Substitutes:
    """Copies of all that holds certain values.

    Parameters
    ----------
    walk:
        What the function reads.
    values:
        The new values, by the expressions of their places.
    """

    def __init__(self, walk: Walk, values: Mapping[str, Any]) -> None:
        self._new = {p: values[text] for p, text in walk.places.items() if text in values}
        self._parts = walk.parts
        self._made: dict[int, Any] = {}
        self._after: list[Callable[[], None]] = []
        self._cells: dict[int, CellType] = {}
        self._stale = self._holders()

    def _holders(self) -> set[int]:
        """Return the objects that hold a new value, or one that does."""
        around: dict[int, list[int]] = {}
        for owner, (_, parts) in self._parts.items():
            for _, value in parts:
                around.setdefault(id(value), []).append(owner)
        found: set[int] = set()
        waiting = [place.owner for place in self._new]
        while waiting:
            owner = waiting.pop()
            if owner not in found:
                found.add(owner)
                waiting += around.get(owner, ())
        return found

    def hand_on(self) -> None:
        """Hand on to the user's objects what was assigned to copies."""
        for action in self._after:
            action()

    def part(self, owner: Any, key: Any, value: Any) -> Any:
        """Return what a part of an object is in its copy."""
        place = Place(id(owner), key)
        return self._new[place] if place in self._new else self.of(value)

    def of(self, value: Any) -> Any:
        """Return the copy of a value, or the value if it holds nothing new."""
        if id(value) not in self._stale:
            return value
        if id(value) not in self._made:
            self._made[id(value)] = self._copy(value)
        return self._made[id(value)]

    def original(self, value: Any) -> Any:
        """Return what a value is a copy of; functions that a copy defines close over originals."""
        for key, made in self._made.items():
            if made is value and key in self._parts:
                return self._parts[key][0]
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
        if transformed(value):
            make, (inner, *rest), options = value._recipe
            return make(self.part(value, "inner", inner), *rest, **options)
        if kind is FunctionType:
            return self._function(value)
        if kind is MethodType:
            function = self.part(value, "function", value.__func__)
            return MethodType(function, self.part(value, "self", value.__self__))
        if kind is functools.partial:
            args = [self.part(value, ("arg", k), x) for k, x in enumerate(value.args)]
            named = {k: self.part(value, ("keyword", k), x) for k, x in value.keywords.items()}
            return functools.partial(self.part(value, "func", value.func), *args, **named)
        if kind is list or kind is dict:
            return self._container(value)
        if issubclass(kind, tuple):
            parts = [self.part(value, k, x) for k, x in enumerate(value)]
            return kind._make(parts) if hasattr(kind, "_make") else tuple(parts)
        return self._object(value)

    def _function(self, f: FunctionType) -> FunctionType:
        cells, later = [], []
        for k, cell in enumerate(f.__closure__ or ()):
            place = Place(id(f), ("cell", k))
            held = next((v for key, v in self._parts[id(f)][1] if key == place.key), None)
            if place in self._new or id(held) in self._stale:
                later.append((cell, CellType(), place.key, held))
                self._cells[id(later[-1][1])] = cell
                cells.append(later[-1][1])
            else:  # `nonlocal` reaches the user's own
                cells.append(cell)
        scope = f.__globals__
        if id(scope) in self._stale:
            if id(scope) not in self._made:
                self._made[id(scope)] = Scope(scope, functools.partial(self.part, scope))
                self._after.append(self._made[id(scope)].hand_on)
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
        for original, cell, key, held in later:
            given = cell.cell_contents = self.part(f, key, held)
            self._after.append(functools.partial(_hand_on_cell, original, cell, given))
        return made

    def _container(self, value: Any) -> Any:
        made: Any = type(value)()
        self._made[id(value)] = made
        items = value.items() if isinstance(value, dict) else enumerate(value)
        parts = {key: self.part(value, key, x) for key, x in items}
        if isinstance(value, dict):
            made.update(parts)
        else:
            made.extend(parts.values())
        back = {id(new): value[key] for key, new in parts.items()}
        self._after.append(functools.partial(_hand_on_items, value, made, parts, back))
        return made

    def _object(self, value: Any) -> Any:
        kind = type(value)
        if isinstance(value, ModuleType):
            made: Any = ModuleType(value.__name__)
        else:
            made = SimpleNamespace() if kind is SimpleNamespace else object.__new__(kind)
        self._made[id(value)] = made
        own = getattr(value, "__dict__", None)
        if own is not None:
            made.__dict__.update(own)
        given: dict[str, Any] = {}
        for key, x in attributes(value):
            if own is None or key not in own:
                object.__setattr__(made, key, x)
        found = dict(self._parts[id(value)][1])
        for key, x in found.items():
            new = self.part(value, key, x)
            given[key] = new
            if own is not None and key in own:
                made.__dict__[key] = new
            else:
                object.__setattr__(made, key, new)
        before = dict(attributes(made))
        self._after.append(functools.partial(_hand_on_attributes, value, made, before))
        return made


def _hand_on_cell(original: Any, cell: Any, given: Any) -> None:
    if cell.cell_contents is not given:
        original.cell_contents = cell.cell_contents


def _hand_on_attributes(value: Any, made: Any, before: dict[str, Any]) -> None:
    now = dict(attributes(made))
    if now.keys() != before.keys() or not all(now[k] is x for k, x in before.items()):
        set_attributes(value, before, now)


def _hand_on_items(value: Any, made: Any, parts: dict[Any, Any], back: dict[int, Any]) -> None:
    now = list(made.values()) if isinstance(made, dict) else made
    keys = list(made) if isinstance(made, dict) else list(range(len(made)))
    if keys == list(parts) and all(map(_is, now, parts.values())):
        return
    after = [back.get(id(x), x) for x in now]
    if isinstance(value, dict):
        value.clear()
        value.update(zip(keys, after, strict=True))
    else:
        value[:] = after


def _is(a: Any, b: Any) -> bool:
    return a is b
