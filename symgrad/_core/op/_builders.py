"""Interfaces for writing the code of ops: instructions for one element, and calls of routines.

These are the faces of what lowering has (``Emitter``, ``Call``), and C export (``Writer``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from ..base.sizes import Dimension


class Library(Protocol):
    """The functions that the code of an op calls."""

    #: Names of those that are bound when the code is loaded.
    symbols: set[str]

    def declare(self, name: str, result: str, arguments: Iterable[str]) -> None:
        """Declare a function of LLVM's."""

    def helper(self, text: str) -> None:
        """Add a function, in LLVM's notation, once."""


class Builder(Protocol):
    """A writer of the machine code of an elementwise op, one element at a time.

    Values are names of LLVM registers, or constants.
    """

    @property
    def module(self) -> Library:
        """The module, which knows the functions that are called."""

    def type(self, dtype: np.dtype[Any]) -> str:
        """Return LLVM's name of an element type."""

    def const(self, value: float, dtype: np.dtype[Any]) -> str:
        """Return a number as a constant of an element type."""

    def op(self, opcode: str, kind: str, *operands: str | int) -> str:
        """Append arithmetic or a comparison (``"icmp slt"``) on values of one type."""

    def cast(self, opcode: str, source: str, value: str, kind: str) -> str:
        """Append the conversion of a value of the type ``source``."""

    def select(self, condition: str, kind: str, yes: str | int, no: str | int) -> str:
        """Append the choice between two values of a type."""

    def call(self, kind: str, function: str, arguments: Iterable[str]) -> str:
        """Append a call of a function that gives a type; arguments stand behind their types."""

    def entry(self, numbers: tuple[float, ...], place: str) -> str:
        """Return the number at a place, an ``i64``, of a table of constants."""

    def call_intrinsic(self, name: str, dtype: np.dtype[Any], *values: str) -> str:
        """Call ``llvm.<name>`` on values of one type; return the result."""

    def call_libm(self, name: str, dtype: np.dtype[Any], *values: str) -> str:
        """Call a function of the C mathematics library, or its SIMD variant."""


class Instructions(Builder, Protocol):
    """A writer of the machine code of a routine: memory and blocks beside elementwise code."""

    def alloca(self, kind: str, more: str = "") -> str:
        """Append memory in the function's frame; return the pointer to it."""

    def load(self, kind: str, pointer: str, more: str = "") -> str:
        """Append the reading of a value from memory."""

    def store(self, kind: str, value: str | int, pointer: str, more: str = "") -> None:
        """Append the writing of a value to memory; ``more`` follows it, as an alignment does."""

    def put(self, whole: str, value: str, kind: str, part: str, number: int) -> str:
        """Append a value of several with another part."""

    def put_lane(self, vector: str, value: str, kind: str, part: str, lane: int) -> str:
        """Append a vector with another element."""

    def shuffle(self, vector: str, first: str, second: str, lanes: str, order: str) -> str:
        """Append the elements of two vectors in an order, of the type ``lanes``."""

    def least(self, a: str, b: str | int) -> str:
        """Append the smaller one of two ``i64``."""

    def counted(
        self, cell: str, first: str, end: str | int, step: int = 1, stays: bool = False
    ) -> AbstractContextManager[str]:
        """Write the block for the values of a variable from ``first`` on, below ``end``.

        ``stays``: it has few turns, or takes vectors already; LLVM makes none of it.
        """


class Call(Protocol):
    """One call of a routine; see ``symgrad._core.lowering._routines.Call`` for its attributes."""

    pointers: list[str]
    shapes: list[Any]
    dtypes: list[np.dtype[Any]]
    dtype: np.dtype[Any]
    kind: str
    element: str
    pairs: bool

    @property
    def e(self) -> Instructions:
        """The writer of single instructions."""

    @property
    def width(self) -> int:
        """How many bytes an element takes."""

    def outside(self) -> AbstractContextManager[Instructions]:
        """Write to the start of the function: what is made there is known everywhere."""

    def size(self, dim: Dimension) -> str:
        """Return a size, an ``i64``."""

    def cell(self, kind: str, value: str) -> str:
        """Return a pointer to a number."""

    def integer(self, dim: Dimension) -> str:
        """Return a pointer to a size as a 32-bit integer."""

    def leading(self, dim: Dimension) -> str:
        """Return a pointer to a leading dimension, which is 1 at least."""

    def letter(self, text: str) -> str:
        """Return a pointer to a character."""

    def constant(self, value: float) -> str:
        """Return a number of the operands' type."""

    def filled(self, value: float) -> str:
        """Return an element whose parts are all ``value``."""

    def number(self, value: float) -> str:
        """Return a pointer to a number of the operands' type."""

    def work(self, count: Dimension, kind: str | None = None) -> str:
        """Return a pointer to memory for ``count`` elements, or other numbers."""

    def at(self, pointer: str, index: str, kind: str | None = None) -> str:
        """Return a pointer to an element."""

    def get(self, pointer: str, index: str) -> str:
        """Load an element."""

    def put(self, value: str, pointer: str, index: str) -> None:
        """Store an element."""

    def copy(self, target: str, source: str, count: Dimension) -> None:
        """Copy elements."""

    def call(self, name: str, *arguments: str, library: str = "lapack") -> None:
        """Call a routine of BLAS or LAPACK, by its name without the letter of the type."""

    def call_user(self, symbol: str, function: Any) -> None:
        """Call a function of ctypes' with two tables: the pointers, and all sizes in order."""

    def loop_of(
        self, module: str, names: tuple[str, ...], arguments: tuple[str, ...],
        sizes: tuple[Dimension | str, ...], steps: tuple[Dimension, ...],
        parity: Dimension = 0, data: bool = False,
    ) -> None:  # fmt: skip
        """Call the inner loop of a universal function, by its module and name."""

    def ufunc_loop(
        self, symbol: str, arguments: Sequence[str], sizes: Sequence[Dimension],
        steps: Sequence[Dimension],
    ) -> None:  # fmt: skip
        """Call the inner loop of a universal function, by its symbol."""

    def loop(self, count: str, body: Callable[[str], None]) -> None:
        """Run ``body(i)`` for ``i`` from 0 up to ``count``, an ``i64`` register."""

    def spoil(self, info: str, pointer: str, count: Dimension) -> None:
        """Fill with nan if LAPACK reports a failure in ``info``."""
