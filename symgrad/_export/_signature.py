"""The C function of a program: its name, parameters and statuses, in source or machine code.

There is one for all: sizes that are not given otherwise first, then the arguments, arrays as
pointers to their elements in C order, then a pointer for each result; an ``int`` comes back.
"""

from __future__ import annotations

import re
import textwrap
from typing import Any, NamedTuple

import numpy as np

from .._core.base.argument_checks import as_text
from .._core.graph import Node
from .._core.program import Program
from ..errors import ArgumentError
from ._instructions import MATH, TYPES
from ._loops import index_text

#: What the function returns: no memory for temporaries, sizes or values that it is not made for
#: (Python took another branch), an index outside of its axis (C source does not look).
DONE, NO_MEMORY, OTHER_SIZES, OTHER_BRANCH, NO_PLACE = range(5)

#: Sizes are said to be wrong in general where they are under more conditions.
STATED = 3

WORDS = frozenset(
    """
    auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while main bool true false status free malloc realloc y0 y1 yn j0
    j1 jn gamma NAN INFINITY
    """.split()  # noqa: SIM905 - words, not a list to edit
)

_TEMPORARY = re.compile(r"[iksut]\d+")


class Parameter(NamedTuple):
    """A parameter of a C function."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}{'' if self.type.endswith('*') else ' '}{self.name}"


class Signature:
    """How C calls a program.

    Parameters
    ----------
    program:
        The program; of its steps nothing is asked.
    name:
        The name of the C function.
    title:
        A line for the comment above it.
    compiled:
        Whether it is the function of machine code: for sizes above 1, and it looks at indices.

    Attributes
    ----------
    sizes:
        The sizes that are parameters.
    inputs:
        The names of the program's inputs.

    Raises
    ------
    ArgumentError
        If ``name`` is no name in C.
    """

    def __init__(
        self, program: Program, name: str, title: str = "", compiled: bool = False
    ) -> None:
        as_text(name, "the name of a C function")
        if not name.isidentifier() or not name.isascii() or name in WORDS | MATH:
            raise ArgumentError(f"{name!r} cannot be the name of a C function")
        self.program, self.name, self.title, self.compiled = program, name, title, compiled
        self.sizes = [str(s) for s, (_, axis) in program.sizes.items() if axis is not None]
        self.taken = {*WORDS, *MATH, *(f"{m}f" for m in MATH), name, f"{name}_grow"}
        self.taken |= {str(s) for s in program.sizes}
        self.taken |= {f"out{k}" for k in range(len(program.outputs))}
        self.inputs: dict[Node, str] = {
            x: self.fresh(program.names[x], k) for k, x in enumerate(program.inputs)
        }

    def fresh(self, text: str, k: int) -> str:
        """Take a name that C and the generated variables do not use."""
        text = text if text.isascii() and text.isidentifier() else f"x{k}"
        name, count = text, 1
        while name in self.taken or _TEMPORARY.fullmatch(name):
            name = f"{text}_{count if count > 1 else ''}"
            count += 1
        self.taken.add(name)
        return name

    @property
    def parameters(self) -> list[Parameter]:
        """Sizes, arguments, results."""
        found = [Parameter("ptrdiff_t", size) for size in self.sizes]
        for node, name in self.inputs.items():
            c = TYPES[node.dtype.name]
            found.append(Parameter(f"const {c} *" if node.shape else c, name))
        for k, node in enumerate(self.program.outputs):
            found.append(Parameter(f"{TYPES[node.dtype.name]} *", f"out{k}"))
        return found

    @property
    def types(self) -> str:
        """The function's type: ``int (ptrdiff_t, const double *, double *)``."""
        return f"int ({', '.join(p.type for p in self.parameters) or 'void'})"

    def prototype(self, restrict: str = "restrict ") -> str:
        """Return the line that declares the function."""
        texts = [str(p).replace("*", f"*{restrict}") for p in self.parameters]
        # Lines are broken between parameters only.
        whole = ", ".join(text.replace(" ", "\0") for text in texts) or "void"
        lines = textwrap.wrap(f"int\0{self.name}({whole})", 96, subsequent_indent=" " * 8)
        return "\n".join(lines).replace("\0", " ")

    def comment(self) -> str:
        """Return the comment that says what the parameters and the statuses are."""
        program = self.program
        about = [self.title] if self.title else []
        for symbol, (k, axis) in program.sizes.items():
            source = self.inputs[program.inputs[k]]
            about.append(f"{symbol}: " + (source if axis is None else f"axis {axis} of {source}"))
        for node, name in self.inputs.items():
            if node.shape and not all(str(d) in self.sizes for d in node.shape):
                about.append(f"{name}: {_shape(node)}")
        for k, node in enumerate(program.outputs):
            about.append(f"out{k}: {_shape(node)}, written")
        about.append("Arrays are in C order, one element after the other, and do not overlap.")
        about.append(f"Returns {self._returns()}.")
        lines = "\n".join(f" * {line}" for line in about)
        return f"/*\n{lines}\n */"

    def _returns(self) -> str:
        """Say what the numbers mean that the function returns."""
        found = ["0", "1 if memory is short"]
        relations = {str(r.canonical if truth else ~r): (r, truth)
                     for r, truth in self.program.guards.items()}  # fmt: skip
        guards = list(map(guard_text, relations.values()))
        if self.compiled and self.program.sizes:
            guards.insert(0, "all sizes are above 1")
        if len(guards) <= STATED:
            found += [f"2 unless {' and '.join(guards)}"] * bool(guards)
        else:
            found.append("2 if the sizes are none it was made for")
        if self.program.conditions:
            found.append("3 if the values take another branch than it was made for")
        if self.compiled:
            found.append("4 if an index is out of its axis")
        return "; ".join(found)


def guard_text(guard: tuple[Any, bool]) -> str:
    """Return what is true of sizes as C."""
    text = index_text(guard[0])
    return text if guard[1] else f"!({text})"


def _shape(node: Node) -> str:
    kind = np.dtype(node.dtype).name
    inner = ", ".join(str(d) for d in node.shape)
    return f"{kind}[{inner}]" if inner else f"one {kind}"
