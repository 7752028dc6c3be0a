"""ADBench's Gaussian mixture: the log posterior of points and its gradient by all parameters.

    python examples/benchmarks/gmm.py [--quick]

The objective is that of F. Srajer, Z. Kukelova, A. Fitzgibbon, "A benchmark of selected
algorithmic differentiation tools on some problems in computer vision and machine learning",
Optimization Methods and Software 33, 2018. Each covariance is given by its inverse's root, a
triangle whose diagonal is stored as logarithms. All peers with arrays use the form in which the
product of points and triangles is one matrix product, the fastest for JAX.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np
from harness import Aim, Case, Workload, compiled, main, pointer

GAMMA, DEGREES = 1.0, 0

# As ADBench's hand-written C++ (src/cpp/modules/manual): one point after the other.
SOURCE = """
#include <math.h>
#include <string.h>
double gmm(const double *restrict alphas, const double *restrict means,
           const double *restrict icf, const double *restrict x, double *restrict out,
           long n, long d, long K, double gamma, long degrees) {
    long size = d * (d + 1) / 2;
    double *ga = out, *gm = ga + K, *gi = gm + K * d;
    memset(out, 0, sizeof(double) * (K + K * d + K * size));
    double diag[K * d], sums[K], diff[K * d], image[K * d], term[K], value = 0.0;
    for (long k = 0; k < K; k++) {
        sums[k] = 0.0;
        for (long i = 0; i < d; i++) {
            sums[k] += icf[k * size + i];
            diag[k * d + i] = exp(icf[k * size + i]);
        }
    }
    for (long p = 0; p < n; p++) {
        double top = -INFINITY, total = 0.0;
        for (long k = 0; k < K; k++) {
            double *restrict y = image + k * d, *restrict e = diff + k * d, square = 0.0;
            const double *low = icf + k * size + d;
            for (long i = 0; i < d; i++) e[i] = x[p * d + i] - means[k * d + i];
            for (long i = 0; i < d; i++) y[i] = diag[k * d + i] * e[i];
            for (long j = 0; j < d; j++)
                for (long i = j + 1; i < d; i++) y[i] += *low++ * e[j];
            for (long i = 0; i < d; i++) square += y[i] * y[i];
            term[k] = alphas[k] + sums[k] - 0.5 * square;
            if (term[k] > top) top = term[k];
        }
        for (long k = 0; k < K; k++) total += term[k] = exp(term[k] - top);
        value += top + log(total);
        for (long k = 0; k < K; k++) {
            double r = term[k] / total, *restrict y = image + k * d, *restrict e = diff + k * d;
            double *restrict slope = gi + k * size + d, *restrict back = gm + k * d;
            const double *low = icf + k * size + d;
            ga[k] += r;
            for (long i = 0; i < d; i++) {
                gi[k * size + i] += r * (1.0 - y[i] * e[i] * diag[k * d + i]);
                back[i] += r * y[i] * diag[k * d + i];
            }
            for (long j = 0; j < d; j++) {
                double sum = 0.0;
                for (long i = j + 1; i < d; i++) {
                    sum += *low++ * y[i];
                    *slope++ -= r * e[j] * y[i];
                }
                back[j] += r * sum;
            }
        }
    }
    double total = 0.0, prior = 0.0;
    for (long k = 0; k < K; k++) total += exp(alphas[k]);
    for (long k = 0; k < K; k++) {
        ga[k] -= n * exp(alphas[k]) / total;
        for (long i = 0; i < d; i++) {
            double e = diag[k * d + i];
            prior += 0.5 * gamma * gamma * e * e - degrees * icf[k * size + i];
            gi[k * size + i] += gamma * gamma * e * e - degrees;
        }
        for (long i = d; i < size; i++) {
            prior += 0.5 * gamma * gamma * icf[k * size + i] * icf[k * size + i];
            gi[k * size + i] += gamma * gamma * icf[k * size + i];
        }
    }
    return value - n * log(total) + prior;
}
"""


def triangle(d: int) -> np.ndarray[Any, Any]:
    """Where each element of a triangle is in (diagonal, columns below it, 0)."""
    rows, columns = np.triu_indices(d, 1)[::-1]
    index = np.full((d, d), d * (d + 1) // 2)
    index[np.arange(d), np.arange(d)] = np.arange(d)
    index[rows, columns] = d + np.arange(len(rows))
    return index


def objective(np: Any, alphas: Any, means: Any, icf: Any, x: Any, index: Any) -> Any:
    """The log posterior, without its constants; see ``triangle`` for the index."""
    n, d = x.shape
    count = alphas.shape[0]
    logs, below = icf[:, :d], icf[:, d:]
    diagonal = np.exp(logs)
    packed = np.concatenate([diagonal, below, 0.0 * logs[:, :1]], 1)
    roots = packed[:, index.reshape(-1)].reshape((count * d, d))
    centres = np.sum(roots.reshape((count, d, d)) * means[:, None, :], 2)
    images = (x @ roots.T).reshape((n, count, d)) - centres
    terms = alphas + np.sum(logs, 1) - 0.5 * np.sum(images**2, 2)
    prior = 0.5 * GAMMA**2 * (np.sum(diagonal**2) + np.sum(below**2)) - DEGREES * np.sum(logs)
    return np.sum(np.logsumexp(terms, 1)) - n * np.logsumexp(alphas, 0) + prior


def arguments(case: Case) -> tuple[Any, ...]:
    """Parameters as ADBench's generator draws them."""
    n, d, count = case.shape
    rng = np.random.default_rng(1)
    return (
        rng.normal(size=count),
        rng.uniform(size=(count, d)),
        rng.normal(size=(count, d * (d + 1) // 2)) / np.sqrt(d),
        rng.normal(size=(n, d)),
        triangle(d),
    )


def exact(case: Case, alphas: Any, means: Any, icf: Any, x: Any, index: Any) -> Any:
    """Value and gradient by formula, in long doubles, one component after the other."""
    n, d, count = case.shape
    alphas, means, icf, x = (a.astype(np.longdouble) for a in (alphas, means, icf, x))
    diagonal = np.exp(icf[:, :d])
    packed = np.concatenate([diagonal, icf[:, d:], np.zeros((count, 1))], 1)
    roots = packed[:, index]
    terms = np.empty((n, count), np.longdouble)
    for k in range(count):
        images = (x - means[k]) @ roots[k].T
        terms[:, k] = alphas[k] + np.sum(icf[k, :d]) - np.sum(images**2, 1) / 2
    top = np.max(terms, 1, keepdims=True)
    shares = np.exp(terms - top)
    totals = np.sum(shares, 1, keepdims=True)
    shares /= totals
    weights = np.exp(alphas) / np.sum(np.exp(alphas))
    value = np.sum(top) + np.sum(np.log(totals)) - n * np.log(np.sum(np.exp(alphas)))
    value += GAMMA**2 / 2 * (np.sum(diagonal**2) + np.sum(icf[:, d:] ** 2))
    value -= DEGREES * np.sum(icf[:, :d])
    by_means, by_icf = np.zeros_like(means), np.zeros_like(icf)
    rows, columns = np.triu_indices(d, 1)[::-1]
    for k in range(count):
        away = x - means[k]
        images = away @ roots[k].T
        weighted = shares[:, k, None] * images
        by_means[k] = np.sum(weighted @ roots[k], 0)
        by_root = -weighted.T @ away
        by_icf[k, :d] = np.sum(shares[:, k]) + np.diag(by_root) * diagonal[k]
        by_icf[k, :d] += GAMMA**2 * diagonal[k] ** 2 - DEGREES
        by_icf[k, d:] = by_root[rows, columns] + GAMMA**2 * icf[k, d:]
    slopes = (np.sum(shares, 0) - n * weights, by_means, by_icf)
    return np.concatenate([[value], *(s.ravel() for s in slopes)])


def by_numpy(case: Case, given: Any) -> Any:
    """The formulas with matrix products."""
    n, d, count = case.shape
    rows, columns = np.triu_indices(d, 1)[::-1]

    def both(alphas: Any, means: Any, icf: Any, x: Any, index: Any) -> Any:
        diagonal = np.exp(icf[:, :d])
        roots = np.concatenate([diagonal, icf[:, d:], np.zeros((count, 1))], 1)[:, index]
        centres = np.einsum("kij,kj->ki", roots, means)
        images = (x @ roots.reshape(count * d, d).T).reshape(n, count, d) - centres
        terms = alphas + np.sum(icf[:, :d], 1) - 0.5 * np.einsum("nki,nki->nk", images, images)
        top = np.max(terms, 1, keepdims=True)
        shares = np.exp(terms - top)
        totals = np.sum(shares, 1, keepdims=True)
        shares /= totals
        weights = np.exp(alphas)
        value = np.sum(top) + np.sum(np.log(totals)) - n * np.log(np.sum(weights))
        value += GAMMA**2 / 2 * (np.sum(diagonal**2) + np.sum(icf[:, d:] ** 2))
        images *= shares[:, :, None]
        sums = np.sum(images, 0)
        by_root = -(images.reshape(n, count * d).T @ x).reshape(count, d, d)
        by_root += sums[:, :, None] * means[:, None, :]
        by_icf = np.empty_like(icf)
        by_icf[:, :d] = np.sum(shares, 0)[:, None] + GAMMA**2 * diagonal**2
        by_icf[:, :d] += by_root[:, np.arange(d), np.arange(d)] * diagonal
        by_icf[:, d:] = by_root[:, rows, columns] + GAMMA**2 * icf[:, d:]
        by_alphas = np.sum(shares, 0) - n * weights / np.sum(weights)
        return value, by_alphas, np.einsum("kij,ki->kj", roots, sums), by_icf

    return both, given


def by_c(case: Case, given: Any) -> Any:
    """ADBench's loops."""
    alphas, means, icf, x, _ = given
    n, d, count = case.shape
    function = compiled(SOURCE, "gmm")
    slopes = np.empty(alphas.size + means.size + icf.size)
    sizes = (*map(ctypes.c_long, (n, d, count)), ctypes.c_double(GAMMA), ctypes.c_long(DEGREES))
    fixed = (*map(pointer, (alphas, means, icf, x, slopes)), *sizes)
    return (lambda: (function(*fixed), slopes)), ()


def case(n: int, d: int, count: int, quick: bool = False) -> Case:
    """A case; its size is the number of points, dimensions and components multiplied."""
    return Case(n * d * count, shape=(n, d, count), quick=quick)


WORKLOAD = Workload(
    name="gmm",
    title="Gaussian mixture (points x dimensions x components), value and gradient",
    kind="gradient",
    cases=(
        case(1000, 2, 5, quick=True),
        case(1000, 10, 25, quick=True),
        case(10_000, 10, 25),
        case(10_000, 32, 100),
    ),
    arguments=arguments,
    exact=exact,
    function=objective,
    argnums=(0, 1, 2),
    hand={"C": by_c, "numpy": by_numpy},
    aims=tuple(
        aim
        for label in ("1000x10x25", "10000x32x100")
        for aim in (Aim(label, ("jax",), 1.3), Aim(label, ("C",), 3.0))
    ),
)

if __name__ == "__main__":
    sys.exit(main(name="gmm"))
