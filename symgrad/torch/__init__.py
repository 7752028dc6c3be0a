"""PyTorch's names: code for its autograd runs with ``import symgrad.torch as torch``.

Functions take tensors, NumPy's arrays and traced values. The package also gives tensors their
methods, so ``symgrad.tensor`` and ``symgrad.Tensor`` are those of here.

Examples
--------
>>> import symgrad.torch as torch
>>> x = torch.tensor([0.0, 1.0], requires_grad=True)
>>> torch.relu(torch.exp(x) - 1.5).sum().backward()
>>> x.grad
tensor([0.0000, 2.7183])
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._tensor import Tensor, _mode
from .._tensor._mode import *  # noqa: F403 - the modules have lists of their own
from . import _algebra, _arrange, _create, _elementwise, _reductions, autograd, linalg
from . import _methods as _methods  # gives tensors PyTorch's methods
from ._algebra import *  # noqa: F403
from ._arrange import *  # noqa: F403
from ._create import *  # noqa: F403
from ._elementwise import *  # noqa: F403
from ._reductions import *  # noqa: F403

e, inf, nan, pi = math.e, math.inf, math.nan, math.pi
float32, float64, int32, int64 = (np.dtype(t) for t in ("float32", "float64", "int32", "int64"))
bool, double, float, int, long = np.dtype("bool"), float64, float32, int32, int64

# Without the types that are called as Python's: bool, float, int.
__all__ = [
    "Tensor", "autograd", "e", "float32", "float64", "inf", "int32", "int64", "linalg", "nan", "pi",
]  # fmt: skip
__all__ += _algebra.__all__
__all__ += _arrange.__all__
__all__ += _create.__all__
__all__ += _elementwise.__all__
__all__ += _mode.__all__
__all__ += _reductions.__all__

#: What there is in the place of parts of PyTorch.
_INSTEAD = {
    "nn": "layers are functions of tensors, such as lambda x: torch.relu(x @ w + b)",
    "optim": "write w -= rate * w.grad inside `with torch.no_grad():`, or give scipy.optimize "
             "sg.value_and_grad(loss)",
    "cuda": "tensors are in main memory",
    "device": "tensors are in main memory",
    "fft": "numpy.fft's functions are traced: sg.grad of a function of arrays",
    "special": "scipy.special's functions take tensors: special.erf(x)",
    "func": "sg.grad, sg.vmap, sg.jacobian, ... are names of symgrad itself",
    "compile": "sg.compile compiles functions of arrays, and takes tensors",
    "save": "use np.save of t.detach().numpy(), or pickle",
    "float16": "element types of tensors are float64 and float32",
    "complex64": "tensors are real; complex numbers are traced: sg.compile, sg.grad, ...",
    "complex128": "tensors are real; complex numbers are traced: sg.compile, sg.grad, ...",
}  # fmt: skip

if not TYPE_CHECKING:  # else every name would be known to be there

    def __getattr__(name: str) -> Any:
        hint = _INSTEAD.get(name, "NumPy's functions and SciPy's special ones take tensors: "
                            "np.exp(x), special.erf(x)")  # fmt: skip
        raise AttributeError(f"module 'symgrad.torch' has no attribute {name!r}: {hint}")
