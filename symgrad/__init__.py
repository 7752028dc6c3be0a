"""symgrad: exact, fast derivatives of NumPy functions, compiled, readable and checked.

Everything is imported when it is first used: ``import symgrad`` takes milliseconds.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import autograd as autograd
    from . import errors as errors
    from ._api import *  # noqa: F403
    from ._compile import Function as Function
    from ._compile import backend as backend
    from ._parse import parse as parse
    from ._schedule import Program as Program
    from ._schedule import load as load
    from ._show import show as show
    from ._tensor import *  # noqa: F403

__version__ = "0.1.0.dev0"

#: Where the public names are defined; the tests compare this with the modules.
_NAMES = {
    "._api": (
        "adapt", "checkpoint", "compile", "cond", "custom_jvp", "custom_vjp", "define",
        "derivative", "explain", "export_c", "fori_loop", "formula", "from_sympy", "grad",
        "hessian", "hvp", "implicit_minimum", "implicit_root", "jacobian", "jvp", "latex",
        "recheck", "report", "scan", "stop_gradient", "switch", "symbolic", "value_and_grad",
        "verify", "vjp", "vmap", "while_loop",
    ),
    "._compile": ("Function", "backend"),
    "._parse": ("parse",),
    "._schedule": ("Program", "load"),
    "._show": ("show",),
    "._tensor": (
        "FloatTensor", "Tensor", "Variable", "abs", "acos", "acosh", "add", "all", "any",
        "arange", "argmax", "argmin", "as_tensor", "asin", "asinh", "atan", "atan2", "atanh",
        "backward_order", "cat", "ceil", "clamp", "cos", "cosh", "cumsum", "div", "dot", "draw",
        "enable_grad", "erf", "erfc", "exp", "exp2", "expm1", "eye", "float32", "float64",
        "floor", "from_numpy", "full", "get_default_dtype", "int32", "int64", "is_grad_enabled",
        "isnan", "linspace", "log", "log10", "log1p", "log2", "log_softmax", "logsumexp",
        "manual_seed", "matmul", "max", "maximum", "mean", "min", "minimum", "mm", "mul", "neg",
        "no_grad", "ones", "ones_like", "paths", "pow", "prod", "rand", "randn", "reciprocal",
        "relu", "set_default_dtype", "sigmoid", "sign", "sin", "sinh", "softmax", "sqrt",
        "square", "stack", "std", "sub", "sum", "tan", "tanh", "tensor", "var", "where",
        "zeros", "zeros_like",
    ),
}  # fmt: skip
_HOMES = {name: home for home, names in _NAMES.items() for name in names}
_MODULES = ("autograd", "errors")

__all__ = list(_HOMES)
__all__ += _MODULES

if not TYPE_CHECKING:  # a type checker knows the names from above

    def __getattr__(name: str) -> Any:
        if name in _MODULES or name in ("numpy", "scipy"):
            return import_module(f".{name}", __name__)
        if name not in _HOMES:
            raise AttributeError(f"module 'symgrad' has no attribute {name!r}")
        value = getattr(import_module(_HOMES[name], __name__), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return [*__all__, "numpy", "scipy", *(n for n in globals() if n.startswith("__"))]
