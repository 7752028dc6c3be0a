"""Object files of programs, for this processor or another: with neither symgrad nor Python.

What kernels find in a process comes along: memory from ``malloc``, chunks on the calling thread,
matrix products, constants. LAPACK is called by its own names, and linked by who links the object.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np

from .._core.base.state import within
from .._core.codegen.llvm import (
    FAST_CODE_FROM,
    FULL,
    assembled,
    llvm_turn,
    optimize_whole,
    right_features,
    verified,
)
from .._core.lowering import SIMD_PREFIX, Lowered, products
from .._core.op import Code, Cython
from .._core.pipeline import legal, lower
from .._core.program import Program
from .._core.runtime import GIVE, TAKE, Machine, level_note
from .._core.runtime.threads import LIMIT, RUN
from ..errors import UnsupportedError
from . import Signature, entry_text

#: The name of what products call in BLAS's place, beyond the largest.
NEVER = "symgrad.product.never"

_RUNTIME = """
declare void @free(ptr)
declare double @tgamma(double)
declare double @lgamma(double)
@LIMIT = constant i64 1
@PRODUCTS = constant i64 9223372036854775807
declare noalias ptr @malloc(i64)
define noalias ptr @TAKE(i64 %bytes) {
  %p = call noalias ptr @malloc(i64 %bytes)
  ret ptr %p
}
define void @GIVE(ptr %p, i64 %bytes) {
  call void @free(ptr %p)
  ret void
}
define void @RUN(ptr %chunk, ptr %closure, i64 %count, i64 %threads) {
entry:
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %body, label %done
body:
  call void %chunk(ptr %closure, i64 %k)
  %next = add i64 %k, 1
  br label %head
done:
  ret void
}
define void @NEVER(ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr) {
  unreachable
}
define double @symgrad.scipy.special.cython_special.gamma(double %x, i32 %0) {
  %y = call double @tgamma(double %x)
  ret double %y
}
define double @symgrad.scipy.special.cython_special.gammaln(double %x, i32 %0) {
  %y = call double @lgamma(double %x)
  ret double %y
}
"""

#: The C library's functions that take sizes.
_SIZED = re.compile(r"@(malloc|realloc)\b")

#: They where sizes are narrower: what does not fit is memory that there is not.
_NARROW = """
declare noalias ptr @malloc(iN)
declare ptr @realloc(ptr, iN)
define noalias ptr @symgrad.malloc(i64 %bytes) {
  %p = call ptr @symgrad.realloc(ptr null, i64 %bytes)
  ret ptr %p
}
define ptr @symgrad.realloc(ptr %old, i64 %bytes) {
entry:
  %size = trunc i64 %bytes to iN
  %again = sext iN %size to i64
  %fits = icmp eq i64 %again, %bytes
  br i1 %fits, label %ask, label %none
ask:
  %p = call ptr @realloc(ptr %old, iN %size)
  ret ptr %p
none:
  ret ptr null
}
"""

#: The vectors that matrix products are made of; each is two of aarch64's 32 registers.
TILE_BYTES = 32

#: Routines of BLAS and LAPACK, as SciPy offers them.
_ROUTINE = re.compile(r"symgrad\.scipy\.linalg\.cython_(?:blas|lapack)\.(\w+)")

#: What else the module above has.
_HERE = frozenset((RUN, *(f"symgrad.scipy.special.cython_special.{name}"
                          for name in ("gamma", "gammaln"))))  # fmt: skip


class Object(NamedTuple):
    """An object file's content, and whether it is to be linked with LAPACK."""

    content: bytes
    lapack: bool


def object_code(program: Program, signature: Signature, machine: Machine) -> Object:
    """Return the C function of a program as an object file.

    Raises
    ------
    UnsupportedError
        Naming a function of SciPy's, NumPy's or the user's that it would call.
    """
    with within(machine=machine):
        lowered = lower(program)
        kinds = sorted(s.rpartition(".")[2] for s in products.SYMBOLS.intersection(lowered.symbols))
        multiplied = [_product(kind, machine) for kind in kinds]
    _refuse(program, lowered, machine)
    bits = machine.size_bits
    main = f"{lowered.text}\n{entry_text(signature, lowered, size_bits=bits)}"
    words = {"LIMIT": LIMIT, "PRODUCTS": products.LIMIT, "NEVER": NEVER, "TAKE": TAKE,
             "GIVE": GIVE, "RUN": RUN}  # fmt: skip
    runtime = re.sub(r"@([A-Z]+)\b", lambda m: f"@{words[m[1]]}", _RUNTIME)
    constants = map(_constant, lowered.constants.items())
    texts = [main, "\n".join([runtime, level_note(machine), *constants]), *multiplied]
    if bits < 64:
        texts = [_SIZED.sub(r"@symgrad.\1", text) for text in texts]
        texts.append(_NARROW.replace("iN", f"i{bits}"))
    content = _linked(texts, lowered, machine, signature.name)
    return Object(content, any(_ROUTINE.fullmatch(symbol) for symbol in lowered.symbols))


def _constant(item: tuple[str, np.ndarray[Any, Any]]) -> str:
    symbol, array = item
    content = np.ascontiguousarray(array).tobytes() or b"\0"
    text = "".join(f"\\{byte:02X}" for byte in content)
    return f'@{symbol} = constant [{len(content)} x i8] c"{text}", align 64'


def _product(kind: str, machine: Machine) -> str:
    """Return the function for matrix products of an LLVM type, which never calls BLAS."""
    text = products.product_text(kind, TILE_BYTES).replace(products.gemm_symbol(kind), NEVER)
    if machine.register_bytes:
        return text
    # The C library would imitate what the processor does not have.
    return text.replace("@llvm.fma.", "@llvm.fmuladd.")


@llvm_turn()
def _linked(texts: Iterable[str], lowered: Lowered, machine: Machine, name: str) -> bytes:
    """Return the object code of modules that are made one; all but ``name`` is its own."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(machine.triple)

    def made(level: int, features: str) -> Any:
        return target.create_target_machine(
            cpu=machine.cpu, features=features, opt=level, reloc="pic", codemodel="small"
        )

    optimizing = made(3, machine.features)

    def parsed(text: str) -> Any:
        module = assembled(_ROUTINE.sub(r"\1_", text))
        module.triple, module.data_layout = machine.triple, str(optimizing.target_data)
        return module

    whole, *parts = map(parsed, texts)
    for part in parts:
        whole.link_in(part)
    outside = {symbol for exports in lowered.exports[1:] for symbol in exports}
    _make_internal(whole, name)
    optimize_whole(verified(whole), optimizing, FULL)
    for text in lowered.straight:  # there is nothing to optimise in it
        whole.link_in(parsed(text))
    if outside:
        _make_internal(whole, name)
    level = 0 if lowered.steps > FAST_CODE_FROM else 3
    emitting = made(level, right_features(machine.features, verified(whole)))
    return bytes(emitting.emit_object(whole))


def _make_internal(module: Any, name: str) -> None:
    # What the vectoriser may call is seen by it alone, and dropped by it.
    for thing in (*module.functions, *module.global_variables):
        if not thing.is_declaration and thing.name != name and not thing.name.startswith(
            (SIMD_PREFIX, "llvm.")
        ):  # fmt: skip
            thing.linkage = "internal"


def _refuse(program: Program, lowered: Lowered, machine: Machine) -> None:
    """Refuse what a program without Python would not find."""
    for symbol in lowered.symbols:
        if symbol in products.SYMBOLS | _HERE or _ROUTINE.fullmatch(symbol):
            continue
        _, _, name = symbol.partition(".")
        if name.startswith("user."):
            said = f"{name.split('.')[1]} is a function of yours in Python's world"
        else:
            home = name.replace("cython_special", "").replace("_ufuncs", "")
            said = f"{re.sub(r'[.]+', '.', home)} is a function of a Python package"
        where = _line_of(program, symbol, machine)
        raise UnsupportedError(
            f"{said}{where}, which an object file cannot bring along. Compute it in the calling "
            "program, and export the rest as a function of its result"
        )


def _line_of(program: Program, symbol: str, machine: Machine) -> str:
    name = symbol.rpartition(".")[2]
    with within(machine=machine):
        for node in legal(program).nested_steps():
            lower = Code.of(node.op).lower
            if isinstance(lower, Cython) and lower.name == name and node.where:
                return f" ({node.where})"
    return ""
