"""Attributes of numbers and arrays that traced values get from what they stand for.

Those that a shape and a type determine have a value (``x.nbytes``). Others, of memory and of
digits, exist (``hasattr(x, "tobytes")``) and are refused where they are asked for or called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.stand_in_types import absent, is_bound, names_of
from ..base.state import now
from ._constants import known_value

#: Replacements for attributes that are refused, of JAX's and PyTorch's, too.
_INSTEAD = {
    "at": "x = x.copy(); x[place] = value",
    "detach": "sg.stop_gradient(x)",
    "flags": "np.ascontiguousarray(x), or x.copy() where an array is written to",
    "strides": "x.reshape, np.lib.stride_tricks.sliding_window_view",
    "tobytes": "the function without a cache by values (f.__wrapped__ of one that is decorated): a "
    "compiled function keeps what it can, and computes the rest in each call",
    "base": "x.copy() where memory must not be shared",
    "__floor__": "np.floor(x)",
    "__ceil__": "np.ceil(x)",
    "__trunc__": "np.trunc(x)",
}
_PYTHON = "sg.pure_callback, whose function is given numbers and has no derivative"


def _is_integer(x: Any) -> Any:
    """Return whether a number is an integer; a bool of Python's for a Python number."""
    if x.dtype.kind not in "fc":
        return True
    found = np.logical_and(np.isfinite(x), np.equal(np.floor(x), x))
    found.weak = bool
    return found


def _to_device(x: Any, device: str, /, *, stream: None = None) -> Any:
    if stream is not None:
        raise ValueError("The stream argument in to_device() is not supported")
    if device != "cpu":
        raise ValueError(f"Unsupported device: {device}. Only 'cpu' is accepted.")
    return x


#: Attributes that follow from a shape and a type.
_GIVEN: dict[str, Callable[[Any], Any]] = {
    "itemsize": lambda x: x.dtype.itemsize,
    "nbytes": lambda x: x.size * x.dtype.itemsize,
    "device": lambda _: "cpu",
    "numerator": lambda x: x,
    "denominator": lambda _: 1,
    "is_integer": lambda x: lambda: _is_integer(x),
    "to_device": lambda x: lambda *args, **options: _to_device(x, *args, **options),
    "__array_namespace__": lambda _: lambda *, api_version=None: now().namespace or np,
    "__array_wrap__": lambda _: lambda array, context=None, return_scalar=False: array,
}

#: Attributes of NumPy's numbers that all numbers of a type have alike.
_ALIKE = ("base", "flags", "strides")


def attribute_of(value: Any, kind: Any, name: str, asked: str) -> Any:
    """Return an attribute that a traced value does not have itself.

    Parameters
    ----------
    value, kind:
        The traced value, and the class of what it stands for.
    name:
        The attribute.
    asked:
        How it is asked for: "name", "hasattr" or "getattr".
    """
    if name not in names_of(kind):
        if name in _INSTEAD:
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}. Write "
                                 f"instead: {_INSTEAD[name]}")  # fmt: skip
        raise absent(kind, name)
    if name in _GIVEN:
        return _GIVEN[name](value)
    found = getattr(kind, name)
    if is_bound(found):
        return found
    number = issubclass(kind, (np.generic, float, int, complex))
    if number and name in _ALIKE:
        return getattr(kind(0), name)
    if callable(found):
        return _method(value, kind, name)
    if asked == "hasattr":
        return None
    value._leaked(f"its memory (`x.{name}`)", _INSTEAD.get(name, _PYTHON))


def _method(value: Any, kind: Any, name: str) -> Callable[..., Any]:
    """Return a method of numbers or arrays that needs them, and has them if they are known."""

    def method(*args: Any, **options: Any) -> Any:
        known = _number_or_array(value, kind)
        if known is None:
            value._leaked(f"its digits or memory (`x.{name}()`)", _INSTEAD.get(name, _PYTHON))
        return getattr(known, name)(*args, **options)

    method.__name__ = method.__qualname__ = name
    return method


def _number_or_array(value: Any, kind: Any) -> Any:
    """Return what a traced value stands for, if that is known; None otherwise."""
    if issubclass(kind, (int, np.integer)):
        return kind(int(value))  # decided by the example
    node = getattr(value, "node", None)
    known = None if node is None else known_value(node)
    if known is None:
        return None
    return np.array(known) if kind is np.ndarray else kind(np.asarray(known).item())
