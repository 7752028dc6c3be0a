"""The public transformations: plain NumPy functions in, compiled functions out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, overload

from .._compile import Function
from ..errors import ArgumentError
from ._bodies import grad_body
from ._control_flow import Flow
from ._control_syntax import converted
from ._jacobian import jacobian_body
from ._sparse import SparseFunction, sparse_body
from ._vmap import vmap_body
from ._wrt import Keys, Names, keys_of, real_arguments


def check_function(function: Any, name: str) -> None:
    if not callable(function):
        raise ArgumentError(
            f"{name} takes a function, not {type(function).__name__}: write "
            f"sg.{name}(f)(x), not sg.{name}(f(x))"
        )


def made(
    maker: Callable[..., Any], function: Callable[..., Any], body: Callable[..., Any],
    kwargs: dict[str, Any], **options: Any,
) -> Function:  # fmt: skip
    keys = kwargs.get("argnums")
    prepared = None if keys is None else real_arguments(function, keys)
    recipe = maker, (function,), {**kwargs, **options}
    return Function(body, function, recipe, prepared=prepared, **options)


@overload
def compile(
    f: Callable[..., Any],
    *,
    backend: str = "llvm",
    parallel: bool | None = None,
    dynamic: bool = True,
    cache: bool = True,
    control_flow: bool = False,
    rounding: str | None = None,
) -> Function: ...


@overload
def compile(
    f: None = None,
    *,
    backend: str = "llvm",
    parallel: bool | None = None,
    dynamic: bool = True,
    cache: bool = True,
    control_flow: bool = False,
    rounding: str | None = None,
) -> Callable[[Callable[..., Any]], Function]: ...


def compile(
    f: Callable[..., Any] | None = None,
    *,
    backend: str = "llvm",
    parallel: bool | None = None,
    dynamic: bool = True,
    cache: bool = True,
    control_flow: bool = False,
    rounding: str | None = None,
) -> Function | Callable[[Callable[..., Any]], Function]:
    """Compile a NumPy function.

    Parameters
    ----------
    f:
        A function of arrays and numbers, written in NumPy. Without it the result is a
        decorator, as in ``@sg.compile(control_flow=True)``.
    backend:
        ``"llvm"`` (machine code), ``"numba"`` (the same through Numba's dispatcher) or
        ``"numpy"`` (step by step, no compile time): see :func:`backend` and the notes.
    parallel:
        Whether a call may use several threads, as many as :func:`set_num_threads` says: None
        does so in calls from Python that have much to compute, True in kernels for Numba's
        world, too, False never. Results are the same to the last bit.
    dynamic:
        Whether one compilation serves all array lengths; False bakes the sizes in.
    cache:
        Whether to keep kernels on disk for later processes.
    control_flow:
        Whether to rewrite ``for i in range(n)``, ``while``, ``if`` and early ``return`` in the
        source of ``f``, so that they stay loops and branches of the compiled program: see
        :func:`fori_loop`, :func:`while_loop`, :func:`cond`. Without it Python carries them out
        while tracing: loops are unrolled, and decisions on values are guarded.
    rounding:
        ``"numpy"`` promises every bit: the compiled program computes what NumPy computes, and
        ``sg.compile(sg.grad(f), rounding="numpy")`` what ``backward()`` of eager tensors does.
        It calls NumPy's own functions and adds in NumPy's order. None leaves the last digits
        free, and is faster.

    Returns
    -------
    Function
        Call it like ``f``. Of eager tensors it gives tensors, and is one step of their record,
        whose way back is compiled, too.

    Raises
    ------
    TraceError, UnsupportedError
        On the first call, for what cannot be traced.

    Notes
    -----
    Numba compiles one small function for each kernel, the dispatcher that ``f.kernel(...)`` gives
    and ``backend="numba"`` calls, so that ``@njit`` code can call the kernel. The kernel itself,
    and the way from a Python call into it, symgrad writes as LLVM IR and compiles with the LLVM
    that comes with Numba (llvmlite) directly: Numba's own pipeline takes 0.1 s more for every
    function, four times as long for long programs, and twice the time of a small call.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> f = sg.compile(lambda x: np.sum(np.sin(x) ** 2 + np.cos(x) ** 2))
    >>> f(np.arange(4.0))
    np.float64(4.0)
    """
    if f is None:
        return functools.partial(
            compile, backend=backend, parallel=parallel, dynamic=dynamic, cache=cache,
            control_flow=control_flow, rounding=rounding,
        )  # fmt: skip
    check_function(f, "compile")
    function = f
    options: dict[str, Any] = {
        "backend": backend, "parallel": parallel, "dynamic": dynamic, "cache": cache,
        "rounding": rounding,
    }  # fmt: skip
    traced = converted(function, Flow) if control_flow else function

    outermost = traced.outermost if isinstance(traced, Function) else traced

    def body(*args: Any, _top: bool = False, **kwargs: Any) -> Any:
        return (outermost if _top else traced)(*args, **kwargs)

    return made(compile, f, body, {"control_flow": True} if control_flow else {}, **options)


def grad(
    f: Callable[..., Any],
    argnums: Keys | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    argnames: Names | None = None,
) -> Function:
    """Return the gradient of a function that returns one real number.

    Parameters
    ----------
    f:
        A NumPy function with a scalar result.
    argnums:
        Which argument to differentiate by: its position, 0 if nothing else is said; several
        give a tuple. How a call passes it does not matter: by position, by name, or not at all
        if it has a default. Python's whole numbers among it are taken as floats.
    has_aux:
        Whether ``f`` returns ``(value, extra)``; the result is then ``(gradient, extra)``.
    holomorphic:
        Whether ``f`` is a holomorphic function of complex arguments with a complex result;
        the result is then its complex derivative.
    argnames:
        Which arguments to differentiate by, by name; with ``argnums``, these besides.

    Returns
    -------
    Function
        Its result has the structure, shapes and types of the argument. By a complex argument
        ``x + iy`` it is ``df/dx - i df/dy``, as in JAX.

    Raises
    ------
    ArgumentError
        When called, if the result of ``f`` is not one real number (one complex number for
        ``holomorphic=True``), or an argument to differentiate by is not of floating point.

    Notes
    -----
    Reverse mode: A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, ch. 3.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> sg.grad(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([ 3., 12.])
    >>> sg.grad(sg.grad(np.sin))(0.5) == -np.sin(0.5)
    np.True_
    >>> def model(t, *, rate=2, start=1.0):
    ...     return start * np.exp(-rate * t)
    >>> sg.grad(model, argnames=("start", "rate"))(0.0, start=3.0)
    (np.float64(1.0), np.float64(-0.0))
    """
    check_function(f, "grad")
    keys = keys_of(f, argnums, argnames)
    body = grad_body(f, keys, has_aux, False, "grad", holomorphic)
    options = {"argnums": keys, "has_aux": has_aux, **_asked(holomorphic)}
    return made(grad, f, body, options)


def _asked(holomorphic: bool) -> dict[str, Any]:
    return {"holomorphic": True} if holomorphic else {}


def value_and_grad(
    f: Callable[..., Any],
    argnums: Keys | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    argnames: Names | None = None,
) -> Function:
    """Return a function that gives ``(value, gradient)``; see :func:`grad`.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> sg.value_and_grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    (np.float64(5.0), array([2., 4.]))
    """
    check_function(f, "value_and_grad")
    keys = keys_of(f, argnums, argnames)
    body = grad_body(f, keys, has_aux, True, "value_and_grad", holomorphic)
    options = {"argnums": keys, "has_aux": has_aux, **_asked(holomorphic)}
    return made(value_and_grad, f, body, options)


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
        Which argument to differentiate by, as of :func:`grad`; several give a tuple.
    mode:
        ``"forward"`` (columns), ``"reverse"`` (rows) or ``"auto"`` (the fewer).
    sparse:
        Whether the result is a sparse array of SciPy's, of shape (result's size, argument's
        size), with the pattern found by itself: see :class:`SparseFunction`.
    holomorphic:
        Whether ``f`` is a holomorphic function of complex arguments with complex results.
    format:
        Of a sparse result: ``"csr"``, ``"csc"`` or ``"coo"``.
    argnames:
        Which arguments to differentiate by, by name.

    Returns
    -------
    Function
        Its result has the shape of the function's result followed by the argument's.

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
    keys = keys_of(f, argnums, argnames)
    if sparse:
        return _sparse(jacobian, f, f, keys, format, mode=mode, holomorphic=holomorphic)
    body = jacobian_body(f, keys, mode, holomorphic)
    return made(jacobian, f, body, {"argnums": keys, "mode": mode, **_asked(holomorphic)})


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

    Forward over reverse: the Jacobian of the gradient. By complex arguments only of
    holomorphic functions, with ``holomorphic=True``.

    Parameters
    ----------
    f, argnums, argnames, sparse, holomorphic, format:
        As of :func:`jacobian`.
    triangle:
        ``"lower"``: of a sparse Hessian only the entries on the diagonal and below it.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> sg.hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 2.0]))
    array([[4., 6.],
           [6., 0.]])
    """
    check_function(f, "hessian")
    keys = keys_of(f, argnums, argnames)
    inner = grad_body(f, keys, False, False, "hessian", holomorphic)
    if sparse:
        return _sparse(hessian, f, inner, keys, format, triangle, holomorphic=holomorphic)
    inner.__name__ = str(getattr(f, "__name__", "f"))
    body = jacobian_body(inner, keys, "forward", holomorphic, "hessian")
    return made(hessian, f, body, {"argnums": keys, **_asked(holomorphic)})


def _sparse(
    maker: Callable[..., Any], f: Callable[..., Any], body: Callable[..., Any], keys: Keys,
    form: str, triangle: str | None = None, *, mode: str = "auto", holomorphic: bool = False,
) -> SparseFunction:  # fmt: skip
    if mode != "auto" or holomorphic:
        raise ArgumentError("sparse derivatives have no mode, and are of real functions")
    if triangle not in (None, "lower"):
        raise ArgumentError(f"triangle is 'lower' or None, not {triangle!r}")
    options = {"argnums": keys, "sparse": True, "format": form}
    if triangle:
        options["triangle"] = triangle
    traced = sparse_body(body, keys, triangle is not None)
    prepared = real_arguments(f, keys)
    return SparseFunction(traced, f, (maker, (f,), options), form=form, prepared=prepared)


def vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Function:
    """Turn a function of one example into a function of a batch.

    Parameters
    ----------
    f:
        A NumPy function of single examples.
    in_axes:
        The batch axis of each argument (None: the same for all examples), or one for all.
    out_axes:
        Where the results have the batch axis.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> sg.vmap(sg.grad(np.sin))(np.array([0.0, np.pi]))
    array([ 1., -1.])
    """
    check_function(f, "vmap")
    body = vmap_body(f, in_axes, out_axes)
    return made(vmap, f, body, {"in_axes": in_axes, "out_axes": out_axes})
