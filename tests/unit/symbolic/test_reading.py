"""Derivatives as a reader would write them, each with the numbers of the compiled derivative."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symgrad as sg
import symgrad.scipy.special as special
from symgrad._api._call import arrays_read_by
from symgrad._symbolic._bound_functions import DetOver, Entry, LogDetOver, OfMatrix, Over

RNG = np.random.default_rng(5)
N, M = 4, 3
X4, Y4, A5, W3 = (RNG.uniform(0.5, 1.5, k) for k in (N, N, 5, M))
A44, B43 = RNG.uniform(0.5, 1.5, (N, N)), RNG.uniform(0.5, 1.5, (N, M))
S44 = A44 @ A44.T + np.eye(N)
LABELS = np.array([0, 1, -2, 0])
data, target, weights = RNG.uniform(size=N), RNG.uniform(size=N), RNG.normal(size=(N, N))


def kernel(scale: Any, x: Any) -> Any:
    return np.exp(-((x[:, None] - x) ** 2) / (2 * scale**2)) + 0.01 * np.eye(len(x))


@dataclass(frozen=True)
class Read:
    """A function of its first argument, and what is printed of its derivative."""

    f: Callable[..., Any]
    args: tuple[Any, ...]
    printed: str
    order: int = 1


READ: dict[str, Read] = {
    # ------------------------------------------------------------ numbers
    "a derivative of three terms": Read(
        lambda x: np.sin(x) / x, (2.0,),
        "d2 out/d x^2 = ((2 - x**2)*sin(x) - 2*x*cos(x))/x**3", 2,
    ),
    "in the differences of the code": Read(
        lambda s, x, m: np.exp(-((x - m) ** 2) / (2 * s**2)) / s, (2.0, 1.0, 0.3),
        "d2 out/d s^2 = (2*s**4 - 5*s**2*(x - m)**2 + (x - m)**4)*exp(-(x - m)**2/(2*s**2))/s**7",
        2,
    ),
    "the functions of the code": Read(np.tanh, (0.5,), "d out/d x = 1 - tanh(x)**2"),
    "a whole exponent": Read(lambda x, k: x**k, (2.0, 3.0), "d out/d x = k*x**(k - 1)"),
    "sums from an element on": Read(
        lambda x: np.sum(np.cumsum(x) ** 2), (X4,),
        "d out/d x[i] = 2*Sum(x[k], (k, 0, j), (j, i, n - 1))",
    ),
    "sums up to an element": Read(
        lambda x: np.sum(np.cos(np.cumsum(x[::-1])[::-1])), (X4,),
        "d out/d x[i] = -Sum(sin(Sum(x[n - k - 1], (k, 0, n - j - 1))), (j, 0, i))",
    ),
    "a partial likelihood": Read(
        lambda x: np.sum(x - np.log(np.cumsum(np.exp(x)))), (X4,),
        "d out/d x[i] = 1 - exp(x[i])*Sum(1/Sum(exp(x[k]), (k, 0, j)), (j, i, n - 1))",
    ),
    "each fraction by itself": Read(
        lambda nu, x: (nu + 1) * np.log(1 + x**2 / nu), (3.0, 1.0),
        "d out/d nu = log(1 + x**2/nu) - x**2*(nu + 1)/(nu*(nu + x**2))",
    ),
    "a clipped number": Read(
        lambda x: np.clip(x, -1, 1) ** 2, (0.3,),
        "d out/d x = 2*x*Heaviside(1 - x)*Heaviside(x + 1)",
    ),
    # ------------------------------------------------------------ cases
    "a squared hinge": Read(
        lambda w, X, y: np.sum(np.maximum(0, 1 - y * (X @ w)) ** 2), (W3, B43, X4),
        "d out/d w[i] = -2*Sum(X[j, i]*y[j]*Max(0, 1 - y[j]*Sum(X[j, k]*w[k], (k, 0, n - 1))), "
        "(j, 0, m - 1))\nd out/d w    = -2 X^T (y*Max(0, 1 - y*(X w)))",
    ),
    "neighbours": Read(
        lambda x: np.sum((x[1:] - x[:-1]) ** 2), (A5,),
        "d out/d x[i] = Piecewise((2*(x[i] - x[i + 1]), i <= n - 2), (0, True)) + "
        "Piecewise((2*(x[i] - x[i - 1]), i >= 1), (0, True))",
    ),
    "around the end": Read(
        lambda x: np.sum(x * np.roll(x, 1)), (A5,),
        "d out/d x[i] = Piecewise((x[i + 1], i <= n - 2), (x[i - n + 1], True)) + "
        "Piecewise((x[n + i - 1], i <= 0), (x[i - 1], True))",
    ),
    "every second element": Read(
        lambda x: np.sum(x[::2] ** 2), (A5,),
        "d out/d x[i] = Piecewise((2*x[i], Eq(Mod(i, 2), 0)), (0, True))",
    ),
    "every third element from the second on": Read(
        lambda x: np.sum(x[1::3] ** 2), (A5,),
        "d out/d x[i] = Piecewise((2*x[i], Eq(Mod(i, 3), 1)), (0, True))",
    ),
    "every second element from the end": Read(
        lambda x: np.sum(x[::-2] ** 2), (A5,),
        "d out/d x[i] = Piecewise((2*x[i], Eq(Mod(n - i, 2), 1)), (0, True))",
    ),
    "even and odd elements": Read(
        lambda x: np.sum((x[::2] - x[1::2]) ** 2), (X4,),
        "d out/d x[i] = Piecewise((2*(x[i] - x[i + 1]), Eq(Mod(i, 2), 0)), "
        "(2*(x[i] - x[i - 1]), True))",
    ),
    "rows and columns of a part": Read(
        lambda X: np.sum(X[::2, 1:] ** 2), (B43,),
        "d out/d X[i, j] = Piecewise((2*X[i, j], (j >= 1) & Eq(Mod(i, 2), 0)), (0, True))",
    ),
    "a vector product": Read(
        lambda a, b: np.sum(np.cross(a, b)), (W3, W3 + 1.5),
        "d out/d a[0] = b[1] - b[2]\nd out/d a[1] = b[2] - b[0]\nd out/d a[2] = b[0] - b[1]\n"
        "    (by elements that are not listed it is 0)",
    ),
    # ------------------------------------------------------------ matrices
    "the variance of columns": Read(
        lambda X: np.sum(np.var(X, axis=0)), (B43,),
        "d out/d X[i, j] = 2*(X[i, j] - Sum(X[k, j], (k, 0, n - 1))/n)/n\n"
        "d out/d X       = 2*(X - ones ones^T X/n)/n",
    ),
    "a standard deviation": Read(
        np.std, (X4,),
        "d out/d a[i] = (a[i] - Sum(a[j], (j, 0, n - 1))/n)/(sqrt(n)*sqrt(Sum((a[j] - "
        "Sum(a[k], (k, 0, n - 1))/n)**2, (j, 0, n - 1))))\n"
        "d out/d a    = (a - sum(a)/n)/(sqrt(n)*norm(a - sum(a)/n))",
    ),
    "all distances": Read(
        lambda X: np.sum((X[:, None, :] - X[None, :, :]) ** 2), (B43,),
        "d out/d X[i, j] = 4*(n*X[i, j] - Sum(X[k, j], (k, 0, n - 1)))\n"
        "d out/d X       = 4*(n X - ones ones^T X)",
    ),
    "a distance by a covariance": Read(
        lambda P, x, m: (x - m) @ np.linalg.inv(P) @ (x - m), (S44, X4, Y4),
        "d out/d P[i, j] = -Sum((x[k] - m[k])*inv(P)[j, k], (k, 0, n - 1))*"
        "Sum((x[k] - m[k])*inv(P)[k, i], (k, 0, n - 1))\n"
        "d out/d P       = -P^-T (x - m) (x - m)^T P^-T",
    ),
    "the inverse of a symmetric matrix": Read(
        lambda X: np.trace(np.linalg.inv(X.T @ X)), (B43,),
        "d out/d X       = -2 X (X^T X)^-1 (X^T X)^-1",
    ),
    "a Hessian of a norm": Read(
        lambda x, A, b: np.linalg.norm(A @ x - b), (X4, A44, Y4),
        "d2 out/d x d x^T     = (A^T - A^T s s^T/norm(s)**2) A/norm(s)\n"
        "    where s[i] = Sum(A[i, j]*x[j], (j, 0, n - 1)) - b[i]\n    where s = A x - b", 2,
    ),
    "a mixture of Gaussians": Read(
        lambda mu, x, s, p: np.sum(
            np.log(np.sum(p * np.exp(-((x[:, None] - mu) ** 2) / (2 * s**2)), axis=1))
        ),
        (W3, X4, W3 + 1, W3 / 3),
        "d out/d mu[i] = p[i]*Sum((x[j] - mu[i])*t[j, i]/Sum(p[k]*t[j, k], (k, 0, n - 1)), "
        "(j, 0, m - 1))/s[i]**2",
    ),
    "a covariance": Read(
        lambda X: np.sum(np.cov(X)), (B43,),
        "d out/d X       = 2 ones ones^T (X - X ones ones^T/m)/(m - 1)",
    ),
    # ------------------------------------------------------------ constants and positions
    "cross entropy by labels": Read(
        lambda Z, t: np.sum(special.logsumexp(Z, axis=1) - Z[np.arange(Z.shape[0]), t]),
        (B43, LABELS),
        "d out/d Z[i, j] = exp(Z[i, j])/Sum(exp(Z[i, k]), (k, 0, m - 1)) - "
        "KroneckerDelta(j, t[i])\n    (numbers in t below 0 count from the end)",
    ),
    "an embedding": Read(
        lambda E, k: np.sum(E[k] ** 2), (B43, LABELS),
        "d out/d E[i, j] = 2*Sum(KroneckerDelta(i, k[l])*E[k[l], j], (l, 0, n - 1))\n"
        "    (numbers in k below 0 count from the end)",
    ),
    "elements by a list": Read(
        lambda x: np.sum(x[[0, 2]] ** 2), (A5,),
        "d out/d x[0] = 2*x[0]\nd out/d x[2] = 2*x[2]\n"
        "    (by elements that are not listed it is 0)",
    ),
    "a Gaussian process": Read(
        lambda y, x, s: y @ np.linalg.solve(kernel(s, x), y) / 2, (Y4, X4, 0.7),
        "d out/d y    = (0.01*I + exp(-(x ones^T - ones x^T)**2/(2*s**2)))^-1 y\n"
        "    (for n = 4, as the code asks)",
    ),
    "arrays by the names in the code": Read(
        lambda k: np.sum((k * data - target) ** 2), (0.5,),
        "d out/d k = 2*Sum((k*data[i] - target[i])*data[i], (i, 0, 3))\n"
        "d out/d k = 2 data^T (k data - target)\n"
        "    (data is a constant: float64[4])\n    (target is a constant: float64[4])",
    ),
    "a layer with constant weights": Read(
        lambda x: np.sum(np.sin(weights @ x)), (X4,),
        "d out/d x[i] = Sum(cos(Sum(weights[j, k]*x[k], (k, 0, n - 1)))*weights[j, i], "
        "(j, 0, n - 1))\nd out/d x    = weights^T cos(weights x)\n"
        "    (weights is a constant: float64[4, 4])\n    (for n = 4, as the code asks)",
    ),
    "a range": Read(lambda x: np.sum(np.arange(5) * x**2), (A5,), "d out/d x[i] = 2*i*x[i]"),
    "a triangle of ones": Read(
        lambda x: np.sum(np.tril(np.ones((4, 4))) @ x), (X4,),
        "d out/d x[i] = n - i\n"
        "    (for n = 4, as the code asks)",
    ),
    "a sum in two orders": Read(
        lambda X, g: np.sum(np.exp(-g * np.sum((X[:, None] - X[None]) ** 2, axis=2))), (B43, 0.5),
        "d out/d X[i, j] = 4*g*Sum((X[k, j] - X[i, j])*exp(-g*Sum((X[i, l] - X[k, l])**2, "
        "(l, 0, m - 1))), (k, 0, n - 1))",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
@pytest.mark.quick(2)
def test_what_is_printed(name: str) -> None:
    case = READ[name]
    shown = str(sg.formula(case.f, *case.args, wrt=0, order=case.order))
    if shown != case.printed:  # of both notations, one is written down
        assert case.printed in shown


# ---------------------------------------------------------------- right numbers

JOIN: dict[str, Callable[..., Any]] = {"Max": max, "Min": min, "Any": any, "All": all}
COMPARE: dict[Any, Callable[[Any, Any], bool]] = {
    sp.Eq: lambda x, y: x == y, sp.Ne: lambda x, y: x != y, sp.Lt: lambda x, y: x < y,
    sp.Le: lambda x, y: x <= y, sp.Gt: lambda x, y: x > y, sp.Ge: lambda x, y: x >= y,
}  # fmt: skip


def over(limits: Any, known: dict[Any, Any]) -> list[dict[Any, Any]]:
    """Return what is known at each place of a range of indices."""
    if not limits:
        return [known]
    *inner, (k, low, high) = limits  # the last is outermost, and may be in the ends of others
    places = range(int(value(low, known)), int(value(high, known)) + 1)
    return [at for place in places for at in over(inner, known | {k: place})]


def value(e: Any, known: dict[Any, Any]) -> Any:
    """Evaluate index notation, by the meaning of each of its parts."""
    if e.is_Symbol:
        return known[e] if e in known else known[e.name]
    if isinstance(e, sp.Indexed):
        places = tuple(int(value(i, known)) for i in e.indices)
        assert min(places) >= 0, f"{e} is outside of the array"
        return known[e.base.name][places]
    if isinstance(e, Entry):
        return value(e.args[0], known)[tuple(int(value(i, known)) for i in e.indices)]
    if isinstance(e, OfMatrix):
        (p, _, high), (q, _, wide) = e.limits
        rows, columns = int(value(high, known)) + 1, int(value(wide, known)) + 1
        matrix = np.array([[float(value(e.function, known | {p: i, q: j})) for j in range(columns)]
                           for i in range(rows)])  # fmt: skip
        logarithm = type(e) is LogDetOver
        return (
            np.linalg.slogdet(matrix)[1]
            if logarithm
            else np.linalg.det(matrix)
            if isinstance(e, DetOver)
            else np.linalg.inv(matrix)
        )
    if isinstance(e, (sp.Sum, sp.Product, Over)):
        parts = [value(e.function, inside) for inside in over(e.limits, known)]
        join = math.fsum if isinstance(e, sp.Sum) else math.prod
        return JOIN[e.title](parts) if isinstance(e, Over) else join(parts)
    if isinstance(e, sp.Piecewise):
        return next(value(v, known) for v, c in e.args if value(c, known))
    if isinstance(e, sp.KroneckerDelta):
        return int(value(e.args[0], known) == value(e.args[1], known))
    if type(e) in COMPARE:
        return COMPARE[type(e)](*(value(a, known) for a in e.args))
    if e in (sp.true, sp.false):
        return e == sp.true
    if isinstance(e, (sp.And, sp.Or)):
        return (all if isinstance(e, sp.And) else any)(value(a, known) for a in e.args)
    if e.is_Mul and any(value(a, known) == 0 for a in e.args if isinstance(a, sp.KroneckerDelta)):
        return 0
    return e.func(*(sp.sympify(value(a, known)) for a in e.args)) if e.args else e


@pytest.mark.parametrize("name", READ)
def test_the_numbers(name: str) -> None:
    case = READ[name]
    formula = sg.formula(case.f, *case.args, wrt=0, order=case.order)
    g = case.f
    for _ in range(case.order):
        g = sg.jacobian(g)
    with sg.backend("numpy"):
        exact = np.asarray(g(*case.args))
    known: dict[Any, Any] = dict(arrays_read_by(case.f))
    try:
        names = list(inspect.signature(case.f).parameters)
    except ValueError:
        names = ["x"]
    known |= dict(zip(names, case.args, strict=False))
    known |= {str(s): s.hint for s in sg.compile(case.f).program(*case.args).sizes}
    if len(formula.equations) > 1:  # listed by element
        for e in formula.equations:
            place = tuple(map(int, e.wrt[0].indices))
            assert float(value(e.expression, known)) == pytest.approx(exact[place], abs=1e-12)
        return
    (equation,) = formula.equations
    for place in np.ndindex(exact.shape):
        at = known | dict(zip(equation.indices, place, strict=True))
        assert float(value(equation.expression, at)) == pytest.approx(
            exact[place], rel=1e-10, abs=1e-11
        )
