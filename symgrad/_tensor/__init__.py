"""Eager tensors: numbers at once, gradients on request, by the compiler's own rules."""
# ruff: noqa: A004

import numpy as np

from . import _elementwise
from . import _record as _record  # teaches tensors to record
from . import _whole as _whole  # and the user's own rules
from ._create import (
    FloatTensor,
    Variable,
    arange,
    as_tensor,
    eye,
    from_numpy,
    full,
    linspace,
    ones,
    ones_like,
    rand,
    randn,
    tensor,
    zeros,
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
    mm,
    prod,
    relu,
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
    is_grad_enabled,
    manual_seed,
    no_grad,
    set_default_dtype,
)
from ._paths import paths
from ._tensor import Tensor

float32, float64, int32, int64 = (np.dtype(t) for t in ("float32", "float64", "int32", "int64"))

__all__ = [
    "FloatTensor",
    "Tensor",
    "Variable",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "as_tensor",
    "backward_order",
    "cat",
    "clamp",
    "cumsum",
    "dot",
    "draw",
    "enable_grad",
    "eye",
    "float32",
    "float64",
    "from_numpy",
    "full",
    "get_default_dtype",
    "int32",
    "int64",
    "is_grad_enabled",
    "linspace",
    "log_softmax",
    "logsumexp",
    "manual_seed",
    "max",
    "mean",
    "min",
    "mm",
    "no_grad",
    "ones",
    "ones_like",
    "paths",
    "prod",
    "rand",
    "randn",
    "relu",
    "set_default_dtype",
    "softmax",
    "stack",
    "std",
    "sum",
    "tensor",
    "var",
    "where",
    "zeros",
    "zeros_like",
]
__all__ += _elementwise.__all__
