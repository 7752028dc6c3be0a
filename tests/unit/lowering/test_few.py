"""Loops over few elements: a plain version of short bodies beside the one for vector code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.codegen import code as _code
from symgrad._core.lowering import without_few
from symgrad._core.pipeline import lower
from symgrad._dispatch import Function


def text(f: Callable[..., Any], *args: Any) -> str:
    compiled = f if isinstance(f, Function) else sg.compile(f)
    return lower(compiled._specialization(args, {}).program).text


def rosen(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def test_which_loops_have_a_version_for_few() -> None:
    x = np.ones(10)
    found = text(sg.value_and_grad(rosen), x)
    assert ".few(" in found
    assert 'llvm.loop.vectorize.width", i32 4' in found
    few = found[found.index("task0.few(") :].partition("\n}")[0]
    assert "cascade" not in few
    assert "%begin" not in few
    assert ".few(" not in text(lambda x: np.sin(x) ** 2, x)  # vectors of functions are worth it
    assert ".few(" not in text(sg.compile(rosen, dynamic=False), x)
    assert ".few(" not in text(lambda x, a: x @ a, x, np.ones((10, 4)))


def test_who_has_it() -> None:
    """Code for Python goes without, unless sums would have other bits; loops have it."""
    x = np.ones(10)
    many = without_few(text(lambda x: 2 * x + 1, x))
    assert "@few = internal constant i64 0" in many
    total = without_few(text(lambda x: np.sum(2 * x + 1), x))
    assert "@few" not in total
    assert "{ noinline }" in total  # once, however many call it
    loop = text(lambda x: sg.fori_loop(0, 9, lambda _, x: x - 0.1 * sg.grad(rosen)(x), x), x)
    assert "vectorize.enable" in loop  # a gradient of neighbours, one by one
    assert without_few(loop) == loop


def test_llvm_is_asked_for_no_vectors_that_it_cannot_make(capfd: Any) -> None:
    """It would print a remark. What a step hands on to the next is one number for all steps."""

    def flux(u: Any) -> Any:
        between = u[:-1] ** 2 * u[1:] ** 2
        u = u.copy()
        u[1:-1] -= 0.4 * (between[1:] - between[:-1])
        return np.sum(u)

    u = np.linspace(0.1, 0.9, 10)
    gradient = sg.grad(flux)
    h = 1e-30
    exact = [flux(u + 1j * h * unit).imag / h for unit in np.eye(10)]
    np.testing.assert_allclose(gradient(u), exact, rtol=1e-13)
    gradient.kernel(u)
    assert capfd.readouterr().err == ""


CASES: list[Callable[[Any], Any]] = [
    rosen,
    lambda x: (np.sum(x * x), np.prod(x), np.max(x - 1), np.min(3 * x), np.any(x > 1), np.mean(x)),
    lambda x: np.where(x > 0, x, -2 * x)[::-1] / (1 + x * x),
    lambda x: np.concatenate([x[1:] - x[:-1], x * x]),
    lambda x: np.diff(x, 2) ** 2 if len(x) > 2 else x,
    lambda x: (np.sum((2 * x).astype(int)), (x > 0) & (x < 1)),
]


@pytest.mark.quick(4)
@pytest.mark.parametrize("kind", [float, np.float32])
@pytest.mark.parametrize("k", range(len(CASES)))
def test_few_elements(k: int, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy's values, and the same bits whether code for Python goes without the loops or not."""
    f = CASES[k]
    eps = np.finfo(kind).eps
    x = np.random.default_rng(0).normal(size=40).astype(kind)
    without = sg.compile(f, cache=False)
    without(x)
    monkeypatch.setattr(_code, "without_few", lambda text: text)
    with_few = sg.compile(f, cache=False)
    for n in (40, *range(2, 36)):
        results = [leaves(g(x[:n])) for g in (without, with_few, f)]
        for a, b, want in zip(*results, strict=True):
            assert np.array_equal(a, b)
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, want, rtol=1e3 * eps, atol=1e3 * eps)


def leaves(result: Any) -> list[Any]:
    return [np.asarray(r) for r in (result if isinstance(result, tuple) else (result,))]
