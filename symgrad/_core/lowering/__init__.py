"""Lowering: a Program becomes LLVM assembly.

In the module ``NAME.sizes`` reads the size symbols off the arguments, checks the guards and
computes the shapes of the results; ``NAME.run`` computes, into arrays that the caller has made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from ..base.state import now
from ..program import Steps
from ..runtime import Interface, Leaf
from . import _products as products
from ._borders import cut
from ._chunk_functions import without_few
from ._instructions import Function
from ._legalize import direct, legalize
from ._listing import listing
from ._llvm_module import STEPS, Module
from ._numpy import numpy_steps
from ._outlining import called
from ._plan import Nest, Plan, plan
from ._simd_variants import PREFIX as SIMD_PREFIX
from ._sizes import computed, sizes_of, unsure, write_sizes
from ._unit import Code, Unit, constant_symbol
from ._unroll import unroll, unrolls


@dataclass(frozen=True, kw_only=True)
class Lowered(Interface):
    """A program as LLVM assembly, with all that loading and calling it needs.

    Attributes
    ----------
    text:
        LLVM assembly of the module with the entry points.
    straight:
        Further modules of straight-line code. They need no optimisation: what LLVM could
        find, the graph's sharing and rewriting have found already.
    exports:
        The functions that each module defines for the others, the main module's first.
    linked:
        Whether to link the code into its callers.
    symbols:
        External functions to bind before loading.
    constants:
        Constant arrays by the symbol that the code refers to them by.
    steps:
        Number of steps that are written as code: a block that comes again counts once.
    """

    text: str
    straight: tuple[str, ...]
    exports: tuple[tuple[str, ...], ...]
    linked: bool
    symbols: tuple[str, ...]
    constants: dict[str, np.ndarray[Any, Any]]
    steps: int


def emit(
    program: Steps,
    planned: Callable[[Steps], Plan],
    vector_math: bool,
    listings: list[list[str]] | None = None,
) -> Lowered:
    """Return ``program`` as LLVM assembly.

    Parameters
    ----------
    program:
        The program, before it was made legal: its arguments, sizes and guards.
    planned:
        Gives the plan of its legal form, and of the bodies in that.
    vector_math:
        Whether loops may call the vector functions of the C library.
    listings:
        Is given the lines of each function, in a notation to be read.
    """
    kinds = ("numpy." if now().promised else "") + ("read." if now().doubtful else "")
    name = f"symgrad.{kinds}{program.fingerprint[:24]}"
    code = Code(planned, Module(vector_math), tuple(program.sizes))
    if listings is not None:
        code.sources = {}
    unit = Unit(code, name, program)
    unit.run_function()
    write_sizes(code.module, name, program, code.sizes, unit.plan.outputs, sp.Add(*code.loops))
    if listings is not None:
        listings += _listed(code, name)
    globals_ = [f"@{symbol} = external global i8" for symbol in code.constants]
    text = "\n".join([*globals_, code.module.text()])
    return Lowered(
        name=name,
        inputs=tuple(Leaf(n.dtype.name, n.ndim) for n in program.inputs),
        outputs=tuple(Leaf(n.dtype.name, n.ndim) for n in unit.plan.outputs),
        sizes=len(code.sizes),
        text=text,
        straight=tuple(m.text() for m in code.straight),
        exports=((f"{name}.sizes", f"{name}.run"), *map(tuple, code.exports)),
        linked=unit.linked and not code.straight,
        symbols=tuple(sorted(set().union(*(m.symbols for m in (code.module, *code.straight))))),
        constants={s: n.array for s, n in code.constants.items()},
        steps=code.steps,
    )


def _listed(code: Code, prefix: str) -> Iterator[list[str]]:
    """Yield the lines of each function of a program, its ``run`` first."""
    functions = [
        f for m in (code.module, *code.straight) for f in m.functions if isinstance(f, Function)
    ]
    for function in sorted(functions, key=lambda f: f.name != f"{prefix}.run"):
        stem = function.name
        while stem and stem not in (code.sources or {}):
            stem = stem.rpartition(".")[0]
        steps = (code.sources or {}).get(stem, ())
        yield list(listing(function, [n.where for n in steps if n.where is not None], prefix))
