"""symgrad: exact, fast derivatives of NumPy functions, compiled, readable and checked."""

from . import _tensor, autograd, errors
from ._api import (
    checkpoint,
    compile,
    cond,
    custom_jvp,
    custom_vjp,
    define,
    derivative,
    explain,
    export_c,
    fori_loop,
    formula,
    from_sympy,
    grad,
    hessian,
    hvp,
    implicit_minimum,
    implicit_root,
    jacobian,
    jvp,
    latex,
    recheck,
    scan,
    stop_gradient,
    switch,
    symbolic,
    value_and_grad,
    verify,
    vjp,
    vmap,
    while_loop,
)
from ._compile import Function, backend
from ._parse import parse
from ._schedule import Program, load
from ._show import show
from ._tensor import *  # noqa: F403 - tensors and PyTorch's names, listed there

__version__ = "0.1.0.dev0"

__all__ = [
    "Function",
    "Program",
    "autograd",
    "backend",
    "checkpoint",
    "compile",
    "cond",
    "custom_jvp",
    "custom_vjp",
    "define",
    "derivative",
    "errors",
    "explain",
    "export_c",
    "fori_loop",
    "formula",
    "from_sympy",
    "grad",
    "hessian",
    "hvp",
    "implicit_minimum",
    "implicit_root",
    "jacobian",
    "jvp",
    "latex",
    "load",
    "parse",
    "recheck",
    "scan",
    "show",
    "stop_gradient",
    "switch",
    "symbolic",
    "value_and_grad",
    "verify",
    "vjp",
    "vmap",
    "while_loop",
]
__all__ += _tensor.__all__
