"""Derivative rules of the user's, ops of the user's, implicit derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
import pytest
import sympy as sp

import symgrad as sg
from symgrad._core.op import registry
from symgrad.errors import ArgumentError, DefinitionError, ShapeError
from tests.shared import pulled, pushed

pytestmark = pytest.mark.usefixtures("few_kernels")

Array = np.ndarray[Any, Any]
X = np.array([0.1, 0.2, 0.3])


@pytest.fixture(autouse=True)
def own_ops() -> Iterator[None]:
    """Leave the registry as it was: other tests run over it."""
    yield
    while registry.users:
        registry.ops.pop(registry.users.popitem()[0], None)


@pytest.mark.parametrize("make", [pulled, pushed])
@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.quick(1)
def test_rules_are_used(make: Callable[[], Any], backend: Any) -> None:
    f = make()

    def h(x: Any, y: Any) -> Any:
        return np.sum(f(x, y) ** 2)

    slope = 8 * np.sin(X) * np.cos(X) * 2.0**2 / 2
    with sg.backend(backend):
        value, (by_x, by_y) = sg.value_and_grad(h, argnums=(0, 1))(X, 2.0)
        assert np.isclose(value, h(X, 2.0))
        assert np.allclose(by_x, slope)
        assert np.isclose(by_y, np.sum(4 * np.sin(X) ** 2))
        assert np.isclose(sg.jvp(h, (X, 2.0), (np.ones(3), 0.0))[1], np.sum(slope))
        second = 16 * (2 * np.cos(X) ** 2 - np.sin(X) ** 2)
        assert np.allclose(np.diag(sg.hessian(h)(X, 2.0)), second)
        both = np.stack([X, X + 1])
        by_x, by_y = sg.vmap(sg.grad(h, argnums=(0, 1)), in_axes=(0, None))(both, 2.0)
        each = [sg.grad(h, argnums=(0, 1))(x, 2.0) for x in both]
        assert np.allclose(by_x, [e[0] for e in each])
        assert np.allclose(by_y, [e[1] for e in each])
        over = sg.grad(lambda xs, y: np.sum(sg.vmap(h, in_axes=(0, None))(xs, y)), argnums=(0, 1))(
            both, 2.0
        )
        assert np.allclose(over[0], by_x)
        assert np.isclose(over[1], np.sum(by_y))


def test_rules_in_loops() -> None:
    f = pulled()

    def h(a: Any) -> Any:
        return sg.fori_loop(0, 3, lambda i, c: f(c, a), a)

    c, slope = 0.7, 1.0
    for _ in range(3):
        c, slope = np.sin(c) * 0.7, 2 * np.cos(c) * 0.7 * slope + np.sin(c)
    assert np.isclose(sg.grad(h)(0.7), slope)


def test_programs_do_not_show_rules() -> None:
    program = sg.value_and_grad(lambda x: np.sum(pulled()(x, 2.0))).program(X)
    assert "custom(" not in str(program)
    assert str(program).count("sin") == 1


@pytest.mark.parametrize("kind", ["jvp", "vjp"])
@pytest.mark.parametrize("batch", [False, True])
def test_a_rule_in_a_loop_differentiates_by_one_argument_of_two(kind: str, batch: bool) -> None:
    """What is differentiated closes over the other one, which is a carry of the loop."""

    def plain(x: Any, y: Any) -> Any:
        return x * x * np.sin(y)

    def slopes(x: Any, y: Any) -> Any:
        by_x = sg.jvp(lambda x: plain(x, y), (x,), (1.0,))[1]
        return by_x, sg.grad(lambda y: plain(x, y))(y)

    f: Any
    if kind == "jvp":
        f = sg.custom_jvp(plain)

        @f.defjvp
        def rule(primals: Any, tangents: Any) -> Any:
            by_x, by_y = slopes(*primals)
            return f(*primals), by_x * tangents[0] + by_y * tangents[1]
    else:
        f = sg.custom_vjp(plain)
        f.defvjp(lambda *xs: (plain(*xs), xs), lambda xs, ct: tuple(ct * s for s in slopes(*xs)))

    def turned(f: Any) -> Any:
        def loop(x: Any) -> Any:
            return sg.fori_loop(0, 3, lambda _, c: f(x, c) + f(c, x), x)

        return (lambda x: np.sum(sg.vmap(loop)(x))) if batch else loop

    x = np.array([0.7, 0.9]) if batch else 0.7
    assert np.allclose(sg.grad(turned(f))(x), sg.grad(turned(plain))(x), rtol=1e-12)
    second = sg.jacobian(sg.grad(turned(plain)))(x)
    assert np.allclose(sg.jacobian(sg.grad(turned(f)))(x), second, rtol=1e-12)


def test_static_arguments_and_structures() -> None:
    @sg.custom_vjp
    def plain(x: Any) -> Any:
        return x

    def apply(f: Any, pair: Any) -> Any:
        return f(pair["a"]) * pair["b"]

    rule = sg.custom_vjp(apply, nondiff_argnums=(0,))
    rule.defvjp(
        lambda f, pair: (apply(f, pair), pair),
        lambda f, pair, ct: ({"a": 10 * ct * pair["b"], "b": ct * f(pair["a"])},),
    )
    found = sg.grad(lambda pair: rule(np.cos, pair))({"a": 0.5, "b": 3.0})
    assert np.isclose(found["a"], 30.0)
    assert np.isclose(found["b"], np.cos(0.5))
    with pytest.raises(ArgumentError, match=r"call plain\.defvjp"):
        sg.grad(plain)(1.0)


def test_one_rule_an_argument() -> None:
    @sg.custom_jvp
    def f(x: Any, y: Any) -> Any:
        return x * y

    f.defjvps(lambda t, out, x, y: 3 * t * y, None)
    assert sg.grad(f, argnums=(0, 1))(2.0, 5.0) == (15.0, 0.0)
    assert f(2.0, 5.0) == 10.0


def test_mistakes_in_rules() -> None:
    def made(fwd: Any, bwd: Any) -> Any:
        f = sg.custom_vjp(lambda x, y: np.sum(x) * y)
        f.defvjp(fwd, bwd)
        return sg.grad(lambda x: f(x, 2.0))

    def keep(x: Any, y: Any) -> Any:
        return np.sum(x) * y, None

    with pytest.raises(ArgumentError, match="one cotangent for each of the 2 arguments"):
        made(keep, lambda _, ct: (ct,))(X)
    with pytest.raises(ShapeError, match="derivative of shape"):
        made(keep, lambda _, ct: (np.ones(2), None))(X)
    with pytest.raises(ArgumentError, match=r"must return \(result, residual\)"):
        made(lambda x, y: np.sum(x), lambda _, ct: (ct, ct))(X)

    def closes_over(a: Any) -> Any:
        f = sg.custom_vjp(lambda x: x * a)
        f.defvjp(lambda x: (x * a, None), lambda _, ct: (ct * a,))
        return f(2.0)

    with pytest.raises(ArgumentError, match="pass it as an argument"):
        sg.grad(closes_over)(3.0)


def test_stop_gradient() -> None:
    assert sg.grad(lambda x: x * sg.stop_gradient({"v": (x, None)})["v"][0])(3.0) == 3.0
    assert sg.stop_gradient(2.0) == 2.0
    t = sg.tensor([2.0], requires_grad=True)
    (t * sg.stop_gradient(t)).sum().backward()
    assert t.grad.numpy() == [2.0]


# ---------------------------------------------------------------- ops


def test_an_op_from_a_formula(tmp_path: Any) -> None:
    bump = sg.define("Bump", lambda x, w: sp.exp(-(x**2) / (2 * w**2)))

    def f(x: Any, w: Any) -> Any:
        return np.sum(bump(x, w) ** 2)

    by_hand = np.exp(-(X**2) / 1.3**2)
    by_x, by_w = sg.grad(f, argnums=(0, 1))(X, 1.3)
    assert np.allclose(by_x, -2 * X / 1.3**2 * by_hand)
    assert np.isclose(by_w, np.sum(2 * X**2 / 1.3**3 * by_hand))
    assert bump(X.astype(np.float32), np.float32(1)).dtype == np.float32
    program = sg.compile(f).program(X, 1.3)
    assert "exp" in str(program)
    program.save(tmp_path / "bump.json")
    assert sg.load(tmp_path / "bump.json")(X, 1.3) == program(X, 1.3)
    scope: dict[str, Any] = {}
    exec(program.source("f"), scope)
    assert scope["f"](X, 1.3) == program(X, 1.3)
    assert sg.verify(f, X, 1.3)


def test_an_op_from_machine_code() -> None:
    @numba.njit
    def soft(x: float) -> float:
        return x / (1 + abs(x))

    op = sg.define("Soft", soft, partials=lambda y, x: 1 / (1 + np.abs(x)) ** 2)
    for backend in ("numpy", "llvm"):
        with sg.backend(backend):  # type: ignore[arg-type]
            value, slope = sg.value_and_grad(lambda x: np.sum(op(x)))(X)
            assert np.isclose(value, np.sum(X / (1 + X)))
            assert np.allclose(slope, 1 / (1 + X) ** 2)
            assert sg.compile(op)(X.astype(np.float32)).dtype == np.float32


def test_an_op_can_be_defined_again() -> None:
    first = sg.define("Again", lambda x: x**2)
    second = sg.define("Again", lambda x: x**3)
    assert (first(2.0), second(2.0), sg.grad(second)(2.0)) == (4.0, 8.0, 12.0)


def test_definitions_that_are_refused() -> None:
    for name, function, says in (
        ("Sin", sp.sin, "defined twice"),
        ("Numeric", lambda x: np.sin(x), "sp.exp"),
        ("Free", lambda x: x * sp.Symbol("q"), "free symbol q: make it an argument"),
        ("Two", lambda x: [x, x], "one SymPy expression, not list"),
        ("Nothing", lambda x: None, "one SymPy expression, not NoneType"),
        ("Slopeless", numba.njit(lambda x: x), "partials="),
    ):
        with pytest.raises(DefinitionError, match=says):
            sg.define(name, function)
    with pytest.raises(ArgumentError, match="CamelCase"):
        sg.define("lower", sp.sin)


# ---------------------------------------------------------------- implicit derivatives


def residual(x: Array, a: Array, b: Array) -> Any:
    return a @ x + 0.1 * np.sin(x) - b


def newton(a: Array, b: Array) -> Any:
    def far(x: Any) -> Any:
        return np.max(np.abs(residual(x, a, b))) > 1e-13

    return sg.while_loop(far, lambda x: x - np.linalg.solve(a, residual(x, a, b)), b)


def test_roots() -> None:
    root = sg.implicit_root(residual, newton)
    a, b = np.array([[3.0, 1.0], [0.5, 2.0]]), np.array([1.0, 2.0])
    through, around = (
        sg.value_and_grad(lambda a, b, s=s: np.sum(s(a, b) ** 2), argnums=(0, 1))(a, b)
        for s in (newton, root)
    )
    assert np.allclose(around[0], through[0])
    assert np.allclose(around[1][0], through[1][0], rtol=1e-9)
    assert np.allclose(around[1][1], through[1][1], rtol=1e-9)
    with sg.backend("numpy"):
        hessians = [sg.hessian(lambda b, s=s: np.sum(s(a, b) ** 2))(b) for s in (newton, root)]
        assert np.allclose(*hessians, rtol=1e-8)
        many = sg.vmap(sg.grad(lambda b: np.sum(root(a, b))))(np.stack([b, b + 1]))
        assert np.allclose(many[0], sg.grad(lambda b: np.sum(root(a, b)))(b))


def test_the_solver_is_not_differentiated() -> None:
    program = sg.grad(sg.implicit_root(lambda x, a: x**3 - a, cube_root)).program(8.0)
    assert [n.op.name for n in program.steps].count("Loop") == 1


def cube_root(a: Any) -> Any:
    return sg.fori_loop(0, 8, lambda i, x: x - (x**3 - a) / (3 * x**2), 1.0)


def test_minima() -> None:
    def objective(x: Any, target: Any) -> Any:
        return np.sum((x - target) ** 2) + 0.5 * np.sum(x**2)

    def descend(target: Any) -> Any:
        step = lambda i, x: x - 0.2 * sg.grad(objective)(x, target)  # noqa: E731
        return sg.fori_loop(0, 200, step, np.zeros(3))

    best = sg.implicit_minimum(objective, descend)
    assert np.allclose(sg.jacobian(best)(X), np.eye(3) / 1.5)


def test_equations_and_unknowns() -> None:
    wrong = sg.implicit_root(lambda x, a: np.sum(x) - a, lambda a: np.ones(3) * a)
    with pytest.raises(ShapeError, match="as many equations as unknowns"):
        sg.jacobian(wrong)(1.0)
    with pytest.raises(ArgumentError, match="solver is a function"):
        sg.implicit_root(residual, X)  # type: ignore[arg-type]


def test_a_new_definition_means_a_new_kernel(cache_dir: Any) -> None:
    """In the body of a loop, too: the cache knows what the op computes."""
    for power in (2, 3):
        op = sg.define("Again", (lambda p: lambda x: x**p)(power))  # noqa: PLC3002
        f = sg.compile(lambda x, op=op: sg.fori_loop(0, 2, lambda i, c: op(c) + x, x))
        assert f(0.5) == (0.5**power + 0.5) ** power + 0.5


def scaled(x: Any, scale: Any = 2.0) -> Any:
    return x * scale


@pytest.mark.parametrize("kind", ["vjp", "jvp", "jvps"])
def test_arguments_by_name_and_left_out(kind: str) -> None:
    """The rule, with a factor of three to be told by, is given all arguments by position."""
    f: Any = sg.custom_vjp(scaled) if kind == "vjp" else sg.custom_jvp(scaled)
    if kind == "vjp":
        f.defvjp(
            lambda x, scale: (x * scale, (x, scale)),
            lambda r, ct: (3.0 * ct * r[1], 3.0 * ct * r[0]),
        )
    elif kind == "jvp":
        f.defjvp(lambda p, t: (p[0] * p[1], 3.0 * (t[0] * p[1] + t[1] * p[0])))
    else:
        f.defjvps(lambda t, y, x, scale: 3.0 * t * scale, lambda t, y, x, scale: 3.0 * t * x)
    for call, wanted in (
        (lambda x: f(x), 6.0),
        (lambda x: f(x=x), 6.0),
        (lambda x: f(x, scale=4.0), 12.0),
        (lambda x: f(scale=5.0, x=x), 15.0),
        (lambda x: f(1.0, scale=x), 3.0),
        (lambda x: f(scale=x, x=2.0 * x), 36.0),
    ):
        assert sg.grad(call)(3.0) == pytest.approx(wanted, rel=1e-15)
        assert call(3.0) == pytest.approx(sg.compile(call)(3.0), rel=1e-15)
    np.testing.assert_array_equal(sg.vmap(lambda x: f(x=x))(np.arange(3.0)), [0.0, 2.0, 4.0])
    t = sg.tensor(3.0, requires_grad=True)
    f(t, scale=4.0).backward()
    assert t.grad == 12.0
    for wrong in (lambda x: f(x, other=1.0), lambda x: f(), lambda x: f(x, x=x)):
        with pytest.raises(ArgumentError, match=r"custom_[vj]+p: scaled\(\): "):
            sg.grad(wrong)(3.0)

    def named(x: Any, *, scale: Any = 2.0) -> Any:
        return x * scale

    g = sg.custom_jvp(named)
    g.defjvps(lambda t, y, x: t)
    assert sg.value_and_grad(lambda x: g(x))(3.0) == (6.0, 1.0)  # by the rule
    with pytest.raises(ArgumentError, match="scale can be given by name only"):
        sg.grad(lambda x: g(x, scale=3.0))(3.0)
