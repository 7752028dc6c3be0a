"""Routines: a library's computation on vectors or matrices, once for each of a batch.

The record of such an op writes the calls itself, through :class:`Call`: it knows which
routine of LAPACK it is, and this module knows where operands lie and how C calls Fortran.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import sympy as sp

from ..base.sizes import MOST_BYTES, Dimension, as_expr, dim_product
from ..graph import Node
from ..op import Code, Written
from ..runtime import Function, bind_function, cython_symbol, loop_symbol, ufunc_data
from ..runtime.interface import constant_text, llvm_type
from ._emitter import Emitter
from ._llvm_module import Module
from ._loops import Frame, Loops, task_function
from ._values import Place


def in_memory(frame: Frame, node: Node) -> Place:
    """Return where the elements of ``node`` lie, one after the other in C order."""
    while node.op.alias and frame.place(node) is None:
        node = node.operands[0]
    place = frame.using(node)
    assert place is not None, f"{node.op.name} has no place in memory"
    return place


class Call:
    """One call of a routine: what the record of an op writes its LLVM IR with.

    Attributes
    ----------
    pointers:
        Registers that point to the first element of each operand and of the result.
    shapes:
        The sizes of the axes of each operand and of the result, without the batch.
    dtypes:
        Their element types.
    dtype:
        Element type of the last operand; for complex numbers that of their parts.
    kind, element:
        The LLVM types of a real number and of an element, which may be a pair of them.
    pairs:
        Whether elements are complex numbers.
    """

    def __init__(
        self, emitter: Emitter, shapes: list[Any], dtypes: list[np.dtype[Any]],
        pairs: bool = False, scratch: Callable[[Dimension], str] | None = None,
    ) -> None:  # fmt: skip
        self.e, self.shapes, self.dtypes, self.pairs = emitter, shapes, dtypes, pairs
        self.scratch = scratch
        self.dtype = dtypes[-2]
        self.kind = llvm_type(self.dtype)
        self.element = f"[2 x {self.kind}]" if pairs else self.kind
        self.pointers: list[str] = []
        self.before = emitter.lines[0]

    @contextlib.contextmanager
    def outside(self) -> Iterator[Emitter]:
        """Emit to the start of the function: what is made there is known everywhere."""
        e = self.e
        lines, depth = e.lines[0], e.depth
        e.lines[0], e.depth = self.before, 0
        try:
            yield e
        finally:
            e.lines[0], e.depth = lines, depth

    # ---------------------------------------------------------------- numbers

    def size(self, dim: Dimension) -> str:
        """Return the ``i64`` register of a size."""
        with self.outside() as e:
            return e.index(as_expr(dim))

    def cell(self, kind: str, value: str) -> str:
        """Return a pointer to a number: Fortran takes every argument by its address."""
        with self.outside() as e:
            pointer = e.alloca(kind)
            e.store(kind, value, pointer)
            return pointer

    def integer(self, dim: Dimension) -> str:
        """Return a pointer to a size as a 32-bit integer."""
        with self.outside() as e:
            e.module.bounded.add(as_expr(dim) * (MOST_BYTES >> 31))  # so it is below 2**31
            short = e.cast("trunc", "i64", self.size(dim), "i32")
            return self.cell("i32", short)

    def leading(self, dim: Dimension) -> str:
        """Return a pointer to a leading dimension, which LAPACK wants to be 1 at least."""
        return (
            self.integer(sp.Max(1, dim)) if not isinstance(dim, int) else self.integer(max(1, dim))
        )

    def letter(self, text: str) -> str:
        """Return a pointer to a character."""
        return self.cell("i8", str(ord(text)))

    def constant(self, value: float) -> str:
        """Return a number of the operands' type."""
        return constant_text(value, self.dtype)

    def filled(self, value: float) -> str:
        """Return an element whose parts are all ``value``."""
        text = self.constant(value)
        return f"[{self.kind} {text}, {self.kind} {text}]" if self.pairs else text

    def number(self, value: float) -> str:
        """Return a pointer to a number of the operands' type, of which it is the real part."""
        text = self.constant(value)
        zero = self.constant(0.0)
        pair = f"[{self.kind} {text}, {self.kind} {zero}]"
        return self.cell(self.element, pair if self.pairs else text)

    # ---------------------------------------------------------------- memory

    def work(self, count: Dimension, kind: str | None = None) -> str:
        """Return a pointer to memory for ``count`` elements, the same for each of a batch.

        ``kind`` is that of other numbers than elements.
        """
        width = {"i32": 4, "i64": 8, self.kind: self.dtype.itemsize}.get(kind or "", self.width)
        assert self.scratch is not None
        return self.scratch(as_expr(count) * width)

    def at(self, pointer: str, index: str, kind: str | None = None) -> str:
        """Return a pointer to an element."""
        kind = kind or self.element
        return self.e.element(kind, pointer, index)

    def get(self, pointer: str, index: str) -> str:
        """Load an element."""
        return self.e.load(self.element, self.at(pointer, index))

    def put(self, value: str, pointer: str, index: str) -> None:
        """Store an element."""
        self.e.store(self.element, value, self.at(pointer, index))

    @property
    def width(self) -> int:
        """How many bytes an element takes."""
        return int(self.dtype.itemsize) * (2 if self.pairs else 1)

    def copy(self, target: str, source: str, count: Dimension) -> None:
        """Copy elements."""
        self.e.copy(target, source, self.size(as_expr(count) * self.width))

    # ---------------------------------------------------------------- steps

    def call(self, name: str, *arguments: str, library: str = "lapack") -> None:
        """Call a routine of BLAS or LAPACK, by its name without the letter of the type."""
        letter = ("cz" if self.pairs else "sd")[self.dtype != np.float32]
        symbol = cython_symbol(Function(f"scipy.linalg.cython_{library}", letter + name))
        self.e.module.symbols.add(symbol)
        self.e.module.declare(symbol, "void", ["ptr"] * len(arguments))
        self.e.call("void", f"@{symbol}", [f"ptr {a}" for a in arguments])

    def call_user(self, symbol: str, function: Any) -> None:
        """Call a function of ctypes' with two tables: the pointers, and all sizes in order."""
        address = ctypes.cast(function, ctypes.c_void_p).value
        assert address is not None
        bind_function(symbol, address, keep=function)
        e, pointers, sizes = self.e, self.pointers, [d for shape in self.shapes for d in shape]
        with self.outside():
            table = e.alloca(f"[{len(pointers)} x ptr]")
            lengths = e.alloca(f"[{max(1, len(sizes))} x i64]")
            for k, dim in enumerate(sizes):
                place = e.element("i64", lengths, k)
                e.store("i64", self.size(dim), place)
        for k, pointer in enumerate(pointers):
            place = e.element("ptr", table, k)
            e.store("ptr", pointer, place)
        e.module.symbols.add(symbol)
        e.module.declare(symbol, "void", ["ptr", "ptr"])
        e.call("void", f"@{symbol}", [f"ptr {table}", f"ptr {lengths}"])

    def loop_of(
        self, module: str, names: tuple[str, ...], arguments: tuple[str, ...],
        sizes: tuple[Dimension | str, ...], steps: tuple[Dimension, ...],
        parity: Dimension = 0, data: bool = False,
    ) -> None:  # fmt: skip
        """Call the inner loop of a universal function, as NumPy calls it.

        ``sizes`` (or their registers) and ``steps`` (in bytes) are those of the loop and then of
        the core axes. Of two names the second is for an odd ``parity``; ``data`` says whether the
        loop has some.
        """
        e = self.e
        letter = "f" if self.dtype == np.float32 else "d"
        found = [loop_symbol(module, name, letter) for name in names]
        e.module.symbols.update(found)
        kinds = ["ptr"] * 4
        for symbol in found:
            e.module.declare(symbol, "void", kinds)
        function, extra = f"@{found[0]}", "null"
        if len(found) == 2:
            odd = e.cast("trunc", "i64", self.size(parity), "i1")
            function = e.select(odd, "ptr", f"@{found[1]}", f"@{found[0]}")
        if data:
            extra = f"@{found[0]}.data"
            e.module.declarations[extra] = f"{extra} = external global i8"
        self._called(function, arguments, sizes, steps, extra)

    def ufunc_loop(
        self, symbol: str, arguments: Sequence[str], sizes: Sequence[Dimension],
        steps: Sequence[Dimension],
    ) -> None:  # fmt: skip
        """Call an inner loop by its :func:`ufunc_symbol`; steps are in bytes."""
        e = self.e
        e.module.symbols.add(symbol)
        e.module.declare(symbol, "void", ["ptr"] * 4)
        extra = "null"
        if ufunc_data(symbol):
            extra = f"@{symbol}.data"
            e.module.declarations[extra] = f"{extra} = external global i8"
        self._called(f"@{symbol}", arguments, sizes, steps, extra)

    def _called(
        self, function: str, arguments: Sequence[str], sizes: Sequence[Dimension | str],
        steps: Sequence[Dimension], extra: str,
    ) -> None:  # fmt: skip
        """Call an inner loop of a universal function with its tables."""
        tables = [self._table("ptr", arguments)]
        for part in (sizes, steps):
            numbers = [n if isinstance(n, str) else self.size(n) for n in part]
            tables.append(self._table("i64", numbers))
        self.e.call("void", function, [*(f"ptr {t}" for t in tables), f"ptr {extra}"])

    def _table(self, kind: str, values: Sequence[str]) -> str:
        """Return a pointer to an array of values on the stack."""
        with self.outside() as e:
            pointer: str = e.alloca(f"[{len(values)} x {kind}]")
        for k, value in enumerate(values):
            self.e.store(kind, value, self.at(pointer, str(k), kind))
        return pointer

    def loop(self, count: str, body: Callable[[str], None]) -> None:
        """Run ``body(i)`` for ``i`` from 0 up to ``count``, an ``i64`` register."""
        with self.e.counted(self.cell("i64", "0"), "0", count, stays=True) as i:
            body(i)

    def spoil(self, info: str, pointer: str, count: Dimension) -> None:
        """Fill with nan if LAPACK reports a failure in ``info``."""
        e = self.e
        failed = e.op("icmp ne", "i32", e.load("i32", info), "0")
        some = e.select(failed, "i64", self.size(count), "0")
        self.loop(some, lambda i: self.put(self.filled(np.nan), pointer, i))


def write_routine(
    module: Module, name: str, node: Node, frame: Frame,
    scratch: Callable[[Frame, Dimension], str],
) -> None:  # fmt: skip
    """Add the function of one routine, with loops over its batch, to the module."""
    lower = Code.of(node.op).lower
    assert isinstance(lower, Written)
    nodes = (*node.operands, node)
    axes = lower.core(**node.params) if callable(lower.core) else lower.core
    if axes is None:
        axes = tuple(x.ndim for x in nodes)
    batch = node.shape[: node.ndim - axes[-1]]
    cores = [x.shape[x.ndim - c :] for x, c in zip(nodes, axes, strict=True)]
    e = Emitter(module, len(batch))
    e.bind_sizes(frame.sizes)
    loops = Loops(e, batch)
    own = functools.partial(scratch, frame)
    call = Call(e, cores, [x.dtype for x in nodes], lower.pairs, own)
    position: Any = sp.Integer(0)
    for index, extent in zip(loops.index, batch, strict=True):
        position = position * extent + index
    for x, core in zip(nodes, cores, strict=True):
        place = in_memory(frame, x)
        offset = e.index(sp.expand(position * dim_product(core)))
        e.depth = e.depth_of(offset)
        kind = "i64" if place.slot is not None else llvm_type(x.dtype)
        where = str(place.slot) if place.slot is not None else offset
        call.pointers.append(e.element(kind, place.pointer, where))
        e.depth = 0
    e.depth = len(batch)
    if not batch:
        e.lines[0] = []
    lower.write(call, **node.params)
    e.depth = 0
    if not batch:
        e.lines[0] = [*call.before, *e.lines[0]]
    body = loops.assemble({}, {}, None)
    module.functions.append(task_function(name, frame, body))
