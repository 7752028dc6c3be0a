"""The cost of a call through each bridge: ``python examples/benchmarks/bridges.py``.

The function is a sum of squares, so that nearly all of a call is bookkeeping. Each library that is
installed has a row for the value and one for value and gradient; beside them the same by symgrad
alone, and for JAX the value by ``jax.numpy`` and by ``jax.pure_callback`` of NumPy's. Times are
the least of turns that all rows take one after the other, in microseconds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from stamps import stamp

import symgrad as sg

SIZES = (3, 10_000)


def squares(x: Any) -> Any:
    """The function that crosses the bridge."""
    return np.sum(x**2)


def alone(x: Any) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Yield library, name and call of symgrad's functions."""
    value, both = sg.compile(squares), sg.value_and_grad(squares)
    yield "symgrad", "value", lambda: value(x)
    yield "symgrad", "value and gradient", lambda: both(x)


def in_torch(x: Any) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Yield the same for PyTorch."""
    import torch

    torch.set_num_threads(1)
    f = sg.to_torch(squares)
    tensor, leaf = torch.from_numpy(x), torch.tensor(x, requires_grad=True)

    def gradient() -> Any:
        leaf.grad = None
        f(leaf).backward()

    yield "PyTorch", "value", lambda: f(tensor)
    yield "PyTorch", "value and gradient", gradient


def in_jax(x: Any) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Yield the same for JAX, under ``jit``."""
    import jax

    jax.config.update("jax_enable_x64", True)
    f = sg.to_jax(squares)
    value, both = jax.jit(f), jax.jit(jax.value_and_grad(f))
    array = jax.numpy.asarray(x)
    yield "JAX, `jit`", "value", lambda: value(array).block_until_ready()
    yield "JAX, `jit`", "value and gradient", lambda: jax.block_until_ready(both(array))
    shape = jax.ShapeDtypeStruct((), array.dtype)
    own = jax.jit(lambda x: jax.numpy.sum(x**2))
    called = jax.jit(lambda x: jax.pure_callback(lambda x: squares(np.asarray(x)), shape, x))
    yield "JAX, `jit`", "value by `jax.numpy`", lambda: own(array).block_until_ready()
    yield "JAX, `jit`", "value by `jax.pure_callback`", lambda: called(array).block_until_ready()


def in_pytensor(x: Any) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Yield the same for PyTensor, compiled by its default mode without Numba."""
    import pytensor
    import pytensor.tensor as pt

    variable = pt.dvector("x")
    result = sg.to_pytensor(squares)(variable)
    mode = pytensor.compile.mode.Mode(linker="vm")
    value = pytensor.function([variable], result, mode=mode)
    both = pytensor.function([variable], [result, pytensor.grad(result, variable)], mode=mode)
    yield "PyTensor", "value", lambda: value(x)
    yield "PyTensor", "value and gradient", lambda: both(x)


BRIDGES = {"torch": in_torch, "jax": in_jax, "pytensor": in_pytensor}


def seconds(call: Callable[[], Any], calls: int) -> float:
    """Return the time of a call."""
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - begin) / calls


def main() -> None:
    """Print the table and its stamp."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=41)
    parser.add_argument("--quick", action="store_true", help="one turn")
    given = parser.parse_args()
    table: dict[tuple[str, str], list[float]] = {}
    for size in SIZES:
        x = np.linspace(0.0, 1.0, size)
        rows = [*alone(x)]
        for library, bridge in BRIDGES.items():
            if find_spec(library) is None:
                print(f"not here: {library}")
            else:
                rows += bridge(x)
        for _, _, call in rows:
            seconds(call, 20)  # compiles
        times: list[list[float]] = [[] for _ in rows]
        for _ in range(1 if given.quick else given.turns):
            for k, (_, _, call) in enumerate(rows):
                times[k].append(seconds(call, 50))
        for (library, name, _), taken in zip(rows, times, strict=True):
            table.setdefault((library, name), []).append(1e6 * min(taken))
    titles = " | ".join(f"{size:,} numbers" for size in SIZES)
    print(f"| called from | result | {titles} |\n| --- | --- |{' ---: |' * len(SIZES)}")
    for (library, name), figures in table.items():
        cells = " | ".join(
            f"{figure:.3g} us" if figure < 1000 else f"{figure:,.0f} us" for figure in figures
        )
        print(f"| {library} | {name} | {cells} |")
    print(f"\n{stamp()}")


if __name__ == "__main__":
    main()
