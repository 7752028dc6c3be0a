"""One peer on one case, in a process of its own; commands and answers are lines of JSON.

    python -m harness._worker WORKLOAD CASE PEER EXACT.npy

The harness starts one worker for each peer and asks them in turn, so that the repeats of all
peers are interleaved, while no peer shares a process, a thread pool or memory with another.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import json
import os
import platform
import re
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import peers

from ._workload import Call, error, load


def seconds(call: Call, repeats: int) -> tuple[float, float]:
    """Return the seconds of one call, the mean of several, and how many cores worked."""
    function, arguments = call
    processor, start = time.process_time(), time.perf_counter()
    for _ in itertools.repeat(None, repeats):
        function(*arguments)
    wall = time.perf_counter() - start
    return wall / repeats, (time.process_time() - processor) / max(wall, 1e-9)


def calibrated(call: Call, aim: float) -> int:
    """Return how many calls take about ``aim`` seconds."""
    seconds(call, 2)  # the second call may prepare those behind it, in a thousand times as long
    repeats = 1
    while True:
        each, _ = seconds(call, repeats)
        if each * repeats >= aim / 4:
            return max(1, round(aim / each))
        repeats *= 4


def peak(call: Call) -> int | None:
    """Return the bytes that a call needs beyond what the process holds, results included.

    Linux only: elsewhere the high-water mark cannot be set back, and compiling is in it.
    """
    if platform.system() != "Linux":
        return None
    status, forget = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what earlier calls have left in the allocator
    try:
        before = int(re.findall(r"VmRSS:\s+(\d+)", status.read_text())[0])
        forget.write_text("5")
        function, arguments = call
        function(*arguments)
        return 1024 * (int(re.findall(r"VmHWM:\s+(\d+)", status.read_text())[0]) - before)
    except OSError:  # a container that forbids it
        return None


class Worker:
    """The commands."""

    def __init__(self, workload: str, case: str, peer: str, exact: str) -> None:
        self.workload = load(workload).for_peer(peer)
        self.case = self.workload.cases[int(case)]
        self.peer = peers.load(peer)
        self.exact = np.load(exact)
        self.call: Call
        self.repeats = 1

    def start(self) -> dict[str, Any]:
        """Import the peer and have it compile something small."""
        self.peer.start()
        self.arguments = self.workload.arguments(self.case)
        return {"version": self.peer.version()}

    def first(self) -> dict[str, Any]:
        """Time to the first result, and its error."""
        begin = time.perf_counter()
        self.call = self.peer.build(self.workload, self.case, self.arguments)
        function, arguments = self.call
        results = function(*arguments)
        spent = time.perf_counter() - begin
        canonical = self.peer.canonical(self.workload, self.case, results)
        tolerance = max(self.workload.tolerance, self.peer.tolerance)
        if self.case.dtype == "float32":
            tolerance = max(tolerance, 2e-4)
        worst = error(canonical, self.exact)
        return {"first": spent, "error": worst, "right": worst <= tolerance}

    def calibrate(self, aim: float) -> dict[str, Any]:
        """Find the number of calls of a repeat; the memory of a call."""
        self.repeats = calibrated(self.call, aim)
        return {"repeats": self.repeats, "memory": self.memory()}

    def memory(self) -> int | None:
        """Return what a call needs if the peer has kept nothing from earlier ones."""
        self.peer.release()
        return peak(self.call)

    def repeat(self) -> dict[str, Any]:
        """Time some calls."""
        each, cores = seconds(self.call, self.repeats)
        return {"seconds": each, "cores": cores}

    def ratio(self, aim: float) -> dict[str, Any]:
        """Time value and gradient and the value alone, in turn."""
        both = self.peer.cost(self.workload, self.case, self.arguments)
        if both is None:
            return {"ratio": None}
        counts = []
        for call in both:
            call[0](*call[1])
            counts.append(calibrated(call, aim))
        times: list[list[float]] = [[], []]
        for _ in range(7):
            for found, call, count in zip(times, both, counts, strict=True):
                found.append(seconds(call, count)[0])
        value, gradient = (sorted(t)[3] for t in times)
        return {"ratio": gradient / value}


def main() -> None:
    """Answer commands until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a peer prints is no answer
    gc.disable()  # as timeit does
    # Peers that recurse over their graphs get as far as they can.
    sys.setrecursionlimit(100_000)
    _, soft = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (soft, soft))
    worker = Worker(*sys.argv[1:])
    for line in sys.stdin:
        name, *given = json.loads(line)
        command: Callable[..., dict[str, Any]] = getattr(worker, name)
        try:
            answer = command(*given)
        except peers.UnfitError as reason:
            answer = {"failed": str(reason), "unfit": True}
        except Exception as wrong:  # noqa: BLE001 - whatever a peer raises is a result
            answer = {"failed": f"{type(wrong).__name__}: {wrong}".splitlines()[0][:200]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
