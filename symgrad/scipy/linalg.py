"""``scipy.linalg``, for functions that symgrad traces.

``solve``, ``solve_triangular``, ``inv``, ``det``, ``cholesky`` and what goes with it, ``qr``,
``eigh``, ``eig``, ``svd``, ``pinv``, ``expm`` and ``norm`` are traced. The rest works on plain
arrays.

Examples
--------
>>> import numpy as np
>>> import symgrad as sg
>>> from symgrad.scipy import linalg
>>> sg.grad(linalg.norm)(np.array([3.0, 4.0]))
array([0.6, 0.8])
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from .._ops.np_common import is_traced
from .._trace._namespace import holds, offering, version

__all__ = ["norm"]

_norm = version(np.linalg.norm)


def norm(
    a: Any,
    ord: Any = None,
    axis: Any = None,
    keepdims: bool = False,
    check_finite: bool = True,
) -> Any:
    """Norm of a vector or a matrix; as ``numpy.linalg.norm`` for traced values."""
    if holds(a, is_traced):
        return _norm(a, ord, axis, keepdims)
    return scipy.linalg.norm(a, ord, axis, keepdims, check_finite)


__getattr__, __dir__ = offering(scipy.linalg, globals(), of_lists=(scipy.linalg.cho_solve,))
