"""The SIMD functions as LLVM definitions, for the calls that name them as variants."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ._lanes import Body, Form, Lanes, Mask
from ._mathlib import register_bytes, vector_width
from ._simd import FUNCTIONS, far_from

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


def scalar_definition(name: str, dtype: Any) -> Definition:
    """Return the function for one number, in the same steps."""
    return _definition(name, Form(np.dtype(dtype), 1))


def definitions(name: str, dtype: Any) -> list[Definition]:
    """Return the SIMD twins of a C function, widest first; none where there are none."""
    dtype = np.dtype(dtype)
    if name not in FUNCTIONS:
        return []
    widths = [w // dtype.itemsize for w in (64, 32, 16) if w <= register_bytes()]
    return [_definition(name, Form(dtype, lanes)) for lanes in widths]


@lru_cache(maxsize=256)
def _definition(name: str, form: Form) -> Definition:
    body = Body(form)
    x = Lanes(body, "%x")
    result = FUNCTIONS[name](x)
    symbol = f"{PREFIX}{name}.{form.lanes}{form.dtype.char}"
    # "weak_odr": the optimiser keeps it until it has made the calls, and of several modules
    # that are linked one stays.
    head = (
        f"define weak_odr hidden {form.floats} @{symbol}({form.floats} %x) "
        f"{'alwaysinline ' if form.lanes > 1 else ''}{PURE}{vector_width()} {{"
    )
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


def _guarded(symbol: str, body: Body, near: Lanes, far: Mask) -> list[str]:
    """Return the function's lines: where any argument is far, a call of a rare function."""
    form = body.form
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
    for k in range(form.lanes):
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
