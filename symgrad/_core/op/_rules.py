"""How an op is differentiated: one of four kinds of rule, or the derivative of a SymPy form.

Rules are plain NumPy over the operands and the result. So one rule runs on traced values
(compiled adjoints, derivatives of derivatives), on arrays (eager), and on SymPy symbols (where the
tests prove it against ``sympy.diff``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Partials:
    """Of a map: ``of(y, *xs, **params)``, the derivatives by each operand, elementwise.

    An entry may be None: it is zero everywhere.
    """

    of: Callable[..., Any]


#: Of operands that come in pairs, all first ones before all second ones: the first ones.
HALF = "half"


@dataclass(frozen=True)
class Linear:
    """Of an op that is linear in some operands: its transpose.

    Parameters
    ----------
    transpose:
        ``transpose(ct, *operands, **params)`` gives one cotangent for each operand, None where the
        op is not linear.
    operands:
        The operands in which it is linear, by number; None: in all; ``HALF``: in the first half.
        A map is the operand itself where that is taken.
    """

    transpose: Callable[..., Any]
    operands: tuple[int, ...] | str | None = None

    def places(self, count: int) -> tuple[int, ...]:
        """Return by number the operands, of ``count``, in which the op is linear."""
        if isinstance(self.operands, tuple):
            return self.operands
        return tuple(range(count // 2 if self.operands == HALF else count))


@dataclass(frozen=True)
class Products:
    """The products of the Jacobian with a vector, from either side.

    Parameters
    ----------
    vjp:
        ``vjp(ct, y, *operands, **params)`` gives one cotangent or None for each operand. Of loops
        and branches ``vjp(cts, node, wanted)``: ``cts`` maps the node's results to their
        cotangents.
    jvp:
        ``jvp(tangents, y, *operands, **params)``, where zero tangents are None. Of loops and
        branches ``jvp(tangents, node)``: a function from a result node to its tangent, or None.
    aside:
        Operands that are others in another form, as a matrix's factors: the products are those
        by the others, which these are no part of.
    """

    vjp: Callable[..., Any]
    jvp: Callable[..., Any]
    aside: tuple[int, ...] = ()


@dataclass(frozen=True)
class NoRule:
    """No derivative, and why."""

    reason: str


Rule = Partials | Linear | Products | NoRule
