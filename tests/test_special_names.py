"""Functions of ``scipy.special`` that are written in others: values, ends and slopes, by mpmath."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special as sc

import symgrad as sg
from symgrad.errors import UnsupportedError

pytestmark = pytest.mark.usefixtures("few_kernels")

HALF = mp.mpf(1) / 2


def spherical(name: str) -> Callable[..., Any]:
    def f(n: Any, x: Any) -> Any:
        return mp.sqrt(mp.pi / (2 * x)) * getattr(mp, f"bessel{name}")(n + HALF, x)

    return f


def condition(f: Callable[[Any], Any], x: Any) -> Any:
    return 1 + abs(x * mp.diff(f, x) / f(x))


@pytest.mark.parametrize("letter", "jyik")
@pytest.mark.parametrize("n", [0, 3])
def test_spherical_bessel_functions(letter: str, n: int) -> None:
    exact = spherical(letter)
    function = getattr(sc, f"spherical_{letter}n")
    rng = np.random.default_rng(n)
    x = np.concatenate([10 ** rng.uniform(-6, 0, 6), rng.uniform(1, 40, 8)])
    value, slope = sg.vmap(sg.value_and_grad(lambda x: function(n, x)))(x)
    with mp.workdps(40):
        for at, v, s in zip(map(mp.mpf, x.tolist()), value, slope, strict=True):
            want, steep = exact(n, at), mp.diff(lambda t: exact(n, t), at)
            assert abs(v - want) <= 4 * 2.0**-52 * abs(want) * condition(lambda t: exact(n, t), at)
            loss = abs(at * mp.diff(lambda t: exact(n, t), at, 2)) + abs(steep)
            assert abs(s - steep) <= 8 * 2.0**-52 * loss
    ends = np.array([-0.0, 0.0, np.inf, np.nan, 1e-30, -1.5])
    found = sg.compile(lambda x: function(n, x))(ends)
    np.testing.assert_allclose(found, function(n, ends), rtol=1e-14)


def test_spherical_bessel_functions_at_zero_have_slopes_and_refuse_unknown_orders() -> None:
    slopes = [sg.grad(lambda x, n=n: sc.spherical_jn(n, x))(0.0) for n in range(3)]
    np.testing.assert_allclose(slopes, [0, 1 / 3, 0], atol=1e-300)
    np.testing.assert_allclose(
        sg.compile(lambda x: sc.spherical_in(np.arange(3), x, True))(0.5),
        sc.spherical_in(np.arange(3), 0.5, True), rtol=1e-14,
    )  # fmt: skip
    with pytest.raises(UnsupportedError, match="known whole orders"):
        sg.grad(lambda n: sc.spherical_jn(n, 1.0))(2.0)
    with pytest.raises(UnsupportedError, match="real z"):
        sg.compile(lambda z: sc.spherical_yn(1, z))(1j)


CARLSON = {"elliprf": 3, "elliprd": 3, "elliprj": 4, "elliprc": 2, "elliprg": 3}


@pytest.mark.parametrize("name", CARLSON)
def test_carlson_integrals(name: str) -> None:
    count, function, exact = CARLSON[name], getattr(sc, name), getattr(mp, name)
    rng = np.random.default_rng(count)
    x = 10 ** rng.uniform(-3, 3, (12, count))
    x[:3] = x[:3, :1] * (1 + 1e-9 * rng.standard_normal((3, count)))  # nearly equal ones
    if name == "elliprc":
        x[6:8, 1] *= -1  # a principal value
    slopes = sg.vmap(sg.value_and_grad(lambda *a: function(*a), argnums=tuple(range(count))))
    value, by = slopes(*x.T)
    with mp.workdps(40):
        for k, row in enumerate(x.tolist()):
            at = [*map(mp.mpf, row)]
            assert abs(value[k] / exact(*at) - 1) <= 8 * 2.0**-52
            for j in range(count):
                h = abs(at[j]) * mp.mpf(10) ** -12
                up, down = ([v + s * h * (i == j) for i, v in enumerate(at)] for s in (1, -1))
                slope = (exact(*up) - exact(*down)) / (2 * h)
                assert abs(by[j][k] / slope - 1) <= 16 * 2.0**-52


@pytest.mark.parametrize("at", [
    ("elliprf", 0.0, 1.0, 2.0), ("elliprf", 0.0, 0.0, 1.0), ("elliprf", -1.0, 1.0, 1.0),
    ("elliprf", 1.0, np.inf, 1.0), ("elliprd", 1.0, 1.0, 0.0), ("elliprd", 0.0, 1.0, 2.0),
    ("elliprg", 0.0, 0.0, 4.0), ("elliprg", 0.0, 1.0, 2.0), ("elliprj", 0.0, 1.0, 2.0, 3.0),
    ("elliprc", 0.0, 1.0), ("elliprf", 1.0, np.nan, 1.0),
])  # fmt: skip
def test_carlson_integrals_at_the_ends(at: tuple[Any, ...]) -> None:
    name, *x = at
    function = getattr(sc, name)
    with np.errstate(all="ignore"):
        found = sg.compile(lambda *x: function(*x))(*x)
        np.testing.assert_allclose(found, function(*x), rtol=1e-14)


def test_carlson_integrals_beyond_the_ends_are_nan() -> None:
    assert np.isnan(sg.compile(lambda p: sc.elliprj(1.0, 2.0, 3.0, p))(-1.0))
    assert np.isnan(sg.grad(lambda p: sc.elliprj(1.0, 2.0, 3.0, p))(1e12))


def third_kind(at: list[Any], orders: tuple[int, ...]) -> Any:
    """R_J, or a derivative of it: the trapezoidal rule in the logarithm of Carlson's variable."""
    powers = [mp.mpf(1) / 2 + n for n in orders[:3]] + [mp.mpf(1 + orders[3])]
    share = mp.fprod(mp.rf(1 if k == 3 else mp.mpf(1) / 2, n) for k, n in enumerate(orders))
    low = mp.log(min(v for v in at if v)) - (140 if min(at) == 0 else 70)
    step = mp.mpf(1) / 4
    count = int((mp.log(max(at)) + 50 - low) / step)
    nodes = [mp.exp(low + k * step) for k in range(count)]
    total = sum(t / mp.fprod((t + v) ** p for v, p in zip(at, powers, strict=True)) for t in nodes)
    return 3 * step / 2 * (-1) ** sum(orders) * share * total


THIRD_KIND = [
    (0.4, 0.5, 1.2, 0.8), (0.0, 0.3, 2.0, 0.7), (1.0, 1.0, 1.0, 1.0), (0.7, 0.9, 1.1, 0.7),
    (1e-12, 3.0, 1e9, 1e-4), (2.0, 0.1, 0.5, 1e-80), (0.3, 4.0, 1.0, 7e8), (1e-33, 0.9, 1.0, 1e-16),
    (1e-10, 3e16, 2e-13, 3e24), (5e40, 1e-40, 2.0, 1e3),
]  # fmt: skip


@pytest.mark.parametrize("at", THIRD_KIND)
@pytest.mark.quick(3)
def test_the_third_kind_has_two_derivatives(at: tuple[float, ...]) -> None:
    f = lambda *x: sc.elliprj(*x)  # noqa: E731
    by = tuple(k for k in range(4) if at[k])
    value, slopes = sg.value_and_grad(f, by)(*at)
    bends = sg.hessian(f, by)(*at)
    with mp.workdps(30):
        exact = [*map(mp.mpf, at)]
        assert abs(value / third_kind(exact, (0,) * 4) - 1) <= 8 * 2.0**-52
        for i, k in enumerate(by):
            once = tuple(int(n == k) for n in range(4))
            assert abs(slopes[i] / third_kind(exact, once) - 1) <= 16 * 2.0**-52
            for j, m in enumerate(by):
                want = third_kind(exact, tuple(a + (n == m) for n, a in enumerate(once)))
                if abs(want) < 1e290:
                    assert abs(bends[i][j] / want - 1) <= 32 * 2.0**-52


def test_the_third_kind_stays_a_loop() -> None:
    """Written out, its Hessian had 81 thousand operations and took minutes to be traced."""
    program = sg.hessian(lambda v: sc.elliprj(v[0], v[1], v[2], v[3])).program(np.ones(4))
    assert len(str(program).splitlines()) < 5_000


HANKEL = ["hankel1", "hankel2", "hankel1e", "hankel2e"]


@pytest.mark.parametrize("v", [0.0, 1.0, 2.3, -1.3])
@pytest.mark.parametrize("name", HANKEL)
def test_hankel_functions(name: str, v: float) -> None:
    function, x = getattr(sc, name), np.array([-3.3, -0.2, 0.1, 2.5, 20.0, 0.0, np.nan])
    found = sg.compile(lambda x: function(v, x))(x)
    np.testing.assert_allclose(found, function(v, x), rtol=1e-12)


@pytest.mark.parametrize("name", HANKEL)
def test_slopes_of_hankel_functions(name: str) -> None:
    function = getattr(sc, name)
    real, imag = sg.jacobian(lambda x: np.array([function(0.5, x).real, function(0.5, x).imag]))(
        2.0
    )
    with mp.workdps(30):
        kind = mp.hankel1 if name[6] == "1" else mp.hankel2
        turn = {"hankel1e": -1j, "hankel2e": 1j}.get(name, 0)
        want = mp.diff(lambda t: kind(HALF, t) * mp.exp(turn * t), 2)
    assert abs(complex(real, imag) - complex(want)) < 1e-15


BESSEL = ["jvp", "yvp", "ivp", "kvp", "h1vp", "h2vp"]


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("name", BESSEL)
def test_derivatives_of_bessel_functions(name: str, n: int) -> None:
    function, x = getattr(sc, name), np.array([0.3, 2.5, 17.0])
    found = sg.compile(lambda x: function(1.5, x, n))(x)
    np.testing.assert_allclose(found, function(1.5, x, n), rtol=1e-11)


@pytest.mark.parametrize("name", BESSEL)
def test_slopes_of_derivatives_of_bessel_functions(name: str) -> None:
    function, x = getattr(sc, name), np.array([0.3, 2.5, 17.0])
    slope = sg.vmap(sg.grad(lambda x: function(1.5, x, 1).real))(x)
    np.testing.assert_allclose(slope, function(1.5, x, 2).real, rtol=1e-11)


def test_harmonics_have_slopes_at_the_pole() -> None:
    slope = sg.grad(lambda t: sc.sph_harm_y(1, 1, t, 0.0).real)(0.0)
    assert slope == pytest.approx(-np.sqrt(3 / (8 * np.pi)), rel=1e-15)
    angles = np.array([0.0, 0.3, 2.2, -0.3, 4.0]), np.array([0.0, 1.0, 2.0, -4.0, 9.0])
    for n, m in ((0, 0), (2, -1), (2, 3), (12, -5), (30, 7)):
        found = sg.compile(lambda t, p, n=n, m=m: sc.sph_harm_y(n, m, t, p))(*angles)
        np.testing.assert_allclose(found, sc.sph_harm_y(n, m, *angles), rtol=1e-12, atol=1e-300)
    by = sg.grad(lambda t, p: sc.sph_harm_y(2, 1, t, p).imag, argnums=(0, 1))(0.3, 0.4)
    np.testing.assert_allclose(by, sc.sph_harm_y(2, 1, 0.3, 0.4, diff_n=1)[1].imag, rtol=1e-14)
    x = np.array([-1.2, -1.0, -0.3, 0.0, 0.7, 1.0])
    for m, n in ((0, 2), (1, 2), (-1, 2), (3, 2), (2, 5), (1, -3)):
        found = sg.compile(lambda x, m=m, n=n: sc.lpmv(m, n, x))(x)
        np.testing.assert_allclose(found, sc.lpmv(m, n, x), rtol=1e-13)
    for call in (lambda n: sc.sph_harm_y(n, 0, 1.0, 1.0), lambda m: sc.lpmv(m, 2, 0.5)):
        with pytest.raises(UnsupportedError, match="known whole number"):
            sg.compile(call)(1.0)


COUNTS: dict[str, Callable[[Any], Any]] = {
    "comb by its first": lambda x: sc.comb(x, 2.0),
    "comb by its second": lambda x: sc.comb(7.0, x),
    "perm": lambda x: sc.perm(x, 2.0),
    "factorial": lambda x: sc.factorial(x),
    "gammasgn": lambda x: sc.gammasgn(x),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_at_ends(name: str) -> None:
    x = np.array([-1.5, -1.0, -0.0, 0.0, 0.5, 3.0, 7.0, np.nan])
    np.testing.assert_allclose(sg.compile(COUNTS[name])(x), COUNTS[name](x), rtol=1e-13)


def test_counts_of_other_types() -> None:
    whole = np.arange(6)
    np.testing.assert_allclose(sg.compile(lambda n: sc.factorial(n))(whole), sc.factorial(whole))
    for k in (0, 2):
        found = sg.compile(lambda n, k=k: sc.comb(n, k, repetition=True))(whole)
        np.testing.assert_allclose(found, sc.comb(whole, k, repetition=True), rtol=1e-14)
    assert sg.compile(lambda n: sc.comb(n, 2))(np.array([])).shape == (0,)
    with pytest.raises(UnsupportedError, match="leave exact out"):
        sg.grad(lambda n: sc.comb(n, 2, exact=True))(5.0)
