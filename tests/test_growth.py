"""The first call takes time in proportion to the program: calls of functions are counted, no time.

Programs are written as their authors write them, in Python's loops. Each is compiled at a size, at
twice and at four times that size, and neither all calls nor those of any one stage of the compiler
grow faster than the program.
"""

from __future__ import annotations

import cProfile
import math
import pstats
import re
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgrad as sg

#: Calls may grow by so much from one size to its double, as an exponent.
MOST = 1.1

#: Stages with fewer calls than this part of all may begin late, where programs get long enough.
LEAST = 0.04

Case = tuple[Callable[..., Any], tuple[Any, ...]]


def collocation(n: int) -> Case:
    """Direct collocation of a pendulum, of degree 3."""
    d, h, w = 3, 1.0 / n, 9
    rng = np.random.default_rng(0)
    slopes, ends = rng.normal(size=(d + 1, d + 1)), rng.normal(size=d + 1)

    def defects(z: Any) -> Any:
        out = []
        for k in range(n):
            xs = [z[k * w + 2 * j : k * w + 2 * j + 2] for j in range(d + 1)]
            u = z[k * w + 8]
            for j in range(1, d + 1):
                p = 0
                for r in range(d + 1):
                    p = p + slopes[r, j] * xs[r]
                f = np.array([xs[j][1], u - np.sin(xs[j][0]) - 0.2 * xs[j][1]])
                out.append(h * f - p)
            e = 0
            for r in range(d + 1):
                e = e + ends[r] * xs[r]
            out.append(z[(k + 1) * w : (k + 1) * w + 2] - e)
        return np.concatenate(out)

    return sg.jacobian(defects, sparse=True), (np.linspace(0, 1, n * w + 2),)


def _shooting(n: int) -> tuple[Callable[[Any], Any], Any]:
    """Multiple shooting with a step of Runge-Kutta's for each interval."""
    h = 1.0 / n

    def ode(x: Any, u: Any) -> Any:
        return np.array([x[1], u[0] - x[1] * 0.5 - 0.1 * np.sin(x[0]), x[0] * u[1]])

    def gaps(z: Any) -> Any:
        out = []
        for k in range(n):
            x, u = z[5 * k : 5 * k + 3], z[5 * k + 3 : 5 * k + 5]
            k1 = ode(x, u)
            k2 = ode(x + h / 2 * k1, u)
            k3 = ode(x + h / 2 * k2, u)
            k4 = ode(x + h * k3, u)
            out.append(z[5 * k + 5 : 5 * k + 8] - (x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)))
        return np.concatenate(out)

    return gaps, np.linspace(0, 1, 5 * (n + 1))


def shooting(n: int) -> Case:
    gaps, z = _shooting(n)
    return sg.jacobian(gaps, sparse=True), (z,)


def shooting_hessian(n: int) -> Case:
    gaps, z = _shooting(n)
    return sg.hessian(lambda z: np.sum(gaps(z) ** 2), sparse=True), (z,)


def network(n: int) -> Case:
    """Flows along the edges of a graph, added up at its nodes."""
    rng = np.random.default_rng(1)
    m = 2 * n
    a = rng.integers(0, n, m)
    b, w = (a + 1 + rng.integers(0, n - 1, m)) % n, rng.normal(size=m)

    def flows(v: Any) -> Any:
        r = np.zeros(n)
        for k in range(m):
            t = w[k] * np.sin(v[a[k]] - v[b[k]])
            r[a[k]] += t
            r[b[k]] -= t
        return r

    return sg.jacobian(flows, sparse=True), (np.linspace(1, 2, n),)


def products(n: int) -> Case:
    """A sum of products of pairs of variables."""
    rng = np.random.default_rng(0)
    i, j, c = rng.integers(0, 96, n), rng.integers(0, 96, n), rng.normal(size=n)

    def total(x: Any) -> Any:
        s = 0.0
        for k in range(n):
            s = s + c[k] * x[i[k]] * x[j[k]]
        return s

    return sg.hessian(total, sparse=True), (np.linspace(1, 2, 96),)


def parameters(n: int) -> Case:
    """Weights in a dictionary."""
    weights = {f"w{k}": np.ones((3, 2)) * k for k in range(n)}
    return sg.grad(lambda d: sum(np.sum(np.tanh(d[k])) for k in d)), (weights,)


def layers(n: int) -> Case:
    def network(ws: Any, x: Any) -> Any:
        for w in ws:
            x = np.tanh(w @ x)
        return np.sum(x)

    ws = [np.eye(3) * (0.9 + 0.001 * k) for k in range(n)]
    return sg.grad(network), (ws, np.ones(3))


def pairs(n: int) -> Case:
    """A potential between neighbours in a chain, and between those two apart."""

    def energy(p: Any) -> Any:
        e = 0.0
        for i in range(n):
            for j in range(max(i - 2, 0), i):
                e = e + 1.0 / np.sqrt(np.sum((p[i] - p[j]) ** 2) + 0.1)
        return e

    return sg.grad(energy), (np.random.default_rng(0).normal(size=(n, 2)),)


def straight(n: int) -> Case:
    """Operations on numbers, each of the last few values."""

    def value(x: Any) -> Any:
        rng = np.random.default_rng(0)
        values = [x[k] for k in range(8)]
        for _ in range(n):
            a, b = (values[-1 - int(rng.integers(min(30, len(values))))] for _ in range(2))
            kind = int(rng.integers(3))
            values.append((0.5 * (a + b), np.sin(a), np.exp(-a * b))[kind])
        return values[-1]

    return sg.value_and_grad(value), (np.linspace(0.1, 0.9, 8),)


PROGRAMS: dict[Callable[[int], Case], int] = {
    collocation: 16, shooting: 8, shooting_hessian: 16, network: 100, products: 200,
    parameters: 30, layers: 8, pairs: 30, straight: 300,
}  # fmt: skip


def counted(case: Case) -> Counter[str]:
    """Return the calls of a first call: of all, and of each of symgrad's packages."""
    f, args = case
    profile = cProfile.Profile()
    profile.enable()
    f(*args)
    profile.disable()
    statistics = pstats.Stats(profile)
    found = Counter({"all": statistics.total_calls})
    home = str(Path(sg.__file__).parent)
    for (file, _, _), (_, calls, *_) in statistics.stats.items():
        if file.startswith(home):
            found[re.split(r"[/\\.]", file[len(home) + 1 :])[0]] += calls
    return found


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_the_first_call_grows_with_the_program(
    program: Callable[[int], Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMGRAD_CACHE_DIR", "")
    monkeypatch.setenv("SYMGRAD_CHECK", "")
    n = PROGRAMS[program]
    warnings.simplefilter("ignore", sg.errors.SparsityWarning)
    counted(program(n // 2 + 1))  # what is imported, and made once
    few, some, many = (counted(program(k * n)) for k in (1, 2, 4))
    steep = {
        stage: (round(exponent, 2), many[stage])
        for stage in many
        if many[stage] >= LEAST * many["all"]
        and (exponent := math.log2(many[stage] / max(some[stage], 1))) > MOST
    }
    assert not steep
    assert math.log2(some["all"] / few["all"]) < 1.5  # of small programs some passes do nothing
