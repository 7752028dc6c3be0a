"""Calls of what computes with functions, signals and elements."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.samples.making import Sample, Samples, join, numbers, on, on_all

# ---------------------------------------------------------------- tables, signals and polynomials


def _tables(rng: np.random.Generator) -> Iterator[Sample]:
    xp, fp = np.sort(numbers(rng, 6)), numbers(rng, 6)
    for x in (numbers(rng, ()), 2 * numbers(rng, 7), numbers(rng, (2, 3))):
        yield (x, xp, fp), {}
    yield (2 * numbers(rng, 5), xp, fp), {"left": -1.0, "right": 7.0}
    yield (3 * numbers(rng, 5), numbers(rng, 4), numbers(rng, 4)), {"period": 1.5}


_PAIRS = join(
    on_all([((5,), (3,)), ((3,), (4,)), ((4,), (4,)), ((4,), (1,))], *(
        (mode,) for mode in ("full", "same", "valid")
    )),
    on_all([((3,), (2,))], (), dtypes=("i4", "f4")),
)  # fmt: skip


def _grids(rng: np.random.Generator) -> Iterator[Sample]:
    x = numbers(rng, (4, 5))
    yield (x,), {}
    yield (x, 0.5), {"axis": 1}
    yield (x, 0.5, np.array([0.0, 1.0, 3.0, 3.5, 5.0])), {"edge_order": 2}
    yield (x[0], np.sort(numbers(rng, 5))), {}
    yield (x, 2.0), {"axis": (0, 1), "edge_order": 2}


def _counts(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.integers(0, 4, 6)
    x[0] = 3
    yield (x,), {"minlength": 4}
    yield (x, numbers(rng, 6)), {"minlength": 4}


_TWO_POLYNOMIALS = on_all([((3,), (2,)), ((2,), (3,)), ((3,), (3,))])


ROWS: dict[str, Samples] = {
    "interp": _tables,
    "convolve": _PAIRS,
    "correlate": _PAIRS,
    "lib.stride_tricks.sliding_window_view": join(
        on([(5,), (12,)], (3,), ((1,),), (np.int64(5),), dtypes=("f8", "i4")),
        on([(12,)], (10,), (12,)),
        on([(4, 5)], ((2, 3),), (2, 0), (3, -1), ((2, 2), (1, 0)), ((2, 2), (0, 0))),
        on([(2, 11, 3)], (9, 1), ((1, 9, 2),)),
    ),
    "gradient": _grids,
    "unwrap": join(on([(6,), (2, 5)], {}, {"discont": 4.0}), on([(6,)], {"period": 1.0})),
    "bincount": _counts,
    "diff": join(
        on([(4,), (2, 3)], (), (2,), {"axis": 0}, dtypes=("f8", "f4", "i4")),
        on([(4,)], (0,), (1, -1), {"prepend": 0.0}, {"append": [1.0, 2.0]}, dtypes=("f8", "?")),
    ),
    "ediff1d": on([(4,), (2, 2)], (), {"to_end": 1.0}, {"to_begin": [1.0, 2.0], "to_end": 3.0}),
    "trapezoid": join(
        on([(4,), (2, 3)], {}, {"dx": 0.5}, {"axis": 0}),
        on([(2, 3)], {"x": [0.0, 1.5], "axis": 0}),
        on_all([((4,), (4,)), ((2, 4), (4,)), ((2, 3), (2, 3))]),
    ),
    "polyval": join(
        on_all([((4,), (3,)), ((4,), ()), ((1,), (2, 3)), ((3,), (2, 2))]),
        on_all([((3,), (2,))], dtypes=("i4", "f4")),
    ),
    "polyadd": _TWO_POLYNOMIALS,
    "polysub": _TWO_POLYNOMIALS,
    "polymul": _TWO_POLYNOMIALS,
    "polyder": on([(4,)], (), (2,), (0,)),
    "polyint": on([(3,)], (), (2,), {"k": 1.5}, {"m": 2, "k": [1.0, 2.0]}),
    "poly": on([(3,), (1,)]),
    "vander": on([(4,)], (), (3,), (0,), (1,), {"increasing": True}),
    "polyfit": join(
        on_all([((6,), (6,))], (2,), (0,)),
        on_all([((6,), (6, 2))], (1,)),
        lambda rng: iter(
            [((rng.standard_normal(6), rng.standard_normal(6), 1), {"w": 1 + rng.random(6)})]
        ),
    ),
    "cov": join(
        on([(5,), (3, 4)], {}, {"bias": True}, {"rowvar": False}, {"ddof": 0}),
        on_all([((5,), (5,)), ((2, 4), (4,))]),
    ),
    "corrcoef": join(on([(3, 4)], {}, {"rowvar": False}), on_all([((5,), (5,))])),
    "geomspace": lambda rng: iter(
        [
            ((np.array(1.5), np.array(20.0), 5), {}),
            ((np.array([1.0, 2.0]), np.array([3.0, 9.0]), 4), {"axis": 1}),
            ((np.array(1.5), np.array(20.0), 4), {"endpoint": False}),
        ]
    ),
    **dict.fromkeys(("fft.fftshift", "fft.ifftshift"), on([(4,), (5,), (2, 3)], {}, {"axes": -1})),
}

# ---------------------------------------------------------------- transforms


def _complex_numbers(*shapes: tuple[int, ...]) -> Samples:
    def samples(rng: np.random.Generator) -> Iterator[Sample]:
        for shape in shapes:
            yield (numbers(rng, shape) + 1j * numbers(rng, shape),), {}

    return samples


_ONE = join(
    on([(1,), (6,), (5,), (2, 3)], {}, {"norm": "ortho"}, {"norm": "forward"}),
    on([(4, 3)], {"axis": 0}, {"n": 2}, {"n": 7}, {"n": 5, "axis": 0}, dtypes=("f8", "f4")),
    on([(4,)], dtypes=("i4",)),
)


_BACK = join(
    on([(4,), (2, 3)], {}, {"norm": "ortho"}, {"norm": "forward"}, {"n": 5}, {"n": 9}),
    on([(4, 3)], {"axis": 0}, {"n": 3, "axis": 0}, dtypes=("f8", "f4")),
    _complex_numbers((4,), (2, 3)),
)


_PLANE = on([(3, 4), (2, 4, 3)], {}, {"norm": "ortho"}, {"s": (2, 5), "axes": (0, 1)})
_MANY = join(
    on([(4,), (3, 4), (2, 3, 4)], {}, {"norm": "forward"}),
    on([(2, 3, 4)], {"axes": (2, 0)}, {"s": (3, 5), "axes": (0, 1)}, {"axes": (1,)}),
)


ROWS |= {
    "fft": join(_ONE, _complex_numbers((5,), (2, 3))),
    "ifft": join(_ONE, _complex_numbers((5,), (2, 3))),
    "rfft": _ONE,
    "irfft": _BACK,
    "hfft": _BACK,
    "ihfft": _ONE,
    "fftn": _MANY,
    "ifftn": _MANY,
    "rfftn": _MANY,
    "irfftn": _MANY,
    **dict.fromkeys(("fft2", "ifft2", "rfft2", "irfft2"), _PLANE),
}

# ---------------------------------------------------------------- logarithms of sums

_EXTREMES = np.array([[1000.0, 999.0, -1000.0], [-np.inf, 0.0, -745.0], [-1e-20, -40.0, -50.0]])


_COMMON = join(
    on([(4,), (2, 3)], {}, {"axis": 0}, {"axis": -1}),
    on([(2, 3, 4)], {"axis": (0, 2)}),
    on([(3,)], dtypes=("f4",)),
)


def _extremes(*options: dict[str, Any]) -> Samples:
    return lambda rng: (((_EXTREMES.copy(),), dict(o)) for o in options)


def _with_weights(rng: np.random.Generator) -> Iterator[Sample]:
    x, b = numbers(rng, (2, 3)), rng.uniform(0.5, 2, (2, 3))
    for options in ({"b": b}, {"b": b, "axis": 1, "keepdims": True}, {"b": b[0], "axis": 0}):
        yield (x,), options
    b = np.array([[1.0, -2.0, 0.5], [-1.0, 0.0, 2.0]])
    yield (x,), {"b": b, "axis": 0, "return_sign": True}


ROWS |= {
    "logsumexp": join(
        _COMMON,
        on([(2, 3)], {"axis": 1, "keepdims": True}, {"axis": -1, "return_sign": True}),
        on([(3,)], dtypes=("i4",)),
        _extremes({}, {"axis": 1}, {"axis": 0}),
        lambda rng: iter([((np.array([np.inf, 1.0]),), {}), ((np.full(2, -np.inf),), {})]),
        _with_weights,
    ),
    "softmax": join(_COMMON, _extremes({"axis": 1}, {"axis": None})),
    "log_softmax": join(_COMMON, _extremes({"axis": 1}, {"axis": 0})),
}

# ---------------------------------------------------------------- elements


def _points(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    x[0] = [math.nan, math.inf, -math.inf, 0.0]
    yield (x,), {}
    yield (x[1].astype(np.float32),), {}


def _pairs(rng: np.random.Generator) -> Iterator[Sample]:
    ((x,), _), _ = _points(rng)
    yield (x, x + rng.normal(size=4) * [0, 1e-9, 1e-5, 1]), {}
    yield (x, np.roll(x, 1), 0.5, 0.1), {"equal_nan": True}


def _choices(rng: np.random.Generator) -> Iterator[Sample]:
    x, y = rng.normal(size=(2, 3, 4))
    yield (x > 0, x, y), {}
    yield (x[0] > 0, x.astype(np.float32), 1.0), {}


ROWS |= {
    "isposinf": _points,
    "isneginf": _points,
    "isclose": _pairs,
    "where": _choices,
}

# ---------------------------------------------------------------- rounding


def _numbers(rng: np.random.Generator) -> Iterator[Sample]:
    yield (rng.normal(size=(3, 4)) * 100,), {}
    yield (np.array([0.5, 1.5, -2.5, -0.0, np.inf, -np.inf, np.nan]),), {}


def _decimals(rng: np.random.Generator) -> Iterator[Sample]:
    for (x,), _ in _numbers(rng):
        for decimals in (0, 2, -1):
            yield (x, decimals), {}
    yield (np.array([14, 15, 25, -25]), 1), {}


def _divisions(rng: np.random.Generator) -> Iterator[Sample]:
    yield (rng.normal(size=(3, 4)) * 9, rng.uniform(0.5, 3, size=4)), {}
    yield (np.array([7, -7, 7, -7]), np.array([2, 2, -2, -2])), {}


ROWS |= {
    "round": _decimals,
    "modf": _numbers,
    "divmod": _divisions,
    "real": _numbers,
    "imag": _numbers,
    "real_if_close": _numbers,
    "angle": _numbers,
    "nan_to_num": _numbers,
}

# ---------------------------------------------------------------- digits


def _floats(rng: np.random.Generator) -> Iterator[Sample]:
    yield (np.array([0.0, 1.0, -3.7, 1e-310, np.inf, 12345.0]),), {}
    yield (rng.uniform(-9, 9, 4),), {}
    yield (rng.standard_normal(4).astype("f4"),), {}


ROWS |= {
    "frexp": _floats,
}
