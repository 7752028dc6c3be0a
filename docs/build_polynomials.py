"""Write ``symgrad/_core/lowering/_simd_coefficients.py``: ``python docs/build_polynomials.py``.

Polynomials close to minimax: weighted least squares at Chebyshev nodes in multiple precision.
Each coefficient is rounded before the ones of higher powers are fitted to what is left, so that
they make up for its rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import mpmath as mp

PATH = Path(__file__).parents[1] / "symgrad" / "_core" / "lowering" / "_simd_coefficients.py"
NODES = 160
DIGITS = 60

HEAD = '''"""Coefficients of the polynomials that SIMD functions are made of.

Written by ``docs/build_polynomials.py``. With z the square of the argument:

exp: exp(r) = 1 + r + r*r*p(r), |r| <= log(2)/2.
sin: sin(r) = r + r*z*p(z), |r| <= pi/4.
cos: cos(r) = 1 - z/2 + z*z*p(z), |r| <= pi/4.
log: log((1 + s)/(1 - s)) = 2*s + s*z*p(z), from log(3/4) to log(3/2).
erfc: exp(a*a)*erfc(a)*(1 + 2*a) = 1 + u*p(u - 1), u = 2*a/(a + centre), 0 <= a <= reach.
erf: erf(x) = x + x*p(z), |x| <= near.
tail: exp(a*a)*erfc(a) = p(u), u = (a - middle)/(a + middle), near <= a <= 6; its error is
    relative to erf(a).

The comments give the largest error relative to the function (of cos and exp: to 1).
"""

from __future__ import annotations

from typing import NamedTuple

Row = tuple[float, ...]


class Coefficients(NamedTuple):
    """The polynomials of one precision, lowest power first."""

    exp: Row
    sin: Row
    cos: Row
    log: Row
    erfc: Row
    erf: Row
    tail: Row


#: The centre of erfc's argument, and the argument from which it is zero, by bytes of a number.
ERFC = {8: (3.5, 27.3), 4: (2.0, 10.2)}

#: The argument up to which erf is its polynomial, and the middle of its tail's argument.
ERF = {8: (0.84375, 3.5), 4: (0.84375, 2.5)}
'''


class Task(NamedTuple):
    """A function to be fitted, with the weight of its error, on an interval."""

    function: Callable[[Any], Any]
    weight: Callable[[Any], Any]
    begin: Any
    end: Any


def fit(task: Task, count: int, bits: int) -> tuple[list[float], float]:
    """Return so many coefficients of so many bits, and the binary logarithm of the error."""
    a, b = mp.mpf(task.begin), mp.mpf(task.end)
    points = [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * (2 * k + 1) / mp.mpf(2 * NODES))
              for k in range(NODES)]  # fmt: skip
    weights = [task.weight(x) for x in points]
    left = [task.function(x) for x in points]
    rows = [[x**k for k in range(count)] for x in points]
    found = []
    for first in range(count):
        n = count - first
        normal, right = mp.matrix(n, n), mp.matrix(n, 1)
        for i in range(n):
            scaled = [w * w * row[first + i] for w, row in zip(weights, rows, strict=True)]
            right[i] = mp.fdot(scaled, left)
            for j in range(i, n):
                normal[i, j] = mp.fdot(scaled, [row[first + j] for row in rows])
                normal[j, i] = normal[i, j]
        best = mp.lu_solve(normal, right)[0]
        with mp.workprec(bits):
            best = +best
        found.append(float(best))
        left = [y - best * row[first] for y, row in zip(left, rows, strict=True)]
    error = max(abs(w * y) for w, y in zip(weights, left, strict=True))
    return found, float(mp.log(error, 2))


def _scaled_erfc(a: Any) -> Any:
    if a < 25:
        return mp.exp(a * a) * mp.erfc(a)
    # The integral of exp(-t*t - 2*a*t), where the product would be zero times infinity.
    found = mp.quad(lambda t: mp.exp(-t * t - 2 * a * t), [0, 1 / a, 10 / a, 60 / a])
    return found * 2 / mp.sqrt(mp.pi)


def tasks(centre: float, reach: float, near: float, middle: float) -> dict[str, Task]:
    """Return what is fitted; the intervals are a little wider than they need to be."""
    half, quarter = mp.log(2) / 2 * (1 + mp.mpf(2) ** -20), mp.pi / 4 * (1 + mp.mpf(2) ** -10)
    most = mp.mpf(1) / 5 * (1 + mp.mpf(2) ** -10)

    def log(z: Any) -> Any:
        s = mp.sqrt(z)
        return (2 * mp.atanh(s) - 2 * s) / (s * z)

    def erfc(t: Any) -> Any:
        a = centre * (1 + t) / (1 - t)
        return (_scaled_erfc(a) * (1 + 2 * a) - 1) / (1 + t)

    def beyond(u: Any) -> Any:
        return middle * (1 + u) / (1 - u)

    def place(a: Any) -> Any:
        return (a - middle) / (a + middle)

    return {
        "exp": Task(lambda r: (mp.expm1(r) - r) / r**2, lambda r: r * r, -half, half),
        "sin": Task(
            lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, lambda z: z, 0, quarter**2
        ),
        "cos": Task(
            lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, lambda z: z * z, 0, quarter**2
        ),
        "log": Task(log, lambda z: z, 0, most**2),
        "erfc": Task(erfc, lambda t: 1 + t, -1, (reach - centre) / (reach + centre)),
        "erf": Task(lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, lambda z: mp.mpf(1), 0, near**2),
        "tail": Task(
            lambda u: _scaled_erfc(beyond(u)),
            lambda u: mp.exp(-(beyond(u) ** 2)) / mp.erf(beyond(u)),
            place(near),
            place(6),
        ),
    }


class Format(NamedTuple):
    """A precision: its bits, the constants of erfc and erf, the numbers of coefficients."""

    bits: int
    erfc: tuple[float, float]
    erf: tuple[float, float]
    counts: dict[str, int]


FORMATS = {
    "DOUBLE": Format(
        53, (3.5, 27.3), (0.84375, 3.5),
        {"exp": 10, "sin": 6, "cos": 6, "log": 7, "erfc": 22, "erf": 11, "tail": 12},
    ),
    "SINGLE": Format(
        24, (2.0, 10.2), (0.84375, 2.5),
        {"exp": 5, "sin": 3, "cos": 3, "log": 4, "erfc": 9, "erf": 6, "tail": 5},
    ),
}  # fmt: skip


def text() -> Iterator[str]:
    """Return the lines of the module."""
    yield from HEAD.splitlines()
    for name, (bits, erfc, erf, counts) in FORMATS.items():
        yield ""
        yield f"{name} = Coefficients("
        for key, task in tasks(*erfc, *erf).items():
            with mp.workdps(DIGITS):
                found, error = fit(task, counts[key], bits)
            yield f"    # 2**{error:.1f}"
            yield f"    {key}=("
            yield from (f"        {x!r}," for x in found)
            yield "    ),"
        yield ")"


if __name__ == "__main__":
    with mp.workdps(DIGITS):
        PATH.write_text("\n".join(text()) + "\n")
