"""Nested arguments and results: flattening and rebuilding containers.

Tuples, lists, dicts, namedtuples and dataclasses are containers; everything else is a leaf.
A list of plain numbers is an array, as for every NumPy function. A traced complex value is a
container of its real and its imaginary part: nothing below knows of complex numbers.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ...errors import ArgumentError
from ._labels import Labelled, labels_of, numbers_of
from ._records import Column, columns_of


class Pair:
    """What is flattened into two values: the base of traced complex values.

    Its classes have ``real`` and ``imag``, and ``of(real, imag)`` puts the parts together.
    """

    __slots__ = ()


class Placed:
    """What is an array with labels of another kind: the base of sparse matrices of a trace.

    Its classes have ``terms``, and ``places()`` returns the labels: ``on(terms)`` of them puts the
    parts together.
    """

    __slots__ = ()


class Tree(NamedTuple):
    """The structure of a nested value: a container's type with the trees inside it.

    ``kind`` is "leaf", "tuple", "list", "dict", "namedtuple", "dataclass", "complex" (a
    :class:`Pair`), "packed" (complex numbers as a real array with a last axis of two),
    "labelled" (an array with labels, or of entries with places) or "records" (a long list of
    tuples of numbers, as columns); ``meta`` is what rebuilding needs (keys, class).
    """

    kind: str
    meta: Any = None
    children: tuple[Tree, ...] = ()

    @property
    def leaves(self) -> int:
        """Number of leaves."""
        return 1 if self.kind == "leaf" else sum(c.leaves for c in self.children)

    @property
    def units(self) -> list[int]:
        """For each number or other leaf as the user sees it, its leaves: 2 if it is complex."""
        if self.kind in ("leaf", "complex"):
            return [self.leaves]
        return [n for child in self.children for n in child.units]

    @property
    def outline(self) -> Tree:
        """The structure as the user sees it: complex values are leaves."""
        if self.kind in ("leaf", "complex", "packed"):
            return LEAF
        return Tree(self.kind, self.meta, tuple(c.outline for c in self.children))

    @property
    def kinds(self) -> set[str]:
        """The kinds of containers, and "leaf", that there are."""
        return {self.kind}.union(*(c.kinds for c in self.children))

    @property
    def leaf_kinds(self) -> list[str]:
        """For each leaf "packed" if it is an array of complex numbers, else "leaf"."""
        if self.kind in ("leaf", "packed"):
            return [self.kind]
        return [kind for child in self.children for kind in child.leaf_kinds]

    @property
    def packed(self) -> Tree:
        """The structure with complex values in one array each, not in two."""
        if self.kind == "complex":
            return Tree("packed", None, (LEAF,))
        return Tree(self.kind, self.meta, tuple(c.packed for c in self.children))

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Rebuild the nested value from its leaves in order."""
        return _unflatten(self, iter(leaves))

    def names(self, name: str) -> Iterator[str]:
        """Yield an identifier for each leaf: ``x``, ``x_0``, ``params_w``."""
        if self.kind in ("leaf", "labelled"):
            yield name
            return
        keys = self.meta[-1] if self.meta is not None else range(len(self.children))
        for key, child in zip(keys, self.children, strict=True):
            text = "".join(c if c.isalnum() else "_" for c in str(key))
            yield from child.names(f"{name}_{text}" if name else f"_{text}")

    def paths(self, name: str) -> Iterator[str]:
        """Yield how each leaf is written: ``x``, ``x[0]``, ``params['w']``, ``model.scale``."""
        if self.kind in ("leaf", "labelled"):
            yield name
            return
        keys = self.meta[-1] if self.meta is not None else range(len(self.children))
        for key, child in zip(keys, self.children, strict=True):
            if self.kind == "complex":
                yield name
            elif self.kind in ("dataclass", "namedtuple"):
                yield from child.paths(f"{name}.{key}")
            elif self.kind == "records":
                yield from child.paths(f"{name}[i]" if key == "i" else f"{name}[i][{key}]")
            else:
                yield from child.paths(f"{name}[{key!r}]")


LEAF = Tree("leaf")


NUMBERS = (int, float, complex, np.number)


_PLAIN = frozenset((int, float))

#: Lists nested deeper are no arrays: the most axes that NumPy knows.
MOST_AXES = 64

#: Containers nested deeper are refused: they contain themselves, or are lists linked by hand, whose
#: structure takes the place of an array's in every signature.
DEEPEST = 150

#: Containers that calls put around those of a user at most: arguments, pairs of results.
AROUND = 4


def is_number_list(value: Any, depth: int = 1) -> bool:
    """Tell whether ``value`` is a non-empty list, possibly nested, of plain numbers only.

    ``depth`` counts the lists that it is in, and itself.
    """
    if not isinstance(value, list) or not value or depth > MOST_AXES:
        return False
    if _PLAIN.issuperset(map(type, value)):  # of most, a tenth of the time
        return True
    return all(
        (isinstance(v, NUMBERS) and not isinstance(v, bool)) or is_number_list(v, depth + 1)
        for v in value
    )


def flatten(value: Any, lists: bool = False, records: bool = False) -> tuple[list[Any], Tree]:
    """Return the leaves of ``value`` and its structure.

    Lists of numbers are arrays, and leaves; with ``lists`` they are taken apart as tuples are.
    With ``records`` long lists of tuples of numbers are columns, whose leaves are each a
    :class:`Column`.

    Raises
    ------
    ArgumentError
        If containers are nested more than :data:`DEEPEST` deep; one that contains itself is.
    """
    leaves: list[Any] = []
    return leaves, _flatten(value, leaves, 0, lists, records)


def flatten_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Tree]:
    """Return the leaves and the structure of ``(args, kwargs)``, with columns of records.

    The arguments themselves are no records, however many there are.
    """
    leaves: list[Any] = []
    options = 2, False, True
    positional = tuple([_flatten(x, leaves, *options) for x in args])
    named = tuple([_flatten(x, leaves, *options) for x in kwargs.values()])
    parts = Tree("tuple", None, positional), Tree("dict", (dict, tuple(kwargs)), named)
    return leaves, Tree("tuple", None, parts)


def aligned(value: Any, tree: Tree, what: str) -> Any:
    """Return what goes with a value of a structure, such that their leaves are in the same order.

    The two are written apart, and dictionaries are equal whatever the order of their keys.

    Raises
    ------
    ArgumentError
        If a dictionary has keys that the structure has not; ``what`` is the value's name.
    """
    if tree.kind == "dict" and isinstance(value, dict):
        keys = tree.meta[-1]
        others = [key for key in value if key not in keys]
        if others:
            raise ArgumentError(
                f"{what} must have the keys of what it belongs to, {list(keys)}, not {others[0]!r}"
            )
        pairs = zip(keys, tree.children, strict=True)
        return {key: aligned(value[key], part, what) for key, part in pairs if key in value}
    if tree.kind in ("tuple", "list", "namedtuple") and isinstance(value, (tuple, list)):
        parts: Any = value
    elif tree.kind == "dataclass" and type(value) is tree.meta[0]:
        parts = [getattr(value, name) for name in tree.meta[-1]]
    else:
        return value
    if len(parts) != len(tree.children):
        return value
    return tuple(aligned(x, part, what) for x, part in zip(parts, tree.children, strict=True))


def refuse_depth(depth: int, kind: type) -> None:
    """Raise if a value of some type is nested too deeply."""
    if depth > DEEPEST + AROUND:
        raise ArgumentError(
            f"an argument or a result is nested more than {DEEPEST} containers deep: a "
            f"{kind.__name__} in containers, which may contain itself. Write instead: an array, "
            "or a flat list"
        )


def _flatten(
    value: Any, leaves: list[Any], depth: int, lists: bool = False, records: bool = False
) -> Tree:
    kind = type(value)
    if depth > DEEPEST + AROUND:
        refuse_depth(depth, kind)
    depth += 1
    options = depth, lists, records
    if records and (found := columns_of(value)) is not None:
        form, columns = found
        leaves += map(Column, columns)
        return Tree("records", form, (LEAF,) * len(columns))
    if kind is tuple:
        return Tree("tuple", None, tuple(_flatten(v, leaves, *options) for v in value))
    if kind is list and (lists or not is_number_list(value)):
        return Tree("list", None, tuple(_flatten(v, leaves, *options) for v in value))
    if isinstance(value, dict):
        keys = tuple(value)
        # A defaultdict is made from its factory first.
        made = (kind, value.default_factory) if isinstance(value, defaultdict) else (kind,)
        return Tree(
            "dict", (*made, keys), tuple(_flatten(value[k], leaves, *options) for k in keys)
        )
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        inner = tuple(_flatten(v, leaves, *options) for v in value)
        return Tree("namedtuple", (kind, kind._fields), inner)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = tuple(f.name for f in dataclasses.fields(value))
        inner = tuple(_flatten(getattr(value, n), leaves, *options) for n in names)
        return Tree("dataclass", (kind, names), inner)
    if isinstance(value, Pair):
        leaves += (value.real, value.imag)  # type: ignore[attr-defined]
        return Tree("complex", (kind, ("re", "im")), (LEAF, LEAF))
    if kind is np.ndarray or kind is float:
        leaves.append(value)
        return LEAF
    if isinstance(value, Labelled):
        leaves.append(value.values)
        return Tree("labelled", value.labels, (LEAF,))
    if isinstance(value, Placed):
        leaves.append(value.terms)  # type: ignore[attr-defined]
        return Tree("labelled", value.places(), (LEAF,))  # type: ignore[attr-defined]
    labels = labels_of(value)
    if labels is not None:
        leaves.append(numbers_of(value))
        return Tree("labelled", labels, (LEAF,))
    leaves.append(value)
    return LEAF


def _unflatten(tree: Tree, leaves: Iterator[Any]) -> Any:
    if tree.kind == "leaf":
        return next(leaves)
    children = [_unflatten(c, leaves) for c in tree.children]
    if tree.kind == "tuple":
        return tuple(children)
    if tree.kind == "list":
        return children
    if tree.kind == "packed":
        return unpacked(children[0])
    if tree.kind == "records":
        return tree.meta.rows(children)
    if tree.kind == "labelled":
        return tree.meta.on(children[0])
    kind, *first, keys = tree.meta
    if tree.kind == "dict":
        return kind(*first, zip(keys, children, strict=True))
    if tree.kind == "namedtuple":
        if hasattr(kind, "_make"):
            return kind(*children)
        return tuple.__new__(kind, children)  # SciPy's results are asked for more than items
    if tree.kind == "complex":
        return kind.of(*children)
    # Not through __init__, which may compute or refuse: the fields are what was flattened.
    rebuilt = object.__new__(kind)
    for name, child in zip(keys, children, strict=True):
        object.__setattr__(rebuilt, name, child)
    return rebuilt


# ---------------------------------------------------------------- complex numbers in memory


_HALVES = {"F": np.dtype(np.float32), "D": np.dtype(np.float64)}


def as_input(leaf: Any) -> Any:
    """Return an argument leaf as a program takes it: complex numbers as pairs of reals.

    A complex array is not copied: its memory is a real array with a last axis of two.
    """
    if isinstance(leaf, np.ndarray) and leaf.dtype.kind == "c":
        return leaf[..., None].view(_HALVES[leaf.dtype.char])
    return np.array([leaf.real, leaf.imag]) if type(leaf) is complex else leaf


def unpacked(pairs: Any) -> Any:
    """Return the complex numbers of a real array with a last axis of two; it is not copied."""
    return pairs.view(np.complex64 if pairs.dtype.char == "f" else np.complex128)[..., 0][()]
