"""What type checkers are told of functions, and of what transformations make of them.

``sg.grad(f)`` takes what ``f`` takes, by the same names, and gives what its first argument is.
The parameters and the type of the first of them are found at once by a protocol that asks for
both: a function that is called by all its parameters, and by the first one alone. Jacobians and
Hessians of arrays are arrays. What :func:`symgrad.vmap` gives takes an array where the function
takes a number, for which there is no type: its parameters are not checked, its results are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

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
