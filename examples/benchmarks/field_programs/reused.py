"""Tasks of ``examples/first_try`` at two lengths: the data that they capture grow with n."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np

from .program import Program

FIRST_TRY = Path(__file__).parents[2] / "first_try"


def copied(name: str) -> ModuleType:
    """Load a module of tasks as one of this package, whose data may change."""
    spec = importlib.util.spec_from_file_location(
        f"{__package__}.first_try_{name}", FIRST_TRY / "tasks" / f"{name}.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(FIRST_TRY))  # they import ``task``
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(FIRST_TRY))
    return module


dynamics = copied("dynamics")
filters = copied("filters")
finance = copied("finance")
gaussian_process = copied("gaussian_process")
likelihoods = copied("likelihoods")
mechanics = copied("mechanics")
molecules = copied("molecules")


def track(n):
    filters.track = np.cumsum(np.random.default_rng(7).normal(0.1, 0.3, n))
    return (np.array([0.0, -1.0]),)


def returns(n):
    filters.returns = np.random.default_rng(7).standard_t(5, n) * 0.01
    return (np.array([2.0, 0.1, 0.85]),)


def points(n):
    rng = np.random.default_rng(3)
    gaussian_process.gp.X = rng.uniform(0, 5, (n, 2))
    gaussian_process.gp.y = np.sin(gaussian_process.gp.X[:, 0])
    return (np.array([1.0, 1.2]),)


def patients(n):
    rng = np.random.default_rng(42)
    likelihoods.age, likelihoods.treated = rng.normal(60, 8, n), rng.integers(0, 2, n)
    likelihoods.months = np.round(rng.exponential(20, n), 1)
    likelihoods.observed = rng.random(n) < 0.7
    return (np.array([0.3, -0.5]),)


def atoms(n):
    cells = np.stack(np.meshgrid(*(np.arange(4),) * 3), axis=-1).reshape(-1, 3)[:n]
    return (cells * 1.3 + 0.1 * np.sin(np.arange(3.0 * n)).reshape(n, 3),)


def times(n):
    dynamics.t_obs = np.linspace(0, 4, n)
    dynamics.y_obs = np.exp(-dynamics.t_obs / 3)
    return (np.array([0.5, 0.1]),)


PROGRAMS = [
    Program("tracking", filters.kalman_nll, track, (3, 60, 80)),
    Program("volatility", filters.garch, returns, (5, 300, 400), hessian=True),
    Program("Gaussian processes", gaussian_process.gp.lml, points, (5, 30, 40), hessian=True),
    Program("survival", likelihoods.cox, patients, (5, 40, 50), hessian=True),
    Program("options on trees", finance.american_put,
            lambda n: (95.0, 100, 1, 0.05, 0.2, n), (3, 30, 40), argnums=(0, 4), step=1e-6,
            tolerance=1e-5),
    Program("pattern formation", dynamics.gray_scott, lambda n: (0.035, 0.065, 16, n),
            (3, 60, 80), argnums=(0, 1)),
    Program("structural dynamics", mechanics.tip_displacement, lambda n: (2.0, 1.0, 4, n),
            (3, 60, 80), argnums=(0, 1)),
    Program("molecular dynamics", molecules.lj_energy, atoms, (4, 20, 24), step=1e-5),
    Program("chemical kinetics", dynamics.kinetics_misfit, times, (4, 20, 30)),
]  # fmt: skip
