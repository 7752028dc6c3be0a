"""Masks that are read as numbers, by all of a processor's vector registers."""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import numpy as np
import pytest

from symgrad._core.codegen.llvm import host_features, host_machine, optimized

#: More vectors than the first sixteen registers hold.
COUNT = 24


def module_of(kind: str, lanes: int) -> str:
    """Return a module that tells of many vectors at once whether an element is negative."""
    vector, lines = f"<{lanes} x {kind}>", []
    for k in range(COUNT):
        lines.append(f"%p{k} = getelementptr {vector}, ptr %in, i64 {k}")
        lines.append(f"%v{k} = load volatile {vector}, ptr %p{k}, align 1")
    for k in range(COUNT):
        lines.append(f"%m{k} = icmp slt {vector} %v{k}, zeroinitializer")
        lines.append(f"%b{k} = bitcast <{lanes} x i1> %m{k} to i{lanes}")
        lines.append(f"%n{k} = icmp ne i{lanes} %b{k}, 0")
        lines.append(f"%z{k} = zext i1 %n{k} to i8")
        lines.append(f"%o{k} = getelementptr i8, ptr %out, i64 {k}")
        lines.append(f"store volatile i8 %z{k}, ptr %o{k}")
    lines += [f"store volatile {vector} %v{k}, ptr %p{k}, align 1" for k in range(COUNT)]
    body = "\n  ".join(lines)
    return f"define void @masks(ptr %in, ptr %out) {{\n  {body}\n  ret void\n}}\n"


@pytest.mark.parametrize("level", [0, 1, 2, 3])
@pytest.mark.parametrize(("kind", "lanes"), [("i8", 16), ("i8", 32), ("i32", 8), ("i64", 4)])
def test_masks_of_many_vectors(kind: str, lanes: int, level: int) -> None:
    """LLVM 22 reads signs of a vector in register 16 or above from another register."""
    text = module_of(kind, lanes)
    module = llvm.parse_assembly(text)
    module.verify()
    machine = host_machine(level, host_features(text))
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(
        engine.get_function_address("masks")
    )
    rng = np.random.default_rng(level)
    for _ in range(20):
        some = rng.random((COUNT, 1)) < 0.5  # all elements of the others are positive
        values = rng.integers(0, 100, (COUNT, lanes)).astype(f"{kind.replace('i', 'int')}")
        values[:, 0] -= 101 * some[:, 0].astype(values.dtype)
        found = np.full(COUNT, 2, np.int8)
        call(values.ctypes.data, found.ctypes.data)
        np.testing.assert_array_equal(found, some[:, 0])


def test_code_that_reads_masks_stays_symgrads_own() -> None:
    """Numba would make it of the same text for all of the processor."""
    text = module_of("i8", 16)
    assert optimized(text).own == (host_features(text) != host_features(""))
    assert not optimized("define i32 @f() {\n  ret i32 0\n}\n").own
