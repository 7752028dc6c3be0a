"""Functions of installed packages that decide by the exact type of a value.

Nobody can answer ``type(x) is ndarray`` for a traced value but an adapted copy of the code, in
which ``type`` is another (:mod:`symgrad._core.base.stand_in_types`). Packages are traced as they
stand where that works, and such a test does not fail, it takes the other branch. So these functions
are looked for beforehand, among those that the user's code names and those of their packages that
they name. So are those that give a value to code in C which looks at its type without asking it,
and raises an error of its own: ``Decimal(x)``, ``timedelta(x)``, ``float.hex(x)``.
"""

from __future__ import annotations

import dis
import itertools
import sys
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from .._core.graph import Where
from ._code_names import once_a_code
from ._ownership import FIXED, never_adapted, of_library
from ._versions import has_alias

#: So many functions of a package are looked at for each that the user's code names.
REACH = 1000

#: What looks at types in C, by the modules that have it, and methods of ``float``.
CONVERTING = {
    "decimal": frozenset(("Decimal", "Context")),
    "marshal": frozenset(("dump", "dumps")),
    "datetime": frozenset(("timedelta",)),
}
OF_FLOAT = frozenset(vars(float)) - {"__new__", "__doc__", "__getattribute__", "fromhex"}

#: Tests by the functions, with their classes, that were looked at, which are kept.
_known: dict[tuple[int, int], tuple[Any, Any, dict[str, Where]]] = {}


def type_tests(values: Iterable[Any], names: AbstractSet[str]) -> dict[str, Where]:
    """Return the packages that decide by exact types, each with the line of a test.

    Parameters
    ----------
    values:
        Functions, classes and modules of libraries that a function of the user's reads.
    names:
        All names in the user's code: attributes of the modules and classes among them.
    """
    found: dict[str, Where] = {}
    for value in values:
        for function, owner in _entered(value, names):
            key = id(function), id(owner)
            if key not in _known:
                _known[key] = function, owner, _looked_up(function, owner)
            found |= _known[key][2]
    return found


def _entered(
    value: Any, names: AbstractSet[str], owner: type | None = None
) -> Iterator[tuple[FunctionType, type | None]]:
    """Yield the functions that code with these names may call of a value, with their classes."""
    if isinstance(value, (MethodType, staticmethod, classmethod)):
        value = value.__func__
    if isinstance(value, property):
        value = value.fget
    if isinstance(value, FunctionType):
        if _adaptable(value.__module__):
            yield value, owner
    elif isinstance(value, ModuleType):
        if _adaptable(value.__name__):
            for name in names & vars(value).keys():
                if not isinstance(vars(value)[name], ModuleType):
                    yield from _entered(vars(value)[name], names)
    elif isinstance(value, type) and _adaptable(value.__module__):
        yield from _methods(value, names, special=True)


def _methods(
    kind: type, names: AbstractSet[str], special: bool
) -> Iterator[tuple[FunctionType, type | None]]:
    """Yield the methods of a class with some names, and those that Python calls itself."""
    for base in kind.__mro__:
        if not _adaptable(base.__module__):
            continue
        for name, x in vars(base).items():
            called = special and name.startswith("__") and name.endswith("__")
            if (called or name in names) and not isinstance(x, type):
                yield from _entered(x, names, kind)


def _adaptable(module: Any) -> bool:
    """Tell whether a module is one of an installed package that can be adapted."""
    if not isinstance(module, str):
        return False
    package = module.partition(".")[0]
    if package in FIXED or never_adapted(package):
        return False
    return module in sys.modules and of_library(sys.modules[module])


def _looked_up(function: FunctionType, owner: type | None) -> dict[str, Where]:
    """Return the first test of each package that a function of one may come to."""
    found: dict[str, Where] = {}
    seen = {(id(function.__code__), id(owner))}
    waiting = [(function, owner)]
    asks, aliased = False, None
    while waiting and len(seen) < REACH:
        f, kind = waiting.pop()
        code, there = f.__code__, f.__globals__
        package = (f.__module__ or "").partition(".")[0]
        names = _names(code)
        held = [there[name] for name in names & there.keys()]
        held += [cell.cell_contents for cell in f.__closure__ or () if _is_full(cell)]
        line = _decides(code) or _converts(code, names, held)
        asks = asks or "isinstance" in names
        if aliased is None and any(has_alias(x, names) for x in held):
            aliased = package, Where(code.co_filename, code.co_firstlineno, code.co_name)
        if line is not None:
            found.setdefault(package, Where(code.co_filename, line, code.co_name))
        inner = [pair for x in held if _home(x) == package for pair in _entered(x, names)]
        if kind is not None:
            inner += _methods(kind, names, special=False)
        for pair in inner:
            key = id(pair[0].__code__), id(pair[1])
            if key not in seen:
                seen.add(key)
                waiting.append(pair)
    if asks and aliased is not None:
        found.setdefault(*aliased)
    return found


def _home(value: Any) -> str | None:
    """Return the package of a function, class or module; objects of others are not asked."""
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0]
    home = value.__module__ if isinstance(value, (FunctionType, type)) else None
    return home.partition(".")[0] if isinstance(home, str) else None


def _is_full(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


@once_a_code
def _names(code: CodeType) -> frozenset[str]:
    """Return the names in code and in the functions that it defines."""
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return frozenset(code.co_names).union(*map(_names, inner))


def _converts(code: CodeType, names: AbstractSet[str], held: Iterable[Any]) -> int | None:
    """Return the first line of code that names a conversion in C; None if there is none."""
    homes = names | {x.__name__ for x in held if isinstance(x, ModuleType)}
    named = any(home in homes and names & own for home, own in CONVERTING.items())
    named = named or any(
        getattr(x, "__name__", None) in CONVERTING.get(str(getattr(x, "__module__", None)), ())
        for x in held if isinstance(x, (type, BuiltinFunctionType))
    )  # fmt: skip
    return code.co_firstlineno if named or _by_float(code) else None


@once_a_code
def _by_float(code: CodeType) -> bool:
    """Tell whether code, or a function that it defines, takes a method from ``float`` itself."""
    if any(isinstance(inner, CodeType) and _by_float(inner) for inner in code.co_consts):
        return True
    if "float" not in code.co_names or OF_FLOAT.isdisjoint(code.co_names):
        return False
    steps = [s for s in dis.get_instructions(code) if s.opname not in _PASSED]
    return any(
        a.opname in ("LOAD_GLOBAL", "LOAD_NAME") and a.argval == "float"
        and b.opname in ("LOAD_ATTR", "LOAD_METHOD") and b.argval in OF_FLOAT
        for a, b in itertools.pairwise(steps)
    )  # fmt: skip


_TEXT = ("FORMAT_", "CONVERT_VALUE", "BUILD_STRING")
_PASSED = ("CACHE", "PRECALL", "PUSH_NULL", "NOP", "KW_NAMES", "RESUME")


@once_a_code
def _decides(code: CodeType) -> int | None:
    """Return the line at which code decides by ``type(x)``; None if it does nowhere.

    Text made of a type, a message that is raised, and a method that asks for the class of its own
    object decide nothing.
    """
    for inner in code.co_consts:
        if isinstance(inner, CodeType) and (line := _decides(inner)) is not None:
            return line
    if "type" not in code.co_names:
        return None
    steps = [s for s in dis.get_instructions(code) if s.opname not in _PASSED]
    line = code.co_firstlineno
    for k, step in enumerate(steps):
        line = step.starts_line if type(step.starts_line) is int else _line(step, line)
        if not (step.opname in ("LOAD_GLOBAL", "LOAD_NAME") and step.argval == "type"):
            continue
        call = next((j for j in range(k + 1, len(steps)) if steps[j].opname.startswith("CALL")), 0)
        if not call or steps[call].arg != 1:
            continue
        if call == k + 2 and steps[k + 1].argval in ("self", "cls"):
            continue
        if not _is_text(steps[call + 1 :]):
            return line
    return None


def _line(step: Any, before: int) -> int:
    """Return the line of an instruction, in all versions of Python."""
    positions = step.positions
    return before if positions is None or positions.lineno is None else positions.lineno


def _is_text(steps: list[Any]) -> bool:
    """Tell whether a type becomes text or part of an error in the instructions that follow."""
    for step in steps:
        if step.opname.startswith(_TEXT) or step.opname == "RAISE_VARARGS":
            return True
        if step.is_jump_target or step.opname.startswith(
            ("POP_JUMP", "JUMP", "STORE_", "RETURN_", "FOR_ITER", "IS_OP", "CONTAINS_OP",
             "COMPARE_OP")
        ):  # fmt: skip
            return False
    return False
