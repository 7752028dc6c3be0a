"""Places that a function reads besides its arguments, and what holds them.

A place is an expression in Python, by which code that :mod:`._comparison` writes reads it again:
``config.alpha``, ``params['w']``, ``helper.__code__``. :mod:`._reads` walks over a function and
enters here what it finds.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from .._core.graph import warn_user
from ..errors import CaptureWarning, UnsupportedError
from ._ownership import of_packages
from ._user_code import ANY, package_of

#: Whether a copy can be made of what is found: one with other data and other functions; one with
#: other functions alone (classes, and what their methods reach); none.
FREE, BOUND, FIXED = 0, 1, 2

#: Begins the names of what is in installed packages that count as the user's: they are copied
#: with the user's functions, but taken as fixed, as all installed packages are.
UNWATCHED = "_sg_q"

#: Most places that are watched.
MOST = 4096

#: So much is looked at in the installed packages that are adapted with a function, and so many
#: seconds: scikit-learn's and SciPy-like packages' functions lead to a few thousand of their
#: functions and objects, JAX's to more than a hundred thousand. The time is looked at so often.
FARTHEST, LONGEST, LOOKED = 30_000, 20.0, 1 << 10


@dataclass(frozen=True)
class Read:
    """A place that is read.

    Attributes
    ----------
    text:
        The place, as an expression.
    how:
        ``"data"`` for a number or an array, which may become an argument; else how it is
        compared: ``"is"`` or ``"equal"``.
    value:
        What is there now.
    name:
        The name that a user would know it by.
    """

    text: str
    how: str
    value: Any
    name: str


class Place(NamedTuple):
    """Where a value is kept: in which object, and under which key."""

    owner: int
    key: Any


class Member(NamedTuple):
    """Stands for the key of an object in the keys of a dictionary, or in a set."""

    number: int


class Part(NamedTuple):
    """Stands for one of the arguments by which symgrad's version of an object is made."""

    number: int


#: Enters a part of an object by its key; returns its place if another value can be put there.
Enter = Callable[[Any, Any], Place | None]


class At(NamedTuple):
    """How the walk has come to a value.

    Attributes
    ----------
    text, name:
        The expression, and the name that a user would know it by.
    fixed:
        Which copy of what it belongs to can be made.
    depth:
        How deep the expression is.
    place:
        Where another value can be put in its place.
    """

    text: str
    name: str
    fixed: int = FREE
    depth: int = 0
    place: Place | None = None

    def within(
        self, text: str, name: str, place: Place | None = None, fixed: int | None = None
    ) -> At:
        """Return the way on to a part of the value."""
        return At(text, name, self.fixed if fixed is None else fixed, self.depth + 1, place)

    def attribute(self, key: str, place: Place | None = None, fixed: int | None = None) -> At:
        """Return the way on to an attribute."""
        return self.within(f"{self.text}.{key}", f"{self.name}.{key}", place, fixed)


class FarError(UnsupportedError):
    """The code of installed packages leads too far to be adapted."""


class Assigned(NamedTuple):
    """Places that earlier traces of a function have assigned to.

    Attributes
    ----------
    numbers:
        Numbers and arrays of any type: they are data.
    unread:
        What the function may only assign to: not looked into.
    made:
        Attributes that were not there: the object's place, and the name. That they are not there
        is compared.
    timed:
        What a clock says is kept there, of each trace: not looked at.
    """

    numbers: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()
    made: frozenset[tuple[str, str]] = frozenset()
    timed: frozenset[str] = frozenset()


class Walk:
    """All that a function reads, and what holds it.

    Attributes
    ----------
    reads:
        The places by their expressions, in the order of the code.
    roots:
        The function, and arguments that it reads from.
    places:
        Where the data are that may be put in others' place: the expression by the place.
    parts:
        The objects that a copy can be made of, by identity: each with its parts.
    bound:
        Further ones, of which a copy can be made with other functions, but no other data.
    met, scopes:
        The objects and cells, and the global names, that the function may change, by identity.
    held:
        The expressions of data that are not to be put in others' place.
    codes, generators, iterators:
        All code that was reached, generators of random numbers, and iterators with their names.
    own:
        The code of functions that are given, and not found at a place.
    cells, constants:
        What names in the expressions stand for: the user's cells, and other objects.
    main:
        The global names of most of the code, which stand for themselves.
    stored:
        Names that the code assigns to.
    mentioned:
        All names in the code.
    asking:
        The global names, by identity, of code that asks for types.
    library:
        Functions, classes and modules of installed packages, which are taken as fixed.
    absent:
        Modules that the code imports, and that nobody has imported yet.
    formats:
        Whether it makes text of values.
    known:
        Names in the code as far as they were known beforehand: attributes of other names are
        passed over.
    free:
        The worst copy by which data can still be put in others' place.
    packages:
        The installed packages that count as the user's.
    pinned:
        What code that is not copied reaches, by identity.
    cells_of:
        The cells in which the data at some places are.
    waiting:
        Values that are still to be looked at.
    assigned:
        What is known of places that the function assigns to.
    set_aside:
        What is at such places that it may only assign to.
    texts:
        Expressions of objects that were met, by identity.
    """

    def __init__(
        self, root: Any, objects: Sequence[Any], opaque: frozenset[CodeType],
        known: frozenset[str], adapted: bool, packages: frozenset[str],
        assigned: Assigned,
    ) -> None:  # fmt: skip
        self.assigned = assigned
        self.set_aside: dict[str, Any] = {}
        self.texts: dict[int, tuple[str, str]] = {}
        self.opaque, self.roots, self.known = opaque, (root, *objects), known
        self.free = BOUND if adapted else FREE
        own = package_of(root)
        self._found = packages - {own}  # of the one that the function is of data are watched
        self.packages = packages if own is None else packages | {own}
        self.reads: dict[str, Read] = {}
        self.places: dict[Place, str] = {}
        self.held: set[str] = set()
        self.met: dict[int, Any] = {}
        self.scopes: dict[int, dict[str, Any]] = {}
        self.parts: dict[int, tuple[Any, list[tuple[Any, Any]]]] = {}
        self.bound: dict[int, tuple[Any, list[tuple[Any, Any]]]] = {}
        self.cells: dict[str, Any] = {}
        self.constants: dict[str, Any] = {}
        self.own: dict[str, CodeType] = {}
        self.codes: dict[int, CodeType] = {}
        self.generators: list[Any] = []
        self.iterators: list[tuple[Any, str]] = []
        self.main: dict[str, Any] | None = None
        self.stored: set[str] = set()
        self.mentioned: set[str] = set()
        self.asking: set[int] = set()
        self.library: list[Any] = []
        self.absent: set[str] = set()
        self.formats = False
        self.pinned: set[int] = set()
        self.cells_of: dict[Place, int] = {}
        self.waiting: deque[tuple[Any, At]] = deque()
        self._exceeded = self._unwatched = False
        self._followed, self._begun = 0, time.thread_time()
        self._named: dict[int, str] = {}
        self._seen: dict[tuple[int, str, int], str] = {}
        self._classes: set[tuple[int, int]] = set()

    def come_to(self, at: At) -> None:
        """Begin to look at what is at a place."""
        self._unwatched = UNWATCHED in at.text
        if not self._found:
            return
        self._followed += 1
        if self._followed > FARTHEST or (
            self._followed % LOOKED == 0 and time.thread_time() - self._begun > LONGEST
        ):
            raise FarError(
                f"the installed package{'s' * (len(self._found) > 1)} "
                f"{' and '.join(sorted(self._found))} cannot be traced as it stands, and is too "
                f"large to adapt: the function leads to more than {self._followed - 1} of its "
                "functions and objects. Write instead: the formula in NumPy, or sg.pure_callback "
                "around the call, which has no derivative"
            )

    def any_name(self) -> bool:
        """Tell whether the code may read any attribute of what is looked at.

        In installed packages names that are written count alone: they are not watched.
        """
        return bool(self.known & ANY) and not self._unwatched

    def visit(self, value: Any, at: At) -> None:
        """Look at a value later."""
        self.waiting.append((value, at))

    def note(self, text: str, how: str, value: Any, name: str) -> None:
        """Note a place."""
        # The object itself, which nobody can put another for; or in an installed package.
        if text in self.constants or UNWATCHED in text:
            return
        if len(self.reads) < MOST:
            self.reads.setdefault(text, Read(text, how, value, name))
        elif not self._exceeded:
            self._exceeded = True
            warn_user(
                f"a compiled function reads more than {MOST} places besides its arguments "
                f"(near {name or text}): changes of the others are not seen. Pass what changes "
                "as an argument",
                CaptureWarning,
            )

    # ------------------------------------------------------------ names in expressions

    def constant(self, value: Any) -> str:
        """Return a name for an object that stays the same."""
        name = self._named.get(id(value))
        if name is None:
            fixed = self.taken_as_fixed(value)
            # The names of a module decide for themselves.
            fixed = fixed or (self._unwatched and not isinstance(value, dict))
            name = f"{UNWATCHED if fixed else '_sg_c'}{len(self.constants)}"
            self._named[id(value)] = name
            self.constants[name] = value
        return name

    def cell(self, cell: Any) -> str:
        """Return a name for a cell that the user's function closes over."""
        name = self._named.get(id(cell))
        if name is None:
            name = self._named[id(cell)] = f"_sg_k{len(self.cells)}"
            self.cells[name] = cell
        return name

    def taken_as_fixed(self, value: Any) -> bool:
        """Tell whether a value is an installed package's function, class or module, or its names.

        Of the package that the function itself is of, what the names stand for may change.
        """
        if any(value is root for root in self.roots):
            return False
        if isinstance(value, dict):
            # Not its own: those of ``dok_matrix`` take places.
            return of_packages(dict.get(value, "__name__"), self._found)
        if isinstance(value, ModuleType):
            return of_packages(value.__name__, self.packages)
        kinds = (FunctionType, type)
        return isinstance(value, kinds) and of_packages(value.__module__, self.packages)

    # ------------------------------------------------------------ objects, and their parts

    def is_new(self, value: Any, at: At) -> bool:
        """Tell whether an object is to be looked into.

        One that is met at two places is looked into at the first, and both have to be its places
        for as long as the trace is to be used; or graphs with cycles would have no end.
        """
        self.met[id(value)] = value
        key = id(value), at.text if isinstance(value, tuple) else "", at.fixed
        first = self._seen.get(key)
        self.texts.setdefault(id(value), (at.text, at.name))
        if first is None:
            self._seen[key] = at.text
            return True
        if first != at.text:
            self.note(first, "is", value, at.name)
            self.note(at.text, "is", value, at.name)
        return False

    def is_new_class(self, kind: type, fixed: int) -> bool:
        """Tell whether a class was not looked into yet."""
        known = len(self._classes)
        self._classes.add((id(kind), fixed))
        return len(self._classes) > known

    def enters(self, owner: Any, fixed: int) -> Enter:
        """Return what enters a part of an object that a copy could be made of."""
        if fixed > self.free:
            self.pinned.add(id(owner))
        if fixed == FIXED:
            return not_entered
        known = self.bound if fixed else self.parts
        parts = known.setdefault(id(owner), (owner, []))[1]

        def enter(key: Any, value: Any) -> Place | None:
            parts.append((key, value))
            return None if fixed > self.free else Place(id(owner), key)

        return enter

    def leave_out_pinned(self) -> None:
        """Have no data put where code that is not copied reaches.

        It is not copied for other code, either: they may hand values to each other through it.
        """
        pinned = self.pinned - self.scopes.keys()
        self.places = {
            p: text for p, text in self.places.items()
            if p.owner not in pinned and self.cells_of.get(p) not in pinned
        }  # fmt: skip


def not_entered(key: Any, value: Any) -> Place | None:
    """Enter nothing: what the part belongs to is not copied, or has been entered before."""
    return None
