"""Ops on tensors: what a call is known to come to is what it comes to: bits, records, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
import symgrad.torch as torch


class General(sg.Tensor):
    """A tensor of another class."""

    __slots__ = ()


def made(cls: type[Any], data: Any) -> Any:
    return cls(np.array(data), requires_grad=True)


OPTIONS: tuple[dict[str, Any], ...] = (
    {}, {"axis": 0}, {"axis": -1}, {"axis": -1, "keepdims": True}, {"keepdims": True},
    {"axis": (0, -1)}, {"axis": 0, "keepdims": False},
)  # fmt: skip


def fold(name: str, options: dict[str, Any]) -> Callable[[Any], Any]:
    return lambda x: getattr(np, name)(x, **options)


FOLDS: dict[str, Callable[[Any], Any]] = {
    f"{name}({', '.join(f'{k}={v}' for k, v in options.items())})": fold(name, options)
    for name in ("sum", "mean", "max", "min")
    for options in OPTIONS
}
METHODS: dict[str, Callable[[Any], Any]] = {
    "sum()": lambda x: x.sum(),
    "sum(0)": lambda x: x.sum(0),
    "sum(dim=1)": lambda x: x.sum(dim=1),
    "sum(1, True)": lambda x: x.sum(1, True),
    "mean(1, keepdim=True)": lambda x: x.mean(1, keepdim=True),
    "mean(keepdim=True)": lambda x: x.mean(keepdim=True),
    "max()": lambda x: x.max(),
    "max(axis=0)": lambda x: x.max(axis=0),
    "max(dim=0)[0]": lambda x: x.max(dim=0)[0],
    "amin(dim=1, keepdim=True)": lambda x: x.amin(dim=1, keepdim=True),
    "sum(dtype=)": lambda x: x.sum(dtype=x.dtype),
}
VIEWS: dict[str, Callable[[Any], Any]] = {
    "[1]": lambda x: x[1],
    "[-1]": lambda x: x[-1],
    "[1, 2]": lambda x: x[1, 2],
    "[1, -2]": lambda x: x[1, -2],
    "[1:]": lambda x: x[1:],
    "[:-1]": lambda x: x[:-1],
    "[::-1]": lambda x: x[::-1],
    "[3:1]": lambda x: x[3:1],
    "[-100:100]": lambda x: x[-100:100],
    "[:]": lambda x: x[:],
    "[...]": lambda x: x[...],
    "[..., 1]": lambda x: x[..., 1],
    "[1, ...]": lambda x: x[1, ...],
    "[:, 1:3]": lambda x: x[:, 1:3],
    "[::2, 3:0:-2]": lambda x: x[::2, 3:0:-2],
    "[1:2, 1]": lambda x: x[1:2, 1],
    "[None]": lambda x: x[None],
    "[:, None, 1]": lambda x: x[:, None, 1],
    "[np.int64]": lambda x: x[np.int64(1)],
    "[array]": lambda x: x[np.array([0, 2])],
    "[array of repeated places]": lambda x: x[np.array([[0, 1, 1], [-1, 0, 1]])],
    "[tensor]": lambda x: x[sg.tensor([1, -1])],
    "[short whole numbers]": lambda x: x[np.array([0, 1], np.int32)],
    "[mask]": lambda x: x[np.arange(x.shape[0]) != 1],
    "[mask of elements]": lambda x: x[x > 0],
    "[empty mask]": lambda x: x[np.zeros(x.shape[0], bool)],
    "[array] of a column": lambda x: x[:, 1][np.array([0, 1, 0])],
    "[array] of products": lambda x: (x * x)[np.array([1, 0, 1])],
    "T": lambda x: x.T,
    "T twice": lambda x: x.T.T,
    "reshape(-1)": lambda x: x.reshape(-1),
    "reshape((2, -1))": lambda x: x.reshape((2, -1)),
    "reshape([-1, 2])": lambda x: x.reshape([-1, 2]),
    "reshape same": lambda x: x.reshape(x.shape),
    "reshape(order='F')": lambda x: x.reshape(-1, order="F"),
    "T.reshape": lambda x: x.T.reshape(-1),
    "view": lambda x: x.view(-1),
    "transpose(0, 1)": lambda x: x.transpose(0, 1),
    "transpose(-1, 0)": lambda x: torch.transpose(x, -1, 0),
    "transpose(1, 1)": lambda x: x.transpose(1, 1),
    "permute": lambda x: x.permute(1, -2),
    "unsqueeze(0)": lambda x: x.unsqueeze(0),
    "unsqueeze(-1)": lambda x: x.unsqueeze(-1),
    "unsqueeze(2) of a view": lambda x: x.T.unsqueeze(2),
    "element of a slice": lambda x: x[1:][0, 2],
}
PRODUCTS: dict[str, Callable[[Any], Any]] = {
    "m @ m.T": lambda x: x @ x.T,
    "m.T @ m": lambda x: x.T @ x,
    "v @ v": lambda x: x[0] @ x[1],
    "v @ v same": lambda x: x[0] @ x[0],
    "m @ v": lambda x: x @ x[1],
    "v @ m": lambda x: x[:, 0] @ x,
    "m.T @ v": lambda x: x.T @ x[:, 1],
    "strided": lambda x: x[::2, ::2] @ x[::2, ::2].T,
    "one row": lambda x: x[:1] @ x.T,
    "one column": lambda x: x[:, :1] @ x[:1],
    "constant on the left": lambda x: sg.tensor(x.detach().numpy().T) @ x,
    "constant on the right": lambda x: x @ sg.tensor(x.detach().numpy().T),
    "array on the left": lambda x: np.cos(x.detach().numpy().T.copy()) @ x,
    "array on the right": lambda x: x @ np.cos(x.detach().numpy().T.copy()),
    "array that lies by columns": lambda x: x @ np.cos(x.detach().numpy()).T,
    "matmul": lambda x: torch.matmul(x, x.T),
    "mm": lambda x: torch.mm(x, x.T),
    "mv": lambda x: torch.mv(x, x[1]),
    "dot": lambda x: torch.dot(x[0], x[1]),
    "bmm": lambda x: torch.bmm(x[None], x.T[None]),
    "exp of a sum": lambda x: np.exp(x @ x.T).sum(0) @ x,
}
RELU: dict[str, Callable[[Any], Any]] = {
    "relu": torch.relu,
    "x.relu()": lambda x: x.relu(),
    "relu of a product": lambda x: torch.relu(x @ x.T) * 2,
    "where": lambda x: torch.where(x > 0, x, x * x),
    "where a number": lambda x: np.where(x.detach() > 0, x, 2),
    "where, the other way": lambda x: torch.where(x.detach().numpy() > 0, 0.5, x) + x,
    "where a constant": lambda x: np.where(x > 0, x, sg.tensor(x.detach().numpy() + 1)),
    "where, broadcast": lambda x: np.where(x[0] > 0, x, x[1]),
    "where of views": lambda x: torch.where((x > 0).T, x.T, x.T * 2) + (x.T).where(x.T > 1, 0.0),
    "where of logarithms": lambda x: torch.where(x > 0, np.sqrt(abs(x)), np.exp(x)).sum(),
    "relu of a number": lambda x: torch.relu(x[0, 0]),
    "relu of an exponential": lambda x: (
        torch.relu(np.exp(x) - 1).sum() + torch.sqrt(torch.relu(x)).sum()
    ),
}
OTHERS: dict[str, Callable[[Any], Any]] = {
    "clone": lambda x: x.clone(),
    "times an array": lambda x: x * np.cos(x.detach().numpy()),
    "an array over it": lambda x: np.cos(x.detach().numpy()) / (x * x + 1),
    "an array of a row": lambda x: x - np.cos(x.detach().numpy())[0],
    "an array of a column": lambda x: np.cos(x.detach().numpy())[:, :1] - x,
    "an array of whole numbers": lambda x: x * np.arange(x.shape[1]),
    "less than an array": lambda x: np.where(x < np.cos(x.detach().numpy()), x, 0.0),
    "squeeze": lambda x: (x[:1] * 1.0).squeeze(),
    "squeeze(-1)": lambda x: torch.squeeze(x[:, :1] * 1.0, -1),
    "squeeze(0) of another size": lambda x: (x * 1.0).squeeze(0),
    "std": lambda x: torch.std(x, dim=1, correction=1),
    "np.std": lambda x: np.std(x, axis=0),
    "var of two axes": lambda x: torch.var(x, axis=(0, 1)),
    "var of all": lambda x: x.var(keepdim=True),
    "flatten": lambda x: x.flatten(),
    "cat": lambda x: torch.cat([x, x[:1]]),
    "cat, dim=-1": lambda x: torch.cat([x, x * 2, x[:, 1:]], dim=-1),
    "cat with a tensor": lambda x: torch.cat([sg.tensor(x.detach().numpy() + 1), x], 1),
    "cat with nothing": lambda x: torch.cat([x, x[:0]]),
    "cat of one": lambda x: torch.cat([x]),
    "cat of views": lambda x: torch.cat([x.T, x.T * 2]),
    "cat with a constant": lambda x: torch.cat([x, np.ones((1, x.shape[1]), x.dtype)]),
    "stack": lambda x: torch.stack([x[0], x[1]], dim=1),
    "softmax": lambda x: torch.softmax(x, dim=1),
    "log_softmax": lambda x: torch.log_softmax(x, dim=-1),
    "logsumexp": lambda x: torch.logsumexp(x, 0),
}
#: What returns the tensor itself.
SAME = ("[:]", "[...]", "[-100:100]", "reshape same", "transpose(1, 1)")
ALL = FOLDS | METHODS | VIEWS | PRODUCTS | RELU | OTHERS


def record(node: Any) -> Any:
    """Return what a record says, from a node on."""
    if node is None or type(node).__name__ == "AccumulateGrad":
        return type(node).__name__
    steps = tuple(record(edge) for edge, _ in node.next_functions)
    return node.name(), tuple(sorted(node.params.items())), node.rule.needs, steps


def bits(x: Any) -> Any:
    data = np.ascontiguousarray(x.detach().numpy())
    return x.shape, x.dtype, data.tobytes()


SHAPES = ((4, 6), (2, 2), (7, 5), (33, 20))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.quick
def test_bits_and_records(name: str, dtype: Any) -> None:
    rng = np.random.default_rng(5)
    for shape in SHAPES if name in PRODUCTS else SHAPES[:1]:
        data = np.round(rng.normal(size=shape), 1).astype(dtype)  # with ties
        short, general = made(sg.Tensor, data), made(General, data)
        for _ in range(2):  # what is found the first time is known the second time
            y, z = ALL[name](short), ALL[name](general)
            assert bits(y) == bits(z)
            assert (y is short) == (z is general)
            assert record(y.grad_fn) == record(z.grad_fn)
            weights = rng.normal(size=y.shape).astype(dtype)
            for t in (y, z):
                t.backward(sg.tensor(weights))
            assert bits(short.grad) == bits(general.grad)
            short.grad = general.grad = None


@pytest.mark.parametrize("name", [*FOLDS, *METHODS, "relu"])
@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -0.0, 0.0])
def test_special_numbers(name: str, value: float) -> None:
    data = np.array([[0.0, -0.0, 1.0], [-0.0, value, value], [-1.0, 0.0, value]])
    for numbers in (data, -data, np.abs(data), np.full((2, 2), value)):
        short, general = made(sg.Tensor, numbers), made(General, numbers)
        y, z = ALL[name](short), ALL[name](general)
        assert bits(y) == bits(z)
        for t in (y, z):
            t.backward(np.ones(t.shape))
        assert np.array_equal(short.grad, general.grad, equal_nan=True)


@pytest.mark.parametrize("name", ALL)
def test_without_a_record(name: str) -> None:
    data = np.random.default_rng(6).normal(size=(4, 6))
    x = made(sg.Tensor, data)
    with sg.no_grad():
        y = ALL[name](x)
    plain = sg.tensor(data)
    z = ALL[name](plain)
    assert bits(y) == bits(z) == bits(ALL[name](made(General, data)))
    assert not z.requires_grad
    assert y is x or not y.requires_grad


@pytest.mark.parametrize("name", ALL)
def test_derivatives_of_derivatives(name: str) -> None:
    data = np.random.default_rng(7).normal(size=(4, 6))
    found = []
    for cls in (sg.Tensor, General):
        x = made(cls, data)
        (slope,) = torch.autograd.grad((ALL[name](x * x) ** 3).sum(), x, create_graph=True)
        (curve,) = torch.autograd.grad((slope**2).sum(), x)
        found.append((bits(slope), bits(curve)))
    assert found[0] == found[1]


def test_the_users_line_is_noted() -> None:
    x = made(sg.Tensor, np.ones((4, 6)))
    for name, function in ALL.items():
        y = function(x)
        if y is not x and "dtype" not in name:
            lines = []
            node = y.grad_fn
            while type(node).__name__ != "AccumulateGrad":
                lines.append(node.where.filename)
                node = next(n for n, _ in node.next_functions if n is not None)
            assert set(lines) == {__file__}, name


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: x[7], lambda x: x[0, 9], lambda x: x[0, 0, 0], lambda x: x[1.0],
        lambda x: x["a"], lambda x: x[np.array([0, 9])], lambda x: x[np.array([-9, 0])],
        lambda x: x[np.array([True, False])], lambda x: x[np.array([0.5])],
        lambda x: x[1.0:2], lambda x: x[::0], lambda x: x.reshape(5, 5),
        lambda x: x.reshape(-1, -1), lambda x: x.reshape(4.0, 6), lambda x: x.sum(2),
        lambda x: x.sum(dim=0, axis=1),
        lambda x: x.max(axis=7), lambda x: x @ x, lambda x: x[0] @ x[:, 0], lambda x: x @ x[:, 0],
        lambda x: x[:0].max(), lambda x: x[0, 0] @ x, lambda x: x.transpose(0, 2),
        lambda x: x.permute(0, 0), lambda x: x.permute(0), lambda x: x.unsqueeze(4),
        lambda x: torch.dot(x[0], x[:, 0]), lambda x: torch.mm(x, x), lambda x: x.argmax(3),
        lambda x: torch.cat([x, x.T]),
    ],
)  # fmt: skip
def test_errors_come_each_time(wrong: Any) -> None:
    x = made(sg.Tensor, np.ones((4, 6)))
    x[1], x[1:2], x.reshape(4, 6), x.sum(1), x.sum(0)
    messages = []
    for t in (x, made(General, np.ones((4, 6))), x):
        with pytest.raises((ValueError, IndexError, TypeError)) as raised:
            wrong(t)
        messages.append((type(raised.value), str(raised.value)))
    assert messages[0] == messages[1] == messages[2]


@pytest.mark.parametrize("function", [torch.argmax, torch.argmin, torch.any, torch.all])
@pytest.mark.parametrize("options", [{}, {"dim": 0}, {"axis": -1}, {"dim": 1, "keepdim": True}])
def test_reductions_without_a_derivative(function: Any, options: Any) -> None:
    data = np.random.default_rng(6).integers(-1, 2, (4, 6)).astype(float)
    y, z = (function(made(cls, data), **options) for cls in (sg.Tensor, General))
    assert bits(y) == bits(z)
    assert not y.requires_grad


def test_bounds_that_are_tensors_are_read_each_time() -> None:
    x, n = made(sg.Tensor, np.arange(6.0)), sg.tensor(2)
    for k in range(2, 5):
        assert x[:n].shape == (k,)
        n += 1


def test_a_condition_that_is_overwritten() -> None:
    x = made(sg.Tensor, [1.0, 2.0])
    truth = np.array([True, False])
    y = np.where(truth, x, 0.0)
    truth[:] = False  # an array was copied
    y.sum().backward()
    assert np.array_equal(x.grad, [1.0, 0.0])
    condition = sg.tensor([True, False])
    y = np.where(condition, x, 0.0)
    condition[0] = False
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_arrays_are_copied_where_they_are_read() -> None:
    x, array = made(sg.Tensor, np.ones((4, 4))), np.full((4, 4), 2.0)
    y = (x * array).sum() + (array @ x).sum()
    array[...] = 100.0
    y.backward()
    assert np.array_equal(x.grad, np.full((4, 4), 10.0))


def test_views_share_memory() -> None:
    x = sg.tensor(np.arange(24.0).reshape(4, 6))
    for view in (x[1], x[1:3], x[1, 2], x[..., 0], x.T, x.reshape(-1)):
        assert np.shares_memory(view.numpy(), x.numpy())
    x[1, 2].fill_(-1.0)
    element = x[3, 3]
    element += 1.0
    assert x[1, 2].item() == -1.0
    assert x[3, 3].item() == 22.0


@pytest.mark.parametrize("name", [n for n in VIEWS if n not in SAME])
def test_writes_into_views_of_leaves_are_refused(name: str) -> None:
    x = made(sg.Tensor, np.ones((4, 6)))
    view = VIEWS[name](x)
    if np.shares_memory(view.detach().numpy(), x.detach().numpy()):
        with pytest.raises(RuntimeError, match="view of a leaf"):
            view += 1.0


READ: dict[str, Callable[[Any], Any]] = {
    "max": lambda x: x.max(),
    "max along": lambda x: x.max(axis=0),
    "max keeping": lambda x: x.amax(dim=0, keepdim=True),
    "product": lambda x: x @ x.T,
    "vectors": lambda x: x[0] @ x[1],
}


@pytest.mark.parametrize("name", READ)
def test_what_is_read_must_not_be_overwritten(name: str) -> None:
    x = made(sg.Tensor, np.random.default_rng(8).normal(size=(4, 6)))
    y = x * 1.0
    z = READ[name](y).sum()
    y.detach()[...] = 0.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()
    y = x * 1.0
    z = READ[name](y)
    total = z.sum()
    z.detach()[...] = 0.0
    if "max" in name:  # its rule reads the result
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            total.backward()
    else:
        total.backward()


def test_what_is_not_read_may_be_overwritten() -> None:
    x = made(sg.Tensor, np.ones((4, 6)))
    constant = sg.tensor(np.ones((6, 2)))
    y = x * 2.0
    z = (y @ constant).sum() + y.sum() + y[1, 2] + y.reshape(-1)[3] + y.T[0, 0] + y.mean()
    y.detach()[...] = 0.0  # the products' rule reads the constant alone
    z.backward()
    assert x.grad.shape == (4, 6)


def test_memory_that_a_recorded_write_changed() -> None:
    x = made(sg.Tensor, np.ones((4, 6)))
    for name, function in ALL.items():
        if name not in SAME and name[0] != "c":
            y = x * 2.0
            y[1:].mul_(3.0)  # y's own record is no longer right
            with pytest.raises(RuntimeError, match="shares memory with a view"):
                function(y)


# ---------------------------------------------------------------- memory


@pytest.mark.parametrize("function", [np.sum, np.max, torch.mean, torch.amin])
def test_a_reduction_of_a_number_has_memory_of_its_own(function: Any) -> None:
    x = sg.tensor(2.0)
    y = function(x)
    y += 1.0
    assert x.item() == 2.0
    assert y.item() == 3.0


def test_a_leaf_added_to_its_own_memory() -> None:
    x = made(sg.Tensor, [1.0, 2.0])
    y = x.detach()
    y.add_(x)
    y.sum().backward()
    assert np.array_equal(x.grad, [1.0, 1.0])
    assert np.array_equal(x.detach(), [2.0, 4.0])


@pytest.mark.parametrize("name", [*FOLDS, *METHODS])
def test_how_an_array_lies_does_not_matter(name: str) -> None:
    data = np.random.default_rng(9).normal(size=(24, 8))
    expected = ALL[name](sg.tensor(np.ascontiguousarray(data[::3, ::2])))
    for given in (data[::3, ::2], np.asfortranarray(data[::3, ::2])):
        assert bits(ALL[name](torch.from_numpy(given))) == bits(expected)


def test_elementwise_results_lie_by_rows() -> None:
    given = np.asfortranarray(np.random.default_rng(9).normal(size=(24, 8)))
    assert torch.exp(torch.from_numpy(given)).numpy().flags.c_contiguous
    assert bits(torch.exp(torch.from_numpy(given[::2]))) == bits(
        torch.exp(sg.tensor(given[::2].copy("C")))
    )


# ---------------------------------------------------------------- whole numbers, truth values, nan


@pytest.mark.parametrize(
    ("call", "want"),
    [
        ("torch.reciprocal(i)", [0.5, -0.25, 1.0]),
        ("torch.relu(i)", [2, 0, 1]),
        ("torch.masked_fill(i, i > 1, 9)", [9, -4, 1]),
        ("torch.masked_fill(x, i > 1, 9)", [9.0, np.nan, 3.0]),
        ("i.median()", 1),
        ("torch.exp(i > 1)", np.float32([np.e, 1.0, 1.0])),
        ("torch.sqrt(u)", np.sqrt(np.float32([3, 200, 5]))),
        ("torch.hypot(u, i > 1)", np.hypot(np.float32([3, 200, 5]), np.float32([1, 0, 0]))),
        ("torch.argsort(u, descending=True)", [1, 2, 0]),
        ("torch.argsort(i > 1, descending=True)", [0, 1, 2]),
        ("torch.argsort(x, descending=True)", [1, 2, 0]),
        ("torch.topk(x, 2).values", [np.nan, 3.0]),
        ("torch.norm(i * 1.0, 0)", 3.0),
        ("x[[0, 2]].std(False)", 0.5),
        ("x[[0, 2]].var(True)", 0.5),
        ("x[0].squeeze(0)", 2.0),
    ],
)
def test_what_pytorch_gives_where_numpy_does_not(call: str, want: Any) -> None:
    names = {
        "i": torch.tensor([2, -4, 1]),
        "u": torch.tensor(np.array([3, 200, 5], np.uint8)),
        "x": torch.tensor([2.0, np.nan, 3.0]),
    }
    found = eval(call, {"torch": torch, **names}).numpy()
    assert found.dtype == np.asarray(want).dtype
    np.testing.assert_allclose(found, want, rtol=1e-6)
