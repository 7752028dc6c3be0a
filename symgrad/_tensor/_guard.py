"""Guards in eager mode: an untaken branch adds nothing, whatever its slope.

The compiler's walk (``symgrad._guards``) carries conditions; here they are arrays, one for
each node behind an op that chooses. A gradient is cut to its mask after every op that could
have made nan of its zeros. Graphs without such ops never come here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._ops import unbroadcast
from ._node import Backward

#: Kinds of ops whose transpose adds elements unchanged: a support goes the way of a gradient.
_MOVES = frozenset(("view", "assemble", "gather", "scatter"))


def guarded(node: Backward, ct: Any, mask: Any, tensors: bool) -> tuple[list[Any], list[Any]]:
    """Return the gradients of a node's operands, and the masks outside of which they are 0.

    Parameters
    ----------
    node:
        The step to go back through.
    ct:
        The gradient of its result.
    mask:
        Where that can differ from 0: a boolean array, or None for everywhere.
    tensors:
        Whether to compute with tensors, so that the result can be differentiated again.
    """
    op, xs = node.op, node.operands()
    parts = node.pull(ct, node.tensor() if tensors else None, tensors, mask)
    masks: list[Any] = [None] * len(parts)
    if op.taken is not None:
        result = node.result if node.result is not None else np.empty(ct.shape, ct.dtype)
        for k, choice in enumerate(op.taken(result, *xs, **node.params)):
            if choice is not None:
                truth, wanted = choice
                masks[k] = np.asarray(truth) if wanted else ~np.asarray(truth)
    if mask is not None:
        inherited = _behind(node, mask, xs)
        masks = [
            a if b is None else b if a is None else a & b
            for a, b in zip(masks, inherited, strict=True)
        ]
    for k, (part, x, own) in enumerate(zip(parts, xs, masks, strict=True)):
        if part is None or own is None:
            masks[k] = None
        elif op.kind == "map":
            whole = np.broadcast_to(own, ct.shape)
            masks[k] = whole if ct.shape == x.shape else unbroadcast(whole, x.shape) != 0
        elif op.transpose is None:
            parts[k] = np.where(own, part, 0.0)
    return parts, masks


def _behind(node: Backward, mask: Any, xs: list[Any]) -> list[Any]:
    """Return where the operands' gradients can differ from 0, by the record."""
    op = node.op
    if op.kind == "map":
        return [mask] * len(xs)
    found: Any = None
    if op.support is not None:
        found = op.support(mask, *xs, **node.params)
    elif op.transpose is not None and op.kind in _MOVES:
        found = op.transpose(mask, *xs, **node.params)
    elif not mask.any():
        found = [np.zeros(x.shape, np.bool_) for x in xs]
    if found is None:
        return [None] * len(xs)
    return [None if m is None else np.asarray(m) != 0 for m in found]
