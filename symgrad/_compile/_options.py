"""What a compiled function may be asked for: backends, threads, rounding, ``out=``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Literal, get_args

from .._state import within
from ..errors import ArgumentError

Backend = Literal["llvm", "numba", "numpy"]
BACKENDS = get_args(Backend)


def check_backend(name: str) -> str:
    """Return ``name`` if it is a backend, or raise."""
    if name in BACKENDS:
        return name
    *others, last = map(repr, BACKENDS)
    raise ArgumentError(f"backend is {', '.join(others)} or {last}, not {name!r}")


def check_parallel(choice: bool | None) -> bool | None:
    """Return ``choice`` if it is one of True, False and None, or raise."""
    if choice not in (True, False, None):
        raise ArgumentError(f"parallel is True, False or None, not {choice!r}")
    return choice


def check_rounding(choice: str | None) -> str | None:
    """Return ``choice`` if it is ``"numpy"`` or None, or raise."""
    if choice not in (None, "numpy"):
        raise ArgumentError(f"rounding is 'numpy' or None, not {choice!r}")
    return choice


def backend(name: Backend) -> AbstractContextManager[None]:
    """Run every function called in the block on the given backend.

    Parameters
    ----------
    name:
        ``"llvm"``, the default, calls the machine code that LLVM makes of the program.
        ``"numba"`` calls the same program through the Numba dispatcher that ``f.kernel(...)``
        gives. ``"numpy"`` runs it step by step under NumPy, with no wait for a compiler.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> with sg.backend("numpy"):
    ...     print(sg.grad(np.sin)(0.0))
    1.0
    """
    return within(backend=check_backend(name))


def parameters_of(function: Callable[..., Any]) -> frozenset[str]:
    """Return the names of a function's own parameters, of which ``out`` may be one."""
    # NumPy's own ``out`` means what the compiled function's does; while tracing there is no
    # array yet that it could write to.
    if str(getattr(function, "__module__", None) or type(function).__module__).startswith("numpy"):
        return frozenset()
    try:
        return frozenset(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a builtin
        return frozenset()


__all__ = [
    "Backend", "backend", "check_backend", "check_parallel", "check_rounding", "parameters_of",
]  # fmt: skip
