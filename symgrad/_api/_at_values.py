"""Derivatives at given values: ``jvp``, ``vjp`` and ``hvp`` return numbers, not functions.

The functions compiled for them are kept with the user's, so that each is compiled once; from the
second function of one code on, a lambda in a loop, they are shared (:mod:`._kept_functions`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import lru_cache, partial
from types import FunctionType
from typing import Any

import numpy as np

from .._core.base.state import now
from .._core.trace import DEEPEST, aligned, as_leaf, flatten, is_number_list
from .._dispatch import Function, R
from ..errors import ArgumentError
from ._argnums import as_floats
from ._bodies import grad_body, jet_body, jvp_body, vjp_body
from ._kept_functions import kept_by, lend_again
from ._transforms import check_function, compile, made


def remembered(f: Callable[..., Any], maker: Callable[..., Function], *more: Any) -> Function:
    """Return ``maker(f, *more)``, the same for the same function, so that it compiles once."""
    if isinstance(f, (FunctionType, Function, partial)):
        kept = kept_by(f)
        key = (maker.__name__, *more)
        if key not in kept.made:
            kept.made[key] = maker(f, *more)
        return kept.made[key]
    try:
        return _recent(f, maker, *more)
    except TypeError:  # not hashable
        return maker(f, *more)


@lru_cache(maxsize=128)
def _recent(f: Callable[..., Any], maker: Callable[..., Function], *more: Any) -> Function:
    """Return ``maker(f)``, the same for the callables met last: methods, ufuncs, objects."""
    return maker(f, *more)


def _jvp_function(f: Callable[..., Any]) -> Function:
    return made(_jvp_function, f, jvp_body(f), {})


def _vjp_function(f: Callable[..., Any]) -> Function:
    return made(_vjp_function, f, vjp_body(f), {})


def _hvp_function(f: Callable[..., Any]) -> Function:
    def gradient(*primals: Any) -> Any:
        return grad_body(f, tuple(range(len(primals))), False, False, "hvp")(*primals)

    inner = jvp_body(gradient)

    def body(primals: Any, tangents: Any, _top: bool = False) -> Any:
        _, slopes = inner(primals, tangents, _top=_top)
        return slopes[0] if len(primals) == 1 else slopes

    return made(_hvp_function, f, body, {})


def _jet_function(f: Callable[..., Any]) -> Function:
    return made(_jet_function, f, jet_body(f), {})


def _called(f: Callable[..., Any], maker: Callable[..., Function], *args: Any) -> Any:
    """Return ``maker(f)(*args)``, compiled once for the function, or for all of its code."""
    return _called_in_state(f, maker, *args)[0]


def _called_in_state(
    f: Callable[..., Any], maker: Callable[..., Function], *args: Any, keep: bool = False
) -> tuple[Any, Any]:
    """Return ``maker(f)(*args)``, and with ``keep`` the state before, if the call changes any."""
    # Within a trace nothing is compiled, and what is made of the function is of this trace.
    lent = None if now().guards is not None else lend_again(f)
    keep = keep and now().guards is None
    function = remembered(f, maker) if lent is None else lent.made(_of_held, maker)
    try:
        before = function.state(*args) if keep and function.assigns else None
        result = function(*args)
        return result, before if before is not None and function.assigns else None
    finally:
        if lent is not None:
            lent.give_back()


def _of_held(held: list[Any], maker: Callable[..., Function]) -> Function:
    return maker(partial(_call_held, held))


def _call_held(held: list[Any], *args: Any) -> Any:
    return held[0](*args)


def _check_tuple(value: Any, name: str) -> None:
    if not isinstance(value, (tuple, list)):
        raise ArgumentError(f"{name} is a tuple with one entry for each argument: write (x,)")


def _listed_as(value: Any, like: Any, depth: int = 0) -> Any:
    """Return directions with lists of numbers where a value has lists, and arrays for arrays.

    What is nested too deep is refused where it is flattened.
    """
    if depth > DEEPEST:
        return value
    if isinstance(like, np.ndarray):
        return as_leaf(value, "the tangent") if is_number_list(value) else value
    if isinstance(like, dict) and isinstance(value, dict):
        return {key: _listed_as(x, like.get(key), depth + 1) for key, x in value.items()}
    if type(like) not in (list, tuple):
        return value
    has_rows = type(value) is type(like) or (
        type(like) is list and isinstance(value, np.ndarray) and value.ndim > 0
    )
    if not has_rows or len(value) != len(like):
        return value
    return type(like)(_listed_as(x, y, depth + 1) for x, y in zip(value, like, strict=True))


def jvp(f: Callable[..., R], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[R, R]:
    """Return ``f(*primals)`` and its derivative in the direction ``tangents``.

    Parameters
    ----------
    f:
        A NumPy function.
    primals, tangents:
        Tuples with one entry for each argument, of equal structures and shapes. Dictionaries
        are matched by their keys.

    Returns
    -------
    (out, tangent)
        Both with the structure of the function's result.

    Raises
    ------
    ArgumentError, ShapeError
        If tangents do not fit their primals, or a primal is not of floating point.
    TraceError, UnsupportedError
        If ``f`` cannot be traced.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> sg.jvp(lambda x, y: x * y, (3.0, 4.0), (1.0, 0.0))
    (np.float64(12.0), np.float64(4.0))
    """
    check_function(f, "jvp")
    _check_tuple(primals, "primals")
    _check_tuple(tangents, "tangents")
    along = _listed_as(tuple(tangents), tuple(primals))
    result: tuple[R, R] = _called(f, _jvp_function, as_floats(tuple(primals)), as_floats(along))
    return result


def jet(
    f: Callable[..., R], primals: Sequence[Any], series: Sequence[Sequence[Any]]
) -> tuple[R, list[R]]:
    """Return ``f`` and its derivatives of higher orders along a curve.

    The curve passes through ``primals`` with the derivatives ``series``, by a parameter s; the
    results are ``f(curve(s))`` and its derivatives by s, at once: order p costs p**2 times the
    products of ``f``, where nested derivatives cost 2**p.

    Parameters
    ----------
    f:
        A NumPy function.
    primals:
        A tuple with one entry for each argument.
    series:
        For each argument a list: its first derivative by s, its second, and so on, each of the
        structure and shape of the primal. All lists have the same length.

    Returns
    -------
    (out, terms)
        ``terms[k - 1]`` is the derivative of order k, with the structure of ``out``.

    Raises
    ------
    ArgumentError
        For lists that do not fit the primals.
    UnsupportedError
        Where there is no rule: for loops that are long or end by a value, branches, custom rules
        and most of ``np.linalg``.

    Notes
    -----
    As ``jax.experimental.jet.jet``. For the derivatives of a function of one number the curve is
    the line ``x + s``: the series is ``[1.0, 0.0, 0.0, ...]``.

    Source: A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 13.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> sg.jet(np.sin, (0.0,), ([1.0, 0.0, 0.0],))
    (np.float64(0.0), [np.float64(1.0), np.float64(-0.0), np.float64(-1.0)])
    """
    check_function(f, "jet")
    _check_tuple(primals, "primals")
    _check_tuple(series, "series")
    for terms in series:
        if not isinstance(terms, (list, tuple, np.ndarray)):
            raise ArgumentError(
                "series has a list for each primal, of its derivatives of order 1, 2, ...: write "
                "([1.0, 0.0],)"
            )
    given = tuple(list(terms) for terms in series)
    result: tuple[R, list[R]] = _called(
        f, _jet_function, as_floats(tuple(primals)), as_floats(given)
    )
    return result


def vjp(f: Callable[..., R], *primals: Any) -> tuple[R, Callable[[Any], tuple[Any, ...]]]:
    """Return ``f(*primals)`` and the function that pulls cotangents back.

    Parameters
    ----------
    f:
        A NumPy function.
    *primals : array_like or nested
        Its arguments: arrays, numbers and structures of them.

    Returns
    -------
    (out, pullback)
        ``pullback(cotangent)`` takes a value of the structure of ``out`` and returns a
        tuple with one entry for each primal.

    Raises
    ------
    ArgumentError, ShapeError
        From ``pullback``, if the cotangent does not have the structure and shapes of ``out``.
    TraceError, UnsupportedError
        If ``f`` cannot be traced.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> out, pullback = sg.vjp(lambda x, y: x * y, 3.0, 4.0)
    >>> out, pullback(1.0)
    (np.float64(12.0), (np.float64(4.0), np.float64(3.0)))
    """
    check_function(f, "vjp")
    primals = as_floats(primals)
    out: R
    out, before = _called_in_state(f, compile, *primals, keep=True)
    leaves, tree = flatten(out, lists=True)
    return out, partial(_pulled_back, f, primals, before, tree.unflatten(leaves))


def _pulled_back(
    f: Callable[..., Any], primals: Any, before: Any, like: Any, cotangent: Any
) -> tuple[Any, ...]:
    """Return cotangents, of the function in the state that the value is of.

    They are nested as the value, ``like``: where it is a list, a list of numbers is no array.
    """
    tree = flatten(like, lists=True)[1]
    cotangent = aligned(_listed_as(cotangent, like), tree, "the cotangent")
    with nullcontext() if before is None else before.reinstated():
        result: tuple[Any, ...] = _called(f, _vjp_function, primals, as_floats(cotangent))
    return result


def hvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Return the Hessian of ``f`` at ``primals`` times ``tangents``, without the Hessian.

    Parameters
    ----------
    f:
        A NumPy function with a scalar result.
    primals, tangents:
        Tuples with one entry for each argument.

    Returns
    -------
    any
        The product, with the structure of the argument; a tuple for several arguments.

    Raises
    ------
    ArgumentError
        If the result of ``f`` is not one real number, or tangents do not fit their primals.
    TraceError, UnsupportedError
        If ``f`` cannot be traced.

    Notes
    -----
    Forward over reverse: B. A. Pearlmutter, Fast exact multiplication by the Hessian, Neural
    Computation 6, 1994.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> sg.hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 0.0]),))
    array([6., 0.])
    """
    check_function(f, "hvp")
    _check_tuple(primals, "primals")
    _check_tuple(tangents, "tangents")
    along = _listed_as(tuple(tangents), tuple(primals))
    return _called(f, _hvp_function, as_floats(tuple(primals)), as_floats(along))
