"""The classes of ``grad_fn`` nodes, one for each op, with PyTorch's names, and their rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._op import Op, registry
from .._reverse import differentiable
from ._backs import BACKS, GUARDED, by_record
from ._composed import Composed
from ._node import Backward, wrapped
from ._rules import Rule, rule_of

#: PyTorch's names where they differ from the records'.
_TORCH = {
    "Multiply": "Mul", "Divide": "Div", "Subtract": "Sub", "Power": "Pow", "Negative": "Neg",
    "Absolute": "Abs", "Positive": "Clone", "Maximum": "Maximum", "Arctan2": "Atan2",
    "Arcsin": "Asin", "Arccos": "Acos", "Arctan": "Atan", "Arcsinh": "Asinh",
    "Arccosh": "Acosh", "Arctanh": "Atanh", "Remainder": "Remainder", "Expit": "Sigmoid",
    "Reshape": "View", "Broadcast": "Expand", "Transpose": "Permute", "Cast": "ToCopy",
    "Contract": "Bmm",
}  # fmt: skip

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


def classes_called(name: str) -> set[type[Backward] | None]:
    """Return the classes of the op of a name, and of steps that stand for it."""
    now = list(_classes.items())  # another thread may enter one
    known = {cls for op, cls in now if isinstance(op, Composed) and op.name == name}
    return known | ({backward_class(registry.ops[name])} if name in registry.ops else set())


def rule_for(cls: type[Backward], mask: int, count: int, params: dict[str, Any]) -> Rule:
    """Return the rule for gradients of some operands; made when first asked for.

    ``mask`` has a bit for each operand that requires a gradient.
    """
    key: Any = mask
    if params and cls.op.kind == "map":
        key = (mask, count, *sorted(params.items()))
    found = cls.rules.get(key)
    if found is None or len(found.needs) != count:
        wanted = [bool(mask >> k & 1) for k in range(count)]
        op = cls.op
        back, guarded = BACKS.get(op.name, by_record), GUARDED.get(op.name)
        if isinstance(op, Composed):
            back, guarded = op.back or by_record, op.guarded
        found = rule_of(op, wanted, params, back, guarded, type(wrapped(np.zeros(()))))
        cls.rules[key] = found
    return found


__all__ = ["backward_class", "classes_called", "rule_for"]
