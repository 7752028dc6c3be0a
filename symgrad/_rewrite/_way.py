"""How derivatives go past the steps of a formula, and what a shortcut is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from .._graph import Node
from .._trace import Traced
from ._matcher import Row


@dataclass(frozen=True)
class Way:
    """How derivatives go past the steps of a formula, to its operands.

    ``pull(ct)`` gives a cotangent for each of ``operands``; ``push(tangents)``, with None for
    zero, the tangent of the result. ``support`` is as in a record; elementwise ways need none.
    """

    operands: tuple[Node, ...]
    pull: Callable[[Any], Sequence[Any]]
    push: Callable[[Sequence[Any]], Any]
    elementwise: bool = True
    support: Callable[[Any], Sequence[Any]] | None = None


@dataclass(frozen=True)
class Shortcut(Row):
    """The derivative of an elementwise formula.

    Parameters
    ----------
    name:
        The formula and, for people, what its derivative is.
    written:
        The NumPy function that is looked for.
    slopes:
        ``slopes(y, *operands)``: the derivatives of the result ``y`` by the operands.
    samples:
        ``(low, high)`` for each operand: where the tests measure.
    where:
        ``where(*nodes)``: a condition on what stands for the operands.
    sees:
        Ops of which one must be among the operands; None for any.
    """

    name: str
    written: Callable[..., Any]
    slopes: Callable[..., tuple[Any, ...]]
    samples: tuple[tuple[float, float], ...]
    where: Callable[..., bool] = lambda *_: True
    sees: frozenset[str] | None = None

    def find(self, node: Node, barred: Collection[Node]) -> Way | None:
        """Return the way past ``node``, or None where the formula is another."""
        found = self.found(node, barred)
        if found is None or not self.where(*found):
            return None
        return elementwise(node, found, self.slopes)


def elementwise(
    node: Node, operands: tuple[Node, ...], slopes: Callable[..., tuple[Any, ...]]
) -> Way:
    """Return the way past a node by its derivatives, ``slopes(y, *operands)``, by each operand."""

    def at() -> tuple[Any, ...]:
        return slopes(Traced(node), *map(Traced, operands))

    def push(tangents: Sequence[Any]) -> Any:
        terms = [t * s for t, s in zip(tangents, at(), strict=True) if t is not None]
        return sum(terms[1:], start=terms[0])

    return Way(operands, lambda ct: [ct * s for s in at()], push)


@dataclass(frozen=True)
class Reduced(Row):
    """The derivative of a formula that is found by a function, such as the log of a sum.

    Parameters
    ----------
    name:
        The formula and, for people, what its derivative is.
    find:
        ``find(node, barred)`` returns the way past ``node``, or None where there is none.
    written, sees:
        The ops at which it begins, and those of which one must be among the operands.
    """

    name: str
    find: Callable[[Node, Collection[Node]], Way | None]
    written: tuple[str, ...] = ("Log",)
    sees: frozenset[str] | None = None
