"""What a gradient costs: its operations against the function's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .._graph import Node, topological
from .._op import Placing

#: The cheap-gradient principle: a gradient costs at most about this many functions, whatever
#: the number of inputs. A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008,
#: section 3.3: between 3 and 4 for programs of additions, products and elementary functions.
BOUND = 4.0


@dataclass(frozen=True)
class Cost:
    """Operations on single numbers, counted in the programs.

    Attributes
    ----------
    function, gradient:
        Operations of the function; of the function with its gradient.
    """

    function: int
    gradient: int

    @property
    def ratio(self) -> float:
        """How many functions the value and the gradient cost."""
        return self.gradient / max(self.function, 1)

    def __str__(self) -> str:
        side = "within" if self.ratio <= BOUND else "above"
        return (
            f"{self.gradient} operation{'s' * (self.gradient != 1)} for value and gradient, "
            f"{self.function} for the value: "
            f"{self.ratio:.2f} times, {side} the cheap-gradient bound of {BOUND:g}"
        )


def operations(outputs: Sequence[Node]) -> int:
    """Return the operations on single numbers behind ``outputs``; sizes must be numbers."""
    return sum(_operations(node) for node in topological(outputs))


def _operations(node: Node) -> int:
    kind = node.op.kind
    if kind == "map":
        return _size(node)
    if kind in ("reduce", "scan"):
        return _size(node.operands[0])
    if kind == "contract":
        sizes: dict[str, int] = {}
        for letters, x in zip((node.params["a"], node.params["b"]), node.operands, strict=True):
            sizes |= {letter: int(d) for letter, d in zip(letters, x.shape, strict=True)}
        return 2 * math.prod(sizes.values())
    if kind == "scatter":
        assert isinstance(node.op, Placing)
        return sum(_size(x) for x in node.operands[: node.op.parts_of(node.operands)])
    return 0  # moves elements


def _size(node: Node) -> int:
    return math.prod(map(int, node.shape))
