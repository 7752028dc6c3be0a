"""What it costs a call to look at what the function reads besides its arguments.

    python examples/benchmarks/captures.py [--quick]

The same function is written with numbers in its code, which reads nothing, and with one and four
numbers and arrays that it reads: global names, a closure, attributes of an object. The calls take
turns; the extra time is the median of the differences.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from _right import Checks, equal
from rich.console import Console
from rich.table import Table

import symgrad as sg


class Model:
    """An object with attributes."""

    def __init__(self) -> None:
        self.a, self.b, self.c, self.d = 1.5, 2.5, 0.5, 3.5


A, B, C, D = 1.5, 2.5, 0.5, 3.5
W = np.linspace(0.0, 1.0, 8)
V, U, T = W + 1.0, W + 2.0, W + 3.0
order, mode = 2, "sine"
model = Model()
config = SimpleNamespace(a=1.5, b=2.5, c=0.5, d=3.5)


#: A table as Python has it, of which the function's code needs the numbers.
TABLE = [[float(j * k % 7) for k in range(100)] for j in range(100)]


class Layered:
    """An object whose method reads attributes of it, of its class and of others."""

    scale = 1.5

    def __init__(self) -> None:
        self.offset, self.orders, self.parts = 2.5, [2, 1], {"w": 0.5, "b": 3.5}

    def value(self, x: Any) -> Any:
        """Read ten places."""
        line = self.scale * x ** self.orders[0] + self.offset * x ** self.orders[1]
        return np.sum(line + self.parts["w"] * np.sin(x) + self.parts["b"])


layered = Layered()


def closure() -> Callable[..., Any]:
    """Return a function that closes over four numbers."""
    a, b, c, d = A, B, C, D
    return lambda x: np.sum((a * x + b) * x + c * np.sin(x) + d)


def helper(x: Any) -> Any:
    """A function of the user's that another calls."""
    return (1.5 * x + 2.5) * x


def written(x: Any) -> Any:
    """All numbers are in the code."""
    return np.sum((1.5 * x + 2.5) * x + 0.5 * np.sin(x) + 3.5)


def looped(function: Callable[..., Any], x: Any, calls: int) -> float:
    """Return the processor's seconds of one call."""
    start = time.thread_time()
    for _ in range(calls):
        function(x)
    return (time.thread_time() - start) / calls


CASES: dict[str, Callable[..., Any]] = {
    "nothing (again)": lambda x: np.sum((1.5 * x + 2.5) * x + 0.5 * np.sin(x) + 3.5),
    "1 global float": lambda x: np.sum((A * x + 2.5) * x + 0.5 * np.sin(x) + 3.5),
    "4 global floats": lambda x: np.sum((A * x + B) * x + C * np.sin(x) + D),
    "4 floats of a closure": closure(),
    "4 attributes": lambda x: np.sum((model.a * x + model.b) * x + model.c * np.sin(x) + model.d),
    "4 of a SimpleNamespace": lambda x: np.sum(
        (config.a * x + config.b) * x + config.c * np.sin(x) + config.d
    ),
    "1 helper function": lambda x: np.sum(helper(x) + 0.5 * np.sin(x) + 3.5),
    "an integer and a string": lambda x: np.sum(
        1.5 * x**order + 2.5 * x + (0.5 * np.sin(x) if mode == "sine" else x)
    ),
    "10 places of an object": lambda x: layered.value(x),
    "a list of 100 lists of 100": lambda x: np.sum(
        (1.5 * x + 2.5) * x + TABLE[1][3] * np.sin(x) + 3.5
    ),
    "1 array": lambda x: np.sum((1.5 * x + W) * x + 0.5 * np.sin(x) + 3.5),
    "4 arrays": lambda x: np.sum((W * x + V) * x + U * np.sin(x) + T),
}


def checks() -> Checks:
    """Compare compiled functions with the plain ones."""
    x = np.linspace(0.1, 1.0, 8)
    return {name: lambda f=f: equal(sg.compile(f)(x), f(x)) for name, f in CASES.items()}  # type: ignore[misc]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer calls")
    quick = parser.parse_args().quick
    rounds, calls = (5, 200) if quick else (101, 5000)
    x = np.linspace(0.1, 1.0, 8)
    plain = sg.compile(written)
    given = sg.compile(lambda x, w, v, u, t: np.sum((w * x + v) * x + u * np.sin(x) + t))
    table = Table("read besides the argument", "call, us", "more than nothing, us", "ratio")
    plain(x)
    cases = {name: sg.compile(f) for name, f in CASES.items()}
    cases["4 arrays, as arguments"] = lambda x: given(x, W, V, U, T)
    for name, function in cases.items():
        function(x)
        pairs = [(looped(plain, x, calls), looped(function, x, calls)) for _ in range(rounds)]
        more = statistics.median(b - a for a, b in pairs)
        ratio = statistics.median(b / a for a, b in pairs)
        took = statistics.median(b for _, b in pairs)
        table.add_row(name, f"{took * 1e6:.3f}", f"{more * 1e6:+.3f}", f"{ratio:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
