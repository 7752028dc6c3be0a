"""The public transformations: plain NumPy functions in, compiled functions out."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from .._core.base.argument_checks import as_flag, refuse_kernel
from .._core.base.state import PLAIN, now
from .._core.op import registry
from .._dispatch import Differentiable, Function, P, R, Ufunc, X
from .._syntax._control_flow import Flow
from .._syntax._control_syntax import converted
from .._syntax._raise_masks import raising
from ..errors import ArgumentError
from ._argnums import Keys, Names, keys_of, real_arguments
from ._bodies import grad_body
from ._kept_functions import kept_by
from ._sparse_functions import SparseFunction
from ._vmap import one_by_one, vmap_body


def check_function(function: Any, name: str) -> None:
    """Raise if a transformation is not given a function; say how it is written."""
    refuse_kernel(function, name)
    if not callable(function):
        raise ArgumentError(
            f"{name} takes a function, not {type(function).__name__}: write "
            f"sg.{name}(f)(x), not sg.{name}(f(x))"
        )


#: Transformations made again of a function find what is compiled for it, if this was the same at
#: both times; none does where it is None. Tests set it, so that none depends on what ran before.
SHARING: object = True


def made(
    maker: Callable[..., Any], function: Callable[..., Any], body: Callable[..., Any],
    kwargs: dict[str, Any], **options: Any,
) -> Function:  # fmt: skip
    """Return the compiled function that ``maker(function, **kwargs, **options)`` is.

    Parameters
    ----------
    maker, function, kwargs:
        The transformation, what it was applied to, and its own options: how the result is made
        again, in a pickle or of a copy of the function.
    body:
        What is traced: a function on traced values, of ``_api._bodies``.
    options:
        Those of :class:`Function`.
    """
    keys = kwargs.get("argnums")
    prepared = None if keys is None else real_arguments(function, keys)
    recipe = maker, (function,), {**kwargs, **options}
    found = Function(body, function, recipe, prepared=prepared, loops=True, **options)
    if SHARING is not None and isinstance(function, FunctionType) and now() is PLAIN:
        _share(found, function, maker, recipe[2])
    return found


def _share(
    made: Function, function: FunctionType, maker: Callable[..., Any], options: dict[str, Any]
) -> None:
    """Have a compiled function share what another knows that was made in the same way.

    ``sg.grad(f)(x)`` in a loop so compiles once. It is kept with ``f``, as long as that is there
    and is not given other code or defaults, and no op or rewrite is entered from outside.
    """
    code = function.__code__, function.__defaults__, function.__kwdefaults__, registry.changes
    key = (SHARING, maker, *((name, type(x), x) for name, x in sorted(options.items())))
    known = kept_by(function).shared
    try:
        before, other = known.setdefault(key, (code, made))
    except TypeError:  # an option that is not hashable
        return
    if before[-1] != code[-1] or not all(map(operator.is_, before[:-1], code)):
        known[key] = code, made
    elif other is not made:
        made.share(other)


@overload
def compile(
    f: Ufunc,
    *, backend: str = "llvm", parallel: bool | None = None, dynamic: bool = True,
    cache: bool = True, control_flow: bool = False, rounding: str | None = None,
) -> Function: ...  # fmt: skip
@overload
def compile(
    f: Callable[P, R],
    *, backend: str = "llvm", parallel: bool | None = None, dynamic: bool = True,
    cache: bool = True, control_flow: bool = False, rounding: str | None = None,
) -> Function[P, R]: ...  # fmt: skip
@overload
def compile(
    f: None = None,
    *, backend: str = "llvm", parallel: bool | None = None, dynamic: bool = True,
    cache: bool = True, control_flow: bool = False, rounding: str | None = None,
) -> Callable[[Callable[P, R]], Function[P, R]]: ...  # fmt: skip
def compile(
    f: Callable[..., Any] | None = None,
    *,
    backend: str = "llvm",
    parallel: bool | None = None,
    dynamic: bool = True,
    cache: bool = True,
    control_flow: bool = False,
    rounding: str | None = None,
) -> Any:
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
    function, four times as long for programs of 5,000 steps, and twice the time of a small call.

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
    control_flow = as_flag(control_flow, "compile: control_flow")
    function = f
    options: dict[str, Any] = {
        "backend": backend, "parallel": parallel, "dynamic": dynamic, "cache": cache,
        "rounding": rounding,
    }  # fmt: skip
    traced = raising(converted(function, Flow)) if control_flow else function

    outermost = traced.outermost if isinstance(traced, Function) else traced

    def body(*args: Any, _top: bool = False, **kwargs: Any) -> Any:
        return (outermost if _top else traced)(*args, **kwargs)

    return made(compile, f, body, {"control_flow": True} if control_flow else {}, **options)


@overload
def grad(
    f: Ufunc, argnums: Keys | None = None, has_aux: bool = False, holomorphic: bool = False,
    *, argnames: Names | None = None,
) -> Function: ...  # fmt: skip
@overload
def grad(
    f: Differentiable[X, Any, P], argnums: Literal[0] | None = None,
    has_aux: Literal[False] = False, holomorphic: bool = False, *, argnames: None = None,
) -> Function[P, X]: ...  # fmt: skip
@overload
def grad(
    f: Callable[P, Any], argnums: Keys | None = None, has_aux: bool = False,
    holomorphic: bool = False, *, argnames: Names | None = None,
) -> Function[P, Any]: ...  # fmt: skip
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
        The position of the argument to differentiate with respect to; several positions give
        a tuple of gradients. Calls may pass the argument by position or by name, or leave it
        out if it has a default. Python ints are converted to floats.
    has_aux:
        Whether ``f`` returns ``(value, extra)``; the result is then ``(gradient, extra)``.
    holomorphic:
        Whether ``f`` is a holomorphic function of complex arguments with a complex result;
        the result is then its complex derivative.
    argnames:
        The names of arguments to differentiate with respect to, in addition to ``argnums``.

    Returns
    -------
    Function
        Its result has the structure, shapes and types of the argument. For a complex argument
        ``x + iy`` it is ``df/dx - i df/dy``, as in JAX.

    Raises
    ------
    ArgumentError
        When called, if the result of ``f`` is not one real number (one complex number for
        ``holomorphic=True``), or a differentiated argument is not of floating point.

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
    has_aux = as_flag(has_aux, "grad: has_aux")
    holomorphic = as_flag(holomorphic, "grad: holomorphic")
    keys = keys_of(f, argnums, argnames)
    body = grad_body(f, keys, has_aux, False, "grad", holomorphic)
    options = {"argnums": keys, "has_aux": has_aux, **asked(holomorphic)}
    return made(grad, f, body, options)


def asked(holomorphic: bool) -> dict[str, Any]:
    """Return the option if it was asked for: recipes name no others."""
    return {"holomorphic": True} if holomorphic else {}


@overload
def value_and_grad(
    f: Ufunc, argnums: Keys | None = None, has_aux: bool = False, holomorphic: bool = False,
    *, argnames: Names | None = None,
) -> Function: ...  # fmt: skip
@overload
def value_and_grad(
    f: Differentiable[X, R, P], argnums: Literal[0] | None = None,
    has_aux: Literal[False] = False, holomorphic: bool = False, *, argnames: None = None,
) -> Function[P, tuple[R, X]]: ...  # fmt: skip
@overload
def value_and_grad(
    f: Callable[P, Any], argnums: Keys | None = None, has_aux: bool = False,
    holomorphic: bool = False, *, argnames: Names | None = None,
) -> Function[P, Any]: ...  # fmt: skip
def value_and_grad(
    f: Callable[..., Any],
    argnums: Keys | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    argnames: Names | None = None,
) -> Function:
    """Return a function that gives ``(value, gradient)``; see :func:`grad`.

    Parameters
    ----------
    f:
        A NumPy function with a scalar result.
    argnums:
        The position of the argument to differentiate with respect to; several positions give
        a tuple of gradients.
    has_aux:
        Whether ``f`` returns ``(value, extra)``; the result is then
        ``((value, extra), gradient)``.
    holomorphic:
        Whether ``f`` is a holomorphic function of complex arguments with a complex result.
    argnames:
        The names of arguments to differentiate with respect to, in addition to ``argnums``.

    Returns
    -------
    Function
        Its result is the pair ``(value, gradient)``, computed in one pass.

    Raises
    ------
    ArgumentError
        When called, as of :func:`grad`.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> sg.value_and_grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    (np.float64(5.0), array([2., 4.]))
    """
    check_function(f, "value_and_grad")
    has_aux = as_flag(has_aux, "value_and_grad: has_aux")
    holomorphic = as_flag(holomorphic, "value_and_grad: holomorphic")
    keys = keys_of(f, argnums, argnames)
    body = grad_body(f, keys, has_aux, True, "value_and_grad", holomorphic)
    options = {"argnums": keys, "has_aux": has_aux, **asked(holomorphic)}
    return made(value_and_grad, f, body, options)


@overload
def vmap(f: SparseFunction[P], in_axes: Any = 0, out_axes: Any = 0) -> SparseFunction[...]: ...
@overload
def vmap(f: Ufunc, in_axes: Any = 0, out_axes: Any = 0) -> Function: ...
@overload
def vmap(
    f: Callable[..., float], in_axes: Any = 0, out_axes: Any = 0
) -> Function[..., NDArray[np.float64]]: ...
@overload
def vmap(f: Callable[..., R], in_axes: Any = 0, out_axes: Any = 0) -> Function[..., R]: ...
def vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Function:
    """Turn a function of one example into a function of a batch.

    Parameters
    ----------
    f:
        A NumPy function of single examples. For a sparse derivative the pattern is that of
        one example, values have a leading axis, and a call returns a list of matrices.
    in_axes : int or None or tuple, nested as the arguments
        The batch axis of each argument (None: the same for all examples), or one for all.
    out_axes : int or tuple, nested as the result
        Where the results have the batch axis.

    Returns
    -------
    Function
        The function of a batch, compiled as one program.

    Raises
    ------
    ArgumentError, ShapeError
        When called, if no argument has a batch axis, or batch axes differ in length.
    TraceError, UnsupportedError
        When called, if ``f`` cannot be traced.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> sg.vmap(sg.grad(np.sin))(np.array([0.0, np.pi]))
    array([ 1., -1.])
    """
    check_function(f, "vmap")
    if isinstance(f, SparseFunction):
        return f.batched(vmap, in_axes, out_axes)
    recipe = vmap, (f,), {"in_axes": in_axes, "out_axes": out_axes}
    body = vmap_body(f, in_axes, out_axes)
    one = f if isinstance(f, Function) else compile(f)
    return Function(
        body, f, recipe, otherwise=functools.partial(one_by_one, one, in_axes, out_axes)
    )
