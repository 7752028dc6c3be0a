"""What the static parameters of ops may be: types, which a record declares.

A program may come from a file. What its parameters are is checked against these types before
anything is built, so that a rule, a shape or a line of source never meets a value of another.
"""

from __future__ import annotations

import dataclasses
import re
import string
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sympy as sp

from ..base.sizes import Dim, hint


@dataclass(frozen=True, eq=False)
class Param:
    """The type of a parameter.

    Attributes
    ----------
    words:
        What a value of it is called in messages.
    admits:
        Tells whether a value is of it.
    required:
        Whether a node cannot go without it.
    wider:
        ``wider(value, ndim, size)``: the value for an array of ``ndim`` axes that gets one more,
        the last, of length ``size``; of parameters that say where elements lie.
    """

    words: str
    admits: Callable[[Any], bool]
    required: bool = True
    wider: Callable[[Any, int, Any], Any] | None = None


def is_size(value: Any) -> bool:
    """Tell whether ``value`` is an integer or an expression in size symbols."""
    if isinstance(value, sp.Expr):
        return all(isinstance(s, Dim) for s in value.free_symbols)
    return type(value) is int


def _is_extent(value: Any) -> bool:
    return is_size(value) and hint(value) >= 0


def _is_entry(value: Any) -> bool:
    """Tell whether ``value`` is ``(start, step, size)`` of a region along an axis."""
    if not (isinstance(value, tuple) and len(value) == 3):
        return False
    start, step, size = value
    return is_size(start) and type(step) is int and (size is None or _is_extent(size))


def several(one: Param) -> Param:
    """Return the type of tuples of ``one``."""
    return Param(
        f"a tuple, each of it {one.words}",
        lambda value: isinstance(value, tuple) and all(map(one.admits, value)),
    )


def one_of(*values: str) -> Param:
    """Return the type of some words."""
    words = " or ".join(map(repr, values))
    return Param(f"one of {words}", lambda value: type(value) is str and value in values)


def or_none(one: Param) -> Param:
    """Return the type of ``one``, or None."""
    return Param(f"{one.words}, or None", lambda value: value is None or one.admits(value))


def optional(one: Param) -> Param:
    """Return ``one`` for a parameter that a node may go without."""
    return dataclasses.replace(one, required=False)


def lies(one: Param, wider: Callable[[Any, int, Any], Any] = lambda value, *_: value) -> Param:
    """Return ``one`` for a parameter that says where elements lie: the same with more axes."""
    return dataclasses.replace(one, wider=wider)


def up_to(highest: int) -> Param:
    """Return the type of the integers from 0 on."""
    return Param(
        f"an integer from 0 to {highest}",
        lambda value: type(value) is int and 0 <= value <= highest,
    )


FLAG = Param("True or False", lambda value: type(value) is bool)
INTEGER = Param("an integer", lambda value: type(value) is int)
COUNT = Param("an integer from 0 on", lambda value: type(value) is int and value >= 0)
#: An axis, axes, and among those that are left the place of others.
AXIS = lies(COUNT)
AXES = lies(several(AXIS))
PLACE = lies(COUNT)
#: All axes, in another order.
ORDER = lies(several(AXIS), lambda axes, ndim, _: (*axes, ndim))
SIZE = Param("a size", _is_extent)
SHAPE = lies(several(SIZE), lambda shape, _, size: (*shape, size))
#: The shape of what has one axis, and no more.
LENGTH = several(SIZE)
REGION = lies(
    several(Param("(start, step, size) of an axis", _is_entry)),
    lambda region, _, size: (*region, (0, 1, size)),
)
REGIONS = lies(several(REGION), lambda regions, _, size: tuple((*r, (0, 1, size)) for r in regions))
#: Whether no two regions meet.
DISJOINT = lies(FLAG)
#: The axes of an operand of a contraction, a letter each.
LETTERS = Param(
    "text of letters",
    lambda value: type(value) is str and set(value) <= set(string.ascii_letters),
)
#: The name of an element type that programs compute in.
DTYPE = one_of(
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float32", "float64",
)  # fmt: skip
_TOKEN = re.compile(r"\w*\.[0-9a-f]{8}\.[0-9]+", re.ASCII)
#: What a Python function is called by.
TOKEN = Param(
    "the token of a function",
    lambda value: type(value) is str and _TOKEN.fullmatch(value) is not None,
)
