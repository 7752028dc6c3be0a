"""Functions that stand for SciPy's where they are given traced values."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .. import numpy as traced_numpy
from .._core.base.broadcast import show
from .._core.base.state import now
from .._core.ops.np_common import is_traced
from .._core.trace import Traced, as_node, flatten, known_value
from .._core.trace.namespace import holds
from ..errors import ShapeError, UnsupportedError

Function = Callable[..., Any]
T = TypeVar("T")


def replaces(original: Function, *, empty: bool = True) -> Callable[[Function], Function]:
    """Have a function stand for SciPy's, which still computes with plain arrays.

    A traced array of no elements is as good as a plain one: nothing of it is unknown, and nothing
    depends on it. So SciPy says what becomes of it, errors included, if all else is known. Not if
    it is told by ``empty`` that SciPy's function ends the process there.
    """

    def decorate(ours: Function) -> Function:
        @functools.wraps(ours)
        def function(*args: Any, **kwargs: Any) -> Any:
            if not any(holds(v, is_traced) for v in (*args, *kwargs.values())):
                return original(*args, **kwargs)
            leaves, tree = flatten((args, kwargs))
            if empty and any(is_traced(x) and _is_empty(x) for x in leaves):
                plain = [_plain(x) if is_traced(x) else x for x in leaves]
                if not any(x is None and y is not None for x, y in zip(plain, leaves, strict=True)):
                    args, kwargs = tree.unflatten(plain)
                    return original(*args, **kwargs)
            return ours(*args, **kwargs)

        return function

    return decorate


def _is_empty(x: Any) -> bool:
    return any(isinstance(n, int) and n == 0 for n in x.shape)


def _plain(x: Any) -> Any:
    """Return the numbers of a traced value that depends on no argument, else None."""
    if _is_empty(x):
        return np.zeros(tuple(map(int, x.shape)), x.dtype)
    return known_value(x.node) if isinstance(x, Traced) else None


def given_to(signature: inspect.Signature, args: Any, kwargs: Any) -> dict[str, Any]:
    """Return arguments by SciPy's names of them, with its defaults."""
    given = signature.bind(*args, **kwargs)
    given.apply_defaults()
    found = dict(given.arguments)
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            found |= found.pop(name)
    return found


def of_scipy(args: tuple[Any, ...], kwargs: dict[str, Any], own: type | None = None) -> bool:
    """Tell whether a call is SciPy's: outside of traced code, and given nothing traced.

    ``own``: objects that only traced code has, or what it has made.
    """
    if now().guards is not None:
        return False
    return not any(
        holds(v, lambda x: is_traced(x) or (own is not None and isinstance(x, own)))
        for v in (*args, *kwargs.values())
    )


class Standing(type):
    """The type of classes that stand for SciPy's where values are traced.

    Outside of traced code plain values make objects of SciPy's, which have all its methods; a
    function that is traced reads their data. ``of``: SciPy's class, whose objects are instances.
    A class that is derived from one is what it says.
    """

    original: Any

    def __new__(
        mcls, name: str, bases: tuple[type, ...], names: dict[str, Any], of: Any = None
    ) -> Standing:
        made = {k: _made_by(k, x) if isinstance(x, classmethod) else x for k, x in names.items()}
        made.setdefault("__getattr__", _missing)
        cls = super().__new__(mcls, name, bases, made)
        if of is not None:
            cls.original = of
        return cls

    def __init__(cls, name: str, bases: Any, names: Any, of: Any = None) -> None:
        super().__init__(name, bases, names)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if "original" in vars(cls) and of_scipy(args, kwargs, cls):
            return cls.original(*args, **kwargs)
        return cls.ours(*args, **kwargs)

    def ours(cls: type[T], *args: Any, **kwargs: Any) -> T:
        """Return an object that takes traced values, of plain ones, too."""
        made: T = type.__call__(cls, *args, **kwargs)
        return made

    def __instancecheck__(cls, value: Any) -> bool:
        own = vars(cls).get("original", ())
        if super().__instancecheck__(value) or isinstance(value, own):
            return True
        return issubclass(getattr(value, "stands_for", object), own)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(cls.original, name)


def _missing(self: Any, name: str) -> Any:
    """Raise for an attribute that SciPy's objects may have."""
    raise AttributeError(
        f"{type(self).__name__} of traced values has no {name!r}. It has "
        + ", ".join(k for k in dir(type(self)) if not k.startswith("_"))
    )


def _made_by(name: str, method: Any) -> Any:
    """Return a way to make objects, which outside of traced code is SciPy's."""

    @functools.wraps(method.__func__)
    def make(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if "original" in vars(cls) and of_scipy(args, kwargs, cls):
            return getattr(cls.original, name)(*args, **kwargs)
        return method.__func__(cls, *args, **kwargs)

    return classmethod(make)


def floats(value: Any) -> Any:
    """Return numbers, lists of them or traced values as an array of floats."""
    array = traced_numpy.asarray(value)
    return array if array.dtype.kind in "fc" else array.astype(np.float64)


def doubles(value: Any) -> Any:
    """Return them in double precision, in which some of SciPy's functions compute of any type."""
    array = floats(value)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def require_lengths(function: str, what: str, found: Any, wanted: Any) -> None:
    """Raise where a length is not that which another asks for; NumPy broadcasts one of 1."""
    if found != wanted:
        raise ShapeError(f"{function}: {what} do not fit, with a length of {found} for {wanted}")


def one_number(value: Any, what: str, instead: str) -> Any:
    """Return a number, or the only one of an array; ``what`` it is, if there are more."""
    found = traced_numpy.asarray(value)
    try:
        return np.reshape(found, ()) if found.ndim else found
    except ValueError:
        raise ShapeError(
            f"{what} is one number, not an array of shape {show(as_node(found).shape)}. "
            f"Write instead: {instead}"
        ) from None


def increasing(steps: Any, value: Any) -> Any:
    """Return a value that takes places which increase, by the steps from each to the next.

    Where they do not, and SciPy raises, it is an error if they are known, else nan.
    """
    rise = np.all(steps > 0)
    if is_traced(rise):
        return np.where(rise, value, np.nan)
    if not rise:
        raise ValueError("`x` must be strictly increasing sequence.")
    return value


def refuse_option(function: str, option: str, value: Any, instead: str) -> None:
    """Say that an option is not followed while tracing, and which are."""
    raise UnsupportedError(
        f"{function} cannot be traced with {option}={value!r}. Write instead: {instead}"
    )
