"""Making tensors of random numbers, and tensors like others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ._create import _made, _shape
from ._mode import random
from ._tensor import Tensor


def _drawn(name: str, draw: str, what: str) -> Callable[..., Tensor]:
    """Return the maker of random numbers that a method of NumPy's generator draws."""

    def make(
        *size: Any, dtype: Any = None, requires_grad: bool = False, name: str | None = None
    ) -> Tensor:
        array = getattr(random.generator, draw)(_shape(size))
        return _made(array, dtype, requires_grad, name, floats=True)

    return _documented(
        make, name, f"Return random numbers, {what}; :func:`manual_seed` makes them repeat.",
        f"sg.{name}(2, 3).shape", "(2, 3)",
    )  # fmt: skip


def _like(
    name: str, fill: Callable[[tuple[int, ...], Any], Any], what: str, example: str, shown: str
) -> Callable[..., Tensor]:
    """Return the maker of a tensor in the shape and type of another one."""

    def make(input: Any, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
        wanted = dtype or input.dtype
        return _made(fill(np.shape(input), wanted), wanted, requires_grad, None)

    return _documented(
        make, name, f"Return {what} in the shape and type of another tensor.", example, shown
    )


def _documented(
    function: Any, name: str, does: str, example: str, shown: str
) -> Callable[..., Tensor]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{does}\n\n    Examples\n    --------\n    >>> import symgrad as sg\n"
        f"    >>> {example}\n    {shown}\n    "
    )
    made: Callable[..., Tensor] = function
    return made


rand = _drawn("rand", "random", "uniform between 0 and 1")
randn = _drawn("randn", "standard_normal", "normal with mean 0 and variance 1")


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


zeros_like = _like("zeros_like", np.zeros, "zeros", "sg.zeros_like(sg.ones(2))",
                   "tensor([0., 0.])")  # fmt: skip
ones_like = _like("ones_like", np.ones, "ones", "sg.ones_like(sg.zeros(2))",
                  "tensor([1., 1.])")  # fmt: skip
rand_like = _like("rand_like", lambda shape, _: random.generator.random(shape),
                  "random numbers between 0 and 1", "sg.rand_like(sg.ones(2)).shape",
                  "(2,)")  # fmt: skip
randn_like = _like("randn_like", lambda shape, _: random.generator.standard_normal(shape),
                   "normal random numbers", "sg.randn_like(sg.ones(2)).shape",
                   "(2,)")  # fmt: skip
