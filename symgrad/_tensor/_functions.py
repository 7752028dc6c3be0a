"""PyTorch's names for functions: NumPy's functions, with ``dim`` and ``keepdim`` besides.

Elementwise functions are in a module of their own. The rest are thin: they accept PyTorch's
keywords, and work on arrays and traced values too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from .._op import registry
from .._shapes import normalize_axes
from .._trace._arrays import call
from ..errors import ArgumentError, ShapeError
from ._composed import FOLDS, LOG_SOFTMAX, LOGSUMEXP, SOFTMAX, STD, VAR, Composed
from ._record import Step, apply, bind, called, planned
from ._tensor import OWN, Tensor, wrap


def axis_of(dim: Any, axis: Any) -> Any:
    """Return the axis that is meant by either keyword."""
    if dim is not None and axis is not None:
        raise ArgumentError("give dim= or axis=, not both: they mean the same")
    return axis if dim is None else dim


class Extreme(NamedTuple):
    """What ``max`` and ``min`` along a ``dim`` return: the values and where they are."""

    values: Any
    indices: Any


_WHERE = registry.ops["Where"]
_RELU = Step(_WHERE, {})
_RELU.mixes = _RELU.copies = False  # the condition is of its own

# ---------------------------------------------------------------- reductions


def _reduction(
    function: Callable[..., Any], what: str, example: str, name: str | None = None,
    extreme: Callable[..., Any] | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """Return NumPy's reduction with PyTorch's arguments; ``extreme`` says what ``dim=`` gives."""
    name = name or function.__name__
    options = inspect.signature(function).parameters
    keeping = "keepdims" in options

    def reduce(
        input: Any, dim: Any = None, keepdim: bool | None = None, *, axis: Any = None,
        keepdims: bool = False, **more: Any,
    ) -> Any:  # fmt: skip
        where = axis
        if dim is not None:
            if extreme is not None:
                return extreme(input, dim, bool(keepdim or keepdims))
            where = axis_of(dim, axis)
        if more and "ddof" in options:
            _as_ddof(more)
        keep = bool(keepdims if keepdim is None else keepdim)
        if not isinstance(input, Tensor):
            given = {"keepdims": keep, **more} if keeping else more
            return function(input, axis=where, **given)
        key = (function, where, type(where), keep, *more.items())
        return planned(key, (input,), _reduced, function, input, where, keep, more)

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
    if extreme is None and (function in FOLDS or function in _SPREADS):
        OWN[function] = reduce
    return reduce


def _reduced(function: Any, input: Tensor, axis: Any, keep: bool, more: dict[str, Any]) -> Any:
    """Reduce a tensor: in one step, if there is one."""
    data = input._data
    if function in _WITHOUT and not keep and _is_axis(axis, data):
        return wrap(np.asarray(function(data, axis)))
    if data.size and data.dtype.kind == "f":
        with suppress(ShapeError):  # NumPy's function names itself
            axes = normalize_axes(axis, data.ndim)
            if function in FOLDS and axes and not more:
                return bind(FOLDS[function][keep], (input,), {"axes": axes})
            if function in _SPREADS and more.keys() <= {"ddof"}:
                ddof = more.get("ddof", 0)
                if type(ddof) in (int, float):
                    params = {"axis": _counted(axis, data.ndim), "ddof": ddof, "keepdims": keep}
                    return bind(_SPREADS[function], (input,), params)
    given = {"axis": axis, "keepdims": keep, **more} if keep else {"axis": axis, **more}
    result = call(function, (input,), given)
    return result.clone() if result is input else result  # memory of its own


#: Reductions that are several ops.
_SPREADS = {np.var: VAR, np.std: STD}


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


amax = _reduction(np.max, "largest element", "tensor([2., 4.])", "amax")
amin = _reduction(np.min, "smallest element", "tensor([1., 3.])", "amin")


def _largest(input: Any, dim: Any, keep: bool) -> Any:
    if isinstance(dim, Tensor):
        return np.maximum(input, dim)
    return Extreme(amax(input, dim, keep), argmax(input, dim, keep))


def _smallest(input: Any, dim: Any, keep: bool) -> Any:
    if isinstance(dim, Tensor):
        return np.minimum(input, dim)
    return Extreme(amin(input, dim, keep), argmin(input, dim, keep))


_EXTREME = (
    "{} element; along a ``dim`` the pair (values, indices), as PyTorch does. ``axis`` is\n"
    "    NumPy's way: it gives the values alone. Elements that tie share the derivative equally"
)
max = _reduction(  # noqa: A001
    np.max, _EXTREME.format("largest"), "Extreme(values=tensor([2., 4.]), indices=tensor([1, 1]))",
    "max", _largest,
)  # fmt: skip
min = _reduction(  # noqa: A001
    np.min, _EXTREME.format("smallest"), "Extreme(values=tensor([1., 3.]), indices=tensor([0, 0]))",
    "min", _smallest,
)  # fmt: skip


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


def relu(input: Any) -> Any:
    """Return the positive part, and nan of nan; its derivative at 0 is 0.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.relu(sg.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    if isinstance(input, Tensor):
        return apply(_RELU, (input._data <= 0, 0.0, input))
    return _WHERE(input <= 0, 0.0, input)


def softmax(input: Any, dim: Any = None, *, axis: Any = None) -> Any:
    """Return ``exp(x)/sum(exp(x))`` along an axis, without overflow.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.softmax(sg.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return _along(SOFTMAX, input, axis_of(dim, axis))


def log_softmax(input: Any, dim: Any = None, *, axis: Any = None) -> Any:
    """Return ``x - log(sum(exp(x)))`` along an axis, without overflow.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.log_softmax(sg.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    return _along(LOG_SOFTMAX, input, axis_of(dim, axis))


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
    return _along(LOGSUMEXP, input, axis_of(dim, axis), keepdims=bool(keepdim))


def _along(op: Composed, input: Any, axis: Any, **options: Any) -> Any:
    """Apply a step along an axis; on what is no tensor, the compiler's steps."""
    if not isinstance(input, Tensor):
        return op.steps(input, axis=_counted(axis, np.ndim(input)), **options)
    return planned(
        (op, axis, type(axis), *options.items()), (input,), _counting, op, input, axis, options
    )


def _counting(op: Composed, input: Tensor, axis: Any, options: dict[str, Any]) -> Any:
    return bind(op, (input,), {"axis": _counted(axis, input.ndim), **options})


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
    if isinstance(condition, Tensor) and isinstance(input, Tensor):  # no need of NumPy's protocol
        return call(np.where, (condition, input, other), {})
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
    return _joined(np.stack, tensors, dim if axis is None else axis)


def cat(tensors: Sequence[Any], dim: int = 0, *, axis: int | None = None) -> Any:
    """Return tensors joined along an axis.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.cat([sg.zeros(2), sg.ones(1)])
    tensor([0., 0., 1.])
    """
    return _joined(np.concatenate, tensors, dim if axis is None else axis)


def _joined(function: Callable[..., Any], tensors: Any, axis: int) -> Any:
    parts = tuple(tensors)
    kinds, given = {*map(type, parts)}, {"axis": axis}
    if Tensor not in kinds:
        return function(parts, axis=axis)
    if len(kinds) == 1:
        return planned((function, axis, type(axis)), parts, call, function, (parts,), given)
    return called(function, parts, given, lambda: call(function, (parts,), given))


def matmul(input: Any, other: Any) -> Any:
    """Return the product of matrices and vectors, as ``@`` does.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.matmul(sg.tensor([1.0, 2.0]), sg.tensor([3.0, 4.0]))
    tensor(11.)
    """
    return input @ other if isinstance(input, Tensor) else np.matmul(input, other)


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


__all__ = [
    "all", "any", "argmax", "argmin", "cat", "clamp", "cumsum", "dot", "log_softmax", "logsumexp",
    "matmul", "max", "mean", "min", "prod", "relu", "softmax", "stack", "std", "sum", "var",
    "where",
]  # fmt: skip
