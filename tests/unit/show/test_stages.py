"""The stages that `show` prints, as data."""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symgrad as sg
from symgrad._core.runtime._libraries import register_bytes
from symgrad._show import stages
from symgrad._show._stages import cut
from symgrad._symbolic._element import sympy_depth
from symgrad.errors import UnsupportedError


def shown(f: Any, *args: Any, **kwargs: Any) -> str:
    page = io.StringIO()
    sg.show(f, *args, file=page, **kwargs)
    return page.getvalue()


@pytest.mark.usefixtures("vector_math")
def test_assembly() -> None:
    lines = shown(lambda x: np.sin(x), np.ones(5)).splitlines()
    assert any(line.strip().startswith("task0.part(") for line in lines)
    called = ["simd.sin.1d("] if register_bytes() else ["simd.sin.1d(", " sin("]
    assert any(name in line for name in called for line in lines)
    assert any(line.strip().startswith("run: ") for line in lines)
    assert any(line.strip().startswith("sizes: ") for line in lines)
    assert not any("symgrad." in line for line in lines)


@pytest.mark.slow
def test_long_programs_are_cut() -> None:
    def chain(x: Any) -> Any:
        for _ in range(5000):
            x = np.sin(x)
        return x

    page = shown(chain, 1.0)
    assert len(page.splitlines()) < 500
    assert "more lines" in page
    lines = [str(k) for k in range(1000)]
    assert cut(lines[:60]) == tuple(lines[:60])
    assert cut(lines) == (*lines[:40], "    ... 940 more lines ...", *lines[-20:])


def test_stages_are_data() -> None:
    first, *rest = stages(np.sin, 0.5)
    assert first.title == "sin(x: float64)"
    assert rest[0].title == "Traced"
    assert rest[0].lines[0] == "program(x: float64)"


def test_formulas_too_deep_for_sympy() -> None:
    """SymPy walks expressions by recursion: what exhausts the stack is too large to read."""
    deep = sp.Symbol("x")
    for _ in range(sys.getrecursionlimit()):
        deep = sp.sin(deep, evaluate=False)
    with pytest.raises(UnsupportedError, match="too large"), sympy_depth():
        _ = deep.free_symbols
