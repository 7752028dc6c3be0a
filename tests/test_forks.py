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
from symgrad._forks import cached_property

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
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")


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
def test_locks_of_modules_are_free_in_a_child() -> None:
    locks = module_locks()
    assert ("symgrad._graph._interned", "_lock") in locks
    ended = run(HELD, json.dumps(locks))
    assert (ended.stdout, ended.stderr) == ("0\n", "")


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
