"""Functions of one variable by tables of polynomials: their digits, their edges, their code."""

from __future__ import annotations

import itertools
import runpy
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special as sc

import symgrad as sg
from symgrad._core.op import registry
from symgrad.special.tables import TABLES, fitted

SCRIPT = Path(__file__).parents[1] / "docs" / "build_fits.py"
DIGITS = 40


# ---------------------------------------------------------------- exact values, with derivatives


def by_equation(start: list[Any], step: Callable[[list[Any]], Any], count: int) -> list[Any]:
    """Return the derivatives that a differential equation gives, from the first ones."""
    found = list(start)
    while len(found) < count:
        found.append(step(found))
    return found


@lru_cache(maxsize=512)
def kelvin(x: Any, grows: bool) -> list[Any]:
    """Return ``ber + i*bei`` or ``ker + i*kei`` and derivatives: ``w'' = i*w - w'/x``."""
    z = mp.mpc(1, 1) / mp.sqrt(2)
    bessel, sign = (mp.besseli, 1) if grows else (mp.besselk, -1)

    def step(w: list[Any]) -> Any:
        n = len(w) - 2
        quotient = mp.fsum(
            mp.binomial(n, k) * w[n - k + 1] * (-1) ** k * mp.factorial(k) / x ** (k + 1)
            for k in range(n + 1)
        )
        return mp.mpc(0, 1) * w[n] - quotient

    return by_equation([bessel(0, z * x), sign * z * bessel(1, z * x)], step, 5)


def kelvins(name: str) -> Callable[[Any], list[Any]]:
    part = mp.im if name[2] == "i" else mp.re
    first = int(name.endswith("p"))
    return lambda x: [part(w) for w in kelvin(x, name[0] == "b")[first : first + 4]]


def airy(which: Any, prime: int) -> Callable[[Any], list[Any]]:
    def found(x: Any) -> list[Any]:
        start = [which(x), which(x, derivative=1)]

        def step(w: list[Any]) -> Any:
            n = len(w) - 2
            return x * w[n] + (n * w[n - 1] if n else 0)

        return by_equation(start, step, 5)[prime : prime + 4]

    return found


def modified(w: list[Any], x: Any) -> Any:
    """Return the next derivative by ``x*w'' + w' - x*w = 0``, differentiated n times."""
    n = len(w) - 2
    return w[n] + (n * w[n - 1] if n else 0) / x - (n + 1) * w[n + 1] / x


@lru_cache(maxsize=512)
def decayed(x: Any) -> list[Any]:
    """Return K0 and its derivatives."""
    k0, k1 = mp.besselk(0, x), mp.besselk(1, x)
    return by_equation([k0, -k1], lambda w: modified(w, x), 5)


def scaled(values: list[Any], x: Any) -> list[Any]:
    """Return derivatives of ``exp(x)`` times a function."""
    return [
        mp.exp(x) * mp.fsum(mp.binomial(n, k) * values[k] for k in range(n + 1))
        for n in range(len(values))
    ]


def grown(x: Any) -> list[Any]:
    """Return I0 and its derivatives."""
    return by_equation([mp.besseli(0, x), mp.besseli(1, x)], lambda w: modified(w, x), 7)


def shrunk(x: Any) -> list[Any]:
    """Return derivatives of ``exp(-x)*I0(x)``."""
    return [
        mp.exp(-x) * mp.fsum(mp.binomial(n, k) * (-1) ** (n - k) * v
                             for k, v in enumerate(grown(x)[: n + 1]))
        for n in range(6)
    ]  # fmt: skip


def turning(bessel: Any) -> Callable[[Any], list[Any]]:
    """Return a Bessel function of order 0 and its derivatives: ``x*w'' + w' + x*w = 0``."""

    def found(x: Any) -> list[Any]:
        def step(w: list[Any]) -> Any:
            n = len(w) - 2
            return -w[n] - (n * w[n - 1] if n else 0) / x - (n + 1) * w[n + 1] / x

        return by_equation([bessel(0, x), -bessel(1, x)], step, 6)

    return found


def second(w: list[Any]) -> list[Any]:
    """Return what has order 2, ``w + 2*w''``, with its derivatives."""
    return [a + 2 * b for a, b in zip(w, w[2:], strict=False)]


def hazard(x: Any) -> list[Any]:
    """Return the normal hazard and its derivatives, by ``h' = -h*(x + h)``."""
    h = mp.npdf(x) / mp.ncdf(x)
    first = -h * (x + h)
    second = -first * (x + h) - h * (1 + first)
    return [h, first, second, -second * (x + h) - 2 * first * (1 + first) - h * second]


def dawson(x: Any) -> list[Any]:
    value = mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)
    return by_equation(
        [value, 1 - 2 * x * value], lambda w: -2 * (x * w[-1] + (len(w) - 1) * w[-2]), 5
    )


def scaled_erfc(x: Any) -> list[Any]:
    value = mp.exp(x * x) * mp.erfc(x)
    slope = 2 * x * value - 2 / mp.sqrt(mp.pi)
    return by_equation([value, slope], lambda w: 2 * (x * w[-1] + (len(w) - 1) * w[-2]), 4)


def exponential(x: Any) -> list[Any]:
    decay = mp.exp(-x)
    return [
        mp.e1(x), -decay / x, decay * (1 / x + 1 / x**2), -decay * (1 / x + 2 / x**2 + 2 / x**3)
    ]  # fmt: skip


def numerically(f: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    """Return derivatives by differences."""
    return lambda x: list(mp.diffs(f, x, 3))


EXACT: dict[str, Callable[[Any], list[Any]]] = {
    **{name: kelvins(name) for name in
       ("ber", "bei", "ker", "kei", "berp", "beip", "kerp", "keip")},
    "AiryAi": airy(mp.airyai, 0), "AiryAiPrime": airy(mp.airyai, 1),
    "AiryBi": airy(mp.airybi, 0), "AiryBiPrime": airy(mp.airybi, 1),
    "k0": decayed,
    "k1": lambda x: [-v for v in decayed(x)[1:]],
    "k0e": lambda x: scaled(decayed(x), x),
    "k1e": lambda x: scaled([-v for v in decayed(x)[1:]], x),
    "i0": lambda x: grown(x)[:4], "i1": lambda x: grown(x)[1:5],
    "i0e": shrunk, "i1e": lambda x: [a + b for a, b in itertools.pairwise(shrunk(x))],
    "BesselJ2": lambda x: second(turning(mp.besselj)(x)),
    "BesselJ3": lambda x: [mp.besselj(3, x, derivative=n) for n in range(4)],
    "BesselY2": lambda x: second(turning(mp.bessely)(x)),
    "y0": lambda x: turning(mp.bessely)(x)[:4],
    "y1": lambda x: [-w for w in turning(mp.bessely)(x)[1:]],
    "NormalHazard": hazard,
    "erfcx": scaled_erfc,
    "expi": numerically(mp.ei), "erfi": numerically(mp.erfi), "gamma": numerically(mp.gamma),
    "SineIntegral": numerically(mp.si), "CosineIntegral": numerically(mp.ci),
    "HyperbolicSineIntegral": numerically(mp.shi), "HyperbolicCosineIntegral": numerically(mp.chi),
    "FresnelS": numerically(mp.fresnels), "FresnelC": numerically(mp.fresnelc),
    "I1eSlope": lambda x: [a + b for a, b in itertools.pairwise(shrunk(x)[1:])],
    "exp1": exponential, "dawsn": lambda x: dawson(x)[:4], "DawsnSlope": lambda x: dawson(x)[1:],
}  # fmt: skip
EVERYWHERE = ("A", "N", "d", "D", "b", "erfcx", "erfi", "F", "S")


def record(name: str) -> Any:
    return registry.ops.get(name) or registry.handler(getattr(sc, name))


def points(name: str) -> np.ndarray[Any, Any]:
    """Return random points of the domain, dense where tables are, and the ends of these."""
    rng = np.random.default_rng(sum(map(ord, name)))
    ends = [0.25, 0.5, 1.0, 2.0, 6.0, 8.0, 32.0]
    edges = [np.nextafter(e, to) for e in ends for to in (0.0, 99.0)]
    x = np.concatenate([10.0 ** rng.uniform(-6, 0, 6), rng.uniform(0, 10, 24),
                        rng.uniform(8, 60, 8), edges])  # fmt: skip
    x = np.concatenate([x, -x[::3]]) if name.startswith(EVERYWHERE) else x
    if name == "erfi":
        return x[np.abs(x) < 26]
    return x[x > -26] if name == "erfcx" else x  # it overflows


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.quick(1)
def test_value_and_derivatives_keep_their_digits(name: str) -> None:
    """Errors are two to three units in the last place, and as many roundings of the argument."""
    op, x = record(name), points(name)
    functions: list[Any] = [op]
    for _ in range(2):
        functions.append(lambda x, f=functions[-1]: sg.grad(lambda x: np.sum(f(x)))(x))
    found = [sg.compile(f)(x) for f in functions]
    with mp.workdps(DIGITS):
        for k, v in enumerate(map(float, x)):
            exact = EXACT[name](mp.mpf(v))
            for n, bound in enumerate((2.5, 3.0, 6.0)):
                want, slope = exact[n], exact[n + 1]
                unit = mp.mpf(np.spacing(abs(float(want))))
                condition = abs(v * slope / want)
                error = abs(mp.mpf(float(found[n][k])) - want) / unit
                assert error < bound * (1 + condition), (v, n, float(error), float(condition))


SPECIAL = [
    0.0, -0.0, 1e-310, -1e-310, 1e-300, 1e-20, -1.0, -5.0, 300.0, 720.0, 1e300, np.inf, -np.inf,
    np.nan,
]  # fmt: skip


@pytest.mark.parametrize("name", [n for n in EXACT if n.islower()])
def test_extremes_are_those_of_scipy(name: str) -> None:
    function = getattr(sc, name)
    x = np.array(SPECIAL)
    with np.errstate(all="ignore"):
        want = function(x)
    if name == "keip":  # in the third digit SciPy is wrong close to 0
        want[[2, 4]] = 1e-310 * 357.208, 1e-300 * 345.6957
    if name[0] == "y":  # SciPy reduces the argument of the cosine by pi rounded
        want[x == 1e300] = 0.0
    tiny = 1e-140 if name[0] == "y" else 1e-307
    for got in (sg.compile(function, cache=False)(x), sg.compile(function, backend="numpy")(x)):
        np.testing.assert_allclose(got, want, rtol=1e-6 if name == "keip" else 1e-12, atol=tiny)
    if name == "dawsn":
        assert np.signbit(got[:2]).tolist() == [False, True]


def test_extremes_of_airy_functions() -> None:
    x = np.array([0.0, -0.0, 1e-310, 120.0, 1e200, np.inf, -np.inf, np.nan])
    ai, aip, bi, bip = sg.compile(lambda x: sc.airy(x), cache=False)(x)
    for got, want in zip((ai, aip, bi, bip), sc.airy(x[:3]), strict=True):
        np.testing.assert_allclose(got[:3], want, rtol=1e-15)
    assert ai[3:5].tolist() == aip[3:5].tolist() == [0.0, 0.0]
    assert bi[3:5].tolist() == bip[3:5].tolist() == [np.inf, np.inf]
    assert all(np.isnan(f[6:]).all() for f in (ai, aip, bi, bip))


def together(x: Any) -> Any:
    ai, _, _, bip = sc.airy(x)
    return sc.ker(x) * ai + sc.k0e(x) - sc.dawsn(x) * sc.bei(x) + bip


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
def test_everything_that_runs_programs_runs_these(backend: Any) -> None:
    exact = together(1.3)
    both = sg.value_and_grad(together)
    value, slope = both(1.3)
    with sg.backend(backend):
        other, steep = sg.value_and_grad(together)(1.3)
    np.testing.assert_allclose([value, other, steep], [exact, exact, slope], rtol=2e-14)


def test_source_holds_the_tables() -> None:
    x = np.array([0.3, 1.5, 9.0])
    program = sg.compile(lambda x: sc.kei(x) + sc.k1(x)).program(x)
    code = program.source("f")
    assert "KEI_MIDDLE = (1.0, 0.5, ((" in code
    assert max(map(len, code.splitlines())) < 130
    scope: dict[str, Any] = {}
    exec(code, scope)
    np.testing.assert_array_equal(scope["f"](x), program.run(x)[0])


@pytest.mark.slow
def test_element_types_are_those_of_scipy() -> None:
    for dtype in ("f8", "f4", "i8", "u1"):
        x = np.array([1, 2, 7], dtype)
        for function in (sc.ker, sc.k0, sc.dawsn):
            got = sg.compile(function, cache=False)(x)
            assert got.dtype == function(x).dtype
            np.testing.assert_allclose(got, function(x.astype(float)), rtol=1e-6)


# ---------------------------------------------------------------- the tables


def test_rows_are_those_of_the_script() -> None:
    names = runpy.run_path(str(SCRIPT))
    assert {n.upper() for n in names["FITS"]} == set(TABLES)
    rng = np.random.default_rng(3)
    with mp.workdps(names["DIGITS"]):
        for name, fit in names["FITS"].items():
            low, width, rows = TABLES[name.upper()]
            assert (low, width, len(rows)) == (fit.begin, fit.width, fit.count)
            if name in rng.choice(list(names["FITS"]), 12):
                piece = int(rng.integers(fit.count))
                assert names["row"](fit, piece) == rows[piece], (name, piece)


@pytest.mark.parametrize("name", TABLES)
def test_neighbouring_intervals_meet(name: str) -> None:
    """A wrong digit would show at an end, where the next polynomial takes over."""
    _, width, rows = TABLES[name]
    for one, other in itertools.pairwise(rows):
        end = np.polynomial.polynomial.polyval(width / 2, [one[0], *one[2:]])
        begin = np.polynomial.polynomial.polyval(-width / 2, [other[0], *other[2:]])
        size = max(abs(c) * (width / 2) ** k for k, c in enumerate([one[0], *one[2:]]))
        assert abs(end - begin) < 1e-15 * size
    assert np.isnan(fitted(np.array(np.nan), TABLES[name]))
