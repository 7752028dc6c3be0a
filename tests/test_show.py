"""sg.show prints every stage of the pipeline."""

from __future__ import annotations

import inspect
import io
import time
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import ArgumentError, UnsupportedError


def energy(x: Any, w: Any) -> Any:
    return np.sum(np.tanh(x @ w) ** 2) / x.shape[0]


X, W = np.ones((40, 30)), np.ones(30)


def shown(f: Any, *args: Any, **kwargs: Any) -> str:
    page = io.StringIO()
    sg.show(f, *args, file=page, **kwargs)
    return page.getvalue()


def test_show(capsys: pytest.CaptureFixture[str]) -> None:
    line = energy.__code__.co_firstlineno + 1
    page = shown(sg.value_and_grad(energy, argnums=1), X, W)
    assert page.startswith(
        f"""\
value_and_grad of energy(x: float64[n, m], w: float64[m])
    n = x.shape[0], 40 in this call
    m = x.shape[1], 30 in this call

1. Traced
    program(x: float64[n, m], w: float64[m])
        v0 = contract(x, w, a=ij, b=j, out=i)  float64[n]  test_show.py:{line}
        v1 = tanh(v0)                          float64[n]  test_show.py:{line}
        v2 = v1**2.0                           float64[n]  test_show.py:{line}
        v3 = sum(v2, axes=(0,))                float64     test_show.py:{line}
        v4 = v3/n                              float64     test_show.py:{line}
        return v4

2. After value_and_grad
    program(x: float64[n, m], w: float64[m])
"""
    )
    sg.show(sg.value_and_grad(energy, argnums=1), X, W)
    assert capsys.readouterr().out == page


def titles(page: str) -> list[str]:
    return [line for line in page.splitlines() if line[:1].isdigit()]


def test_stages_in_order() -> None:
    page = shown(sg.value_and_grad(energy, argnums=1), X, W)
    found = [title.split(":")[0].split(" ", 1)[1] for title in titles(page)]
    assert found == [
        "Traced", "After value_and_grad", "Rewritten", "Scheduled", "Legalised", "Planned",
        "Written", "Lowered", "In mathematics",
    ]  # fmt: skip
    assert [int(title.split(".")[0]) for title in titles(page)] == list(range(1, 10))


def test_instructions_name_the_lines_that_they_are_made_of() -> None:
    page = shown(lambda x: x**2 + np.sqrt(x), np.ones(3))
    line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]  # CPython has frames
    found = section(page, "Written")
    assert found[1].endswith(f"):  # test_show.py:{line}")
    loop = [text.strip() for text in found[[t.strip() for t in found].index("body0:") + 1 :][:6]]
    assert loop == [
        "i0 = begin from entry, i0.next from latch0  : i64", "t2 = in0[i0]  : double",
        "t3 = t2 * t2", "t4 = llvm.sqrt.f64(t2)  : double", "t5 = t3 + t4", "out0[i0] = t5",
    ]  # fmt: skip


def test_the_formula_is_the_last_stage() -> None:
    page = shown(sg.value_and_grad(lambda x, A: x @ A @ x), np.ones(40), np.ones((40, 40)))
    assert section(page, "In mathematics")[1:] == [
        "out0    = Sum(x[i]*Sum(A[j, i]*x[j], (j, 0, n - 1)), (i, 0, n - 1))",
        "out0    = x^T A x",
        "out1[i] = Sum((A[i, j] + A[j, i])*x[j], (j, 0, n - 1))",
        "out1    = (A + A^T) x",
    ]
    chain = section(shown(lambda x: np.sin(np.exp(x) * x + 0) ** x, 1.0), "In mathematics")
    assert chain[1:] == ["out = sin(x*exp(x))**x"]


@pytest.mark.slow
def test_formulas_that_nobody_would_read(patience: Any) -> None:
    patience(SECONDS=0.1)

    def deep(x: Any) -> Any:
        for _ in range(100):
            x = np.sin(x)
        return x

    assert "too large to be written as one formula" in section(shown(deep, 1.0), "In math")[1]

    def long(x: Any) -> Any:
        constants = np.linspace(1.0, np.pi, 40)
        return sum(np.sin(c * x) * np.cos(x + c) ** c * np.exp(-c * x) for c in constants)

    assert "too long to be read" in section(shown(long, 1.0), "In mathematics")[1]

    def branches(x: Any) -> Any:
        return np.max(x, axis=1, keepdims=True) - x

    begin = time.process_time()  # SymPy alone would take minutes
    page = shown(sg.jacobian(branches), np.arange(12.0).reshape(3, 4))
    assert time.process_time() - begin < 20
    assert "d out[i, j]/d x[k, l] = " in section(page, "In mathematics")[1]


def section(page: str, title: str) -> list[str]:
    lines = page.splitlines()
    start = next(k for k, line in enumerate(lines) if title in line)
    end = next((k for k in range(start + 1, len(lines)) if not lines[k]), len(lines))
    return [line.strip() for line in lines[start:end]]


def test_rules_and_levels() -> None:
    both = sg.value_and_grad(energy, argnums=1)
    page = shown(both, X, W)
    rewritten = section(page, "Rewritten")
    assert rewritten[0].endswith(f"to {len(both.program(X, W).steps)}")
    counts = {r.split(" x  ")[1]: int(r.split(" x  ")[0]) for r in rewritten if " x  " in r}
    assert counts["x**1, x**2, x**-1 as products"] >= 1
    program = both.program(X, W)
    levels = section(page, "Scheduled")[1:]
    assert len(levels) == max(program.levels) + 1
    assert levels[0].startswith("level 0: v0, ")


def test_plan() -> None:
    page = shown(lambda x: np.sum(np.sin(x) * x), np.ones(5))
    assert section(page, "Planned")[1:] == [
        "task 0: loops over [n]", "computes v0, v1", "reduces  v2 = sum(v1)",
        "stores   v2 as result 0",
    ]  # fmt: skip
    page = shown(lambda x: np.cumsum(x) + np.float64(1), np.ones(5))
    assert section(page, "Planned")[1:] == [
        "task 0: cumsum v0", "task 1: loops over [n]", "computes v1", "stores   v1 as result 0",
    ]  # fmt: skip
    page = shown(lambda x, a: (np.concatenate([x, x]), x.T, a * 2), np.ones((20, 30)), 1.0)
    planned = "\n".join(section(page, "Planned"))
    assert "x into v0" in planned
    assert "straight-line code" in planned


def test_nested_transformations() -> None:
    page = shown(sg.grad(sg.grad(lambda x: x**3)), 2.0)
    assert page.startswith("grad of grad of the function(x: float64)\n")
    assert [t.split(" ", 1)[1] for t in titles(page)[:3]] == ["Traced", "After grad", "After grad"]


def test_vmap_takes_other_arguments() -> None:
    page = shown(sg.vmap(sg.grad(np.sin)), np.ones(3))
    assert page.startswith("vmap of grad of sin(")
    assert titles(page)[0] == "1. After vmap"


def test_compiled_functions_and_static_arguments() -> None:
    page = shown(sg.compile(lambda x, power: np.sum(x) ** power), np.ones(3), power=2)
    assert titles(page)[0] == "1. Traced"
    assert "m = power, 2 in this call" in page


def test_guards() -> None:
    page = shown(lambda x: x[2] if x.shape[0] > 3 else x[0], np.ones(5))
    assert "    holds while n > 3\n" in page


def test_nothing_to_legalise() -> None:
    assert not any("Legalised" in t for t in titles(shown(lambda x: x + 1.5, 1.0)))


def test_errors() -> None:
    with pytest.raises(ArgumentError, match=r"write sg.show\(f, x\), not sg.show\(f\(x\)\)"):
        sg.show(3.0)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="unique"):
        sg.show(np.unique, np.ones(3))
