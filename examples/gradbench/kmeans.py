"""Clusters: the cost of centroids, and Newton's step, whose Hessian is diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np
from protocol import Function

import symgrad as sg


def cost(centroids: Any, points: Any) -> Any:
    """The sum of each point's squared distance from the nearest centroid."""
    squares = np.sum((points[:, None, :] - centroids) ** 2, axis=2)
    return np.sum(np.min(squares, axis=1))


def direction(centroids: Any, points: Any) -> Any:
    """The gradient over the Hessian's diagonal, which is the Hessian times ones."""
    gradient, diagonal = sg.jvp(
        sg.grad(lambda c: cost(c, points)), (centroids,), (np.ones_like(centroids),)
    )
    return gradient / diagonal


def read(given: Any) -> tuple[Any, ...]:
    return np.array(given["centroids"], dtype=float), np.array(given["points"], dtype=float)


FUNCTIONS = {
    "cost": Function(read, sg.compile(cost)),
    "dir": Function(read, sg.compile(direction)),
}
