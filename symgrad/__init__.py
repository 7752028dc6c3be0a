"""symgrad: exact, fast derivatives of NumPy functions, compiled, readable and checked."""

from . import errors
from ._api import (
    compile,
    from_sympy,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    value_and_grad,
    vjp,
    vmap,
)
from ._compile import Function, backend
from ._parse import parse
from ._schedule import Program, load

__version__ = "0.1.0.dev0"

__all__ = [
    "Function",
    "Program",
    "backend",
    "compile",
    "errors",
    "from_sympy",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "load",
    "parse",
    "value_and_grad",
    "vjp",
    "vmap",
]
