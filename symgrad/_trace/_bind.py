"""Binding: an op applied to traced values becomes a node.

Types follow NumPy's own promotion (``ufunc.resolve_dtypes``), with Python numbers weak as
NumPy 2 has them: ``float32_array * 2.0`` stays float32.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .._graph import Constant, Literal, Node, SizeOf, apply
from .._op import Op
from .._ops import CAST
from .._shapes import Size, as_dim, broadcast, show
from ..errors import ArgumentError, DTypeError, ShapeError

SUPPORTED = frozenset(np.dtype(c) for c in "?bhilqBHILQfd")
Kind = Any  # a NumPy dtype, or the Python type of a weak operand

_WEAK = {bool: np.dtype(bool), int: np.dtype(np.int64), float: np.dtype(np.float64)}


def check_dtype(dtype: np.dtype[Any], what: str) -> np.dtype[Any]:
    """Return ``dtype`` in native byte order, or raise for one that symgrad cannot take."""
    native = dtype.newbyteorder("=") if dtype.kind in "biufc" else dtype
    if native in SUPPORTED:
        return native
    if dtype.kind == "c":
        hint = "symgrad computes with real numbers; pass real and imaginary parts separately"
    elif dtype.kind == "f":
        hint = "convert with .astype(np.float64) or .astype(np.float32)"
    else:
        hint = "convert to numbers with .astype(np.float64)"
    raise DTypeError(f"{what} has element type {dtype}, which symgrad cannot trace: {hint}")


def as_node(value: Any, dtype: np.dtype[Any] | None = None) -> Node:
    """Return the node of a traced value, number, array or size."""
    node = getattr(value, "node", None)
    if isinstance(node, Node):
        return node if dtype is None else cast(node, dtype)
    if isinstance(value, Size):
        return SizeOf(value.expr, dtype or np.int64)
    if isinstance(value, (bool, int, float)) and not isinstance(value, np.generic):
        return Literal(value, dtype or _WEAK[type(value)])
    array = np.asarray(value)
    native = check_dtype(array.dtype, "a constant")
    array = array.astype(dtype or native, copy=False)
    return Literal(array[()], array.dtype) if array.ndim == 0 else Constant(array)


def kind_of(value: Any) -> Kind:
    """Return the NumPy dtype of an operand, or the Python type if it is weak."""
    weak = getattr(value, "weak", None)
    if weak is not None:
        return weak
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, np.dtype):
        return dtype
    if isinstance(value, Size):
        return int
    if isinstance(value, (bool, int, float)):
        return type(value)
    try:
        array = np.asarray(value)
    except Exception as error:
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


@lru_cache(maxsize=4096)
def resolve(op: Op, kinds: tuple[Kind, ...]) -> tuple[tuple[np.dtype[Any], ...], np.dtype[Any]]:
    """Return the element types that ``op`` computes in and its result type."""
    if all(isinstance(k, type) for k in kinds):
        kinds = tuple(_WEAK[k] for k in kinds)
    ufunc = op.ufunc
    if op.types is not None:
        operand_types, result = op.types(*kinds)
    elif ufunc is not None:
        try:
            *found, result = ufunc.resolve_dtypes((*kinds, None))
        except TypeError as error:
            names = ", ".join(k.__name__ if isinstance(k, type) else k.name for k in kinds)
            raise DTypeError(f"{op.name} is not defined for element types {names}") from error
        operand_types = tuple(found)
    else:  # elementwise functions of one real variable: integers compute in float64
        common = promote(*kinds)
        common = common if common.kind == "f" else np.dtype(np.float64)
        operand_types, result = (common,) * len(kinds), common
    for dtype in (*operand_types, result):
        check_dtype(dtype, f"the result of {op.name}")
    return tuple(map(np.dtype, operand_types)), np.dtype(result)


def promote(*kinds: Kind) -> np.dtype[Any]:
    """Return NumPy's common type of dtypes and weak Python types."""
    return np.result_type(*(k(1) if isinstance(k, type) else k for k in kinds))


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


def bind_map(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> Node:
    """Return the node of an elementwise op, with NumPy's promotion and broadcasting."""
    operand_types, result = resolve(op, tuple(map(kind_of, operands)))
    nodes = tuple(as_node(x, t) for x, t in zip(operands, operand_types, strict=True))
    try:
        shape = broadcast(*(n.shape for n in nodes))
    except ShapeError as error:
        raise ShapeError(f"{op.name}: {error}") from None
    items = tuple(sorted((k, freeze(v)) for k, v in params.items())) if params else ()
    if op is CAST:
        return cast(nodes[0], params["dtype"])
    return apply(op, nodes, items, shape, result)


def bind(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> Node:
    """Return the node of ``op`` applied to traced values, arrays and numbers."""
    if op.kind == "map":
        return bind_map(op, operands, params)
    nodes = tuple(map(as_node, operands))
    return bind_nodes(op, nodes, params)


def bind_nodes(op: Op, nodes: tuple[Node, ...], params: dict[str, Any]) -> Node:
    """Return the node of an array op whose operands are nodes already."""
    items = tuple(sorted((k, freeze(v)) for k, v in params.items()))
    frozen = dict(items)
    assert op.shape is not None
    try:
        shape = tuple(map(as_dim, op.shape(*(n.shape for n in nodes), **frozen)))
    except ShapeError as error:
        shapes = ", ".join(show(n.shape) for n in nodes)
        raise ShapeError(f"{op.name} of {shapes}: {error}") from None
    if op.types is not None:
        dtype = np.dtype(op.types(*(n.dtype for n in nodes), **frozen))
    else:
        dtype = nodes[0].dtype
    return apply(op, nodes, items, shape, dtype)
