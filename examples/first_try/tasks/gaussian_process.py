"""Gaussian processes and kernel methods."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.spatial.distance import cdist
from task import Task

rng = np.random.default_rng(3)

X = rng.uniform(0, 5, (20, 2))
y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=20)


class GP:
    def __init__(self, X, y, kernel, noise=0.1):
        self.X, self.y, self.kernel, self.noise = X, y, kernel, noise

    def lml(self, theta):
        K = self.kernel(self.X, self.X, theta)
        K[np.diag_indices_from(K)] += self.noise**2
        L = cho_factor(K, lower=True)
        alpha = cho_solve(L, self.y)
        return -(
            -0.5 * self.y.T @ alpha
            - np.log(np.diag(L[0])).sum()
            - len(self.y) / 2 * np.log(2 * np.pi)
        )


def rbf(A, B, theta):
    return theta[0] ** 2 * np.exp(-0.5 * cdist(A, B, "sqeuclidean") / theta[1] ** 2)


def matern32(A, B, theta):
    d = np.sqrt(3) * cdist(A, B) / theta[1]
    return theta[0] ** 2 * (1 + d) * np.exp(-d)


gp = GP(X, y, rbf)


def swap_kernel():
    gp.kernel = matern32


# ---------------------------------------------------------------- expected improvement

grid = np.linspace(0, 1, 8).reshape(-1, 1)
values = [0.3, 0.5, 0.1, -0.4, -0.2, 0.6, 0.9, 0.2]


def make_acquisition(length, xi=0.01):
    from scipy.stats import norm

    def k(a, b):
        return np.exp(-((a - b.T) ** 2) / (2 * length**2))

    L = cholesky(k(grid, grid) + 1e-4 * np.eye(len(grid)), lower=True)
    alpha = solve_triangular(L.T, solve_triangular(L, np.array(values), lower=True))

    def ei(x):
        x = np.atleast_2d(x)
        ks = k(x, grid)
        mu = (ks @ alpha)[0]
        v = solve_triangular(L, ks.T, lower=True)
        sigma = np.sqrt(1 - np.sum(v**2))
        z = (mu - max(values) - xi) / sigma
        return (mu - max(values) - xi) * norm.cdf(z) + sigma * norm.pdf(z)

    return ei


acquisition = make_acquisition(0.2)

# ---------------------------------------------------------------- inducing points


def sparse_bound(Z, lengthscale, noise):
    Z = np.reshape(Z, (-1, 2))
    Kuu = rbf(Z, Z, [1, lengthscale]) + 1e-6 * np.eye(len(Z))
    Kuf = rbf(Z, X, [1, lengthscale])
    A = np.linalg.solve(np.linalg.cholesky(Kuu), Kuf) / noise
    B = np.eye(len(Z)) + A @ A.T
    sign, logdet = np.linalg.slogdet(B)
    c = np.linalg.solve(B, A @ y) / noise
    fit = -0.5 * (y @ y / noise**2 - (A @ y) @ c / noise)
    return fit - 0.5 * logdet - 0.5 * (len(X) / noise**2 - np.trace(A @ A.T))


TASKS = [
    Task(gp.lml, lambda: (np.array([1.0, 1.2]),), swap_kernel, hessian=True),
    # Nearly nothing is left to gain, 5e-11, and of the solves' digits few are.
    Task(acquisition, lambda: (0.8,), lambda: values.__setitem__(6, 1.0), accuracy=1e-10),
    Task(
        sparse_bound,
        lambda: (X[:5].ravel() + 0.05, 1.5, 0.3),
        lambda: y.__imul__(1.5),
        argnums=(0, 1, 2),
    ),
]
