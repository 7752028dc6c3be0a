"""SciPy's test functions of global optimisation, from a checkout of its sources."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ._case import Case

FOLDER = Path("benchmarks") / "benchmarks"


def cases(checkout: Path) -> Iterator[Case]:
    """Yield the function of each class of the list, with points between its bounds."""
    package = ModuleType("scipy_benchmarks")
    package.__path__ = [str(checkout / FOLDER)]
    common: Any = ModuleType("scipy_benchmarks.common")
    common.safe_import = partial(suppress, ImportError)  # the rest of it needs SciPy's own tools
    sys.modules[package.__name__], sys.modules[common.__name__] = package, common
    base = importlib.import_module("scipy_benchmarks.go_benchmark_functions.go_benchmark")
    modules = sorted((checkout / FOLDER / "go_benchmark_functions").glob("go_funcs_*.py"))
    for path in modules:
        module = importlib.import_module(f"scipy_benchmarks.go_benchmark_functions.{path.stem}")
        for name, kind in vars(module).items():
            if (
                inspect.isclass(kind)
                and issubclass(kind, base.Benchmark)
                and kind.__module__ == module.__name__
            ):
                problem = kind()
                yield Case("scipy", name, problem.fun, lambda seed, p=problem: point(p, seed))


def point(problem: Any, seed: int) -> tuple[np.ndarray]:
    """Return a random point between the bounds."""
    low, high = np.asarray(problem.bounds, float).T
    margin = 0.05 * (high - low)
    return (np.random.default_rng(seed).uniform(low + margin, high - margin),)
