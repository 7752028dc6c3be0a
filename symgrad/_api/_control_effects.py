"""Blocks of rewritten control flow that change what is there before them: found, and undone.

Both sides of a branch are traced, and a step of a loop once for all. What they do to lists, objects
and variables around them (``self.count += 1`` in a method, ``parts.append(x)`` in a helper) would
be done by the side that is not taken, too, and once for all steps. So Python decides there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from .._compile._effects import Effects
from .._compile._reads import read_by
from .._trace import Complex, Traced
from ._control_writes import UNSET

T = TypeVar("T")


class ChangedError(Exception):
    """A block has changed something, and it is as it was again."""


def unchanged(run: Callable[[], T], blocks: Sequence[Callable[..., Any]], values: Any) -> T:
    """Return ``run()``, which traces blocks on variables with these values.

    Raises
    ------
    ChangedError
        If an object that the blocks can reach is another then. It is made what it was.
    """
    known = (Traced, Complex, np.ndarray, int, float)
    given = [v for v in values if v is not UNSET and not isinstance(v, known)]
    reached = [Effects(read_by(block, given)) for block in blocks]
    error: Exception | None = None
    try:
        found = run()
    except Exception as raised:  # noqa: BLE001 - it may come of the change
        error = raised
    changed = [effects.undo() for effects in reached]
    if any(changed):
        raise ChangedError from error
    if error is not None:
        raise error
    return found
