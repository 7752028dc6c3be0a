"""Python's ``float``, which leaves a traced number what it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._disguise import class_of
from .._shapes import Size
from .._trace import Traced, as_traced
from .._trace._known import known_number
from .._trace._outside import Reading, reading


class _Float(type):
    def __call__(cls, x: Any = 0.0, /) -> Any:
        """Return a number as a float; a traced one stays traced."""
        if isinstance(x, Reading):
            return reading(float(x.number()), x.read_at)
        if type(x) is Size:
            return float(x)
        if not isinstance(x, Traced) or known_number(x.node) is not None:
            return float(x)
        if x.node.dtype.kind != "f" or any(d != 1 for d in x.node.shape):
            return float(x)
        number: Any = as_traced(x).reshape(()).astype(np.float64)
        return Traced(number.node, float)

    def __instancecheck__(cls, value: Any) -> bool:
        return issubclass(class_of(value), float)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, float)


class Float(float, metaclass=_Float):
    """Stands for ``float`` in adapted functions, as an element type too."""

    dtype = np.dtype(np.float64)
