"""Calls of special functions that others express."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.samples.making import Sample, Samples

#: Where the arguments of functions lie; of one number it is that number, which may be whole.
RANGES: dict[str, tuple[tuple[float, float], ...]] = {
    **dict.fromkeys(
        ("hankel1", "hankel1e", "hankel2", "hankel2e", "jve", "yve"), ((0.5, 2), (0.5, 3))
    ),
    **dict.fromkeys(("h1vp", "h2vp", "ivp", "jvp", "kvp", "yvp"), ((0.5, 2), (0.5, 3))),
    **dict.fromkeys(("kn", "yn"), ((2, 2), (0.5, 3))),
    **dict.fromkeys(("bdtr", "bdtrc"), ((2, 2), (5, 5), (0.1, 0.9))),
    **dict.fromkeys(("nbdtr", "nbdtrc"), ((2, 2), (3, 3), (0.1, 0.9))),
    **dict.fromkeys(("chdtr", "chdtrc"), ((1, 6), (0.5, 8))),
    **dict.fromkeys(("fdtr", "fdtrc"), ((1, 6), (1, 6), (0.5, 4))),
    **dict.fromkeys(("gdtr", "gdtrc"), ((0.5, 2), (1, 4), (0.5, 3))),
    **dict.fromkeys(("pdtr", "pdtrc"), ((0.5, 6), (0.5, 5))),
    **dict.fromkeys(("boxcox1p", "inv_boxcox", "inv_boxcox1p"), ((0.5, 2), (0.3, 2))),
    "agm": ((0.5, 2), (3, 4)),
    "airy": ((0.1, 3),),
    "chdtri": ((1, 6), (0.1, 0.9)),
    "cotdg": ((10, 80),),
    "ellipj": ((0.2, 1.5), (0.2, 0.8)),
    "elliprc": ((0.2, 1), (1, 2)),
    "elliprd": ((0.2, 1), (1, 2), (2, 5)),
    "elliprj": ((0.2, 1), (1, 2), (2, 5), (0.5, 4)),
    "fdtri": ((1, 6), (1, 6), (0.1, 0.9)),
    "fresnel": ((-2, 2),),
    "gammasgn": ((0.5, 2),),
    "gdtrix": ((0.5, 2), (1, 4), (0.1, 0.9)),
    "powm1": ((0.5, 2), (-2, 2)),
    "radian": ((0, 90), (0, 60), (0, 60)),
    "shichi": ((0.6, 9),),
    "sici": ((0.2, 9),),
    "softplus": ((-2, 2),),
    "tandg": ((-80, 80),),
    "zeta": ((1.5, 6), (0.2, 9)),
}

#: The parameters of families of polynomials beside the degree.
PARAMETERS: dict[str, tuple[float, ...]] = {
    **dict.fromkeys((
        "chebyc", "chebys", "chebyt", "chebyu", "hermite", "hermitenorm", "laguerre", "legendre",
        "sh_chebyt", "sh_chebyu", "sh_legendre",
    ), ()),
    **dict.fromkeys(("gegenbauer", "genlaguerre"), (0.5,)),
    "jacobi": (0.5, 0.75),
    "sh_jacobi": (1.5, 0.5),
}  # fmt: skip


def _points(*ranges: tuple[float, float]) -> Samples:
    def samples(rng: np.random.Generator) -> Iterator[Sample]:
        *first, last = ranges
        numbers = (low if low == high else float(rng.uniform(low, high)) for low, high in first)
        yield (*numbers, rng.uniform(*last, 5)), {}

    return samples


def _of_degrees(*parameters: float) -> Samples:
    def samples(rng: np.random.Generator) -> Iterator[Sample]:
        for n in (0, 1, 4):
            yield (n, *parameters, rng.uniform(0.1, 0.9, 4)), {}

    return samples


def _degrees(rng: np.random.Generator) -> Iterator[Sample]:
    for m, n in ((0, 0), (1, 2), (-2, 3), (3, 2)):
        yield (m, n, rng.uniform(-0.9, 0.9, 4)), {}


def _angles(rng: np.random.Generator) -> Iterator[Sample]:
    for n, m in ((0, 0), (2, 1), (3, -2), (2, 3)):
        yield (n, m, rng.uniform(0.2, 3, 4), rng.uniform(0, 6, 4)), {}


def _orders(rng: np.random.Generator) -> Iterator[Sample]:
    for n in (0, 1, 3):
        yield (n, rng.uniform(0.3, 4, 4)), {}
    yield (2, rng.uniform(0.3, 4, 4), True), {}


def _branches(rng: np.random.Generator) -> Iterator[Sample]:
    yield (rng.uniform(-0.3, 5, 5),), {}
    yield (rng.uniform(-0.35, -0.01, 5), -1), {}


def _plane(rng: np.random.Generator) -> Iterator[Sample]:
    yield (rng.uniform(-3, 3, 5),), {}
    yield (rng.uniform(-3, 3, 5) + 1j * rng.uniform(0, 3, 5),), {}


def _choices(rng: np.random.Generator) -> Iterator[Sample]:
    yield (rng.uniform(5, 9, 4), 2.0), {}
    yield (7.0, np.array([0.5, 2.0, 6.5, 9.0, -1.0])), {}


def _factorials(rng: np.random.Generator) -> Iterator[Sample]:
    yield (rng.uniform(0, 9, 3),), {}
    yield (np.array([-1.5, 3.0]),), {}


def _dimensions(rng: np.random.Generator) -> Iterator[Sample]:
    for d in (1, 4):
        yield (rng.uniform(2, 9, 4), d), {}


ROWS: dict[str, Samples] = {
    **{name: _points(*ranges) for name, ranges in RANGES.items()},
    **{f"eval_{name}": _of_degrees(*numbers) for name, numbers in PARAMETERS.items()},
    **dict.fromkeys((f"spherical_{letter}n" for letter in "jyik"), _orders),
    **dict.fromkeys(("comb", "perm"), _choices),
    "factorial": _factorials,
    "lambertw": _branches,
    "lpmv": _degrees,
    "multigammaln": _dimensions,
    "sph_harm_y": _angles,
    "wofz": _plane,
}
