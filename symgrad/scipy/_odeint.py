"""``odeint`` in traced code: the times asked for, by a method for stiff systems."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate

from .._state import now
from ._ode_traced import solve_traced
from ._quad import traceable
from ._replacing import floats, refuse_option

#: Both tolerances of LSODA, unless others are given.
TOLERANCE = 1.49012e-8


def odeint(
    func: Callable[..., Any], y0: Any, t: Any, args: Any = (), Dfun: Any = None,
    col_deriv: Any = 0, full_output: Any = 0, ml: Any = None, mu: Any = None, rtol: Any = None,
    atol: Any = None, tcrit: Any = None, h0: Any = 0.0, hmax: Any = 0.0, hmin: Any = 0.0,
    ixpr: Any = 0, mxstep: Any = 0, mxhnil: Any = 0, mxordn: Any = 12, mxords: Any = 5,
    printmessg: Any = 0, tfirst: bool = False,
) -> Any:  # fmt: skip
    """Solve an initial value problem ``dy/dt = func(y, t)``; as ``scipy.integrate.odeint``.

    Parameters
    ----------
    func:
        ``func(y, t, *args)``, or ``func(t, y, *args)`` with ``tfirst``, returns the slope of the
        state, of shape (n,).
    y0:
        The state at the first of the times, of shape (n,) or a number.
    t:
        Times, of shape (m,), increasing or decreasing.
    args, full_output, rtol, atol, h0, hmax, mxstep, tfirst:
        As SciPy's.
    Dfun, col_deriv, ml, mu, hmin, ixpr, mxhnil, mxordn, mxords, printmessg:
        As SciPy's; not looked at in traced code, where the Jacobian is exact. ``tcrit`` is refused.

    Returns
    -------
    Array of shape (m, n), and with ``full_output`` a dictionary.

    Notes
    -----
    On plain arrays this is SciPy's, by LSODA. In traced code it is
    :func:`symgrad.scipy.integrate.solve_ivp` by the method ``"Rodas5P"``, for stiff systems and
    others, with the same tolerances. Times that were not reached have nan.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> from symgrad.scipy.integrate import odeint
    >>> def left(rate):
    ...     return odeint(lambda y, t: -rate * y, 1.0, [0.0, 2.0])[-1, 0]
    >>> sg.grad(left)(0.5)
    np.float64(-0.735759)
    """
    args = args if isinstance(args, tuple) else (args,)
    options = (Dfun, col_deriv, full_output, ml, mu, rtol, atol, tcrit, h0, hmax, hmin, ixpr,
               mxstep, mxhnil, mxordn, mxords, printmessg, tfirst)  # fmt: skip
    if now().guards is None:
        return scipy.integrate.odeint(func, y0, t, args, *options)
    if tcrit is not None:
        refuse_option("odeint", "tcrit", tcrit, "an odeint for each of the parts")
    times, start = floats(t), np.atleast_1d(floats(y0))
    if start.ndim != 1:
        raise ValueError("Initial condition y0 must be one-dimensional.")
    asked = {"first_step": h0, "max_step": hmax, "max_steps": mxstep * int(times.shape[0])}
    control = {
        "rtol": TOLERANCE if rtol is None else rtol, "atol": TOLERANCE if atol is None else atol,
        **{name: value for name, value in asked.items() if value},
    }  # fmt: skip

    def traced(func: Callable[..., Any]) -> Any:
        slope = func if tfirst else lambda t, y, *rest: func(y, t, *rest)
        span = times[0], times[-1]
        found = solve_traced(slope, span, start, "Rodas5P", times, False, args, control)
        y = np.transpose(found.y)
        if not full_output:
            return y
        return y, {"nfe": found.nfev, "nje": found.njev, "message": found.message}

    return traceable(traced, func, scipy.integrate.odeint, y0, t, args, *options)
