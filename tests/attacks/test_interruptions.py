"""Errors of signal handlers at any line that is executed, llvmlite's apart.

A signal may arrive between any two lines. What its handler raises has to come out of the call, as
what it is, and the next call has to find nothing half done. A trace function counts lines, and
raises the signal at the one that a case has drawn. llvmlite frees an object and forgets it in two
lines; an error between them has it freed once more, whoever uses it.
"""

from __future__ import annotations

import math
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.base.state import PLAIN, now

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="this signal is of POSIX"),
    # Of llvmlite's objects that are interrupted while they are made.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

X = np.array([0.1, 0.2, 0.4])


def helper(x: Any) -> Any:
    return math.sin(x) * np.exp(-x)


def fresh(k: int) -> Callable[..., Any]:
    """Return a function that no one has compiled; it has to be adapted."""

    def f(x: Any) -> Any:
        y = np.zeros(3)
        for i in range(3):
            y[i] = helper(x[i]) * k + math.cos(x[i])
        return np.sum(y**2) + k * x[0]

    return f


def gradient(k: int) -> Any:
    y = np.sin(X) * np.exp(-X) * k + np.cos(X)
    slopes = (np.cos(X) - np.sin(X)) * np.exp(-X) * k - np.sin(X)
    return 2 * y * slopes + k * np.eye(3)[0]


class LateError(Exception):
    """A user's own."""


class LateValueError(ValueError):
    """One that looks like an error of the function's."""


class Lines:
    """Counts the lines that are executed in the block, and raises a signal at one of them."""

    def __init__(self, last: int | None = None) -> None:
        self.count, self.last, self.raised = 0, last, False

    def _trace(self, frame: FrameType, event: str, arg: object) -> Any:
        if "llvmlite" in frame.f_code.co_filename:
            return None
        if event in ("call", "line"):
            self.count += 1
            if self.count == self.last:
                sys.settrace(None)
                self.raised = True
                signal.raise_signal(signal.SIGALRM)
        return self._trace

    def __enter__(self) -> Lines:
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)


@pytest.fixture
def handler() -> Iterator[Callable[[type[Exception]], None]]:
    """``handler(kind)`` has the signal raise an error of a kind."""
    before = signal.getsignal(signal.SIGALRM)

    def handle(kind: type[Exception]) -> None:
        def late(number: int, frame: FrameType | None) -> None:
            raise kind("too late")

        signal.signal(signal.SIGALRM, late)

    yield handle
    signal.signal(signal.SIGALRM, before)


@pytest.mark.attack(quick=60, whole=10_000, part=500, judge="the error, then the exact derivative")
def test_interruptions(attack: Any, handler: Callable[..., None], monkeypatch: Any) -> None:
    """Signals between any two lines of tracing, compiling and calling."""
    monkeypatch.setenv("SYMGRAD_CACHE_DIR", "")
    for k in range(2):  # what the first calls of a process import is another test's
        sg.grad(fresh(k))(X)
    with Lines() as lines:
        sg.grad(fresh(2))(X)
    for case in attack:
        with case:
            kind = (LateError, LateValueError, TimeoutError, TypeError)[case.rng.integers(4)]
            handler(kind)
            g, at = sg.grad(fresh(case.number)), Lines(int(case.rng.integers(lines.count)))
            said = ""
            try:
                with at:
                    g(X)
            except kind as error:
                said = str(error)
            assert said == ("too late" if at.raised else "")
            assert now() is PLAIN
            np.testing.assert_allclose(g(X), gradient(case.number), rtol=1e-12)
