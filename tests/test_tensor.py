"""Eager tensors: PyTorch's semantics, and the same gradients as the compiler."""

from __future__ import annotations

import copy
import gc
import itertools
import pickle
import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symgrad as sg
import symgrad.torch as torch
from symgrad._core.op import Evidence, registry
from symgrad.errors import (
    ArgumentError,
    BackwardError,
    CycleError,
    DTypeError,
    ShapeError,
    SymgradError,
    UnsupportedError,
)
from tests.samples import samples_of


def leaf(data: Any) -> Any:
    return sg.tensor(data, requires_grad=True)


# ---------------------------------------------------------------- values and printing


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (2.0, "tensor(2.)"),
        (0.8, "tensor(0.8000)"),
        ([1.0, 2.5], "tensor([1.0000, 2.5000])"),
        ([6.0, 192.0], "tensor([  6., 192.])"),
        ([1e-7, 1.5], "tensor([1.0000e-07, 1.5000e+00])"),
        ([float("nan"), 1.0, float("-inf")], "tensor([nan, 1., -inf])"),
        ([1, 2], "tensor([1, 2])"),
        ([True, False], "tensor([ True, False])"),
        ([], "tensor([])"),
        ([[1.0, -2.0]], "tensor([[ 1., -2.]])"),
    ],
)
def test_repr(data: Any, text: str) -> None:
    shown = repr(sg.tensor(data))
    assert shown.replace(" ", "") == text.replace(" ", "")


def test_repr_tells_type_and_origin() -> None:
    x = leaf(1.0)
    assert repr(x) == "tensor(1., requires_grad=True)"
    assert repr(x * 2) == "tensor(2., grad_fn=<MulBackward0>)"
    assert repr(sg.tensor(1.0, dtype=torch.float32)) == "tensor(1., dtype=float32)"
    assert repr(torch.zeros(2000)) == "tensor([0., 0., 0.,  ..., 0., 0., 0.])"
    assert f"{sg.tensor(1.5):.3f}" == "1.500"


def test_types() -> None:
    assert sg.tensor([1, 2]).dtype == np.int64
    assert sg.tensor(1.0).dtype == torch.FloatTensor([1]).dtype == np.float64
    assert (sg.tensor(1.0, dtype=torch.float32) * 2.0).dtype == np.float32
    torch.set_default_dtype(torch.float32)
    try:
        assert torch.zeros(2).dtype == sg.tensor(1.0).dtype == np.float32
        assert sg.tensor(np.float64(1.0)).dtype == np.float64
    finally:
        torch.set_default_dtype(torch.float64)
    with pytest.raises(DTypeError, match="floating point"):
        sg.tensor([1, 2], requires_grad=True)
    with pytest.raises(ArgumentError, match="ragged"):
        sg.tensor([[1.0], [1.0, 2.0]])
    with pytest.raises(DTypeError, match="complex"):
        sg.tensor(1j)


def test_python_sees_numbers() -> None:
    x = leaf(2.0)
    y = x
    while y < 100:  # a graph that depends on values
        y = y * x
    assert float(y) == 128.0
    y.backward()
    assert x.grad.item() == 7 * 2.0**6
    assert [int(v) for v in torch.arange(3)] == [0, 1, 2]
    assert len(torch.zeros(4, 2)) == 4
    assert "abc"[sg.tensor(1)] == "b"
    with pytest.raises(ValueError, match="cannot be converted"):
        torch.zeros(2).item()


def test_arrays_do_not_lose_the_record() -> None:
    x = leaf([1.0, 2.0])
    for leak in (np.asarray, lambda t: t.numpy()):
        with pytest.raises(RuntimeError, match=r"detach\(\)\.numpy\(\)"):
            leak(x)
    assert x.detach().numpy() is x.detach().numpy()
    np.testing.assert_array_equal(x.detach(), [1.0, 2.0])


def test_copies() -> None:
    x = sg.tensor([1.0, 2.0], requires_grad=True, name="x")
    for twin in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert twin.requires_grad
        assert twin.name == "x"
        assert twin.tolist() == [1.0, 2.0]
    with pytest.raises(BackwardError, match="leaf"):
        copy.deepcopy(x * 2)
    y = np.copy(x)
    assert y.grad_fn is not None
    assert not np.shares_memory(y.detach().numpy(), x.detach().numpy())


# ---------------------------------------------------------------- NumPy on tensors

FUNCTIONS = [
    lambda x: np.sum(np.sin(x) * x),
    lambda x: (x @ x.T).sum(),
    lambda x: np.linalg.norm(x),
    lambda x: np.concatenate([x, 2 * x]).prod() ** 0.1,
    lambda x: (x[0] * x[-1, ::-1]).sum(),
    lambda x: x[np.array([0, 1, 1]), [0, 2, 2]].sum() ** 2,
    lambda x: np.where(x > 1, x**2, np.exp(-x)).mean(),
    lambda x: np.max(x) * np.min(x) + np.var(x),
    lambda x: np.cumsum(x, axis=1)[1, 2] / np.std(x),
    lambda x: np.einsum("ij,kj->ik", x, x).sum(),
    lambda x: np.stack([x, x * x]).transpose(2, 0, 1).reshape(-1)[3:].sum(),
    lambda x: np.logaddexp(x, 0.5).sum() - np.hypot(x, x[0]).sum(),
    lambda x: (x.sum(axis=0, keepdims=True) - x.mean(axis=1, keepdims=True)).ravel()[1] ** 3,
    lambda x: np.add.outer(x[0], x[1]).sum(),
    lambda x: np.multiply.reduce(x[0]),
    lambda x: np.clip(x, 0.8, 2.0).sum() + abs(-x).sum() + (2**x).sum() + (x // 2).sum(),
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_same_gradient_as_compiled(function: Any) -> None:
    data = np.random.default_rng(0).uniform(0.5, 2.5, (2, 3))
    x = leaf(data)
    y = function(x)
    y.backward()
    with sg.backend("numpy"):
        value, gradient = sg.value_and_grad(function)(data)
    np.testing.assert_allclose(y.detach(), value, rtol=1e-14)
    np.testing.assert_allclose(x.grad, gradient, rtol=1e-13, atol=1e-15)


def as_tensors(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return leaf(value)
    if isinstance(value, (tuple, list)):
        return type(value)(map(as_tensors, value))
    return {k: as_tensors(v) for k, v in value.items()} if isinstance(value, dict) else value


# SciPy's functions that are no universal functions make arrays of what they are given.
COMPOSITES = [
    c for c in registry.composites.values()
    if c.functions and not getattr(c.functions[0], "__module__", "").startswith("scipy.")
]  # fmt: skip
MAPS = [
    op for op in registry.ops.values()
    if op.kind == "map" and op.reason is None and op.functions and op.ufunc is not None
    and sp.Integers not in op.domain
]  # fmt: skip


@pytest.mark.parametrize("record", COMPOSITES, ids=lambda c: c.name)
@pytest.mark.quick
def test_numpy_functions(record: Any) -> None:
    function = record.functions[0]
    samples = samples_of(record, np.random.default_rng(0))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for args, kwargs in itertools.islice(samples, 8):
            try:
                expected = function(*args, **kwargs)
            except (TypeError, ValueError):
                continue  # an option that NumPy's installed version does not have
            try:
                got = function(*as_tensors(args), **as_tensors(kwargs))
            except UnsupportedError as error:
                if "eager tensors are real" in str(error):
                    continue  # Fourier transforms
                raise
            several = isinstance(expected, (tuple, list))
            pairs = zip(expected, got, strict=True) if several else [(expected, got)]
            for want, result in pairs:
                values = result.detach() if isinstance(result, sg.Tensor) else result
                np.testing.assert_allclose(
                    np.asarray(values, float), np.asarray(want, float), rtol=1e-5, atol=1e-7
                )
                if isinstance(result, sg.Tensor) and result.requires_grad:
                    result.sum().backward(retain_graph=True)


@pytest.mark.parametrize("op", MAPS, ids=lambda op: op.name)
def test_elementwise_functions(op: Any) -> None:
    rng = np.random.default_rng(0)
    data = [
        np.round(x) if domain.is_subset(sp.Integers) else x
        for x, domain in zip(
            (rng.uniform(*pair, (2, 3)) for pair in Evidence.of(op).samples), op.domain, strict=True
        )
    ]
    tensors = list(map(leaf, data))
    result = op.functions[0](*tensors)
    expected = op.functions[0](*data)
    if op.evaluate is op.functions[0]:
        np.testing.assert_array_equal(result.detach(), expected)
    else:  # closer to the exact value than SciPy's, which is far off close to a zero of Y
        np.testing.assert_allclose(result.detach(), expected, rtol=1e-12, atol=1e-14)
    if not result.requires_grad:
        return
    result.sum().backward()
    with sg.backend("numpy"):
        slopes = sg.grad(lambda *xs: np.sum(op(*xs)), tuple(range(len(data))))(*data)
    for tensor, slope in zip(tensors, slopes, strict=True):
        np.testing.assert_allclose(tensor.grad, slope, rtol=1e-12, atol=1e-14)


def test_float32_stays() -> None:
    x = sg.tensor([0.5, 2.0], dtype=torch.float32, requires_grad=True)
    y = (x**2 / 3 + 2.0 * np.tanh(x)).sum()
    assert y.dtype == np.float32
    y.backward()
    assert x.grad.dtype == np.float32
    np.testing.assert_allclose(x.grad, 2 * x.detach() / 3 + 2 / np.cosh(x.detach()) ** 2, 1e-6)


def test_boolean_index() -> None:
    x = leaf([1.0, 2.0, 3.0])
    (x[x > 1.5] ** 2).sum().backward()
    assert x.grad.tolist() == [0.0, 4.0, 6.0]
    assert x[sg.tensor([2, 0])].tolist() == [3.0, 1.0]


def test_functions_without_derivative() -> None:
    x = sg.tensor([3.0, 1.0, 2.0])
    assert np.sort(x).tolist() == [1.0, 2.0, 3.0]
    assert np.allclose(x, x) is True
    assert np.array_equal(leaf([1.0]), leaf([1.0])) is True
    with pytest.raises(UnsupportedError, match="unique"):
        np.unique(leaf([3.0, 1.0]))
    with pytest.raises(UnsupportedError, match="out="):
        np.add(leaf(1.0), 1.0, out=np.zeros(()))


def test_tensor_in_a_traced_function_is_a_constant() -> None:
    w = sg.tensor([1.0, 2.0])
    with sg.backend("numpy"):
        gradient = sg.grad(lambda x: np.sum(w * x * x) + (x * w).sum())(np.ones(2))
    np.testing.assert_array_equal(gradient, [3.0, 6.0])


@pytest.mark.parametrize(
    ("torch_way", "numpy_way"),
    [
        (lambda x: x.sum(dim=1), lambda x: x.sum(axis=1)),
        (lambda x: x.mean(1, keepdim=True), lambda x: x.mean(axis=1, keepdims=True)),
        (lambda x: torch.max(x, dim=0).values, lambda x: np.max(x, axis=0)),
        (lambda x: torch.cat([x, x], dim=1), lambda x: np.concatenate([x, x], axis=1)),
        (lambda x: torch.logsumexp(x, dim=1), lambda x: np.log(np.sum(np.exp(x), axis=1))),
        (lambda x: x.softmax(dim=1), lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True)),
        (lambda x: torch.sigmoid(x), lambda x: 1 / (1 + np.exp(-x))),
        (lambda x: torch.matmul(x, x.T), lambda x: x @ x.T),
        (lambda x: x.view(3, -1).cumsum(dim=0), lambda x: np.cumsum(x.reshape(3, 2), axis=0)),
        (lambda x: torch.relu(x - 1), lambda x: np.maximum(x - 1, 0)),
    ],
)
def test_torch_names(torch_way: Any, numpy_way: Any) -> None:
    data = np.random.default_rng(1).normal(size=(2, 3))
    np.testing.assert_allclose(torch_way(sg.tensor(data)), numpy_way(data), rtol=1e-13)
    x, z = leaf(data), leaf(data)
    (torch_way(x) ** 2).sum().backward()
    (numpy_way(z) ** 2).sum().backward()
    np.testing.assert_allclose(x.grad, z.grad, rtol=1e-12, atol=1e-14)


def test_creation() -> None:
    torch.manual_seed(1)
    first = torch.randn(2, 3), torch.rand((4,))
    torch.manual_seed(1)
    for a, b in zip(first, (torch.randn(2, 3), torch.rand((4,))), strict=True):
        np.testing.assert_array_equal(a, b)
    assert torch.zeros(2, requires_grad=True).requires_grad
    assert torch.full((2, 2), 1.5).tolist() == [[1.5, 1.5]] * 2
    assert torch.ones_like(torch.arange(2)).dtype == np.int64
    with pytest.raises(ShapeError):
        torch.zeros(-1)


# ---------------------------------------------------------------- backward


def test_errors_before_anything_is_done() -> None:
    x = leaf([1.0, 2.0])
    y = x * x
    for call, message in (
        (lambda: y.backward(), "only for scalar outputs"),
        (lambda: y.backward(torch.ones(3)), "Mismatch in shape"),
        (lambda: torch.ones(1).backward(), "does not require grad"),
        (lambda: y.backward(np.array(["a", "b"])), "real"),
    ):
        with pytest.raises(RuntimeError, match=message):
            call()
        assert x.grad is None


def test_failing_backward_changes_nothing() -> None:
    x, z = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    first = x * z
    first.backward(torch.ones(2))
    before = x.grad.tolist(), z.grad.tolist()
    fresh = x**2 + first  # half of its graph is freed
    with pytest.raises(BackwardError, match="second time"):
        fresh.backward(torch.ones(2))
    assert (x.grad.tolist(), z.grad.tolist()) == before

    y = x * z
    y.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        (y + x).backward(torch.ones(2))
    assert (x.grad.tolist(), z.grad.tolist()) == before


def test_gradients_do_not_share_memory() -> None:
    x, y = leaf([1.0]), leaf([1.0])
    weight = torch.ones(1)
    (x + y).backward(weight)
    x.grad.zero_()
    weight.zero_()
    assert y.grad.tolist() == [1.0]


def test_only_leaves_keep_gradients() -> None:
    x = leaf(2.0)
    y = x * x
    z = y * y
    z.backward(retain_graph=True)
    assert y.grad is None
    y.retain_grad()
    x.grad = None
    z.backward()
    assert (x.grad.item(), y.grad.item()) == (32.0, 8.0)
    with pytest.raises(BackwardError):
        torch.ones(1).retain_grad()


def test_no_grad_and_detach() -> None:
    x = leaf(2.0)
    with sg.no_grad():
        assert not (x * x).requires_grad
        with torch.enable_grad():
            assert (x * x).requires_grad
    assert torch.is_grad_enabled()
    assert not x.detach().requires_grad
    (x * (x * x).detach()).backward()
    assert x.grad.item() == 4.0

    @sg.no_grad()
    def decorated() -> Any:
        return x * x

    assert decorated().is_leaf


def test_hooks() -> None:
    x = leaf(2.0)
    y = x * 3
    seen: list[float] = []
    handle = y.register_hook(lambda g: seen.append(g.item()))
    y.register_hook(lambda g: 10 * g)
    x.register_hook(lambda g: g + 1)
    (y * y).backward(retain_graph=True)
    assert seen == [12.0]
    assert x.grad.item() == 12.0 * 10 * 3 + 1
    handle.remove()
    (y * y).backward()
    assert seen == [12.0]
    with pytest.raises(BackwardError, match="hook"):
        torch.ones(1).register_hook(print)


def test_higher_derivatives() -> None:
    x = leaf(0.7)
    y = np.exp(np.sin(x)) * x**3
    derivatives = []
    for _ in range(3):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        derivatives.append(y.item())
    f = lambda v: np.exp(np.sin(v)) * v**3  # noqa: E731
    with sg.backend("numpy"):
        expected = [
            sg.grad(f)(0.7),
            sg.grad(sg.grad(f))(0.7),
            sg.grad(sg.grad(sg.grad(f)))(0.7),
        ]
    np.testing.assert_allclose(derivatives, expected, rtol=1e-13)
    assert x.grad is None


def test_create_graph_writes_differentiable_gradients() -> None:
    x = leaf([1.0, 2.0])
    (x**3).sum().backward(create_graph=True)
    assert x.grad.requires_grad
    penalty = (x.grad**2).sum()  # 9 x^4
    x.grad = None
    penalty.backward()
    np.testing.assert_allclose(x.grad, [36.0, 288.0])


def test_autograd_grad() -> None:
    x, y = leaf(2.0), leaf(3.0)
    z = x * y
    out = z * z
    assert [g.item() for g in torch.autograd.grad(out, [x, z], retain_graph=True)] == [36.0, 12.0]
    assert torch.autograd.grad(out, [x, leaf(1.0)], retain_graph=True, allow_unused=True)[1] is None
    with pytest.raises(BackwardError, match="allow_unused"):
        torch.autograd.grad(out, leaf(1.0), retain_graph=True)
    vector = torch.stack([x, y]) * 2
    (g,) = torch.autograd.grad(vector, x, grad_outputs=sg.tensor([5.0, 7.0]))
    assert g.item() == 10.0
    assert x.grad is None


def test_row_by_row_jacobian() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x[::-1] * x
    rows = []
    for k in range(3):
        one_hot = torch.zeros(3)
        one_hot[k] = 1.0
        x.grad = None
        y.backward(one_hot, retain_graph=True)
        rows.append(x.grad.numpy())
    with sg.backend("numpy"):
        expected = sg.jacobian(lambda v: v[::-1] * v)(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(rows, expected)


# ---------------------------------------------------------------- writing in place


def test_overwritten_values_are_detected() -> None:
    x = leaf([1.0, 2.0])
    writes = (
        lambda t: t.add_(1.0),
        lambda t: t.__setitem__(0, 5.0),
        lambda t: t.zero_(),
        lambda t: t.detach().mul_(2.0),
        lambda t: t.data.fill_(0.0),
        lambda t: t[0:1].detach().copy_(torch.ones(1)),
    )
    for write in writes:
        y = np.exp(x)  # its rule reads the result
        write(y)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            (y * 1.0).sum().backward() if y.grad_fn.name() == "ExpBackward0" else y.sum().backward()
        assert x.grad is None
        y = x * 2
        z = y * y  # its rule reads an operand
        write(y)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.sum().backward()
        assert x.grad is None


def test_harmless_writes_are_allowed() -> None:
    x = leaf([1.0, 2.0])
    y = x * 3
    z = y + 1  # reads neither operand
    with sg.no_grad():
        y.add_(1.0)
    z.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_recorded_writes() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 2
    y *= x
    y += 1
    y[1:] = x[0] * torch.ones(2)
    y.sum().backward()
    assert y.tolist() == [3.0, 1.0, 1.0]
    assert x.grad.tolist() == [4.0 + 2.0, 0.0, 0.0]
    buffer = torch.zeros(3)
    buffer[[0, 0, 2]] = leaf([1.0, 2.0, 3.0])  # the last write to a place counts
    assert buffer.requires_grad
    assert buffer.tolist() == [2.0, 0.0, 3.0]


def test_leaves_are_not_written_to() -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match="leaf"):
        x += 1
    view = x[0:1]
    with pytest.raises(RuntimeError, match="view of a leaf"):
        view.mul_(2.0)
    with sg.no_grad():
        x -= 1.0
    assert x.tolist() == [0.0, 1.0]
    assert x.requires_grad


def test_views_of_rewritten_memory_are_refused() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2
    view = y[0:1]
    y *= 3
    with pytest.raises(BackwardError, match="shares memory"):
        view * 1.0
    assert (y[0:1] * 1.0).tolist() == [6.0]


def test_training_step() -> None:
    w = leaf([0.0, 0.0])
    data, target = sg.tensor([[1.0, 2.0], [3.0, 4.0]]), sg.tensor([5.0, 11.0])
    for _ in range(500):
        loss = ((data @ w - target) ** 2).mean()
        loss.backward()
        with sg.no_grad():
            w -= 0.05 * w.grad
        w.grad = None
    np.testing.assert_allclose(w.detach(), [1.0, 2.0], atol=1e-2)


# ---------------------------------------------------------------- the graph


def test_grad_fn_returns_values_or_tuples() -> None:
    x = leaf(2.0)
    assert np.sin(x).grad_fn(sg.tensor(1.0)).item() == np.cos(2.0)
    assert (x / 4).grad_fn(1.0)[1] is None
    product = (x * x).grad_fn
    assert [g.item() for g in product(sg.tensor(1.0))] == [2.0, 2.0]
    assert product.next_functions[0] == product.next_functions[1]
    assert product.where.filename == __file__


def test_backward_order_and_cycles() -> None:
    x = leaf([1.0, 2.0])
    y = (torch.sin(x) + torch.cos(x)).sum()
    assert [[n.name() for n in level] for level in sg.backward_order(y)] == [
        ["SumBackward0"],
        ["AddBackward0"],
        ["CosBackward0", "SinBackward0"],
        ["AccumulateGrad"],
    ]
    sine = y.grad_fn.next_functions[0][0].next_functions[0][0]
    sine.next_functions = ((y.grad_fn, 0),)
    with pytest.raises(CycleError, match=r"SumBackward0 needs|SinBackward0 needs"):
        sg.backward_order(y)
    with pytest.raises(CycleError, match="cycle"):
        y.backward()
    assert x.grad is None


@pytest.mark.slow
def test_long_chain() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y * 1.0
    y.backward()
    assert x.grad.item() == 1.0
    assert len(sg.backward_order(y)) == 100_001
    z = x
    for _ in range(100_000):
        z = np.negative(z)
    del y, z  # freed without recursion, also what never went backward


def test_buffers_are_freed() -> None:
    x = leaf(np.ones(100_000))
    gc.collect()
    tracemalloc.start()
    try:
        y = x
        for _ in range(20):
            y = np.sin(y)
        y = y.sum()
        held = tracemalloc.get_traced_memory()[0]
        y.backward()
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held > 19 * 800_000
    assert after < 3 * 800_000  # the gradient, and what Python keeps for itself


def test_what_no_rule_reads_is_not_held() -> None:
    x = leaf(np.ones(100_000))
    tracemalloc.start()
    try:
        y = x
        for _ in range(20):
            y = y + 1.0
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < 3 * 800_000


def test_arrays_used_as_constants_are_copied() -> None:
    x, factor = leaf([1.0, 2.0]), np.array([3.0, 4.0])
    y = (x * factor).sum()
    factor[:] = 0.0
    y.backward()
    assert x.grad.tolist() == [3.0, 4.0]


# ---------------------------------------------------------------- freezing


def test_program_is_the_same_graph() -> None:
    x = sg.tensor([0.5, 1.5], requires_grad=True, name="x")
    y = sg.tensor(2.0, requires_grad=True)
    z = (np.sin(x) * y + np.array([1.0, 2.0])).sum()
    program = z.program(y=y)
    assert [n.name for n in program.inputs] == ["y", "x"]
    assert [n.op.name for n in program.steps] == ["Sin", "Multiply", "Add", "Sum"]
    assert program(2.0, np.array([0.5, 1.5])) == z.item()
    assert "np.sin(x)" in program.source()
    f = z.as_function(y=y)
    z.backward()
    with sg.backend("numpy"):
        by_y, by_x = sg.grad(f, (0, 1))(2.0, np.array([0.5, 1.5]))
    np.testing.assert_array_equal(by_x, x.grad)
    np.testing.assert_array_equal(by_y, y.grad)
    with pytest.raises(BackwardError, match="freed"):
        z.program()
    with pytest.raises(ArgumentError, match="no leaf"):
        (x * 2).program(y=y)


def test_paths() -> None:
    x, y = leaf(0.5), leaf(2.0)
    out = np.sin(x * y) * x
    found = sg.paths(out, x, x=x, y=y)
    assert found.count == len(list(found)) == 2
    out.backward()
    np.testing.assert_allclose(found.value, x.grad.item(), rtol=1e-15)
    assert found.agrees
    with pytest.raises(ArgumentError, match="2 paths"):
        list(sg.paths(np.sin(x * y) * x, x, limit=1))
    with pytest.raises(ArgumentError, match="no leaf"):
        sg.paths(np.sin(x), y)


def test_paths_are_called_as_the_callers_variables() -> None:
    w1, w2, w3, x1, x2 = (leaf(float(v)) for v in (1, 2, 3, 1, 2))
    out = 1 - (w2 * (w1 * x1) + w3 * (w1 * x2))
    assert str(sg.paths(out, w1).total) == "-w2*x1 - w3*x2"
    assert str(sg.paths(out, w1, b=x1).total) == "-b*w2 - w3*x2"
    named = sg.tensor(2.0, requires_grad=True, name="x1")
    assert str(sg.paths(named * x1, named).total) == "x0"  # x1 is taken
    self = leaf(3.0)
    assert str(sg.paths(self * self, self).total) == "2*self"


def test_paths_of_one_element() -> None:
    a = sg.tensor([0.5, 1.0, 2.0], requires_grad=True)
    out = (np.sin(a) + np.cos(a)).sum()
    found = sg.paths(out, a, index=-1, a=a)
    assert str(found.total) == "-sin(a[2]) + cos(a[2])"
    assert found.agrees
    with pytest.raises(ArgumentError, match="index=0"):
        sg.paths(out, a)
    with pytest.raises(ArgumentError, match="no element 3"):
        sg.paths(out, a, index=3)
    with pytest.raises(ArgumentError, match="select an element"):
        sg.paths(np.sin(a), a, index=0)
    with pytest.raises(UnsupportedError, match="depends on values"):
        sg.paths(np.max(a), a, index=0)
    big = leaf(np.ones(5000))
    with pytest.raises(UnsupportedError, match="5000 elements"):
        sg.paths(big.sum(), big, index=0)


def test_paths_of_a_program() -> None:
    program = sg.compile(lambda x, y: x * y + x).program(1.0, 2.0)
    found = sg.paths(program, "x")
    assert str(found.total) == "y + 1"
    assert found.count == 2
    with pytest.raises(ArgumentError, match="none of the inputs"):
        sg.paths(program, "z")


def test_errors_are_symgrads() -> None:
    for error in (BackwardError, ArgumentError, ShapeError):
        assert issubclass(error, SymgradError)
