"""Calls of reductions, statistics, orders and searches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.samples.making import Sample, Samples, join, numbers, on

# ---------------------------------------------------------------- reductions


def _masked(**options: Any) -> Samples:
    """Return samples of reductions with a mask, with further options."""
    rows, columns = np.array([[False], [True]]), np.array([True, False, True])
    return join(
        on([(2, 3)], {"where": rows, **options}, dtypes=("f8", "f4", "i4")),
        on([(2, 3)], {"where": columns, "axis": 1, "keepdims": True, **options}),
    )


_SHAPES = ((), (4,), (2, 3), (2, 3, 4))


_AXES: tuple[dict[str, Any], ...] = ({}, {"axis": -1}, {"axis": 0, "keepdims": True})


_REDUCED = join(
    on(_SHAPES, {}, {"keepdims": True}),
    on(_SHAPES[1:], *_AXES[1:]),
    on(_SHAPES[2:], {"axis": (0, -1)}, {"axis": 1}, {"axis": (1, 0), "keepdims": True}),
    on([(2, 3)], {}, {"axis": 0}, dtypes=("f4", "i4", "?")),
)


_RUNNING = join(
    on(_SHAPES),
    on(_SHAPES[1:], (0,), {"axis": -1}),
    on([(2, 3)], (), (1,), dtypes=("f4", "i4", "?")),
    on([(0, 2)], (0,)),
)


_ADDED = join(
    _REDUCED, on([(0, 3), (0,)], {"axis": 0}), on([(2, 3)], (0, "f8"), dtypes=("f4",)),
    _masked(), _masked(initial=2.0), on([(0, 3)], {"axis": 0, "initial": 3.0}),
)  # fmt: skip
_EXTREMA = join(_REDUCED, _masked(initial=0.5), on([(2, 3), (0, 3)], {"axis": 0, "initial": 0.5}))
_PLACES = join(
    on(_SHAPES, {}, {"keepdims": True}),
    on(_SHAPES[1:], *_AXES),
    on([(2, 3)], {"axis": 0}, dtypes=("f4", "i4", "?")),
)
_CUMULATIVE = join(
    on([(4,)], {}, {"include_initial": True}, dtypes=("f8", "i4")),
    on([(2, 3)], {"axis": -1}, {"axis": 0, "include_initial": True}),
)
_SPREAD = join(
    _REDUCED,
    on([(4,), (2, 3)], {"ddof": 1}, {"correction": 1}),
    on([(2, 3)], {"ddof": 1, "axis": 1, "keepdims": True}, {"axis": 0, "ddof": 0.5}),
    _masked(),
    _masked(ddof=1),
)


def _weighted(rng: np.random.Generator) -> Iterator[Sample]:
    x, w = numbers(rng, (2, 3)), rng.uniform(0.5, 2, (2, 3))
    yield (x,), {}
    yield (x,), {"axis": 1, "keepdims": True}
    yield (x, None, w), {}
    yield (x, 1, w), {}
    yield (x, -1, w[0]), {"keepdims": True}
    yield (x, 0, [1.0, 3.0]), {"returned": True}
    yield (numbers(rng, (2, 3, 4)), (2, 0), rng.uniform(0.5, 2, (4, 2))), {}
    yield (numbers(rng, (3,), "i4"), None, numbers(rng, (3,)) ** 2 + 0.5), {}


def _with_nans(rng: np.random.Generator) -> Iterator[Sample]:
    x = numbers(rng, (3, 4))
    x[0, 1] = x[2, 0] = x[2, 3] = np.nan
    for options in ({}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 1)}):
        yield (x,), options
    yield (numbers(rng, (2, 3)),), {"axis": 1}
    yield (numbers(rng, (2, 3), "i4"),), {"axis": 1}


def _bins(rng: np.random.Generator) -> Iterator[Sample]:
    x = numbers(rng, 9)
    yield (x, 4), {}
    yield (x.reshape(3, 3), 3), {"range": (-0.5, 0.75)}
    yield (np.full(3, 2), 3), {}  # no derivative where all are equal


def _weighted_bins(rng: np.random.Generator) -> Iterator[Sample]:
    for args, options in _bins(rng):
        yield args, options
        yield args, {**options, "weights": numbers(rng, args[0].shape)}
    yield (numbers(rng, 9), 2), {"density": True}
    yield (numbers(rng, 9), 3), {"weights": numbers(rng, 9).astype(np.float32)}
    yield (numbers(rng, 9), 3), {"weights": np.arange(9, dtype=np.int8)}


ROWS: dict[str, Samples] = {
    "ptp": join(on(_SHAPES, {"keepdims": True}, {}), on(_SHAPES[1:], *_AXES)),
    "count_nonzero": _REDUCED,
    "cumsum": _RUNNING,
    "cumprod": _RUNNING,
    "mean": join(_REDUCED, _masked()),
    "var": _SPREAD,
    "std": _SPREAD,
    "average": _weighted,
    "nanmean": _with_nans,
    "nanvar": _with_nans,
    "nanstd": _with_nans,
    "histogram_bin_edges": _bins,
    "histogram": _weighted_bins,
    **dict.fromkeys(("sum", "prod"), _ADDED),
    **dict.fromkeys(("max", "min"), _EXTREMA),
    **dict.fromkeys(("argmax", "argmin"), _PLACES),
    **dict.fromkeys(("any", "all"), join(_REDUCED, _masked())),
    **dict.fromkeys(("cumulative_sum", "cumulative_prod"), _CUMULATIVE),
    **dict.fromkeys(("nansum", "nanprod", "nanmax", "nanmin"), _with_nans),
    **dict.fromkeys(("nancumsum", "nancumprod"), _RUNNING),
}

# ---------------------------------------------------------------- orders

_KINDS = join(
    on([(5,), (3, 4)], {}, {"axis": 0}, {"axis": None}, dtypes=("f8", "i4")),
    on([(2, 3, 4)], {"axis": 1}, {"axis": -1, "kind": "stable"}),
    on([(6,)], {}, dtypes=("?", "f4")),
    lambda rng: iter([((np.array([2.0, np.nan, -np.inf, 0.0, -0.0, np.inf]),), {})]),
)


_PARTITIONED = on([(4,), (3, 4)], ((0, 1, 2, 3),), dtypes=("f8", "i4"))


def _keys(rng: np.random.Generator) -> Iterator[Sample]:
    yield ((numbers(rng, 5), numbers(rng, 5)),), {}
    yield ((np.array([2, 1, 2, 0]), np.array([1, 1, 0, 0])),), {}


def _searched(rng: np.random.Generator) -> Iterator[Sample]:
    a = np.sort(numbers(rng, 7))
    for v in (numbers(rng, ()), numbers(rng, 5), numbers(rng, (2, 3)), a):
        for side in ("left", "right"):
            yield (a, v), {"side": side}
    yield (np.array([1, 2, 2, 5]), np.array([0, 2, 6, 5])), {}


def _binned(rng: np.random.Generator) -> Iterator[Sample]:
    for bins in (np.array([-1.0, 0.0, 0.5, 2.0]), np.array([2.0, 0.5, 0.0, -1.0])):
        for right in (False, True):
            yield (numbers(rng, (2, 3)), bins), {"right": right}


def _levels(*levels: Any) -> Samples:
    return join(
        on([(5,), (3, 4)], *((q,) for q in levels)),
        on([(3, 4)], *({"q": q, "axis": 0, "keepdims": True} for q in levels)),
        on([(2, 3, 4)], *({"q": q, "axis": (0, 2)} for q in levels)),
        on([(7,)], *({"q": levels[0], "method": m}
                     for m in ("lower", "higher", "nearest", "midpoint", "hazen", "weibull",
                               "median_unbiased", "interpolated_inverted_cdf"))),
        on([(7,)], (levels[0],), dtypes=("i4", "f4")),
    )  # fmt: skip


_MIDDLES = join(
    on([(5,), (4,), (3, 4)], {}),
    on([(3, 4)], {"axis": 0}, {"axis": (0, 1), "keepdims": True}),
    on([(5,)], {}, dtypes=("i4", "f4")),
    lambda rng: iter([((np.array([2.0, np.nan, 1.0, 5.0]),), {})]),
)


ROWS |= {
    "sort": _KINDS,
    "sort_complex": on([(5,), (3, 4)], {}, dtypes=("f8", "f4")),
    "argsort": on([(5,), (3, 4)], {}, {"axis": 0}, {"axis": None}),
    "partition": _PARTITIONED,
    "argpartition": _PARTITIONED,
    "lexsort": _keys,
    "searchsorted": _searched,
    "digitize": _binned,
    "isin": lambda rng: iter(
        [
            ((rng.integers(0, 5, (2, 3)), np.array([1, 3])), {}),
            ((rng.integers(0, 5, 4), np.array([1, 3])), {"invert": True}),
        ]
    ),
    "median": _MIDDLES,
    "nanmedian": _MIDDLES,
    **dict.fromkeys(("quantile", "nanquantile"), _levels(0.3, [0.0, 0.5, 1.0], 0.75)),
    **dict.fromkeys(("percentile", "nanpercentile"), _levels(30.0, [0, 50, 100], 75)),
}
