"""Python's own control flow, rewritten from the source: ``compile(control_flow=True)``."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import symgrad as sg
import symgrad.numpy as snp
from symgrad.errors import ArgumentError, PathsWarning, SymgradError, TraceError

pytestmark = pytest.mark.usefixtures("few_kernels")

Array = np.ndarray[Any, Any]
BONUS = 2.0


def branches(x: Array, n: int) -> Any:
    total = 0.0
    for k in range(n):
        if x[k % 3] > 0.5 and total < 20:
            total = total + np.sin(x[0]) * k
        elif not total > 3:
            total += BONUS
        else:
            extra = x[1] if x[1] > 0 else -x[1]
            total -= extra
    return total


def until(x: Array, n: int) -> Any:
    err, count = np.sum(x**2) + 1.0, 0
    while 1e-9 < err < 1e-3 or not err <= 1e-3 or count < n:
        err = err * np.cos(x[2]) * 0.5
        count += 1
    return err * count


def early(x: Array, n: int) -> Any:
    if x[0] < 0:
        return x[1] ** 2
    y = x[0] * x[1]
    if y > 1:
        y = y * n
        if x[2] > 0:
            return y
        y = y + 1
    return np.sin(y)


def nested(x: Array, n: int) -> Any:
    total = x[0]
    for i in range(1, n, 2):
        inner = 1.0
        for j in range(i):
            inner = inner * np.sin(x[1] + j)
        while inner > 0.1:
            inner = inner * 0.5
        total = total + inner * i
    for i in range(n, 0, -3):
        total = total - x[2] / i
    return total


def assigned(x: Array, n: int) -> Any:
    """Elements are assigned to, in a loop and on one side of a branch."""
    y = snp.zeros(20)
    for k in range(20):
        y[k] = np.cos(x[0] * k)
        if y[k] > 0.5:
            y[k] = x[1]
    return np.sum(y * y)


def unrolled(x: Array, n: int) -> Any:
    """What Python has to do itself: lists, tuples, calls for their effect, break."""
    parts = []
    for k in range(12):
        parts.append(x[k % 3] ** k)  # noqa: PERF401  what is tested
    for w, p in zip((1.0, 2.0), parts, strict=False):
        parts.append(w * p)
    total = sum(parts)
    for k in range(12):
        total = total + math.factorial(k)
    for _ in range(50):
        total = total * 0.5
        if total < 3:
            break
    return total


FUNCTIONS: list[Callable[[Array, int], Any]] = [
    branches, until, early, nested, assigned, unrolled,
]  # fmt: skip
POINTS = [np.array(p) for p in ([1.2, 0.9, 0.4], [1.2, 0.9, -0.4], [-0.3, 0.4, 0.2])]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_functions_as_they_stand(f: Callable[..., Any], backend: Any) -> None:
    g = sg.value_and_grad(sg.compile(f, control_flow=True))
    with sg.backend(backend):
        for x in POINTS:
            for n in (11,):
                value, gradient = g(x, n)
                assert np.isclose(value, f(x, n), rtol=1e-12)
                e = 1e-6 * np.eye(3)
                slope = [(f(x + d, n) - f(x - d, n)) / 2e-6 for d in e]
                assert np.allclose(gradient, slope, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("f", FUNCTIONS[:5], ids=lambda f: f.__name__)
@pytest.mark.quick(2)
def test_one_trace_for_all_paths(f: Callable[..., Any]) -> None:
    g = sg.compile(f, control_flow=True)
    for x in POINTS:
        for n in (9, 30):
            assert np.isclose(g(x, n), f(x, n), rtol=1e-12)
    assert g.traces == 1
    each = [f(x, 9) for x in POINTS]
    assert np.allclose(sg.vmap(g, in_axes=(0, None))(np.stack(POINTS), 9), each)


def test_lines_are_the_users() -> None:
    program = sg.compile(until, control_flow=True).program(POINTS[0], 3)
    first = until.__code__.co_firstlineno
    lines = {n.where.line - first for n in program.steps if n.where}
    assert lines <= {1, 2, 3, 5}
    assert all(n.where.filename == __file__ for n in program.steps if n.where)
    inner = program.of(next(n for n in program.steps if n.op.name == "Loop").params["body"])
    assert {n.where.line - first for n in inner.steps} >= {3, 4}


def test_closures_and_defaults() -> None:
    scale = 3.0

    def f(x: Any, *, power: int = 2) -> Any:
        def helper(y: Any) -> Any:
            if y > 1:
                return y * scale
            return -y

        return helper(x) ** power

    g = sg.compile(f, control_flow=True)
    assert (g(2.0), g(0.5)) == (36.0, 0.25)
    scale = 1.0
    assert sg.compile(f, control_flow=True)(2.0, power=3) == 8.0


def test_mistakes() -> None:
    def one_side(x: Any) -> Any:
        if x > 0:
            z = 1.0
        return z + x

    with pytest.raises(TraceError, match=r"no value on all ways.*test_control_flow.py:"):
        sg.compile(one_side, control_flow=True)(1.0)

    def shapes(x: Any) -> Any:
        y = 0.0
        while np.sum(x) + np.sum(y) < 10:
            y = y + x
        return y

    with pytest.raises(SymgradError, match="changes the shape of the carry") as caught:
        sg.compile(shapes, control_flow=True)(np.ones(3))
    line = shapes.__code__.co_firstlineno + 2
    assert f"test_control_flow.py:{line}" in str(caught.value)
    with pytest.raises(ArgumentError, match="`def`"):
        sg.compile(np.sin, control_flow=True)


@sg.compile(control_flow=True)
def decorated(x: Any, n: int) -> Any:
    total = 0.0
    for k in range(n):
        if x > k:
            total = total + x
    return total


class Posterior:
    scale = 2.0

    def __call__(self, x: Any) -> Any:
        if not np.isfinite(x):
            return -np.inf
        return -self.scale * x**2

    def one_sided(self, x: Any) -> Any:
        if x > 0:
            return self.scale * x
        return -x


@pytest.mark.parametrize("take", [lambda p: p, lambda p: p.one_sided], ids=["object", "method"])
def test_methods_and_objects_that_are_called(take: Any) -> None:
    posterior, x = Posterior(), np.array([1.0, np.inf, -3.0])
    f = sg.vmap(sg.compile(take(posterior), control_flow=True))
    for scale in (2.0, 3.0):
        posterior.scale = scale
        np.testing.assert_array_equal(f(x), [take(posterior)(t) for t in x])


def test_as_a_decorator() -> None:
    assert (decorated(2.5, 20), decorated(1.5, 20)) == (7.5, 3.0)
    assert sg.grad(decorated)(2.5, 20) == 3.0
    first = decorated.__wrapped__.__code__.co_firstlineno  # the decorator's line
    lines = {n.where.line - first for n in decorated.program(2.5, 20).steps if n.where}
    assert lines <= {3, 4, 5}


def relax(a: Array, k: float) -> None:
    a[1:-1] = k * (a[2:] + a[:-2])


def sweeps(a: Array, n: int) -> None:
    for k in range(n):
        a[1:-1] += 0.1 * k
        relax(a, 0.5)


def to_rest(a: Array, n: int) -> None:
    change = 1.0
    while change > 0.01 * n:
        before = a.copy()
        relax(a, 0.5)
        change = np.max(np.abs(a - before))


def one_of_two(a: Array, n: int) -> None:
    same = a
    if a[0] > 0:
        same[0] = n
    else:
        relax(a, a[1])
        a.fill(2.0)
    a *= 3


def stops_early(a: Array, n: int) -> None:
    if a[0] > 0:
        a[1] = n * a[0]
        return
    a[2] = a[0] ** 2


@pytest.mark.parametrize(
    ("f", "first"),
    [(f, 0.7) for f in (sweeps, to_rest, one_of_two, stops_early)]
    + [(f, -0.7) for f in (one_of_two, stops_early)],
)
@pytest.mark.slow
def test_overwritten_arguments_are_results(f: Callable[..., Any], first: float) -> None:
    a = np.array([first, 2.0, -1.0, 0.5, 3.0])
    compiled = sg.compile(f, control_flow=True)
    got, before = compiled(a, 12), a.copy()
    np.testing.assert_array_equal(a, before)
    f(before, 12)
    np.testing.assert_allclose(got, before, rtol=1e-14)
    weights = np.arange(1.0, 6.0)
    slope = sg.grad(lambda a: np.sum(weights * compiled(a, 12)))(a)
    plain = sg.grad(lambda a: np.sum(weights * sg.compile(f)(a, 12)))(a)
    np.testing.assert_allclose(slope, plain, rtol=1e-13, atol=1e-15)


def test_calls_for_their_effect_stay_rolled() -> None:
    assert len(sg.compile(sweeps, control_flow=True).program(np.ones(5), 40).steps) < 9


def test_one_array_under_two_names() -> None:
    def both(a: Array, n: int) -> None:
        b = a
        for _ in range(n):
            b[0] += 1.0
            a[0] *= 2.0

    with pytest.raises(TraceError, match=r"are one array.*use one name"):
        sg.compile(both, control_flow=True)(np.ones(3), 20)

    def moves_on(a: Array, n: int) -> None:
        for _ in range(n):
            a[0] += 1.0
            a = a * 2.0

    with pytest.raises(TraceError, match="Give the copy another name"):
        sg.compile(moves_on, control_flow=True)(np.ones(3), 20)


# ---------------------------------------------------------------- other names and views

LENGTH = 20


def view_read_in_the_loop(x: Any) -> Any:
    y, s = 1.0 * x, 0.0
    v = y[1:4]
    for i in range(1, LENGTH):
        y[i] = np.sin(y[i - 1])
        s = s + v[1]
    return s


def view_read_after_the_loop(x: Any) -> Any:
    y = 1.0 * x
    v = y[1:4]
    for i in range(1, LENGTH):
        y[i] = np.sin(y[i - 1])
    return np.sum(v)


def other_name(x: Any) -> Any:
    y, s = 1.0 * x, 0.0
    z = y
    for i in range(1, LENGTH):
        y[i] = np.sin(y[i - 1])
        s = s + z[i]
    return s


def written_through_a_view(x: Any) -> Any:
    y, s = 1.0 * x, 0.0
    row = y[2:]
    for i in range(1, LENGTH - 2):
        row[i] = np.sin(row[i - 1])
        s = s + y[i]
    return s


def both_written(x: Any) -> Any:
    y = 1.0 * x
    row = y[2:]
    for i in range(1, LENGTH - 2):
        row[i] = np.sin(row[i - 1])
        y[i] = y[i] + row[i]
    return np.sum(y)


def row_of_a_step(x: Any) -> Any:
    y = np.reshape(1.0 * x, (10, 2))
    for i in range(1, 10):
        row = y[i]
        row[0] = np.sin(y[i - 1, 1])
    return np.sum(y * y)


def row_read_again(x: Any) -> Any:
    y, s = np.reshape(1.0 * x, (10, 2)), 0.0
    for i in range(1, 10):
        row = y[i]
        y[i, 0] = np.sin(y[i - 1, 1])
        s = s + row[0]
    return s


def part_of_a_row_added_to(x: Any) -> Any:
    y = np.reshape(1.0 * x, (10, 2))
    for i in range(1, 10):
        part = y[i, 1:]
        part += y[i - 1, 0]
    return np.sum(y * y)


def view_in_a_branch(x: Any) -> Any:
    y = 1.0 * x
    v = y[2:5]
    if y[0] > 0.5 * np.sum(x[:2]) - 1:
        v *= 2.0
        y[3] += v[2]
        v[0] = y[1]
    return np.sum(y * y) + v[1]


def view_and_branch_in_a_loop(x: Any) -> Any:
    y = np.reshape(1.0 * x, (10, 2))
    for i in range(1, 10):
        row = y[i]
        part = row[1:]
        if y[i - 1, 0] > 0.3:
            part[0] += 1.5 * y[0, 0]
            y[i, 0] += row[1]
    return np.sum(y * y)


def written_by_a_function(x: Any) -> Any:
    y, s = 1.0 * x, 0.0
    for i in range(1, LENGTH):
        v = y[::-1]
        if y[0] > -1:
            np.multiply(v, 1.0 + 0.01 * i, out=v)
        s = s + y[i]
    return s


def written_by_a_function_whose_result_is_used(x: Any) -> Any:
    def turned(a: Any, i: int) -> Any:
        a[i] = np.sin(a[i - 1])
        return a[i] * a[0]

    y, s = 1.0 * x, 0.0
    for i in range(1, LENGTH):
        s = s + turned(y, i)
    return s + np.sum(y)


def parts_of_complex_numbers(x: Any) -> Any:
    z = x + 1j * x[::-1]
    real, part = z.real, z[1:]
    for i in range(1, LENGTH - 1):
        z[i] *= 1j
        if z[0].real > 0:
            z[i + 1] -= 0.5 * x[0]
    if z[1].imag > -9:
        part[0] *= 2.0
        z[3] += part[1]
    return np.sum(real * real) + np.sum(np.abs(z))


ALIASES = [
    view_in_a_branch, view_and_branch_in_a_loop, written_by_a_function, parts_of_complex_numbers,
    written_by_a_function_whose_result_is_used, view_read_in_the_loop, view_read_after_the_loop,
    other_name, written_through_a_view, both_written, row_of_a_step, row_read_again,
    part_of_a_row_added_to,
]  # fmt: skip


@pytest.mark.parametrize("f", ALIASES, ids=lambda f: f.__name__)
@pytest.mark.quick(1)
def test_other_names_mean_what_they_do_in_python(f: Any) -> None:
    x = np.linspace(0.1, 0.9, LENGTH)
    rolled = sg.compile(f, control_flow=True)
    np.testing.assert_allclose(rolled(x), f(x), rtol=1e-13)
    direction = np.cos(np.arange(float(LENGTH)))
    near = (f(x + 1e-6 * direction) - f(x - 1e-6 * direction)) / 2e-6
    np.testing.assert_allclose(sg.grad(rolled)(x) @ direction, near, rtol=1e-7)


@pytest.mark.parametrize("f", [row_of_a_step, row_read_again, part_of_a_row_added_to])
def test_rows_of_a_step_stay_in_the_loop(f: Any) -> None:
    program = sg.compile(f, control_flow=True).program(np.ones(LENGTH))
    assert any(n.op.name == "Loop" for n in program.steps)


def test_names_that_are_not_followed_are_refused() -> None:
    """A loop of unknown length cannot be written out."""

    def view(x: Any) -> Any:
        y, s = 1.0 * x, 0.0
        v = y[1:4]
        while s < 2:
            y[2] = y[2] * 1.1
            s = s + v[1]
        return s

    def shared(x: Any) -> Any:
        y = 1.0 * x
        row = y[2:]
        while y[3] < 2:
            row[1] = row[1] * 1.5
            y[3] = y[3] + 0.1
        return np.sum(y)

    def by_another(x: Any) -> Any:
        def halved(a: Any) -> Any:
            a *= 0.5
            return a[0]

        y, s = 1.0 * x, 0.0
        while s < 2:
            s = s + 0.5 + halved(y)
        return np.sum(y)

    def tested(x: Any) -> Any:
        y = 1.0 * x
        v = y[0:1]
        while v[0] < 4:
            y[0] = y[0] * 2
        return y[0]

    x = np.linspace(0.1, 0.9, LENGTH)
    for f, text in (
        (view, r"assigns to elements of 'y', and uses .*view.*test_control_flow.py"),
        (shared, "which shares its memory"),
        (tested, "not followed"),
        (by_another, r"to an array from around it \(shape .*test_control_flow.py"),
    ):
        with pytest.raises(TraceError, match=text):
            sg.compile(f, control_flow=True)(x)


def test_bodies_do_not_assign_to_arrays_around_them() -> None:
    """What they did would be done once, and whether they run or not."""

    def stepped(x: Array) -> Any:
        y = x * 1

        def body(i: Any, c: Any) -> Any:
            y[0] = 5.0
            return c + 1

        return y + sg.fori_loop(0, 3, body, 1.0)

    def chosen(x: Array) -> Any:
        y = x * 1

        def side() -> Any:
            y[0] *= 2
            return y[1]

        return y + sg.cond(x[0] > 5, side, lambda: x[2])

    for f in (stepped, chosen):
        with pytest.raises(TraceError, match=r"from around it.*pass the array in"):
            sg.compile(f)(np.ones(3))

    def rows(x: Array) -> Any:  # a row is the step's own
        def body(c: Any, row: Any) -> Any:
            row[0] = c
            return c + np.sum(row), row

        return sg.scan(body, 0.0, x)[1]

    x = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(sg.compile(rows)(x)[:, 0], [0.0, 1.0, 5.0])


def test_checkpointed_functions_may_assign_to_their_arguments() -> None:
    def f(x: Array, wrap: Any) -> Any:
        def written(a: Any, k: int) -> Any:
            a[k] = np.sin(a[0])
            return np.sum(a)

        y = x * 1.0
        total = wrap(written)(y, 2)
        return total + np.sum(y * y)

    x = np.array([0.3, 0.7, 2.0])
    kept, plain = (
        sg.value_and_grad(lambda x, w=w: f(x, w))(x) for w in (sg.checkpoint, lambda g: g)
    )
    np.testing.assert_allclose(kept[0], plain[0], rtol=1e-15)
    np.testing.assert_allclose(kept[1], plain[1], rtol=1e-15)


@pytest.mark.parametrize("use", ["s[0] = 1.0", "np.sin(s)", "np.diagonal(s)", "float(s)", "s + 1"])
def test_what_has_no_value_on_one_way_is_named(use: str) -> None:
    source = f"def f(x):\n    if x[0, 0] > 0:\n        s = x * 1\n    {use}\n    return x\n"
    path = Path(tempfile.mkdtemp()) / "unset.py"
    path.write_text(source)
    found: dict[str, Any] = {"np": np}
    exec(compile(source, str(path), "exec"), found)
    with pytest.raises(TraceError, match=r"no value on all ways.*unset.py:4"):
        sg.compile(found["f"], control_flow=True)(np.ones((3, 3)))


def test_branches_in_a_row_do_not_hold_one_another() -> None:
    """What a branch reads of the one before is not computed again on each of its sides."""

    def f(x: Array, y: Array) -> Any:
        z = y.copy()
        v = z[::-1]
        for i in range(8):  # the view keeps it from being rolled
            if x[0] > 0.3:
                v[i % 3] -= z[1]
            x[[(i + 1) % 3]] = 0.5 * i
        return v, x, z

    compiled = sg.compile(sg.adapt(f), control_flow=True)
    x, y = np.linspace(0.1, 0.7, 4), np.arange(1.0, 5.0)
    for got, want in zip(compiled(x, y), f(x.copy(), y), strict=True):
        np.testing.assert_array_equal(got, want)
    assert str(compiled.program(x, y)).count("branch(") == 8


def checked(x: Any) -> Any:
    """Raises on some ways, as code that checks its arguments does."""
    assert x != 7.0, "seven"
    if x < 0:
        message = f"{x} is negative"
        raise ValueError(message)
    if x < 1:
        y = np.sqrt(x)
    elif x < 4:
        y = 2 * x
    else:
        raise OverflowError("large")
    return y * sorted_out(x)


def sorted_out(x: Any) -> Any:
    if x > 3:
        return x * x
    if x > 0.2:
        return np.exp(x)
    raise RuntimeError("small")


CHECKED = [0.5, 2.0, 3.5]
RAISED = {-1.0: ValueError, 5.0: OverflowError, 7.0: AssertionError, 0.1: RuntimeError}


def test_errors_are_raised_where_an_example_decides() -> None:
    f = sg.compile(checked, control_flow=True)
    for x in CHECKED:
        assert f(x) == pytest.approx(checked(x), rel=1e-15)
        assert sg.grad(f)(x) == pytest.approx(sg.grad(checked)(x), rel=1e-14)
    for x, error in RAISED.items():
        with pytest.raises(error):
            f(x)


def test_an_error_in_a_batch_is_nan() -> None:
    every = np.array([*CHECKED, *RAISED])
    wanted = np.array([*map(checked, CHECKED), *[np.nan] * len(RAISED)])
    np.testing.assert_allclose(sg.vmap(checked)(every), wanted, rtol=1e-15)
    slopes = [*map(sg.grad(checked), CHECKED), *[np.nan] * len(RAISED)]
    found = sg.vmap(sg.grad(checked))(every)
    np.testing.assert_allclose(found[:3], slopes[:3], rtol=1e-14)


def test_an_error_that_no_result_can_show() -> None:
    def place(x: Any) -> Any:
        if x < 0:
            raise ValueError("negative")
        return np.rint(x).astype(int)

    x = np.array([1.0, 2.0])
    with pytest.raises(TraceError, match=r"`raise` depends on .*test_control_flow.py"):
        sg.compile(lambda x: sg.vmap(place)(x))(x)
    with pytest.warns(PathsWarning, match="one by one: `raise` depends on .*test_control_flow.py"):
        np.testing.assert_array_equal(sg.vmap(place)(x), [1, 2])
    with pytest.raises(ValueError, match="negative"):
        sg.vmap(place)(-x)


def unfollowed(x: float) -> float:
    """Decide in ways that are no branch of a program: lists, texts, generators, whole numbers."""
    kind, parts, table = "low" if x < 1 else "high", [], {}
    if x > 0:
        parts.append(x**2)
    table[kind] = sum(y if y > 1 else 2 * y for y in (x, x + 1))
    return sum(parts) + table[kind] * int(x) + sorted([x, 1.0, 2.0])[1]


def recovers(x: float) -> float:
    try:
        limited(x)
    except ValueError:
        return 2 * x
    return x


@pytest.mark.parametrize("f", [unfollowed, recovers])
def test_batches_of_what_is_no_branch_of_a_program(f: Any) -> None:
    x = np.array([[0.5, -1.5], [1.25, 2.5]])
    want = np.array([[f(v) for v in row] for row in x])
    batched = sg.vmap(sg.vmap(f, 0, 0), 1, 1)
    with pytest.warns(PathsWarning, match="one by one: .*test_control_flow.py"):
        np.testing.assert_allclose(batched(x), want, rtol=1e-15)
    np.testing.assert_allclose(batched(x[:, :1]), want[:, :1], rtol=1e-15)  # told once
    slopes = [[sg.grad(f)(v) for v in row] for row in x]
    with pytest.warns(PathsWarning):
        np.testing.assert_allclose(sg.vmap(sg.vmap(sg.grad(f)))(x), slopes, rtol=1e-14)
    pair = sg.vmap(lambda p, k: (f(p["x"]) * k, p), (0, None), (0, 0))
    with pytest.warns(PathsWarning):
        values, same = pair({"x": x[0]}, 2.0)
    np.testing.assert_allclose(values, 2 * want[0], rtol=1e-15)
    np.testing.assert_array_equal(same["x"], x[0])


def test_a_batch_follows_ifs_and_loops_into_what_is_called() -> None:
    def anomaly(m: Any, e: Any) -> Any:
        x = m
        while abs(x - e * np.sin(x) - m) > 1e-13:
            x = x - (x - e * np.sin(x) - m) / (1 - e * np.cos(x))
        return x

    def distance(m: Any, e: Any) -> Any:
        return branch(1 - e * np.cos(anomaly(m, e)))

    def branch(r: Any) -> Any:
        return r if r > 1 else 1 / r

    m, e = np.linspace(0.1, 3.0, 7), np.linspace(0.0, 0.6, 7)
    for f in (distance, sg.grad(distance), sg.grad(sg.grad(distance), 1)):
        found = sg.vmap(f)(m, e)
        np.testing.assert_allclose(found, [f(*x) for x in zip(m, e, strict=True)], rtol=1e-9)
    jacobian = sg.jacobian(lambda m: sg.vmap(distance)(m, e))(m)
    np.testing.assert_allclose(np.diagonal(jacobian), sg.vmap(sg.grad(distance))(m, e))


def by_break(a: Any) -> Any:
    x = a
    for i in range(50):
        step = (x * x - a) / (2 * x)
        x = x - step
        steps = i
        if abs(step) < 1e-12:
            break
    return x + steps


def by_return(a: Any) -> Any:
    x = a
    for _ in range(50):
        step = (x * x - a) / (2 * x)
        x -= step
        if abs(step) < 1e-12:
            return x
    raise RuntimeError("no root")


def endless(a: Any) -> Any:
    x, n = a, 0
    while True:
        step = (x * x - a) / (2 * x)
        x -= step
        n += 1
        if abs(step) < 1e-12 or n > 40:
            break
        if n > 30:
            raise RuntimeError("no root")
    return x


def with_else(a: Any) -> Any:
    total = 0.0
    for i in range(2, 12):
        if a * i % 3 < 1:
            continue
        total += a * i
        if total > 40:
            total = -total
            break
    else:
        total += 100.0
    return total


@pytest.mark.parametrize("f", [by_break, by_return, endless, with_else])
def test_loops_that_are_left_early_in_batches(f: Any) -> None:
    a = np.array([0.3, 0.7, 1.5, 3.0])
    np.testing.assert_allclose(sg.vmap(f)(a), [*map(f, a)], rtol=1e-14)
    np.testing.assert_allclose(sg.vmap(sg.grad(f))(a), [*map(sg.grad(f), a)], rtol=1e-12)


def test_an_error_on_every_way() -> None:
    def f(x: Any) -> Any:
        if x > 1:
            raise ValueError("large")
        raise RuntimeError("small")

    with pytest.raises(RuntimeError, match="small"):
        sg.vmap(f)(np.array([0.5, 2.0]))


def test_a_loop_widens_what_it_carries() -> None:
    scale = np.float64(0.5)

    def f(x: Any) -> Any:
        while x > 1:
            x = x * scale
        return x

    a = np.array([0.5, 5.0], np.float32)
    np.testing.assert_array_equal(sg.vmap(f)(a), [f(x) for x in a])


def powered(x: Any, n: int) -> Any:
    if n == 0:
        return 1.0 if x > 0 else -1.0
    return x * powered(x, n - 1)


def halved(x: Any) -> Any:
    return halved(x / 2) if x > 1 else x


def nested_checks(x: Any, kind: str) -> Any:
    if kind == "a":
        if x < 0:
            raise ValueError("negative")
        y = np.sqrt(x)
    elif kind == "b":
        y = x
    else:
        raise TypeError(kind)
    if isinstance(x, float) and x > 3:
        y = 2 * y
    return y


def root_on_one_side(x: float) -> Any:
    y = np.sqrt(x)
    if x > 0:
        z = y
    else:
        z = 2 * x
    return z


def root_on_an_inner_side(x: float) -> Any:
    y = np.sqrt(x)
    z = 3 * x
    if x < 3:
        z = x if x <= 0 else y * x
        z = z + 1
    return z


def root_behind_two_branches(x: float) -> Any:
    y = np.sqrt(x)
    if x < 3:
        y = 2 * y
    else:
        y = y + 1
    if x > 0:
        return y
    return 5 * x


@pytest.mark.parametrize(
    ("f", "at_zero"),
    [(root_on_one_side, 2.0), (root_on_an_inner_side, 1.0), (root_behind_two_branches, 5.0)],
)
def test_what_the_side_taken_does_not_use_has_no_slope(f: Any, at_zero: float) -> None:
    x = np.array([0.0, 1.0, 4.0])
    want = [sg.grad(f)(v) for v in x]
    assert want[0] == at_zero
    np.testing.assert_allclose(sg.vmap(sg.grad(f))(x), want, rtol=1e-15)
    rolled = sg.compile(f, control_flow=True)
    np.testing.assert_allclose([sg.grad(rolled)(v) for v in x], want, rtol=1e-15)
    np.testing.assert_allclose(sg.vmap(sg.grad(sg.grad(f)))(x[1:]),
                               [sg.grad(sg.grad(f))(v) for v in x[1:]], rtol=1e-14)  # fmt: skip


@numba.njit
def powers(x: float, n: int) -> Any:
    s = 0.0
    for k in range(n):
        if x > k:
            s += x**k
        else:
            s -= np.sin(x)
    return s


def test_compiled_functions_of_numba_in_batches() -> None:
    x = np.array([0.5, 1.5, 3.0])
    want = [powers(v, 3) for v in x]
    np.testing.assert_allclose(sg.vmap(powers, in_axes=(0, None))(x, 3), want, rtol=1e-14)
    twice = lambda v: 2 * powers(v, 3)  # noqa: E731
    np.testing.assert_allclose(sg.vmap(twice)(x), 2 * np.array(want), rtol=1e-14)
    slopes = [sg.grad(twice)(v) for v in x]
    np.testing.assert_allclose(sg.vmap(sg.grad(twice))(x), slopes, rtol=1e-14)


def test_functions_that_call_themselves_in_batches() -> None:
    x = np.array([-1.0, 0.5, 4.0])
    np.testing.assert_array_equal(sg.vmap(powered, (0, None))(x, 3), [powered(v, 3) for v in x])
    with pytest.raises(TraceError, match="examples of a batch"):
        sg.compile(lambda x: sg.vmap(halved)(x))(x)
    with pytest.warns(PathsWarning, match="one by one"):
        np.testing.assert_array_equal(sg.vmap(halved)(x), [halved(v) for v in x])


def test_checks_under_what_is_known() -> None:
    x = np.array([-1.0, 0.5, 4.0])
    found = sg.vmap(nested_checks, (0, None))(x, "a")
    np.testing.assert_array_equal(found, [np.nan, np.sqrt(0.5), 4.0])
    np.testing.assert_array_equal(sg.vmap(nested_checks, (0, None))(x, "b"), [-1.0, 0.5, 8.0])
    with pytest.raises(TypeError, match="c"):
        sg.vmap(nested_checks, (0, None))(x, "c")


def limited(s: Any) -> Any:
    if s < -1:
        raise ValueError("s")
    return 0.7 * s


def asks_in_a_test(x: Any) -> Any:
    return x * x if limited(x) > 0.5 else x + 1


def asks_on_a_side(x: Any) -> Any:
    y = x
    if x < 5:
        z = limited(x)
        y = x * x if z > 0.5 else y
    return y


def asks_if_need_be(x: Any) -> Any:
    if x > -0.95 and limited(x - 1.0) > 0.5:
        return x * x
    return x if x < -1.5 or limited(x + 0.5) > 0.2 else -x


def asks_in_a_loop(x: Any) -> Any:
    y, k = x, 0
    while k < 4 and y < 9:
        k += 1
        if limited(y) > 0.5:
            y = y * y
        else:
            y = y - 0.5
    return y


def asks_in_counted_steps(x: Any) -> Any:
    n = 0.0
    for k in range(12):
        n = n + 1 if limited(x - 0.1 * k) > 0 else n
    return n


@pytest.mark.parametrize(
    "f", [asks_in_a_test, asks_on_a_side, asks_if_need_be, asks_in_a_loop, asks_in_counted_steps]
)
def test_what_a_helper_raises_is_not_lost_in_a_decision(f: Any) -> None:
    x = np.array([-2.0, -0.9, 0.2, 1.5, 6.0])

    def plain(x: float) -> float:
        try:
            return f(x)
        except ValueError:
            return np.nan

    wanted = [*map(plain, x)]
    assert np.isnan(wanted).any()
    np.testing.assert_allclose(sg.vmap(f)(x), wanted, rtol=1e-14)


def test_a_long_chain_is_traced_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each `elif` is a function in a function: Python compares such code in 2**22 steps."""
    chain = [f"    {'el' * (k > 0)}if x < {k}:\n        y = {k} * x\n" for k in range(22)]
    source = f"def chain(x, a):\n{''.join(chain)}    else:\n        y = a * x\n    return y\n"
    (tmp_path / "long_chain.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    from long_chain import chain  # type: ignore[import-not-found]

    x, start = np.array([0.5, 30.0, 7.5]), time.process_time()
    for a in (2.0, 3.0):
        found = sg.vmap(lambda x, a=a: chain(x, a))(x)
        np.testing.assert_array_equal(found, [chain(v, a) for v in x])
    assert time.process_time() - start < 20


def test_lists_of_numbers_are_lists_on_both_sides_of_a_branch() -> None:
    def slope(x: Any) -> Any:
        if x[0] > 0:
            return [0.0, 1], 2.0
        return [2 * x[0], x[1]], x[0]

    def twice(x: Any) -> Any:
        if x[0] > 0:
            w = [1.0, 2.0]
        else:
            w = [3.0, 4.0]
        w = w + [x[1]]  # noqa: RUF005 - longer, and then twice as long
        return 2 * w

    for f in (slope, twice):
        g = sg.compile(f, control_flow=True)
        for x in (np.array([1.0, 2.0]), np.array([-1.0, 2.0])):
            np.testing.assert_array_equal(np.hstack(g(x)), np.hstack(f(x)))
    assert isinstance(sg.compile(slope, control_flow=True)(np.ones(2))[0], list)
    rows = sg.vmap(twice)(np.array([[1.0, 2.0], [-1.0, 2.0]]))
    np.testing.assert_array_equal(np.array(rows)[:, 1], twice(np.array([-1.0, 2.0])))


def _of_kind(x: Any) -> Any:
    return [x, 1.0] if x > 0 else np.array([x, 2.0])


def _none(x: Any) -> Any:
    c = None if x > 0 else 3.0
    return x if c is None else c


def _named(x: Any) -> Any:
    mode = "hot" if x > 0 else "cold"
    return x if mode == "hot" else -x


def _keyed(x: Any) -> Any:
    return {"a": x} if x > 0 else {"b": x}


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (_of_kind, r"a number or an array and \[\*, \*\]"),
        (_none, "a number or an array and None"),
        (_named, "'cold' and 'hot'"),
        (_keyed, r"\{b: \*\} and \{a: \*\}"),
    ],
)
def test_what_the_sides_of_a_branch_differ_in_is_said(f: Any, said: str) -> None:
    with pytest.raises(ArgumentError, match=f"structures, {said}: only numbers and arrays"):
        sg.compile(f, control_flow=True)(1.0)


def test_a_table_with_words_is_no_array_to_go_along() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": [1.0, 2.0], "b": ["y", "z"]})
    with pytest.raises(sg.errors.ArgumentError, match="xs is a table"):
        sg.scan(lambda c, x: (c, x), 0.0, table)
