"""Eager tensors: numbers at once, gradients on request, by the compiler's own rules."""

import numpy as np

from . import _algebra, _arrange, _create, _elementwise, _functions, _mode, _statistics
from . import _methods as _methods  # gives tensors PyTorch's methods
from . import _whole as _whole  # and the user's own rules
from ._algebra import *  # noqa: F403 - the modules have lists of their own
from ._arrange import *  # noqa: F403
from ._create import *  # noqa: F403
from ._draw import draw
from ._elementwise import *  # noqa: F403
from ._functions import *  # noqa: F403
from ._gradients import backward_order
from ._mode import *  # noqa: F403
from ._paths import paths
from ._statistics import *  # noqa: F403
from ._tensor import Tensor

float32, float64, int32, int64 = (np.dtype(t) for t in ("float32", "float64", "int32", "int64"))

__all__ = ["Tensor", "backward_order", "draw", "float32", "float64", "int32", "int64", "paths"]
for _module in (_algebra, _arrange, _create, _elementwise, _functions, _mode, _statistics):
    __all__ += _module.__all__
