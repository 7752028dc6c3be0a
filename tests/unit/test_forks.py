"""A forked process goes on, whatever a thread that compiles held at that moment."""

from __future__ import annotations

import functools
import importlib
import json
import os
import pkgutil
import subprocess
import sys
import threading
from typing import Any

import pytest

import symgrad as sg
from symgrad._core.base.fork_safety import cached_property
from symgrad._core.base.platform import has

LOCKS = (type(threading.Lock()), type(threading.RLock()))

HELD = """
import importlib, json, os, sys, threading

locks = [getattr(importlib.import_module(module), name) for module, name in json.loads(sys.argv[1])]
held, done = threading.Event(), threading.Event()

def hold():
    for lock in locks:
        lock.acquire()
    held.set()
    done.wait()

threading.Thread(target=hold, daemon=True).start()
held.wait()
child = os.fork()
if not child:
    found = [getattr(importlib.import_module(m), n) for m, n in json.loads(sys.argv[1])]
    os._exit(0 if all(lock.acquire(timeout=1) for lock in found) else 3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
os._exit(0)  # the end of the process would wait for one of them
"""

#: Each begins with a thread that is in the middle of something, and says when.
MIDDLE = """
import contextlib, gc, os, subprocess, sys, threading, time
import numpy as np, symgrad as sg
from llvmlite.binding import ffi
from symgrad._core.base import fork_safety as _forks

X = np.linspace(0.1, 1.0, 5)
f = sg.grad(lambda x: np.sum(x**3))
f(X)
[[known]] = f._kinds._groups.values()

def aside(*blocks, seconds=60.0):
    "Have a thread be in these blocks for a while."
    begun, go = threading.Event(), threading.Event()
    def hold():
        with contextlib.ExitStack() as stack:
            for block in blocks:
                stack.enter_context(block)
            begun.set()
            go.wait(seconds)
    threading.Thread(target=hold, daemon=True).start()
    begun.wait()
    return go

def works():
    assert np.allclose(f(X), 3 * X**2)
    assert np.allclose(f(np.ones((2, 3))), 3.0)
    assert np.allclose(sg.grad(lambda x: np.sum(x**4))(X), 4 * X**3)
    assert gc.isenabled()

def forked(check=works, waits=False):
    start = time.monotonic()
    child = os.fork()
    took = time.monotonic() - start
    if not child:
        try:
            check()
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(3)
        os._exit(0)
    assert (took > 1) == waits, took
    deadline = time.monotonic() + 60
    while not (done := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > deadline:
            os.kill(child, 9)
        time.sleep(0.01)
    assert done[1] == 0, done
"""

MIDDLES = {
    "locks of functions": ["aside(f._lock, known._lock)", "forked()"],
    "a call into LLVM": ["aside(ffi.lib._lock, seconds=2)", "forked(waits=True)"],
    "something long": ["aside(_forks.undisturbed(), seconds=2)", "forked(waits=True)"],
    "Numba": [
        "import numba",
        "from numba.core.compiler_lock import global_compiler_lock as lock",
        "aside(lock, seconds=2)",
        "forked(lambda: numba.njit(lambda x: x + 1)(1), waits=True)",
    ],
    "what holds all locks itself": [
        "with f._lock, known._lock, ffi.lib._lock:",
        "    child = os.fork()",
        "if not child: works(); os._exit(0)",
        "assert os.waitpid(child, 0)[1] == 0",
        "works()",
    ],
    "what waits for the fork": [
        "def refused():",
        "    assert np.allclose(f(X), 3 * X**2)",
        "    try: sg.grad(np.sin)(0.5)",
        "    except RuntimeError as error: assert 'forked while' in str(error)",
        "_forks.PATIENCE = 2",
        "aside(_forks.undisturbed())",
        "forked(refused, waits=True)",
    ],
    "who starts another program": [
        "aside(_forks.undisturbed(), ffi.lib._lock)",
        "start = time.monotonic()",
        "subprocess.run([sys.executable, '-c', ''])",
        "assert time.monotonic() - start < 30",
    ],
}

forks = pytest.mark.skipif(
    not (hasattr(os, "fork") and has("fork")), reason="nothing is prepared for forks here"
)


def module_locks() -> list[tuple[str, str]]:
    """Return module and name of every lock that a module of symgrad keeps."""
    found = []
    for info in pkgutil.walk_packages(sg.__path__, "symgrad."):
        if not info.name.endswith("__main__"):
            names = vars(importlib.import_module(info.name))
            found += [(info.name, n) for n, x in names.items() if isinstance(x, LOCKS)]
    return sorted(set(found))


def run(code: str, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code, *args],
        env={**os.environ, "SYMGRAD_CACHE_DIR": ""},
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip


@forks
@pytest.mark.slow
def test_locks_of_modules_are_free_in_a_child() -> None:
    locks = module_locks()
    assert ("symgrad._core.graph._interned", "_lock") in locks
    ended = run(HELD, json.dumps(locks))
    assert (ended.stdout, ended.stderr) == ("0\n", "")


@forks
@pytest.mark.parametrize("name", MIDDLES)
@pytest.mark.quick(1)
def test_a_child_of_a_process_in_the_middle_of(name: str) -> None:
    ended = run("\n".join([MIDDLE, *MIDDLES[name], "print('done', flush=True)", "os._exit(0)"]))
    assert (ended.stdout, ended.stderr) == ("done\n", "")


@forks
@pytest.mark.slow
def test_threads_pass_a_fork_that_waits_for_others() -> None:
    """Whom the fork waits for may wait for them."""
    code = """
inner = threading.Event()
def outer():
    with _forks.undisturbed():
        begun.set()
        inner.wait()
def other():
    time.sleep(0.2)
    with _forks.undisturbed():
        inner.set()
begun = threading.Event()
for work in (outer, other):
    threading.Thread(target=work).start()
begun.wait()
start = time.monotonic()
child = os.fork()
if not child:
    works()
    os._exit(0)
assert time.monotonic() - start < 30
assert os.waitpid(child, 0)[1] == 0
"""
    ended = run(f"{MIDDLE}\n{code}")
    assert (ended.stdout, ended.stderr) == ("", "")


class Slow:
    """Computes its property only when another thread has, too: never, under a common lock."""

    both = threading.Barrier(2)

    @cached_property
    def number(self) -> Any:
        self.both.wait(timeout=10)
        return object()


def test_a_cached_property_is_computed_without_a_lock() -> None:
    thing, found = Slow(), []
    threads = [threading.Thread(target=lambda: found.append(thing.number)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2
    assert found[0] is found[1] is thing.number


def test_no_module_takes_the_locking_property() -> None:
    """That of ``functools`` holds one lock for all objects of a class in Python 3.11."""
    for info in pkgutil.walk_packages(sg.__path__, "symgrad."):
        if not info.name.endswith("__main__"):
            names = vars(importlib.import_module(info.name)).values()
            assert functools.cached_property not in [x for x in names if isinstance(x, type)]
