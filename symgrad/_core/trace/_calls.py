"""NumPy's functions of values that are no arrays, carried out through the registry.

And universal functions: calls, and methods such as ``np.add.at``.
"""

from __future__ import annotations

import inspect
import itertools
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from ...errors import ArgumentError, IndexingError, ShapeError, UnsupportedError
from ..base.providers import provided
from ..base.signals import foreseen
from ..graph._types import check_dtype
from ..op import Op, refuse, registry
from ..ops.np_common import existing
from ._constants import known_value
from ._views import Layout, layout_of

#: Options whose None means that they are not used.
_ABSENT = frozenset(("out", "dtype", "initial", "where", "like"))


#: Functions that give the places where their one argument is true.
PLACES = (np.where, np.nonzero, np.flatnonzero, np.argwhere)

#: How a message starts that names its op already.
_NAMED = re.compile(r"\w+(:| of )")


#: Kinds of parameters that are given by their place.
BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Carry out a NumPy function through the registry; its errors name it."""
    place, later = _places_after_out(function)
    if len(args) > place:
        args, kwargs = args[:place], dict(zip(later, args[place:], strict=False)) | kwargs
    out = kwargs.pop("out", None)
    try:
        result = related(function, args, _call(function, args, kwargs), kwargs)
    except (ShapeError, IndexingError) as error:
        if not _NAMED.match(str(error)):
            error.args = (f"{function.__name__}: {error}",)
        raise
    if out is None:
        return result
    if not hasattr(out, "overwritten"):
        raise UnsupportedError(
            f"np.{function.__name__}(..., out=) writes into a plain array, which holds numbers "
            "only: use the result, or make the array by symgrad.numpy"
        )
    out[...] = result
    return out


@cache
def _places_after_out(function: Callable[..., Any]) -> tuple[int, tuple[str, ...]]:
    """Return the place of ``out``, and the names of the arguments from there on."""
    try:
        given = tuple(inspect.signature(function).parameters.values())
    except foreseen(TypeError, ValueError):  # of a function in C that does not tell
        given = ()
    names = tuple(p.name for p in itertools.takewhile(lambda p: p.kind in BY_PLACE, given))
    if "out" not in names:
        return sys.maxsize, ()
    return names.index("out"), names[names.index("out") :]


#: Functions whose results share memory with their argument in NumPy, where they can.
VIEWS = frozenset((
    np.reshape, np.ravel, np.transpose, np.matrix_transpose, np.swapaxes, np.moveaxis,
    np.rollaxis, np.squeeze, np.expand_dims, np.atleast_1d, np.atleast_2d, np.atleast_3d,
    np.flip, np.fliplr, np.flipud, np.rot90, np.diagonal, np.broadcast_to, np.broadcast_arrays,
    np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit, np.real, np.imag, np.diag,
    np.linalg.diagonal, np.linalg.matrix_transpose, np.einsum, np.diff, np.polyder, np.polyint,
    np.linalg.matrix_power, np.real_if_close, np.nan_to_num, np.apply_over_axes,
    *existing("unstack"),
))  # fmt: skip

#: Those of several arrays that give one for each.
_EACH = frozenset((np.atleast_1d, np.atleast_2d, np.atleast_3d, np.broadcast_arrays))

#: Functions whose results are arrays without axes too, which can be assigned to.
_BOXED = frozenset((
    np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.copy, np.where, np.select,
    np.piecewise, np.roll, np.i0, np.tensordot,
))  # fmt: skip

#: Functions whose results of up to two axes lie in C order, whatever their arguments do.
_ROWS_FIRST = frozenset((
    np.matmul, np.dot, np.inner, np.outer, np.tensordot, np.take, np.repeat, np.tile, np.resize,
    np.cov, np.corrcoef, np.linalg.inv, np.linalg.solve, np.linalg.cholesky, np.linalg.multi_dot,
))  # fmt: skip

#: Functions whose results may lie otherwise though all arguments lie in C order.
_TURNED = VIEWS | {
    np.cross, np.linalg.cross, np.geomspace, np.nanpercentile, np.nanquantile, np.nanmedian,
    np.apply_along_axis, np.apply_over_axes,
}  # fmt: skip


def _arrays_in(values: Any) -> Iterator[Any]:
    for x in values:
        if isinstance(x, (list, tuple)):
            yield from _arrays_in(x)
        elif hasattr(x, "layout") or isinstance(x, np.ndarray):
            yield x


def related(
    function: Callable[..., Any], args: tuple[Any, ...], result: Any,
    kwargs: Mapping[str, Any] = MappingProxyType({}),
) -> Any:  # fmt: skip
    """Note which results are views of an argument, and make others arrays of their own."""
    if isinstance(result, (list, tuple)):
        each = function in _EACH and len(args) == len(result)
        parts = [related(function, args[k : k + 1] if each else args, part, kwargs)
                 for k, part in enumerate(result)]  # fmt: skip
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    if not hasattr(result, "layout"):
        apart = getattr(result, "__symgrad_apart__", None)  # of eager tensors
        if apart is None or (function in VIEWS and function is not np.ravel):
            return result
        return apart(None if function is np.ravel else (args, kwargs))
    if function is np.lib.stride_tricks.sliding_window_view:
        return result.sharing(args[0] if args else kwargs["x"])
    if function in VIEWS and (view := _view(function, args, result)) is not None:
        return view
    if not result.ndim:
        return result.in_box() if function in _BOXED else result
    by_rows = _lies_by_rows(function, result, (*args, *kwargs.values()))
    return result.own(Layout.RUN if by_rows else Layout.UNKNOWN)


def _view(function: Callable[..., Any], args: tuple[Any, ...], result: Any) -> Any:
    """Return a result as the view that it is of an argument; None if it is none."""
    wanted = Layout.RUN if function is np.ravel else None
    for source in _arrays_in(args):
        if hasattr(source, "layout"):
            found = result._see(source, wanted, function is np.einsum)
            if found is source or found.is_view:
                return found
    return None


def _lies_by_rows(function: Callable[..., Any], result: Any, operands: Any) -> bool:
    """Tell whether a result is known to lie in C order."""
    if function in _ROWS_FIRST and result.ndim <= 2:
        return True
    of_numpy = getattr(function, "__module__", "").startswith("numpy")
    keeps = isinstance(function, np.ufunc) or (of_numpy and function not in _TURNED)
    return keeps and all(map(layout_of, _arrays_in(operands)))


def _numbers_of(values: Any) -> Any:
    """Return values with the numbers of those that depend on no argument; None if one does."""
    if isinstance(values, (list, tuple)):
        found = [_numbers_of(x) for x in values]
        return None if any(x is None for x in found) else type(values)(found)
    if hasattr(values, "node"):
        return known_value(values.node)
    own = hasattr(values, "__array_function__") and not isinstance(values, np.ndarray)
    return None if own else values  # an eager tensor would be asked again


def _call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Carry out a NumPy function through the registry; say which option is not traced."""
    if function in PLACES and len(args) == 1 and hasattr(args[0], "__symgrad_places__"):
        return args[0].__symgrad_places__(function)
    handler = registry.handler(function)
    if hasattr(handler, "refuses") and (numbers := _numbers_of(args)) is not None:
        return function(*numbers, **kwargs)
    kwargs = {
        k: v for k, v in kwargs.items()
        if v is not np._NoValue and not (v is None and k in _ABSENT) and k != "subok"
    }  # fmt: skip
    if not kwargs:
        return handler(*args)
    code = getattr(handler, "__code__", None)
    if code is not None:
        known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        unknown = [k for k in kwargs if k not in known]
        if unknown and not code.co_flags & 8:
            raise UnsupportedError(
                f"{function.__name__}: the option {unknown[0]}= is not traced; "
                f"symgrad knows {', '.join(known)}"
            )
    elif not isinstance(handler, Op):
        return handler(*args, **kwargs)
    else:
        raise UnsupportedError(f"{function.__name__}: the option {next(iter(kwargs))}= "
                               "is not traced")  # fmt: skip
    return handler(*args, **kwargs)


def symgrads(ufunc: np.ufunc) -> Any:
    """Return what a universal function of symgrad's does with traced values; None for others."""
    from ..runtime import origin_of  # noqa: PLC0415 - LLVM, which tracing does without

    return origin_of(ufunc)


def applied(ufunc: np.ufunc, inputs: tuple[Any, ...], dtype: Any = None, **options: Any) -> Any:
    """Carry out a ufunc; with ``dtype`` it computes in that type, as NumPy's do."""
    if registry.find(ufunc) is None and (own := symgrads(ufunc)) is not None:
        return own(*inputs, **({} if dtype is None else {"dtype": dtype}), **options)
    if options:
        raise UnsupportedError(f"np.{ufunc.__name__}(..., {next(iter(options))}=) is not traced")
    if dtype is None:
        # np.clip of a plain array with a traced bound comes as the ufunc behind it.
        handler = registry.handler(np.clip if ufunc.__name__ == "clip" else ufunc)
        result = handler(*inputs)
        return result if isinstance(handler, Op) else related(ufunc, inputs, result)
    cast = registry.ops["Cast"]
    name = check_dtype(np.dtype(dtype), f"np.{ufunc.__name__}(..., dtype=)").name
    result = applied(ufunc, tuple(cast(x, dtype=name) for x in inputs))
    if result.dtype != np.dtype(dtype):
        raise UnsupportedError(
            f"np.{ufunc.__name__}(..., dtype={name}) gives {result.dtype}: "
            "leave dtype= out and use .astype on the result"
        )
    return result


def in_turn(
    ufunc: Any, method: str, x: Any, axis: Any = 0, dtype: Any = None,
    keepdims: bool = False, **options: Any,
) -> Any:  # fmt: skip
    """Apply a function of two numbers to a first element and the next, and so on, by a loop."""
    for option, value in options.items():
        if value is not (True if option == "where" else np._NoValue):
            refuse(getattr(ufunc, method), f"{option}= is not followed here")
    if method == "reduce" and ufunc in (np.power, np.float_power, np.arctan2):
        refuse(ufunc.reduce, "NumPy's own result depends on the processor: use accumulate(x)[-1]")
    if ufunc.nin != 2 or ufunc.nout != 1:
        raise ArgumentError(f"{method} only supported for functions of two numbers with one result")
    if axis is None:
        if method == "accumulate" or (x.ndim > 1 and (ufunc.identity is None or keepdims)):
            raise ArgumentError(f"np.{ufunc.__name__}.{method} takes one axis, a number")
        axis, x = 0, x.reshape(-1)
    axis = axis[0] if isinstance(axis, tuple) and len(axis) == 1 else axis
    if not isinstance(axis, int) or not -x.ndim <= axis < x.ndim:
        raise ArgumentError(
            f"np.{ufunc.__name__}.{method}: there is no axis {axis} of an array with {x.ndim} axes"
        )
    kind = applied(ufunc, (x, x)).dtype if dtype is None else np.dtype(dtype)
    if (kind.kind == "b") != (x.dtype.kind == "b") and "logical" not in ufunc.__name__:
        refuse(getattr(ufunc, method))
    rows = np.moveaxis(x.astype(kind), axis, 0)
    if method == "accumulate":
        return np.moveaxis(_running(ufunc, rows), 0, axis)
    last = _last(ufunc, rows)
    return np.expand_dims(last, axis) if keepdims else last


def _running(ufunc: Any, rows: Any) -> Any:
    """Return the results of a function in turn, one for each row."""
    if rows.shape[0] == 0:
        return rows
    return np.concatenate([rows[:1], _scanned(ufunc, rows[0], rows[1:])[1]])


def _last(ufunc: Any, rows: Any) -> Any:
    """Return the last result of a function in turn."""
    if rows.shape[0] == 0:
        if ufunc.identity is None:
            raise ArgumentError(
                f"zero-size array to reduction operation {ufunc.__name__} which has no identity"
            )
        return np.full(rows.shape[1:], ufunc.identity, rows.dtype)
    if ufunc.identity is None:
        return _scanned(ufunc, rows[0], rows[1:])[0]
    return _scanned(ufunc, np.full_like(rows[0], ufunc.identity), rows)[0]  # first, as in NumPy


def _scanned(ufunc: Any, first: Any, rows: Any) -> tuple[Any, Any]:
    """Return the last of a function's results in turn, and all of them."""
    if rows.shape[0] == 0:
        return first, rows
    last, each = provided("scan", lambda y, row: (applied(ufunc, (y, row)),) * 2, first, rows)
    return last, each


def added_at(ufunc: np.ufunc, target: Any, index: Any, *value: Any) -> None:
    """Carry out ``np.add.at``: places that come more than once are added to each time."""
    if not hasattr(target, "overwritten"):
        raise UnsupportedError(
            f"np.{ufunc.__name__}.at writes into a plain array, which holds numbers only: make "
            "it by symgrad.numpy (zeros, zeros_like, array)"
        )
    if ufunc not in (np.add, np.subtract):
        _in_turn_at(ufunc, target, index, *value)
        return
    added = value[0] if ufunc is np.add else -value[0]
    if target.dtype.kind == "c":
        target.real._add_at(index, np.real(added))
        target.imag._add_at(index, np.imag(added))
    else:
        target._add_at(index, added)


def _in_turn_at(ufunc: np.ufunc, target: Any, index: Any, *value: Any) -> None:
    """Carry out ``np.multiply.at`` and the like: at a place that comes k times, k times in turn."""
    shape = tuple(map(int, target.shape))
    places = np.arange(math.prod(shape)).reshape(shape)[_plain_index(index, ufunc)]
    flat = np.ravel(places)
    order = np.argsort(flat, kind="stable")
    _, first, counts = np.unique(flat[order], return_index=True, return_counts=True)
    turn = np.empty(flat.size, np.intp)  # how often the place has come before
    turn[order] = np.arange(flat.size) - np.repeat(first, counts)
    operands = [np.ravel(np.broadcast_to(v, np.shape(places))) for v in value]
    x = np.reshape(target, (-1,))
    for k in range(int(counts.max(initial=0))):
        (chosen,) = np.nonzero(turn == k)
        x[flat[chosen]] = applied(ufunc, (x[flat[chosen]], *(v[chosen] for v in operands)))
    target[...] = np.reshape(x, shape)


def _plain_index(index: Any, ufunc: np.ufunc) -> Any:
    """Return an index with the numbers of what depends on no argument."""
    if isinstance(index, tuple | list):
        return type(index)(_plain_index(item, ufunc) for item in index)
    node = getattr(index, "node", None)
    if node is None:
        return index
    known = known_value(node)
    if known is None:
        refuse(ufunc.at, "of traced places only np.add.at and np.subtract.at are followed")
    return known


def reduced_at(ufunc: np.ufunc, x: Any, indices: Any, axis: int = 0, dtype: Any = None) -> Any:
    """Return ``ufunc.reduceat(x, indices, axis, dtype)`` of a value that is no array.

    A segment goes from its index to before the next one, the last to the end; where the next
    index is not greater, it is the one element there.
    """
    name = f"np.{ufunc.__name__}.reduceat"
    if getattr(indices, "node", None) is not None:
        refuse(ufunc.reduceat, "its indices say what is read, so they cannot be traced: np.add.at("
               "sums, numbers, x) adds up by traced numbers of the segments")  # fmt: skip
    places = np.asarray(indices)
    if places.ndim != 1 or places.dtype.kind not in "iu":
        raise ArgumentError(f"{name} takes a list of whole numbers as indices")
    rows = np.moveaxis(x if dtype is None else x.astype(dtype), axis, 0)
    for place in (places.min(), places.max()) if places.size else ():
        if place < 0 or not place < rows.shape[0]:
            raise IndexingError(f"{name}: index {place} is out of bounds")
    if not places.size:
        return np.moveaxis(ufunc.reduce(rows[:1], axis=0, keepdims=True)[:0], 0, axis)
    starts = [int(place) for place in places]
    last = ufunc.reduce(rows[starts[-1] :], axis=0)
    many = _segments(ufunc, rows, places)
    if many is not None:
        return np.moveaxis(np.concatenate([many, last[np.newaxis]]), 0, axis)
    parts = [rows[a : max(b, a + 1)] for a, b in itertools.pairwise(starts)]
    return np.stack([*(ufunc.reduce(part, axis=0) for part in parts), last], axis=axis)


#: Ufuncs for which an element counts as often as it is met, and those for which it counts once.
_COUNTING, _ONCE = (np.add, np.multiply), (np.maximum, np.minimum, np.fmax, np.fmin)


def _segments(ufunc: np.ufunc, rows: Any, places: Any) -> Any:
    """Return the reduced segments but the last, as one reduction of a matrix of their elements.

    None where they are few, or of lengths too different for a matrix.
    """
    lengths = np.maximum(np.diff(places.astype(np.int64)), 1)
    if len(lengths) < 16 or ufunc not in (*_COUNTING, *_ONCE):
        return None
    width = lengths.max()
    if len(lengths) * width > 4 * lengths.sum():
        return None
    steps = np.arange(width)
    inside = steps < lengths[:, np.newaxis]
    found = rows[places[:-1, np.newaxis] + np.where(inside, steps, 0)]
    if ufunc in _COUNTING and not inside.all():
        inside = inside.reshape(*inside.shape, *(1,) * (found.ndim - 2))
        found = np.where(inside, found, found.dtype.type(ufunc.identity))
    return ufunc.reduce(found, axis=1)
