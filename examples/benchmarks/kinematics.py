"""A robot arm with seven joints: the Jacobian of the hand's place for many postures.

    python examples/benchmarks/kinematics.py [--quick]

Denavit and Hartenberg's four parameters for each joint; the place is the last column of the
product of seven 4 x 4 matrices. Peers that trace numbers, C and symgrad get the product from the
hand to the foot, which takes a vector; as a product of matrices symgrad runs 3 times as long.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from harness import Aim, Case, Workload, complex_step, jacobian_in_c, main

#: Offset along z, length along x, cosine and sine of the twist (-90, 90 or 0 degrees).
JOINTS = (
    (0.333, 0.0, 0.0, -1.0),
    (0.0, 0.0, 0.0, 1.0),
    (0.316, 0.0825, 0.0, 1.0),
    (0.0, -0.0825, 0.0, -1.0),
    (0.384, 0.0, 0.0, 1.0),
    (0.0, 0.088, 0.0, 1.0),
    (0.107, 0.05, 1.0, 0.0),
)


def hand(np: Any, q: Any) -> Any:
    """The place of the hand."""
    frame = np.eye(4)
    for k, (d, a, ct, st) in enumerate(JOINTS):
        c, s = np.cos(q[k]), np.sin(q[k])
        link = np.array(
            [
                [c, -s * ct, s * st, a * c],
                [s, c * ct, -c * st, a * s],
                [0.0, st, ct, d],
                [0.0, 0.0, 0.0, 1.0],
            ]
        )
        frame = frame @ link
    return frame[:3, 3]


def scalars(m: Any, q: Any) -> Any:
    """The same from the hand to the foot, a vector turned by one joint after the other."""
    x, y, z = 0.0, 0.0, 0.0
    for angle, (d, a, ct, st) in zip(reversed(q), reversed(JOINTS), strict=True):
        c, s = m.cos(angle), m.sin(angle)
        ahead, aside = x + a, ct * y - st * z
        x, y, z = c * ahead - s * aside, s * ahead + c * aside, st * y + ct * z + d
    return [x, y, z]


def listed(np: Any, q: Any) -> Any:
    """The formulas for one posture."""
    x, y, z = scalars(np, [q[k] for k in range(7)])
    return np.stack([x, y, z])


def arguments(case: Case) -> tuple[Any, ...]:
    """Postures."""
    postures = np.random.default_rng(1).uniform(-math.pi, math.pi, (case.size, 7))
    return (np.ascontiguousarray(postures.T) if case.variant else postures,)


def exact(case: Case, q: Any) -> Any:
    """By complex steps in long doubles."""
    return complex_step(scalars, list(q if case.variant else q.T), 7).astype(np.float64)


def by_c(case: Case, given: Any) -> Any:
    """One loop over the postures."""
    return jacobian_in_c(scalars, given[0], 7, columns=bool(case.variant))


WORKLOAD = Workload(
    name="kinematics",
    title="arm of seven joints, Jacobians of postures",
    kind="jacobian",
    cases=(
        Case(1000, quick=True),
        Case(10_000),
        Case(100_000),
        Case(1000, "columns", quick=True),
        Case(100_000, "columns"),
    ),
    arguments=arguments,
    exact=exact,
    function=hand,
    scalars=scalars,
    formulations=dict.fromkeys(("symgrad", "jax", "torch", "torch.compile"), listed),
    hand={"C/*": by_c},
    aims=(
        Aim("100,000", ("jax",), 4.0),
        Aim("100,000", ("C",), 1 / 1.1),
        Aim("100,000 columns", ("C",), 1 / 1.1),
    ),
)

if __name__ == "__main__":
    sys.exit(main(name="kinematics"))
