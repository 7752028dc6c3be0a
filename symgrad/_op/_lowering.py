"""How a map op or a routine becomes machine code: the kinds of lowering that a record can name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Instr:
    """One LLVM instruction, by class of element type: float, signed, unsigned, boolean."""

    f: str | None = None
    i: str | None = None
    u: str | None = None
    b: str | None = None


@dataclass(frozen=True)
class Intrinsic:
    """An LLVM floating-point intrinsic such as ``llvm.fabs``, overloaded on the type."""

    name: str


@dataclass(frozen=True)
class Libm:
    """A function of the C mathematics library; SIMD variants are used where they exist."""

    name: str


@dataclass(frozen=True)
class Cython:
    """A function of ``scipy.special.cython_special``, called by its address (float64).

    Of a function with several ``results``, which it writes to memory, the op is one ``part``.
    """

    name: str
    part: int = 0
    results: int = 1


@dataclass(frozen=True)
class Composed:
    """Lowered as a NumPy formula in other ops; in loops by the SIMD function of a name.

    The functions are those of ``symgrad._lower._simd``.
    """

    formula: Callable[..., Any]
    simd: str = ""


@dataclass(frozen=True)
class Emit:
    """Lowered by a function ``(emitter, dtype, *values) -> value`` that writes LLVM IR."""

    function: Callable[..., str]


@dataclass(frozen=True)
class Written:
    """Lowered by a function that writes LLVM IR for one vector or matrix of a batch.

    ``write(call, **params)`` is given what ``symgrad._lower._routines.Call`` is: pointers to
    the operands and the result in memory, and their sizes. ``core``, or ``core(**params)``,
    says how many of the last axes of each operand, and of the result, belong to one call; the
    axes before them are the batch, the same for all. None: one call for everything. With
    ``pairs`` elements are complex numbers, pairs of reals along the last axis, and the routines
    are those for them.
    """

    write: Callable[..., None]
    core: tuple[int, ...] | Callable[..., tuple[int, ...]] | None
    pairs: bool = False


@dataclass(frozen=True)
class Exact:
    """A routine in multiple precision; see ``symgrad._ops.exactly``.

    Parameters
    ----------
    compute:
        ``compute(context, read, like, **params)``: the elements of one call's result.
    reads:
        The operands that the result is a function of.
    core:
        How many of the last axes of the first operand belong to one call.
    symmetric:
        Whether the first operand stands for a symmetric matrix.
    vectors:
        ``vectors(shape, **params)``: the ranges of the result's elements, of a call for an operand
        of this shape, that are orthonormal vectors: their errors are relative to length 1.
    """

    compute: Callable[..., list[Any]]
    reads: tuple[int, ...] = (0,)
    core: int = 2
    symmetric: bool = False
    vectors: Callable[..., tuple[range, ...]] | None = None


Lowering = Instr | Intrinsic | Libm | Cython | Composed | Emit | Written
