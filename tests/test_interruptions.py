"""Timeouts: what a signal handler raises while symgrad traces and compiles comes out."""

from __future__ import annotations

import ctypes
import gc
import math
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np
import pytest
from llvmlite.binding import ffi

import symgrad as sg
from symgrad.scipy import integrate, optimize

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers are of POSIX"),
    pytest.mark.filterwarnings("ignore::symgrad.errors.CaptureWarning"),
    pytest.mark.filterwarnings("ignore::symgrad.errors.DifferencesWarning"),
    # Of llvmlite's objects that are interrupted while they are made.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


class LateError(Exception):
    """A user's own."""


class LateValueError(ValueError):
    """One that looks like an error of the function's."""


#: The errors that handlers have raised since the timer was set.
FIRED: list[type[Exception]] = []

KINDS = (LateError, LateValueError, TimeoutError, TypeError)


@pytest.fixture
def timer() -> Iterator[Callable[[type[Exception], float], None]]:
    """``timer(kind, seconds)`` raises an error then; 0 seconds: never."""
    before = signal.getsignal(signal.SIGALRM)

    def set_timer(kind: type[Exception], seconds: float) -> None:
        def late(number: int, frame: FrameType | None) -> None:
            FIRED.append(kind)
            raise kind("too late")

        FIRED.clear()
        signal.signal(signal.SIGALRM, late)
        signal.setitimer(signal.ITIMER_REAL, seconds)

    yield set_timer
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


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


def gradient(k: int, x: Any) -> Any:
    y = np.sin(x) * np.exp(-x) * k + np.cos(x)
    slopes = (np.cos(x) - np.sin(x)) * np.exp(-x) * k - np.sin(x)
    return 2 * y * slopes + k * np.eye(3)[0]


X = np.array([0.1, 0.2, 0.4])


def once(
    timer: Callable[..., None], kind: type[Exception], after: float, call: Callable[[], Any]
) -> bool:
    """Tell whether a call was interrupted; what is raised is what the handler has raised."""
    timer(kind, after)
    try:
        call()
        timer(kind, 0)
    except kind as error:
        signal.setitimer(signal.ITIMER_REAL, 0)
        return str(error) == "too late"
    return bool(FIRED) and pytest.fail("the timeout is lost")


@pytest.mark.parametrize("cached", [False, True])
def test_timeouts_at_any_moment(
    timer: Callable[..., None], cached: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("SYMGRAD_CACHE_DIR", str(tmp_path) if cached else "")
    sg.grad(fresh(-1))(X)
    start = time.perf_counter()
    sg.grad(fresh(-2))(X)
    taken = time.perf_counter() - start
    moments = random.Random(int(cached))
    for k in range(40):
        g = sg.grad(fresh(k))
        once(timer, KINDS[k % 4], max(1e-4, moments.random() * taken), lambda g=g: g(X))
        np.testing.assert_allclose(g(X), gradient(k, X), rtol=1e-12)


def test_what_the_function_catches_itself_is_its_own(timer: Callable[..., None]) -> None:
    def f(x: Any) -> Any:
        try:
            signal.raise_signal(signal.SIGALRM)
        except LateError:
            return np.sum(x**2)
        return x[0]

    timer(LateError, 60.0)
    np.testing.assert_allclose(sg.grad(f)(X), 2 * X, rtol=1e-15)
    assert FIRED


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", [
    lambda f: optimize.minimize(f, X), lambda f: sg.vmap(f)(np.stack([X, X])),
    lambda f: optimize.minimize(f, X, jac="3-point", method="BFGS"),
    lambda f: integrate.solve_ivp(lambda t, y: f(y) * y, (0, 1), X),
    lambda f: sg.jacobian(f)(X), lambda f: sg.compile(f, control_flow=True)(X),
    lambda f: sg.scan(lambda y, x: (y + f(y) * x, y), X, X),
    lambda f: integrate.quad(lambda t: f(t * X), 0, 1),
])  # fmt: skip
def test_a_timeout_in_the_function(
    timer: Callable[..., None], kind: type[Exception], call: Callable[..., Any]
) -> None:
    """Wherever it is called from: plain, traced, adapted, in a loop."""

    def f(x: Any) -> Any:
        signal.raise_signal(signal.SIGALRM)
        return np.sum(x**2)

    assert once(timer, kind, 60.0, lambda: call(f))


def test_an_error_from_another_thread() -> None:
    """``PyThreadState_SetAsyncExc``, as by watchdogs that need no signal."""
    raised = 0
    for k in range(8):
        g = sg.grad(fresh(100 + k))
        ending = threading.Event()

        def watch(number: int, ending: threading.Event = ending) -> None:
            if not ending.wait(0.01):
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(number), ctypes.py_object(LateError)
                )

        watching = threading.Thread(target=watch, args=(threading.get_ident(),))
        try:
            watching.start()
            g(X)
            ending.set()
            watching.join()
        except LateError:
            raised += 1
            watching.join()
        np.testing.assert_allclose(g(X), gradient(100 + k, X), rtol=1e-12)
    assert raised


FIRST = """
import signal, sys
import numpy as np, scipy.special, scipy.stats, symgrad as sg

class Late(Exception):
    pass

fired = []
def late(number, frame):
    fired.append(number)
    raise Late

def f(x):
    normal = scipy.stats.norm.logcdf(x)
    return np.sum(scipy.special.gammaln(x)) + np.sum(normal) + scipy.special.jv(1.5, x[0])

x = np.linspace(1.1, 1.4, 4)
signal.signal(signal.SIGALRM, late)
signal.setitimer(signal.ITIMER_REAL, float(sys.argv[1]))
try:
    sg.grad(f)(x)
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert not fired
except Late:
    pass
steps = 1e-6 * np.eye(4)
want = [(f(x + e) - f(x - e)) / 2e-6 for e in steps]
np.testing.assert_allclose(sg.grad(f)(x), want, rtol=1e-6)
"""


@pytest.mark.quick(1)
@pytest.mark.parametrize("after", [0.3, 0.02, 0.1, 0.2, 0.4, 0.5, 0.7, 0.9])
def test_a_timeout_in_a_first_call(after: float) -> None:
    """It imports much: SymPy, LLVM, tables of special functions, which must not stay half done."""
    command = [sys.executable, "-c", FIRST, str(after)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.fixture
def next_turn() -> Iterator[list[bool]]:
    """Signal the next time that the main thread takes llvmlite's lock, while the list has items."""
    lock, waiting = ffi.lib._lock, [True]

    def taken() -> None:
        if waiting and threading.current_thread() is threading.main_thread():
            waiting.clear()
            signal.raise_signal(signal.SIGALRM)

    gc.collect()  # no engine of another test's is dropped within
    lock.register(taken, bool)
    yield waiting
    lock.unregister(taken, bool)


def in_another_thread(k: int) -> None:
    """Compile there; a lock that is never given back ends in a failure, not in a test for ever."""
    found: list[Any] = []
    compiles = threading.Thread(
        target=lambda: found.append(sg.grad(fresh(k))(X)), daemon=True, name="compiles"
    )
    compiles.start()
    compiles.join(120)
    assert not compiles.is_alive()
    np.testing.assert_allclose(found[0], gradient(k, X), rtol=1e-12)


def test_llvmlites_lock_is_given_back(timer: Callable[..., None], next_turn: list[bool]) -> None:
    """It is taken by a function in Python; other threads would wait for it for ever."""
    assert once(timer, LateError, 60.0, lambda: sg.grad(fresh(200))(X))
    assert not next_turn
    in_another_thread(201)


def test_llvmlites_lock_is_given_back_by_finalisers(
    timer: Callable[..., None], next_turn: list[bool]
) -> None:
    """Machine code is dropped anywhere, also where no call of symgrad's ends after it."""
    next_turn.clear()
    held = [sg.grad(fresh(202))]
    held[0](X)
    timer(LateError, 60.0)
    next_turn.append(True)
    held.clear()
    gc.collect()
    assert not next_turn
    assert FIRED
    in_another_thread(203)
