"""Compiled functions called through C: pointers, callbacks of libraries, statuses."""

from __future__ import annotations

import ctypes
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy import LowLevelCallable, ndimage
from scipy.integrate import nquad, quad, solve_ivp

import symgrad as sg
from symgrad.errors import ArgumentError, UnsupportedError

RNG = np.random.default_rng(3)
X, A, M = RNG.normal(size=5), RNG.normal(size=(4, 4)), RNG.normal(size=(4, 3))

NQUAD = "double (int, double *, void *)"
FILTER = "int callback(double *buffer, npy_intp size, double *value, void *user_data)"
ODE = "void rhs(double t, double *u, double *du, void *p)"
KEEP = "int (size_t dim, size_t expanded, const double *x, double *out, void *user_data)"
LOGP = "int (size_t dim, const double *x, double *grad, double *logp, void *user_data)"


def pointer(a: Any) -> Any:
    return np.ctypeslib.as_ctypes(a.reshape(-1)) if a.size else None


def called(made: Any, program: Any, values: list[Any]) -> tuple[int, list[Any]]:
    """Call a C function with the sizes, arguments and places that its declaration asks for."""
    sizes = program.bind_sizes(values)
    passed: list[Any] = [sizes[s] for s, (_, axis) in program.sizes.items() if axis is not None]
    keep = []
    for node, value in zip(program.inputs, values, strict=True):
        keep.append(np.ascontiguousarray(value, node.dtype))
        passed.append(pointer(keep[-1]) if node.shape else value)
    with sg.backend("numpy"):
        found = [np.full(np.shape(x), 7, n.dtype) for x, n in
                 zip(program.run(*values), program.outputs, strict=True)]  # fmt: skip
    return made.ctypes(*passed, *map(pointer, found)), found


def cumulated(x: Any) -> Any:
    for k in range(3):
        x = np.sin(x) + np.cumsum(x) / (k + 1)
    return np.sum(x**2)


def long(x: Any) -> Any:  # more steps than are linked into callers
    a, b = x[0], x[1]
    for k in range(300):
        a, b = np.sin(a) + b * 0.5 + 0.01 * k, a * 0.5 - np.cos(b) * 0.5
    return a + b


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "number": (lambda x, y: x * np.exp(-y), (1.5, 2.5)),
    "gradient": (sg.value_and_grad(cumulated), (X,)),
    "two sizes": (lambda x, A: (A @ x, np.sum(A, 0)), (M[0], M)),
    "product": (lambda A, B: A @ B, (A, M)),
    "solve": (sg.grad(lambda x, A: np.sum(np.linalg.solve(A, x))), (A[0], A)),
    "float32": (lambda x, a: x * a, (X.astype("f"), np.float32(2))),
    "whole numbers": (lambda x, k: (np.argmax(x), x[k], k // 2), (X, np.array([1, 2, 1]))),
    "truth values": (lambda x: (x > 0, np.any(x > 0)), (X,)),
    "size": (lambda x, n: x / n, (X, 3)),
    "length as argument": (lambda n: np.arange(n) * 1.5, (4,)),
    "complex": (lambda z: z * np.conj(z[::-1]), (X[:3] + 1j * X[:3][::-1],)),
    "fixed sizes": (sg.compile(lambda x: x[0] * x, dynamic=False), (X,)),
    "arguments returned": (lambda x, a: (x, a, x), (X, 2.0)),
    "long": (sg.grad(long), (X,)),
}


@pytest.mark.quick
@pytest.mark.parametrize("case", CASES)
def test_c_functions_give_what_calls_give(case: str) -> None:
    f, args = CASES[case]
    g = f if isinstance(f, sg.Function) else sg.compile(f)
    program = g.program(*args)
    values = [np.stack([x.real, x.imag], -1) if np.iscomplexobj(x) else x for x in args]
    status, found = called(g.cfunc(*args), program, values)
    assert status == 0
    expected = g(*args)
    for x, y in zip(found, expected if isinstance(expected, tuple) else (expected,), strict=True):
        y = np.stack([y.real, y.imag], -1) if np.iscomplexobj(y) else y
        np.testing.assert_allclose(x, y, rtol=1e-14, atol=1e-14)


def test_one_function_serves_all_sizes_and_says_which_not() -> None:
    g = sg.value_and_grad(lambda x, y: np.sum(x[1:] * y[:-1]) + x[3])
    made, program = g.cfunc(X, X), g.program(X, X)
    for n in (4, 5, 40, 1000):
        x, y = RNG.normal(size=(2, n))
        status, (value, slope) = called(made, program, [x, y])
        assert status == 0
        expected = g(x, y)
        assert value == pytest.approx(expected[0], rel=1e-13)
        np.testing.assert_array_equal(slope, expected[1])
    value, slope = np.full((), 7.0), np.full(5, 7.0)
    for n in (3, 1, 0, -1):
        assert made.ctypes(n, pointer(X), pointer(X), pointer(value), pointer(slope)) == 2
    assert value == 7
    assert np.all(slope == 7)


def test_statuses() -> None:
    out = np.zeros(())
    branch = sg.compile(lambda x: x**2 if x > 0 else -x).cfunc(1.0)
    assert [branch.ctypes(v, pointer(out)) for v in (2.0, -2.0)] == [0, 3]
    index = sg.compile(lambda x, k: x[k]).cfunc(X, np.array([0, 1]))
    two = np.zeros(2)
    given = [pointer(X), pointer(np.array([0, 9])), pointer(two)]
    assert index.ctypes(5, 2, *given) == 4
    assert "4 if an index is out of its axis" in index.declaration


def test_what_is_closed_over_has_its_values_of_then() -> None:
    scale, data = 2.0, np.array([1.0, 2.0, 3.0])
    g = sg.compile(lambda x: np.sum(x * data) * scale)
    x, out = np.ones(3), np.zeros(())
    made = g.cfunc(x)
    data[0], scale = 10.0, 3.0
    made.ctypes(3, pointer(x), pointer(out))
    assert out == 12
    assert g(x) == 45
    g.cfunc(x).ctypes(3, pointer(x), pointer(out))
    assert out == 45
    assert "of what it read when it was made" in repr(made)


# ---------------------------------------------------------------- libraries


def test_quad_and_nquad() -> None:
    f = sg.compile(lambda x, a: np.exp(-a * x**2))
    for signature in (NQUAD, "double f(int n, double *x)"):
        made = f.cfunc(1.0, 2.0, signature=signature).low_level_callable
        assert isinstance(made, LowLevelCallable)
        assert quad(made, 0, 1, args=(3.0,)) == quad(lambda x: np.exp(-3 * x**2), 0, 1)
    assert np.isnan(f.cfunc(1.0, 2.0, signature=NQUAD).ctypes(1, pointer(X), None))
    one = sg.grad(np.sin).cfunc(1.0, signature="double (double)").low_level_callable
    assert quad(one, 0, 1)[0] == pytest.approx(np.sin(1), rel=1e-15)
    whole = sg.compile(lambda x, p: p[0] * x + p[1])
    p = np.array([2.0, 1.0])
    made = whole.cfunc(1.0, p, signature="double (double, void *)")
    data = LowLevelCallable(made.ctypes, ctypes.c_void_p(p.ctypes.data))
    assert quad(data, 0, 1)[0] == pytest.approx(2.0)
    box = sg.compile(lambda x: x[0] * x[1] ** 2 + x[2])
    triple = box.cfunc(np.ones(3), signature=NQUAD).low_level_callable
    assert nquad(triple, [(0, 1), (0, 2), (0, 3)])[0] == pytest.approx(3 * 8 / 6 + 9)


def test_generic_filter() -> None:
    f = sg.compile(lambda w: np.sqrt(np.mean((w - np.mean(w)) ** 2)))
    image = RNG.normal(size=(12, 9))
    made = f.cfunc(np.ones(6), signature=FILTER)
    found = ndimage.generic_filter(image, made.low_level_callable, (3, 2))
    np.testing.assert_allclose(found, ndimage.generic_filter(image, np.std, (3, 2)), 1e-12)
    with pytest.raises(RuntimeError):  # another size
        ndimage.generic_filter(image, made.low_level_callable, (3, 3))


def lorenz(t: float, u: Any, p: Any) -> Any:
    return np.array([p[0] * (u[1] - u[0]), u[0] * (p[1] - u[2]) - u[1], u[0] * u[1] - p[2] * u[2]])


def test_right_hand_sides() -> None:
    u, p, du = np.array([1.0, 2.0, 3.0]), np.array([10.0, 28.0, 8 / 3]), np.zeros(3)
    made = sg.compile(lorenz).cfunc(0.0, u, p, signature=ODE)
    made.ctypes(0.0, pointer(u), pointer(du), p.ctypes.data)
    np.testing.assert_array_equal(du, lorenz(0.0, u, p))
    positive = sg.compile(lambda t, u: u if t > 0 else -u).cfunc(1.0, u, signature=ODE)
    positive.ctypes(-1.0, pointer(u), pointer(du), None)
    assert np.all(np.isnan(du))


@pytest.mark.slow
def test_an_integrator_in_numba() -> None:
    made, u, p, times, exact = orbit()
    found = classical(made.ctypes, u, times[1], 200, len(times) - 1, p)
    np.testing.assert_allclose(found, exact[1:], 1e-8)


def test_numbalsoda() -> None:
    numbalsoda = pytest.importorskip("numbalsoda")
    made, u, p, times, exact = orbit()
    for solve in numbalsoda.lsoda, numbalsoda.dop853:
        found, done = solve(made.address, u, times, data=p, rtol=1e-10, atol=1e-10)
        assert done
        np.testing.assert_allclose(found, exact, 1e-7)


def orbit() -> tuple[Any, ...]:
    """Return a right-hand side, start, parameters, times, and SciPy's states at these."""
    u, p, times = np.array([1.0, 2.0, 3.0]), np.array([10.0, 28.0, 8 / 3]), np.linspace(0, 1, 11)
    made = sg.compile(lorenz).cfunc(0.0, u, p, signature=ODE)
    exact = solve_ivp(lorenz, (0, 1), u, "DOP853", times, args=(p,), rtol=1e-12, atol=1e-12)
    return made, u, p, times, exact.y.T


@njit
def classical(rhs: Any, u: Any, span: float, steps: int, spans: int, p: Any) -> Any:
    """Return states at multiples of a span, by Runge and Kutta's steps of order four."""
    found = np.empty((spans, u.size))
    k, h, t = np.empty((4, u.size)), span / steps, 0.0
    for j in range(spans):
        for _ in range(steps):
            rhs(t, u.ctypes, k[0].ctypes, p.ctypes)
            rhs(t + h / 2, (u + h / 2 * k[0]).ctypes, k[1].ctypes, p.ctypes)
            rhs(t + h / 2, (u + h / 2 * k[1]).ctypes, k[2].ctypes, p.ctypes)
            rhs(t + h, (u + h * k[2]).ctypes, k[3].ctypes, p.ctypes)
            u = u + h / 6 * (k[0] + 2 * k[1] + 2 * k[2] + k[3])
            t += h
        found[j] = u
    return found


def test_log_densities() -> None:
    data = RNG.normal(size=20)
    g = sg.value_and_grad(
        lambda q: -0.5 * np.sum((data - q[0]) ** 2) * np.exp(-2 * q[1]) - 20 * q[1]
    )
    made = g.cfunc(np.zeros(2), signature=LOGP)
    q, slope, value = np.array([0.3, -0.2]), np.zeros(2), np.zeros(())
    assert made.ctypes(2, pointer(q), pointer(slope), pointer(value), None) == 0
    expected = g(q)
    assert value == pytest.approx(expected[0], rel=1e-14)
    np.testing.assert_allclose(slope, expected[1], 1e-14)
    assert made.ctypes(3, pointer(q), pointer(slope), pointer(value), None) == 2


def test_what_is_kept_of_draws() -> None:
    made = sg.compile(lambda p, a: np.concatenate([np.exp(p), a * p[:1]])).cfunc(
        np.zeros(2), 3.0, signature=KEEP
    )
    q, a, out = np.array([0.3, -0.2]), np.array([5.0]), np.zeros(3)
    assert made.ctypes(2, 3, pointer(q), pointer(out), a.ctypes.data) == 0
    np.testing.assert_allclose(out, [*np.exp(q), 1.5], 1e-15)
    before = out.copy()
    for sizes in ((3, 3), (2, 2), (2, 4)):
        assert made.ctypes(*sizes, pointer(2 * q), pointer(out), a.ctypes.data) == 2
    assert np.array_equal(out, before)


def test_cffi() -> None:
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()
    made = sg.grad(lambda x: np.sum(x**3)).cfunc(X)
    function = ffi.cast(made.signature.replace("int (", "int (*)("), made.address)
    out = np.zeros(5)
    assert function(5, ffi.from_buffer("double[]", X), ffi.from_buffer("double[]", out)) == 0
    np.testing.assert_allclose(out, 3 * X**2, 1e-15)


def test_threads_and_lives() -> None:
    made = sg.compile(lambda x: np.sum(np.cumsum(np.sin(x)))).cfunc(X).low_level_callable.function
    x = RNG.normal(size=2000)
    found = np.zeros(8)

    def run(k: int) -> None:
        for _ in range(50):
            assert made(len(x), pointer(x), pointer(found[k : k + 1])) == 0

    threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    np.testing.assert_allclose(found, np.sum(np.cumsum(np.sin(x))), 1e-12)


# ---------------------------------------------------------------- wrong use


@pytest.mark.quick
@pytest.mark.parametrize(
    ("f", "args", "signature", "words"),
    [
        (np.sin, (1.0,), "float (float)", "is not known: .* NumbaLSODA"),
        (np.sin, (1.0,), "", "is not known"),
        (np.sin, (1.0,), 3, "is not known"),
        (np.sin, (1.0,), ODE, "fewer arguments"),
        (np.sin, (X,), "double (double)", "is no number"),
        (np.sin, (X,), FILTER, "its results are float64 of shape"),
        (lambda t, u: u[1:], (0.0, X), ODE, "for 5 numbers"),
        (lambda x, y: x * y, (1.0, 2.0), "double (double)", "y would be given nothing"),
        (lambda x: x, (np.float32(1),), "double (double)", "is of float32"),
        (lambda x, y: np.sum(x) * y, (X, 2.0), NQUAD, "behind the array"),
        (lambda x: np.sum(x), (X,), KEEP, "its results are one float64"),
        (lambda x: np.outer(x, x), (X,), KEEP, "its results are float64 of shape"),
        (lambda x: (x, x), (X,), KEEP, "its results are float64 of shape"),
        (lambda A: np.sum(A), (M,), FILTER, "not an array of one axis"),
    ],
)
def test_signatures_that_do_not_fit(f: Any, args: Any, signature: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        sg.compile(f).cfunc(*args, signature=signature)


def test_what_cannot_be_a_c_function() -> None:
    g = sg.compile(lambda x: sg.pure_callback(np.sin, x, x))
    with pytest.raises(UnsupportedError, match="calls a Python function"):
        g.cfunc(X)
    with pytest.raises(TypeError, match="an address in its process"):
        pickle.dumps(sg.compile(np.sin).cfunc(1.0))
