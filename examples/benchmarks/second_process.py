"""What a second process waits for: imports and the first gradient, with the kernel on disk.

    python examples/benchmarks/second_process.py [--operations N] [--processes N]

The function is the program of ``scalar_dag.py`` with so many operations. Each process imports
Numba, as the programs do that symgrad is called from, then symgrad, and asks for value and
gradient. The first one compiles and keeps the kernel in a folder of its own; shown are medians of
the others, in seconds after Numba is there, and their spread.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from _right import Checks, along, equal

STAGES = ("import symgrad", "first gradient", "both", "second gradient")


def measure(operations: int) -> dict[str, Any]:
    """Return the seconds of the stages in this process, and the results."""
    import numba  # noqa: F401  what symgrad is imported beside

    start = time.perf_counter()
    import symgrad as sg

    compiled = sg.value_and_grad
    imported = time.perf_counter()
    sys.path.insert(0, str(Path(__file__).parent))
    from scalar_dag import evaluate, program

    program(operations)  # made beforehand
    x = np.linspace(0.2, 0.9, 8)
    begin = time.perf_counter()
    gradient = compiled(lambda x: evaluate(np, operations, x))
    result = gradient(x)
    done = time.perf_counter()
    assert np.isfinite(result[0])
    gradient(x)
    again = time.perf_counter()
    first = done - begin
    seconds = (imported - start, first, imported - start + first, again - done)
    numbers = {"value": float(result[0]), "slopes": result[1].tolist()}
    return dict(zip(STAGES, seconds, strict=True)) | numbers


def runs(operations: int, processes: int) -> list[dict[str, Any]]:
    """Return what processes measure that share a folder of kernels, whose results are equal."""
    command = [sys.executable, __file__, "--measure", "--operations", str(operations)]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(processes):
            run = subprocess.run(
                command, env={**os.environ, "SYMGRAD_CACHE_DIR": folder},
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            found.append(json.loads(run.stdout))
    for name in ("value", "slopes"):
        assert all(row[name] == found[0][name] for row in found), name
    return found


def checks() -> Checks:
    """Compare the results of processes with each other, NumPy's and differences."""

    def check() -> None:
        from scalar_dag import evaluate

        row, x = runs(10_000, 2)[1], np.linspace(0.2, 0.9, 8)
        equal(row["value"], evaluate(np, 10_000, x), 1e-10)
        along(lambda x: evaluate(np, 10_000, x), [np.array(row["slopes"])], x)

    return {"the second process": check}


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--operations", type=int, default=10_000)
    options.add_argument("--processes", type=int, default=9)
    options.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options.add_argument("--quick", action="store_true", help="few operations and processes")
    given = options.parse_args()
    if given.quick:
        given.operations, given.processes = 100, 2
    if given.measure:
        print(json.dumps(measure(given.operations)))
        return
    found = runs(given.operations, given.processes + 1)
    print(f"{'seconds':>16} {'compiling':>10} {'median':>8} {'least':>8} {'most':>8}")
    for stage in STAGES:
        first, *rest = (row[stage] for row in found)
        middle = statistics.median(rest)
        print(f"{stage:>16} {first:>10.3f} {middle:>8.3f} {min(rest):>8.3f} {max(rest):>8.3f}")


if __name__ == "__main__":
    main()
