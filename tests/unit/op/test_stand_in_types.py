"""Attributes of stand-ins, as NumPy looks them up."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.base.stand_in_types import Attribute


class LateError(Exception):
    """A user's own."""


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="this signal is of POSIX")
def test_a_timeout_while_numpy_looks_up_a_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy drops errors of the lookup, and goes on as if there were no such method."""
    lookup = Attribute.__get__
    fired: list[str] = []

    def interrupted(self: Attribute, value: Any, owner: Any = None) -> Any:
        if self.name == "__array_ufunc__" and not fired:
            fired.append(self.name)
            signal.raise_signal(signal.SIGALRM)
        return lookup(self, value, owner)

    def late(number: int, frame: FrameType | None) -> None:
        raise LateError

    before = signal.signal(signal.SIGALRM, late)
    g = sg.grad(lambda x: np.sum(np.sin(x)))
    monkeypatch.setattr(Attribute, "__get__", interrupted)
    try:
        with pytest.raises(LateError):
            g(np.ones(3))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert fired
    assert signal.getsignal(signal.SIGALRM) is before
