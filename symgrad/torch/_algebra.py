"""PyTorch's names for products and functions of matrices, as NumPy's functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tensor._tensor import Tensor
from ..errors import ShapeError
from ._arguments import axis_of, example


@example("torch.matmul(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))", "tensor(11.)")
def matmul(input: Any, other: Any) -> Any:
    """Return the product of matrices and vectors, as ``@`` does."""
    return input @ other if isinstance(input, Tensor) else np.matmul(input, other)


@example("torch.dot(torch.ones(3), torch.ones(3))", "tensor(3.)")
def dot(input: Any, other: Any) -> Any:
    """Return the sum of the products of two vectors' elements."""
    if type(input) is type(other) is Tensor and input.ndim == other.ndim == 1:
        return input @ other
    return np.dot(input, other)


@example("torch.mm(x, x)", "tensor([[11.,  7.],\n        [14., 18.]])")
def mm(input: Any, mat2: Any) -> Any:
    """Return the product of two matrices."""
    return _ranked("mm", 2, 2, input, mat2)


@example("torch.mv(x, x[0])", "tensor([10., 10.])")
def mv(input: Any, vec: Any) -> Any:
    """Return the product of a matrix and a vector."""
    return _ranked("mv", 2, 1, input, vec)


@example("torch.bmm(x[None], x[None])", "tensor([[[11.,  7.],\n         [14., 18.]]])")
def bmm(input: Any, mat2: Any) -> Any:
    """Return the products of two batches of matrices."""
    return _ranked("bmm", 3, 3, input, mat2)


def _ranked(name: str, first: int, second: int, input: Any, other: Any) -> Any:
    """Return a product of operands of fixed ranks."""
    if (len(input.shape), len(other.shape)) != (first, second):
        raise ShapeError(
            f"{name} takes operands of {first} and {second} axes, not of shapes "
            f"{tuple(input.shape)} and {tuple(other.shape)}: matmul (@) takes any"
        )
    return matmul(input, other)


@example("torch.outer(x[0], x[1])", "tensor([[ 6., 12.],\n        [ 2.,  4.]])")
def outer(input: Any, vec2: Any) -> Any:
    """Return the products of each element of one vector with each of another."""
    return np.outer(input, vec2)


@example("torch.einsum('ij,j->i', x, x[0])", "tensor([10., 10.])")
def einsum(equation: str, *operands: Any) -> Any:
    """Return a sum of products in index notation."""
    given = operands[0] if len(operands) == 1 and isinstance(operands[0], list) else operands
    return np.einsum(equation, *given)


@example("torch.cross(torch.eye(3)[0], torch.eye(3)[1])", "tensor([0., 0., 1.])")
def cross(input: Any, other: Any, dim: int = -1) -> Any:
    """Return the vector products."""
    return np.cross(input, other, axis=dim)


@example("torch.kron(torch.eye(2), x[:1])", "tensor([[3., 1., 0., 0.],\n        [0., 0., 3., 1.]])")
def kron(input: Any, other: Any) -> Any:
    """Return the matrix of all products, block by block."""
    return np.kron(input, other)


@example("torch.tensordot(x, x, dims=2)", "tensor(30.)")
def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """Return the sum of products over the last axes of one, the first of another."""
    return np.tensordot(a, b, dims)


@example("torch.trace(x)", "tensor(7.)")
def trace(input: Any) -> Any:
    """Return the sum of a matrix's diagonal."""
    return np.trace(input)


@example("torch.det(x)", "tensor(10.)")
def det(input: Any) -> Any:
    """Return the determinant of square matrices."""
    return np.linalg.det(input)


@example("torch.inverse(x)", "tensor([[ 0.4000, -0.1000],\n        [-0.2000,  0.3000]])")
def inverse(input: Any) -> Any:
    """Return the inverse of square matrices."""
    return np.linalg.inv(input)


@example("torch.norm(x), torch.norm(x, 1, dim=0)", "(tensor(5.4772), tensor([5., 5.]))")
def norm(
    input: Any, p: Any = 2, dim: Any = None, keepdim: bool = False, *, axis: Any = None
) -> Any:
    """Return the p-norm of all elements, or along axes."""
    where = axis_of(dim, axis)
    if p == "fro":
        p = 2
    if where is None:
        where = tuple(range(len(input.shape)))
    size = np.abs(input)
    if p in (np.inf, -np.inf):
        return (np.max if p > 0 else np.min)(size, axis=where, keepdims=keepdim)
    if p == 0:
        return np.sum((size > 0).astype(size.dtype), axis=where, keepdims=keepdim)
    if p == 1:
        return np.sum(size, axis=where, keepdims=keepdim)
    if p == 2:
        return np.sqrt(np.sum(input * input, axis=where, keepdims=keepdim))
    return np.sum(size**p, axis=where, keepdims=keepdim) ** (1 / p)


@example("torch.cdist(x, x[:1])", "tensor([[0.0000],\n        [3.1623]])")
def cdist(x1: Any, x2: Any, p: Any = 2.0) -> Any:
    """Return the distances, by the p-norm, of all rows of one matrix from those of another."""
    return norm(x1[..., :, None, :] - x2[..., None, :, :], p, -1)


__all__ = [
    "bmm", "cdist", "cross", "det", "dot", "einsum", "inverse", "kron", "matmul", "mm", "mv",
    "norm", "outer", "tensordot", "trace",
]  # fmt: skip
