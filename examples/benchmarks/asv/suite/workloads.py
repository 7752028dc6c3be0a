"""The workloads of the benchmarks over commits, for airspeed velocity.

``asv run --config examples/benchmarks/asv/asv.conf.json main^!`` measures a commit, ``asv
continuous`` compares two. The comparison with other tools is ``python examples/benchmarks``: it
takes turns between processes, which asv does not.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

# One thread, and no code from disk. Before symgrad is imported.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "SYMGRAD_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ["SYMGRAD_CACHE_DIR"] = ""
sys.path.insert(0, str(Path(__file__).parents[2]))

import peers  # noqa: E402  (after the settings)
from harness._workload import NAMES, load  # noqa: E402  (after the settings)


def call(name: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return the derivative of a workload's first small case, and its arguments."""
    workload = load(name).for_peer("symgrad")
    case = next(case for case in workload.cases if case.quick)
    built: tuple[Callable[..., Any], tuple[Any, ...]] = peers.load("symgrad").build(
        workload, case, workload.arguments(case)
    )
    return built


class Calls:
    """A call of compiled code."""

    params = NAMES
    param_names = ("workload",)

    def setup(self, name: str) -> None:
        """Compile."""
        self.function, self.arguments = call(name)
        self.function(*self.arguments)

    def time_call(self, name: str) -> None:
        """Time a call."""
        self.function(*self.arguments)

    def peakmem_call(self, name: str) -> None:
        """Measure the memory of the process."""
        self.function(*self.arguments)


class FirstCalls:
    """The first call, which traces and compiles, in a new process each time."""

    params = NAMES
    param_names = ("workload",)
    number, repeat, rounds, warmup_time = 1, 1, 3, 0.0

    def setup(self, name: str) -> None:
        """Make the function; nothing is traced yet."""
        self.function, self.arguments = call(name)

    def time_first(self, name: str) -> None:
        """Time the first call."""
        self.function(*self.arguments)


def timeraw_import() -> str:
    """Return the code whose process is timed."""
    return "import symgrad"
