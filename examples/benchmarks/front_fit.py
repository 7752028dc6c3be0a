"""The fit on the front page, by symgrad and by SciPy: ``python examples/benchmarks/front_fit.py``.

The program is the README's first block, word for word, and the same with SciPy's own functions.
``first`` is its time with compilation, without imports and without code from disk; later fits
are the fastest of many.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["SYMGRAD_CACHE_DIR"] = ""

import numpy as np
from _right import Checks
from stamps import stamp

import symgrad.scipy.integrate
import symgrad.scipy.optimize  # noqa: F401 - imports are not timed

README = Path(__file__).parents[2] / "README.md"


def seconds(call: Callable[[], Any]) -> float:
    """Return the time of a call."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def measured(program: str, turns: int) -> tuple[float, float, Any]:
    """Return the time of the program, that of a later fit, and the parameters."""
    names: dict[str, Any] = {}

    def whole() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(program, names)  # noqa: S102 - the README's

    def fit() -> Any:
        start = [2.0, 0.5]
        return names["curve_fit"](names["epidemic"], names["days"], names["ill"], start)

    first = seconds(whole)
    return first, min(seconds(fit) for _ in range(turns)), names["best"]


def both(turns: int) -> dict[str, tuple[float, float, Any]]:
    """Return the times of both programs, and their parameters, which are equal."""
    found = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    texts = {"symgrad": found[1], "SciPy": found[1].replace("symgrad.scipy", "scipy")}
    rows = {name: measured(text, turns) for name, text in texts.items()}
    np.testing.assert_allclose(*(row[2] for row in rows.values()), rtol=1e-5)
    return rows


def checks() -> Checks:
    """Compare the parameters."""
    return {"parameters": lambda: both(1) and None}


def main() -> None:
    """Print both and the stamp."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=101)
    parser.add_argument("--quick", action="store_true", help="three turns")
    given = parser.parse_args()
    for name, (first, later, _) in both(3 if given.quick else given.turns).items():
        print(f"{name:8} first {first:.2f} s, then {1e3 * later:.3g} ms a fit")
    print(f"\n{stamp()}")


if __name__ == "__main__":
    main()
