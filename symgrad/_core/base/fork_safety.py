"""What a forked process inherits is whole, whatever other threads were doing at that moment.

A child process has one thread, and of every other one what it was in the middle of. Three kinds
of things must not be inherited so:

- Locks, which nobody would release: those of symgrad are free in the child
  (:func:`free_in_children`). What they guard is right at every moment, not only when they are
  released, so half-done work counts as not begun.
- LLVM at work and modules being imported, whose state is not ours to repair: a fork waits for
  their end (:func:`undisturbed`).
- Locks of libraries around state that is theirs: a fork takes them first
  (:func:`taken_by_forks`), so that they are free and what they guard is whole.

``subprocess`` does not run any of this: its children become other programs at once.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import resolve_name
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from .platform import register_at_fork
from .signals import REPAIRS, holding

__all__ = [
    "cached_property", "free_in_children", "late_module", "taken_by_forks", "torn", "undisturbed",
]  # fmt: skip

LockT = TypeVar("LockT", bound=Any)

#: How long a fork waits for other threads, in seconds. After that it goes ahead, and the child
#: does not compile: whoever is being waited for may itself wait for the thread that forks.
PATIENCE = 60.0

#: How long a thread lets a fork go first that is waiting for others: they may wait for it.
COURTESY = 0.2

_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def free_in_children(lock: LockT) -> LockT:
    """Return ``lock``, which no other thread holds at the begin of a forked process.

    What it guards must be right at every moment, not only when it is released.
    """
    _locks.add(lock)
    return lock


def _freed(lock: Any) -> None:
    """Free a lock in a child, unless the thread that lives on there holds it."""
    owned = getattr(lock, "_is_owned", None)
    if owned is None or not owned():
        lock._at_fork_reinit()


class _Forks:
    """Who is in what a fork waits for, and who is forking."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        #: How deep each thread is in blocks that are not to be disturbed.
        self.inside: dict[int, int] = {}
        #: The thread that forks or waits to, and whether it has got what it waits for.
        self.forking: int | None = None
        self.ready = False
        self.taken: list[Any] = []
        self.torn = False

    def enter(self) -> None:
        me = threading.get_ident()
        with self.changed:
            if me not in self.inside and self.forking not in (None, me):
                self.changed.wait_for(lambda: self.forking is None, COURTESY)
                self.changed.wait_for(lambda: not self.ready, PATIENCE)
            self.inside[me] = self.inside.get(me, 0) + 1

    def leave(self) -> None:
        me = threading.get_ident()
        with self.changed:
            self.inside[me] -= 1
            if not self.inside[me]:
                del self.inside[me]
                self.changed.notify_all()

    def left_all(self) -> None:
        """Have this thread be in no block: it has left all, and an interruption kept it inside."""
        with self.changed:
            if self.inside.pop(threading.get_ident(), None):
                self.changed.notify_all()

    def quiet(self) -> bool:
        """Tell whether no other thread is inside."""
        return not self.inside.keys() - {threading.get_ident()}

    def before(self) -> None:
        """Wait until a process can be forked."""
        deadline = time.monotonic() + PATIENCE
        with self.changed:
            self.changed.wait_for(lambda: self.forking is None, PATIENCE)
            self.forking = threading.get_ident()
        while not self.ready and time.monotonic() < deadline:
            with self.changed:
                self.changed.wait_for(self.quiet, deadline - time.monotonic())
            # Not one after the other for good: their holders may wait for each other's.
            self.taken = _held_together()
            with self.changed:
                self.ready = self.taken is not _NONE and self.quiet()
            if not self.ready:
                self._give_back()

    def _give_back(self) -> None:
        for lock in reversed(self.taken):
            lock.release()
        self.taken = _NONE

    def in_parent(self) -> None:
        self._give_back()
        with self.changed:
            self.forking, self.ready = None, False
            self.changed.notify_all()

    def in_child(self) -> None:
        self._give_back()
        self.torn = self.torn or not self.ready
        me = threading.get_ident()
        self.inside = {me: self.inside[me]} if me in self.inside else {}
        self.changed, self.forking, self.ready = threading.Condition(), None, False
        for lock in (*_locks, *_foreign_locks()):
            _freed(lock)


_NONE: list[Any] = []
_forks = _Forks()
REPAIRS.append(_forks.left_all)
_foreign: list[Callable[[], Any]] = []


def taken_by_forks(find: Callable[[], Any]) -> None:
    """Have forks take a re-entrant lock; ``find`` returns it, or None while there is none."""
    _foreign.append(find)


def _foreign_locks() -> list[Any]:
    return [lock for find in _foreign if (lock := find()) is not None]


def _held_together() -> list[Any]:
    """Return all locks of libraries, taken; ``_NONE`` if one of them was not to be had."""
    taken: list[Any] = []
    for lock in _foreign_locks():
        if not lock.acquire(timeout=0.05):
            for held in reversed(taken):
                held.release()
            return _NONE
        taken.append(lock)
    return taken


register_at_fork(
    before=_forks.before, after_in_parent=_forks.in_parent, after_in_child=_forks.in_child
)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Have other threads fork before or after the block.

    It takes no lock and waits for no other thread, except for those that fork.
    """
    _forks.enter()
    try:
        yield
    finally:
        _forks.leave()


def late_module(name: str, package: str | None = None) -> ModuleType:
    """Return a module, imported now if need be: a child could not end what has begun."""
    found = sys.modules.get(name if package is None else resolve_name(name, package))
    if found is not None and not getattr(getattr(found, "__spec__", None), "_initializing", False):
        return found
    with undisturbed(), holding():
        return import_module(name, package)


def torn() -> bool:
    """Tell whether this process was forked in the midst of what forks wait for."""
    return _forks.torn


if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property:  # noqa: N801  stands for functools.cached_property
        """A property that is computed once, without a lock.

        Python 3.11 computes those of ``functools`` under one lock for all objects of a class.
        Two threads may compute the same here; the first value stays.
        """

        def __init__(self, compute: Callable[[Any], Any]) -> None:
            self.compute = compute
            self.__doc__ = compute.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.name, self.compute(instance))
