"""Derivatives by differences of high order, with a bound that they give of themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.differentiate import derivative

#: Where to start halving the step.
STEPS = (1e-1, 1e-3)


class NoSlopeError(Exception):
    """The differences do not settle: there is a kink, a jump or noise nearby."""


def slope(f: Callable[[float], float], settled: float) -> tuple[float, float, float]:
    """Return the derivative of ``f`` at 0, how far off it may be, and its scale.

    The step is halved with formulas of order 8 (SciPy's ``derivative``) from several starts;
    the one that settles best counts, if it settles to ``settled``, relative to the scale.
    """
    each = np.vectorize(f, otypes=[float])
    scale = abs(f(0.0))
    found = [
        derivative(each, 0.0, initial_step=step, order=8, maxiter=6, preserve_shape=True)
        for step in STEPS
    ]
    usable = [r for r in found if np.isfinite(r.df) and np.isfinite(r.error)]
    if not usable:
        raise NoSlopeError
    best = min(usable, key=lambda r: r.error)
    scale = max(scale * 1e-3, abs(float(best.df)))
    if best.error > settled * scale and best.error > 1e-12:
        raise NoSlopeError
    return float(best.df), float(best.error), scale
