"""The SIMD functions as LLVM definitions, for the calls that name them as variants."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..runtime import Variant, register_bytes, vector_twin, vector_width
from ._simd import FUNCTIONS, far_from
from ._simd_builder import Body, Form, Lanes, Mask

#: What the names of these functions begin with.
PREFIX = "symgrad.simd."


class Definition(NamedTuple):
    """A SIMD function: its name, its number of lanes, its text, and what it calls."""

    symbol: str
    lanes: int
    text: str
    declarations: dict[str, str]


def libm_name(name: str, dtype: Any) -> str:
    """Return the C library's name of a function for an element type."""
    return name if np.dtype(dtype).itemsize == 8 else f"{name}f"


#: What these functions do: nothing but compute.
PURE = "nounwind willreturn memory(none)"


def definitions(name: str, dtype: Any, arguments: int = 1) -> list[Definition]:
    """Return a function for registers, widest first, and for one element; none if there is none.

    All compute the same bits. Ours are formulas; the others are the C library's vector function,
    which takes a register of one width.
    """
    dtype = np.dtype(dtype)
    if name in FUNCTIONS and register_bytes():
        widths = [w // dtype.itemsize for w in (64, 32, 16) if w <= register_bytes()]
        return [_definition(name, Form(dtype, lanes)) for lanes in (*widths, 1)]
    twin = vector_twin(libm_name(name, dtype), arguments, dtype.itemsize)
    if twin is None:
        return []
    widths = [twin.width >> k for k in range(twin.width.bit_length())]
    return [_padded(name, twin, arguments, Form(dtype, lanes)) for lanes in widths]


@lru_cache(maxsize=256)
def _definition(name: str, form: Form) -> Definition:
    body = Body(form)
    x = Lanes(body, "%x")
    result = FUNCTIONS[name](x)
    symbol = f"{PREFIX}{name}.{form.lanes}{form.dtype.char}"
    head = _head(symbol, form, "%x")
    far = far_from(name, form)
    if far is None:
        lines, more = [*body.lines, f"  ret {form.floats} {result.name}"], []
    else:
        lines = _guarded(symbol, body, result, abs(x) > far)
        more = [_by_lanes(symbol, name, form)]
        libm = libm_name(name, form.dtype)
        body.declarations[libm] = f"declare {form.element} @{libm}({form.element})"
    text = "\n".join([head, "entry:", *lines, "}", *more])
    return Definition(symbol, form.lanes, text, body.declarations)


def _head(symbol: str, form: Form, *arguments: str) -> str:
    """Return the first line of a definition.

    "weak_odr": the optimiser keeps it until it has made the calls, and of several modules that are
    linked one stays. The function for one element is what the vectoriser must still see called.
    """
    given = ", ".join(f"{form.floats} {x}" for x in arguments)
    inlined = "alwaysinline" if form.lanes > 1 else "noinline"
    result = f"define weak_odr hidden {form.floats} @{symbol}({given})"
    return f"{result} {inlined} {PURE}{vector_width()} {{"


@lru_cache(maxsize=1024)
def _padded(name: str, twin: Variant, arguments: int, form: Form) -> Definition:
    """Return the C library's vector function for fewer lanes: each comes several times."""
    symbol = f"{PREFIX}{name}.{form.lanes}{form.dtype.char}"
    full = Form(form.dtype, twin.width)
    given, lines = [f"%x{k}" for k in range(arguments)], []
    padded = given
    if form.lanes == 1:
        lines = [
            line
            for x in given
            for line in (
                f"  {x}.one = insertelement {full.floats} poison, {form.floats} {x}, i32 0",
                _shuffled(f"{x}.all", full.floats, f"{x}.one", [0] * full.lanes),
            )
        ]
    elif form.lanes < full.lanes:
        again = [k % form.lanes for k in range(full.lanes)]
        lines = [_shuffled(f"{x}.all", form.floats, x, again) for x in given]
    if lines:
        padded = [f"{x}.all" for x in given]
    call = f"call {full.floats} @{twin.symbol}({', '.join(f'{full.floats} {x}' for x in padded)})"
    lines.append(f"  %full = {call} {PURE}")
    if form.lanes == 1:
        lines.append(f"  %y = extractelement {full.floats} %full, i32 0")
    else:
        lines.append(_shuffled("%y", full.floats, "%full", list(range(form.lanes))))
    text = "\n".join(
        [_head(symbol, form, *given), "entry:", *lines, f"  ret {form.floats} %y", "}"]
    )
    types = ", ".join([full.floats] * arguments)
    return Definition(
        symbol, form.lanes, text, {twin.symbol: f"declare {full.floats} @{twin.symbol}({types})"}
    )


def _shuffled(result: str, kind: str, value: str, lanes: list[int]) -> str:
    """Return the instruction for a register of some lanes of another one."""
    chosen = ", ".join(f"i32 {k}" for k in lanes)
    return (
        f"  {result} = shufflevector {kind} {value}, {kind} poison, <{len(lanes)} x i32> <{chosen}>"
    )


def _guarded(symbol: str, body: Body, near: Lanes, far: Mask) -> list[str]:
    """Return the function's lines: where any argument is far, a call of a rare function."""
    form = body.form
    found = far.name
    if form.lanes > 1:
        some = f"llvm.vector.reduce.or.v{form.lanes}i1"
        body.declarations[some] = f"declare i1 @{some}({form.masks})"
        found = body.op(f"call i1 @{some}({form.masks} {far.name})")
    floats = form.floats
    return [
        *body.lines,
        f"  br i1 {found}, label %rare, label %done",
        "rare:",
        f"  %away = call {floats} @{symbol}.far({floats} %x)",
        f"  %both = select {form.masks} {far.name}, {floats} %away, {floats} {near.name}",
        "  br label %done",
        "done:",
        f"  %y = phi {floats} [ {near.name}, %entry ], [ %both, %rare ]",
        f"  ret {floats} %y",
    ]


def _by_lanes(symbol: str, name: str, form: Form) -> str:
    """Return the function that calls the C library for each lane."""
    element, floats = form.element, form.floats
    lines, last = [], "poison"
    if form.lanes == 1:
        last = "%y0"
        lines = [f"  %y0 = call {element} @{libm_name(name, form.dtype)}({element} %x) {PURE}"]
    for k in range(form.lanes if form.lanes > 1 else 0):
        lines += [
            f"  %x{k} = extractelement {floats} %x, i32 {k}",
            f"  %y{k} = call {element} @{libm_name(name, form.dtype)}({element} %x{k}) {PURE}",
            f"  %z{k} = insertelement {floats} {last}, {element} %y{k}, i32 {k}",
        ]
        last = f"%z{k}"
    head = (
        f"define weak_odr hidden {floats} @{symbol}.far({floats} %x) "
        f"cold noinline {PURE}{vector_width()} {{"
    )
    return "\n".join([head, "entry:", *lines, f"  ret {floats} {last}", "}"])
