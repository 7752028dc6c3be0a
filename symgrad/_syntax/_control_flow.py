"""What rewritten control flow does: Python's own on plain numbers, loops and branches on traced.

The counterpart of ``_control_syntax``. A variable that has no value yet is ``UNSET``; it
may be set in a block, but what a loop carries, and what both sides of a branch leave, has one.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from .._capture._ownership import installed
from .._capture._replacements import Followed
from .._core.base.state import now, within
from .._core.trace import Traced, decided, known_number, one_of, size_bits, truth_of
from ..errors import ArgumentError, DTypeError, NumberError, SymgradError, TraceError
from ._control import fori_loop, while_loop
from ._control_effects import ChangedError, unchanged
from ._control_syntax import converted, partial_of
from ._control_writes import COPIED, UNSET, Carried, Sides, arrays_of
from ._raise_masks import asked, caught, note, noting, raising, repeated, told
from ._statements import FLOW

#: ``range`` of up to this many steps, known beforehand, is unrolled as Python does.
UNROLLED = 8

_CHANGED = (
    "a loop whose number of steps is traced changes objects that are there before it, such as a "
    "list or the attributes of one: how often would be known only later. Write instead: give the "
    "loop what changes as variables"
)


def open_question(test: Any) -> bool:
    """Tell whether a truth value is known only when the program runs."""
    return isinstance(test, Traced) and not test.shape and known_number(test.node) is None


def _asked(test: Any) -> Any:
    """Return the truth value of an array of one element as a number, which NumPy asks of it."""
    return one_of(test) if isinstance(test, Traced) and test.dtype == bool else test


class Flow:
    """The methods that rewritten code calls."""

    @staticmethod
    def value(get: Callable[[], Any]) -> Any:
        """Return a variable's value, or that it has none."""
        try:
            return get()
        except NameError:  # UnboundLocalError, too
            return UNSET

    # ---------------------------------------------------------------- branches

    @staticmethod
    def branch(
        test: Any, yes: Callable[..., Any], no: Callable[..., Any], state: Mapping[str, Any],
        both: Sequence[str], lent: Sequence[str],
    ) -> Any:  # fmt: skip
        """Carry out ``if``: return the new values of the variables.

        ``both`` are those that both sides assign to, ``lent`` those that are handed to
        functions and assigned to by neither.
        """
        test, values = _asked(test), tuple(state.values())
        if not open_question(test):
            return (yes if test else no)(*values)
        # A variable that only one side knows stays within it.
        shared = [
            k for k, n in enumerate(state)
            if n not in lent and (values[k] is not UNSET or n in both)
        ]  # fmt: skip
        sides = Sides(values)
        found: list[Sequence[Any]] = []

        def left(run: Callable[..., Any]) -> Callable[..., Any]:
            def carried_out(*passed: Any) -> tuple[Any, ...]:
                after = run(*passed)
                found.append(list(map(_kept, passed, after, values)))
                return tuple(after[k] for k in shared)

            return carried_out

        carried = functools.partial(told, functools.partial(sides.carried_out, test))
        try:
            after = unchanged(lambda: carried(left(yes), left(no)), (yes, no), values)
        except ChangedError:
            return (yes if bool(test) else no)(*values)
        new = dict(zip(shared, after, strict=True))
        return tuple(
            given if all(side[k] for side in found) else new.get(k, UNSET)
            for k, given in enumerate(values)
        )

    @staticmethod
    def either(
        test: Any, yes: Callable[..., Any], no: Callable[..., Any], state: Mapping[str, Any]
    ) -> Any:
        """Carry out ``if`` whose sides return: return the function's result."""
        test, values = _asked(test), tuple(state.values())
        if not open_question(test):
            return (yes if test else no)(*values)
        carried = functools.partial(told, functools.partial(Sides(values).carried_out, test))
        try:
            return unchanged(lambda: carried(yes, no), (yes, no), values)
        except ChangedError:
            return (yes if bool(test) else no)(*values)

    @staticmethod
    def unless(test: Any, error: Callable[..., Any], state: Mapping[str, Any]) -> None:
        """Carry out ``if test: raise error``; in a batch note the condition."""
        test = _asked(test)
        known = decided(test.node, bool) if open_question(test) else bool(test)
        if known and now().scope is None:
            error(*state.values())
        if known or known is None:  # or known on a side of a branch that may not be taken
            note(test)

    caught = staticmethod(caught)

    @staticmethod
    def decided(test: Any, *written: Any) -> Any:
        """Return Python's decision, or a test if sides write into arrays and nothing else.

        A side has copies of arrays, and what it has written is chosen like other results. Of a
        list, a dictionary or an object others may hold parts.
        """
        arrays = all(v is UNSET or arrays_of(v) or isinstance(v, np.ndarray) for v in written)
        return _asked(test) if written and arrays else bool(test)

    # ---------------------------------------------------------------- choices

    @staticmethod
    def choose(test: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        """Carry out ``a if test else b``."""
        test = _asked(test)
        if not open_question(test):
            return yes() if test else no()
        sides = functools.partial(Sides(()).carried_out, test)
        try:
            return unchanged(lambda: told(sides, yes, no), (yes, no), ())
        except ChangedError:
            return yes() if bool(test) else no()

    # ---------------------------------------------------------------- loops

    @staticmethod
    def loop(
        test: Callable[..., Any], body: Callable[..., Any], state: Mapping[str, Any],
        lent: Sequence[str],
    ) -> Any:  # fmt: skip
        """Carry out ``while``: return the new values of the variables."""
        values = tuple(state.values())

        def goes_on(*variables: Any) -> Any:
            return _asked(test(*variables))

        while True:
            question = goes_on(*values)
            if open_question(question):
                break
            if not question:
                return values
            values = tuple(body(*values))
        carried = Carried(dict(zip(state, values, strict=True)), lent)

        def one(carry: Any) -> Any:
            with _whole({}):
                return carried.step(body, carry)

        holds = functools.partial(carried.holds, goes_on)
        rolled = functools.partial(repeated, while_loop, one, holds, carried.start)
        try:
            return carried.after(unchanged(rolled, (test, body), values))
        except ChangedError:
            while question:
                values = tuple(body(*values))
                question = goes_on(*values)
            return values

    @staticmethod
    def count(
        bounds: Sequence[Any], body: Callable[..., Any], state: Mapping[str, Any],
        lent: Sequence[str], *counter: Any,
    ) -> Any:  # fmt: skip
        """Execute ``for i in range(...)``: return the new values of the variables.

        ``counter`` is the value of ``i`` before, if it is read after the loop.
        """
        found = Flow._steps(bounds, body, state, lent)
        return (*found, *(_last(bounds, before) for before in counter))

    @staticmethod
    def _steps(
        bounds: Sequence[Any], body: Callable[..., Any], state: Mapping[str, Any],
        lent: Sequence[str],
    ) -> tuple[Any, ...]:  # fmt: skip
        values = tuple(state.values())
        start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        plain = all(type(b) is int for b in (start, stop, step))
        if not plain or len(range(start, stop, step)) > UNROLLED:
            try:
                return _counted(start, stop, step, body, Carried(state, lent))
            except ChangedError:
                if not plain:
                    raise TraceError(_CHANGED) from None
            except SymgradError as error:
                # Python's own way may do, or says what is wrong.
                if not plain and (
                    not isinstance(error, NumberError)
                    or any(isinstance(b, Traced) for b in (start, stop, step))
                ):
                    raise
        for i in range(start, stop, step):
            values = tuple(body(i, *values))
        return values

    # ---------------------------------------------------------------- truth values

    @staticmethod
    def both(*values: Callable[[], Any]) -> Any:
        """Carry out ``a and b``."""
        return _in_turn(values, True)

    @staticmethod
    def any_of(*values: Callable[[], Any]) -> Any:
        """Carry out ``a or b``."""
        return _in_turn(values, False)

    @staticmethod
    def negated(value: Any) -> Any:
        """Carry out ``not a``."""
        value = _asked(value)
        return _joined(np.logical_not, truth_of(value)) if open_question(value) else not value


def _in_turn(values: Sequence[Callable[[], Any]], goes_on: bool) -> Any:
    """Ask for values as Python does, each only where the one before it is what goes on."""
    found: Any = goes_on
    for get in values:
        if open_question(found):
            found = _either(found, get, goes_on)
        elif bool(found) is goes_on:
            found = _asked(get())
        else:
            return found
    return found


def _either(first: Any, get: Callable[[], Any], both: bool) -> Any:
    """Return ``first and get()`` if ``both``, else ``first or get()``: one of the two."""
    where = truth_of(first) if both else np.logical_not(truth_of(first))
    try:
        second = _asked(unchanged(lambda: asked(get, where), (get,), ()))
    except ChangedError:
        return get() if bool(first) is both else first
    if _is_truth(first) and _is_truth(second):
        return _joined(np.logical_and if both else np.logical_or, first, second)
    if np.ndim(second) or not isinstance(second, (Traced, int, float, np.number)):
        return second if bool(first) is both else first
    return np.where(truth_of(first), *((second, first) if both else (first, second)))


def _is_truth(value: Any) -> bool:
    """Tell whether a value is a truth value, or its number is not needed as one."""
    return isinstance(value, (bool, np.bool_)) or (
        isinstance(value, Traced) and value.dtype == bool and not value.shape
    )


def _joined(function: Callable[..., Any], *values: Any) -> Any:
    """Return a function of truth values, one of Python's for such."""
    made = function(*values)
    if all(type(x) is bool or getattr(x, "weak", None) is bool for x in values):
        made.weak = bool
    return made


def _begun(body: Callable[..., Any], state: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the variables before a loop as a step leaves them: with a value, and of its type.

    Those that have none are zero: after a loop of no steps Python would not know them.
    """
    try:
        found = body(*[copy.copy(v) if isinstance(v, COPIED) else v for v in state.values()])
    except SymgradError:  # the loop itself says what is wrong
        return state
    pairs = zip(state.items(), found, strict=True)
    return {n: _zeros(v) if old is UNSET else _widened(old, v) for (n, old), v in pairs}


def _widened(old: Any, new: Any) -> Any:
    if not isinstance(new, Traced) or not isinstance(old, Traced) or old.dtype == new.dtype:
        return old
    wide = np.result_type(old.dtype, new.dtype)
    return old.astype(wide) if wide == new.dtype and old.shape == new.shape else old


def _zeros(value: Any) -> Any:
    if isinstance(value, Traced) and value.weak is None:
        return np.zeros_like(value)
    kind = value.weak if isinstance(value, Traced) else type(value)
    return kind(0) if kind in (bool, int, float) else UNSET


def _kept(passed: Any, after: Any, before: Any) -> bool:
    """Tell whether a variable that was given ``passed`` for ``before`` still stands for it."""
    if isinstance(after, Traced) and isinstance(before, Traced):
        if after is passed or after.node is not before.node:
            return after is passed
        # A copy of an array is another one, though it holds the same.
        return not arrays_of(after) or after.root is passed.root
    return after is passed or after is before


def _counted(
    start: Any, stop: Any, step: Any, body: Callable[..., Any], carried: Carried
) -> tuple[Any, ...]:
    """Carry out a counting loop without unrolling it."""
    if type(step) is not int or step == 0:
        raise TraceError("`range` with a step that is traced, or 0: write `while`")
    if step == 1:
        lower, upper = start, stop
    else:
        steps = stop - start + step - 1 if step > 0 else start - stop - step - 1
        lower, upper = 0, steps // abs(step)

    def one(k: Any, carry: Any) -> Any:
        with _whole({k.node: size_bits(upper)} if isinstance(k, Traced) else {}):
            i = k if step == 1 else start + k * step
            return carried.step(lambda *v: body(i, *v), carry)

    plain = type(lower) is int and type(upper) is int
    carried.may_stop = not plain or lower >= upper
    counted = lambda _, step, start: fori_loop(lower, upper, step, start)  # noqa: E731
    rolled = functools.partial(repeated, counted, one, None, carried.start)
    return carried.after(unchanged(rolled, (body,), carried.state.values()))


def _last(bounds: Sequence[Any], before: Any) -> Any:
    """Return the counter after a loop over ``range(*bounds)``; ``before`` if there is no step."""
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    # By type: to isinstance a traced number says that it is one, and a size is one.
    if all(type(b) is int or issubclass(type(b), np.integer) for b in (start, stop, step)):
        steps = range(start, stop, step)
        return steps[-1] if steps else before
    count = (stop - start + step - (1 if step > 0 else -1)) // step
    last = start + (count - 1) * step
    if before is UNSET:  # Python would not know the name after a loop of no steps
        return last
    some = count > 0
    return np.where(some, last, before) if open_question(some) else last if some else before


def _whole(counters: Mapping[Any, int]) -> AbstractContextManager[None]:
    """Let whole numbers be Python's in the block, which do not leave 64 bits without a word."""
    return within(counters={**(now().counters or {}), **counters})


class Following(Flow):
    """Flow that leads into the functions that are called, those of installed packages excepted."""

    def loop(  # type: ignore[override]
        self, test: Callable[..., Any], body: Callable[..., Any], state: Mapping[str, Any],
        lent: Sequence[str],
    ) -> Any:  # fmt: skip
        """Carry out ``while``; variables that a step sets first, or widens, are so throughout."""
        if any(v is UNSET for n, v in state.items() if n not in lent):
            state = _begun(body, state)
        try:
            return Flow.loop(test, body, state, lent)
        except DTypeError:
            return Flow.loop(test, body, _begun(body, state), lent)

    def outermost(self, function: Any) -> Any:
        """Return a function with its control flow rewritten, whose results tell what it raises."""
        return raising(self.called(function))

    def called(self, function: Any) -> Any:
        """Return a function with its control flow rewritten, or as it is."""
        if isinstance(function, MethodType):
            return MethodType(self.called(function.__func__), function.__self__)
        if type(function) is functools.partial:
            return partial_of(self.called(function.func), function)
        if isinstance(function, Followed):
            return function.by(self.called)
        call = getattr(type(function), "__call__", None)  # noqa: B004 - an object may be called
        if type(call) is FunctionType and (made := self.called(call)) is not call:
            return MethodType(made, function)
        if type(function) is not FunctionType or installed((code := function.__code__).co_filename):
            return function
        if FLOW in code.co_freevars or code.co_flags & inspect.CO_GENERATOR:
            return function
        try:
            return converted(function, self)
        except ArgumentError:  # its source is not at hand
            return function


def rolled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with its control flow rewritten, and that of what it calls.

    Raises
    ------
    TraceError
        When called, if the loops raise errors: Python's own say when, and which.
    """
    rewritten = Following().called(function)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        with noting() as tests:
            result = rewritten(*args, **kwargs)
        if tests:
            raise TraceError("a loop raises an error under a condition")
        return result

    return called


def followed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with the control flow rewritten, its own and of what it calls.

    Raises
    ------
    ArgumentError
        If it is no ``def`` whose source is at hand.
    """
    return raising(converted(function, Following()))
