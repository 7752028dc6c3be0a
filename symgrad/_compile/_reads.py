"""What a function reads besides its arguments: a walk over its code, with the values of now.

Roots are the global names that its code loads, the cells that it closes over, its defaults, the
object of a method, the parts of a ``functools.partial``. Functions of the user's that are reached
are walked in turn. Of an object or a module that is reached only attributes count whose names
stand anywhere in the code that was reached: more may be found than is read, never less. Not
walked are Python's own modules and installed ones (NumPy, SciPy, ...), which are taken as fixed.

Each finding is an expression in Python, by which code that :mod:`._captures` writes reads the
same place again: ``config.alpha``, ``params['w']``, ``helper.__code__``.
"""

from __future__ import annotations

import functools
import sys
import weakref
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from operator import attrgetter, methodcaller
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any, NamedTuple

import numpy as np

from .._graph import Node, warn_user
from .._op import Op
from .._shapes import Size
from .._state import now
from .._trace import Traced
from ..errors import CaptureWarning
from ._handlers import warn_of_handlers
from ._unfollowed import GENERATORS, warn_of_clocks
from ._users import (
    ACCESSORS,
    ANY,
    attributes,
    by_symgrad,
    copied_class,
    copied_simply,
    functions_in,
    has_dictionary,
    installed,
    named_attributes,
    names_in,
    of_library,
    package_of,
    packed_form,
    python_of,
    recipe_of,
    slots_of,
    table_form,
    transformed,
    users_class,
)

#: Whether a copy can be made of what is found: one with other data and other functions; one with
#: other functions alone (classes, and what their methods reach); none.
FREE, BOUND, FIXED = 0, 1, 2

#: Most places that are watched, and how deep they may lie in one another by one expression.
MOST, DEEPEST = 4096, 24

#: Arrays of whole numbers and truth values up to this many bytes are numbers of the trace (they
#: are indices and masks mostly); larger ones are data, as all arrays of floats are.
SMALL = 1024

#: From this many bytes on, an array that has to be compared at each call is worth a warning.
LARGE = 1 << 20

#: Containers with more entries than this are compared as a whole if their entries are plain.
SEPARATE = 16

_PLAIN = (bool, int, str, bytes, type(None), type(Ellipsis), slice, range, frozenset)

#: What makes an object of a class, and names by which code gets at the class of an object.
_MAKING = frozenset(
    ("__init__", "__new__", "__post_init__", "__init_subclass__", "__class__", "type")
)

#: Names of modules that everyone gives them; they are not watched where nothing else is.
_USUAL = {"np": "numpy", "sp": ("sympy", "scipy"), "sg": "symgrad", "plt": "matplotlib.pyplot"}


# ---------------------------------------------------------------- what is found


@dataclass(frozen=True)
class Read:
    """A place that is read.

    Attributes
    ----------
    text:
        The place, as an expression.
    how:
        ``"data"`` for a number or an array, which may become an argument; else how it is
        compared: ``"is"`` or ``"equal"``.
    value:
        What is there now.
    name:
        The name that a user would know it by.
    """

    text: str
    how: str
    value: Any
    name: str


class Place(NamedTuple):
    """Where a value is kept: in which object, and under which key."""

    owner: int
    key: Any


class Walk:
    """All that a function reads, and what holds it.

    Attributes
    ----------
    reads:
        The places by their expressions, in the order of the code.
    roots:
        The function, and arguments that it reads from.
    places:
        Where the data are that may be put in others' place: the expression by the place.
    parts:
        The objects that a copy can be made of, by identity: each with its parts.
    bound:
        Further ones, of which a copy can be made with other functions, but no other data.
    met, scopes:
        The objects and cells, and the global names, that the function may change, by identity.
    held:
        The expressions of data that are not to be put in others' place.
    codes, generators:
        All code that was reached, and generators of random numbers.
    own:
        The code of functions that are given, and not found at a place.
    cells, constants:
        What names in the expressions stand for: the user's cells, and other objects.
    main:
        The global names of most of the code, which stand for themselves.
    stored:
        Names that the code assigns to.
    mentioned:
        All names in the code.
    """

    def __init__(
        self, root: Any, objects: Sequence[Any], opaque: frozenset[CodeType],
        mentioned: frozenset[str] = frozenset(), adapted: bool = False,
    ) -> None:  # fmt: skip
        self.opaque, self.roots = opaque, (root, *objects)
        self._free = BOUND if adapted else FREE
        self._package = package_of(root)
        self.reads: dict[str, Read] = {}
        self.places: dict[Place, str] = {}
        self.held: set[str] = set()
        self.met: dict[int, Any] = {}
        self.scopes: dict[int, dict[str, Any]] = {}
        self.parts: dict[int, tuple[Any, list[tuple[Any, Any]]]] = {}
        self.bound: dict[int, tuple[Any, list[tuple[Any, Any]]]] = {}
        self.cells: dict[str, Any] = {}
        self.constants: dict[str, Any] = {}
        self.own: dict[str, CodeType] = {}
        self.codes: dict[int, CodeType] = {}
        self.generators: list[Any] = []
        self._named: dict[int, str] = {}
        self._pinned: set[int] = set()
        self._cells_of: dict[Place, int] = {}
        self.main: dict[str, Any] | None = None
        self.stored: set[str] = set()
        self.mentioned: set[str] = set()
        self.formats = self.exceeded = False
        self.known = mentioned
        self._seen: dict[tuple[int, str, int], str] = {}
        self._classes: set[tuple[int, int]] = set()
        self._waiting: deque[tuple[Any, str, str, int, int, Place | None]] = deque()
        self.visit(root, self.constant(root), "", FREE, 0, None)
        for given in objects:
            name = given.__name__ if isinstance(given, type) else type(given).__name__
            self.visit(given, self.constant(given), name, BOUND, 0, None)
        while self._waiting:
            self._look(*self._waiting.popleft())
        # What code that is not copied reaches is not copied for other code, either: they may
        # hand values to each other through it.
        pinned = self._pinned - self.scopes.keys()
        self.places = {
            p: text for p, text in self.places.items()
            if p.owner not in pinned and self._cells_of.get(p) not in pinned
        }  # fmt: skip

    # ------------------------------------------------------------ names in expressions

    def constant(self, value: Any) -> str:
        """Return a name for an object that stays the same."""
        name = self._named.get(id(value))
        if name is None:
            name = self._named[id(value)] = f"_sg_c{len(self.constants)}"
            self.constants[name] = value
        return name

    def cell(self, cell: Any) -> str:
        """Return a name for a cell that the user's function closes over."""
        name = self._named.get(id(cell))
        if name is None:
            name = self._named[id(cell)] = f"_sg_k{len(self.cells)}"
            self.cells[name] = cell
        return name

    def note(self, text: str, how: str, value: Any, name: str) -> None:
        """Note a place."""
        if text in self.constants:  # the object itself, which nobody can put another for
            return
        if len(self.reads) < MOST:
            self.reads.setdefault(text, Read(text, how, value, name))
        elif not self.exceeded:
            self.exceeded = True
            warn_user(
                f"a compiled function reads more than {MOST} places besides its arguments "
                f"(near {name or text}): changes of the others are not seen. Pass what changes "
                "as an argument",
                CaptureWarning,
            )

    def visit(
        self, value: Any, text: str, name: str, fixed: int, depth: int, place: Place | None
    ) -> None:
        """Look at a value later.

        ``fixed``: which copy of what it belongs to can be made.
        """
        self._waiting.append((value, text, name, fixed, depth, place))

    def _within(self, owner: Any, fixed: int) -> Callable[[Any, Any], Place | None]:
        """Return what enters a part of an object that a copy could be made of."""
        if fixed > self._free:
            self._pinned.add(id(owner))
        if fixed == FIXED:
            return lambda key, value: None
        known = self.bound if fixed else self.parts
        parts = known.setdefault(id(owner), (owner, []))[1]

        def enter(key: Any, value: Any) -> Place | None:
            parts.append((key, value))
            return None if fixed > self._free else Place(id(owner), key)

        return enter

    # ------------------------------------------------------------ values

    def _look(
        self, value: Any, text: str, name: str, fixed: int, depth: int, place: Place | None
    ) -> None:
        kind = type(value)
        if isinstance(value, Enum):
            self.note(text, "is", value, name)
            if id(value) not in self.met:
                self.met[id(value)] = value
                self._class(kind, name, depth + 1)
                here = self.constant(value)
                for key in self.known & value.__dict__.keys() | {"_value_"}:
                    self.visit(getattr(value, key), f"{here}.{key}", name, FIXED, depth + 1, None)
            return
        if kind in _PLAIN or issubclass(kind, (int, str)):
            self.note(text, "equal", value, name)
            return
        if isinstance(value, (float, complex, np.generic, np.ndarray)):
            self._datum(value, text, name, fixed, depth, place)
            return
        if kind in (Traced, Size) or hasattr(kind, "overwritten"):
            if now().guards is None:  # left by a trace; somebody may put a number there again
                self.note(text, "is", value, name)
            return
        if isinstance(value, Op):
            return
        if isinstance(value, Node):  # nobody can change it, or what it is made of
            self.note(text, "is", value, name)
            return
        if hasattr(kind, "__symgrad_step__"):  # an eager tensor
            self._datum(value._data, f"{text}._data", name, fixed, depth, place)
            return
        if not self._is_new(value, text, name, fixed):
            return
        if depth > DEEPEST:  # from here on by the object itself, or expressions would grow
            self.note(text, "is", value, name)
            text, depth = self.constant(value), 0
        depth += 1
        if transformed(value):
            self.note(text, "is", value, name)
            inner = recipe_of(value)[1][0]
            self._within(value, fixed)("inner", inner)
            self.visit(inner, self.constant(inner), name, fixed, depth, None)
        elif (python := python_of(value)) is not None:
            self.note(text, "is", value, name)
            fixed = max(fixed, BOUND)
            self._within(value, fixed)("inner", python)
            self.visit(python, self.constant(python), name, fixed, depth, None)
        elif kind is FunctionType:
            self._function(value, text, name, fixed, depth)
        elif kind is MethodType:
            self._method(value, text, name, fixed, depth)
        elif isinstance(value, functools.partial):
            self._partial(value, text, name, fixed, depth)
        elif isinstance(value, (list, tuple, deque)):
            copied = kind in (list, tuple) or hasattr(kind, "_fields")
            self._sequence(value, text, name, fixed if copied else FIXED, depth)
            if users_class(kind):
                self._instance(value, text, name, fixed, depth)
        elif isinstance(value, (dict, MappingProxyType)):
            self._dict(value, text, name, fixed, depth)
            if users_class(kind):
                self._instance(value, text, name, fixed, depth)
        elif isinstance(value, (weakref.ref, ContextVar)):
            inner = f"{text}.get(None)" if isinstance(value, ContextVar) else f"{text}()"
            found = value.get(None) if isinstance(value, ContextVar) else value()
            self.note(text, "is", value, name)
            self.visit(found, inner, name, FIXED, depth, None)
        elif isinstance(value, (memoryview, array)):
            self.note(f"{text}.tobytes()", "equal", value.tobytes(), name)
        elif isinstance(value, (attrgetter, methodcaller)):
            self.note(text, "is", value, name)
            self.mentioned |= {part for x in value.__reduce__()[1] for part in str(x).split(".")}
        elif isinstance(value, (set, bytearray)):
            self.note(f"_sg_repr({text})", "equal", repr(value), name)
        elif isinstance(value, ModuleType):
            self._module(value, text, name, fixed, depth)
        elif isinstance(value, type):
            self.note(text, "is", value, name)
            self._class(value, name, depth, text, fixed=fixed, bound=False)
            if users_class(kind):  # a metaclass
                own = {key for base in value.__mro__ for key in vars(base)}
                self._class(kind, name, depth, text, own=own)
        else:
            self._instance(value, text, name, fixed, depth)

    def _is_new(self, value: Any, text: str, name: str, fixed: int) -> bool:
        """Tell whether an object is to be looked into.

        One that is met at two places is looked into at the first, and both have to be its places
        for as long as the trace is to be used; or graphs with cycles would have no end.
        """
        self.met[id(value)] = value
        key = id(value), text if isinstance(value, tuple) else "", fixed
        first = self._seen.get(key)
        if first is None:
            self._seen[key] = text
            return True
        if first != text:
            self.note(first, "is", value, name)
            self.note(text, "is", value, name)
        return False

    def _datum(
        self, value: Any, text: str, name: str, fixed: int, depth: int, place: Place | None
    ) -> None:
        kind = type(value)
        if isinstance(value, np.ma.MaskedArray):
            self.note(f"{text}.__class__", "is", kind, name)
            self.held.update((f"{text}.data", f"{text}.mask"))
            self.note(f"{text}.data", "data", value.data, name)
            self.note(f"{text}.mask", "data", value.mask, name)
            self.note(f"{text}.fill_value", "equal", value.fill_value, name)
            return
        if kind is not np.ndarray and users_class(kind):
            self._instance(value, text, name, FIXED, depth)
        if isinstance(value, np.ndarray) and value.dtype == object:
            self.note(f"{text}.shape", "equal", value.shape, name)
            for k, x in enumerate(value.flat):
                self.visit(x, f"{text}.flat[{k}]", f"{name}[{k}]", FIXED, depth, None)
            return
        if isinstance(value, np.ndarray) and value.dtype.char not in "fdFDbBhHiIlLqQ?":
            self.note(f"_sg_repr({text}.tolist())", "equal", repr(value.tolist()), name)
            return
        if isinstance(value, np.generic) and value.dtype.char not in "fdFD":
            self.note(text, "equal", value, name)
            return
        if fixed > self._free or place is None:
            self.held.add(text)
        else:
            self.places[place] = text
        self.note(text, "data", value, name)

    def _function(self, f: FunctionType, text: str, name: str, fixed: int, depth: int) -> None:
        root = text in self.constants
        if root:
            self.own[f"{text}.__code__"] = f.__code__
        else:
            self.note(f"{text}.__code__", "is", f.__code__, name)
        if f.__code__ in self.opaque:
            self.note(text, "is", f, name)
            return
        foreign = installed(f.__code__.co_filename) and (
            f.__globals__.get("__name__", "").partition(".")[0] != self._package
        )
        # A library's wrapper may remember the functions that it calls (functools.singledispatch);
        # a loop of symgrad's around the user's function does not.
        if foreign and not (root and by_symgrad(f.__code__.co_filename)):
            fixed = FIXED
        if "dispatch" in f.__dict__:
            self.mentioned.add("isinstance")
        enter = self._within(f, fixed)
        names = names_in(f.__code__, self.opaque)
        for k, cell in enumerate(f.__closure__ or ()):
            if self.opaque and f.__code__.co_freevars[k] not in names.free:
                continue
            self.met[id(cell)] = cell
            try:
                value = cell.cell_contents
            except ValueError:  # bound later
                continue
            inner = self.cell(cell) if root else f"{text}.__closure__[{k}].cell_contents"
            place = enter(("cell", k), value)
            if place is None:
                self._pinned.add(id(cell))
            else:
                self._cells_of[place] = id(cell)
            self.visit(value, inner, f.__code__.co_freevars[k], fixed, depth, place)
        first = f.__code__.co_argcount - len(f.__defaults__ or ())
        if f.__defaults__:
            self.note(f"_sg_len({text}.__defaults__)", "equal", len(f.__defaults__), name)
        for k, value in enumerate(f.__defaults__ or ()):
            place, called = enter(("default", k), value), f.__code__.co_varnames[first + k]
            self.visit(value, f"{text}.__defaults__[{k}]", called, fixed, depth, place)
        for key, value in (f.__kwdefaults__ or {}).items():
            place = enter(("kwdefault", key), value)
            self.visit(value, f"{text}.__kwdefaults__[{key!r}]", key, fixed, depth, place)
        if foreign:
            return
        for key, value in f.__dict__.items():
            if key in self.known and not key.startswith("__"):
                self.visit(value, f"{text}.{key}", f"{name}.{key}", FIXED, depth, None)
        self.codes.setdefault(id(f.__code__), f.__code__)
        warn_of_handlers(f.__code__, f.__globals__)
        self.mentioned |= names.mentioned
        self.stored |= names.stored
        self.formats = self.formats or names.formats
        scope = self.scopes[id(f.__globals__)] = f.__globals__
        if self.main is None:
            self.main = scope
        enter("globals", scope)
        enter = self._within(scope, fixed)
        within = self.constant(scope)
        builtins = scope.get("__builtins__", {})
        builtins = vars(builtins) if isinstance(builtins, ModuleType) else builtins
        for key in names.globals:
            if not key.isidentifier():  # pytest's own, by which `assert` tells more
                continue
            here = key if scope is self.main else f"{within}[{key!r}]"
            if key in scope:
                value = scope[key]
                if fixed == FIXED:  # else a copy has other clocks
                    warn_of_clocks(key, value, f.__code__)
                self.visit(value, here, key, fixed, depth, enter(key, value))
            elif key in builtins:
                if fixed == FIXED:
                    warn_of_clocks(key, builtins[key], f.__code__)
                enter(("builtin", key), builtins[key])
                if scope is self.main:
                    self.note(key, "is", builtins[key], key)
                else:
                    self.note(f"{key!r} in {within}", "is", False, key)
        for imported, level, listed in names.imports:
            if level:
                package = scope.get("__package__") or ""
                imported = ".".join([*package.split(".")[: 1 - level or None], imported]).strip(".")
            module = sys.modules.get(imported)
            enter(("import", imported), module)
            if module is None or of_library(module):
                continue
            self.mentioned |= set(listed)
            self.visit(module, self.constant(module), imported, fixed or BOUND, depth, None)

    def _method(self, method: MethodType, text: str, name: str, fixed: int, depth: int) -> None:
        enter = self._within(method, fixed)
        owner, function = method.__self__, method.__func__
        root = text in self.constants
        self.visit(
            function, self.constant(function) if root else f"{text}.__func__", name, fixed, depth,
            enter("function", function),
        )  # fmt: skip
        self.visit(
            owner, self.constant(owner) if root else f"{text}.__self__", "self", fixed, depth,
            enter("self", owner),
        )  # fmt: skip

    def _partial(self, value: Any, text: str, name: str, fixed: int, depth: int) -> None:
        if type(value) is not functools.partial:
            fixed = FIXED
        enter = self._within(value, fixed)
        self.note(f"_sg_type({text})", "is", type(value), name)
        self.visit(value.func, f"{text}.func", name, fixed, depth, enter("func", value.func))
        self.note(f"_sg_len({text}.args)", "equal", len(value.args), name)
        for k, x in enumerate(value.args):
            self.visit(x, f"{text}.args[{k}]", name, fixed, depth, enter(("arg", k), x))
        self.note(f"(*{text}.keywords,)", "equal", tuple(value.keywords), name)
        for key, x in value.keywords.items():
            place = enter(("keyword", key), x)
            self.visit(x, f"{text}.keywords[{key!r}]", key, fixed, depth, place)

    def _sequence(self, value: Any, text: str, name: str, fixed: int, depth: int) -> None:
        if len(value) > SEPARATE and (packed := packed_form(value)) is not None:
            self.note(f"_sg_packed({text})", "equal", packed, name)
            for f in {id(f): f for f in functions_in(value)}.values():
                self.visit(f, self.constant(f), name, FIXED, depth, None)
            return
        self.note(f"_sg_type({text})", "is", type(value), name)
        self.note(f"_sg_len({text})", "equal", len(value), name)
        enter = self._within(value, fixed)
        for k, x in enumerate(value):
            self.visit(x, f"{text}[{k}]", f"{name}[{k}]", fixed, depth, enter(k, x))

    def _dict(self, value: Any, text: str, name: str, fixed: int, depth: int) -> None:
        if type(value) is not dict:
            fixed = FIXED
        if len(value) > SEPARATE and (packed := packed_form(value)) is not None:
            self.note(f"_sg_packed({text})", "equal", packed, name)
            for f in {id(f): f for f in functions_in(value)}.values():
                self.visit(f, self.constant(f), name, FIXED, depth, None)
            return
        self.note(f"_sg_type({text})", "is", type(value), name)
        self.note(f"(*{text},)", "equal", tuple(value), name)
        enter = self._within(value, fixed)
        for key, x in value.items():
            if key == "__builtins__":  # in the names of code that was executed
                continue
            place = enter(key, x)
            index = repr(key) if type(key) in (str, int, bool) else self.constant(key)
            self.visit(x, f"{text}[{index}]", f"{name}[{key!r}]", fixed, depth, place)

    def _module(self, module: ModuleType, text: str, name: str, fixed: int, depth: int) -> None:
        if of_library(module):
            usual = _USUAL.get(name, ())
            if module.__name__ not in (usual, name) and module.__name__ not in usual:
                self.note(text, "is", module, name)
            return
        self.note(text, "is", module, name)
        enter = self._within(module, fixed)
        self._names_of(text, module, name)
        for key in sorted(vars(module) if self.known & ANY else self.known & vars(module).keys()):
            if not key.startswith("__"):
                x = vars(module)[key]
                self.visit(x, f"{text}.{key}", f"{name}.{key}", fixed, depth, enter(key, x))

    def _class(
        self, kind: type, name: str, depth: int, through: str = "",
        enter: Callable[[Any, Any], Place | None] | None = None, own: Iterable[str] = (),
        fixed: int = FIXED, bound: bool = True,
    ) -> None:  # fmt: skip
        """Look at a class's functions and attributes.

        ``through``: an object of the class, whose ``own`` attributes come first, or the class
        itself (not ``bound``). No copy of a class has other data.
        """
        known, every = set(own), bool(self.known & ANY)
        # An object that is there already is not made again, by code that names no class.
        makes = every or not (through and bound) or bool(self.known & _MAKING) or any(
            isinstance(x, classmethod) for base in kind.__mro__ for x in vars(base).values()
        )  # fmt: skip
        for base in kind.__mro__:
            if not users_class(base):
                continue
            home = self.constant(base)
            self._names_of(home, base, name)
            level = BOUND if fixed < FIXED and copied_class(base) else FIXED
            hold = self._within(base, level)
            if (id(base), level) in self._classes:
                hold = _not_held
            self._classes.add((id(base), level))
            for parent in base.__bases__:
                hold(parent, parent)
            for key, x in vars(base).items():
                special = key.startswith("__") and key.endswith("__")
                if not special and not every and key not in self.known:
                    continue
                if key in _MAKING and not makes:
                    continue
                first = bool(through) and not special and key not in known
                known.add(key)
                place = f"{through}.{key}" if first else f"{home}.{key}"
                inner: list[tuple[Any, str]] = []
                if isinstance(x, FunctionType):
                    inner = [(x, f"{place}.__func__" if first and bound else place)]
                elif isinstance(x, staticmethod):
                    inner = [(x.__func__, place)]
                elif isinstance(x, classmethod):
                    inner = [(x.__func__, f"{place}.__func__")]
                elif isinstance(x, property):
                    parts = ((getattr(x, p), f"{home}.{key}.{p}") for p in ACCESSORS)
                    inner = [(f, text) for f, text in parts if f is not None]
                elif isinstance(x, functools.cached_property):
                    inner = [(x.func, f"{home}.{key}.func")]
                elif not special and not isinstance(x, MemberDescriptorType):
                    if first and bound and hasattr(type(x), "__get__"):
                        # Asked of the object, it would give what it makes of it.
                        place = f"{home}.__dict__[{key!r}]"
                        self.visit(x, place, f"{name}.{key}", level, depth, hold(key, x))
                    elif first and enter is not None:
                        self.visit(x, place, f"{name}.{key}", fixed, depth, enter(key, x))
                    else:
                        self.visit(x, place, f"{name}.{key}", level, depth, hold(key, x))
                if inner:
                    hold(key, x)
                within = self._within(x, level)
                for value, text in inner:
                    within(value, value)
                    self.visit(value, text, key, level, depth, None)

    def _instance(self, value: Any, text: str, name: str, fixed: int, depth: int) -> None:
        kind = type(value)
        if isinstance(value, (BuiltinFunctionType, np.ufunc)):
            if getattr(value, "__name__", "") != name:
                self.note(text, "is", value, name)
            return
        if kind is not SimpleNamespace and not users_class(kind):
            self._foreign(value, text, name, fixed, depth)
            return
        self.note(f"_sg_type({text})", "is", kind, name)
        if kind is not SimpleNamespace and not copied_simply(kind):
            # Data are put into objects that are no more than their attributes.
            fixed = max(fixed, BOUND if copied_class(kind) else FIXED)
        enter = self._within(value, fixed)
        if fixed < FIXED:
            self.bound.setdefault(id(value), (value, []))[1].append(("__class__", kind))
        # What the code of library classes reads is not known.
        every = bool(self.known & ANY) or hasattr(kind, "__getattr__") or not copied_simply(kind)
        own = set()
        self._names_of(text, value, name)
        for key, x in attributes(value) if every else named_attributes(value, self.known):
            own.add(key)
            self.visit(x, f"{text}.{key}", f"{name}.{key}", fixed, depth, enter(key, x))
        self._class(kind, name, depth, text, enter, own, fixed)

    def _names_of(self, text: str, value: Any, name: str) -> None:
        """Watch which attributes an object has, where the code may ask."""
        if not self.known & (ANY | {"hasattr", "AttributeError"}):
            return
        if has_dictionary(value):
            self.note(f"(*{text}.__dict__,)", "equal", (*value.__dict__,), name)
        for key in slots_of(type(value)):
            if not hasattr(value, key):
                self.note(f"_sg_hasattr({text}, {key!r})", "is", False, name)

    def _foreign(self, value: Any, text: str, name: str, fixed: int, depth: int) -> None:
        """Look at an object of an installed package: its arrays, numbers and functions."""
        self.note(text, "is", value, name)
        if isinstance(value, GENERATORS):
            self.generators.append(value)
            return
        if hasattr(value, "to_numpy"):  # tables of pandas and others, whose data lie deep in them
            self.note(f"_sg_table({text})", "equal", table_form(value), name)
            return
        if isinstance(value, functools._lru_cache_wrapper):  # calls this one whatever it says
            self.visit(
                value.__wrapped__, self.constant(value.__wrapped__), name, FIXED, depth, None
            )
            return
        module = type(value).__module__
        standard = module in ("collections", "weakref")  # UserDict, ChainMap
        package = module.rpartition(".")[0]
        for key, x in attributes(value):
            plain = isinstance(x, (int, float, complex, str, np.ndarray, FunctionType, tuple, list))
            plain = plain or (isinstance(x, MethodType) and users_class(type(x.__self__)))
            plain = plain or isinstance(x, functools.partial) or users_class(type(x))
            plain = plain or (standard and isinstance(x, (dict, deque)))
            # Splines of SciPy 1.18 keep their coefficients in another object of scipy.interpolate.
            plain = plain or (bool(package) and type(x).__module__.startswith(f"{package}."))
            if key.isidentifier() and (plain or transformed(x)):
                self.visit(x, f"{text}.{key}", f"{name}.{key}", FIXED, depth, None)


def _not_held(key: Any, value: Any) -> None:
    """Enter nothing, for a class whose parts are entered already."""


def read_by(
    root: Any, objects: Sequence[Any] = (), opaque: frozenset[CodeType] = frozenset(),
    adapted: bool = False,
) -> Walk:  # fmt: skip
    """Return all that a function reads besides its arguments.

    ``objects``: arguments that are no numbers, whose attributes it reads, too. ``opaque``: code of
    functions that Python calls in each call, and that read for themselves. ``adapted``: classes
    are copied, too, so that data can be put into what their methods read.
    """
    found = Walk(root, objects, opaque, adapted=adapted)
    while not found.mentioned <= found.known:  # names found late may have been passed over
        found = Walk(root, objects, opaque, frozenset(found.mentioned | found.known), adapted)
    return found
