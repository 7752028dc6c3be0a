"""Write ``symgrad/special/tables.txt``: ``python docs/build_fits.py``, which takes minutes.

Functions of one variable as polynomials on intervals of equal width, interpolated at Chebyshev
nodes in multiple precision. Where a function is not one that a polynomial follows, what is fitted
is the smooth factor or term of it that is left when singularities, decay and turning are split off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import mpmath as mp

PATH = Path(__file__).parents[1] / "symgrad" / "special" / "tables.txt"
DIGITS = 60

HEAD = """\
# Functions of one variable as polynomials on intervals of equal width, made by docs/build_fits.py.
# After a table's name: where it begins, the width of its intervals, and the largest error relative
# to the largest value in an interval. Then a line for each interval: the value in its middle, what
# is left of it beyond a double, and the coefficients of the powers, from the first on, of the
# distance from the middle.
"""


class Fit(NamedTuple):
    """What is fitted: begin and width, which are sums of few powers of 2, and how finely."""

    function: Callable[[Any], Any]
    begin: float
    width: float
    count: int
    terms: int


# ---------------------------------------------------------------- Kelvin functions


def _turned(x: Any) -> Any:
    """``x*exp(i*pi/4)``, of which the Kelvin functions are modified Bessel functions."""
    return x * mp.mpc(1, 1) / mp.sqrt(2)


def _grown(x: Any) -> Any:
    """``ber + i*bei``, its derivative, and I of order 2."""
    z = _turned(x)
    return mp.besseli(0, z), mp.besseli(1, z) * _turned(1), mp.besseli(2, z)


def _grown_slope(w: Any) -> Any:
    """The derivative of I of order 2 over ``x = sqrt(w)``."""
    z = _turned(mp.sqrt(w))
    return (mp.besseli(1, z) + mp.besseli(3, z)) / z * mp.mpc(0, 0.5)


def _decayed(x: Any) -> Any:
    """``ker + i*kei``, and its derivative."""
    z = _turned(x)
    return mp.besselk(0, z), -mp.besselk(1, z) * _turned(1)


def _decay_far(u: Any, k: int) -> Any:
    return _decayed(1 / u)[k] * mp.exp(_turned(1 / u)) / mp.sqrt(u)


def _growth_far(u: Any, k: int) -> Any:
    """Without the part that decays: the asymptotic series of I of order k, to its least term."""
    z = _turned(1 / u)
    total = term = mp.mpf(1)
    for n in range(1, 60):
        term *= ((2 * n - 1) ** 2 - 4 * k * k) / (8 * n * z)
        total += term
    return total * _turned(1) ** (k % 2) / mp.sqrt(2 * mp.pi * _turned(1))


def _near(w: Any, name: str) -> Any:
    """The Kelvin functions that are finite over their lowest power of x, for ``w = x*x``.

    Of those that are not, what is left without the logarithm.
    """
    x = mp.sqrt(w)
    k = _kind(name)
    value = _grown(x)[k]
    if name.startswith("k"):
        value = _decayed(x)[k] + mp.log(x) * value
    part = mp.im(value) if name[2] == "i" else mp.re(value)
    return part / x ** POWERS[name]


POWERS = {
    "ber": 0, "bei": 2, "berp": 3, "beip": 1, "ber2": 4, "bei2": 2,
    "ker": 0, "kei": 0, "kerp": -1, "keip": 1,
}  # fmt: skip


def _kind(name: str) -> int:
    return {"p": 1, "2": 2}.get(name[3:], 0)


def _kelvin() -> Iterator[tuple[str, Fit]]:
    for name in ("ber", "bei", "berp", "beip", "ber2", "bei2"):
        k, part = _kind(name), mp.im if name[2] == "i" else mp.re
        yield f"{name}_near", Fit(lambda w, n=name: _near(w, n), 0.0, 1.0, 16, 8)
        yield f"{name}_middle", Fit(lambda x, k=k, p=part: p(_grown(x)[k]), 4.0, 2.0, 14, 16)
    yield "ber2p_near", Fit(lambda w: mp.re(_grown_slope(w)) / w, 0.0, 1.0, 16, 8)
    yield "bei2p_near", Fit(lambda w: mp.im(_grown_slope(w)), 0.0, 1.0, 16, 8)
    for name in ("ker", "kei", "kerp", "keip"):
        k, part = _kind(name), mp.im if name[2] == "i" else mp.re
        yield f"{name}_near", Fit(lambda w, n=name: _near(w, n), 0.0, 0.5, 2, 8)
        yield f"{name}_middle", Fit(lambda x, k=k, p=part: p(_decayed(x)[k]), 1.0, 0.5, 14, 18)
    for word, part in (("real", mp.re), ("imaginary", mp.im)):
        for k in (0, 1, 2):
            growth = partial(_growth_far, k=k)
            yield f"growth{k}_{word}", Fit(
                lambda u, f=growth, p=part: p(f(u)), 0.0, 2.0**-5, 1, 13)  # fmt: skip
        for k in (0, 1):
            decay = partial(_decay_far, k=k)
            yield f"decay{k}_{word}", Fit(
                lambda u, f=decay, p=part: p(f(u)), 0.0, 2.0**-5, 4, 13)  # fmt: skip


# ---------------------------------------------------------------- Airy functions


def _airy(x: Any, name: str) -> Any:
    return getattr(mp, name[:6])(x, derivative=int(name.endswith("prime")))


def _airy_right(u: Any, name: str) -> Any:
    """With ``u = 1/zeta``, ``zeta = 2/3*x**1.5``: without the exponential and the power of x."""
    x = mp.cbrt(9 / (4 * u * u))
    decay = mp.exp(1 / u if name.startswith("airyai") else -1 / u)
    return _airy(x, name) * decay * mp.root(x, 4) ** (-1 if name.endswith("prime") else 1)


def _airy_left(u: Any, prime: bool) -> Any:
    """``(Ai + i*Bi)(-x)*exp(i*zeta)*x**0.25``, and of the derivatives over ``x**0.25``."""
    x = mp.cbrt(9 / (4 * u * u))
    names = ("airyaiprime", "airybiprime") if prime else ("airyai", "airybi")
    value = mp.mpc(*(_airy(-x, name) for name in names)) * mp.expj(1 / u)
    return value * mp.root(x, 4) ** (-1 if prime else 1)


def _airies() -> Iterator[tuple[str, Fit]]:
    for name in ("airyai", "airyaiprime", "airybi", "airybiprime"):
        yield f"{name}_middle", Fit(lambda x, n=name: _airy(x, n), -6.0, 0.5, 24, 14)
        yield f"{name}_right", Fit(lambda u, n=name: _airy_right(u, n), 0.0, 2.0**-5, 4, 13)
    for name, prime in (("airy", False), ("airyprime", True)):
        for word, part in (("real", mp.re), ("imaginary", mp.im)):
            yield f"{name}_left_{word}", Fit(
                lambda u, p=part, d=prime: p(_airy_left(u, d)), 0.0, 2.0**-5, 4, 13)  # fmt: skip


# ---------------------------------------------------------------- functions that decay


def _real_near(w: Any, k: int) -> Any:
    """K of order k and its logarithm, without the power of ``x = sqrt(w)``."""
    x = mp.sqrt(w)
    return (mp.besselk(k, x) + (-1) ** k * mp.log(x) * mp.besseli(k, x)) * x**k


def _scaled(x: Any, k: int, n: int) -> Any:
    """Derivative n of ``exp(x)*K(x)``, by Leibniz' rule."""
    if n == 0:
        return mp.exp(x) * mp.besselk(k, x)
    terms = (mp.binomial(n, j) * (-1) ** j * _lifted(x, k, j) for j in range(n + 1))
    return mp.exp(x) * mp.fsum(terms)


def _lifted(x: Any, k: int, n: int) -> Any:
    """Derivative n of K, times ``(-1)**n``: K's mean over n steps up or down in order."""
    return mp.fsum(mp.binomial(n, j) * mp.besselk(k + n - 2 * j, x) for j in range(n + 1)) / 2**n


def _mean(x: Any, n: int) -> Any:
    """Derivative n of ``exp(-x)*I0(x)``: those of I0 are means over n steps up or down in order."""
    slopes = [
        mp.fsum(mp.binomial(j, i) * mp.besseli(j - 2 * i, x) for i in range(j + 1)) / 2**j
        for j in range(n + 1)
    ]
    terms = (mp.binomial(n, j) * (-1) ** (n - j) * slopes[j] for j in range(n + 1))
    return mp.exp(-x) * mp.fsum(terms)


def _mean_of_cosine(x: Any, n: int) -> Any:
    """Derivative n of ``exp(-x)*I1(x)``, which is I0's with the next one."""
    return _mean(x, n) + _mean(x, n + 1)


def _hazard(x: Any) -> Any:
    """Density over distribution function of the standard normal distribution."""
    return mp.sqrt(2 / mp.pi) * mp.exp(-x * x / 2) / mp.erfc(-x / mp.sqrt(2))


def _excess(x: Any, n: int) -> Any:
    """Derivative n of the hazard less its argument, ``e = h - x`` with ``h' = h*e``."""
    h = _hazard(-x)
    e = h - x
    if n == 0:
        return e
    first = h * e - 1
    if n == 1:
        return first
    second = h * e * e + h * first
    if n == 2:
        return second
    return h * e**3 + 3 * h * e * first + h * second


def _dawson(x: Any, order: int) -> Any:
    """A derivative of Dawson's integral, by its differential equation."""
    value = mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)
    if order == 0:
        return value
    before, here = value, 1 - 2 * x * value
    for k in range(1, order):
        before, here = here, -2 * (x * here + k * before)
    return here


def _decays() -> Iterator[tuple[str, Fit]]:
    for k in (0, 1):
        yield f"k{k}_near", Fit(lambda w, k=k: _real_near(w, k), 0.0, 0.5, 2, 8)
        yield f"i{k}_near", Fit(
            lambda w, k=k: mp.besseli(k, mp.sqrt(w)) / mp.sqrt(w) ** k, 0.0, 0.5, 2, 7)  # fmt: skip
        yield f"k{k}e_middle", Fit(lambda x, k=k: _scaled(x, k, 0), 1.0, 0.5, 14, 18)
        yield f"k{k}e_far", Fit(
            lambda u, k=k: _scaled(1 / u, k, 0) / mp.sqrt(u), 0.0, 2.0**-5, 4, 12)  # fmt: skip
    for n in (1, 2, 3):
        slope, terms = partial(_scaled, k=0, n=n), 17 + n
        yield f"k0e{n}_low", Fit(slope, 0.25, 0.125, 6, terms)
        yield f"k0e{n}_middle", Fit(slope, 1.0, 0.5, 14, terms)
        yield f"k0e{n}_far", Fit(
            lambda u, f=slope, n=n: f(1 / u) / u**n / mp.sqrt(u), 0.0, 2.0**-5, 4, 12)  # fmt: skip
    for k in (0, 1, 2):
        grown = partial(mp.besseli, k)
        yield f"i{k}_middle", Fit(lambda x, f=grown, k=k: f(x) / x**k, 0.0, 0.5, 16, 12)
        yield f"i{k}e_far", Fit(
            lambda u, f=grown: f(1 / u) * mp.exp(-1 / u) / u**0.5, 0.0, 2.0**-5, 4, 13)  # fmt: skip
    for n in (1, 2, 3):
        mean = partial(_mean, n=n)
        yield f"i0e{n}_middle", Fit(mean, 0.0, 0.5, 16, 13 + n)
        yield f"i0e{n}_far", Fit(
            lambda u, f=mean, n=n: f(1 / u) / u**n / mp.sqrt(u), 0.0, 2.0**-5, 4, 17)  # fmt: skip
    yield "hazard_middle", Fit(_hazard, -8.0, 0.5, 18, 15)
    yield "hazard_far", Fit(lambda u: _hazard(-1 / mp.sqrt(u)) * mp.sqrt(u), 0.0, 2.0**-6, 1, 11)
    for n in range(4):
        yield f"excess{n}_middle", Fit(partial(_excess, n=n), -1.0, 0.5, 7, 14 + n)
    yield "exp1_near", Fit(lambda x: mp.e1(x) + mp.log(x), 0.0, 0.5, 2, 12)
    yield "exp1_middle", Fit(lambda x: mp.exp(x) * mp.e1(x), 1.0, 0.5, 14, 18)
    yield "exp1_far", Fit(lambda u: mp.exp(1 / u) * mp.e1(1 / u) / u, 0.0, 2.0**-5, 4, 14)
    yield "dawsn_middle", Fit(lambda x: _dawson(x, 0) / x, 0.0, 0.5, 16, 15)
    yield "dawsn_far", Fit(lambda u: _dawson(1 / mp.sqrt(u), 0) / mp.sqrt(u), 0.0, 2.0**-6, 1, 10)
    yield "i1e_middle", Fit(lambda x: mp.exp(-x) * mp.besseli(1, x) / x, 0.0, 0.5, 16, 14)
    for n in (1, 2, 3):
        mean = partial(_mean_of_cosine, n=n)
        yield f"i1e{n}_middle", Fit(mean, 0.0, 0.5, 16, 13 + n)
        yield f"i1e{n}_far", Fit(
            lambda u, f=mean, n=n: f(1 / u) / u**n / mp.sqrt(u), 0.0, 2.0**-5, 4, 17)  # fmt: skip
    for order in (1, 2, 3):
        yield (
            f"dawsn{order}_middle",
            Fit(lambda x, n=order: _dawson(x, n), 0.5, 0.5, 15, 14 + order),
        )


# ---------------------------------------------------------------- functions that turn


def _turning_near(w: Any, k: int) -> Any:
    """Y of order k without its logarithm, times a power of ``x = sqrt(w)``."""
    x = mp.sqrt(w)
    return (mp.bessely(k, x) - 2 / mp.pi * mp.log(x) * mp.besselj(k, x)) * x**k


def _turning_far(u: Any, k: int) -> Any:
    """``J + i*Y`` without its phase and decay."""
    x = 1 / u
    return mp.mpc(mp.besselj(k, x), mp.bessely(k, x)) * mp.expj(-x) * mp.sqrt(x)


def _turnings() -> Iterator[tuple[str, Fit]]:
    yield "j1_value", Fit(partial(mp.besselj, 1), 0.5, 0.5, 15, 13)
    yield "j3_middle", Fit(lambda x: mp.besselj(3, x) / x**3, 0.0, 0.5, 16, 12)
    for k in (0, 1, 2):
        first, far = partial(mp.besselj, k), partial(_turning_far, k=k)
        yield f"j{k}_middle", Fit(lambda x, f=first, k=k: f(x) / x**k, 0.0, 0.5, 16, 12)
        yield f"y{k}_near", Fit(partial(_turning_near, k=k), 0.0, 0.5, 2, 8)
        yield f"y{k}_middle", Fit(partial(mp.bessely, k), 1.0, 0.5, 14, 18)
        for word, part in (("real", mp.re), ("imaginary", mp.im)):
            yield f"h{k}_{word}", Fit(
                lambda u, f=far, p=part: p(f(u)), 0.0, 2.0**-5, 4, 12)  # fmt: skip


# ---------------------------------------------------------------- errors, elliptic integrals


def _scaled_erfc(x: Any, n: int) -> Any:
    """Derivative n of ``exp(x*x)*erfc(x)``, by its differential equation."""
    before, here = mp.mpf(0), mp.exp(x * x) * mp.erfc(x)
    for k in range(n):
        before, here = here, 2 * x * here + (2 * k * before if k else -2 / mp.sqrt(mp.pi))
    return here


def _erfcinv(x: Any) -> Any:
    """The inverse of erfc, for x < 1, by Newton's method for the logarithm."""
    y = mp.sqrt(-mp.log(x))
    for _ in range(100):
        value = mp.erfc(y)
        step = mp.log(value / x) * value * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
        y += step
        if abs(step) < mp.mpf(10) ** (5 - DIGITS):
            break
    return y


def _erfcinv_slope(x: Any) -> Any:
    return -mp.sqrt(mp.pi) / 2 * mp.exp(_erfcinv(x) ** 2)


def _quantile(p: Any) -> Any:
    """The quantile of the normal distribution, for p < 1/2."""
    return -mp.sqrt(2) * _erfcinv(2 * p)


def _quantile_slope(p: Any) -> Any:
    return mp.sqrt(2 * mp.pi) * mp.exp(_erfcinv(2 * p) ** 2)


def _tail(t: Any, f: Any) -> Any:
    return f(mp.exp(-t * t))


def _error_functions() -> Iterator[tuple[str, Fit]]:
    for n in range(4):
        name, slope = f"erfcx{n or ''}", partial(_scaled_erfc, n=n)
        yield f"{name}_middle", Fit(slope, -1.0, 0.5, 18, 16)
        yield (
            f"{name}_far",
            Fit(
                lambda u, f=slope, n=n: f(1 / mp.sqrt(u)) / mp.sqrt(u) ** (n + 1),
                0.0,
                2.0**-6,
                1,
                12,
            ),
        )
    # In the distance from the middle, whose value is 0; in t = sqrt(-log(x)), times x the slope.
    middle = {
        "erfcinv": lambda z: _erfcinv(1 - z) / z,
        "erfcinv1": lambda z: -_erfcinv_slope(1 - z),
        "ndtri": lambda z: -_quantile((1 - z) / 2) / (z / 2),
        "ndtri1": lambda z: _quantile_slope((1 - z) / 2),
    }
    tail = {
        "erfcinv": _erfcinv,
        "erfcinv1": lambda x: -_erfcinv_slope(x) * x,
        "ndtri": lambda x: -_quantile(x),
        "ndtri1": lambda x: _quantile_slope(x) * x,
    }
    for name, f in tail.items():
        half = 0.5 if name.startswith("ndtri") else 1.0
        g = middle[name]
        yield f"{name}_middle", Fit(
            lambda z, g=g, h=half: g(z / h), 0.0, 0.125 * half, 4, 14)  # fmt: skip
        begin = 1.0 if half < 1 else 0.75
        yield f"{name}_tail", Fit(partial(_tail, f=f), begin, 0.5, 15, 18)
        yield f"{name}_far", Fit(partial(_tail, f=f), 8.0, 4.0, 5, 18)


def _first_kind_share(q: Any) -> Any:
    """The factor of ``-log(q)`` in K(1 - q)."""
    return mp.ellipk(q) / mp.pi


def _first_kind_rest(q: Any) -> Any:
    return mp.ellipk(1 - q) + mp.log(q) * _first_kind_share(q)


def _complete_d(m: Any) -> Any:
    return (mp.ellipk(m) - mp.ellipe(m)) / m


def _complete_g(m: Any) -> Any:
    return (mp.ellipe(m) / (1 - m) - mp.ellipk(m)) / m


def _d_share(q: Any) -> Any:
    """The factor of ``-log(q)`` in D(1 - q)."""
    return mp.ellipe(q) / (mp.pi * (1 - q))


def _d_rest(q: Any) -> Any:
    return _complete_d(1 - q) + mp.log(q) * _d_share(q)


def _g_part(q: Any) -> Any:
    """What is left of q*G(1 - q) without its logarithm, whose factor is this one's."""
    return 2 * (_first_kind_share(q) - q * mp.diff(_first_kind_rest, q))


def _g_log(q: Any) -> Any:
    return 2 * mp.diff(_first_kind_share, q)


def _complete_integrals() -> Iterator[tuple[str, Fit]]:
    for name, f in (("d", _complete_d), ("g", _complete_g)):
        yield f"complete_{name}_middle", Fit(f, 0.0, 2.0**-4, 14, 19)
        yield f"complete_{name}1_middle", Fit(lambda m, f=f: mp.diff(f, m), 0.0, 2.0**-4, 14, 21)
    near = {
        "d": (_d_rest, lambda q: -_d_share(q)),
        "d1": (lambda q: _d_share(q) - q * mp.diff(_d_rest, q), lambda q: mp.diff(_d_share, q)),
        "g": (_g_part, _g_log),
        "g1": (
            lambda q: _g_part(q) - q * mp.diff(_g_part, q) - q * _g_log(q),
            lambda q: -mp.diff(_g_log, q),
        ),
    }
    for name, (rest, log) in near.items():
        yield f"complete_{name}_near", Fit(rest, 0.0, 0.125, 1, 13)
        yield f"complete_{name}_log", Fit(log, 0.0, 0.125, 1, 13)


# ---------------------------------------------------------------- exponentials and turns over x


def _even(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of ``x*x`` as one of that."""
    return lambda w: f(mp.sqrt(w))


def _fresnel_far(w: Any) -> Any:
    """``pi*x*f`` and ``pi**2*x**3*g`` for ``w = x**-4``: without phases and powers."""
    x = 1 / mp.root(w, 4)
    sine, cosine = mp.sin(mp.pi / 2 * x * x), mp.cos(mp.pi / 2 * x * x)
    c, s = mp.fresnelc(x) - 0.5, 0.5 - mp.fresnels(x)
    return mp.pi * x * (c * sine + s * cosine), mp.pi**2 * x**3 * (s * sine - c * cosine)


def _quotients() -> Iterator[tuple[str, Fit]]:
    yield "ei_near", Fit(lambda x: mp.ei(x) - mp.log(x), 0.0, 0.5, 2, 12)
    yield "ei_middle", Fit(lambda x: mp.exp(-x) * mp.ei(x), 1.0, 0.5, 14, 18)
    yield "ei_far", Fit(lambda u: mp.exp(-1 / u) * mp.ei(1 / u) / u, 0.0, 2.0**-5, 4, 18)
    for name, f, count in (("ci", mp.ci, 1), ("chi", mp.chi, 4)):
        yield f"{name}_near", Fit(_even(lambda x, f=f: f(x) - mp.log(x)), 0.0, 1.0, count, 9)
    for name, f in {"si": mp.si, "shi": mp.shi}.items():
        yield f"{name}_near", Fit(_even(lambda x, f=f: f(x) / x), 0.0, 1.0, 4, 9)
    yield "ci_middle", Fit(mp.ci, 1.0, 0.5, 14, 18)
    yield "si_middle", Fit(mp.si, 2.0, 0.5, 12, 14)
    for word, part in (("real", mp.re), ("imaginary", mp.im)):
        yield f"e1_{word}", Fit(  # of exp(i*x)*E1(i*x)*x, of which Ci and Si are made
            lambda u, p=part: p(mp.expj(1 / u) * mp.e1(mp.mpc(0, 1) / u) / u * mp.mpc(0, 1)),
            0.0, 2.0**-5, 4, 15)  # fmt: skip
    yield "fresnelc_near", Fit(
        lambda v: (mp.fresnelc(mp.root(v, 4)) / mp.root(v, 4) - 1) / v, 0.0, 0.5, 2, 9)  # fmt: skip
    yield "fresnels_near", Fit(
        lambda v: mp.fresnels(mp.root(v, 4)) / mp.root(v, 4) ** 3, 0.0, 0.5, 2, 9)  # fmt: skip
    for name, f in {"fresnelc": mp.fresnelc, "fresnels": mp.fresnels}.items():
        yield f"{name}_middle", Fit(f, 1.0, 0.25, 12, 17)
    for k, name in enumerate(("fresnel_f", "fresnel_g")):
        yield name, Fit(lambda w, k=k: _fresnel_far(w)[k], 0.0, 2.0**-9, 2, 13)
    yield "erfi_near", Fit(_even(lambda x: mp.erfi(x) / x), 0.0, 0.5, 2, 10)
    yield "gamma_middle", Fit(mp.gamma, 1.0, 0.125, 8, 16)
    yield "rgamma_middle", Fit(mp.rgamma, 1.0, 0.125, 8, 14)
    yield "spence_middle", Fit(
        lambda x: mp.polylog(2, 1 - x) / (x - 1) if x != 1 else mp.mpf(-1),
        0.5, 0.5, 15, 22)  # fmt: skip


# ---------------------------------------------------------------- the script

FITS = {
    **dict(_kelvin()),
    **dict(_airies()),
    **dict(_decays()),
    **dict(_turnings()),
    **dict(_error_functions()),
    **dict(_complete_integrals()),
    **dict(_quotients()),
}


def row(fit: Fit, piece: int) -> tuple[float, ...]:
    """Return the coefficients of one interval."""
    middle = fit.begin + (piece + 0.5) * fit.width
    n, half = fit.terms, mp.mpf(fit.width) / 2
    points = [mp.cos(mp.pi * (2 * k + 1) / (2 * n)) for k in range(n)]
    values = mp.matrix([fit.function(middle + half * p) for p in points])
    found = mp.lu_solve(mp.matrix([[p**j for j in range(n)] for p in points]), values)
    head = float(found[0])
    return (
        head,
        float(found[0] - head),
        *(float(found[j] / half**j) for j in range(1, n)),
    )


def error(fit: Fit, piece: int, found: tuple[float, ...]) -> float:
    """Return the error of an interval's coefficients beside the largest value."""
    middle, half = fit.begin + (piece + 0.5) * fit.width, mp.mpf(fit.width) / 2
    points = [half * mp.mpf(t) / 8 for t in (-7, -5, 1, 3, 8)]
    wanted = [fit.function(middle + s) for s in points]
    series = [*found[:0:-1]]
    series[-1] += mp.mpf(found[0])
    gaps = [abs(mp.polyval(series, s) - y) for s, y in zip(points, wanted, strict=True)]
    return float(max(gaps) / max(map(abs, wanted)))


def text() -> Iterator[str]:
    """Return the tables, each with an empty line before it."""
    yield HEAD
    for name, fit in FITS.items():
        rows = [row(fit, k) for k in range(fit.count)]
        worst = max(error(fit, k, found) for k, found in enumerate(rows))
        head = f"{name.upper()} {fit.begin!r} {fit.width!r} 2**{float(mp.log(worst, 2)):.1f}"
        yield "\n".join([f"\n{head}", *(" ".join(map(float.hex, found)) for found in rows), ""])


if __name__ == "__main__":
    with mp.workdps(DIGITS):
        PATH.write_text("".join(text()), encoding="ascii")
