"""Elements that a result does not depend on, where the derivative is infinite or undefined.

The same function is written of the elements that count alone: this is what judges. Behind the
function stand slices, gathers, masks, sorting, unpacking, concatenation, loops and weights.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
import symgrad.numpy as snp
from symgrad.errors import SparsityWarning

#: A function, elements at which its derivative is infinite or it is undefined, and others.
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], list[float], tuple[float, float]]] = {
    "sqrt": (np.sqrt, [0.0], (0.5, 3.0)),
    "log": (np.log, [0.0, -1.0], (0.5, 3.0)),
    "reciprocal": (lambda x: 1 / x, [0.0], (0.5, 3.0)),
    "arccos": (np.arccos, [1.0, -1.0, 2.0], (-0.8, 0.8)),
    "arctanh": (np.arctanh, [1.0, -3.0], (-0.8, 0.8)),
    "arccosh": (np.arccosh, [1.0, 0.0], (1.5, 3.0)),
    "cbrt": (np.cbrt, [0.0], (0.5, 3.0)),
    "power": (lambda x: x**0.7, [0.0, -2.0], (0.5, 3.0)),
    "log1p": (np.log1p, [-1.0, -2.0], (0.5, 3.0)),
    "quotient": (lambda x: np.sin(x) / np.sqrt(x), [0.0], (0.5, 3.0)),
    "chain": (lambda x: np.exp(-np.log(x) / np.sqrt(x)), [0.0, -1.0], (0.5, 3.0)),
    "root of a product": (lambda x: np.sqrt(x * (3.5 - x)), [0.0, 3.5], (0.5, 3.0)),
    "tangent": (lambda x: np.tan(np.arcsin(x)), [1.0, 2.0], (-0.8, 0.8)),
    "roots in a loop": (
        lambda x: sg.fori_loop(0, 3, lambda i, y: np.sqrt(y * (i + 1.0)), x), [0.0], (0.5, 3.0)),
    "roots while they last": (
        lambda x: sg.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, np.sqrt(c[1])), (0, x))[1],
        [0.0, -1.0], (0.5, 3.0)),
    "steps of a scan": (
        lambda x: sg.scan(lambda c, _: (np.sqrt(c), c**0.3), x, None, length=3)[1][2],
        [0.0], (0.5, 3.0)),
    "logarithms of a branch": (
        lambda x: sg.cond(np.sum(x) > 1e9, np.sin, lambda y: np.log(y) ** 2, x),
        [0.0, -1.0], (0.5, 3.0)),
    "two loops": (
        lambda x: sg.fori_loop(0, 2, lambda i, y: np.sqrt(y), sg.fori_loop(
            0, 2, lambda i, y: y * np.sqrt(y), x)), [0.0], (0.5, 3.0)),
}  # fmt: skip


def _sorted(f: Any, x: Any, k: Any) -> Any:
    return np.sum(f(np.sort(x))[-len(k) :] ** 2)


def _by_python(f: Any, x: Any, k: Any) -> Any:
    y = f(x)
    total = 0.0
    for i in k:
        total = total + y[int(i)] ** 2
    return total


def _unpacked(f: Any, x: Any, k: Any) -> Any:
    y = list(f(x))
    return sum(y[int(i)] ** 2 for i in k)


def _split(f: Any, x: Any, k: Any) -> Any:
    parts = np.split(f(x), len(x))
    return sum(np.sum(parts[int(i)] ** 2) for i in k)


def _assigned(f: Any, x: Any, k: Any) -> Any:
    y = f(x)
    rest = np.setdiff1d(np.arange(len(x)), k)
    y[rest] = 1.0
    return np.sum(y**2)


def _joined(f: Any, x: Any, k: Any) -> Any:
    return np.sum(np.concatenate([x, f(x)])[len(x) + k] ** 2)


def _stacked(f: Any, x: Any, k: Any) -> Any:
    return np.sum(np.stack([f(x), x], axis=1)[k, 0] ** 2)


def _in_loop(f: Any, x: Any, k: Any) -> Any:
    y = f(x)
    return sg.fori_loop(0, len(k), lambda i, s: s + y[snp.take(k, i)] ** 2, 0.0 * x[0])


def _in_nested_loops(f: Any, x: Any, k: Any) -> Any:
    y = f(x)

    def inner(s: Any) -> Any:
        return sg.fori_loop(0, len(k), lambda i, t: t + y[snp.take(k, i)] ** 2 / 2, s)

    return sg.fori_loop(0, 2, lambda _, s: inner(s), 0.0 * x[0])


def _rows(f: Any, x: Any, k: Any) -> Any:
    y = f(x)
    rows = np.stack([y, y])
    return sg.scan(lambda s, row: (s + np.sum(row[k] ** 2) / 2, None), 0.0 * x[0], rows)[0]


def _carried(f: Any, x: Any, k: Any) -> Any:
    def step(i: Any, carry: Any) -> Any:
        total, y = carry
        return total + y[snp.take(k, i)] ** 2, y

    return sg.fori_loop(0, len(k), step, (0.0 * x[0], f(x)))[0]


def _in_branch(f: Any, x: Any, k: Any) -> Any:
    return sg.cond(x[k[0]] < 10, lambda y: np.sum(y[k] ** 2), lambda y: np.sum(y), f(x))


def _branch_in_loop(f: Any, x: Any, k: Any) -> Any:
    y = f(x)

    def step(i: Any, total: Any) -> Any:
        n = snp.take(k, i)
        return total + sg.cond(i < 99, lambda: y[n] ** 2, lambda: np.sum(y[: len(k)]))

    return sg.fori_loop(0, len(k), step, 0.0 * x[0])


def _matrix(f: Any, x: Any, k: Any) -> Any:
    rows = np.zeros((len(k), len(x)))
    rows[np.arange(len(k)), k] = 1.0
    return np.sum((rows @ f(x)) ** 2)


def _weights(x: Any, k: Any) -> Any:
    w = np.zeros(len(x))
    w[k] = 1.0
    return w


#: A result of the elements ``k`` of ``f(x)`` alone, the sum of their squares.
READERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "gather": lambda f, x, k: np.sum(f(x)[k] ** 2),
    "take": lambda f, x, k: np.sum(np.take(f(x), k) ** 2),
    "table": lambda f, x, k: np.sum(f(x[:, None] + np.zeros(2))[k, 1] ** 2),
    "transposed": lambda f, x, k: np.sum(f(x[:, None] + np.zeros(2)).T[0][k] ** 2),
    "mask": lambda f, x, k: np.sum(np.where(_weights(x, k) > 0, f(x), 0.0) ** 2),
    "constant weights": lambda f, x, k: np.sum(_weights(x, k) * f(x) ** 2),
    "weights before": lambda f, x, k: np.sum((_weights(x, k) * f(x)) ** 2),
    "constant product": lambda f, x, k: np.dot(_weights(x, k) * f(x), f(x)),
    "python": _by_python,
    "unpacked": _unpacked,
    "split": _split,
    "assigned": _assigned,
    "joined": _joined,
    "stacked": _stacked,
    "constant matrix": _matrix,
    "loop": _in_loop,
    "nested loops": _in_nested_loops,
    "rows of a loop": _rows,
    "carried": _carried,
    "branch": _in_branch,
    "branch in a loop": _branch_in_loop,
    "sorted": _sorted,
}  # fmt: skip

#: Whose values are nan where the function is undefined: there is no derivative then.
PRODUCTS = ("constant weights", "weights before", "constant product", "constant matrix")


@pytest.mark.attack(quick=40, whole=4_000, judge="the same function of the elements that count")
def test_elements_apart(attack: Any) -> None:
    """Derivatives by elements that do not count are 0, and those by the others are as if alone."""
    for case in attack:
        with case:
            rng = case.rng
            name, reader = rng.choice(list(FUNCTIONS)), rng.choice(list(READERS))
            f, bad, (low, high) = FUNCTIONS[name]
            size = int(rng.choice([2, 3, 5, 8, 40]))
            count = int(rng.integers(1, size))
            k = np.sort(rng.choice(size, count, replace=False))
            x = rng.choice(bad, size)
            x[k] = rng.uniform(low, high, count)
            if reader == "sorted":  # the elements that count are the largest
                if min(bad) > low:
                    case.tally("not the smallest")
                    continue
                x[:], x[-count:] = min(bad), rng.uniform(low, high, count)
                k = np.arange(size - count, size)
            with np.errstate(all="ignore"):
                finite = bool(np.all(np.isfinite(f(x))))
            if reader in PRODUCTS and not finite:
                case.tally("value undefined")
                continue

            def whole(x: Any, f: Any = f, k: Any = k, reader: Any = reader) -> Any:
                return READERS[reader](f, x, k)

            def alone(z: Any, f: Any = f) -> Any:
                return np.sum(f(z) ** 2)

            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                warnings.simplefilter("ignore", SparsityWarning)
                _compare(rng, whole, alone, x, k, f"{name}, {reader}, {x}, {k}")


def _compare(rng: Any, whole: Any, alone: Any, x: Any, k: Any, text: str) -> None:
    backend = "llvm" if rng.random() < 0.1 else "numpy"
    size, inner = len(x), x[k]
    first, second = np.zeros(size), np.zeros((size, size))
    with sg.backend("numpy"):
        first[k] = sg.grad(alone)(inner)
        second[np.ix_(k, k)] = sg.hessian(alone)(inner)
    with sg.backend(backend):
        way = rng.integers(7)
        match way:
            case 0:
                found, wanted = sg.grad(whole)(x), first
            case 1:
                found, wanted = sg.jacobian(whole, mode="forward")(x), first
            case 2:
                found, wanted = sg.hessian(whole)(x), second
            case 3:
                found, wanted = sg.vmap(sg.grad(whole))(np.stack([x, x])), [first, first]
            case 4:
                found, wanted = sg.jacobian(sg.grad(whole), mode="reverse")(x), second
            case 5:
                slopes = sg.jacobian(whole, mode="forward")
                found, wanted = sg.jacobian(slopes, mode="forward")(x), second
            case _:  # SPARSE
                found, wanted = sg.hessian(whole, sparse=True)(x).toarray(), second
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11, err_msg=text)
