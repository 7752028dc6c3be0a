"""The interpreter's opcodes: one handler in LLVM IR for each scalar op and its element types.

Bytecode is 32-bit words. Steps of one opcode that follow each other are one *run*::

    address of the handler (two words), number of steps, operands of the first step, ...

Operands are numbers of *slots*, places of eight bytes. The results of a run go to consecutive
slots, right after those of the run before, so they need no words. A handler is a loop over its
run; it ends by jumping to the handler of the next one. Its body is written by the emitters
that kernels are written by, from the same records.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from .._graph import Input, apply
from .._graph._types import resolve
from .._op import Composed, Cython, Op, registry
from ..errors import DTypeError
from ._emitter import Emitter
from ._llvm_module import Module
from ._types import llvm_type, memory_type
from ._values import OTHER_BRANCH, emit_map

#: Words of a run before its operands.
HEAD = 3

Dtype = Any  # a NumPy dtype


@dataclass(frozen=True)
class Opcode:
    """An op on numbers of definite types, or a move between arrays and slots.

    Attributes
    ----------
    word:
        ``"map"``; ``"load"`` (pointer, place), ``"store"`` and ``"add"`` (pointer, place, number),
        where the place counts elements; ``"require"`` (status, truth value); ``"end"``.
    dtypes:
        Element types of the operands, and of the result as the last.
    op, items:
        The op of a map, with its static parameters.
    """

    word: str
    dtypes: tuple[Dtype, ...]
    op: Op | None = None
    items: tuple[tuple[str, Any], ...] = ()

    @property
    def symbol(self) -> str:
        """The name of the handler."""
        name = self.op.name if self.op is not None else self.word
        types = "".join(f"{d.kind}{d.itemsize}" for d in self.dtypes)
        extra = hashlib.sha256(str(self.items).encode()).hexdigest()[:12] if self.items else ""
        return ".".join(filter(None, ("symgrad.bytecode", name, types, extra)))

    @property
    def width(self) -> int:
        """How many operands a step has."""
        fixed = {"load": 2, "store": 3, "add": 3, "require": 2, "end": 0}
        return fixed.get(self.word, len(self.dtypes) - 1)

    @property
    def gives(self) -> bool:
        """Whether a step has a result."""
        return self.word in ("map", "load")


END = Opcode("end", ())
REQUIRE = Opcode("require", ())


def encodable(op: Op, dtype: Dtype) -> bool:
    """Tell whether a map with results of type ``dtype`` needs no expansion first."""
    if isinstance(op.lower, Cython):
        return bool(dtype == np.float64)
    return not isinstance(op.lower, Composed)


def common_opcodes(ops: Iterable[Op]) -> tuple[Opcode, ...]:
    """Return the moves, and the opcodes of ``ops`` on float64 and on truth values."""
    double, truth, whole = map(np.dtype, (np.float64, np.bool_, np.int64))
    found = dict.fromkeys([END, REQUIRE])
    found.update(dict.fromkeys(Opcode(word, (double,)) for word in ("load", "store", "add")))
    cast = registry.ops["Cast"]  # the only one with a parameter
    for op in sorted(set(ops) - {cast}, key=lambda op: op.name):
        kinds: list[tuple[Any, ...]] = [(double,) * op.arity, (truth,) * op.arity]
        if op.arity == 3:
            kinds.append((truth, double, double))
        if op.kind != "map" or isinstance(op.lower, Cython) or sp.Integers in op.domain:
            continue  # SciPy's functions take a while to import
        for given in kinds:
            with contextlib.suppress(DTypeError):  # a type that the op is not for
                operands, result = resolve(op, given)
                if operands == given and encodable(op, result):
                    found[Opcode("map", (*given, result), op)] = None
    for given_type in (truth, whole):
        found[Opcode("map", (given_type, double), cast, (("dtype", "float64"),))] = None
    return tuple(found)


# ---------------------------------------------------------------- handlers


def handlers_text(opcodes: Sequence[Opcode]) -> tuple[str, tuple[str, ...]]:
    """Return a module with the handlers of ``opcodes``, and the symbols that it needs."""
    module = Module(vector_math=False)
    for opcode in opcodes:
        module.functions.append(_handler(module, opcode))
    return module.text(), tuple(sorted(module.symbols))


def _handler(module: Module, opcode: Opcode) -> str:
    head = f"define void @{opcode.symbol}(ptr %code, ptr %slots, ptr %at) #0 {{"
    if opcode.word == "end":
        return f"{head}\n  ret void\n}}\n"
    e = Emitter(module)
    words = [_word(e, k) for k in range(opcode.width)]
    value = _BODIES[opcode.word](e, opcode, words)
    if value is not None:
        _put(e, "%to", opcode.dtypes[-1], value)
    step = 8 if opcode.gives else 0
    return f"""{head}
entry:
  %count.at = getelementptr i32, ptr %code, i64 2
  %count = load i32, ptr %count.at
  %first = getelementptr i32, ptr %code, i64 {HEAD}
  br label %step
step:
  %words = phi ptr [ %first, %entry ], [ %words.next, %latch ]
  %to = phi ptr [ %at, %entry ], [ %to.next, %latch ]
  %left = phi i32 [ %count, %entry ], [ %left.next, %latch ]
{chr(10).join(e.lines[0])}
  br label %latch
latch:
  %words.next = getelementptr i32, ptr %words, i64 {opcode.width}
  %to.next = getelementptr i8, ptr %to, i64 {step}
  %left.next = sub i32 %left, 1
  %more = icmp ne i32 %left.next, 0
  br i1 %more, label %step, label %done
done:
  %next = load ptr, ptr %words.next, align 4
  musttail call void %next(ptr %words.next, ptr %slots, ptr %to.next)
  ret void
}}
"""


def _word(e: Emitter, k: int) -> str:
    """Return operand ``k`` of the step, an ``i64``."""
    short = e.op(f"load i32, ptr {e.op(f'getelementptr i32, ptr %words, i64 {k}')}")
    return e.op(f"sext i32 {short} to i64")


def _slot(e: Emitter, number: str) -> str:
    return e.op(f"getelementptr i64, ptr %slots, i64 {number}")


def _get(e: Emitter, pointer: str, dtype: Dtype) -> str:
    value = e.op(f"load {memory_type(dtype)}, ptr {pointer}")
    return e.op(f"trunc i8 {value} to i1") if dtype.kind == "b" else value


def _put(e: Emitter, pointer: str, dtype: Dtype, value: str) -> None:
    if dtype.kind == "b":
        value = e.op(f"zext i1 {value} to i8")
    e.line(f"store {memory_type(dtype)} {value}, ptr {pointer}")


def _map(e: Emitter, opcode: Opcode, words: Sequence[str]) -> str:
    assert opcode.op is not None
    *given, result = opcode.dtypes
    operands = tuple(Input(f"x{k}", (), d) for k, d in enumerate(given))
    node = apply(opcode.op, operands, opcode.items, (), result)
    return emit_map(e, node, [_get(e, _slot(e, w), d) for w, d in zip(words, given, strict=True)])


def _element(e: Emitter, opcode: Opcode, array: str, place: str) -> str:
    base = e.op(f"load ptr, ptr {_slot(e, array)}")
    return e.op(f"getelementptr {memory_type(opcode.dtypes[-1])}, ptr {base}, i64 {place}")


def _load(e: Emitter, opcode: Opcode, words: Sequence[str]) -> str:
    return _get(e, _element(e, opcode, *words), opcode.dtypes[-1])


def _store(e: Emitter, opcode: Opcode, words: Sequence[str]) -> None:
    value = _get(e, _slot(e, words[2]), opcode.dtypes[-1])
    _put(e, _element(e, opcode, words[0], words[1]), opcode.dtypes[-1], value)


def _add(e: Emitter, opcode: Opcode, words: Sequence[str]) -> None:
    dtype = opcode.dtypes[-1]
    place = _element(e, opcode, words[0], words[1])
    before, value = _get(e, place, dtype), _get(e, _slot(e, words[2]), dtype)
    word = "fadd" if dtype.kind == "f" else "or" if dtype.kind == "b" else "add"
    _put(e, place, dtype, e.op(f"{word} {llvm_type(dtype)} {before}, {value}"))


def _require(e: Emitter, opcode: Opcode, words: Sequence[str]) -> None:
    holds = e.op(f"icmp ne i8 {e.op(f'load i8, ptr {_slot(e, words[1])}')}, 0")
    status = _slot(e, words[0])
    code = e.op(f"select i1 {holds}, i32 0, i32 {OTHER_BRANCH}")
    before = e.op(f"load i32, ptr {status}")
    e.line(f"store i32 {e.op(f'or i32 {before}, {code}')}, ptr {status}")


_BODIES: dict[str, Any] = {
    "map": _map, "load": _load, "store": _store, "add": _add, "require": _require,
}  # fmt: skip
