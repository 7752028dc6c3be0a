"""What the functions of one LLVM module share: declarations, attributes, SIMD functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sympy as sp

from ..base.switches import is_on
from ..graph import checking
from ..runtime import vector_width
from ..runtime.interface import constant_text
from ._function_merging import written_once
from ._instructions import Function, check
from ._simd_variants import Definition, definitions

#: With more instructions of SIMD functions than this in the places of their calls, they stay
#: calls: each of them takes LLVM two milliseconds, and in long bodies hardly saves time.
MOST_INLINED = 1200

#: Of loops of few fixed turns so many are written out by LLVM, and share registers with what is
#: around them: of short programs. In those of more, such as the steps of a solver with 40 unknowns,
#: that takes a third of the time to compile, and no call is faster for it.
MOST_WRITTEN_OUT = 8

#: What LLVM is told of a loop by the number of elements that a turn of it takes; 0: nothing.
#: Where it writes turns out one after the other, it may add up what they give in another order.
_ROLLED = ', !{!"llvm.loop.unroll.disable"}'
#: ``FEW_TURNS``: it stays a loop if there are more than :data:`MOST_WRITTEN_OUT`.
FEW_TURNS = -1
#: ``ONE_VECTOR``: of as many elements as LLVM puts into one, whatever their number is.
ONE_VECTOR = -2
_NOT_INTERLEAVED = ', !{!"llvm.loop.interleave.count", i32 1}' + _ROLLED
TURNS = {
    0: "",
    FEW_TURNS: _ROLLED,
    ONE_VECTOR: _NOT_INTERLEAVED,
    1: ', !{!"llvm.loop.vectorize.enable", i1 false}' + _ROLLED,
    4: ', !{!"llvm.loop.vectorize.width", i32 4}' + _NOT_INTERLEAVED,
}


#: Marks functions without loops over arrays: steps on numbers, calls, and what routines write.
STEPS = "symgrad-steps"


class Module:
    """What the functions of one LLVM module share: declarations and attributes.

    Parameters
    ----------
    vector_math:
        Whether mathematics functions of arrays are SIMD functions, for every element.
    by_pointer:
        Whether such functions are called through pointers. LLVM's fast instruction selection
        does not know calls to any place in a large address space, and hands each of them to
        the slow one.
    """

    def __init__(self, vector_math: bool, by_pointer: bool = False) -> None:
        self.vector_math, self.by_pointer = vector_math, by_pointer
        #: Those of the program, and texts of helpers that are the same in all programs.
        self.functions: list[Function | str] = []
        self.declarations: dict[str, str] = {}
        own = f"nounwind{vector_width()}"
        self.attributes: dict[str, int] = {own: 0, f'{own} "{STEPS}"': 1}
        self.definitions: dict[str, str] = {}
        self.inlined = 0
        #: Whether numbers may be elements of arrays with short axes.
        self.unrolled = False
        self.symbols: set[str] = set()
        self.pointers: dict[str, str] = {}
        self.tables: dict[tuple[float, ...], str] = {}
        #: The definition of the number of elements below which they are few, if there is any use.
        self.few = ""
        #: How many elements a turn of each innermost loop takes, a key of :data:`TURNS`.
        self.loops: list[int] = []
        #: Numbers made of sizes that the functions compute with, bytes and positions above all:
        #: the program is for arguments for which they stay below a limit; see ``_sizes``.
        self.bounded: set[sp.Expr] = set()

    def loop(self, turn: int = 0) -> str:
        """Return the metadata of a new innermost loop."""
        self.loops.append(turn)
        return f", !llvm.loop !{len(self.loops) + 1}"

    def declare(self, name: str, result: str, arguments: Iterable[str]) -> None:
        """Declare an external function once."""
        self.declarations.setdefault(name, f"declare {result} @{name}({', '.join(arguments)})")

    def helper(self, text: str) -> None:
        """Add a function once, before those that call it."""
        if text not in self.functions:
            self.functions.insert(0, text)

    def pointer(self, symbol: str) -> str:
        """Return the constant that holds the address of an external function."""
        name = f"@at.{symbol}"
        self.pointers[name] = f"{name} = internal constant ptr @{symbol}"
        return name

    def table(self, numbers: tuple[float, ...]) -> str:
        """Return the name of a constant array of numbers."""
        return self.tables.setdefault(numbers, f"@table.{len(self.tables)}")

    def attribute(self, text: str) -> str:
        """Return the number of an attribute group, ``#0``."""
        return f"#{self.attributes.setdefault(text, len(self.attributes))}"

    def define(self, function: Definition) -> None:
        """Add a SIMD function to the module."""
        self.definitions[function.symbol] = function.text
        for called, text in function.declarations.items():
            self.declarations.setdefault(called, text)

    def simd(self, name: str, dtype: Any, arguments: int) -> tuple[str, str]:
        """Return the SIMD function for one element, and its variants in the vector ABI's terms.

        Empty texts if there is none: then the C library's function is for all elements. Straight
        code has no loops, and so no use for variants.
        """
        if not self.vector_math:
            return "", ""
        found = definitions(name, dtype, arguments)
        if not found:
            return "", ""
        *wide, one = found
        self.define(one)
        if self.by_pointer:
            return one.symbol, ""
        for d in wide:
            self.define(d)
        self.inlined += wide[0].text.count("\n")
        return one.symbol, ",".join(
            f"_ZGV_LLVM_N{d.lanes}{'v' * arguments}_{one.symbol}({d.symbol})" for d in wide
        )

    def _tables(self) -> Iterable[str]:
        for numbers, name in self.tables.items():
            texts = ", ".join(f"double {constant_text(v, float)}" for v in numbers)
            yield f"{name} = internal constant [{len(numbers)} x double] [{texts}]"

    def text(self) -> str:
        """Return the whole module as LLVM assembly.

        A function stands after its callers: LLVM then puts it into what has been put into its
        own caller before, so that no instruction is copied more than once.
        """
        simd: Iterable[str] = self.definitions.values()
        if self.inlined > MOST_INLINED:
            simd = (text.replace("alwaysinline", "noinline", 1) for text in simd)
        if checking():
            for function in self.functions:
                if isinstance(function, Function):
                    check(function)
        functions = list(self.functions)
        if is_on("merge"):
            functions = list(written_once(functions, self.loops, self.attribute("noinline")))
        texts = [f if isinstance(f, str) else f.text() for f in reversed(functions)]
        parts = [self.few, *self._tables(), *self.pointers.values(), *simd, *texts]
        parts += self.declarations.values()
        parts += [f"attributes #{n} = {{ {text} }}" for text, n in self.attributes.items()]
        parts += ["!0 = distinct !{}", '!1 = !{!"llvm.loop.parallel_accesses", !0}']
        turns = TURNS if len(self.loops) > MOST_WRITTEN_OUT else TURNS | {FEW_TURNS: ""}
        parts += [f"!{k} = distinct !{{!{k}, !1{turns[n]}}}" for k, n in enumerate(self.loops, 2)]
        return "\n".join(parts) + "\n"
