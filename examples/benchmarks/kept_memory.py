"""What it saves to keep large memory between calls, and what functions that are dropped leave.

    python examples/benchmarks/kept_memory.py [--quick]

Functions whose results or temporaries are large are called in turn with kept memory, without,
and with results written into given arrays (``out=``). Ratios are of medians. Small functions are
compiled, called and dropped, and the process's memory compared.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _right import Checks, equal
from rich.console import Console
from rich.table import Table

import symgrad as sg


def several(x: Any) -> Any:
    """Six results as long as the argument."""
    return np.sin(x), x * 2.0, x * 3.0, x + 1.0, x - 1.0, x * x


def temporaries(x: Any) -> Any:
    """A number, by way of two arrays in memory."""
    return np.sum(np.cumsum(np.sin(x)) * np.cumsum(x))


def descent(x: Any) -> Any:
    """One result, of which the next call makes another."""
    return x - 0.1 * np.tanh(x)


def compiled(factor: float) -> None:
    """Compile a function that no other is like, and drop it."""
    sg.grad(lambda x: np.sum(np.sin(x) * factor * x))(np.ones(2))


def of_numba(factor: float) -> None:
    """Make its Numba kernel, too."""
    sg.grad(lambda x: np.sum(np.sin(x) * factor * x)).kernel(np.ones(2))(np.ones(2))


def eager(factor: float) -> None:
    """Go back through eager operations, as many as no pass before."""
    y = x = sg.tensor([0.5, 1.0], requires_grad=True)
    for _ in range(int(factor) % 50 + 1):
        y = (y * factor).sin()
    y.sum().backward()
    assert x.grad is not None


def left_behind(make: Callable[[float], None], first: int, count: int) -> float:
    """Return by how many KB the process grows with each function."""
    for k in range(first, first + 20):  # what is made once
        make(float(k))
    before = resident()
    for k in range(first + 20, first + 20 + count):
        make(float(k))
    return (resident() - before) / 1024 / count


def resident() -> int:
    """Return the process's memory in bytes; on Linux."""
    gc.collect()
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def milliseconds(function: Callable[..., Any], x: Any, **options: Any) -> float:
    """Return how long a call takes, its results' end included."""
    begin = time.perf_counter()
    function(x, **options)
    return 1e3 * (time.perf_counter() - begin)


SIZES = (20_000, 100_000, 1_000_000, 4_000_000)


def checks() -> Checks:
    """Compare results in new memory, in kept memory and in given arrays with NumPy's."""

    def check(f: Callable[..., Any], size: int) -> None:
        x = np.linspace(0.1, 0.9, size)
        kernel, wanted = sg.compile(f), f(x)
        out = None
        if f is not temporaries:
            out = tuple(map(np.empty_like, wanted)) if f is several else np.empty_like(wanted)
        for kept in (0, None):
            sg.set_kept_memory(*([] if kept is None else [kept]))
            for options in ({}, {}, {} if out is None else {"out": out}):
                for found, right in zip(
                    *((r if f is several else [r]) for r in (kernel(x, **options), wanted)),
                    strict=True,
                ):
                    equal(found, right)

    return {f"{f.__name__}, {size:,}": lambda f=f, n=size: check(f, n)  # type: ignore[misc]
            for f in (several, temporaries, descent) for size in SIZES}  # fmt: skip


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="small sizes, few repeats")
    quick = options.parse_args().quick
    sizes, rounds = ((100_000,), 5) if quick else (SIZES, 31)
    table = Table("function", "numbers", "kept ms", "not kept / kept", "out= / kept")
    for f in (several, temporaries, descent):
        kernel = sg.compile(f)
        for size in sizes:
            x = np.linspace(0.1, 0.9, size)
            result = kernel(x)
            out = None
            if f is not temporaries:
                out = tuple(map(np.empty_like, result)) if f is several else np.empty_like(result)
            times: dict[str, list[float]] = {"kept": [], "not": [], "out": []}
            for _ in range(rounds):
                sg.set_kept_memory(0)
                times["not"].append(milliseconds(kernel, x))
                sg.set_kept_memory()
                kernel(x)
                times["kept"].append(milliseconds(kernel, x))
                if out is not None:
                    times["out"].append(milliseconds(kernel, x, out=out))
            kept = statistics.median(times["kept"])
            row = [f.__name__, f"{size:,}", f"{kept:.3g}"]
            row.append(f"{statistics.median(times['not']) / kept:.2f}")
            row.append(f"{statistics.median(times['out']) / kept:.2f}" if out is not None else "")
            table.add_row(*row)
    Console().print(table)
    if not Path("/proc/self/statm").exists():
        return
    dropped = Table("dropped", "functions", "KB left by each")
    count = 10 if quick else 1000
    again = f"{compiled.__name__}, from the disk"
    for name, make, few in (
        (compiled.__name__, compiled, count),
        (again, compiled, count),
        (eager.__name__, eager, count),
        (of_numba.__name__, of_numba, count // 10),
    ):
        dropped.add_row(name, str(few), f"{left_behind(make, 0, few):.1f}")
    Console().print(dropped)


if __name__ == "__main__":
    main()
