"""``minimize`` and ``minimize_scalar`` in traced code: Newton's method, simplices, and Brent's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize

from .._api._custom import stop_gradient
from .._api._matrices import hessian
from .._api._transforms import grad
from .._core.graph import warn_user
from .._core.ops.np_common import as_array
from .._syntax._control import while_loop
from ..errors import ShapeError, UnsupportedError
from ._constrained_traced import conditions_of, held
from ._descent import (
    GRADIENT,
    VALUE,
    Box,
    Model,
    Tests,
    at_rounding,
    box_of,
    descend,
    inverse,
    minimum,
)
from ._fits_traced import MESSAGE, vector
from ._roots_traced import Function, function_of_numbers
from ._simplex import nelder_mead
from ._solver_arguments import as_tuple

#: All that go along the gradient: in traced code they are one method, Newton's.
METHODS = frozenset(
    ("cg", "bfgs", "l-bfgs-b", "tnc", "slsqp", "dogleg", "trust-exact", "newton-cg",
     "trust-ncg", "trust-krylov", "trust-constr")
)  # fmt: skip

#: Those that take constraints.
CONSTRAINED = frozenset(("slsqp", "trust-constr"))

#: Those that take bounds.
BOUNDED = CONSTRAINED | {"l-bfgs-b", "tnc", "nelder-mead"}


def minimize(
    fun: Callable[..., Any], x0: Any, args: Any = (), method: Any = None, jac: Any = None,
    bounds: Any = None, constraints: Any = (), tol: Any = None, options: Any = None, **_: Any,
) -> Any:  # fmt: skip
    """Minimise a function of a vector."""
    name = str(method).lower()
    if method is not None and name not in METHODS and name != "nelder-mead":
        raise UnsupportedError(
            f"minimize cannot be traced with method={method!r}. Write instead: "
            "method='Nelder-Mead', which needs no derivatives either, or leave it out for Newton's "
            "method with exact derivatives, which stands for 'BFGS', 'L-BFGS-B', 'trust-exact' and "
            "the like"
        )
    if constraints and method is not None and str(method).lower() not in CONSTRAINED:
        warn_user(f"Method {method} cannot handle constraints.", RuntimeWarning)
        constraints = ()
    if bounds is not None and method is not None and str(method).lower() not in BOUNDED:
        warn_user(f"Method {method} cannot handle bounds.", RuntimeWarning)
        bounds = None
    rest, given = as_tuple(args), dict(options or {})

    def value(x: Any) -> Any:
        found = fun(x.copy(), *rest)  # as SciPy: it may write there
        return _number(found[0] if jac is True else found)

    slope, curved = grad(value), hessian(value)

    def model(x: Any) -> Model:
        bend = curved(x)
        if n == 1:
            return Model(value(x), slope(x), np.abs(bend))
        # Where it bends down, Newton's step would lead up.
        along, axes = np.linalg.eigh(bend)
        return Model(value(x), slope(x), (axes * np.abs(along)) @ axes.T)

    start = vector(x0)
    if start.ndim != 1:
        raise ValueError("'x0' must only have one dimension.")
    n = start.shape[0]
    box = None if bounds is None else box_of(*ends_of_pairs(bounds, n), n)
    if name == "nelder-mead":
        return nelder_mead(value, stop_gradient(start), box, tol, given)
    level = given.get("gtol", 1e-5 if tol is None else tol)
    most = given.get("maxiter") or 200 * n
    conditions = conditions_of(constraints, start, box) if constraints else None
    if conditions is not None:
        best = held(value, conditions, start, level, most)
        return scipy.optimize.OptimizeResult(
            x=best.x, fun=value(best.x), jac=slope(best.x), multipliers=best.multipliers,
            nit=best.steps, nfev=best.steps + 1, njev=best.steps + 1, nhev=best.steps + 1,
            status=np.where(best.ok, 0, 1), success=best.ok, message=MESSAGE,
        )  # fmt: skip
    # Newton's method has nearly twice the digits after a step more, and derivatives of the
    # solution are as good as it is.
    found = descend(model, start, Tests(0.0, 1e-10, 1e-4 * level), most, box)
    steep = np.abs(found.near.slope)
    if box is not None:
        steep = np.where(box.free(found.x, found.near.slope), steep, 0.0)
    ok = (np.max(steep) <= level) | (found.status == GRADIENT) | (found.status == VALUE)
    # Where the level is below rounding, x is a minimum without success: SciPy's status 2.
    x = minimum(slope, found.x, ok | at_rounding(found, box), box)
    bend = curved(x)
    return scipy.optimize.OptimizeResult(
        x=x, fun=value(x), jac=slope(x), hess=bend, hess_inv=inverse(bend),
        nit=found.steps, nfev=found.steps + 1, njev=found.steps + 1, nhev=found.steps + 1,
        status=np.where(ok, 0, np.where(found.steps < most, 2, 1)), success=ok, message=MESSAGE,
    )  # fmt: skip


def _number(value: Any) -> Any:
    """Return the value of an objective, which may be an array of one element, as in SciPy."""
    found = 1.0 * as_array(value)
    if found.ndim and found.size != 1:
        raise ShapeError("The user-provided objective function must return a scalar value.")
    return np.reshape(found, ()) if found.ndim else found


def ends_of_pairs(bounds: Any, n: int) -> tuple[Any, Any]:
    """Return lower and upper bounds, of SciPy's object or of pairs."""
    if isinstance(bounds, scipy.optimize.Bounds):
        return bounds.lb, bounds.ub
    pairs = [tuple(pair) for pair in bounds]
    if len(pairs) not in (1, n) or any(len(pair) != 2 for pair in pairs):
        raise ShapeError(f"bounds are {n} pairs, (lower, upper), one for each variable")
    lower = [-np.inf if low is None else low for low, _ in pairs]
    upper = [np.inf if high is None else high for _, high in pairs]
    return as_array(lower), as_array(upper)


# ---------------------------------------------------------------- of a number

GOLDEN = 0.5 * (3.0 - math.sqrt(5.0))


class Section(NamedTuple):
    """Where Brent's search for a minimum is: between a and b.

    Attributes
    ----------
    a, b:
        The interval.
    x, w, v, fx, fw, fv:
        The three best points and the values there.
    move, before:
        The last two steps.
    """

    a: Any
    b: Any
    x: Any
    w: Any
    v: Any
    fx: Any
    fw: Any
    fv: Any
    move: Any
    before: Any
    steps: Any


def _brent(f: Function, start: Section, tolerance: Function, golden: float, most: Any) -> Section:
    """Golden sections and parabolas in SciPy's order. Source: R. P. Brent, 1973, chapter 5."""

    def going(s: Section) -> Any:
        far = np.abs(s.x - 0.5 * (s.a + s.b)) > 2 * tolerance(s.x) - 0.5 * (s.b - s.a)
        return far & (s.steps < most) & np.isfinite(s.fx)

    def step(s: Section) -> Section:
        a, b, x, middle, least = s.a, s.b, s.x, 0.5 * (s.a + s.b), tolerance(s.x)
        r, q = (x - s.w) * (s.fx - s.fv), (x - s.v) * (s.fx - s.fw)
        p, q = (x - s.v) * q - (x - s.w) * r, 2 * (q - r)
        p, q = np.where(q > 0, -p, p), np.abs(q)
        fits = (np.abs(s.before) > least) & (np.abs(p) < np.abs(0.5 * q * s.before))
        fits &= (p > q * (a - x)) & (p < q * (b - x))
        move = p / np.where(fits, q, 1.0)
        at_edge = (x + move - a < 2 * least) | (b - x - move < 2 * least)
        move = np.where(at_edge, np.where(middle >= x, least, -least), move)
        before = np.where(fits, s.move, np.where(x >= middle, a - x, b - x))
        move = np.where(fits, move, golden * before)
        u = x + np.where(move >= 0, 1.0, -1.0) * np.maximum(np.abs(move), least)
        fu = f(u)

        better, right = fu <= s.fx, u >= x
        a = np.where(better & right, x, np.where(~better & ~right, u, a))
        b = np.where(better & ~right, x, np.where(~better & right, u, b))
        second = (fu <= s.fw) | (s.w == x)
        third = ~second & ((fu <= s.fv) | (s.v == x) | (s.v == s.w))

        def ranked(new: Any, first: Any, w: Any, v: Any) -> tuple[Any, Any, Any]:
            return (
                np.where(better, new, first),
                np.where(better, first, np.where(second, new, w)),
                np.where(better | second, w, np.where(third, new, v)),
            )

        x, w, v = ranked(u, x, s.w, s.v)
        fx, fw, fv = ranked(fu, s.fx, s.fw, s.fv)
        return Section(a, b, x, w, v, fx, fw, fv, move, before, s.steps + 1)

    return while_loop(going, step, start)


class Three(NamedTuple):
    """Three points on the way down, the values there, and whether they hold a minimum."""

    a: Any
    b: Any
    c: Any
    fa: Any
    fb: Any
    fc: Any
    steps: Any
    done: Any


def _bracket(f: Function, a: Any, b: Any) -> Three:
    """Return SciPy's bracket of a minimum that is sought downhill from a and b."""
    ratio, most = 1.618034, 1000
    fa, fb = f(a), f(b)
    swap = fa < fb
    a, b, fa, fb = (np.where(swap, *p) for p in ((b, a), (a, b), (fb, fa), (fa, fb)))
    c = b + ratio * (b - a)

    def step(s: Three) -> Three:
        r, q = (s.b - s.a) * (s.fb - s.fc), (s.b - s.c) * (s.fb - s.fa)
        twice = np.where(np.abs(q - r) < 1e-21, 2e-21, 2 * (q - r))
        w = s.b - ((s.b - s.c) * q - (s.b - s.a) * r) / twice
        limit, on = s.b + 110.0 * (s.c - s.b), s.c + ratio * (s.c - s.b)
        inside = (w - s.c) * (s.b - w) > 0
        at_limit = ~inside & ((w - limit) * (limit - s.c) >= 0)
        beyond = ~inside & ~at_limit & ((w - limit) * (s.c - w) > 0)
        w = np.where(inside | beyond, w, np.where(at_limit, limit, on))
        fw = f(w)
        low, high = inside & (fw < s.fc), inside & (fw >= s.fc) & (fw > s.fb)
        farther = beyond & (fw < s.fc)
        again = (inside & ~low & ~high) | farther
        second = np.where(farther, w + ratio * (w - s.c), on)
        f_second = np.where(again, f(second), fw)
        second = np.where(again, second, w)

        def moved(a: Any, b: Any, c: Any, w: Any, second: Any) -> tuple[Any, Any, Any]:
            return (
                np.where(low, b, np.where(high, a, np.where(farther, c, b))),
                np.where(low, w, np.where(high, b, np.where(farther, w, c))),
                np.where(low, c, np.where(high, w, second)),
            )

        points = moved(s.a, s.b, s.c, w, second)
        return Three(*points, *moved(s.fa, s.fb, s.fc, fw, f_second), s.steps + 1, low | high)

    return while_loop(
        lambda s: ~s.done & (s.fc < s.fb) & (s.steps <= most), step,
        Three(a, b, c, fa, fb, f(c), 0, np.isnan(fa)),
    )  # fmt: skip


class Start(NamedTuple):
    """Where a search along a line begins, and when it ends.

    Attributes
    ----------
    a, x, b:
        The ends of the section, and the point in it to begin with.
    golden, rtol, atol:
        Brent's step into the larger part, and how near points may come, by SciPy's numbers.
    most:
        The most steps.
    valid:
        Whether there is a minimum in the section.
    """

    a: Any
    x: Any
    b: Any
    golden: float
    rtol: Any
    atol: Any
    most: Any
    valid: Any

    def tolerance(self, x: Any) -> Any:
        """Return how near to ``x`` another point may be."""
        return self.rtol * np.abs(x) + self.atol


def _within_bounds(lower: Any, upper: Any, tol: Any, given: dict[str, Any]) -> Start:
    a, b = stop_gradient(lower), stop_gradient(upper)
    atol = given.get("xatol", 1e-5 if tol is None else tol) / 3
    most = given.get("maxiter", 500) - 1  # SciPy counts evaluations
    return Start(a, a + GOLDEN * (b - a), b, GOLDEN, math.sqrt(2.2e-16), atol, most, a <= b)


def _from_bracket(f: Function, bracket: Any, tol: Any, given: dict[str, Any]) -> Start:
    given_ends = (0.0, 1.0) if bracket is None else bracket
    ends = [stop_gradient(1.0 * as_array(x)).astype(np.float64) for x in given_ends]
    if len(ends) == 3:
        a, x, b = ends
        three = Three(a, x, b, f(a), f(x), f(b), 0, True)
    else:
        three = _bracket(f, *ends)
    x, a, b = three.b, np.minimum(three.a, three.c), np.maximum(three.a, three.c)
    valid = (three.fb <= three.fa) & (three.fb <= three.fc)
    valid &= (three.fb < three.fa) | (three.fb < three.fc)
    valid &= (a < x) & (x < b) & np.isfinite(a) & np.isfinite(b)
    rtol = given.get("xtol", 1.48e-8 if tol is None else tol)
    return Start(a, x, b, 0.3819660, rtol, 1e-11, given.get("maxiter", 500), valid)


def minimize_scalar(
    fun: Callable[..., Any], bracket: Any = None, bounds: Any = None, args: Any = (),
    method: Any = None, tol: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    """Minimise a function of a number."""
    name = str(method or ("brent" if bounds is None else "bounded")).lower()
    f, given = function_of_numbers(fun, args, "minimize_scalar"), dict(options or {})
    if name == "bounded":
        if bounds is None:
            raise ValueError("The `bounds` parameter is mandatory for method `bounded`.")
        lower, upper = (1.0 * as_array(x) for x in bounds)
        start = _within_bounds(lower, upper, tol, given)
    elif name == "brent":
        if bounds is not None:
            raise ValueError(f"Use of `bounds` is incompatible with 'method={method}'.")
        lower, upper = -np.inf, np.inf
        start = _from_bracket(f, bracket, tol, given)
    else:
        raise UnsupportedError(
            f"minimize_scalar: in traced code method is 'brent' or 'bounded', not {method!r}"
        )
    a, x, b, fx = start.a, start.x, start.b, f(start.x)
    section = Section(a, b, x, x, x, fx, fx, fx, 0.0 * x, 0.0 * x, 0)
    found = _brent(f, section, start.tolerance, start.golden, start.most)
    ok = start.valid & (found.steps < start.most) & np.isfinite(found.fx)

    # Where values are level their differences do not tell the minimum; the slope does.
    x, slope = found.x, grad(f)
    at, bend = slope(x), grad(slope)(x)
    target = x - at / bend
    inner = (bend > 0) & (target >= lower) & (target <= upper)
    near = 4 * start.tolerance(x)
    closer = inner & (np.abs(target - x) <= near) & (np.abs(slope(target)) < np.abs(at))
    x = np.where(closer, target, x)
    box = None
    if name == "bounded":
        x = np.where(~inner & (at > 0) & (x - a <= near), a, x)
        x = np.where(~inner & (at < 0) & (b - x <= near), b, x)
        box = Box(lower, upper)
    x = minimum(slope, x, ok, box)
    return scipy.optimize.OptimizeResult(
        x=x, fun=f(x), success=ok, message=MESSAGE, nit=found.steps, nfev=found.steps + 1,
        status=np.where(ok, 0, 1),
    )  # fmt: skip
