"""Backward passes that are compiled on the way: same gradients, same errors, bounded cost."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symgrad as sg
import symgrad.torch as torch
from symgrad._tensor import _compiled
from symgrad._tensor._compiled import AFTER, describe, table
from symgrad._tensor._engine import ordered
from symgrad.errors import BackwardError, UnsupportedError


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(_compiled, "FEWEST", 3)  # short passes show as much
    table.clear()
    yield
    table.clear()


def leaf(data: Any) -> Any:
    return sg.tensor(data, requires_grad=True)


def kernels() -> int:
    return sum(e.kernel is not None for e in table.entries.values())


def gradients(function: Callable[..., Any], tensors: list[Any]) -> list[Any]:
    for tensor in tensors:
        tensor.grad = None
    function(*tensors).backward()
    return [None if t.grad is None else t.grad.numpy().copy() for t in tensors]


def mlp(w: Any, b: Any, v: Any, x: Any, y: Any) -> Any:
    hidden = np.tanh(x @ w + b)
    return -(torch.log_softmax(hidden @ v, dim=1) * y).sum() / x.shape[0]


RNG = np.random.default_rng(0)
CASES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "scalars": (lambda x, y: np.sin(x * y) * x, [0.5, 2.0]),
    "broadcast": (lambda x, y: (np.exp(x) * y + y).sum(),
                  [RNG.normal(size=(3, 4)), [1.0, 2.0, 3.0, 4.0]]),
    "number in the code": (lambda x: (x**3 / 7.0 - 2 * x).sum(), [[0.5, 1.5]]),
    "used twice": (lambda x: (x * x + x).sum() * x[0], [[1.0, 2.0]]),
    "choice": (lambda x: np.where(x > 0, np.exp(x) * x, 0.0).sum() + np.maximum(x, 0.3).sum(),
               [[-1.0, 0.0, 2.0]]),
    "index": (lambda x: (x[::-1][np.array([0, 0, 2])] ** 2).sum() * x[1], [[1.0, 2.0, 3.0]]),
    "reduced": (lambda x: np.max(x) * x.mean() + np.var(x) + np.prod(x[0]),
                [RNG.normal(size=(2, 3))]),
    "not needed": (lambda x, y: (x + 0.0 * y).sum() + y[0:0].sum(), [[1.0, 2.0], [3.0, 4.0]]),
    "stacked": (lambda x, y: np.concatenate([x, x * y]).reshape(2, -1).T.sum(0)[1], [[1.0, 2.0],
                [3.0, 4.0]]),
    "single precision": (lambda x: np.tanh(x * 2).sum(), [np.array([0.5, 1.0], np.float32)]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_kernel_agrees(name: str) -> None:
    function, data = CASES[name]
    tensors = [leaf(d) for d in data]
    first = gradients(function, tensors)
    for _ in range(AFTER):
        last = gradients(function, tensors)
    assert kernels() == 1
    for a, b in zip(first, last, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(b, a)


def test_short_passes_are_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    tensors = [leaf(0.5), leaf(2.0)]
    for _ in range(2 * AFTER):
        gradients(lambda x, y: x * y, tensors)
    assert kernels() == 0
    assert not table.seen
    for _ in range(AFTER):
        gradients(lambda x, y: np.exp(x * y), tensors)
    assert kernels() == 1


# ---------------------------------------------------------------- what is one structure


def described(loss: Any) -> Any:
    found = describe(ordered([loss.grad_fn]))
    return None if found is None else found[0]


def loss_of(x: Any, c: Any = 3.0, axis: int = 0, scale: Any = 1.0) -> Any:
    return ((x * c).sum(axis) * np.full(3, scale)).sum() ** 2


def test_what_is_one_structure_and_what_is_not() -> None:
    x = leaf(np.arange(9.0).reshape(3, 3))
    known = described(loss_of(x))
    assert described(loss_of(leaf(np.ones((3, 3))))) == known
    assert described(loss_of(x, scale=2.0)) == known  # the elements of an array
    hooked, plain = loss_of(x), leaf(np.ones((3, 3)))
    hooked.register_hook(lambda g: None)
    retained = plain * 3.0
    retained.retain_grad()
    freed = loss_of(x)
    freed.backward()
    others = [
        loss_of(leaf(np.ones((4, 3)))), loss_of(leaf(np.ones((3, 3), np.float32))),
        loss_of(x, c=4.0), loss_of(x, c=np.ones((3, 3))), loss_of(x, axis=1), hooked,
        (retained.sum(0) * np.ones(3)).sum() ** 2, freed, loss_of(x, scale=np.ones(3, np.float32)),
        (x.sum(0) * np.ones(3)).sum() ** 2 * 3.0,
    ]  # fmt: skip
    for other in others:
        assert described(other) != known


def test_an_overwritten_value_is_found() -> None:
    x = leaf([1.0, 2.0])
    y = x.exp()
    loss = (y * x.exp()).sum()
    y.detach()[0] = 5.0
    with pytest.raises(BackwardError, match="modified by an inplace operation"):
        described(loss)


def test_a_network_on_other_data() -> None:
    rng = np.random.default_rng(1)
    shapes = [(5, 4), (4,), (4, 3)]
    tensors = [leaf(rng.normal(size=s)) for s in shapes]

    def passes(count: int) -> list[Any]:
        for _ in range(count):
            x, y = sg.tensor(rng.normal(size=(6, 5))), sg.tensor(np.eye(3)[rng.integers(0, 3, 6)])
            loss = functools.partial(mlp, x=x, y=y)
            found = gradients(loss, tensors)
            with sg.backend("numpy"):
                expected = gradients(loss, tensors)
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_array_equal(a, b)
        return found

    passes(AFTER + 2)
    assert kernels() == 1


def test_shapes_and_numbers_are_part_of_the_structure() -> None:
    for n in (2, 3):
        for factor in (2.0, 3.0):
            x = leaf(np.ones(n))
            for _ in range(AFTER + 1):
                (found,) = gradients(lambda x, f=factor: (np.sin(x) * f).sum(), [x])
            np.testing.assert_allclose(found, factor * np.cos(1.0) * np.ones(n), rtol=1e-15)
    assert kernels() == 4


def test_weights_of_the_elements() -> None:
    x = leaf([1.0, 2.0])
    for k in range(AFTER + 3):
        x.grad = None
        (x**2 * 3.0).backward(sg.tensor([1.0, float(k)]))
        assert x.grad.tolist() == [6.0, 12.0 * k]
    assert kernels() == 1


def test_constants_that_change() -> None:
    x = leaf([1.0, 2.0])
    for k in range(AFTER + 3):
        data, scalar = np.array([float(k), 1.0]), sg.tensor(float(k))
        (found,) = gradients(lambda x, d=data, s=scalar, k=k: (x * d * s + x * k).sum(), [x])
        np.testing.assert_array_equal(found, data * k + k)
    whole = np.array(0)
    for k in range(2 * AFTER):
        whole[...] = k % 2
        (found,) = gradients(lambda x: x[whole] * 1.0, [x])
        assert found.tolist() == [1.0 - k % 2, float(k % 2)]


# ---------------------------------------------------------------- what else happens on the way


def compiled() -> tuple[Any, Callable[[], Any]]:
    x = leaf([0.5, 1.0])

    def loss() -> Any:
        return (np.exp(x) * x).sum()

    for _ in range(AFTER):
        loss().backward()
    assert kernels() == 1
    x.grad = None
    return x, loss


def test_accumulation_and_freed_buffers() -> None:
    x, loss = compiled()
    y = loss()
    y.backward(retain_graph=True)
    once = x.grad.tolist()
    y.backward()
    assert x.grad.tolist() == [2 * g for g in once]
    with pytest.raises(BackwardError, match="second time"):
        y.backward()
    assert x.grad.tolist() == [2 * g for g in once]


def test_hooks_and_kept_gradients() -> None:
    x, loss = compiled()
    loss().backward()
    plain = x.grad.tolist()
    x.grad = None
    handle = x.register_hook(lambda g: 10 * g)
    loss().backward()
    np.testing.assert_allclose(x.grad, [10 * g for g in plain], rtol=1e-15)
    handle.remove()
    x.grad = None
    middle = np.exp(x)
    middle.retain_grad()
    (middle * x).sum().backward()
    assert middle.grad.tolist() == x.detach().tolist()
    np.testing.assert_allclose(x.grad, plain, rtol=1e-15)


def test_create_graph_and_gradients_as_values() -> None:
    x, loss = compiled()
    loss().backward()
    (slope,) = torch.autograd.grad(loss(), x, create_graph=True)
    np.testing.assert_allclose(slope.detach(), x.grad, rtol=1e-15)
    slope.sum().backward()
    data = x.detach().numpy()
    np.testing.assert_allclose(x.grad - slope.detach(), np.exp(data) * (data + 2), rtol=1e-14)


def test_overwritten_values_are_detected() -> None:
    x, _ = compiled()
    y = np.exp(x)
    z = (y * x).sum()
    y.detach().zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()
    assert x.grad is None
    y = loss_of = np.exp(x)
    z = (loss_of * x).sum()
    with sg.no_grad():
        x.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_a_constant_that_no_rule_reads() -> None:
    """The compiler knows a formula that reads it; it may have been overwritten."""
    x = leaf(np.array([[0.5, 1.0, 2.0]]))

    def loss(shift: Any) -> Any:
        return np.log(np.exp(x - shift).sum(axis=1)).sum()

    for _ in range(AFTER + 1):
        shift = sg.tensor([[1.0]])
        (before,) = gradients(lambda x, s=shift: loss(s), [x])
    assert kernels() == 1
    x.grad = None
    out = loss(shift)
    shift.fill_(700.0)  # the rules do not read it
    out.backward()
    np.testing.assert_array_equal(x.grad, before)


def test_edges_set_by_hand() -> None:
    x, _ = compiled()
    y = np.exp(x)
    out = (y * x).sum()
    y.grad_fn.next_functions = ((None, 0),)
    out.backward()
    np.testing.assert_allclose(x.grad, np.exp(x.detach()), rtol=1e-15)


# ---------------------------------------------------------------- bounds


def test_changing_structures_are_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_compiled, "WATCHED", 20)
    x = leaf(1.5)
    for k in range(100):
        y = x
        for _ in range(2 + k % 50):
            y = y * x
        (y + float(k)).backward()
    assert kernels() == 0
    assert len(table.seen) <= 20
    assert len(table.entries) <= 20


def test_kernels_are_paid_for_by_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_compiled, "CREDIT", 0.25)
    x = leaf(1.5)
    for n in range(2, 8):
        for _ in range(AFTER + 1):
            y = x
            for _ in range(n):
                y = y * x
            y.backward()
    assert kernels() == 2
    looked_at = len(table.entries)
    for _ in range(AFTER + 1):
        (np.sin(x) * x * x).backward()  # cannot be paid for, so nobody looks closer
    assert len(table.entries) == looked_at


def test_what_cannot_be_compiled_is_tried_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: Any) -> Any:
        raise UnsupportedError("not today")

    monkeypatch.setattr(_compiled, "build", refuse)
    monkeypatch.setenv("SYMGRAD_LOG", "1")
    x = leaf([0.5, 1.0])
    for _ in range(3 * AFTER):
        (found,) = gradients(lambda x: (np.exp(x) * x).sum(), [x])
    np.testing.assert_allclose(found, np.exp(x.detach()) * (x.detach() + 1), rtol=1e-15)
    assert capsys.readouterr().err.count("stays with NumPy (not today)") == 1


def test_kernels_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_compiled, "KEPT", 2)
    x = leaf(1.5)
    for n in range(2, 6):
        for _ in range(AFTER):
            y = x
            for _ in range(n):
                y = y * x
            y.backward()
    assert kernels() == 2


def test_log_and_switches(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SYMGRAD_LOG", "1")
    x = leaf(1.5)
    with sg.backend("numpy"):
        for _ in range(2 * AFTER):
            (np.sin(x) * x).backward()
    monkeypatch.setenv("SYMGRAD_BACKEND", "numpy")
    for _ in range(2 * AFTER):
        (np.sin(x) * x).backward()
    assert capsys.readouterr().err == ""
    monkeypatch.delenv("SYMGRAD_BACKEND")
    for _ in range(2 * AFTER):
        (np.sin(x) * x).backward()
    said = capsys.readouterr().err
    assert said.startswith("symgrad: backward of 2 ops at test_tensor_compiled.py:")
    assert f"seen {AFTER} times: compiled in " in said
    assert said.count("\n") == 1


# ---------------------------------------------------------------- any program

UNARY = [np.sin, np.tanh, np.square, lambda x: np.sqrt(1 + x * x), lambda x: x**3]
BINARY = [np.add, np.multiply, np.subtract, lambda a, b: a / (1 + b * b), np.maximum, np.hypot]


@settings(max_examples=settings.default.max_examples // 3)
@given(
    st.lists(st.tuples(st.integers(0, 10), st.integers(0, 50), st.integers(0, 50)), min_size=1,
             max_size=10),
    st.integers(1, 4),
)  # fmt: skip
def test_any_program(choices: list[tuple[int, int, int]], size: int) -> None:
    table.clear()
    rng = np.random.default_rng(len(choices))
    tensors = [leaf(rng.normal(size=size)), leaf(rng.normal(size=()))]

    def program(*inputs: Any) -> Any:
        values = list(inputs)
        for kind, first, second in choices:
            a, b = values[first % len(values)], values[second % len(values)]
            made = UNARY[kind](a) if kind < len(UNARY) else BINARY[kind - len(UNARY)](a, b)
            values.append(np.tanh(made))
        return np.sum(values[-1] * inputs[0])

    first = gradients(program, tensors)
    for _ in range(AFTER):
        last = gradients(program, tensors)
    for a, b in zip(first, last, strict=True):
        if a is None:
            assert b is None
        else:
            np.testing.assert_array_equal(b, a)
