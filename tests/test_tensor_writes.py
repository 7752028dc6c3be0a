"""Recorded writes to places of a tensor: ``y[i] += v``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symgrad as sg
import symgrad.torch as torch


def adding_to_places(y: Any, x: Any, v: Any) -> Any:
    y[1] += v
    y[0] -= v * x[0]
    y[:, 1] /= 2 + v[1]
    y[1, 2] *= v[0]
    y[1:, ::2] += v[:2]
    y[..., 0] += 1.0
    y[-1, -1] **= 2
    y[[0, 2]] += v
    return (y**2).sum()


@pytest.mark.parametrize("start", ["recorded", "constant"])
def test_places_are_written_in_place(start: str) -> None:
    data, more = np.linspace(0.1, 1.2, 12).reshape(3, 4), np.linspace(1.0, 2.0, 4)

    def f(x: Any, v: Any) -> Any:
        y = x * 2 if start == "recorded" else 0 * x
        rows = [y[0] - v * x[0], y[1] + v, y[2]]
        y = np.stack(rows)
        y = y / np.where(np.arange(4) == 1, 2 + v[1], 1.0)
        y = y * np.where(np.arange(12).reshape(3, 4) == 6, v[0], 1.0)
        late = np.stack([np.zeros(2) * v[0], v[:2], v[:2]])
        y = y + np.stack([late[:, 0], np.zeros(3), late[:, 1], np.zeros(3)], axis=1)
        y = y + (np.arange(4) == 0)
        y = np.where(np.arange(12).reshape(3, 4) == 11, y**2, y)
        y = np.stack([y[0] + v, y[1], y[2] + v])
        return np.sum(y**2)

    x, v = sg.tensor(data, requires_grad=True), sg.tensor(more, requires_grad=True)
    y = x * 2 if start == "recorded" else torch.zeros((3, 4))
    out = adding_to_places(y, x, v)
    value, slopes = sg.value_and_grad(f, argnums=(0, 1))(data, more)
    np.testing.assert_allclose(out.item(), value, rtol=1e-14)
    out.backward()
    np.testing.assert_allclose(x.grad.numpy(), slopes[0], rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(v.grad.numpy(), slopes[1], rtol=1e-13)


def test_what_writing_to_places_makes_untrue() -> None:
    x, v = sg.tensor(np.ones((3, 4)), requires_grad=True), sg.tensor(np.ones(4), requires_grad=True)
    y = x * 2
    view = y[0:2]
    y[1] += v
    with pytest.raises(RuntimeError, match="shares memory with a view"):
        (view**2).sum()
    y = x * 2
    row = y[0]
    row *= 2  # y's own record is no longer right, and writing to another row does not help
    with pytest.raises(RuntimeError, match="shares memory with a view"):
        y[1] += v
    y = x * 2
    part, other = y[0:2], y[1]
    other *= v
    with pytest.raises(RuntimeError, match="shares memory with a view"):
        part[0] += v
    y = x * 2
    square = y * y
    y[1] += v
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        square.sum().backward()
    with pytest.raises(RuntimeError, match="view of a leaf"):
        x[1] += v
