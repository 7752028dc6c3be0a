"""Compiled functions of tensors: one step of the record each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
import symgrad.torch as torch
from symgrad.errors import UnsupportedError

RNG = np.random.default_rng(0)


def leaf(data: Any) -> Any:
    return sg.tensor(data, requires_grad=True)


FUNCTIONS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "number": (lambda x: np.sin(x) * x, [0.5]),
    "array": (lambda x: np.exp(x) * x, [RNG.normal(size=4)]),
    "network": (lambda w, b, x: np.mean(np.tanh(x @ w + b) ** 2),
                [RNG.normal(size=(4, 3)), RNG.normal(size=3), RNG.normal(size=(5, 4))]),
    "single precision": (lambda x: np.sum(x * x), [RNG.normal(size=4).astype(np.float32)]),
    "a choice": (lambda x: np.where(x > 0, x, x * x).sum(), [RNG.normal(size=6)]),
}  # fmt: skip


@pytest.mark.parametrize("rounding", [None, "numpy"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients_are_those_of_the_ops(name: str, rounding: Any) -> None:
    function, data = FUNCTIONS[name]
    compiled = sg.compile(function, rounding=rounding)
    eager, whole = [leaf(d) for d in data], [leaf(d) for d in data]
    for _ in range(2):
        y, z = function(*eager), compiled(*whole)
        assert isinstance(z, sg.Tensor)
        assert z.shape == y.shape
        assert z.dtype == y.dtype
        assert z.grad_fn.name() == "compiledBackward0"
        (2 * y).sum().backward()
        (2 * z).sum().backward()
        for a, b in zip(eager, whole, strict=True):
            assert b.grad.dtype == a.grad.dtype
            if rounding:
                assert np.array_equal(a.grad, b.grad)
            else:
                np.testing.assert_allclose(b.grad, a.grad, rtol=1e-5 if y.dtype == "f4" else 1e-13)
    assert compiled.traces == 1


def test_several_results_and_arguments_that_are_no_tensors() -> None:
    @sg.compile
    def summary(x: Any, n: int, *, scale: float = 1.0) -> dict[str, Any]:
        return {
            "total": np.sum(x**n) * scale,
            "place": np.argmax(x),
            "above": x > 1,
            "twice": 2 * x,
        }

    x = leaf([1.0, 3.0, 2.0])
    found = summary(x, 2, scale=0.5)
    assert found["total"].grad_fn is not None
    assert found["place"].item() == 1
    assert found["place"].dtype == np.int64
    assert not found["above"].requires_grad
    assert found["above"].tolist() == [False, True, True]
    (found["total"] + found["twice"].sum()).backward()
    assert np.array_equal(x.grad, [3.0, 5.0, 4.0])
    assert isinstance(sg.compile(np.argmax)(x), sg.Tensor)


def test_part_of_a_computation() -> None:
    square = sg.compile(lambda x: x * x)
    x, y = leaf([1.0, 2.0]), sg.tensor([3.0, 4.0])
    loss = (square(x * y) * y).sum() + x[0]
    loss.backward()
    assert np.array_equal(x.grad, [2 * 27.0 + 1, 2 * 64.0 * 2])
    for _ in range(10):  # the whole pass becomes a kernel
        x.grad = None
        ((square(x * y) * y).sum() + x[0]).backward()
        assert np.array_equal(x.grad, [2 * 27.0 + 1, 2 * 64.0 * 2])


def test_derivatives_of_derivatives() -> None:
    x = leaf([0.5, 1.5])
    (first,) = torch.autograd.grad(sg.compile(np.sin)(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    np.testing.assert_allclose(second, -np.sin([0.5, 1.5]), rtol=1e-14)


def test_transformations() -> None:
    x = leaf([1.0, 2.0])
    value, slope = sg.value_and_grad(lambda x: np.sum(x**3))(x)
    assert value.item() == 9.0
    slope.sum().backward()
    assert np.array_equal(x.grad, [6.0, 12.0])


def test_without_a_record() -> None:
    x = leaf([1.0, 2.0])
    square = sg.compile(lambda x: x * x)
    with sg.no_grad():
        assert not square(x).requires_grad
    y = square(x.detach())
    assert isinstance(y, sg.Tensor)
    assert y.grad_fn is None
    assert np.array_equal(y, [1.0, 4.0])


def test_what_the_way_back_reads_must_not_be_overwritten() -> None:
    x = leaf([1.0, 2.0])
    y = x * 1.0
    z = sg.compile(lambda x: x * x)(y)
    y.detach()[0] = 7.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    z = sg.compile(lambda x: x * x)(x)
    z += 1.0  # the result is not read
    z.sum().backward()
    assert np.array_equal(x.grad, [2.0, 4.0])


def test_what_cannot_be_a_step_is_said() -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(UnsupportedError, match=r"out= is for arrays"):
        sg.compile(lambda x: x * x)(x, out=np.zeros(2))
    for given in (x, x.detach()):
        with pytest.raises(UnsupportedError, match="complex, and eager tensors are real"):
            sg.compile(lambda x: x + 1j)(given)


def test_the_formula_goes_through() -> None:
    x = leaf(2.0)
    assert str(sg.compile(lambda x: np.sin(x) * x)(x).program().outputs[0]) == "x0*sin(x0)"
