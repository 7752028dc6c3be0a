"""Solvers of ``scipy.optimize`` that are others by another name, or with bounds of their own.

In traced code the minimum is found by Newton's method, whatever the name; with plain numbers all
are SciPy's.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize

from .._api._callback import pure_callback
from .._api._custom import stop_gradient
from .._api._implicit import root_at
from .._api._matrices import jacobian
from .._core.ops.np_common import as_array
from .._syntax._control import while_loop
from ..errors import UnsupportedError
from . import _minimize_traced, _roots_traced
from ._solver_arguments import as_tuple, unless_traced
from ._versions import floats, replaces

# ---------------------------------------------------------------- minima of one name or another

#: What is said of a solver beside its minimum, and constraints, which have other names there.
_MORE = ("full_output", "retall", "eqcons", "ieqcons", "f_eqcons", "f_ieqcons")


#: Options of ``minimize`` by the names that the older functions have for them.
_LIMITS = {
    "maxiter": "maxiter", "maxfun": "maxfev", "xtol": "xatol", "ftol": "fatol",
    "initial_simplex": "initial_simplex",
}  # fmt: skip


def _like(original: Callable[..., Any], traced: Callable[..., Any]) -> Callable[..., Any]:
    """Return a minimiser of SciPy's, ``traced(function, arguments)`` of traced values."""
    function = next(iter(inspect.signature(original).parameters))

    def called(**given: Any) -> Any:
        for option in _MORE:
            if given.get(option):
                raise UnsupportedError(
                    f"{original.__name__}: in traced code there is no {option}. Write instead: "
                    "scipy.optimize.minimize or minimize_scalar"
                )
        return traced(given[function], given)

    return unless_traced(original, called)


def _of_vectors(name: str, method: str) -> Callable[..., Any]:
    def traced(f: Any, given: Any) -> Any:
        both = name == "fmin_l_bfgs_b" and not given.get("approx_grad") and not given.get("fprime")
        limits = {_LIMITS[k]: v for k, v in given.items() if k in _LIMITS and v is not None}
        found = _minimize_traced.minimize(
            f, given["x0"], given.get("args", ()), method, both or None, given.get("bounds"),
            options=limits,
        )  # fmt: skip
        if name == "fmin_l_bfgs_b":
            return found.x, found.fun, {"grad": found.jac, "nit": found.nit, "funcalls": found.nfev}
        return found.x

    return _like(getattr(scipy.optimize, name), traced)


fmin = _of_vectors("fmin", "Nelder-Mead")
fmin_bfgs = _of_vectors("fmin_bfgs", "BFGS")
fmin_cg = _of_vectors("fmin_cg", "CG")
fmin_ncg = _of_vectors("fmin_ncg", "Newton-CG")
fmin_l_bfgs_b = _of_vectors("fmin_l_bfgs_b", "L-BFGS-B")


def _bounded(f: Any, given: Any) -> Any:
    limits = {k: given[v] for k, v in (("xatol", "xtol"), ("maxiter", "maxfun")) if v in given}
    return _minimize_traced.minimize_scalar(
        f, None, (given["x1"], given["x2"]), given.get("args", ()), "bounded", None, limits
    ).x


def _brent(f: Any, given: Any) -> Any:
    limits = {"maxiter": given["maxiter"]} if "maxiter" in given else {}
    return _minimize_traced.minimize_scalar(
        f, given.get("brack"), None, given.get("args", ()), "brent", given.get("tol"), limits
    ).x


fminbound = _like(scipy.optimize.fminbound, _bounded)
brent = _like(scipy.optimize.brent, _brent)


# ---------------------------------------------------------------- assignments, fixed points


@replaces(scipy.optimize.linear_sum_assignment)
def linear_sum_assignment(cost_matrix: Any, maximize: bool = False) -> tuple[Any, Any]:
    """Rows and columns of the cheapest assignment, by SciPy; they have no derivative.

    Examples
    --------
    >>> cost = np.array([[4.0, 1.0], [2.0, 0.0]])
    >>> sg.grad(lambda c: np.sum(c[linear_sum_assignment(c)]))(cost)
    array([[0., 1.],
           [1., 0.]])
    """
    cost = floats(cost_matrix)
    n = min(map(int, cost.shape))
    places = pure_callback(
        lambda c: np.stack(scipy.optimize.linear_sum_assignment(c, maximize)),
        np.zeros((2, n), np.int64), stop_gradient(cost),
    )  # fmt: skip
    return places[0], places[1]


def _fixed_point(
    func: Callable[..., Any], x0: Any, args: Any = (), xtol: Any = 1e-8, maxiter: int = 500,
    method: str = "del2",
) -> Any:  # fmt: skip
    """Find where a function has its argument's value; nan where the iteration does not end."""
    rest, start = as_tuple(args), stop_gradient(np.float64(1.0) * as_array(x0))

    def f(x: Any) -> Any:
        return 1.0 * as_array(func(x, *rest))

    def step(state: Any) -> Any:
        x, _, k = state
        first = f(x)
        new = first
        if method == "del2":
            second = f(first)
            bend = second - 2.0 * first + x
            none = bend == 0
            new = np.where(none, second, x - np.square(first - x) / np.where(none, 1.0, bend))
        off = np.where(x != 0, (new - x) / np.where(x != 0, x, 1.0), new)
        return new, np.max(np.abs(off)), k + 1

    found, off, _ = while_loop(
        lambda s: ~(s[1] < xtol) & (s[2] < maxiter), step, (start, np.inf + 0.0 * np.sum(start), 0)
    )
    return root_at(lambda x: f(x) - x, found, off < xtol)


fixed_point = unless_traced(scipy.optimize.fixed_point, _fixed_point)

#: In traced code it is Brent's method.
toms748 = unless_traced(scipy.optimize.toms748, _roots_traced.toms748)


# ---------------------------------------------------------------- derivatives


@replaces(scipy.optimize.approx_fprime)
def approx_fprime(xk: Any, f: Callable[..., Any], epsilon: Any = None, *args: Any) -> Any:
    """Gradient or Jacobian of a function of a vector: in traced code the exact one.

    Examples
    --------
    >>> approx_fprime(np.array([1.0, 2.0]), lambda x: np.sum(x**3)).round(3)
    array([ 3., 12.])
    >>> sg.compile(lambda x: approx_fprime(x, lambda x: np.sum(x**3)))(np.array([1.0, 2.0]))
    array([ 3., 12.])
    """
    return jacobian(lambda x: f(x, *args))(floats(xk))
