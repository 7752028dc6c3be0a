"""Calls of Python's and NumPy's functions that code for plain numbers makes, traced as they are."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg

pytestmark = pytest.mark.usefixtures("no_kernels")


@dataclasses.dataclass
class Held:
    value: Any
    other: float = 0.5


@np.errstate(all="ignore")
def in_errstate(x: Any, a: Any) -> Any:
    out = np.zeros(3)
    out[:] = x
    return np.sum(out) * math.sin(a)


@contextlib.contextmanager
def around(k: Any) -> Any:
    yield k


@around(2.0)
def in_context(x: Any, a: Any) -> Any:
    out = np.array([0.0, math.cos(a)])
    out[0] = x[1]
    return np.sum(out**2)


CALLS: dict[str, Callable[..., Any]] = {
    "hypot of 1": lambda x, a: math.hypot(x[1]) * a,
    "hypot of 3": lambda x, a: math.hypot(a, x[0], x[1]),
    "hypot of an array": lambda x, a: math.hypot(*x) * a,
    "modf": lambda x, a: sum(math.modf(x[0])) + math.modf(3.0 * a)[0],
    "deepcopy": lambda x, a: copy.deepcopy(a) * x[0],
    "deepcopy of a list": lambda x, a: copy.deepcopy([a, [x]])[1][0][1] * copy.deepcopy([a])[0],
    "deepcopy of a sum": lambda x, a: copy.deepcopy({"k": a + 1.0})["k"] * x[2],
    "copy": lambda x, a: copy.copy(a) * copy.copy(x)[0],
    "asdict": lambda x, a: dataclasses.asdict(Held(a))["value"] * x[1],
    "astuple": lambda x, a: dataclasses.astuple(Held(a * 2.0))[0] * x[1],
    "compress": lambda x, a: np.sum(np.compress([True, False, True], x) ** 2) * a,
    "compress of few": lambda x, a: np.sum(np.compress([False, True], x) ** 2) * a,
    "compress, method": lambda x, a: np.sum(x.compress([True, False, True], axis=0) ** 2) * a,
    "compress of columns": lambda x, a: (
        np.sum(np.compress(np.array([1, 0, 1]), np.outer(x, x), axis=1) ** 2) * a
    ),
    "extract": lambda x, a: np.sum(np.extract(np.arange(3) > 0, x) ** 2) * a,
    "errstate": in_errstate,
    "contextmanager": in_context,
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    f = CALLS[name]
    x, a = np.array([0.62, -0.41, 0.93]), 0.7
    z = np.append(x, a)

    def slope(e: Any) -> float:
        h = 1e-5 * e
        up, down = z + h, z - h
        return float((f(up[:3], up[3].item()) - f(down[:3], down[3].item())) / 2e-5)

    want, slopes = f(x, a), np.array([slope(e) for e in np.eye(4)])
    assert sg.compile(f)(x, a) == pytest.approx(want, rel=1e-12)
    gradient = sg.grad(f, argnums=(0, 1))(x, a)
    np.testing.assert_allclose(np.append(*gradient), slopes, rtol=1e-7, atol=1e-9)
    batch = sg.vmap(f)(np.stack([x, 2 * x]), np.array([a, a]))
    np.testing.assert_allclose(batch, [want, f(2 * x, a)], rtol=1e-12)


def test_traced_masks_are_refused() -> None:
    for f in (lambda x: np.sum(np.compress(x > 0, x)), lambda x: np.sum(np.extract(x > 0, x))):
        with pytest.raises(sg.errors.UnsupportedError, match=r"x\[mask\]"):
            sg.compile(f)(np.ones(3))


def test_pickling_is_refused() -> None:
    with pytest.raises(sg.errors.TraceError, match="pickling"):
        sg.compile(lambda x: pickle.dumps(x))(2.0)
