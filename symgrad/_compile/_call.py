"""A call's arguments, and with them what the function reads besides."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._trace import (
    Signature,
    Tree,
    argument_names,
    argument_paths,
    as_leaf,
    flatten,
    is_number_list,
    signature_of,
)
from ..errors import SymgradError
from ._reading import Reading
from ._users import is_read, users_class

_PLAIN = (np.ndarray, float, int, complex, bool, str, type(None))


@dataclass(frozen=True)
class Given:
    """What a call gives to compiled code: its arguments, and what the function reads besides."""

    signature: Signature
    sizes: list[int]
    leaves: list[Any]
    reading: Reading
    data: range = range(0)

    @property
    def read(self) -> list[int]:
        """Which of the traced inputs are what the function reads."""
        flags = [leaf.is_value for leaf in self.signature.leaves]
        return [sum(flags[:k]) for k in self.data if flags[k]]


@dataclass(frozen=True)
class Call:
    """The arguments of a call, as leaves and as they are."""

    leaves: list[Any]
    tree: Tree
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    function: Callable[..., Any]

    def paths(self) -> list[str]:
        """Return how an error calls each leaf."""
        return argument_paths(self.function, self.args, self.kwargs)

    @functools.cached_property
    def objects(self) -> tuple[Any, ...]:
        """The arguments that things may be read from, and the classes of dataclasses."""
        found = [x for x in self.leaves if type(x) not in _PLAIN and is_read(x)]
        return (*found, *dict.fromkeys(_classes(self.tree)))

    def with_data(
        self, reading: Reading, values: Sequence[Any], dynamic: bool, short: bool
    ) -> Given:
        """Return the call with what is read as further positional arguments."""
        signature, sizes = signature_of(
            self.leaves, self.tree, dynamic, short, self.objects, self.paths
        )
        signature = signature._replace(state=reading.number)
        if not values:
            return Given(signature, sizes, self.leaves, reading)
        at = self.tree.children[0].leaves
        tree = flatten(((*self.args, *values), self.kwargs))[1]
        kinds, data = reading.taken(values)
        leaves = (*signature.leaves[:at], *kinds, *signature.leaves[at:])
        signature = signature._replace(tree=tree, leaves=leaves)
        return Given(
            signature, sizes, [*self.leaves[:at], *data, *self.leaves[at:]], reading,
            range(at, at + len(data)),
        )  # fmt: skip

    def names(self, reading: Reading) -> list[str]:
        """Return an identifier for each leaf, with those of what is read."""
        names = argument_names(self.function, self.args, self.kwargs)
        at = self.tree.children[0].leaves
        taken, data = set(names), []
        for name in reading.names:
            while name in taken:
                name += "_"
            taken.add(name)
            data.append(name)
        return [*names[:at], *data, *names[at:]]


def without_lists(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return arguments with arrays for lists of numbers; ragged ones are refused later on."""
    try:
        return tuple([as_leaf(x, "") if is_number_list(x) else x for x in args])
    except SymgradError:
        return args


def _classes(tree: Tree) -> Iterator[type]:
    """Yield the user's classes that arguments are nested in."""
    if tree.kind in ("dataclass", "namedtuple") and users_class(tree.meta[0]):
        yield tree.meta[0]
    for child in tree.children:
        yield from _classes(child)
