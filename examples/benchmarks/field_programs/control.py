"""Optimal control: direct collocation, multiple shooting, a regulator and its Riccati equation."""

from __future__ import annotations

import numpy as np

from .program import Program

# ---------------------------------------------------------------- direct collocation, degree 3

TAU = np.array([0.0, 0.15505102572168, 0.64494897427832, 1.0])
C = np.zeros((4, 4))  # derivatives of the Lagrange polynomials at the points
D = np.zeros(4)  # their values at the end
for j in range(4):
    p = np.poly1d([1])
    for r in range(4):
        if r != j:
            p *= np.poly1d([1, -TAU[r]]) / (TAU[j] - TAU[r])
    D[j] = p(1.0)
    for r in range(4):
        C[j, r] = np.polyder(p)(TAU[r])


def direct_collocation(z, horizon):
    """Defects of a pendulum with a motor; nine variables an interval, two at the end."""
    N = (len(z) - 2) // 9
    h = horizon / N
    g = []
    for k in range(N):
        X = [z[9 * k + 2 * j : 9 * k + 2 * j + 2] for j in range(4)]
        u = z[9 * k + 8]
        for j in range(1, 4):
            xp = 0
            for r in range(4):
                xp = xp + C[r, j] * X[r]
            f = np.array([X[j][1], u - np.sin(X[j][0]) - 0.2 * X[j][1]])
            g.append(h * f - xp)
        end = 0
        for r in range(4):
            end = end + D[r] * X[r]
        g.append(z[9 * (k + 1) : 9 * (k + 1) + 2] - end)
    return np.concatenate(g)


# ---------------------------------------------------------------- multiple shooting


def vehicle(x, u, drag):
    return np.array([x[1], u[0] - drag * x[1] - 0.1 * np.sin(x[0]), x[0] * u[1]])


def multiple_shooting(z, drag):
    """Gaps between the intervals, one step of Runge-Kutta each."""
    N = len(z) // 5 - 1
    h = 1.0 / N
    gaps = []
    for k in range(N):
        x, u = z[5 * k : 5 * k + 3], z[5 * k + 3 : 5 * k + 5]
        k1 = vehicle(x, u, drag)
        k2 = vehicle(x + h / 2 * k1, u, drag)
        k3 = vehicle(x + h / 2 * k2, u, drag)
        k4 = vehicle(x + h * k3, u, drag)
        gaps.append(z[5 * k + 5 : 5 * k + 8] - (x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)))
    return np.concatenate(gaps)


def shooting_merit(z, drag):
    """Penalty for the gaps and effort of the controls."""
    gaps = multiple_shooting(z, drag)
    effort = 0
    for k in range(len(z) // 5):
        effort += z[5 * k + 3] ** 2 + z[5 * k + 4] ** 2
    return 10 * np.sum(gaps**2) + 0.01 * effort


# ---------------------------------------------------------------- regulator


def riccati_regulator(weights, x0, dt, steps):
    """Cost of a mass-spring chain under the optimal regulator, by the weights of its cost."""
    A = np.eye(4)
    A[0, 2] = A[1, 3] = dt
    A[2, :2] = dt * np.array([-2.0, 1.0])
    A[3, :2] = dt * np.array([1.0, -2.0])
    B = np.array([[0.0], [0.0], [dt], [0.0]])
    Q, R = np.diag(weights[:4]), np.array([[weights[4]]])
    P = Q
    for _ in range(steps):
        K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        P = Q + A.T @ P @ (A - B @ K)
    return x0 @ P @ x0


def second_parameter(args):
    return (args[0], args[1] * 1.1, *args[2:])


PROGRAMS = [
    Program("optimal control", direct_collocation,
            lambda n: (np.sin(np.linspace(0, 3, 9 * n + 2)), 2.0),
            (4, 100, 120), second_parameter, kind="sparse jacobian"),
    Program("optimal control", multiple_shooting,
            lambda n: (np.cos(np.linspace(0, 3, 5 * n + 5)), 0.5),
            (4, 100, 120), second_parameter, kind="sparse jacobian"),
    Program("trajectory optimization", shooting_merit,
            lambda n: (np.cos(np.linspace(0, 3, 5 * n + 5)), 0.5),
            (4, 60, 80), second_parameter, kind="sparse hessian"),
    Program("regulators", riccati_regulator,
            lambda n: (np.array([1.0, 2.0, 0.1, 0.1, 0.5]), np.array([1.0, -0.5, 0.0, 0.2]), 0.1, n),
            (5, 100, 140)),
]  # fmt: skip
