"""Functions that say ``np.zeros`` and ``math.sin``, traced as they stand.

A function written for plain NumPy allocates plain arrays, which hold numbers only, and calls
``math``, which takes numbers only. :func:`adapt` makes a copy of it whose global names mean
symgrad's versions; its code is the same, and its module stays as it is.
"""

from __future__ import annotations

import builtins
import copy
import functools
import importlib
import inspect
import math
import random
import sys
from collections.abc import Callable, Iterator
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from .. import numpy as traced_numpy
from .._compile import Scope
from .._late import special
from .._ops.np_common import is_traced
from .._shapes import Size
from ..errors import ArgumentError
from ..numpy.random import Drawing, drawing

# ---------------------------------------------------------------- Python's math module

_SAME = (
    "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "log1p", "log2", "log10", "sqrt",
    "fabs", "hypot", "degrees", "radians", "copysign", "fmod", "ldexp", "frexp", "isnan", "isinf",
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
    "isclose": lambda a, b, rel_tol=1e-9, abs_tol=0.0: (
        np.abs(a - b) <= np.maximum(rel_tol * np.maximum(np.abs(a), np.abs(b)), abs_tol)
    ),
}  # fmt: skip


def _number_or_traced(name: str, traced: Callable[..., Any]) -> Callable[..., Any]:
    original = getattr(math, name)

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        args = tuple(list(a) if isinstance(a, Iterator) else a for a in args)
        flat = [v for a in args for v in (a if isinstance(a, (list, tuple)) else (a,))]
        if any(is_traced(v) or isinstance(v, Size) for v in flat):
            return traced(*args, **kwargs)
        return original(*args, **kwargs)

    return function


def _math() -> ModuleType:
    """Return Python's ``math`` for traced values too."""
    module = ModuleType("math", math.__doc__)
    vars(module).update({k: v for k, v in vars(math).items() if not k.startswith("__")})
    pairs = {name: getattr(np, name) for name in _SAME if hasattr(math, name)} | _OTHER
    for name, function in pairs.items():
        setattr(module, name, _number_or_traced(name, function))
    return module


MATH = _math()

# ---------------------------------------------------------------- random numbers


def _random() -> ModuleType:
    """Return Python's ``random``, which draws nothing while a function is traced."""
    module = ModuleType("random", random.__doc__)
    vars(module).update({k: v for k, v in vars(random).items() if not k.startswith("__")})
    for name, function in vars(random).items():
        if isinstance(getattr(function, "__self__", None), random.Random):
            setattr(module, name, drawing(function, f"random.{name}"))
    return module


RANDOM = _random()

# ---------------------------------------------------------------- NumPy's and SciPy's

#: The modules whose names are bound anew, by the names of symgrad's. They are imported when
#: they are met: scipy.stats takes a second.
MODULES = {
    "numpy": "symgrad.numpy", "numpy.linalg": "symgrad.numpy.linalg",
    "numpy.fft": "symgrad.numpy.fft", "numpy.random": "symgrad.numpy.random",
    "scipy": "symgrad.scipy", "scipy.optimize": "symgrad.scipy.optimize",
    "scipy.special": "symgrad.scipy.special", "scipy.linalg": "symgrad.scipy.linalg",
    "scipy.stats": "symgrad.scipy.stats",
}  # fmt: skip


def _ours(module: Any) -> Any:
    """Return symgrad's version of a module, or the module itself."""
    if module is math or module is random:
        return MATH if module is math else RANDOM
    name = MODULES.get(getattr(module, "__name__", ""))
    return module if name is None else importlib.import_module(name)


def _named(value: Any) -> Any:
    """Return symgrad's version of what was imported by name: ``from numpy import zeros``."""
    name = getattr(value, "__name__", None) or getattr(value, "name", None)
    if not callable(value) or isinstance(value, type) or not isinstance(name, str):
        return value
    for home in (math, random, *(sys.modules.get(m) for m in MODULES if m != "scipy")):
        if home is not None and vars(home).get(name) is value:
            return getattr(_ours(home), name)
    return value


# ---------------------------------------------------------------- the copy


def _real(scope: dict[str, Any]) -> dict[str, Any]:
    return scope.real if isinstance(scope, Scope) else scope


class _Adapter:
    """Copies functions of one module, with that module's names bound anew, for one call."""

    def __init__(self, scope: dict[str, Any]) -> None:
        self.home = _real(scope)
        self.scopes: dict[int, Scope] = {}
        self.made: dict[int, Callable[..., Any]] = {}
        self.after: list[Callable[[], None]] = []

    @staticmethod
    def imported(name: str, *args: Any) -> Any:
        """Carry out an import inside of a function."""
        return _ours(builtins.__import__(name, *args))

    def scope(self, names: dict[str, Any]) -> Scope:
        """Return the global names of a copy: those of now, bound anew."""
        if id(names) not in self.scopes:
            made = self.scopes[id(names)] = Scope(names, lambda _, value: self.value(value))
            # A function takes over the builtins that its globals have when it is made.
            made["__builtins__"] = {**vars(builtins), "__import__": self.imported}
            self.after.append(made.hand_on)
        return self.scopes[id(names)]

    def value(self, value: Any) -> Any:
        """Return what a name is bound to in the copy."""
        if isinstance(value, ModuleType):
            return _ours(value)
        if isinstance(value, FunctionType) and _real(value.__globals__) is self.home:
            return self.function(value)
        if isinstance(value, (np.random.Generator, np.random.RandomState)):
            return Drawing(value)
        if isinstance(value, functools.partial):
            inner = self.value(value.func)
            return functools.partial(inner, *value.args, **value.keywords)
        return _named(value)

    def function(self, function: FunctionType) -> Callable[..., Any]:
        """Return the copy of a function."""
        if id(function) in self.made:
            return self.made[id(function)]
        cells = []
        for cell in function.__closure__ or ():
            try:
                held = cell.cell_contents
            except ValueError:  # a name that is bound later: the cell itself is needed
                held = None
            changed = isinstance(held, (FunctionType, functools.partial)) or (
                held is not None and self.value(held) is not held
            )
            cells.append(CellType() if changed else cell)
        made: Any = FunctionType(
            function.__code__, self.scope(function.__globals__), function.__name__, None,
            tuple(cells) or None,
        )  # fmt: skip
        self.made[id(function)] = made
        functools.update_wrapper(made, function)
        del made.__wrapped__
        if function.__defaults__ is not None:
            made.__defaults__ = tuple(map(self.value, function.__defaults__))
        if function.__kwdefaults__ is not None:
            made.__kwdefaults__ = {k: self.value(v) for k, v in function.__kwdefaults__.items()}
        for cell, original in zip(cells, function.__closure__ or (), strict=True):
            if cell is not original:
                cell.cell_contents = self.value(original.cell_contents)
        return self.made[id(function)]

    def method(self, method: MethodType) -> Callable[..., Any]:
        """Return the method of a copy of its object, all of whose methods are copies."""
        owner = method.__self__
        if isinstance(owner, type):
            return MethodType(self.value(method.__func__), owner)
        kind = type(owner)
        names: dict[str, Any] = {}
        for base in reversed(kind.__mro__):
            for name, value in vars(base).items():
                if isinstance(value, FunctionType):
                    if _real(value.__globals__) is self.home:
                        names[name] = self.function(value)
                    else:
                        other = _Adapter(value.__globals__)
                        names[name] = other.function(value)
                        self.after.append(other.hand_on)
        if isinstance(method.__func__, FunctionType):  # it may be another than its class's
            names[method.__func__.__name__] = self.function(method.__func__)
        twin = copy.copy(owner)
        twin.__class__ = type(kind.__name__, (kind,), {"__module__": kind.__module__, **names})
        before = dict(vars(twin))

        def hand_on() -> None:
            vars(owner).update(
                {k: v for k, v in vars(twin).items() if before.get(k, twin) is not v}
            )

        self.after.append(hand_on)
        bound: Callable[..., Any] = getattr(twin, method.__func__.__name__)
        return bound

    def hand_on(self) -> None:
        """Hand on what was assigned to copies' names and attributes."""
        for action in self.after:
            action()


def adapt(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with its module's ``np``, ``math`` and ``scipy`` bound to symgrad's.

    So that a function which was written for plain NumPy can be traced as it stands: the arrays
    that it makes (``np.zeros(n)``, ``np.array([x, y])``) take traced values, may be assigned
    to, and ``math.sin`` takes traced numbers. Random numbers are refused unless the function
    gives their seed: they would be drawn once, while tracing.

    Parameters
    ----------
    f:
        A Python function or a method. Functions of the same module that it calls, and
        functions that it closes over, are adapted with it; functions of other modules are
        not (adapt them too, and pass them in).

    Returns
    -------
    callable
        The function with the same code and other global names, for ``sg.grad`` and all
        others. A copy is made at each call, so that it sees what its global names, closure
        and object are then; what it assigns to them is handed on.

    Raises
    ------
    ArgumentError
        For what has no Python code: built-in functions, classes, compiled functions.

    Examples
    --------
    >>> import math
    >>> import numpy as np
    >>> import symgrad as sg
    >>> def f(x):
    ...     y = np.zeros(3)
    ...     for i in range(3):
    ...         y[i] = math.sin(x) ** i
    ...     return np.sum(y)
    >>> sg.grad(sg.adapt(f))(0.0)
    np.float64(1.0)
    """
    if isinstance(f, functools.partial):
        return functools.partial(adapt(f.func), *f.args, **f.keywords)
    if not isinstance(f, (FunctionType, MethodType)):
        raise ArgumentError(
            f"adapt takes a Python function or a method, not {type(f).__name__}: adapt the "
            "function first, then transform it, sg.grad(sg.adapt(f))"
        )

    def copied() -> tuple[Callable[..., Any], _Adapter]:
        if isinstance(f, MethodType):
            adapter = _Adapter(f.__func__.__globals__)
            return adapter.method(f), adapter
        adapter = _Adapter(f.__globals__)
        return adapter.function(f), adapter

    @functools.wraps(f)
    def adapted(*args: Any, **kwargs: Any) -> Any:
        function, adapter = copied()
        try:
            return function(*args, **kwargs)
        finally:
            adapter.hand_on()

    own: Any = adapted
    own.__signature__ = inspect.signature(f)
    del own.__wrapped__
    own._recipe = adapt, (f,), {}
    own.copied = lambda: copied()[0]
    return adapted
