"""Functions of a module that are equal, or equal but for numbers, are written once.

A layer, a sweep, a stage or a row that Python's loops repeat gives the same loop nests again, of
other arrays, lengths and factors, and LLVM takes milliseconds for each of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

#: So many functions that are equal but for numbers become one that is given the numbers.
FAMILY = 4

#: Most numbers that a function is given.
GIVEN = 24

#: The name of a function of one program, with what says that only its module calls it.
_OWN = re.compile(r"define internal [^@]*@(symgrad\.[\w.]+)\(")
_CALLED = re.compile(r"@(symgrad\.[\w.]+)")

#: What a function may name as it likes: its loops' metadata, labels, and values.
_LOCAL = re.compile(r"!llvm\.loop !(\d+)|^([\w.]+):|%([\w.]+)", re.MULTILINE)

#: Instructions of which an operand may be a number or a value: type, operands, and what follows.
_OPERANDS = re.compile(
    r"(?:(?:add|sub|mul|udiv|urem|icmp \w+)(?: nsw| nuw)* (i64)"
    r"|(?:fadd|fsub|fmul|fdiv)(?: reassoc)? (double|float)"
    r"|getelementptr (?:inbounds )?\w+, ptr [%@][\w.]+, (i64)) (\S+?)(?:, (\S+?))?(?=,|\n)"
)

#: A number among them.
_NUMBER = re.compile(r"-?\d+|0x[0-9A-F]+")

_HEAD = re.compile(r"define internal void @(symgrad\.[\w.]+)\((.*)\)(.*) \{\n")


def written_once(functions: Iterable[str], turns: Sequence[int], once: str) -> Iterator[str]:
    """Yield the functions of a module, those that are equal but for names and numbers once.

    Parameters
    ----------
    functions:
        The functions, each before its callers.
    turns:
        What LLVM is told of each loop: see :attr:`Module.loops`.
    once:
        The attribute of a call that is not to be replaced by what it calls.
    """
    yield from _with_numbers(list(_shared(functions, turns)), turns, once)


# ---------------------------------------------------------------- equal but for names


def _shared(functions: Iterable[str], turns: Sequence[int]) -> Iterator[str]:
    """Yield functions that are equal but for names once.

    Callers of what has become one function are then equal, too.
    """
    instead: dict[str, str] = {}
    known: dict[str, str] = {}
    functions = list(functions)
    lines = Counter(text.count("\n") for text in functions)  # what is equal has as many
    for text in functions:
        text = _CALLED.sub(lambda m: f"@{instead.get(m[1], m[1])}", text)
        own = _OWN.match(text)
        if own is not None and lines[text.count("\n")] > 1:
            first = known.setdefault(_unnamed(text, own[1], turns), own[1])
            if first != own[1]:
                instead[own[1]] = first
                continue
        yield text


def _unnamed(text: str, name: str, turns: Sequence[int]) -> str:
    """Return a function's text with numbers for what it names, in their order."""
    numbers: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        loop, label, value = found.groups()
        if loop is not None:
            return f"!{turns[int(loop) - 2]}"
        return numbers.setdefault(label or value, f"%{len(numbers)}")

    return _LOCAL.sub(number, text.replace(f"@{name}(", "@(", 1))


# ---------------------------------------------------------------- equal but for numbers


@dataclass
class _Parts:
    """The text of a function cut at its numbers: with their types, and what is between."""

    name: str
    between: list[str]
    types: list[str]
    numbers: list[str]

    @classmethod
    def of(cls, text: str, name: str) -> _Parts:
        between, types, numbers, last = [], [], [], 0
        for line in _OPERANDS.finditer(text):
            kind = line[1] or line[2] or line[3]
            for group in (4, 5):
                if line[group] and _NUMBER.fullmatch(line[group]):
                    between.append(text[last : line.start(group)])
                    types.append(kind)
                    numbers.append(line[group])
                    last = line.end(group)
        return cls(name, [*between, text[last:]], types, numbers)

    def with_operands(self, operands: Sequence[str]) -> str:
        mixed = [x for pair in zip(self.between, operands, strict=False) for x in pair]
        return "".join([*mixed, self.between[-1]])


def _with_numbers(functions: list[str], turns: Sequence[int], once: str) -> Iterator[str]:
    """Yield functions that are equal but for numbers as calls of one that is given these.

    Which numbers differ becomes parameters: lengths and places, factors. What has no loop is
    short, and faster with its numbers.
    """
    families: dict[str, list[_Parts]] = {}
    loops = [text for text in functions if ".next = add" in text]
    lines = Counter(text.count("\n") for text in loops)
    for text in loops:
        head = _HEAD.match(text)
        if head is not None and lines[text.count("\n")] >= FAMILY:
            parts = _Parts.of(text, head[1])
            marked = parts.with_operands([f"<{kind}>" for kind in parts.types])
            families.setdefault(_unnamed(marked, head[1], turns), []).append(parts)
    calls: dict[str, tuple[str, str]] = {}  # the function that is called, and what it is given
    texts: dict[str, str] = {}
    for family in families.values():
        if len(family) >= FAMILY:
            _unite(family, calls, texts)
    for text in functions:
        head = _HEAD.match(text)
        if head is None or head[1] not in calls:
            yield text
            continue
        name, parameters, attributes = head.groups()
        called, given = calls[name]
        if called in texts:  # before the first of its callers
            yield texts.pop(called)
        own = parameters.replace("noalias ", "")
        yield (f"define internal void @{name}({parameters}){attributes} {{\nentry:\n"
               f"  call void @{called}({own}{given}) {once}\n  ret void\n}}\n")  # fmt: skip


def _unite(family: list[_Parts], calls: dict[str, tuple[str, str]], texts: dict[str, str]) -> None:
    """Write the function of a family, and how each of its members calls it."""
    first = family[0]
    columns = list(zip(*(member.numbers for member in family), strict=True))
    places: dict[tuple[str, tuple[str, ...]], int] = {}
    operands = list(first.numbers)
    for k, (kind, column) in enumerate(zip(first.types, columns, strict=True)):
        if len(set(column)) > 1:
            operands[k] = f"%given.{places.setdefault((kind, column), len(places))}"
    if len(places) > GIVEN:
        return
    name = f"{first.name}.with"
    more = "".join(f", {kind} %given.{k}" for (kind, _), k in places.items())
    text = first.with_operands(operands)
    texts[name] = _HEAD.sub(lambda m: f"define internal void @{name}({m[2]}{more}){m[3]} {{\n",
                            text, count=1)  # fmt: skip
    for row, member in enumerate(family):
        given = "".join(f", {kind} {column[row]}" for kind, column in places)
        calls[member.name] = name, given
