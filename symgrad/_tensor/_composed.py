"""Ops of tensors that are several of the compiler's: one step of the record.

``softmax`` is a maximum, a difference, an exponential, a sum and a quotient. Tensors compute it
at once and have one node for it; what is traced through it (a program of the record, a backward
pass that becomes a kernel) has the steps. So the compiler's rules are all that there is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._op import Op, registry
from .._ops.reductions import kept, restore
from .._trace import Traced
from ._backs import mean_back


@dataclass(frozen=True, eq=False, kw_only=True)
class Composed(Op):
    """The op of such a step.

    Parameters
    ----------
    steps:
        The op as the compiler's steps, on traced values and on tensors.
    reads_result:
        Whether the way back reads the result.
    back, guarded:
        The way back on arrays, as in :class:`~symgrad._tensor._rules.Rule`; None for ``vjp``.
    """

    steps: Callable[..., Any]
    reads_result: bool = False
    back: Callable[..., Any] | None = None
    guarded: Callable[..., Any] | None = None

    def __call__(self, *operands: Any, **params: Any) -> Any:
        if any(isinstance(x, Traced) for x in operands):
            return self.steps(*operands, **params)
        return super().__call__(*operands, **params)


def keeping(
    op: Op, back: Callable[..., Any] | None = None, guarded: Callable[..., Any] | None = None
) -> Composed:
    """Return a reduction with ``keepdims=True`` as one step; its rules are the reduction's."""
    call = op.name.lower()

    def steps(x: Any, axes: tuple[int, ...]) -> Any:
        return np.reshape(op(x, axes=axes), kept(x.shape, axes))

    def evaluate(x: Any, axes: tuple[int, ...]) -> Any:
        return np.asarray(op.reference(x, axes=axes)).reshape(kept(x.shape, axes))

    return Composed(
        name=op.name, kind="reduce", combine=op.combine, evaluate=evaluate, steps=steps,
        transpose=op.transpose, vjp=op.vjp, taken=op.taken, support=op.support,
        reads_result=op.transpose is None, back=back, guarded=guarded,
        source=lambda x, axes: f"np.{call}({x}, axis={axes}, keepdims=True)",
    )  # fmt: skip


def _mean(x: Any, axes: tuple[int, ...]) -> Any:
    return np.add.reduce(x, axis=axes) / _count(x, axes)


def _count(x: Any, axes: tuple[int, ...]) -> int:
    count = 1
    for k in axes:
        count *= x.shape[k]
    return count


def _from_mean(ct: Any, x: Any, axes: tuple[int, ...]) -> tuple[Any]:
    one = x.dtype.type(1)
    return (restore(ct * (one / x.dtype.type(_count(x, axes))), x, axes),)


#: A sum and a quotient.
MEAN = Composed(
    name="Mean", kind="reduce", evaluate=_mean, steps=lambda x, axes: np.mean(x, axis=axes),
    transpose=_from_mean, back=mean_back, support=registry.ops["Sum"].support,
    source=lambda x, axes: f"np.mean({x}, axis={axes})",
)  # fmt: skip

__all__ = ["MEAN", "Composed", "keeping"]
