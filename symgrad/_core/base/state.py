"""What the making of nodes depends on beside the op and its operands: one immutable object.

NumPy calls a function being traced back at each operation, through signatures that have no
place for it. So the object that holds just now is the value of a context variable, the only
one of the compiler; a pass that wants it otherwise has a block run ``within`` another.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, NamedTuple


class State(NamedTuple):
    """What holds while nodes are made.

    Attributes
    ----------
    where:
        The user's line that nodes are given: of the node that a pass derives them from. None:
        the line that runs.
    promised:
        Whether programs round as NumPy does step by step, and as eager tensors do on their way
        back. Equal real numbers are different floating-point numbers when they are computed in
        another order, so three liberties are given up: equal steps are not one step while a
        function is traced (a gradient that arrives through each is added in turn), the way back
        follows the order in which the steps were made, and no rewriting rounds differently.
    simplify:
        What is made of each new node.
    numbers:
        Numbers the steps that are made, each a node of its own. None: equal ones are one.
    made:
        Collects the nodes that were not there before.
    guards:
        Collects relations between sizes, ``{relation: truth}``; None outside of a trace.
    pulled:
        Backward loops that have been made in a trace, of stand-ins for their operands; None outside
        of one.
    edgy:
        Of a body that is pulled back, the inputs whose values are computed outside of it by an op
        of infinite slope, and of which reads the guards of their cotangents tell the elements:
        "none", "elements" (those that slices of some length are not), or "all".
    seeded:
        The shared generators of random numbers that the function has seeded, by their names, and
        those that it has made; None outside of a trace.
    draws:
        Notes the random numbers that the function draws; None where a program cannot have them.
    sizes:
        Names of the sizes in the traces around: a trace within has others.
    examples:
        The values by which Python's decisions on traced numbers are taken.
    refusals:
        Notes the errors that are made for what a traced value refuses; None outside of a trace.
    lists:
        Notes whether lists among the arguments are told from arrays; None outside of a trace.
    watch:
        What is shown the function's graph, where a transformation goes on from it.
    reads:
        Notes where arrays are read, by the identity of the arrays.
    callback:
        Gives the user's own function for one that Python is to call later, in each call.
    scope:
        The body of a loop or a branch that is traced; None outside of all.
    repeated:
        Makes a context for code that a program executes any number of times, or never: bodies of
        loops, cases of branches, the example of a batch. None: nobody is told.
    opened:
        Collects the stand-ins by which functions are differentiated, with what they stand for.
    batches:
        The batches of which examples are traced: what stands for an example, with the whole, and
        their number.
    counters:
        In the body of a loop that stands for Python's: the bits that its counters have, for
        Python's whole numbers must not leave 64 there.
    raised:
        Notes under what rewritten control flow raises, in a body; None: outside of it.
    reading:
        What is traced for reading, not for computing with: a ``"formula"``, or the steps of a
        ``"derivation"``; empty otherwise.
    backend:
        On what the functions called run; None: as each of them says.
    machine:
        What machine code is for; None: the processor that runs this.
    doubtful:
        Whether the program comes from a file, so that no trace has looked at its constants.
    followed:
        Rewrites the control flow of the user's functions, where a batch has asked for it.
    said:
        Collects the warnings of a trace.
    limit:
        Counts the operations of a trace, and may end it once none are ``left``; None: nobody does.
    staged:
        Is told which stage of a first call begins, and returns the one before; None: nobody is.
    walked:
        Holds what the last long walk over a graph began with, and the nodes that it gave: a pass
        mostly walks over what the pass before it did. None: every walk is made.
    namespace:
        What ``x.__array_namespace__()`` returns to code that is traced; None: NumPy.
    rule_operands:
        Nodes that a derivative rule of the user's is called with: it may use what they use, be it
        of a loop's body that is complete.
    """

    where: Any = None
    promised: bool = False
    simplify: Callable[[Any], Any] | None = None
    numbers: dict[Any, int] | None = None
    made: set[Any] | None = None
    guards: dict[Any, bool] | None = None
    pulled: dict[Any, Any] | None = None
    edgy: Mapping[Any, str] = MappingProxyType({})
    seeded: set[Any] | None = None
    draws: Any = None
    sizes: frozenset[str] = frozenset()
    examples: Any = None
    refusals: Any = None
    lists: Any = None
    watch: Callable[..., None] | None = None
    reads: dict[int, Any] | None = None
    callback: Callable[[Any], Any] | None = None
    scope: object = None
    repeated: Callable[[], contextlib.AbstractContextManager[None]] | None = None
    opened: list[Any] | None = None
    batches: tuple[tuple[Mapping[Any, Any], Any], ...] = ()
    counters: Mapping[Any, int] | None = None
    raised: Any = None
    reading: str = ""
    backend: str | None = None
    machine: Any = None
    doubtful: bool = False
    followed: Any = None
    said: list[tuple[str, type[Warning]]] | None = None
    limit: Any = None
    staged: Callable[[str], str] | None = None
    walked: list[tuple[list[Any], list[Any]]] | None = None
    namespace: Any = None
    rule_operands: tuple[Any, ...] = ()


#: What holds where neither a trace nor a pass runs, and no backend is chosen.
PLAIN = State()

_current: ContextVar[State] = ContextVar("state", default=PLAIN)

#: Returns the state that holds just now.
now = _current.get

_state = State._make


class within:  # noqa: N801 - a block, as contextlib.suppress
    """A block that runs in the present state with some attributes changed.

    It is no generator, for one that an interruption leaves open ends when it is dropped, and would
    set the state of before it in the midst of something else. Nor are blocks that collect
    something, which are subclasses.
    """

    __slots__ = "_changes", "_token"

    def __init__(self, **changes: Any) -> None:
        self._changes = changes

    def __enter__(self) -> Any:
        self._token = _current.set(_current.get()._replace(**self._changes))

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)


def reset(state: State) -> None:
    """Set the state of before, after an error that may have come between two lines of `within`."""
    _current.set(state)


@contextlib.contextmanager
def repeating() -> Iterator[None]:
    """Run the block as code that a program executes any number of times, or never."""
    told = now().repeated
    with contextlib.nullcontext() if told is None else told():
        yield


def within_body() -> within:
    """Run the block as the body of a loop or a branch; it is :func:`repeating`, too."""
    return within(scope=object())


def at(where: Any) -> None:
    """Give the nodes made from now on a line: a pass goes from node to node within a block."""
    state = _current.get()
    if state[0] is not where:
        _current.set(_state((where, *state[1:])))
