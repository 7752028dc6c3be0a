"""Integrals of functions: SciPy's ``quad`` and its kind, as part of a traced program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate

from .. import numpy as traced_numpy
from .._core.base.signals import foreseen
from .._core.base.state import now
from .._core.ops.np_common import is_traced
from .._core.trace import attempt
from .._syntax._control_flow import followed
from ..errors import ArgumentError
from ._integral import integral, shared
from ._panels import Norm
from ._solver_arguments import given_numbers
from ._versions import floats, one_number, refuse_option

Function = Callable[..., Any]


#: The least relative tolerance that QUADPACK takes alone.
LEAST = 50 * float(np.finfo(float).eps)

#: Panels are this many times ``limit``: without extrapolation, singular ends need more of them.
MORE = 4


# ---------------------------------------------------------------- one integral


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
    except foreseen(Exception) as error:  # raised again
        try:
            with attempt():
                return traced(followed(func))
        except foreseen(Exception):
            try:
                return given_numbers(solver, "its result is traced")(func, *given, **more)
            except foreseen(Exception):
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
    On plain arrays this is SciPy's, with the sign of complex integrals from right to left put
    right. In traced code, the loop of QUADPACK's QAG (R. Piessens, E. de Doncker-Kapenga, C. W.
    Ueberhuber, D. K. Kahaner, Springer 1983) is part of the program: panels are bisected until the
    error estimated by Gauss and Kronrod's rules of 10 and 21 points (7 and 15 for infinite
    intervals) is small enough. Where it does not become so with four times ``limit`` panels, y is
    nan, where SciPy warns. Instead of QAGS' extrapolation to singular ends, nodes gather at an end
    where panels have become narrow.

    Derivatives with respect to ``args`` and what ``func`` closes over are those of the rule; with
    respect to the limits they are the function's values there. Where ``func`` is singular at a
    limit that moves with it, the panel at that limit moves; the derivative is nan if that is not
    integrable either.

    Examples
    --------
    >>> def decayed(rate, end):
    ...     return quad(lambda t: np.exp(-rate * t), 0.0, end)[0]
    >>> sg.grad(decayed, argnums=(0, 1))(1.0, 2.0)
    (np.float64(-0.593994), np.float64(0.135335))
    """
    args = args if isinstance(args, tuple) else (args,)
    if now().guards is None:
        # SciPy 1.17 gives complex integrals from right to left the sign of those to the right.
        backwards = bool(complex_func and b < a)
        found = scipy.integrate.quad(
            func, b if backwards else a, a if backwards else b, args, full_output, epsabs, epsrel,
            limit, points, weight, wvar, wopts, maxp1, limlst, complex_func,
        )  # fmt: skip
        return (-found[0], *found[1:]) if backwards else found
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
        if points is None:
            found = shared(f, a, b, epsabs, epsrel, rows)
        else:
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
