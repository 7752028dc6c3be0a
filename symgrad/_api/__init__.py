"""The public functions."""

from ._adapt import adapt
from ._control import checkpoint, cond, fori_loop, scan, switch, while_loop
from ._custom import custom_jvp, custom_vjp, stop_gradient
from ._define import define
from ._formulas import derivative, formula, latex, symbolic
from ._formulas_explain import explain
from ._formulas_export import export_c
from ._from_sympy import from_sympy
from ._implicit import implicit_minimum, implicit_root
from ._report import report
from ._transforms import compile, grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp, vmap
from ._verify import verify
from ._verify_domain import recheck

__all__ = [
    "adapt",
    "checkpoint",
    "compile",
    "cond",
    "custom_jvp",
    "custom_vjp",
    "define",
    "derivative",
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
    "recheck",
    "report",
    "scan",
    "stop_gradient",
    "switch",
    "symbolic",
    "value_and_grad",
    "verify",
    "vjp",
    "vmap",
    "while_loop",
]
