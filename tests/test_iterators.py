"""``np.ndenumerate``, ``np.ndindex``, ``np.nditer`` over traced arrays, and ``np.fromiter``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy import ndenumerate

import symgrad as sg
from symgrad.errors import ArgumentError, UnsupportedError

X = np.arange(6.0).reshape(2, 3) + 0.5


def enumerated(x: Any) -> Any:
    return sum(v**2 * (i + 2 * j) for (i, j), v in ndenumerate(x))


def filled(x: Any) -> Any:
    y = np.zeros_like(x)
    for place, v in np.ndenumerate(x):
        y[place] = v * y.shape[1] ** sum(place)
    return y


def by_places(x: Any) -> Any:
    return sum(x[k] * (k[0] + 2 * k[1]) for k in np.ndindex(x.shape))


def in_a_loop(x: Any) -> Any:
    total = 0.0
    with np.nditer(x, flags=["multi_index"], op_flags=["readonly"]) as it:
        while not it.finished:
            total = total + it[0] ** 2 * it.multi_index[1]
            it.iternext()
    return total


def numbered(x: Any) -> Any:
    it = np.nditer(x.T, flags=["f_index"])
    return sum(v * it.index for v in it)


CASES: dict[str, Callable[[Any], Any]] = {
    "ndenumerate": enumerated,
    "writes": filled,
    "ndindex": by_places,
    "nditer": lambda x: sum(k * float(v) ** 2 for k, v in enumerate(np.nditer(x))),
    "while": in_a_loop,
    "index": numbered,
    "order": lambda x: sum(k * v for k, v in enumerate(np.nditer(x, order="F"))),
    "two": lambda x: sum(a * b for a, b in np.nditer([x, np.arange(3.0)])),
    "fromiter": lambda x: np.fromiter((r @ r for r in x), float, count=2) @ x,
    "fromiter of few": lambda x: np.fromiter(map(np.sin, x[0]), float, 2) * x[:, 0],
    "number": lambda x: sum(v**2 for v in np.nditer(x[0, 1])),
    "none": lambda x: sum((v for v in np.nditer(x[:0], flags=["zerosize_ok"])), x[0, 0]),
}


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("case", CASES)
def test_elements_are_read(case: str) -> None:
    f = CASES[case]
    np.testing.assert_allclose(sg.compile(f)(X), f(X), rtol=1e-15)
    slopes, h = sg.jacobian(f)(X), 1e-6
    for place in np.ndindex(X.shape):
        e = np.zeros_like(X)
        e[place] = h
        want = (f(X + e) - f(X - e)) / (2 * h)
        np.testing.assert_allclose(slopes[(..., *place)], want, rtol=1e-7, atol=1e-8)


REFUSED: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "writes": (
        lambda x: list(np.nditer(x.copy(), op_flags=["readwrite"])),
        UnsupportedError, r"it only reads.*np\.ndindex"),
    "order": (lambda x: sum(np.nditer(x.T)), UnsupportedError, 'order="C"'),
    "runs": (lambda x: sum(np.nditer(x, flags=["external_loop"])), UnsupportedError, "external"),
    "axes": (lambda x: sum(np.nditer(x, op_axes=[[0, 1]])), UnsupportedError, "op_axes="),
    "empty": (lambda x: sum(np.nditer(x[:0])), ArgumentError, "zero-sized"),
    "too short": (lambda x: np.fromiter((r @ r for r in x), float, 3), ArgumentError, "only 2 it"),
    "rows": (lambda x: np.fromiter((r for r in x), float), ArgumentError, r"np\.array"),
    "no index": (lambda x: np.nditer(x).multi_index[0] * x, ArgumentError, "multi-index"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    f, error, text = REFUSED[case]
    with pytest.raises(error, match=text):
        sg.compile(f)(X)
