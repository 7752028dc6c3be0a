"""Gradient descent with a step that grows on success, for ``particle`` and ``saddle``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import symgrad as sg

TOLERANCE, FIRST_RATE, PATIENCE = 1e-5, 1e-5, 10

#: A transformation from a function of one argument to its gradient.
Gradient = Callable[[Callable[[Any], Any]], Callable[[Any], Any]]

#: The letters by which GradBench names the modes.
MODES: dict[str, Gradient] = {
    "f": lambda f: sg.jacobian(f, mode="forward"),
    "r": sg.grad,
}


def argmin(f: Callable[[Any], Any], gradient: Gradient, start: Any) -> Any:
    """Return where gradient descent ends: the gradient or the next step is short.

    The rate doubles after ten steps in a row that went down, and is halved instead of a step
    that would not. All of it is one loop of the compiled program, which transformations pass
    through: ``f`` may minimise within itself, and what this returns may be differentiated.
    """

    def far(state: Any) -> Any:
        _, _, slope, rate, _ = state
        return np.minimum(rate, 1.0) * np.sqrt(np.sum(slope**2)) > TOLERANCE

    def step(state: Any) -> Any:
        x, value, slope, rate, wins = state
        trial = x - rate * slope
        found = f(trial)

        def accept() -> Any:
            patient = wins + 1 < PATIENCE
            grown = np.where(patient, rate, 2 * rate)
            return trial, found, gradient(f)(trial), grown, np.where(patient, wins + 1, 0)

        def reject() -> Any:
            return x, value, slope, rate / 2, 0

        return sg.cond(found < value, accept, reject)

    return sg.while_loop(far, step, (start, f(start), gradient(f)(start), FIRST_RATE, 0))[0]


def argmax(f: Callable[[Any], Any], gradient: Gradient, start: Any) -> Any:
    """Return where gradient ascent ends."""
    return argmin(lambda x: -f(x), gradient, start)
