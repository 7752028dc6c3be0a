"""Curve fits."""

import math

import numpy as np
from scipy import special
from task import Task

# ---------------------------------------------------------------- decay of a fluorescence signal

times = [0, 1, 2, 3, 4, 6, 8, 10, 15, 20]
counts = [1012, 780, 611, 480, 371, 240, 150, 101, 45, 29]


def chi2(p):
    amplitude, tau, background = p
    total = 0
    for t, n in zip(times, counts):
        model = amplitude * math.exp(-t / tau) + background
        total += (n - model) ** 2 / n
    return total


def new_measurement():
    counts[0] = 1100
    counts[-1] = 33


# ---------------------------------------------------------------- enzyme kinetics

substrate = np.array([0.02, 0.06, 0.11, 0.22, 0.56, 1.10])
rate = np.array([76, 97, 123, 159, 191, 207])


def residuals(params, S=substrate, v=rate):
    Vmax, Km = params
    return np.array([v[i] - Vmax * S[i] / (Km + S[i]) for i in range(len(S))])


def correct_reading():
    rate[2] = 107


# ---------------------------------------------------------------- peaks in an X-ray spectrum

energy = np.linspace(0, 10, 120)
spectrum = 5 + 40 * np.exp(-((energy - 3) ** 2) / 0.5) + 20 * np.exp(-((energy - 6) ** 2) / 0.9)
settings = {"background": "linear", "smooth": 1e-3}


def peaks(x, *params):
    y = np.zeros_like(x)
    for i in range(0, len(params), 3):
        y = y + params[i] * special.voigt_profile(x - params[i + 1], params[i + 2], 0.2)
    return y


def misfit(p):
    y = peaks(energy, *p[2:])
    if settings["background"] == "linear":
        y += p[0] + p[1] * energy
    else:
        y += p[0]
    return np.sum((y - spectrum) ** 2) / len(energy) + settings["smooth"] * np.sum(p**2)


def flat_background():
    settings["background"] = "constant"


# ---------------------------------------------------------------- a notebook that redefines

tdata = np.arange(12) * 0.5
ydata = np.array([0.1, 0.9, 1.6, 2.1, 2.3, 2.6, 2.7, 2.9, 2.9, 3.0, 3.0, 3.1])


# In [3]
def model(t, a, k):
    return a * (1 - np.exp(-k * t))


# In [4]
def sse(theta):
    return ((ydata - model(tdata, *theta)) ** 2).sum()


def rerun_cell_3():
    global model

    def model(t, a, k):
        return a * t / (1 / k + t)


# ---------------------------------------------------------------- robust line


def huber_loss(params, x, y, delta=1.35):
    r = y - (params["slope"] * x + params["offset"])
    small = np.abs(r) <= delta
    return np.where(small, 0.5 * r**2, delta * (np.abs(r) - 0.5 * delta)).mean()


def line_data():
    x = np.linspace(0, 10, 40)
    y = 2 * x + 1 + np.sin(7 * x)
    y[5] += 15
    return {"slope": 1, "offset": 0}, x, y


def bigger_delta():
    huber_loss.__defaults__ = (2.5,)


TASKS = [
    Task(chi2, lambda: ([1000, 4, 10],), new_measurement, hessian=True),
    Task(residuals, lambda: ([200, 0.1],), correct_reading),
    Task(misfit, lambda: (np.array([4.0, 0.1, 30, 3.1, 0.4, 20, 5.8, 0.6]),), flat_background),
    Task(sse, lambda: ((3.0, 0.8),), rerun_cell_3, hessian=True),
    Task(huber_loss, line_data, bigger_delta),
]
