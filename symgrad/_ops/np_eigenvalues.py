"""Eigenvalues of general matrices, and zeros of polynomials: always complex."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._late import linalg
from .._op import composite, refuse
from ..errors import ShapeError
from .eigenvalues import CONVENTION, general_eigen
from .np_common import Sample, as_array, as_float
from .np_linalg import matrix

_EigResult = type(np.linalg.eig(np.eye(1)))
_COMPLEX = f"always complex; {CONVENTION}"


def _turning(rng: np.random.Generator) -> Iterator[Sample]:
    """Yield real matrices with complex eigenvalues, far from each other."""
    for shape in ((2, 2), (4, 4), (2, 3, 3)):
        n = shape[-1]
        turn = np.diag(np.full(n - 1, 3.0), 1) - np.diag(np.full(n - 1, 3.0), -1)
        yield (turn + np.diag(np.arange(n)) + 0.3 * rng.standard_normal(shape),), {}


@composite(np.linalg.eig, samples=_turning,
           convention=f"{_COMPLEX}; vectors of length 1 with a real largest component")  # fmt: skip
def eig(a: Any) -> Any:
    """Eigenvalues and eigenvectors of general matrices."""
    return _EigResult(*general_eigen(matrix(a, "eig")))


@composite(np.linalg.eigvals, samples=_turning, convention=_COMPLEX)
def eigvals(a: Any) -> Any:
    """Eigenvalues of general matrices."""
    return general_eigen(matrix(a, "eigvals"))[0]


@composite(linalg.eig, name="scipy.linalg.eig",
           samples=lambda rng: ((args, {"right": False}) for args, _ in _turning(rng)),
           convention=_COMPLEX)  # fmt: skip
def scipy_eig(
    a: Any, b: Any = None, left: bool = False, right: bool = True, overwrite_a: bool = False,
    overwrite_b: bool = False, check_finite: bool = True, homogeneous_eigvals: bool = False,
) -> Any:  # fmt: skip
    """Eigenvalues and right eigenvectors of general matrices."""
    if b is not None or left or homogeneous_eigvals:
        refuse(linalg.eig, "with b=, left= or homogeneous_eigvals=: left eigenvectors are "
               "the rows of the inverse of the right ones")  # fmt: skip
    w, v = general_eigen(matrix(a, "eig"))
    return (w, v) if right else w


@composite(linalg.eigvals, name="scipy.linalg.eigvals", samples=_turning,
           convention=_COMPLEX)  # fmt: skip
def scipy_eigvals(a: Any, b: Any = None, **options: Any) -> Any:
    """Eigenvalues of general matrices."""
    return scipy_eig(a, b, right=False, **options)


@composite(
    np.roots,
    samples=lambda rng: iter([((np.array([2.0, -1.0, 3.0, 1.0]),), {}),
                              ((np.array([1.0, 0.5, 4.0]),), {})]),
    convention=f"{_COMPLEX}, and if the first coefficient is 0",
)  # fmt: skip
def roots(p: Any) -> Any:
    """Zeros of a polynomial with given coefficients, from the highest power down."""
    c = as_float(as_array(p))
    if c.ndim != 1:
        raise ShapeError(f"roots takes a vector of coefficients, not an array of {c.ndim} axes")
    n = int(c.shape[0]) - 1
    if n < 1:
        return np.zeros(0, np.result_type(c.dtype, 1j))
    below = np.eye(n, dtype=c.real.dtype)[:-1]
    return eigvals(np.concatenate([-(c[1:] / c[0])[None], below]))
