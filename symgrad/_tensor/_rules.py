"""A record's rule, made ready for eager use: what it reads, and what is wanted of it.

The rule of an elementwise op gives the derivatives by all operands. Run on traced values it
becomes a small graph, from which only what the wanted gradients need is kept: ``x**3`` needs
no logarithm for the exponent that is a constant, and ``x/5`` does not need its result. That is
done once for each op and set of operands; other ops run their rule as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import Context
from typing import Any

import numpy as np

from .._graph import Input
from .._op import Op
from .._reverse import differentiable, pull
from .._trace import Traced, as_node
from ..errors import SymgradError
from ._composed import Formula
from ._node import Backward, Rule

#: PyTorch's names of ``grad_fn`` where they differ from the records'.
_TORCH = {
    "Multiply": "Mul", "Divide": "Div", "Subtract": "Sub", "Power": "Pow", "Negative": "Neg",
    "Absolute": "Abs", "Positive": "Clone", "Arctan2": "Atan2",
    "Arcsin": "Asin", "Arccos": "Acos", "Arctan": "Atan", "Arcsinh": "Asinh",
    "Arccosh": "Acosh", "Arctanh": "Atanh", "Expit": "Sigmoid",
    "Reshape": "View", "Broadcast": "Expand", "Transpose": "Permute", "Cast": "ToCopy",
    "Contract": "Bmm",
}  # fmt: skip

#: Ops whose rule reads the result alone, and that are inner steps of shortcuts, which read the
#: operand: ``exp(x)`` overflows, ``x`` does not.
KEPT = frozenset(("Exp", "Expit", "Expm1", "Sqrt"))

_classes: dict[Op, type[Backward] | None] = {}


def backward_class(op: Op) -> type[Backward] | None:
    """Return the class of ``op``'s nodes, or None if no derivative flows through it."""
    try:
        return _classes[op]
    except KeyError:
        made = None
        if differentiable(op):
            name = f"{_TORCH.get(op.name, op.name)}Backward0"
            fields = {"__slots__": (), "op": op, "rules": {}, "__doc__": f"Back from {op.name}."}
            made = type(name, (Backward,), fields)
        return _classes.setdefault(op, made)


def rule_for(cls: type[Backward], mask: int, count: int, params: dict[str, Any]) -> Rule:
    """Return the rule for gradients of some operands; made when first asked for.

    ``mask`` has a bit for each operand that requires a gradient.
    """
    key: Any = (mask, count)
    if params and cls.op.kind == "map":
        key = (mask, count, *sorted(params.items()))
    found = cls.rules.get(key)
    if found is None:
        wanted = [bool(mask >> k & 1) for k in range(count)]
        # Whatever is being traced around it is none of its concern.
        found = cls.rules[key] = Context().run(_rule_of, cls.op, wanted, params)
    return found


def _rule_of(op: Op, wanted: Sequence[bool], params: Mapping[str, Any]) -> Rule:
    """Return the rule of ``op`` for gradients of the wanted operands."""
    needs, reads_result = _read_by(op, wanted)
    plain = Rule(needs, needs, reads_result)
    if op.kind != "map" or op.linear is not None:
        return plain
    inputs = [Input(f"x{k}", (), np.float64) for k in range(len(wanted) + 2)]
    ct, y, *xs = map(Traced, inputs)
    try:
        parts = pull(op, ct, y, xs, params, wanted)
    except (SymgradError, TypeError, ValueError):
        return plain  # a rule that does not trace
    formula = Formula(inputs, [None if p is None else as_node(p) for p in parts], weak=True)
    used = {k for _, _, read, _ in formula.calls for k in read} | set(formula.results)
    needs, reads_result = tuple(k + 2 in used for k in range(len(wanted))), 1 in used
    saves = tuple(needed or op.name in KEPT for needed in needs)
    return Rule(needs, saves, reads_result, formula)


def _read_by(op: Op, wanted: Sequence[bool]) -> tuple[tuple[bool, ...], bool]:
    """Return what the rule of an op may read: operands, result."""
    if op.linear is not None:  # it reads the operands in which it is not
        linear = op.linear.places(len(wanted))
        return tuple(k not in linear for k in range(len(wanted))), False
    if op.kind == "contract":  # linear in each: for the one it reads the other
        return (wanted[1], wanted[0]), False
    return (True,) * len(wanted), getattr(op, "reads_result", True)
