"""The public functions."""

from ._transforms import compile, grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp, vmap

__all__ = [
    "compile",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "value_and_grad",
    "vjp",
    "vmap",
]
