"""Python's ``math``, for traced numbers too."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np

import symgrad.numpy as traced_numpy

from .._core.base.scipy_names import special
from .._core.base.sizes import Size
from .._core.ops.np_common import is_traced
from .._core.trace import Traced, raise_caught

_SAME = (
    "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "log1p", "log2", "log10", "sqrt",
    "fabs", "modf", "degrees", "radians", "copysign", "fmod", "ldexp", "frexp", "isnan", "isinf",
    "isfinite", "cbrt", "exp2", "gcd", "lcm", "nextafter", "trunc",
)  # fmt: skip
_OTHER: dict[str, Callable[..., Any]] = {
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "pow": np.power,
    "erf": special.erf, "erfc": special.erfc, "gamma": special.gamma,
    "lgamma": special.gammaln, "remainder": lambda x, y: x - y * np.rint(x / y),
    "floor": lambda x: np.floor(x).astype(np.int64), "ceil": lambda x: np.ceil(x).astype(np.int64),
    "log": lambda x, base=None: np.log(x) if base is None else np.log(x) / np.log(base),
    "fsum": lambda x: traced_numpy.sum(x), "prod": lambda x, start=1: start * traced_numpy.prod(x),
    "dist": lambda p, q: np.linalg.norm(traced_numpy.asarray(p) - traced_numpy.asarray(q)),
    "hypot": lambda *xs: functools.reduce(np.hypot, xs) if len(xs) > 1 else np.abs(*xs),
    "sumprod": lambda p, q: np.dot(traced_numpy.asarray(p), traced_numpy.asarray(q)),
    "isclose": lambda a, b, rel_tol=1e-9, abs_tol=0.0: (
        np.abs(a - b) <= np.maximum(rel_tol * np.maximum(np.abs(a), np.abs(b)), abs_tol)
    ),
}  # fmt: skip


def as_number(x: Any) -> Any:
    """Return the number in an array of one element, as Python's ``float`` does.

    Raises
    ------
    TypeError
        Python's, for an array of another number of elements.
    """
    shape = x.shape if is_traced(x) and hasattr(x, "shape") else ()
    if any(d != 1 for d in shape):
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
    return x.reshape(()) if shape else x


def as_of_python(x: Any) -> Any:
    """Return a number as one of Python's, which adapts to the arrays that it meets."""
    if isinstance(x, tuple):
        return tuple(map(as_of_python, x))
    if not isinstance(x, Traced) or x.ndim or x.dtype.kind not in _KINDS:
        return x
    return Traced(_wide(x).node, _KINDS[x.dtype.kind])


_KINDS: dict[str, type] = {"f": float, "i": int, "b": bool}


def _wide(x: Traced) -> Any:
    """Return a number in the width of Python's."""
    wide = {"f": np.float64, "i": np.int64}.get(x.dtype.kind)
    return x if wide in (None, x.dtype.type) else x.astype(wide)


#: The functions that take vectors.
_OF_VECTORS = ("dist", "fsum", "prod", "sumprod")


#: Functions that have no value for some arguments, for which they raise ValueError.
_DOMAINS = frozenset((
    "sqrt", "log", "log2", "log10", "log1p", "acos", "asin", "acosh", "atanh", "fmod", "remainder",
    "gamma", "lgamma", "pow", "sin", "cos", "tan",
))  # fmt: skip
#: Functions with poles, where they raise ValueError, too, and whether arguments are at one if the
#: result is infinite.
_POLES: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("log", "log2", "log10", "log1p", "atanh"), lambda *_: True),
    **dict.fromkeys(("gamma", "lgamma"), lambda x: np.less_equal(x, 0)),
    "pow": lambda x, _: np.equal(x, 0),
}
#: Functions whose values may be too large: OverflowError.
_GROWING = frozenset((
    "exp", "exp2", "expm1", "cosh", "sinh", "pow", "gamma", "lgamma", "ldexp", "hypot",
))  # fmt: skip


def _raise_caught(name: str, args: tuple[Any, ...], found: Any, frame: FrameType) -> None:
    """Raise the error that a function of ``math`` raises, where the traced code catches it."""

    def at_pole() -> Any:
        return _POLES[name](*args) if name in _POLES else False

    def infinite() -> Any:
        return functools.reduce(np.logical_and, map(np.isfinite, args), np.isinf(found))

    def undefined() -> Any:
        numbers = (np.logical_not(np.isnan(x)) for x in args)
        nan = functools.reduce(np.logical_and, numbers, np.isnan(found))
        if name not in _POLES:
            return nan
        return np.logical_or(nan, np.logical_and(infinite(), at_pole()))

    if name in _DOMAINS:
        raise_caught(ValueError, "math domain error", undefined, frame)
    if name in _GROWING:
        raise_caught(
            OverflowError,
            "math range error",
            lambda: np.logical_and(infinite(), np.logical_not(at_pole())),
            frame,
        )


def _number_or_traced(name: str, traced: Callable[..., Any]) -> Callable[..., Any]:
    original = getattr(math, name)

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        args = tuple(list(a) if isinstance(a, Iterator) else a for a in args)
        flat = [v for a in args for v in (a if isinstance(a, (list, tuple)) else (a,))]
        if any(is_traced(v) for v in flat):
            if name not in _OF_VECTORS:
                args = tuple(map(as_number, args))
            found = as_of_python(traced(*args, **kwargs))
            if name in _DOMAINS or name in _GROWING:
                _raise_caught(name, args, found, sys._getframe(1))
            return found
        if any(isinstance(v, Size) for v in flat):
            return as_of_python(traced(*args, **kwargs))
        return original(*args, **kwargs)

    return function


globals().update({k: v for k, v in vars(math).items() if not k.startswith("__")})
_NAMED = {name: getattr(np, name) for name in _SAME if hasattr(math, name)} | _OTHER
globals().update({
    name: _number_or_traced(name, traced) for name, traced in _NAMED.items() if hasattr(math, name)
})  # fmt: skip
