"""``scipy.optimize.minimize`` with the derivatives that a call leaves out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.optimize

from .._api._nlp import nlp
from .._core.ops.np_common import as_array
from ..errors import ArgumentError, ShapeError
from . import _minimize_traced as traced
from ._call_records import noting
from ._solver_arguments import as_tuple, solver, start_of, unless_traced
from ._user_functions import Derived

#: Methods of ``minimize`` that take a gradient; a Hessian; only products with it if it is large.
_GRADIENT = frozenset(("cg", "bfgs", "l-bfgs-b", "tnc", "slsqp"))
_HESSIAN = frozenset(("dogleg", "trust-exact"))
_PRODUCT = frozenset(("newton-cg", "trust-ncg", "trust-krylov", "trust-constr"))

#: Up to this many variables a Hessian is made where products with it would do, and matrices are
#: dense where they may be sparse.
SMALL = 64


class NonlinearConstraint(scipy.optimize.NonlinearConstraint):  # type: ignore[misc]
    """A constraint ``lb <= fun(x) <= ub``; as ``scipy.optimize.NonlinearConstraint``.

    Parameters
    ----------
    fun, lb, ub, keep_feasible, finite_diff_rel_step, finite_diff_jac_sparsity:
        As SciPy's.
    jac, hess:
        As SciPy's. Left out, :func:`minimize` fills them in; in SciPy's own functions they are
        SciPy's defaults.

    Examples
    --------
    >>> from symgrad.scipy.optimize import NonlinearConstraint, minimize
    >>> disc = NonlinearConstraint(lambda x: x[0] ** 2 + x[1] ** 2, 0.0, 2.0)
    >>> minimize(lambda x: x[0] + x[1], [1.0, 0.0], method="SLSQP", constraints=disc).x
    array([-1., -1.])
    """

    def __init__(
        self, fun: Callable[..., Any], lb: Any, ub: Any, jac: Any = None, hess: Any = None,
        keep_feasible: Any = False, finite_diff_rel_step: Any = None,
        finite_diff_jac_sparsity: Any = None,
    ) -> None:  # fmt: skip
        self.fills_jac, self.fills_hess = jac is None, hess is None
        super().__init__(fun, lb, ub, "2-point" if jac is None else jac, hess, keep_feasible,
                         finite_diff_rel_step, finite_diff_jac_sparsity)  # fmt: skip


def _left_out(constraint: Any) -> tuple[bool, bool]:
    """Tell whether a constraint's Jacobian and Hessian are to be filled in."""
    if isinstance(constraint, NonlinearConstraint):
        return constraint.fills_jac, constraint.fills_hess
    if not isinstance(constraint, scipy.optimize.NonlinearConstraint):
        return False, False
    # SciPy's own does not keep what was left out, but what it takes then.
    default = constraint.jac == "2-point"
    return default, default and type(constraint.hess) is scipy.optimize.BFGS


def _filled_constraint(constraint: Any, x: Any, method: str) -> Any:
    """Return a constraint of either style with its derivatives."""
    is_dict = isinstance(constraint, dict)
    if is_dict:
        fun, args = constraint.get("fun"), as_tuple(constraint.get("args", ()))
        wanted = callable(fun) and not constraint.get("jac")
    else:
        fills_jac, fills_hess = _left_out(constraint)
        wanted, fun, args = fills_jac, getattr(constraint, "fun", None), ()
    f = Derived("minimize", fun, args, sparse=method == "trust-constr" and x.size > SMALL)
    if not wanted or not f.starts(x, f.values, f.jacobian):
        return constraint
    if is_dict and method == "slsqp":
        return {**constraint, "fun": f.values, "jac": f.jacobian}
    if is_dict:
        upper = {"eq": 0.0, "ineq": np.inf}.get(str(constraint.get("type")).lower())
        if upper is None:  # SciPy says so
            return constraint
        return scipy.optimize.NonlinearConstraint(f.values, 0.0, upper, f.jacobian, f.curvature)
    # SciPy looks at the Hessian of each, but only trust-constr uses it.
    hess = f.curvature if method == "trust-constr" and fills_hess else constraint.hess
    return scipy.optimize.NonlinearConstraint(
        f.values, constraint.lb, constraint.ub, f.jacobian, hess, constraint.keep_feasible
    )


minimize_scalar = unless_traced(scipy.optimize.minimize_scalar, traced.minimize_scalar)


@solver(traced.minimize)
def minimize(given: dict[str, Any]) -> Any:
    """Minimise a function of a vector; as ``scipy.optimize.minimize``.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args)`` returns one real number.
    x0 : array_like
        The first guess, of shape (n,).
    args, method, bounds, tol, callback, options:
        As SciPy's.
    jac, hess, hessp:
        As SciPy's. Derivatives that the method uses and that are left out are exact. With more
        than 64 variables ``"trust-constr"`` gets sparse matrices, and methods that accept
        products with the Hessian get these.
    constraints:
        As SciPy's. Jacobians of dictionaries without ``"jac"`` and of this module's
        :class:`NonlinearConstraint` are filled in.

    Returns
    -------
    OptimizeResult
        SciPy's. Values and derivatives come from one evaluation a point; ``nfev`` and ``njev``
        count what the method has asked for.

    Raises
    ------
    ValueError, TypeError
        As SciPy does.

    Notes
    -----
    ``method="ipopt"`` is IPOPT (``pip install 'symgrad[ipopt]'``), with sparse exact first and
    second derivatives of objective and constraints. ``options`` are IPOPT's and ``disp`` and
    ``maxiter``; the result is that of :meth:`symgrad.NLP.solve`.

    Examples
    --------
    >>> found = minimize(lambda x: np.sum((x - 3.0) ** 4), np.zeros(2), method="Newton-CG")
    >>> found.success, np.round(found.x, 1)
    (True, array([3., 3.]))
    """
    fun, args, jac = given["fun"], as_tuple(given.get("args", ())), given.get("jac")
    constraints = given.get("constraints", ())
    method = given.get("method")
    if method is None:
        bounded = given.get("bounds") is not None
        method = "slsqp" if constraints else "l-bfgs-b" if bounded else "bfgs"
    name = method.lower() if isinstance(method, str) else ""
    if name == "ipopt":
        return _by_ipopt(**{**given, "fun": partial(_first, fun) if jac is True else fun})
    x = start_of(given["x0"])
    if name in _GRADIENT | _HESSIAN | _PRODUCT and x is not None and x.ndim == 1:
        large = x.size > SMALL
        sparse = large and name == "trust-constr"
        f = Derived("minimize", fun, args, scalar=True, sparse=sparse)
        # If fun(x) gives the gradient, too, the Hessian is that of its first result.
        whole = f
        if jac is True:
            whole = Derived("minimize", partial(_first, fun), args, scalar=True, sparse=sparse)
        traced = True
        if jac is None or jac is False:
            traced = f.starts(x, f.fun)
            if traced:
                given |= {"fun": f.fun, "jac": f.gradient}
            elif name in _HESSIAN | _PRODUCT:
                f.plain(x)  # SciPy would miss a Jacobian before it meets the function's own error
        curved = given.get("hess") is not None or given.get("hessp") is not None
        if traced and name in _HESSIAN | _PRODUCT and not curved:
            if sparse or not large or name in _HESSIAN:
                if whole.starts(x, whole.hessian):
                    given["hess"] = whole.hessian
            elif whole.starts(x, lambda x: whole.hessian_product(x, x)):
                given["hessp"] = whole.hessian_product
        if name in ("slsqp", "trust-constr"):
            given["constraints"] = _each(lambda c: _filled_constraint(c, x, name), constraints)
    return scipy.optimize.minimize(**given)


def _first(function: Callable[..., Any], *args: Any) -> Any:
    """Return the first result of a function."""
    return function(*args)[0]


def _each(change: Callable[[Any], Any], constraints: Any) -> Any:
    """Return constraints, one or several, each changed."""
    if isinstance(constraints, (list, tuple)):
        return [change(c) for c in constraints]
    return change(constraints)


def _by_ipopt(
    fun: Callable[..., Any], x0: Any, args: Any = (), bounds: Any = None, constraints: Any = (),
    tol: Any = None, callback: Any = None, options: Any = None, **_: Any,
) -> Any:  # fmt: skip
    """Return the result of IPOPT for a problem as SciPy's ``minimize`` takes it."""
    x = start_of(x0)
    if x is None or x.ndim != 1:
        raise ShapeError("'x0' must only have one dimension, and be of real numbers.")
    each = constraints if isinstance(constraints, (list, tuple)) else [constraints]
    parts = [_as_function(c) for c in each]

    given = dict(options or {})
    if given.pop("disp", False):
        given.setdefault("print_level", 5)
    if "maxiter" in given:
        given["max_iter"] = given.pop("maxiter")
    if tol is not None:
        given.setdefault("tol", tol)
    problem = nlp(
        partial(_with, fun, as_tuple(args)),
        partial(_together, [p[1] for p in parts], *(p[0] for p in parts)) if parts else None, x,
        bounds=_pair(bounds, x.size),
        limits=([p[2] for p in parts], [p[3] for p in parts]) if parts else None,
    )  # fmt: skip
    found = problem.solve(callback=callback, options=given)
    # What they leave in the user's objects are to be numbers, and compiled code leaves none.
    for f, more in ((fun, as_tuple(args)), *(p[:2] for p in parts)):
        f(found.x, *more)
    return found


def _with(f: Callable[..., Any], args: tuple[Any, ...], x: Any) -> Any:
    return noting(f)(x, *args)


def _together(given: Any, *functions_and_x: Any) -> list[Any]:
    *functions, x = functions_and_x
    return [as_array(noting(g)(x, *args)) for g, args in zip(functions, given, strict=True)]


def _product(A: Any, x: Any) -> Any:
    return A @ x


def _as_function(constraint: Any) -> tuple[Callable[..., Any], tuple[Any, ...], Any, Any]:
    """Return the function of a constraint of any style, its arguments, and its bounds."""
    if isinstance(constraint, dict):
        upper = {"eq": 0.0, "ineq": np.inf}.get(str(constraint.get("type")).lower())
        if upper is None or not callable(constraint.get("fun")):
            raise ArgumentError("a constraint has a 'type', 'eq' or 'ineq', and a function 'fun'")
        return constraint["fun"], as_tuple(constraint.get("args", ())), 0.0, upper
    if isinstance(constraint, scipy.optimize.LinearConstraint):
        return partial(_product, constraint.A), (), constraint.lb, constraint.ub
    if isinstance(constraint, scipy.optimize.NonlinearConstraint):
        return constraint.fun, (), constraint.lb, constraint.ub
    raise ArgumentError(f"a constraint is not to be of type {type(constraint).__name__}")


def _pair(bounds: Any, n: int) -> Any:
    """Return lower and upper bounds, of SciPy's object or of pairs."""
    if bounds is None or isinstance(bounds, scipy.optimize.Bounds):
        return None if bounds is None else (bounds.lb, bounds.ub)
    pairs = [tuple(pair) for pair in bounds]
    if any(len(pair) != 2 for pair in pairs) or len(pairs) not in (1, n):
        raise ShapeError(f"bounds are {n} pairs, (lower, upper), one for each variable")
    lower, upper = (np.array([p[k] for p in pairs], float) for k in (0, 1))
    return np.broadcast_to(lower, n), np.broadcast_to(upper, n)
