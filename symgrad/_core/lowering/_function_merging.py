"""Functions of a module that are equal, or equal but for numbers, are written once.

A layer, a sweep, a stage or a row that Python's loops repeat gives the same loop nests again, of
other arrays, lengths and factors, and LLVM takes milliseconds for each of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from . import _instructions as asm
from ._instructions import Function, Instruction

#: So many functions that are equal but for numbers become one that is given the numbers.
FAMILY = 4

#: Most numbers that a function is given.
GIVEN = 24

#: Instructions of which an operand may be a number or a value, by the type of their operands.
_INTEGERS = frozenset(("add", "sub", "mul", "udiv", "urem", "icmp"))
_REALS = frozenset(("fadd", "fsub", "fmul", "fdiv"))


def written_once(
    functions: Iterable[Function | str], turns: Sequence[int], once: str
) -> Iterator[Function | str]:
    """Yield the functions of a module, those that are equal but for names and numbers once.

    Parameters
    ----------
    functions:
        The functions, each before its callers. Texts are helpers: they call none of the others.
    turns:
        What LLVM is told of each loop: see :attr:`Module.loops`.
    once:
        The attribute of a call that is not to be replaced by what it calls.
    """
    told = {f", !llvm.loop !{k}": turn for k, turn in enumerate(turns, 2)}
    yield from _with_numbers(list(_shared(functions, told)), told, once)


# ---------------------------------------------------------------- equal but for names


def _shared(
    functions: Iterable[Function | str], told: Mapping[str, int]
) -> Iterator[Function | str]:
    """Yield functions that are equal but for names once.

    Callers of what has become one function are then equal, too.
    """
    instead: dict[str, str] = {}
    known: dict[Hashable, str] = {}
    functions = list(functions)
    # Equal ones are of one length.
    lengths = Counter(len(f.body) for f in functions if not isinstance(f, str))
    for function in functions:
        if isinstance(function, str):
            yield function
            continue
        if instead:
            function = _calling(function, instead)
        if function.internal and lengths[len(function.body)] > 1:
            own = f"@{function.name}"
            first = known.setdefault(_unnamed(function, function.body, told), own)
            if first != own:
                instead[own] = first
                continue
        yield function


def _calling(function: Function, instead: Mapping[str, str]) -> Function:
    """Return a function with others in the place of those that it calls."""
    body = [
        x._replace(operands=tuple([instead.get(y, y) for y in x.operands]))
        if x.opcode == "call" and any(y in instead for y in x.operands)
        else x
        for x in function.body
    ]
    return replace(function, body=body)


def _unnamed(function: Function, body: Sequence[Instruction], told: Mapping[str, int]) -> Hashable:
    """Return what a function is but for its name, with numbers for what it names, in their order.

    It may name values and labels as it likes; of a loop it counts what LLVM is told of it.
    """
    numbers: dict[str, int] = {}

    def number(name: str) -> int:
        return numbers.setdefault(name, len(numbers))

    parameters = []
    for parameter in function.parameters:
        kind, _, name = parameter.rpartition(" ")
        parameters.append((kind, number(name)))
    found = []
    for result, opcode, kind, operands, types, more in body:
        names = number(f"%{result}" if opcode == "label" else result) if result else None
        used = tuple([number(x) if x.startswith("%") else x for x in operands])
        found.append((names, opcode, kind, used, types, told.get(more, more)))
    return function.result, function.attributes, tuple(parameters), tuple(found)


# ---------------------------------------------------------------- equal but for numbers


def _numbers(x: Instruction) -> Iterator[tuple[int, str]]:
    """Yield the operands that are numbers, with their types, where a value could stand for them."""
    word = x.opcode.partition(" ")[0]
    if (word in _INTEGERS and x.type == "i64") or (word in _REALS and x.type in _FLOATS):
        kind, first = x.type, 0
    elif word == "getelementptr" and x.type.isidentifier() and x.types[1:] == ("i64",):
        kind, first = "i64", 1
    else:
        return
    for k in range(first, len(x.operands)):
        if _is_number(x.operands[k]):
            yield k, kind


_FLOATS = ("double", "float")


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isdigit() or text.startswith("0x")


@dataclass
class _Numbers:
    """A function with the numbers in it: their places, instruction and operand, and types."""

    function: Function
    places: list[tuple[int, int]]
    types: list[str]

    @classmethod
    def of(cls, function: Function) -> _Numbers:
        places, types = [], []
        for j, x in enumerate(function.body):
            for k, kind in _numbers(x):
                places.append((j, k))
                types.append(kind)
        return cls(function, places, types)

    @property
    def numbers(self) -> list[str]:
        return [self.function.body[j].operands[k] for j, k in self.places]

    def body(self, operands: Sequence[str]) -> list[Instruction]:
        """Return the instructions with other operands in the places of the numbers."""
        body = list(self.function.body)
        for (j, k), operand in zip(self.places, operands, strict=True):
            x = body[j]
            body[j] = x._replace(operands=(*x.operands[:k], operand, *x.operands[k + 1 :]))
        return body


def _with_numbers(
    functions: list[Function | str], told: Mapping[str, int], once: str
) -> Iterator[Function | str]:
    """Yield functions that are equal but for numbers as calls of one that is given these.

    Which numbers differ becomes parameters: lengths and places, factors. What has no loop is
    short, and faster with its numbers.
    """
    families: dict[Hashable, list[_Numbers]] = {}
    loops = [f for f in functions if not isinstance(f, str) and f.loops]
    loops = [f for f in loops if f.internal and f.result == "void"]
    lengths = Counter(len(f.body) for f in loops)
    for function in loops:
        if lengths[len(function.body)] >= FAMILY:
            parts = _Numbers.of(function)
            marked = parts.body([f"<{kind}>" for kind in parts.types])
            families.setdefault(_unnamed(function, marked, told), []).append(parts)
    calls: dict[str, tuple[Function, list[str]]] = {}  # what is called instead, and what is given
    for family in families.values():
        if len(family) >= FAMILY:
            _unite(family, calls)
    written: set[str] = set()
    for found in functions:
        if isinstance(found, str) or found.name not in calls:
            yield found
            continue
        common, given = calls[found.name]
        if common.name not in written:  # before the first of its callers
            written.add(common.name)
            yield common
        own = [parameter.replace("noalias ", "") for parameter in found.parameters]
        whole = asm.call("", "void", f"@{common.name}", [*own, *given], f" {once}")
        yield replace(found, body=[asm.label("entry"), whole, asm.ret()])


def _unite(family: list[_Numbers], calls: dict[str, tuple[Function, list[str]]]) -> None:
    """Make the function of a family, and note how each of its members calls it."""
    first = family[0]
    columns = list(zip(*(member.numbers for member in family), strict=True))
    places: dict[tuple[str, tuple[str, ...]], int] = {}
    operands = first.numbers
    for k, (kind, column) in enumerate(zip(first.types, columns, strict=True)):
        if len(set(column)) > 1:
            operands[k] = f"%given.{places.setdefault((kind, column), len(places))}"
    if len(places) > GIVEN:
        return
    more = [f"{kind} %given.{k}" for (kind, _), k in places.items()]
    function = first.function
    common = replace(
        function, name=f"{function.name}.with", parameters=[*function.parameters, *more],
        body=first.body(operands),
    )  # fmt: skip
    for row, member in enumerate(family):
        given = [f"{kind} {column[row]}" for kind, column in places]
        calls[member.function.name] = common, given
