"""Compiled loops for functions of the user's, found again by the function's code.

One compiled function serves all functions of one code (a lambda that is made in each call, a
method of many objects): it reads the function at each call as it reads any capture, so what the
function closes over may change, and no step is ever taken with what was there before.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .. import numpy as traced_numpy
from .._api._control_flow import Flow
from .._api._control_syntax import converted
from .._api._matrices import jacobian
from .._api._transforms import compile as compiled
from .._api._transforms import vmap
from ..errors import ArgumentError, ShapeError, SymgradError
from ._ode_loop import Control, interpolant, march
from ._ode_methods import Method, Slope

#: Most kinds of functions whose loops are kept.
KEPT = 256


def slope_of(fun: Callable[..., Any], args: tuple[Any, ...], vectorized: bool = False) -> Slope:
    """Return the right-hand side as a function of time and state alone, of the state's shape."""

    def slope(t: Any, y: Any) -> Any:
        if vectorized:
            found = traced_numpy.asarray(fun(t, y[:, np.newaxis], *args))
            found = np.reshape(found, (-1,))
        else:
            found = traced_numpy.asarray(fun(t, y, *args))
        if found.ndim == 0:
            found = np.broadcast_to(found, y.shape)
        if found.ndim != 1:
            raise ShapeError(
                f"the right-hand side has shape {found.shape} for a state of shape {y.shape}"
            )
        if found.dtype.kind == "c" and y.dtype.kind != "c":
            raise ArgumentError(
                "the right-hand side is complex and the state is real: pass y0 as complex numbers"
            )
        return found.astype(y.dtype) + 0 * y  # of another length: NumPy's error

    return slope


class Programs:
    """The loops for functions of one code under one method.

    Raises, when called, an error of symgrad's for a function that cannot be traced.
    """

    def __init__(self, method: Method | None, vectorized: bool) -> None:
        self.lock, self.ways = threading.RLock(), WAYS
        held: Callable[..., Any] = slope_of

        # Arguments one by one: a call with nested ones takes fifty times as long.
        def run_march(
            t: Any, y: Any, h: Any, rejected: Any, bound: Any, rtol: Any, atol: Any, longest: Any,
            most: Any, times: Any, states: Any, tries: Any, *args: Any,
        ) -> Any:  # fmt: skip
            assert method is not None
            control = Control(bound, rtol, atol, longest)
            slope = slope_of(held, args, vectorized)
            return march(method, slope, t, y, h, rejected, control, most, (times, states, tries))

        def run_interpolant(t: Any, y: Any, end: Any, *args: Any) -> Any:
            assert method is not None
            return interpolant(method, slope_of(held, args, vectorized), t, y, end)

        def run_interpolants(t: Any, y: Any, end: Any, *args: Any) -> Any:
            return vmap(lambda *step: run_interpolant(*step, *args))(t, y, end)

        def run_slope(t: Any, y: Any, *args: Any) -> Any:
            return slope_of(held, args, vectorized)(t, y)

        def hold(fun: Callable[..., Any]) -> None:
            nonlocal held
            held = fun

        self.hold = hold
        self.march = compiled(run_march)
        self.interpolants = compiled(run_interpolants)
        self.slope = compiled(run_slope)
        self.jacobian = jacobian(run_slope, argnums=1)

    def __call__(self, function: Any, fun: Callable[..., Any], *args: Any) -> Any:
        """Call one of the compiled functions for ``fun``."""
        first: SymgradError | None = None
        with self.lock:
            for way in self.ways:
                try:
                    self.hold(way(fun))
                    found = function(*args)
                except SymgradError as error:
                    first = first or error
                else:
                    if first is not None:
                        self.ways = self.ways[self.ways.index(way) :]
                    return found
        assert first is not None
        raise first


def _as_it_is(fun: Callable[..., Any]) -> Callable[..., Any]:
    return fun


_made: WeakKeyDictionary[Any, Callable[..., Any]] = WeakKeyDictionary()


def _rewritten(fun: Any) -> Callable[..., Any]:
    """Return the function with its control flow rewritten, the same one for the same function."""
    known = _made.get(fun)
    if known is None:
        known = _made[fun] = converted(fun, Flow)
    return known


#: How a function is traced: the first way that succeeds.
WAYS: tuple[Callable[[Callable[..., Any]], Callable[..., Any]], ...] = (
    _as_it_is,
    _rewritten,
)


def _codes(fun: Any) -> Iterator[Any]:
    """Yield what tells a function from others, as far as it can be hashed."""
    while isinstance(fun, functools.partial):
        fun = fun.func
        yield "partial"
    fun = getattr(fun, "__func__", fun)
    yield getattr(fun, "__code__", None) or type(fun)


@functools.lru_cache(KEPT)
def _programs(method: Method | None, vectorized: bool, codes: tuple[Any, ...]) -> Programs:
    return Programs(method, vectorized)


def programs_for(method: Method | None, vectorized: bool, fun: Callable[..., Any]) -> Programs:
    """Return the loops for functions like ``fun``."""
    return _programs(method, vectorized, tuple(_codes(fun)))
