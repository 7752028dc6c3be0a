"""Power systems, chemistry, process engineering."""

import numpy as np
from scipy.optimize import fsolve
from task import Task

# ---------------------------------------------------------------- dispatch of generators

generators = [
    {"name": "coal", "a": 0.008, "b": 7.0, "c": 200, "min": 10, "max": 85},
    {"name": "gas", "a": 0.009, "b": 6.3, "c": 180, "min": 10, "max": 80},
    {"name": "hydro", "a": 0.007, "b": 6.8, "c": 140, "min": 10, "max": 70},
]
demand = 150
rho = 10


def dispatch_cost(P):
    cost = sum(g["a"] * p**2 + g["b"] * p + g["c"] for g, p in zip(generators, P))
    loss = 0.000218 * P[0] ** 2 + 0.000228 * P[1] ** 2 + 0.000179 * P[2] ** 2
    imbalance = sum(P) - demand - loss
    penalty = 0
    for g, p in zip(generators, P):
        if p > g["max"]:
            penalty += (p - g["max"]) ** 2
        elif p < g["min"]:
            penalty += (g["min"] - p) ** 2
    return cost + rho * (imbalance**2 + penalty)


def evening_peak():
    global demand
    demand = 210
    generators[1]["max"] = 60


# ---------------------------------------------------------------- battery

prices = [30, 25, 22, 28, 45, 60, 55, 40, 35, 50, 70, 48]


class Battery:
    capacity = 4.0
    efficiency = 0.95

    def __init__(self, soc=2.0):
        self.soc = soc

    def charge(self, power):
        if power >= 0:
            self.soc += self.efficiency * power
        else:
            self.soc += power / self.efficiency
        over = max(self.soc - self.capacity, 0) + max(-self.soc, 0)
        self.soc = min(max(self.soc, 0), self.capacity)
        return over


def battery_cost(powers):
    battery = Battery()
    cost = 0
    for price, power in zip(prices, powers):
        cost += price * power + 100 * battery.charge(power) ** 2
    return cost - 40 * battery.soc


def worn_battery():
    Battery.efficiency = 0.85


# ---------------------------------------------------------------- power flow

lines = [(0, 1, 0.02 + 0.06j), (0, 2, 0.08 + 0.24j), (1, 2, 0.06 + 0.18j)]
P_spec = [0.0, 0.4, -0.6]
Q_spec = [0.0, 0.1, -0.3]


def admittance():
    Y = np.zeros((3, 3), dtype=complex)
    for i, j, z in lines:
        Y[i, i] += 1 / z
        Y[j, j] += 1 / z
        Y[i, j] -= 1 / z
        Y[j, i] -= 1 / z
    return Y


def power_mismatch(x):
    theta = np.concatenate([[0], x[:2]])
    V = np.concatenate([[1.02], x[2:]])
    Y = admittance()
    v = V * np.exp(1j * theta)
    s = v * np.conj(Y @ v)
    mismatch = []
    for i in range(1, 3):
        mismatch.append(s[i].real - P_spec[i])
    for i in range(1, 3):
        mismatch.append(s[i].imag - Q_spec[i])
    return mismatch


def line_out():
    lines[1] = (0, 2, 0.16 + 0.48j)


# ---------------------------------------------------------------- chemical equilibrium

R = 8.314
species = ["CO", "H2O", "CO2", "H2"]
gibbs = dict(CO=-200.3e3, H2O=-192.6e3, CO2=-395.9e3, H2=0.0)


def total_gibbs(n, T=1000, p=1.0):
    ntot = np.sum(n)
    G = 0
    for ni, s in zip(n, species):
        G += ni * (gibbs[s] / (R * T) + np.log(ni / ntot) + np.log(p))
    return G


def better_data():
    gibbs["CO"] = -200.6e3


def ph(total_acid, Ka=1.8e-5, Kw=1e-14):
    """pH of a weak acid by charge balance and Newton's method."""
    h = 1e-4
    for _ in range(50):
        f = h - Kw / h - Ka * total_acid / (Ka + h)
        df = 1 + Kw / h**2 + Ka * total_acid / (Ka + h) ** 2
        step = f / df
        h = h - step
        if abs(step) < 1e-16:
            break
    return -np.log10(h)


# ---------------------------------------------------------------- flash of a mixture

K_values = np.array([2.4, 1.1, 0.4])


def vapour_fraction(z):
    lo, hi = 0.0, 1.0
    rachford_rice = lambda b: np.sum(z * (K_values - 1) / (1 + b * (K_values - 1)))
    b = 0.5
    while abs(rachford_rice(b)) > 1e-13:
        slope = -np.sum(z * (K_values - 1) ** 2 / (1 + b * (K_values - 1)) ** 2)
        b = b - rachford_rice(b) / slope
    return b


def hotter():
    K_values[:] *= 1.05


def colebrook(diameter):
    """Pressure drop in a pipe; friction factor by fsolve."""
    rho, mu, eps, q = 998, 1e-3, 4.5e-5, 0.01
    v = 4 * q / (np.pi * diameter**2)
    Re = rho * v * diameter / mu
    f = fsolve(
        lambda f: 1 / np.sqrt(f) + 2 * np.log10(eps / (3.7 * diameter) + 2.51 / (Re * np.sqrt(f))),
        0.02,
        xtol=1e-13,
    )[0]
    return f * 100 / diameter * rho * v**2 / 2


TASKS = [
    Task(dispatch_cost, lambda: ([90, 50, 40],), evening_peak, hessian=True),
    Task(
        battery_cost,
        lambda: ([1, 1, 0.5, 0.2, -1, -1.5, -1, 0.1, 0.7, 0.05, -1, 0.3],),
        worn_battery,
    ),
    Task(power_mismatch, lambda: (np.array([0.01, -0.03, 1, 0.98]),), line_out),
    Task(total_gibbs, lambda: ([0.4, 0.5, 0.6, 0.7],), better_data, hessian=True),
    Task(ph, lambda: (0.1,)),
    Task(vapour_fraction, lambda: (np.array([0.4, 0.3, 0.3]),), hotter),
    Task(colebrook, lambda: (0.1,)),
]
