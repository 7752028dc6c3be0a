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

from .._core.runtime import MISS
from ._call_records import LEAVING
from ._ode_methods import BY_TOLERANCE, suited
from ._ode_programs import UNSTRUCTURED, Programs, structured
from ._ode_run import BEGUN, FINISHED, LEAST, MOST, ROWS, TURNS, NewtonRun, Run, rows_of
from ._ode_solvers import Compiled
from ._ode_steps import Method, OdeResult, checked_times
from ._refusals import KEPT

_FLOAT, _MOST_TURNS, _NOT = np.dtype(float), np.int64(TURNS), np.False_
_SEQUENCES, _NUMBERS = (tuple, list), (float, int)

#: A solution, up to its numbers.
_FOUND: dict[str, Any] = {
    "t": None, "y": None, "sol": None, "t_events": None, "y_events": None, "nfev": 0, "njev": 0,
    "nlu": 0, "status": 0, "message": FINISHED, "success": True,
}  # fmt: skip

#: The loops of functions that were solved, by code (which is kept, so that no other has its
#: address), method, size of the state and ``vectorized``.
_known: dict[tuple[Any, ...], tuple[Programs, Method | None, Any]] = {}


def solved_at_once(
    kind: type[Compiled], fun: Callable[..., Any], t_span: Any, y0: Any, t_eval: Any,
    vectorized: bool, args: tuple[Any, ...], options: dict[str, Any],
) -> OdeResult | None:  # fmt: skip
    """Return the solution by one of the compiled methods; None where there are no steps."""
    t0, tf = map(float, t_span)
    times = None if t_eval is None else checked_times(np.array(t_eval), t0, tf)
    if t0 == tf:
        return None
    while times is not None and len(times) and times[-1] != times[-1]:
        times = times[:-1]  # never reached
    bound, jac = (lambda t, y: fun(t, y, *args)) if args else fun, options.get("jac")
    if args and callable(jac):
        options = {**options, "jac": lambda t, y: jac(t, y, *args)}
    run = kind(bound, t0, y0, tf, vectorized=vectorized, traced=(fun, args), **options).run
    if run.y.size == 0:
        return None
    if len(_known) >= KEPT:
        _known.clear()
    code = getattr(fun, "__code__", None)
    if code is not None:
        terms = run.terms if isinstance(run, Run) else None
        _known[id(code), run.method, run.y.size, vectorized] = run.programs, terms, code
    if times is None or not len(times):
        return _result(run, times, *run.all_steps())
    return _result(run, times, *run.at(times.astype(_FLOAT)))


def forget(fun: Callable[..., Any]) -> None:
    """Have :func:`solved_again` leave a function alone, which was refused."""
    code = getattr(fun, "__code__", None)
    for key in [key for key in _known if key[0] == id(code)]:
        _known.pop(key, None)


def solved_again(
    fun: Callable[..., Any], t_span: Any, y0: Any, method: Any, t_eval: Any, vectorized: bool,
    args: Any, options: dict[str, Any],
) -> OdeResult | None:  # fmt: skip
    """Return the solution where one like it was found before and nothing needs a word of SciPy's.

    Else None is returned.
    """
    tolerances, span, y = _tolerances(**options), _span(t_span), _floats(np.array(y0))
    if tolerances is None or span is None or y is None or type(method) is not str:
        return None
    if args is None:
        args = ()
    elif type(args) not in _SEQUENCES and not (type(args) is np.ndarray and args.ndim):
        return None
    if method in BY_TOLERANCE:
        method = suited(method, tolerances[0])
    known = _known.get((id(getattr(fun, "__code__", None)), method, y.size, vectorized))
    if known is None:
        return None
    programs, terms, _ = known
    t0, tf = span
    times = told = None
    if t_eval is not None and (times := _times(told := np.array(t_eval), t0, tf)) is None:
        return None
    if terms is None:
        if not np.isfinite(y).all():
            return None
        anew = NewtonRun(
            method, fun, tuple(args), vectorized, t0, y, tf, *tolerances, math.nan, MOST
        )
        return _result(anew, told, *(anew.all_steps() if times is None else anew.at(times)))
    more = args = tuple(args)
    if terms.jacobians and y.size > UNSTRUCTURED:
        programs, arrays = structured(method, vectorized, fun, t0, y, args)
        more = *arrays, *args
    space: tuple[Any, ...]
    loop, space = programs.visit, (times,)
    if times is None:
        loop, space = programs.march, rows_of(y, ROWS)
    given = t0, y, math.nan, _NOT, tf, *tolerances, _MOST_TURNS, *space, *more
    with programs.lock:
        if programs.held is not fun:
            programs.hold(programs.ways[0](fun))
            programs.held = fun
        LEAVING.seen = programs.leaves
        # Not through Python's dispatch, if it need not be.
        straight = loop.straight
        found: Any = MISS if straight is None else straight(*given)
        if found is MISS:
            found = loop(*given)
        programs.leaves = LEAVING.seen
    t, _, _, status, tried, count, *looked = found[1].tolist()
    if status or t != tf:  # goes on, or says why not
        if not np.isfinite(y).all():
            return None
        run = Run(method, fun, args, vectorized, t0, y, tf, *tolerances, math.nan, MOST)
        if times is None:
            return _result(run, None, *run.all_steps(found))
        return _result(run, told, *run.at(times, found))
    result = OdeResult(_FOUND)
    result["nfev"] = BEGUN + int(tried) * terms.evaluations
    result["njev"] = result["nlu"] = int(tried) * terms.jacobians
    if times is None:
        result["t"], result["y"] = found[2][: int(count)], found[3][: int(count)].T
    else:
        result["t"], result["y"] = told, found[2].T
        result["nfev"] += int(looked[0]) * terms.dense_evaluations
    return result


def _tolerances(
    rtol: Any = 1e-3, atol: Any = 1e-6, max_step: Any = math.inf, **others: Any
) -> tuple[float, float, float] | None:
    """Return rtol, atol and the longest step; None where there are other options, or arrays."""
    if others or not (
        isinstance(rtol, _NUMBERS) and isinstance(atol, _NUMBERS) and isinstance(max_step, _NUMBERS)
    ):
        return None
    fit = rtol >= LEAST and atol >= 0 and max_step > 0
    return (float(rtol), float(atol), float(max_step)) if fit else None


def _span(t_span: Any) -> tuple[float, float] | None:
    """Return two times that differ; None for others."""
    if type(t_span) is np.ndarray:
        t_span = t_span.tolist()
    if type(t_span) not in _SEQUENCES or len(t_span) != 2:
        return None
    t0, tf = map(float, t_span)
    return (t0, tf) if t0 < tf or t0 > tf else None


def _floats(found: Any) -> Any:
    """Return an array as a vector of real numbers; None for what is none."""
    if found.dtype is not _FLOAT:
        if found.dtype.kind not in "iuf":
            return None
        found = found.astype(_FLOAT)
    return found if found.ndim == 1 else None


def _times(t_eval: Any, t0: float, tf: float) -> Any:
    """Return the times to look at, in the order of the steps; None for none, and others."""
    times = _floats(t_eval)
    if times is None or not times.size:
        return None
    first = last = times.item(0)
    if times.size > 1:
        last = times.item(-1)
        ordered = times[1:] > times[:-1] if t0 < tf else times[1:] < times[:-1]
        if not ordered.all():
            return None
    return times if t0 <= first <= last <= tf or t0 >= first >= last >= tf else None


def _result(run: Run | NewtonRun, times: Any, t: Any, y: Any) -> OdeResult:
    """Return what was found at the times that were reached, or after all steps."""
    nfev, njev, nlu = run.evaluated
    done = run.message is None
    empty = times is not None and not (len(times) and len(t))
    if times is not None:
        t = times[: len(t)]  # of the type that they were given in
    return OdeResult(
        t=[] if empty else t, y=[] if empty else y.T, sol=None, t_events=None, y_events=None,
        nfev=nfev, njev=njev, nlu=nlu, status=0 if done else -1,
        message=FINISHED if done else run.message, success=done,
    )  # fmt: skip
