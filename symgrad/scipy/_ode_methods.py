"""One step of each method: plain NumPy, the same for arrays and for traced values.

A method is its table, but for series (:mod:`._ode_series`).

Explicit methods are SciPy's own classes, whose tables these are. Sources: J. R. Dormand, P. J.
Prince, J. Comput. Appl. Math. 6, 1980 (RK45); P. Bogacki, L. F. Shampine, Appl. Math. Lett. 2,
1989 (RK23); E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, 1993
(DOP853); Ch. Tsitouras, Comput. Math. Appl. 62, 2011 (Tsit5); G. Steinebach, BIT 63:27, 2023
(Rodas5P); E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 1996, section IV.7
(how linearly implicit methods do without products by the Jacobian).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.integrate
from numpy.polynomial import Polynomial

from .._api._at_values import jvp
from .._core.ops.np_common import is_traced
from .._syntax._control import scan
from ._ode_bdf import BDF
from ._ode_newton import Implicit
from ._ode_radau import Radau
from ._ode_series import Taylor
from ._ode_steps import Method, OneByOne, Step, brief, mean_square, weighted
from ._ode_structure import Slope, Solve, System, full, inline


def following(
    slope: Slope, t: Any, y: Any, h: Any, stages: Sequence[Any], a: Sequence[Any],
    c: Sequence[float],
) -> tuple[list[Any], Any]:  # fmt: skip
    """Return the stages and those that follow by more rows of a table, and the last one's state.

    Of a right-hand side that is a long program, they are a loop.
    """
    if brief(slope, t, y):
        stages, new = list(stages), y
        for row, at in zip(a, c, strict=True):
            new = y + h * weighted(row, stages)
            stages.append(slope(t + at * h, new))
        return stages, new

    def stage(carry: Any, row: Any) -> Any:
        known, _ = carry
        k, weights, at = row
        new = y + h * np.tensordot(weights, known, 1)
        known[k] = slope(t + at * h, new)
        return (known, new), None

    first, count = len(stages), len(stages) + len(c)
    table = np.zeros((len(c), count))
    for k, row in enumerate(a):
        table[k, : len(row)] = row
    none = np.zeros((len(c), *(1,) * y.ndim)) * y  # those to come have no weight
    known = np.concatenate([np.stack(stages), none])
    (known, new), _ = scan(stage, (known, y), (np.arange(first, count), table, np.array(c)))
    return [known[k] for k in range(count)], new


class Explicit(OneByOne):
    """A Runge-Kutta method with SciPy's names for the parts of its table."""

    jacobians: int = 0
    complex: bool = True

    def __init__(self, table: Any) -> None:
        self.order = table.error_estimator_order
        self.root = self.order + 1
        self.stages, self.evaluations = table.n_stages + 1, table.n_stages
        self.a, self.b, self.c = table.A, table.B, table.C
        self.e = [table.E]
        self.more: list[tuple[Any, float]] = []
        self.dense_evaluations = 0
        self.p = table.P

    def step(self, slope: Slope, t: Any, y: Any, f: Any, h: Any) -> Step:
        a, c = [*self.a[1:], self.b], [*self.c[1:], 1.0]
        stages, new = following(slope, t, y, h, [f], a, c)
        return Step(new, stages[-1], stages)

    def error(self, step: Step, h: Any, scale: Any) -> Any:
        return np.sqrt(mean_square(weighted(self.e[0], step.stages) * (h / scale)))

    def dense(self, slope: Slope, t: Any, y: Any, h: Any, stages: Sequence[Any]) -> list[Any]:
        if self.more:
            stages, _ = following(slope, t, y, h, stages, *zip(*self.more, strict=True))
        return [h * weighted(column, stages) for column in self.p.T]


class DormandPrince853(Explicit):
    """Two estimates, of orders 5 and 3, which together have order 7; three more stages between."""

    def __init__(self, table: Any) -> None:
        self.order = table.error_estimator_order
        self.root = self.order + 1
        self.stages, self.evaluations = table.n_stages + 1, table.n_stages
        self.a, self.b, self.c = table.A, table.B, table.C
        self.e = [table.E5, table.E3]
        self.more = list(zip(table.A_EXTRA, table.C_EXTRA, strict=True))
        self.dense_evaluations = len(self.more)
        self.p = _nested(table)

    def error(self, step: Step, h: Any, scale: Any) -> Any:
        weight = 1.0 / scale
        five, three = (mean_square(weighted(e, step.stages) * weight) for e in self.e)
        both = five + 0.01 * three
        zero = both == 0.0
        return np.where(zero, 0.0, np.abs(h) * five / np.sqrt(np.where(zero, 1.0, both)))


def _nested(table: Any) -> Any:
    """Return DOP853's interpolant, x(F0 + (1-x)(F1 + x(F2 + ...))), by stages and powers."""
    width = table.D.shape[1]
    step = np.zeros(width)
    step[: len(table.B)] = table.B
    first, last = np.eye(width)[[0, table.n_stages]]
    rows = np.array([step, first - step, 2 * step - first - last, *table.D])
    x, basis = Polynomial([0.0, 1.0]), Polynomial([1.0])
    powers = np.zeros((len(rows), len(rows)))
    for i in range(len(rows)):
        basis = basis * (x if i % 2 == 0 else 1 - x)
        powers[i, : basis.degree()] = basis.coef[1:]
    return rows.T @ powers


class Tsit5(scipy.integrate.RK45):  # type: ignore[misc]
    """Explicit Runge-Kutta method of order 5(4) by Tsitouras.

    Of the same cost as ``"RK45"``, with errors that are about half as large. A class as SciPy's
    ``solve_ivp`` takes, too.

    Source: Ch. Tsitouras, Runge-Kutta pairs of order 5(4) satisfying only the first column
    simplifying assumption, Comput. Math. Appl. 62, 2011.

    Examples
    --------
    >>> from symgrad.scipy.integrate import Tsit5, solve_ivp
    >>> found = solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0], Tsit5)
    >>> found.success, found.y[0, -1].round(3)
    (True, np.float64(0.368))
    """

    C = np.array([0, 0.161, 0.327, 0.9, 0.9800255409045097, 1])
    A = np.array([
        [0, 0, 0, 0, 0],
        [0.161, 0, 0, 0, 0],
        [-0.008480655492356989, 0.335480655492357, 0, 0, 0],
        [2.8971530571054935, -6.359448489975075, 4.3622954328695815, 0, 0],
        [5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525, 0],
        [5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401,
         -0.028269050394068383],
    ])  # fmt: skip
    B = np.array([
        0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081,
        2.324710524099774,
    ])  # fmt: skip
    E = np.array([
        -0.00178001105222577714, -0.0008164344596567469, 0.007880878010261995,
        -0.1447110071732629, 0.5823571654525552, -0.45808210592918697, 1 / 66,
    ])  # fmt: skip
    P = np.array([
        [1, -2.763706197274826, 2.9132554618219126, -1.0530884977290216],
        [0, 0.1317, -0.2234, 0.1017],
        [0, 3.930296236894751, -5.941033872131505, 2.490627285651253],
        [0, -12.411077166933676, 30.33818863028232, -16.548102889244902],
        [0, 37.50931341651104, -88.1789048947664, 47.37952196281928],
        [0, -27.896526289197286, 65.09189467479366, -34.87065786149661],
        [0, 1.5, -4, 2.5],
    ])  # fmt: skip


#: Up to this size of the state the stages of a linearly implicit method are straight code, for
#: longer ones a loop, whose code is shorter than that of the stages by their number.
STRAIGHT = 4


class Rosenbrock(OneByOne):
    """A linearly implicit method: a step is some systems with one matrix, I/(h*gamma) - J.

    The stages ``u`` are those of which products by the Jacobian are eliminated: the state's
    weights, errors and interpolant have no ``h``.
    """

    complex = False
    dense_evaluations = 0
    jacobians = 1

    def __init__(self, table: type, system: System = full) -> None:
        given: Any = table
        self.table, self.system = table, system
        self.order = given.error_estimator_order
        self.root = self.order + 1
        self.stages = self.evaluations = given.n_stages
        self.gamma, self.a, self.c = given.GAMMA, given.A, given.C
        self.coupled, self.d = given.COUPLED, given.D
        self.b, self.e, self.p = given.B, given.E, given.P

    def by(self, system: System) -> Rosenbrock:
        """Return the method with another way to solve its systems."""
        return Rosenbrock(self.table, system)

    def step(self, slope: Slope, t: Any, y: Any, f: Any, h: Any) -> Step:
        shift = 1 / (h * self.gamma)
        factors = self.system.factors(self.system.jacobian(inline(slope), t, y), shift)
        solve = functools.partial(self.system.solve, factors)
        by_time = jvp(lambda time: inline(slope)(time, y), (t,), (np.float64(1.0),))[1]
        small = isinstance(y.shape[0], int) and y.shape[0] <= STRAIGHT
        if self.system is full and small and brief(slope, t, y):
            stages = self._one_by_one(slope, t, y, f, h, solve, by_time)
            new = y + weighted(self.b, stages)
            return Step(new, slope(t + h, new), stages)
        return self._in_a_loop(slope, t, y, f, h, solve, by_time)

    def _one_by_one(
        self, slope: Slope, t: Any, y: Any, f: Any, h: Any, solve: Solve, by_time: Any
    ) -> list[Any]:
        stages: list[Any] = []
        for k, (a, c, d) in enumerate(zip(self.a, self.c, self.d, strict=True)):
            right = f if k == 0 else slope(t + c * h, y + weighted(a, stages))
            if k:
                right = right + weighted(self.coupled[k], stages) / h
            stages.append(solve(right + (h * d) * by_time if d else right))
        return stages

    def _in_a_loop(
        self, slope: Slope, t: Any, y: Any, f: Any, h: Any, solve: Solve, by_time: Any
    ) -> Step:
        """Return the step of a longer state: its code is compiled once, not for each stage.

        A stage ends with the slope that the next begins with, the last with that of the new
        state, so the right-hand side is written once.
        """

        def stage(carry: Any, row: Any) -> Any:
            known, _, f = carry
            k, coupled, d, a, c = row
            known[k] = solve(f + coupled @ known / h + (h * d) * by_time)
            new = y + a @ known
            return (known, new, slope(t + c * h, new)), None

        after = np.vstack([self.a[1:], self.b]), np.append(self.c[1:], 1.0)
        rows = np.arange(self.stages), self.coupled, self.d, *after
        none = np.zeros((self.stages, 1)) * y  # those to come have no weight
        (known, new, f), _ = scan(stage, (none, y, f), rows)
        return Step(new, f, [known[k] for k in range(self.stages)])

    def error(self, step: Step, h: Any, scale: Any) -> Any:
        return np.sqrt(mean_square(weighted(self.e, step.stages) / scale))

    def dense(self, slope: Slope, t: Any, y: Any, h: Any, stages: Sequence[Any]) -> list[Any]:
        return [weighted(column, stages) for column in self.p.T]


def _lower(*rows: Sequence[float]) -> Any:
    """Return rows of growing length as a square matrix."""
    table = np.zeros((len(rows), len(rows)))
    for k, row in enumerate(rows):
        table[k, : len(row)] = row
    return table


class Rodas5PTable:
    """Order 5(4), L-stable and stiffly accurate, with an interpolant of order 4."""

    error_estimator_order = 4
    n_stages = 8
    GAMMA = 0.21193756319429014
    C = np.array([0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716,
                  0.4288403609558664, 1, 1, 1])  # fmt: skip
    D = np.array([GAMMA, -0.42387512638858027, -0.3384627126235924, 1.8046452872882734,
                  2.325825639765069, 0, 0, 0])  # fmt: skip
    _LAST = (-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256,
             0.030198172008377946)  # fmt: skip
    A = _lower(
        (),
        (3.0,),
        (2.849394379747939, 0.45842242204463923),
        (-6.954028509809101, 2.489845061869568, -10.358996098473584),
        (2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641),
        _LAST,
        (*_LAST, 1.0),
        (*_LAST, 1.0, 1.0),
    )
    B = np.array([*_LAST, 1.0, 1.0, 1.0])
    E = np.array([0, 0, 0, 0, 0, 0, 0, 1.0])
    COUPLED = _lower(
        (),
        (-14.155112264123755,),
        (-17.97296035885952, -2.859693295451294),
        (147.12150275711716, -1.41221402718213, 71.68940251302358),
        (165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306),
        (24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125,
         -0.6610691825249471),
        (30.91273214028599, -3.1208243349937974, 77.79954646070892, 34.28646028294783,
         -19.097331116725623, -28.087943162872662),
        (37.80277123390563, -3.2571969029072276, 112.26918849496327, 66.9347231244047,
         -40.06618937091002, -54.66780262877968, -9.48861652309627),
    )  # fmt: skip
    # y0 + x*(B + (1 - x)*(H0 + x*(H1 + x*H2))), by powers of x.
    H = np.array([
        [25.948786856663858, -2.5579724845846235, 10.433815404888879, -2.3679251022685204,
         0.524948541321073, 1.1241088310450404, 0.4272876194431874, -0.17202221070155493],
        [-9.91568850695171, -0.9689944594115154, 3.0438037242978453, -24.495224566215796,
         20.176138334709044, 15.98066361424651, -6.789040303419874, -6.710236069923372],
        [11.419903575922262, 2.8879645146136994, 72.92137995996029, 80.12511834622643,
         -52.072871366152654, -59.78993625266729, -0.15582684282751913, 4.883087185713722],
    ])  # fmt: skip
    P = np.array([B + H[0], H[1] - H[0], H[2] - H[1], -H[2]]).T


#: Those that keep their factors from step to step; they have a loop of their own.
NEWTON: dict[str | None, Implicit] = {
    "BDF": BDF(),
    "Radau": Radau(3, 6, at_all_times=False),
    "RadauIIA": Radau(5, 8, at_all_times=True),
    "RadauIIA of 7 points": Radau(7, 10, at_all_times=True),
}

#: The other methods that are compiled, by their names.
METHODS: dict[str | None, Method] = {
    "RK23": Explicit(scipy.integrate.RK23),
    "RK45": Explicit(scipy.integrate.RK45),
    "DOP853": DormandPrince853(scipy.integrate.DOP853),
    "Tsit5": Explicit(Tsit5),
    "Rodas5P": Rosenbrock(Rodas5PTable),
    "Taylor": Taylor(16),
}
#: Those that users say.
NAMES = tuple(METHODS)

#: Series have as many terms as the tolerance asks for, of these numbers.
TERMS = (6, 8, 10, 12, 14, 16, 20)

#: Collocation in more points, from this tolerance on: its steps are so much longer. At ten times
#: this five points take 0.7 to 1.15 of the time of seven, and at a tenth 0.9 to 1.2.
MORE_POINTS = 1e-8

METHODS |= {f"Taylor of {terms} terms": Taylor(terms) for terms in TERMS}


def suited(method: str, rtol: Any) -> str:
    """Return the name of the method as it is for a tolerance.

    Collocation is in more points for tight ones. Of a series, that costs the square of its length,
    ``1 - log(rtol)/2`` terms do least work for digits (A. Jorba, M. Zou, Experiment. Math. 14,
    2005). Of a short one, of few equations, what begins and ends a step is as much: some more terms
    take up to a tenth less time there, and where the square counts hardly more.
    """
    if method not in BY_TOLERANCE or is_traced(rtol):
        return method
    return BY_TOLERANCE[method](rtol if isinstance(rtol, float) else float(np.min(rtol)))


def _points(rtol: float) -> str:
    return "RadauIIA" if rtol > MORE_POINTS else "RadauIIA of 7 points"


@functools.lru_cache
def _series(rtol: float) -> str:
    wanted = 4 - 0.88 * math.log10(max(rtol, 1e-300))
    return f"Taylor of {min((x for x in TERMS if x >= wanted), default=TERMS[-1])} terms"


#: The methods that are others by tolerance.
BY_TOLERANCE: dict[str, Callable[[float], str]] = {"Taylor": _series, "RadauIIA": _points}
