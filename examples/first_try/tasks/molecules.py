"""Molecules and particles."""

import itertools
import math

import numpy as np
from scipy.special import erfc
from task import Task

# ---------------------------------------------------------------- Lennard-Jones with a cut-off

box = 6.0
rc = 2.5


def lj_energy(pos):
    N = len(pos)
    E = 0.0
    shift = 4 * (1 / rc**12 - 1 / rc**6)
    for i in range(N):
        for j in range(i + 1, N):
            d = pos[i] - pos[j]
            d = d - box * np.round(d / box)
            r = np.linalg.norm(d)
            if r < rc:
                E += 4 * ((1 / r) ** 12 - (1 / r) ** 6) - shift
    return E


def lattice():
    cells = np.array(list(itertools.product(range(2), repeat=3)), dtype=float)
    return (cells * 1.3 + 0.1 * np.sin(np.arange(24)).reshape(8, 3),)


def longer_range():
    global rc
    rc = 3.0


# ---------------------------------------------------------------- torsion in a force field

force_field = {
    "bonds": [(0, 1, 300.0, 1.53), (1, 2, 300.0, 1.53), (2, 3, 300.0, 1.53)],
    "angles": [(0, 1, 2, 60.0, 112.0), (1, 2, 3, 60.0, 112.0)],
    "torsions": [(0, 1, 2, 3, 1.4, 3, 0.0)],
}


def molecule_energy(coords):
    xyz = coords.reshape(-1, 3)
    energy = 0
    for i, j, k, r0 in force_field["bonds"]:
        energy += 0.5 * k * (np.linalg.norm(xyz[i] - xyz[j]) - r0) ** 2
    for i, j, k, kf, t0 in force_field["angles"]:
        u, v = xyz[i] - xyz[j], xyz[k] - xyz[j]
        c = np.dot(u, v) / (np.linalg.norm(u) * np.linalg.norm(v))
        angle = math.acos(c)
        energy += 0.5 * kf * (angle - math.radians(t0)) ** 2
    for i, j, k, l, kf, n, phase in force_field["torsions"]:
        b1, b2, b3 = xyz[j] - xyz[i], xyz[k] - xyz[j], xyz[l] - xyz[k]
        n1, n2 = np.cross(b1, b2), np.cross(b2, b3)
        m1 = np.cross(n1, b2 / np.linalg.norm(b2))
        phi = math.atan2(np.dot(m1, n2), np.dot(n1, n2))
        energy += kf * (1 + math.cos(n * phi - math.radians(phase)))
    return energy


def butane():
    return (np.array([0, 0, 0, 1.5, 0.1, 0, 2.0, 1.5, 0.2, 3.5, 1.6, 0.9]),)


# ---------------------------------------------------------------- Ewald-like screened charges


class Ions:
    def __init__(self, charges, alpha):
        self.q = charges
        self.alpha = alpha

    def energy(self, x, y, z):
        total = 0
        for i, j in itertools.combinations(range(len(self.q)), 2):
            r = math.sqrt((x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2 + (z[i] - z[j]) ** 2)
            total += self.q[i] * self.q[j] * erfc(self.alpha * r) / r
        return total


salt = Ions([1, -1, 1, -1], 0.4)


def ions():
    return np.array([0.0, 1, 2, 3.2]), np.array([0.0, 0.2, 0, 0.1]), np.array([0.1, 0, 0.3, 0])


# ---------------------------------------------------------------- trajectory by velocity Verlet


def forces(r, k):
    f = np.zeros_like(r)
    for i in range(len(r) - 1):
        d = r[i + 1] - r[i]
        f[i] += k * (d - 1)
        f[i + 1] -= k * (d - 1)
    return f


def end_to_end(k, steps=100, dt=0.02):
    r = np.array([0.0, 1.2, 1.9, 3.3])
    v = np.zeros(4)
    a = forces(r, k)
    for _ in range(steps):
        r += v * dt + 0.5 * a * dt**2
        a_new = forces(r, k)
        v += 0.5 * (a + a_new) * dt
        a = a_new
    return r[-1] - r[0]


def damped_forces():
    global forces

    def forces(r, k):
        d = np.diff(r) - 1
        return k * (np.append(d, 0) - np.insert(d, 0, 0)) - 0.1 * r


TASKS = [
    Task(lj_energy, lattice, longer_range),
    Task(
        molecule_energy, butane, lambda: force_field["torsions"].append((3, 2, 1, 0, 0.5, 2, 90.0))
    ),
    Task(salt.energy, ions, lambda: salt.q.__setitem__(0, 2), argnums=(0, 1, 2)),
    Task(end_to_end, lambda: (4,), damped_forces),
]
