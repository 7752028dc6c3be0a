"""What arrays can do, for values that are no arrays: NumPy's protocols, operators, methods.

Traced and eager values share it. Everything ends in the registry: a universal function, an
operator or a method is the op or the composite that the registry has for it, applied to the
value; what becomes of it (a node, a number with a record of where it came from) is the
value's own ``__symgrad_bind__``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from .._graph._types import check_dtype
from .._op import Op, refuse, registry
from .._ops import getitem
from .._ops.np_common import existing
from .._ops.np_sparse import is_sparse, sparse_product
from ..errors import IndexingError, ShapeError, UnsupportedError
from ._labelled import labelled
from ._views import Layout, layout_of

_REDUCE: dict[np.ufunc, Callable[..., Any]] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
    np.logical_and: np.all,
    np.logical_or: np.any,
}
_ACCUMULATE: dict[np.ufunc, Callable[..., Any]] = {np.add: np.cumsum, np.multiply: np.cumprod}

#: Binary operators by the op that they are; those with a reflected form first.
REFLECTED = {
    "add": "Add", "sub": "Subtract", "mul": "Multiply", "truediv": "Divide",
    "floordiv": "FloorDivide", "mod": "Remainder", "pow": "Power", "and": "BitwiseAnd",
    "or": "BitwiseOr", "xor": "BitwiseXor", "lshift": "LeftShift", "rshift": "RightShift",
}  # fmt: skip
COMPARED = {
    "lt": "Less", "le": "LessEqual", "gt": "Greater", "ge": "GreaterEqual", "eq": "Equal",
    "ne": "NotEqual",
}  # fmt: skip


def add_operators(cls: type, make: Callable[[str, bool], Callable[..., Any]]) -> None:
    """Give ``cls`` the binary operators; ``make(op name, swap)`` returns a method."""
    for name, op in REFLECTED.items():
        setattr(cls, f"__{name}__", make(op, False))
        setattr(cls, f"__r{name}__", make(op, True))
    for name, op in COMPARED.items():
        setattr(cls, f"__{name}__", make(op, False))


def declines(other: Any) -> bool:
    """Tell whether an operand's class wants its own operators tried, by NumPy's protocols."""
    if isinstance(other, (np.ndarray, np.generic, float, int)):
        return False
    if hasattr(other, "__symgrad_labelled__"):
        return True
    protocol = getattr(type(other), "__array_ufunc__", False)
    if protocol is False:  # the older protocol
        return bool(getattr(other, "__array_priority__", 0.0) > 0.0)
    return protocol is None


class ArrayMethods:
    """The part of an array's interface that is NumPy functions by other names."""

    __slots__ = ()
    __array_priority__ = 2000  # above those of pandas and of masked arrays
    __pandas_priority__ = 10000  # its operators leave it to ours, which say what to write

    # What the classes themselves have.
    shape: Any
    dtype: Any
    ndim: Any

    # ---------------------------------------------------------------- NumPy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(hasattr(x, "__symgrad_labelled__") for x in inputs):
            return NotImplemented
        named = [labelled(x) for x in inputs]
        if any(x is not None for x in named):
            return getattr(ufunc, method)(
                *[x if y is None else y for x, y in zip(inputs, named, strict=True)], **kwargs
            )
        if not kwargs and method == "__call__":
            return _apply(ufunc, inputs)
        out = tuple(o for o in kwargs.pop("out", None) or () if o is not None)
        if out:
            if len(out) != 1 or not hasattr(out[0], "overwritten"):
                raise UnsupportedError(
                    f"np.{ufunc.__name__}(..., out=) writes into a plain array, which holds "
                    "numbers only (an augmented assignment such as `a += x` does it too): write "
                    "`a = a + x`, or make the array by symgrad.numpy"
                )
            out[0][...] = self.__array_ufunc__(ufunc, method, *inputs, **kwargs)
            return out[0]
        if kwargs.pop("where", True) is not True:
            raise UnsupportedError(
                f"np.{ufunc.__name__}(..., where=) is not traced: use np.where on the result"
            )
        for option in ("casting", "order", "subok"):  # nothing here depends on them
            kwargs.pop(option, None)
        if method == "__call__":
            return _apply(ufunc, inputs, **kwargs)
        if method == "reduce" and ufunc in _REDUCE:
            kwargs.setdefault("axis", 0)
            return call(_REDUCE[ufunc], inputs, kwargs)
        if method == "accumulate" and ufunc in _ACCUMULATE:
            kwargs.setdefault("axis", 0)
            return call(_ACCUMULATE[ufunc], inputs, kwargs)
        if method == "at":
            return _at(ufunc, *inputs)
        if method == "outer":
            a, b = (x if isinstance(x, ArrayMethods) else np.asarray(x) for x in inputs)
            left = a[(...,) + (None,) * b.ndim] if b.ndim else a
            return _apply(ufunc, (left, b), **kwargs)
        refuse(getattr(ufunc, method, ufunc))

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if any(hasattr(kind, "__symgrad_labelled__") for kind in types):
            return NotImplemented
        return call(func, args, kwargs)

    # ---------------------------------------------------------------- what it is

    @property
    def T(self) -> Any:
        """The transpose."""
        return np.transpose(self)

    @property
    def mT(self) -> Any:
        """The transpose of the last two axes."""
        return np.swapaxes(self, -1, -2)

    @property
    def real(self) -> Any:
        """The value itself: symgrad's values are real."""
        return self

    @property
    def imag(self) -> Any:
        """Zeros: symgrad's values are real."""
        return np.zeros_like(self)

    @staticmethod
    def __symgrad_join__(real: Any, imag: Any) -> Any:
        """Return the complex value with these parts."""
        raise UnsupportedError(
            "eager tensors are real: complex numbers are traced only (sg.compile, sg.grad, ...)"
        )

    @staticmethod
    def __symgrad_unpack__(pairs: Any) -> Any:
        """Return the complex value of a real array with a last axis of two."""
        return ArrayMethods.__symgrad_join__(pairs, pairs)

    @property
    def flat(self) -> Flat:
        """The elements in C order."""
        return Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        self.flat[...] = value

    # ---------------------------------------------------------------- indexing and iteration

    def __getitem__(self, index: Any) -> Any:
        return getitem(self, index)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(self == value))

    # ---------------------------------------------------------------- operators

    def __pos__(self) -> Any:
        return self

    def __divmod__(self, other: Any) -> Any:
        return NotImplemented if declines(other) else (self // other, self % other)

    def __matmul__(self, other: Any) -> Any:
        if is_sparse(other):
            return np.transpose(sparse_product(other.T, np.transpose(self)))
        return NotImplemented if declines(other) else call(np.matmul, (self, other), {})

    def __rmatmul__(self, other: Any) -> Any:
        if is_sparse(other):
            return sparse_product(other, self)
        return NotImplemented if declines(other) else call(np.matmul, (other, self), {})

    def __round__(self, ndigits: int | None = None) -> Any:
        return np.round(self, ndigits or 0)

    # ---------------------------------------------------------------- methods

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """Return the elements in a new shape; one size may be -1."""
        target = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        return call(np.reshape, (self, target), {"order": order})

    def transpose(self, *axes: Any) -> Any:
        """Permute the axes."""
        flat = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
        return call(np.transpose, (self, flat), {})

    def view(self, *kinds: Any, **named: Any) -> Any:
        """Return the array itself, as NumPy's ``view`` without arguments does."""
        if kinds or named:
            raise UnsupportedError("x.view(type): a traced array has no memory to see otherwise")
        return self[...]

    def flatten(self, order: str = "C") -> Any:
        """Return the elements as a vector of their own."""
        return call(np.ravel, (self,), {"order": order}).copy()


class Flat:
    """``x.flat``: the elements in C order, to read, to write and to go along."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __getitem__(self, index: Any) -> Any:
        return self._array.flatten()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        elements = self._array.flatten()
        elements[index] = value
        self._array[...] = elements.reshape(self._array.shape)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._array.flatten())

    def __len__(self) -> int:
        return len(self._array.flatten())


def _apply(ufunc: np.ufunc, inputs: tuple[Any, ...], dtype: Any = None, **options: Any) -> Any:
    """Carry out a ufunc; with ``dtype`` it computes in that type, as NumPy's do."""
    if options:
        raise UnsupportedError(f"np.{ufunc.__name__}(..., {next(iter(options))}=) is not traced")
    if dtype is None:
        handler = registry.handler(ufunc)
        result = handler(*inputs)
        return result if isinstance(handler, Op) else _related(ufunc, inputs, result)
    cast = registry.ops["Cast"]
    name = check_dtype(np.dtype(dtype), f"np.{ufunc.__name__}(..., dtype=)").name
    result = _apply(ufunc, tuple(cast(x, dtype=name) for x in inputs))
    if result.dtype != np.dtype(dtype):
        raise UnsupportedError(
            f"np.{ufunc.__name__}(..., dtype={name}) gives {result.dtype}: "
            "leave dtype= out and use .astype on the result"
        )
    return result


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: ArrayMethods, *args: Any, **kwargs: Any) -> Any:
        return call(function, (self, *args), kwargs)

    method.__name__ = function.__name__
    method.__doc__ = f"Same as ``np.{function.__name__}``."
    return method


for _function in (
    np.sum, np.prod, np.mean, np.std, np.var, np.max, np.min, np.any, np.all, np.argmax,
    np.argmin, np.cumsum, np.cumprod, np.ravel, np.swapaxes, np.squeeze, np.repeat, np.take,
    np.trace, np.diagonal, np.clip, np.dot, np.round, np.conjugate, np.argsort,
    np.argpartition, np.searchsorted, np.choose, np.nonzero, np.compress, np.put,
):  # fmt: skip
    setattr(ArrayMethods, _function.__name__, _method(_function))
ArrayMethods.conj = ArrayMethods.conjugate  # type: ignore[attr-defined]
ArrayMethods.ptp = _method(np.ptp)  # type: ignore[attr-defined]


#: Options whose None means that they are not used.
_ABSENT = frozenset(("out", "dtype", "initial", "where", "like"))


#: How a message starts that names its op already.
_NAMED = re.compile(r"\w+(:| of )")


def call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Carry out a NumPy function through the registry; its errors name it."""
    out = kwargs.pop("out", None)
    try:
        result = _related(function, args, _call(function, args, kwargs), kwargs)
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
    np.linalg.diagonal, np.linalg.matrix_transpose, np.einsum, np.diff, np.polyder,
    np.linalg.matrix_power, np.real_if_close, np.nan_to_num, *existing("unstack"),
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


def _related(
    function: Callable[..., Any], args: tuple[Any, ...], result: Any,
    kwargs: Mapping[str, Any] = MappingProxyType({}),
) -> Any:  # fmt: skip
    """Note which results are views of an argument, and make others arrays of their own."""
    if isinstance(result, (list, tuple)):
        each = function in _EACH and len(args) == len(result)
        parts = [_related(function, args[k : k + 1] if each else args, part, kwargs)
                 for k, part in enumerate(result)]  # fmt: skip
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    if not hasattr(result, "layout"):
        return result
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


def _at(ufunc: np.ufunc, target: Any, index: Any, *value: Any) -> None:
    """Carry out ``np.add.at``: places that come more than once are added to each time."""
    if not hasattr(target, "overwritten"):
        raise UnsupportedError(
            f"np.{ufunc.__name__}.at writes into a plain array, which holds numbers only: make "
            "it by symgrad.numpy (zeros, zeros_like, array)"
        )
    if ufunc not in (np.add, np.subtract):
        refuse(ufunc.at, "only np.add.at and np.subtract.at are followed")
    target._add_at(index, value[0] if ufunc is np.add else -value[0])


def _call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Carry out a NumPy function through the registry; say which option is not traced."""
    handler = registry.handler(function)
    kwargs = {
        k: v for k, v in kwargs.items()
        if v is not np._NoValue and not (v is None and k in _ABSENT)
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
