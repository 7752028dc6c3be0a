"""Functions between the plan and LLVM's text: instructions as data.

The emitter appends instructions; the passes over them (segments, chains, merging) read opcodes,
types and operands; the text is printed once, when the module is done. Under ``SYMGRAD_CHECK=1``
:func:`check` holds each function against the laws of the form before that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...errors import CheckError

#: Instructions that give a value of another type than their operand's.
CASTS = frozenset((
    "trunc", "zext", "sext", "fptrunc", "fpext", "fptosi", "fptoui", "sitofp", "uitofp", "bitcast",
    "ptrtoint", "inttoptr",
))  # fmt: skip

#: Instructions that end a block.
ENDS = frozenset(("br", "ret", "switch"))


class Instruction(NamedTuple):
    """One instruction, or the label of a block.

    Attributes
    ----------
    result:
        The register that it writes, "" if there is none; of a label its name.
    opcode:
        LLVM's word for it, with its flags: ``"fadd"``, ``"icmp slt"``, ``"add nsw"``, ``"label"``.
    type:
        The type of the operands of arithmetic and comparisons; else of what is given, loaded or
        allocated, or of the elements over which a pointer moves.
    operands:
        Registers, constants and labels; the first of a call is its function.
    types:
        The types of the operands where they are not all ``type``.
    more:
        Attributes and metadata, which follow in the text.
    """

    result: str
    opcode: str
    type: str = ""
    operands: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    more: str = ""

    @property
    def gives(self) -> str:
        """The type of the result."""
        word = self.opcode.partition(" ")[0]
        if word in ("icmp", "fcmp"):
            lanes = self.type.partition(" x ")[0]
            return f"{lanes} x i1>" if self.type.startswith("<") else "i1"
        if word in ("getelementptr", "alloca"):
            return "ptr"
        return self.type.removeprefix("noalias ")

    @property
    def typed(self) -> list[tuple[str, str]]:
        """The operands with their types; the function of a call is a pointer."""
        return list(
            zip(self.types or (self.type,) * len(self.operands), self.operands, strict=True)
        )

    def text(self) -> str:
        """Return the line of LLVM assembly."""
        result, opcode, kind, operands, types, more = self
        if opcode == "label":
            return f"{result}:"
        start = f"  {result} = {opcode}" if result else f"  {opcode}"
        if not types:  # arithmetic, what is allocated, what is returned
            given = f" {', '.join(operands)}" if operands else ""
            return f"{start} {kind}{given}{more}"
        if opcode == "load":
            return f"{start} {kind}, ptr {operands[0]}{more}"
        if opcode == "store":
            return f"{start} {kind} {operands[0]}, ptr {operands[1]}{more}"
        if opcode == "call":
            given = ", ".join([f"{t} {x}" for t, x in zip(types[1:], operands[1:], strict=True)])
            return f"{start} {kind} {operands[0]}({given}){more}"
        if opcode == "phi":
            ways = zip(operands[::2], operands[1::2], strict=True)
            return f"{start} {kind} {', '.join([f'[ {x}, {label} ]' for x, label in ways])}"
        if opcode == "switch":
            pairs = zip(types[::2], operands[::2], operands[1::2], strict=True)
            first, *cases = [f"{t} {x}, label {to}" for t, x, to in pairs]
            return f"{start} {first} [ {' '.join(cases)} ]"
        given = ", ".join([f"{t} {x}" if t else x for t, x in zip(types, operands, strict=True)])
        if opcode in CASTS:
            return f"{start} {given} to {kind}{more}"
        if opcode.startswith("getelementptr"):
            return f"{start} {kind}, {given}{more}"
        return f"{start} {given}{more}"


def label(name: str) -> Instruction:
    """Return the beginning of a block."""
    return Instruction(name, "label")


def store(kind: str, value: str, pointer: str, more: str = "") -> Instruction:
    """Return the instruction that writes a value to memory."""
    return Instruction("", "store", kind, (value, pointer), (kind, "ptr"), more)


def load(result: str, kind: str, pointer: str, more: str = "") -> Instruction:
    """Return the instruction that reads a value from memory."""
    return Instruction(result, "load", kind, (pointer,), ("ptr",), more)


def element(
    result: str, kind: str, pointer: str, *index: str, inbounds: bool = True
) -> Instruction:
    """Return the instruction that gives the pointer to an element of an array."""
    opcode = "getelementptr inbounds" if inbounds else "getelementptr"
    return Instruction(result, opcode, kind, (pointer, *index), ("ptr", *["i64"] * len(index)))


def select(result: str, condition: str, kind: str, yes: str, no: str) -> Instruction:
    """Return the instruction that chooses between two values."""
    return Instruction(result, "select", kind, (condition, yes, no), ("i1", kind, kind))


def call(
    result: str, kind: str, function: str, arguments: Iterable[str], more: str = ""
) -> Instruction:
    """Return a call; arguments are values behind their types, ``"i64 %n"``."""
    types, operands = ["ptr"], [function]
    for argument in arguments:
        given, _, value = argument.rpartition(" ")
        types.append(given)
        operands.append(value)
    return Instruction(result, "call", kind, tuple(operands), tuple(types), more)


def phi(result: str, kind: str, *ways: tuple[str, str]) -> Instruction:
    """Return the value that depends on the block from which control comes."""
    operands = [x for value, block in ways for x in (value, f"%{block}")]
    return Instruction(result, "phi", kind, tuple(operands), (kind, "label") * len(ways))


def jump(to: str, more: str = "") -> Instruction:
    """Return the end of a block that is followed by one other."""
    return Instruction("", "br", "", (f"%{to}",), ("label",), more)


def branch(condition: str, yes: str, no: str, more: str = "") -> Instruction:
    """Return the end of a block that is followed by one of two."""
    operands = condition, f"%{yes}", f"%{no}"
    return Instruction("", "br", "", operands, ("i1", "label", "label"), more)


def ret(kind: str = "void", *value: str) -> Instruction:
    """Return the end of a function."""
    return Instruction("", "ret", kind, value)


@dataclass(frozen=True)
class Function:
    """A function of a module.

    Attributes
    ----------
    name:
        Its name, without ``@``.
    parameters:
        Registers behind their types and attributes, ``"ptr noalias %in0"``.
    body:
        Its instructions, from the label of the first block on.
    attributes:
        The group of its attributes, ``"#0"``.
    result:
        The type of its result.
    internal:
        Whether only its module calls it.
    loops:
        Whether it has a loop over an index range.
    """

    name: str
    parameters: Sequence[str]
    body: Sequence[Instruction]
    attributes: str
    result: str = "void"
    internal: bool = True
    loops: bool = False

    def text(self) -> str:
        """Return the definition as LLVM assembly."""
        linkage = "internal " if self.internal else ""
        parameters = ", ".join(self.parameters)
        lines = [f"define {linkage}{self.result} @{self.name}({parameters}) {self.attributes} {{"]
        lines += [instruction.text() for instruction in self.body]
        return "\n".join([*lines, "}\n"])


def has_loop(body: Iterable[Instruction]) -> bool:
    """Tell whether there is a loop over an index range: its index is increased."""
    return any(x.opcode == "add nuw nsw" and x.result.endswith(".next") for x in body)


# ---------------------------------------------------------------- laws


def check(function: Function) -> None:
    """Hold a function against the laws of the form.

    A register is written once, by an instruction that stands before its readers (a ``phi`` reads
    what comes later, too) and gives the type that they take; a block is ended once, at its end,
    and control goes to blocks that there are.

    Raises
    ------
    CheckError
        A law is broken; the function and the instruction are named.
    """
    known = dict(_parameter(p) for p in function.parameters)
    labels = {f"%{x.result}" for x in function.body if x.opcode == "label"}
    later: list[tuple[Instruction, str, str]] = []
    ended = True
    for x in function.body:
        if (x.opcode == "label") is not ended:
            raise _broken(
                function, x, "a block begins where the last one has ended, and only there"
            )
        ended = x.opcode in ENDS
        for kind, operand in x.typed:
            if kind == "label":
                if operand not in labels:
                    raise _broken(function, x, f"there is no block {operand}")
            elif x.opcode == "phi":
                later.append((x, kind, operand))
            elif operand.startswith("%"):
                _fits(function, x, kind, known.get(operand), operand)
        if x.opcode != "label" and x.result:
            if x.result in known:
                raise _broken(function, x, f"{x.result} is written twice")
            known[x.result] = x.gives
    if not ended:
        raise _broken(function, function.body[-1], "the last block has no end")
    for x, kind, operand in later:
        if operand.startswith("%"):
            _fits(function, x, kind, known.get(operand), operand)


def _parameter(text: str) -> tuple[str, str]:
    kind, *_, name = text.split(" ")
    return name, kind


def _fits(function: Function, x: Instruction, kind: str, given: str | None, operand: str) -> None:
    if given is None:
        raise _broken(function, x, f"{operand} is read before it is written")
    if given != kind.partition(" noalias")[0]:
        raise _broken(function, x, f"{operand} is of type {given}, not {kind}")


def _broken(function: Function, x: Instruction, law: str) -> CheckError:
    return CheckError(
        f"a fault of symgrad: in the code of {function.name}, at '{x.text().strip()}': {law}"
    )
