"""Gradients of a fit to differential equations, in reverse and in forward mode.

    python examples/benchmarks/ode_fits.py [--quick]

The loss of 20 parameters, four species of Lotka and Volterra over 20 times, by
reverse mode (with less memory, too) and forward mode, beside diffrax where it is installed. The
error is against central differences of order 6 of SciPy's DOP853 at 3e-14. Each row is a process
of its own: memory is by how much its largest size grows from before the first call.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy.integrate
from _right import Checks, equal
from rich.console import Console
from rich.table import Table

import symgrad as sg
from symgrad.scipy.integrate import solve_ivp

TIMES = np.linspace(0.5, 10.0, 20)
START = np.array([1.0, 0.8, 0.6, 0.4])
RATES = np.array([1.0, 0.7, 1.5, 1.2])
MATRIX = np.array([
    [1.0, 1.1, 1.5, 0.1], [0.1, 0.7, 0.4, 1.0], [2.3, 0.2, 1.5, 0.6], [1.2, 0.4, 0.3, 1.2],
])  # fmt: skip
TRUTH = np.concatenate([RATES, -MATRIX.ravel()])
GUESS = TRUTH * (1 + 0.05 * np.cos(np.arange(20)))
TOLERANCE = 1e-8


def species(t: Any, y: Any, p: Any) -> Any:
    return y * (p[:4] + p[4:].reshape(4, 4) @ y)


def exact_states(p: Any) -> Any:
    return scipy.integrate.solve_ivp(
        species, (0, 10), START, "DOP853", TIMES, args=(p,), rtol=3e-14, atol=1e-15
    ).y


def data() -> Any:
    return exact_states(TRUTH)


def loss_by(solve: Callable[..., Any], p: Any, wanted: Any, **options: Any) -> Any:
    """Return the sum of squares of what is left of the data."""
    found = solve(
        species, (0.0, 10.0), START, "Tsit5", TIMES, args=(p,), rtol=TOLERANCE, atol=TOLERANCE,
        **options,
    )  # fmt: skip
    return np.sum((found.y - wanted) ** 2)


def symgrad_way(kind: str) -> Callable[[Any], Any]:
    wanted = data()
    memory = 20_000 if kind == "reverse, 20 kB" else None

    def loss(p: Any) -> Any:
        return loss_by(solve_ivp, p, wanted, memory=memory)

    if kind == "value":
        return sg.compile(loss)
    return sg.jacobian(loss) if kind == "forward" else sg.grad(loss)


def forward_way() -> Callable[[Any], Any]:
    """Return the gradient by sensitivities that are carried along."""
    wanted = data()

    def left(p: Any) -> Any:
        return solve_ivp(
            species, (0.0, 10.0), START, "Tsit5", TIMES, args=(p,), rtol=TOLERANCE, atol=TOLERANCE
        ).y

    both = sg.compile(lambda p: (left(p), sg.jacobian(left)(p)))

    def gradient(p: Any) -> Any:
        y, slopes = both(p)
        return np.einsum("it,itk->k", 2 * (y - wanted), slopes)

    return gradient


def diffrax_way(kind: str) -> Callable[[Any], Any]:
    import diffrax
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    wanted = jnp.array(data().T)
    adjoint = diffrax.ForwardMode() if kind == "forward" else diffrax.RecursiveCheckpointAdjoint()

    def loss(p: Any) -> Any:
        found = diffrax.diffeqsolve(
            diffrax.ODETerm(species), diffrax.Tsit5(), 0.0, 10.0, None, jnp.array(START), p,
            saveat=diffrax.SaveAt(ts=jnp.array(TIMES)), max_steps=4096, adjoint=adjoint,
            stepsize_controller=diffrax.PIDController(TOLERANCE, TOLERANCE),
        )  # fmt: skip
        return jnp.sum((found.ys - wanted) ** 2)

    made = {"value": lambda f: f, "forward": jax.jacfwd, "reverse": jax.grad}[kind](loss)
    run = jax.jit(made)
    return lambda p: np.asarray(run(p))


WAYS: dict[str, Callable[[], Callable[[Any], Any]]] = {
    "symgrad, value": lambda: symgrad_way("value"),
    "symgrad, reverse": lambda: symgrad_way("reverse"),
    "symgrad, reverse in 20 kB": lambda: symgrad_way("reverse, 20 kB"),
    "symgrad, forward": forward_way,
    "diffrax, value": lambda: diffrax_way("value"),
    "diffrax, reverse": lambda: diffrax_way("reverse"),
    "diffrax, forward": lambda: diffrax_way("forward"),
}


def best_of(call: Callable[[], Any], budget: float) -> float:
    """Return the best time of a call."""
    best, begun = np.inf, time.perf_counter()
    while time.perf_counter() - begun < budget or best == np.inf:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def measure(name: str, budget: float) -> None:
    """Print what a way takes, as JSON."""
    gradient = WAYS[name]()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    found = np.asarray(gradient(GUESS))
    first = time.perf_counter() - start
    best = best_of(lambda: gradient(GUESS), budget)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(json.dumps([found.tolist(), first, best, grown]))


def exact_gradient() -> Any:
    """Return the gradient by central differences of order 6."""
    wanted = data()
    exact = np.empty(20)
    for k, e in enumerate(np.eye(20) * 2e-3):
        near, far, farther = (
            np.sum((exact_states(GUESS + m * e) - wanted) ** 2)
            - np.sum((exact_states(GUESS - m * e) - wanted) ** 2)
            for m in (1, 2, 3)
        )
        exact[k] = (45 * near - 9 * far + farther) / (60 * 2e-3)
    return exact


def checks() -> Checks:
    """Compare symgrad's gradients with differences."""
    ours = [name for name in WAYS if name.startswith("symgrad") and not name.endswith("value")]
    return {name: lambda name=name: equal(WAYS[name]()(GUESS), exact_gradient(), 1e-5)  # type: ignore[misc]
            for name in ours}  # fmt: skip


def gradients(console: Console, budget: float) -> None:
    exact = exact_gradient()
    table = Table("20 parameters, Tsit5 at 1e-8", "time", "first call", "memory", "error")
    for name in WAYS:
        done = subprocess.run(
            [sys.executable, __file__, "--measure", name, "--budget", str(budget)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            console.print(f"{name}: {done.stderr.strip().splitlines()[-1]}")
            continue
        found, first, best, grown = json.loads(done.stdout.strip().splitlines()[-1])
        error = ""
        if np.shape(found):
            error = f"{np.max(np.abs(found - exact)) / np.max(np.abs(exact)):.0e}"
        table.add_row(name, f"{best * 1e6:,.0f} us", f"{first:.2f} s", f"{grown:.1f} MB", error)
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="short")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--budget", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.measure, given.budget)
        return
    console, budget = Console(), 0.1 if given.quick else 0.5
    gradients(console, budget)


if __name__ == "__main__":
    main()
