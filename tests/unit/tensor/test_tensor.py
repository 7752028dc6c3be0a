"""Eager tensors and the graph's own passes give the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symgrad as sg
import symgrad.torch as torch
from symgrad._core.trace import evaluate


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
