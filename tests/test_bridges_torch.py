"""Functions inside PyTorch: values, gradients, transforms, errors; compared with PyTorch's own."""

from __future__ import annotations

import dataclasses
import pickle
import threading
from typing import Any, NamedTuple

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import ArgumentError, DTypeError, UnsupportedError

torch = pytest.importorskip("torch")
func = torch.func

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def double(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def cubes(xp: Any, x: Any) -> Any:
    return xp.sum(xp.exp(-x) * x**3)


def model(xp: Any, x: Any, y: Any, k: int = 2) -> Any:
    return {"a": xp.sin(x["u"]) * y**k, "b": (xp.sum(x["u"] * y), None)}


bridged = sg.to_torch(lambda x: cubes(np, x))


def plain(x: Any) -> Any:
    return cubes(torch, x)


def test_memory_is_shared_and_arguments_stay() -> None:
    x = double(0.3, 1.2, 2.0)
    before = x.detach().clone()
    seen: list[Any] = []
    value = sg.to_torch(lambda x: np.multiply(x, 2.0))(x)
    seen.append(value.detach().numpy())
    assert not np.shares_memory(seen[0], x.detach().numpy())
    torch.testing.assert_close(x.detach(), before)
    same = sg.to_torch(lambda x: x)(x)
    assert not np.shares_memory(same.detach().numpy(), x.detach().numpy())


def test_gradcheck_of_nested_arguments_and_results() -> None:
    f = sg.to_torch(lambda x, y, k=2: model(np, x, y, k))

    def flat(x: Any, y: Any) -> Any:
        found = f({"u": x}, y, k=3)
        assert found["b"][1] is None
        return found["a"], found["b"][0]

    args = double(0.3, 1.2, 2.0), double(1.0, 2.0, 0.5)
    assert torch.autograd.gradcheck(flat, args, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(
        flat, args, check_fwd_over_rev=True, check_rev_over_rev=True
    )


TRANSFORMS = {
    "grad": func.grad,
    "hessian": func.hessian,
    "jacrev of jacrev": lambda f: func.jacrev(func.jacrev(f)),
    "jacfwd of jacfwd": lambda f: func.jacfwd(func.jacfwd(f)),
    "jacrev of jacfwd": lambda f: func.jacrev(func.jacfwd(f)),
    "third": lambda f: func.jacfwd(func.hessian(f)),
    "batch": lambda f: lambda x: func.vmap(f)(torch.stack([x, 2 * x])),
    "gradients of a batch": lambda f: lambda x: func.vmap(func.grad(f))(torch.stack([x, 2 * x])),
    "gradient of a batch": lambda f: func.grad(
        lambda x: func.vmap(f)(torch.stack([x, x**2])).sum()
    ),
    "batch of batches": lambda f: lambda x: func.vmap(func.vmap(f))(x + torch.zeros(4, 2, 3)),
    "vjp": lambda f: lambda x: func.vjp(f, x)[1](torch.tensor(2.0, dtype=x.dtype))[0],
    "jvp": lambda f: lambda x: func.jvp(f, (x,), (x,)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name: str) -> None:
    transform = TRANSFORMS[name]
    x = double(0.3, 1.2, 2.0).detach()
    torch.testing.assert_close(transform(bridged)(x), transform(plain)(x), rtol=1e-11, atol=1e-12)


def test_batch_axes() -> None:
    f = sg.to_torch(lambda x, y, n: x[:, None] * y**n)
    x, y = torch.randn(3, 5).double(), torch.randn(2).double()
    found = func.vmap(f, in_dims=(1, None, None))(x, y, 2)
    torch.testing.assert_close(found, torch.einsum("ab,c->bac", x, y**2))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, torch.complex128])
def test_element_types_stay(dtype: Any) -> None:
    x = torch.tensor([0.5, 2.0], dtype=dtype, requires_grad=True)
    found = sg.to_torch(lambda x, c: np.sum(np.abs(c * x) ** 2))(x, 0.5)
    (slope,) = torch.autograd.grad(found, x)
    assert found.dtype == torch.empty(0, dtype=dtype).abs().dtype
    torch.testing.assert_close(slope, 0.5 * x.detach())


def test_complex_gradients_are_those_of_pytorch() -> None:
    z = torch.tensor([1 + 2j, 0.5 - 1j], dtype=torch.complex128, requires_grad=True)
    cases = [
        lambda xp, z: xp.sum(xp.abs(z) ** 2 * xp.real(z * z)),
        lambda xp, z: xp.sum(xp.imag(xp.exp(z) * z)),
    ]
    for f in cases:
        found = torch.autograd.grad(sg.to_torch(lambda z, f=f: f(np, z))(z), z)
        torch.testing.assert_close(found, torch.autograd.grad(f(torch, z), z))
    g = sg.to_torch(lambda z: z**2 * np.conj(z))
    assert torch.autograd.gradcheck(g, (z,), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(g, (z,))


def test_layouts() -> None:
    base = torch.arange(24.0, dtype=torch.float64).reshape(4, 6)
    f, g = sg.to_torch(lambda x: np.sum(x**2 * 3)), lambda x: torch.sum(x**2 * 3)
    views = [base.T, base[:, ::2], base[1], base[:, 1], base.expand(2, 4, 6), base[:0],
             torch.tensor(3.0, dtype=torch.float64)]  # fmt: skip
    for view in views:
        torch.testing.assert_close(func.grad(f)(view), func.grad(g)(view))
    z = (base[:2] * (1 + 1j)).conj()
    assert z.is_conj()
    torch.testing.assert_close(sg.to_torch(lambda z: z + 1)(z), z + 1)
    torch.testing.assert_close(sg.to_torch(lambda x: 2 * x)(z.imag), 2 * z.imag)


def test_sizes_change() -> None:
    for n in (3, 1, 0, 7, 2, 40):
        x = torch.linspace(0.1, 1.0, n, dtype=torch.float64)
        torch.testing.assert_close(func.grad(bridged)(x), func.grad(plain)(x))


def test_integers_and_flags() -> None:
    f = sg.to_torch(lambda x, i, squared: (x[i] ** 2 if squared else x[i], i + 1, i > 0))
    x = double(1.0, 2.0, 3.0)
    value, further, positive = f(x, torch.tensor([0, 2]), True)
    assert (further.dtype, positive.dtype) == (torch.int64, torch.bool)
    assert not further.requires_grad
    (slope,) = torch.autograd.grad(value.sum(), x)
    torch.testing.assert_close(slope, torch.tensor([2.0, 0.0, 6.0], dtype=torch.float64))


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Circle:
    centre: Any
    radius: Any


def test_containers() -> None:
    def inside(circle: Any, points: Any) -> Any:
        x, y = circle.centre
        return [np.hypot(p.x - x, p.y - y) - circle.radius for p in points]

    circle = Circle(double(0.0, 0.0), double(2.0))
    points = (Point(3.0, 4.0), Point(double(0.0)[0], 1.0))
    found = sg.to_torch(inside)(circle, points)
    assert [x.item() for x in found] == [3.0, -1.0]
    sum(found).sum().backward()
    torch.testing.assert_close(circle.radius.grad, double(-2.0).detach())


def test_a_module_trains() -> None:
    def orbit(k: Any, t: Any) -> Any:
        return np.exp(-k[0] * t) * np.cos(k[1] * t)

    class Damped(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.k = torch.nn.Parameter(torch.tensor([0.3, 1.7], dtype=torch.float64))
            self.f = sg.to_torch(orbit)

        def forward(self, t: Any) -> Any:
            return self.f(self.k, t)

    t = torch.linspace(0, 3, 30, dtype=torch.float64)
    data = torch.exp(-0.5 * t) * torch.cos(2 * t)
    module = Damped()
    optimiser = torch.optim.LBFGS(module.parameters(), line_search_fn="strong_wolfe")

    def loss() -> Any:
        optimiser.zero_grad()
        found = ((module(t) - data) ** 2).sum()
        found.backward()
        return found

    for _ in range(5):
        optimiser.step(loss)
    expected = torch.tensor([0.5, 2.0], dtype=torch.float64)
    torch.testing.assert_close(module.k.detach(), expected, rtol=1e-4, atol=0)


def test_functions_that_symgrad_made() -> None:
    x = double(0.3, 1.2, 2.0)
    slope = sg.to_torch(sg.grad(lambda x: cubes(np, x)))
    torch.testing.assert_close(slope(x), func.grad(plain)(x))
    torch.testing.assert_close(
        func.jacrev(slope)(x.detach()), func.hessian(plain)(x.detach()), rtol=1e-11, atol=1e-12
    )


def test_custom_vjp_needs_no_forward_rule() -> None:
    @sg.custom_vjp
    def clipped(x: Any) -> Any:
        return x**2

    clipped.defvjp(lambda x: (x**2, x), lambda x, ct: (7.0 * ct * x,))
    x = double(3.0)
    (slope,) = torch.autograd.grad(sg.to_torch(lambda x: clipped(x))(x).sum(), x)
    assert slope.item() == 21.0


def test_captures_are_read_in_each_call() -> None:
    weights = np.array([1.0, 2.0])
    f = sg.to_torch(lambda x: np.sum(weights * x))
    x = double(1.0, 1.0)
    assert f(x).item() == 3.0
    weights[:] = 5.0
    assert f(x).item() == 10.0
    (slope,) = torch.autograd.grad(f(x), x)
    assert slope.tolist() == [5.0, 5.0]


def test_a_tensor_changed_in_between_is_refused() -> None:
    x = double(1.0, 2.0)
    y = x * 1.0
    value = bridged(y)
    with torch.no_grad():
        y += 1.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        value.backward()


class Counter:
    calls = 0


def counted(x: Any) -> Any:
    Counter.calls += 1
    return np.sum(x**2) * Counter.calls


def test_derivatives_of_what_changes_state_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counter, "calls", 0)
    f = sg.to_torch(counted)
    x = double(1.0, 2.0)
    value = f(x)
    assert Counter.calls == 1
    with pytest.raises(UnsupportedError, match="assigns outside"):
        value.backward()


def square(x: Any) -> Any:
    return np.sum(x**2)


def test_pickles_and_threads() -> None:
    f = pickle.loads(pickle.dumps(sg.to_torch(square)))
    assert repr(f) == "<symgrad to_torch of square>"
    x = double(1.0, 2.0)
    found: list[Any] = []

    def work() -> None:
        (slope,) = torch.autograd.grad(f(x), x)
        found.append(slope.tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[2.0, 4.0]] * 4


def test_methods() -> None:
    class Model:
        scale = 3.0

        @sg.to_torch
        def loss(self, x: Any) -> Any:
            return np.sum(self.scale * x)

    x = double(1.0, 2.0)
    (slope,) = torch.autograd.grad(Model().loss(x), x)
    assert slope.tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    ("args", "kind", "message"),
    [
        (lambda: torch.ones(2, dtype=torch.bfloat16), DTypeError, r"x has .*bfloat16.*x\.float"),
        (lambda: torch.ones(2, dtype=torch.float16), DTypeError, r"argument x has .*float16"),
        (lambda: torch.ones(2, device="meta"), ArgumentError, r"on the device meta.*x\.cpu\(\)"),
        (lambda: torch.eye(2).to_sparse(), ArgumentError, r"torch\.sparse_coo.*to_dense"),
    ],
)  # fmt: skip
def test_tensors_that_are_refused(args: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        sg.to_torch(lambda x: np.sum(x))(args())


def test_what_else_is_refused() -> None:
    x = double(1.0, 2.0)
    with pytest.raises(ArgumentError, match="a str is among its results"):
        sg.to_torch(lambda x: (np.sum(x), "aux"))(x)
    with pytest.raises(ArgumentError, match=r"to_torch takes a function.*sg\.to_torch\(f\)"):
        sg.to_torch(x)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="symgrad traces"):
        sg.grad(lambda x: bridged(x))(np.ones(2))


def test_recording_is_refused() -> None:
    """Results would be constants of the recorded graph."""
    x = torch.tensor([1.0, 2.0])
    make_fx = pytest.importorskip("torch.fx.experimental.proxy_tensor").make_fx
    records = [
        lambda: func.linearize(bridged, x),
        lambda: make_fx(bridged)(x),
        lambda: make_fx(func.grad(bridged))(x),
        lambda: torch.jit.trace(bridged, x),
    ]
    for record in records:
        with pytest.raises(UnsupportedError, match="recording"):
            record()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # PyTorch's own, of its compiler
def test_compiled_code_calls_it_between_graphs() -> None:
    f = torch.compile(lambda x: bridged(x * 2) + 1, backend="eager")
    x, y = double(1.0, 2.0), double(1.0, 2.0)
    f(x).backward()
    (plain(y * 2) + 1).backward()
    torch.testing.assert_close(x.grad, y.grad)


def test_tensors_are_arguments_of_symgrads_functions() -> None:
    x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    np.testing.assert_array_equal(sg.grad(square)(x), [2.0, 4.0])
    with pytest.raises(ArgumentError, match=r"argument x is a torch\.Tensor.*sg\.to_torch\(f\)"):
        sg.grad(square)(x.requires_grad_())


NAMES = ("sin", "exp", "tanh", "sqrt", "log1p", "arctan")


def random_function(rng: np.random.Generator) -> Any:
    """Return a function of a positive vector and of a namespace, with one number as its result."""
    steps = [(rng.choice(NAMES), int(rng.integers(3))) for _ in range(int(rng.integers(2, 5)))]
    power = float(rng.integers(1, 4))

    def f(xp: Any, x: Any) -> Any:
        y = x
        for name, kind in steps:
            z = getattr(xp, name)(y)
            y = (z * x, z + y, z / (1.0 + y * y))[kind]
        return xp.sum(y**power * x)

    return f


@pytest.mark.parametrize("case", range(24))
def test_random_functions_under_random_transforms(case: int) -> None:
    rng = np.random.default_rng(case)
    f = random_function(rng)
    name = list(TRANSFORMS)[int(rng.integers(len(TRANSFORMS)))]
    x = torch.tensor(rng.uniform(0.2, 1.5, 3))
    found = TRANSFORMS[name](sg.to_torch(lambda x: f(np, x)))(x)
    expected = TRANSFORMS[name](lambda x: f(torch, x))(x)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-10)
