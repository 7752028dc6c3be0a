"""Signals that arrive where Python or NumPy would lose what their handlers raise."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.base.stand_in_types import Attribute
from symgrad._core.base.state import PLAIN, now

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="it is of POSIX")


class LateError(Exception):
    """A user's own."""


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    def late(number: int, frame: FrameType | None) -> None:
        raise LateError

    before = signal.signal(signal.SIGALRM, late)
    yield
    assert signal.getsignal(signal.SIGALRM) is late
    signal.signal(signal.SIGALRM, before)


def test_while_numpy_looks_up_a_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy drops errors of the lookup, and goes on as if there were no such method."""
    lookup = Attribute.__get__
    fired: list[str] = []

    def interrupted(self: Attribute, value: Any, owner: Any = None) -> Any:
        if self.name == "__array_ufunc__" and not fired:
            fired.append(self.name)
            signal.raise_signal(signal.SIGALRM)
        return lookup(self, value, owner)

    g = sg.grad(lambda x: np.sum(np.sin(x)))
    monkeypatch.setattr(Attribute, "__get__", interrupted)
    with pytest.raises(LateError):
        g(np.ones(3))
    assert fired


def test_between_a_state_and_its_block() -> None:
    """The state of before is set again, though the block that would do so has not begun."""

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        if frame.f_code.co_name == "within" and event == "line" and now() is not PLAIN:
            sys.settrace(None)
            signal.raise_signal(signal.SIGALRM)
        return trace

    g, before = sg.compile(lambda x: np.sin(x) * 3.0), sys.gettrace()
    sys.settrace(trace)
    try:
        with pytest.raises(LateError):
            g(1.0)
    finally:
        sys.settrace(before)
    assert now() is PLAIN
    assert g(1.0) == np.sin(1.0) * 3.0
