"""Blocks of rewritten control flow that change what is there before them: found, and undone.

Both sides of a branch are traced, and a step of a loop once for all. What they do to lists, objects
and variables around them (``self.count += 1`` in a method, ``parts.append(x)`` in a helper) would
be done by the side that is not taken, too, and once for all steps. So Python decides there.
"""

from __future__ import annotations

import gc
import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from types import GeneratorType
from typing import Any, TypeVar

import numpy as np

from .._capture._effects import Effects, generators_made
from .._capture._locations import Walk
from .._capture._ownership import NONE
from .._capture._reads import read_by
from .._core.base.signals import interrupts
from .._core.graph import CodeTable
from .._core.trace import Complex, Traced
from ..errors import TraceError
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
    TraceError
        If an iterator has gone on that cannot be made what it was.
    """
    known = (Traced, Complex, np.ndarray, int, float)
    given = [v for v in values if v is not UNSET and not isinstance(v, known)]
    walk = _walked(blocks, given)
    reached = Effects(walk)
    iterators = {id(x): x for x in walk.met.values() if isinstance(x, Iterator)}
    before = [(x, place_of(x)) for x in iterators.values()]
    # A loop hands on, as they are, plain arrays that a step only gives to functions (``out=y``).
    plain = [(x, x.copy()) for x in values if isinstance(x, np.ndarray)]
    made = generators_made()
    error: Exception | None = None
    try:
        found = run()
    except Exception as raised:  # noqa: BLE001 - it may come of the change
        error = raised
    changed = [reached.undo()]
    changed += [_put_back(x, place) for x, place in before if place_of(x) != place]
    for x, numbers in plain:
        if x.tobytes() != numbers.tobytes():
            x[...] = numbers
            changed.append(True)
    if made.moved():  # Python's own loop draws from where they were
        made.put_back()
        changed.append(error is None)
    if any(changed) and not interrupts(error):
        raise ChangedError from error
    if error is not None:
        raise error
    return found


#: The names to which walks from code have led: a further walk from it knows them beforehand.
_names: CodeTable[frozenset[str]] = CodeTable()


def _walked(blocks: Sequence[Callable[..., Any]], objects: Sequence[Any]) -> Walk:
    """Return all that blocks reach, and the objects among their variables."""
    first, *others = blocks
    code = getattr(first, "__code__", None)
    names = {} if code is None else _names.of(code)
    found = read_by(first, [*others, *objects], known=names.get("known", NONE))
    names["known"] = frozenset(found.known)
    return found


def place_of(iterator: Iterator[Any]) -> tuple[Any, ...]:
    """Return what tells whether an iterator has gone on: its own place, and of what it goes along.

    Examples
    --------
    >>> pairs = zip([1, 2], [3, 4])
    >>> before = place_of(pairs)
    >>> _ = next(pairs)
    >>> place_of(pairs) == before
    False
    """
    found: list[Any] = []
    seen: set[int] = set()
    waiting: list[Any] = [iterator]
    while waiting:
        x = waiting.pop()
        if not isinstance(x, Iterator) or id(x) in seen:
            continue
        seen.add(id(x))
        if not isinstance(x, GeneratorType):
            inner = gc.get_referents(x)
            inner += [y for part in inner if isinstance(part, tuple) for y in part]
            own: Any = repr(x) if isinstance(x, itertools.count) else operator.length_hint(x, -1)
        elif x.gi_frame is None:
            inner, own = [], None
        else:
            inner = list(x.gi_frame.f_locals.values())
            own = x.gi_frame.f_lasti, *map(id, inner)
        found.append(own)
        waiting += inner
    return tuple(found)


def _put_back(iterator: Iterator[Any], place: tuple[Any, ...]) -> bool:
    """Let an iterator of a sequence go on from where it was; raise for others."""
    if type(iterator) not in _ALONG_SEQUENCES:
        raise TraceError(
            f"an iterator ({type(iterator).__name__}) goes on within `if`, `and`, `or` or a loop "
            "that is decided by traced values: read it outside, or a list by its positions"
        )
    parts = iterator.__reduce__()
    if len(parts) > 2:  # else it has ended, and keeps nothing
        size = len(parts[1][0])
        iterator.__setstate__(size - place[0])  # type: ignore[attr-defined]
        return True
    raise TraceError(
        "an iterator comes to its end within `if`, `and`, `or` or a loop that is decided by "
        "traced values: read it outside, or a list by its positions"
    )


#: Iterators that can be told where to go on.
_ALONG_SEQUENCES: tuple[type, ...] = type(iter([])), type(iter(()))
