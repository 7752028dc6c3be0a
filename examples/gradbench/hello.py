"""A square and its derivative: the problem that tests the protocol."""

from __future__ import annotations

from typing import Any

from protocol import Function

import symgrad as sg


def square(x: Any) -> Any:
    return x * x


def read(given: Any) -> tuple[Any, ...]:
    return (float(given),)


FUNCTIONS = {
    "square": Function(read, sg.compile(square)),
    "double": Function(read, sg.grad(square)),
}
