"""A saddle point by gradient descent through gradient ascent.

After J. M. Siskind, B. A. Pearlmutter, "Using programming language theory to make automatic
differentiation sound and efficient", 2008.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from descent import MODES, Gradient, argmax, argmin
from protocol import Function

import symgrad as sg


def height(x: Any, y: Any) -> Any:
    return np.sum(x**2) - np.sum(y**2)


def saddle(outer: Gradient, inner: Gradient) -> Any:
    """The function that finds the point where x is lowest among what y makes highest."""

    def point(start: Any) -> Any:
        def highest(x: Any) -> Any:
            return height(x, argmax(lambda y: height(x, y), inner, start))

        x = argmin(highest, outer, start)
        return np.concatenate([x, argmax(lambda y: height(x, y), outer, start)])

    return sg.compile(point, dynamic=False)  # two numbers: no loops over them


def read(given: Any) -> tuple[Any, ...]:
    return (np.array(given["start"], dtype=float),)


FUNCTIONS = {a + b: Function(read, saddle(MODES[a], MODES[b])) for a in MODES for b in MODES}
