"""AC optimal power flow, in NumPy: what it costs, and what must hold.

Voltages are polar. The flows over a branch follow from the voltages at its ends; so the unknowns
are angles and magnitudes at the buses and the powers of the generators. The formulation is that
of PowerModels.jl (https://lanl-ansi.github.io/PowerModels.jl/stable/math-model), which PGLib's
table of objectives was made with.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from case import Grid

import symgrad as sg


def flows(x: Any, grid: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    """Active and reactive power into each branch at its start and at its end."""
    angle = x["angle"][grid["start"]] - x["angle"][grid["end"]]
    u, v = x["voltage"][grid["start"]], x["voltage"][grid["end"]]
    g, b, charge = grid["admittance"]
    re, im = grid["tap"]
    square = re * re + im * im
    c, s = u * v * np.cos(angle) / square, u * v * np.sin(angle) / square
    return (
        g * u * u / square - (g * re - b * im) * c - (b * re + g * im) * s,
        -(b + charge) * u * u / square + (b * re + g * im) * c - (g * re - b * im) * s,
        g * v * v - (g * re + b * im) * c + (b * re - g * im) * s,
        -(b + charge) * v * v + (b * re - g * im) * c + (g * re + b * im) * s,
    )


def cost(x: Any, grid: dict[str, Any]) -> Any:
    """What the power costs in an hour, in dollars."""
    squared, plain, fixed = grid["cost"]
    return np.sum(squared * x["active"] ** 2 + plain * x["active"] + fixed)


def constraints(x: Any, grid: dict[str, Any]) -> dict[str, Any]:
    """What must hold: the balance at each bus, the ratings and the angles of each branch."""
    p, q, p_back, q_back = flows(x, grid)
    (load_p, load_q), (shunt_g, shunt_b) = grid["load"], grid["shunt"]
    square = x["voltage"] ** 2
    active, reactive = -load_p - shunt_g * square, -load_q + shunt_b * square
    np.add.at(active, grid["at"], x["active"])
    np.add.at(active, grid["start"], -p)
    np.add.at(active, grid["end"], -p_back)
    np.add.at(reactive, grid["at"], x["reactive"])
    np.add.at(reactive, grid["start"], -q)
    np.add.at(reactive, grid["end"], -q_back)
    return {
        "active": active,
        "reactive": reactive,
        "into": p**2 + q**2,
        "out": p_back**2 + q_back**2,
        "angle": x["angle"][grid["start"]] - x["angle"][grid["end"]],
    }


def problem(grid: Grid) -> sg.NLP:
    """Return the optimal power flow of a grid."""
    buses = len(grid.load[0])
    start = {
        "angle": np.zeros(buses),
        "voltage": np.ones(buses),
        "active": grid.active.mean(0),
        "reactive": grid.reactive.mean(0),
    }
    angle = np.full((2, buses), np.inf) * [[-1], [1]]
    angle[:, grid.reference] = 0.0
    limits = [angle, grid.voltage, grid.active, grid.reactive]
    lower, upper = (dict(zip(start, (v[k] for v in limits), strict=True)) for k in (0, 1))
    rating = grid.rating**2
    data = {
        name: getattr(grid, name)
        for name in ("load", "shunt", "at", "cost", "start", "end", "admittance", "tap")
    }
    return sg.nlp(
        cost,
        constraints,
        start,
        bounds=(lower, upper),
        limits=(
            {"active": 0.0, "reactive": 0.0, "angle": grid.angle[0]},
            {"active": 0.0, "reactive": 0.0, "into": rating, "out": rating, "angle": grid.angle[1]},
        ),
        args=(data,),
    )
