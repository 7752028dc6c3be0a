"""Bundle adjustment: the Jacobian blocks of the reprojection errors of many observations.

    python examples/benchmarks/ba.py [--quick]

The residual is ADBench's: a point is turned by the camera (three numbers, Rodrigues' formula),
projected, distorted radially, and compared with what was observed. The derivatives are by 11
numbers of the camera, 3 of the point and the observation's weight.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from harness import Aim, Case, Workload, complex_step, jacobian_in_c, main

BY = 11 + 3 + 1


def scalars(m: Any, x: Any) -> Any:
    """The residual in numbers: camera (turn, place, focus, centre, distortion), point, weight."""
    r, place, (focus, u, v, k1, k2) = x[:3], x[3:6], x[6:11]
    point, weight, seen = x[11:14], x[14], x[15:17]
    square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2]
    angle = m.sqrt(square)
    c, s = m.cos(angle), m.sin(angle)
    w = [a / angle for a in r]
    p = [a - b for a, b in zip(point, place, strict=True)]
    cross = [w[1] * p[2] - w[2] * p[1], w[2] * p[0] - w[0] * p[2], w[0] * p[1] - w[1] * p[0]]
    along = (w[0] * p[0] + w[1] * p[1] + w[2] * p[2]) * (1.0 - c)
    q = [a * c + b * s + d * along for a, b, d in zip(p, cross, w, strict=True)]
    a, b = q[0] / q[2], q[1] / q[2]
    radius = a * a + b * b
    stretch = focus * (1.0 + radius * (k1 + radius * k2))
    return [weight * (a * stretch + u - seen[0]), weight * (b * stretch + v - seen[1])]


def residual(np: Any, camera: Any, point: Any, weight: Any, seen: Any) -> Any:
    """The residual of one observation."""
    turn, place, focus = camera[0:3], camera[3:6], camera[6]
    centre, distortion = camera[7:9], camera[9:11]
    angle = np.sqrt(np.sum(turn**2))
    axis, p = turn / angle, point - place
    along = np.sum(axis * p) * (1.0 - np.cos(angle))
    q = p * np.cos(angle) + np.cross(axis, p) * np.sin(angle) + axis * along
    flat = q[:2] / q[2]
    radius = np.sum(flat**2)
    stretch = 1.0 + radius * distortion[0] + radius**2 * distortion[1]
    return weight * (focus * flat * stretch + centre - seen)


def listed(np: Any, camera: Any, point: Any, weight: Any, seen: Any) -> Any:
    """The residual of one observation, number by number."""
    x = [*(camera[k] for k in range(11)), *(point[k] for k in range(3))]
    return np.stack(scalars(np, [*x, weight[0], seen[0], seen[1]]))


def arguments(case: Case) -> tuple[Any, ...]:
    """Cameras around a cloud of points."""
    rng, n = np.random.default_rng(1), case.size
    camera = np.empty((n, 11))
    camera[:, :3] = rng.uniform(0.1, 0.5, (n, 3))
    camera[:, 3:6] = rng.uniform(-1, 1, (n, 3)) - [0, 0, 8]
    camera[:, 6] = rng.uniform(400, 600, n)
    camera[:, 7:9] = rng.uniform(200, 300, (n, 2))
    camera[:, 9:11] = rng.uniform(-0.1, 0.1, (n, 2))
    point, seen = rng.uniform(-1, 1, (n, 3)), rng.uniform(0, 500, (n, 2))
    rows = camera, point, rng.uniform(0.5, 1.0, (n, 1)), seen
    return tuple(np.ascontiguousarray(a.T) for a in rows) if case.variant else rows


def exact(case: Case, *given: Any) -> Any:
    """By complex steps in long doubles."""
    table = [column for a in given for column in (a if case.variant else a.T)]
    return complex_step(scalars, table, BY).astype(np.float64)


def by_c(case: Case, given: Any) -> Any:
    """One loop over the observations."""
    table = np.concatenate(given, axis=0 if case.variant else 1)
    return jacobian_in_c(scalars, table, BY, columns=bool(case.variant))


WORKLOAD = Workload(
    name="ba",
    title="bundle adjustment, Jacobian blocks of observations",
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
    function=residual,
    scalars=scalars,
    argnums=(0, 1, 2),
    formulations={"jax": listed, "torch": listed, "torch.compile": listed},
    hand={"C/*": by_c},
    aims=(
        Aim("100,000", ("jax",), 4.0),
        Aim("100,000", ("C",), 1 / 1.1),
        Aim("100,000 columns", ("C",), 1 / 1.1),
    ),
)

if __name__ == "__main__":
    sys.exit(main(name="ba"))
