"""How functions are put into their callers: in which order, and what is done afterwards."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.codegen import llvm as _llvm
from symgrad._core.pipeline import lower


def test_functions_stand_after_their_callers() -> None:
    """LLVM puts them into callers in their order: each instruction is then copied once."""

    def nested(x: Any) -> Any:
        inner = lambda y: sg.fori_loop(0, 3, lambda _, z: np.sin(z) * x, y)  # noqa: E731
        return sg.fori_loop(0, 5, lambda _, y: inner(y) + 1.0, x)

    found = lower(sg.compile(nested)._specialization((np.ones(50),), {}).program).text
    names = re.findall(r"^define [^@\n]*@(symgrad\.[0-9a-f]+\.[\w.]+)\(", found, re.MULTILINE)
    place = {name: k for k, name in enumerate(names)}
    for function in re.split(r"^define ", found, flags=re.MULTILINE)[1:]:
        own = re.search(r"@([\w.]+)\(", function)[1]  # type: ignore[index]
        called = re.findall(r"call [^@\n]*@([\w.]+)\(", function)
        assert all(place[own] < place[x] for x in called if x in place and own in place)
    assert sum(name.endswith(".run") for name in names) == 3


@pytest.mark.usefixtures("vector_math")
def test_equal_work_is_sought_where_vectors_have_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of numbers there is none: what is equal is one step of the program."""
    asked, whole = [], _llvm._add_passes

    def noted(passes: Any, parts: bool, vectors: bool) -> None:
        asked.append(vectors)
        whole(passes, parts, vectors)

    monkeypatch.setattr(_llvm, "_add_passes", noted)
    monkeypatch.setenv("SYMGRAD_CACHE_DIR", "")
    x = np.linspace(1.0, 2.0, 99)
    found = sg.compile(lambda x: np.exp(x) + np.log(x))(x)
    np.testing.assert_allclose(found, np.exp(x) + np.log(x), rtol=1e-15)
    assert asked == [True]

    def pair(y: Any) -> Any:
        return sg.fori_loop(0, 2, lambda _, y: np.stack([np.exp(-y[1]), y[0]]), y)

    np.testing.assert_allclose(sg.compile(pair)(x[:2]), np.exp(-x[:2]), rtol=1e-15)
    assert asked == [True, False]
