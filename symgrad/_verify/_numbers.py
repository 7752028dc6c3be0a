"""Exact numbers: multiple precision with IEEE's meaning of infinities, nan and 1/0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np

#: Numbers beyond 2**HUGE count as infinite: exp(exp(exp(10))) must not fill the memory.
HUGE = 1_000_000


class Digits(mpmath.MPContext):  # type: ignore[misc]
    """An mpmath context of its own, so that no global precision is touched.

    Parameters
    ----------
    digits:
        The decimal digits to compute with.

    Attributes
    ----------
    lost:
        Set where rounded terms cancelled to (nearly) nothing: a smaller one may be missing.
    """

    lost = False

    def __init__(self, digits: int) -> None:
        super().__init__()
        self.dps = digits
        self._roundings: dict[np.dtype[Any], tuple[Any, Any]] = {}

    def rounding(self, dtype: np.dtype[Any]) -> tuple[Any, Any]:
        """Return the unit of rounding and the smallest positive number of a type."""
        found = self._roundings.get(dtype)
        if found is None:
            if dtype.kind == "f":
                info = np.finfo(dtype)
                found = self.mpf(float(info.eps)), self.mpf(float(info.smallest_subnormal))
            else:
                found = self.zero, self.zero
            self._roundings[dtype] = found
        return found


def finite(value: Any) -> bool:
    """Tell whether a number is neither infinite nor nan."""
    if isinstance(value, int):
        return True
    _, mantissa, exponent, _ = value._mpf_
    return bool(mantissa) or not exponent  # mpmath's encoding of infinities and nan


def is_nan(value: Any) -> bool:
    """Tell whether a number is nan."""
    return not finite(value) and value != value


def absorbs(context: Any, terms: Sequence[Any], total: Any) -> bool:
    """Tell whether terms cancel, so that what is left of their rounding may be anything.

    ``1 - tanh(300) + exp(-900)`` is the last term alone with 250 digits.
    """
    parts = [t._mpf_ for t in terms if not isinstance(t, int) and t != 0]
    if not parts or not finite(total):
        return False
    if isinstance(total, int) or total == 0:
        return True
    largest = max(exponent + bits for _, _, exponent, bits in parts)
    return bool(total._mpf_[2] + total._mpf_[3] < largest - context.prec + 16)


def real(context: Any, value: Any) -> Any:
    """Return a result as a real number: nan if it is complex, infinite if it is huge."""
    if isinstance(value, int):
        return value
    if not hasattr(value, "_mpf_"):
        if value.imag != 0:
            return context.nan
        value = value.real
    _, mantissa, exponent, bits = value._mpf_
    if mantissa and exponent + bits > HUGE:
        return context.inf if value > 0 else -context.inf
    return value


def reciprocal(context: Any, x: Any) -> Any:
    """Return ``1/x``; zeros have no sign here, so 1/0 is +inf."""
    return context.inf if x == 0 else context.one / x


def power(context: Any, x: Any, y: Any) -> Any:
    """Return ``x**y`` as C's pow has it."""
    if isinstance(y, int) and y > 0:
        return x**y
    if y == 0 or x == 1:
        return context.one
    if is_nan(x) or is_nan(y):
        return context.nan
    if x == 0:
        return context.zero if y > 0 else context.inf
    whole = isinstance(y, int) or (abs(y) < 2**64 and y == int(y))
    if x < 0 and not whole:
        return context.nan
    return real(context, context.power(x, int(y) if whole else y))


def heaviside(context: Any, x: Any, at_zero: Any = None) -> Any:
    """Return the unit step, by default one half at 0."""
    if x == 0:
        return context.mpf(0.5) if at_zero is None else at_zero
    return context.nan if is_nan(x) else 1 if x > 0 else 0


def extreme(largest: bool) -> Callable[..., Any]:
    """Return the maximum or minimum of numbers, nan if one is nan."""

    def pick(context: Any, *xs: Any) -> Any:
        if any(map(is_nan, xs)):
            return context.nan
        return max(xs) if largest else min(xs)

    return pick
