"""Binding: an op applied to traced values becomes a node.

Types follow NumPy's own promotion (``ufunc.resolve_dtypes``), with Python numbers weak as
NumPy 2 has them: ``float32_array * 2.0`` stays float32.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ...errors import ArgumentError, ShapeError
from ..base.broadcast import broadcast, is_one, show
from ..base.signals import foreseen
from ..base.sizes import NEGATIVE, Shape, Size, as_dim, hint
from ..base.state import now
from ..graph import Constant, Literal, Node, SizeOf, apply, require_numbers
from ..graph._types import SUPPORTED, WEAK, Kind, array_type, check_dtype, resolve
from ..op import ArrayOp, Map, Op, registry
from ..ops import BROADCAST, CAST, RESHAPE
from ..ops.np_common import held

_number = lru_cache(maxsize=4096)(Literal)


def number(value: float, dtype: np.dtype[Any]) -> Node:
    """Return the node of a Python float."""
    # Zeros of either sign are equal, so they would share one entry.
    return (_number if value else Literal)(value, dtype)


def as_node(value: Any, dtype: np.dtype[Any] | None = None) -> Node:
    """Return the node of a traced value, number, array or size.

    Parameters
    ----------
    value : array_like or Traced
        The value; one that is not traced becomes a constant.
    dtype:
        The element type that the node is to have; None leaves it as it is.

    Returns
    -------
    Node
        The value in the graph.

    Raises
    ------
    DTypeError
        If the value is of an element type that kernels do not have.

    Examples
    --------
    >>> from symgrad.extend import as_node
    >>> as_node(2.0).dtype
    dtype('float64')
    """
    node = getattr(value, "node", None)
    if isinstance(node, Node):
        return node if dtype is None or node.dtype is dtype else cast(node, dtype)
    if isinstance(value, Size):
        return SizeOf(value.expr, dtype or np.int64)
    if type(value) is float:
        return number(value, dtype or WEAK[float])
    if isinstance(value, (bool, int, float)) and not isinstance(value, np.generic):
        kind = weak_type(value)
        if type(value) is not kind:
            value = int.__pos__(value) if isinstance(value, int) else float.__pos__(value)
        return Literal(value, dtype or WEAK[kind])
    if (array := held(value)) is not value:
        return as_node(array, dtype)
    require_numbers(value)
    array = np.asarray(value)
    native = check_dtype(array.dtype, "a constant")
    array = array.astype(dtype or native, copy=False)
    return Literal(array[()], array.dtype) if array.ndim == 0 else Constant(array)


def weak_type(value: float) -> type:
    """Return which of Python's numbers a value is, also one of a subclass, as in an enumeration."""
    return type(value) if type(value) is bool else int if isinstance(value, int) else float


def kind_of(value: Any) -> Kind:
    """Return the NumPy dtype of an operand, or the Python type if it is weak."""
    weak = getattr(value, "weak", None)
    if weak is not None:
        return weak
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, np.dtype):
        require_numbers(value)
        return dtype if dtype in SUPPORTED else check_dtype(dtype, f"the operand {value!r:.60}")
    if isinstance(value, Size):
        return int
    if isinstance(value, bool):
        return WEAK[bool]  # for NumPy a bool is an array element like any other
    if isinstance(value, (int, float)):
        return weak_type(value)
    if (array := held(value)) is not value:
        return kind_of(array)
    try:
        array = np.asarray(value)
    except foreseen(Exception) as error:
        raise ArgumentError(f"cannot take {value!r} as an array operand: {error}") from error
    return check_dtype(array.dtype, f"the operand {value!r:.60}")


def cast(node: Node, dtype: Any) -> Node:
    """Return ``node`` converted to element type ``dtype``."""
    dtype = np.dtype(dtype)
    if node.dtype == dtype:
        return node
    if isinstance(node, Literal):
        return Literal(node.value, dtype)
    if isinstance(node, SizeOf):
        return SizeOf(node.size, dtype)
    return apply(CAST, (node,), (("dtype", dtype.name),), node.shape, dtype)


def freeze(value: Any) -> Any:
    """Return a parameter in hashable canonical form; sizes become their expressions."""
    if isinstance(value, (tuple, list)):
        return tuple(map(freeze, value))
    if isinstance(value, Size):
        return value.expr
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.dtype):
        return value.name
    return value


def _fits(value: Any, dtype: np.dtype[Any]) -> bool:
    """Tell whether a whole number of Python's fits a type: of a traced one by a guard.

    What differs between the examples of a batch is not looked at.
    """
    info = np.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    if isinstance(value, int):
        return low <= value <= high
    if dtype == np.int64:
        return True
    high = min(high, np.iinfo(np.int64).max)
    if isinstance(value, Size):
        return bool(value >= low) and (dtype.itemsize == 8 or bool(value <= high))
    examples, node = now().examples, value.node
    if examples is None:
        return True
    above, below = (Literal(n, np.int64) for n in (low, high))
    flag = np.dtype(bool)
    inside = [
        apply(registry.ops["LessEqual"], pair, (), (), flag)
        for pair in ((above, node), (node, below))
    ]
    both = apply(registry.ops["BitwiseAnd"], tuple(inside), (), (), flag)
    return examples.decide(both, bool) is not False


def require_bounds(value: Any, dtype: np.dtype[Any], what: str) -> None:
    """Raise for a whole number of Python's that is out of bounds for a type, as NumPy does."""
    if dtype.kind in "iu" and kind_of(value) is int and not _fits(value, dtype):
        number = value if type(value) is int else "that is given"
        raise OverflowError(f"{what}: the integer {number} is out of bounds for {dtype}")


def bind_map(op: Map, operands: tuple[Any, ...], params: dict[str, Any]) -> Node:
    """Return the node of an elementwise op, with NumPy's promotion and broadcasting."""
    if not params and len(operands) == 1:
        node = getattr(operands[0], "node", None)
        if isinstance(node, Node) and operands[0].weak is None:  # nothing to promote or broadcast
            (wanted,), result = resolve(op, (node.dtype,))
            if wanted is node.dtype and op is not CAST:
                return apply(op, (node,), (), node.shape, result)
    items = tuple(sorted((k, freeze(v)) for k, v in params.items())) if params else ()
    kinds = tuple([kind_of(x) for x in operands])
    operand_types, result = resolve(op, kinds, items)
    for x, kind, dtype in zip(operands, kinds, operand_types, strict=True):
        if kind is not int or dtype.kind not in "iu":
            continue
        if result != np.bool_:
            require_bounds(x, dtype, op.name)
        elif type(x) is not int or not _fits(x, dtype):
            # NumPy compares with any integer: in a type that has both.
            wide = tuple(np.dtype(np.int64) if k is int else k for k in kinds)
            operand_types, result = resolve(op, wide, items)
            break
    nodes = tuple([as_node(x, t) for x, t in zip(operands, operand_types, strict=True)])
    shape = nodes[0].shape
    for node in nodes:
        if node.shape is not shape:
            try:
                shape = broadcast(*[n.shape for n in nodes])
            except ShapeError as error:
                raise ShapeError(f"{op.name}: {error}") from None
            nodes = tuple([with_plain_ones(n, shape) for n in nodes])
            break
    if op is CAST:
        return cast(nodes[0], params["dtype"])
    return apply(op, nodes, items, shape, result)


def with_plain_ones(node: Node, shape: Shape) -> Node:
    """Return a node that is broadcast to ``shape`` with 1 for sizes that are 1 under a guard.

    A size such as ``n - 2`` of a slice may be 1 in the example call, and repeats like any other
    axis of length one; all that comes later goes by the number.
    """
    lead = len(shape) - node.ndim
    ones = [
        k for k, size in enumerate(node.shape)
        if not isinstance(size, int) and size != shape[lead + k] and hint(size) == 1
        and (isinstance(shape[lead + k], int) or hint(shape[lead + k]) != 1) and is_one(size)
    ]  # fmt: skip
    if not ones:
        return node
    plain = tuple(1 if k in ones else size for k, size in enumerate(node.shape))
    return bind_nodes(RESHAPE, (node,), {"shape": plain})


def bind(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> Node:
    """Return the node of ``op`` applied to traced values, arrays and numbers."""
    if isinstance(op, Map):
        return bind_map(op, operands, params)
    nodes = tuple(map(as_node, operands))
    return bind_nodes(op, nodes, params)


def bind_nodes(op: Op, nodes: tuple[Node, ...], params: dict[str, Any]) -> Node:
    """Return the node of an array op whose operands are nodes already."""
    items = tuple(sorted((k, freeze(v)) for k, v in params.items()))
    frozen = dict(items)
    if op is BROADCAST:
        nodes = (with_plain_ones(nodes[0], tuple(map(as_dim, frozen["shape"]))),)
    assert isinstance(op, ArrayOp)
    try:
        shape = tuple(map(as_dim, op.shape(*(n.shape for n in nodes), **frozen)))
    except ShapeError as error:
        shapes = ", ".join(show(n.shape) for n in nodes)
        raise ShapeError(f"{op.name} of {shapes}: {error}") from None
    if any(type(n) is int and n < 0 for n in shape):
        raise ShapeError(f"{op.name}: {NEGATIVE}")
    dtype = array_type(op, tuple(n.dtype for n in nodes), frozen)
    return apply(op, nodes, items, shape, dtype)
