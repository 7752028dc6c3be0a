"""symgrad.scipy's interpolate, signal, ndimage, spatial and sparse beside SciPy's own."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.sparse
import scipy.sparse.linalg
import scipy.spatial
import scipy.spatial.distance
import scipy.special
import scipy.stats
from scipy import differentiate
from scipy.spatial.transform import Rotation

import symgrad as sg
from symgrad.errors import DTypeError, ShapeError, TraceError, UnsupportedError
from symgrad.scipy.spatial.distance import _METRICS

pytestmark = pytest.mark.usefixtures("few_kernels")

RNG = np.random.default_rng(0)
ROW, FEW = RNG.normal(size=20), RNG.normal(size=5)
IMAGE, SMALL, LARGE = (RNG.normal(size=s) for s in ((7, 9), (3, 4), (14, 15)))
PLACES = np.sort(RNG.uniform(0.0, 5.0, 7))
VALUES, QUERIES = RNG.normal(size=7), np.array([-0.3, 0.7, 2.2, 3.1, 6.0])
KNOTS = np.array([0.0, 0, 0, 0, 1, 2, 3, 4, 4, 4, 4])
POINTS, OTHERS = np.abs(RNG.normal(size=(4, 3))), np.abs(RNG.normal(size=(5, 3)))
TURNS, QUATERNIONS = RNG.normal(size=(6, 3)), RNG.normal(size=(6, 4))


def cases() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Functions that say SciPy's names, and their arguments."""
    found: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}

    def case(name: str, f: Callable[..., Any], *args: Any, **options: Any) -> None:
        def given(*traced: Any) -> Any:
            return f(*traced, **options)

        found[f"{name} {' '.join(map(str, options.values()))} {len(found)}"] = given, args

    signal, image = scipy.signal, scipy.ndimage
    for kind, norm in itertools.product((1, 2, 3, 4), ("backward", "ortho", "forward")):
        options = {"type": kind, "norm": norm}
        for size in (2, 5):
            case("dct", lambda x, **k: scipy.fft.dct(x, **k), ROW[:size], **options)
            case("idct", lambda x, **k: scipy.fft.idct(x, **k), ROW[:size], **options)
            case("dst", lambda x, **k: scipy.fft.dst(x, **k), ROW[:size], **options)
            case("idst", lambda x, **k: scipy.fft.idst(x, **k), ROW[:size], **options)
    case("dct", lambda x: scipy.fft.dct(x + 1j * x[::-1], n=11, axis=0), IMAGE)
    case("dct", lambda x: scipy.fft.dct(x, orthogonalize=True), ROW)
    case("dst", lambda x: scipy.fft.dst(x, 3, n=4, axis=0, orthogonalize=True), IMAGE)
    case("dctn", lambda x: scipy.fft.dctn(x, norm="ortho") + scipy.fft.dstn(x, axes=0), IMAGE)
    case("idctn", lambda x: scipy.fft.idctn(x, s=(5, 2), axes=(1, 0)), IMAGE)
    case("idstn", lambda x: scipy.fft.idstn(x, s=(5, 2)), IMAGE)
    case("fft", lambda x: scipy.fft.ifft(scipy.fft.fft(x, 9, 0, "ortho"), workers=2), IMAGE)
    case("rfft", lambda x: scipy.fft.irfft(scipy.fft.rfft(x) * scipy.fft.rfftfreq(20)), ROW)
    case("hfft", lambda x: scipy.fft.ihfft(scipy.fft.hfft(x, norm="forward")), ROW)
    case("fft2", lambda x: scipy.fft.fftshift(np.abs(scipy.fft.fft2(x, norm="forward"))), IMAGE)
    case("rfftn", lambda x: scipy.fft.irfftn(scipy.fft.rfftn(x, s=(4, 6)) ** 2), IMAGE)
    for mode in ("full", "same", "valid"):
        case("convolve", lambda x, y, mode: signal.convolve(x, y, mode), ROW, FEW, mode=mode)
        case("convolve", lambda x, y, mode: signal.convolve(x, y, mode), FEW, ROW, mode=mode)
        case(
            "fftconvolve",
            lambda x, y, mode: signal.fftconvolve(x, y, mode),
            IMAGE,
            SMALL,
            mode=mode,
        )
        case("correlate", lambda x, y, mode: signal.correlate(x, y, mode), ROW, FEW, mode=mode)
        case("correlate", lambda x, y, mode: signal.correlate(x, y, mode), FEW, ROW, mode=mode)
        case(
            "convolve2d",
            lambda x, y, mode: signal.convolve2d(x, y, mode),
            LARGE,
            LARGE + 1,
            mode=mode,
        )
        for edge in ("fill", "wrap", "symm"):
            for y in (SMALL, SMALL.T):
                case(
                    "convolve2d", lambda x, y, mode, edge: signal.convolve2d(x, y, mode, edge),
                    IMAGE, y, mode=mode, edge=edge,
                )  # fmt: skip
                case(
                    "correlate2d", lambda x, y, mode, edge: signal.correlate2d(x, y, mode, edge),
                    IMAGE, y, mode=mode, edge=edge,
                )  # fmt: skip
    case("lfilter", lambda b, a, x: signal.lfilter(b, a, x), FEW, np.array([1.5, 0.3, -0.2]), ROW)
    case("lfilter", lambda b, a, x: signal.lfilter(b, a, x, axis=0), FEW, FEW[:2], IMAGE)
    case("lfilter", lambda b, x: signal.lfilter(b, [2.0], x), FEW, IMAGE)
    case("lfilter", lambda b, x: signal.lfilter(b, [2.0], x), FEW[:1], IMAGE)
    case("lfilter", lambda x, zi: signal.lfilter([1.0, 2.0], [1.0, 0.5], x, zi=zi)[1], ROW, FEW[:1])
    sos = signal.butter(5, 0.2, output="sos")
    case("sosfilt", lambda s, x: signal.sosfilt(s, x), sos, ROW)
    case("sosfilt", lambda x: signal.sosfilt(sos, x, axis=0), IMAGE)
    case("sosfiltfilt", lambda x: signal.sosfiltfilt(sos, x, axis=0, padlen=3), IMAGE)
    for count in (7, 10, 20, 33, 40):
        case("resample", lambda x, count: signal.resample(x, int(count)), ROW, count=count)
    case("resample", lambda x: signal.resample(x, 6, axis=1, window="hamming"), IMAGE)
    for pad in ("constant", "line"):
        case("resample_poly", lambda x, padtype: signal.resample_poly(x, 3, 2, padtype=padtype),
             ROW, padtype=pad)  # fmt: skip
    case("decimate", lambda x: signal.decimate(x, 2, 2), ROW)
    case("decimate", lambda x: signal.decimate(x, 2, 5, "fir", axis=0), IMAGE)
    case("medfilt", lambda x: signal.medfilt(x) + signal.medfilt(x, [3, 5]), IMAGE)
    ring = np.array([[0, 1, 0], [1, 1, 0], [0, 1, 1]])
    for mode in ("reflect", "mirror", "nearest", "wrap", "constant"):
        case(
            "ranks",
            lambda x, mode: (
                image.maximum_filter(x, (2, 5), mode=mode, cval=0.3, origin=(0, -1))
                + image.minimum_filter(x, footprint=ring, mode=mode, origin=(1, 0))
                + image.median_filter(x, 4, mode=mode)
                + image.maximum_filter1d(x, 4, 0, mode=mode, origin=1)
                + image.minimum_filter1d(x, 3, mode=mode)
            ),
            IMAGE,
            mode=mode,
        )
    case("median_filter", lambda x: image.median_filter(x, footprint=ring), IMAGE)
    case("center_of_mass", lambda x: np.array(image.center_of_mass(x)), IMAGE**2)
    start = signal.sosfilt_zi(sos)
    case("sosfilt", lambda x, zi: signal.sosfilt(sos, x, zi=zi)[1], ROW, start)
    b, a = signal.butter(3, 0.3)
    for pad in ("odd", "even", "constant", None):
        case(
            "filtfilt",
            lambda b, a, x, pad: signal.filtfilt(b, a, x, padtype=pad),
            b,
            a,
            ROW,
            pad=pad,
        )
    case("filtfilt", lambda x: signal.filtfilt(b, a, x, axis=0, padlen=4), IMAGE)
    for n in (19, 20):
        case("hilbert", lambda x: np.abs(signal.hilbert(x)), ROW[:n])
    case("savgol", lambda x: signal.savgol_filter(x, 5, 2), IMAGE)
    case("detrend", lambda x: signal.detrend(x, axis=0), IMAGE)
    for mode in ("reflect", "constant", "nearest", "mirror", "wrap"):
        for size in (5, 4):
            for origin in (0, 1):
                case(
                    "filters of rows",
                    lambda x, w, mode, origin: (
                        image.correlate1d(x, w, mode=mode, cval=0.5, origin=origin)
                        + 2 * image.convolve1d(x, w, mode=mode, cval=0.5, origin=origin)
                    ),
                    IMAGE, FEW[:size], mode=mode, origin=origin,
                )  # fmt: skip
        case(
            "filters",
            lambda x, w, mode: (
                image.correlate(x, w, mode=mode, cval=0.5) + 2 * image.convolve(x, w, mode=mode)
                + image.gaussian_filter(x, (1.3, 0.4), mode=mode)
                + image.uniform_filter(x, 4, mode=mode)
            ),
            IMAGE, SMALL, mode=mode,
        )  # fmt: skip
        for axes in (0, (-1,)):
            case(
                "filters along axes",
                lambda x, w, mode, axes: (
                    image.correlate(x, w, mode=mode, axes=axes)
                    + 2 * image.convolve(x, w, mode=mode, cval=0.5, axes=axes)
                ),
                IMAGE, FEW[:4], mode=mode, axes=axes,
            )  # fmt: skip
        for axes in (1, (0,), ()):
            case(
                "slopes along axes",
                lambda x, mode, axes: (
                    image.laplace(x, mode=mode, axes=axes)
                    + image.gaussian_laplace(x, 1.1, mode=mode, axes=axes)
                    + image.gaussian_gradient_magnitude(x, 0.8, mode=mode, axes=axes)
                ),
                IMAGE, mode=mode, axes=axes,
            )  # fmt: skip
        case(
            "slopes",
            lambda x, mode: (
                image.laplace(x, mode=mode) + image.sobel(x, mode=mode)
                + image.prewitt(x, 0, mode=mode)
                + image.gaussian_laplace(x, 1.3, mode=mode)
                + image.gaussian_gradient_magnitude(x, 0.8, mode=mode)
                + image.gaussian_filter1d(x, 1.1, order=3, mode=mode)
                + image.gaussian_filter(x, 0.9, order=1, mode=mode)
            ),
            IMAGE, mode=mode,
        )  # fmt: skip
    where = RNG.uniform(-3.0, 11.0, (2, 50))
    for mode in ("constant", "nearest", "mirror", "reflect", "grid-wrap"):
        for order in (0, 1, 3):
            case(
                "map_coordinates",
                lambda x, c, mode, order: image.map_coordinates(
                    x, c, order=order, mode=mode, cval=0.7
                ),
                IMAGE, where, mode=mode, order=order,
            )  # fmt: skip
        for factor in (0.6, 1.3, (1.7, 2.0)):
            case(
                "zoom", lambda x, mode, by: image.zoom(x, by, mode=mode, cval=0.7), IMAGE,
                mode=mode, by=factor,
            )  # fmt: skip
            case("zoom", lambda x, by: image.zoom(x, by, order=1), IMAGE, by=factor)
        case("shift", lambda x, mode: image.shift(x, [0.3, -0.7], mode=mode), IMAGE, mode=mode)
        case(
            "rotate", lambda x, by, mode: image.rotate(x, by[0], mode=mode, reshape=False), IMAGE,
            np.array([21.3]), mode=mode,
        )  # fmt: skip
        case(
            "affine_transform",
            lambda x, a, mode: image.affine_transform(x, a, [0.17, -0.31], (5, 6), mode=mode),
            IMAGE, np.array([[0.913, 0.107], [-0.153, 1.0517]]), mode=mode,
        )  # fmt: skip
    case("rotate", lambda x: image.rotate(x, -33.0, order=1), IMAGE)
    case("rotate", lambda x: image.rotate(x, 200.0, (2, 0), order=1), IMAGE[:, :, None] + ROW[:3])
    scales = np.array([0.9, 1.1])
    case("affine_transform", lambda x, a: image.affine_transform(x, a), IMAGE, scales)
    joined = np.array([[0.9, 0.1, 0.3], [-0.2, 1.05, 0.4]])
    case("affine_transform", lambda x, a: image.affine_transform(x, a, order=1), IMAGE, joined)
    case(
        "gaussian_filter",
        lambda x: image.gaussian_filter(x, (1.2, 0.7), order=(0, 1), radius=(2, 3)), IMAGE,
    )  # fmt: skip
    case("gaussian_filter", lambda x, s: image.gaussian_filter(x, s, radius=3), IMAGE, scales)
    for n in (1, 2, 3, 4, 5, 8, 9):
        x = np.sort(RNG.normal(size=n))
        case("simpson", lambda y, x: scipy.integrate.simpson(y, x=x), ROW[:n], x)
        case("simpson", lambda y: scipy.integrate.simpson(y, dx=0.3), ROW[:n])
    case("simpson", lambda y: scipy.integrate.simpson(y, axis=0), IMAGE)
    case("trapezoid", lambda y, x: scipy.integrate.trapezoid(y, x), VALUES, PLACES)
    case(
        "cumulative_trapezoid",
        lambda y, x: scipy.integrate.cumulative_trapezoid(y, x, initial=0), VALUES, PLACES,
    )  # fmt: skip
    for metric in _METRICS:
        options = {"seuclidean": {"V": [1.0, 2.0, 3.0]}, "mahalanobis": {"VI": np.eye(3) + 0.1},
                   "minkowski": {"p": 3}}.get(metric, {})  # fmt: skip
        case(
            "cdist",
            lambda a, b, metric, options: scipy.spatial.distance.cdist(a, b, metric, **options),
            POINTS, OTHERS, metric=metric, options=options,
        )  # fmt: skip
        case(
            "pdist",
            lambda a, metric, options: scipy.spatial.distance.squareform(
                scipy.spatial.distance.pdist(a, metric, **options)
            ),
            POINTS, metric=metric, options=options,
        )  # fmt: skip
    distances = scipy.spatial.distance
    case(
        "of two",
        lambda u, v: [
            f(u, v) for f in (
                distances.euclidean, distances.cosine, distances.cityblock, distances.chebyshev,
                distances.canberra, distances.braycurtis, distances.correlation,
            )
        ] + [
            distances.minkowski(u, v, 3), distances.seuclidean(u, v, [1.0, 2.0, 3.0]),
            distances.mahalanobis(u, v, np.eye(3) + 0.1),
        ],
        POINTS[0], OTHERS[0],
    )  # fmt: skip
    case("matrix of distances", lambda a, b: scipy.spatial.distance_matrix(a, b, 3), POINTS, OTHERS)
    for seq in ("xyz", "ZYX", "zxy", "YZX", "XYZ", "yxz"):
        case("euler", lambda e, seq: Rotation.from_euler(seq, e).as_matrix(), TURNS, seq=seq)
        case("euler", lambda e, seq: Rotation.from_rotvec(e).as_euler(seq), TURNS, seq=seq)
    case("one axis", lambda a: Rotation.from_euler("z", a, degrees=True).as_matrix(), 20.0)
    case(
        "matrix",
        lambda q: Rotation.from_matrix(Rotation.from_quat(q).as_matrix()).as_quat(canonical=True),
        QUATERNIONS,
    )
    case("rotvec", lambda q: Rotation.from_quat(q).as_rotvec(), QUATERNIONS)
    case("angle", lambda q: Rotation.from_quat(q).magnitude(), QUATERNIONS)
    case(
        "product",
        lambda q, e: (Rotation.from_quat(q) * Rotation.from_rotvec(e).inv()).apply([1, 2, 3.0]),
        QUATERNIONS, TURNS,
    )  # fmt: skip
    curves = scipy.interpolate
    ends = ["not-a-knot", "natural", "clamped", ((1, 0.3), (2, -0.5)), ("not-a-knot", "natural")]
    for bc in ends:
        for n in (2, 3, 4, 7):
            if n > 2 or bc[0] != "not-a-knot":
                case(
                    "CubicSpline",
                    lambda x, y, q, bc: (
                        curves.CubicSpline(x, y, bc_type=bc)(q)
                        + curves.CubicSpline(x, y, bc_type=bc)(q, 1)
                        + curves.CubicSpline(x, y, bc_type=bc).integrate(0.5, 2.5)
                    ),
                    PLACES[:n], VALUES[:n], QUERIES, bc=bc,
                )  # fmt: skip
    for n in (2, 3, 7):
        case(
            "pchip",
            lambda x, y, q: curves.PchipInterpolator(x, y)(q),
            PLACES[:n],
            VALUES[:n],
            QUERIES,
        )
    case("many", lambda y, q: curves.CubicSpline(PLACES, y)(q), RNG.normal(size=(7, 3)), QUERIES)
    for nu in range(4):
        case("BSpline", lambda c, q, nu: curves.BSpline(KNOTS, c, 3)(q, nu), VALUES, QUERIES, nu=nu)
    case("BSpline", lambda c, a: curves.BSpline(KNOTS, c, 3).integrate(a, 2.5), VALUES, 0.5)
    case("splev", lambda c, q: curves.splev(q, (KNOTS, c, 3), 1), VALUES, QUERIES)
    for kind in ("linear", "cubic"):
        case(
            "interp1d",
            lambda y, q, kind: curves.interp1d(PLACES, y, kind, fill_value="extrapolate")(q),
            VALUES, QUERIES, kind=kind,
        )  # fmt: skip
    return found


CASES = cases()


@pytest.mark.quick(40)
@pytest.mark.parametrize("name", CASES)
def test_values_are_scipys(name: str) -> None:
    f, args = CASES[name]
    with sg.backend("numpy"):
        found = sg.compile(f)(*args)
    np.testing.assert_allclose(found, f(*args), rtol=1e-10, atol=1e-10)


MODELS = ["dct", "idst", "lfilter", "convolve2d", "map_coordinates", "CubicSpline", "BSpline",
          "pchip", "product", "cdist", "simpson", "rotate constant", "affine_transform reflect",
          "gaussian_filter"]  # fmt: skip


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", [[n for n in CASES if n.startswith(m)][-1] for m in MODELS])
def test_derivatives_are_those_of_differences(name: str) -> None:
    f, args = CASES[name]
    rng = np.random.default_rng(1)
    weights = rng.normal(size=np.shape(f(*args)))

    def total(*x: Any) -> Any:
        return np.sum(weights * f(*x))

    for k, x in enumerate(args):

        def at(flat: Any, k: int = k, x: Any = x) -> Any:
            return total(*args[:k], flat.reshape(np.shape(x)), *args[k + 1 :])

        want = differentiate.jacobian(
            lambda p, at=at: np.apply_along_axis(at, 0, p)[None], np.ravel(x), initial_step=1e-3
        ).df
        found = sg.grad(total, k)(*args)
        np.testing.assert_allclose(np.ravel(found), want[0], rtol=1e-6, atol=1e-6)


def test_splines_through_lists() -> None:
    """Their knots' number is the list's, and short arrays become numbers: the sizes are equal."""

    def f(y: Any) -> Any:
        curve = scipy.interpolate.CubicSpline([0.5, 1, 2, 5, 10], y)
        t = np.linspace(1, 9, 17)
        return np.mean(curve(t) + t * curve(t, 1))

    y = [0.01, 0.02, 0.025, 0.03, 0.031]
    assert sg.compile(f)(y) == pytest.approx(f(y), rel=1e-13)
    np.testing.assert_allclose(sg.grad(f)(y), sg.grad(f)(np.array(y)), rtol=1e-12)


def test_objects_made_outside() -> None:
    """What SciPy's objects hold is read; another object in the name is seen."""
    spline = scipy.interpolate.CubicSpline(PLACES, VALUES)
    fitted = scipy.interpolate.UnivariateSpline(PLACES, VALUES, s=0)
    line = scipy.interpolate.interp1d(PLACES, VALUES)
    turn = Rotation.from_euler("xyz", [0.1, 0.2, 0.3])

    def f(t: Any) -> Any:
        return spline(t) + 2 * fitted(t) - line(t) * turn.apply([t, 1.0, 0.0])[1]

    g = sg.value_and_grad(f)
    for _ in range(2):
        value, slope = g(2.0)
        np.testing.assert_allclose(value, f(2.0), rtol=1e-12)
        want = (f(2.0 + 1e-6) - f(2.0 - 1e-6)) / 2e-6
        np.testing.assert_allclose(slope, want, rtol=1e-7)
        spline = scipy.interpolate.CubicSpline(PLACES, VALUES**2)


def assembled(d: Any) -> Any:
    """Return a sparse matrix, filled as loops over elements do."""
    matrix = scipy.sparse.lil_matrix((6, 6))
    for i in range(6):
        matrix[i, i] = d[i]
        if i:
            matrix[i, i - 1] += -d[i] / 2
            matrix[i - 1, i] -= 1.0
    return matrix.tocsr()


def sparse_model(d: Any) -> Any:
    matrix = assembled(d) + scipy.sparse.identity(6) * d[0]
    other = scipy.sparse.diags([d, d[1:]], [0, 1]).tocsc()
    x = scipy.sparse.linalg.spsolve(matrix.tocsc(), np.ones(6))
    free = [1, 2, 4]
    part = scipy.sparse.linalg.splu(matrix[free][:, free].tocsc()).solve(x[free])
    both = scipy.sparse.kron(scipy.sparse.eye(2), matrix).T @ np.append(x, matrix @ other @ x)
    turned = scipy.sparse.csr_matrix((d, (range(6), range(5, -1, -1)))) @ x
    blocks = scipy.sparse.vstack([matrix, other]).sum() + scipy.sparse.hstack([matrix, other]).sum()
    return (
        np.sum(part) + np.sum(both**2) + turned[1] + blocks + matrix.diagonal() @ x + matrix[1, 1]
        + matrix.multiply(np.outer(d, d)).sum() + matrix.toarray()[0, 1]
    )  # fmt: skip


def test_sparse_matrices_of_traced_entries() -> None:
    d = np.linspace(3.0, 4.0, 6)
    value, slopes = sg.value_and_grad(sparse_model)(d)
    np.testing.assert_allclose(value, sparse_model(d), rtol=1e-12)
    steps = 1e-6 * np.eye(6)
    want = [(sparse_model(d + e) - sparse_model(d - e)) / 2e-6 for e in steps]
    np.testing.assert_allclose(slopes, want, rtol=1e-6)


@pytest.mark.parametrize("form", ["matrix", "array"])
def test_sparse_times_is_of_matrices_or_by_elements(form: str) -> None:
    """SciPy's ``*_matrix`` multiply as matrices by ``*``, its ``*_array`` by elements."""
    made = getattr(scipy.sparse, f"csr_{form}")
    held = made(np.array([[1.0, 0.0], [3.0, 4.0]]))
    other = np.array([2.0, 3.0])

    def model(x: Any) -> Any:
        own = made((x, ([0, 1], [1, 0])), shape=(2, 2))
        results = [held * x, x * held, own * other, other * own, own * held, held * own, own.T * x]
        results += [scipy.sparse.kron(own, held) * np.arange(4.0), own[:, [1, 0]] * other]
        return np.concatenate(
            [np.ravel(r.toarray() if scipy.sparse.issparse(r) else r) for r in results]
        )

    x = np.array([1.5, 2.5])
    np.testing.assert_allclose(sg.compile(model)(x), model(x), rtol=1e-14)


@pytest.mark.parametrize("form", ["csr_matrix", "csc_array"])
def test_sparse_entries_are_those_of_the_format(form: str) -> None:
    """What is at one place adds up, in the format's order; sums of matrices stay matrices."""

    def model(x: Any) -> Any:
        a = getattr(scipy.sparse, form)((x, ([2, 0, 1, 2, 0], [1, 0, 2, 1, 1])), shape=(3, 3))
        b = a + scipy.sparse.identity(3)
        sums = np.sum(a), a.sum(axis=0) - np.ones((1, 3)), a.sum(axis=1) * np.float64(2)
        return np.concatenate(
            [a.data, [a.nnz, b.nnz, scipy.sparse.linalg.norm(b)], *map(np.ravel, sums)]
        )

    x = np.array([1.5, 2.5, -3.0, 0.7, 4.0])
    np.testing.assert_allclose(sg.compile(model)(x), model(x), rtol=1e-14)


WITH_TYPES: dict[str, Callable[[Any], Any]] = {
    "diags": lambda x: scipy.sparse.diags([x, x[1:]], [0, 1], dtype=int),
    "diags_array": lambda x: scipy.sparse.diags_array(x, dtype=np.int32),
    "vstack": lambda x: scipy.sparse.vstack([scipy.sparse.diags(x)] * 2, "csr", np.int64),
    "block_diag": lambda x: scipy.sparse.block_diag([np.outer(x, x), [[1.5]]], dtype=int),
    "block_array": lambda x: scipy.sparse.block_array([[scipy.sparse.diags_array(x)]], dtype=int),
    "csr_array": lambda x: scipy.sparse.csr_array((x, ([0, 1, 1], [0, 1, 2])), dtype=int),
    "astype": lambda x: scipy.sparse.diags(x).astype(int),
    "asformat": lambda x: scipy.sparse.diags(x).asformat("csc"),
    "power": lambda x: scipy.sparse.diags(x).power(2, dtype=np.float32),
    "sum": lambda x: scipy.sparse.csr_array(np.outer(x, x)).sum(axis=0, dtype=int),
    "mean": lambda x: scipy.sparse.csr_array(np.outer(x, x)).mean(axis=1, dtype=np.float32),
}


@pytest.mark.quick(3)
@pytest.mark.parametrize("name", WITH_TYPES)
def test_sparse_matrices_of_a_type_that_is_asked_for(name: str) -> None:
    def dense(x: Any) -> Any:
        found = WITH_TYPES[name](x)
        return 1.0 * (found.toarray() if scipy.sparse.issparse(found) else found)

    x = np.array([1.75, -2.5, 3.25])
    np.testing.assert_allclose(sg.compile(dense)(x), dense(x), rtol=1e-6)


def test_distances_are_put_where_they_are_asked_for() -> None:
    def both(x: Any) -> Any:
        square, row = np.zeros((3, 3)), np.zeros(3)
        scipy.spatial.distance.cdist(x, x, out=square)
        scipy.spatial.distance.pdist(x, out=row)
        return np.append(square, row)

    x = np.array([[0.0, 1.0], [2.0, 0.5], [3.0, -1.0]])
    np.testing.assert_allclose(sg.compile(both)(x), both(x), rtol=1e-14)


@pytest.mark.parametrize("name", ["sum", "mean", "toarray"])
def test_sparse_matrices_have_no_place_for_results(name: str) -> None:
    def model(x: Any) -> Any:
        return getattr(scipy.sparse.diags_array(x), name)(out=np.zeros((3, 3)))

    with pytest.raises(UnsupportedError, match="out"):
        sg.compile(model)(np.ones(3))


@pytest.mark.parametrize("offsets", [0, [1], [-2], [0, 2, -1], [-3, 3, 1]])
@pytest.mark.parametrize("shape", [(4, 4), (3, 4), (4, 2), ((5, 5),)])
def test_spdiags_has_element_j_in_column_j(offsets: Any, shape: Any) -> None:
    def model(d: Any) -> Any:
        return scipy.sparse.spdiags(d, offsets, *shape).toarray()

    data = 1.0 + np.arange(4.0 * np.size(offsets)).reshape(-1, 4)
    np.testing.assert_array_equal(sg.compile(model)(data), model(data))


def test_sparse_matrices_are_of_scipys_classes() -> None:
    def model(x: Any) -> Any:
        a = scipy.sparse.csr_matrix((x, ([0, 1], [1, 0])), shape=(2, 2))
        b = scipy.sparse.diags_array(x)
        assert isinstance(a, scipy.sparse.csr_matrix)
        assert isinstance(a, scipy.sparse.spmatrix)
        assert not isinstance(a, (scipy.sparse.sparray, scipy.sparse.dia_matrix, np.ndarray))
        assert isinstance(b, scipy.sparse.sparray)
        assert not isinstance(b, scipy.sparse.spmatrix)
        held = scipy.sparse.csc_array(np.eye(2))
        assert isinstance(held, scipy.sparse.csc_array)
        if not isinstance(b, scipy.sparse.csc_array):
            b = scipy.sparse.csc_array(b)
        return a @ x + b @ held @ x

    x = np.array([1.5, 2.5])
    np.testing.assert_allclose(sg.compile(model)(x), model(x), rtol=1e-14)


#: What SciPy's matrices take of NumPy's functions.
OF_ONE = (
    "sqrt", "sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh", "arctanh", "expm1",
    "log1p", "deg2rad", "rad2deg", "rint", "absolute", "negative", "conjugate", "square",
)  # fmt: skip


@pytest.mark.quick(4)
@pytest.mark.parametrize("form", ["csr_array", "csr_matrix", "csc_array", "coo_array"])
@pytest.mark.parametrize("name", OF_ONE)
def test_numpys_functions_of_sparse_matrices(name: str, form: str) -> None:
    function = getattr(np, name)

    def model(x: Any) -> Any:
        a = getattr(scipy.sparse, form)((x, ([0, 1, 1], [1, 0, 2])), shape=(3, 3))
        found = function(a)
        assert scipy.sparse.issparse(found)
        return found.toarray()

    x = np.array([0.3, 0.5, 0.8])
    np.testing.assert_allclose(sg.compile(model)(x), model(x), rtol=1e-14)
    if name == "square" and form == "csr_matrix":  # the product with itself
        return
    slopes = np.diagonal(sg.jacobian(model)(x)[[0, 1, 1], [1, 0, 2]])
    np.testing.assert_allclose(slopes, sg.vmap(sg.grad(function))(x), rtol=1e-14)


@pytest.mark.parametrize("form", ["csr_array", "csr_matrix"])
def test_numpys_functions_of_two_sparse_matrices(form: str) -> None:
    made = getattr(scipy.sparse, form)
    dense = np.array([[1.5, 2.0], [-1.0, 3.0]])

    def model(x: Any) -> Any:
        a, b = made((x, ([0, 1], [1, 0])), shape=(2, 2)), made(np.diag([2.0, 3.0]))
        found = [np.multiply(a, 2.0), np.multiply(2.0, a), np.multiply(a, a), np.add(a, b)]
        found += [np.subtract(b, a), np.divide(a, x[0]), np.multiply(x[1], a), np.power(a, 2)]
        found += [a / dense, np.float64(3.0) * a, x[0] * a, a * x[0]]
        return np.concatenate([np.ravel(r.toarray()) for r in found])

    x = np.array([1.5, 2.5])
    np.testing.assert_allclose(sg.compile(model)(x), model(x), rtol=1e-14)
    share = lambda x: made(dense * x[0]) / made(dense * x[1])  # noqa: E731
    np.testing.assert_allclose(sg.compile(share)(x), np.asarray(share(x)), rtol=1e-14)


ROW, WIDE = np.array([[0.5, 2.0]]), np.arange(6.0).reshape(3, 2)

BLOCKS: dict[str, Any] = {
    "bordered": lambda a: scipy.sparse.bmat([[a, ROW.T], [ROW, None]]),
    "no square": lambda a: scipy.sparse.block_array([[None, a], [WIDE, None]]),
    "nothing below": lambda a: scipy.sparse.bmat([[None, a, None], [None, None, None]]),
    "products": lambda a: scipy.sparse.block_array([[a @ a, a], [a, None]]),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", BLOCKS)
def test_blocks_of_sparse_arrays(case: str, dtype: Any) -> None:
    make, d = BLOCKS[case], np.array([3.0, 4.0], dtype)
    found = sg.compile(lambda d: make(scipy.sparse.diags_array(d)).toarray())(d)
    want = make(scipy.sparse.diags_array(d)).toarray()
    np.testing.assert_array_equal(found, want)
    assert found.dtype == want.dtype


@pytest.mark.parametrize(
    ("blocks", "said"),
    [
        (lambda a: [[a, np.ones((3, 1))]], "blocks of row 0 have lengths 2, 3"),
        (lambda a: [[a], [np.ones((1, 3))]], "blocks of column 0 have lengths 2, 3"),
        (lambda a: [[a], [a, None]], "as many blocks in each row"),
    ],
)
def test_blocks_that_do_not_fit(blocks: Any, said: str) -> None:
    with pytest.raises(ShapeError, match=said):
        sg.compile(lambda d: scipy.sparse.bmat(blocks(scipy.sparse.diags(d))).sum())(np.ones(2))


REFUSED_SPARSE: dict[str, tuple[Any, str]] = {
    "compared": (lambda a: a == a.T, "is not compared"),
    "one by one": (lambda a: a[[0, 1], [0, 1]], "no entries one by one"),
    "a row": (lambda a: a[0], "of one axis"),
    "an attribute": (lambda a: a.reshape(1, 4), r"has no reshape\. Write instead: A.toarray"),
    "NumPy's exp": (lambda a: np.exp(a), r"np.exp takes no sparse.*np.exp\(A.toarray"),
    "NumPy's maximum": (lambda a: np.maximum(a, a), "np.maximum takes no sparse"),
    "two kinds": (lambda a: np.power(2.0, a), "have no pow of float and ByElements"),
    "a reduction": (lambda a: np.add.reduce(a), r"np.add.reduce takes no sparse"),
    "a sum": (lambda a: scipy.sparse.kronsum(a, a), "sparse.kronsum takes no sparse"),
    "a function": (lambda a: scipy.sparse.linalg.lsqr(a, 1), "sparse.linalg.lsqr takes no sparse"),
}


@pytest.mark.parametrize("case", REFUSED_SPARSE)
def test_what_sparse_arrays_refuse(case: str) -> None:
    use, message = REFUSED_SPARSE[case]
    with pytest.raises((UnsupportedError, AttributeError), match=message):
        sg.compile(lambda d: use(scipy.sparse.diags_array(d)))(np.ones(2))


def test_sparse_jacobian_of_a_sparse_solve() -> None:
    """The rule of a solve is another solve, whose rule is another."""
    n = 12

    def solved(d: Any) -> Any:
        matrix = scipy.sparse.diags([d, d[1:] / 9, d[1:] / 7], [0, 1, -1], shape=(n, n))
        return scipy.sparse.linalg.spsolve(matrix.tocsc(), np.ones(n))

    d = np.linspace(1.0, 2.0, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sg.errors.SparsityWarning)
        found = sg.jacobian(solved, sparse=True)(d).toarray()
    steps = 1e-6 * np.eye(n)
    want = np.transpose([(solved(d + e) - solved(d - e)) / 2e-6 for e in steps])
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-8)


def test_sparse_and_complex() -> None:
    """The power that flows into the buses of a grid, as its textbooks write it."""
    Y = scipy.sparse.csr_matrix(np.array([[1 - 5j, -1 + 5j], [-1 + 5j, 2 - 6j]]))

    def power(x: Any) -> Any:
        v = x[2:] * np.exp(1j * x[:2])
        s = v * np.conj(Y @ v) + scipy.sparse.diags(v).conj() @ (Y.T @ v)
        return np.r_[s.real, s.imag]

    x = np.array([0.1, 0.2, 1.0, 1.1])
    np.testing.assert_allclose(sg.compile(power)(x), power(x), rtol=1e-14)
    steps = 1e-6 * np.eye(4)
    want = np.transpose([(power(x + e) - power(x - e)) / 2e-6 for e in steps])
    np.testing.assert_allclose(sg.jacobian(power)(x), want, rtol=1e-6, atol=1e-8)


def test_what_is_refused_says_so() -> None:
    with pytest.raises(UnsupportedError, match="output"):
        sg.compile(lambda x: scipy.ndimage.sobel(x, 0, bool))(IMAGE)
    with pytest.raises(UnsupportedError, match="how many points the result has"):
        sg.grad(lambda by: np.sum(scipy.ndimage.zoom(IMAGE, by)))(1.5)
    with pytest.raises(UnsupportedError, match="radius"):
        sg.compile(lambda s: scipy.ndimage.gaussian_filter(IMAGE, s))(1.3)
    with pytest.raises(UnsupportedError, match="neighbors"):
        sg.compile(lambda y: scipy.interpolate.RBFInterpolator(POINTS, y, neighbors=3)(OTHERS))(
            VALUES[:4]
        )
    with pytest.raises(UnsupportedError, match="same place twice"):
        sg.compile(lambda d: assembled(d)[[0, 0]].toarray())(np.ones(6))
    with pytest.raises((UnsupportedError, TraceError), match="lsmr"):
        sg.compile(lambda d: scipy.sparse.linalg.lsmr(assembled(d), np.ones(6)))(np.ones(6))


def test_a_table_that_changes_in_place() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0], "kind": ["a", "b"]})

    def loss(k: Any) -> Any:
        return sum((row.y - k * row.x) ** 2 for row in table.itertuples())

    g = sg.grad(loss)
    for _ in range(2):
        np.testing.assert_allclose(g(2.0), sum(-2 * table.x * (table.y - 2.0 * table.x)))
        table.loc[1, "y"] = 10.0


def test_voigt_profile() -> None:
    """In the far wings and without a normal or Lorentzian part, too."""
    x = np.append(np.linspace(-6.0, 6.0, 25), [40.0, -1e6, 1e200, np.inf, np.nan])
    f = sg.compile(lambda x, s, g: scipy.special.voigt_profile(x, s, g))
    widths = [
        (0.4, 0.2), (1.0, 0.01), (0.1, 3.0), (1.0, 0.0), (0.0, 0.5), (0.0, 0.0), (1e-9, 1e-12),
        (-1.0, 0.5), (1.0, -0.5), (np.inf, 1.0), (1.0, np.inf), (np.nan, 1.0), (0.0, np.nan),
    ]  # fmt: skip
    for sigma, gamma in widths:
        want = scipy.special.voigt_profile(x, sigma, gamma)
        np.testing.assert_allclose(f(x, sigma, gamma), want, rtol=1e-13)


@pytest.mark.parametrize(
    "point",
    [(0.3, 1.0, 0.5), (50.0, 0.1, 1e-3), (1e3, 1.0, 0.1), (2.0, 1e-3, 0.5), (3.0, 1.0, 1e-9)],
)
def test_derivatives_of_voigt_profiles_keep_their_digits(point: tuple[float, ...]) -> None:
    def exact(x: Any, sigma: Any, gamma: Any) -> Any:
        z = (x + 1j * gamma) / (sigma * mpmath.sqrt(2))
        w = mpmath.exp(-z * z) * mpmath.erfc(-1j * z)
        return mpmath.re(w) / (sigma * mpmath.sqrt(2 * mpmath.pi))

    f = sg.hessian(lambda p: scipy.special.voigt_profile(p[0], p[1], p[2]))
    g = sg.grad(lambda p: scipy.special.voigt_profile(p[0], p[1], p[2]))
    units = np.eye(3, dtype=int)
    with mpmath.workdps(60):
        slopes = [float(mpmath.diff(exact, point, tuple(map(int, e)))) for e in units]
        second = [
            [float(mpmath.diff(exact, point, tuple(map(int, e + d)))) for e in units] for d in units
        ]
    np.testing.assert_allclose(g(np.array(point)), slopes, rtol=1e-13)
    np.testing.assert_allclose(f(np.array(point)), second, rtol=1e-12)


def test_a_voigt_profile_without_a_normal_part_is_differentiated() -> None:
    def profile(p: Any) -> Any:
        return scipy.special.voigt_profile(p[0], p[1], p[2])

    x, gamma = 0.7, 0.5
    square = x * x + gamma * gamma
    slopes = [-2 * x * gamma, 0.0, square - 2 * gamma * gamma]
    np.testing.assert_allclose(
        sg.grad(profile)(np.array([x, 0.0, gamma])),
        np.array(slopes) / square**2 / np.pi,
        rtol=1e-14,
    )


def test_faddeeva_function() -> None:
    places = np.array([1 + 2j, -0.5 + 0.1j, 3 + 0j, 1e-12 + 0j, 0.2 - 1j, 5.9 + 1e-9j, 1e5 + 1j])
    wild = np.array([np.inf + 0j, np.nan + 1j, 1 - 27j, -30j, -1e300 + 1j])
    w = sg.compile(lambda z: scipy.special.wofz(z))
    parts = sg.compile(lambda z: (scipy.special.wofz(z).real, scipy.special.wofz(z).imag))
    want = scipy.special.wofz(places)
    np.testing.assert_allclose(parts(places), (want.real, want.imag), rtol=1e-13)
    np.testing.assert_allclose(w(wild), scipy.special.wofz(wild), rtol=1e-12)
    assert w(places.astype(np.complex64)).dtype == np.complex64
    assert w(places[:0]).shape == (0,)
    slope = sg.vmap(sg.grad(lambda z: scipy.special.wofz(z), holomorphic=True))(places)
    with mpmath.workdps(60):
        for z, found in zip(places, slope, strict=True):
            exact = mpmath.diff(lambda z: mpmath.exp(-z * z) * mpmath.erfc(-1j * z), mpmath.mpc(z))
            assert abs(found - exact) < 1e-14 * abs(exact)
    assert sg.grad(lambda x: np.real(scipy.special.wofz(x)))(1.5) == pytest.approx(
        -3 * np.exp(-2.25), rel=1e-14
    )


@pytest.mark.parametrize("k", [0, -1])
def test_lambert_function(k: int) -> None:
    """On both real branches, to where they meet; nan where they are not real."""
    low = -np.exp(-1.0)
    near = low + np.geomspace(1e-13, 0.3, 40)
    x = np.concatenate(
        [near, -np.geomspace(1e-300, 0.2, 20), np.geomspace(1e-300, 1e300, 20)[: -20 * k]]
    )
    if k:
        x = x[x < 0]
    w = sg.compile(lambda x: scipy.special.lambertw(x, k).real)
    with mpmath.workdps(40):
        exact = np.array([float(mpmath.lambertw(mpmath.mpf(a), k).real) for a in x])
        slopes = [
            float(w / (mpmath.mpf(a) * (1 + w))) for a in x for w in [mpmath.lambertw(a, k).real]
        ]
    np.testing.assert_allclose(w(x), exact, rtol=1e-15)
    slope = sg.vmap(sg.grad(lambda x: scipy.special.lambertw(x, k=k).real))
    away = x - low > 1e-3
    np.testing.assert_allclose(slope(x)[away], np.array(slopes)[away], rtol=1e-13)
    both = sg.compile(lambda x: scipy.special.lambertw(x, k))
    ends = np.array([low, 0.0, np.nan, -1.0, np.inf][: 4 if k else 5])
    expected = np.where(ends == -1.0, np.nan, np.append(-1.0, scipy.special.lambertw(ends[1:], k)))
    np.testing.assert_array_equal(both(ends).real, expected.real)
    assert both(np.float32(-0.1)).dtype == np.complex128


def test_other_branches_of_lamberts_function_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="branch k is 0 or -1"):
        sg.grad(lambda x: scipy.special.lambertw(x, 1).real)(0.5)
    with pytest.raises(UnsupportedError, match="complex"):
        sg.grad(lambda x: scipy.special.lambertw(x * 1j).real)(0.5)


def test_multivariate_normal() -> None:
    normal = scipy.stats.multivariate_normal
    cov = np.array([[2.0, 0.3], [0.3, 1.0]])
    x = RNG.normal(size=(5, 2))
    for args in (
        (x, [0.5, 1.0], cov),
        (x[0], [0.5, 1.0], cov),
        (x, None, cov),
        (x, [0.5, 1.0], 2.0),
    ):
        traced = sg.compile(lambda x, args=args: normal.logpdf(x, *args[1:]))
        np.testing.assert_allclose(traced(args[0]), normal.logpdf(*args), rtol=1e-12)
    frozen = sg.compile(lambda x: normal([0.5, 1.0], cov).pdf(x))
    np.testing.assert_allclose(frozen(x), normal([0.5, 1.0], cov).pdf(x), rtol=1e-12)
    held = normal([0.5, 1.0], cov)
    traced = sg.compile(lambda x: held.logpdf(x))
    np.testing.assert_allclose(traced(x), held.logpdf(x), rtol=1e-12)
    slopes = sg.grad(lambda s: normal.logpdf([0.5, 1.0], [0.0, 0.0], s * cov))(1.5)
    f = lambda s: normal.logpdf([0.5, 1.0], [0.0, 0.0], s * cov)  # noqa: E731
    np.testing.assert_allclose(slopes, (f(1.5 + 1e-6) - f(1.5 - 1e-6)) / 2e-6, rtol=1e-8)


@pytest.mark.parametrize(("size", "rank"), [(2, 1), (3, 2), (3, 3), (1, 0)])
def test_normal_distributions_on_a_subspace(size: int, rank: int) -> None:
    """Where allow_singular is said, as code says that wants no error of nearly singular ones."""
    density = scipy.stats.multivariate_normal.logpdf
    mean, parts, change = RNG.normal(size=size), *RNG.normal(size=(2, size, rank))
    inside = RNG.normal(size=rank)

    def on_it(parts: Any) -> Any:
        return density(mean + parts @ inside, mean, parts @ parts.T, allow_singular=True)

    traced = sg.compile(lambda x, m, cov: density(x, m, cov, allow_singular=True))
    points, cov = np.stack([mean + parts @ inside, mean + 1.0]), parts @ parts.T
    np.testing.assert_allclose(
        traced(points, mean, cov), density(points, mean, cov, allow_singular=True), rtol=1e-9
    )
    if rank:
        np.testing.assert_allclose(
            np.sum(sg.grad(on_it)(parts) * change),
            (on_it(parts + 1e-6 * change) - on_it(parts - 1e-6 * change)) / 2e-6, rtol=1e-6,
        )  # fmt: skip
        assert np.all(np.isnan(traced(points, mean, -cov)))  # SciPy raises


@pytest.mark.parametrize(
    ("method", "alpha"),
    [("zoh", None), ("foh", None), ("tustin", None), ("euler", None), ("gbt", 0.3)],
)
def test_systems_in_steps(method: str, alpha: Any) -> None:
    a, along, b = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3)), RNG.normal(size=(3, 2))
    c, d = RNG.normal(size=(2, 3)), RNG.normal(size=(2, 2))

    def steps(a: Any, dt: Any) -> Any:
        return scipy.signal.cont2discrete((a, b, c, d), dt, method, alpha)[:4]

    def squares(a: Any, dt: Any) -> Any:
        return sum(np.sum(x * x) for x in steps(a, dt))

    for found, want in zip(sg.compile(steps)(a, 0.2), steps(a, 0.2), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-14)
    ahead, behind = (squares(a + h * along, 0.2 + h) for h in (1e-6, -1e-6))
    slope = sg.jvp(squares, (a, 0.2), (along, 1.0))[1]
    np.testing.assert_allclose(slope, (ahead - behind) / 2e-6, rtol=1e-6)


def test_systems_in_steps_that_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="four matrices"):
        sg.compile(lambda k: scipy.signal.cont2discrete((k * np.ones(1), [1.0, 1.0]), 0.1)[0])(2.0)
    one = np.ones((1, 1))
    with pytest.raises(UnsupportedError, match="method='impulse'"):
        sg.compile(lambda a: scipy.signal.cont2discrete((a, one, one, 0), 0.1, "impulse")[0])(one)


LABELS = RNG.integers(-1, 4, (5, 6))


@pytest.mark.parametrize(
    "name", ["sum", "sum_labels", "mean", "variance", "standard_deviation", "center_of_mass"]
)
@pytest.mark.parametrize(
    ("labels", "index"),
    [(None, None), (LABELS, None), (LABELS, 2), (LABELS, [3, 1, 1]), (LABELS[0], [1, 2]),
     (LABELS > 1, None), (LABELS, [9, 0, -1])],
)  # fmt: skip
def test_regions_of_images(name: str, labels: Any, index: Any) -> None:
    function = getattr(scipy.ndimage, name)
    image, along = RNG.normal(size=(2, 5, 6))

    def f(x: Any) -> Any:
        found = function(x, labels, index)
        return sg.numpy.array(found) if name == "center_of_mass" else found

    with np.errstate(invalid="ignore"):
        want = np.asarray(f(image))
        ahead, behind = (np.asarray(f(image + h * along)) for h in (1e-6, -1e-6))
    found, slope = sg.jvp(f, (image,), (along,))
    assert np.shape(found) == want.shape
    np.testing.assert_allclose(found, want, rtol=1e-12)
    there = np.isfinite(want)  # no elements have no mean
    slopes = (ahead - behind)[there] / 2e-6
    np.testing.assert_allclose(np.asarray(slope)[there], slopes, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(
        np.tensordot(sg.jacobian(f)(image), along)[there], slopes, rtol=1e-5, atol=1e-8
    )


def test_regions_that_are_traced_are_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"labels == k"):
        sg.compile(lambda x, k: scipy.ndimage.mean(x, k, [1, 2]))(np.ones(3), np.array([1, 1, 2]))


TYPES = {
    "gaussian_filter": lambda x: scipy.ndimage.gaussian_filter(x, 1.0),
    "sobel": scipy.ndimage.sobel,
    "uniform_filter": lambda x: scipy.ndimage.uniform_filter(x, 3),
    "shift": lambda x: scipy.ndimage.shift(x, 0.4, order=1),
    "map_coordinates": lambda x: scipy.ndimage.map_coordinates(x, [[1.5], [2.2]], order=1),
    "hilbert": scipy.signal.hilbert,
    "savgol_filter": lambda x: scipy.signal.savgol_filter(x, 5, 2),
    "detrend": scipy.signal.detrend,
    "cdist": lambda x: scipy.spatial.distance.cdist(x, x),
    "pdist": scipy.spatial.distance.pdist,
    "dct": scipy.fft.dct,
}


@pytest.mark.parametrize("name", ["convolve", "correlate", "convolve2d", "correlate2d"])
def test_convolutions_of_integers_are_integers(name: str) -> None:
    function, shape = getattr(scipy.signal, name), (30, 20) if "2d" in name else (600,)
    for few in [tuple(1 + n // 8 for n in shape), shape]:  # directly, and by Fourier transforms
        x, y = (RNG.integers(-9, 9, size=s).astype(t) for s, t in ((shape, "i2"), (few, "i4")))
        found, want = sg.compile(function)(x, y), function(x, y)
        assert found.dtype == want.dtype
        np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("name", TYPES)
def test_types_are_scipys(name: str) -> None:
    f, x = TYPES[name], IMAGE.astype(np.float32)
    found, want = sg.compile(f)(x), f(x)
    assert found.dtype == want.dtype
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)


def test_affine_transforms_that_are_refused() -> None:
    turned, joined = np.diag([1.0, 1.0, 2.0]), np.eye(4)
    with pytest.raises(ValueError, match="bottom row"):
        scipy.ndimage.affine_transform(IMAGE, turned)
    assert np.isnan(sg.compile(lambda x: scipy.ndimage.affine_transform(x, turned))(IMAGE)).all()
    for f, kind, words in (
        (lambda x: scipy.ndimage.affine_transform(x, joined), RuntimeError, "number of rows"),
        (lambda x: scipy.ndimage.rotate(x, x[0, 0]), UnsupportedError, "reshape=False"),
        (lambda x: scipy.ndimage.rotate(x[0], 3.0), ValueError, "at least 2D"),
        (lambda x: scipy.ndimage.gaussian_filter(x, (1.0, 2.0, 3.0)), RuntimeError, "sequence"),
    ):
        with pytest.raises(kind, match=words):
            sg.compile(f)(IMAGE)


def test_images_of_whole_numbers_are_refused() -> None:
    """SciPy cuts off what is behind the point, and has bytes begin anew."""
    image = np.arange(42, dtype=np.uint8).reshape(6, 7)

    def picked(place: Any) -> Any:
        return scipy.ndimage.map_coordinates(image, [[place], [2.0]], order=1)[0]

    with pytest.raises(DTypeError, match=r"of type uint8 .*image\.astype\(float\)"):
        sg.grad(picked)(1.5)
    with pytest.raises(DTypeError, match="gaussian_filter of an image of type int64"):
        sg.compile(lambda x: scipy.ndimage.gaussian_filter(x, 1.0))(image.astype(int))


def test_rotations_between_others() -> None:
    turns = Rotation.from_euler("xyz", [[0, 0, 0], [0.3, 0.5, -0.2], [1.0, 0.2, 0.3]])
    outside = scipy.spatial.transform.Slerp([0.0, 1.0, 3.0], turns)

    def f(t: Any) -> Any:
        inside = scipy.spatial.transform.Slerp([0.0, 1.0, 3.0], turns)
        return outside(t).as_rotvec() + inside([t / 2, t]).as_matrix()[:, 0]

    for t in (0.0, 0.4, 1.0, 2.5, 3.0):
        np.testing.assert_allclose(sg.compile(f)(t), f(t), rtol=1e-12, atol=1e-14)
    slope = (f(0.4 + 1e-6) - f(0.4 - 1e-6)) / 2e-6
    np.testing.assert_allclose(sg.jacobian(f)(0.4), slope, rtol=1e-7, atol=1e-9)
    assert np.isnan(sg.compile(lambda t: outside(t).as_quat())(3.5)).all()


def test_distance_of_jensen_and_shannon() -> None:
    of = scipy.spatial.distance.jensenshannon
    p, q = np.array([[1.0, 2.0, 3.0], [2.0, 0.0, 1.0]]), np.ones((2, 3))
    for options in ({}, {"base": 2}, {"axis": 1, "keepdims": True}):
        f = lambda p, o=options: of(p, q, **o)  # noqa: E731
        np.testing.assert_allclose(sg.compile(f)(p), f(p), rtol=1e-12)


def test_rotations_that_are_closest_to_matrices() -> None:
    rng = np.random.default_rng(3)
    turn = Rotation.from_rotvec([0.3, 0.2, 0.5]).as_matrix()
    f = lambda m: Rotation.from_matrix(m).as_rotvec()  # noqa: E731
    for m in (turn, turn + 0.2 * rng.normal(size=(3, 3)), 3.0 * turn):
        np.testing.assert_allclose(sg.compile(f)(m), f(m), rtol=1e-12)
        for e in 1e-6 * rng.normal(size=(3, 3, 3)):
            slope = sg.jvp(f, (m,), (e,))[1]
            np.testing.assert_allclose(slope, (f(m + e) - f(m - e)) / 2, rtol=1e-6, atol=1e-13)
    assert np.isnan(sg.compile(f)(-turn)).all()


def test_distances_at_their_ends() -> None:
    u, v = np.array([0.0, 2.0, -1.0]), np.array([0.0, 0.5, 3.0])
    for name, more in (("minkowski", (np.inf,)), ("minkowski", (1.5,)), ("canberra", ())):
        f = lambda u, v, n=name, m=more: getattr(scipy.spatial.distance, n)(u, v, *m)  # noqa: E731
        np.testing.assert_allclose(sg.compile(f)(u, v), f(u, v), err_msg=name)
    f = lambda u, v, w: scipy.spatial.distance.minkowski(u, v, np.inf, w)  # noqa: E731
    for w in ([1.0, 1.0, 0.0], [0.5, 2.0, 3.0]):
        np.testing.assert_allclose(sg.compile(f)(u, v, np.array(w)), f(u, v, w))
    assert sg.grad(lambda u: scipy.spatial.distance.canberra(u, v))(u)[0] == 0.0


def test_lengths_that_do_not_fit_are_errors() -> None:
    """NumPy broadcasts a length of one, and indices beyond an end were the last."""
    grid = scipy.interpolate.RegularGridInterpolator
    calls: dict[str, Callable[[Any], Any]] = {
        "simpson": lambda x: scipy.integrate.simpson(x, x=np.arange(7.0)),
        "cumulative_trapezoid": lambda x: scipy.integrate.cumulative_trapezoid(x, np.arange(2.0)),
        "interp1d": lambda x: scipy.interpolate.interp1d(np.arange(9.0), x)(0.5),
        "PPoly": lambda x: scipy.interpolate.PPoly(x[None], np.arange(4.0))(0.5),
        "BSpline": lambda x: scipy.interpolate.BSpline(np.arange(12.0), x, 2)(5.5),
        "RegularGridInterpolator": lambda x: grid((np.arange(4.0),), x)([0.5]),
        "lagrange": lambda x: scipy.interpolate.lagrange(np.arange(9.0), x)(0.5),
        "shift": lambda x: scipy.ndimage.shift(np.outer(x, x), x[:1]),
        "lfilter": lambda x: scipy.signal.lfilter([1.0], [1.0, 0.5], x, zi=x),
        "cdist": lambda x: scipy.spatial.distance.cdist(x[:, None], x[None]),
        "cosine": lambda x: scipy.spatial.distance.cosine(x, x[:1]),
        "seuclidean": lambda x: scipy.spatial.distance.seuclidean(x, x, x[:1]),
        "gaussian_kde": lambda x: scipy.stats.gaussian_kde(x, weights=x[:1])(0.5),
        "wasserstein": lambda x: scipy.stats.wasserstein_distance(x, x, x[:1], x[:1]),
        "dirichlet": lambda x: scipy.stats.dirichlet.logpdf(x / np.sum(x), x[:1]),
        "leslie": lambda x: scipy.linalg.leslie(x, x[:1]),
        "solve_circulant": lambda x: scipy.linalg.solve_circulant(x, x[:1]),
    }
    x = np.array([0.2, 0.5, 0.9, 0.4, 1.1])
    for name, f in calls.items():
        with pytest.raises((ValueError, TypeError, IndexError, RuntimeError)):
            f(x)
        with pytest.raises(ShapeError):
            pytest.fail(f"{name}: {sg.compile(f)(x)}")


def test_running_integrals_of_one_sample() -> None:
    f = lambda x: scipy.integrate.cumulative_trapezoid(x, initial=0)  # noqa: E731
    for x in (np.ones(3), np.ones(1), np.ones(2)):
        np.testing.assert_array_equal(sg.compile(f)(x), f(x))


def test_means_of_short_whole_numbers_do_not_wrap() -> None:
    for x in (np.array([200, 255], np.uint8), np.array([True])):
        np.testing.assert_allclose(sg.compile(scipy.special.agm)(x, x), 1.0 * x)


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("euclidean", {}), ("minkowski", {"p": 3}), ("minkowski", {"p": 1.5}),
        ("seuclidean", {"V": np.array([1.0, 2.0, 3.0])}), ("mahalanobis", {"VI": np.eye(3) + 0.1}),
    ],
)  # fmt: skip
def test_distances_of_points_from_themselves_add_nothing_to_gradients(
    metric: str, options: dict[str, Any]
) -> None:
    """Their roots of 0 made all of it nan."""
    total = lambda x: np.sum(scipy.spatial.distance.cdist(x, x, metric, **options))  # noqa: E731
    way = OTHERS[: len(POINTS)] if len(OTHERS) >= len(POINTS) else POINTS[::-1]
    slope = (total(POINTS + 1e-5 * way) - total(POINTS - 1e-5 * way)) / 2e-5
    np.testing.assert_allclose(np.sum(sg.grad(total)(POINTS) * way), slope, rtol=1e-7)
