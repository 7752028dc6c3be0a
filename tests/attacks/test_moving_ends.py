"""Integrals whose limits move, by integrands that are singular there or not."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import symgrad as sg
from symgrad.scipy.integrate import quad, quad_vec, tanhsinh

#: Behaviours of an integrand at a distance from a limit: in NumPy, and in mpmath.
AT_ENDS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "smooth": (lambda d: 1.0 + 0.3 * d, lambda d: 1 + mpmath.mpf(0.3) * d),
    "root": (np.sqrt, mpmath.sqrt),
    "one over a root": (lambda d: 1.0 / np.sqrt(d), lambda d: 1 / mpmath.sqrt(d)),
    "cubic root": (np.cbrt, mpmath.cbrt),
    "log": (np.log, mpmath.log),
    "sinc": (lambda d: np.sin(d) / d, lambda d: mpmath.sin(d) / d),
    "root of squares": (lambda d: np.sqrt(d * (2.0 + d)), lambda d: mpmath.sqrt(d * (2 + d))),
    "power": (lambda d: d**1.5, lambda d: d ** mpmath.mpf(1.5)),
}

#: Smooth factors, of the variable and a parameter.
FACTORS: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
    (lambda x, p: 1.0 + 0.0 * x, lambda x, p: mpmath.mpf(1)),
    (lambda x, p: np.exp(-p * x), lambda x, p: mpmath.exp(-p * x)),
    (lambda x, p: np.cos(3.0 * x + p), lambda x, p: mpmath.cos(3 * x + p)),
    (lambda x, p: p / (1.0 + x * x), lambda x, p: p / (1 + x * x)),
]

#: How limits depend on the parameter.
ENDS: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
    (lambda p: p + 1.0, lambda p: p + 1),
    (lambda p: np.sqrt(2.0 * p) + 1.0, lambda p: mpmath.sqrt(2 * p) + 1),
    (lambda p: 1.0 + 1.0 / p, lambda p: 1 + 1 / p),
]


@pytest.mark.attack(
    quick=10, whole=2000, part=30, judge="mpmath, of the integral between fixed limits"
)
def test_moving_ends(attack: Any) -> None:
    """Derivatives of integrals to moving limits at which the integrand has roots, logarithms,
    poles of order a half, quotients 0/0, by quad, quad_vec and tanhsinh, to order two.

    Right is what is right to the digits that the tolerance leaves, or nan.
    """
    for case in attack:
        with case:
            rng = case.rng
            upper, lower = (rng.choice(list(AT_ENDS)) for _ in range(2))
            lower = lower if rng.random() < 0.4 else "smooth"
            (up, exact_up), (low, exact_low) = AT_ENDS[upper], AT_ENDS[lower]
            factor, exact_factor = FACTORS[rng.integers(len(FACTORS))]
            end, exact_end = ENDS[rng.integers(len(ENDS))]
            both = bool(rng.random() < 0.5)
            how = rng.choice(["quad", "quad", "quad_vec", "tanhsinh"])
            jump = bool(rng.random() < 0.2) and how != "tanhsinh"  # which gives up at jumps
            p = float(rng.uniform(0.3, 2.0))
            place = float(rng.uniform(0.1, 0.9))

            def start(p: Any, both: bool = both) -> Any:
                return -0.5 * p if both else 0.0

            def integral(
                p: Any, how: Any = how, up: Any = up, low: Any = low, factor: Any = factor,
                end: Any = end, start: Any = start, jump: bool = jump, place: float = place,
            ) -> Any:  # fmt: skip
                a, b = start(p), end(p)

                def f(x: Any) -> Any:
                    y = up(b - x) * low(x - a) * factor(x, p)
                    return np.where(x < place, 2.0 * y, y) if jump else y

                if how == "quad":
                    return quad(f, a, b, limit=200)[0]
                if how == "quad_vec":
                    return np.sum(quad_vec(lambda x: np.stack([f(x), 0.5 * f(x)]), a, b)[0]) / 1.5
                return tanhsinh(f, a, b).integral

            def exact(
                p: Any, up: Any = exact_up, low: Any = exact_low, factor: Any = exact_factor,
                end: Any = exact_end, start: Any = start, jump: bool = jump, place: float = place,
            ) -> Any:  # fmt: skip
                a, b = mpmath.mpf(start(p)), end(p)

                def between(first: Any, last: Any) -> Any:
                    width = last - first

                    def scaled(t: Any) -> Any:
                        x = first + width * t
                        to_end = (b - last) + width * (1 - t)
                        to_start = (first - a) + width * t
                        return width * up(to_end) * low(to_start) * factor(x, p)

                    return mpmath.quad(scaled, [0, mpmath.mpf(1) / 2, 1])

                middle = mpmath.mpf(place)
                if jump:
                    return 2 * between(a, middle) + between(middle, b)
                return between(a, b)

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value, slope = sg.value_and_grad(integral)(p)
                second = sg.grad(sg.grad(integral))(p) if case.number % 4 == 0 else None
            with mpmath.workdps(25):
                h = mpmath.mpf(10) ** -3
                near = [exact(mpmath.mpf(p) + k * h) for k in range(-3, 4)]
                want = (near[6] - 9 * near[5] + 45 * near[4] - 45 * near[2] + 9 * near[1]
                        - near[0]) / (60 * h)  # fmt: skip
                wanted = (2 * near[0] - 27 * near[1] + 270 * near[2] - 490 * near[3]
                          + 270 * near[4] - 27 * near[5] + 2 * near[6]) / (180 * h * h)  # fmt: skip
            text = f"{how} {lower} {upper} p={p!r} both={both} jump={jump}"
            pairs = [(value, near[3], 1e-7), (slope, want, 1e-5)]
            if second is not None:
                pairs.append((second, wanted, 1e-3))
            for k, (found, expected, digits) in enumerate(pairs):
                if np.isnan(found):
                    case.tally("nan")
                    continue
                size = abs(float(near[3])) + abs(float(want))
                assert abs(float(found - expected)) <= digits * max(size, 1.0), (
                    f"order {k}: {found} for {float(expected)}: {text}"
                )
