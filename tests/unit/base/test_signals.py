"""Signals that arrive where Python or NumPy would lose what their handlers raise."""

from __future__ import annotations

import contextlib
import gc
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.base import fork_safety, signals
from symgrad._core.base.signals import delivering
from symgrad._core.base.stand_in_types import Attribute
from symgrad._core.base.state import PLAIN, now, within

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


def check_interrupted() -> None:
    """The error comes out of a call, and the state is that of before, though it is dropped."""
    g = sg.compile(lambda x: np.sin(x) * 3.0)
    with pytest.raises(LateError) as found:
        g(1.0)
    assert now() is PLAIN
    found.value.__traceback__ = None
    del found
    gc.collect()
    assert now() is PLAIN
    assert g(1.0) == np.sin(1.0) * 3.0


def test_between_a_state_and_its_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """The state of before is set again, though the block that would do so has not begun."""
    enter, fired = within.__enter__, []

    def interrupted(self: within) -> None:
        enter(self)
        if now().staged is not None and not fired:
            fired.append(True)
            signal.raise_signal(signal.SIGALRM)

    monkeypatch.setattr(within, "__enter__", interrupted)
    check_interrupted()
    assert fired


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_before_a_generator_ends_a_block(count: int) -> None:
    """What such a block ends with is done in the call, and not when the error is dropped."""
    fired: list[str] = []

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        name, file = frame.f_code.co_name, frame.f_code.co_filename
        if name == "__exit__" and file == contextlib.__file__ and now() is not PLAIN:
            fired.append(name)
            if len(fired) == count:
                sys.settrace(None)
                signal.raise_signal(signal.SIGALRM)

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        check_interrupted()
    finally:
        sys.settrace(before)
    assert len(fired) == count
    # Nobody who forks waits for a call that has ended.
    assert not fork_safety._forks.inside


def test_a_block_left_open_ends_with_the_call() -> None:
    """By an error of another thread's, say, that is taken for one of the function's."""
    with delivering():
        within(promised=True).__enter__()
    assert now() is PLAIN


@contextlib.contextmanager
def promising() -> Iterator[None]:
    with within(promised=True):
        yield


def test_blocks_of_errors_that_were_replaced_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Left open, they would end when the error is dropped: in the midst of something else."""
    monkeypatch.setattr(signals, "_HERE", str(Path(__file__)))
    entered = contextlib._GeneratorContextManager.__enter__
    block = promising()

    def interrupted(self: Any) -> Any:
        entered(self)
        signal.raise_signal(signal.SIGALRM)

    def replaced() -> None:
        with delivering():
            try:
                interrupted(block)
            except LateError:
                raise KeyError("x") from None

    monkeypatch.setattr(signals, "_ENDS", (interrupted.__code__,))
    with pytest.raises(KeyError) as found:
        replaced()
    assert block.gen.gi_frame is None  # type: ignore[attr-defined]
    assert now() is PLAIN
    del found
    gc.collect()
    assert now() is PLAIN
