"""``solve_ivp`` in traced code: under ``grad``, ``jacobian``, ``vmap``, ``compile``, in kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from .. import numpy as traced_numpy
from .._api._custom import stop_gradient
from .._core.graph import warn_user
from .._core.ops.np_common import is_traced
from ..errors import UnsupportedError
from ._ode_events import Watch, given_out
from ._ode_loop import Control, Visits, begun, visit
from ._ode_methods import METHODS, NAMES, Rosenbrock, suited
from ._ode_run import LEAST, MOST
from ._ode_slope import RightHandSide
from ._ode_solvers import COMPLEX
from ._ode_steps import OdeResult, checked_times
from ._ode_structure import Band, full

#: Options that have a meaning in traced code.
OPTIONS = frozenset(("rtol", "atol", "first_step", "max_step", "max_steps", "memory"))
#: Those of methods with linear systems.
BAND = frozenset(("lband", "uband"))
#: SciPy's methods for stiff systems: within a program all of them are Rosenbrock's, to the same
#: tolerances. Its Jacobians are exact, so those that are given are not needed.
STIFF = frozenset(("RadauIIA", "Radau", "BDF", "LSODA"))
NOT_NEEDED = frozenset(("jac", "jac_sparsity", "min_step"))
TOLERANCES = (("rtol", 1e-3), ("atol", 1e-6))


class Ends:
    """The beginning and the end of what has as many columns as there are steps; or some rows.

    ``turned``: the steps are along the first axis.
    """

    def __init__(self, name: str, first: Any, last: Any, turned: bool = False) -> None:
        self._name, self._ends, self._turned = name, {0: first, -1: last}, turned

    def __getitem__(self, key: Any) -> Any:
        keys = list(key) if isinstance(key, tuple) else [key]
        said = f"[{', '.join('...' if k is ... else str(k) for k in keys)}]"
        if self._turned:
            column, *rows = keys
        elif len(keys) <= self._ends[0].ndim:  # rows alone
            column, rows = slice(None), keys
        else:
            *rows, column = keys
        if isinstance(column, slice) and column == slice(None):
            first, last = (x[tuple(rows)] for x in self._ends.values())
            return Ends(self._name + said, first, last, self._turned and first.ndim > 0)
        if type(column) is not int or column not in self._ends:
            self._refuse(said)
        return self._ends[column][tuple(rows)]

    def __iter__(self) -> Any:
        if self._turned or not self._ends[0].ndim:
            self._refuse()
        rows = enumerate(zip(*self._ends.values(), strict=True))
        return (Ends(f"{self._name}[{i}]", first, last) for i, (first, last) in rows)

    @property
    def T(self) -> Ends:
        """With the steps along the first axis."""
        turned = not self._turned and self._ends[0].ndim > 0
        return Ends(f"{self._name}.T", self._ends[0], self._ends[-1], turned)

    def __getattr__(self, name: str) -> Any:
        self._refuse(f".{name}")

    def _refuse(self, what: str = "") -> NoReturn:
        name = self._name
        end = "[-1]" if self._turned or not self._ends[0].ndim else "[:, -1]"
        raise UnsupportedError(
            f"solve_ivp: sol.{name}{what} is not known in traced code, where the number of steps "
            f"depends on values. Without t_eval there is the end, sol.{name}{end}; for more "
            "say at which times the solution is wanted: t_eval=np.linspace(t0, t1, 50)"
        )


def _refuses(self: Ends, *_: Any, **__: Any) -> NoReturn:
    self._refuse()


for _name in (
    "len", "array", "array_ufunc", "array_function", "neg", "abs", "add", "radd", "sub",
    "rsub", "mul", "rmul", "truediv", "rtruediv", "pow", "rpow", "matmul", "rmatmul", "eq", "ne",
    "lt", "le", "gt", "ge", "float", "bool",
):  # fmt: skip
    setattr(Ends, f"__{_name}__", _refuses)


def checked_options(options: dict[str, Any], t_span: Any) -> dict[str, Any]:
    """Return the options as SciPy takes them, or raise as it does, as far as they are numbers."""
    known = {k: v for k, v in options.items() if v is not None and not is_traced(v)}
    if known.get("max_step", 1.0) <= 0:
        raise ValueError("`max_step` must be positive.")
    first = known.get("first_step", 1.0)
    if first <= 0:
        raise ValueError("`first_step` must be positive.")
    ends = tuple(t_span)
    if "first_step" in known and not any(map(is_traced, ends)) and first > abs(ends[1] - ends[0]):
        raise ValueError("`first_step` exceeds bounds.")
    for name, _ in TOLERANCES:
        if options.get(name, 0.0) is None:
            raise TypeError(f"`{name}` must be a number or an array, not None.")
    if np.any(np.less(known.get("atol", 0.0), 0)):
        raise ValueError("`atol` must be positive.")
    if np.any(np.less(known.get("rtol", 1.0), LEAST)):
        warn_user(
            "At least one element of `rtol` is too small. Setting `rtol = np.maximum(rtol, "
            f"{LEAST})`.", UserWarning,
        )  # fmt: skip
        options = options | {"rtol": np.maximum(known["rtol"], LEAST)}
    return {k: v for k, v in options.items() if k != "first_step" or v is not None}


def solve_traced(
    fun: Callable[..., Any], t_span: Any, y0: Any, method: Any, t_eval: Any, vectorized: bool,
    args: tuple[Any, ...], options: dict[str, Any], events: Any = None, dense_output: bool = False,
) -> OdeResult:  # fmt: skip
    """Solve an initial value problem within a trace, at the times ``t_eval`` or to the end."""
    refusal = UnsupportedError if isinstance(method, type) else ValueError
    method = getattr(method, "__name__", method)  # SciPy's classes
    if method in STIFF:
        method, options = "Rodas5P", {k: v for k, v in options.items() if k not in NOT_NEEDED}
    if method not in NAMES:
        raise refusal(
            f"solve_ivp: in traced code method is one of {', '.join(map(repr, NAMES))}, not "
            f'{method!r}; "Rodas5P" is for stiff systems, and stands for '
            f"{', '.join(sorted(STIFF))}"
        )
    terms = METHODS[suited(method, options.get("rtol", 1e-3))]
    known = OPTIONS | BAND if isinstance(terms, Rosenbrock) else OPTIONS
    more = [name for name in options if name not in known]
    if not NOT_NEEDED.union(BAND).issuperset(more):
        raise UnsupportedError(
            f"solve_ivp: in traced code {method!r} takes no {', '.join(sorted(more))}, only "
            + ", ".join(sorted(known))
        )
    if more:  # of SciPy's other methods, in SciPy's words
        said = ", ".join(f"`{name}`" for name in more)
        warn_user(
            f"The following arguments have no effect for a chosen solver: {said}.", UserWarning
        )
    watch = Watch(events, args) if callable(events) or events else None
    begin, bound = t_span
    if not any(map(is_traced, (begin, bound, t_eval))):
        t_eval = checked_times(t_eval, float(begin), float(bound))
    last = 1.0 * traced_numpy.asarray(bound)
    times = np.stack([last]) if t_eval is None else 1.0 * traced_numpy.asarray(t_eval)
    y = traced_numpy.asarray(y0)
    for name, x in (("t_eval", times), ("y0", y)):
        if x.ndim != 1:
            raise ValueError(f"`{name}` must be 1-dimensional.")
    if isinstance(terms, Rosenbrock):
        band = options.keys() & BAND
        system = Band(*(_diagonals(options, x) for x in sorted(BAND))) if band else full
        terms = terms.by(system)
    if y.dtype.kind == "c" and not terms.complex:
        raise ValueError(COMPLEX)
    y = y.astype(np.result_type(y.dtype, np.float64))
    clock, bound = stop_gradient(1.0 * begin), stop_gradient(1.0 * bound)
    # The clock of the loop has no derivatives. That of what begins later is that of the lag,
    # which is zero.
    lag = 1.0 * begin - clock
    plain = RightHandSide(fun, args, vectorized).inline
    rtol, atol = (stop_gradient(_numbers(options.get(*x))) for x in TOLERANCES)
    control = Control(bound, rtol, atol, stop_gradient(options.get("max_step", np.inf)))
    h, most = stop_gradient(options.get("first_step", np.nan)), options.get("max_steps", MOST)

    def slope(t: Any, y: Any) -> Any:
        return plain(t + lag, y)

    start = begun(terms, slope, clock, y, h, False, control)

    def at(times: Any) -> Visits:
        memory = options.get("memory")
        return visit(terms, slope, start, control, most, times - lag, memory, watch, lag)

    def dense(t: Any) -> Any:
        t = 1.0 * traced_numpy.asarray(t)
        wanted = np.reshape(t, (-1,))
        order = np.argsort(stop_gradient(np.where(bound < clock, -1.0, 1.0) * wanted))
        found = at(wanted[order]).states[np.argsort(order)]
        return np.reshape(np.transpose(found), (-1, *t.shape))

    found, late, looked, state, seen = at(times)
    y_eval: Any = np.transpose(found)
    over: Any = False
    none: Any = None if events is None else []
    t_events = y_events = none
    if watch is not None:
        over = seen.over
        t_events, y_events = given_out(seen, state.y)
    if t_eval is None:
        end = found[-1], times[-1]
        if watch is not None:
            late = late & np.logical_not(over)
            end = np.where(over, seen.y, end[0]), np.where(over, seen.t, end[1])
        times, y_eval = Ends("t", 1.0 * begin + 0.0 * last, end[1]), Ends("y", y, end[0])
    failed, steps = np.any(late) & np.logical_not(over), state.tried
    evaluations = steps * terms.evaluations + np.sum(looked[-1:]) * terms.dense_evaluations
    return OdeResult(
        t=times, y=y_eval, sol=dense if dense_output else None,
        t_events=t_events, y_events=y_events, nfev=2 + evaluations,
        njev=steps * terms.jacobians, nlu=steps * terms.jacobians,
        status=np.where(failed, -1, np.where(over, 1, 0)),
        message="In traced code, status is -1 where a time was not reached: y is nan there.",
        success=np.logical_not(failed),
    )  # fmt: skip


def _diagonals(options: dict[str, Any], name: str) -> int:
    """Return how many diagonals of the Jacobian are said to lie on one side of the main one."""
    count = options.get(name) or 0
    if not isinstance(count, int | np.integer) or count < 0:
        raise ValueError(f"`{name}` must be a number of diagonals, not {count!r}.")
    return int(count)


def _numbers(x: Any) -> Any:
    return x if is_traced(x) else np.asarray(x, dtype=float)
