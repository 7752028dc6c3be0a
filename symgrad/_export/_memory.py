"""What an exported function takes: names, and the memory that stands at its start."""

from __future__ import annotations

import re
from typing import Any

import sympy as sp

from .._graph import Constant, Node
from ._instructions import MATH, TYPES
from ._loops import index_text

WORDS = frozenset(
    """
    auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while main bool true false status free malloc realloc y0 y1 yn j0
    j1 jn gamma NAN INFINITY
    """.split()  # noqa: SIM905 - words, not a list to edit
)

_TEMPORARY = re.compile(r"[iksut]\d+")


class Memory:
    """The variables at the start of a function, and the names that it has taken."""

    def __init__(self, name: str, taken: set[str]) -> None:
        self.name, self.taken = name, set(taken)
        self.arrays: list[tuple[str, str, str]] = []  # C type, name, number of elements
        self.bytes: list[Any] = []
        self.tapes: list[tuple[str, str]] = []  # C type, name
        self.constants: dict[Node, str] = {}

    def array(self, node: Node, name: str) -> str:
        """Allocate an array of the shape and type of a node."""
        count: Any = sp.S.One
        for d in node.shape:
            count = count * d
        self.bytes.append(count * node.dtype.itemsize)
        self.arrays.append((TYPES[node.dtype.name], name, f"(size_t)({index_text(count)})"))
        return name

    def fresh(self, text: str, k: int) -> str:
        """Take a name that C and the generated variables do not use."""
        text = text if text.isascii() and text.isidentifier() else f"x{k}"
        name, count = text, 1
        while name in self.taken or _TEMPORARY.fullmatch(name):
            name = f"{text}_{count if count > 1 else ''}"
            count += 1
        self.taken.add(name)
        return name

    def constant(self, node: Constant, text: str) -> str:
        """Take a name for an array that stands outside of the function."""
        if node not in self.constants:
            self.constants[node] = self.fresh(f"{self.name}_{text}", len(self.constants))
        return self.constants[node]


def taken_names(name: str) -> set[str]:
    """Return the names that a function of this name cannot give to its variables."""
    return {*WORDS, *MATH, *(f"{m}f" for m in MATH), name, f"{name}_grow"}
