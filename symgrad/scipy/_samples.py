"""Integrals of samples, for ``symgrad.scipy.integrate``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate

from .. import numpy as traced_numpy
from .._core.base.state import now
from .._core.ops.np_common import is_traced
from ._versions import floats, increasing, refuse_option, replaces, require_lengths


def _steps(y: Any, x: Any, dx: Any, axis: int) -> tuple[Any, Any]:
    """Return rows of samples, the axis first, and the steps between them for each."""
    y = np.moveaxis(floats(y), axis, 0)
    rest = (1,) * (y.ndim - 1)
    if x is None:
        return y, traced_numpy.broadcast_to(floats(dx), (y.shape[0] - 1,)).reshape((-1, *rest))
    x = floats(x)
    x = x.reshape((-1, *rest)) if x.ndim == 1 else np.moveaxis(x, axis, 0)
    require_lengths("integrals of samples", "x and y", x.shape[0], y.shape[0])
    return y, np.diff(x, axis=0)


@replaces(scipy.integrate.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integral of samples by lines, as ``scipy.integrate.trapezoid``.

    Examples
    --------
    >>> sg.grad(trapezoid)(np.ones(4))
    array([0.5, 1. , 1. , 0.5])
    """
    y, h = _steps(y, x, dx, axis)
    return np.sum(h * (y[1:] + y[:-1]) / 2.0, axis=0)


@replaces(scipy.integrate.cumulative_trapezoid)
def cumulative_trapezoid(
    y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> Any:
    """Integrals of samples up to each, as ``scipy.integrate.cumulative_trapezoid``.

    Examples
    --------
    >>> sg.jacobian(cumulative_trapezoid)(np.ones(3))
    array([[0.5, 0.5, 0. ],
           [0.5, 1. , 0.5]])
    """
    y, h = _steps(y, x, dx, axis)
    sums = np.cumsum(h * (y[1:] + y[:-1]) / 2.0, axis=0)
    if initial is not None:
        sums = traced_numpy.concatenate(
            [traced_numpy.zeros((1, *sums.shape[1:]), sums.dtype), sums]
        )
    return np.moveaxis(sums, 0, axis)


@replaces(scipy.integrate.simpson)
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integral of samples by parabolas, as ``scipy.integrate.simpson``.

    With an even number of samples the last step is Cartwright's, from a parabola, too: Journal of
    Mathematical Sciences and Mathematics Education 11 (2016).

    Examples
    --------
    >>> sg.grad(lambda y: simpson(y, dx=3.0))(np.ones(3)).round(12)
    array([1., 4., 1.])
    """
    y, h = _steps(y, x, dx, axis)
    n = y.shape[0]
    if n == 1:
        return 0.0 * y[0]
    if n == 2:
        return h[0] * (y[0] + y[1]) / 2.0
    odd = n if n % 2 else n - 1
    a, b = h[0 : odd - 1 : 2], h[1 : odd - 1 : 2]
    p, q, r = y[0 : odd - 2 : 2], y[1 : odd - 1 : 2], y[2:odd:2]
    total = np.sum(
        (a + b) / 6.0 * (p * (2.0 - b / a) + q * (a + b) ** 2 / (a * b) + r * (2.0 - a / b)),
        axis=0,
    )
    if odd == n:
        return total
    a, b = h[-2], h[-1]
    return (
        total + y[-1] * (2 * b**2 + 3 * a * b) / (6 * (b + a))
        + y[-2] * (b**2 + 3 * a * b) / (6 * a) - y[-3] * b**3 / (6 * a * (a + b))
    )  # fmt: skip


@replaces(scipy.integrate.cumulative_simpson)
def cumulative_simpson(
    y: Any, *, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> Any:
    """Integrals of samples up to each by parabolas, as ``scipy.integrate.cumulative_simpson``.

    The integral over a step is that of the parabola through its ends and the next sample, in turn
    the one after and the one before.

    Examples
    --------
    >>> sg.jacobian(lambda y: cumulative_simpson(y, dx=6.0))(np.ones(3)).round(12)
    array([[ 2.5,  4. , -0.5],
           [ 2. ,  8. ,  2. ]])
    """
    if np.shape(y)[axis] < 3:
        sums = np.moveaxis(cumulative_trapezoid(floats(y), x, dx, axis), axis, 0)
    else:
        y, h = _steps(y, x, dx, axis)
        if x is not None:
            h = increasing(h, h)

        def first(y: Any, h: Any) -> Any:
            """Return the integrals over the first of each two steps."""
            a, b = h[:-1], h[1:]
            p, q = a / (a + b), a / b
            return a / 6 * ((3 - p) * y[:-2] + (3 + p * q + p) * y[1:-1] - p * q * y[2:])

        n = y.shape[0] - 1
        h = np.broadcast_to(h, (n, *h.shape[1:]))
        ahead, behind = first(y, h), np.flip(first(np.flip(y, 0), np.flip(h, 0)), 0)
        none = np.zeros_like(ahead[:1])
        step = traced_numpy.arange(n)
        even = (step % 2 == 0) & (step < n - 1)
        join = traced_numpy.concatenate
        each = np.where(
            even.reshape((-1, *(1,) * (y.ndim - 1))), join([ahead, none]), join([none, behind])
        )
        sums = np.cumsum(each, axis=0)
    if initial is not None:
        start = floats(initial)
        start = np.broadcast_to(
            start if start.ndim == 0 else np.moveaxis(start, axis, 0), (1, *sums.shape[1:])
        )
        sums = traced_numpy.concatenate([start, sums + start])
    return np.moveaxis(sums, 0, axis)


@replaces(scipy.integrate.romb)
def romb(y: Any, dx: Any = 1.0, axis: int = -1, show: Any = False) -> Any:
    """Integral of 2**k + 1 samples by Romberg's extrapolation, as ``scipy.integrate.romb``.

    Examples
    --------
    >>> sg.grad(romb)(np.ones(5)).round(6)
    array([0.311111, 1.422222, 0.533333, 1.422222, 0.311111])
    """
    if show:
        refuse_option("romb", "show", show, "show=False")
    y = np.moveaxis(floats(y), axis, 0)
    steps = int(y.shape[0]) - 1
    if steps < 1 or steps & (steps - 1):
        raise ValueError("Number of samples must be one plus a non-negative power of 2.")
    h = steps * floats(dx)
    row = [(y[0] + y[-1]) / 2.0 * h]
    while steps > 1:
        before, half = row, steps // 2
        row = [0.5 * (before[0] + h * np.sum(y[half::steps], axis=0))]
        for j, old in enumerate(before, 1):
            row.append(row[-1] + (row[-1] - old) / (4**j - 1))
        steps, h = half, h / 2.0
    return row[-1]


def fixed_quad(func: Callable[..., Any], a: Any, b: Any, args: Any = (), n: int = 5) -> Any:
    """Integrate by Gauss and Legendre's rule of n points; as ``scipy.integrate.fixed_quad``.

    ``func(x, *args)`` takes an array of shape (n,) and returns one with such a last axis.

    Examples
    --------
    >>> sg.grad(lambda b: fixed_quad(np.square, 0.0, b)[0])(3.0).round(12)
    np.float64(9.0)
    """
    if now().guards is None:
        return scipy.integrate.fixed_quad(func, a, b, args, n)
    for x in (a, b):
        if not is_traced(x) and np.isinf(x):
            raise ValueError(
                "Gaussian quadrature is only available for finite limits."
            )  # SciPy's words
    x, w = np.polynomial.legendre.leggauss(n)
    y = (b - a) * (x + 1) / 2.0 + a
    return (b - a) / 2.0 * np.sum(w * floats(func(y, *args)), axis=-1), None
