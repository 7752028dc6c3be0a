"""By which arguments to differentiate, and where a call has them.

An argument is a *key*: its position, or its name if it can only be passed by name. A call may
pass it by position or by name, or leave it to its default.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from typing import Any

import numpy as np

from .._core.base.argument_checks import shown
from .._core.base.signals import foreseen
from .._core.base.sizes import Size
from .._core.trace import Traced, as_traced, flatten, is_number_list
from ..errors import ArgumentError

Key = int | str
Keys = Key | Sequence[Key]
Names = str | Sequence[str]

_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def keys_of(f: Callable[..., Any], argnums: Keys | None, argnames: Names | None) -> Keys:
    """Return ``argnums``, which may be names as well, and ``argnames`` as keys.

    Raises
    ------
    ArgumentError
        For a name that the function has no argument of.
    """
    if argnums is None and argnames is None:
        return 0
    numbers, one = ((), True) if argnums is None else positions_of(argnums)
    names = () if argnames is None else _names(argnames)
    keys = tuple(_key(f, key) for key in (*numbers, *names))
    single = one and len(keys) == 1 and not isinstance(argnames, (tuple, list))
    return keys[0] if single else keys


def _names(argnames: Any) -> tuple[str, ...]:
    listed = argnames if isinstance(argnames, (tuple, list)) else (argnames,)
    for name in listed:
        if not isinstance(name, str):
            raise ArgumentError(
                "argnames is the name of an argument, as text, or a tuple of names, not "
                f"{shown(argnames)}"
            )
    return tuple(listed)


def _key(f: Callable[..., Any], key: Key) -> Key:
    if not isinstance(key, str):
        return key
    parameters = _parameters(f)
    positions = [p.name for p in parameters if p.kind in _BY_POSITION]
    named = [p.name for p in parameters if p.kind == Parameter.KEYWORD_ONLY]
    if key in positions:
        return positions.index(key)
    if key in named or any(p.kind == Parameter.VAR_KEYWORD for p in parameters):
        return key
    known = ", ".join([*positions, *named]) or "none that has a name"
    raise ArgumentError(f"no argument is called {key!r:.60}; there are {known}")


def positions_of(argnums: Any) -> tuple[tuple[Key, ...], bool]:
    """Return keys as a tuple, and whether it was a single one."""
    try:
        single = not isinstance(argnums, (tuple, list))
        given = (argnums,) if single else argnums
        if any(isinstance(k, (bool, np.bool_)) for k in given):  # of another parameter, surely
            raise TypeError
        return tuple(k if isinstance(k, str) else operator.index(k) for k in given), single
    except TypeError:
        raise ArgumentError(
            "argnums is the position of an argument, counted from 0, or a tuple of positions, "
            f"not {shown(argnums)}"
        ) from None


def places_of(
    f: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], keys: Sequence[Key]
) -> tuple[list[Any], dict[str, Any], list[Key]]:
    """Return a call's arguments with the defaults that are needed, and where it has the keys."""
    new, named, places = list(args), dict(kwargs), list[Key]()
    for key in keys:
        if isinstance(key, int) and -len(args) <= key < len(args):
            places.append(key)
            continue
        if key in named:
            places.append(key)
            continue
        found = _parameter(f, key)
        if found is None or found.kind == Parameter.POSITIONAL_ONLY or (
            found.name not in named and found.default is Parameter.empty
        ):  # fmt: skip
            raise ArgumentError(
                f"argnums={key}, but the function was called with {len(args)} positional arguments"
                if isinstance(key, int)
                else f"argnames={key!r}, but the function was called without it"
            )
        named.setdefault(found.name, found.default)
        places.append(found.name)
    return new, named, places


def _parameter(f: Callable[..., Any], key: Key) -> Parameter | None:
    if isinstance(key, str):
        return next((p for p in _parameters(f) if p.name == key), None)
    by_position = [p for p in _parameters(f) if p.kind in _BY_POSITION]
    return by_position[key] if 0 <= key < len(by_position) else None


def _parameters(f: Callable[..., Any]) -> list[Parameter]:
    try:
        return list(inspect.signature(f).parameters.values())
    except foreseen(TypeError, ValueError):  # a ufunc
        return []


# ---------------------------------------------------------------- whole numbers


def as_floats(value: Any) -> Any:
    """Return an argument to differentiate by with floats for Python's whole numbers.

    Whole numbers in arrays stay, and are refused: an array was given its type.
    """
    leaves, tree = flatten(value)
    changed = [_as_float(leaf) for leaf in leaves]
    if all(map(operator.is_, changed, leaves)):
        return value
    return tree.unflatten(changed)


def _as_float(leaf: Any) -> Any:
    if type(leaf) is int:
        return float(leaf)
    if isinstance(leaf, Size):  # a whole number among the arguments of what is compiled around
        number: Any = as_traced(leaf)
        return Traced((number * 1.0).node, float)
    if is_number_list(leaf) and not _is_real(leaf):
        return _with_floats(leaf)
    return leaf


def _is_real(numbers: list[Any]) -> bool:
    """Return whether nested lists have no integers."""
    return not any(
        isinstance(x, (int, np.integer)) or (isinstance(x, list) and not _is_real(x))
        for x in numbers
    )


def _with_floats(numbers: list[Any]) -> list[Any]:
    """Return nested lists with floats for integers."""
    return [
        _with_floats(x) if isinstance(x, list) else
        float(x) if isinstance(x, (int, np.integer)) else x
        for x in numbers
    ]  # fmt: skip


def real_arguments(
    f: Callable[..., Any], argnums: Keys
) -> Callable[[tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]:
    """Return what changes a call's whole numbers to floats where it is differentiated by them."""
    keys, _ = positions_of(argnums)

    def changed(
        args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        new, named = list(args), kwargs
        for key in keys:
            if isinstance(key, int) and -len(args) <= key < len(args):
                new[key] = as_floats(new[key])
            elif kwargs:
                found = _parameter(f, key)
                name = key if found is None else found.name
                if name in kwargs:
                    named = {**named, str(name): as_floats(kwargs[str(name)])}
        return tuple(new), named

    return changed
