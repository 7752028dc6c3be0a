"""Mixtures: activity coefficients by groups, an equation of state, a flash."""

import functools
import itertools
import math
from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np
from task import Task

GAS = 8.314462618
GROUPS = {
    "CH3": dict(Q=0.848, R=0.9011, main=1), "CH2": dict(Q=0.540, R=0.6744, main=1),
    "OH": dict(Q=1.2, R=1.0, main=5), "H2O": dict(Q=1.4, R=0.92, main=7),
}  # fmt: skip
INTERACTION = {
    (1, 5): 986.5,
    (1, 7): 1318.0,
    (5, 1): 156.4,
    (5, 7): 353.5,
    (7, 1): 300.0,
    (7, 5): -229.1,
}
MOLECULES = {
    "ethanol": {"CH3": 1, "CH2": 1, "OH": 1},
    "water": {"H2O": 1},
    "hexane": {"CH3": 2, "CH2": 4},
}


@functools.lru_cache(maxsize=None)
def sizes(name):
    counts = MOLECULES[name].items()
    return sum(n * GROUPS[g]["R"] for g, n in counts), sum(n * GROUPS[g]["Q"] for g, n in counts)


def of_groups(fractions, psi):
    areas = {g: GROUPS[g]["Q"] * x for g, x in fractions.items()}
    total = sum(areas.values())
    theta = {g: v / total for g, v in areas.items()}
    out = {}
    for k in fractions:
        s1 = sum(theta[m] * psi[m, k] for m in fractions)
        s2 = sum(
            theta[m] * psi[k, m] / sum(theta[n] * psi[n, m] for n in fractions) for m in fractions
        )
        out[k] = GROUPS[k]["Q"] * (1 - np.log(s1) - s2)
    return out


def unifac(x, T, components=("ethanol", "water", "hexane")):
    r, q = map(np.array, zip(*(sizes(c) for c in components)))
    V, F = x * r / np.sum(x * r), x * q / sum(x * q)
    combinatorial = 1 - V / x + np.log(V / x) - 5 * q * (1 - V / F + np.log(V / F))
    groups = sorted({g for c in components for g in MOLECULES[c]})
    main = {g: GROUPS[g]["main"] for g in groups}
    psi = {
        (m, n): np.exp(-INTERACTION.get((main[m], main[n]), 0) / T)
        for m, n in itertools.product(groups, repeat=2)
    }
    mix = defaultdict(float)
    for xi, c in zip(x, components):
        for g, n in MOLECULES[c].items():
            mix[g] += xi * n
    total = sum(mix.values())
    mixed = of_groups({g: mix[g] / total for g in groups}, psi)
    residual = np.zeros(len(components))
    for i, c in enumerate(components):
        counts = Counter(MOLECULES[c])
        pure = of_groups({g: counts[g] / sum(counts.values()) for g in groups}, psi)
        residual[i] = sum(n * (mixed[g] - pure[g]) for g, n in counts.items())
    return np.exp(combinatorial + residual)


@dataclass
class Component:
    Tc: float
    Pc: float
    omega: float

    def a(self, T):
        w = self.omega
        k = 0.37464 + 1.54226 * w - 0.26992 * w**2 if w <= 0.49 else 0.379642 + 1.48503 * w
        return (
            0.45724 * (GAS * self.Tc) ** 2 / self.Pc * (1 + k * (1 - math.sqrt(T / self.Tc))) ** 2
        )

    @property
    def b(self):
        return 0.0778 * GAS * self.Tc / self.Pc


propane = Component(369.8, 4.25e6, 0.152)


def log_fugacity(T, P, component, phase):
    A, B = component.a(T) * P / (GAS * T) ** 2, component.b * P / (GAS * T)
    r = np.roots([1, -(1 - B), A - 3 * B**2 - 2 * B, -(A * B - B**2 - B**3)])
    real = r[np.abs(r.imag) < 1e-8].real
    real = real[real > B]
    Z = max(real) if phase == "vapour" else min(real)
    s = math.sqrt(2)
    departure = A / (2 * s * B) * math.log((Z + (1 + s) * B) / (Z + (1 - s) * B))
    return Z - 1 - math.log(Z - B) - departure


def vapour_pressure(T, guess=5e5):
    P = guess
    for _ in range(200):
        ratio = np.exp(
            log_fugacity(T, P, propane, "liquid") - log_fugacity(T, P, propane, "vapour")
        )
        P *= ratio
        if abs(ratio - 1) < 1e-13:
            break
    return P


def warmer():
    propane.Tc = 375.0


def rachford_rice(z, K, tol=1e-13):
    if np.sum(z * K) <= 1:
        return 0.0
    if np.sum(z / K) <= 1:
        return 1.0
    V, count = 0.5, 0
    while True:
        below = 1 + V * (K - 1)
        step = np.sum(z * (K - 1) / below) / np.sum(z * (K - 1) ** 2 / below**2)
        V, count = V + step, count + 1
        if not 0 < V < 1:
            V = min(max(V, 1e-6), 1 - 1e-6)
        if abs(step) < tol:
            return V
        if count > 100:
            raise ValueError(f"no convergence: {V}")


def flash(state, z=np.array([0.3, 0.4, 0.3])):
    T, P = state
    Tc, Pc, w = np.array([[190.6, 369.8, 617.7], [4.6e6, 4.25e6, 2.1e6], [0.011, 0.152, 0.49]])
    K = Pc / P * np.exp(5.373 * (1 + w) * (1 - Tc / T))
    V = rachford_rice(z, K)
    x = z / (1 + V * (K - 1))
    return np.array([V, *x, *(K * x)])


TASKS = [
    Task(unifac, lambda: (np.array([0.3, 0.5, 0.2]), 320.0), argnums=(0, 1)),
    Task(vapour_pressure, lambda: (320.0,), warmer, tolerance=1e-6, accuracy=1e-10),
    Task(flash, lambda: ([350.0, 2e6],), tolerance=1e-6),
    Task(flash, lambda: ([250.0, 1e7],), name="flash_of_liquid"),
]
