"""Arguments that are one object, in code that asks whether two values are.

A trace has a stand-in for each argument: ``a is b`` is False there also where a call passes one
array twice. One stand-in for both would answer right, and its derivative would be that by both.
So such calls are refused: where code asks (``is`` between two variables, ``id``,
``np.shares_memory``), and a list, dict, tuple, dataclass or array is passed twice, or is one that
the function captures.
"""

from __future__ import annotations

import dataclasses
import dis
import operator
from collections.abc import Iterable, Iterator, Sequence
from types import CodeType
from typing import Any

import numpy as np

from .._core.graph import Where
from ..errors import UnsupportedError
from ._code_names import once_a_code

#: Functions of Python and NumPy that tell whether values are one object, or share one's memory.
_ASKING = {
    f.__name__: f for f in (id, operator.is_, operator.is_not, np.shares_memory,
                            np.may_share_memory)
}  # fmt: skip
_NUMBERS = frozenset((int, float, complex, bool, str, np.float64, np.int64))
_PASSED = ("CACHE", "PRECALL", "NOP", "RESUME")


def first_question(codes: Sequence[CodeType], read: Iterable[Any]) -> Where | None:
    """Return the first line of some code that asks whether two values are one object.

    Of functions that it may have by other names, which are among what it has ``read``, the first
    line of the code.
    """
    for code in codes:
        line = _asks(code)
        if line is not None:
            return Where(code.co_filename, line, code.co_name)
    asking = set(map(id, _ASKING.values()))
    if codes and any(id(x) in asking for x in read):
        return Where(codes[0].co_filename, codes[0].co_firstlineno, codes[0].co_name)
    return None


@once_a_code
def _asks(code: CodeType) -> int | None:
    if code.co_name in ("__eq__", "__ne__"):  # one object is equal to itself in any case
        return None
    for inner in code.co_consts:
        if isinstance(inner, CodeType) and (line := _asks(inner)) is not None:
            return line
    if dis.opmap["IS_OP"] not in code.co_code[::2] and _ASKING.keys().isdisjoint(code.co_names):
        return None
    steps = [s for s in dis.get_instructions(code) if s.opname not in _PASSED]
    for k, step in enumerate(steps):
        name = step.argval if step.opname.startswith(("LOAD_GLOBAL", "LOAD_ATTR")) else None
        asks = isinstance(name, str) and name in _ASKING
        if asks or (step.opname == "IS_OP" and _of_values(steps, k)):
            place = step.positions
            return code.co_firstlineno if place is None or not place.lineno else place.lineno
    return None


def _of_values(steps: list[dis.Instruction], k: int) -> bool:
    """Tell whether an ``is`` is between values: not ``x is None``, nor between classes."""
    right, left = steps[k - 1], steps[k - 2] if k > 1 else None
    if right.opname in ("LOAD_CONST", "LOAD_COMMON_CONSTANT") or right.argval == "__class__":
        return False
    return left is None or not (left.opname.startswith("CALL") or left.argval == "__class__")


def is_an_object(value: Any) -> bool:
    """Tell whether a value is one of which a trace has a stand-in or a copy, and not a number."""
    if isinstance(value, (list, dict, np.ndarray)):
        return True
    if isinstance(value, tuple):
        return bool(value)
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def objects_in(value: Any) -> Iterator[Any]:
    """Yield the lists, tuples, arrays and the like that arguments consist of."""
    waiting = [value]
    while waiting:
        x = waiting.pop()
        if not is_an_object(x):
            continue
        yield x
        if isinstance(x, (list, tuple)):
            if not _NUMBERS.issuperset(map(type, x)):  # of long lists the quickest look
                waiting += x
        elif isinstance(x, dict):
            waiting += x.values()
        elif not isinstance(x, np.ndarray):
            waiting += [getattr(x, f.name, None) for f in dataclasses.fields(x)]


def aliased(
    args: tuple[Any, ...], kwargs: dict[str, Any], read: Iterable[Any]
) -> tuple[Any, str] | None:
    """Return an object that is an argument twice, or is captured too, and which; None: none is."""
    met = dict.fromkeys(map(id, read), "is also what the function captures")
    for x in (x for value in (*args, *kwargs.values()) for x in objects_in(value)):
        said = met.setdefault(id(x), "")
        if said:
            return x, said
        met[id(x)] = "is passed twice"
    return None


def refuse_aliases(
    question: Where, args: tuple[Any, ...], kwargs: dict[str, Any], read: Iterable[Any]
) -> None:
    """Refuse arguments of which two are one object, or one is what the function reads.

    Raises
    ------
    UnsupportedError
        With the line that asks whether two values are one object.
    """
    found = aliased(args, kwargs, read)
    if found is not None:
        x, said = found
        raise UnsupportedError(
            f"an argument ({type(x).__name__}) {said}, and the function asks whether two values "
            "are one object, which a trace has no answer for. Write instead: pass a copy, or pass "
            f"the answer, f(x, a, b, same=a is b) [{question}]"
        )
