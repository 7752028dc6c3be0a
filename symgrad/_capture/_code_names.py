"""Names in code: what instructions read, import, assign to and catch."""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, NamedTuple, TypeVar

from .._core.graph import CodeTable
from .._core.trace import named_before

T = TypeVar("T")


class Itself:
    """An object as a key, by its identity."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def once_a_code(find: Callable[..., T]) -> Callable[..., T]:
    """Return ``find``, a function of code, such that it looks once at each."""
    known = CodeTable[T]()

    @functools.wraps(find)
    def found(code: CodeType, *more: Any) -> T:
        own = known.of(code)
        if more not in own:
            own[more] = find(code, *more)
        return own[more]

    return found


class Names(NamedTuple):
    """The names in a function's code: global ones, imported modules, all, assigned to.

    ``free``: names of the enclosing functions. ``formats``: whether text is made of values.
    ``lines``: where names are first read, attributes with a point before. ``caught``: the names
    of exceptions that handlers are for, and where.
    """

    globals: tuple[str, ...]
    imports: tuple[tuple[str, int, tuple[str, ...]], ...]
    mentioned: frozenset[str]
    stored: frozenset[str]
    formats: bool
    free: frozenset[str]
    lines: dict[str, int]
    caught: dict[str, int]


class _Gathered:
    """What :func:`names_in` has found so far; see :class:`Names`."""

    def __init__(self, code: CodeType) -> None:
        self.globals: dict[str, None] = {}
        self.imports: list[tuple[str, int, tuple[str, ...]]] = []
        self.mentioned, self.stored = set(code.co_names), set[str]()
        self.formats = False
        self.free = set[str]()
        self.lines: dict[str, int] = {}
        self.caught: dict[str, int] = {}

    def step(self, steps: Sequence[dis.Instruction], k: int) -> None:
        """Note the names in an instruction."""
        step = steps[k]
        name = step.opname
        if step.positions is not None and step.positions.lineno and isinstance(step.argval, str):
            dot = "." if name in ("LOAD_ATTR", "LOAD_METHOD") else ""
            self.lines.setdefault(dot + step.argval, step.positions.lineno)
        if "DEREF" in name:
            self.free.add(step.argval)
        if name in ("LOAD_GLOBAL", "LOAD_NAME"):
            self.globals[step.argval] = None
        elif name == "IMPORT_NAME":
            level, listed = steps[k - 2].argval, steps[k - 1].argval
            self.imports.append((step.argval, int(level or 0), tuple(listed or ())))
        elif name.startswith(("STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR", "DELETE_GLOBAL")):
            self.stored.add(step.argval)
        elif name.startswith("FORMAT_"):
            self.formats = True
        elif name.startswith("MATCH_"):  # `case float():`
            self.mentioned.add("isinstance")
        elif (caught := _caught_by(steps, k)) is not None:
            # `except` may hide that a value has no number.
            self.mentioned.add("isinstance")
            self.caught |= caught

    def constant(self, value: Any, opaque: frozenset[CodeType]) -> None:
        """Note the names in a constant of the code: a function's code, or text."""
        if isinstance(value, CodeType) and value not in opaque:
            inner = names_in(value, opaque)
            self.free |= inner.free
            self.globals |= dict.fromkeys(inner.globals)
            self.imports += inner.imports
            self.mentioned |= inner.mentioned
            self.stored |= inner.stored
            self.formats |= inner.formats
            self.lines, self.caught = inner.lines | self.lines, inner.caught | self.caught
        elif isinstance(value, str) and ("%s" in value or "%r" in value):
            self.formats = True
        elif isinstance(value, str) and value.isidentifier():
            self.mentioned.add(value)  # getattr(config, "alpha")


@once_a_code
def names_in(code: CodeType, opaque: frozenset[CodeType] = frozenset()) -> Names:
    """Return the names in a function's code and in the functions that it defines.

    ``opaque``: functions that read for themselves.
    """
    found, steps = _Gathered(code), list(dis.get_instructions(code))
    for k in range(len(steps)):
        found.step(steps, k)
    for value in code.co_consts:
        found.constant(value, opaque)
    return Names(
        tuple(found.globals), tuple(found.imports), frozenset(found.mentioned),
        frozenset(found.stored), found.formats, frozenset(found.free), found.lines, found.caught,
    )  # fmt: skip


def _caught_by(steps: Sequence[dis.Instruction], k: int) -> dict[str, int] | None:
    """Return the exceptions that a handler is for which begins here; None if none does."""
    name = steps[k].opname
    if name == "CHECK_EXC_MATCH":
        return named_before(steps, k)
    if name == "PUSH_EXC_INFO" and steps[k + 1].opname == "POP_TOP":
        return {"BaseException": 0}
    return {} if name.startswith("CHECK_EXC") else None
