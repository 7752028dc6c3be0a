"""Arguments with labels: a pandas Series, an xarray DataArray.

They are taken in with what they mean as far as that does not need more than their numbers:
elementwise arithmetic keeps the labels, reductions leave out nan, and what is computed by one,
as a gradient, comes back with its labels. All else is refused, and names ``.to_numpy()``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from .._disguise import stands_for
from ..errors import TraceError


class Labels:
    """The labels of an object, without its numbers; equal if they are the same.

    Parameters
    ----------
    like:
        A Series or DataArray with numbers.
    """

    __slots__ = ("key", "like")

    def __init__(self, like: Any) -> None:
        self.like = like
        self.key = type(like), like.shape, str(getattr(like, "dims", ""))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Labels) or self.key != other.key:
            return False
        a, b = self.like, other.like
        if a is b:
            return True
        if hasattr(a, "index"):
            return a.name == b.name and bool(a.index.identical(b.index))
        return a.name == b.name and bool(a.coords.to_dataset().identical(b.coords.to_dataset()))

    def __hash__(self) -> int:
        return hash(self.key)

    def fits(self, shape: Any) -> bool:
        """Tell whether an array of this shape can have the labels."""
        return tuple(shape) == tuple(self.like.shape)

    def on(self, values: Any) -> Any:
        """Return values with the labels, where they are as many."""
        if getattr(values, "ndim", -1) != self.like.ndim or not self.fits(values.shape):
            return values
        if hasattr(values, "node"):
            return Labelled(values, self)
        if hasattr(self.like, "index"):
            return type(self.like)(values, index=self.like.index, name=self.like.name)
        return self.like.copy(data=values)


def labels_of(value: Any) -> Labels | None:
    """Return the labels of a Series or a DataArray of numbers; None for all else."""
    kind = type(value)
    for home, name in (("pandas", "Series"), ("xarray", "DataArray")):
        module = sys.modules.get(home)
        if module is not None and kind is getattr(module, name, None):
            numeric = isinstance(value.dtype, np.dtype) and value.dtype.kind in "fiub"
            return Labels(value) if numeric else None
    return None


def numbers_of(value: Any) -> np.ndarray[Any, Any]:
    """Return the numbers of an object with labels."""
    return np.asarray(value.values)


def _skipping(function: Callable[..., Any], ddof: int | None = None) -> Callable[..., Any]:
    """Return a reduction that leaves nan out, as both libraries' methods do."""

    def method(self: Labelled, *args: Any, skipna: bool = True, **kwargs: Any) -> Any:
        given = dict(kwargs)
        freedom = given.pop("ddof", None)
        if args or any(value is not None for value in given.values()) or not skipna:
            self.refuse(f"{function.__name__.removeprefix('nan')} with arguments")
        if ddof is None:
            return function(self.values)
        default = ddof if hasattr(self.labels.like, "index") else 0
        return function(self.values, ddof=default if freedom is None else freedom)

    return method


class Labelled(NDArrayOperatorsMixin):  # type: ignore[misc]
    """A traced array with labels.

    Attributes
    ----------
    values:
        The traced numbers.
    labels:
        The labels, which are those of an argument.
    """

    __slots__ = ("labels", "values")
    __hash__ = None  # type: ignore[assignment]
    __symgrad_labelled__ = True
    __pandas_priority__ = 10000
    __class__ = stands_for(lambda self: type(self.labels.like))

    def __init__(self, values: Any, labels: Labels) -> None:
        self.values, self.labels = values, labels

    def refuse(self, what: str) -> NoReturn:
        """Refuse what needs more than numbers."""
        kind = type(self.labels.like)
        raise TraceError(
            f"{what} of a {kind.__module__.partition('.')[0]}.{kind.__name__} may need its labels, "
            "which a trace does not have. Write instead: x.to_numpy(), and NumPy's functions"
        )

    def to_numpy(self) -> Any:
        """Return the values, as an array."""
        return self.values

    @property
    def shape(self) -> Any:
        """The shape."""
        return self.values.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return int(self.values.ndim)

    @property
    def size(self) -> Any:
        """The number of elements."""
        return self.values.size

    @property
    def dtype(self) -> Any:
        """The element type."""
        return self.values.dtype

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.values.__array__(dtype, copy)

    def __getitem__(self, index: Any) -> NoReturn:
        self.refuse("an element or a part (x[...])")

    def __bool__(self) -> NoReturn:
        self.refuse("a truth value")

    def __getattr__(self, name: str) -> Any:
        kind = type(self.labels.like)
        if name.startswith("_") or not hasattr(kind, name):
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
        if name in ("index", "name", "dims", "coords"):
            return getattr(self.labels.like, name)
        self.refuse(f".{name}")

    sum = _skipping(np.nansum)
    mean = _skipping(np.nanmean)
    prod = _skipping(np.nanprod)
    max = _skipping(np.nanmax)
    min = _skipping(np.nanmin)
    std = _skipping(np.nanstd, ddof=1)
    var = _skipping(np.nanvar, ddof=1)

    def _numbers(self, value: Any, shaped: bool) -> Any:
        """Return an operand's numbers; ``shaped``: it is combined element by element."""
        labels = value.labels if isinstance(value, Labelled) else labels_of(value)
        if labels is not None:
            if shaped and labels != self.labels:
                self.refuse("arithmetic with other labels")
            return value.values
        if shaped and np.ndim(value) and not self.labels.fits(np.shape(value)):
            self.refuse("arithmetic with an array of another shape")
        return value

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs or ufunc.signature is not None:
            self.refuse(f"np.{ufunc.__name__}.{method} with options")
        result = ufunc(*[self._numbers(x, shaped=True) for x in inputs])
        on = self.labels.on
        return tuple(map(on, result)) if isinstance(result, tuple) else on(result)

    def __matmul__(self, other: Any) -> Any:
        return self.values @ self._numbers(other, shaped=True)

    def __rmatmul__(self, other: Any) -> Any:
        return other @ self.values

    def dot(self, other: Any) -> Any:
        """Return the product with a vector."""
        return self @ other

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        name = _METHODS.get(function)
        if name is not None and isinstance(args[0], Labelled):
            if name in ("std", "var"):
                kwargs = {"ddof": 0, **kwargs}
            return getattr(args[0], name)(*args[1:], **kwargs)
        if function not in _ARRAYS:
            self.refuse(f"np.{function.__name__}")
        return function(*self._plain(args), **{k: self._plain(v) for k, v in kwargs.items()})

    def _plain(self, value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return type(value)(map(self._plain, value))
        return self._numbers(value, shaped=False)


#: NumPy's functions that call the method, ...
_METHODS = {
    np.sum: "sum", np.mean: "mean", np.prod: "prod", np.max: "max", np.min: "min",
    np.std: "std", np.var: "var",
}  # fmt: skip
#: ... and those that take the numbers alone.
_ARRAYS = {
    np.where, np.dot, np.vdot, np.inner, np.outer, np.linalg.norm, np.interp, np.diff, np.median,
    np.stack, np.concatenate, np.column_stack, np.vstack, np.hstack, np.polyval, np.trapezoid,
}  # fmt: skip
