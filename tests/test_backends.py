"""Backends: ``"numba"``, the dispatcher of ``.kernel``, against ``"llvm"``; and which there are."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import symgrad as sg
import symgrad.numpy as snp
from symgrad._core.trace import flatten
from symgrad.errors import ArgumentError


def check(f: Callable[..., Any], *args: Any, ulp: float = 4, **kwargs: Any) -> Any:
    """Assert that both backends give one result: structure, types, values; return it."""
    function = sg.compile(f)
    with sg.backend("llvm"):
        expected, structure = flatten(function(*args, **kwargs))
    with sg.backend("numba"):
        result = function(*args, **kwargs)
    found, same = flatten(result)
    assert same == structure
    for a, b in zip(found, expected, strict=True):
        assert type(a) is type(b)
        if isinstance(b, (np.ndarray, np.generic)):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            if b.dtype.kind in "fc":
                rtol = ulp * np.finfo(b.dtype).eps
                scale = np.max(np.abs(b), initial=0, where=np.isfinite(b))
                np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * scale)
            else:
                np.testing.assert_array_equal(a, b)
        else:
            assert a == b
    return result


@dataclasses.dataclass
class Box:
    weight: Any
    name: str = "box"


class Point(NamedTuple):
    x: Any
    y: Any


def energy(x: Any) -> Any:
    return np.sum(x**2 * np.exp(-x))


def rotated(x: Any, angle: Any) -> Any:
    c, s = np.cos(angle), np.sin(angle)
    return snp.array([[c, -s], [s, c]]) @ x


def descent(x: Any, steps: Any) -> Any:
    return sg.fori_loop(0, steps, lambda _, z: z - 0.1 * sg.grad(energy)(z), x)


def long(x: Any) -> Any:
    for k in range(600):
        x = np.sin(x) * x + 0.001 * k
    return x


RNG = np.random.default_rng(0)
V, M, Z = RNG.normal(size=7), RNG.normal(size=(4, 4)), RNG.normal(size=5) + 1j * RNG.normal(size=5)
SINGLE = V.astype(np.float32)
C3 = [[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 5.0]]

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "number": (lambda x: x * x, (3.0,)),
    "NumPy's number": (lambda x: np.sin(x), (np.float32(0.5),)),
    "array of no axes": (lambda x: x * 2, (np.array(1.5),)),
    "nothing to compute": (lambda x: (x, 2.0, None, x), (3.0,)),
    "no results": (lambda x: (), (3.0,)),
    "value and gradient": (sg.value_and_grad(energy), (V,)),
    "jacobian": (sg.jacobian(lambda x: np.cumsum(np.tanh(x))), (V,)),
    "hessian": (sg.hessian(energy), (V,)),
    "vmap": (sg.vmap(sg.grad(energy)), (M,)),
    "jvp": (lambda x: sg.jvp(energy, (x,), (x,)), (V,)),
    "several arguments": (sg.grad(lambda a, b, c: np.sum(a @ b) * c, (0, 1, 2)), (M, M, 1.5)),
    "short axes": (sg.jacobian(rotated, (0, 1)), (M[:2], 0.3)),
    "linear algebra": (sg.grad(lambda a: np.linalg.slogdet(a)[1]), (np.array(C3),)),
    "list of numbers": (lambda a: np.linalg.inv(snp.asarray(a)), (C3,)),
    "eigenvalues": (lambda a: np.linalg.eigh(a), (np.array(C3),)),
    "gather and scatter": (sg.grad(lambda x: np.sum(x[np.array([0, 2, 2])] ** 2)), (V,)),
    "sort": (lambda x: (np.sort(x), np.argsort(x), np.argmax(x)), (V,)),
    "loop": (sg.grad(lambda x, n: energy(descent(x, n))), (np.abs(V), 12)),
    "while": (lambda x: sg.while_loop(lambda z: z > 1, lambda z: z / 3, x), (1e6,)),
    "both branches": (sg.grad(lambda x: sg.cond(x > 0, np.sin, np.cos, x)), (0.5,)),
    "long": (sg.value_and_grad(long), (0.5,)),
    "special functions": (sg.grad(lambda x: np.i0(x) + x**1.5), (2.0,)),
    "size": (lambda x, n: x / x.shape[0] + n, (V, 5)),
    "sizes 0 and 1": (lambda x, y: (np.sum(x) + 1, y * 2), (V[:0], V[:1])),
    "types": (lambda i, b, x: (i + 1, b & (x > 0), i * x, x > 0), (3, np.True_, V)),
    "whole numbers": (lambda x: (x // 2, x.sum(), x > 2), (np.arange(6, dtype=np.int32),)),
    "bytes": (lambda x: (x + 1, x[0]), (np.arange(6, dtype=np.uint8),)),
    "truth values": (lambda x: (~x, np.any(x), np.sum(x)), (V > 0,)),
    "float32": (sg.value_and_grad(energy), (SINGLE,)),
    "float32 numbers": (lambda x: (np.sum(x), x[0] * x[1], np.linalg.norm(x)), (SINGLE,)),
    "both precisions": (lambda x, y: (x * y, np.sum(x)), (SINGLE, V)),
    "complex": (lambda z: (np.exp(z), z.real, np.abs(z), np.sum(z)), (Z,)),
    "complex number": (lambda z: (z * z, np.abs(z)), (1 + 2j,)),
    "complex64": (lambda z: (z * 2, np.sum(z), z[0]), (Z.astype(np.complex64),)),
    "complex64 number": (lambda z: np.exp(z), (np.complex64(1 + 2j),)),
    "complex gradient": (sg.grad(lambda z: np.sum(np.abs(np.exp(z)) ** 2)), (Z,)),
    "complex matrix": (lambda z, x: {"w": z @ z, "x": [x]}, (M + 1j * M.T, Z[:2])),
    "fft": (lambda x: (np.fft.fft(x), np.fft.irfft(np.fft.rfft(x), 7)), (V,)),
    "dict": (sg.grad(lambda p: energy(p["w"]) * p["b"]), ({"w": V, "b": 2.0},)),
    "dataclass": (sg.grad(lambda p: energy(p.weight)), (Box(V),)),
    "namedtuple": (sg.grad(lambda p: energy(p.x) * p.y), (Point(V, 2.0),)),
    "nested": (lambda t: ([t[0][0], (t[1],)], {"k": t[0][1]}), (((V, 2.0), M),)),
    "list": (lambda xs: [x * 2 for x in xs], ([V, M, 3.0],)),
    "function": (lambda x, f: f(x), (V, lambda x: x + 1)),
    "function in a tuple": (lambda t: t[1](t[0]), ((V, np.sin),)),
    "word": (lambda x, how: x * 2 if how == "twice" else x, (V, "twice")),
    "every other": (sg.value_and_grad(energy), (np.repeat(V, 2)[::2],)),
    "backwards": (lambda x: x * 2, (V[::-1],)),
    "columns first": (lambda x: x * 2 + x.T, (np.asfortranarray(M),)),
    "complex, every other": (lambda z: z * 2, (np.repeat(Z, 2)[::2],)),
    "other byte order": (lambda x: x * 2, (V.astype(">f8"),)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.quick(4)
def test_programs(name: str) -> None:
    f, args = PROGRAMS[name]
    check(f, *args)


def test_keywords() -> None:
    check(lambda x, *, scale, by="x": x * scale, V, by="y", scale=2.0)


def test_read_only() -> None:
    x = V.copy()
    x.flags.writeable = False
    check(sg.grad(energy), x)


def test_changing_sizes() -> None:
    """One kernel serves all sizes; what the trace took for granted is looked at in each call."""
    function = sg.compile(sg.value_and_grad(energy), backend="numba")
    for n in (7, 300, 3, 1, 0, 7):
        x = np.linspace(0.1, 1, n)
        np.testing.assert_allclose(function(x)[1], (2 - x) * np.exp(-x) * x, rtol=1e-14)
    assert function.traces == 3
    pairs = sg.compile(lambda x, y: np.sum(x) * y, backend="numba")
    assert [pairs(V[:a], V[:b]).shape for a, b in ((3, 3), (3, 4), (5, 5))] == [(3,), (4,), (5,)]


def test_guards_on_sizes() -> None:
    halves = sg.compile(lambda x: x[: len(x) // 2] if len(x) > 4 else x, backend="numba")
    for n in (6, 3, 7, 4):
        np.testing.assert_array_equal(halves(V[:n]), V[: n // 2] if n > 4 else V[:n])


def test_guards_on_values() -> None:
    function = sg.compile(lambda x: x * 2 if x > 0 else -x, backend="numba")
    assert [function(x) for x in (1.5, -4.0, 2.0)] == [3.0, 4.0, 4.0]
    assert function.traces == 2


@pytest.mark.slow
def test_kinds_that_change() -> None:
    function = sg.compile(lambda x: x + 1, backend="numba")
    for x in (1.0, SINGLE, V, 2, M, np.float32(1), Z, True):
        found, expected = function(x), sg.compile(lambda x: x + 1)(x)
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        np.testing.assert_array_equal(found, expected)


def test_results_in_given_memory() -> None:
    function = sg.compile(sg.value_and_grad(energy), backend="numba")
    value, slope = sg.value_and_grad(energy)(V)
    for out in (np.empty(7), np.empty(14)[::2]):
        found = function(V, out=(None, out))
        assert found[1] is out
        np.testing.assert_allclose([found[0], *out], [value, *slope], rtol=1e-14)
    here = V.copy()
    function(here, out=(None, here))
    np.testing.assert_allclose(here, slope, rtol=1e-14)
    z = np.empty(5, complex)
    sg.compile(lambda z: z * 2, backend="numba")(Z, out=z)
    np.testing.assert_array_equal(z, Z * 2)
    with pytest.raises(ArgumentError, match="another structure"):
        function(V, out=slope)


@pytest.mark.parametrize("backend", ["llvm", "numpy", "numba"])
def test_results_share_no_memory(backend: str) -> None:
    both = sg.compile(lambda x: (np.sin(x), np.cos(x)), backend=backend)
    x, memory = np.arange(3.0), np.empty(6)
    for out in ((memory[:3], memory[:3]), (memory[:3], memory[2:5])):
        with pytest.raises(ArgumentError, match=r"arrays of out= overlap: give each array"):
            both(x, out=out)
    both(x, out=(memory[::2], memory[1::2]))
    np.testing.assert_allclose(memory.reshape(3, 2), np.stack([np.sin(x), np.cos(x)], 1))


@pytest.mark.parametrize("backend", ["llvm", "numba"])
def test_errors(backend: str) -> None:
    pick = sg.compile(lambda x, i: x[i], backend=backend)
    assert pick(V, np.array(2)) == V[2]
    with pytest.raises(IndexError):
        pick(V, np.array(9))
    with pytest.raises(ValueError, match="summed together"):
        sg.compile(lambda a, b: a @ b, backend=backend)(M, V)
    with pytest.raises(ArgumentError, match="bytearray"):
        sg.compile(lambda x: x, backend=backend)(bytearray())

    def refuses(x: Any) -> Any:
        raise ZeroDivisionError("refused")

    called = sg.compile(lambda x: sg.pure_callback(refuses, x, x), backend=backend)
    with pytest.raises(ZeroDivisionError, match="refused"):
        called(V)


def test_one_dispatcher_for_calls_and_for_njit() -> None:
    function = sg.compile(sg.grad(energy), backend="numba")
    function(V)
    [signature] = function.kernel(V).signatures
    function.kernel(V)(V)
    assert function.kernel(V).signatures == [signature]


def test_which_backends_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    known = "'llvm', 'numba' or 'numpy'"
    refused = f"backend is {known}, not 'cuda'"
    with pytest.raises(ArgumentError, match=refused):
        sg.compile(np.sin, backend="cuda")
    with pytest.raises(ArgumentError, match=refused), sg.backend("cuda"):  # type: ignore[arg-type]
        pass
    monkeypatch.setenv("SYMGRAD_BACKEND", "cuda")
    with pytest.raises(ArgumentError, match=refused):
        sg.compile(np.sin)(1.0)
    monkeypatch.setenv("SYMGRAD_BACKEND", "numba")
    function = sg.compile(np.sin)
    assert function(0.0) == 0.0
    assert len(function.kernel(0.0).signatures) == 1
