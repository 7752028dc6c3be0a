"""Gradients of long convolutions and of large Fourier transforms, beside NumPy, SciPy and JAX.

    python examples/benchmarks/signals.py [--quick]

Both are for peers what they have a library for. A row is one program: NumPy's time for its value,
symgrad's and JAX's (if it is installed) for value and gradient, and the gradients' ratios; medians
of calls that take turns, in milliseconds. JAX runs in double precision.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.signal
from _right import Checks, equal
from rich.console import Console
from rich.table import Table

import symgrad as sg

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    jax = jnp = None
else:
    jax.config.update("jax_enable_x64", True)


def convolution(xp: Any) -> Callable[..., Any]:
    return lambda x, w: xp.sum(xp.convolve(x, w) ** 2)


def transforms(xp: Any) -> Callable[..., Any]:
    def filtered(x: Any, h: Any) -> Any:
        return xp.sum(xp.real(xp.fft.ifft2(xp.fft.fft2(x) * h)) ** 2)

    return filtered


def medians(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the milliseconds of calls, which take turns."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            found[name].append(1e3 * (time.perf_counter() - begin))
    return {name: statistics.median(times) for name, times in found.items()}


def measured(program: Callable[[Any], Any], args: tuple[Any, ...], rounds: int) -> dict[str, float]:
    """Return the milliseconds of a program's value and gradients, by whose they are."""
    f = program(np)
    value, gradient = sg.compile(f), sg.grad(f, argnums=(0, 1))
    calls = {
        "NumPy, value": lambda: f(*args),
        "symgrad, value": lambda: value(*args),
        "symgrad, gradient": lambda: gradient(*args),
    }
    if jax is not None:
        theirs, at = program(jnp), [jnp.asarray(x) for x in args]
        fast, slopes = jax.jit(theirs), jax.jit(jax.grad(theirs, argnums=(0, 1)))
        calls["JAX, value"] = lambda: fast(*at).block_until_ready()
        calls["JAX, gradient"] = lambda: jax.block_until_ready(slopes(*at))
        for ours, wanted in zip(gradient(*args), slopes(*at), strict=True):
            np.testing.assert_allclose(ours, wanted, rtol=1e-8, atol=1e-8 * np.abs(wanted).max())
    return medians(calls, rounds)


def inputs(quick: bool) -> dict[str, tuple[Callable[[Any], Callable[..., Any]], tuple[Any, ...]]]:
    """Return programs with arguments."""
    rng = np.random.default_rng(0)
    points, width, side = (4_000, 16, 48) if quick else (400_000, 64, 768)
    return {
        f"convolve, {points:,} by {width} points": (
            convolution, (rng.normal(size=points), rng.normal(size=width))
        ),
        f"ifft2(fft2(x)*h), {side} by {side} points": (
            transforms, (rng.normal(size=(side, side)), rng.normal(size=(side, side)))
        ),
    }  # fmt: skip


def by_formulas(program: Any, x: Any, w: Any) -> tuple[Any, Any]:
    """Return the gradients by correlations, and by the transforms' adjoints."""
    if program is convolution:
        y = 2 * np.convolve(x, w)
        return np.correlate(y, w, "valid"), scipy.signal.correlate(y, x, "valid", "fft")
    spectrum = np.fft.fft2(x)
    back = np.fft.fft2(2 * np.real(np.fft.ifft2(spectrum * w))) / x.size
    return np.real(np.fft.ifft2(back * w)) * x.size, np.real(np.conj(spectrum) * back)


def checks() -> Checks:
    """Compare values with NumPy's, and gradients with formulas by hand."""

    def check(program: Any, args: tuple[Any, ...]) -> None:
        f = program(np)
        value, found = sg.value_and_grad(f, argnums=(0, 1))(*args)
        equal(value, f(*args), 1e-10)
        for got, wanted in zip(found, by_formulas(program, *args), strict=True):
            equal(got, wanted, 1e-10)

    return {name: lambda given=given: check(*given) for name, given in inputs(False).items()}  # type: ignore[misc]


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, few calls")
    quick = parser.parse_args().quick
    table = Table("program", title="Milliseconds, and the ratio of JAX's gradient to symgrad's")
    names = ["NumPy, value", "symgrad, value", "symgrad, gradient", "JAX, value", "JAX, gradient"]
    for name in (*names, "ratio"):
        table.add_column(name, justify="right")
    for said, (program, args) in inputs(quick).items():
        found = measured(program, args, 3 if quick else 15)
        cells = [f"{found[name]:.3g}" if name in found else "-" for name in names]
        ratio = found.get("JAX, gradient", np.nan) / found["symgrad, gradient"]
        table.add_row(said, *cells, "-" if np.isnan(ratio) else f"{ratio:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
