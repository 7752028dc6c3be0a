"""Least squares: the polynomial that comes closest to the sign function."""

from __future__ import annotations

from typing import Any

import numpy as np
from protocol import Function

import symgrad as sg


def objective(x: Any, n: int) -> Any:
    """Half the squared distance at n places from -1 to 1; x has the coefficients.

    The polynomial is evaluated at all places at once by Horner's rule, from the highest
    coefficient down: a scan in reverse.
    """
    places = np.linspace(-1.0, 1.0, n)
    fit, _ = sg.scan(lambda y, c: (y * places + c, None), np.zeros(n), x, reverse=True)
    return np.sum((np.sign(places) - fit) ** 2) / 2


def read(given: Any) -> tuple[Any, ...]:
    return np.array(given["x"], dtype=float), given["n"]


FUNCTIONS = {
    "primal": Function(read, sg.compile(objective)),
    "gradient": Function(read, sg.grad(objective)),
}
