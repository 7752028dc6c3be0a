"""Ops that are several of the compiler's, and one step on tensors; what NumPy says of steps."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
import symgrad.torch as torch
from symgrad._core.op import registry
from symgrad._tensor import _compiled

WEAK = (
    "Add", "Divide", "Equal", "Greater", "GreaterEqual", "Less", "LessEqual", "Maximum", "Minimum",
    "Multiply", "NotEqual", "Power", "Subtract",
)  # fmt: skip


def said(function: Callable[..., Any], *args: Any) -> tuple[Any, list[str]]:
    """Return the bits of a result, and what NumPy says of them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = np.asarray(function(*args))
    return (found.dtype, found.shape, found.tobytes()), sorted(str(w.message) for w in caught)


def test_what_numpy_says_is_said_every_time() -> None:
    x = sg.tensor(np.linspace(-1.0, 1.0, 25))
    zero = sg.tensor(np.zeros(25))
    for _ in range(5):
        assert not said(lambda: (x * x).numpy())[1]
    for function, text in (
        (lambda: 1.0 / zero, "divide by zero"), (lambda: torch.log(zero), "divide by zero"),
        (lambda: torch.exp(x + 1000.0), "overflow"), (lambda: torch.sqrt(x), "invalid"),
        (lambda: (x * np.inf).sum(), "invalid"),
    ):  # fmt: skip
        for _ in range(4):
            with pytest.warns(RuntimeWarning, match=text):
                function()
        with np.errstate(all="raise"), pytest.raises(FloatingPointError, match=text):
            function()
    tiny = sg.tensor(np.full(25, 1e-200))
    for _ in range(3):
        assert not (tiny * tiny).numpy().any()
    with np.errstate(under="raise"), pytest.raises(FloatingPointError, match="underflow"):
        tiny * tiny


def test_softmax_says_nothing() -> None:
    x = sg.tensor(np.array([[np.inf, 1.0], [-np.inf, -np.inf], [np.nan, 0.0]]))
    for function in (torch.softmax, torch.log_softmax, torch.logsumexp):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = [function(x, 1).numpy().tobytes() for _ in range(4)]
        assert len(set(found)) == 1


STEPS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(),
    "sum(0)": lambda x: x.sum(0),
    "sum(1, keepdim)": lambda x: torch.sum(x, 1, True),
    "mean": lambda x: x.mean(),
    "mean(-1, keepdim)": lambda x: torch.mean(x, -1, True),
    "max": lambda x: x.max(),
    "amax(1, keepdim)": lambda x: torch.amax(x, 1, True),
    "min(axis=0)": lambda x: x.min(axis=0),
    "relu": torch.relu,
    "where": lambda x: torch.where(x > 0, x, x * 2),
    "where a number": lambda x: torch.where(x > 0, x, 0.5),
    "cat": lambda x: torch.cat((x, x * 2), 1),
    "cat of three": lambda x: torch.cat([x, x * 2, x[:1] + 0.0]),
    "cat of columns": lambda x: torch.cat((x, x[:, :2] * 1.0), -1),
    "stack": lambda x: torch.stack((x, x * 2), -1),
    "softmax": lambda x: torch.softmax(x, 1),
    "softmax(0)": lambda x: torch.softmax(x, 0),
    "log_softmax": lambda x: torch.log_softmax(x, -1),
    "logsumexp": lambda x: torch.logsumexp(x, 1),
    "logsumexp, keepdim": lambda x: torch.logsumexp(x, 0, True),
    "logsumexp of all": lambda x: torch.logsumexp(x),
    "var": lambda x: torch.var(x, correction=0),
    "var(1, keepdim)": lambda x: torch.var(x, 1, True, correction=1),
    "std": lambda x: torch.std(x, 0, correction=0),
    "x**2": lambda x: x**2,
    "2 - x": lambda x: 2 - x,
    "sqrt(abs)": lambda x: torch.sqrt(abs(x) + 1),
}


NARROW = ("mean", "softmax", "relu", "x**2", "cat")


@pytest.mark.parametrize(
    ("name", "dtype"), [*((n, np.float64) for n in STEPS), *((n, np.float32) for n in NARROW)]
)
@pytest.mark.quick(2)
def test_kernels_change_nothing(name: str, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bits of results and gradients before and after, and those of the compiled function."""
    monkeypatch.setattr(_compiled, "FEWEST", 2)  # a step and a leaf
    function = STEPS[name]
    rng = np.random.default_rng(11)
    for shape in ((5, 5), (3, 17)):
        data = np.round(rng.normal(size=shape), 1).astype(dtype)
        weights = np.round(rng.normal(size=function(sg.tensor(data)).shape), 2).astype(dtype)

        def total(x: Any, weights: Any = weights) -> Any:
            return (function(x) * weights).sum()

        found = set()
        with sg.backend("numpy"):  # no kernels of backward passes
            for _ in range(3):
                x = sg.tensor(data, requires_grad=True)
                y = function(x)
                y.backward(sg.tensor(weights))
                found.add((y.detach().numpy().tobytes(), x.grad.numpy().tobytes()))
        for _ in range(12):
            x = sg.tensor(data, requires_grad=True)
            y = function(x)
            y.backward(sg.tensor(weights))
            found.add((y.detach().numpy().tobytes(), x.grad.numpy().tobytes()))
        assert len(found) == 1
        compiled = sg.compile(sg.grad(total), rounding="numpy")(data)
        assert np.array_equal(compiled, x.grad.numpy())


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp", "mean", "amax(1, keepdim)",
                                  "sum(1, keepdim)", "stack", "std", "var"])  # fmt: skip
def test_names_are_pytorchs(name: str) -> None:
    names = {"amax(1, keepdim)": "Max", "sum(1, keepdim)": "Sum", "log_softmax": "LogSoftmax",
             "stack": "Assemble"}  # fmt: skip
    y = STEPS[name](sg.tensor(np.ones((3, 4)), requires_grad=True))
    assert y.grad_fn.name() == f"{names.get(name, name.capitalize())}Backward0"


@pytest.mark.parametrize("name", ["mean(-1, keepdim)", "amax(1, keepdim)", "softmax",
                                  "log_softmax", "logsumexp", "std", "var"])  # fmt: skip
@pytest.mark.quick(2)
def test_second_derivatives(name: str) -> None:
    function = STEPS[name]
    data = np.random.default_rng(2).normal(size=(3, 4))
    x = sg.tensor(data, requires_grad=True)
    (slope,) = torch.autograd.grad((function(x * x) ** 2).sum(), x, create_graph=True)
    (curve,) = torch.autograd.grad((slope * np.cos(data)).sum(), x)
    grad = sg.grad(lambda v: (function(v * v) ** 2).sum())
    expected = sg.grad(lambda v: (grad(v) * np.cos(data)).sum())(data)
    np.testing.assert_allclose(curve.numpy(), expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", WEAK)
@pytest.mark.parametrize("number", [0, 2, -3, 2**53 + 1, 2**70])
def test_whole_numbers_are_the_floats_that_they_are(name: str, number: int) -> None:
    op = registry.ops[name]
    x = np.array([0.1, 2.0, -3.0, 9007199254740993.0])
    with np.errstate(all="ignore"):
        for a, b in ((sg.tensor(x), number), (number, sg.tensor(x))):
            plain = [getattr(v, "_data", v) for v in (a, b)]
            for _ in range(3):
                found = np.asarray(op(a, b).detach().numpy())
                assert np.array_equal(found, op.evaluate(*plain), equal_nan=True)
                expected = np.asarray(op.functions[0](a, b))
                assert np.array_equal(expected, op.evaluate(*plain), equal_nan=True)


@pytest.mark.slow
def test_gradients_of_other_sizes() -> None:
    """What is known of one size is not taken for another."""
    for rows, columns in ((5, 5), (2, 3), (1, 4), (30, 7)):
        data = np.random.default_rng(rows).normal(size=(rows, columns))
        for name in ("softmax", "log_softmax", "logsumexp", "var", "std", "mean"):
            x = sg.tensor(data, requires_grad=True)
            (STEPS[name](x) ** 2).sum().backward()
            expected = sg.grad(lambda v, f=STEPS[name]: (f(v) ** 2).sum())(data)
            np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-11, atol=1e-12)


def test_steps_in_the_midst_of_a_trace() -> None:
    """What is traced for reading around a step is none of the step's concern."""
    x = np.full((2, 3), 1000.0)

    def f(v: Any) -> Any:
        for _ in range(4):
            t = sg.tensor(x, requires_grad=True)
            torch.softmax(t, 1).sum().backward()
            assert np.allclose(t.grad.numpy(), 0.0)
        return np.sum(v)

    sg.formula(f, np.ones(3))
    assert np.allclose(torch.softmax(sg.tensor(x), 1).numpy(), 1 / 3)
