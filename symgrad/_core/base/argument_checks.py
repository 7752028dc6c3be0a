"""Checks of what public functions are given: flags, words, counts, functions, files.

One function a kind. Each returns the value as the code behind it takes it, or raises an
:class:`ArgumentError` that names the option, what it may be and what it was. ``what`` is how the
error calls the value: ``"jacobian: mode"``.
"""

from __future__ import annotations

import operator
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, SupportsFloat

import numpy as np

from ...errors import ArgumentError


def shown(value: Any) -> str:
    """Return how an error names a value: a short one as it is written, others by their type."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, tuple, list)):
        try:
            text = f"{value!r:.60}"
        except (RecursionError, ValueError):  # nested too deeply, or an integer of many digits
            text = type(value).__name__
        return text
    name = f"a {type(value).__name__}"
    shape = getattr(value, "shape", None)
    return f"{name} of shape {shape}" if isinstance(shape, tuple) and shape else name


def as_flag(value: Any, what: str, *, or_none: bool = False) -> bool:
    """Return True or False; 0 and 1 count as these. ``or_none``: the caller takes None, too."""
    if isinstance(value, (bool, np.bool_)) or (type(value) is int and value in (0, 1)):
        return bool(value)
    words = "True, False or None" if or_none else "True or False"
    raise ArgumentError(f"{what} is {words}, not {shown(value)}")


def as_word(value: Any, words: Sequence[str | None], what: str) -> Any:
    """Return one of several words; None may be one."""
    if value is None or isinstance(value, str):
        if value in words:
            return value
        text = repr(value)
    else:
        text = shown(value)
    *others, last = map(repr, words)
    listed = f"{', '.join(others)} or {last}" if others else last
    raise ArgumentError(f"{what} is {listed}, not {text}")


def as_text(value: Any, what: str) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise ArgumentError(f"{what} is text, not {shown(value)}")
    return value


def as_count(value: Any, what: str, least: int | None = 0, most: int = sys.maxsize) -> int:
    """Return an integer of at least ``least``, None: of any sign, and at most ``most``."""
    number: int | None = None
    if not isinstance(value, (bool, np.bool_)):
        try:
            number = operator.index(value)
        except TypeError:
            number = None
    low = -most if least is None else least
    if number is None or not low <= number <= most:
        ending = ""
        if most < sys.maxsize:
            ending = f" of at most {most}"
        elif number is not None and number > most:
            ending = " of at most 63 bits"
        elif least is not None:
            ending = f" of {least} or more"
        raise ArgumentError(f"{what} is an integer{ending}, not {shown(value)}")
    return number


def as_number(value: Any, what: str) -> float:
    """Return one real number."""
    if isinstance(value, SupportsFloat) and not isinstance(value, (str, bytes)):
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            pass
    raise ArgumentError(f"{what} is a number, not {shown(value)}")


def as_truth(value: Any, what: str) -> bool:
    """Return what a condition is: True or False, of anything that is one boolean."""
    try:
        return bool(value)
    except (TypeError, ValueError):  # arrays of several elements, symbols
        raise ArgumentError(f"{what} is one value, true or false, not {shown(value)}") from None


def as_function(value: Any, what: str) -> Callable[..., Any]:
    """Return a function."""
    if not callable(value):
        raise ArgumentError(f"{what} is a function, not {shown(value)}")
    refuse_kernel(value, what)
    return value  # type: ignore[no-any-return]


def as_items(value: Any, what: str, each: str) -> tuple[Any, ...]:
    """Return the items of a tuple, a list or another iterable but text; ``each`` is one's kind."""
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, bytearray, memoryview)):
        try:
            return tuple(value)
        except TypeError:  # arrays of no axes
            pass
    raise ArgumentError(f"{what} is a tuple of {each}, not {shown(value)}")


def as_path(value: Any, what: str) -> Path:
    """Return the name of a file."""
    try:
        path = Path(value)
    except TypeError:
        pass
    else:
        if "\0" not in os.fspath(path) and os.fspath(value):
            return path
    raise ArgumentError(f"{what} is the name of a file, as text or a Path, not {shown(value)}")


def refuse_kernel(function: Any, what: str) -> None:
    """Raise for a kernel, which code that Numba compiles can call, and Python cannot."""
    body = getattr(function, "py_func", None)
    if getattr(body, "__module__", None) == "symgrad_kernel":
        raise ArgumentError(
            f"{what} takes a function, not its kernel, which only code under numba.njit can call: "
            "give it the function that the kernel was made of"
        )


_MEMORY = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([kKMGT]?)(i?)B\s*")
_PREFIXES = " KMGT"


def as_bytes(value: Any, what: str) -> int | None:
    """Return an amount of memory in bytes; None stays None.

    Parameters
    ----------
    value:
        A positive integer, or text such as ``"100 MB"``, ``"1.5GB"`` (powers of 1000) or
        ``"64 KiB"`` (of 1024).
    what:
        The function that was given it, for errors.

    Returns
    -------
    The number of bytes, or None.

    Raises
    ------
    ArgumentError
        If it is neither, or not positive.

    Examples
    --------
    >>> as_bytes("1.5 kB", "scan"), as_bytes("2 KiB", "scan"), as_bytes(100, "scan")
    (1500, 2048, 100)
    """
    if value is None:
        return None
    number: int | None = None
    if isinstance(value, str):
        found = _MEMORY.fullmatch(value)
        if found is not None:
            amount, letter, binary = found.groups()
            power = _PREFIXES.index(letter.upper() or " ")
            number = int(float(amount) * (1024 if binary else 1000) ** power)
    elif not isinstance(value, (bool, np.bool_)):
        try:
            number = operator.index(value)
        except TypeError:
            number = None
    if number is None:
        raise ArgumentError(
            f"{what}: memory is a number of bytes, such as 1_000_000 or '1 MB', not {value!r:.40}"
        )
    if number <= 0:
        raise ArgumentError(f"{what}: memory={value!r:.40} leaves no memory; None sets no limit")
    return number
