"""How what symgrad makes of functions is pickled: by its name, or as the call that makes it.

A pickle holds no machine code and nothing that was learned from calls: on the other side the
function is made again, and its kernels come from the cache or are compiled there. Of a function
that a module defines (``@sg.grad`` above a ``def``) there is only the name, as pickle has it of
any function; otherwise the transformation and what it was applied to, which the pickler sends
as it sends functions.

The names ``made`` and ``fits`` are in pickles: they stay, whatever else moves, so that another
version can say that it is another one.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from typing import Any

from ...errors import DataError
from .package import __version__


class Travels:
    """Base of what is made of functions, is called like them, and is named as they are."""

    def _made_by(self) -> tuple[Any, ...]:
        """Return what makes it: a function, its arguments, those by name; and attributes, if any.

        The attributes are what is set afterwards.
        """
        raise NotImplementedError

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it."""
        raise NotImplementedError

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> str | tuple[Any, ...]:
        module, name = getattr(self, "__module__", None), getattr(self, "__qualname__", "")
        found: Any = sys.modules.get(module or "")
        for part in name.split("."):
            found = getattr(found, part, None)
        # Who pickles: the function that has called the pickler, which is no Python function.
        if found is self and not _by_value(module, sys._getframe(1).f_globals):
            return str(name)
        return call_again(*self._made_by())


def _by_value(module: str | None, pickling: Mapping[str, Any]) -> bool:
    """Tell whether a pickler sends functions of a module by value, as cloudpickle does.

    It asks so of functions alone; all other objects must know by themselves. Copies of it are in
    joblib, Ray and Numba.
    """
    if not str(pickling.get("__name__")).endswith("cloudpickle"):
        return False
    registered = pickling.get("list_registry_pickle_by_value", set)()
    return module == "__main__" or module in registered


def call_again(
    make: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], *attributes: Any
) -> tuple[Any, ...]:
    """Return what ``__reduce__`` returns of an object that a call makes."""
    return (made, (_VERSION, make, args, kwargs), *attributes)


def made(_: Any, make: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make what was pickled."""
    return make(*args, **kwargs)


class _Version:
    """Stands first in a pickle, so that it is checked before anything that may have moved."""

    def __reduce__(self) -> tuple[Any, ...]:
        return fits, (__version__,)


_VERSION = _Version()


def fits(version: str) -> _Version:
    """Check that a pickle was made by this version."""
    if version != __version__:
        raise DataError(
            f"this was pickled by symgrad {version!s:.40}, and here is symgrad {__version__}: "
            "install the same version on both sides (what is to last is saved as a program, "
            "by Program.save)"
        )
    return _VERSION
