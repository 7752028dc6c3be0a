"""IPOPT, through whichever package of it is installed.

Source: A. Wächter, L. T. Biegler, On the implementation of an interior-point filter line-search
algorithm for large-scale nonlinear programming, Mathematical Programming 106 (2006), 25-57.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .._core.base.argument_checks import as_word, shown
from .._core.base.fork_safety import late_module
from ..errors import ArgumentError, MissingExtraError

#: The packages, in the order in which they are looked for, with the modules that they are.
PACKAGES = {"cyipopt": "cyipopt", "ipyopt": "ipyopt", "pounce": "pounce"}

#: IPOPT's return codes (IpReturnCodes_inc.h).
MESSAGES = {
    0: "Solved: optimal within the tolerances.",
    1: "Solved to the acceptable tolerances.",
    2: "The constraints seem to have no solution (a point of local infeasibility).",
    3: "The steps have become too small.",
    4: "The iterates diverge; the problem may be unbounded.",
    5: "Stopped by the callback.",
    6: "A feasible point was found (of a square problem).",
    -1: "The maximum number of iterations was exceeded.",
    -2: "The restoration phase has failed.",
    -3: "A step could not be computed.",
    -4: "The maximum CPU time was exceeded.",
    -5: "The maximum time was exceeded.",
    -10: "There are more equations than variables.",
    -11: "The problem definition is invalid.",
    -12: "An option is invalid.",
    -13: "A function or a derivative is nan or infinite.",
    -100: "IPOPT has failed with an unrecoverable exception.",
    -101: "IPOPT has failed with a foreign exception.",
    -102: "There is not enough memory.",
    -199: "IPOPT has failed with an internal error.",
}

#: What starting from a solution asks for, if nothing else is said.
WARM = {
    "warm_start_init_point": "yes",
    "warm_start_bound_push": 1e-9,
    "warm_start_bound_frac": 1e-9,
    "warm_start_slack_bound_push": 1e-9,
    "warm_start_slack_bound_frac": 1e-9,
    "warm_start_mult_bound_push": 1e-9,
    "mu_init": 1e-6,
}


class _Watched:
    """A problem as a solver calls it: no exception passes through the solver.

    Some packages print exceptions of callbacks and go on, others end in errors of their own. So
    the first is kept, everything after it is nan, and the solver is told to stop.
    """

    def __init__(self, problem: Any, callback: Callable[..., Any] | None) -> None:
        self.problem, self.callback = problem, callback
        self.iterations = 0
        self.counts = {"nfev": 0, "njev": 0, "nhev": 0}
        self.x = problem.x0
        self.jacobianstructure = problem.jacobianstructure
        self.hessianstructure = problem.hessianstructure
        self._jac = len(problem.jacobianstructure()[0])
        self._hess = len(problem.hessianstructure()[0])
        self.error: BaseException | None = None

    def _kept(self, compute: Callable[..., Any], shape: Any, *args: Any) -> Any:
        if self.error is None:
            try:
                return compute(*args)
            except BaseException as error:  # noqa: BLE001 - raised when the solver has ended
                self.error = error
        return np.full(shape, np.nan)[()]

    def objective(self, x: Any) -> Any:
        self.counts["nfev"] += 1
        return self._kept(self.problem.objective, (), x)

    def gradient(self, x: Any) -> Any:
        self.counts["njev"] += 1
        self.x = np.array(x)
        return self._kept(self.problem.gradient, self.problem.n, x)

    def constraints(self, x: Any) -> Any:
        return self._kept(self.problem.constraints, self.problem.m, x)

    def jacobian(self, x: Any) -> Any:
        return self._kept(self.problem.jacobian, self._jac, x)

    def hessian(self, x: Any, lagrange: Any, obj_factor: Any) -> Any:
        self.counts["nhev"] += 1
        return self._kept(self.problem.hessian, self._hess, x, lagrange, obj_factor)

    def intermediate(
        self, mode: int, count: int, value: float, inf_pr: float, inf_du: float, mu: float, *_: Any
    ) -> bool:
        """Tell whether to go on."""
        self.iterations = count
        if self.callback is not None and self.error is None:
            state = {"nit": count, "fun": value, "x": np.array(self.x), "inf_pr": inf_pr,
                     "inf_du": inf_du, "mu": mu}  # fmt: skip
            try:
                self._call(state)
            except StopIteration:
                return False
            except BaseException as error:  # noqa: BLE001 - raised when the solver has ended
                self.error = error
        return self.error is None

    def _call(self, state: dict[str, Any]) -> None:
        """Call the callback with a result or, as SciPy's do with other parameters, with x."""
        assert self.callback is not None
        try:
            named = set(inspect.signature(self.callback).parameters)
        except (TypeError, ValueError):
            named = set()
        result = late_module("scipy.optimize").OptimizeResult(state)
        if named == {"intermediate_result"}:
            self.callback(intermediate_result=result)
        else:
            self.callback(state["x"])


def _package(name: str | None) -> tuple[str, Any]:
    """Return the name and the module of an installed package."""
    as_word(name, (*PACKAGES, None), "solver")
    for each in PACKAGES if name is None else (name,):
        try:
            return each, late_module(PACKAGES[each])
        except ImportError:
            continue
    raise MissingExtraError(name or "ipyopt", "ipopt", "solving by IPOPT")


def _checked(options: Any) -> dict[str, Any]:
    """Return the options of a call; IPOPT ends the process for those that are no options."""
    if options is None:
        return {}
    if isinstance(options, Mapping) and all(
        isinstance(k, str) and k and isinstance(v, (str, int, float, np.number))
        for k, v in options.items()
    ):
        return dict(options)
    raise ArgumentError(
        "options are IPOPT's, a dict of numbers and text by name, such as {'tol': 1e-9}, not "
        f"{shown(options)}"
    )


def solve(
    problem: Any, x: Any, multipliers: Sequence[Any] | None, solver: str | None,
    callback: Callable[..., Any] | None, options: Mapping[str, Any] | None,
) -> Any:  # fmt: skip
    """Return the result of IPOPT for a problem of cyipopt's protocol; vectors are flat.

    Parameters
    ----------
    problem:
        With ``n``, ``m``, ``x0``, ``lb``, ``ub``, ``cl`` and ``cu``.
    x:
        The start.
    multipliers:
        Of constraints, lower and upper bounds, for a warm start, or None.
    solver, callback, options:
        As :meth:`symgrad._api._nlp.NLP.solve`.
    """
    name, module = _package(solver)
    given: dict[str, Any] = {"print_level": 0, "sb": "yes"}
    if multipliers is not None:
        given.update(WARM)
    given.update(_checked(options))
    watched = _Watched(problem, callback)
    lb, ub, cl, cu = (np.clip(v, -2e19, 2e19) for v in
                      (problem.lb, problem.ub, problem.cl, problem.cu))  # fmt: skip
    if multipliers is None:
        multipliers = [np.zeros(problem.m), np.ones(problem.n), np.ones(problem.n)]
    run = _by_ipyopt if name == "ipyopt" else _by_cyipopt
    found, status, weights = run(module, watched, (lb, ub, cl, cu), x, multipliers, given)
    if watched.error is not None:
        raise watched.error
    value, slope = problem.objective(found), problem.gradient(found)
    levels = problem.constraints(found)
    return late_module("scipy.optimize").OptimizeResult(
        x=found, fun=value, jac=slope, constraints=levels, success=status in (0, 1),
        status=status, message=MESSAGES.get(status, f"IPOPT's status {status}."),
        nit=watched.iterations, **watched.counts, multipliers=weights[0],
        lower_multipliers=weights[1], upper_multipliers=weights[2], solver=name,
    )  # fmt: skip


def _by_cyipopt(
    module: Any, watched: _Watched, limits: Sequence[Any], x: Any, multipliers: Sequence[Any],
    options: Mapping[str, Any],
) -> tuple[Any, int, list[Any]]:  # fmt: skip
    lb, ub, cl, cu = limits
    problem = module.Problem(
        n=watched.problem.n, m=watched.problem.m, problem_obj=watched, lb=lb, ub=ub, cl=cl, cu=cu
    )
    for key, value in options.items():
        problem.add_option(key, value)
    weights, lower, upper = (np.array(v, float) for v in multipliers)
    found, info = problem.solve(np.array(x), lagrange=weights, zl=lower, zu=upper)
    return found, int(info["status"]), [info["mult_g"], info["mult_x_L"], info["mult_x_U"]]


def _by_ipyopt(
    module: Any, watched: _Watched, limits: Sequence[Any], x: Any, multipliers: Sequence[Any],
    options: Mapping[str, Any],
) -> tuple[Any, int, list[Any]]:  # fmt: skip
    def written(compute: Callable[..., Any]) -> Callable[..., Any]:
        def write(*args: Any) -> None:
            args[-1][...] = compute(*args[:-1])

        return write

    lb, ub, cl, cu = limits
    structures = [tuple(np.asarray(v, int) for v in pair) for pair in
                  (watched.jacobianstructure(), watched.hessianstructure())]  # fmt: skip
    problem = module.Problem(
        watched.problem.n, lb, ub, watched.problem.m, cl, cu, *structures,
        watched.objective, written(watched.gradient), written(watched.constraints),
        written(watched.jacobian), written(watched.hessian),
        intermediate_callback=watched.intermediate, ipopt_options=dict(options),
    )  # fmt: skip
    weights = [np.array(v, float) for v in multipliers]
    names = ("mult_g", "mult_x_L", "mult_x_U")
    found, _, status = problem.solve(np.array(x), **dict(zip(names, weights, strict=True)))
    return found, int(status), weights
