"""Arguments of SciPy's functions: lengths that do not fit, types, one element, none, layouts."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.spatial.distance
import scipy.special
import scipy.stats
from scipy.spatial.transform import Rotation

import symgrad as sg

#: Expressions of vectors ``v`` and ``w``, of a matrix ``m`` and a square one ``s``.
CALLS = """
integrate.trapezoid(m, axis=0); integrate.simpson(v, x=np.cumsum(np.abs(w) + 0.1))
integrate.cumulative_trapezoid(v, w); integrate.cumulative_trapezoid(v, initial=0)
integrate.cumulative_simpson(v, x=np.cumsum(np.abs(w) + 0.1))
interpolate.CubicSpline(np.cumsum(np.abs(w) + 0.1), v)(0.4)
interpolate.PchipInterpolator(np.cumsum(np.abs(w) + 0.1), v)(0.4)
interpolate.interp1d(np.cumsum(np.abs(w) + 0.1), v, bounds_error=False)(0.4)
interpolate.interp1d(np.cumsum(np.abs(w) + 0.1), m, axis=0, bounds_error=False)(0.4)
interpolate.PPoly(m, np.cumsum(np.abs(w) + 0.1))(0.3); interpolate.lagrange(w, v)(0.4)
interpolate.BSpline(np.arange(9.0), v, 2)(3.3); interpolate.BarycentricInterpolator(w, v)(0.4)
interpolate.RegularGridInterpolator((np.cumsum(np.abs(w) + 0.1),), v, bounds_error=False)([0.3])
interpolate.CubicSpline(w, v)(0.4); interpolate.CubicHermiteSpline(w, v, v)(0.4)
interpolate.PchipInterpolator(w, v)(0.4); interpolate.make_interp_spline(w, v, k=1)(0.4)
interpolate.make_interp_spline(w, v, k=0)(0.4); interpolate.Akima1DInterpolator(w, v)(0.4)
interpolate.interpn((w,), v, [0.3], "nearest", False, None); integrate.cumulative_simpson(v, x=w)
linalg.solve(s, w); linalg.lstsq(m, w)[0]; linalg.leslie(v, w); linalg.toeplitz(v, w)
linalg.eigvalsh_tridiagonal(v, w); linalg.solve_banded((1, 0), np.stack([v + 3, v]), w)
linalg.solve_circulant(v + 9 * (np.arange(len(v)) == 0), w); linalg.hankel(v, w)
linalg.fractional_matrix_power(s, 3); linalg.block_diag(m, v)
stats.entropy(np.abs(v) + 0.1, np.abs(w) + 0.2); stats.ttest_ind(v, w)[0]; stats.skew(v)
stats.skew(m, axis=1, bias=False); stats.kurtosis(m, axis=0, bias=False); stats.zscore(v)
stats.gmean(np.abs(s) + 1, weights=np.abs(w)); stats.hmean(np.abs(m) + 1, weights=np.abs(m))
stats.pearsonr(v, w)[0]; stats.wasserstein_distance(v, v + 1, np.abs(w), np.abs(w))
stats.multivariate_normal.logpdf(m, np.zeros(m.shape[1]))
stats.norm.logpdf(v, w); stats.yeojohnson(v, 0.3)
stats.multinomial.logpmf(np.array([1, 2]), 3, np.abs(w) / np.sum(np.abs(w)))
stats.gaussian_kde(v + 1.5 * np.arange(len(v)), weights=np.abs(w))(0.3)
distance.cdist(m, np.stack([w, w])); distance.cosine(v, w); distance.canberra(v, w)
distance.minkowski(v, w, np.inf); distance.seuclidean(v, v + 1, np.abs(w) + 1)
distance.cdist(m, m + 1, "minkowski", p=np.inf); distance.chebyshev(v, w)
ndimage.shift(m, w, order=1); ndimage.correlate1d(v, w); ndimage.zoom(v, 1.6, order=1)
signal.convolve(v, w); signal.lfilter([1.0], [1.0, 0.3], v, zi=w); signal.detrend(v)
signal.savgol_filter(v, 3, 1, mode="nearest"); special.agm(np.abs(v) + 1, np.abs(w) + 1)
special.logsumexp(v, b=w); special.beta(v, w); special.softmax(m, axis=-1)
Rotation.from_matrix(s[:3, :3]).as_rotvec(); Rotation.from_rotvec(w).as_quat(canonical=True)
fft.rfft(v); fft.dct(m, axis=0); fft.irfft(w, n=4)
""".strip().replace("\n", ";").split(";")  # fmt: skip
NAMES: dict[str, Any] = {
    "np": np, "integrate": scipy.integrate, "interpolate": scipy.interpolate,
    "linalg": scipy.linalg, "stats": scipy.stats, "ndimage": scipy.ndimage,
    "signal": scipy.signal, "special": scipy.special, "fft": scipy.fft, "Rotation": Rotation,
    "distance": scipy.spatial.distance,
}  # fmt: skip
TYPES = ("float64", "float64", "float64", "float32", "int64", "int8")
LENGTHS = (1, 1, 2, 2, 3, 4, 5, 8)


def laid(rng: np.random.Generator, x: Any) -> Any:
    """Return an array as it is, or of the same numbers in another layout, or of one row."""
    kind = rng.integers(6)
    if kind == 0:
        return np.asfortranarray(x)
    if kind == 1:
        return np.flip(x)
    if kind == 2:
        wide = np.zeros([2 * n for n in x.shape], x.dtype)[tuple([slice(None, None, 2)] * x.ndim)]
        wide[...] = x
        return wide
    return np.broadcast_to(x[:1], x.shape) if kind == 3 else x


def made(rng: np.random.Generator, kind: str, *shape: int) -> Any:
    x = rng.normal(size=shape)
    x = np.round(2 * x) if rng.random() < 0.2 else x
    return laid(rng, x.astype(kind))


def ended(f: Any, args: Any) -> Any:
    """Return what a call gives, as arrays, or the error that it ends in."""
    try:
        found = f(*args)
    except Exception as error:  # noqa: BLE001  # SciPy's errors are of all kinds
        return error
    return [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.attack(quick=90, whole=8_000, part=800, judge="SciPy, its errors included")
def test_scipy_arguments(attack: Any) -> None:
    """Arguments of SciPy's functions: lengths that do not fit, types, one element, layouts."""
    for case in attack:
        with case, sg.backend("numpy"), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rng, call = case.rng, str(case.rng.choice(CALLS)).strip()
            f = eval(f"lambda v, w, m, s: {call}", NAMES)
            kind, n = str(rng.choice(TYPES)), int(rng.choice(LENGTHS))
            other = n if rng.random() < 0.6 else int(rng.choice(LENGTHS))
            side = int(rng.choice(LENGTHS[:6]))
            args = SimpleNamespace(
                v=made(rng, kind, n), w=made(rng, kind, other),
                m=made(rng, kind, n, int(rng.choice(LENGTHS))), s=made(rng, kind, side, side),
            )  # fmt: skip
            given = tuple(vars(args).values())
            # SciPy has copies: some of it writes into its arguments, or wants to be able to.
            want, found = ended(f, map(np.array, given)), ended(sg.compile(f), given)
            said = f"{call} of {kind}, {', '.join(f'{k} {x.shape}' for k, x in vars(args).items())}"
            if isinstance(found, Exception):
                case.tally("refused" if isinstance(want, list) else "raises as SciPy does")
                continue
            if isinstance(want, Exception):
                # What is looked at outside of traced code is nan in it.
                missing = any(np.isnan(x).any() or np.isinf(x).any() for x in found)
                assert missing or not all(map(np.size, found)), f"{said}: {want}"
                case.tally("missing numbers for SciPy's errors" if missing else "not judged")
                continue
            short = kind in ("int8")
            if short and np.result_type(*want) in (np.dtype("f2"), np.dtype(kind)):
                case.tally("not judged")  # SciPy's own numbers wrap, or are of half precision
                continue
            rtol = 2e-3 if kind == "float32" or short else 1e-7
            for a, b in zip(found, want, strict=True):
                assert a.shape == b.shape, f"{said}: {a.shape}, SciPy: {b.shape}"
                np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol, err_msg=said)
