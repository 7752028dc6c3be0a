"""Nonlinear programs: an objective, constraints, and all derivatives that a solver asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from .._ops.np_common import as_array
from .._pickles import call_again
from .._shapes import as_dim, hint
from .._trace import Tree, flatten
from ..errors import ArgumentError, ShapeError
from ._at_values import remembered
from ._flat import Flat, limits_of
from ._ipopt import solve
from ._matrices import hessian, jacobian
from ._transforms import compile, value_and_grad

# ---------------------------------------------------------------- what is compiled


# Of the single arrays: calls with arrays by position go straight to machine code. Partials, not
# closures, so that tracing can adapt the user's functions in them.


class _Nest:
    """A structure, made of its leaves; equal to others of the same structure."""

    __slots__ = ("tree",)

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def __call__(self, leaves: Sequence[Any]) -> Any:
        return self.tree.unflatten(leaves)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Nest) and self.tree == other.tree

    def __hash__(self) -> int:
        return hash(self.tree)


def _stacked(g: Callable[..., Any], x: Any, args: Any) -> Any:
    """Return constraints; lists of numbers are arrays, wherever they are."""
    result = g(x, *args)
    if isinstance(result, tuple) and all(np.ndim(v) == 0 for v in flatten(result)[0]):
        return as_array(list(result))
    return _arrays(result)


def _arrays(value: Any) -> Any:
    if type(value) is dict:
        return {key: _arrays(part) for key, part in value.items()}
    if type(value) not in (list, tuple):
        return value
    if type(value) is list and all(np.ndim(v) == 0 for v in flatten(value)[0]):
        return as_array(value)
    return type(value)(map(_arrays, value))


def _number(f: Callable[..., Any], x: Any, args: Any) -> Any:
    value = as_array(f(x, *args))
    try:
        return np.reshape(value, ())
    except ShapeError as error:
        sizes = tuple(hint(as_dim(n)) for n in value.shape)
        raise ShapeError(
            f"nlp: the objective is one number, not an array of shape {sizes}. "
            "Write instead: np.sum of it, or make it constraints"
        ) from error


def _of_leaves(
    function: Callable[..., Any], f: Callable[..., Any], nest: _Nest, *leaves: Any
) -> Any:
    return function(f, *nest(leaves))


def _lagrangian(
    f: Callable[..., Any], g: Callable[..., Any] | None, nest: _Nest, *leaves: Any
) -> Any:
    x, args, factor, multipliers = nest(leaves)
    total = factor * _number(f, x, args)
    if g is not None:
        values = flatten(_stacked(g, x, args))[0]
        for weight, value in zip(flatten(multipliers)[0], values, strict=True):
            total = total + np.sum(weight * value)
    return total


def _objective(f: Callable[..., Any], nest: _Nest, count: int) -> Any:
    return value_and_grad(partial(_of_leaves, _number, f, nest), tuple(range(count)))


def _constraint_values(g: Callable[..., Any], nest: _Nest) -> Any:
    return compile(partial(_of_leaves, _stacked, g, nest))


def _constraint_jacobian(g: Callable[..., Any], nest: _Nest, count: int) -> Any:
    by = tuple(range(count))
    return jacobian(partial(_of_leaves, _stacked, g, nest), by, sparse=True, format="coo")


def _lagrangian_hessian(
    f: Callable[..., Any], g: Callable[..., Any] | None, nest: _Nest, count: int
) -> Any:
    by, function = tuple(range(count)), partial(_lagrangian, f, g, nest)
    return hessian(function, by, sparse=True, format="coo", triangle="lower")


class _Sparse:
    """A sparse derivative by one vector: the values of its blocks, one after the other.

    Parameters
    ----------
    derivative:
        The compiled blocks, a matrix for each array of the result and each of the argument.
    rows, columns:
        Both as vectors.
    what:
        What it is, for errors.
    """

    def __init__(self, derivative: Any, rows: Flat, columns: Flat, what: str) -> None:
        self.derivative, self.what = derivative, what
        self._places = [(a.start, b.start) for a in rows.parts for b in columns.parts]
        self.row = self.column = np.zeros(0, int)
        self._known: Any = None

    def find(self, *args: Any) -> tuple[Any, Any]:
        """Return rows and columns of the values for these arguments."""
        blocks = flatten(self.derivative.pattern(*args))[0]
        pairs = list(zip(blocks, self._places, strict=True))
        rows = [np.zeros(0, int), *(block.row + down for block, (down, _) in pairs)]
        columns = [np.zeros(0, int), *(block.col + right for block, (_, right) in pairs)]
        return np.concatenate(rows), np.concatenate(columns)

    def fix(self, *args: Any) -> None:
        """Take the pattern for these arguments as that of all."""
        self.row, self.column = self.find(*args)
        self._known = self.derivative._last

    def values(self, *args: Any) -> Any:
        """Return the values.

        Raises
        ------
        ShapeError
            If they lie in other places than at the first point.
        """
        values = self.derivative.joined(*args)
        if self.derivative._last is not self._known:  # another one that may be equal
            row, column = self.find(*args)
            if not (np.array_equal(row, self.row) and np.array_equal(column, self.column)):
                raise ShapeError(
                    f"the pattern of the {self.what} is another one at this point ({len(row)} "
                    f"entries) than at the first ({len(self.row)}): solvers take it as fixed. "
                    "Write branches as np.where(condition, a, b), which has the entries of both"
                )
            self._known = self.derivative._last
        return values


# ---------------------------------------------------------------- the problem


class NLP:
    """A nonlinear program: what cyipopt's protocol asks for, and :meth:`solve`.

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
        bounds: Any, limits: Any, args: tuple[Any, ...],
    ) -> None:  # fmt: skip
        if not callable(objective):
            raise ArgumentError(f"nlp: objective is a function, not {type(objective).__name__}")
        if not (constraints is None or callable(constraints)):
            raise ArgumentError(f"nlp: constraints is a function, not {type(constraints).__name__}")
        self.args = args
        self._functions = objective, constraints
        self.variables = Flat(x0, "x")
        self.n, self.x0 = self.variables.size, self.variables.vector
        self.lb, self.ub = limits_of(self.variables, bounds, (-np.inf, np.inf), "bounds")
        self._args_tree = flatten(args)[1]
        nest, count = _Nest(self._tree(self.variables.tree)), len(self.variables.parts)
        self._both = remembered(objective, _objective, nest, count)
        if constraints is None:
            self._values, result = None, np.zeros(0)
        else:
            self._values = remembered(constraints, _constraint_values, nest)
            result = self._values(*self._leaves(self.x0))
        self.results = Flat(result, "constraints")
        self.m = self.results.size
        self.cl, self.cu = limits_of(self.results, limits, (0.0, 0.0), "limits")
        if constraints is None:
            self._slopes = None
        else:
            slopes = remembered(constraints, _constraint_jacobian, nest, count)
            self._slopes = _Sparse(slopes, self.results, self.variables, "Jacobian")
            self._slopes.fix(*self._leaves(self.x0))
        whole = _Nest(self._tree(self.variables.tree, flatten(1.0)[1], self.results.tree))
        curvature = remembered(objective, _lagrangian_hessian, constraints, whole, count)
        self._curvature = _Sparse(curvature, self.variables, self.variables, "Hessian")
        self._curvature.fix(*self._leaves(self.x0), 1.0, *self.results.arrays(np.zeros(self.m)))

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
        return [*self.variables.arrays(np.asarray(x, float)), *data]

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
        weights = self.results.arrays(np.asarray(lagrange, float))
        return self._curvature.values(*self._leaves(x), float(obj_factor), *weights)

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
            What the functions or the callback raise, KeyboardInterrupt included.
        """
        if start is not None:
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
    x0:
        Where to start: an array, or a structure of arrays, as ``x`` is in the functions.
    bounds:
        ``(lower, upper)`` of x: each a number, or structures of numbers and arrays as x is; None
        and what a dictionary leaves out is unbounded. Or a ``scipy.optimize.Bounds``.
    limits:
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
    return NLP(objective, constraints, x0, bounds, limits, tuple(args))
