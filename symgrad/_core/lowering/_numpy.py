"""Steps with NumPy's rounding: what a kernel of its own would compute differently.

Additions, products, quotients, roots and selections are rounded correctly, and so the same
everywhere. The rest of a program whose rounding is promised is computed by NumPy's own code,
called from the kernel: elementwise functions by the inner loops of their universal functions,
sums by the loop of ``np.add`` with NumPy's order (it adds pairwise along the axis that lies
innermost, one row after the other along others), matrix products by the loop of ``np.matmul``,
and everything else by a call of the op's reference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import sympy as sp

from ...errors import UnsupportedError
from ..base.scipy_names import special
from ..base.sizes import Shape, hint
from ..graph import Node, apply, rebuilt, remade
from ..op import Code, Composed, Evidence, Instr, Op, Reduce, Scan, registry
from ..ops.callback import CALLBACK, token_of
from ..ops.contract import matrix_product
from ..trace import Traced, as_node, bind_nodes, cast
from ._ufuncs import MAP, NUMBERS, PRODUCT, SUM

_OPS = registry.ops

#: Elementwise ops with errors up to this, in ulp, are rounded correctly, by NumPy as well.
CORRECT = 0.5

#: Kinds that move elements, or are looked into as programs of their own.
_MOVING = frozenset((
    "leaf", "view", "gather", "assemble", "scatter", "loop", "branch", "result", "tape",
))  # fmt: skip

#: A scan that adds one element after the other, as NumPy does.
_IN_TURN = "add"

#: Formulas may use composed ops themselves, this deep.
DEPTH = 8


def numpy_steps(outputs: Sequence[Node]) -> list[Node]:
    """Return ``outputs`` with steps that NumPy's own code computes.

    Raises
    ------
    UnsupportedError
        If a step without a loop of NumPy's has sizes among its parameters.
    """
    for _ in range(DEPTH):
        written = _mapped(outputs, _written_out)
        if written == list(outputs):
            break
        outputs = written
    return _mapped(outputs, _step)


def _mapped(outputs: Sequence[Node], change: Callable[[Node], Node]) -> list[Node]:
    return rebuilt(outputs, lambda node, operands: change(remade(node, operands)))


def _written_out(node: Node) -> Node:
    """Return an op whose reference is a formula as that formula."""
    lower = Code.of(node.op).lower
    if not isinstance(lower, Composed) or lower.formula is not node.op.evaluate:
        return node
    found = cast(as_node(lower.formula(*map(Traced, node.operands), **node.params)), node.dtype)
    return found if found.shape == node.shape else node


def _step(node: Node) -> Node:
    op = node.op
    whole = node.dtype.kind != "f" and all(x.dtype.kind != "f" for x in node.operands)
    empty = 0 in node.shape or any(0 in x.shape for x in node.operands)
    if op.kind in _MOVING or op is CALLBACK or whole or empty:
        return node
    if op.kind == "map":
        correct = Evidence.of(op).ulp <= CORRECT or isinstance(Code.of(op).lower, Instr)
        return node if correct else _elementwise(node)
    if isinstance(op, Reduce) and op.combine == "add":
        return bind_nodes(SUM, node.operands, node.params)
    in_turn = isinstance(op, Scan) and op.combine == _IN_TURN
    if in_turn or (isinstance(op, Reduce) and op.combine != "multiply"):
        return node
    if op.kind == "contract":
        return _product(node)
    return _reference(node)


# ---------------------------------------------------------------- elementwise functions


def _elementwise(node: Node) -> Node:
    """Return a call of the loop that NumPy would run over all elements."""
    ufunc = node.op.evaluate
    operands = tuple([_number(x, node.shape) for x in node.operands])
    types = None
    # A row that is repeated has another stride for NumPy, and some functions look at it.
    if all(x.shape in ((), node.shape) for x in operands):
        types = _types(ufunc, tuple(x.dtype for x in operands), node.dtype)
    if types is None or len(operands) > len(NUMBERS):
        return _reference(node)
    name = f"{_home(ufunc)}.{ufunc.__name__}"
    if not node.shape:
        items = (("types", types), ("ufunc", name))
        return apply(NUMBERS[len(operands) - 1], operands, items, (), node.dtype)
    return bind_nodes(
        MAP, operands,
        {"ufunc": name, "types": types, "shape": node.shape, "dtype": node.dtype.name},
    )  # fmt: skip


def _number(x: Node, shape: Shape) -> Node:
    """Return an operand of one element as a number: NumPy repeats both with stride 0."""
    if x.shape == shape or any(not isinstance(d, int) or d != 1 for d in x.shape):
        return x
    return bind_nodes(_OPS["Reshape"], (x,), {"shape": ()}) if x.shape else x


@lru_cache(maxsize=1024)
def _types(ufunc: Any, given: tuple[np.dtype[Any], ...], result: np.dtype[Any]) -> str | None:
    """Return the types of the loop that NumPy takes, if it converts nothing for it."""
    if not isinstance(ufunc, np.ufunc) or ufunc.nout != 1 or ufunc.signature is not None:
        return None
    if _home(ufunc) is None:
        return None
    known: list[str] = ufunc.types
    for types in known:
        before, _, after = types.partition("->")
        if all(map(np.can_cast, given, before)):
            fits = tuple(map(np.dtype, before)) == given and np.dtype(after) == result
            return types if fits else None
    return None


@lru_cache(maxsize=1024)
def _home(ufunc: np.ufunc) -> str | None:
    """Return the module in which a universal function has its name."""
    for module in (np, special):
        if getattr(module, ufunc.__name__, None) is ufunc:
            return str(module.__name__)
    return None


# ---------------------------------------------------------------- matrix products


def _product(node: Node) -> Node:
    """Return a contraction as NumPy's matrix product, or of factors alone, or by reference."""
    x, y = node.operands
    a, b, out = (node.params[k] for k in ("a", "b", "out"))
    if x.dtype != node.dtype or y.dtype != node.dtype:
        return _reference(node)
    if matrix_product(a, b, out) is None:
        return _reference(node)
    x, a = _as_stored(x, a)
    y, b = _as_stored(y, b)
    (summed,) = set(a) & set(b)
    if x.shape[a.index(summed)] != y.shape[b.index(summed)]:
        return _reference(node)
    return bind_nodes(PRODUCT, (x, y), {"a": a, "b": b, "out": out})


def _as_stored(x: Node, letters: str) -> tuple[Node, str]:
    """Return a matrix as it goes to BLAS: one that lies by columns is the other transposed."""
    if x.ndim < 2 or x.op.kind != "view":
        return x, letters
    lies = _seen(x).flags
    if lies.c_contiguous or not lies.f_contiguous:
        return x, letters
    return _transposed(x), letters[::-1]


def _transposed(x: Node) -> Node:
    """Return the transpose: one node however it is reached, as NumPy compares the addresses."""
    name = x.op.name
    if name == "Transpose":
        return x.operands[0]
    if name == "Slice" and x.operands[0].op.name == "Transpose" and x.operands[0].ndim == 2:
        region = x.params["region"]
        return bind_nodes(x.op, (_transposed(x.operands[0]),), {"region": region[::-1]})
    return bind_nodes(_OPS["Transpose"], (x,), {"axes": (1, 0)})


def _seen(x: Node) -> Any:
    """Return an array that lies in memory as NumPy's view of a fresh array does."""
    views = []
    while x.op.kind == "view":
        views.append(x)
        x = x.operands[0]
    array = np.empty([hint(d) for d in x.shape], np.bool_)
    for view in reversed(views):
        params = {k: _hinted(v) for k, v in view.items}
        array = view.op.evaluate(array, **params)
    return array


def _hinted(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_hinted, value))
    return hint(value) if isinstance(value, sp.Basic) else value


# ---------------------------------------------------------------- everything else


@lru_cache(maxsize=4096)
def _token(op: Op, items: tuple[tuple[str, Any], ...]) -> str:
    return token_of(_Reference(op, items))


class _Reference:
    """An op's reference, as a function of arrays alone."""

    def __init__(self, op: Op, items: tuple[tuple[str, Any], ...]) -> None:
        self.__name__ = op.name
        self.compute = partial(op.reference, **dict(items))

    def __call__(self, *operands: Any) -> Any:
        with np.errstate(all="ignore"):
            return self.compute(*operands)


def _reference(node: Node) -> Node:
    if any(isinstance(v, sp.Basic) for _, v in node.items for v in _flat(v)):
        raise UnsupportedError(
            f"{node.op.name} depends on a size, and rounds as NumPy only where sizes are "
            f"numbers: write dynamic=False beside rounding='numpy' [{node.where}]"
        )
    params = {
        "token": _token(node.op, node.items), "shape": node.shape, "dtype": node.dtype.name,
        "ranks": tuple(len(x.shape) for x in (*node.operands, node)),
    }  # fmt: skip
    return bind_nodes(CALLBACK, node.operands, params)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [x for v in value for x in _flat(v)]
    return [value]
