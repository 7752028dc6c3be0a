"""Bit for bit: what a pass may do to a program whose rounding is promised.

Equal real numbers are different floating-point numbers when they are computed in another
order. Where the promise is that a program rounds as NumPy does step by step, and as eager
tensors do on their way back, three liberties are given up: equal steps are not one step
while a function is traced (a gradient that arrives through each is added in turn), the way
back follows the order in which the steps were made, and no rewriting rounds differently.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

_promised: ContextVar[bool] = ContextVar("promised", default=False)


@contextlib.contextmanager
def bit_for_bit(promised: bool = True) -> Iterator[None]:
    """Work under the promise, or not, in the block."""
    token = _promised.set(promised)
    try:
        yield
    finally:
        _promised.reset(token)


def is_promised() -> bool:
    """Tell whether the rounding of what is made now is promised."""
    return _promised.get()


__all__ = ["bit_for_bit", "is_promised"]
