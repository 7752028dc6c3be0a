"""NumPy's functions of values that are no arrays, carried out through the registry."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from .._op import Op, registry
from .._ops.np_common import existing
from ..errors import IndexingError, ShapeError, UnsupportedError
from ._views import Layout, layout_of

#: Options whose None means that they are not used.
_ABSENT = frozenset(("out", "dtype", "initial", "where", "like"))


#: Functions that give the places where their one argument is true.
PLACES = (np.where, np.nonzero, np.flatnonzero, np.argwhere)

#: How a message starts that names its op already.
_NAMED = re.compile(r"\w+(:| of )")


def call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Carry out a NumPy function through the registry; its errors name it."""
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
    if function in VIEWS:
        found = result
        for source in _arrays_in(args):
            if hasattr(source, "layout"):
                found = result._see(source, Layout.RUN if function is np.ravel else None)
                if found is source or found.is_view:
                    return found
    if not result.ndim:
        return result
    operands = list(_arrays_in((*args, *kwargs.values())))
    known = (
        getattr(function, "__module__", "").startswith("numpy") and function not in _TURNED | VIEWS
    )
    sure = (known or isinstance(function, np.ufunc)) and all(map(layout_of, operands))
    if function in _ROWS_FIRST and result.ndim <= 2:
        sure = True
    return result.own(Layout.RUN if sure else Layout.UNKNOWN)


def _call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Carry out a NumPy function through the registry; say which option is not traced."""
    if function in PLACES and len(args) == 1 and hasattr(args[0], "__symgrad_places__"):
        return args[0].__symgrad_places__(function)
    handler = registry.handler(function)
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
