"""gufunc: a function of one example as a universal function of NumPy's.

NumPy broadcasts, casts and allocates, and hands on loops over examples. Each is one call of the
compiled function of a batch, which writes its results to NumPy's memory.
"""

from __future__ import annotations

import copyreg
import functools
import importlib
import inspect
import itertools
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._compile import Call, Function, Given, Specialization, loaded
from .._pickles import call_again
from .._runtime import MISS, origin_of, structures, universal
from .._shapes import SHORT_LAST_AXIS, as_dim
from .._state import PLAIN, now
from .._trace import flatten
from ..errors import ArgumentError, UnsupportedError
from ._control import fori_loop, scan
from ._gufunc_traced import Core, check_results, results_of, written
from ._transforms import check_function, compile
from ._vmap import vmap_body

_OPERAND = r"\(\s*(?:\w+\??\s*(?:,\s*\w+\??\s*)*)?\)"
_OPERANDS = rf"\s*{_OPERAND}\s*(?:,\s*{_OPERAND}\s*)*"
_SIGNATURE = re.compile(f"({_OPERANDS})->({_OPERANDS})")

#: The core axes of each operand, by name.
Axes = list[list[str]]

#: Bytes of an operand that are copied at once, where it does not lie as compiled code takes it.
BLOCK = 1 << 18

#: Lengths to compile for, which stand for all: of the loop, and of core axes that are not short.
MANY, LONG = 4096, 120


def gufunc(
    f: Callable[..., Any],
    signature: str | None = None,
    *,
    types: Sequence[str] | None = None,
    parallel: bool | None = None,
) -> np.ufunc:
    """Return a universal function of NumPy's that applies a function to each example.

    Parameters
    ----------
    f:
        A NumPy function of one example, or a derivative of one (:func:`grad`,
        :func:`value_and_grad`, :func:`hessian`). Its arguments are arrays or numbers; several
        results are counted in the order in which they are nested.
    signature:
        The axes of one example, as in ``"(n),(n)->()"``: each argument's, then each result's.
        Axes of the same name have the same length, a number is that length, and ``n?`` may be
        missing. Without it all of them are numbers, and there is one result.
    types:
        The element types of arguments and results, a loop each, as in ``["dd->d", "D->D"]``, in
        NumPy's characters. By default float32 and float64: what NumPy casts to them safely,
        such as integers, is cast.
    parallel:
        Whether a loop may use several threads, as in :func:`compile`.

    Returns
    -------
    numpy.ufunc
        With NumPy's own broadcasting, ``out=``, ``axes=``, ``axis=``, ``casting=``, ``dtype=``,
        ``where=``; ``keepdims=`` for results without axes; and of two numbers that give one,
        ``.reduce``, ``.accumulate``, ``.outer`` and ``.at``. What ``f`` reads besides its
        arguments is looked at in each call. It is compiled when it is first called, and pickles
        if ``f`` does.

    Raises
    ------
    ArgumentError
        If the signature or the types cannot be read, or do not fit the arguments of ``f``.
    ShapeError, DTypeError
        When called, if results of ``f`` are not of the axes or types that were said.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> def distance(p, q):
    ...     return np.sqrt(np.sum((p - q) ** 2))
    >>> d = sg.gufunc(distance, "(n),(n)->()")
    >>> d(np.ones((4, 1, 3)), np.zeros((2, 3))).shape
    (4, 2)
    >>> sg.gufunc(sg.grad(distance), "(n),(n)->(n)")([3.0, 4.0], [0.0, 0.0])
    array([0.6, 0.8])
    """
    check_function(f, "gufunc")
    if structures.FAULT is not None:
        raise UnsupportedError(f"gufunc relies on {structures.FAULT}, which is otherwise here")
    inputs, outputs = _axes(f, signature)
    _check_arguments(f, len(inputs))
    nin, nout = len(inputs), len(outputs)
    said = [_every(c, nin, nout) for c in "fd"] if types is None else list(types)
    loops = [_chars(text, nin, nout) for text in said or [""]]
    core = written(inputs, outputs)
    found = in_trace(f, signature or core, loops)
    found.made = gufunc, (f, signature), {"types": types and tuple(types), "parallel": parallel}
    made = universal(
        [_rows(f, core, chars, parallel=parallel).step for chars in loops], loops, nin,
        name=getattr(f, "__name__", type(f).__name__), doc=inspect.getdoc(f) or "",
        signature=signature if any((*inputs, *outputs)) else None,
        origin=found, load=loaded,
    )  # fmt: skip
    copyreg.pickle(np.ufunc, _reduced)
    return made


def _axes(f: Callable[..., Any], signature: str | None) -> tuple[Axes, Axes]:
    """Return the core axes of the arguments and of the results."""
    if signature is None:
        return [[]] * _positional(f)[0], [[]]
    found = _SIGNATURE.fullmatch(str(signature).strip())
    if found is None:
        raise ArgumentError(
            f'a signature is the axes of each argument and of each result, as "(n),(n)->()", not '
            f"{signature!r}"
        )
    inputs, outputs = (
        [re.findall(r"\w+", operand) for operand in re.findall(_OPERAND, side)]
        for side in found.groups()
    )
    for name in itertools.chain(*outputs):
        if not name.isdecimal() and name not in itertools.chain(*inputs):
            raise ArgumentError(
                f"the axis {name} of a result is of no argument in {signature!r}: NumPy could not "
                "know how long it is; write its length as a number"
            )
    return inputs, outputs


def _positional(f: Callable[..., Any]) -> tuple[int, float]:
    """Return how many positional arguments a function needs, and takes."""
    if isinstance(f, np.ufunc):
        return f.nin, f.nin
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return 1, float("inf")
    plain = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    free = any(p.kind == p.VAR_POSITIONAL for p in parameters)
    needed = sum(p.default is p.empty for p in plain)
    return (needed or 1), float("inf") if free else len(plain)


def _check_arguments(f: Callable[..., Any], count: int) -> None:
    least, most = _positional(f)
    name = getattr(f, "__name__", "the function")
    if most == 0:
        raise ArgumentError(f"{name} takes no arguments, and a universal function has one at least")
    if not least <= count <= most:
        takes = f"{least}" if least == most else f"{least} to {most}"
        raise ArgumentError(f"the signature has {count} arguments, but {name} takes {takes}")


def _every(char: str, nin: int, nout: int) -> str:
    return f"{char * nin}->{char * nout}"


def _chars(text: str, nin: int, nout: int) -> str:
    """Return the element types of a loop's operands."""
    given, _, results = str(text).partition("->")
    known = set(given + results) <= set("?bBhHiIlLqQfdFD")
    if not known or (len(given), len(results)) != (nin, nout):
        raise ArgumentError(
            f"types are a character for each argument and each result, here as "
            f'"{_every("d", nin, nout)}", of ?, b, h, i, l, q and these as capitals, f, d, F, D, '
            f"not {text!r}"
        )
    return given + results


# ---------------------------------------------------------------- in traced functions


class _InTrace(Function[..., Any]):
    """What a universal function computes of traced values, and of eager tensors."""

    #: What makes the universal function.
    made: tuple[Any, ...]


def in_trace(f: Callable[..., Any], core: str, loops: Sequence[str]) -> _InTrace:
    """Return the function of traced values; ``core`` and ``loops`` are axes and types."""
    inputs, outputs = (
        [re.findall(r"\w+\??", operand) for operand in re.findall(_OPERAND, side)]
        for side in core.split("->")
    )
    return _InTrace(Core(f, inputs, outputs, loops), f, (in_trace, (f, core, loops), {}))


# ---------------------------------------------------------------- one loop


def _rows(f: Callable[..., Any], core: str, chars: str, parallel: bool | None = None) -> _Rows:
    """Return ``f`` of a batch; ``core`` and ``chars`` are axes and types of all operands."""
    inputs, outputs = _axes(f, core)
    batched = vmap_body(f, 0, 0)

    def body(*args: Any, _top: bool = False) -> Any:
        results = results_of(batched(*args))
        sizes = {
            name: as_dim(size)
            for x, names in zip(args, inputs, strict=True)
            for name, size in zip(names, x.shape[1:], strict=True)
        }
        lead = tuple(map(as_dim, args[0].shape[:1]))
        check_results(results, outputs, sizes, lead, chars[len(inputs) :], core)
        return results[0] if len(results) == 1 else tuple(results)

    recipe = (_rows, (f, core, chars), {"parallel": parallel})
    binary = (inputs, outputs) == ([[], []], [[]])
    return _Rows(body, f, recipe, parallel=parallel, axes=inputs, binary=binary)


class _Rows(Function[..., Any]):
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
            except Exception:  # noqa: BLE001  raised below, unless it is only wrong for these
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


# ---------------------------------------------------------------- pickling


def _reduced(ufunc: np.ufunc) -> Any:
    """Return how to pickle a universal function.

    NumPy's own go by their name. Ours go by the name that they have in their function's module,
    so that a worker compiles once; else by what they are made of.
    """
    origin = origin_of(ufunc)
    if origin is None:
        return ufunc.__name__
    make, (f, signature), options = origin.made
    module = getattr(f, "__module__", None) or ""
    if module != "__main__":  # another process has another
        for name, value in vars(sys.modules.get(module, object)).items():
            if value is ufunc:
                return _named, (module, name)
    return call_again(make, (f, signature), options)


def _named(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)
