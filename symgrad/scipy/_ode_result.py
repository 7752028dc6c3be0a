"""What ``solve_ivp`` returns, and at which times."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult


class OdeResult(OptimizeResult):  # type: ignore[misc]
    """What ``solve_ivp`` returns."""


def checked_times(t_eval: Any, t0: float, tf: float) -> Any:
    """Return times to give the solution at, or raise as SciPy does."""
    if t_eval is None:
        return None
    t_eval = np.asarray(t_eval)
    if t_eval.ndim != 1:
        raise ValueError("`t_eval` must be 1-dimensional.")
    sorted_well = len(t_eval) < 2 or tf == t0
    if not sorted_well:
        steps = t_eval[1:] - t_eval[:-1]
        sorted_well = not ((steps <= 0) if tf > t0 else (steps >= 0)).any()  # a nan is SciPy's
    ends = t_eval
    if sorted_well and tf != t0 and len(t_eval):
        ends = t_eval.item(0), t_eval.item(-1)
    least, most = (t0, tf) if t0 < tf else (tf, t0)
    for t in ends:
        if t < least or t > most:
            raise ValueError("Values in `t_eval` are not within `t_span`.")
    if not sorted_well:
        raise ValueError("Values in `t_eval` are not properly sorted.")
    return t_eval
