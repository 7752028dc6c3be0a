"""Least squares and systems of equations in traced code."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize

from .._api._at_values import jvp
from .._api._custom import stop_gradient
from .._api._implicit import root_at
from .._api._matrices import jacobian
from .._api._transforms import grad
from .._core.ops.np_common import as_array
from .._core.trace import Traced, as_node, known_value
from ..errors import ShapeError, UnsupportedError
from ._descent import BOTH, RUNNING, Box, Model, Tests, box_of, descend, inverse, minimum
from ._solver_arguments import as_tuple, first_parameters

MESSAGE = "In traced code success tells whether this is a solution: else it is nan."

#: The tolerance of MINPACK's programs.
MINPACK = 1.49012e-8

Function = Callable[[Any], Any]


def vector(x0: Any) -> Any:
    """Return where a solver starts, which has no derivative, as a vector of double precision.

    Single precision would end where data of double precision come in.
    """
    x = np.atleast_1d(1.0 * as_array(x0))
    if x.dtype.kind != "f":
        raise UnsupportedError(f"in traced code solvers start at real numbers, not at {x.dtype}")
    # Derivatives at plain numbers would be computed by kernels of their own.
    return stop_gradient(Traced(as_node(x.astype(np.float64))))


def values_of(fun: Callable[..., Any], args: Any, kwargs: Any = None) -> Function:
    """Return a user's function of a vector, which it may write to; its values are a vector."""
    rest, named = as_tuple(args), kwargs or {}
    return lambda x: 1.0 * flat(as_array(fun(x.copy(), *rest, **named)))


def flat(x: Any) -> Any:
    """Return an array as a vector; a vector keeps its length as it is written."""
    return x if x.ndim == 1 else np.ravel(x)


# ---------------------------------------------------------------- least squares

#: The losses of ``least_squares``, functions of the squares.
LOSSES: dict[str, Function] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2 * (np.sqrt(1 + z) - 1),
    "huber": lambda z: np.where(z <= 1, z, 2 * np.sqrt(np.where(z <= 1, 1.0, z)) - 1),
    "cauchy": np.log1p,
    "arctan": np.arctan,
}


class Squares:
    """A sum of squares, or of another function of them."""

    def __init__(self, residual: Function, loss: str = "linear", f_scale: Any = 1.0) -> None:
        if loss not in LOSSES:
            raise UnsupportedError(
                f"least_squares: in traced code loss is one of {', '.join(map(repr, LOSSES))}, "
                f"not {loss!r}"
            )
        self.residual, self.unit = residual, f_scale
        self.loss = None if loss == "linear" else LOSSES[loss]

    def cost(self, x: Any) -> Any:
        """Return half of the sum."""
        r = self.residual(x)
        if self.loss is None:
            return 0.5 * (r @ r)
        return 0.5 * self.unit**2 * np.sum(self.loss((r / self.unit) ** 2))

    def jacobian(self, x: Any) -> Any:
        """Return J such that ``J' J`` stands for the Hessian, as Gauss and Newton have it."""
        slopes = jacobian(self.residual)(x)
        if self.loss is None:
            return slopes
        loss, z = self.loss, (self.residual(x) / self.unit) ** 2
        one = np.ones_like(z)
        first, second = jvp(lambda z: jvp(loss, (z,), (one,))[1], (z,), (one,))
        weight = np.maximum(first + 2 * z * second, np.finfo(float).eps)
        return slopes * np.reshape(np.sqrt(weight), (-1, 1))

    def model(self, x: Any) -> Model:
        """Return the paraboloid of Gauss and Newton."""
        r, slopes = self.residual(x), self.jacobian(x)
        if self.loss is None:
            return Model(0.5 * (r @ r), slopes.T @ r, slopes.T @ slopes)
        return Model(self.cost(x), grad(self.cost)(x), slopes.T @ slopes)

    def solved(
        self, x0: Any, tests: Tests, most: Any, box: Box | None = None
    ) -> tuple[Any, Any, Any, Any]:
        """Return x, whether it is a minimum, the status, and the number of steps."""
        start = vector(x0)
        found = descend(self.model, start, tests, most, box)
        ok = (found.status > RUNNING) & (found.status <= BOTH)
        if box is not None:
            ok = ok & _starts_inside(start, box)
        return minimum(grad(self.cost), found.x, ok, box), ok, found.status, found.steps


def least_squares(
    fun: Callable[..., Any], x0: Any, bounds: Any = (-np.inf, np.inf), ftol: Any = 1e-8,
    xtol: Any = 1e-8, gtol: Any = 1e-8, loss: Any = "linear", f_scale: Any = 1.0,
    max_nfev: Any = None, args: Any = (), kwargs: Any = None, method: Any = "trf", **_: Any,
) -> Any:  # fmt: skip
    """Solve a nonlinear least-squares problem."""
    residual = values_of(fun, args, kwargs)
    start = vector(x0)
    n = start.shape[0]
    box = box_of(*ends_of(bounds), n)
    _check_method(method, loss)
    if isinstance(max_nfev, int) and max_nfev <= 0:
        raise ValueError("`max_nfev` must be None or positive integer.")
    squares = Squares(residual, loss, f_scale)
    tests = Tests(*(0.0 if t is None else t for t in (ftol, xtol, gtol)))
    x, ok, status, steps = squares.solved(start, tests, 100 * n if max_nfev is None else max_nfev,
                                          box)  # fmt: skip
    slope = grad(squares.cost)(x)
    at_bound = np.zeros(n, int) if box is None else _active(x, box)
    steep = np.abs(slope) if box is None else np.where(box.free(x, slope), np.abs(slope), 0.0)
    return scipy.optimize.OptimizeResult(
        x=x, cost=squares.cost(x), fun=residual(x), jac=squares.jacobian(x), grad=slope,
        optimality=np.max(steep), active_mask=at_bound, nfev=steps + 1, njev=steps + 1,
        status=status, message=MESSAGE, success=ok,
    )  # fmt: skip


def _starts_inside(start: Any, box: Box) -> Any:
    """Tell whether a start is within the bounds; raise as SciPy does where all is known."""
    inside = np.all(box.inside(start) == start)
    if type(start.node.shape[0]) is int:  # else its length would be fixed
        known = known_value(as_node(inside))
        if known is not None and not known:
            raise ValueError("Initial guess is outside of provided bounds")
    return inside


def _active(x: Any, box: Box) -> Any:
    return np.where(x <= box.lower, -1, np.where(x >= box.upper, 1, 0))


def ends_of(bounds: Any) -> tuple[Any, Any]:
    """Return lower and upper bounds, which SciPy takes in two ways."""
    if isinstance(bounds, scipy.optimize.Bounds):
        return bounds.lb, bounds.ub
    lower, upper = bounds
    return lower, upper


def leastsq(
    func: Callable[..., Any], x0: Any, args: Any = (), full_output: Any = False,
    ftol: Any = MINPACK, xtol: Any = MINPACK, gtol: Any = 0.0, maxfev: Any = 0, **_: Any,
) -> Any:  # fmt: skip
    """Solve a least-squares problem."""
    squares = Squares(values_of(func, args))
    start = vector(x0)
    most = maxfev or 100 * (start.shape[0] + 1)
    x, _, status, steps = squares.solved(start, Tests(ftol, xtol, gtol), most)
    if not full_output:
        return x, status
    told = {"nfev": steps + 1, "fvec": squares.residual(x)}
    return x, covariance(jacobian(squares.residual)(x)), told, MESSAGE, status


def covariance(slopes: Any) -> Any:
    """Return ``(J' J)^-1``; infinite where there is none.

    There is none where rounding errors decide: a variance is at least what it would be if the
    parameter were the only one, and 1e15 times that has no digit. SciPy's is infinite or 1e20 and
    more there, but with bounds the pseudoinverse, by which fits in batches take five times as long.
    """
    length = np.sqrt(np.sum(slopes * slopes, axis=0))
    unit = slopes / length
    found = inverse(unit.T @ unit)
    growth = np.diagonal(found)
    clear = np.all((growth > 0.5) & (growth < 1e15)) | np.any(np.isnan(slopes))
    return np.where(clear, found / (length * np.reshape(length, (-1, 1))), np.inf)


def curve_fit(
    f: Callable[..., Any], xdata: Any, ydata: Any, p0: Any = None, sigma: Any = None,
    absolute_sigma: bool = False, bounds: Any = (-np.inf, np.inf), method: Any = None,
    full_output: bool = False, nan_policy: Any = None, **kwargs: Any,
) -> Any:  # fmt: skip
    """Fit a function to data."""
    if nan_policy is not None:
        raise UnsupportedError(
            "curve_fit: in traced code the number of points does not depend on their values: "
            "weigh points that are not to count by sigma=np.inf instead of nan_policy"
        )
    if unknown := kwargs.keys() - _options():
        raise TypeError(f"curve_fit() got an unexpected keyword argument {min(unknown)!r}")
    lower, upper = ends_of(bounds)
    if p0 is None:
        p0 = first_parameters(f)
        if p0 is None:
            raise ValueError("Unable to determine number of fit parameters.")
        if not (np.all(np.isinf(lower)) and np.all(np.isinf(upper))):
            p0 = _inside(*(np.broadcast_to(1.0 * as_array(b), p0.shape) for b in (lower, upper)))
    data = as_array(xdata) if isinstance(xdata, (list, tuple)) else xdata
    ydata = 1.0 * as_array(ydata)
    if ydata.size == 0:
        raise ValueError("`ydata` must not be empty!")
    weigh = _weighing(sigma)

    def residual(p: Any) -> Any:
        return weigh(flat(f(data, *(p[k] for k in range(n))) - ydata))

    start = vector(p0)
    n = start.shape[0]
    box = box_of(lower, upper, n)
    _check_method(method, kwargs.get("loss", "linear"))
    by_minpack = method in (None, "lm") and box is None
    count = residual(start).shape[0]
    if by_minpack and count < n:
        raise TypeError(
            f"The number of func parameters={n} must not exceed the number of data points={count}"
        )
    tolerance = MINPACK if by_minpack else 1e-8
    tests = Tests(
        kwargs.pop("ftol", tolerance), kwargs.pop("xtol", tolerance),
        kwargs.pop("gtol", 0.0 if by_minpack else tolerance),
    )  # fmt: skip
    most = kwargs.pop("max_nfev", None) or kwargs.pop("maxfev", None) or 100 * (n + 1)
    squares = Squares(residual, kwargs.get("loss", "linear"), kwargs.get("f_scale", 1.0))
    popt, _, status, steps = squares.solved(start, tests, most, box)
    r = residual(popt)
    pcov = covariance(squares.jacobian(popt))
    if not absolute_sigma:
        spare = r.shape[0] - n
        pcov = pcov * (2 * squares.cost(popt) / spare) if spare > 0 else np.inf * np.abs(pcov)
    if not full_output:
        return popt, pcov
    return popt, pcov, {"nfev": steps + 1, "fvec": r}, MESSAGE, status


@functools.cache
def _options() -> frozenset[str]:
    """Return what ``curve_fit`` passes on."""
    solvers = scipy.optimize.leastsq, scipy.optimize.least_squares
    return frozenset(name for f in solvers for name in inspect.signature(f).parameters)


def _check_method(method: Any, loss: Any) -> None:
    """Raise for a method that SciPy does not have, or not with a loss, as SciPy does."""
    if method not in (None, "trf", "dogbox", "lm"):
        raise ValueError("`method` must be 'trf', 'dogbox' or 'lm'.")
    if method == "lm" and loss != "linear":
        raise ValueError("method='lm' supports only 'linear' loss function.")


def _weighing(sigma: Any) -> Function:
    if sigma is None:
        return lambda r: r
    sigma = 1.0 * as_array(sigma)
    if sigma.ndim < 2:
        return lambda r: r / sigma
    root = np.linalg.cholesky(sigma)
    return lambda r: np.linalg.solve(root, r)


def _inside(lower: Any, upper: Any) -> Any:
    """Return where SciPy begins between bounds."""
    low, high = np.isfinite(lower), np.isfinite(upper)
    middle = 0.5 * (np.where(low, lower, 0.0) + np.where(high, upper, 0.0))
    return np.where(low & high, middle, np.where(low, lower + 1, np.where(high, upper - 1, 1.0)))


# ---------------------------------------------------------------- equations


def _solved(
    fun: Callable[..., Any], x0: Any, args: Any, xtol: Any, most: Any, what: str
) -> tuple[Any, Any, Any, Function]:
    """Return the root, whether it is one, the number of steps, and the function."""
    equations = values_of(fun, args)
    start = np.ravel(vector(x0))
    n = start.shape[0]
    if n == 0:
        raise ValueError(f"{what}: x0 is empty, there is nothing to solve for")
    count = equations(start).shape[0]
    if count != n:
        raise ShapeError(f"{what}: there are {count} equations for {n} unknowns")
    found = descend(Squares(equations).model, start, Tests(0.0, xtol, 0.0), most or 100 * (n + 1))
    # At a minimum of the squares that is no root the Jacobian is singular. The last step is
    # Newton's own: the squares have lost half of the digits where that nearly is.
    move = np.linalg.solve(jacobian(equations)(found.x), equations(found.x))
    size = np.sqrt(found.x @ found.x)
    ok = (found.near.value == 0) | (np.sqrt(move @ move) <= 1e-6 * (size + 1e-6))
    x = found.x - np.where(found.near.value == 0, 0.0, move)
    return root_at(equations, x, ok), ok, found.steps, equations


def fsolve(
    func: Callable[..., Any], x0: Any, args: Any = (), full_output: Any = 0, xtol: Any = MINPACK,
    maxfev: Any = 0, **_: Any,
) -> Any:  # fmt: skip
    """Find a root of a function of vectors."""
    x, ok, steps, equations = _solved(func, x0, args, xtol, maxfev, "fsolve")
    if not full_output:
        return x
    told = {"nfev": steps + 1, "fvec": equations(x), "fjac": jacobian(equations)(x)}
    return x, told, np.where(ok, 1, 5), MESSAGE


def root(
    fun: Callable[..., Any], x0: Any, args: Any = (), method: Any = "hybr", jac: Any = None,
    tol: Any = None, options: Any = None, **_: Any,
) -> Any:  # fmt: skip
    """Find a root of a function of vectors."""
    name, given = str(method).lower(), dict(options or {})
    values = fun if jac is not True else (lambda *x: fun(*x)[0])
    if name == "lm":
        tolerance = tol or MINPACK
        found = least_squares(
            values, x0, args=args, ftol=given.get("ftol", tolerance),
            xtol=given.get("xtol", tolerance), gtol=given.get("gtol", 0.0),
            max_nfev=given.get("maxiter") or None,
        )  # fmt: skip
        return scipy.optimize.OptimizeResult(
            x=found.x, success=found.success, status=found.status, message=MESSAGE,
            nfev=found.nfev, fun=found.fun, method=name,
        )  # fmt: skip
    if name != "hybr":
        raise UnsupportedError(
            f"root: in traced code method is 'hybr' or 'lm', not {method!r}: Newton's method "
            "with an exact Jacobian"
        )
    xtol = given.get("xtol", MINPACK if tol is None else tol)
    x, ok, steps, equations = _solved(values, x0, args, xtol, given.get("maxfev"), "root")
    return scipy.optimize.OptimizeResult(
        x=x, success=ok, status=np.where(ok, 1, 5), message=MESSAGE, nfev=steps + 1,
        fun=equations(x), method=name,
    )  # fmt: skip
