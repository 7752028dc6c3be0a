"""A solution on plain arrays whose steps nobody looks at: most often one call of a compiled loop.

Most of the time of a short solution is Python's around the loop; a call of a function of Python
takes as long as a step. So what can be seen to need no word of SciPy's goes to the loop by flat
code. All else goes through SciPy's constructors, which check it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ._ode_methods import METHODS, suited
from ._ode_programs import SHORT, structured
from ._ode_result import OdeResult, checked_times
from ._ode_run import BEGUN, FINISHED, LEAST, MOST, ROWS, TURNS, Run, rows_of
from ._ode_solvers import Compiled

_FLOAT, _MOST_TURNS, _NOT = np.dtype(float), np.int64(TURNS), np.False_


def solved_at_once(
    kind: type[Compiled], fun: Callable[..., Any], t_span: Any, y0: Any, t_eval: Any,
    vectorized: bool, args: tuple[Any, ...], options: dict[str, Any],
) -> OdeResult | None:  # fmt: skip
    """Return the solution by one of the compiled methods; None where there are no steps."""
    t0, tf = map(float, t_span)
    times = None if t_eval is None else checked_times(t_eval, t0, tf)
    if t0 == tf:
        return None
    found = _quickly(kind.name, fun, t0, tf, y0, times, vectorized, args, **options)
    if found is not None:
        return found
    bound = (lambda t, y: fun(t, y, *args)) if args else fun
    run = kind(bound, t0, y0, tf, vectorized=vectorized, traced=(fun, args), **options).run
    if run.y.size == 0:
        return None
    run.programs.solved.add(run.y.size)
    if times is None or not len(times):
        return _result(run, times, *run.all_steps())
    return _result(run, times, *run.at(times.astype(_FLOAT)))


def _quickly(
    name: str, fun: Callable[..., Any], t0: float, tf: float, y0: Any, times: Any,
    vectorized: bool, args: tuple[Any, ...], rtol: Any = 1e-3, atol: Any = 1e-6,
    max_step: Any = math.inf, max_steps: Any = MOST, **options: Any,
) -> OdeResult | None:  # fmt: skip
    """Solve with arguments that need no word of SciPy's and a function that was solved before."""
    if options or not (type(rtol) is type(atol) is type(max_step) is float and max_steps is MOST):
        return None
    y = np.array(y0)
    if y.dtype is not _FLOAT:
        if y.dtype.kind not in "iuf":
            return None
        y = y.astype(_FLOAT)
    if y.ndim != 1 or not (rtol >= LEAST and atol >= 0 and max_step > 0):
        return None
    n = len(y)
    if not (all(map(math.isfinite, y.tolist())) if n <= SHORT else np.isfinite(y).all()):
        return None
    name = suited(name, rtol)
    programs, more = structured(name, vectorized, fun, t0, y, args)
    if n not in programs.solved:
        return None
    loop: Any
    space: tuple[Any, ...]
    if times is None or not len(times):
        loop, space = programs.march, rows_of(y, ROWS)
    else:
        loop, space = programs.visit, (times.astype(_FLOAT),)
    found = programs(
        loop, fun, t0, y, math.nan, _NOT, tf, rtol, atol, max_step, _MOST_TURNS, *space, *more,
        *args,
    )  # fmt: skip
    t, _, _, _, status, tried, *rest = found
    if status or t != tf:  # goes on, or says why not
        run = Run(name, fun, args, vectorized, t0, y, tf, rtol, atol, max_step, math.nan, MOST)
        if times is None or not len(times):
            return _result(run, times, *run.all_steps(found))
        return _result(run, times, *run.at(space[0], found))
    looked, terms = 0, METHODS[name]
    if loop is programs.visit:
        t, y = times, rest[0].T
        looked = rest[2].item(-1)
    elif times is None:
        count, t, y, _ = rest
        t, y = t[:count], y[:count].T
    else:
        t = y = []
    jacobians = int(tried) * terms.jacobians
    evaluations = int(tried) * terms.evaluations + looked * terms.dense_evaluations
    return OdeResult(
        t=t, y=y, sol=None, t_events=None, y_events=None, nfev=BEGUN + evaluations, njev=jacobians,
        nlu=jacobians, status=0, message=FINISHED, success=True,
    )  # fmt: skip


def _result(run: Run, times: Any, t: Any, y: Any) -> OdeResult:
    """Return what was found at the times that were reached, or after all steps."""
    nfev, njev = run.counts(run.tried, run.looked)
    done = run.message is None
    empty = times is not None and not (len(times) and len(t))
    return OdeResult(
        t=[] if empty else t, y=[] if empty else y.T, sol=None, t_events=None, y_events=None,
        nfev=nfev, njev=njev, nlu=njev, status=0 if done else -1,
        message=FINISHED if done else run.message, success=done,
    )  # fmt: skip
