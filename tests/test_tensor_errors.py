"""What goes wrong with tensors is said as by compiled functions: op, shapes, the user's line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
import symgrad.torch as torch
from symgrad.errors import SymgradError

WRONG: dict[str, Callable[[Any, Any, Any], Any]] = {
    "x + y": lambda x, y, m: x + y,
    "hypot": lambda x, y, m: np.hypot(x, y),
    "where": lambda x, y, m: np.where(x > 0, x, y),
    "m @ y": lambda x, y, m: m @ y,
    "cat": lambda x, y, m: np.concatenate([m, y[None]]),
    "stack": lambda x, y, m: np.stack([x, y]),
    "sum": lambda x, y, m: x.sum(axis=2),
    "mean": lambda x, y, m: np.mean(x, axis=2, keepdims=True),
    "index": lambda x, y, m: x[9],
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_say_what_compiled_functions_say(name: str) -> None:
    function, data = WRONG[name], (np.ones(4), np.ones(3), np.ones((4, 5)))
    with pytest.raises(SymgradError) as expected:
        sg.compile(function, dynamic=False)(*data)
    for _ in range(2):
        with pytest.raises(SymgradError) as found:
            function(*(sg.tensor(x, requires_grad=True) for x in data))
        assert type(found.value) is type(expected.value)
        assert str(found.value) == str(expected.value)
        assert found.value.where is not None
        assert found.value.where.startswith("test_tensor_errors.py:")


def test_a_reshape_that_does_not_fit_says_where() -> None:
    with pytest.raises(sg.errors.ShapeError, match=r"Reshape: .* \[test_tensor_errors.py:\d+\]"):
        torch.ones(4).reshape(3, 2)


@pytest.mark.parametrize("hook", [3, None, "x"])
def test_hooks_are_functions(hook: Any) -> None:
    x = sg.tensor(1.0, requires_grad=True)
    with pytest.raises(TypeError, match="a hook is a function of the gradient"):
        x.register_hook(hook)
    assert not x.grad_fn
