"""Universal functions over many rows, beside NumPy, Numba and JAX.

    python examples/benchmarks/scale.py [--quick] [--rows 10_000_000]

A function of one row is applied to all: a price of four numbers, a distance of points, value and
gradient of a loss of four numbers. NumPy has the expression of whole arrays, Numba a loop by hand
under ``guvectorize`` (gradients by hand, too), JAX ``jit(vmap(f))`` on arrays of its own. All take
turns; shown is the least of several calls after the first, on the clock and of all threads
together, and how many times symgrad's it is: on the clock with as many threads, of all threads
with one. The latter tells more on a busy machine; the last column is JAX's over it.

New memory has to be cleared by the system first. symgrad's results have the memory of those that
are gone, as ``out=`` has the caller's; NumPy's, Numba's and JAX's are new in each call.

Below are bounds, in the time of all threads. "Memory alone": NumPy's sums of the same arrays, and
NumPy's constants in the place of the results, new ones and those of before. "Divisions alone": the
function's divisions and roots in a universal function, without its exponentials and logarithms.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from _right import Checks
from rich.console import Console
from rich.table import Table
from stamps import stamp

import symgrad as sg


def price(s: Any, k: Any, t: Any, v: Any, xp: Any = np) -> Any:
    """A call option by a logistic approximation of the normal distribution."""
    root = v * xp.sqrt(t)
    d = (xp.log(s / k) + 0.03 * t) / root + 0.5 * root
    cdf = lambda z: 1.0 / (1.0 + xp.exp(-1.702 * z))  # noqa: E731
    return s * cdf(d) - k * xp.exp(-0.03 * t) * cdf(d - root)


def divisions(s: Any, k: Any, t: Any, v: Any) -> Any:
    """The four divisions and the root of a price."""
    root = v * np.sqrt(t)
    d = (s / k + 0.03 * t) / root
    return s * (1.0 / (1.0 + d)) - k * (1.0 / (1.0 + d - root))


def distance(p: Any, q: Any, xp: Any = np) -> Any:
    return xp.sqrt(xp.sum((p - q) ** 2, axis=-1))


def loss(x: Any, xp: Any = np) -> Any:
    return xp.sum(
        100.0 * (x[..., 1:] - x[..., :-1] ** 2) ** 2 + (1 - x[..., :-1]) ** 2 + xp.exp(-x[..., 1:]),
        axis=-1,
    )


def loss_and_gradient(x: Any) -> tuple[Any, Any]:
    """The gradient by hand, for NumPy."""
    a, b = x[..., 1:] - x[..., :-1] ** 2, 1 - x[..., :-1]
    gradient = np.zeros_like(x)
    gradient[..., :-1] -= 400 * a * x[..., :-1] + 2 * b
    e = np.exp(-x[..., 1:])
    gradient[..., 1:] += 200 * a - e
    return np.sum(100 * a * a + b * b + e, axis=-1), gradient


def price_by_hand(s, k, t, v, out):  # type: ignore[no-untyped-def]
    root = v[0] * math.sqrt(t[0])
    d = (math.log(s[0] / k[0]) + 0.03 * t[0]) / root + 0.5 * root
    first = 1.0 / (1.0 + math.exp(-1.702 * d))
    second = 1.0 / (1.0 + math.exp(-1.702 * (d - root)))
    out[0] = s[0] * first - k[0] * math.exp(-0.03 * t[0]) * second


def distance_by_hand(p, q, out):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(p.shape[0]):
        total += (p[i] - q[i]) ** 2
    out[0] = math.sqrt(total)


def loss_by_hand(x, value, gradient):  # type: ignore[no-untyped-def]
    total = 0.0
    gradient[0] = 0.0
    for i in range(x.shape[0] - 1):
        a, b, e = x[i + 1] - x[i] * x[i], 1.0 - x[i], math.exp(-x[i + 1])
        total += 100.0 * a * a + b * b + e
        gradient[i] -= 400.0 * a * x[i] + 2.0 * b
        gradient[i + 1] = 200.0 * a - e
    value[0] = total


#: What reads the same memory, writes results as large, new or kept, and computes nothing.
MEMORY, KEPT = "memory alone", "memory alone, results kept"

#: What divides and takes roots as often, and computes nothing else.
DIVISIONS = "divisions alone"

BOUNDS = (MEMORY, KEPT, DIVISIONS)

#: Those that use several threads.
SEVERAL = ("symgrad", "Numba by hand, parallel", "JAX vmap")


class Problem(NamedTuple):
    """A function of a row: for symgrad, for NumPy and JAX, by hand for Numba; and its shapes."""

    one: Callable[..., Any]
    whole: Callable[..., Any]
    jax: Callable[[Any, Any], Callable[..., Any]]
    by_hand: Callable[..., Any]
    types: str
    signature: str
    columns: tuple[int, ...]
    divisions: Callable[..., Any] | None = None


PROBLEMS = {
    "price": Problem(
        lambda s, k, t, v: price(s, k, t, v), price,
        lambda jax, jnp: lambda s, k, t, v: price(s, k, t, v, jnp),
        price_by_hand, "void(f8[:],f8[:],f8[:],f8[:],f8[:])", "(),(),(),()->()", (0, 0, 0, 0),
        lambda s, k, t, v: divisions(s, k, t, v),
    ),
    "distance, 3 coordinates": Problem(
        lambda p, q: distance(p, q), distance,
        lambda jax, jnp: lambda p, q: distance(p, q, jnp),
        distance_by_hand, "void(f8[:],f8[:],f8[:])", "(n),(n)->()", (3, 3),
    ),
    "value and gradient, 4 variables": Problem(
        sg.value_and_grad(lambda x: loss(x)), loss_and_gradient,
        lambda jax, jnp: jax.value_and_grad(lambda x: loss(x, jnp)),
        loss_by_hand, "void(f8[:],f8[:],f8[:])", "(n)->(),(n)", (4,),
    ),
}  # fmt: skip


def jax_call(problem: Problem, given: list[Any]) -> Callable[[], Any] | None:
    if importlib.util.find_spec("jax") is None:
        return None
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    f = jax.jit(jax.vmap(problem.jax(jax, jnp)))
    arrays = [jnp.asarray(x) for x in given]
    return lambda: jax.block_until_ready(f(*arrays))


def calls(problem: Problem, given: list[Any]) -> dict[str, Callable[[], Any]]:
    """Return what is timed, by name."""
    one = sg.gufunc(problem.one, problem.signature, parallel=False)
    batch = sg.compile(sg.vmap(problem.one), parallel=False)
    out = one(*given)
    several = sg.gufunc(problem.one, problem.signature)
    hand = numba.guvectorize([problem.types], _of_vectors(problem.signature))
    parallel = numba.guvectorize([problem.types], _of_vectors(problem.signature), target="parallel")
    vectors = [x if x.ndim > 1 else x[:, np.newaxis] for x in given]
    by_hand, by_all = hand(problem.by_hand), parallel(problem.by_hand)
    found: dict[str, Callable[[], Any]] = {
        "symgrad, 1 thread": lambda: one(*given),
        "symgrad, 1 thread, out=": lambda: one(*given, out=out),
        "symgrad's vmap, 1 thread": lambda: batch(*given),
        "NumPy": lambda: problem.whole(*given),
        "Numba by hand": lambda: by_hand(*vectors),
        "symgrad": lambda: several(*given),
        "Numba by hand, parallel": lambda: by_all(*vectors),
    }
    jax = jax_call(problem, given)
    found |= {} if jax is None else {"JAX vmap": jax}
    found[MEMORY] = lambda: ([x.sum() for x in given], [np.full(x.shape, 1.0) for x in _each(out)])
    found[KEPT] = lambda: ([x.sum() for x in given], [x.fill(1.0) for x in _each(out)])
    if problem.divisions is not None:
        alone = sg.gufunc(problem.divisions, problem.signature, parallel=False)
        found[DIVISIONS] = lambda: alone(*given)
    return found


def _of_vectors(signature: str) -> str:
    """Give numbers an axis of one, as guvectorize takes arrays."""
    inputs, outputs = signature.split("->")
    return f"{inputs.replace('()', '(one)')}->{outputs}"


def measured(turns: dict[str, Callable[[], Any]], rounds: int) -> dict[str, tuple[float, float]]:
    """Return the least time of each, on the clock and of all threads together; they take turns."""
    best = dict.fromkeys(turns, (math.inf, math.inf))
    for _ in range(rounds):
        for name, call in turns.items():
            start, begun = time.perf_counter(), time.process_time()
            call()
            took = time.perf_counter() - start, time.process_time() - begun
            best[name] = min(best[name][0], took[0]), min(best[name][1], took[1])
    return best


def compared(problem: Problem, rows: int, rounds: int) -> dict[str, tuple[float, float]]:
    """Return the times for so many rows, of results that are equal."""
    rng = np.random.default_rng(0)
    given = [rng.uniform(0.5, 1.5, (rows, n) if n else rows) for n in problem.columns]
    turns = calls(problem, given)
    first: list[Any] = []
    for name, call in turns.items():
        if name in BOUNDS:
            continue
        found = [np.asarray(x) for x in _each(call())]
        first = first or found
        for x, right in zip(found, first, strict=True):
            np.testing.assert_allclose(x, right, rtol=1e-9, atol=1e-9, err_msg=name)
    del first, found
    return measured(turns, rounds)


def checks() -> Checks:
    """Compare the results of all."""
    return {name: lambda p=p: compared(p, 2_000_000, 0) and None for name, p in PROBLEMS.items()}  # type: ignore[misc]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    rows, rounds = (10_000, 2) if options.quick else (options.rows, options.rounds)
    for label, problem in PROBLEMS.items():
        table = Table(
            "", "ms", "ratio", "CPU ms", "ratio", "JAX's", title=f"{label}: {rows:,} rows"
        )
        times = compared(problem, rows, rounds)
        for name, (clock, cpu) in times.items():
            ours = times["symgrad" if name in SEVERAL else "symgrad, 1 thread"]
            jax = f"{times['JAX vmap'][1] / cpu:.2f}" if "JAX vmap" in times else ""
            table.add_row(
                name, f"{clock * 1e3:.3g}", f"{clock / ours[0]:.2f}",
                f"{cpu * 1e3:.3g}", f"{cpu / times['symgrad, 1 thread'][1]:.2f}", jax,
            )  # fmt: skip
        Console().print(table)
    print(f"\n{stamp()}")


def _each(result: Any) -> Any:
    return result if isinstance(result, (tuple, list)) else (result,)


if __name__ == "__main__":
    main()
