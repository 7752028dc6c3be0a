"""``scipy.spatial``, for functions that symgrad traces: distances and rotations.

Examples
--------
>>> import numpy as np
>>> import symgrad as sg
>>> from symgrad.scipy.spatial import distance_matrix
>>> points = np.array([[0.0, 0.0], [3.0, 4.0]])
>>> sg.compile(lambda x: distance_matrix(x, points))(np.array([[0.0, 4.0]]))
array([[4., 3.]])
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.spatial

from ..._core.base.fork_safety import late_module
from ..._core.trace.namespace import offering
from .._coverage import reasons
from .._neighbours import KDTree
from .._versions import doubles, floats, replaces

__all__ = ["KDTree", "cKDTree", "distance_matrix", "minkowski_distance", "minkowski_distance_p"]

_OWN = ("distance", "transform")

cKDTree = KDTree  # noqa: N816 - SciPy's name


@replaces(scipy.spatial.minkowski_distance_p)
def minkowski_distance_p(x: Any, y: Any, p: Any = 2.0) -> Any:
    """The p-th power of the distance, as ``scipy.spatial.minkowski_distance_p``."""
    size = np.abs(doubles(y) - doubles(x))
    if p == np.inf:
        return np.max(size, axis=-1)
    return np.sum(size if p == 1 else size**p, axis=-1)


@replaces(scipy.spatial.minkowski_distance)
def minkowski_distance(x: Any, y: Any, p: Any = 2.0) -> Any:
    """Distance by the norm of order p, as ``scipy.spatial.minkowski_distance``."""
    if p == 2:
        return np.linalg.norm(doubles(y) - doubles(x), axis=-1)
    total = minkowski_distance_p(x, y, p)
    return total if p in (1, np.inf) else total ** (1.0 / p)


@replaces(scipy.spatial.distance_matrix)
def distance_matrix(x: Any, y: Any, p: Any = 2.0, threshold: int = 1000000) -> Any:
    """Distances of points, shapes ``(m, d)`` and ``(n, d)``, to each other: ``(m, n)``."""
    return minkowski_distance(floats(x)[:, None, :], floats(y)[None, :, :], p)


_names, _dir = offering(scipy.spatial, globals(), reasons("spatial"))


def __getattr__(name: str) -> Any:
    return late_module(f"{__name__}.{name}") if name in _OWN else _names(name)


def __dir__() -> list[str]:
    return sorted({*_OWN, *_dir()})
