"""Linear systems in continuous time as systems in steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal

from .. import numpy as traced_numpy
from ..errors import UnsupportedError
from ._versions import floats, refuse_option, replaces
from .linalg import expm

#: Which part of a step's end counts, by the methods' names.
_SHARES = {"bilinear": 0.5, "tustin": 0.5, "euler": 0.0, "forward_diff": 0.0, "backward_diff": 1.0}


@replaces(scipy.signal.cont2discrete)
def cont2discrete(system: Any, dt: Any, method: str = "zoh", alpha: Any = None) -> Any:
    """Matrices of a system in steps of ``dt``, as ``scipy.signal.cont2discrete``.

    Examples
    --------
    >>> def gain(rate, dt):
    ...     a, b, c, d = np.array([[-1.0]]) * rate, np.ones((1, 1)), np.ones((1, 1)), 0.0
    ...     return cont2discrete((a, b, c, d), dt)[1][0, 0]
    >>> sg.grad(gain, argnums=1)(2.0, 0.1)
    np.float64(0.818731)
    """
    if len(system) != 4:
        raise UnsupportedError(
            "scipy.signal.cont2discrete: in traced code a system is four matrices, (A, B, C, D): "
            "transfer functions and poles are turned into them outside, by scipy.signal.tf2ss"
        )
    a, b, c, d = map(floats, system)
    n, m = a.shape[0], b.shape[1]
    if method in ("zoh", "foh"):
        held, ramp = np.zeros((m, n + m)), np.zeros((m, n + 2 * m))
        rows = [[a * dt, b * dt], [held]]
        if method == "foh":
            rows = [[a * dt, b * dt, np.zeros((n, m))], [held, np.eye(m)], [ramp]]
        step = expm(traced_numpy.block(rows))[:n]
        ad, bd = step[:, :n], step[:, n : n + m]
        if method == "zoh":
            return ad, bd, c, d, dt
        end = step[:, n + m :]
        return ad, bd - end + ad @ end, c, d + c @ end, dt
    share: Any = alpha if method == "gbt" else _SHARES.get(method)
    if share is None:
        refuse_option("cont2discrete", "method", method, "'zoh', 'foh', 'bilinear' or 'gbt'")
    ahead = np.eye(n) - share * dt * a
    ad = np.linalg.solve(ahead, np.eye(n) + (1.0 - share) * dt * a)
    bd = np.linalg.solve(ahead, dt * b)
    return ad, bd, np.linalg.solve(ahead.T, c.T).T, d + share * (c @ bd), dt
