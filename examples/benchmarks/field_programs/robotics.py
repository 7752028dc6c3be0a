"""Robots and networks: a pose graph, a pipe network, a contact, the power flow of a grid."""

from __future__ import annotations

import numpy as np

from .program import Program

# ---------------------------------------------------------------- pose graph


def pose_graph(poses, edges, measurements, weight):
    """Residuals of relative poses in the plane, edge by edge."""
    residuals = [weight * poses[0], weight * poses[1], weight * poses[2]]
    for (i, j), (dx, dy, dtheta) in zip(edges, measurements):
        xi, yi, ti = poses[3 * i], poses[3 * i + 1], poses[3 * i + 2]
        xj, yj, tj = poses[3 * j], poses[3 * j + 1], poses[3 * j + 2]
        c, s = np.cos(ti), np.sin(ti)
        residuals.append(c * (xj - xi) + s * (yj - yi) - dx)
        residuals.append(-s * (xj - xi) + c * (yj - yi) - dy)
        angle = tj - ti - dtheta
        residuals.append(np.arctan2(np.sin(angle), np.cos(angle)))
    return np.array(residuals)


def drive(n):
    edges = [(k, k + 1) for k in range(n - 1)] + [(k, k + n // 2) for k in range(0, n // 2, 5)]
    angles = 2 * np.pi * np.arange(n) / n
    poses = np.column_stack([np.cos(angles), np.sin(angles), angles + 0.1]).ravel()
    return poses, edges, [(0.1, 0.01 * (k % 3), 0.05) for k in range(len(edges))], 10.0


# ---------------------------------------------------------------- pipes


def pipe_network(heads, roughness, pipes, demand):
    """Balance of the flows at the nodes of a water network (Hazen and Williams)."""
    balance = -demand.copy()
    for k, (i, j) in enumerate(pipes):
        drop = heads[i] - heads[j]
        flow = roughness[k] * np.sign(drop) * np.abs(drop) ** 0.54
        balance[i] -= flow
        balance[j] += flow
    return balance


def town(n):
    rng = np.random.default_rng(6)
    pipes = [(k, k + 1) for k in range(n - 1)]
    pipes += [
        (int(a), int((a + 2 + rng.integers(0, n - 4)) % n)) for a in rng.integers(0, n, n // 2)
    ]
    return 50 + 10 * np.sin(3.0 * np.arange(n)), 1 + 0.1 * np.arange(len(pipes)), pipes, np.ones(n)


# ---------------------------------------------------------------- contact


def bouncing_robot(force, ground, steps):
    """Where a hopping leg lands: penalty contact with friction, by semi-implicit steps."""
    x, z, vx, vz, angle, w = 0.0, 1.0, 0.5, 0.0, 0.1, 0.0
    dt = 0.01
    for k in range(steps):
        push = force[k * len(force) // steps]
        foot = z - np.cos(angle)
        side = x + np.sin(angle)
        normal, friction = 0.0, 0.0
        if foot < 0:
            normal = -ground * foot - 5.0 * vz
            if normal < 0:
                normal = 0.0
            friction = -0.5 * normal * np.tanh(10 * vx)
        vz += dt * (-9.81 + normal + push * np.cos(angle) * (1.0 if foot < 0 else 0.0))
        vx += dt * (friction + push * np.sin(angle) * (1.0 if foot < 0 else 0.0))
        w += dt * (-5.0 * angle - w + 0.1 * friction * side)
        x, z, angle = x + dt * vx, z + dt * vz, angle + dt * w
    return (x - 1.0) ** 2 + 0.1 * (z - 1.0) ** 2


# ---------------------------------------------------------------- power flow


def power_flow(state, branches, injections):
    """Mismatch of active and reactive power at the buses, branch by branch."""
    n = len(state) // 2
    theta, V = state[:n], state[n:]
    P, Q = -injections[:n], -injections[n:]
    for i, j, g, b in branches:
        d = theta[i] - theta[j]
        c, s = np.cos(d), np.sin(d)
        P[i] += V[i] ** 2 * g - V[i] * V[j] * (g * c + b * s)
        P[j] += V[j] ** 2 * g - V[i] * V[j] * (g * c - b * s)
        Q[i] += -(V[i] ** 2) * b - V[i] * V[j] * (g * s - b * c)
        Q[j] += -(V[j] ** 2) * b + V[i] * V[j] * (g * s + b * c)
    return np.concatenate([P, Q])


def grid(n):
    branches = [(k, k + 1, 1.0 + 0.01 * k, -5.0) for k in range(n - 1)]
    branches += [(k, (k * 7 + 3) % n, 0.5, -4.0) for k in range(0, n, 3) if k != (k * 7 + 3) % n]
    state = np.concatenate([0.05 * np.sin(np.arange(n)), np.ones(n)])
    return state, branches, 0.1 * np.cos(np.arange(2.0 * n))


PROGRAMS = [
    Program("mapping", pose_graph, drive, (6, 100, 120), lambda a: (*a[:3], 12.0),
            kind="sparse jacobian"),
    Program("water supply", pipe_network, town, (6, 150, 180), kind="sparse jacobian", step=1e-4),
    Program("legged robots", bouncing_robot, lambda n: (np.full(8, 12.0), 2000.0, n),
            (20, 120, 150), lambda a: (a[0], 2200.0, a[2]), step=1e-4),
    Program("power systems", power_flow, grid, (5, 118, 140), kind="sparse jacobian"),
]  # fmt: skip
