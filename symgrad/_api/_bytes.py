"""Amounts of memory, as users write them."""

from __future__ import annotations

import operator
import re
from typing import Any

import numpy as np

from ..errors import ArgumentError

_TEXT = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([kKMGT]?)(i?)B\s*")
_LETTERS = " KMGT"


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
        found = _TEXT.fullmatch(value)
        if found is not None:
            amount, letter, binary = found.groups()
            power = _LETTERS.index(letter.upper() or " ")
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
