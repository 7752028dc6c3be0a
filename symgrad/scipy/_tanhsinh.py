"""Integrals by the tanh-sinh rule, of many limits and parameters at once: SciPy's ``tanhsinh``.

After ``x = tanh(pi/2*sinh(t))`` the integrand falls off doubly exponentially at both ends, also
where it is singular there, and the trapezoidal rule gains digits in proportion to its points. Each
level halves the distance between them. What is left to the nearer end is computed, not x.

Sources: D. H. Bailey, K. Jeyabalan, X. S. Li, A comparison of three high-precision quadrature
schemes, Exp. Math. 14, 2005; C. Vanherck, B. Soree, W. Magnus, Tanh-sinh quadrature for single and
multiple integration using floating-point arithmetic, arXiv:2007.15057, 2020.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate
from scipy.optimize import OptimizeResult

from .._api._at_values import jvp
from .._api._custom import stop_gradient
from .._core.base.state import now, repeating, within_body
from .._core.graph import Input
from .._core.ops.np_common import is_traced
from .._core.trace import Traced, as_node
from .._syntax._control import fori_loop, while_loop
from ..errors import ArgumentError
from ._integral import _beyond, _with_derivative
from ._limits import CONTINUES, Moving, integrable
from ._versions import floats, refuse_option

Function = Callable[..., Any]

EPS = float(np.finfo(float).eps)

#: Points of level 0 on each side, and of one turn of a loop.
BASE = 8

#: Where points begin that are not told from the ends: their distance underflows.
LAST = math.asinh(math.log(2 / (4 * float(np.finfo(float).smallest_normal)) - 1) / math.pi)

MESSAGE = "In traced code, status is -2 where levels do not suffice: integral is nan there."


class Transformed(NamedTuple):
    """Intervals for the rule: from ``low`` to ``high``, finite, whatever the limits are.

    Attributes
    ----------
    low, high:
        Ends of s: the limits; 0 and 1 with ``x = 1/s - 1 + start`` if one limit is infinite (x
        mirrored if it is the lower one), -1 and 1 with ``x = s/(1 - s**2)`` if both are.
    start:
        The finite limit beside an infinite one.
    half, mirrored, whole:
        Which of these an interval is.
    """

    low: Any
    high: Any
    start: Any
    half: Any
    mirrored: Any
    whole: Any

    @classmethod
    def of(cls, low: Any, high: Any) -> Transformed:
        up, down = high == np.inf, low == -np.inf
        whole = up & down
        half, mirrored = (up | down) & ~whole, down & ~whole
        start = np.where(half, np.where(mirrored, -high, low), 0.0)
        first = np.where(whole, -1.0, np.where(half, 0.0, low))
        last = np.where(whole | half, 1.0, high)
        return cls(first, last, start, half, mirrored, whole)

    def term(self, f: Function, t: Any, side: float, least: float = 0.0) -> Any:
        """Return the integrand by t, 0 where that is no number, ``t >= 0`` from the middle on.

        And nearer to an end than ``least``, in parts of the interval.
        """
        u = 0.5 * math.pi * np.sinh(t)
        small = np.square(np.exp(-u))
        left = small / (1.0 + small)  # 1/(exp(u)*cosh(u))/2
        width = self.high - self.low
        rest = width * left
        s = np.where(side > 0, self.high - rest, self.low + rest)
        inside = (s > self.low) & (s < self.high) & (left >= least)
        s = np.where(inside, s, 0.5 * (self.low + self.high))
        # Of the whole line 1 - s**2, without loss: rest*(2 - rest).
        gap = np.where(self.whole, np.where(inside, rest * (2.0 - rest), 1.0), 1.0)
        ray = np.where(self.half, s, 1.0)
        x = np.where(self.whole, s / gap, np.where(self.half, 1.0 / ray - 1.0 + self.start, s))
        x = np.where(self.mirrored, -x, x)
        weight = np.where(self.whole, (1.0 + s * s) / (gap * gap), 1.0 / (ray * ray))
        # pi/2*cosh(t)/cosh(u)**2, by half the width
        slope = math.pi * np.cosh(t) * width * small / np.square(1.0 + small)
        value = f(x) * (weight * slope)
        return np.where(inside & np.isfinite(value), value, 0.0)


class Level(NamedTuple):
    """What is known after a level: each of the integrals' shape but ``level``.

    Attributes
    ----------
    level:
        The next level.
    total, before, earlier:
        Estimates of the last level and of the two before it.
    error, found, reached:
        The estimated error, whether it is small enough, and at which level it became so.
    peak, tail:
        The largest term, and the largest of the outermost ones.
    """

    level: Any
    total: Any
    before: Any
    earlier: Any
    error: Any
    found: Any
    reached: Any
    peak: Any
    tail: Any


#: Terms are added up in bands of t, on each side; those of the last are so near to an end that they
#: do not matter where what is integrated can be.
BANDS = (1.5, 2.0, 2.5)
NEAR = 1e-2

#: Nearer to an end, in parts of the interval, a pole's derivatives up to the fourth overflow. What
#: lies there does not matter where the band at the end does not.
CLOSEST = 1e-75


def _in_bands(f: Function, domain: Transformed, step: Any, turns: Any, like: Any) -> Any:
    """Return the sums of terms at ``step * (0, 1, ...)`` by sides and bands, shape (2, 4, ...)."""
    places = np.reshape(np.arange(float(BASE)), (BASE, *(1,) * like.ndim))

    def turn(k: Any, total: Any) -> Any:
        t = step * (BASE * k + places)
        sides = []
        for side in (1.0, -1.0):
            terms = domain.term(f, t, side, CLOSEST) + 0.0 * like
            band = stop_gradient(sum(np.where(t >= edge, 1, 0) for edge in BANDS))
            counted = side > 0 or stop_gradient(t > 0.0)  # the middle once
            sides.append(np.stack([
                np.sum(np.where((band == k) & counted, terms, 0.0), axis=0)
                for k in range(len(BANDS) + 1)
            ]))  # fmt: skip
        return total + np.stack(sides)

    return fori_loop(0, turns + 1, turn, np.zeros((2, len(BANDS) + 1, *like.shape)))


def _far(sums: Any) -> tuple[Any, Any]:
    """Return the sum of all bands, trusted if those at the ends do not matter."""
    size = np.abs(sums)
    near = np.max(size[:, -1], axis=0)
    return np.sum(sums, axis=(0, 1)), near <= NEAR * np.sum(size, axis=(0, 1))


def _moving_along(together: Moving, step: Any, turns: Any, like: Any, sign: Any) -> Any:
    """Return the integral with its nodes in their places between the limits, as these move."""
    count = len(together.leaves)

    def terms(*given: Any) -> Any:
        f, (low, high) = together.of_leaves(given[:count])
        step, turns, like, sign = given[count:]
        domain = Transformed.of(np.minimum(low, high), np.maximum(low, high))
        shape = (BASE, *like.shape)
        sums = _in_bands(lambda x: f(np.broadcast_to(x, shape)), domain, step, turns, like)
        return sign * step * sums

    given = [*map(Traced, together.leaves), step, turns, like, sign]
    if not together.few:
        return _far(terms(*given))[0]
    return integrable(terms, _far, together.shared)(*given)


#: Distances by which an integrand is looked at beside a limit, in parts of the interval.
BESIDE = 2.0**-10


def _continued(f: Function, ends: Sequence[Any], end: Any) -> Any:
    """Tell whether an integrand goes on smoothly into a limit, by three values beside it."""
    finite = np.isfinite(ends[0]) & np.isfinite(ends[1])
    middle = np.where(finite, 0.5 * (ends[0] + ends[1]), 0.0)
    away = np.where(np.isfinite(ends[1]) & (ends[1] == end), -1.0, 1.0)
    away = np.where(finite, 2.0 * (middle - end), away * np.where(ends[0] > ends[1], -1.0, 1.0))
    at = np.where(np.isfinite(end), end, 0.5)
    value, slope = jvp(f, (at,), (np.ones_like(at),))
    beside = [f(at + k * BESIDE * away) for k in (1.0, 2.0, 3.0)]
    led_to = 3.0 * beside[0] - 3.0 * beside[1] + beside[2]
    size = np.max(np.abs(np.stack(beside)), axis=0)
    near = np.abs(value - led_to) <= CONTINUES * size
    return stop_gradient(near & np.isfinite(value) & np.isfinite(slope))


def _summed(
    f: Function, domain: Transformed, step: Any, turns: Any, stride: float, like: Any
) -> tuple[Any, Any, Any]:
    """Return the sum of terms at ``step * (1, 1 + stride, ...)``, their peak and their tail."""
    places = np.reshape(np.arange(float(BASE)), (BASE, *(1,) * like.ndim))

    def turn(k: Any, carry: Any) -> Any:
        total, peak, tail = carry
        t = step * (1.0 + stride * (BASE * k + places))
        for side in (1.0, -1.0):
            terms = domain.term(f, t, side) + 0.0 * like
            size = np.abs(stop_gradient(terms))
            total, peak = total + np.sum(terms, axis=0), np.maximum(peak, np.max(size, axis=0))
            last = np.where(np.max(size, axis=0) > 0, size[-1], 0.0)
            tail = np.where(last > 0, last, tail)
        return total, peak, tail

    none = np.zeros_like(like)
    found: tuple[Any, Any, Any] = fori_loop(0, turns, turn, (none, none, none))
    return found


def _integrated(
    f: Function, domain: Transformed, like: Any, least: int, most: int, atol: float, rtol: float
) -> Level:
    """Go on from level to level until all integrals are found."""
    middle = domain.term(f, 0.0 * like, 1.0)

    def going(s: Level) -> Any:
        return (s.level <= most) & ~np.all(s.found)

    def refined(s: Level) -> Level:
        first = s.level == 0
        step = LAST / BASE / 2.0**s.level
        turns = np.where(first, 1, np.left_shift(1, np.maximum(s.level, 1) - 1))
        stride = np.where(first, 1.0, 2.0)
        more, peak, tail = _summed(f, domain, step, turns, stride, like)
        total = np.where(first, step * middle, 0.5 * s.total) + step * more
        peak = np.maximum(s.peak, step * peak)
        d1, d2 = np.abs(total - s.total), np.abs(total - s.before)
        safe1, safe2 = np.where(d1 > 0, d1, 0.5), np.where(d2 > 0, d2, 0.5)
        power = np.where(d1 > 0, safe1 ** (np.log(safe1) / np.log(safe2)), 0.0)
        estimate = np.maximum(np.maximum(power, d1 * d1), np.maximum(EPS * peak, step * tail))
        estimate = np.minimum(np.maximum(estimate, EPS * np.abs(total)), d1)
        enough = (estimate < atol) | (estimate <= rtol * np.abs(total))
        found = s.found | ((s.level >= max(least, 2)) & enough)
        new = Level(
            s.level + 1, total, s.total, s.before, estimate, found, s.level + 0 * s.reached, peak,
            tail,
        )  # fmt: skip
        kept = [np.where(s.found, a, b) for a, b in zip(s[1:], new[1:], strict=True)]
        return Level(new.level, *kept)

    none, count = np.zeros_like(like), np.zeros(like.shape, np.int64)
    same = domain.low == domain.high
    start = Level(
        0, none, none, none, np.where(same, 0.0, np.nan) + none, same | (count > 0), count - 1,
        none, none,
    )  # fmt: skip
    return while_loop(going, refined, start)


def tanhsinh(
    f: Function, a: Any, b: Any, *, args: Any = (), log: bool = False, maxlevel: int | None = None,
    minlevel: int | None = 2, atol: float | None = None, rtol: float | None = None,
    preserve_shape: bool = False, callback: Any = None,
) -> Any:  # fmt: skip
    """Integrate functions of numbers, singular at the ends or not; as ``scipy.integrate.tanhsinh``.

    Parameters
    ----------
    f:
        ``f(x, *args)`` computes by elements; x has an axis more, the first, than the integrals.
    a, b, args:
        Limits, which may be infinite, and further arguments, broadcast against each other.
    maxlevel, minlevel, atol, rtol:
        As SciPy's.
    log, preserve_shape, callback:
        As SciPy's; refused in traced code.

    Returns
    -------
    result
        With ``success``, ``status``, ``integral``, ``error``, ``maxlevel`` and ``nfev``. In traced
        code an integral that is not found is nan, with its derivatives.

    Notes
    -----
    On plain arrays this is SciPy's. In traced code derivatives by what ``f`` closes over and by
    ``args`` are those of the rule; by the limits they are the function's values there.

    Examples
    --------
    >>> def area(power, end):
    ...     return tanhsinh(lambda x: x**-power, 0.0, end).integral
    >>> sg.value_and_grad(area, argnums=(0, 1))(0.5, 4.0)
    (np.float64(4.0), (np.float64(2.454823), np.float64(0.5)))
    """
    if now().guards is None:
        return scipy.integrate.tanhsinh(
            f, a, b, args=args, log=log, maxlevel=maxlevel, minlevel=minlevel, atol=atol,
            rtol=rtol, preserve_shape=preserve_shape, callback=callback,
        )  # fmt: skip
    for name, value, instead in (
        ("log", log, "the integrand itself, divided by its largest value"),
        ("preserve_shape", preserve_shape, "quad_vec"),
        ("callback", callback, "no callback"),
    ):
        if value:
            refuse_option("tanhsinh", name, value, instead)
    args = tuple(map(floats, args if isinstance(args, tuple) else (args,)))
    a, b = floats(a), floats(b)
    most = 10 if maxlevel is None else int(maxlevel)
    least = 2 if minlevel is None else int(minlevel)
    if most < 0 or least < 0:
        raise ValueError("`maxlevel` and `minlevel` must be non-negative integers.")
    tolerances = (0.0 if atol is None else atol), (EPS**0.75 if rtol is None else rtol)

    def integrand(x: Any) -> Any:
        y = floats(f(x, *args))
        if y.dtype.kind == "c":
            raise ArgumentError(
                "tanhsinh: the integrand is complex: integrate np.real and np.imag of it"
            )
        return y

    ends = stop_gradient(1.0 * a), stop_gradient(1.0 * b)
    like = 0.0 * sum(np.where(np.isfinite(x), x, 0.0) for x in (*ends, *map(stop_gradient, args)))
    like = like + np.where(np.isnan(ends[0]) | np.isnan(ends[1]), np.nan, 0.0)
    domain = Transformed.of(np.minimum(*ends), np.maximum(*ends))
    level: Level = stop_gradient(_integrated(integrand, domain, like, least, most, *tolerances))
    sign = np.where(ends[1] < ends[0], -1.0, 1.0)
    value = np.where(level.found, sign * level.total, np.nan)
    last = np.max(level.reached, initial=0)
    step = LAST / BASE / 2.0**last
    turns = np.left_shift(1, np.maximum(last, 0))
    smooth, *_ = _summed(integrand, domain, step, turns, 1.0, like)
    smooth = sign * step * (domain.term(integrand, 0.0 * like, 1.0) + smooth)
    together, singular = None, np.asarray(False)
    if is_traced(a) or is_traced(b):
        x = Input("x", as_node(np.broadcast_to(like, (BASE, *like.shape))).shape, np.float64)
        with within_body(), repeating():
            together = Moving.of(x, as_node(integrand(Traced(x))), (a, b))
    if together is not None:
        for end, plain in zip((a, b), ends, strict=True):
            if is_traced(end):
                singular = singular | (np.isfinite(plain) & ~_continued(integrand, ends, plain))
        moving = _moving_along(together, step, turns, like, sign)
    apart = (None, None) if together is None else together.apart()
    fixed = 0.0
    for end, plain, side, alone in zip((a, b), ends, (-1.0, 1.0), apart, strict=True):
        if is_traced(end):
            finite = np.isfinite(plain)
            moved = _beyond(integrand, np.where(finite, 1.0 * end, 1.0))
            smooth = smooth + np.where(finite, side * moved, 0.0)
            if alone is not None:
                moved = _beyond(integrand, np.where(finite, 1.0 * alone, 1.0))
                fixed = fixed + np.where(finite, side * moved, 0.0)
    if together is not None:
        smooth = np.where(singular, moving + fixed, smooth)
    smooth = np.where(level.found, smooth, np.nan * smooth)
    points = 2 + 2 * BASE * np.left_shift(1, np.maximum(level.reached, 0))
    count = 1 + np.where(level.reached < 0, 0, points)  # SciPy tries the function once before
    return OptimizeResult(
        success=level.found, status=np.where(level.found, 0, -2), message=MESSAGE,
        integral=_with_derivative(stop_gradient(value), smooth), error=level.error,
        maxlevel=level.reached, nfev=count,
    )  # fmt: skip


__all__ = ["tanhsinh"]
