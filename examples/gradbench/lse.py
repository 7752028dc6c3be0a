"""The logarithm of a sum of exponentials, from a maximum and sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from protocol import Function

import symgrad as sg


def logsumexp(x: Any) -> Any:
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))


def read(given: Any) -> tuple[Any, ...]:
    return (np.array(given["x"], dtype=float),)


FUNCTIONS = {
    "primal": Function(read, sg.compile(logsumexp)),
    "gradient": Function(read, sg.grad(logsumexp)),
}
