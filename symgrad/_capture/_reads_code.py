"""What code reads: cells, defaults, global names and imports of functions, parts of methods.

In it are handlers of errors that compiled code does not raise. Python's own arithmetic raises them
while it is traced (``_core/trace/_caught_errors.py``). Of NumPy's and SciPy's functions, as of
matrices that have no factors, the result is nan, and the handler is never executed: a warning says
so.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from .._core.graph import Where, warn_user
from .._core.trace import caught_from
from ..errors import CaptureWarning
from ._code_names import Names, names_in, once_a_code
from ._locations import BOUND, FIXED, At, Enter, Walk
from ._nondeterminism import warn_of_clocks
from ._ownership import by_symgrad, installed, of_library, of_packages
from ._versions import parts_of

#: Names in code that make text of a number.
WRITING = frozenset(("str", "repr", "format", "print"))

#: What a program does not raise.
_NUMPYS = frozenset(("FloatingPointError", "LinAlgError"))
_ARITHMETIC = _NUMPYS | {"ZeroDivisionError", "OverflowError", "ArithmeticError"}

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


@once_a_code
def tries_in(code: CodeType) -> tuple[Tried, ...]:
    """Return the blocks whose exceptions are caught, in a function and those that it defines."""
    steps = list(dis.get_instructions(code))
    places = {step.offset: k for k, step in enumerate(steps)}
    found = []
    for entry in dis.Bytecode(code).exception_entries:  # type: ignore[attr-defined]
        k = places.get(entry.target, len(steps))
        if k >= len(steps) - 1 or steps[k].opname != "PUSH_EXC_INFO" or entry.start >= entry.target:
            continue
        caught = caught_from(steps, k + 1, code)
        inside = [s for s in steps if entry.start <= s.offset < entry.end]
        names = {s.argval for s in inside if s.opname.startswith("LOAD_")}
        lines = [s.positions.lineno or 0 for s in inside if s.positions is not None]
        if caught:
            names = {n for n in names if isinstance(n, str)}
            found.append(Tried(frozenset(names), frozenset(caught), next(iter(lines), 0)))
    inner = [tries_in(x) for x in code.co_consts if isinstance(x, CodeType)]
    return tuple(chain(found, *inner))


def raises(code: CodeType) -> bool:
    """Tell whether code has an error of its own."""
    return any(step.opname == "RAISE_VARARGS" for step in dis.get_instructions(code))


def _raising(
    names: Iterable[str],
    scope: Mapping[str, Any],
    depth: int = 3,
    packages: Collection[str] = ("math", "numpy", "scipy"),
) -> str | None:
    """Return what of these names, or of the functions of the user's among them, raises."""
    names = frozenset(names)
    for name in sorted(names & scope.keys()):
        value = scope[name]
        home = value.__name__ if isinstance(value, ModuleType) else (
            getattr(value, "__module__", None) or ""
        )  # fmt: skip
        home = str(home).removeprefix("symgrad.").partition(".")[0]
        raising = _RAISING[home] if home in packages else frozenset[str]()
        if isinstance(value, ModuleType):
            for key in sorted(raising & names):
                return key
        elif getattr(value, "__name__", None) in raising:
            return name
        elif isinstance(value, FunctionType) and depth and not raising:
            inner = names_in(value.__code__)
            # One that raises errors itself tests its arguments, by conditions that are followed.
            if not raises(value.__code__) and _raising(
                inner.mentioned, value.__globals__, depth - 1, packages
            ):
                return name
    return None


def may_raise(f: FunctionType) -> bool:
    """Tell whether a function has errors for some values where compiled code has nan.

    Its own, or errors of arithmetic, which it may catch.
    """
    names = names_in(f.__code__)
    return (
        raises(f.__code__)
        or not _ARITHMETIC.isdisjoint(names.caught)
        or _raising(names.mentioned, f.__globals__) is not None
    )


def handlers_in(code: CodeType, scope: Mapping[str, Any]) -> bool:
    """Tell whether code catches errors of arithmetic, whoever raises them.

    ``scope``: the global names that the code sees.
    """
    return not _ARITHMETIC.isdisjoint(names_in(code).caught) or any(
        block.caught & _BROAD and _raising(block.names, scope) for block in tries_in(code)
    )


def unraised_in(code: CodeType, scope: Mapping[str, Any]) -> Iterator[str]:
    """Yield a warning for each ``except`` for an error of NumPy's or SciPy's functions."""
    for block in tries_in(code):
        if not block.caught & _BROAD or block.caught & _ARITHMETIC:
            continue
        what = _raising(block.names, scope, packages=("numpy", "scipy"))
        if what is not None:
            yield (
                f"an error that {what} raises in Python is caught here, but only while the "
                "function is traced: compiled code raises none, and the result is nan. Write "
                "instead: np.where on what is tested, or test the result outside "
                f"[{Where(code.co_filename, block.line, code.co_name)}]"
            )
    for name, line in names_in(code).caught.items():
        if name in _NUMPYS:
            yield (
                f"`except {name}` is seen only while the function is traced: compiled code raises "
                "no such error, and the result is inf or nan. Write instead: np.where on "
                "what is tested, or test the result outside "
                f"[{Where(code.co_filename, line or 0, code.co_name)}]"
            )


def _decorated() -> None:
    """Do nothing: what stands around it is looked at."""


#: The code of wrappers that call a function in a context, and know no more of it.
_CONTEXTS = frozenset(
    around(_decorated).__code__ for around in (contextlib.ContextDecorator(), np.errstate())
)


def read_function(walk: Walk, f: FunctionType, at: At) -> None:
    """Look at what a function reads, and at its code if it is the user's."""
    root = at.text in walk.constants
    if root:
        walk.own[f"{at.text}.__code__"] = f.__code__
    else:
        walk.note(f"{at.text}.__code__", "is", f.__code__, at.name)
    if f.__code__ in walk.opaque:
        walk.note(at.text, "is", f, at.name)
        return
    foreign = installed(f.__code__.co_filename) and not of_packages(
        f.__globals__.get("__name__"), walk.packages
    )
    # A library's wrapper may remember the functions that it calls (functools.singledispatch);
    # a loop of symgrad's around the user's function does not, nor does a context.
    alone = f.__code__ in _CONTEXTS or (root and by_symgrad(f.__code__.co_filename))
    if foreign and not alone:
        at = at._replace(fixed=FIXED)
    if "dispatch" in f.__dict__:
        walk.mentioned.add("isinstance")
    enter = walk.enters(f, at.fixed)
    names = names_in(f.__code__, walk.opaque)
    _cells(walk, f, at, enter, names, root)
    _defaults(walk, f, at, enter)
    if foreign:
        walk.library.append(f)
        return
    for key, value in f.__dict__.items():
        if key in walk.known and not key.startswith("__"):
            walk.visit(value, at.attribute(key, fixed=FIXED))
    walk.codes.setdefault(id(f.__code__), f.__code__)
    for text in unraised_in(f.__code__, f.__globals__):
        warn_user(text, CaptureWarning)
    # An object's own text is asked for by code that writes, which is met by itself; and a dataclass
    # compares classes of its own.
    writes = f.__name__ in ("__repr__", "__str__", "__format__")
    compares = f.__name__ == "__eq__" and f.__code__.co_filename == "<string>"
    of_itself = {"__class__", "type", *WRITING} if writes else {"__class__"} if compares else set()
    mentioned = names.mentioned - of_itself
    walk.mentioned |= mentioned
    if not mentioned.isdisjoint(("type", "__class__")):
        walk.asking.add(id(f.__globals__))
    walk.stored |= names.stored
    walk.formats = walk.formats or (names.formats and not writes)
    enter("globals", f.__globals__)
    _globals(walk, f, at, names)


def _cells(walk: Walk, f: FunctionType, at: At, enter: Enter, names: Names, root: bool) -> None:
    for k, cell in enumerate(f.__closure__ or ()):
        name = f.__code__.co_freevars[k]
        if walk.opaque and name not in names.free:
            continue
        walk.met[id(cell)] = cell
        here = f"{at.text}.__closure__[{k}]"
        first, _ = walk.texts.setdefault(id(cell), (here, name))
        if first != here and not root:  # of another function: one place, by one expression
            walk.note(here, "is", cell, name)
            here = first
        try:
            value = cell.cell_contents
        except ValueError:  # bound later
            walk.note(f"_sg_bound({walk.constant(cell) if root else here})", "is", False, name)
            continue
        inner = walk.cell(cell) if root else f"{here}.cell_contents"
        place = enter(("cell", k), value)
        if place is None:
            walk.pinned.add(id(cell))
        else:
            walk.cells_of[place] = id(cell)
        walk.visit(value, at.within(inner, name, place))


def _defaults(walk: Walk, f: FunctionType, at: At, enter: Enter) -> None:
    text, given = at.text, f.__defaults__ or ()
    first = f.__code__.co_argcount - len(given)
    if given:
        walk.note(f"_sg_len({text}.__defaults__)", "equal", len(given), at.name)
    for k, value in enumerate(given):
        name = f.__code__.co_varnames[first + k]
        place = enter(("default", k), value)
        walk.visit(value, at.within(f"{text}.__defaults__[{k}]", name, place))
    for key, value in (f.__kwdefaults__ or {}).items():
        place = enter(("kwdefault", key), value)
        walk.visit(value, at.within(f"{text}.__kwdefaults__[{key!r}]", key, place))


#: What everyone calls modules. Such names of a module's are not watched: no one has another there,
#: and a function that reads nothing else needs no looks.
_USUAL = {"np": ("numpy",), "sp": ("sympy", "scipy"), "sg": ("symgrad",),
          "plt": ("matplotlib.pyplot",)}  # fmt: skip


def _is_usual(name: str, value: Any) -> bool:
    return isinstance(value, ModuleType) and value.__name__ in _USUAL.get(name, (name,))


def _globals(walk: Walk, f: FunctionType, at: At, names: Names) -> None:
    scope = walk.scopes[id(f.__globals__)] = f.__globals__
    enter = walk.enters(scope, at.fixed)
    within = walk.constant(scope)
    if walk.main is None and not of_packages(scope.get("__name__"), walk.packages):
        walk.main = scope
    builtins = scope.get("__builtins__", {})
    builtins = vars(builtins) if isinstance(builtins, ModuleType) else builtins
    asked = dict.fromkeys(names.globals)
    if "globals" in asked:  # globals()["scale"]
        asked |= dict.fromkeys(sorted(names.mentioned))
    for key in asked:
        if not key.isidentifier():  # pytest's own, by which `assert` tells more
            continue
        here = key if scope is walk.main else f"{within}[{key!r}]"
        if key in scope:
            value = scope[key]
            if at.fixed == FIXED:  # else a copy has other clocks
                warn_of_clocks(key, value, f.__code__)
            usual = _is_usual(key, value) and of_library(value, walk.packages)
            if usual or walk.taken_as_fixed(value):
                here = walk.constant(value)
            walk.visit(value, at.within(here, key, enter(key, value)))
        elif key in builtins:
            if at.fixed == FIXED:
                warn_of_clocks(key, builtins[key], f.__code__)
            enter(("builtin", key), builtins[key])
            if scope is walk.main:
                walk.note(key, "is", builtins[key], key)
            else:
                walk.note(f"{key!r} in {within}", "is", False, key)
        else:  # defined later
            walk.note(f"{key!r} in {within}", "is", False, key)
    _imports(walk, scope, at, enter, names)


def _imports(walk: Walk, scope: dict[str, Any], at: At, enter: Enter, names: Names) -> None:
    """Look at the modules that code imports by itself."""
    for imported, level, listed in names.imports:
        if level:
            package = scope.get("__package__") or ""
            imported = ".".join([*package.split(".")[: 1 - level or None], imported]).strip(".")
        module = sys.modules.get(imported)
        enter(("import", imported), module)
        if module is None:
            walk.absent.add(imported)
        if module is None or of_library(module, walk.packages):
            continue
        walk.absent |= {f"{imported}.{k}" for k in listed if k not in vars(module)}
        walk.mentioned |= set(listed)
        walk.visit(module, at.within(walk.constant(module), imported, fixed=at.fixed or BOUND))


def read_method(walk: Walk, method: MethodType, at: At) -> None:
    """Look at a bound method's function and object."""
    enter = walk.enters(method, at.fixed)
    owner, function = method.__self__, method.__func__
    root = at.text in walk.constants
    inner = walk.constant(function) if root else f"{at.text}.__func__"
    walk.visit(function, at.within(inner, at.name, enter("function", function)))
    inner = walk.constant(owner) if root else f"{at.text}.__self__"
    # A method of a spline has a version by its name, with the numbers of now.
    fixed = None if parts_of(owner) is None else FIXED
    walk.visit(owner, at.within(inner, "self", enter("self", owner), fixed))


def read_partial(walk: Walk, value: functools.partial[Any], at: At) -> None:
    """Look at a partial function's function and arguments."""
    if type(value) is not functools.partial:
        at = at._replace(fixed=FIXED)
    text, name = at.text, at.name
    enter = walk.enters(value, at.fixed)
    walk.note(f"_sg_type({text})", "is", type(value), name)
    walk.visit(value.func, at.within(f"{text}.func", name, enter("func", value.func)))
    walk.note(f"_sg_len({text}.args)", "equal", len(value.args), name)
    for k, x in enumerate(value.args):
        walk.visit(x, at.within(f"{text}.args[{k}]", name, enter(("arg", k), x)))
    walk.note(f"(*{text}.keywords,)", "equal", tuple(value.keywords), name)
    for key, x in value.keywords.items():
        walk.visit(x, at.within(f"{text}.keywords[{key!r}]", key, enter(("keyword", key), x)))
