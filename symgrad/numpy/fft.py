"""``numpy.fft``: for plain arrays; traced values are refused with the reason.

Examples
--------
>>> import symgrad.numpy as np
>>> np.fft.rfftfreq(4)
array([0.  , 0.25, 0.5 ])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._trace._namespace import Namespace

_names = Namespace(
    np.fft,
    globals(),
    "Fourier transforms give complex numbers, and symgrad computes with real ones; a short "
    "transform can be written as products with cosine and sine matrices",
)


def __getattr__(name: str) -> Any:
    return _names(name)


def __dir__() -> list[str]:
    return _names.names()
