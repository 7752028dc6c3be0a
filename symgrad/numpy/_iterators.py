"""Elements one by one: ``np.ndenumerate``, ``np.nditer`` read them, ``np.fromiter`` takes them.

``np.vectorize`` has a function of numbers take arrays of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .._core.base.providers import provided
from .._core.base.stand_in_types import class_of
from .._core.base.state import now
from .._core.op import refuse
from .._core.ops.np_common import as_array, is_traced
from .._core.trace import Layout, layout_of
from ..errors import ArgumentError, UnsupportedError
from ._creation import array, symbolic

_ORDER = (
    "which order its elements come in depends on how the array lies in memory. Write instead: "
    'np.nditer(x, order="C")'
)
_WRITES = (
    "it only reads. Write instead: for i in np.ndindex(x.shape): y[i] = f(x[i]), or the same for "
    "whole arrays"
)
#: Flags that change neither what is read nor how much of it at a time.
_HARMLESS = frozenset(("buffered", "copy_if_overlap", "refs_ok", "zerosize_ok", "delay_bufalloc"))
_INDICES = frozenset(("multi_index", "c_index", "f_index"))


def fromiter(iter: Iterable[Any], dtype: Any, count: int = -1, *, like: Any = None) -> Any:  # noqa: A002 - NumPy's name
    """Make a vector of what an iterator gives, as ``np.fromiter``.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> def squares(x):
    ...     return np.fromiter((v * v for v in x), dtype=float)
    >>> sg.compile(squares)(np.array([1.0, 2.0]))
    array([1., 4.])
    """
    items = list(iter if count < 0 else itertools.islice(iter, count))
    if not symbolic(items):
        return array(np.fromiter(items, dtype, count, like=like))
    if len(items) < count:
        raise ArgumentError(
            f"iterator too short: Expected {count} but iterator had only {len(items)} items."
        )
    if any(np.ndim(item) for item in items):
        raise ArgumentError("np.fromiter takes numbers. Write instead: np.array([...])")
    return array(items, dtype)


def ndenumerate(arr: Any) -> Any:
    """Yield the places of an array and the elements there, as ``np.ndenumerate``.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> def moment(x):
    ...     return sum(i * j * v for (i, j), v in np.ndenumerate(x))
    >>> sg.grad(moment)(np.ones((2, 3)))
    array([[0., 0., 0.],
           [0., 1., 2.]])
    """
    if not symbolic(arr):
        return np.ndenumerate(arr)
    x = as_array(arr)
    return ((place, x[place]) for place in np.ndindex(*map(int, x.shape)))


def nditer(
    op: Any, flags: Sequence[str] | None = None, op_flags: Any = None, op_dtypes: Any = None,
    order: str = "K", casting: str = "safe", **options: Any,
) -> Any:  # fmt: skip
    """Same as ``np.nditer``; arrays may be traced, and are read."""
    if not symbolic(op):
        return np.nditer(op, flags, op_flags, op_dtypes, order, casting, **options)
    return _Reader(op, frozenset(flags or ()), op_flags, order, {"op_dtypes": op_dtypes, **options})


class _Reader:
    """The part of ``np.nditer``'s interface that reads."""

    def __init__(
        self, op: Any, flags: frozenset[str], op_flags: Any, order: str, options: dict[str, Any]
    ) -> None:
        if rest := flags - _HARMLESS - _INDICES:
            refuse(np.nditer, f"flags={sorted(rest)} are not followed")
        if chosen := [k for k, v in options.items() if v is not None and k != "buffersize"]:
            refuse(np.nditer, f"{chosen[0]}= is not followed")
        given = op if isinstance(op, (list, tuple)) else (op,)
        each = [op_flags] if op_flags and isinstance(op_flags[0], str) else op_flags or ()
        if any(x is None for x in given) or any(
            flag not in ("readonly", "nbo", "aligned", "contig") for flags in each for flag in flags
        ):
            refuse(np.nditer, _WRITES)
        arrays = [as_array(x) for x in given]
        if order not in ("C", "F") and not flags & _INDICES and any(
            layout_of(x) is not Layout.RUN for x in arrays
        ):  # fmt: skip
            refuse(np.nditer, _ORDER)
        self._arrays = np.broadcast_arrays(*arrays) if len(arrays) > 1 else arrays
        self._flags, self.nop = flags, len(arrays)
        self.shape = tuple(map(int, self._arrays[0].shape))
        self.ndim, self.itersize = len(self.shape), int(np.prod(self.shape))
        if not self.itersize and "zerosize_ok" not in flags:
            raise ArgumentError("Iteration of zero-sized operands is not enabled")
        self._order = "F" if order == "F" else "C"
        self.reset()

    def reset(self) -> None:
        """Go back to the first element."""
        self.iterindex, self._begun = 0, False

    @property
    def finished(self) -> bool:
        """Whether all elements have been read."""
        return self.iterindex >= self.itersize

    @property
    def _place(self) -> tuple[int, ...]:
        place = np.unravel_index(self.iterindex, self.shape, order=self._order)
        return tuple(map(int, place))

    @property
    def multi_index(self) -> tuple[int, ...]:
        """Where the present element stands."""
        if "multi_index" not in self._flags:
            raise ArgumentError("Iterator is not tracking a multi-index")
        return self._place

    @property
    def index(self) -> int:
        """Where the present element stands, as one number."""
        orders = {"c_index": "C", "f_index": "F"}
        for flag in self._flags & orders.keys():
            return int(np.ravel_multi_index(self._place, self.shape, order=orders[flag]))
        raise ArgumentError("Iterator does not have an index")

    def iternext(self) -> bool:
        """Go to the next element; tell whether there is one."""
        self.iterindex += 1
        return not self.finished

    def __getitem__(self, k: int) -> Any:
        return self._arrays[k][self._place]

    @property
    def value(self) -> Any:
        """The present element, of several arrays a tuple."""
        found = tuple(self[k] for k in range(self.nop))
        return found[0] if self.nop == 1 else found

    def __len__(self) -> int:
        return self.nop

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._begun:
            self.iternext()
        self._begun = True
        if self.finished:
            raise StopIteration
        return self.value

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End: there is nothing to write back."""


class vectorize(np.vectorize):  # type: ignore[misc]  # noqa: N801
    """``np.vectorize``, which takes each element of traced arrays as an example of a batch.

    ``if`` and loops in the function, where its source is at hand, become those of the program.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function of all elements."""
        if not any(map(is_traced, (*args, *kwargs.values()))):
            return super().__call__(*args, **kwargs)
        if self.signature is not None:
            raise UnsupportedError(
                "np.vectorize of traced values takes no signature=. Write instead: sg.vmap"
            )
        followed = now().followed or provided("following")
        function = followed.outermost(self.pyfunc)
        named: dict[Any, Any] = dict(enumerate(args)) | kwargs
        fixed = {k: x for k, x in named.items() if k in self.excluded}
        # NumPy makes arrays of all others; a Series has its numbers' own.
        given = [
            x.to_numpy() if hasattr(x, "to_numpy") else as_array(x) if np.ndim(x) else x
            for x in (x for k, x in named.items() if k not in fixed)
        ]

        def element(*values: Any) -> Any:
            rest = iter(values)
            every = {k: fixed[k] if k in fixed else next(rest) for k in named}
            placed = [every.pop(k) for k in range(len(args))]
            return function(*placed, **every)

        arrays = np.broadcast_arrays(*[x for x in given if np.ndim(x)])
        if not arrays:
            return self._typed(element(*given))
        rest = iter(arrays)
        flat = [next(rest).reshape(-1) if np.ndim(x) else x for x in given]
        found = provided("vmap", element, tuple([0 if np.ndim(x) else None for x in given]))(*flat)
        shape = arrays[0].shape
        if isinstance(found, tuple):
            return tuple(self._typed(x.reshape(shape), k) for k, x in enumerate(found))
        return self._typed(found.reshape(shape))

    def _typed(self, value: Any, place: int = 0) -> Any:
        if not self.otypes or class_of(value) is tuple:
            return value
        return np.asarray(value).astype(self.otypes[place]) if not is_traced(value) else (
            value.astype(self.otypes[place])
        )  # fmt: skip
