"""What it saves to keep large memory between calls.

    python examples/benchmarks/kept_memory.py [--quick]

Functions whose results or temporaries are large are called in turn with kept memory, without,
and with results written into given arrays (``out=``). Ratios are of medians.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
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


def milliseconds(function: Callable[..., Any], x: Any, **options: Any) -> float:
    """Return how long a call takes, its results' end included."""
    begin = time.perf_counter()
    function(x, **options)
    return 1e3 * (time.perf_counter() - begin)


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="small sizes, few repeats")
    quick = options.parse_args().quick
    sizes, rounds = ((100_000,), 5) if quick else ((20_000, 100_000, 1_000_000, 4_000_000), 31)
    table = Table("function", "numbers", "kept ms", "not kept / kept", "out= / kept")
    for f in (several, temporaries, descent):
        compiled = sg.compile(f)
        for size in sizes:
            x = np.linspace(0.1, 0.9, size)
            result = compiled(x)
            out = None
            if f is not temporaries:
                out = tuple(map(np.empty_like, result)) if f is several else np.empty_like(result)
            times: dict[str, list[float]] = {"kept": [], "not": [], "out": []}
            for _ in range(rounds):
                sg.set_kept_memory(0)
                times["not"].append(milliseconds(compiled, x))
                sg.set_kept_memory()
                compiled(x)
                times["kept"].append(milliseconds(compiled, x))
                if out is not None:
                    times["out"].append(milliseconds(compiled, x, out=out))
            kept = statistics.median(times["kept"])
            row = [f.__name__, f"{size:,}", f"{kept:.3g}"]
            row.append(f"{statistics.median(times['not']) / kept:.2f}")
            row.append(f"{statistics.median(times['out']) / kept:.2f}" if out is not None else "")
            table.add_row(*row)
    Console().print(table)


if __name__ == "__main__":
    main()
