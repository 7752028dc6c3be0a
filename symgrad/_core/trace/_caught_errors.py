"""Errors of Python's arithmetic that the traced code catches.

``1 / x`` at 0, ``math.exp(1e3)`` and ``math.sqrt(-1.0)`` raise errors in Python, and are inf or nan
in a program. Where a handler in the traced code takes the error, it decides what the function
returns. There the trace raises it for the example's numbers, under a guard, as the statement
``if x == 0: raise ZeroDivisionError`` would. Elsewhere nothing is asked of the operands.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Sequence
from types import CodeType, FrameType
from typing import Any, NamedTuple

from ..base.state import now
from ..graph import CodeTable, Where, of_symgrad
from ._constants import known_number
from ._decisions import decided, noted_equality


class Handled(NamedTuple):
    """Instructions of a code whose errors go to one place, and the names of those caught there.

    ``caught``: none where the place only cleans up, and raises the error again.
    """

    start: int
    end: int
    target: int
    caught: frozenset[str]


#: The instructions of code whose errors are handled; None: of the function that traces.
_handled: CodeTable[tuple[Handled, ...] | None] = CodeTable()

#: The code that calls the function which is traced: frames around it are of its caller.
OUTERMOST: set[CodeType] = set()


def named_before(steps: Sequence[dis.Instruction], end: int) -> dict[str, int]:
    """Return the names that are loaded just before a step, and where."""
    found: dict[str, int] = {}
    for step in reversed(steps[:end]):
        if not step.opname.startswith(("LOAD_", "BUILD_TUPLE", "CACHE")):
            break
        if isinstance(step.argval, str) and step.positions is not None:
            found[step.argval] = step.positions.lineno or 0
    return found


def caught_from(steps: Sequence[dis.Instruction], k: int, code: CodeType) -> set[str]:
    """Return the names of the exceptions that a handler catches, which begins at a step."""
    if steps[k].opname == "POP_TOP":
        return {"BaseException"}
    if steps[k].opname == "WITH_EXCEPT_START":
        return {"suppress"} & set(code.co_names)
    caught = set[str]()
    for j, step in enumerate(steps[k:], k):
        if step.opname == "PUSH_EXC_INFO":
            break
        if step.opname == "CHECK_EXC_MATCH":
            caught |= named_before(steps, j).keys()
    return caught


def _handled_in(code: CodeType) -> tuple[Handled, ...] | None:
    """Return where the errors of a code's instructions go, empty if none is caught."""
    if of_symgrad(code.co_filename):
        return None if code in OUTERMOST else ()
    entries = dis.Bytecode(code).exception_entries if code.co_exceptiontable else ()  # type: ignore[attr-defined]
    steps = list(dis.get_instructions(code)) if entries else []
    places = {step.offset: k for k, step in enumerate(steps)}
    found = []
    for entry in entries:
        k = places.get(entry.target, len(steps))
        begins = k < len(steps) - 1 and steps[k].opname == "PUSH_EXC_INFO"
        caught = caught_from(steps, k + 1, code) if begins else set[str]()
        found.append(Handled(entry.start, entry.end, entry.target, frozenset(caught)))
    return tuple(found) if any(h.caught for h in found) else ()


def _catches(handled: tuple[Handled, ...], frame: FrameType, error: type[Exception]) -> bool:
    """Tell whether the code that runs in a frame catches an error of its current instruction."""
    names = {kind.__name__ for kind in error.__mro__ if issubclass(kind, BaseException)}
    place = frame.f_lasti
    for _ in handled:  # from each handler to the one around it
        found = next((h for h in handled if h.start <= place < h.end), None)
        if found is None:
            return False
        if names & found.caught or "suppress" in found.caught:
            return True
        kinds = (frame.f_globals.get(name) for name in found.caught)
        if any(isinstance(k, (type, tuple)) and _is_one(error, k) for k in kinds):
            return True
        place = found.target
    return False


def _is_one(error: type[Exception], kinds: Any) -> bool:
    try:
        return issubclass(error, kinds)
    except TypeError:  # a tuple of something else
        return False


_UNDECIDED = (
    "is caught here, which depends on numbers that differ between the examples of a batch or the "
    "steps of a loop: compiled arithmetic raises nothing, a division by zero is inf or nan. Write "
    "instead: np.where on what is tested, or test the result outside"
)


def catching(frame: FrameType | None, error: type[Exception]) -> FrameType | None:
    """Return the frame of the traced code that catches an error raised in a frame, if one does."""
    while frame is not None:
        code = frame.f_code
        known = _handled.of(code)
        if None not in known:
            known[None] = _handled_in(code)
        handled = known[None]
        if handled is None:
            return None
        if handled and _catches(handled, frame, error):
            return frame
        frame = frame.f_back
    return None


def raise_caught(
    error: type[Exception], text: str, fails: Callable[[], Any], frame: FrameType
) -> None:
    """Raise an error that Python raises for the example's numbers, if the traced code catches it.

    Parameters
    ----------
    error:
        Its class.
    text:
        What Python says.
    fails:
        Returns whether Python raises it, as a bool, or a traced one.
    frame:
        Of the code in which the operation is written.
    """
    if now().guards is None or of_symgrad(frame.f_code.co_filename):
        return
    catcher = catching(frame, error)
    if catcher is None:
        return
    condition = fails()
    if not hasattr(condition, "node"):  # of known operands
        found = bool(condition)
    else:
        noted_equality(condition, frame)
        found = known_number(condition.node)
        if found is None:
            found = decided(condition.node, bool)
    if found is None:
        if now().refusals is not None:
            place = Where(catcher.f_code.co_filename, catcher.f_lineno, catcher.f_code.co_name)
            now().refusals.warn(f"{error.__name__} {_UNDECIDED} [{place}]")
    elif found:
        raise error(text)
