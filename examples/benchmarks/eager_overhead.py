"""What one eager op costs beside PyTorch, forward alone and with its backward pass.

Arrays of 25 elements: the work itself is a fraction of a microsecond, the rest is overhead.
Each row is timed in turns, first one library and then the other, so that what else the machine
does reaches both. Shown are medians, and the median of the ratios of neighbouring turns; a row
above three times PyTorch's is marked. Without PyTorch, symgrad's times are shown alone.

The first calls are not counted: by then backward passes that come often are kernels.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from stamps import stamp

import symgrad.torch as own

CALLS = 50
CHAIN = 50
#: How many times PyTorch's time an op may take.
LIMIT = 3.0


class Row(NamedTuple):
    """A timed function of each library; ``ops`` says how many ops a call has."""

    name: str
    functions: list[Callable[[], Any]]
    ops: int = 1


class Library(NamedTuple):
    """A library with PyTorch's interface, and the tensors that rows compute with.

    ``numpy`` is NumPy for tensors that its functions apply to.
    """

    lib: Any
    numpy: Any
    x: Any
    y: Any
    m: Any
    v: Any
    c: Any

    def leaf(self, data: Any) -> Any:
        return self.lib.tensor(data, requires_grad=True)


def library(lib: Any) -> Library:
    """Return a library with its own tensors: two of 25 numbers, a matrix 5 by 5, a row of it."""

    def make(low: float, *shape: int) -> Any:
        count = int(np.prod(shape))
        numbers = np.linspace(low, low + 1.0, count).reshape(shape)
        return lib.tensor(numbers, requires_grad=True)

    numpy = np if lib is own else lib
    condition = lib.tensor(np.arange(25) % 2 == 0)
    return Library(
        lib, numpy, make(0.1, 25), make(0.2, 25), make(0.1, 5, 5), make(0.3, 5), condition
    )


#: What is timed, as functions of a library: forward alone, and with the way back.
OPS: dict[str, Callable[[Library], Any]] = {
    "x * y": lambda p: p.x * p.y,
    "x + 2.0": lambda p: p.x + 2.0,
    "sin(x)": lambda p: p.lib.sin(p.x),
    "np.sin(x)": lambda p: p.numpy.sin(p.x),
    "exp(x)": lambda p: p.lib.exp(p.x),
    "relu(x)": lambda p: p.lib.relu(p.x),
    "x ** 2": lambda p: p.x**2,
    "x ** 1.5": lambda p: p.x**1.5,
    "x.sum()": lambda p: p.x.sum(),
    "m.sum(0)": lambda p: p.m.sum(0),
    "m.sum(1, keepdim)": lambda p: p.m.sum(1, keepdim=True),
    "x.mean()": lambda p: p.x.mean(),
    "x.max()": lambda p: p.x.max(),
    "(x * x).sum()": lambda p: (p.x * p.x).sum(),
    "v @ v": lambda p: p.v @ p.v,
    "m @ v": lambda p: p.m @ p.v,
    "m @ m": lambda p: p.m @ p.m,
    "x[3]": lambda p: p.x[3],
    "x[1:4]": lambda p: p.x[1:4],
    "m[1, 2]": lambda p: p.m[1, 2],
    "x.reshape(5, 5)": lambda p: p.x.reshape(5, 5),
    "m.T": lambda p: p.m.T,
    "where(c, x, y)": lambda p: p.lib.where(p.c, p.x, p.y),
    "cat((m, m))": lambda p: p.lib.cat((p.m, p.m)),
    "softmax(m, 1)": lambda p: p.lib.softmax(p.m, 1),
}

#: What has no way back.
COMPARISONS: dict[str, Callable[[Library], Any]] = {
    "x > y": lambda p: p.x > p.y,
    "x > 0": lambda p: p.x > 0,
}


def chain(p: Library) -> Any:
    """Return what a chain of sines and products ends with."""
    z = p.x
    for _ in range(CHAIN // 2):
        z = p.lib.sin(z) * p.y
    return z.sum()


def step(p: Library) -> Callable[[], None]:
    """Return a training step of a network with a hidden layer of 5."""
    w1, b1 = p.leaf(np.linspace(-1.0, 1.0, 25).reshape(5, 5)), p.leaf(np.zeros(5))
    w2, b2 = p.leaf(np.linspace(1.0, -1.0, 25).reshape(5, 5)), p.leaf(np.zeros(5))
    data = p.lib.tensor(np.linspace(0.0, 1.0, 25).reshape(5, 5))
    goal = p.lib.tensor(np.linspace(1.0, 0.0, 25).reshape(5, 5))

    def train() -> None:
        hidden = p.lib.tanh(data @ w1 + b1)
        loss = ((hidden @ w2 + b2 - goal) ** 2).mean()
        loss.backward()
        with p.lib.no_grad():
            for w in (w1, b1, w2, b2):
                w -= 0.01 * w.grad
                w.grad = None

    return train


def rows(libraries: list[Library]) -> Iterator[Row]:
    """Return all rows."""
    for name, op in OPS.items():
        yield Row(name, [lambda p=p, op=op: op(p) for p in libraries])
        yield Row(f"{name}, backward", [_both(p, op) for p in libraries])
    for name, op in COMPARISONS.items():
        yield Row(name, [lambda p=p, op=op: op(p) for p in libraries])
    yield Row("chain, an op", [lambda p=p: chain(p) for p in libraries], CHAIN)
    yield Row("chain, backward, an op", [_both(p, chain) for p in libraries], CHAIN)
    yield Row("training step", [step(p) for p in libraries])


def _both(p: Library, op: Callable[[Library], Any]) -> Callable[[], None]:
    """Return the op followed by its backward pass, from a gradient that is there."""
    result = op(p)
    weight = None
    if result.shape:
        weight = p.lib.tensor(np.ones(tuple(result.shape)))
    leaves = (p.x, p.y, p.m, p.v)

    def run() -> None:
        op(p).backward(weight)

    def clean() -> None:
        for leaf in leaves:
            leaf.grad = None

    run.clean = clean  # type: ignore[attr-defined]
    return run


def timed(function: Callable[[], Any], ops: int) -> float:
    """Return the seconds that a call takes, by op."""
    calls = max(1, CALLS // ops)
    start = time.perf_counter()
    for _ in range(calls):
        function()
    spent = time.perf_counter() - start
    getattr(function, "clean", int)()
    return spent / (calls * ops)


def measured(row: Row, rounds: int) -> list[list[float]]:
    """Return the times of each library, turn by turn; first calls are not counted."""
    times: list[list[float]] = [[] for _ in row.functions]
    for function in row.functions:
        for _ in range(12):  # what comes again has been compiled then
            timed(function, row.ops)
    order = list(range(len(row.functions)))
    for _ in range(rounds):
        for k in order:
            times[k].append(timed(row.functions[k], row.ops))
        order.reverse()
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds")
    parser.add_argument("--only", default="", help="rows with this in their names")
    given = parser.parse_args()
    libraries = [library(own)]
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        print("PyTorch is not installed: no comparison (pip install torch)")
    else:
        torch.set_num_threads(1)
        libraries.append(library(torch))
    rounds = 5 if given.quick else 200
    print(f"microseconds, 25 float64 elements, medians of {rounds} turns each")
    print(f"{'':26}{'symgrad':>9}" + f"{'PyTorch':>9}{'ratio':>8}" * (len(libraries) - 1))
    above = []
    gc.collect()
    gc.freeze()
    for row in rows(libraries):
        if given.only not in row.name:
            continue
        times = measured(row, rounds)
        cells = "".join(f"{statistics.median(t) * 1e6:9.2f}" for t in times)
        mark = ""
        if len(times) > 1:
            ratio = statistics.median(a / b for a, b in zip(*times, strict=True))
            mark = f"{ratio:8.2f}" + ("  above" if ratio > LIMIT else "")
            above += [f"{row.name} ({ratio:.2f})"] if ratio > LIMIT else []
        print(f"{row.name:26}{cells}{mark}", flush=True)
    if len(libraries) > 1:
        print(f"above {LIMIT:g} times PyTorch's: {', '.join(above) or 'nothing'}")
    print(f"\n{stamp()}")


if __name__ == "__main__":
    main()
