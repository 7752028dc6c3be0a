"""Python's ``cmath``, for traced numbers too: complex, or real ones as complex."""

from __future__ import annotations

import cmath
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.base.sizes import Size
from .._core.ops.np_common import is_traced
from .._core.trace import Complex
from ._math import as_number, as_of_python

_NAMED: dict[str, Callable[..., Any]] = {
    "exp": np.exp, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "log": lambda z, base=None: np.log(z) if base is None else np.log(z) / np.log(_complex(base)),
    "log10": lambda z: np.log(z) / np.log(10.0), "phase": np.angle,
    "polar": lambda z: (np.abs(z), np.angle(z)),
    "isnan": lambda z: np.isnan(z.real) | np.isnan(z.imag),
    "isinf": lambda z: np.isinf(z.real) | np.isinf(z.imag),
    "isfinite": lambda z: np.isfinite(z.real) & np.isfinite(z.imag),
}  # fmt: skip
_OF_TWO: dict[str, Callable[..., Any]] = {
    "rect": lambda r, phi: r * (np.cos(phi) + 1j * np.sin(phi)),
    "isclose": lambda a, b, rel_tol=1e-9, abs_tol=0.0: (
        np.abs(a - b) <= np.maximum(rel_tol * np.maximum(np.abs(a), np.abs(b)), abs_tol)
    ),
}


def _complex(x: Any) -> Any:
    x = as_number(x)
    return x if np.iscomplexobj(x) else x + 0j


def _of_python(x: Any) -> Any:
    """Return a result with the types that Python's has: ``complex``, ``float`` or ``bool``."""
    if isinstance(x, tuple):
        return tuple(map(_of_python, x))
    return Complex(*map(as_of_python, (x.real, x.imag))) if type(x) is Complex else as_of_python(x)


def _number_or_traced(name: str, traced: Callable[..., Any], first: bool) -> Callable[..., Any]:
    """Return a function of ``cmath``; ``first``: whether its first argument becomes complex."""
    original = getattr(cmath, name)

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        if not any(is_traced(x) or isinstance(x, Size) for x in (*args, *kwargs.values())):
            return original(*args, **kwargs)
        if not first:
            return _of_python(traced(*map(as_number, args), **kwargs))
        z, *rest = args
        return _of_python(traced(_complex(z), *rest, **kwargs))

    return function


globals().update({k: v for k, v in vars(cmath).items() if not k.startswith("__")})
globals().update({name: _number_or_traced(name, f, True) for name, f in _NAMED.items()})
globals().update({name: _number_or_traced(name, f, False) for name, f in _OF_TWO.items()})
