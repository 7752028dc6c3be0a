"""Functions of a module that are equal but for names are one."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._lower._llvm_module import shared
from symgrad._pipeline import lower


def names(functions: list[str], turns: list[int] | None = None) -> list[str]:
    """Return the names of the functions that are left."""
    found = (re.search(r"@([\w.]+)\(", text) for text in shared(functions, turns or []))
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
    assert "@symgrad.x.f.all(" in list(shared([*inner, *outer, known], []))[-1]


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
