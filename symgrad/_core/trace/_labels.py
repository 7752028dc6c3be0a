"""Objects with labels: a pandas Series or DataFrame, an xarray DataArray.

They are taken in with what they mean as far as that does not need more than their numbers:
elementwise arithmetic keeps the labels, reductions leave out nan, and what is computed by one,
as a gradient, comes back with its labels. Elements are picked by the library itself. All else
is refused, and names ``.to_numpy()``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ...errors import TraceError
from ..base.class_modules import module_of
from ..base.stand_in_types import class_of, stands_for


class Labels:
    """The labels of an object, without its numbers; equal if they are the same.

    Parameters
    ----------
    like:
        A Series, DataFrame or DataArray with numbers.
    """

    __slots__ = ("key", "like")

    def __init__(self, like: Any) -> None:
        self.like = like
        self.key = type(like), like.shape, str(getattr(like, "dims", ""))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Labels) and self._aligned(other) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def name(self) -> Any:
        """What the object is called, if it is."""
        return getattr(self.like, "name", None)

    def _aligned(self, other: Labels) -> bool:
        """Tell whether the labels along all axes are the same."""
        a, b = self.like, other.like
        if self.key != other.key or a is b:
            return a is b
        if hasattr(a, "coords"):
            return bool(a.coords.to_dataset().identical(b.coords.to_dataset()))
        return all(x.identical(y) for x, y in zip(a.axes, b.axes, strict=True))

    def joined(self, other: Labels) -> Labels | None:
        """Return the labels of what is computed of both by elements; None if there are none.

        Both libraries keep a name where it is that of all.
        """
        if not self._aligned(other):
            return None
        return self if self.name == other.name else Labels(self.like.rename(None))

    def fits(self, shape: Any) -> bool:
        """Tell whether an array of this shape can have the labels."""
        return tuple(shape) == tuple(self.like.shape)

    def on(self, values: Any) -> Any:
        """Return values with the labels, where they are as many."""
        like = self.like
        if getattr(values, "ndim", -1) != like.ndim or not self.fits(values.shape):
            return values
        if hasattr(values, "node"):
            return Labelled(values, self)
        if hasattr(like, "coords"):
            return like.copy(data=values)
        further = {"columns": like.columns} if like.ndim == 2 else {"name": like.name}
        return type(like)(values, index=like.index, **further)


def labels_of(value: Any) -> Labels | None:
    """Return the labels of a Series, DataFrame or DataArray of numbers; None for all else."""
    kind = type(value)
    for home, names in _LIBRARIES:
        module = sys.modules.get(home)
        if module is not None and any(kind is getattr(module, name, None) for name in names):
            types = [*value.dtypes] if value.ndim == 2 and home == "pandas" else [value.dtype]
            numeric = all(isinstance(t, np.dtype) and t.kind in "fiub" for t in types)
            # Columns of numbers have a type in common; truth values have none with others.
            alike = len({t.kind == "b" for t in types}) == 1
            return Labels(value) if numeric and alike else None
    return None


def is_table(value: Any) -> bool:
    """Tell whether a value is a DataFrame of which columns are no numbers, or not in one type.

    A function reads its columns, each by its name; there is no array that has all of them.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None or type(value) is not getattr(pandas, "DataFrame", None):
        return False
    return labels_of(value) is None


_LIBRARIES = (("pandas", ("Series", "DataFrame")), ("xarray", ("DataArray",)))


def numbers_of(value: Any) -> np.ndarray[Any, Any]:
    """Return the numbers of an object with labels."""
    return np.asarray(value.values)


def labelled(value: Any) -> Labelled | None:
    """Return an object with labels that meets a traced value as one; None for all else."""
    labels = labels_of(value)
    return None if labels is None else Labelled(numbers_of(value), labels)


def _skipping(function: Callable[..., Any], ddof: int | None = None) -> Callable[..., Any]:
    """Return a reduction that leaves nan out, as both libraries' methods do."""

    def method(self: Labelled, *args: Any, skipna: bool = True, **kwargs: Any) -> Any:
        if self.ndim == 2 and not hasattr(self.labels.like, "coords"):
            self.refuse(f"{function.__name__.removeprefix('nan')}")  # by columns
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
        The labels, which are those of an argument, or of what the function reads.
    """

    __slots__ = ("labels", "values")
    __hash__ = None  # type: ignore[assignment]
    __symgrad_labelled__ = True
    __pandas_priority__ = 10000
    __class__ = stands_for(lambda self: type(self.labels.like))

    __symgrad_labels__ = True

    def __init__(self, values: Any, labels: Labels) -> None:
        self.values, self.labels = values, labels

    def refuse(self, what: str) -> NoReturn:
        """Refuse what needs more than numbers."""
        kind = type(self.labels.like)
        raise TraceError(
            f"{what} of a {module_of(kind).partition('.')[0]}.{kind.__name__} may need its labels, "
            "which a trace does not have. Write instead: x.to_numpy(), and NumPy's functions; or, "
            "where no derivative is taken by it, functools.partial(f, data=data) or a closure"
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
        if self.ndim > 1:
            self.refuse("iteration")
        return iter(self.values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.values.__array__(dtype, copy)

    def picked(self, pick: Callable[[Any], Any], *by: Any) -> Any:
        """Return the elements that the library picks, by an object of positions."""
        if not all(map(_is_known, by)):
            self.refuse("what is picked by traced values")
        like = self.labels.like
        found = pick(self.labels.on(np.arange(like.size).reshape(like.shape)))
        flat = np.reshape(self.values, -1)
        if np.ndim(found) == 0:
            return flat[int(found)]
        return Labels(found).on(flat[found.values])

    def __getitem__(self, index: Any) -> Any:
        return self.picked(lambda x: x[index], index)

    def __bool__(self) -> NoReturn:
        self.refuse("a truth value")

    def __getattr__(self, name: str) -> Any:
        kind = type(self.labels.like)
        if name.startswith("_") or not hasattr(self.labels.like, name):
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
        if name in ("index", "columns", "name", "dims", "coords"):
            return getattr(self.labels.like, name)
        if name in _PICKERS:
            return _Picker(self, name)
        if name in _PICKING:
            return lambda *args, **kwargs: self.picked(
                lambda x: getattr(x, name)(*args, **kwargs), *args, *kwargs.values()
            )
        if not hasattr(kind, name):  # a label
            return self.picked(lambda x: getattr(x, name))
        self.refuse(f".{name}")

    sum = _skipping(np.nansum)
    mean = _skipping(np.nanmean)
    prod = _skipping(np.nanprod)
    max = _skipping(np.nanmax)
    min = _skipping(np.nanmin)
    std = _skipping(np.nanstd, ddof=1)
    var = _skipping(np.nanvar, ddof=1)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs or ufunc.signature is not None:
            self.refuse(f"np.{ufunc.__name__}.{method} with options")
        labels, numbers = self.labels, []
        for value in inputs:
            other = value if isinstance(value, Labelled) else labelled(value)
            if other is not None:
                joined = labels.joined(other.labels)
                if joined is None:
                    self.refuse("arithmetic with other labels")
                labels, value = joined, other.values
            elif np.ndim(value) and not labels.fits(np.shape(value)):
                self.refuse("arithmetic with an array of another shape")
            numbers.append(value)
        result = ufunc(*numbers)
        return tuple(map(labels.on, result)) if isinstance(result, tuple) else labels.on(result)

    def _with(self, value: Any) -> Any:
        """Return the numbers of the other factor of a product."""
        other = value if isinstance(value, Labelled) else labelled(value)
        if self.ndim > 1:
            self.refuse("a product of matrices")
        if other is None:
            if np.ndim(value) and not self.labels.fits(np.shape(value)):
                self.refuse("arithmetic with an array of another shape")
            return value
        if self.labels.joined(other.labels) is None:
            self.refuse("arithmetic with other labels")
        return other.values

    def __matmul__(self, other: Any) -> Any:
        return self.values @ self._with(other)

    def __rmatmul__(self, other: Any) -> Any:
        return self._with(other) @ self.values

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
        if isinstance(value, Labelled):
            return value.values
        return value if labels_of(value) is None else numbers_of(value)


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

#: What picks elements, in pandas and xarray: by brackets, ...
_PICKERS = frozenset(("loc", "iloc", "at", "iat"))
#: ... and by a call.
_PICKING = frozenset(("head", "tail", "take", "xs", "sel", "isel"))


class _Picker:
    """``s.loc``, which is followed by brackets."""

    def __init__(self, owner: Labelled, name: str) -> None:
        self._owner, self._name = owner, name

    def __getitem__(self, index: Any) -> Any:
        return self._owner.picked(lambda x: getattr(x, self._name)[index], index)


def _is_known(index: Any) -> bool:
    """Tell whether no part of an index is traced."""
    if isinstance(index, (tuple, list)):
        return all(map(_is_known, index))
    if isinstance(index, slice):
        return all(map(_is_known, (index.start, index.stop, index.step)))
    return class_of(index) is type(index)
