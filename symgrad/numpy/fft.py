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

from typing import Any

import numpy as np

from .._trace._namespace import offering


def fftfreq(n: Any, d: Any = 1.0, **options: Any) -> Any:
    """Same as ``np.fft.fftfreq``; the distance of the samples may be traced."""
    return np.fft.fftfreq(n, d, **options)


def rfftfreq(n: Any, d: Any = 1.0, **options: Any) -> Any:
    """Same as ``np.fft.rfftfreq``; the distance of the samples may be traced."""
    return np.fft.rfftfreq(n, d, **options)


__getattr__, __dir__ = offering(np.fft, globals())
