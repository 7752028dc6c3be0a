"""Rules of the user's hold for eager tensors, too: they are steps with the compiler's way back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import brentq

import symgrad as sg
import symgrad.torch as torch
from symgrad._core.op import registry
from tests.shared import pulled, pushed

X = np.array([0.1, 0.2, 0.3])


def leaf(data: Any) -> Any:
    return sg.tensor(data, requires_grad=True)


BOTH = pytest.mark.parametrize("make", [pulled, pushed])


@BOTH
def test_backward_uses_the_rule(make: Callable[[], Any]) -> None:
    f = make()
    x, y = leaf(X), leaf(2.0)
    z = f(x, y)
    assert z.grad_fn.name() == "twiceBackward0"
    assert np.array_equal(z.detach(), np.sin(X) * 2.0)
    (z**2).sum().backward()
    slopes = sg.grad(lambda x, y: np.sum(f(x, y) ** 2), argnums=(0, 1))(X, 2.0)
    assert np.allclose(x.grad, slopes[0], rtol=1e-14)
    assert np.isclose(y.grad.item(), slopes[1], rtol=1e-14)


@BOTH
@pytest.mark.quick(1)
def test_derivatives_of_the_rule(make: Callable[[], Any]) -> None:
    f = make()
    x, y = leaf(X), leaf(2.0)
    first, _ = torch.autograd.grad(f(x, y).sum(), [x, y], create_graph=True)
    second = torch.autograd.grad(first.sum(), [x, y], create_graph=True)
    assert np.allclose(second[0].detach(), -4 * np.sin(X))
    assert np.isclose(second[1].item(), 2 * np.sum(np.cos(X)))
    (third,) = torch.autograd.grad(second[0].sum(), [x])
    assert np.allclose(third, -4 * np.cos(X))


@BOTH
def test_constants_and_no_grad(make: Callable[[], Any]) -> None:
    f = make()
    x = leaf(X)
    f(x, 2.0).sum().backward()
    assert np.allclose(x.grad, 4 * np.cos(X))
    y = leaf(2.0)
    f(X, y).backward(torch.ones(3))
    assert np.isclose(y.grad.item(), np.sum(np.sin(X)))
    with sg.no_grad():
        assert not f(x, 2.0).requires_grad
    assert not f(x.detach(), 2.0).requires_grad


@BOTH
def test_a_step_that_comes_back_is_compiled(make: Callable[[], Any]) -> None:
    f = make()
    x = leaf(X)
    expected = 4 * np.cos(X) * X + 2 * np.sin(X)
    for _ in range(10):
        x.grad = None
        (f(x, 2.0) * x).sum().backward()
        assert np.allclose(x.grad, expected, rtol=1e-14)
    assert len(f.steps) == 1


@BOTH
def test_programs_keep_the_rule(make: Callable[[], Any]) -> None:
    f = make()
    z = (f(leaf(X), 2.0) * 3).sum()
    assert "custom" in str(z.program())
    assert np.allclose(sg.grad(z.as_function())(X), 12 * np.cos(X))
    assert "twice(" in sg.draw(z).dot


def test_nested_arguments_results_and_static_ones() -> None:
    def apply(f: Any, pair: Any) -> Any:
        return {"value": f(pair["a"]) * pair["b"], "same": pair["a"]}

    rule = sg.custom_vjp(apply, nondiff_argnums=(0,))
    rule.defvjp(
        lambda f, pair: (apply(f, pair), pair),
        lambda f, pair, ct: ({"a": 10 * ct["value"] * pair["b"] + ct["same"], "b": ct["same"]},),
    )
    a, b = leaf(0.5), leaf(3.0)
    out = rule(np.cos, {"a": a, "b": b})
    assert out["value"].item() == np.cos(0.5) * 3.0
    (out["value"] + 2 * out["same"]).backward()
    assert (a.grad.item(), b.grad.item()) == (32.0, 2.0)


def test_functions_made_for_one_call_do_not_pile_up() -> None:
    rule = sg.custom_vjp(lambda f, x: f(x), nondiff_argnums=(0,))
    rule.defvjp(lambda f, x: (f(x), x), lambda f, x, ct: (10 * ct,))
    x = leaf(1.0)
    for k in range(100):
        assert rule(lambda x, k=k: x + k, x).item() == 1.0 + k
    assert len(rule.steps) <= 64


def test_roots() -> None:
    def kepler(e: Any, mean: Any) -> Any:
        return brentq(lambda x: x - e * np.sin(x) - mean, 0.0, np.pi)

    anomaly = sg.implicit_root(
        lambda x, e, mean: x - e * np.sin(x) - mean,
        lambda e, mean: sg.pure_callback(kepler, mean, e, mean),
    )
    e = leaf(0.2)
    found = anomaly(e, 1.0)
    found.backward()
    value, slope = sg.value_and_grad(anomaly)(0.2, 1.0)
    assert found.item() == value
    assert np.isclose(e.grad.item(), slope, rtol=1e-14)


def test_ops_of_ones_own() -> None:
    try:
        bell = sg.define("TensorBell", lambda x, w: sp.exp(-(x**2) / w))
        x, w = leaf(X), leaf(2.0)
        bell(x, w).sum().backward()
        slopes = sg.grad(lambda x, w: np.sum(bell(x, w)), argnums=(0, 1))(X, 2.0)
        assert np.allclose(x.grad, slopes[0])
        assert np.isclose(w.grad.item(), slopes[1])
    finally:
        registry.ops.pop("TensorBell", None)
