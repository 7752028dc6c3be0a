"""Instructions as data: how they are printed, and the laws of a function."""

from __future__ import annotations

import llvmlite.binding as llvm
import numpy as np
import pytest

import symgrad as sg
from symgrad._core.lowering import _instructions as asm
from symgrad._core.lowering import _llvm_module
from symgrad._core.lowering._emitter import Emitter
from symgrad._core.lowering._instructions import Function, Instruction, check
from symgrad._core.lowering._listing import listing
from symgrad._core.lowering._llvm_module import Module
from symgrad._core.pipeline import lower
from symgrad.errors import CheckError

PAIR = "{ i64, i1 }"
VECTOR = "<4 x double>"


def everything() -> Emitter:
    """Write one instruction of each kind."""
    e = Emitter(Module(True))
    e.begin("entry")
    cell = e.alloca("i64", ", align 16")
    e.on_stack(100)
    total = e.op("add nuw", "i64", "%n", 1, name="%total")
    e.store("i64", total, cell)
    place = e.element("double", "%a", total)
    number = e.load("double", place, ", !llvm.access.group !0")
    e.op("fneg", "double", number)
    below = e.op("fcmp olt", "double", number, "0.0")
    e.cast("zext", "i1", below, "i8")
    chosen = e.select(below, "double", number, "0.0")
    e.store("double", chosen, e.field("[2 x double]", "%a", 1))
    e.call("double", "@sqrt", [f"double {chosen}"], " nounwind")
    pair = e.call(PAIR, "@llvm.umul.with.overflow.i64", ["i64 %n", "i64 3"])
    e.part(PAIR, pair, 1, "i1")
    e.put(PAIR, pair, "i64", "7", 0)
    four = e.put_lane(VECTOR, "poison", "double", number, 0)
    e.shuffle(VECTOR, four, four, "<4 x i32>", "<i32 0, i32 1, i32 4, i32 5>")
    e.op("fcmp olt", VECTOR, four, four)
    e.update("or", cell, "i64", "1")
    e.switch("%n", ["first", "second"])
    e.begin("first")
    e.branch(below, "second", "third")
    e.begin("second")
    e.jump("third")
    e.begin("third")
    e.add(asm.phi("%which", "i64", ("1", "first"), ("2", "second")))
    e.ret("i64", "%which")
    return e


def test_each_kind_of_instruction_is_listed() -> None:
    """Memory is written by array and index, and numbers are in decimals."""
    function = Function("p.f", ["ptr noalias %a", "i64 %n"], everything().lines[0], "#0", "i64")
    assert "\n".join(listing(function, (), "p")) == LISTED
    number = asm.store("double", "0x3FF8000000000000", "%a")
    assert list(listing(Function("f", [], [number], "#0")))[1].strip() == "*a = 1.5"


LISTED = """\
f(a: ptr, n: i64):
  entry:
    t1 = alloca()  : i64
    t2 = alloca()  : [100 x i8]
    total = n + 1
    *t1 = total
    t4 = a[total]  : double
    t5 = -t4
    t6 = t4 < 0.0
    t7 = zext(t6)  : i8
    t8 = t4 if t6 else 0.0
    a[0, 1] = t8
    t10 = sqrt(t8)  : double
    t11 = llvm.umul.with.overflow.i64(n, 3)  : { i64, i1 }
    t12 = extractvalue(t11, 1)
    t13 = insertvalue(t11, 7, 0)
    t14 = insertelement(poison, t4, 0)
    t15 = shufflevector(t14, t14, <i32 0, i32 1, i32 4, i32 5>)
    t16 = t14 < t14
    t17 = atomicrmw or(t1, 1)
    by n: 0 to first, 1 to second, else to second
  first:
    if t6: go to second, else to third
  second:
    go to third
  third:
    which = 1 from first, 2 from second  : i64
    return which"""


def test_llvm_takes_each_kind_of_instruction() -> None:
    """LLVM's own parser and verifier read the text as what was written."""
    function = Function(
        "f", ["ptr noalias %a", "i64 %n"], everything().lines[0], "#0", "i64", False
    )
    check(function)
    text = "\n".join([
        "declare double @sqrt(double)", f"declare {PAIR} @llvm.umul.with.overflow.i64(i64, i64)",
        function.text(), "attributes #0 = { nounwind }", "!0 = distinct !{}",
    ])  # fmt: skip
    with llvm.parse_assembly(text) as module:
        module.verify()
        blocks = list(module.get_function("f").blocks)
        read = [i.opcode for block in blocks for i in block.instructions]
    made = [x.opcode.partition(" ")[0] for x in function.body if x.opcode != "label"]
    assert read == made
    assert len(blocks) == 4


def test_types_of_results() -> None:
    given = {x.opcode.partition(" ")[0]: x.gives for x in everything().lines[0] if x.result}
    expected = {
        "alloca": "ptr", "getelementptr": "ptr", "zext": "i8", "select": "double",
        "extractvalue": "i1", "insertvalue": PAIR, "insertelement": VECTOR, "fcmp": "<4 x i1>",
        "phi": "i64", "fneg": "double",
    }  # fmt: skip
    assert given | expected == given
    assert asm.call("%p", "noalias ptr", "@malloc", ["i64 8"]).gives == "ptr"


def function(*body: Instruction) -> Function:
    return Function("f", ["ptr noalias %a", "i64 %n"], [asm.label("entry"), *body], "#0")


ADD = Instruction("%t", "add", "i64", ("%n", "1"))


@pytest.mark.parametrize(
    ("body", "law"),
    [
        ([ADD, ADD, asm.ret()], "%t is written twice"),
        ([asm.store("i64", "%t", "%a"), ADD, asm.ret()], "%t is read before it is written"),
        ([asm.store("double", "%n", "%a"), asm.ret()], "%n is of type i64, not double"),
        ([asm.load("%t", "double", "%n"), asm.ret()], "%n is of type i64, not ptr"),
        ([asm.jump("nowhere")], "there is no block %nowhere"),
        ([ADD], "the last block has no end"),
        ([ADD, asm.label("more"), asm.ret()], "a block begins where the last one has ended"),
        ([asm.ret(), ADD, asm.ret()], "a block begins where the last one has ended"),
        ([asm.jump("b"), asm.label("b"), asm.phi("%p", "i1", ("%n", "entry")), asm.ret()],
            "%n is of type i64, not i1"),
    ],
)  # fmt: skip
def test_a_broken_law_is_named(body: list[Instruction], law: str) -> None:
    with pytest.raises(CheckError, match="in the code of f, at '") as error:
        check(function(*body))
    assert law in str(error.value)


def test_a_phi_reads_what_comes_later() -> None:
    check(function(
        asm.jump("turn"), asm.label("turn"),
        asm.phi("%i", "i64", ("0", "entry"), ("%next", "turn")),
        Instruction("%next", "add", "i64", ("%i", "1")),
        Instruction("%more", "icmp slt", "i64", ("%next", "%n")),
        asm.branch("%more", "turn", "done"), asm.label("done"), asm.ret(),
    ))  # fmt: skip


def test_every_function_is_checked_where_passes_are(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []
    monkeypatch.setattr(_llvm_module, "check", lambda function: checked.append(function.name))
    program = sg.compile(lambda x: np.sum(np.sin(x)), cache=False).program(np.ones(7))
    monkeypatch.setenv("SYMGRAD_CHECK", "0")
    lower(program)
    assert not checked
    monkeypatch.setenv("SYMGRAD_CHECK", "1")
    lowered = lower(program)
    assert f"{lowered.name}.run" in checked
    assert f"{lowered.name}.sizes" in checked
