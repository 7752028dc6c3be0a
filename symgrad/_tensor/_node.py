"""The way back: one ``grad_fn`` for each recorded op.

A node knows its op, the operands that the op's rule reads, and the nodes behind them. What
a rule reads is found out by running it on traced values once, so that memory is held only
for what the derivative needs, and an in-place write is an error only if it matters.

Nodes are numbered in the order in which they are made, so they are in topological order by
number; a number also dates the writes into a tensor's memory.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._graph import Where
from .._op import Op
from .._ops import unbroadcast
from .._reverse import differentiable, pull
from ..errors import BackwardError
from ._rules import Rule, read_by, rule_of

if TYPE_CHECKING:
    from ._tensor import Tensor

#: The clock of nodes and of writes into memory.
clock = itertools.count(1)
_leaf_clock = itertools.count(1)

#: One byte to make arrays of zeros from that take no memory.
_ZERO = bytes(16)


class Cell:
    """What happened to a piece of memory that tensors share.

    ``written`` is the date of the last write, ``rebased`` that of the last write that was
    recorded; ``leaf`` says that a leaf that requires gradients has the memory.
    """

    __slots__ = ("leaf", "rebased", "written")

    def __init__(self) -> None:
        self.written = self.rebased = 0
        self.leaf = False


class Extra:
    """What few nodes have: hooks, and tensors that asked to keep their gradient."""

    __slots__ = ("hooks", "retained")

    def __init__(self) -> None:
        self.hooks: dict[int, Callable[[Any], Any]] = {}
        self.retained: list[weakref.ref[Tensor]] = []


class Node:
    """A step of the way back; see :class:`Backward` and :class:`AccumulateGrad`."""

    __slots__ = ("__weakref__", "edges", "extra", "seq", "where")
    edges: tuple[Node | None, ...]
    extra: Extra | None
    seq: int
    where: Where | None

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes behind the operands as ``(grad_fn, 0)``; ``(None, 0)`` for constants."""
        return tuple((edge, 0) for edge in self.edges)

    @next_functions.setter
    def next_functions(self, pairs: Sequence[tuple[Node | None, int]]) -> None:
        self.edges = tuple(node for node, _ in pairs)

    def name(self) -> str:
        """Return the class name, as PyTorch's nodes do."""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    def extras(self) -> Extra:
        """Return the node's extras, made when first asked for."""
        if self.extra is None:
            self.extra = Extra()
        return self.extra


class AccumulateGrad(Node):
    """The end of the way back: adds what arrives to the ``.grad`` of a leaf.

    There is one for each leaf. Calling it with a gradient adds that gradient, and returns
    the empty tuple.
    """

    __slots__ = ("variable",)

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable
        self.edges, self.extra, self.where = (), None, None
        self.seq = -next(_leaf_clock)  # before every op

    def __call__(self, gradient: Any) -> tuple[()]:
        given = np.asarray(getattr(gradient, "_data", gradient), self.variable.dtype)
        self.variable._accumulate(given, None)
        return ()


class Backward(Node):
    """The local derivative of one op: what ``grad_fn`` is of a tensor that an op made.

    Attributes
    ----------
    op, params:
        The op's record and static parameters.
    saved:
        For each operand the tensor or constant, or its shape and type where the rule does
        not read it; None once freed.
    result:
        The op's result, where the rule reads it.
    """

    __slots__ = ("cell", "needs", "params", "result", "rule", "saved")
    op: ClassVar[Op]
    plans: ClassVar[dict[Any, tuple[Rule | None, tuple[bool, ...], bool]]]
    rule: Rule | None
    params: dict[str, Any]
    saved: tuple[Any, ...] | None
    needs: tuple[bool, ...]
    result: Any
    cell: Cell | None

    def __call__(self, gradient: Any) -> Any:
        """Apply the local derivative to a gradient.

        Returns
        -------
        Tensor or tuple
            The gradients of the operands, None for constants; of a single operand its
            gradient alone.
        """
        self.check()
        ct = np.asarray(getattr(gradient, "_data", gradient))
        with np.errstate(all="ignore"):
            parts = self.pull(ct)
        made = tuple(None if p is None else _wrap(np.array(p)) for p in parts)
        return made[0] if len(made) == 1 else made

    def check(self) -> None:
        """Raise if the buffers are freed, or if what they hold was overwritten.

        Raises
        ------
        BackwardError
            If so; nothing has been changed then.
        """
        saved, seq = self.saved, self.seq
        if saved is None:
            raise BackwardError(
                f"Trying to backward through the graph a second time ({self._made()}), but the "
                "buffers have already been freed. Specify retain_graph=True when calling "
                "backward the first time."
            )
        for x, needed in zip(saved, self.needs, strict=True):
            if needed:
                cell = getattr(x, "_cell", None)
                if cell is not None and cell.written > seq:
                    raise self._overwritten(f"an operand of shape {x.shape}")
        if self.cell is not None and self.cell.written > seq:
            raise self._overwritten(f"its result, of shape {self.result.shape},")

    def _made(self) -> str:
        return f"at {self.name()}{f', from {self.where}' if self.where else ''}"

    def _overwritten(self, what: str) -> BackwardError:
        return BackwardError(
            "one of the values needed for gradient computation has been modified by an "
            f"inplace operation: {what} {self._made()}, was written to after the op was "
            "computed. Write `x = x + 1` in place of `x += 1`, or change a clone()."
        )

    def free(self) -> None:
        """Let go of what the rule would have read."""
        self.saved = self.result = self.cell = None

    def tensor(self) -> Tensor | None:
        """Return the result as a tensor with its record, if the rule reads the result."""
        if self.result is None:
            return None
        made = _wrap(self.result)
        made._fn, made._requires = self, True
        return made

    def operands(self, tensors: bool = False) -> list[Any]:
        """Return the operands as arrays, or as tensors, with stand-ins for unread ones."""
        assert self.saved is not None
        values: list[Any] = []
        for x in self.saved:
            if type(x) is tuple:
                shape, dtype = x
                values.append(np.ndarray(shape, dtype, _ZERO, 0, (0,) * len(shape)))
            elif tensors or isinstance(x, (np.ndarray, np.generic)):
                values.append(x)
            else:
                values.append(x._data)
        return values

    def pull(
        self, ct: Any, result: Any = None, tensors: bool = False, mask: Any = None
    ) -> list[Any]:
        """Return the operands' gradients for the gradient ``ct`` of the result.

        What an elementwise rule makes of the zeros outside of ``mask`` is cut off.
        """
        xs = self.operands(tensors)
        y = self.result if result is None else result
        rule = self.rule
        if rule is None:
            wanted = [edge is not None for edge in self.edges]
            parts = pull(self.op, ct, y, xs, self.params, wanted)
        else:
            parts = list((rule.tensors if tensors else rule.arrays)(ct, y, *xs))
        for k, part in enumerate(parts):
            if part is not None:
                x = xs[k]
                if mask is not None and self.op.kind == "map":
                    part = np.where(mask, part, 0.0)
                if part.shape != x.shape:
                    part = unbroadcast(part, x.shape)
                parts[k] = part if part.dtype == x.dtype else part.astype(x.dtype)
        return parts


# ---------------------------------------------------------------- classes


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
            fields = {"__slots__": (), "op": op, "plans": {}, "__doc__": f"Back from {op.name}."}
            made = type(name, (Backward,), fields)
        return _classes.setdefault(op, made)


def plan(
    cls: type[Backward], mask: int, count: int, params: dict[str, Any]
) -> tuple[Rule | None, tuple[bool, ...], bool]:
    """Return the rule, which operands it reads, and whether it reads the result.

    ``mask`` has a bit for each operand that requires a gradient.
    """
    key = (mask, count, *sorted(params.items())) if params and cls.op.kind == "map" else mask
    found = cls.plans.get(key)
    if found is None or len(found[1]) != count:
        wanted = [bool(mask >> k & 1) for k in range(count)]
        rule = rule_of(cls.op, wanted, params)
        if rule is None:
            found = (None, *read_by(cls.op, count))
        else:
            found = (rule, rule.needs, rule.reads_result)
        cls.plans[key] = found
    return found


#: Makes a tensor of an array; set by the module of tensors, which is above.
_wrap: Callable[[Any], Tensor]


def set_wrap(function: Callable[[Any], Tensor]) -> None:
    """Say how to make a tensor of an array."""
    global _wrap
    _wrap = function


def wrapped(array: Any) -> Tensor:
    """Return a tensor of an array."""
    return _wrap(array)


__all__ = [
    "AccumulateGrad", "Backward", "Cell", "Extra", "Node", "backward_class", "clock", "plan",
    "set_wrap", "wrapped",
]  # fmt: skip
