"""``scipy.special``, for functions that symgrad traces.

Universal functions take traced values, and lists of them; ``logsumexp``, ``softmax`` and
``log_softmax`` are traced too. The rest works on plain arrays and refuses traced values.

Examples
--------
>>> import symgrad as sg
>>> from symgrad.scipy import special
>>> sg.grad(lambda x: special.logsumexp([x, 0.0]))(0.0)
np.float64(0.5)
"""

from __future__ import annotations

import scipy.special

from .._core.trace.namespace import offering
from ._coverage import reasons

#: All names are SciPy's, which documents them.
__all__: list[str] = []

__getattr__, __dir__ = offering(scipy.special, globals(), reasons("special"))
