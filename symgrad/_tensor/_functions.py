"""PyTorch's names for functions: NumPy's functions, with ``dim`` and ``keepdim`` besides.

Elementwise functions are in a module of their own. The rest are thin: they accept PyTorch's
keywords, and work on arrays and traced values too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from .._shapes import normalize_axes
from .._trace._arrays import call
from ..errors import ArgumentError, ShapeError
from . import (  # noqa: F401 - short ways
    _elementwise,
    _quick_choices,
    _quick_composed,
    _quick_joins,
    _quick_products,
    _quick_views,
)
from ._plan import planned
from ._quick_choices import relu
from ._quick_folds import FOLDS, composed, short
from ._record import bind
from ._tensor import QUICK, Tensor, wrap


def axis_of(dim: Any, axis: Any) -> Any:
    """Return the axis that is meant by either keyword."""
    if dim is not None and axis is not None:
        raise ArgumentError("give dim= or axis=, not both: they mean the same")
    return axis if dim is None else dim


class Extreme(NamedTuple):
    """What ``max`` and ``min`` along a ``dim`` return: the values and where they are."""

    values: Any
    indices: Any


# ---------------------------------------------------------------- reductions


def _reduction(
    function: Callable[..., Any], what: str, example: str, name: str | None = None
) -> Callable[..., Any]:
    name = name or function.__name__
    options = inspect.signature(function).parameters

    def reduce(
        input: Any, dim: Any = None, keepdim: bool | None = None, *, axis: Any = None,
        keepdims: bool = False, **more: Any,
    ) -> Any:  # fmt: skip
        where = axis_of(dim, axis)
        if "ddof" in options:
            _as_ddof(more)
        if "keepdims" in options:
            more["keepdims"] = bool(keepdims if keepdim is None else keepdim)
        if not isinstance(input, Tensor):
            return function(input, axis=where, **more)
        if function in _WITHOUT and not more.get("keepdims") and _is_axis(where, input._data):
            return wrap(np.asarray(function(input._data, where)))
        data = input._data
        if len(more) == 1 and data.size and data.dtype.kind == "f":
            with suppress(ShapeError):  # NumPy's function names itself
                axes = normalize_axes(where, data.ndim)
                step = composed(function, axes, more["keepdims"])
                if step is not None:
                    return bind(step, (input,), {"axes": axes})
        spread = _SPREADS.get(function)
        if spread is not None and data.size and data.dtype.kind == "f" and _plain(more):
            ddof, keep = more.get("ddof", 0), more["keepdims"]
            with suppress(ShapeError):
                return spread(
                    input, (where, ddof, keep),
                    lambda rank: {"axis": _counted(where, rank), "ddof": ddof, "keepdims": keep},
                )  # fmt: skip
        more["axis"] = where
        result = planned(
            Tensor, function, (input,), more, lambda: call(function, (input,), dict(more))
        )  # fmt: skip
        return result.clone() if result is input else result  # memory of its own

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
    >>> import symgrad as sg
    >>> sg.{name}(sg.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=1)
    {example}
    """
    if function in _SPREADS and name == function.__name__:
        QUICK[function] = reduce
    return short(function, reduce) if function in FOLDS else reduce


#: Reductions that are several ops.
_SPREADS = {np.var: _quick_composed.var, np.std: _quick_composed.std}


def _plain(options: dict[str, Any]) -> bool:
    """Tell whether there is nothing but ``keepdims`` and a number ``ddof``."""
    return type(options.get("ddof", 0)) in (int, float) and options.keys() <= {"keepdims", "ddof"}


sum = _reduction(np.sum, "sum of the elements", "tensor([3., 7.])")  # noqa: A001
mean = _reduction(np.mean, "mean of the elements", "tensor([1.5000, 3.5000])")
prod = _reduction(np.prod, "product of the elements", "tensor([ 2., 12.])")
std = _reduction(
    np.std, "standard deviation, divided by n as in NumPy (``ddof=1``: by n - 1, as in PyTorch)",
    "tensor([0.5000, 0.5000])",
)  # fmt: skip
var = _reduction(
    np.var, "variance, divided by n as in NumPy (``ddof=1``: by n - 1, as in PyTorch)",
    "tensor([0.2500, 0.2500])",
)  # fmt: skip
argmax = _reduction(np.argmax, "place of the largest element", "tensor([1, 1])")
argmin = _reduction(np.argmin, "place of the smallest element", "tensor([0, 0])")
any = _reduction(np.any, "answer whether an element is not zero", "tensor([True, True])")  # noqa: A001
all = _reduction(np.all, "answer whether no element is zero", "tensor([True, True])")  # noqa: A001


#: Reductions that no derivative goes through.
_WITHOUT = (np.argmax, np.argmin, np.any, np.all)


def _is_axis(axis: Any, data: Any) -> bool:
    """Tell whether an array can be reduced over an axis, or all of them, without more ado."""
    inside = axis is None or (type(axis) is int and -data.ndim <= axis < data.ndim)
    return inside and data.size > 0


def _as_ddof(options: dict[str, Any]) -> None:
    """Say ``correction=`` and ``unbiased=``, PyTorch's words, in NumPy's."""
    if "correction" in options:
        options["ddof"] = options.pop("correction")
    if "unbiased" in options:
        options["ddof"] = int(options.pop("unbiased"))


def _extreme(value: Any, place: Any, input: Any, dim: Any, keep: bool, axis: Any) -> Any:
    if dim is None:
        return value(input, axis=axis, keepdims=keep)
    if isinstance(dim, Tensor):  # the larger of two
        return {np.max: np.maximum, np.min: np.minimum}[value](input, dim)
    return Extreme(value(input, axis=dim, keepdims=keep), place(input, axis=dim, keepdims=keep))


def max(  # noqa: A001
    input: Any, dim: Any = None, keepdim: bool = False, *, axis: Any = None,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the largest element; along a ``dim`` the pair (values, indices), as PyTorch does.

    ``axis`` is NumPy's way: it gives the values alone. Elements that tie share the
    derivative equally.

    Examples
    --------
    >>> import symgrad as sg
    >>> x = sg.tensor([[1.0, 2.0], [4.0, 3.0]])
    >>> sg.max(x), sg.max(x, axis=1), sg.max(x, dim=1).indices
    (tensor(4.), tensor([2., 4.]), tensor([1, 0]))
    """
    return _extreme(np.max, np.argmax, input, dim, keepdim or keepdims, axis)


max = short(np.max, max, pairs=True)  # noqa: A001


def min(  # noqa: A001
    input: Any, dim: Any = None, keepdim: bool = False, *, axis: Any = None,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the smallest element; along a ``dim`` the pair (values, indices).

    See :func:`max`.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.min(sg.tensor([1.0, 2.0]))
    tensor(1.)
    """
    return _extreme(np.min, np.argmin, input, dim, keepdim or keepdims, axis)


min = short(np.min, min, pairs=True)  # noqa: A001


def cumsum(input: Any, dim: Any = None, *, axis: Any = None) -> Any:
    """Return the running sum along an axis.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.cumsum(sg.tensor([1.0, 2.0, 3.0]), dim=0)
    tensor([1., 3., 6.])
    """
    return np.cumsum(input, axis=axis_of(dim, axis))


# ---------------------------------------------------------------- for networks


def softmax(input: Any, dim: Any = None, *, axis: Any = None) -> Any:
    """Return ``exp(x)/sum(exp(x))`` along an axis, without overflow.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.softmax(sg.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    where = dim if axis is None else axis_of(dim, axis)
    return _quick_composed.softmax(input, where, lambda rank: {"axis": _counted(where, rank)})


def log_softmax(input: Any, dim: Any = None, *, axis: Any = None) -> Any:
    """Return ``x - log(sum(exp(x)))`` along an axis, without overflow.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.log_softmax(sg.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    where = dim if axis is None else axis_of(dim, axis)
    return _quick_composed.log_softmax(input, where, lambda rank: {"axis": _counted(where, rank)})


def logsumexp(
    input: Any,
    dim: Any = None,
    keepdim: bool = False,
    *,
    axis: Any = None,
) -> Any:
    """Return ``log(sum(exp(x)))`` along an axis, without overflow.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.logsumexp(sg.tensor([1000.0, 1000.0]), dim=0)
    tensor(1000.6931)
    """
    where = dim if axis is None else axis_of(dim, axis)
    return _quick_composed.logsumexp(
        input, (where, keepdim),
        lambda rank: {"axis": _counted(where, rank), "keepdims": bool(keepdim)},
    )  # fmt: skip


def _counted(axis: Any, rank: int) -> Any:
    """Return an axis, or several, counted from the front."""
    axes = normalize_axes(axis, rank)
    return None if axis is None else axes[0] if len(axes) == 1 else axes


# ---------------------------------------------------------------- shapes and choices


def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """Return ``input`` where the condition holds, else ``other``.

    With the condition alone: where it holds, as index arrays, one for each axis.

    Examples
    --------
    >>> import symgrad as sg
    >>> x = sg.tensor([-1.0, 2.0])
    >>> sg.where(x > 0, x, 0.0)
    tensor([0., 2.])
    >>> sg.where(x > 0)
    (tensor([1]),)
    """
    if input is None and other is None:
        return np.nonzero(condition)
    if input is None or other is None:
        raise ArgumentError("where takes the condition alone, or both of what is chosen from")
    if type(condition) is Tensor or type(input) is Tensor or type(other) is Tensor:
        return _quick_choices.where(condition, input, other)
    return np.where(condition, input, other)


def clamp(input: Any, min: float | None = None, max: float | None = None) -> Any:
    """Return the elements limited to a range.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.clamp(sg.tensor([-1.0, 0.5, 2.0]), 0.0, 1.0)
    tensor([0.0000, 0.5000, 1.0000])
    """
    return np.clip(input, min, max)


def stack(tensors: Sequence[Any], dim: int = 0, *, axis: int | None = None) -> Any:
    """Return tensors of one shape side by side along a new axis.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.stack([sg.zeros(2), sg.ones(2)])
    tensor([[0., 0.],
            [1., 1.]])
    """
    along = dim if axis is None else axis
    if (type(tensors) is tuple or type(tensors) is list) and len(tensors) == 2:
        made = _quick_joins.paired(np.stack, tensors[0], tensors[1], along)
        if made is not None:
            return made
    return _joined(np.stack, tensors, along)


def cat(tensors: Sequence[Any], dim: int = 0, *, axis: int | None = None) -> Any:
    """Return tensors joined along an axis.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.cat([sg.zeros(2), sg.ones(1)])
    tensor([0., 0., 1.])
    """
    along = dim if axis is None else axis
    if (type(tensors) is tuple or type(tensors) is list) and len(tensors) == 2:
        made = _quick_joins.paired(np.concatenate, tensors[0], tensors[1], along)
        if made is not None:
            return made
    return _joined(np.concatenate, tensors, along)


def _joined(function: Callable[..., Any], tensors: Any, axis: int) -> Any:
    parts = list(tensors)
    if Tensor not in map(type, parts):
        return function(parts, axis=axis)
    made = _quick_joins.joined(function, parts, axis)
    if made is not None:
        return made
    given = {"axis": axis}
    return planned(Tensor, function, tuple(parts), given, lambda: function(parts, axis=axis))


def dot(input: Any, other: Any) -> Any:
    """Return the sum of the products of two vectors' elements.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.dot(sg.ones(3), sg.ones(3))
    tensor(3.)
    """
    if type(input) is type(other) is Tensor and input.ndim == other.ndim == 1:
        return input @ other
    return np.dot(input, other)


# ---------------------------------------------------------------- methods


def _methods() -> None:
    """Give tensors the functions that PyTorch has as methods too."""
    for name in _elementwise.__all__:
        if not hasattr(Tensor, name):
            function = getattr(_elementwise, name)
            is_method = isinstance(function, FunctionType)  # others do not bind to a tensor
            setattr(Tensor, name, function if is_method else _as_method(function))
    for function in (sum, mean, prod, std, var, argmax, argmin, any, all, max, min, cumsum,
                     relu, softmax, log_softmax, logsumexp, clamp, dot):  # fmt: skip
        is_method = isinstance(function, FunctionType)
        setattr(Tensor, function.__name__, function if is_method else _as_method(function))
    Tensor.clip = Tensor.clamp  # type: ignore[attr-defined]
    Tensor.view = Tensor.reshape  # type: ignore[attr-defined]


def _as_method(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__ = function.__name__
    method.__doc__ = f"Same as ``sg.{function.__name__}``."
    return method


_methods()
