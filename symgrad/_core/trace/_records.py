"""Long lists of records among the arguments, whose columns are arrays.

``edges = [(0, 1, 0.5), (1, 2, 0.7), ...]`` is how Python writes a graph, a mesh or measurements:
tuples of numbers, alike in all rows. As so many inputs of a program they would take longer to pass
than the program to run. So the numbers at one place of all tuples are one array, and the function
gets a list of tuples of elements of these arrays, which are Python's numbers to it. A list of
integers and a tuple of numbers are single columns. (A list of floats is an array by itself.)

Python's integers are exact, an array's have 64 bits: integers of a trace are followed to the
largest that they may be. A function that needs to know an integer (``range(i)``, a key of a
dictionary), or whose integers may be large, is traced with each number as an input.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..graph import Constant, Literal, Node, element_count, topological
from ..graph._body import bodies
from ..op import PROJECTIONS, Bodied, Map, Reduce

#: Shorter lists are taken apart into their numbers, whose code is straight.
LEAST = 32

#: Longer lists of integers are arrays, as lists of floats are.
MOST = 4096

#: The only key of a list of numbers, which has no tuples.
ITSELF = ("i",)

#: Integers up to this size are numbers in arrays: places, counts.
LARGEST = 1 << 20

#: Integers up to this size are exact in 64 bits, and as floats.
EXACT = 1 << 53

_LETTERS = {int: "i", float: "f"}

#: Python's types of numbers, and an array's, by letters.
TYPES = {"i": int, "f": float}

#: Functions whose results are no larger than their operands.
_NO_LARGER = (np.negative, np.absolute, np.minimum, np.maximum)


class RecordsError(Exception):
    """Ends a trace of columns: the function is to be traced with each number as an input."""


class Column(NamedTuple):
    """The numbers at one place of all records."""

    array: np.ndarray[Any, Any]


class Form(NamedTuple):
    """The structure of a list of records.

    Attributes
    ----------
    outer:
        ``list`` or ``tuple``.
    letters:
        For each number of a record ``"i"`` or ``"f"``.
    length:
        How many records there are.
    keys:
        The places in a record; :data:`ITSELF` of a list of numbers without tuples.
    """

    outer: type
    letters: str
    length: int
    keys: tuple[Any, ...]

    def rows(self, columns: Sequence[Any]) -> Any:
        """Return the records of columns."""
        numbers = [
            c.tolist() if isinstance(c, np.ndarray) else c.__symgrad_numbers__(TYPES[letter])
            for c, letter in zip(columns, self.letters, strict=True)
        ]
        return self.outer(numbers[0] if self.keys == ITSELF else zip(*numbers, strict=True))


def columns_of(value: Any, like: Form | None = None) -> tuple[Form, list[np.ndarray]] | None:
    """Return the form and the columns of a long list of records; None if it is none, or unlike."""
    outer = type(value)
    if outer not in (list, tuple) or len(value) < LEAST:
        return None
    keys: tuple[Any, ...] = ITSELF
    first = type(value[0])
    if first is int or (first is float and outer is tuple):
        if len(value) > MOST:
            return None
        columns = [value]
    else:
        width = len(value[0]) if first is tuple else 0
        if not width or set(map(type, value)) != {tuple} or set(map(len, value)) != {width}:
            return None
        keys, columns = tuple(range(width)), [*zip(*value, strict=True)]
    letters, arrays = "", []
    for numbers in columns:
        kinds = set(map(type, numbers))
        letter = _LETTERS.get(kinds.pop()) if len(kinds) == 1 else None
        if letter is None:
            return None
        letters += letter
        if letter == "i" and not -LARGEST <= min(numbers) <= max(numbers) <= LARGEST:
            return None
        arrays.append(np.array(numbers, np.int64 if letter == "i" else np.float64))
    form = Form(outer, letters, len(value), keys)
    return None if like is not None and form != like else (form, arrays)


def columns_like(value: Any, form: Form) -> list[np.ndarray] | None:
    """Return the columns of a list of records of a form; None if it is none."""
    found = columns_of(value, form)
    return None if found is None else found[1]


def check_exact(outputs: Iterable[Node], columns: Iterable[Node]) -> None:
    """Raise a :class:`RecordsError` if integers computed of columns may not be exact."""
    largest: dict[Node, float] = {c: LARGEST for c in columns if c.dtype.kind == "i"}
    if not largest:
        return
    for node in topological(list(outputs)):
        given = [largest[x] for x in node.operands if x in largest]
        if node in largest or not given:
            continue
        if isinstance(node.op, Bodied):
            largest[node] = _largest_inside(node, max(given))
        elif node.op.kind in PROJECTIONS:
            largest[node] = given[0]
        elif node.dtype.kind in "iu":
            largest[node] = _checked(node, largest)


def _checked(node: Node, largest: dict[Node, float]) -> float:
    """Return the largest size of an integer, which is exact."""
    found = _largest(node, largest)
    if found > EXACT:
        raise RecordsError
    return found


def _largest_inside(node: Node, most: float) -> float:
    """Return the largest size of the integers in the bodies of a loop or a branch."""
    found: dict[Node, float] = {}
    for body in bodies(node):
        inputs = [x for x in body.inputs if x.dtype.kind in "iu"]
        found |= dict.fromkeys(inputs, most)
        for inner in topological(list(body.outputs)):
            if inner in found or not any(x in found for x in inner.operands):
                continue
            if isinstance(inner.op, Bodied):
                raise RecordsError
            if inner.dtype.kind in "iu":
                found[inner] = _checked(inner, found)
        carried = body.outputs[: node.params.get("carries", 0)]
        if any(x in found and x not in body.inputs for x in carried):
            raise RecordsError  # it may grow from step to step
    return max(found.values(), default=most)


def _largest(node: Node, largest: dict[Node, float]) -> float:
    """Return the largest size of an integer, by those of its operands."""
    sizes = [_size(x, largest) for x in node.operands if x.dtype.kind in "iu"]
    op = node.op
    if op.means(np.add) or op.means(np.subtract):
        return sum(sizes)
    if op.means(np.multiply):
        return float(math.prod(sizes))
    if isinstance(op, Reduce) and op.combine in ("add", "maximum", "minimum"):
        [x] = node.operands
        known = all(isinstance(d, int) for d in x.shape)
        return sizes[0] * element_count(x) if known else math.inf
    chooses = isinstance(op, Map) and op.given("evaluate") is np.where
    if chooses or op.kind in ("view", "assemble", "gather") or any(map(op.means, _NO_LARGER)):
        return max(sizes)
    return math.inf


def _size(node: Node, largest: dict[Node, float]) -> float:
    if node in largest:
        return largest[node]
    if isinstance(node, Literal):
        value: int = node.value
        return abs(value)
    if isinstance(node, Constant):
        return float(np.abs(node.array).max(initial=0))
    return float(LARGEST) * LARGEST  # a length of an axis
