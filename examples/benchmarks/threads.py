"""What threads give: value and gradient with one thread and with several.

    python examples/benchmarks/threads.py [--threads 2 4 ...] [--size 1.0] [--rounds 30]

The numbers of threads take turns, call by call, so that a busy moment of the machine hits all of
them; shown are medians, and how many times as fast as with one thread. Results must have the
same bits.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")  # only symgrad's own threads are measured

import numpy as np  # noqa: E402
from _right import Checks, along, equal  # noqa: E402
from stamps import stamp  # noqa: E402

import symgrad as sg  # noqa: E402
from symgrad.scipy.special import erf  # noqa: E402


def sincos(a: Any) -> Any:
    return np.sum(np.sin(a) + np.cos(a))


def product(a: Any, b: Any) -> Any:
    return np.sum(a * b)


def black_scholes(s: Any, k: Any, t: Any) -> Any:
    root = 0.3 * np.sqrt(t)
    d = (np.log(s / k) + 0.045 * t) / root
    cdf = lambda z: 0.5 * (1 + erf(z / np.sqrt(2)))  # noqa: E731
    return np.sum(s * cdf(d) - k * cdf(d - root))


def nbody(x: Any) -> Any:
    d = x[:, None, :] - x[None, :, :]
    return np.sum(1 / np.sqrt(np.sum(d * d, axis=-1) + 1e-3))


def diffusion(u: Any) -> Any:
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return np.sum(np.sin(u[1:-1, 1:-1] + 0.1 * (around - 4 * u[1:-1, 1:-1])))


def logistic(w: Any, x: Any, y: Any) -> Any:
    return np.sum(np.log1p(np.exp(-y * (x @ w))))


def cases(size: float) -> dict[str, tuple[Callable[..., Any], list[Any]]]:
    """Return functions with arguments, by name and number of elements."""
    rng = np.random.default_rng(0)
    found: dict[str, tuple[Callable[..., Any], list[Any]]] = {}
    for n in (10_000, 100_000, 1_000_000):
        n = int(n * size)
        found[f"sincos {n}"] = sincos, [rng.random(n)]
        found[f"product {n}"] = product, [rng.random(n), rng.random(n)]
        found[f"black_scholes {n}"] = black_scholes, [rng.random(n) + 0.5 for _ in range(3)]
    side = int(1000 * size**0.5)
    found[f"nbody {side} x {side}"] = nbody, [rng.random((side, 3))]
    found[f"diffusion {side} x {side}"] = diffusion, [rng.random((side, side))]
    rows = int(50_000 * size)
    found[f"logistic {rows} x 20"] = logistic, [
        rng.random(20), rng.random((rows, 20)), np.sign(rng.random(rows) - 0.5),
    ]  # fmt: skip
    return found


def measure(call: Callable[[], Any], counts: list[int], rounds: int) -> dict[int, float]:
    """Return the median time of a call for each number of threads."""
    times: dict[int, list[float]] = {count: [] for count in counts}
    first: list[bytes] | None = None
    for _ in range(rounds):
        for count in counts:
            sg.set_num_threads(count)
            start = time.perf_counter()
            found = call()
            times[count].append(time.perf_counter() - start)
            bits = [np.asarray(x).tobytes() for x in found]
            first = first or bits
            assert bits == first
    return {count: statistics.median(t) for count, t in times.items()}


def checks() -> Checks:
    """Compare one thread with several, bit for bit; values with NumPy's; gradients likewise."""

    def check(f: Callable[..., Any], arguments: list[Any]) -> None:
        g = sg.value_and_grad(f)
        measure(lambda: g(*arguments), [1, 2, 3], 1)
        value, gradient = g(*arguments)
        equal(value, f(*arguments), 1e-11)
        along(f, [gradient], *arguments, step=1e-5)

    return {name: lambda given=given: check(*given) for name, given in cases(1.0).items()}  # type: ignore[misc]


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--threads", type=int, nargs="+", default=[min(os.cpu_count() or 1, 64)])
    options.add_argument("--size", type=float, default=1.0)
    options.add_argument("--rounds", type=int, default=30)
    options.add_argument("--quick", action="store_true", help="small sizes, few rounds")
    chosen = options.parse_args()
    if chosen.quick:
        chosen.size, chosen.rounds = 0.01, 3
    counts = [1, *(c for c in chosen.threads if c > 1)]
    print(f"{'value and gradient':30}{'1 thread':>12}", *(f"{c:>8}" for c in counts[1:]))
    for name, (f, arguments) in cases(chosen.size).items():
        g = sg.value_and_grad(f)
        times = measure(lambda g=g, a=arguments: g(*a), counts, chosen.rounds)  # type: ignore[misc]
        gains = " ".join(f"{times[1] / times[c]:8.2f}" for c in counts[1:])
        print(f"{name:30}{times[1] * 1e3:9.3f} ms {gains}", flush=True)
    print(f"\n{stamp()}")


if __name__ == "__main__":
    main()
