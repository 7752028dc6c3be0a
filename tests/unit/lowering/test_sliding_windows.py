"""Sums over sliding windows, and their derivatives, keep no table of all windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.base.sizes import hint
from symgrad._core.lowering._plan import plan
from symgrad._core.pipeline import legal

X, W = np.linspace(0.0, 3.0, 200), np.linspace(0.5, 1.5, 20)


def windows(x: Any, w: Any) -> Any:
    return np.lib.stride_tricks.sliding_window_view(x, len(w)) @ w


@pytest.mark.parametrize("f", [np.convolve, np.correlate, windows])
@pytest.mark.parametrize("by", [0, 1, (0, 1)])
def test_no_table_is_stored(f: Any, by: Any) -> None:
    g = sg.grad(lambda x, w: np.sum(np.sin(f(x, w))), argnums=by)
    made = plan(legal(g.program(X, W), vector_math=False))
    sizes = [np.prod([hint(d) for d in node.shape]) for node in made.stored]
    # Of the ends, which some windows leave, there is one of all their elements.
    assert max(sizes) <= 2 * len(W) * len(W)
    found, (x, w) = g(X, W), (X, W)
    h = 1e-6
    by_x = [
        np.sum(np.sin(f(x + h * e, w)) - np.sin(f(x - h * e, w))) / (2 * h) for e in np.eye(200)
    ]
    by_w = [np.sum(np.sin(f(x, w + h * e)) - np.sin(f(x, w - h * e))) / (2 * h) for e in np.eye(20)]
    wanted = [by_x, by_w][by] if isinstance(by, int) else (by_x, by_w)
    for a, b in zip(*((v,) if isinstance(by, int) else v for v in (found, wanted)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
