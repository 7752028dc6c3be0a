"""A word to whoever waits for a function to compile."""

from __future__ import annotations

import io
import sys
import time
from typing import Any

import pytest

import symgrad as sg
from symgrad._compile import _tracebacks


class Terminal(io.StringIO):
    """What is written to somebody who waits."""

    def isatty(self) -> bool:
        return True


def test_somebody_who_waits_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(x: Any) -> Any:
        time.sleep(0.2)
        return 2.0 * x

    for stream, after, told in ((Terminal(), 0.01, True), (Terminal(), 60.0, False),
                                (io.StringIO(), 0.01, False)):  # fmt: skip
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(_tracebacks, "AFTER", after)
        assert sg.compile(slow, backend="numpy")(1.0) == 2.0
        assert ("tracing slow takes more than" in stream.getvalue()) is told
        assert ("sg.fori_loop" in stream.getvalue()) is told
