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

from .._runtime import MISS
from ._ode_methods import suited
from ._ode_programs import KEPT, UNSTRUCTURED, Programs, structured
from ._ode_run import BEGUN, FINISHED, LEAST, MOST, ROWS, TURNS, Run, rows_of
from ._ode_solvers import Compiled
from ._ode_steps import Method, OdeResult, checked_times

_FLOAT, _MOST_TURNS, _NOT = np.dtype(float), np.int64(TURNS), np.False_
_SEQUENCES = tuple, list

#: A solution, up to its numbers.
_FOUND: dict[str, Any] = {
    "t": None, "y": None, "sol": None, "t_events": None, "y_events": None, "nfev": 0, "njev": 0,
    "nlu": 0, "status": 0, "message": FINISHED, "success": True,
}  # fmt: skip

#: The loops of functions that were solved, by code (which is kept, so that no other has its
#: address), method, size of the state and ``vectorized``.
_known: dict[tuple[Any, ...], tuple[Programs, Method, Any]] = {}


def solved_at_once(
    kind: type[Compiled], fun: Callable[..., Any], t_span: Any, y0: Any, t_eval: Any,
    vectorized: bool, args: tuple[Any, ...], options: dict[str, Any],
) -> OdeResult | None:  # fmt: skip
    """Return the solution by one of the compiled methods; None where there are no steps."""
    t0, tf = map(float, t_span)
    times = None if t_eval is None else checked_times(t_eval, t0, tf)
    if t0 == tf:
        return None
    while times is not None and len(times) and times[-1] != times[-1]:
        times = times[:-1]  # never reached
    bound = (lambda t, y: fun(t, y, *args)) if args else fun
    run = kind(bound, t0, y0, tf, vectorized=vectorized, traced=(fun, args), **options).run
    if run.y.size == 0:
        return None
    if len(_known) >= KEPT:
        _known.clear()
    code = getattr(fun, "__code__", None)
    if code is not None:
        _known[id(code), run.method, run.y.size, vectorized] = run.programs, run.terms, code
    if times is None or not len(times):
        return _result(run, times, *run.all_steps())
    return _result(run, times, *run.at(times.astype(_FLOAT)))


def solved_again(
    fun: Callable[..., Any], t_span: Any, y0: Any, method: Any, t_eval: Any, vectorized: bool,
    args: Any, options: dict[str, Any],
) -> OdeResult | None:  # fmt: skip
    """Return the solution where one like it was found before and nothing needs a word of SciPy's.

    Else None is returned.
    """
    count = len(options)
    rtol, atol, longest = options.get("rtol"), options.get("atol"), options.get("max_step")
    if rtol is None:
        rtol, count = 1e-3, count + 1
    if atol is None:
        atol, count = 1e-6, count + 1
    if longest is None:
        longest, count = math.inf, count + 1
    if count != 3:  # there are others
        return None
    if not type(rtol) is type(atol) is type(longest) is float:
        if not all(isinstance(x, (float, int)) for x in (rtol, atol, longest)):
            return None
        rtol, atol, longest = float(rtol), float(atol), float(longest)
    if type(t_span) is np.ndarray:
        t_span = t_span.tolist()
    if type(t_span) not in _SEQUENCES or len(t_span) != 2 or type(method) is not str:
        return None
    if args is None:
        args = ()
    elif type(args) not in _SEQUENCES and not (type(args) is np.ndarray and args.ndim):
        return None
    t0, tf = t_span
    if not type(t0) is type(tf) is float:
        t0, tf = float(t0), float(tf)
    y = np.array(y0)
    if y.dtype is not _FLOAT:
        if y.dtype.kind not in "iuf":
            return None
        y = y.astype(_FLOAT)
    n = y.size
    if method == "Taylor":
        method = suited(method, rtol)
    known = _known.get((id(getattr(fun, "__code__", None)), method, n, vectorized))
    if known is None or y.ndim != 1 or not (rtol >= LEAST and atol >= 0 and longest > 0):
        return None
    space: tuple[Any, ...]
    if t_eval is None:
        if not (t0 < tf or t0 > tf):
            return None
        space = rows_of(y, ROWS)
    else:
        times = np.array(t_eval)
        if times.dtype is not _FLOAT:
            if times.dtype.kind not in "iuf":
                return None
            times = times.astype(_FLOAT)
        if times.ndim != 1 or not times.size:
            return None
        first, last = times.item(0), times.item(-1)
        if not (t0 <= first <= last <= tf != t0 or t0 >= first >= last >= tf != t0):
            return None
        if times.size > 1:
            ordered = times[1:] > times[:-1] if t0 < tf else times[1:] < times[:-1]
            if not ordered.all():
                return None
        space = (times,)
    programs, terms, _ = known
    more = args = tuple(args)
    if terms.jacobians and n > UNSTRUCTURED:
        programs, arrays = structured(method, vectorized, fun, t0, y, args)
        more = *arrays, *args
    loop = programs.march if t_eval is None else programs.visit
    given = t0, y, math.nan, _NOT, tf, rtol, atol, longest, _MOST_TURNS, *space, *more
    with programs.lock:
        if programs.held is not fun:
            programs.hold(programs.ways[0](fun))
            programs.held = fun
        # Not through Python's dispatch, if it need not be.
        straight = loop.straight
        found: Any = MISS if straight is None else straight(*given)
        if found is MISS:
            found = loop(*given)
    t, _, _, status, tried, count, *looked = found[1].tolist()
    if status or t != tf:  # goes on, or says why not
        if not np.isfinite(y).all():
            return None
        run = Run(method, fun, args, vectorized, t0, y, tf, rtol, atol, longest, math.nan, MOST)
        if t_eval is None:
            return _result(run, None, *run.all_steps(found))
        return _result(run, times, *run.at(times, found))
    tried = int(tried)
    jacobians, evaluations = tried * terms.jacobians, BEGUN + tried * terms.evaluations
    if t_eval is None:
        count = int(count)
        t, y = found[2][:count], found[3][:count].T
    else:
        t, y = times, found[2].T
        evaluations += int(looked[0]) * terms.dense_evaluations
    result = OdeResult(_FOUND)
    result["t"], result["y"], result["nfev"] = t, y, evaluations
    result["njev"] = result["nlu"] = jacobians
    return result


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
