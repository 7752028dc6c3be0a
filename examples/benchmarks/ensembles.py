"""Ensembles: many trajectories, or many fits, each with as many steps as it needs.

    python examples/benchmarks/ensembles.py [--quick]

The solvers are plain NumPy over ``sg.while_loop``, for one example, under ``sg.vmap``. Peers are
the same arithmetic one example after the other (a compiled function, called in a loop), by hand in
Numba (``prange`` over examples, scalar code), and SciPy on a few of them. Times
are the best of several calls, after the first.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import scipy.integrate
import scipy.optimize
from _right import Checks, equal
from rich.console import Console
from rich.table import Table

import symgrad as sg

# ---------------------------------------------------------------- trajectories

# Dormand and Prince's method of order 5(4), J. Comput. Appl. Math. 6, 1980.
A = (
    (1 / 5,), (3 / 40, 9 / 40), (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)  # fmt: skip
E = (71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
TOLERANCE = 1e-8


def lorenz(y: Any) -> Any:
    return 10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]


def predators(y: Any) -> Any:
    return 1.5 * y[0] - y[0] * y[1], y[0] * y[1] - 3 * y[1]


def weighted(row: Any, stages: Any) -> Any:
    return sum(a * k for a, k in zip(row, stages, strict=False) if a)


def trajectory(f: Callable[..., Any], end: float) -> Callable[..., Any]:
    """Return the state at ``end`` and the number of steps, as a function of the first state."""

    def step(state: Any) -> Any:
        t, y, h, count = state
        h = np.minimum(h, end - t)
        stages = [np.stack(f(y))]
        for row in A:
            new = y + h * weighted(row, stages)
            stages.append(np.stack(f(new)))
        error = h * weighted(E, stages)
        scale = TOLERANCE * (1 + np.maximum(np.abs(y), np.abs(new)))
        size = np.sqrt(np.mean((error / scale) ** 2))
        grow = np.clip(0.9 * np.maximum(size, 1e-10) ** -0.2, 0.2, 5.0)
        good = size <= 1
        return np.where(good, t + h, t), np.where(good, new, y), h * grow, count + 1

    def solved(y: Any) -> Any:
        first = np.stack([y[k] for k in range(len(y))])
        final = sg.while_loop(lambda s: s[0] < end, step, (0.0 * y[0], first, 1e-3, 0))
        return final[1], final[3]

    return solved


def by_hand(f: Callable[..., Any], end: float, size: int) -> Callable[..., Any]:
    """Return the same of all first states, in Numba."""
    slope = numba.njit(f)
    table = np.zeros((7, 7))
    for k, row in enumerate(A, 1):
        table[k, : len(row)] = row
    weights = np.array(E)

    @numba.njit(parallel=True)
    def solved(starts: Any) -> Any:
        results = np.empty_like(starts)
        for n in numba.prange(len(starts)):
            y, new, error = starts[n].copy(), np.empty(size), np.empty(size)
            stages = np.empty((7, size))
            t, h = 0.0, 1e-3
            while t < end:
                h = min(h, end - t)
                for k in range(7):
                    for j in range(size):
                        total = 0.0
                        for i in range(k):
                            total += table[k, i] * stages[i, j]
                        new[j] = y[j] + h * total
                    stages[k] = slope(new)
                square = 0.0
                for j in range(size):
                    total = 0.0
                    for i in range(7):
                        total += weights[i] * stages[i, j]
                    error[j] = h * total
                    scale = TOLERANCE * (1 + max(abs(y[j]), abs(new[j])))
                    square += (error[j] / scale) ** 2
                norm = np.sqrt(square / size)
                if norm <= 1:
                    t += h
                    y[:] = new
                h *= min(max(0.9 * max(norm, 1e-10) ** -0.2, 0.2), 5.0)
            results[n] = y
        return results

    return solved


def ensemble(f: Callable[..., Any], end: float, starts: Any, few: int) -> dict[str, float]:
    """Return the seconds for each trajectory."""
    solve = trajectory(f, end)
    batched, alone = sg.compile(sg.vmap(solve)), sg.compile(solve)
    hand, some = by_hand(f, end, starts.shape[1]), starts[:few]
    equal(batched(some)[0], hand(some), 1e-5)

    def by_scipy() -> None:
        for y in some[:5]:
            scipy.integrate.solve_ivp(
                lambda t, y: f(y), (0, end), y, rtol=TOLERANCE, atol=TOLERANCE
            )

    return {
        "vmap": best(batched, starts) / len(starts),
        "one by one": best(lambda: [alone(y) for y in some]) / few,
        "Numba, prange": best(hand, starts) / len(starts),
        "SciPy": best(by_scipy, calls=1) / 5,
    }


def starts(count: int) -> dict[str, tuple[Callable[..., Any], float, Any]]:
    """Return slopes, times at the end, and first states, by problem."""
    rng = np.random.default_rng(0)
    swarm = rng.normal(size=(count, 3)) + np.array([0, 0, 20.0])
    herds = rng.uniform(0.5, 3, (count, 2))
    return {
        "Lorenz to t = 2": (lorenz, 2.0, swarm),
        "Lotka-Volterra to t = 10": (predators, 10.0, herds),
    }


def trajectories(quick: bool) -> list[tuple[str, int, dict[str, float]]]:
    """Return the seconds for each trajectory, by problem."""
    count, few = (2_000, 100) if quick else (100_000, 1000)
    return [(name, count, ensemble(*given, few)) for name, given in starts(count).items()]


# ---------------------------------------------------------------- fits

TIMES = np.linspace(0, 3, 20)
MOST = 50


def fitted(y: Any) -> Any:
    """Fit ``a exp(-k t) + c`` to ``y`` by Levenberg's and Marquardt's method."""
    times = np.linspace(0, 3, 20)

    def residual(p: Any) -> Any:
        return p[0] * np.exp(-p[1] * times) + p[2] - y

    def goes_on(state: Any) -> Any:
        return (state[4] < MOST) & ~state[3]

    def step(state: Any) -> Any:
        p, r, damping, _, count = state
        slopes = sg.jacobian(residual)(p)
        normal, down = slopes.T @ slopes, slopes.T @ r
        m = [[normal[i, j] * (1 + damping if i == j else 1) for j in range(3)] for i in range(3)]
        # The inverse of a symmetric matrix by its cofactors.
        a, b, c = m[1][1] * m[2][2] - m[1][2] ** 2, m[0][2] * m[1][2] - m[0][1] * m[2][2], 0
        c = m[0][1] * m[1][2] - m[0][2] * m[1][1]
        d, e = m[0][0] * m[2][2] - m[0][2] ** 2, m[0][1] * m[0][2] - m[0][0] * m[1][2]
        g = m[0][0] * m[1][1] - m[0][1] ** 2
        det = m[0][0] * a + m[0][1] * b + m[0][2] * c
        move = -np.stack([
            a * down[0] + b * down[1] + c * down[2],
            b * down[0] + d * down[1] + e * down[2],
            c * down[0] + e * down[1] + g * down[2],
        ]) / det  # fmt: skip
        new = residual(p + move)
        before, after = np.sum(r * r), np.sum(new * new)
        good = after < before
        small = np.max(np.abs(move) / (np.abs(p) + 1e-8)) < 1e-8
        ends = small | (np.abs(before - after) < 1e-12 * before)
        damping = np.where(good, damping * 0.2, damping * 5.0)
        return np.where(good, p + move, p), np.where(good, new, r), damping, ends, count + 1

    first = np.stack([1.0, 1.0, 0.0 * y[0]])
    final = sg.while_loop(goes_on, step, (first, residual(first), 1e-2, False, 0))
    return final[0], final[4]


@numba.njit(parallel=True)
def fits_by_hand(times: Any, data: Any) -> Any:
    found = np.empty((len(data), 3))
    for n in numba.prange(len(data)):
        y, p, new = data[n], np.array([1.0, 1.0, 0.0]), np.empty(3)
        damping, before = 1e-2, 0.0
        for k in range(len(times)):
            before += (p[0] * np.exp(-p[1] * times[k]) + p[2] - y[k]) ** 2
        for _ in range(MOST):
            s00 = s01 = s02 = s11 = s12 = d0 = d1 = d2 = 0.0
            for k in range(len(times)):
                u = np.exp(-p[1] * times[k])
                v = -p[0] * times[k] * u
                r = p[0] * u + p[2] - y[k]
                s00 += u * u
                s01 += u * v
                s02 += u
                s11 += v * v
                s12 += v
                d0 += u * r
                d1 += v * r
                d2 += r
            s22 = float(len(times))
            m00, m11, m22 = s00 * (1 + damping), s11 * (1 + damping), s22 * (1 + damping)
            a, b, c = m11 * m22 - s12**2, s02 * s12 - s01 * m22, s01 * s12 - s02 * m11
            d, e, g = m00 * m22 - s02**2, s01 * s02 - m00 * s12, m00 * m11 - s01**2
            det = m00 * a + s01 * b + s02 * c
            new[0] = p[0] - (a * d0 + b * d1 + c * d2) / det
            new[1] = p[1] - (b * d0 + d * d1 + e * d2) / det
            new[2] = p[2] - (c * d0 + e * d1 + g * d2) / det
            after, small = 0.0, 0.0
            for k in range(len(times)):
                after += (new[0] * np.exp(-new[1] * times[k]) + new[2] - y[k]) ** 2
            for k in range(3):
                small = max(small, abs(new[k] - p[k]) / (abs(p[k]) + 1e-8))
            ends = small < 1e-8 or abs(before - after) < 1e-12 * before
            if after < before:
                p[:] = new
                before = after
                damping *= 0.2
            else:
                damping *= 5.0
            if ends:
                break
        found[n] = p
    return found


def noisy(count: int) -> Any:
    """Return data to fit."""
    rng = np.random.default_rng(0)
    true = np.stack([rng.uniform(1, 3, count), rng.uniform(0.5, 2, count),
                     rng.uniform(0, 0.5, count)], 1)  # fmt: skip
    data = true[:, :1] * np.exp(-true[:, 1:2] * TIMES) + true[:, 2:]
    return data + rng.normal(0, 0.01, data.shape)


def fits(quick: bool) -> tuple[str, int, dict[str, float]]:
    """Return the seconds for each fit."""
    count = 10_000 if quick else 1_000_000
    data = noisy(count)
    batched, alone = sg.compile(sg.vmap(fitted)), sg.compile(fitted)
    found, steps = batched(data)
    assert np.median(np.abs(found - fits_by_hand(TIMES, data))) < 1e-6
    few = data[:500]

    def model(t: Any, a: Any, k: Any, c: Any) -> Any:
        return a * np.exp(-k * t) + c

    times = {
        "vmap": best(batched, data) / count,
        "one by one": best(lambda: [alone(y) for y in few]) / len(few),
        "Numba, prange": best(fits_by_hand, TIMES, data) / count,
        "SciPy": best(lambda: [
            scipy.optimize.curve_fit(model, TIMES, y, [1.0, 1.0, 0.0]) for y in few
        ], calls=1) / len(few),
    }  # fmt: skip
    return f"fits of three parameters, {steps.mean():.1f} steps", count, times


# ---------------------------------------------------------------- everything


def best(function: Callable[..., Any], *arguments: Any, calls: int = 3) -> float:
    """Return the least seconds of several calls."""
    if calls > 1:
        function(*arguments)
    found = []
    for _ in range(calls):
        begin = time.perf_counter()
        function(*arguments)
        found.append(time.perf_counter() - begin)
    return min(found)


def checks() -> Checks:
    """Compare all examples with those of the code by hand."""

    def solved(f: Any, end: float, states: Any) -> None:
        found = sg.compile(sg.vmap(trajectory(f, end)))(states)[0]
        equal(found, by_hand(f, end, states.shape[1])(states), 1e-5)

    def fitted_all() -> None:
        data = noisy(200_000)
        apart = np.abs(sg.compile(sg.vmap(fitted))(data)[0] - fits_by_hand(TIMES, data))
        # A step that is just accepted by one, and not by the other, leads elsewhere.
        assert np.quantile(apart, 0.999) < 1e-6

    found: Checks = {name: lambda g=g: solved(*g) for name, g in starts(100_000).items()}  # type: ignore[misc]
    return found | {"fits": fitted_all}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer examples")
    quick = parser.parse_args().quick
    table = Table(title=f"Ensembles, {numba.get_num_threads()} threads")
    for name in ("problem", "examples", "way", "us each", "per second", "of vmap"):
        table.add_column(name, justify="left" if name in ("problem", "way") else "right")
    for name, count, times in [*trajectories(quick), fits(quick)]:
        for way, seconds in times.items():
            first = way == "vmap"
            table.add_row(
                name if first else "", f"{count:,}" if first else "", way, f"{1e6 * seconds:.2f}",
                f"{1 / seconds:,.0f}", f"{seconds / times['vmap']:.2f}",
            )  # fmt: skip
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
