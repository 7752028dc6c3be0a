"""Exact values and derivatives of one result element, with as many digits as they take.

Each operation has all digits of its own, but what cancels between operations is lost to any
number of digits: ``1 - expit(1000)`` is 0 with 400 of them. Where a comparison leaves a doubt,
the element is therefore computed again with more. Where the chain rule itself is 0/0 or 0 times
infinity (``x*sqrt(x)`` at 0), the derivative is the limit of those beside, if there is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._graph import Input, Node, topological
from ._expansion import Adjoint, Expansion, Pulled, pull
from ._numbers import Digits, finite, is_nan
from ._scalars import Scalar

#: Digits beyond those asked for, against cancellation between operations.
GUARD = 15
#: So many times the digits are used where a doubt is left.
DEEPER = (4, 16)
#: Decimal places of the distances at which a limit is looked for, and how many times as many
#: digits that takes: second derivatives of 0/0 cancel as the square of the distance.
BESIDE, CANCELLING = (60, 120), 4


@dataclass
class Exact:
    """A result element: its scalar, and its derivatives by the input elements.

    ``held`` says whether something that the result depends on was held constant, and
    ``pulled_held`` whether it was in the derivatives here.
    """

    context: Digits
    scalar: Scalar
    adjoints: dict[Scalar, Adjoint]
    visited: int = 0
    held: bool = False
    pulled_held: bool = False


class Exactness:
    """Exact values of a problem, an element at a time.

    Parameters
    ----------
    inputs:
        The inputs and their values.
    wrt:
        Those to differentiate by.
    digits:
        Digits that are asked for.
    """

    def __init__(
        self, inputs: Mapping[Node, np.ndarray[Any, Any]], wrt: Sequence[Input], digits: int
    ) -> None:
        self.inputs, self.wrt, self.digits = inputs, set(wrt), digits
        self.context = Digits(digits + GUARD)
        self._expansion = Expansion(self.context, inputs, self.wrt)
        self._deep: dict[Any, Expansion] = {}

    def at(self, node: Node, place: tuple[int, ...]) -> Exact:
        """Return an element with the digits asked for."""
        return self._of(self._expansion, node, place)

    def deeper(self, node: Node, place: tuple[int, ...]) -> Iterator[Exact]:
        """Yield the element with more and more digits."""
        if any(x.op.exact is not None for x in topological([node])):
            return  # what LAPACK computes has digits of its own
        for times in DEEPER:
            yield self._of(self._more(times, 0), node, place)

    def limits(self, node: Node, place: tuple[int, ...], known: Exact) -> Exact:
        """Return the element with limits for the derivatives that are nan, where they exist."""
        adjoints = dict(known.adjoints)
        for leaf, adjoint in adjoints.items():
            if is_nan(adjoint.value):
                sides = (self._limit(node, place, leaf.source, sign) for sign in (1, -1))
                found = [side for side in sides if side is not None]
                if found and all(self._agree(found[0], side) for side in found):
                    adjoints[leaf] = Adjoint(known.context.mpf(found[0]), known.context.zero)
        return Exact(known.context, known.scalar, adjoints, known.visited, known.held, True)

    # ---------------------------------------------------------------- with more digits

    def _more(self, times: int, nudge: Any) -> Expansion:
        key = (times, nudge)
        if key not in self._deep:
            context = Digits(times * (self.digits + GUARD))
            self._deep[key] = Expansion(context, self.inputs, self.wrt, nudge)
        return self._deep[key]

    def _limit(self, node: Node, place: tuple[int, ...], source: Any, sign: int) -> Any:
        """Return the limit of a derivative from one side of all inputs, None if it has none."""
        values = []
        for decimals in BESIDE:
            digits = CANCELLING * decimals
            context = Digits(self.digits + digits)
            nudge = sign * context.mpf(10) ** -decimals
            beside = self._of(Expansion(context, self.inputs, self.wrt, nudge), node, place)
            slope = next((a for leaf, a in beside.adjoints.items() if leaf.source == source), None)
            values.append(context.zero if slope is None else slope.value)
        far, near = values
        if not finite(far) or not finite(near):
            return None
        if abs(near) <= abs(far) * self.context.mpf(10) ** -(BESIDE[0] // 10):
            return self.context.zero
        if self._agree(near, far):
            return near
        if abs(near) >= 1.5 * abs(far) > 1:  # log(x) is twice as large at x**2
            return self.context.inf if near > 0 else -self.context.inf
        return None

    def _agree(self, x: Any, y: Any) -> bool:
        if not finite(x) or not finite(y):
            return not (finite(x) or finite(y))  # zeros have no sign here, nor have 1/0
        return bool(abs(x - y) <= abs(x) * self.context.mpf(10) ** (-self.digits // 2))

    # ---------------------------------------------------------------- derivatives

    def _of(self, expansion: Expansion, node: Node, place: tuple[int, ...]) -> Exact:
        scalar = expansion.scalar(node, place)
        context = expansion.context
        if not self.wrt:
            return Exact(context, scalar, {})
        pulled, held = self._pulled(context, scalar)
        return Exact(context, scalar, pulled.adjoints, pulled.visited, held, pulled.held)

    def _pulled(self, context: Digits, scalar: Scalar) -> tuple[Pulled, bool]:
        """Differentiate also what is held constant, if no result depends on it."""
        constant = pull(context, scalar, through=False)
        if not constant.held:
            return constant, False
        through = pull(context, scalar, through=True)
        same = through.adjoints.keys() >= constant.adjoints.keys() and all(
            self._same(context, a, constant.adjoints.get(leaf))
            for leaf, a in through.adjoints.items()
        )
        through.held = False
        return (through, False) if same else (constant, True)

    def _same(self, context: Digits, a: Adjoint, b: Adjoint | None) -> bool:
        other, error = (b.value, b.error) if b is not None else (0, 0)
        if not finite(a.value):
            return bool(a.value == other)
        slack = context.mpf(10) ** (-self.digits // 2)
        return bool(abs(a.value - other) <= slack * (abs(a.value) + a.error + error))
