"""Lists of numbers among the arguments, which are traced as arrays, and code that tells them apart.

``[1.0, 2.0]`` as an argument is an array for NumPy's functions, and of one piece for a gradient.
Plain Python tells lists from arrays: ``isinstance(p, list)``, ``p + q``, ``2 * p``, ``if not p``,
``p.append(x)``. So the inputs that have axes are noted in a trace, and what asks one of them for
something that a list answers otherwise. Such a call is traced once more with each list taken apart
into its numbers, as a tuple is.
"""

from __future__ import annotations

import dis
import sys
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

from ..base.stand_in_types import class_of
from ..base.state import now
from ._caught_errors import catching

#: The operators that lists have, too.
LISTS_OWN = frozenset((
    "Add", "Multiply", "Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual",
))  # fmt: skip

#: NumPy's and SciPy's functions take a list for an array; symgrad asks for itself.
_TAKING = ("numpy.", "scipy.", "symgrad.")

#: Modules that ask in others' names: Python's, and that of adapted code's ``type``.
_ASKING = ("_collections_abc", "abc", "dataclasses", "numbers", "typing", class_of.__module__)


#: What adapted code's ``np.ndarray`` answers ``isinstance`` by.
_CHECK = "__instancecheck__"


class ListsError(Exception):
    """Ends a trace in which lists stand as arrays, and the code has told the two apart."""


class Lists:
    """The inputs of a trace that have axes, and whether the code has asked what they are.

    Attributes
    ----------
    asked:
        Whether it has asked one that is a list of the call for what a list answers otherwise.
    asks:
        Whether it has asked an array so, for which a list would be traced otherwise.
    columns, told:
        Whether there are columns of records, and the code has asked for a number's text.
    """

    def __init__(self) -> None:
        self._nodes: dict[Any, bool] = {}
        self._elements: dict[Any, bool] = {}
        self.asked = self.asks = False
        self.columns = self.told = False

    def __contains__(self, node: Any) -> bool:
        return node in self._nodes

    def add(self, node: Any, listed: bool) -> None:
        """Note an input, which is a list of the call or an array."""
        self._nodes[node] = listed

    def follow(self, node: Any, made: Any) -> None:
        """Note what stands for an input in an inner trace, or is a slice of it."""
        if node in self._nodes:
            self._nodes[made] = self._nodes[node]

    def read(self, node: Any, made: Any) -> None:
        """Note that a number is read from an input: an array's is NumPy's, a list's is Python's.

        Python's integers have any number of digits, and powers of negative ones.
        """
        if node in self._nodes:
            self._elements[made] = self._nodes[node]
            if made.dtype.kind in "iu":
                self.ask(node)

    def ask(self, node: Any) -> None:
        """Note that code asks one for what a list answers otherwise than an array."""
        self._note(self._nodes[node])

    def ask_element(self, node: Any) -> None:
        """Note that code asks for the very type of a value, if it is a number of an input."""
        if node in self._elements:
            self._note(self._elements[node])

    def ask_all(self) -> None:
        """Note that code does what gives something else where any of them is a list."""
        for listed in self._nodes.values():
            self._note(listed)

    def _note(self, listed: bool) -> None:
        if listed:
            self.asked = True
        else:
            self.asks = True


def among_lists(node: Any) -> Lists | None:
    """Return what notes the questions to a node, if it may be a list."""
    lists: Lists | None = now().lists
    return lists if lists is not None and node in lists else None


def ask(node: Any) -> None:
    """Note that code asks for what a list answers otherwise than an array."""
    lists = among_lists(node)
    if lists is not None:
        lists.ask(node)


def ask_kind(node: Any) -> None:
    """Note that code, other than NumPy's, asks for the class of a value."""
    lists: Lists | None = now().lists
    if lists is None or (node.shape and node not in lists):
        return
    frame: FrameType | None = sys._getframe(3)  # behind __class__ and the function that answers
    exact = frame is not None and frame.f_globals.get("__name__") == class_of.__module__
    while frame is not None and (
        frame.f_globals.get("__name__") in _ASKING or frame.f_code.co_name == _CHECK
    ):
        exact = exact and frame.f_code.co_name != _CHECK
        frame = frame.f_back
    if frame is None or not f"{frame.f_globals.get('__name__')}.".startswith(_TAKING):
        if node.shape:
            lists.ask(node)
        elif exact:  # isinstance(x, float) holds for NumPy's numbers, too
            lists.ask_element(node)


def ask_caught(frame: FrameType) -> None:
    """Note an operator that raises an error of Python's numbers alone, if the code catches it."""
    lists: Lists | None = now().lists
    if lists is not None and catching(frame, ZeroDivisionError) is not None:
        lists.ask_all()


@lru_cache(maxsize=1024)
def matches_sequences(code: CodeType) -> bool:
    """Tell whether code has patterns of sequences (``case [a, *rest]``), which lists are."""
    inner = (x for x in code.co_consts if isinstance(x, CodeType))
    return any(step.opname == "MATCH_SEQUENCE" for step in dis.get_instructions(code)) or any(
        map(matches_sequences, inner)
    )


def ask_operator(node: Any, other: Any, op: str) -> None:
    """Note an operator of which lists have their own: ``p + q``, ``2 * p``, ``p == q``."""
    lists = among_lists(node)
    if lists is None:
        return
    if op in ("Equal", "NotEqual"):  # a list is not equal to a number
        own = True
    elif op == "Multiply":
        kind = getattr(other, "dtype", None)
        own = isinstance(other, int) or (
            kind is not None and kind.kind in "iu" and not getattr(other, "shape", ())
        )
    else:
        own = isinstance(other, (list, tuple)) or getattr(other, "node", None) in lists
    if own:
        lists.ask(node)
