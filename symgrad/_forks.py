"""What other threads hold is free in a forked process, where these threads are not.

A process may fork while another of its threads compiles. The child has a copy of each lock
that the thread held just then, and nobody to release it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

__all__ = ["cached_property", "free_in_children"]


class _Lock(Protocol):
    def _at_fork_reinit(self) -> None: ...


LockT = TypeVar("LockT", bound=Any)


def free_in_children(lock: LockT) -> LockT:
    """Return ``lock``, a module's own, which nobody holds at the begin of a forked process.

    What it guards must be right at every moment, not only when it is released.
    """
    if hasattr(os, "register_at_fork"):
        held: _Lock = lock
        os.register_at_fork(after_in_child=held._at_fork_reinit)
    return lock


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
