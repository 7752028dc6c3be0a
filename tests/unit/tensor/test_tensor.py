"""Eager tensors and the graph's own passes give the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symgrad as sg
import symgrad.torch as torch
from symgrad._graph import Literal
from symgrad._reverse import pull_back
from symgrad._schedule import schedule
from symgrad._trace import evaluate


def leaf(data: Any) -> Any:
    return sg.tensor(data, requires_grad=True)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x @ x.T).sum(),
        lambda x: (x[0] * x[-1, ::-1]).sum(),
        lambda x: np.where(x > 1, x**2, np.exp(-x)).mean(),
        lambda x: (np.fmod(x**2, 0.7) * x + np.remainder(x, x[0, 0] ** 2)).sum(),
        lambda x: np.var(x) + np.linalg.norm(x),
        lambda x: np.cumsum(x, axis=1)[1, 2] ** 2,
        lambda x: np.concatenate([x, 2 * x]).prod() ** 0.1,
        lambda x: np.stack([x, x * x]).transpose(2, 0, 1).reshape(-1)[3:].sum(),
        lambda x: torch.softmax(x, dim=1)[1, 1],
    ],
)
def test_paths_through_arrays(function: Any) -> None:
    x = leaf(np.random.default_rng(0).uniform(0.5, 2.5, (2, 3)))
    out = function(x)
    found = [sg.paths(out, x, index=place) for place in np.ndindex(2, 3)]
    out.backward()
    for paths, slope in zip(found, x.grad.numpy().ravel(), strict=True):
        np.testing.assert_allclose(paths.value, slope, rtol=1e-13, atol=1e-16)
        products = [p.product for p in paths]
        assert len(products) == paths.count
        if products:
            total = sum(float(evaluate(p, paths._values)) for p in products)
            np.testing.assert_allclose(total, slope, rtol=1e-12, atol=1e-16)


# ---------------------------------------------------------------- eager is compiled


UNARY = [np.sin, np.tanh, np.exp, np.square, lambda x: np.sqrt(1 + x * x), lambda x: x**3]
BINARY = [np.add, np.multiply, np.subtract, lambda a, b: a / (1 + b * b), np.maximum, np.hypot]


def build(choices: list[tuple[int, int, int]], inputs: list[Any]) -> Any:
    """A random program: each step applies a function to earlier values."""
    values = list(inputs)
    for kind, first, second in choices:
        a, b = values[first % len(values)], values[second % len(values)]
        if kind < len(UNARY):
            values.append(np.tanh(UNARY[kind](a)))  # bounded: no overflow
        else:
            values.append(np.tanh(BINARY[kind - len(UNARY)](a, b)))
    return np.sum(values[-1] * values[-1]) if values[-1].shape else values[-1]


STEPS = st.lists(
    st.tuples(st.integers(0, len(UNARY) + len(BINARY) - 1), st.integers(0, 50), st.integers(0, 50)),
    min_size=1,
    max_size=12,
)
NUMBERS = st.floats(-2.0, 2.0, allow_nan=False, width=32)


@given(STEPS, NUMBERS, NUMBERS, st.booleans())
def test_eager_equals_the_program(
    choices: list[tuple[int, int, int]], first: float, second: float, arrays: bool
) -> None:
    data = [np.array([first, second, 0.5]), np.float64(second)] if arrays else [
        np.float64(first), np.float64(second)
    ]  # fmt: skip
    leaves = [leaf(d) for d in data]
    out = build(choices, leaves)
    if not out.requires_grad:
        return
    names = {f"x{k}": t for k, t in enumerate(leaves) if used(out, t)}
    numbers = [t.detach().numpy()[()] for t in names.values()]
    program, function = out.program(**names), out.as_function(**names)
    out.backward()
    # The same graph, differentiated as the compiler does it: to 2 ulp of numbers of size 1,
    # since the order in which parts are added may differ.
    adjoint = pull_back(program.outputs, [Literal(1.0, np.float64)], program.inputs)
    slopes = schedule(program.inputs, adjoint).run(*numbers)  # type: ignore[arg-type]
    for tensor, slope in zip(names.values(), slopes, strict=True):
        assert (np.abs(tensor.grad.numpy() - slope) <= 2 * np.spacing(np.fmax(abs(slope), 1))).all()
    # And rewritten, which rounds differently.
    with sg.backend("numpy"):
        slopes = sg.grad(function, tuple(range(len(names))))(*numbers)
    for tensor, slope in zip(names.values(), slopes, strict=True):
        np.testing.assert_allclose(tensor.grad, slope, rtol=1e-12, atol=4e-15)


def used(out: Any, tensor: Any) -> bool:
    edge = tensor.edge()
    return any(edge is n for level in sg.backward_order(out) for n in level)
