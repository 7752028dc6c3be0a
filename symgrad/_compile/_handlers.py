"""Handlers of errors that compiled arithmetic does not raise.

``1.0 / x`` is inf or nan in a program, and so are roots of negative numbers and factors of
matrices that have none: what stands in ``except`` for them is never carried out, which is said.
"""

from __future__ import annotations

import dis
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import chain
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from .._graph import Where, warn_user
from ..errors import CaptureWarning
from ._users import named_before, names_in

#: What a program's arithmetic does not raise.
_ARITHMETIC = frozenset(
    ("ZeroDivisionError", "FloatingPointError", "OverflowError", "ArithmeticError", "LinAlgError")
)


#: Handlers that are for errors of arithmetic among others.
_BROAD = frozenset(("ValueError", "Exception", "BaseException", "suppress"))

#: What raises them in Python, by the packages that have it.
_RAISING = {
    "math": frozenset(
        ("sqrt", "log", "log2", "log10", "log1p", "acos", "asin", "acosh", "atanh", "fmod",
         "gamma", "lgamma", "pow")
    ),
    "numpy": frozenset(("cholesky", "inv", "solve", "tensorsolve")),
    "scipy": frozenset(
        ("cholesky", "cho_factor", "inv", "solve", "solve_triangular", "solve_banded",
         "solveh_banded", "brentq", "brenth", "bisect", "ridder")
    ),
}  # fmt: skip


class Tried(NamedTuple):
    """A ``try`` block: the names in it, those of the exceptions that are caught, its line."""

    names: frozenset[str]
    caught: frozenset[str]
    line: int


@lru_cache(maxsize=4096)
def tries_in(code: CodeType) -> tuple[Tried, ...]:
    """Return the blocks whose exceptions are caught, in a function and those that it defines."""
    steps = list(dis.get_instructions(code))
    places = {step.offset: k for k, step in enumerate(steps)}
    found = []
    for entry in dis.Bytecode(code).exception_entries:  # type: ignore[attr-defined]
        k = places.get(entry.target, len(steps))
        if k >= len(steps) - 1 or steps[k].opname != "PUSH_EXC_INFO" or entry.start >= entry.target:
            continue
        after = steps[k + 1].opname
        if after == "POP_TOP":
            caught = {"BaseException"}
        elif after == "WITH_EXCEPT_START":
            caught = {"suppress"} & set(code.co_names)
        else:
            caught = set()
            for j in range(k + 1, len(steps)):
                if steps[j].opname == "PUSH_EXC_INFO":
                    break
                if steps[j].opname == "CHECK_EXC_MATCH":
                    caught |= named_before(steps, j).keys()
        inside = [s for s in steps if entry.start <= s.offset < entry.end]
        names = {s.argval for s in inside if s.opname.startswith("LOAD_")}
        lines = [s.positions.lineno or 0 for s in inside if s.positions is not None]
        if caught:
            names = {n for n in names if isinstance(n, str)}
            found.append(Tried(frozenset(names), frozenset(caught), next(iter(lines), 0)))
    inner = [tries_in(x) for x in code.co_consts if isinstance(x, CodeType)]
    return tuple(chain(found, *inner))


def _raises(code: CodeType) -> bool:
    return any(step.opname == "RAISE_VARARGS" for step in dis.get_instructions(code))


def _raising(names: Iterable[str], scope: Mapping[str, Any], depth: int = 3) -> str | None:
    """Return what of these names, or of the functions of the user's among them, raises."""
    names = frozenset(names)
    for name in sorted(names & scope.keys()):
        value = scope[name]
        home = value.__name__ if isinstance(value, ModuleType) else (
            getattr(value, "__module__", None) or ""
        )  # fmt: skip
        raising = _RAISING.get(str(home).partition(".")[0], frozenset[str]())
        if isinstance(value, ModuleType):
            for key in sorted(raising & names):
                return key
        elif getattr(value, "__name__", None) in raising:
            return name
        elif isinstance(value, FunctionType) and depth and not raising:
            inner = names_in(value.__code__)
            # One that raises errors itself tests its arguments, by conditions that are followed.
            if not _raises(value.__code__) and _raising(
                inner.mentioned, value.__globals__, depth - 1
            ):
                return name
    return None


def warn_of_handlers(code: CodeType, scope: Mapping[str, Any]) -> None:
    """Warn of ``except`` for what compiled arithmetic does not raise.

    ``scope``: the global names that the code sees.
    """
    for block in tries_in(code):
        if not block.caught & _BROAD or block.caught & _ARITHMETIC:
            continue
        what = _raising(block.names, scope)
        if what is not None:
            warn_user(
                f"an error that {what} raises in Python is caught here, but only while the "
                "function is traced: compiled code raises none, and the result is nan. Write "
                "instead: np.where on what is tested, or test the result outside "
                f"[{Where(code.co_filename, block.line, code.co_name)}]",
                CaptureWarning,
            )
    for name, line in names_in(code).caught.items():
        if name in _ARITHMETIC:
            warn_user(
                f"`except {name}` is seen only while the function is traced: compiled arithmetic "
                "raises nothing, a division by zero is inf or nan. Write instead: np.where on "
                "what is tested, or test the result outside "
                f"[{Where(code.co_filename, line or 0, code.co_name)}]",
                CaptureWarning,
            )
