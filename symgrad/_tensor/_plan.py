"""What a NumPy function does to tensors, found once: which op, with which parameters.

``x.sum(axis=-1)`` is the op ``Sum`` with ``axes=(1,)``. NumPy's functions come to that through
several Python functions, which normalise arguments, and which take longer than the sum of a
small array. What they come to depends on shapes, types and the other arguments alone, so it is
noted where it is one op of the tensors, and next time the op is applied at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._op import Op
from ..errors import IndexingError, ShapeError
from ._origin import placed

if TYPE_CHECKING:
    from ._tensor import Tensor

#: How many calls are known; all are forgotten when there are more.
MOST = 4096

#: The op and its parameters by function, shapes, types and other arguments.
plans: dict[Any, tuple[Op, dict[str, Any]]] = {}


def planned(
    tensor: type[Tensor], function: Any, args: tuple[Any, ...], kwargs: dict[str, Any],
    general: Callable[[], Any],
) -> Any:  # fmt: skip
    """Return ``general()``: what a function makes of arguments of which some are tensors.

    Parameters
    ----------
    tensor:
        The class of tensors.
    function, args, kwargs:
        What the result depends on: by their shapes and types for tensors among ``args``, by
        their values for others.
    general:
        Computes the result.
    """
    tensors: list[Any] = []
    key: list[Any] = [function]
    for x in args:
        if type(x) is tensor:
            key += (x._data.shape, x._data.dtype)
            tensors.append(x)
        else:
            key += (type(x), x)
    for name, x in kwargs.items():
        key += (name, type(x), x)
    made: Any = tuple(key)
    try:
        known = plans.get(made)
    except TypeError:  # an array, a list: it may have changed next time
        made = known = None
    if known is not None:
        return tensor.__symgrad_bind__(known[0], tuple(tensors), known[1])
    try:
        result = general()
    except (ShapeError, IndexingError) as error:
        placed(error)
        raise
    if (
        made is not None
        and type(result) is tensor
        and result._fn is not None
        and _is_one_op(result._fn, tensors)
    ):
        if len(plans) >= MOST:
            plans.clear()
        plans[made] = (result._fn.op, result._fn.params)
    return result


def _is_one_op(node: Any, tensors: list[Any]) -> bool:
    """Tell whether a node is that of an op of just these tensors, in this order."""
    return len(node.behind) == len(tensors) and all(
        t._data.dtype.kind == "f"  # what becomes of others may depend on their values
        and (behind is (t._fn or t) if t._requires else saved is t)
        for t, behind, saved in zip(tensors, node.behind, node.saved, strict=True)
    )


__all__ = ["planned", "plans"]
