"""A call's arguments, and with them what the function reads besides.

Of that, one state: what is compared, what is fetched.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.runtime import MISS
from .._core.trace import (
    GENERATORS,
    LeafKind,
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
from ._comparison import Comparison, as_datum, key_of
from ._identity import (
    aliased,
    first_question,
    is_an_object,
    objects_in,
    refuse_aliases,
)
from ._locations import Read, Walk
from ._reads import LARGE, SMALL
from ._user_code import is_read, users_class
from ._watch import Callers

#: How much becomes an argument: arrays and numbers, arrays alone, nothing.
ALL, ARRAYS, NOTHING = 0, 1, 2


class Reading:
    """One state of what a function reads: what is compared, and what is fetched.

    Attributes
    ----------
    codes, generators, iterators:
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
        self, walk: Walk, level: int, loose: set[str], in_place: frozenset[str],
        costly: bool = True, frozen: bool = False,
    ) -> None:  # fmt: skip
        self.level, self.frozen = level, frozen
        free = set(walk.places.values()) - walk.held - in_place
        #: Generators of random numbers that a program without Python cannot draw from.
        self.unusable = {
            r.text: r.value for r in walk.reads.values()
            if frozen and r.text in free and type(r.value) in GENERATORS
        }  # fmt: skip
        free -= self.unusable.keys()
        self.data = [
            r.text for r in walk.reads.values()
            if r.how == "data" and r.text in free
            and (r.text in walk.assigned.numbers or _is_free(r, level, loose))
        ]  # fmt: skip
        #: Which of the data are arrays of which the numbers may be known instead.
        self.arrays = {
            k for k, text in enumerate(self.data)
            if type(x := walk.reads[text].value) is np.ndarray and x.nbytes <= LARGE
            and text not in walk.assigned.numbers
        }  # fmt: skip
        fetched = set(self.data)
        compared = [r for r in walk.reads.values() if r.text not in fetched]
        self.compared = {r.text: key_of(r) for r in compared}
        #: Whether the numbers are data of any type: those that the function assigns.
        self._any_type = [text in walk.assigned.numbers for text in self.data]
        self.key = (tuple(self.data), *self.compared.items(), *walk.own.values())
        self.names = [_identifier(walk.reads[text].name) for text in self.data]
        # In a function that reads nothing else nobody but IPython's autoreload puts other code.
        self.nothing = not walk.reads and not (walk.own and "IPython" in sys.modules)
        self.number = 0
        self.codes = list(walk.codes.values())
        self.generators, self.iterators = walk.generators, walk.iterators
        #: Where the code asks whether two values are one object; None where it does not.
        self.question = first_question(self.codes, [*walk.met.values(), *walk.library])
        self._objects = (
            [] if self.question is None
            else [
                x for x in (*walk.met.values(), *(r.value for r in walk.reads.values()))
                if is_an_object(x)
            ]
        )  # fmt: skip
        own = [Read(text, "is", code, "") for text, code in walk.own.items()]
        comparison = Comparison(walk, [*compared, *own], self.data, costly)
        self._fetch = comparison.fetch
        self._callers = Callers(
            comparison,
            converted=bool(self.data) and any(
                type(r.value) in (int, bool) if not isinstance(r.value, np.ndarray)
                else as_leaf(r.value, r.name) is not r.value
                for r in walk.reads.values() if r.text in fetched
            ),
        )  # fmt: skip

    def now(self) -> Any:
        """Return the data of now, or MISS if this is not the state of now."""
        values = self._fetch()
        if values is MISS or not all(map(_is_datum, values, self._any_type)):
            return MISS
        return values

    def may_alias(self, call: Call) -> bool:
        """Tell whether such calls may pass one object twice, and the code would notice."""
        if self.question is None:
            return False
        given = sum(1 for x in (*call.args, *call.kwargs.values()) for _ in objects_in(x))
        return given > 1 or (given == 1 and bool(self._objects))

    def checking_aliases(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return compiled code that returns ``MISS`` for calls that pass one object twice."""

        def looked(*args: Any, **kwargs: Any) -> Any:
            if aliased(args, kwargs, self._objects) is not None:
                return MISS
            return function(*args, **kwargs)

        return looked

    def refuse_aliases(self, call: Call, data: Sequence[Any]) -> None:
        """Refuse a call that passes one object twice, or one that is read, if the code asks."""
        if self.question is not None:
            read = (*self._objects, *filter(is_an_object, data))
            refuse_aliases(self.question, call.args, call.kwargs, read)

    def caller(self, function: Callable[..., Any], count: int) -> Callable[..., Any]:
        """Return a compiled function of ``count`` arguments that looks at what is read."""
        return function if self.nothing else self._callers.of(function, count)

    def laid_aside(self) -> Any:
        """Return what :meth:`caller` holds of what is read, and hold it no more."""
        return self._callers.laid_aside()

    def taken_up(self, state: Any) -> None:
        """Hold again what was laid aside."""
        self._callers.taken_up(state)

    def taken(self, values: Sequence[Any]) -> tuple[list[LeafKind], list[Any]]:
        """Return data as leaves of a call, and their kinds.

        Their sizes are numbers of the trace, as those of constants.
        """
        leaves = [as_datum(x, name) for x, name in zip(values, self.names, strict=True)]
        return list(map(_kind, leaves, values)), leaves


def _is_datum(value: Any, any_type: bool) -> bool:
    """Tell whether a value is data; integers are compared where the function assigns none."""
    kind = type(value)
    if kind is np.ndarray:
        return value.dtype.char in "fdFDbBhHiIlLqQ?"
    if kind in GENERATORS:
        return True
    if isinstance(value, np.generic):
        return value.dtype.char in ("fdFDbBhHiIlLqQ?" if any_type else "fdFD")
    return kind is float or kind is complex or (
        any_type and (kind is bool or (kind is int and value.bit_length() < 64))
    )  # fmt: skip


def _is_free(read: Read, level: int, loose: set[str]) -> bool:
    """Tell whether a place is data."""
    value = read.value
    if type(value) in GENERATORS:  # whatever is drawn, it is no number of the trace
        return True
    if level >= NOTHING:
        return False
    if type(value) is np.ndarray:
        return value.dtype.char in "fdFD" or value.nbytes > SMALL
    return level == ALL and read.text in loose


def _kind(leaf: Any, value: Any) -> LeafKind:
    if type(value) in (int, bool):
        return LeafKind("array", leaf.dtype.char, value=type(value))
    if type(value) in GENERATORS:
        return LeafKind("generator", value=type(value))
    if isinstance(leaf, np.ndarray):
        sizes = tuple(d if d < 2 else -d for d in leaf.shape)
        return LeafKind("array", leaf.dtype.char, sizes)
    return LeafKind("float" if type(leaf) is float else "complex")


def _identifier(name: str) -> str:
    text = "".join(c if c.isalnum() else "_" for c in name).strip("_")
    return text if text and not text[0].isdigit() else f"read_{text}"


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
    """The arguments of a call, as leaves and as they are.

    Lists of numbers are leaves, ``listed``, and arrays; or they are taken ``apart``. A trace ends
    with a :class:`ListsError` if the function tells such leaves from arrays, and it is not
    ``settled`` that arrays are what they are. ``recorded`` are columns of long lists of records.
    """

    leaves: list[Any]
    tree: Tree
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    function: Callable[..., Any]
    listed: frozenset[int] = frozenset()
    apart: bool = False
    settled: bool = True
    recorded: frozenset[int] = frozenset()

    @property
    def lists(self) -> Hashable:
        """The places and shapes of the lists of numbers."""
        return self.tree, *[(k, np.shape(self.leaves[k])) for k in sorted(self.listed)]

    def paths(self) -> list[str]:
        """Return how an error calls each leaf."""
        return argument_paths(self.function, self.args, self.kwargs, *self._options)

    @property
    def _options(self) -> tuple[bool, bool]:
        return self.apart, bool(self.recorded)

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
            self.leaves, self.tree, dynamic, short, self.objects, self.paths, self.listed,
            self.recorded,
        )  # fmt: skip
        signature = signature._replace(state=reading.number)
        if not values:
            return Given(signature, sizes, self.leaves, reading)
        at = self.tree.children[0].leaves
        args, kwargs = self.tree.children
        parts = (*args.children, *(flatten(x)[1] for x in values))
        tree = self.tree._replace(children=(args._replace(children=parts), kwargs))
        kinds, data = reading.taken(values)
        leaves = (*signature.leaves[:at], *kinds, *signature.leaves[at:])
        signature = signature._replace(tree=tree, leaves=leaves)
        return Given(
            signature, sizes, [*self.leaves[:at], *data, *self.leaves[at:]], reading,
            range(at, at + len(data)),
        )  # fmt: skip

    def names(self, reading: Reading) -> list[str]:
        """Return an identifier for each leaf, with those of what is read."""
        names = argument_names(self.function, self.args, self.kwargs, *self._options)
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
