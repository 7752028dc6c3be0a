"""Linear algebra and sorting: kernels, rules to second order, conventions, failures."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.linalg

import symgrad as sg
from symgrad.errors import ShapeError, UnsupportedError
from symgrad.scipy import linalg
from tests.shared import definite, well

pytestmark = pytest.mark.usefixtures("few_kernels")

rng = np.random.default_rng(21)
r = rng.standard_normal


# ---------------------------------------------------------------- the functions


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "solve": (np.linalg.solve, (well(3, 3), r((3, 2)))),
    "solve a vector": (np.linalg.solve, (well(3, 3), r(3))),
    "inv": (np.linalg.inv, (well(3, 3),)),
    "det": (np.linalg.det, (well(3, 3),)),
    "slogdet": (lambda a: np.linalg.slogdet(a)[1], (well(3, 3),)),
    "matrix_power": (lambda a: np.linalg.matrix_power(a, -2), (well(2, 2),)),
    "cholesky": (np.linalg.cholesky, (definite(3),)),
    "qr": (lambda a: np.concatenate(tuple(np.linalg.qr(a))), (r((4, 3)),)),
    "qr of a wide one": (lambda a: np.linalg.qr(a)[1], (r((2, 3)),)),
    "eigvalsh": (np.linalg.eigvalsh, (definite(3),)),
    "eigh": (lambda a: np.abs(np.linalg.eigh(a)[1]), (definite(3),)),
    "singular values": (lambda a: np.linalg.svd(a, compute_uv=False), (r((3, 2)),)),
    "svd": (lambda a: np.abs(np.linalg.svd(a, full_matrices=False)[2]), (r((2, 3)),)),
    "pinv": (np.linalg.pinv, (well(3, 2),)),
    "lstsq": (lambda a, b: np.linalg.lstsq(a, b)[0], (well(4, 2), r(4))),
    "lstsq of lower rank": (
        lambda a, b: np.linalg.lstsq(np.stack([a, 2 * a]), b, -1)[0], (r(3), r(2))
    ),
    "norm 2": (lambda a: np.linalg.norm(a, 2), (r((3, 2)),)),
    "nuclear norm": (lambda a: np.linalg.norm(a, "nuc"), (r((3, 2)),)),
    "cond": (np.linalg.cond, (np.diag([1.0, 3.0]) + 0.1 * r((2, 2)),)),
    "expm": (linalg.expm, (0.5 * r((2, 2)),)),
    "solve_triangular": (lambda a, b: linalg.solve_triangular(a, b, lower=True),
                         (well(3, 3), r((3, 2)))),
    "cho_solve": (lambda a, b: linalg.cho_solve(linalg.cho_factor(a), b), (definite(2), r(2))),
}  # fmt: skip


def differences(f: Callable[..., Any], args: Any, k: int) -> Any:
    """Central differences of a scalar function by one argument, as accurate as they can be."""
    slope = np.zeros_like(args[k])
    for place in np.ndindex(slope.shape):
        h = 1e-5
        values = []
        for s in (h, -h, 2 * h, -2 * h):
            moved = [np.array(a) for a in args]
            moved[k][place] += s
            values.append(f(*moved))
        slope[place] = (8 * (values[0] - values[1]) - (values[2] - values[3])) / (12 * h)
    return slope


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_two_orders_of_derivatives(name: str) -> None:
    """The gradient against differences of NumPy, the second order against those of the first."""
    function, args = FUNCTIONS[name]
    weights = r(np.shape(function(*args)))

    def loss(*xs: Any) -> Any:
        return np.sum(weights * function(*xs))

    part = 0.5 if name in ("cholesky", "eigvalsh", "eigh", "cho_solve") else None
    for k in range(len(args)):
        gradient = sg.grad(loss, argnums=k)
        found, want = gradient(*args), differences(loss, args, k)
        direction = r(args[k].shape)
        if part and k == 0:
            want, direction = 0.5 * (want + want.T), 0.5 * (direction + direction.T)
        np.testing.assert_allclose(found, want, rtol=1e-7, atol=1e-8)

        def along(x: Any, k: int = k, gradient: Any = gradient, direction: Any = direction) -> Any:
            return np.sum(gradient(*args[:k], x, *args[k + 1 :]) * direction)

        h = 1e-5
        ahead, behind = (
            gradient(*args[:k], args[k] + s * direction, *args[k + 1 :]) for s in (h, -h)
        )
        np.testing.assert_allclose(
            sg.grad(along)(args[k]), (ahead - behind) / (2 * h), rtol=1e-6, atol=1e-7
        )


def test_solution_is_as_accurate_as_lapack() -> None:
    a, b = well(5, 5), r(5)
    exact = mpmath.lu_solve(mpmath.matrix(a.tolist()), mpmath.matrix(b.tolist()))
    np.testing.assert_allclose(sg.compile(np.linalg.solve)(a, b), [float(v) for v in exact],
                               rtol=1e-13)  # fmt: skip


def test_one_factorisation_serves_value_and_derivatives() -> None:
    def f(a: Any, b: Any) -> Any:
        return np.sum(np.linalg.solve(a, b)) + np.linalg.slogdet(a)[1]

    program = sg.value_and_grad(f, argnums=(0, 1)).program(well(3, 3), r(3))
    names = [step.op.name for step in program.steps]
    assert names.count("LU") == 1
    a = well(3, 3)
    second = sg.hessian(lambda b: f(a, b) ** 2).program(r(3))
    assert [step.op.name for step in second.steps].count("LU") <= 1


def test_one_compilation_for_all_sizes() -> None:
    compiled = sg.grad(lambda a, b: np.sum(np.linalg.solve(a, b) ** 2))
    for n in (20, 25, 31):  # short axes have kernels of their own
        a, b = well(n, n), r(n)
        x = np.linalg.solve(a, b)
        want = -np.outer(np.linalg.solve(a.T, 2 * x), x)
        np.testing.assert_allclose(compiled(a, b), want, rtol=1e-8)
    assert compiled.traces == 1


def test_vmap_over_right_hand_sides_keeps_one_matrix() -> None:
    a, b = well(3, 3), r((5, 3))
    solve = sg.vmap(np.linalg.solve, in_axes=(None, 0))
    np.testing.assert_allclose(solve(a, b), np.linalg.solve(a, b.T).T, rtol=1e-12)
    [step] = [s for s in solve.program(a, b).steps if s.op.name == "LU"]
    assert step.ndim == 2


@pytest.mark.parametrize("backend", ["kernel", "numpy"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
def test_many_right_hand_sides_of_any_size(dtype: str, backend: str) -> None:
    """They go to BLAS one, some or all at a time; rows of the matrices have to be exchanged."""

    def draw(*shape: int) -> Any:
        return (r(shape) + (1j * r(shape) if dtype == "c16" else 0)).astype(dtype)

    def both(a: Any, t: Any, b: Any) -> Any:
        return np.linalg.solve(a, b), np.linalg.solve(a.T, b), linalg.solve_triangular(t, b)

    solve = sg.compile(both) if backend == "kernel" else sg.compile(both, backend=backend)
    for n, k in ((4, 1), (4, 300), (5, 203), (32, 41), (64, 64), (90, 90), (301, 3)):
        a, t, b = draw(n, n), draw(n, n) + 9 * n**0.5 * np.eye(n, dtype=dtype), draw(n, k)
        for matrix, x in zip((a, a.T, np.triu(t)), solve(a, t, b), strict=True):
            scale = n * np.max(np.abs(matrix)) * np.max(np.abs(x))
            assert x.dtype == b.dtype
            assert np.max(np.abs(matrix @ x - b)) < 30 * np.finfo(dtype).eps * scale


# ---------------------------------------------------------------- conventions


def test_symmetric_matrices_have_symmetric_gradients() -> None:
    for function in (np.linalg.cholesky, np.linalg.eigvalsh):
        weights = r(np.shape(function(definite(3))))
        found = sg.grad(lambda a, f=function, w=weights: np.sum(w * f(a)))(definite(3))
        np.testing.assert_allclose(found, found.T, rtol=1e-14)


def test_equal_eigenvalues() -> None:
    """Sums of functions of eigenvalues are smooth where eigenvalues meet."""
    for function in (np.linalg.eigvalsh, lambda a: np.linalg.svd(a, compute_uv=False)):
        found = sg.grad(lambda a, f=function: np.sum(f(a) ** 2))(2 * np.eye(3))
        np.testing.assert_allclose(found, 4 * np.eye(3), atol=1e-14)


def test_singular_matrices_give_no_numbers_and_no_error() -> None:
    a = np.array([[1.0, 2.0], [2.0, 4.0]])
    assert not np.any(np.isfinite(sg.compile(np.linalg.inv)(a)))
    assert sg.compile(np.linalg.det)(a) == 0
    sign, logarithm = sg.compile(lambda a: tuple(np.linalg.slogdet(a)))(a)
    assert (sign, logarithm) == (0.0, -np.inf)
    both = sg.compile(np.linalg.solve)(np.stack([a, np.eye(2)]), np.ones((2, 2, 1)))
    np.testing.assert_array_equal(both[1], np.ones((2, 1)))
    assert np.all(np.isnan(sg.compile(np.linalg.cholesky)(-np.eye(2))))


def test_only_one_triangle_is_read() -> None:
    a = definite(3)
    noisy = a + np.triu(np.ones((3, 3)), 1)
    for function in (np.linalg.cholesky, np.linalg.eigvalsh):
        np.testing.assert_allclose(sg.compile(function)(noisy), function(a), rtol=1e-12)
    upper = sg.compile(lambda a: np.linalg.eigvalsh(a, UPLO="U"))
    np.testing.assert_allclose(upper(noisy.T), np.linalg.eigvalsh(a), rtol=1e-12)


@pytest.mark.parametrize("shape", [(2, 1), (4, 2), (3, 2), (5, 3), (2, 4, 2), (3, 3), (2, 3)])
@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.quick(2)
def test_complete_factors_turn_as_householders_reflections_do(shape: Any, kind: type) -> None:
    """Also the columns that R does not use: NumPy's own differences are the judge."""

    def factors(a: Any) -> Any:
        return tuple(np.linalg.qr(a, mode="complete"))

    a, t = (r(shape) + (1j * r(shape) if kind is complex else 0) for _ in range(2))
    values, changes = sg.jvp(factors, (a,), (t,))
    h = 1e-6
    ahead, back = factors(a + h * t), factors(a - h * t)
    for value, right, change, more, less in zip(
        values, factors(a), changes, ahead, back, strict=True
    ):
        np.testing.assert_allclose(value, right, atol=1e-13)
        np.testing.assert_allclose(change, (more - less) / (2 * h), atol=1e-7)
    weights = [r(value.shape) for value in values]

    def total(a: Any) -> Any:
        return sum(np.sum(w * x.real) for w, x in zip(weights, factors(a), strict=True))

    along = sum(np.sum(w * x.real) for w, x in zip(weights, changes, strict=True))
    np.testing.assert_allclose(np.sum(sg.grad(total)(a) * t).real, along, rtol=1e-9, atol=1e-9)


def test_complete_factors_where_a_column_has_nothing_to_reflect() -> None:
    """LAPACK leaves such a column as it is, and changes its sign beside it."""
    a = np.array([[2.0, 1.0], [0.0, 3.0], [0.0, 4.0], [0.0, 0.0]])
    q, _ = sg.compile(lambda a: tuple(np.linalg.qr(a, mode="complete")))(a)
    np.testing.assert_allclose(q, np.linalg.qr(a, mode="complete")[0], atol=1e-15)
    complete = sg.grad(lambda a: np.sum(np.linalg.qr(a, mode="complete")[0] ** 3))
    assert np.all(np.isnan(complete(a)))
    used = sg.grad(lambda a: np.sum(np.linalg.qr(a, mode="complete")[0][:, :2] ** 3))
    np.testing.assert_allclose(used(a), sg.grad(lambda a: np.sum(np.linalg.qr(a)[0] ** 3))(a))


@pytest.mark.parametrize(
    ("function", "error", "match"),
    [
        (lambda a: np.linalg.solve(a[:2], a[0]), ShapeError, "square matrix"),
        (lambda a: np.linalg.solve(a, a[:2, 0]), ShapeError, "do not fit"),
        (lambda a: np.linalg.inv(a[0]), ShapeError, "needs a matrix"),
        (lambda a: np.linalg.qr(a, mode="raw"), UnsupportedError, "mode='reduced'"),
        (lambda a: linalg.qr(a, mode="raw"), UnsupportedError, "mode='reduced'"),
        (lambda a: linalg.eig(a, left=True), UnsupportedError, "left eigenvectors"),
    ],
)
def test_refused(function: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        sg.compile(function)(well(3, 3))


# ---------------------------------------------------------------- the exponential


def exponentials() -> Iterator[Any]:
    yield np.zeros((3, 3))
    yield 1e-9 * r((2, 2))
    yield 30 * r((3, 3))
    yield np.array([[0.0, 1e3], [0.0, 0.0]])


def test_exponential() -> None:
    compiled = sg.compile(linalg.expm)
    for a in exponentials():
        np.testing.assert_allclose(compiled(a), scipy.linalg.expm(a), rtol=1e-9, atol=1e-13)
    assert np.all(np.isnan(compiled(1e7 * np.eye(2))))
    many = np.stack([s * r((3, 3)) for s in (0.1, 1.0, 20.0, 5.0)])
    np.testing.assert_allclose(compiled(many), scipy.linalg.expm(many), rtol=1e-9)
    each = sg.grad(lambda a: linalg.expm(a)[0, 1])
    np.testing.assert_allclose(sg.vmap(each)(many), [each(a) for a in many], rtol=1e-11)


def test_the_squarings_of_an_exponential_are_a_loop() -> None:
    """Written out, sixteen squarings took most of a minute to compile where a model has six."""
    g = sg.grad(lambda a: np.sum(linalg.expm(a)))
    assert len(str(g.program(r((3, 3)))).splitlines()) < 200


# ---------------------------------------------------------------- sorting


def test_sorting_is_numpys() -> None:
    compiled = sg.compile(lambda x: (np.sort(x), np.argsort(x)))
    for n in (0, 1, 2, 3, 17, 64, 100):
        for dtype in ("f8", "f4", "i8", "u2", "?"):
            x = np.abs(10 * r(n)).astype(dtype)
            ordered, order = compiled(x)
            np.testing.assert_array_equal(ordered, np.sort(x))
            np.testing.assert_array_equal(order, np.argsort(x, kind="stable"))


def test_derivative_of_what_is_sorted() -> None:
    x = np.array([3.0, 1.0, 2.0, 1.0])
    weights = np.array([1.0, 10.0, 100.0, 1000.0])
    found = sg.grad(lambda x: np.sum(weights * np.sort(x)))(x)
    np.testing.assert_array_equal(found, [1000.0, 1.0, 100.0, 10.0])
    np.testing.assert_array_equal(sg.grad(np.median)(x), [0.0, 0.0, 0.5, 0.5])


@pytest.mark.parametrize("middle", [np.median, np.nanmedian])
def test_median_of_infinities_and_large_numbers(middle: Any) -> None:
    inf = np.inf
    for row in ([-inf, 0.0], [inf, inf], [-inf, -inf, 1.0, 2.0], [-1.7e308, 1.7e308], [-inf, inf]):
        x = np.array(row)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(sg.compile(middle)(x), middle(x))
    np.testing.assert_array_equal(sg.grad(middle)(np.array([0.0, -inf])), [0.5, 0.5])


def test_interpolation_at_the_points_of_the_table() -> None:
    xp, fp = np.array([0.0, 1.0, 3.0]), np.array([2.0, 4.0, 0.0])
    np.testing.assert_array_equal(sg.compile(np.interp)(xp, xp, fp), fp)
    slopes = sg.grad(lambda x: np.sum(np.interp(x, xp, fp)))(np.array([0.0, 1.0, 2.0, 4.0]))
    np.testing.assert_array_equal(slopes, [2.0, -2.0, -2.0, 0.0])


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_the_determinant_of_no_rows_is_one(dtype: str) -> None:
    x = np.zeros((0, 0), dtype)
    for f in (np.linalg.det, lambda a: np.linalg.slogdet(a)[0], lambda a: np.linalg.slogdet(a)[1]):
        got = sg.compile(f)(x)
        assert got == f(x)
        assert got.dtype == f(x).dtype


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (2, 3, 0)])
@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_the_pseudo_inverse_of_no_numbers(shape: tuple[int, ...], dtype: str) -> None:
    x = np.zeros(shape, dtype)
    got, want = sg.compile(np.linalg.pinv)(x), np.linalg.pinv(x)
    assert got.shape == want.shape
    assert got.dtype == want.dtype


#: Functions of matrices without elements that have values in NumPy.
OF_NOTHING: dict[str, Callable[[Any], Any]] = {
    "norm 2": lambda a: np.linalg.norm(a, 2, axis=(-2, -1)),
    "nuclear norm": lambda a: np.linalg.norm(a, "nuc", axis=(-2, -1)),
    "norm 1": lambda a: np.linalg.norm(np.swapaxes(a, -1, -2) @ a, 1, axis=(-2, -1)),
    "norm inf": lambda a: np.linalg.norm(np.swapaxes(a, -1, -2) @ a, np.inf, axis=(-2, -1)),
    "vector norm inf": lambda a: np.linalg.vector_norm(a, ord=np.inf, axis=-1),
    "lstsq": lambda a: np.linalg.lstsq(a, np.ones(a.shape[-2]), rcond=None)[0],
    "singular values": lambda a: np.linalg.lstsq(a, np.ones(a.shape[-2]), rcond=None)[3],
    "svd": lambda a: np.linalg.svd(a, full_matrices=False)[2], "qr": lambda a: np.linalg.qr(a)[1],
    "pinv": np.linalg.pinv, "fro": np.linalg.norm,
    "eigvals": lambda a: np.linalg.eigvals(np.swapaxes(a, -1, -2) @ a).real,
    "inv": lambda a: np.linalg.inv(a @ np.swapaxes(a, -1, -2) + np.eye(a.shape[-2])),
    "sort": lambda a: np.sort(a, axis=0), "unwrap": lambda a: np.unwrap(a, axis=0),
    "mean": lambda a: np.mean(a), "median": lambda a: np.median(a), "diff": np.diff,
    "cov": lambda a: np.cov(a[:0, :0].ravel()), "einsum": lambda a: np.einsum("ij,ij", a, a),
    "cumsum": lambda a: np.cumsum(a, axis=0), "pad": lambda a: np.pad(a, 1), "prod": np.prod,
}  # fmt: skip


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
@pytest.mark.parametrize("name", OF_NOTHING)
def test_values_and_gradients_of_nothing(name: str, shape: tuple[int, ...]) -> None:
    f, x = OF_NOTHING[name], np.zeros(shape)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            want = f(x)
        except ValueError:  # NumPy has no value for it either
            if "norm" in name:
                pytest.skip("norms of nothing are 0 here as in later versions of NumPy")
            with pytest.raises(ShapeError):
                sg.compile(lambda x: f(x))(x)
            return
        got = sg.compile(lambda x: f(x))(x)
        np.testing.assert_array_equal(got, want)
        assert np.shape(got) == np.shape(want)
        assert sg.grad(lambda x: np.sum(f(x)))(x).shape == shape


def test_edges_of_nothing_cannot_be_repeated() -> None:
    with pytest.raises(ShapeError, match="only mode='constant' can extend it"):
        sg.compile(lambda x: np.pad(x, 1, mode="edge"))(np.zeros(0))


def homography(p: Any) -> Any:
    """The direct linear transform of four points: what the last row of V spans."""
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    rows = []
    for (x, y), (u, v) in zip(corners, p, strict=True):
        rows.append([-x, -y, -1.0, 0.0, 0.0, 0.0, u * x, u * y, u])
        rows.append([0.0, 0.0, 0.0, -x, -y, -1.0, v * x, v * y, v])
    h = np.linalg.svd(np.array(rows))[2][-1].reshape(3, 3)
    return h / h[2, 2]


def test_what_full_singular_vectors_span() -> None:
    p = np.array([[0.1, 0.0], [1.2, 0.1], [1.0, 1.3], [-0.1, 1.0]])
    t, h = np.random.default_rng(0).normal(size=p.shape), 1e-6
    want = (homography(p + h * t) - homography(p - h * t)) / (2 * h)
    np.testing.assert_allclose(np.tensordot(sg.jacobian(homography)(p), t), want, atol=1e-8)
    np.testing.assert_allclose(sg.jvp(homography, (p,), (t,))[1], want, atol=1e-8)


@pytest.mark.parametrize("shape", [(8, 9), (10, 9), (2, 5), (5, 2), (1, 3), (3, 1), (2, 3, 5)])
@pytest.mark.parametrize("unit", [1.0, 1.0 + 0.5j])
def test_full_singular_vectors(shape: tuple[int, ...], unit: Any) -> None:
    rng = np.random.default_rng(sum(shape))
    a, t = (rng.normal(size=shape) * unit for _ in range(2))
    for function in (np.linalg.svd, linalg.svd) if len(shape) == 2 else (np.linalg.svd,):
        for found, want in zip(sg.compile(lambda a, f=function: tuple(f(a)))(a), function(a),
                               strict=True):  # fmt: skip
            assert (found.shape, found.dtype) == (want.shape, want.dtype)
            np.testing.assert_allclose(found, want, atol=1e-13)
    m, n = shape[-2:]
    left, right = rng.normal(size=(m, m)), rng.normal(size=(n, n))

    def spaces(a: Any) -> Any:
        u, s, vh = np.linalg.svd(a)
        u, vh = u[..., min(m, n) :], vh[..., min(m, n) :, :]
        outside = np.real(u @ np.conj(np.swapaxes(u, -1, -2)))
        kernel = np.real(np.conj(np.swapaxes(vh, -1, -2)) @ vh)
        return np.sum(left * outside) + np.sum(right * kernel) + np.sum(s**2)

    want = (spaces(a + 1e-6 * t) - spaces(a - 1e-6 * t)) / 2e-6
    assert np.sum(sg.grad(spaces)(a) * t).real == pytest.approx(want, rel=1e-6, abs=1e-8)
    assert sg.jvp(spaces, (a,), (t,))[1] == pytest.approx(want, rel=1e-6, abs=1e-8)


def test_full_singular_vectors_are_verified() -> None:
    """Those of the values; what spans the rest is not determined."""
    a = r((2, 3))
    with sg.backend("numpy"):
        assert sg.verify(lambda a: np.linalg.svd(a)[2][:2], a).max_ulp < 1e4
        with pytest.raises(UnsupportedError, match="is not determined"):
            sg.verify(lambda a: np.linalg.svd(a)[2], a)


def test_singular_values_that_are_equal_up_to_rounding() -> None:
    """The closest rotation (Kabsch) of a multiple of one: 1/(s[j] - s[i]) was all rounding."""
    turn, _ = np.linalg.qr(np.random.default_rng(4).normal(size=(3, 3)))
    w = np.arange(9.0).reshape(3, 3)

    def f(m: Any) -> Any:
        u, _, vh = np.linalg.svd(m)
        return np.sum(w * (u @ vh))

    for size in (0.1, 1.0, 3.0, 0.7):
        e = np.random.default_rng(5).normal(size=(3, 3)) * 1e-6
        slope = np.sum(sg.grad(f)(size * turn) * e)
        want = (f(size * turn + e) - f(size * turn - e)) / 2
        assert slope == pytest.approx(want, rel=1e-6)
        assert sg.jvp(f, (size * turn,), (e,))[1] == pytest.approx(want, rel=1e-6)
