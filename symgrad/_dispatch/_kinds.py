"""The specialisations of a function by the kinds of its arguments: found, kept, dropped.

One may be of a kernel that was known before the function's derivative was taken.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .._capture._call import Call, Given, Reading
from .._core.base.fork_safety import cached_property
from .._core.codegen.loading import loaded_code
from .._core.graph import warn_user
from .._core.program import Program
from .._core.trace import Graph, Signature, Tree
from ..errors import PathsWarning, SymgradError, TraceError
from ._recall import Known
from ._specialization import Specialization

#: From so many paths for arguments of one kind on it is worth a warning, and an error.
MANY, PATHS = 5, 64

#: Most specialisations that a function keeps; beyond, the one not asked for longest is dropped.
KEPT = 256

#: Counts the searches, as a clock of what is used when.
_searches = itertools.count(1)


#: Kinds of calls that take turns, beside the last, without being looked at in Python.
OTHERS = 3


@dataclass(frozen=True, slots=True)  # whose attributes are read fastest
class Straight:
    """Compiled code that takes calls as they come, until one is of another kind.

    Attributes
    ----------
    function:
        The compiled function of the arguments.
    pack:
        What packs its result, if anything.
    found:
        Whose they are.
    named:
        Whether it has arguments by name; None: it has one for each of the call's.
    reading:
        The state of what the function reads that it was compiled for.
    """

    function: Callable[..., Any]
    pack: Callable[[Any], Any] | None
    found: Specialization
    named: bool | None
    reading: Reading

    def beside(self, others: Iterable[Straight]) -> tuple[Straight, ...]:
        """Return the code of earlier calls that is kept.

        What is compiled for another state of what the function reads is not. Of code that
        computes all before it knows whether a call is of its kind, one is.
        """
        kept = [x for x in others if x.found is not self.found and x.reading is self.reading]
        decides = any(x.found.admission.conditions for x in (self, *kept))
        return tuple(kept[: 1 if decides else OTHERS])


def straight_to(found: Specialization, call: Call, given: Given) -> Straight | None:
    """Return the code that takes calls like one without a look at them; None if none can."""
    reading = given.reading
    if found.direct:
        caller = reading.caller(found.caller, len(call.args))
        return Straight(caller, found.pack, found, None, reading)
    unpack = found.unpacking(call.tree, given.data)
    if unpack is None:
        return None
    count = len(found.takes) - len(given.data)
    caller = unpack(reading.caller(found.behind(given.data), count))
    return Straight(caller, found.pack, found, bool(call.kwargs), reading)


class Kinds:
    """What is known of each kind of call: specialisations, several where values decide.

    Lists are replaced, not changed: other threads may be walking through them.
    """

    def __init__(self) -> None:
        self._groups: dict[Signature, list[Specialization]] = {}
        #: Whether a trace has asked for what lists of numbers answer otherwise than arrays.
        self.tells_lists = False
        #: By :attr:`Call.lists`, whether calls of which a trace asks so have lists taken apart.
        self.apart: dict[Any, bool] = {}
        #: The structures of arguments of which long lists of records are taken apart, too.
        self.records_apart: set[Tree] = set()

    @contextlib.contextmanager
    def with_records_apart(self, tree: Tree) -> Iterator[None]:
        """Keep in mind that records of a structure are taken apart, unless that fails, too."""
        try:
            yield
        except BaseException:
            self.records_apart.discard(tree)
            raise

    def find(
        self, signature: Signature, leaves: Sequence[Any], likely: bool = False
    ) -> Specialization | None:
        """Return the specialisation that admits a call, if there is one.

        ``likely``: the one used last, if it admits the sizes. Its code looks at the values faster.
        """
        group = self._groups.get(signature, ())
        if likely and group:
            last = max(group, key=lambda x: x.used)
            last.used = next(_searches)
            if last.admits_sizes(leaves):
                return last
        for candidate in group:
            if candidate.admits(leaves):
                candidate.used = next(_searches)
                return candidate
        return None

    @property
    def assign(self) -> bool:
        """Whether any of them writes back what the function assigns, or draws random numbers."""
        return any(
            x.assignments is not None or x.first_draw is not None
            for group in self._groups.values() for x in group
        )  # fmt: skip

    def paths(self, signature: Signature) -> list[Specialization]:
        """Return the specialisations that are for one way of deciding by values."""
        return [s for s in self._groups.get(signature, ()) if s.conditions]

    def numbered(self, signature: Signature) -> bool:
        """Tell whether there are specialisations for one size only, which was asked for."""
        return any(x.numbered for x in self._groups.get(signature, ()))

    def like(self, signature: Signature, made: Specialization) -> Specialization | None:
        """Return the specialisation that is the same path as one that was made, if there is one.

        Where rounding decides, it may not have admitted what it was made for.
        """
        for candidate in self._groups.get(signature, ()):
            if made.conditions and candidate.conditions and made.equals(candidate):
                return candidate
        return None

    def keep(self, signature: Signature, made: Specialization, last: Specialization | None) -> None:
        """Enter a specialisation; where there are too many, drop the one used least recently.

        Not ``last``, to which calls go. The code of what is dropped is freed when nobody calls
        it any more.
        """
        made.used = next(_searches)
        groups = self._groups
        if sum(map(len, groups.values())) >= KEPT:
            found = ((s.used, k) for k, group in groups.items() for s in group if s is not last)
            used, key = min(found, key=lambda pair: pair[0])
            rest = [s for s in groups[key] if s.used != used]
            if rest:
                groups[key] = rest
            else:
                del groups[key]
        groups[signature] = [*groups.get(signature, ()), made]

    def forget(self, states: Container[int], last: Specialization | None) -> None:
        """Drop what is for states that nothing is known of any more, but for ``last``."""
        for key in [k for k in list(self._groups) if k.state in states]:
            if not any(x is last for x in self._groups[key]):
                self._groups.pop(key, None)

    def check_paths(self, signature: Signature, name: str) -> None:
        """Warn, and then raise, if the function of this name decides by values in many ways."""
        known = self.paths(signature)
        if len(known) not in (MANY, PATHS):
            return
        text = (
            f"{name} has taken {len(known)} different paths, "
            f"by decisions on values ({_lines(known)}); each is compiled by itself. Write "
            "instead: np.where(condition, a, b), sg.cond, sg.while_loop, or "
            "sg.compile(f, control_flow=True) in its place"
        )
        if len(known) == PATHS:
            raise TraceError(text)
        warn_user(f"{text}. From {PATHS} on it is an error", PathsWarning)


def say_rounding_decides(found: Specialization, name: str) -> None:
    """Warn of calls that run step by step, as machine code decides otherwise than NumPy."""
    warn_user(
        f"{name} decides by digits that rounding makes: a decision ({_lines([found])}) is another "
        "one in machine code than in NumPy, so calls like this one run step by step under NumPy. "
        "Write instead: compare with a tolerance above the rounding errors, "
        "np.where(condition, a, b), or compile it with control_flow=True",
        PathsWarning,
    )


def say_one_by_one(error: SymgradError) -> None:
    """Warn of batches whose examples are computed one by one, for what tracing them has met."""
    warn_user(f"the examples of a batch are computed one by one: {error}", PathsWarning)


def _lines(paths: Sequence[Specialization]) -> str:
    """Return where a function decides: the first of its lines."""
    return ", ".join(sorted({str(c.where) for s in paths for c in s.conditions if c.where})[:5])


class Recalled(Specialization):
    """One whose kernel was known by the user's function; the rest is made when asked for.

    ``retrace`` traces it to the end.
    """

    def __init__(
        self, known: Known, retrace: Callable[[], Graph], signature: Signature, threads: int
    ) -> None:
        self.recall, self.assignments, self._retrace = None, None, retrace
        self._prepare(known.layout, signature, True, threads, promised=False)
        self._result(known.tree, known.leaves, known.ranks)
        self.conditions, self.calls_back = (), False
        # Its code may be for more sizes than the note says, so calls are to go straight to it.
        self.called = True
        self._admission = known.admission
        self.entry, self._function = known.entry, loaded_code(known.entry.code, threads)

    @cached_property
    def graph(self) -> Graph:  # type: ignore[override]  # only read
        """The graph, traced again."""
        return self._retrace()

    @cached_property
    def program(self) -> Program:  # type: ignore[override]  # only read
        """The program that the kernel was made of."""
        return self._programmed(self.graph)

    @property
    def admission(self) -> Program:
        """A program with the guards."""
        return self._admission
