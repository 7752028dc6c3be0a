"""``numpy.linalg``, for functions that symgrad traces.

All of it is traced: norms, products, systems, determinants, factorisations, eigenvalues. Those of
general matrices are always complex.

Examples
--------
>>> import symgrad as sg
>>> import symgrad.numpy as np
>>> sg.grad(lambda x: np.linalg.norm([x, 2.0]))(1.5)
np.float64(0.6)
"""

from __future__ import annotations

import numpy as np

from .._core.trace.namespace import offering

__getattr__, __dir__ = offering(np.linalg, globals())
