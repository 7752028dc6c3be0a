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

from typing import Any

import scipy.special

from .._trace._namespace import Namespace

_names = Namespace(scipy.special, globals())


def __getattr__(name: str) -> Any:
    return _names(name)


def __dir__() -> list[str]:
    return _names.names()
