"""Run a workload: one worker a peer, repeats in turn."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import peers

from ._workload import FOLDER, Case, Workload

#: One thread for every library that has threads; peers add their own settings.
ONE_THREAD = dict.fromkeys(
    (
        "SYMGRAD_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
    ),
    "1",
)

#: Cores from which a peer is taken for one that uses threads.
MANY_CORES = 1.2


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    limit: float = 60.0  # seconds to the first result
    rounds: int = 15
    repeat: float = 0.05  # seconds of calls in a repeat
    total: float = 15.0  # seconds of calls of one peer


QUICK = Effort(limit=20.0, rounds=5, repeat=0.01, total=2.0)


class LateError(Exception):
    """A worker did not answer in time."""


class Process:
    """A worker, seen from here."""

    def __init__(self, workload: Workload, index: int, peer: str, exact: Path) -> None:
        paths = [str(FOLDER), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | ONE_THREAD | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
        environment |= peers.kind(peer).environment | dict(workload.environment.get(peer, {}))
        # -W: what peers warn about is theirs.
        command = [sys.executable, "-W", "ignore", "-m", "harness._worker"]
        self.process = subprocess.Popen(
            [*command, workload.name, str(index), peer, str(exact)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # with the compilers that it starts
        )
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.output, selectors.EVENT_READ)

    @property
    def output(self) -> Any:
        return self.process.stdout

    def ask(self, limit: float, *command: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write((json.dumps(command) + "\n").encode())
            self.process.stdin.flush()
            if not self.selector.select(limit):
                raise LateError
            line = self.output.readline()
        except BrokenPipeError:
            line = b""
        if not line:
            return {"failed": f"the process ended with status {self.process.wait()}"}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def end(self) -> None:
        """Stop the worker and what it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.selector.close()
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]


def run(
    workload: Workload,
    chosen: Sequence[str],
    effort: Effort,
    quick: bool,
    tell: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Measure the peers on all cases and return a record for each pair."""
    records: list[dict[str, Any]] = []
    late: dict[str, str] = {}  # peers that took too long, and where
    for index, case in enumerate(workload.cases):
        if quick and not case.quick:
            continue
        tell(f"{workload.name} {case.label}")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "exact.npy")
            np.save(path, workload.exact(case, *workload.arguments(case)))
            found = measure(workload, index, case, chosen, effort, path, late, tell)
        records += found
        for record in found:
            if record.get("late"):
                late[record["peer"]] = case.label
    return records


def measure(
    workload: Workload,
    index: int,
    case: Case,
    chosen: Sequence[str],
    effort: Effort,
    exact: Path,
    late: dict[str, str],
    tell: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Measure the peers on one case."""
    records, running = [], []
    try:
        for peer in chosen:
            record: dict[str, Any] = {
                "workload": workload.name,
                "case": case.label,
                "size": case.size,
                "variant": case.variant,
                "peer": peer,
            }
            records.append(record)
            if peer in late and not case.variant:
                record["failed"] = f"not tried: over {effort.limit:g} s at {late[peer]} already"
                continue
            tell(f"{workload.name} {case.label}: {peer}")
            process = Process(workload, index, peer, exact)
            if prepared(process, record, effort):
                running.append((process, record))
            else:
                process.end()
        tell(f"{workload.name} {case.label}: repeats")
        repeats(running, effort)
    finally:
        for process, _ in running:
            process.end()
    return records


def prepared(process: Process, record: dict[str, Any], effort: Effort) -> bool:
    """Start a worker up to its first, right result."""
    commands: tuple[tuple[str, float, tuple[Any, ...]], ...] = (
        ("start", 120.0, ()),
        ("first", effort.limit, ()),
        ("calibrate", effort.limit, (effort.repeat,)),
    )
    for name, limit, given in commands:
        try:
            answer = process.ask(limit, name, *given)
        except LateError:
            record["failed"] = f"over {limit:g} s"
            record["late"] = True
            return False
        record |= answer
        if "failed" in answer:
            return False
        if name == "first" and not answer["right"]:
            record["failed"] = f"wrong: relative error {answer['error']:.1e}"
            return False
    return True


def repeats(running: list[tuple[Process, dict[str, Any]]], effort: Effort) -> None:
    """Time all workers in turn, then what a gradient costs beside its function."""
    times: list[list[float]] = [[] for _ in running]
    cores: list[list[float]] = [[] for _ in running]
    spent = [0.0] * len(running)
    for round_ in range(effort.rounds):
        for k, (process, _) in enumerate(running):
            if round_ >= 3 and spent[k] > effort.total:
                continue
            begin = time.perf_counter()
            answer = process.ask(600.0, "repeat")
            spent[k] += time.perf_counter() - begin
            if "failed" not in answer:
                times[k].append(answer["seconds"])
                cores[k].append(answer["cores"])
    for (process, record), found, used in zip(running, times, cores, strict=True):
        if not found:
            record["failed"] = "failed when repeated"
            continue
        record["cores"] = statistics.median(used)
        if record["cores"] > MANY_CORES:
            record["failed"] = f"used {record['cores']:.1f} cores instead of one"
            continue
        ordered = sorted(found)
        record["times"] = found
        record["call"] = statistics.median(ordered)
        record["low"] = ordered[len(ordered) // 4]
        record["high"] = ordered[(3 * len(ordered)) // 4]
        with contextlib.suppress(LateError):
            record |= process.ask(2 * effort.limit, "ratio", effort.repeat)
