"""What a compiled function may be asked for, and what type checkers are told of it.

``sg.grad(f)`` takes what ``f`` takes, by the same names, and gives what its first argument is.
The parameters and the type of the first of them are found at once by a protocol that asks for
both: a function that is called by all its parameters, and by the first one alone. Jacobians and
Hessians of arrays are arrays. What :func:`symgrad.vmap` gives takes an array where the function
takes a number, for which there is no type: its parameters are not checked, its results are.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, get_args, overload

import numpy as np
from numpy.typing import NDArray

from .._core.base.argument_checks import as_flag, as_word
from .._core.base.signals import foreseen
from .._core.base.state import within

#: What is differentiated, or differentiated by, as far as its derivatives are arrays.
Arrays: TypeAlias = float | NDArray[Any]

if TYPE_CHECKING:
    from typing_extensions import ParamSpec, TypeVar

    # Defaults: what is not annotated is Any, and `Function` is a function of anything.
    P = ParamSpec("P", default=...)
    R = TypeVar("R", default=Any)
    X = TypeVar("X", default=Any)
    S = TypeVar("S", bound=np.generic, default=Any)
    Result_co = TypeVar("Result_co", covariant=True)
    First_contra = TypeVar("First_contra", contravariant=True)
else:
    from typing import ParamSpec, TypeVar

    P, R, X, S = ParamSpec("P"), TypeVar("R"), TypeVar("X"), TypeVar("S")
    Result_co = TypeVar("Result_co", covariant=True)
    First_contra = TypeVar("First_contra", contravariant=True)


class Ufunc(Protocol):
    """NumPy's ufuncs, whose overloads say less than that they take everything."""

    @property
    def nin(self) -> int: ...
    @property
    def nargs(self) -> int: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


class Differentiable(Protocol[First_contra, Result_co, P]):
    """A function of parameters ``P``, whose first argument is of type ``First_contra``."""

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Result_co: ...
    @overload
    def __call__(self, first: First_contra, /, *args: Any, **kwargs: Any) -> Result_co: ...


Backend = Literal["llvm", "numba", "numpy"]
BACKENDS = get_args(Backend)


def check_backend(name: str) -> str:
    """Return ``name`` if it is a backend, or raise."""
    word: str = as_word(name, BACKENDS, "backend")
    return word


def check_parallel(choice: bool | None) -> bool | None:
    """Return ``choice`` if it is one of True, False and None, or raise."""
    return None if choice is None else as_flag(choice, "parallel", or_none=True)


def check_rounding(choice: str | None) -> str | None:
    """Return ``choice`` if it is ``"numpy"`` or None, or raise."""
    word: str | None = as_word(choice, ("numpy", None), "rounding")
    return word


def backend(name: Backend) -> AbstractContextManager[None]:
    """Run every function called in the block on the given backend.

    Parameters
    ----------
    name:
        ``"llvm"``, the default, calls the machine code that LLVM makes of the program.
        ``"numba"`` calls the same program through the Numba dispatcher that ``f.kernel(...)``
        gives. ``"numpy"`` runs it step by step under NumPy, with no wait for a compiler.

    Returns
    -------
    context manager
        Within its block the choice holds, in this thread.

    Raises
    ------
    ArgumentError
        If there is no such backend.

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
    except foreseen(TypeError, ValueError):  # a builtin
        return frozenset()
