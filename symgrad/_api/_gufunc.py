"""gufunc: a function of one example as a universal function of NumPy.

NumPy broadcasts, casts and allocates, and hands on loops over examples. Each is one call of the
compiled function of a batch, which writes its results to NumPy's memory.
"""

from __future__ import annotations

import copyreg
import importlib
import inspect
import itertools
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.base.argument_checks import as_items, as_text
from .._core.base.pickling import call_again
from .._core.base.sizes import as_dim
from .._core.runtime import origin_of, structures, universal
from .._dispatch import Function, loaded
from ..errors import ArgumentError, UnsupportedError
from ._gufunc_rows import Axes, Rows
from ._gufunc_traced import Core, check_results, results_of, written
from ._transforms import check_function
from ._vmap import vmap_body

_OPERAND = r"\(\s*(?:\w+\??\s*(?:,\s*\w+\??\s*)*)?\)"
_OPERANDS = rf"\s*{_OPERAND}\s*(?:,\s*{_OPERAND}\s*)*"
_SIGNATURE = re.compile(f"({_OPERANDS})->({_OPERANDS})")


def gufunc(
    f: Callable[..., Any],
    signature: str | None = None,
    *,
    types: Sequence[str] | None = None,
    parallel: bool | None = None,
) -> np.ufunc:
    """Return a NumPy universal function that applies a function to each example.

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
        ``.reduce``, ``.accumulate``, ``.outer`` and ``.at``. Values that ``f`` captures
        are checked in each call. It is compiled when it is first called, and pickles
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
    said = [_every(c, nin, nout) for c in "fd"] if types is None else _words(types)
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


def _words(types: Any) -> list[str]:
    """Return the types of loops, each as text."""
    listed = as_items(types, "gufunc: types", "text such as 'dd->d'")
    return [as_text(x, "gufunc: one of types") for x in listed]


def _axes(f: Callable[..., Any], signature: str | None) -> tuple[Axes, Axes]:
    """Return the core axes of the arguments and of the results."""
    if signature is None:
        return [[]] * _positional(f)[0], [[]]
    found = _SIGNATURE.fullmatch(as_text(signature, "gufunc: signature").strip())
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


# ---------------------------------------------------------------- one loop


def _rows(f: Callable[..., Any], core: str, chars: str, parallel: bool | None = None) -> Rows:
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
    return Rows(body, f, recipe, parallel=parallel, axes=inputs, binary=binary)
