"""Smooth functions of a length, at a length of 0 and near it, to the third derivative.

An even function g of ``r = |A x|`` is a function of ``s = |A x|**2``, whose derivatives by s
mpmath takes of ``g(sqrt(s))``; those by x follow by the chain rule.
"""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import symgrad as sg
import symgrad.numpy as snp
from symgrad.errors import SparsityWarning


def _expanded(p: Any) -> Any:
    squares = np.sum(p**2, axis=1)
    return np.sqrt(np.maximum(squares[:, None] + squares - 2 * p @ p.T, 0.0))


#: The length of a vector of two, as it is written.
LENGTHS: dict[str, Callable[[Any], Any]] = {
    "norm": np.linalg.norm,
    "root of a sum": lambda v: np.sqrt(np.sum(v**2)),
    "root of a product": lambda v: np.sqrt(v @ v),
    "power": lambda v: np.sum(v * v) ** 0.5,
    "hypot": lambda v: np.hypot(v[0], v[1]),
    "two squares": lambda v: np.sqrt(v[0] ** 2 + v[1] * v[1]),
    "complex": lambda v: np.abs(v[0] + 1j * v[1]),
    "scaled within": lambda v: 3 * np.sqrt(np.sum((v / 3) ** 2)),
    "scaled square": lambda v: np.sqrt(4 * np.sum(v**2)) / 2,
    "divided square": lambda v: np.sqrt(np.sum(v**2) / 2.5**2) * 2.5,
    "mean": lambda v: np.sqrt(np.mean(v**2)) * np.sqrt(2.0),
    "not negative": lambda v: np.sqrt(np.maximum(np.sum(v**2), 0.0)),
    "clipped": lambda v: np.sqrt(np.clip(np.sum(v**2), 0.0, None)),
    "row": lambda v: np.linalg.norm(v[None] * np.ones((2, 1)), axis=1)[1],
    "column": lambda v: np.sqrt(np.einsum("i,i->", v, v)),
    "rotation": lambda v: Rotation.from_rotvec(
        np.stack([v[0], 0.0 * v[0], v[1]])
    ).magnitude(),
    "expanded": lambda v: _expanded(np.stack([v, 0 * v, v + 1.0]))[0, 1],
}  # fmt: skip

#: Even functions of it, with the same for mpmath, and whether the formula keeps its digits near 0.
EVEN: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], bool]] = {
    "cosine": (np.cos, mp.cos, True),
    "hyperbolic cosine": (np.cosh, mp.cosh, True),
    "square": (lambda r: r**2, lambda r: r**2, True),
    "fourth power": (lambda r: r**4 - 2 * r * r, lambda r: r**4 - 2 * r**2, True),
    "gaussian": (lambda r: np.exp(-0.5 * r**2), lambda r: mp.exp(-r**2 / 2), True),
    "lorentzian": (lambda r: 1 / (1 + r * r), lambda r: 1 / (1 + r * r), True),
    "rational quadratic": (
        lambda r: (1 + r**2 / 3) ** -1.5, lambda r: (1 + r**2 / 3) ** mp.mpf(-1.5), True,
    ),
    "root": (lambda r: np.sqrt(1 + r**2), lambda r: mp.sqrt(1 + r**2), True),
    "log cosh": (lambda r: np.log(np.cosh(r)), lambda r: mp.log(mp.cosh(r)), True),
    "r times sine": (lambda r: r * np.sin(r), lambda r: r * mp.sin(r), True),
    "r times tanh": (lambda r: r * np.tanh(r), lambda r: r * mp.tanh(r), True),
    "sine squared": (lambda r: np.sin(r) ** 2, lambda r: mp.sin(r) ** 2, True),
    "two exponentials": (
        lambda r: np.exp(r) + np.exp(-r), lambda r: mp.exp(r) + mp.exp(-r), False,
    ),
    "Matern 5/2": (
        lambda r: (1 + r + r**2 / 3) * np.exp(-r),
        lambda r: (1 + r + r**2 / 3) * mp.exp(-r), False,
    ),
    "Matern 7/2": (
        lambda r: (1 + r + 0.4 * r**2 + r**3 / 15) * np.exp(-r),
        lambda r: (1 + r + mp.mpf(2) / 5 * r**2 + r**3 / 15) * mp.exp(-r), False,
    ),
}  # fmt: skip


def by_square(g: Callable[[Any], Any], s: Any) -> list[Any]:
    """Return the first three derivatives of ``g(sqrt(s))``."""
    r = mp.sqrt(s)
    if r > 0.01:
        _, a, b, c = (mp.diff(g, r, n) for n in range(4))
        return [a / (2 * r), (b - a / r) / (4 * s), (c - 3 * b / r + 3 * a / s) / (8 * s * r)]
    terms = list(enumerate(mp.taylor(g, 0, 12)))[2:]
    found = []
    for n in (1, 2, 3):
        powers = [(mp.ff(mp.mpf(k) / 2, n) * c, mp.mpf(k) / 2 - n) for k, c in terms]
        exact = [(c, p) for c, p in powers if abs(c) > 1e-12]  # odd ones of even functions are 0
        found.append(sum(c * s**p for c, p in exact if s or p == 0))
    return found


def derivatives(g: Callable[[Any], Any], v: Any) -> tuple[Any, Any, Any]:
    """Return the gradient, the Hessian and the third derivatives by ``v``."""
    with mp.workdps(60):
        x = [mp.mpf(float(e)) for e in v]
        h1, h2, h3 = by_square(g, x[0] ** 2 + x[1] ** 2)
        d = np.eye(2)
        first = [2 * h1 * a for a in x]
        second = [[2 * h1 * d[i, j] + 4 * h2 * x[i] * x[j] for j in (0, 1)] for i in (0, 1)]
        third = [
            [
                [
                    4 * h2 * (d[i, j] * x[k] + d[i, k] * x[j] + d[j, k] * x[i])
                    + 8 * h3 * x[i] * x[j] * x[k]
                    for k in (0, 1)
                ]
                for j in (0, 1)
            ]
            for i in (0, 1)
        ]  # fmt: skip
        return tuple(np.array(t, dtype=float) for t in (first, second, third))


@pytest.mark.attack(quick=30, whole=3_000, part=150, judge="mpmath, by the square of the length")
def test_radial(attack: Any) -> None:
    """Gradients, Hessians by all ways and third derivatives of even functions of lengths."""
    for case in attack:
        with case:
            rng = case.rng
            length, even = rng.choice(list(LENGTHS)), rng.choice(list(EVEN))
            f, (g, exact, keeps) = LENGTHS[length], EVEN[even]
            zero = rng.random() < 0.6
            order = int(rng.integers(1, 4))
            # Third derivatives are differences of terms of the size 1/r**2.
            least = -2 if order == 3 else -140 if keeps else -3
            v = (0.0 if zero else 10.0 ** rng.uniform(least, 0)) * rng.normal(size=2)
            if not zero and rng.random() < 0.2:
                v[rng.integers(2)] = 0.0
            if not zero and length == "rotation":
                v = np.zeros(2)  # it has its own series near 0

            def whole(v: Any, f: Any = f, g: Any = g) -> Any:
                return g(f(v))

            wanted = derivatives(exact, v)[order - 1]
            text = f"{even} of {length} at {v}, order {order}"
            with warnings.catch_warnings(), sg.backend("numpy" if rng.random() < 0.9 else "llvm"):
                warnings.simplefilter("ignore", RuntimeWarning)
                found, way = _derivative(rng, whole, v, order)
            # Of parts with another length in them, and of kinks that cancel in a product.
            parts = length == "rotation" or even.startswith("Matern")
            if order == 3 and parts and np.isnan(found).any():
                case.tally("not known: nan")
                continue
            scale = max(1.0, float(np.max(np.abs(wanted))))
            lost = float(np.linalg.norm(v)) ** (1 - order) if np.any(v) else 0.0
            close = scale * (1e-11 + (0.0 if keeps and order < 3 else 1e-14 * lost))
            np.testing.assert_allclose(found, wanted, rtol=0, atol=close, err_msg=f"{text}, {way}")


def _derivative(rng: Any, f: Any, v: Any, order: int) -> tuple[Any, str]:
    if order == 1:
        ways: dict[str, Callable[[], Any]] = {
            "grad": lambda: sg.grad(f)(v),
            "forward": lambda: sg.jacobian(f, mode="forward")(v),
            "vmap": lambda: sg.vmap(sg.grad(f))(v[None])[0],
        }
    elif order == 2:
        ways = {
            "hessian": lambda: sg.hessian(f)(v),
            "reverse": lambda: sg.jacobian(sg.grad(f), mode="reverse")(v),
            "sparse": lambda: sg.hessian(f, sparse=True)(v).toarray(),
            "hvp": lambda: np.stack([sg.hvp(f, (v,), (e,)) for e in np.eye(len(v))]),
            "vmap": lambda: sg.vmap(sg.hessian(f))(v[None])[0],
            "forward of forward": lambda: sg.jacobian(
                sg.jacobian(f, mode="forward"), mode="forward"
            )(v),
            "reverse of forward": lambda: sg.jacobian(
                sg.jacobian(f, mode="forward"), mode="reverse"
            )(v),
        }
    else:
        ways = {
            "forward": lambda: sg.jacobian(sg.hessian(f), mode="forward")(v),
            "reverse": lambda: sg.jacobian(sg.hessian(f), mode="reverse")(v),
        }
    way = rng.choice(list(ways))
    return ways[way](), way


#: Lengths of rows, as they are written.
ROWS: dict[str, Callable[[Any], Any]] = {
    "norm": lambda x: np.linalg.norm(x, axis=1),
    "root of a sum": lambda x: np.sqrt(np.sum(x**2, axis=1)),
    "hypot": lambda x: np.hypot(x[:, 0], x[:, 1]),
    "kept": lambda x: np.linalg.norm(x, axis=1, keepdims=True)[:, 0],
    "apart": lambda x: np.stack([np.sqrt(np.sum(row**2)) for row in x]),
    "by vmap": lambda x: sg.vmap(np.linalg.norm)(x),
}

WEIGHTS = np.array([[2.0, 0.5, -0.3], [0.1, 3.0, 0.4], [-0.2, 0.3, 2.5]])


def _scanned(e: Any) -> Any:
    return sg.scan(lambda c, y: (c * y + y, None), 1.0, e)[0]


def _while_loop(e: Any) -> Any:
    def step(c: Any) -> Any:
        return c[0] + 1, c[1] + snp.take(e, c[0]) * c[1] / 3

    return sg.while_loop(lambda c: c[0] < len(e), step, (0, 1.0))[1]


def _while_plain(e: Any) -> Any:
    total = 1
    for y in e:
        total = total + y * total / 3
    return total


def _scan_plain(e: Any) -> Any:
    total = 1
    for y in e:
        total = total * y + y
    return total


def _solved(e: Any) -> Any:
    n = len(e)
    return np.sum(np.linalg.solve(WEIGHTS[:n, :n] + np.diag(e / 8), np.ones(n)))


def _solved_exactly(e: Any) -> Any:
    n = len(e)
    a = mp.matrix(n, n)
    for i in range(n):
        for j in range(n):
            a[i, j] = mp.mpf(WEIGHTS[i, j]) + (e[i] / 8 if i == j else 0)
    return sum(mp.lu_solve(a, mp.ones(n, 1)))


#: Functions of several even functions of lengths, of arrays and of lists of mpmath's numbers.
COUPLED: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "square of a sum": (lambda e: np.sum(e) ** 2, lambda e: sum(e) ** 2),
    "product": (np.prod, mp.fprod),
    "neighbours": (
        lambda e: np.sum(e * np.roll(e, 1)),
        lambda e: sum(a * e[k - 1] for k, a in enumerate(e))),
    "quadratic form": (
        lambda e: e @ WEIGHTS[: len(e), : len(e)] @ e,
        lambda e: sum(WEIGHTS[i, j] * e[i] * e[j] for i in range(len(e)) for j in range(len(e)))),
    "root": (lambda e: np.sqrt(2 + np.sum(e) ** 2), lambda e: mp.sqrt(2 + sum(e) ** 2)),
    "log of exponentials": (
        lambda e: np.log(np.sum(np.exp(e))), lambda e: mp.log(sum(map(mp.exp, e)))),
    "elements": (lambda e: e[0] * e[-1] + np.sin(e[0] + e[1]),
                 lambda e: e[0] * e[-1] + mp.sin(e[0] + e[1])),
    "running sums": (
        lambda e: np.sum(np.cumsum(e) ** 2),
        lambda e: sum(sum(e[: k + 1]) ** 2 for k in range(len(e)))),
    "loop": (
        lambda e: sg.fori_loop(0, len(e), lambda i, s: s + snp.take(e, i) * (s + i), 1.0),
        lambda e: functools.reduce(lambda s, k: s + e[k] * (s + k), range(len(e)), mp.mpf(1))),
    "scan": (_scanned, _scan_plain),
    "while loop": (_while_loop, _while_plain),
    "branch": (
        lambda e: sg.cond(e[0] < 99, lambda y: np.sum(y) ** 2, lambda y: np.sum(y), e),
        lambda e: sum(e) ** 2),
    "linear system": (_solved, _solved_exactly),
}  # fmt: skip


@pytest.mark.attack(quick=4, whole=1_000, part=100, judge="mpmath, by the squares of the lengths")
def test_coupled_lengths(attack: Any) -> None:
    """Derivatives to order three of functions of several lengths, some or all of which are 0."""
    for case in attack:
        with case:
            rng = case.rng
            rows, coupled = rng.choice(list(ROWS)), rng.choice(list(COUPLED))
            even = rng.choice([name for name, (_, _, keeps) in EVEN.items() if keeps])
            f, (g, exact, _) = ROWS[rows], EVEN[even]
            join, join_exactly = COUPLED[coupled]
            n = int(rng.integers(2, 4))
            x = rng.uniform(-1, 1, (n, 2)) * (rng.random((n, 1)) < 0.5)

            def whole(x: Any, f: Any = f, g: Any = g, join: Any = join) -> Any:
                return join(g(f(x)))

            def judged(v: Any, exact: Any = exact, join: Any = join_exactly) -> Any:
                squares = [v[k] ** 2 + v[k + 1] ** 2 for k in range(0, len(v), 2)]
                return join([exact(mp.sqrt(s)) for s in squares])

            order = int(rng.integers(1, 4))
            wanted = _differences(judged, x.ravel(), order)
            with warnings.catch_warnings(), sg.backend("numpy" if rng.random() < 0.9 else "llvm"):
                warnings.simplefilter("ignore", RuntimeWarning)
                warnings.simplefilter("ignore", SparsityWarning)
                flat = lambda v, n=n: whole(np.reshape(v, (n, 2)))  # noqa: E731
                found, way = _derivative(rng, flat, x.ravel(), order)
            if order == 3 and np.isnan(found).any():
                case.tally("not known: nan")
                continue
            text = f"{coupled} of {even} of {rows} at {x.tolist()}, {way}"
            scale = max(1.0, float(np.max(np.abs(wanted))))
            np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-11 * scale, err_msg=text)


def _differences(f: Callable[[Any], Any], x: Any, order: int) -> Any:
    """Return all derivatives of an order, by differences of numbers of 80 digits."""
    with mp.workdps(80):
        h, found = mp.mpf(10) ** -15, np.empty((len(x),) * order)
        for places in itertools.product(range(len(x)), repeat=order):
            total = mp.mpf(0)
            for signs in itertools.product((1, -1), repeat=order):
                at = [mp.mpf(float(v)) for v in x]
                for k, sign in zip(places, signs, strict=True):
                    at[k] += sign * h
                total += math.prod(signs) * f(at)
            found[places] = float(total / (2 * h) ** order)
        return found


@pytest.mark.attack(quick=6, whole=300, judge="no second derivative: nan")
def test_kinks(attack: Any) -> None:
    """Functions of a length whose derivative at 0 is not 0 have no second one, nor times a part."""
    kinks = [
        lambda r: r, np.sin, np.exp, np.tanh, lambda r: r + r**2, lambda r: np.exp(-2 * r),
        np.arctan, lambda r: 1 / (1 + r),
    ]  # fmt: skip
    for case in attack:
        with case:
            length = case.rng.choice([n for n in LENGTHS if n != "expanded"])  # of itself
            g = kinks[case.rng.integers(len(kinks))]
            with warnings.catch_warnings(), sg.backend("numpy"):
                warnings.simplefilter("ignore", RuntimeWarning)

                times = case.rng.random() < 0.5

                def f(v: Any, g: Any = g, length: Any = length, times: Any = times) -> Any:
                    r = LENGTHS[length](v)
                    return np.sin(v[0]) * (g(r) - g(0.0 * r)) if times else g(r)

                np.testing.assert_array_equal(sg.grad(f)(np.zeros(2)), 0.0, err_msg=length)
                found, way = _derivative(case.rng, f, np.zeros(2), 2)
            # Of a product, only the derivative by the other factor has none: a row, or a column.
            missing = np.isnan([found[0], found[:, 0]]) if times else np.isnan([np.diag(found)])
            assert missing.all(axis=1).any(), (length, way, times, found)
