"""The public functions."""

from ._from_sympy import from_sympy
from ._transforms import compile, grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp, vmap

__all__ = [
    "compile",
    "from_sympy",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "value_and_grad",
    "vjp",
    "vmap",
]
