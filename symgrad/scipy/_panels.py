"""Gauss-Kronrod rules on panels, and the loop that bisects the worst of them.

Source: R. Piessens, E. de Doncker-Kapenga, C. W. Ueberhuber, D. K. Kahaner, QUADPACK, Springer
1983: the algorithm QAG with the error estimates of its rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import numpy as traced_numpy
from .._api._transforms import vmap
from .._syntax._control import fori_loop, while_loop

EPSILON = float(np.finfo(float).eps)
LEAST = float(np.finfo(float).tiny)


class Rule(NamedTuple):
    """Nodes on [-1, 1], the weights of all of them and those of Gauss' nodes among them."""

    nodes: Any
    weights: Any
    gauss: Any


def _rule(nodes: list[float], weights: list[float], gauss: list[float]) -> Rule:
    """Return a symmetric rule by its positive half, the outermost node first, 0 last."""
    x, w = np.array(nodes), np.array(weights)
    every = np.zeros(len(x))
    every[1::2] = gauss
    return Rule(*(np.concatenate([s * v, v[-2::-1]]) for s, v in ((-1, x), (1, w), (1, every))))


GK21 = _rule(
    [0.995657163025808080735527280689003, 0.973906528517171720077964012084452,
     0.930157491355708226001207180059508, 0.865063366688984510732096688423493,
     0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
     0.562757134668604683339000099272694, 0.433395394129247190799265943165784,
     0.294392862701460198131126603103866, 0.148874338981631210884826001129720, 0.0],
    [0.011694638867371874278064396062192, 0.032558162307964727478818972459390,
     0.054755896574351996031381300244580, 0.075039674810919952767043140916190,
     0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
     0.123491976262065851077958109831074, 0.134709217311473325928054001771707,
     0.142775938577060080797094273138717, 0.147739104901338491374841515972068,
     0.149445554002916905664936468389821],
    [0.066671344308688137593568809893332, 0.149451349150580593145776339657697,
     0.219086362515982043995534934228163, 0.269266719309996355091226921569469,
     0.295524224714752870173892994651338],
)  # fmt: skip
GK15 = _rule(
    [0.991455371120812639206854697526329, 0.949107912342758524526189684047851,
     0.864864423359769072789712788640926, 0.741531185599394439863864773280788,
     0.586087235467691130294144838258730, 0.405845151377397166906606412076961,
     0.207784955007898467600689403773245, 0.0],
    [0.022935322010529224963732008058970, 0.063092092629978553290700663189204,
     0.104790010322250183839876322541518, 0.140653259715525918745189590510238,
     0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
     0.204432940075298892414161999234649, 0.209482141084727828012999174891714],
    [0.129484966168869693270611432679082, 0.279705391489276667901467771423780,
     0.381830050505118944950369775488975, 0.417959183673469387755102040816327],
)  # fmt: skip


class Panels(NamedTuple):
    """Panels of an interval, in arrays of which the first ``count`` rows are used.

    Attributes
    ----------
    low, high:
        Their ends, shape (limit,).
    value:
        Integrals over them, shape (limit, ...).
    error, floor:
        Estimates of their errors, infinite where there is none yet, and what rounding makes of
        these at least, shape (limit,).
    level, side:
        By which power of the distance the nodes gather at an end, and at which: -1 for the lower
        one, 1 for the upper one, shape (limit,). On most panels they do not, and both are 0.
    count, measured:
        How many there are, and on how many the rule was applied.
    """

    low: Any
    high: Any
    value: Any
    error: Any
    floor: Any
    level: Any
    side: Any
    count: Any
    measured: Any


Norm = Callable[[Any], Any]


def _weighted(weights: Any, y: Any) -> Any:
    return np.tensordot(weights, y, axes=(0, 0))


#: A panel at an end that is narrower than the mean one by these factors has its nodes at distances
#: ``u**2``, ``u**4``, ``u**8`` of its width from that end, ``u`` the rule's nodes on (0, 1). The
#: powers make roots, logarithms and their reciprocals smooth, before the distances are so small
#: that rounding the nodes changes them. A regular integrand has no such panels.
NARROW = (2.0**4, 2.0**10, 2.0**16, 2.0**22)


def distances(rule: Rule, level: Any) -> tuple[Any, Any]:
    """Return how far nodes lie from an end, and the factors of their weights, for a level > 0."""
    u = 0.5 * (1.0 + rule.nodes)
    powers = [2 << k for k in range(len(NARROW))]
    row = np.maximum(level, 1) - 1
    tables = [u**p for p in powers], [p * u ** (p - 1) for p in powers]
    far, factor = (traced_numpy.take(np.stack(table), row, axis=0) for table in tables)
    return far, factor


def nodes_of(rule: Rule, low: Any, high: Any, level: Any, side: Any) -> tuple[Any, Any]:
    """Return the nodes on a panel, and the factors of their weights beside half its width.

    A node that would be rounded to an end is left out: QUADPACK's rules never touch one.
    """
    middle, width = 0.5 * (low + high), high - low
    far, factor = distances(rule, level)
    gathered = np.where(side > 0, high - width * far, low + width * far)
    x = np.where(level > 0, gathered, middle + 0.5 * width * rule.nodes)
    inside = (x != low) & (x != high)
    return np.where(inside, x, middle), np.where(inside, np.where(level > 0, factor, 1.0), 0.0)


def weighed(f: Callable[[Any], Any], x: Any, factor: Any) -> Any:
    """Return the values at nodes times their factors, which may be 0."""
    y = vmap(f)(x)
    factor = np.reshape(factor, (-1, *(1,) * (np.ndim(y) - 1)))
    return np.where(factor == 1.0, y, np.where(factor == 0.0, 0.0, factor * y))


def _values(f: Callable[[Any], Any], rule: Rule, panels: Panels, k: Any) -> Any:
    place = panels.low[k], panels.high[k], panels.level[k], panels.side[k]
    return weighed(f, *nodes_of(rule, *place))


def _measured(
    f: Callable[[Any], Any], rule: Rule, low: Any, high: Any, level: Any, side: Any, norm: Norm
) -> Any:
    """Return the integral over a panel, an estimate of its error and the least that this is."""
    y, half = weighed(f, *nodes_of(rule, low, high, level, side)), 0.5 * (high - low)
    value = _weighted(rule.weights, y)
    error = norm(half * (value - _weighted(rule.gauss, y)))
    spread = norm(half * _weighted(rule.weights, np.abs(y - 0.5 * value)))
    known = (spread != 0) & (error != 0)
    ratio = 200 * error / np.where(known, spread, 1.0)
    # Gathered nodes are few far from the end: there the plain difference is the estimate.
    least = np.where(level > 0, error, 0.0)
    error = np.where(known, spread * np.minimum(1.0, ratio * np.sqrt(ratio)), error)
    error = np.maximum(error, least)
    floor = 50 * EPSILON * norm(half * _weighted(rule.weights, np.abs(y)))
    error = np.where(floor > LEAST, np.maximum(error, floor), error)
    return half * value, np.where(np.isinf(error), np.nan, error), floor


def refined(
    f: Callable[[Any], Any], rule: Rule, edges: list[Any], like: Any, epsabs: Any, epsrel: Any,
    limit: int, norm: Norm,
) -> tuple[Panels, Any]:  # fmt: skip
    """Bisect panels until the sum of their errors is small enough; return also whether it is.

    A turn of the loop measures one panel: the left half of the worst, or one without an estimate
    yet, as the right halves are at first.

    Parameters
    ----------
    f:
        A function of a number, with results like ``like``.
    edges:
        The ends of the first panels, at least two.
    epsabs, epsrel:
        The error is small enough if it is at most ``max(epsabs, epsrel * norm(integral))``; or
        if it is that of rounding.
    limit:
        The largest number of panels.
    norm:
        The norm of integrals.
    """
    first = len(edges) - 1
    rows = max(limit, first)
    ends = traced_numpy.stack([1.0 * traced_numpy.asarray(x) for x in edges])
    rest = np.zeros(rows - first)
    low, high = (traced_numpy.concatenate([x, rest]) for x in (ends[:-1], ends[1:]))
    error = np.where(np.arange(rows) < first, np.inf, 0.0)
    values = np.zeros((rows, *np.shape(like)))
    total = np.abs(ends[-1] - ends[0])

    def gathering(low: Any, high: Any, count: Any) -> tuple[Any, Any]:
        """Return a panel's level and side."""
        narrow = np.abs(high - low) * count
        level = sum(np.where(narrow * by <= total, 1, 0) for by in NARROW)
        above, below = np.any(high == ends), np.any(low == ends)
        level = np.where(above != below, level, 0)
        return level, np.where(level > 0, np.where(above, 1, -1), 0)

    def short(panels: Panels) -> Any:
        total = np.sum(panels.error)
        return total > np.maximum(epsabs, epsrel * norm(np.sum(panels.value, axis=0)))

    def rounded(panels: Panels) -> Any:
        worst = np.argmax(panels.error)
        return panels.error[worst] <= 2 * panels.floor[worst]

    def going(panels: Panels) -> Any:
        room = (panels.count < rows) | np.isinf(np.sum(panels.error))
        return short(panels) & ~rounded(panels) & room

    def turn(panels: Panels) -> Panels:
        low, high, value, error, floor, level, side, count, measured = panels
        worst = np.argmax(error)
        new = np.isinf(error[worst])
        a, b = low[worst], high[worst]
        middle = np.where(new, b, 0.5 * (a + b))
        right = np.where(new, worst, count)  # where there is none, the row is written over
        low[right], high[right], error[right] = np.where(new, a, middle), b, np.inf
        high[worst] = middle
        level[worst], side[worst] = gathering(a, middle, count)
        value[worst], error[worst], floor[worst] = _measured(
            f, rule, a, middle, level[worst], side[worst], norm
        )
        count = count + np.where(new, 0, 1)
        return Panels(low, high, value, error, floor, level, side, count, measured + 1)

    none, nowhere = np.zeros(rows), np.zeros(rows, np.int64)
    start = Panels(low, high, values, error, none, nowhere, nowhere.copy(), first, 0)
    found = while_loop(going, turn, start)
    return found, (~short(found) | rounded(found)) & np.isfinite(np.sum(found.error))


def summed(
    f: Callable[[Any], Any], rule: Rule, panels: Panels, like: Any, left_out: Any = None
) -> Any:
    """Return the integral by given panels: to be differentiated by what ``f`` closes over.

    ``left_out``: which of them do not count, shape (limit,).
    """

    def add(k: Any, total: Any) -> Any:
        y = _values(f, rule, panels, k)
        part = 0.5 * (panels.high[k] - panels.low[k]) * _weighted(rule.weights, y)
        return total + (part if left_out is None else np.where(left_out[k], 0.0, part))

    return fori_loop(0, panels.count, add, np.zeros_like(like))


def infinite(f: Callable[[Any], Any], a: Any, b: Any) -> Callable[[Any], Any]:
    """Return ``f`` over an infinite interval as a function on (0, 1], as QUADPACK has it.

    ``a`` is -inf, or ``b`` is inf, or both.
    """

    def folded(t: Any) -> Any:
        x = (1.0 - t) / t
        if not both:
            return f(b - x if lower else a + x) / t / t
        return (f(x) + f(-x)) / t / t

    lower = isinstance(a, float) and math.isinf(a)
    both = lower and isinstance(b, float) and math.isinf(b)
    return folded
