"""Optimal control by collocation: a rocket that flies highest, a robot's arm that turns fastest.

    python examples/collocation.py [--steps 200] [--plot control.png]

Two of the COPS problems (E. Dolan, J. More, T. Munson, Benchmarking optimization software with
COPS 3.0, Argonne, 2004), solved by IPOPT: ``pip install 'symgrad[ipopt,plot]'``. States and
controls at all times are the unknowns, and the differential equations are constraints between
neighbouring times, by the trapezoidal rule. What is written are the equations alone: gradient,
sparse Jacobian and the sparse Hessian of the Lagrangian come of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import symgrad as sg

State = dict[str, Any]


def collocated(rates: Callable[[State], State]) -> Callable[[State], State]:
    """Return the constraints that states change by ``rates(x)`` between neighbouring times."""

    def defects(x: State) -> State:
        found = {}
        for name, slope in rates(x).items():
            step = x["time"] / (slope.shape[0] - 1)
            found[name] = np.diff(x[name]) - 0.5 * step * (slope[1:] + slope[:-1])
        return found

    return defects


def ends(shape: int, first: float, last: float | None, low: float, high: float) -> Any:
    """Return the bounds of a state that begins, and ends perhaps, at given values."""
    lower, upper = np.full(shape, low), np.full(shape, high)
    lower[0] = upper[0] = first
    if last is not None:
        lower[-1] = upper[-1] = last
    return lower, upper


# ---------------------------------------------------------------- the rocket


def rocket_rates(x: State) -> State:
    """R. Goddard's rocket (1919): thrust against drag, which falls with height, and gravity."""
    h, v, m, thrust = x["height"], x["speed"], x["mass"], x["thrust"]
    drag = 310.0 * v**2 * np.exp(500.0 * (1.0 - h))
    return {"height": v, "speed": (thrust - drag) / m - 1.0 / h**2, "mass": -thrust / 0.5}


def rocket(steps: int) -> Any:
    """Return the problem of flying highest, in units of the Earth's radius."""
    n, t = steps + 1, np.linspace(0.0, 1.0, steps + 1)
    start = {"height": np.ones(n), "speed": t * (1.0 - t), "mass": 1.0 - 0.4 * t,
             "thrust": np.full(n, 1.75), "time": 1.0}  # fmt: skip
    bounds = {
        "height": ends(n, 1.0, None, 1.0, np.inf), "speed": ends(n, 0.0, None, 0.0, np.inf),
        "mass": ends(n, 1.0, 0.6, 0.6, 1.0), "thrust": (np.zeros(n), np.full(n, 3.5)),
        "time": (0.01, 1.0),
    }  # fmt: skip
    lower, upper = ({k: v[side] for k, v in bounds.items()} for side in (0, 1))
    objective = lambda x: -x["height"][-1]  # noqa: E731
    return sg.nlp(
        objective, collocated(rocket_rates), start, bounds=(lower, upper), limits=(0.0, 0.0)
    )


# ---------------------------------------------------------------- the arm


def arm_rates(x: State) -> State:
    """An arm of length 5 that slides through its joint, and turns about two axes (M. Moessner)."""
    inertia = ((5.0 - x["length"]) ** 3 + x["length"] ** 3) / 3.0
    return {
        "length": x["slide"],
        "around": x["swing"],
        "up": x["tilt"],
        "slide": x["push"] / 5.0,
        "swing": x["turn"] / (inertia * np.sin(x["up"]) ** 2),
        "tilt": x["lift"] / inertia,
    }


def arm(steps: int) -> Any:
    """Return the problem of turning the arm by 120 degrees in the least time."""
    n, t = steps + 1, np.linspace(0.0, 1.0, steps + 1)
    start = {"length": np.full(n, 4.5), "around": 2.0 * np.pi / 3.0 * t**2,
             "up": np.full(n, np.pi / 4.0), "slide": np.zeros(n), "swing": 4.0 * np.pi / 3.0 * t,
             "tilt": np.zeros(n), "time": 1.0}  # fmt: skip
    start |= {name: np.zeros(n) for name in ("push", "turn", "lift")}
    bounds = {
        "length": ends(n, 4.5, 4.5, 0.0, 5.0), "up": ends(n, np.pi / 4, np.pi / 4, 0.0, np.pi),
        "around": ends(n, 0.0, 2 * np.pi / 3, -np.pi, np.pi), "time": (0.0, np.inf),
    }  # fmt: skip
    bounds |= {k: ends(n, 0.0, 0.0, -np.inf, np.inf) for k in ("slide", "swing", "tilt")}
    bounds |= {k: (np.full(n, -1.0), np.full(n, 1.0)) for k in ("push", "turn", "lift")}
    lower, upper = ({k: v[side] for k, v in bounds.items()} for side in (0, 1))
    rules = collocated(arm_rates)
    return sg.nlp(lambda x: x["time"], rules, start, bounds=(lower, upper), limits=(0.0, 0.0))


# ---------------------------------------------------------------- both


def main() -> None:
    """Solve both, and draw them if asked to."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--plot", help="a file for the picture")
    chosen = parser.parse_args()
    found = {}
    for name, make in (("rocket", rocket), ("arm", arm)):
        problem = make(chosen.steps)
        print(f"{name}: {problem}")
        found[name] = problem.solve(options={"print_level": 0, "sb": "yes", "tol": 1e-9})
        x = found[name].x
        best = f"final height {x['height'][-1]:.5f}" if name == "rocket" else (
            f"time {float(x['time']):.5f}")  # fmt: skip
        known = {"rocket": 1.0128, "arm": 9.141}[name]
        print(f"    {best} (COPS: {known}) after {found[name].nit} iterations")
    if chosen.plot:
        plot(found["rocket"].x, found["arm"].x, chosen.plot)


def plot(rocket: State, arm: State, file: str) -> None:
    """Draw states and controls over time."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(14, 3.4))
    t = float(rocket["time"]) * np.linspace(0.0, 1.0, len(rocket["height"]))
    axes[0].plot(t, rocket["height"], label="height")
    axes[0].plot(t, 1.0 + 0.1 * rocket["speed"], label="1 + speed/10")
    axes[1].plot(t, rocket["thrust"], "C3", label="thrust")
    axes[1].plot(t, rocket["mass"], "C2", label="mass")
    t = float(arm["time"]) * np.linspace(0.0, 1.0, len(arm["length"]))
    for name in ("length", "around", "up"):
        axes[2].plot(t, arm[name], label=name)
    for name in ("push", "turn", "lift"):
        axes[3].plot(t, arm[name], label=name)
    for ax, title in zip(axes, ("rocket", "its thrust", "arm", "its controls"), strict=True):
        ax.set(title=title, xlabel="time")
        ax.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(file, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()
