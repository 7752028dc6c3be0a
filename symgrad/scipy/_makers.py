"""What is compiled of a user's function for a solver: its values, and each kind of derivative.

All are partials, not closures: tracing puts other values in their places where it has to, in those
of the user's functions alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._api._at_values import jvp
from .._api._matrices import hessian, jacobian
from .._api._transforms import compile, grad, value_and_grad
from .._core.ops.np_common import as_array
from .._dispatch import Function
from ..errors import ArgumentError
from ._call_records import noting


def called(f: Any, heads: int, names: tuple[str, ...], spread: bool, x: Any, *rest: Any) -> Any:
    """Return ``f`` of x and the rest of its arguments, all by position.

    Parameters
    ----------
    f:
        The user's function, or a list that holds it.
    heads:
        How many of the rest come before x.
    names:
        The last arguments are given by these names.
    spread:
        Whether the elements of x are arguments of their own.
    x, rest:
        The arguments.
    """
    function = f[0] if type(f) is list else f
    count = len(rest) - len(names)
    given = dict(zip(names, rest[count:], strict=True))
    return noting(function)(*rest[:heads], *(x if spread else (x,)), *rest[heads:count], **given)


def _array(call: Callable[..., Any], *args: Any) -> Any:
    return as_array(call(*args))


def _single(call: Callable[..., Any], *args: Any) -> Any:
    """Return a result that has one element as a number."""
    return np.reshape(as_array(call(*args)), ())


def _flat(call: Callable[..., Any], *args: Any) -> Any:
    """Return an array, a number or a list of these as a vector."""
    result = as_array(call(*args))
    if result.dtype.kind == "c":
        raise ArgumentError("its result is complex, where solvers take real numbers")
    return np.reshape(result, (-1,))


def _weighted(call: Callable[..., Any], x: Any, v: Any, *rest: Any) -> Any:
    return np.sum(v * _flat(call, x, *rest))


def _product(call: Callable[..., Any], x: Any, p: Any, *rest: Any) -> Any:
    """Return the product of a Hessian with ``p``."""
    slope = grad(partial(_single, call))
    return jvp(lambda y: slope(y, *rest), (x,), (p,))[1]


def _elementwise(call: Callable[..., Any], x: Any, *rest: Any) -> Any:
    """Return the derivative of a function of each element by itself."""
    return jvp(lambda y: call(y, *rest), (x,), (np.ones_like(x),))[1]


# Each takes a user's function and how it is called, and is compiled once for both.


def value_of(f: Callable[..., Any], *form: Any) -> Function:
    return compile(partial(_array, partial(called, f, *form)))


def value_and_gradient_of(f: Callable[..., Any], *form: Any) -> Function:
    return value_and_grad(partial(_single, partial(called, f, *form)))


def hessian_of(f: Callable[..., Any], *form: Any) -> Function:
    return hessian(partial(_single, partial(called, f, *form)))


def sparse_hessian_of(f: Callable[..., Any], *form: Any) -> Function:
    return hessian(partial(_single, partial(called, f, *form)), sparse=True)


def hessian_product_of(f: Callable[..., Any], *form: Any) -> Function:
    return compile(partial(_product, partial(called, f, *form)))


def jacobian_of(f: Callable[..., Any], *form: Any) -> Function:
    return jacobian(partial(_flat, partial(called, f, *form)))


def sparse_jacobian_of(f: Callable[..., Any], *form: Any) -> Function:
    return jacobian(partial(_flat, partial(called, f, *form)), sparse=True)


def curvature_of(f: Callable[..., Any], *form: Any) -> Function:
    """Return the Hessian of the sum of the results, weighted by a second argument."""
    return hessian(partial(_weighted, partial(called, f, *form)))


def sparse_curvature_of(f: Callable[..., Any], *form: Any) -> Function:
    return hessian(partial(_weighted, partial(called, f, *form)), sparse=True)


def slope_of(f: Callable[..., Any], *form: Any) -> Function:
    return compile(partial(_elementwise, partial(called, f, *form)))


def second_slope_of(f: Callable[..., Any], *form: Any) -> Function:
    return compile(partial(_elementwise, partial(_elementwise, partial(called, f, *form))))
