"""Guards on values: Python's ``if``, ``while`` and ``int`` on traced numbers."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import BranchError, DataError, PathsWarning, TraceError

Array = np.ndarray[Any, Any]


def pieces(x: Array) -> Any:
    if x[0] > 0:
        return np.sum(np.sin(x))
    if x[1] > 2.0:
        return np.prod(x)
    return np.sum(x**2)


POINTS = [np.array(p) for p in ([1.0, 2.0], [-1.0, 3.0], [-1.0, 1.5], [3.0, 1.0], [-2.0, 2.5])]


def slope(f: Any, x: Any) -> Any:
    return np.array([(f(x + e) - f(x - e)) / 2e-6 for e in 1e-6 * np.eye(len(x))])


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_each_side_is_traced_once(backend: Any) -> None:
    g = sg.value_and_grad(pieces)
    with sg.backend(backend):
        for x in POINTS + POINTS:
            value, gradient = g(x)
            assert np.isclose(value, pieces(x))
            assert np.allclose(gradient, slope(pieces, x), atol=1e-8)
    assert g.traces == 3


def test_the_way_from_python_checks_the_branch() -> None:
    """Plain calls go straight into the compiled function, which notices the other side."""
    g = sg.grad(lambda x: np.sin(x) if x > 0 else x**2)
    found = [g(x) for x in (0.5, 0.5, -0.5, -0.5, 0.5, 0.0, np.nan)]
    assert np.allclose(found, [np.cos(0.5)] * 2 + [-1.0] * 2 + [np.cos(0.5), 0.0, np.nan],
                       equal_nan=True)  # fmt: skip
    assert g.traces == 2


def test_an_iteration_until_convergence() -> None:
    def root(a: Any) -> Any:
        x = a
        while abs(x * x - a) > 1e-12:
            x = 0.5 * (x + a / x)
        return x

    assert np.isclose(sg.grad(root)(2.0), 0.5 / np.sqrt(2.0))
    assert np.isclose(sg.grad(sg.grad(root))(3.0), -0.25 * 3.0**-1.5)
    assert np.isclose(sg.hessian(root)(2.0), -0.25 * 2.0**-1.5)
    assert np.isclose(sg.jvp(root, (5.0,), (1.0,))[1], 0.5 / np.sqrt(5.0))


def root_to_the_last_digit(a: Any) -> Any:
    x = 1.0
    for _ in range(40):
        step = (np.exp(x) - a) / np.exp(x)
        x = x - step
        if abs(step) < 1e-16:
            break
    return x


@pytest.mark.parametrize("backend", ["numpy", "llvm", "numba"])
@pytest.mark.filterwarnings("ignore::symgrad.errors.PathsWarning")
def test_decisions_that_rounding_makes(backend: Any) -> None:
    """An error of one unit is there or not, by who computes: the result is right in any case."""
    g = sg.value_and_grad(root_to_the_last_digit)
    with sg.backend(backend):
        for a in np.random.default_rng(0).uniform(0.3, 5.0, 40):
            for _ in range(2):
                value, slope = g(a)
                assert np.isclose(value, np.log(a), rtol=1e-14, atol=1e-15)
                assert np.isclose(slope, 1 / a, rtol=1e-13)
    assert g.traces < 12


def test_where_rounding_decides_is_said() -> None:
    at = np.linspace(0.1, 3.0, 50)
    exact = sg.compile(np.exp)(at)

    def shifted(x: Any) -> Any:
        y = np.exp(x)
        if y[0] > limit:
            return 2.0 * y
        return y + 1.0

    for k, x in enumerate(at):  # NumPy's exponential, and one that is a unit away
        if exact[k] != np.exp(x):
            break
    else:
        pytest.skip("NumPy's exponentials are ours here")
    limit = min(exact[k], np.exp(x))
    given = at[k : k + 4]
    g = sg.compile(shifted)
    with pytest.warns(sg.errors.PathsWarning, match=r"decides by digits .*test_guards.py:"):
        found = g(given)
    np.testing.assert_allclose(found, shifted(given), rtol=1e-15)
    out = np.empty_like(given)
    with pytest.warns(sg.errors.PathsWarning):
        g(given, out=out)
    np.testing.assert_array_equal(out, found)


def test_whole_numbers() -> None:
    """An integer is a piecewise constant, and no derivative is lost."""
    g = sg.value_and_grad(lambda x: x * int(x) + [1.0, 10.0, 100.0][int(np.floor(x))])
    assert [g(v) for v in (1.5, 1.25, 0.5)] == [(11.5, 1.0), (11.25, 1.0), (1.0, 0.0)]
    assert g.traces == 2
    assert sg.compile(lambda k, x: x ** float(k))(np.int64(3), 2.0) == 8.0


def test_items_that_are_whole_numbers_or_truth_values() -> None:
    def f(x: Any) -> Any:
        place, names = np.argmax(x).item(), "abc"
        wide = sum(1 for is_wide in (x > 1).tolist() if is_wide)
        return x[place] * 2.0**place + wide, names[place]

    compiled = sg.compile(f)
    for x in (np.array([0.5, 1.5, 2.5]), np.array([5.5, 1.5, 2.5]), np.array([0.5, 1.6, 2.7])):
        assert compiled(x) == f(x)
        np.testing.assert_array_equal(
            sg.grad(lambda x: f(x)[0])(x), np.where(x == np.max(x), 2.0 ** np.argmax(x), 0.0)
        )
    assert compiled.traces == 2
    with pytest.raises(TraceError, match=r"x\.item\(\)"):
        sg.compile(lambda x: sg.vmap(lambda x: f(x)[0])(x))(np.eye(3))
    with pytest.warns(PathsWarning, match=r"one by one: .*x\.item\(\)"):
        found = sg.vmap(lambda x: f(x)[0])(np.eye(3))
    np.testing.assert_array_equal(found, [f(x)[0] for x in np.eye(3)])


def test_decisions_by_what_a_loop_computes() -> None:
    def f(x: Any) -> Any:
        total = sg.fori_loop(0, 4, lambda i, c: c + x * i, 0.0)
        return total if total > 6 else sg.while_loop(lambda c: c < 6, lambda c: c * 1.5, total)

    for x in (1.5, 0.4):
        assert np.isclose(sg.grad(f)(x), (f(x + 1e-6) - f(x - 1e-6)) / 2e-6)


def test_nested_transformations_keep_their_guards() -> None:
    def f(x: Any) -> Any:
        inner = sg.grad(lambda y: y**3 if y > x else -y)
        return inner(x + 1.0) * (inner(x - 1.0) if x > 0 else 1.0)

    g = sg.compile(f)
    assert g(2.0) == -27.0
    assert g(-2.0) == 3.0
    assert sg.grad(f)(2.0) == -18.0


def test_a_body_decides_by_what_is_outside() -> None:
    f = sg.compile(lambda x: sg.fori_loop(0, 3, lambda i, c: c * x if x > 0 else c + i, 1.0))
    assert (f(2.0), f(-2.0)) == (8.0, 4.0)


# ---------------------------------------------------------------- programs and kernels


def test_programs_say_for_what_they_are(tmp_path: Any) -> None:
    x, other = POINTS[2], POINTS[0]
    program = sg.grad(pieces).program(x)
    assert len(program.conditions) == 2
    assert str(program).count("require") == 2
    program.save(tmp_path / "program.json")
    loaded = sg.load(tmp_path / "program.json")
    scope: dict[str, Any] = {}
    exec(program.source("f"), scope)
    for run in (program, loaded, scope["f"]):
        assert np.array_equal(run(x), 2 * x)
        with pytest.raises(ValueError, match="another branch"):
            run(other)
    with pytest.raises(BranchError, match=r"test_guards\.py:"):
        program(other)
    text = (tmp_path / "program.json").read_text().replace('"conditions": [', '"conditions": [0, ')
    (tmp_path / "damaged.json").write_text(text)
    with pytest.raises(DataError, match="no truth value"):
        sg.load(tmp_path / "damaged.json")


def test_kernels_refuse_the_other_branch() -> None:
    kernel = sg.grad(pieces).kernel(POINTS[2])

    @numba.njit
    def twice(x: Array) -> Any:
        return 2 * kernel(x)

    assert np.array_equal(twice(POINTS[2]), 4 * POINTS[2])
    with pytest.raises(ValueError, match="another branch"):
        twice(POINTS[0])


def test_verify_takes_the_branch_of_its_arguments() -> None:
    for x in POINTS[:3]:
        assert sg.verify(pieces, x)


# ---------------------------------------------------------------- refusals


def test_no_guards_in_batches_and_bodies() -> None:
    np.testing.assert_allclose(
        sg.vmap(pieces)(np.stack(POINTS)), [*map(pieces, POINTS)], rtol=1e-15
    )
    with pytest.raises(TraceError, match="examples of a batch") as caught:
        sg.vmap(lambda x: [x, 2 * x][x > 1])(np.ones(3))
    assert "np.take" in str(caught.value)
    assert "test_guards.py:" in str(caught.value)
    with pytest.raises(TraceError, match="steps of a loop"):
        sg.compile(lambda x: sg.fori_loop(0, 3, lambda i, c: [-c, c][c > 0], x))(1.0)
    # ``if`` is a branch of the program there.
    f = sg.compile(lambda x: sg.fori_loop(0, 3, lambda i, c: c if c > 0 else -c, x))
    assert (f(1.0), f(-2.0), sg.grad(f)(-2.0)) == (1.0, 2.0, -1.0)
    assert f.traces == 1


def test_a_float_keeps_the_derivative() -> None:
    assert sg.grad(lambda x: float(x) ** 2)(1.5) == 3.0
    assert sg.grad(lambda x: np.sum([float(v) for v in (x, x)]))(1.0) == 2.0


@pytest.mark.filterwarnings("ignore::symgrad.errors.PathsWarning")
def test_the_number_of_paths_is_bounded() -> None:
    f = sg.compile(lambda x: x * int(x), backend="numpy")
    for k in range(64):
        assert f(float(k)) == k * k
    with pytest.raises(TraceError, match="64 different paths") as caught:
        f(64.0)
    assert "control_flow=True" in str(caught.value)
    assert f(3.0) == 9.0


def test_an_argument_that_nothing_but_a_branch_reads() -> None:
    """A truth value among the arguments is checked like one that is computed."""
    x = np.array([1.0, 2.0, 3.0])
    side = sg.compile(lambda a, b: a * 2 + np.sum(a) if b else a)
    other = sg.compile(lambda a, b, c: (a if not b else 2 * a) - (3.0 if c else 1.0))
    for b in (np.True_, np.False_, np.True_):
        assert np.array_equal(side(x, b), x * 2 + 6 if b else x)
        for c in (np.True_, np.False_):
            assert np.array_equal(other(x, b, c), (2 * x if b else x) - (3.0 if c else 1.0))
    kernel = side.kernel(x, np.True_)
    assert np.array_equal(kernel(x, True), x * 2 + 6)
    with pytest.raises(ValueError, match="another branch"):
        kernel(x, False)


@pytest.mark.parametrize(
    ("made", "other"),
    [(True, False), (1, 3), (0, 2), (-1, 2), (None, 2.0), ((False, 2.0), (True, 2.0))],
)
@pytest.mark.quick(1)
def test_a_kernel_asks_for_what_is_baked_in(made: Any, other: Any) -> None:
    """Truth values, 0, 1, negative numbers and None are constants of its program."""

    def f(x: Array, n: Any) -> Any:
        if isinstance(n, tuple):
            return x * n[1] if n[0] else x
        return x if n is None else x * 2 if n is True else x + n

    x = np.array([1.0, 2.0, 3.0])
    g = sg.compile(f)
    kernel = g.kernel(x, made)
    assert np.array_equal(kernel(x, made), f(x, made))
    with pytest.raises(ValueError, match="this kernel was made for"):
        kernel(x, other)
    into = g.kernel_into(x, made)
    with pytest.raises(ValueError, match="this kernel was made for"):
        into(x, other, np.empty(3))
    with sg.backend("numba"):
        assert np.array_equal(sg.compile(f)(x, made), f(x, made))


@pytest.mark.slow
def test_a_kernel_asks_for_text_that_is_baked_in() -> None:
    word = 'it\'s "sin"\n\\\u2028'
    f = sg.compile(lambda x, how: 2 * x if how == word else x)
    kernel = f.kernel(np.ones(3), word)
    assert kernel(np.ones(3), word)[0] == 2.0
    with pytest.raises(ValueError, match="this kernel was made for"):
        kernel(np.ones(3), "cos")


@pytest.mark.parametrize("sparse", [False, True])
def test_what_rules_decide_in_second_derivatives(sparse: bool) -> None:
    """A solver runs again at each element, whose stand-in its decisions are about."""

    def residual(x: Any, p: Any) -> Any:
        return x**3 - p[0] * x - p[1]

    def solve(p: Any) -> Any:
        x = 2.5
        while abs(residual(x, p)) > 1e-12:
            x = x - residual(x, p) / (3 * x * x - p[0])
        return x

    root = sg.implicit_root(residual, solve)
    found = sg.hessian(lambda p: root(p), sparse=sparse)
    for p in (np.array([2.0, 5.0]), np.array([1.0, 2.0])):
        near = slope(sg.grad(root), p)
        second = found(p)
        np.testing.assert_allclose(second.toarray() if sparse else second, near, rtol=1e-6)


def _matched(x: Any) -> Any:
    flag = x > 1
    match flag:
        case True:
            return x * x
        case False:
            return 3 * x
    return 7 * x


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize("f", [
    _matched,
    lambda x: x * x if (x > 1) is True else 3 * x,
    lambda x: [3 * x, x * x][x > 1],
    lambda x: {True: x * x, False: 3 * x}[x > 1],
    lambda x: x * ((x > 1) + (x > -5) + 1.0),
    lambda x: x * (-(x > 1) - ~(x > 1) + (x < 1) - (x > 0)),
    lambda x: x * (isinstance(x > 1, bool) + sum([x > 1, x > 0])),
])  # fmt: skip
def test_truth_values_of_python_are_python_s(f: Any) -> None:
    """They are True and False, and whole numbers: two of them add up to 2."""
    for x in (2.0, 0.5, 3.0):
        value, slope = sg.value_and_grad(f)(x)
        assert value == f(x)
        np.testing.assert_allclose(slope, (f(x + 1e-6) - f(x - 1e-6)) / 2e-6, 1e-6)


def _of_one(x: Any) -> Any:
    if x > 1:
        return np.cos(x)
    while x < 0.3:
        x = 1.5 * x + 0.1
    return x**2 if x > 0.5 and not x > 0.9 else 3 * x


@pytest.mark.parametrize("f", [
    _of_one,
    lambda x: _of_one(x[:, None])[0],
    lambda x: 2 * x if np.squeeze(x > 1) else x**2,
    lambda x: 2 * x if np.reshape(x < 1, ()) else x**2,
])  # fmt: skip
def test_the_one_element_of_an_array_decides(f: Any) -> None:
    """NumPy takes the truth of an array of one element, as `fsolve` gives its functions."""
    points = [np.array([x]) for x in (2.0, 0.7, 0.95, 0.1, 1.5)]
    for made in (sg.compile(f), sg.compile(f, control_flow=True)):
        assert all(np.array_equal(made(x), f(x)) for x in points)
    slopes = sg.jacobian(f)
    for x in points:
        near = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
        np.testing.assert_allclose(np.ravel(slopes(x)), near, rtol=1e-7)
    np.testing.assert_array_equal(sg.vmap(f)(np.array(points)), [f(x) for x in points])


def test_two_elements_are_no_truth_value() -> None:
    with pytest.raises(TraceError, match="truth value"):
        sg.compile(lambda x: x if x > 1 else -x)(np.array([2.0, 3.0]))
