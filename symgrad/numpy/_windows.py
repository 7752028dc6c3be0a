"""Windows, frequencies, diagonals and triangles that are made of numbers of elements.

These may be open sizes; of numbers each is NumPy's own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.base.sizes import Size
from .._core.trace.namespace import assignable
from ._creation import _dtype, arange, indices, symbolic

Made = Callable[..., Any]


def _sized(original: Made, least: int = 2) -> Callable[[Made], Made]:
    """Return a decorator: of open sizes from ``least`` on its function's result, else NumPy's."""

    def decorate(ours: Made) -> Made:
        @functools.wraps(original)
        def version(n: Any, *args: Any, **options: Any) -> Any:
            if isinstance(n, Size) and n >= least:
                return ours(n, *args, **options)
            return original(n, *args, **options)

        return version

    return decorate


def _steps(n: Any) -> Any:
    """Return places from -1 to 1, as NumPy's windows count."""
    return (2.0 * arange(n) - (n - 1.0)) / (n - 1.0)


@_sized(np.bartlett)
def bartlett(M: Any) -> Any:
    return 1.0 - np.abs(_steps(M))


@_sized(np.hanning)
def hanning(M: Any) -> Any:
    return 0.5 + 0.5 * np.cos(np.pi * _steps(M))


@_sized(np.hamming)
def hamming(M: Any) -> Any:
    return 0.54 + 0.46 * np.cos(np.pi * _steps(M))


@_sized(np.blackman)
def blackman(M: Any) -> Any:
    at = np.pi * _steps(M)
    return 0.42 + 0.5 * np.cos(at) + 0.08 * np.cos(2.0 * at)


@_sized(np.fft.fftfreq, 1)
def fftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    k = arange(n)
    return np.where(k < (n + 1) // 2, k, k - n) * (1.0 / (n * d))


@_sized(np.fft.rfftfreq, 1)
def rfftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    return arange(n // 2 + 1) * (1.0 / (n * d))


def eye(N: Any, M: Any = None, k: int = 0, dtype: Any = float, *args: Any, **options: Any) -> Any:
    """Make ones on a diagonal; the sizes may be symbolic.

    Examples
    --------
    >>> import symgrad as sg
    >>> import symgrad.numpy as np
    >>> sg.compile(lambda x: x + np.eye(x.shape[0]))(np.zeros((2, 2)))
    array([[1., 0.],
           [0., 1.]])
    """
    if not symbolic(N, M):
        return assignable(np.eye(N, M, k, dtype, *args, **options))
    rows, columns = indices((N, N if M is None else M), sparse=True)
    return (rows + k == columns).astype(_dtype(dtype))


def identity(n: Any, dtype: Any = None, **options: Any) -> Any:
    """Make the identity matrix; its size may be symbolic."""
    return eye(n, dtype=float if dtype is None else dtype, **options)


def tri(N: Any, M: Any = None, k: int = 0, dtype: Any = float, **options: Any) -> Any:
    """Make ones at and below a diagonal; the sizes may be symbolic."""
    if not symbolic(N, M):
        return assignable(np.tri(N, M, k, dtype, **options))
    rows, columns = indices((N, N if M is None else M), sparse=True)
    return (rows + k >= columns).astype(_dtype(dtype))


def _triangle(original: Made, ours: Made) -> Made:
    """Return the indices of a triangle; ours are those of sides of ``size`` on a diagonal ``k``.

    They are found by their numbers: row i of a lower triangle begins with i*(i + 1)/2, of which
    the root is exact.
    """

    @functools.wraps(original)
    def version(n: Any, k: int = 0, m: Any = None) -> Any:
        inside = k >= 0 if original is np.triu_indices else k <= 0
        if isinstance(n, Size) and m is None and inside and n - abs(k) >= 1:
            return ours(n - abs(k), k)
        return original(n, k, m)

    return version


def _upper(size: Any, k: int) -> tuple[Any, Any]:
    place, b = arange(size * (size + 1) // 2), 2 * size + 1
    i = np.floor((b - np.sqrt(1.0 * (b * b - 8 * place))) / 2.0).astype(np.int64)
    return i, place - i * (b - i) // 2 + i + k


def _lower(size: Any, k: int) -> tuple[Any, Any]:
    place = arange(size * (size + 1) // 2)
    i = np.floor((np.sqrt(8.0 * place + 1.0) - 1.0) / 2.0).astype(np.int64)
    return i - k, place - i * (i + 1) // 2


triu_indices, tril_indices = _triangle(np.triu_indices, _upper), _triangle(np.tril_indices, _lower)
