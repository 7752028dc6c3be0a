"""Initial value problems that solvers are compared on, with their solutions at the end.

    python examples/benchmarks/ode_problems.py [--quick] [NAME ...]

computes the solutions again by two methods that have nothing in common but the right-hand side:
symgrad's DOP853 or Rodas5P at a tolerance of 1e-13, and SciPy's LSODA or Radau at 1e-11. It prints
the first, and to how much they agree.

Sources: E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, 1993
(Lorenz, Pleiades), II, 1996 (Robertson, OREGO, E5, Brusselator); F. Mazzia, C. Magherini, Test
Set for Initial Value Problem Solvers, 2008 (HIRES, POLLU, van der Pol).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate
from numba import njit

from symgrad.scipy.integrate import solve_ivp


class Problem(NamedTuple):
    """An initial value problem.

    Attributes
    ----------
    slope:
        The right-hand side: a list of sums and products, which NumPy, Numba, JAX and heyoka take.
    start, end:
        The state at the time 0, and the time at the end.
    stiff:
        Whether implicit methods are wanted.
    small:
        Absolute tolerances are so many times the relative ones.
    mild:
        Whether it is so little stiff that explicit methods solve it as well.
    """

    slope: Callable[..., Any]
    start: list[float]
    end: float
    stiff: bool
    small: float = 1.0
    mild: bool = False


def lorenz(t: Any, y: Any) -> Any:
    return [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]]


def predators(t: Any, y: Any) -> Any:
    return [1.5 * y[0] - y[0] * y[1], y[0] * y[1] - 3 * y[1]]


def pleiades(t: Any, y: Any) -> Any:
    across, up = [], []
    for i in range(7):
        ax, ay = 0.0 * y[0], 0.0 * y[0]
        for j in range(7):
            if i != j:
                dx, dy = y[j] - y[i], y[7 + j] - y[7 + i]
                weight = (j + 1) * (dx * dx + dy * dy) ** -1.5
                ax, ay = ax + weight * dx, ay + weight * dy
        across.append(ax)
        up.append(ay)
    return [y[k] for k in range(14, 28)] + across + up


def robertson(t: Any, y: Any) -> Any:
    a, b, c = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] * y[1]
    return [b - a, a - b - c, c]


def van_der_pol(t: Any, y: Any) -> Any:
    return [y[1], 1e6 * ((1 - y[0] * y[0]) * y[1] - y[0])]


def orego(t: Any, y: Any) -> Any:
    return [
        77.27 * (y[1] + y[0] * (1 - 8.375e-6 * y[0] - y[1])),
        (y[2] - (1 + y[0]) * y[1]) / 77.27,
        0.161 * (y[0] - y[2]),
    ]


def e5(t: Any, y: Any) -> Any:
    a, b, c = 7.89e-10 * y[0], 1.1e7 * y[0] * y[2], 1.13e9 * y[1] * y[2]
    d = 1.13e3 * y[3]
    return [-a - b, a - c, a - b - c + d, b - d]


def hires(t: Any, y: Any) -> Any:
    r = 280 * y[5] * y[7]
    return [
        -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007,
        1.71 * y[0] - 8.75 * y[1],
        -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4],
        8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
        -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6],
        -r + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6],
        r - 1.81 * y[6],
        -r + 1.81 * y[6],
    ]


def pollu(t: Any, y: Any) -> Any:
    r1, r2, r3 = 0.35 * y[0], 26.6 * y[1] * y[3], 1.23e4 * y[4] * y[1]
    r4, r5, r6 = 8.6e-4 * y[6], 8.2e-4 * y[6], 1.5e4 * y[6] * y[5]
    r7, r8, r9 = 1.3e-4 * y[8], 2.4e4 * y[8] * y[5], 1.65e4 * y[10] * y[1]
    r10, r11, r12 = 9e3 * y[10] * y[0], 0.022 * y[12], 1.2e4 * y[9] * y[1]
    r13, r14, r15 = 1.88 * y[13], 1.63e4 * y[0] * y[5], 4.8e6 * y[2]
    r16, r17, r18, r19 = 3.5e-4 * y[3], 0.0175 * y[3], 1e8 * y[15], 4.44e11 * y[15]
    r20, r21, r22 = 1240 * y[16] * y[5], 2.1 * y[18], 5.78 * y[18]
    r23, r24, r25 = 0.0474 * y[0] * y[3], 1780 * y[18] * y[0], 3.12 * y[19]
    return [
        -r1 - r10 - r14 - r23 - r24 + r2 + r3 + r9 + r11 + r12 + r22 + r25,
        -r2 - r3 - r9 - r12 + r1 + r21,
        -r15 + r1 + r17 + r19 + r22,
        -r2 - r16 - r17 - r23 + r15,
        -r3 + 2 * r4 + r6 + r7 + r13 + r20,
        -r6 - r8 - r14 - r20 + r3 + 2 * r18,
        -r4 - r5 - r6 + r13,
        r4 + r5 + r6 + r7,
        -r7 - r8,
        -r12 + r7 + r9,
        -r9 - r10 + r8 + r11,
        r9,
        -r11 + r10,
        -r13 + r12,
        r14,
        -r18 - r19 + r16,
        -r20,
        r20,
        -r21 - r22 - r24 + r23 + r25,
        -r25 + r24,
    ]


#: Points of the Brusselator, each with two concentrations.
POINTS = 20


def brusselator(t: Any, y: Any) -> Any:
    rate = (POINTS + 1) ** 2 / 50
    us, vs = [], []
    for k in range(POINTS):
        u, v = y[k], y[POINTS + k]
        left = y[k - 1] if k > 0 else 1.0
        right = y[k + 1] if k < POINTS - 1 else 1.0
        below = y[POINTS + k - 1] if k > 0 else 3.0
        above = y[POINTS + k + 1] if k < POINTS - 1 else 3.0
        us.append(1 + u * u * v - 4 * u + rate * (left - 2 * u + right))
        vs.append(3 * u - u * u * v + rate * (below - 2 * v + above))
    return us + vs


_PLACES = np.arange(1, POINTS + 1) / (POINTS + 1)

PROBLEMS = {
    "Lorenz": Problem(lorenz, [1.0, 0.0, 0.0], 5.0, False),
    "Lotka-Volterra": Problem(predators, [1.0, 1.0], 20.0, False),
    "Pleiades": Problem(
        pleiades,
        [3.0, 3, -1, -3, 2, -2, 2, 3, -3, 2, 0, 0, -4, 4,
         0, 0, 0, 0, 0, 1.75, -1.5, 0, 0, 0, -1.25, 1, 0, 0],
        3.0, False,
    ),
    "Robertson": Problem(robertson, [1.0, 0.0, 0.0], 1e11, True, 1e-6),
    "Van der Pol": Problem(van_der_pol, [2.0, 0.0], 2.0, True),
    "OREGO": Problem(orego, [1.0, 2.0, 3.0], 360.0, True),
    # (later its second and third component are the difference of all digits that they have)
    "E5": Problem(e5, [1.76e-3, 0.0, 0.0, 0.0], 1e3, True, 1e-18),
    "HIRES": Problem(hires, [1.0, 0, 0, 0, 0, 0, 0, 0.0057], 321.8122, True, 1e-4),
    "POLLU": Problem(
        pollu, [0, 0.2, 0, 0.04, 0, 0, 0.1, 0.3, 0.01, 0, 0, 0, 0, 0, 0, 0, 0.007, 0, 0, 0],
        60.0, True, 1e-6,
    ),
    "Brusselator": Problem(
        brusselator, [*(1 + np.sin(2 * np.pi * _PLACES)).tolist(), *[3.0] * POINTS], 10.0, True,
        mild=True,
    ),
}  # fmt: skip

#: Lorenz and Lotka-Volterra by heyoka in extended precision, at 1e-19 and 1e-17 (agree to 1e-18).
ENDS: dict[str, list[float]] = {
    "Lorenz": [-6.974570472684818, -7.021060890822529, 25.119616492127598],
    "Lotka-Volterra": [1.0576864068396261, 0.8286757441749495],
    "Pleiades": [  # both agree to 4e-10
        0.3706139143877588, 3.2372840920574895, -3.222559032418587, 0.6597091455783514,
        0.342558170715735, 1.5621721014008603, -0.7003092922206009, -3.943437585520307,
        -3.271380973972307, 5.225081843449253, -2.5906124349777793, 1.1982136933950305,
        -0.24296823449381083, 1.0914492404308636, 3.417003806294772, 1.3545845016258395,
        -2.590065597809177, 2.0250537347179924, -1.155815100161839, -0.8072988170212282,
        0.5952396354208069, -3.74124496124426, 0.37734596857527236, 0.9386858869483764,
        0.36679222272100176, -0.34740463537725186, 2.3449154481804233, -1.94702043426167,
    ],
    "HIRES": [  # both agree to 6e-13
        0.0007371312573325366, 0.00014424857263161252, 5.888729740967012e-05,
        0.0011756513432830925, 0.002386356198830426, 0.006238968252739951, 0.002849998395185152,
        0.0028500016048148254,
    ],
    "Van der Pol": [1.7061677321705069, -0.8928097010247659],  # both agree to 1e-13
    "OREGO": [1.0008148703185225, 1228.1785215498198, 132.0554942846041],  # both agree to 4e-13
    "Robertson": [  # both agree to 8e-13
        2.0833401497008477e-08, 8.333360770333036e-14, 0.9999999791665106,
    ],
    "POLLU": [  # both agree to 2e-13
        0.05646255480022759, 0.13424841304223517, 4.139734331099418e-09,
        0.005523140207484296, 2.0189772623021811e-07, 1.464541863493981e-07,
        0.0778424911899794, 0.3245075353396016, 0.00749401338388042,
        1.6222931573015817e-08, 1.135863833257091e-08, 0.002230505975721371,
        0.00020871628827986185, 1.39692101684016e-05, 0.008964884856898309,
        4.3528463693300545e-18, 0.006899219696263408, 0.0001007803037365949,
        1.7721465139699906e-06, 5.682943292316312e-05,
    ],
    "E5": [  # both agree to 8e-12
        0.0016180769999077187, 1.3822370305100338e-10, 8.251573500628317e-12,
        1.2997212954831313e-10,
    ],
    "Brusselator": [  # both agree to 1e-13
        0.8776530097282924, 0.765892827383802, 0.6712478470947568, 0.5958550017513399,
        0.5386469677140713, 0.4969386018730821, 0.46767208767273777, 0.4481320348200465,
        0.43624712600134224, 0.4306606757476856, 0.4307112500402463, 0.4364053271659272,
        0.4484169183817602, 0.4681131789868252, 0.49756920417092676, 0.5394886457356518,
        0.5968897247446695, 0.6723805302574319, 0.7669226841236559, 0.8782943216042733,
        3.154703909060411, 3.295548820090804, 3.4136432654867415, 3.505830090092618,
        3.573451166362653, 3.6204057913835217, 3.6514468675415253, 3.6710454230896317,
        3.6827708468616325, 3.6890130427681647, 3.6908875512489776, 3.688219383002008,
        3.6795566628452323, 3.662214785967657, 3.632401031450798, 3.585523548819056,
        3.5168399755683004, 3.4226091121027746, 3.30177843924811, 3.1578531172421,
    ],
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *PROBLEMS])
    parser.add_argument("--quick", action="store_true", help="HIRES alone")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # of LSODA, in SciPy
    for name in given.names or (["HIRES"] if given.quick else PROBLEMS):
        problem = PROBLEMS[name]
        listed = njit(problem.slope)

        @njit
        def slope(t: float, y: Any, listed: Any = listed) -> Any:
            return np.array(listed(t, y))

        span, end = (0.0, problem.end), [problem.end]
        fine, coarse = (
            {"t_eval": end, "rtol": tolerance, "atol": 0.1 * tolerance * problem.small}
            for tolerance in (1e-13, 1e-11)
        )
        ours, theirs = ("Rodas5P", "Radau") if problem.stiff else ("DOP853", "LSODA")
        first = solve_ivp(problem.slope, span, problem.start, ours, **fine).y[:, -1]
        second = scipy.integrate.solve_ivp(slope, span, problem.start, theirs, **coarse).y[:, -1]
        apart = np.max(np.abs(first - second) / np.abs(first))
        print(f'    "{name}": [  # both agree to {apart:.0e}')
        print("        " + ", ".join(f"{x!r}" for x in first.tolist()) + ",\n    ],", flush=True)


if __name__ == "__main__":
    main()
