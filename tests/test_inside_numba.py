"""Kernels in the loops of Numba functions: no memory, no overlap, no stale code."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.errors import NumbaWarning
from numba.core.runtime import _nrt_python, rtsys

import symgrad as sg


def rosen(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def looped(into: Any) -> Any:
    """Return steepest descent by a kernel that writes into an array."""

    @numba.njit
    def descend(x: Any, steps: int) -> Any:
        slope = np.empty_like(x)
        for _ in range(steps):
            into(x, slope)
            for i in range(x.size):
                x[i] -= 1e-4 * slope[i]
        return x

    return descend


@pytest.mark.parametrize("dynamic", [True, False])
def test_a_loop_around_a_kernel_allocates_nothing(dynamic: bool) -> None:
    gradient = sg.compile(sg.grad(rosen), dynamic=dynamic)
    x = np.linspace(-0.9, 1.2, 10)
    descend = looped(gradient.kernel_into(x))
    want = x.copy()
    for _ in range(20):
        want -= 1e-4 * gradient(want)
    _nrt_python.memsys_enable_stats()
    made = []
    for steps in (20, 20, 2000):
        given, before = x.copy(), rtsys.get_allocation_stats().alloc
        found = descend(given, steps)
        made.append(rtsys.get_allocation_stats().alloc - before)
        if steps == 20:
            assert np.array_equal(found, want)
    assert made[1] == made[2]


def test_a_kernel_with_many_arrays_is_in_line() -> None:
    """Numba's part of it, that is: a call of it counts references, one atomic step each."""
    w = np.ones(4)
    loss = lambda w, b, v, x, y: np.sum((v * np.tanh(w * x + b) - y) ** 2)  # noqa: E731
    into = sg.value_and_grad(loss, argnums=(0, 1, 2)).kernel_into(w, w, w, w, w)

    @numba.njit
    def twice(w: Any, b: Any, v: Any, x: Any, y: Any) -> Any:
        out = np.empty_like(w), np.empty_like(w), np.empty_like(w)
        total = into(w, b, v, x, y, *out)[0]
        w[0] += 1.0
        return total + into(w, b, v, x, y, *out)[0]

    want = loss(w, w, w, w, w) + loss(w + np.eye(4)[0], w, w, w, w)
    assert twice(w.copy(), w, w, w, w) == pytest.approx(want, rel=1e-14)
    (text,) = twice.inspect_llvm().values()
    assert "define" in text
    assert not [line for line in text.splitlines() if "call" in line and "6kernel" in line]


@pytest.mark.parametrize(("start", "fits"), [(0, False), (5, False), (9, False), (10, True)])
def test_results_that_overlap_with_arguments_are_refused(start: int, fits: bool) -> None:
    into = sg.value_and_grad(rosen).kernel_into(np.ones(10))
    memory = np.linspace(-1.0, 1.0, 30)
    for x, slope in ((memory[:10], memory[start:][:10]), (memory[start:][:10], memory[:10])):
        if fits:
            x[:] = np.linspace(0, 1, 10)
            assert into(x, slope)[0] == pytest.approx(rosen(x), rel=1e-14)
        else:
            before = memory.copy()
            with pytest.raises(ValueError, match="overlaps with another argument"):
                into(x, slope)
            assert np.array_equal(memory, before)


def test_results_that_overlap_with_each_other_are_refused() -> None:
    both = sg.grad(lambda x, y: np.sum(x * y), argnums=(0, 1))
    x, y, out = np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.empty(3)
    into = both.kernel_into(x, y)
    with pytest.raises(ValueError, match="overlaps with another argument"):
        into(x, y, out[:2], out[1:])
    into(x, y, out[:2], np.empty(2))
    assert np.array_equal(out[:2], y)


CALLER = """
import numba
import numpy as np

@numba.njit
def between(x):
    return kernel(x)

@numba.njit(cache=True)
def caller(x):
    return between(x)[0]
"""


@pytest.mark.usefixtures("cache_dir")
def test_callers_are_not_cached_by_numba(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba's key of a caller does not tell kernels apart: it would give back the other's code."""
    (tmp_path / "caller_of_kernels.py").write_text(CALLER)
    monkeypatch.syspath_prepend(tmp_path)
    x = np.ones(2)
    for factor in (3.0, 5.0, 3.0):
        kernel = sg.grad(lambda x, a=factor: np.sum(a * x * x)).kernel(x)
        sys.modules.pop("caller_of_kernels", None)
        module = importlib.import_module("caller_of_kernels")
        vars(module)["kernel"] = kernel
        with pytest.warns(NumbaWarning, match="Cannot cache"):
            assert module.caller(x) == 2 * factor
    assert not list(tmp_path.rglob("*caller*.nb?"))
