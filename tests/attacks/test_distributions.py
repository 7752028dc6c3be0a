"""Attacks on distributions at the ends of their supports, with parameters where formulas change."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats

import symgrad as sg
from symgrad.scipy import stats

NAMES = sorted(
    name for name in dir(scipy.stats)
    if isinstance(getattr(scipy.stats, name), scipy.stats.rv_continuous | scipy.stats.rv_discrete)
    and hasattr(getattr(stats, name), "formulas")
)  # fmt: skip
#: Shape parameters: those where a density at an end is 0, finite or infinite, and others.
EDGES = np.array([0.5, 1.0, 2.0, 1.0, 2.0, 0.3, 1.5, 3.0, 5.0, 0.0, -0.5, -1.0, -2.0])
QUANTILES = ("ppf", "isf")
#: Where SciPy has -inf for the density at -0.0, and 1 - 4e-6 is 1.
WRONG = (("arcsine", "pdf"), ("exponweib", "sf"))


def legal(name: str, rng: np.random.Generator) -> tuple[float, ...]:
    original = getattr(scipy.stats, name)
    while True:
        shapes = tuple(map(float, rng.choice(EDGES, original.numargs)))
        if original._argcheck(*shapes):
            return shapes


def about_ends(ends: list[float]) -> Any:
    """Return special values, the ends of a support, and what is beside them."""
    points = [-0.0, -1.0, 2.0, np.inf, -np.inf, np.nan, *ends]
    for end in ends:
        points += [*np.nextafter(end, (np.inf, -np.inf)), *(end + np.array([1e-9, -1e-9]))]
    points = np.array(points)
    # SciPy's quotients of subnormal numbers overflow.
    return points[(np.abs(points) > 1e-290) | (points == 0) | np.isnan(points)]


SHARES = np.array([0.0, -0.0, 1.0, 1e-9, 0.25, 0.5, 1 - 1e-9, 1.0000001, -1e-9, np.nan, np.inf])


def scipys(method: Callable[..., Any], x: Any, *parameters: float) -> Any:
    """Return SciPy's values, number by number: for one that overflows it raises."""

    def value(x: float) -> Any:
        try:
            return method(x, *parameters)
        except OverflowError:
            return np.nan

    return np.array([value(x) for x in np.atleast_1d(x)])


def slope(method: Callable[..., Any], at: list[float], k: int) -> float | None:
    """Return SciPy's slope by an argument, where quotients of both sides converge to it."""
    found = []
    for h in (1e-5, -1e-5, 1e-6, -1e-6):
        there = [*at[:k], at[k] + h, *at[k + 1 :]]
        found.append((scipys(method, *there)[0] - scipys(method, *at)[0]) / h)
    near = np.isfinite(found).all() and np.ptp(found) <= 1e-3 * (1e-3 + abs(found[-1]))
    return found[-1] if near and abs(scipys(method, *at)[0]) < 1e5 else None


@functools.lru_cache(maxsize=64)
def values(name: str) -> Any:
    ours = getattr(stats, name)
    return sg.compile(lambda x, q, *p: {
        m: getattr(ours, m)(q if m in QUANTILES else x, *p) for m in ours.formulas
    })  # fmt: skip


@functools.lru_cache(maxsize=512)
def slopes(name: str, method: str, wanted: tuple[int, ...]) -> Any:
    return sg.grad(lambda *p: getattr(getattr(stats, name), method)(*p), argnums=wanted)


def same(method: str, at: Any, found: Any, want: Any) -> Any:
    """Return where values agree, or SciPy's is known to say nothing."""
    sought = 1e-5 if method in QUANTILES else 1e-12  # SciPy searches for some
    close = np.isclose(found, want, rtol=1e-6, atol=sought, equal_nan=True)
    # SciPy's logarithms are often those of probabilities, with their underflow and their digits.
    logs = (found < -690) & (want < -690) | np.isclose(np.exp(found), np.exp(want), rtol=1e-6)
    unsaid = np.isnan(want) & ~np.isnan(at) & ~np.isnan(found)
    return close | unsaid | (method.startswith("log") & logs)


@pytest.mark.attack(quick=42, whole=2000, part=200, judge="SciPy, and its differences")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_ends_of_distributions(attack: Any) -> None:
    """Distributions at the ends of their supports, beside them, at infinity, with odd shapes."""
    for case in attack:
        with case, sg.backend("numpy"), np.errstate(all="ignore"):
            name = NAMES[case.number % len(NAMES)]
            original = getattr(scipy.stats, name)
            counts = isinstance(original, scipy.stats.rv_discrete)
            shapes = legal(name, case.rng)
            place = (0.0,) if counts else ((0.0, 1.0), (0.5, 2.0))[case.rng.integers(2)]
            ends = [0.0, 0.5, 1.0, *filter(np.isfinite, original.support(*shapes, *place))]
            x = about_ends(ends)
            for method, found in values(name)(x, SHARES, *shapes, *place).items():
                at = SHARES if method in QUANTILES else x
                want = scipys(getattr(original, method), at, *shapes, *place)
                bad = ~same(method, at, found, want)
                if (name, method.removeprefix("log")) in WRONG:
                    bad &= np.isinf(at) | (at > 0.1)
                assert not bad.any(), (name, shapes, place, method, at[bad], found[bad], want[bad])
                point = float(case.rng.choice((0.0, 0.5, 1.0) if method in QUANTILES else ends))
                check_slopes(name, method, point, shapes, place, counts)


#: Parameters that are whole numbers, the first ones.
WHOLE = {"erlang": 1, "binom": 1, "randint": 2, "hypergeom": 3, "betabinom": 1}


def check_slopes(name: str, method: str, x: float, shapes: Any, place: Any, counts: bool) -> None:
    """Compare slopes at a point, also at an end, where many have those by parameters."""
    at = [x, *shapes, *place]
    if not counts and np.isinf(scipys(getattr(scipy.stats, name).pdf, *at)[0]):
        return
    left_out = {*range(1, 1 + WHOLE.get(name, 0)), *((0, len(at) - 1) if counts else ())}
    wanted = tuple(k for k in range(len(at)) if k not in left_out)
    if not wanted or (name == "pearson3" and shapes == (0.0,)):  # SciPy's does not depend on it
        return
    every = slopes(name, method, wanted)(*at)
    if np.isinf(every).any():
        return
    for k, found in zip(wanted, every, strict=True):
        want = slope(getattr(getattr(scipy.stats, name), method), at, k)
        if want is not None:
            assert found == pytest.approx(want, rel=1e-2, abs=1e-4), (name, method, at, k)
