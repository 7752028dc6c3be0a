"""Sparse derivatives in traced functions: compiled, in loops, batched and differentiated."""

import warnings

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import symgrad as sg
from symgrad.errors import ArgumentError, PathsWarning, SparsityWarning, TraceError


def reaction(u):
    inner = u[2:] - 2.0 * u[1:-1] + u[:-2]
    return np.concatenate([u[:1] - 1.0, inner + 0.1 * np.exp(u[1:-1]), u[-1:]])


def valley(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def evolved(u):
    step = lambda k, v: np.concatenate([v[:1], v[1:] + 0.1 * v[:-1] ** 2])  # noqa: E731
    return sg.fori_loop(0, 2, step, u)


def summed(u):
    return np.cumsum(np.sin(u * u))[::2]


J = sg.jacobian(reaction, sparse=True)
DENSE = sg.jacobian(reaction)
U = np.linspace(1.0, 0.0, 7)


def newton(u):
    return u - scipy.sparse.linalg.spsolve(J(u).tocsc(), reaction(u))


def differences(f, u, h=1e-6):
    return np.stack([(f(u + h * e) - f(u - h * e)) / (2.0 * h) for e in np.eye(len(u))], axis=-1)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(autouse=True)
def by_numpy(request):
    with sg.backend("llvm" if request.function is test_a_step_of_newtons_method else "numpy"):
        yield


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("f", [reaction, valley, summed], ids=lambda f: f.__name__)
def test_a_compiled_function_has_the_same_matrix(f, form):
    make = sg.hessian if f is valley else sg.jacobian
    function = make(f, sparse=True, format=form)
    inside = sg.compile(lambda u: (function(u).toarray(), function(u) @ u[:7], function.values(u)))
    for n in (7, 7):
        u = np.linspace(0.3, 1.1, n)
        matrix, product, values = inside(u)
        np.testing.assert_allclose(matrix, function(u).toarray(), rtol=1e-14)
        np.testing.assert_allclose(product, function(u) @ u, rtol=1e-14)
        np.testing.assert_allclose(values, function.values(u), rtol=1e-14)
    assert inside.traces == 1


def test_each_size_has_a_trace():
    inside = sg.compile(lambda u: J(u) @ u)
    for n in (5, 6, 5):
        u = np.linspace(0.0, 1.0, n)
        np.testing.assert_allclose(inside(u), J(u) @ u, rtol=1e-14)
    assert inside.traces == 2


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_unknowns(n):
    function = sg.jacobian(lambda x: x * x, sparse=True)
    u = np.linspace(2.0, 3.0, n)
    np.testing.assert_array_equal(sg.compile(lambda u: function.values(u) + 0.0)(u), 2.0 * u)
    assert sg.compile(lambda u: sg.jacobian(np.sin, sparse=True)(u[0]).toarray())(U).shape == (1, 1)


def test_a_step_of_newtons_method():
    step, loop = (
        sg.compile(newton),
        sg.compile(lambda u: sg.fori_loop(0, 3, lambda k, v: newton(v), u)),
    )
    np.testing.assert_allclose(step(U), newton(U), rtol=1e-13)
    np.testing.assert_allclose(loop(U), newton(newton(newton(U))), rtol=1e-13)
    np.testing.assert_allclose(sg.jacobian(newton)(U), differences(newton, U), atol=1e-8)


def test_derivatives_of_the_values():
    second = lambda u: np.sum(np.sin(J.values(u)) ** 2)  # noqa: E731
    dense = lambda u: np.sum(np.sin(DENSE(u)) ** 2)  # noqa: E731
    np.testing.assert_allclose(sg.grad(second)(U), sg.grad(dense)(U), rtol=1e-13)
    np.testing.assert_allclose(sg.hessian(second)(U), sg.hessian(dense)(U), rtol=1e-12, atol=1e-14)
    rows, cols = J.pattern(U).tocoo().coords
    wanted = sg.jacobian(lambda u: DENSE(u)[rows, cols])(U)
    np.testing.assert_allclose(sg.jacobian(J.values, sparse=True)(U).toarray(), wanted, rtol=1e-14)


def test_batches(rng):
    batch = rng.normal(size=(3, 7))
    wanted = np.stack([J.values(u) for u in batch])
    np.testing.assert_allclose(sg.vmap(J.values)(batch), wanted, rtol=1e-14)
    many = sg.vmap(J)
    np.testing.assert_allclose(
        sg.compile(lambda b: many.values(b) + 0.0)(batch), wanted, rtol=1e-14
    )
    product = sg.compile(lambda b: many(b)[1] @ b[2])(batch)
    np.testing.assert_allclose(product, J(batch[1]) @ batch[2], rtol=1e-14)


def test_structures_are_blocks():
    function = sg.jacobian(lambda x, y: {"a": x * y, "b": np.sum(y)}, (0, 1), sparse=True)

    def products(x, y):
        found = function(x, y)
        return found["a"][0] @ x + found["a"][1] @ y + found["b"][1] @ y

    x, y = U, U + 1.0
    np.testing.assert_allclose(sg.compile(products)(x, y), products(x, y), rtol=1e-14)


def test_a_function_that_closes_over_traced_values():
    def scaled(p):
        return sg.jacobian(lambda u: p * u**2, sparse=True).values(U)

    np.testing.assert_allclose(sg.compile(scaled)(3.0), 6.0 * U)
    np.testing.assert_allclose(sg.jacobian(scaled)(3.0), 2.0 * U)


def test_index_arrays_are_read_anew(rng):
    start, end = rng.integers(0, 9, 12), rng.integers(0, 9, 12)

    def balance(x):
        return np.bincount(start, np.sin(x[start] - x[end]), 9)

    function = sg.jacobian(balance, sparse=True)
    inside, x = sg.compile(lambda x: function(x) @ x), rng.normal(size=9)
    for _ in range(3):
        np.testing.assert_allclose(inside(x), function(x) @ x, rtol=1e-13)
        start[rng.integers(12)] = rng.integers(9)


def test_index_arrays_among_the_arguments_are_compared(rng):
    def balance(x, start, end):
        return np.bincount(start, np.sin(x[start] - x[end]), 9)

    function, x = sg.jacobian(balance, sparse=True), rng.normal(size=9)
    inside = sg.compile(lambda x, start, end: function(x, start, end) @ x)
    for k in (1, 2, 3):
        start, end = rng.integers(0, 9, (2, 9 + k // 2))
        for point in (x, 2.0 * x):
            wanted = function(point, start, end) @ point
            np.testing.assert_allclose(inside(point, start, end), wanted, rtol=1e-13)
        assert inside.traces == k
    batch = sg.vmap(lambda x: function.values(x, start, end))(np.stack([x, 2.0 * x]))
    np.testing.assert_allclose(batch[1], function.values(2.0 * x, start, end), rtol=1e-13)
    looped = sg.jacobian(lambda x, k: sg.fori_loop(0, 2, lambda _, v: v[k] * v, x), sparse=True)
    with pytest.warns(SparsityWarning, match="compressed"):
        found = sg.compile(lambda x, k: looped(x, k) @ x)(x, np.arange(9)[::-1])
    with pytest.warns(SparsityWarning, match="compressed"):
        wanted = looped(x, np.arange(9)[::-1]) @ x
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_places_that_are_not_known_while_tracing():
    function = sg.jacobian(lambda x, k: x[k] ** 2, sparse=True)
    with pytest.warns(PathsWarning, match=r"not known then: those of k\. Write instead"):
        found = sg.vmap(lambda k: function.values(U, k))(np.array([[1, 3], [2, 4]]))
    np.testing.assert_allclose(found, 2 * U[[[1, 3], [2, 4]]], rtol=1e-14)
    with pytest.raises(TraceError, match=r"not known then: those of k\. Write instead"):
        sg.compile(sg.vmap(lambda k: function.values(U, k)))(np.array([[1, 3], [2, 4]]))
    with pytest.raises(TraceError, match=r"those of z\. Write instead"):
        sg.compile(lambda x, z: function(x, np.floor(z).astype(int)) @ x)(U, np.ones(2))
    counted = lambda x: x[sg.fori_loop(0, 2, lambda i, k: k + i, np.arange(3))]  # noqa: E731
    with pytest.raises(TraceError, match=r"those of Loop \[test_sparse_traced\.py:"):
        sg.compile(lambda x: sg.jacobian(counted, sparse=True)(x) @ x)(U)


@pytest.mark.parametrize("f", [evolved, lambda u: evolved(u) * u[::-1], lambda u: evolved(u)[::3]])
def test_where_lanes_end_colours_are_found_while_tracing(f):
    function = sg.jacobian(f, sparse=True)
    inside = sg.compile(lambda u: (function(u).toarray(), sg.vmap(function.values)(u[None])[0]))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        matrix, values = inside(U)
        found = function(U)
    assert {w.category for w in told} == {SparsityWarning}
    assert "compressed" in str(told[0].message)
    np.testing.assert_allclose(matrix, sg.jacobian(f)(U), rtol=1e-14)
    np.testing.assert_allclose(values, found.data, rtol=1e-14)


def test_what_is_refused_there():
    with pytest.raises(ArgumentError, match="leave out= away"):
        sg.compile(lambda u: J.values(u, out=np.zeros(19)))(U)
    with pytest.raises(ArgumentError, match="real functions"):
        sg.compile(lambda z: J.values(z))(U + 1j)


def test_the_pattern_is_one_of_scipys():
    def entries(u):
        pattern = J.pattern(u)
        assert isinstance(pattern, scipy.sparse.csr_array)
        assert isinstance(J(u), scipy.sparse.csr_array)
        return u * pattern.nnz

    np.testing.assert_array_equal(sg.compile(entries)(U), U * 17)


# ---------------------------------------------------------------- index arrays and diagonals

#: What is made of a matrix of SciPy's; where its index arrays are known, they are SciPy's.
MADE = {
    "as it is": lambda A: A,
    "columns": lambda A: A.tocsc(),
    "rows again": lambda A: A.tocsc().tocsr(),
    "twice": lambda A: -(2.0 * A.tocsc()) / 3.0,
    "transposed": lambda A: A.T,
    "transposed columns": lambda A: A.tocsc().T,
    "sines": lambda A: np.sin(A),
    "by parts": lambda A: (scipy.sparse.csr_array if A.format == "csr" else scipy.sparse.csc_array)(
        (A.data, A.indices, A.indptr), shape=A.shape
    ),
    "by triplets": lambda A: scipy.sparse.csc_array((A.data, (A.tocoo().row, A.tocoo().col))),
    "sum": lambda A: A + A,
    "sum of columns": lambda A: (A.tocsc() + A.tocsc()).tocsc(),
    "product": lambda A: A @ A.T.tocsr(),
    "product of columns": lambda A: (A.tocsc() @ A.tocsc().T.tocsc()).tocsc(),
    "with a diagonal": lambda A: written_diagonal(A).tocsr(),
}


def written_diagonal(A):
    A = A.tolil()
    A.setdiag(np.array([7.0, 8.0]), 1)
    A.setdiag(3.0, -1)
    return A


@pytest.mark.quick
@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_index_arrays_are_those_of_scipy(name, form):
    make = MADE[name]
    function = sg.jacobian(lambda u: reaction(u)[1:], sparse=True, format=form)
    found = {}

    @sg.compile
    def entries(u):
        A = make(function(u))
        found.update(indices=A.indices, indptr=A.indptr, format=A.format, shape=A.shape)
        return A.data

    data, wanted = entries(U), make(function(U))
    assert (found["format"], found["shape"]) == (wanted.format, wanted.shape)
    kind = scipy.sparse.csr_array if wanted.format == "csr" else scipy.sparse.csc_array
    made = kind((data, found["indices"], found["indptr"]), found["shape"])
    np.testing.assert_allclose(made.toarray(), wanted.toarray(), rtol=1e-14, atol=1e-15)
    assert found["indices"].dtype == wanted.indices.dtype == found["indptr"].dtype
    wanted.sort_indices()
    made.sort_indices()
    np.testing.assert_array_equal(made.indptr, wanted.indptr)
    np.testing.assert_array_equal(made.indices, wanted.indices)


@pytest.mark.quick
def test_index_arrays_are_there_where_scipys_are():
    def joined(u):
        return scipy.sparse.vstack([J(u), J(u)]).indices * np.sum(u)

    def written(u):
        A = J(u)
        A[0, 1] = 2.0
        return A.indptr * np.sum(u)

    for f in (joined, written):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", scipy.sparse.SparseEfficiencyWarning)
            wanted = f(U)
        np.testing.assert_array_equal(sg.compile(f)(U), wanted)
    for form in ("coo", "dok"):
        with pytest.raises(AttributeError):
            sg.compile(lambda u, form=form: J(u).asformat(form).indices)(U)
    places = {}

    @sg.compile
    def triplets(u):
        A = scipy.sparse.coo_array((u[:2], ([1, 0], [0, 2])))
        places.update(row=A.row, col=A.col)
        return A.data

    triplets(U)
    assert (places["row"].tolist(), places["col"].tolist()) == ([1, 0], [0, 2])


@pytest.mark.quick(5)
@pytest.mark.parametrize("k", [-6, -2, 0, 1, 6])
@pytest.mark.parametrize("count", [None, 1, 3, 20])
def test_diagonals_that_are_written(k, count):
    def filled(u):
        A = J(u).tolil()
        A.setdiag(2.0 * u[0] if count is None else np.tile(u, 3)[:count], k)
        return A.toarray()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scipy.sparse.SparseEfficiencyWarning)
        np.testing.assert_allclose(sg.compile(filled)(U), filled(U), rtol=1e-14, atol=1e-15)
    slope = sg.jacobian(lambda u: filled(u).ravel())(U)
    np.testing.assert_allclose(
        slope, differences(lambda u: filled(u).ravel(), U), rtol=1e-6, atol=1e-6
    )


def test_a_diagonal_beyond_the_matrix_is_refused():
    def filled(u):
        A = J(u)
        A.setdiag(u, 7)
        return A.toarray()

    with pytest.raises(ValueError, match="k exceeds"):
        sg.compile(filled)(U)


@pytest.mark.parametrize("f", [reaction, valley], ids=lambda f: f.__name__)
def test_values_in_a_compiled_function_are_those_of_a_call(f):
    function = (sg.hessian if f is valley else sg.jacobian)(f, sparse=True)
    values = sg.compile(lambda u: function.values(u))
    many = sg.vmap(lambda u: np.cumsum(function.values(u)))
    for n in (3, 4, 7, 40):
        u = np.linspace(1.0, 0.2, n)
        with sg.backend("llvm"):
            found = values(u)
            np.testing.assert_array_equal(found, function.values(u))
            out = np.full(len(found), np.nan)
            values(u, out=out)
            np.testing.assert_array_equal(out, found)
            batch = np.stack([u, 2.0 * u, -u])
            wanted = [np.cumsum(function.values(x)) for x in batch]
            np.testing.assert_allclose(many(batch), wanted, rtol=1e-13)


MATRIX = scipy.sparse.csc_array(np.array([[2.0, 0.0, 1.0], [0.0, 3.0, 0.0], [1.0, 0.0, 4.0]]))


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_results_are_scipys(form, kind):
    make = getattr(scipy.sparse, f"{form}_{kind}")
    places = MATRIX.tocoo().coords

    def made(d):
        a = make((d, places), shape=(3, 3))
        return a, {"twice": 2.0 * a, "turned": a.T, "product": a @ a}

    found, want = sg.compile(made)(MATRIX.data), made(MATRIX.data)
    for a, b in zip([found[0], *found[1].values()], [want[0], *want[1].values()], strict=True):
        assert type(a) is type(b)
        np.testing.assert_allclose(a.toarray(), b.toarray(), rtol=1e-14)


def test_sparse_arrays_are_states_of_loops():
    start = scipy.sparse.csr_array(np.diag([2.0, 3.0]))
    power = lambda d: sg.fori_loop(0, 3, lambda k, a: a @ a, start * d).toarray()  # noqa: E731
    np.testing.assert_allclose(sg.compile(power)(1.0), np.diag([256.0, 6561.0]))
    with pytest.raises(sg.errors.UnsupportedError, match=r"return A\.data"):
        sg.vmap(lambda d: start * d)(np.ones(2))


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_index_arrays_of_what_is_closed_over(form):
    a = MATRIX.asformat(form)

    def solved(d):
        own = getattr(scipy.sparse, f"{form}_array")((d, a.indices, a.indptr), shape=a.shape)
        return scipy.sparse.linalg.spsolve(own, a.data[:3])

    np.testing.assert_allclose(sg.compile(solved)(2.0 * a.data), solved(2.0 * a.data))


def test_sparse_right_hand_sides_have_sparse_solutions():
    right = scipy.sparse.csc_array(np.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]]))
    solved = lambda t: scipy.sparse.linalg.spsolve(t * MATRIX, right)  # noqa: E731
    found, want = sg.compile(solved)(2.0), solved(2.0)
    assert type(found) is type(want)
    np.testing.assert_allclose(found.toarray(), want.toarray())
    column = lambda t: scipy.sparse.linalg.spsolve(t * MATRIX, right[:, [0]])  # noqa: E731
    np.testing.assert_allclose(sg.compile(column)(2.0), column(2.0))


def test_singular_matrices_warn_and_have_missing_solutions():
    a = scipy.sparse.csc_array(np.array([[1.0, 2.0], [2.0, 4.0]]))
    solved = lambda b: scipy.sparse.linalg.spsolve(a, b)  # noqa: E731
    for f in (solved, sg.compile(solved), sg.grad(lambda b: solved(b)[0])):
        with pytest.warns(scipy.sparse.linalg.MatrixRankWarning, match="exactly singular"):
            assert np.isnan(f(np.ones(2))).all()
    with pytest.raises(RuntimeError, match="exactly singular"):
        sg.compile(lambda b: scipy.sparse.linalg.splu(a).solve(b))(np.ones(2))


@pytest.mark.parametrize("form", ["dia", "csr", "csc", "coo", "lil"])
def test_multiples_of_scipys_matrices(form):
    """Of a dia_array SciPy made one of the traced number, whose trace had another shape."""
    a = MATRIX.asformat(form)
    for f in (
        lambda t: (a * t).trace(), lambda t: (scipy.sparse.eye_array(3) * t).trace(),
        lambda t: scipy.sparse.linalg.norm(scipy.sparse.eye(3) * t), lambda t: (a.T * t).sum(),
    ):  # fmt: skip
        value, slope = sg.value_and_grad(f)(2.0)
        np.testing.assert_allclose([value, slope], [f(2.0), f(1.0)], rtol=1e-14)


def test_products_by_elements_have_the_places_of_both():
    b = scipy.sparse.csc_array(np.array([[1.0, 5.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]]))
    for first, second in ((MATRIX, b), (b, MATRIX), (MATRIX.tocoo(), b.tocsr())):
        f = lambda t, a=first, b=second: (t * a).multiply(b)  # noqa: E731
        found, want = sg.compile(f)(2.0), f(2.0)
        np.testing.assert_allclose(found.toarray(), want.toarray())
        assert found.nnz == want.nnz
    root = lambda t: np.sqrt((t * MATRIX).multiply(b)).sum()  # noqa: E731
    np.testing.assert_allclose(sg.grad(root)(4.0), root(1.0) / 4.0)
