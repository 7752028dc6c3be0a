"""PyTorch's names for reductions: NumPy's functions, with ``dim`` and ``keepdim`` besides."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .._tensor._composites import LOG_SOFTMAX, LOGSUMEXP, SOFTMAX, Composed
from .._tensor._record import bind, planned
from .._tensor._tensor import Tensor, counted, reduced
from ..errors import UnsupportedError
from ._arguments import Selected, axis_of, example
from ._arrange import argsort


def _reduction(
    function: Callable[..., Any], what: str, shown: str, name: str | None = None,
    selected: Callable[..., Any] | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """Return NumPy's reduction with PyTorch's arguments; ``selected`` says what ``dim=`` gives."""
    name = name or function.__name__
    options = inspect.signature(function).parameters

    def reduce(
        input: Any, dim: Any = None, keepdim: bool | None = None, *, axis: Any = None,
        keepdims: bool = False, **more: Any,
    ) -> Any:  # fmt: skip
        keep = bool(keepdims if keepdim is None else keepdim)
        if "ddof" in options:
            if isinstance(dim, bool):  # PyTorch's std(unbiased)
                dim, more["unbiased"] = None, dim
            _as_ddof(more, 0 if axis is not None or keepdims else 1)
        if dim is not None:
            if selected is not None:
                return selected(input, dim, keep)
            axis = axis_of(dim, axis)
        if isinstance(input, Tensor):
            key = (function, axis, type(axis), keep, *more.items())
            return planned(key, (input,), reduced, function, input, axis, keep, more)
        if "keepdims" in options:
            more["keepdims"] = keep
        return function(input, axis=axis, **more)

    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = f"""Return the {what}.

    Parameters
    ----------
    input:
        A tensor, an array or a traced value.
    dim, axis:
        The axis or axes, all if not given; two names for one thing.
    keepdim, keepdims:
        Whether reduced axes stay, with length one.

    Examples
    --------
    >>> import symgrad.torch as torch
    >>> torch.{name}(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=1)
    {shown}
    """
    return reduce


def _as_ddof(options: dict[str, Any], usual: int) -> None:
    """Say ``correction=`` and ``unbiased=``, PyTorch's words, in NumPy's; ``usual`` if neither."""
    if "correction" in options:
        options["ddof"] = options.pop("correction")
    if "unbiased" in options:
        options["ddof"] = int(options.pop("unbiased"))
    options.setdefault("ddof", usual)


sum = _reduction(np.sum, "sum of the elements", "tensor([3., 7.])")
mean = _reduction(np.mean, "mean of the elements", "tensor([1.5000, 3.5000])")
prod = _reduction(np.prod, "product of the elements", "tensor([ 2., 12.])")
std = _reduction(
    np.std, "standard deviation, divided by n - 1; by n with ``correction=0`` or ``axis=``",
    "tensor([0.7071, 0.7071])",
)  # fmt: skip
var = _reduction(
    np.var, "variance, divided by n - 1; by n with ``correction=0`` or ``axis=``",
    "tensor([0.5000, 0.5000])",
)  # fmt: skip
argmax = _reduction(np.argmax, "place of the largest element", "tensor([1, 1])")
argmin = _reduction(np.argmin, "place of the smallest element", "tensor([0, 0])")
any = _reduction(np.any, "answer whether an element is not zero", "tensor([True, True])")
all = _reduction(np.all, "answer whether no element is zero", "tensor([True, True])")
amax = _reduction(np.max, "largest element", "tensor([2., 4.])", "amax")
amin = _reduction(np.min, "smallest element", "tensor([1., 3.])", "amin")


def _largest(input: Any, dim: Any, keep: bool) -> Any:
    if isinstance(dim, Tensor):
        return np.maximum(input, dim)
    return Selected(amax(input, dim, keep), argmax(input, dim, keep))


def _smallest(input: Any, dim: Any, keep: bool) -> Any:
    if isinstance(dim, Tensor):
        return np.minimum(input, dim)
    return Selected(amin(input, dim, keep), argmin(input, dim, keep))


_EXTREME = (
    "{} element; along a ``dim`` the pair (values, indices), as PyTorch does. ``axis`` is\n"
    "    NumPy's way: it gives the values alone. Elements that tie share the derivative equally"
)


max = _reduction(
    np.max, _EXTREME.format("largest"),
    "Selected(values=tensor([2., 4.]), indices=tensor([1, 1]))", "max", _largest,
)  # fmt: skip


min = _reduction(
    np.min, _EXTREME.format("smallest"),
    "Selected(values=tensor([1., 3.]), indices=tensor([0, 0]))", "min", _smallest,
)  # fmt: skip


@example("torch.cumsum(torch.tensor([1.0, 2.0, 3.0]), dim=0)", "tensor([1., 3., 6.])")
def cumsum(input: Any, dim: Any = None, *, axis: Any = None) -> Any:
    """Return the running sum along an axis."""
    return np.cumsum(input, axis=axis_of(dim, axis))


@example("torch.cumprod(x, dim=1)", "tensor([[3., 3.],\n        [2., 8.]])")
def cumprod(input: Any, dim: Any = None, *, axis: Any = None) -> Any:
    """Return the running product along an axis."""
    return np.cumprod(input, axis=axis_of(dim, axis))


@example("torch.count_nonzero(x)", "tensor(4)")
def count_nonzero(input: Any, dim: Any = None) -> Any:
    """Return the number of elements that are not zero."""
    return np.count_nonzero(input, axis=dim)


# ---------------------------------------------------------------- along an axis, without overflow


@example("torch.softmax(torch.tensor([0.0, 0.0]), dim=0)", "tensor([0.5000, 0.5000])")
def softmax(input: Any, dim: Any = None, *, axis: Any = None) -> Any:
    """Return ``exp(x)/sum(exp(x))`` along an axis, without overflow."""
    return _along(SOFTMAX, input, axis_of(dim, axis))


@example("torch.log_softmax(torch.tensor([0.0, 0.0]), dim=0)", "tensor([-0.6931, -0.6931])")
def log_softmax(input: Any, dim: Any = None, *, axis: Any = None) -> Any:
    """Return ``x - log(sum(exp(x)))`` along an axis, without overflow."""
    return _along(LOG_SOFTMAX, input, axis_of(dim, axis))


@example("torch.logsumexp(torch.tensor([1000.0, 1000.0]), dim=0)", "tensor(1000.6931)")
def logsumexp(input: Any, dim: Any = None, keepdim: bool = False, *, axis: Any = None) -> Any:
    """Return ``log(sum(exp(x)))`` along an axis, without overflow."""
    return _along(LOGSUMEXP, input, axis_of(dim, axis), keepdims=bool(keepdim))


def _along(op: Composed, input: Any, axis: Any, **options: Any) -> Any:
    """Apply a step along an axis; on what is no tensor, the compiler's steps."""
    if not isinstance(input, Tensor):
        return op.steps(input, axis=counted(axis, np.ndim(input)), **options)
    return planned(
        (op, axis, type(axis), *options.items()), (input,), _counting, op, input, axis, options
    )


def _counting(op: Composed, input: Tensor, axis: Any, options: dict[str, Any]) -> Any:
    return bind(op, (input,), {"axis": counted(axis, input.ndim), **options})


# ---------------------------------------------------------------- statistics


@example("torch.cov(x)", "tensor([[ 2., -2.],\n        [-2.,  2.]])")
def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """Return the covariances of the rows, divided by the number of columns less 1."""
    if fweights is not None or aweights is not None:
        raise UnsupportedError("cov takes no weights here: weight the observations first")
    return np.cov(input, ddof=correction)


@example("torch.corrcoef(x)", "tensor([[ 1., -1.],\n        [-1.,  1.]])")
def corrcoef(input: Any) -> Any:
    """Return the correlations of the rows."""
    return np.corrcoef(input)


@example("torch.median(x), torch.median(x, dim=1).values", "(tensor(2.), tensor([1., 2.]))")
def median(
    input: Any, dim: int | None = None, keepdim: bool = False, *, axis: int | None = None
) -> Any:
    """Return the lower of the middle elements, nan if one is nan.

    Along a ``dim`` the pair (values, indices). ``np.median`` is the mean of the two middle ones.
    Without ``dim`` elements that tie share the derivative equally.
    """
    where = axis_of(dim, axis)
    if where is None:
        flat = np.reshape(input, (-1,))
        middle = np.take_along_axis(flat, _middle(flat, 0), 0)
        if flat.dtype.kind in "iu":
            return middle[0]
        hit = (flat == middle) | (np.isnan(flat) & np.isnan(middle))
        return np.max(np.where(hit, flat, -np.inf))
    places = _middle(input, where)
    values = np.take_along_axis(input, places, where)
    if keepdim:
        return Selected(values, places)
    return Selected(np.squeeze(values, axis=where), np.squeeze(places, axis=where))


def _middle(x: Any, axis: int) -> Any:
    """Return where the lower middle element along an axis is, or the first nan."""
    count = x.shape[axis]
    strange = np.sum(np.isnan(x), axis=axis, keepdims=True)
    rank = np.where(strange > 0, count - strange, (count - 1) // 2)
    return np.take_along_axis(argsort(x, axis), rank, axis)  # nan are last


__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "corrcoef", "count_nonzero", "cov", "cumprod",
    "cumsum", "log_softmax", "logsumexp", "max", "mean", "median", "min", "prod", "softmax", "std",
    "sum", "var",
]  # fmt: skip
