"""Values that a function reads besides its arguments: looked at, at each call.

What a function reads (:mod:`._reads`) is either *data*, numbers and arrays that the compiled code
takes as further arguments, fetched at each call; or it shapes the trace (whole numbers, strings,
functions, what Python code needs as numbers) and is compared at each call. Where a comparison
fails, another trace is looked for, or made.

Numbers of floating point are compared at first, and are data from their first change on: most
never change, and numbers known make better code. What Python code needs as numbers
(``math.sin(K)``, ``x[~np.isnan(A)]``) is compared always; where the trace does not tell what that
is, all floats are, and then all arrays, too.
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from .._disguise import TELLING
from .._graph import Where, warn_user
from .._runtime import MISS
from .._state import now, within
from .._trace import raise_hidden
from ..errors import CaptureWarning, OutsideError
from ._adapted import adapted_at_once, can_be_adapted
from ._array_libraries import refused_by_library
from ._call import ALL, ARRAYS, NOTHING, Reading
from ._compared import same
from ._effects import SETTING, Effects, Memory
from ._places import FarError, Walk
from ._reads import read_by
from ._reads_code import WRITING
from ._recall import RecalledError
from ._substitutes import Substitutes
from ._type_tests import type_tests
from ._users import package_of
from ._whose import NONE, packages_in, users_line

#: So often a place that the function's own traces change may cost a trace; then it is not
#: compared. A counter of calls that two compiled functions share would cost traces for ever.
OWN_CHANGES = 3

#: Most states of what a function reads that are remembered.
KEPT = 256

#: So many places are compared one by one because numbers were asked of them.
FEW = 8

#: Names in code that tell a number or an array from what stands for it in a trace.
_TELLING = frozenset(
    ("isinstance", "type", "issubclass", "isscalar", "hasattr", "callable", "__class__", "id",
     "hash", "suppress")
)  # fmt: skip

_numbers = itertools.count(1)


class KeptError(Exception):
    """A function assigns to an array that it reads, or keeps what it makes of one."""


class Way(NamedTuple):
    """How a function is traced.

    Attributes
    ----------
    level:
        How much becomes an argument.
    adapted, packages:
        Whether NumPy's names mean symgrad's, and in which installed packages, too.
    compared:
        What does not become an argument, as numbers are asked of it.
    sized:
        Whether ``len(x)`` is a size; None where that was in vain.
    """

    level: int
    adapted: bool
    packages: frozenset[str]
    compared: frozenset[str]
    sized: bool | None


class Captures:
    """What a function reads besides its arguments, in all states met.

    Parameters
    ----------
    recipe:
        How the function is made: by which transformation, of what, with which options.
    objects:
        Arguments of the user's own classes, and functions, which it reads from.
    """

    def __init__(self, recipe: tuple[Any, ...], objects: tuple[Any, ...] = ()) -> None:
        self._make, (self._root, *self._rest), self._options = recipe
        self._recipe, self._objects = recipe, objects
        self._others: OrderedDict[tuple[int, ...], Captures] = OrderedDict()
        self._readings: list[Reading] = []
        self._frozen: list[Reading] = []
        self._states: OrderedDict[Any, int] = OrderedDict()
        self.way = self._before = Way(ALL, False, NONE, frozenset(), False)
        self._known = NONE
        self.needed: set[int] = set()
        self._floats: dict[str, Any] = {}
        self._loose: set[str] = set()
        self._opaque: frozenset[CodeType] = frozenset()
        self._own: set[str] = set()
        self._changes: Counter[str] = Counter()
        self._ignored: set[str] = set()
        self._absent: set[str] = set()
        #: Packages that decide by exact types, with the line of a test; None: no longer adapted.
        self._asking: dict[str, Where] | None = {}
        self.memory = Memory()
        self._far: FarError | None = None
        self._left_out = NONE

    def given(self, objects: tuple[Any, ...]) -> Captures:
        """Return what is read in calls with these objects among the arguments."""
        if not objects:
            return self
        key = tuple(map(id, objects))
        found = self._others.get(key)
        if found is None:
            found = self._others[key] = Captures(self._recipe, objects)
            while len(self._others) > KEPT:
                self._others.popitem(last=False)
        return found

    def laid_aside(self) -> list[tuple[Reading, Any]]:
        """Return what is held of what is read now, and hold it no more."""
        self.memory.keep_numbers()
        states = [(x, x.laid_aside()) for x in (*self._readings, *self._frozen)]
        return [*states, *(x for other in self._others.values() for x in other.laid_aside())]

    def now(self, frozen: bool = False) -> tuple[Reading, tuple[Any, ...]]:
        """Return the state of now with its data; ``frozen``: all is compared."""
        for known in self._frozen if frozen else self._readings:
            values = known.now()
            if values is not MISS:
                return known, values
        reading = self._look(frozen)
        values = reading.now()
        return reading, () if values is MISS else values

    def _look(self, frozen: bool = False) -> Reading:
        """Walk over the function again, and enter what is found."""
        walk = self._walk()
        floats = {
            r.text: r.value for r in walk.reads.values()
            if r.how == "data" and not isinstance(r.value, np.ndarray)
        }  # fmt: skip
        if not frozen:
            before = self._floats
            self._loose |= {k for k, v in floats.items() if k in before and not same(before[k], v)}
            self._floats = floats
        level = self.way.level
        if walk.formats or walk.mentioned & WRITING:
            level = max(level, ARRAYS)
        if walk.mentioned & _TELLING:
            level = NOTHING
        at_once = bool(walk.mentioned & TELLING.keys()) or adapted_at_once(walk)
        if at_once and not self.way.adapted and can_be_adapted(walk):
            self.way = self.way._replace(adapted=True)
            walk = self._walk()
        walk = self._with_type_tests(walk)
        if frozen:
            level = NOTHING
        kinds = walk, level, self._loose, self.way.compared
        reading = Reading(*kinds, self._ignored, costly=not frozen)
        if not frozen and self._is_given_up(reading, walk):
            reading = Reading(*kinds, self._ignored)
        # In one step: of threads that look at the same time, one gives the state its number.
        reading.number = self._states.setdefault(reading.key, next(_numbers))
        self._enter(reading, frozen)
        return reading

    def _with_type_tests(self, walk: Walk) -> Walk:
        """Have packages adapted that decide by exact types, and return what is read then."""
        if self._asking is None:
            return walk
        found = type_tests(walk.library, walk.mentioned)
        own = self.way.packages | {package_of(self._root)}
        found = {package: where for package, where in found.items() if package not in own}
        if not found:
            return walk
        before = self.way
        self.way = before._replace(adapted=True, packages=before.packages | {*found})
        adapted = self._walk()
        if can_be_adapted(adapted):
            self._asking |= found
            return adapted
        self.way = before
        return self._walk()

    def _without_type_tests(self, error: Exception) -> bool:
        """Trace packages that decide by exact types as they stand; False if none was adapted."""
        asking, self._asking = self._asking, None
        if not asking or not self.way.packages & asking.keys():
            return False
        for package, where in asking.items():
            warn_user(
                f"{package} decides by the exact type of a value, type(x) [{where}], which of a "
                f"traced value is another; with {package} adapted to that, the function cannot be "
                f"traced ({error}). Compare a result with the plain function's; isinstance(x, "
                "kind) is answered as for the value",
                CaptureWarning,
            )
        self.take(self.way._replace(packages=self.way.packages - asking.keys()))
        return True

    def _is_given_up(self, reading: Reading, walk: Walk) -> bool:
        """Tell whether places are not compared any more that only traces have changed again."""
        for known in self._readings[:4]:
            both = reading.compared.keys() | known.compared.keys()
            other = {t for t in both if reading.compared.get(t) != known.compared.get(t)}
            if not other or not other <= self._own or known.data != reading.data:
                continue
            self._changes.update(other)
            given_up = {t for t in other if self._changes[t] >= OWN_CHANGES}
            self._ignored |= given_up
            for text in given_up & walk.reads.keys():
                warn_user(
                    f"{walk.reads[text].name or text} is changed by each trace of the function "
                    "itself, and by nothing else: it is not looked at any more",
                    CaptureWarning,
                )
            return bool(given_up)
        return False

    def _enter(self, reading: Reading, frozen: bool) -> None:
        self._states[reading.key] = reading.number
        if len(self._states) > KEPT:
            self._states.popitem(last=False)
        # Lists are replaced, not changed: other threads may be walking through them.
        if frozen:
            self._frozen = [reading, *self._frozen[: KEPT - 1]]
        else:
            self._readings = [reading, *self._readings[: KEPT - 1]]

    def settle(self, reading: Reading, frozen: bool = False) -> bool:
        """Tell whether the state is still that in which a trace was begun.

        What the trace itself has changed (a counter, a list of calls) counts as its own state
        from now on; False if somebody else has changed something meanwhile.
        """
        if reading.now() is not MISS:
            return True
        after, changed, by_others = self._moved(reading, self._walk())
        if by_others:
            return False
        if after.key not in self._states:
            after.number = reading.number
            self._enter(after, frozen)
        self._own.update(changed)
        return True

    def _moved(self, reading: Reading, walk: Walk) -> tuple[Reading, list[str], bool]:
        """Return the state after a trace, what is another there, and whether others did that."""
        after = Reading(
            walk, reading.level, self._loose, self.way.compared, self._ignored, costly=False
        )
        known = after.compared
        changed, by_others = [], False
        by_name = bool(walk.known & SETTING)
        for text in (reading.compared.keys() | known.keys()) - walk.own.keys():
            if reading.compared.get(text) == known.get(text):
                continue
            if text in reading.compared and text in known:
                changed.append(text)
            read = walk.reads.get(text)
            whole = text.startswith(("_sg_", "(")) or "[" in text  # of a container
            if whole or read is None or isinstance(read.value, np.ndarray):
                continue
            by_others |= not by_name and read.name.rpartition(".")[2] not in walk.stored
        return after, changed, by_others

    def look_for_memory(self, reading: Reading, differs: Callable[[], bool]) -> None:
        """Find out whether the function reads what its trace has changed.

        ``differs`` traces again, and tells whether the result is another.
        """
        self.memory.keep_numbers()
        if not self.memory.possible or reading.now() is not MISS:
            return
        walk = self._walk()
        _, changed, by_others = self._moved(reading, walk)
        if not by_others:
            names = [walk.reads[text].name for text in changed if text in walk.reads]
            self.memory.look(walk, names, differs)

    def _walk(self) -> Walk:
        adapted, packages = self.way.adapted, self.way.packages
        walk = read_by(self._root, self._objects, self._opaque, adapted, packages, self._known)
        if packages:  # a walk through a package takes as many rounds as names lead to names
            self._known = walk.known
        self._absent = walk.absent
        return walk

    def fallback(self, reading: Reading, error: Exception) -> bool:
        """Trace in another way from now on after an error; False if there is none left.

        First with NumPy's names bound to symgrad's, in the installed packages whose functions
        raise, too, then with what numbers were asked of compared, then with fewer data; and once
        more where the trace has imported what its copy had to have.
        """
        if self._takes_another(reading, error):
            return True
        if self._far is not None:
            raise FarError(f"{self._far} [{users_line(error)}]") from error
        return False

    def _takes_another(self, reading: Reading, error: Exception) -> bool:
        way = self.way
        if way.sized:
            self.without_sizes()
            return True
        if (refusal := refused_by_library(error)) is not None:
            raise refusal from error
        if isinstance(error, OutsideError):
            return False
        if self._without_type_tests(error):
            return True
        if way.adapted and self._absent & sys.modules.keys():
            self._readings = []
            return True
        if not isinstance(error, KeptError) and self._adapts(error):
            return True
        if not reading.data or way.level == NOTHING:
            return False
        needed = {reading.data[k] for k in self.needed if k < len(reading.data)} - way.compared
        if needed and len(way.compared) < FEW:
            self.take(way._replace(compared=way.compared | needed))
            return True
        floats = way.level == ALL and any(k in self._loose for k in self._floats)
        level = ARRAYS if floats else NOTHING
        self.take(way._replace(level=level, adapted=False, packages=NONE))
        return True

    def _adapts(self, error: Exception) -> bool:
        """Have more of the code adapted after an error; False if that is no other than before."""
        way = self.way
        if not way.adapted and can_be_adapted(self._walk()):
            self.take(way._replace(adapted=True))
            return True
        more = packages_in(error) - way.packages - {package_of(self._root)} - self._left_out
        if not more:
            return False
        self.take(way._replace(adapted=True, packages=way.packages | more))
        try:
            if can_be_adapted(self._walk()):
                return True
        except FarError as far:
            self._far, self._left_out = far, self._left_out | more
        self.take(way)
        return False

    def by_sizes(self) -> bool:
        """Trace with sizes for the numbers that the function asks for, if that can be tried.

        That is where it has asked for the length of another array than this call's. Adapted, it
        makes arrays of any length, and ``len(x)`` is ``x.shape[0]``.
        """
        if self.way.sized is not False or not can_be_adapted(self._walk(), sized=True):
            return False
        self._before = self.way
        self.take(self.way._replace(adapted=True, sized=True))
        return True

    def without_sizes(self) -> None:
        """Trace as before sizes were tried."""
        self.take(self._before._replace(sized=None))

    def take(self, way: Way) -> None:
        """Trace in this way from now on."""
        if way != self.way:
            self.way, self._readings = way, []

    def called_later(self, function: Any, twins: Substitutes | None = None) -> Any:
        """Return the user's own function for what ``pure_callback`` is given.

        Python calls it in each call, and it reads for itself what is there then.
        """
        code = getattr(getattr(function, "__func__", function), "__code__", None)
        if code is not None:
            self._opaque |= {code}
        return function if twins is None else twins.original(function)

    def substituted(self, body: Callable[..., Any], reading: Reading) -> Callable[..., Any]:
        """Return a function's body with the data as its last positional arguments.

        What it changes is undone if it raises: it will be traced again.
        """
        count = len(reading.data)

        def with_data(*args: Any, **kwargs: Any) -> Any:
            values = args[len(args) - count :]
            args = args[: len(args) - count]
            walk = self._walk()
            effects = Effects(walk)
            if (refusals := now().refusals) is not None:
                refusals.before = effects.keep_of_packages
            try:
                if not values and not self.way.adapted:
                    result = body(*args, **kwargs)
                    raise_hidden()
                    self.memory.note(effects)
                    return result
                new = dict(zip(reading.data, values, strict=True))
                twins = Substitutes(walk, new, self.way.adapted, bool(self.way.sized))
                made = self._make(twins.root(self._root), *self._rest, **self._options)
                try:
                    with within(callback=functools.partial(self.called_later, twins=twins)):
                        result = made._body(*twins.given(args), **twins.given(kwargs))
                    raise_hidden()
                finally:
                    twins.hand_on()
                effects.keep_numbers()
                if any(getattr(x, "overwritten", False) for x in values):
                    raise KeptError
                if effects.keep_any_of(values):
                    raise KeptError
                self.memory.note(effects)
            except RecalledError as found:  # the trace is as good as made
                self.memory.note(effects)
                found.changes = self.memory.possible and reading.now() is MISS
                if found.changes:
                    effects.undo()
                raise
            except BaseException:
                effects.undo()
                raise
            return twins.outside(result)

        return with_data
