"""Functions written for plain NumPy, adapted where tracing needs it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from .._core.base.class_modules import module_of
from .._core.base.state import within
from ._locations import Walk
from ._ownership import NONE
from ._reads import read_by
from ._substitutes import Substitutes
from ._versions import has_alias, namespace


def can_be_adapted(walk: Walk, sized: bool = False) -> bool:
    """Tell whether a function, or what it reads, has another version in a trace."""
    twins = Substitutes(walk, {}, adapted=True, sized=sized)
    return _NAMESPACE in walk.mentioned or any(twins.root(x) is not x for x in walk.roots)


#: The method that returns other functions in adapted code.
_NAMESPACE = "__array_namespace__"

#: SciPy's modules whose functions call back, or whose objects take traced values for numbers.
_CALLING = ("scipy.optimize", "scipy.integrate", "scipy.sparse")

#: Python's modules that read what is outside, or draw, and NumPy's functions that do.
_OUTSIDE = frozenset(
    (
        "time", "datetime", "os", "posix", "io", "_io", "pathlib", "secrets", "random", "_random",
        "subprocess",
    )
)  # fmt: skip

#: Modules in C that look at the types of numbers, and the names of methods of ``float``, which do.
_LOOKING = frozenset(("decimal", "json", "json.encoder", "marshal"))
_OF_FLOAT = frozenset(vars(float)) - {"__new__", "__doc__", "__getattribute__"}
_READING = frozenset(
    ("loadtxt", "genfromtxt", "fromfile", "load", "default_rng", "input", "random")
)


def adapted_at_once(walk: Walk) -> bool:
    """Tell whether a function must not be tried as it stands.

    It may call SciPy's solvers, whose C code calls it back. That must not meet a traced value: the
    refusal is an exception, past which Brent's method goes on to call Python, as CPython does not
    allow. Or it may read a clock or a file, which succeeds, and would be a constant. An adapted
    copy calls symgrad's solvers, clocks and files. Aliases of typing answer for the traced value's
    class. Sparse matrices of SciPy's can be multiplied by a traced number: they then hold it, and
    do not know its shape. ``id`` of an object is not that of its copy. And ``Decimal(x)`` and
    ``float.hex(x)`` look at the type of x, without asking it for its number.
    """
    parts = (x for held in (walk.parts, walk.bound) for _, own in held.values() for _, x in own)
    names = set(walk.mentioned)
    asks = "isinstance" in walk.mentioned
    for value in (*walk.met.values(), *parts):
        if value is float and walk.mentioned & _OF_FLOAT:
            return True
        if value is id or (asks and has_alias(value, walk.mentioned)):
            return True
        if isinstance(value, ModuleType):
            names.add(value.__name__)
            if value.__name__ in _OUTSIDE or value.__name__ in _LOOKING:
                return True
        elif isinstance(value, (FunctionType, BuiltinFunctionType, MethodType, type)):
            home = value.__module__ or ""
            names.add(home)
            if home in _OUTSIDE or home in _LOOKING:
                return True
        else:
            home = module_of(type(value))
            if home.partition(".")[0] in _OUTSIDE or home.startswith("scipy.sparse"):
                return True  # os.environ, paths, matrices
    if "numpy" in names and not names.isdisjoint(_READING):
        return True
    if any(name.startswith(("pandas", "xarray")) for name in names) and any(
        name.startswith(("read_", "open_", "load_", "Timestamp")) for name in names
    ):
        return True
    solving = any(name.startswith(_CALLING) for name in names)
    return solving or (
        "scipy" in names and not names.isdisjoint(("optimize", "integrate", "sparse"))
    )


def adapted(f: Callable[..., Any], packages: frozenset[str] = NONE) -> Callable[..., Any]:
    """Return a function that makes an adapted copy of another at each call, and calls it.

    ``packages``: installed ones whose functions are adapted with it.
    """

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        twins = Substitutes(read_by(f, packages=packages), {}, adapted=True)
        try:
            with within(namespace=namespace()):
                result = twins.root(f)(*twins.given(args), **twins.given(kwargs))
        finally:
            twins.hand_on()
        return twins.outside(result)

    return call
