"""A branch that is not taken adds nothing to a derivative, whatever its slope there.

The gradient of ``np.where(x > 0, np.sqrt(x), 0.0)`` at 0 is 0. Other systems return nan, and
tell users to write the condition twice:

* PyTorch: https://github.com/pytorch/pytorch/issues/23395, 36923, 68425, 108618
* TensorFlow: https://github.com/tensorflow/tensorflow/issues/2540, 20091, 38349
* JAX: https://github.com/jax-ml/jax/issues/347, 1052
* tinygrad: https://github.com/tinygrad/tinygrad/issues/12409
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symgrad as sg
import symgrad.torch as torch
from symgrad.errors import EqualityWarning

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
X = np.array([-1.0, 0.0, 4.0])

#: A function of X, its gradient, its second derivatives by the elements.
CASES: dict[str, tuple[Callable[..., Any], list[float], list[float]]] = {
    "sqrt": (lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)), [0, 0, 1 / 4], [0, 0, -1 / 32]),
    "other side": (
        lambda x: np.sum(np.where(x <= 0, 0.0, np.sqrt(x))), [0, 0, 1 / 4], [0, 0, -1 / 32],
    ),
    "both sides": (
        lambda x: np.sum(np.where(x > 0, np.log(x), x**2)), [-2, 0, 1 / 4], [2, 2, -1 / 16],
    ),
    "nested": (
        lambda x: np.sum(np.where(x >= 0, np.where(x > 1, np.log(x - 1), x), 1 / x)),
        [-1, 1, 1 / 3], [-2, 0, -1 / 9],
    ),
    "chained": (
        lambda x: np.sum(np.where(x > 0, np.exp(np.log(x) / np.sqrt(x)) ** 2, x)),
        [1, 1, 4 ** (4 / 4) * (1 / 4 - np.log(4) / 8)], [],
    ),
    "broadcast condition": (
        lambda x: np.sum(np.where(x[:, None] > 0, np.sqrt(x)[:, None] * np.arange(3.0), 0.0)),
        [0, 0, 3 / 4], [0, 0, -3 / 32],
    ),
    "broadcast operand": (
        lambda x: np.sum(
            np.where((x[:, None] > 0) & (np.arange(3) > 1), np.sqrt(x)[:, None] * [1, 2, 3], 0)
        ),
        [0, 0, 3 / 4], [0, 0, -3 / 32],
    ),
    "one condition for all": (
        lambda x: np.where(np.sum(x) > 100, np.sum(np.sqrt(x)), x[0]), [1, 0, 0], [0, 0, 0],
    ),
    "matrix product": (
        lambda x: np.where(np.sum(x) > 100, np.sqrt(x) @ x, 0.0), [0, 0, 0], [0, 0, 0],
    ),
    "rows of a product": (
        lambda x: np.sum(np.where(x > 0, np.einsum("i,i->i", np.sqrt(x), np.sqrt(x)), x)),
        [1, 1, 1], [0, 0, 0],
    ),
    "slice": (
        lambda x: np.sum(np.where(x[1:] > 0, np.sqrt(x)[1:], 0.0)), [0, 0, 1 / 4],
        [0, 0, -1 / 32],
    ),
    "gather": (
        lambda x: np.sum(np.where(x[[2, 1]] > 0, np.sqrt(x)[[2, 1]], 0.0)), [0, 0, 1 / 4],
        [0, 0, -1 / 32],
    ),
    "element by element": (
        lambda x: sum(np.where(x[i] > 0, np.sqrt(x)[i], 0.0) for i in range(3)), [0, 0, 1 / 4],
        [0, 0, -1 / 32],
    ),
    "diagonal": (
        lambda x: np.sum(np.where(x > 0, np.diagonal(np.sqrt(x[:, None] * x)), 0.0)),
        [0, 0, 1], [0, 0, 0],
    ),
    "transposed sum": (
        lambda x: np.sum(
            np.where(x > 0, np.sum(np.sqrt(x[:, None] * np.ones(2)).T, axis=0), 0.0)
        ),
        [0, 0, 1 / 2], [0, 0, -1 / 16],
    ),
    "maximum of columns": (
        lambda x: np.sum(np.where(x > 0, np.max(np.stack([np.sqrt(x), x / 8]), axis=0), 0.0)),
        [0, 0, 1 / 4], [0, 0, -1 / 32],
    ),
    "select": (
        lambda x: np.sum(np.select([x < 0, x == 0, x > 0], [x**2, x, np.log(x)])),
        [-2, 1, 1 / 4], [2, 0, -1 / 16],
    ),
    "clip": (
        lambda x: np.sum(np.clip(np.cbrt(x), 1.0, 2.0)), [0, 0, 4 ** (-2 / 3) / 3], [],
    ),
    "maximum": (
        lambda x: np.sum(np.maximum(np.sqrt(np.abs(x) / 2), 1.0)), [0, 0, 2**-1.5 / 2],
        [0, 0, -(2**-1.5) / 16],
    ),
    "minimum": (lambda x: np.sum(np.minimum(1 / x**2, 1 / 2)), [0, 0, -1 / 32], [0, 0, 3 / 128]),
    "fmax": (lambda x: np.sum(np.fmax(np.sqrt(x), 1.5)), [0, 0, 1 / 4], [0, 0, -1 / 32]),
    "fmin": (lambda x: np.sum(np.fmin(-np.sqrt(x), -1.5)), [0, 0, -1 / 4], [0, 0, 1 / 32]),
    "max": (lambda x: np.max(np.sqrt(x * (x > 0))), [0, 0, 1 / 4], [0, 0, -1 / 32]),
    "min": (lambda x: np.min(-np.cbrt(x)), [0, 0, -(4 ** (-2 / 3)) / 3], []),
    "nan_to_num": (
        lambda x: np.sum(np.nan_to_num(np.sqrt(x - 1e-3))), [0, 0, 0.5 / np.sqrt(4 - 1e-3)], [],
    ),
}  # fmt: skip
BACKENDS = ("llvm", "numpy")


#: Cases that single a point out by ``==`` to which the other sides do not lead.
SINGLED_OUT = {"select"}


def warned(name: str) -> contextlib.AbstractContextManager[Any]:
    if name not in SINGLED_OUT:
        return contextlib.nullcontext()
    return pytest.warns(EqualityWarning, match="derivative of the side that is taken")


def each(f: Callable[..., Any]) -> Any:
    return lambda x: np.sum(sg.grad(f)(x))


@pytest.mark.parametrize("name", CASES)
def test_gradient(name: str) -> None:
    f, want, _ = CASES[name]
    with warned(name):
        for backend in BACKENDS:
            with sg.backend(backend):
                np.testing.assert_allclose(sg.grad(f)(X), want, rtol=1e-14)


@pytest.mark.parametrize("name", [n for n in CASES if CASES[n][2]])
def test_second_derivative(name: str) -> None:
    f, _, want = CASES[name]
    with sg.backend("numpy"), warned(name):
        np.testing.assert_allclose(sg.grad(each(f))(X), want, rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize("name", CASES)
def test_eager_gradient(name: str) -> None:
    f, want, second = CASES[name]
    x = sg.tensor(X, requires_grad=True)
    f(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-14)
    if second:
        x = sg.tensor(X, requires_grad=True)
        (slope,) = torch.autograd.grad(f(x), x, create_graph=True)
        (found,) = torch.autograd.grad(np.sum(slope), x, allow_unused=True)
        bends = np.zeros(3) if found is None else found.numpy()
        np.testing.assert_allclose(bends, second, rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize("name", CASES)
def test_forward_mode(name: str) -> None:
    f, want, second = CASES[name]
    with sg.backend("numpy"), warned(name):
        np.testing.assert_allclose(sg.jacobian(f, mode="forward")(X), want, rtol=1e-14)
        if second:
            found = sg.jacobian(sg.jacobian(f, mode="forward"), mode="forward")(X)
            np.testing.assert_allclose(np.diagonal(found), second, rtol=1e-14, atol=1e-16)


#: Choices whose untaken branch would meet an infinite slope *behind* the choice.
BEHIND: dict[str, Callable[..., Any]] = {
    "maximum": lambda x: np.sqrt(np.maximum(x, 0.0)),
    "minimum": lambda x: np.sqrt(-np.minimum(-x, 0.0)),
    "where": lambda x: np.sqrt(np.where(x > 0, x, 0.0)),
    "nested": lambda x: np.sqrt(np.where(x > 0, np.where(x > 2, x, 0.0), np.where(x > -2, 0, x))),
    "clip": lambda x: np.sqrt(np.clip(x, 0.0, 9.0)),
    "select": lambda x: np.sqrt(np.select([x > 2, x > -2], [x, 0.0], -x)),
    "product": lambda x: np.sqrt(np.maximum(x, 0.0)) * np.cos(np.maximum(x, 0.0)),
    "quotient": lambda x: np.cbrt(np.maximum(x, 0.0)) / (1 + np.maximum(-x - 9, 0.0)),
    "reversed": lambda x: np.sqrt(np.maximum(x, 0.0)[::-1])[::-1],
    "joined": lambda x: np.sqrt(np.concatenate([np.maximum(x, 0.0), x[2:]]))[:3],
    "sum": lambda x: np.sqrt(np.sum(np.maximum(x - 9, 0.0))) + x,
    "rows": lambda x: np.sqrt(np.sum(np.maximum(x - np.array([[0.0], [9.0]]), 0.0), axis=1)),
    "steps": lambda x: np.cumsum(np.sqrt(np.maximum(x, 0.0))),
    "formula": lambda x: np.maximum(x, 0.0) * np.sqrt(np.maximum(x, 0.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", BEHIND)
def test_a_choice_before_an_infinite_slope(name: str) -> None:
    f, x = BEHIND[name], np.array([-1.0, -0.5, 4.0])
    with sg.backend("numpy"):
        want = sg.jacobian(f, mode="reverse")(x)
        assert np.all(np.isfinite(want))
        for mode in ("forward", "auto"):
            np.testing.assert_allclose(sg.jacobian(f, mode=mode)(x), want, rtol=1e-14)
        _, slope = sg.jvp(f, (x,), (np.ones(3),))
        np.testing.assert_allclose(slope, np.sum(want, axis=1), rtol=1e-14)
        second = sg.jacobian(sg.jacobian(f, mode="forward"), mode="forward")(x)
        np.testing.assert_allclose(second, sg.jacobian(sg.jacobian(f, mode="reverse"))(x))


def test_batched_conditions() -> None:
    def row(x: Any) -> Any:
        return np.where(np.sum(x) > 0, np.sqrt(x) @ np.sqrt(x), 0.0)

    with sg.backend("numpy"):
        got = sg.vmap(sg.grad(row))(np.array([[4.0, 1.0], [0.0, 0.0], [0.0, -1.0]]))
    np.testing.assert_allclose(got, [[1, 1], [0, 0], [0, 0]], rtol=1e-14)


PUBLISHED = {
    "PyTorch 68425": (lambda x: np.where(x <= 0, np.exp(x), 1 + x), 1000.0, 1.0),
    "PyTorch 36923": (lambda x: np.where(x >= 0, x, 0.0 * (x / 0.0)), 1.0, 1.0),
    "PyTorch 108618": (lambda x: np.where(x > 2, np.log2(x), 2 * x), 0.0, 2.0),
    "TensorFlow 38349": (lambda x: np.where(x < 15, x, 10.0 ** np.exp(x)), 10.0, 1.0),
    "JAX 347": (lambda x: np.where(x > 0.5, np.sqrt(x**2), 1.0), 0.0, 0.0),
    "tinygrad 12409": (lambda x: np.where(x == 0, 0.0, x * np.sqrt(x)), 0.0, 0.0),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_failures(name: str) -> None:
    f, at, want = PUBLISHED[name]
    with sg.backend("numpy"):
        assert sg.grad(f)(at) == want
    x = sg.tensor(at, requires_grad=True)
    f(x).backward()
    assert x.grad.item() == want


def test_a_computed_zero_is_no_guard() -> None:
    """The derivative of sqrt(x)**2 at 0 is 1: a product 0*inf says that the formula fails.

    A zero that is written in the program is one: 0*sqrt(x) does not move.
    """
    assert (
        np.isnan(sg.grad(lambda x: np.sqrt(x) * np.sqrt(x))(0.0))
        or sg.grad(lambda x: np.sqrt(x) * np.sqrt(x))(0.0) == 1.0
    )
    found = sg.grad(lambda x: np.sqrt(x) * np.tanh(np.sqrt(x)))(0.0)
    assert np.isnan(found) or found == 1.0
    assert sg.grad(lambda x: np.where(x >= 0, np.sqrt(x) * 0.0, x))(0.0) == 0.0


def test_an_infinite_slope_of_the_branch_taken_stays() -> None:
    assert sg.grad(lambda x: np.where(x >= 0, np.sqrt(x), 0.0))(0.0) == np.inf


def test_the_adjoint_of_a_nested_choice_is_a_nested_choice() -> None:
    def f(x: Any) -> Any:
        return np.where(x > 0, np.where(x > 1, np.log(x), np.sqrt(x)), 1 / x)

    program = sg.grad(f).program(0.5)
    assert [step.op.name for step in program.steps].count("Where") == 2
    relu = sg.grad(lambda x: np.sum(np.where(x > 0, 3 * x, 0.0))).program(X)
    assert [step.op.name for step in relu.steps].count("Where") == 1


def test_hooks_see_gradients_without_nan() -> None:
    x = sg.tensor(X, requires_grad=True)
    root = np.sqrt(x)
    seen: list[Any] = []
    root.register_hook(lambda g: seen.append(g.numpy()))
    np.sum(np.where(x > 0, root, 0.0)).backward()
    np.testing.assert_array_equal(seen[0], [0, 0, 1])
    np.testing.assert_array_equal(x.grad.numpy(), [0, 0, 0.25])


SMOOTH = (np.sin, np.exp, lambda x: x * x, lambda x: 3 * x + 1)
#: Undefined or infinite for some of the arguments that get there.
ROUGH = (np.sqrt, np.log, lambda x: 1 / x, lambda x: x**-1.5, np.arcsin, np.arccosh)


@given(data=st.data())
@pytest.mark.slow
def test_random_trees_of_choices(data: st.DataObject) -> None:
    """Against the same tree with the choice made by Python, at each point by itself."""

    def tree(depth: int) -> tuple[Any, Any]:
        if depth == 0 or data.draw(st.booleans()):
            f = data.draw(st.sampled_from(SMOOTH))
            return f, f
        bound = data.draw(st.sampled_from((-1.0, 0.0, 0.5)))
        outer, rough = data.draw(st.sampled_from(SMOOTH)), data.draw(st.sampled_from(ROUGH))
        (a, pick_a), (b, pick_b) = tree(depth - 1), tree(depth - 1)
        wild = data.draw(st.booleans())

        def chosen(x: Any) -> Any:
            left = np.where(np.abs(x) < -1.0, rough(a(x)), a(x)) if wild else a(x)
            return outer(np.where(x > bound, left, b(x)))

        return chosen, lambda x: outer(pick_a(x) if x > bound else pick_b(x))

    f, branch = tree(3)
    points = np.array([-2.0, -0.5, 0.25, 2.0])
    with sg.backend("numpy"):
        got = sg.grad(lambda x: np.sum(f(x)))(points)
    want = []
    for p in points:
        x = sg.tensor(p, requires_grad=True)
        branch(x).backward()
        want.append(x.grad.item())
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-300)


def _unpacked(a: Any, b: Any, c: Any) -> Any:
    return b * c


#: A function of [0, 1, 4] that does not depend on the first element, and its gradient.
APART: dict[str, tuple[Callable[..., Any], list[float]]] = {
    "slice": (lambda x: np.sum(np.sqrt(x)[1:]), [0, 1 / 2, 1 / 4]),
    "zeros": (lambda x: np.sum(np.zeros_like(x) * np.sqrt(x)) + np.sqrt(x)[1], [0, 1 / 2, 0]),
    "element": (lambda x: np.sqrt(x)[1], [0, 1 / 2, 0]),
    "logarithm": (lambda x: np.sum(np.log(x)[1:]), [0, 1, 1 / 4]),
    "quotient": (lambda x: np.sum((1 / x)[1:]), [0, -1, -1 / 16]),
    "take": (lambda x: np.sum(np.take(np.sqrt(x), [1, 2])), [0, 1 / 2, 1 / 4]),
    "concatenate": (lambda x: np.sum(np.concatenate([np.sqrt(x), x])[1:]), [1, 3 / 2, 5 / 4]),
    "sort": (lambda x: np.sum(np.sort(np.sqrt(x))[1:]), [0, 1 / 2, 1 / 4]),
    "unpacking": (lambda x: _unpacked(*np.sqrt(x)), [0, 1, 1 / 4]),
    "constant": (lambda x: np.sum(np.array([0.0, 1, 1]) * np.sqrt(x)), [0, 1 / 2, 1 / 4]),
    "constant inside": (lambda x: np.sum(np.sqrt(np.array([0.0, 1, 1]) * x)), [0, 1 / 2, 1 / 4]),
    "truth values": (lambda x: np.sum((np.arange(3) > 0) * np.sqrt(x)), [0, 1 / 2, 1 / 4]),
    "loop": (lambda x: sum(np.sqrt(x)[i] for i in (1, 2)), [0, 1 / 2, 1 / 4]),
}  # fmt: skip


@pytest.mark.parametrize("name", APART)
def test_elements_that_do_not_count(name: str) -> None:
    f, want = APART[name]
    x = np.array([0.0, 1.0, 4.0])
    for backend in BACKENDS:
        with sg.backend(backend):
            np.testing.assert_allclose(sg.grad(f)(x), want)
            np.testing.assert_allclose(sg.jacobian(f, mode="forward")(x), want)
            second = sg.hessian(f)(x)
            np.testing.assert_array_equal(second[0], 0.0)
            np.testing.assert_allclose(sg.hessian(f, sparse=True)(x).toarray(), second)


def test_what_does_not_move_has_no_derivative() -> None:
    """Full, a tank's cross-section is the whole circle: the segment's formulas end there."""

    def segment(d: Any, h: float) -> Any:
        h = min(h, d)
        return (d / 2) ** 2 * np.arccos((d / 2 - h) / (d / 2)) - (d / 2 - h) * np.sqrt(d * h - h**2)

    for derivative in (sg.grad(segment), sg.jacobian(segment, mode="forward")):
        np.testing.assert_allclose(derivative(0.6, 0.7), np.pi * 0.3, rtol=1e-14)
        assert derivative(0.6, 0.2) > 0
    assert sg.grad(lambda y: np.sqrt(10.0**y))(-400.0) == 0.0
    assert sg.grad(lambda y: np.sqrt(np.exp(y)))(-800.0) == 0.0


def test_the_jacobian_of_an_elementwise_function_is_diagonal() -> None:
    for size in (2, 40):
        x = np.arange(0.0, size)
        want = np.diag([np.inf, *0.5 / np.sqrt(x[1:])])
        for mode in ("forward", "reverse"):
            np.testing.assert_allclose(sg.jacobian(np.sqrt, mode=mode)(x), want)


def test_a_weight_of_zero_has_a_derivative() -> None:
    """By ``x`` the product is 0 for good; by the weight it is not."""

    def f(x: Any, w: Any) -> Any:
        return np.sum(w * np.sqrt(x))

    x, w = np.array([0.0, 1.0, 4.0]), np.array([0.0, 0.0, 2.0])
    np.testing.assert_allclose(sg.grad(f)(x, w), [0, 0, 1 / 2])
    mixed = sg.jacobian(sg.grad(f), 1)(x, w)
    np.testing.assert_allclose(np.diag(mixed), [np.inf, 1 / 2, 1 / 4])
    np.testing.assert_allclose(np.diag(sg.hessian(f)(x, w)), [0, 0, -1 / 16])


def test_a_zero_of_the_chain_in_a_rule_of_the_users() -> None:
    @sg.custom_jvp
    def root(x: Any) -> Any:
        return np.sqrt(x)

    root.defjvp(lambda p, t: (np.sqrt(p[0]), t[0] * 0.5 / np.sqrt(p[0])))
    found = sg.grad(lambda x: root(x) * root(x))(0.0)
    assert np.isnan(found) or found == 1.0
    loop = sg.grad(lambda x: sg.fori_loop(0, 1, lambda i, s: np.sqrt(s) ** 2 + 0 * i, x))(0.0)
    assert np.isnan(loop) or loop == 1.0


# ---------------------------------------------------------------- loops


def _roots(x: Any) -> Any:
    """Fourth roots of ``3 - x``, five times: nan from 3 on, of infinite slope at 3."""
    return sg.fori_loop(0, 5, lambda i, y: np.sqrt(np.sqrt(3.0 - y)), x)


def _first(x: Any) -> Any:
    return sg.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, np.sqrt(c[1])), (0, x))[1]


def _written(x: Any) -> Any:
    return sg.scan(lambda c, _: (np.sqrt(c), np.sqrt(c)), x, None, length=3)[1]


def _branch(x: Any) -> Any:
    return sg.cond(x[0] > 1.0, lambda x, y: np.sum(np.sin(x)), lambda x, y: np.sum(y), x, _roots(x))


POINTS = np.array([0.5, 2.0, 3.0, 4.0])


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.parametrize(
    ("f", "x", "wanted"),
    [
        (
            lambda x: np.sum(np.where(x > 1, np.sin(x), _roots(x))),
            POINTS,
            [None, *np.cos(POINTS[1:])],
        ),
        (_branch, POINTS[1:], np.cos(POINTS[1:])),
        (lambda x: _first(x)[1], np.array([0.0, 2.0]), [0.0, 2 ** (1 / 8) / 16]),
        (lambda x: _written(x)[2, 1], np.array([0.0, 2.0]), [0.0, 2 ** (1 / 8) / 16]),
        (
            lambda x: np.sum(np.where(x > 1, _written(x)[2], 0.0)),
            np.array([0.0, 2.0]),
            [0.0, 2 ** (1 / 8) / 16],
        ),
    ],
)
def test_elements_of_loops_that_do_not_count(backend: Any, f: Any, x: Any, wanted: Any) -> None:
    """Elements that are not selected are infinite or nan in the loop, and have derivative 0."""
    with sg.backend(backend), np.errstate(all="ignore"):
        reverse = sg.grad(f)(x)
        forward = sg.jacobian(f, mode="forward")(x)
        wanted = [r if w is None else w for w, r in zip(wanted, reverse, strict=True)]
        np.testing.assert_allclose(reverse, wanted, rtol=1e-13)
        np.testing.assert_allclose(forward, wanted, rtol=1e-13)
        assert np.all(np.isfinite(sg.vmap(sg.grad(f))(np.stack([x, x]))))


def test_a_parameter_of_steps_counts_where_elements_do() -> None:
    def f(a: Any) -> Any:
        x = a * POINTS
        return np.sum(np.where(POINTS > 1, np.sin(x), _roots(x)))

    with np.errstate(all="ignore"):
        step = 1e-6
        differences = (f(1 + step) - f(1 - step)) / (2 * step)
        assert sg.grad(f)(1.0) == pytest.approx(differences, rel=1e-8)
