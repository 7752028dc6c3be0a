"""Loops and branches: every program below, under every transformation and both backends."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import symgrad as sg
import symgrad.numpy as snp
from symgrad.errors import (
    ArgumentError,
    CycleError,
    DataError,
    DTypeError,
    ShapeError,
    TraceError,
    UnsupportedError,
)
from tests.shared import PLAIN_LOOPS

Array = np.ndarray[Any, Any]


def scanned(x: Array) -> Any:
    """Results of each step, and a carry that they depend on."""
    last, ys = sg.scan(lambda c, v: (c * v + np.sin(c), c * c), 0.7, x)
    return last + np.sum(ys)


def backwards(x: Array) -> Any:
    last, ys = sg.scan(lambda c, v: (np.cos(c) + v, c * v), x[0], x[::-1], reverse=True)
    return last * np.sum(ys * x)


def structured(x: Array) -> Any:
    """A nested carry with arrays, and nothing to go along."""

    def step(state: dict[str, Any], _: None) -> tuple[dict[str, Any], Any]:
        new = {"m": state["m"] @ state["m"].T * 0.1 + np.outer(x, x), "k": (state["k"][0] + 1,)}
        return new, np.trace(new["m"])

    start = {"m": np.outer(x, np.cos(x)), "k": (0,)}
    last, traces = sg.scan(step, start, None, length=3)
    return np.sum(np.sin(last["m"])) + np.sum(traces) * last["k"][0]


def counted(x: Array) -> Any:
    return sg.fori_loop(1, 5, lambda i, c: c * np.sin(x[1] * i) + x[0], 1.0)


def bounded_by_values(x: Array) -> Any:
    """A number of steps that depends on the values."""
    upper = np.floor(np.sum(x**2)).astype(int)
    return sg.fori_loop(0, upper, lambda i, c: 0.9 * c + np.sin(x[0] * i), x[1])


def picked(x: Array) -> Any:
    """Elements at a place that a step computes."""
    return sg.fori_loop(0, 4, lambda i, c: c + np.sin(c) * x[(2 * i) % 3], 0.3)


def until(x: Array) -> Any:
    def go_on(state: tuple[Any, Any]) -> Any:
        return state[0] ** 2 > 0.5

    def step(state: tuple[Any, Any]) -> tuple[Any, Any]:
        return state[0] * np.sin(x[0]), state[1] + np.cos(state[0]) * x[1]

    return sg.while_loop(go_on, step, (np.sum(x), 0.0))[1]


def branched(x: Array) -> Any:
    return sg.cond(x[0] > 1.0, lambda y: np.sum(y**2) * x[0], lambda y: np.prod(np.sin(y)), x)


def switched(x: Array) -> Any:
    k = np.floor(np.abs(x[0]) * 2).astype(int)
    return sg.switch(k, [np.sin, lambda y: y * x[2], lambda y: np.exp(-y)], x[1]) * x[0]


def nested(x: Array) -> Any:
    """A loop in a loop; the inner number of steps depends on the outer step."""

    def outer(i: Any, c: Any) -> Any:
        return sg.fori_loop(0, i + 1, lambda j, d: d * np.sin(x[0] + j) + c, c * x[1])

    return sg.fori_loop(0, 3, outer, 1.0)


def until_in_scan(x: Array) -> Any:
    def step(c: Any, v: Any) -> tuple[Any, Any]:
        c = sg.while_loop(lambda s: s > 0.4, lambda s: s * np.cos(v), c + 1.0)
        return c, c * v

    last, ys = sg.scan(step, 0.2, x)
    return last + np.sum(ys)


def branch_in_scan(x: Array) -> Any:
    def step(c: Any, v: Any) -> tuple[Any, Any]:
        return sg.cond(c > v, lambda: c * x[0], lambda: np.exp(-v) + c), None

    return sg.scan(step, 1.0, x)[0]


def scan_in_branch(x: Array) -> Any:
    def total(y: Array) -> Any:
        return sg.scan(lambda c, v: (c + np.sin(v * c), None), y[0], y)[0]

    return sg.cond(np.sum(x) > 0, total, lambda y: total(y[::-1]) ** 2, x)


def recomputed(x: Array) -> Any:
    inner = sg.checkpoint(lambda y: np.sin(np.exp(y)) * np.sum(x))
    return np.sum(inner(inner(x)))


def checkpointed_steps(x: Array) -> Any:
    step = sg.checkpoint(lambda c, v: (np.tanh(c * v) + x[0], c))
    last, ys = sg.scan(step, 0.5, x)
    return last * np.sum(ys)


def matrices(x: Array) -> Any:
    """Larger carries than LLVM keeps in registers."""
    a = np.outer(x, x) / (1 + np.sum(x**2)) + 0.1 * np.arange(9.0).reshape(3, 3)
    big = np.sin(np.arange(300.0)[:, None] * x)
    return np.sum(sg.fori_loop(0, 3, lambda i, m: np.tanh(m @ a), big)[::7] * big[::7])


PROGRAMS: list[Callable[[Array], Any]] = [
    scanned, backwards, structured, counted, bounded_by_values, picked, until, branched,
    switched, nested, until_in_scan, branch_in_scan, scan_in_branch, recomputed,
    checkpointed_steps, matrices,
]  # fmt: skip
POINTS = np.array([[1.2, 0.7, 0.4], [0.55, -0.8, 1.3]])

#: What every run looks at; the rest in the full run.
CORE = {scanned, until, branched, nested}

programs = pytest.mark.parametrize(
    "f",
    [
        pytest.param(f, id=f.__name__, marks=[] if f in CORE else [pytest.mark.slow])
        for f in PROGRAMS
    ],
)


def slopes(f: Callable[[Array], Any], x: Array) -> Array:
    """Derivatives by differences of the plain Python function."""
    rows = []
    for e in np.eye(x.size) * 1e-5:
        near = (np.asarray(f(x + e)) - np.asarray(f(x - e))) / 2e-5
        far = (np.asarray(f(x + 2 * e)) - np.asarray(f(x - 2 * e))) / 4e-5
        rows.append((4 * near - far) / 3)
    return np.stack(rows, -1)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.quick(3)
def test_value_and_gradient(f: Callable[[Array], Any], backend: Any) -> None:
    for x in POINTS:
        with sg.backend(backend):
            value, gradient = sg.value_and_grad(f)(x)
            assert np.allclose(sg.compile(f)(x), f(x), rtol=1e-13, atol=1e-13)
        assert np.allclose(value, f(x), rtol=1e-13, atol=1e-13)
        assert np.allclose(gradient, slopes(f, x), rtol=1e-8, atol=1e-8)


@programs
@pytest.mark.quick(1)
def test_second_derivatives(f: Callable[[Array], Any]) -> None:
    """Forward over reverse, reverse over reverse, and forward over forward."""
    x = POINTS[0]
    gradient = sg.grad(f)
    with sg.backend("numpy"):
        exact = sg.hessian(f)(x)
        assert np.allclose(exact, slopes(gradient, x), rtol=1e-7, atol=1e-7)
        assert np.allclose(exact, exact.T, rtol=1e-12, atol=1e-12)
        again = sg.jacobian(gradient, mode="reverse")(x)
        assert np.allclose(again, exact, rtol=1e-11, atol=1e-12)
        twice = sg.jacobian(sg.jacobian(f, mode="forward"), mode="forward")(x)
        assert np.allclose(twice, exact, rtol=1e-11, atol=1e-12)


@programs
@pytest.mark.quick(1)
def test_third_derivatives_by_reverse_mode_alone(f: Callable[[Array], Any]) -> None:
    """What a loop wrote down has cotangents from several others then, which are added up."""
    x, u = POINTS[0], np.array([0.3, -0.8, 0.5])

    def along(f: Callable[[Array], Any]) -> Callable[[Array], Any]:
        return lambda x: np.sum(sg.grad(f)(x) * u)

    with sg.backend("numpy"):
        exact = sg.jvp(lambda x: sg.hvp(f, (x,), (u,)), (x,), (u,))[1]
        assert np.allclose(sg.grad(along(along(f)))(x), exact, rtol=1e-10, atol=1e-10)


@programs
@pytest.mark.quick(1)
def test_batches(f: Callable[[Array], Any]) -> None:
    each = [f(x) for x in POINTS]
    gradients = [sg.grad(f)(x) for x in POINTS]
    with sg.backend("numpy"):
        assert np.allclose(sg.vmap(f)(POINTS), each, rtol=1e-12)
        assert np.allclose(sg.vmap(sg.grad(f))(POINTS), gradients, rtol=1e-11, atol=1e-13)
        over = sg.grad(lambda xs: np.sum(sg.vmap(f)(xs)))(POINTS)
        assert np.allclose(over, gradients, rtol=1e-11, atol=1e-13)
    assert np.allclose(sg.vmap(sg.grad(f))(POINTS), gradients, rtol=1e-11, atol=1e-13)


@programs
def test_programs_are_data(f: Callable[[Array], Any], tmp_path: Any) -> None:
    x = POINTS[0]
    program = sg.grad(f).program(x)
    program.save(tmp_path / "gradient.json")
    loaded = sg.load(tmp_path / "gradient.json")
    assert loaded.fingerprint == program.fingerprint
    scope: dict[str, Any] = {}
    exec(program.source("gradient"), scope)
    assert np.array_equal(loaded(x), program(x))
    assert np.array_equal(scope["gradient"](x), program(x))
    assert str(loaded).count("\n") == str(program).count("\n")


# ---------------------------------------------------------------- what it costs


def test_code_is_independent_of_the_number_of_steps() -> None:
    def f(x: float, n: int) -> Any:
        return sg.fori_loop(0, n, lambda i, c: np.sin(c) + x, x)

    g = sg.grad(f)
    short, long = g.program(0.5, 10), g.program(0.5, 100_000)
    assert len(short.steps) == len(long.steps) < 12
    assert np.isfinite(g(0.5, 100_000))
    assert g.traces == 1


def test_a_gradient_runs_the_loop_once() -> None:
    """The loop that also writes its tapes takes the place of the one that does not."""
    program = sg.value_and_grad(scanned).program(POINTS[0])
    assert [n.op.name for n in program.steps].count("Loop") == 2


def test_what_nobody_uses_is_not_computed() -> None:
    def f(x: Array) -> Any:
        step = lambda c, v: ((c[0] + v, c[1] * np.exp(v)), (np.sin(c[0]), np.cosh(c[1])))  # noqa: E731
        (a, _), (b, _) = sg.scan(step, (0.0, 1.0), x)
        return a + np.sum(b)

    text = str(sg.compile(f).program(POINTS[0]))
    assert "sin" in text
    assert "exp" not in text
    assert "cosh" not in text


# ---------------------------------------------------------------- kinds of values


def test_no_steps() -> None:
    empty = np.zeros(0)
    for backend in ("numpy", "llvm"):
        with sg.backend(backend):  # type: ignore[arg-type]
            last, ys = sg.compile(lambda x: sg.scan(lambda c, v: (c * v, c), 3.0, x))(empty)
            assert last == 3.0
            assert ys.shape == (0,)
            assert sg.grad(lambda c, n: sg.fori_loop(0, n, lambda i, v: v * v, c))(2.0, 0) == 1.0
            assert sg.grad(lambda c: sg.while_loop(lambda v: v < 0, np.sin, c))(2.0) == 1.0


def test_element_types() -> None:
    single = np.ones(3, np.float32)
    last, ys = sg.compile(lambda x: sg.scan(lambda c, v: (c + v, (c > 1, c)), 0, x))(single)
    assert (last.dtype, ys[0].dtype, ys[1].dtype) == (np.float32, np.bool_, np.float32)
    found, n = sg.compile(
        lambda x: sg.while_loop(lambda s: s[1], lambda s: (s[0] * 2, s[0] < 50), (x, True))
    )(np.int32(3))
    assert (found, found.dtype, n) == (192, np.int32, False)


def test_closed_over_values_are_operands() -> None:
    """What does not change from step to step is computed outside of the loop."""
    table = np.arange(5.0)

    def f(x: float) -> Any:
        add = lambda i, c: c + np.exp(x) * snp.take(table, i) * np.sum(table)  # noqa: E731
        return sg.fori_loop(0, 5, add, 0.0)

    program = sg.compile(f).program(0.3)
    assert [n.op.name for n in program.steps].count("Exp") == 1
    assert np.isclose(sg.grad(f)(0.3), np.exp(0.3) * 100)


def test_a_checkpoint_of_plain_arrays_is_differentiated_by_what_it_closes_over() -> None:
    x, y = np.array([0.3, 0.8]), np.array([1.0, -2.0])

    def f(y: Array) -> Any:
        return np.sum(sg.checkpoint(lambda t: np.sin(t) * y)(x))

    with sg.backend("numpy"):
        np.testing.assert_allclose(sg.grad(f)(y), np.sin(x))


def test_growing_tapes_in_a_kernel() -> None:
    f = sg.value_and_grad(lambda x: sg.while_loop(lambda c: c > 1e-3, lambda c: c * x, 1.0))
    value, slope = f(0.999)
    steps = np.ceil(np.log(1e-3) / np.log(0.999))
    assert np.isclose(value, 0.999**steps)
    assert np.isclose(slope, steps * 0.999 ** (steps - 1), rtol=1e-9)


# ---------------------------------------------------------------- mistakes


class Mistake(NamedTuple):
    call: Callable[[Array], Any]
    error: type[Exception]
    says: str


MISTAKES = {
    "no pair": Mistake(lambda x: sg.scan(lambda c, v: c + v, 0.0, x), ArgumentError,
                       "must return the pair (carry, y)"),
    "structure": Mistake(lambda x: sg.scan(lambda c, v: ((c, v), v), 0.0, x), ArgumentError,
                         "structure * and returned (*, *)"),
    "shape": Mistake(lambda x: sg.fori_loop(0, 3, lambda i, c: c + x, 0.0), ShapeError,
                     "changes the shape of the carry c from () to (n=3,)"),
    "type": Mistake(lambda x: sg.fori_loop(0, 3, lambda i, c: c + 0.5, np.int32(0)), DTypeError,
                    "from int32 to float64"),
    "nothing to go along": Mistake(lambda x: sg.scan(lambda c, v: (c, v), x), ArgumentError,
                                   "length="),
    "lengths": Mistake(lambda x: sg.scan(lambda c, v: (c, v), 0.0, (x, x[1:])), ShapeError,
                       "there are"),
    "a number to go along": Mistake(lambda x: sg.scan(lambda c, v: (c, v), 0.0, 3.0), ShapeError,
                                    "needs an axis"),
    "no truth": Mistake(lambda x: sg.while_loop(lambda c: c, lambda c: c, x[0]), ArgumentError,
                        "one truth value"),
    "many truths": Mistake(lambda x: sg.while_loop(lambda c: c > 0, lambda c: c, x),
                           ArgumentError, "np.any"),
    "array of conditions": Mistake(lambda x: sg.cond(x > 0, np.sin, np.cos, x), ArgumentError,
                                   "np.where"),
    "different branches": Mistake(lambda x: sg.cond(x[0] > 0, lambda: (x, x), lambda: x),
                                  ArgumentError, "different structures"),
    "different shapes": Mistake(lambda x: sg.cond(x[0] > 0, lambda: x, lambda: x[:2]),
                                ShapeError, "all branches return the same shapes"),
    "real bounds": Mistake(lambda x: sg.fori_loop(0, x[0], lambda i, c: c, 0.0), ArgumentError,
                           "one integer"),
    "no branches": Mistake(lambda x: sg.switch(0, []), ArgumentError, "no branch"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    mistake = MISTAKES[name]
    with pytest.raises(mistake.error) as caught:
        sg.compile(mistake.call)(POINTS[0])
    assert mistake.says in str(caught.value)
    assert "test_control.py:" in str(caught.value)


def test_a_damaged_body_is_refused(tmp_path: Any) -> None:
    path = tmp_path / "program.json"
    sg.compile(scanned).program(POINTS[0]).save(path)
    data = json.loads(path.read_text())
    loop = next(s for s in data["steps"] if s["op"] == "Loop")
    body = loop["params"]["body"]["body"]
    for damage in (
        {**body, "outputs": body["outputs"][:1]},
        {**body, "inputs": body["inputs"][:-1]},
        {**body, "outputs": [99, 99]},
        {**body, "inputs": [{**x, "dtype": "float32"} for x in body["inputs"]]},
        [],
    ):
        loop["params"]["body"]["body"] = damage
        path.write_text(json.dumps(data))
        with pytest.raises((DataError, CycleError)):
            sg.load(path)


# ---------------------------------------------------------------- memory


def tapes(program: Any) -> int:
    """The bytes of the tapes of a program, those of the innermost bodies counted once."""
    sizes = {s: s.hint for s in program.sizes}
    total = 0
    for node in program.steps:
        if node.op.kind == "tape":
            length = node.operands[0].params["length"]
            steps = int(length.xreplace(sizes)) if hasattr(length, "xreplace") else length
            total += steps * int(np.prod(node.shape)) * node.dtype.itemsize
        inner = [tapes(program.of(b)) for b in node.params.values() if hasattr(b, "outputs")]
        total += max(inner, default=0)
    return total


@pytest.mark.parametrize(
    ("memory", "reverse"),
    [(2000, False), (400, True), *(pytest.param(m, r, marks=pytest.mark.slow)
                                   for m, r in ((700, False), (700, True), (300, False)))],
)  # fmt: skip
@pytest.mark.quick(1)
def test_memory_limits(memory: int, reverse: bool) -> None:
    def f(x: Array, memory: int | None) -> Any:
        step = lambda c, v: (np.tanh(c * 1.1 + v), c * v)  # noqa: E731
        last, ys = sg.scan(step, 0.3, x, reverse=reverse, memory=memory)
        return last * np.sum(ys * x)

    x = np.random.default_rng(0).random(103)
    free, limited = (sg.grad(lambda x, m=m: f(x, m)) for m in (None, memory))
    assert tapes(limited.program(x)) <= memory
    assert tapes(free.program(x)) >= 103 * 8
    for n in (103, 77, 21, 5):
        assert np.allclose(limited(x[:n]), free(x[:n]), rtol=1e-13)
        assert np.allclose(limited(x[:n]), slopes(lambda v: f(v, None), x[:n]), rtol=1e-8)
    longer = np.concatenate([x, x])  # another plan, by a guard
    assert np.allclose(limited(longer), free(longer), rtol=1e-13)
    assert tapes(limited.program(longer)) <= memory


def test_a_branch_that_fixes_a_size() -> None:
    """Branches may write one shape in two ways: as a size, and as the number that it is."""

    def f(x: Any) -> Any:
        return sg.cond(x[0] > 0.0, lambda v: 2.0 * v, lambda v: np.zeros(int(v.shape[0])), x)

    g = sg.compile(f, backend="numpy")
    for n in (4, 5):
        np.testing.assert_array_equal(g(np.ones(n)), 2.0 * np.ones(n))
        np.testing.assert_array_equal(g(-np.ones(n)), np.zeros(n))
    np.testing.assert_array_equal(sg.jacobian(f)(np.ones(3)), 2.0 * np.eye(3))
    other = lambda v: np.zeros(int(v.shape[0]) + 1)  # noqa: E731
    with pytest.raises(ShapeError, match="all branches return the same shapes"):
        sg.compile(lambda x: sg.cond(x[0] > 0.0, lambda v: v, other, x))(np.ones(3))


def test_memory_limits_of_second_order() -> None:
    def f(a: float, memory: int | None) -> Any:
        return sg.fori_loop(0, 100, lambda i, c: np.sin(c * a + 0.01 * i), 0.5, memory=memory)

    exact = sg.grad(sg.grad(lambda a: f(a, None)))(0.9)
    assert np.isclose(sg.grad(sg.grad(lambda a: f(a, 500)))(0.9), exact, rtol=1e-12)


@pytest.mark.parametrize("memory", [None, 1000, 100])
@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.quick(1)
def test_memory_of_unknown_length(memory: int | None, backend: Any) -> None:
    def f(a: float) -> Any:
        step = lambda c: (c[0] * a, c[1] + np.sin(c[0]))  # noqa: E731
        return sg.while_loop(lambda c: c[0] > 1e-2, step, (1.0, 0.0), memory=memory)[1]

    with sg.backend(backend):
        assert np.isclose(sg.grad(f)(0.98), (f(0.98 + 1e-7) - f(0.98 - 1e-7)) / 2e-7)
        by_hand = sg.grad(sg.grad(lambda a: sum(np.sin(a**k) for k in range(228))))(0.98)
        assert np.isclose(sg.grad(sg.grad(f))(0.98), by_hand)


def test_too_little_memory() -> None:
    with pytest.raises(ArgumentError, match="at least"):
        sg.compile(lambda x: sg.scan(lambda c, v: (c * v, None), 1.0, x, memory=8))(np.ones(99))
    with pytest.raises(ArgumentError, match="number of bytes"):
        sg.compile(lambda x: sg.scan(lambda c, v: (c * v, None), 1.0, x, memory="a lot"))(
            np.ones(9)
        )


def loops_within(memory: Any) -> list[Callable[[float], Any]]:
    return [
        lambda a: sg.scan(lambda c, v: (c * a + v, None), a, np.ones(9), memory=memory)[0],
        lambda a: sg.fori_loop(0, 9, lambda i, c: c * a, a, memory=memory),
        lambda a: sg.while_loop(lambda c: c < 9.0, lambda c: c * a, a, memory=memory),
    ]


@pytest.mark.parametrize("memory", [True, np.True_, 1.5, "1", "1MX", "-1 MB", [1], -5, 0, "0 kB"])
def test_memory_is_checked_at_once(memory: Any) -> None:
    """In plain calls, too: True is not one byte, and text has a unit."""
    for f in loops_within(memory):
        for call in (f, sg.compile(f), sg.grad(f)):
            with pytest.raises(ArgumentError, match=r"number of bytes|leaves no memory"):
                call(1.5)


@pytest.mark.parametrize("memory", ["1MB", "1.5 kB", ".5 GiB", "2000 B", np.int64(10**6)])
def test_memory_in_units(memory: Any) -> None:
    for f, free in zip(loops_within(memory), loops_within(None), strict=True):
        assert f(1.5) == free(1.5)
        assert sg.grad(f)(1.5) == sg.grad(free)(1.5)


# ---------------------------------------------------------------- formulas


@pytest.mark.slow
@pytest.mark.parametrize("f", [scanned, until, branched, nested, until_in_scan, recomputed],
                         ids=lambda f: f.__name__)  # fmt: skip
def test_loops_are_verified(f: Callable[[Array], Any]) -> None:
    """Against exact values of the loop written out."""
    for x in POINTS:
        assert sg.verify(f, x)


def test_loops_in_mathematics() -> None:
    f = lambda x: sg.fori_loop(0, 2, lambda i, c: np.sin(c) * x + i, 1.0)  # noqa: E731
    assert str(sg.symbolic(f, 0.5)) == "x*sin(x*sin(1)) + 1"
    with pytest.raises(UnsupportedError, match="has no formula"):
        sg.symbolic(lambda x: sg.scan(lambda c, v: (c * v, None), 1.0, x)[0], np.ones(30))
    assert "operatorname{Loop}" in sg.compile(f).program(0.5).latex()
    page = io.StringIO()
    sg.show(sg.grad(f), 0.5, file=page)
    assert "loop(" in page.getvalue()


# ---------------------------------------------------------------- reading by index


def read_rows(x: Array) -> Any:
    """Elements and rows of arrays that the loop closes over, at places of all kinds."""
    table = np.outer(x, np.cos(x[:90]))
    n = x.shape[0]

    def step(i: Any, c: Any) -> Any:
        c = np.sin(c * x[i]) + x[(i * i) % n] * x[0] + x[n - 1 - i]
        return c + np.sum(table[i]) * table[3, i % 90]

    return sg.fori_loop(0, 90, step, 0.3)


@pytest.mark.slow
def test_reading_elements_costs_elements() -> None:
    """The cotangent of an array is not added up as a whole in each step."""
    x = np.linspace(0.1, 0.9, 100)
    g = sg.grad(read_rows)
    direction = np.cos(np.arange(100.0))
    exact = (read_rows(x + 1e-6 * direction) - read_rows(x - 1e-6 * direction)) / 2e-6
    for backend in ("numpy", "llvm"):
        with sg.backend(backend):  # type: ignore[arg-type]
            assert np.isclose(g(x) @ direction, exact, rtol=1e-7)
    program = g.program(x)
    backward = [n for n in program.steps if n.op.name == "Loop"][-1]
    body = program.of(backward.params["body"])
    largest = max(int(np.prod([getattr(d, "hint", d) for d in y.shape])) for y in body.outputs)
    assert largest <= 100  # a row, not the table of 9000
    with sg.backend("numpy"):
        second = sg.jvp(sg.grad(read_rows), (x,), (direction,))[1]
        near = (g(x + 1e-6 * direction) - g(x - 1e-6 * direction)) / 2e-6
        assert np.allclose(second, near, rtol=1e-5, atol=1e-5)
        both = np.stack([x, x[::-1]])
        assert np.allclose(sg.vmap(g)(both)[1], g(x[::-1]), rtol=1e-10)


def test_values_of_a_step_stay_in_it() -> None:
    kept = []

    def leaks(x: float) -> Any:
        sg.fori_loop(0, 3, lambda i, c: (kept.append(c * x), c)[1], x)
        return kept[0] * x

    words = r"made at .*test_control.*used outside of it.*return it"
    for transform in (sg.grad, sg.value_and_grad, sg.hessian):
        with pytest.raises(TraceError, match=words):
            transform(leaks)(1.0)


def test_a_loop_starts_with_the_one_element_of_an_array() -> None:
    def grown(p: Any) -> Any:
        start = (np.array([1.0]) - p) ** 2
        return sg.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + s[1][0], s[1]),
                             (np.reshape(start, ()), start))  # fmt: skip

    value, start = sg.compile(grown)(3.0)
    assert (value, start.tolist()) == (12.0, [4.0])


# ---------------------------------------------------------------- slopes before loops


def _unused_in_steps(x: Any) -> Any:
    s = np.sqrt(x)
    return sg.fori_loop(0, 3, lambda i, c: np.where(x > 0, c + s, c + x), 0.0)


def _no_steps(x: Any) -> Any:
    s = np.sqrt(x)
    return sg.while_loop(lambda c: c < x, lambda c: c + s, 2 * x)


def _overwritten(x: Any) -> Any:
    s = np.sqrt(x)
    return sg.scan(
        lambda c, k: (sg.cond(k == 2, lambda: 3 * x, lambda: c + s), c), s, np.arange(3)
    )[0]


def _rows(x: Any) -> Any:
    rows = np.stack([np.sqrt(x), x, 2 * x])
    return sg.scan(lambda c, r: (np.where(r < 0, c + r, c + x), 0.0), 0.0 * x, rows)[0]


def _within_steps(x: Any) -> Any:
    return sg.fori_loop(0, 2, lambda i, c: (np.sqrt(c[1]), c[1] + x), (x, 0 * x))[1]


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize(("f", "slope"), [
    (_unused_in_steps, 3.0), (_no_steps, 2.0), (_overwritten, 3.0), (_rows, 3.0),
    (_within_steps, 2.0),
])  # fmt: skip
@pytest.mark.parametrize("batched", [False, True])
def test_an_infinite_slope_before_a_loop_that_does_not_use_it(
    f: Any, slope: float, batched: bool
) -> None:
    if batched:
        np.testing.assert_array_equal(sg.vmap(sg.grad(f))(np.zeros(2)), slope)
    else:
        assert sg.grad(f)(0.0) == slope


@pytest.mark.usefixtures("no_kernels")
def test_elements_before_a_loop_of_which_some_do_not_count() -> None:
    def f(x: Any) -> Any:
        s = np.sqrt(x)
        return np.sum(sg.fori_loop(0, 3, lambda i, c: np.where(x > 0, c + s, c + x), 0.0 * x))

    np.testing.assert_allclose(sg.grad(f)(np.array([0.0, 4.0])), [3.0, 0.75])


def _rows_of_two_uses(v: Any, loops: Any = sg) -> Any:
    """The last row is not used: its cotangent does not count."""
    v = np.sin(v) + v
    return loops.scan(lambda s, y: (0.9 * s + y, s * s), np.zeros(v.shape[1:]), v)[1]


def _rows_that_branches_use(v: Any, loops: Any = sg) -> Any:
    v = np.sqrt(v)

    def step(s: Any, y: Any) -> Any:
        small = s.ravel()[0] < 2
        return loops.cond(small, lambda s, y: s + y, lambda s, y: s, s, y), s * s

    return loops.scan(step, np.ones(v.shape[1:]), v)[1]


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize("f", [_rows_of_two_uses, _rows_that_branches_use])
@pytest.mark.parametrize("shape", [(3, 3, 3), (4, 3, 2), (2, 3, 1), (5, 1, 1), (2, 2, 2, 2)])
def test_rows_of_several_axes_of_which_some_do_not_count(f: Any, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    x, along = rng.uniform(0.2, 1.0, shape), rng.normal(size=shape)
    ends = [np.sum(f(x + h * along, PLAIN_LOOPS)) for h in (1e-6, -1e-6)]
    slope = pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-7)
    gradient = sg.grad(lambda x: np.sum(f(x)))
    assert gradient(x).shape == shape
    assert np.sum(gradient(x) * along) == slope
    both = np.stack([x, x[::-1]])
    each = sg.grad(lambda x: np.sum(sg.vmap(f)(x)))(both)
    np.testing.assert_allclose(each, [gradient(x), gradient(x[::-1])], rtol=1e-13)
    np.testing.assert_allclose(sg.vmap(gradient)(both), each, rtol=1e-13)


def _written_twice(v: Any, t: Any) -> Any:
    a, b = np.array(v), np.array(v)
    a[1] = t
    b[3] = a[1] + a[0]
    return a, b


def _written_on(v: Any, t: Any) -> Any:
    v = np.array(v)
    v[1] = t
    kept = np.array(v)
    v[2] = 2.0 * t
    return v, kept


def _before_a_loop(v: Any, t: Any) -> Any:
    v = sg.fori_loop(0, 1, lambda i, u: 0.5 * u + t, v)
    return sg.fori_loop(0, 2, lambda i, u: u * t, v), v


def _written_and_looped(v: Any, t: Any) -> Any:
    a = np.array(v)
    a[0] = t
    b, c = np.array(a), np.array(a)
    b[2] = t - 1.0
    return sg.fori_loop(0, 2, lambda i, u: u * t, c), b


@pytest.mark.parametrize("n", [5, 100])
@pytest.mark.parametrize("step", [_written_twice, _written_on, _before_a_loop, _written_and_looped])
def test_what_is_written_over_in_a_step_stays_where_something_else_has_it(
    step: Any, n: int
) -> None:
    """Carries are written where they lie, results of the same step are not."""
    x, times = np.linspace(0.5, 1.5, n), np.array([0.25, 0.5, 2.0])

    def plain(lower: Any, upper: Any, body: Any, value: Any) -> Any:
        for k in range(lower, upper):
            value = body(k, value)
        return value

    rows, last, kept = [], x, x
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sg, "fori_loop", plain)
        for t in times:
            last, kept = step(last, t)
            rows.append(kept)
    stacked = sg.compile(lambda x: sg.scan(step, x, times))(x)
    carried = sg.compile(lambda x: sg.scan(lambda c, t: (step(c[0], t), 0.0), (x, x), times)[0])(x)
    np.testing.assert_allclose(stacked[0], last, rtol=1e-14)
    np.testing.assert_allclose(stacked[1], rows, rtol=1e-14)
    np.testing.assert_allclose(carried, [last, kept], rtol=1e-14)


READ_IN_PARTS = {
    "scan": lambda r, k: sg.scan(lambda c, i: (c + r[i] ** 2, None), 0.0, k)[0],
    "counted": lambda r, k: sg.fori_loop(0, len(k), lambda i, c: c + r[k[i]] ** 2, 0.0),
    "from the end": lambda r, k: sg.fori_loop(
        0, len(k), lambda i, c: c + r[k[i] - len(r)] ** 2, 0.0
    ),
    "while": lambda r, k: sg.while_loop(
        lambda c: c[0] < len(k), lambda c: (c[0] + 1, c[1] + r[k[c[0]]] ** 2), (0, 0.0)
    )[1],
    "two reads": lambda r, k: sg.fori_loop(
        0, len(k), lambda i, c: c + r[k[i]] * r[k[::-1][i]] + 0.0 * c, 0.0
    ),
    "parts": lambda r, k: sg.fori_loop(
        0, len(k), lambda i, c: c + np.sum(r[k[i] + np.arange(1)] ** 2), 0.0
    ),
    "nested": lambda r, k: sg.fori_loop(0, 2, lambda _, c: sg.fori_loop(
        0, len(k), lambda i, t: t + r[k[i]] ** 2 / 2, c
    ), 0.0),
    "rows": lambda r, k: sg.scan(
        lambda c, row: (c + np.sum(row[k] ** 2) / 2, None), 0.0, np.stack([r, r])
    )[0],
    "carried": lambda r, k: sg.fori_loop(
        0, len(k), lambda i, c: (c[0] + c[1][k[i]] ** 2, c[1]), (0.0, r)
    )[0],
    "roots in each step": lambda r, k: sg.fori_loop(
        0, 3, lambda i, c: (c[0] + np.sum(c[1][k] ** (2.0 ** (i + 1))) / 3, np.sqrt(c[1])), (0.0, r)
    )[0],
    "carried into a nested loop": lambda r, k: sg.fori_loop(0, 2, lambda _, c: (sg.fori_loop(
        0, len(k), lambda i, t: t + c[1][k[i]] ** 2 / 2, c[0]
    ), c[1]), (0.0, r))[0],
    "branch": lambda r, k: sg.cond(len(r) > 1, lambda: np.sum(r[k] ** 2), lambda: r[0]),
    "branch in a loop": lambda r, k: sg.fori_loop(0, len(k), lambda i, c: c + sg.cond(
        i >= 0, lambda: r[k[i]] ** 2, lambda: np.sum(r)
    ), 0.0),
    "nested in a branch": lambda r, k: sg.fori_loop(0, 2, lambda _, c: sg.cond(
        c < 1e9, lambda: sg.fori_loop(0, len(k), lambda i, t: t + r[k[i]] ** 2 / 2, c),
        lambda: r[0],
    ), 0.0),
}  # fmt: skip


@pytest.mark.parametrize("size", [5, 100], ids=["few", "many"])
@pytest.mark.parametrize("form", READ_IN_PARTS)
def test_elements_that_no_step_of_a_loop_reads(form: str, size: int) -> None:
    """Their slopes are infinite, and their derivatives 0."""
    x = np.zeros(size)
    k = np.arange(1, size, 3)
    x[k] = 1.0 + k

    def f(x: Any, k: Any) -> Any:
        return READ_IN_PARTS[form](np.sqrt(x), k)

    palindrome = np.sqrt(x[k]) * np.sqrt(x[k])[::-1] if form == "two reads" else x[k]
    np.testing.assert_allclose(f(x, k), np.sum(palindrome), rtol=1e-13)
    wanted = np.zeros(size)
    wanted[k] = np.sqrt(x[k])[::-1] / np.sqrt(x[k]) if form == "two reads" else 1.0
    for g in (sg.grad(f), lambda *a: sg.vmap(sg.grad(f), in_axes=(0, None))(a[0][None], a[1])[0]):
        np.testing.assert_allclose(g(x, k), wanted, rtol=1e-12)
    at_zero = sg.grad(f)(x, np.array([0, 1]))
    assert not np.isfinite(at_zero[0])
    np.testing.assert_array_equal(at_zero[2:], 0.0)
