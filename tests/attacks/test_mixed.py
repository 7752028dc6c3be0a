"""Loops over elements of several widths: every backend, and Numba's dispatcher, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg

UNARY: list[Callable[[Any], Any]] = [
    np.sin, np.exp, np.tanh, np.arctan, np.arcsinh, np.sinh, np.cbrt, np.expm1, np.abs, np.negative,
    np.floor, np.square, np.sign, lambda x: np.log1p(x * x), lambda x: np.sqrt(np.abs(x)),
    lambda x: x > 0, lambda x: x[::-1], np.cumsum, lambda x: x - np.mean(x), lambda x: 0 * x + 1,
]  # fmt: skip
BINARY: list[Callable[[Any, Any], Any]] = [
    np.add, np.subtract, np.multiply, np.arctan2, np.minimum, np.maximum, np.hypot, np.logaddexp,
    lambda a, b: np.where(a > b, a, b), lambda a, b: a / (1 + b * b), np.less, np.copysign,
]  # fmt: skip
TYPES = ("float64", "float32", "int8", "int32", "uint8", "bool")


def program(rng: np.random.Generator, steps: int) -> Callable[..., Any]:
    """Return a function of two arrays, made of random steps with conversions between them."""
    plan = [
        (
            rng.random() < 0.4, int(rng.integers(len(UNARY))), int(rng.integers(len(BINARY))),
            rng.integers(0, 100, 2).tolist(), str(rng.choice(["float64", "float32", "", "", ""])),
        )
        for _ in range(steps)
    ]  # fmt: skip

    def function(x: Any, y: Any) -> Any:
        values = [x, y]
        for two, one, other, places, kind in plan:
            a, b = (np.multiply(values[k % len(values)], 1.0) for k in places)
            z = BINARY[other](a, b) if two else UNARY[one](a)
            values.append(z.astype(kind) if kind else z)
        return values[-1], values[-2], np.sum(np.multiply(values[-1], 1.0))

    return function


def close(a: Any, b: Any, scale: float) -> bool:
    """Tell whether results agree up to what the steps lose, or lie far out or at a jump."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    a, b = a.astype(float), b.astype(float)
    same = np.isclose(a, b, rtol=scale, atol=scale * max(1, float(np.max(np.abs(b), initial=0))),
                      equal_nan=True)  # fmt: skip
    return bool(np.mean(same) > 0.9)


@pytest.mark.attack(quick=4, whole=1000, judge="NumPy, up to rounding")
def test_mixed(attack: Any) -> None:
    """Random elementwise programs of two arrays of mixed element types."""
    for case in attack:
        with case, np.errstate(all="ignore"):
            rng = case.rng
            function = program(rng, int(rng.integers(2, 7)))
            size = int(rng.choice([1, 3, 16, 67, 300]))
            x, y = ((3 * rng.normal(size=size)).astype(str(rng.choice(TYPES))) for _ in range(2))
            want = function(x, y)
            if not all(np.all(np.isfinite(w)) for w in want):
                case.tally("not finite")
            for backend in ("llvm", "numba") if case.number % 4 == 0 else ("llvm",):
                found = sg.compile(function, backend=backend, cache=False)(x, y)
                for a, b in zip(found, want, strict=True):
                    assert close(a, b, 1e-4), (backend, x.dtype, y.dtype, size, a, b)
