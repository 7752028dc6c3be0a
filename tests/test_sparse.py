"""Sparse Jacobians and Hessians: values and patterns against the dense ones."""

import itertools
import pickle
import tracemalloc
from types import FunctionType

import numba
import numpy as np
import pytest
import scipy.sparse as sps

import symgrad as sg
from symgrad._core.op import registry
from symgrad._core.trace import flatten
from symgrad.errors import (
    ArgumentError,
    OutOfMemoryError,
    ShapeError,
    SparsityWarning,
    VerificationError,
)
from tests.samples import samples_of
from tests.shared import called, of_arrays


@pytest.fixture
def rng():
    return np.random.default_rng(7)


A = np.arange(12.0).reshape(3, 4) + 1.0


def stencil(x):
    inner = x[2:] - 2.0 * x[1:-1] + x[:-2]
    return np.concatenate([x[:1] * 2.0, inner * np.sin(x[1:-1]), x[-1:] ** 2])


def written(x):
    out = np.zeros_like(x)
    out[1:-1] = x[2:] * x[:-2]
    out[0] = x[1] ** 2
    return out


def last(x):
    out = np.concatenate([x, x])
    out[-1] = x[0] ** 2
    return out.reshape(-1, 2).T


def laplacian(u):
    v = np.pad(u, 1)
    return v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2] - 4.0 * u + u**3


def brusselator(y):
    u, v = y.reshape(2, -1)
    lap = lambda w, edge: np.concatenate([[edge], w[:-1]]) - 2 * w + np.concatenate([w[1:], [edge]])  # noqa: E731
    return np.concatenate([
        1.0 + u * u * v - 4.0 * u + 0.02 * lap(u, 1.0), 3.0 * u - u * u * v + 0.02 * lap(v, 3.0)
    ])  # fmt: skip


VECTORS = {
    "map": lambda x: np.sin(x) * x,
    "neighbours": lambda x: x[1:] * x[:-1],
    "stencil": stencil,
    "written": written,
    "last written": last,
    "brusselator": brusselator,
    "reversed": lambda x: x[::-1] * x,
    "strided": lambda x: x[::2] - x[1::2],
    "every third": lambda x: np.concatenate([x, x])[1::3],
    "outer": lambda x: np.outer(x, x),
    "rolled": lambda x: np.roll(x, 1) * x**2,
    "rows": lambda x: np.sum(x.reshape(2, -1) ** 2, axis=0),
    "columns": lambda x: x.reshape(2, -1).T.ravel() * np.arange(1.0, x.size + 1),
    "padded": lambda x: np.pad(x.reshape(2, -1), 1)[1:, :-1],
    "differences": lambda x: np.diff(x, 2),
    "gradient": lambda x: np.gradient(x),
    "convolved": lambda x: np.convolve(x, np.array([1.0, 2.0, 3.0]), "same"),
    "running": lambda x: np.cumsum(x) * x,
    "running back": lambda x: np.cumsum(x[::-1])[::-1],
    "maximum": lambda x: np.max(x.reshape(2, -1), axis=1),
    "product": lambda x: np.prod(x.reshape(2, -1), axis=0),
    "total": lambda x: np.sum(x) * np.ones(3) + x[:3],
    "repeated": lambda x: np.repeat(x, 2) * np.tile(x, 2),
    "stacked": lambda x: np.stack([x, x[::-1]], 1)[2:, 0],
    "diagonal": lambda x: np.diag(np.diag(x) @ np.diag(x)) + np.trace(np.outer(x, x)),
    "one number": lambda x: np.sum(np.sin(x[1:]) * x[:-1]),
    "linear": lambda x: A @ np.tanh(x[:4]),
    "twice": lambda x: A.T @ np.tanh(A @ x[:4]),
    "quadratic": lambda x: np.einsum("i,ij,j->j", x[:3], A, x[:4]),
    "either": lambda x: np.where(x > 0, np.sqrt(np.abs(x)), x[::-1]),
    "halves": lambda x: np.concatenate([x[: x.size // 2] ** 2, np.exp(x[x.size // 2 :])]),
}  # fmt: skip


def close(found, wanted):
    np.testing.assert_allclose(found.toarray(), wanted, rtol=1e-12, atol=1e-14)


def dense(f, x, *rest):
    y = np.asarray(f(x, *rest))
    with sg.backend("numpy"):
        return np.asarray(sg.jacobian(f)(x, *rest)).reshape(y.size, x.size)


def agrees(f, x, *rest, exact=True, **options):
    """Compare values and pattern with the dense Jacobian; return the sparse one."""
    function = sg.jacobian(f, sparse=True, **options)
    found, wanted = function(x, *rest), dense(f, x, *rest)
    places = function.pattern(x, *rest).toarray()
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found.toarray(), wanted, rtol=1e-13, atol=1e-14)
    assert not np.any((wanted != 0) & ~places)
    assert places.sum() == found.nnz == function.nnz
    if exact:
        assert found.nnz == np.count_nonzero(wanted)
    return found


@pytest.mark.parametrize("name", VECTORS)
def test_a_jacobian_has_the_values_and_the_places_of_the_dense_one(name, rng):
    x = rng.normal(size=8) + 0.1
    chosen = name in ("either", "maximum")  # both sides, and all elements, are in the pattern
    agrees(VECTORS[name], x, exact=not chosen)


@pytest.mark.parametrize("f", [stencil, brusselator, written])
@pytest.mark.quick(1)
def test_one_compilation_serves_all_lengths(f, rng):
    function = sg.jacobian(f, sparse=True)
    for n in (30, 8, 12, 100):
        x = rng.normal(size=n)
        close(function(x), dense(f, x))
    assert function.traces <= 2


def test_one_compilation_serves_all_shapes(rng):
    function = sg.jacobian(laplacian, sparse=True)
    for shape in ((11, 18), (9, 17), (12, 20), (18, 18)):
        x = rng.normal(size=shape)
        np.testing.assert_allclose(
            function(x).toarray(), dense(laplacian, x), rtol=1e-13, atol=1e-14
        )
    assert function.traces <= 2


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5])
@pytest.mark.quick(1)
def test_small_sizes(n, rng):
    for name in ("map", "neighbours", "reversed", "rolled", "running", "outer", "total", "strided"):
        x = rng.normal(size=n)
        try:
            VECTORS[name](x)
        except ValueError:
            continue
        with sg.backend("numpy"):
            agrees(VECTORS[name], x)


def test_index_arrays_are_data(rng):
    def flows(v, start, end):
        return np.sin(v[start] - v[end]) * v[start]

    function = sg.jacobian(flows, sparse=True)
    v = rng.normal(size=40)
    for _ in range(3):
        start, end = rng.integers(0, 40, 60), rng.integers(0, 40, 60)
        found = function(v, start, end).toarray()
        np.testing.assert_allclose(found, dense(flows, v, start, end), rtol=1e-13, atol=1e-14)
    before = function(v, start, end).toarray()
    start[:] = start[::-1]  # in place: other places
    after = function(v, start, end).toarray()
    np.testing.assert_allclose(after, dense(flows, v, start, end), rtol=1e-13, atol=1e-14)
    assert not np.array_equal(before, after)
    assert function.traces == 1


def test_sums_over_computed_places(rng):
    def balance(v, start, end, count):
        flow = np.sin(v[start] - v[end])
        return (
            sg.numpy.zeros(count) + np.bincount(start, flow, count) - np.bincount(end, flow, count)
        )

    v = rng.normal(size=12)
    start, end = rng.integers(0, 12, 20), rng.integers(0, 12, 20)
    f = lambda v, s, e: balance(v, s, e, 12) * v  # noqa: E731
    close(sg.jacobian(f, sparse=True)(v, start, end), dense(f, v, start, end))


@pytest.mark.usefixtures("few_kernels")
def test_products_of_what_scatters_and_gathers(rng):
    def balance(v, start, end):
        flow = np.sin(v[start] - v[end]) * v[start]
        return np.bincount(start, flow, 12) - np.bincount(end, flow, 12)

    def twice(v, start, end):
        return balance(balance(v, start, end) * v, end, start)

    def squares(v, start, end):
        return np.sum(balance(v, start, end) ** 2)

    v = rng.normal(size=12)
    function, second = sg.jacobian(twice, sparse=True), sg.hessian(squares, sparse=True)
    lower = sg.hessian(squares, sparse=True, triangle="lower")
    for _ in range(2):
        start, end = rng.integers(0, 12, 9), rng.integers(0, 12, 9)
        close(function(v, start, end), dense(twice, v, start, end))
        with sg.backend("numpy"):
            wanted = sg.hessian(squares)(v, start, end)
        close(second(v, start, end), wanted)
        close(lower(v, start, end), np.tril(wanted))
        assert second.pattern(v, start, end).nnz < 144
    assert function.traces == second.traces == 1


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.quick(1)
def test_formats_values_and_out(form, rng):
    x = rng.normal(size=10)
    function = sg.jacobian(stencil, sparse=True, format=form)
    found, pattern = function(x), function.pattern(x)
    assert found.format == pattern.format == form
    assert isinstance(found, getattr(sps, f"{form}_array"))
    assert pattern.dtype == bool
    values = function.values(x)
    np.testing.assert_array_equal(values, found.data)
    out = np.empty_like(values)
    assert function.values(x, out=out) is out
    np.testing.assert_array_equal(out, values)
    pattern.data = pattern.data * values
    # Two programs: without fused multiply-add not the same bits.
    np.testing.assert_allclose(pattern.toarray(), dense(stencil, x), rtol=1e-14, atol=0)
    for wrong in (np.empty(3), out.astype(np.float32), out[::-1], None, [out, out]):
        if wrong is not None:
            with pytest.raises(ArgumentError):
                function.values(x, out=wrong)
    found.data[:] = 0
    found.eliminate_zeros()  # in place, and only there
    np.testing.assert_allclose(function(x).toarray(), dense(stencil, x), rtol=1e-14, atol=0)


def test_a_dense_part_that_no_memory_holds_is_an_error():
    with pytest.raises(OutOfMemoryError, match=r"pattern cannot be followed.*test_sparse"):
        sg.jacobian(lambda u: np.cumprod(u), sparse=True)(np.ones(1 << 21))


def test_structures_are_blocks(rng):
    def f(p, t):
        return {"a": p["u"] * t, "b": (p["w"] ** 2)[::-1]}

    p = {"u": rng.normal(size=3), "w": rng.normal(size=3)}
    found = sg.jacobian(f, sparse=True)(p, 2.0)
    wanted = sg.jacobian(f)(p, 2.0)
    for row in "ab":
        for col in "uw":
            np.testing.assert_allclose(found[row][col].toarray(), wanted[row][col])
    assert found["a"]["w"].nnz == 0
    both = sg.jacobian(lambda x, y: x * y, (0, 1), sparse=True)(p["u"], p["w"])
    np.testing.assert_allclose(both[0].toarray(), np.diag(p["w"]))
    np.testing.assert_allclose(both[1].toarray(), np.diag(p["u"]))


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def test_hessians(rng):
    x = rng.normal(size=9)
    function = sg.hessian(rosenbrock, sparse=True)
    wanted = sg.hessian(rosenbrock)(x)
    np.testing.assert_allclose(function(x).toarray(), wanted, rtol=1e-13)
    assert function.nnz == 9 + 2 * 8
    lower = sg.hessian(rosenbrock, sparse=True, triangle="lower")
    np.testing.assert_allclose(lower(x).toarray(), np.tril(wanted), rtol=1e-13)
    assert lower.nnz == 9 + 8


SOME = np.array([1, 4, 5, 4])

READ_IN_PARTS = {
    "every second": (lambda x: np.sum(np.sin((x**3)[1::2])), 4),
    "some": (lambda x: np.sum(np.sin(np.exp(x**3)[SOME])), 3),
    "some of roots": (lambda x: np.sum(np.sqrt(np.log(x + 1))[SOME] ** 2 * x[SOME]), 3),
    "a range": (lambda x: np.sum(np.exp(np.sin(x))[1:4] ** 2), 3),
    "of a matrix": (lambda x: (y := np.exp(x.reshape(4, 2)))[0, 1] * np.sum(y[1:3, 0]), 7),
    "of products": (lambda x: np.sum(np.sin(x[:, None] * x[SOME])[2:4, 1:3]), 12),
}


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("name", READ_IN_PARTS)
def test_no_entries_of_places_that_are_not_read(name, rng):
    """The cotangent of a map of which parts are read is zero at the others by its form."""
    (f, count), x = READ_IN_PARTS[name], rng.uniform(0.2, 1.2, 8)
    hessian = sg.hessian(f, sparse=True)
    with sg.backend("numpy"):
        dense = sg.hessian(f)(x)
    np.testing.assert_allclose(hessian(x).toarray(), dense, rtol=1e-12, atol=1e-14)
    assert hessian.pattern(x).nnz == count


def ends(x):
    return np.sum(x[1:] ** 2 * x[:-1]) + np.sum(x[2:] * np.exp(x[:-2]))


@pytest.mark.parametrize("n", [30, 7, 4, 3, 200])
def test_entries_to_which_all_values_are_added(n, rng):
    """At the end of a chain an entry is a sum alone, and of it nothing is written before."""
    function, x = sg.hessian(ends, sparse=True), rng.normal(size=n)
    data = np.full(function.pattern(x).nnz, np.nan)
    function.values(x, out=data)
    again = function.pattern(x).astype(float)
    again.data[:] = data
    with sg.backend("numpy"):
        np.testing.assert_allclose(again.toarray(), sg.hessian(ends)(x), rtol=1e-13)
    np.testing.assert_allclose(function.kernel(x)(x), data, rtol=1e-13)


@pytest.mark.usefixtures("few_kernels")
def test_entries_to_which_all_values_are_added_in_a_batch(rng):
    function = sg.hessian(ends, sparse=True)
    batch = rng.normal(size=(3, 30))
    wanted = np.stack([function.values(x) for x in batch])
    np.testing.assert_allclose(sg.vmap(function).values(batch), wanted, rtol=1e-15)


@pytest.mark.usefixtures("few_kernels")
def test_a_part_without_lanes_is_dense_and_says_so(rng):
    def f(x):
        return np.linalg.solve(np.eye(4) + np.diag(x), np.sin(x))

    x = rng.normal(size=4) ** 2
    with pytest.warns(SparsityWarning, match=r"dense.*test_sparse"):
        found = sg.jacobian(f, sparse=True)(x)
    np.testing.assert_allclose(found.toarray(), sg.jacobian(f)(x), rtol=1e-12, atol=1e-14)


def differentiated(record, number):
    """Return a function of the registry at a sample as one of its real arrays, and these."""
    sample = next(itertools.islice(samples_of(record, np.random.default_rng(7)), number, None))
    of_doubles = lambda x: x.dtype == np.float64 and x.size  # noqa: E731
    return of_arrays(called(record.functions[0]), sample, of_doubles)


@pytest.mark.parametrize("name", sorted(registry.composites))
@pytest.mark.filterwarnings("ignore")
def test_functions_of_the_registry_have_all_entries(name):
    record = registry.composites[name]
    if not record.functions:
        return
    for number in range(4):
        with sg.backend("numpy"), np.errstate(all="ignore"):
            try:
                f, xs = differentiated(record, number)
                numbers = tuple(range(len(xs)))
                wanted = flatten(sg.jacobian(f, numbers)(*xs))[0]
            except Exception:  # noqa: BLE001  # no sample, or no real Jacobian
                continue
            if not xs or any(np.iscomplexobj(x) for x in wanted):
                continue
            function = sg.jacobian(f, numbers, sparse=True)
            found = flatten(function(*xs))[0]
            places = flatten(function.pattern(*xs))[0]
        for want, have, place in zip(wanted, found, places, strict=True):
            if want is None:
                continue
            want = np.reshape(want, have.shape)
            there = place.toarray()
            # A dense pass over the identity has 0*nan beside what is nan.
            assert np.all((want[~there] == 0) | np.isnan(want[~there]))
            np.testing.assert_allclose(have.toarray()[there], want[there], rtol=1e-9, atol=1e-9)


def test_dense_derivatives_put_entries_among_zeros(rng):
    function, sparse = sg.hessian(rosenbrock), sg.hessian(rosenbrock, sparse=True)
    for n in (80, 60):
        x = rng.normal(size=n)
        np.testing.assert_allclose(function(x), sparse(x).toarray(), rtol=1e-12, atol=1e-13)
    assert "scatter" in str(function.program(np.ones(80)))
    assert function.traces == 1


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("name", ["stencil", "brusselator", "repeated"])
@pytest.mark.quick(1)
def test_dense_derivatives_under_transformations(name, rng):
    x = rng.normal(size=64)
    both = [sg.jacobian(VECTORS[name]), sg.jacobian(VECTORS[name], mode="reverse")]
    np.testing.assert_allclose(*(J(x) for J in both), rtol=1e-12, atol=1e-13)
    sums = [sg.grad(lambda x, J=J: np.sum(np.sin(J(x)))) for J in both]
    np.testing.assert_allclose(*(g(x) for g in sums), rtol=1e-11, atol=1e-12)
    pair = np.stack([x, 2.0 * x])
    np.testing.assert_allclose(*(sg.vmap(J)(pair) for J in both), rtol=1e-12, atol=1e-13)


def test_large_dense_derivatives_that_are_mostly_zeros(rng):
    x = np.ones(2100)
    with pytest.warns(SparsityWarning, match=r"sg.jacobian\(stencil, sparse=True\)"):
        sg.jacobian(stencil)(x)
    many = np.ones(1 << 20)
    for name, make, f in (("jacobian", sg.jacobian, stencil), ("hessian", sg.hessian, rosenbrock)):
        f = FunctionType(f.__code__, globals(), f.__name__)  # not traced for fewer elements yet
        with pytest.raises(OutOfMemoryError, match=rf"sg.{name}\({f.__name__}, sparse=True\)"):
            make(f)(many)


STARTS, ENDS = np.random.default_rng(1).integers(0, 12, (2, 20))


def balance(v):
    flow = np.sin(v[STARTS] - v[ENDS])
    return np.bincount(STARTS, flow, 12) - np.bincount(ENDS, flow, 12)


@pytest.mark.parametrize(
    ("f", "make"), [(balance, sg.jacobian), (stencil, sg.jacobian), (rosenbrock, sg.hessian)]
)
@pytest.mark.quick(1)
def test_kernels_in_the_world_of_numba(f, make, rng):
    x = rng.normal(size=12)
    function = make(f, sparse=True)
    kernel = function.kernel(x)

    @numba.njit
    def twice(x):
        return 2.0 * kernel(x)

    np.testing.assert_allclose(twice(x), 2.0 * function.values(x), rtol=1e-13, atol=1e-14)
    with pytest.raises(ValueError, match=r"\w"):
        kernel(np.ones(13))


def test_kernels_of_given_places_and_of_two_matrices(rng):
    x, start, end = rng.normal(size=12), STARTS, ENDS
    kernel = sg.jacobian(lambda v, k: v[k] ** 2, sparse=True).kernel(x, start)
    np.testing.assert_allclose(kernel(x, start), 2.0 * x[start], rtol=1e-13)
    with pytest.raises(ValueError, match=r"\w"):
        kernel(x, end)  # other places
    pair = sg.jacobian(lambda v, w: v * w, (0, 1), sparse=True).kernel(x, 2.0 * x)
    for found, wanted in zip(pair(x, 2.0 * x), (2.0 * x, x), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_what_is_refused(rng):
    x = rng.normal(size=4)
    with pytest.raises(ArgumentError, match="format"):
        sg.jacobian(stencil, sparse=True, format="dia")
    with pytest.raises(ArgumentError, match="triangle"):
        sg.hessian(rosenbrock, sparse=True, triangle="upper")
    with pytest.raises(ArgumentError, match="without sparse=True"):
        sg.jacobian(stencil, sparse=True)(sg.tensor(x))
    with pytest.raises(ArgumentError, match="real"):
        sg.jacobian(lambda z: z * z, sparse=True)(x + 1j)
    with pytest.raises(ArgumentError, match="int64"):
        sg.jacobian(lambda x: np.arange(3), sparse=True)(x)
    with pytest.raises(ArgumentError, match="depends on the arguments"):
        _ = sg.jacobian(stencil, sparse=True).nnz


def test_pickling_and_backends(rng):
    x = rng.normal(size=10)
    function = sg.jacobian(stencil, sparse=True, format="csc")
    again = pickle.loads(pickle.dumps(function))
    np.testing.assert_array_equal(again(x).toarray(), function(x).toarray())
    with sg.backend("numpy"):
        np.testing.assert_allclose(again(x).toarray(), dense(stencil, x), rtol=1e-14)


@pytest.mark.parametrize("make", [sps.csr_array, sps.csc_array, sps.coo_array, sps.csr_matrix])
@pytest.mark.quick(1)
def test_sparse_matrices_are_multiplied(make, rng):
    matrix = make(sps.random(6, 8, 0.3, random_state=1))
    x, many = rng.normal(size=8), rng.normal(size=(8, 3))
    for f, y in (
        (lambda x: np.sin(matrix @ x), x),
        (lambda x: x[:6] @ matrix, x),
        (lambda x: matrix.T @ x[:6], x),
        (lambda x: matrix @ x, many),
        (lambda x: matrix @ np.exp(matrix.T @ x[:6]), x),
    ):
        np.testing.assert_allclose(sg.compile(f)(y), f(y), rtol=1e-13)
        found = sg.jacobian(f, sparse=True)(y)
        close(found, dense(f, y))
    with pytest.raises(ShapeError, match=r"shape \(6, 8\) times an array of shape \(3,\)"):
        sg.compile(lambda x: matrix @ x)(x[:3])


KEYED = sps.dok_matrix(np.diag([2.0, 3.0]))


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_a_matrix_that_is_a_dict_with_a_get_of_its_own() -> None:
    """A global name of one raised, since its ``get`` takes places."""
    assert sg.grad(lambda x: np.sum(KEYED @ x))(np.ones(2)).tolist() == [2.0, 3.0]


def test_a_sparse_matrix_that_changes_is_read_anew(rng):
    matrix = sps.csr_array(sps.random(6, 8, 0.3, random_state=1))
    function = sg.jacobian(lambda x: matrix @ x, sparse=True)
    x = rng.normal(size=8)
    close(function(x), matrix.toarray())
    matrix.data *= 2.0
    close(function(x), matrix.toarray())
    matrix = sps.csr_array(sps.random(6, 8, 0.5, random_state=3))
    close(function(x), matrix.toarray())


def test_blocks_are_read_as_formulas():
    found = str(sg.formula(sg.jacobian(stencil, sparse=True), np.ones(7)))
    assert "d out[i]/d x[i + 1]     = sin(x[i])" in found
    assert "(d out[i]/d x[i - 1]: 1 <= i <= n - 2)" in found
    found = sg.formula(sg.hessian(rosenbrock, sparse=True), np.ones(7)).text()
    assert "d2 out/d x[i] d x[i + 1] = -400*x[i]" in found
    both = sg.jacobian(lambda x, y: np.sum(x) * y, (0, 1), sparse=True)
    assert "d out[i]/d x[j] = y[i]" in str(sg.formula(both, np.ones(3), np.ones(5)))
    gathered = sg.jacobian(lambda v, k: np.sin(v[k]), sparse=True)
    found = str(sg.formula(gathered, np.ones(3), np.array([0, 2])))
    assert "d out[i]/d v[k[i]] = cos(v[k[i]])" in found


def test_certificates_of_sparse_derivatives(rng):
    x = rng.normal(size=7)
    for function in (sg.jacobian(stencil, sparse=True), sg.hessian(rosenbrock, sparse=True)):
        sg.verify(function, x)  # raises where an entry is off by more than its condition
    pair = sg.jacobian(lambda p, t: {"a": p["u"] * t, "b": p["w"][::-1]}, (0, 1), sparse=True)
    report = sg.verify(pair, {"u": x[:3], "w": x[3:]}, 2.0)
    assert report.max_ulp < 2
    with pytest.raises(ArgumentError, match="at a point"):
        sg.verify(sg.jacobian(stencil, sparse=True), domain=(0.0, 1.0))
    lacking = sg.jacobian(stencil, sparse=True)
    lacking._recipe = sg.jacobian(lambda x: stencil(x) + x[::-1], sparse=True)._recipe
    with pytest.raises(VerificationError):  # it has the entries of another function
        sg.verify(lacking, x)


def test_a_picture_has_a_colour_for_each_line():
    pytest.importorskip("matplotlib").use("agg")

    def f(x):
        y = np.sin(x[1:]) * x[:-1]
        return np.concatenate([y, x[:1] ** 2])

    ax = sg.jacobian(f, sparse=True).spy(np.ones(6))
    found = [line.get_label() for line in ax.lines]
    assert len(found) == 2
    assert all("test_sparse.py:" in label for label in found)
    assert sum(len(line.get_xdata()) for line in ax.lines) == 11


@pytest.mark.usefixtures("few_kernels")
def test_batches_have_one_pattern(rng):
    def balance(v, w, start, end):
        flow = np.sin(v[start] - v[end]) * w
        return np.bincount(start, flow, 9) - np.bincount(end, flow, 9)

    def twice(v, w, start, end):  # through a cut
        return balance(balance(v, w, start, end) * v, w, end, start)

    v, w = rng.normal(size=(5, 9)), rng.normal(size=12)
    start, end = rng.integers(0, 9, 12), rng.integers(0, 9, 12)
    for f in (balance, twice):
        one = sg.jacobian(f, sparse=True)
        many = sg.vmap(one, in_axes=(0, None, None, None))
        for found, x in zip(many(v, w, start, end), v, strict=True):
            close(found, one(x, w, start, end).toarray())
        values = many.values(v, w, start, end)
        assert values.shape == (5, many.nnz)
        assert many.pattern(v, w, start, end).nnz == one.pattern(v[0], w, start, end).nnz
        out = np.empty_like(values)
        assert many.values(v, w, start, end, out=out) is out
        np.testing.assert_array_equal(out, values)
        with pytest.raises(ArgumentError, match="shape"):
            many.values(v, w, start, end, out=np.empty(3))
    several = np.stack([start, end, start, end, start])
    with pytest.raises(ArgumentError, match=r"batch of batches.*J\.values"):
        sg.vmap(sg.vmap(sg.hessian(rosenbrock, sparse=True)))
    with pytest.raises(ArgumentError, match="each example has its own"):
        sg.vmap(sg.jacobian(balance, sparse=True), (0, None, 0, None))(v, w, several, end)
    chain = sg.vmap(sg.hessian(rosenbrock, sparse=True, triangle="lower"))
    found = chain(v)
    for k in range(5):
        close(found[k], np.tril(sg.hessian(rosenbrock)(v[k])))
    with pytest.raises(ArgumentError, match="first axis"):
        sg.vmap(sg.jacobian(balance, sparse=True), out_axes=1)


# ---------------------------------------------------------------- wrong input


@pytest.mark.parametrize(
    "f",
    [
        lambda x, to: 2.0 * x[to],
        lambda x, to: np.concatenate([x, x])[to],
        lambda x, to: 2.0 * np.stack([x, x])[to % 2, to],
        lambda x, to: np.bincount(to, x[:2], 6),
        lambda x, to: sg.fori_loop(0, 2, lambda k, v: v * np.roll(v, 1), x) + np.sum(x[to]),
    ],
    ids=["read", "two parts", "two axes", "added", "beside a loop"],
)
@pytest.mark.filterwarnings("ignore::symgrad.errors.SparsityWarning")
def test_places_that_there_are_not(f):
    """Entries beyond a row were those of the next one."""
    function, x = sg.jacobian(f, sparse=True), np.linspace(0.5, 1.0, 6)
    to = np.array([1, 2])
    with sg.backend("numpy"):
        for bad in (31, -31):
            np.testing.assert_allclose(function(x, to).toarray(), sg.jacobian(f)(x, to))
            for call in (function, function.values, function.pattern):
                with pytest.raises(IndexError, match=r"out of bounds for its axis .*test_sparse"):
                    call(x, np.array([1, bad]))


def test_a_result_that_is_no_array():
    with pytest.raises(ArgumentError, match=r"must be a number .* without `return`"):
        sg.jacobian(lambda x: None, sparse=True)(np.ones(3))
    assert sg.jacobian(lambda x: {}, sparse=True)(np.ones(3)) == {}


# ---------------------------------------------------------------- loops that run together


def bordered(x):
    """Neighbours along both axes, or along the one: three loops or two that differ by a border."""
    y = np.sin(x) * 2.0
    y[1:] += x[:-1] * x[1:]
    y[:-1] += 0.3 * x[1:]
    if x.ndim > 1:
        y[:, 1:] += x[:, :-1] ** 2
    return y


@pytest.mark.parametrize("shape", [(1,), (2,), (5,), (255,), (257,), (70_000,), (1, 1), (1, 7),
                                   (7, 1), (2, 3), (40, 300), (300, 40), (3, 700)])  # fmt: skip
def test_loops_that_differ_by_a_border(shape, rng):
    """Some rows of each in turn, on any number of threads: the same bits as one by one."""
    function, x = sg.jacobian(bordered, sparse=True), rng.normal(size=shape)
    with sg.backend("numpy"):
        wanted = function.values(x)
    before = sg.get_num_threads()
    try:
        for count in (1, 3):
            sg.set_num_threads(count)
            out = np.full(wanted.size, np.nan)
            function.values(x, out=out)
            np.testing.assert_allclose(out, wanted, rtol=1e-14, atol=1e-15)
    finally:
        sg.set_num_threads(before)


@pytest.mark.slow
def test_arrays_shifted_and_mixed_in_turn_take_time_linear_in_the_rounds():
    """As in extended phase graphs; followed one by one, the blocks double in every round."""

    def echoes(x, rounds):
        f = np.stack([x, x[::-1]])
        turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
        for _ in range(rounds):
            f[0, 1:] = f[0, :-1].copy()
            f[1, :-1] = f[1, 1:].copy()
            f = turn @ f
        return f

    x = np.linspace(0.0, 1.0, 40)
    dense = sg.jacobian(echoes)(x, 16)
    np.testing.assert_allclose(dense @ x, echoes(x, 16), rtol=1e-12)
    sparse = sg.jacobian(echoes, sparse=True)(x, 16)
    np.testing.assert_allclose(sparse.toarray().reshape(dense.shape), dense, atol=1e-14)


@pytest.mark.slow
def test_data_of_several_matrices_are_one_array(rng):
    """Values of nested derivatives are parts of what one program gives, also through cuts."""

    def f(x, y, i):
        moved = np.bincount(i, x[i] * np.sin(x), len(x))[i]
        return {
            "a": moved * y[0] + y[1],
            "b": (np.bincount(i, x[i] ** 2, 9), y[:0] * 1.0, y * x[0]),
        }

    J = sg.jacobian(f, (0, 1), sparse=True)
    for n, seed in ((6, 0), (6, 1), (5, 2), (7, 3)):
        x, y = rng.normal(size=n), rng.normal(size=2)
        i = np.random.default_rng(seed).integers(0, n, n)
        for backend in ("numpy", "llvm", "llvm"):  # the last one straight to the machine code
            with sg.backend(backend):
                found, data = flatten(J(x, y, i))[0], flatten(J.values(x, y, i))[0]
                wanted = flatten(sg.jacobian(f, (0, 1))(x, y, i))[0]
                out = [np.full(m.nnz, np.nan) for m in found]
                J.values(x, y, i, out=flatten(J.values(x, y, i))[1].unflatten(out))
            for m, part, w, given in zip(found, data, wanted, out, strict=True):
                np.testing.assert_allclose(m.toarray(), w.reshape(m.shape), rtol=1e-12, atol=1e-14)
                np.testing.assert_array_equal(m.data, part)
                np.testing.assert_array_equal(given, part)
    assert len(J._last.parts) > len(found)  # there is a cut
    with pytest.raises(ArgumentError, match="numbers"):
        J.values(x, y, i, out=flatten(J.values(x, y, i))[1].unflatten([x] * len(found)))
    kernel = J.kernel(x, y, i)
    for part, given in zip(kernel(x, y, i), data, strict=True):
        np.testing.assert_allclose(part, given, rtol=1e-14)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.linalg.norm(np.stack([x, x[::-1]], 1), axis=1),
        lambda x: np.sqrt(np.sum(np.outer(x, x) ** 2, axis=1)) * x,
        lambda x: np.std(np.diff(x)) * x[:2],
        lambda x: np.where(x > 1, x, np.linalg.norm(np.diff(x))),
        lambda x: np.log(np.sum(np.exp(np.outer(x + 1, [1000.0, 800.0])), axis=1)),
        lambda x: np.exp(x + 800) / np.sum(np.exp(x + 800)),
        lambda x: np.log(np.exp(x + 800) / np.sum(np.exp(x + 800))),
        lambda x: np.log(np.prod(np.outer(x + 1e-200, [1e-100, 1.0]), axis=1)),
    ],
)
@pytest.mark.parametrize("x", [np.zeros(3), np.array([0.1, 0.2, 0.4])], ids=["zeros", "near"])
def test_formulas_of_sums_whose_steps_overflow_or_have_no_slope(f, x):
    with sg.backend("numpy"), np.errstate(all="ignore"):
        wanted = sg.jacobian(f)(x)
        function = sg.jacobian(f, sparse=True)
        found, pattern = function(x).toarray(), function.pattern(x).toarray()
        assert np.isfinite(wanted).all()
        np.testing.assert_allclose(found, wanted, rtol=1e-13)
        assert not np.any((wanted != 0) & ~pattern)


@pytest.mark.parametrize("part", [slice(3), slice(2, None, -1), 2])
def test_a_part_of_running_sums_makes_no_whole_pattern(part):
    x = np.ones(40_000)
    tracemalloc.start()
    found = sg.jacobian(lambda x: np.cumsum(x * x)[part], sparse=True)(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    wanted = 2.0 * np.tri(3, x.size)[part]
    np.testing.assert_array_equal(found.toarray(), np.atleast_2d(wanted))
    assert peak < 40 * x.nbytes
