"""Functions of a module that are equal but for names and numbers are one."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.lowering import _instructions as asm
from symgrad._core.lowering._function_merging import FAMILY, GIVEN, written_once
from symgrad._core.lowering._instructions import Function, Instruction
from symgrad._core.pipeline import lower


def left(functions: list[Function], turns: list[int] | None = None) -> list[Function]:
    """Return the functions that are left."""
    found = list(written_once(functions, turns or [], "#9"))
    assert all(isinstance(f, Function) for f in found)
    return [f for f in found if isinstance(f, Function)]


def names(functions: list[Function], turns: list[int] | None = None) -> list[str]:
    return [f.name for f in left(functions, turns)]


def function(
    name: str, *body: Instruction, parameters: str = "ptr %a", internal: bool = True,
    loops: bool = False,
) -> Function:  # fmt: skip
    given = parameters.split(", ")
    return Function(f"symgrad.x.{name}", given, body, "#0", internal=internal, loops=loops)


def add(result: str, x: str, y: str) -> Instruction:
    return Instruction(result, "add", "i64", (x, y))


def calling(name: str, more: str = "") -> Instruction:
    return asm.call("", "void", f"@symgrad.x.{name}", ["ptr %a"], more)


def test_names_of_values_and_labels_do_not_count() -> None:
    first = function("f", asm.label("e"), asm.load("%t1", "double", "%a"), asm.jump("g"),
                     asm.label("g"), asm.ret())  # fmt: skip
    other = function("h", asm.label("k"), asm.load("%s9", "double", "%b7"), asm.jump("l"),
                     asm.label("l"), asm.ret(), parameters="ptr %b7")  # fmt: skip
    assert names([first, other]) == ["symgrad.x.f"]


def test_where_a_branch_leads_counts() -> None:
    """The same branch of the same labels, which stand the other way round."""
    found = []
    for name, (one, another) in (("f", "pq"), ("g", "qp")):
        body = (asm.branch("%c", "p", "q"), asm.label(one), asm.store("i64", "1", "%a"), asm.ret(),
                asm.label(another), asm.ret())  # fmt: skip
        found.append(function(name, *body, parameters="i1 %c, ptr %a"))
    assert names(found) == ["symgrad.x.f", "symgrad.x.g"]


@pytest.mark.parametrize(
    ("one", "another"),
    [
        (asm.store("double", "1.0", "%a"), asm.store("double", "2.0", "%a")),
        (asm.store("double", "1.0", "%a"), asm.store("float", "1.0", "%a")),
        (calling("k", " #0"), calling("k", " #1")),
        (calling("k"), calling("l")),
        (add("%t", "%m", "%n"), add("%t", "%n", "%n")),
        (
            asm.load("%t", "i64", "@symgrad.constant.1"),
            asm.load("%t", "i64", "@symgrad.constant.2"),
        ),
    ],
)
def test_everything_else_counts(one: Instruction, another: Instruction) -> None:
    parameters = "ptr %a, i64 %m, i64 %n"
    found = [function(name, x, parameters=parameters) for name, x in (("f", one), ("g", another))]
    assert names(found) == ["symgrad.x.f", "symgrad.x.g"]


def test_loops_differ_by_what_llvm_is_told_of_them() -> None:
    found = [
        function(name, asm.branch("true", "a", "b", f", !llvm.loop !{k}"))
        for k, name in enumerate("fgh", 2)
    ]
    assert names(found, [4, 1, 4]) == ["symgrad.x.f", "symgrad.x.g"]


def test_callers_are_equal_where_what_they_call_is() -> None:
    inner = [function(name, asm.store("i64", "0", "%a")) for name in ("f", "g")]
    outer = [function(f"{name}.all", calling(name)) for name in "fg"]
    assert names([*inner, *outer]) == ["symgrad.x.f", "symgrad.x.f.all"]
    known = function("run", calling("g.all"), internal=False)
    assert left([*inner, *outer, known])[-1].body == [calling("f.all")]


def test_what_others_call_stays() -> None:
    found = [function(name, asm.ret(), internal=False) for name in "fg"]
    assert names(found) == ["symgrad.x.f", "symgrad.x.g"]


def test_helpers_stay_as_they_are() -> None:
    text = "define internal void @symgrad.x.h(ptr %a) {\n  ret void\n}\n"
    last = function("f", asm.ret())
    assert list(written_once([text, last], [], "#9")) == [text, last]


def test_layers_are_compiled_once() -> None:
    def network(weights: Any, x: Any) -> Any:
        for w in weights:
            x = np.tanh(x @ w)
            x = x / np.sqrt(np.sum(x**2, axis=1, keepdims=True))
        return np.sum(x)

    rng = np.random.default_rng(0)
    x = rng.normal(size=(6, 4))

    def parts(layers: int) -> int:
        made = sg.value_and_grad(network)
        weights = [rng.normal(size=(4, 4)) for _ in range(layers)]
        value, slopes = made(weights, x)
        step = [1e-6 * rng.normal(size=(4, 4)) for _ in range(layers)]
        ahead = network([w + d for w, d in zip(weights, step, strict=True)], x)
        change = sum(np.sum(s * d) for s, d in zip(slopes, step, strict=True))
        assert value == pytest.approx(network(weights, x), rel=1e-13)
        assert ahead - value == pytest.approx(change, rel=1e-3, abs=1e-9)
        return lower(made._specialization((weights, x), {}).program).text.count(".part(ptr noalias")

    assert parts(12) < 2 * parts(3)


def row(name: str, length: str, factor: str, *more: Instruction) -> Function:
    """Return a function with a loop over a row."""
    return function(
        name, asm.label("entry"), Instruction("%any", "icmp sgt", "i64", (length, "0")),
        asm.jump("body"), asm.label("body"),
        asm.phi("%i", "i64", ("0", "entry"), ("%i.next", "body")),
        asm.element("%to", "double", "%a", length),
        Instruction("%t", "fmul", "double", ("0x4000000000000000", factor)), *more,
        Instruction("%i.next", "add nuw nsw", "i64", ("%i", "1")),
        Instruction("%m", "icmp slt", "i64", ("%i.next", length)),
        asm.branch("%m", "body", "done"), asm.label("done"), asm.ret(),
        parameters="ptr noalias %a", loops=True,
    )  # fmt: skip


def test_numbers_that_differ_are_given() -> None:
    rows = [row(f"f{k}", str(3 + k), f"0x40{k}0000000000000") for k in range(FAMILY)]
    shared, *calls = left(rows)
    assert len(calls) == FAMILY
    assert shared.name == "symgrad.x.f0.with"
    assert shared.parameters == ["ptr noalias %a", "i64 %given.0", "double %given.1"]
    (product,) = [x for x in shared.body if x.opcode == "fmul"]
    assert product.operands == ("0x4000000000000000", "%given.1")  # what all share stays
    uses = [x for x in shared.body if "%given.0" in x.operands]
    assert len(uses) == 3  # one number in three places
    for k, f in enumerate(calls):
        given = ["ptr %a", f"i64 {3 + k}", f"double 0x40{k}0000000000000"]
        assert (f.name, f.parameters) == (f"symgrad.x.f{k}", ["ptr noalias %a"])
        whole = asm.call("", "void", "@symgrad.x.f0.with", given, " #9")
        assert f.body == [asm.label("entry"), whole, asm.ret()]


def test_few_and_those_with_many_numbers_stay() -> None:
    rows = [row(f"f{k}", str(3 + k), "%a") for k in range(FAMILY - 1)]
    assert left(rows) == rows
    many = [
        row(f"f{k}", "9", "%a", *(add(f"%x{i}", str(k * i), "1") for i in range(GIVEN + 2)))
        for k in range(1, FAMILY + 1)
    ]
    assert left(many) == many


def test_what_must_be_a_constant_is_none() -> None:
    """Alignments, places in vectors, sizes of arrays, flags: equal, or functions apart."""

    def made(k: int) -> list[Instruction]:
        vector = "<4 x double>"
        return [
            asm.load("%v", "double", "%a", f", align {k}"),
            Instruction("%v", "alloca", f"[{k} x double]"),
            asm.call("", "void", "@llvm.prefetch.p0", ["ptr %a", f"i32 {k}", "i32 3", "i32 1"]),
            Instruction("%v", "insertelement", vector, ("poison", "%t", str(k)),
                        (vector, "double", "i64")),
        ]  # fmt: skip

    for kind in range(4):
        rows = [row(f"f{k}", "5", "%a", made(k)[kind]) for k in range(1, FAMILY + 1)]
        assert left(rows) == rows


@pytest.mark.slow
def test_rows_of_all_lengths_are_compiled_once() -> None:
    """A triangular product by rows, as Python writes it; values, derivatives, and sizes of 0."""

    def product(a: Any, b: Any) -> Any:
        out = np.zeros(len(a))
        for i in range(len(a)):
            out[i] = (0.5 + i) * np.sum(a[i, :i] * b[:i]) + np.sum(np.sin(b[i:]))
        return out

    def made(n: int) -> int:
        rng = np.random.default_rng(n)
        a, b = rng.normal(size=(2, n, n))
        b = b[0] if n else np.zeros(0)
        f = sg.compile(product)
        np.testing.assert_allclose(f(a, b), product(a, b), rtol=1e-13, atol=1e-14)
        way = rng.normal(size=b.shape)
        _, found = sg.jvp(lambda b: product(a, b), (b,), (way,))
        (back,) = sg.vjp(lambda b: product(a, b), b)[1](np.ones(n))
        h = 1e-5
        want = (product(a, b + h * way) - product(a, b - h * way)) / (2 * h)
        np.testing.assert_allclose(found, want, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(np.sum(back * way), np.sum(want), rtol=1e-7, atol=1e-8)
        text = lower(f._specialization((a, b), {}).program).text
        bodies = re.findall(r"^define internal .*?^}", text, re.MULTILINE | re.DOTALL)
        return sum(".next = add" in body for body in bodies)

    for n in (0, 1, 2):
        made(n)
    assert made(24) < 5
