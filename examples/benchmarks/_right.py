"""Whether what a benchmark computes is right, at the sizes that it measures.

    python examples/benchmarks/_right.py NAME ...

A script with something to compare has ``checks()``, which returns calls by what they compare; one
that finds a difference raises AssertionError. No time is taken. tests/test_benchmarks.py runs the
checks of all scripts, each script in a process of its own.
"""

from __future__ import annotations

import importlib
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

#: Comparisons, by what they compare.
Checks = dict[str, Callable[[], None]]


def equal(found: Any, wanted: Any, tolerance: float = 1e-12) -> None:
    """Raise where numbers differ by more than a part of the largest of their array."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    limit = tolerance * np.max(np.abs(wanted), initial=0.0)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=limit)


def along(
    f: Callable[..., Any], gradients: Any, *args: Any, step: float = 1e-4, tolerance: float = 1e-7
) -> None:
    """Raise where gradients are not what differences of ``f`` say, along random directions.

    ``gradients`` are by the first arguments. The differences are of order 6.
    """
    rng = np.random.default_rng(0)
    for _ in range(2):
        ways = [rng.normal(size=np.shape(g)) for g in gradients]
        rest = args[len(ways) :]

        def moved(h: float, ways: Any = ways, rest: Any = rest) -> Any:
            return f(*(a + h * d for a, d in zip(args, ways, strict=False)), *rest)

        slopes = [(moved(k * step) - moved(-k * step)) / (2 * k * step) for k in (1, 2, 3)]
        wanted = (15 * slopes[0] - 6 * slopes[1] + slopes[2]) / 10
        terms = [g * d for g, d in zip(gradients, ways, strict=True)]
        size = sum(np.sqrt(np.sum(np.square(t))) for t in terms)
        found = sum(np.sum(t) for t in terms)
        rounding = 1e-14 * abs(f(*args)) / step
        assert abs(found - wanted) <= tolerance * size + rounding, (found, wanted, size)


def wrong(name: str) -> list[str]:
    """Run a script's checks; return what those that fail say."""
    found = []
    for what, check in importlib.import_module(name).checks().items():
        try:
            check()
        except AssertionError:
            found.append(f"WRONG: {name}, {what}\n{traceback.format_exc()}")
    return found


def main() -> int:
    """Check the scripts that are named."""
    sys.path.insert(0, str(Path(__file__).parent))
    warnings.simplefilter("ignore")  # of peers
    found = [text for name in sys.argv[1:] for text in wrong(name)]
    print("\n".join(found) or "all is right")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
