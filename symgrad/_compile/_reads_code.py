"""What code reads: cells, defaults, global names and imports of functions, parts of methods."""

from __future__ import annotations

import functools
import sys
from types import FunctionType, MethodType, ModuleType
from typing import Any

from ._handlers import warn_of_handlers
from ._places import BOUND, FIXED, At, Enter, Walk
from ._unfollowed import warn_of_clocks
from ._users import Names, by_symgrad, installed, names_in, of_library


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
    foreign = installed(f.__code__.co_filename) and (
        f.__globals__.get("__name__", "").partition(".")[0] != walk.package
    )
    # A library's wrapper may remember the functions that it calls (functools.singledispatch);
    # a loop of symgrad's around the user's function does not.
    if foreign and not (root and by_symgrad(f.__code__.co_filename)):
        at = at._replace(fixed=FIXED)
    if "dispatch" in f.__dict__:
        walk.mentioned.add("isinstance")
    enter = walk.enters(f, at.fixed)
    names = names_in(f.__code__, walk.opaque)
    _cells(walk, f, at, enter, names, root)
    _defaults(walk, f, at, enter)
    if foreign:
        return
    for key, value in f.__dict__.items():
        if key in walk.known and not key.startswith("__"):
            walk.visit(value, at.attribute(key, fixed=FIXED))
    walk.codes.setdefault(id(f.__code__), f.__code__)
    warn_of_handlers(f.__code__, f.__globals__)
    walk.mentioned |= names.mentioned
    walk.stored |= names.stored
    walk.formats = walk.formats or names.formats
    enter("globals", f.__globals__)
    _globals(walk, f, at, names)


def _cells(walk: Walk, f: FunctionType, at: At, enter: Enter, names: Names, root: bool) -> None:
    for k, cell in enumerate(f.__closure__ or ()):
        name = f.__code__.co_freevars[k]
        if walk.opaque and name not in names.free:
            continue
        walk.met[id(cell)] = cell
        try:
            value = cell.cell_contents
        except ValueError:  # bound later
            continue
        inner = walk.cell(cell) if root else f"{at.text}.__closure__[{k}].cell_contents"
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


def _globals(walk: Walk, f: FunctionType, at: At, names: Names) -> None:
    scope = walk.scopes[id(f.__globals__)] = f.__globals__
    if walk.main is None:
        walk.main = scope
    enter = walk.enters(scope, at.fixed)
    within = walk.constant(scope)
    builtins = scope.get("__builtins__", {})
    builtins = vars(builtins) if isinstance(builtins, ModuleType) else builtins
    for key in names.globals:
        if not key.isidentifier():  # pytest's own, by which `assert` tells more
            continue
        here = key if scope is walk.main else f"{within}[{key!r}]"
        if key in scope:
            value = scope[key]
            if at.fixed == FIXED:  # else a copy has other clocks
                warn_of_clocks(key, value, f.__code__)
            walk.visit(value, at.within(here, key, enter(key, value)))
        elif key in builtins:
            if at.fixed == FIXED:
                warn_of_clocks(key, builtins[key], f.__code__)
            enter(("builtin", key), builtins[key])
            if scope is walk.main:
                walk.note(key, "is", builtins[key], key)
            else:
                walk.note(f"{key!r} in {within}", "is", False, key)
    for imported, level, listed in names.imports:
        if level:
            package = scope.get("__package__") or ""
            imported = ".".join([*package.split(".")[: 1 - level or None], imported]).strip(".")
        module = sys.modules.get(imported)
        enter(("import", imported), module)
        if module is None or of_library(module):
            continue
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
    walk.visit(owner, at.within(inner, "self", enter("self", owner)))


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
