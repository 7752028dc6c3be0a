"""Attacks: generators of cases that try to break symgrad, and what judges them.

An attack is a test with the fixture ``attack``, which it iterates over. Each case has a number
and random numbers of its own, so a case that fails can be run alone. A failure is kept, and the
attack goes on, so that one run finds all of them:

    @pytest.mark.attack(quick=40, whole=20_000, judge="plain NumPy, bit for bit")
    def test_writes(attack):
        '''Assignments through views of every layout.'''
        for case in attack:
            with case:
                layout = case.rng.integers(5)
                ...
                case.tally("refused")  # an outcome that is right; uncounted cases are "equal"

``--all`` tries the first ``quick`` cases, the quick suite a fifth of these; ``--whole`` all of
them, in parts; ``--cases 12:13`` the twelfth alone. ``docs/build_reliability.py`` makes the table
of what was tried.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import resource
import select
import signal
import sys
import time
import traceback
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

#: Cases in one part of a whole run: enough for its start not to count.
PART = 500

#: Of the first cases the quick suite tries one in so many.
FEWER = 5


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Cut the cases of an attack into parts, which run in parallel."""
    if "attack" not in metafunc.fixturenames:
        return
    mark = metafunc.definition.get_closest_marker("attack")
    assert mark is not None, f"{metafunc.function.__name__} has no mark `attack`"
    option = metafunc.config.option
    if option.cases:
        first, last = map(int, option.cases.split(":"))
    else:
        first, last = 0, mark.kwargs["whole" if option.whole else "quick"]
        if option.quick:
            last = -(-last // FEWER)
    part = mark.kwargs.get("part", PART)
    ranges = [range(k, min(k + part, last)) for k in range(first, last, part)]
    metafunc.parametrize("attack", ranges, indirect=True, ids=lambda r: f"{r.start}:{r.stop}")


@dataclass
class Case:
    """One case: its number, random numbers that are its own, and its outcome."""

    number: int
    rng: np.random.Generator
    outcomes: Counter[str]
    failures: list[str]
    _outcome: str = "equal"

    def tally(self, outcome: str) -> None:
        """Say how the case ended, if not with equal values."""
        self._outcome = outcome

    def __enter__(self) -> Case:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if error is None:
            self.outcomes[self._outcome] += 1
            return False
        if not isinstance(error, Exception):
            return False
        self.outcomes["failed"] += 1
        text = "".join(traceback.format_exception(error)[-6:])
        self.failures.append(f"case {self.number}: {text}")
        return True


@dataclass
class Attack:
    """The cases of one part of an attack."""

    name: str
    numbers: range
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Case]:
        for number in self.numbers:
            rng = np.random.default_rng([zlib.crc32(self.name.encode()), number])
            yield Case(number, rng, self.outcomes, self.failures)


@pytest.fixture
def attack(request: pytest.FixtureRequest) -> Iterator[Attack]:
    """The cases of this part; fails at the end if one of them did."""
    name = request.function.__name__.removeprefix("test_")
    it = Attack(name, request.param)
    yield it
    request.node.user_properties.append(("attack", (name, dict(it.outcomes))))
    if it.failures:
        shown = "\n".join(it.failures[:5])
        pytest.fail(
            f"{len(it.failures)} of {len(it.numbers)} cases of {name} failed "
            f"(run one alone: -k {request.function.__name__} --cases N:N+1)\n{shown}",
            pytrace=False,
        )


# ---------------------------------------------------------------- in a process of its own


@dataclass
class Ending:
    """How a function ended in a process of its own.

    ``kind`` is "returned" (``value`` is the result), "raised" (``value`` is the error's type name
    and text), "died" (``value`` is the signal or the exit status) or "timeout".
    """

    kind: str
    value: Any


@pytest.fixture
def isolated() -> Callable[..., Ending]:
    """``isolated(function, *args, seconds=20, memory=2 << 30)`` runs in a fork of this process.

    ``memory`` is what the process may take beyond what this one has.
    """
    return _isolated


def _isolated(
    function: Callable[..., Any], *args: Any, seconds: float = 20, memory: int = 2 << 30
) -> Ending:
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork beside pytest-xdist's threads
        child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            faulthandler.disable()  # a crash is the result, not news
            signal.alarm(0)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (taken + memory,) * 2)
            try:
                ending = Ending("returned", function(*args))
            except BaseException as error:  # noqa: BLE001  # its kind is the result
                ending = Ending("raised", (type(error).__name__, str(error)))
            with os.fdopen(writer, "wb") as pipe:
                pickle.dump(ending, pipe)
        finally:
            sys.stderr.flush()
            os._exit(0)
    os.close(writer)
    try:
        return _ending(child, reader, time.monotonic() + seconds)
    finally:
        os.close(reader)


def _ending(child: int, reader: int, deadline: float) -> Ending:
    """Return what the child wrote, or how it ended without writing."""
    chunks = []
    while True:
        ready, _, _ = select.select([reader], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return Ending("timeout", None)
        chunk = os.read(reader, 1 << 16)
        if not chunk:
            break
        chunks.append(chunk)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not chunks:
        return Ending("died", status)
    ending: Ending = pickle.loads(b"".join(chunks))  # from our own child
    return ending
