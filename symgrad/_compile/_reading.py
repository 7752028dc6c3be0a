"""One state of what a function reads besides its arguments: what is compared, what is fetched."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._runtime import MISS
from .._trace import LeafKind, as_leaf
from ._compared import Comparison, key_of
from ._places import Read, Walk
from ._reads import SMALL
from ._watch import Callers

#: How much becomes an argument: arrays and numbers, arrays alone, nothing.
ALL, ARRAYS, NOTHING = 0, 1, 2


class Reading:
    """One state of what a function reads: what is compared, and what is fetched.

    Attributes
    ----------
    codes, generators:
        See :class:`Walk`.
    number:
        Tells its traces from those of other states.
    data:
        The expressions of what is fetched.
    names:
        Identifiers for the data.
    nothing:
        Whether there is nothing to compare or fetch.
    """

    def __init__(
        self, walk: Walk, level: int, loose: set[str], ignored: set[str], costly: bool = True
    ) -> None:
        self.level = level
        free = set(walk.places.values()) - walk.held
        self.data = [
            r.text for r in walk.reads.values()
            if r.how == "data" and r.text in free and _is_free(r, level, loose)
        ]  # fmt: skip
        fetched = set(self.data)
        compared = [r for r in walk.reads.values() if r.text not in fetched | ignored]
        self.compared = {r.text: key_of(r) for r in compared}
        self.key = (tuple(self.data), *self.compared.items(), *walk.own.values())
        self.names = [_identifier(walk.reads[text].name) for text in self.data]
        # In a function that reads nothing else nobody but IPython's autoreload puts other code.
        self.nothing = not walk.reads and not (walk.own and "IPython" in sys.modules)
        self.number = 0
        self.codes, self.generators = list(walk.codes.values()), walk.generators
        own = [Read(text, "is", code, "") for text, code in walk.own.items()]
        comparison = Comparison(walk, [*compared, *own], self.data, costly)
        self._fetch = comparison.fetch
        self._callers = Callers(
            comparison,
            converted=bool(self.data) and any(
                isinstance(r.value, np.ndarray) and as_leaf(r.value, r.name) is not r.value
                for r in walk.reads.values()
            ),
        )  # fmt: skip

    def now(self) -> Any:
        """Return the data of now, or MISS if this is not the state of now."""
        values = self._fetch()
        if values is MISS or not all(map(_is_datum, values)):
            return MISS
        return values

    def caller(self, function: Callable[..., Any], count: int) -> Callable[..., Any]:
        """Return a compiled function of ``count`` arguments that looks at what is read."""
        return function if self.nothing else self._callers.of(function, count)

    def taken(self, values: Sequence[Any]) -> tuple[list[LeafKind], list[Any]]:
        """Return data as leaves of a call, and their kinds.

        Their sizes are numbers of the trace, as those of constants.
        """
        leaves = [as_leaf(x, name) for x, name in zip(values, self.names, strict=True)]
        return list(map(_kind, leaves)), leaves


def _is_datum(value: Any) -> bool:
    kind = type(value)
    if kind is np.ndarray or isinstance(value, np.generic):
        return value.dtype.char in "fdFDbBhHiIlLqQ?"
    return kind is float or kind is complex


def _is_free(read: Read, level: int, loose: set[str]) -> bool:
    """Tell whether a place is data."""
    value = read.value
    if level >= NOTHING:
        return False
    if type(value) is np.ndarray:
        return value.dtype.char in "fdFD" or value.nbytes > SMALL
    return level == ALL and read.text in loose


def _kind(leaf: Any) -> LeafKind:
    if isinstance(leaf, np.ndarray):
        sizes = tuple(d if d < 2 else -d for d in leaf.shape)
        return LeafKind("array", leaf.dtype.char, sizes)
    return LeafKind("float" if type(leaf) is float else "complex")


def _identifier(name: str) -> str:
    text = "".join(c if c.isalnum() else "_" for c in name).strip("_")
    return text if text and not text[0].isdigit() else f"read_{text}"
