"""PyTorch's functions and methods: values on arrays, gradients as compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
import symgrad.torch as torch
from symgrad.errors import ArgumentError, BackwardError, ShapeError, UnsupportedError

A = np.array([[3.0, 1.0, 2.0], [0.5, 5.0, 4.0]])
SQUARE = np.array([[3.0, 1.0], [2.0, 4.0]])
PLACES = np.array([[2, 0], [1, 1]])


def leaf(data: Any) -> Any:
    return sg.tensor(data, requires_grad=True)


#: Each function by PyTorch's arguments, on an array, and what PyTorch 2.13 gives for it.
FUNCTIONS: dict[str, tuple[Any, Callable[[Any], Any], Any]] = {
    "reshape": (A, lambda x: torch.reshape(x, (3, -1)), [[3, 1], [2, 0.5], [5, 4]]),
    "flatten": (A[None], lambda x: torch.flatten(x, 1), [[3, 1, 2, 0.5, 5, 4]]),
    "squeeze": (A[None], lambda x: torch.squeeze(x, 1), A[None]),
    "unsqueeze": (A, lambda x: torch.unsqueeze(x, -1), A[..., None]),
    "transpose": (A, lambda x: torch.transpose(x, 0, 1), A.T),
    "permute": (A[None], lambda x: torch.permute(x, 2, 0, 1), A.T[:, None]),
    "movedim": (A[None], lambda x: torch.movedim(x, 0, 2), A[..., None]),
    "broadcast_to": (A[0], lambda x: torch.broadcast_to(x, (2, 3)), [A[0], A[0]]),
    "flip": (A, lambda x: torch.flip(x, (0, 1)), [[4, 5, 0.5], [2, 1, 3]]),
    "roll": (A, lambda x: torch.roll(x, 1, 1), [[2, 3, 1], [4, 0.5, 5]]),
    "tile": (A[0], lambda x: torch.tile(x, (2,)), [3, 1, 2, 3, 1, 2]),
    "repeat_interleave": (A[0], lambda x: torch.repeat_interleave(x, 2), [3, 3, 1, 1, 2, 2]),
    "split": (A, lambda x: torch.split(x, [1, 2], dim=1)[1], [[1, 2], [5, 4]]),
    "chunk": (A, lambda x: torch.chunk(x, 2, dim=1)[1], [[2], [4]]),
    "unbind": (A, lambda x: torch.unbind(x, 1)[2], [2, 4]),
    "tril": (SQUARE, torch.tril, [[3, 0], [2, 4]]),
    "triu": (SQUARE, lambda x: torch.triu(x, 1), [[0, 1], [0, 0]]),
    "diag": (SQUARE, torch.diag, [3, 4]),
    "gather": (A, lambda x: torch.gather(x, 1, PLACES), [[2, 3], [5, 5]]),
    "index_select": (A, lambda x: torch.index_select(x, 1, np.array([2, 0])), [[2, 3], [4, 0.5]]),
    "masked_fill": (A, lambda x: torch.masked_fill(x, x > 2.5, 0.0), [[0, 1, 2], [0.5, 0, 0]]),
    "masked_select": (A, lambda x: torch.masked_select(x, A > 2.5), [3, 5, 4]),
    "argsort": (A, lambda x: torch.argsort(x, 1, True), [[0, 2, 1], [1, 2, 0]]),
    "sort": (A, lambda x: torch.sort(x, 0, descending=True).values, [[3, 5, 4], [0.5, 1, 2]]),
    "topk": (A, lambda x: torch.topk(x, 2).values, [[3, 2], [5, 4]]),
    "mm": (SQUARE, lambda x: torch.mm(x, x), [[11, 7], [14, 18]]),
    "mv": (SQUARE, lambda x: torch.mv(x, x[0]), [10, 10]),
    "bmm": (SQUARE[None], lambda x: torch.bmm(x, x), [[[11, 7], [14, 18]]]),
    "outer": (SQUARE, lambda x: torch.outer(x[0], x[1]), [[6, 12], [2, 4]]),
    "einsum": (SQUARE, lambda x: torch.einsum("ij,kj->ik", x, x), [[10, 10], [10, 20]]),
    "trace": (SQUARE, torch.trace, 7.0),
    "det": (SQUARE, torch.det, 10.0),
    "inverse": (SQUARE, torch.inverse, [[0.4, -0.1], [-0.2, 0.3]]),
    "norm": (A, lambda x: torch.norm(x, 3, dim=1), [36.0 ** (1 / 3), 189.125 ** (1 / 3)]),
    "amax": (A, lambda x: torch.amax(x, 1), [3, 5]),
    "amin": (A, lambda x: torch.amin(x, (0, 1)), 0.5),
    "cumprod": (A, lambda x: torch.cumprod(x, 1), [[3, 3, 6], [0.5, 2.5, 10]]),
    "count_nonzero": (A, lambda x: torch.count_nonzero(x, 1), [3, 3]),
    "numel": (A, torch.numel, 6),
    "rsqrt": (A[1:, 2:], torch.rsqrt, [[0.5]]),
    "round": (A, lambda x: torch.round(x), [[3, 1, 2], [0, 5, 4]]),
    "isclose": (A[0], lambda x: torch.isclose(x, A[0] + 1e-9), [True] * 3),
    "allclose": (A, lambda x: torch.allclose(x, A + 1e-9), True),
    "equal": (A, lambda x: torch.equal(x, A + 1e-9), False),
    "nan_to_num": (A[0], lambda x: torch.nan_to_num(x * np.array([1, np.nan, 1])), [3, 0, 2]),
    "hstack": (A, lambda x: torch.hstack([x[0], x[1]]), [3, 1, 2, 0.5, 5, 4]),
    "narrow": (A, lambda x: torch.narrow(x, 1, 1, 2), [[1, 2], [5, 4]]),
    "select": (A, lambda x: torch.select(x, 1, 0), [3, 0.5]),
    "diff": (A, lambda x: torch.diff(x), [[-2, 1], [4.5, -1]]),
    "nonzero": (A[0] - 1, torch.nonzero, [[0], [2]]),
    "cross": (A, lambda x: torch.cross(x[0], x[1]), [-6, -11, 14.5]),
    "kron": (SQUARE, lambda x: torch.kron(x[:1], x[:, 0]), [[9, 6, 3, 2]]),
    "tensordot": (SQUARE, lambda x: torch.tensordot(x, x, dims=2), 30.0),
    "lerp": (SQUARE, lambda x: torch.lerp(x[0], x[1], 0.25), [2.75, 1.75]),
    "frac": (SQUARE, lambda x: torch.frac(-x / 2), [[-0.5, -0.5], [0, 0]]),
    "meshgrid": (SQUARE, lambda x: torch.meshgrid(x[0], x[1])[0], [[3, 3], [1, 1]]),
    "addcmul": (A, lambda x: torch.addcmul(x[0], x[0], x[1], value=2), [6, 11, 18]),
    "addcdiv": (A, lambda x: torch.addcdiv(x[1], x[0], x[1]), [6.5, 5.2, 4.5]),
    "cov": (A, lambda x: torch.cov(x), [[1, -2.25], [-2.25, 67 / 12]]),
    "corrcoef": (
        A,
        lambda x: torch.corrcoef(x),
        [[1, -0.9522165814091078], [-0.9522165814091078, 1]],
    ),
    "median": (A, lambda x: torch.median(x, 0).values + torch.median(x), [2.5, 3, 4]),
    "vstack": (A, lambda x: torch.vstack([x[1], x[0]]), A[::-1]),
    "cat": (A, lambda x: torch.cat([x, x[:1]]), [A[0], A[1], A[0]]),
    "stack": (A, lambda x: torch.stack([x[0], x[1]], dim=1), A.T),
    "where": (A, lambda x: torch.where(x > 2.5, x, 0.0), [[3, 0, 0], [0, 5, 4]]),
    "matmul": (SQUARE, lambda x: torch.matmul(x, x), [[11, 7], [14, 18]]),
    "dot": (SQUARE, lambda x: torch.dot(x[0], x[1]), 10.0),
    "cdist": (A, lambda x: torch.cdist(x, x[:, ::-1] + 1.0, 1.0), [[3, 7.5], [5.5, 8]]),
}

#: Those of torch.linalg, on a square matrix, and NumPy's results.
LINALG: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "cholesky": (lambda x: torch.linalg.cholesky(x @ x.mT), np.linalg.cholesky(SQUARE @ SQUARE.T)),
    "cross": (
        lambda x: torch.linalg.cross(x[:, [0, 1, 1]], x[:, [1, 0, 0]]),
        np.cross(SQUARE[:, [0, 1, 1]], SQUARE[:, [1, 0, 0]]),
    ),
    "det": (torch.linalg.det, 10.0),
    "eigh": (
        lambda x: torch.linalg.eigh(x @ x.mT).eigenvalues,
        np.linalg.eigvalsh(SQUARE @ SQUARE.T),
    ),
    "eigvalsh": (lambda x: torch.linalg.eigvalsh(x @ x.mT), np.linalg.eigvalsh(SQUARE @ SQUARE.T)),
    "inv": (torch.linalg.inv, np.linalg.inv(SQUARE)),
    "matmul": (lambda x: torch.linalg.matmul(x, x), SQUARE @ SQUARE),
    "matrix_norm": (torch.linalg.matrix_norm, np.linalg.norm(SQUARE)),
    "matrix_power": (lambda x: torch.linalg.matrix_power(x, 3), SQUARE @ SQUARE @ SQUARE),
    "multi_dot": (lambda x: torch.linalg.multi_dot([x, x, x]), SQUARE @ SQUARE @ SQUARE),
    "norm": (lambda x: torch.linalg.norm(x, 1), 5.0),
    "pinv": (torch.linalg.pinv, np.linalg.inv(SQUARE)),
    "qr": (lambda x: torch.abs(torch.linalg.qr(x).R), np.abs(np.linalg.qr(SQUARE).R)),
    "slogdet": (lambda x: torch.linalg.slogdet(x).logabsdet, np.log(10.0)),
    "solve": (lambda x: torch.linalg.solve(x, x[:1], left=False), [[1.0, 0.0]]),
    "svd": (lambda x: torch.linalg.svd(x).S, np.linalg.svd(SQUARE).S),
    "svdvals": (torch.linalg.svdvals, np.linalg.svd(SQUARE).S),
    "vecdot": (lambda x: torch.linalg.vecdot(x, x), [10.0, 20.0]),
    "vector_norm": (lambda x: torch.linalg.vector_norm(x, 1, dim=0), [5.0, 5.0]),
}


def test_every_function_is_here() -> None:
    """Elementwise functions and reductions have tests of their own, in test_tensor_ops.py."""
    homes = {n: getattr(getattr(torch, n), "__module__", "") for n in torch.__all__}
    assert set(FUNCTIONS) >= {n for n, m in homes.items() if m.endswith(("_algebra", "_arrange"))}


def test_every_function_of_linalg_is_here() -> None:
    assert LINALG.keys() == {*torch.linalg.__all__}
    with pytest.raises(AttributeError, match=r"'matrix_exp'.*Write instead: scipy\.linalg\.expm"):
        _ = torch.linalg.matrix_exp
    with pytest.raises(AttributeError, match=r"'some_function'.*np\.exp\(x\)"):
        _ = torch.some_function


@pytest.mark.parametrize("name", LINALG)
def test_functions_of_linalg(name: str) -> None:
    function, expected = LINALG[name]
    x = leaf(SQUARE)
    made = function(x)
    assert np.allclose(made.detach(), expected, rtol=1e-13)
    assert np.allclose(function(SQUARE), expected, rtol=1e-13)
    weights = np.cos(np.arange(made.numel())).reshape(made.shape)
    made.backward(sg.tensor(weights))
    step = 1e-6
    for place in np.ndindex(2, 2):
        shift = np.zeros((2, 2))
        shift[place] = step
        change = np.sum(weights * (function(SQUARE + shift) - function(SQUARE - shift)))
        np.testing.assert_allclose(x.grad[place], change / (2 * step), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    array, function, expected = FUNCTIONS[name]
    x = leaf(array)
    made = function(x)
    found = made.detach() if isinstance(made, sg.Tensor) else made
    assert np.allclose(found, expected, rtol=1e-14)
    assert np.shape(found) == np.shape(expected)
    # On arrays it is NumPy's function.
    assert np.allclose(function(array), found, rtol=1e-15)
    if isinstance(made, sg.Tensor) and made.requires_grad:
        weights = np.cos(np.arange(made.numel())).reshape(made.shape)
        made.backward(sg.tensor(weights))
        compiled = sg.grad(lambda x: np.sum(function(x) * weights))(array)
        assert np.allclose(x.grad, compiled, rtol=1e-13)


def test_methods_by_both_libraries_arguments() -> None:
    t = sg.tensor(A)
    same = np.array_equal
    assert same(t.transpose(0, 1), A.T)
    assert same(t.transpose((0, 1)), A)
    assert same(t.transpose(), A.T)
    assert same(t[None].transpose(0, 2), A[None].swapaxes(0, 2))
    assert same(t[None].transpose(2, 0, 1), A[None].transpose(2, 0, 1))
    assert same(t.permute(1, 0), A.T)
    assert same(t.t(), A.T)
    assert t.size == 6
    assert np.size(t) == 6
    assert t.size() == (2, 3)
    assert t.size(-1) == 3
    assert (t.dim(), t.numel(), t.nelement(), t.ndimension()) == (2, 6, 6, 2)
    assert t[None].squeeze(0).shape == t[None].squeeze(axis=0).shape == (2, 3)
    assert t.squeeze(0).shape == (2, 3)
    assert t[None].flatten(1).shape == (1, 6)
    assert same(t.flatten("F"), A.flatten("F"))
    assert same(t.flatten(), A.flatten())
    assert same(t[0].expand(2, -1), [A[0], A[0]])
    assert same(t[0].expand_as(t), [A[0], A[0]])
    assert same(t.view_as(t.T), A.reshape(3, 2))
    assert same(t.sort(1).values, np.sort(A, 1))
    assert same(t.argsort(axis=0), np.argsort(A, 0))
    assert same(t.round(0), np.round(A))
    assert same(t.unsqueeze(1).shape, (2, 1, 3))
    assert same(t.gather(1, sg.tensor(PLACES)), np.take_along_axis(A, PLACES, 1))
    assert same(t.index_select(0, sg.tensor([1])), A[1:])
    assert same(t.gt(2.0), A > 2)
    assert same(t.eq(t), A == A)
    assert same(t.masked_fill(t > 2, 0.0), np.where(A > 2, 0, A))
    assert np.isclose(t.norm().item(), np.linalg.norm(A))
    assert np.isclose(t.std().item(), np.std(A, ddof=1))
    assert np.isclose(torch.var(t, 0)[1].item(), np.var(A[:, 1], ddof=1))
    assert np.isclose(t.var(axis=0)[1].item(), np.var(A[:, 1]))
    assert np.isclose(np.std(t).item(), np.std(A))
    assert np.isclose(torch.var(t, 0, unbiased=False)[0].item(), np.var(A[:, 0]))
    assert t.allclose(t + 1e-12)
    assert same(t.where(t > 2, 0.0), np.where(A > 2, A, 0))
    assert same(t.clamp_min(2).clamp_max(3), np.clip(A, 2, 3))
    assert same(t.add(t, alpha=2), A + 2 * A)
    assert same(torch.sub(t, 1.0, alpha=3), A - 3)
    assert t.nonzero().shape == (6, 2)
    assert t.equal(t)


def test_types_and_devices() -> None:
    x = leaf([1.5, 0.0])
    assert x.float().dtype == x.to(torch.float32).dtype == x.to("float32").dtype == np.float32
    assert x.double() is x
    assert x.to("cpu") is x
    assert x.to(device="cpu", dtype=torch.double) is x
    assert x.cpu() is x
    assert x.device == "cpu"
    assert (x.long().dtype, x.int().dtype, x.bool().tolist()) == (np.int64, np.int32, [True, False])
    assert x.type_as(x.float()).dtype == x.to(x.float()).dtype == np.float32
    x.float().sum().backward()
    assert x.grad.dtype == np.float64
    assert (torch.bool, torch.float, torch.long) == (np.bool_, np.float32, np.int64)
    assert x.is_floating_point()
    assert not x.T.is_contiguous() or x.contiguous() is x
    for moved in (x.cuda, lambda: x.to("cuda:0"), x.half):
        with pytest.raises(UnsupportedError):
            moved()


@pytest.mark.parametrize(
    ("name", "args"),
    [("exp", ()), ("sqrt", ()), ("neg", ()), ("abs", ()), ("square", ()), ("reciprocal", ()),
     ("tanh", ()), ("sigmoid", ()), ("relu", ()), ("clamp", (0.2, 0.8)), ("sin", ()),
     ("cos", ()), ("log", ()), ("masked_fill", (np.array([True, False]), 7.0))],
)  # fmt: skip
def test_methods_in_place(name: str, args: Any) -> None:
    start = [0.5, 1.5]
    expected = getattr(sg.tensor(start), name)(*args)
    plain = sg.tensor(start)
    assert getattr(plain, f"{name}_")(*args) is plain
    assert np.array_equal(plain, expected)
    x, y = leaf(start), leaf(start)
    written = getattr(x * 1.0, f"{name}_")(*args)
    (written * written).sum().backward()
    other = getattr(y * 1.0, name)(*args)
    (other * other).sum().backward()
    assert np.array_equal(x.grad, y.grad)
    with pytest.raises(BackwardError, match="in-place"):
        getattr(x, f"{name}_")(*args)


def test_creation() -> None:
    x = sg.tensor([[1.0, 2.0]], dtype=torch.float32)
    assert torch.full_like(x, 3.0).tolist() == [[3.0, 3.0]]
    for like in (torch.full_like(x, 1.0), torch.rand_like(x), torch.randn_like(x), x.new_zeros(2)):
        assert like.dtype == np.float32
    assert torch.empty(2, 3).shape == (2, 3)
    torch.manual_seed(1)
    drawn = torch.randint(3, 5, (100,)), torch.randint(2, (100,)), torch.randperm(10)
    assert set(drawn[0].tolist()) == {3, 4}
    assert set(drawn[1].tolist()) == {0, 1}
    assert sorted(drawn[2].tolist()) == list(range(10))
    with pytest.raises(ArgumentError, match="size"):
        torch.randint(3)
    w = leaf(np.zeros(1000))
    with sg.no_grad():
        assert abs(w.uniform_(-1, 1).mean().item()) < 0.2
        assert abs(w.normal_(5, 0.1).mean().item() - 5) < 0.1
    assert w.is_leaf


def test_recording_modes() -> None:
    x = leaf(1.0)
    torch.set_grad_enabled(False)
    try:
        assert not (x * 2).requires_grad
        with torch.set_grad_enabled(True):
            assert (x * 2).requires_grad
        assert not torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)
    with torch.set_grad_enabled(False):
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()

    @torch.set_grad_enabled(False)
    def twice(x: Any) -> Any:
        return 2 * x

    assert torch.is_grad_enabled()
    assert not twice(x).requires_grad
    with torch.inference_mode():
        assert not (x * 2).requires_grad


def test_backward_of_several() -> None:
    x = leaf([1.0, 2.0])
    torch.autograd.backward([x.sum(), x * x], [None, sg.tensor([1.0, 10.0])])
    assert x.grad.tolist() == [3.0, 41.0]
    with pytest.raises(ArgumentError, match="2 outputs"):
        torch.autograd.backward([x.sum(), x.sum()], [None])
    with pytest.raises(BackwardError, match="does not require grad"):
        torch.autograd.backward(torch.ones(()))


def test_what_numpy_reports_of_tensors() -> None:
    x = leaf([0.0, 2.0])
    assert [a.tolist() for a in np.nonzero(x)] == [[1]]
    assert np.flatnonzero(x).tolist() == [1]
    assert np.take(x, sg.tensor([1, 1])).tolist() == [2.0, 2.0]


def test_wrong_ranks_and_sizes() -> None:
    with pytest.raises(ShapeError, match="mm takes operands of 2 and 2 axes"):
        torch.mm(torch.ones(2), torch.ones(2))
    with pytest.raises(ShapeError, match=r"t\(\) takes matrices"):
        torch.ones(1, 2, 3).t()
    with pytest.raises(ArgumentError, match="do not add up to 3"):
        torch.split(torch.ones(3), [1, 1])
    with pytest.raises(ArgumentError, match="at least one element"):
        torch.split(torch.ones(3), 0)


@pytest.mark.parametrize(
    ("name", "hint"),
    [("nn", "functions of tensors"), ("optim", "no_grad"), ("cuda", "main memory"),
     ("compile", "sg.compile"), ("complex128", "real")],
)  # fmt: skip
def test_parts_of_pytorch_that_are_not_here(name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{name}': .*{hint}"):
        getattr(torch, name)


def test_parts_of_autograd_that_are_not_here() -> None:
    with pytest.raises(AttributeError, match="custom_vjp"):
        torch.autograd.Function  # noqa: B018


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ([1.0, np.inf], "tensor([1., inf])"),
        ([np.nan, 1.0, -np.inf], "tensor([nan, 1., -inf])"),
        ([0.0, -0.0], "tensor([0., -0.])"),
        ([1.5, -2.0], "tensor([ 1.5000, -2.0000])"),
        ([1, -2, 300], "tensor([  1,  -2, 300])"),
        ([1e-5, 1.0], "tensor([1.0000e-05, 1.0000e+00])"),
        (np.ones(2000), "tensor([1., 1., 1.,  ..., 1., 1., 1.])"),
        ([[]], "tensor([], size=(1, 0))"),
    ],
)
def test_numbers_print_as_pytorch_prints_them(data: Any, text: str) -> None:
    assert repr(sg.tensor(data)) == text


def test_gradients_as_values_are_those_before_hooks() -> None:
    x = leaf(2.0)
    y = x * x
    y.register_hook(lambda g: 5 * g)
    by_x, by_y = torch.autograd.grad(3 * y, [x, y])
    assert (by_x.item(), by_y.item()) == (60.0, 3.0)


def test_gradients_as_values_are_those_behind_hooks_where_they_end() -> None:
    x = leaf(2.0)
    y = x * x
    x.register_hook(lambda g: 5 * g)
    y.register_hook(lambda g: 7 * g)
    (by_x,) = torch.autograd.grad(3 * y, x, retain_graph=True)
    (by_y,) = torch.autograd.grad(3 * y, y)
    assert (by_x.item(), by_y.item()) == (3 * 7 * 4 * 5.0, 21.0)


def test_the_median_is_pytorchs() -> None:
    x = leaf([4.0, 1.0, 1.0, 3.0, 1.0])
    assert (torch.median(x).item(), np.median(x.detach())) == (1.0, 1.0)
    torch.median(x).backward()
    assert np.allclose(x.grad, [0, 1 / 3, 1 / 3, 0, 1 / 3])
    even = leaf([[4.0, 1.0, 2.0, 3.0], [0.0, np.nan, 1.0, np.nan]])
    values, places = even.median(dim=1)
    assert values[0].item() == 2.0
    assert np.isnan(values[1].item())
    assert places.tolist() == [2, 1]
    assert even.median(dim=1, keepdim=True).values.shape == (2, 1)
    assert np.isnan(even.median().item())
    values.sum().backward()
    assert np.array_equal(even.grad, [[0, 0, 1, 0], [0, 1, 0, 0]])


def test_where_a_condition_holds() -> None:
    rows, columns = torch.where(sg.tensor(A) > 2)
    assert (rows.tolist(), columns.tolist()) == ([0, 1, 1], [0, 1, 2])
    assert torch.where(A > 2)[0].tolist() == [0, 1, 1]
    with pytest.raises(ArgumentError, match="condition alone"):
        torch.where(A > 2, 1.0)


def test_covariances_without_weights() -> None:
    assert np.allclose(torch.cov(sg.tensor(A), correction=0), np.cov(A, ddof=0))
    assert torch.cov(sg.tensor(A[0])).shape == ()
    with pytest.raises(UnsupportedError, match="weights"):
        torch.cov(sg.tensor(A), aweights=[1, 2, 3])
