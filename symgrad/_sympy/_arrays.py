"""Formulas of arrays and matrices, by NumPy's: products by BLAS, inverses of products by solving.

The last axes of a value are those of the formula; axes before them are of arrays of matrices. Of
an ``IndexedBase`` it is the first ones: its elements are NumPy's, as lambdify has them.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import sympy as sp
from sympy.codegen import matrix_nodes
from sympy.matrices.expressions.applyfunc import ElementwiseApplyFunction
from sympy.matrices.expressions.diagonal import DiagMatrix, DiagonalMatrix, DiagonalOf
from sympy.matrices.expressions.dotproduct import DotProduct
from sympy.matrices.expressions.matexpr import MatrixElement, MatrixExpr
from sympy.tensor.array import NDimArray
from sympy.tensor.array.expressions import (
    ArrayAdd,
    ArrayContraction,
    ArrayDiagonal,
    ArrayElement,
    ArrayElementwiseApplyFunc,
    ArrayTensorProduct,
    OneArray,
    PermuteDims,
    Reshape,
    ZeroArray,
)

from .. import numpy as traced_numpy
from .._core.trace.formula import Form, Meaning, Part, raised
from ..errors import ArgumentError, UnsupportedError
from ._builder import INDEX, FormulaBuilder

# ---------------------------------------------------------------- elements


def _indexed(
    indices: Callable[[Any], Sequence[Any]],
    base: Callable[[Any], Any],
    element: Callable[..., Any],
) -> Form:
    """Return the form of an element: the array, and where it is."""

    def emit(builder: FormulaBuilder, e: Any, slots: list[int]) -> int:
        return builder.step(element, *slots)

    return Form(emit, lambda e: [base(e), *(Part(i, INDEX) for i in indices(e))])


def _element(array: Any, *place: Any) -> Any:
    return array[(..., *map(_as_place, place))]


def _first_element(array: Any, *place: Any) -> Any:
    return array[tuple(map(_as_place, place))]


def _as_place(i: Any) -> Any:
    """Return an index as an integer: a formula of integers may come to a float, ``n/2``."""
    if isinstance(i, float):
        if not i.is_integer():
            raise ArgumentError(f"an index of an array is {i}: integers")
        return int(i)
    return i.astype(np.int64) if getattr(getattr(i, "dtype", None), "kind", "") == "f" else i


def _slice_parts(e: Any) -> list[Any]:
    return [e.parent, *(Part(n, INDEX) for s in (e.rowslice, e.colslice) for n in s)]


def _sliced(matrix: Any, *ends: Any) -> Any:
    return matrix[..., slice(*ends[:3]), slice(*ends[3:])]


# ---------------------------------------------------------------- products and inverses


def _factor_parts(e: Any) -> list[Any]:
    return [f.args[0] if _is_inverse(f) else f for f in e.args]


def _is_inverse(e: Any) -> bool:
    return isinstance(e, sp.Inverse) or (isinstance(e, sp.MatPow) and e.args[1] is sp.S.NegativeOne)


def _matrix_product(builder: FormulaBuilder, e: Any, slots: list[int]) -> int:
    """Write a product from the side where a column or row is, or a solution can be reused."""
    numbers = [s for f, s in zip(e.args, slots, strict=True) if not f.is_Matrix]
    factors = [(s, _is_inverse(f), f) for f, s in zip(e.args, slots, strict=True) if f.is_Matrix]
    first, last = factors[0], factors[-1]
    from_left = first[2].shape[0] == 1 or (last[1] and not first[1])
    if last[2].shape[1] == 1 and not last[1]:
        from_left = False
    total = _multiplied_from(builder, factors, from_left)
    if numbers:
        number = reduce(lambda a, b: builder.step(operator.mul, a, b), numbers)
        total = builder.step(_scaled, number, total)
    return total


def _multiplied_from(builder: FormulaBuilder, factors: list[Any], left: bool) -> int:
    row = factors if left else factors[::-1]
    slot, inverse, _ = row[0]
    total = builder.step(np.linalg.inv, slot) if inverse else slot
    for slot, inverse, _ in row[1:]:
        if inverse:
            total = builder.step(_solved_from_left if left else np.linalg.solve, slot, total)
        else:
            total = builder.step(operator.matmul, *((total, slot) if left else (slot, total)))
    return total


def _solved_from_left(matrix: Any, row: Any) -> Any:
    """Return ``row @ inv(matrix)``."""
    return _transposed(np.linalg.solve(_transposed(matrix), _transposed(row)))


def _scaled(number: Any, matrix: Any) -> Any:
    """Return a number times a matrix; of an array of numbers, a matrix for each."""
    if getattr(number, "ndim", 0):
        number = np.reshape(number, (*number.shape, 1, 1))
    return number * matrix


def _transposed(matrix: Any) -> Any:
    return np.swapaxes(matrix, -1, -2)


def _adjoint(matrix: Any) -> Any:
    turned = _transposed(matrix)
    return np.conj(turned) if np.iscomplexobj(matrix) else turned


def _trace(matrix: Any) -> Any:
    return np.trace(matrix, axis1=-2, axis2=-1)


def _matrix_power(builder: FormulaBuilder, e: Any, slots: list[int]) -> int:
    exponent = e.args[1]
    if not exponent.is_Integer:
        raise UnsupportedError(
            f"{e}: powers of matrices have integer exponents that are known; others by "
            "symgrad.scipy.linalg (sqrtm, fractional_matrix_power, expm)"
        )
    if exponent == -1:
        return builder.step(np.linalg.inv, slots[0])
    return builder.step(np.linalg.matrix_power, slots[0], static=(int(exponent),))


def _dot(a: Any, b: Any) -> Any:
    return np.sum(_as_vector(a) * _as_vector(b), axis=-1)


def _as_vector(matrix: Any) -> Any:
    """Return the elements of a row or column, behind the axes of the numbers in it."""
    *more, rows, columns = np.shape(matrix)
    return np.reshape(matrix, (*more, rows * columns))


def _kronecker_product(*matrices: Any) -> Any:
    return reduce(_kronecker_pair, matrices)


def _kronecker_pair(a: Any, b: Any) -> Any:
    if np.ndim(a) == np.ndim(b) == 2:
        return np.kron(a, b)
    product = a[..., :, None, :, None] * b[..., None, :, None, :]
    *more, p, q, m, n = product.shape
    return np.reshape(product, (*more, p * q, m * n))


# ---------------------------------------------------------------- matrices made of numbers


def stacked(shape: tuple[int, ...]) -> Callable[..., Any]:
    """Return a function that makes a matrix of its elements, behind the axes that these have."""

    def stack(*elements: Any) -> Any:
        together = np.stack(np.broadcast_arrays(*elements), axis=-1)
        return np.reshape(together, (*together.shape[:-1], *shape))

    return stack


def _explicit(builder: FormulaBuilder, e: Any, slots: list[int]) -> int:
    if not slots:
        return builder.step(_filled, *map(builder.constant, e.shape), static=(0.0,))
    return builder.step(stacked(tuple(map(int, e.shape))), *slots)


def _elements(e: Any) -> list[Any]:
    if hasattr(e, "flat"):
        return list(e.flat())
    return [e[index] for index in itertools.product(*map(range, e.shape))]  # list() has the rows


def _filled(*shape_and_value: Any) -> Any:
    *shape, value = shape_and_value
    return traced_numpy.full(tuple(shape), value)


def _of_shape(value: float) -> Form:
    return Form(
        lambda b, e, s: b.step(_filled, *s, static=(value,)),
        lambda e: [Part(n, INDEX) for n in e.shape],
    )


def _identity(n: Any) -> Any:
    return traced_numpy.eye(n)


def _diagonal_matrix(column: Any) -> Any:
    values = _as_vector(column)
    return traced_numpy.eye(values.shape[-1]) * values[..., None, :]


def _only_diagonal(matrix: Any) -> Any:
    return matrix * traced_numpy.eye(*matrix.shape[-2:])


def _diagonal_of(matrix: Any) -> Any:
    return np.diagonal(matrix, axis1=-2, axis2=-1)[..., None]


def _blocks(builder: FormulaBuilder, e: Any, slots: list[int]) -> int:
    rows, columns = e.blocks.shape
    return builder.step(_joined, *slots, static=(rows, columns))


def _joined(*more: Any) -> Any:
    *given, rows, columns = more
    blocks = _equally_many(given)
    return np.concatenate(
        [np.concatenate(blocks[r * columns : (r + 1) * columns], axis=-1) for r in range(rows)],
        axis=-2,
    )


def _equally_many(blocks: Sequence[Any]) -> list[Any]:
    """Broadcast the axes that blocks have before those of a matrix: numbers in some are arrays."""
    if all(np.ndim(block) == 2 for block in blocks):
        return list(blocks)
    more = np.broadcast_shapes(*(block.shape[:-2] for block in blocks))
    return [np.broadcast_to(block, (*more, *block.shape[-2:])) for block in blocks]


def _block_diagonal(*given: Any) -> Any:
    rows, blocks = [], _equally_many(given)
    for k, block in enumerate(blocks):
        height = block.shape[-2]
        row = [
            block if k == j else traced_numpy.zeros((*other.shape[:-2], height, other.shape[-1]))
            for j, other in enumerate(blocks)
        ]
        rows.append(np.concatenate(row, axis=-1))
    return np.concatenate(rows, axis=-2)


def _permutation(builder: FormulaBuilder, e: Any, slots: list[int]) -> int:
    order = tuple(e.args[0].array_form)
    return builder.step(_permuted_identity, builder.constant(len(order)), static=(order,))


def _permuted_identity(n: Any, order: tuple[int, ...]) -> Any:
    return np.eye(n)[list(order)]


def _elementwise(builder: FormulaBuilder, e: Any, slots: list[int]) -> int:
    function = e.function
    body, captured, _ = builder.body(function.variables, lambda b: b.slot(function.expr))
    return builder.step(_run_on, *slots, *captured, static=(body,))


def _run_on(*more: Any) -> Any:
    *values, body = more
    return body(*values)[0]


def _hadamard_power(matrix: Any, exponent: Any) -> Any:
    return raised(matrix, exponent)


def _multiplied(*values: Any) -> Any:
    return reduce(operator.mul, values)


def _added(*values: Any) -> Any:
    return reduce(operator.add, values)


def _solve(matrix: Any, vector: Any) -> Any:
    return np.linalg.solve(matrix, vector)


# ---------------------------------------------------------------- arrays of any rank


# Arrays whose elements are numbers of the arguments have these arguments' axes before their own.


def _rank(e: Any) -> int:
    return len(e.shape)


def _tensor_product(builder: FormulaBuilder, e: Any, slots: list[int]) -> int:
    return builder.step(_outer, *slots, static=(tuple(map(_rank, e.args)),))


def _outer(*arrays_and_ranks: Any) -> Any:
    *arrays, ranks = arrays_and_ranks
    total, rank = arrays[0], ranks[0]
    for array, own in zip(arrays[1:], ranks[1:], strict=True):
        if np.ndim(total) == rank and np.ndim(array) == own:
            total = np.tensordot(total, array, 0)
        else:
            more = np.ndim(array) - own
            row = np.reshape(array, (*array.shape[:more], *(1,) * rank, *array.shape[more:]))
            total = np.reshape(total, (*total.shape, *(1,) * own)) * row
        rank += own
    return total


def _contraction(builder: FormulaBuilder, e: Any, slots: list[int]) -> int:
    groups = _axes(e.contraction_indices)
    return builder.step(_contracted, slots[0], static=(groups, False, _rank(e.expr)))


def _diagonal(builder: FormulaBuilder, e: Any, slots: list[int]) -> int:
    return builder.step(
        _contracted, slots[0], static=(_axes(e.diagonal_indices), True, _rank(e.expr))
    )


def _axes(groups: Any) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(k) for k in group) for group in groups)


def _contracted(array: Any, groups: tuple[tuple[int, ...], ...], kept: bool, rank: int) -> Any:
    """Sum over axes that are equal, or with ``kept`` have them as one axis, behind the others."""
    more = np.ndim(array) - rank
    groups = tuple(tuple(k + more for k in group) for group in groups)
    labels = list(range(np.ndim(array)))
    for group in groups:
        for k in group:
            labels[k] = group[0]
    out = [k for k in range(len(labels)) if not any(k in group for group in groups)]
    if kept:
        out += [group[0] for group in groups]
    return np.einsum(array, labels, out)


def _permuted(builder: FormulaBuilder, e: Any, slots: list[int]) -> int:
    return builder.step(_transposed_by, slots[0], static=(tuple(e.permutation.array_form),))


def _transposed_by(array: Any, order: tuple[int, ...]) -> Any:
    more = np.ndim(array) - len(order)
    return np.transpose(array, (*range(more), *(k + more for k in order)))


def _reshape(builder: FormulaBuilder, e: Any, slots: list[int]) -> int:
    return builder.step(_reshaped, *slots, static=(_rank(e.expr),))


def _reshaped(array: Any, *shape_and_rank: Any) -> Any:
    *shape, rank = shape_and_rank
    return np.reshape(array, (*array.shape[: np.ndim(array) - rank], *shape))


ARRAYS: dict[Any, Meaning] = {
    sp.Indexed: _indexed(lambda e: e.indices, lambda e: e.base, _first_element),
    MatrixElement: _indexed(lambda e: e.args[1:], lambda e: e.parent, _element),
    ArrayElement: _indexed(lambda e: e.indices, lambda e: e.name, _element),
    sp.MatrixSlice: Form(lambda b, e, s: b.step(_sliced, *s), _slice_parts),
    sp.MatMul: Form(_matrix_product, _factor_parts),
    sp.MatAdd: _added, sp.Inverse: Form(lambda b, e, s: b.step(np.linalg.inv, s[0])),
    sp.MatPow: Form(_matrix_power), sp.Transpose: _transposed, sp.Adjoint: _adjoint,
    sp.Trace: _trace, sp.Determinant: np.linalg.det,
    sp.HadamardProduct: _multiplied, sp.HadamardPower: _hadamard_power,
    sp.KroneckerProduct: _kronecker_product, DotProduct: _dot,
    sp.Identity: Form(lambda b, e, s: b.step(_identity, s[0]), lambda e: [Part(e.args[0], INDEX)]),
    sp.ZeroMatrix: _of_shape(0.0), sp.OneMatrix: _of_shape(1.0),
    ZeroArray: _of_shape(0.0), OneArray: _of_shape(1.0),
    DiagMatrix: _diagonal_matrix, DiagonalMatrix: _only_diagonal, DiagonalOf: _diagonal_of,
    sp.BlockMatrix: Form(_blocks, lambda e: _elements(e.blocks)),
    sp.BlockDiagMatrix: Form(lambda b, e, s: b.step(_block_diagonal, *s), lambda e: e.args),
    sp.PermutationMatrix: Form(_permutation, lambda e: ()),
    ElementwiseApplyFunction: Form(_elementwise, lambda e: [e.expr]),
    ArrayElementwiseApplyFunc: Form(_elementwise, lambda e: [e.expr]),
    matrix_nodes.MatrixSolve: _solve,
    sp.MatrixBase: Form(_explicit, _elements), NDimArray: Form(_explicit, _elements),
    ArrayTensorProduct: Form(_tensor_product), ArrayAdd: _added,
    ArrayContraction: Form(_contraction, lambda e: [e.expr]),
    ArrayDiagonal: Form(_diagonal, lambda e: [e.expr]),
    PermuteDims: Form(_permuted, lambda e: [e.expr]),
    Reshape: Form(_reshape, lambda e: [e.expr, *(Part(n, INDEX) for n in e.shape)]),
    # Whatever else SymPy can write out as elements: FunctionMatrix, DFT, CompanionMatrix.
    MatrixExpr: Form(lambda b, e, s: s[0], lambda e: [_written_out(e)]),
}  # fmt: skip


def _written_out(e: Any) -> Any:
    if not all(sp.sympify(n).is_Integer for n in e.shape):  # a companion matrix has Python's ints
        raise UnsupportedError(f"{e} is a matrix whose shape has to be known, as numbers")
    return e.as_explicit()
