"""Robots, trusses, finite elements."""

from dataclasses import dataclass, field
from math import cos, pi, radians, sin, sqrt

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve
from task import Task

# ---------------------------------------------------------------- arm by Denavit and Hartenberg

DH = [
    # a, alpha, d
    (0.0, pi / 2, 0.4),
    (0.6, 0, 0),
    (0.5, 0, 0),
    (0, pi / 2, 0.1),
]


def dh_matrix(theta, a, alpha, d):
    ct, st = cos(theta), sin(theta)
    ca, sa = cos(alpha), sin(alpha)
    return np.array(
        [
            [ct, -st * ca, st * sa, a * ct],
            [st, ct * ca, -ct * sa, a * st],
            [0, sa, ca, d],
            [0, 0, 0, 1],
        ]
    )


def fk(q):
    T = np.eye(4)
    for qi, (a, alpha, d) in zip(q, DH):
        T = T @ dh_matrix(qi, a, alpha, d)
    return T[:3, 3]


def longer_forearm():
    DH[2] = (0.7, 0, 0)


# ---------------------------------------------------------------- dynamics of a two-link arm


@dataclass
class Arm:
    m: list = field(default_factory=lambda: [1.0, 0.8])
    l: list = field(default_factory=lambda: [0.5, 0.4])
    g: float = 9.81

    def accelerations(self, state, tau):
        q1, q2, w1, w2 = state
        m1, m2 = self.m
        l1, l2 = self.l
        M = np.zeros((2, 2))
        M[0, 0] = (m1 + m2) * l1**2 + m2 * l2**2 + 2 * m2 * l1 * l2 * np.cos(q2)
        M[0, 1] = M[1, 0] = m2 * l2**2 + m2 * l1 * l2 * np.cos(q2)
        M[1, 1] = m2 * l2**2
        h = m2 * l1 * l2 * np.sin(q2)
        c = np.array([-h * (2 * w1 * w2 + w2**2), h * w1**2])
        G = np.array(
            [
                (m1 + m2) * self.g * l1 * np.cos(q1) + m2 * self.g * l2 * np.cos(q1 + q2),
                m2 * self.g * l2 * np.cos(q1 + q2),
            ]
        )
        return np.linalg.solve(M, tau - c - G)


arm = Arm()


def heavier():
    arm.m[1] = 2.5


# ---------------------------------------------------------------- truss

nodes = [[0.0, 0.0], [1.0, 0.0], [0.5, 0.8], [1.5, 0.8], [2.0, 0.0]]
bars = [[0, 1], [0, 2], [1, 2], [2, 3], [1, 3], [1, 4], [3, 4]]
fixed = [0, 1, 9]
loads = {3: -10.0, 7: -20.0}
E_modulus = 210e3


def compliance(areas):
    ndof = 2 * len(nodes)
    K = np.zeros((ndof, ndof))
    for A, (i, j) in zip(areas, bars):
        dx = nodes[j][0] - nodes[i][0]
        dy = nodes[j][1] - nodes[i][1]
        L = sqrt(dx**2 + dy**2)
        c, s = dx / L, dy / L
        B = np.array([-c, -s, c, s])
        dofs = [2 * i, 2 * i + 1, 2 * j, 2 * j + 1]
        K[np.ix_(dofs, dofs)] += E_modulus * A / L * np.outer(B, B)
    f = np.zeros(ndof)
    for dof, value in loads.items():
        f[dof] = value
    free = [d for d in range(ndof) if d not in fixed]
    u = np.zeros(ndof)
    u[free] = np.linalg.solve(K[np.ix_(free, free)], f[free])
    return f @ u


def other_load():
    loads[5] = 7.5
    nodes[3][1] = 1.0


# ---------------------------------------------------------------- heat in a rod, sparse


def heat_flux(conductivity, n=30):
    h = 1.0 / n
    rows, cols, vals = [], [], []
    rhs = np.full(n - 1, h**2 * source)
    for e in range(n):
        k = conductivity[e] / h
        for a, i in enumerate((e - 1, e)):
            for b, j in enumerate((e - 1, e)):
                if 0 <= i < n - 1 and 0 <= j < n - 1:
                    rows.append(i)
                    cols.append(j)
                    vals.append(k if a == b else -k)
    A = sp.coo_matrix((vals, (rows, cols)), shape=(n - 1, n - 1)).tocsr()
    u = spsolve(A, rhs)
    return np.max(u)


source = 5.0


def stronger_source():
    global source
    source = 8.0


# ---------------------------------------------------------------- triangles: Poisson's equation

points = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0.45, 0.55]], dtype=float)
triangles = np.array([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]])


def fem_energy(xy, u):
    total = 0.0
    for tri in triangles:
        p = xy[tri]
        J = np.array([p[1] - p[0], p[2] - p[0]]).T
        area = 0.5 * abs(np.linalg.det(J))
        dN = np.array([[-1, -1], [1, 0], [0, 1]]) @ np.linalg.inv(J)
        grad_u = dN.T @ u[tri]
        total += area * (0.5 * grad_u @ grad_u - u[tri].mean())
    return total


def flip_edges():
    triangles[:2] = [[0, 1, 2], [0, 2, 4]]


# ---------------------------------------------------------------- beam by Newmark


def tip_displacement(EI, rho=1.0, ne=4, steps=60):
    n = 2 * (ne + 1)
    K, M = np.zeros((n, n)), np.zeros((n, n))
    L = 1 / ne
    ke = (
        EI
        / L**3
        * np.array(
            [
                [12, 6 * L, -12, 6 * L],
                [6 * L, 4 * L**2, -6 * L, 2 * L**2],
                [-12, -6 * L, 12, -6 * L],
                [6 * L, 2 * L**2, -6 * L, 4 * L**2],
            ]
        )
    )
    me = (
        rho
        * L
        / 420
        * np.array(
            [
                [156, 22 * L, 54, -13 * L],
                [22 * L, 4 * L**2, 13 * L, -3 * L**2],
                [54, 13 * L, 156, -22 * L],
                [-13 * L, -3 * L**2, -22 * L, 4 * L**2],
            ]
        )
    )
    for e in range(ne):
        K[2 * e : 2 * e + 4, 2 * e : 2 * e + 4] += ke
        M[2 * e : 2 * e + 4, 2 * e : 2 * e + 4] += me
    K, M = K[2:, 2:], M[2:, 2:]
    dt, u, v = 0.02, np.zeros(n - 2), np.zeros(n - 2)
    f = np.zeros(n - 2)
    f[-2] = 1
    a = np.linalg.solve(M, f)
    for _ in range(steps):
        u_star = u + dt * v + dt**2 / 4 * a
        v_star = v + dt / 2 * a
        a = np.linalg.solve(M + dt**2 / 4 * K, f - K @ u_star)
        u, v = u_star + dt**2 / 4 * a, v_star + dt / 2 * a
    return u[-2]


TASKS = [
    Task(fk, lambda: ([radians(10), 0.3, -0.8, 1],), longer_forearm),
    Task(arm.accelerations, lambda: ([0.3, -0.4, 1, 0], [0, 0]), heavier),
    Task(compliance, lambda: (np.full(7, 0.01),), other_load),
    Task(heat_flux, lambda: (np.linspace(1, 2, 30),), stronger_source),
    Task(fem_energy, lambda: (points, np.array([0, 0, 0, 0, 0.3])), flip_edges, argnums=(0, 1)),
    Task(tip_displacement, lambda: (2,)),
]
