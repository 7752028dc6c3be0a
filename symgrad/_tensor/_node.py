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
from dataclasses import dataclass
from types import CodeType
from typing import Any, ClassVar

import numpy as np

from .._core.graph import Where
from .._core.op import Op
from .._core.ops import unbroadcast
from .._core.ops.movement import by_rows
from .._core.transforms.reverse import pull
from ..errors import BackwardError
from ._origin import Cell, clock, line_of

_leaf_clock = itertools.count(1)

#: Makes an object without the call of its ``__init__``.
_new = object.__new__

#: One byte to make arrays of zeros from that take no memory.
_ZERO = bytes(16)


class Value:
    """Numbers and where they came from: what the record knows of a tensor.

    Attributes
    ----------
    _data:
        The numbers.
    _fn:
        The step that made them; None for a leaf.
    _requires:
        Whether gradients flow to it.
    _cell:
        What happened to the memory; None if nothing did and the numbers lie in C order.
    _grad, _acc:
        The gradient so far, and the node that adds to it.
    name:
        The name in formulas and pictures, or None.
    """

    __slots__ = ("_acc", "_cell", "_data", "_fn", "_grad", "_requires", "name")
    _data: np.ndarray[Any, Any]
    _fn: Backward | None
    _requires: bool
    _cell: Cell | None
    _grad: Any
    _acc: weakref.ref[AccumulateGrad] | AccumulateGrad | None
    name: str | None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self._data.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type, a NumPy dtype."""
        return self._data.dtype

    def memory(self) -> Cell:
        """Return the record of writes to the memory."""
        if self._cell is None:
            node = self._fn
            if node is not None and node.result is self._data:
                node.cell = node.cell or Cell()  # the rule reads this memory
                self._cell = node.cell
            else:
                self._cell = Cell()
        return self._cell

    def check_record(self) -> None:
        """Raise if the memory was written to by a recorded op on another tensor."""
        cell, fn = self._cell, self._fn
        if cell is not None and (fn.seq if fn is not None else 0) < cell.rebased:
            raise BackwardError(
                f"a tensor of shape {self._data.shape} shares memory with a view that was written "
                "to in place by a recorded op, so its own record is no longer right. Take the "
                "view again after writing, or write to a clone()."
            )

    def edge(self) -> Node | None:
        """Return the node that a gradient of the tensor goes to."""
        self.check_record()
        if self._fn is not None:
            return self._fn
        return accumulator(self) if self._requires else None

    def accumulate(self, array: Any, tensor: Any) -> None:
        """Add a gradient: an array, or a tensor that has a record itself."""
        if tensor is not None:
            self._grad = tensor if self._grad is None else np.add(self._grad, tensor)
        elif self._grad is None:
            self._grad = wrap(np.array(array, self._data.dtype))
        elif self._grad._requires:
            self._grad = wrap(self._grad._data + array)
        else:
            np.add(self._grad._data, array, out=self._grad._data)
            self._grad.memory().written = next(clock)


class Kind:
    """The class of tensors; it is above, and says so itself."""

    tensor: type[Any] = Value


def is_tensor_class(cls: type[Any]) -> type[Any]:
    """Decorate the class of tensors."""
    Kind.tensor = cls
    return cls


def wrap(data: Any) -> Any:
    """Return a tensor of an array, which it shares, without a record."""
    made = _new(Kind.tensor)
    made._data = data = data if type(data) is np.ndarray else np.asarray(data)
    made._fn = made._grad = made._acc = made.name = None
    made._cell = None if data.flags.c_contiguous else Cell()
    made._requires = False
    return made


class Extra:
    """What few nodes have: hooks, tensors that asked to keep their gradient, edges set by hand."""

    __slots__ = ("edited", "hooks", "retained")

    def __init__(self) -> None:
        self.hooks: dict[int, Callable[[Any], Any]] = {}
        self.retained: list[weakref.ref[Value]] = []
        self.edited = False

    @property
    def empty(self) -> bool:
        """Whether there is nothing of all that (any more)."""
        return not (self.hooks or self.retained or self.edited)


class Node:
    """A step of the way back; see :class:`Backward` and :class:`AccumulateGrad`."""

    __slots__ = ("__weakref__", "behind", "extra", "offset", "place", "seq")
    #: What is behind the operands; a leaf in the place of its node, as long as nobody asks.
    behind: tuple[Any, ...]
    extra: Extra | None
    seq: int
    #: The user's line, or the code that it is in and the instruction there.
    place: CodeType | Where | None
    offset: int

    @property
    def edges(self) -> tuple[Node | None, ...]:
        """The nodes behind the operands; None for constants."""
        behind = self.behind
        self.behind = tuple([accumulator(x) if isinstance(x, Value) else x for x in behind])
        return self.behind

    @property
    def where(self) -> Where | None:
        """The user's line that made it; None for leaves."""
        if isinstance(self.place, CodeType):
            self.place = line_of(self.place, self.offset)
        return self.place

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes behind the operands as ``(grad_fn, 0)``; ``(None, 0)`` for constants."""
        return tuple((edge, 0) for edge in self.edges)

    @next_functions.setter
    def next_functions(self, pairs: Sequence[tuple[Node | None, int]]) -> None:
        self.behind = tuple(node for node, _ in pairs)
        self.extras().edited = True

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
    variable: Value

    def __call__(self, gradient: Any) -> tuple[()]:
        given = np.asarray(getattr(gradient, "_data", gradient), self.variable._data.dtype)
        self.variable.accumulate(given, None)
        return ()

    def extras(self) -> Extra:
        self.variable._acc = self  # it has to outlive the records that lead to it
        return super().extras()


def accumulator(variable: Value) -> AccumulateGrad:
    """Return the end of the way back for a leaf: one for as long as a record leads to it."""
    known = variable._acc
    node = known() if isinstance(known, weakref.ref) else known
    if node is None:
        node = _new(AccumulateGrad)
        node.variable = variable
        node.behind = ()
        node.extra = node.place = None
        node.offset = 0
        node.seq = -next(_leaf_clock)  # before every op
        variable._acc = weakref.ref(node)
    return node


Pull = Callable[..., Sequence[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """How gradients go back through an op to the operands that want them.

    Attributes
    ----------
    needs, reads_result:
        Which operands are read, and whether the result is.
    saves:
        Which operands are kept: those that are read, and those that shortcuts want.
    formula:
        ``formula(gradient, result, *operands, tensors=)``: the rule by the wanted operands alone,
        before un-broadcasting; None if the record's rule is run as it is.
    """

    needs: tuple[bool, ...]
    saves: tuple[bool, ...]
    reads_result: bool
    formula: Pull | None = None


class Backward(Node):
    """The local derivative of one op: what ``grad_fn`` is of a tensor that an op made.

    Attributes
    ----------
    op, params:
        The op's record and static parameters.
    rule:
        How gradients go back to the operands that want them.
    saved:
        For each operand the tensor or constant, or its shape and type where the rule does
        not read it; None once freed.
    result, cell:
        The op's result, where the rule reads it, and what happened to its memory since; None
        if nothing did.
    """

    __slots__ = ("cell", "params", "result", "rule", "saved")
    op: ClassVar[Op]
    rules: ClassVar[dict[Any, Rule]]
    rule: Rule
    params: dict[str, Any]
    saved: tuple[Any, ...] | None
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
        made = tuple(None if p is None else wrap(np.array(p)) for p in parts)
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
        for x, needed in zip(saved, self.rule.needs, strict=True):
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

    def tensor(self) -> Any:
        """Return the result as a tensor with its record, if the rule reads the result."""
        if self.result is None:
            return None
        made = wrap(self.result)
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
            else:  # products take matrices as they lie
                values.append(x._data if self.op.kind == "contract" else by_rows(x._data))
        return values

    def pull(
        self, ct: Any, result: Any = None, tensors: bool = False, mask: Any = None
    ) -> list[Any]:
        """Return the operands' gradients for the gradient ``ct`` of the result.

        What an elementwise rule makes of the zeros outside of ``mask`` is cut off.
        """
        xs = self.operands(tensors)
        y = self.result if result is None else result
        formula = self.rule.formula
        if formula is None:
            wanted = [edge is not None for edge in self.behind]
            parts = pull(self.op, ct, y, xs, self.params, wanted)
        else:
            parts = list(formula(ct, y, *xs, tensors=tensors))
        for k, part in enumerate(parts):
            if part is not None:
                x = xs[k]
                if mask is not None and self.op.kind == "map":
                    part = np.where(mask, part, 0.0)
                if part.shape != x.shape:
                    part = unbroadcast(part, x.shape)
                elif not tensors and 0 not in part.strides:  # repeated numbers stay so
                    part = by_rows(part)
                parts[k] = part if part.dtype == x.dtype else part.astype(x.dtype)
        return parts
