"""Orbits and attitude."""

import numpy as np
from numpy import cos, sin, sqrt
from scipy.spatial.transform import Rotation
from task import Task

mu = 398600.4418
J2 = 1.08263e-3


def kepler_E(M, e, tol=1e-14):
    E = M if e < 0.8 else np.pi
    while True:
        dE = (E - e * np.sin(E) - M) / (1 - e * np.cos(E))
        E -= dE
        if abs(dE) < tol:
            return E


def position(elements, t):
    a, e, i, raan, argp, M0 = elements
    n = sqrt(mu / a**3)
    E = kepler_E((M0 + n * t) % (2 * np.pi), e)
    x = a * (cos(E) - e)
    y = a * sqrt(1 - e**2) * sin(E)
    Rz = lambda q: np.array([[cos(q), -sin(q), 0], [sin(q), cos(q), 0], [0, 0, 1]])
    Rx = lambda q: np.array([[1, 0, 0], [0, cos(q), -sin(q)], [0, sin(q), cos(q)]])
    return Rz(raan) @ Rx(i) @ Rz(argp) @ [x, y, 0]


def acceleration(r):
    norm = np.linalg.norm(r)
    x, y, z = r
    factor = 1.5 * J2 * mu * 6378.137**2 / norm**5
    return -mu * r / norm**3 + factor * np.array(
        [
            x * (5 * z**2 / norm**2 - 1),
            y * (5 * z**2 / norm**2 - 1),
            z * (5 * z**2 / norm**2 - 3),
        ]
    )


def propagate(state, minutes=10):
    r, v = np.split(np.asarray(state), 2)
    h = 30.0
    for _ in range(int(minutes * 60 / h)):
        v = v + h / 2 * acceleration(r)
        r = r + h * v
        v = v + h / 2 * acceleration(r)
    return np.hstack([r, v])


def round_earth():
    global J2
    J2 = 0


def transfer_dv(r1, r2):
    """Delta-v of a Hohmann transfer."""
    v1 = sqrt(mu / r1) * (sqrt(2 * r2 / (r1 + r2)) - 1)
    v2 = sqrt(mu / r2) * (1 - sqrt(2 * r1 / (r1 + r2)))
    return abs(v1) + abs(v2)


# ---------------------------------------------------------------- attitude from star directions

catalogue = np.array([[1, 0, 0], [0, 1, 0], [0.6, 0, 0.8]])
measured = np.array([[0.99, 0.1, 0.1], [-0.1, 0.98, 0.15], [0.5, 0.0, 0.87]])


def quat_mult(p, q):
    return np.array(
        [
            p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
            p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
            p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
            p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
        ]
    )


def wahba(q):
    q = q / np.linalg.norm(q)
    conj = q * [1, -1, -1, -1]
    loss = 0
    for b, r in zip(measured, catalogue):
        rotated = quat_mult(quat_mult(q, np.r_[0, r]), conj)[1:]
        loss += np.sum((b - rotated) ** 2)
    return loss


def wahba_rotvec(rotvec):
    R = Rotation.from_rotvec(rotvec).as_matrix()
    return np.sum((measured - catalogue @ R.T) ** 2)


def second_image():
    measured[1] = [-0.2, 0.95, 0.1]


ELEMENTS = [7000, 0.01, 0.9, 1.2, 0.4, 0.1]
STATE = [7000, 0, 100, 0.1, 7.4, 1]

TASKS = [
    Task(position, lambda: (ELEMENTS, 1000)),
    Task(propagate, lambda: (STATE,), round_earth),
    Task(transfer_dv, lambda: (6678, 42164), argnums=(0, 1), hessian=True),
    Task(wahba, lambda: (np.array([1, 0.1, 0, 0.1]),), second_image),
    Task(wahba_rotvec, lambda: (np.array([0.1, -0.1, 0.1]),), second_image),
]
