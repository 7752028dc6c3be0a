"""Python functions that are not traced, called from programs and from machine code."""

from __future__ import annotations

import io
import sys
import time
from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy import optimize

import symgrad as sg
from symgrad.errors import ArgumentError, ShapeError, UnsupportedError


def cubic(a: Any) -> Any:
    """Roots of ``x**3 + x = a``, by a solver that cannot be traced."""
    found = optimize.root(lambda x: x**3 + x - a, np.zeros_like(a), tol=1e-14)
    return found.x


ROOT = sg.implicit_root(lambda x, a: x**3 + x - a, lambda a: sg.pure_callback(cubic, a, a))


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
@pytest.mark.quick(1)
def test_the_solution_of_any_solver_is_differentiated(backend: Any) -> None:
    a = np.array([0.5, 2.0, 10.0])
    with sg.backend(backend):
        x = sg.compile(ROOT)(a)
        np.testing.assert_allclose(x**3 + x, a, rtol=1e-12)
        slope = 1 / (3 * x**2 + 1)
        np.testing.assert_allclose(sg.jacobian(ROOT)(a), np.diag(slope), rtol=1e-12)
        np.testing.assert_allclose(
            np.diagonal(sg.hessian(lambda a: np.sum(ROOT(a)))(a)), -6 * x * slope**3, rtol=1e-11
        )


def test_a_batch_is_one_call_for_each() -> None:
    calls: list[Any] = []

    def twice(x: Any, y: Any) -> Any:
        calls.append((np.shape(x), np.shape(y)))
        return 2 * x + y

    f = sg.compile(sg.vmap(lambda x, y: sg.pure_callback(twice, x, x, y), in_axes=(0, None)))
    x = np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(f(x, 1.0), 2 * x + 1)
    assert calls == [((2,), ())] * 4


def test_kinds_of_values() -> None:
    """What a function is given and gives has the declared types, down to empty arrays."""
    seen: list[Any] = []

    def spy(*xs: Any) -> Any:
        seen.extend(np.asarray(x).dtype for x in xs)
        return np.asarray(xs[0]) + 1

    f = sg.compile(lambda x, n: sg.pure_callback(spy, np.float32(0), x, n, x > 0, x * 2.0))
    result = f(np.float32(1.5), 7)
    assert result == 2.5
    assert result.dtype == np.float32
    assert seen[:3] == [np.float32, np.int64, np.bool_]
    assert sg.compile(lambda x: sg.pure_callback(np.isfinite, True, x))(1.0) is np.True_
    copy = sg.compile(lambda x: sg.pure_callback(np.copy, x, x))
    for shape in ((0,), (1,), (5,)):
        np.testing.assert_array_equal(copy(np.ones(shape)), np.ones(shape))
    strided = np.arange(12.0).reshape(3, 4).T[::2]
    np.testing.assert_array_equal(sg.compile(lambda x: sg.pure_callback(np.copy, x, x))(strided),
                                  strided)  # fmt: skip


def test_operands_may_be_kept() -> None:
    """The program's memory is used again; what the function is given is not."""
    kept: list[Any] = []
    f = sg.compile(lambda x: sg.pure_callback(lambda y: kept.append(y) or y, x, np.sin(x)))
    for k in range(3):
        f(np.full(100, float(k)))
    np.testing.assert_allclose([x[0] for x in kept], np.sin([0.0, 1.0, 2.0]), rtol=1e-15)


def test_exceptions_pass_through_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(x: Any) -> Any:
        if x > 1:
            raise KeyError("too large")
        return x

    f = sg.compile(lambda x: 2 * sg.pure_callback(fail, x, x))
    for _ in range(3):
        with pytest.raises(KeyError, match="too large"):
            f(2.0)
        assert f(1.0) == 2.0
    kernel, reported = f.kernel(1.0), []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)
    assert np.isnan(njit(lambda: kernel(2.0))())
    assert isinstance(reported[0].exc_value, KeyError)
    assert f(1.0) == 2.0


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda x: sg.pure_callback(lambda y: np.zeros(3), x, x), ShapeError, r"shape \(3,\)"),
        (lambda x: sg.pure_callback(lambda y: 1j, x, x), ArgumentError, "complex128"),
        (lambda x: sg.pure_callback(3, x, x), ArgumentError, "calls a function, not int"),
        (lambda x: sg.pure_callback(np.sin, "like", x), ArgumentError, "like is an array"),
        (lambda x: sg.pure_callback(np.dot, x, x, {"a": x}), ArgumentError, "argument (1|b) is"),
    ],
)
def test_mistakes(call: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        sg.compile(call)(1.0)


@pytest.mark.parametrize("transform", [sg.grad, sg.jacobian])
def test_a_derivative_that_nobody_knows(transform: Any) -> None:
    with pytest.raises(UnsupportedError, match=r"sg\.implicit_root"):
        transform(lambda x: sg.pure_callback(np.sin, x, x))(1.0)


def test_without_traced_arguments_it_is_called_at_once() -> None:
    assert sg.compile(lambda x: sg.pure_callback(np.sin, 0.0, 0.5) + x)(0.0) == np.sin(0.5)


def test_eager_tensors_call_at_once() -> None:
    x = sg.tensor([1.0, 2.0], requires_grad=True)
    y = sg.pure_callback(np.exp, x, x)
    np.testing.assert_array_equal(y.detach().numpy(), np.exp([1.0, 2.0]))
    with pytest.raises(UnsupportedError, match=r"custom_jvp"):
        y.sum().backward()


def test_values_are_printed_in_each_call(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        sg.debug_print(x, "not used, and not printed")
        return np.sum(np.sin(sg.debug_print(2.0 * x, "twice")))

    x = np.ones(2)
    for g in (f, sg.compile(f), sg.grad(f), sg.hessian(f), lambda x: sg.jvp(f, (x,), (x,))):
        for k in range(2):
            g((k + 1) * x)
            said = capsys.readouterr().out.splitlines()
            assert f"twice: [{2 * k + 2}. {2 * k + 2}.]" in said
            assert (len(said) == 1) == (g is not f)
    np.testing.assert_allclose(sg.grad(f)(x), 2 * np.cos(2 * x), rtol=1e-14)
    sg.vmap(lambda x: sg.debug_print(np.sum(x)))(np.ones((2, 3)))
    assert capsys.readouterr().out.split()[-2:] == ["3.0", "3.0"]


class Terminal(io.StringIO):
    """A terminal that somebody looks at."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("there", [True, False])
def test_who_waits_is_told(there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    said = Terminal() if there else io.StringIO()
    monkeypatch.setattr(sys, "stderr", said)

    def slow(x: Any) -> Any:
        time.sleep(2.2)
        return x**2

    assert sg.compile(slow)(3.0) == 9.0
    assert ("tracing slow takes more than 2 s" in said.getvalue()) == there
    assert ("timings=True" in said.getvalue()) == there
