"""An initial value problem, integrated by Runge and Kutta's method of fourth order."""

from __future__ import annotations

from typing import Any

import numpy as np
from protocol import Function

import symgrad as sg

END = 2.0


def solution(x: Any, steps: int) -> Any:
    """Return y(2), where y(0) = 0, y_0' = x_0 and y_i' = x_i y_(i-1)."""
    h = END / steps

    def slope(y: Any) -> Any:
        return np.concatenate([x[:1], x[1:] * y[:-1]])

    def step(_: Any, y: Any) -> Any:
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    return sg.fori_loop(0, steps, step, 0.0 * x)


def last(x: Any, steps: int) -> Any:
    return solution(x, steps)[-1]


def read(given: Any) -> tuple[Any, ...]:
    return np.array(given["x"], dtype=float), given["s"]


FUNCTIONS = {
    "primal": Function(read, sg.compile(solution)),
    "gradient": Function(read, sg.grad(last)),
}
