"""What one eager op costs beside NumPy, and beside PyTorch where it is installed.

Arrays of 25 elements: the work itself is less than a microsecond, the rest is overhead. The
best of several rounds is shown, and each library is timed in turn within a round.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import symgrad as sg

SIZE = 25
CHAIN = 100


def workloads(lib: Any, make: Callable[[Any], Any]) -> dict[str, Callable[[], None]]:
    """Return the timed functions for a library with PyTorch's interface, per op."""
    x = make(np.linspace(0.1, 1.0, SIZE))
    y = make(np.linspace(0.2, 1.1, SIZE))

    def multiply() -> None:
        for _ in range(CHAIN):
            x * y

    def sine() -> None:
        for _ in range(CHAIN):
            lib.sin(x)

    square = make(np.linspace(0.1, 1.0, SIZE).reshape(5, 5))

    def total() -> None:
        for _ in range(CHAIN):
            x.sum()

    def product() -> None:
        for _ in range(CHAIN):
            square @ square

    def element() -> None:
        for _ in range(CHAIN):
            x[3]

    def chain() -> Any:
        z = x
        for _ in range(CHAIN // 2):
            z = lib.sin(z) * y
        return z.sum()

    def forward() -> None:
        chain()

    def both() -> None:
        chain().backward()

    return {
        "x * y": multiply, "sin(x)": sine, "x.sum()": total, "m @ m": product, "x[3]": element,
        "chain": forward, "chain and backward": both,
    }  # fmt: skip


def numpy_workloads() -> dict[str, Callable[[], None]]:
    """Return the same ops on plain arrays, without a record."""
    x, y = np.linspace(0.1, 1.0, SIZE), np.linspace(0.2, 1.1, SIZE)

    def multiply() -> None:
        for _ in range(CHAIN):
            x * y

    def sine() -> None:
        for _ in range(CHAIN):
            np.sin(x)

    return {"x * y": multiply, "sin(x)": sine}


def libraries() -> dict[str, dict[str, Callable[[], None]]]:
    """Return the workloads of every library that is here."""
    found = {
        "numpy": numpy_workloads(),
        "symgrad": workloads(sg, lambda a: sg.tensor(a, requires_grad=True)),
    }
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        print("PyTorch is not installed: no comparison (pip install torch)")
    else:
        torch.set_num_threads(1)
        found["torch"] = workloads(torch, lambda a: torch.tensor(a, requires_grad=True))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds")
    rounds = 3 if parser.parse_args().quick else 100
    found = libraries()
    best: dict[tuple[str, str], float] = {}
    for _ in range(rounds):
        for library, functions in found.items():
            for name, function in functions.items():
                start = time.perf_counter()
                function()
                spent = (time.perf_counter() - start) / CHAIN
                key = (library, name)
                best[key] = min(best.get(key, spent), spent)
    print(f"microseconds an op, {SIZE} float64 elements, best of {rounds} rounds")
    print(f"{'':22}" + "".join(f"{library:>10}" for library in found))
    for name in found["symgrad"]:
        times = [best.get((library, name)) for library in found]
        cells = [f"{'':>10}" if t is None else f"{t * 1e6:10.2f}" for t in times]
        print(f"{name:22}" + "".join(cells))


if __name__ == "__main__":
    main()
