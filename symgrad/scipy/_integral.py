"""One integral of a traced function, and its derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .._api._at_values import jvp
from .._api._custom import custom_jvp, stop_gradient
from .._api._transforms import vmap
from .._core.base.state import now, repeating, within_body
from .._core.graph import Input
from .._core.ops.np_common import is_traced
from .._core.trace import Traced, as_node, substitute
from ._limits import Moving
from ._panels import GK15, GK21, Norm, Panels, Rule, infinite, refined, summed
from ._versions import floats, one_number

Function = Callable[..., Any]


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


def integral(
    f: Function, like: Any, a: Any, b: Any, epsabs: Any, epsrel: Any, limit: int, points: Any,
    norm: Norm,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return the integral of a traced function, nan if it is not found, its error, and counts.

    The derivative with respect to what ``f`` closes over is that of the rule on the panels, which
    are not differentiated; with respect to the limits it is the function's value there. So it is
    right for functions with jumps, too, and to any order. Where ``f`` is singular at a limit that
    moves together with what ``f`` closes over, neither of the two exists without the other: there
    the panel at that limit moves (:mod:`._limits`).
    """
    a, b = _ends(a, b)
    moving = is_traced(a), is_traced(b)
    x = Input("x", (), np.float64)
    together = None
    if any(moving):
        with within_body(), repeating():
            together = Moving.of(x, as_node(f(Traced(x))), (a, b))
    return _between_ends(f, like, a, b, moving, epsabs, epsrel, limit, points, norm, together)


def _ends(a: Any, b: Any) -> Iterator[Any]:
    """Return limits as numbers of the trace, or Python's."""
    found = (one_number(x, "a limit of an integral", "sg.vmap of an integral") for x in (a, b))
    return (1.0 * x if is_traced(x) else float(x) for x in found)


def _between_ends(
    f: Function, like: Any, a: Any, b: Any, moving: Sequence[bool], epsabs: Any, epsrel: Any,
    limit: int, points: Any, norm: Norm, together: Moving | None = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Do so for limits with respect to which derivatives may be asked for if they are ``moving``.

    ``together``: the integrand and its limits, if they depend on the same inputs.
    """
    sign, rule, own = 1.0, GK21, f
    endless = [isinstance(x, float) and math.isinf(x) for x in (a, b)]
    low, high = (stop_gradient(x) if moves else x for x, moves in zip((a, b), moving, strict=True))
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
    if together is None or all(endless):
        smooth = sign * summed(own, rule, panels, value)
        for end, side, moves in zip((a, b), (-1.0, 1.0), moving, strict=True):
            if moves:
                smooth = smooth + side * _beyond(f, end)
    else:
        infinity = [end for end, known in zip((a, b), endless, strict=True) if known]
        ray = math.copysign(1.0, infinity[0]) if infinity else 0.0
        smooth = _with_ends(f, own, (a, b), moving, rule, panels, value, together, sign, ray)
    each = len(rule.nodes) * (1 + all(endless))
    counts = {"neval": each * panels.measured, "last": panels.count}
    return _with_derivative(stop_gradient(value), smooth), np.sum(panels.error), counts


def _with_ends(
    f: Function, own: Function, ends: Sequence[Any], moving: Sequence[bool], rule: Rule,
    panels: Panels, like: Any, together: Moving, sign: float, ray: float,
) -> Any:  # fmt: skip
    """Return the integral by given panels, of which those at singular limits move with them.

    ``ray``: 1 or -1 if it goes from one limit to infinity or minus infinity, else 0. ``own`` is
    the integrand on the panels then, and the limit lies at their upper end.
    """
    edges = [panels.high == 1.0] * 2
    if not ray:
        edges = [panels.low == stop_gradient(ends[0]), panels.high == stop_gradient(ends[1])]
    last = [np.argmax(np.where(edge, 1, 0)) for edge in edges]
    one = np.asarray(False) if ray else last[0] == last[1]
    singular = [
        together.singular(f, own, rule, panels, k, end, 1.0 if ray else side, ray) if moves else
        np.asarray(False)
        for k, end, side, moves in zip(last, ends, (-1.0, 1.0), moving, strict=True)
    ]  # fmt: skip
    both = singular[0] | singular[1]
    singular = [np.where(one, both, x) for x in singular]
    rows = np.arange(panels.low.shape[0])
    left_out = (singular[0] & (rows == last[0])) | (singular[1] & (rows == last[1]))
    total = sign * summed(own, rule, panels, like, left_out)
    apart = together.apart()
    for n, (k, end, side, moves) in enumerate(zip(last, ends, (-1.0, 1.0), moving, strict=True)):
        if moves or not ray:
            part = sign * together.panel(rule, panels, k, n, one, ray)
            if ray:  # all of the panel moves: what its other end moves over is counted twice
                first = panels.low[k]
                inner = end + ray * (1.0 / np.where(first > 0, first, 1.0) - 1.0)
                part = part - sign * ray * np.where(first > 0, _beyond(f, inner), 0.0)
            total = total + np.where(singular[n] & (~one | (n == 1)), part, 0.0)
        if moves:
            alone = apart[n]
            beyond = 0.0 if alone is None else _beyond(f, alone)
            total = total + side * np.where(singular[n], beyond, _beyond(f, end))
    return total


def shared(
    f: Function, a: Any, b: Any, epsabs: Any, epsrel: Any, limit: int
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return the integral of a number; of one integrand it is made once, for limits of any value.

    Of one is what gives the same graph of the same stand-in: a function may be another one each
    time that it is called.
    """
    known = now().pulled
    if known is None or now().promised or is_traced(epsabs) or is_traced(epsrel):
        return integral(f, 0.0, a, b, epsabs, epsrel, limit, None, np.abs)
    ends = [*_ends(a, b)]
    x = known.setdefault(("integrand", now().scope), Input("x", (), np.float64))
    with within_body(), repeating():
        y = as_node(f(Traced(x)))
    moving = [is_traced(end) for end in ends]
    together = Moving.of(x, y, ends) if any(moving) else None
    if together is not None:  # which inputs they share is part of what the integral is
        key = ("integral", y, *(as_node(end) for end in ends), epsabs, epsrel, limit)
        if key not in known:
            known[key] = _between_ends(
                lambda t: Traced(substitute([y], {x: as_node(t)})[0]), 0.0, ends[0], ends[1],
                moving, epsabs, epsrel, limit, None, np.abs, together,
            )  # fmt: skip
        value, error, counts = known[key]
        return value, error, counts
    # A lower limit that is a number is mostly the same one.
    fixed = not moving[0], not moving[1] and math.isinf(ends[1])
    parts = [end if own else None for end, own in zip(ends, fixed, strict=True)]
    key = ("integral", y, *moving, *parts, epsabs, epsrel, limit)
    if key not in known:
        inputs = [Input(name, (), np.float64) for name in "ab"]
        low, high = (Traced(i) if e is None else e for e, i in zip(parts, inputs, strict=True))
        value, error, counts = _between_ends(
            lambda t: Traced(substitute([y], {x: as_node(t)})[0]), 0.0, low, high, moving, epsabs,
            epsrel, limit, None, np.abs,
        )  # fmt: skip
        known[key] = inputs, [*map(as_node, (value, error, *counts.values()))], counts.keys()
    inputs, nodes, names = known[key]
    found = substitute(nodes, dict(zip(inputs, map(as_node, ends), strict=True)))
    value, error, *rest = map(Traced, found)
    return value, error, dict(zip(names, rest, strict=True))


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
