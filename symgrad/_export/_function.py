"""A program as one function in C99."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import numpy as np
import sympy as sp

from .._graph import Constant, Node, topological
from .._lower._legalize import legalize
from .._schedule import Program, guard_texts, schedule
from ..errors import ArgumentError, UnsupportedError
from ._instructions import MATH, TYPES, Writer, constant
from ._loops import Loops, index_text, kept_steps

#: The kinds of ops that C can express as loops.
KINDS = frozenset(
    ("map", "view", "reduce", "scan", "contract", "assemble", "gather", "scatter", "leaf")
)

#: Constants of so many elements a line.
PER_LINE = 8

_WORDS = frozenset(
    """
    auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while main bool true false status free malloc y0 y1 yn j0 j1 jn
    gamma NAN INFINITY
    """.split()  # noqa: SIM905 - words, not a list to edit
)

_TEMPORARY = re.compile(r"[iksut]\d+")


def c_source(program: Program, name: str = "program", title: str = "") -> str:
    """Return a program as standalone C99.

    Parameters
    ----------
    program:
        The program; its arguments become parameters, sizes first.
    name:
        The name of the C function.
    title:
        A line for the comment above it.

    Returns
    -------
    str
        A file with one function. It needs the C library and ``libm`` only, and returns 0, or
        1 if there was no memory, or 2 if the sizes are none that the program is for.

    Raises
    ------
    ArgumentError
        If ``name`` is no name in C.
    UnsupportedError
        If the program contains an op that C does not have.
    """
    if not name.isidentifier() or not name.isascii() or name in _WORDS | MATH:
        raise ArgumentError(f"{name!r} cannot be the name of a C function")
    return _Function(program, name, title).text()


class _Function:
    def __init__(self, program: Program, name: str, title: str) -> None:
        legal = legalize(program.outputs)
        foreign = next((n for n in topological(legal) if n.op.kind not in KINDS), None)
        if foreign is not None:
            raise UnsupportedError(
                f"{foreign.op.name} cannot be exported to C: it is a routine of a library or "
                "a loop with a body of its own"
            )
        self.program = schedule(program.inputs, legal, program.guards)
        self.name, self.title = name, title
        self.kept = kept_steps(self.program.steps, self.program.outputs)
        self.names = self._names()
        self.targets: dict[Node, str] = {}
        for k, node in enumerate(self.program.outputs):
            if node in self.kept and node.shape:
                self.targets.setdefault(node, f"out{k}")

    def _names(self) -> dict[Node, str]:
        """Names that C and the generated variables do not use."""
        sizes = {str(s) for s in self.program.sizes}
        outputs = {f"out{k}" for k in range(len(self.program.outputs))}
        taken = _WORDS | MATH | {f"{m}f" for m in MATH} | sizes | outputs | {self.name}
        names: dict[Node, str] = {}
        nodes = (*self.program.inputs, *self.program.constants, *self.program.steps)
        for node in nodes:
            if node.op.kind != "leaf" and node not in self.kept:
                continue
            text = self.program.names[node]
            text = text if text.isascii() and text.isidentifier() else f"x{len(names)}"
            if isinstance(node, Constant):  # outside of the function
                text = f"{self.name}_{text}"
            while text in taken or _TEMPORARY.fullmatch(text):
                text += "_"
            taken = taken | {text}
            names[node] = text
        return names

    # ---------------------------------------------------------------- the file

    def text(self) -> str:
        writer = Writer()
        names = self.names | self.targets
        loops = Loops(writer, names)
        temporaries = [n for n in self.program.steps
                       if n in self.kept and n.shape and n not in self.targets]  # fmt: skip
        self._guards(writer)
        for node in temporaries:
            c, size = TYPES[node.dtype.name], _size(node)
            writer.line(f"{c} *const {names[node]} = malloc(({size} + 1) * sizeof({c}));")
        if temporaries:
            writer.line("int status = 1;")
            missing = " || ".join(f"!{names[n]}" for n in temporaries)
            writer.line(f"if ({missing}) goto end;")
            writer.line("{")
            writer.indent += 1
        line = None
        for node in self.program.steps:
            if node in self.kept:
                if node.where is not None and node.where != line:
                    writer.line(f"/* {node.where} */")
                    line = node.where
                loops.fill(node)
        for k, node in enumerate(self.program.outputs):
            if self.targets.get(node) != f"out{k}":
                loops.copy(node, f"out{k}")
        if temporaries:
            writer.close()
            writer.line("status = 0;")
            writer.lines.append("end:")
            for node in temporaries:
                writer.line(f"free({names[node]});")
            writer.line("return status;")
        else:
            writer.line("return 0;")
        parts = [self._head(), *self._constants(), *self._signature(), "{"]
        return "\n".join([*parts, *writer.lines, "}"]) + "\n"

    def _head(self) -> str:
        program = self.program
        about = [self.title] if self.title else []
        for symbol, (k, axis) in program.sizes.items():
            source = self.names[program.inputs[k]]
            about.append(f"{symbol}: " + (source if axis is None else f"axis {axis} of {source}"))
        for k, node in enumerate(program.outputs):
            about.append(f"out{k}: {_shape(node)}, written")
        about.append("Arrays are in C order, one element after the other, and do not overlap.")
        about.append("Returns 0; 1 if memory is short; 2 if the sizes are none it was made for.")
        comment = "\n".join(f" * {line}" for line in about)
        headers = ("math.h", "stdbool.h", "stddef.h", "stdint.h", "stdlib.h")
        return "\n".join([*(f"#include <{h}>" for h in headers), "", f"/*\n{comment}\n */"])

    def _signature(self) -> list[str]:
        program = self.program
        found = [f"ptrdiff_t {s}" for s, (_, axis) in program.sizes.items() if axis is not None]
        for node in program.inputs:
            c = TYPES[node.dtype.name]
            found.append(f"const {c} *restrict {self.names[node]}" if node.shape else
                         f"{c} {self.names[node]}")  # fmt: skip
        for k, node in enumerate(program.outputs):
            found.append(f"{TYPES[node.dtype.name]} *restrict out{k}")
        return textwrap.wrap(
            f"int {self.name}({', '.join(found) or 'void'})", 96, subsequent_indent=" " * 8
        )

    def _constants(self) -> list[str]:
        lines = []
        for node in self.program.constants:
            assert isinstance(node, Constant)
            c, values = TYPES[node.dtype.name], [constant(v) for v in node.array.ravel()]
            lines.append(f"static const {c} {self.names[node]}[{max(len(values), 1)}] = {{")
            rows = range(0, len(values), PER_LINE)
            lines += [f"    {', '.join(values[k : k + PER_LINE])}," for k in rows]
            lines += ["    0," if not values else "", "};", ""]
        return [line for k, line in enumerate(lines) if line or lines[k - 1] == "};"]

    def _guards(self, writer: Writer) -> None:
        """Read sizes that are arguments, and refuse sizes that the program is not for."""
        for symbol, (k, axis) in self.program.sizes.items():
            if axis is None:
                source = self.names[self.program.inputs[k]]
                writer.line(f"const ptrdiff_t {symbol} = (ptrdiff_t){source};")
        for relation, holds in self.program.guards.items():
            text = index_text(relation)
            writer.line(f"if ({'!' if holds else ''}({text})) return 2;")
        for text in guard_texts(self.program.guards):
            writer.line(f"/* for sizes with {text} */")


def _size(node: Node) -> str:
    count: Any = sp.S.One
    for d in node.shape:
        count = count * d
    return f"(size_t)({index_text(count)})"


def _shape(node: Node) -> str:
    kind = np.dtype(node.dtype).name
    inner = ", ".join(str(d) for d in node.shape)
    return f"{kind}[{inner}]" if inner else f"one {kind}"
