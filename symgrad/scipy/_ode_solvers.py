"""Solvers as SciPy's drivers know them, which take their steps from a compiled loop.

The constructor is SciPy's: it checks the arguments, calls the right-hand side twice and chooses
the first step. After that a solver hands out steps that the loop has taken ahead of it.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.integrate

from ._ode_methods import DormandPrince853, Explicit, Method, Rodas5PTable, Rosenbrock, Tsit5
from ._ode_programs import programs_for

#: How many steps are tried at most, good or not, unless ``max_steps`` says otherwise.
MOST = 10_000_000

#: Rows of the first chunk of steps, how much longer the next is, and bytes of the longest.
ROWS, GROWTH, LONGEST = 256, 4, 1 << 22

#: Steps that are tried in one call, so that an interrupt is heard.
TURNS = 1_000_000


COMPLEX = "`y0` is complex, but the chosen solver does not support integration in a complex domain."


class Polynomial(scipy.integrate.DenseOutput):  # type: ignore[misc]
    """The solution within one step: ``y + q[:, 0]*x + q[:, 1]*x**2 + ...``, x from 0 to 1."""

    def __init__(self, t_old: float, t: float, y_old: Any, q: Any) -> None:
        super().__init__(t_old, t)
        self.y_old, self.q = y_old, q

    def _call_impl(self, t: Any) -> Any:
        x = (t - self.t_old) / (self.t - self.t_old)
        powers = x ** np.arange(1, self.q.shape[1] + 1).reshape(-1, *(1,) * x.ndim)
        return self.q @ powers + self.y_old.reshape(-1, *(1,) * x.ndim)


class Compiled(scipy.integrate.OdeSolver):  # type: ignore[misc]
    """A solver of SciPy's whose steps are compiled.

    Parameters
    ----------
    fun, t0, y0, t_bound, vectorized:
        As for SciPy's solvers.
    max_steps:
        How many steps are tried at most.
    traced:
        The function and its further arguments, where ``fun`` has them bound.
    options:
        Those of SciPy's solver.
    """

    terms: ClassVar[Method]
    y: Any
    nfev: int

    def __init__(
        self, fun: Any, t0: float, y0: Any, t_bound: float, vectorized: bool = False,
        max_steps: int = MOST, traced: Any = None, **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(fun, t0, y0, t_bound, vectorized=vectorized, **options)
        given: tuple[Any, tuple[Any, ...]] = traced or (fun, ())
        self.called, self.args = given
        self.programs = programs_for(self.terms, bool(vectorized), self.called)
        tolerances = (_numbers(self.rtol), _numbers(self.atol))
        self.control = (float(t_bound), *tolerances, float(self.max_step))
        self.most, self.tried, self.begun = int(max_steps), 0, self.nfev
        self.ahead: Any = (float(t0), self.y, float(self.h_abs), np.False_)
        self.message: str | None = None
        self.rows = ROWS
        self.queue: Any = iter(())
        self.between = 0

    def go_on(self) -> tuple[Any, Any, Any]:
        """Return times, states and numbers of tried steps of the next steps.

        None are returned where there is no way on; then there is a message.
        """
        n = self.y.size
        rows = max(1, min(self.rows, LONGEST // (8 * n)))
        self.rows *= GROWTH
        space = (np.empty(rows), np.empty((rows, n), self.y.dtype), np.empty(rows, np.int64))
        turns = np.int64(min(self.most - self.tried, TURNS))
        *ahead, status, tried, count, times, states, tries = self.programs(
            self.programs.march, self.called, *self.ahead, *self.control, turns, *space, *self.args
        )
        self.ahead = tuple(ahead)
        tries = tries[:count] + self.tried
        self.tried += int(tried)
        if status:
            self.message = self.TOO_SMALL_STEP
        elif self.tried >= self.most:
            self.message = f"The limit of {self.most} steps is reached; max_steps sets another."
        return times[:count], states[:count], tries

    def count(self, tried: int, interpolants: int) -> None:
        """Say what has been evaluated."""
        own = tried * self.terms.evaluations + interpolants * self.terms.dense_evaluations
        self.nfev = self.begun + own
        self.njev = self.nlu = tried * self.terms.jacobians

    def interpolants(self, t: Any, y: Any, end: Any) -> Any:
        """Return the polynomials of steps, of shape (steps, n, powers)."""
        return self.programs(self.programs.interpolants, self.called, t, y, end, *self.args)

    def _step_impl(self) -> tuple[bool, str | None]:
        step = next(self.queue, None)
        while step is None:
            if self.message:
                return False, self.message
            self.queue = zip(*self.go_on(), strict=True)
            step = next(self.queue, None)
        self.y_old = self.y
        t, self.y, tried = step
        self.t = float(t)
        self.count(int(tried), self.between)
        return True, None

    def _dense_output_impl(self) -> Polynomial:
        t, y, end = (np.asarray(x)[np.newaxis] for x in (self.t_old, self.y_old, self.t))
        self.between += 1
        self.nfev += self.terms.dense_evaluations
        return Polynomial(self.t_old, self.t, self.y_old, self.interpolants(t, y, end)[0])


def _numbers(x: Any) -> Any:
    x = np.asarray(x, dtype=float)
    return x if x.ndim else float(x)


class CompiledRK23(Compiled, scipy.integrate.RK23):  # type: ignore[misc]
    """``scipy.integrate.RK23``, compiled."""

    terms = Explicit(scipy.integrate.RK23)


class CompiledRK45(Compiled, scipy.integrate.RK45):  # type: ignore[misc]
    """``scipy.integrate.RK45``, compiled."""

    terms = Explicit(scipy.integrate.RK45)


class CompiledDOP853(Compiled, scipy.integrate.DOP853):  # type: ignore[misc]
    """``scipy.integrate.DOP853``, compiled."""

    terms = DormandPrince853(scipy.integrate.DOP853)


class CompiledTsit5(Compiled, Tsit5):
    """Tsitouras' method, compiled."""

    terms = Explicit(Tsit5)


class Rodas5P(Compiled, scipy.integrate.RK45):  # type: ignore[misc]
    """Linearly implicit method of order 5(4) for stiff systems, L-stable and stiffly accurate.

    Eight stages with one exact Jacobian and one factorisation; an interpolant of order 4.

    Source: G. Steinebach, Construction of Rosenbrock-Wanner method Rodas5P and numerical
    benchmarks within the Julia Differential Equations package, BIT 63:27, 2023.
    """

    terms = Rosenbrock(Rodas5PTable)
    error_estimator_order, n_stages = terms.order, terms.evaluations

    def __init__(self, fun: Any, t0: float, y0: Any, t_bound: float, **options: Any) -> None:
        if np.iscomplexobj(y0):
            raise ValueError(COMPLEX)
        super().__init__(fun, t0, y0, t_bound, **options)


COMPILED: dict[str, type[Compiled]] = {
    "RK23": CompiledRK23, "RK45": CompiledRK45, "DOP853": CompiledDOP853, "Tsit5": CompiledTsit5,
    "Rodas5P": Rodas5P,
}  # fmt: skip
