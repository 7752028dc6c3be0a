"""Fit two models to data that are larger than memory: Dask has the data, symgrad the derivatives.

    python examples/scale_out.py [--gigabytes 0.1] [--folder FOLDER] [--workers 2]
                                 [--memory 1GB]

The data are written to a folder first, as NumPy files of 64 MB (and removed afterwards, unless
FOLDER is given). Each evaluation then reads all of them: a worker loads a file, its kernel computes
the loss of the rows and its gradient, and the file is forgotten. What comes back is one number and
one vector for each file, added on the workers. `scipy.optimize.minimize` does not know of any of
this. Needs the extra: pip install 'symgrad[dask]'.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

import dask
import numpy as np
from distributed import Client, LocalCluster
from scipy.optimize import minimize

import symgrad.dask as sgd

FEATURES = 8
TRUE_WEIGHTS = np.linspace(-1.0, 1.0, FEATURES)
TRUE_CURVE = np.array([2.0, 0.7, 3.0, 0.5])  # amplitude, rate, frequency, offset


# 1. The data: files of rows, each with eight features, a label and a signal.


def write(path: Path, seed: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    table = np.empty((rows, FEATURES + 2))
    X = table[:, :FEATURES]
    X[:] = rng.uniform(-1.0, 1.0, size=X.shape)
    table[:, -2] = np.where(rng.uniform(size=rows) < 1 / (1 + np.exp(-X @ TRUE_WEIGHTS)), 1.0, -1.0)
    table[:, -1] = curve(TRUE_CURVE, X) + 0.1 * rng.normal(size=rows)
    np.save(path, table)


# 2. The models, in NumPy. A loss returns one number for each row that it is given.


def logistic(w, table):
    X, label = table[:, :FEATURES], table[:, -2]
    return np.logaddexp(0.0, -label * (X @ w))


def curve(p, X):
    amplitude, rate, frequency, offset = p
    return amplitude * np.exp(-rate * X[:, 0]) * np.cos(frequency * X[:, 1]) + offset


def residual(p, table):
    return 0.5 * (table[:, -1] - curve(p, table[:, :FEATURES])) ** 2


# 3. The fits. The files are the chunks: one delayed value each, loaded where and when needed.


def fit(name, loss, start, files):
    chunks = [dask.delayed(np.load)(file) for file in files]
    mean = sgd.value_and_grad(loss, data=1, reduce="mean")
    begin = time.perf_counter()
    found = minimize(mean, start, args=(chunks,), jac=True, method="BFGS", options={"gtol": 1e-6})
    seconds = time.perf_counter() - begin

    # The inverse of the summed losses' Hessian is the covariance of the estimate.
    curvature = sgd.hessian(loss, data=1)(found.x, chunks)
    error = np.sqrt(np.diag(np.linalg.inv(curvature)))
    if loss is residual:
        error *= 0.1  # of the noise
    print(f"{name}: {found.nfev} evaluations, {seconds / found.nfev:.2f} s each")
    for value, width in zip(found.x, error, strict=True):
        print(f"    {value: .5f} +- {width:.5f}")
    return found.x, error


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--gigabytes", type=float, default=0.1)
    options.add_argument("--folder", type=Path, help="keep the data here")
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--memory", default="1GB", help="of each worker")
    given = options.parse_args()
    total = int(given.gigabytes * 1e9 / (8 * (FEATURES + 2)))
    rows = max(1, min(800_000, total // 4))
    with tempfile.TemporaryDirectory(prefix="scale_out_") as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
        if 1.1e9 * given.gigabytes > free:
            raise SystemExit(f"{folder} has {free / 1e9:.1f} GB left")
        files = [str(folder / f"{k:05}.npy") for k in range(-(-total // rows))]
        with (
            LocalCluster(
                n_workers=given.workers,
                threads_per_worker=1,
                memory_limit=given.memory,
                dashboard_address=":0",  # any free port: cluster.dashboard_link
            ) as cluster,
            Client(cluster) as client,
        ):
            missing = [k for k, file in enumerate(files) if not Path(file).exists()]
            client.gather(client.map(lambda k: write(Path(files[k]), k, rows), missing))
            print(
                f"{len(files)} files, {rows * len(files):,} rows, "
                f"{sum(Path(file).stat().st_size for file in files) / 1e9:.2f} GB; "
                f"{given.workers} workers with {given.memory} each"
            )
            w, error = fit("logistic regression", logistic, np.zeros(FEATURES), files)
            assert np.all(abs(w - TRUE_WEIGHTS) < 6 * error)
            p, error = fit("nonlinear fit", residual, np.array([1.0, 0.5, 2.5, 0.0]), files)
            assert np.all(abs(p - TRUE_CURVE) < 6 * error)


if __name__ == "__main__":
    main()
