"""Panels at limits that move together with a singularity of the integrand.

The action of an oscillator is the integral of ``sqrt(2*(e - v(x)))`` between its turning points,
which depend on ``e`` as the integrand does. Neither the integrand's value at a limit nor its
derivative at fixed nodes is what it takes (the period has infinity in both), but the derivative at
nodes that keep their place between the ends of a panel is integrable:

    d/dp of (b - c) * sum(w * f(b - (b - c)*u; p)),    b = b(p), c fixed.

Only the panel at the limit moves, so jumps elsewhere are where they are. Where that derivative is
not integrable either (the singularity stays behind), the rule of Kronrod and that of Gauss within
it do not agree on it, and it is nan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._api._at_values import jvp
from .._api._custom import custom_jvp, stop_gradient
from .._api._transforms import vmap
from .._core.graph import Input, Node, topological
from .._core.ops.np_common import is_traced
from .._core.trace import Traced, as_node, substitute
from ._panels import Panels, Rule, distances, nodes_of, weighed

Function = Callable[..., Any]

#: So many shared numbers are looked at one by one, whether the derivative with respect to each is
#: integrable.
FEW = 16

#: The two rules agree on what is integrable to so many parts of its size.
AGREEMENT = 1e-4

#: An integrand goes on into its limit if its value there is the one that its values at the nodes
#: lead to, but for so many parts of the largest of them.
CONTINUES = 1e-3


class Moving(NamedTuple):
    """An integrand and its limits, as functions of inputs of the graph.

    Attributes
    ----------
    x, y:
        The variable and the integrand.
    ends:
        The limits.
    leaves:
        All inputs on which these depend, but ``x``.
    shared:
        Positions among ``leaves`` of the real inputs on which both the integrand and a limit do.
    """

    x: Input
    y: Node
    ends: tuple[Node, Node]
    leaves: tuple[Input, ...]
    shared: tuple[int, ...]

    @classmethod
    def of(cls, x: Input, y: Node, ends: Sequence[Any]) -> Moving | None:
        """Return these; None if integrand and limits depend on no common real input."""
        low, high = map(as_node, ends)
        of_y = [n for n in topological([y]) if isinstance(n, Input) and n is not x]
        of_ends = [n for n in topological([low, high]) if isinstance(n, Input)]
        leaves = tuple(dict.fromkeys([*of_y, *of_ends]))
        shared = tuple(
            k for k, n in enumerate(leaves) if n.dtype.kind == "f" and n in of_y and n in of_ends
        )
        return cls(x, y, (low, high), leaves, shared) if shared and y.dtype.kind == "f" else None

    @property
    def few(self) -> bool:
        """Whether each shared number is looked at alone."""
        return sum(_size(self.leaves[k]) for k in self.shared) <= FEW

    def apart(self) -> list[Any]:
        """Return the limits as functions of what the integrand does not depend on, None of nothing.

        Their values are the same.
        """
        of_y = {n for n in topological([self.y]) if isinstance(n, Input)}
        held = {n: as_node(stop_gradient(Traced(n))) for n in self.leaves if n in of_y}
        nodes = substitute(self.ends, held)
        alone = [
            any(isinstance(n, Input) and n.dtype.kind == "f" and n not in of_y
                for n in topological([end]))
            for end in self.ends
        ]  # fmt: skip
        return [Traced(n) if own else None for n, own in zip(nodes, alone, strict=True)]

    def of_leaves(self, leaves: Sequence[Any]) -> tuple[Function, Sequence[Any]]:
        """Return integrand and limits by other values of the leaves; limits move by shared ones."""
        swap = dict(zip(self.leaves, map(as_node, leaves), strict=True))
        held = [x if k in self.shared else stop_gradient(x) for k, x in enumerate(leaves)]
        moved = dict(zip(self.leaves, map(as_node, held), strict=True))

        def f(x: Any) -> Any:
            return Traced(substitute([self.y], swap | {self.x: as_node(x)})[0])

        return f, [Traced(n) for n in substitute(self.ends, moved)]

    def singular(
        self, f: Function, own: Function, rule: Rule, panels: Panels, k: Any, end: Any, side: float,
        ray: float,
    ) -> Any:  # fmt: skip
        """Tell whether the integrand does not go on smoothly into a limit.

        Its value there says nothing then.
        """
        low, high, level = panels.low[k], panels.high[k], panels.level[k]
        end = stop_gradient(end)
        value, slope = (stop_gradient(v) for v in jvp(f, (end,), (np.ones_like(end),)))
        x, factor = nodes_of(rule, low, high, 0, 0)
        y = stop_gradient(weighed(own, x, factor))
        led_to = np.tensordot(_extrapolating(rule, side), y, axes=1)
        near = np.abs(value - led_to) <= CONTINUES * np.max(np.abs(y), axis=0)
        smooth = np.isfinite(value) & np.isfinite(slope) & near
        return (level > 0) | ~np.all(smooth)

    def panel(self, rule: Rule, panels: Panels, k: Any, which: int, one: Any, ray: float) -> Any:
        """Return the integral over the panel at a limit, whose nodes move with it.

        ``one``: whether the panel is at both limits. ``ray``: the direction of an infinite
        interval, ``x = limit + ray*(1/t - 1)``, of which the panel is in t.
        """
        edges = panels.low[k], panels.high[k]
        level, side = panels.level[k], panels.side[k]
        far, factor = distances(rule, level)
        middle = 0.5 * (1.0 + rule.nodes)
        share = np.where(level > 0, np.where(side > 0, 1.0 - far, far), middle)
        rest = np.where(level > 0, np.where(side > 0, far, 1.0 - far), middle[::-1])
        factor = np.where(level > 0, factor, 1.0)
        count = len(self.leaves)

        def terms(*given: Any) -> Any:
            """Return the integrand at the nodes by what all depends on, times half the width."""
            leaves, (a, b, both, share, rest, factor) = given[:count], given[count:]
            f, (low, high) = self.of_leaves(leaves)
            if ray:
                width = b - a
                gap = width * rest
                x = (low, high)[which] + ray * gap / (1.0 - gap)
                factor = factor / np.square(1.0 - gap)
            else:
                low = low if which == 0 else np.where(both, low, a)
                high = high if which == 1 else np.where(both, high, b)
                width = high - low
                x = np.where(share < rest, low + width * share, high - width * rest)
            y = vmap(f)(x)
            scale = np.reshape(factor, (-1, *(1,) * (np.ndim(y) - 1)))
            return 0.5 * width * (scale * y)

        given = [*map(Traced, self.leaves), *edges, one, share, rest, factor]
        if not self.few:
            return np.tensordot(rule.weights, terms(*given), axes=1)
        return integrable(terms, agreeing(rule), self.shared)(*given)


def _size(node: Node) -> int:
    """Return the number of elements; many if it is not known."""
    return int(np.prod(node.shape)) if all(isinstance(n, int) for n in node.shape) else FEW + 1


def _extrapolating(rule: Rule, side: float) -> Any:
    """Return the weights by which values at a rule's nodes lead to the one at an end."""
    apart = rule.nodes[:, None] - rule.nodes[None] + np.eye(len(rule.nodes))
    toward = side - rule.nodes[None] + np.zeros_like(apart)
    np.fill_diagonal(toward, 1.0)
    weights: Any = np.prod(toward / apart, axis=1)
    return weights


#: Sums of some terms of a rule as its result, and whether they agree with it.
Reduced = Callable[[Any], tuple[Any, Any]]


def agreeing(rule: Rule) -> Reduced:
    """Return the sum of values at a rule's nodes, trusted if Gauss' rule agrees with it."""

    def reduced(y: Any) -> tuple[Any, Any]:
        found = np.tensordot(rule.weights, y, axes=1)
        off = np.abs(found - np.tensordot(rule.gauss, y, axes=1))
        return found, off <= AGREEMENT * np.tensordot(rule.weights, np.abs(y), axes=1)

    return reduced


def integrable(terms: Function, reduced: Reduced, moving: Sequence[int]) -> Function:
    """Return the sum of ``terms(*args)``, with derivatives where these are integrable, too.

    With respect to each number of the arguments ``moving`` the derivative is taken alone, forward,
    so that it is known whether it can be trusted; and so to any order.
    """

    @custom_jvp
    def total(*args: Any) -> Any:
        found, trusted = reduced(terms(*args))
        return np.where(trusted, found, np.nan)

    @total.defjvp
    def rule_of(primals: Any, tangents: Any) -> tuple[Any, Any]:
        change: Any = 0.0
        for k in moving:
            for place in np.ndindex(*np.shape(primals[k])):
                one = np.zeros(np.shape(primals[k]))
                one[place] = 1.0

                def along(*args: Any, k: int = k) -> Any:
                    *rest, one = args

                    def of_one(x: Any) -> Any:
                        return terms(*rest[:k], x, *rest[k + 1 :])

                    return jvp(of_one, (rest[k],), (one,))[1]

                slope = integrable(along, reduced, moving)(*primals, one)
                change = change + slope * tangents[k][place]
        rest = [
            k for k, x in enumerate(primals)
            if k not in moving and is_traced(x) and x.dtype.kind == "f"
        ]  # fmt: skip

        def of_rest(*xs: Any) -> Any:
            args = list(primals)
            for k, x in zip(rest, xs, strict=True):
                args[k] = x
            return reduced(terms(*args))[0]

        if rest:
            given = tuple(primals[k] for k in rest), tuple(tangents[k] for k in rest)
            change = change + jvp(of_rest, *given)[1]
        return total(*primals), change

    return total


__all__ = ["Moving", "integrable"]
