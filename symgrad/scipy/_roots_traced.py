"""Roots of a function of a number in traced code: SciPy's iterations as loops of the program.

Steps and tests are those of SciPy's C code (Brent 1973; Ridders 1979), so that roots and counts
are the same. Where SciPy raises, the root is nan, and its derivatives are: whether there is one
is known only when the program runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize

from .._api._at_values import jvp
from .._api._custom import stop_gradient
from .._api._implicit import root_at
from .._core.ops.np_common import as_array
from .._core.trace import Traced, as_node
from .._syntax._control import while_loop
from ..errors import UnsupportedError
from ._solver_arguments import as_tuple
from ._versions import one_number

#: SciPy's tolerances.
XTOL, RTOL, MOST = 2e-12, 4 * float(np.finfo(float).eps), 100

Function = Callable[[Any], Any]


def number(x: Any) -> Any:
    """Return a number as Python's floats are: of the type of what it meets."""
    return Traced(as_node(np.reshape(x, ()), np.float64), float)


#: What solves for more than a number.
MANY = "sg.vmap of a function that solves for one number"


def function_of_numbers(f: Callable[..., Any], args: Any, solver: str) -> Function:
    """Return a user's function of a number, which may return an array of one."""
    rest, what = as_tuple(args), f"what {solver}'s function returns"
    return lambda x: 1.0 * one_number(f(number(x), *rest), what, MANY)


class Search(NamedTuple):
    """Where a search is.

    Attributes
    ----------
    x, fx:
        The best point and the value there.
    rest:
        What else a method keeps.
    done:
        Whether x is the root.
    iterations, calls:
        Counts of steps and of evaluations.
    """

    x: Any
    fx: Any
    rest: tuple[Any, ...]
    done: Any
    iterations: Any
    calls: Any


def _differ(a: Any, b: Any) -> Any:
    return np.signbit(a) != np.signbit(b)


def _sort(pick: Any, a: Any, b: Any) -> tuple[Any, Any]:
    return np.where(pick, a, b), np.where(pick, b, a)


# ---------------------------------------------------------------- the methods


def _brent(f: Function, s: Search, tolerance: Function, hyperbolic: bool) -> Search:
    """Brent's step, by an inverse parabola or a hyperbola."""
    x_old, f_old, x_far, f_far, before, last = s.rest
    x, fx = s.x, s.fx
    new = (f_old != 0) & (fx != 0) & _differ(f_old, fx)
    x_far, f_far = np.where(new, x_old, x_far), np.where(new, f_old, f_far)
    before, last = np.where(new, x - x_old, before), np.where(new, x - x_old, last)
    swap = np.abs(f_far) < np.abs(fx)
    x_old, f_old = np.where(swap, x, x_old), np.where(swap, fx, f_old)
    (x, x_far), (fx, f_far) = _sort(swap, x_far, x), _sort(swap, f_far, fx)

    delta, half = tolerance(x) / 2, (x_far - x) / 2
    done = (fx == 0) | (np.abs(half) < delta)
    secant = -fx * (x - x_old) / (fx - f_old)
    slope, far = (f_old - fx) / (x_old - x), (f_far - fx) / (x_far - x)
    if hyperbolic:
        curved = -fx * (f_far - f_old) / (f_far * slope - f_old * far)
    else:
        curved = -fx * (f_far * far - f_old * slope) / (far * slope * (f_far - f_old))
    tried = np.where(x_old == x_far, secant, curved)
    good = (np.abs(before) > delta) & (np.abs(fx) < np.abs(f_old))
    good &= 2 * np.abs(tried) < np.minimum(np.abs(before), 3 * np.abs(half) - delta)
    before, last = np.where(good, last, half), np.where(good, tried, half)
    move = np.where(np.abs(last) > delta, last, np.where(half > 0, delta, -delta))
    there = x + np.where(done, 0.0, move)
    return Search(
        there, np.where(done, fx, f(there)), (x, fx, x_far, f_far, before, last), done,
        s.iterations + 1, s.calls + np.where(done, 0, 1),
    )  # fmt: skip


def _ridder(f: Function, s: Search, tolerance: Function) -> Search:
    a, fa, b, fb = s.rest
    least = tolerance(np.where(s.iterations == 0, np.minimum(np.abs(a), np.abs(b)), s.x))
    half = 0.5 * (b - a)
    middle = a + half
    fm = f(middle)
    step = np.where(fb > fa, 1.0, -1.0) * half * fm / np.sqrt(fm * fm - fa * fb)
    x = middle - np.where(step > 0, 1.0, -1.0) * np.minimum(
        np.abs(step), np.abs(half) - 0.5 * least
    )
    fx = f(x)
    between, left = _differ(fx, fm), _differ(fx, fa)
    a, fa, b, fb = (
        np.where(between | ~left, x, a), np.where(between | ~left, fx, fa),
        np.where(between, middle, np.where(left, x, b)),
        np.where(between, fm, np.where(left, fx, fb)),
    )  # fmt: skip
    done = (fx == 0) | (np.abs(b - a) < tolerance(x))
    return Search(x, fx, (a, fa, b, fb), done, s.iterations + 1, s.calls + 2)


def _bisect(f: Function, s: Search, tolerance: Function) -> Search:
    a, fa, width = s.rest
    width = 0.5 * width
    x = a + width
    fx = f(x)
    done = (fx == 0) | (np.abs(width) < tolerance(x))
    return Search(
        x, fx, (np.where(_differ(fx, fa), a, x), fa, width), done, s.iterations + 1, s.calls + 1
    )


def _bracketed(name: str) -> Callable[..., Any]:
    """Return one of SciPy's methods that start from a bracket."""

    def solve(
        f: Callable[..., Any], a: Any, b: Any, args: Any = (), xtol: Any = XTOL,
        rtol: Any = RTOL, maxiter: Any = MOST, full_output: bool = False, disp: bool = True,
        k: int = 1,
    ) -> Any:  # fmt: skip
        value = function_of_numbers(f, args, name)
        what = f"an end of {name}'s bracket"
        a, b = (one_number(x, what, MANY) for x in (a, b))
        a, b = (stop_gradient(number(1.0 * x)) for x in (a, b))
        fa, fb = value(a), value(b)

        def tolerance(x: Any) -> Any:
            # Ridders' method has it without the absolute value, as SciPy's code.
            return xtol + rtol * (x if name == "ridder" else np.abs(x))

        def step(s: Search) -> Search:
            if name == "bisect":
                return _bisect(value, s, tolerance)
            if name == "ridder":
                return _ridder(value, s, tolerance)
            return _brent(value, s, tolerance, name == "brenth")

        at_end = (fa == 0) | (fb == 0)
        x, fx = np.where(fa == 0, a, b), np.where(fa == 0, fa, fb)
        rest: tuple[Any, ...] = (a, fa, b, fb) if name == "ridder" else (a, fa, b - a)
        if name not in ("ridder", "bisect"):  # Brent's method, which stands for toms748, too
            rest = (a, fa, 0.0 * a, 0.0 * fa, 0.0 * a, 0.0 * a)
        found = while_loop(
            lambda s: ~s.done & (s.iterations < maxiter) & ~np.isnan(s.fx), step,
            Search(x, fx, rest, at_end | ~_differ(fa, fb), 0, 2),
        )  # fmt: skip
        ok = found.done & (at_end | _differ(fa, fb)) & ~np.isnan(fa + fb)
        root = root_at(value, found.x, ok)
        return _answer(root, ok, found.iterations, found.calls, name, full_output)

    solve.__name__ = solve.__qualname__ = name
    return solve


def _answer(root: Any, ok: Any, iterations: Any, calls: Any, method: str, full_output: bool) -> Any:
    if not full_output:
        return root
    return root, scipy.optimize.OptimizeResult(
        root=root, iterations=iterations, function_calls=calls, converged=ok, success=ok,
        flag="in traced code, converged tells, and root is nan if it is False", method=method,
    )  # fmt: skip


_BRACKETED = {
    name: _bracketed(name) for name in ("brentq", "brenth", "ridder", "bisect", "toms748")
}
brentq, brenth, ridder, bisect, toms748 = _BRACKETED.values()


# ---------------------------------------------------------------- Newton's method


def newton(
    func: Callable[..., Any], x0: Any, fprime: Any = None, args: Any = (), tol: Any = 1.48e-8,
    maxiter: Any = 50, fprime2: Any = None, x1: Any = None, rtol: Any = 0.0,
    full_output: bool = False, **_: Any,
) -> Any:  # fmt: skip
    """Find a root of a function of a number, or of each element."""
    args = tuple(args) if isinstance(args, list) else args  # as here alone SciPy takes it
    name = "halley" if fprime2 is not None else "newton"
    if fprime is None and x1 is not None:
        name = "secant"
    return _iterated(name, func, x0, x1, (fprime, fprime2), args, (tol, rtol), maxiter,
                     full_output)  # fmt: skip


def _iterated(
    name: str, func: Callable[..., Any], x0: Any, x1: Any, slopes: tuple[Any, Any], args: Any,
    tolerances: tuple[Any, Any], maxiter: Any, full_output: bool,
) -> Any:  # fmt: skip
    """Return the root by Newton's, Halley's or the secant method; slopes not given are exact."""
    rest, (tol, rtol) = as_tuple(args), tolerances
    x = stop_gradient(1.0 * as_array(x0))
    if x.dtype.kind != "f":
        raise UnsupportedError(f"{name}: in traced code x0 is real, not {x.dtype}")
    x = x.astype(np.float64)
    f: Function = lambda x: 1.0 * as_array(func(x, *rest))  # noqa: E731
    if not x.ndim:
        f = function_of_numbers(func, args, name)

    def derivative(given: Any, g: Function) -> Function:
        if callable(given):
            return lambda x: given(number(x) if not x.ndim else x, *rest)
        return lambda x: jvp(g, (x,), (np.ones_like(x),))[1]

    first = derivative(slopes[0], f)
    second = derivative(slopes[1], first)

    def by_tangent(s: Search) -> tuple[Any, tuple[Any, ...]]:
        slope = first(s.x)
        move = s.fx / slope
        if name == "halley":
            bend = move * second(s.x) / slope / 2
            move = np.where(np.abs(bend) < 1, move / (1 - bend), move)
        return s.x - move, ()

    def by_secant(s: Search) -> tuple[Any, tuple[Any, ...]]:
        old, f_old = s.rest
        steep = np.abs(s.fx) > np.abs(f_old)
        q = np.where(steep, f_old / s.fx, s.fx / f_old)
        return np.where(steep, old - q * s.x, s.x - q * old) / (1 - q), (s.x, s.fx)

    def step(s: Search) -> Search:
        new, kept = (by_secant if name == "secant" else by_tangent)(s)
        new = np.where(s.done | (s.fx == 0), s.x, new)
        done = np.abs(new - s.x) <= tol + rtol * np.abs(s.x)
        return Search(new, f(new), kept, done, s.iterations + 1, s.calls + calls)

    fx, kept = f(x), list[Any]()
    calls = {"secant": 1, "newton": 2, "halley": 3}[name]
    if name == "secant":
        other = 1.0001 * x + np.where(x >= 0, 1e-4, -1e-4) if x1 is None else x1
        other = stop_gradient(1.0 * as_array(other)).astype(np.float64)
        f_other = f(other)
        swap = np.abs(f_other) < np.abs(fx)
        (old, x), (f_old, fx) = _sort(swap, other, x), _sort(swap, f_other, fx)
        kept = [old, f_old]
    found = while_loop(
        lambda s: np.any(~s.done & ~np.isnan(s.fx)) & (s.iterations < maxiter), step,
        Search(x, fx, tuple(kept), np.isinf(fx), 0, len(kept)),
    )  # fmt: skip
    ok = found.done & np.isfinite(found.fx)
    root = root_at(f, found.x, ok, by_element=True)
    return _answer(root, ok, found.iterations, found.calls, name, full_output)


def root_scalar(
    f: Callable[..., Any], args: Any = (), method: Any = None, bracket: Any = None,
    fprime: Any = None, fprime2: Any = None, x0: Any = None, x1: Any = None, xtol: Any = None,
    rtol: Any = None, maxiter: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    """Find a root of a function of a number."""
    if fprime is True:
        return root_scalar(
            lambda x, *args: f(x, *args)[0], args, method or "newton", bracket, None, None, x0,
            x1, xtol, rtol, maxiter, options,
        )  # fmt: skip
    if method is None:
        if bracket is None and x0 is None:
            raise ValueError(
                "Unable to select a solver as neither bracket nor starting point provided."
            )
        method = "brentq" if bracket is not None else "newton" if x1 is None else "secant"
    name = str(method).lower()
    given = {"xtol": xtol, "rtol": rtol, "maxiter": maxiter, **(options or {})}
    given = {k: x for k, x in given.items() if x is not None}
    if name in _BRACKETED:
        if bracket is None:
            raise ValueError(f"Bracket needed for {method}")
        given["full_output"] = True
        return _BRACKETED[name](f, *bracket[:2], args, **given)[1]
    if name not in ("newton", "halley", "secant"):
        raise UnsupportedError(
            f"root_scalar: in traced code method is one of {', '.join(map(repr, _BRACKETED))}, "
            f"'newton', 'halley' or 'secant', not {method!r}"
        )
    if x0 is None:
        raise ValueError(f"x0 must not be None for {method}")
    tolerances = given.get("xtol", 1.48e-8), given.get("rtol", 0.0)
    return _iterated(name, f, x0, x1, (fprime, fprime2), args, tolerances,
                     given.get("maxiter", 50), True)[1]  # fmt: skip
