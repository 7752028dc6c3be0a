"""A package on symgrad's compiler, through ``symgrad.extend`` and public names alone.

It adds an elementwise op with machine code of its own, a function in terms of others, a rewrite
and a solver: all that a library of a field needs to make its functions first-class.

Run: ``python examples/extension/hyperbolic.py``
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

import symgrad as sg
from symgrad.extend import (
    Builder,
    Code,
    Emit,
    Evidence,
    Map,
    Partials,
    Real,
    Words,
    composite,
    define,
    rewrite,
)

# ---------------------------------------------------------------- an op with machine code


def sech(x: Any) -> Any:
    """The hyperbolic secant, ``1/cosh(x)``, on arrays and numbers; 0 far out."""
    return SECH(x)


def _reference(x: Any) -> Any:
    e = np.exp(-np.abs(x))
    return 2.0 * e / (1.0 + e * e)


def _code(builder: Builder, dtype: np.dtype[Any], x: str) -> str:
    """Write ``2*e / (1 + e*e)`` with ``e = exp(-|x|)``, which never overflows."""
    kind = builder.type(dtype)
    one, two = builder.const(1.0, dtype), builder.const(2.0, dtype)
    size = builder.call_intrinsic("fabs", dtype, x)
    e = builder.call_libm("exp", dtype, builder.op("fneg", kind, size))
    below = builder.op("fadd", kind, one, builder.op("fmul", kind, e, e))
    return builder.op("fdiv", kind, builder.op("fmul", kind, two, e), below)


SECH = define(
    Map(
        "Sech",
        evaluate=_reference,
        domain=(Real,),
        sympy=sp.sech,
        rule=Partials(lambda y, x: (-y * np.tanh(x),)),
    ),
    Code(Emit(_code), source=lambda x: f"(1/np.cosh({x}))"),
    Evidence(samples=(-5, 5)),
    Words("hyperbolic secant"),
)

# ---------------------------------------------------------------- a function of others


def gudermannian(x: Any) -> Any:
    """The Gudermannian function, the integral of sech from 0: this package's own NumPy version."""
    return 2.0 * np.arctan(np.tanh(0.5 * np.asarray(x)))


@composite(gudermannian, name="gudermannian")
def _gudermannian(x: Any) -> Any:
    """The Gudermannian function, as a traced program."""
    return 2.0 * np.arctan(np.tanh(0.5 * x))


# ---------------------------------------------------------------- a rewrite


def _log_sech(x: Any) -> Any:
    size = np.abs(x)
    return np.log(2.0) - size - np.log1p(np.exp(-2.0 * size))


# Step by step, log(sech(x)) is -inf from 745 on, and its derivative nan.
rewrite(
    "log(sech(x)) = log(2) - |x| - log1p(exp(-2|x|))",
    lambda x: np.log(SECH(x)),
    _log_sech,
    samples=[(-30, 30)],
    partials=lambda y, x: (-np.tanh(x),),
)

# ---------------------------------------------------------------- a solver


def halley(f: Callable[..., Any], tol: float = 1e-13, steps: int = 50) -> Callable[..., Any]:
    """Return ``root(x0, *args)``: the x with ``f(x, *args) = 0`` by Halley's method.

    Derivatives of f that the iteration needs come from symgrad. Those of the root with respect to
    ``args`` come from the implicit function theorem, so no iteration is stored.

    Source: T. R. Scavo, J. B. Thoo, On the geometry of Halley's method, The American Mathematical
    Monthly 102 (1995), 417-426.
    """
    slope = sg.grad(f)
    bend = sg.grad(slope)

    def solve(x0: Any, *args: Any) -> Any:
        def step(state: Any) -> Any:
            x, _, k = state
            y, d, dd = f(x, *args), slope(x, *args), bend(x, *args)
            move = 2.0 * y * d / (2.0 * d * d - y * dd)
            return x - move, np.abs(move), k + 1

        def going(state: Any) -> Any:
            _, move, k = state
            return (move > tol) & (k < steps)

        return sg.while_loop(going, step, (x0, np.inf, 0))[0]

    return sg.implicit_root(lambda x, x0, *args: f(x, *args), solve)


if __name__ == "__main__":
    x = np.linspace(-3.0, 3.0, 7)
    print("sech' ", sg.vmap(sg.grad(sech))(x))
    print("gd'   ", sg.vmap(sg.grad(gudermannian))(x), "= sech")
    print("log(sech(1000))' ", sg.grad(lambda x: np.log(sech(x)))(1000.0))

    def kepler(anomaly: Any, mean: Any, eccentricity: Any) -> Any:
        return anomaly - eccentricity * np.sin(anomaly) - mean

    solved = sg.value_and_grad(halley(kepler), argnums=(1, 2))
    anomaly, slopes = solved(0.8, 0.8, 0.6)
    print("eccentric anomaly", anomaly, "and its derivatives", *slopes)
    exact = np.array([1.0, np.sin(anomaly)]) / (1 - 0.6 * np.cos(anomaly))
    assert np.allclose(slopes, exact, rtol=1e-12)
