"""Loop bodies that are cut into segments, which run one after the other on a block."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from scipy import special

import symgrad as sg
from symgrad._core.lowering import _chains
from symgrad._core.lowering import _instructions as asm
from symgrad._core.lowering._instructions import Instruction
from symgrad._core.lowering._segments import segments
from symgrad._core.lowering._unit import LONG
from symgrad._core.pipeline import lower


def mixed(x, y, k):
    """Many live values of several types, a mask among them, and sums."""
    values = [x, y]
    for n in range(60):
        a, b = values[-1], values[n // 2]
        values.append(np.where(a > b, np.sin(a) - 0.5 * b, 0.25 * a * b + n))
    small = values[-1] < values[3]
    count = np.sum(k * 2 + np.where(small, 1, 0))
    total = x + sum(values[5:40])
    return np.sum(total * values[20]), values[-1] + total, small, count, np.max(values[30])


@pytest.mark.usefixtures("vector_math")
@pytest.mark.parametrize("size", [2, 31, 33, 257])
@pytest.mark.parametrize("short", [90, 20])
@pytest.mark.quick(1)
def test_segments_compute_the_same(monkeypatch, size, short):
    cut_anywhere(monkeypatch, short)
    rng = np.random.default_rng(size)
    x, y, k = rng.normal(size=size), rng.normal(size=size), rng.integers(size, size=size)
    f = sg.compile(mixed, cache=False)
    assert "body0.1:" in lower(f.program(x, y, k)).text
    for a, b in zip(f(x, y, k), mixed(x, y, k), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


def cut_anywhere(monkeypatch, short):
    """Have every chain cut that takes so many cycles."""
    for name, value in {"SHORT": short, "WIDTH": 10**9, "GAIN": -(10**9), "MOST": 10**9}.items():
        monkeypatch.setattr(_chains, name, value)


def real(opcode, result, *operands):
    return Instruction(result, opcode, "double", operands)


def function(name, result, x):
    return asm.call(result, "double", f"@{name}", [f"double {x}"])


def test_a_chain_is_cut_where_few_values_cross(monkeypatch):
    cut_anywhere(monkeypatch, 40)
    wide = [real("fadd", f"%b{k}", "%x", f"{k}.0") for k in range(6)]
    joined = [real("fmul", f"%c{k}", f"%b{k}", f"%b{5 - k}") for k in range(6)]
    sums = [real("fadd", f"%d{k}", f"%d{k - 1}" if k else "%c0", f"%c{k}") for k in range(6)]
    narrow = [real("fmul", f"%a{k}", f"%a{k - 1}" if k else "%d5", "2.0") for k in range(6)]
    code = [*wide, *joined, *sums, *narrow]
    found = segments(code, range(1, len(code)), "%i0", "%block0")
    assert found is not None
    stores = [x for x in found.bodies[0] if x.opcode == "store"]
    assert len(stores) == 2, "before the sums six would cross"


def test_short_bodies_stay_whole():
    assert loops([real("fadd", "%a", "%x", "1.0")] * 3) == 1


def chained(x, y):
    """Functions of each other's results, and values that cross."""
    inner = np.log(x * y + 1.0)
    middle = np.exp(np.sin(inner / y))
    return np.log1p(middle * inner) * np.tanh(middle)


@pytest.mark.usefixtures("vector_math")
@pytest.mark.parametrize("size", [2, 7, 128, 131, 1003])
@pytest.mark.quick(1)
def test_chains_compute_the_same_bits(monkeypatch, size):
    rng = np.random.default_rng(size)
    x, y = rng.uniform(0.5, 2, size), rng.uniform(0.5, 2, size)
    derivatives = sg.vmap(sg.value_and_grad(chained, argnums=(0, 1)))
    for f in (chained, derivatives):
        cut = sg.compile(f, cache=False)
        assert "body0.1:" in lower(cut.program(x, y)).text
        found = cut(x, y)
        with monkeypatch.context() as patched:
            patched.setattr(_chains, "SHORT", 10**6)
            whole = sg.compile(f, cache=False)
            assert "body0.1:" not in lower(whole.program(x, y)).text
            for a, b in zip(leaves(found), leaves(whole(x, y)), strict=True):
                np.testing.assert_array_equal(a, b)


def leaves(tree):
    return [leaf for branch in tree for leaf in leaves(branch)] if type(tree) is tuple else [tree]


#: Two functions of each other's results, and a store.
CHAIN = (
    asm.element("%p", "double", "%in0", "%i0"),
    asm.load("%a", "double", "%p"),
    *(function("sin", f"%{y}", f"%{x}") for x, y in pairwise("abcde")),
    asm.element("%q", "double", "%out0", "%i0"),
    asm.store("double", "%e", "%q"),
)


def loops(code):
    found = segments(code, range(1, len(code)), "%i0", "%block0")
    return 1 if found is None else len(found.bodies)


def test_a_chain_of_functions_is_cut():
    assert loops(CHAIN) == 2
    assert loops(CHAIN[:4]) == 1
    wide = [function("exp", f"%w{k}", "%a") for k in range(60)]
    assert loops([*CHAIN[:2], *wide, *CHAIN[2:]]) == 1, "enough to do for the CPU"


def test_a_very_long_chain_stays_whole():
    long = [function("sin", f"%c{k}", f"%c{k - 1}") for k in range(1, 99)]
    square = real("fmul", "%c0", "%x", "%x")
    assert loops([square, *long[:20]]) > 5
    assert loops([square, *long]) == 1, "LLVM's time"


def test_a_chain_is_not_cut_where_the_order_of_elements_counts():
    same = [x._replace(operands=tuple(y.replace("out", "in") for y in x.operands)) for x in CHAIN]
    assert loops(same) == 1


def test_many_crossing_values_need_no_comparison_of_pointers():
    """From 250 pointers in a loop on LLVM gave up vectorising: accesses are said independent."""

    def f(*arrays):
        return [np.multiply(a, b) for a, b in pairwise(arrays)]

    text = lower(sg.compile(f, cache=False).program(*np.ones((5, 10)))).text
    body = text[text.index("body0:") : text.index("latch0:")]
    accesses = re.findall(r"  (?:store|%\S+ = load) .*", body)
    assert accesses
    assert all(line.endswith("!llvm.access.group !0") for line in accesses)
    assert '!{!"llvm.loop.parallel_accesses", !0}' in text


@pytest.mark.parametrize("size", [10, 700_000])
def test_temporaries_small_and_large(size):
    x = np.linspace(0.5, 2.0, size)
    found = sg.compile(lambda x: np.cumsum(np.exp(x)) / np.max(np.cumsum(np.log(x))), cache=False)
    np.testing.assert_allclose(
        found(x), np.cumsum(np.exp(x)) / np.max(np.cumsum(np.log(x))), rtol=1e-11
    )


@pytest.mark.slow
def test_functions_of_one_number_run_in_a_loop_of_their_own():
    """LLVM makes SIMD code of the others then."""
    f = sg.compile(lambda a, b, x: special.betainc(a, b, x))
    x = np.linspace(0.1, 0.9, 300)
    operands = (np.append(5 * x, 50.0), np.append(2 * x, 3.0), np.append(x, 0.94))
    text = lower(f.program(*operands)).text
    bodies = [s for s in re.split(r"\n(?=\w[\w.]*:)", text) if "call double @symgrad.scipy" in s]
    assert len(bodies) == 1
    assert bodies[0].count("\n") < 40
    np.testing.assert_allclose(f(*operands), special.betainc(*operands), rtol=1e-13)


def test_a_long_loop_is_called():
    """In the caller, it would be looked at again for each loop beside it."""

    def long(x):
        values = [x, x * x]
        for n in range(150):
            a, b = values[-1], values[n // 2]
            values.append(np.where(a > b, np.sqrt(a) - 0.5 * b, 0.25 * a * b + n))
        return sum(values), np.cumsum(values[-1])

    program = sg.compile(long, dynamic=False).program(np.linspace(1, 2, 40))
    text = lower(program, vector_math=False).text
    functions = {re.search(r"@(\S+?)\(", f)[1]: f for f in text.split("\ndefine ")[1:]}
    calls = re.findall(r"call void @(\S+?\.task\d+)\(.*\)( #\d+)?\n", text)
    is_long = [functions[name].count("\n") > LONG for name, _ in calls]
    assert any(is_long)
    assert [bool(apart) for _, apart in calls] == is_long
