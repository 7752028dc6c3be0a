"""Loops of NumPy's universal functions, as steps of kernels.

Source of the order of sums: NumPy's ``loops_utils.h.src`` (pairwise along the innermost axis);
of the loops' arguments: NEP 20 (generalised universal functions).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from ..base.sizes import Dimension, as_expr, dim_product
from ..op import (
    ArrayOp,
    Code,
    Emit,
    Map,
    NoRule,
    Op,
    Real,
    Routine,
    Written,
    define_step,
    registry,
)
from ..ops.contract import matrix_product
from ..ops.reductions import reduced
from ..runtime import ufunc_symbol
from ..runtime.interface import llvm_type, memory_type
from ._emitter import Emitter
from ._routines import Call

# ---------------------------------------------------------------- elementwise functions


def _write_map(call: Call, ufunc: str, types: str, **_: Any) -> None:
    count = dim_product(tuple(call.shapes[-1]))
    call.ufunc_loop(ufunc_symbol(ufunc, types), call.pointers, (count,), _steps(call))


def _steps(call: Call) -> list[int]:
    """Return the strides of a loop, of which NumPy gives numbers 0: powers look for it."""
    *shapes, _ = call.shapes
    *given, result = call.dtypes
    return [*(x.itemsize if shape else 0 for x, shape in zip(given, shapes, strict=True)),
            result.itemsize]  # fmt: skip


def _emit_number(e: Emitter, _: Any, *values: str, ufunc: str, types: str) -> str:
    """Call the loop for one number, through a function of the module."""
    symbol = ufunc_symbol(ufunc, types)
    *given, result = (np.dtype(c) for c in types.replace("->", ""))
    parameters = [f"{llvm_type(d)} %x{k}" for k, d in enumerate(given)]
    one = Emitter(e.module)
    pointers = []
    for k, dtype in enumerate(given):
        kind, value = memory_type(dtype), f"%x{k}"
        pointers.append(one.alloca(kind))
        value = one.cast("zext", "i1", value, "i8") if dtype.kind == "b" else value
        one.store(kind, value, pointers[-1])
    kind = memory_type(result)
    pointers.append(one.alloca(kind))
    call = Call(one, [()] * len(pointers), [*given, result])
    call.ufunc_loop(symbol, pointers, (1,), _steps(call))
    found = one.load(kind, pointers[-1])
    found = one.cast("trunc", "i8", found, "i1") if result.kind == "b" else found
    text = (
        f"define internal {llvm_type(result)} @{symbol}.one({', '.join(parameters)}) noinline #0 "
        "{\n"
        + "\n".join([*(x.text() for x in one.lines[0]), f"  ret {llvm_type(result)} {found}"])
        + "\n}\n"
    )
    e.module.helper(text)
    arguments = (f"{llvm_type(d)} {v}" for d, v in zip(given, values, strict=True))
    register: str = e.call(llvm_type(result), f"@{symbol}.one", arguments)
    return register


# ---------------------------------------------------------------- sums


def _write_sum(call: Call, axes: tuple[int, ...]) -> None:
    """Add as ``np.add.reduce`` does: along the innermost axes first, the others in order."""
    merged: list[tuple[bool, Dimension]] = []  # neighbours of one kind are one axis for NumPy
    for k, size in enumerate(call.shapes[0]):
        if isinstance(size, int) and size == 1:
            continue
        if merged and merged[-1][0] == (k in axes):
            merged[-1] = (k in axes, as_expr(merged[-1][1]) * size)
        else:
            merged.append((k in axes, size))
    *outer, (folded, size) = merged or [(True, 1)]
    width = call.dtype.itemsize
    symbol = ufunc_symbol("numpy.add", f"{call.dtype.char * 2}->{call.dtype.char}")
    source, target = call.pointers
    kept = dim_product(tuple(call.shapes[1]))
    e = call.e

    def clear(i: str) -> None:
        zero = call.constant(0.0)
        e.store(call.kind, zero, call.at(target, i))

    def add(x: str, y: str) -> None:
        step = 0 if folded else width
        call.ufunc_loop(symbol, (y, x, y), (size,), (step, width, step))

    def nest(axes: list[tuple[bool, Dimension]], x: str, y: str) -> None:
        if not axes:
            add(x, y)
            return
        (fold, count), *rest = axes
        down = dim_product(tuple(n for _, n in [*rest, (folded, size)]))
        across = dim_product(tuple(n for f, n in [*rest, (folded, size)] if not f))

        def body(i: str) -> None:
            row = e.op("mul", "i64", i, call.size(down))
            place = y if fold else call.at(y, e.op("mul", "i64", i, call.size(across)))
            nest(rest, call.at(x, row), place)

        call.loop(call.size(count), body)

    call.loop(call.size(kept), clear)
    nest(outer, source, target)


# ---------------------------------------------------------------- matrix products


def _write_product(call: Call, a: str, b: str, out: str) -> None:
    swapped = matrix_product(a, b, out)
    parts = [(a, call.shapes[0], call.pointers[0]), (b, call.shapes[1], call.pointers[1])]
    if swapped:
        parts.reverse()
    width = call.dtype.itemsize
    (summed,) = set(a) & set(b)
    sizes: list[Dimension] = []
    steps: list[tuple[Dimension, Dimension]] = []
    for letters, shape, _ in parts:
        strides = {letters[-1]: sp.Integer(width)}
        if len(letters) == 2:
            strides[letters[0]] = as_expr(shape[1]) * width
        free = letters.replace(summed, "")
        sizes.append(shape[letters.index(free)] if free else 1)
        steps.append((strides.get(free, 0), strides[summed]))
    (down, along), (across, under) = steps
    inner = call.shapes[0][a.index(summed)]
    rows, columns = sizes
    call.ufunc_loop(
        ufunc_symbol("numpy.matmul", f"{call.dtype.char * 2}->{call.dtype.char}"),
        (parts[0][2], parts[1][2], call.pointers[2]),
        (1, rows, inner, columns),
        (0, 0, 0, down, along, under, across, as_expr(columns) * width, width),
    )


# ---------------------------------------------------------------- records of these steps


#: It is never differentiated.
_STEP = NoRule("a step that only kernels have")


def _record(name: str, write: Callable[..., None], shape: Any, types: Any = None) -> Op:
    compiled = partial(_only_compiled, name)
    return define_step(
        Routine(name, evaluate=compiled, shape=shape, element=compiled, batch=compiled,
                types=types, rule=_STEP),
        Code(Written(write, None)),
    )  # fmt: skip


def _only_compiled(name: str, *_: Any, **__: Any) -> Any:
    raise AssertionError(f"{name} is a step of kernels")


#: The loop of a universal function for one number, by how many operands it has.
NUMBERS = tuple(
    define_step(
        Map(f"NumPyNumber{n}", evaluate=partial(_only_compiled, "NumPyNumber"), domain=(Real,) * n,
            types=lambda *given, types, **_: (given, np.dtype(types[-1])), rule=_STEP),
        Code(Emit(_emit_number)),
    )
    for n in range(1, 5)
)  # fmt: skip
MAP = _record(
    "NumPyLoop", _write_map, lambda *_, shape, **__: shape,
    lambda *_, dtype, **__: np.dtype(dtype),
)  # fmt: skip
SUM = _record("NumPySum", _write_sum, reduced)
_CONTRACT = registry.ops["Contract"]
assert isinstance(_CONTRACT, ArrayOp)
PRODUCT = _record("NumPyProduct", _write_product, _CONTRACT.shape)
