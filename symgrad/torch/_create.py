"""Making tensors: of numbers, filled, of ranges, at random, like others."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.base.argument_checks import shown
from .._core.graph import check_dtype
from .._core.trace import MOST_AXES
from .._tensor._mode import default
from .._tensor._tensor import Tensor
from ..errors import ArgumentError, ShapeError
from ._arguments import example, sizes_of


def _made(
    array: Any, dtype: Any, requires_grad: bool, name: str | None, floats: bool = False
) -> Tensor:
    """Return a tensor of a fresh array."""
    if dtype is not None:
        try:
            kind = np.dtype(dtype)
        except (TypeError, ValueError, RecursionError):
            raise ArgumentError(
                f"dtype is an element type, such as np.float64 or 'f4', not {shown(dtype)}"
            ) from None
        check_dtype(kind, "a tensor")
        array = np.asarray(array, kind)
    elif floats:
        array = np.asarray(array, default.dtype)
    check_dtype(array.dtype, "a tensor")
    return Tensor(np.asarray(array), requires_grad, name)


def tensor(
    data: Any, dtype: Any = None, requires_grad: bool = False, *, name: str | None = None
) -> Tensor:
    """Return a tensor with a copy of the given numbers.

    Parameters
    ----------
    data : array_like or Tensor
        A number, nested lists of numbers, an array or a tensor.
    dtype : dtype or str
        The element type. Without it Python floats become the default type
        (:func:`set_default_dtype`), arrays keep theirs.
    requires_grad:
        Whether derivatives by the tensor are wanted.
    name:
        The name in formulas and pictures.

    Returns
    -------
    Tensor
        A leaf: it has no record of how it was computed.

    Raises
    ------
    ArgumentError
        If the data are no numbers, or ragged lists.
    DTypeError
        If a tensor that requires gradients is not of floating point type.

    Examples
    --------
    >>> import symgrad as sg
    >>> x = sg.tensor([1.0, 2.0], requires_grad=True)
    >>> (x**2).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """
    if isinstance(data, (list, tuple)):
        data = _numbers(data, 1)
    if isinstance(data, Tensor):
        array = data._data.copy()
    else:
        try:
            array = np.array(data, order="C")
        except ValueError as error:
            raise ArgumentError(f"cannot make a tensor of ragged lists: {error}") from error
        if array.dtype.kind not in "biuf":
            check_dtype(array.dtype, "a tensor")
        if array.dtype == np.float64 and not isinstance(data, (np.ndarray, np.generic)):
            array = array.astype(default.dtype)
    return _made(array, dtype, requires_grad, name)


def _numbers(data: Any, depth: int) -> Any:
    """Nested lists, with Python numbers in place of tensors of one element."""
    if isinstance(data, (list, tuple)):
        if depth > MOST_AXES:
            raise ArgumentError(
                f"cannot make a tensor of lists nested more than {MOST_AXES} deep, the most axes "
                "that an array can have; one may contain itself"
            )
        return [_numbers(x, depth + 1) for x in data]
    return data.tolist() if isinstance(data, Tensor) else data


def as_tensor(data: Any, dtype: Any = None) -> Tensor:
    """Return the data as a tensor, without a copy where it is an array or a tensor.

    A tensor that shares an array's memory does not see when the array is written to.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad.torch as torch
    >>> torch.as_tensor(np.arange(3.0))
    tensor([0., 1., 2.])
    """
    if isinstance(data, Tensor):
        return data if dtype is None else data.astype(dtype, copy=False)
    if isinstance(data, np.ndarray):
        return _made(data, dtype, False, None)
    return tensor(data, dtype)


def from_numpy(array: np.ndarray[Any, Any]) -> Tensor:
    """Return a tensor that shares the memory of an array.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad.torch as torch
    >>> torch.from_numpy(np.ones(2))
    tensor([1., 1.])
    """
    if not isinstance(array, np.ndarray):
        raise ArgumentError(f"from_numpy takes an array, not {type(array).__name__}")
    return as_tensor(array)


@example("torch.FloatTensor([1, 2])", "tensor([1., 2.])")
def FloatTensor(data: Any) -> Tensor:
    """Return a tensor of the default floating point type, as PyTorch's old name does."""
    return tensor(data, default.dtype)


@example(
    "torch.Variable(torch.FloatTensor([1, 2]), requires_grad=True)",
    "tensor([1., 2.], requires_grad=True)",
)
def Variable(data: Any, requires_grad: bool = False) -> Tensor:
    """Return a tensor, as PyTorch's old name does; a tensor given is taken as it is."""
    made = data.detach() if isinstance(data, Tensor) else tensor(data)
    made.requires_grad = requires_grad
    return made


# ---------------------------------------------------------------- filled, ranges


def _shape(size: tuple[Any, ...]) -> tuple[int, ...]:
    size = sizes_of(size)
    try:
        shape = tuple(int(d.__index__()) for d in size)
    except AttributeError:
        raise ShapeError(f"a shape is made of whole numbers, not {size}") from None
    if any(d < 0 for d in shape):
        raise ShapeError(f"a size is not negative: {shape}")
    return shape


@example("torch.zeros(2, 3)", "tensor([[0., 0., 0.],\n        [0., 0., 0.]])")
def zeros(
    *size: Any, dtype: Any = None, requires_grad: bool = False, name: str | None = None
) -> Tensor:
    """Return zeros of the given shape."""
    return _made(np.zeros(_shape(size)), dtype, requires_grad, name, floats=True)


@example("torch.ones(3)", "tensor([1., 1., 1.])")
def ones(
    *size: Any, dtype: Any = None, requires_grad: bool = False, name: str | None = None
) -> Tensor:
    """Return ones of the given shape."""
    return _made(np.ones(_shape(size)), dtype, requires_grad, name, floats=True)


@example("torch.full((2,), 0.5)", "tensor([0.5000, 0.5000])")
def full(
    size: Any, fill_value: float, *, dtype: Any = None, requires_grad: bool = False,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return one number in the given shape."""
    shape = _shape((size,))
    floats = isinstance(fill_value, float)
    return _made(np.full(shape, fill_value), dtype, requires_grad, name, floats)


@example(
    "torch.arange(3), torch.arange(1.0, 2.0, 0.5)", "(tensor([0, 1, 2]), tensor([1.0000, 1.5000]))"
)
def arange(
    start: float, end: float | None = None, step: float = 1, *, dtype: Any = None,
    requires_grad: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return the numbers from ``start`` (0 if only one is given) up to ``end``, without it."""
    start, end = (0, start) if end is None else (start, end)
    floats = any(isinstance(x, float) for x in (start, end, step))
    return _made(np.arange(start, end, step), dtype, requires_grad, name, floats)


@example("torch.linspace(0.0, 1.0, steps=5)", "tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])")
def linspace(
    start: float, end: float, steps: int, *, dtype: Any = None, requires_grad: bool = False,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return ``steps`` numbers at equal distances, from ``start`` to ``end``."""
    return _made(np.linspace(start, end, steps), dtype, requires_grad, name, floats=True)


@example("torch.eye(2)", "tensor([[1., 0.],\n        [0., 1.]])")
def eye(
    n: int, m: int | None = None, *, dtype: Any = None, requires_grad: bool = False,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return the unit matrix."""
    return _made(np.eye(n, m), dtype, requires_grad, name, floats=True)


@example("torch.empty(2, 3).shape", "(2, 3)")
def empty(
    *size: Any, dtype: Any = None, requires_grad: bool = False, name: str | None = None
) -> Tensor:
    """Return a tensor to be written to; it holds zeros, so that nothing depends on chance."""
    return zeros(*size, dtype=dtype, requires_grad=requires_grad, name=name)


# ---------------------------------------------------------------- random numbers


class _Random:
    generator: np.random.Generator = np.random.default_rng()


random = _Random()


def manual_seed(seed: int) -> None:
    """Start the random numbers of :func:`rand` and :func:`randn` from a seed.

    Examples
    --------
    >>> import symgrad.torch as torch
    >>> torch.manual_seed(0)
    >>> x = torch.randn(3)
    >>> torch.manual_seed(0)
    >>> bool((x == torch.randn(3)).all())
    True
    """
    random.generator = np.random.default_rng(seed)


@example("torch.rand(2, 3).shape", "(2, 3)")
def rand(
    *size: Any, dtype: Any = None, requires_grad: bool = False, name: str | None = None
) -> Tensor:
    """Return random numbers, uniform between 0 and 1; :func:`manual_seed` makes them repeat."""
    array = random.generator.random(_shape(size))
    return _made(array, dtype, requires_grad, name, floats=True)


@example("torch.randn(2, 3).shape", "(2, 3)")
def randn(
    *size: Any, dtype: Any = None, requires_grad: bool = False, name: str | None = None
) -> Tensor:
    """Return normal random numbers with mean 0 and variance 1."""
    array = random.generator.standard_normal(_shape(size))
    return _made(array, dtype, requires_grad, name, floats=True)


@example(
    "torch.randint(0, 10, (2, 3)).shape, torch.randint(10, (4,)).dtype", "((2, 3), dtype('int64'))"
)
def randint(
    low: int, high: Any = None, size: Any = None, *, dtype: Any = None, name: str | None = None
) -> Tensor:
    """Return random integers from ``low`` (0 if left out) up to ``high``, without it."""
    if size is None:
        low, high, size = 0, low, high
    if size is None:
        raise ArgumentError("randint takes a size: torch.randint(0, 10, (3,))")
    return _made(random.generator.integers(low, high, _shape((size,))), dtype, False, name)


@example("sorted(torch.randperm(3).tolist())", "[0, 1, 2]")
def randperm(n: int) -> Tensor:
    """Return the numbers from 0 up to ``n``, without it, in random order."""
    return _made(random.generator.permutation(n), None, False, None)


# ---------------------------------------------------------------- like others


@example("torch.full_like(x, 0.5)", "tensor([[0.5000, 0.5000],\n        [0.5000, 0.5000]])")
def full_like(
    input: Any, fill_value: float, *, dtype: Any = None, requires_grad: bool = False
) -> Tensor:
    """Return one number in the shape and type of another tensor."""
    array = np.full(np.shape(input), fill_value, dtype or input.dtype)
    return _made(array, None, requires_grad, None)


@example("torch.zeros_like(x)", "tensor([[0., 0.],\n        [0., 0.]])")
def zeros_like(input: Any, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Return zeros in the shape and type of another tensor."""
    return full_like(input, 0, dtype=dtype, requires_grad=requires_grad)


@example("torch.ones_like(x)", "tensor([[1., 1.],\n        [1., 1.]])")
def ones_like(input: Any, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Return ones in the shape and type of another tensor."""
    return full_like(input, 1, dtype=dtype, requires_grad=requires_grad)


@example("torch.rand_like(x).shape", "(2, 2)")
def rand_like(input: Any, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Return random numbers between 0 and 1 in the shape and type of another tensor."""
    return rand(np.shape(input), dtype=dtype or input.dtype, requires_grad=requires_grad)


@example("torch.randn_like(x).shape", "(2, 2)")
def randn_like(input: Any, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Return normal random numbers in the shape and type of another tensor."""
    return randn(np.shape(input), dtype=dtype or input.dtype, requires_grad=requires_grad)


__all__ = [
    "FloatTensor", "Variable", "arange", "as_tensor", "empty", "eye", "from_numpy", "full",
    "full_like", "linspace", "manual_seed", "ones", "ones_like", "rand", "rand_like", "randint",
    "randn", "randn_like", "randperm", "tensor", "zeros", "zeros_like",
]  # fmt: skip
