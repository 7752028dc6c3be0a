"""Comparing what a function reads with what it was when a trace was made."""

from __future__ import annotations

import hashlib
from types import CodeType
from typing import Any

import numpy as np

from ._reads import LARGE, Read


def same(a: Any, b: Any) -> bool:
    """Tell whether two values are the same to a trace: ``1``, ``1.0`` and ``True`` differ."""
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (float, complex, np.generic)):  # zeros have signs
        return repr(a) == repr(b) and (a == b or a != a)  # NaN
    return bool(a == b)


def content(array: np.ndarray[Any, Any]) -> Any:
    """Return what an array is compared by: a copy, or of a large one a fingerprint."""
    if array.nbytes <= LARGE:
        return array.copy()
    digest = hashlib.blake2b(np.ascontiguousarray(array).data, digest_size=16).digest()
    return array.dtype, array.shape, digest


def unchanged(array: Any, before: Any) -> bool:
    """Tell whether an array has the type, shape and content that it had."""
    if type(before) is tuple:
        return isinstance(array, np.ndarray) and content(array) == before
    return (
        type(array) is type(before)
        and array.dtype == before.dtype
        and array.shape == before.shape
        and array.tobytes() == before.tobytes()
    )


class _Itself:
    """An object as a key, by its identity."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def key_of(read: Read) -> Any:
    """Return a hashable key of what is at a place, equal for what makes the same trace."""
    value = read.value
    if isinstance(value, CodeType):
        return value
    if isinstance(value, np.ndarray):
        digest = hashlib.blake2b(np.ascontiguousarray(value).data, digest_size=16).digest()
        return value.dtype.str, value.shape, digest
    if read.how == "is":
        return _Itself(value)
    return type(value), repr(value) if isinstance(value, (float, complex)) else _hashable(value)


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value
