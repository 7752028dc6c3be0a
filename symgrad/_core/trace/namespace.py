"""Modules that offer another module's names, for traced values and lists of them too.

A function that the registry knows gets a version that stacks lists of traced values; one
that it does not know refuses traced values with a reason. For plain arrays both are the
original. Everything else (classes, constants, submodules) is the original.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Collection, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from ..base.sizes import Size
from ..base.state import now
from ..op import refuse, registry
from ..ops.np_common import as_array, existing, held, is_traced
from ._calls import PLACES, call
from ._complex import Complex, complex_of, is_complex
from ._constants import known_value
from ._traced import Traced, as_traced

#: Functions with an argument that is a list of several things, not a list that is an array.
OF_LISTS = frozenset((
    *existing("concatenate", "concat", "stack", "vstack", "row_stack", "hstack", "dstack",
              "column_stack", "block", "select"),
    *existing("multi_dot", of=np.linalg),
    *existing("piecewise", "choose", "lexsort", "ix_", "put", "ravel_multi_index"),
))  # fmt: skip

#: Functions that take a shape or a count; with a symbolic one a plain array is lifted.
OF_SIZES = frozenset(existing("broadcast_to", "reshape", "tile", "repeat", "full_like",
                              "zeros_like", "ones_like", "pad", "roll"))  # fmt: skip


def holds(value: Any, test: Callable[[Any], bool]) -> bool:
    """Tell whether ``value``, or something in the nested lists that it is, passes ``test``."""
    if isinstance(value, (list, tuple)):
        return any(holds(v, test) for v in value)
    return test(value)


def is_size(value: Any) -> bool:
    """Tell whether ``value`` is a symbolic size."""
    return isinstance(value, Size)


def stacked(value: Any) -> Any:
    """Return a list with traced values in it as one traced value."""
    if isinstance(value, (list, tuple)) and holds(value, is_traced):
        return as_array(value)
    return held(value)


def assignable(made: Any) -> Any:
    """Return a new array; while tracing one of numbers as one that traced values can go into."""
    if type(made) is np.ndarray and made.dtype.kind in "fc" and now().guards is not None:
        made = lifted(made)
    return made.in_box() if isinstance(made, (Traced, Complex)) else made


def lifted(value: Any) -> Any:
    """Return a number or an array as a traced value, complex if it is."""
    return complex_of(value) if is_complex(value) else as_traced(value)


def version(
    function: Callable[..., Any], why: str = "", of_lists: Collection[Callable[..., Any]] = OF_LISTS
) -> Callable[..., Any]:
    """Return ``function`` for traced values, lists of them, and plain arrays.

    Parameters
    ----------
    function:
        The original.
    why:
        Why traced values are refused, if the registry has no such function.
    of_lists:
        Functions with an argument that is a list of several things.
    """

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        args = tuple(map(held, args))
        given = (*args, *kwargs.values())
        if not any(holds(x, is_traced) for x in given):
            if not (function in OF_SIZES and args and any(holds(x, is_size) for x in given)):
                made = function(*args, **kwargs)
                new = isinstance(made, np.ndarray) and not any(
                    isinstance(x, np.ndarray) for x in given
                )
                return assignable(made) if new else made
            args = (as_traced(args[0]), *args[1:])
        if any(hasattr(type(x), "__symgrad_masked__") for x in given):
            return function(*args, **kwargs)  # what is selected decides, by NumPy's protocol
        if registry.find(function) is None and function not in PLACES:
            numbers = [_known(x) for x in given]
            if any(holds(x, is_traced) for x in numbers):
                refuse(function, why)
            count = len(args)
            made = function(*numbers[:count], **dict(zip(kwargs, numbers[count:], strict=True)))
            return assignable(made)
        if function not in of_lists:
            args = tuple(map(stacked, args))
            kwargs = {k: stacked(v) for k, v in kwargs.items()}
        return call(function, args, kwargs)

    return wrapper


def _known(value: Any) -> Any:
    """Return a value with the numbers of what depends on no argument: of ``np.linspace(0, 1)``."""
    if isinstance(value, (list, tuple)) and holds(value, is_traced):
        return [*map(_known, value)]
    if not is_traced(value) or is_complex(value):
        return value
    found = known_value(value.node)
    return value if found is None else found


class Universal:
    """A universal function that also takes lists of traced values."""

    __symgrad_version__ = True

    def __init__(self, ufunc: np.ufunc, why: str = "") -> None:
        self.ufunc, self.why = ufunc, why
        self.__name__ = ufunc.__name__
        self.__doc__ = ufunc.__doc__

    def __call__(self, *x: Any, **kwargs: Any) -> Any:
        if any(holds(v, is_traced) for v in x) and registry.find(self.ufunc) is None:
            refuse(self.ufunc, self.why)
        return self.ufunc(*map(stacked, x), **kwargs)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.ufunc, name)
        if name not in ("reduce", "reduceat", "accumulate", "outer"):
            return found
        return lambda *x, **kwargs: found(*map(stacked, x), **kwargs)

    def __repr__(self) -> str:
        return f"<ufunc {self.__name__!r} of symgrad>"

    def __reduce__(self) -> Any:
        return Universal, (self.ufunc, self.why)


def offering(
    module: ModuleType, own: Mapping[str, Any], why: str | Callable[[str], str] = "",
    of_lists: Collection[Callable[..., Any]] = OF_LISTS,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:  # fmt: skip
    """Return ``__getattr__`` and ``__dir__`` for a module that offers the names of another.

    Parameters
    ----------
    module:
        The other module.
    own:
        The module's definitions, by name.
    why:
        Why functions that the registry does not know refuse traced values, by their names.
    of_lists:
        Functions with an argument that is a list of several things.
    """
    public = getattr(module, "__all__", ())
    if "__path__" not in own:  # who changes all imports of a file has those of modules beneath, too
        for name, found in vars(module).items():
            if isinstance(found, ModuleType) and found.__name__ == f"{module.__name__}.{name}":
                sys.modules.setdefault(f"{own['__name__']}.{name}", found)

    @functools.cache
    def get(name: str) -> Any:
        try:
            if name.startswith("__") and name.endswith("__") and name not in public:
                raise AttributeError("it is Python's own")
            found = getattr(module, name)
        except AttributeError as error:
            raise AttributeError(
                f"module {own['__name__']!r} has no attribute {name!r}: {error}"
            ) from None
        nameless = callable(found) and registry.find(found) is not None  # SciPy 1.16's sph_harm_y
        if not (isinstance(found, np.ufunc) or is_function(found) or nameless):
            return found
        reason = why if isinstance(why, str) else why(name)
        if isinstance(found, np.ufunc):
            return Universal(found, reason)
        return version(found, reason, of_lists)

    def names() -> list[str]:
        shown = public or (name for name in dir(module) if not name.startswith("_"))
        return sorted({*own.get("__all__", ()), *shown})

    return get, names


def is_function(value: Any) -> bool:
    """Tell whether ``value`` is a function, in Python or in C, and no class."""
    return callable(value) and not isinstance(value, type) and hasattr(value, "__name__")
