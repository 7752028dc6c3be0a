"""Stand-ins for what a function may only assign to: they note what is added, and any other use.

A list that a function appends to, or an attribute that it sets before it reads it, is no state
that the next call depends on. Code does not tell: names are aliased, handed to helpers, looked up
in tables. So a trace is made with something in its place that bears no use at all, but for what
adds to it.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from .._core.base.package import FOLDER

#: The folders of the code that looks at stand-ins, as no other may.
_HERE = tuple(os.path.join(FOLDER, name) for name in ("_capture", "_dispatch"))


class TouchedError(Exception):
    """What was taken for unread is read."""


class StandIn:
    """Bears no use; where it stands for a container it notes what is added.

    It is no list and no dictionary, since code in C reads those past their methods.
    """

    __slots__ = ("_log",)

    def __init__(self, value: Any, inside: Callable[[], bool]) -> None:
        object.__setattr__(self, "_log", Log(value, inside))

    def __getattribute__(self, name: str) -> Any:
        log = object.__getattribute__(self, "_log")
        if log.adds(name) or not _asked_here():
            return log.method(name)
        return object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__getattribute__(self, "_log").touch()

    def __iadd__(self, items: Any) -> Any:
        object.__getattribute__(self, "_log").method("extend")(items)
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        object.__getattribute__(self, "_log").method("__setitem__")(key, value)


class Log:
    """How a stand-in has been used.

    Attributes
    ----------
    touched:
        Whether by anything but additions.
    added:
        The items, or pairs of keys and items.
    inside:
        Whether some of them were added in code that is executed any number of times.
    """

    def __init__(self, value: Any, inside: Callable[[], bool]) -> None:
        self.touched = False
        self.added: list[Any] = []
        self.inside, self._is_inside = False, inside
        self._methods: dict[str, Callable[..., None]] = {}
        if isinstance(value, dict):
            self._methods = {"__setitem__": self._put, "update": self._update}
        elif isinstance(value, set):
            self._methods = {"add": self._add}
        elif isinstance(value, (list, deque)):
            self._methods = {"append": self._add, "extend": self._extend}

    def adds(self, name: str) -> bool:
        """Tell whether a method adds to the container."""
        return name in self._methods

    def method(self, name: str) -> Callable[..., None]:
        """Return a method that adds; any other is a use."""
        if name not in self._methods:
            self.touch()
        return self._methods[name]

    def touch(self) -> NoReturn:
        """Note a use, which ends the trace unless it is caught."""
        self.touched = True
        raise TouchedError

    def _add(self, item: Any) -> None:
        self.inside = self.inside or self._is_inside()
        self.added.append(item)

    def _put(self, key: Any, item: Any) -> None:
        self._add((key, item))

    def _extend(self, items: Iterable[Any]) -> None:
        for item in list(items):
            self._add(item)

    def _update(self, items: Any = (), **named: Any) -> None:
        pairs = items.items() if isinstance(items, Mapping) else items
        for key, item in (*pairs, *named.items()):
            self._put(key, item)


def _asked_here() -> bool:
    """Tell whether a walk or a copy of this package asks, also through classes of abc."""
    frame = sys._getframe(2)
    while frame.f_code.co_filename == "<frozen abc>" and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_filename.startswith(_HERE)


def log_of(stand_in: StandIn) -> Log:
    """Return how a stand-in has been used."""
    found: Log = object.__getattribute__(stand_in, "_log")
    return found


def _used(name: str) -> Callable[..., Any]:
    def use(self: StandIn, *_: Any, **__: Any) -> NoReturn:
        log_of(self).touch()

    use.__name__ = name
    return use


#: Everything that Python and NumPy ask of types and not of objects.
_USES = """
    abs add and array array_function array_ufunc bool bytes call complex contains delattr delitem
    divmod enter eq float floordiv format ge getitem gt hash index int invert iter iand ifloordiv
    ilshift imatmul imod imul ior ipow irshift isub itruediv ixor le len lshift lt matmul mod mul
    ne neg next or pos pow radd rand rdivmod reduce_ex repr reversed rfloordiv rlshift rmatmul
    rmod rmul ror round rpow rrshift rshift rsub rtruediv rxor str sub truediv trunc xor
"""

for _name in _USES.split():
    setattr(StandIn, f"__{_name}__", _used(f"__{_name}__"))
