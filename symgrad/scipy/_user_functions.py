"""A user's function as a solver calls it, with the derivatives that the solver asks for.

SciPy's solvers take a function and, if one has them, its derivatives. :class:`Derived` stands for
one such function in one call of a solver: it offers values and derivatives of compiled code, each
computed once a point, and finds out at the first point whether the function can be traced. What
is compiled is kept with the user's function (:func:`remembered`); the arguments of
``functools.partial`` and ``args=`` are arguments of the compiled code, so that neither is frozen.
"""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
import scipy
import scipy.optimize
import scipy.sparse

from .._api._at_values import remembered
from .._api._kept_functions import Lent, borrowed
from .._capture._effects import Effects
from .._capture._reads import read_by
from .._core.base.fork_safety import cached_property
from .._core.base.signals import foreseen
from .._core.graph import warn_user
from .._core.trace import as_leaf, flatten
from .._dispatch import Function
from ..errors import DifferencesWarning, ShapeError, SymgradError
from ._call_records import LEAVING, catching
from ._makers import (
    curvature_of,
    hessian_of,
    hessian_product_of,
    jacobian_of,
    second_slope_of,
    slope_of,
    sparse_curvature_of,
    sparse_hessian_of,
    sparse_jacobian_of,
    value_and_gradient_of,
    value_of,
)
from ._refusals import refusal_of
from ._solver_arguments import as_tuple, start_of


def _bound(f: Callable[..., Any], heads: Any, tails: Any, named: Any, spread: bool, x: Any) -> Any:
    """Return what the user's function gives, with its other arguments bound."""
    return f(*heads, *(x if spread else (x,)), *tails, **named)


class Derived:
    """A user's function in one call of a solver.

    Parameters
    ----------
    solver:
        The name of SciPy's function, for warnings.
    function, args, kwargs:
        The user's, as SciPy is given them.
    scalar:
        Whether a solver wants one number of it.
    spread:
        Whether the elements of x are arguments of their own, after ``args``.
    sparse:
        Whether matrices are sparse arrays.

    Notes
    -----
    Its methods ignore what SciPy passes besides x: that is bound already. Values of a function
    that leaves some of what it computes in the user's objects are its own, on numbers: compiled
    code leaves nothing there, and others (a ``callback``) may look.
    """

    def __init__(
        self, solver: str, function: Any, args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None, *, scalar: bool = False, spread: bool = False,
        sparse: bool = False,
    ) -> None:  # fmt: skip
        self.solver, self.scalar, self.sparse = solver, scalar, sparse
        self.name = getattr(function, "__name__", type(function).__name__)
        named = dict(kwargs or {})
        heads, tails = (tuple(args), ()) if spread else ((), tuple(args))

        #: The user's own function of x.
        self.plain: Callable[[Any], Any] = partial(_bound, function, heads, tails, named, spread)
        # What is compiled: with everything that is bound as arguments; if that fails (an object,
        # a number that Python code needs), with what it is bound to followed as what it reads.
        self._ways: list[tuple[Any, Any, Any]] = [(self.plain, (0, (), False), ())]
        base: Any = function
        first, last = heads, named
        while isinstance(base, partial):
            base, first, last = base.func, (*base.args, *first), {**base.keywords, **last}
        if _are_arguments((*first, *tails, *last.values())):
            form = (len(first), tuple(last), spread)
            self._ways.insert(0, (base, form, (*first, *tails, *last.values())))
        self._refusal = refusal_of(solver, base)
        self._at_start = self._by_differences = self._leaves = False
        self._count: int | None = None
        self._last: dict[str, tuple[Any, Any]] = {}
        self._lent: dict[int, Lent | None] = {}

    def starts(self, x: Any, *asked: Callable[[Any], Any]) -> bool:
        """Tell whether what is ``asked`` can be computed at the first point, else say why not.

        Nothing is said where the user's own function fails there, too: SciPy will do that.
        """
        if why := self._refusal.still():
            warn_user(why, DifferencesWarning)
            return False
        self._at_start = True
        try:
            for each in asked:
                each(np.array(x))
        except _RefusedError:
            return False
        finally:
            self._at_start = False
        return True

    # -- what SciPy calls

    def fun(self, x: Any, *_: Any, **__: Any) -> Any:
        """Return the value of a scalar function."""
        return self._left(x, self._value_and_gradient(x)[0])

    def gradient(self, x: Any, *_: Any, **__: Any) -> Any:
        """Return the gradient of a scalar function, of the shape of x."""
        return self._value_and_gradient(x)[1]

    def hessian(self, x: Any, *_: Any, **__: Any) -> Any:
        """Return the Hessian of a scalar function, shape (n, n)."""
        maker = sparse_hessian_of if self.sparse else hessian_of
        return self._once(maker, x, lambda: _slopes(self.gradient, x))

    def hessian_product(self, x: Any, p: Any, *_: Any, **__: Any) -> Any:
        """Return the product of the Hessian of a scalar function with ``p``."""

        def difference() -> Any:
            step = math.sqrt(EPS) / (float(np.linalg.norm(p)) or 1.0)
            return (self.gradient(x + step * p) - self.gradient(x)) / step

        return self.of(hessian_product_of, (x, np.asarray(p)), difference)

    def values(self, x: Any, *_: Any, **__: Any) -> Any:
        """Return the values of a function of vectors, in the shape that the user gives them.

        Raises
        ------
        ShapeError
            If there are not as many as at the first point: SciPy would not always notice.
        """
        found = self._left(x, self._once(value_of, x, lambda: self.plain(x)))
        if self._count is None:
            self._count = np.size(found)
        elif np.size(found) != self._count:
            raise ShapeError(
                f"{self.solver}: {self.name} has returned {self._count} numbers at the first "
                f"point and {np.size(found)} at another one: their number must not depend on x"
            )
        return found

    def jacobian(self, x: Any, *_: Any, **__: Any) -> Any:
        """Return the Jacobian of a function of vectors, shape (m, n)."""
        maker = sparse_jacobian_of if self.sparse else jacobian_of
        return self._once(maker, x, lambda: _slopes(self.plain, x))

    def curvature(self, x: Any, v: Any) -> Any:
        """Return the Hessian of ``v @ values(x)``, shape (n, n)."""

        def difference() -> Any:
            return _slopes(lambda y: v @ _slopes(self.plain, y), x)

        maker = sparse_curvature_of if self.sparse else curvature_of
        return self.of(maker, (x, np.asarray(v)), difference)

    def slope(self, x: Any, *_: Any) -> Any:
        """Return the derivative of a function of each element of x by itself."""
        return self.of(slope_of, (x,), lambda: _element_slopes(self.plain, x))

    def second_slope(self, x: Any, *_: Any) -> Any:
        """Return the second derivative of a function of each element of x by itself."""
        return self.of(second_slope_of, (x,), lambda: _element_slopes(self.slope, x))

    def _value_and_gradient(self, x: Any) -> tuple[Any, Any]:
        found: tuple[Any, Any] = self._once(
            value_and_gradient_of, x, lambda: (self.plain(x), _slopes(self.plain, x)[0])
        )
        return found

    def _left(self, x: Any, value: Any) -> Any:
        """Return the value at x, computed on numbers if the function leaves any."""
        return self.plain(x) if self._leaves and not self._by_differences else value

    # -- by compiled code, or by differences

    def _once(self, maker: Callable[..., Function], x: Any, instead: Callable[[], Any]) -> Any:
        """Return what is computed at x, from the last time if that was the same x."""
        last = self._last.get(maker.__name__)
        if last is None or not np.array_equal(last[0], x):
            last = self._last[maker.__name__] = np.array(x), self.of(maker, (x,), instead)
        return last[1]

    def of(
        self, maker: Callable[..., Function], at: tuple[Any, ...], instead: Callable[[], Any],
        point: Any = None,
    ) -> Any:  # fmt: skip
        """Return what ``maker`` makes of the function, or what is ``instead`` of that.

        ``at`` are the arguments of the former; x, the ``point``, is the first of them, unless it
        is given.
        """
        if self._by_differences:
            return instead()
        if point is None:
            x = point = np.asarray(at[0])
            at = (x if x.dtype.kind in "fc" else x.astype(float), *at[1:])
        reason = None
        for k, (function, form, rest) in enumerate(self._ways):
            try:
                LEAVING.seen, compiled = False, self._compiled(function, maker, *form)
                found = compiled(*at, *rest)
            except foreseen(Exception) as why:  # whatever keeps it from being traced
                reason = reason or why
            else:
                del self._ways[:k]
                if LEAVING.seen:
                    _LEAVING.add(compiled)
                self._leaves = self._leaves or compiled in _LEAVING
                return found if _is_finite(found) or not self._catches else instead()
        self._fall_back(point, reason)
        return instead()

    @cached_property
    def _catches(self) -> bool:
        """Whether the function has a value of its own where compiled arithmetic has nan."""
        return catching(self.plain)

    def _compiled(
        self, function: Callable[..., Any], maker: Callable[..., Function], *form: Any
    ) -> Function:
        """Return what ``maker`` makes of a function, which is compiled once."""
        if id(function) not in self._lent:
            self._lent[id(function)] = borrowed(function)
        lent = self._lent[id(function)]
        if lent is None or not lent.serves(function):  # when the solve has ended
            return remembered(function, maker, *form)
        return lent.made(maker, *form)

    def _fall_back(self, x: Any, why: Any) -> None:
        """Take differences from now on, with a warning; at the first point SciPy is to do that.

        Where the user's own function fails, its error is what the user is to see. Its counters and
        lists do not note this call.
        """
        effects = Effects(read_by(self.plain))
        try:
            value = self.plain(x)
        except foreseen(Exception) as error:
            if self._at_start:
                raise _RefusedError from error
            raise
        finally:
            effects.undo()
        wrong = value is None or (self.scalar and np.size(value) != 1)
        if not (self._at_start and wrong):  # else it is SciPy's error
            text = (
                f"{self.solver} takes derivatives of {self.name} by differences, since it cannot "
                f"be traced: {_reason(why)}"
            )
            warn_user(text, DifferencesWarning)
            if self._at_start:
                self._refusal.note(text)
        if self._at_start:
            raise _RefusedError from why
        self._by_differences = True


#: What is compiled of functions that leave values in the user's objects.
_LEAVING: WeakSet[Function] = WeakSet()


class _RefusedError(Exception):
    """A function that cannot be traced, or fails by itself, at the first point."""


# ---------------------------------------------------------------- in place of compiled code

EPS = float(np.finfo(float).eps)


def _slopes(function: Callable[[Any], Any], x: Any) -> Any:
    """Return the Jacobian by differences, shape (m, n)."""
    steps = math.sqrt(EPS) * np.maximum(1.0, np.abs(x))
    return np.atleast_2d(
        scipy.optimize.approx_fprime(x, lambda y: np.ravel(np.asarray(function(y))), steps)
    )


def _element_slopes(function: Callable[[Any], Any], x: Any) -> Any:
    """Return the derivative of a function of each element by itself, by differences."""
    step = np.cbrt(EPS) * np.maximum(1.0, np.abs(x))
    return (np.asarray(function(x + step)) - np.asarray(function(x - step))) / (2 * step)


def _is_finite(found: Any) -> bool:
    """Tell whether values and derivatives are finite."""
    if isinstance(found, tuple):
        return all(map(_is_finite, found))
    return bool(np.isfinite(found.data if scipy.sparse.issparse(found) else found).all())


def _are_arguments(values: Sequence[Any]) -> bool:
    """Tell whether compiled functions take all of these."""
    try:
        for leaf in flatten(tuple(values))[0]:
            as_leaf(leaf, "")
    except SymgradError:
        return False
    return True


_PACKAGES = (str(Path(__file__).parents[1]), *(str(Path(m.__file__).parent) for m in (np, scipy)))


def _reason(why: Exception) -> str:
    """Return an error's words, with the user's line."""
    if isinstance(why, SymgradError):
        return str(why)
    text = f"{type(why).__name__}: {why}"
    for frame in reversed(traceback.extract_tb(why.__traceback__)):
        if not frame.filename.startswith(_PACKAGES):
            return f"{text} [{Path(frame.filename).name}:{frame.lineno}]"
    return text


def with_jacobian(
    solver: str, func: str, jac: str, given: dict[str, Any], by_columns: Any = None
) -> dict[str, Any]:
    """Return the arguments of one of MINPACK's solvers with a Jacobian.

    ``func``, ``jac``: the names of the equations and of their Jacobian.
    """
    x = start_of(given["x0"])
    if given.get(jac) is not None or x is None:
        return given
    f = Derived(solver, given[func], as_tuple(given.get("args", ())))
    if not f.starts(x.ravel(), f.values, f.jacobian):
        return given
    by_columns = by_columns or given.get("col_deriv")
    slopes = (lambda *x: f.jacobian(*x).T) if by_columns else f.jacobian
    return {**given, func: f.values, jac: slopes}
