"""Orthogonal polynomials of a known degree, by their recurrences.

Source: NIST Digital Library of Mathematical Functions, 18.9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._late import special as sc
from .._op import composite, refuse
from .._ops.np_common import Sample, as_array, as_float, is_traced


def _degree(name: str, n: Any) -> int:
    if is_traced(n) or np.ndim(n) or int(n) != n or n < 0:
        refuse(getattr(sc, name), "the degree must be a known whole number, not a traced one")
    return int(n)


def _recurrence(n: int, one: Any, first: Any, step: Callable[[int, Any, Any], Any]) -> Any:
    """Return the member n of a family, each made of the two before it."""
    before, here = one, first
    if n == 0:
        return one
    for k in range(1, n):
        before, here = here, step(k, here, before)
    return here


def _families(x: Any, name: str, n: int, a: Any, b: Any) -> Any:
    one = np.ones_like(x)
    if name == "chebyt":
        return _recurrence(n, one, x, lambda k, p, q: 2 * x * p - q)
    if name == "chebyu":
        return _recurrence(n, one, 2 * x, lambda k, p, q: 2 * x * p - q)
    if name == "legendre":
        return _recurrence(n, one, x, lambda k, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1))
    if name == "hermite":
        return _recurrence(n, one, 2 * x, lambda k, p, q: 2 * x * p - 2 * k * q)
    if name == "hermitenorm":
        return _recurrence(n, one, x, lambda k, p, q: x * p - k * q)
    if name in ("laguerre", "genlaguerre"):
        return _recurrence(
            n, one, 1 + a - x,
            lambda k, p, q: ((2 * k + 1 + a - x) * p - (k + a) * q) / (k + 1),
        )  # fmt: skip
    if name == "gegenbauer":
        return _recurrence(
            n, one, 2 * a * x,
            lambda k, p, q: (2 * (k + a) * x * p - (k + 2 * a - 1) * q) / (k + 1),
        )  # fmt: skip
    return _recurrence(n, one, (a + 1) + (a + b + 2) * (x - 1) / 2, _jacobi(x, a, b))


def _jacobi(x: Any, a: Any, b: Any) -> Callable[[int, Any, Any], Any]:
    def step(k: int, p: Any, q: Any) -> Any:
        c = 2 * k + a + b
        left = (c + 1) * ((c + 2) * c * x + a * a - b * b) * p
        right = 2 * (k + a) * (k + b) * (c + 2) * q
        return (left - right) / (2 * (k + 1) * (k + 1 + a + b) * c)

    return step


def of_degree(
    function: Any, doc: str, *parameters: float
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter the decorated formula as a family of polynomials, for the degrees 0, 1 and 4."""

    def enter(formula: Callable[..., Any]) -> Callable[..., Any]:
        def samples(rng: np.random.Generator) -> Iterator[Sample]:
            for n in (0, 1, 4):
                yield (n, *parameters, rng.uniform(0.1, 0.9, 4)), {}

        formula.__doc__ = doc
        return composite(function, name=function.__name__, samples=samples)(formula)

    return enter


def _polynomial(name: str, parameters: int) -> None:
    function = getattr(sc, f"eval_{name}")

    def evaluate(n: Any, *rest: Any) -> Any:
        a, b = (*rest[:-1], 0.0, 0.0)[:2]
        return _families(as_float(as_array(rest[-1])), name, _degree(f"eval_{name}", n), a, b)

    doc = f"{name.capitalize()} polynomial of a known degree."
    of_degree(function, doc, *(0.5 + 0.25 * k for k in range(parameters)))(evaluate)


for _name, _parameters in (
    ("chebyt", 0), ("chebyu", 0), ("legendre", 0), ("hermite", 0), ("hermitenorm", 0),
    ("laguerre", 0), ("genlaguerre", 1), ("gegenbauer", 1), ("jacobi", 2),
):  # fmt: skip
    _polynomial(_name, _parameters)


@of_degree(sc.eval_chebyc, "Chebyshev polynomial of the first kind on [-2, 2].")
def chebyc(n: Any, x: Any) -> Any:
    return 2.0 * sc.eval_chebyt(n, 0.5 * x)


@of_degree(sc.eval_chebys, "Chebyshev polynomial of the second kind on [-2, 2].")
def chebys(n: Any, x: Any) -> Any:
    return sc.eval_chebyu(n, 0.5 * x)


@of_degree(sc.eval_sh_chebyt, "Chebyshev polynomial of the first kind on [0, 1].")
def sh_chebyt(n: Any, x: Any) -> Any:
    return sc.eval_chebyt(n, 2.0 * x - 1.0)


@of_degree(sc.eval_sh_chebyu, "Chebyshev polynomial of the second kind on [0, 1].")
def sh_chebyu(n: Any, x: Any) -> Any:
    return sc.eval_chebyu(n, 2.0 * x - 1.0)


@of_degree(sc.eval_sh_legendre, "Legendre polynomial on [0, 1].")
def sh_legendre(n: Any, x: Any) -> Any:
    return sc.eval_legendre(n, 2.0 * x - 1.0)


@of_degree(sc.eval_sh_jacobi, "Jacobi polynomial on [0, 1].", 1.5, 0.5)
def sh_jacobi(n: Any, p: Any, q: Any, x: Any) -> Any:
    scale = np.exp(sc.gammaln(n + 1.0) + sc.gammaln(n + p) - sc.gammaln(2.0 * n + p))
    return scale * sc.eval_jacobi(n, p - q, q - 1.0, 2.0 * x - 1.0)
