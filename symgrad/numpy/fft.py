"""``numpy.fft``, for functions that symgrad traces.

Examples
--------
>>> import symgrad as sg
>>> import symgrad.numpy as np
>>> def power(x):
...     return np.sum(np.abs(np.fft.rfft(x))[1] ** 2)
>>> print(sg.grad(power)(np.array([1.0, 0.0, -1.0, 0.0])).round(12) + 0.0)
[ 4.  0. -4.  0.]
"""

from __future__ import annotations

import numpy as np

from .._core.trace.namespace import offering
from ._windows import fftfreq, rfftfreq

__all__ = ["fftfreq", "rfftfreq"]


__getattr__, __dir__ = offering(np.fft, globals())
