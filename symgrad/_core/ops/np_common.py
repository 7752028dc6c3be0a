"""What the composites share: taking operands, constants beside traced values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from ...errors import ShapeError
from ..base.broadcast import broadcast, show
from ..base.sizes import Dim, Shape, Size, as_dim, require_length, same
from ..base.state import now
from ..graph import Iota, Node, require_numbers
from ..op import registry
from .movement import BROADCAST, RESHAPE, TRANSPOSE
from .regions import SLICE, whole

# ---------------------------------------------------------------- operands


def is_traced(value: Any) -> bool:
    """Tell whether ops applied to ``value`` extend a graph (or a tape).

    Parameters
    ----------
    value : any
        An argument of a function.

    Returns
    -------
    bool
        True for traced values and for tensors.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrad.extend import is_traced
    >>> is_traced(np.ones(3))
    False
    """
    return hasattr(type(value), "__symgrad_bind__")


def compared(truth: Any) -> Any:
    """Return a comparison for equality that a function makes for its caller, who may decide by it.

    At a point that it singles out, derivatives look at the other side, too.
    """
    examples = now().examples
    if examples is not None and is_traced(truth) and truth.dtype == np.bool_:
        examples.compares(truth.node)
    return truth


def truths(x: Any) -> Any:
    """Return whether elements are not zero."""
    return compared(np.not_equal(x, 0)) if x.dtype.kind == "f" else x.astype(np.bool_)


def holds_traced(value: Any) -> bool:
    """Tell whether ``value`` is traced or a (nested) list with a traced value in it."""
    if isinstance(value, (list, tuple)):
        return any(map(holds_traced, value))
    return is_traced(value) or isinstance(value, Size)


def as_array(value: Any, dtype: Any = None) -> Any:
    """Return an operand with NumPy's ``asarray``; traced values and lists of them stay traced.

    A Python number becomes an array and is no longer weak in type promotion, as in NumPy. One
    that is whole, and each integer in a list, has to fit the type that is given.

    Parameters
    ----------
    value : array_like or Traced
        The operand.
    dtype : dtype
        The element type; None leaves it as it is.

    Returns
    -------
    ndarray or Traced
        The operand with a shape and an element type.

    Raises
    ------
    OverflowError
        If an integer does not fit the type.

    Examples
    --------
    >>> from symgrad.extend import as_array
    >>> as_array([1, 2], float)
    array([1., 2.])
    """
    if isinstance(value, Size):
        value = Size.lift(value)
    if is_traced(value):
        weak = getattr(value, "weak", None) is not None
        if dtype is None and not weak:
            return value
        return value.astype(value.dtype if dtype is None else dtype, copy=weak)
    if (given := unlabelled(value)) is not value:
        return as_array(given, dtype)
    if isinstance(value, (list, tuple)) and holds_traced(value):
        return np.stack([as_array(_item(v) if dtype is not None else v, dtype) for v in value])
    require_numbers(value)
    return np.asarray(value, dtype)


def unlabelled(value: Any) -> Any:
    """Return the traced numbers of what has labels, or of an object of the user's; or the value.

    ``np.asarray`` has no labels.
    """
    return value.values if hasattr(type(value), "__symgrad_labels__") else held(value)


def held(value: Any) -> Any:
    """Return the traced array that an object's ``__array__``, written in Python, gives.

    All else is the value itself: plain arrays NumPy asks for.
    """
    own = getattr(type(value), "__array__", None)
    if type(own) is not FunctionType or (own.__module__ or "").startswith(
        ("symgrad.", "pandas.", "xarray.")
    ):
        return value
    found = value.__array__()
    return found if is_traced(found) else value


def _item(value: Any) -> Any:
    """Return a whole number as one of Python's, be it NumPy's."""
    single = is_traced(value) and not value.ndim and value.dtype.kind in "iu"
    return value.item() if single else value


def as_arrays(values: Iterable[Any]) -> list[Any]:
    """Return all of ``values`` as arrays or traced values."""
    return [as_array(v) for v in values]


def common_type(arrays: Sequence[Any]) -> list[Any]:
    """Return ``arrays`` converted to their common element type."""
    dtype = np.result_type(*(a.dtype for a in arrays))
    return [a if a.dtype == dtype else a.astype(dtype) for a in arrays]


def as_float(x: Any) -> Any:
    """Return ``x`` with integers and booleans converted to float64."""
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def conjugated(x: Any) -> Any:
    """Return the complex conjugate; of a real value the value itself."""
    return np.conjugate(x) if x.dtype.kind == "c" else x


def abs_square(x: Any) -> Any:
    """Return ``|x|**2``, which is real."""
    return x.real * x.real + x.imag * x.imag if x.dtype.kind == "c" else x * x


def join_parts(real: Any, imag: Any) -> Any:
    """Return the complex value with these parts, traced if they are."""
    for x in (real, imag):
        if is_traced(x):
            return type(x).__symgrad_join__(real, imag)
    return real + 1j * imag


def packed(z: Any) -> Any:
    """Return complex numbers as a real array with a last axis of two; real ones too."""
    if hasattr(z, "packed"):
        return z.packed
    real, imag = (z.real, z.imag) if z.dtype.kind == "c" else (z, np.zeros_like(z))
    return np.stack([real, imag], axis=-1)


def join_pairs(pairs: Any) -> Any:
    """Return the complex numbers of a real array with a last axis of two."""
    if is_traced(pairs):
        return type(pairs).__symgrad_unpack__(pairs)
    return pairs[..., 0] + 1j * pairs[..., 1]


def sum_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the element type of sums and products of elements of ``dtype``."""
    if dtype.kind in "bi":
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if dtype.kind == "u" else dtype


# ---------------------------------------------------------------- constants beside traced values


class _Leaf(NamedTuple):
    """A node in the clothes of a traced value: what binding reads of an operand."""

    node: Node
    dtype: np.dtype[Any]


def lift(value: Any, *beside: Any) -> Any:
    """Return a constant as a traced value of the kind of the traced one in ``beside``.

    Alone, an array operand would be computed with at once, and a symbolic size with it.
    """
    if is_traced(value):
        return value
    for other in beside:
        if is_traced(other):
            operand = value if isinstance(value, _Leaf) else np.asarray(value)
            params = {"dtype": operand.dtype}
            return type(other).__symgrad_bind__(registry.ops["Cast"], (operand,), params)
    return value


def iota(size: Any, *beside: Any) -> Any:
    """Return the integers ``0, 1, ..., size - 1``; traced if the size is symbolic."""
    if isinstance(size, Size):
        return lift(_Leaf(Iota(as_dim(size)), np.dtype(np.int64)), *beside)
    return np.arange(size)


def full(shape: Sequence[Any], value: Any, dtype: Any, *beside: Any) -> Any:
    """Return an array filled with a number, or with what is broadcast to it."""
    value = lift(as_array(value, dtype), *beside)
    return np.broadcast_to(value, shape) if value.ndim else BROADCAST(value, shape=tuple(shape))


# ---------------------------------------------------------------- shapes


def dims(x: Any) -> Shape:
    """Return the shape of ``x`` as dimensions."""
    return tuple(map(as_dim, x.shape))


def sizes(value: Any) -> tuple[Any, ...]:
    """Return a shape argument (number or sequence of numbers) as a tuple."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def lengths(value: Any) -> tuple[Any, ...]:
    """Return the shape of a new array as a tuple of numbers that are not negative."""
    shape = sizes(value)
    for size in shape:
        require_length(size)
    return shape


def is_one(size: Any) -> bool:
    """Tell whether an axis has length one, by guard where the size is an expression."""
    if isinstance(size, Size):
        return not isinstance(size.expr, Dim) and bool(size == 1)  # a Dim is at least 2
    return bool(size == 1)


def equal(a: Any, b: Any) -> bool:
    """Tell whether two sizes are equal, by guard where only the hints can tell."""
    return same(as_dim(a), as_dim(b))


def permute(x: Any, axes: Sequence[int]) -> Any:
    """Permute the axes; no operation if they are in order already."""
    axes = tuple(axes)
    return x if axes == tuple(range(x.ndim)) else TRANSPOSE(x, axes=axes)


def reshaped(x: Any, shape: Sequence[Any]) -> Any:
    """Reshape; no operation if the shape is the same already."""
    target = tuple(map(as_dim, shape))
    return x if target == dims(x) else RESHAPE(x, shape=tuple(shape))


def along(vector: Any, axis: int, rank: int) -> Any:
    """Lay a vector along one of ``rank`` axes, the others of length one."""
    return reshaped(vector, tuple(vector.shape[0] if k == axis else 1 for k in range(rank)))


def spread(x: Any, shape: Sequence[Any], *beside: Any) -> Any:
    """Broadcast to ``shape``; no operation if ``x`` has it already."""
    target = tuple(map(as_dim, shape))
    if target == dims(x):
        return x
    try:
        fits = len(target) >= x.ndim and all(map(same, broadcast(dims(x), target), target))
    except ShapeError:
        fits = False
    if not fits:
        raise ShapeError(f"cannot broadcast an array of shape {show(dims(x))} to {show(target)}")
    return BROADCAST(lift(x, *beside), shape=tuple(shape))


def part(x: Any, axis: int, start: Any, count: Any) -> Any:
    """Return ``count`` elements along an axis; the range must be known to be in bounds."""
    entries = [whole(n) for n in x.shape]
    entries[axis] = (start, 1, count)
    return SLICE(x, region=tuple(entries))


def section(x: Any, axis: int, start: Any, stop: Any) -> Any:
    """Return ``x[start:stop]`` along an axis, with Python's rules for the bounds."""
    return x[(*(slice(None),) * axis, slice(start, stop))]


# ---------------------------------------------------------------- records


#: Names of the functions of records, as declared: each with its aliases.
DECLARED: dict[str, tuple[str, ...]] = {}


def existing(*names: str, of: Any = np) -> tuple[Callable[..., Any], ...]:
    """Return the functions of a module that the installed version has."""
    return tuple(getattr(of, name) for name in names if hasattr(of, name))


def declared(*names: str) -> tuple[Callable[..., Any], ...]:
    """Return the functions that a record answers to, of names that come and go with versions.

    The pages that list functions name all of them, so that the pages do not depend on the
    version at hand.
    """
    spelled = tuple(f"np.{name}" for name in names)
    DECLARED.update(dict.fromkeys(spelled, spelled))
    return existing(*names)
