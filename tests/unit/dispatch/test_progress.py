"""A word to whoever waits for a function to compile."""

from __future__ import annotations

import io
import logging
import re
import sys
import time
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._dispatch import _progress


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
        monkeypatch.setattr(_progress, "AFTER", after)
        assert sg.compile(slow, backend="numpy")(1.0) == 2.0
        assert ("tracing slow takes more than" in stream.getvalue()) is told
        assert ("timings=True" in stream.getvalue()) is told


def long(x: Any) -> Any:
    for k in range(150):
        x = np.sin(x) + np.exp(-x) / (k % 7 + 1.5) ** (k % 3) + np.cos(x * k**0.5)
    return x


def test_a_warning_says_it_in_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_progress, "LONG", 0.0)
    with pytest.warns(
        sg.errors.SlowWarning,
        match=r"come of test_progress.py:\d+. If Python writes a loop out there, sg.fori_loop",
    ):
        sg.grad(lambda x: long(x))(0.3)
    monkeypatch.setattr(_progress, "LONG", 60.0)
    sg.grad(lambda x: long(x) + 1.0)(0.3)


def test_it_is_logged(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def slow(x: Any) -> Any:
        time.sleep(0.2)
        return 2.0 * x

    monkeypatch.setattr(_progress, "AFTER", 0.01)
    sg.compile(slow, backend="numpy")(1.0)
    assert not caplog.records
    with caplog.at_level(logging.INFO, "symgrad"):
        sg.compile(lambda x: slow(x), backend="numpy")(1.0)
    assert "tracing <lambda> takes more than" in caplog.text


@pytest.mark.parametrize("make", [sg.compile, sg.grad, lambda f: f])
def test_stages_are_timed(make: Any) -> None:
    page = io.StringIO()
    f = make(lambda x: long(x))
    f(0.3)
    sg.show(f, 0.3, timings=True, file=page)
    text = page.getvalue()
    rows = dict(re.findall(r"^    (\S.*?) +(\d+\.\d{4})$", text, re.MULTILINE))
    assert {"tracing <lambda>", "roll", "rewrite", "legalise", "plan", "LLVM"} <= {*rows}
    parts = sum(float(t) for name, t in rows.items() if name != "in all")
    assert float(rows["in all"]) == pytest.approx(parts, abs=1e-3)
    assert re.search(r"operations come of test_progress.py:\d+", text)
