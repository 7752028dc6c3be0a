"""Derivatives of arrays by arrays: ``jacobian`` and ``hessian``, dense and sparse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, overload

from numpy.typing import NDArray

from .._core.base.argument_checks import as_flag, as_word
from .._dispatch import Arrays, Differentiable, Function, P, S, Ufunc
from ..errors import ArgumentError
from ._argnums import Keys, Names, keys_of, real_arguments
from ._bodies import grad_body
from ._jacobian import jacobian_body
from ._sparse_body import sparse_body
from ._sparse_functions import SparseFunction
from ._transforms import asked, check_function, made


@overload
def jacobian(
    f: Ufunc, argnums: Keys | None = None, mode: str = "auto", sparse: Literal[False] = False,
    holomorphic: bool = False, *, argnames: Names | None = None, format: str = "csr",
) -> Function: ...  # fmt: skip
@overload
def jacobian(
    f: Differentiable[NDArray[S], Arrays, P], argnums: Literal[0] | None = None, mode: str = "auto",
    sparse: Literal[False] = False, holomorphic: bool = False,
    *, argnames: None = None, format: str = "csr",
) -> Function[P, NDArray[S]]: ...  # fmt: skip
@overload
def jacobian(
    f: Differentiable[float, NDArray[S], P], argnums: Literal[0] | None = None, mode: str = "auto",
    sparse: Literal[False] = False, holomorphic: bool = False,
    *, argnames: None = None, format: str = "csr",
) -> Function[P, NDArray[S]]: ...  # fmt: skip
@overload
def jacobian(
    f: Callable[P, Any], argnums: Keys | None = None, mode: str = "auto",
    sparse: Literal[False] = False, holomorphic: bool = False,
    *, argnames: Names | None = None, format: str = "csr",
) -> Function[P, Any]: ...  # fmt: skip
@overload
def jacobian(
    f: Callable[P, Any], argnums: Keys | None = None, mode: str = "auto", *, sparse: Literal[True],
    argnames: Names | None = None, format: str = "csr",
) -> SparseFunction[P]: ...  # fmt: skip
def jacobian(
    f: Callable[..., Any],
    argnums: Keys | None = None,
    mode: str = "auto",
    sparse: bool = False,
    holomorphic: bool = False,
    *,
    argnames: Names | None = None,
    format: str = "csr",  # noqa: A002
) -> Function:
    """Return the Jacobian of a function with array results.

    Parameters
    ----------
    f:
        A NumPy function.
    argnums:
        The positions of the arguments to differentiate with respect to, as of :func:`grad`.
    mode:
        ``"forward"`` (columns), ``"reverse"`` (rows) or ``"auto"`` (the fewer).
    sparse:
        Whether the result is a SciPy sparse array, of shape (result's size, argument's
        size), whose pattern is detected: see :class:`SparseFunction`.
    holomorphic:
        Whether ``f`` is a holomorphic function of complex arguments with complex results.
    format:
        Of a sparse result: ``"csr"``, ``"csc"`` or ``"coo"``.
    argnames:
        The names of the arguments to differentiate with respect to.

    Returns
    -------
    Function
        Its result has the shape of the function's result followed by the argument's.

    Raises
    ------
    ArgumentError
        When called, if there is no such argument, or it is not of floating point.
    TraceError, UnsupportedError
        When called, if ``f`` cannot be traced, or has no sparse derivative.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> sg.jacobian(lambda x: np.array([2.0, 3.0]) * x**2)(np.array([1.0, 2.0]))
    array([[ 4.,  0.],
           [ 0., 12.]])
    >>> J = sg.jacobian(lambda x: x[1:] * x[:-1], sparse=True)
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> J(x).toarray()
    array([[2., 1., 0.],
           [0., 3., 2.]])
    >>> J.values(x), J.nnz
    (array([2., 1., 3., 2.]), 4)
    """
    check_function(f, "jacobian")
    sparse = as_flag(sparse, "jacobian: sparse")
    holomorphic = as_flag(holomorphic, "jacobian: holomorphic")
    keys = keys_of(f, argnums, argnames)
    if sparse:
        return _sparse(jacobian, f, f, keys, format, mode=mode, holomorphic=holomorphic)
    body = jacobian_body(f, keys, mode, holomorphic)
    return made(jacobian, f, body, {"argnums": keys, "mode": mode, **asked(holomorphic)})


@overload
def hessian(
    f: Ufunc, argnums: Keys | None = None, sparse: Literal[False] = False,
    holomorphic: bool = False, *, argnames: Names | None = None, format: str = "csr",
) -> Function: ...  # fmt: skip
@overload
def hessian(
    f: Differentiable[NDArray[S], Arrays, P], argnums: Literal[0] | None = None,
    sparse: Literal[False] = False, holomorphic: bool = False,
    *, argnames: None = None, format: str = "csr",
) -> Function[P, NDArray[S]]: ...  # fmt: skip
@overload
def hessian(
    f: Callable[P, Any], argnums: Keys | None = None, sparse: Literal[False] = False,
    holomorphic: bool = False, *, argnames: Names | None = None, format: str = "csr",
) -> Function[P, Any]: ...  # fmt: skip
@overload
def hessian(
    f: Callable[P, Any], argnums: Keys | None = None, *, sparse: Literal[True],
    argnames: Names | None = None, format: str = "csr", triangle: str | None = None,
) -> SparseFunction[P]: ...  # fmt: skip
def hessian(
    f: Callable[..., Any],
    argnums: Keys | None = None,
    sparse: bool = False,
    holomorphic: bool = False,
    *,
    argnames: Names | None = None,
    format: str = "csr",  # noqa: A002
    triangle: str | None = None,
) -> Function:
    """Return the matrix of second derivatives of a function with a scalar result.

    Forward over reverse: the Jacobian of the gradient. A function of complex arguments has one if
    it is holomorphic (``holomorphic=True``).

    Parameters
    ----------
    f : callable
        A NumPy function with a scalar result.
    argnums:
        The positions of the arguments to differentiate with respect to, as of :func:`grad`.
    sparse:
        Whether the result is a SciPy sparse array, whose pattern is detected.
    holomorphic:
        Whether ``f`` is a holomorphic function of complex arguments with a complex result.
    format:
        Of a sparse result: ``"csr"``, ``"csc"`` or ``"coo"``.
    argnames:
        The names of the arguments to differentiate with respect to.
    triangle:
        ``"lower"``: of a sparse Hessian only the entries on the diagonal and below it.

    Returns
    -------
    Function
        Its result has the shape of the argument twice; for several arguments it is a tuple of
        tuples. With ``sparse=True`` it is a SciPy sparse array: see :class:`SparseFunction`.

    Raises
    ------
    ArgumentError
        When called, if there is no such argument, or it is not of floating point,
        or the result of ``f`` is not one number.
    TraceError, UnsupportedError
        When called, if ``f`` cannot be traced, or has no sparse derivative.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> sg.hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 2.0]))
    array([[4., 6.],
           [6., 0.]])
    """
    check_function(f, "hessian")
    sparse = as_flag(sparse, "hessian: sparse")
    holomorphic = as_flag(holomorphic, "hessian: holomorphic")
    keys = keys_of(f, argnums, argnames)
    inner = grad_body(f, keys, False, False, "hessian", holomorphic)
    if sparse:
        return _sparse(hessian, f, inner, keys, format, triangle, holomorphic=holomorphic)
    inner.__name__ = str(getattr(f, "__name__", "f"))
    body = jacobian_body(inner, keys, "forward", holomorphic, "hessian", lanes=True)
    return made(hessian, f, body, {"argnums": keys, **asked(holomorphic)})


def _sparse(
    maker: Callable[..., Any], f: Callable[..., Any], body: Callable[..., Any], keys: Keys,
    form: str, triangle: str | None = None, *, mode: str = "auto", holomorphic: bool = False,
) -> SparseFunction:  # fmt: skip
    if mode != "auto" or holomorphic:
        raise ArgumentError("sparse derivatives have no mode, and are of real functions")
    as_word(triangle, ("lower", None), "triangle")
    options = {"argnums": keys, "sparse": True, "format": form}
    if triangle:
        options["triangle"] = triangle
    traced = sparse_body(body, keys, triangle is not None)
    prepared = real_arguments(f, keys)
    return SparseFunction(traced, f, (maker, (f,), options), form=form, prepared=prepared)
