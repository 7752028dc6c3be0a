"""``numpy.linalg``, for functions that symgrad traces.

Norms, products, systems, determinants and factorisations are traced; eigenvalues of general
matrices are not.

Examples
--------
>>> import symgrad as sg
>>> import symgrad.numpy as np
>>> sg.grad(lambda x: np.linalg.norm([x, 2.0]))(1.5)
np.float64(0.6)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._trace._namespace import Namespace

_names = Namespace(np.linalg, globals())


def __getattr__(name: str) -> Any:
    return _names(name)


def __dir__() -> list[str]:
    return _names.names()
