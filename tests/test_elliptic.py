"""Elliptic integrals and functions: as means inside of a box, as SciPy's or Carlson's outside."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special as sc

import symgrad as sg
from symgrad.special.elliptic import GAUSS

RNG = np.random.default_rng(11)
ANGLES = np.concatenate([RNG.uniform(-1.6, 1.6, 40), [1e-9, 1.5707963, 1.5708, 1.57081, -1.5708]])
SHARES = np.concatenate([RNG.uniform(-1, 0.85, 40), [0.5, 0.8, np.nextafter(0.8, 1), 0.3, -1.0]])


def test_nodes_and_weights_are_those_of_gauss() -> None:
    with mp.workdps(40):
        for node, weight in GAUSS:
            x = mp.findroot(lambda x: mp.legendre(24, x), 2 * mp.mpf(node) - 1)
            slope = 24 * (x * mp.legendre(24, x) - mp.legendre(23, x)) / (x * x - 1)
            assert float((1 + x) / 2) == node
            assert float(1 / ((1 - x * x) * slope * slope)) == weight


def check(found: Any, exact: Any, condition: Any, bound: float, *where: float) -> None:
    assert abs(mp.mpf(float(found)) / exact - 1) < bound * 2.2e-16 * (1 + condition), where


@pytest.mark.parametrize("kind", [1, 2])
@pytest.mark.quick(1)
def test_incomplete_integrals_keep_their_digits(kind: int) -> None:
    function, exact = ((sc.ellipkinc, mp.ellipf), (sc.ellipeinc, mp.ellipe))[kind - 1]
    found = sg.compile(lambda p, m: function(p, m))(ANGLES, SHARES)
    slope = sg.grad(lambda m: np.sum(function(ANGLES, m)))(SHARES)
    with mp.workdps(30):
        for k, (p, m) in enumerate(zip(map(mp.mpf, ANGLES), map(mp.mpf, SHARES), strict=True)):
            f, e = mp.ellipf(p, m), mp.ellipe(p, m)
            root = mp.sqrt(1 - m * mp.sin(p) ** 2)
            inside = abs(p) <= 1.5708 and -1 <= m <= 0.8
            want = exact(p, m)
            condition = abs(p * (1 / root if kind == 1 else root) / want)
            check(found[k], want, condition, 1 if inside else 8, p, m)
            if kind == 2:
                want, condition = (e - f) / (2 * m), 3 / root**2
            else:
                want = (e / (1 - m) - f) / (2 * m) - mp.sin(2 * p) / (4 * (1 - m) * root)
                condition = 5 / root**2
            if abs(p) > 1e-6:
                check(slope[k], want, condition, 2, p, m)


def test_jacobis_functions_keep_their_digits() -> None:
    u, m = np.abs(ANGLES) * 1.2, np.abs(SHARES)
    functions = sg.compile(lambda u, m: sc.ellipj(u, m))(u, m)
    with mp.workdps(30):
        for k, (at, share) in enumerate(zip(map(mp.mpf, u), map(mp.mpf, m), strict=True)):
            sn, cn, dn = (mp.ellipfun(name, at, m=share) for name in ("sn", "cn", "dn"))
            if abs(mp.atan2(sn, cn)) > 1.57 or share > 0.8:  # SciPy's
                continue
            values = (sn, cn, dn, mp.atan2(sn, cn))
            conditions = (0, abs(at * sn * dn / cn), 1, 0)
            for got, want, condition in zip(functions, values, conditions, strict=True):
                check(got[k], want, condition, 1.3, at, share)


@pytest.mark.slow
def test_extremes_are_those_of_scipy() -> None:
    u = np.array([0.0, -0.0, 1e-310, -2.0, 1.9, 7.0, -50.0, 0.3, 0.3, 0.3, np.inf, np.nan, 1.0])
    m = np.array([0.5, 0.5, 0.3, 0.2, 0.95, 0.7, 0.7, 0.0, 1.0, 1.5, 0.5, 0.5, np.nan])
    for function in (sc.ellipj, sc.ellipkinc, sc.ellipeinc):
        with np.errstate(all="ignore"):
            want = function(u, m)
        for f in (
            sg.compile(lambda u, m, f=function: f(u, m), cache=False),
            sg.compile(lambda u, m, f=function: f(u, m), backend="numpy"),
        ):
            np.testing.assert_allclose(f(u, m), want, rtol=1e-14, atol=0)
    assert np.signbit(sg.compile(lambda u: sc.ellipj(u, 0.5)[0])(u[:2])).tolist() == [False, True]


@pytest.mark.slow
def test_element_types_are_those_of_scipy() -> None:
    u, m = np.array([0.2, 1.1], "f4"), np.array([0.3, 0.6], "f4")
    for function in (sc.ellipkinc, sc.ellipeinc, lambda u, m: sc.ellipj(u, m)[0]):
        got = sg.compile(lambda u, m, f=function: f(u, m), cache=False)(u, m)
        assert got.dtype == function(u, m).dtype
        np.testing.assert_allclose(got, function(u.astype(float), m), rtol=1e-6)
