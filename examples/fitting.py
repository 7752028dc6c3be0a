"""A fit with error bars, and what an outlier does to it: NIST's problem Misra1a.

Run with ``--plot FILE`` to draw the data, the fits and the band of one standard deviation.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy import stats

import symgrad as sg
from symgrad.scipy.optimize import curve_fit, minimize

#: Dental research: the pressure, and the volume that is taken up (NIST StRD, Misra1a).
X = np.array([77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8])
X = np.append(X, [378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0])
Y = np.array([10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02])
Y = np.append(Y, [44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78])
START = [500, 0.0001]


def model(x, b1, b2):
    """Volume at pressure ``x``."""
    return b1 * (1 - np.exp(-b2 * x))


def band(at, popt, pcov):
    """Standard deviation of predictions: the parameters' covariance through the Jacobian."""
    J = np.stack(sg.jacobian(model, argnums=(1, 2))(at, *popt), axis=1)
    return np.sqrt(np.einsum("ij,jk,ik->i", J, pcov, J))


def robust(y):
    """Fit by a likelihood with heavy tails, which an outlier does not pull away."""

    def cost(p):
        b1, b2, log_scale = p
        residual = y - model(X, b1, b2 / 1000)
        return -np.sum(stats.t.logpdf(residual, 3, scale=np.exp(log_scale)))

    found = minimize(cost, [200.0, 0.6, 0.0], method="trust-exact")
    return found.x[0], found.x[1] / 1000


def main() -> None:
    """Fit, print, and draw if asked to."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--plot", metavar="FILE", help="draw the fits")
    file = options.parse_args().plot

    popt, pcov = curve_fit(model, X, Y, p0=START)
    for name, value, error in zip(("b1", "b2"), popt, np.sqrt(np.diag(pcov)), strict=True):
        print(f"{name} = {value:.10g} +- {error:.3g}")

    wrong = Y.copy()
    wrong[9] = 75.0
    pulled, _ = curve_fit(model, X, wrong, p0=START)
    steady = robust(wrong)
    print(f"with an outlier: least squares {pulled[0]:.1f}, Student's t {steady[0]:.1f}")
    if file:
        draw(file, popt, pcov, wrong, pulled, steady)


def draw(file, popt, pcov, wrong, pulled, steady) -> None:
    """Draw the band beside the data, and the two fits of the data with an outlier."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    at = np.linspace(0.0, 1600.0, 200)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    value, error = model(at, *popt), band(at, popt, pcov)
    left.plot(at, value, color="C0")
    left.fill_between(at, value - 10 * error, value + 10 * error, alpha=0.25, color="C0")
    left.plot(X, Y, "k.")
    left.set(title="prediction, ten standard deviations", xlabel="pressure", ylabel="volume")
    near = np.linspace(0.0, 800.0, 100)
    right.plot(near, model(near, *pulled), "C1--", label="least squares")
    right.plot(near, model(near, *steady), "C0", label="Student's t")
    right.plot(X, wrong, "k.")
    right.set(title="with an outlier", xlabel="pressure")
    right.legend(frameon=False)
    figure.savefig(file, dpi=110)


if __name__ == "__main__":
    main()
