"""Steps by the power series of the solution.

Source: A. Jorba, M. Zou, A software package for the numerical integration of ODEs by means of
high-order Taylor methods, Experiment. Math. 14, 2005.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._api._bodies import series_solution
from .._core.ops.series import added
from ._ode_steps import Step, Trial, mean_square
from ._ode_structure import Slope, inline

#: How much smaller each term of a series is than the one before at the best length of a step.
RATIO = np.exp(-2.0)


#: How long a step is, of what it might be: what is too long is made shorter, and waited for.
SAFE = 0.8

#: Its inverse is a number.
TINY = 1e-300

#: Where in a step the slope is compared with its series, if that may be another behind a jump.
CHECKED = (0.25, 0.5, 0.75, 1.0)


class Taylor:
    """The solution's own power series, as far as an order: stages are its terms.

    The last two terms tell how far it converges; two, since every other term may be zero. But of a
    jump or a kink of the right-hand side a series knows nothing before it is there. Where there are
    comparisons, the slope is therefore compared with its series within the step, and where the two
    differ, the defect, the step was too long.
    """

    jacobians: int = 0
    complex: bool = True
    dense_evaluations: int = 0

    def __init__(self, terms: int) -> None:
        self.order = terms - 1
        self.evaluations = self.stages = terms
        # A root by square roots alone; of a higher degree than that of the error it says less.
        self.root = 1 << terms.bit_length()
        self.safety = float(SAFE ** (self.order / self.root))

    def trial(self, slope: Slope, t: Any, y: Any, f: Any, unit: Any) -> Trial:
        unit = np.where(np.abs(unit) > TINY, unit, TINY)
        terms, smooth = series_solution(inline(slope), t, y, unit, self.evaluations)
        inverse = 1.0 / unit

        def step(h: Any) -> Step:
            powers = powers_of(h * inverse, len(terms))
            stages = [term * power for term, power in zip(terms, powers, strict=True)]
            # The next series begins with its slope.
            return Step(y + summed(stages), f, stages, None if smooth else defect(h, stages))

        def errors(scale: Any, h: Any) -> tuple[Any, Any]:
            # Lengths differ little from step to step: one unit on, the state is about as large.
            weight = 1.0 / scale(y + summed(terms[:-2]))
            before, last = self._squares(terms, weight)
            x = h * inverse
            power = powers_of(x, len(terms) - 1)[-1]
            found = (power * power) * np.maximum((x * x) * last, before)
            return np.sqrt(found), np.sqrt(np.maximum(last, before))

        def defect(h: Any, stages: list[Any]) -> Any:
            largest: Any = 0.0
            for x in CHECKED:
                inside = y + added([term * x**k for k, term in enumerate(stages, 1)][::-1])
                rates = [term * (k * x ** (k - 1)) for k, term in enumerate(stages, 1)]
                found = h * slope(t + x * h, inside)
                largest = np.maximum(largest, np.abs(found - added(rates[::-1])))
            return largest

        return Trial(step, errors if smooth else None)

    def error(self, step: Step, h: Any, scale: Any) -> Any:
        weight = 1.0 / scale
        before, last = self._squares(step.stages, weight)
        found = np.maximum(last, before)
        if step.defect is not None:
            # That of a smooth solution is the next term times its order: a quarter is less.
            found = np.maximum(found, 0.0625 * mean_square(step.defect * weight))
        return np.sqrt(found)

    def _squares(self, terms: Sequence[Any], weight: Any) -> tuple[Any, Any]:
        """Return the squares of two estimates of the error, by the last term but one and the last.

        The first term that is left out is smaller than the last by RATIO, and at least by a half of
        its logarithm.
        """
        before, last = (mean_square(x * weight) for x in terms[-2:])
        return RATIO**3 * before, RATIO * last

    def dense(self, slope: Slope, t: Any, y: Any, h: Any, stages: Sequence[Any]) -> list[Any]:
        return list(stages)


def powers_of(x: Any, count: int) -> list[Any]:
    """Return ``x``, ``x**2``, ... by few products that wait for each other."""
    powers = [x]
    for k in range(2, count + 1):
        powers.append(powers[k // 2 - 1] * powers[k - k // 2 - 1])
    return powers


def summed(terms: Sequence[Any]) -> Any:
    """Return the sum of terms of a series; those that were found last come last."""
    half = len(terms) // 2
    return sum(terms[1:half], terms[0]) + sum(terms[half + 1 :], terms[half])
