"""Conversions in C that look at the type of a number, and ask nothing of it.

``decimal.Decimal(x)``, ``datetime.timedelta(seconds=x)``, ``json.dumps(x)``, ``marshal.dumps(x)``
and ``float.hex(x)`` take a traced value for something else than a number, and say so by an error
that is not symgrad's: code that catches it would go on another way than with numbers. Adapted
functions call these, which refuse a traced value, or take its number where that is known.
"""

from __future__ import annotations

import datetime as dt
import decimal
import functools
import json
import marshal
from collections.abc import Callable, Iterator
from types import MethodDescriptorType, WrapperDescriptorType
from typing import Any

import numpy as np

from .._core.trace import Traced, as_node, attribute_of, known_value
from ._environment import DATETIME as CLOCKS
from ._environment import Version

#: How deep traced values are looked for in containers.
_DEEPEST = 8


def _traced(value: Any, depth: int = 0) -> Iterator[Traced]:
    """Yield the traced values in nested containers."""
    if isinstance(value, Traced):
        yield value
    elif depth < _DEEPEST and isinstance(value, (list, tuple, dict)):
        inner = (*value, *value.values()) if isinstance(value, dict) else value
        for x in inner:
            yield from _traced(x, depth + 1)


def _number(value: Any) -> Any:
    """Return the number of a traced value, if it is known; else the value."""
    known = known_value(value.node) if isinstance(value, Traced) else None
    return value if known is None else np.asarray(known)[()] if value.weak is None else (
        value.weak(np.asarray(known).item())
    )  # fmt: skip


def taking_numbers(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function that is given numbers alone."""

    @functools.wraps(function)
    def convert(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tuple(map(_number, args)), {k: _number(x) for k, x in kwargs.items()}
        for x in _traced((args, kwargs)):
            x._leaked(
                f"a number ({name})",
                "the value itself, converted where the compiled function is called",
            )
        return function(*args, **kwargs)

    return convert


class _Class(Version):
    """A class whose objects are made of numbers."""

    def __init__(self, original: Any, name: str, *methods: str) -> None:
        own = {m: taking_numbers(getattr(original, m), f"{name}.{m}(x)") for m in methods}
        super().__init__(original, **own)
        self._make = taking_numbers(original, f"{name}(x)")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._make(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return other is self or other is self._original

    def __hash__(self) -> int:
        return hash(self._original)


def _functions(home: Any, *names: str) -> dict[str, Any]:
    name = home.__name__
    return {k: taking_numbers(getattr(home, k), f"{name}.{k}(x)") for k in names}


class _Context(decimal.Context):
    """``decimal.Context``, which makes numbers, too."""

    create_decimal = taking_numbers(
        decimal.Context.create_decimal, "decimal.Context.create_decimal(x)"
    )
    create_decimal_from_float = taking_numbers(
        decimal.Context.create_decimal_from_float, "decimal.Context.create_decimal_from_float(x)"
    )


class _Encoder(json.JSONEncoder):
    """``json.JSONEncoder``."""

    encode = taking_numbers(json.JSONEncoder.encode, "json.JSONEncoder.encode(x)")
    iterencode = taking_numbers(json.JSONEncoder.iterencode, "json.JSONEncoder.iterencode(x)")


DECIMAL = Version(
    decimal, Decimal=_Class(decimal.Decimal, "decimal.Decimal", "from_float"), Context=_Context
)
JSON = Version(json, JSONEncoder=_Encoder, **_functions(json, "dumps", "dump"))
MARSHAL = Version(marshal, **_functions(marshal, "dumps", "dump"))
DATETIME = Version(CLOCKS, timedelta=_Class(dt.timedelta, "datetime.timedelta"))


def methods_of_float() -> dict[str, Any]:
    """Return the methods of ``float`` as functions, ``float.hex(x)``, which take traced values."""
    kinds = (MethodDescriptorType, WrapperDescriptorType)
    kept = ("__getattribute__", "__new__", "__init__")
    names = [k for k, x in vars(float).items() if isinstance(x, kinds) and k not in kept]
    return {name: staticmethod(_method_of_float(name)) for name in names}


def _method_of_float(name: str) -> Callable[..., Any]:
    original = getattr(float, name)

    @functools.wraps(original)
    def method(*args: Any) -> Any:
        if not any(isinstance(x, Traced) for x in args):
            return original(*args)
        x, *rest = args
        value = x if isinstance(x, Traced) else Traced(as_node(float(x)), float)
        own = getattr(value, name) if hasattr(type(value), name) else None
        own = attribute_of(value, float, name, "name") if own is None else own
        return own(*rest)

    return method
