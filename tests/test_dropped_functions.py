"""Nothing that a dropped function alone needed is kept: counts of objects, not of seconds."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg

X = np.array([1.0, 2.0, 3.0])


def _objects() -> Counter[str]:
    for _ in range(3):
        gc.collect()
    return Counter(str(type(x)) for x in gc.get_objects())


def _growth(run: Callable[[int], Any], first: int, more: int) -> dict[str, int]:
    """Return of which kinds there are more objects after ``more`` further runs."""
    for k in range(first):
        run(k)
    before = _objects()
    for k in range(first, first + more):
        run(k)
    after = _objects()
    return {kind: n - before[kind] for kind, n in after.items() if n - before[kind] > more // 4}


def _redefined(text: str, make: Callable[..., Any]) -> Callable[[int], Any]:
    def run(k: int) -> Any:
        names: dict[str, Any] = {"np": np, "scale": 2.0, "log": []}
        exec(compile(text.replace("$", str(k % 3 + 1)), f"<cell {k % 3}>", "exec"), names)
        g = make(names["f"])
        return g(X), g(X)

    return run


CELLS = {
    "plain": "def f(x):\n    return np.sum(np.sin(x) * $)",
    "captures": "def h(x):\n    return scale * x\ndef f(x):\n    return np.sum(h(x) ** $)",
    "state": (
        "calls = 0\ndef f(x):\n    global calls\n    calls += 1\n    log.append(x[0])\n"
        "    return np.sum(x) * calls + $"
    ),
    "class": (
        "class Model:\n    def __init__(self):\n        self.w = np.ones(3)\n"
        "    def __call__(self, x):\n        return np.sum(self.w * x) * $\nf = Model()"
    ),
    "caught": (
        "def f(x):\n    try:\n        return np.sum(x * $)\n"
        "    except KeyError:\n        return 0.0"
    ),
}


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("make", [sg.compile, sg.value_and_grad])
@pytest.mark.quick(3)
def test_cells_that_are_run_again_leave_nothing(cell: str, make: Any) -> None:
    assert _growth(_redefined(CELLS[cell], make), 12, 24) == {}


def _nested(k: int) -> None:
    """Take products with Jacobians of products, of closures that are made for each."""
    rng = np.random.default_rng(k)
    shift = rng.normal(size=3 + k % 5)

    def forward(f: Any, x: Any) -> Any:
        seen: dict[str, Any] = {}

        def flat(*parts: Any) -> Any:
            seen["parts"] = len(parts)
            return f(parts[0] if len(parts) == 1 else parts)

        given = x if isinstance(x, tuple) else (x,)
        return lambda v: sg.jvp(flat, given, v if isinstance(v, tuple) else (v,))[1]

    def first(x: Any) -> Any:
        return np.sum(np.sin(x + shift))

    def second(xv: Any) -> Any:
        return forward(first, xv[0])(xv[1])

    x, v = rng.normal(size=(2, shift.size))
    assert forward(first, x)(v) == pytest.approx(np.sum(np.cos(x + shift) * v))
    expected = np.sum(np.cos(x + shift) * x - np.sin(x + shift) * v * v)
    assert forward(second, (x, v))((v, x)) == pytest.approx(expected)


@pytest.mark.slow
@pytest.mark.usefixtures("no_kernels")
def test_nested_checks_are_flat() -> None:
    assert _growth(_nested, 160, 60) == {}
