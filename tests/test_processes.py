"""Functions in other processes: through Python's pools, joblib, Dask and Ray."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest

import symgrad as sg

#: A user's program. What it makes goes to workers: functions of the program itself, decorated or
#: not, lambdas where cloudpickle does the pickling, results and errors back.
PROGRAM = """
import sys
import numpy as np
import symgrad as sg

rate = 2.0
X = np.arange(3.0)

@sg.grad
def slope(x):
    return np.sum(rate * np.sin(x))

@sg.value_and_grad
def both(x):
    return np.sum(np.exp(x)) if x.shape[0] < 4 else large(x)

@sg.compile(control_flow=True)
def halved(x):
    while np.max(x) > 1.0:
        x = x / 2
    return x

def large(x):
    return np.sum(np.sin(x) * np.exp(-x))

def call(g, x=X):
    return g(x)

def refused(x):
    return call(sg.grad(lambda x: np.sum(x) if x.sum() > 0 else object()), -1.0 - x)

def main(engine):
    named = [slope, both, halved, sg.vmap(sg.grad(np.sin)), sg.grad(large), sg.hessian(large)]
    other = [sg.grad(lambda x: np.sum(rate * x**3)), sg.vjp(large, X)[1]]
    if engine in ("fork", "spawn", "forkserver"):
        import multiprocessing
        slope(X), both(np.linspace(0, 1, 400_000))  # threads and locks, before the fork
        with multiprocessing.get_context(engine).Pool(2) as pool:
            found = pool.map(call, named)
            with_threads = pool.apply(call, (both, np.linspace(0, 1, 400_000)))
            assert with_threads[0] == both(np.linspace(0, 1, 400_000))[0]
            try:
                pool.apply(refused, (X,))
            except sg.errors.SymgradError as error:
                assert "object" in str(error), error
            else:
                raise AssertionError("no error")
            try:
                pool.apply(call, (other[0],))
            except Exception as error:
                assert "lambda" in str(error), error
            else:
                raise AssertionError("plain pickle has taken a lambda")
    elif engine == "concurrent":
        from concurrent.futures import ProcessPoolExecutor
        with ProcessPoolExecutor(2) as pool:
            found = list(pool.map(call, named))
    elif engine == "joblib":
        import joblib
        named += other
        calls = [joblib.delayed(g)(X if g is not other[1] else 1.0) for g in named]
        found = joblib.Parallel(n_jobs=2)(calls)
        threads = joblib.delayed(sg.get_num_threads)
        with joblib.parallel_config("loky", inner_max_num_threads=3):
            assert joblib.Parallel(n_jobs=2)([threads()] * 2) == [3, 3]
    elif engine == "distributed":
        from distributed import Client
        named += other
        with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
            futures = [client.submit(g, X if g is not other[1] else 1.0) for g in named]
            found = client.gather(futures)
            assert set(client.run(sg.get_num_threads).values()) == {1}
    else:
        import ray
        named += other
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        remote = ray.remote(call)
        found = ray.get([remote.remote(g, X if g is not other[1] else 1.0) for g in named])
        threads = ray.remote(sg.get_num_threads)
        assert ray.get(threads.remote()) == 1
        ray.shutdown()
    for g, result in zip(named, found, strict=True):
        want = g(X if g is not other[1] else 1.0)
        assert repr(result) == repr(want), (engine, g, result, want)
    print(len(found))

if __name__ == "__main__":
    main(sys.argv[1])
"""

EXTRAS = {"joblib": "joblib", "distributed": "distributed", "ray": "ray"}
slow = pytest.mark.slow


@pytest.mark.parametrize(
    "engine",
    [
        "fork",
        *(pytest.param(name, marks=slow) for name in ("spawn", "forkserver", "concurrent")),
        *(pytest.param(name, marks=slow) for name in EXTRAS),
    ],
)
def test_functions_go_to_workers(engine: str, tmp_path: Path) -> None:
    if engine in EXTRAS:
        pytest.importorskip(EXTRAS[engine])
    elif engine != "concurrent" and engine not in multiprocessing.get_all_start_methods():
        pytest.skip(f"there is no {engine} here")
    (tmp_path / "program.py").write_text(PROGRAM)
    threads = ("SYMGRAD_NUM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS")
    env = {key: value for key, value in os.environ.items() if key not in threads}
    env |= {"PYTHONPATH": str(Path(sg.__file__).parent.parent), "RAY_AUTH_MODE": "disabled"}
    run = subprocess.run(
        [sys.executable, "program.py", engine], cwd=tmp_path, env=env, capture_output=True,
        text=True, timeout=300, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["8" if engine in EXTRAS else "6"]
