"""Limits of what the chain rule leaves as 0/0, from numbers very close to the point.

A partial derivative at a point is the limit of those beside it along its own axis, if that
exists and the function is continuous there (by the mean value theorem). Numbers at two distances
tell whether something converges, vanishes or grows without end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import mpmath

from ._numbers import finite, is_nan

#: Decimal places of the two distances.
BESIDE = (60, 120)
#: So many times as many digits are computed with: second derivatives of 0/0 cancel as the
#: square of the distance.
CANCELLING = 4
#: Directions in which all elements are moved: by more and more, as these powers.
SKEWS = (1, 2)


class Nudge(NamedTuple):
    """How the elements of the inputs are moved.

    Attributes
    ----------
    decimals:
        By ten to the power of minus this.
    sign:
        To which side.
    only:
        The element that is moved, ``(input, index)``; None for all.
    skew:
        The power of an element's number by which it is moved more than the first.
    """

    decimals: int
    sign: int
    only: Any
    skew: int = 0

    def of(self, context: Any, source: Any, number: int) -> Any:
        """Return by how much an element moves, the ``number``-th that was asked for."""
        if self.only not in (None, source):
            return 0
        return (
            self.sign
            * context.mpf(10) ** -self.decimals
            * (1 + context.mpf(self.skew * number) / 7)
        )


def limit(function: Callable[[Nudge], Any], only: Any = None) -> Any:
    """Return the limit of a function of nudges at none, None if it has none.

    Parameters
    ----------
    function:
        Gives a number, nan where it is not real.
    only:
        The element along whose axis it is looked for first; if the function is not real there,
        or without it, several directions must agree.
    """
    if only is not None:
        sides = _sides(function, [(1, only, 0), (-1, only, 0)])
        if sides:
            return _common(sides)
    return _common(_sides(function, [(sign, None, k) for k in SKEWS for sign in (1, -1)]))


def _sides(function: Callable[[Nudge], Any], ways: Iterable[tuple[int, Any, int]]) -> list[Any]:
    """Return the limits from the sides on which there are numbers, None for those without."""
    found = []
    for way in ways:
        far, near = (function(Nudge(decimals, *way)) for decimals in BESIDE)
        if not is_nan(far) and not is_nan(near):
            found.append(_end(far, near))
    return found


def _end(far: Any, near: Any) -> Any:
    """Return what two numbers at a distance and its square lead to."""
    if not finite(far) or not finite(near):
        return None if finite(far) or finite(near) else mpmath.inf
    if abs(near) <= abs(far) * mpmath.mpf(10) ** (-BESIDE[0] // 10):
        return mpmath.mpf(0)
    if _agree(far, near):
        return near
    return mpmath.inf if abs(near) >= 1.5 * abs(far) > 1 else None  # log(x**2) is 2*log(x)


def _common(sides: Sequence[Any]) -> Any:
    """Return what all sides agree on; zeros have no sign here, nor have infinities."""
    if not sides or any(side is None or not _agree(side, sides[0]) for side in sides):
        return None
    return sides[0]


def _agree(x: Any, y: Any) -> bool:
    if not finite(x) or not finite(y):
        return not (finite(x) or finite(y))
    return bool(abs(x - y) <= abs(x) * mpmath.mpf(10) ** (-BESIDE[0] // 2))
