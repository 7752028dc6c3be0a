"""Stiff systems whose Jacobians have a structure: groups, bands, in any order, that change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.scipy.integrate import solve_ivp

RTOL, ATOL = 1e-7, 1e-9


def groups(rng: np.random.Generator, n: int, data: dict[str, Any]) -> Callable[..., Any]:
    """Return a system of groups, of the same size or not, whose members lie anywhere."""
    size = int(rng.integers(1, 11))  # more than are inverted by straight code, too
    count = max(1, n // size)
    data["order"] = rng.permutation(n) if rng.random() < 0.7 else np.arange(n)
    data["rate"] = 10.0 ** rng.uniform(-1, 4, n)
    data["pull"] = rng.normal(size=(size, size))

    def slope(t: Any, y: Any) -> Any:
        z = y[data["order"]]
        inside = z[: count * size].reshape(count, size)
        coupled = np.tanh(inside @ data["pull"]).ravel()
        rest = np.sin(z[count * size :])
        found = -data["rate"] * (z - np.concatenate([coupled, rest]))
        return found[np.argsort(data["order"])]

    return slope


def stencil(rng: np.random.Generator, n: int, data: dict[str, Any]) -> Callable[..., Any]:
    """Return reaction and diffusion on a line or a ring, of one species or two."""
    species = int(rng.choice([1, 1, 2]))
    cells, ring = n // species, rng.random() < 0.3
    data["order"] = rng.permutation(n) if rng.random() < 0.4 else np.arange(n)
    data["rate"] = np.array(10.0 ** rng.uniform(0, 3))

    def slope(t: Any, y: Any) -> Any:
        z = y[data["order"]]
        u = z[: species * cells].reshape(species, cells)
        if ring:
            lap = np.roll(u, 1, axis=1) - 2 * u + np.roll(u, -1, axis=1)
        else:
            wide = np.concatenate([u[:, :1], u, u[:, -1:]], axis=1)
            lap = wide[:, 2:] - 2 * u + wide[:, :-2]
        react = u - u**3 if species == 1 else np.stack([u[1] - u[0], u[0] - 2 * u[1] ** 3])
        found = (data["rate"] * lap + react).ravel()
        return np.concatenate([found, -z[species * cells :]])[np.argsort(data["order"])]

    return slope


def network(rng: np.random.Generator, n: int, data: dict[str, Any]) -> Callable[..., Any]:
    """Return flows along edges between nodes: a pattern that index arrays make."""
    edges = int(rng.integers(1, 2 * n))
    data["from"], data["to"] = rng.integers(0, n, (2, edges))
    data["rate"] = 10.0 ** rng.uniform(-1, 3, edges)

    def slope(t: Any, y: Any) -> Any:
        flow = data["rate"] * (y[data["from"]] - y[data["to"]]) * (1 + 0.1 * np.cos(t))
        out = np.zeros_like(y)
        np.add.at(out, data["to"], flow)
        np.subtract.at(out, data["from"], flow)
        return out - 0.1 * y

    return slope


def wandering(rng: np.random.Generator, n: int, data: dict[str, Any]) -> Callable[..., Any]:
    """Return a system whose pattern depends on the state: each reads the one that it points at."""
    data["rate"] = rng.uniform(1, 100, n)

    def slope(t: Any, y: Any) -> Any:
        other = (np.arange(n) + np.floor(t * 3).astype(int)) % n
        return -data["rate"] * (y - 0.5 * y[other])

    return slope


def listed(rng: np.random.Generator, n: int, data: dict[str, Any]) -> Callable[..., Any]:
    """Return rates that are written out one by one, each of few unknowns."""
    data["order"] = rng.permutation(n)
    data["rate"] = 10.0 ** rng.uniform(0, 3, n)
    far = int(rng.integers(1, 4))

    def slope(t: Any, y: Any) -> Any:
        z = [y[k] for k in data["order"]]
        found = []
        for k in range(n):
            pull = z[k - far] * (1 - z[k - far] ** 2) if k >= far else np.cos(t)
            found.append(data["rate"][k] * (0.5 * np.tanh(pull) - z[k]) + z[(k + far) % n])
        return [found[k] for k in np.argsort(data["order"])]

    return slope


KINDS = [listed, groups, groups, stencil, stencil, network, wandering]


def changed(rng: np.random.Generator, data: dict[str, Any]) -> None:
    """Let the function read something else in its next call, of the same sizes."""
    if "order" in data and rng.random() < 0.5:
        data["order"] = rng.permutation(len(data["order"]))
    if "from" in data:
        data["from"] = rng.permutation(data["from"])
    data["rate"] = data["rate"] * 1.5


@pytest.mark.slow  # tests/unit/scipy/test_ode_structure.py is quicker
@pytest.mark.attack(quick=1, whole=200, part=20, judge="the same method with full matrices")
def test_stiff_structures(attack: Any) -> None:
    """Rodas5P on groups, bands, networks, in any order, which change between calls."""
    for case in attack:
        with case:
            rng, data = case.rng, {}
            n = int(rng.choice([16, 17, 18, 24, 40, 65]))
            fun = KINDS[rng.integers(len(KINDS))](rng, n, data)
            times = np.sort(rng.uniform(0, 1, int(rng.integers(1, 5))))
            options = {"rtol": RTOL, "atol": ATOL, "t_eval": [*times, 1.0]}

            def traced(y0: Any, fun: Any = fun, options: Any = options) -> Any:
                return solve_ivp(fun, (0, 1), y0, "Rodas5P", **options).y

            full = sg.compile(traced)
            for _ in range(2):
                y0 = rng.normal(size=n)
                found = solve_ivp(fun, (0, 1), y0, "Rodas5P", **options)
                assert found.success
                np.testing.assert_allclose(found.y, full(y0), rtol=1e-5, atol=1e-6)
                if rng.random() < 0.3:
                    dense = solve_ivp(fun, (0, 1), y0, "Rodas5P", rtol=RTOL, atol=ATOL,
                                      dense_output=True)  # fmt: skip
                    np.testing.assert_allclose(dense.sol(found.t), found.y, rtol=1e-5, atol=1e-6)
                changed(rng, data)
