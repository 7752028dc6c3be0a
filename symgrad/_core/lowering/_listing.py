"""The functions between the plan and LLVM's text, in a notation to be read.

Memory is written as in Python: ``t4 = in0[i0]``, ``out0[i0] = t12``; the pointers to elements do
not show, unless something else takes them. Types stand where a value gets another one: behind
what is loaded, converted or given.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ..graph import Where
from ._instructions import CASTS, Function, Instruction

#: Operations that have a sign.
_SIGNS = {
    "fadd": "+", "add": "+", "fsub": "-", "sub": "-", "fmul": "*", "mul": "*", "fdiv": "/",
    "frem": "%", "sdiv": "//", "udiv": "//", "srem": "%", "urem": "%", "and": "&", "or": "|",
    "xor": "^", "shl": "<<", "lshr": ">>", "ashr": ">>",
    "eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">=", "ult": "<",
    "ule": "<=", "ugt": ">", "uge": ">=", "oeq": "==", "one": "!=", "olt": "<", "ole": "<=",
    "ogt": ">", "oge": ">=", "une": "!=",
}  # fmt: skip


def listing(function: Function, source: Sequence[Where] = (), prefix: str = "") -> Iterator[str]:
    """Yield the lines of a function.

    Parameters
    ----------
    function:
        The function.
    source:
        The user's lines that it is made of.
    prefix:
        What the names of the program's functions begin with, which is left out, as is the
        package's name.
    """
    parameters = ", ".join(_parameter(p) for p in function.parameters)
    lines = [f"{function.name}({parameters}):{_comment(source)}"]
    elements = _elements(function.body)
    for x in function.body:
        if x.opcode == "label":
            lines.append(f"  {x.result}:")
        elif not x.result or x.result not in elements:
            lines.append(f"    {_line(x, elements)}")
    for line in lines:
        yield line.replace(f"{prefix}.", "").replace("symgrad.", "") if prefix else line


def _comment(source: Sequence[Where]) -> str:
    lines: dict[str, list[int]] = {}
    for where in source:
        name, _, line = str(where).rpartition(":")
        numbers = lines.setdefault(name, [])
        if int(line) not in numbers:
            numbers.append(int(line))
    texts = [f"{name}:{', '.join(map(str, sorted(numbers)))}" for name, numbers in lines.items()]
    return f"  # {'; '.join(texts)}" if texts else ""


def _parameter(text: str) -> str:
    kind, *_, name = text.split(" ")
    return f"{_name(name)}: {kind}"


def _name(value: str) -> str:
    if value.startswith("0x"):  # a real number by its bits
        return repr(struct.unpack(">d", bytes.fromhex(value[2:]))[0])
    return value.removeprefix("%")


def _elements(body: Sequence[Instruction]) -> dict[str, str]:
    """Return the pointers to elements that are read or written once, and nothing else."""
    uses = Counter(operand for x in body for operand in x.operands)
    places = Counter(
        x.operands[-1] for x in body if x.opcode in ("load", "store") and x.operands[-1]
    )
    found: dict[str, str] = {}
    for x in body:
        if x.opcode.startswith("getelementptr") and uses[x.result] == places[x.result] > 0:
            base, *index = x.operands
            if x.type != "i8":  # of bytes: no position of an element
                found[x.result] = f"{_name(base)}[{', '.join(map(_name, index))}]"
    return found


def _line(x: Instruction, elements: Mapping[str, str]) -> str:
    word, _, flags = x.opcode.partition(" ")
    given = [_name(y) for y in x.operands]
    result = f"{_name(x.result)} = " if x.result else ""
    match word:
        case "load":
            place = given[0] if given[0].startswith("@") else f"*{given[0]}"
            return f"{result}{elements.get(x.operands[0], place)}  : {x.type}"
        case "store":
            return f"{elements.get(x.operands[1], f'*{given[1]}')} = {given[0]}"
        case "call":
            kind = "" if x.type == "void" else f"  : {x.gives}"
            return f"{result}{given[0].removeprefix('@')}({', '.join(given[1:])}){kind}"
        case "phi":
            ways = zip(given[::2], given[1::2], strict=True)
            return f"{result}{', '.join(f'{y} from {block}' for y, block in ways)}  : {x.type}"
        case "br" if len(given) == 1:
            return f"go to {given[0]}"
        case "br":
            return f"if {given[0]}: go to {given[1]}, else to {given[2]}"
        case "switch":
            by, other, *cases = given
            pairs = zip(cases[::2], cases[1::2], strict=True)
            return f"by {by}: {', '.join(f'{n} to {to}' for n, to in pairs)}, else to {other}"
        case "ret":
            return " ".join(["return", *given])
        case "select":
            return f"{result}{given[1]} if {given[0]} else {given[2]}"
        case "fneg":
            return f"{result}-{given[0]}"
        case "icmp" | "fcmp" if flags in _SIGNS:
            return f"{result}{given[0]} {_SIGNS[flags]} {given[1]}"
        case _ if word in _SIGNS:
            freedom = "  (in any order)" if "reassoc" in flags else ""
            return f"{result}{given[0]} {_SIGNS[word]} {given[1]}{freedom}"
        case _ if word in CASTS or word == "alloca":
            return f"{result}{word}({', '.join(given)})  : {x.type}"
        case _ if word == "getelementptr":
            return f"{result}address of {given[0]}[{', '.join(given[1:])}]  : {x.type}"
    return f"{result}{x.opcode}({', '.join(given)})"
