"""``odeint``: an initial value problem at the times asked for, by a method for stiff systems."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate

from .. import numpy as traced_numpy
from .._core.base.signals import foreseen
from .._core.base.state import now
from .._core.graph import warn_user
from .._core.ops.np_common import holds_traced
from ..errors import NotCompiledWarning, ShapeError, SymgradError
from ._call_records import LEAVING
from ._ode import solve_ivp
from ._ode_programs import structured
from ._ode_structure import LARGE
from ._ode_traced import solve_traced
from ._quad import traceable
from ._refusals import refusal_of
from ._versions import floats, refuse_option

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
        ``func(y, t, *args)``, or ``func(t, y, *args)`` with ``tfirst``, returns the derivative of
        the state, of shape (n,).
    y0:
        The state at the first of the times, of shape (n,) or a number.
    t:
        Times, of shape (m,), increasing or decreasing.
    args, full_output, rtol, atol, h0, hmax, mxstep, tfirst:
        As SciPy's.
    Dfun, col_deriv, ml, mu, hmin, ixpr, mxhnil, mxordn, mxords, printmessg:
        As SciPy's; not looked at in traced code, where the Jacobian is exact.
    tcrit:
        Times that no step passes over, of shape (k,), where the right-hand side may jump.

    Returns
    -------
    Array of shape (m, n), and with ``full_output`` a dictionary.

    Notes
    -----
    This is :func:`symgrad.scipy.integrate.solve_ivp` by the method ``"Rodas5P"``, for stiff systems
    and others, with the same tolerances. On plain arrays it is SciPy's LSODA where that is to say
    more (``full_output``, ``tcrit``), where the other finds no solution, and for more than a
    hundred unknowns whose Jacobian is no band and no blocks. In traced code times that were not
    reached have nan.

    Examples
    --------
    >>> def left(rate):
    ...     return odeint(lambda y, t: -rate * y, 1.0, [0.0, 2.0])[-1, 0]
    >>> sg.grad(left)(0.5)
    np.float64(-0.735759)
    """
    options = (Dfun, col_deriv, full_output, ml, mu, rtol, atol, tcrit, h0, hmax, hmin, ixpr,
               mxstep, mxhnil, mxordn, mxords, printmessg, tfirst)  # fmt: skip
    if now().guards is None:
        found = None
        if tcrit is None and not full_output and isinstance(args, tuple):
            found = _compiled(func, y0, t, args, tfirst, rtol, atol, h0, hmax)
        return scipy.integrate.odeint(func, y0, t, args, *options) if found is None else found
    if not isinstance(args, tuple):
        raise TypeError("Extra arguments must be in a tuple.")
    times, start = floats(t), np.atleast_1d(floats(y0))
    if start.ndim != 1:
        raise ValueError("Initial condition y0 must be one-dimensional.")
    if times.ndim != 1:
        raise ValueError("Output times t must be one-dimensional.")
    if not holds_traced(t) and not any(np.all(x >= 0) for x in (np.diff(t), -np.diff(t))):
        raise ValueError(
            "The values in t must be monotonically increasing or monotonically decreasing; "
            "repeated values are allowed."
        )
    parts = [((times[0], times[-1]), times, slice(None))] if tcrit is None else _parts(t, tcrit)
    asked = {"first_step": h0, "max_step": hmax, "max_steps": mxstep * int(times.shape[0])}
    control = _control(rtol, atol, asked)

    def traced(func: Callable[..., Any]) -> Any:
        slope, state, rows, nfe, nje = _slope(func, tfirst), start, [], 0, 0
        for span, asked, places in parts:
            found = solve_traced(slope, span, state, "Rodas5P", asked, False, args, control)
            rows.append(np.transpose(found.y)[places])
            state, nfe, nje = found.y[:, -1], nfe + found.nfev, nje + found.njev
        y = rows[0] if len(rows) == 1 else np.concatenate(rows)
        if not full_output:
            return y
        return y, {"nfe": nfe, "nje": nje, "message": found.message}

    return traceable(traced, func, scipy.integrate.odeint, y0, t, args, *options)


def _parts(t: Any, tcrit: Any) -> list[tuple[tuple[float, float], Any, Any]]:
    """Return spans between critical times, different times in each, and which of them are asked.

    A time at the end of a span is of that one, and the last of its times is its end.
    """
    if holds_traced((t, tcrit)):
        refuse_option("odeint", "tcrit", tcrit, "times and critical times that are numbers")
    times, critical = np.asarray(t, float), np.atleast_1d(np.asarray(tcrit, float))
    way = 1.0 if times[-1] >= times[0] else -1.0
    inside = critical[(way * critical > way * times[0]) & (way * critical < way * times[-1])]
    cuts = [times[0], *(way * np.unique(way * inside)), times[-1]]
    found = []
    for k, (a, b) in enumerate(itertools.pairwise(cuts)):
        own = times[(way * times > way * a) & (way * times <= way * b)]
        if k == 0:
            own = np.concatenate([times[times == a], own])
        asked = way * np.unique(way * np.append(own, b))
        found.append(((a, b), asked, np.searchsorted(way * asked, way * own)))
    return found


def _slope(func: Callable[..., Any], tfirst: bool) -> Callable[..., Any]:
    """Return the right-hand side as ``solve_ivp`` takes it, whose slopes have the state's size."""
    if getattr(func, "__code__", None) in _LEAVING:  # what it reads is then data, not compared
        return functools.partial(_called, func, tfirst)
    return lambda t, y, *args: _called(func, tfirst, t, y, *args)


#: The code of functions that leave values in the user's objects, which change in each solution.
_LEAVING: set[Any] = set()


def _called(func: Callable[..., Any], tfirst: bool, t: Any, y: Any, *args: Any) -> Any:
    found = traced_numpy.asarray(func(t, y, *args) if tfirst else func(y, t, *args))
    if found.ndim < 2 and found.size != y.size:
        raise ShapeError(
            f"The size of the array returned by func ({found.size}) does not match the size of "
            f"y0 ({y.size})."
        )
    return found


def _control(rtol: Any, atol: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """Return the options of ``solve_ivp``; what is zero was not asked for."""
    return {
        "rtol": TOLERANCE if rtol is None else rtol, "atol": TOLERANCE if atol is None else atol,
        **{name: value for name, value in asked.items() if value},
    }  # fmt: skip


def _compiled(
    func: Callable[..., Any], y0: Any, t: Any, args: tuple[Any, ...], tfirst: bool, rtol: Any,
    atol: Any, h0: Any, hmax: Any,
) -> Any:  # fmt: skip
    """Return the states at the times on plain arrays; None where SciPy is to find them."""
    times, y = np.asarray(t), np.array(y0, ndmin=1)  # func may write to it
    if times.ndim != 1 or times.size < 2 or y.ndim != 1 or not y.size:
        return None
    if times.dtype.kind not in "iuf" or y.dtype.kind not in "iuf":
        return None
    slope, ends = _slope(func, tfirst), (times.item(0), times.item(-1))
    if ends[0] == ends[1]:
        return None
    options = _control(rtol, atol, {"first_step": h0, "max_step": hmax})
    refusal = refusal_of("odeint", func)
    if why := refusal.still():
        warn_user(why, NotCompiledWarning)
        return None
    try:
        if (
            y.size > LARGE
            and not structured("Rodas5P", False, slope, float(ends[0]), y.astype(float), args)[1]
        ):
            return None
        found = solve_ivp(slope, ends, y, "Rodas5P", times, args=args, **options)
        if LEAVING.seen and hasattr(func, "__code__"):
            _LEAVING.add(func.__code__)
    except foreseen(ValueError):  # of options and times that LSODA has other words for
        return None
    except SymgradError as error:
        name = getattr(func, "__qualname__", repr(func))
        why = f"odeint: {name} is not compiled, SciPy calls it as it is: {error}"
        if not isinstance(error, ShapeError):  # which SciPy will raise, too
            refusal.note(why)
        warn_user(why, NotCompiledWarning)
        return None
    return found.y.T if found.success else None
