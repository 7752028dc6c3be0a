"""Special functions that SymPy has no form of, in multiple precision.

Each function computes one by its definition, in numbers of mpmath, and not by the way that the
kernel takes: ``compute(context, guess, *operands)``. ``guess`` is the number that the op computes
in floating point, from which the quantile functions start. Certificates differentiate these by
differences (``symgrad._verify._numeric_calculus``), so no derivative is written here.

Source of the definitions: NIST Digital Library of Mathematical Functions, https://dlmf.nist.gov,
sections 7.2, 7.10, 8.2, 8.17, 8.19, 10.46, 10.61, 10.63, 11.2, 13.2, 22.16 and 25.12; D. B. Owen,
Tables for computing bivariate normal probabilities, Annals of Mathematical Statistics 27, 1956.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.base.scipy_names import special as sc

Precise = Callable[..., Any]

#: A root is found when a step changes it by less than this many times the precision.
ENOUGH, STEPS = 4, 60


def expn(c: Any, guess: Any, n: Any, x: Any) -> Any:
    """Exponential integral."""
    return c.expint(n, x)


def _struve(name: str) -> Precise:
    """Return mpmath's Struve function of a name, or its derivative by x."""

    def found(c: Any, guess: Any, v: Any, x: Any, slope: int = 0) -> Any:
        f = getattr(c, name)
        return f(v - 1, x) - v / x * f(v, x) if slope else f(v, x)

    return found


struve, modstruve = map(_struve, ("struveh", "struvel"))


def hyperu(c: Any, guess: Any, a: Any, b: Any, x: Any, slope: int = 0) -> Any:
    """Tricomi's function, or its derivative by x."""
    return -a * c.hyperu(a + 1, b + 1, x) if slope else c.hyperu(a, b, x)


def spence(c: Any, guess: Any, x: Any) -> Any:
    """The dilogarithm, as SciPy has it: of 1 - x."""
    return c.re(c.polylog(2, 1 - x))


def by_order(name: str) -> Precise:
    """Return the derivative of a Bessel or Struve function by its order, or a higher one."""
    of = {
        "j": "besselj", "y": "bessely", "i": "besseli", "k": "besselk", "s": "struveh",
        "m": "struvel",
    }[name[0]]  # fmt: skip

    def found(c: Any, guess: Any, v: Any, x: Any, order: int = 0) -> Any:
        scale = {"kve": c.exp(x), "ive": c.exp(-x)}.get(name, 1)
        return scale * c.diff(lambda at: getattr(c, of)(at, x), v, 1 + order)

    return found


def hypergeometric(name: str, places: tuple[str, ...]) -> Precise:
    """Return a derivative of a hypergeometric function, by its operands as often as named."""

    def found(c: Any, guess: Any, *operands: Any, **given: int) -> Any:
        orders = tuple(given.get(place, 0) for place in places)
        f = getattr(c, name)
        return c.diff(f, operands, orders) if any(orders) else f(*operands)

    return found


def zeta_by_order(c: Any, guess: Any, s: Any, x: Any, order: int = 0) -> Any:
    """The derivative of the zeta function by s, or a higher one."""
    return c.diff(lambda at: c.zeta(at, x), s, 1 + order)


def wright_bessel(c: Any, guess: Any, a: Any, b: Any, x: Any) -> Any:
    """The sum of x**k/(k!*gamma(a*k + b))."""
    total, power, k = c.zero, c.one, 0
    while True:
        term = power * c.rgamma(a * k + b)
        total += term
        if abs(term) < abs(total) * c.eps:
            return total
        k += 1
        power = power * x / k


def owens_t(c: Any, guess: Any, h: Any, a: Any, slope: int = 0) -> Any:
    """The integral that defines it; its derivative by h (1) or a, the bound (2)."""
    half = h * h / 2
    if slope == 1:
        return -c.npdf(h) * c.erf(h * a / c.sqrt(2)) / 2
    if slope:
        return c.exp(-half * (1 + a * a)) / (1 + a * a) / (2 * c.pi)
    area = c.quad(lambda t: c.exp(-half * (1 + t * t)) / (1 + t * t), [0, a])
    return area / (2 * c.pi)


# ---------------------------------------------------------------- Kelvin functions


def _kelvin(name: str) -> Precise:
    return lambda c, guess, x: getattr(c, name)(0, x)


def _kelvin_slope(first: str, second: str, sign: int) -> Precise:
    """Of order 0: (first_1 + sign*second_1)/sqrt(2)."""
    return lambda c, guess, x: (
        (getattr(c, first)(1, x) + sign * getattr(c, second)(1, x)) / c.sqrt(2)
    )


def _kelvin_second(part: str) -> Precise:
    """A part of I2 at ``x*exp(i*pi/4)``, or its derivative."""

    def found(c: Any, guess: Any, x: Any, slope: int = 0) -> Any:
        z = c.expjpi(c.mpf(0.25))
        if slope:
            return getattr(c, part)(z * (c.besseli(1, x * z) + c.besseli(3, x * z)) / 2)
        return getattr(c, part)(c.besseli(2, x * z))

    return found


KELVIN: dict[str, Precise] = {
    **{name: _kelvin(name) for name in ("ber", "bei", "ker", "kei")},
    "berp": _kelvin_slope("ber", "bei", 1),
    "beip": _kelvin_slope("bei", "ber", -1),
    "kerp": _kelvin_slope("ker", "kei", 1),
    "keip": _kelvin_slope("kei", "ker", -1),
    "ber2": _kelvin_second("re"),
    "bei2": _kelvin_second("im"),
}


# ---------------------------------------------------------------- Jacobi's elliptic functions


def _jacobi(name: str) -> Precise:
    return _of_slope(lambda c, guess, u, m: c.ellipfun(name, u, m=m))


def _of_slope(f: Precise) -> Precise:
    """A function of u and m, or with a slope (2) its derivative by m."""

    def found(c: Any, guess: Any, u: Any, m: Any, slope: int = 0) -> Any:
        return c.diff(lambda at: f(c, guess, u, at), m) if slope else f(c, guess, u, m)

    return found


def amplitude(c: Any, guess: Any, u: Any, m: Any) -> Any:
    """The angle with that sine and cosine, which grows by pi with each two quarter periods."""
    turns = c.nint(u / (2 * c.ellipk(m)))
    sn, cn = (c.ellipfun(name, u - 2 * turns * c.ellipk(m), m=m) for name in ("sn", "cn"))
    if not (hasattr(sn, "_mpf_") and hasattr(cn, "_mpf_")):  # for m beyond 0 and 1
        return c.nan
    return c.atan2(sn, cn) + turns * c.pi


JACOBI: tuple[Precise, ...] = (*map(_jacobi, ("sn", "cn", "dn")), _of_slope(amplitude))


# ---------------------------------------------------------------- distributions


def gamma_share(c: Any, guess: Any, a: Any, x: Any) -> Any:
    """The regularized incomplete gamma function."""
    return c.gammainc(a, 0, x, regularized=True)


def gamma_rest(c: Any, guess: Any, a: Any, x: Any) -> Any:
    """Its complement."""
    return c.gammainc(a, x, c.inf, regularized=True)


def gamma_shape(c: Any, guess: Any, a: Any, x: Any, order: int = 0) -> Any:
    """The derivative of the former by a, or a higher one."""
    return c.diff(lambda at: gamma_share(c, guess, at, x), a, 1 + order)


def beta_share(c: Any, guess: Any, a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function."""
    return c.betainc(a, b, 0, x, regularized=True)


def beta_rest(c: Any, guess: Any, a: Any, b: Any, x: Any) -> Any:
    """Its complement."""
    return c.betainc(a, b, x, 1, regularized=True)


def beta_shape(c: Any, guess: Any, a: Any, b: Any, x: Any, order: int = 0, second: int = 0) -> Any:
    """The derivative of the former by a, or a higher one by a and b."""
    return c.diff(lambda p, q: beta_share(c, guess, p, q, x), (a, b), (1 + order, second))


def other_beta_shape(c: Any, guess: Any, a: Any, b: Any, x: Any, order: int = 0) -> Any:
    """Its derivative by b, or a higher one."""
    return c.diff(lambda at: beta_share(c, guess, a, at, x), b, 1 + order)


def student(c: Any, guess: Any, v: Any, t: Any) -> Any:
    """Student's distribution function, whose tail is an incomplete beta function."""
    tail = beta_share(c, guess, v / 2, c.mpf(0.5), v / (v + t * t)) / 2
    return tail if t < 0 else 1 - tail


def student_shape(c: Any, guess: Any, v: Any, t: Any, slope: int = 0) -> Any:
    """Its derivative by v, or the second one."""
    return c.diff(lambda at: student(c, guess, at, t), v, 1 + slope)


def _root(c: Any, guess: Any, gap: Callable[[Any], Any], slope: Callable[[Any], Any]) -> Any:
    """Return the root of ``gap`` near ``guess``, by Newton's method."""
    x = c.mpf(guess)
    for _ in range(STEPS):
        step = gap(x) / slope(x)
        x -= step
        if abs(step) <= abs(x) * c.eps * 2**ENOUGH:
            return x
    return c.nan


def _beta_density(c: Any, a: Any, b: Any, x: Any) -> Any:
    return x ** (a - 1) * (1 - x) ** (b - 1) / c.beta(a, b)


def _sloped(quantile: Precise, start: Precise, density: Precise, sign: int = 1) -> Precise:
    """A quantile function, or its slope: then the root is looked for from SciPy's."""

    def compute(c: Any, guess: Any, *xs: Any, slope: int = 0) -> Any:
        if not slope:
            return quantile(c, guess, *xs)
        at = quantile(c, float(start(*map(float, xs))), *xs)
        return sign / density(c, *xs[:-1], at)

    return compute


def _beta_quantile(c: Any, guess: Any, a: Any, b: Any, y: Any) -> Any:
    return _root(c, guess, lambda x: beta_share(c, guess, a, b, x) - y,
                 lambda x: _beta_density(c, a, b, x))  # fmt: skip


#: Where the incomplete beta function or its complement is y.
beta_quantile = _sloped(_beta_quantile, sc.betaincinv, _beta_density)
beta_upper_quantile = _sloped(
    lambda c, guess, a, b, y: _beta_quantile(c, guess, a, b, 1 - y),
    sc.betainccinv, _beta_density, -1,
)  # fmt: skip


def _gamma_density(c: Any, a: Any, x: Any) -> Any:
    return x ** (a - 1) * c.exp(-x) / c.gamma(a)


def _gamma_quantile(c: Any, guess: Any, a: Any, y: Any) -> Any:
    return _root(c, guess, lambda x: gamma_share(c, guess, a, x) - y,
                 lambda x: _gamma_density(c, a, x))  # fmt: skip


#: Where the incomplete gamma function or its complement is y.
gamma_quantile = _sloped(_gamma_quantile, sc.gammaincinv, _gamma_density)
gamma_upper_quantile = _sloped(
    lambda c, guess, a, y: _gamma_quantile(c, guess, a, 1 - y),
    sc.gammainccinv, _gamma_density, -1,
)  # fmt: skip


def _t_density(c: Any, v: Any, t: Any) -> Any:
    scale = c.gamma((v + 1) / 2) / c.gamma(v / 2) / c.sqrt(c.pi * v)
    return scale * (1 + t * t / v) ** (-(v + 1) / 2)


def _student_quantile(c: Any, guess: Any, v: Any, p: Any) -> Any:
    half = c.mpf(0.5)

    def gap(t: Any) -> Any:
        if abs(p - half) > half / 2:
            return student(c, guess, v, t) - p
        # Close to 0, half is left out, or no step would be small beside t.
        return c.sign(t) * beta_share(c, guess, half, v / 2, t * t / (v + t * t)) / 2 - (p - half)

    return _root(c, guess, gap, lambda t: _t_density(c, v, t))


#: Where Student's distribution function is p.
student_quantile = _sloped(_student_quantile, sc.stdtrit, _t_density)


def normal_log_quantile(c: Any, guess: Any, y: Any) -> Any:
    """Where the logarithm of the normal distribution function is y."""
    root = c.sqrt(2)

    def below(x: Any) -> Any:
        return c.erfc(-x / root) / 2

    return _root(c, guess, lambda x: c.ln(below(x)) - y,
                 lambda x: c.exp(-x * x / 2) / c.sqrt(2 * c.pi) / below(x))  # fmt: skip


def _lambert(branch: int) -> Precise:
    return lambda c, guess, x: c.re(c.lambertw(x, branch))


lambert_principal, lambert_lower = map(_lambert, (0, -1))


# ---------------------------------------------------------------- Faddeeva's function


def _faddeeva(c: Any, z: Any, order: int) -> Any:
    """A derivative of ``exp(-z*z)*erfc(-i*z)``, by its differential equation."""
    with c.workprec(c.prec + 8 * (order + 1) + 4 * order * max(0, c.mag(z))):
        before, here = c.zero, c.exp(-z * z) * c.erfc(-1j * z)
        for k in range(order):
            more = 2 * k * before if k else -2j / c.sqrt(c.pi)
            before, here = here, -2 * z * here - more
    return here


def _voigt(c: Any, x: Any, sigma: Any, gamma: Any, order: int) -> Any:
    scale = sigma * c.sqrt(2)
    return _faddeeva(c, (x + 1j * gamma) / scale, order) / scale ** (order + 1) / c.sqrt(c.pi)


def faddeeva_real(c: Any, guess: Any, x: Any, y: Any, order: int = 0) -> Any:
    """The real part of a derivative of Faddeeva's function."""
    return c.re(_faddeeva(c, x + 1j * y, order))


def faddeeva_imag(c: Any, guess: Any, x: Any, y: Any, order: int = 0) -> Any:
    """The imaginary part of a derivative of Faddeeva's function."""
    return c.im(_faddeeva(c, x + 1j * y, order))


def voigt_profile(c: Any, guess: Any, x: Any, sigma: Any, gamma: Any, order: int = 0) -> Any:
    """A derivative of Voigt's profile by x."""
    return c.re(_voigt(c, x, sigma, gamma, order))


def voigt_dispersion(c: Any, guess: Any, x: Any, sigma: Any, gamma: Any, order: int = 0) -> Any:
    """The imaginary part that belongs to it."""
    return c.im(_voigt(c, x, sigma, gamma, order))
