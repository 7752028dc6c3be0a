"""One loop of a universal function: the compiled function of a batch, of any number of examples."""

from __future__ import annotations

import functools
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._core.base.signals import foreseen
from .._core.base.state import PLAIN, now
from .._core.runtime import MISS
from .._core.trace import SHORT_LAST_AXIS, flatten
from .._dispatch import Call, Function, Given, Specialization
from .._syntax._control import fori_loop, scan
from ._transforms import compile

#: The core axes of each operand, by name.
Axes = list[list[str]]

#: Bytes of an operand that are copied at once, where it does not lie as compiled code takes it.
BLOCK = 1 << 18

#: Lengths to compile for, which stand for all: of the loop, and of core axes that are not short.
MANY, LONG = 4096, 120


class Rows(Function[..., Any]):
    """The function of a batch, which is compiled for any number of examples.

    Core axes have any lengths, too, except for short ones.
    """

    def __init__(self, *args: Any, axes: Axes, binary: bool, **options: Any) -> None:
        super().__init__(*args, **options)
        self._axes, self._cored = axes, any(axes)
        #: Whether NumPy may ask for reductions, in which an example's result is the next one's
        #: argument.
        self._binary = binary
        #: Lengths that it cannot be traced for.
        self._failing: set[Any] = set()
        #: The compiled functions for core axes of such lengths.
        self._ways: dict[tuple[int, ...], Any] = {}

    def _found(self, call: Call, **options: bool) -> tuple[Specialization, Given]:
        """Return what is compiled for lengths that stand for all, if it is right for these.

        Else the lengths of core axes are taken as they are (for ``x.reshape(-1, 2)``).
        """
        failed = set()
        for most in () if options.get("fixed") else (SHORT_LAST_AXIS, sys.maxsize):
            leaves = self._typical(call.leaves, most)
            key = tuple(x.shape for x in leaves)
            if key in self._failing:
                continue
            try:
                found, given = super()._found(replace(call, leaves=leaves), **options)
            except Warning:  # made an error by the user's filter, and shown once
                raise
            except foreseen(Exception):  # raised below, unless it is only wrong for these
                failed.add(key)
                continue
            given = replace(given, leaves=[*call.leaves, *given.leaves[len(call.leaves) :]])
            if found.admits(given.leaves):
                break
        else:
            found, given = super()._found(call, **options)
        self._failing |= failed
        return found, given

    def _typical(self, leaves: Sequence[Any], most: int) -> list[Any]:
        """Return arrays of lengths that stand for all, except for those up to ``most``."""
        sizes: dict[str, int] = {}
        made = []
        for x, names in zip(leaves, self._axes, strict=True):
            for name, size in zip(names, x.shape[1:], strict=True):
                sizes.setdefault(name, size if size <= most else LONG * (1 + len(sizes)))
            made.append(np.broadcast_to(x.dtype.type(1), (MANY, *(sizes[n] for n in names))))
        return made

    def step(self, *arrays: Any) -> None:
        """Compute a loop of NumPy's; its memory is gone after the call."""
        count = len(self._axes)
        key = self._key(arrays[:count]) if self._cored else ()
        way = self._ways.get(key)
        if (
            way is not None
            and now() is PLAIN
            and way(*arrays[:count], MISS, *arrays[count:]) is not MISS
        ):
            return
        try:
            if len(arrays[0]) == 1:
                self._write(key, arrays[:count], arrays[count:])
            else:
                self._blockwise(key, arrays)
        except BaseException as error:
            arrays = ()
            each: BaseException | None = error
            while each is not None:
                traceback.clear_frames(each.__traceback__)
                each = each.__cause__ or each.__context__
            raise

    @staticmethod
    def _key(given: Sequence[Any]) -> tuple[int, ...]:
        """Return what tells apart which code is for which core axes, whatever was called before."""
        return tuple([d if d <= SHORT_LAST_AXIS else -1 for x in given for d in x.shape[1:]])

    def _blockwise(self, key: tuple[int, ...], arrays: Sequence[Any]) -> None:
        """Compute a loop, with copies of what does not lie as compiled code takes it."""
        count, rows = len(self._axes), len(arrays[0])
        if self._binary and self._folds(*arrays):
            return
        most = max(1, BLOCK * rows // max(1, *[x.nbytes for x in arrays]))
        if rows <= most or _straight(arrays[:count], arrays[count:]):
            self._write(key, arrays[:count], arrays[count:])
            return
        # What is the same for all examples is copied once.
        arrays = [x if x.strides[0] else x[:most].copy() for x in arrays]
        for k in range(0, rows, most):
            block = [x[k : k + most] if len(x) == rows else x[: rows - k] for x in arrays]
            self._write(key, block[:count], block[count:])

    def _write(self, key: tuple[int, ...], given: Sequence[Any], outs: Sequence[Any]) -> None:
        """Compute results, and copy to ``outs`` what cannot be written there at once."""
        if len(given[0]) == 1:  # an axis of one has code of its own, and perhaps other digits
            given = [np.concatenate((x, x)) for x in given]
            into = [np.empty((2, *out.shape[1:]), out.dtype) for out in outs]
        else:
            given = [x if x.flags.c_contiguous else x.copy() for x in given]
            into = [x if x.flags.c_contiguous else np.empty(x.shape, x.dtype) for x in outs]
        way = self._ways.get(key)
        if way is None or now() is not PLAIN or way(*given, MISS, *into) is MISS:
            if _straight(given, into):
                self._compiled(key, given, into)
            else:  # a result is to lie where an argument does
                into = [np.empty(x.shape, x.dtype) for x in into]
                self._write(key, given, into)
        for x, out in zip(into, outs, strict=True):
            if x is not out:
                out[...] = x[: len(out)]

    def _compiled(self, key: tuple[int, ...], given: Sequence[Any], outs: Sequence[Any]) -> None:
        """Compute results as any function does, and keep the way."""
        args = tuple(given)
        call = self._given(args, flatten((args, {}))[1], args, {})
        name = self._backend_now()
        _, found, state = self._computed(call, outs[0] if len(outs) == 1 else tuple(outs), name)
        if name == "llvm" and now() is PLAIN and found.direct and found.pack is None:
            self._ways[key] = state.reading.caller(found.caller, len(args))

    @functools.cached_property
    def _last(self) -> Any:
        f = self._recipe[1][0]
        return compile(lambda start, xs: fori_loop(0, len(xs), lambda k, s: f(s, xs[k]), start))

    @functools.cached_property
    def _all(self) -> Any:
        f = self._recipe[1][0]
        return compile(lambda start, xs: scan(lambda s, x: (f(s, x),) * 2, start, xs)[1])

    def _folds(self, before: Any, xs: Any, out: Any) -> bool:
        """Compute ``reduce`` or ``accumulate``, if a loop is that: a value is read once written."""
        step = out.strides
        if before.strides != step or not np.may_share_memory(before, out):
            return False
        start, place = (x.__array_interface__["data"][0] for x in (before, out))
        if place - start != step[0]:
            return False
        if step == (0,):  # all in one place, which holds the start
            out[:1] = self._last(before[0], xs)
        else:
            out[...] = self._all(before[0], xs)
        return True


def _straight(given: Sequence[Any], outs: Sequence[Any]) -> bool:
    """Tell whether compiled code can read and write all of it where it is."""
    return all(x.flags.c_contiguous for x in (*given, *outs)) and not any(
        np.may_share_memory(x, out) for x in given for out in outs
    )
