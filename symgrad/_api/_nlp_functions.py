"""The functions that a nonlinear program compiles: objective, constraints, their derivatives.

They are of the single arrays: calls with arrays by position go straight to machine code. They
are partials, not closures, so that tracing can adapt the user's functions in them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .._core.base.sizes import as_dim, hint
from .._core.ops.np_common import as_array
from .._core.trace import Tree, flatten
from ..errors import ShapeError
from ._flat import Flat
from ._matrices import hessian, jacobian
from ._transforms import compile, value_and_grad


class Nest:
    """A structure, made of its leaves; equal to others of the same structure."""

    __slots__ = ("tree",)

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def __call__(self, leaves: Sequence[Any]) -> Any:
        return self.tree.unflatten(leaves)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Nest) and self.tree == other.tree

    def __hash__(self) -> int:
        return hash(self.tree)


def _stacked(functions: Sequence[Any], x: Any, args: Any) -> Any:
    """Return constraints; lists of numbers are arrays, wherever they are."""
    result = functions[1](x, *args)
    if isinstance(result, tuple) and all(np.ndim(v) == 0 for v in flatten(result)[0]):
        return as_array(list(result))
    return _arrays(result)


def _arrays(value: Any) -> Any:
    if type(value) is dict:
        return {key: _arrays(part) for key, part in value.items()}
    if type(value) not in (list, tuple):
        return value
    if type(value) is list and all(np.ndim(v) == 0 for v in flatten(value)[0]):
        return as_array(value)
    return type(value)(map(_arrays, value))


def _number(functions: Sequence[Any], x: Any, args: Any) -> Any:
    value = as_array(functions[0](x, *args))
    try:
        return np.reshape(value, ())
    except ShapeError as error:
        sizes = tuple(hint(as_dim(n)) for n in value.shape)
        raise ShapeError(
            f"nlp: the objective is one number, not an array of shape {sizes}. "
            "Write instead: np.sum of it, or make it constraints"
        ) from error


def _of_leaves(
    function: Callable[..., Any], functions: Sequence[Any], nest: Nest, *leaves: Any
) -> Any:
    return function(functions, *nest(leaves))


def _lagrangian(functions: Sequence[Any], nest: Nest, *leaves: Any) -> Any:
    x, args, factor, multipliers = nest(leaves)
    total = factor * _number(functions, x, args)
    if functions[1] is not None:
        values = flatten(_stacked(functions, x, args))[0]
        for weight, value in zip(flatten(multipliers)[0], values, strict=True):
            total = total + np.sum(weight * value)
    return total


# Of an objective and constraints, or None:


def objective_with_gradient(functions: Sequence[Any], nest: Nest, count: int) -> Any:
    """Return the objective with its derivatives by the first ``count`` leaves."""
    return value_and_grad(partial(_of_leaves, _number, functions, nest), tuple(range(count)))


def constraint_values(functions: Sequence[Any], nest: Nest) -> Any:
    """Return the constraints."""
    return compile(partial(_of_leaves, _stacked, functions, nest))


def constraint_jacobian(functions: Sequence[Any], nest: Nest, count: int) -> Any:
    """Return the derivatives of the constraints, a sparse block for each pair of arrays."""
    by = tuple(range(count))
    return jacobian(partial(_of_leaves, _stacked, functions, nest), by, sparse=True, format="coo")


def lagrangian_hessian(functions: Sequence[Any], nest: Nest, count: int) -> Any:
    """Return the second derivatives of the Lagrangian, blocks of its lower triangle."""
    by, function = tuple(range(count)), partial(_lagrangian, functions, nest)
    return hessian(function, by, sparse=True, format="coo", triangle="lower")


class SparseValues:
    """A sparse derivative by one vector: the values of its blocks, one after the other.

    Parameters
    ----------
    derivative:
        The compiled blocks, a matrix for each array of the result and each of the argument.
    rows, columns:
        Both as vectors.
    what:
        What it is, for errors.
    """

    def __init__(self, derivative: Any, rows: Flat, columns: Flat, what: str) -> None:
        self.derivative, self.what = derivative, what
        self._places = [(a.start, b.start) for a in rows.parts for b in columns.parts]
        self.row = self.column = np.zeros(0, int)
        self._known: Any = None

    def find(self, *args: Any) -> tuple[Any, Any]:
        """Return rows and columns of the values for these arguments."""
        blocks = flatten(self.derivative.pattern(*args))[0]
        pairs = list(zip(blocks, self._places, strict=True))
        rows = [np.zeros(0, int), *(block.row + down for block, (down, _) in pairs)]
        columns = [np.zeros(0, int), *(block.col + right for block, (_, right) in pairs)]
        return np.concatenate(rows), np.concatenate(columns)

    def fix(self, *args: Any) -> None:
        """Take the pattern for these arguments as that of all."""
        self.row, self.column = self.find(*args)
        self._known = self.derivative._last

    def values(self, *args: Any) -> Any:
        """Return the values.

        Raises
        ------
        ShapeError
            If they lie in other places than at the first point.
        """
        values = self.derivative.joined(*args)
        if self.derivative._last is not self._known:  # another one that may be equal
            row, column = self.find(*args)
            if not (np.array_equal(row, self.row) and np.array_equal(column, self.column)):
                raise ShapeError(
                    f"the pattern of the {self.what} is another one at this point ({len(row)} "
                    f"entries) than at the first ({len(self.row)}): solvers take it as fixed. "
                    "Write branches as np.where(condition, a, b), which has the entries of both"
                )
            self._known = self.derivative._last
        return values
