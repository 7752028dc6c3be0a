"""Which step of a program loses the digits.

Every step of the program is run twice: in floating point, as the kernel does, and exactly,
from the exact inputs. The error of each step, beside the errors of what it is made from,
shows where digits are lost: in a subtraction of nearly equal numbers, in a function that
magnifies what its operand is off.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from .._core.graph import Constant, Iota, Literal, Node, topological
from .._core.program import call_text
from .._core.trace import partials
from .._symbolic import text
from ..errors import UnsupportedError
from ._compare import spacing
from ._expansion import Expansion, TooLargeError
from ._numbers import Digits, finite
from ._rules import Rule
from ._scalars import Applied, Scalar

#: Steps and elements of a step that are looked at.
STEPS, ELEMENTS = 400, 16
#: Steps of more characters are written with letters for their operands.
LONGEST = 120


@dataclass(frozen=True)
class Loss:
    """The step that adds most to the error.

    Attributes
    ----------
    step:
        The step as mathematics.
    where:
        The user's line.
    before, after:
        The largest error of its operands, and its own, in ulp.
    """

    step: str
    where: str | None
    before: float
    after: float

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        if self.after <= 1.0:
            return f"no step: each is right to {max(self.after, 0.5):.2g} ulp"
        return f"{self.step}{place}: {self.after:.3g} ulp off, its operands {self.before:.3g}"


def loss(
    outputs: Sequence[Node], inputs: Mapping[Node, np.ndarray[Any, Any]], digits: int
) -> Loss | None:
    """Return the step behind ``outputs`` that magnifies errors most, or None if unknown.

    Parameters
    ----------
    outputs:
        Nodes of a program with sizes that are numbers.
    inputs:
        The values of its inputs.
    digits:
        Digits of the exact run.
    """
    context = Digits(digits)
    expansion = Expansion(context, dict(inputs), set())
    values: dict[Node, Any] = {}
    errors: dict[Node, float] = {}
    worst: Loss | None = None
    gain = 0.0
    order = topological(outputs)
    if len(order) > STEPS:
        return None
    for node in order:
        value = _floating(node, inputs, values)
        if value is None:
            return None
        values[node] = value
        if node.dtype.kind != "f" or not node.operands:
            errors[node] = 0.0
            continue
        try:
            errors[node] = _error(context, expansion, node, value)
        except (TooLargeError, UnsupportedError, NotImplementedError):
            return None
        before = max((errors[x] for x in node.operands), default=0.0)
        added = errors[node] / max(before, 0.5)
        if node.op.kind == "map" and added > gain:
            gain = added
            where = str(node.where) if node.where else None
            worst = Loss(step_text(node), where, before, errors[node])
    return worst


def step_text(node: Node) -> str:
    """Return a step as mathematics; if it is long, with letters for what it is made of."""
    forms = _forms(node)
    if forms is None:
        return str(node)
    operands = [forms[x] for x in node.operands]
    found = text(forms[node])
    if node.op.kind != "map":
        return found
    if forms[node].count_ops() <= max((x.count_ops() for x in operands), default=-1):
        # SymPy has carried it out: (x + 1) - 1 is x to it, and no subtraction.
        words = [text(x) if x.is_Atom or x.is_Function else f"({text(x)})" for x in operands]
        found = call_text(node.op, words, node.items)
    if len(found) <= LONGEST or node.op.sympy is None:
        return found
    letters = iter(sp.symbols("a b c d e", real=True))
    if any(x.dtype.kind == "b" for x in node.operands) or len(operands) > 5:
        return found
    short = [forms[x] if isinstance(x, Literal) else next(letters) for x in node.operands]
    return text(node.op.sympy(*short, **node.params))


def _forms(node: Node) -> dict[Node, Any] | None:
    """Return a step and those before it in SymPy, None if they are many; shapes are left out."""
    order = topological([node], limit=STEPS)
    if len(order) == STEPS:
        return None
    forms: dict[Node, Any] = {}
    for n in order:
        parts = [forms[x] for x in n.operands]
        forms[n] = parts[0] if n.op.name == "Reshape" else n._formula(parts)
    return forms


def _floating(
    node: Node, inputs: Mapping[Node, np.ndarray[Any, Any]], values: Mapping[Node, Any]
) -> Any:
    if node in inputs:
        return np.asarray(inputs[node])
    if isinstance(node, Literal):
        return np.asarray(node.value)
    if isinstance(node, Constant):
        return node.array
    if isinstance(node, Iota) or not node.operands:
        return None
    with np.errstate(all="ignore"):
        found = node.op.evaluate(*(values[x] for x in node.operands), **node.params)
    return np.asarray(found, node.dtype)


def _error(context: Any, expansion: Expansion, node: Node, value: Any) -> float:
    worst = 0.0
    for place in list(np.ndindex(*value.shape))[:ELEMENTS]:
        exact = expansion.scalar(node, place).value
        computed = float(value[place])
        if not finite(exact) or not np.isfinite(computed):
            if finite(exact) != bool(np.isfinite(computed)):
                return float("inf")
            continue
        unit = spacing(context, exact, node.dtype)
        worst = max(worst, float(abs(context.mpf(computed) - exact) / unit))
    return worst


# ---------------------------------------------------------------- what went wrong

# Runs only when a kernel was found wrong, to name the place: every operation behind the wrong
# entry is looked at, its record's derivative compared with SymPy's.


#: A rule further off than this is not only inaccurate.
WRONG = 1e-4
#: Operations that are looked at.
MOST = 20_000


def suspect(context: Digits, output: Scalar) -> str | None:
    """Name the first operation behind ``output`` that overflows or has a wrong rule."""
    for scalar in _behind(output):
        if _overflows(context, scalar):
            return (
                f"{scalar.source[0].op.name}{_line(scalar)} overflows {scalar.dtype}: it is "
                f"{context.nstr(scalar.value, 6)}"
            )
        if isinstance(scalar, Applied) and (found := _wrong_slope(context, scalar)) is not None:
            return found
    return None


def _wrong_slope(context: Digits, scalar: Applied) -> str | None:
    """Say by which operand an op's rule is wrong, if it is by one."""
    rule = scalar.calculus
    if not isinstance(rule, Rule) or not scalar.active or rule.held or rule.op.kind != "map":
        return None
    values = [p.value for p in scalar.parts]
    stated = _stated(scalar, values) if all(map(finite, (scalar.value, *values))) else None
    if stated is None:
        return None
    for k, slope in enumerate(scalar.slopes(context)):
        if slope is None or slope[2] or not finite(slope[0]):
            continue
        exact, given = float(slope[0]), stated[k]
        if math.isfinite(exact) and not (
            abs(given - exact) <= WRONG * abs(exact) + float(slope[1])
        ):
            return (
                f"the rule of {rule.op.name}{_line(scalar)} gives {given:.6g} for the "
                f"derivative by operand {k}, which is {exact:.6g}"
            )
    return None


def _overflows(context: Digits, scalar: Scalar) -> bool:
    if scalar.dtype.kind != "f" or not finite(scalar.value):
        return False
    return bool(abs(scalar.value) > context.mpf(float(np.finfo(scalar.dtype).max)))


def _line(scalar: Scalar) -> str:
    where = scalar.source[0].where
    return f" at {where}" if where else ""


def _behind(output: Scalar) -> list[Scalar]:
    """Return what ``output`` is computed from, in the order of computation."""
    seen: dict[int, Scalar] = {}
    stack = [output]
    while stack and len(seen) < MOST:
        scalar = stack.pop()
        if scalar.order not in seen:
            seen[scalar.order] = scalar
            stack += scalar.parts
    return [seen[order] for order in sorted(seen)]


def _stated(scalar: Applied, values: list[Any]) -> list[float] | None:
    """Return the derivatives by the record's rule, in floating point."""
    assert isinstance(scalar.calculus, Rule)
    op, params = scalar.calculus.op, scalar.calculus.params
    numbers = [np.float64(float(v)) for v in values]
    with np.errstate(all="ignore"):
        try:
            found = partials(op, np.float64(float(scalar.value)), numbers, params)
        except (TypeError, ValueError, AttributeError):
            return None  # a rule that needs arrays or integers
        return [0.0 if p is None else float(p) for p in found]
