"""Exact values and derivatives of one result element, with as many digits as they take.

Each operation has all digits of its own, but what cancels between operations is lost to any
number of digits: ``1 - expit(1000)`` is 0 with 400 of them. Where a comparison leaves a doubt,
the element is therefore computed again with more. Where the chain rule itself is 0/0 or 0 times
infinity (``x*sqrt(x)`` at 0), the derivative is the limit of those beside, if there is one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .._core.graph import Input, Node, topological
from .._core.op import Evidence
from ._expansion import Adjoint, Expansion, Pulled, pull
from ._numbers import Digits, finite
from ._numeric_calculus import CANCELLING, Nudge, limit
from ._scalars import Scalar

#: Digits beyond those asked for, against cancellation between operations.
GUARD = 15
#: So many times the digits are used where a doubt is left.
DEEPER = (4, 16)


@dataclass
class Exact:
    """A result element: its scalar and value, and its derivatives by the input elements.

    The value is the scalar's, or a limit. ``held`` says whether something that the result
    depends on was held constant. ``alone`` says that SymPy's derivative of the whole expression
    is another: it holds nothing constant, and takes no limits.
    """

    context: Digits
    scalar: Scalar
    adjoints: dict[Scalar, Adjoint]
    visited: int = 0
    held: bool = False
    alone: bool = False
    value: Any = None

    def __post_init__(self) -> None:
        if self.value is None:
            self.value = self.scalar.value


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
        if any(Evidence.of(x.op).exact is not None for x in topological([node])):
            return  # what LAPACK computes has digits of its own
        for times in DEEPER[:1] if self._expansion.special else DEEPER:
            yield self._of(self._more(times), node, place)

    def limits(
        self, node: Node, place: tuple[int, ...], known: Exact, unknown: Collection[Scalar]
    ) -> Exact:
        """Return the element with limits for what is nan, where they exist.

        ``unknown`` are the input elements whose derivatives are looked for, and the element's own
        scalar if its value is.
        """
        value, adjoints = known.value, dict(known.adjoints)

        def valued(nudge: Nudge) -> Any:
            return self._more(1, nudge).scalar(node, place).value

        def slope(leaf: Scalar, nudge: Nudge) -> Any:
            beside = self._of(self._more(1, nudge), node, place)
            by = next((a for x, a in beside.adjoints.items() if x.source == leaf.source), None)
            return known.context.zero if by is None else by.value

        if known.scalar in unknown:
            found = limit(valued)
            value = value if found is None else known.context.mpf(found)
        for leaf in known.adjoints:
            found = limit(partial(slope, leaf), leaf.source) if leaf in unknown else None
            if found is not None:
                adjoints[leaf] = Adjoint(known.context.mpf(found), known.context.zero)
        return replace(known, value=value, adjoints=adjoints, alone=True)

    def _more(self, times: int, nudge: Nudge | None = None) -> Expansion:
        key = (times, nudge)
        if key not in self._deep:
            digits = times * (self.digits + GUARD)
            context = Digits(digits + (CANCELLING * nudge.decimals if nudge else 0))
            self._deep[key] = Expansion(context, self.inputs, self.wrt, nudge)
        return self._deep[key]

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
