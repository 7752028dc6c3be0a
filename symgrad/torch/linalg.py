"""PyTorch's ``torch.linalg``, as NumPy's functions of tensors, arrays and traced values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._algebra import cross as _cross
from ._algebra import det, matmul
from ._algebra import norm as _norm
from ._arguments import example

#: Replacements for functions of PyTorch's that are not here.
_INSTEAD = {
    "lstsq": "np.linalg.lstsq(a, b)[0] of arrays, or solve(a.mT @ a, a.mT @ b)",
    "lu": "solve(a, b), or sg.compile of a function of arrays with scipy.linalg.lu",
    "matrix_exp": "scipy.linalg.expm in a function of arrays, which sg.grad differentiates",
    "eig": "eigh of a symmetric matrix, or np.linalg.eigvals in a function of arrays",
}


class Eigenvalues(NamedTuple):
    """Eigenvalues and eigenvectors of symmetric matrices."""

    eigenvalues: Any
    eigenvectors: Any


class Singular(NamedTuple):
    """A singular value decomposition: ``U @ diag(S) @ Vh``."""

    U: Any
    S: Any
    Vh: Any


class Triangular(NamedTuple):
    """An orthogonal and an upper triangular factor."""

    Q: Any
    R: Any


class SignAndLog(NamedTuple):
    """The sign of a determinant, and the logarithm of its absolute value."""

    sign: Any
    logabsdet: Any


@example("torch.linalg.inv(x)", "tensor([[ 0.4000, -0.1000],\n        [-0.2000,  0.3000]])")
def inv(A: Any) -> Any:
    """Return the inverse of square matrices."""
    return np.linalg.inv(A)


@example("torch.linalg.solve(x, x[0])", "tensor([ 1.1000, -0.3000])")
def solve(A: Any, B: Any, *, left: bool = True) -> Any:
    """Return the solution of ``A @ X = B``, or of ``X @ A = B`` with ``left=False``."""
    if left:
        return np.linalg.solve(A, B)
    return np.swapaxes(np.linalg.solve(np.swapaxes(A, -1, -2), np.swapaxes(B, -1, -2)), -1, -2)


@example("torch.linalg.slogdet(x).logabsdet", "tensor(2.3026)")
def slogdet(A: Any) -> SignAndLog:
    """Return the sign of determinants and the logarithm of their absolute values."""
    return SignAndLog(*np.linalg.slogdet(A))


@example("torch.linalg.cholesky(x @ x.mT)", "tensor([[3.1623, 0.0000],\n        [3.1623, 3.1623]])")
def cholesky(A: Any, *, upper: bool = False) -> Any:
    """Return the lower, or upper, triangular factor of positive definite matrices."""
    factor = np.linalg.cholesky(A)
    return np.swapaxes(factor, -1, -2) if upper else factor


@example("torch.linalg.eigh(x @ x.mT).eigenvalues", "tensor([ 3.8197, 26.1803])")
def eigh(A: Any, UPLO: str = "L") -> Eigenvalues:
    """Return eigenvalues, in ascending order, and eigenvectors of symmetric matrices."""
    return Eigenvalues(*np.linalg.eigh(A, UPLO))


@example("torch.linalg.eigvalsh(x @ x.mT)", "tensor([ 3.8197, 26.1803])")
def eigvalsh(A: Any, UPLO: str = "L") -> Any:
    """Return the eigenvalues of symmetric matrices, in ascending order."""
    return np.linalg.eigvalsh(A, UPLO)


@example("torch.linalg.svd(x).S", "tensor([5.1167, 1.9544])")
def svd(A: Any, full_matrices: bool = True) -> Singular:
    """Return a singular value decomposition."""
    return Singular(*np.linalg.svd(A, full_matrices))


@example("torch.linalg.svdvals(x)", "tensor([5.1167, 1.9544])")
def svdvals(A: Any) -> Any:
    """Return singular values, in descending order."""
    return np.linalg.svd(A, compute_uv=False)


@example("torch.linalg.qr(x).R.abs()", "tensor([[3.6056, 3.0509],\n        [0.0000, 2.7735]])")
def qr(A: Any, mode: str = "reduced") -> Triangular:
    """Return an orthogonal and an upper triangular factor."""
    return Triangular(*np.linalg.qr(A, mode))


@example("torch.linalg.pinv(x)", "tensor([[ 0.4000, -0.1000],\n        [-0.2000,  0.3000]])")
def pinv(A: Any) -> Any:
    """Return the pseudoinverse."""
    return np.linalg.pinv(A)


@example("torch.linalg.matrix_power(x, 2)", "tensor([[11.,  7.],\n        [14., 18.]])")
def matrix_power(A: Any, n: int) -> Any:
    """Return an integer power of square matrices."""
    return np.linalg.matrix_power(A, n)


@example("torch.linalg.multi_dot([x, x])", "tensor([[11.,  7.],\n        [14., 18.]])")
def multi_dot(tensors: Sequence[Any]) -> Any:
    """Return the product of several matrices."""
    product = tensors[0]
    for factor in tensors[1:]:
        product = matmul(product, factor)
    return product


@example("torch.linalg.vecdot(x, x)", "tensor([10., 20.])")
def vecdot(x: Any, y: Any, *, dim: int = -1) -> Any:
    """Return the scalar products along an axis."""
    return np.sum(x * y, axis=dim)


@example("torch.linalg.cross(torch.eye(3)[0], torch.eye(3)[1])", "tensor([0., 0., 1.])")
def cross(input: Any, other: Any, *, dim: int = -1) -> Any:
    """Return the vector products."""
    return _cross(input, other, dim)


@example("torch.linalg.vector_norm(x, 1, dim=0)", "tensor([5., 5.])")
def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False) -> Any:
    """Return the norm of all elements, or along axes."""
    return _norm(x, ord, dim, keepdim)


@example("torch.linalg.matrix_norm(x)", "tensor(5.4772)")
def matrix_norm(A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False) -> Any:
    """Return a norm of matrices."""
    return np.linalg.norm(A, ord, axis=tuple(dim), keepdims=keepdim)


@example("torch.linalg.norm(x), torch.linalg.norm(x, 1)", "(tensor(5.4772), tensor(5.))")
def norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False) -> Any:
    """Return a norm of vectors or matrices, by the number of axes."""
    if ord is None:
        return _norm(A, 2, dim, keepdim)
    axis = tuple(dim) if isinstance(dim, (tuple, list)) else dim
    return np.linalg.norm(A, ord, axis=axis, keepdims=keepdim)


__all__ = [
    "cholesky", "cross", "det", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm",
    "matrix_power", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve", "svd", "svdvals",
    "vecdot", "vector_norm",
]  # fmt: skip

if not TYPE_CHECKING:  # else every name would be known to be there

    def __getattr__(name: str) -> Any:
        instead = _INSTEAD.get(name, f"np.linalg.{name}, if NumPy has it, of tensors or arrays")
        raise AttributeError(
            f"module 'symgrad.torch.linalg' has no attribute {name!r}. Write instead: {instead}"
        )
