"""What rewritten control flow raises where no example decides: nan in the results of the whole.

An error depends on numbers then that differ between the examples of a batch. Its condition is noted
in the body that is traced; branches and loops hand it to what is around them, loops end by it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from .._core.base.state import now, within
from .._core.trace import flatten
from ..errors import TraceError

_UNSAID = (
    "`raise` depends on numbers that differ between the examples of a batch or the steps of a "
    "loop, and no real result that could be nan tells of it. Write instead: test the arguments "
    "outside, or return np.where(test, np.nan, y)"
)


class Errors(NamedTuple):
    """The conditions under which what is traced raises, and the body in which they hold."""

    tests: list[Any]
    scope: object


class noting(within):  # noqa: N801 - a block
    """Note under what the block raises, in the body that is traced."""

    __slots__ = ("_tests",)

    def __init__(self) -> None:
        self._tests: list[Any] = []
        super().__init__(raised=Errors(self._tests, now().scope))

    def __enter__(self) -> list[Any]:
        super().__enter__()
        return self._tests


def caught() -> AbstractContextManager[None]:
    """Let no error be noted in the block: the function catches some itself."""
    return within(raised=None)


def note(test: Any) -> None:
    """Note that an error is raised under a condition: the results of the whole will be nan."""
    notes = now().raised
    if notes is None or notes.scope is not now().scope:
        raise TraceError(_UNSAID)
    notes.tests.append(test)


def raising(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a rewritten function with nan for the examples for which it, or a helper, raises.

    Helpers return numbers for these, too, which decisions may be made on; what is returned to the
    one who has called the whole is not to be taken for a result.
    """

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        with noting() as tests:
            value = function(*args, **kwargs)
        if not tests:
            return value
        leaves, tree = flatten(value)
        if not any(map(_inexact, leaves)):
            raise TraceError(_UNSAID)
        raised = reduce(np.logical_or, tests)
        return tree.unflatten([np.where(raised, np.nan, x) if _inexact(x) else x for x in leaves])

    return called


def asked(get: Callable[[], Any], where: Any) -> Any:
    """Return what Python asks for only where a condition holds; errors count there alone."""
    with noting() as tests:
        found = get()
    if tests:
        note(np.logical_and(where, reduce(np.logical_or, tests)))
    return found


def told(run: Callable[..., Any], *sides: Callable[..., Any]) -> Any:
    """Carry out a branch by ``run(*sides)``, and note around it under what a side raises."""
    noted: list[Any] = []

    def telling(side: Callable[..., Any]) -> Callable[..., Any]:
        def carried_out(*passed: Any) -> Any:
            with noting() as tests:
                found = side(*passed)
            noted.extend(tests)
            return found, reduce(np.logical_or, tests, False)

        return carried_out

    found, raised = run(*map(telling, sides))
    if noted:
        note(raised)
    return found


def repeated(
    run: Callable[..., Any], step: Callable[..., Any], holds: Callable[[Any], Any] | None,
    start: Any,
) -> Any:  # fmt: skip
    """Carry out a loop by ``run(holds, step, start)``, and note around it if a step raises.

    Then the loop is made once more, with that as one more variable, and ends by it.
    """
    noted: list[Any] = []

    def one(*passed: Any) -> Any:
        with noting() as tests:
            found = step(*passed)
        noted[:] = tests
        return found

    def telling(*passed: Any) -> Any:
        *counter, (carry, raised) = passed
        return one(*counter, carry), reduce(np.logical_or, noted, raised)

    def goes_on(state: Any) -> Any:
        assert holds is not None
        return np.logical_and(np.logical_not(state[1]), holds(state[0]))

    found = run(holds, one, start)
    if noted:
        found, raised = run(goes_on, telling, (start, False))
        note(raised)
    return found


def _inexact(x: Any) -> bool:
    """Tell whether a result may be nan."""
    return isinstance(x, float) or getattr(x, "dtype", np.dtype(bool)).kind in "fc"
