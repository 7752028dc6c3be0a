"""A charged particle is aimed by moving a charge: a gradient in a loop in a minimisation.

After J. M. Siskind, B. A. Pearlmutter, "Using programming language theory to make automatic
differentiation sound and efficient", 2008.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from descent import MODES, Gradient, argmin
from protocol import Function

import symgrad as sg

STEP = 0.1
START, VELOCITY = np.array([0.0, 8.0]), np.array([0.75, 0.0])


def miss(w: Any, gradient: Gradient) -> Any:
    """The squared distance from the origin at which the particle meets the x axis.

    The force is the gradient of the charges' potential; Euler's method goes on until the next
    step would cross the axis, and a line from there meets it.
    """
    charges = np.stack([np.stack([10.0, 10.0 - w]), np.array([10.0, 0.0])])

    def potential(x: Any) -> Any:
        return np.sum(1 / np.sqrt(np.sum((x - charges) ** 2, axis=1)))

    def above(state: Any) -> Any:
        x, velocity = state
        return x[1] + STEP * velocity[1] > 0

    def step(state: Any) -> Any:
        x, velocity = state
        return x + STEP * velocity, velocity - STEP * gradient(potential)(x)

    x, velocity = sg.while_loop(above, step, (START, VELOCITY))
    return (x[0] - x[1] / velocity[1] * velocity[0]) ** 2


def aim(outer: Gradient, inner: Gradient) -> Any:
    """The function that finds the best w from a first one."""
    return sg.compile(lambda w: argmin(lambda w: miss(w, inner), outer, w))


def read(given: Any) -> tuple[Any, ...]:
    return (float(given["w"]),)


FUNCTIONS = {a + b: Function(read, aim(MODES[a], MODES[b])) for a in MODES for b in MODES}
