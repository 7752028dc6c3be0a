"""Products of complex numbers along axes, halving what is left: a product for each doubling.

The length of the axis is that of the example call.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def product_over(z: Any, axes: tuple[int, ...]) -> Any:
    """Return the products over axes."""
    for axis in sorted(axes, reverse=True):
        z = _product(np.moveaxis(z, axis, 0))
    return z


def _product(z: Any) -> Any:
    n = int(z.shape[0])
    if not n:
        return np.sum(z, axis=0) + 1.0
    while n > 1:
        half = n // 2
        pairs = z[:half] * z[half : 2 * half]
        z = np.concatenate([pairs, z[2 * half :]]) if n % 2 else pairs
        n -= half
    return z[0]


def running_product(z: Any, axis: int, reverse: bool) -> Any:
    """Return the products of all elements up to each along an axis, or from each on."""
    z = np.moveaxis(z, axis, 0)
    z = z[::-1] if reverse else z
    n, k = int(z.shape[0]), 1
    while k < n:
        z = np.concatenate([z[:k], z[k:] * z[:-k]])
        k *= 2
    return np.moveaxis(z[::-1] if reverse else z, 0, axis)
