"""Writing into tensors: what it does to the numbers, to the record, and when it is refused.

A write that is not recorded (no gradient involved, or under ``no_grad``) changes the memory
and dates it. A recorded one computes the new value as an op on a copy of the old, writes
the result into the memory, and takes over its record. Views of the memory then have a record
that is no longer true; using them is an error.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .._core.op import registry
from .._core.trace import REFLECTED
from ..errors import BackwardError, DTypeError, ShapeError
from ._history import History
from ._mode import mode
from ._node import wrap
from ._origin import clock


def _array(value: Any) -> Any:
    return getattr(value, "_data", value)


class InPlace(History):
    """The methods of tensors that write into their memory."""

    __slots__ = ()

    def _update(self, op: str, other: Any) -> Self:
        """Write ``op(self, other)`` into the memory."""
        record = registry.ops[op]
        if not self._records(other):
            before = self._data
            record.evaluate(before, _array(other), out=before)
            return self._wrote()
        new = record(self._before(), self._apart(other))
        if not np.can_cast(new.dtype, self.dtype, "same_kind"):
            raise DTypeError(f"a result of {new.dtype} does not fit a tensor of {self.dtype}")
        return self._replace(new)

    def _apart(self, other: Any) -> Any:
        """Return an operand that the write does not reach: itself, or a copy with its record."""
        if not isinstance(other, type(self)) or not np.may_share_memory(self._data, other._data):
            return other
        if other._requires and other._fn is None:
            return np.copy(other)  # the gradient is the leaf's
        copied = wrap(other._data.copy())
        copied._fn, copied._requires = other._fn, other._requires
        return copied

    def _records(self, *others: Any, written: bool = False) -> bool:
        """Tell whether a write is recorded; raise if it must not be.

        ``written`` says that the only write since into a view was that of the new elements.
        """
        if not mode.recording:
            return False
        if not (self._requires or any(getattr(x, "_requires", False) for x in others)):
            return False
        if not written:
            self.check_record()
        if self._requires and self._fn is None:
            raise BackwardError(
                "a leaf Tensor that requires grad is being used in an in-place operation: "
                "write `x = x + 1`, or update it inside `with sg.no_grad():`"
            )
        if self._cell is not None and self._cell.leaf:
            raise BackwardError(
                "a view of a leaf Tensor that requires grad is being used in an in-place "
                "operation: write to a clone(), or inside `with sg.no_grad():`"
            )
        return True

    def _before(self) -> Self:
        """Return a tensor with the old value and the record so far."""
        before: Self = wrap(self._data.copy())
        before._fn, before._requires = self._fn, self._requires
        return before

    def _replace(self, new: Any) -> Self:
        """Take over value and record of ``new``."""
        if new.shape != self.shape:
            raise ShapeError(
                f"a result of shape {new.shape} does not fit into a tensor of shape {self.shape}"
            )
        cell = self.memory()
        cell.earlier = cell.rebased
        cell.written = cell.rebased = next(clock)
        if new._fn is not None:
            # The value is kept apart: the record is of the array that the op returned.
            new._fn.seq = next(clock)
        self._data[...] = new._data
        retained = new._fn.extras().retained if self.retains_grad and new._fn else None
        if retained is not None:
            # The old record keeps the others; this tensor's place is with the new one.
            before: Any = self._fn
            kept = before.extra.retained
            retained += [r for r in kept if r() is self]
            kept[:] = [r for r in kept if r() is not self]
        self._fn, self._requires = new._fn, new._requires
        return self

    def _wrote(self) -> Self:
        self.memory().written = next(clock)
        return self

    # ---------------------------------------------------------------- assignment

    def __setitem__(self, index: Any, value: Any) -> None:
        place = _index(index)
        if not self._records(value, written=self._holds(value, place)):
            self._data[_with_rest(place)] = _array(value)
            self._wrote()
            return
        # As ops: the value scattered into zeros, and the old elements elsewhere.
        numbers = np.arange(self._data.size).reshape(self.shape)[place]
        extra = np.ndim(value) - numbers.ndim  # NumPy takes axes of length one in front
        if extra > 0 and np.shape(value)[:extra] == (1,) * extra:
            value = np.reshape(value, np.shape(value)[extra:])
        spread = np.broadcast_to(value, numbers.shape)
        flat, kept = np.unique(numbers.ravel()[::-1], return_index=True)  # the last one wins
        chosen = np.reshape(spread, (-1,))
        if flat.size != numbers.size or not np.array_equal(numbers.ravel(), flat):
            chosen = chosen[numbers.size - 1 - kept]
        scatter = registry.ops["Scatter"]
        if self.dtype != chosen.dtype:
            chosen = chosen.astype(self.dtype)
        new = scatter(chosen, flat, axes=(0,), at=0, shape=(self._data.size,))
        mask = np.zeros(self.shape, bool)
        mask[place] = True
        self._replace(np.where(mask, np.reshape(new, self.shape), self._before()))

    def _holds(self, value: Any, place: Any) -> bool:
        """Tell whether a value is the elements at a place, and wrote itself there just now.

        Python carries out ``y[k] += v`` as ``view = y[k]``, ``view += v``, ``y[k] = view``.
        """
        cell, own, fn = self._cell, self._fn, getattr(value, "_fn", None)
        if cell is None or fn is None or value._cell is not cell or fn.seq < cell.rebased:
            return False
        if (own.seq if own is not None else 0) < cell.earlier:
            return False
        here, there = self._data[_with_rest(place)], value._data
        return bool(
            here.shape == there.shape and here.strides == there.strides
            and here.ctypes.data == there.ctypes.data
        )  # fmt: skip

    def copy_(self, source: Any) -> Self:
        """Write the elements of ``source`` (which may broadcast) into the self."""
        self[...] = source
        return self

    def fill_(self, value: Any) -> Self:
        """Write one number everywhere."""
        self[...] = value
        return self

    def zero_(self) -> Self:
        """Write zeros everywhere."""
        return self.fill_(0)

    # ---------------------------------------------------------------- arithmetic

    def add_(self, other: Any, *, alpha: float = 1) -> Self:
        """Add in place, ``alpha`` times ``other``."""
        return self._update("Add", other if alpha == 1 else alpha * other)

    def sub_(self, other: Any, *, alpha: float = 1) -> Self:
        """Subtract in place, ``alpha`` times ``other``."""
        return self._update("Subtract", other if alpha == 1 else alpha * other)

    def mul_(self, other: Any) -> Self:
        """Multiply in place."""
        return self._update("Multiply", other)

    def div_(self, other: Any) -> Self:
        """Divide in place."""
        return self._update("Divide", other)

    def pow_(self, other: Any) -> Self:
        """Raise to a power in place."""
        return self._update("Power", other)

    # ---------------------------------------------------------------- the record

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether gradients flow to the tensor, and return it."""
        self.requires_grad = requires_grad
        return self

    def detach_(self) -> Self:
        """Forget the record; the tensor becomes a leaf."""
        self._fn, self._requires = None, False
        return self


def _with_rest(place: Any) -> Any:
    """Return an index by which an element is a view, too."""
    parts = place if isinstance(place, tuple) else (place,)
    return parts if any(part is Ellipsis for part in parts) else (*parts, ...)


def _index(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple(map(_array, index))
    return _array(index)


def _augmented(op: str) -> Any:
    """Return the operator that writes ``op(self, other)`` into the memory."""

    def update(self: InPlace, other: Any) -> InPlace:
        return self._update(op, other)

    return update


for _name, _op in REFLECTED.items():
    setattr(InPlace, f"__i{_name}__", _augmented(_op))
