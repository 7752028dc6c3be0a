"""Derivatives that stay right where naive rules fail: what other tools got wrong, as cases.

Each case is a published failure; the source says where.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import symgrad as sg
import symgrad.torch as torch
from symgrad.scipy.special import logsumexp, softmax

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
TINY = math.exp(-40.0)

#: What, where, the derivative there; the source of the failure.
SCALARS: dict[str, tuple[Callable[..., Any], float, float]] = {
    # HIPS autograd has the rule (ans + 1)*g for expm1.
    "expm1 far left": (np.expm1, -40.0, TINY),
    "log1p near -1": (np.log1p, -1 + 2.0**-52, 2.0**52),
    # The documentation of JAX's custom_jvp and of TensorFlow's custom_gradient start from this.
    "log(1 + exp(x)) at 1000": (lambda x: np.log(1.0 + np.exp(x)), 1000.0, 1.0),
    "log(1 + exp(x)) at -40": (lambda x: np.log(1.0 + np.exp(x)), -40.0, TINY / (1 + TINY)),
    "log1p(exp(x)) at 1000": (lambda x: np.log1p(np.exp(x)), 1000.0, 1.0),
    "sigmoid, spelled out, at -1000": (lambda x: 1 / (1 + np.exp(-x)), -1000.0, 0.0),
    "sigmoid at -40": (special.expit, -40.0, TINY / (1 + TINY) ** 2),
    "log of a sigmoid at -1000": (lambda x: np.log(1 / (1 + np.exp(-x))), -1000.0, 1.0),
    "logaddexp at -1000": (lambda x: np.logaddexp(x, x - 1), -1000.0, 1.0),
    "logaddexp of -inf": (lambda x: np.logaddexp(x, -np.inf), -3.0, 1.0),
    "tanh at 20": (np.tanh, 20.0, 4 * math.exp(-40.0)),
    "tanh at 400": (np.tanh, 400.0, 0.0),
    "log(cosh(x)) at -1000": (lambda x: np.log(np.cosh(x)), -1000.0, -1.0),
    "tanh by exponentials at 1000": (
        lambda x: (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x)), 1000.0, 0.0,
    ),
    "log of the normal distribution at -60": (
        lambda x: np.log(special.ndtr(x)), -60.0, 60.016657420241124,
    ),
    "log of the gamma function at 500": (
        lambda x: np.log(special.gamma(x)), 500.0, 6.21360776508899,
    ),
    "arccosh near 1": (np.arccosh, 1 + 2.0**-52, 2.0**26 / math.sqrt(2 + 2.0**-52)),
    "arcsin near 1": (np.arcsin, 1 - 2.0**-53, 2.0**26.5 / math.sqrt(2 - 2.0**-53)),
    "arctanh near 1": (np.arctanh, 1 - 2.0**-53, 2.0**53 / (2 - 2.0**-53)),
    "arctan far out": (np.arctan, 1e200, 0.0),
    "arcsinh far out": (np.arcsinh, 1e200, 1e-200),
    # nan in JAX issues 3058 and 21723, PyTorch issue 2421, autograd issue 151.
    "norm at 0": (lambda x: np.linalg.norm(x * np.ones(3)), 0.0, 0.0),
    "sqrt(x**2 + y**2) at 0": (lambda x: np.sqrt(x**2 + (2 * x) ** 2), 0.0, 0.0),
    "(x*x + y*y)**0.5 at 0": (lambda x: (x * x + 4 * x * x) ** 0.5, 0.0, 0.0),
    "sqrt of a dot product at 0": (lambda x: np.sqrt(np.dot(x * np.ones(2), x * np.ones(2))), 0, 0),
    "hypot at 0": (lambda x: np.hypot(x, 2 * x), 0.0, 0.0),
    "hypot far out": (lambda x: np.hypot(x, x), 1e200, math.sqrt(2)),
    "arctan2 at the origin": (lambda x: np.arctan2(x, 0.0 * x), 0.0, 0.0),
    "arctan2 far out": (lambda x: np.arctan2(x, 1e200), 1e200, 5e-201),
    "arctan(y/x) at x = 0": (lambda x: np.arctan(1.0 / x), 0.0, -1.0),
    "abs at 0": (np.abs, 0.0, 0.0),
    "x/abs(x)": (lambda x: x / np.abs(x), -3.0, 0.0),
    "x/sqrt(x**2)": (lambda x: x / np.sqrt(x**2), 2.0, 0.0),
    "sqrt(x)**2 at 0": (lambda x: np.sqrt(x) ** 2, 0.0, 1.0),
    # nan in autograd issues 116 and 581, PyTorch issue 27134.
    "x**0 at 0": (lambda x: x**0.0, 0.0, 0.0),
    "x**1 at 0": (lambda x: x**1.0, 0.0, 1.0),
    "x**2 at 0": (lambda x: x**2.0, 0.0, 0.0),
    "0**x": (lambda x: np.power(0.0, x), 2.0, 0.0),
    "(-2)**n in the base": (lambda x: x**3.0, -2.0, 12.0),
    "x*x**0.5 at 0": (lambda x: x * x**0.5, 0.0, 0.0),
    "x*sqrt(x) at 0": (lambda x: x * np.sqrt(x), 0.0, 0.0),
    # A wrong 0 in PyTorch issue 80770.
    "xlogy of 0 by it": (lambda x: special.xlogy(x, 2.0), 0.0, math.log(2)),
    "squared norm at 0": (lambda x: np.linalg.norm(x * np.ones(2)) ** 2, 0.0, 0.0),
    "xlogy at 0": (lambda x: special.xlogy(0.0, x), 0.0, 0.0),
    "entropy of 0": (lambda x: special.xlogy(x, 1.0 + x), 0.0, 0.0),
    "sinc at 0": (np.sinc, 0.0, 0.0),
    # 0, inf or nan in JAX, PyTorch and autograd: squares overflow or vanish.
    "length of two far out": (lambda x: np.sqrt(x**2 + (0.75 * x) ** 2), 4e200, 1.25),
    "length of two close to 0": (lambda x: np.sqrt(x**2 + (0.75 * x) ** 2), 4e-200, 1.25),
    "length of three far out": (lambda x: np.sqrt(x * x + x * x + (2 * x) ** 2), 1e200, 6**0.5),
    "norm far out": (lambda x: np.linalg.norm(x * np.array([3.0, 4.0])), -1e200, -5.0),
    "norm close to 0": (lambda x: np.linalg.norm(x * np.array([3.0, 4.0])), 1e-200, 5.0),
    "root of a dot product far out": (
        lambda x: np.sqrt(np.dot(x * np.ones(4), x * np.ones(4))), 1e200, 2.0,
    ),
    "root of a mean of squares": (
        lambda x: np.sqrt(np.mean((x * np.array([1.0, 7.0])) ** 2)), 1e-200, 5.0,
    ),
    "standard deviation far out": (lambda x: np.std(x * np.array([1.0, 3.0])), 1e200, 1.0),
    "sqrt(1 + x**2) far out": (lambda x: np.sqrt(1 + x**2), -1e200, -1.0),
    "1/sqrt(1 + x**2) far out": (lambda x: 1 / np.sqrt(1 + x**2), 1e153, -1e-306),
    "x/sqrt(1 + x**2) far out": (lambda x: x / np.sqrt(1 + x**2), 1e10, 1e-30),
    "x/(1 + x) far out": (lambda x: x / (1 + x), 1e20, 1e-40),
    "x**2/(1 + x**2) far out": (lambda x: x**2 / (1 + x**2), 1e9, 2e-27),
    "x**2/(x**2 + y**2) of overflows": (lambda x: x**2 / (x**2 + np.inf), 1.0, 0.0),
    "log(1 + x**2) far out": (lambda x: np.log(1 + x**2), 1e200, 2e-200),
    "log(x**2 + y**2) far out": (lambda x: np.log(x**2 + (0.5 * x) ** 2), 1e200, 2e-200),
    "arcsinh, spelled out, at -700": (
        lambda x: np.log(x + np.sqrt(1 + x**2)), -700.0, 1 / math.hypot(1, 700),
    ),
    "arccosh, spelled out, far out": (lambda x: np.log(x + np.sqrt(x * x - 1)), 1e200, 1e-200),
    "log of a product that overflows": (lambda x: np.log(x * (2 * x)), 1e200, 2e-200),
    "log of a power that vanishes": (lambda x: np.log(x**3 / 7), 1e-200, 3e200),
    "log of a quotient": (lambda x: np.log(x / (1e-200 / x)), 1e200, 2e-200),
    "log of exponentials": (lambda x: np.log(np.exp(x) * np.exp(2 * x)), 1000.0, 3.0),
    "logit of 1e-300": (lambda x: np.log(x / (1 - x)), 1e-300, 1e300),
    "x*log(x) of subnormals": (lambda x: x * np.log(x), 1e-320, math.log(1e-320) + 1),
    "sin(x)/x near 0": (lambda x: np.sin(x) / x, 1e-9, -1e-9 / 3),
    "sin(x)/x far out": (lambda x: np.sin(x) / x, 1e9, (math.cos(1e9) - math.sin(1e9) / 1e9) / 1e9),
    "expm1(x)/x near 0": (lambda x: np.expm1(x) / x, -1e-9, 0.5 - 1e-9 / 3),
    "(exp(x) - 1)/x near 0": (lambda x: (np.exp(x) - 1) / x, 1e-9, 0.5 + 1e-9 / 3),
    "(exp(x) - 1)/x far left": (lambda x: (np.exp(x) - 1) / x, -1e100, 1e-200),
    # The derivative exists: nan in the other tools.
    "|x|**1.5 by a square at 0": (lambda x: (x * x) ** 0.75, 0.0, 0.0),
    "norm**1.5 at 0": (lambda x: np.sum((x * np.ones(2)) ** 2) ** 0.75, 0.0, 0.0),
    "sqrt(x**3) at 0": (lambda x: np.sqrt(x**3), 0.0, 0.0),
    "sqrt(x*x*x) at 0": (lambda x: np.sqrt(x * x * x), 0.0, 0.0),
    "sqrt(x)**3 at 0": (lambda x: np.sqrt(x) ** 3, 0.0, 0.0),
    "log of a mean of exponentials": (
        lambda x: np.log(np.mean(np.exp(x * np.array([1.0, 1.0])))), 1000.0, 1.0,
    ),
    "log of a softmax": (
        lambda x: np.log(np.exp(x * np.ones(2)) / np.sum(np.exp(x * np.ones(2))))[0], 1e3, 0.0,
    ),
    "sinc near 0": (np.sinc, 1e-9, -(math.pi**2) / 3 * 1e-9),
    "prod with a zero": (lambda x: np.prod(np.array([2.0, 3.0]) * x) * 0 + np.prod(x + np.zeros(1)),
                         0.0, 1.0),
    "std of equal elements": (lambda x: np.std(x * np.ones(3)), 2.0, 0.0),
    "log of a product that vanishes": (
        lambda x: np.log(np.prod(x * np.full(100, 1e-5))), 1.0, 100.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SCALARS)
def test_derivative(name: str) -> None:
    f, x, want = SCALARS[name]
    with sg.backend("numpy"):
        got = float(sg.grad(f)(float(x)))
        _, pushed = sg.jvp(f, (float(x),), (1.0,))
    assert got == pytest.approx(want, rel=1e-13, abs=1e-300)
    assert float(pushed) == pytest.approx(want, rel=1e-13, abs=1e-300)


def test_the_kernel_agrees_on_all_of_them() -> None:
    def all_of_them(xs: Any) -> Any:
        return np.stack([f(xs[k]) for k, (f, _, _) in enumerate(SCALARS.values())])

    points = np.array([float(x) for _, x, _ in SCALARS.values()])
    slopes = sg.jvp(all_of_them, (points,), (np.ones(len(points)),))[1]
    wants = [want for _, _, want in SCALARS.values()]
    np.testing.assert_allclose(slopes, wants, rtol=1e-13, atol=1e-300)


FAR = np.array([1000.0, -1000.0, 999.0])
WEIGHTS = np.array([1 / (1 + math.exp(-1)), 0.0, 1 / (1 + math.e)])


def test_logsumexp_and_softmax_far_out() -> None:
    for f in (logsumexp, lambda x: np.log(np.sum(np.exp(x)))):
        with sg.backend("numpy"):
            np.testing.assert_allclose(sg.grad(f)(FAR), WEIGHTS, rtol=1e-14)
            np.testing.assert_allclose(sg.grad(f)(FAR - 2000), WEIGHTS, rtol=1e-14)
    jacobian = sg.jacobian(softmax)(FAR)
    np.testing.assert_allclose(jacobian, np.diag(WEIGHTS) - np.outer(WEIGHTS, WEIGHTS), atol=1e-16)
    rows = np.stack([FAR, FAR - 1500])

    def loss(x: Any) -> Any:
        return np.sum(np.log(np.sum(np.exp(x), axis=1, keepdims=True)))

    np.testing.assert_allclose(sg.grad(loss)(rows), np.stack([WEIGHTS, WEIGHTS]), rtol=1e-14)


def test_softmax_is_computed_once() -> None:
    for axis in (0, 1, None):
        g = sg.grad(lambda x, a=axis: np.sum(softmax(x, axis=a) ** 2))
        names = [step.op.name for step in g.program(np.ones((3, 4))).steps]
        assert names.count("Exp") == names.count("Max") == 1
    # Below another maximum it may overflow.
    g = sg.grad(lambda x: np.sum((e := np.exp(x - np.max(x, axis=0))) / np.sum(e, axis=1)[:, None]))
    assert [step.op.name for step in g.program(np.ones((3, 3))).steps].count("Max") == 2


@pytest.mark.slow
def test_softmax_as_it_is_written_first() -> None:
    """Its value is nan where exp overflows; its derivative is known all the same."""

    def plain(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return np.exp(x) / np.sum(np.exp(x), axis=axis, keepdims=keepdims)

    wanted = np.diag(WEIGHTS) - np.outer(WEIGHTS, WEIGHTS)
    np.testing.assert_allclose(sg.jacobian(plain)(FAR), wanted, atol=1e-16)
    tangent = sg.jvp(plain, (FAR,), (np.array([1.0, 0.0, 2.0]),))[1]
    np.testing.assert_allclose(tangent, wanted @ [1, 0, 2], atol=1e-15)
    square = np.random.default_rng(3).normal(size=(3, 3))
    for axis, keepdims, known in ((0, False, True), (1, True, True), (1, False, False)):
        f = lambda x, a=axis, k=keepdims: np.sum(plain(x, a, k) ** 2)  # noqa: E731
        g = sg.grad(lambda x, a=axis: np.sum(softmax(x, axis=a) ** 2))
        found, stable = sg.grad(f)(square), g(square)
        assert np.allclose(found, stable, rtol=1e-13) == known  # (n, n) by (n,): another formula
        if known:
            h = lambda x, a=axis, k=keepdims: np.sum(plain(x, a, k)[0])  # noqa: E731
            assert not np.isnan(sg.grad(h)(1000 * square)).any()
        sg.verify(f, square)


def test_logsumexp_of_nothing() -> None:
    """PyTorch issue 31829: nan where all terms are -inf."""
    nothing = np.full(2, -np.inf)
    np.testing.assert_array_equal(sg.grad(logsumexp)(nothing), [0, 0])


@pytest.mark.slow
def test_second_derivatives_of_lengths_far_out() -> None:
    """They are those of a vector of moderate length, times a power of the scale."""
    lengths: list[Callable[..., Any]] = [
        np.linalg.norm,
        lambda x: np.sqrt(x[0] ** 2 + x[1] ** 2),
        lambda x: np.sqrt(x @ x),
    ]
    for f in lengths:
        for scale in (1.0, 1e-200, 1e200):
            x = scale * np.array([3.0, 4.0])
            for mode in ("forward", "reverse"):
                found = sg.jacobian(sg.jacobian(f, mode="reverse"), mode=mode)(x)
                want = np.array([[16, -12], [-12, 9]]) / 125
                np.testing.assert_allclose(found * scale, want, rtol=4e-15)
        assert np.isnan(np.diag(sg.hessian(f)(np.zeros(2)))).all()  # there is none


def test_lengths_in_single_precision() -> None:
    for scale in (1e-30, 1.0, 1e30):
        x = np.array([3.0, 4.0], np.float32) * np.float32(scale)
        for f in (np.linalg.norm, lambda x: np.sqrt(x[0] ** 2 + x[1] ** 2)):
            found = sg.grad(f)(x)
            assert found.dtype == np.float32
            np.testing.assert_allclose(found, [0.6, 0.8], rtol=4e-7)


def test_softmax_whose_logarithm_underflows() -> None:
    def loss(x: Any) -> Any:
        return -np.log(np.exp(x) / np.sum(np.exp(x)))[2]

    for x in ([10.0, 10.0, -1000.0], [1000.0, 1000.0, -1000.0]):
        np.testing.assert_allclose(sg.grad(loss)(np.array(x)), [0.5, 0.5, -1.0])
        _, slope = sg.jvp(loss, (np.array(x),), (np.array([0.0, 0.0, 1.0]),))
        assert slope == -1.0


def test_distances_with_equal_points() -> None:
    """The usual matrix of distances has zeros on its diagonal."""
    x = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]])

    def total(x: Any) -> Any:
        return np.sum(np.sqrt(np.sum((x[:, None, :] - x) ** 2, axis=-1)))

    want = np.array([[-1.2, -1.6], [2.4, 3.2], [-1.2, -1.6]])
    np.testing.assert_allclose(sg.grad(total)(x), want, rtol=1e-14)
    half = sg.grad(lambda x: np.sum(np.sum((x[:, None] - x) ** 2, axis=-1) ** 0.5))
    np.testing.assert_allclose(half(x), want, rtol=1e-14)


def test_a_root_of_anything_else_has_its_infinite_slope() -> None:
    assert sg.grad(np.sqrt)(0.0) == math.inf
    assert math.isnan(sg.grad(lambda x: np.sqrt(x**2 - x**4))(0.0))


def test_kl_div_near_equal_arguments() -> None:
    x, y = 0.5, 0.5 + 2.0**-40
    with sg.backend("numpy"):
        by_x, by_y = sg.grad(special.kl_div, argnums=(0, 1))(x, y)
    assert by_x == pytest.approx(-math.log1p(2.0**-39), rel=1e-15)
    assert by_y == pytest.approx(2.0**-40 / y, rel=1e-15)


# ---------------------------------------------------------------- eager tensors


@pytest.mark.parametrize("name", SCALARS)
def test_an_eager_derivative(name: str) -> None:
    """Of a leaf, of a step on the way (what its rule reads is all that is kept), and again."""
    f, x, want = SCALARS[name]
    given = sg.tensor(np.array([x, x], float), requires_grad=True)
    leaf = sg.tensor(float(x), requires_grad=True)
    f(leaf).backward()
    sum(f((given + 0.0)[k]) for k in range(2)).backward()
    inner = (given + 0.0) - 0.0
    (slope,) = torch.autograd.grad(f(inner[0]), given, create_graph=True)
    for got in (leaf.grad, given.grad[0], given.grad[1], slope.detach()[0]):
        assert float(got.item()) == pytest.approx(want, rel=1e-13, abs=1e-300)


def test_eager_formulas_with_a_reduction() -> None:
    rows = sg.tensor(np.stack([FAR, FAR - 1500]), requires_grad=True)
    np.sum(
        np.log(np.sum(np.exp(rows), axis=1, keepdims=True)) * np.array([[2.0], [3.0]])
    ).backward()
    np.testing.assert_allclose(rows.grad.numpy(), np.stack([2 * WEIGHTS, 3 * WEIGHTS]), rtol=1e-14)


def test_an_eager_shortcut_leaves_out_what_is_asked_for() -> None:
    """The gradient of an inner step comes by the chain rule, which goes through it."""
    x = sg.tensor(2.0, requires_grad=True)
    e = np.exp(x)
    seen: list[float] = []
    e.register_hook(lambda g: seen.append(float(g.item())))
    np.log(1 + e).backward()
    assert seen == [pytest.approx(1 / (1 + math.exp(2.0)), rel=1e-15)]
    assert x.grad.item() == pytest.approx(special.expit(2.0), rel=1e-15)
    x = sg.tensor(2.0, requires_grad=True)
    e = np.exp(x)
    (inner,) = torch.autograd.grad(np.log(1 + e), e)
    assert inner.item() == pytest.approx(1 / (1 + math.exp(2.0)), rel=1e-15)


def test_an_eager_shortcut_does_without_what_was_overwritten() -> None:
    x = sg.tensor([2.0, 3.0], requires_grad=True)
    inner = x * 1.0
    y = np.sum(np.log(1 + np.exp(inner)))
    inner += 1.0
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), special.expit([2.0, 3.0]), rtol=1e-15)


def test_eager_and_compiled_backward_passes_are_the_same_far_out() -> None:
    """The first passes run node by node, later ones by a kernel."""
    for _ in range(12):
        x = sg.tensor(FAR, requires_grad=True)
        np.sum(np.log(1 + np.exp(x)) * 2.0).backward()
        np.testing.assert_allclose(x.grad.numpy(), [2, 0, 2], atol=1e-300)


def test_eager_branches_keep_their_masks_past_a_formula() -> None:
    x = sg.tensor([-800.0, 0.0, 800.0], requires_grad=True)
    np.sum(np.where(x > 0, np.log(1 + np.exp(x)), np.log(np.cosh(x)))).backward()
    np.testing.assert_allclose(x.grad.numpy(), [-1, 0, 1], atol=1e-300)
    x = sg.tensor([0.0, 4.0], requires_grad=True)
    np.sum(np.where(x > 1, x * x**0.5, x)).backward()
    np.testing.assert_allclose(x.grad.numpy(), [1, 3])
    x = sg.tensor([[1000.0, 0.0], [2.0, 3.0]], requires_grad=True)
    np.max(np.log(np.sum(np.exp(x), axis=1))).backward()
    np.testing.assert_allclose(x.grad.numpy(), [[1, 0], [0, 0]])


@pytest.mark.usefixtures("no_kernels")
def test_bessel_functions_have_derivatives_of_every_order_at_zero() -> None:
    """``I2'`` is ``I1 - 2*I2/x``, which is 0/0 there."""
    f, slopes = special.i0, []
    for _ in range(6):
        f = sg.grad(f)
        slopes.append(float(f(0.0)))
    np.testing.assert_allclose(slopes, [0, 1 / 2, 0, 3 / 8, 0, 5 / 16], rtol=1e-15)


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize(
    ("quantile", "share"),
    [
        (lambda a, y: special.gammaincinv(a, y), 0.0),
        (lambda a, y: special.gammainccinv(a, y), 1.0),
        (lambda a, y: special.betaincinv(a, 2.0, y), 0.0),
        (lambda a, y: special.betaincinv(2.0, a, y), 1.0),
        (lambda a, y: special.betainccinv(a, 2.0, y), 0.0),
    ],
)
def test_ends_of_a_support_do_not_move_with_parameters(quantile: Any, share: float) -> None:
    """The density is 0 there, and no change of the share was 0/0."""
    assert sg.grad(lambda a: quantile(a, share))(1.5) == 0.0
    assert sg.hessian(lambda a: quantile(a, share))(1.5) == 0.0
