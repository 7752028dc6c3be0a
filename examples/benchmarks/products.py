"""Matrix products of our own beside those of BLAS.

    python examples/benchmarks/products.py [--quick]

The same kernels multiply with our tiles and, with the bound on their size set to nothing, with
SciPy's BLAS, in turn, on one thread. Billions of operations a second, of medians; the factors lie
by rows (r) or by columns (c). Half a microsecond of each call is Python's.
``OPENBLAS_CORETYPE=SkylakeX`` in the environment lets OpenBLAS take the CPU for another one.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import time
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from _right import Checks, equal
from rich.console import Console
from rich.table import Table
from stamps import stamp

import symgrad as sg
from symgrad._core.codegen import loading as _loading

#: Rows, summed axis, columns.
SHAPES = (
    (17, 17, 17), (32, 32, 32), (64, 64, 64), (256, 256, 256), (1000, 1000, 1000),
    (1000, 10, 250), (250, 1000, 10), (10, 1000, 12), (128, 784, 256), (784, 128, 256),
)  # fmt: skip

FUNCTIONS = {
    "rr": lambda a, b: a @ b, "rc": lambda a, b: a @ b.T,
    "cr": lambda a, b: a.T @ b, "cc": lambda a, b: a.T @ b.T,
}  # fmt: skip


def run_time(function: Any, arguments: Any, limit: int, repeats: int) -> float:
    """Return the seconds of a call that leaves larger products than ``limit`` to BLAS."""
    before, _loading._limit.value = _loading._limit.value, limit
    begin = time.perf_counter()
    for _ in range(repeats):
        function(*arguments)
    _loading._limit.value = before
    return (time.perf_counter() - begin) / repeats


def factors(dtype: Any, shape: tuple[int, ...], name: str) -> list[Any]:
    """Return factors that lie by rows or by columns."""
    m, k, n = shape
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(s).astype(dtype) for s in ((m, k), (k, n)))
    return [x if c == "r" else x.T.copy() for x, c in zip((a, b), name, strict=True)]


def checks() -> Checks:
    """Compare the products of both with NumPy's of more digits."""

    def check(dtype: Any, shape: tuple[int, ...]) -> None:
        for name, f in FUNCTIONS.items():
            given = factors(dtype, shape, name)
            compiled, before = sg.compile(f), _loading._limit.value
            wanted = f(*(x.astype(float) for x in given))
            for limit in (_loading.UNLIMITED, -1):
                _loading._limit.value = limit
                equal(compiled(*given), wanted, 1e-5 if dtype == np.float32 else 1e-13)
            _loading._limit.value = before

    return {f"{np.dtype(dtype).name}, {shape}": lambda d=dtype, s=shape: check(d, s)  # type: ignore[misc]
            for dtype, shape in itertools.product((np.float64, np.float32), SHAPES)}  # fmt: skip


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="small sizes, few repeats")
    quick = options.parse_args().quick
    sg.set_num_threads(1)
    table = Table("type", "sizes", *(f"{x}: own / BLAS" for x in FUNCTIONS))
    for dtype, shape in itertools.product((np.float64, np.float32), SHAPES[: 3 if quick else None]):
        m, k, n = shape
        cells = []
        for name, f in FUNCTIONS.items():
            given = factors(dtype, shape, name)
            compiled = sg.compile(f)
            compiled(*given)
            repeats = max(1, int(1e-3 / run_time(compiled, given, _loading.UNLIMITED, 3)))
            times = [
                [run_time(compiled, given, limit, repeats)
                 for limit in (_loading.UNLIMITED, -1)]
                for _ in range(3 if quick else 21)
            ]  # fmt: skip
            speed = [2e-9 * m * k * n / statistics.median(t) for t in zip(*times, strict=True)]
            cells.append(f"{speed[0]:.0f} / {speed[1]:.0f}")
        table.add_row(np.dtype(dtype).name, "x".join(map(str, shape)), *cells)
    Console().print(table)
    print("OpenBLAS takes this CPU for:", _loading.blas_core())
    print(f"\n{stamp()}")


if __name__ == "__main__":
    main()
