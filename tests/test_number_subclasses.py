"""Operands that are no numbers, and numbers of subclasses of Python's: enumerations, units."""

from __future__ import annotations

import enum
import operator
from typing import Any

import numpy as np
import pytest

import symgrad as sg


class Way(enum.Enum):
    UP = 1
    DOWN = -1


class Level(enum.IntEnum):
    LOW = 2


class Bits(enum.IntFlag):
    TWO = 2


class Own:
    """Equal to everything."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class Count(int):
    pass


class Length(float):
    """A float with an operator that Python asks first."""

    def __rmul__(self, other: Any) -> Any:
        return other * 1000.0 * float(self)


OBJECTS = {
    "member": Way.UP, "equal to all": Own(), "object": object(), "function": len, "class": int,
    "NumPy's class": np.float64, "set": {1}, "dictionary": {}, "frozenset": frozenset(),
}  # fmt: skip


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("x", [1.0, np.float64(1.0), 1])
def test_equality_with_what_is_no_number(x: Any, name: str) -> None:
    other = OBJECTS[name]

    def chosen(x: Any) -> Any:
        return (x * 2.0 if x == other else x * 3.0) + (x * 5.0 if other != x else x * 7.0)

    assert sg.compile(chosen)(x) == chosen(x)
    assert sg.grad(chosen)(x) == chosen(1.0)


NUMBERS = (Level.LOW, Bits.TWO, Count(2), Length(2.5))
OPERATORS = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.lt, operator.ge, operator.eq, operator.ne, np.add, np.multiply,
    np.maximum,
)  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
@pytest.mark.parametrize("act", OPERATORS)
@pytest.mark.parametrize("x", [3.0, np.float64(3.0), np.array([3.0, 2.0])])
def test_numbers_of_subclasses(x: Any, act: Any, number: Any) -> None:
    for swap in (False, True):

        def found(x: Any, swap: bool = swap) -> Any:
            return act(number, x) if swap else act(x, number)

        plain = found(x)
        if type(number) is Length and act is operator.mul and type(x) is not float:
            continue  # NumPy asks its own operators first
        np.testing.assert_allclose(sg.compile(found)(x), plain, rtol=1e-15)
