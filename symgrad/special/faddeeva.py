"""Faddeeva's function ``w(z) = exp(-z*z)*erfc(-i*z)``, and Voigt's profile, its real part.

Where z is not near the real axis, the trapezoidal rule for ``w(z) = i/pi * integral of
exp(-t*t)/(z - t)`` converges like exp(-(pi/h)**2), and near the axis it does so with the residue at
z added. Of the two rules whose nodes are the multiples of h and lie midway between them, one has
none near z. In pairs of nodes, t and -t, all terms of the real part have one sign, so it is
accurate where it is small beside the imaginary part, in the far wings of a spectral line.

The textbook's derivative ``w' = -2*z*w + 2i/sqrt(pi)`` is a difference of nearly equal numbers for
large z, and each higher one is one more: so the rules' sums are differentiated. A profile's
derivative by the width of its normal part is one of second order by x.

Constants: h = sqrt(pi/12), with twelve nodes on one side, and for derivatives three more, since the
residue has poles at those that are left out, too; pi/h, the height from which on there is no
residue; 1e9, from where on the asymptotic series is its first term; y < 0.5 and ``abs(z)**2 < 3``,
where derivatives follow from the function by the differential equation, since those of the sum and
of the residue cancel.

Sources: M. Al Azah, S. N. Chandler-Wilde, Computation of the complex error function using modified
trapezoidal rules, SIAM J. Numer. Anal. 59, 2021; NIST Digital Library of Mathematical Functions,
7.2, 7.10 and 7.19.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.base.scipy_names import special as sc
from .._core.op import HIGHEST, Evidence, Op, Positive, Real, Words, composite
from .._core.ops.np_common import as_array, join_parts
from . import multiple_precision as precisely
from .normal import bell
from .records import in_doubles


def complex_product(a: Any, b: Any) -> Any:
    """The parts of a product."""
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def complex_powers(z: Any, count: int) -> Any:
    """The parts of ``z**0`` to ``z**count``."""
    powers = [(1.0, 0.0)]
    for k in range(1, count + 1):
        powers.append(complex_product(powers[k // 2], powers[k - k // 2]) if k > 1 else z)
    return powers


def reciprocal(x: Any, y: Any) -> Any:
    """The parts of ``1/(x + i*y)``, of any size."""
    large = np.maximum(np.fabs(x), np.fabs(y))
    scale = np.where(large < math.inf, np.where(large > 0.0, large, 1.0), 1.0)
    a, b = x / scale, y / scale
    square = a * a + b * b
    endless = large == math.inf
    return (
        np.where(endless, 0.0, a / square / scale),
        np.where(endless, -0.0, -b / square / scale),
    )


def bell_terms(z: Any, order: int) -> Any:
    """The parts of derivatives 0 to ``order`` of ``exp(-z*z)``."""
    x, y = z
    size = np.where(
        np.fabs(y) < 7.0, bell(x, 1.0) * bell(np.minimum(np.fabs(y), 7.0), -1.0),
        np.exp((y - x) * (y + x)),
    )  # fmt: skip
    angle = 2.0 * x * y
    terms = [(size * np.cos(angle), np.where(angle == 0.0, -angle, -size * np.sin(angle)))]
    for k in range(order):
        real, imag = complex_product(z, terms[k])
        real, imag = -2.0 * real, -2.0 * imag
        if k:
            real, imag = real - 2.0 * k * terms[k - 1][0], imag - 2.0 * k * terms[k - 1][1]
        terms.append((real, imag))
    return terms


def rule_terms(z: Any, shift: Any, order: int) -> Any:
    """The parts of the rule's sum for a derivative, without the residue."""
    x, y = z
    step = 0.5116633539732443
    size = x * x + y * y
    z_powers = complex_powers(z, order + 1)
    real, imag = 0.0 * x, 0.0 * x
    for k in range(15 if order else 12):
        middle, whole = (k + 0.5) * step, k * step
        t = np.where(shift, middle, whole)
        weight = np.where(
            shift, math.exp(-middle * middle), math.exp(-whole * whole) / (1 + (not k))
        )
        square = t * t
        below = ((x - t) * (x - t) + y * y) * ((x + t) * (x + t) + y * y)
        if not order:
            real = real + weight * (size + square) / below
            imag = imag + weight * (size - square) / below
            continue
        one = ((x - t) * (x + t) - y * y) / below, -2.0 * x * y / below
        above = 0.0, 0.0
        even = 1.0
        for j in range((order + 1) // 2 + 1):
            power = z_powers[order + 1 - 2 * j]
            factor = math.comb(order + 1, 2 * j) * even
            above = above[0] + factor * power[0], above[1] + factor * power[1]
            even = even * square
        term = complex_product(above, complex_powers(one, order + 1)[order + 1])
        real, imag = real + weight * term[0], imag + weight * term[1]
    factor = 2.0 * step / math.pi
    if not order:
        return factor * y * real, factor * x * imag
    factor = factor * (-1.0) ** order * math.factorial(order)
    return -factor * imag, factor * real


def residue(z: Any, place: Any, shift: Any, order: int) -> Any:
    """The parts of a derivative of ``2*exp(-z*z)*q/(q + s)``, with ``q = exp(2*pi*i*z/h)``.

    s is 1 where the rule's nodes lie midway between the multiples of h, else -1.
    """
    rate = 12.279920495357862  # 2*pi/h
    size, angle = np.exp(-rate * z[1]), 2.0 * math.pi * place
    a, b = size * np.cos(angle), size * np.sin(angle)
    s = np.where(shift, 1.0, -1.0)
    below = (a + s) * (a + s) + b * b
    share = (a * (a + s) + b * b) / below, s * b / below
    bells = bell_terms(z, order)
    if not order:
        real, imag = complex_product(bells[0], share)
        return 2.0 * real, 2.0 * imag
    # By powers of itself: the derivative of share**k is i*rate*k*(share**k - share**(k + 1)).
    powers = complex_powers(share, order + 1)
    weights = [0.0, 1.0]
    real, imag = complex_product(bells[order], share)
    turned = 1.0, 0.0
    for k in range(1, order + 1):
        weights = [
            (j * weights[j] if j < len(weights) else 0.0) - (j - 1) * weights[j - 1]
            for j in range(1, len(weights) + 1)
        ]
        weights = [0.0, *weights]
        own = 0.0, 0.0
        for j in range(1, len(weights)):
            own = own[0] + weights[j] * powers[j][0], own[1] + weights[j] * powers[j][1]
        turned = -rate * turned[1], rate * turned[0]
        term = complex_product(complex_product(turned, own), bells[order - k])
        factor = float(math.comb(order, k))
        real, imag = real + factor * term[0], imag + factor * term[1]
    return 2.0 * real, 2.0 * imag


def faddeeva_parts(x: Any, y: Any, order: int) -> Any:
    """The parts of a derivative of w at ``x + i*y``; below the axis by ``2*exp(-z*z) - w(-z)``."""
    turned = y < 0.0
    a, b = np.where(turned, -x, x), np.fabs(y)
    far = ~(np.maximum(np.fabs(a), b) <= 1e9)
    u, v = np.where(far, 3.0, a), np.where(far, 3.0, b)
    place = u * 1.9544100476116797  # 1/h
    place = place - np.rint(place)
    shift = np.fabs(place) < 0.25
    high = 6.139960247678931  # pi/h
    low = v < high

    def direct(order: int) -> Any:
        real, imag = rule_terms((u, v), shift, order)
        more = residue((u, np.minimum(v, high)), place, shift, order)
        return real + np.where(low, more[0], 0.0), imag + np.where(low, more[1], 0.0)

    real, imag = direct(order)
    if order:
        terms = [direct(0)]
        for k in range(order):
            above = complex_product((-2.0 * u, -2.0 * v), terms[k])
            if k:
                above = above[0] - 2.0 * k * terms[k - 1][0], above[1] - 2.0 * k * terms[k - 1][1]
            else:
                above = above[0], above[1] + 1.1283791670955126  # 2/sqrt(pi)
            terms.append(above)
        near = (v < 0.5) & (u * u + v * v < 3.0)
        real, imag = np.where(near, terms[order][0], real), np.where(near, terms[order][1], imag)
    once = complex_powers(reciprocal(a, b), order + 1)[order + 1]
    factor = (-1.0) ** order * math.factorial(order) * 0.5641895835477563  # 1/sqrt(pi)
    real, imag = np.where(far, -factor * once[1], real), np.where(far, factor * once[0], imag)
    sign = -1.0 if order % 2 else 1.0
    more = bell_terms((x, np.where(turned, y, 0.0)), order)[order]
    return (
        np.where(turned, 2.0 * more[0] - sign * real, real),
        np.where(turned, 2.0 * more[1] - sign * imag, imag),
    )


def faddeeva_real(x: Any, y: Any, order: int = 0) -> Any:
    """The real part of w, or of its derivative by z, at ``x + i*y``."""
    return faddeeva_parts(x, y, order)[0]


def faddeeva_imag(x: Any, y: Any, order: int = 0) -> Any:
    """The imaginary part of w, or of its derivative by z, at ``x + i*y``."""
    return faddeeva_parts(x, y, order)[1]


def voigt_parts(x: Any, sigma: Any, gamma: Any, order: int) -> Any:
    """The parts of ``w(z)/(sigma*sqrt(2*pi))``, ``z = (x + i*gamma)/(sigma*sqrt(2))``, by x.

    Where sigma is 0, or next to it, those of Cauchy's ``i/pi/(x + i*gamma)``.
    """
    scale = sigma * 1.4142135623730951
    narrow = np.maximum(np.fabs(x), np.fabs(gamma)) > 1e9 * np.fabs(scale)
    by = np.where(narrow | (scale == 0.0), 1.0, scale)
    found = faddeeva_parts(x / by, gamma / by, order)
    once = complex_powers(reciprocal(x, gamma), order + 1)[order + 1]
    factor = (-1.0) ** order * math.factorial(order) * 0.3183098861837907  # 1/pi
    over = 0.5641895835477563  # 1/sqrt(pi)
    for _ in range(order + 1):
        over = over / by
    real = np.where(narrow, -factor * once[1], found[0] * over)
    imag = np.where(narrow, factor * once[0], found[1] * over)
    point = (scale == 0.0) & ~narrow  # a mass at one place
    peak = math.inf if not order else math.nan
    return np.where(point, peak + 0.0 * (x + gamma), real), np.where(point, math.nan, imag)


def voigt_profile(x: Any, sigma: Any, gamma: Any, order: int = 0) -> Any:
    """Voigt's profile, or a derivative of it by x."""
    return voigt_parts(x, sigma, gamma, order)[0]


def voigt_dispersion(x: Any, sigma: Any, gamma: Any, order: int = 0) -> Any:
    """What is to Voigt's profile as the imaginary part of w to the real one."""
    return voigt_parts(x, sigma, gamma, order)[1]


# ---------------------------------------------------------------- records


HELPERS: tuple[Callable[..., Any], ...] = (
    complex_product, complex_powers, reciprocal, bell, bell_terms, rule_terms, residue,
    faddeeva_parts,
)  # fmt: skip


def _faddeeva_real_partials(y: Any, a: Any, b: Any, order: int = 0) -> Any:
    return FADDEEVA_REAL(a, b, order=order + 1), -FADDEEVA_IMAG(a, b, order=order + 1)


def _faddeeva_imag_partials(y: Any, a: Any, b: Any, order: int = 0) -> Any:
    return FADDEEVA_IMAG(a, b, order=order + 1), FADDEEVA_REAL(a, b, order=order + 1)


def _voigt_partials(y: Any, x: Any, sigma: Any, gamma: Any, order: int = 0) -> Any:
    return (
        VOIGT(x, sigma, gamma, order=order + 1),
        sigma * VOIGT(x, sigma, gamma, order=order + 2),
        -VOIGT_IMAG(x, sigma, gamma, order=order + 1),
    )


def _voigt_imag_partials(y: Any, x: Any, sigma: Any, gamma: Any, order: int = 0) -> Any:
    return (
        VOIGT_IMAG(x, sigma, gamma, order=order + 1),
        sigma * VOIGT_IMAG(x, sigma, gamma, order=order + 2),
        VOIGT(x, sigma, gamma, order=order + 1),
    )


FADDEEVA_REAL: Op = in_doubles(
    "FaddeevaReal", faddeeva_real, (Real, Positive), None, _faddeeva_real_partials,
    Evidence(samples=((-4, 4), (0.1, 3)), ulp=64.0, precise=precisely.faddeeva_real),
    Words("The real part of Faddeeva's function; a derivative of it."), helpers=HELPERS,
    orders=HIGHEST,
)  # fmt: skip
FADDEEVA_IMAG: Op = in_doubles(
    "FaddeevaImag", faddeeva_imag, (Real, Positive), None, _faddeeva_imag_partials,
    Evidence(samples=((-4, 4), (0.1, 3)), ulp=64.0, precise=precisely.faddeeva_imag),
    Words("The imaginary part of Faddeeva's function; a derivative of it."), helpers=HELPERS,
    orders=HIGHEST,
)  # fmt: skip
VOIGT: Op = in_doubles(
    "VoigtProfile", voigt_profile, (Real, Positive, Positive), None, _voigt_partials,
    Evidence(samples=((-3, 3), (0.3, 2), (0.1, 2)), ulp=64.0, precise=precisely.voigt_profile),
    Words("Voigt's profile, a normal density convolved with Cauchy's; a derivative of it by x."),
    functions=(sc.voigt_profile,), helpers=(*HELPERS, voigt_parts), orders=HIGHEST,
)  # fmt: skip
VOIGT_IMAG: Op = in_doubles(
    "VoigtDispersion", voigt_dispersion, (Real, Positive, Positive), None, _voigt_imag_partials,
    Evidence(samples=((-3, 3), (0.3, 2), (0.1, 2)), ulp=64.0, precise=precisely.voigt_dispersion),
    Words("The imaginary part of w that belongs to Voigt's profile; a derivative of it by x."),
    helpers=(*HELPERS, voigt_parts), orders=HIGHEST,
)  # fmt: skip


@composite(sc.wofz, name="wofz")
def wofz(z: Any) -> Any:
    """Faddeeva's function, ``exp(-z*z)*erfc(-i*z)``."""
    z = as_array(z)
    if z.dtype.kind != "c":  # of real numbers nothing shorter, as SciPy
        z = z.astype(float)
    x, y = np.real(z), np.imag(z)
    return join_parts(FADDEEVA_REAL(x, y), FADDEEVA_IMAG(x, y))
