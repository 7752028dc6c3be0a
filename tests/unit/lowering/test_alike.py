"""Functions of a module that are equal but for names and numbers are one."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.lowering._function_merging import FAMILY, GIVEN, written_once
from symgrad._core.pipeline import lower


def names(functions: list[str], turns: list[int] | None = None) -> list[str]:
    """Return the names of the functions that are left."""
    found = (re.search(r"@([\w.]+)\(", text) for text in written_once(functions, turns or [], "#9"))
    return [match[1] for match in found if match]


def function(name: str, *lines: str, parameters: str = "ptr %a", kind: str = "internal ") -> str:
    return "\n".join([f"define {kind}void @symgrad.x.{name}({parameters}) {{", *lines, "}\n"])


def test_names_of_values_and_labels_do_not_count() -> None:
    first = function("f", "e:", "  %t1 = load double, ptr %a", "  br label %g", "g:", "  ret void")
    other = function("h", "k:", "  %s9 = load double, ptr %b7", "  br label %l", "l:", "  ret void",
                     parameters="ptr %b7")  # fmt: skip
    assert names([first, other]) == ["symgrad.x.f"]


def test_where_a_branch_leads_counts() -> None:
    """The same branch of the same labels, which stand the other way round."""
    body = ("  br i1 %c, label %p, label %q", "{}:", "  store i64 1, ptr %a", "  ret void",
            "{}:", "  ret void")  # fmt: skip
    texts = [
        function(name, *"\n".join(body).format(*labels).split("\n"), parameters="i1 %c, ptr %a")
        for name, labels in (("f", "pq"), ("g", "qp"))
    ]
    assert names(texts) == ["symgrad.x.f", "symgrad.x.g"]


@pytest.mark.parametrize(
    ("one", "another"),
    [
        ("  store double 1.0, ptr %a", "  store double 2.0, ptr %a"),
        ("  call void @symgrad.x.k(ptr %a) #0", "  call void @symgrad.x.k(ptr %a) #1"),
        ("  call void @symgrad.x.k(ptr %a)", "  call void @symgrad.x.l(ptr %a)"),
        ("  %t = add i64 %m, %n", "  %t = add i64 %n, %n"),
        ("  %t = load i64, ptr @symgrad.constant.1", "  %t = load i64, ptr @symgrad.constant.2"),
    ],
)
def test_everything_else_counts(one: str, another: str) -> None:
    parameters = "ptr %a, i64 %m, i64 %n"
    texts = [
        function(name, line, parameters=parameters) for name, line in (("f", one), ("g", another))
    ]
    assert names(texts) == ["symgrad.x.f", "symgrad.x.g"]


def test_loops_differ_by_what_llvm_is_told_of_them() -> None:
    texts = [
        function(name, f"  br i1 true, label %a, label %b, !llvm.loop !{k}")
        for k, name in enumerate("fgh", 2)
    ]
    assert names(texts, [4, 1, 4]) == ["symgrad.x.f", "symgrad.x.g"]


def test_callers_are_equal_where_what_they_call_is() -> None:
    inner = [function(name, "  store i64 0, ptr %a") for name in ("f", "g")]
    outer = [function(f"{name}.all", f"  call void @symgrad.x.{name}(ptr %a)") for name in "fg"]
    assert names([*inner, *outer]) == ["symgrad.x.f", "symgrad.x.f.all"]
    known = function("run", "  call void @symgrad.x.g.all(ptr %a)", kind="")
    assert "@symgrad.x.f.all(" in list(written_once([*inner, *outer, known], [], "#9"))[-1]


def test_what_others_call_stays() -> None:
    texts = [function(name, "  ret void", kind="") for name in "fg"]
    assert names(texts) == ["symgrad.x.f", "symgrad.x.g"]


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


def row(name: str, length: str, factor: str, more: str = "") -> str:
    """Return a function with a loop over a row."""
    return function(
        name, "entry:", f"  %any = icmp sgt i64 {length}, 0", "  br label %body", "body:",
        "  %i = phi i64 [ 0, %entry ], [ %i.next, %body ]",
        f"  %to = getelementptr inbounds double, ptr %a, i64 {length}",
        f"  %t = fmul double 0x4000000000000000, {factor}", more,
        "  %i.next = add nuw nsw i64 %i, 1", f"  %m = icmp slt i64 %i.next, {length}",
        "  br i1 %m, label %body, label %done", "done:", "  ret void", parameters="ptr noalias %a",
    )  # fmt: skip


def test_numbers_that_differ_are_given() -> None:
    rows = [row(f"f{k}", str(3 + k), f"0x40{k}0000000000000") for k in range(FAMILY)]
    made = list(written_once(rows, [], "#9"))
    assert len(made) == FAMILY + 1
    shared, *calls = made
    more = "i64 %given.0, double %given.1"
    assert shared.startswith(f"define internal void @symgrad.x.f0.with(ptr noalias %a, {more})")
    assert "fmul double 0x4000000000000000, %given.1" in shared  # what all share stays
    assert shared.count("%given.0") == 4  # one number in three places
    for k, text in enumerate(calls):
        given = f"ptr %a, i64 {3 + k}, double 0x40{k}0000000000000"
        assert f"define internal void @symgrad.x.f{k}(ptr noalias %a)" in text
        assert f"  call void @symgrad.x.f0.with({given}) #9\n" in text


def test_few_and_those_with_many_numbers_stay() -> None:
    rows = [row(f"f{k}", str(3 + k), "%a") for k in range(FAMILY - 1)]
    assert list(written_once(rows, [], "#9")) == rows
    many = [
        row(
            f"f{k}", "9", "%a", "\n".join(f"  %x{i} = add i64 {k * i}, 1" for i in range(GIVEN + 2))
        )
        for k in range(1, FAMILY + 1)
    ]
    assert list(written_once(many, [], "#9")) == many


def test_what_must_be_a_constant_is_none() -> None:
    """Alignments, places in vectors, sizes of arrays, flags: equal, or functions apart."""
    for line in (
        "  %v = load double, ptr %a, align {}",
        "  %v = alloca [{} x double]",
        "  call void @llvm.prefetch.p0(ptr %a, i32 {}, i32 3, i32 1)",
        "  %v = extractelement <4 x double> %w, i32 {}",
    ):
        rows = [row(f"f{k}", "5", "%a", line.format(k)) for k in range(1, FAMILY + 1)]
        assert list(written_once(rows, [], "#9")) == rows


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
