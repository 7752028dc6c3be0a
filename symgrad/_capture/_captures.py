"""Values that a function reads besides its arguments: looked at, at each call.

What a function reads (:mod:`._reads`) is either *data*, numbers and arrays that the compiled code
takes as further arguments, fetched at each call; or it shapes the trace (whole numbers, strings,
functions, what Python code needs as numbers) and is compared at each call. Where a comparison
fails, another trace is looked for, or made.

Numbers of floating point are compared at first, and are data from their first change on: most
never change, and numbers known make better code. What Python code needs as numbers
(``math.sin(K)``, ``x[~np.isnan(A)]``) is compared always; where the trace does not tell what that
is, all floats are, and then all arrays, too.

What the function assigns outside of it, its calls write back (:mod:`._assignments`). So its own
state changes from call to call: numbers and arrays in it are data of any type, and what it may only
assign to (a list of losses) is not read (:mod:`._stand_ins`).
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from .._core.base.providers import provided
from .._core.base.signals import foreseen
from .._core.base.stand_in_types import TELLING
from .._core.base.state import now, within
from .._core.graph import Where, warn_user
from .._core.runtime import MISS
from .._core.trace import (
    NUMBERS,
    Left,
    PlacesError,
    Traced,
    argument_name,
    flatten_traced,
    in_trace,
    raise_hidden,
    warn_if_changed,
)
from ..errors import CaptureWarning, OutsideError, SymgradError, TraceError, UnsupportedError
from ._adaptation import adapted_at_once, can_be_adapted
from ._array_libraries import refused_by_library
from ._assignments import Assignments, SharedError
from ._call import ALL, ARRAYS, NOTHING, Reading
from ._comparison import same
from ._effects import SETTING, Effects
from ._locations import FarError, Walk
from ._nondeterminism import DrawnError
from ._ownership import NONE, packages_in, users_line
from ._reads import UNASSIGNED, read_by
from ._reads_code import WRITING
from ._stand_ins import StandIn, TouchedError, log_of
from ._substitutes import Substitutes
from ._type_tests import type_tests
from ._user_code import package_of
from ._versions import namespace


class EndedTraceError(Exception):
    """Ends a trace that is not needed any more: no error of the function that is traced."""


#: So often a place that the function itself changes may cost a trace without a warning.
OWN_CHANGES = 8

#: Most states of what a function reads that are remembered, so many of them whatever they are, and
#: beyond these most places in all of them together: closures of closures read hundreds.
KEPT, ALWAYS, PLACES = 256, 8, 2048

#: So often index data may be others before they are data again, at the price of longer programs.
MOVES = 4

#: So many places are compared one by one because numbers were asked of them.
FEW = 8

#: Names in code that tell a number or an array from what stands for it in a trace.
_TELLING = frozenset(
    ("isinstance", "type", "issubclass", "isscalar", "hasattr", "callable", "__class__", "id",
     "hash", "suppress")
)  # fmt: skip

#: Refusals of traced values that are assigned to arrays of numbers, or to parts of these.
_INTO_NUMBERS = ("into a plain array", f"{NUMBERS} was asked")

#: Refusals of conversions, which are made in adapted code alone: as it stands it goes another way.
_CONVERTED = ("a number (", "its digits or memory (")

_numbers = itertools.count(1)


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
    indices:
        Arrays that do not, as loops take places from them one by one.
    sized:
        Whether ``len(x)`` is a size; None where that was in vain.
    rolled:
        Whether Python's loops are loops of the program; None where that was in vain.
    """

    level: int
    adapted: bool
    packages: frozenset[str]
    compared: frozenset[str]
    sized: bool | None
    indices: frozenset[str] = frozenset()
    rolled: bool | None = False

    @property
    def numbers(self) -> frozenset[str]:
        """All that is compared, though it could be an argument."""
        return self.compared | self.indices


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
        self.places: set[int] = set()
        #: How often index data that a trace has the numbers of were others, by their places.
        self._moves: Counter[str] = Counter()
        self._floats: dict[str, Any] = {}
        self._loose: set[str] = set()
        self._opaque: frozenset[CodeType] = frozenset()
        self._absent: set[str] = set()
        #: Of what the function assigns to: what is known of the places, which of them are read,
        #: and which it was that each call needed another trace for.
        self._assigned = UNASSIGNED
        self._touched: set[str] = set()
        self._later: set[str] = set()
        self._own: set[str] = set()
        self._changes: Counter[str] = Counter()
        #: Packages that decide by exact types, with the line of a test; None: no longer adapted.
        self._asking: dict[str, Where] | None = {}
        self._far: FarError | None = None
        self._left_out = NONE
        self._running: list[Any] = []
        self._forgotten: set[int] = set()
        #: What the last trace is to write back.
        self.assignments: Assignments | None = None

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
        self._assigned = self._assigned._replace(unread=self._assigned.unread | self._later)
        self._later = set()
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
        # Numbers in classes that each call changes: only copies of the classes have others there.
        at_once = at_once or bool(walk.held & self._assigned.numbers)
        if at_once and not self.way.adapted and can_be_adapted(walk):
            self.way = self.way._replace(adapted=True)
            walk = self._walk()
        walk = self._with_type_tests(walk)
        if frozen:
            level = NOTHING
        reading = Reading(walk, level, self._loose, self.way.numbers, not frozen, frozen)
        if not frozen and (moving := self._moving(reading)):
            self.way = self.way._replace(indices=self.way.indices - moving)
            reading = Reading(walk, level, self._loose, self.way.numbers, costly=True)
        if not frozen:
            self._warn_of_changes(reading, walk)
        # In one step: of threads that look at the same time, one gives the state its number.
        reading.number = self._states.setdefault(reading.key, next(_numbers))
        self._enter(reading, frozen)
        return reading

    def _moving(self, reading: Reading) -> set[str]:
        """Return the index data that are others too often for their numbers to be known."""
        for known in self._readings[:1]:
            self._moves.update(
                text for text in self.way.indices
                if reading.compared.get(text) != known.compared.get(text)
            )  # fmt: skip
        return {text for text in self.way.indices if self._moves[text] > MOVES}

    def indices(self, reading: Reading) -> frozenset[int]:
        """Return which data are arrays whose numbers may be known, as places come from them."""
        return frozenset(k for k in reading.arrays if self._moves[reading.data[k]] <= MOVES)

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
        if isinstance(error, TraceError) and str(error).startswith(_CONVERTED):
            return False
        asking, self._asking = self._asking, None
        if not asking or not self.way.packages & asking.keys():
            return False
        for package, where in asking.items():
            warn_user(
                f"{package} decides by the exact type of a value (type(x), or Decimal(x) and other "
                f"code in C) [{where}], which of a traced value is another; with {package} adapted "
                f"to that, the function cannot be traced ({error}). Compare a result with the "
                "plain function's; isinstance(x, kind) is answered as for the value",
                CaptureWarning,
            )
        self.take(self.way._replace(packages=self.way.packages - asking.keys()))
        return True

    def _warn_of_changes(self, reading: Reading, walk: Walk) -> None:
        """Warn where each call needs a trace of its own, by what the one before has left."""
        for known in self._readings[:1]:
            both = reading.compared.keys() | known.compared.keys()
            other = {t for t in both if reading.compared.get(t) != known.compared.get(t)}
            if not other or not all(self._is_own(t) for t in other):
                continue
            self._changes.update(other)
            many = [t for t in other if self._changes[t] == OWN_CHANGES and t in walk.reads]
            if many:
                warn_user(
                    f"{walk.reads[many[0]].name or many[0]} is changed by each call, and is needed "
                    "as it is while the function is traced, so that each call is traced and "
                    "compiled. Write instead: arithmetic on it alone, or pass it as an argument "
                    "and return it",
                    CaptureWarning,
                )

    def _is_own(self, text: str) -> bool:
        return any(own in text for own in self._own)

    def _enter(self, reading: Reading, frozen: bool) -> None:
        self._states[reading.key] = reading.number
        self._states.move_to_end(reading.key)
        places = sum(map(len, self._states))
        while len(self._states) > KEPT or (places > PLACES and len(self._states) > ALWAYS):
            key, number = self._states.popitem(last=False)
            places -= len(key)
            self._forgotten.add(number)
        # Lists are replaced, not changed: other threads may be walking through them.
        numbers = set(self._states.values())
        if frozen:
            self._frozen = [reading, *(x for x in self._frozen if x.number in numbers)]
        else:
            self._readings = [reading, *(x for x in self._readings if x.number in numbers)]

    def forgotten(self) -> set[int]:
        """Return the numbers of states that nothing is known of any more, once."""
        found, self._forgotten = self._forgotten, set()
        return found - set(self._states.values())

    def settle(self, reading: Reading, frozen: bool = False) -> bool:
        """Tell whether the state is still that in which a trace was begun.

        What the trace itself has changed (a counter, a list of calls) counts as its own state
        from now on; False if somebody else has changed something meanwhile.
        """
        if reading.now() is not MISS:
            return True
        after, _, by_others = self._moved(reading, self._walk())
        if by_others:
            return False
        if after.key not in self._states:
            after.number = reading.number
            self._enter(after, frozen)
        return True

    def assigned(self, reading: Reading) -> Reading:
        """Return the state in which a trace was begun, with what that trace has shown of it.

        Attributes that it has made were not there, which then is compared as well.
        """
        found = self.assignments
        if found is None or found.made <= self._assigned.made:
            return reading
        self._assigned = self._assigned._replace(made=self._assigned.made | found.made)
        new = Reading(
            self._walk(), reading.level, self._loose, self.way.numbers, False, reading.frozen
        )
        if new.data != reading.data:
            return reading
        new.number = reading.number
        self._states.pop(reading.key, None)
        self._states[new.key] = new.number
        self._readings = [new if x is reading else x for x in self._readings]
        self._frozen = [new if x is reading else x for x in self._frozen]
        return new

    def _moved(self, reading: Reading, walk: Walk) -> tuple[Reading, list[str], bool]:
        """Return the state after a trace, what is another there, and whether others did that."""
        after = Reading(walk, reading.level, self._loose, self.way.numbers, False, reading.frozen)
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

    def _walk(self) -> Walk:
        adapted, packages = self.way.adapted, self.way.packages
        walk = read_by(
            self._root, self._objects, self._opaque, adapted, packages, self._known, self._assigned
        )
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
        if isinstance(error, TouchedError):
            self._readings = []
            return True
        if isinstance(error, PlacesError):
            used = {reading.data[k] for k in self.places}
            self.take(way._replace(indices=way.indices | used))
            return True
        if way.sized:
            self.without_sizes()
            return True
        if (refusal := refused_by_library(error)) is not None:
            raise refusal from error
        if isinstance(error, DrawnError) and not way.adapted:
            return self._adapts(error)  # whose draws are noted
        if isinstance(error, (OutsideError, SharedError)):
            return False
        if self._without_type_tests(error):
            return True
        if way.adapted and self._absent & sys.modules.keys():
            self._readings = []
            return True
        if self._adapts(error):
            return True
        if self._arrays_are_data(reading, error):
            return True
        own = set(reading.data) & self._assigned.numbers
        if own - way.compared and (len(own) == len(reading.data) or way.level == NOTHING):
            self.take(way._replace(compared=way.compared | own))
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

    def _arrays_are_data(self, reading: Reading, error: Exception) -> bool:
        """Have arrays as data that were numbers of the trace, and had to hold traced values."""
        said = isinstance(error, (TraceError, UnsupportedError)) and str(error)
        if not said or not any(text in said for text in _INTO_NUMBERS):
            return False
        places = self._walk().reads.values()
        arrays = {r.text for r in places if r.how == "data" and isinstance(r.value, np.ndarray)}
        new = arrays - set(reading.data) - self._assigned.numbers
        self._assigned = self._assigned._replace(numbers=self._assigned.numbers | new)
        self._readings = [] if new else self._readings
        return bool(new)

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

    def by_values(self, reading: Reading) -> bool:
        """Compare the function's own counters and flags, on which it decides in many ways."""
        values = reading.now()
        if values is MISS:
            return False
        pairs = zip(reading.data, values, strict=True)
        own = {text for text, x in pairs if type(x) in (int, bool)} - self.way.compared
        if not own:
            return False
        self.take(self.way._replace(compared=self.way.compared | own))
        return True

    def can_roll(self) -> bool:
        """Tell whether Python's loops and branches may be tried as those of the program."""
        return self.way.rolled is False

    def roll(self) -> None:
        """Trace with loops and branches of the program for Python's, if that can be tried."""
        function = self._root
        possible = provided("following").called(function) is not function
        self.take(self.way._replace(rolled=True if possible else None))

    def unroll(self) -> bool:
        """Trace with Python's own control flow again; False if that is how it was traced."""
        if not self.way.rolled:
            return False
        self.take(self.way._replace(rolled=None))
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

    def unless_assigning(self, watch: Callable[..., None]) -> Callable[..., None]:
        """Return what is shown a function's graph unless that is not all that it computes."""

        def show(primal: Any) -> None:
            draws = now().draws
            if draws is not None and draws.result is not None:
                return
            if not self._running or not self._running[-1]():
                watch(primal)

        return show

    def state(self, generators: Sequence[Any]) -> Effects:
        """Return the state of now of what the function may change, and of generators."""
        walk = read_by(self._root, self._objects, self._opaque)
        return Effects(walk, generators=(*generators, *walk.generators))

    def is_told_by_copy(self, error: Exception) -> bool:
        """Tell whether a copy may say who draws: one notes the draws of the function."""
        return not self.way.adapted and getattr(error, "where", None) is not None

    def substituted(
        self, body: Callable[..., Any], reading: Reading, writes: bool = True
    ) -> Callable[..., Any]:
        """Return a function's body with the data as its last positional arguments.

        What it changes is undone, and with ``writes`` is among the results.
        """
        count = len(reading.data)

        def with_data(*args: Any, **kwargs: Any) -> Any:
            values = args[len(args) - count :]
            args = args[: len(args) - count]
            self.assignments = None
            walk = self._walk()
            effects = Effects(walk, set(reading.data))
            if (refusals := now().refusals) is not None:
                refusals.before = effects.keep_of_packages
            stand_ins = {
                text: StandIn(x, lambda: effects.depth > 0) for text, x in walk.set_aside.items()
            }
            data = dict(zip(reading.data, values, strict=True))
            twins: Substitutes | None = None
            unusable = {text: in_trace(type(x)) for text, x in reading.unusable.items()}
            if values or stand_ins or unusable or self.way.adapted:
                new = {**data, **stand_ins, **unusable}
                twins = Substitutes(walk, new, self.way.adapted, bool(self.way.sized))
                twins.keeps_readings, effects.copies = True, twins.copies
            keys: list[int | str] = [*range(len(args)), *kwargs]
            passed = zip(keys, (*args, *kwargs.values()), strict=True)
            given = [(x, *flatten_traced(x), key) for key, x in passed]
            leaves = [*(x for _, own, _, _ in given for x in own), *flatten_traced(values)[0]]
            inputs = [x.node for x in leaves if isinstance(x, Traced)]
            opened: list[Any] = []
            timed: list[Callable[[], None]] = []

            def assigns() -> bool:
                handed_on = twins is not None and twins.changed()
                added = any(log_of(x).added for x in stand_ins.values())
                written = any(getattr(x, "overwritten", False) for x in values)
                return handed_on or added or written or effects.changed()

            self._running.append(assigns)
            clean = False
            try:
                with within(repeated=effects.inside, opened=opened):
                    result = self._run(body, twins, args, kwargs)
                for x, own, tree, key in given if writes else ():
                    name = f"argument {argument_name(self._root, key)}"
                    warn_if_changed(result, x, own, tree, name)
                leaves, tree = flatten_traced(result)
                kept = {id(x) for x in leaves if type(x) is StandIn}
                for x in stand_ins.values():
                    if log_of(x).touched or id(x) in kept:
                        log_of(x).touch()
                clean = not assigns()
                if clean:
                    return result
                back = (lambda x: x) if twins is None else twins.back
                found = Assignments(walk, effects, data, stand_ins, inputs, opened, back)
                self._learn(found, walk, data)
                timed += found.timed
                if found.dropped and writes:
                    _say_dropped(found.dropped)
                result = tree.unflatten(leaves)  # of which parts may be undone
                if not found or not writes:
                    return result
                self.assignments = found
                return Left(result, tuple(found.values), values)
            except BaseException as error:
                touched = {text for text, x in stand_ins.items() if log_of(x).touched}
                if isinstance(error, Exception) and not isinstance(error, EndedTraceError):
                    touched = touched or {*stand_ins}  # which may be the reason
                if touched:
                    self._read(touched, walk)
                    raise TouchedError from None
                raise
            finally:
                self._running.pop()
                if not clean:
                    effects.undo()
                for action in timed:
                    action()

        return with_data

    def _run(
        self, body: Callable[..., Any], twins: Substitutes | None, args: Any, kwargs: Any
    ) -> Any:
        """Call the body, of a copy of the function where there is one."""
        if twins is None and not self.way.rolled:
            with _hidden_first():
                return body(*args, **kwargs)
        root = self._root if twins is None else twins.root(self._root)
        if self.way.rolled:
            root = provided("rolled", root)
        made = self._make(root, *self._rest, **self._options)
        if twins is None:
            with _hidden_first():
                return made._body(*args, **kwargs)
        module = namespace() if self.way.adapted else None
        try:
            later = functools.partial(self.called_later, twins=twins)
            with _hidden_first(), within(callback=later, namespace=module):
                result = made._body(*twins.given(args), **twins.given(kwargs))
        finally:
            twins.hand_on()
        return twins.outside(result)

    def _read(self, touched: set[str], walk: Walk) -> None:
        """Note that places are read that were taken for unread.

        Others that are no containers are data then: whether they are used tells of many at once.
        """
        plain = {
            text for text, x in walk.set_aside.items()
            if isinstance(x, (float, complex, np.generic, np.ndarray))
        }  # fmt: skip
        more = plain if touched & plain else set[str]()
        self._touched |= touched
        self._assigned = self._assigned._replace(unread=self._assigned.unread - touched - more)

    def _learn(self, found: Assignments, walk: Walk, data: dict[str, Any]) -> None:
        """Note what a trace has assigned to."""
        numbers, later = set[str](), set[str]()
        self._own |= found.changed.keys()
        self._assigned = self._assigned._replace(timed=self._assigned.timed | found.of_clocks)
        for text, before in found.changed.items():
            if text in data:
                continue
            scalar = isinstance(before, (bool, int, float, complex, np.generic, np.ndarray))
            in_class = isinstance(walk.constants.get(text.rpartition(".")[0]), type)
            if scalar and (in_class or text in walk.reads):
                numbers.add(text)
            elif text not in self._touched:
                later.add(text)
        if numbers - self._assigned.numbers:
            self._assigned = self._assigned._replace(numbers=self._assigned.numbers | numbers)
        self._later |= later - self._assigned.unread


@contextlib.contextmanager
def _hidden_first() -> Iterator[None]:
    """Raise a refusal that the traced code has hidden within, also before what it raised then.

    Numbers are refused nothing, so they might not have come to that error.
    """
    try:
        yield
    except foreseen(Exception) as error:
        refusals = now().refusals
        of_library = isinstance(error.__cause__, SymgradError) or (  # which says so in its words
            refusals is not None and refusals.is_worded_by(error)
        )
        if not (of_library or type(error).__module__.startswith("symgrad.")):
            raise_hidden()
        raise
    raise_hidden()


def _say_dropped(dropped: Sequence[tuple[str, Any, str]]) -> None:
    """Warn of what cannot be written back, and is undone."""
    whys = dict.fromkeys(why for _, _, why in dropped)
    for why in whys:
        named = {name or "something": where for name, where, reason in dropped if reason == why}
        lines = dict.fromkeys(str(where) for where in named.values() if where is not None)
        warn_user(
            f"{' and '.join(named)} {'is' if len(named) == 1 else 'are'} assigned by the function, "
            f"outside of it, which is undone: {why}. Write instead: return it, and assign it where "
            "the function is called; in a loop, make it a part of the state"
            + (f" [{', '.join(lines)}]" if lines else ""),
            CaptureWarning,
        )
