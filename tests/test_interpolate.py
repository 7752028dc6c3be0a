"""scipy.interpolate in traced code, beside SciPy's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate as si
import scipy.spatial
from scipy.spatial.transform import Rotation, Slerp

import symgrad as sg
from symgrad.errors import UnsupportedError

pytestmark = pytest.mark.usefixtures("few_kernels")

RNG = np.random.default_rng(3)
X = np.sort(RNG.uniform(0.0, 5.0, 8))
Y, MANY = RNG.normal(size=8), RNG.normal(size=(2, 8, 3))
Q = np.array([-0.3, 0.7, 2.2, 3.1, 6.0])
INSIDE = np.linspace(X[0], X[-1], 9)
AXES = np.array([0.0, 1.0, 2.5, 3.0, 4.5, 5.0]), np.linspace(-1, 1, 7), np.linspace(0, 2, 6)
GRID, SOLID = RNG.normal(size=(6, 7)), RNG.normal(size=(6, 7, 6))
ON_GRID = RNG.uniform([0, -1], [5, 1], (4, 2))
IN_SOLID = RNG.uniform([0, -1, 0], [5, 1, 2], (4, 3))
POINTS, AT = RNG.uniform(size=(12, 2)), RNG.uniform(size=(5, 2))
HEIGHTS = RNG.normal(size=12)
SPACE = RNG.normal(size=(12, 3))


def cases() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    found: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}

    def case(name: str, f: Callable[..., Any], *args: Any) -> None:
        found[f"{name} {len(found)}"] = f, args

    for method in ("akima", "makima"):
        for n in (2, 3, 8):
            case(
                "Akima",
                lambda x, y, q, m=method: si.Akima1DInterpolator(
                    x, y, method=m, extrapolate=True
                )(q),
                X[:n], Y[:n], Q,
            )  # fmt: skip
    case(
        "Akima flat",
        lambda y, q: si.Akima1DInterpolator(X, y)(q),
        np.round(Y) * 0 + [0, 0, 1, 1, 1, 1, 0, 0],
        Q,
    )
    case("Akima axis", lambda y, q: si.Akima1DInterpolator(X, y, axis=1)(q), MANY, INSIDE)
    case("Cubic axis", lambda y, q: si.CubicSpline(X, y, axis=1)(q, 1), MANY, Q)
    case("Pchip axis", lambda y, q: si.PchipInterpolator(X, y, axis=-2)(q), MANY, Q)
    for n in (3, 4, 8):
        case(
            "Cubic periodic",
            lambda x, y, q: (
                si.CubicSpline(x, y, bc_type="periodic")(q)
                + si.CubicSpline(x, y, bc_type="periodic").integrate(-7.0, 11.0)
            ),
            X[:n], np.append(Y[: n - 1], Y[0]), Q,
        )  # fmt: skip
    case("PPoly periodic", lambda y, q: si.PchipInterpolator(X, y, extrapolate="periodic")(q), Y, Q)
    for k in range(6):
        case("spline", lambda y, q, k=k: si.make_interp_spline(X, y, k)(q), Y, INSIDE)
        case("spline slope", lambda x, y, q, k=k: si.make_interp_spline(x, y, k)(q, 1), X, Y, Q)
    for ends in ("natural", "clamped", "not-a-knot", ([(1, 0.3)], [(2, -0.5)])):
        case("ends", lambda y, q, e=ends: si.make_interp_spline(X, y, 3, bc_type=e)(q), Y, Q)
    case("spline axis", lambda y, q: si.make_interp_spline(X, y, axis=1)(q), MANY, INSIDE)
    knots = np.r_[[X[0]] * 4, X[2:-2], [X[-1]] * 4]
    case("knots", lambda y, q: si.make_interp_spline(X, y, 3, t=knots)(q), Y, INSIDE)
    case(
        "BSpline axis",
        lambda c, q: si.BSpline(np.arange(12.0), c, 3, axis=1)(q)
        + si.BSpline(np.arange(12.0), c, 3, axis=1).derivative()(q),
        MANY, np.array([3.2, 4.5]),
    )  # fmt: skip
    case(
        "BSpline periodic",
        lambda c, q: si.BSpline(np.arange(12.0), c, 3, extrapolate="periodic")(q), Y, Q * 4,
    )  # fmt: skip
    for kind in ("linear", "nearest", "nearest-up", "zero", "slinear", "quadratic", "cubic",
                 "previous", "next", 2):  # fmt: skip
        for fill in ("extrapolate", (-1.0, 7.0)):
            case(
                "interp1d",
                lambda y, q, k=kind, f=fill: si.interp1d(
                    X, y, k, bounds_error=False, fill_value=f
                )(q),
                Y, np.append(Q, X[2:4]),
            )  # fmt: skip
        case("interp1d", lambda y, q, k=kind: si.interp1d(X, y, k, axis=1)(q), MANY, INSIDE)
    for method in ("linear", "nearest", "slinear", "cubic"):
        case(
            "grid",
            lambda v, q, m=method: si.RegularGridInterpolator(AXES[:2], v, m)(q), GRID, ON_GRID,
        )  # fmt: skip
        case(
            "grid beyond",
            lambda v, q, m=method: si.RegularGridInterpolator(
                AXES[:2], v, m, bounds_error=False, fill_value=None
            )(q),
            GRID, ON_GRID * 1.5,
        )  # fmt: skip
        case(
            "solid",
            lambda v, q, m=method: si.interpn(AXES, v, q, m, bounds_error=False, fill_value=7.0),
            SOLID, np.concatenate([IN_SOLID, IN_SOLID * 2]),
        )  # fmt: skip
    case("grid of vectors", lambda v, q: si.RegularGridInterpolator(AXES[:2], v)(q), SOLID, ON_GRID)
    case(
        "one axis", lambda v, q: si.RegularGridInterpolator((X,), v, "pchip")(q), Y, INSIDE[:, None]
    )
    case(
        "RectBivariate",
        lambda z, x, y: (
            si.RectBivariateSpline(*AXES[:2], z)(x, y)
            + si.RectBivariateSpline(*AXES[:2], z, kx=2, ky=1)(x, y)
        ),
        GRID, np.array([0.4, 2.0, 4.9]), np.array([-0.5, 0.5]),
    )  # fmt: skip
    case(
        "RectBivariate ev",
        lambda z, x, y: si.RectBivariateSpline(*AXES[:2], z).ev(x, y, dx=1),
        GRID, ON_GRID[:, 0], ON_GRID[:, 1],
    )  # fmt: skip
    for kernel in ("linear", "thin_plate_spline", "cubic", "quintic", "multiquadric",
                   "inverse_multiquadric", "inverse_quadratic", "gaussian"):  # fmt: skip
        case(
            "RBF",
            lambda y, d, q, k=kernel: si.RBFInterpolator(y, d, kernel=k, epsilon=1.5)(q),
            POINTS, HEIGHTS, AT,
        )  # fmt: skip
    case(
        "RBF smooth",
        lambda y, d, q: si.RBFInterpolator(y, d, smoothing=0.3, degree=2)(q),
        POINTS, np.stack([HEIGHTS, -HEIGHTS], 1), AT,
    )  # fmt: skip
    for k in range(1, 6):
        case("splrep", lambda y, q, k=k: si.splev(q, si.splrep(X, y, k=k)), Y, INSIDE)
        case("splrep", lambda x, y, q, k=k: si.splev(q, si.splrep(x, y, k=k, s=0)), X, Y, INSIDE)
    for k in range(1, 6):
        case("through", lambda x, y, q, k=k: si.InterpolatedUnivariateSpline(x, y, k=k)(q), X, Y, Q)
    for ext in (0, 1, 3, "zeros", "const"):
        case(
            "through",
            lambda y, q, e=ext: si.UnivariateSpline(X, y, s=0, ext=e).antiderivative()(q)
            + si.UnivariateSpline(X, y, s=0, ext=e).derivative()(q)
            + si.UnivariateSpline(X, Y, s=0.5, ext=e)(q, 1),
            Y, Q,
        )  # fmt: skip
    case(
        "least squares",
        lambda y, w, q: si.LSQUnivariateSpline(X, y, [2.0, 3.0], w, k=2)(q)
        + si.make_lsq_spline(X, y, [0, 0, 2, 3, 5, 5], 1, w)(q),
        Y, 1 + Y**2, Q,
    )  # fmt: skip
    case(
        "through",
        lambda y, a, b: si.UnivariateSpline(X, y, s=0).integral(a, b) * np.ones(4)
        + si.splint(a, b, si.splrep(X, y))
        + si.UnivariateSpline(X, y, s=0).derivatives((b - a) / 2),
        Y, -2.0, 3.0,
    )  # fmt: skip
    for ext in (0, 1, 3):
        case("splev", lambda y, q, e=ext: si.splev(q, si.splrep(X, y), 1, e), Y, Q)
    curve, _ = si.splprep(MANY[0].T, s=0)
    case("splev", lambda q: np.stack(si.splev(q / 9, curve)), Q)
    case("polynomial", lambda x, y, q: si.BarycentricInterpolator(x, y)(q), X, Y, Q)
    case("polynomial", lambda y, q: si.KroghInterpolator(X, y, axis=1)(q), MANY, X[:2])
    case("polynomial", lambda x, y, q: si.barycentric_interpolate(x, y, q), X[:5], MANY[0, :5], Q)
    case("polynomial", lambda x, y, q: si.lagrange(x, y)(q), X[:5], Y[:5], Q)
    case("Pchip", lambda y, q: sum(si.pchip_interpolate(X, y, q, der=[0, 1])), Y, INSIDE)
    many = np.stack([HEIGHTS, -HEIGHTS], 1)
    fixed = si.LinearNDInterpolator(POINTS * [1, 50], many, fill_value=0.5, rescale=True)
    near, tree = si.NearestNDInterpolator(POINTS, HEIGHTS), scipy.spatial.cKDTree(POINTS)
    case("linear read", lambda q: fixed(q * [1, 50]), AT)
    case("linear axes", lambda q: fixed(q[:, 0], 50 * q[:, 1]), AT)
    case("nearest", lambda q: near(q) * q[:, 0], AT)
    for method in ("linear", "nearest"):
        case(
            "griddata",
            lambda v, q, m=method: si.griddata(POINTS, v, q, m, 0.1) + q[:, 0], HEIGHTS, AT,
        )  # fmt: skip
        case("griddata", lambda v, q, m=method: si.griddata(X, v, q, m, 0.1) + q, Y, Q)
    case(
        "griddata",
        lambda v, q: si.griddata(tuple(POINTS.T), v, (q[:, :1], q[:, 1:]), fill_value=0.1),
        HEIGHTS, AT,
    )  # fmt: skip
    case(
        "griddata", lambda v, q: si.griddata(SPACE, v, q, fill_value=0.1), HEIGHTS, SPACE[:3] * 0.9
    )
    for k in (1, 2, [1, 3]):
        case("tree", lambda q, k=k: tree.query(q, k)[0] * tree.query(q, k)[1], AT)
        case("tree made", lambda q, k=k: scipy.spatial.KDTree(POINTS).query(q, k, p=1)[0], AT)
    case("tree one", lambda q: tree.query(q)[0], AT[0])
    case("tree near", lambda q: np.minimum(tree.query(q, 3, 0, 2, 0.2)[0], 1.0), AT)
    return found


CASES = cases()


@pytest.mark.quick(12)
@pytest.mark.parametrize("name", CASES)
def test_values_are_scipys(name: str) -> None:
    f, args = CASES[name]
    with sg.backend("numpy"):
        found = sg.compile(f)(*args)
    want = f(*args)
    # SciPy solves for grids' splines by iterations, to 1e-6.
    loose = 1e-4 if name.startswith(("grid", "solid")) else 2e-9 if "RBF" in name else 1e-10
    np.testing.assert_allclose(found, want, rtol=loose, atol=loose)


DIFFERENTIATED = (
    "Akima",
    "Cubic",
    "ends",
    "through",
    "least",
    "polynomial",
    "RBF",
    "RectBivariate",
    "solid",
    "linear",
    "nearest",
    "griddata",
    "tree",
)
#: Not by differences: periodic values, nan outside, SciPy's iterations.
WITHOUT = ("periodic", "flat", "Akima axis", "solid 75")


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", [
    n for n in CASES if n.split()[0] in DIFFERENTIATED and not any(w in n for w in WITHOUT)
])  # fmt: skip
@pytest.mark.usefixtures("no_kernels")
def test_derivatives_are_those_of_differences(name: str) -> None:
    f, args = CASES[name]
    weights = np.random.default_rng(1).normal(size=np.shape(f(*args)))
    if name.startswith("solid"):
        args = args[0], args[1][:4]
        weights = weights[:4]
        if " nearest" in name:
            return
    total = lambda *x: np.sum(weights * f(*x))  # noqa: E731
    rng = np.random.default_rng(2)
    for k in range(len(args)):
        if "Akima" in name and k == 0 and len(args) == 3:
            continue  # the places' order of magnitude of their distances is another
        step = rng.normal(size=np.shape(args[k]))

        def at(s: float, k: int = k, step: Any = step) -> Any:
            return total(*args[:k], args[k] + s * step, *args[k + 1 :])

        want = (8 * (at(1e-5) - at(-1e-5)) - (at(2e-5) - at(-2e-5))) / 12e-5
        found = np.sum(sg.grad(total, k)(*args) * step)
        np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)


def test_objects_made_outside() -> None:
    """Their data are looked at in each call; nothing is solved again."""
    table = si.interp1d(X, Y, "cubic")
    akima = si.Akima1DInterpolator(X, Y)
    grid = si.RegularGridInterpolator(AXES[:2], GRID)
    plane = si.RectBivariateSpline(*AXES[:2], GRID)
    radial = si.RBFInterpolator(POINTS, HEIGHTS)
    spline = si.make_interp_spline(X, Y)

    def f(t: Any) -> Any:
        at = np.stack([t, 0.1 * t])
        return (
            table(t) + 2 * akima(t) + grid(at)[0] + plane.ev(t, 0.1 * t) + radial(at[None])[0]
            + spline(t)
        )  # fmt: skip

    g = sg.value_and_grad(f)
    for _ in range(2):
        value, slope = g(2.1)
        assert value == pytest.approx(f(2.1), rel=1e-10)
        want = (f(2.1 + 1e-6) - f(2.1 - 1e-6)) / 2e-6
        assert slope == pytest.approx(want, rel=1e-6)
        table, radial = si.interp1d(X, Y**2, "cubic"), si.RBFInterpolator(POINTS, HEIGHTS**2)
        grid.values[...] += 1.0  # in place


@pytest.mark.parametrize("ext", ["zeros", "const", 0])
def test_splines_made_outside_end_as_they_say(ext: Any) -> None:
    """They went on beyond their points, whatever ``ext`` said."""
    smooth, through = si.UnivariateSpline(X, Y, s=1, ext=ext), si.LSQUnivariateSpline(X, Y, [2.0])

    def f(t: Any) -> Any:
        return smooth(t) + through(t, ext=ext) + smooth.integral(0.0, t)

    for t in Q:
        assert sg.compile(f)(t) == pytest.approx(f(t), rel=1e-10)


def test_what_depends_on_values_is_refused() -> None:
    for words, f in {
        "get_knots": lambda y: si.UnivariateSpline(X, y)(2.0),
        "brentq": lambda y: si.UnivariateSpline(X, y, s=0).roots(),
        "which finds one": lambda y: si.CubicSpline(X, y).roots(),
        "CubicHermiteSpline": lambda y: si.KroghInterpolator([0, 0, 1], y[:3])(2.0),
    }.items():
        with pytest.raises(UnsupportedError, match=words):
            sg.compile(f)(Y)


def test_beyond_is_nan() -> None:
    f = sg.compile(lambda y, q: si.UnivariateSpline(X, y, s=0, ext=2)(q))
    assert np.isnan(f(Y, Q)).tolist() == [True, False, False, False, True]
    f = sg.compile(lambda y, q: si.interp1d(X, y)(q))
    assert np.isnan(f(Y, Q)).tolist() == [True, False, False, False, True]
    g = sg.compile(lambda v, q: si.RegularGridInterpolator(AXES[:2], v)(q))
    assert np.isnan(g(GRID, ON_GRID + 9.0)).all()


#: What SciPy says of places that do not increase: FITPACK names nothing.
INCREASE = r"increasing|ascending|input data"

#: What takes places that increase, and its value at 0.5.
THROUGH: dict[str, Any] = {
    "CubicSpline": lambda x, y: si.CubicSpline(x, y)(0.5),
    "natural": lambda x, y: si.CubicSpline(x, y, bc_type="natural")(0.5),
    "CubicHermiteSpline": lambda x, y: si.CubicHermiteSpline(x, y, y)(0.5),
    "PchipInterpolator": lambda x, y: si.PchipInterpolator(x, y)(0.5),
    "Akima1DInterpolator": lambda x, y: si.Akima1DInterpolator(x, y)(0.5),
    "make_interp_spline": lambda x, y: si.make_interp_spline(x, y)(0.5),
    "make_interp_spline of known knots": lambda x, y: si.make_interp_spline(
        x, y, t=[0, 0, 0, 0, 2, 4, 4, 4, 4]
    )(0.5),
    "splrep": lambda x, y: si.splev(0.5, si.splrep(x, y)),
    "RegularGridInterpolator": lambda x, y: si.RegularGridInterpolator((x,), y)([0.5])[0],
    "RectBivariateSpline": lambda x, y: si.RectBivariateSpline(x, x, np.outer(y, y)).ev(0.5, 0.5),
    "InterpolatedUnivariateSpline": lambda x, y: si.InterpolatedUnivariateSpline(x, y)(0.5),
    "make_interp_spline, degree 0": lambda x, y: si.make_interp_spline(x, y, k=0)(0.5),
    "interpn, nearest": lambda x, y: si.interpn((x,), y, [0.5], "nearest", False, None)[0],
    "cumulative_simpson": lambda x, y: scipy.integrate.cumulative_simpson(y, x=x)[-1],
    "Slerp": lambda x, y: Slerp(x, Rotation.from_euler("z", y[:, None]))(0.5).as_quat()[2],
}


@pytest.mark.parametrize("name", THROUGH)
def test_places_that_do_not_increase_have_no_value(name: str) -> None:
    """They gave a number, where SciPy raises."""
    f, y = THROUGH[name], np.array([1.0, 2.0, 4.0, 3.0, 5.0])
    for places in ([0.0, 2.0, 1.0, 3.0, 4.0], [0.0, 1.0, 3.0, 2.0, 4.0]):
        with pytest.raises(ValueError, match=INCREASE):
            f(places, y)
        with pytest.raises(ValueError, match=INCREASE):
            sg.grad(lambda y, places=places: f(places, y))(y)
        assert np.isnan(sg.compile(f)(np.array(places), y))
    assert sg.compile(f)(np.arange(5.0), y) == pytest.approx(f(np.arange(5.0), y), rel=1e-10)


@pytest.mark.parametrize("ends", [[4.0, 3.0, 2.0, 1.0, 0.0], [0.0, 1.0, 3.0, 2.0, 4.0]])
@pytest.mark.parametrize("degree", [0, 1])
def test_pieces_that_do_not_go_up_have_no_value(ends: Any, degree: int) -> None:
    """SciPy goes through those that go down from behind; they were read as if they went up."""
    c = np.arange(8.0).reshape(2, 4)[: degree + 1]
    with pytest.raises(ValueError, match="increasing"):
        sg.compile(lambda c: si.PPoly(c, ends)(2.3))(c)
    assert np.isnan(sg.compile(lambda c, x: si.PPoly(c, x)(2.3))(c, np.array(ends)))


@pytest.mark.parametrize("shape", [(6, 6), (3, 6), (2, 6, 4)])
def test_axes_of_splines_made_outside(shape: Any) -> None:
    """Coefficients of B-splines were read along the wrong axis, without a word if they fitted."""
    rng = np.random.default_rng(0)
    x, y, q = np.linspace(0.0, 1.0, 6), rng.normal(size=shape), np.array([0.3, 0.6])
    knots = np.array([0.0, 0.0, 0.0, 0.2, 0.5, 0.7, 1.0, 1.0, 1.0])
    for spline in (
        si.make_interp_spline(x, y, axis=1), si.BSpline(knots, y, 2, axis=-len(shape) + 1),
        si.make_interp_spline(x, y, axis=1).derivative(), si.CubicSpline(x, y, axis=1),
        si.BSpline(knots, y, 2, axis=1).antiderivative(), si.interp1d(x, y, "cubic", axis=1),
        si.BarycentricInterpolator(x, y, 1), si.KroghInterpolator(x, y, 1),
    ):  # fmt: skip
        found = sg.compile(lambda q, spline=spline: spline(q))(q)
        np.testing.assert_allclose(found, spline(q), rtol=1e-9, atol=1e-10)
    parts = sg.compile(lambda y: si.BSpline(knots, y, 2, axis=1).tck)(y)
    np.testing.assert_allclose(parts[1], np.moveaxis(y, 1, 0))


def test_integrals_of_what_comes_again_or_ends() -> None:
    x, y = np.linspace(0.0, 1.0, 6), np.array([0.3, 1.0, -0.4, 0.8, 0.1, 0.3])
    t, k = si.make_interp_spline(x, y).t, 3
    for beyond in (True, False, "periodic"):
        for curve in (si.BSpline(t, y, k, beyond), si.CubicSpline(x, y, extrapolate=beyond)):
            for a, b in ((0.2, 0.7), (-1.3, 2.6), (2.6, -1.3)):
                f = lambda b, a=a, curve=curve: curve.integrate(a, b)  # noqa: E731
                np.testing.assert_allclose(sg.compile(f)(b), f(b), rtol=1e-10, atol=1e-12)
            for nu in (1, -1):
                f = lambda q, nu=nu, curve=curve: curve.antiderivative(nu)(q)  # noqa: E731
                np.testing.assert_allclose(sg.compile(f)(0.3), f(0.3), rtol=1e-10)
                beyond_ends = sg.compile(f)(1.3), f(1.3)
                np.testing.assert_allclose(*beyond_ends, rtol=1e-10)
    with pytest.raises(ValueError, match="must be <= order of spline"):
        sg.compile(lambda c: si.BSpline(t, c, k).derivative(4)(0.3))(y)
    assert sg.compile(lambda c: si.BSpline(t, c, k)(0.3, 4))(y) == 0.0


def test_powers_of_rotations() -> None:
    v = np.array([[0.3, -0.2, 0.5], [1.0, 0.1, 0.2]])
    f = lambda v: (Rotation.from_rotvec(v) ** 0.5).as_rotvec()  # noqa: E731
    np.testing.assert_allclose(sg.compile(f)(v), f(v), rtol=1e-12)
    with pytest.raises(AttributeError, match="traced values has no 'as_mrp'"):
        sg.compile(lambda v: Rotation.from_rotvec(v).as_mrp())(v)
    slerp = Slerp([0.0, 1.0], Rotation.from_rotvec(v))
    with pytest.raises(ValueError, match="at most 1-dimensional"):
        sg.compile(lambda t: slerp(t).as_rotvec())(np.ones((2, 2)))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_axes_of_pieces(axis: int) -> None:
    c, q = np.random.default_rng(0).normal(size=(3, 3, 3, 3)), np.array([0.3, 1.6])
    f = lambda c, q: si.PPoly(c, np.arange(4.0), axis=axis)(q)  # noqa: E731
    np.testing.assert_allclose(sg.compile(f)(c, q), f(c, q), rtol=1e-12)


def test_splines_made_of_numbers_inside_take_traced_places() -> None:
    x = np.linspace(0.0, 1.0, 12)
    y = np.sin(6 * x)
    for f in (
        lambda q: si.make_smoothing_spline(x, y, lam=0.01)(q),
        lambda q: si.make_smoothing_spline(np.linspace(0, 1, 12), list(y), lam=0.01)(q),
        lambda q: si.make_splrep(x, y, s=0.1).derivative()(q),
        lambda q: si.make_splprep([x, y], s=0.0)[0](q)[1],
    ):
        assert sg.compile(f)(0.3) == pytest.approx(float(f(0.3)), rel=1e-12)
        slope = (f(0.3 + 1e-5) - f(0.3 - 1e-5)) / 2e-5
        assert sg.grad(f)(0.3) == pytest.approx(float(slope), rel=1e-6)


def test_points_that_are_searched_are_numbers() -> None:
    for made in (scipy.spatial.KDTree, scipy.spatial.cKDTree):
        with pytest.raises(UnsupportedError, match="points that are searched are to be numbers"):
            sg.grad(lambda x, made=made: made(x).query(np.zeros(2))[0])(POINTS)
    with pytest.raises(UnsupportedError, match="points that are searched are to be numbers"):
        sg.grad(lambda x: np.sum(si.griddata(x, HEIGHTS, AT)))(POINTS)
    with pytest.raises(UnsupportedError, match="RBFInterpolator"):
        sg.grad(lambda v: np.sum(si.griddata(POINTS, v, AT, "cubic")))(HEIGHTS)


def test_a_spline_needs_knots_for_its_degree() -> None:
    """With fewer its recursion read others, and gave numbers."""
    for knots, k in (([0.0, 1.0, 2.0, 3.0, 4.0], 3), ([0.0, 1.0, 2.0], 1)):
        with pytest.raises(ValueError, match=f"Need at least {2 * k + 2} knots for degree {k}"):
            si.BSpline(knots, np.ones(3), k)
        with pytest.raises(ValueError, match=f"Need at least {2 * k + 2} knots for degree {k}"):
            sg.grad(lambda c, t=knots, k=k: si.BSpline(t, c, k)(0.5))(np.ones(3))


def test_radial_functions_need_points_for_their_degree() -> None:
    points = np.eye(3)

    def f(x: Any) -> Any:
        return si.RBFInterpolator(points, x)(x[np.newaxis])[0]

    for call in (f, sg.compile(f), sg.grad(f)):
        with pytest.raises(ValueError, match=r"At least 4 data points.*`degree` is 1.*is 3"):
            call(np.arange(3.0))


@pytest.mark.parametrize("ask", [
    lambda lib, x, y: lib.make_interp_spline(x, y),
    lambda lib, x, y: lib.make_interp_spline(x, y).c,
    lambda lib, x, y: lib.make_interp_spline(x, np.append(y[1:], y[1]), bc_type="periodic").c,
    lambda lib, x, y: lib.splev(1.5, lib.splrep(x, y)),
    lambda lib, x, y: lib.splev([1.5, 9.0], (x, y, 1), ext=1),
    lambda lib, x, y: lib.griddata((x, x**2 % 7), y, (1.5, 2.0), "cubic"),
    lambda lib, x, y: lib.griddata(x, y, [1.5], "cubic"),
    lambda lib, x, y: lib.splint(0.5, 1.5, lib.splrep(x, y)),
    lambda lib, x, y: lib.splint(0.5, 1.5, lib.splrep(x, y), full_output=1)[0],
])  # fmt: skip
def test_numbers_are_scipys(ask: Any) -> None:
    """With the import changed, plain numbers give SciPy's objects, and all of its options."""
    x = np.arange(6.0)
    found, want = (ask(lib, x, np.sin(x)) for lib in (sg.scipy.interpolate, si))
    assert type(found) is type(want)
    if not isinstance(want, si.BSpline):
        np.testing.assert_array_equal(found, want)


@pytest.mark.usefixtures("no_kernels")
def test_outside_of_a_table_nothing_is_known() -> None:
    """Values that are nan have no derivatives; those of a constant fill are 0."""
    x, y = np.linspace(0.0, 3.0, 7), np.sin(np.linspace(0.0, 3.0, 7))
    spline = si.make_interp_spline(x, y)
    spline.extrapolate = False
    cubic = si.CubicSpline(x, y, extrapolate=False)
    nan = {
        "cubic": cubic, "antiderivative": lambda b: cubic.integrate(0.0, b), "spline": spline,
        "akima": si.Akima1DInterpolator(x, y),
        "table": si.interp1d(x, y, bounds_error=False),
        "grid": lambda b: si.RegularGridInterpolator((x,), y, bounds_error=False)(
            np.stack([b])[None]
        )[0],
    }  # fmt: skip
    for name, f in nan.items():
        found = sg.value_and_grad(f)(3.2)
        assert np.isnan(found).all(), name
        inside = sg.grad(f)(3.0)
        assert np.isfinite(inside), name
        both = lambda b, f=f: np.nansum(np.stack([1.0 * f(b), 1.0 * f(b - 1.0)]))  # noqa: E731
        if name != "grid":
            np.testing.assert_allclose(sg.grad(both)(3.2), sg.grad(f)(2.2), rtol=1e-14)
    filled = si.interp1d(x, y, bounds_error=False, fill_value=7.0)
    assert sg.grad(filled)(3.2) == 0


# ---------------------------------------------------------------- surfaces


_POINTS = np.random.default_rng(5).random((60, 2)) * [3.0, 6.0] + 0.01
_HEIGHTS = np.sin(_POINTS[:, 0]) * np.cos(_POINTS[:, 1])
_COLUMN, _ROW = np.linspace(0.1, 3.0, 8), np.linspace(0.0, 6.0, 9)
_SURFACE = np.sin(_COLUMN)[:, None] * np.cos(_ROW) + 0.1 * _COLUMN[:, None]

SURFACES: dict[str, Callable[[], Any]] = {
    "smooth": lambda: si.SmoothBivariateSpline(*_POINTS.T, _HEIGHTS, s=0.5),
    "least squares": lambda: si.LSQBivariateSpline(*_POINTS.T, _HEIGHTS, [1.5], [3.0]),
    "grid, smooth": lambda: si.RectBivariateSpline(_COLUMN, _ROW, _SURFACE, s=0.2),
    "grid, wider": lambda: si.RectBivariateSpline(_COLUMN, _ROW, _SURFACE, bbox=[0, 4, -1, 7]),
    "sphere, smooth": lambda: si.SmoothSphereBivariateSpline(*_POINTS.T, _HEIGHTS, s=5.0),
    "sphere, least squares": lambda: si.LSQSphereBivariateSpline(
        *_POINTS.T, _HEIGHTS, [1.5], [3.0]
    ),
    "sphere, grid": lambda: si.RectSphereBivariateSpline(_COLUMN, _ROW, _SURFACE),
}


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("name", SURFACES)
def test_surfaces_through_data(name: str, inside: bool) -> None:
    """Values are SciPy's, and derivatives those of SciPy's own derivatives."""
    make, outside = SURFACES[name], SURFACES[name]()
    p = np.array([0.7, 2.3])

    def f(p: Any) -> Any:
        surface = make() if inside else outside
        return surface.ev(p[0], p[1]), surface(p[:1], p[1:])[0, 0]

    np.testing.assert_allclose(sg.compile(f)(p), f(p), rtol=1e-12)
    orders = ("dtheta", "dphi") if "sphere" in name else ("dx", "dy")
    want = [outside.ev(*p, **{k: 1}) for k in orders]
    for found in sg.jacobian(f)(p):
        np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12)


def test_integrals_and_partial_derivatives_of_surfaces() -> None:
    surface, p = SURFACES["grid, smooth"](), np.array([0.7, 2.3])
    f = lambda p: surface.integral(0.2, p[0], 1.0, p[1])  # noqa: E731
    np.testing.assert_allclose(sg.compile(f)(p), f(p), rtol=1e-12)
    beyond = np.array([5.0, 9.0])
    np.testing.assert_allclose(sg.compile(f)(beyond), f(beyond), rtol=1e-12)
    edge = [surface.integral(0.2, p[0] + d, 1.0, p[1]) for d in (1e-4, -1e-4)]
    np.testing.assert_allclose(sg.grad(f)(p)[0], (edge[0] - edge[1]) / 2e-4, rtol=1e-7)
    bent = lambda p: surface.partial_derivative(1, 2)(p[0], p[1], grid=False)  # noqa: E731
    np.testing.assert_allclose(sg.compile(bent)(p), bent(p), rtol=1e-10)
    np.testing.assert_allclose(sg.grad(bent)(p)[0], surface.ev(*p, dx=2, dy=2), rtol=1e-9)


def test_bisplev() -> None:
    x, y = (a.ravel() for a in np.meshgrid(_COLUMN, _ROW, indexing="ij"))
    tck = si.bisplrep(x, y, _SURFACE.ravel(), s=0.01)
    p = np.array([0.7, 2.3])
    for f in (
        lambda p: si.bisplev(p[0], p[1], tck),
        lambda p: si.bisplev(p, p[1], tck),
        lambda p: si.bisplev(p[0], p, tck, dx=1),
        lambda p: si.bisplev(p, p, tck, dy=2),
        lambda p: si.bisplev(p, p, si.bisplrep(x, y, _SURFACE.ravel(), s=0.01)),
    ):
        assert np.shape(sg.compile(f)(p)) == np.shape(f(p))
        np.testing.assert_allclose(sg.compile(f)(p), f(p), rtol=1e-10)
    slopes = sg.grad(lambda p: si.bisplev(p[0], p[1], tck))(p)
    want = [si.bisplev(*p, tck, dx=1), si.bisplev(*p, tck, dy=1)]
    np.testing.assert_allclose(slopes, want, rtol=1e-10)


def test_polynomials_in_bernsteins_basis() -> None:
    curve = si.BPoly.from_derivatives([0.0, 1.0, 3.0], [[0, 1], [1, 2], [0.5, -1]])
    x = np.array([0.2, 0.9, 2.5, 3.5])
    np.testing.assert_allclose(sg.compile(lambda x: curve(x))(x), curve(x), rtol=1e-13)
    found = sg.grad(lambda x: np.sum(curve(x)))(x)
    np.testing.assert_allclose(found, curve.derivative()(x), rtol=1e-12)


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (lambda z: si.SmoothBivariateSpline(*_POINTS.T, z).ev(1.0, 2.0), "fitted to numbers"),
        (lambda z: si.RectSphereBivariateSpline(_COLUMN, _ROW, z.reshape(8, 9)).ev(1.0, 2.0),
         "fitted to numbers"),
        (lambda z: si.RectBivariateSpline(_COLUMN, _ROW, z.reshape(8, 9), s=1).ev(1.0, 2.0),
         "s=0, where data are traced"),
        (lambda z: si.Rbf(*_POINTS.T, _HEIGHTS)(z[0], z[1]), "RBFInterpolator"),
    ],
)  # fmt: skip
def test_surfaces_that_are_refused(use: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        sg.grad(use)(np.resize(_HEIGHTS, 72))
