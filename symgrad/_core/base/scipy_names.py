"""SciPy's functions by name: SciPy is imported by the first that computes numbers.

``scipy.special`` and ``scipy.linalg`` take a quarter of the time in which symgrad is imported, and
programs of NumPy's functions call neither. But records name their functions, and rules and the
patterns of rewriting, ``special.expit`` in them, are traced in every process. Traced values need
to know which function it is, not the function.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .fork_safety import late_module

_PLAIN = (int, float, complex, np.ndarray, np.generic)


def loaded(name: str) -> Any:
    """Return a module that is imported; None if it is not, or not to its end."""
    module = sys.modules.get(name)
    return None if getattr(getattr(module, "__spec__", None), "_initializing", False) else module


class LateFunction:
    """A function of a module that may not be imported yet.

    On traced values and tensors it does what a universal function of its name does; on anything
    else it is the function itself.
    """

    def __init__(self, module: str, name: str) -> None:
        self.__module__ = module
        self.__name__ = self.__qualname__ = name
        self._real: Any = None

    @property
    def loaded(self) -> Any:
        """The function itself, None if its module is not imported."""
        if self._real is None:
            module = loaded(self.__module__)
            self._real = None if module is None else getattr(module, self.__name__)
        return self._real

    @property
    def real(self) -> Any:
        """The function itself; its module is imported if need be."""
        if self.loaded is None:
            self._real = getattr(late_module(self.__module__), self.__name__)
        return self._real

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.loaded is None and not kwargs:
            found = self._protocol(args)
            if found is not NotImplemented:
                return found
        return self.real(*args, **kwargs)

    def _protocol(self, args: tuple[Any, ...]) -> Any:
        """Ask the operands, as NumPy asks them, if they are traced values, tensors and plain."""
        hooked = [x for x in args if hasattr(type(x), "__symgrad_bind__")]
        if len(hooked) + sum(isinstance(x, _PLAIN) for x in args) == len(args):
            for x in hooked:
                found = x.__array_ufunc__(self, "__call__", *args)
                if found is not NotImplemented:
                    return found
        return NotImplemented

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # asked for by copy, pickle and functools, of what has none
            raise AttributeError(name)
        return getattr(self.real, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return LateFunction, (self.__module__, self.__name__)

    def __repr__(self) -> str:
        return f"<function {self.__module__}.{self.__name__}>"


class LateModule:
    """A module of functions; its attributes are the functions themselves once it is imported."""

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self._late: dict[str, LateFunction] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        module = loaded(self.__name__)
        if module is None:
            known = self._late.get(name)
            return known or self._late.setdefault(name, LateFunction(self.__name__, name))
        found = self.__dict__[name] = getattr(module, name)
        return found


def resolved(value: Any) -> Any:
    """Return a function itself, and a tuple of functions themselves, for late ones."""
    if isinstance(value, tuple):
        return tuple(map(resolved, value))
    return value.real if isinstance(value, LateFunction) else value


def _is_late(value: Any) -> bool:
    return isinstance(value, LateFunction) or (
        isinstance(value, tuple) and any(map(_is_late, value))
    )


class LateFields:
    """A record whose fields may be given as late functions; read, they are the functions."""

    #: The fields that may.
    LATE: ClassVar[tuple[str, ...]]
    _given: dict[str, Any]

    def __post_init__(self) -> None:
        own = self.__dict__
        late = [name for name in self.LATE if _is_late(own[name])]
        own["_given"] = {name: own.pop(name) for name in late}

    def given(self, field: str) -> Any:
        """Return a field as it was given: nothing is imported for it."""
        return self._given[field] if field in self._given else getattr(self, field)

    if not TYPE_CHECKING:  # a type checker knows the fields

        def __getattr__(self, name: str) -> Any:
            if name not in self.__dict__.get("_given", ()):
                kind = type(self).__name__
                raise AttributeError(f"{kind!r} object has no attribute {name!r}")
            found = self.__dict__[name] = resolved(self._given[name])
            return found


special: Any = LateModule("scipy.special")
linalg: Any = LateModule("scipy.linalg")
blas: Any = LateModule("scipy.linalg.blas")
lapack: Any = LateModule("scipy.linalg.lapack")
