"""Making tensors of random numbers, and tensors like others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ArgumentError
from ._create import _made, _shape
from ._mode import random
from ._tensor import Tensor


def rand(
    *size: Any, dtype: Any = None, requires_grad: bool = False, name: str | None = None
) -> Tensor:
    """Return random numbers, uniform between 0 and 1; :func:`manual_seed` makes them repeat.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.rand(2, 3).shape
    (2, 3)
    """
    array = random.generator.random(_shape(size))
    return _made(array, dtype, requires_grad, name, floats=True)


def randn(
    *size: Any, dtype: Any = None, requires_grad: bool = False, name: str | None = None
) -> Tensor:
    """Return random numbers, normal with mean 0 and variance 1.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.randn(2, 3).shape
    (2, 3)
    """
    array = random.generator.standard_normal(_shape(size))
    return _made(array, dtype, requires_grad, name, floats=True)


def randint(
    low: int, high: Any = None, size: Any = None, *, dtype: Any = None, name: str | None = None
) -> Tensor:
    """Return random whole numbers from ``low`` (0 if left out) up to ``high``, without it.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.randint(0, 10, (2, 3)).shape, sg.randint(10, (4,)).dtype
    ((2, 3), dtype('int64'))
    """
    if size is None:
        low, high, size = 0, low, high
    if size is None:
        raise ArgumentError("randint takes a size: sg.randint(0, 10, (3,))")
    return _made(random.generator.integers(low, high, _shape((size,))), dtype, False, name)


def randperm(n: int) -> Tensor:
    """Return the numbers from 0 up to ``n``, without it, in random order.

    Examples
    --------
    >>> import symgrad as sg
    >>> sorted(sg.randperm(3).tolist())
    [0, 1, 2]
    """
    return _made(random.generator.permutation(n), None, False, None)


def full_like(
    input: Any, fill_value: float, *, dtype: Any = None, requires_grad: bool = False
) -> Tensor:
    """Return one number in the shape and type of another tensor.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.full_like(sg.ones(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    array = np.full(np.shape(input), fill_value, dtype or input.dtype)
    return _made(array, None, requires_grad, None)


def rand_like(input: Any, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Return random numbers between 0 and 1 in the shape and type of another tensor.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.rand_like(sg.ones(2)).shape
    (2,)
    """
    array = random.generator.random(np.shape(input))
    return _made(array, dtype or input.dtype, requires_grad, None)


def randn_like(input: Any, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Return normal random numbers in the shape and type of another tensor.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.randn_like(sg.ones(2)).shape
    (2,)
    """
    array = random.generator.standard_normal(np.shape(input))
    return _made(array, dtype or input.dtype, requires_grad, None)


def zeros_like(
    input: Any,
    *,
    dtype: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return zeros of the shape and type of another tensor.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.zeros_like(sg.ones(2))
    tensor([0., 0.])
    """
    array = np.zeros(np.shape(input), dtype or input.dtype)
    return _made(array, None, requires_grad, None)


def ones_like(
    input: Any,
    *,
    dtype: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return ones of the shape and type of another tensor.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.ones_like(sg.zeros(2))
    tensor([1., 1.])
    """
    array = np.ones(np.shape(input), dtype or input.dtype)
    return _made(array, None, requires_grad, None)
