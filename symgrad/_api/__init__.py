"""The public functions."""

from ._formulas import derivative, latex, symbolic
from ._from_sympy import from_sympy
from ._transforms import compile, grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp, vmap
from ._verify import verify

__all__ = [
    "compile",
    "derivative",
    "from_sympy",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "latex",
    "symbolic",
    "value_and_grad",
    "verify",
    "vjp",
    "vmap",
]
