"""Nonlinear programs: an objective, constraints, and all derivatives that a solver asks for."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from .._core.base.argument_checks import as_function, as_items, as_number, refuse_kernel, shown
from .._core.base.pickling import call_again
from .._core.trace import Tree, flatten
from ..errors import ArgumentError, ShapeError
from ._at_values import remembered
from ._flat import Flat, as_vector, limits_of
from ._ipopt import solve
from ._kept_functions import Lent, lend
from ._nlp_functions import (
    Nest,
    SparseValues,
    constraint_jacobian,
    constraint_values,
    lagrangian_hessian,
    objective_with_gradient,
)


def _of_both(objective: Any, constraints: Any, maker: Callable[..., Any], *form: Any) -> Any:
    return maker((objective, constraints), *form)


class NLP:
    """A nonlinear program with the methods of cyipopt's protocol, and :meth:`NLP.solve`.

    Made by :func:`symgrad.nlp`. Vectors of variables and of constraints hold the numbers of their
    structures in order.

    Attributes
    ----------
    n, m:
        How many variables and constraints there are.
    x0:
        The start, shape (n,).
    lb, ub, cl, cu:
        Bounds of the variables, shape (n,), and of the constraints, shape (m,).

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> problem = sg.nlp(lambda x: np.sum(x**2), lambda x: x[0] * x[1] - 1.0, np.ones(2))
    >>> problem.gradient(np.array([1.0, 2.0]))
    array([2., 4.])
    >>> problem.jacobianstructure()
    (array([0, 0]), array([0, 1]))
    >>> problem.jacobian(np.array([1.0, 2.0]))
    array([2., 1.])
    """

    def __init__(
        self, objective: Any, constraints: Any, x0: Any,
        bounds: Any, limits: Any, args: Sequence[Any],
    ) -> None:  # fmt: skip
        if not callable(objective):
            raise ArgumentError(f"nlp: objective is a function, not {type(objective).__name__}")
        if not (constraints is None or callable(constraints)):
            raise ArgumentError(f"nlp: constraints is a function, not {type(constraints).__name__}")
        refuse_kernel(objective, "nlp")
        refuse_kernel(constraints, "nlp")
        self.args = as_items(args, "nlp: args", "further arguments")
        self._functions = objective, constraints
        self.variables = Flat(x0, "x")
        self.n, self.x0 = self.variables.size, self.variables.vector
        self.lb, self.ub = limits_of(self.variables, bounds, (-np.inf, np.inf), "bounds")
        self._args_tree = flatten(self.args)[1]
        nest, count = Nest(self._tree(self.variables.tree)), len(self.variables.parts)
        made = self._made()
        self._both = made(objective_with_gradient, nest, count)
        if constraints is None:
            self._values, result = None, np.zeros(0)
        else:
            self._values = made(constraint_values, nest)
            result = self._values(*self._leaves(self.x0))
        self.results = Flat(result, "constraints")
        self.m = self.results.size
        self.cl, self.cu = limits_of(self.results, limits, (0.0, 0.0), "limits")
        if constraints is None:
            self._slopes = None
        else:
            slopes = made(constraint_jacobian, nest, count)
            self._slopes = SparseValues(slopes, self.results, self.variables, "Jacobian")
            self._slopes.fix(*self._leaves(self.x0))
        whole = Nest(self._tree(self.variables.tree, flatten(1.0)[1], self.results.tree))
        curvature = made(lagrangian_hessian, whole, count)
        self._curvature = SparseValues(curvature, self.variables, self.variables, "Hessian")
        self._curvature.fix(*self._leaves(self.x0), 1.0, *self.results.arrays(np.zeros(self.m)))

    def _made(self) -> Callable[..., Any]:
        """Return what makes functions of objective and constraints, each compiled once."""
        objective, constraints = self._functions
        lent = lend(objective, constraints)
        if lent is None:
            return partial(remembered, objective, _of_both, constraints)
        weakref.finalize(self, Lent.give_back, lent).atexit = False
        return lent.made

    def __reduce__(self) -> tuple[Any, ...]:
        x, results = self.variables.nested, self.results.nested
        bounds, limits = (x(self.lb), x(self.ub)), (results(self.cl), results(self.cu))
        return call_again(NLP, (*self._functions, x(self.x0), bounds, limits, self.args), {})

    def _tree(self, x: Tree, *more: Tree) -> Tree:
        """Return the structure of x, the further arguments, and more."""
        return Tree("tuple", None, (x, self._args_tree, *more))

    def _leaves(self, x: Any) -> list[Any]:
        """Return the arrays of a vector of variables, and those of the further arguments."""
        leaves, tree = flatten(self.args)
        if tree != self._args_tree:
            raise ShapeError("the args of the problem have become another structure")
        # Machine code takes arrays in C order.
        data = [np.ascontiguousarray(v) if np.ndim(v) else v for v in leaves]
        return [*self.variables.arrays(as_vector(x, "x")), *data]

    def objective(self, x: Any) -> float:
        """Return the objective at a vector of variables."""
        return float(self._both(*self._leaves(x))[0])

    def gradient(self, x: Any) -> Any:
        """Return the gradient of the objective, shape (n,)."""
        return np.concatenate([np.zeros(0), *map(np.ravel, self._both(*self._leaves(x))[1])])

    def constraints(self, x: Any) -> Any:
        """Return the constraints, shape (m,).

        Raises
        ------
        ShapeError
            If their number or shapes depend on x.
        """
        if self._values is None:
            return np.zeros(0)
        found = self._values(*self._leaves(x))
        return self.results.flat(found, "the result of constraints at another point")

    def jacobianstructure(self) -> tuple[Any, Any]:
        """Return rows and columns of the entries of the constraints' Jacobian."""
        if self._slopes is None:
            return np.zeros(0, int), np.zeros(0, int)
        return self._slopes.row, self._slopes.column

    def jacobian(self, x: Any) -> Any:
        """Return the entries of the constraints' Jacobian."""
        if self._slopes is None:
            return np.zeros(0)
        return self._slopes.values(*self._leaves(x))

    def hessianstructure(self) -> tuple[Any, Any]:
        """Return rows and columns of the entries of the Lagrangian's Hessian, lower triangle."""
        return self._curvature.row, self._curvature.column

    def hessian(self, x: Any, lagrange: Any, obj_factor: float) -> Any:
        """Return the entries of the Hessian of ``obj_factor * f + lagrange @ g``."""
        factor = as_number(obj_factor, "obj_factor")
        weights = self.results.arrays(as_vector(lagrange, "lagrange"))
        return self._curvature.values(*self._leaves(x), factor, *weights)

    def solve(
        self, x0: Any = None, *, solver: str | None = None, start: Any = None,
        callback: Callable[..., Any] | None = None, options: Mapping[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        """Solve it by IPOPT.

        Parameters
        ----------
        x0:
            Where to start, as nested as the problem's own; default: there.
        solver:
            ``"cyipopt"``, ``"ipyopt"`` or ``"pounce"``; default: the first that is installed.
        start:
            The result of a solve of this or a similar problem, to start from with its
            multipliers.
        callback:
            Called with an OptimizeResult after each iteration; StopIteration ends the solve.
        options:
            IPOPT's, by name: ``tol``, ``max_iter``, ``linear_solver``, ... With ``print_level=5``
            the solver prints its log; by default it prints nothing.

        Returns
        -------
        OptimizeResult
            ``x`` and ``constraints``, nested as those of the problem; ``fun``, ``jac`` (the
            gradient), ``success``, ``status`` (IPOPT's number), ``message``, ``nit``, ``nfev``,
            ``njev``, ``nhev``; the multipliers of the constraints, ``multipliers``, and of the
            bounds, ``lower_multipliers`` and ``upper_multipliers``; ``solver``.

        Raises
        ------
        MissingExtraError
            If there is no solver.
        Exception
            Exceptions of the functions and the callback are passed on, KeyboardInterrupt included.
        """
        if callback is not None:
            as_function(callback, "solve: callback")
        if start is not None:
            if not isinstance(start, Mapping) or "multipliers" not in start:
                raise ArgumentError(f"solve: start is the result of a solve, not {shown(start)}")
            vectors = [
                shape.flat(start[name], f"start.{name}")
                for shape, name in (
                    (self.variables, "x"), (self.results, "multipliers"),
                    (self.variables, "lower_multipliers"), (self.variables, "upper_multipliers"),
                )
            ]  # fmt: skip
        x = self.x0 if x0 is None else self.variables.flat(x0, "x0")
        if start is not None and x0 is None:
            x = vectors[0]
        found = solve(self, x, None if start is None else vectors[1:], solver, callback, options)
        for name in ("x", "jac", "lower_multipliers", "upper_multipliers"):
            found[name] = self.variables.nested(found[name])
        for name in ("constraints", "multipliers"):
            found[name] = self.results.nested(found[name])
        return found

    def __repr__(self) -> str:
        jac, hess = (len(pair[0]) for pair in (self.jacobianstructure(), self.hessianstructure()))
        return (
            f"<nonlinear program: {self.n} variables, {self.m} constraints, {jac} entries in "
            f"their Jacobian, {hess} in the Hessian>"
        )


def nlp(
    objective: Callable[..., Any],
    constraints: Callable[..., Any] | None = None,
    x0: Any = None,
    *,
    bounds: Any = None,
    limits: Any = None,
    args: Sequence[Any] = (),
) -> NLP:
    """Return a nonlinear program with its sparse derivatives.

    It is to minimise ``objective(x, *args)`` where ``lower <= x <= upper`` and
    ``lower <= constraints(x, *args) <= upper``.

    Parameters
    ----------
    objective:
        A NumPy function with one number as its result.
    constraints:
        A NumPy function with any structure of arrays and numbers as its result, or None.
    x0 : array_like or nested
        Where to start: an array, or a structure of arrays, as ``x`` is in the functions.
    bounds : tuple or scipy.optimize.Bounds
        ``(lower, upper)`` of x: each a number, or structures of numbers and arrays as x is; None
        and what a dictionary leaves out is unbounded. Or a ``scipy.optimize.Bounds``.
    limits : tuple or scipy.optimize.Bounds
        ``(lower, upper)`` of the constraints, in the same way; by default they are equations,
        ``constraints(x) = 0``.
    args:
        Further arguments of both functions. Data are best given here: index arrays then are
        arguments of the compiled code, which serves all problems of the kind.

    Returns
    -------
    NLP
        With ``objective``, ``gradient``, ``constraints``, ``jacobian``, ``jacobianstructure``,
        ``hessian`` and ``hessianstructure`` for solvers that take cyipopt's protocol, and
        ``solve``. See :class:`NLP`.

    Raises
    ------
    ArgumentError
        For bounds that cross, with the place.
    ShapeError
        For bounds of other shapes, and for constraints that change their number.
    TraceError, UnsupportedError
        For functions that cannot be traced.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> problem = sg.nlp(
    ...     lambda x: x[0] * x[3] * np.sum(x[:3]) + x[2],
    ...     lambda x: [x[0] * x[1] * x[2] * x[3], np.sum(x**2)],
    ...     np.array([1.0, 5.0, 5.0, 1.0]),
    ...     bounds=(1.0, 5.0),
    ...     limits=([25.0, 40.0], [np.inf, 40.0]),
    ... )
    >>> problem
    <nonlinear program: 4 variables, 2 constraints, 8 entries in their Jacobian, 10 in the Hessian>
    >>> problem.gradient(problem.x0)
    array([12.,  1.,  2., 11.])
    """
    if x0 is None:
        raise ArgumentError("nlp: x0 says how many variables there are: give it")
    return NLP(objective, constraints, x0, bounds, limits, args)
