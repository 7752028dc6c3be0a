"""symgrad: exact, fast derivatives of NumPy functions, compiled, readable and checked.

Everything is imported when it is first used: ``import symgrad`` takes milliseconds.
"""

import gc
from typing import TYPE_CHECKING, Any

from ._forks import late_module as _late_module

if TYPE_CHECKING:  # what __getattr__ finds at run time
    from . import autograd as autograd
    from . import errors as errors
    from ._api._adapt import adapt as adapt
    from ._api._at_values import hvp as hvp
    from ._api._at_values import jvp as jvp
    from ._api._at_values import vjp as vjp
    from ._api._callback import pure_callback as pure_callback
    from ._api._control import checkpoint as checkpoint
    from ._api._control import cond as cond
    from ._api._control import fori_loop as fori_loop
    from ._api._control import scan as scan
    from ._api._control import switch as switch
    from ._api._control import while_loop as while_loop
    from ._api._custom import custom_jvp as custom_jvp
    from ._api._custom import custom_vjp as custom_vjp
    from ._api._custom import stop_gradient as stop_gradient
    from ._api._define import define as define
    from ._api._formulas import derivative as derivative
    from ._api._formulas import formula as formula
    from ._api._formulas import latex as latex
    from ._api._formulas import symbolic as symbolic
    from ._api._formulas_explain import explain as explain
    from ._api._formulas_export import export_c as export_c
    from ._api._from_sympy import from_sympy as from_sympy
    from ._api._implicit import implicit_minimum as implicit_minimum
    from ._api._implicit import implicit_root as implicit_root
    from ._api._report import report as report
    from ._api._transforms import compile as compile
    from ._api._transforms import grad as grad
    from ._api._transforms import hessian as hessian
    from ._api._transforms import jacobian as jacobian
    from ._api._transforms import value_and_grad as value_and_grad
    from ._api._transforms import vmap as vmap
    from ._api._verify import verify as verify
    from ._api._verify_again import recheck as recheck
    from ._compile import Function as Function
    from ._compile import backend as backend
    from ._compile import get_kept_memory as get_kept_memory
    from ._compile import get_num_threads as get_num_threads
    from ._compile import set_kept_memory as set_kept_memory
    from ._compile import set_num_threads as set_num_threads
    from ._parse import parse as parse
    from ._schedule import Program as Program
    from ._schedule import load as load
    from ._show import show as show
    from ._tensor import *  # noqa: F403

__version__ = "0.1.0.dev0"

#: Where the public names are defined; the tests compare this with the modules.
_NAMES = {
    "._api._adapt": ("adapt",),
    "._api._at_values": ("hvp", "jvp", "vjp"),
    "._api._callback": ("pure_callback",),
    "._api._control": ("checkpoint", "cond", "fori_loop", "scan", "switch", "while_loop"),
    "._api._custom": ("custom_jvp", "custom_vjp", "stop_gradient"),
    "._api._define": ("define",),
    "._api._formulas": ("derivative", "formula", "latex", "symbolic"),
    "._api._formulas_explain": ("explain",),
    "._api._formulas_export": ("export_c",),
    "._api._from_sympy": ("from_sympy",),
    "._api._implicit": ("implicit_minimum", "implicit_root"),
    "._api._report": ("report",),
    "._api._transforms": (
        "compile", "grad", "hessian", "jacobian", "value_and_grad", "vmap",
    ),
    "._api._verify": ("verify",),
    "._api._verify_again": ("recheck",),
    "._compile": (
        "Function", "backend", "get_kept_memory", "get_num_threads", "set_kept_memory",
        "set_num_threads",
    ),
    "._parse": ("parse",),
    "._schedule": ("Program", "load"),
    "._show": ("show",),
    "._tensor": (
        "FloatTensor", "Tensor", "Variable", "abs", "acos", "acosh", "add", "addcdiv", "addcmul",
        "all", "allclose", "amax", "amin", "any", "arange", "arccos", "arccosh", "arcsin",
        "arcsinh", "arctan", "arctan2", "arctanh", "argmax", "argmin", "argsort", "as_tensor",
        "asin", "asinh", "atan", "atan2", "atanh", "backward_order", "bmm", "broadcast_to", "cat",
        "ceil", "chunk", "clamp", "corrcoef", "cos", "cosh", "count_nonzero", "cov", "cross",
        "cumprod", "cumsum", "det", "diag", "diff", "digamma", "div", "divide", "dot", "draw",
        "einsum", "empty", "enable_grad", "eq", "equal", "erf", "erfc", "erfinv", "exp", "exp2",
        "expm1", "eye", "flatten", "flip", "float32", "float64", "floor", "floor_divide", "fmod",
        "frac", "from_numpy", "full", "full_like", "gather", "ge", "get_default_dtype", "gt",
        "heaviside", "hstack", "hypot", "index_select", "inference_mode", "int32", "int64",
        "inverse", "is_grad_enabled", "is_tensor", "isclose", "isfinite", "isinf", "isnan", "kron",
        "le", "lerp", "lgamma", "linspace", "log", "log10", "log1p", "log2", "log_softmax",
        "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor", "logsumexp", "lt",
        "manual_seed", "masked_fill", "masked_select", "matmul", "max", "maximum", "mean",
        "median", "meshgrid", "min", "minimum", "mm", "movedim", "mul", "multiply", "mv",
        "nan_to_num", "narrow", "ne", "neg", "negative", "no_grad", "nonzero", "norm", "numel",
        "ones", "ones_like", "outer", "paths", "permute", "pow", "prod", "rand", "rand_like",
        "randint", "randn", "randn_like", "randperm", "reciprocal", "relu", "remainder",
        "repeat_interleave", "reshape", "roll", "round", "rsqrt", "select", "set_default_dtype",
        "set_grad_enabled", "sigmoid", "sign", "sin", "sinh", "softmax", "sort", "split", "sqrt",
        "square", "squeeze", "stack", "std", "sub", "subtract", "sum", "tan", "tanh", "tensor",
        "tensordot", "tile", "topk", "trace", "transpose", "tril", "triu", "true_divide", "trunc",
        "unbind", "unsqueeze", "var", "vstack", "where", "zeros", "zeros_like",
    ),
}  # fmt: skip
_HOMES = {name: home for home, names in _NAMES.items() for name in names}
_MODULES = ("autograd", "errors", "numpy", "scipy")

#: PyTorch's names of element types that are Python's, too: not for ``import *``.
_DTYPES = {"bool": "bool", "double": "float64", "float": "float32", "int": "int32", "long": "int64"}
#: What there is in the place of parts of PyTorch.
_INSTEAD = {
    "nn": "layers are functions of tensors, such as lambda x: sg.relu(x @ w + b)",
    "optim": "write w -= rate * w.grad inside `with sg.no_grad():`, or give scipy.optimize "
             "sg.value_and_grad(loss)",
    "cuda": "tensors are in main memory",
    "device": "tensors are in main memory",
    "linalg": "numpy.linalg's functions take tensors: np.linalg.solve(a, b)",
    "fft": "numpy.fft's functions are traced: sg.grad of a function of arrays",
    "special": "scipy.special's functions take tensors: special.erf(x)",
    "func": "sg.grad, sg.vmap, sg.jacobian, ... are names of symgrad itself",
    "save": "use np.save of t.detach().numpy(), or pickle",
    "float16": "element types of tensors are float64 and float32",
    "complex64": "tensors are real; complex numbers are traced: sg.compile, sg.grad, ...",
    "complex128": "tensors are real; complex numbers are traced: sg.compile, sg.grad, ...",
    "pi": "use math.pi",
    "inf": "use math.inf",
    "nan": "use math.nan",
}  # fmt: skip

__all__ = list(_HOMES)
__all__ += ["autograd", "errors"]

if not TYPE_CHECKING:  # a type checker knows the names from above

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return _late_module(f".{name}", __name__)
        if name in _DTYPES:
            return _late_module("numpy").dtype(_DTYPES[name])
        if name not in _HOMES:
            hint = f": {_INSTEAD[name]}" if name in _INSTEAD else ""
            raise AttributeError(f"module 'symgrad' has no attribute {name!r}{hint}")
        # The collector would look through SymPy's objects again and again, a fifth of the time.
        paused = gc.isenabled()
        gc.disable()
        try:
            value = getattr(_late_module(_HOMES[name], __name__), name)
        finally:
            if paused:
                gc.enable()
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return [*_HOMES, *_MODULES, *(n for n in globals() if n.startswith("__"))]
