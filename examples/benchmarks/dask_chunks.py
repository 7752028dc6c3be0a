"""What a chunk costs beyond Dask's own tasks: `symgrad.dask` beside graphs that compute nothing.

    python examples/benchmarks/dask_chunks.py [--chunks 100 400] [--rounds 15] [--workers 1 2]

A call is value and gradient of a logistic regression over data that the workers hold, in small
chunks, so that what is measured is overhead. Beside it the same number of tasks in the same graph
(one for each chunk, sums of eight) that compute nothing, and what one would write in dask.array by
hand. Calls alternate; shown are medians, in milliseconds a chunk: of the time that passes, and of
the processors' time in the client, the scheduler and the workers together, which depends less on
what else the machine does. The last table is the model of docs/design/chunks.md with the time a
chunk that was measured here.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Dask asks for a package `sparse`, and would find the script beside this one.
HERE = Path(__file__).resolve().parent
sys.path = [place for place in sys.path if Path(place).resolve() != HERE]

import dask  # noqa: E402
import dask.array as da  # noqa: E402
import numpy as np  # noqa: E402
from dask._task_spec import Task, TaskRef  # noqa: E402
from dask.delayed import Delayed  # noqa: E402
from dask.highlevelgraph import HighLevelGraph  # noqa: E402
from distributed import Client, LocalCluster  # noqa: E402

import symgrad.dask as sgd  # noqa: E402

FEATURES, ROWS = 10, 100


def loss(w: Any, X: Any, y: Any) -> Any:
    return np.logaddexp(0.0, -y * (X @ w))


def nothing(*parts: Any) -> Any:
    return 0.0


def empty(w: Any, X: Any, y: Any) -> Any:
    """Compute nothing, by as many tasks."""
    token = uuid.uuid4().hex
    step = f"step-{token}"
    tasks: dict[Any, Any] = {step: Task(step, nothing, w)}
    keys = []
    for k in range(X.numblocks[0]):
        key = (f"chunk-{token}", k)
        tasks[key] = Task(
            key, nothing, TaskRef(step), TaskRef((X.name, k, 0)), TaskRef((y.name, k))
        )
        keys.append(key)
    level = 0
    while len(keys) > 1:
        groups = [keys[k : k + 8] for k in range(0, len(keys), 8)]
        keys = [(f"add-{token}", level, k) for k in range(len(groups))]
        for key, group in zip(keys, groups, strict=True):
            tasks[key] = Task(key, nothing, *map(TaskRef, group))
        level += 1
    last = f"result-{token}"
    tasks[last] = Task(last, nothing, TaskRef(keys[0]))
    graph = HighLevelGraph.from_collections(last, tasks, dependencies=[X, y])
    return Delayed(last, graph).compute()


def by_hand(w: Any, X: Any, y: Any) -> Any:
    """Return value and gradient by dask.array."""
    z = -y * (X @ w)
    return dask.compute(
        da.logaddexp(0.0, z).sum(), (X * (-y / (1.0 + da.exp(-z)))[:, None]).sum(axis=0)
    )


def measure(
    calls: dict[str, Callable[[], Any]], rounds: int, client: Client
) -> dict[str, tuple[float, float]]:
    """Return the milliseconds of each call, which alternate, and those of the processors."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}

    def used() -> float:
        return time.process_time() + sum(client.run(time.process_time).values())

    for _ in range(rounds + 1):
        for name, call in calls.items():
            before, begin = used(), time.perf_counter()
            call()
            passed = time.perf_counter() - begin
            times[name].append((1e3 * passed, 1e3 * (used() - before)))
    return {
        name: (statistics.median(a for a, _ in t[1:]), statistics.median(b for _, b in t[1:]))
        for name, t in times.items()
    }


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--chunks", type=int, nargs="+", default=[100, 400])
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    options.add_argument("--quick", action="store_true", help="few chunks and rounds")
    given = options.parse_args()
    if given.quick:
        given.chunks, given.rounds, given.workers = [10], 2, [1]
    rng = np.random.default_rng(0)
    w = rng.normal(size=FEATURES)
    step = sgd.value_and_grad(loss, data=(1, 2))
    print("milliseconds a chunk: time, processors' time")
    names = ("symgrad.dask", "empty tasks", "dask.array", "beyond empty ones")
    print(f"{'workers':>8} {'chunks':>7}" + "".join(f"{name:>20}" for name in names))
    constants = {}
    for workers in given.workers:
        with (
            LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address=":0"
            ) as cluster,
            Client(cluster) as client,
        ):
            for chunks in given.chunks:
                x = rng.normal(size=(chunks * ROWS, FEATURES))
                X = da.from_array(x, chunks=(ROWS, FEATURES)).persist()
                y = da.from_array(np.sign(x[:, 0] + 0.1), chunks=ROWS).persist()
                found = measure({
                    "symgrad.dask": lambda X=X, y=y: step(w, X, y),
                    "empty": lambda X=X, y=y: empty(w, X, y),
                    "by hand": lambda X=X, y=y: by_hand(w, X, y),
                }, given.rounds, client)  # fmt: skip
                ours, nothings = found["symgrad.dask"], found["empty"]
                beyond = (ours[0] - nothings[0], ours[1] - nothings[1])
                shown = [*found.values(), beyond]
                cells = "".join(f"{a / chunks:>11.2f} {b / chunks:>8.2f}" for a, b in shown)
                print(f"{workers:>8} {chunks:>7}{cells}", flush=True)
                constants[workers] = ours[0] / chunks
    print("\nseconds a step by the model, 1,000 chunks of 64 MB, 0.1 s each for the kernel")
    print(f"{'workers':>8}{'p = 10':>10}{'p = 1e6':>10}")
    task = constants[given.workers[0]] * 1e-3
    for workers in (1, 2, 10, 100, 1000):
        cells = "".join(f"{model(p, 1000, workers, task):>10.2f}" for p in (10, 1_000_000))
        print(f"{workers:>8}{cells}")
    sys.path.append(str(HERE))
    from stamps import stamp

    print(f"\n{stamp()}")


def checks() -> Any:
    """Compare with the gradient by hand."""

    def check(chunks: int) -> None:
        rng = np.random.default_rng(0)
        w, x = rng.normal(size=FEATURES), rng.normal(size=(chunks * ROWS, FEATURES))
        X = da.from_array(x, chunks=(ROWS, FEATURES))
        y = da.from_array(np.sign(x[:, 0] + 0.1), chunks=ROWS)
        with dask.config.set(scheduler="threads"):
            found = sgd.value_and_grad(loss, data=(1, 2))(w, X, y)
            for got, wanted in zip(found, by_hand(w, X, y), strict=True):
                np.testing.assert_allclose(got, wanted, rtol=1e-10)

    return {f"{chunks} chunks": lambda n=chunks: check(n) for chunks in (100, 400)}


def model(
    p: int, c: int, w: int, task: float, kernel: float = 0.1, bandwidth: float = 1e9
) -> float:
    """Return the seconds of a step: the scheduler and the workers at once, then the tree's end.

    ``task`` is what one chunk costs the scheduler, with its share of the tree; ``bandwidth`` is
    of one machine's network, in bytes a second.
    """
    size = 8 * p / bandwidth
    scheduler = c * task
    workers = -(-c // w) * (kernel + size / 2)  # half a part or so is sent for each chunk
    end = size * (np.log2(w) + 8 * np.log(c) / np.log(8))  # arguments out, the last sums back
    return float(max(scheduler, workers) + end)


if __name__ == "__main__":
    main()
