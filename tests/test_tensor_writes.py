"""Recorded writes to places of a tensor: ``y[i] += v``."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import numpy as np
import pytest

import symgrad as sg
import symgrad.torch as torch
from symgrad.errors import BackwardError


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


@pytest.mark.parametrize("source", [
    "t += 2.0", "t -= 2.0", "t *= 2.0", "t /= 2.0", "t //= 2.0", "t %= 2.0", "t **= 2.0",
    "k += 2", "k //= 2", "k %= 2", "k <<= 1", "k >>= 1", "k &= 3", "k |= 3", "k ^= 3",
])  # fmt: skip
def test_augmented_assignments_write_where_views_see_it(source: str) -> None:
    found, plain = (
        {"t": make([[5.0, 7.0], [8.0, 9.0]]), "k": make([[5, 7], [8, 9]])}
        for make in (sg.tensor, np.array)
    )
    wholes = [(names["t"], names["k"]) for names in (found, plain)]
    for names in (found, plain):
        names["t"], names["k"] = names["t"].T[0], names["k"][1:]
        exec(source, names)
    for a, b in zip(*wholes, strict=True):
        np.testing.assert_array_equal(a.numpy(), b)


#: Calls in which functions of NumPy's that copy have nothing, or little, to do.
COPIES = """np.roll(x, 0); np.roll(x, 1, 0); np.tile(x, 1); np.tile(x, (2, 1)); np.repeat(x, 1)
np.repeat(x, 2, 0); np.concatenate([x]); np.concatenate([x, x[:0]]); np.hstack([x])
np.column_stack([x]); np.block([[x]]); np.pad(x, 0); np.meshgrid(x[0])[0]; np.full_like(x, x[0])
np.sum(x, ()); np.sum(x, 0); np.max(x, 0); np.cumsum(x, 0); np.append(x, x[:0], 0)
np.clip(x, None, 99); np.round(x); np.copy(x); x.astype(float); x.repeat(1); x.flatten()
x[:, ::2].ravel(); x[:, ::-1].ravel(); np.take(x, [0], 0); np.where(x > -9, x, x)
np.select([x > -9], [x]); np.sort(x, 0); np.triu(x, -9)
np.median(x, 0); np.matmul(x, np.eye(3))"""
VIEWS = """x.ravel(); np.ravel(x); x.reshape(-1); x.reshape(3, 1); x.T; x.swapaxes(0, 1); np.flip(x)
x[0]; x[None]; np.rot90(x); np.squeeze(x); np.atleast_2d(x); np.split(x, 1)[0]; np.real(x)
np.einsum("ij->ji", x); np.diff(x, 0); np.apply_over_axes(np.sum, x, ()); np.polyint(x[0], 0)"""


def calls(text: str) -> list[str]:
    return re.split(r";\s|\n", text)


@pytest.mark.parametrize("call", calls(COPIES) + calls(VIEWS))
def test_memory_is_shared_where_numpy_shares_it(call: str) -> None:
    """What an op need not do, a function of NumPy's that copies does all the same."""
    plain, tensor = np.array([[1.0, 2.0, 3.0]]), sg.tensor([[1.0, 2.0, 3.0]])
    want, found = (eval(call, {"np": np, "x": x}) for x in (plain, tensor))
    assert np.shares_memory(want, plain) == (call in calls(VIEWS))
    plain[...] = tensor[...] = 7.0
    np.testing.assert_array_equal(found.detach().numpy(), want)
    want[...] = found[...] = 9.0
    np.testing.assert_array_equal(tensor.numpy(), plain)
    np.testing.assert_array_equal(found.numpy(), want)


@pytest.mark.parametrize("call", [
    "x.flip(0)", "torch.flip(x, (0, 1))", "torch.roll(x, 0)", "torch.tile(x, (1, 1))", "x.diag()",
    "x.repeat_interleave(1)", "torch.cat([x])", "torch.hstack([x])", "torch.vstack([x])",
    "x.to(torch.float64, copy=True)",
])  # fmt: skip
def test_functions_of_pytorchs_that_copy(call: str) -> None:
    x = torch.tensor([[1.0, 2.0]], requires_grad=True)
    y = eval(call, {"torch": torch, "x": x})
    with torch.no_grad():
        y[...] = 7.0
        np.testing.assert_array_equal(x.detach().numpy(), [[1.0, 2.0]])
    y = eval(call, {"torch": torch, "x": x})
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[1.0, "diag" not in call]])
    assert x.double() is x
    assert x.to(torch.float64) is x


@pytest.mark.parametrize("repeat", [1, 12])  # 12: a kernel goes back
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.log(1 + np.exp(x)),
        lambda x: np.exp(x) / (1 + np.exp(x)),
        lambda x: x / (1 + x),
        lambda x: 1 / np.sqrt(x * x + 1),
        lambda x: x / np.sqrt((x * x).sum()),
        lambda x: np.sin(x) ** 2 / (x**2 + 1),
    ],
)
def test_a_step_between_value_and_gradient(f: Any, repeat: int) -> None:
    """The gradient is that of the old numbers, or there is an error; never one of both."""
    start = np.array([1.0, 2.0])
    want = sg.grad(lambda x: f(x).sum())(start)
    for _ in range(repeat):
        x = sg.tensor(start, requires_grad=True)
        y = f(x).sum()
        with sg.no_grad():
            x -= 0.5
        with contextlib.suppress(BackwardError):
            y.backward()
            np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-14)


def test_values_of_other_shapes_and_types() -> None:
    x, k = sg.tensor(np.ones((2, 2)), requires_grad=True), sg.tensor([1, 2])
    y = x * 2
    y[0] = np.ones((1, 2)) * x[1]
    y[1:] = x[None, :1]
    y[0, 0] = np.array([[7.0]])
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[1.0, 1.0], [0.0, 1.0]])
    k[0] = np.array([5])
    with pytest.raises(TypeError, match="int64"):
        k += x[0]
    assert k.tolist() == [5, 2]
