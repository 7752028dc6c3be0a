"""The leaves of a graph: inputs, numbers, arrays and sizes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sympy as sp

from ..base.sizes import Dimension, Shape, WideError, as_expr
from ..op import Leaf, NoRule, Op
from ._interned import intern, new_node
from ._node import Node


def _leaf(name: str) -> Op:
    def evaluate(*_: Any, **__: Any) -> Any:
        raise TypeError(f"{name} is a leaf and has no operands to compute from")

    return Leaf(name, evaluate=evaluate, rule=NoRule("a leaf"))


class Input(Node):
    """An argument of the traced function. Each is distinct, whatever its name.

    ``dim`` is the size symbol that the argument gives the value of, if it is a size.
    """

    __slots__ = ("dim", "name")
    op = _leaf("Input")
    name: str
    dim: sp.Symbol | None

    def __new__(cls, name: str, shape: Shape, dtype: Any, dim: sp.Symbol | None = None) -> Input:
        self: Input = new_node(cls, (), (), shape, np.dtype(dtype))
        self.name, self.dim, self.where = name, dim, None
        return self

    @property
    def symbol(self) -> sp.Symbol:
        """The input as a SymPy symbol."""
        kind = self.dtype.kind
        return sp.Symbol(self.name, real=True) if kind == "f" else sp.Symbol(self.name)

    def _formula(self, operands: Sequence[sp.Expr]) -> sp.Expr:
        return self.symbol


class Literal(Node):
    """A number written in the function, of a definite element type."""

    __slots__ = ("value",)
    op = _leaf("Literal")
    value: Any

    def __new__(cls, value: Any, dtype: Any) -> Literal:
        dtype = np.dtype(dtype)
        scalar = np.asarray(value).astype(dtype)[()]

        def make() -> Node:
            self: Literal = new_node(cls, (), (), (), dtype)
            self.value = scalar
            return self

        # Bytes tell 0.0 from -0.0 and keep nan equal to itself.
        return intern((cls, dtype, scalar.tobytes()), make)

    def _formula(self, operands: Sequence[sp.Expr]) -> sp.Expr:
        return literal_form(self.value)


class Constant(Node):
    """An array that the function closes over; copied, so later writes do not reach it."""

    __slots__ = ("array", "digest")
    op = _leaf("Constant")
    array: np.ndarray[Any, Any]
    digest: str

    def __new__(cls, array: np.ndarray[Any, Any]) -> Constant:
        array = np.array(array, order="C", copy=True)
        array.flags.writeable = False
        digest = hashlib.sha256(array.tobytes()).hexdigest()[:32]

        def make() -> Node:
            self: Constant = new_node(cls, (), (), array.shape, array.dtype)
            self.array, self.digest = array, digest
            return self

        return intern((cls, array.dtype.str, array.shape, digest), make)

    def _formula(self, operands: Sequence[sp.Expr]) -> sp.Expr:
        return sp.Symbol(f"c{self.digest[:4]}")


class SizeOf(Node):
    """A symbolic size as a number in the computation."""

    __slots__ = ("size",)
    op = _leaf("SizeOf")
    size: Dimension

    def __new__(cls, size: Dimension, dtype: Any = np.int64) -> SizeOf:
        def make() -> Node:
            self: SizeOf = new_node(cls, (), (), (), np.dtype(dtype))
            self.size = size
            return self

        return intern((cls, size, np.dtype(dtype)), make)

    def _formula(self, operands: Sequence[sp.Expr]) -> sp.Expr:
        return as_expr(self.size)


class Iota(Node):
    """The integers ``0, 1, ..., size - 1``."""

    __slots__ = ("size",)
    op = _leaf("Iota")
    size: Dimension

    def __new__(cls, size: Dimension) -> Iota:
        def make() -> Node:
            self: Iota = new_node(cls, (), (), (size,), np.dtype(np.int64))
            self.size = size
            return self

        return intern((cls, size), make)


def literal_form(value: Any) -> sp.Expr:
    """Return the exact SymPy number of a NumPy scalar: integers stay integers."""
    if isinstance(value, np.bool_):
        return sp.true if value else sp.false
    number = value.item()
    if isinstance(number, int):
        return sp.Integer(number)
    if number != number:
        return sp.nan
    if number in (float("inf"), float("-inf")):
        return sp.oo if number > 0 else -sp.oo
    if float(number).is_integer() and abs(number) < 2**53:
        return sp.Integer(int(number))
    # The shortest decimal for people; the oracle reads the exact binary value itself.
    return sp.Float(number)


def leaf_value(leaf: Node, size: Callable[[Any], int]) -> Any:
    """Return the number or array of a leaf that is no input; ``size`` gives those of dimensions."""
    if isinstance(leaf, Literal):
        return leaf.value
    if isinstance(leaf, Constant):
        return leaf.array
    if isinstance(leaf, SizeOf):
        number = size(leaf.size)
        try:
            return leaf.dtype.type(number)
        except OverflowError:
            raise WideError.of(number) from None
    assert isinstance(leaf, Iota)
    return np.arange(size(leaf.size))
