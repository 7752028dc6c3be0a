"""What plain Python gives, or an error: whole numbers, classes, text, powers, Numba's functions."""

from __future__ import annotations

import collections.abc
import contextlib
import functools
import math
import numbers
import operator
import pickle
import random
from collections.abc import Callable
from math import log
from typing import Any

import numba
import numpy as np
import pytest
import scipy.linalg
import sympy as sp

import symgrad as sg

ONES = np.ones(2)

# ---------------------------------------------------------------- what a value is

CLASSES = [
    int, float, complex, bool, str, np.ndarray, np.generic, np.floating, np.float64, np.float32,
    np.integer, numbers.Number, numbers.Real, numbers.Integral, collections.abc.Sequence,
    (int, np.integer), (float, np.ndarray), int | float,
]  # fmt: skip

VALUES = {
    "float": 1.5, "int": 3, "float64": np.float64(1.5), "float32": np.float32(1.5),
    "array": ONES, "matrix": np.ones((2, 2)), "float32s": np.ones(2, np.float32),
    "integers": np.arange(3), "complex": 1j, "complexes": ONES * 1j,
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_values_are_of_the_classes_that_they_stand_for(name: str) -> None:
    def told(x: Any) -> Any:
        item = x[0] if np.ndim(x) else x
        seen = [x, item, item * 2, item - 1, np.sin(item), x.sum() if np.ndim(x) else -x]
        return tuple(isinstance(y, kind) for y in seen for kind in CLASSES)

    def scalar(x: Any) -> Any:
        return np.isscalar(x), np.isscalar(x * 2), np.isscalar(np.sum(x)), isinstance(x, type(x))

    for function in (told, scalar):
        assert sg.compile(function)(VALUES[name]) == function(VALUES[name])


def test_a_branch_on_a_class_is_the_values_own() -> None:
    @functools.singledispatch
    def scaled(x: Any) -> Any:
        return 100.0 * x

    scaled.register(float, lambda x: 2.0 * x)
    scaled.register(np.ndarray, lambda x: 3.0 * x)

    def matched(x: Any) -> Any:
        match x:
            case float():
                return 5.0 * x
            case _:
                return 7.0 * x

    assert sg.grad(scaled)(1.0) == 2.0
    np.testing.assert_array_equal(sg.compile(scaled)(ONES), 3 * ONES)
    assert sg.grad(matched)(1.0) == 5.0
    np.testing.assert_array_equal(sg.compile(matched)(ONES), 7 * ONES)


TYPES: list[Callable[[Any], Any]] = [
    lambda x: 2 * x if type(x) is np.ndarray else 3 * x,
    lambda x: 2 * x if type(x) == float else 3 * x,  # noqa: E721
    lambda x: 2 * x if type(x) in (np.ndarray, list) else 3 * x,
    lambda x: 2 * x if type(x * 1).__name__ == "float64" else 3 * x,
    lambda x: 2 * x if hasattr(x, "__len__") else 3 * x,
    lambda x: 2 * x if hasattr(x, "shape") else 3 * x,
    lambda x: 2 * x if hasattr(np.sum(x), "__len__") else 3 * x,
    lambda x: helper(x),
    lambda x: 2 * x if isinstance(type(x), type) and issubclass(type(x), np.ndarray) else 3 * x,
    lambda x: type("Made", (), {"factor": 4.0}).factor * x,  # type: ignore[attr-defined]
]


def helper(x: Any) -> Any:
    return 5 * x if type(x) is float else 7 * x


@pytest.mark.parametrize("f", TYPES)
def test_types_are_those_of_what_a_value_stands_for(f: Callable[[Any], Any]) -> None:
    g = sg.compile(f)
    for x in (1.5, ONES, np.float64(1.5), 3):
        np.testing.assert_array_equal(g(x), f(x))
    assert sg.grad(f)(1.5) == f(1.0)


# ---------------------------------------------------------------- whole numbers as text and keys

TEXTS: list[Callable[[int], Any]] = [
    lambda n: f"c{n}", str, repr, lambda n: "%d" % n, lambda n: f"{n:05d}", "{}".format,  # noqa: UP031
    lambda n: {3: "a", 70: "b"}.get(n, "c"), lambda n: n in {3, 5}, lambda n: str((n, [n])),
    lambda n: hash(n) == hash(70), lambda n: [10 * k for k in range(80)][n], hex, bin,
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_text_and_keys_see_the_number(text: Callable[[int], Any]) -> None:
    def f(x: Any, n: int) -> Any:
        found = text(n)
        return x * 2.0, found

    g = sg.compile(f)
    for n in (3, 70, 5, 3):
        assert g(1.5, n) == f(1.5, n)


def test_shapes_are_printed_as_numbers() -> None:
    g = sg.compile(lambda x: (np.sum(x), f"{x.shape} {x.size}"))
    assert g(np.ones((2, 5)))[1] == "(2, 5) 10"
    assert g(np.ones((3, 7)))[1] == "(3, 7) 21"


# ---------------------------------------------------------------- whole numbers have no end


@pytest.mark.parametrize("n", [0, 1, 2, 30, 61, 62, 63, 64, 70, 200])
def test_powers_of_whole_numbers_are_exact(n: int) -> None:
    def f(x: Any, n: int) -> Any:
        return x * 2**n, 2**n, 3**n, (-2) ** n, 1**n, 0**n, n**n, n**5, 2 ** (n + 1) * 5

    got, want = sg.compile(f)(1.5, n), f(1.5, n)
    assert got == want


def test_powers_are_compiled_once_while_they_fit() -> None:
    g = sg.compile(lambda x, n: x * 2**n)
    for n in range(2, 63):
        assert g(1.0, n) == 2.0**n
    assert g.traces == 1


LARGE = [2, 3, 70, 2**31, 2**40, 2**61 - 1, 2**61, 2**62 + 3, 2**63 - 1, 2**63, 10**30, -(2**62)]


def expression(rng: random.Random, depth: int) -> Callable[[int, int], Any]:
    """Return a random expression of two whole numbers."""
    if depth == 0:
        constant = rng.choice([1, 2, 3, -5, 7])
        return rng.choice([lambda n, m: n, lambda n, m: m, lambda n, m: constant])
    a, b = expression(rng, depth - 1), expression(rng, depth - 1)
    power = rng.choice([2, 3])
    op = rng.choice([operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod])
    return rng.choice(
        [
            lambda n, m: op(a(n, m), b(n, m)),
            lambda n, m: op(a(n, m), b(n, m)),
            lambda n, m: a(n, m) ** power,
            lambda n, m: 2 ** (a(n, m) % 67) * b(n, m),
            lambda n, m: max(a(n, m), b(n, m)),
        ]
    )


@pytest.mark.parametrize("case", range(30))
def test_whole_number_arithmetic_is_exact_or_an_error(case: int) -> None:
    rng = random.Random(case)
    f = expression(rng, rng.choice([1, 2, 3]))
    g = sg.compile(lambda x, n, m: (x, f(n, m)), backend="numpy", cache=False)
    for _ in range(4):
        n, m = rng.choice(LARGE), rng.choice(LARGE)
        try:
            want = f(n, m)
        except ZeroDivisionError:
            with pytest.raises(ZeroDivisionError):
                g(1.0, n, m)
            continue
        try:
            got = g(1.0, n, m)[1]
        except OverflowError:
            assert not -(2**63) <= want < 2**63 or abs(want) > 2**61
            continue
        assert got == want


def test_results_of_compiled_code_are_exact_too() -> None:
    g = sg.compile(lambda n: (n * n, n + n, n**3))
    for n in (5, 2**20, 2**21, 2**40, 2**61 + 1):
        assert g(n) == (n * n, n + n, n**3)


def factorial(n: int) -> Any:
    r = 1
    for i in range(1, n + 1):
        r *= i
    return r


def scaled_factorial(x: Any, n: int) -> Any:
    r = 1
    for i in range(1, n + 1):
        r *= i
    return x * r


def fibonacci(x: Any, n: int) -> Any:
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return x * a


def powers(x: Any, n: int) -> Any:
    total = 0
    for i in range(n):
        total += i
        if x > 0.5:
            x = x + i**7 * 1e-9 + (3 * i + n) * total
    return x + total


def digits(x: Any, n: int) -> Any:
    k, scale = 0, 1
    while x > 1.0:
        x = x / 10
        k = k + 1
        scale = 10 * scale
    return x * scale + k * n


@pytest.mark.parametrize("f", [scaled_factorial, fibonacci, powers])
@pytest.mark.quick(1)
def test_loops_of_whole_numbers_are_exact(f: Callable[..., Any]) -> None:
    g = sg.compile(f, control_flow=True)
    for n in (5, 12, 25, 100):
        np.testing.assert_allclose(g(1.5, n), f(1.5, n), rtol=1e-14)
    assert sg.compile(factorial, control_flow=True)(30) == factorial(30)


@pytest.mark.parametrize("f", [lambda x: 2.0 * x])
def test_a_lambda_in_the_lines_of_a_function_is_not_that_function(f: Callable[..., Any]) -> None:
    assert sg.compile(f, control_flow=True)(1.0) == 2.0
    with pytest.raises(sg.errors.ArgumentError, match="write it with `def`"):
        sg.compile(eval("lambda x: 2.0 * x"), control_flow=True)(1.0)


def test_loops_of_unknown_length_refuse_whole_numbers_that_grow() -> None:
    with pytest.raises(sg.errors.NumberError, match=r"beyond 64 bits.*1\.0.*\[test_same_value"):
        sg.compile(digits, control_flow=True)(1e5, 3)

    def counted(x: Any) -> Any:
        k, total = 0, 0
        while x > 1.0:
            x = x / 10
            k += 2
            total += k % 7
        return x + k * total

    assert sg.compile(counted, control_flow=True)(1e5) == counted(1e5)


def test_indices_in_loops_stay_symbolic() -> None:
    def summed(x: Any, n: int, m: int) -> Any:
        s = 0.0
        for i in range(n):
            for j in range(m):
                s += x[i * m + j] * (2 * i - j + 1)
        return s

    g = sg.compile(summed, control_flow=True)
    for n, m in ((9, 10), (12, 11), (20, 9)):
        x = np.arange(1.0 + n * m)
        assert g(x, n, m) == summed(x, n, m)
    assert g.traces == 1


# ---------------------------------------------------------------- powers of integers


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda a: a**-1, (np.array([2, 4]),)),
        (lambda a: np.power(a, -1), (np.array([2, 4]),)),
        (lambda a, b: a**b, (np.array([2, 4]), np.array([-1, 2]))),
        (lambda a, n: a**n, (np.array([2, 4]), -1)),
        (lambda a: a**-1, (np.int64(2),)),
        (lambda a: 2**a, (np.array([2, -4]),)),
    ],
)
def test_negative_powers_of_integers_are_refused(f: Callable[..., Any], args: Any) -> None:
    with pytest.raises(ValueError, match="negative integer powers"):
        f(*args)
    with pytest.raises(ValueError, match=r"negative integer powers.*\[test_same_value.py:\d+\]"):
        sg.compile(f)(*args)


def test_powers_of_integers_are_looked_at_in_each_call() -> None:
    g = sg.compile(lambda a, b: a**b)
    a = np.array([2, 4])
    np.testing.assert_array_equal(g(a, np.array([1, 2])), [2, 16])
    with pytest.raises(ValueError, match="negative"):
        g(a, np.array([1, -2]))
    np.testing.assert_array_equal(g(a, np.array([3, 0])), [8, 1])


# ---------------------------------------------------------------- what is decided


def guarded(x: Any) -> Any:
    try:
        return 1.0 / x
    except ZeroDivisionError:
        return 0.0


def solved(x: Any) -> Any:
    try:
        return np.linalg.inv(x)
    except (ValueError, np.linalg.LinAlgError):
        return x


def raising(x: Any) -> Any:
    if np.ndim(x) > 5:
        raise ZeroDivisionError
    try:
        return 2.0 * x
    except KeyError:
        return x


def test_handlers_of_numpys_errors_are_noticed() -> None:
    line = solved.__code__.co_firstlineno + 3
    wanted = rf"except LinAlgError` .* np\.where .*\[test_same_value\.py:{line}\]"
    with pytest.warns(sg.errors.CaptureWarning, match=wanted):
        np.testing.assert_array_equal(sg.compile(solved)(np.eye(2)), np.eye(2))
    assert sg.compile(raising)(2.0) == 4.0
    g = sg.compile(guarded)  # Python's own: raised while it is traced
    assert [g(2.0), g(0.0), g(-2.0)] == [0.5, 0.0, -0.5]


def rooted(x: Any) -> Any:
    try:
        return math.sqrt(x)
    except ValueError:
        return -1.0


def factored(x: Any) -> Any:
    try:
        return determined(x)
    except Exception:  # noqa: BLE001
        return -np.inf


def determined(x: Any) -> Any:
    return np.sum(np.log(np.diag(scipy.linalg.cholesky(x))))


def suppressed(x: Any) -> Any:
    y = 0.0
    with contextlib.suppress(ValueError):
        y = log(x)
    return y


def judged(x: Any) -> Any:
    try:
        return positive(x)
    except ValueError:
        return math.sqrt(-x)


def positive(x: Any) -> Any:
    if x < 0:
        raise ValueError("negative")
    return math.sqrt(x)


def read(x: Any, text: str) -> Any:
    try:
        scale = float(text)
    except ValueError:
        scale = 1.0
    return scale * math.sqrt(x)


def test_broad_handlers_of_arithmetic_are_noticed() -> None:
    """Their value would silently be nan: errors of matrices. Those of domains are raised."""
    x = 2 * np.eye(2)
    with pytest.warns(sg.errors.CaptureWarning, match="an error that determined raises .*nan"):
        np.testing.assert_allclose(sg.compile(factored)(x), factored(x), rtol=1e-14)
    for f, x, other in ((rooted, 4.0, -4.0), (suppressed, 2.0, -2.0)):
        np.testing.assert_allclose(sg.compile(f)(x), f(x), rtol=1e-14)
        assert sg.compile(f)(other) == f(other)
    g = sg.compile(judged)
    assert (g(4.0), g(-9.0)) == (2.0, 3.0)
    assert sg.compile(read)(4.0, "none") == 2.0


def test_many_paths_are_worth_a_warning() -> None:
    def stepped(x: Any) -> Any:
        return x * int(x)

    g = sg.compile(stepped, backend="numpy", cache=False)
    for k in range(5):
        g(k + 0.5)
    line = stepped.__code__.co_firstlineno + 1
    with pytest.warns(sg.errors.PathsWarning, match=rf"5 different.*py:{line}\).*np\.where"):
        g(5.5)
    assert g(6.5) == stepped(6.5)


# ---------------------------------------------------------------- types of results


@pytest.mark.parametrize(
    "f",
    [
        np.cov, np.corrcoef, np.gradient, functools.partial(np.gradient, axis=0),
        lambda x: np.gradient(x[0], np.array([0.0, 1.0, 3.0])), lambda x: np.gradient(x[0], 0.5),
        lambda x: np.gradient(x[0], np.float64(0.5)), lambda x: np.cov(x, dtype=np.float32),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_statistics_have_numpys_types(f: Callable[[Any], Any], dtype: Any) -> None:
    x = np.array([[1, 2, 4], [3, 5, 4]], dtype)
    got, want = sg.compile(f)(x), f(x)
    for a, b in zip(*((v if isinstance(v, tuple) else (v,)) for v in (got, want)), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=4 * np.finfo(b.dtype).eps)


@pytest.mark.parametrize("kind", [None, "quicksort", "stable"])
def test_equal_elements_of_what_is_read_are_sorted_as_numpy_does(kind: Any) -> None:
    rng = np.random.default_rng(3)
    keys = rng.integers(0, 5, 200).astype(float)
    weights = np.arange(200.0)

    def f(x: Any) -> Any:
        order = np.argsort(-keys, kind=kind)
        return np.sum(np.cumsum(x[order]) * weights)

    g, x = sg.compile(f), rng.normal(size=200)
    for _ in range(2):
        assert g(x) == pytest.approx(f(x), rel=1e-12)
        keys[:] = rng.normal(size=200)
        assert g(x) == pytest.approx(f(x), rel=1e-12)
        keys[:] = rng.integers(0, 3, 200)
        keys[3:40] = np.nan


def doubled(x: Any) -> Any:
    try:
        return float(x) * 2.0
    except (TypeError, ValueError):
        return np.sum(x)


def floored(x: Any) -> Any:
    with contextlib.suppress(TypeError):
        return 1.0 * math.floor(x)
    return 5.0 * x


def anyhow(x: Any) -> Any:
    try:
        return 2.0 * int(x)
    except:  # noqa: E722
        return 5.0 * x


def first_of(x: Any) -> Any:
    try:
        return np.unique(x)[0]
    except TypeError:
        return 9.0 * x[0]


def looked_up(x: Any) -> Any:
    try:
        return {x: 1.0}[x] * x
    except TypeError:
        return 5.0 * x


@pytest.mark.quick
@pytest.mark.parametrize("f", [doubled, floored, anyhow, first_of, looked_up])
@pytest.mark.parametrize("x", [1.5, np.array([2.5, 1.5])], ids=["number", "array"])
def test_handlers_do_not_take_refusals_for_errors(f: Any, x: Any) -> None:
    """A function that catches TypeError takes another branch by what a trace refuses."""
    if (f is looked_up and np.ndim(x) == 0) or f is first_of:
        with pytest.raises((sg.errors.SymgradError, IndexError)):
            sg.compile(f)(x)
    else:
        np.testing.assert_array_equal(sg.compile(f)(x), f(x))


def test_attributes_of_whole_numbers_and_lists_of_traced_ones() -> None:
    def f(x: Any, n: int) -> Any:
        return sum(v**2 for v in x.tolist()) * n.bit_length() / n.denominator

    g = sg.grad(f)
    for n in (2, 9, 2):
        np.testing.assert_array_equal(g(ONES, n), 2.0 * ONES * n.bit_length())


# ---------------------------------------------------------------- Numba's functions, pickles


def test_numba_functions_are_followed() -> None:
    weights, scale = np.array([1.0, 2.0, 3.0]), 2.0

    @numba.njit
    def norm(x: Any, n: int) -> Any:
        total = 0.0
        for i in range(n):
            total += x[i] ** 2 * weights[i]
        return total

    @numba.njit
    def energy(x: Any) -> Any:
        y = np.zeros(3)
        for i in numba.prange(3):
            y[i] = math.sin(x[i]) * scale
        return norm(y, 3) if x[0] > 0 else y.sum()

    x, at = np.array([0.1, 0.2, 0.3]), np.ones(3)
    expected = 2.0 * weights * scale**2 * np.sin(x) * np.cos(x)
    np.testing.assert_allclose(sg.grad(energy)(x), expected, rtol=1e-12)
    np.testing.assert_allclose(sg.grad(energy)(-x), scale * np.cos(x), rtol=1e-12)
    found = sg.grad(lambda x: energy(x) * energy(at))(x)  # the second one is a number
    np.testing.assert_allclose(found, expected * energy(at), rtol=1e-12)
    assert sg.compile(energy)(x) == pytest.approx(energy(x), rel=1e-14)


def test_what_numba_functions_read_is_looked_at() -> None:
    scale = 2.0

    @numba.njit
    def part(x: Any) -> Any:
        return scale * x

    g = sg.grad(lambda x: part(x) ** 2)
    assert g(1.0) == 8.0
    scale = 3.0
    assert g(1.0) == 18.0

    part = numba.njit(lambda x: x)  # noqa: F811  # as in a later cell
    assert g(1.0) == 2.0


def test_universal_functions_of_numba_and_vectorize_are_followed() -> None:
    scale = 2.0

    def positive(a: Any, b: Any) -> Any:
        if a > 0.0:
            return scale * a * a + np.sum(b)  # of one element
        return 0.0 * b

    def powers(a: Any, n: int) -> Any:
        total = 0.0
        for k in range(n):
            total = total + np.sin(k * a)
        return total, 2.0 * a

    x = np.array([[1.0, -2.0, 0.5]])
    try:
        typed = numba.vectorize(["float64(float64, float64)"])(positive)
    except numba.TypingError:
        pytest.skip("this Numba has no sum of one number")
    for lifted in (
        numba.vectorize(positive),
        typed,
        np.vectorize(positive),
        np.vectorize(positive, otypes=[float]),
        lambda a, b: np.vectorize(positive)(a, b),
    ):
        g = sg.value_and_grad(lambda x, f=lifted: np.sum(f(x, x.T)), 0)
        for scale in (2.0, 3.0):
            value, slope = g(x)
            np.testing.assert_allclose(value, np.sum(np.vectorize(positive)(x, x.T)), rtol=1e-14)
            expected = np.where(x > 0, 6.0 * scale * x, 0.0) + np.sum(x > 0)
            np.testing.assert_allclose(slope, expected, rtol=1e-13)
    both = sg.compile(lambda x: np.vectorize(powers)(x, 20))(x)
    np.testing.assert_allclose(both, np.vectorize(powers)(x, 20), rtol=1e-12)
    lifted = numba.vectorize(positive)
    assert sg.grad(lambda x: lifted(x, 1.0))(2.0) == 4.0 * scale


def test_numba_functions_that_cannot_be_followed_are_refused() -> None:
    @numba.guvectorize("(n)->()")
    def norm(x: Any, out: Any) -> None:
        out[0] = np.sum(x**2)

    @numba.experimental.jitclass([("a", numba.float64)])
    class Spring:
        def __init__(self, a: float) -> None:
            self.a = a

        def force(self, x: Any) -> Any:
            return self.a * x

    spring = Spring(2.0)
    for f in (lambda x: spring.force(x), lambda x: Spring(x).force(2.0)):
        with pytest.raises(sg.errors.TraceError, match=r"@jitclass.*\[test_same_value.py"):
            sg.compile(f)(1.5)
    with pytest.raises(sg.errors.UnsupportedError, match=r"@guvectorize.*\[test_same_value.py"):
        sg.compile(lambda x: norm(x))(ONES)


def test_formulas_pickle() -> None:
    x, y = sp.symbols("x y")
    f = sg.from_sympy((sp.sin(x) * y, [x, y]), [x, y])
    again = pickle.loads(pickle.dumps(f))
    assert again(1.0, 2.0) == f(1.0, 2.0)
    h = sg.from_sympy(sp.sin(x) * y, [x, y])
    assert pickle.loads(pickle.dumps(sg.grad(h)))(1.0, 2.0) == sg.grad(h)(1.0, 2.0)


def test_notebooks_show_tables_and_lines() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.where(x < 1.0, x, np.sin(x)))

    page = sg.grad(f).program(ONES)._repr_html_()
    assert page.startswith("<pre>program(x: float64[n])")
    assert f"test_same_value.py:{f.__code__.co_firstlineno + 1}" in page
    assert "x &lt; 1" in page
    for report in (sg.verify(f, 2 * ONES), sg.verify(f, domain={"x": (1.5, 2.0)}, points=4)):
        page = report._repr_html_()
        assert page.startswith("<table>\n<caption>")
        assert all(f"<td>{cell}</td>" in page for cell in ("value", "d/d x"))
        assert "<caption>" in page


def test_operators_of_tensors_have_types() -> None:
    """A type checker reads this: each line was an error."""
    t = sg.tensor([1.0, 2.0])
    results: list[sg.Tensor] = [t * 2, 2 * t, t - 1.0, 1.0 / t, t**2, t % 2, t > 1.0]
    assert [r.shape for r in results] == [(2,)] * 7


ROUNDED = [
    0.15, 0.25, 0.35, 2.675, 1.005, 5.015, -0.05, -0.04, 2.5, -2.5, 25.0, 35.0, 123456.789, 1e-320,
    56294995342131.55, 4503599627370497.5, 5e15, 1e16, 5e22, 1e300, math.inf, -math.inf, math.nan,
]  # fmt: skip


@pytest.mark.parametrize("digits", [0, 1, 2, 15, 22, 400, -1, -2, -22, -400])
def test_rounding_is_pythons_for_floats_and_numpys_for_elements(digits: int) -> None:
    near = [k / 20 for k in range(-30, 31)] + [k * 5.0 for k in range(-30, 31)]
    floats = [*ROUNDED, *near, *np.nextafter(near, np.inf).tolist()]
    own = sg.compile(lambda x: round(x, digits))
    with np.errstate(all="ignore"):
        assert repr([float(own(x)) for x in floats]) == repr([round(x, digits) for x in floats])
        for f in (lambda x: round(x, digits), lambda x: np.round(x, digits)):
            wanted = [float(f(np.float64(x))) for x in floats]
            assert repr([float(sg.compile(f)(np.float64(x))) for x in floats[:30]]) == repr(
                wanted[:30]
            )
        rows = sg.compile(lambda x: np.round(x, digits))(np.array(floats))
        assert repr(rows.tolist()) == repr(wanted)


@pytest.mark.parametrize("digits", [None, 0, 1, 15, 400, -1, -400])
def test_rounding_has_no_slope(digits: int | None) -> None:
    for f in (lambda x: round(x, digits), lambda x: np.round(x, digits or 0)):
        for x in (0.15, 2.5, 25.0, 1e16, 1e300):
            assert sg.grad(lambda x, f=f: f(x) * 1.0)(x) == 0.0
            assert sg.compile(lambda x, f=f: sg.jvp(f, (x,), (1.0,)))(x)[1] == 0.0


def test_rounding_to_a_whole_number_is_pythons() -> None:
    for x in (0.5, 1.5, -0.4, -2.5, 1e16):
        assert repr(float(sg.compile(round)(x))) == repr(float(round(x)))


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_powers_of_integers_that_64_bits_do_not_hold(backend: Any) -> None:
    """NumPy's way had a raw OverflowError."""
    f = sg.compile(lambda x: x**70, backend=backend)
    assert f(3) == 3**70
    np.testing.assert_allclose(f(3.0), 3.0**70, rtol=1e-14)
