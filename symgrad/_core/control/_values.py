"""Nested values of a loop: their numbers as nodes, and the rest, which stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ArgumentError, DTypeError, ShapeError
from ..base.broadcast import show
from ..base.sizes import same
from ..graph import Input, Node, defined_at
from ..graph._types import promote
from ..trace import Traced, Tree, as_node, as_traced, flatten_traced, is_value
from ..trace._bind import kind_of
from ..trace._tree import is_number_list
from ..trace._views import Layout, layout_of


@dataclass(frozen=True)
class Values:
    """A nested value, flat.

    Attributes
    ----------
    leaves, tree:
        All leaves, and the structure.
    places:
        Which of the leaves are numbers or arrays.
    """

    leaves: tuple[Any, ...]
    tree: Tree
    places: tuple[int, ...]

    @classmethod
    def of(cls, value: Any) -> Values:
        """Return a nested value as its parts."""
        leaves, tree = flatten_traced(value)
        places = [k for k, leaf in enumerate(leaves) if is_number(leaf)]
        return cls(tuple(leaves), tree, tuple(places))

    @property
    def numbers(self) -> list[Any]:
        """The leaves that are numbers or arrays."""
        return [self.leaves[k] for k in self.places]

    @property
    def nodes(self) -> list[Node]:
        """The nodes of the numbers and arrays."""
        return [as_node(x) for x in self.numbers]

    @property
    def weak(self) -> list[type | None]:
        """For each number its Python type, if it adapts to the arrays that it meets."""
        kinds = [kind_of(x) for x in self.numbers]
        return [k if isinstance(k, type) else None for k in kinds]

    def filled(self, numbers: Sequence[Any]) -> Any:
        """Return the nested value with other numbers, as sure of where arrays lie."""
        leaves = list(self.leaves)
        for k, x in zip(self.places, numbers, strict=True):
            if isinstance(x, Traced) and x.ndim > 1 and not layout_of(leaves[k]):
                x.layout = Layout.UNKNOWN
            leaves[k] = x
        return self.tree.unflatten(leaves)

    def as_sure_as(self, *others: Values) -> Values:
        """Return the same value, where arrays lie as far as it is sure in the others, too."""
        columns = zip(*(v.numbers for v in (self, *others)), strict=True)
        unsure = [any(not layout_of(x) for x in column) for column in columns]
        if unsure == [not layout_of(x) for x in self.numbers]:
            return self
        numbers = [as_traced(x).own(Layout.UNKNOWN) if lost else x
                   for x, lost in zip(self.numbers, unsure, strict=True)]  # fmt: skip
        return Values.of(self.filled(numbers))

    def names(self, name: str) -> list[str]:
        """Return an identifier for each of the numbers."""
        given = list(self.tree.names(name))
        return [given[k] for k in self.places]

    def __eq__(self, other: object) -> bool:
        """Tell whether structure and what is no number are the same."""
        if not isinstance(other, Values) or self.tree != other.tree or self.places != other.places:
            return False
        rest = [k for k in range(len(self.leaves)) if k not in self.places]
        return all(self.leaves[k] == other.leaves[k] for k in rest)

    __hash__ = None  # type: ignore[assignment]


def is_number(leaf: Any) -> bool:
    """Tell whether a leaf is a number or an array, traced or not."""
    return isinstance(leaf, (Traced, bool, np.bool_)) or is_value(leaf)


def by_elements(value: Any) -> Any:
    """Return a nested value in which lists of numbers, else arrays, are lists of their elements."""
    if is_number_list(value):
        return [by_elements(x) if isinstance(x, list) else _element(x) for x in value]
    return type(value)(map(by_elements, value)) if type(value) in (list, tuple) else value


def _element(number: Any) -> Traced:
    kind = kind_of(number)
    return Traced(as_node(number), kind if isinstance(kind, type) else None)


def bound(nodes: Sequence[Node], names: Sequence[str]) -> list[Input]:
    """Return new inputs of the shapes and types of ``nodes``."""
    return [Input(name, x.shape, x.dtype) for x, name in zip(nodes, names, strict=True)]


def at(function: Callable[..., Any]) -> str:
    """Return where a function of the user's is, for messages."""
    place = defined_at(function)
    name = getattr(function, "__name__", "the function")
    return f"{name} ({place})" if place is not None else str(name)


_NUMBER = "a number or an array"


def difference(a: Values, b: Values) -> str:
    """Return in what two values differ first, besides numbers, for messages."""
    if a.tree != b.tree:
        parts = (_structure(tree) for tree in _apart(a.tree, b.tree))
        return " and ".join(_NUMBER if part == "*" else part for part in parts)
    pairs = zip(a.leaves, b.leaves, strict=True)
    other = next(p for p in pairs if not all(map(is_number, p)) and p[0] != p[1])
    return " and ".join(map(_told, other))


def _apart(a: Tree, b: Tree) -> tuple[Tree, Tree]:
    """Return the first parts of two structures that differ."""
    if (a.kind, a.meta, len(a.children)) != (b.kind, b.meta, len(b.children)):
        return a, b
    return next(
        _apart(*pair) for pair in zip(a.children, b.children, strict=True) if pair[0] != pair[1]
    )


def _told(leaf: Any) -> str:
    if is_number(leaf):
        return _NUMBER
    return repr(leaf) if leaf is None or isinstance(leaf, str) else f"a {type(leaf).__name__}"


def check_structure(given: Values, found: Values, what: str, function: Any) -> None:
    """Raise unless what a function returned has the structure of what it was given."""
    if given == found:
        return
    a, b = (_structure(v.tree) for v in (given, found))
    raise ArgumentError(
        f"{what}: {at(function)} was given a carry of the structure {a} and returned {b}; "
        "it must return the carry in the structure in which it takes it"
    )


def _structure(tree: Tree) -> str:
    if tree.kind == "leaf":
        return "*"
    keys = tree.meta[-1] if tree.meta is not None else None
    parts = [_structure(c) for c in tree.children]
    if keys is not None:
        parts = [f"{k}: {p}" for k, p in zip(keys, parts, strict=True)]
    brackets = {"tuple": "()", "list": "[]"}.get(tree.kind, "{}")
    return f"{brackets[0]}{', '.join(parts)}{brackets[1]}"


def settle_kinds(
    nodes: Sequence[Node], weak: Sequence[type | None], news: Sequence[Any], names: Sequence[str],
    what: str, function: Any,
) -> list[Any]:  # fmt: skip
    """Return the element types that the carries must have, given what a step makes of them.

    A carry that starts from a Python number takes the type that the step gives it.

    Raises
    ------
    ShapeError, DTypeError
        If a step changes the shape or the type of a carry.
    """
    found = []
    for x, kind, new, name in zip(nodes, weak, news, names, strict=True):
        shape, dtype = as_node(new).shape, as_node(new).dtype
        if len(shape) != len(x.shape) or not all(map(same, shape, x.shape)):
            raise ShapeError(
                f"{what}: {at(function)} changes the shape of the carry {name} from "
                f"{show(x.shape)} to {show(shape)}; a carry keeps its shape, so start from "
                "an array of the final shape"
            )
        if dtype == x.dtype:
            found.append(dtype)
        elif kind is not None and x.dtype.kind in "iuf" and dtype.kind in "iuf":
            found.append(promote(dtype, kind))
        elif isinstance(kind_of(new), type) or np.can_cast(dtype, x.dtype):
            found.append(x.dtype)
        else:
            raise DTypeError(
                f"{what}: {at(function)} changes the element type of the carry {name} from "
                f"{x.dtype} to {dtype}; convert one of them with .astype(...)"
            )
    return found
