"""What test modules of several folders share."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest

import symgrad as sg
from symgrad._core.op import registry
from symgrad._core.trace import flatten

#: Python's options for processes of tests: warnings are errors, but that a machine is busy.
STRICT = ("-W", "error", "-W", "ignore:the first call takes long")

# ---------------------------------------------------------------- pages


def builder(page: str) -> ModuleType:
    """Return the script that writes a page of the documentation, as a module."""
    return script(f"build_{page}")


def script(name: str) -> ModuleType:
    """Return a module of the documentation's folder."""
    path = Path(__file__).parents[1] / "docs" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---------------------------------------------------------------- samples of the registry


def called(function: Any) -> Any:
    """SciPy's composed functions do not dispatch; they are reached through the registry."""
    module = getattr(function, "__module__", None) or "numpy"
    return function if module.startswith("numpy") else registry.handler(function)


def of_arrays(
    function: Any, sample: Any, chosen: Callable[[Any], bool] = lambda x: True
) -> tuple[Callable[..., Any], list[Any]]:
    """A call with the sample's arguments as a function of the arrays in them, and these."""
    leaves, tree = flatten(sample)
    places = [k for k, x in enumerate(leaves) if isinstance(x, np.ndarray) and chosen(x)]

    def of(*arrays: Any) -> Any:
        given = list(leaves)
        for k, x in zip(places, arrays, strict=True):
            given[k] = x
        args, kwargs = tree.unflatten(given)
        return function(*args, **kwargs)

    return of, [leaves[k] for k in places]


# ---------------------------------------------------------------- matrices


def normal(*shape: int) -> Any:
    """Normal random numbers, the same for a shape whoever asks first."""
    return np.random.default_rng(shape).standard_normal(shape)


def well(*shape: int) -> Any:
    """A matrix far from singular, its eigenvalues and singular values far from equal."""
    n = min(shape[-2:])
    return normal(*shape) + 4 * np.eye(*shape[-2:]) * (1 + np.arange(n))[-1]


def definite(n: int, *lead: int) -> Any:
    """A symmetric positive definite matrix."""
    x = normal(*lead, n, n)
    return x @ np.swapaxes(x, -1, -2) + np.diag(np.arange(1.0, n + 1))


# ---------------------------------------------------------------- functions and their rules


def executed(program: sg.Program, name: str = "program") -> Callable[..., Any]:
    """Return the function of a program's source."""
    scope: dict[str, Any] = {}
    exec(compile(program.source(name), "<source>", "exec"), scope)
    function: Callable[..., Any] = scope[name]
    return function


def condition(exact: Callable[..., Any], at: Sequence[Any]) -> Any:
    """Return how much relative errors of the operands are magnified."""
    h, total = mpmath.mpf(10) ** -15, mpmath.mpf(0)
    for k, x in enumerate(at):
        sides = [exact(*at[:k], x + s * h, *at[k + 1 :]) for s in (1, -1)]
        total += abs(x * (sides[0] - sides[1])) / (2 * h)
    return total / abs(exact(*at))


def of_spectrum(f: Callable[[Any], Any], a: Any, *along: Any) -> Any:
    """Derivatives along matrices of a function of a symmetric or Hermitian matrix.

    By central differences, with 60 digits.
    """
    hermitian = any(map(np.iscomplexobj, (a, *along)))
    with mpmath.workdps(60):
        h = mpmath.mpf(10) ** -12

        def value(x: Any) -> Any:
            w, q = (mpmath.eighe if hermitian else mpmath.eigsy)(x)
            return q * mpmath.diag([f(v) for v in w]) * q.H

        def moved(x: Any, rest: Any) -> Any:
            if not rest:
                return value(x)
            e = h * mpmath.matrix(rest[0].tolist())
            return (moved(x + e, rest[1:]) - moved(x - e, rest[1:])) / (2 * h)

        found = moved(mpmath.matrix(a.tolist()), along)
        return np.array(found.tolist(), complex if hermitian else float)


def pulled() -> Any:
    """``sin(x) y`` with a slope by ``x`` that is twice the true one, to be told apart."""

    @sg.custom_vjp
    def twice(x: Any, y: Any) -> Any:
        return np.sin(x) * y

    twice.defvjp(
        lambda x, y: (twice(x, y), (x, y)),
        lambda saved, ct: (2 * ct * np.cos(saved[0]) * saved[1], np.sum(ct * np.sin(saved[0]))),
    )
    return twice


def pushed() -> Any:
    """The same by a forward rule."""

    @sg.custom_jvp
    def twice(x: Any, y: Any) -> Any:
        return np.sin(x) * y

    @twice.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x, y), (dx, dy) = primals, tangents
        return twice(x, y), 2 * np.cos(x) * y * dx + np.sin(x) * dy

    return twice


# ---------------------------------------------------------------- kernels on disk

LONG = np.resize([0.1, 0.2, 0.3], 30)


def run_here(x: Any = LONG) -> tuple[bool, Any]:
    """Compile a function as a new process would; return if its code was on disk, and the result."""
    numbers = lambda: np.resize([1.5, 2.5, -2.0], 30)  # noqa: E731
    g = sg.value_and_grad(lambda x: np.sum(np.sin(x) * numbers()) + np.sum(x // numbers()))
    c = numbers()
    value, slope = g(x)
    assert value == pytest.approx(np.sum(np.sin(x) * c + x // c), rel=1e-14)
    np.testing.assert_allclose(slope, np.cos(x) * c, rtol=1e-14)
    kernel = g.kernel(x)
    assert kernel(x)[0] == value
    entry = g._specialization((x,), {}).entry
    assert entry is not None
    return entry.found, value


# ---------------------------------------------------------------- loops


def _scan(f: Any, carry: Any, xs: Any) -> Any:
    ys = []
    for x in xs:
        carry, y = f(carry, x)
        ys.append(y)
    return carry, np.array(ys)


def _fori_loop(start: int, stop: int, f: Any, carry: Any) -> Any:
    for k in range(start, stop):
        carry = f(k, carry)
    return carry


def _while_loop(holds: Any, f: Any, carry: Any) -> Any:
    while holds(carry):
        carry = f(carry)
    return carry


#: Loops and branches of symgrad's as Python carries them out.
PLAIN_LOOPS = SimpleNamespace(
    scan=_scan, fori_loop=_fori_loop, while_loop=_while_loop,
    cond=lambda c, yes, no, *xs: yes(*xs) if c else no(*xs),
)  # fmt: skip
