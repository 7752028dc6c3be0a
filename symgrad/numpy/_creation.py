"""Functions that make arrays: of traced values, and of symbolic sizes.

With plain numbers they are NumPy's. With a symbolic size the result stays symbolic: it is
as long as the argument of the call that the trace is run for, whatever that is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.base.sizes import Size, require_length
from .._core.base.stand_in_types import class_of
from .._core.base.state import now
from .._core.graph import SUPPORTED, Iota, check_dtype
from .._core.op import refuse
from .._core.ops import BROADCAST
from .._core.ops.np_common import as_array, is_traced, lengths, reshaped, unlabelled
from .._core.trace import Layout, Traced, as_traced, in_rows, is_selection, known_number
from .._core.trace.namespace import assignable, holds, is_size, lifted, version

_LENGTH = (
    "how many elements it gives would depend on the values of traced numbers. Write instead: "
    "start + step * np.arange(n), with n an argument"
)


def _known(value: Any) -> Any:
    """Return a traced number that depends on sizes alone as a number; others as they are."""
    known = known_number(value.node) if hasattr(value, "node") else None
    return value if known is None else np.asarray(known).item()


def symbolic(*values: Any) -> bool:
    """Tell whether values hold traced ones, or sizes."""
    return any(holds(v, is_size) or holds(v, is_traced) for v in values)


def _known_type(dtype: Any) -> bool:
    dtype = np.dtype(float if dtype is None else dtype)
    return dtype in SUPPORTED or dtype.char in "FD"


def _dtype(dtype: Any, default: Any = np.float64) -> np.dtype[Any]:
    made = np.dtype(default if dtype is None else dtype)
    return made if made.char in "FD" else check_dtype(made, "the result")


def counted(size: Any) -> Any:
    """Return the integers from 0 to ``size - 1``, traced if the size is symbolic."""
    return Traced(Iota(size.expr)) if isinstance(size, Size) else np.arange(size)


# ---------------------------------------------------------------- from values

#: What ``copy=`` says of an array that is to be copied where need be, or not at all.
_UNCOPIED = (None, False, np._CopyMode.IF_NEEDED, np._CopyMode.NEVER)


def array(
    object: Any,  # noqa: A002 - NumPy's name
    dtype: Any = None,
    *,
    copy: Any = True,
    order: str = "K",
    ndmin: int = 0,
    **options: Any,
) -> Any:
    """Make an array; lists of traced values are stacked.

    Examples
    --------
    >>> import symgrad as sg
    >>> import symgrad.numpy as np
    >>> sg.jacobian(lambda x: np.array([x, x**2]))(3.0)
    array([1., 6.])
    """
    object = unlabelled(object)  # noqa: A001  # NumPy's name of it
    if holds(object, is_selection):
        object = in_rows(object)  # noqa: A001  # NumPy's name of it
    if not symbolic(object):
        return assignable(np.array(object, dtype, copy=copy, order=order, ndmin=ndmin, **options))
    x = as_array(object, dtype)
    if copy not in _UNCOPIED:
        x = x.copy(order)
    elif order in {"C", "F"} and is_traced(x):
        x = x.unsure(Layout.RUN if order == "C" or x.ndim < 2 else Layout.UNKNOWN)
    missing = ndmin - x.ndim
    return reshaped(x, (*(1,) * missing, *x.shape)) if missing > 0 else assignable(x)


def _as(original: Callable[..., Any], fixed: str | None = None) -> Callable[..., Any]:
    def convert(a: Any, dtype: Any = None, order: Any = fixed, **kwargs: Any) -> Any:
        a = unlabelled(a)
        if symbolic(a):
            return array(a, dtype, copy=None, order=order or "K", ndmin=1 if fixed else 0)
        if is_selection(a):
            return a if dtype is None else a.astype(dtype)
        return original(a, dtype, **({} if fixed else {"order": order}), **kwargs)

    convert.__name__ = convert.__qualname__ = original.__name__
    convert.__doc__ = f"Same as ``np.{original.__name__}``; lists of traced values are stacked."
    return convert


def require(a: Any, dtype: Any = None, requirements: Any = None, **options: Any) -> Any:
    """Same as ``np.require``; what traced arrays have always, as that they can be written, is had.

    Examples
    --------
    >>> import symgrad as sg
    >>> import symgrad.numpy as np
    >>> sg.grad(lambda x: np.sum(np.require([x, 2.0 * x], float, ["C", "W"])))(1.0)
    np.float64(3.0)
    """
    if not symbolic(a):
        return np.require(a, dtype, requirements, **options)
    letters = {str(name)[0].upper() for name in requirements or ()}
    order = next((letter for letter in "CF" if letter in letters), "K")
    return array(a, dtype, copy="O" in letters or None, order=order)


asarray, asanyarray = map(_as, (np.asarray, np.asanyarray))
ascontiguousarray, asfortranarray = _as(np.ascontiguousarray, "C"), _as(np.asfortranarray, "F")


# ---------------------------------------------------------------- filled


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", **options: Any) -> Any:
    """Make an array of one value, which may be traced, as may be the sizes.

    Examples
    --------
    >>> import symgrad as sg
    >>> import symgrad.numpy as np
    >>> sg.compile(lambda x: np.full(x.shape, x[0]))(np.array([2.0, 3.0, 4.0]))
    array([2., 2., 2.])
    """
    if not symbolic(shape, fill_value):
        return assignable(np.full(shape, fill_value, dtype, order, **options))
    value = as_array(fill_value, None if dtype is None else _dtype(dtype))
    value = value if is_traced(value) else lifted(value)
    target = lengths(shape)
    filled = BROADCAST(value, shape=target) if value.ndim == 0 else np.broadcast_to(value, target)
    return assignable(filled.copy(order))


def _filled(original: Callable[..., Any], value: int) -> Callable[..., Any]:
    def filled(shape: Any, dtype: Any = None, order: str = "C", **options: Any) -> Any:
        if not symbolic(shape) and not ((now().guards is not None) and _known_type(dtype)):
            return original(shape, float if dtype is None else dtype, order, **options)
        made = BROADCAST(lifted(_dtype(dtype).type(value)), shape=lengths(shape))
        return assignable(made if order == "C" else made.copy(order))

    filled.__name__ = filled.__qualname__ = original.__name__
    filled.__doc__ = f"Same as ``np.{original.__name__}``; sizes may be symbolic."
    return filled


zeros, ones = _filled(np.zeros, 0), _filled(np.ones, 1)
#: Zeros where sizes are symbolic: what is never written must be the same in every call.
empty = _filled(np.empty, 0)


def _like(original: Callable[..., Any]) -> Callable[..., Any]:
    traced = version(original)

    def like(a: Any, *args: Any, **kwargs: Any) -> Any:
        return assignable(traced(a, *args, **kwargs))

    like.__name__ = like.__qualname__ = original.__name__
    like.__doc__ = f"Same as ``np.{original.__name__}``; the result can be assigned to."
    return like


zeros_like, ones_like, full_like, empty_like, copy = map(
    _like, (np.zeros_like, np.ones_like, np.full_like, np.empty_like, np.copy)
)


class _Array(type):
    """The type of ``np.ndarray``: traced arrays are instances, and calling it makes one."""

    def __call__(cls, shape: Any, dtype: Any = float, *args: Any, **options: Any) -> Any:
        """Make an array with arbitrary elements, as :func:`empty` does."""
        if not args and not options:
            return empty(shape, dtype)
        return np.ndarray(shape, dtype, *args, **options)

    def __instancecheck__(cls, value: Any) -> bool:
        return issubclass(class_of(value), np.ndarray)

    def __subclasscheck__(cls, kind: type) -> bool:
        return kind is cls or issubclass(kind, np.ndarray)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is np.ndarray

    def __hash__(cls) -> int:  # tables by types have NumPy's
        return hash(np.ndarray)

    def __getattr__(cls, name: str) -> Any:
        return getattr(np.ndarray, name)


class ndarray(metaclass=_Array):  # noqa: N801 - NumPy's name
    """NumPy's array type: ``np.ndarray(shape)``, ``isinstance(x, np.ndarray)``."""


# ---------------------------------------------------------------- ranges


def arange(*args: Any, dtype: Any = None, **options: Any) -> Any:
    """Make a range of integers; its ends may be symbolic sizes.

    Examples
    --------
    >>> import symgrad as sg
    >>> import symgrad.numpy as np
    >>> sg.compile(lambda x: x * np.arange(x.shape[0]))(np.array([5.0, 5.0, 5.0]))
    array([ 0.,  5., 10.])
    """
    values = [options.pop(k) for k in ("start", "stop", "step") if k in options]
    given = tuple(map(_known, (*args, *values)))
    if not symbolic(*given):
        return assignable(np.arange(*given, dtype=dtype, **options))
    if any(is_traced(v) for v in given):
        refuse(np.arange, _LENGTH)
    start, stop, step = given[0], (given[1] if len(given) > 1 else None), 1
    if stop is None:
        start, stop = 0, start
    if len(given) > 2:
        step = given[2]
    try:
        step = operator.index(step)
        whole = all(isinstance(v, Size) or operator.index(v) == v for v in (start, stop))
    except TypeError:
        whole = False
    if not whole or step == 0:
        refuse(np.arange, "with a symbolic size the ends and the step must be integers: scale "
               "the range instead, np.arange(n) * step")  # fmt: skip
    span = stop - start if step > 0 else start - stop
    count = (span + abs(step) - 1) // abs(step)
    if count < 0:
        count = 0
    x = counted(count)
    x = x if step == 1 else x * step
    x = x if isinstance(start, int) and start == 0 else x + start
    return x if dtype is None else x.astype(_dtype(dtype))


def linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, retstep: bool = False,
    dtype: Any = None, axis: int = 0, **options: Any,
) -> Any:  # fmt: skip
    """Make evenly spaced numbers; the ends may be traced and the number a symbolic size.

    Examples
    --------
    >>> import symgrad as sg
    >>> import symgrad.numpy as np
    >>> sg.jacobian(lambda b: np.linspace(0.0, b, 5))(1.0)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    num = _known(num)
    if not symbolic(start, stop, num):
        return assignable(np.linspace(start, stop, num, endpoint, retstep, dtype, axis, **options))
    if is_traced(num):
        refuse(np.linspace, _LENGTH)
    require_length(num)
    # Python's numbers take the type of the other end.
    first, last = (
        1.0 * (as_array(v) if isinstance(v, (list, tuple)) else v) for v in (start, stop)
    )
    gap = as_array(last - first)
    parts = num - 1 if endpoint else num
    place = reshaped(as_traced(counted(num)), (num, *(1,) * gap.ndim))
    place = place if gap.dtype.kind == "c" else place.astype(gap.dtype)
    if parts <= 0:
        step, y = gap * np.nan, place * gap + first
    else:
        step = gap / parts
        y = place * step + first
        if endpoint:  # exactly the stop, as NumPy has it
            y = np.where(place == parts, last, y)
    y = np.moveaxis(y, 0, axis) if axis else y
    y = y if dtype is None else y.astype(_dtype(dtype))
    return (y, step) if retstep else y


def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0,
    dtype: Any = None, axis: int = 0, **options: Any,
) -> Any:  # fmt: skip
    """Make numbers that are evenly spaced on a logarithmic scale, as :func:`linspace` does."""
    if not symbolic(start, stop, num, base):
        return assignable(np.logspace(start, stop, num, endpoint, base, dtype, axis, **options))
    base = as_array(base) * 1.0 if isinstance(base, (list, tuple)) else base
    y = np.power(base, linspace(start, stop, num, endpoint, axis=axis))
    return y if dtype is None else y.astype(_dtype(dtype))


# ---------------------------------------------------------------- matrices


def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """Make the index arrays of a grid; its sizes may be symbolic."""
    if not symbolic(dimensions):
        return np.indices(dimensions, dtype, sparse)
    along = (as_traced(counted(size)) for size in lengths(dimensions))
    return _crossed([x.astype(_dtype(dtype)) for x in along], sparse)


def _crossed(along: list[Any], sparse: bool) -> Any:
    """Return the grid of which ranges are the axes."""
    shape = tuple(x.shape[0] for x in along)
    grids = tuple(
        reshaped(as_traced(x), tuple(n if k == axis else 1 for k, n in enumerate(shape)))
        for axis, x in enumerate(along)
    )
    return grids if sparse else np.stack([np.broadcast_to(g, shape) for g in grids])


def fromfunction(function: Callable[..., Any], shape: Any, *, dtype: Any = float,
                 **kwargs: Any) -> Any:  # fmt: skip
    """Make an array from a function of its indices; its sizes may be symbolic."""
    if not symbolic(shape):
        return np.fromfunction(function, shape, dtype=dtype, **kwargs)
    return function(*indices(shape, dtype=dtype), **kwargs)


# ---------------------------------------------------------------- joining by brackets


class _Bracket:
    """``np.r_[...]`` and ``np.c_[...]``, also of traced values."""

    def __init__(self, original: Any, join: Callable[[list[Any]], Any]) -> None:
        self.original, self.join = original, join

    def __getitem__(self, items: Any) -> Any:
        parts = items if isinstance(items, tuple) else (items,)
        if not symbolic(*(p for p in parts if not isinstance(p, slice))):
            return self.original[items]
        if any(isinstance(p, (slice, str)) for p in parts):
            refuse(np.concatenate, "slices and strings in np.r_ and np.c_ do not go together "
                   "with traced values: write np.concatenate([...])")  # fmt: skip
        return self.join([np.atleast_1d(as_array(p)) for p in parts])


class _Grid:
    """``np.mgrid[...]`` and ``np.ogrid[...]``, also with symbolic ends."""

    def __init__(self, original: Any, sparse: bool) -> None:
        self.original, self.sparse = original, sparse

    def __getitem__(self, items: Any) -> Any:
        parts = items if isinstance(items, tuple) else (items,)
        if not symbolic(*(v for p in parts for v in (p.start, p.stop, p.step))):
            return self.original[items]
        along = [arange(p.start or 0, p.stop, 1 if p.step is None else p.step) for p in parts]
        return _crossed(along, self.sparse) if isinstance(items, tuple) else along[0]


mgrid, ogrid = _Grid(np.mgrid, sparse=False), _Grid(np.ogrid, sparse=True)


r_ = _Bracket(np.r_, np.concatenate)
c_ = _Bracket(np.c_, lambda parts: np.concatenate(
    [p[:, None] if p.ndim == 1 else p for p in parts], axis=-1))  # fmt: skip

__all__ = [
    "arange", "array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "c_",
    "copy", "empty", "empty_like", "fromfunction", "full", "full_like",
    "indices", "linspace", "logspace", "mgrid", "ndarray", "ogrid", "ones", "ones_like", "r_",
    "require", "zeros", "zeros_like",
]  # fmt: skip
