"""``solve_ivp`` in traced code: under ``grad``, ``jacobian``, ``vmap``, ``compile``, in kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import numpy as traced_numpy
from .._api._custom import stop_gradient
from .._ops.np_common import is_traced
from ..errors import UnsupportedError
from ._ode_loop import Control, begun, visit
from ._ode_methods import METHODS
from ._ode_programs import slope_of
from ._ode_result import OdeResult, checked_times
from ._ode_run import MOST
from ._ode_solvers import COMPLEX

#: Options that have a meaning in traced code.
OPTIONS = frozenset(("rtol", "atol", "first_step", "max_step", "max_steps", "memory"))
TOLERANCES = (("rtol", 1e-3), ("atol", 1e-6))


def solve_traced(
    fun: Callable[..., Any], t_span: Any, y0: Any, method: Any, t_eval: Any, vectorized: bool,
    args: tuple[Any, ...], options: dict[str, Any],
) -> OdeResult:  # fmt: skip
    """Solve an initial value problem within a trace, at the times ``t_eval``."""
    if method not in METHODS:
        raise UnsupportedError(
            f"solve_ivp: in traced code method is one of {', '.join(map(repr, METHODS))}, not "
            f'{method!r}; "Rodas5P" is for stiff systems'
        )
    if t_eval is None:
        raise UnsupportedError(
            "solve_ivp: in traced code say at which times the solution is wanted, since the "
            "number of steps depends on values: t_eval=[t1] for the end, t_eval=np.linspace(t0, "
            "t1, 50) for fifty times"
        )
    if unknown := set(options) - OPTIONS:
        raise UnsupportedError(
            f"solve_ivp: in traced code it takes no {', '.join(sorted(unknown))}, only "
            + ", ".join(sorted(OPTIONS))
        )
    begin, bound = t_span
    if not any(map(is_traced, (begin, bound, t_eval))):
        t_eval = checked_times(t_eval, float(begin), float(bound))
    times = 1.0 * traced_numpy.asarray(t_eval)
    y = traced_numpy.asarray(y0)
    for name, x in (("t_eval", times), ("y0", y)):
        if x.ndim != 1:
            raise ValueError(f"`{name}` must be 1-dimensional.")
    terms = METHODS[method]
    if y.dtype.kind == "c" and not terms.complex:
        raise ValueError(COMPLEX)
    y = y.astype(np.result_type(y.dtype, np.float64))
    clock, bound = stop_gradient(1.0 * begin), stop_gradient(1.0 * bound)
    # The clock of the loop has no derivatives. That of what begins later is that of the lag,
    # which is zero.
    lag = 1.0 * begin - clock
    plain = slope_of(fun, args, vectorized)
    rtol, atol = (stop_gradient(_numbers(options.get(*x))) for x in TOLERANCES)
    control = Control(bound, rtol, atol, stop_gradient(options.get("max_step", np.inf)))
    h, most = stop_gradient(options.get("first_step", np.nan)), options.get("max_steps", MOST)

    def slope(t: Any, y: Any) -> Any:
        return plain(t + lag, y)

    start = begun(terms, slope, clock, y, h, False, control)
    found, late, looked, state = visit(
        terms, slope, start, control, most, times - lag, options.get("memory")
    )
    failed, steps = np.any(late), state.tried
    evaluations = steps * terms.evaluations + np.sum(looked[-1:]) * terms.dense_evaluations
    return OdeResult(
        t=times, y=np.transpose(found), sol=None, t_events=None, y_events=None,
        nfev=2 + evaluations, njev=steps * terms.jacobians, nlu=steps * terms.jacobians,
        status=np.where(failed, -1, 0),
        message="In traced code, status is -1 where a time was not reached: y is nan there.",
        success=np.logical_not(failed),
    )  # fmt: skip


def _numbers(x: Any) -> Any:
    return x if is_traced(x) else np.asarray(x, dtype=float)
