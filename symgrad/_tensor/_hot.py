"""Steps that come often become kernels: NumPy at first, then machine code with the same bits.

A NumPy function takes a third of a microsecond to look at its arguments, and ``softmax`` is seven
of them. The compiler's kernel of the same steps, with NumPy's rounding, takes a twentieth of one.
As for backward passes, counts alone decide when one is bought.

What NumPy says of an overflow, it says every time: where a kernel sets one of the flags that
NumPy looks at, NumPy computes the same again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import Context
from typing import Any

import numpy as np

from .._api._transforms import compile
from .._compile import MISS, watched
from .._forks import free_in_children
from ..errors import SymgradError
from ._compiled import switched_off

#: A kernel is made when NumPy has been called for this time; so many are kept for one rank.
AFTER, MOST = 256, 4
#: So many kernels can be had for nothing, and one more for so many calls of NumPy.
FREE, PRICE = 32, 20_000

#: Sizes of axes, the last one first, in what a kernel is made for: they are all different, so it
#: takes arrays of any sizes.
SIZES = (19, 23, 29, 31, 37, 41, 43, 47)
LARGER = 50

Arrays = Sequence[Any]
ndarray = np.ndarray


class Purse:
    """What all steps have cost."""

    def __init__(self) -> None:
        self.lock = free_in_children(threading.Lock())
        self.calls = self.bought = 0

    def affords(self) -> bool:
        """Tell whether another kernel can be bought."""
        return self.bought < FREE + self.calls // PRICE


purse = Purse()


class Hot:
    """A function of arrays.

    Parameters
    ----------
    function:
        The function on traced values.
    plain:
        The same on arrays; None for ``function``.
    silent:
        Whether NumPy has nothing to say, whatever the numbers are.
    along:
        An axis, counted from the front, whose sizes have nothing to do with each other.

    Attributes
    ----------
    run:
        The function, as far as it is known: it returns :data:`MISS` for arrays that it is not
        made for, and :meth:`other` takes these.
    """

    __slots__ = ("along", "count", "function", "kernels", "kinds", "plain", "run", "silent")

    def __init__(
        self, function: Callable[..., Any], plain: Callable[..., Any] | None = None,
        silent: bool = False, along: int | None = None,
    ) -> None:  # fmt: skip
        self.function, self.plain, self.silent = function, plain or function, silent
        self.along, self.count = along, 0
        #: By the rank of the first array; None for a number.
        self.kernels: dict[int | None, tuple[Callable[..., Any], ...]] = {}
        self.kinds: set[Any] = set()
        self.run: Callable[..., Any] = self.other

    def __call__(self, *arrays: Any) -> Any:
        found = self.run(*arrays)
        return self.other(*arrays) if found is MISS else found

    def other(self, *arrays: Any) -> Any:
        """Compute what ``run`` is not made for."""
        first = arrays[0]
        for kernel in self.kernels.get(first.ndim if type(first) is ndarray else None, ()):
            found = kernel(*arrays)
            if found is not MISS:
                self.run = kernel
                return found
        self.count += 1
        if self.count >= AFTER:
            self.count = 0
            self._consider(arrays)
        return self.plain(*arrays)

    def _consider(self, arrays: Arrays) -> None:
        """Buy a kernel for arrays like these."""
        first = arrays[0]
        rank = first.ndim if type(first) is ndarray else None
        known = self.kernels.get(rank, ())
        if len(known) >= MOST or switched_off():
            return
        example = [self._example(k, x) for k, x in enumerate(arrays)]
        if any(x is None for x in example):
            return
        kind = tuple([(type(x), x.dtype, x.shape) if hasattr(x, "dtype") else type(x)
                      for x in example])  # fmt: skip
        with purse.lock:
            purse.calls += AFTER
            if kind in self.kinds or not purse.affords():
                return
            purse.bought += 1
            self.kinds.add(kind)
        # What it is called within (a function being traced, for reading) is none of its concern.
        kernel = Context().run(self._made, example)
        if kernel is not None:
            self.kernels = {**self.kernels, rank: (*known, kernel)}

    def _made(self, example: Arrays) -> Callable[..., Any] | None:
        try:
            kernel = compile(self.function, rounding="numpy", parallel=False).machine_code(*example)
        except SymgradError:
            return None  # it stays with NumPy
        return kernel if self.silent else watched(kernel)

    def _example(self, place: int, x: Any) -> Any:
        """Return what a kernel for ``x`` and its like is made for, or None."""
        if type(x) is float:
            return x
        if not isinstance(x, (ndarray, np.generic)) or x.dtype.kind not in "fb":
            return None
        if not x.ndim:
            return x if isinstance(x, np.generic) else None
        if x.ndim > len(SIZES) or 0 in x.shape:
            return None
        shape = [1 if size == 1 else SIZES[k] for k, size in enumerate(x.shape[::-1])][::-1]
        if self.along is not None and shape[self.along] != 1:
            shape[self.along] = LARGER + place
        return np.ones(shape, x.dtype)


__all__ = ["MISS", "Hot", "Purse"]
