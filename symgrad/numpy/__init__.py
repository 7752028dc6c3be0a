"""NumPy's names, for functions that symgrad traces.

``import symgrad.numpy as np`` gives everything that NumPy has. On plain arrays it is NumPy.
Beyond that:

- functions take lists of traced values (``np.sum([x, y])``, ``np.array([x, x**2])``);
- arrays that it makes inside of a traced function can be assigned to (``y[i] = x``,
  ``y[1:-1] += x``), with NumPy's views;
- ``zeros``, ``ones``, ``full``, ``eye``, ``arange``, ``linspace`` and others that make arrays
  take symbolic sizes (``np.zeros(x.shape[0])``), so that one compilation serves all lengths;
- what cannot be traced says so, and what to write instead.

Examples
--------
>>> import symgrad as sg
>>> import symgrad.numpy as np
>>> def f(x):
...     return np.sum(np.array([x, x**2, x**3]) * np.arange(3))
>>> sg.grad(f)(2.0)
np.float64(28.0)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.base.fork_safety import late_module
from .._core.trace.namespace import offering
from . import fft, linalg, random
from ._creation import (
    arange,
    array,
    asanyarray,
    asarray,
    ascontiguousarray,
    asfortranarray,
    c_,
    copy,
    empty,
    empty_like,
    fromfunction,
    full,
    full_like,
    indices,
    linspace,
    logspace,
    mgrid,
    ndarray,
    ogrid,
    ones,
    ones_like,
    r_,
    require,
    zeros,
    zeros_like,
)
from ._environment import of_file
from ._iterators import fromiter, ndenumerate, nditer, vectorize
from ._windows import (
    bartlett,
    blackman,
    eye,
    hamming,
    hanning,
    identity,
    tri,
    tril_indices,
    triu_indices,
)

__all__ = [
    "arange",
    "array",
    "asanyarray",
    "asarray",
    "ascontiguousarray",
    "asfortranarray",
    "bartlett",
    "blackman",
    "c_",
    "copy",
    "empty",
    "empty_like",
    "eye",
    "fft",
    "fromfunction",
    "fromiter",
    "full",
    "full_like",
    "hamming",
    "hanning",
    "identity",
    "indices",
    "linalg",
    "linspace",
    "logspace",
    "mgrid",
    "ndarray",
    "ndenumerate",
    "nditer",
    "ogrid",
    "ones",
    "ones_like",
    "r_",
    "random",
    "require",
    "tri",
    "tril_indices",
    "triu_indices",
    "vectorize",
    "zeros",
    "zeros_like",
]

loadtxt, genfromtxt, fromfile, load = map(
    of_file, (np.loadtxt, np.genfromtxt, np.fromfile, np.load)
)

#: Asked of lists too, by NumPy's own functions.
iterable = np.iterable

_offered, __dir__ = offering(np, globals())


def __getattr__(name: str) -> Any:
    if name in ("polynomial", "poly1d"):  # made of NumPy's code when asked for
        module = late_module(f"{__name__}.polynomial")
        return module if name == "polynomial" else module.poly1d
    return _offered(name)
