"""``scipy.optimize``, with the derivatives that a call leaves out.

``minimize``, ``least_squares``, ``leastsq``, ``curve_fit``, ``root``, ``fsolve``,
``root_scalar``, ``newton`` and ``NonlinearConstraint`` have SciPy's signatures and are SciPy's
solvers, with their results, messages and errors. Gradients, Jacobians and Hessians that are not
given are exact ones, by compiled code. A function that cannot be traced is solved with SciPy's
differences, and a :class:`~symgrad.errors.DifferencesWarning` says why. All other names are
SciPy's own.

In functions that are traced themselves they, ``minimize_scalar``, ``brentq``, ``brenth``,
``ridder`` and ``bisect`` are loops of the program, which the implicit function theorem
differentiates, and so are ``fixed_point``, ``toms748``, ``nnls``, ``lsq_linear``, ``fminbound``,
``brent``, ``fmin``, ``fmin_bfgs`` and the like.
A solution that is none is nan there.

Examples
--------
>>> import numpy as np
>>> from symgrad.scipy.optimize import minimize, rosen
>>> minimize(rosen, np.zeros(5), method="trust-exact").x
array([1., 1., 1., 1., 1.])
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.optimize

from .._core.ops.np_common import as_array, is_traced
from .._core.trace.namespace import holds, offering
from ._coverage import reasons
from ._fits import (
    bisect,
    brenth,
    brentq,
    curve_fit,
    fsolve,
    least_squares,
    leastsq,
    newton,
    ridder,
    root,
    root_scalar,
)
from ._legacy_solvers import (
    approx_fprime,
    brent,
    fixed_point,
    fmin,
    fmin_bfgs,
    fmin_cg,
    fmin_l_bfgs_b,
    fmin_ncg,
    fminbound,
    linear_sum_assignment,
    toms748,
)
from ._linear_fits import lsq_linear, nnls
from ._linear_programs import linprog
from ._minimize import NonlinearConstraint, minimize, minimize_scalar
from ._solver_arguments import given_numbers

__all__ = [
    "NonlinearConstraint",
    "approx_fprime",
    "bisect",
    "brent",
    "brenth",
    "brentq",
    "curve_fit",
    "fixed_point",
    "fmin",
    "fmin_bfgs",
    "fmin_cg",
    "fmin_l_bfgs_b",
    "fmin_ncg",
    "fminbound",
    "fsolve",
    "least_squares",
    "leastsq",
    "linear_sum_assignment",
    "linprog",
    "lsq_linear",
    "minimize",
    "minimize_scalar",
    "newton",
    "nnls",
    "ridder",
    "root",
    "root_scalar",
    "rosen",
    "toms748",
]

_why = reasons("optimize")
_names, __dir__ = offering(scipy.optimize, globals(), _why)


def rosen(x: Any) -> Any:
    """Rosenbrock's function, as ``scipy.optimize.rosen``.

    Examples
    --------
    >>> sg.grad(rosen)(np.array([1.0, 2.0]))
    array([-400.,  200.])
    """
    if not holds(x, is_traced):
        return scipy.optimize.rosen(x)
    x = as_array(x)
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2, axis=0)


@functools.cache
def __getattr__(name: str) -> Any:
    return given_numbers(_names(name), _why(name))
