"""A Bayesian model in NumPy and SciPy, sampled by nutpie; its posterior is known exactly.

nutpie draws from a distribution by Hamiltonian dynamics: for each draw it asks some ten times
for the logarithm of the density and its gradient. The density is a plain function of a vector
of unbounded numbers. symgrad makes one C function of it with its gradient, which nutpie calls
without Python, so that chains run side by side.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy import stats

import symgrad as sg

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # nutpie's plotting library announces its next version
    import nutpie
    from nutpie.compile_pymc import CompiledPyMCModel

#: The types of the two C functions that nutpie calls: the density, and what to keep of a draw.
DENSITY = "int (size_t, const double *, double *, double *, void *)"
KEEP = "int (size_t, size_t, const double *, double *, void *)"

# Speed and stopping distance of cars, in standard units: a straight line with noise.
rng = np.random.default_rng(1)
speed = rng.normal(size=50)
X = np.stack([np.ones(50), speed], axis=1)
y = X @ [0.5, 2.0] + 0.7 * rng.normal(size=50)

#: The prior: coefficients ten times as wide as the noise, whose variance is of order one.
WIDTH, SHAPE, SCALE = 10.0, 2.0, 1.0


def unpack(p):
    """Return the coefficients and the noise: its logarithm is unbounded."""
    return p[:2], np.exp(p[2])


def log_density(p):
    """Logarithm of prior times likelihood, for ``p``."""
    b, noise = unpack(p)
    likelihood = np.sum(stats.norm.logpdf(y, X @ b, noise))
    prior = np.sum(stats.norm.logpdf(b, 0.0, WIDTH * noise))
    prior += stats.invgamma.logpdf(noise**2, SHAPE, scale=SCALE)
    # The density of log(noise) is that of noise**2 times its derivative, 2 noise**2.
    return likelihood + prior + np.log(2.0) + 2.0 * p[2]


def kept(p):
    """What nutpie is to keep of each draw: coefficients, noise, and a prediction."""
    b, noise = unpack(p)
    return np.concatenate([b, np.array([noise, b[0] + 2.0 * b[1]])])


def nutpie_model(log_density, kept, start, shapes):
    """Return a model for ``nutpie.sample``.

    ``shapes`` are the shapes of what ``kept`` returns, by name: one after the other, flat.
    """
    n = start.size
    sizes = [int(np.prod(shape)) for shape in shapes.values()]
    ends = np.cumsum(sizes)
    slices = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    return CompiledPyMCModel(
        compiled_logp_func=sg.value_and_grad(log_density).cfunc(start, signature=DENSITY),
        compiled_expand_func=sg.compile(kept).cfunc(start, signature=KEEP),
        initial_point_func=lambda seed: start + np.random.default_rng(seed).uniform(-1, 1, n),
        shape_info=(list(shapes), slices, list(shapes.values())),
        n_expanded=int(ends[-1]),
        dims={}, shared_data={}, user_data=np.zeros(()), logp_func=None, expand_func=None,
        _n_dim=n, _shapes=shapes, _coords={},
    )  # fmt: skip


def exact():
    """Mean and standard deviation of each kept number, by formula (normal-inverse-gamma)."""
    precision = X.T @ X + np.eye(2) / WIDTH**2
    mean, covariance = np.linalg.solve(precision, X.T @ y), np.linalg.inv(precision)
    shape = SHAPE + len(y) / 2
    scale = SCALE + (y @ y - mean @ precision @ mean) / 2
    weights = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 2.0]])
    spread = np.sqrt(np.diag(weights @ covariance @ weights.T) * scale / shape)
    lines = stats.t(2 * shape, weights @ mean, spread)
    variance = stats.invgamma(shape, scale=scale)
    noise = variance.expect(np.sqrt)
    centre, deviation = lines.mean(), lines.std()
    return (
        np.array([*centre[:2], noise, centre[2]]),
        np.array([*deviation[:2], np.sqrt(variance.mean() - noise**2), deviation[2]]),
    )


def main() -> None:
    """Sample, and print the means and deviations beside the exact ones."""
    shapes = {"b": (2,), "noise": (), "at 2": ()}
    model = nutpie_model(log_density, kept, np.zeros(3), shapes)
    trace = nutpie.sample(model, draws=1000, tune=500, chains=4, seed=1, progress_bar=False)
    posterior = trace.posterior
    found = np.concatenate([posterior[name].values.reshape(4000, -1) for name in shapes], axis=1)

    names = ["b[0]", "b[1]", "noise", "at 2"]
    means, deviations = exact()
    print("         mean   exact    deviation  exact")
    for k, name in enumerate(names):
        mean, deviation = found[:, k].mean(), found[:, k].std()
        print(f"{name:6} {mean:7.3f} {means[k]:7.3f}   {deviation:8.3f} {deviations[k]:8.3f}")
        # The mean of 4000 draws that are worth 1000 independent ones, at six deviations.
        assert abs(mean - means[k]) < 6 * deviations[k] / np.sqrt(1000)
        assert abs(deviation / deviations[k] - 1) < 0.15


if __name__ == "__main__":
    main()
