"""Numbers, instructions and sizes in C."""

from __future__ import annotations

import math

import numpy as np

import symgrad as sg
from symgrad._export._instructions import Writer, bare, constant
from symgrad._export._loops import index_text

# ---------------------------------------------------------------- parts


def test_numbers_keep_their_bits() -> None:
    shown = {
        0.1: "0.1", -2.5: "(-2.5)", 1e300: "1e+300", math.inf: "INFINITY", 5e-324: "5e-324",
    }  # fmt: skip
    for number, text in shown.items():
        assert constant(np.float64(number)) == text
    assert constant(np.float64(-math.inf)) == "(-INFINITY)"
    assert constant(np.float32(0.5)) == "(float)0.5"
    assert constant(np.int64(-(2**63))) == "INT64_MIN"
    assert constant(np.int64(2**40)) == f"INT64_C({2**40})"
    assert constant(np.uint64(2**64 - 1)) == f"UINT64_C({2**64 - 1})"
    assert constant(np.int8(-3)) == "(-3)"
    assert constant(np.bool_(True)) == "true"


def test_instructions() -> None:
    w = Writer()
    x, y = w.token("x"), w.token("(a + b)")
    made = {
        w.op("fadd", "double", x, y): "(x + (a + b))",
        w.op("fneg", "double", x): "(-x)",
        w.select(x, "double", y, "0.0"): "(x ? a + b : 0.0)",
        w.op("fcmp oge", "double", x, y): "(x >= (a + b))",
        w.op("icmp ult", "i64", x, 3): "((uint64_t)x < (uint64_t)3)",
        w.op("add", "i64", x, -1): "(int64_t)((uint64_t)x + (uint64_t)(-1))",
        w.op("sdiv", "i32", x, 2): "(x / 2)",
        w.op("udiv", "i32", x, 2): "(int32_t)((uint32_t)x / (uint32_t)2)",
        w.cast("sitofp", "i64", x, "double"): "(double)x",
        w.cast("uitofp", "i8", x, "double"): "(double)(uint8_t)x",
        w.op("fmul", "double", x, "0x4000000000000000"): "(x * 2.0)",
        w.op("xor", "i1", x, "true"): "(x ^ true)",
        w.op("fcmp uno", "double", x, x): "(isnan(x) || isnan(x))",
    }
    for register, c in made.items():
        assert w.text(register) == c
    assert bare("(a)*(b)") == "(a)*(b)"
    assert bare("((a)*(b))") == "(a)*(b)"


def test_sizes_in_c() -> None:
    program = sg.compile(lambda x: np.concatenate([x[::2], x])).program(np.ones(5))
    (size,) = program.outputs[0].shape
    assert index_text(size).replace(" ", "") in ("n+((n+1)/(2))", "((n+1)/(2))+n")
