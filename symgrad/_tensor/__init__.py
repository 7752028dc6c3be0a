"""Eager tensors: numbers at once, gradients on request, by the compiler's own rules.

They follow NumPy's protocols; PyTorch's names, as functions and methods, are in
``symgrad.torch``.
"""

from . import _single_steps as _whole  # takes functions with rules of the user's
from ._draw import draw
from ._engine import backward_order
from ._mode import no_grad
from ._paths import paths
from ._tensor import Tensor
