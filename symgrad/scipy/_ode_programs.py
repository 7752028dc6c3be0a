"""Compiled loops for functions of the user's, found again by the function's code.

One compiled function serves all functions of one code (a lambda that is made in each call, a
method of many objects): it reads the function at each call as it reads any capture, so what the
function closes over may change, and no step is ever taken with what was there before.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from .._api._kept_functions import is_same
from .._api._matrices import jacobian
from .._api._sparse_body import sparse_body
from .._api._sparse_functions import SparseFunction
from .._api._transforms import compile as compiled
from .._api._transforms import vmap
from .._syntax._control_flow import Following
from .._syntax._control_syntax import converted
from ..errors import SparsityWarning, SymgradError
from ._call_records import LEAVING, noting
from ._ode_loop import TOO_SMALL, Control, State, begun, interpolant, march, next_length, visit
from ._ode_methods import METHODS, NEWTON, Rosenbrock
from ._ode_newton import Progress
from ._ode_newton import march as march_anew
from ._ode_newton import visit as visit_anew
from ._ode_slope import RightHandSide
from ._ode_steps import Method
from ._ode_structure import Kind, arrays_of, structure_of, system_of
from ._refusals import KEPT, codes_of

#: Up to this size of the state each size is compiled by itself.
SHORT = 64

#: Up to this size nobody looks for that.
UNSTRUCTURED = 16


def judged(state: State) -> State:
    """Return where a solution begins; from a state that is not finite there is no way on."""
    status = np.where(np.all(np.isfinite(state.y)), state.status, TOO_SMALL)
    return state._replace(status=status)


def left(terms: Method, state: State, *counts: Any) -> tuple[Any, Any]:
    """Return what the next call goes on from, and what has come of this one.

    That is the state, and one array of the time, the next step, whether the last was rejected,
    the status, how many steps were tried, and ``counts``: each result that is a number by itself
    would cost a call as much as a step of some methods.
    """
    h = next_length(terms, state)
    numbers = (state.t, h, state.rejected, state.status, state.tried, *counts)
    return state.y, np.stack([1.0 * x for x in numbers])


def _told(at: Progress, count: Any) -> Any:
    """Return in one array what is told of a solution by a method that keeps its factors."""
    counts = at.evaluations, at.jacobians, at.factorisations
    return np.stack([1.0 * x for x in (at.t, at.status, at.tried, count, *counts)])


class Held:
    """Compiled functions that call a function of the user's: that which is held at the call.

    A subclass gives ``hold`` in its constructor.
    """

    hold: Callable[[Callable[..., Any]], None]

    def __init__(self) -> None:
        self.lock, self.ways = threading.RLock(), WAYS
        #: Whether it leaves values in the user's objects, which compiled code does not.
        self.leaves = False
        #: The function that is held in the first of the ways, if a call has succeeded.
        self.held: Callable[..., Any] | None = None

    def __call__(self, function: Any, fun: Callable[..., Any], *args: Any) -> Any:
        """Call one of the compiled functions for ``fun``."""
        first: SymgradError | None = None
        with self.lock:
            for way in self.ways:
                try:
                    if not is_same(self.held, fun):  # or after a way that failed
                        self.hold(way(fun))
                    self.held = None
                    LEAVING.seen = self.leaves
                    found = function(*args)
                    self.leaves = LEAVING.seen
                except SymgradError as error:
                    first = first or error
                else:
                    self.held = fun
                    if first is not None:
                        self.ways = self.ways[self.ways.index(way) :]
                    return found
        assert first is not None
        raise first


class Programs(Held):
    """The loops for functions of one code under one method, by its name.

    A short state has a size of its own (``size``), so that steps are straight code. Where systems
    of the method have a structure (``kind``), the arrays that describe it come before ``args``.
    Raises, when called, an error of symgrad's for a function that cannot be traced.
    """

    def __init__(
        self, method: str | None, vectorized: bool, size: int | None, kind: Kind = None
    ) -> None:
        super().__init__()
        self.kind = kind
        #: The pattern of the last Jacobian, and what systems with it are.
        self.structure: tuple[Any, Kind, tuple[Any, ...]] = (None, None, ())
        held: Callable[..., Any] = RightHandSide

        def sized(y: Any) -> Any:
            return y if size is None else np.reshape(y, (*y.shape[:-1], size))

        count = arrays_of(kind)

        def terms_of(arrays: tuple[Any, ...]) -> Method:
            terms = METHODS[method]
            if isinstance(terms, Rosenbrock):
                return terms.by(system_of(kind, arrays))
            return terms

        # Arguments one by one: a call with nested ones takes fifty times as long. The method by
        # its name: tables that a function closes over are compared in every call.
        def run_march(
            t: Any, y: Any, h: Any, rejected: Any, bound: Any, rtol: Any, atol: Any, longest: Any,
            most: Any, times: Any, states: Any, tries: Any, *args: Any,
        ) -> Any:  # fmt: skip
            control, terms = Control(bound, rtol, atol, longest), terms_of(args[:count])
            slope = RightHandSide(noting(held), args[count:], vectorized)
            start = judged(begun(terms, slope, t, sized(y), h, rejected, control))
            rows = times, sized(states), tries
            state, written, *rows = march(terms, slope, start, control, most, rows)
            return (*left(terms, state, written), *rows)

        # ``held`` by its name in each of the rest: it is adapted where a traced function itself
        # reads it.
        def start_of(
            fun: Any, t: Any, y: Any, h: Any, bound: Any, rtol: Any, atol: Any, longest: Any,
            args: Any,
        ) -> Any:  # fmt: skip
            """Return what a loop that keeps factors begins with."""
            rule, system = NEWTON[method], system_of(kind, args[:count])
            control = Control(bound, rtol, atol, longest)
            slope = RightHandSide(noting(fun), args[count:], vectorized).inline
            state = rule.begun(slope, system, t, sized(y), h, control)
            return rule, slope, system, state, control

        def march_from_start(
            t: Any, y: Any, h: Any, bound: Any, rtol: Any, atol: Any, longest: Any, most: Any,
            times: Any, states: Any, kept: Any, numbers: Any, *args: Any,
        ) -> Any:  # fmt: skip
            rows = times, sized(states), sized(kept), numbers
            start: Any = *start_of(held, t, y, h, bound, rtol, atol, longest, args), most, rows
            state, written, *rows = march_anew(*start)
            return (_told(state.at, written), *rows)

        def visit_from_start(
            t: Any, y: Any, h: Any, bound: Any, rtol: Any, atol: Any, longest: Any, most: Any,
            times: Any, *args: Any,
        ) -> Any:  # fmt: skip
            start: Any = *start_of(held, t, y, h, bound, rtol, atol, longest, args), most, times
            state, reached, states = visit_anew(*start)
            return _told(state.at, reached), states

        def run_visit(
            t: Any, y: Any, h: Any, rejected: Any, bound: Any, rtol: Any, atol: Any, longest: Any,
            most: Any, times: Any, *args: Any,
        ) -> Any:  # fmt: skip
            control, terms = Control(bound, rtol, atol, longest), terms_of(args[:count])
            slope = RightHandSide(noting(held), args[count:], vectorized)
            start = judged(begun(terms, slope, t, sized(y), h, rejected, control))
            every = np.concatenate([times, np.stack([bound])])
            states, late, looked, state, _ = visit(terms, slope, start, control, most, every)
            return (*left(terms, state, np.sum(~late[:-1]), looked[-2]), states[:-1])

        def run_interpolants(t: Any, y: Any, end: Any, *args: Any) -> Any:
            terms, slope = (
                terms_of(args[:count]),
                RightHandSide(noting(held), args[count:], vectorized),
            )
            return vmap(lambda *step: interpolant(terms, slope, *step))(t, y, end)

        def run_slope(t: Any, y: Any, *args: Any) -> Any:
            return RightHandSide(noting(held), args, vectorized).inline(t, sized(y))

        def hold(fun: Callable[..., Any]) -> None:
            nonlocal held
            held = fun

        self.hold = hold
        self.march: Any = compiled(march_from_start if method in NEWTON else run_march)
        self.visit = compiled(visit_from_start if method in NEWTON else run_visit)
        self.interpolants = compiled(run_interpolants)
        self.slope = compiled(run_slope)
        self.jacobian = jacobian(run_slope, argnums=1)
        self.sparse_jacobian = jacobian(run_slope, argnums=1, sparse=True)
        recipe = (jacobian, (run_slope,), {"argnums": 1, "sparse": True})
        #: For its pattern alone.
        self.pattern = SparseFunction(
            sparse_body(run_slope, 1, pattern=True), run_slope, recipe, form="csr"
        )


def _as_it_is(fun: Callable[..., Any]) -> Callable[..., Any]:
    return fun


#: One for all: what is rewritten is then the same program for functions of one code.
_FLOW = Following()


def _rewritten(fun: Any) -> Callable[..., Any]:
    """Return the function with its control flow rewritten."""
    return converted(fun, _FLOW)


#: How a function is traced: the first way that succeeds.
WAYS: tuple[Callable[[Callable[..., Any]], Callable[..., Any]], ...] = (
    _as_it_is,
    _rewritten,
)


@functools.lru_cache(KEPT)
def _programs(codes: tuple[Any, ...], *key: Any) -> Programs:
    return Programs(*key)


def programs_for(
    method: str | None, vectorized: bool, size: int, fun: Callable[..., Any], kind: Kind = None
) -> Programs:
    """Return the loops for functions like ``fun`` of states of that size."""
    short = size if size <= SHORT else None
    codes = (fun.__code__,) if type(fun) is FunctionType else tuple(codes_of(fun))
    return _programs(codes, method, vectorized, short, kind)


def structured(
    method: str, vectorized: bool, fun: Callable[..., Any], t: float, y: Any, args: tuple[Any, ...]
) -> tuple[Programs, tuple[Any, ...]]:
    """Return the loops for the structure of the method's systems, and the arrays that tell it.

    A pattern that depends on numbers, not sizes and indices, is none to rely on.
    """
    programs = programs_for(method, vectorized, y.size, fun)
    if y.size <= UNSTRUCTURED or not (method in NEWTON or METHODS[method].jacobians):
        return programs, ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SparsityWarning)
        try:
            pattern = programs(programs.pattern.lasting, fun, t, y, *args)
        except SymgradError:  # the loop will say why
            pattern = None
    if pattern is None:
        return programs, ()
    known, kind, arrays = programs.structure
    if known is not pattern:
        kind, arrays = structure_of(pattern.rows, pattern.cols, y.size)
        programs.structure = pattern, kind, arrays
    return programs_for(method, vectorized, y.size, fun, kind), arrays
