"""Robots: control along a trajectory, clearances, a body that turns."""

import math

import numpy as np
from scipy import linalg
from task import Task


class Planner:
    """Iterative LQR of a pendulum with bounded torque."""

    def __init__(self, Q, R, final, dt=0.1, steps=12):
        self.Q, self.R, self.final, self.dt, self.steps = Q, R, final, dt, steps

    def f(self, x, u):
        th, w = x
        return np.array(
            [th + self.dt * w, w + self.dt * (-9.81 * np.sin(th) + np.clip(u[0], -5, 5))]
        )

    def backward(self, X, U, mu=1e-3):
        V, v, gains = self.final, self.final @ X[-1], []
        B = np.array([[0.0], [self.dt]])
        for x, u in zip(X[-2::-1], U[::-1]):
            A = np.array([[1, self.dt], [-9.81 * self.dt * np.cos(x[0]), 1]])
            Qx, Qu = self.Q @ x + A.T @ v, self.R @ u + B.T @ v
            Qxx, Quu = self.Q + A.T @ V @ A, self.R + B.T @ V @ B + mu * np.eye(1)
            Qux = B.T @ V @ A
            factor = linalg.cho_factor(Quu)
            k, K = -linalg.cho_solve(factor, Qu), -linalg.cho_solve(factor, Qux)
            v = Qx + K.T @ Quu @ k + K.T @ Qu + Qux.T @ k
            V = Qxx + K.T @ Quu @ K + K.T @ Qux + Qux.T @ K
            gains.insert(0, (k, K))
        return gains

    def __call__(self, x0, passes=2):
        U, X = np.zeros((self.steps, 1)), [x0]
        for u in U:
            X.append(self.f(X[-1], u))
        for _ in range(passes):
            gains = self.backward(X, U)
            Xn, Un = np.zeros((self.steps + 1, 2)), np.zeros_like(U)
            Xn[0] = x0
            for t, (k, K) in enumerate(gains):
                Un[t] = U[t] + k + K @ (Xn[t] - X[t])
                Xn[t + 1] = self.f(Xn[t], Un[t])
            X, U = Xn, Un
        return 0.5 * sum(x @ self.Q @ x for x in X[:-1]) + 0.5 * X[-1] @ self.final @ X[-1]


planner = Planner(np.diag([1.0, 0.1]), np.array([[0.01]]), 10 * np.eye(2))


def heavier():
    planner.Q = np.diag([2.0, 0.3])


def between_segments(p1, q1, p2, q2, eps=1e-12):
    d1, d2, r = q1 - p1, q2 - p2, p1 - p2
    a, e, f, c = d1 @ d1, d2 @ d2, d2 @ r, d1 @ r
    if a <= eps and e <= eps:
        return np.linalg.norm(r)
    b = d1 @ d2
    denominator = a * e - b * b
    s = np.clip((b * f - c * e) / denominator, 0.0, 1.0) if denominator != 0 else 0.0
    t = (b * s + f) / e
    if t < 0:
        s, t = np.clip(-c / a, 0, 1), 0.0
    elif t > 1:
        s, t = np.clip((b - c) / a, 0, 1), 1.0
    return np.linalg.norm(p1 + d1 * s - p2 - d2 * t)


obstacles = [(np.array([1.0, 1.0, -1.0]), np.array([1.0, 1.0, 1.0]), 0.2)]


def clearance(q, radius=0.1):
    points, angle = [np.zeros(3)], 0.0
    for qi, length in zip(q, (1.0, 0.8, 0.5)):
        angle = angle + qi
        step = length * np.array([math.cos(angle), math.sin(angle), 0.1])
        points.append(points[-1] + step)
    return min(
        between_segments(a, b, c, d) - radius - r
        for a, b in zip(points, points[1:])
        for c, d, r in obstacles
    )


def move_obstacle():
    obstacles[0] = (np.array([0.2, 1.5, 0.0]), np.array([1.5, 1.5, 0.5]), 0.3)


class Quaternion:
    __slots__ = ("v", "w")

    def __init__(self, w, v):
        self.w, self.v = w, np.asarray(v)

    def __mul__(self, other):
        if not isinstance(other, Quaternion):
            return NotImplemented
        w, v = other.w, other.v
        return Quaternion(self.w * w - self.v @ v, self.w * v + w * self.v + np.cross(self.v, v))

    @classmethod
    def turning(cls, u):
        th = np.linalg.norm(u)
        if th < 1e-8:
            return cls(1 - th**2 / 8, u / 2)
        return cls(np.cos(th / 2), np.sin(th / 2) * u / th)

    def turned(self, x):
        return (self * Quaternion(0.0, x) * Quaternion(self.w, -self.v)).v


def attitude(rate, dt=0.1):
    q = Quaternion(1.0, np.zeros(3))
    for k in range(5):
        q = q * Quaternion.turning(rate * dt * (k + 1))
    return q.turned(np.array([1.0, 2.0, 3.0]))


TASKS = [
    Task(planner.__call__, lambda: (np.array([0.5, 0.0]),), heavier, name="planner"),
    Task(clearance, lambda: ([0.1, 0.5, 0.3],), move_obstacle),
    Task(attitude, lambda: (np.array([0.1, 0.2, 0.3]),)),
    Task(attitude, lambda: (np.array([1e-9, 0.0, 0.0]),), name="attitude_nearly_at_rest"),
]
