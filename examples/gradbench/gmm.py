"""The log posterior of a Gaussian mixture whose precisions have Wishart's distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
from protocol import Function

import symgrad as sg
import symgrad.numpy as snp
from symgrad.scipy.special import gammaln, logsumexp


def roots(q: Any, l: Any) -> Any:
    """Return the lower triangles whose squares are the precisions, of shape (k, d, d).

    ``q`` has the logarithms of the diagonals, ``l`` what is below, column by column.
    """
    k, d = q.shape
    columns, rows = np.triu_indices(d, 1)
    triangles = snp.zeros((k, d, d))
    triangles[:, np.arange(d), np.arange(d)] = np.exp(q)
    triangles[:, rows, columns] = l
    return triangles


def posterior(alpha: Any, mu: Any, q: Any, l: Any, x: Any, gamma: Any, m: Any) -> Any:
    """Return the log of likelihood times prior."""
    n, d = x.shape
    k = len(alpha)
    triangles = roots(q, l)
    logs = np.sum(q, axis=1)
    # All products of points with triangles are one matrix product.
    images = (x @ triangles.reshape(k * d, d).T).reshape(n, k, d)
    images = images - np.einsum("kij,kj->ki", triangles, mu)
    terms = alpha + logs - np.sum(images**2, axis=2) / 2
    likelihood = np.sum(logsumexp(terms, axis=1)) - n * logsumexp(alpha)
    likelihood = likelihood - n * d / 2 * np.log(2 * np.pi)

    freedom = d + m + 1
    constant = freedom * d * np.log(gamma / np.sqrt(2.0)) - d * (d - 1) / 4 * np.log(np.pi)
    constant = constant - np.sum(gammaln((freedom - np.arange(d)) / 2))
    return likelihood + k * constant + m * np.sum(logs) - gamma**2 / 2 * np.sum(triangles**2)


def read(given: Any) -> tuple[Any, ...]:
    k, d = given["k"], given["d"]
    shapes = {"alpha": (k,), "mu": (k, d), "q": (k, d), "l": (k, d * (d - 1) // 2), "x": (-1, d)}
    arrays = (np.array(given[name], dtype=float).reshape(s) for name, s in shapes.items())
    return (*arrays, float(given["gamma"]), float(given["m"]))


def write(gradients: Any) -> Any:
    names = ("alpha", "mu", "q", "l")
    return {name: part.tolist() for name, part in zip(names, gradients, strict=True)}


FUNCTIONS = {
    "objective": Function(read, sg.compile(posterior)),
    "jacobian": Function(read, sg.grad(posterior, argnums=(0, 1, 2, 3)), write),
}
