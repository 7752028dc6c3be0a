"""Quanta: Hartree-Fock, pulses of control, a variational eigensolver."""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm
from scipy.special import erf

from .program import Program

# ---------------------------------------------------------------- Hartree-Fock, STO-nG

CONTRACTIONS = {
    1: [(0.270950, 1.0)],
    2: [(0.151623, 0.678914), (0.851819, 0.430129)],
    3: [(0.109818, 0.444635), (0.405771, 0.535328), (2.22766, 0.154329)],
}


def boys(t):
    if t < 1e-8:
        return 1.0 - t / 3.0
    return 0.5 * np.sqrt(np.pi / t) * erf(np.sqrt(t))


def hartree_fock(distance, zetas, charges, gaussians):
    """Energy of two atoms with one orbital each, to self-consistency (Szabo and Ostlund)."""
    places = [0.0, distance]
    basis = []
    for zeta, R in zip(zetas, places):
        contraction = CONTRACTIONS[gaussians]
        basis.append(
            [(a * zeta**2, c * (2 * a * zeta**2 / np.pi) ** 0.75, R) for a, c in contraction]
        )
    S, T, V = np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((2, 2))
    for i in range(2):
        for j in range(2):
            for a, ca, A in basis[i]:
                for b, cb, B in basis[j]:
                    p, ab = a + b, a * b / (a + b)
                    R2 = (A - B) ** 2
                    overlap = ca * cb * (np.pi / p) ** 1.5 * np.exp(-ab * R2)
                    S[i, j] += overlap
                    T[i, j] += ab * (3 - 2 * ab * R2) * overlap
                    P = (a * A + b * B) / p
                    for Z, C in zip(charges, places):
                        V[i, j] -= 2 * np.sqrt(p / np.pi) * Z * overlap * boys(p * (P - C) ** 2)
    G = np.zeros((2, 2, 2, 2))
    for i in range(2):
        for j in range(2):
            for k in range(2):
                for l in range(2):
                    for a, ca, A in basis[i]:
                        for b, cb, B in basis[j]:
                            for c, cc, C in basis[k]:
                                for d, cd, D in basis[l]:
                                    p, q = a + b, c + d
                                    P, Q = (a * A + b * B) / p, (c * C + d * D) / q
                                    K = np.exp(-a * b / p * (A - B) ** 2 - c * d / q * (C - D) ** 2)
                                    G[i, j, k, l] += (
                                        ca * cb * cc * cd * 2 * np.pi**2.5
                                        / (p * q * np.sqrt(p + q)) * K
                                        * boys(p * q / (p + q) * (P - Q) ** 2)
                                    )  # fmt: skip
    H = T + V
    s, U = np.linalg.eigh(S)
    X = U @ np.diag(s**-0.5) @ U.T
    D = np.zeros((2, 2))
    energy = 1e6
    for _ in range(100):
        F = H.copy()
        for i in range(2):
            for j in range(2):
                for k in range(2):
                    for l in range(2):
                        F[i, j] += D[k, l] * (G[i, j, k, l] - 0.5 * G[i, l, k, j])
        before = energy
        energy = 0.5 * np.sum(D * (H + F))
        _, C = np.linalg.eigh(X.T @ F @ X)
        c = X @ C[:, 0]
        D = 2 * np.outer(c, c)
        if abs(energy - before) < 1e-11:
            break
    return energy + charges[0] * charges[1] / distance


# ---------------------------------------------------------------- GRAPE

SX = np.array([[0, 1], [1, 0]], dtype=complex)
SY = np.array([[0, -1j], [1j, 0]])
SZ = np.diag([1.0 + 0j, -1.0])
ID = np.eye(2)
CNOT = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], dtype=complex)


def grape(pulses, coupling, dt):
    """Infidelity of a controlled not by pulses that are constant in pieces."""
    drift = coupling * np.kron(SZ, SZ)
    controls = [np.kron(SX, ID), np.kron(SY, ID), np.kron(ID, SX), np.kron(ID, SY)]
    U = np.eye(4, dtype=complex)
    for row in pulses:
        H = drift
        for u, C in zip(row, controls):
            H = H + u * C
        U = expm(-1j * dt * H) @ U
    return 1 - abs(np.trace(CNOT.conj().T @ U) / 4) ** 2


# ---------------------------------------------------------------- variational eigensolver


def rotate(state, gate, qubit):
    state = np.tensordot(gate, state, axes=([1], [qubit]))
    return np.moveaxis(state, 0, qubit)


def vqe(angles, field):
    """Energy of an Ising chain of four spins by layers of rotations and controlled phases."""
    state = np.zeros((2,) * 4, dtype=complex)
    state[0, 0, 0, 0] = 1.0
    for layer in angles:
        for q in range(4):
            c, s = np.cos(layer[q] / 2), np.sin(layer[q] / 2)
            state = rotate(state, np.array([[c, -s], [s, c]]), q)
        for q in range(3):
            flipped = np.moveaxis(state.copy(), (q, q + 1), (0, 1))
            flipped[1, 1] = -flipped[1, 1]
            state = np.moveaxis(flipped, (0, 1), (q, q + 1))
    energy = 0.0
    for q in range(4):
        energy -= field * np.sum(state.conj() * rotate(state, SX, q)).real
    for q in range(3):
        both = rotate(rotate(state, SZ, q), SZ, q + 1)
        energy -= np.sum(state.conj() * both).real
    return energy


PROGRAMS = [
    Program("quantum chemistry", hartree_fock, lambda n: (1.4632, (2.0925, 1.24), (2.0, 1.0), n),
            (1, 3, 2), argnums=(0, 1), step=1e-3),
    Program("quantum control", grape, lambda n: (np.sin(np.arange(4.0 * n)).reshape(n, 4), 0.5, 0.1),
            (3, 30, 40), lambda a: (a[0], 0.6, a[2]), step=1e-2),
    Program("quantum computing", vqe, lambda n: (np.cos(np.arange(4.0 * n)).reshape(n, 4), 0.8),
            (2, 8, 10), lambda a: (a[0], 0.9)),
]  # fmt: skip
