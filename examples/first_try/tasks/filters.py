"""Time series: Kalman filter, hidden Markov model, volatility, filters of signals."""

import numpy as np
from numpy.linalg import inv, det
from scipy import signal
from scipy.stats import norm
from task import Task

rng = np.random.default_rng(7)

# ---------------------------------------------------------------- Kalman filter as a class


class KalmanFilter:
    def __init__(self, dt=0.1):
        self.dt = dt
        self.F = np.array([[1, dt], [0, 1]])
        self.H = np.array([[1, 0]])
        self.x = np.zeros((2, 1))
        self.P = np.eye(2) * 10

    def predict(self, q):
        dt = self.dt
        Q = q * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + Q

    def update(self, z, r):
        y = z - self.H @ self.x
        S = self.H @ self.P @ self.H.T + r
        K = self.P @ self.H.T @ inv(S)
        self.x = self.x + K @ y
        self.P = (np.eye(2) - K @ self.H) @ self.P
        return y, S


track = np.cumsum(rng.normal(0.1, 0.3, 30))


def kalman_nll(params):
    kf = KalmanFilter()
    q, r = np.exp(params)
    nll = 0
    for z in track:
        kf.predict(q)
        y, S = kf.update(z, r)
        nll += 0.5 * (np.log(2 * np.pi * det(S)) + (y.T @ inv(S) @ y).item())
    return nll


def another_track():
    track[10:] += 1.5


# ---------------------------------------------------------------- hidden Markov model

observations = [0, 1, 0, 2, 2, 1, 2, 0, 0, 1, 2, 2, 2, 1]


def softmax(a):
    e = np.exp(a - np.max(a, axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def hmm_loglik(A, B, obs):
    A, B = softmax(A), softmax(B)
    n = A.shape[0]
    alpha = np.zeros((len(obs), n))
    scale = np.zeros(len(obs))
    alpha[0] = B[:, obs[0]] / n
    scale[0] = alpha[0].sum()
    alpha[0] /= scale[0]
    for t in range(1, len(obs)):
        for j in range(n):
            alpha[t, j] = np.dot(alpha[t - 1], A[:, j]) * B[j, obs[t]]
        scale[t] = alpha[t].sum()
        alpha[t] /= scale[t]
    return np.sum(np.log(scale))


def hmm_arguments():
    return np.array([[1, 0], [0, 1.5]]), np.array([[0.5, 0, 0], [0, 0.2, 0.7]]), observations


# ---------------------------------------------------------------- GARCH(1,1)

returns = rng.standard_t(5, 120) * 0.01


def garch(params):
    omega, alpha, beta = params
    sigma2 = np.empty(len(returns))
    sigma2[0] = np.var(returns)
    for t in range(1, len(returns)):
        sigma2[t] = omega * 1e-5 + alpha * returns[t - 1] ** 2 + beta * sigma2[t - 1]
    return -norm.logpdf(returns, scale=np.sqrt(sigma2)).sum()


def crash():
    returns[60] = -0.09


# ---------------------------------------------------------------- extended Kalman filter, bearings


def ekf(theta, bearings, sensor=(0.0, -2.0)):
    state = np.array([theta[0], theta[1], 0.1, 0.05])
    P = np.diag([theta[2], theta[2], 0.1, 0.1])
    F = np.eye(4)
    F[0, 2] = F[1, 3] = 1.0
    cost = 0.0
    for b in bearings:
        state = F @ state
        P = F @ P @ F.T + 1e-3 * np.eye(4)
        dx, dy = state[0] - sensor[0], state[1] - sensor[1]
        r2 = dx**2 + dy**2
        H = np.zeros((1, 4))
        H[0, 0] = -dy / r2
        H[0, 1] = dx / r2
        nu = b - np.arctan2(dy, dx)
        nu = (nu + np.pi) % (2 * np.pi) - np.pi
        S = (H @ P @ H.T)[0, 0] + theta[3] ** 2
        K = (P @ H.T / S).flatten()
        state = state + K * nu
        P = P - np.outer(K, H @ P)
        cost += np.log(S) + nu**2 / S
    return cost


# ---------------------------------------------------------------- a filter of signals, tuned

noisy = np.sin(np.linspace(0, 6, 200)) + 0.3 * rng.normal(size=200)
clean = np.sin(np.linspace(0, 6, 200))


def filter_error(cfg):
    a = cfg["alpha"]
    smoothed = signal.lfilter([a], [1, a - 1], noisy)
    window = np.exp(-0.5 * (np.arange(-10, 11) / cfg["width"]) ** 2)
    window /= window.sum()
    smoothed = np.convolve(smoothed, window, mode="same")
    return np.sqrt(np.mean((smoothed - clean) ** 2))


def new_recording():
    noisy[:] = clean + 0.2 * rng.normal(size=200)


TASKS = [
    Task(kalman_nll, lambda: ([0, -1],), another_track),
    Task(hmm_loglik, hmm_arguments, lambda: observations.append(0)),
    Task(garch, lambda: ([2, 0.1, 0.85],), crash, hessian=True),
    Task(ekf, lambda: (np.array([4.0, 3, 1, 0.1]), np.array([0.9, 0.88, 0.87, 0.84, 0.8]))),
    Task(filter_error, lambda: ({"alpha": 0.4, "width": 3},), new_recording),
]
