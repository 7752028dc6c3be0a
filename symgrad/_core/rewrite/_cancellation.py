"""Formulas that lose digits, and equal ones that do not.

Each identity is a pair of NumPy functions: what users write, and what is computed in its
place. It holds for all real numbers of its domain (the tests have SymPy prove that), it is
infinite or nan exactly where the original is, and it keeps the sign of a zero (that is what
``+ 0.0`` is for). Where it differs, it is by rounding, and to the better: the error stays
within two units in the last place (or what the function called has), or within that of the
original. Only a zero that was all rounding becomes the small number that it stands for.

The rounding of an inner step may be wanted. W. Kahan's ``u = 1 + x; x*log(u)/(u - 1)`` is
exact because ``log(u)`` and ``u - 1`` see the same rounded ``u``; with ``log1p(x)`` it would
be wrong. So an identity is not applied where an inner step is also used by anything that
could compare or cancel it: it may only be multiplied, divided, or returned.

Sources: W. Kahan, Branch cuts for complex elementary functions, 1987; M. Mächler, Accurately
computing log(1 - exp(-|a|)), R package Rmpfr, 2012; N. Higham, Accuracy and Stability of
Numerical Algorithms, 2nd ed., SIAM 2002, ch. 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.scipy_names import special
from ..graph import Node
from ..op import registry
from ..trace import Traced, as_node, cast
from ._matcher import Index, Row, between

OPS = registry.ops
#: Ops whose result keeps the relative error of an operand: no cancellation, no comparison.
_HARMLESS = frozenset((
    "Multiply", "Divide", "Negative", "Reciprocal", "Power", "FloatPower", "Square", "Sqrt", "Cbrt",
))  # fmt: skip


@dataclass(frozen=True)
class Identity(Row):
    """A formula and a better one.

    Parameters
    ----------
    name:
        The identity in words or symbols.
    written, computed:
        NumPy functions of the same operands: what is found, and what is put in its place.
    samples:
        ``(low, high)`` for each operand: where the tests measure both.
    """

    name: str
    written: Callable[..., Any]
    computed: Callable[..., Any]
    samples: tuple[tuple[float, float], ...]
    sees: frozenset[str] | None = None

    def applies(
        self, node: Node, found: tuple[Node, ...], users: Mapping[Node, Sequence[Node]]
    ) -> bool:
        """Tell whether no other use of an inner step could want its rounding.

        ``found`` are the operands that the pattern found, ``users`` tells which nodes have a
        node among their operands.
        """
        if any(x.shape != node.shape for x in found):
            return False
        inner = between(node, found)
        return all(
            user is node or user in inner or user.op.name in _HARMLESS
            for x in inner
            for user in users.get(x, ())
        )

    def build(self, node: Node, operands: Sequence[Node]) -> Node:
        """Return what is computed in the place of ``node``."""
        return cast(as_node(self.computed(*map(Traced, operands))), node.dtype)


def _half_sine(x: Any) -> Any:
    s = np.sin(0.5 * x)
    return 2.0 * s * s


_PLAIN: tuple[Identity, ...] = (
    Identity("log(1 + x) = log1p(x)", lambda x: np.log(1 + x), lambda x: np.log1p(x) + 0.0,
             ((-0.5, 1),)),
    Identity("log(1 - x) = log1p(-x)", lambda x: np.log(1 - x), lambda x: np.log1p(-x) + 0.0,
             ((-1, 0.5),)),
    Identity("exp(x) - 1 = expm1(x)", lambda x: np.exp(x) - 1, lambda x: np.expm1(x) + 0.0,
             ((-1, 1),)),
    Identity("1 - exp(x) = -expm1(x)", lambda x: 1 - np.exp(x), lambda x: 0.0 - np.expm1(x),
             ((-1, 1),)),
    Identity("1 - cos(x) = 2*sin(x/2)**2", lambda x: 1 - np.cos(x), _half_sine, ((-1, 1),)),
    Identity("cos(x) - 1 = -2*sin(x/2)**2", lambda x: np.cos(x) - 1,
             lambda x: 0.0 - _half_sine(x), ((-1, 1),)),
    Identity("1 - tanh(x)**2 = 1/cosh(x)**2", lambda x: 1 - np.tanh(x) ** 2,
             lambda x: OPS["SechSquared"](x), ((-20, 20),)),
    Identity("1 - sin(x)**2 = cos(x)**2", lambda x: 1 - np.sin(x) ** 2,
             lambda x: np.cos(x) ** 2, ((1, 2),)),
    Identity("1 - cos(x)**2 = sin(x)**2", lambda x: 1 - np.cos(x) ** 2,
             lambda x: np.sin(x) ** 2, ((-1, 1),)),
    Identity("1 - x**2 = (1 - x)*(1 + x)", lambda x: 1 - x**2, lambda x: (1 - x) * (1 + x),
             ((0.5, 1.5),)),
    Identity("x**2 - 1 = (x - 1)*(x + 1)", lambda x: x**2 - 1, lambda x: (x - 1) * (x + 1) + 0.0,
             ((0.5, 1.5),)),
    Identity("1 - expit(x) = expit(-x)", lambda x: 1 - special.expit(x),
             lambda x: special.expit(-x), ((0, 40),)),
    Identity("log(sqrt(x)) = log(x)/2", lambda x: np.log(np.sqrt(x)), lambda x: 0.5 * np.log(x),
             ((0.9, 1.1),)),
)  # fmt: skip
#: Those of special functions, which may not be loaded.
_OF_SPECIAL: tuple[Identity, ...] = (
    Identity("1 - erf(x) = erfc(x)", lambda x: 1 - special.erf(x), lambda x: special.erfc(x),
             ((0, 5),)),
    Identity("1 - erfc(x) = erf(x)", lambda x: 1 - special.erfc(x),
             lambda x: special.erf(x) + 0.0, ((-1, 1),)),
    Identity("1 - ndtr(x) = ndtr(-x)", lambda x: 1 - special.ndtr(x),
             lambda x: special.ndtr(-x), ((0, 8),)),
)  # fmt: skip
IDENTITIES = (*_PLAIN, *_OF_SPECIAL)
INDEX = Index(_PLAIN, _OF_SPECIAL)
