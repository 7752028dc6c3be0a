"""Eager tensors: numbers at once, gradients on request, by the compiler's own rules."""
# ruff: noqa: A004

import numpy as np

from . import _algebra, _arrange, _elementwise, _statistics
from . import _methods as _methods  # gives tensors PyTorch's methods
from . import _record as _record  # teaches tensors to record
from . import _whole as _whole  # and the user's own rules
from ._algebra import *  # noqa: F403
from ._arrange import *  # noqa: F403
from ._create import (
    FloatTensor,
    Variable,
    arange,
    as_tensor,
    empty,
    eye,
    from_numpy,
    full,
    linspace,
    ones,
    tensor,
    zeros,
)
from ._create_like import (
    full_like,
    ones_like,
    rand,
    rand_like,
    randint,
    randn,
    randn_like,
    randperm,
    zeros_like,
)
from ._draw import draw
from ._elementwise import *  # noqa: F403 - a list of its own
from ._functions import (
    all,
    any,
    argmax,
    argmin,
    cat,
    clamp,
    cumsum,
    dot,
    log_softmax,
    logsumexp,
    max,
    mean,
    min,
    prod,
    softmax,
    stack,
    std,
    sum,
    var,
    where,
)
from ._gradients import backward_order
from ._mode import (
    enable_grad,
    get_default_dtype,
    inference_mode,
    is_grad_enabled,
    manual_seed,
    no_grad,
    set_default_dtype,
    set_grad_enabled,
)
from ._paths import paths
from ._quick_choices import relu
from ._statistics import *  # noqa: F403
from ._tensor import Tensor

float32, float64, int32, int64 = (np.dtype(t) for t in ("float32", "float64", "int32", "int64"))

__all__ = [
    "FloatTensor", "Tensor", "Variable", "all", "any", "arange", "argmax", "argmin", "as_tensor",
    "backward_order", "cat", "clamp", "cumsum", "dot", "draw", "empty", "enable_grad", "eye",
    "float32", "float64", "from_numpy", "full", "full_like", "get_default_dtype",
    "inference_mode", "int32", "int64", "is_grad_enabled", "linspace", "log_softmax",
    "logsumexp", "manual_seed", "max", "mean", "min", "no_grad", "ones", "ones_like", "paths",
    "prod", "rand", "rand_like", "randint", "randn", "randn_like", "randperm", "relu",
    "set_default_dtype", "set_grad_enabled", "softmax", "stack", "std", "sum", "tensor", "var",
    "where", "zeros", "zeros_like",
]  # fmt: skip
__all__ += _elementwise.__all__ + _arrange.__all__ + _algebra.__all__ + _statistics.__all__
