"""Solvers as SciPy's drivers know them, which take their steps from a compiled loop.

The constructor is SciPy's: it checks the arguments and calls the right-hand side. After that a
solver hands out steps that the loop has taken ahead of it.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.integrate
import scipy.sparse

from ._ode_methods import METHODS, Tsit5
from ._ode_run import MOST, NewtonRun, Run

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

    name: ClassVar[str]
    running: ClassVar[type[Run | NewtonRun]] = Run
    y: Any
    nfev: int

    def __init__(
        self, fun: Any, t0: float, y0: Any, t_bound: float, vectorized: bool = False,
        max_steps: int = MOST, traced: Any = None, first_step: Any = None, **options: Any,
    ) -> None:  # fmt: skip
        if t0 != t0 or t_bound != t_bound:  # SciPy would look for it for ever
            raise ValueError("`t_span` must be two numbers, of which none is nan.")
        super().__init__(
            fun, t0, y0, t_bound, vectorized=vectorized, first_step=first_step, **options
        )
        called, args = traced or (fun, ())
        h = np.nan if first_step is None else float(first_step)
        self.run: Any = self.running(
            self.name, called, args, bool(vectorized), float(t0), self.y, float(t_bound),
            _numbers(self.rtol), _numbers(self.atol), float(self.max_step), h, max_steps,
        )  # fmt: skip
        self.queue: Any = iter(())
        self.looked = 0

    def entered(self, *told: Any) -> None:
        """Note what the loop says of a step."""
        (tried,) = told
        self.nfev, self.njev, self.nlu = self.run.counts(int(tried), self.looked)

    def _step_impl(self) -> tuple[bool, str | None]:
        step = next(self.queue, None)
        while step is None:
            if self.run.message:
                return False, self.run.message
            self.queue = zip(*self.run.go_on(), strict=True)
            step = next(self.queue, None)
        self.y_old = self.y
        t, self.y, *more = step
        self.t = float(t)
        self.entered(*more)
        return True, None

    def _dense_output_impl(self) -> Polynomial:
        t, y, end = (np.asarray(x)[np.newaxis] for x in (self.t_old, self.y_old, self.t))
        self.looked += 1
        self.nfev += self.run.terms.dense_evaluations
        return Polynomial(self.t_old, self.t, self.y_old, self.run.interpolants(t, y, end)[0])


def _numbers(x: Any) -> Any:
    x = np.asarray(x, dtype=float)
    return x if x.ndim else float(x)


class CompiledRK23(Compiled, scipy.integrate.RK23):  # type: ignore[misc]
    """``scipy.integrate.RK23``, compiled."""

    name = "RK23"


class CompiledRK45(Compiled, scipy.integrate.RK45):  # type: ignore[misc]
    """``scipy.integrate.RK45``, compiled."""

    name = "RK45"


class CompiledDOP853(Compiled, scipy.integrate.DOP853):  # type: ignore[misc]
    """``scipy.integrate.DOP853``, compiled."""

    name = "DOP853"


class CompiledTsit5(Compiled, Tsit5):
    """Tsitouras' Runge-Kutta method of order 5(4), compiled.

    Source: Ch. Tsitouras, Runge-Kutta pairs of order 5(4) satisfying only the first column
    simplifying assumption, Computers and Mathematics with Applications 62, 2011.

    Examples
    --------
    >>> from symgrad.scipy.integrate import Tsit5, solve_ivp
    >>> solve_ivp(lambda t, y: -2.0 * y, (0.0, 1.0), [1.0], Tsit5, rtol=1e-9).y[0, -1].round(6)
    np.float64(0.135335)
    """

    name = "Tsit5"


class Rodas5P(Compiled, scipy.integrate.RK45):  # type: ignore[misc]
    """Linearly implicit method of order 5(4) for stiff systems, L-stable and stiffly accurate.

    Eight stages with one exact Jacobian and one factorisation; an interpolant of order 4.

    Source: G. Steinebach, Construction of Rosenbrock-Wanner method Rodas5P and numerical
    benchmarks within the Julia Differential Equations package, BIT 63:27, 2023.

    Examples
    --------
    >>> from symgrad.scipy.integrate import Rodas5P, solve_ivp
    >>> found = solve_ivp(lambda t, y: -1e4 * (y - np.cos(t)), (0.0, 1.0), [0.0], Rodas5P)
    >>> found.success, found.y[0, -1].round(3)
    (True, np.float64(0.54))
    """

    name = "Rodas5P"
    error_estimator_order, n_stages = METHODS[name].order, METHODS[name].evaluations

    def __init__(self, fun: Any, t0: float, y0: Any, t_bound: float, **options: Any) -> None:
        if np.iscomplexobj(y0):
            raise ValueError(COMPLEX)
        super().__init__(fun, t0, y0, t_bound, **options)


class Newton(Compiled):
    """A method that keeps its factors; the Jacobian is exact, so none that is given is needed."""

    running = NewtonRun

    def __init__(self, fun: Any, t0: float, y0: Any, t_bound: float, **options: Any) -> None:
        if options.get("jac") is None:  # SciPy would take differences
            options["jac"] = scipy.sparse.csc_array((len(y0), len(y0)))
        super().__init__(fun, t0, y0, t_bound, **options)
        self.njev = 1  # before the first step

    def entered(self, *told: Any) -> None:
        self.kept, (self.degree, *counts) = told
        self.nfev, self.njev, self.nlu = map(int, counts)

    def _dense_output_impl(self) -> Polynomial:
        q = self.run.rule.polynomials(self.kept, self.degree)
        return Polynomial(self.t_old, self.t, self.y_old, q)


class CompiledBDF(Newton, scipy.integrate.BDF):  # type: ignore[misc]
    """``scipy.integrate.BDF``, compiled."""

    name = "BDF"


class CompiledRadau(Newton, scipy.integrate.Radau):  # type: ignore[misc]
    """``scipy.integrate.Radau``, compiled."""

    name = "Radau"


class RadauIIA(Newton, scipy.integrate.Radau):  # type: ignore[misc]
    """Collocation in five right Radau points, of order 9; in seven, of order 13, from 1e-8 on.

    For stiff systems and tolerances from 1e-5 down to 1e-13. SciPy's ``Radau`` is the same in
    three points, of order 5: from 1e-7 on steps of more points are several times as long. The
    interpolant has the order of the number of points; its error is below the tolerance, too, by
    the defect at a place between the points (W. H. Enright, J. Comput. Appl. Math. 125, 2000).

    Source: E. Hairer, G. Wanner, Stiff differential equations solved by Radau methods,
    J. Comput. Appl. Math. 111, 1999.

    Examples
    --------
    >>> from symgrad.scipy.integrate import RadauIIA, solve_ivp
    >>> def fast_and_slow(t, y):
    ...     return -1e4 * (y - np.cos(t)) - np.sin(t)
    >>> found = solve_ivp(fast_and_slow, (0.0, 1.0), [1.0], RadauIIA, rtol=1e-11, atol=1e-11)
    >>> len(found.t) < 30, abs(found.y[0, -1] - np.cos(1.0)) < 1e-10
    (True, np.True_)
    """

    name = "RadauIIA"


class Taylor(Compiled, scipy.integrate.RK45):  # type: ignore[misc]
    """Power series of the solution, of as many terms as the tolerance asks for.

    For smooth equations that are not stiff, and tolerances from 1e-6 down to machine precision:
    celestial mechanics, chaotic systems, references for others. A step evaluates the series of the
    right-hand side, term by term (``nfev`` counts terms), and is as long as it converges; the
    series is the interpolant, too, with all of its digits.

    Source: A. Jorba, M. Zou, A software package for the numerical integration of ODEs by means of
    high-order Taylor methods, Experiment. Math. 14, 2005.

    Examples
    --------
    >>> from symgrad.scipy.integrate import Taylor, solve_ivp
    >>> def spring(t, y):
    ...     return [y[1], -y[0]]
    >>> found = solve_ivp(spring, (0, 10), [0, 1], Taylor, rtol=1e-13, atol=1e-13)
    >>> len(found.t) < 20, abs(found.y[0, -1] - np.sin(10)) < 1e-12
    (True, np.True_)
    """

    name = "Taylor"


COMPILED: dict[str, type[Compiled]] = {
    kind.name: kind
    for kind in (
        CompiledRK23,
        CompiledRK45,
        CompiledDOP853,
        CompiledTsit5,
        Rodas5P,
        RadauIIA,
        Taylor,
        CompiledBDF,
        CompiledRadau,
    )
}
