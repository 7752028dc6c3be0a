"""Options of SciPy's functions, in combinations that examples do not have; SciPy judges."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.spatial.distance
import scipy.stats

import symgrad as sg
from symgrad.errors import SymgradError

RNG = np.random.default_rng(0)
IMAGE, POINTS, OTHERS = RNG.random((7, 9)), RNG.random((6, 3)), RNG.random((5, 3))
ROW, OTHER = RNG.random(24) + 0.2, RNG.random(24) + 0.4
SQUARE = RNG.random((5, 5)) + 3 * np.eye(5)
AXES = np.linspace(0, 1, 5), np.linspace(0, 2, 6)
TABLE, PLACES = RNG.random((5, 6)), np.array([[0.21, 0.3], [1.2, 0.5], [0.9, 1.9]])
SOS = scipy.signal.butter(4, 0.2, output="sos")

EDGES = ("reflect", "constant", "nearest", "mirror", "wrap")
AXIS, ENDS = (None, 0, 1, -1), (None, False, True)
W3 = (None, [1.0, 2.0, 0.5])
_image, _distance = scipy.ndimage, scipy.spatial.distance

#: By name: a function of data and options, the data, and what each option may be.
Row = tuple[Callable[..., Any], Any, dict[str, tuple[Any, ...]]]
TABLES: dict[str, Row] = {
    "gaussian": (lambda d, **k: _image.gaussian_filter(d, 1.2, **k), IMAGE,
                 {"mode": EDGES, "cval": (0.5,), "truncate": (4.0, 2.0), "order": (0, 1, (1, 0)),
                  "axes": (None, (0,)), "radius": (None, 2)}),
    "convolve": (_image.convolve, IMAGE,
                 {"weights": (POINTS[:3], OTHERS[:2]), "mode": EDGES, "cval": (0.3,),
                  "origin": (0, (0, -1), [0, 1])}),
    "correlate": (_image.correlate, IMAGE,
                  {"weights": (POINTS[:3], OTHERS[:2]), "mode": EDGES, "cval": (0.3,),
                   "origin": (0, (0, -1), [0, 1])}),
    "median": (_image.median_filter, IMAGE, {"size": (3, (2, 3)), "mode": EDGES}),
    "maximum": (_image.maximum_filter, IMAGE,
                {"size": (3, (2, 3)), "mode": EDGES, "origin": (0, 1, (0, 1))}),
    "shift": (lambda d, **k: _image.shift(d, (0.4, -1.3), **k), IMAGE,
              {"order": (0, 1, 3), "mode": EDGES, "cval": (0.3,)}),
    "zoom": (lambda d, **k: _image.zoom(d, 1.7, **k), IMAGE,
             {"order": (0, 1, 3), "mode": ("constant", "nearest"), "grid_mode": (False, True)}),
    "savgol": (lambda d, **k: scipy.signal.savgol_filter(d, 5, 3, **k), IMAGE,
               {"deriv": (0, 1), "delta": (0.3,), "axis": (0, 1),
                "mode": ("interp", "mirror", "constant", "nearest", "wrap"), "cval": (0.3,)}),
    "sosfiltfilt": (lambda d, **k: scipy.signal.sosfiltfilt(SOS, d, **k), ROW,
                    {"padtype": ("odd", "even", "constant", None), "padlen": (None, 3)}),
    "welch": (scipy.signal.welch, ROW,
              {"fs": (1.0, 4.0), "window": ("hann", "boxcar"), "scaling": ("density", "spectrum"),
               "detrend": ("constant", "linear", False), "nperseg": (8,), "noverlap": (None, 3),
               "nfft": (None, 16), "average": ("mean", "median"), "axis": (-1,)}),
    "stft": (lambda d, **k: scipy.signal.stft(d, nperseg=8, **k), ROW,
             {"boundary": ("zeros", "even", "odd", None), "padded": (True, False)}),
    "convolve2d": (lambda d, **k: scipy.signal.convolve2d(d, POINTS[:2], **k), IMAGE,
                   {"mode": ("full", "same", "valid"), "boundary": ("fill", "wrap", "symm"),
                    "fillvalue": (0, 0.4)}),
    "detrend": (scipy.signal.detrend, IMAGE,
                {"axis": (0, -1), "type": ("linear", "constant"), "bp": (0, [3])}),
    "grid": (lambda d, turn, **k: scipy.interpolate.RegularGridInterpolator(
        (AXES[0][::turn[0]], AXES[1][::turn[1]]), d, bounds_error=False, **k)(PLACES), TABLE,
        {"turn": ((1, 1), (-1, 1), (1, -1), (-1, -1)), "fill_value": (np.nan, 0.3, None),
         "method": ("linear", "nearest", "slinear")}),
    "interp1d": (lambda d, **k: scipy.interpolate.interp1d(AXES[1], d[:6], bounds_error=False,
                                                           **k)(PLACES), ROW,
                 {"kind": ("linear", "nearest", "previous", "next", "zero", "quadratic", "cubic"),
                  "fill_value": (np.nan, 0.3, (0.1, 0.2), "extrapolate")}),
    "cubic": (lambda d, **k: scipy.interpolate.CubicSpline(AXES[1], d[:6], **k)(PLACES * 2 - 1),
              ROW, {"bc_type": ("not-a-knot", "natural", "clamped", ((1, 0.3), (2, 0.1))),
                    "extrapolate": ENDS}),
    "spline": (lambda d, ext, **k: scipy.interpolate.UnivariateSpline(
        AXES[1], d[:6], s=0, **k)(np.ravel(PLACES) * 2 - 1, ext=ext), ROW,
        {"k": (1, 2, 3, 4, 5), "ext": (0, 1, 3, "zeros", "const")}),
    "skew": (scipy.stats.skew, IMAGE, {"axis": AXIS, "bias": (True, False),
                                       "keepdims": (False, True)}),
    "kurtosis": (scipy.stats.kurtosis, IMAGE,
                 {"axis": AXIS, "fisher": (True, False), "keepdims": (False, True)}),
    "gmean": (scipy.stats.gmean, IMAGE, {"axis": AXIS, "weights": (None, IMAGE + 1),
                                         "keepdims": (False, True)}),
    "hmean": (scipy.stats.hmean, IMAGE, {"axis": AXIS, "keepdims": (False, True)}),
    "variation": (scipy.stats.variation, IMAGE,
                  {"axis": AXIS, "ddof": (0, 1), "keepdims": (False, True)}),
    "sem": (scipy.stats.sem, IMAGE, {"axis": AXIS, "ddof": (0, 1), "keepdims": (False, True)}),
    "entropy": (scipy.stats.entropy, IMAGE, {"qk": (None, IMAGE + 0.5), "base": (None, 2),
                                             "axis": (0, 1), "keepdims": (False, True)}),
    "iqr": (scipy.stats.iqr, IMAGE, {"axis": AXIS, "rng": ((25, 75), (10, 80)),
                                     "keepdims": (False, True)}),
    "ttest_ind": (lambda d, **k: tuple(scipy.stats.ttest_ind(d, OTHER, **k)), ROW,
              {"equal_var": (True, False), "alternative": ("two-sided", "less", "greater")}),
    "solve": (lambda d, form, **k: scipy.linalg.solve(
        {"a": d, "u": np.triu(d + d.T), "l": np.tril(d + d.T)}[form], ROW[:5], **k), SQUARE,
        {"form": ("a", "u", "l"), "lower": (False, True),
         "assume_a": (None, "gen", "sym", "her", "pos", "upper triangular", "lower triangular",
                      "diagonal", "tridiagonal")}),
    "triangular": (lambda d, **k: scipy.linalg.solve_triangular(d, ROW[:5], **k), SQUARE,
                   {"trans": (0, 1, "T"), "lower": (False, True),
                    "unit_diagonal": (False, True)}),
    "simpson": (scipy.integrate.simpson, IMAGE, {"dx": (1, 0.3), "axis": (0, 1, -1)}),
}  # fmt: skip
for _metric in ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation",
                "canberra", "braycurtis", "minkowski"):  # fmt: skip
    TABLES[f"cdist {_metric}"] = (
        lambda d, m=_metric, **k: _distance.cdist(d, OTHERS, m, **k), POINTS, {"w": W3},
    )  # fmt: skip
    TABLES[f"of two {_metric}"] = (
        lambda d, m=_metric, **k: getattr(_distance, m)(d[0], OTHERS[0], **k), POINTS, {"w": W3},
    )  # fmt: skip


def numbers(found: Any) -> list[Any]:
    parts = found if isinstance(found, tuple) else (found,)
    return [np.asarray(part) for part in parts]


@pytest.mark.attack(quick=60, whole=3_000, part=300, judge="SciPy, also of shapes")
def test_scipy_options(attack: Any) -> None:
    """Options of SciPy's functions: edges, axes, weights, forms of matrices, what lies beyond."""
    for case in attack:
        with case, sg.backend("numpy"), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            name = str(case.rng.choice(list(TABLES)))
            f, data, choices = TABLES[name]
            options = {k: v[case.rng.integers(len(v))] for k, v in choices.items()}
            said = f"{name} {options}"
            try:
                want = numbers(f(data, **options))
            except Exception:  # noqa: BLE001  # what SciPy does not take
                case.tally("not judged")
                continue
            try:
                found = numbers(sg.compile(lambda d, f=f, k=options: f(d, **k))(data))
            except SymgradError:
                case.tally("refused")
                continue
            assert len(found) == len(want), said
            for ours, theirs in zip(found, want, strict=True):
                assert ours.shape == theirs.shape, f"{said}: {ours.shape}, SciPy: {theirs.shape}"
                np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10, err_msg=said)
