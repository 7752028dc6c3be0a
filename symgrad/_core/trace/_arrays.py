"""What arrays can do, for values that are no arrays: NumPy's protocols, operators, methods.

Traced and eager values share it. Everything ends in the registry: a universal function, an
operator or a method is the op or the composite that the registry has for it, applied to the
value; what becomes of it (a node, a number with a record of where it came from) is the
value's own ``__symgrad_bind__``.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...errors import ArgumentError, DTypeError, ShapeError, UnsupportedError
from ..graph import own_rules
from ..op import refuse, registry
from ..ops import getitem
from ..ops.np_common import is_traced
from ..ops.np_contract import is_sparse, sparse_product
from ..ops.np_logsumexp import logsumexp
from ..ops.rounding import round_number
from ._calls import added_at, applied, call, in_turn, reduced_at, symgrads
from ._decisions import noted_equality, noted_order, truth_of
from ._labels import labelled

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
    if hasattr(type(other), "__symgrad_operators__"):  # which may say that it is an array
        return True
    if isinstance(other, (np.ndarray, np.generic, float, int)):
        return False
    if hasattr(other, "__symgrad_labelled__"):
        return True
    protocol = getattr(type(other), "__array_ufunc__", False)
    if protocol is False:  # the older protocol
        return bool(getattr(other, "__array_priority__", 0.0) > 0.0)
    return protocol is None


#: What takes numbers for whether they are not 0.
_LOGICAL = (np.logical_and, np.logical_not, np.logical_or, np.logical_xor)


def _by_method(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Carry out a method of a universal function, as ``np.add.reduce``."""
    if method == "accumulate" and kwargs.get("axis", 0) is None and inputs[0].ndim != 1:
        raise ShapeError(f"np.{ufunc.__name__}.accumulate goes along one axis: give axis=")
    function = {"reduce": _REDUCE, "accumulate": _ACCUMULATE}.get(method, {}).get(ufunc)
    if function is not None:
        return call(function, inputs, {"axis": 0, **kwargs})
    if method == "at":
        return added_at(ufunc, *inputs)
    if method == "reduceat":
        return reduced_at(ufunc, *inputs, **kwargs)
    if method == "outer":
        a, b = (x if isinstance(x, ArrayMethods) else np.asarray(x) for x in inputs)
        left = a[(...,) + (None,) * b.ndim] if b.ndim else a
        return applied(ufunc, (left, b), **kwargs)
    plain = not kwargs.keys() - {"axis", "keepdims"}
    if ufunc is np.logaddexp and method == "reduce" and plain and 0 not in inputs[0].shape:
        return logsumexp(*inputs, **{"axis": 0, **kwargs})
    if (own := symgrads(ufunc)) is not None:
        return own(*inputs, method=method, **kwargs)
    if registry.find(ufunc) is not None:
        return in_turn(ufunc, method, *inputs, **kwargs)
    refuse(getattr(ufunc, method, ufunc))


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
        if any(hasattr(x, "__symgrad_labelled__") or hasattr(x, "__symgrad_operators__")
               for x in inputs):  # fmt: skip
            return NotImplemented
        named = [labelled(x) for x in inputs]
        if any(x is not None for x in named):
            return getattr(ufunc, method)(
                *[x if y is None else y for x, y in zip(inputs, named, strict=True)], **kwargs
            )
        if not kwargs and method == "__call__":
            if ufunc in _LOGICAL:
                inputs = tuple([
                    truth_of(x) if is_traced(x) and x.dtype.kind == "f" else x for x in inputs
                ])  # fmt: skip
            found = applied(ufunc, inputs)
            if ufunc is np.equal or ufunc is np.not_equal:
                noted_equality(found, sys._getframe(1))
            elif ufunc in (np.less, np.less_equal, np.greater, np.greater_equal):
                noted_order(found, sys._getframe(1))
            return found
        out = kwargs.pop("out", None) or ()
        if any(o is not None for o in out):
            return _written(self, ufunc, method, inputs, kwargs, out)
        if method != "reduce" and kwargs.pop("where", True) is not True:
            raise UnsupportedError(
                f"np.{ufunc.__name__}(..., where=) without out= leaves the other elements as they "
                "happen to be: give out=, or use np.where on the result"
            )
        for option in ("casting", "order", "subok"):  # nothing here depends on them
            kwargs.pop(option, None)
        if method == "__call__":
            return applied(ufunc, inputs, **kwargs)
        return _by_method(ufunc, method, inputs, kwargs)

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if any(hasattr(kind, "__symgrad_labelled__") or hasattr(kind, "__symgrad_masked__")
               for kind in types):  # fmt: skip
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

    def __rdivmod__(self, other: Any) -> Any:
        return NotImplemented if declines(other) else (other // self, other % self)

    def __matmul__(self, other: Any) -> Any:
        if is_sparse(other):
            return np.transpose(sparse_product(other.T, np.transpose(self)))
        return NotImplemented if declines(other) else call(np.matmul, (self, other), {})

    def __rmatmul__(self, other: Any) -> Any:
        if is_sparse(other):
            return sparse_product(other, self)
        return NotImplemented if declines(other) else call(np.matmul, (other, self), {})

    def __round__(self, ndigits: int | None = None) -> Any:
        weak = getattr(self, "weak", None)
        if ndigits and weak is float:  # not NumPy's way
            found = round_number(self, operator.index(ndigits))
        else:
            found = np.round(self, ndigits or 0)
            if ndigits is None and self.dtype.kind == "f":
                found = found + 0.0  # a whole 0
        if weak is float:
            found.weak = weak  # of Python's numbers one of them
        return found

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
        if kinds == (np.ndarray,) or list(named.items()) == [("type", np.ndarray)]:
            kinds, named = (), {}
        if kinds == (np.matrix,):
            raise UnsupportedError(own_rules(np.matrix))
        if kinds or named:
            raise UnsupportedError("x.view(type): a traced array has no memory to see otherwise")
        return self[...]

    def flatten(self, order: str = "C") -> Any:
        """Return the elements as a vector of their own."""
        return call(np.ravel, (self,), {"order": order}).copy()

    def compress(self, condition: Any, axis: int | None = None, **options: Any) -> Any:
        """Same as ``np.compress``, whose first argument is the condition."""
        return call(np.compress, (condition, self, axis), options)


class InMemory:
    """Copies of a traced array, and what changes it in place: all by assigning to elements."""

    __slots__ = ()
    copy: Callable[..., Any]
    __setitem__: Callable[..., None]

    def __copy__(self) -> Any:
        return self.copy("K")

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy("K")

    def setflags(self, write: Any = None, align: Any = None, uic: Any = None) -> None:
        """Do nothing: that an array is not to be written to does not change what is read."""

    def fill(self, value: Any) -> None:
        """Assign one value to all elements."""
        self[...] = value

    def sort(self, axis: int = -1, kind: Any = None, order: None = None, *,
             stable: Any = None) -> None:  # fmt: skip
        """Sort in place; complex numbers by real parts, then by imaginary ones."""
        self[...] = np.sort(self, axis)


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
    np.argpartition, np.searchsorted, np.choose, np.nonzero, np.put,
):  # fmt: skip
    setattr(ArrayMethods, _function.__name__, _method(_function))
ArrayMethods.conj = ArrayMethods.conjugate  # type: ignore[attr-defined]


def _written(
    value: ArrayMethods, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...],
    kwargs: dict[str, Any], out: tuple[Any, ...],
) -> Any:  # fmt: skip
    """Carry out a universal function, and write its results where ``out`` and ``where`` say."""
    where = True if method == "reduce" else kwargs.pop("where", True)
    casting = kwargs.get("casting", "same_kind")
    found = value.__array_ufunc__(ufunc, method, *inputs, **kwargs)
    results = list(found) if isinstance(found, tuple) else [found]
    for k, (target, result) in enumerate(zip(out, results, strict=True)):
        if target is None:
            continue
        if not hasattr(target, "overwritten"):
            raise UnsupportedError(
                f"np.{ufunc.__name__}(..., out=) writes into a plain array, which holds "
                "numbers only (an augmented assignment such as `a += x` does it too): write "
                "`a = a + x`, or make the array by symgrad.numpy"
            )
        if not np.can_cast(result.dtype, target.dtype, casting):
            raise DTypeError(
                f"np.{ufunc.__name__}(..., out=) gives {result.dtype}, which casting by "
                f"{casting!r} does not make {target.dtype}"
            )
        target[...] = result if where is True else np.where(_mask(where), result, target)
        results[k] = target
    return tuple(results) if isinstance(found, tuple) else results[0]


def _mask(where: Any) -> Any:
    if not isinstance(where, (ArrayMethods, np.ndarray)):
        return np.asarray(where, bool)
    mask: Any = where
    if mask.dtype != np.bool_:
        raise ArgumentError(f"where= is an array of truth values, not of {mask.dtype}")
    return mask
