"""Statistics: a mixed model by Laplace's method, doses of a drug, an autoregression."""

from __future__ import annotations

import numpy as np

from .program import Program

# ---------------------------------------------------------------- GLMM


def glmm_laplace(theta, X, y, group):
    """Negative log-likelihood of a logistic model with an intercept for each group."""
    beta, sigma = theta[:-1], np.exp(theta[-1])
    total = 0.0
    for g in range(int(group.max()) + 1):
        rows = group == g
        Xg, yg = X[rows], y[rows]
        eta = Xg @ beta
        b = 0.0
        for _ in range(50):
            p = 1 / (1 + np.exp(-(eta + b)))
            gradient = np.sum(yg - p) - b / sigma**2
            curvature = np.sum(p * (1 - p)) + 1 / sigma**2
            step = gradient / curvature
            b = b + step
            if abs(step) < 1e-10:
                break
        z = eta + b
        p = 1 / (1 + np.exp(-z))
        curvature = np.sum(p * (1 - p)) + 1 / sigma**2
        loglik = np.sum(yg * z - np.logaddexp(0, z)) - 0.5 * b**2 / sigma**2
        total += loglik - np.log(sigma) - 0.5 * np.log(curvature)
    return -total


def trial(n):
    rng = np.random.default_rng(5)
    X = np.column_stack([np.ones(5 * n), rng.normal(size=5 * n)])
    y = (rng.random(5 * n) < 0.5).astype(float)
    return np.array([0.3, -0.2, 0.1]), X, y, np.repeat(np.arange(n), 5)


# ---------------------------------------------------------------- pharmacokinetics


def repeated_dosing(theta, times, concentrations, dose):
    """Misfit of concentrations after a dose every twelve hours; two compartments, Runge-Kutta."""
    ka, CL, V1, Q, V2 = np.exp(theta)

    def rhs(A):
        absorbed = ka * A[0]
        central = absorbed - (CL + Q) / V1 * A[1] + Q / V2 * A[2]
        return np.array([-absorbed, central, Q / V1 * A[1] - Q / V2 * A[2]])

    A = np.zeros(3)
    h = 0.5
    t = 0.0
    loss = 0.0
    for observed_at, c in zip(times, concentrations):
        while t < observed_at - 1e-9:
            if t % 12 < 1e-9:
                A = A + np.array([dose, 0, 0])
            k1 = rhs(A)
            k2 = rhs(A + h / 2 * k1)
            k3 = rhs(A + h / 2 * k2)
            k4 = rhs(A + h * k3)
            A = A + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            t += h
        loss += (np.log(A[1] / V1) - np.log(c)) ** 2
    return loss


def patient(n):
    return (np.array([0.1, 1.0, 3.0, 0.5, 3.5]), 6.0 * np.arange(1, n + 1),
            1.0 + 0.5 * np.sin(np.arange(n)), 100.0)  # fmt: skip


# ---------------------------------------------------------------- ARMA


def arma(parameters, series):
    """Conditional sum of squares of an ARMA(2, 1) model."""
    phi1, phi2, theta = parameters
    e = np.zeros(len(series))
    for t in range(2, len(series)):
        e[t] = series[t] - phi1 * series[t - 1] - phi2 * series[t - 2] - theta * e[t - 1]
    return np.sum(e**2)


# ---------------------------------------------------------------- psychometrics


def item_response(parameters, answers):
    """Marginal log-likelihood of a two-parameter logistic model by Gauss and Hermite."""
    nodes, weights = np.polynomial.hermite.hermgauss(15)
    items = answers.shape[1]
    slope, difficulty = np.exp(parameters[:items]), parameters[items:]
    total = 0.0
    for person in answers:
        likelihood = np.zeros(15)
        for k, (x, w) in enumerate(zip(nodes, weights)):
            p = 1 / (1 + np.exp(-slope * (np.sqrt(2) * x - difficulty)))
            likelihood[k] = w / np.sqrt(np.pi) * np.prod(np.where(person == 1, p, 1 - p))
        total += np.log(np.sum(likelihood))
    return -total


def exam(n):
    answers = (np.random.default_rng(8).random((n, 4)) < 0.6).astype(int)
    return np.array([0.1, 0.0, -0.1, 0.2, 0.3, -0.5, 0.0, 0.6]), answers


PROGRAMS = [
    Program("mixed models", glmm_laplace, trial, (2, 12, 15), hessian=True),
    Program("pharmacology", repeated_dosing, patient, (2, 12, 16), lambda a: (*a[:3], 150.0),
            hessian=True),
    Program("time series", arma,
            lambda n: (np.array([0.5, -0.2, 0.3]), np.sin(np.arange(float(n)))), (5, 400, 500),
            hessian=True),
    Program("psychometrics", item_response, exam, (2, 20, 25)),
]  # fmt: skip
