"""Builtins and types of numbers that functions call: ``np.float64(x)``, ``max(x, y)``."""

from __future__ import annotations

import functools
import operator
import typing
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from .._core.base.fork_safety import late_module
from .._core.base.sizes import Size
from .._core.base.stand_in_types import class_of
from .._core.trace import Reading, Traced, as_traced, known_number, reading
from ..errors import TraceError
from ._conversions import methods_of_float
from ._creation import array, symbolic
from ._environment import Version


class _Number(type):
    """The type of such types: instances are those of the original, which it equals."""

    original: type

    def __instancecheck__(cls, value: Any) -> bool:
        return issubclass(class_of(value), cls.original)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, cls.original)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.original

    def __hash__(cls) -> int:
        return hash(cls.original)


class _Float(_Number):
    original = float

    def __call__(cls, x: Any = 0.0, /) -> Any:
        """Return a number as a float; a traced one stays traced."""
        if isinstance(x, Reading):
            return reading(float(x.number()), x.read_at)
        if type(x) is Size:
            return float(x)
        if not isinstance(x, Traced):
            own = getattr(type(x), "__float__", None)
            found = own(x) if isinstance(own, FunctionType) else None
            # Python takes none that returns a traced value.
            return cls(found) if isinstance(found, Traced) else float(x)
        if known_number(x.node) is not None:
            return float(x)
        if x.node.dtype.kind != "f" or any(d != 1 for d in x.node.shape):
            return float(x)
        number: Any = as_traced(x).reshape(()).astype(np.float64)
        return Traced(number.node, float)


class Float(float, metaclass=_Float):
    """Stands for ``float`` in adapted functions, as an element type too."""

    dtype = np.dtype(np.float64)


for _name, _method in methods_of_float().items():
    setattr(Float, _name, _method)


class _Complex(_Number):
    original = complex

    def __call__(cls, real: Any = 0.0, imag: Any = None, /) -> Any:
        """Return a complex number of two parts, which may be traced."""
        if not any(isinstance(x, (Traced, Size)) or _is_complex(x) for x in (real, imag)):
            return complex(real) if imag is None else complex(real, imag)
        if np.ndim(real) or np.ndim(imag or 0.0):
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
        return real + 0j if imag is None else real + 1j * imag


class Complex(complex, metaclass=_Complex):
    """Stands for ``complex`` in adapted functions, as an element type too."""

    dtype = np.dtype(np.complex128)


def _is_complex(x: Any) -> bool:
    return hasattr(type(x), "overwritten")


class _Scalar(_Number):
    def __call__(cls, x: Any = 0, /) -> Any:
        """Return a number, or an array, as one of this type."""
        if not symbolic(x):
            return cls.original(x)
        made = array(x, cls.original)
        return made if made.ndim or not isinstance(made, Traced) else Traced(made.node)


def _scalar(kind: Any) -> Any:
    text = f"NumPy's ``{kind.__name__}``, which takes traced values, too."
    names = {"__doc__": text, "__module__": __name__, "dtype": np.dtype(kind)}
    made = _Scalar(kind.__name__, (kind,), names)
    made.original = kind
    return made


def _extreme(original: Callable[..., Any], beyond: Callable[[Any, Any], Any]) -> Any:
    """Return ``max`` or ``min``, which select where no comparison decides, as in a batch."""

    @functools.wraps(original)
    def version(*args: Any, **options: Any) -> Any:
        values = list(args[0]) if len(args) == 1 else args
        try:
            return original(values, **options) if len(args) == 1 else original(*args, **options)
        except TraceError:
            if "key" in options or any(map(np.ndim, values)):
                raise
        return functools.reduce(lambda a, b: np.where(beyond(b, a), b, a), values)

    return version


#: Versions of what is called so: of builtins, of NumPy's types, and NumPy with these.
BUILTIN = {
    "float": Float, "complex": Complex,
    "max": _extreme(max, operator.gt), "min": _extreme(min, operator.lt),
}  # fmt: skip
SCALARS = {kind: _scalar(kind) for kind in (np.float64, np.float32, np.complex128, np.complex64)}
NUMPY = Version(
    late_module("symgrad.numpy"),
    **{name: SCALARS[kind] for name, kind in vars(np).items()
       if isinstance(kind, type) and kind in SCALARS},
)  # fmt: skip

#: NumPy for code that asks for types: what ``type(x)`` returns is its own array type, as elsewhere.
ASKED = Version(late_module("symgrad.numpy"), ndarray=np.ndarray)

#: Of typing the classes that its aliases stand for, which ask no value for its type.
TYPING = Version(
    typing,
    **{name: x.__origin__ for name, x in vars(typing).items()
       if type(x).__module__ == "typing" and isinstance(getattr(x, "__origin__", None), type)},
)  # fmt: skip
