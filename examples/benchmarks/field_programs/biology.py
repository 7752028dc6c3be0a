"""Life: a nerve, a tree of species, an epidemic with ages, cloth."""

from __future__ import annotations

from math import exp

import numpy as np
from scipy.linalg import expm

from .program import Program

# ---------------------------------------------------------------- Hodgkin and Huxley


def hodgkin_huxley(conductances, current, steps):
    """Mean squared voltage of a nerve, by Euler's steps."""
    gNa, gK, gL = conductances
    V, m, h, n = -65.0, 0.05, 0.6, 0.32
    dt = 0.02
    total = 0.0
    for k in range(steps):
        I = current if k * dt > 1.0 else 0.0
        am = 0.1 * (V + 40.0) / (1 - exp(-(V + 40.0) / 10))
        bm = 4.0 * exp(-(V + 65.0) / 18)
        ah = 0.07 * exp(-(V + 65.0) / 20)
        bh = 1 / (1 + exp(-(V + 35.0) / 10))
        an = 0.01 * (V + 55.0) / (1 - exp(-(V + 55.0) / 10))
        bn = 0.125 * exp(-(V + 65) / 80)
        INa = gNa * m**3 * h * (V - 50.0)
        IK = gK * n**4 * (V + 77.0)
        IL = gL * (V + 54.4)
        V = V + dt * (I - INa - IK - IL)
        m = m + dt * (am * (1 - m) - bm * m)
        h = h + dt * (ah * (1 - h) - bh * h)
        n = n + dt * (an * (1 - n) - bn * n)
        total += V**2 * dt
    return total


# ---------------------------------------------------------------- phylogenetics

LETTERS = {"A": 0, "C": 1, "G": 2, "T": 3}
TREE = [(0, 1, 5), (2, 3, 6), (5, 6, 7), (7, 4, 8)]  # left, right, parent; 0 to 4 are leaves


def phylogeny(lengths, kappa, sequences):
    """Log-likelihood of sequences on a tree, by Felsenstein's pruning; Kimura's model."""
    Q = np.ones((4, 4))
    for a, b in [(0, 2), (2, 0), (1, 3), (3, 1)]:
        Q[a, b] = kappa
    for i in range(4):
        Q[i, i] = 0.0
        Q[i, i] = -np.sum(Q[i])
    P = [expm(Q * t) for t in lengths]
    total = 0.0
    for site in range(len(sequences[0])):
        partial = {}
        for leaf, sequence in enumerate(sequences):
            v = np.zeros(4)
            v[LETTERS[sequence[site]]] = 1.0
            partial[leaf] = v
        for left, right, parent in TREE:
            partial[parent] = (P[left] @ partial[left]) * (P[right] @ partial[right])
        total += np.log(0.25 * np.sum(partial[8]))
    return -total


def species(n):
    letters = np.random.default_rng(2).integers(0, 4, n)
    sequences = []
    for k in range(5):
        sequences.append(
            "".join("ACGT"[(c + (k if i % 4 == k else 0)) % 4] for i, c in enumerate(letters))
        )
    return 0.1 + 0.02 * np.arange(8.0), 2.0, sequences


# ---------------------------------------------------------------- epidemic with ages


def age_epidemic(contacts, beta, cases):
    """Misfit of weekly cases in three ages; a day is a step, schools close when many are ill."""
    N = np.array([20.0, 50.0, 30.0])
    S, I = N - 0.01, np.full(3, 0.01)
    misfit = 0.0
    for week in range(len(cases)):
        new = np.zeros(3)
        for day in range(7):
            rate = contacts.copy()
            if I[0] > 1.0:
                rate[0, 0] = 0.3 * rate[0, 0]
            force = beta * rate @ (I / N)
            infected = force * S
            S = S - infected
            I = I + infected - 0.2 * I
            new = new + infected
        misfit += np.sum((np.sqrt(new) - np.sqrt(cases[week])) ** 2)
    return misfit


def outbreak(n):
    contacts = np.array([[3.0, 1.0, 0.5], [1.0, 2.0, 1.0], [0.5, 1.0, 1.5]])
    return contacts, 0.15, 0.1 + 0.01 * np.arange(3.0 * n).reshape(n, 3)


# ---------------------------------------------------------------- cloth


def cloth(stiffness, mass, steps):
    """How far a corner hangs down: springs between neighbours, symplectic steps."""
    n = 5
    x = np.zeros((n, n, 3))
    for i in range(n):
        for j in range(n):
            x[i, j] = [0.1 * i, 0.1 * j, 0.0]
    v = np.zeros_like(x)
    dt = 0.004
    for _ in range(steps):
        f = np.zeros_like(x)
        f[:, :, 2] -= 9.81 * mass
        for di, dj in [(1, 0), (0, 1), (1, 1)]:
            d = x[di:, dj:] - x[: n - di, : n - dj]
            length = np.sqrt(np.sum(d**2, axis=2, keepdims=True))
            rest = 0.1 * np.sqrt(di + dj)
            pull = stiffness * (length - rest) * d / length
            f[: n - di, : n - dj] += pull
            f[di:, dj:] -= pull
        v = 0.999 * (v + dt * f / mass)
        v[0, 0] = 0.0
        v[0, -1] = 0.0
        x = x + dt * v
    return x[-1, -1, 2]


PROGRAMS = [
    Program("neuroscience", hodgkin_huxley, lambda n: (np.array([120.0, 36.0, 0.3]), 10.0, n),
            (30, 500, 700), lambda a: (a[0], 12.0, a[2]), step=1e-4),
    Program("phylogenetics", phylogeny, species, (3, 40, 50), lambda a: (a[0], 2.5, a[2])),
    Program("epidemiology", age_epidemic, outbreak, (2, 10, 14)),
    Program("computer graphics", cloth, lambda n: (50.0, 0.01, n), (40, 80, 100), argnums=(0, 1)),
]  # fmt: skip
