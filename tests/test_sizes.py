"""Symbolic sizes: one trace for all lengths, guards where a length decides."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from scipy import integrate, signal, stats
from scipy.interpolate import CubicSpline, PchipInterpolator, interp1d, make_interp_spline
from scipy.spatial.distance import pdist

import symgrad as sg
import symgrad.numpy as snp
from symgrad._core.trace import flatten
from symgrad.errors import UnsupportedError

Case = tuple[Callable[..., Any], int]  # a function of a vector, and its traces


def same(got: Any, want: Any) -> None:
    for a, b in zip(flatten(got)[0], flatten(want)[0], strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        rtol = 1e-6 if np.asarray(a).dtype == np.float32 else 1e-13
        np.testing.assert_allclose(a, b, rtol)
        assert np.shape(a) == np.shape(b)


def vector(n: int) -> Any:
    return np.linspace(1.0, 2.0, n, dtype=np.float32)


# ---------------------------------------------------------------- one trace for all lengths


ANY_LENGTH: dict[str, Callable[[Any], Any]] = {
    "elementwise": lambda x: np.sin(x) * 2,
    "sum": lambda x: np.sum(x**2),
    "mean": np.mean,
    "std": np.std,
    "norm": np.linalg.norm,
    "size": lambda x: x / x.shape[0] + x.size * len(x.shape),
    "arithmetic of sizes": lambda x: x * ((x.shape[0] ** 2 - 1) // 2 + x.shape[0] % 3),
    "float of sizes": lambda x: x * (x.shape[0] / 2) * 0.5 ** x.shape[0] * np.sqrt(x.size),
    "negative powers": lambda x: x * x.shape[0] ** -2 + (-x.shape[0]) // 2,
    "reversed": lambda x: x[::-1],
    "inner": lambda x: x[1:] - x[:-1],
    "last": lambda x: x[-1] * x[-2] + x[0],
    "every second": lambda x: x[::2],
    "every second from the end": lambda x: x[::-2],
    "middle": lambda x: (x[x.shape[0] // 2], x[: x.shape[0] // 2], x[x.shape[0] // 2 :]),
    "row and column": lambda x: x[:, None] * x[None, :],
    "reshaped": lambda x: x.reshape(-1, 1) @ x.reshape(1, -1),
    "reshaped by size": lambda x: x.reshape((1, x.shape[0])) + np.zeros_like(x),
    "dot": lambda x: x @ x,
    "outer": lambda x: np.outer(x, x)[1],
    "cumsum": np.cumsum,
    "tile": lambda x: np.tile(x, 3),
    "repeat": lambda x: np.repeat(x, 2),
    "pad": lambda x: np.pad(x, 2),
    "roll": lambda x: np.roll(x, 1),
    "concatenate": lambda x: np.concatenate([x, x[:2], x[::-1]]),
    "stack": lambda x: np.stack([x, x * 2], axis=1),
    "flip": np.flip,
    "diag": lambda x: np.diag(x) @ x,
    "triu": lambda x: np.triu(np.outer(x, x)) @ x,
    "trace": lambda x: np.trace(np.outer(x, x)),
    "where": lambda x: np.where(x > 1.5, x, 0),
    "take": lambda x: np.take(x, [0, 1, 1]),
    "argmax": lambda x: x[np.argmax(x)],
    "einsum": lambda x: np.einsum("i,j,i->j", x, x, x),
}

#: In this order: the first traces, the others must fit.
LENGTHS = [5, 2, 3, 7, 4, 9, 100, 17, 64, 255]


@pytest.mark.parametrize("name", ANY_LENGTH)
def test_ten_lengths_one_trace(name: str) -> None:
    function = ANY_LENGTH[name]
    g = sg.compile(function, backend="numpy")
    for n in LENGTHS:
        same(g(vector(n)), function(vector(n)))
    assert g.traces == 1


ASKED_FOR: dict[str, Callable[[Any], Any]] = {
    "mean": lambda x: np.sum(x) / len(x),
    "arange": lambda x: x @ np.arange(len(x)),
    "linspace": lambda x: x - np.linspace(0.0, 1.0, len(x)),
    "eye": lambda x: np.eye(len(x)) @ x,
    "zeros": lambda x: np.concatenate([x, np.zeros(len(x) // 2)]),
    "variance": lambda x: math.sqrt(len(x) / (len(x) - 1)) * np.std(x),
    "system": lambda x: np.linalg.solve(np.outer(x, x) + 5.0 * np.eye(len(x)), x),
}


@pytest.mark.parametrize("name", ASKED_FOR)
def test_lengths_asked_for_are_traced_twice(name: str) -> None:
    """Once for the first length, which is a number to Python, and once for all."""
    function = ASKED_FOR[name]
    g = sg.compile(function, backend="numpy")
    for n in LENGTHS:
        np.testing.assert_allclose(g(vector(n)), function(vector(n)), rtol=1e-6)
    assert g.traces == 2


def test_an_error_leaves_lengths_open() -> None:
    g = sg.compile(lambda x, y: np.sum(x * y) / len(x), backend="numpy")
    for n in (5, 7):
        g(vector(n), vector(n))
    with pytest.raises(ValueError, match="broadcast"):
        g(vector(5), vector(7))
    traces = g.traces
    for n in (9, 11, 30):
        assert g(vector(n), vector(n)) == pytest.approx(np.mean(vector(n) ** 2), 1e-6)
    assert g.traces == traces


def test_where_numbers_are_needed_lengths_are_numbers() -> None:
    """Each has a trace, as the loop over rows of text has no open length."""
    g = sg.compile(lambda x: sum(x[k] * len(f"{len(x)}") for k in range(len(x))), backend="numpy")
    for n in (3, 4, 5, 12):
        np.testing.assert_allclose(g(vector(n)), np.sum(vector(n)) * len(str(n)), rtol=1e-6)
    assert g.traces == 4


def rows(x: Any) -> Any:
    return np.stack([x, x**2], axis=1)


OF_SCIPY: dict[str, Callable[[Any], Any]] = {
    "filtfilt": lambda x: signal.filtfilt([0.2, 0.3], [1.0, -0.5], x),
    "sosfiltfilt": lambda x: signal.sosfiltfilt(signal.butter(2, 0.3, output="sos"), x),
    "savgol_filter": lambda x: signal.savgol_filter(x, 11, 3),
    "detrend": signal.detrend,
    "resample": lambda x: signal.resample(x, 40),
    "upfirdn": lambda x: signal.upfirdn(np.arange(1.0, 9.0), x, 2, 3),
    "decimate": lambda x: signal.decimate(x, 4),
    "hilbert": lambda x: np.abs(signal.hilbert(x)),
    "CubicSpline": lambda y: CubicSpline(np.arange(len(y)), y)(np.linspace(1, 50, 11)),
    "PchipInterpolator": lambda y: PchipInterpolator(np.arange(len(y)), y)(np.linspace(1, 50, 11)),
    "interp1d": lambda y: interp1d(np.arange(len(y)), y, "cubic")(np.linspace(1, 50, 11)),
    "make_interp_spline": lambda y: make_interp_spline(np.arange(len(y)), y)(np.linspace(1, 9, 4)),
    "simpson": lambda y: integrate.simpson(y, dx=0.1),
    "cumulative_simpson": lambda y: integrate.cumulative_simpson(y, dx=0.1),
    "pdist": lambda x: pdist(rows(x)),
    "triu_indices": lambda x: np.outer(x, x)[np.triu_indices(len(x), 2)],
    "tril_indices": lambda x: np.outer(x, x)[np.tril_indices(len(x))],
    "gaussian_kde": lambda x: stats.gaussian_kde(x)(np.linspace(0.0, 1.0, 5)),
    "windows": lambda x: x * (np.hanning(len(x)) + np.hamming(len(x)) + np.bartlett(len(x))),
    "spectrum": lambda x: np.abs(np.fft.rfft(x * np.blackman(len(x)))) * np.fft.rfftfreq(len(x)),
    "frequencies": lambda x: x * np.fft.fftfreq(len(x), 0.5),
}


@pytest.mark.parametrize(
    "name", [k if k == "windows" else pytest.param(k, marks=pytest.mark.slow) for k in OF_SCIPY]
)
def test_scipy_for_many_lengths(name: str) -> None:
    """Once for the first, and once for all, or for odd and even ones."""
    function = OF_SCIPY[name]
    g = sg.compile(function, backend="numpy")
    for n in (60, 66, 75, 90, 101, 122):
        x = np.sin(np.arange(n) ** 1.5)
        np.testing.assert_allclose(g(x), function(x), rtol=1e-8, atol=1e-10)
    assert g.traces <= 3


def everything(x: Any) -> tuple[Any, ...]:
    return tuple(function(x) for function in ANY_LENGTH.values())


@pytest.mark.slow
def test_ten_lengths_one_kernel() -> None:
    g = sg.compile(everything)
    for n in LENGTHS:
        for a, b in zip(flatten(g(vector(n)))[0], flatten(everything(vector(n)))[0], strict=True):
            np.testing.assert_allclose(a, b, rtol=3e-5)
            assert np.shape(a) == np.shape(b)
    assert g.traces == 1
    kernel = g.kernel(vector(5))
    for n in LENGTHS:
        kernel(vector(n))
    assert len(kernel.signatures) == 1


def test_gradients_of_ten_lengths() -> None:
    g = sg.value_and_grad(lambda x, y: np.sum(np.sin(x)[:, None] * y) * np.mean(x))
    for n, m in zip(LENGTHS, [23, 18, 26, 22, 31, 25, 24, 27, 33, 20], strict=True):
        n += 16  # shorter axes of matrices have kernels of their own
        x, y = np.linspace(0, 1, n), np.ones((n, m))
        value, gradient = g(x, y)
        np.testing.assert_allclose(value, m * np.sum(np.sin(x)) * np.mean(x))
        np.testing.assert_allclose(gradient, m * (np.cos(x) * np.mean(x) + np.mean(np.sin(x))))
    assert g.traces == 1


def test_short_axes_have_kernels_of_their_own() -> None:
    """Up to 8, and up to 16 on the last axis; the program that prints stays general."""
    g = sg.grad(lambda x, y: np.sum(np.sin(x) @ y))
    for traces, n, m in [(1, 100, 3), (1, 90, 3), (2, 100, 2), (3, 9, 16), (3, 10, 16)]:
        x, y = np.ones((n, m)), np.arange(float(m))
        np.testing.assert_allclose(g(x, y), np.cos(x) * y)
        assert g.traces == traces
    assert [str(d) for d in g.program(np.ones((100, 3)), np.ones(3)).inputs[0].shape] == ["n", "m"]


def test_sizes_print_as_symbols() -> None:
    program = sg.compile(lambda x, y: np.outer(x, y[1:])).program(np.ones(5), np.ones(3))
    assert "float64[n, m - 1]" in str(program)
    assert "program(x: float64[n], y: float64[m])" in str(program)


# ---------------------------------------------------------------- what needs a number


def unpacked(x: Any) -> Any:
    a, b, *c = x
    return a * b + len(c)


def parity(x: Any) -> Any:
    return x * 2 if x.shape[0] % 2 else -x


GUARDED: dict[str, tuple[Callable[[Any], Any], list[int], int]] = {
    "range": (lambda x: sum(x[k] * k for k in range(x.shape[0])), [3, 4, 3, 5, 4], 3),
    "len": (lambda x: x * len(x), [3, 4, 3], 2),
    "iteration": (lambda x: sum(v * 2 for v in x), [3, 4, 3], 2),
    "unpacking": (unpacked, [3, 4, 3], 2),
    "int": (lambda x: x * int(x.shape[0]), [3, 4, 3], 2),
    "float": (lambda x: x * float(x.shape[0]), [3, 4, 3], 2),
    "math": (lambda x: x * math.sqrt(x.size), [3, 4, 3], 2),
    "arange": (lambda x: x * np.arange(x.shape[0]), [3, 4, 3], 2),
    "eye": (lambda x: np.eye(x.shape[0]) @ x, [3, 4, 3], 2),
    "zeros": (lambda x: np.zeros(x.shape) + x, [3, 4, 3], 2),
    "array of sizes": (lambda x: np.array([x.shape[0], 2]) * x[:2], [3, 4, 3], 2),
    "looked up": (lambda x: x * {3: 7.0}.get(x.shape[0], 2.0), [3, 4, 3, 5], 3),
    "bits": (lambda x: x * ((x.shape[0] & 1) + (x.shape[0] >> 1) + (~x.shape[0])), [3, 4, 3], 2),
    "format": (lambda x: x * int(f"{x.shape[0]:d}"), [3, 4], 2),
    "if greater": (lambda x: x * 2 if x.shape[0] > 3 else x, [5, 4, 3, 2, 9], 2),
    "if float": (lambda x: x * 2 if x.shape[0] / 2 > 2.5 else x, [5, 7, 5], 2),
    "if equal": (lambda x: x * 2 if x.shape == (4,) else x, [3, 4, 5, 4], 2),
    "if float equal": (lambda x: x * 2 if x.shape[0] == 4.0 else x, [4, 3, 4], 2),
    "if numpy": (lambda x: x * 2 if np.int64(3) < x.shape[0] else x, [4, 3, 4], 2),
    "if odd": (parity, [3, 4, 5, 6, 7], 2),
    "in": (lambda x: x * 2 if x.shape[0] in (2, 5) else x, [5, 2, 3, 4], 3),
    "min": (lambda x: x[: min(x.shape[0], 4)], [3, 2, 5, 6], 2),
    "from two on": (lambda x: x[2:], [5, 3, 9, 2], 2),
    "from ten on": (lambda x: x[10:], [5, 3, 12, 11, 2], 2),
    "element three": (lambda x: x[3], [5, 4, 9], 1),
    "the last three": (lambda x: x[-3:], [5, 3, 2, 9], 2),
    "roll by three": (lambda x: np.roll(x, 3), [5, 4, 2, 3], 3),
    "roll back by seven": (lambda x: np.roll(x, -7), [8, 9, 10, 5], 2),
    "pairs": (lambda x: x.reshape(-1, 2), [4, 2, 8, 6], 1),
    "two rows": (lambda x: x.reshape(2, -1), [4, 2, 8, 6], 1),
    "six": (lambda x: x.reshape(2, 3), [6], 1),
    "mask": (lambda x: x[np.array([True, False, True])], [3], 1),
    "constant": (lambda x: x + np.ones(3, np.float32), [3], 1),
    "array_split": (lambda x: np.array_split(x, 2), [4, 6, 5, 7, 8], 2),
    "select an axis": (lambda x: x.reshape(-1, 1, 2).squeeze(1), [4, 6], 1),
}


@pytest.mark.parametrize("name", GUARDED)
def test_guards(name: str) -> None:
    function, lengths, traces = GUARDED[name]
    g = sg.compile(function, backend="numpy")
    for n in lengths:
        same(g(vector(n)), function(vector(n)))
    assert g.traces == traces
    for n in lengths:  # all known now
        same(g(vector(n)), function(vector(n)))
    assert g.traces == traces


@pytest.mark.parametrize("name", ["if greater", "roll back by seven", "from ten on", "if odd"])
@pytest.mark.quick(2)
def test_kernels_check_guards(name: str) -> None:
    function, lengths, traces = GUARDED[name]
    g = sg.compile(function)
    for n in lengths * 2:
        same(g(vector(n)), function(vector(n)))
    assert g.traces == traces
    kernel = g.kernel(vector(lengths[0]))
    fits = [n for n in range(2, 30) if runs(kernel, vector(n))]
    assert lengths[0] in fits
    assert 2 <= len(fits) < 28
    for n in fits:
        same(kernel(vector(n)), function(vector(n)))


def runs(kernel: Any, *args: Any) -> bool:
    try:
        kernel(*args)
    except ValueError as error:
        return "do not fit this kernel" not in str(error)
    return True


@pytest.mark.parametrize(
    ("function", "good", "bad", "says"),
    [
        (lambda x: x.reshape(-1, 2), 4, 5, "cannot reshape"),
        (lambda x: x.reshape(2, 3), 6, 5, "cannot reshape"),
        (lambda x: x[3], 5, 3, "index 3 is out of bounds"),
        (lambda x: x + np.ones(3), 3, 4, "could not be broadcast"),
        (lambda x: x[np.array([True, False, True])], 3, 4, "boolean index"),
        (lambda x: x * (7 % (x.shape[0] - 3)), 5, 3, "modulo by zero"),
        (lambda x: x @ np.ones(3), 3, 4, "differ"),
    ],
)
def test_a_length_that_does_not_do(
    function: Callable[..., Any], good: int, bad: int, says: str
) -> None:
    for backend in ("numpy", "llvm"):
        g = sg.compile(function, backend=backend)
        first = g(vector(good))
        for _ in range(2):
            with pytest.raises((ValueError, IndexError, ZeroDivisionError), match=says):
                g(vector(bad))
        same(g(vector(good)), first)
        assert g.traces == 1


# ---------------------------------------------------------------- 0, 1, and equal sizes


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_zero_and_one_are_special(backend: str) -> None:
    def f(x: Any, y: Any) -> Any:
        return x + y, np.sum(x), x[1:] if x.shape[0] else x

    g = sg.compile(f, backend=backend)
    for n in (5, 1, 0, 7, 1, 0, 2):
        same(g(np.ones(n), np.ones(n)), f(np.ones(n), np.ones(n)))
    assert g.traces == 3
    same(g(np.ones(1), np.ones(4)), f(np.ones(1), np.ones(4)))
    same(g(np.ones(4), np.ones(1)), f(np.ones(4), np.ones(1)))
    assert g.traces == 5


#: What repeats an axis of computed size that has one element for the example, ``x[-5:2]`` of 6.
REPEATED: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x[-5:2] + np.arange(3.0),
    "function": lambda x: np.hypot(x[-5:2], x),
    "choice": lambda x: np.where(np.arange(3) > 1, x[-5:2], 0.0),
    "larger": lambda x: np.maximum(x[-5:2], 2.5 * x),
    "broadcast_to": lambda x: np.broadcast_to(x[-5:2], (2, 3)),
    "broadcast_arrays": lambda x: np.broadcast_arrays(x[-5:2], np.ones(3))[0],
    "gathered": lambda x: x[np.array([0, 3, 0])] * x[-5:2],
    "two axes": lambda x: x[-5:2, None] * x[None, -5:2] * x[:, None],
}


def assigned(np: Any, x: Any) -> Any:
    c = np.zeros((4, 3))
    c[0] = x[-5:2]
    c[[1, 3]] = x[-5:2]
    c[:, 1:] += x[-5:2]
    np.add.at(c, [0, 0], x[-5:2])
    return c


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
@pytest.mark.parametrize("name", REPEATED)
def test_computed_sizes_of_one_element_repeat(name: str, backend: Any) -> None:
    f = REPEATED[name]
    check_repeated(f, f, backend)


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
def test_computed_sizes_of_one_element_repeat_in_assignments(backend: Any) -> None:
    check_repeated(lambda x: assigned(snp, x), lambda x: assigned(np, x), backend)


def check_repeated(f: Any, plain: Any, backend: Any) -> None:
    x = np.linspace(1.0, 2.0, 6)
    with sg.backend(backend):
        compiled = sg.compile(f)
        same(compiled(x), plain(x))
        t = np.cos(np.arange(6.0))
        wanted = (np.sum(plain(x + 1e-6 * t)) - np.sum(plain(x - 1e-6 * t))) / 2e-6
        assert sg.grad(lambda x: np.sum(f(x)))(x) @ t == pytest.approx(wanted, rel=1e-7)
        longer = np.linspace(1.0, 2.0, 7)
        try:  # nothing is left of x[-5:2]
            empty = plain(longer)
        except ValueError:
            with pytest.raises(sg.errors.ShapeError):
                compiled(longer)
        else:
            same(compiled(longer), empty)


@pytest.mark.parametrize("n", [0, 1])
def test_a_general_kernel_refuses_zero_and_one(n: int) -> None:
    kernel = sg.compile(lambda x: np.roll(x, -1) / np.max(x)).kernel(np.ones(3))
    with pytest.raises(ValueError, match="do not fit this kernel"):
        kernel(np.ones(n))
    with pytest.raises(ValueError, match=r"zero-size|empty"):
        sg.compile(np.max)(np.ones(0))


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_equal_sizes_that_later_differ(backend: str) -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(x) * y

    g = sg.compile(f, backend=backend)
    for n, m in [(3, 3), (4, 4), (3, 5), (5, 3), (6, 6), (2, 9)]:
        same(g(np.ones(n), np.ones(m)), f(np.ones(n), np.ones(m)))
    assert g.traces == 2  # equal, and not known to be equal

    def h(x: Any, y: Any) -> Any:
        return x + y

    g = sg.compile(h, backend=backend)
    same(g(np.ones(3), np.ones(3)), h(np.ones(3), np.ones(3)))
    with pytest.raises(ValueError, match=r"broadcast together .*\(n=3,\) \(m=4,\)"):
        g(np.ones(3), np.ones(4))
    same(g(np.ones(5), np.ones(5)), h(np.ones(5), np.ones(5)))
    assert g.traces == 1


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_different_sizes_that_later_are_equal(backend: str) -> None:
    def f(x: Any, y: Any) -> Any:
        return x + y if x.shape == y.shape else np.outer(x, y)

    g = sg.compile(f, backend=backend)
    for n, m in [(3, 5), (4, 4), (5, 3), (2, 2)]:
        same(g(np.ones(n), np.ones(m)), f(np.ones(n), np.ones(m)))
    assert g.traces == 2


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_sizes_and_integers_share_symbols(backend: str) -> None:
    def f(x: Any, n: int) -> Any:
        return x[:n] * n if n < x.shape[0] else x + n

    g = sg.compile(f, backend=backend)
    for length, n in [(5, 3), (9, 2), (5, 5), (7, 7), (3, 5), (5, 0), (5, 1), (5, -2)]:
        same(g(np.ones(length), n), f(np.ones(length), n))
    assert g.traces == 6


def test_static_sizes() -> None:
    seen = []

    def total(x: Any) -> Any:
        return np.sum(x, axis=0)

    def f(x: Any) -> Any:
        seen.append(x.shape)
        return total(x)

    g = sg.compile(f, dynamic=False)
    shapes = [(3, 2), (4, 2), (3, 2), (0, 2), (1, 2)]
    for shape in shapes:
        same(g(np.ones(shape)), np.sum(np.ones(shape), axis=0))
    assert seen == shapes
    assert g.traces == 5  # the second one of (3, 2) knows that a list is only assigned to
    assert all(type(n) is int for shape in seen for n in shape)
    g = sg.compile(total, dynamic=False)
    assert "float64[3, 2]" in str(g.program(np.ones((3, 2))))
    with pytest.raises(ValueError, match="do not fit this kernel"):
        g.kernel(np.ones((3, 2)))(np.ones((4, 2)))
    h = sg.compile(lambda x, n: x * n, dynamic=False, backend="numpy")
    assert [h(2.0, n) for n in (2, 3, 2)] == [4, 6, 4]
    assert h.traces == 2


# ---------------------------------------------------------------- inside numba


@pytest.mark.slow
def test_a_misfit_inside_njit_is_a_value_error() -> None:
    add = sg.compile(lambda x, y: x + y).kernel(np.ones(3), np.ones(3))

    @numba.njit
    def outer(x: Any, y: Any) -> Any:
        return np.sum(add(x, y))

    assert outer(np.ones(4), np.ones(4)) == 8
    for a, b in [(4, 5), (1, 1), (0, 0), (1, 4)]:
        with pytest.raises(ValueError, match="do not fit this kernel"):
            outer(np.ones(a), np.ones(b))
    assert outer(np.ones(40), np.ones(40)) == 80

    @numba.njit
    def careful(x: Any, y: Any) -> Any:
        try:
            return np.sum(add(x, y))
        except Exception:  # noqa: BLE001  numba knows no other
            return -1.0

    assert careful(np.ones(4), np.ones(5)) == -1
    assert careful(np.ones(4), np.ones(4)) == 8


def test_sizes_that_decide_are_checked_inside_njit() -> None:
    kernel = sg.compile(parity).kernel(np.ones(3))

    @numba.njit
    def outer(x: Any) -> Any:
        return kernel(x)

    same(outer(np.ones(7)), np.full(7, 2.0))
    with pytest.raises(ValueError, match=r"g.kernel\(\*args\)"):
        outer(np.ones(4))


def test_divisors_of_any_sign() -> None:
    def f(x: Any, n: int) -> Any:
        m = x.shape[0]
        return x[:2] * (7 // (n - m)) + ((m - n) % (n - m - 1)) + (-m) // n + (m - 7) % (3 - n)

    g = sg.compile(f)
    fits = 0
    for m in range(2, 12):
        for n in range(4, 12):
            if n not in (m, m + 1):
                same(g(np.ones(m), n), f(np.ones(m), n))
                fits += 1
    assert fits > 60
    assert g.traces < 4
    with pytest.raises(ZeroDivisionError):
        g(np.ones(5), 6)


@pytest.mark.slow
def test_many_sizes() -> None:
    """Sizes have names like n, t and t1, which the registers of the machine code have, too."""
    arrays = [np.linspace(0.0, 1.0, 2 + k) for k in range(24)]

    def total(arrays: list[Any]) -> Any:
        return sum(np.sum(np.sin(a)) for a in arrays)

    for found, given in zip(sg.grad(total)(arrays), arrays, strict=True):
        np.testing.assert_allclose(found, np.cos(given), rtol=1e-14)


@pytest.mark.parametrize(
    "read",
    [
        lambda x, n: x[n - 5],
        lambda x, n: x[5 - n],
        lambda x, n: x[: 5 - n],
        lambda x, n: x[5 - n :],
        lambda x, n: x[n - 5 :],
        lambda x, n: x[: n - 5],
        lambda x, n: x[n - 5 :: -1],
        lambda x, n: x[: n - 5 : -1],
        lambda x, n: x[5 - n :: -1],
        lambda x, n: x[: 5 - n : -1],
    ],
)
def test_places_that_are_negative_for_some_lengths(read: Any) -> None:
    """What counts from the end in one call may count from the front in another."""
    for first in (3, 7):
        compiled = sg.compile(lambda x: read(x, x.shape[0]))
        for n in (first, 6, 5, 4, 3, 9, 10, 11):
            x = np.arange(1.0, n + 1)
            try:
                want = read(x, n)
            except IndexError:
                with pytest.raises(IndexError):
                    compiled(x)
            else:
                np.testing.assert_array_equal(compiled(x), want)


def test_places_are_clipped_to_a_size() -> None:
    """NumPy asks a plain array's own method, which calls a universal function with the size."""
    places = np.array([-3, 1, 9])
    cases = (
        lambda x: np.sum(x[np.clip(places, 0, x.shape[0] - 1)] ** 2),
        lambda x: np.sum(np.take(x, places, mode="clip") ** 2),
        lambda x: np.sum(x.take(places, mode="wrap") ** 2),
    )
    for f in cases:
        g = sg.value_and_grad(f)
        for n in (4, 12, 5):
            x = np.arange(1.0, n + 1)
            value, slope = g(x)
            assert value == f(x)
            np.testing.assert_array_equal(slope, [f(x + e) / 2 - f(x - e) / 2 for e in np.eye(n)])
        assert g.traces == 1


def test_places_and_elements_in_turn() -> None:
    def moment(w: Any) -> Any:
        return sum(v * w[i, j + 1] * (j + 1) for (i, j), v in np.ndenumerate(w[:, :-1]))

    w = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(sg.grad(moment)(w), [[1.0, 4.0, 2.0], [4.0, 13.0, 8.0]])


ASSOCIATIVE = [np.maximum, np.minimum, np.fmax, np.logaddexp, np.logical_or]


@pytest.mark.parametrize("ufunc", ASSOCIATIVE, ids=lambda f: f.__name__)
def test_running_results_in_one_trace_for_all_lengths(ufunc: np.ufunc) -> None:
    rng = np.random.default_rng(0)
    f = sg.compile(ufunc.accumulate)
    for n in (0, 1, 5, 8, 7, 6):
        x = rng.normal(size=n)
        np.testing.assert_allclose(f(x), ufunc.accumulate(x), rtol=1e-14)
    assert f.traces == 3
    rows = rng.normal(size=(3, 5))
    for axis in (0, 1, -1):
        found = sg.compile(lambda x, axis: ufunc.accumulate(x, axis=axis))(rows, axis)
        np.testing.assert_allclose(found, ufunc.accumulate(rows, axis=axis), rtol=1e-14)


def test_derivatives_of_running_results() -> None:
    x, weights = np.array([0.3, -1.0, 0.7, 0.7, 0.1, 2.0, 1.0]), np.arange(1.0, 8.0)
    g = sg.grad(lambda x: np.sum(weights * np.maximum.accumulate(x)))
    np.testing.assert_array_equal(g(x), [3.0, 0.0, 7.5, 4.5, 0.0, 13.0, 0.0])
    drop = sg.grad(lambda x: np.max(np.maximum.accumulate(x) - x))
    np.testing.assert_array_equal(drop(x), [1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    logs = sg.jacobian(np.logaddexp.accumulate)(x)
    want = np.tril(np.exp(x - np.logaddexp.accumulate(x)[:, None]))
    np.testing.assert_allclose(logs, want, rtol=1e-14)
    np.testing.assert_allclose(sg.grad(np.logaddexp.reduce)(x), want[-1], rtol=1e-14)


LISTS: dict[str, Callable[[Any, Any], Any]] = {
    "list": lambda x, k: np.array([2.0] * x.shape[0]) * x,
    "size first": lambda x, k: np.array(len(x) * [2.0, 1.0])[: len(x)] * x,
    "part of a size": lambda x, k: np.array((0.5,) * (x.shape[0] // 2 + 1))[:1] * x,
    "text": lambda x, k: len("ab" * x.size) * x,
    "traced elements": lambda x, k: np.sum(np.stack([x[0]] * len(x))) * x,
    "resize": lambda x, k: np.resize(np.array([3, 1, 4]), (x.shape[0], 2))[:, 0] * x,
    "an index": lambda x, k: np.sum([2.0, 1.0] * k[0]) * x,
    "a sum of indices": lambda x, k: np.sum(np.sum(k) * (2.0, 1.0)) * x,
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_are_repeated(name: str) -> None:
    """A list times a whole number is the list so many times; it is no array."""
    f = LISTS[name]
    compiled, k = sg.compile(f), np.array([3, 2])
    with sg.backend("numpy"):
        for n in (4, 5, 2, 9):
            x = np.arange(1.0, n + 1)
            np.testing.assert_array_equal(compiled(x, k), f(x, k))


def test_a_list_times_what_may_be_an_array_is_refused() -> None:
    """``[2.0] * np.int64(3)`` has three elements, ``[2.0] * np.array(3)`` has one."""
    with pytest.raises(UnsupportedError, match="a Python int"):
        sg.compile(lambda x, k: np.array([2.0] * k)[0] * x)(np.ones(2), np.int64(3))


# ---------------------------------------------------------------- sizes that are none


NEGATIVE: dict[str, Callable[[Any, int], Any]] = {
    "ones": lambda x, k: np.ones(k).sum() * x,
    "zeros": lambda x, k: np.zeros((2, k - 4)).sum() + x,
    "full": lambda x, k: np.full(k, x[0]),
    "empty": lambda x, k: np.empty(k - len(x) - 2).size * x,
    "like": lambda x, k: np.zeros_like(x, shape=k),
    "broadcast": lambda x, k: np.broadcast_to(x[0], (k,)),
    "tile": lambda x, k: np.tile(x, k),
    "repeat": lambda x, k: np.repeat(x, k - 5),
    "pad": lambda x, k: np.pad(x, k),
    "vander": lambda x, k: np.vander(x, k),
    "bincount": lambda x, k: np.bincount(np.array([0, 1, 1]), x, k),
    "linspace": lambda x, k: np.linspace(0.0, x[0], 2 - (3 - k)),
    "fft": lambda x, k: abs(np.fft.fft(x, k - 3)),
    "partition": lambda x, k: np.partition(x, k - 4),
}


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize("name", NEGATIVE)
def test_a_negative_size_is_an_error(name: str) -> None:
    f = NEGATIVE[name]
    g, x = sg.compile(f), np.array([0.5, 1.5, 2.5])
    same(g(x, 6), f(x, 6))
    for k in (-1, -2):
        with pytest.raises((ValueError, TypeError)):
            g(x, k)


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize("text", [
    "np.full(3, n, np.int8)", "np.full_like(b, n)", "np.copyto(b, n)", "np.putmask(b, b == 0, n)",
    "b.__setitem__(slice(0, 2), [n, 1])", "np.fill_diagonal(b[:1, None], n)",
])  # fmt: skip
@pytest.mark.parametrize("start", ["np.zeros(3, np.int8)", "x.astype(np.int8)"])
def test_numbers_of_python_that_do_not_fit(start: str, text: str) -> None:
    f = eval(f"lambda x, n: [b := {start}, {text}, x * b][-1]", {"np": np})
    g, x = sg.compile(f), np.array([0.5, 1.5, 2.5])
    same(g(x, 7), f(x, 7))
    for h in (f, g):
        with pytest.raises(OverflowError):
            h(x, 300)


def test_sizes_beside_short_types_are_weak() -> None:
    small = np.array([0, 1, 2], np.int8)

    def f(x: Any, n: int) -> Any:
        return np.where(small > 0, n, small) * x, np.select([small > 0], [n], small) * x

    same(sg.compile(f)(vector(3), 7), f(vector(3), 7))
    ends = lambda x, n: np.linspace(0.0, x[0], n)  # noqa: E731
    same(sg.compile(ends)(vector(3), 7), ends(vector(3), 7))


def test_quotients_and_rests_of_lengths_are_pythons() -> None:
    """SymPy before 1.14 says that -1 % n is 2*n - 1."""
    terms: list[Callable[[int, int], int]] = [
        lambda n, m: -1, lambda n, m: 1, lambda n, m: n - 3, lambda n, m: -2 * n - 3,
        lambda n, m: n * m - 1, lambda n, m: m - n, lambda n, m: 7,
    ]  # fmt: skip
    divisors: list[Callable[[int, int], int]] = [
        lambda n, m: n, lambda n, m: 2 * n, lambda n, m: n + m, lambda n, m: 3, lambda n, m: -n,
    ]  # fmt: skip

    def found(n: int, m: int) -> list[int]:
        pairs = [(a(n, m), b(n, m)) for a in terms for b in divisors]
        return [c for a, b in pairs for c in (a // b, a % b)]

    def f(x: Any, y: Any) -> Any:
        return np.stack([k * 1.0 for k in found(x.shape[0], y.shape[0])]) + 0.0 * x[0]

    g = sg.compile(f)
    for n, m in ((3, 5), (4, 2), (5, 5), (7, 3), (2, 9)):
        np.testing.assert_array_equal(g(np.ones(n), np.ones(m)), found(n, m))
