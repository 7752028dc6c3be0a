"""PyTorch's names for products, matrices, comparisons and counts, as NumPy's functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import ShapeError
from ._arrange import _named
from ._functions import amax, amin, axis_of, matmul
from ._tensor import Tensor

# ---------------------------------------------------------------- products


def _matrices(name: str, first: int, second: int, does: str, example: str, shown: str) -> Any:
    """Return a product of operands of fixed ranks."""

    @_named(name, does, example, shown)
    def product(input: Any, other: Any) -> Any:
        if (len(input.shape), len(other.shape)) != (first, second):
            raise ShapeError(
                f"{name} takes operands of {first} and {second} axes, not of shapes "
                f"{tuple(input.shape)} and {tuple(other.shape)}: matmul (@) takes any"
            )
        return matmul(input, other)

    return product


mm: Callable[..., Any] = _matrices(
    "mm", 2, 2, "Return the product of two matrices.", "sg.mm(x, x)",
    "tensor([[11.,  7.],\n        [14., 18.]])",
)  # fmt: skip
mv: Callable[..., Any] = _matrices(
    "mv", 2, 1, "Return the product of a matrix and a vector.", "sg.mv(x, x[0])",
    "tensor([10., 10.])",
)  # fmt: skip
bmm: Callable[..., Any] = _matrices(
    "bmm", 3, 3, "Return the products of two batches of matrices.", "sg.bmm(x[None], x[None])",
    "tensor([[[11.,  7.],\n         [14., 18.]]])",
)  # fmt: skip


@_named("outer", "Return the products of each element of one vector with each of another.",
        "sg.outer(x[0], x[1])", "tensor([[ 6., 12.],\n        [ 2.,  4.]])")  # fmt: skip
def outer(input: Any, vec2: Any) -> Any:
    return np.outer(input, vec2)


@_named("einsum", "Return a sum of products in index notation.",
        "sg.einsum('ij,j->i', x, x[0])", "tensor([10., 10.])")  # fmt: skip
def einsum(equation: str, *operands: Any) -> Any:
    given = operands[0] if len(operands) == 1 and isinstance(operands[0], list) else operands
    return np.einsum(equation, *given)


@_named("cross", "Return the vector products.", "sg.cross(sg.eye(3)[0], sg.eye(3)[1])",
        "tensor([0., 0., 1.])")  # fmt: skip
def cross(input: Any, other: Any, dim: int = -1) -> Any:
    return np.cross(input, other, axis=dim)


@_named("kron", "Return the matrix of all products, block by block.",
        "sg.kron(sg.eye(2), x[:1])",
        "tensor([[3., 1., 0., 0.],\n        [0., 0., 3., 1.]])")  # fmt: skip
def kron(input: Any, other: Any) -> Any:
    return np.kron(input, other)


@_named("tensordot", "Return the sum of products over the last axes of one, the first of another.",
        "sg.tensordot(x, x, dims=2)", "tensor(30.)")  # fmt: skip
def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    return np.tensordot(a, b, dims)


@_named("trace", "Return the sum of a matrix's diagonal.", "sg.trace(x)", "tensor(7.)")
def trace(input: Any) -> Any:
    return np.trace(input)


@_named("det", "Return the determinant of square matrices.", "sg.det(x)", "tensor(10.)")
def det(input: Any) -> Any:
    return np.linalg.det(input)


@_named("inverse", "Return the inverse of square matrices.",
        "sg.inverse(x)", "tensor([[ 0.4000, -0.1000],\n        [-0.2000,  0.3000]])")  # fmt: skip
def inverse(input: Any) -> Any:
    return np.linalg.inv(input)


@_named("norm", "Return the p-norm of all elements, or along axes.",
        "sg.norm(x), sg.norm(x, 1, dim=0)",
        "(tensor(5.4772), tensor([5., 5.]))")  # fmt: skip
def norm(
    input: Any, p: Any = 2, dim: Any = None, keepdim: bool = False, *, axis: Any = None
) -> Any:
    where = axis_of(dim, axis)
    if p == "fro":
        p = 2
    if where is None:
        where = tuple(range(len(input.shape)))
    size = np.abs(input)
    if p in (np.inf, -np.inf):
        return (np.max if p > 0 else np.min)(size, axis=where, keepdims=keepdim)
    if p == 1:
        return np.sum(size, axis=where, keepdims=keepdim)
    if p == 2:
        return np.sqrt(np.sum(input * input, axis=where, keepdims=keepdim))
    return np.sum(size**p, axis=where, keepdims=keepdim) ** (1 / p)


# ---------------------------------------------------------------- reductions


@_named("cumprod", "Return the running product along an axis.",
        "sg.cumprod(x, dim=1)", "tensor([[3., 3.],\n        [2., 8.]])")  # fmt: skip
def cumprod(input: Any, dim: Any = None, *, axis: Any = None) -> Any:
    return np.cumprod(input, axis=axis_of(dim, axis))


@_named("count_nonzero", "Return the number of elements that are not zero.",
        "sg.count_nonzero(x)", "tensor(4)")  # fmt: skip
def count_nonzero(input: Any, dim: Any = None) -> Any:
    return np.count_nonzero(input, axis=dim)


@_named("numel", "Return the number of elements.", "sg.numel(x)", "4")
def numel(input: Any) -> int:
    return int(np.size(input))


# ---------------------------------------------------------------- elementwise


@_named("rsqrt", "Return one over the square root.", "sg.rsqrt(x[1, 1])", "tensor(0.5000)")
def rsqrt(input: Any) -> Any:
    return 1 / np.sqrt(input)


@_named("lerp", "Return ``start`` plus ``weight`` of the way to ``end``.",
        "sg.lerp(x[0], x[1], 0.5)", "tensor([2.5000, 2.5000])")  # fmt: skip
def lerp(input: Any, end: Any, weight: Any) -> Any:
    return input + weight * (end - input)


@_named("addcmul", "Return ``input`` plus ``value`` times the product of two tensors.",
        "sg.addcmul(x[0], x[0], x[1], value=0.5)", "tensor([6., 3.])")  # fmt: skip
def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: float = 1) -> Any:
    product = tensor1 * tensor2
    return input + (product if value == 1 else value * product)


@_named("addcdiv", "Return ``input`` plus ``value`` times the quotient of two tensors.",
        "sg.addcdiv(x[0], x[0], x[1], value=4)", "tensor([9., 2.])")  # fmt: skip
def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: float = 1) -> Any:
    quotient = tensor1 / tensor2
    return input + (quotient if value == 1 else value * quotient)


@_named("frac", "Return the elements without their whole parts, with their signs.",
        "sg.frac(x / 2)", "tensor([[0.5000, 0.5000],\n        [0.0000, 0.0000]])")  # fmt: skip
def frac(input: Any) -> Any:
    return input - np.trunc(input)


@_named("round", "Return the elements rounded to so many decimals; halves to even numbers.",
        "sg.round(x / 2)", "tensor([[2., 0.],\n        [1., 2.]])")  # fmt: skip
def round(input: Any, *, decimals: int = 0) -> Any:  # noqa: A001
    return np.round(input, decimals)


@_named("isclose", "Tell for each element whether it is nearly that of the other.",
        "sg.isclose(x[0], x[0] + 1e-12)", "tensor([True, True])")  # fmt: skip
def isclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8) -> Any:
    return np.isclose(input, other, rtol, atol)


@_named("allclose", "Tell whether all elements are nearly those of the other.",
        "sg.allclose(x, x + 1e-12)", "True")  # fmt: skip
def allclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
    return bool(np.allclose(input, other, rtol, atol))


@_named("equal", "Tell whether two tensors have one shape and the same elements.",
        "sg.equal(x, x + 1e-12)", "False")  # fmt: skip
def equal(input: Any, other: Any) -> bool:
    return bool(np.array_equal(input, other))


@_named("nan_to_num", "Return the elements, with numbers for nan and infinities.",
        "sg.nan_to_num(x[0] * float('inf'), posinf=9.0)", "tensor([9., 9.])")  # fmt: skip
def nan_to_num(
    input: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Any:
    return np.nan_to_num(input, nan=nan, posinf=posinf, neginf=neginf)


@_named("is_tensor", "Tell whether a value is a tensor.", "sg.is_tensor(x)", "True")
def is_tensor(obj: Any) -> bool:
    return isinstance(obj, Tensor)


# ---------------------------------------------------------------- side by side


@_named("meshgrid", "Return the coordinates of a grid, one array for each axis.",
        "sg.meshgrid(x[0], x[1])[1]", "tensor([[2., 4.],\n        [2., 4.]])")  # fmt: skip
def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Any, ...]:
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    return tuple(np.meshgrid(*given, indexing=indexing))


@_named("hstack", "Return tensors side by side.",
        "sg.hstack([x[0], x[1]])", "tensor([3., 1., 2., 4.])")  # fmt: skip
def hstack(tensors: Sequence[Any]) -> Any:
    return np.hstack(list(tensors))


@_named("vstack", "Return tensors one above the other.",
        "sg.vstack([x[1], x[0]])", "tensor([[2., 4.],\n        [3., 1.]])")  # fmt: skip
def vstack(tensors: Sequence[Any]) -> Any:
    return np.vstack(list(tensors))


__all__ = [
    "addcdiv", "addcmul", "allclose", "amax", "amin", "bmm", "count_nonzero", "cross", "cumprod",
    "det", "einsum", "equal", "frac", "hstack", "inverse", "is_tensor", "isclose", "kron", "lerp",
    "meshgrid", "mm", "mv", "nan_to_num", "norm", "numel", "outer", "round", "rsqrt",
    "tensordot", "trace", "vstack",
]  # fmt: skip
