"""``softmax`` and its logarithms, variances: one step each, a kernel when it comes often.

The way back is that of the steps: by the compiler when it comes often, else by a record of them
that is made for the occasion, which is also what can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._api._at_values import vjp
from .._ops import np_logsumexp, np_statistics
from .._ops.movement import by_rows
from ._backs import by_record, read
from ._composed import Composed
from ._engine import run
from ._hot import MISS, Hot
from ._made import F32, F64, Step, constant, recorded
from ._mode import mode, recording
from ._node import Backward
from ._record import bind
from ._tensor import QUICK, Tensor

#: What a step is given besides its operand.
Params = dict[str, Any]


class _Way:
    """A step with its parameters, there and back."""

    __slots__ = ("back", "params", "there")

    def __init__(self, steps: Callable[..., Any], params: Params, silent: bool) -> None:
        self.params = params

        def there(x: Any) -> Any:
            if not silent:
                return steps(x, **params)
            with np.errstate(all="ignore"):
                return steps(x, **params)

        self.there = Hot(there, silent=silent)
        self.back = Hot(
            lambda ct, x: vjp(lambda v: steps(v, **params), x)[1](ct)[0],
            lambda ct, x: replayed(steps, ct, x, params), silent=True,
        )  # fmt: skip


def replayed(steps: Callable[..., Any], ct: Any, x: Any, params: Params) -> Any:
    """Go back through steps by a record of them; on tensors it is recorded in turn."""
    again, before = isinstance(x, Tensor), mode.recording
    mode.recording = True
    try:
        # No hook of x is behind a copy.
        start = QUICK[np.positive](x) if again else Tensor(x, requires_grad=True)
        root, end = steps(start, **params).edge(), start.edge()
        assert root is not None
        assert end is not None
        given = ct if again else np.asarray(ct)
        found = run([root], [given], retain_graph=again, create_graph=again, targets=[end])
    finally:
        mode.recording = before
    return found[end]


def _step(
    name: str, steps: Callable[..., Any], support: Callable[..., Any], silent: bool = True
) -> Callable[[Any, Any, Callable[[int], Params]], Any]:
    """Return a function of an operand, a key of its parameters, and the parameters by its rank."""
    ways: dict[Any, _Way] = {}

    def way(params: Params) -> _Way:
        key = tuple(params.values())
        return ways.get(key) or ways.setdefault(key, _Way(steps, params, silent))

    def back(node: Backward, ct: Any) -> Sequence[Any]:
        assert node.saved is not None
        x = read(node, node.saved[0])
        if ct.dtype is not x.dtype or not ct.flags.c_contiguous:
            return by_record(node, ct)
        if not x.flags.c_contiguous:
            x = by_rows(x)
        return (way(node.params).back(ct if ct.ndim else ct[()], x),)

    op = Composed(
        name=name, kind="routine", steps=steps, support=support, back=back,
        evaluate=lambda x, **params: np.asarray(way(params).there(x)),
        vjp=lambda ct, y, x, **params: (replayed(steps, ct, x, params),),
        source=lambda x, **params: f"{name.lower()}({x}{_said(params)})",
    )  # fmt: skip
    known = Step(op)
    found: dict[Any, _Way] = {}

    def apply(input: Any, key: Any, params: Callable[[int], Params]) -> Any:
        if not isinstance(input, Tensor):
            return steps(input, **params(np.ndim(input)))
        data, cell = input._data, input._cell
        dtype, rank = data.dtype, data.ndim
        if (
            type(input) is not Tensor
            or (dtype is not F64 and dtype is not F32)
            or (cell is not None and (cell.rebased or not data.flags.c_contiguous))
            or not data.size or not rank
        ):  # fmt: skip
            return bind(op, (input,), params(rank))
        try:
            chosen = found.get((rank, key)) or found.setdefault((rank, key), way(params(rank)))
        except TypeError:  # a list of axes
            chosen = way(params(rank))
        made = chosen.there.run(data)
        if made is MISS:
            made = chosen.there.other(data)
        if type(made) is not np.ndarray:
            made = np.asarray(made)
        if not input._requires or not recording():
            return constant(made)
        return recorded(
            made, None, known.cls, known.rule, (input._fn or input,), (input,), chosen.params,
            None, 3,
        )  # fmt: skip

    return apply


def _said(params: Params) -> str:
    return "".join(f", {name}={value}" for name, value in params.items())


def _spread(mask: Any, x: Any, axis: Any) -> Any:
    return np.broadcast_to(np.any(mask, axis=axis, keepdims=True), x.shape)


def _restored(mask: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    if not keepdims:
        mask = np.reshape(mask, np.any(x, axis=axis, keepdims=True).shape)
    return np.broadcast_to(mask, x.shape)


softmax = _step(
    "Softmax", lambda x, axis: np_logsumexp.softmax(x, axis=axis),
    lambda mask, x, axis: (_spread(mask, x, axis),),
)  # fmt: skip
log_softmax = _step(
    "LogSoftmax", lambda x, axis: np_logsumexp.log_softmax(x, axis=axis),
    lambda mask, x, axis: (_spread(mask, x, axis),),
)  # fmt: skip
logsumexp = _step(
    "Logsumexp", lambda x, axis, keepdims: np_logsumexp.logsumexp(x, axis=axis, keepdims=keepdims),
    lambda mask, x, axis, keepdims: (_restored(mask, x, axis, keepdims),),
)  # fmt: skip


def _spread_over(
    function: Callable[..., Any],
) -> Callable[[Any, Any, Callable[[int], Params]], Any]:
    name = function.__name__
    return _step(
        name.capitalize(),
        lambda x, axis, ddof, keepdims: function(x, axis=axis, ddof=ddof, keepdims=keepdims),
        lambda mask, x, axis, ddof, keepdims: (_restored(mask, x, axis, keepdims),), silent=False,
    )  # fmt: skip


var, std = _spread_over(np_statistics.var), _spread_over(np_statistics.std)

__all__ = ["log_softmax", "logsumexp", "softmax", "std", "var"]
