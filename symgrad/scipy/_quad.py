"""Integrals of functions: SciPy's ``quad`` and its kind, as part of a traced program."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate

from .. import numpy as traced_numpy
from .._api._at_values import jvp
from .._api._control_flow import followed
from .._api._custom import custom_jvp, stop_gradient
from .._api._transforms import vmap
from .._ops.np_common import is_traced
from .._state import now
from .._trace._examples import attempt
from ..errors import ArgumentError
from ._given import given_numbers
from ._panels import GK15, GK21, Norm, Panels, infinite, refined, summed
from ._replacing import floats, one_number, refuse_option

Function = Callable[..., Any]


# ---------------------------------------------------------------- one integral


@custom_jvp
def _with_derivative(found: Any, smooth: Any) -> Any:
    """Return ``found``, with the derivative of ``smooth``."""
    return found


@_with_derivative.defjvp
def _of_smooth(primals: Any, tangents: Any) -> tuple[Any, Any]:
    return _with_derivative(*primals), tangents[1]


#: Gauss' rule on [0, 1] by which limits are differentiated: exact up to the order 16.
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_POINTS, _WEIGHTS = 0.5 * (_POINTS + 1.0), 0.5 * _WEIGHTS


@custom_jvp
def _first_of_all(end: Any, moved: Any, at: Any, fixed: Any) -> Any:
    """Return 0, of which ``at`` is the derivative by ``end``; ``moved`` is 0.

    ``fixed`` has those derivatives of ``at`` which are not by ``end``.
    """
    return np.zeros_like(at)


@_first_of_all.defjvp
def _of_first(primals: Any, tangents: Any) -> tuple[Any, Any]:
    _, moved, at, _ = primals
    return _first_of_all(*primals), tangents[0] * at + moved * tangents[3]


def _beyond(f: Function, end: Any) -> Any:
    """Return the integral from where a limit is to where derivatives move it, which is 0.

    Its derivatives are f, f', ... at the limit, and those of these by what f closes over.
    """
    begin = stop_gradient(end)
    moved = end - begin
    found = moved * np.tensordot(_WEIGHTS, vmap(lambda s: f(begin + s * moved))(_POINTS), axes=1)
    # 0 times the slope of f is nan where that is infinite, as of sqrt(1 - x**2) at 1.
    steep = ~np.isfinite(stop_gradient(jvp(f, (end,), (np.ones_like(end),))[1]))
    return np.where(steep, _first_of_all(end, moved, f(end), f(begin)), found)


#: The least relative tolerance that QUADPACK takes alone.
LEAST = 50 * float(np.finfo(float).eps)

#: Panels are this many times ``limit``: without extrapolation, singular ends need more of them.
MORE = 4


def integral(
    f: Function, like: Any, a: Any, b: Any, epsabs: Any, epsrel: Any, limit: int, points: Any,
    norm: Norm,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return the integral of a traced function, nan if it is not found, its error, and counts.

    The derivative by what ``f`` closes over is that of the rule on the panels, which are not
    differentiated; by the limits it is the function's value there. So it is right for functions
    with jumps, too, and to any order.
    """
    a, b = (one_number(x, "a limit of an integral", "sg.vmap of an integral") for x in (a, b))
    a, b = (1.0 * x if is_traced(x) else float(x) for x in (a, b))
    sign, rule, own = 1.0, GK21, f
    endless = [isinstance(x, float) and math.isinf(x) for x in (a, b)]
    low, high = stop_gradient(a), stop_gradient(b)
    if any(endless):
        if points is not None:
            raise ValueError("Infinity inputs cannot be used with break points.")
        if (endless[0] and a > 0) or (endless[1] and b < 0):
            low, high, sign = high, low, -1.0
        rule, own, edges = GK15, infinite(f, low, high), [0.0, 1.0]
        if low is high or (all(endless) and a == b):
            own = f  # from infinity to itself: nothing
            edges = [0.0, 0.0]
    else:
        edges = [low, *_between(points, low, high), high]
    found, good = refined(own, rule, edges, like, epsabs, epsrel, limit, norm)
    panels: Panels = stop_gradient(found)
    value = np.where(good, sign * np.sum(panels.value, axis=0), np.nan)
    smooth = sign * summed(own, rule, panels, value)
    for end, side in ((a, -1.0), (b, 1.0)):
        if is_traced(end):
            smooth = smooth + side * _beyond(f, end)
    each = len(rule.nodes) * (1 + all(endless))
    counts = {"neval": each * panels.measured, "last": panels.count}
    return _with_derivative(stop_gradient(value), smooth), np.sum(panels.error), counts


def _between(points: Any, a: Any, b: Any) -> list[Any]:
    """Return break points in order from a to b."""
    if points is None:
        return []
    places = stop_gradient(floats(points))
    inside = np.clip(places, np.minimum(a, b), np.maximum(a, b))
    if not is_traced(inside):
        inside = np.unique(inside)
        inside = inside[(inside > min(a, b)) & (inside < max(a, b))]
        return list(inside if a < b else inside[::-1])
    inside = np.sort(inside)
    return [np.where(a < b, inside[k], inside[-1 - k]) for k in range(int(inside.shape[0]))]


def _of_number(func: Function, args: tuple[Any, ...]) -> Function:
    """Return an integrand whose results are real numbers."""

    def f(x: Any) -> Any:
        y = traced_numpy.asarray(func(x, *args))
        if y.dtype.kind == "c":
            raise ArgumentError(
                "quad: the integrand is complex: integrate np.real and np.imag of it, or pass "
                "complex_func=True"
            )
        return one_number(floats(y), "quad's integrand", "quad_vec, which takes arrays")

    return f


def traceable(traced: Function, func: Function, solver: Function, *given: Any, **more: Any) -> Any:
    """Return what is made of a function as it is, with its branches rewritten, or by SciPy.

    ``solver(func, *given, **more)`` computes with numbers; where a traced value is among them, it
    raises, and the first error is the one to tell of.
    """
    try:
        with attempt():
            return traced(func)
    except Exception as error:  # noqa: BLE001 - raised again
        try:
            with attempt():
                return traced(followed(func))
        except Exception:  # noqa: BLE001
            try:
                return given_numbers(solver, "its result is traced")(func, *given, **more)
            except Exception:  # noqa: BLE001
                raise error from None


def quad(
    func: Function, a: Any, b: Any, args: Any = (), full_output: Any = 0, epsabs: Any = 1.49e-8,
    epsrel: Any = 1.49e-8, limit: int = 50, points: Any = None, weight: Any = None,
    wvar: Any = None, wopts: Any = None, maxp1: int = 50, limlst: int = 50,
    complex_func: bool = False,
) -> Any:  # fmt: skip
    """Integrate a function of a number; as ``scipy.integrate.quad``.

    Parameters
    ----------
    func:
        ``func(x, *args)`` returns a number.
    a, b:
        The limits. An infinite one is a number, no traced value.
    args, full_output, epsabs, epsrel, limit, points, complex_func:
        As SciPy's.
    weight, wvar, wopts, maxp1, limlst:
        As SciPy's; refused in traced code.

    Returns
    -------
    (y, abserr)
        And with ``full_output`` a dictionary with ``neval`` and ``last``.

    Notes
    -----
    On plain arrays this is SciPy's. In traced code, the loop of QUADPACK's QAG is part of the
    program: panels are bisected until the error estimated by Gauss and Kronrod's rules of 10 and
    21 points (7 and 15 for infinite intervals) is small enough. Where it does not become so with
    four times ``limit`` panels, y is nan, where SciPy warns. QAGS' extrapolation to singular ends
    is not done: such integrals may need a larger limit.

    Derivatives by what ``func`` closes over and by ``args`` are those of the rule; by the limits
    they are the function's values there.

    Examples
    --------
    >>> def decayed(rate, end):
    ...     return quad(lambda t: np.exp(-rate * t), 0.0, end)[0]
    >>> sg.grad(decayed, argnums=(0, 1))(1.0, 2.0)
    (np.float64(-0.593994), np.float64(0.135335))
    """
    args = args if isinstance(args, tuple) else (args,)
    if now().guards is None:
        return scipy.integrate.quad(
            func, a, b, args, full_output, epsabs, epsrel, limit, points, weight, wvar, wopts,
            maxp1, limlst, complex_func,
        )  # fmt: skip
    if weight is not None:
        refuse_option("quad", "weight", weight, "the product with the weight as the integrand")
    if complex_func:
        parts = [
            quad(lambda x, part=part: part(func(x, *args)), a, b, (), full_output, epsabs, epsrel,
                 limit, points)
            for part in (np.real, np.imag)
        ]  # fmt: skip
        re, im = parts
        more = ({"real": re[2], "imag": im[2]},) if full_output else ()
        return (re[0] + 1j * im[0], re[1] + 1j * im[1], *more)
    if limit < 1:
        raise ValueError("quad: limit is at least 1")
    if not (is_traced(epsabs) or is_traced(epsrel)) and epsabs <= 0 and epsrel < LEAST:
        raise ValueError(
            "If 'epsabs'<=0, 'epsrel' must be greater than both 5e-29 and 50*(machine epsilon)."
        )

    def traced(func: Function) -> Any:
        f = _of_number(func, args)
        rows = MORE * int(limit)
        found = integral(f, 0.0, a, b, epsabs, epsrel, rows, points, np.abs)
        return found if full_output else found[:2]

    return traceable(
        traced, func, scipy.integrate.quad, a, b, args, full_output, epsabs, epsrel, limit, points
    )


# ---------------------------------------------------------------- several at once


NORMS: dict[str, Norm] = {
    "2": lambda x: np.sqrt(np.sum(np.square(np.abs(x)))),
    "max": lambda x: np.max(np.abs(x)),
}

#: Most panels of ``quad_vec`` in traced code, where there is memory for all of them.
MOST = 1000


def quad_vec(
    f: Function, a: Any, b: Any, epsabs: Any = 1e-200, epsrel: Any = 1e-8, norm: str = "2",
    cache_size: Any = 100e6, limit: Any = 10000, workers: Any = 1, points: Any = None,
    quadrature: Any = None, full_output: bool = False, *, args: Any = (),
) -> Any:  # fmt: skip
    """Integrate a function of a number whose values are arrays; as ``scipy.integrate.quad_vec``.

    Parameters
    ----------
    f:
        ``f(x, *args)`` returns an array.
    a, b, epsabs, epsrel, norm, limit, points, args:
        As SciPy's. In traced code there are at most 1000 panels, and ``full_output`` is refused.
    cache_size, workers, quadrature:
        As SciPy's; not looked at in traced code.

    Returns
    -------
    (res, err)
        nan where the tolerance is not reached in traced code.

    Examples
    --------
    >>> powers = np.arange(3.0)
    >>> sg.jacobian(lambda b: quad_vec(lambda x: x**powers, 0.0, b)[0])(2.0)
    array([1., 2., 4.])
    """
    args = args if isinstance(args, tuple) else (args,)
    if now().guards is None:
        return scipy.integrate.quad_vec(
            f, a, b, epsabs, epsrel, norm, cache_size, limit, workers, points, quadrature,
            full_output, args=args,
        )  # fmt: skip
    if full_output:
        refuse_option("quad_vec", "full_output", full_output, "full_output=False")
    if quadrature not in (None, "gk21", "gk15", "trapezoid"):
        raise ValueError(f"unknown quadrature {quadrature!r}")
    if norm not in NORMS:
        raise ValueError(f"quad_vec: norm is 'max' or '2', not {norm!r}")

    def traced(f: Function) -> Any:
        def own(x: Any) -> Any:
            return floats(f(x, *args))

        rows = int(min(limit, MOST))
        return integral(own, own(1.0), a, b, epsabs, epsrel, rows, points, NORMS[norm])[:2]

    return traceable(
        traced, f, scipy.integrate.quad_vec, a, b, epsabs, epsrel, norm, limit=limit,
        points=points, args=args,
    )  # fmt: skip


def nquad(
    func: Function, ranges: Any, args: Any = None, opts: Any = None, full_output: bool = False
) -> Any:
    """Integrate over several variables; as ``scipy.integrate.nquad``.

    Parameters
    ----------
    func:
        ``func(x0, ..., xn, *args)`` returns a number; x0 is the innermost variable.
    ranges:
        For each variable its limits, or a function of those further out (and of ``args``) that
        returns them.
    args, opts, full_output:
        As SciPy's. In traced code ``full_output`` is refused, and the error is that of the
        outermost integral.

    Examples
    --------
    >>> def triangle(side):
    ...     return nquad(lambda y, x: x * y, [lambda x: (0.0, side - x), (0.0, side)])[0]
    >>> sg.value_and_grad(triangle)(2.0)
    (np.float64(0.666667), np.float64(1.333333))
    """
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    if now().guards is None:
        return scipy.integrate.nquad(func, ranges, args, opts, full_output)
    if full_output:
        refuse_option("nquad", "full_output", full_output, "full_output=False")
    depth = len(ranges)
    options = opts if isinstance(opts, (list, tuple)) else [opts or {}] * depth

    def over(level: int, outer: tuple[Any, ...]) -> tuple[Any, Any]:
        """Integrate over the variables 0 to level."""
        limits, own = ranges[level], options[level]
        limits = limits(*outer, *args) if callable(limits) else limits
        own = own(*outer, *args) if callable(own) else own

        def inner(x: Any) -> Any:
            return over(level - 1, (x, *outer))[0] if level else func(x, *outer, *args)

        found: tuple[Any, Any] = quad(inner, *limits, **own)[:2]
        return found

    return over(depth - 1, ())


def _limit(x: Any) -> Function:
    return x if callable(x) else lambda *_: x


def dblquad(
    func: Function, a: Any, b: Any, gfun: Any, hfun: Any, args: Any = (), epsabs: Any = 1.49e-8,
    epsrel: Any = 1.49e-8,
) -> Any:  # fmt: skip
    """Integrate ``func(y, x)`` over y from gfun(x) to hfun(x), x from a to b; as SciPy's.

    Examples
    --------
    >>> sg.grad(lambda b: dblquad(lambda y, x: x * y, 0.0, b, 0.0, 2.0)[0])(3.0).round(12)
    np.float64(6.0)
    """
    low, high = _limit(gfun), _limit(hfun)
    ranges = [lambda x, *_: (low(x), high(x)), (a, b)]
    return nquad(func, ranges, args, {"epsabs": epsabs, "epsrel": epsrel})


def tplquad(
    func: Function, a: Any, b: Any, gfun: Any, hfun: Any, qfun: Any, rfun: Any, args: Any = (),
    epsabs: Any = 1.49e-8, epsrel: Any = 1.49e-8,
) -> Any:  # fmt: skip
    """Integrate ``func(z, y, x)``, y between gfun(x) and hfun(x), z qfun and rfun of x, y.

    Examples
    --------
    >>> f = lambda a: tplquad(lambda z, y, x: a * x * y * z, 0, 1, 0, 1, 0, 2)[0]
    >>> sg.grad(f)(3.0).round(12)
    np.float64(0.5)
    """
    low, high, near, far = map(_limit, (gfun, hfun, qfun, rfun))
    ranges = [
        lambda y, x, *_: (near(x, y), far(x, y)), lambda x, *_: (low(x), high(x)), (a, b),
    ]  # fmt: skip
    return nquad(func, ranges, args, {"epsabs": epsabs, "epsrel": epsrel})


__all__ = ["dblquad", "nquad", "quad", "quad_vec", "tplquad"]
