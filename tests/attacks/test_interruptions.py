"""Errors of signal handlers at any line that is executed.

A signal may arrive between any two lines. The handler's error comes out of the call unchanged, and
the next call finds nothing half done. A trace function counts lines, and raises the signal at the
one that a case has drawn: among all, among those at which blocks begin and end, where an error
leaves most behind, or among llvmlite's, which frees an object and forgets it in two lines.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.base.state import PLAIN, now
from tests.test_interruptions import KINDS, X, fresh, gradient

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="this signal is of POSIX"),
    # Of llvmlite's objects that are interrupted while they are made.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


#: The files whose lines are counted, by parts of their names: all, those of blocks, llvmlite's.
EVERYWHERE, LLVMLITE = ("",), ("llvmlite",)
BLOCKS = "contextlib.py", "state.py", "signals.py", "fork_safety.py"


class Lines:
    """Counts the lines that are executed in the block, and raises a signal at one of them."""

    def __init__(self, files: tuple[str, ...], last: int | None = None) -> None:
        self.count, self.files, self.last, self.raised = 0, files, last, False

    def _trace(self, frame: FrameType, event: str, arg: object) -> Any:
        name = frame.f_code.co_filename
        if event in ("call", "line") and any(part in name for part in self.files):
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
    counts = {}
    for k, files in enumerate((EVERYWHERE, BLOCKS, LLVMLITE)):
        with Lines(files) as lines:
            sg.grad(fresh(2 + k))(X)
        counts[files] = lines.count
    for case in attack:
        with case:
            kind = KINDS[case.rng.integers(len(KINDS))]
            handler(kind)
            files = (EVERYWHERE, BLOCKS, LLVMLITE)[case.number % 3]
            at = Lines(files, int(case.rng.integers(counts[files])))
            g = sg.grad(fresh(case.number))
            said = ""
            try:
                with at:
                    g(X)
            except kind as error:
                said = str(error)
            assert said == ("too late" if at.raised else "")
            assert now() is PLAIN
            np.testing.assert_allclose(g(X), gradient(case.number, X), rtol=1e-12)
