"""symgrad: exact, fast derivatives of NumPy functions, compiled, readable and checked."""

from ._api import compile, grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp, vmap
from ._compile import backend

__version__ = "0.1.0.dev0"

__all__ = [
    "backend",
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
