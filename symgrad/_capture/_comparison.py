"""Comparing what a function reads with what it was when a trace was made.

The comparisons are one Python function with the user's own global names and cells, so that reading
a name costs a few nanoseconds.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from types import CellType, CodeType, FunctionType, MappingProxyType
from typing import Any

import numpy as np

from .._core.graph import warn_user
from .._core.runtime import MISS
from .._core.trace import as_leaf
from ..errors import CaptureWarning
from ._code_names import Itself
from ._locations import Read, Walk
from ._reads import LARGE
from ._user_code import memory_of, packed_form, remembers, table_form
from ._versions import parts_of

#: What reading a place may raise that is no longer there.
ERRORS = (NameError, AttributeError, LookupError, TypeError, ValueError)


def same(a: Any, b: Any) -> bool:
    """Tell whether two values are the same to a trace: ``1``, ``1.0`` and ``True`` differ."""
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (float, complex, np.generic)):  # zeros have signs
        return repr(a) == repr(b) and (a == b or a != a)  # NaN
    return bool(a == b)


def as_datum(value: Any, name: str) -> Any:
    """Return what is read as compiled code takes it."""
    if type(value) in (int, bool):
        return np.int64(value) if type(value) is int else np.bool_(value)
    return as_leaf(value, name)


def content(array: np.ndarray[Any, Any]) -> Any:
    """Return what an array is compared by: a copy, or of a large one a fingerprint."""
    if array.nbytes <= LARGE:
        return array.copy()
    digest = hashlib.blake2b(np.ascontiguousarray(array).data, digest_size=16).digest()
    return array.dtype, array.shape, digest


def unchanged(array: Any, before: Any) -> bool:
    """Tell whether an array has the type, shape and content that it had."""
    if type(before) is tuple:
        return isinstance(array, np.ndarray) and content(array) == before
    return (
        type(array) is type(before)
        and array.dtype == before.dtype
        and array.shape == before.shape
        and array.tobytes() == before.tobytes()
    )


def key_of(read: Read) -> Any:
    """Return a hashable key of what is at a place, equal for what makes the same trace."""
    value = read.value
    if isinstance(value, CodeType):
        return value
    if isinstance(value, np.ndarray):
        digest = hashlib.blake2b(np.ascontiguousarray(value).data, digest_size=16).digest()
        return value.dtype.str, value.shape, digest
    if read.how == "is":
        return Itself(value)
    return type(value), repr(value) if isinstance(value, (float, complex)) else _hashable(value)


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value


class Comparison:
    """The comparison of what is read with what it was, as one Python function.

    Parameters
    ----------
    walk:
        What the names in expressions stand for.
    reads:
        What is compared.
    data:
        The expressions of what is fetched.
    costly:
        Whether a warning says that much is compared.

    Attributes
    ----------
    expected:
        What is compared, each with what it was.
    fetch:
        Returns the data, or MISS where anything is not as it was.
    """

    def __init__(
        self, walk: Walk, reads: Sequence[Read], data: Sequence[str], costly: bool
    ) -> None:
        self.names = walk.cells, walk.constants, walk.main
        self.data = list(data)
        self.expected = [(read, _kept(read, costly)) for read in reads]
        tests = [_test(read, f"_sg_v{k}") for k, (read, _) in enumerate(self.expected)]
        self.fetch: Callable[[], Any] = made_of(
            self.names,
            "    def fetch():\n"
            "        try:\n"
            f"            if not ({' and '.join(tests) or 'True'}): return _sg_miss\n"
            f"            return ({''.join(text + ', ' for text in self.data)})\n"
            "        except _sg_errors: return _sg_miss\n",
            {f"_sg_v{k}": value for k, (_, value) in enumerate(self.expected)},
        )


def evaluator(walk: Walk, texts: Sequence[str]) -> Callable[[], tuple[Any, ...]]:
    """Return a function that gives what is at some places, and holds nothing else."""
    listed = "".join(text + ", " for text in texts)
    used = set(re.findall(r"\w+", listed))
    cells, constants = (
        {k: x for k, x in held.items() if k in used} for held in (walk.cells, walk.constants)
    )
    names = cells, constants, walk.main
    found: Callable[[], tuple[Any, ...]] = made_of(names, f"    def fetch(): return ({listed})\n")
    return found


def made_of(names: Any, source: str, expected: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """Return a function of generated source, with the user's global names and cells."""
    cells, constants, main = names
    known = {
        **constants, **expected, "_sg_miss": MISS, "_sg_same": same,
        "_sg_unchanged": unchanged, "_sg_len": len, "_sg_type": type, "_sg_repr": repr,
        "_sg_hasattr": hasattr, "_sg_packed": packed_form, "_sg_table": table_form,
        "_sg_parts": parts_of, "_sg_errors": ERRORS, "_sg_bound": _is_bound,
        "_sg_memory": memory_of, "_sg_remembers": remembers,
    }  # fmt: skip
    outer = f"def outer({', '.join([*known, *cells])}):\n"
    code = _inner(_inner(compile(outer + source, "<symgrad captures>", "exec")))
    filled = [cells[n] if n in cells else CellType(known[n]) for n in code.co_freevars]
    return FunctionType(code, {} if main is None else main, "fetch", None, tuple(filled))


def _is_bound(cell: CellType) -> bool:
    """Tell whether a variable of an enclosing function has a value yet."""
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _inner(code: CodeType) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType))


def _test(read: Read, expected: str) -> str:
    """Return the comparison of a place with what has a name, as an expression."""
    text, value = read.text, read.value
    if isinstance(value, np.ndarray):
        return f"_sg_unchanged({text}, {expected})"
    if read.how == "is" or value is None or value is True or value is False:
        return f"({text}) is {expected}"  # of "'len' in ..." a chain would be made
    return f"(({text}) is {expected} or _sg_same({text}, {expected}))"


def _kept(read: Read, costly: bool) -> Any:
    """Return what a place is compared with."""
    name, value = read.name, read.value
    if isinstance(value, np.ndarray):
        if value.nbytes > LARGE and costly:
            warn_user(
                f"the array {name} has {value.nbytes:.2g} bytes, which are compared at each "
                "call, since the function uses its numbers while it is traced (as a mask, "
                "in float(), in NumPy functions of plain arrays). Pass it as an argument, or "
                "compute what depends on it outside",
                CaptureWarning,
            )
        return content(value)
    if type(value) is bytes and len(value) > LARGE and costly:
        warn_user(
            f"{name} holds {len(value):.2g} bytes of numbers and text, which are compared at "
            "each call. Make it an array of numbers, which is passed along, or pass it as an "
            "argument",
            CaptureWarning,
        )
    return value
