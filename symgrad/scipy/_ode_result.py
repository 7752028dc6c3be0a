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
    if np.any(t_eval < min(t0, tf)) or np.any(t_eval > max(t0, tf)):
        raise ValueError("Values in `t_eval` are not within `t_span`.")
    steps = np.diff(t_eval)
    if (tf > t0 and np.any(steps <= 0)) or (tf < t0 and np.any(steps >= 0)):
        raise ValueError("Values in `t_eval` are not properly sorted.")
    return t_eval
