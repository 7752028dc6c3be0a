"""Objects of SciPy's with any options, made outside of the traced function or inside of it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate as si
import scipy.sparse as ss
import scipy.sparse.linalg
import scipy.spatial
import scipy.stats as st
from scipy.spatial.transform import Rotation, Slerp

import symgrad as sg
from symgrad.errors import SymgradError

RNG = np.random.Generator
BEYOND = (None, True, False, "periodic")

#: What is asked of a curve.
CURVES: tuple[Callable[[Any, Any], Any], ...] = (
    lambda curve, q: curve(q), lambda curve, q: curve(q, 1),
    lambda curve, q: curve.derivative()(q), lambda curve, q: curve.antiderivative()(q),
    lambda curve, q: curve.antiderivative(-1)(q),
    lambda curve, q: curve.integrate(np.ravel(q)[0] - 5.0, np.ravel(q)[-1] + 5.0),
)  # fmt: skip

#: What is asked of a sparse matrix, and of a rotation.
MATRICES: tuple[Callable[[Any, Any], Any], ...] = (
    lambda a, x: a @ x, lambda a, x: x @ a, lambda a, x: a.T @ x, lambda a, x: a.multiply(x) @ x,
    lambda a, x: a.tocsr()[1:3, :] @ x, lambda a, x: (a + a.T) @ x, lambda a, x: a * x[0],
    lambda a, x: a.diagonal() * x, lambda a, x: a.power(2) @ x,
    lambda a, x: scipy.sparse.linalg.spsolve(a.tocsc(), x),
    lambda a, x: ss.csr_array((a.tocsr().data * x[0], a.tocsr().indices, a.tocsr().indptr)) @ x,
)  # fmt: skip
ROTATIONS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda r, v: r.apply(v), lambda r, v: r.inv().apply(v, inverse=True),
    lambda r, v: (r * Rotation.from_rotvec(v)).as_rotvec(), lambda r, v: (r**0.5).apply(v),
    lambda r, v: (Rotation.from_rotvec(v) * r).as_euler("xyz"),
    lambda r, v: (Rotation.from_rotvec(v) * r.inv()).magnitude(),
)  # fmt: skip


def one_of(rng: RNG, *values: Any) -> Any:
    return values[rng.integers(len(values))]


def points(rng: RNG) -> tuple[Any, Any, int]:
    """Return increasing places, values along an axis, and the axis."""
    n, shape = int(rng.integers(2, 8)), list(rng.integers(1, 4, rng.integers(1, 4)))
    axis = int(rng.integers(len(shape)))
    shape = [n if k == axis or rng.random() < 0.3 else int(m) for k, m in enumerate(shape)]
    y = rng.normal(size=shape)
    y = np.asfortranarray(np.round(3 * y)) if rng.random() < 0.2 else y
    x = np.cumsum(0.1 + rng.random(n)) - 1
    return x, y, axis - len(shape) * int(rng.integers(2))


Made = tuple[str, Callable[[], Any], Callable[[Any, Any], Any], Any]


def curve(rng: RNG) -> Made:
    """Return a name, what makes a curve through points, what is asked of it, and where."""
    (x, y, axis), beyond, k = points(rng), one_of(rng, *BEYOND), int(rng.integers(1, 6))
    ends = one_of(rng, "not-a-knot", "natural", "clamped")
    knots = np.sort(rng.uniform(-1, 2, len(x) + min(k, 3) + 1))
    c, kind = np.moveaxis(y, axis, 0), one_of(rng, "linear", "nearest", "zero", "cubic", "next", 2)
    name, make = one_of(
        rng,
        (f"CubicSpline {ends}", lambda: si.CubicSpline(x, y, axis, ends, beyond)),
        ("PchipInterpolator", lambda: si.PchipInterpolator(x, y, axis, beyond)),
        ("Akima", lambda: si.Akima1DInterpolator(x, y, axis, method="makima", extrapolate=beyond)),
        ("CubicHermiteSpline", lambda: si.CubicHermiteSpline(x, y, y[::-1], axis, beyond)),
        (f"make_interp_spline {k}", lambda: si.make_interp_spline(x, y, k, axis=axis)),
        ("BSpline", lambda: si.BSpline(knots, y, min(k, 3), beyond is not False and beyond, axis)),
        ("PPoly", lambda: si.PPoly(np.stack([c, 2 * c[::-1]])[:, 1:], x, beyond)),
        ("smoothing", lambda: si.make_smoothing_spline(x, y.ravel(), lam=0.1)),
        (f"interp1d {kind}", lambda: si.interp1d(x, y, kind, axis, False, False, 0.3)),
        ("Barycentric", lambda: si.BarycentricInterpolator(x, y, axis)),
        ("Krogh", lambda: si.KroghInterpolator(x, y, axis)),
    )
    ask = int(rng.integers(len(CURVES))) if len(name.split()) < 3 else 0
    plain = name.startswith(("interp1d", "Bary", "Krogh"))
    q = rng.uniform(x[0] - 0.5, x[-1] + 0.5, (2, 3)[: rng.integers(3)])
    said = f"{name}, axis {axis} of {y.shape}, {beyond=}, ask {ask}"
    return said, make, CURVES[0 if plain else ask], q


def field(rng: RNG) -> Made:
    """Return the same of an interpolant in several dimensions, or a density."""
    grid = tuple(np.cumsum(0.1 + rng.random(n)) for n in rng.integers(4, 7, 2))
    v, near = rng.normal(size=(*map(len, grid), 2)), rng.random((9, 2))
    fill, back = one_of(rng, 0.3, None), bool(rng.integers(2))
    turned, method = [g[::-1] if back else g for g in grid], one_of(rng, "linear", "cubic")
    kernel = one_of(rng, "linear", "cubic", "gaussian", "thin_plate_spline")
    values, cov = v.reshape(-1, 2)[:9], np.cov(near.T) + np.eye(2)
    df, weights = one_of(rng, 2.5, np.inf), one_of(rng, None, near[:, 0])
    degrees, grids = rng.integers(1, 4, 2), bool(rng.integers(2))
    evaluated: Callable[[Any, Any], Any] = lambda f, q: f(q)  # noqa: E731
    density: Callable[[Any, Any], Any] = lambda f, q: f.logpdf(q)  # noqa: E731
    name, make, ask = one_of(
        rng,
        (f"grid {method}", lambda: si.RegularGridInterpolator(
            turned, v, method, False, fill), evaluated),
        (f"radial {kernel}", lambda: si.RBFInterpolator(near, values, kernel=kernel, epsilon=1.3),
         evaluated),
        ("nearest", lambda: si.NearestNDInterpolator(near, values), evaluated),
        ("linear", lambda: si.LinearNDInterpolator(near, values, 0.3, True), evaluated),
        ("tree", lambda: scipy.spatial.KDTree(near), lambda f, q: f.query(q, [2, 1])[0]),
        (f"bivariate {degrees} {grids}", lambda: si.RectBivariateSpline(
            *grid, v[..., 0], kx=degrees[0], ky=degrees[1]),
         lambda f, q: f(np.sort(q[:, 0]), np.sort(q[:, 1]), grid=grids)),
        ("gaussian_kde", lambda: st.gaussian_kde(near.T, 0.4, weights), lambda f, q: f(q.T)),
        ("multivariate_normal", lambda: st.multivariate_normal(near[0], cov), density),
        (f"multivariate_t {df}", lambda: st.multivariate_t(near[0], cov, df), density),
        ("norm", lambda: st.norm(near[:4, 0], scale=near[:4, :1]), lambda f, q: f.cdf(q[0, 0])),
    )  # fmt: skip
    return name, make, ask, 1.2 * rng.random((4, 2))


def matrix(rng: RNG) -> Made:
    """Return the same of a sparse matrix, factors or rotations."""
    form = one_of(rng, "csr", "csc", "coo", "dia", "lil", "dok")
    kind, ask = one_of(rng, "array", "matrix"), int(rng.integers(len(MATRICES)))
    a = ss.random_array((5, 5), density=0.4, rng=rng) + 3 * ss.eye_array(5)
    v, trans, turn = rng.normal(size=(3, 3)), one_of(rng, "N", "T"), int(rng.integers(6))
    single, times = bool(rng.integers(2)), rng.uniform(0, 2, 4)
    name, make, asked, q = one_of(
        rng,
        (f"{form}_{kind}, ask {ask}", lambda: getattr(ss, f"{form}_{kind}")(a), MATRICES[ask], 5),
        (f"splu {trans}", lambda: scipy.sparse.linalg.splu(a.tocsc()),
         lambda f, x: f.solve(x, trans), 5),
        (f"Rotation, ask {turn}, {single=}", lambda: Rotation.from_rotvec(v[0] if single else v),
         ROTATIONS[turn], 3),
        ("Slerp", lambda: Slerp([0.0, 0.7, 2.0], Rotation.from_rotvec(v)),
         lambda f, x: f(times + 1e-3 * np.tanh(x)).as_rotvec(), 4),
    )  # fmt: skip
    return name, make, asked, rng.normal(size=q)


def dense(found: Any) -> Any:
    return found.toarray() if hasattr(found, "toarray") else found


def numbers(found: Any) -> Any:
    return np.asarray(dense(found))


@pytest.mark.attack(quick=90, whole=6_000, part=500, judge="SciPy; differences of its values")
def test_scipy_objects(attack: Any) -> None:
    """Objects of SciPy's with any options, made outside of the traced function or inside."""
    for case in attack:
        with case, sg.backend("numpy"), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            said, make, ask, q = one_of(case.rng, curve, curve, field, matrix)(case.rng)
            outside = bool(case.rng.integers(2))
            try:
                made = make()
                plain: Any = functools.partial(ask, made)
                want = numbers(plain(q))
            except Exception:  # noqa: BLE001  # what SciPy does not take
                case.tally("not judged")
                continue
            f = plain if outside else lambda q, ask=ask, make=make: ask(make(), q)
            try:
                found = numbers(sg.compile(f)(q))
            except SymgradError:
                case.tally("refused")
                continue
            assert found.shape == want.shape, f"{said}: {found.shape}, SciPy: {want.shape}"
            size = max(1.0, float(np.max(np.abs(want), initial=0, where=np.isfinite(want))))
            # SciPy itself iterates to a tolerance for cubic grids.
            rtol = 1e-3 if said == "grid cubic" else 1e-6
            np.testing.assert_allclose(found, want, rtol, rtol * size / 10, err_msg=said)
            if not np.isfinite(want).all():
                continue
            weights, way = case.rng.normal(size=want.shape), case.rng.normal(size=q.shape)
            slope = np.sum(sg.grad(lambda q, f=f, w=weights: np.sum(dense(f(q)) * w))(q) * way)
            step, near = (
                np.sum(numbers(plain(q + h * way) - plain(q - h * way)) * weights) / (2 * h)
                for h in (1e-5, 2e-6)
            )
            if abs(step - near) < 1e-4 * size * (1 + abs(step)):  # else there is a kink between
                assert abs(slope - near) < 1e-3 * size * (1 + abs(near)), (said, slope, near)
