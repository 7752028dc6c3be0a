"""Losses of data in chunks on a cluster's workers, which are killed, and whose clients leave."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgrad as sg

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

import symgrad.dask as sgd  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    # What distributed leaves to the collector when a process ends under it.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestWarning"),
]

CHUNKS = 40
W = np.array([0.3, -0.2, 0.1])


def load(k: int, seconds: float = 0.0) -> tuple[Any, Any]:
    time.sleep(seconds)
    rng = np.random.default_rng(k)
    rows = int(rng.integers(0, 500))
    return rng.normal(size=(rows, 3)), rng.choice([-1.0, 1.0], size=rows)


def loss(w: Any, chunk: Any) -> Any:
    X, y = chunk
    return np.logaddexp(0, -y * (X @ w))


def chunks(seconds: float = 0.0) -> list[Any]:
    return [dask.delayed(load, pure=False)(k, seconds) for k in range(CHUNKS)]


def bits(result: Any) -> list[bytes]:
    value, slope = result
    return [np.asarray(value).tobytes(), np.asarray(slope).tobytes()]


@pytest.fixture(scope="module")
def wanted() -> list[bytes]:
    with dask.config.set(scheduler="synchronous"):
        return bits(sgd.value_and_grad(loss, data=1)(W, chunks()))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    settings = {
        "distributed.worker.memory.terminate": False,
        # So long after a worker was lost the cluster gives its place up if it is lost again then.
        "distributed.deploy.lost-worker-timeout": "1 hour",
    }
    with dask.config.set(settings):
        started = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        )
        yield started
        # Dask itself may look for a worker that was killed, and is gone, while a cluster closes.
        with contextlib.suppress(KeyError):
            started.close()


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    with distributed.Client(cluster) as connected:
        yield connected


def test_any_number_of_workers_gives_the_same_bits(
    cluster: Any, client: Any, wanted: list[bytes]
) -> None:
    g = sgd.value_and_grad(loss, data=1)
    for workers in (2, 1, 3, 2):
        cluster.scale(workers)
        client.wait_for_workers(workers)
        assert bits(g(W, chunks())) == wanted
    held = client.persist(chunks())
    assert bits(g(W, held)) == wanted
    scattered = client.scatter([load(k) for k in range(CHUNKS)])
    assert bits(g(W, scattered)) == wanted


def test_killed_workers_change_no_bit(cluster: Any, client: Any, wanted: list[bytes]) -> None:
    g = sgd.value_and_grad(loss, data=1)
    rng = np.random.default_rng(0)
    killed = 0
    while killed < 20:
        found: list[Any] = []
        slow = chunks(0.02)
        held = client.persist(slow) if killed % 2 else slow  # lost data are made again, too
        step = threading.Thread(target=lambda: found.append(g(W, held)))  # noqa: B023 - joined
        step.start()
        time.sleep(rng.uniform(0, 0.4))
        # Dask starts no worker again that is killed while it starts.
        nannies = [
            n for n in cluster.workers.values()
            if n.process is not None and n.process.status.name == "running"
            and n.worker_address in cluster.scheduler.workers
        ]  # fmt: skip
        if nannies:
            os.kill(nannies[int(rng.integers(len(nannies)))].pid, signal.SIGKILL)
            killed += step.is_alive()
        step.join(120)
        assert [bits(result) for result in found] == [wanted]


def test_an_error_names_chunk_and_worker(client: Any) -> None:
    def fails(w: Any, chunk: Any) -> Any:
        if chunk[0].shape[0] == sizes[7]:
            raise ValueError("as it is told to")
        return loss(w, chunk)

    sizes = [len(load(k)[0]) for k in range(CHUNKS)]
    with pytest.raises(ValueError, match="as it is told to") as found:
        sgd.grad(fails, data=1)(W, chunks())
    note = "".join(found.value.__notes__)
    assert f"in chunk 7 (counted from 0) of {CHUNKS}, on worker tcp://127.0.0.1:" in note


def test_an_error_in_making_a_chunk_names_chunk_and_worker(client: Any) -> None:
    def unread(k: int) -> Any:
        if k == 2:
            raise OSError("no such file")
        return load(k)

    slope = sgd.grad(loss, data=1)
    parts = [dask.delayed(unread)(k, dask_key_name=f"unread-{k}") for k in range(4)]
    chunk = "in unread-2, which makes chunk 2 (counted from 0) of 4"
    for call in (lambda: slope(W, parts), lambda: slope.delayed(W, parts).compute()):
        with pytest.raises(OSError, match="no such file") as found:
            call()
        (note,) = found.value.__notes__
        assert note.startswith(f"{chunk}, on worker tcp://127.0.0.1:")
    again = [dask.delayed(unread)(k, dask_key_name=f"again-{k}") for k in range(4)]
    held = client.persist(again)  # Dask does not say on which worker it failed
    for _ in range(2):  # the second time with the same error
        with pytest.raises(OSError, match="no such file") as found:
            slope(W, held)
        assert found.value.__notes__ == [chunk.replace("unread", "again")]


def test_a_chunk_that_kills_its_workers_is_named(client: Any) -> None:
    def load_and_die(k: int) -> Any:
        return load(k) if k else os._exit(1)

    parts = [dask.delayed(load_and_die)(k, dask_key_name=f"load-{k}") for k in range(3)]
    with pytest.raises(distributed.KilledWorker, match="load-0"):
        sgd.grad(loss, data=1)(W, parts)


def test_each_call_computes_what_the_loss_means_now(client: Any) -> None:
    class Model:
        power = 2

    def model(w: Any, chunk: Any) -> Any:
        return (chunk[0] @ w) ** Model.power

    g = sgd.value(model, data=1)
    held = client.persist(chunks())
    X = np.vstack([load(k)[0] for k in range(CHUNKS)])
    for Model.power in (2, 4, 2, 3, 4):
        np.testing.assert_allclose(g(W, held), np.sum((X @ W) ** Model.power), rtol=1e-12)


def test_a_client_that_disconnects_leaves_nothing(
    cluster: Any, client: Any, wanted: list[bytes], tmp_path: Path
) -> None:
    code = (
        "import sys, numpy as np, dask, time, distributed, symgrad.dask as sgd\n"
        "def load(k):\n    time.sleep(1)\n    return np.ones((5, 3))\n"
        f"client = distributed.Client({cluster.scheduler_address!r})\n"
        "print('on', flush=True)\n"
        "sgd.grad(lambda w, X: X @ w, data=1)(np.ones(3), list(map(dask.delayed(load), range(99))))"
    )
    path = tmp_path / "leaves.py"
    path.write_text(code)
    other = subprocess.Popen([sys.executable, str(path)], stdout=subprocess.PIPE)
    assert other.stdout is not None
    assert other.stdout.readline() == b"on\n"

    def tasks() -> int:
        return len(client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks)))

    while not tasks():
        time.sleep(0.05)
    other.kill()
    other.wait()
    other.stdout.close()
    assert bits(sgd.value_and_grad(loss, data=1)(W, chunks())) == wanted
    deadline = time.monotonic() + 60
    while tasks() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert tasks() == 0


def test_blocks_of_derivatives(client: Any) -> None:
    X = da.random.default_rng(0).normal(size=(90, 3), chunks=(40, 3)).persist()
    slopes = sg.vmap(sg.grad(lambda w, x: np.sin(x @ w)), (None, 0))
    found = sgd.map_blocks(slopes, W, X, data=1, shape=(3,))
    np.testing.assert_allclose(found.compute(), slopes(W, X.compute()), rtol=1e-13)


def test_a_large_argument_travels_once(client: Any) -> None:
    w = np.random.default_rng(0).normal(size=2_000_000)
    X = da.ones((40, 1), chunks=(10, 1)).persist()
    slope = sgd.grad(lambda w, x: np.sum(x) * np.sum(w**2), data=1)(w, X)
    np.testing.assert_allclose(slope, 80 * w, rtol=1e-13)
