"""Logarithms of products of powers, whose derivatives are taken factor by factor."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from .._graph import Node
from ._pattern import number_of
from ._way import Way, elementwise

FACTORS = frozenset(("Multiply", "Divide", "Square", "Sqrt", "Reciprocal", "Power", "FloatPower"))
#: The most factors of a product whose logarithm is differentiated factor by factor.
MOST = 16


def _factors(node: Node, barred: Collection[Node]) -> list[tuple[Node, float]] | None:
    """Return the factors of a product of powers and their exponents, None for too many."""
    found: list[tuple[Node, float]] = []
    stack = [(node, 1.0)]
    while stack:
        x, p = stack.pop()
        name = x.op.name
        power = number_of(x.operands[1]) if name in ("Power", "FloatPower") else None
        if x in barred or name not in FACTORS or (power is None and "Power" in name):
            if number_of(x) is None:
                found.append((x, p))
        elif name in ("Multiply", "Divide"):
            stack += [(x.operands[1], p if name == "Multiply" else -p), (x.operands[0], p)]
        else:
            given = {"Square": 2.0, "Sqrt": 0.5, "Reciprocal": -1.0}.get(name, power)
            assert given is not None
            stack.append((x.operands[0], p * given))
        if len(found) + len(stack) > MOST:
            return None
    return found


def log_of_product(node: Node, barred: Collection[Node]) -> Way | None:
    """``log(x**2*y/z)``: 2/x, 1/y, -1/z. What overflows in the product does not in these."""
    product = node.operands[0]
    if product.op.name not in FACTORS or product in barred:
        return None
    factors = _factors(product, barred)
    if factors is None or any(x is product for x, _ in factors):
        return None
    inner = [x.operands[0] if x.op.name == "Exp" and x not in barred else None for x, _ in factors]
    if not any(inner) and all(abs(p) == 1 for _, p in factors) and len(factors) < 2:
        return None  # of a number and a factor the chain rule is as good
    operands = tuple(x if e is None else e for (x, _), e in zip(factors, inner, strict=True))

    def slopes(y: Any, *xs: Any) -> tuple[Any, ...]:
        return tuple(
            p / x if e is None else p for (_, p), e, x in zip(factors, inner, xs, strict=True)
        )

    return elementwise(node, operands, slopes)


__all__ = ["FACTORS", "log_of_product"]
